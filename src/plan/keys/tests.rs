//! What a plan makes of one declared key and its live namesakes.

mod adopted;
mod anew;
mod whose;

use serde_json::{Value, json};
use snapbox::{IntoData, assert_data_eq, str};

use crate::base::{Evidence, Id};
use crate::inventory::Machine;
use crate::model::Kind;
use crate::plan::Ours;
use crate::testing::{
    Case, LIFE, MADE, NOW, enrolled, group, id, key, key_at, over, peer, table, time, used_at,
};

/// The key `k` that grants `pilots`, with these fields in the file, against these live keys of that name. A run made them and
/// wrote them down, unless they say otherwise.
fn case(declared: Value, keys: Vec<Value>) -> Case {
    let base = json!({ "type": "one-off", "expires_in": LIFE, "auto_groups": ["pilots"] });
    let file = json!({ "groups": { "pilots": {}, "ops": {} }, "setup_keys": { "k": over(base, declared) } });
    let ids = |is_so: fn(&Value) -> bool| {
        let keys = keys.iter().filter(|key| is_so(key));
        let ids = keys.map(|key| Id::from(key["id"].as_str().expect("an id")));
        ids.collect::<Vec<_>>()
    };
    let recorded = ids(|key| key["recorded"] != false);
    let made = ids(|key| key["by_hand"] != true);
    let live = json!({ "groups": [group("pilots", &[]), group("ops", &[])], "setup_keys": keys });
    let case = Case::new(file, live);
    let group = |name| [id(Kind::Group, name)];
    case.inventory(json!({ "created": {
        "setup_keys/k": recorded, "groups/pilots": group("pilots"), "groups/ops": group("ops") } }))
        .ours(|ours| ours.made = made.into_iter().collect())
}

/// Made by a run that was killed before it wrote it down.
fn unrecorded(key: Value) -> Value {
    over(key, json!({ "recorded": false }))
}

/// Made by somebody by hand.
fn by_hand(key: Value) -> Value {
    over(unrecorded(key), json!({ "by_hand": true }))
}

fn outcome(declared: Value, keys: Vec<Value>) -> String {
    case(declared, keys).outcome()
}

/// The inventory has a key of the entry that somebody deleted.
fn recorded(ours: &mut Ours) {
    let created = &mut std::sync::Arc::make_mut(&mut ours.inventory).created;
    let id = id(Kind::SetupKey, "k").as_str().into();
    created.insert("setup_keys/k".into(), vec![id]);
}

/// The inventory has a machine that enrolled with a key of the entry, and that somebody deleted.
fn was(ours: &mut Ours) {
    let (id, by) = (Id::from("was"), Evidence::Event);
    let enrolled = &mut std::sync::Arc::make_mut(&mut ours.inventory).enrolled;
    enrolled.insert("k".into(), vec![Machine { id, by }]);
}

fn pending() -> Value {
    json!({})
}

/// Live, valid, unused, as it was sealed.
fn sealed() -> Value {
    key("k", &["pilots"])
}

fn sealed_at(second: i64) -> Value {
    key_at("k", &["pilots"], second)
}

/// Made and never written down, nor given its groups: the run was killed in between.
fn never_sealed_at(second: i64) -> Value {
    unrecorded(over(
        key_at("k", &[], second),
        json!({ "expires": time(second + LIFE) }),
    ))
}

fn dead(state: &str) -> Value {
    json!({ "valid": false, "state": state, "revoked": state == "revoked",
            "expires": time(if state == "expired" { MADE + 86_400 } else { NOW + 86_400 }) })
}

