//! Records of DNS zones (docs/netbird-api.md, "DNS zones and records").
//!
//! A record has no name of its own: what tells it from others is what it answers, and with what. Its address is the full
//! name and the type, as in `db.corp.example A`; several records may share it, each with other content.

use std::net::{IpAddr, Ipv6Addr};

use rustc_hash::FxHashMap;

use super::DnsZone;
use super::peer::{AddressOf, Addresses};
use super::prelude::*;

/// A record in canonical form. `None` = not ours.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct DnsRecord {
    /// What it answers: the full name, lower case, without a dot at its end. `*.` may begin it.
    pub name: String,
    /// Its type; `None` is one that the file does not know.
    #[serde(deserialize_with = "word::answered")]
    pub r#type: Option<RecordType>,
    /// An address in canonical text, or the name that it stands for.
    pub content: String,
    /// How long others may remember it, in seconds.
    pub ttl: Option<i64>,
    /// The peer whose address the content is, where the file names one; of a live one nothing.
    #[serde(skip)]
    pub peer: Option<PeerRef>,
}

/// The types of records that NetBird has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum RecordType {
    /// An IPv4 address.
    A,
    /// An IPv6 address.
    Aaaa,
    /// Another name.
    Cname,
}

impl Word for RecordType {
    const WHAT: &'static str = "type of record";
    const WORDS: &'static [(&'static str, RecordType)] = &[
        ("A", RecordType::A),
        ("AAAA", RecordType::Aaaa),
        ("CNAME", RecordType::Cname),
    ];
}

impl DnsRecord {
    /// Whether the server takes them for one record.
    fn is_same(&self, other: &DnsRecord) -> bool {
        // of a machine that is not known yet the name tells
        fn what(it: &DnsRecord) -> &str {
            match (it.content.as_str(), &it.peer) {
                ("", Some(peer)) => peer.text(),
                (content, _) => content,
            }
        }
        self.name == other.name && self.r#type == other.r#type && what(self) == what(other)
    }

    /// Whether it is another name of something.
    fn is_alias(&self) -> bool {
        self.r#type == Some(RecordType::Cname)
    }
}

/// What an answer says of a record beside its form.
#[derive(Deserialize)]
struct Typed {
    /// One that the file does not know is part of the name, too.
    r#type: String,
}

impl Spec for DnsRecord {
    const KIND: Descriptor = Descriptor {
        called: ["DNS record", "DNS records", "dns_record"],
        section: &["records"],
        about: "Records of a zone.",
        collection: "/records",
        deletion_event: Some("dns.zone.record.delete"),
        since: Some("0.63"),
        entries: Entries::Inside(Inside {
            parent: Kind::DnsZone,
            answers: Answers::Embedded("records"),
            written,
            name: NameOf::Texts(|zone, own| {
                address_of(&full_name(own("name"), zone("domain")), own("type"))
            }),
        }),
        is_several: true,
        check,
        ..Descriptor::of(Reach::Nothing, Role::NetworkAdmin, Referred::Never)
    };

    const TABLE: &'static Table<Self> = &TABLE;

    /// Makes the full name, and checks what depends on the zone.
    fn settle(self, entry: &Cursor<'_>, within: Option<&Resource>, log: &mut Log) -> Option<Self> {
        let Some(Resource::DnsZone(DnsZone { domain: zone, .. })) = within else {
            return None;
        };
        let (mut record, written) = (self, entry.get("name")?);
        let name = match zone.as_deref() {
            // where the domain is wrong, that is said already
            Some("") => None,
            Some(zone) => name_in(zone, &written, log),
            None => in_full(&written, log),
        };
        let (kind, content) = record.r#type.zip(entry.get("content"))?;
        match content.is_object() {
            true => record.peer = Some(address_of_peer(kind, &content, log)?),
            false => record.content = checked(kind, &content, log)?,
        }
        record.name = name?;
        let zone = zone.iter();
        zone.for_each(|zone| says_what_it_seems(&record, zone, entry, log));
        Some(record)
    }

