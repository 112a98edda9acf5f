//! Keys of an entry's name that somebody else made: the history tells whose a key is, not its name.

use serde_json::{Value, json};
use snapbox::{IntoData, assert_data_eq, str};

use super::never_sealed_at;
use crate::testing::{Case, MADE, group, key_at, over, peer, table, time, used_at};

/// Declared since a minute before [`MADE`]: what was made at [`MADE`] or later is ours by its time.
const DECLARED: i64 = MADE - 60;
/// Long before the file spoke of the key.
const BEFORE: i64 = MADE - 86_400;

fn file(key: Value) -> Value {
    let base = json!({ "type": "one-off", "expires_in": 5_184_000, "auto_groups": ["pilots"] });
    json!({ "groups": { "pilots": {} }, "setup_keys": { "k": over(base, key) } })
}

/// The declared key against these live ones of its name; each of `used` was used by a peer of that name.
fn outcome(declared: Value, keys: Vec<Value>, used: &[(&str, i64)]) -> String {
    let file = file(declared);
    let live = json!({ "groups": [group("pilots", &[])], "setup_keys": keys });
    let mut case = Case::new(file.clone(), live).history(&[
        (BEFORE - 86_400, json!({ "setup_keys": {} })),
        (DECLARED, file),
    ]);
    let enrolled = used
        .iter()
        .map(|(name, second)| over(peer(name), json!({ "created_at": time(*second) })));
    case.snapshot.peers = enrolled.map(Into::into).collect();
    case.outcome()
}

fn sealed_at(second: i64) -> Value {
    key_at("k", &["pilots"], second)
}

/// Made by hand, and grants nothing.
fn by_hand(second: i64) -> Value {
    key_at("k", &[], second)
}

