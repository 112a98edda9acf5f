//! Namesakes that others made beside ours, and what somebody made of ours.

use serde_json::{Value, json};

use super::{base, kinds, with};
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
        .says_anywhere("NetBird has another route with the name \"lan\"");
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
fn what_somebody_made_of_ours_goes_all_the_same_and_is_shown() {
    let lan = kinds()[3].2.clone();
    let policy =
        json!({ "sources": ["g"], "destinations": ["g"], "protocol": "tcp", "ports": ["443"] });
    let rows = [
        (
            "routes",
            "/routes",
            lan,
            json!({ "network": "10.77.0.0/16" }),
            "10.77.0.0/16",
        ),
        (
            "policies",
            "/policies",
            policy,
            json!({ "rule": { "ports": ["22"] } }),
            "22",
        ),
    ];
    for (section, path, entry, change, shown) in rows {
        let bench = Bench::in_git();
        bench.applied(1.0, with(base(), section, "lan", entry));
        bench.edit(path, "lan", change);
        // still declared it is put right
        assert_eq!(
            bench.planned(&[]),
            [super::operation("update", section, "lan")]
        );
        bench.declared(50.0, base());
        bench
            .plan(&[])
            .expect(0)
            .shows("it is no longer in the file")
            .shows(shown);
        bench.apply(&[]).expect(0).shows("1 deleted");
        assert_eq!(bench.all(path, "lan"), Vec::<Value>::new());
    }
}

/// Point 1 of issue 19, in networks and zones.
#[test]
fn a_router_and_a_record_beside_ours_stay() {
    let bench = Bench::in_git();
    let file = json!({ "groups": { "g": {}, "gw": {} },
        "networks": { "office": { "resources": {}, "routers": [{ "peer_groups": ["g"] }] } },
        "dns": { "zones": { "corp": { "domain": "corp.example", "distribution_groups": ["g"],
            "records": [{ "name": "db", "type": "A", "content": "10.0.0.1" }] } } } });
    let mut emptied = file.clone();
    emptied["networks"]["office"]["routers"] = json!([]);
    emptied["dns"]["zones"]["corp"]["records"] = json!([]);
    bench.applied(1.0, file);
    let routers = format!("/networks/{}/routers", bench.id("/networks", "office"));
    let router = json!({ "peer_groups": [bench.id("/groups", "gw")], "metric": 9999, "masquerade": true, "enabled": true });
    let router = id(&bench.create(&routers, router));
    let records = format!("/dns/zones/{}/records", bench.id("/dns/zones", "corp"));
    let record =
        json!({ "name": "db.corp.example", "type": "A", "content": "10.0.0.2", "ttl": 300 });
    let record = id(&bench.create(&records, record));
    bench
        .leaves_all(&[])
        .shows("NetBird has another network router of network \"office\"")
        .shows("NetBird has another DNS record ");
    bench.declared(9.0, emptied);
    bench.apply(&[]).expect(0).shows("2 deleted");
    let left = |list: &str| -> Vec<String> { bench.server().list(list).iter().map(id).collect() };
    assert_eq!(
        (left(&routers), left(&records)),
        (vec![router], vec![record])
    );
    bench.leaves_all(&[]);
}
