//! The reading of versions and its shortcuts against a plain one.

use std::collections::BTreeSet;

use proptest::prelude::*;
use serde_json::Value;

use crate::address::Address;
use crate::kind::{End, Kind, Tie};
use crate::ledger::document::{Broken, LastRead};
use crate::ledger::facts::{Fact, Facts};

/// The facts of a version that has none before it.
fn scanned(text: &[u8]) -> Option<BTreeSet<Fact>> {
    let (mut facts, mut document) = (Facts::default(), LastRead::default());
    let delta = document.update(text, &mut facts).ok()?;
    assert!(delta.gone.is_empty());
    let said = facts.into_numbers().into_iter();
    Some(
        said.filter(|(_, id)| delta.new.contains(id))
            .map(|(fact, _)| fact)
            .collect(),
    )
}

#[test]
fn what_a_broken_version_holds_is_not_told() {
    for text in [
        r#""SECRET""#,
        r#"{"setup_keys": "SECRET"}"#,
        r#"{"setup_keys": {"laptop": "SECRET"}}"#,
        r#"{"setup_keys": {"laptop": {"type": "one-off"}}, "SECRET\n": 1e999}"#,
        r#"{"dns": "SECRET"}"#,
        r#"{"dns": {"zones": {"SECRET": ["SECRET"]}}}"#,
        r#"{"routes": {"lan": ["SECRET"]}}"#,
        r#"{"groups": {"SECRET": {"peers": ["#,
    ] {
        let broken = LastRead::default().update(text.as_bytes(), &mut Facts::default());
        let Broken(why) = broken.expect_err(text);
        assert!(!why.contains("SECRET") && !why.contains('\n'), "{why}");
    }
}

/// The facts of a version, read the plain way.
fn read(text: &[u8]) -> Option<BTreeSet<Fact>> {
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    let file: Value = serde_json::from_slice(text).ok()?;
    let mut said = BTreeSet::new();
    let top = file.as_object()?;
    let dns = match top.get("dns") {
        Some(dns) => Some(dns.as_object()?),
        None => None,
    };
    let account = match top.get("account") {
        Some(account) => Some(account.as_object()?),
        None => None,
    };
    let sections = Kind::ALL.into_iter().filter_map(|kind| match kind {
        Kind::DnsRecord => None,
        Kind::NameserverGroup | Kind::DnsZone => Some((kind, dns?.get(kind.section())?)),
        Kind::DnsSettings => Some((kind, dns?.get("settings")?)),
        Kind::AccountSettings => Some((kind, account?.get("settings")?)),
        kind => Some((kind, top.get(kind.section())?)),
    });
    let mut managed = false;
    for (kind, section) in sections {
        managed = true;
        if kind.is_one() {
            section.as_object()?;
            said.insert(Fact::Declared(Address::new(kind, "")));
            continue;
        }
        for (name, entry) in section.as_object()? {
            if let (Kind::Route, Value::Array(list)) = (kind, entry) {
                said.extend(routes(&Address::new(kind, name), list)?);
                continue;
            }
            let entry = entry.as_object()?;
            said.insert(Fact::Declared(Address::new(kind, name)));
            if kind == Kind::Group {
                let peers = entry
                    .get("peers")
                    .and_then(Value::as_array)
                    .into_iter()
                    .flatten();
                said.extend(
                    peers
                        .filter_map(Value::as_str)
                        .map(|peer| Fact::Listed(name.clone(), peer.into())),
                );
            }
            said.extend(ties(kind, entry).map(|tie| Fact::Tied(Address::new(kind, name), tie, 0)));
            if kind == Kind::DnsZone {
                said.extend(zone(&Address::new(kind, name), entry));
            }
            if kind == Kind::SetupKey && entry.get("enrolled") == Some(&Value::Bool(true)) {
                said.insert(Fact::Enrolled(name.clone()));
            }
            let seconds = entry.get("expires_in").and_then(Value::as_i64);
            if let (Kind::SetupKey, Some(seconds)) = (kind, seconds) {
                said.insert(Fact::Lasting(name.clone(), seconds));
            }
            if let (true, Some(Value::String(old))) =
                (kind != Kind::SetupKey, entry.get("renamed_from"))
            {
                said.insert(Fact::Renamed(Address::new(kind, name), old.clone()));
            }
        }
    }
    managed.then_some(said)
}