    fn read(wire: Entry, groups: &Groups) -> Result<Live, serde_json::Error> {
        let of_answer: Typed = wire.read()?;
        let mut live = spec::read::<Self>(wire, groups)?;
        live.name = address_of(&live.name, &of_answer.r#type);
        Ok(live)
    }

    fn tidy(&mut self, _groups: &Groups) {
        self.content = spelling::content(&self.content);
    }

    fn unseen(&self) -> Value {
        json!(self.peer)
    }

    fn peers(&self) -> Vec<&PeerRef> {
        self.peer.iter().collect()
    }

    fn peers_mut(&mut self) -> Vec<&mut PeerRef> {
        self.peer.iter_mut().collect()
    }

    fn put_addresses(&mut self, of: Addresses) -> bool {
        let is_v6 = self.r#type == Some(RecordType::Aaaa);
        peer::put_address(&mut self.content, self.peer.as_ref(), |peer| {
            of(peer, is_v6)
        })
    }

    /// A name with a CNAME can have no other record.
    fn excludes(&self, other: &Self) -> bool {
        self.is_same(other) || self.name == other.name && (self.is_alias() || other.is_alias())
    }

    fn connects(&self) -> Value {
        json!(self.content)
    }

    fn export(&self, mut fields: Map<String, Value>) -> Result<Map<String, Value>, String> {
        if self.r#type.is_none() {
            return Err("its type is none that a file can say".into());
        }
        let name = self.name.strip_prefix("*.").unwrap_or(&self.name);
        if domain::of_zone(name).ok().as_deref() != Some(name) {
            return Err("a file cannot say its name".into());
        }
        let address = self.content.parse::<Ipv6Addr>().ok();
        let is_mapped = address.is_some_and(|address| address.to_ipv4_mapped().is_some());
        if self.content == self.name || is_mapped {
            return Err("a file cannot say its content".into());
        }
        fields.retain(|_, value| !value.is_null());
        Ok(fields)
    }

    fn summary(&self, about: &About) -> String {
        let ttl = self.ttl.map(|ttl| format!(", ttl {ttl}"));
        let of = self.peer.as_ref().map(|peer| about.peer(peer));
        let of = of.map(|of| format!(", the address of {of}"));
        let (of, ttl) = (of.unwrap_or_default(), ttl.unwrap_or_default());
        format!("{}{}{ttl}", visible(&self.content), visible(&of))
    }

    fn loss(&self, _about: &About) -> Sentence {
        let text = Sentence::default().name(&self.name);
        text.say(" no longer leads to ").name(&self.content)
    }
}

/// The longest time to live that the DNS knows, in seconds (RFC 2181, section 8).
const LONGEST_TTL: i64 = 2_147_483_647;

const TABLE: Table<DnsRecord> = Table {
    what: "a record",
    fields: fields![
        /// What it answers, relative to the zone; @ is the zone itself, and a name that ends in the zone's domain is the
        /// full one. *. may begin it.
        needs name: Takes(Shape::Schema(NAME), |value, log| {
            value.string(log, "a name").unwrap_or_default().to_owned()
        }),
        /// A, AAAA or CNAME.
        needs r#type as "type": Takes(Shape::Schema(r#"{"enum": ["A", "AAAA", "CNAME"]}"#), word::read::<RecordType>),
        /// The IPv4 address of an A record, the IPv6 address of an AAAA record, the full name that a CNAME stands for; or
        /// { "peer": NAME }, a machine whose address it is, named as in a group's peers.
        needs content: Takes(Shape::Schema(CONTENT), |value, log| {
            // a peer is read with the type
            let text = (!value.is_object()).then(|| value.one_string(log, WANTED, SEVERAL));
            text.flatten().unwrap_or_default().to_owned()
        }),
        /// How long others may remember it, in seconds.
        own ttl: seconds::<0, LONGEST_TTL>() => 300,
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

const WANTED: &str = "an address or a name";

const SEVERAL: &str = "write one record for each";

const CONTENT: &str = r##"{"anyOf": [
    {"type": "string", "minLength": 1},
    {"type": "object", "additionalProperties": false, "required": ["peer"], "properties": {"peer": {"$ref": "#/definitions/name"}}}
]}"##;

