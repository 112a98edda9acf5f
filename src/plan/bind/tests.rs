//! Which object an entry stands for, as a table: entries of networks against networks that differ in nothing but a description.

use serde_json::{Map, Value, json};

use super::read;
use crate::base::{Code, Id};
use crate::model::{Address, Kind};
use crate::plan::{Prune, Standing};
use crate::testing::{Case, group, id, over, peer, policy};

/// A live network: its name, the name that it is recorded by, and marks: `c` created, `a` adopted, `m` made by us as the event log
/// says, `s` of another environment, `d` with another description than the file's, `w` wanted for the entry `b` by `--adopt`.
type Row<'a> = (&'a str, &'a str, &'a str);

/// What becomes of these networks, which are numbered by age from 1. Entries: the name, and the name that it had.
fn outcome(entries: &[(&str, &str)], rows: &[Row]) -> String {
    let mut file = Map::new();
    for (name, old) in entries {
        let mut entry = json!({ "description": "" });
        if !old.is_empty() {
            entry["renamed_from"] = json!(old);
        }
        file.insert((*name).into(), entry);
    }
    let live = rows.iter().zip(1..).map(|((name, _, marks), id)| {
        let description = if marks.contains('d') { "other" } else { "" };
        json!({ "id": id.to_string(), "name": name, "description": description })
    });
    let live = json!({ "networks": live.collect::<Vec<Value>>() });
    let mut inventory = json!({ "created": {}, "adopted": {} });
    for ((_, key, marks), id) in rows.iter().zip(1..) {
        let list = if marks.contains('a') {
            "adopted"
        } else {
            "created"
        };
        if marks.contains(['a', 'c']) {
            let ids = &mut inventory[list][format!("networks/{key}")];
            let more = json!([id.to_string()]);
            let known = ids.as_array().into_iter().chain(more.as_array()).flatten();
            *ids = known.cloned().collect();
        }
    }
    // a file of nothing is refused
    let file = json!({ "networks": file, "groups": { "g": {} } });
    let case = Case::new(file, live).inventory(inventory);
    said(&case.ours(|ours| {
        for ((_, _, marks), id) in rows.iter().zip(1..) {
            let id = Id::from(id.to_string().as_str());
            if marks.contains('m') {
                ours.made.insert(id.clone());
            }
            if marks.contains('s') {
                ours.strange.insert(id.clone(), "lab.json".into());
            }
            if marks.contains('w') {
                ours.asked.insert(Address::new(Kind::Network, "b"), id);
            }
        }
    }))
}

/// Says which objects entries stand for, as `NAME: ID as HOW …; leaves ID …`.
fn said(case: &Case) -> String {
    let (_, bound) = read(&case.desired, &case.snapshot, None, &case.options).expect("answers");
    let mut lines = Vec::new();
    let entries = bound.stands.iter();
    for (address, stands) in entries.filter(|(at, _)| at.kind != Kind::Group) {
        let mut line = format!("{}:", address.name);
        for id in stands.iter().flatten() {
            let how = bound.adopted.get(id).map(|(_, how)| format!(" as {how:?}"));
            line += &format!(" {id}{}", how.unwrap_or_default());
        }
        for (id, (_, how)) in bound.surplus.iter().filter(|(_, (at, _))| at == address) {
            line += &format!(" surplus {id} {how:?}");
        }
        for id in bound
            .unclear
            .iter()
            .filter(|_| bound.skipped.contains(address))
        {
            line += &format!(" unclear {id}");
        }
        // nothing else in these words is a number
        let beside = bound.notices.iter().filter(|of| of.code == Code::Namesake);
        for notice in beside.filter(|of| of.about.as_ref() == Some(address)) {
            for id in notice.words().matches(char::is_numeric) {
                line += &format!(" beside {id}");
            }
        }
        if stands
            .iter()
            .flatten()
            .any(|id| bound.keeps_name.contains(id))
        {
            line += " keeps its name";
        }
        lines.push(line);
    }
    lines.extend(bound.leaving.iter().map(|(id, leaving)| {
        let renamed = if leaving.is_renamed { " renamed" } else { "" };
        format!("leaves {id} {:?}{renamed}", leaving.origin)
    }));
    lines.join("; ")
}

