//! Who came by which key: the table, and what holds for any account.

mod properties;

use std::collections::BTreeSet;

use serde_json::{Value, json};
use snapbox::{IntoData, assert_data_eq, str};

use super::{Bindings, bind};
use crate::account::Peers;
use crate::testing::{MADE, over, table};
use crate::wire::api::objects::{Event, Peer, SetupKey};

fn at(ms: i64) -> String {
    let time = jiff::Timestamp::from_millisecond(MADE * 1000 + ms).expect("a time of this century");
    time.to_string()
}

/// A one-off key with that id, used at that millisecond.
fn used(id: &str, ms: i64) -> Value {
    json!({ "id": id, "name": "any", "type": "one-off", "valid": false, "used_times": 1, "last_used": at(ms) })
}

fn reusable(id: &str, ms: i64) -> Value {
    over(used(id, ms), json!({ "type": "reusable", "valid": true }))
}

/// The same with a name.
fn named(id: &str, name: &str, ms: i64) -> Value {
    over(used(id, ms), json!({ "name": name }))
}

fn named_peer(id: &str, name: &str, ms: i64) -> Value {
    over(peer(id, ms), json!({ "name": name }))
}

/// A peer with that id, enrolled at that millisecond.
fn peer(id: &str, ms: i64) -> Value {
    json!({ "id": id, "name": "a-host", "created_at": at(ms) })
}

fn event(key: &str, peer: &str) -> Value {
    json!({ "activity_code": "peer.setupkey.add", "initiator_id": key, "target_id": peer })
}

struct Account {
    keys: Vec<SetupKey>,
    peers: Peers,
    events: Option<Vec<Event>>,
}

impl Account {
    fn new(keys: &[Value], peers: &[Value], events: Option<&[Value]>) -> Self {
        fn read<T: serde::de::DeserializeOwned>(list: &[Value]) -> Vec<T> {
            serde_json::from_value(list.into()).expect("answers of the server's form")
        }
        Account {
            keys: read(keys),
            peers: read::<Peer>(peers).into_iter().collect(),
            events: events.map(read),
        }
    }

    fn bind(&self) -> Bindings {
        bind(&self.keys, &self.peers, self.events.as_deref())
    }
}

/// The binding of every key, and the key of every peer.
fn outcome(keys: &[Value], peers: &[Value], events: Option<&[Value]>) -> String {
    let account = Account::new(keys, peers, events);
    let bindings = account.bind();
    let mut text = String::new();
    for id in account
        .keys
        .iter()
        .map(|key| &key.id)
        .collect::<BTreeSet<_>>()
    {
        match bindings.of_key(id) {
            Some(binding) => text.push_str(&format!("{id}: {binding:?}\n")),
            None => text.push_str(&format!("{id}: not asked\n")),
        }
    }
    for id in account.peers.iter().map(|peer| &peer.id) {
        if let Some(key) = bindings.key_of(id) {
            text.push_str(&format!("{id} came by {key}\n"));
        }
    }
    text
}