const NAME: &str = r#"{"type": "string", "minLength": 1, "examples": ["db", "@", "*.apps"]}"#;

/// Returns the full name of a record: lower case, without a dot at its end.
fn full_name(name: &str, zone: &str) -> String {
    let (name, zone) = (name.to_ascii_lowercase(), zone.to_ascii_lowercase());
    let absolute = name.strip_suffix('.').unwrap_or(&name);
    let is_full = absolute == zone || absolute.ends_with(&format!(".{zone}"));
    match name.as_str() {
        "@" => zone,
        _ if is_full || zone.is_empty() => absolute.to_owned(),
        name => format!("{name}.{zone}"),
    }
}

fn address_of(full_name: &str, kind: &str) -> String {
    format!("{full_name} {kind}")
}

/// Returns the name of a record whose zone's domain the file does not say, or notes why it is no full one.
fn in_full(written: &Cursor<'_>, log: &mut Log) -> Option<String> {
    let text = written.text()?;
    if !text.strip_suffix('.').unwrap_or(text).contains('.') {
        let lacks = "is not a full name, and the file does not say the zone's domain";
        let flaw = log.error(written.place(), format!("{} {lacks}", quote(text)));
        flaw.suggest("write the name with the zone's domain, such as \"db.corp.example\"");
        return None;
    }
    let name = full_name(text, "");
    let found = domain::of_zone(name.strip_prefix("*.").unwrap_or(&name));
    written.checked(found, log).map(|_| name)
}

/// Returns the full name of a record, or notes why it is none.
fn name_in(zone: &str, written: &Cursor<'_>, log: &mut Log) -> Option<String> {
    let text = written.text()?;
    if text.is_empty() {
        let flaw = log.error(written.place(), "a record's name cannot be empty");
        flaw.suggest("write \"@\" for the zone itself");
        return None;
    }
    let name = full_name(text, zone);
    let bare = text.strip_suffix('.').map(str::to_ascii_lowercase);
    if bare.is_some_and(|bare| name != bare) {
        let message = format!("{} is not a name in {}", quote(text), quote(zone));
        let flaw = log.error(written.place(), message);
        flaw.suggest("a name that ends with a dot is a full one");
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
        let notice = log.notice(Code::NameOfRecord, entry.place_of("name"), message);
        notice.suggest(format!("a full name ends in {}", quote(zone)));
    }
    if record.r#type != Some(RecordType::Cname) {
        return;
    }
    let content = text("content").unwrap_or_default();
    if record.content == record.name {
        let message = format!("{} points to itself", quote(&record.name));
        let flaw = log.error(entry.place_of("content"), message);
        flaw.suggest("write the name that it points to");
    } else if !content.contains('.') && record.content != zone {
        let full = quote(&format!("{content}.{zone}"));
        let message = format!("{} is a full name, not that of {full}", quote(content));
        let notice = log.notice(Code::NameOfRecord, entry.place_of("content"), message);
        notice.suggest(format!(
            "write {full}, or \"{content}.\" if it has no domain"
        ));
    }
}

/// Puts the name as people write it, relative to the zone.
fn written(mut record: Map<String, Value>, zone: &Value) -> Map<String, Value> {
    let domain = zone["domain"].as_str().unwrap_or_default();
    if let Some(Value::String(name)) = record.get_mut("name") {
        let relative = name
            .strip_suffix(domain)
            .and_then(|relative| match relative {
                "" => Some("@"),
                relative => relative.strip_suffix('.'),
            });
        // what would be read as another name stays the full one
        if let Some(relative) = relative.filter(|it| full_name(it, domain) == *name) {
            *name = relative.to_owned();
        }
    }
    record
}

