//! Keys that are asked for anew, and keys with valid namesakes.

use std::sync::Arc;

use serde_json::{Value, json};
use snapbox::{IntoData, assert_data_eq, str};

use super::{case, dead, never_sealed_at, outcome, pending, sealed, sealed_at};
use crate::model::Kind;
use crate::testing::{Case, MADE, NOW, enrolled, group, over, peer, table, time, used_at};

#[test]
fn a_key_that_is_asked_for_anew() {
    let after = |second: i64| json!({ "reissue_after": time(second) });
    let old_numeric = |second: i64| {
        over(
            sealed(),
            json!({ "id": "1802457731", "updated_at": time(second) }),
        )
    };
    let timeless = |key: Value| {
        let event = over(enrolled("k", "k"), json!({ "initiator_id": key["id"] }));
        let used = over(
            key,
            json!({ "used_times": 1, "last_used": time(MADE), "valid": false, "state": "overused" }),
        );
        let mut case = case(after(MADE + 500), vec![used]);
        let peer = over(peer("k"), json!({ "created_at": null }));
        case.snapshot.list_mut(Kind::Peer).push(peer.into());
        case.snapshot.rest.events = Some(vec![event.into()]);
        case.outcome()
    };
    let asked = |second: i64, keys: Vec<Value>| {
        let case = case(after(second), keys).replace(Kind::SetupKey, "k");
        case.outcome()
    };
    let rows = [
        (
            "reissue_after, older key",
            outcome(after(MADE + 1), vec![sealed()]),
        ),
        (
            "reissue_after, made in that very second",
            outcome(after(MADE), vec![sealed()]),
        ),
        ("reissue_after, no key at all", outcome(after(MADE), vec![])),
        (
            "reissue_after in the future",
            outcome(after(NOW + 1), vec![sealed()]),
        ),
        (
            "reissue_after in the future, no key",
            outcome(after(NOW + 1), vec![]),
        ),
        (
            "reissue_after, older key used",
            outcome(after(MADE + 500), vec![over(sealed(), used_at(MADE + 9))]),
        ),
        (
            "reissue_after, older key expired",
            outcome(after(MADE + 500), vec![over(sealed(), dead("expired"))]),
        ),
        (
            "reissue_after, older and newer",
            outcome(after(MADE + 500), vec![sealed(), sealed_at(MADE + 600)]),
        ),
        (
            "reissue_after, two older",
            outcome(after(MADE + 500), vec![sealed(), sealed_at(MADE + 9)]),
        ),
        (
            "reissue_after, the newer one was never sealed",
            outcome(
                after(MADE + 500),
                vec![sealed(), never_sealed_at(MADE + 600)],
            ),
        ),
        (
            "reissue_after, the newer one was used",
            outcome(
                after(MADE + 500),
                vec![over(sealed_at(MADE + 600), used_at(MADE + 700))],
            ),
        ),
        (
            "reissue_after, the id tells nothing, changed before",
            outcome(after(MADE + 500), vec![old_numeric(MADE)]),
        ),
        (
            "reissue_after, the id tells nothing, changed after",
            outcome(after(MADE + 500), vec![old_numeric(MADE + 501)]),
        ),
        (
            "the same, used, by a machine of which the server tells no time",
            timeless(old_numeric(MADE)),
        ),
        (
            "--replace, valid",
            case(pending(), vec![sealed()])
                .replace(Kind::SetupKey, "k")
                .outcome(),
        ),
        (
            "--replace, two valid",
            case(pending(), vec![sealed(), sealed_at(MADE + 9)])
                .replace(Kind::SetupKey, "k")
                .outcome(),
        ),
        (
            "--replace and reissue_after, older and newer",
            asked(MADE + 500, vec![sealed(), sealed_at(MADE + 600)]),
        ),
        (
            "--replace and reissue_after, older",
            asked(MADE + 500, vec![sealed()]),
        ),
        (
            "--replace, used",
            case(pending(), vec![over(sealed(), used_at(MADE + 9))])
                .replace(Kind::SetupKey, "k")
                .outcome(),
        ),
        (
            "--replace, none",
            case(pending(), vec![])
                .replace(Kind::SetupKey, "k")
                .outcome(),
        ),
        (
            "--replace of a name that is not declared",
            case(pending(), vec![sealed()])
                .replace(Kind::SetupKey, "kk")
                .outcome(),
        ),
    ];
    assert_data_eq!(table(rows), str![[r#"
reissue_after, older key
    replace setup key k: reissue_after 2026-09-21T14:13:21Z
reissue_after, made in that very second
    nothing
reissue_after, no key at all
    create setup key k
reissue_after in the future
    note: setup key "k" has a reissue_after in the future (2026-10-21T14:13:21Z): no new key is created before that time
reissue_after in the future, no key
    create setup key k
    note: setup key "k" has a reissue_after in the future (2026-10-21T14:13:21Z): no new key is created before that time
reissue_after, older key used
    create setup key k: reissue_after 2026-09-21T14:21:40Z
reissue_after, older key expired
    create setup key k: reissue_after 2026-09-21T14:21:40Z
reissue_after, older and newer
    delete setup key k: created before reissue_after
reissue_after, two older
    replace setup key k [made +9 s]: reissue_after 2026-09-21T14:21:40Z
    delete setup key k: created before reissue_after
reissue_after, the newer one was never sealed
    replace setup key k: reissue_after 2026-09-21T14:21:40Z
    delete setup key k [made +600 s]: its secret was never sealed and stored, so nobody can use it
reissue_after, the newer one was used
    note: setup key "k" was used, but no peer is known to have enrolled with it: the peer was deleted, or the event log does not have it any more; nothing is done
reissue_after, the id tells nothing, changed before
    replace setup key k: reissue_after 2026-09-21T14:21:40Z
reissue_after, the id tells nothing, changed after
    nothing
the same, used, by a machine of which the server tells no time
    create setup key k: reissue_after 2026-09-21T14:21:40Z
    note: setup key "k" is replaced for another machine. When the new machine has enrolled, a plan deletes the peer "k" (daojn06d1ku89ei3g730) of the old machine. That deletion needs an agreement.
--replace, valid
    replace setup key k: --replace names it
--replace, two valid
    replace setup key k [made +9 s]: --replace names it
    delete setup key k: replaced by --replace
--replace and reissue_after, older and newer
    replace setup key k [made +600 s]: --replace names it
    delete setup key k: created before reissue_after
--replace and reissue_after, older
    replace setup key k: --replace names it
--replace, used
    create setup key k: --replace names it
--replace, none
    create setup key k: --replace names it
--replace of a name that is not declared
    impossible: setup key kk is named by --replace, but the file does not have it

"#]].raw());
}

#[test]
fn a_key_with_valid_namesakes() {
    let other = over(sealed_at(MADE + 9), json!({ "auto_groups": [] }));
    let rows = [
        ("two valid, equal", outcome(pending(), vec![sealed(), sealed_at(MADE + 9)])),
        ("two valid, equal, --prune all", case(pending(), vec![sealed(), sealed_at(MADE + 9)]).prune_all().outcome()),
        ("two valid, one differs, --prune all", case(pending(), vec![sealed(), other]).prune_all().outcome()),
        ("two valid, the second of another type", outcome(pending(), vec![sealed(), over(sealed_at(MADE + 9), json!({ "type": "reusable", "usage_limit": 0 }))])),
        ("two valid, the second was adopted", case(pending(), vec![sealed(), sealed_at(MADE + 9)]).ours(|ours| {
            let inventory = Arc::make_mut(&mut ours.inventory);
            let ids = inventory.created.get_mut("setup_keys/k").expect("the ids of the keys");
            let second = ids.split_off(1);
            inventory.adopted.insert("setup_keys/k".into(), second);
        }).outcome()),
        ("never sealed beside a good one", outcome(pending(), vec![sealed(), never_sealed_at(MADE + 9)])),
        ("never sealed before a good one", outcome(pending(), vec![never_sealed_at(MADE - 9), sealed()])),
        ("two never sealed", outcome(pending(), vec![never_sealed_at(MADE), never_sealed_at(MADE + 9)])),
        ("two never sealed beside a good one", outcome(
            pending(), vec![never_sealed_at(MADE - 9), sealed(), never_sealed_at(MADE + 9)])),
        ("never sealed beside an expired one", outcome(
            pending(), vec![over(sealed(), dead("expired")), never_sealed_at(MADE + 9)])),
        ("never sealed after a used one", outcome(
            pending(), vec![over(sealed(), used_at(MADE + 9)), never_sealed_at(MADE + 100)])),
        ("not declared", Case::new(json!({ "setup_keys": {}, "groups": { "pilots": {} } }),
            json!({ "groups": [group("pilots", &[])], "setup_keys": [sealed(), over(sealed_at(MADE + 9), dead("expired"))] })).outcome()),
    ];
    assert_data_eq!(table(rows), str![[r#"
two valid, equal
    delete setup key k [made +9 s]: a second key of this entry, created by another run of this file
two valid, equal, --prune all
    delete setup key k [made +9 s]: a second key of this entry, created by another run of this file
two valid, one differs, --prune all
    delete setup key k [made +9 s]: a second key of this entry, created by another run of this file
two valid, the second of another type
    delete setup key k [made +9 s]: a run that did not end replaced it by a newer key
two valid, the second was adopted
    note: NetBird has another valid setup key with the name "k" (id daojn2d8v557f7ctlctg). It stays as it is.
never sealed beside a good one
    delete setup key k [made +9 s]: its secret was never sealed and stored, so nobody can use it
never sealed before a good one
    delete setup key k [made -9 s]: its secret was never sealed and stored, so nobody can use it
two never sealed
    create setup key k
    delete setup key k: its secret was never sealed and stored, so nobody can use it
    delete setup key k [made +9 s]: its secret was never sealed and stored, so nobody can use it
two never sealed beside a good one
    delete setup key k [made -9 s]: its secret was never sealed and stored, so nobody can use it
    delete setup key k [made +9 s]: its secret was never sealed and stored, so nobody can use it
never sealed beside an expired one
    delete setup key k [made +9 s]: its secret was never sealed and stored, so nobody can use it
    note: setup key "k" expired without being used (2026-09-22T14:13:20Z). For a new key, set reissue_after to the present time (or, on a laptop, run apply --replace setup_keys/k). If nobody needs a new key, delete the entry.
never sealed after a used one
    delete setup key k [made +100 s]: its secret was never sealed and stored, so nobody can use it
    note: setup key "k" was used, but no peer is known to have enrolled with it: the peer was deleted, or the event log does not have it any more; nothing is done
not declared
    unmanaged: setup key k

"#]].raw());
}

/// Somebody revoked the replacement of a key before a machine used it: no run makes a third key, but where the revoked one was not
/// as the file says either.
#[test]
fn a_key_whose_replacement_was_revoked() {
    let many = || json!({ "type": "reusable", "usage_limit": 0 });
    let ended = |second: i64, state: &str| {
        let revoked = state == "revoked";
        over(
            sealed_at(second),
            json!({ "valid": false, "state": state, "revoked": revoked }),
        )
    };
    let used = over(sealed(), used_at(MADE + 2));
    let labels = json!({ "allow_extra_dns_labels": true });
    let after = || json!({ "reissue_after": time(MADE + 5) });
    let rows = [
        (
            "of another type",
            outcome(
                pending(),
                vec![over(sealed(), many()), ended(MADE + 9, "revoked")],
            ),
        ),
        (
            "the same, and the revoked one is of that type, too",
            outcome(
                pending(),
                vec![
                    over(sealed(), many()),
                    over(ended(MADE + 9, "revoked"), many()),
                ],
            ),
        ),
        (
            "equal",
            outcome(pending(), vec![sealed(), ended(MADE + 9, "revoked")]),
        ),
        (
            "used",
            outcome(
                labels.clone(),
                vec![used, over(ended(MADE + 9, "revoked"), labels)],
            ),
        ),
        (
            "older than the file asks for",
            outcome(after(), vec![sealed(), ended(MADE + 9, "revoked")]),
        ),
        (
            "the same, and the newer one is of another type, too",
            outcome(
                after(),
                vec![sealed(), over(ended(MADE + 9, "revoked"), many())],
            ),
        ),
        (
            "the same, and the newer one expired",
            outcome(after(), vec![sealed(), ended(MADE + 9, "expired")]),
        ),
        (
            "the same, and the newer one was used, and revoked then",
            outcome(
                after(),
                vec![
                    over(sealed(), many()),
                    over(
                        over(ended(MADE + 9, "revoked"), many()),
                        json!({ "used_times": 1 }),
                    ),
                ],
            ),
        ),
        (
            "older than the file asks for, and a good one was made, too",
            outcome(
                after(),
                vec![sealed(), sealed_at(MADE + 9), ended(MADE + 20, "revoked")],
            ),
        ),
    ];
    assert_data_eq!(table(rows), str![[r#"
of another type
    note: setup key "k" got a new key (id daojn2d8v557f7ctlctg), but somebody revoked it in NetBird before a machine used it. The older key (id daojn058v557f7ctlctg) is not deleted. For a new key, set reissue_after to the present time (or, on a laptop, run apply --replace setup_keys/k).
the same, and the revoked one is of that type, too
    replace setup key k: this change needs a new setup key: it is created first, then the old one is deleted
        type "reusable" → "one-off"
        usage_limit 0 → 1
equal
    nothing
used
    note: setup key "k" was used, but no peer is known to have enrolled with it: the peer was deleted, or the event log does not have it any more; nothing is done
older than the file asks for
    note: setup key "k" got a new key (id daojn2d8v557f7ctlctg), but somebody revoked it in NetBird before a machine used it. The older key (id daojn058v557f7ctlctg) is not deleted. For a new key, set reissue_after to the present time (or, on a laptop, run apply --replace setup_keys/k).
the same, and the newer one is of another type, too
    note: setup key "k" got a new key (id daojn2d8v557f7ctlctg), but somebody revoked it in NetBird before a machine used it. The older key (id daojn058v557f7ctlctg) is not deleted. For a new key, set reissue_after to the present time (or, on a laptop, run apply --replace setup_keys/k).
the same, and the newer one expired
    note: NetBird has another valid setup key with the name "k" (id daojn058v557f7ctlctg). Created before reissue_after, it was not replaced, since the newer key cannot be used any more. If nobody needs it, delete it in NetBird.
    note: setup key "k" expired without being used (2026-11-20T14:13:29Z). For a new key, set reissue_after to the present time (or, on a laptop, run apply --replace setup_keys/k). If nobody needs a new key, delete the entry.
the same, and the newer one was used, and revoked then
    note: NetBird has another valid setup key with the name "k" (id daojn058v557f7ctlctg). Created before reissue_after, it was not replaced, since the newer key cannot be used any more. If nobody needs it, delete it in NetBird.
    note: setup key "k" was revoked. For a new key, set reissue_after to the present time (or, on a laptop, run apply --replace setup_keys/k). If nobody needs a new key, set "enrolled": true.
older than the file asks for, and a good one was made, too
    delete setup key k: created before reissue_after

"#]].raw());
}

/// A declared key waits for its machine while nobody used it and the plan keeps it.
#[test]
fn keys_that_wait() {
    let many = json!({ "type": "reusable", "usage_limit": 0 });
    let waits =
        |declared: Value, key: Value| case(declared, vec![key]).possible().waiting_keys.len();
    assert_eq!(waits(pending(), sealed()), 1);
    assert_eq!(waits(json!({ "auto_groups": ["ops"] }), sealed()), 1);
    assert_eq!(
        waits(pending(), over(sealed(), many.clone())),
        0,
        "it is replaced"
    );
    let used = over(over(sealed(), many), json!({ "used_times": 1 }));
    assert_eq!(waits(json!({ "type": "reusable" }), used), 0);
}
