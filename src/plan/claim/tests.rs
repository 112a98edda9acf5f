//! What becomes of live objects: docs/ownership.md, and offboarding.

mod offboarding;

use serde_json::{Value, json};
use snapbox::{IntoData, assert_data_eq, str};

use crate::base::Id;
use crate::model::{Address, Kind};
use crate::plan::Standing;
use crate::testing::{Case, MADE, group, id, id_at, over, policy, route, table, zone};

fn key(kind: Kind, name: &str) -> Vec<String> {
    vec![id(kind, name)]
}

/// A file that declares these policies, all of them between all.
fn policies(names: &[&str]) -> Value {
    let everybody = json!({ "sources": ["All"], "destinations": ["All"] });
    let entries = names
        .iter()
        .map(|name| ((*name).to_owned(), everybody.clone()));
    json!({ "policies": entries.collect::<serde_json::Map<_, _>>() })
}

fn live(policies: &[Value]) -> Value {
    json!({ "groups": [group("keep", &[])], "policies": policies })
}

fn everybody(name: &str) -> Value {
    policy(name, &["All"], &["All"])
}

/// One more of that name, made later.
fn second(name: &str) -> Value {
    let id = id_at(Kind::Policy, name, MADE + 9);
    over(everybody(name), json!({ "id": id }))
}

fn renamed(name: &str, now: &str) -> Value {
    over(everybody(name), json!({ "name": now }))
}

fn of(case: Case) -> String {
    let record = case.plan().map(|plan| plan.record).unwrap_or_default();
    let moved = record
        .moved
        .iter()
        .map(|(_, key)| format!("moves to {key}\n"));
    case.outcome() + &moved.collect::<String>()
}

