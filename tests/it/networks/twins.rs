//! Two networks of one name.

use serde_json::{Value, json};

use crate::run::{Bench, id};

fn office() -> Value {
    json!({
        "groups": { "gateways": {} },
        "networks": { "office": {
            "resources": { "printer": { "address": "10.20.0.9" } }, "routers": [{ "peer_groups": ["gateways"] }],
        } },
    })
}

#[test]
fn a_second_network_of_our_name_with_equal_routers_goes_with_them() {
    let bench = Bench::in_git();
    bench.applied(0.0, office());
    bench.hour(1.0);
    let second = id(&bench.create("/networks", json!({ "name": "office" })));
    route_through(&bench, &second, "gateways");
    bench.apply(&["--allow-deletes", "2"]).expect(0);
    assert_eq!(bench.all("/networks", "office").len(), 1);
    bench.plan(&["--detailed-exitcode"]).expect(0);
}

#[test]
fn a_second_network_of_our_name_with_something_of_its_own_is_an_error() {
    let bench = Bench::in_git();
    bench.applied(0.0, office());
    bench.hour(1.0);
    let second = id(&bench.create("/networks", json!({ "name": "office" })));
    bench.create(
        &format!("/networks/{second}/resources"),
        json!({ "name": "nas", "address": "10.1.1.1", "enabled": true, "groups": [] }),
    );
    let plan = bench.plan(&[]).expect(1);
    plan.says("is the name of 2 networks in NetBird");
}

fn route_through(bench: &Bench, network: &str, group: &str) {
    let group = bench.id("/groups", group);
    bench.create(
        &format!("/networks/{network}/routers"),
        json!({ "peer_groups": [group], "metric": 9999, "masquerade": true, "enabled": true }),
    );
}
