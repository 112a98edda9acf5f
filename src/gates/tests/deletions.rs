//! Gates of deletions.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use snapbox::{IntoData, assert_data_eq, str};

use super::{applying, creates, outcome};
use crate::gates::Context;
use crate::plan::Plan;
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
    let with = |plan: &Plan, max_deletes: usize, allowed: &[usize]| {
        let allowed = allowed
            .iter()
            .map(|number| (*number, "--allow-deletes".to_owned()));
        outcome(
            plan,
            Context {
                max_deletes,
                allowed: allowed.collect(),
                ..applying()
            },
        )
    };
    let rows = [
        ("as many as the limit", with(&deletes(2), 2, &[])),
        ("one more", with(&deletes(3), 2, &[])),
        ("one more, agreed to", with(&deletes(3), 2, &[3])),
        (
            "one more, another number agreed to",
            with(&deletes(3), 2, &[4]),
        ),
        ("members count", with(&removes(3), 2, &[])),
        ("members up to the limit", with(&removes(3), 3, &[])),
        ("no limit at all", with(&deletes(1), 0, &[])),
        ("nothing goes", with(&creates(), 0, &[])),
    ];
    assert_data_eq!(table(rows), str![[r#"
as many as the limit
    passes
one more
    deletions: this plan deletes 3 objects, more than --max-deletes 2 ["group a", "group b", "group c"]
        if this is meant, put "Allow-Deletes: 3" on a line of the merge commit's message, or run with --allow-deletes 3
one more, agreed to
    passes
one more, another number agreed to
    deletions: this plan deletes 3 objects, more than --max-deletes 2; --allow-deletes says 4, which is not the exact number ["group a", "group b", "group c"]
        if this is meant, put "Allow-Deletes: 3" on a line of the merge commit's message, or run with --allow-deletes 3
members count
    deletions: this plan removes 3 group members, more than --max-deletes 2 ["group g"]
        if this is meant, put "Allow-Deletes: 3" on a line of the merge commit's message, or run with --allow-deletes 3
members up to the limit
    passes
no limit at all
    deletions: this plan deletes 1 object, more than --max-deletes 0 ["group a"]
        if this is meant, put "Allow-Deletes: 1" on a line of the merge commit's message, or run with --allow-deletes 1
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
    let declared = json!({ "type": "one-off", "expires_in": 60 });
    let mut offboards = creates();
    let live = crate::resource::Resource::read(
        crate::state::Kind::Peer,
        peer("edge"),
        &crate::resource::Groups::default(),
    )
    .expect("a peer");
    offboards.changes.push(crate::change::Change {
        address: crate::state::Address::new(crate::state::Kind::Peer, "edge"),
        operation: crate::change::Operation::Delete { live },
        reason: String::new(),
    });
    let allowed = BTreeMap::from([(1, "the merge commit".to_owned())]);
    let rows = [
        ("all six", outcome(&deletes(6), applying())),
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
                    allowed,
                    ..applying()
                },
            ),
        ),
    ];
    assert_data_eq!(table(rows), str![[r#"
all six
    last-of-a-kind: this plan deletes all groups (6 names)
        if this is meant, put "Allow-Deletes: 6" on a line of the merge commit's message, or run with --allow-deletes 6
all but one
    passes
the only one there was
    passes
both
    last-of-a-kind: this plan deletes all setup keys ["setup key k", "setup key l"]
        if this is meant, put "Allow-Deletes: 2" on a line of the merge commit's message, or run with --allow-deletes 2
one, beside a dead one that nobody misses
    passes
two dead ones, and two that live stay
    passes
both, and one is made
    passes
a peer
    peers: this plan deletes 1 peer ["peer edge"]
        if this is meant, put "Allow-Deletes: 1" on a line of the merge commit's message, or run with --allow-deletes 1
a peer, agreed to
    passes

"#]].raw());
}
