//! Records in the entry of their zone: how they are read, and how they are written there.

use std::net::IpAddr;

use rustc_hash::FxHashMap;

use super::{DnsRecord, RecordType};
use crate::model::kind::prelude::*;

/// The longest time to live that the DNS knows, in seconds (RFC 2181, section 8).
const LONGEST_TTL: i64 = 2_147_483_647;

pub(super) const TABLE: Table<DnsRecord> = Table {
    what: "a record",
    fields: fields![
        /// What it answers, relative to the zone; @ is the zone itself, and a name that ends in the zone's domain is the
        /// full one. *. may begin it.
        needs name: Takes(Shape::Schema(NAME), |value, log| written_text(value, "a name", log)),
        /// A, AAAA or CNAME.
        needs r#type as "type": Takes(Shape::Schema(r#"{"enum": ["A", "AAAA", "CNAME"]}"#), word::read::<RecordType>),
        /// The IPv4 address of an A record, the IPv6 address of an AAAA record, the full name that a CNAME stands for.
        needs content: Takes(Shape::Schema(r#"{"type": "string", "minLength": 1}"#), |value, log| {
            let text = value.one_string(log, "an address or a name", SEVERAL);
            text.unwrap_or_default().to_owned()
        }),
        /// How long others may remember it, in seconds.
        own ttl: whole::<0, LONGEST_TTL>() => 300,
    ],
    refused: refused![
        ["value", "target", "address", "ip", "data"] => content;
        Refused::ID;
    ],
    rules: r#"{
        "allOf": [
            {"if": {"properties": {"type": {"const": "A"}}}, "then": {"properties": {"content": {"format": "ipv4"}}}},
            {"if": {"properties": {"type": {"const": "AAAA"}}}, "then": {"properties": {"content": {"format": "ipv6"}}}}
        ]
    }"#,
};

const SEVERAL: &str = "write a record of its own for each";

const NAME: &str = r#"{"type": "string", "minLength": 1, "examples": ["db", "@", "*.apps"]}"#;

/// Reads a text that is checked when all of the record is read.
fn written_text(value: &Cursor<'_>, wanted: &str, log: &mut Log) -> String {
    value.string(log, wanted).unwrap_or_default().to_owned()
}

/// Returns the full name of a record: lower case, without a dot at its end.
pub(super) fn full_name(name: &str, zone: &str) -> String {
    let (name, zone) = (name.to_ascii_lowercase(), zone.to_ascii_lowercase());
    let absolute = name.strip_suffix('.').unwrap_or(&name);
    let is_full = absolute == zone || absolute.ends_with(&format!(".{zone}"));
    match name.as_str() {
        "@" => zone,
        _ if is_full || zone.is_empty() => absolute.to_owned(),
        name => format!("{name}.{zone}"),
    }
}

pub(super) fn address_of(full_name: &str, kind: &str) -> String {
    format!("{full_name} {kind}")
}

/// Makes the full name, and checks what depends on the zone.
pub(super) fn settle(
    mut record: DnsRecord,
    zone: &str,
    entry: &Cursor<'_>,
    log: &mut Log,
) -> Option<DnsRecord> {
    let written = entry.get("name")?;
    // where the domain is wrong, that is said already
    let name = match zone.is_empty() {
        true => None,
        false => name_in(zone, &written, log),
    };
    let content = entry
        .get("content")
        .filter(|content| content.text().is_some());
    let content = record.r#type.zip(content);
    let content = content.and_then(|(kind, content)| checked(kind, &content, log));
    record.name = name?;
    record.content = content?;
    says_what_it_seems(&record, zone, entry, log);
    Some(record)
}

/// Returns the full name of a record, or notes why it is none.
fn name_in(zone: &str, written: &Cursor<'_>, log: &mut Log) -> Option<String> {
    let text = written.text()?;
    if text.is_empty() {
        log.error(written.place(), "a record's name cannot be empty")
            .suggest("write \"@\" for the zone itself");
        return None;
    }
    let name = full_name(text, zone);
    let is_full = |bare: &str| name == bare.to_ascii_lowercase();
    if text.strip_suffix('.').is_some_and(|bare| !is_full(bare)) {
        let message = format!("{} is not a name in {}", quote(text), quote(zone));
        log.error(written.place(), message)
            .suggest("a name that ends with a dot is a full one");
        return None;
    }
    let found = domain::of_zone(name.strip_prefix("*.").unwrap_or(&name));
    written.checked(found, log).map(|_| name)
}

