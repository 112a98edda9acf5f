//! What is behind a route.

use serde_json::{Value, json};
use snapbox::{assert_data_eq, str};

use super::{account, one, told};
use crate::testing::{groups, over, policy, policy_with, route};

/// A live route for `a` through `r`.
pub(super) fn lan(more: Value) -> Value {
    over(
        route("lan", "10.0.0.0/8", &["r"]),
        over(json!({ "groups": groups(&["a"]) }), more),
    )
}

#[test]
fn a_route_is_open_on_every_port_once_any_policy_pairs_client_and_router() {
    let live = account(json!({ "routes": [lan(json!({}))] }));
    for policy in [
        json!({ "destinations": ["r"], "protocol": "icmp" }),
        json!({ "sources": ["r"], "destinations": ["a"], "protocol": "icmp" }),
    ] {
        let told = told(one(policy), live.clone());
        let route = "+ group \"a\" (2 machines) → 10.0.0.0/8 behind route \"lan\": everything, by route \"lan\", because of policy \"p\"\n";
        assert!(told.contains(route), "{told}");
    }
    // one that drops opens it, too
    let drop = json!({ "destinations": ["r"], "action": "drop" });
    assert_data_eq!(
        told(one(drop), live.clone()),
        str![[r#"
+ group "a" (2 machines) → 10.0.0.0/8 behind route "lan": everything, by route "lan", because of policy "p"
! the machines of group "a" reach all of the network 10.0.0.0/8 on every port, by route "lan", because of policy "p"

"#]]
    );
    // and whoever takes the narrow rule away closes it
    let live = over(
        live,
        json!({ "policies": [policy_with("p", &["a"], &["r"], json!({ "protocol": "icmp", "bidirectional": false }))] }),
    );
    assert_data_eq!(
        told(
            json!({ "policies": {}, "groups": { "a": {}, "b": {}, "c": {}, "r": {}, "none": {} } }),
            live
        ),
        str![[r#"
- group "a" (2 machines) → group "r" (1 machine): icmp, by policy "p"
- group "a" (2 machines) → 10.0.0.0/8 behind route "lan": everything, by route "lan", because of policy "p"

"#]]
    );
}

#[test]
fn without_a_policy_a_route_leads_nowhere() {
    let file = json!({ "routes": { "lan": { "network": "10.0.0.0/8", "peer_groups": ["r"], "groups": ["a"] } } });
    assert_eq!(told(file.clone(), account(json!({}))), "\n");
    let paired = account(json!({ "policies": [policy("p", &["a"], &["r"])] }));
    assert_data_eq!(
        told(file, paired),
        str![[r#"
+ group "a" (2 machines) → 10.0.0.0/8 behind route "lan": everything, by route "lan"
! the machines of group "a" reach all of the network 10.0.0.0/8 on every port, by route "lan"

"#]]
    );
}

#[test]
fn with_access_control_groups_only_the_policies_to_them_count() {
    let guarded = lan(json!({ "access_control_groups": groups(&["c"]) }));
    let pair = policy_with("pair", &["a"], &["r"], json!({ "protocol": "icmp" }));
    let live = account(json!({ "routes": [guarded], "policies": [pair] }));
    let file = |policy: Value| {
        let pair = json!({ "sources": ["a"], "destinations": ["r"], "protocol": "icmp" });
        let mut file = one(policy);
        file["policies"]["pair"] = pair;
        file
    };
    assert_data_eq!(
        told(
            file(json!({ "destinations": ["c"], "protocol": "tcp", "ports": [443] })),
            live.clone()
        ),
        str![[r#"
+ group "a" (2 machines) → group "c" (1 machine): tcp 443, by policy "p"
+ group "a" (2 machines) → 10.0.0.0/8 behind route "lan": tcp 443, by route "lan", because of policy "p"

"#]]
    );
    // sources that do not get the route have nothing of it
    assert_data_eq!(
        told(
            file(json!({ "sources": ["b"], "destinations": ["c"] })),
            live
        ),
        str![[r#"
+ group "b" (1 machine) → group "c" (1 machine): everything, by policy "p"

"#]]
    );
}

#[test]
fn two_routes_of_one_name_to_one_network_are_one_way_there() {
    let live = account(
        json!({ "routes": [lan(json!({}))], "policies": [policy("p", &["a", "c"], &["r", "c"])] }),
    );
    let route = |through: &str| json!({ "network": "10.0.0.0/8", "peer_groups": [through], "groups": ["a"] });
    let file = json!({ "routes": { "lan": [route("r"), route("c")] } });
    assert_eq!(told(file, live), "\n");
}
