//! Keys that are asked for anew, and keys with valid namesakes.

use serde_json::json;
use snapbox::{IntoData, assert_data_eq, str};

use super::{case, dead, never_sealed_at, outcome, pending, sealed, sealed_at};
use crate::model::Kind;
use crate::testing::{Case, MADE, NOW, group, over, table, time, used_at};

#[test]
fn a_key_that_is_asked_for_anew() {
    let after = |second: i64| json!({ "reissue_after": time(second) });
    let old_numeric = |second: i64| {
        over(
            sealed(),
            json!({ "id": "1802457731", "updated_at": time(second) }),
        )
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
--replace, valid
    replace setup key k: --replace names it
--replace, two valid
    replace setup key k [made +9 s]: --replace names it
    delete setup key k: replaced by --replace
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
