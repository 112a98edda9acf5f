//! Keys of an entry's name that somebody else made: the inventory tells whose a key is, not its name.

use std::sync::Arc;

use serde_json::{Value, json};
use snapbox::{IntoData, assert_data_eq, str};

use super::{by_hand, case, pending, sealed, sealed_at, unrecorded};
use crate::model::{Address, Kind};
use crate::plan::Standing;
use crate::testing::{
    Case, LIFE, MADE, desired, enrolled as came_by, group, over, peer, table, time, used_at,
};

/// The same, and what the plan says of a key that a machine of that name used in that second.
fn used_by(mut case: Case, name: &str, second: i64) -> Case {
    let peer = over(peer(name), json!({ "created_at": time(second) }));
    case.snapshot.list_mut(Kind::Peer).push(peer.into());
    case
}

/// There is no inventory yet.
fn first(case: Case) -> Case {
    case.ours(|ours| {
        ours.standing = Standing::First;
        Arc::make_mut(&mut ours.inventory).created.clear();
    })
}

#[test]
fn a_key_that_somebody_else_made_stays() {
    let reusable = |key: Value| over(key, json!({ "type": "reusable", "usage_limit": 0 }));
    let rows = [
        (
            "the only one of its name",
            case(pending(), vec![by_hand(sealed())]),
        ),
        (
            "beside ours",
            case(pending(), vec![by_hand(sealed_at(MADE - 9)), sealed()]),
        ),
        (
            "reusable, with two machines, beside ours",
            case(
                json!({ "type": "reusable" }),
                vec![
                    by_hand(over(
                        reusable(sealed_at(MADE - 9)),
                        json!({ "used_times": 2 }),
                    )),
                    reusable(sealed()),
                ],
            ),
        ),
        (
            "used, beside ours",
            case(
                pending(),
                vec![by_hand(over(sealed_at(MADE - 9), used_at(MADE))), sealed()],
            ),
        ),
        (
            "without groups, beside ours",
            case(
                pending(),
                vec![
                    by_hand(over(sealed_at(MADE + 9), json!({ "auto_groups": [] }))),
                    sealed(),
                ],
            ),
        ),
        (
            "with --prune all",
            case(pending(), vec![by_hand(sealed_at(MADE - 9)), sealed()]).prune_all(),
        ),
        ("of another environment, with --prune all", {
            let other = by_hand(sealed_at(MADE - 9));
            let id = crate::base::id::Id::from(other["id"].as_str().expect("an id"));
            let case = case(pending(), vec![other, sealed()]).prune_all();
            case.ours(|ours| {
                ours.strange.insert(id, "lab.json".into());
            })
        }),
        (
            "a second one, and no inventory tells whose they are",
            case(pending(), vec![sealed(), sealed_at(MADE + 9)])
                .ours(|ours| ours.standing = Standing::Unknown),
        ),
    ];
    let rows = rows.map(|(what, case)| (what, case.outcome()));
    assert_data_eq!(table(rows), str![[r#"
the only one of its name
    create setup key k
    note: NetBird has another valid setup key with the name "k" (id daojn058v557f7ctlctg). This file does not manage it and does not change it. To use it for this entry, run apply --adopt setup_keys/k=daojn058v557f7ctlctg (in a job: the input adopt of the apply workflow).
beside ours
    note: NetBird has another valid setup key with the name "k" (id daojmtt8v557f7ctlctg). This file does not manage it and does not change it. To use it for this entry, delete the key of this entry in NetBird, then run apply --adopt setup_keys/k=daojmtt8v557f7ctlctg (in a job: the input adopt of the apply workflow).
reusable, with two machines, beside ours
    note: NetBird has another valid setup key with the name "k" (id daojmtt8v557f7ctlctg). This file does not manage it and does not change it. To use it for this entry, delete the key of this entry in NetBird, then run apply --adopt setup_keys/k=daojmtt8v557f7ctlctg (in a job: the input adopt of the apply workflow).
used, beside ours
    nothing
without groups, beside ours
    note: NetBird has another valid setup key with the name "k" (id daojn2d8v557f7ctlctg). This file does not manage it and does not change it. To use it for this entry, delete the key of this entry in NetBird, then run apply --adopt setup_keys/k=daojn2d8v557f7ctlctg (in a job: the input adopt of the apply workflow).
with --prune all
    delete setup key k [made -9 s]: it is not in the file (--prune all)
of another environment, with --prune all
    note: NetBird has another valid setup key with the name "k" (id daojmtt8v557f7ctlctg). It stays as it is.
a second one, and no inventory tells whose they are
    note: NetBird has another valid setup key with the name "k" (id daojn2d8v557f7ctlctg). This plan has no inventory. An apply deletes such a key only if a run of this file created it.

"#]].raw());
}

#[test]
fn without_an_inventory_no_key_goes_and_no_machine() {
    let asked = || json!({ "reissue_after": time(MADE + 500) });
    let older = || {
        let used = over(sealed(), used_at(MADE + 9));
        used_by(
            case(
                asked(),
                vec![used, over(sealed_at(MADE + 600), used_at(MADE + 700))],
            ),
            "old-host",
            MADE + 9,
        )
    };
    let rows = [
        (
            "two older ones, and a new one is asked for",
            case(asked(), vec![sealed(), sealed_at(MADE + 9)]),
        ),
        (
            "two, and --replace names them",
            case(json!({}), vec![sealed(), sealed_at(MADE + 9)]).replace(Kind::SetupKey, "k"),
        ),
        (
            "enrolled, and one is unused",
            case(json!({ "enrolled": true }), vec![sealed()]),
        ),
        (
            "a machine in whose place another came",
            used_by(older(), "new-host", MADE + 700),
        ),
        ("the same, and the log tells who came first", {
            let mut case = used_by(older(), "new-host", MADE + 700);
            case.snapshot.rest.events = Some(vec![came_by("k", "old-host").into()]);
            case
        }),
    ];
    let of = |case: &Case| {
        let unknown = case.clone().ours(|ours| ours.standing = Standing::Unknown);
        format!("{}--\n{}", case.outcome(), unknown.outcome())
    };
    let rows = rows.map(|(what, case)| (what, of(&case)));
    assert_data_eq!(table(rows), str![[r#"
two older ones, and a new one is asked for
    replace setup key k [made +9 s]: reissue_after 2026-09-21T14:21:40Z
    delete setup key k: created before reissue_after
    --
    replace setup key k [made +9 s]: reissue_after 2026-09-21T14:21:40Z
two, and --replace names them
    replace setup key k [made +9 s]: --replace names it
    delete setup key k: replaced by --replace
    --
    replace setup key k [made +9 s]: --replace names it
enrolled, and one is unused
    delete setup key k: its entry is marked enrolled, so nobody needs this unused key
    --
    nothing
a machine in whose place another came
    update group pilots
        peers [] → ["new-host"]
    rename peer k: enrolled with this key; only the times of key and peer say so, not the event log
        name "new-host" → "k"
        dns_label "new-host" → "k"
    delete peer old-host: enrolled with an older setup key "k", and replaced by the peer "new-host" (daojn0242q9gdg3pqqt0); only the times of key and peer say so, not the event log
    --
    update group pilots
        peers [] → ["new-host"]
the same, and the log tells who came first
    update group pilots
        peers [] → ["new-host"]
    rename peer k: enrolled with this key; only the times of key and peer say so, not the event log
        name "new-host" → "k"
        dns_label "new-host" → "k"
    delete peer old-host: enrolled with an older setup key "k", and replaced by the peer "new-host" (daojn0242q9gdg3pqqt0)
    --
    update group pilots
        peers [] → ["new-host"]

"#]].raw());
}

#[test]
fn keys_are_adopted_by_the_first_inventory_alone() {
    let enrolled = || json!({ "enrolled": true });
    let used = |second: i64| by_hand(over(sealed_at(second), used_at(second + 100)));
    let came = |declared: Value, made: fn(Value) -> Value, name: &str| {
        let key = made(over(sealed(), used_at(MADE + 100)));
        used_by(first(case(declared, vec![key])), name, MADE + 100)
    };
    let named = |case: Case| {
        case.ours(|ours| {
            let id = crate::testing::id(Kind::SetupKey, "k");
            let address = Address::new(Kind::SetupKey, "k");
            ours.asked.insert(address, id.as_str().into());
        })
    };
    let listed = |mut case: Case| {
        let key = json!({ "type": "one-off", "expires_in": LIFE, "auto_groups": ["pilots"], "enrolled": true });
        case.desired = desired(
            &json!({ "groups": { "pilots": { "peers": ["k"] } }, "setup_keys": { "k": key } }),
        );
        case
    };
    let rows = [
        (
            "a valid one that is as the file says",
            first(case(pending(), vec![by_hand(sealed())])),
        ),
        (
            "one without the groups",
            first(case(
                pending(),
                vec![by_hand(over(sealed(), json!({ "auto_groups": [] })))],
            )),
        ),
        (
            "one without the groups that a run of ours made",
            first(case(
                pending(),
                vec![unrecorded(over(sealed(), json!({ "auto_groups": [] })))],
            )),
        ),
        (
            "two of them",
            first(case(
                pending(),
                vec![by_hand(sealed()), by_hand(sealed_at(MADE + 9))],
            )),
        ),
        (
            "one that wants no groups and that we made",
            first(case(
                json!({ "auto_groups": [] }),
                vec![unrecorded(over(sealed(), json!({ "auto_groups": [] })))],
            )),
        ),
        (
            "one that is older than the file asks for",
            first(case(
                over(pending(), json!({ "reissue_after": time(MADE + 1) })),
                vec![by_hand(sealed())],
            )),
        ),
        (
            "enrolled: the newest used one",
            first(case(enrolled(), vec![used(MADE), used(MADE + 500)])),
        ),
        (
            "enrolled, and none was used",
            first(case(enrolled(), vec![])),
        ),
        (
            "pending, and one was used",
            first(case(pending(), vec![used(MADE)])),
        ),
        (
            "later: enrolled, and one was used",
            case(enrolled(), vec![used(MADE)]),
        ),
        (
            "later: pending, and one was used",
            case(pending(), vec![used(MADE)]),
        ),
        (
            "named with --adopt",
            named(case(pending(), vec![by_hand(sealed())])),
        ),
        (
            "enrolled, and its machine is known",
            came(enrolled(), by_hand, "host"),
        ),
        (
            "the same, and a group lists it",
            listed(came(enrolled(), by_hand, "host")),
        ),
        (
            "the same, and the machine has the name of the key",
            listed(came(enrolled(), by_hand, "k")),
        ),
        (
            "enrolled, its machine has that name, and no group lists it",
            came(enrolled(), by_hand, "k"),
        ),
        (
            "enrolled, its machine is known, and a run of ours made the key",
            came(enrolled(), unrecorded, "host"),
        ),
        (
            "pending, named with --adopt, and its machine has another name",
            named(came(pending(), by_hand, "host")),
        ),
        (
            "pending, named with --adopt, and its machine has that name",
            named(came(pending(), by_hand, "k")),
        ),
    ];
    let rows = rows.map(|(what, case)| (what, case.outcome()));
    assert_data_eq!(table(rows), str![[r#"
a valid one that is as the file says
    adopts group ops as Adopted
    adopts group pilots as Adopted
    adopts setup key k as Adopted
one without the groups
    create setup key k
    adopts group ops as Adopted
    adopts group pilots as Adopted
    note: NetBird has another valid setup key with the name "k" (id daojn058v557f7ctlctg). This file does not manage it and does not change it. To use it for this entry, run apply --adopt setup_keys/k=daojn058v557f7ctlctg (in a job: the input adopt of the apply workflow).
one without the groups that a run of ours made
    create setup key k
    adopts group ops as Adopted
    adopts group pilots as Adopted
    note: NetBird has another valid setup key with the name "k" (id daojn058v557f7ctlctg). This file does not manage it and does not change it. To use it for this entry, run apply --adopt setup_keys/k=daojn058v557f7ctlctg (in a job: the input adopt of the apply workflow).
two of them
    create setup key k
    adopts group ops as Adopted
    adopts group pilots as Adopted
    note: NetBird has 2 other valid setup keys with the name "k" (ids daojn058v557f7ctlctg, daojn2d8v557f7ctlctg). This file does not manage them and does not change them. To use one of them for this entry, run apply --adopt setup_keys/k=ID (in a job: the input adopt of the apply workflow).
one that wants no groups and that we made
    create setup key k
    adopts group ops as Adopted
    adopts group pilots as Adopted
    note: NetBird has another valid setup key with the name "k" (id daojn058v557f7ctlctg). This file does not manage it and does not change it. To use it for this entry, run apply --adopt setup_keys/k=daojn058v557f7ctlctg (in a job: the input adopt of the apply workflow).
one that is older than the file asks for
    create setup key k
    adopts group ops as Adopted
    adopts group pilots as Adopted
    note: NetBird has another valid setup key with the name "k" (id daojn058v557f7ctlctg). This file does not manage it and does not change it. To use it for this entry, run apply --adopt setup_keys/k=daojn058v557f7ctlctg (in a job: the input adopt of the apply workflow).
enrolled: the newest used one
    adopts group ops as Adopted
    adopts group pilots as Adopted
    adopts setup key k as Adopted
enrolled, and none was used
    adopts group ops as Adopted
    adopts group pilots as Adopted
pending, and one was used
    adopts group ops as Adopted
    adopts group pilots as Adopted
    skipped: setup key k
    note: setup key "k" is skipped: NetBird has a used key with this name (daojn058v557f7ctlctg), so the machine may have enrolled already. If the machine enrolled, run apply --adopt setup_keys/k=daojn058v557f7ctlctg (in a job: the input adopt of the apply workflow). If not, set reissue_after to the present time: then a new key is created.
later: enrolled, and one was used
    adopts setup key k as Adopted
later: pending, and one was used
    create setup key k
    note: setup key "k" is created although NetBird has used setup keys with its name (id daojn058v557f7ctlctg) that this file does not manage. If the machine of such a key is the one that is meant, run apply --adopt setup_keys/k=daojn058v557f7ctlctg (in a job: the input adopt of the apply workflow) instead.
named with --adopt
    adopts setup key k as Adopted
enrolled, and its machine is known
    adopts group ops as Adopted
    adopts group pilots as Adopted
    adopts setup key k as Adopted
    note: setup key "k" was used by the peer "host" (daojn001d7im4h5d06hg) before this file managed it, so it is marked enrolled. The peer keeps its name. The peer is not added to pilots: to add it, list this key in the peers of the group
the same, and a group lists it
    update group pilots
        peers [] → ["host"]
    adopts group pilots as Adopted
    adopts setup key k as Adopted
    unmanaged: group ops
    note: group "pilots" lists the setup key "k", so the peer "host" (daojn001d7im4h5d06hg) is added: only the times of key and peer say so, not the event log. Check that it is the right machine.
    note: setup key "k" was used by the peer "host" (daojn001d7im4h5d06hg) before this file managed it, so it is marked enrolled. The peer keeps its name
the same, and the machine has the name of the key
    update group pilots
        peers [] → ["k"]
    adopts group pilots as Adopted
    adopts setup key k as Adopted
    unmanaged: group ops
    note: group "pilots" lists the setup key "k", so the peer "k" (daojn06d1ku89ei3g730) is added: only the times of key and peer say so, not the event log. Check that it is the right machine.
enrolled, its machine has that name, and no group lists it
    adopts group ops as Adopted
    adopts group pilots as Adopted
    adopts setup key k as Adopted
    note: setup key "k" was used by the peer "k" (daojn06d1ku89ei3g730) before this file managed it, so it is marked enrolled. The peer is not added to pilots: to add it, list this key in the peers of the group
enrolled, its machine is known, and a run of ours made the key
    adopts group ops as Adopted
    adopts group pilots as Adopted
    adopts setup key k as Created
pending, named with --adopt, and its machine has another name
    update group pilots
        peers [] → ["host"]
    adopts group ops as Adopted
    adopts group pilots as Adopted
    adopts setup key k as Adopted
    note: setup key "k" was used by the peer "host" (daojn001d7im4h5d06hg) before this file managed it, so the peer keeps its name
    note: setup key "k" was used by the peer "host" (daojn001d7im4h5d06hg): only the times of key and peer say so, not the event log
pending, named with --adopt, and its machine has that name
    update group pilots
        peers [] → ["k"]
    adopts group ops as Adopted
    adopts group pilots as Adopted
    adopts setup key k as Adopted
    note: setup key "k" was used by the peer "k" (daojn06d1ku89ei3g730): only the times of key and peer say so, not the event log

"#]].raw());
}

#[test]
fn an_adopted_key_is_replaced_by_no_run() {
    let adopted = |declared: Value| {
        let case = case(declared, vec![by_hand(sealed())]);
        case.ours(|ours| {
            let inventory = Arc::make_mut(&mut ours.inventory);
            inventory.created.remove("setup_keys/k");
            let id = crate::testing::id(crate::model::kind::Kind::SetupKey, "k");
            let ids = vec![crate::base::id::Id::from(id.as_str())];
            inventory.adopted.insert("setup_keys/k".into(), ids);
        })
    };
    let rows = [
        ("equal", adopted(pending())),
        ("other groups", adopted(json!({ "auto_groups": ["ops"] }))),
        ("another type", adopted(json!({ "type": "reusable" }))),
        (
            "asked for anew",
            adopted(json!({ "reissue_after": time(MADE + 9) })),
        ),
    ];
    let rows = rows.map(|(what, case)| (what, case.outcome()));
    assert_data_eq!(table(rows), str![[r#"
equal
    nothing
other groups
    update setup key k
        auto_groups ["pilots"] → ["ops"]
another type
    note: setup key "k" existed before this file managed it (id daojn058v557f7ctlctg). It differs from the file in a field that NetBird cannot change, so it is not changed. For a new key, set reissue_after to the present time (or, on a laptop, run apply --replace setup_keys/k).
asked for anew
    replace setup key k: reissue_after 2026-09-21T14:13:29Z

"#]].raw());
}

#[test]
fn what_the_file_does_not_say_is_taken_from_the_old_key() {
    let live = json!({ "type": "reusable", "usage_limit": 7, "ephemeral": true, "allow_extra_dns_labels": true });
    let bare = |fields: Value| over(json!({ "type": "reusable", "expires_in": 0 }), fields);
    let case = |declared: Value, live: Value| {
        let file = json!({ "groups": {}, "setup_keys": { "k": declared } });
        let lists = json!({ "groups": [group("pilots", &[])], "setup_keys": [over(sealed_at(MADE), live)] });
        let case = Case::new(file, lists).replace(crate::model::kind::Kind::SetupKey, "k");
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
