//! Nameserver groups: who asks which name servers for which domains (docs/netbird-api.md, "Nameserver groups").

use serde::Deserializer;

use super::peer::Addresses;
use super::prelude::*;
use super::values::{objects, read_objects};
use super::words::address;
use crate::file::Inner;

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
    /// The peer whose address it is, where the file names one; of a live one nothing.
    #[serde(skip)]
    pub peer: Option<PeerRef>,
}

impl Default for Nameserver {
    fn default() -> Self {
        Nameserver {
            ip: String::new(),
            port: DNS_PORT,
            peer: None,
        }
    }
}

const TABLE: Table<NameserverGroup> = Table {
    what: "a nameserver group",
    fields: fields![
        /// Text for people.
        own description: TEXT => "",
        /// 1 to 3 name servers; clients ask the first one first, so their order counts.
        needs nameservers: Takes(objects::<Nameserver>("nameserver", Some((1, MAX_NAMESERVERS))), read_servers),
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
    let domains = entry.get("domains");
    let listed = domains.is_some_and(|domains| domains.elements().next().is_some());
    let place = || entry.place_of("primary");
    let is_unsaid = |name: &&str| !entry.mentions(&TABLE, name);
    match group.primary {
        Some(true) if listed => {
            let text = "a primary group is used for all domains, and this one lists some";
            let flaw = log.error(place(), text);
            flaw.suggest("remove \"primary\" or \"domains\"");
        }
        Some(false) if !listed => {
            let text = "a group that is not primary needs domains to answer for";
            let flaw = log.error(place(), text);
            flaw.suggest("add \"domains\", or remove \"primary\"");
        }
        None if !listed && ["primary", "domains"].iter().all(is_unsaid) => {
            let text = "has no domains, so it is used for all domains";
            let notice = log.notice(Code::EveryDomain, entry.key_place(), text);
            notice.suggest("write \"primary\": true if that is meant");
        }
        _ => (),
    }
    if group.search_domains_enabled == Some(true) && !listed {
        let text =
            "a group without domains has none to search: search_domains_enabled can only be false";
        log.error(entry.place_of("search_domains_enabled"), text);
    }
}

fn port<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u16, D::Error> {
    let port: Option<i64> = Option::deserialize(deserializer)?;
    Ok(port.and_then(|port| u16::try_from(port).ok()).unwrap_or(0))
}

impl NameserverGroup {
    /// Returns whether both have the same domains, however they are spelled, and in the same order where they are searched.
    fn same_domains(&self, live: &NameserverGroup) -> bool {
        let searched = self.search_domains_enabled.or(live.search_domains_enabled);
        let spelled = |group: &NameserverGroup| {
            let domains = group.domains.iter();
            let mut domains: Vec<String> = domains.map(|it| spelling::domain(it)).collect();
            if searched != Some(true) {
                domains.sort();
                domains.dedup();
            }
            domains
        };
        spelled(self) == spelled(live)
    }

    /// Its servers, with their ports where they are not 53.
    fn servers(&self, about: &About) -> String {
        let server = |of: &Nameserver| {
            let server = address(&visible(&of.ip), i64::from(of.port));
            let peer = of.peer.iter();
            let peer = peer.map(|peer| format!(" ({})", visible(about.peer(peer))));
            server + &peer.collect::<String>()
        };
        joined(self.nameservers.iter().map(server), ", ")
    }
}

impl Spec for NameserverGroup {
    const KIND: Descriptor = Descriptor {
        called: ["nameserver group", "nameserver groups", "nameserver_group"],
        section: &["dns", "nameserver_groups"],
        about: "Nameserver groups by name: 1 to 40 characters.",
        collection: "/dns/nameservers",
        deletion_event: Some("nameserver.group.delete"),
        longest_name: 40,
        unique: Unique::Always,
        ..Descriptor::of(Reach::Nothing, Role::NetworkAdmin, Referred::Never)
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
        // one that is listed twice is asked where it stands first
        let mut known = BTreeSet::new();
        self.nameservers
            .retain(|server| known.insert(server.clone()));
    }

    fn unseen(&self) -> Value {
        let peers = self.nameservers.iter().map(|server| &server.peer);
        json!(peers.collect::<Vec<_>>())
    }

    fn peers(&self) -> Vec<&PeerRef> {
        let servers = self.nameservers.iter();
        servers.filter_map(|server| server.peer.as_ref()).collect()
    }

    fn peers_mut(&mut self) -> Vec<&mut PeerRef> {
        let servers = self.nameservers.iter_mut();
        servers.filter_map(|server| server.peer.as_mut()).collect()
    }

    fn put_addresses(&mut self, of: Addresses) -> bool {
        let put = |server: &mut Nameserver| {
            peer::put_address(&mut server.ip, server.peer.as_ref(), |peer| of(peer, false))
        };
        // each of them
        let put = self.nameservers.iter_mut().map(put);
        put.fold(true, |all, one| all & one)
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

    fn summary(&self, about: &About) -> String {
        let what = match self.primary {
            Some(true) => "everything".to_owned(),
            _ => named(&self.domains),
        };
        let groups = named(&self.groups);
        format!("{} for {what}, asked by {groups}", self.servers(about))
    }

    fn loss(&self, about: &About) -> Sentence {
        let text = Sentence::from("peers in ");
        let text = text.names(self.groups.iter().map(String::as_str));
        let text = text.say(format!(" no longer ask {} for ", self.servers(about)));
        match self.primary {
            Some(true) => text.say("everything"),
            _ => text.names(self.domains.iter().map(String::as_str)),
        }
    }
}

const MAX_NAMESERVERS: usize = 3;
const DNS_PORT: u16 = 53;

impl Inner for Nameserver {
    const TABLE: &'static Table<Self> = &Table {
        what: "a nameserver",
        fields: fields![
            /// IPv4 or IPv6 address. Exactly one of ip and peer.
            may ip: Takes(Shape::Schema(r#"{"type": "string", "minLength": 2}"#), ip),
            /// Its UDP port.
            may port: Takes(Shape::Whole(1, 65_535), |value, log| {
                let port = (whole::<1, 65_535>().1)(value, log);
                port.and_then(|port| u16::try_from(port).ok()).unwrap_or(DNS_PORT)
            }) => 53,
            /// A machine whose IPv4 address it is, named as in a group's peers. Exactly one of ip and peer.
            may peer: peer::PEER,
            ; NS_TYPE,
        ],
        refused: &[],
        rules: r#"{"oneOf": [{"required": ["ip"]}, {"required": ["peer"]}]}"#,
    };

    fn settle(entry: &Cursor<'_>, log: &mut Log) {
        entry.one_of(Self::TABLE, ["ip", "peer"], "write two nameservers", log);
    }
}

/// The type, which no other field can tell.
const NS_TYPE: Field<Nameserver> = {
    let mut field = Field::optional("ns_type", |_, value, log| udp(value, log));
    field.row.shape = Shape::Schema(r#"{"type": "string", "pattern": "^[Uu][Dd][Pp]$"}"#);
    field.row.default = Some("\"udp\"");
    field.row.doc = "NetBird knows udp only; any case.";
    field
};

/// Reads 1 to 3 name servers.
fn read_servers(list: &Cursor<'_>, log: &mut Log) -> Vec<Nameserver> {
    let number = list.elements().count();
    if list.is_list() && !(1..=MAX_NAMESERVERS).contains(&number) {
        let of = "a nameserver group has 1 to";
        let message = format!("{of} {MAX_NAMESERVERS} nameservers, not {number}");
        log.error(list.place(), message);
    }
    read_objects(list, "nameservers", log).unwrap_or_default()
}

fn ip(value: &Cursor<'_>, log: &mut Log) -> String {
    let several = "write one nameserver for each";
    let text = value.one_string(log, "an IP address", several);
    let ip = text.and_then(|text| value.checked(network::address(text), log));
    ip.unwrap_or_default()
}

fn udp(value: &Cursor<'_>, log: &mut Log) {
    let text = value.string(log, "\"udp\"").unwrap_or("udp");
    if !text.eq_ignore_ascii_case("udp") {
        let text = quote(text);
        let message = format!("{text} is not a type of nameserver: NetBird knows \"udp\" only");
        log.error(value.place(), message);
    }
}

#[cfg(test)]
mod tests {
    use snapbox::str;

    use crate::check::validate::testing::assert_table;

    const FILE: &str = r#"{"groups": {"g": {}}, "dns": {"nameserver_groups": {"n": {ROW}}}}"#;

    #[test]
    fn nameservers_and_groups() {
        let rows = [
            r#""primary": true, "nameservers": [{"ip": "10.0.0.53", "port": 53, "ns_type": "UDP"}], "groups": ["g"]"#,
            r#""primary": true"#,
            r#""primary": true, "nameservers": [], "groups": []"#,
            r#""primary": true, "nameservers": [{"ip": "1.1.1.1"}, {"ip": "1.0.0.1"}, {"ip": "8.8.8.8"}], "groups": ["g"]"#,
            r#""primary": true, "nameservers": [{"ip": "1.1.1.1"}, {"ip": "1.0.0.1"}, {"ip": "8.8.8.8"}, {"ip": "9.9.9.9"}], "groups": ["g"]"#,
            r#""primary": true, "nameservers": [{"ip": "1.1.1.1"}, {"ip": "1.1.1.1", "port": 53}], "groups": ["g"]"#,
            r#""primary": true, "nameservers": ["1.1.1.1", null, {}, {"ip": "dns.example"}], "groups": ["g"]"#,
            r#""primary": true, "nameservers": {"ip": "1.1.1.1"}, "groups": "g""#,
            r#""primary": true, "nameservers": [{"ip": "1.1.1.1", "port": 0}], "groups": ["g"]"#,
            r#""primary": true, "nameservers": [{"ip": "1.1.1.1", "port": 65536}], "groups": ["g"]"#,
            r#""primary": true, "nameservers": [{"ip": "1.1.1.1", "port": "53"}], "groups": ["g"]"#,
            r#""primary": true, "nameservers": [{"ip": "1.1.1.1", "ns_type": "tcp", "prot": 53}], "groups": ["g"]"#,
            r#""primary": true, "nameservers": [{"ip": "1.1.1.1:53"}, {"ip": "[::1]"}, "1.1.1.1:53"], "groups": ["g"], "name": "n""#,
        ];
        assert_table(
            FILE,
            &rows,
            str![[r#"
"primary": true, "nameservers": [{"ip": "10.0.0.53", "port": 53, "ns_type": "UDP"}], "groups": ["g"]
"primary": true
    dns.nameserver_groups.n: a nameserver group needs "nameservers"
    dns.nameserver_groups.n: a nameserver group needs "groups"
"primary": true, "nameservers": [], "groups": []
    dns.nameserver_groups.n.nameservers: a nameserver group has 1 to 3 nameservers, not 0
    dns.nameserver_groups.n.groups: "groups" cannot be empty | name at least one group
"primary": true, "nameservers": [{"ip": "1.1.1.1"}, {"ip": "1.0.0.1"}, {"ip": "8.8.8.8"}], "groups": ["g"]
"primary": true, "nameservers": [{"ip": "1.1.1.1"}, {"ip": "1.0.0.1"}, {"ip": "8.8.8.8"}, {"ip": "9.9.9.9"}], "groups": ["g"]
    dns.nameserver_groups.n.nameservers: a nameserver group has 1 to 3 nameservers, not 4
"primary": true, "nameservers": [{"ip": "1.1.1.1"}, {"ip": "1.1.1.1", "port": 53}], "groups": ["g"]
    note: dns.nameserver_groups.n.nameservers[1]: a nameserver is in the list twice
"primary": true, "nameservers": ["1.1.1.1", null, {}, {"ip": "dns.example"}], "groups": ["g"]
    dns.nameserver_groups.n.nameservers: a nameserver group has 1 to 3 nameservers, not 4
    dns.nameserver_groups.n.nameservers[0]: expected a nameserver { … }, found the string "1.1.1.1" | write { "ip": "1.1.1.1" }
    dns.nameserver_groups.n.nameservers[1]: null is not allowed: expected a nameserver { … } | write its fields in braces: ip, port, peer, ns_type
    dns.nameserver_groups.n.nameservers[2]: a nameserver needs "ip" or "peer"
    dns.nameserver_groups.n.nameservers[3].ip: "dns.example" is not an IP address
"primary": true, "nameservers": {"ip": "1.1.1.1"}, "groups": "g"
    dns.nameserver_groups.n.nameservers: expected a list of nameservers, found an object
    dns.nameserver_groups.n.groups: expected a list of group names, found the string "g" | write ["g"]
"primary": true, "nameservers": [{"ip": "1.1.1.1", "port": 0}], "groups": ["g"]
    dns.nameserver_groups.n.nameservers[0].port: 0 is too small: expected a whole number from 1 to 65535
"primary": true, "nameservers": [{"ip": "1.1.1.1", "port": 65536}], "groups": ["g"]
    dns.nameserver_groups.n.nameservers[0].port: 65536 is too large: expected a whole number from 1 to 65535
"primary": true, "nameservers": [{"ip": "1.1.1.1", "port": "53"}], "groups": ["g"]
    dns.nameserver_groups.n.nameservers[0].port: expected a whole number from 1 to 65535, found the string "53" | write 53 without quotes
"primary": true, "nameservers": [{"ip": "1.1.1.1", "ns_type": "tcp", "prot": 53}], "groups": ["g"]
    dns.nameserver_groups.n.nameservers[0].ns_type: "tcp" is not a type of nameserver: NetBird knows "udp" only
    dns.nameserver_groups.n.nameservers[0].prot: unknown field "prot" | did you mean "port"?
"primary": true, "nameservers": [{"ip": "1.1.1.1:53"}, {"ip": "[::1]"}, "1.1.1.1:53"], "groups": ["g"], "name": "n"
    dns.nameserver_groups.n.nameservers[0].ip: "1.1.1.1:53" is not an IP address | write the port in "port"
    dns.nameserver_groups.n.nameservers[2]: expected a nameserver { … }, found the string "1.1.1.1:53" | write its fields in braces: ip, port, peer, ns_type
    dns.nameserver_groups.n.name: its name is the name of its entry | to rename it, rename the entry and add "renamed_from" with the old name

"#]],
        );
    }
}
