//! What comes of objects of one name that two runs left?

use serde_json::json;

use super::{assert_one_of_each, assert_unreferred, one_of_each, other};
use crate::run::{Bench, files, id};

/// Two of each, all ours and equal, as two runs leave them that were killed before they looked; each with references of its
/// own. Returns the ids of what has to stay.
fn left_by_two_killed_runs(bench: &Bench) -> Vec<String> {
    bench.netbird().unserialised(true);
    let mut kept = Vec::new();
    let mut groups = Vec::new();
    for round in 0..2 {
        let made: Vec<String> = ["g1", "g2"].map(|name| bench.group(name)).into();
        groups.push(made.clone());
        let [g1, g2] = [&made[0], &made[1]];
        let rule = |from: &str, to: &str| {
            json!([{ "name": "p", "enabled": true, "action": "accept", "bidirectional": true,
                                                   "protocol": "all", "sources": [from], "destinations": [to] }])
        };
        let objects = [
            (
                "/setup-keys",
                json!({ "name": "k2", "type": "reusable", "expires_in": 0, "auto_groups": [g1, g2] }),
            ),
            (
                "/policies",
                json!({ "name": "p1", "enabled": true, "rules": rule(g1, g2) }),
            ),
            (
                "/policies",
                json!({ "name": "p2", "enabled": true, "rules": rule(g2, g2) }),
            ),
            (
                "/routes",
                json!({ "network_id": "r1", "network": "10.6.0.0/16", "peer_groups": [g1], "groups": [g2],
                                "metric": 9999, "masquerade": true, "enabled": true }),
            ),
            (
                "/dns/nameservers",
                json!({ "name": "n1", "nameservers": [{ "ip": "10.6.0.53", "ns_type": "udp", "port": 53 }],
                                         "groups": [g1], "domains": ["it.example"], "enabled": true }),
            ),
        ];
        for (list, body) in objects {
            let made = id(&bench.create(list, body));
            if round == 0 {
                kept.push(made);
            }
        }
    }
    // what stays of the others refers to the surplus groups
    let [first, second] = [&groups[0], &groups[1]];
    let policy = bench.all("/policies", "p1")[0].clone();
    let rule = json!({ "sources": [second[0]], "destinations": [second[1]] });
    bench
        .server()
        .edit("/policies", &policy, json!({ "rule": rule }));
    let key = format!("/setup-keys/{}", kept[0]);
    let body = json!({ "auto_groups": second, "revoked": false });
    bench.server().write("PUT", &key, body);
    bench.delete("/policies", "Default");
    kept.extend(first.iter().cloned());
    kept
}

#[test]
fn namesakes_of_every_kind_that_two_killed_runs_left_come_down_to_the_oldest() {
    let bench = Bench::fake();
    let mut file = one_of_each();
    file["setup_keys"].as_object_mut().unwrap().remove("k1");
    let kept = left_by_two_killed_runs(&bench);
    // a machine that came by the key of one run, while the groups of the other were meant
    let surplus = bench.all("/groups", "g1")[1].clone();
    let m = bench.peer("m");
    bench
        .server()
        .edit("/groups", &surplus, json!({ "peers": [m] }));
    bench.file(file);
    bench
        .plan(&["--prune", "all"])
        .expect(0)
        .shows("a second one of that name: its members and what refers to it move to the oldest");
    bench
        .apply(&["--prune", "all", "--max-deletes", "20"])
        .expect(0);
    for (list, name, id) in [
        ("/setup-keys", "k2", &kept[0]),
        ("/policies", "p1", &kept[1]),
        ("/policies", "p2", &kept[2]),
        ("/routes", "r1", &kept[3]),
        ("/dns/nameservers", "n1", &kept[4]),
        ("/groups", "g1", &kept[5]),
        ("/groups", "g2", &kept[6]),
    ] {
        assert_eq!(bench.id(list, name), *id, "{list} {name}");
    }
    assert_unreferred(&bench);
    let peers = bench.one("/groups", "g1")["peers"].clone();
    assert_eq!(peers[0]["name"], "m");
    bench
        .plan(&["--prune", "all"])
        .expect(0)
        .shows("No changes");
}

