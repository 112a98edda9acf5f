//! Keys that an entry adopts: nobody knows who has their secrets.

use std::sync::Arc;

use serde_json::{Value, json};
use snapbox::{IntoData, assert_data_eq, str};

use super::whose::{first, strange, used_by};
use super::{by_hand, case, dead, pending, sealed, sealed_at, unrecorded, was};
use crate::base::Evidence;
use crate::inventory::Machine;
use crate::model::{Address, Kind, Resource};
use crate::plan::Standing;
use crate::testing::{Case, LIFE, MADE, desired, over, table, time, used_at};

#[test]
fn keys_are_adopted_by_the_first_inventory_alone() {
    let enrolled = || json!({ "enrolled": true });
    let used = |second: i64| by_hand(over(sealed_at(second), used_at(second + 100)));
    let came = |declared: Value, made: fn(Value) -> Value, name: &str| {
        let key = made(over(sealed(), used_at(MADE + 100)));
        used_by(first(case(declared, vec![key])), name, MADE + 100)
    };
    let dead_at = |second: i64| over(sealed_at(second), dead("expired"));
    let since = |newer: Value| {
        let key = over(sealed(), used_at(MADE + 100));
        used_by(case(enrolled(), vec![key, newer]), "host", MADE + 100)
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
            "one with the groups that a run of ours made",
            first(case(pending(), vec![unrecorded(sealed())])),
        ),
        (
            "one of another environment",
            strange(first(case(pending(), vec![by_hand(sealed())]))),
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
            "one that wants no groups and that somebody made",
            first(case(
                json!({ "auto_groups": [] }),
                vec![by_hand(over(sealed(), json!({ "auto_groups": [] })))],
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
            "pending, one was used, and another one waits",
            first(case(
                pending(),
                vec![
                    used(MADE),
                    by_hand(over(sealed_at(MADE + 9), json!({ "auto_groups": [] }))),
                ],
            )),
        ),
        (
            "pending, and one was used before another was asked for",
            first(case(
                json!({ "reissue_after": time(MADE + 500) }),
                vec![used(MADE)],
            )),
        ),
        (
            "pending, and one was used that another environment has",
            strange(first(case(pending(), vec![used(MADE)]))),
        ),
        (
            "for many, and one of one use was used",
            first(case(json!({ "type": "reusable" }), vec![used(MADE)])),
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
            "later: the same, before another was asked for",
            case(
                json!({ "reissue_after": time(MADE + 500) }),
                vec![used(MADE)],
            ),
        ),
        (
            "later: pending, and one was used that another environment has",
            strange(case(pending(), vec![used(MADE)])),
        ),
        (
            "named with --adopt",
            named(case(pending(), vec![by_hand(sealed())])),
        ),
        (
            "named with --adopt, and it is the entry's own",
            named(case(pending(), vec![sealed()])),
        ),
        (
            "named with --adopt, and it is not known what is ours",
            named(
                case(pending(), vec![by_hand(sealed())])
                    .ours(|ours| ours.standing = Standing::Unknown),
            ),
        ),
        (
            "named with --adopt, and older than the file asks for",
            named(case(
                json!({ "reissue_after": time(MADE + 1) }),
                vec![by_hand(sealed())],
            )),
        ),
        (
            "the same, used, and its work is done",
            named(case(
                json!({ "reissue_after": time(MADE + 1), "enrolled": true }),
                vec![used(MADE)],
            )),
        ),
        (
            "enrolled, and its machine is known",
            came(enrolled(), by_hand, "host"),
        ),
        (
            "the same, and a key that was made since expired unused",
            listed(since(dead_at(MADE + 500))),
        ),
        ("two were used, and their ids tell no time", {
            let used = |id: &str, second: i64| {
                let changed = json!({ "id": id, "updated_at": time(second) });
                over(over(sealed(), used_at(second)), changed)
            };
            let keys = vec![used("1", MADE + 600), used("2", MADE + 100)];
            let case = used_by(case(enrolled(), keys), "host", MADE + 600);
            let mut case = listed(used_by(case, "older", MADE + 100));
            let k = case
                .desired
                .entries
                .get_mut(&Address::new(Kind::SetupKey, "k"));
            if let Some([Resource::SetupKey(key)]) = k.map(Vec::as_mut_slice) {
                key.reissue_after = Some(time(MADE + 500).parse().expect("a time"));
            }
            case
        }),
        (
            "enrolled, its machine is known, and a group lists it",
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
one with the groups that a run of ours made
    adopts group ops as Adopted
    adopts group pilots as Adopted
    adopts setup key k as Created
one of another environment
    create setup key k
    adopts group ops as Adopted
    adopts group pilots as Adopted
    note: NetBird has another valid setup key with the name "k" (id daojn058v557f7ctlctg). It stays as it is.
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
one that wants no groups and that somebody made
    adopts group ops as Adopted
    adopts group pilots as Adopted
    adopts setup key k as Adopted
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
pending, one was used, and another one waits
    create setup key k
    adopts group ops as Adopted
    adopts group pilots as Adopted
    note: NetBird has another valid setup key with the name "k" (id daojn2d8v557f7ctlctg). This file does not manage it and does not change it. To use it for this entry, run apply --adopt setup_keys/k=daojn2d8v557f7ctlctg (in a job: the input adopt of the apply workflow).
    note: setup key "k" is created although NetBird has used setup keys with its name (id daojn058v557f7ctlctg) that this file does not manage. If the machine of such a key is the one that is meant, run apply --adopt setup_keys/k=daojn058v557f7ctlctg (in a job: the input adopt of the apply workflow) instead.
pending, and one was used before another was asked for
    create setup key k
    adopts group ops as Adopted
    adopts group pilots as Adopted
pending, and one was used that another environment has
    adopts group ops as Adopted
    adopts group pilots as Adopted
    skipped: setup key k
    note: setup key "k" is skipped: NetBird has a used key with this name (daojn058v557f7ctlctg), so the machine may have enrolled already. If the machine enrolled, run apply --adopt setup_keys/k=daojn058v557f7ctlctg (in a job: the input adopt of the apply workflow). If not, set reissue_after to the present time: then a new key is created.
for many, and one of one use was used
    create setup key k
    adopts group ops as Adopted
    adopts group pilots as Adopted
    note: setup key "k" is created although NetBird has used setup keys with its name (id daojn058v557f7ctlctg) that this file does not manage. If the machine of such a key is the one that is meant, run apply --adopt setup_keys/k=daojn058v557f7ctlctg (in a job: the input adopt of the apply workflow) instead.
later: enrolled, and one was used
    adopts setup key k as Adopted
later: pending, and one was used
    create setup key k
    note: setup key "k" is created although NetBird has used setup keys with its name (id daojn058v557f7ctlctg) that this file does not manage. If the machine of such a key is the one that is meant, run apply --adopt setup_keys/k=daojn058v557f7ctlctg (in a job: the input adopt of the apply workflow) instead.
later: the same, before another was asked for
    create setup key k
later: pending, and one was used that another environment has
    create setup key k
named with --adopt
    adopts setup key k as Adopted
named with --adopt, and it is the entry's own
    nothing
named with --adopt, and it is not known what is ours
    nothing
named with --adopt, and older than the file asks for
    impossible: setup key k cannot adopt daojn058v557f7ctlctg: that key is older than reissue_after, so the same run would replace it | take reissue_after out of the entry, or do not adopt that key
the same, used, and its work is done
    adopts setup key k as Adopted
enrolled, and its machine is known
    adopts group ops as Adopted
    adopts group pilots as Adopted
    adopts setup key k as Adopted
    note: setup key "k" was used by the peer "host" (daojn001d7im4h5d06hg) before this file managed it, so it is marked enrolled. The peer keeps its name. The peer is not added to pilots: to add it, list this key in the peers of the group
the same, and a key that was made since expired unused
    update group pilots
        peers [] → ["host"]
    delete group ops: it is no longer in the file
    note: group "pilots" lists the setup key "k", so the peer "host" (daojn001d7im4h5d06hg) is added: only the times of key and peer say so, not the event log. Check that it is the right machine.
two were used, and their ids tell no time
    update group pilots
        peers [] → ["host"]
    delete peer older: enrolled with an older setup key "k", and replaced by the peer "host" (daojn001d7im4h5d06hg); only the times of key and peer say so, not the event log
    delete group ops: it is no longer in the file
    note: group "pilots" lists the setup key "k", so the peer "host" (daojn001d7im4h5d06hg) is added: only the times of key and peer say so, not the event log. Check that it is the right machine.
enrolled, its machine is known, and a group lists it
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
    let adopted = |declared: Value, key: Value| {
        let case = case(declared, vec![by_hand(key)]);
        case.ours(|ours| {
            let inventory = Arc::make_mut(&mut ours.inventory);
            inventory.created.remove("setup_keys/k");
            let ids = vec![crate::testing::id(Kind::SetupKey, "k").as_str().into()];
            inventory.adopted.insert("setup_keys/k".into(), ids);
        })
    };
    let used = || {
        let key = over(sealed(), used_at(MADE + 9));
        used_by(adopted(pending(), key), "host", MADE + 9)
    };
    let rows = [
        ("equal", adopted(pending(), sealed())),
        (
            "other groups",
            adopted(json!({ "auto_groups": ["ops"] }), sealed()),
        ),
        (
            "another type",
            adopted(json!({ "type": "reusable" }), sealed()),
        ),
        (
            "asked for anew",
            adopted(json!({ "reissue_after": time(MADE + 9) }), sealed()),
        ),
        ("used since", used().ours(was)),
        (
            "used before, as its record says",
            used().ours(|ours| {
                let id = crate::testing::id(Kind::Peer, "host").as_str().into();
                let machine = Machine {
                    id,
                    by: Evidence::Time,
                };
                let enrolled = &mut Arc::make_mut(&mut ours.inventory).enrolled;
                enrolled.insert("k".into(), vec![machine]);
            }),
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
used since
    update group pilots
        peers [] → ["host"]
    rename peer k: enrolled with this key; only the times of key and peer say so, not the event log
        name "host" → "k"
        dns_label "host" → "k"
used before, as its record says
    update group pilots
        peers [] → ["host"]
    note: setup key "k" was used by the peer "host" (daojn001d7im4h5d06hg) before this file managed it, so the peer keeps its name
    note: setup key "k" was used by the peer "host" (daojn001d7im4h5d06hg): only the times of key and peer say so, not the event log

"#]].raw());
}
