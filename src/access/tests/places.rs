//! Where resources are, and what an answer says of how they are reached.

use serde_json::{Value, json};
use snapbox::{assert_data_eq, str};

use super::{account, answer, office, tcp, told, told_of};
use crate::access::End;
use crate::testing::{Case, group, groups, over, policy_with, route};

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
- group "a" (2 machines) → "printer 10.20.0.9/32 in network office" of group "things": everything, by policy "p", because of network resource "printer"
+ group "a" (2 machines) → "printer 10.20.0.10/32 in network office" of group "things": everything, by policy "p", because of network resource "printer"

"#]]
    );
    assert_data_eq!(
        told(printer_at("0.0.0.0/0"), live.clone()),
        str![[r#"
- group "a" (2 machines) → "printer 10.20.0.9/32 in network office" of group "things": everything, by policy "p", because of network resource "printer"
+ group "a" (2 machines) → "printer 0.0.0.0/0 in network office" of group "things": everything, by policy "p", because of network resource "printer"
! the machines of group "a" reach all of the network 0.0.0.0/0 and ::/0 on every port, by policy "p", because of network resource "printer"

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
+ group "a" (2 machines) → group "things" (1 resource): everything, by policy "p"
! the machines of group "a" reach all of the network 10.20.0.0/24 on every port, by policy "p"

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
+ group "All" (4 machines) → group "things" (1 resource): everything, by policy "p", because of network resource "printer"
! every machine reaches all of the network 10.20.0.0/24 on every port, by policy "p", because of network resource "printer"

"#]]
    );
}

#[test]
fn an_answer_says_what_is_left_of_a_rule_and_on_what_it_depends() {
    let sided = |from: &str, to: &str, more: Value| {
        policy_with(
            &format!("{from}-{to}"),
            &[from],
            &[to],
            over(json!({ "bidirectional": false }), more),
        )
    };
    let drop = policy_with(
        "d",
        &["a"],
        &["b"],
        json!({ "bidirectional": false, "action": "drop", "protocol": "tcp", "ports": ["22"] }),
    );
    let some =
        account(json!({ "policies": [sided("a", "b", json!({ "protocol": "tcp" })), drop] }));
    assert_data_eq!(
        answer(some, "a", (End::Group, "b"), None),
        str![[r#"
yes: X → Y (2 of 2 pairs)

  by policy "a-b"  tcp 1-21, 23-65535

"#]]
    );
    let lan = over(
        route("lan", "10.9.0.0/24", &["r"]),
        json!({ "groups": groups(&["a"]) }),
    );
    let checked = json!({ "protocol": "icmp", "ports": [] });
    let mut checked = sided("a", "r", checked);
    checked["source_posture_checks"] = json!(["check1"]);
    let open = account(json!({
        "policies": [checked],
        "posture_checks": [{ "id": "check1", "name": "recent" }],
        "routes": [lan.clone()],
    }));
    assert_data_eq!(
        answer(open, "a", (End::Route, "lan"), tcp(80)),
        str![[r#"
yes: X → Y (2 of 2 pairs)

  by policy "a-r"  tcp 80  through route "lan" to 10.9.0.0/24, for machines that pass the posture check "recent"

"#]]
    );
    let guarded = over(lan, json!({ "access_control_groups": groups(&["b"]) }));
    let policies = json!([
        sided("a", "r", json!({ "protocol": "icmp" })),
        sided("a", "b", json!({ "protocol": "tcp", "ports": ["80"] })),
    ]);
    let guarded = account(json!({ "policies": policies, "routes": [guarded] }));
    assert_data_eq!(
        answer(guarded, "a", (End::Route, "lan"), None),
        str![[r#"
yes: X → Y (2 of 2 pairs)

  by policy "a-b"  tcp 80  through route "lan" to 10.9.0.0/24

"#]]
    );
}

#[test]
fn who_comes_to_route_a_network_gets_nothing_of_it_any_more() {
    let live = |router: &str| {
        let mut live = office(json!({ "peer_groups": groups(&[router]) }), json!({}));
        live["policies"] = json!([policy_with(
            "p",
            &["a"],
            &["things"],
            json!({ "bidirectional": false })
        )]);
        live
    };
    let mut file = printer_at("10.20.0.9");
    file["networks"]["office"]["routers"] = json!([{ "peer_groups": ["a"] }]);
    assert_data_eq!(
        told(file, live("r")),
        str![[r#"
- group "a" (2 machines) → group "things" (1 resource): everything, by policy "p", because of network "office"

"#]]
    );
    assert_data_eq!(
        told(printer_at("10.20.0.9"), live("a")),
        str![[r#"
+ group "a" (2 machines) → group "things" (1 resource): everything, by policy "p", because of network "office"

"#]]
    );
}

#[test]
fn a_resource_behind_the_routers_of_another_network_is_another_thing() {
    let mut live = office(json!({}), json!({}));
    let things = json!({ "sources": ["a"], "destinations": ["things"], "bidirectional": false });
    live["policies"] = json!([policy_with(
        "p",
        &["a"],
        &["things"],
        json!({ "bidirectional": false })
    )]);
    let moved = json!({
        "networks": {
            "office": { "resources": {}, "routers": [{ "peer_groups": ["r"] }] },
            "dc": { "resources": { "printer": { "address": "10.20.0.9", "groups": ["things"] } }, "routers": [{ "peer_groups": ["c"] }] },
        },
        "policies": { "p": things },
    });
    assert_data_eq!(
        told(moved, live),
        str![[r#"
- group "a" (2 machines) → "printer 10.20.0.9/32 in network office" of group "things": everything, by policy "p", because of network resource "printer"
+ group "a" (2 machines) → "printer 10.20.0.9/32 in new network dc" of group "things": everything, by policy "p", because of network resource "printer"

"#]]
    );
}

#[test]
fn what_is_called_out_is_so_where_machines_are_named_too() {
    let live = account(json!({ "policies": [policy_with("p", &["a"], &["r"], json!({}))] }));
    let lan = json!({ "network": "10.0.0.0/8", "peer_groups": ["r"], "groups": ["a"] });
    let case = Case::new(json!({ "routes": { "lan": lan } }), live);
    for peers in [false, true] {
        let told = told_of(&case, peers);
        let call = "! the machines of group \"a\" reach all of the network 10.0.0.0/8 on every port, by route \"lan\"";
        assert!(told.contains(call), "{told}");
    }
}
