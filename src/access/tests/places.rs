//! Where resources are.

use serde_json::{Value, json};
use snapbox::{assert_data_eq, str};

use super::{account, office, told};
use crate::testing::{group, policy_with};

/// A file for `office` with the printer at that address, to be reached by `a`.
fn printer_at(address: &str) -> Value {
    json!({
        "networks": { "office": {
            "resources": { "printer": { "address": address, "groups": ["things"] } },
            "routers": [{ "peer_groups": ["r"] }],
        } },
        "policies": { "p": { "sources": ["a"], "destinations": ["things"], "bidirectional": false } },
    })
}

#[test]
fn a_resource_at_another_address_is_another_thing() {
    let mut live = office(json!({}), json!({}));
    live["policies"] = json!([policy_with(
        "p",
        &["a"],
        &["things"],
        json!({ "bidirectional": false })
    )]);
    assert_data_eq!(
        told(printer_at("10.20.0.10"), live.clone()),
        str![[r#"
- a (2 machines) → printer 10.20.0.9/32 (of things): everything, by network resource printer, policy p
+ a (2 machines) → printer 10.20.0.10/32 (of things): everything, by network resource printer, policy p

"#]]
    );
    assert_data_eq!(
        told(printer_at("0.0.0.0/0"), live.clone()),
        str![[r#"
- a (2 machines) → printer 10.20.0.9/32 (of things): everything, by network resource printer, policy p
+ a (2 machines) → printer 0.0.0.0/0 (of things): everything, by network resource printer, policy p
! a reaches all of the network 0.0.0.0/0 and ::/0 on every port, by network resource printer, policy p

"#]]
    );
    assert_data_eq!(
        told(printer_at("10.20.0.9"), live),
        str![[r#"


"#]]
    );
}

#[test]
fn a_whole_network_in_a_group_is_called_out_as_such() {
    let mut file = printer_at("10.20.0.0/24");
    file["groups"] = json!({ "a": {}, "r": {}, "things": {} });
    assert_data_eq!(
        told(file, account(json!({}))),
        str![[r#"
+ a (2 machines) → things (1 resource): everything, by policy p
! a reaches all of the network 10.20.0.0/24 on every port, by policy p

"#]]
    );
}

#[test]
fn what_newly_stands_behind_a_rule_of_all_is_called_out() {
    let mut file = printer_at("10.20.0.0/24");
    file["policies"]["p"]["sources"] = json!(["All"]);
    let mut live = account(
        json!({ "policies": [policy_with("p", &["All"], &["things"], json!({ "bidirectional": false }))] }),
    );
    live["groups"]
        .as_array_mut()
        .expect("a list")
        .push(group("things", &[]));
    assert_data_eq!(
        told(file, live),
        str![[r#"
+ All (4 machines) → things (1 resource): everything, by network resource printer, policy p
! every machine reaches all of the network 10.20.0.0/24 on every port, by network resource printer, policy p

"#]]
    );
}