#[test]
fn by_event() {
    let two = [peer("p1", 0), peer("p2", 0)];
    let remove =
        json!({ "activity_code": "user.peer.delete", "initiator_id": "sys", "target_id": "p9" });
    let rows = [
        (
            "the event decides, whatever the times",
            outcome(&[used("k1", 90_000)], &two, Some(&[event("k1", "p2")])),
        ),
        (
            "in any order, among others",
            outcome(
                &[used("k1", 10), used("k2", 10)],
                &two,
                Some(&[
                    json!({ "activity_code": "made.up" }),
                    event("k2", "p1"),
                    remove,
                    event("k1", "p2"),
                ]),
            ),
        ),
        (
            "its peer is gone: never another by its time",
            outcome(&[used("k1", 10)], &two, Some(&[event("k1", "p9")])),
        ),
        (
            "two peers in the log, one is gone",
            outcome(
                &[used("k1", 10)],
                &two,
                Some(&[event("k1", "p9"), event("k1", "p2")]),
            ),
        ),
        (
            "two living peers in the log",
            outcome(
                &[used("k1", 10)],
                &two,
                Some(&[event("k1", "p1"), event("k1", "p2")]),
            ),
        ),
        (
            "one peer in the log under two keys",
            outcome(
                &[used("k1", 10), used("k2", 10)],
                &two,
                Some(&[event("k1", "p1"), event("k2", "p1")]),
            ),
        ),
        (
            "two keys share an id",
            outcome(
                &[used("17", 10), used("17", 10), used("k2", 5_000)],
                &two,
                Some(&[event("17", "p1")]),
            ),
        ),
        (
            "an unused key",
            outcome(
                &[over(used("k1", 0), json!({ "used_times": 0 }))],
                &two,
                Some(&[event("k1", "p1")]),
            ),
        ),
        (
            "a reusable key",
            outcome(
                &[reusable("r1", 10)],
                &two,
                Some(&[event("r1", "p1"), event("r1", "p2")]),
            ),
        ),
        (
            "an ephemeral key",
            outcome(
                &[over(used("k1", 10), json!({ "ephemeral": true }))],
                &two,
                Some(&[event("k1", "p1")]),
            ),
        ),
    ];
    assert_data_eq!(
        table(rows),
        str![[r#"
the event decides, whatever the times
    k1: Peer(Id("p2"), Event)
    p2 came by k1
in any order, among others
    k1: Peer(Id("p2"), Event)
    k2: Peer(Id("p1"), Event)
    p1 came by k2
    p2 came by k1
its peer is gone: never another by its time
    k1: PeerGone
two peers in the log, one is gone
    k1: Peer(Id("p2"), Event)
    p2 came by k1
two living peers in the log
    k1: Several([Id("p1"), Id("p2")])
    p1 came by k1
    p2 came by k1
one peer in the log under two keys
    k1: Several([Id("p1")])
    k2: Several([Id("p1")])
two keys share an id
    17: not asked
    k2: Nobody
an unused key
    k1: not asked
    p1 came by k1
a reusable key
    r1: not asked
    p1 came by r1
    p2 came by r1
an ephemeral key
    k1: not asked
    p1 came by k1

"#]]
        .raw()
    );
}

#[test]
fn by_time() {
    let rows = [
        (
            "the log is off",
            outcome(&[used("k1", 54)], &[peer("p1", 0)], None),
        ),
        (
            "the log is rotated",
            outcome(&[used("k1", 54)], &[peer("p1", 0)], Some(&[])),
        ),
        (
            "at the same instant",
            outcome(&[used("k1", 0)], &[peer("p1", 0)], None),
        ),
        (
            "one second later",
            outcome(&[used("k1", 1_000)], &[peer("p1", 0)], None),
        ),
        (
            "more than a second later",
            outcome(&[used("k1", 1_001)], &[peer("p1", 0)], None),
        ),
        (
            "before the peer was there",
            outcome(&[used("k1", -1)], &[peer("p1", 0)], None),
        ),
        (
            "two peers fit",
            outcome(&[used("k1", 500)], &[peer("p1", 0), peer("p2", 100)], None),
        ),
        (
            "two peers fit, one came by another key",
            outcome(
                &[used("k1", 500), reusable("r1", 40)],
                &[peer("p1", 0), peer("p2", 100)],
                Some(&[event("r1", "p1")]),
            ),
        ),
        (
            "of two the nearest, where the other is far",
            outcome(&[used("k1", 925)], &[peer("p1", 0), peer("p2", 900)], None),
        ),
        (
            "at its limits: 100 ms, and no other within 200",
            outcome(
                &[used("k1", 900)],
                &[peer("p1", 699), peer("p2", 800)],
                None,
            ),
        ),
        (
            "the nearest is not near enough",
            outcome(&[used("k1", 900)], &[peer("p1", 0), peer("p2", 799)], None),
        ),
        (
            "another is within 200 ms",
            outcome(
                &[used("k1", 900)],
                &[peer("p1", 700), peer("p2", 890)],
                None,
            ),
        ),
        (
            "one machine a second: each key fits the machine before, too",
            outcome(
                &[used("k1", 25), used("k2", 1_000), used("k3", 1_990)],
                &[peer("p1", 0), peer("p2", 990), peer("p3", 1_970)],
                None,
            ),
        ),
        (
            "what is settled leaves the rest",
            outcome(
                &[used("k1", 10), used("k2", 500)],
                &[peer("p1", 0), peer("p2", 220)],
                None,
            ),
        ),
        (
            "the other key's machine is gone",
            outcome(&[used("k1", 10), used("k2", 900)], &[peer("p1", 0)], None),
        ),
        (
            "two that fit both keys, and have their names",
            outcome(
                &[named("k1", "a", 10), named("k2", "b", 10)],
                &[named_peer("p1", "b", 0), named_peer("p2", "a", 0)],
                None,
            ),
        ),
        (
            "one has its key's name, and the other is left",
            outcome(
                &[named("k1", "a", 10), named("k2", "b", 10)],
                &[named_peer("p1", "x", 0), named_peer("p2", "a", 0)],
                None,
            ),
        ),
        (
            "two have the name of one key",
            outcome(
                &[named("k1", "a", 10)],
                &[named_peer("p1", "a", 0), named_peer("p2", "a", 5)],
                None,
            ),
        ),
        (
            "a name does not stand against a reusable key that fits better",
            outcome(
                &[named("k1", "a", 500), reusable("r1", 3)],
                &[named_peer("p1", "a", 0), named_peer("p2", "b", 100)],
                None,
            ),
        ),
        (
            "two keys claim one peer",
            outcome(&[used("k1", 100), used("k2", 200)], &[peer("p1", 0)], None),
        ),
        (
            "a reusable key fits better",
            outcome(
                &[used("k1", 500), reusable("r1", 3)],
                &[peer("p1", 0)],
                None,
            ),
        ),
        (
            "a reusable key fits as well",
            outcome(
                &[used("k1", 500), reusable("r1", 500)],
                &[peer("p1", 0)],
                None,
            ),
        ),
        (
            "a reusable key fits worse",
            outcome(
                &[used("k1", 3), reusable("r1", 500)],
                &[peer("p1", 0)],
                None,
            ),
        ),
        (
            "a person's peer",
            outcome(
                &[used("k1", 3)],
                &[over(peer("p1", 0), json!({ "user_id": "mira" }))],
                None,
            ),
        ),
        (
            "an ephemeral peer",
            outcome(
                &[used("k1", 3)],
                &[over(peer("p1", 0), json!({ "ephemeral": true }))],
                None,
            ),
        ),
        (
            "a person's peer beside the right one",
            outcome(
                &[used("k1", 3)],
                &[
                    over(peer("p1", 0), json!({ "user_id": "mira" })),
                    peer("p2", 0),
                ],
                None,
            ),
        ),
        (
            "two keys share an id",
            outcome(&[used("17", 3), used("17", 3)], &[peer("p1", 0)], None),
        ),
    ];
    assert_data_eq!(
        table(rows),
        str![[r#"
the log is off
    k1: Peer(Id("p1"), Time)
    p1 came by k1
the log is rotated
    k1: Peer(Id("p1"), Time)
    p1 came by k1
at the same instant
    k1: Peer(Id("p1"), Time)
    p1 came by k1
one second later
    k1: Peer(Id("p1"), Time)
    p1 came by k1
more than a second later
    k1: Nobody
before the peer was there
    k1: Nobody
two peers fit
    k1: Several([Id("p1"), Id("p2")])
two peers fit, one came by another key
    k1: Peer(Id("p2"), Time)
    r1: not asked
    p1 came by r1
    p2 came by k1
of two the nearest, where the other is far
    k1: Peer(Id("p2"), Time)
    p2 came by k1
at its limits: 100 ms, and no other within 200
    k1: Peer(Id("p2"), Time)
    p2 came by k1
the nearest is not near enough
    k1: Several([Id("p1"), Id("p2")])
another is within 200 ms
    k1: Several([Id("p1"), Id("p2")])
one machine a second: each key fits the machine before, too
    k1: Peer(Id("p1"), Time)
    k2: Peer(Id("p2"), Time)
    k3: Peer(Id("p3"), Time)
    p1 came by k1
    p2 came by k2
    p3 came by k3
what is settled leaves the rest
    k1: Peer(Id("p1"), Time)
    k2: Peer(Id("p2"), Time)
    p1 came by k1
    p2 came by k2
the other key's machine is gone
    k1: Peer(Id("p1"), Time)
    k2: Nobody
    p1 came by k1
two that fit both keys, and have their names
    k1: Peer(Id("p2"), Name)
    k2: Peer(Id("p1"), Name)
    p1 came by k2
    p2 came by k1
one has its key's name, and the other is left
    k1: Peer(Id("p2"), Name)
    k2: Peer(Id("p1"), Name)
    p1 came by k2
    p2 came by k1
two have the name of one key
    k1: Several([Id("p1"), Id("p2")])
a name does not stand against a reusable key that fits better
    k1: Several([Id("p1"), Id("p2")])
    r1: not asked
two keys claim one peer
    k1: Several([Id("p1")])
    k2: Several([Id("p1")])
a reusable key fits better
    k1: Several([Id("p1")])
    r1: not asked
a reusable key fits as well
    k1: Several([Id("p1")])
    r1: not asked
a reusable key fits worse
    k1: Peer(Id("p1"), Time)
    r1: not asked
    p1 came by k1
a person's peer
    k1: Nobody
an ephemeral peer
    k1: Nobody
a person's peer beside the right one
    k1: Peer(Id("p2"), Time)
    p2 came by k1
two keys share an id
    17: not asked

"#]]
        .raw()
    );
}