#[test]
fn recorded_objects_are_known_by_their_ids() {
    type Entries<'a> = &'a [(&'a str, &'a str)];
    let rows: &[(Entries, &[Row], &str)] = &[
        (&[("a", "")], &[("a", "a", "c")], "a: 1"),
        // renamed in NetBird
        (&[("a", "")], &[("x", "a", "c")], "a: 1"),
        // and somebody made another one of the name
        (
            &[("a", "")],
            &[("x", "a", "c"), ("a", "", "")],
            "a: 1 beside 2 keeps its name",
        ),
        // that one is ours, too, and goes
        (
            &[("a", "")],
            &[("x", "a", "c"), ("a", "", "m")],
            "a: 1 surplus 2 Created",
        ),
        // the file follows
        (&[("x", "")], &[("x", "a", "c")], "x: 1"),
        // two runs had made it, and somebody renamed both
        (
            &[("x", "")],
            &[("x", "a", "c"), ("x", "a", "c")],
            "x: 1 surplus 2 Created",
        ),
        // somebody gave both other names: the oldest stands
        (
            &[("a", "")],
            &[("x", "a", "c"), ("b", "a", "c")],
            "a: 1 surplus 2 Created",
        ),
        // a person says whose it is, whatever entry it had, or has the name of
        (&[("b", "")], &[("a", "a", "cw")], "b: 1"),
        (
            &[("a", ""), ("b", "")],
            &[("a", "", "w")],
            "a:; b: 1 as Adopted",
        ),
        // the file renames
        (&[("b", "a")], &[("a", "a", "c")], "b: 1"),
        // it did already
        (&[("b", "a")], &[("b", "b", "c")], "b: 1"),
        (&[], &[("a", "a", "c")], "leaves 1 Created"),
        (&[], &[("x", "a", "c")], "leaves 1 Created renamed"),
        (&[], &[("a", "a", "a")], "leaves 1 Adopted"),
        (&[], &[("a", "", "m")], ""),
        // two runs made it at once
        (
            &[("a", "")],
            &[("a", "a", "c"), ("a", "a", "c")],
            "a: 1 surplus 2 Created",
        ),
    ];
    for (entries, objects, wanted) in rows {
        assert_eq!(outcome(entries, objects), *wanted, "{objects:?}");
    }
}

#[test]
fn others_are_adopted_by_name_where_nothing_else_can_be_meant() {
    let rows: &[(&[Row], &str)] = &[
        (&[("a", "", "d")], "a: 1 as Adopted"),
        (&[("a", "", "dm")], "a: 1 as Created"),
        (&[("a", "", "s")], "a: beside 1"),
        (&[("a", "", ""), ("a", "", "")], "a: 1 as Adopted beside 2"),
        (&[("a", "", "d"), ("a", "", "")], "a: 2 as Adopted beside 1"),
        (&[("a", "", "d"), ("a", "", "d")], "a: unclear 1 unclear 2"),
        (
            &[("a", "", "d"), ("a", "", "dm")],
            "a: 2 as Created beside 1",
        ),
        (&[("a", "a", "c"), ("a", "", "m")], "a: 1 surplus 2 Created"),
        (&[("old", "", "")], "a:"),
    ];
    for (objects, wanted) in rows {
        assert_eq!(outcome(&[("a", "")], objects), *wanted, "{objects:?}");
    }
    let renamed = [("a", "old")];
    assert_eq!(outcome(&renamed, &[("old", "", "")]), "a: 1 as Adopted");
    let both = [("old", "", ""), ("a", "", "")];
    assert_eq!(outcome(&renamed, &both), "a: 2 as Adopted");
}

