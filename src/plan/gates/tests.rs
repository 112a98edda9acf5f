//! Every gate, closed and open.

mod deletions;

use std::collections::BTreeSet;

use serde_json::json;
use snapbox::{IntoData, assert_data_eq, str};

use super::{Context, check};
use crate::base::Id;
use crate::model::{Address, Change, Held, Kind, Live, Operation, Resource, Why, kind};
use crate::plan::Plan;
use crate::testing::{Case, table};

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

fn user(role: &str, service: bool) -> Option<crate::wire::api::objects::User> {
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
    makes(json!({ "type": "one-off", "expires_in": 60 }))
}

fn makes(key: serde_json::Value) -> Plan {
    Case::new(json!({ "setup_keys": { "k": key } }), json!({})).possible()
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
            "a recorded account that does not say which it is",
            outcome(
                &creates(),
                Context {
                    account: Some("a1".into()),
                    online: false,
                    ..applying()
                },
            ),
        ),
        (
            "several accounts, and none is named",
            outcome(
                &creates(),
                Context {
                    accounts: vec!["a1".into(), "a2".into()],
                    ..applying()
                },
            ),
        ),
        (
            "one account, and it is not named",
            outcome(
                &creates(),
                Context {
                    accounts: vec!["a1".into()],
                    ..applying()
                },
            ),
        ),
        (
            "a recorded account that says that it is another one",
            outcome(
                &creates(),
                Context {
                    account: Some("a1".into()),
                    accounts: vec!["a2".into()],
                    online: false,
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
            "a new key that names somebody, and nobody else to seal it for",
            outcome(
                &makes(json!({
                    "type": "one-off", "expires_in": 60,
                    "recipients": ["age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p"],
                })),
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
a recorded account that does not say which it is
    passes
several accounts, and none is named
    account: the token sees several accounts (a1, a2), and none of them is named
        name the one that this file is for with --account (NETBIRD_ACCOUNT_ID)
one account, and it is not named
    passes
a recorded account that says that it is another one
    account: the token belongs to account a2, not to a1
        check NETBIRD_API_URL and NETBIRD_API_TOKEN against --account (NETBIRD_ACCOUNT_ID)
a new key, nobody to seal it for
    recipients: this plan creates 1 setup key, and no recipient is set ["setup key k"]
        set AGE_PUBLIC_KEY to the age or SSH public keys of those who may open new setup keys, or use -r KEY or -R FILE
a new key that names somebody, and nobody else to seal it for
    passes
the same, planned only
    passes
a new key, sealed for one
    passes
no key, nobody to seal for
    passes

"#]].raw());
}

/// Nothing is applied that nobody looked at; with nothing left to do there is no such thing.
#[test]
fn the_digest() {
    let digest = creates().digest();
    let expected = |plan: &Plan, digest: &str| {
        let context = Context {
            expected: Some(digest.into()),
            ..applying()
        };
        let outcome = outcome(plan, context);
        outcome.lines().next().unwrap_or_default().to_owned()
    };
    let none = "0".repeat(64);
    let same_operations = format!("{}{}", &digest[..16], &none[16..]);
    let rows = [
        ("its own", expected(&creates(), &digest)),
        ("another one", expected(&creates(), &none)),
        (
            "another one of the same operations",
            expected(&creates(), &same_operations),
        ),
        (
            "another one, and nothing is left to do",
            expected(&Plan::default(), &none),
        ),
    ];
    assert_data_eq!(
        table(rows),
        str![[r#"
its own
    passes
another one
    reviewed: this plan does not have the digest of --expect-digest: the operations or the file are different
another one of the same operations
    reviewed: this plan does not have the digest of --expect-digest: the operations are the same, but what they are about was changed in NetBird meanwhile
another one, and nothing is left to do
    passes

"#]]
        .raw()
    );
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
        (
            "network_admin changes the account's settings",
            with(&moves(), "network_admin", true, true),
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
        set NETBIRD_API_TOKEN to the token of a service user with the role admin (for plan: auditor); in the workflows it comes from the secret NETBIRD_APPLY_TOKEN
network_admin changes the account's settings
    role: the token's role network_admin cannot do 1 of 1 operations ["account settings"]
        set NETBIRD_API_TOKEN to the token of a service user with the role admin (for plan: auditor); in the workflows it comes from the secret NETBIRD_APPLY_TOKEN
    moved: with this plan 1 machine gets another IPv4 address (network_range) ["account settings"]
        
auditor plans
    passes
auditor applies
    role: the token's role auditor cannot do 1 of 1 operations ["group g"]
        set NETBIRD_API_TOKEN to the token of a service user with the role admin (for plan: auditor); in the workflows it comes from the secret NETBIRD_APPLY_TOKEN
auditor applies nothing
    role: the token's role auditor can change nothing in NetBird
        set NETBIRD_API_TOKEN to the token of a service user with the role admin (for plan: auditor); in the workflows it comes from the secret NETBIRD_APPLY_TOKEN
a person who sees a part plans
    role: the token belongs to someone, a person with the role user: it sees only a part of the account
        set NETBIRD_API_TOKEN to the token of a service user with the role admin (for plan: auditor); in the workflows it comes from the secret NETBIRD_APPLY_TOKEN
a role that we do not know applies
    role: the token's role billing_admin cannot do 1 of 1 operations ["group g"]
        set NETBIRD_API_TOKEN to the token of a service user with the role admin (for plan: auditor); in the workflows it comes from the secret NETBIRD_APPLY_TOKEN
the server does not tell
    passes
no server
    passes

"#]].raw());
}

/// A plan by which a machine gets another address.
fn moves() -> Plan {
    let after = Resource::AccountSettings(kind::AccountSettings::default());
    let operation = Operation::Update {
        live: Live {
            within: None,
            id: Id("a".into()),
            name: String::new(),
            resource: after.clone(),
            wire: serde_json::Value::Null.into(),
        },
        fields: Vec::new(),
        after,
    };
    let moved = kind::Moved {
        field: "network_range".into(),
        value: "\"10.0.0.0/8\"".into(),
        what: kind::Moves::Addresses,
        machines: 1,
    };
    let change = Change::new(Address::new(Kind::AccountSettings, ""), operation, None);
    let mut plan = Plan::default();
    plan.changes.push(Change {
        moved: vec![moved],
        ..change
    });
    plan
}

fn object(resource: Resource, id: &str, within: Option<&str>) -> Live {
    Live {
        within: within.map(|id| Id(id.into())),
        id: Id(id.into()),
        name: id.into(),
        resource,
        wire: serde_json::Value::Null.into(),
    }
}

/// The zone `z`.
fn zone() -> Live {
    object(Resource::DnsZone(kind::DnsZone::default()), "z", None)
}

fn zone_address() -> Address {
    Address::new(Kind::DnsZone, "z")
}

/// A record in it.
fn record(id: &str) -> Live {
    object(
        Resource::DnsRecord(kind::DnsRecord::default()),
        id,
        Some("z"),
    )
}

fn goes_inside(id: &str) -> Change {
    Change::deletion(
        &zone_address().child(Kind::DnsRecord, id),
        &record(id),
        None,
    )
}

fn goes() -> Change {
    Change::deletion(&zone_address(), &zone(), None)
}

fn replaced() -> Change {
    let operation = Operation::Replace {
        live: zone(),
        fields: Vec::new(),
        after: zone().resource,
    };
    Change::new(zone_address(), operation, None)
}

#[test]
fn what_is_protected() {
    let (at_zone, at_record) = (zone_address(), zone_address().child(Kind::DnsRecord, "r"));
    let updated = || Operation::Update {
        live: zone(),
        fields: Vec::new(),
        after: zone().resource,
    };
    let of_zone = |operation| Change::new(at_zone.clone(), operation, None);
    let zone_is = (at_zone.clone(), [(zone().id, None)].into());
    let record_is = (
        at_record.clone(),
        [(record("r").id, record("r").within)].into(),
    );
    let rows = [
        ("a zone that changes", vec![of_zone(updated())], &zone_is),
        ("a zone that goes", vec![goes()], &zone_is),
        ("a zone that is replaced", vec![replaced()], &zone_is),
        (
            "a zone of which a record goes",
            vec![goes_inside("r")],
            &zone_is,
        ),
        ("a record that goes", vec![goes_inside("r")], &record_is),
        (
            "a record whose zone changes",
            vec![of_zone(updated())],
            &record_is,
        ),
        ("a record whose zone goes", vec![goes()], &record_is),
        (
            "a record whose zone is replaced",
            vec![replaced()],
            &record_is,
        ),
        (
            "a record that goes with its zone",
            vec![goes(), goes_inside("r")],
            &record_is,
        ),
    ];
    let rows = rows.map(|(what, changes, protected)| {
        let plan = Plan {
            changes,
            ..Plan::default()
        };
        let context = Context {
            protected: [protected.clone()].into(),
            ..applying()
        };
        (what, outcome(&plan, context))
    });
    assert_data_eq!(table(rows), str![[r#"
a zone that changes
    passes
a zone that goes
    protected: this plan deletes 1 protected object ["DNS zone z"]
        restore its entry in the file; if the change is meant, remove the object from --protect (NETBIRD_GITOPS_PROTECT) for this run: Allow-Deletes does not lift the protection
a zone that is replaced
    protected: this plan replaces 1 protected object ["DNS zone z"]
        restore its entry in the file; if the change is meant, remove the object from --protect (NETBIRD_GITOPS_PROTECT) for this run: Allow-Deletes does not lift the protection
    replaced-with-contents: this plan replaces DNS zone "z", with everything inside ["DNS zone z"]
        
a zone of which a record goes
    passes
a record that goes
    protected: this plan deletes 1 protected object ["DNS record r"]
        restore its entry in the file; if the change is meant, remove the object from --protect (NETBIRD_GITOPS_PROTECT) for this run: Allow-Deletes does not lift the protection
a record whose zone changes
    passes
a record whose zone goes
    protected: this plan deletes 1 protected object (named as records/r) ["DNS zone z"]
        restore its entry in the file; if the change is meant, remove the object from --protect (NETBIRD_GITOPS_PROTECT) for this run: Allow-Deletes does not lift the protection
a record whose zone is replaced
    protected: this plan replaces 1 protected object (named as records/r) ["DNS zone z"]
        restore its entry in the file; if the change is meant, remove the object from --protect (NETBIRD_GITOPS_PROTECT) for this run: Allow-Deletes does not lift the protection
    replaced-with-contents: this plan replaces DNS zone "z", with everything inside ["DNS zone z"]
        
a record that goes with its zone
    protected: this plan deletes 1 protected object ["DNS record r"]
        restore its entry in the file; if the change is meant, remove the object from --protect (NETBIRD_GITOPS_PROTECT) for this run: Allow-Deletes does not lift the protection

"#]].raw());
}

/// What takes others along, or many at once, asks for a word of its own; what is agreed to passes.
#[test]
fn what_goes_along() {
    let group = object(Resource::Group(kind::Group::default()), "g", None);
    let group = Change::deletion(&Address::new(Kind::Group, "g"), &group, None);
    let policy = object(Resource::Policy(kind::Policy::default()), "p", None);
    let policy = Operation::Replace {
        after: policy.resource.clone(),
        live: policy,
        fields: Vec::new(),
    };
    let policy = Change::new(Address::new(Kind::Policy, "p"), policy, None);
    let user = Resource::User(kind::User::default());
    let role = Operation::Update {
        live: object(user.clone(), "u", None),
        fields: Vec::new(),
        after: user,
    };
    let role = Change {
        moved: vec![kind::Moved {
            field: "role".into(),
            value: "\"admin\"".into(),
            what: kind::Moves::Role,
            machines: 1,
        }],
        ..Change::new(Address::new(Kind::User, "mira@example.org"), role, None)
    };
    let both = || vec![goes_inside("r"), goes_inside("s")];
    let range = moves().changes.remove(0);
    let mut one_record = replaced();
    one_record.address = zone_address().child(Kind::DnsRecord, "r");
    if let Operation::Replace { live, .. } = &mut one_record.operation {
        *live = record("r");
    }
    let rows = [
        ("all records", both()),
        (
            "the zone, with all records",
            [both(), vec![goes()]].concat(),
        ),
        ("a record replaced", vec![one_record]),
        (
            "the zone replaced, beside a group",
            [both(), vec![replaced(), group]].concat(),
        ),
        ("a policy replaced", vec![policy]),
        ("another range of addresses", vec![range]),
        ("another role", vec![role.clone()]),
    ];
    let of = |changes| Plan {
        changes,
        counted: [(Kind::DnsZone, 1), (Kind::DnsRecord, 2)].into(),
        ..Plan::default()
    };
    // a zone whose entry is gone, and one that keeps its domain, for what somebody put into them
    let staying = |why: fn(BTreeSet<String>) -> Why| {
        let held = Held::new(&zone_address(), &zone(), why(["a record".into()].into()));
        let held = vec![held];
        outcome(&Plan { held, ..of(both()) }, applying())
    };
    let rights = Context {
        max_deletes: 0,
        ..applying()
    };
    let rights = outcome(&of(vec![role.clone()]), rights);
    assert!(
        rights.contains("this plan changes 1 right of a user, more"),
        "{rights}"
    );
    // two zones are replaced, and somebody agreed to one of them
    let mut other = replaced();
    other.address.name = "y".into();
    if let Operation::Replace { live, .. } = &mut other.operation {
        live.id = Id("y".into());
    }
    let two = of(vec![replaced(), other]);
    let agreed = Context {
        agreed: two.rows().into_iter().take(1).collect(),
        ..applying()
    };
    let one_left = outcome(&two, agreed);
    assert!(
        one_left.contains("replaces DNS zone \"z\", with"),
        "{one_left}"
    );
    assert_eq!(staying(Why::Holds), "passes\n");
    assert!(staying(Why::HoldsAnew).starts_with("last-of-a-kind: "));
    let rows = rows.into_iter().flat_map(|(what, changes)| {
        let plan = of(changes);
        let agreed = Context {
            agreed: plan.rows(),
            ..applying()
        };
        [
            (what, outcome(&plan, applying())),
            ("  agreed to", outcome(&plan, agreed)),
        ]
    });
    assert_data_eq!(table(rows), str![[r#"
all records
    last-of-a-kind: this plan deletes all DNS records ["DNS record r", "DNS record s"]
        
  agreed to
    passes
the zone, with all records
    passes
  agreed to
    passes
a record replaced
    passes
  agreed to
    passes
the zone replaced, beside a group
    replaced-with-contents: this plan replaces DNS zone "z", with everything inside ["DNS record r", "DNS record s", "DNS zone z"]
        
  agreed to
    passes
a policy replaced
    passes
  agreed to
    passes
another range of addresses
    moved: with this plan 1 machine gets another IPv4 address (network_range) ["account settings"]
        
  agreed to
    passes
another role
    people: this plan gives user mira@example.org the role admin ["user mira@example.org"]
        
  agreed to
    passes

"#]].raw());
}

#[test]
fn the_page_has_every_gate_in_this_order() {
    let page = include_str!("../../../docs/gates.md");
    let (_, table) = page
        .split_once("## Before the first write")
        .expect("the table");
    let gate = |line: &str| Some(line.strip_prefix("| `")?.split_once('`')?.0.to_owned());
    let told: Vec<String> = table.lines().filter_map(gate).collect();
    // a plan that meets them all: a key to make, all six groups and a peer to delete, a zone to make anew, a
    // machine to move
    let mut plan = deletions::deletes(6);
    plan.changes.extend(makes_key().changes);
    let live = |resource: &Resource| Live {
        within: None,
        id: Id("p".into()),
        name: "p".into(),
        resource: resource.clone(),
        wire: serde_json::Value::Null.into(),
    };
    let peer = live(&Resource::Peer(kind::Peer::named("p")));
    let peer = Change::deletion(&Address::new(Kind::Peer, "p"), &peer, None);
    let after = Resource::DnsZone(kind::DnsZone::default());
    let zone = Operation::Replace {
        live: live(&after),
        fields: Vec::new(),
        after,
    };
    let zone = Change::new(Address::new(Kind::DnsZone, "z"), zone, None);
    plan.changes.extend([peer, zone]);
    plan.changes.extend(moves().changes);
    let after = Resource::User(kind::User::default());
    let person = Operation::Update {
        live: live(&after),
        fields: Vec::new(),
        after,
    };
    plan.changes.push(Change {
        moved: vec![kind::Moved {
            field: "role".into(),
            value: "\"admin\"".into(),
            what: kind::Moves::Role,
            machines: 1,
        }],
        ..Change::new(Address::new(Kind::User, "mira@example.org"), person, None)
    });
    let context = Context {
        max_deletes: 0,
        halt: Some("now".into()),
        me: user("auditor", true),
        account: Some("another".into()),
        recipients: 0,
        protected: [(
            Address::new(Kind::Peer, "p"),
            [(Id("p".into()), None)].into(),
        )]
        .into(),
        expected: Some("0123456789ab".into()),
        ..applying()
    };
    let met: Vec<&str> = check(&plan, &context)
        .iter()
        .map(|refusal| refusal.gate)
        .collect();
    assert_eq!(told, met);
    assert_eq!(met.len(), super::GATES.len() + super::DELETION_GATES.len());
}
