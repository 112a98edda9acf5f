//! Namesakes that others made: names of routes and policies are not unique, so the form tells what is ours.

use serde_json::{Value, json};

use super::{base, by_hand, kinds, with};
use crate::run::{Bench, id};

fn lan() -> Value {
    with(base(), "routes", "lan", kinds()[3].2.clone())
}

/// Adds a second router of the same network under the same network id, by hand.
fn second_router(bench: &Bench, changes: Value) -> String {
    let mut body = json!({ "network_id": "lan", "network": "10.1.0.0/16", "groups": [bench.id("/groups", "g")],
                           "metric": 9999, "masquerade": true, "enabled": true });
    for (field, value) in changes.as_object().unwrap() {
        body[field] = value.clone();
    }
    id(&bench.create("/routes", body))
}

#[test]
fn a_colleagues_second_router_is_never_ours() {
    let bench = Bench::in_git();
    bench.applied(1.0, lan());
    let ours = bench.id("/routes", "lan");
    bench.hour(30.0);
    let peer = bench.peer("m");
    let theirs = second_router(&bench, json!({ "peer": peer }));
    // the file can go on changing
    bench
        .leaves_all(&[])
        .says_anywhere("No changes")
        .says_anywhere("not this file's and is left alone");
    let mut described = lan();
    described["routes"]["lan"]["description"] = json!("the office");
    bench.applied(40.0, described);
    let route = |id: &str| {
        let routes = bench.all("/routes", "lan");
        routes.into_iter().find(|route| route["id"] == *id)
    };
    assert_eq!(route(&ours).unwrap()["description"], "the office");
    assert_eq!(route(&theirs).unwrap()["description"], "");
    // without its entry ours goes, and nothing more
    bench.declared(50.0, base());
    assert_eq!(bench.planned(&[]), ["delete_route lan"]);
    bench.apply(&[]).expect(0).shows("1 deleted");
    assert_eq!(route(&ours), None);
    assert!(route(&theirs).is_some());
    let plan = bench.plan(&["--format", "json"]).expect(0).json();
    assert_eq!(plan["unmanaged"][0]["name"], "Default");
    assert_eq!(plan["unmanaged"][1]["name"], "lan");
    bench.leaves_all(&[]);
}

#[test]
fn nor_one_through_another_group_or_of_another_network() {
    for changes in [
        json!({ "peer_groups": ["gw2"] }),
        json!({ "network": "10.2.0.0/16", "peer_groups": ["g"] }),
    ] {
        let bench = Bench::in_git();
        bench.applied(1.0, lan());
        let ours = bench.id("/routes", "lan");
        bench.group("gw2");
        let mut changes = changes;
        let group = changes["peer_groups"][0].as_str().unwrap().to_owned();
        changes["peer_groups"] = json!([bench.id("/groups", &group)]);
        bench.hour(30.0);
        let theirs = second_router(&bench, changes);
        bench.leaves_all(&[]).says_anywhere("No changes");
        bench.declared(50.0, base());
        bench.apply(&[]).expect(0).shows("1 deleted");
        assert_ne!(theirs, ours);
        assert_eq!(bench.id("/routes", "lan"), theirs);
        bench.leaves_all(&[]);
    }
}

#[test]
fn routes_that_others_made_while_every_plan_failed_stay() {
    let bench = Bench::in_git();
    bench.applied(0.0, base());
    let peers = ["a", "b", "c", "d"].map(|name| bench.peer(name));
    bench.declared(2.0, lan());
    for peer in &peers {
        second_router(&bench, json!({ "peer": peer }));
    }
    assert_eq!(bench.planned(&[]), ["create_route lan"]);
    bench.declared(9.0, base());
    bench.leaves_all(&[]);
    assert_eq!(bench.all("/routes", "lan").len(), 4);
}

#[test]
fn a_policy_to_a_resource_is_not_the_entrys() {
    let bench = Bench::in_git();
    let file = with(base(), "policies", "p", kinds()[2].2.clone());
    bench.applied(1.0, file);
    let ours = bench.id("/policies", "p");
    bench.hour(30.0);
    let g = bench.id("/groups", "g");
    let theirs = bench.create("/policies", json!({ "name": "p", "enabled": true, "rules": [
        { "name": "p", "enabled": true, "action": "accept", "bidirectional": false, "protocol": "tcp", "ports": ["22"],
          "sources": [g], "destinationResource": { "id": "d2m8a1bl0ubs73a9k3c0", "type": "host" } }] }));
    bench.leaves_all(&[]).says_anywhere("No changes");
    bench.declared(50.0, base());
    bench.apply(&[]).expect(0).shows("1 deleted");
    assert_ne!(id(&theirs), ours);
    assert_eq!(bench.id("/policies", "p"), id(&theirs));
    bench.leaves_all(&[]);
}

#[test]
fn what_we_made_and_somebody_changed_is_held_back() {
    // a route that got another network, and one that goes through a peer now
    for to_peer in [false, true] {
        let bench = Bench::in_git();
        let peer = bench.peer("m");
        bench.applied(1.0, lan());
        let change = match to_peer {
            true => json!({ "peer": peer, "peer_groups": null }),
            false => json!({ "network": "10.77.0.0/16" }),
        };
        bench.edit("/routes", "lan", change);
        // still declared it is put right
        assert_eq!(bench.planned(&[]), ["update_route lan"]);
        bench.declared(50.0, base());
        bench
            .leaves_all(&[])
            .says_anywhere("changed by hand into what the file never said");
        assert_eq!(bench.names("/routes"), ["lan"]);
    }
}

#[test]
fn a_policy_that_got_a_posture_check_is_held_back() {
    let bench = Bench::in_git();
    bench.applied(1.0, with(base(), "policies", "p", kinds()[2].2.clone()));
    let check =
        json!({ "name": "c", "checks": { "nb_version_check": { "min_version": "0.60.0" } } });
    let check = id(&bench.create("/posture-checks", check));
    bench.edit(
        "/policies",
        "p",
        json!({ "source_posture_checks": [check] }),
    );
    bench.leaves_all(&[]).says_anywhere("No changes");
    bench.declared(50.0, base());
    bench
        .leaves_all(&[])
        .says_anywhere("changed by hand into what the file never said");
}

/// Both are as the file has them, in all that it says: nobody can tell which is meant.
#[test]
fn what_a_file_can_say_twice_stays_an_error() {
    let bench = Bench::in_git();
    bench.applied(1.0, with(base(), "policies", "p", kinds()[2].2.clone()));
    bench.edit("/policies", "p", json!({ "description": "the first" }));
    bench.hour(5.0);
    by_hand(&bench, "policies", "p");
    bench.cannot(&[]).says("is the name of 2 policies");
}
