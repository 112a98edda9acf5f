//! Policies in the file: section `policies`.

use std::collections::BTreeSet;

use super::{Action, Policy, Protocol};
use crate::config::{Cursor, Log, Refused, Shape, Table, did_you_mean, quote};
use crate::kind::rows::{groups, own};
use crate::kind::values::{flag, ports, renamed_from, text};
use crate::kind::{Declared, Resource};

pub(super) const PROTOCOLS: [(&str, Protocol); 5] = [
    ("all", Protocol::All),
    ("tcp", Protocol::Tcp),
    ("udp", Protocol::Udp),
    ("icmp", Protocol::Icmp),
    ("netbird-ssh", Protocol::NetbirdSsh),
];

const EMPTY_SIDE: &str =
    "a rule with an empty side matches nothing; \"enabled\": false switches a policy off";

pub(super) const TABLE: Table<Policy> = Table {
    what: "a policy",
    fields: &[
        own!(description, Shape::Text, Some(r#""""#), "Text for people.", text),
        own!(enabled, Shape::Flag, Some("true"), "Whether it is enforced.", flag),
        groups!(sources, "Groups that may connect, at least one.", EMPTY_SIDE),
        groups!(destinations, "Groups that they reach, at least one.", EMPTY_SIDE),
        own!(
            bidirectional,
            Shape::Flag,
            Some("true"),
            "Destinations may open connections to sources too.",
            flag
        ),
        own!(
            protocol,
            Shape::Schema(
                r#"{"anyOf": [
                    {"enum": ["all", "tcp", "udp", "icmp", "netbird-ssh"]},
                    {"type": "string", "pattern": "^([Aa][Ll][Ll]|[Tt][Cc][Pp]|[Uu][Dd][Pp]|[Ii][Cc][Mm][Pp]|[Nn][Ee][Tt][Bb][Ii][Rr][Dd]-[Ss][Ss][Hh])$"}
                ]}"#
            ),
            Some(r#""all""#),
            "all, tcp, udp, icmp or netbird-ssh, in any case.",
            protocol
        ),
        own!(
            ports,
            Shape::Schema(
                r#"{"type": "array", "items": {"anyOf": [
                    {"type": "integer", "minimum": 1, "maximum": 65535},
                    {"type": "string", "pattern": "^[1-9][0-9]{0,4}(-[1-9][0-9]{0,4})?$"}
                ]}}"#
            ),
            Some("[]"),
            "Ports of tcp, udp and netbird-ssh: numbers, or strings of a port or a range such as \"8000-8100\", 1 to 65535. Empty = all ports.",
            ports::read
        ),
        own!(
            action,
            Shape::Schema(r#"{"enum": ["accept", "drop"]}"#),
            Some(r#""accept""#),
            "What happens to matching traffic: \"accept\" or \"drop\".",
            action
        ),
        renamed_from(),
    ],
    refused: &[
        Refused::new(&["rules", "rule"], "one policy is one rule: NetBird drops all but the first", Some(
                "write the rule's fields here, and a policy of its own for every other rule",
            )),
        Refused::new(&["name"], "a policy's name is the name of its entry", Some("to rename it, rename the entry and add \"renamed_from\" with the old name")),
        Refused::new(&["port_ranges"], "port ranges stand in \"ports\"", Some("write \"8000-8100\"")),
        Refused::new(&["source_posture_checks", "posture_checks"], "posture checks are not managed here", Some("a policy keeps those it has in NetBird")),
        Refused::new(
            &["src", "from", "source_groups", "users"],
            "who may connect stands in \"sources\"",
            Some("write \"sources\": [ … ] with names of groups"),
        )
        .meant("sources"),
        Refused::new(
            &["dst", "to", "destination_groups", "hosts"],
            "whom they reach stands in \"destinations\"",
            Some("write \"destinations\": [ … ] with names of groups"),
        )
        .meant("destinations"),
        Refused::new(&["proto"], "write \"protocol\"", None),
        Refused::new(
            &["sourceResource", "source_resource"],
            "a policy names groups here, no single resource",
            Some("name groups in \"sources\"; a policy with a resource stays as it is in NetBird when it is not declared"),
        )
        .meant("sources"),
        Refused::new(
            &["destinationResource", "destination_resource"],
            "a policy names groups here, no single resource",
            Some("name groups in \"destinations\"; a policy with a resource stays as it is in NetBird when it is not declared"),
        )
        .meant("destinations"),
        Refused::new(&["authorized_groups"], "SSH users are not managed here", Some("a policy keeps those it has in NetBird")),
    ],
    rules: r#"{
        "if": {"properties": {"ports": {"minItems": 1}}, "required": ["ports"]},
        "then": {
            "required": ["protocol"],
            "properties": {"protocol": {"not": {"type": "string", "pattern": "^([Aa][Ll][Ll]|[Ii][Cc][Mm][Pp])$"}}}
        }
    }"#,
};

