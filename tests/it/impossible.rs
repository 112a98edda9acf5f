//! Is what cannot work found by the plan, all of it, before the first write?

use serde_json::{Value, json};
use snapbox::{assert_data_eq, file};

use crate::run::{Bench, id, redact};

#[test]
fn unknown_groups_are_found_in_every_place() {
    let bench = Bench::scenario();
    bench.group("pilots");
    bench.server().clear_requests();
    bench.file(json!({
        "setup_keys": { "k": { "type": "reusable", "expires_in": 60, "auto_groups": ["pilot"] } },
        "policies": { "p": { "sources": ["pilots"], "destinations": ["Pilots"] } },
        "routes": { "r": { "network": "10.1.0.0/16", "peer_groups": ["piltos"], "groups": ["pilots"], "access_control_groups": ["zzz"] } },
        "dns": { "nameserver_groups": { "n": { "nameservers": [{ "ip": "10.0.0.53" }], "groups": ["xyz"], "primary": true } } }
    }));
    for command in ["plan", "apply"] {
        let run = bench
            .run(&[command])
            .expect(1)
            .says("this cannot be planned: 5 problems")
            .says("did you mean \"pilots\"?");
        for place in [
            "setup_keys.k.auto_groups[0]",
            "policies.p.destinations[0]",
            "routes.r.peer_groups[0]",
            "routes.r.access_control_groups[0]",
            "dns.nameserver_groups.n.groups[0]",
        ] {
            assert!(run.stderr.contains(place), "{place}: {}", run.stderr);
        }
    }
    bench.assert_writes(&[]);
}

#[test]
fn the_error_as_people_read_it() {
    let bench = Bench::fake();
    bench.group("pilots");
    bench.file(json!({
        "groups": { "ground": {} },
        "policies": { "p": { "sources": ["pilot"], "destinations": ["ground"] }, "q": { "sources": ["nobody"], "destinations": ["ground"] } }
    }));
    let run = bench.plan(&["--format", "markdown"]).expect(1);
    let both = format!("{}\n--- stderr ---\n{}", run.stdout, run.stderr);
    assert_data_eq!(redact(&both), file!["snapshots/impossible.txt"].raw());
}

/// Two groups of one name: the server checks that on creation only.
fn twins(bench: &Bench, name: &str) -> [String; 2] {
    let first = bench.group(name);
    let second = bench.group("twin");
    bench.edit("/groups", "twin", json!({ "name": name }));
    [first, second]
}

#[test]
fn a_name_of_two_groups_is_an_error_where_only_a_policy_says_it_and_else_the_oldest_is_meant() {
    let bench = Bench::scenario();
    let ids = twins(&bench, "g");
    bench.server().clear_requests();
    bench.file(json!({ "policies": { "p": { "sources": ["g"], "destinations": ["All"] } } }));
    bench
        .apply(&[])
        .expect(1)
        .says("several groups in NetBird are called")
        .says(&ids[0])
        .says(&ids[1]);
    bench.file(json!({ "groups": { "g": {} } }));
    bench.leaves_all(&[]).shows("1 adopted").shows(&format!(
        "NetBird has another group with the name \"g\" (id {})",
        ids[1]
    ));
}

#[test]
fn a_group_is_not_deleted_under_those_who_refer_to_it_and_all_are_named() {
    let bench = Bench::fake();
    bench.agreed(json!({ "groups": { "g": {}, "keep": {} } }));
    let group = bench.id("/groups", "g");
    let fake = bench.netbird();
    bench.create("/setup-keys", json!({ "name": "their-key", "type": "reusable", "expires_in": 60, "auto_groups": [group] }));
    let rule = json!({ "name": "x", "enabled": true, "action": "accept", "bidirectional": true, "protocol": "all", "sources": [group], "destinations": [group] });
    bench.create(
        "/policies",
        json!({ "name": "their-policy", "enabled": false, "rules": [rule] }),
    );
    bench.create("/routes", json!({ "network_id": "their-route", "network": "10.1.0.0/16", "peer_groups": [group], "groups": [group], "metric": 1, "enabled": true }));
    bench.create("/dns/nameservers", json!({ "name": "their-dns", "nameservers": [{ "ip": "10.0.0.53", "ns_type": "udp", "port": 53 }], "groups": [group], "primary": true, "enabled": true }));
    bench.create("/users", json!({ "name": "their-user", "role": "user", "is_service_user": true, "auto_groups": [group] }));
    let network = id(&bench.create("/networks", json!({ "name": "net" })));
    let resource = bench.create(
        &format!("/networks/{network}/resources"),
        json!({ "name": "res", "address": "10.1.0.1", "enabled": true, "groups": [group] }),
    );
    let router = bench.create(
        &format!("/networks/{network}/routers"),
        json!({ "peer_groups": [group], "metric": 1, "enabled": true }),
    );
    bench.create(
        "/dns/zones",
        json!({ "name": "their-zone", "domain": "zone.example", "distribution_groups": [group] }),
    );
    assert_eq!(
        fake.call(
            "PUT",
            "/dns/settings",
            json!({ "disabled_management_groups": [group] })
        )
        .0,
        200
    );

    bench.file(json!({ "groups": { "keep": {} } }));
    let mut run = bench
        .leaves_all(&["--prune", "all"])
        .shows("No changes, 1 object is held back\n")
        .shows("Held back:\n  group \"g\" (");
    assert!(!run.stdout.contains("NetBird is as the file says"));
    for referrer in [
        "setup key \"their-key\" (",
        "policy \"their-policy\" (",
        "route \"their-route\" (",
        "nameserver group \"their-dns\" (",
        "user their-user",
        "DNS zone \"their-zone\"",
        "the DNS settings",
    ] {
        run = run.shows(referrer);
    }
    run.shows(&id(&resource)).shows(&id(&router));
}

