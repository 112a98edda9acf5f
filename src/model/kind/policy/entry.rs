//! Policies in the file: section `policies`.

use super::{Action, Policy, Protocol, target, traffic};
use crate::model::kind::prelude::*;

pub(super) const TABLE: Table<Policy> = Table {
    what: "a policy",
    fields: fields![
        /// Text for people.
        own description: TEXT => "",
        /// Whether it is enforced.
        own enabled: FLAG => true,
        /// Groups that may connect, at least one. Exactly one of sources and source_resource.
        may(groups) sources: SIDE,
        /// The one peer that may connect, as { "peer": NAME }, named as in a group's peers.
        may source_resource: target::SOURCE,
        /// Groups that they reach, at least one. Exactly one of destinations and destination_resource.
        may(groups) destinations: SIDE,
        /// What they reach: a network resource by its name, or one peer as { "peer": NAME }.
        may(resource) destination_resource: target::DESTINATION,
        /// Destinations may open connections to sources too.
        own bidirectional: FLAG => true,
        /// all, tcp, udp, icmp or netbird-ssh, in any case.
        word protocol: Takes(Shape::Schema(PROTOCOL), word::read::<Protocol>) => "all",
        /// Ports of tcp, udp and netbird-ssh: numbers, or strings of a port or a range such as "8000-8100", 1 to 65535.
        /// Empty = all ports.
        own ports: Takes(Shape::Schema(PORTS), traffic::read_ports) => [],
        /// What happens to matching traffic: "accept" or "drop".
        word action: Takes(Shape::Schema(r#"{"enum": ["accept", "drop"]}"#), word::read::<Action>) => "accept",
        /// Posture checks that sources have to pass, by their names in the file or in NetBird.
        own(checks) source_posture_checks: Takes(Shape::NAMES, checks) => [],
        /// Of netbird-ssh: groups of users, and the local users that they may log in as; an empty list is any. Every
        /// source group is one of them.
        own(members) authorized_groups: Takes(Shape::Schema(USERS), users) => {},
        ; renamed_from(),
    ],
    refused: refused![
        Refused::NAME;
        ["rules", "rule"] => "one policy is one rule: NetBird drops all but the first",
            "write the rule's fields here, and a policy of its own for every other rule";
        ["port_ranges"] => ports;
        ["posture_checks"] => source_posture_checks;
        ["src", "from", "source_groups", "users"] => sources;
        ["dst", "to", "destination_groups", "hosts"] => destinations;
        ["proto"] => protocol;
        ["sourceResource"] => source_resource;
        ["destinationResource"] => destination_resource;
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

const SIDE: Takes<BTreeSet<String>> = Takes(Shape::SOME_NAMES, |list, log| {
    let why = "a rule with an empty side matches nothing; \"enabled\": false switches a policy off";
    names::some_groups(list, log, why).unwrap_or_default()
});

const PROTOCOL: &str = r#"{"anyOf": [
    {"enum": ["all", "tcp", "udp", "icmp", "netbird-ssh"]},
    {"type": "string", "pattern": "^([Aa][Ll][Ll]|[Tt][Cc][Pp]|[Uu][Dd][Pp]|[Ii][Cc][Mm][Pp]|[Nn][Ee][Tt][Bb][Ii][Rr][Dd]-[Ss][Ss][Hh])$"}
]}"#;

const PORTS: &str = r#"{"type": "array", "items": {"anyOf": [
    {"type": "integer", "minimum": 1, "maximum": 65535},
    {"type": "string", "pattern": "^[1-9][0-9]{0,4}(-[1-9][0-9]{0,4})?$"}
]}}"#;

const USERS: &str = r#"{"type": "object", "additionalProperties": {"type": "array", "items": {"type": "string", "minLength": 1}}}"#;

/// Notes what the server would not take together, and what opens more than it says.
pub(super) fn settle(policy: &mut Policy, entry: &Cursor<'_>, log: &mut Log) {
    // the server refuses both on one side, and neither (docs/netbird-api.md, "Policies: what is accepted")
    let is_nested = entry.get("rule").or(entry.get("rules")).is_some();
    let sides = [
        ["sources", "source_resource"],
        ["destinations", "destination_resource"],
    ];
    for side in sides.into_iter().filter(|_| !is_nested) {
        entry.one_of(&TABLE, side, "make two policies", log);
    }
    check_ports(policy, entry, log);
    check_ssh(policy, entry, log);
    if policy.protocol.is_some_and(|it| !it.takes_ports()) {
        // such a rule has none: ports left over from another protocol are a difference
        policy.ports = Some(BTreeSet::new());
    }
}

/// Users who may log in are of NetBird's SSH alone, which opens more than it says.
fn check_ssh(policy: &Policy, entry: &Cursor<'_>, log: &mut Log) {
    let is_ssh = policy.protocol == Some(Protocol::NetbirdSsh);
    let is_every_port = policy.ports.as_ref().is_none_or(BTreeSet::is_empty);
    if is_ssh && is_every_port && policy.action != Some(Action::Drop) {
        let text =
            "netbird-ssh without ports opens every TCP port of the destination, not SSH alone";
        let notice = log.notice(Code::SshEveryPort, entry.place_of("protocol"), text);
        notice.suggest("write \"ports\": [22]");
    }
    let (Some(users), Some(place)) = (&policy.authorized_groups, entry.get("authorized_groups"))
    else {
        return;
    };
    if !is_ssh {
        let text = "users who may log in are of the protocol netbird-ssh alone";
        let flaw = log.error(place.key_place(), text);
        flaw.suggest("add \"protocol\": \"netbird-ssh\", or take them out");
        return;
    }
    let sources = policy.sources.iter();
    for group in sources.filter(|group| !users.contains_key(*group)) {
        let group = quote(group);
        let text = "\"authorized_groups\" says nothing of the source group";
        let text = format!("{text} {group}: NetBird refuses that");
        let hint = format!("add {group}: [ … ] with the local users that its users may log in as");
        log.error(place.key_place(), text).suggest(hint);
    }
    for group in place.members() {
        if group.is_list() && group.elements().next().is_none() {
            let name = quote(group.name());
            let text = format!("users of {name} may log in as any local user, root too");
            let notice = log.notice(Code::AnyLocalUser, group.key_place(), text);
            notice.suggest("name the local users");
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
        names::check_live(group.name(), || group.key_place(), log);
        let logins = names::others(&group, log, "a list of local users");
        users.insert(group.name().to_owned(), logins.unwrap_or_default());
    }
    Some(users)
}

/// The server refuses ports beside `all` and `icmp` (docs/netbird-api.md, "Policies: what is accepted").
fn check_ports(policy: &Policy, entry: &Cursor<'_>, log: &mut Log) {
    let ports = entry.get("ports");
    if ports.is_none_or(|ports| ports.elements().next().is_none()) {
        return;
    }
    let place = || entry.place_of("ports");
    match policy.protocol {
        Some(protocol) if !protocol.takes_ports() => {
            let text = format!("the protocol {} has no ports", protocol.word());
            let flaw = log.error(place(), text);
            flaw.suggest("ports need \"protocol\": \"tcp\" or \"udp\"");
        }
        None if !entry.mentions(&TABLE, "protocol") => {
            let flaw = log.error(place(), "ports need a protocol, and this policy names none");
            flaw.suggest("add \"protocol\": \"tcp\" or \"udp\"");
        }
        _ => (),
    }
}
