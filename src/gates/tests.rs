//! Every gate, closed and open.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use snapbox::{IntoData, assert_data_eq, str};

use super::{Context, check};
use crate::plan::Plan;
use crate::testing::{Case, group, key, over, peer, policy, table};

/// What an apply on a server with an administrator's token is allowed.
fn applying() -> Context {
    Context {
        max_deletes: 10,
        me: user("admin", true),
        online: true,
        applying: true,
        recipients: 1,
        ..Context::default()
    }
}

fn user(role: &str, service: bool) -> Option<crate::wire::User> {
    let user = json!({ "id": "u", "name": "someone", "role": role, "is_service_user": service, "is_current": true });
    Some(serde_json::from_value(user).expect("a user"))
}

fn outcome(plan: &Plan, context: Context) -> String {
    let refusals = check(plan, &context);
    let line = |refusal: &super::Refusal| {
        let names = match refusal.names.len() {
            0 => String::new(),
            1..=3 => format!(" {:?}", refusal.names),
            number => format!(" ({number} names)"),
        };
        format!(
            "{}: {}{names}\n    {}\n",
            refusal.gate, refusal.text, refusal.hint
        )
    };
    match refusals.is_empty() {
        true => "passes\n".into(),
        false => refusals.iter().map(line).collect(),
    }
}

fn creates() -> Plan {
    Case::new(json!({ "groups": { "g": {} } }), json!({})).possible()
}

fn makes_key() -> Plan {
    Case::new(
        json!({ "setup_keys": { "k": { "type": "one-off", "expires_in": 60 } } }),
        json!({}),
    )
    .possible()
}

