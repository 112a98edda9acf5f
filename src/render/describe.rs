//! Objects and their changes in a few words.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::change::{Change, Operation, list_changes};
use crate::desired::KeyType;
use crate::plan::{DNS_LABEL, Plan};
use crate::resource::{
    ALL, Action, FieldChange, Group, NameserverGroup, Policy, Protocol, Resource, Route, SetupKey,
};
use crate::state::Kind;
use crate::text::{self, count, duration, visible};

/// Most characters of a free text in a line.
const MOST_TEXT: usize = 80;

/// The sign of an operation on a terminal.
pub(super) fn sign(operation: &Operation) -> &'static str {
    match operation {
        Operation::Create { .. } => "+",
        Operation::Update { .. } => "~",
        Operation::Replace { .. } => "-+",
        Operation::Delete { .. } => "-",
    }
}

/// What a reviewer needs to know of a change in one line: the object where it is new or goes, why where there is a
/// reason. Field changes are told apart, by `field`.
pub(super) fn summary(change: &Change, plan: &Plan) -> String {
    let object = match &change.operation {
        Operation::Create { after } => object(after, change, plan),
        Operation::Replace {
            after: after @ Resource::SetupKey(_),
            ..
        } => object(after, change, plan),
        Operation::Delete { live } => object(&live.resource, change, plan),
        Operation::Update { live, fields, .. } if change.address.kind == Kind::Peer => {
            let label = fields.iter().find(|change| change.field == DNS_LABEL);
            let label = label.map(|change| match change.after {
                Value::Null => format!("; DNS label {} → ?", value(DNS_LABEL, &change.before)),
                _ => format!("; DNS label {}", field(change)),
            });
            format!(
                "renamed from {}{}",
                visible(&live.name),
                label.unwrap_or_default()
            )
        }
        Operation::Update { .. } | Operation::Replace { .. } => String::new(),
    };
    let parts = [object, visible(&change.reason).into_owned()];
    parts
        .into_iter()
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join("; ")
}

fn object(resource: &Resource, change: &Change, plan: &Plan) -> String {
    match resource {
        Resource::Group(group) => self::group(group, change, plan),
        Resource::SetupKey(key) => setup_key(key, change, plan),
        Resource::Peer(_) => String::new(),
        Resource::Policy(policy) => self::policy(policy),
        Resource::Route(route) => self::route(route),
        Resource::NameserverGroup(group) => nameserver_group(group),
    }
}

fn group(group: &Group, change: &Change, plan: &Plan) -> String {
    let label = |id| plan.peer_labels.get(id).map(String::as_str);
    let peers: Vec<&str> = group.peers.iter().flatten().filter_map(label).collect();
    let members = (!peers.is_empty()).then(|| format!("with {}", names(peers)));
    let is_new = matches!(change.operation, Operation::Create { .. });
    let pending = plan
        .pending_members
        .get(&change.address.name)
        .filter(|_| is_new);
    let pending = pending.map(|keys| {
        let joins = if keys.len() == 1 {
            "joins when it enrolls"
        } else {
            "join when they enroll"
        };
        format!("{} {joins}", names(keys.iter().map(String::as_str)))
    });
    let parts: Vec<String> = members.into_iter().chain(pending).collect();
    match parts.is_empty() {
        true => "no members".into(),
        false => parts.join("; "),
    }
}

