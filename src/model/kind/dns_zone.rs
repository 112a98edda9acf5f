//! DNS zones: domains whose names NetBird itself answers, for the peers of groups (docs/netbird-api.md, "DNS zones and
//! records").

use super::DnsRecord;
use super::prelude::*;
use super::spec::objects;

/// Longest name that the server takes, in bytes.
const LONGEST_NAME: usize = 255;

/// A zone in canonical form, without its records. `None` = not ours.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct DnsZone {
    /// What it answers, with all below: lower case, ASCII; empty where the file's is wrong. Only creation takes it.
    pub domain: Option<String>,
    /// Groups whose peers ask it; never empty. An entry without a domain has none, and means a zone that lives.
    #[serde(default, deserialize_with = "ids")]
    pub distribution_groups: Option<BTreeSet<String>>,
    /// Whether the domain is a search domain too.
    #[serde(rename(deserialize = "enable_search_domain"))]
    pub search_domain: Option<bool>,
    /// Whether it is in use.
    pub enabled: Option<bool>,
}

const TABLE: Table<DnsZone> = Table {
    what: "a DNS zone",
    fields: fields![
        /// The domain that it answers, with all below, in ASCII. Another one replaces the zone, with its records. Left out, with
        /// distribution_groups: the zone of that name in NetBird, whoever manages it; its records are written with full names.
        own domain: DOMAIN,
        /// Groups whose peers ask the zone, at least one. Left out with domain.
        own(groups) distribution_groups: Takes(Shape::SOME_NAMES, |list, log| {
            names::some_groups(list, log, "name at least one group")
        }),
        /// The domain is a search domain too.
        own search_domain in "enable_search_domain": FLAG => false,
        /// Whether it is in use.
        own enabled: FLAG => true,
        ; Field::inside(
            "records",
            Shape::Objects(objects::<DnsRecord>()),
            "Its records. Without it, the records are not changed; if it is empty, all are deleted.",
        ),
        renamed_from(),
    ],
    refused: refused![
        Refused::NAME;
        ["groups", "peers"] => distribution_groups;
        ["search_domains_enabled", "enable_search_domain", "search_domains"] => search_domain;
    ],
    rules: r#"{"anyOf": [
        {"required": ["domain", "distribution_groups"]},
        {"required": ["records"], "properties": {"domain": false, "distribution_groups": false}}
    ]}"#,
};

const DOMAIN: Takes<Option<String>> = Takes(
    Shape::Schema(
        r#"{"type": "string", "minLength": 1, "maxLength": 253, "pattern": "^[A-Za-z0-9_.-]+$", "examples": ["corp.example"]}"#,
    ),
    // what is wrong is there
    |value, log| Some(domain::read(value, domain::of_zone, log).unwrap_or_default()),
);

/// The server takes one zone for a domain.
fn one_zone_a_domain(zones: &[&InFile<'_>], log: &mut Log) {
    let mut first: BTreeMap<&str, (&str, usize)> = BTreeMap::new();
    for one in zones {
        let Some(Resource::DnsZone(zone)) = &one.resource else {
            continue;
        };
        let here = one.cursor.place_of("domain");
        let domain = zone.domain.as_deref().unwrap_or_default();
        match first.get(domain) {
            _ if domain.is_empty() => {}
            Some((other, line)) => {
                let (domain, other) = (quote(domain), quote(other));
                let text = format!("{domain} is the domain of the zone {other} in line {line} too");
                let flaw = log.error(here, text).coded(Code::Duplicate);
                flaw.suggest("NetBird takes one zone for a domain: put the records into one");
            }
            None => drop(first.insert(domain, (&one.address.name, here.line))),
        }
    }
}

impl Spec for DnsZone {
    const KIND: Descriptor = Descriptor {
        called: ["DNS zone", "DNS zones", "dns_zone"],
        section: &["dns", "zones"],
        about: "DNS zones by name: 1 to 255 bytes.",
        collection: "/dns/zones",
        deletion_event: Some("dns.zone.delete"),
        since: Some("0.63"),
        longest_name: LONGEST_NAME,
        fixed: &["domain"],
        check: one_zone_a_domain,
        ..Descriptor::of(Reach::Nothing, Role::NetworkAdmin, Referred::Never)
    };

    const TABLE: &'static Table<Self> = &TABLE;
    /// A PUT leaves the records alone.
    const ANSWER_ONLY: &'static [&'static str] = &["id", "records"];

    fn settle(self, entry: &Cursor<'_>, _within: Option<&Resource>, log: &mut Log) -> Option<Self> {
        let bytes = entry.name().len();
        if bytes > LONGEST_NAME {
            let text =
                format!("a zone's name has at most {LONGEST_NAME} bytes; this one has {bytes}");
            log.error(entry.key_place(), text);
        }
        let needed = ["domain", "distribution_groups"].map(|it| (it, entry.mentions(&TABLE, it)));
        let is_only_named = entry.get("records").is_some() && !needed.iter().any(|(_, is)| *is);
        for (name, _) in needed.iter().filter(|(_, is)| !is && !is_only_named) {
            let flaw = log.error(entry.key_place(), format!("a DNS zone needs {name:?}"));
            flaw.coded(Code::MissingField);
        }
        Some(self)
    }

    fn is_only_named(&self) -> bool {
        self.domain.is_none() && self.distribution_groups.is_none()
    }

    fn excludes(&self, other: &Self) -> bool {
        self.domain == other.domain
    }

    fn export(&self, fields: Map<String, Value>) -> Result<Map<String, Value>, String> {
        let own = self.domain.as_deref().unwrap_or_default();
        match domain::of_zone(own) {
            Ok(domain) if domain == own => Ok(fields),
            _ => Err(format!("a file cannot say its domain {}", quote(own))),
        }
    }

    fn summary(&self, _about: &About) -> String {
        let groups = named(self.distribution_groups.iter().flatten());
        let domain = self.domain.as_deref().unwrap_or_default();
        format!("{}, asked by {groups}", visible(domain))
    }

    fn loss(&self, _about: &About) -> Sentence {
        let groups = self.distribution_groups.iter().flatten();
        let text = Sentence::from("peers in ").names(groups.map(String::as_str));
        let text = text.say(" get no answers any more for names in ");
        text.name(self.domain.as_deref().unwrap_or_default())
    }
}
