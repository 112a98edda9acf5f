//! A machine that came by a key of ours goes once the file names it nowhere any more, and no other machine ever.

use serde_json::{Value, json};

use crate::run::history::second;
use crate::run::{Bench, INVENTORY, id};

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

/// Somebody deleted the key before a run recorded its machine: the event log tells who came by it.
#[test]
fn it_goes_with_the_entry_of_a_key_that_somebody_deleted() {
    let bench = Bench::in_git();
    let mut pending = file(&["k"]);
    pending["setup_keys"]["k"]["enrolled"] = json!(false);
    pending["groups"]["g"] = json!({ "peers": ["k"] });
    bench.applied(0.0, pending);
    bench.hour(1.0);
    bench.server().enroll(&bench.unseal("k"), "rook").unwrap();
    let key = format!("/setup-keys/{}", bench.id("/setup-keys", "k"));
    bench.server().call("DELETE", &key, Value::Null);
    bench.declared(2.0, file(&[]));
    bench.refuses(&[]).says("this plan deletes 1 peer");
    bench.apply(&["--allow-deletes", "1"]).expect(0);
    assert_eq!(bench.names("/peers"), Vec::<String>::new());
    bench.leaves_all(&[]).shows("No changes");
}

#[test]
fn two_of_one_second_are_told_apart_by_the_event_log_and_from_then_on_by_the_inventory() {
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
    bench.netbird().drop_events();
    assert_eq!(bench.planned(&[]), both);
}

#[test]
fn a_machine_that_goes_is_recorded_before_it_does() {
    let bench = Bench::in_git();
    let mut pending = file(&["k"]);
    pending["setup_keys"]["k"]["enrolled"] = json!(false);
    bench.applied(0.0, pending);
    bench.hour(1.0);
    bench.server().enroll(&bench.unseal("k"), "k").unwrap();
    let peer = bench.id("/peers", "k");
    assert_eq!(bench.inventory()["enrolled"], Value::Null);
    // no run saw it before its entry left
    bench.declared(9.0, file(&[]));
    let (inventory, then) = (bench.path(INVENTORY[1]), bench.path("then.json"));
    let path = format!("/peers/{peer}");
    bench.netbird().before("DELETE", &path, move |_| {
        std::fs::copy(inventory, then).unwrap();
    });
    bench.apply(&["--allow-deletes", "2"]).expect(0);
    let then = std::fs::read_to_string(bench.path("then.json")).unwrap();
    let then: Value = serde_json::from_str(&then).unwrap();
    let of_k = then["enrolled"]["k"].to_string();
    assert!(of_k.contains(&peer), "{of_k}");
}

