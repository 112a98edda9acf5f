//! Routes through one peer, and several routes of one name: from the file to the server, and back out of it.

use serde_json::{Value, json};

use crate::run::{Bench, id};

fn file(entry: Value) -> Value {
    json!({ "groups": { "g": {}, "h": {} }, "routes": { "gs": entry } })
}

fn via_peer(network: &str, peer: &str) -> Value {
    json!({ "network": network, "peer": peer, "groups": ["All"] })
}

fn via_group(network: &str, group: &str) -> Value {
    json!({ "network": network, "peer_groups": [group], "groups": ["All"] })
}

/// The routes as `NETWORK PEER-OR-NUMBER-OF-GROUPS`, sorted.
fn routes(bench: &Bench) -> Vec<String> {
    let routes = bench.all("/routes", "gs").into_iter();
    let peers = bench.server().list("/peers");
    let mut routes: Vec<String> = routes
        .map(|route| {
            let peer = peers.iter().find(|peer| peer["id"] == route["peer"]);
            let groups = route["peer_groups"].as_array().map_or(0, Vec::len);
            let through = match peer {
                Some(peer) => bench.server().own_name(peer).unwrap(),
                None => groups.to_string(),
            };
            format!("{} {through}", route["network"].as_str().unwrap())
        })
        .collect();
    routes.sort();
    routes
}

#[test]
fn a_route_goes_through_one_peer_and_to_groups_and_back() {
    let bench = Bench::scenario();
    bench.enrolled(&["gw-1", "gw-2"]);
    let named = |entry: Value| {
        let mut file = file(entry);
        file["setup_keys"] = json!({
            "gw-1": { "type": "one-off", "expires_in": 86400, "enrolled": true },
            "gw-2": { "type": "one-off", "expires_in": 86400, "enrolled": true },
        });
        file
    };
    bench.agreed(named(via_peer("10.1.0.0/16", "gw-1")));
    assert_eq!(routes(&bench), ["10.1.0.0/16 gw-1"]);
    let before = bench.id("/routes", "gs");
    bench.file(named(via_group("10.1.0.0/16", "g")));
    bench.plan(&[]).expect(0).shows("gw-1 → none");
    bench.apply(&[]).expect(0).shows("1 changed");
    assert_eq!(routes(&bench), ["10.1.0.0/16 1"]);
    bench.file(named(via_peer("10.1.0.0/16", "gw-2")));
    bench.apply(&[]).expect(0);
    assert_eq!(routes(&bench), ["10.1.0.0/16 gw-2"]);
    assert_eq!(bench.id("/routes", "gs"), before);
    bench.plan(&["--detailed-exitcode"]).expect(0);
}

#[test]
fn a_route_waits_for_its_peer_and_keeps_what_it_has() {
    let bench = Bench::in_git();
    let mut first = file(via_group("10.1.0.0/16", "g"));
    first["setup_keys"] = json!({ "gw": { "type": "one-off", "expires_in": 86400 } });
    bench.applied(0.0, first.clone());
    let mut then = first;
    then["routes"]["gs"] = json!([via_peer("10.1.0.0/16", "gw"), via_group("10.2.0.0/16", "g")]);
    bench.declared(1.0, then);
    bench.apply(&[]).expect(0).says_anywhere(
        "route \"gs\" names \"gw\", but the machine of this setup key has not enrolled yet",
    );
    // what it may stand for is neither changed nor taken away
    assert_eq!(routes(&bench), ["10.1.0.0/16 1", "10.2.0.0/16 1"]);
    let before = bench.all("/routes", "gs").iter().map(id).min();
    bench
        .server()
        .enroll(&bench.unseal("gw"), "host-7")
        .unwrap();
    bench.apply(&[]).expect(0);
    let routes = routes(&bench);
    assert_eq!(routes.len(), 2);
    assert!(
        routes[0].starts_with("10.1.0.0/16 ") && routes[0] != "10.1.0.0/16 1",
        "{routes:?}"
    );
    assert_eq!(bench.all("/routes", "gs").iter().map(id).min(), before);
}

#[test]
fn several_routes_of_one_name_are_one_entry() {
    let bench = Bench::in_git();
    let (a, b) = (via_group("10.1.0.0/16", "g"), via_group("10.1.0.0/16", "h"));
    bench.applied(0.0, file(json!([a, b])));
    assert_eq!(routes(&bench), ["10.1.0.0/16 1", "10.1.0.0/16 1"]);
    bench.plan(&["--detailed-exitcode"]).expect(0);
    // another order is no change, and neither is a list of one
    bench.declared(1.0, file(json!([b, a])));
    bench.leaves_all(&[]).shows("No changes");
    let mut dearer = b.clone();
    dearer["metric"] = json!(5);
    bench.applied(2.0, file(json!([dearer, a])));
    bench.declared(3.0, file(json!([a])));
    let plan = bench.plan(&["--format", "json"]).expect(0).json();
    let operation = &plan["operations"][0];
    assert_eq!(operation["type"], "delete_route");
    assert!(operation["cause"].is_string(), "{operation:#}");
    assert_eq!(bench.planned(&[]), ["delete_route gs"]);
    bench.apply(&[]).expect(0).shows("1 deleted");
    assert_eq!(routes(&bench), ["10.1.0.0/16 1"]);
    bench.declared(4.0, file(a));
    bench.leaves_all(&[]).shows("No changes");
}