pub(super) fn read(entry: &Cursor<'_>, log: &mut Log) -> Option<Declared> {
    let mut policy = Policy::default();
    entry.object(log, &TABLE, &mut policy);
    check_ports(&policy, entry, log);
    if policy
        .protocol
        .is_some_and(|protocol| !protocol.takes_ports())
    {
        // such a rule has none: ports left over from another protocol are a difference
        policy.ports = Some(BTreeSet::new());
    }
    Some(Declared::one(Resource::Policy(policy)))
}

/// The server refuses ports beside `all` and `icmp` (docs/netbird-api.md, "Policies: what is accepted").
fn check_ports(policy: &Policy, entry: &Cursor<'_>, log: &mut Log) {
    if entry
        .get("ports")
        .is_none_or(|ports| ports.elements().next().is_none())
    {
        return;
    }
    match policy.protocol {
        Some(protocol) if !protocol.takes_ports() => {
            log.error(
                entry.place_of("ports"),
                format!("the protocol {} has no ports", protocol.name()),
            )
            .suggest("ports need \"protocol\": \"tcp\" or \"udp\"".to_owned());
        }
        None if !entry.mentions(&TABLE, "protocol") => {
            log.error(
                entry.place_of("ports"),
                "ports need a protocol, and this policy names none",
            )
            .suggest("add \"protocol\": \"tcp\" or \"udp\"".to_owned());
        }
        _ => (),
    }
}

fn protocol(value: &Cursor<'_>, log: &mut Log) -> Option<Protocol> {
    let names = || PROTOCOLS.iter().map(|(name, _)| *name);
    let text = value.string(log, "a protocol")?;
    let known = PROTOCOLS
        .iter()
        .find(|(name, _)| name.eq_ignore_ascii_case(text));
    if known.is_none() {
        let list = names().collect::<Vec<_>>().join(", ");
        log.error(
            value.place(),
            format!("{} is no protocol: it is one of {list}", quote(text)),
        )
        .suggest(match text.to_lowercase().as_str() {
            "any" | "*" | "" => Some("all of them are \"all\"".to_owned()),
            "ssh" => Some(
                "write \"tcp\" with \"ports\": [22]; \"netbird-ssh\" is NetBird's own server of SSH".to_owned(),
            ),
            "http" | "https" => Some("write \"tcp\" with its \"ports\"".to_owned()),
            _ => did_you_mean(text, names()),
        });
    }
    known.map(|(_, protocol)| *protocol)
}

fn action(value: &Cursor<'_>, log: &mut Log) -> Option<Action> {
    match value.string(log, "\"accept\" or \"drop\"")? {
        "accept" => Some(Action::Accept),
        "drop" => Some(Action::Drop),
        other => {
            log.error(
                value.place(),
                format!(
                    "{} is no action: it is \"accept\" or \"drop\"",
                    quote(other)
                ),
            )
            .suggest(match other.to_lowercase().as_str() {
                "allow" | "permit" => Some("write \"accept\"".to_owned()),
                "deny" | "block" | "reject" => Some("write \"drop\"".to_owned()),
                _ => did_you_mean(other, ["accept", "drop"]),
            });
            None
        }
    }
}
