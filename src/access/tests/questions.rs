//! The answers to questions.

use serde_json::{Value, json};
use snapbox::{assert_data_eq, str};

use super::routes::lan;
use super::{account, answer, office, tcp};
use crate::access::{End, Question, ask};
use crate::model::Kind;
use crate::plan::Memberships;
use crate::testing::{Case, MADE, groups, id, over, policy_with};

#[test]
fn a_question_is_answered_with_the_rules_or_with_what_comes_nearest() {
    let one_way = |rule: Value| {
        let rule = over(json!({ "bidirectional": false }), rule);
        account(json!({ "policies": [policy_with("p", &["a"], &["b"], rule)] }))
    };
    let ssh = json!({ "protocol": "tcp", "ports": ["22"] });
    let b = (End::Group, "b");
    let rows = [
        answer(one_way(ssh.clone()), "a", b, tcp(22)),
        answer(one_way(ssh.clone()), "a", b, tcp(80)),
        answer(one_way(ssh.clone()), "b", (End::Group, "a"), tcp(22)),
        answer(one_way(json!({ "enabled": false })), "a", b, None),
        answer(one_way(json!({ "action": "drop" })), "a", b, None),
        answer(one_way(ssh), "c", b, tcp(22)),
        answer(one_way(json!({})), "none", b, None),
    ];
    assert_data_eq!(
        rows.concat(),
        str![[r#"
yes: X → Y (2 of 2 pairs)

  by policy "p"  tcp 22
no: X → Y (0 of 2 pairs)

nearest:
  policy "p" lets tcp 22 through
no: X → Y (0 of 2 pairs)

nearest:
  policy "p" lets it through in the other direction only
no: X → Y (0 of 2 pairs)

nearest:
  policy "p" would let it through, but the policy is disabled
no: X → Y (0 of 2 pairs)

nearest:
  policy "p" blocks it (action drop)
no: X → Y

nearest:
  policy "p" lets group "a" in (tcp 22)
no: X → Y

nearest:
  policy "p" lets group "a" in (everything)

"#]]
    );
}

#[test]
fn a_question_about_a_resource_or_a_route_says_through_whom() {
    let resource = json!({ "destinationResource": { "id": id(Kind::NetworkResource, "printer"), "type": "host" }, "destinations": null });
    let printer = |router: Value| {
        let policies = json!({ "policies": [policy_with("p", &["a"], &["b"], resource.clone())] });
        answer(
            over(office(router, json!({})), policies),
            "a",
            (End::Resource, "printer"),
            None,
        )
    };
    let things = || {
        let policies = json!({ "policies": [policy_with("p", &["a"], &["things"], json!({}))] });
        let live = over(office(json!({ "enabled": false }), json!({})), policies);
        answer(live, "a", (End::Group, "things"), None)
    };
    let routed = |policy: Option<Value>, more: Value| {
        let policies: Vec<Value> = policy.into_iter().collect();
        let live = account(json!({ "routes": [lan(more)], "policies": policies }));
        answer(live, "a", (End::Route, "lan"), None)
    };
    let paired = || {
        Some(policy_with(
            "p",
            &["a"],
            &["r"],
            json!({ "protocol": "icmp" }),
        ))
    };
    let rows = [
        printer(json!({})),
        printer(json!({ "enabled": false })),
        things(),
        routed(paired(), json!({})),
        routed(None, json!({})),
        routed(paired(), json!({ "enabled": false })),
        routed(paired(), json!({ "groups": groups(&["b"]) })),
        routed(paired(), json!({ "peer_groups": groups(&["a"]) })),
        routed(paired(), json!({ "access_control_groups": groups(&["c"]) })),
    ];
    assert_data_eq!(
        rows.concat(),
        str![[r#"
yes: X → Y (2 of 2 pairs)

  by policy "p"  everything  through group "r"
no: X → Y (0 of 2 pairs)

nearest:
  network resource "printer" is disabled, or its network has no enabled router with a machine
no: X → Y (0 of 2 pairs)

nearest:
  network resource "printer" is disabled, or its network has no enabled router with a machine
yes: X → Y (2 of 2 pairs)

  by policy "p"  everything  through route "lan" to 10.0.0.0/8
no: X → Y (0 of 2 pairs)

nearest:
  no policy connects the source with a router of route "lan", in either direction
no: X → Y (0 of 2 pairs)

nearest:
  route "lan" is disabled
no: X → Y (0 of 2 pairs)

nearest:
  route "lan" is only for group "b"
no: X → Y (0 of 2 pairs)

nearest:
  the source is a router of route "lan" itself, and needs no route
no: X → Y (0 of 2 pairs)

nearest:
  route "lan" has access_control_groups, and no policy lets the source reach group "c"

"#]]
    );
}

#[test]
fn a_machine_that_a_rule_names_is_called_by_its_name() {
    let source = json!({ "id": id(Kind::Peer, "a1"), "type": "peer" });
    let rule = json!({ "bidirectional": false, "sourceResource": source, "sources": null });
    let live = account(json!({ "policies": [policy_with("p", &["a"], &["b"], rule)] }));
    assert_data_eq!(
        answer(live, "c", (End::Group, "b"), None),
        str![[r#"
no: X → Y

nearest:
  policy "p" lets peer "a1" in (everything)

"#]]
    );
}

#[test]
fn who_routes_no_more_is_no_router() {
    let rules = json!([policy_with("q", &["a"], &["All"], json!({}))]);
    let live = account(json!({ "routes": [lan(json!({}))], "policies": rules }));
    let file = |routers: &[&str]| json!({ "groups": { "r": { "peers": routers } } });
    let versions = [(MADE + 100, file(&["r1"])), (MADE + 200, file(&[]))];
    let case = Case::new(file(&[]), live).history(&versions);
    let question = Question {
        from: (End::Group, "a".to_owned()),
        to: (End::Route, "lan".to_owned()),
        traffic: None,
    };
    let (plan, none) = (case.possible(), Memberships::default());
    let answer = ask(&case.actual(), Some(&plan), &none, &question);
    let answer = answer.expect("both are there");
    assert_data_eq!(
        crate::render::testing::on_terminal(&crate::render::answer::tree(
            &answer,
            ("X", "Y", None)
        )),
        str![[r#"
no: X → Y (0 of 2 pairs)

nearest:
  no policy connects the source with a router of route "lan", in either direction

"#]]
    );
}
