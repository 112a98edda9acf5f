//! Gates of deletions.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use snapbox::{IntoData, assert_data_eq, str};

use super::{applying, creates, outcome};
use crate::model::Reason;
use crate::plan::Plan;
use crate::plan::gates::{Context, deletions_of};
use crate::testing::{Case, group, key, over, peer, policy, table};

/// Deletes that many of six groups.
pub(super) fn deletes(number: usize) -> Plan {
    let names = ["a", "b", "c", "d", "e", "f"];
    let keep: BTreeMap<&str, Value> = names[number..]
        .iter()
        .map(|name| (*name, json!({})))
        .collect();
    // a file wants at least one thing
    let keep = json!({ "groups": keep, "policies": { "p": { "sources": ["All"], "destinations": ["All"] } } });
    let live = json!({ "groups": names.iter().map(|name| group(name, &[])).collect::<Vec<_>>(),
                       "policies": [policy("p", &["All"], &["All"])] });
    Case::new(keep, live).prune_all().possible()
}

/// Takes that many members out of a group.
fn removes(number: usize) -> Plan {
    let names = ["p1", "p2", "p3"];
    let live = json!({ "groups": [group("g", &names[..number])], "peers": names.map(peer) });
    Case::new(json!({ "groups": { "g": { "peers": [] } } }), live)
        .prune_all()
        .possible()
}