#[test]
fn one_that_its_times_alone_tell_goes_and_the_plan_says_so() {
    let bench = Bench::in_git();
    bench.netbird().event_log(false);
    let mut pending = file(&["k"]);
    pending["setup_keys"]["k"]["enrolled"] = json!(false);
    bench.applied(0.0, pending);
    bench.hour(1.0);
    bench.server().enroll(&bench.unseal("k"), "k").unwrap();
    bench.applied(2.0, file(&["k"]));
    bench.declared(9.0, file(&[]));
    bench
        .plan(&[])
        .expect(0)
        .shows("only the times of key and peer say so, not the event log");
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
fn offboarding_works_where_the_key_is_gone_from_netbird_already() {
    let bench = enrolled(&["k"]);
    bench.delete("/setup-keys", "k");
    bench.declared(9.0, file(&[]));
    assert_eq!(bench.planned(&[]), ["delete_peer k"]);
    bench.refuses(&[]).says("this plan deletes 1 peer");
    agree(&bench, 10.0);
    bench.apply(&[]).expect(0).shows("1 deleted");
    assert_eq!(bench.names("/peers"), Vec::<String>::new());
}

/// Commits the line of the plan, and nothing else.
fn agree(bench: &Bench, hour: f64) {
    let line = bench.line("line", &[]);
    bench.commit(second(hour), &format!("it leaves\n\n{line}"));
}

/// A bench with a machine that came by `k` and that the groups `g` and `h` list; and a file where these groups list it.
fn in_groups() -> (Bench, impl Fn(&[&str], &[&str]) -> Value) {
    let bench = enrolled(&["k"]);
    let listed = |groups: &[&str], keys: &[&str]| {
        let mut listed = file(keys);
        listed["groups"]["h"] = json!({ "peers": [] });
        listed["groups"]["g"] = json!({ "peers": [] });
        for group in groups {
            listed["groups"][*group] = json!({ "peers": ["k"] });
        }
        listed
    };
    bench.applied(3.0, listed(&["g", "h"], &["k"]));
    (bench, listed)
}

#[test]
fn offboarding_works_where_the_key_leaves_the_file_before_the_groups() {
    let (bench, listed) = in_groups();
    let peer = bench.id("/peers", "k");
    bench.declared(9.0, listed(&["g", "h"], &[]));
    assert_eq!(bench.planned(&[]), ["delete_setup_key k"]);
    bench.apply(&[]).expect(0);
    // the machine keeps the name, and with it its place
    bench.leaves_all(&[]).shows("No changes");
    bench.applied(10.0, listed(&["h"], &[]));
    assert_eq!(bench.id("/peers", "k"), peer);
    // the last of them lets it go, and is the cause
    bench.declared(11.0, listed(&[], &[]));
    bench.refuses(&[]).says("this plan deletes 1 peer");
    let plan = bench.plan(&["--format", "json"]).expect(0).json();
    let cause = json!(bench.git(&["rev-parse", "HEAD"]));
    assert_eq!(plan["agreements"][0]["cause"], cause);
    agree(&bench, 12.0);
    bench.apply(&[]).expect(0);
    assert_eq!(bench.names("/peers"), Vec::<String>::new());
    bench.leaves_all(&[]).shows("No changes");
}

#[test]
fn offboarding_works_where_the_groups_leave_it_before_the_key_leaves_the_file() {
    let (bench, listed) = in_groups();
    bench.applied(9.0, listed(&[], &["k"]));
    assert_eq!(bench.names("/peers"), ["k"]);
    bench.declared(11.0, listed(&[], &[]));
    assert_eq!(bench.planned(&[]), ["delete_setup_key k", "delete_peer k"]);
    bench.refuses(&[]).says("this plan deletes 1 peer");
    agree(&bench, 12.0);
    bench.apply(&[]).expect(0).shows("2 deleted");
    assert_eq!(bench.names("/peers"), Vec::<String>::new());
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
fn a_persons_peer_stays_whatever_the_inventory_says() {
    let bench = enrolled(&["k"]);
    let laptop = bench.netbird().enroll_sso("laptop");
    let peer = bench.id("/peers", "k");
    let path = bench.path(INVENTORY[1]);
    let inventory = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, inventory.replace(&peer, &laptop)).unwrap();
    bench.declared(9.0, file(&[]));
    let run = bench.plan(&["--prune", "all"]).expect(0);
    run.says_anywhere("its peer is not deleted, because \"laptop\" belongs to a person");
    assert_eq!(bench.planned(&[]), ["delete_setup_key k", "delete_peer k"]);
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
}

#[test]
fn the_machine_of_an_adopted_key_goes_and_the_key_is_let_go() {
    let bench = Bench::in_git();
    bench.applied(0.0, file(&[]));
    bench.enrolled(&["over"]);
    bench.applied(3.0, file(&["over"]));
    bench.declared(9.0, file(&[]));
    bench.refuses(&[]).says("this plan deletes 1 peer");
    agree(&bench, 10.0);
    bench.apply(&[]).expect(0).shows("1 deleted");
    assert_eq!(bench.names("/setup-keys"), ["over"]);
    assert_eq!(bench.names("/peers"), Vec::<String>::new());
}

#[test]
fn what_others_lead_through_a_machine_holds_it_and_its_key_goes() {
    let holders = ["policy \"to-k\"", "route \"lan\"", "network router "];
    for (at, holder) in holders.into_iter().enumerate() {
        let bench = enrolled(&["k"]);
        let (peer, g) = (bench.id("/peers", "k"), bench.id("/groups", "g"));
        let through = json!({ "peer": peer, "metric": 9999, "masquerade": true, "enabled": true });
        match at {
            0 => drop(bench.create("/policies", policy_to(&bench, &peer))),
            1 => {
                let mut route = through;
                route["network_id"] = json!("lan");
                route["network"] = json!("10.9.0.0/16");
                route["groups"] = json!([g]);
                bench.create("/routes", route);
            }
            _ => {
                let office = json!({ "name": "office", "description": "" });
                let network = id(&bench.create("/networks", office));
                bench.create(&format!("/networks/{network}/routers"), through);
            }
        }
        // the file does not even manage these kinds
        bench.declared(9.0, file(&[]));
        assert_eq!(bench.planned(&[]), ["delete_setup_key k"], "{holder}");
        let run = bench.apply(&[]).expect(0);
        run.says_anywhere(&format!("it is still used by {holder}"));
        assert_eq!(bench.names("/peers"), ["k"]);
        // once nothing uses it, it goes
        if at == 0 {
            bench.delete("/policies", "to-k");
            bench.refuses(&[]).says("this plan deletes 1 peer");
            bench.apply(&["--allow-deletes", "1"]).expect(0);
            assert_eq!(bench.names("/peers"), Vec::<String>::new());
        }
    }
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
    // the run stopped there
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

/// What times told is told by the event log, where that has the enrollment.
#[test]
fn a_machine_that_times_told_is_known_by_its_event_once_the_log_has_it() {
    let bench = enrolled(&["k"]);
    let mut inventory = bench.inventory();
    let peer = bench.id("/peers", "k");
    inventory["enrolled"]["k"] = json!([{ "id": peer, "by": "name" }]);
    bench.write_inventory(inventory);
    bench.delete("/setup-keys", "k");
    bench.declared(9.0, file(&[]));
    // a name alone is no proof for a deletion
    assert_eq!(bench.planned(&["--prune", "all"]), ["delete_peer k"]);
    bench
        .plan(&["--prune", "all"])
        .expect(0)
        .hides("not the event log");
}

/// Where a policy of a name in the file uses it, the file is a place to take it out.
#[test]
fn what_holds_a_machine_is_looked_for_in_the_file_too() {
    let bench = enrolled(&["k"]);
    let with = |keys: &[&str]| {
        let mut file = file(keys);
        file["policies"] = json!({ "to-k": { "sources": ["g"], "destinations": ["g"] } });
        file
    };
    bench.applied(3.0, with(&["k"]));
    let peer = bench.id("/peers", "k");
    bench.create("/policies", policy_to(&bench, &peer));
    bench.declared(9.0, with(&[]));
    let run = bench.plan(&[]).expect(0);
    run.shows("remove that use in NetBird, or in the file if it is there");
}
