//! The name servers of a nameserver group (docs/netbird-api.md, "Nameserver groups").

use std::collections::BTreeSet;

use super::{network, whole};
use crate::base::code::Code;
use crate::file::{Cursor, Log, Objects, Shape, Table, Takes, quote};
use crate::model::kind::Nameserver;
use crate::model::kind::rows::fields;

const MAX_NAMESERVERS: usize = 3;
const DNS_PORT: u16 = 53;

/// A name server as written.
#[derive(Default)]
struct NameserverDraft {
    ip: Option<String>,
    port: Option<i64>,
    /// Always `udp`.
    ns_type: (),
}

const TABLE: Table<NameserverDraft> = Table {
    what: "a nameserver",
    fields: fields![
        /// IPv4 or IPv6 address.
        needs ip: Takes(Shape::Schema(r#"{"type": "string", "minLength": 2}"#), ip),
        /// Its UDP port.
        own port: whole::<1, 65_535>() => 53,
        /// NetBird knows udp only; any case.
        may ns_type: Takes(Shape::Schema(r#"{"type": "string", "pattern": "^[Uu][Dd][Pp]$"}"#), udp) => "udp",
    ],
    refused: &[],
    rules: "{}",
};

/// What the field for them takes.
pub(crate) const LIST: Objects = Objects {
    word: "nameserver",
    count: Some((1, MAX_NAMESERVERS)),
    outline: || TABLE.outline(),
};

/// Reads 1 to 3 name servers.
pub(crate) fn read(list: &Cursor<'_>, log: &mut Log) -> Vec<Nameserver> {
    let (mut servers, mut known) = (Vec::new(), BTreeSet::new());
    let Some(elements) = list.list(log, "a list of nameservers") else {
        return servers;
    };
    if !(1..=MAX_NAMESERVERS).contains(&elements.len()) {
        let message = format!(
            "a nameserver group has 1 to {MAX_NAMESERVERS} nameservers, not {}",
            elements.len()
        );
        log.error(list.place(), message);
    }
    for element in elements {
        if let Some(text) = element.text() {
            let message = format!(
                "expected a nameserver {{ … }}, found the string {}",
                quote(text)
            );
            log.error(element.place(), message)
                .suggest(format!("write {{ \"ip\": {} }}", quote(text)));
            continue;
        }
        let mut draft = NameserverDraft::default();
        element.object(log, &TABLE, &mut draft);
        let Some(ip) = draft.ip else { continue };
        let port = draft.port.and_then(|port| u16::try_from(port).ok());
        let server = Nameserver {
            ip,
            port: port.unwrap_or(DNS_PORT),
        };
        if known.insert(server.clone()) {
            servers.push(server);
        } else {
            let text = "this nameserver is in the list twice";
            log.notice(Code::Repeated, element.place(), text);
        }
    }
    servers
}

fn ip(value: &Cursor<'_>, log: &mut Log) -> Option<String> {
    let text = value.one_string(
        log,
        "an IP address",
        "write a nameserver of its own for each",
    )?;
    value.checked(network::address(text), log)
}

fn udp(value: &Cursor<'_>, log: &mut Log) {
    let text = value.string(log, "\"udp\"").unwrap_or("udp");
    if !text.eq_ignore_ascii_case("udp") {
        let message = format!(
            "{} is not a type of nameserver: NetBird knows \"udp\" only",
            quote(text)
        );
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
            r#""primary": true, "nameservers": [{"ip": "1.1.1.1:53"}, {"ip": "[::1]"}], "groups": ["g"], "name": "n""#,
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
    note: dns.nameserver_groups.n.nameservers[1]: this nameserver is in the list twice
"primary": true, "nameservers": ["1.1.1.1", null, {}, {"ip": "dns.example"}], "groups": ["g"]
    dns.nameserver_groups.n.nameservers: a nameserver group has 1 to 3 nameservers, not 4
    dns.nameserver_groups.n.nameservers[0]: expected a nameserver { … }, found the string "1.1.1.1" | write { "ip": "1.1.1.1" }
    dns.nameserver_groups.n.nameservers[1]: null is not allowed: expected a nameserver { … } | write its fields in braces: ip, port, ns_type
    dns.nameserver_groups.n.nameservers[2]: a nameserver needs "ip"
    dns.nameserver_groups.n.nameservers[3].ip: "dns.example" is not an IP address
"primary": true, "nameservers": {"ip": "1.1.1.1"}, "groups": "g"
    dns.nameserver_groups.n.nameservers: expected a list of nameservers, found an object
    dns.nameserver_groups.n.groups: expected a list of group names, found the string "g" | write ["g"]
"primary": true, "nameservers": [{"ip": "1.1.1.1", "port": 0}], "groups": ["g"]
    dns.nameserver_groups.n.nameservers[0].port: 0 is not a whole number from 1 to 65535
"primary": true, "nameservers": [{"ip": "1.1.1.1", "port": 65536}], "groups": ["g"]
    dns.nameserver_groups.n.nameservers[0].port: 65536 is not a whole number from 1 to 65535
"primary": true, "nameservers": [{"ip": "1.1.1.1", "port": "53"}], "groups": ["g"]
    dns.nameserver_groups.n.nameservers[0].port: expected a whole number from 1 to 65535, found the string "53" | write 53 without quotes
"primary": true, "nameservers": [{"ip": "1.1.1.1", "ns_type": "tcp", "prot": 53}], "groups": ["g"]
    dns.nameserver_groups.n.nameservers[0].ns_type: "tcp" is not a type of nameserver: NetBird knows "udp" only
    dns.nameserver_groups.n.nameservers[0].prot: unknown field "prot" | did you mean "port"?
"primary": true, "nameservers": [{"ip": "1.1.1.1:53"}, {"ip": "[::1]"}], "groups": ["g"], "name": "n"
    dns.nameserver_groups.n.nameservers[0].ip: "1.1.1.1:53" is not an IP address | write the port in "port"
    dns.nameserver_groups.n.name: its name is the name of its entry | to rename it, rename the entry and add "renamed_from" with the old name

"#]],
        );
    }
}
