//! Nameserver groups: who asks which name servers for which domains (docs/netbird-api.md, "Nameserver groups").

use serde::Deserializer;

use super::prelude::*;
use super::values::nameserver;
use super::words::address;

/// A nameserver group in canonical form. `None` = not ours.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct NameserverGroup {
    /// Text for people.
    pub description: Option<String>,
    /// 1 to 3 servers, in canonical text; clients ask the first one first.
    #[serde(default, deserialize_with = "nullable")]
    pub nameservers: Vec<Nameserver>,
    /// Groups whose peers ask them; never empty.
    #[serde(default, deserialize_with = "ids")]
    pub groups: BTreeSet<String>,
    /// Whether they answer for everything; exactly where `domains` is empty. `None` only while a file is read.
    pub primary: Option<bool>,
    /// Domains they answer for, as written; in that order clients search them.
    #[serde(default, deserialize_with = "nullable")]
    pub domains: Vec<String>,
    /// Whether the domains are search domains too.
    pub search_domains_enabled: Option<bool>,
    /// Whether it is in use.
    pub enabled: Option<bool>,
}

/// One name server; always asked by UDP.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Nameserver {
    /// IPv4 or IPv6 address in canonical text, without brackets.
    pub ip: String,
    /// 1 to 65535; 0 stands for one that the server did not check, and is a difference to any declared one.
    #[serde(default, deserialize_with = "port")]
    pub port: u16,
}

const TABLE: Table<NameserverGroup> = Table {
    what: "a nameserver group",
    fields: fields![
        /// Text for people.
        own description: TEXT => "",
        /// 1 to 3 name servers; clients ask the first one first, so their order counts.
        needs nameservers: Takes(Shape::Objects(nameserver::LIST), nameserver::read),
        /// Groups whose peers ask them, at least one.
        needs(groups) groups: names::SOME_GROUPS,
        /// Answers for every domain: true exactly where domains is empty, and follows from it when left out.
        may primary: FLAG,
        /// Domains they answer for, with all below; kept as written, no wildcard. Left out: they answer for all.
        may domains: DOMAINS,
        /// The domains are search domains too; false where there are none.
        own search_domains_enabled: FLAG => false,
        /// Whether it is in use.
        own enabled: FLAG => true,
        ; renamed_from(),
    ],
    refused: refused![
        Refused::NAME;
        ["servers", "name_servers", "dns"] => nameservers;
        ["match_domains", "search_domains"] => domains;
        ["distribution_groups", "peers"] => groups;
    ],
    rules: r#"{
        "if": {"properties": {"domains": {"minItems": 1}}, "required": ["domains"]},
        "then": {"properties": {"primary": {"const": false}}},
        "else": {"properties": {"primary": {"const": true}, "search_domains_enabled": {"const": false}}}
    }"#,
};

const DOMAINS: Takes<Vec<String>> = Takes(
    Shape::Schema(
        r#"{"type": "array", "items": {"type": "string", "minLength": 1, "maxLength": 254, "not": {"pattern": "^\\*"}}}"#,
    ),
    |list, log| domain::list(list, domain::of_nameservers, log).unwrap_or_default(),
);

/// Primary means for all domains: the server takes it exactly where there are none (docs/netbird-api.md, "Nameserver
/// groups").
fn check_primary(group: &NameserverGroup, entry: &Cursor<'_>, log: &mut Log) {
    let listed = entry
        .get("domains")
        .is_some_and(|domains| domains.elements().next().is_some());
    match group.primary {
        Some(true) if listed => {
            log.error(
                entry.place_of("primary"),
                "a primary group answers for every domain, and this one lists some",
            )
            .suggest("remove \"primary\" or \"domains\"");
        }
        Some(false) if !listed => {
            log.error(
                entry.place_of("primary"),
                "a group that is not primary needs domains to answer for",
            )
            .suggest("add \"domains\", or remove \"primary\"");
        }
        None if !listed
            && ["primary", "domains"]
                .iter()
                .all(|name| !entry.mentions(&TABLE, name)) =>
        {
            log.notice(
                Code::EveryDomain,
                entry.key_place(),
                "has no domains, so it answers for every domain",
            )
            .suggest("write \"primary\": true if that is meant");
        }
        _ => (),
    }
    if group.search_domains_enabled == Some(true) && !listed {
        log.error(
            entry.place_of("search_domains_enabled"),
            "a group without domains has none to search: search_domains_enabled can only be false",
        );
    }
}