/// What an entry says that is a list of routes.
fn routes(address: &Address, list: &[Value]) -> Option<Vec<Fact>> {
    let mut said = vec![Fact::Declared(address.clone())];
    for (at, entry) in list.iter().enumerate() {
        let entry = entry.as_object()?;
        said.extend(ties(Kind::Route, entry).map(|tie| Fact::Tied(address.clone(), tie, at)));
        if let Some(Value::String(old)) = entry.get("renamed_from") {
            said.push(Fact::Renamed(address.clone(), old.clone()));
        }
    }
    Some(said)
}

/// What a zone says of its domain and its records.
fn zone(address: &Address, entry: &serde_json::Map<String, Value>) -> Vec<Fact> {
    let text = |of: &serde_json::Map<String, Value>, field: &str| {
        of.get(field)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    let tie = |end, text: String| Tie {
        end,
        names: BTreeSet::from([text]),
    };
    let domain = text(entry, "domain");
    let mut said = Vec::new();
    if entry.get("domain").is_some_and(Value::is_string) {
        said.push(Fact::Tied(
            address.clone(),
            tie(End::Domain, domain.to_lowercase()),
            0,
        ));
    }
    let Some(Value::Array(records)) = entry.get("records") else {
        return said;
    };
    said.push(Fact::Section(Kind::DnsRecord, address.name.clone()));
    for record in records.iter().filter_map(Value::as_object) {
        let name = match text(record, "name").as_str() {
            "@" => domain.clone(),
            name if domain.is_empty() || name == domain => name.to_owned(),
            name => format!("{name}.{domain}"),
        };
        let name = format!("{} {}", name.to_lowercase(), text(record, "type"));
        let at = address.child(Kind::DnsRecord, name);
        said.push(Fact::Declared(at.clone()));
        if record.get("content").is_some_and(Value::is_string) {
            said.push(Fact::Tied(
                at,
                tie(End::Content, text(record, "content")),
                0,
            ));
        }
    }
    said
}

/// What an entry connects. A field that stands there as a number or the like says nothing.
fn ties(kind: Kind, entry: &serde_json::Map<String, Value>) -> impl Iterator<Item = Tie> {
    let fields = match kind {
        Kind::Policy => vec![("sources", End::From), ("destinations", End::To)],
        Kind::Route => vec![
            ("network", End::Network),
            ("domains", End::Network),
            ("peer_groups", End::Through),
            ("peer", End::ThroughPeer),
        ],
        _ => Vec::new(),
    };
    let tie = |(field, end): (&str, End)| {
        let names: BTreeSet<String> = match entry.get(field)? {
            Value::String(text) if end == End::ThroughPeer => BTreeSet::from([text.clone()]),
            Value::String(text) => BTreeSet::from([crate::spelling::network(text)]),
            Value::Array(list) => list
                .iter()
                .filter_map(Value::as_str)
                .map(|text| match end {
                    End::Network => crate::spelling::domain(text),
                    _ => text.to_owned(),
                })
                .collect(),
            _ => return None,
        };
        (!names.is_empty()).then_some(Tie { end, names })
    };
    fields
        .into_iter()
        .filter_map(tie)
        .collect::<Vec<_>>()
        .into_iter()
}

#[test]
fn escapes_are_read_in_names_and_in_keys() {
    let text = r#"{"gr\u006fups": {"b\u00fcro \"1\"\\": {"p\u0065ers": ["\ud83e\udd89"]}}}"#;
    assert_eq!(scanned(text.as_bytes()), read(text.as_bytes()));
    assert_eq!(scanned(text.as_bytes()).unwrap().len(), 2);
    assert_eq!(scanned(br#"{"groups": {"\ud800": {}}}"#), None);
    assert_eq!(scanned(b"{\"groups\": {\"\xff\": {}}}"), None);
}

#[test]
fn deep_nesting_is_broken_and_no_crash() {
    let deep = format!(
        "{{\"groups\": {{}}, \"x\": {}1{}}}",
        "[".repeat(100_000),
        "]".repeat(100_000)
    );
    assert_eq!(scanned(deep.as_bytes()), None);
}

#[test]
fn the_same_bytes_in_another_section_are_another_name() {
    let (mut facts, mut document) = (Facts::default(), LastRead::default());
    let mut step = |text: &str| {
        let delta = document.update(text.as_bytes(), &mut facts);
        let of = |ids: Vec<u32>| -> BTreeSet<Fact> {
            let numbers = facts.numbers().iter();
            numbers
                .filter(|(_, id)| ids.contains(id))
                .map(|(fact, _)| fact.clone())
                .collect()
        };
        delta.map(|delta| (of(delta.gone), of(delta.new)))
    };
    step(r#"{"groups": {"n": {}, "a": {}}, "policies": {"p": {}}}"#).unwrap();
    let (gone, new) =
        step(r#"{"groups": {"n": {"x": 1}}, "policies": {"q": {}, "a": {}}}"#).unwrap();
    assert!(gone.contains(&Fact::Declared(Address::new(Kind::Group, "a"))));
    assert!(new.contains(&Fact::Declared(Address::new(Kind::Policy, "a"))));
    // and the bytes behind a brace are no entry behind an entry
    step(r#"{"groups": {"b": {}, "a": {}}}"#).unwrap();
    assert!(step(r#"{"groups": {"c": {}"b": {}, "a": {}}}"#).is_err());
}

#[test]
fn entries_that_did_not_change_are_not_read_again() {
    let (mut facts, mut document) = (Facts::default(), LastRead::default());
    let file = |first: &str, more: &str| {
        let entries: Vec<String> = (0..100).map(|n| format!("\"n{n}\": {{}}")).collect();
        format!("{{\"groups\": {{{first}{more}{}}}}}", entries.join(", ")).into_bytes()
    };
    document
        .update(&file("\"x\": {}, ", ""), &mut facts)
        .unwrap();
    let mut changed = |first, more| {
        let delta = document.update(&file(first, more), &mut facts).unwrap();
        (delta.gone.len(), delta.new.len())
    };
    assert_eq!(
        changed("\"x\": {\"peers\": []}, ", ""),
        (1, 1),
        "changed in place"
    );
    assert_eq!(
        changed("\"x\": {\"peers\": []}, ", "\"y\": {}, "),
        (0, 1),
        "added"
    );
    assert_eq!(
        changed("", "\"y\": {}, "),
        (1, 0),
        "removed, and another is first now"
    );
    assert_eq!(changed("", "\"y\": {}, "), (0, 0), "the same");
}

/// Any file, often one that this tool would take.
fn file() -> impl Strategy<Value = Value> {
    let name = || prop::sample::select(vec!["a", "b", "c", "ü\"\\\n", "", "d d", "🦉"]);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        name().prop_map(Value::from),
        prop::collection::vec(name(), 0..4).prop_map(Value::from),
    ];
    let field = prop::sample::select(vec![
        "peers",
        "enrolled",
        "renamed_from",
        "x",
        "groups",
        "sources",
        "destinations",
        "network",
        "domains",
        "peer_groups",
        "peer",
    ]);
    let entry = prop::collection::btree_map(field, leaf.clone(), 0..6);
    let entry = entry.prop_map(|fields| serde_json::to_value(fields).unwrap());
    let list = prop::collection::vec(entry.clone(), 0..4).prop_map(Value::from);
    let entry = prop_oneof![30 => entry, 2 => list, 1 => leaf.clone()];
    let section = prop::collection::btree_map(name(), entry, 0..6);
    let section = section.prop_map(|entries| serde_json::to_value(entries).unwrap());
    let section = prop_oneof![30 => section, 1 => leaf.clone()];
    let record = (
        prop::sample::select(vec!["db", "@", "a.example", "Db", ""]),
        prop::sample::select(vec!["A", "CNAME", ""]),
        prop::sample::select(vec!["10.0.0.1", "10.0.0.2"]),
        prop::option::weighted(0.1, leaf.clone()),
    );
    let record = record.prop_map(|(name, kind, content, odd)| match odd {
        Some(odd) => odd,
        None => serde_json::json!({ "name": name, "type": kind, "content": content }),
    });
    let records = prop::option::of(prop::collection::vec(record, 0..4));
    let domain = prop::option::of(prop::sample::select(vec!["a.example", "B.example"]));
    let zone = (domain, records, prop::option::of(name())).prop_map(|(domain, records, old)| {
        let mut zone =
            serde_json::json!({ "domain": domain, "records": records, "renamed_from": old });
        zone.as_object_mut()
            .unwrap()
            .retain(|_, value| !value.is_null());
        zone
    });
    let zones = prop::collection::btree_map(name(), zone, 0..4);
    let zones = zones.prop_map(|zones| serde_json::to_value(zones).unwrap());
    let dns = prop_oneof![
        (
            prop::sample::select(vec!["nameserver_groups", "groups", "settings", "x"]),
            section.clone()
        ),
        (Just("zones"), zones),
    ];
    let dns = prop::collection::vec(dns, 0..3).prop_map(|dns| {
        dns.into_iter()
            .collect::<std::collections::BTreeMap<&str, Value>>()
    });
    let top = prop::sample::select(vec!["groups", "setup_keys", "policies", "routes", "x"]);
    (
        prop::collection::btree_map(top, section, 0..5),
        prop::option::of(dns),
    )
        .prop_map(|(top, dns)| {
            let mut file = serde_json::to_value(top).unwrap();
            if let Some(dns) = dns {
                file["dns"] = serde_json::to_value(dns).unwrap();
            }
            file
        })
}

fn text(file: &Value, pretty: bool) -> Vec<u8> {
    if pretty {
        serde_json::to_vec_pretty(file).unwrap()
    } else {
        serde_json::to_vec(file).unwrap()
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(256) })]

    #[test]
    fn scanning_finds_what_reading_finds(file in file(), pretty: bool) {
        let text = text(&file, pretty);
        prop_assert_eq!(scanned(&text), read(&text));
    }

    /// One byte that is wrong does no harm to the reader, and half a file says nothing.
    #[test]
    fn damage_never_panics(file in file(), at: prop::sample::Index, byte: u8, cut: prop::sample::Index) {
        let mut text = text(&file, true);
        let at = at.index(text.len());
        text[at] = byte;
        scanned(&text);
        text.truncate(cut.index(text.len()));
        prop_assert_eq!(scanned(&text), None);
    }

    /// A chain of versions, each read with the help of the one before, says at each step what it says alone.
    #[test]
    fn the_version_before_changes_nothing(files in prop::collection::vec((file(), any::<bool>(), prop::option::of(any::<prop::sample::Index>())), 1..8)) {
        let (mut facts, mut document) = (Facts::default(), LastRead::default());
        let mut counts = std::collections::HashMap::new();
        let mut last = BTreeSet::new();
        for (file, pretty, cut) in files {
            let mut text = text(&file, pretty);
            if let Some(cut) = cut {
                text.truncate(cut.index(text.len()));
            }
            let alone = read(&text);
            match document.update(&text, &mut facts) {
                Ok(delta) => {
                    for fact in delta.gone {
                        *counts.entry(fact).or_insert(0) -= 1;
                    }
                    for fact in delta.new {
                        *counts.entry(fact).or_insert(0) += 1;
                    }
                    last = alone.expect("both can read it");
                }
                Err(_) => prop_assert_eq!(alone, None),
            }
            let said = facts.numbers().iter().filter(|(_, id)| counts.get(id).is_some_and(|count| *count > 0));
            let said: BTreeSet<Fact> = said.map(|(fact, _)| fact.clone()).collect();
            prop_assert_eq!(&said, &last);
        }
    }
}