#[test]
fn a_group_that_goes_is_missed_by_what_stays() {
    let bench = Bench::fake();
    let policy = json!({ "sources": ["db"], "destinations": ["web"] });
    bench.agreed(json!({ "groups": { "db": {}, "web": {} }, "policies": { "p": policy } }));
    // the file still names it
    bench.delete("/policies", "Default");
    bench.file(json!({ "groups": { "web": {} }, "policies": { "p": policy } }));
    bench
        .cannot(&[])
        .says("policy \"p\" refers to group \"db\", which this plan deletes");
    // and where the section is not managed, the live policy holds it
    bench.file(json!({ "groups": { "web": {} } }));
    bench
        .leaves_all(&["--prune", "all"])
        .shows("Held back:\n  group \"db\" (")
        .shows("policy \"p\" (");
}

#[test]
fn a_dead_key_of_ours_lets_the_group_go() {
    for dead in ["used", "revoked"] {
        let bench = Bench::fake();
        let key = |groups: &[&str], enrolled: bool| json!({ "type": "one-off", "expires_in": 86400, "auto_groups": groups, "enrolled": enrolled });
        bench.agreed(json!({ "groups": { "old": {}, "new": {} }, "setup_keys": { "k": key(&["old", "new"], false) } }));
        if dead == "used" {
            bench.server().enroll(&bench.unseal("k"), "k").unwrap();
        } else {
            bench.edit("/setup-keys", "k", json!({ "revoked": true }));
        }
        bench.file(json!({ "groups": { "new": {} }, "setup_keys": { "k": key(&["new"], dead == "used") } }));
        bench
            .plan(&["--prune", "all"])
            .expect(0)
            .shows("the group is deleted, and this key cannot be used any more");
        bench.server().clear_requests();
        bench.apply(&["--prune", "all"]).expect(0);
        bench.assert_writes(&["PUT /setup-keys", "DELETE /groups"]);
        let after = bench.one("/setup-keys", "k");
        assert_eq!(after["auto_groups"], json!([bench.id("/groups", "new")]));
        assert_eq!(after["revoked"], dead == "revoked");
        bench
            .plan(&["--prune", "all"])
            .expect(0)
            .shows("No changes");
    }
}

#[test]
fn groups_that_are_nobodys_to_change() {
    let bench = Bench::fake();
    let keys = bench.enrolled(&["m"]);
    bench.netbird().issue_group("staff", "jwt");
    bench.netbird().issue_group("scim", "integration");
    bench.file(json!({ "groups": { "staff": { "peers": ["m"] }, "scim": { "peers": ["m"] } }, "setup_keys": keys }));
    bench.netbird().clear_requests();
    // whoever manages them there stops no plan here
    bench
        .apply(&[])
        .expect(0)
        .shows("is issued by jwt, which decides its members")
        .shows("is issued by integration")
        .shows("In the file, but no members in NetBird: \"m\".");
    bench.assert_writes(&[]);
    bench.file(json!({ "groups": { "staff": {}, "scim": {} } }));
    bench.apply(&[]).expect(0).shows("No changes");
}

#[test]
fn entries_that_replace_does_not_know() {
    let bench = Bench::fake();
    let key = json!({ "type": "one-off", "expires_in": 86_400 });
    bench.file(json!({ "groups": { "g": {} }, "setup_keys": { "hawk-72": key } }));
    let rows = [
        (
            "setup_keys/nope",
            "is named by --replace, but the file does not have it",
        ),
        ("setup_keys/Hawk-72", "did you mean \"hawk-72\"?"),
        ("groups/g", "works for setup keys and policies only"),
        ("nope", "expected KIND/NAME"),
        ("gadgets/g", "expected KIND/NAME"),
        ("policies/", "expected KIND/NAME"),
    ];
    for (what, why) in rows {
        bench.apply(&["--replace", what]).expect(1).says(why);
    }
    bench
        .apply(&["--adopt", "groups/G=x"])
        .expect(1)
        .says("did you mean \"g\"?");
    bench.assert_writes(&[]);
}

