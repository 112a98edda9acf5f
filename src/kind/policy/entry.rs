//! Policies in the file: section `policies`.

use std::collections::{BTreeMap, BTreeSet};

use super::{Action, Policy, Protocol, target};
use crate::code::Code;
use crate::config::{Cursor, Field, Log, Refused, Shape, Table, did_you_mean, quote};
use crate::kind::rows::own;
use crate::kind::values::{flag, names, ports, renamed_from, text};
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
        Field {
            groups: Some(|policy| Some(&policy.sources)),
            ..Field::<Policy>::optional("sources", |policy, value, log| {
                policy.sources = names::some_groups(value, log, EMPTY_SIDE);
            })
            .says(Shape::SomeGroups, None, "Groups that may connect, at least one. Exactly one of sources and source_resource.")
        },
        Field::<Policy>::optional("source_resource", |policy, value, log| {
            policy.source_resource = target::source(value, log);
        })
        .says(
            Shape::Schema(r##"{"type": "object", "additionalProperties": false, "required": ["peer"], "properties": {"peer": {"$ref": "#/definitions/name"}}}"##),
            None,
            "The one peer that may connect, as { \"peer\": NAME }, named as in a group's peers.",
        ),
        Field {
            groups: Some(|policy| Some(&policy.destinations)),
            ..Field::<Policy>::optional("destinations", |policy, value, log| {
                policy.destinations = names::some_groups(value, log, EMPTY_SIDE);
            })
            .says(Shape::SomeGroups, None, "Groups that they reach, at least one. Exactly one of destinations and destination_resource.")
        },
        Field::<Policy>::optional("destination_resource", |policy, value, log| {
            policy.destination_resource = target::destination(value, log);
        })
        .says(
            Shape::Schema(r##"{"anyOf": [
                {"type": "string", "minLength": 1},
                {"type": "object", "additionalProperties": false, "required": ["peer"], "properties": {"peer": {"$ref": "#/definitions/name"}}}
            ]}"##),
            None,
            "What they reach: a network resource by its name, or one peer as { \"peer\": NAME }.",
        ),
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
        own!(
            source_posture_checks,
            Shape::Schema(r#"{"type": "array", "items": {"type": "string", "minLength": 1}}"#),
            Some("[]"),
            "Posture checks of NetBird, by name, that sources have to pass. They are not declared here.",
            checks
        ),
        own!(
            authorized_groups,
            Shape::Schema(r#"{"type": "object", "additionalProperties": {"type": "array", "items": {"type": "string", "minLength": 1}}}"#),
            Some("{}"),
            "Of netbird-ssh: groups of users, and the local users that they may log in as; an empty list is any. Every source group is one of them.",
            users
        ),
        renamed_from(),
    ],
    refused: &[
        Refused::new(&["rules", "rule"], "one policy is one rule: NetBird drops all but the first", Some(
                "write the rule's fields here, and a policy of its own for every other rule",
            )),
        Refused::new(&["name"], "a policy's name is the name of its entry", Some("to rename it, rename the entry and add \"renamed_from\" with the old name")),
        Refused::new(&["port_ranges"], "port ranges stand in \"ports\"", Some("write \"8000-8100\"")),
        Refused::new(&["posture_checks"], "posture checks stand in \"source_posture_checks\"", Some("write \"source_posture_checks\": [ … ] with names of posture checks that NetBird has")),
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
            &["sourceResource"],
            "write \"source_resource\"",
            Some("for one peer: \"source_resource\": { \"peer\": \"NAME\" }"),
        )
        .meant("sources"),
        Refused::new(
            &["destinationResource"],
            "write \"destination_resource\"",
            Some("a network resource by its name, or { \"peer\": \"NAME\" }"),
        )
        .meant("destinations"),
    ],
    rules: r#"{
        "allOf": [
            {"oneOf": [{"required": ["sources"]}, {"required": ["source_resource"]}]},
            {"oneOf": [{"required": ["destinations"]}, {"required": ["destination_resource"]}]}
        ],
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
    one_of(entry, "sources", "source_resource", log);
    one_of(entry, "destinations", "destination_resource", log);
    check_ports(&policy, entry, log);
    check_ssh(&policy, entry, log);
    if policy
        .protocol
        .is_some_and(|protocol| !protocol.takes_ports())
    {
        // such a rule has none: ports left over from another protocol are a difference
        policy.ports = Some(BTreeSet::new());
    }
    Some(Declared::one(Resource::Policy(policy)))
}