/// Of what two runs made that stands which no change has to replace.
#[test]
fn of_two_recorded_objects_the_one_that_can_become_the_entry_stands() {
    let domain = |domain: &str| json!({ "domain": domain, "distribution_groups": ["All"] });
    let file = json!({ "dns": { "zones": { "z": domain("new.example") } } });
    let zone = |(id, domain): (&str, &str)| json!({ "id": id, "name": "z", "domain": domain, "enabled": true, "distribution_groups": [] });
    for (domains, wanted) in [
        (
            [("1", "old.example"), ("2", "new.example")],
            "z: 2 surplus 1 Created",
        ),
        (
            [("1", "new.example"), ("2", "old.example")],
            "z: 1 surplus 2 Created",
        ),
        (
            [("1", "new.example"), ("2", "new.example")],
            "z: 1 surplus 2 Created",
        ),
    ] {
        let case = Case::new(file.clone(), json!({ "zones": domains.map(zone) }));
        let case = case.inventory(json!({ "created": { "zones/z": ["1", "2"] } }));
        assert_eq!(said(&case), wanted);
    }
}

/// A surplus object that the same run deletes gives up its name; where it stays, our object keeps the name that it has.
#[test]
fn a_name_is_waited_for_where_its_object_stays() {
    let domain = |domain: &str| json!({ "domain": domain, "distribution_groups": ["All"] });
    let file = json!({ "dns": { "zones": { "z": domain("new.example") } } });
    let zone = |id: &str, name: &str, domain: &str| json!({ "id": id, "name": name, "domain": domain, "enabled": true, "distribution_groups": [] });
    let lists = json!({ "zones": [zone("1", "x", "new.example"), zone("2", "z", "old.example")] });
    for (second, prune, wanted) in [
        ("created", Prune::Owned, "z: 1 surplus 2 Created"),
        ("created", Prune::All, "z: 1 surplus 2 Created"),
        (
            "created",
            Prune::None,
            "z: 1 surplus 2 Created keeps its name",
        ),
        (
            "adopted",
            Prune::Owned,
            "z: 1 surplus 2 Adopted keeps its name",
        ),
        ("adopted", Prune::All, "z: 1 surplus 2 Adopted"),
    ] {
        let mut recorded = json!({ "created": { "zones/z": ["1"] } });
        if second == "created" {
            recorded["created"]["zones/z"] = json!(["1", "2"]);
        } else {
            recorded[second] = json!({ "zones/z": ["2"] });
        }
        let case = Case::new(file.clone(), lists.clone());
        let case = case.inventory(recorded).prune(prune);
        assert_eq!(said(&case), wanted, "{second} {prune:?}");
    }
}

/// A recorded object that no list has is asked for by its id before it counts as deleted, where the lists are whole.
#[test]
fn what_was_recorded_and_no_list_has_is_looked_for() {
    let file = json!({ "groups": { "staff": {}, "new": {} }, "policies": {} });
    let live = |me: Value| {
        let g = over(group("g", &[]), json!({ "peers": [{ "id": "m9" }] }));
        let staff = over(group("staff", &[]), json!({ "issued": "jwt" }));
        json!({ "groups": [g, staff], "peers": [over(peer("here"), json!({ "id": "m1" }))], "zones": [], "users": [me] })
    };
    let me = |role: &str, is_service: bool| json!({ "id": "u", "role": role, "is_current": true, "is_service_user": is_service });
    let of = |me: Value| {
        let case = Case::new(file.clone(), live(me)).inventory(json!({
            "created": { "groups/lost": ["1"], "groups/old": [id(Kind::Group, "g")], "policies/p": ["2"], "records/z/db A": ["3"] },
            "enrolled": { "k": ["m2"], "here": ["m1"] },
            "names": { "cam": "m3", "k": "m2", "nobody": null },
        }));
        let (actual, bound) =
            read(&case.desired, &case.snapshot, None, &case.options).expect("answers");
        let absent = bound.absent(&actual, &case.options.ours.inventory);
        let absent = absent
            .into_iter()
            .map(|(at, id)| format!("{at}: {id}"))
            .collect::<Vec<_>>();
        assert_eq!(bound.issued_groups(&actual), ["staff".to_owned()].into());
        (bound.whole.len(), absent.join(", "))
    };
    // whoever sees a part only cannot tell
    assert_eq!(of(me("user", false)), (0, "peer m9: m9".into()));
    let (kinds, absent) = of(me("admin", true));
    assert_eq!(
        absent,
        "group lost: 1, peer cam: m3, peer k: m2, peer m9: m9, DNS record db A: 3"
    );
    assert_eq!(kinds, 4, "groups, peers, zones and the records in these");
}