#[test]
fn a_key_that_somebody_else_made() {
    let pending = || json!({});
    let used = |key: Value, second: i64| over(key, used_at(second));
    let without_groups = json!({ "auto_groups": [] });
    let rows = [
        (
            "spent before the file spoke of it",
            outcome(
                pending(),
                vec![used(sealed_at(BEFORE), BEFORE + 9)],
                &[("x", BEFORE + 9)],
            ),
        ),
        (
            "waiting when the file spoke of it, and used since",
            outcome(
                pending(),
                vec![used(sealed_at(BEFORE), MADE + 9)],
                &[("x", MADE + 9)],
            ),
        ),
        (
            "unused and without groups, from before",
            outcome(pending(), vec![never_sealed_at(BEFORE)], &[]),
        ),
        (
            "the same where the file wants no groups",
            outcome(without_groups.clone(), vec![never_sealed_at(BEFORE)], &[]),
        ),
        (
            "the same, which lasts otherwise than the file says",
            outcome(
                without_groups.clone(),
                vec![over(
                    never_sealed_at(BEFORE),
                    json!({ "expires": time(BEFORE + 9 * 5_184_000) }),
                )],
                &[],
            ),
        ),
        (
            "ours without groups, never changed",
            outcome(without_groups, vec![never_sealed_at(MADE)], &[]),
        ),
        (
            "with groups from the start, and never changed",
            outcome(
                pending(),
                vec![over(
                    sealed_at(MADE),
                    json!({ "updated_at": time(MADE + 1) }),
                )],
                &[],
            ),
        ),
        (
            "valid, from before, beside ours",
            outcome(pending(), vec![sealed_at(BEFORE), sealed_at(MADE)], &[]),
        ),
        (
            "used, grants nothing, and newer than ours, which was used too",
            outcome(
                pending(),
                vec![
                    used(sealed_at(MADE), MADE + 100),
                    used(by_hand(MADE + 500), MADE + 600),
                ],
                &[("ours", MADE + 100), ("theirs", MADE + 600)],
            ),
        ),
        (
            "used, from before, beside ours, which was used before it",
            outcome(
                pending(),
                vec![
                    used(sealed_at(BEFORE), MADE + 600),
                    used(sealed_at(MADE), MADE + 100),
                ],
                &[("ours", MADE + 100), ("theirs", MADE + 600)],
            ),
        ),
        (
            "two of ours were used, and are as the file says",
            outcome(
                pending(),
                vec![
                    used(sealed_at(MADE), MADE + 100),
                    used(sealed_at(MADE + 500), MADE + 600),
                ],
                &[("one", MADE + 100), ("other", MADE + 600)],
            ),
        ),
        (
            "one of them has no peer any more",
            outcome(
                pending(),
                vec![
                    used(sealed_at(MADE), MADE + 100),
                    used(sealed_at(MADE + 500), MADE + 600),
                ],
                &[("other", MADE + 600)],
            ),
        ),
        (
            "expired before the file spoke of it",
            outcome(
                pending(),
                vec![over(
                    sealed_at(BEFORE),
                    json!({ "valid": false, "state": "expired", "expires": time(BEFORE + 9) }),
                )],
                &[],
            ),
        ),
    ];
    assert_data_eq!(table(rows), str![[r#"
spent before the file spoke of it
    create setup key k
    note: setup key "k" is the name of a used key in NetBird, too (danuk058v557f7ctlctg), which is not provably this file's: neither that key nor its peer is taken for this entry's
waiting when the file spoke of it, and used since
    update group pilots
        peers [] → ["x"]
    rename peer k: enrolled with this key; told by the times of key and peer, not by an event
        name "x" → "k"
        dns_label "x" → "k"
    note: setup key "k" lives in NetBird already: the file takes it over, whose secret was never sealed here
unused and without groups, from before
    create setup key k
    note: setup key "k" is the name of another valid key in NetBird, too (danuk058v557f7ctlctg), which is not provably this file's: left alone; delete it there if nobody needs it
the same where the file wants no groups
    note: setup key "k" lives in NetBird already: the file takes it over, whose secret was never sealed here
the same, which lasts otherwise than the file says
    note: setup key "k" lives in NetBird already: the file takes it over, whose secret was never sealed here
ours without groups, never changed
    replace setup key k: never sealed: nobody holds its secret
with groups from the start, and never changed
    nothing
valid, from before, beside ours
    note: setup key "k" is the name of another valid key in NetBird, too (danuk058v557f7ctlctg), which is not provably this file's: left alone; delete it there if nobody needs it
used, grants nothing, and newer than ours, which was used too
    update group pilots
        peers [] → ["ours"]
    rename peer k: enrolled with this key; told by the times of key and peer, not by an event
        name "ours" → "k"
        dns_label "ours" → "k"
used, from before, beside ours, which was used before it
    update group pilots
        peers [] → ["ours"]
    rename peer k: enrolled with this key; told by the times of key and peer, not by an event
        name "ours" → "k"
        dns_label "ours" → "k"
two of ours were used, and are as the file says
    note: setup key "k" was used, and which of the keys of that name is this entry's cannot be told (daojn058v557f7ctlctg, daojqt58v557f7ctlctg): delete the others in NetBird, or ask for a new one with reissue_after; left alone
one of them has no peer any more
    update group pilots
        peers [] → ["other"]
    rename peer k: enrolled with this key; told by the times of key and peer, not by an event
        name "other" → "k"
        dns_label "other" → "k"
expired before the file spoke of it
    create setup key k

"#]].raw());
}

#[test]
fn what_the_file_does_not_say_is_taken_from_the_old_key() {
    let live = json!({ "type": "reusable", "usage_limit": 7, "ephemeral": true, "allow_extra_dns_labels": true });
    let bare = |fields: Value| over(json!({ "type": "reusable", "expires_in": 0 }), fields);
    let case = |declared: Value, live: Value| {
        let file = json!({ "groups": {}, "setup_keys": { "k": declared } });
        let lists = json!({ "groups": [group("pilots", &[])], "setup_keys": [over(sealed_at(MADE), live)] });
        let case = Case::new(file, lists).replace(crate::kind::Kind::SetupKey, "k");
        let plan = case.possible();
        let after = plan.changes[0].operation.after().expect("a new key");
        serde_json::Value::Object(after.fields())
    };
    let kept = case(bare(json!({})), live.clone());
    for (field, wanted) in [
        ("usage_limit", json!(7)),
        ("ephemeral", json!(true)),
        ("allow_extra_dns_labels", json!(true)),
        ("auto_groups", json!(["pilots"])),
    ] {
        assert_eq!(kept[field], wanted, "{field}");
    }
    // what the file says counts, and a limit of the other type means something else
    assert_eq!(
        case(bare(json!({ "ephemeral": false })), live.clone())["ephemeral"],
        false
    );
    assert_eq!(
        case(bare(json!({})), json!({ "usage_limit": 1 }))["usage_limit"],
        0
    );
    // also from one that is dead
    let dead = over(
        live,
        json!({ "valid": false, "state": "revoked", "revoked": true }),
    );
    assert_eq!(case(bare(json!({})), dead)["usage_limit"], 7);
}