/// The server refuses both on one side, and neither (docs/netbird-api.md, "Policies: what is accepted").
fn one_of(entry: &Cursor<'_>, groups: &str, target: &str, log: &mut Log) {
    if !entry.is_object() {
        return;
    }
    match (entry.get(groups), entry.get(target)) {
        (Some(_), Some(target)) => {
            let text = format!(
                "a policy has \"{groups}\" or \"{}\", not both",
                target.name()
            );
            log.error(target.key_place(), text)
                .suggest("make two policies".to_owned());
        }
        (None, None) if !entry.mentions(&TABLE, groups) && !entry.mentions(&TABLE, target) => {
            let text = format!("a policy needs \"{groups}\" or \"{target}\"");
            log.error(entry.key_place(), text).coded(Code::MissingField);
        }
        _ => (),
    }
}

/// Users who may log in are of NetBird's SSH alone, which opens more than it says.
fn check_ssh(policy: &Policy, entry: &Cursor<'_>, log: &mut Log) {
    let is_ssh = policy.protocol == Some(Protocol::NetbirdSsh);
    if is_ssh
        && policy.ports.as_ref().is_none_or(BTreeSet::is_empty)
        && policy.action != Some(Action::Drop)
    {
        log.notice(
            Code::SshEveryPort,
            entry.place_of("protocol"),
            "netbird-ssh without ports opens every TCP port of the destination, not SSH alone",
        )
        .suggest("write \"ports\": [22]".to_owned());
    }
    let (Some(users), Some(place)) = (&policy.authorized_groups, entry.get("authorized_groups"))
    else {
        return;
    };
    if !is_ssh {
        log.error(
            place.key_place(),
            "users who may log in are of the protocol netbird-ssh alone",
        )
        .suggest("add \"protocol\": \"netbird-ssh\", or take them out".to_owned());
        return;
    }
    for group in policy
        .sources
        .iter()
        .filter(|group| !users.contains_key(*group))
    {
        let text = format!(
            "\"authorized_groups\" says nothing of the source group {}: NetBird refuses that",
            quote(group)
        );
        log.error(place.key_place(), text).suggest(format!(
            "add {}: [ … ] with the local users that its users may log in as",
            quote(group)
        ));
    }
    for group in place.members() {
        if group.is_list() && group.elements().next().is_none() {
            let text = format!(
                "users of {} may log in as any local user, root too",
                quote(group.name())
            );
            log.notice(Code::AnyLocalUser, group.key_place(), text)
                .suggest("name the local users".to_owned());
        }
    }
}

fn checks(list: &Cursor<'_>, log: &mut Log) -> Option<BTreeSet<String>> {
    names::others(list, log, "a list of names of posture checks")
}

fn users(map: &Cursor<'_>, log: &mut Log) -> Option<BTreeMap<String, BTreeSet<String>>> {
    if !map.is_object() {
        let hint = "write { \"GROUP\": [\"root\"] }".to_owned();
        return map.wrong(log, "groups of users with local users { … }", Some(hint));
    }
    let mut users = BTreeMap::new();
    for group in map.members() {
        names::check_resource_name(&group, log);
        let logins = names::others(&group, log, "a list of local users");
        users.insert(group.name().to_owned(), logins.unwrap_or_default());
    }
    Some(users)
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
