//! Policies: one firewall rule between groups (netbird-api.md §5).

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use super::{Groups, Live, Resource, Unresolved, base_of, put};
use crate::entry::Entry;
use crate::state::Id;
use crate::wire;

/// A policy in canonical form. `None` = not ours.
///
/// NetBird keeps one rule per policy, whatever is sent; so a policy here is its rule.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Policy {
    /// Text for people; the policy's own, not its rule's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Whether it is enforced. Creation takes true.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    /// Accept or drop. Creation takes accept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub action: Option<Action>,
    /// Whether destinations may also open connections to sources. Creation takes true.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bidirectional: Option<bool>,
    /// Creation takes all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protocol: Option<Protocol>,
    /// Ports of tcp and udp; empty = all ports.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ports: Option<BTreeSet<PortRange>>,
    /// Names of groups; never empty in a valid file.
    pub sources: BTreeSet<String>,
    /// Names of groups; never empty in a valid file.
    pub destinations: BTreeSet<String>,
    /// A network resource or peer in the place of the sources, as `host ID`; the file cannot say one.
    pub source_resource: Option<String>,
    /// Likewise in the place of the destinations.
    pub destination_resource: Option<String>,
    /// How many rules it holds; one, but for policies of old servers.
    pub rules: OneRule,
    /// What the file has no word for. Never a difference: it is not ours.
    #[serde(skip)]
    pub beyond: Beyond,
}

/// What a live policy holds and the file cannot say; it narrows or widens what the policy grants.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Beyond {
    /// Ids of the posture checks that sources have to pass.
    pub posture_checks: BTreeSet<Id>,
    /// Of NetBird's SSH: groups of users, and as which local users they may log in (none = as any).
    pub authorized_groups: BTreeMap<Id, Vec<String>>,
}

impl Beyond {
    /// Returns whether there is nothing of it.
    pub fn is_empty(&self) -> bool {
        self.posture_checks.is_empty() && self.authorized_groups.is_empty()
    }
}

/// A number of rules; the file can only say one.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct OneRule(pub usize);

impl Default for OneRule {
    fn default() -> Self {
        OneRule(1)
    }
}

/// Reads an entry of `GET /policies`.
pub(super) fn read(wire: Entry, groups: &Groups) -> Result<Live, serde_json::Error> {
    let policy: wire::Policy = wire.read()?;
    let rule = policy.rules.first();
    let side = |pick: fn(&wire::Rule) -> &Vec<wire::Reference>| {
        let references = rule.map(pick).into_iter().flatten();
        // the name that the list of groups gives, so that both sides of a comparison speak alike
        references
            .map(|group| groups.name(&group.id))
            .collect::<BTreeSet<_>>()
    };
    let resource = |pick: fn(&wire::Rule) -> Option<&wire::ResourceReference>| {
        let reference = rule
            .and_then(pick)
            .filter(|resource| !resource.id.is_empty());
        reference.map(|resource| format!("{} {}", resource.kind, resource.id))
    };
    let word = |text: &str| serde_json::from_value(json!(text)).ok();
    let canonical = Policy {
        description: Some(policy.description.clone()),
        // two switches of one light: the policy's and its rule's
        enabled: Some(policy.enabled && rule.is_some_and(|rule| rule.enabled)),
        action: rule.and_then(|rule| word(&rule.action)),
        bidirectional: rule.map(|rule| rule.bidirectional),
        protocol: rule.and_then(|rule| serde_json::from_value(json!(rule.protocol)).ok()),
        ports: Some(rule.map(ports).unwrap_or_default()),
        sources: side(|rule| &rule.sources),
        destinations: side(|rule| &rule.destinations),
        source_resource: resource(|rule| rule.source_resource.as_ref()),
        destination_resource: resource(|rule| rule.destination_resource.as_ref()),
        rules: OneRule(policy.rules.len()),
        beyond: Beyond {
            posture_checks: policy.source_posture_checks.into_iter().collect(),
            authorized_groups: rule
                .into_iter()
                .flat_map(|rule| rule.authorized_groups.clone())
                .map(|(group, users)| (group, users.unwrap_or_default()))
                .collect(),
        },
    };
    Ok(Live {
        id: policy.id,
        name: policy.name,
        resource: Resource::Policy(canonical),
        wire,
    })
}