/// Notes names that are taken otherwise than they look, and an alias of itself.
fn says_what_it_seems(record: &DnsRecord, zone: &str, entry: &Cursor<'_>, log: &mut Log) {
    let last = |name: &str| name.rsplit('.').next().map(str::to_ascii_lowercase);
    let text = |field: &str| entry.get(field).and_then(|field| field.text());
    let name = text("name").unwrap_or_default();
    let is_relative = record.name == format!("{}.{zone}", name.to_ascii_lowercase());
    if is_relative && name.contains('.') && zone.contains('.') && last(name) == last(zone) {
        let message = format!("{} is the name {} here", quote(name), quote(&record.name));
        log.notice(Code::NameOfRecord, entry.place_of("name"), message)
            .suggest(format!("a full name ends in {}", quote(zone)));
    }
    if record.r#type != Some(RecordType::Cname) {
        return;
    }
    let content = text("content").unwrap_or_default();
    if record.content == record.name {
        let message = format!("{} points to itself", quote(&record.name));
        log.error(entry.place_of("content"), message)
            .suggest("write the name that it points to");
    } else if !content.contains('.') && record.content != zone {
        let full = quote(&format!("{content}.{zone}"));
        let message = format!("{} is a full name, not that of {full}", quote(content));
        let hint = format!("write {full}, or \"{content}.\" if it has no domain");
        log.notice(Code::NameOfRecord, entry.place_of("content"), message)
            .suggest(hint);
    }
}

/// Puts the name as people write it, relative to the zone.
pub(super) fn written(mut record: Map<String, Value>, zone: &Value) -> Map<String, Value> {
    let domain = zone["domain"].as_str().unwrap_or_default();
    if let Some(Value::String(name)) = record.get_mut("name") {
        let relative = match name.strip_suffix(domain) {
            Some("") => Some("@"),
            Some(relative) => relative.strip_suffix('.'),
            None => None,
        };
        // what would be read as another name stays the full one
        let relative = relative.filter(|relative| full_name(relative, domain) == *name);
        if let Some(relative) = relative.map(str::to_owned) {
            *name = relative;
        }
    }
    record
}

/// Returns the content in its one spelling, or notes why it is none.
fn checked(kind: RecordType, place: &Cursor<'_>, log: &mut Log) -> Option<String> {
    let text = place.text()?;
    let found: Option<IpAddr> = text.parse().ok();
    match (kind, found) {
        (RecordType::Aaaa, Some(IpAddr::V6(address))) if address.to_ipv4_mapped().is_some() => {
            let message = format!("{} is an IPv4 address written as IPv6", quote(text));
            log.error(place.place(), message)
                .suggest("write it as IPv4, with the type A");
            None
        }
        (RecordType::A, Some(IpAddr::V4(_))) | (RecordType::Aaaa, Some(IpAddr::V6(_))) => {
            Some(spelling::content(text))
        }
        (RecordType::A | RecordType::Aaaa, _) => {
            let (family, other, other_kind) = match kind {
                RecordType::A => ("IPv4", "IPv6", "AAAA"),
                _ => ("IPv6", "IPv4", "A"),
            };
            let hint = found.map(|_| format!("the type of an {other} address is {other_kind}"));
            let hint = hint.or_else(|| no_address(text, kind.word()));
            let message = format!("{} is not an {family} address", quote(text));
            let flaw = Flaw { message, hint };
            place.checked(Err(flaw.or_several(text, SEVERAL)), log)
        }
        (RecordType::Cname, Some(_)) => {
            log.error(
                place.place(),
                format!(
                    "a CNAME points to a name, and {} is an address",
                    quote(text)
                ),
            )
            .suggest("the type of an IPv4 address is A, that of an IPv6 address AAAA");
            None
        }
        (RecordType::Cname, None) => {
            let bare = text.strip_suffix('.').unwrap_or(text);
            place.checked(domain::of_zone(bare), log)
        }
    }
}

/// What is very likely meant where an address should stand.
fn no_address(text: &str, kind: &str) -> Option<String> {
    if let Some((address, _)) = text.split_once('/')
        && address.parse::<IpAddr>().is_ok()
    {
        return Some(format!("did you mean {}?", quote(address)));
    }
    domain::of_zone(text)
        .is_ok()
        .then(|| format!("the type of a record that points to a name is CNAME, not {kind}"))
}

/// What of a zone's records the server refuses: one that is there twice, and a CNAME beside another one of its name.
pub(super) fn check(records: &[&InFile<'_>], log: &mut Log) {
    let known = records.iter().filter_map(|one| match &one.resource {
        Some(Resource::DnsRecord(record)) => Some((*one, record)),
        _ => None,
    });
    let known: Vec<(&InFile<'_>, &DnsRecord)> = known.collect();
    // the first record of each name, the first CNAME of each, and the first of those that are the same
    let mut first: FxHashMap<_, usize> = FxHashMap::default();
    for (index, (one, record)) in known.iter().enumerate() {
        let key = |kind, content| (&one.address.within, &record.name, kind, content);
        let (any, alias) = (key(None, ""), key(Some(RecordType::Cname), ""));
        let same = key(record.r#type, &record.content);
        let (own, rivals) = match record.is_alias() {
            true => ([any, alias], [any, any]),
            false => ([any, same], [alias, same]),
        };
        let rival = rivals.iter().filter_map(|key| first.get(key).copied());
        let rival = rival.min();
        for key in own {
            first.entry(key).or_insert(index);
        }
        let Some((there, other)) = rival.map(|rival| known[rival]) else {
            continue;
        };
        let line = there.cursor.place().line;
        let message = match record.is_same(other) {
            true => format!("the same record is in line {line} already"),
            false => format!(
                "{} has a record in line {line} already: a name with a CNAME can have no other record",
                quote(&record.name)
            ),
        };
        log.error(one.cursor.place(), message)
            .coded(Code::Duplicate);
    }
}
