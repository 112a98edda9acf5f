//! Records of DNS zones (docs/netbird-api.md, "DNS zones and records").
//!
//! A record has no name of its own: what tells it from others is what it answers, and with what. Its address is the full
//! name and the type, as in `db.corp.example A`; several records may share it, each with other content.

mod entry;

use std::net::Ipv6Addr;

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
        (&self.name, self.r#type, &self.content) == (&other.name, other.r#type, &other.content)
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
        label: "DNS record",
        plural: "DNS records",
        word: "dns_record",
        section: &["records"],
        about: "Records of a zone.",
        collection: "/records",
        deletion_event: Some("dns.zone.record.delete"),
        reach: Reach::Nothing,
        least_role: Role::NetworkAdmin,
        referred: Referred::Never,
        since: Some("0.63"),
        entries: Entries::Inside(Inside {
            parent: Kind::DnsZone,
            answers: Answers::Embedded("records"),
            written: entry::written,
            name: NameOf::Texts {
                of_parent: &["domain"],
                own: &["name", "type"],
                make: |zone, own| entry::address_of(&entry::full_name(own[0], zone[0]), own[1]),
            },
        }),
        special: Special {
            is_several: true,
            check: entry::check,
            ..Special::NONE
        },
    };

    const TABLE: &'static Table<Self> = &entry::TABLE;

    fn settle(self, entry: &Cursor<'_>, within: Option<&Resource>, log: &mut Log) -> Option<Self> {
        match within {
            Some(Resource::DnsZone(zone)) => entry::settle(self, &zone.domain, entry, log),
            _ => None,
        }
    }

    fn read(wire: Entry, groups: &Groups) -> Result<Live, serde_json::Error> {
        let of_answer: Typed = wire.read()?;
        let mut live = spec::read::<Self>(wire, groups)?;
        live.name = entry::address_of(&live.name, &of_answer.r#type);
        Ok(live)
    }

    fn tidy(&mut self, _groups: &Groups) {
        self.content = spelling::content(&self.content);
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

    fn summary(&self, _about: &About) -> String {
        let ttl = self.ttl.map(|ttl| format!(", ttl {ttl}"));
        format!("{}{}", visible(&self.content), ttl.unwrap_or_default())
    }

    fn loss(&self, _about: &About) -> Sentence {
        let text = Sentence::default().name(&self.name);
        text.say(" no longer leads to ").name(&self.content)
    }
}