/// Single ports and ranges are one set: 443 is 443 to 443.
fn ports(rule: &wire::Rule) -> BTreeSet<PortRange> {
    // ports are texts that the server keeps as sent ("080"); it refuses what is no port
    let single = rule
        .ports
        .iter()
        .filter_map(|port| port.trim().parse().ok());
    let single = single.map(|port| PortRange {
        start: port,
        end: port,
    });
    // the server does not check that a range begins below its end
    let port = |number: i64| u16::try_from(number).unwrap_or(u16::MAX);
    let ranges = rule.port_ranges.iter();
    single
        .chain(ranges.map(|range| PortRange {
            start: port(range.start),
            end: port(range.end),
        }))
        .collect()
}

impl Policy {
    pub(super) fn request(
        &self,
        name: &str,
        live: Option<&Value>,
        groups: &Groups,
    ) -> Result<Value, Unresolved> {
        let mut body = base_of(live, &["id", "rules"]);
        body.insert("name".into(), json!(name));
        put(&mut body, "description", self.description.as_deref(), "");
        put(&mut body, "enabled", self.enabled, true);
        // of a live one they stand in the body already; one that is made anew takes over those of the one before
        let checks = (!self.beyond.posture_checks.is_empty() && live.is_none())
            .then_some(&self.beyond.posture_checks);
        put(&mut body, "source_posture_checks", checks, &BTreeSet::new());

        // the rule's id must be repeated: without it an old policy gets a second rule (netbird-api.md §5)
        let rule = live.and_then(|live| live["rules"].get(0));
        let mut rule = base_of(rule, &[]);
        put(&mut rule, "name", None, name);
        put(&mut rule, "description", None, "");
        put(&mut rule, "enabled", self.enabled, true);
        put(&mut rule, "action", self.action, Action::Accept);
        put(&mut rule, "bidirectional", self.bidirectional, true);
        put(&mut rule, "protocol", self.protocol, Protocol::All);
        for (field, resource, names) in [
            ("sources", "sourceResource", &self.sources),
            ("destinations", "destinationResource", &self.destinations),
        ] {
            rule.insert(field.into(), groups.resolve(names)?);
            rule.remove(resource);
        }
        if let Some(ports) = &self.ports {
            let single = ports.iter().all(|range| range.start == range.end);
            rule.remove("ports");
            rule.remove("port_ranges");
            // never both fields: the server refuses that
            if single {
                rule.insert(
                    "ports".into(),
                    ports.iter().map(|range| json!(range.to_string())).collect(),
                );
            } else {
                let range = |range: &PortRange| json!({ "start": range.start, "end": range.end });
                rule.insert("port_ranges".into(), ports.iter().map(range).collect());
            }
        }
        let users = &self.beyond.authorized_groups;
        if live.is_none() && self.protocol == Some(Protocol::NetbirdSsh) && !users.is_empty() {
            rule.insert("authorized_groups".into(), json!(users));
        }
        body.insert("rules".into(), json!([rule]));
        Ok(Value::Object(body))
    }
}

/// What happens to matching traffic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Action {
    /// Let through.
    Accept,
    /// Drop.
    Drop,
}

/// Protocols that the server knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Protocol {
    /// Everything.
    All,
    /// TCP, with or without ports.
    Tcp,
    /// UDP, with or without ports.
    Udp,
    /// ICMP.
    Icmp,
    /// NetBird's own SSH.
    NetbirdSsh,
}

impl Protocol {
    /// Returns whether a rule of it may name ports.
    pub fn takes_ports(self) -> bool {
        !matches!(self, Protocol::All | Protocol::Icmp)
    }
}

/// Ports `start` to `end`, both included, 1 to 65535; one port where they are equal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct PortRange {
    /// First port.
    pub start: u16,
    /// Last port.
    pub end: u16,
}

impl fmt::Display for PortRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.start == self.end {
            write!(f, "{}", self.start)
        } else {
            write!(f, "{}-{}", self.start, self.end)
        }
    }
}

impl Serialize for PortRange {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