fn port<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u16, D::Error> {
    let port: Option<i64> = Option::deserialize(deserializer)?;
    Ok(port.and_then(|port| u16::try_from(port).ok()).unwrap_or(0))
}

/// A server that is listed twice is asked where it stands first.
fn first_ones(servers: Vec<Nameserver>) -> Vec<Nameserver> {
    let mut kept = Vec::new();
    for server in servers {
        if !kept.contains(&server) {
            kept.push(server);
        }
    }
    kept
}

impl NameserverGroup {
    /// Returns whether both have the same domains, however they are spelled, and in the same order where they are searched.
    fn same_domains(&self, live: &NameserverGroup) -> bool {
        let spelled = |group: &NameserverGroup| -> Vec<String> {
            group
                .domains
                .iter()
                .map(|domain| spelling::domain(domain))
                .collect()
        };
        let (mut ours, mut theirs) = (spelled(self), spelled(live));
        let searched = self.search_domains_enabled.or(live.search_domains_enabled);
        if searched != Some(true) {
            for domains in [&mut ours, &mut theirs] {
                domains.sort();
                domains.dedup();
            }
        }
        ours == theirs
    }

    /// Its servers, with their ports where they are not 53.
    fn servers(&self) -> String {
        let servers = self.nameservers.iter();
        let servers = servers.map(|of| address(&visible(&of.ip), i64::from(of.port)));
        joined(servers, ", ")
    }
}

impl Spec for NameserverGroup {
    const KIND: Descriptor = Descriptor {
        label: "nameserver group",
        plural: "nameserver groups",
        word: "nameserver_group",
        section: &["dns", "nameserver_groups"],
        about: "Nameserver groups by name: 1 to 40 characters.",
        collection: "/dns/nameservers",
        deletion_event: Some("nameserver.group.delete"),
        reach: Reach::Nothing,
        least_role: Role::NetworkAdmin,
        referred: Referred::Never,
        since: None,
        entries: Entries::Named,
        special: Special {
            longest_name: 40,
            has_unique_names: true,
            ..Special::NONE
        },
    };

    const TABLE: &'static Table<Self> = &TABLE;

    fn settle(mut self, entry: &Cursor<'_>, _: Option<&Resource>, log: &mut Log) -> Option<Self> {
        check_primary(&self, entry, log);
        let primary = self.primary.unwrap_or(self.domains.is_empty());
        self.primary = Some(primary);
        if primary {
            self.search_domains_enabled = Some(false); // there are none to search
        }
        Some(self)
    }

    fn tidy(&mut self, _groups: &Groups) {
        self.primary.get_or_insert_default();
        self.nameservers = first_ones(std::mem::take(&mut self.nameservers));
    }

    fn finish(&self, body: &mut Map<String, Value>) {
        let server =
            |server: &Nameserver| json!({ "ip": server.ip, "ns_type": "udp", "port": server.port });
        let servers = self.nameservers.iter().map(server).collect();
        body.insert("nameservers".into(), servers);
    }

    fn says_the_same(&self, live: &Self, field: &str) -> bool {
        field == "domains" && self.same_domains(live)
    }

    fn export(&self, mut fields: Map<String, Value>) -> Result<Map<String, Value>, String> {
        if self.domains.is_empty() {
            fields.remove("domains");
        }
        Ok(fields)
    }

    fn summary(&self, _about: &About) -> String {
        let what = match self.primary {
            Some(true) => "everything".to_owned(),
            _ => named(&self.domains),
        };
        let groups = named(&self.groups);
        format!("{} for {what}, asked by {groups}", self.servers())
    }

    fn loss(&self, _about: &About) -> Sentence {
        let text = Sentence::default().say("peers in ");
        let text = text.names(self.groups.iter().map(String::as_str));
        let text = text.say(format!(" no longer ask {} for ", self.servers()));
        match self.primary {
            Some(true) => text.say("everything"),
            _ => text.names(self.domains.iter().map(String::as_str)),
        }
    }
}
