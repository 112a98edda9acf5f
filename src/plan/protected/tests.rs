//! What `--protect` names: nothing that has the name, or had it, is left out.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Value, json};
use snapbox::{IntoData, assert_data_eq, str};

use super::read;
use crate::model::address::Address;
use crate::model::kind::Kind;
use crate::plan;
use crate::testing::{Case, enrolled, group, id, key, over, peer, policy, table, used_at};

/// The names of the objects and machines that this one means.
fn meant(case: &Case, kind: Kind, name: &str) -> String {
    let Case {
        desired,
        snapshot,
        options,
    } = case;
    let (actual, binding) =
        plan::read(desired, snapshot, None, options).expect("answers of the server's form");
    let plan = plan::plan(&Arc::new(desired.clone()), &actual, &binding, options).expect("a plan");
    let named = Address::new(kind, name);
    let protected = read(
        &BTreeSet::from([named.clone()]),
        &plan,
        desired,
        &actual,
        &options.ours,
    );
    let name_of = |id| match (actual.peers.get(id), actual.live(id)) {
        (Some(peer), _) => format!("peer {}\n", peer.name),
        (None, Some((at, live))) => format!("{} {}\n", at.kind.word(), live.name),
        (None, None) => format!("{id}, which is gone\n"),
    };
    protected[&named].keys().map(name_of).collect()
}

