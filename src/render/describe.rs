//! Objects and their changes in a few words.

use serde_json::Value;

use crate::change::{Change, Operation, list_changes};
use crate::desired::KeyType;
use crate::plan::Plan;
use crate::resource::{FieldChange, NameserverGroup, Policy, Protocol, Resource, Route, SetupKey};
use crate::state::Kind;
use crate::text::{duration, visible};

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
        Operation::Delete { live } => object(&live.resource, change, plan),
        Operation::Update { live, .. } if change.address.kind == Kind::Peer => {
            format!("renamed from {}", visible(&live.name))
        }
        Operation::Update { .. } | Operation::Replace { .. } => String::new(),
    };
    let reason = if change.reason.is_empty() {
        String::new()
    } else {
        format!("({})", visible(&change.reason))
    };
    [object, reason]
        .into_iter()
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
}

fn object(resource: &Resource, change: &Change, plan: &Plan) -> String {
    match resource {
        Resource::Group(group) => {
            let creates = matches!(change.operation, Operation::Create { .. });
            let peers: Vec<&str> = group
                .peers
                .iter()
                .flatten()
                .filter_map(|id| Some(plan.peer_labels.get(id)?.as_str()))
                .collect();
            let members = match peers.len() {
                0 => None,
                1..=5 => Some(format!("with {}", names(peers))),
                number => Some(format!("with {number} peers")),
            };
            let pending = plan
                .pending_members
                .get(&change.address.name)
                .filter(|_| creates);
            let pending = pending.map(|keys| match keys.len() {
                1 => format!(
                    "{} joins when it enrolls",
                    names(keys.iter().map(String::as_str))
                ),
                2..=5 => format!(
                    "{} join when they enroll",
                    names(keys.iter().map(String::as_str))
                ),
                number => format!("{number} peers join when they enroll"),
            });
            members
                .into_iter()
                .chain(pending)
                .collect::<Vec<_>>()
                .join("; ")
        }
        Resource::SetupKey(key) => {
            setup_key(key, matches!(change.operation, Operation::Delete { .. }))
        }
        Resource::Peer(_) => String::new(),
        Resource::Policy(policy) => self::policy(policy),
        Resource::Route(route) => self::route(route),
        Resource::NameserverGroup(group) => nameserver_group(group),
    }
}

fn setup_key(key: &SetupKey, goes: bool) -> String {
    let mut parts = vec![match (key.key_type, key.usage_limit) {
        (KeyType::OneOff, _) => "one-off".to_owned(),
        (KeyType::Reusable, Some(0) | None) => "reusable without limit".into(),
        (KeyType::Reusable, Some(number)) => format!("reusable {number} times"),
    }];
    if !goes {
        parts.push(match key.expires_in_secs {
            0 => "never expires".into(),
            secs => format!("expires {} after creation", duration(secs)),
        });
    }
    if key.ephemeral == Some(true) {
        parts.push("ephemeral peers".into());
    }
    let groups = key.auto_groups.iter().flatten().map(String::as_str);
    if groups.clone().count() > 0 {
        parts.push(format!("joins {}", names(groups)));
    }
    parts.join(", ")
}

fn policy(policy: &Policy) -> String {
    let arrow = if policy.bidirectional == Some(false) {
        "→"
    } else {
        "↔"
    };
    let protocol = match policy.protocol {
        None | Some(Protocol::All) => "everything".to_owned(),
        Some(protocol) => word(&protocol),
    };
    let ports: Vec<String> = policy
        .ports
        .iter()
        .flatten()
        .map(ToString::to_string)
        .collect();
    let side =
        |groups: &std::collections::BTreeSet<String>, resource: &Option<String>| match resource {
            Some(resource) => visible(resource).into_owned(),
            None => names(groups.iter().map(String::as_str)),
        };
    let mut text = format!(
        "{} {arrow} {}: {protocol}",
        side(&policy.sources, &policy.source_resource),
        side(&policy.destinations, &policy.destination_resource)
    );
    if !ports.is_empty() {
        text.push_str(&format!(" {}", ports.join(", ")));
    }
    if policy.action.is_some_and(|action| word(&action) == "drop") {
        text.push_str(", dropped");
    }
    if policy.enabled == Some(false) {
        text.push_str(", disabled");
    }
    text
}

fn route(route: &Route) -> String {
    let what = match (&route.network, &route.domains) {
        (Some(network), _) => network.clone(),
        (None, domains) => names(domains.iter().flatten().map(String::as_str)),
    };
    let mut text = format!(
        "{what} through {}",
        names(route.peer_groups.iter().map(String::as_str))
    );
    if let Some(groups) = &route.groups {
        text.push_str(&format!(
            ", for {}",
            names(groups.iter().map(String::as_str))
        ));
    }
    if route.enabled == Some(false) {
        text.push_str(", disabled");
    }
    text
}

fn nameserver_group(group: &NameserverGroup) -> String {
    let servers: Vec<String> = group
        .nameservers
        .iter()
        .map(|server| address(&server.ip, i64::from(server.port)))
        .collect();
    let what = match group.primary {
        true => "everything".to_owned(),
        false => names(group.domains.iter().map(String::as_str)),
    };
    let mut text = format!(
        "{} for {what}, asked by {}",
        servers.join(", "),
        names(group.groups.iter().map(String::as_str))
    );
    if group.enabled == Some(false) {
        text.push_str(", disabled");
    }
    text
}

fn address(ip: &str, port: i64) -> String {
    match port {
        53 => ip.to_owned(),
        _ if ip.contains(':') => format!("[{ip}]:{port}"),
        _ => format!("{ip}:{port}"),
    }
}

fn names<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    names
        .into_iter()
        .map(|name| visible(name).into_owned())
        .collect::<Vec<_>>()
        .join(", ")
}

fn word(value: &impl serde::Serialize) -> String {
    serde_json::to_value(value)
        .ok()
        .and_then(|value| Some(value.as_str()?.to_owned()))
        .unwrap_or_default()
}

/// Returns a value in the words of netbird.json: `none` for what is empty.
pub(super) fn value(value: &Value) -> String {
    match value {
        Value::Null => "none".into(),
        Value::String(text) if text.is_empty() => "none".into(),
        Value::String(text) => visible(text).into_owned(),
        Value::Array(entries) if entries.is_empty() => "none".into(),
        Value::Array(entries) => entries
            .iter()
            .map(self::value)
            .collect::<Vec<_>>()
            .join(", "),
        Value::Object(fields) => match (
            fields.get("ip").and_then(Value::as_str),
            fields.get("port").and_then(Value::as_i64),
        ) {
            (Some(ip), Some(port)) => address(ip, port),
            _ => value.to_string(),
        },
        other => other.to_string(),
    }
}

/// Returns what differs in one field: `all → tcp`; of lists with something in common what came and went.
pub(super) fn field(change: &FieldChange) -> String {
    if let Some((gone, new)) = list_changes(&change.before, &change.after) {
        let total = change.after.as_array().map_or(0, Vec::len);
        let same = total - new.len();
        if same > 0 {
            let came = new.iter().map(|entry| format!("+{}", value(entry)));
            let went = gone.iter().map(|entry| format!("-{}", value(entry)));
            let moved: Vec<String> = came.chain(went).collect();
            return format!("{} ({same} unchanged)", moved.join(", "));
        }
    }
    format!("{} → {}", value(&change.before), value(&change.after))
}

/// Returns a field's name for people.
pub(super) fn field_name(change: &FieldChange) -> String {
    change.field.replace('_', " ")
}
