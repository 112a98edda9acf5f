//! Who is meant where an entry names one peer.

use serde_json::{Value, json};
use snapbox::{IntoData, assert_data_eq, str};

use crate::model::Kind;
use crate::testing::{
    Case, MADE, id, id_at, key, key_at, over, peer, peer_at, route, table, used_at,
};

const DAY: i64 = 86_400;

/// A route through `gw`, which the file names since a day after `MADE`.
fn file() -> Value {
    let route = json!({ "network": "10.1.0.0/16", "peer": "gw", "groups": ["All"] });
    json!({ "routes": { "r": route } })
}

/// The same, where `gw` is a setup key.
fn by_key(enrolled: bool) -> Value {
    let key = json!({ "type": "one-off", "expires_in": 5_184_000, "enrolled": enrolled });
    over(file(), json!({ "setup_keys": { "gw": key } }))
}

fn through(peer: &str) -> Value {
    over(
        route("r", "10.1.0.0/16", &[]),
        json!({ "peer": peer, "peer_groups": null }),
    )
}

fn case(file: &Value, peers: Vec<Value>, keys: Vec<Value>, routes: Vec<Value>) -> Case {
    let live = json!({ "peers": peers, "setup_keys": keys, "routes": routes });
    let before = over(
        file.clone(),
        json!({ "routes": {}, "groups": { "keep": {} } }),
    );
    let history = [(MADE - DAY, before), (MADE + DAY, file.clone())];
    Case::new(file.clone(), live).history(&history)
}

#[test]
fn an_entry_names_a_peer_as_a_group_lists_its_members() {
    let (named, pending, enrolled) = (file(), by_key(false), by_key(true));
    let older = || peer("gw");
    let younger = || peer_at("gw", MADE + 10 * DAY);
    let came = || peer_at("host-7", MADE + 5);
    let used = || over(key("gw", &[]), used_at(MADE + 5));
    let waits = |file: &Value, peers: Vec<Value>, keys: Vec<Value>| {
        case(file, peers, keys, Vec::new()).outcome()
    };
    let ours = |peers: Vec<Value>, named: &str| {
        case(&file(), peers, Vec::new(), vec![through(named)]).outcome()
    };
    let rows = [
        ("its name", waits(&named, vec![older()], vec![])),
        ("nobody has it", waits(&named, vec![peer("gv")], vec![])),
        (
            "a peer took it since",
            waits(&named, vec![younger()], vec![]),
        ),
        (
            "two have it, one of them since",
            waits(&named, vec![older(), younger()], vec![]),
        ),
        (
            "two have it",
            waits(&named, vec![older(), peer_at("gw", MADE + 5)], vec![]),
        ),
        (
            "of two it is the one that routes",
            ours(
                vec![older(), peer_at("gw", MADE + 5)],
                &id_at(Kind::Peer, "gw", MADE + 5),
            ),
        ),
        (
            "the one that routes is gone, and nobody has the name",
            ours(vec![], &id(Kind::Peer, "old")),
        ),
        (
            "a person's or a forgotten one",
            waits(
                &named,
                vec![over(older(), json!({ "ephemeral": true }))],
                vec![],
            ),
        ),
        (
            "a key that waits",
            waits(&pending, vec![older()], vec![key("gw", &[])]),
        ),
        (
            "the peer of a key that is used",
            waits(&enrolled, vec![came(), older()], vec![used()]),
        ),
        (
            "the same, and nobody else has the name",
            waits(&enrolled, vec![came()], vec![used()]),
        ),
        (
            "the same, and the route goes through it already",
            case(
                &enrolled,
                vec![came()],
                vec![used()],
                vec![through(&id_at(Kind::Peer, "host-7", MADE + 5))],
            )
            .outcome(),
        ),
        (
            "the peer of a used key, until another one comes in its place",
            case(
                &pending,
                vec![came()],
                vec![used(), key_at("gw", &[], MADE + 60)],
                vec![through(&id_at(Kind::Peer, "host-7", MADE + 5))],
            )
            .outcome(),
        ),
        (
            "the peer of a used key is gone",
            waits(&enrolled, vec![], vec![used()]),
        ),
        (
            "a key that is gone",
            waits(&enrolled, vec![older()], vec![]),
        ),
    ];
    assert_data_eq!(table(rows), str![[r#"
its name
    create route r
nobody has it
    note: route "r" names "gw", but no peer has this name. Check the name. When its machine enrolled, run apply --adopt peers/gw=ID. This entry is skipped until its peer is known.
a peer took it since
    note: route "r" names "gw", which means no machine yet, because any machine can choose its own name. The peer dav6l05h52b8h06og03g has this name now. If it is the right machine, run apply --adopt peers/gw=dav6l05h52b8h06og03g (in a job: the input adopt of the apply workflow). This entry is skipped until its peer is known.
two have it, one of them since
    create route r
    note: route "r" names "gw", which means the peer daojn05h52b8h06og03g. The peer dav6l05h52b8h06og03g has this name too, but is not used. If it is the right machine, run apply --adopt peers/gw=dav6l05h52b8h06og03g (in a job: the input adopt of the apply workflow). If not, rename it.
two have it
    note: route "r" names "gw", which means no machine yet, because any machine can choose its own name. The peers daojn05h52b8h06og03g and daojn1dh52b8h06og03g have this name now. If one of them is the right machine, run apply --adopt peers/gw=ID (in a job: the input adopt of the apply workflow). This entry is skipped until its peer is known.
of two it is the one that routes
    adopts route r as Adopted
the one that routes is gone, and nobody has the name
    unmanaged: route r
    note: NetBird has another route with the name "r" (id daojn050reig0m8bel20). This file does not manage it and does not change it.
    note: route "r" names "gw", but no peer has this name. Check the name. When its machine enrolled, run apply --adopt peers/gw=ID. This entry is skipped until its peer is known.
a person's or a forgotten one
    create route r
a key that waits
    note: route "r" names "gw", but the machine of this setup key has not enrolled yet. This entry is skipped until its peer is known.
the peer of a key that is used
    create route r
    note: route "r" names "gw", which means the peer daojn1eud4nvoqpig1jg. The peer daojn05h52b8h06og03g has this name too, but is not used. If it is the right machine, set "enrolled": false and reissue_after to the present time on the setup key, and enroll the machine with the new key. If not, rename it.
the same, and nobody else has the name
    create route r
    note: route "r" names "gw", which means the peer "host-7" (daojn1eud4nvoqpig1jg)
the same, and the route goes through it already
    adopts route r as Adopted
the peer of a used key, until another one comes in its place
    adopts route r as Adopted
    note: setup key "gw" waits for another machine. The peer "host-7" (daojn1eud4nvoqpig1jg), which used an older key of this name, keeps the name and leaves the groups that list it when that machine enrolls. To replace the old machine, set reissue_after to a time between the creation of the two keys.
the peer of a used key is gone
    note: route "r" names the setup key "gw", but the peer that enrolled with it was deleted. For a machine in its place, set "enrolled": false and reissue_after to the present time on the setup key, and enroll the machine with the new key. This entry is skipped until its peer is known.
a key that is gone
    create route r

"#]].raw());
}