#[test]
fn what_leaves_the_file() {
    let was = |names: &[&str]| json!({ "created": { "policies/p": names.iter().map(|name| id(Kind::Policy, name)).collect::<Vec<_>>() } });
    let adopted = json!({ "adopted": { "policies/p": key(Kind::Policy, "p") } });
    let before = [policies(&["p", "q"]), policies(&["q"])];
    let none = || policies(&["q"]);
    let q = || everybody("q");
    let rows = [
        ("created", Case::new(none(), live(&[everybody("p"), q()])).inventory(was(&["p"])).since(&before)),
        ("created, and changed by hand since", {
            let mut changed = everybody("p");
            changed["rules"][0]["protocol"] = json!("tcp");
            changed["rules"][0]["ports"] = json!(["22"]);
            Case::new(none(), live(&[changed, q()])).inventory(was(&["p"]))
        }),
        ("adopted", Case::new(none(), live(&[everybody("p"), q()])).inventory(adopted.clone()).since(&before)),
        ("adopted, with an agreement", {
            let mut case = Case::new(none(), live(&[everybody("p"), q()])).inventory(adopted.clone());
            case.options.release.insert(Id::from(id(Kind::Policy, "p").as_str()));
            case
        }),
        ("renamed in NetBird since", Case::new(none(), live(&[renamed("p", "x"), q()])).inventory(was(&["p"]))),
        ("let go by an earlier run", Case::new(none(), live(&[everybody("p"), q()]))
            .inventory(json!({ "let_go": { "policies/p": { "ids": key(Kind::Policy, "p"), "cause": "#7" } } }))),
        ("created, and the inventory of an environment cannot be read", Case::new(none(), live(&[everybody("p"), q()]))
            .inventory(was(&["p"])).ours(|ours| ours.unread = Some("lab".into()))),
        ("created, and a setup key of the file has its name", Case::new(
            over(none(), json!({ "setup_keys": { "p": { "type": "one-off", "expires_in": 60 } } })),
            live(&[everybody("p"), q()]),
        ).inventory(was(&["p"]))),
        ("not ours", Case::new(none(), live(&[everybody("p"), q()])).inventory(json!({}))),
        ("not ours, with --prune all", Case::new(none(), live(&[everybody("p"), q()])).inventory(json!({})).prune_all()),
        ("of another environment, with --prune all", Case::new(none(), live(&[everybody("p"), q()]))
            .inventory(json!({})).prune_all().ours(|ours| {
                ours.strange.insert(Id::from(id(Kind::Policy, "p").as_str()), "lab.json".into());
            })),
        ("an environment that cannot be read may have it, with --prune all", Case::new(none(), live(&[everybody("p"), q()]))
            .inventory(json!({})).prune_all().ours(|ours| ours.unread = Some("lab".into()))),
        ("adopted, with --prune all", Case::new(none(), live(&[everybody("p"), q()])).inventory(adopted.clone()).prune_all()),
        ("made by a killed run, and its change was reverted", Case::new(none(), live(&[everybody("p"), q()]))
            .inventory(json!({})).since(&before).ours(|ours| {
                ours.made.insert(Id::from(id(Kind::Policy, "p").as_str()));
            })),
        ("its section is gone", Case::new(json!({ "groups": { "keep": {} } }), live(&[everybody("p")])).inventory(was(&["p"])).since(&[policies(&["p"])])),
        ("it is not known what is ours", Case::new(none(), live(&[everybody("p"), q()]))
            .inventory(was(&["p"])).ours(|ours| ours.standing = Standing::Unknown)),
        ("there is no inventory yet", Case::new(none(), live(&[everybody("p"), q()]))
            .inventory(json!({})).ours(|ours| ours.standing = Standing::First)),
    ];
    let rows = rows.map(|(what, case)| (what, of(case)));
    assert_data_eq!(table(rows), str![[r#"
created
    delete policy p: it is no longer in the file
    adopts policy q as Adopted
created, and changed by hand since
    delete policy p: it is no longer in the file
    adopts policy q as Adopted
adopted
    adopts policy q as Adopted
    let go: policy p: Adopted
adopted, with an agreement
    delete policy p: it is no longer in the file; its deletion is approved by Allow-Deletes
    adopts policy q as Adopted
renamed in NetBird since
    adopts policy q as Adopted
    let go: policy p: Renamed("x")
let go by an earlier run
    adopts policy q as Adopted
    let go: policy p: Before
created, and the inventory of an environment cannot be read
    delete policy p: it is no longer in the file
    skipped: policy q
    note: policy "q" is skipped: the inventory of the environment "lab" cannot be read, so "lab" perhaps manages this policy (id daojn064mr5kfain5650). Repair that inventory. If you are sure that "lab" does not manage it, run apply --adopt policies/q=daojn064mr5kfain5650 (in a job: the input adopt of the apply workflow).
created, and a setup key of the file has its name
    create setup key p
    delete policy p: it is no longer in the file
    adopts policy q as Adopted
not ours
    adopts policy q as Adopted
    unmanaged: policy p
not ours, with --prune all
    delete policy p: it is not in the file (--prune all)
    adopts policy q as Adopted
of another environment, with --prune all
    adopts policy q as Adopted
    managed by lab.json: policy p
an environment that cannot be read may have it, with --prune all
    skipped: policy q
    unmanaged: policy p
    note: policy "q" is skipped: the inventory of the environment "lab" cannot be read, so "lab" perhaps manages this policy (id daojn064mr5kfain5650). Repair that inventory. If you are sure that "lab" does not manage it, run apply --adopt policies/q=daojn064mr5kfain5650 (in a job: the input adopt of the apply workflow).
adopted, with --prune all
    delete policy p: it is no longer in the file
    adopts policy q as Adopted
made by a killed run, and its change was reverted
    delete policy p: it is no longer in the file
    adopts policy q as Adopted
its section is gone
    adopts group keep as Adopted
    note: section "policies" is removed from the file by this change, so nothing in it is managed any more. 1 policy stays in NetBird as before: "p". To manage it again, restore the section. To delete those that this tool created, restore the section empty.
it is not known what is ours
    unmanaged: policy p
there is no inventory yet
    adopts policy q as Adopted
    unmanaged: policy p

"#]].raw());
}

#[test]
fn what_an_entry_stands_for() {
    let ours = || json!({ "created": { "policies/p": key(Kind::Policy, "p") } });
    let file = || policies(&["p"]);
    let follows = |old: &str| {
        over(
            json!({}),
            json!({ "policies": { "p": { "sources": ["All"], "destinations": ["All"], "renamed_from": old } } }),
        )
    };
    let differs = |mut policy: Value| {
        policy["rules"][0]["sources"] = json!([{ "id": id(Kind::Group, "keep"), "name": "keep" }]);
        policy
    };
    let asked = |case: Case, of: &Value| {
        let id = Id::from(of["id"].as_str().expect("an id"));
        case.ours(|ours| drop(ours.asked.insert(Address::new(Kind::Policy, "p"), id)))
    };
    let rows = [
        (
            "nothing is there",
            Case::new(file(), live(&[])).inventory(json!({})),
        ),
        (
            "recorded, and deleted by hand",
            Case::new(file(), live(&[])).inventory(ours()),
        ),
        (
            "recorded",
            Case::new(file(), live(&[everybody("p")])).inventory(ours()),
        ),
        (
            "recorded, and renamed by hand",
            Case::new(file(), live(&[renamed("p", "x")])).inventory(ours()),
        ),
        (
            "the file followed that",
            Case::new(policies(&["x"]), live(&[renamed("p", "x")])).inventory(ours()),
        ),
        (
            "renamed by hand, and another one has the name",
            Case::new(file(), live(&[renamed("p", "x"), second("p")])).inventory(ours()),
        ),
        (
            "renamed by hand, and what another run adopted has the name",
            Case::new(file(), live(&[renamed("p", "x"), second("p")])).inventory(json!({
                "created": { "policies/p": key(Kind::Policy, "p") },
                "adopted": { "policies/p": [second("p")["id"]] },
            })),
        ),
        (
            "renamed by the file",
            Case::new(follows("old"), live(&[everybody("old")]))
                .inventory(json!({ "created": { "policies/old": key(Kind::Policy, "old") } })),
        ),
        (
            "renamed by the file, done already",
            Case::new(follows("old"), live(&[everybody("p")])).inventory(ours()),
        ),
        (
            "the file followed a rename by hand, and names a former name that nobody has",
            Case::new(follows("old"), live(&[everybody("p")]))
                .inventory(json!({ "created": { "policies/q": key(Kind::Policy, "p") } })),
        ),
        (
            "the same, and ours has that former name",
            Case::new(follows("old"), live(&[second("p"), everybody("old")])).inventory(json!({
                "created": { "policies/q": [second("p")["id"]], "policies/old": key(Kind::Policy, "old") },
            })),
        ),
        (
            "renamed by the file from what nobody recorded",
            Case::new(follows("old"), live(&[everybody("old")])).inventory(json!({})),
        ),
        (
            "renamed by the file from the name that somebody gave it in NetBird",
            Case::new(follows("x"), live(&[renamed("old", "x")]))
                .inventory(json!({ "created": { "policies/old": key(Kind::Policy, "old") } })),
        ),
        (
            "renamed by the file from what is not there",
            Case::new(follows("olf"), live(&[everybody("old")]))
                .inventory(json!({ "created": { "policies/old": key(Kind::Policy, "old") } })),
        ),
        (
            "one by hand",
            Case::new(file(), live(&[everybody("p")])).inventory(json!({})),
        ),
        (
            "one by hand that differs",
            Case::new(file(), live(&[differs(everybody("p"))])).inventory(json!({})),
        ),
        (
            "one by hand beside ours",
            Case::new(file(), live(&[everybody("p"), second("p")])).inventory(ours()),
        ),
        (
            "one by hand beside ours, with --prune all",
            Case::new(file(), live(&[everybody("p"), second("p")]))
                .inventory(ours())
                .prune_all(),
        ),
        (
            "two by hand, equal",
            Case::new(file(), live(&[everybody("p"), second("p")])).inventory(json!({})),
        ),
        (
            "two by hand, one equal",
            Case::new(file(), live(&[differs(everybody("p")), second("p")])).inventory(json!({})),
        ),
        (
            "two by hand, none equal",
            Case::new(
                file(),
                live(&[differs(everybody("p")), differs(second("p"))]),
            )
            .inventory(json!({})),
        ),
        (
            "the same, and --adopt says which",
            asked(
                Case::new(
                    file(),
                    live(&[differs(everybody("p")), differs(second("p"))]),
                )
                .inventory(json!({})),
                &second("p"),
            ),
        ),
        (
            "--adopt of one more than the entry can have",
            asked(
                Case::new(file(), live(&[everybody("p"), second("p")])).inventory(ours()),
                &second("p"),
            ),
        ),
        (
            "--adopt of what the entry has",
            asked(
                Case::new(file(), live(&[everybody("p")])).inventory(ours()),
                &everybody("p"),
            ),
        ),
        (
            "--adopt of a key of another name",
            Case::new(
                json!({ "setup_keys": { "k": { "type": "one-off", "expires_in": 86400 } } }),
                json!({ "setup_keys": [crate::testing::key("other", &[])] }),
            )
            .inventory(json!({}))
            .ours(|ours| {
                let id = Id::from(id(Kind::SetupKey, "other").as_str());
                ours.asked.insert(Address::new(Kind::SetupKey, "k"), id);
            }),
        ),
        (
            "one that a killed run made",
            Case::new(file(), live(&[everybody("p")]))
                .inventory(json!({}))
                .ours(|ours| {
                    ours.made.insert(Id::from(id(Kind::Policy, "p").as_str()));
                }),
        ),
        (
            "two that runs made at once",
            Case::new(file(), live(&[everybody("p"), second("p")])).inventory(
                json!({ "created": { "policies/p": [everybody("p")["id"], second("p")["id"]] } }),
            ),
        ),
        (
            "one that a run made and one that another run adopted",
            Case::new(file(), live(&[everybody("p"), second("p")])).inventory(json!({
                "created": { "policies/p": [everybody("p")["id"]] },
                "adopted": { "policies/p": [second("p")["id"]] },
            })),
        ),
        (
            "one of another environment",
            Case::new(file(), live(&[everybody("p")]))
                .inventory(json!({}))
                .ours(|ours| {
                    ours.strange
                        .insert(Id::from(id(Kind::Policy, "p").as_str()), "lab.json".into());
                }),
        ),
        (
            "one that an environment may have which cannot be read",
            Case::new(file(), live(&[everybody("p")]))
                .inventory(json!({}))
                .ours(|ours| ours.unread = Some("lab".into())),
        ),
        (
            "it is not known what is ours",
            Case::new(file(), live(&[differs(everybody("p"))])),
        ),
        (
            "--adopt for an entry that the file lacks",
            Case::new(policies(&["q"]), live(&[everybody("p"), everybody("q")]))
                .inventory(json!({}))
                .ours(|ours| {
                    let id = Id::from(id(Kind::Policy, "p").as_str());
                    ours.asked.insert(Address::new(Kind::Policy, "p"), id);
                }),
        ),
        (
            "--adopt of what is not there",
            asked(
                Case::new(file(), live(&[])).inventory(json!({})),
                &everybody("p"),
            ),
        ),
    ];
    let rows = rows.map(|(what, case)| (what, of(case)));
    assert_data_eq!(table(rows), str![[r#"
nothing is there
    create policy p
recorded, and deleted by hand
    create policy p: was deleted in NetBird; this plan creates it again
recorded
    nothing
recorded, and renamed by hand
    update policy p: somebody renamed it to "x" in NetBird; this plan renames it back to "p". To keep the new name, write "x" in the file.
        name "x" → "p"
the file followed that
    nothing
    moves to policies/x
renamed by hand, and another one has the name
    unmanaged: policy p
    note: NetBird has another policy with the name "p" (id daojn2e4mr64fain5cug). This file does not manage it and does not change it.
    note: policy "p" still has the name "x" in NetBird, because another policy (id daojn2e4mr64fain5cug) has the name "p". Delete or rename the other policy in NetBird; the next apply then renames "x" to "p".
renamed by hand, and what another run adopted has the name
    delete policy x: a second object of this entry, created by another run of this file
renamed by the file
    update policy p
        name "old" → "p"
    moves to policies/p
renamed by the file, done already
    nothing
the file followed a rename by hand, and names a former name that nobody has
    nothing
    moves to policies/p
the same, and ours has that former name
    let go: policy q: Renamed("p")
    note: policy "p" still has the name "old" in NetBird, because another policy (id daojn2e4mr64fain5cug) has the name "p". Delete or rename the other policy in NetBird; the next apply then renames "old" to "p".
    moves to policies/p
renamed by the file from what nobody recorded
    update policy p
        name "old" → "p"
    adopts policy p as Adopted
renamed by the file from the name that somebody gave it in NetBird
    update policy p
        name "x" → "p"
    moves to policies/p
renamed by the file from what is not there
    create policy p
    delete policy old: it is no longer in the file
    note: policy "p" is created as a new policy: NetBird has no policy "olf" to rename
one by hand
    adopts policy p as Adopted
one by hand that differs
    update policy p
        sources ["keep"] → ["All"]
    adopts policy p as Adopted
one by hand beside ours
    unmanaged: policy p
    note: NetBird has another policy with the name "p" (id daojn2e4mr64fain5cug). This file does not manage it and does not change it.
one by hand beside ours, with --prune all
    delete policy p [made +9 s]: it is not in the file (--prune all)
two by hand, equal
    adopts policy p as Adopted
    unmanaged: policy p
    note: NetBird has another policy with the name "p" (id daojn2e4mr64fain5cug). This file does not manage it and does not change it.
two by hand, one equal
    adopts policy p as Adopted
    unmanaged: policy p
    note: NetBird has another policy with the name "p" (id daojn064mr64fain5cug). This file does not manage it and does not change it.
two by hand, none equal
    skipped: policy p
    note: policy "p" is skipped: several objects in NetBird fit this entry (daojn064mr64fain5cug, daojn2e4mr64fain5cug). Run apply --adopt policies/p=ID (in a job: the input adopt of the apply workflow) with the id of the right one, or delete the others in NetBird.
the same, and --adopt says which
    update policy p [made +9 s]
        sources ["keep"] → ["All"]
    adopts policy p as Adopted
    unmanaged: policy p
    note: NetBird has another policy with the name "p" (id daojn064mr64fain5cug). This file does not manage it and does not change it.
--adopt of one more than the entry can have
    impossible: policy p cannot adopt daojn2e4mr64fain5cug: the inventory has another object for it | delete that one in NetBird first; the inventory names its id
--adopt of what the entry has
    nothing
--adopt of a key of another name
    impossible: setup key k cannot adopt daojn02697iataqjdpo0: NetBird has no such object of this kind
one that a killed run made
    adopts policy p as Created
two that runs made at once
    delete policy p [made +9 s]: a second object of this entry, created by another run of this file
one that a run made and one that another run adopted
    let go: policy p: Adopted
one of another environment
    create policy p
    managed by lab.json: policy p
    note: NetBird has another policy with the name "p" (id daojn064mr64fain5cug), which "lab.json" manages. This file does not manage it and does not change it.
one that an environment may have which cannot be read
    skipped: policy p
    note: policy "p" is skipped: the inventory of the environment "lab" cannot be read, so "lab" perhaps manages this policy (id daojn064mr64fain5cug). Repair that inventory. If you are sure that "lab" does not manage it, run apply --adopt policies/p=daojn064mr64fain5cug (in a job: the input adopt of the apply workflow).
it is not known what is ours
    update policy p
        sources ["keep"] → ["All"]
--adopt for an entry that the file lacks
    impossible: policy p is named by --adopt, but the file does not have it
--adopt of what is not there
    impossible: policy p cannot adopt daojn064mr64fain5cug: NetBird has no such object of this kind

"#]].raw());
}

/// What refers to an object of ours means it, whatever it is called in NetBird.
#[test]
fn groups_that_are_renamed_or_made_twice() {
    let file = json!({ "groups": { "g": { "peers": [] } }, "policies": { "p": { "sources": ["g"], "destinations": ["g"] } } });
    let inventory = |ids: Value| json!({ "created": { "groups/g": ids, "policies/p": key(Kind::Policy, "p") } });
    let g = || group("g", &[]);
    let other = over(
        group("g", &[]),
        json!({ "id": id_at(Kind::Group, "g", MADE + 9) }),
    );
    let x = over(g(), json!({ "name": "x" }));
    let by = |name: &str, of: &Value| {
        let mut policy = policy(name, &["g"], &["g"]);
        let named = json!([{ "id": of["id"], "name": of["name"] }]);
        policy["rules"][0]["sources"] = named.clone();
        policy["rules"][0]["destinations"] = named;
        policy
    };
    let case = |groups: &[&Value], policies: Value, ids: Value| {
        Case::new(
            file.clone(),
            json!({ "groups": groups, "policies": policies }),
        )
        .inventory(inventory(ids))
    };
    let ids = |of: &[&Value]| {
        of.iter()
            .map(|group| group["id"].clone())
            .collect::<Value>()
    };
    let rows = [
        (
            "renamed by hand",
            case(&[&x], json!([by("p", &x)]), ids(&[&x])),
        ),
        (
            "renamed by hand, and another one has the name",
            case(&[&x, &other], json!([by("p", &x)]), ids(&[&x])),
        ),
        (
            "the same, and the policy names the other one",
            case(&[&x, &other], json!([by("p", &other)]), ids(&[&x])),
        ),
        (
            "two runs made it at once",
            case(
                &[&g(), &other],
                json!([by("p", &g())]),
                ids(&[&g(), &other]),
            ),
        ),
        (
            "the same, and the policy names the second",
            case(
                &[&g(), &other],
                json!([by("p", &other)]),
                ids(&[&g(), &other]),
            ),
        ),
        (
            "the same, and somebody else's policy names the second",
            case(
                &[&g(), &other],
                json!([by("p", &g()), by("q", &other)]),
                ids(&[&g(), &other]),
            ),
        ),
    ];
    let rows = rows.map(|(what, case)| (what, of(case)));
    assert_data_eq!(table(rows), str![[r#"
renamed by hand
    update group g: somebody renamed it to "x" in NetBird; this plan renames it back to "g". To keep the new name, write "x" in the file.
        name "x" → "g"
renamed by hand, and another one has the name
    unmanaged: group g (daojn2b076ei75c05t8g)
    note: NetBird has another group with the name "g" (id daojn2b076ei75c05t8g). This file does not manage it and does not change it.
    note: group "g" still has the name "x" in NetBird, because another group (id daojn2b076ei75c05t8g) has the name "g". Delete or rename the other group in NetBird; the next apply then renames "x" to "g".
the same, and the policy names the other one
    update policy p
        destinations ["g (daojn2b076ei75c05t8g)"] → ["g"]
        sources ["g (daojn2b076ei75c05t8g)"] → ["g"]
    unmanaged: group g (daojn2b076ei75c05t8g)
    note: NetBird has another group with the name "g" (id daojn2b076ei75c05t8g). This file does not manage it and does not change it.
    note: group "g" still has the name "x" in NetBird, because another group (id daojn2b076ei75c05t8g) has the name "g". Delete or rename the other group in NetBird; the next apply then renames "x" to "g".
two runs made it at once
    delete group g (daojn2b076ei75c05t8g) [made +9 s]: a second object of this entry, created by another run of this file
the same, and the policy names the second
    update policy p
        destinations ["g (daojn2b076ei75c05t8g)"] → ["g"]
        sources ["g (daojn2b076ei75c05t8g)"] → ["g"]
    delete group g (daojn2b076ei75c05t8g) [made +9 s]: a second object of this entry, created by another run of this file
the same, and somebody else's policy names the second
    held: group g (daojn2b076ei75c05t8g): not deleted, because it is still used by policy "q" (daojn064mr5kfain5650)
    unmanaged: policy q

"#]].raw());
}

/// What refers to the second one of a group equals what refers to the first, whatever other groups are called.
#[test]
fn a_second_policy_that_names_a_second_group_is_a_second_one() {
    let second = |kind: Kind, name: &str| id_at(kind, name, MADE + 9);
    for other in ["ops 2", "ops #2"] {
        let first = policy("p", &["ops", other], &["keep"]);
        let mut twin = over(first.clone(), json!({ "id": second(Kind::Policy, "p") }));
        twin["rules"][0]["sources"] =
            json!([{ "id": second(Kind::Group, "ops") }, { "id": id(Kind::Group, other) }]);
        let ops = over(
            group("ops", &[]),
            json!({ "id": second(Kind::Group, "ops") }),
        );
        let groups = json!([
            group("ops", &[]),
            ops,
            group(other, &[]),
            group("keep", &[])
        ]);
        let created = json!({
            "groups/ops": [id(Kind::Group, "ops"), second(Kind::Group, "ops")],
            "policies/p": [id(Kind::Policy, "p"), second(Kind::Policy, "p")],
        });
        let file = json!({ "groups": { "ops": {}, other: {}, "keep": {} },
                           "policies": { "p": { "sources": ["ops", other], "destinations": ["keep"] } } });
        let case = Case::new(file, json!({ "groups": groups, "policies": [first, twin] }));
        let plan = case.inventory(json!({ "created": created })).possible();
        assert_eq!(plan.counted_rows().len(), 0, "{other}: {:?}", plan.changes);
    }
}

/// Of kinds of which several can have a name each place of an entry has its own object.
#[test]
fn entries_of_several_objects() {
    let two = json!({ "routes": { "r": [
        { "network": "10.0.0.0/8", "peer_groups": ["All"] }, { "network": "10.0.0.0/8", "peer_groups": ["g"], "metric": 5 } ] }, "groups": { "g": {} } });
    let one = json!({ "routes": { "r": { "network": "10.0.0.0/8", "peer_groups": ["All"] } }, "groups": { "g": {} } });
    let first = || route("r", "10.0.0.0/8", &["All"]);
    let second = |fields: Value| {
        let id = id_at(Kind::Route, "r", MADE + 9);
        over(
            over(
                route("r", "10.0.0.0/8", &["g"]),
                json!({ "id": id, "metric": 5 }),
            ),
            fields,
        )
    };
    let ids = |of: &[Value]| json!({ "created": { "routes/r": of.iter().map(|it| it["id"].clone()).collect::<Vec<_>>() } });
    let lists = |routes: &[Value]| json!({ "groups": [group("g", &[])], "routes": routes });
    let none = || json!({});
    let rows = [
        (
            "both recorded",
            Case::new(two.clone(), lists(&[first(), second(none())]))
                .inventory(ids(&[first(), second(none())])),
        ),
        (
            "one by hand, of what lacks",
            Case::new(two.clone(), lists(&[first(), second(none())])).inventory(ids(&[first()])),
        ),
        (
            "one place left the file",
            Case::new(one.clone(), lists(&[first(), second(none())]))
                .inventory(ids(&[first(), second(none())]))
                .since(&[two.clone(), one.clone()]),
        ),
        (
            "one by hand beside ours",
            Case::new(one.clone(), lists(&[first(), second(none())])).inventory(ids(&[first()])),
        ),
        (
            "of another network, by hand",
            Case::new(
                one.clone(),
                lists(&[second(json!({ "network": "172.16.0.0/12" }))]),
            )
            .inventory(none()),
        ),
        (
            "changed by hand",
            Case::new(
                two.clone(),
                lists(&[first(), second(json!({ "metric": 9 }))]),
            )
            .inventory(ids(&[first(), second(none())])),
        ),
    ];
    let rows = rows.map(|(what, case)| (what, of(case)));
    assert_data_eq!(table(rows), str![[r#"
both recorded
    adopts group g as Adopted
one by hand, of what lacks
    adopts group g as Adopted
    adopts route r as Adopted
one place left the file
    delete route r [made +9 s]: it is no longer in the file
    adopts group g as Adopted
one by hand beside ours
    adopts group g as Adopted
    unmanaged: route r
    note: NetBird has another route with the name "r" (id daojn2d0reig0m8bel20). This file does not manage it and does not change it.
of another network, by hand
    create route r
    adopts group g as Adopted
    unmanaged: route r
    note: NetBird has another route with the name "r" (id daojn2d0reig0m8bel20). This file does not manage it and does not change it.
changed by hand
    update route r [made +9 s]
        metric 9 → 5
    adopts group g as Adopted

"#]].raw());
}

/// What stands in an object belongs to the object.
#[test]
fn what_stands_in_others() {
    let file = |records: Value| json!({ "dns": { "zones": { "corp": { "domain": "corp.example", "distribution_groups": ["All"], "records": records } } } });
    let record = |name: &str| json!([{ "name": name, "type": "A", "content": "10.0.0.1" }]);
    let lists = |name: &str, records: &[(&str, &str)]| {
        let zone = zone("corp", "corp.example", records, &["All"]);
        json!({ "zones": [over(zone, json!({ "name": name }))] })
    };
    let db = id(Kind::DnsRecord, "corp db.corp.example 10.0.0.1");
    let ours = || json!({ "created": { "zones/corp": key(Kind::DnsZone, "corp"), "records/corp/db.corp.example A": [db] } });
    let rows = [
        (
            "recorded",
            Case::new(
                file(record("db")),
                lists("corp", &[("db.corp.example", "10.0.0.1")]),
            )
            .inventory(ours()),
        ),
        (
            "the zone is renamed by hand",
            Case::new(
                file(record("db")),
                lists("corp2", &[("db.corp.example", "10.0.0.1")]),
            )
            .inventory(ours()),
        ),
        (
            "a record by hand beside ours",
            Case::new(
                file(record("db")),
                lists(
                    "corp",
                    &[
                        ("db.corp.example", "10.0.0.1"),
                        ("db.corp.example", "10.0.0.2"),
                    ],
                ),
            )
            .inventory(ours()),
        ),
        (
            "the record leaves",
            Case::new(
                file(json!([])),
                lists("corp", &[("db.corp.example", "10.0.0.1")]),
            )
            .inventory(ours()),
        ),
        (
            "the zone leaves",
            Case::new(
                json!({ "groups": { "keep": {} }, "dns": { "zones": {} } }),
                lists("corp", &[("db.corp.example", "10.0.0.1")]),
            )
            .inventory(ours()),
        ),
        (
            "the zone leaves, and has a record by hand",
            Case::new(
                json!({ "groups": { "keep": {} }, "dns": { "zones": {} } }),
                lists(
                    "corp",
                    &[
                        ("db.corp.example", "10.0.0.1"),
                        ("x.corp.example", "10.0.0.2"),
                    ],
                ),
            )
            .inventory(ours()),
        ),
        (
            "its section is gone",
            Case::new(
                json!({ "groups": { "keep": {} } }),
                lists("corp", &[("db.corp.example", "10.0.0.1")]),
            )
            .inventory(ours()),
        ),
        (
            "nobody declared the zone",
            Case::new(
                json!({ "groups": { "keep": {} }, "dns": { "zones": {} } }),
                lists("corp", &[("db.corp.example", "10.0.0.1")]),
            )
            .inventory(json!({})),
        ),
        (
            "the same, with --prune all",
            Case::new(
                json!({ "groups": { "keep": {} }, "dns": { "zones": {} } }),
                lists("corp", &[("db.corp.example", "10.0.0.1")]),
            )
            .inventory(json!({}))
            .prune_all(),
        ),
        (
            "the zone is to be replaced, and the file says nothing of its records",
            Case::new(
                json!({ "dns": { "zones": { "corp": { "domain": "new.example", "distribution_groups": ["All"] } } } }),
                lists("corp", &[("db.corp.example", "10.0.0.1")]),
            )
            .inventory(ours()),
        ),
        (
            "the zone is to be replaced, and has a record by hand",
            Case::new(
                json!({ "groups": { "keep": {} }, "dns": { "zones": { "corp": { "domain": "new.example", "distribution_groups": ["All"], "records": [] } } } }),
                lists(
                    "corp",
                    &[
                        ("db.corp.example", "10.0.0.1"),
                        ("x.corp.example", "10.0.0.2"),
                    ],
                ),
            )
            .inventory(ours()),
        ),
    ];
    let rows = rows.map(|(what, case)| (what, of(case)));
    assert_data_eq!(table(rows), str![[r#"
recorded
    nothing
the zone is renamed by hand
    update DNS zone corp: somebody renamed it to "corp2" in NetBird; this plan renames it back to "corp". To keep the new name, write "corp2" in the file.
        name "corp2" → "corp"
a record by hand beside ours
    unmanaged: DNS record db.corp.example A
    note: NetBird has another DNS record with the name "db.corp.example A" (id daojn00l12qrmjsui76g). This file does not manage it and does not change it.
the record leaves
    delete DNS record db.corp.example A: it is no longer in the file
the zone leaves
    create group keep
    delete DNS record db.corp.example A: it is no longer in the file
    delete DNS zone corp: it is no longer in the file
the zone leaves, and has a record by hand
    create group keep
    delete DNS record db.corp.example A: it is no longer in the file
    held: DNS zone corp: not deleted, because it contains DNS record "x.corp.example A" (daojn00jmcb30b697pvg), which is not deleted
its section is gone
    create group keep
    note: section "dns.zones" is no longer in the file, so nothing in it is managed any more. 1 DNS zone stays in NetBird as before: "corp". To manage it again, restore the section. To delete those that this tool created, restore the section empty.
    note: section "records" of DNS zone "corp" is no longer in the file, so nothing in it is managed any more. 1 DNS record stays in NetBird as before: "db.corp.example A". To manage it again, restore the section. To delete those that this tool created, restore the section empty.
nobody declared the zone
    create group keep
    unmanaged: DNS zone corp
the same, with --prune all
    create group keep
    delete DNS record db.corp.example A: it is not in the file (--prune all)
    delete DNS zone corp: it is not in the file (--prune all)
the zone is to be replaced, and the file says nothing of its records
    impossible: DNS zone corp cannot be replaced: that would delete DNS record "db.corp.example A" (daojn00l12pbmjsuhiq0) too, and the file does not declare it | declare the content in the file, too, or delete it in NetBird, or give the new one another name
the zone is to be replaced, and has a record by hand
    create group keep
    held: DNS zone corp: not changed, because NetBird must delete and create it again for this, and would delete DNS record "x.corp.example A" (daojn00jmcb30b697pvg) in it
    unmanaged: DNS record x.corp.example A

"#]].raw());
}