#[test]
fn one_of_several_is_changed_in_place() {
    let bench = Bench::in_git();
    let (a, b) = (via_group("10.1.0.0/16", "g"), via_group("10.2.0.0/16", "h"));
    bench.applied(0.0, file(json!([a, b])));
    let ids = |bench: &Bench| {
        let mut ids: Vec<String> = bench.all("/routes", "gs").iter().map(id).collect();
        ids.sort();
        ids
    };
    let before = ids(&bench);
    bench.applied(1.0, file(json!([a, via_group("10.3.0.0/16", "h")])));
    assert_eq!(routes(&bench), ["10.1.0.0/16 1", "10.3.0.0/16 1"]);
    assert_eq!(ids(&bench), before);
}

#[test]
fn a_colleagues_route_beside_ours_is_unmanaged() {
    let bench = Bench::in_git();
    let peer = bench.peer("gw");
    let all = bench.id("/groups", "All");
    let (a, b) = (via_group("10.1.0.0/16", "g"), via_group("10.2.0.0/16", "h"));
    bench.applied(0.0, file(json!([a, b])));
    bench.hour(1.0);
    // each end is that of one of ours; both together are nobody's
    let h = bench.id("/groups", "h");
    for through in [json!({ "peer": peer }), json!({ "peer_groups": [h] })] {
        let mut route = json!({ "network_id": "gs", "network": "10.1.0.0/16", "groups": [all], "metric": 9,
                                "masquerade": true, "enabled": true });
        let fields = through.as_object().unwrap().clone();
        // the first prefix has no router in common
        if through.get("peer_groups").is_some() {
            bench.applied(2.0, file(json!([via_group("10.9.0.0/16", "g"), b])));
        }
        route.as_object_mut().unwrap().extend(fields);
        bench.create("/routes", route);
    }
    bench
        .leaves_all(&[])
        .says_anywhere("NetBird has 2 other routes with the name \"gs\" (ids ");
    bench.declared(3.0, file(json!([b])));
    assert_eq!(bench.planned(&[]), ["delete_route gs"]);
    bench.apply(&[]).expect(0);
    assert_eq!(
        routes(&bench),
        ["10.1.0.0/16 1", "10.1.0.0/16 gw", "10.2.0.0/16 1"]
    );
}

#[test]
fn a_renamed_entry_takes_all_its_routes_along() {
    let bench = Bench::in_git();
    let (mut a, b) = (via_group("10.1.0.0/16", "g"), via_group("10.2.0.0/16", "h"));
    bench.applied(0.0, file(json!([a, b])));
    let mut before: Vec<String> = bench.all("/routes", "gs").iter().map(id).collect();
    before.sort();
    a["renamed_from"] = json!("gs");
    let renamed = json!({ "groups": { "g": {}, "h": {} }, "routes": { "site": [a, b] } });
    bench.applied(1.0, renamed.clone());
    let mut after: Vec<String> = bench.all("/routes", "site").iter().map(id).collect();
    after.sort();
    assert_eq!(before, after);
    let mut less = renamed;
    less["routes"]["site"] = json!([a]);
    bench.declared(2.0, less);
    assert_eq!(bench.planned(&[]), ["delete_route site"]);
}

#[test]
fn what_is_exported_and_adopted_plans_nothing() {
    let bench = Bench::fake();
    let (g, peer) = (bench.group("g"), bench.peer("gw"));
    let all = bench.id("/groups", "All");
    let route = |name: &str, fields: Value| {
        let mut route = json!({ "network_id": name, "network": "10.1.0.0/16", "groups": [all], "metric": 9,
                                "masquerade": true, "enabled": true });
        route
            .as_object_mut()
            .unwrap()
            .extend(fields.as_object().unwrap().clone());
        bench.create("/routes", route);
    };
    route("gs", json!({ "peer_groups": [g] }));
    route("gs", json!({ "peer": peer }));
    route("one", json!({ "network": "10.2.0.0/16", "peer": peer }));
    let file = bench.run(&["export"]).expect(0).stdout;
    let exported: Value = serde_json::from_str(&file).unwrap();
    assert_eq!(exported["routes"]["gs"].as_array().unwrap().len(), 2);
    assert_eq!(exported["routes"]["one"]["peer"], "gw");
    bench.text(&file).plan(&["--detailed-exitcode"]).expect(0);
    bench.file(json!({ "groups": { "g": {} } }));
    bench.run(&["adopt", "routes/gs", "routes/one"]).expect(0);
    bench.plan(&["--detailed-exitcode"]).expect(0);
    bench
        .run(&["adopt", "routes/gs"])
        .expect(0)
        .says_anywhere("is declared already: a plan shows whether NetBird differs from the file");
}