fn setup_key(key: &SetupKey, change: &Change, plan: &Plan) -> String {
    let goes = matches!(change.operation, Operation::Delete { .. });
    let mut parts = vec![match (key.key_type, key.usage_limit) {
        (KeyType::OneOff, _) => "one-off".to_owned(),
        (KeyType::Reusable, Some(0) | None) => "reusable, unlimited".into(),
        (KeyType::Reusable, Some(number)) => {
            let number = usize::try_from(number).unwrap_or(usize::MAX);
            format!("reusable, for {}", count(number, "peer", "peers"))
        }
    }];
    // a live key does not tell how long it was made for
    match key.expires_in_secs {
        _ if goes => {}
        0 => parts.push("never expires".into()),
        secs => parts.push(format!("expires {} after creation", duration(secs))),
    }
    if key.ephemeral == Some(true) {
        parts.push("ephemeral peers".into());
    }
    if key.allow_extra_dns_labels == Some(true) {
        parts.push("extra DNS labels".into());
    }
    // those that it grants, and those that list it
    let mut groups: BTreeSet<&str> = key
        .auto_groups
        .iter()
        .flatten()
        .map(String::as_str)
        .collect();
    if !goes {
        let lists = |keys: &BTreeSet<String>| keys.contains(&change.address.name);
        let listing = plan.pending_members.iter().filter(|(_, keys)| lists(keys));
        groups.extend(listing.map(|(group, _)| group.as_str()));
    }
    match groups.is_empty() {
        true => parts.push("joins no group".into()),
        false => parts.push(format!("joins {}", names(groups))),
    }
    let own = key.sealed_for.keys.values().map(String::as_str);
    match (own.clone().count(), key.sealed_for.only) {
        (0, _) => {}
        (_, true) => parts.push(format!("sealed for {} only", names(own))),
        (_, false) => parts.push(format!("sealed also for {}", names(own))),
    }
    parts.join(", ")
}

/// Returns what a policy is about: `everything`, `tcp 22, 443`, `udp on all ports`.
pub(super) fn traffic(policy: &Policy) -> String {
    let protocol = match policy.protocol {
        None | Some(Protocol::All) => return "everything".into(),
        Some(protocol) => protocol,
    };
    let ports: Vec<String> = policy
        .ports
        .iter()
        .flatten()
        .map(ToString::to_string)
        .collect();
    match (protocol.takes_ports(), ports.is_empty()) {
        (false, _) => word(&protocol),
        (true, true) => format!("{} on all ports", word(&protocol)),
        (true, false) => format!("{} {}", word(&protocol), listed(&ports)),
    }
}

fn policy(policy: &Policy) -> String {
    let arrow = if policy.bidirectional == Some(false) {
        "→"
    } else {
        "↔"
    };
    let side = |groups: &BTreeSet<String>, resource: &Option<String>| match resource {
        Some(resource) => visible(resource).into_owned(),
        None => names(groups.iter().map(String::as_str)),
    };
    let mut text = format!(
        "{} {arrow} {}: {}",
        side(&policy.sources, &policy.source_resource),
        side(&policy.destinations, &policy.destination_resource),
        traffic(policy)
    );
    if policy.action == Some(Action::Drop) {
        text.push_str(", dropped");
    }
    text + disabled(policy.enabled)
}

fn route(route: &Route) -> String {
    let what = match (&route.network, &route.domains) {
        (Some(network), _) => visible(network).into_owned(),
        (None, domains) => names(domains.iter().flatten().map(String::as_str)),
    };
    let through = match &route.peer {
        Some(_) => "a single peer".to_owned(),
        None => names(route.peer_groups.iter().map(String::as_str)),
    };
    let to = match &route.groups {
        Some(groups) => names(groups.iter().map(String::as_str)),
        None => ALL.to_owned(),
    };
    let guards = route
        .access_control_groups
        .iter()
        .flatten()
        .map(String::as_str);
    let guarded = match guards.clone().count() {
        0 => String::new(),
        _ => format!(", guarded by policies to {}", names(guards)),
    };
    format!(
        "{what} through {through}, for {to}{guarded}{}",
        disabled(route.enabled)
    )
}

/// Returns the servers of a group, with their ports where they are not 53.
pub(super) fn names_of_servers(group: &NameserverGroup) -> Vec<String> {
    let servers = group.nameservers.iter();
    servers
        .map(|server| address(&visible(&server.ip), i64::from(server.port)))
        .collect()
}

