//! The files that people copy, and the schema their editors use, against the decoder; and texts that nobody wrote.

use std::collections::BTreeSet;

use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::{Map, Value};

use crate::check::validate::{Valid, validate};
use crate::file::Source;
use crate::model::{Address, Kind};

const NETBIRD: &str = include_str!("../../../../netbird.json");
const MINIMAL: &str = include_str!("../../../../examples/minimal.json");
const FULL: &str = include_str!("../../../../examples/full.json");

fn valid(text: &str) -> Valid {
    let source = Source::from_text("example", text).expect("a text");
    validate(&source).unwrap_or_else(|problems| panic!("{problems}"))
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).expect("JSON")
}

#[test]
fn examples_are_valid_and_say_nothing_odd() {
    for text in [NETBIRD, MINIMAL, FULL] {
        let valid = valid(text);
        assert_eq!(valid.notices, [], "{text}");
        assert_eq!(valid.references, [], "{text}");
        assert!(
            valid.desired.renamed_from.is_empty(),
            "a rename needs a history"
        );
    }
}

#[test]
fn netbird_json_makes_three_groups_a_key_a_policy_and_a_route() {
    let desired = valid(NETBIRD).desired;
    assert_eq!(desired.groups().count(), 3);
    let pending: Vec<_> = desired
        .setup_keys()
        .filter(|(_, key)| !key.enrolled)
        .map(|(name, _)| name.as_str())
        .collect();
    assert_eq!(pending, ["Pilot-hawk-72"]);
    assert!(
        desired
            .setup_key("GS-hawk-72")
            .is_some_and(|key| key.enrolled)
    );
    let number = |kind| desired.of_kind(kind).count();
    let counts = [Kind::Policy, Kind::Route, Kind::NameserverGroup].map(number);
    assert_eq!(counts, [1, 1, 0]);
    assert!(desired.manages(Kind::NameserverGroup));
}

#[test]
fn full_json_fits_a_new_account() {
    let desired = valid(FULL).desired;
    assert!(desired.setup_keys().all(|(_, key)| !key.enrolled));
    let keys: BTreeSet<_> = desired.setup_keys().map(|(name, _)| name).collect();
    let members = desired
        .groups()
        .filter_map(|(_, group)| group.listed.as_ref())
        .flatten();
    assert!(
        members.into_iter().all(|member| keys.contains(member)),
        "there are no other peers yet"
    );
}

#[test]
fn full_json_has_every_field_but_renames() {
    let full = json(FULL);
    for kind in Kind::ALL {
        let top = kind.top();
        let section = top.section_path().iter();
        let section = section.fold(&full, |place, name| &place[*name]);
        let entries: Vec<&Value> = match top.is_one() {
            true => vec![section],
            false => section
                .as_object()
                .into_iter()
                .flat_map(Map::values)
                .collect(),
        };
        let inside = |entry: &&'_ Value| match &entry[kind.section()] {
            Value::Array(list) => Some(list.clone()),
            Value::Object(named) => Some(named.values().cloned().collect()),
            _ => None,
        };
        let entries: Vec<Value> = match kind.parent() {
            Some(_) => entries.iter().filter_map(inside).flatten().collect(),
            None => {
                let objects = |entry: &Value| match entry {
                    Value::Array(all) => all.clone(),
                    one => vec![one.clone()],
                };
                entries.into_iter().flat_map(objects).collect()
            }
        };
        let rows = kind.outline().rows;
        // a server answers 412 to "geo" while it has no database of locations
        let left_out = ["renamed_from", "geo"];
        for row in rows.iter().filter(|row| !left_out.contains(&row.name)) {
            let is_there = entries.iter().any(|entry| entry.get(row.name).is_some());
            assert!(is_there, "{} of a {}", row.name, kind.label());
        }
    }
}

/// Pieces that turn a file into another one that is nearly right.
const PIECES: [&str; 24] = [
    "null",
    "{}",
    "[]",
    "\"\"",
    "0",
    "-1",
    "1e99",
    "true",
    ",",
    ":",
    "{",
    "}",
    "[",
    "]",
    "\"",
    "\\",
    "\u{202e}",
    "\u{feff}",
    "ü",
    "🦉",
    "\"All\"",
    "\"peers\": [1],",
    "\r\n",
    "//",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_judged(text in "\\PC{0,200}|[\\[\\]{}:,\"a-c0-9\\\\ \n/]{0,60}") {
        if let Ok(source) = Source::from_text("f", text) {
            let _ = validate(&source).map_err(|problems| problems.render());
        }
    }

    #[test]
    fn any_bytes_are_judged(bytes in proptest::collection::vec(any::<u8>(), 0..100)) {
        let _ = Source::from_bytes("f", bytes).map(|source| validate(&source).is_ok());
    }

    #[test]
    fn a_mutated_file_is_judged(edits in proptest::collection::vec((any::<Index>(), 0..12_usize, 0..PIECES.len()), 1..4)) {
        let mut chars: Vec<char> = FULL.chars().collect();
        for (at, cut, piece) in edits {
            let start = at.index(chars.len());
            let end = (start + cut).min(chars.len());
            chars.splice(start..end, PIECES[piece].chars());
        }
        let text: String = chars.into_iter().collect();
        let source = Source::from_text("f", text.clone()).expect("far from blank");
        match validate(&source) {
            Ok(valid) => {
                prop_assert!(serde_json::from_str::<Value>(&text).is_ok(), "valid, and no JSON");
                for (name, _) in valid.desired.groups() {
                    let address = Address::new(Kind::Group, name);
                    prop_assert!(valid.position_of(&address).is_some(), "{name}");
                }
            }
            Err(problems) => {
                prop_assert!(problems.errors().count() > 0);
                let positions: Vec<_> = problems.list.iter().map(|problem| (problem.place.line, problem.place.column)).collect();
                prop_assert!(positions.is_sorted());
                for problem in &problems.list {
                    let line = text.split('\n').nth(problem.place.line - 1).expect("the line exists");
                    prop_assert!(problem.place.column <= line.chars().count() + 1, "{problem:?}");
                    prop_assert!(!problem.render("f").contains('\u{202e}'), "{problem:?}");
                }
            }
        }
    }

    #[test]
    fn a_value_of_another_type_is_an_error_with_its_path(at in any::<Index>(), piece in 0..8_usize) {
        let mut file = json(FULL);
        let mut pointers = Vec::new();
        pointers_of(&file, String::new(), &mut pointers);
        let pointer = &pointers[at.index(pointers.len())];
        let put = json(PIECES[piece]);
        let value = file.pointer_mut(pointer).expect("it is there");
        let changed = std::mem::discriminant(value) != std::mem::discriminant(&put);
        *value = put;
        let text = file.to_string();
        let result = validate(&Source::from_text("f", text.clone()).expect("a text"));
        if changed && !pointer.contains("/ports/") {
            let problems = result.expect_err(&text);
            prop_assert!(problems.errors().any(|problem| problem.place.line == 1 && problem.place.column > 1), "{problems}");
        }
    }
}

fn pointers_of(value: &Value, path: String, pointers: &mut Vec<String>) {
    let mut child = |name: String, value: &Value| {
        pointers.push(format!("{path}/{name}"));
        pointers_of(value, format!("{path}/{name}"), pointers);
    };
    match value {
        Value::Object(members) => members
            .iter()
            .for_each(|(name, value)| child(name.clone(), value)),
        Value::Array(elements) => elements
            .iter()
            .enumerate()
            .for_each(|(index, value)| child(index.to_string(), value)),
        _ => (),
    }
}
