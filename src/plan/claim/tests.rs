//! What is ours to delete: docs/ownership.md, "The proof", and offboarding.

mod forms;

use serde_json::{Value, json};
use snapbox::{IntoData, assert_data_eq, str};

use crate::kind::Kind;
use crate::testing::{
    Case, MADE, enrolled, group, id, id_at, key, over, peer, policy_with, route, table, used_at,
    value,
};

/// A file that declares the group `keep` and these others.
fn groups(names: &[&str]) -> Value {
    let entries = names
        .iter()
        .chain(&["keep"])
        .map(|name| ((*name).to_owned(), json!({})));
    json!({ "groups": entries.collect::<serde_json::Map<_, _>>() })
}

/// The group `g`, made at that second, against a history that declared it from second 0 to second 1000 after `MADE`.
fn made(second: i64) -> Case {
    let g = over(
        group("g", &[]),
        json!({ "id": id_at(Kind::Group, "g", MADE + second) }),
    );
    let history = [
        (MADE - 90_000, groups(&[])),
        (MADE, groups(&["g"])),
        (MADE + 1_000, groups(&[])),
    ];
    Case::new(groups(&[]), json!({ "groups": [g, group("keep", &[])] })).history(&history)
}

#[test]
fn what_was_made_while_it_was_declared_goes() {
    let agreed = |mut case: Case| {
        let held = case.possible().held.into_iter();
        case.options.release = held.map(|held| held.id).collect();
        case.outcome()
    };
    let numeric = |case: Case| {
        let mut case = case;
        let group = &mut case.snapshot.list_mut(Kind::Group)[1];
        *group = over(value(group), json!({ "id": "1802457731" })).into();
        case.outcome()
    };
    let rows = [
        ("within", made(10).outcome()),
        ("5 minutes before", made(-300).outcome()),
        ("more than that", made(-301).outcome()),
        ("1 hour after", made(1_000 + 3_600).outcome()),
        ("more than that", made(1_000 + 3_601).outcome()),
        ("older, agreed to", agreed(made(-301))),
        ("newer, agreed to", agreed(made(1_000 + 3_601))),
        ("its id tells nothing", numeric(made(10))),
        (
            "never declared",
            Case::new(
                groups(&[]),
                json!({ "groups": [group("g", &[]), group("keep", &[])] }),
            )
            .history(&[(MADE - 9, groups(&[]))])
            .outcome(),
        ),
        (
            "never declared, agreed to",
            agreed(
                Case::new(groups(&[]), json!({ "groups": [group("g", &[])] }))
                    .history(&[(MADE - 9, groups(&[]))]),
            ),
        ),
        (
            "declared now, and live already",
            Case::new(
                groups(&["g"]),
                json!({ "groups": [group("g", &[]), group("keep", &[])] }),
            )
            .history(&[(MADE - 9, groups(&[]))])
            .outcome(),
        ),
        ("its section is not managed any more", {
            let file =
                json!({ "policies": { "p": { "sources": ["All"], "destinations": ["All"] } } });
            Case::new(file, json!({ "groups": [group("g", &[])] }))
                .history(&[(MADE - 9, groups(&["g"]))])
                .outcome()
        }),
        ("issued by an identity provider", {
            let mut case = made(10);
            let group = &mut case.snapshot.list_mut(Kind::Group)[1];
            *group = over(value(group), json!({ "issued": "jwt" })).into();
            case.outcome()
        }),
    ];
    assert_data_eq!(
        table(rows),
        str![[r#"
within
    delete group g [made +10 s]: no longer declared
5 minutes before
    delete group g [made -300 s]: no longer declared
more than that
    held: group g: it was there before the file declared it
1 hour after
    delete group g [made +4600 s]: no longer declared
more than that
    held: group g: it was made by hand after its entry was removed
older, agreed to
    delete group g [made -301 s]: no longer declared (agreed to by Allow-Deletes)
newer, agreed to
    delete group g [made +4601 s]: no longer declared (agreed to by Allow-Deletes)
its id tells nothing
    held: group g: its id does not say when it was made, so nothing proves whose it is
never declared
    unmanaged: group g
never declared, agreed to
    create group keep
    unmanaged: group g
declared now, and live already
    note: group "g" lives in NetBird already: the file takes it over
its section is not managed any more
    create policy p
    note: section "groups" goes with this change, so nothing of it is managed any more; 1 group of it still lives in NetBird: "g"; put the section back to manage them, without their entries to delete what is ours
issued by an identity provider
    unmanaged: group g

"#]]
        .raw()
    );
}

/// Names of routes are not unique: of equal ones that are all ours the oldest stays.
#[test]
fn namesakes() {
    let file = json!({ "routes": { "r": { "network": "10.0.0.0/8", "peer_groups": ["All"] } } });
    let second = |made: i64| {
        over(
            route("r", "10.0.0.0/8", &["All"]),
            json!({ "id": id_at(Kind::Route, "r", made) }),
        )
    };
    let case = |other: Value| {
        Case::new(
            file.clone(),
            json!({ "routes": [other, route("r", "10.0.0.0/8", &["All"])] }),
        )
        .history(&[(MADE - 9, file.clone())])
        .outcome()
    };
    let rows = [
        ("both ours, equal", case(second(MADE + 9))),
        ("one is older than the file", case(second(MADE - 9_000))),
        (
            "one differs",
            case(over(second(MADE + 9), json!({ "peer_groups": [] }))),
        ),
    ];
    assert_data_eq!(table(rows), str![[r#"
both ours, equal
    delete route r [made +9 s]: a second one of that name, and equal
one is older than the file
    unmanaged: route r
    note: route "r" has a namesake in NetBird that is not this file's and is left alone: daohgm50reig0m8bel20 (one more route of that name)
one differs
    unmanaged: route r
    note: route "r" has a namesake in NetBird that is not this file's and is left alone: daojn2d0reig0m8bel20 (through nobody)

"#]].raw());
}

/// A file with the key `k`, or without it, and a group that lists these peers.
fn keys(declared: bool, lists: &[&str]) -> Value {
    let k = json!({ "type": "one-off", "expires_in": 60, "auto_groups": [] , "enrolled": true });
    let keys = if declared {
        json!({ "k": k })
    } else {
        json!({})
    };
    json!({ "groups": { "keep": {}, "g": { "peers": lists } }, "setup_keys": keys })
}

/// With the entry of a used key goes the key, and the peer that came by it.
#[test]
fn offboarding() {
    let used = over(key("k", &[]), used_at(MADE + 5));
    let case = |lists: &[&str], declared_before: bool, more: Value| {
        let live = json!({ "groups": [group("g", &[]), group("keep", &[])], "peers": [peer("x"), peer("y")],
                           "setup_keys": [used] });
        let history = [
            (MADE - 9, keys(declared_before, lists)),
            (MADE + 9_000, keys(false, lists)),
        ];
        let mut case = Case::new(keys(false, lists), over(live, more)).history(&history);
        case.snapshot.rest.events = Some(vec![enrolled("k", "x").into()]);
        case.outcome()
    };
    let by_resource = json!({ "destinations": null, "destinationResource": { "id": id(Kind::Peer, "x"), "type": "peer" } });
    let through = over(
        route("r", "10.0.0.0/8", &[]),
        json!({ "peer": id(Kind::Peer, "x") }),
    );
    let rows = [
        ("ours", case(&[], true, json!({}))),
        (
            "a group still lists the peer",
            case(&["x"], true, json!({})),
        ),
        ("never declared", case(&[], false, json!({}))),
        (
            "unused: the key alone",
            case(&[], true, json!({ "setup_keys": [key("k", &[])] })),
        ),
        (
            "a policy names the peer",
            case(
                &[],
                true,
                json!({ "policies": [policy_with("p", &["keep"], &[], by_resource)] }),
            ),
        ),
        (
            "a route goes through the peer",
            case(&[], true, json!({ "routes": [through] })),
        ),
        (
            "a network router is the peer",
            case(
                &[],
                true,
                json!({ "networks": [{ "id": "net", "name": "office", "routers": ["router1"] }],
                        "network_routers": [{ "id": "router1", "peer": id(Kind::Peer, "x") }] }),
            ),
        ),
    ];
    assert_data_eq!(table(rows), str![[r#"
ours
    delete peer x: enrolled with setup key "k", whose entry was removed
    delete setup key k: no longer declared
a group still lists the peer
    held: setup key k: its peer "x" stays: group "g" still lists it
    note: group "g" lists "x": the peer of that name is younger than the commit that listed it, so it is not added; list it again in a new commit if it is meant
never declared
    nothing
unused: the key alone
    delete setup key k: no longer declared
a policy names the peer
    held: setup key k: its peer "x" stays: it is still used by policy "p" (daojn064mr64fain5cug)
a route goes through the peer
    held: setup key k: its peer "x" stays: it is still used by route "r" (daojn050reig0m8bel20)
a network router is the peer
    held: setup key k: its peer "x" stays: it is still used by network router router1 of network "office"

"#]].raw());
}

/// A credential that is marked enrolled and can still be used is nobody's, where it is ours.
#[test]
fn an_unused_key_that_is_marked_enrolled_goes() {
    let live = |second: i64| {
        json!({ "groups": [group("keep", &[]), group("g", &[])],
        "setup_keys": [over(key("k", &[]), json!({ "id": id_at(Kind::SetupKey, "k", second) }))] })
    };
    let case = |second: i64| {
        Case::new(keys(true, &[]), live(second))
            .history(&[(MADE, keys(true, &[]))])
            .outcome()
    };
    let rows = [
        ("ours", case(MADE + 5)),
        ("older than its entry", case(MADE - 9_000)),
    ];
    assert_data_eq!(table(rows), str![[r#"
ours
    delete setup key k [made +5 s]: marked enrolled, so this live and unused credential is nobody's
older than its entry
    note: setup key "k" is marked enrolled, but a valid key of that name that nobody used lives in NetBird (daohgm58v557f7ctlctg): it is not provably ours, so it stays

"#]].raw());
}
