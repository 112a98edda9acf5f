//! With the entry of a used key goes the peer that is bound to it, and no other peer ever.

use serde_json::{Value, json};

use crate::run::{Bench, id};

fn file(keys: &[&str]) -> Value {
    let key = json!({ "type": "one-off", "expires_in": 315_360_000, "auto_groups": ["g"], "enrolled": true });
    let section = keys.iter().map(|name| ((*name).to_owned(), key.clone()));
    json!({ "groups": { "g": {} }, "setup_keys": Value::Object(section.collect()) })
}

/// A bench on which machines enrolled with declared one-off keys of their names, all of it agreed to.
fn enrolled(keys: &[&str]) -> Bench {
    let bench = Bench::in_git();
    let mut pending = file(keys);
    for key in pending["setup_keys"].as_object_mut().unwrap().values_mut() {
        key["enrolled"] = json!(false);
    }
    bench.applied(0.0, pending);
    for (n, key) in keys.iter().enumerate() {
        bench.hour(1.0 + n as f64 / 10.0);
        bench.server().enroll(&bench.unseal(key), key).unwrap();
    }
    bench.applied(2.0, file(keys));
    bench
}

/// The policy by which a group reaches one peer.
fn policy_to(bench: &Bench, peer: &str) -> Value {
    let g = bench.id("/groups", "g");
    json!({ "name": "to-k", "enabled": true, "rules": [{ "name": "to-k", "enabled": true, "action": "accept",
            "bidirectional": true, "protocol": "all", "sources": [g],
            "destinationResource": { "id": peer, "type": "peer" } }] })
}

#[test]
fn bound_by_event_it_goes_with_its_entry() {
    let bench = enrolled(&["k", "stays"]);
    bench.declared(9.0, file(&["stays"]));
    assert_eq!(bench.planned(&[]), ["delete_setup_key k", "delete_peer k"]);
    assert_eq!(bench.planned(&["--prune", "none"]), Vec::<String>::new());
    // whatever the number
    for args in [
        &[][..],
        &["--max-deletes", "100"],
        &["--allow-deletes", "1"],
    ] {
        bench.refuses(args).says("this plan deletes 1 peer");
    }
    bench.apply(&["--allow-deletes", "2"]).expect(0);
    assert_eq!(bench.names("/peers"), ["stays"]);
    assert_eq!(bench.names("/setup-keys"), ["stays"]);
    bench.leaves_all(&[]).shows("No changes");
}

#[test]
fn bound_by_event_where_times_tell_nothing() {
    // all of them enrolled within the same second
    let bench = Bench::in_git();
    let mut pending = file(&["k", "l"]);
    for key in pending["setup_keys"].as_object_mut().unwrap().values_mut() {
        key["enrolled"] = json!(false);
    }
    bench.applied(0.0, pending);
    for key in ["k", "l"] {
        bench.server().enroll(&bench.unseal(key), key).unwrap();
    }
    bench.applied(2.0, file(&["k", "l"]));
    bench.declared(9.0, file(&["l"]));
    let both = ["delete_setup_key k", "delete_peer k"];
    assert_eq!(bench.planned(&[]), both);
    // and without events nobody can tell, so nobody goes
    bench.netbird().drop_events();
    assert_eq!(bench.planned(&[]), both[..1]);
    bench.plan(&[]).expect(0).says_anywhere("its peer stays");
}

#[test]
fn bound_by_time_where_the_event_is_gone() {
    let bench = enrolled(&["k"]);
    bench.netbird().drop_events();
    bench.declared(9.0, file(&[]));
    assert_eq!(bench.planned(&[]), ["delete_setup_key k", "delete_peer k"]);
    bench.apply(&["--allow-deletes", "2"]).expect(0);
    assert_eq!(bench.names("/peers"), Vec::<String>::new());
}

#[test]
fn the_event_goes_before_the_times() {
    // the peer is gone; a stranger who fits by time came by another key, as the log knows
    let bench = enrolled(&["k"]);
    bench.hour(1.0);
    let stranger = bench.peer("stranger");
    bench.delete("/peers", "k");
    bench.declared(9.0, file(&[]));
    assert_eq!(bench.planned(&[]), ["delete_setup_key k"]);
    bench.apply(&[]).expect(0);
    assert_eq!(bench.id("/peers", "stranger"), stranger);
}

