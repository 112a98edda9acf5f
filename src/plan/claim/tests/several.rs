//! Groups and entries that several objects could be.

use serde_json::{Value, json};
use snapbox::{IntoData, assert_data_eq, str};

use super::{key, of};
use crate::base::Id;
use crate::model::{Address, Kind};
use crate::testing::{Case, MADE, group, id, id_at, over, policy, route, table};

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
    let policies_of = |name: &str| json!({ "sources": [name], "destinations": [name] });
    let strange = |ours: &mut crate::plan::Ours| {
        let id = other["id"].as_str().expect("an id");
        ours.strange.insert(Id::from(id), "lab.json".into());
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
            "renamed by hand, and a run that was killed made another one",
            case(&[&x, &other], json!([by("p", &x)]), ids(&[&x])).ours(|ours| {
                let id = other["id"].as_str().expect("an id");
                ours.made.insert(Id::from(id));
            }),
        ),
        (
            "ours, and another environment has one of the name",
            case(&[&g(), &other], json!([by("p", &g())]), ids(&[&g()])).ours(strange),
        ),
        (
            "another environment has the only one of the name",
            case(&[&other], json!([]), json!([])).ours(strange),
        ),
        ("the same, and another policy names another group", {
            let policies = json!({ "p": policies_of("g"), "q": policies_of("h") });
            Case::new(
                json!({ "groups": { "g": {}, "h": {} }, "policies": policies }),
                json!({ "groups": [&other, group("h", &[])] }),
            )
            .inventory(json!({ "created": { "groups/h": key(Kind::Group, "h") } }))
            .ours(strange)
        }),
        (
            "renamed by hand to a new entry's name, while another one has its own",
            Case::new(
                json!({ "groups": { "g": {}, "x": {} } }),
                json!({ "groups": [&x, &other] }),
            )
            .inventory(json!({ "created": { "groups/g": [x["id"]] } })),
        ),
        (
            "the same of network resources, and the new entry is in another network",
            {
                let host = json!({ "address": "10.0.0.9" });
                let resource = |id: &str, name: &str| json!({ "id": id, "name": name, "address": "10.0.0.9/32", "groups": [] });
                Case::new(
                    json!({ "networks": { "m": { "resources": { "x": host } }, "n": { "resources": { "r": host } } } }),
                    json!({
                        "networks": [{ "id": "m", "name": "m" }, { "id": "n", "name": "n", "resources": ["first", "second"] }],
                        "network_resources": [resource("first", "x"), resource("second", "r")],
                    }),
                )
                .inventory(json!({ "created": { "networks/m": ["m"], "networks/n": ["n"], "resources/r": ["first"] } }))
            },
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
            "the same, and a machine is in the second, beside another group",
            {
                let with_edge = over(
                    other.clone(),
                    json!({ "peers": [{ "id": id(Kind::Peer, "edge"), "name": "edge" }] }),
                );
                Case::new(
                json!({ "groups": { "g": {}, "h": {} } }),
                json!({ "groups": [g(), with_edge, group("h", &[])], "peers": [crate::testing::peer("edge")] }),
            )
            .inventory(json!({ "created": { "groups/g": [g()["id"], other["id"]], "groups/h": key(Kind::Group, "h") } }))
            },
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
renamed by hand, and a run that was killed made another one
    delete group g (daojn2b076ei75c05t8g) [made +9 s]: a second object of this entry, created by another run of this file
    note: group "g" still has the name "x" in NetBird, because another group (id daojn2b076ei75c05t8g) has the name "g". Delete or rename the other group in NetBird; the next apply then renames "x" to "g".
ours, and another environment has one of the name
    managed by lab.json: group g (daojn2b076ei75c05t8g)
    note: NetBird has another group with the name "g" (id daojn2b076ei75c05t8g), which "lab.json" manages. This file does not manage it and does not change it.
another environment has the only one of the name
    skipped: group g
    skipped: policy p
    managed by lab.json: group g
    note: group "g" is skipped: "lab.json" manages this group (id daojn2b076ei75c05t8g), and NetBird allows only one. Remove the entry from one of the two files.
    note: policy "p" is skipped: it refers to group "g", which is skipped, too
the same, and another policy names another group
    create policy q
    skipped: group g
    skipped: policy p
    managed by lab.json: group g
    note: group "g" is skipped: "lab.json" manages this group (id daojn2b076ei75c05t8g), and NetBird allows only one. Remove the entry from one of the two files.
    note: policy "p" is skipped: it refers to group "g", which is skipped, too
renamed by hand to a new entry's name, while another one has its own
    skipped: group x
    unmanaged: group g (daojn2b076ei75c05t8g)
    note: NetBird has another group with the name "g" (id daojn2b076ei75c05t8g). This file does not manage it and does not change it.
    note: group "g" still has the name "x" in NetBird, because another group (id daojn2b076ei75c05t8g) has the name "g". Delete or rename the other group in NetBird; the next apply then renames "x" to "g".
    note: group "x" is skipped: NetBird has another group with this name (id daojn03076ei75c05t8g), and allows only one. Rename one of the two, or delete the other one in NetBird.
the same of network resources, and the new entry is in another network
    skipped: network resource x
    unmanaged: network resource r (second)
    note: network resource "x" is skipped: NetBird has another network resource with this name (id first), and allows only one. Rename one of the two, or delete the other one in NetBird.
    note: NetBird has another network resource with the name "r" (id second). This file does not manage it and does not change it.
    note: network resource "r" still has the name "x" in NetBird, because another network resource (id second) has the name "r". Delete or rename the other network resource in NetBird; the next apply then renames "x" to "r".
two runs made it at once
    delete group g (daojn2b076ei75c05t8g) [made +9 s]: a second object of this entry, created by another run of this file
the same, and a machine is in the second, beside another group
    update group g
        peers [] → ["edge"]
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
    let third = json!({ "network": "172.16.0.0/12", "peer_groups": ["g"] });
    let three = json!({ "routes": { "r": [two["routes"]["r"][0], two["routes"]["r"][1], third] }, "groups": { "g": {} } });
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
            "the first place waits for its machine",
            Case::new(
                over(two.clone(), json!({ "routes": { "r": [
                    { "network": "10.0.0.0/8", "peer": "gw", "groups": ["All"] }, two["routes"]["r"][1] ] },
                    "setup_keys": { "gw": { "type": "one-off", "expires_in": 5_184_000 } } })),
                over(lists(&[second(none())]), json!({ "setup_keys": [crate::testing::key("gw", &[])] })),
            )
            .inventory(ids(&[second(none())])),
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
    let least = over(first(), json!({ "id": id_at(Kind::Route, "r", MADE + 99) }));
    let other = second(json!({ "network": "172.16.0.0/12" }));
    let later = over(
        second(json!({ "metric": 9 })),
        json!({ "id": id_at(Kind::Route, "r", MADE + 19) }),
    );
    let asked = |case: Case| {
        let id = first()["id"].as_str().map(Id::from).expect("an id");
        case.ours(|ours| drop(ours.asked.insert(Address::new(Kind::Route, "r"), id)))
    };
    let ops = |issued: &str| {
        let id = id_at(Kind::Group, "ops", MADE + issued.len() as i64);
        over(group("ops", &[]), json!({ "id": id, "issued": issued }))
    };
    let twins = json!({ "groups": [group("g", &[]), ops("jwt"), ops("integration")] });
    let mut with_ops = one.clone();
    with_ops["routes"]["r"]["groups"] = json!(["ops"]);
    let rows = rows.into_iter().chain([
        (
            "one place left the file, and the entry is skipped",
            Case::new(with_ops, over(lists(&[first(), second(none())]), twins))
                .inventory(ids(&[first(), second(none())])),
        ),
        (
            "--adopt of one of its own that has no place any more",
            Case::new(one.clone(), lists(&[first(), second(none())]))
                .inventory(ids(&[first(), second(none())]))
                .ours(|ours| {
                    let id = second(none())["id"].as_str().map(Id::from).expect("an id");
                    ours.asked.insert(Address::new(Kind::Route, "r"), id);
                }),
        ),
        (
            "three recorded: what differs least becomes the entry",
            Case::new(
                two.clone(),
                lists(&[least.clone(), other.clone(), later.clone()]),
            )
            .inventory(ids(&[other, later, least])),
        ),
        (
            "--adopt of one that the entry has, which lacks another one",
            asked(
                Case::new(three, lists(&[first(), second(none())]))
                    .inventory(ids(&[first(), second(none())])),
            ),
        ),
        (
            "--adopt of the one that the entry lacks",
            asked(
                Case::new(two.clone(), lists(&[first(), second(none())]))
                    .inventory(ids(&[second(none())])),
            ),
        ),
    ]);
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
the first place waits for its machine
    create setup key gw
    adopts group g as Adopted
    note: NetBird has another valid setup key with the name "gw" (id daojn05t6rak1kmtqj40). This file does not manage it and does not change it. To use it for this entry, run apply --adopt setup_keys/gw=daojn05t6rak1kmtqj40 (in a job: the input adopt of the apply workflow).
    note: route "r" names "gw", but the machine of this setup key has not enrolled yet. This entry is skipped until its peer is known.
changed by hand
    update route r [made +9 s]
        metric 9 → 5
    adopts group g as Adopted
one place left the file, and the entry is skipped
    adopts group g as Adopted
    skipped: route r
    unmanaged: group ops
    note: route "r" is skipped: it refers to the group "ops", but an identity provider gave this name to 2 groups (daojn0oli0f47kodblk0, daojn2oli0f47kodblk0). It is not known which group is meant. Rename one of them in the identity provider, or refer to another group.
--adopt of one of its own that has no place any more
    impossible: route r cannot adopt daojn2d0reig0m8bel20: it does not fit this entry | it is in something else, is not in the list of the entry, is a key with another name, or is never managed (All, and groups of an identity provider)
three recorded: what differs least becomes the entry
    update route r [made +19 s]
        metric 9 → 5
    delete route r [made +9 s]: it is no longer in the file
    adopts group g as Adopted
--adopt of one that the entry has, which lacks another one
    create route r
    adopts group g as Adopted
--adopt of the one that the entry lacks
    adopts group g as Adopted
    adopts route r as Adopted

"#]].raw());
}
