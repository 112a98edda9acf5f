//! What becomes of live objects: docs/ownership.md, and offboarding.

mod inside;
mod offboarding;
mod several;

use serde_json::{Value, json};
use snapbox::{IntoData, assert_data_eq, str};

use crate::base::Id;
use crate::model::{Address, Kind};
use crate::plan::{Prune, Standing};
use crate::testing::{Case, MADE, group, id, id_at, over, policy, table};

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
        ("it is not known what is ours, with --prune all", Case::new(none(), live(&[everybody("p"), q()])).prune(Prune::All)),
        ("a policy with the name of a group that the file names, with --prune all", Case::new(
            json!({ "policies": { "q": { "sources": ["keep"], "destinations": ["All"] } } }),
            live(&[everybody("keep"), policy("q", &["keep"], &["All"])])).inventory(json!({})).prune_all()),
        ("a policy by hand that is called as the group of all", Case::new(none(), live(&[everybody("All"), q()])).inventory(json!({}))),
        ("an adopted one, and one that somebody gave a later name", Case::new(none(), live(&[renamed("p", "z"), everybody("r"), q()]))
            .inventory(over(was(&["p"]), json!({ "adopted": { "policies/r": key(Kind::Policy, "r") } })))),
        ("a key that is dead, and the section is gone", Case::new(
            json!({ "groups": { "keep": {} } }),
            json!({ "groups": [group("keep", &[])], "setup_keys": [over(crate::testing::key("k", &[]), json!({ "valid": false, "state": "expired" }))] }))
            .inventory(json!({ "created": { "setup_keys/k": key(Kind::SetupKey, "k") } }))),
        ("adopted, with --prune all", Case::new(none(), live(&[everybody("p"), q()])).inventory(adopted.clone()).prune_all()),
        ("made by a killed run, and its change was reverted", Case::new(none(), live(&[everybody("p"), q()]))
            .inventory(json!({})).since(&before).ours(|ours| {
                ours.made.insert(Id::from(id(Kind::Policy, "p").as_str()));
            })),
        ("the same, and there is no inventory yet", Case::new(none(), live(&[everybody("p"), q()]))
            .inventory(json!({})).since(&before).ours(|ours| {
                ours.standing = Standing::First;
                ours.made.insert(Id::from(id(Kind::Policy, "p").as_str()));
            })),
        ("created, and renamed in NetBird to what an entry was called that is gone, too", Case::new(none(), live(&[renamed("p", "x"), q()]))
            .inventory(was(&["p"])).since(&[policies(&["p", "q", "x"]), policies(&["q"])]).ours(|ours| {
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
it is not known what is ours, with --prune all
    unmanaged: policy p
a policy with the name of a group that the file names, with --prune all
    delete policy keep: it is not in the file (--prune all)
    adopts policy q as Adopted
a policy by hand that is called as the group of all
    adopts policy q as Adopted
    unmanaged: policy All
an adopted one, and one that somebody gave a later name
    adopts policy q as Adopted
    let go: policy p: Renamed("z")
    let go: policy r: Adopted
a key that is dead, and the section is gone
    adopts group keep as Adopted
adopted, with --prune all
    delete policy p: it is no longer in the file
    adopts policy q as Adopted
made by a killed run, and its change was reverted
    delete policy p: it is no longer in the file
    adopts policy q as Adopted
the same, and there is no inventory yet
    adopts policy q as Adopted
    unmanaged: policy p
created, and renamed in NetBird to what an entry was called that is gone, too
    adopts policy q as Adopted
    let go: policy p: Renamed("x")
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
    let two_rules = |mut policy: Value| {
        let rule = policy["rules"][0].clone();
        policy["rules"] = json!([rule, rule]);
        policy
    };
    let sees_all = || json!({ "users": [{ "id": "u", "role": "admin", "is_current": true, "is_service_user": true }] });
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
            "two have its old name, and nobody recorded either",
            Case::new(follows("a"), live(&[everybody("a"), second("a")])).inventory(json!({})),
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
            "--adopt of what has another name",
            asked(Case::new(file(), live(&[everybody("x")])).inventory(json!({})), &everybody("x")),
        ),
        (
            "--adopt of what another entry had, which is gone",
            asked(
                Case::new(file(), live(&[everybody("x")]))
                    .inventory(json!({ "created": { "policies/x": key(Kind::Policy, "x") } })),
                &everybody("x"),
            ),
        ),
        (
            "--adopt of what a removed entry had, for an entry that has its own",
            asked(
                Case::new(file(), live(&[everybody("x"), second("p")])).inventory(json!({
                    "created": { "policies/x": key(Kind::Policy, "x"), "policies/p": [second("p")["id"]] },
                })),
                &everybody("x"),
            ),
        ),
        (
            "--adopt of what another entry has",
            asked(
                Case::new(policies(&["p", "x"]), live(&[everybody("x")]))
                    .inventory(json!({ "created": { "policies/x": key(Kind::Policy, "x") } })),
                &everybody("x"),
            ),
        ),
        (
            "--adopt beside the one that the file renames",
            asked(
                Case::new(follows("old"), live(&[everybody("old"), second("p")]))
                    .inventory(json!({ "created": { "policies/old": key(Kind::Policy, "old") } })),
                &second("p"),
            ),
        ),
        (
            "--adopt of the one that the file renames",
            asked(
                Case::new(follows("old"), live(&[everybody("old")]))
                    .inventory(json!({ "created": { "policies/old": key(Kind::Policy, "old") } })),
                &everybody("old"),
            ),
        ),
        ("--adopt of what the file renames to another entry's name", {
            let mut file = policies(&["p", "q"]);
            file["policies"]["q"]["renamed_from"] = json!("old");
            let case = Case::new(file, live(&[everybody("old")]));
            let old = key(Kind::Policy, "old");
            asked(case.inventory(json!({ "created": { "policies/old": old } })), &everybody("old"))
        }),
        (
            "--adopt of what somebody gave another entry's name",
            asked(
                Case::new(policies(&["p", "q"]), live(&[renamed("old", "q")]))
                    .inventory(json!({ "created": { "policies/old": key(Kind::Policy, "old") } })),
                &everybody("old"),
            ),
        ),
        (
            "--adopt of one for two entries",
            asked(
                Case::new(policies(&["p", "q"]), live(&[everybody("x")])).inventory(json!({})),
                &everybody("x"),
            )
            .ours(|ours| {
                let id = Id::from(id(Kind::Policy, "x").as_str());
                ours.asked.insert(Address::new(Kind::Policy, "q"), id);
            }),
        ),
        (
            "--adopt of two for two entries",
            asked(
                Case::new(policies(&["p", "q"]), live(&[everybody("x"), everybody("y")])).inventory(json!({})),
                &everybody("x"),
            )
            .ours(|ours| {
                let id = Id::from(id(Kind::Policy, "y").as_str());
                ours.asked.insert(Address::new(Kind::Policy, "q"), id);
            }),
        ),
        ("--adopt of a group of an identity provider", {
            let issued = over(group("staff", &[]), json!({ "issued": "jwt" }));
            let file = json!({ "groups": { "keep": {}, "g": {} } });
            let case = Case::new(file, json!({ "groups": [group("keep", &[]), issued] }));
            case.inventory(json!({})).ours(|ours| {
                let id = Id::from(id(Kind::Group, "staff").as_str());
                ours.asked.insert(Address::new(Kind::Group, "g"), id);
            })
        }),
        (
            "--adopt of what another environment has",
            asked(Case::new(file(), live(&[everybody("p")])).inventory(json!({})), &everybody("p")).ours(|ours| {
                let id = Id::from(id(Kind::Policy, "p").as_str());
                ours.strange.insert(id, "lab.json".into());
            }),
        ),
        (
            "--adopt in the place of one that somebody deleted",
            asked(
                Case::new(file(), over(live(&[second("p")]), sees_all()))
                    .inventory(json!({ "created": { "policies/p": key(Kind::Policy, "p") } })),
                &second("p"),
            ),
        ),
        (
            "--adopt of a group for what the file has as a machine",
            Case::new(
                json!({ "groups": { "keep": { "peers": ["edge"] } } }),
                json!({ "groups": [group("keep", &[]), group("edge", &[])] }),
            )
            .inventory(json!({ "created": { "groups/keep": key(Kind::Group, "keep") } }))
            .ours(|ours| {
                let id = Id::from(id(Kind::Group, "edge").as_str());
                ours.asked.insert(Address::new(Kind::Group, "edge"), id);
            }),
        ),
        ("--adopt of a group", asked(Case::new(file(), live(&[])).inventory(json!({})), &group("keep", &[]))),
        (
            "--adopt of a machine",
            asked(
                Case::new(file(), over(live(&[]), json!({ "peers": [crate::testing::peer("edge")] }))).inventory(json!({})),
                &crate::testing::peer("edge"),
            ),
        ),
        ("--adopt of a machine for a name that the file does not use", {
            let case = Case::new(file(), over(live(&[]), json!({ "peers": [crate::testing::peer("edge")] })));
            case.inventory(json!({})).ours(|ours| {
                let id = Id::from(id(Kind::Peer, "edge").as_str());
                ours.asked.insert(Address::new(Kind::Peer, "edge"), id);
            })
        }),
        (
            "--adopt of a machine that is not there",
            Case::new(json!({ "groups": { "g": { "peers": ["edge"] } } }), json!({})).inventory(json!({})).ours(|ours| {
                let id = Id::from(id(Kind::Peer, "edge").as_str());
                ours.asked.insert(Address::new(Kind::Peer, "edge"), id);
            }),
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
        ("the same, with --prune none", {
            let case = Case::new(file(), live(&[everybody("p"), second("p")]));
            let ids = json!([everybody("p")["id"], second("p")["id"]]);
            let case = case.inventory(json!({ "created": { "policies/p": ids } }));
            case.prune(Prune::None)
        }),
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
            "it is not known what is ours, and there are two",
            Case::new(file(), live(&[everybody("p"), second("p")])).prune(Prune::Owned),
        ),
        (
            "one that a killed run made, and somebody gave a second rule",
            Case::new(file(), live(&[two_rules(everybody("p"))]))
                .inventory(json!({}))
                .ours(|ours| {
                    ours.made.insert(Id::from(id(Kind::Policy, "p").as_str()));
                }),
        ),
        (
            "renamed by the file from what is not there, and several of its own name are",
            Case::new(
                follows("old"),
                live(&[differs(everybody("p")), differs(second("p"))]),
            )
            .inventory(json!({})),
        ),
        (
            "renamed by the file before, and deleted by hand",
            Case::new(follows("old"), live(&[])).inventory(ours()),
        ),
        (
            "renamed by the file from a name like that of a live one",
            Case::new(follows("gatewya"), live(&[everybody("gateway")])).inventory(json!({})),
        ),
        (
            "renamed by the file from a name like that of a recorded one, and like a group's",
            Case::new(follows("gatewya"), live(&[renamed("gateway", "x")])).inventory(json!({
                "created": { "policies/gateway": key(Kind::Policy, "gateway"), "groups/gatewy": key(Kind::Group, "keep") },
            })),
        ),
        (
            "a policy that NetBird made for a while, and that the file declares",
            Case::new(
                policies(&["Temporary access policy for peer edge"]),
                live(&[everybody("Temporary access policy for peer edge")]),
            )
            .inventory(json!({})),
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
two have its old name, and nobody recorded either
    update policy p
        name "a" → "p"
    adopts policy p as Adopted
    unmanaged: policy a
    note: NetBird has another policy with the name "p" (id daojn2e4mrdkfain8it0). This file does not manage it and does not change it.
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
--adopt of what has another name
    update policy p
        name "x" → "p"
    adopts policy p as Adopted
--adopt of what another entry had, which is gone
    update policy p
        name "x" → "p"
    moves to policies/p
--adopt of what a removed entry had, for an entry that has its own
    impossible: policy p cannot adopt daojn064mr24fain3mig: the inventory has another object for it | delete that one in NetBird first; the inventory names its id
--adopt of what another entry has
    impossible: policy p cannot adopt daojn064mr24fain3mig: it is the object of policy "x" | take that entry out of the file, or rename it with renamed_from
--adopt beside the one that the file renames
    impossible: policy p cannot adopt daojn2e4mr64fain5cug: the inventory has another object for it | delete that one in NetBird first; the inventory names its id
--adopt of the one that the file renames
    update policy p
        name "old" → "p"
    moves to policies/p
--adopt of what the file renames to another entry's name
    impossible: policy p cannot adopt daojn03let2j7rdt2l80: it is the object of policy "q" | take that entry out of the file, or rename it with renamed_from
--adopt of what somebody gave another entry's name
    impossible: policy p cannot adopt daojn03let2j7rdt2l80: it is the object of policy "q" | take that entry out of the file, or rename it with renamed_from
--adopt of one for two entries
    impossible: policy p cannot adopt daojn064mr24fain3mig: --adopt names it for policy "q", too | name it for one of them
    impossible: policy q cannot adopt daojn064mr24fain3mig: --adopt names it for policy "p", too | name it for one of them
--adopt of two for two entries
    update policy p
        name "x" → "p"
    update policy q
        name "y" → "q"
    adopts policy p as Adopted
    adopts policy q as Adopted
--adopt of a group of an identity provider
    impossible: group g cannot adopt daojn07tua196fpt4ot0: it does not fit this entry | it is in something else, is not in the list of the entry, is a key with another name, or is never managed (All, and groups of an identity provider)
--adopt of what another environment has
    impossible: policy p cannot adopt daojn064mr64fain5cug: "lab.json" manages it | remove its entry from that file first, and apply that file
--adopt in the place of one that somebody deleted
    adopts policy p as Adopted
--adopt of a group for what the file has as a machine
    impossible: group edge is named by --adopt, but the file does not have it
--adopt of a group
    impossible: policy p cannot adopt daojn05prnn64ptkfmug: NetBird has no such object of this kind
--adopt of a machine
    impossible: policy p cannot adopt daojn00qcrormgvs1g00: NetBird has no such object of this kind
--adopt of a machine for a name that the file does not use
    impossible: peer edge is named by --adopt, but the file does not have it
--adopt of a machine that is not there
    impossible: peer edge cannot adopt daojn00qcrormgvs1g00: NetBird has no such object of this kind
--adopt of a key of another name
    impossible: setup key k cannot adopt daojn02697iataqjdpo0: it does not fit this entry | it is in something else, is not in the list of the entry, is a key with another name, or is never managed (All, and groups of an identity provider)
one that a killed run made
    adopts policy p as Created
two that runs made at once
    delete policy p [made +9 s]: a second object of this entry, created by another run of this file
the same, with --prune none
    unmanaged: policy p
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
it is not known what is ours, and there are two
    unmanaged: policy p
one that a killed run made, and somebody gave a second rule
    create policy p
    unmanaged: policy p
    note: NetBird has another policy with the name "p" (id daojn064mr64fain5cug). This file does not manage it and does not change it.
renamed by the file from what is not there, and several of its own name are
    skipped: policy p
    note: policy "p" is skipped: several objects in NetBird fit this entry (daojn064mr64fain5cug, daojn2e4mr64fain5cug). Run apply --adopt policies/p=ID (in a job: the input adopt of the apply workflow) with the id of the right one, or delete the others in NetBird.
renamed by the file before, and deleted by hand
    create policy p: was deleted in NetBird; this plan creates it again
renamed by the file from a name like that of a live one
    create policy p
    unmanaged: policy gateway
    note: policy "p" is created as a new policy: NetBird has no policy "gatewya" to rename; did you mean "gateway"?
renamed by the file from a name like that of a recorded one, and like a group's
    create policy p
    let go: policy gateway: Renamed("x")
    note: section "groups" is no longer in the file, so nothing in it is managed any more. 1 group stays in NetBird as before: "keep". To manage it again, restore the section. To delete those that this tool created, restore the section empty.
    note: policy "p" is created as a new policy: NetBird has no policy "gatewya" to rename; did you mean "gateway"?
a policy that NetBird made for a while, and that the file declares
    adopts policy Temporary access policy for peer edge as Adopted
--adopt for an entry that the file lacks
    impossible: policy p is named by --adopt, but the file does not have it
--adopt of what is not there
    impossible: policy p cannot adopt daojn064mr64fain5cug: NetBird has no such object of this kind

"#]].raw());
}