#[test]
fn a_peer_that_merely_bears_the_name_stays() {
    let bench = enrolled(&["k"]);
    bench.delete("/peers", "k");
    let stranger = bench.hour(5.0).peer("k");
    bench.declared(9.0, file(&[]));
    bench.apply(&[]).expect(0).shows("1 deleted");
    assert_eq!(bench.id("/peers", "k"), stranger);
}

#[test]
fn a_peer_whose_key_is_gone_stays() {
    let bench = enrolled(&["k"]);
    bench.delete("/setup-keys", "k");
    bench.declared(9.0, file(&[]));
    bench.leaves_all(&[]).shows("No changes");
    assert_eq!(bench.names("/peers"), ["k"]);
}

#[test]
fn listed_in_groups_still_key_and_peer_wait_for_all_of_them() {
    let bench = enrolled(&["k"]);
    let listed = |groups: &[&str], keys: &[&str]| {
        let mut listed = file(keys);
        listed["groups"]["h"] = json!({ "peers": [] });
        for group in groups {
            listed["groups"][*group] = json!({ "peers": ["k"] });
        }
        listed
    };
    bench.applied(3.0, listed(&["g", "h"], &["k"]));
    // the plan of the change says what the name was
    bench.hour(9.0).file(listed(&["g", "h"], &[]));
    let run = bench.plan(&[]).expect(0);
    run.shows("lists \"k\", which was a setup key until this change");
    bench.commit(crate::run::history::second(9.0), "half of it");
    bench
        .leaves_all(&[])
        .shows("its peer \"k\" stays: groups \"g\", \"h\" still list it");
    bench.applied(10.0, listed(&["h"], &[]));
    bench
        .leaves_all(&[])
        .shows("its peer \"k\" stays: group \"h\" still lists it");
    // the last of them lets both go, and is the cause
    bench.declared(11.0, listed(&[], &[]));
    bench.refuses(&[]).says("this plan deletes 1 peer");
    let plan = bench.plan(&["--format", "json"]).expect(0).json();
    assert_eq!(
        plan["agreements"][0]["cause"],
        json!(bench.git(&["rev-parse", "HEAD"]))
    );
    let line = bench.line("line", &[]);
    bench.commit(
        crate::run::history::second(12.0),
        &format!("it leaves\n\n{line}"),
    );
    bench.apply(&[]).expect(0);
    assert_eq!(bench.names("/peers"), Vec::<String>::new());
    assert_eq!(bench.names("/setup-keys"), Vec::<String>::new());
}

#[test]
fn a_key_that_waits_lets_go_of_a_group_that_goes() {
    let bench = enrolled(&["k"]);
    let mut listed = file(&["k"]);
    listed["groups"]["h"] = json!({ "peers": ["k"] });
    bench.applied(3.0, listed.clone());
    listed["setup_keys"] = json!({});
    listed["groups"].as_object_mut().unwrap().remove("g");
    bench.declared(9.0, listed);
    bench.apply(&[]).expect(0);
    bench.assert_writes(&["PUT /setup-keys", "DELETE /groups"]);
    assert_eq!(bench.names("/setup-keys"), ["k"]);
    assert_eq!(bench.names("/groups"), ["All", "h"]);
}

#[test]
fn a_machine_that_nothing_speaks_of_any_more_is_said_to_stay() {
    let bench = enrolled(&["k", "l"]);
    let peer = bench.id("/peers", "k");
    // the entry went, and somebody deleted the key by hand: what proves that its peer may go is lost
    bench.delete("/setup-keys", "k");
    bench.declared(9.0, file(&["l"]));
    let said = format!("peer \"k\" ({peer}) stays in the network");
    for _ in 0..2 {
        bench.leaves_all(&[]).says_anywhere(&said);
    }
    // a list in a group says that it is wanted
    let mut listed = file(&["l"]);
    listed["groups"]["g"]["peers"] = json!(["k"]);
    bench.declared(10.0, listed);
    let run = bench.plan(&[]).expect(0);
    assert!(
        !run.stdout.contains("stays in the network"),
        "{}",
        run.stdout
    );
    // nor is anybody meant who came when no such key was declared, or to whom the file never spoke
    bench.declared(11.0, file(&["l"]));
    bench.delete("/peers", "k");
    bench.hour(20.0).peer("k");
    bench.peer("m");
    let run = bench.leaves_all(&[]);
    assert!(
        !run.stdout.contains("stays in the network"),
        "{}",
        run.stdout
    );
}

