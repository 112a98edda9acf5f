//! With the entry of a used key goes the key, and the machine that came by it.

use serde_json::{Value, json};
use snapbox::{IntoData, assert_data_eq, str};

use crate::model::Kind;
use crate::testing::{
    Case, MADE, enrolled, group, id, key, over, peer, policy_with, route, table, used_at,
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
        (
            "an ingress peer, of which no file speaks, is the peer",
            case(
                &[],
                true,
                json!({ "parts": { "/ingress/peers": [{ "id": "i", "ingress_ip": "192.0.2.7", "peer_id": id(Kind::Peer, "x") }] } }),
            ),
        ),
    ];
    assert_data_eq!(table(rows), str![[r#"
ours
    delete peer x: enrolled with setup key "k", whose entry was removed
    delete setup key k: it is no longer in the file
a group still lists the peer
    delete peer x: enrolled with setup key "k", whose entry was removed
    delete setup key k: it is no longer in the file
    note: group "g" lists "x", which means no machine yet, because any machine can choose its own name. The peer daojn06d1l5o9ei3jd1g has this name now. If it is the right machine, run apply --adopt peers/x=daojn06d1l5o9ei3jd1g (in a job: the input adopt of the apply workflow)
never declared
    nothing
unused: the key alone
    delete setup key k: it is no longer in the file
a policy names the peer
    delete setup key k: it is no longer in the file
    held: peer x: not deleted, because it is still used by policy "p" (daojn064mr64fain5cug)
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
    let file = |peers: Value| json!({ "groups": { "keep": {} }, "setup_keys": {}, "peers": peers });
    let live =
        json!({ "peers": [peer("k")], "setup_keys": [over(key("k", &[]), used_at(MADE + 5))] });
    let inventory = json!({ "created": { "setup_keys/k": [id(Kind::SetupKey, "k")] },
                            "enrolled": { "k": [id(Kind::Peer, "k")] } });
    let of = |peers: Value| {
        let case = Case::new(file(peers), live.clone());
        case.inventory(inventory.clone()).outcome()
    };
    let rows = [
        ("its entry", of(json!({ "k": { "ssh_enabled": true } }))),
        ("none", of(json!({}))),
    ];
    assert_data_eq!(
        table(rows),
        str![[r#"
its entry
    create group keep
    delete setup key k: it is no longer in the file
none
    create group keep
    delete peer k: enrolled with setup key "k", whose entry was removed
    delete setup key k: it is no longer in the file

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