fn nameserver_group(group: &NameserverGroup) -> String {
    let what = match group.primary {
        true => "everything".to_owned(),
        false => names(group.domains.iter().map(String::as_str)),
    };
    format!(
        "{} for {what}, asked by {}{}",
        names_of_servers(group).join(", "),
        names(group.groups.iter().map(String::as_str)),
        disabled(group.enabled)
    )
}

fn disabled(enabled: Option<bool>) -> &'static str {
    if enabled == Some(false) {
        ", disabled"
    } else {
        ""
    }
}

fn address(ip: &str, port: i64) -> String {
    match port {
        53 => ip.to_owned(),
        _ if ip.contains(':') => format!("[{ip}]:{port}"),
        _ => format!("{ip}:{port}"),
    }
}

fn names<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let names: Vec<String> = names
        .into_iter()
        .map(|name| visible(name).into_owned())
        .collect();
    listed(&names)
}

/// Returns `a, b, c`, of many `a, b and 70 more`, of nothing `none`.
fn listed(texts: &[String]) -> String {
    match texts {
        [] => "none".into(),
        texts => text::listed(texts),
    }
}

fn word(value: &impl serde::Serialize) -> String {
    let value = serde_json::to_value(value).ok();
    value
        .as_ref()
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned()
}

/// Returns one value of a field: names as they are, free text in quotes, and in words what a number or nothing means.
pub(super) fn value(field: &str, value: &Value) -> String {
    match (field, value) {
        ("usage_limit", Value::Number(number)) if number.as_i64() == Some(0) => "unlimited".into(),
        ("expires", Value::Bool(expires)) => if *expires { "yes" } else { "never" }.into(),
        ("ports", Value::Array(ports)) if ports.is_empty() => "all".into(),
        (_, Value::Null) => "none".into(),
        (_, Value::String(text)) if text.is_empty() => "none".into(),
        ("description", Value::String(text)) => format!("\"{}\"", visible(text)),
        (_, Value::String(text)) => visible(text).into_owned(),
        (_, Value::Array(entries)) => {
            let entries: Vec<String> = entries
                .iter()
                .map(|entry| self::value(field, entry))
                .collect();
            listed(&entries)
        }
        (_, Value::Object(server)) => {
            let ip = server.get("ip").and_then(Value::as_str);
            let port = server.get("port").and_then(Value::as_i64);
            match (ip, port) {
                (Some(ip), Some(port)) => address(&visible(ip), port),
                _ => visible(&value.to_string()).into_owned(),
            }
        }
        (_, other) => other.to_string(),
    }
}

/// Returns what differs in one field: `all → tcp`. Of lists with something in common: what goes, all of it, and what
/// comes.
pub(crate) fn field(change: &FieldChange) -> String {
    let value = |value: &Value| cut(&self::value(&change.field, value));
    if let Some((gone, new)) = list_changes(&change.before, &change.after) {
        let total = change.after.as_array().map_or(0, Vec::len);
        let same = total - new.len();
        if same > 0 {
            let went = gone.iter().map(|entry| format!("-{}", value(entry)));
            let came: Vec<String> = new
                .iter()
                .map(|entry| format!("+{}", value(entry)))
                .collect();
            let came = (!came.is_empty()).then(|| listed(&came));
            let moved: Vec<String> = went.chain(came).collect();
            return format!("{} ({same} unchanged)", moved.join(", "));
        }
    }
    format!("{} → {}", value(&change.before), value(&change.after))
}

/// Returns the text, or its beginning.
fn cut(text: &str) -> String {
    match text.char_indices().nth(MOST_TEXT) {
        Some((end, _)) if text.starts_with('"') => format!("{}…\"", &text[..end]),
        _ => text.to_owned(),
    }
}

/// Returns a field's name for people.
pub(super) fn field_name(change: &FieldChange) -> String {
    change.field.replace('_', " ")
}