#[test]
fn a_machine_that_joins_a_second_group_since_the_plan_was_made_moves_too() {
    let bench = Bench::fake();
    bench.netbird().unserialised(true);
    let [_, second] = [bench.group("g1"), bench.group("g1")];
    bench.delete("/policies", "Default");
    let m = bench.peer("m");
    let path = format!("/groups/{second}");
    bench
        .netbird()
        .before("GET", &path.clone(), move |netbird| {
            let body = json!({ "name": "g1", "peers": [m], "resources": [] });
            assert_eq!(netbird.call("PUT", &path, body).0, 200);
        });
    bench.file(json!({ "groups": { "g1": {} }, "policies": {} }));
    bench.apply(&["--prune", "all"]).expect(0);
    let peers = bench.one("/groups", "g1")["peers"].clone();
    assert_eq!(peers[0]["name"], "m");
}

#[test]
fn a_second_group_that_somebody_needs_stays_and_is_named() {
    let bench = Bench::fake();
    bench.netbird().unserialised(true);
    let (_, second) = (bench.group("g1"), bench.group("g1"));
    let network = id(&bench.create("/networks", json!({ "name": "net" })));
    let router =
        json!({ "peer_groups": [second], "metric": 1, "masquerade": true, "enabled": true });
    bench.create(&format!("/networks/{network}/routers"), router);
    bench.delete("/policies", "Default");
    bench.file(json!({ "groups": { "g1": {} } }));
    let run = bench.apply(&["--prune", "all"]).expect(0);
    run.shows(&format!(
        "has a second one of its name in NetBird ({second}), which stays: network router"
    ));
    assert_eq!(bench.all("/groups", "g1").len(), 2);
}

#[test]
fn of_two_keys_of_one_name_the_older_stays_and_the_other_goes_with_its_file() {
    let bench = Bench::fake();
    bench.file(one_of_each());
    let mut second = other(&bench);
    // the first run has looked, and makes its keys after the second one is done
    bench.netbird().before("POST", "/setup-keys", move |_| {
        assert!(second.output().unwrap().status.success());
    });
    let run = bench.apply(&["--format", "json"]).expect(0);
    assert_eq!(run.json()["created_keys"], json!({}));
    run.says("setup key k1: another run made it first; ours was deleted again")
        .says("policy p1: another run made it first; ours was deleted again");
    assert_eq!(bench.sealed_files(), Vec::<String>::new());
    assert_eq!(files(&bench.path("other")), ["k1.age", "k2.age"]);
}

#[test]
fn namesakes_in_a_plan_are_an_error_with_their_ids() {
    let bench = Bench::scenario();
    bench.agreed(one_of_each());
    let group = bench.id("/groups", "g1");
    let rule = json!({ "name": "p1", "enabled": true, "action": "drop", "bidirectional": true, "protocol": "all", "sources": [group],
                       "destinations": [group] });
    let policy = bench.create(
        "/policies",
        json!({ "name": "p1", "enabled": true, "rules": [rule] }),
    );
    let key = json!({ "name": "k1", "type": "one-off", "expires_in": 0, "auto_groups": [group] });
    let key = bench.create("/setup-keys", key);
    let route = json!({ "network_id": "r1", "network": "10.7.0.0/16", "peer_groups": [group], "groups": [group], "metric": 1, "enabled": true });
    bench.create("/routes", route);
    bench.server().clear_requests();
    let run = bench
        .apply(&[])
        .expect(1)
        .says("policies.p1")
        .says("setup_keys.k1");
    // several routes can have one name: one that connects something else is left alone
    assert!(!run.stderr.contains("routes.r1"), "{}", run.stderr);
    let run = [policy, key]
        .iter()
        .fold(run, |run, object| run.says(&id(object)));
    run.says("nobody can tell which one is meant");
    bench.assert_writes(&[]);
}

#[test]
fn namesakes_that_are_all_ours_and_equal_come_down_to_the_oldest() {
    let bench = Bench::fake();
    bench.agreed(one_of_each());
    let policy = bench.one("/policies", "p1");
    let mut twin = policy.clone();
    for side in ["sources", "destinations"] {
        twin["rules"][0][side] = json!([policy["rules"][0][side][0]["id"]]);
    }
    bench.create("/policies", twin);
    let key = json!({ "name": "k2", "type": "reusable", "expires_in": 0, "auto_groups": bench.one("/setup-keys", "k2")["auto_groups"] });
    bench.create("/setup-keys", key);
    bench.delete("/policies", "Default");
    // who loses what, of an equal one
    let plan = bench.plan(&["--prune", "all"]).expect(0);
    let plan = plan.shows("the other one stays, and does the same");
    assert!(!plan.stdout.contains(" lose "), "{}", plan.stdout);
    bench.apply(&["--prune", "all"]).expect(0);
    assert_eq!(id(&bench.one("/policies", "p1")), id(&policy));
    assert_one_of_each(&bench, &["sealed-keys"]);
}
