//! What does a plan say, of what differs and of what does not?

use serde_json::{Value, json};
use snapbox::{assert_data_eq, file};

use crate::run::{Bench, id, redact};

/// The seed's example, at the top of the repository.
fn example() -> Value {
    serde_json::from_str(include_str!("../../netbird.json")).unwrap()
}

/// Two groups and a policy between them.
fn small() -> Value {
    json!({
        "groups": { "web": {}, "db": {} },
        "policies": { "web-to-db": {
            "description": "psql", "sources": ["web"], "destinations": ["db"],
            "protocol": "tcp", "ports": [5432, "8000-8100"], "bidirectional": false
        } }
    })
}

#[test]
fn the_example_on_a_new_account() {
    let bench = Bench::fake();
    bench.file(example());
    let text = bench.plan(&[]).expect(0);
    assert_eq!(text.stderr, "");
    assert_data_eq!(redact(&text.stdout), file!["snapshots/plan.txt"].raw());
    let markdown = bench.plan(&["--format", "markdown"]).expect(0).stdout;
    assert_data_eq!(redact(&markdown), file!["snapshots/plan.md"].raw());
    let json = bench.plan(&["--format", "json"]).expect(0).stdout;
    assert_data_eq!(redact(&json), file!["snapshots/plan.json"].raw());
    bench.assert_writes(&[]);
}

#[test]
fn every_kind_of_operation() {
    let bench = Bench::fake();
    let key = |limit: u64| json!({ "type": "reusable", "expires_in": 604800, "usage_limit": limit, "auto_groups": ["pilots"] });
    let mut keys = bench.enrolled(&["kite-1", "kite-2"]);
    keys["fleet"] = key(5);
    bench.agreed(json!({
        "groups": { "pilots": { "peers": ["kite-1"] }, "ground": {}, "old": {} },
        "setup_keys": keys,
        "policies": { "pilots-to-gs": { "sources": ["pilots"], "destinations": ["ground"] } },
        "routes": { "lan": { "network": "192.168.1.0/24", "peer_groups": ["ground"], "groups": ["pilots"] } }
    }));
    keys["fleet"] = key(10);
    bench.file(json!({
        "groups": { "pilots": { "peers": ["kite-2"] }, "ground": {}, "crew": {} },
        "setup_keys": keys,
        "policies": { "pilots-to-gs": { "sources": ["pilots", "crew"], "destinations": ["ground"], "protocol": "tcp",
                                        "ports": ["22", "443"] } },
        "routes": {}
    }));
    let text = bench.plan(&["--prune", "all"]).expect(0);
    assert_data_eq!(redact(&text.stdout), file!["snapshots/changes.txt"].raw());
    let markdown = bench.plan(&["--prune", "all", "--format", "markdown"]);
    assert_data_eq!(
        redact(&markdown.stdout),
        file!["snapshots/changes.md"].raw()
    );
    bench.assert_writes(&[]);
}

#[test]
fn what_agrees_is_no_change_whatever_its_history() {
    let bench = Bench::scenario();
    bench.agreed(small());
    bench.plan(&[]).expect(0).shows("No changes");
    bench.edit(
        "/policies",
        "web-to-db",
        json!({ "description": "by hand" }),
    );
    let changed = json!({ "description": "by hand", "sources": ["web"], "destinations": ["db"],
                          "protocol": "tcp", "ports": [5432, "8000-8100"], "bidirectional": false });
    bench.file(json!({ "groups": { "web": {}, "db": {} }, "policies": { "web-to-db": changed } }));
    bench
        .plan(&["--detailed-exitcode"])
        .expect(0)
        .shows("No changes");
}

#[test]
fn detailed_exit_codes_tell_changes_from_none() {
    let bench = Bench::fake();
    bench.file(small());
    bench.plan(&[]).expect(0);
    bench.plan(&["--detailed-exitcode"]).expect(2);
    bench.apply(&[]).expect(0);
    bench.plan(&["--detailed-exitcode"]).expect(0);
}

#[test]
fn order_is_no_difference() {
    let bench = Bench::scenario_that_enrolls();
    let keys = bench.enrolled(&["p-a", "p-b", "p-c"]);
    let file = |peers: [&str; 3], sources: [&str; 2]| {
        json!({
            "setup_keys": keys,
            "groups": { "desk": { "peers": peers }, "lab": {} },
            "policies": { "p": { "sources": sources, "destinations": ["lab"], "protocol": "udp", "ports": ["9", 7] } }
        })
    };
    bench.agreed(file(["p-c", "p-a", "p-b"], ["lab", "desk"]));
    assert_eq!(bench.one("/groups", "desk")["peers_count"], 3);
    bench.file(file(["p-b", "p-c", "p-a"], ["desk", "lab"]));
    bench.plan(&[]).expect(0).shows("No changes");
}

