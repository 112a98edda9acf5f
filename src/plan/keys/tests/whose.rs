//! Keys of an entry's name that somebody else made: the inventory tells whose a key is, not its name.

use std::sync::Arc;

use serde_json::{Value, json};
use snapbox::{IntoData, assert_data_eq, str};

use super::{by_hand, case, pending, sealed, sealed_at, unrecorded};
use crate::model::Kind;
use crate::plan::Standing;
use crate::testing::{
    Case, LIFE, MADE, desired, enrolled, group, over, peer, policy_with, table, time, used_at,
};

/// The same, where a machine of that name used a key in that second.
pub(super) fn used_by(mut case: Case, name: &str, second: i64) -> Case {
    let peer = over(peer(name), json!({ "created_at": time(second) }));
    case.snapshot.list_mut(Kind::Peer).push(peer.into());
    case
}

/// Another environment has the key that was made first.
pub(super) fn strange(case: Case) -> Case {
    case.ours(|ours| {
        let id = crate::testing::id(Kind::SetupKey, "k");
        ours.strange.insert(id.as_str().into(), "lab.json".into());
    })
}

/// The machine `k` came by the first key, and `new-host` by a newer one.
fn replaced(declared: Value) -> Case {
    let keys = vec![
        over(sealed(), used_at(MADE + 9)),
        over(sealed_at(MADE + 600), used_at(MADE + 700)),
    ];
    let case = used_by(case(declared, keys), "k", MADE + 9);
    used_by(case, "new-host", MADE + 700)
}

