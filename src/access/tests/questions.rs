//! The answers to questions.

use serde_json::{Value, json};
use snapbox::{assert_data_eq, str};

use super::routes::lan;
use super::{account, answer, office, tcp};
use crate::access::{End, Question, ask};
use crate::model::kind::Kind;
use crate::plan::memberships::Memberships;
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

  by policy p  tcp 22
no: X → Y (0 of 2 pairs)

nearest:
  policy p lets tcp 22 through
no: X → Y (0 of 2 pairs)

nearest:
  policy p lets it through the other way round only
no: X → Y (0 of 2 pairs)

nearest:
  policy p would let it through, but is disabled
no: X → Y (0 of 2 pairs)

nearest:
  policy p drops it
no: X → Y

nearest:
  policy p lets a in (tcp 22)
no: X → Y

nearest:
  policy p lets a in (everything)

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

  by policy p  everything  through r
no: X → Y (0 of 2 pairs)

nearest:
  no router leads to resource printer, or one of them is disabled
no: X → Y (0 of 2 pairs)

nearest:
  no router leads to resource printer, or one of them is disabled
yes: X → Y (2 of 2 pairs)

  by policy p  everything  through route lan to 10.0.0.0/8
no: X → Y (0 of 2 pairs)

nearest:
  no policy connects it with a router of route lan, in whatever direction
no: X → Y (0 of 2 pairs)

nearest:
  route lan is disabled
no: X → Y (0 of 2 pairs)

nearest:
  route lan is for b alone
no: X → Y (0 of 2 pairs)

nearest:
  it is a router of route lan itself, and needs no route
no: X → Y (0 of 2 pairs)

nearest:
  route lan is guarded: no policy lets it through to c

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
  policy p lets peer a1 in (everything)

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
  no policy connects it with a router of route lan, in whatever direction

"#]]
    );
}