#[test]
fn an_object_is_meant_by_each_name_that_it_had() {
    let everybody = json!({ "sources": ["All"], "destinations": ["All"] });
    let file = |policies: Value| json!({ "groups": { "p": {} }, "policies": policies });
    let declared = || file(json!({ "p": everybody }));
    let follows =
        || file(json!({ "p": over(everybody.clone(), json!({ "renamed_from": "old" })) }));
    let other = || file(json!({ "q": everybody }));
    let p = || policy("p", &["All"], &["All"]);
    let x = || over(p(), json!({ "name": "x" }));
    let live = |policies: &[Value]| json!({ "groups": [group("p", &[])], "policies": policies });
    let recorded = || json!({ "created": { "policies/p": [id(Kind::Policy, "p")] } });
    let rows = [
        (
            "nobody's",
            Case::new(other(), live(&[p()])).inventory(json!({})),
            "p",
        ),
        (
            "none of that name",
            Case::new(declared(), live(&[p()])).inventory(recorded()),
            "old",
        ),
        (
            "renamed by hand",
            Case::new(declared(), live(&[x()])).inventory(recorded()),
            "p",
        ),
        (
            "the same, by its new name",
            Case::new(declared(), live(&[x()])).inventory(recorded()),
            "x",
        ),
        (
            "renamed by hand, and its entry is gone",
            Case::new(other(), live(&[x()])).inventory(recorded()),
            "p",
        ),
        (
            "renamed by the file",
            Case::new(follows(), live(&[p()])).inventory(recorded()),
            "old",
        ),
        (
            "the same, and its entry is gone since",
            Case::new(other(), live(&[p()]))
                .inventory(recorded())
                .since(&[follows(), other()]),
            "old",
        ),
        (
            "the same, and nothing goes",
            Case::new(declared(), live(&[p()]))
                .inventory(recorded())
                .since(&[follows(), declared()]),
            "old",
        ),
    ];
    let renamed =
        |from: &str, now: &str| over(policy(now, &["All"], &["All"]), json!({ "name": from }));
    let named_as =
        |from: &str| json!({ "sources": ["All"], "destinations": ["All"], "renamed_from": from });
    let rows = rows.into_iter().chain([
        (
            "nobody recorded it, and the file renames it, by its new name",
            Case::new(file(json!({ "p": named_as("x") })), live(&[renamed("x", "p")])).inventory(json!({})),
            "p",
        ),
        (
            "another one is renamed",
            Case::new(file(json!({ "q": named_as("x") })), live(&[p(), renamed("x", "q")])).inventory(json!({})),
            "p",
        ),
        (
            "a group is renamed to its name",
            Case::new(
                json!({ "groups": { "q": { "renamed_from": "old" } }, "policies": { "q": everybody } }),
                json!({ "groups": [group("old", &[])], "policies": [policy("q", &["All"], &["All"])] }),
            )
            .inventory(json!({})),
            "old",
        ),
        (
            "a machine has the name",
            Case::new(other(), json!({ "groups": [group("p", &[])], "peers": [peer("edge")] })).inventory(json!({})),
            "edge",
        ),
    ]);
    let rows = rows.map(|(what, case, name)| (what, meant(&case, Kind::Policy, name)));
    assert_data_eq!(
        table(rows),
        str![[r#"
nobody's
    policy p
none of that name
renamed by hand
    policy x
the same, by its new name
    policy x
renamed by hand, and its entry is gone
    policy x
renamed by the file
    policy p
the same, and its entry is gone since
    policy p
the same, and nothing goes
nobody recorded it, and the file renames it, by its new name
    policy x
another one is renamed
    policy p
a group is renamed to its name
a machine has the name

"#]]
        .raw()
    );
}

/// Routers have no names: that of their network protects them, and no others.
#[test]
fn a_network_is_meant_with_its_routers() {
    let network = |id: &str, router: &str| json!({ "id": id, "name": id, "routers": [router] });
    let router =
        |id: &str| json!({ "id": id, "peer": "", "peer_groups": [self::id(Kind::Group, "g")] });
    let live = json!({ "groups": [group("g", &[])], "networks": [network("a", "r1"), network("b", "r2")],
                       "network_routers": [router("r1"), router("r2")] });
    let case = Case::new(json!({ "networks": { "a": {} } }), live).inventory(json!({}));
    let meant = meant(&case, Kind::Network, "a");
    assert_eq!(meant.lines().count(), 2, "{meant}");
}

#[test]
fn a_machine_is_meant_by_each_name_that_it_had() {
    let x = || id(Kind::Peer, "x");
    let case = |name: &str, key: Option<Value>, inventory: Value| {
        let file = json!({ "groups": { "g": {} }, "setup_keys": {} });
        let events = key.iter().map(|_| enrolled(name, "x").into()).collect();
        let keys: Vec<Value> = key.into_iter().collect();
        let live = json!({ "groups": [group("g", &[])], "peers": [peer("x")], "setup_keys": keys });
        let mut case = Case::new(file, live).inventory(inventory);
        case.snapshot.rest.events = Some(events);
        case
    };
    let used = |name: &str| Some(over(key(name, &[]), used_at(crate::testing::MADE)));
    let rows = [
        ("by its own name", case("", None, json!({})), "x"),
        ("by another one", case("", None, json!({})), "edge"),
        (
            "by that of its key",
            case("edge", used("edge"), json!({})),
            "edge",
        ),
        (
            "by that by which its key was recorded",
            case(
                "other",
                used("other"),
                json!({ "created": { "setup_keys/edge": [id(Kind::SetupKey, "other")] } }),
            ),
            "edge",
        ),
        (
            "by that of the key by which it was recorded",
            case(
                "",
                None,
                json!({ "enrolled": { "edge": [{ "id": x(), "by": "event" }] } }),
            ),
            "edge",
        ),
        (
            "by that by which a group lists it",
            case("", None, json!({ "members": { "g": { "edge": x() } } })),
            "edge",
        ),
        (
            "by that which means it",
            case("", None, json!({ "names": { "edge": x() } })),
            "edge",
        ),
        (
            "by that of one that is gone",
            case("", None, json!({ "names": { "edge": "gone" } })),
            "edge",
        ),
    ];
    let rows = rows.map(|(what, case, name)| (what, meant(&case, Kind::Peer, name)));
    assert_data_eq!(
        table(rows),
        str![[r#"
by its own name
    peer x
by another one
by that of its key
    peer x
by that by which its key was recorded
    peer x
by that of the key by which it was recorded
    peer x
by that by which a group lists it
    peer x
by that which means it
    peer x
by that of one that is gone

"#]]
        .raw()
    );
}