#[test]
fn a_missing_section_is_not_managed_and_an_empty_one_wants_nothing() {
    let bench = Bench::fake();
    bench.agreed(json!({
        "groups": { "g": {} },
        "routes": { "r1": { "network": "10.1.0.0/16", "peer_groups": ["g"], "groups": ["g"] } }
    }));
    bench.file(json!({ "groups": { "g": {} } }));
    bench
        .plan(&["--prune", "all"])
        .expect(0)
        .shows("No changes")
        .shows("section \"routes\" is no longer in the file")
        .shows("1 route stays in NetBird as before: \"r1\"");
    bench.file(json!({ "groups": { "g": {} }, "routes": {} }));
    assert_eq!(bench.planned(&["--prune", "none"]), [""; 0]);
    assert_eq!(bench.planned(&[]), ["delete_route r1"]);
}

#[test]
fn issued_groups_and_all_stay_whatever_the_flags() {
    let bench = Bench::fake();
    bench.netbird().issue_group("IdP-staff", "jwt");
    bench.netbird().issue_group("scim", "integration");
    bench.group("ours");
    bench.file(json!({
        "groups": {},
        "policies": { "p": { "sources": ["IdP-staff"], "destinations": ["All"] } }
    }));
    let run = bench
        .plan(&["--prune", "all", "--format", "json"])
        .expect(0);
    let operations = [
        "delete_group ours pending",
        "delete_policy Default pending",
        "create_policy p pending",
    ];
    assert_eq!(run.operations(), operations);
    let unmanaged = run.json()["unmanaged"].clone();
    let [jwt, scim] = ["IdP-staff", "scim"].map(|name| json!({ "kind": "group", "name": name }));
    assert_eq!(unmanaged, json!([jwt, scim]));
}

#[test]
fn the_default_policy_is_shown_as_such() {
    let bench = Bench::fake();
    bench.file(small());
    bench.plan(&[]).expect(0).shows("policy \"Default\"");
    let run = bench.plan(&["--prune", "all"]).expect(0);
    run.shows("policy  Default").shows("All ↔ All: everything");
}

#[test]
fn a_port_range_is_shown_and_carried() {
    let bench = Bench::scenario();
    let (web, db) = (bench.group("web"), bench.group("db"));
    let rule = json!({ "name": "p", "enabled": true, "action": "accept", "bidirectional": true, "protocol": "tcp",
                       "port_ranges": [{ "start": 7000, "end": 7100 }], "sources": [web], "destinations": [db] });
    bench.create(
        "/policies",
        json!({ "name": "p", "enabled": true, "rules": [rule] }),
    );
    let policy = |fields: Value| {
        let mut policy = json!({ "sources": ["web"], "destinations": ["db"], "protocol": "tcp" });
        policy
            .as_object_mut()
            .unwrap()
            .extend(fields.as_object().unwrap().clone());
        json!({ "policies": { "p": policy } })
    };
    bench.file(policy(json!({ "ports": ["443"] })));
    bench.plan(&[]).expect(0).shows("7000-7100 → 443");
    // a change of another field carries the range back
    bench.file(policy(json!({ "description": "new" })));
    bench.plan(&[]).expect(0).hides("7000");
    bench.apply(&[]).expect(0);
    let rule = &bench.one("/policies", "p")["rules"][0];
    assert_eq!(rule["port_ranges"], json!([{ "start": 7000, "end": 7100 }]));
    assert_eq!(rule["protocol"], "tcp");
}

