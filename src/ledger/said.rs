//! What an entry of a version says, as facts. Fields that nobody asks for are passed over, whatever they are: versions of
//! other times have other fields.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::address::Address;
use crate::kind::{End, Kind, Tie, Trace};

use super::facts::{Fact, FactId, Facts};

/// Returns what an entry says, its address first; of a kind that has several objects of one name it can be a list.
///
/// Errors where it is neither an object nor such a list.
pub(super) fn said(
    kind: Kind,
    name: &str,
    entry: &str,
    facts: &mut Facts,
) -> serde_json::Result<Vec<FactId>> {
    let address = Address::new(kind, name);
    if !(kind.descriptor().special.is_several && entry.starts_with('[')) {
        return Ok(declared(address, &serde_json::from_str(entry)?, 0, facts));
    }
    let list: Vec<Map<String, Value>> = serde_json::from_str(entry)?;
    // the entry is there, whatever it has
    let mut found = vec![facts.id(Fact::Declared(address.clone()))];
    for (at, one) in list.iter().enumerate() {
        found.extend(declared(address.clone(), one, at, facts));
    }
    Ok(found)
}

/// Returns what an entry says: that it is there, first; and what stands in it. `at` is the place in its list.
fn declared(
    address: Address,
    entry: &Map<String, Value>,
    at: usize,
    facts: &mut Facts,
) -> Vec<FactId> {
    let mut said = vec![Fact::Declared(address.clone())];
    let descriptor = address.kind.descriptor();
    for (field, trace) in descriptor.special.traces {
        said.extend(
            entry
                .get(*field)
                .map(|value| traced(*trace, value, &address, at))
                .into_iter()
                .flatten(),
        );
    }
    if descriptor.can_be_renamed
        && let Some(Value::String(old)) = entry.get("renamed_from")
    {
        said.push(Fact::Renamed(address.clone(), old.clone()));
    }
    let mut found: Vec<FactId> = said.into_iter().map(|fact| facts.id(fact)).collect();
    for kind in address.kind.children() {
        let Some((inside, within)) = kind.inside().zip(entry.get(kind.section())) else {
            continue;
        };
        let all: Vec<(&str, &Value)> = match within {
            Value::Object(named) => named
                .iter()
                .map(|(name, one)| (name.as_str(), one))
                .collect(),
            Value::Array(list) => list.iter().map(|one| ("", one)).collect(),
            _ => continue,
        };
        found.push(facts.id(Fact::Section(kind, address.name.clone())));
        for (key, child) in all {
            let Some(child) = child.as_object() else {
                continue;
            };
            let name = inside.name.of(
                key,
                |field| entry.get(field)?.as_str(),
                |field| child.get(field)?.as_str(),
            );
            found.extend(declared(address.child(kind, name), child, 0, facts));
        }
    }
    found
}

/// Returns what the history remembers of a field.
fn traced(trace: Trace, value: &Value, address: &Address, at: usize) -> Vec<Fact> {
    let name = || address.name.clone();
    let texts = || {
        value
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
    };
    match trace {
        Trace::Members => texts()
            .map(|member| Fact::Listed(name(), member.to_owned()))
            .collect(),
        Trace::Done if *value == Value::Bool(true) => vec![Fact::Enrolled(name())],
        Trace::Done => Vec::new(),
        Trace::Anew => {
            let instant = value.as_str().and_then(|text| text.parse().ok());
            let fact = instant.map(|instant| Fact::Reissued(name(), instant));
            fact.into_iter().collect()
        }
        Trace::Lasts => {
            let fact = value.as_i64().map(|seconds| Fact::Lasting(name(), seconds));
            fact.into_iter().collect()
        }
        Trace::Tie(end) => {
            let (one, keys) = match end {
                End::FromPeer | End::ToPeer => (value["peer"].as_str(), None),
                End::Users => (None, value.as_object()),
                _ => (value.as_str(), None),
            };
            let one = one.map(|text| end.spelled(text));
            let keys = keys.into_iter().flat_map(Map::keys).cloned();
            let names: BTreeSet<String> = one
                .into_iter()
                .chain(keys)
                .chain(texts().map(|text| end.listed(text)))
                .collect();
            let is_said = matches!(end, End::Setting(_)) && !value.is_null();
            match names.is_empty() && !is_said {
                true => Vec::new(),
                false => vec![Fact::Tied(address.clone(), Tie { end, names }, at)],
            }
        }
    }
}
