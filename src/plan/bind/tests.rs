//! Which object an entry stands for, as a table: entries of networks against networks that differ in nothing but a description.

use serde_json::{Map, Value, json};

use super::read;
use crate::base::{Code, Id};
use crate::model::Kind;
use crate::plan::Standing;
use crate::testing::{Case, group, over, peer, policy};

/// A live network: its name, the name that it is recorded by, and marks: `c` created, `a` adopted, `m` made by us as the event log
/// says, `s` of another environment, `d` with another description than the file's.
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
                ours.strange.insert(id, "lab.json".into());
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
            "a: 1 beside 2",
        ),
        // the file follows
        (&[("x", "")], &[("x", "a", "c")], "x: 1"),
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

#[test]
fn of_two_groups_the_one_whose_members_the_file_lists_is_adopted() {
    let file = json!({ "groups": { "g": { "peers": ["a"] } } });
    let members = |id: &str, names: &[&str]| over(group("g", names), json!({ "id": id }));
    for (first, second, wanted) in [
        (&["a"][..], &["a", "b"][..], "adopts group g as Adopted: 1"),
        (&["a", "b"], &["a"], "adopts group g as Adopted: 2"),
        (&["b"], &["a"], "adopts group g as Adopted: 2"),
        (&["b"], &["a", "b"], ""),
    ] {
        let groups = [members("1", first), members("2", second)];
        let live = json!({ "groups": groups, "peers": [peer("a"), peer("b")] });
        let plan = Case::new(file.clone(), live)
            .inventory(json!({}))
            .possible();
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
}