#[test]
fn a_policy_of_several_rules_is_refused_and_made_anew_on_request() {
    let bench = Bench::fake();
    bench.agreed(small());
    let groups = [bench.id("/groups", "web"), bench.id("/groups", "db")];
    let rule = json!({ "name": "more", "enabled": true, "action": "accept", "bidirectional": false, "protocol": "tcp",
                       "ports": ["9100"], "sources": [groups[0]], "destinations": [groups[1]] });
    let policy = bench.id("/policies", "web-to-db");
    bench.netbird().add_legacy_rule(&policy, rule).unwrap();
    bench
        .plan(&[])
        .expect(1)
        .says("has 2 rules in NetBird")
        .says("--replace policies/web-to-db");
    let run = bench.apply(&["--replace", "policies/web-to-db"]).expect(0);
    run.shows("1 replaced");
    assert_eq!(
        bench.one("/policies", "web-to-db")["rules"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
    assert_ne!(bench.id("/policies", "web-to-db"), policy);
    bench.plan(&[]).expect(0).shows("No changes");
}

#[test]
fn a_policy_that_gets_another_rule_meanwhile_is_not_replaced() {
    let bench = Bench::fake();
    bench.agreed(small());
    let groups = [bench.id("/groups", "web"), bench.id("/groups", "db")];
    let rule = |port: &str| {
        json!({ "name": port, "enabled": true, "action": "accept", "bidirectional": false, "protocol": "tcp",
                "ports": [port], "sources": [groups[0]], "destinations": [groups[1]] })
    };
    let policy = bench.id("/policies", "web-to-db");
    bench
        .netbird()
        .add_legacy_rule(&policy, rule("9100"))
        .unwrap();
    let (id, third) = (policy.clone(), rule("9200"));
    bench.netbird().before("GET", "/policies/", move |netbird| {
        netbird.add_legacy_rule(&id, third).unwrap();
    });
    bench
        .apply(&["--replace", "policies/web-to-db"])
        .expect(4)
        .says_anywhere("somebody changed it meanwhile");
    let live = bench.one("/policies", "web-to-db");
    assert_eq!(live["id"], json!(policy));
    assert_eq!(live["rules"].as_array().unwrap().len(), 3);
}

#[test]
fn a_live_rule_without_sources_is_updated_in_place() {
    let bench = Bench::fake();
    let web = bench.group("web");
    bench.group("db");
    bench.agreed(json!({ "policies": { "p": { "sources": ["web"], "destinations": ["db"] } } }));
    bench.edit("/policies", "p", json!({ "rule": { "sources": [] } }));
    let before = bench.one("/policies", "p");
    assert_eq!(before["rules"][0]["sources"], Value::Null);
    bench.plan(&[]).expect(0).shows("none → web");
    bench.apply(&[]).expect(0);
    let after = bench.one("/policies", "p");
    assert_eq!(id(&after), id(&before));
    assert_eq!(after["rules"][0]["sources"][0]["id"], json!(web));
}

#[test]
fn a_policys_description_is_its_own_and_not_its_rules() {
    let bench = Bench::scenario();
    let file = |fields: Value| {
        let mut policy = json!({ "sources": ["All"], "destinations": ["All"] });
        policy
            .as_object_mut()
            .unwrap()
            .extend(fields.as_object().unwrap().clone());
        json!({ "policies": { "ops": policy } })
    };
    for fields in [
        json!({ "description": "ops only" }),
        json!({ "description": "" }),
        json!({}),
    ] {
        bench.agreed(file(fields));
        bench.plan(&[]).expect(0).shows("No changes");
    }
    bench.edit(
        "/policies",
        "ops",
        json!({ "rule": { "description": "elsewhere" } }),
    );
    bench.plan(&[]).expect(0).shows("No changes");
}

#[test]
fn a_member_that_vanished_is_drift() {
    let bench = Bench::scenario_that_enrolls();
    let file = |enrolled: bool| {
        json!({
            "groups": { "gw": { "peers": ["gw-01"] } },
            "setup_keys": { "gw-01": { "type": "one-off", "expires_in": 86400, "auto_groups": ["gw"], "enrolled": enrolled } }
        })
    };
    bench.agreed(file(false));
    bench
        .server()
        .enroll(&bench.unseal("gw-01"), "gw-01")
        .unwrap();
    bench
        .file(file(true))
        .plan(&[])
        .expect(0)
        .shows("No changes");
    bench.edit("/groups", "gw", json!({ "peers": [] }));
    bench
        .plan(&["--detailed-exitcode"])
        .expect(2)
        .shows("gw-01");
    bench.apply(&[]).expect(0);
    assert_eq!(
        bench.one("/groups", "gw")["peers"][0]["id"],
        bench.one("/peers", "gw-01")["id"]
    );
    bench.plan(&[]).expect(0).shows("No changes");
}

#[test]
fn a_marked_key_whose_peer_is_gone_is_said_and_never_made_again() {
    let bench = Bench::scenario();
    bench.file(json!({
        "groups": { "db": { "peers": ["db-01"] }, "other": {} },
        "setup_keys": { "db-01": { "type": "one-off", "expires_in": 86400, "auto_groups": ["db"], "enrolled": true } }
    }));
    let run = bench.apply(&["--format", "json"]).expect(0);
    assert_eq!(
        run.operations(),
        ["create_group db success", "create_group other success"]
    );
    let run = bench.plan(&[]).expect(0).shows("No changes");
    run.shows("lists the setup key \"db-01\", but NetBird has no peer that is known to have enrolled with it");
}

#[test]
fn machines_that_enrolled_at_one_moment_are_told_apart_by_the_event_log() {
    let bench = Bench::fake();
    let keys = bench.enrolled(&["a", "b"]);
    bench.file(json!({ "groups": { "g": { "peers": ["a"] } }, "setup_keys": keys }));
    bench.apply(&[]).expect(0);
    assert_eq!(bench.one("/groups", "g")["peers"][0]["name"], "a");
    // without the log the names tell, and that is said
    let bench = Bench::fake();
    bench.netbird().event_log(false);
    bench.netbird().set_clock(1_800_000_000);
    let keys = bench.enrolled(&["a", "b"]);
    bench.file(json!({ "groups": { "g": { "peers": ["a"] } }, "setup_keys": keys }));
    let run = bench.apply(&[]).expect(0);
    run.shows("only names and the times of key and peer say so, not the event log");
    assert_eq!(bench.one("/groups", "g")["peers"][0]["name"], "a");
    // with other names nobody is added, and that is said
    let bench = Bench::fake();
    bench.netbird().event_log(false);
    bench.netbird().set_clock(1_800_000_000);
    for (name, hostname) in [("a", "x"), ("b", "y")] {
        let key =
            json!({ "name": name, "type": "one-off", "expires_in": 86400, "auto_groups": [] });
        let made = bench.create("/setup-keys", key);
        let secret = made["key"].as_str().unwrap();
        bench.server().enroll(secret, hostname).unwrap();
    }
    bench.file(json!({ "groups": { "g": { "peers": ["a"] } }, "setup_keys": keys }));
    bench
        .apply(&[])
        .expect(0)
        .shows("it is not known which of several peers");
    assert_eq!(bench.one("/groups", "g")["peers_count"], 0);
}

#[test]
fn a_live_group_that_only_looks_alike_is_hinted_at() {
    let bench = Bench::fake();
    bench.group("B\u{fc}ro");
    bench.file(
        json!({ "policies": { "p": { "sources": ["Bu\u{308}ro"], "destinations": ["All"] } } }),
    );
    bench.plan(&[]).expect(1).says("did you mean \"Büro\"?");
    // and a second group that looks the same is not made without a word
    bench.file(json!({ "groups": { "Bu\u{308}ro": {} } }));
    bench.plan(&[]).expect(0).shows("the names look the same");
}

#[test]
fn only_what_differs_is_shown() {
    let bench = Bench::fake();
    let peers: Vec<String> = (0..80).map(|n| format!("p{n:02}")).collect();
    let peers: Vec<&str> = peers.iter().map(String::as_str).collect();
    let keys = bench.enrolled(&peers);
    let file =
        |peers: &[&str]| json!({ "groups": { "many": { "peers": peers } }, "setup_keys": keys });
    bench.agreed(file(&peers));
    bench.file(file(&peers[..79]));
    let run = bench.plan(&["--prune", "all"]).expect(0);
    run.shows("-p79 (79 unchanged)").hides("p78");
}

#[test]
fn a_plan_of_a_live_key_shows_no_secret() {
    let bench = Bench::fake();
    bench.agreed(json!({ "setup_keys": { "k": { "type": "reusable", "expires_in": 0 } } }));
    bench.file(json!({ "setup_keys": { "k": { "type": "reusable", "expires_in": 86400 } } }));
    for format in ["text", "markdown", "json"] {
        let run = bench.plan(&["--format", format]).expect(0);
        for secret in bench.netbird().secrets() {
            assert!(!run.stdout.contains(&secret) && !run.stderr.contains(&secret));
            assert!(
                !run.stdout.contains(&secret[..5]),
                "not even its masked form"
            );
        }
    }
}

#[test]
fn host_bits_and_empty_texts_are_no_difference() {
    let bench = Bench::scenario();
    let route = json!({ "description": "", "network": "10.9.0.0/16", "peer_groups": ["g"], "groups": ["g"] });
    bench.agreed(json!({ "groups": { "g": {} }, "routes": { "r": route } }));
    bench.plan(&[]).expect(0).shows("No changes");
}

#[test]
fn the_same_input_gives_the_same_bytes() {
    let bench = Bench::fake();
    bench.file(example());
    let first = bench.plan(&["--format", "markdown"]).stdout;
    let second = bench.plan(&["--format", "markdown"]).stdout;
    assert_eq!(redact(&first), redact(&second));
}

#[test]
fn a_comment_has_every_port_that_a_policy_gains_or_loses() {
    let bench = Bench::scenario();
    let policy = |ports: &[u16]| json!({ "groups": { "a": {}, "b": {} }, "policies": { "p": { "sources": ["a"], "destinations": ["b"], "protocol": "tcp", "ports": ports } } });
    let many: Vec<u16> = (1000..1014).collect();
    for (before, after, sign) in [(&many[..], &[][..], "-"), (&[], &many, "+")] {
        bench.agreed(policy(before));
        bench.file(policy(after));
        let mut run = bench.plan(&["--format", "markdown"]).expect(0);
        for port in &many {
            run = run.shows(&format!("{sign}   {port}\n"));
        }
        run.shows("   all ports\n");
    }
}