/// Groups of the older version of the file are found by the names that they have in this one.
#[test]
fn groups_that_have_another_name_in_the_file() {
    let file = json!({ "groups": { "new": { "renamed_from": "old" }, "same": {} },
                       "policies": { "q": { "sources": ["All"], "destinations": ["All"], "renamed_from": "p" } } });
    let live = json!({ "groups": [group("old", &[]), group("same", &[])], "policies": [policy("p", &["All"], &["All"])] });
    let case = Case::new(file, live).inventory(json!({ "created": {
        "groups/old": [id(Kind::Group, "old")], "groups/same": [id(Kind::Group, "same")], "policies/p": [id(Kind::Policy, "p")],
    } }));
    let (_, bound) = read(&case.desired, &case.snapshot, None, &case.options).expect("answers");
    let followed = bound.followed_groups(&case.options.ours.inventory);
    assert_eq!(followed, [("old".to_owned(), "new".to_owned())].into());
}

#[test]
fn of_two_groups_the_one_whose_members_the_file_lists_is_adopted() {
    let members = |id: &str, names: &[&str]| over(group("g", names), json!({ "id": id }));
    for (listed, first, second, wanted) in [
        (
            &["a"][..],
            &["a"][..],
            &["a", "b"][..],
            "adopts group g as Adopted: 1",
        ),
        (&["a"], &["a", "b"], &["a"], "adopts group g as Adopted: 2"),
        (&["a"], &["b"], &["a"], "adopts group g as Adopted: 2"),
        (&["a"], &["b"], &["a", "b"], ""),
        (
            &["a", "b"],
            &["a"],
            &["a", "b"],
            "adopts group g as Adopted: 2",
        ),
    ] {
        let file = json!({ "groups": { "g": { "peers": listed } } });
        let groups = [members("1", first), members("2", second)];
        let live = json!({ "groups": groups, "peers": [peer("a"), peer("b")] });
        let plan = Case::new(file, live).inventory(json!({})).possible();
        let adopted = plan.adoptions.iter();
        let adopted = adopted.map(|(at, of)| format!("adopts {at} as {:?}: {}", of.origin, of.id));
        assert_eq!(adopted.collect::<String>(), wanted, "{first:?} {second:?}");
    }
}

#[test]
fn what_no_file_can_say_is_another_thing() {
    let file = json!({ "policies": { "p": { "sources": ["All"], "destinations": ["All"] } } });
    let mut live = policy("p", &["All"], &["All"]);
    live["id"] = json!("1");
    let rule = live["rules"][0].clone();
    live["rules"] = json!([rule, rule]);
    let case = Case::new(file, json!({ "policies": [live] }));
    assert_eq!(
        said(&case.ours(|ours| ours.standing = Standing::Read)),
        "p: beside 1"
    );
    // of a kind whose names are unique none can be made beside it
    let file = json!({ "posture_checks": { "c": { "nb_version": "0.50.0" } } });
    let live = json!({ "id": "1", "name": "c", "checks": { "disk_check": {} } });
    let case = Case::new(file, json!({ "posture_checks": [live] })).inventory(json!({}));
    assert_eq!(said(&case), "c: beside 1");
    let skipped = case.possible().skipped;
    assert_eq!(skipped, [Address::new(Kind::PostureCheck, "c")].into());
}