#[test]
fn the_number_of_deletions() {
    let with = |plan: &Plan, max_deletes: usize, agreed: usize| {
        let agreed = plan.rows().into_iter().take(agreed).collect();
        outcome(
            plan,
            Context {
                max_deletes,
                agreed,
                ..applying()
            },
        )
    };
    let mut copies = deletes(3);
    copies.changes[0].reason = Some(Reason::Surplus);
    let rows = [
        ("as many as the limit", with(&deletes(2), 2, 0)),
        ("a second copy besides", with(&copies, 2, 0)),
        ("one more", with(&deletes(3), 2, 0)),
        ("one more, all agreed to", with(&deletes(3), 2, 3)),
        ("one more, one agreed to", with(&deletes(3), 2, 1)),
        ("several more, one agreed to", with(&deletes(4), 2, 1)),
        ("members count", with(&removes(3), 2, 0)),
        ("members up to the limit", with(&removes(3), 3, 0)),
        ("members, one agreed to", with(&removes(3), 1, 1)),
        ("no limit at all", with(&deletes(1), 0, 0)),
        ("nothing goes", with(&creates(), 0, 0)),
    ];
    assert_data_eq!(table(rows), str![[r#"
as many as the limit
    passes
a second copy besides
    passes
one more
    deletions: this plan deletes 3 objects, more than --max-deletes 2 ["group a", "group b", "group c"]
        
one more, all agreed to
    passes
one more, one agreed to
    passes
several more, one agreed to
    deletions: this plan deletes 3 objects, more than --max-deletes 2 ["group b", "group c", "group d"]
        
members count
    deletions: this plan removes 3 group members, more than --max-deletes 2 ["group g"]
        
members up to the limit
    passes
members, one agreed to
    deletions: this plan removes 2 group members, more than --max-deletes 1 ["group g"]
        
no limit at all
    deletions: this plan deletes 1 object, more than --max-deletes 0 ["group a"]
        
nothing goes
    passes

"#]].raw());
}

#[test]
fn the_last_of_a_kind_and_any_peer() {
    let keys = |keys: Vec<Value>, file: Value| {
        let file = over(json!({ "groups": { "g": {} } }), file);
        Case::new(
            file,
            json!({ "groups": [group("g", &[])], "setup_keys": keys }),
        )
        .prune_all()
        .possible()
    };
    let dead = |name: &str| {
        over(
            key(name, &["g"]),
            json!({ "valid": false, "state": "expired" }),
        )
    };
    let declared = json!({ "type": "one-off", "expires_in": 5_184_000, "auto_groups": ["g"] });
    let mut offboards = creates();
    let live = crate::model::kind::Resource::read(
        crate::model::kind::Kind::Peer,
        peer("edge"),
        &crate::model::kind::Groups::default(),
    )
    .expect("a peer");
    let edge = crate::model::address::Address::new(crate::model::kind::Kind::Peer, "edge");
    let goes = crate::model::change::Change::deletion(&edge, &live, None);
    offboards.changes.push(goes);
    let agreed = offboards.rows();
    let but = |plan: &Plan, agreed: usize| {
        let agreed = plan.rows().into_iter().take(agreed).collect();
        outcome(
            plan,
            Context {
                agreed,
                ..applying()
            },
        )
    };
    let rows = [
        ("all six", outcome(&deletes(6), applying())),
        ("all six, one agreed to", but(&deletes(6), 1)),
        ("all six, all but one agreed to", but(&deletes(6), 5)),
        ("all but one", outcome(&deletes(5), applying())),
        (
            "the only one there was",
            outcome(
                &keys(vec![key("k", &["g"])], json!({ "setup_keys": {} })),
                applying(),
            ),
        ),
        (
            "both",
            outcome(
                &keys(
                    vec![key("k", &["g"]), key("l", &["g"])],
                    json!({ "setup_keys": {} }),
                ),
                applying(),
            ),
        ),
        (
            "one, beside a dead one that nobody misses",
            outcome(
                &keys(
                    vec![key("k", &["g"]), dead("dead")],
                    json!({ "setup_keys": {} }),
                ),
                applying(),
            ),
        ),
        (
            "two dead ones, and two that live stay",
            outcome(
                &keys(
                    vec![key("k", &["g"]), key("l", &["g"]), dead("m"), dead("n")],
                    json!({ "setup_keys": { "k": declared, "l": declared } }),
                ),
                applying(),
            ),
        ),
        (
            "both, and one is made",
            outcome(
                &keys(
                    vec![key("k", &["g"]), key("l", &["g"])],
                    json!({ "setup_keys": { "m": { "type": "one-off", "expires_in": 60 } } }),
                ),
                applying(),
            ),
        ),
        ("a peer", outcome(&offboards, applying())),
        (
            "a peer, agreed to",
            outcome(
                &offboards,
                Context {
                    agreed,
                    ..applying()
                },
            ),
        ),
    ];
    assert_data_eq!(
        table(rows),
        str![[r#"
all six
    last-of-a-kind: this plan deletes all groups (6 names)
        
all six, one agreed to
    last-of-a-kind: this plan deletes all groups (5 names)
        
all six, all but one agreed to
    passes
all but one
    passes
the only one there was
    passes
both
    last-of-a-kind: this plan deletes all setup keys ["setup key k", "setup key l"]
        
one, beside a dead one that nobody misses
    passes
two dead ones, and two that live stay
    passes
both, and one is made
    passes
a peer
    peers: this plan deletes 1 peer ["peer edge"]
        
a peer, agreed to
    passes

"#]]
        .raw()
    );
}

/// What a pull request is red for: its own rows, or that with them it is too much.
#[test]
fn the_reason_for_a_refusal() {
    let gates = |number: usize, max: usize, agreed: &[usize], own: &[usize]| {
        let plan = deletes(number);
        let rows: Vec<_> = plan.rows().into_iter().collect();
        let pick = |places: &[usize]| places.iter().map(|place| rows[*place].clone()).collect();
        let refusals = deletions_of(&plan, max, &pick(agreed), &pick(own));
        let names: Vec<&str> = refusals.iter().map(|refusal| refusal.gate).collect();
        names.join(", ")
    };
    // five of six go
    assert_eq!(gates(5, 2, &[], &[0, 1, 2]), "deletions");
    assert_eq!(gates(5, 2, &[], &[0, 1]), "", "others are too many alone");
    assert_eq!(gates(5, 4, &[], &[0]), "deletions", "the one too many");
    assert_eq!(gates(5, 4, &[0], &[0]), "", "agreed to");
    assert_eq!(gates(5, 2, &[0, 1], &[0, 1, 2]), "deletions", "half of it");
    assert_eq!(gates(5, 10, &[], &[]), "", "none of it is its own");
    assert_eq!(
        gates(6, 3, &[], &[0, 1]),
        "last-of-a-kind",
        "others are too many alone, and these are all that is left"
    );
    // all six go, and others' are too many alone, too
    assert_eq!(
        gates(6, 2, &[], &[0, 1, 2]),
        "deletions, last-of-a-kind",
        "both are"
    );
    // all six go
    let all = [0, 1, 2, 3, 4, 5];
    assert_eq!(gates(6, 10, &[], &all), "last-of-a-kind");
    assert_eq!(gates(6, 10, &[], &[0]), "last-of-a-kind", "the last one");
    assert_eq!(
        gates(6, 10, &all[1..], &[0]),
        "",
        "the others are agreed to"
    );
}