#[test]
fn an_ephemeral_peer_stays() {
    let bench = Bench::in_git();
    let key =
        json!({ "type": "one-off", "expires_in": 0, "auto_groups": ["g"], "ephemeral": true });
    let mut first = file(&[]);
    first["setup_keys"]["ci"] = key;
    bench.applied(0.0, first);
    bench
        .server()
        .enroll(&bench.unseal("ci"), "runner")
        .unwrap();
    bench.declared(9.0, file(&[]));
    for prune in ["owned", "all"] {
        assert_eq!(bench.planned(&["--prune", prune]), ["delete_setup_key ci"]);
    }
}

#[test]
fn a_persons_peer_stays() {
    let bench = enrolled(&["k"]);
    bench.declared(9.0, file(&[]));
    let raw = bench.run(&["export", "--raw"]).expect(0).stdout;
    assert!(raw.contains("\"user_id\": \"\""));
    std::fs::write(bench.path("live.json"), &raw).unwrap();
    assert_eq!(
        bench.planned(&["--live", "live.json"]),
        ["delete_setup_key k", "delete_peer k"]
    );
    let theirs = raw.replace("\"user_id\": \"\"", "\"user_id\": \"mira\"");
    std::fs::write(bench.path("live.json"), theirs).unwrap();
    assert_eq!(
        bench.planned(&["--live", "live.json"]),
        ["delete_setup_key k"]
    );
}

#[test]
fn peers_of_a_reusable_key_stay() {
    let bench = Bench::in_git();
    let mut first = file(&[]);
    first["setup_keys"]["fleet"] =
        json!({ "type": "reusable", "expires_in": 0, "auto_groups": ["g"] });
    bench.applied(0.0, first);
    for hostname in ["f1", "fleet"] {
        bench
            .server()
            .enroll(&bench.unseal("fleet"), hostname)
            .unwrap();
    }
    bench.declared(9.0, file(&[]));
    bench.apply(&[]).expect(0).shows("1 deleted");
    assert_eq!(bench.names("/peers"), ["f1", "fleet"]);
}

#[test]
fn an_unmanaged_keys_peer_stays_even_where_the_key_goes() {
    let bench = Bench::in_git();
    bench.applied(0.0, file(&[]));
    bench.enrolled(&["theirs"]);
    bench.leaves_all(&[]);
    bench.apply(&["--prune", "all"]).expect(0);
    assert_eq!(bench.names("/setup-keys"), Vec::<String>::new());
    assert_eq!(bench.names("/peers"), ["theirs"]);
    // the same for a key that was taken over
    bench.enrolled(&["over"]);
    bench.applied(3.0, file(&["over"]));
    bench.declared(9.0, file(&[]));
    bench.leaves_all(&[]);
    bench.apply(&["--allow-deletes", "1"]).expect(0);
    assert_eq!(bench.names("/peers"), ["over", "theirs"]);
}

#[test]
fn a_policy_of_others_that_names_the_peer_holds_it() {
    let bench = enrolled(&["k"]);
    let peer = bench.id("/peers", "k");
    bench.create("/policies", policy_to(&bench, &peer));
    // the file does not even manage policies
    bench.declared(9.0, file(&[]));
    bench
        .leaves_all(&["--allow-deletes", "2"])
        .shows("its peer \"k\" stays: it is still used by policy \"to-k\" (");
    bench.delete("/policies", "to-k");
    bench.apply(&["--allow-deletes", "2"]).expect(0);
}

