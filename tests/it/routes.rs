//! Are routes written in an order that the server takes? It refuses two routes of one network through the same routers.

use serde_json::{Value, json};

use crate::run::{Bench, id};

fn route(network: &str, routers: &str) -> Value {
    json!({ "network": network, "peer_groups": [routers], "groups": ["users"] })
}

fn file(routes: Value) -> Value {
    json!({ "groups": { "gw": {}, "gw2": {}, "users": {} }, "routes": routes })
}

#[test]
fn a_route_that_takes_anothers_network_waits_for_it_to_go() {
    let bench = Bench::fake();
    bench.agreed(file(json!({ "old": route("10.1.0.0/16", "gw") })));
    bench.file(file(json!({ "new": route("10.1.0.0/16", "gw") })));
    bench.apply(&["--prune", "all"]).expect(0);
    bench.assert_writes(&["DELETE /routes", "POST /routes"]);
    assert_eq!(bench.names("/routes"), ["new"]);
}

#[test]
fn a_route_through_other_routers_is_made_before_the_old_one_goes() {
    let bench = Bench::fake();
    bench.agreed(file(json!({ "old": route("10.1.0.0/16", "gw") })));
    bench.file(file(json!({ "new": route("10.1.0.0/16", "gw2") })));
    bench.apply(&["--prune", "all"]).expect(0);
    bench.assert_writes(&["POST /routes", "DELETE /routes"]);
}

#[test]
fn networks_that_move_on_are_written_from_the_far_end() {
    let bench = Bench::scenario();
    bench.agreed(file(
        json!({ "a": route("10.1.0.0/16", "gw"), "b": route("10.2.0.0/16", "gw") }),
    ));
    // a takes what b leaves
    bench.file(file(
        json!({ "a": route("10.2.0.0/16", "gw"), "b": route("10.3.0.0/16", "gw") }),
    ));
    bench.apply(&[]).expect(0);
    assert_eq!(bench.one("/routes", "a")["network"], "10.2.0.0/16");
    assert_eq!(bench.one("/routes", "b")["network"], "10.3.0.0/16");
    bench.plan(&[]).expect(0).shows("No changes");
}

#[test]
fn networks_that_are_exchanged_are_refused_before_the_first_write() {
    let bench = Bench::scenario();
    bench.agreed(file(
        json!({ "a": route("10.1.0.0/16", "gw"), "b": route("10.2.0.0/16", "gw") }),
    ));
    bench.file(file(
        json!({ "a": route("10.2.0.0/16", "gw"), "b": route("10.1.0.0/16", "gw") }),
    ));
    bench
        .apply(&[])
        .expect(1)
        .says("swap a unique value, and NetBird cannot do that in one step")
        .says("two steps");
    bench.assert_writes(&[]);
}

#[test]
fn a_route_of_somebody_else_in_the_way_is_a_refusal_with_its_id() {
    let bench = Bench::scenario();
    bench.agreed(file(json!({})));
    let (gw, users) = (bench.id("/groups", "gw"), bench.id("/groups", "users"));
    let theirs = json!({ "network_id": "theirs", "network": "10.1.0.0/16", "peer_groups": [gw], "groups": [users], "metric": 1, "enabled": true });
    let theirs = bench.create("/routes", theirs);
    bench.server().clear_requests();
    bench.file(file(json!({ "ours": route("10.1.0.0/16", "gw") })));
    let id = theirs["id"].as_str().unwrap();
    bench
        .apply(&[])
        .expect(1)
        .says("another route \"theirs\"")
        .says(id);
    bench.assert_writes(&[]);
    // through other routers it is fine
    bench.file(file(json!({ "ours": route("10.1.0.0/16", "gw2") })));
    bench.apply(&[]).expect(0);
}

#[test]
fn a_machine_in_both_groups_of_routers_is_in_the_way_too() {
    let bench = Bench::fake();
    let keys = bench.enrolled(&["m"]);
    let file = |routes: Value| json!({ "groups": { "gw": { "peers": ["m"] }, "gw2": { "peers": ["m"] }, "users": {} }, "setup_keys": keys, "routes": routes });
    bench.agreed(file(json!({ "a": route("10.1.0.0/16", "gw") })));
    bench.file(file(
        json!({ "a": route("10.1.0.0/16", "gw"), "b": route("10.1.0.0/16", "gw2") }),
    ));
    bench.apply(&[]).expect(1).says("another route \"a\"");
    bench.assert_writes(&[]);
}

#[test]
fn a_machine_that_joins_both_groups_of_routers_in_this_plan_is_in_the_way_too() {
    let bench = Bench::fake();
    let keys = bench.enrolled(&["m"]);
    let file = |gw2: Value, routes: Value| json!({ "groups": { "gw": { "peers": ["m"] }, "gw2": { "peers": gw2 }, "users": {} }, "setup_keys": keys, "routes": routes });
    let a = json!({ "a": route("10.1.0.0/16", "gw") });
    let both = json!({ "a": route("10.1.0.0/16", "gw"), "b": route("10.1.0.0/16", "gw2") });
    bench.agreed(file(json!([]), a));
    bench.file(file(json!(["m"]), both.clone()));
    bench.apply(&[]).expect(1).says("another route \"a\"");
    bench.assert_writes(&[]);
    // and where everything is new
    let bench = Bench::fake();
    bench.enrolled(&["m"]);
    bench.server().clear_requests();
    bench.file(file(json!(["m"]), both));
    bench.apply(&[]).expect(1).says("cannot be written");
    bench.assert_writes(&[]);
}

#[test]
fn a_route_of_our_name_through_another_peer_is_never_in_the_way_and_stays() {
    let bench = Bench::scenario_that_enrolls();
    bench.agreed(file(json!({})));
    let (peer, users) = (bench.peer("m"), bench.id("/groups", "users"));
    let single = json!({ "network_id": "lan", "network": "10.1.0.0/16", "peer": peer, "groups": [users], "metric": 7, "enabled": true });
    let single = bench.create("/routes", single);
    bench.file(file(json!({ "lan": route("10.1.0.0/16", "gw") })));
    let said = format!(
        "NetBird has another route with the name \"lan\" (id {})",
        id(&single)
    );
    bench.plan(&[]).expect(0).shows("1 to create").shows(&said);
    bench.apply(&[]).expect(0);
    let all = bench.all("/routes", "lan");
    assert_eq!(all.len(), 2, "{all:?}");
    assert!(all.contains(&single), "{all:?}");
    bench.plan(&[]).expect(0).shows("No changes");
}

#[test]
fn a_network_becomes_domains_and_back() {
    let bench = Bench::scenario();
    let domains = json!({ "domains": ["b\u{fc}ro.example", "*.example.com"], "peer_groups": ["gw"], "groups": ["users"] });
    for routes in [
        json!({ "r": route("10.1.0.0/16", "gw") }),
        json!({ "r": domains }),
        json!({ "r": route("fd00:1::/64", "gw") }),
    ] {
        bench.agreed(file(routes));
        bench.plan(&[]).expect(0).shows("No changes");
    }
}

#[test]
fn who_gets_a_route_is_everybody_where_the_file_does_not_say_and_that_is_said() {
    let bench = Bench::scenario();
    bench.file(json!({ "groups": { "gw": {} }, "routes": { "r": { "network": "10.1.0.0/16", "peer_groups": ["gw"] } } }));
    bench.apply(&[]).expect(0).shows("routes.r");
    assert_eq!(
        bench.one("/routes", "r")["groups"],
        json!([bench.id("/groups", "All")])
    );
    bench.plan(&[]).expect(0).shows("No changes");
}
