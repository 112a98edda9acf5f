//! The files that people copy, and the schema their editors use, against the decoder; and texts that nobody wrote.

use std::collections::BTreeSet;

use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::Value;

use super::{
    DNS, FILE, Valid, group, nameserver, nameserver_group, policy, route, setup_key, validate,
};
use crate::config::{Presence, Source, Table};
use crate::state::{Address, Kind};

const NETBIRD: &str = include_str!("../../netbird.json");
const MINIMAL: &str = include_str!("../../examples/minimal.json");
const FULL: &str = include_str!("../../examples/full.json");
const SCHEMA: &str = include_str!("../../docs/netbird.schema.json");

fn valid(text: &str) -> Valid {
    let source = Source::from_text("example", text).expect("a text");
    validate(&source).unwrap_or_else(|problems| panic!("{problems}"))
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).expect("JSON")
}

fn keys(object: &Value) -> BTreeSet<&str> {
    object
        .as_object()
        .map(|object| object.keys().map(String::as_str).collect())
        .unwrap_or_default()
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
    let counts = [
        desired.policies.map(|section| section.len()),
        desired.routes.map(|section| section.len()),
        desired.nameserver_groups.map(|section| section.len()),
    ];
    assert_eq!(counts, [Some(1), Some(1), Some(0)]);
}

#[test]
fn full_json_fits_a_new_account() {
    let desired = valid(FULL).desired;
    assert!(desired.setup_keys().all(|(_, key)| !key.enrolled));
    let keys: BTreeSet<_> = desired.setup_keys().map(|(name, _)| name).collect();
    let members = desired
        .groups()
        .filter_map(|(_, group)| group.peers.as_ref())
        .flatten();
    assert!(
        members.into_iter().all(|member| keys.contains(member)),
        "there are no other peers yet"
    );
}

/// The objects of the file: where they are in the schema, and their names and required names in the decoder.
fn tables() -> [(&'static str, BTreeSet<&'static str>, BTreeSet<&'static str>); 8] {
    fn row<T>(
        pointer: &'static str,
        table: &Table<T>,
    ) -> (&'static str, BTreeSet<&'static str>, BTreeSet<&'static str>) {
        let required = table
            .fields
            .iter()
            .filter(|field| field.presence == Presence::Required);
        (
            pointer,
            table.fields.iter().map(|field| field.name).collect(),
            required.map(|field| field.name).collect(),
        )
    }
    [
        row("", &FILE),
        row("/properties/dns", &DNS),
        row("/definitions/group", &group::TABLE),
        row("/definitions/setup_key", &setup_key::TABLE),
        row("/definitions/policy", &policy::TABLE),
        row("/definitions/route", &route::TABLE),
        row("/definitions/nameserver_group", &nameserver_group::TABLE),
        row("/definitions/nameserver", &nameserver::TABLE),
    ]
}

#[test]
fn the_schema_names_the_fields_of_the_decoder() {
    let schema = json(SCHEMA);
    for (pointer, fields, required) in tables() {
        let object = schema.pointer(pointer).expect(pointer);
        assert_eq!(keys(&object["properties"]), fields, "{pointer}");
        let listed = object["required"]
            .as_array()
            .map(Vec::as_slice)
            .unwrap_or_default();
        assert_eq!(
            listed
                .iter()
                .filter_map(Value::as_str)
                .collect::<BTreeSet<_>>(),
            required,
            "{pointer}"
        );
        assert_eq!(
            object["additionalProperties"],
            Value::Bool(false),
            "{pointer}"
        );
        for (name, property) in object["properties"].as_object().into_iter().flatten() {
            let referred = property["$ref"]
                .as_str()
                .and_then(|target| schema.pointer(target.trim_start_matches('#')));
            let described = [Some(property), referred]
                .into_iter()
                .flatten()
                .any(|one| one["description"].is_string());
            assert!(described, "{pointer}: {name} has no description");
        }
    }
}

#[test]
fn full_json_has_every_field_but_renames() {
    let full = json(FULL);
    let entries = |section: &Value| {
        let entries = section.as_object().into_iter().flatten();
        entries
            .flat_map(|(_, entry)| {
                keys(entry)
                    .into_iter()
                    .map(str::to_owned)
                    .collect::<Vec<_>>()
            })
            .collect::<BTreeSet<_>>()
    };
    let nameserver_groups = &full["dns"]["nameserver_groups"];
    let nameservers = Value::Object(
        nameserver_groups["internet"]["nameservers"]
            .as_array()
            .into_iter()
            .flatten()
            .cloned()
            .enumerate()
            .map(|(index, server)| (index.to_string(), server))
            .collect(),
    );
    let owned = |names: BTreeSet<&str>| {
        names
            .into_iter()
            .map(str::to_owned)
            .collect::<BTreeSet<_>>()
    };
    let found = [
        owned(keys(&full)),
        owned(keys(&full["dns"])),
        entries(&full["groups"]),
        entries(&full["setup_keys"]),
        entries(&full["policies"]),
        entries(&full["routes"]),
        entries(nameserver_groups),
        entries(&nameservers),
    ];
    for ((pointer, mut fields, _), found) in tables().into_iter().zip(found) {
        fields.remove("renamed_from");
        assert_eq!(found, owned(fields), "{pointer}");
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
                let positions: Vec<_> = problems.list.iter().map(|problem| (problem.line, problem.column)).collect();
                prop_assert!(positions.is_sorted());
                for problem in &problems.list {
                    let line = text.split('\n').nth(problem.line - 1).expect("the line exists");
                    prop_assert!(problem.column <= line.chars().count() + 1, "{problem:?}");
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
            prop_assert!(problems.errors().any(|problem| problem.line == 1 && problem.column > 1), "{problems}");
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