/// Deletes that many of six groups.
fn deletes(number: usize) -> Plan {
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
fn the_kill_switch_the_account_and_the_recipients() {
    let rows = [
        (
            "halted, an empty plan too",
            outcome(
                &Plan::default(),
                Context {
                    halt: Some("incident 7".into()),
                    ..applying()
                },
            ),
        ),
        (
            "halted, a plan",
            outcome(
                &Plan::default(),
                Context {
                    halt: Some("incident 7".into()),
                    applying: false,
                    ..applying()
                },
            ),
        ),
        (
            "another account",
            outcome(
                &creates(),
                Context {
                    account: Some("a1".into()),
                    accounts: vec!["a2".into()],
                    ..applying()
                },
            ),
        ),
        (
            "this account",
            outcome(
                &creates(),
                Context {
                    account: Some("a1".into()),
                    accounts: vec!["a1".into()],
                    ..applying()
                },
            ),
        ),
        (
            "a new key, nobody to seal it for",
            outcome(
                &makes_key(),
                Context {
                    recipients: 0,
                    ..applying()
                },
            ),
        ),
        (
            "the same, planned only",
            outcome(
                &makes_key(),
                Context {
                    recipients: 0,
                    applying: false,
                    ..applying()
                },
            ),
        ),
        (
            "a new key, sealed for one",
            outcome(&makes_key(), applying()),
        ),
        (
            "no key, nobody to seal for",
            outcome(
                &creates(),
                Context {
                    recipients: 0,
                    ..applying()
                },
            ),
        ),
    ];
    assert_data_eq!(table(rows), str![[r#"
halted, an empty plan too
    halt: NETBIRD_GITOPS_HALT is set (incident 7)
        unset NETBIRD_GITOPS_HALT once the reason is gone
halted, a plan
    halt: NETBIRD_GITOPS_HALT is set (incident 7)
        unset NETBIRD_GITOPS_HALT once the reason is gone
another account
    account: the token belongs to account a2, not to a1
        check NETBIRD_API_URL and NETBIRD_API_TOKEN against --account (NETBIRD_ACCOUNT_ID)
this account
    passes
a new key, nobody to seal it for
    recipients: this plan makes 1 setup key, and nobody is named to seal them for ["setup key k"]
        set AGE_PUBLIC_KEY to the age or SSH public keys of those who may read them, or use -r KEY or -R FILE
the same, planned only
    passes
a new key, sealed for one
    passes
no key, nobody to seal for
    passes

"#]].raw());
}

#[test]
fn the_role() {
    let with = |plan: &Plan, role: &str, service: bool, applying: bool| {
        outcome(
            plan,
            Context {
                me: user(role, service),
                applying,
                ..self::applying()
            },
        )
    };
    let rows = [
        ("admin", with(&makes_key(), "admin", true, true)),
        ("owner, a person", with(&makes_key(), "owner", false, true)),
        (
            "network_admin makes a group",
            with(&creates(), "network_admin", true, true),
        ),
        (
            "network_admin makes a key",
            with(&makes_key(), "network_admin", true, true),
        ),
        ("auditor plans", with(&creates(), "auditor", true, false)),
        ("auditor applies", with(&creates(), "auditor", true, true)),
        (
            "auditor applies nothing",
            with(&Plan::default(), "auditor", true, true),
        ),
        (
            "a person who sees a part plans",
            with(&creates(), "user", false, false),
        ),
        (
            "a role that we do not know applies",
            with(&creates(), "billing_admin", true, true),
        ),
        (
            "the server does not tell",
            outcome(
                &creates(),
                Context {
                    me: None,
                    ..applying()
                },
            ),
        ),
        (
            "no server",
            outcome(
                &creates(),
                Context {
                    me: user("user", false),
                    online: false,
                    ..applying()
                },
            ),
        ),
    ];
    assert_data_eq!(table(rows), str![[r#"
admin
    passes
owner, a person
    passes
network_admin makes a group
    passes
network_admin makes a key
    role: the token's role network_admin cannot do 1 of 1 operations ["setup key k"]
        make a token for a service user of role admin (of role auditor for plan) and store it as NETBIRD_API_TOKEN
auditor plans
    passes
auditor applies
    role: the token's role auditor cannot do 1 of 1 operations ["group g"]
        make a token for a service user of role admin (of role auditor for plan) and store it as NETBIRD_API_TOKEN
auditor applies nothing
    passes
a person who sees a part plans
    role: the token is of someone, a person of role user: it sees a part of the account only
        make a token for a service user of role admin (of role auditor for plan) and store it as NETBIRD_API_TOKEN
a role that we do not know applies
    role: the token's role billing_admin cannot do 1 of 1 operations ["group g"]
        make a token for a service user of role admin (of role auditor for plan) and store it as NETBIRD_API_TOKEN
the server does not tell
    passes
no server
    passes

"#]].raw());
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
    deletions: this plan deletes 3 objects, more than --max-deletes 2; 4 (--allow-deletes) is not the exact number ["group a", "group b", "group c"]
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

#[test]
fn the_page_has_every_gate_in_this_order() {
    let page = include_str!("../../docs/gates.md");
    let (_, table) = page
        .split_once("## Before the first write")
        .expect("the table");
    let gate = |line: &str| Some(line.strip_prefix("| `")?.split_once('`')?.0.to_owned());
    let told: Vec<String> = table.lines().filter_map(gate).collect();
    // a plan that meets them all: a key to make, all six groups and a peer to delete
    let mut plan = deletes(6);
    plan.changes.extend(makes_key().changes);
    let gone = crate::resource::Live {
        id: crate::state::Id("p".into()),
        name: "p".into(),
        resource: crate::resource::Resource::Peer(crate::resource::Peer { name: "p".into() }),
        wire: Value::Null,
    };
    plan.changes.push(crate::change::Change {
        address: crate::state::Address::new(crate::state::Kind::Peer, "p"),
        operation: crate::change::Operation::Delete { live: gone },
        reason: String::new(),
    });
    let context = Context {
        max_deletes: 0,
        halt: Some("now".into()),
        me: user("auditor", true),
        account: Some("another".into()),
        recipients: 0,
        ..applying()
    };
    let met: Vec<&str> = check(&plan, &context)
        .iter()
        .map(|refusal| refusal.gate)
        .collect();
    assert_eq!(told, met);
    assert_eq!(met.len(), super::GATES.len());
}