#[test]
fn a_pending_key_without_namesakes() {
    let reusable = json!({ "type": "reusable" });
    let live = |fields: Value| vec![over(sealed(), fields)];
    let live_reusable = |fields: Value| {
        live(over(
            json!({ "type": "reusable", "usage_limit": 0 }),
            fields,
        ))
    };
    let rows = [
        ("no live key", outcome(pending(), vec![])),
        ("unused, equal", outcome(pending(), vec![sealed()])),
        (
            "groups differ",
            outcome(json!({ "auto_groups": ["pilots", "ops"] }), vec![sealed()]),
        ),
        (
            "groups are not ours",
            Case::new(
                json!({ "setup_keys": { "k": { "type": "one-off", "expires_in": LIFE } } }),
                json!({ "groups": [group("pilots", &[])], "setup_keys": [sealed()] }),
            )
            .outcome(),
        ),
        (
            "the type differs",
            outcome(reusable.clone(), vec![sealed()]),
        ),
        (
            "reusable now, and a used one-off key of its older life",
            outcome(reusable.clone(), vec![over(sealed(), used_at(MADE + 60))]),
        ),
        (
            "expires at all differs",
            outcome(json!({ "expires_in": 0 }), vec![sealed()]),
        ),
        (
            "it is to live shorter",
            outcome(json!({ "expires_in": 86_400 }), vec![sealed()]),
        ),
        (
            "it is to live longer",
            outcome(json!({ "expires_in": 2 * LIFE }), vec![sealed()]),
        ),
        (
            "it expires some seconds later than it says",
            outcome(json!({ "expires_in": LIFE - 2 }), vec![sealed()]),
        ),
        (
            "never, and it is to expire",
            outcome(
                pending(),
                live(json!({ "expires": "0001-01-01T00:00:00Z" })),
            ),
        ),
        (
            "nothing tells when it was made",
            outcome(
                json!({ "expires_in": 60 }),
                live(json!({ "id": "1802457731" })),
            ),
        ),
        (
            "nothing tells when it was made, and it is never to expire",
            outcome(
                json!({ "expires_in": 0 }),
                live(json!({ "id": "1802457731" })),
            ),
        ),
        (
            "the same, and it is in use",
            outcome(
                over(reusable.clone(), json!({ "expires_in": 0 })),
                live_reusable(
                    json!({ "id": "1802457731", "used_times": 3, "last_used": time(NOW) }),
                ),
            ),
        ),
        (
            "it is to live shorter, and is in use",
            outcome(
                over(
                    reusable.clone(),
                    json!({ "expires_in": 86_400, "auto_groups": ["ops"] }),
                ),
                live_reusable(json!({ "used_times": 3, "last_used": time(NOW) })),
            ),
        ),
        (
            "it is to expire at all, and to have a limit, and is in use",
            outcome(
                over(
                    reusable.clone(),
                    json!({ "expires_in": 86_400, "usage_limit": 9 }),
                ),
                live_reusable(
                    json!({ "used_times": 3, "last_used": time(NOW), "expires": "0001-01-01T00:00:00Z" }),
                ),
            ),
        ),
        (
            "it is to live shorter, and a person made it",
            case(json!({ "expires_in": 86_400 }), vec![by_hand(sealed())])
                .inventory(json!({ "adopted": { "setup_keys/k": [id(Kind::SetupKey, "k")] } }))
                .outcome(),
        ),
        (
            "ephemeral differs",
            outcome(json!({ "ephemeral": true }), vec![sealed()]),
        ),
        (
            "the DNS-label flag differs",
            outcome(json!({ "allow_extra_dns_labels": true }), vec![sealed()]),
        ),
        (
            "the usage limit differs",
            outcome(
                over(reusable.clone(), json!({ "usage_limit": 9 })),
                live_reusable(json!({})),
            ),
        ),
        (
            "both differ: groups and limit",
            outcome(
                over(
                    reusable.clone(),
                    json!({ "usage_limit": 9, "auto_groups": ["ops"] }),
                ),
                live_reusable(json!({})),
            ),
        ),
        (
            "reusable, some of its uses spent",
            outcome(
                reusable.clone(),
                live_reusable(json!({ "used_times": 3, "last_used": time(NOW) })),
            ),
        ),
        (
            "never sealed",
            outcome(pending(), vec![never_sealed_at(MADE)]),
        ),
        (
            "emptied by hand, later",
            outcome(pending(), live(json!({ "auto_groups": [] }))),
        ),
        (
            "never sealed, but the file wants no groups",
            outcome(json!({ "auto_groups": [] }), vec![never_sealed_at(MADE)]),
        ),
        (
            "never sealed, but used",
            outcome(
                reusable.clone(),
                vec![over(
                    never_sealed_at(MADE),
                    json!({ "type": "reusable", "usage_limit": 0, "used_times": 1 }),
                )],
            ),
        ),
        (
            "without groups, and recorded",
            outcome(
                pending(),
                vec![over(never_sealed_at(MADE), json!({ "recorded": true }))],
            ),
        ),
        (
            "expires within a day, and is in use",
            outcome(
                over(
                    reusable.clone(),
                    json!({ "expires_in": NOW - MADE + 3_600 }),
                ),
                live_reusable(
                    json!({ "used_times": 1, "last_used": time(NOW), "expires": time(NOW + 3_600) }),
                ),
            ),
        ),
        (
            "expires within a day, and was made for a day",
            outcome(
                json!({ "expires_in": 86_400 }),
                vec![over(
                    sealed_at(NOW - 3_600),
                    json!({ "expires": time(NOW + 82_800) }),
                )],
            ),
        ),
        (
            "somebody deleted it in NetBird",
            case(pending(), vec![]).ours(recorded).outcome(),
        ),
        (
            "expires within a day",
            outcome(
                json!({ "expires_in": NOW - MADE + 3_600 }),
                live(json!({ "expires": time(NOW + 3_600) })),
            ),
        ),
    ];
    assert_data_eq!(
        table(rows),
        str![[r#"
no live key
    create setup key k
unused, equal
    nothing
groups differ
    update setup key k
        auto_groups ["pilots"] → ["ops","pilots"]
groups are not ours
    nothing
the type differs
    replace setup key k: this change needs a new setup key: it is created first, then the old one is deleted
        type "one-off" → "reusable"
        usage_limit 1 → 0
reusable now, and a used one-off key of its older life
    create setup key k
expires at all differs
    replace setup key k: this change needs a new setup key: it is created first, then the old one is deleted
        expires_in 5184000 → 0
it is to live shorter
    replace setup key k: this change needs a new setup key: it is created first, then the old one is deleted
        expires_in 5184000 → 86400
it is to live longer
    replace setup key k: this change needs a new setup key: it is created first, then the old one is deleted
        expires_in 5184000 → 10368000
it expires some seconds later than it says
    nothing
never, and it is to expire
    replace setup key k: this change needs a new setup key: it is created first, then the old one is deleted
        expires_in 0 → 5184000
nothing tells when it was made
    nothing
nothing tells when it was made, and it is never to expire
    replace setup key k: this change needs a new setup key: it is created first, then the old one is deleted
        expires_in null → 0
the same, and it is in use
    replace setup key k: this change needs a new setup key: it is created first, then the old one is deleted
        expires_in null → 0
it is to live shorter, and is in use
    update setup key k
        auto_groups ["pilots"] → ["ops"]
    note: setup key "k" expires at 2026-11-20T14:13:20Z in NetBird, but its expires_in says otherwise. A machine used the key, so it is not replaced. For a new key, set reissue_after to the present time (or, on a laptop, run apply --replace setup_keys/k).
it is to expire at all, and to have a limit, and is in use
    replace setup key k: this change needs a new setup key: it is created first, then the old one is deleted
        expires_in 0 → 86400
        usage_limit 0 → 9
it is to live shorter, and a person made it
    adopts group ops as Adopted
    adopts group pilots as Adopted
    note: setup key "k" existed before this file managed it (id daojn058v557f7ctlctg). It differs from the file in a field that NetBird cannot change, so it is not changed. For a new key, set reissue_after to the present time (or, on a laptop, run apply --replace setup_keys/k).
ephemeral differs
    replace setup key k: this change needs a new setup key: it is created first, then the old one is deleted
        ephemeral false → true
the DNS-label flag differs
    replace setup key k: this change needs a new setup key: it is created first, then the old one is deleted
        allow_extra_dns_labels false → true
the usage limit differs
    replace setup key k: this change needs a new setup key: it is created first, then the old one is deleted
        usage_limit 0 → 9
both differ: groups and limit
    replace setup key k: this change needs a new setup key: it is created first, then the old one is deleted
        auto_groups ["pilots"] → ["ops"]
        usage_limit 0 → 9
reusable, some of its uses spent
    nothing
never sealed
    create setup key k
    delete setup key k: its secret was never sealed and stored, so nobody can use it
emptied by hand, later
    update setup key k
        auto_groups [] → ["pilots"]
never sealed, but the file wants no groups
    create setup key k
    note: NetBird has another valid setup key with the name "k" (id daojn058v557f7ctlctg). This file does not manage it and does not change it. To use it for this entry, run apply --adopt setup_keys/k=daojn058v557f7ctlctg (in a job: the input adopt of the apply workflow).
never sealed, but used
    create setup key k
    note: NetBird has another valid setup key with the name "k" (id daojn058v557f7ctlctg). This file does not manage it and does not change it. To use it for this entry, run apply --adopt setup_keys/k=daojn058v557f7ctlctg (in a job: the input adopt of the apply workflow).
without groups, and recorded
    update setup key k
        auto_groups [] → ["pilots"]
expires within a day, and is in use
    nothing
expires within a day, and was made for a day
    nothing
somebody deleted it in NetBird
    create setup key k: was deleted in NetBird; this plan creates it again
expires within a day
    note: setup key "k" expires within a day, at 2026-10-21T15:13:20Z, and is not used yet

"#]]
        .raw()
    );
}

#[test]
fn a_key_that_is_dead_unused() {
    let live = |fields: Value| vec![over(sealed(), fields)];
    let used_up =
        json!({ "type": "reusable", "usage_limit": 2, "used_times": 2, "last_used": time(NOW) });
    let rows = [
        ("expired", outcome(pending(), live(dead("expired")))),
        ("revoked", outcome(pending(), live(dead("revoked")))),
        (
            "revoked and expired: the server says expired",
            outcome(
                pending(),
                live(over(dead("expired"), json!({ "revoked": true }))),
            ),
        ),
        (
            "a reusable one, used up",
            outcome(
                json!({ "type": "reusable", "usage_limit": 2 }),
                live(over(dead("overused"), used_up)),
            ),
        ),
        (
            "a reusable one without a limit, expired after some uses",
            outcome(
                json!({ "type": "reusable" }),
                live(over(
                    dead("expired"),
                    json!({ "type": "reusable", "usage_limit": 0, "used_times": 1 }),
                )),
            ),
        ),
        (
            "a reusable one, expired after some uses",
            outcome(
                json!({ "type": "reusable", "usage_limit": 2 }),
                live(over(
                    dead("expired"),
                    json!({ "type": "reusable", "usage_limit": 2, "used_times": 1 }),
                )),
            ),
        ),
        (
            "expired, beside a valid one made since",
            outcome(
                pending(),
                vec![over(sealed(), dead("expired")), sealed_at(MADE + 9)],
            ),
        ),
        (
            "expired, and somebody asks with --replace",
            case(pending(), live(dead("expired")))
                .replace(Kind::SetupKey, "k")
                .outcome(),
        ),
    ];
    assert_data_eq!(table(rows), str![[r#"
expired
    note: setup key "k" expired without being used (2026-09-22T14:13:20Z). For a new key, set reissue_after to the present time (or, on a laptop, run apply --replace setup_keys/k). If nobody needs a new key, delete the entry.
revoked
    note: setup key "k" was revoked without being used. For a new key, set reissue_after to the present time (or, on a laptop, run apply --replace setup_keys/k). If nobody needs a new key, delete the entry.
revoked and expired: the server says expired
    note: setup key "k" expired without being used (2026-09-22T14:13:20Z). For a new key, set reissue_after to the present time (or, on a laptop, run apply --replace setup_keys/k). If nobody needs a new key, delete the entry.
a reusable one, used up
    note: setup key "k" is used up. For a new key, set reissue_after to the present time (or, on a laptop, run apply --replace setup_keys/k). If nobody needs a new key, set "enrolled": true.
a reusable one without a limit, expired after some uses
    note: setup key "k" expired (2026-09-22T14:13:20Z). For a new key, set reissue_after to the present time (or, on a laptop, run apply --replace setup_keys/k). If nobody needs a new key, delete the entry.
a reusable one, expired after some uses
    note: setup key "k" expired (2026-09-22T14:13:20Z). For a new key, set reissue_after to the present time (or, on a laptop, run apply --replace setup_keys/k). If nobody needs a new key, set "enrolled": true.
expired, beside a valid one made since
    nothing
expired, and somebody asks with --replace
    create setup key k: --replace names it

"#]].raw());
}

#[test]
fn a_key_that_was_used() {
    let used = |second: i64| over(sealed_at(second), used_at(second + 100));
    let with_peer = |mut case: Case, name: &str| {
        case.snapshot.list_mut(Kind::Peer).push(peer(name).into());
        case.snapshot.rest.events = Some(vec![enrolled("k", name).into()]);
        case
    };
    // the peer `k` came by a key that does not exist any more
    let came = |ours: &mut Ours| {
        let id = Id::from(id(Kind::Peer, "k").as_str());
        let by = Evidence::Event;
        let machines = vec![Machine { id, by }];
        let inventory = std::sync::Arc::make_mut(&mut ours.inventory);
        inventory.enrolled.insert("k".into(), machines);
    };
    let deleted = |declared: Value, keys: Vec<Value>| {
        let mut case = case(declared, keys).ours(came);
        case.snapshot.list_mut(Kind::Peer).push(peer("k").into());
        case
    };
    // `old` came by a key of `MADE` in that second, and `k` by a newer one
    let two_of = |asked: i64, came: i64| {
        let old = over(sealed(), used_at(came));
        let keys = vec![old, over(sealed_at(MADE + 800), used_at(MADE + 900))];
        let mut case = case(json!({ "reissue_after": time(asked) }), keys);
        for (name, second) in [("old", came), ("k", MADE + 900)] {
            let peer = over(peer(name), json!({ "created_at": time(second) }));
            case.snapshot.list_mut(Kind::Peer).push(peer.into());
        }
        case
    };
    let two = |asked: i64, came: i64| two_of(asked, came).outcome();
    let rows = [
        (
            "its peer enrolled under its name",
            with_peer(case(pending(), vec![used(MADE)]), "k").outcome(),
        ),
        (
            "its peer enrolled under another",
            with_peer(case(pending(), vec![used(MADE)]), "ip-10-0-0-9").outcome(),
        ),
        ("its peer is gone", outcome(pending(), vec![used(MADE)])),
        (
            "somebody deleted the key",
            deleted(pending(), vec![]).outcome(),
        ),
        ("the same, and its peer has another name", {
            let mut case = deleted(pending(), vec![]);
            let peers = case.snapshot.list_mut(Kind::Peer);
            peers[0] = over(peer("k"), json!({ "name": "jump" })).into();
            case.outcome()
        }),
        (
            "the same, before a run recorded who came by it",
            with_peer(
                case(pending(), vec![]).ours(recorded).ours(was),
                "ip-10-0-0-9",
            )
            .outcome(),
        ),
        (
            "the same, and another machine is asked for",
            deleted(json!({ "reissue_after": time(MADE + 200) }), vec![]).outcome(),
        ),
        (
            "the same, and an older key was used",
            deleted(pending(), vec![used(MADE - 500)]).outcome(),
        ),
        (
            "the same, and a newer one was used",
            deleted(pending(), vec![used(MADE + 500)]).outcome(),
        ),
        (
            "the same, and the entry is for many by now",
            deleted(json!({ "type": "reusable" }), vec![]).outcome(),
        ),
        (
            "the same, and a newer one waits",
            deleted(pending(), vec![sealed_at(MADE + 500)]).outcome(),
        ),
        (
            "the same, and the peer is gone",
            case(pending(), vec![]).ours(came).outcome(),
        ),
        (
            "two machines came, the older one after another was asked for",
            two(MADE + 100, MADE + 700),
        ),
        (
            "the same, and both are recorded",
            two_of(MADE + 100, MADE + 700)
                .ours(|ours| {
                    let machine = |name: &str| Machine {
                        id: id(Kind::Peer, name).as_str().into(),
                        by: Evidence::Event,
                    };
                    let machines = vec![machine("old"), machine("k")];
                    let inventory = std::sync::Arc::make_mut(&mut ours.inventory);
                    inventory.enrolled.insert("k".into(), machines);
                })
                .outcome(),
        ),
        (
            "the same, in the second in which its key was made",
            two(MADE, MADE + 700),
        ),
        (
            "two machines came, and the older one not before another was asked for",
            two(MADE - 100, MADE + 700),
        ),
        (
            "an older life was used, a valid one made since",
            outcome(pending(), vec![used(MADE), sealed_at(MADE + 500)]),
        ),
        (
            "used, beside an older valid one",
            outcome(pending(), vec![sealed_at(MADE - 500), used(MADE)]),
        ),
        (
            "used, and expired since",
            outcome(pending(), vec![over(used(MADE), dead("expired"))]),
        ),
        (
            "marked: used",
            outcome(json!({ "enrolled": true }), vec![used(MADE)]),
        ),
        ("marked: gone", outcome(json!({ "enrolled": true }), vec![])),
        (
            "marked: expired",
            outcome(
                json!({ "enrolled": true }),
                vec![over(sealed(), dead("expired"))],
            ),
        ),
        (
            "marked: valid and unused, by hand",
            outcome(json!({ "enrolled": true }), vec![by_hand(sealed())]),
        ),
        (
            "marked: valid and unused, --prune all",
            case(json!({ "enrolled": true }), vec![sealed()])
                .prune_all()
                .outcome(),
        ),
        (
            "marked: --replace",
            case(json!({ "enrolled": true }), vec![])
                .replace(Kind::SetupKey, "k")
                .outcome(),
        ),
        (
            "ephemeral and used: not an enrollment",
            with_peer(
                case(
                    json!({ "ephemeral": true }),
                    vec![over(used(MADE), json!({ "ephemeral": true }))],
                ),
                "other",
            )
            .outcome(),
        ),
    ];
    assert_data_eq!(table(rows), str![[r#"
its peer enrolled under its name
    update group pilots
        peers [] → ["k"]
its peer enrolled under another
    update group pilots
        peers [] → ["ip-10-0-0-9"]
    rename peer k: enrolled with this key
        name "ip-10-0-0-9" → "k"
        dns_label "ip-10-0-0-9" → "k"
its peer is gone
    note: setup key "k" was used, but no peer is known to have enrolled with it: the peer was deleted, or the event log does not have it any more; nothing is done
somebody deleted the key
    update group pilots
        peers [] → ["k"]
    note: setup key "k" was used by the peer "k" (daojn06d1ku89ei3g730), and somebody deleted the key in NetBird. The key is not created again. To enroll another machine, set reissue_after to the present time.
the same, and its peer has another name
    update group pilots
        peers [] → ["jump"]
    note: setup key "k" was used by the peer "jump" (daojn06d1ku89ei3g730), and somebody deleted the key in NetBird. The key is not created again. To enroll another machine, set reissue_after to the present time.
the same, before a run recorded who came by it
    update group pilots
        peers [] → ["ip-10-0-0-9"]
    rename peer k: enrolled with this key
        name "ip-10-0-0-9" → "k"
        dns_label "ip-10-0-0-9" → "k"
the same, and another machine is asked for
    create setup key k
    note: setup key "k" is replaced for another machine. When the new machine has enrolled, a plan deletes the peer "k" (daojn06d1ku89ei3g730) of the old machine. That deletion needs an agreement.
the same, and an older key was used
    update group pilots
        peers [] → ["k"]
    note: setup key "k" was used by the peer "k" (daojn06d1ku89ei3g730), and somebody deleted the key in NetBird. The key is not created again. To enroll another machine, set reissue_after to the present time.
the same, and a newer one was used
    note: setup key "k" was used, but no peer is known to have enrolled with it: the peer was deleted, or the event log does not have it any more; nothing is done
the same, and the entry is for many by now
    create setup key k
the same, and a newer one waits
    note: setup key "k" waits for another machine. The peer "k" (daojn06d1ku89ei3g730), which used an older key of this name, keeps the name and leaves the groups that list it when that machine enrolls. To replace the old machine, set reissue_after to a time between the creation of the two keys.
the same, and the peer is gone
    create setup key k
two machines came, the older one after another was asked for
    update group pilots
        peers [] → ["k"]
    delete peer old: enrolled with an older setup key "k", and replaced by the peer "k" (daojn06d1ku89ei3g730); only the times of key and peer say so, not the event log
    note: setup key "k" was used by the peer "k" (daojn06d1ku89ei3g730): only the times of key and peer say so, not the event log
the same, and both are recorded
    update group pilots
        peers [] → ["k"]
    delete peer old: enrolled with an older setup key "k", and replaced by the peer "k" (daojn06d1ku89ei3g730); only the times of key and peer say so, not the event log
    note: setup key "k" was used by the peer "k" (daojn06d1ku89ei3g730): only the times of key and peer say so, not the event log
the same, in the second in which its key was made
    update group pilots
        peers [] → ["k"]
    note: setup key "k" was used by the peer "k" (daojn06d1ku89ei3g730): only the times of key and peer say so, not the event log
    note: setup key "k" was used by the peer "k" (daojn06d1ku89ei3g730). The peer "old" (daojn04rto9f5ia6qid0), which used an older key of this name, is not deleted, because its key was created after reissue_after.
two machines came, and the older one not before another was asked for
    update group pilots
        peers [] → ["k"]
    note: setup key "k" was used by the peer "k" (daojn06d1ku89ei3g730): only the times of key and peer say so, not the event log
    note: setup key "k" was used by the peer "k" (daojn06d1ku89ei3g730). The peer "old" (daojn04rto9f5ia6qid0), which used an older key of this name, is not deleted, because its key was created after reissue_after.
an older life was used, a valid one made since
    nothing
used, beside an older valid one
    delete setup key k [made -500 s]: a second key of this entry, created by another run of this file
    note: setup key "k" was used, but no peer is known to have enrolled with it: the peer was deleted, or the event log does not have it any more; nothing is done
used, and expired since
    note: setup key "k" was used, but no peer is known to have enrolled with it: the peer was deleted, or the event log does not have it any more; nothing is done
marked: used
    nothing
marked: gone
    nothing
marked: expired
    nothing
marked: valid and unused, by hand
    note: setup key "k" is marked enrolled, and NetBird has a valid, unused key with its name (id daojn058v557f7ctlctg). The key is not deleted. If nobody needs it, delete it in NetBird.
marked: valid and unused, --prune all
    delete setup key k: its entry is marked enrolled, so nobody needs this unused key
marked: --replace
    note: setup key "k" is marked enrolled, so --replace has no effect. For a new key, set "enrolled": false and reissue_after to the present time.
ephemeral and used: not an enrollment
    nothing

"#]].raw());
}