/// There is no inventory yet.
pub(super) fn first(case: Case) -> Case {
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
            "used, beside one of ours that is older than the file asks for",
            case(
                json!({ "reissue_after": time(MADE + 5) }),
                vec![
                    sealed(),
                    by_hand(over(sealed_at(MADE + 9), used_at(MADE + 99))),
                ],
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
        (
            "of another environment, with --prune all",
            strange(case(pending(), vec![sealed_at(MADE + 9), by_hand(sealed())]).prune_all()),
        ),
        (
            "the same, and ours did its work",
            strange(case(json!({ "enrolled": true }), vec![by_hand(sealed())]).prune_all()),
        ),
        (
            "of another environment, and its groups are still to come",
            strange(case(
                pending(),
                vec![unrecorded(over(sealed(), json!({ "auto_groups": [] })))],
            )),
        ),
        (
            "with its groups, and a run of ours made it",
            case(pending(), vec![unrecorded(sealed_at(MADE - 9)), sealed()]),
        ),
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
used, beside one of ours that is older than the file asks for
    replace setup key k: reissue_after 2026-09-21T14:13:25Z
without groups, beside ours
    note: NetBird has another valid setup key with the name "k" (id daojn2d8v557f7ctlctg). This file does not manage it and does not change it. To use it for this entry, delete the key of this entry in NetBird, then run apply --adopt setup_keys/k=daojn2d8v557f7ctlctg (in a job: the input adopt of the apply workflow).
with --prune all
    delete setup key k [made -9 s]: it is not in the file (--prune all)
of another environment, with --prune all
    note: NetBird has another valid setup key with the name "k" (id daojn058v557f7ctlctg). It stays as it is.
the same, and ours did its work
    nothing
of another environment, and its groups are still to come
    create setup key k
    note: NetBird has another valid setup key with the name "k" (id daojn058v557f7ctlctg). It stays as it is.
with its groups, and a run of ours made it
    note: NetBird has another valid setup key with the name "k" (id daojmtt8v557f7ctlctg). This file does not manage it and does not change it. To use it for this entry, delete the key of this entry in NetBird, then run apply --adopt setup_keys/k=daojmtt8v557f7ctlctg (in a job: the input adopt of the apply workflow).
a second one, and no inventory tells whose they are
    note: NetBird has another valid setup key with the name "k" (id daojn2d8v557f7ctlctg). This plan has no inventory. An apply deletes such a key only if a run of this file created it.

"#]].raw());
}

#[test]
fn without_an_inventory_no_key_goes_and_no_machine() {
    let asked = || json!({ "reissue_after": time(MADE + 500) });
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
        ("a machine in whose place another came", replaced(asked())),
        ("the same, and a policy names it", {
            let mut case = replaced(asked());
            let to = json!({ "id": crate::testing::id(Kind::Peer, "k"), "type": "peer" });
            let to = json!({ "destinations": null, "destinationResource": to });
            let policies = case.snapshot.list_mut(Kind::Policy);
            policies.push(policy_with("p", &["ops"], &[], to).into());
            case
        }),
        ("the same, and the log tells who came first", {
            let mut case = replaced(asked());
            case.snapshot.rest.events = Some(vec![enrolled("k", "k").into()]);
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
    delete peer k: enrolled with an older setup key "k", and replaced by the peer "new-host" (daojn0242q9gdg3pqqt0); only the times of key and peer say so, not the event log
    rename peer k: enrolled with this key; only the times of key and peer say so, not the event log
        name "new-host" → "k"
        dns_label "new-host" → "k"
    --
    update group pilots
        peers [] → ["new-host"]
the same, and a policy names it
    update group pilots
        peers [] → ["new-host"]
    note: peer "k" is replaced by the peer "new-host" (daojn0242q9gdg3pqqt0), but is not deleted, because its deletion would break policy "p" (daojn064mr64fain5cug). Remove the old peer from there first.
    --
    update group pilots
        peers [] → ["new-host"]
the same, and the log tells who came first
    update group pilots
        peers [] → ["new-host"]
    delete peer k: enrolled with an older setup key "k", and replaced by the peer "new-host" (daojn0242q9gdg3pqqt0)
    rename peer k: enrolled with this key; only the times of key and peer say so, not the event log
        name "new-host" → "k"
        dns_label "new-host" → "k"
    --
    update group pilots
        peers [] → ["new-host"]

"#]].raw());
}

/// No change of a group takes it out, and no note says that it has the name of another machine.
#[test]
fn a_replaced_machine_leaves_its_groups_by_its_deletion() {
    let asked = json!({ "type": "one-off", "expires_in": LIFE, "reissue_after": time(MADE + 500) });
    let file = json!({ "groups": { "pilots": { "peers": ["k"] } }, "setup_keys": { "k": asked } });
    let older = || crate::testing::id(Kind::Peer, "k");
    let of = |members: &[&str]| {
        let mut case = replaced(pending());
        case.desired = desired(&file);
        let groups = case.snapshot.list_mut(Kind::Group);
        groups.retain(|live| crate::testing::value(live)["name"] != "pilots");
        groups.push(group("pilots", members).into());
        let case = case.ours(|ours| {
            let members = [("k".to_owned(), older().as_str().into())];
            let inventory = Arc::make_mut(&mut ours.inventory);
            inventory.members.insert("pilots".into(), members.into());
        });
        case.outcome()
    };
    let rows = [("it was a member", of(&["k"])), ("it was none", of(&[]))];
    assert_data_eq!(table(rows), str![[r#"
it was a member
    update group pilots
        peers ["k"] → ["k","new-host"]
    delete peer k: enrolled with an older setup key "k", and replaced by the peer "new-host" (daojn0242q9gdg3pqqt0); only the times of key and peer say so, not the event log
    rename peer k: enrolled with this key; only the times of key and peer say so, not the event log
        name "new-host" → "k"
        dns_label "new-host" → "k"
    delete group ops: it is no longer in the file
it was none
    update group pilots
        peers [] → ["new-host"]
    delete peer k: enrolled with an older setup key "k", and replaced by the peer "new-host" (daojn0242q9gdg3pqqt0); only the times of key and peer say so, not the event log
    rename peer k: enrolled with this key; only the times of key and peer say so, not the event log
        name "new-host" → "k"
        dns_label "new-host" → "k"
    delete group ops: it is no longer in the file

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