#[test]
fn a_list_that_cannot_be_read_says_which_entry() {
    let bench = Bench::fake();
    bench.file(json!({ "groups": { "g": {} } }));
    let odd = json!([{ "id": "g1", "name": 7 }]);
    bench
        .netbird()
        .fault(fakes::Fault::on("GET", "/groups").then(fakes::Effect::Status(200, odd)));
    bench
        .plan(&[])
        .expect(1)
        .says("groups: entry g1 cannot be read");
    let none: Value = json!({});
    bench
        .netbird()
        .fault(fakes::Fault::on("GET", "/groups").then(fakes::Effect::Status(200, none)));
    bench
        .plan(&[])
        .expect(1)
        .says("the answer is an object, not a list");
}

#[test]
fn a_source_of_an_ssh_policy_that_names_users_of_others_only() {
    let bench = Bench::scenario();
    let (a, _) = (bench.group("a"), bench.group("b"));
    let rule = json!({ "name": "p", "enabled": true, "action": "accept", "bidirectional": false, "protocol": "netbird-ssh",
                       "authorized_groups": { &a: ["root"] }, "sources": [a], "destinations": [a] });
    let policy = json!({ "name": "p", "enabled": true, "rules": [rule] });
    bench.create("/policies", policy);
    bench.server().clear_requests();
    let file = |sources: &[&str], description: &str| json!({ "policies": { "p": { "description": description, "sources": sources, "destinations": ["a"], "protocol": "netbird-ssh" } } });
    bench.file(file(&["a", "b"], ""));
    let run = bench.apply(&[]).expect(1);
    run.says("but none for its source group \"b\": NetBird would refuse the change");
    bench.assert_writes(&[]);
    // another change carries them along
    bench.file(file(&["a"], "new")).apply(&[]).expect(0);
    let users = &bench.one("/policies", "p")["rules"][0]["authorized_groups"];
    assert_eq!(users[&a], json!(["root"]));
}

/// A policy of NetBird's SSH with posture checks and users, made by us and completed by hand.
fn completed(bench: &Bench, file: &dyn Fn(&str) -> Value) -> Value {
    bench.agreed(file("netbird-ssh"));
    let check =
        json!({ "name": "c", "checks": { "nb_version_check": { "min_version": "0.60.0" } } });
    let check = id(&bench.create("/posture-checks", check));
    let mut rule = bench.one("/policies", "p")["rules"][0].clone();
    for side in ["sources", "destinations"] {
        rule[side] = json!([bench.id("/groups", "a")]);
    }
    rule["authorized_groups"] = json!({ bench.id("/groups", "a"): ["root"] });
    bench.edit(
        "/policies",
        "p",
        json!({ "source_posture_checks": [check], "rules": [rule] }),
    );
    bench.server().clear_requests();
    bench.one("/policies", "p")
}

fn ssh(protocol: &str) -> Value {
    json!({ "groups": { "a": {} }, "policies": { "p": { "sources": ["a"], "destinations": ["a"], "protocol": protocol } } })
}

#[test]
fn a_policy_that_is_made_anew_keeps_its_posture_checks_and_users() {
    let bench = Bench::scenario();
    let before = completed(&bench, &ssh);
    assert_ne!(before["rules"][0]["authorized_groups"], Value::Null);
    bench.apply(&["--replace", "policies/p"]).expect(0);
    let after = bench.one("/policies", "p");
    assert_ne!(after["id"], before["id"]);
    assert_eq!(
        after["source_posture_checks"],
        before["source_posture_checks"]
    );
    let users = |policy: &Value| policy["rules"][0]["authorized_groups"].clone();
    assert_eq!(users(&after), users(&before));
}

#[test]
fn a_change_of_protocol_says_who_may_log_in_both_ways() {
    let bench = Bench::scenario();
    completed(&bench, &ssh);
    bench.file(ssh("tcp"));
    for command in ["plan", "apply"] {
        bench
            .run(&[command])
            .expect(0)
            .says_anywhere("NetBird forgets who could (users of group \"a\" as \"root\")");
    }
    assert_ne!(
        bench.one("/policies", "p")["source_posture_checks"],
        json!([])
    );
    bench.file(ssh("netbird-ssh"));
    bench.plan(&[]).expect(0).says_anywhere(
        "every user of the account, as any local user, can log in by SSH to its destinations",
    );
    // nobody was named: nothing is forgotten
    bench.apply(&[]).expect(0);
    bench.file(ssh("tcp"));
    let run = bench.plan(&[]).expect(0).says_anywhere(
        "no longer has the protocol netbird-ssh: nobody can log in by SSH through it any more",
    );
    assert!(!run.stdout.contains("forgets"), "{}", run.stdout);
}

#[test]
fn a_new_policy_of_netbirds_ssh_says_who_may_log_in() {
    let bench = Bench::scenario();
    bench.file(ssh("netbird-ssh"));
    bench.plan(&[]).expect(0).says_anywhere(
        "every user of the account, as any local user, can log in by SSH to its destinations",
    );
}