/// Returns the peer whose address the content is.
fn address_of_peer(kind: RecordType, content: &Cursor<'_>, log: &mut Log) -> Option<PeerRef> {
    let peer = AddressOf::read(content, log);
    if kind == RecordType::Cname {
        let text = "a CNAME points to a name, and a peer has addresses";
        let flaw = log.error(content.place(), text);
        flaw.suggest("the type of its IPv4 address is A, that of its IPv6 address AAAA");
        return None;
    }
    peer
}

/// Returns the content in its one spelling, or notes why it is none.
fn checked(kind: RecordType, place: &Cursor<'_>, log: &mut Log) -> Option<String> {
    let text = place.text()?;
    let found: Option<IpAddr> = text.parse().ok();
    let checked = match (kind, found) {
        (RecordType::Aaaa, Some(IpAddr::V6(address))) if address.to_ipv4_mapped().is_some() => {
            let message = format!("{} is an IPv4 address written as IPv6", quote(text));
            Err(Flaw::with_hint(
                message,
                "write it as IPv4, with the type A",
            ))
        }
        (RecordType::A, Some(IpAddr::V4(_))) | (RecordType::Aaaa, Some(IpAddr::V6(_))) => {
            Ok(spelling::content(text))
        }
        (RecordType::A | RecordType::Aaaa, _) => {
            let (family, other, other_kind) = match kind {
                RecordType::A => ("IPv4", "IPv6", "AAAA"),
                _ => ("IPv6", "IPv4", "A"),
            };
            let hint = found.map(|_| format!("the type of an {other} address is {other_kind}"));
            let hint = hint.or_else(|| no_address(text, kind.word()));
            let message = format!("{} is not an {family} address", quote(text));
            Err(Flaw { message, hint }.or_several(text, SEVERAL))
        }
        (RecordType::Cname, Some(_)) => {
            let text = quote(text);
            let message = format!("a CNAME points to a name, and {text} is an address");
            let hint = "the type of an IPv4 address is A, that of an IPv6 address AAAA";
            Err(Flaw::with_hint(message, hint))
        }
        (RecordType::Cname, None) => domain::of_zone(text.strip_suffix('.').unwrap_or(text)),
    };
    place.checked(checked, log)
}

/// What is very likely meant where an address should stand.
fn no_address(text: &str, kind: &str) -> Option<String> {
    if let Some((address, _)) = text.split_once('/')
        && address.parse::<IpAddr>().is_ok()
    {
        return Some(format!("did you mean {}?", quote(address)));
    }
    let is_name = domain::of_zone(text).is_ok();
    is_name.then(|| format!("the type of a record that points to a name is CNAME, not {kind}"))
}

/// What of a zone's records the server refuses: one that is there twice, and a CNAME beside another one of its name.
fn check(records: &[&InFile<'_>], log: &mut Log) {
    let known = records.iter().filter_map(|one| match &one.resource {
        Some(Resource::DnsRecord(record)) => Some((*one, record)),
        _ => None,
    });
    let mut of_name: FxHashMap<_, Vec<(&InFile<'_>, &DnsRecord)>> = FxHashMap::default();
    for (one, record) in known {
        let before = of_name.entry((&one.address.within, &record.name));
        let before = before.or_default();
        let rival = before.iter().find(|(_, other)| record.excludes(other));
        let rival = rival.copied();
        before.push((one, record));
        let Some((there, other)) = rival else {
            continue;
        };
        let line = there.cursor.place().line;
        let only = "a name with a CNAME can have no other record";
        let message = match record.is_same(other) {
            true => format!("the same record is in line {line} already"),
            false => {
                let name = quote(&record.name);
                format!("{name} has a record in line {line} already: {only}")
            }
        };
        let here = one.cursor.place();
        log.error(here, message).coded(Code::Duplicate);
    }
}
