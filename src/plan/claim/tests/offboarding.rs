//! With the entry of a used key goes the key, and the machine that came by it.

use serde_json::{Value, json};
use snapbox::{IntoData, assert_data_eq, str};

use crate::model::Kind;
use crate::plan::{Prune, Standing};
use crate::testing::{
    Case, MADE, desired, enrolled, group, id, key, over, peer, policy_with, route, table, time,
    used_at,
};

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
        case
    };
    let by_resource = |peer: &str| {
        let to = json!({ "destinations": null, "destinationResource": { "id": id(Kind::Peer, peer), "type": "peer" } });
        json!({ "policies": [policy_with("p", &["keep"], &[], to)] })
    };
    let with_file = |file: Value| {
        let mut case = case(&[], true, json!({}));
        case.desired = desired(&file);
        case
    };
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
        ("its entry stays", with_file(keys(true, &[]))),
        (
            "the section of its entry is gone",
            with_file(json!({ "groups": { "keep": {}, "g": { "peers": [] } } })),
        ),
        (
            "with --prune none",
            case(&[], true, json!({})).prune(Prune::None),
        ),
        (
            "it is not known what is ours",
            case(&[], true, json!({})).ours(|ours| ours.standing = Standing::Unknown),
        ),
        ("never declared", case(&[], false, json!({}))),
        (
            "unused: the key alone",
            case(&[], true, json!({ "setup_keys": [key("k", &[])] })),
        ),
        ("a policy names the peer", case(&[], true, by_resource("x"))),
        (
            "a policy names another peer",
            case(&[], true, by_resource("y")),
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
        (
            "an ingress peer, of which no file speaks, is the peer",
            case(
                &[],
                true,
                json!({ "parts": { "/ingress/peers": [{ "id": "i", "ingress_ip": "192.0.2.7", "peer_id": id(Kind::Peer, "x") }] } }),
            ),
        ),
    ];
    let rows = rows.map(|(what, case)| (what, case.outcome()));
    assert_data_eq!(table(rows), str![[r#"
ours
    delete peer x: enrolled with setup key "k", whose entry was removed
    delete setup key k: it is no longer in the file
a group still lists the peer
    delete peer x: enrolled with setup key "k", whose entry was removed
    delete setup key k: it is no longer in the file
    note: group "g" lists "x", which means no machine yet, because any machine can choose its own name. The peer daojn06d1l5o9ei3jd1g has this name now. If it is the right machine, run apply --adopt peers/x=daojn06d1l5o9ei3jd1g (in a job: the input adopt of the apply workflow)
its entry stays
    nothing
the section of its entry is gone
    note: section "setup_keys" is removed from the file by this change, so nothing in it is managed any more. None of its objects exists in NetBird.
with --prune none
    nothing
it is not known what is ours
    nothing
never declared
    nothing
unused: the key alone
    delete setup key k: it is no longer in the file
a policy names the peer
    delete setup key k: it is no longer in the file
    held: peer x: not deleted, because it is still used by policy "p" (daojn064mr64fain5cug)
a policy names another peer
    delete peer x: enrolled with setup key "k", whose entry was removed
    delete setup key k: it is no longer in the file
a route goes through the peer
    delete setup key k: it is no longer in the file
    held: peer x: not deleted, because it is still used by route "r" (daojn050reig0m8bel20)
a network router is the peer
    delete setup key k: it is no longer in the file
    held: peer x: not deleted, because it is still used by network router router1 of network "office" through x
an ingress peer, of which no file speaks, is the peer
    delete setup key k: it is no longer in the file
    held: peer x: not deleted, because it is still used by ingress peer "192.0.2.7"

"#]].raw());
}

/// A machine that the file still has an entry for is no machine that left.
#[test]
fn an_entry_of_the_machine_keeps_it() {
    let recorded = json!({ "setup_keys/k": [id(Kind::SetupKey, "k")] });
    let created = json!({ "created": recorded });
    let case = |file: Value, used: i64, inventory: Value| {
        let live = json!({ "groups": [group("keep", &[])], "peers": [peer("k"), over(peer("y"), json!({ "created_at": time(MADE + 900) }))],
                           "setup_keys": [over(key("k", &[]), used_at(used))] });
        let file = over(json!({ "groups": { "keep": {} }, "setup_keys": {} }), file);
        let enrolled = json!({ "enrolled": { "k": [id(Kind::Peer, "k")] } });
        Case::new(file, live).inventory(over(enrolled, inventory))
    };
    let of = |file: Value, used: i64, inventory: Value| case(file, used, inventory).outcome();
    let entry = |name: &str| json!({ "peers": { name: { "ssh_enabled": true } } });
    let named = |peer: &str| {
        over(
            created.clone(),
            json!({ "names": { "cam": id(Kind::Peer, peer) } }),
        )
    };
    let lists = || json!({ "groups": { "keep": { "peers": ["cam"] } } });
    let by_name = json!({ "enrolled": { "k": [{ "id": id(Kind::Peer, "k"), "by": "name" }] } });
    let by_name = over(created.clone(), by_name);
    let later = MADE + 5;
    let rows = [
        ("its entry", of(entry("k"), later, created.clone())),
        (
            "that of another one",
            of(entry("y"), later, created.clone()),
        ),
        (
            "that of its key",
            of(keys(true, &[]), later, created.clone()),
        ),
        ("none", of(json!({}), later, created.clone())),
        (
            "none, and it is not known what is ours",
            case(json!({}), later, created.clone())
                .ours(|ours| ours.standing = Standing::Unknown)
                .outcome(),
        ),
        (
            "a group lists it by a name that means it",
            of(lists(), later, named("k")),
        ),
        (
            "a group lists another one by such a name",
            of(lists(), later, named("y")),
        ),
        (
            "its key was adopted",
            of(json!({}), later, json!({ "adopted": recorded })),
        ),
        (
            "its key was adopted, and let go before",
            of(
                json!({}),
                later,
                json!({ "let_go": { "setup_keys/k": { "ids": recorded["setup_keys/k"], "cause": "#4" } } }),
            ),
        ),
        (
            "a name alone told that it came by the key",
            of(json!({}), later, by_name.clone()),
        ),
        (
            "the same, and by now the times do",
            of(json!({}), MADE, by_name),
        ),
    ];
    assert_data_eq!(
        table(rows),
        str![[r#"
its entry
    delete setup key k: it is no longer in the file
    adopts group keep as Adopted
that of another one
    delete peer k: enrolled with setup key "k", whose entry was removed
    delete setup key k: it is no longer in the file
    adopts group keep as Adopted
that of its key
    create group g
    adopts group keep as Adopted
none
    delete peer k: enrolled with setup key "k", whose entry was removed
    delete setup key k: it is no longer in the file
    adopts group keep as Adopted
none, and it is not known what is ours
    nothing
a group lists it by a name that means it
    update group keep
        peers [] → ["k"]
    delete setup key k: it is no longer in the file
    adopts group keep as Adopted
a group lists another one by such a name
    update group keep
        peers [] → ["y"]
    delete peer k: enrolled with setup key "k", whose entry was removed
    delete setup key k: it is no longer in the file
    adopts group keep as Adopted
its key was adopted
    delete peer k: enrolled with setup key "k", which existed before this file managed it and whose entry was removed
    adopts group keep as Adopted
    let go: setup key k: Adopted
its key was adopted, and let go before
    delete peer k: enrolled with setup key "k", which existed before this file managed it and whose entry was removed
    adopts group keep as Adopted
    let go: setup key k: Before
a name alone told that it came by the key
    delete setup key k: it is no longer in the file
    adopts group keep as Adopted
    note: setup key "k" is not in the file any more, but its peer is not deleted, because only names and times say that it is the peer "k" (daojn06d1ku89ei3g730). If nobody needs the peer, delete it in NetBird.
the same, and by now the times do
    delete peer k: enrolled with setup key "k", whose entry was removed; only the times of key and peer say so, not the event log
    delete setup key k: it is no longer in the file
    adopts group keep as Adopted

"#]]
        .raw()
    );
}

/// Before the key left, somebody said which machine its name means.
#[test]
fn a_name_that_a_person_bound_stays_bound() {
    let file = json!({ "groups": { "g": { "peers": ["k"] } }, "setup_keys": {} });
    let live = json!({ "groups": [group("g", &["x"])], "peers": [peer("x"), peer("y")] });
    let of = |inventory: Value| {
        let case = Case::new(file.clone(), live.clone());
        case.inventory(over(
            inventory,
            json!({ "enrolled": { "k": [id(Kind::Peer, "x")] } }),
        ))
        .outcome()
    };
    let rows = [
        ("it means who came by it", of(json!({}))),
        (
            "bound",
            of(json!({ "names": { "k": id(Kind::Peer, "y") } })),
        ),
        (
            "bound to one that is gone",
            of(json!({ "names": { "k": id(Kind::Peer, "z") } })),
        ),
    ];
    assert_data_eq!(
        table(rows),
        str![[r#"
it means who came by it
    adopts group g as Adopted
bound
    update group g
        peers ["x"] → ["x","y"]
    unmanaged in g: ["x"]
    adopts group g as Adopted
bound to one that is gone
    adopts group g as Adopted

"#]]
        .raw()
    );
}