#[test]
fn a_policy_that_names_the_peer_since_the_plan_was_made_keeps_it() {
    let bench = enrolled(&["k", "stays"]);
    bench.declared(9.0, file(&["stays"]));
    let peer = bench.id("/peers", "k");
    let policy = policy_to(&bench, &peer);
    // after the lists were read, and before anything goes
    let path = format!("/peers/{peer}");
    bench.netbird().before("GET", &path, move |netbird| {
        netbird.create("/policies", policy);
    });
    bench
        .apply(&["--allow-deletes", "2"])
        .expect(4)
        .says("the policy \"to-k\"")
        .says("would be deleted whole with it");
    assert!(bench.names("/peers").contains(&"k".to_owned()));
    assert!(bench.names("/policies").contains(&"to-k".to_owned()));
    // its key proves that it may go, so it stays as well
    assert!(bench.names("/setup-keys").contains(&"k".to_owned()));
}

#[test]
fn a_policy_that_the_file_brings_to_others_does_not_keep_the_peer() {
    let bench = enrolled(&["k"]);
    let peer = bench.id("/peers", "k");
    let mut declared = file(&["k"]);
    declared["policies"] = json!({ "to-k": { "sources": ["g"], "destinations": ["g"] } });
    bench.applied(3.0, declared.clone());
    let mut rule = policy_to(&bench, &peer)["rules"][0].clone();
    rule["destinations"] = Value::Null;
    bench.edit("/policies", "to-k", json!({ "rule": rule }));
    declared["setup_keys"] = json!({});
    bench.declared(9.0, declared);
    // the policy is brought to its groups first: else it would go with the peer
    let policy = bench.id("/policies", "to-k");
    bench.apply(&["--allow-deletes", "2"]).expect(0);
    assert!(!bench.names("/peers").contains(&"k".to_owned()));
    assert_eq!(bench.id("/policies", "to-k"), policy);
}

#[test]
fn a_route_of_others_through_the_peer_holds_it() {
    let bench = enrolled(&["k"]);
    let (peer, g) = (bench.id("/peers", "k"), bench.id("/groups", "g"));
    let route = json!({ "network_id": "lan", "network": "10.9.0.0/16", "peer": peer, "groups": [g], "metric": 9999,
                        "masquerade": true, "enabled": true, "description": "" });
    bench.create("/routes", route);
    bench.declared(9.0, file(&[]));
    bench
        .leaves_all(&["--allow-deletes", "2"])
        .shows("its peer \"k\" stays: it is still used by route \"lan\" (");
}

#[test]
fn a_router_holds_its_peer() {
    let bench = enrolled(&["k"]);
    let network = id(&bench.create("/networks", json!({ "name": "office", "description": "" })));
    let router = json!({ "peer": bench.id("/peers", "k"), "metric": 9999, "masquerade": true, "enabled": true });
    bench.create(&format!("/networks/{network}/routers"), router);
    bench.declared(9.0, file(&[]));
    bench
        .leaves_all(&["--allow-deletes", "2"])
        .shows("its peer \"k\" stays: it is still used by network router ");
}

#[test]
fn what_would_be_hit_and_goes_by_itself_is_in_nobodys_way() {
    let bench = enrolled(&["k"]);
    let peer = bench.id("/peers", "k");
    let mut policies = file(&["k"]);
    policies["policies"] = json!({ "to-k": { "sources": ["g"], "destinations": ["g"] } });
    bench.applied(3.0, policies);
    let mut rule = policy_to(&bench, &peer)["rules"][0].clone();
    rule["destinations"] = Value::Null;
    bench.edit("/policies", "to-k", json!({ "rule": rule }));
    let mut none = file(&[]);
    none["policies"] = json!({});
    bench.declared(9.0, none);
    let run = bench.apply(&["--allow-deletes", "3"]).expect(0);
    run.shows("3 deleted");
    bench.assert_writes(&["DELETE /policies", "DELETE /peers", "DELETE /setup-keys"]);
}

#[test]
fn several_at_once_need_the_number_of_all() {
    let bench = enrolled(&["k", "l", "m"]);
    bench.declared_agreed(9.0, file(&["m"]), "k and l leave");
    bench.apply(&[]).expect(0).shows("4 deleted");
    assert_eq!(bench.names("/peers"), ["m"]);
}
