//! Policies: one firewall rule between groups (docs/netbird-api.md, "Policies: one rule").

mod answer;
mod entry;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::{Serialize, Serializer};
use serde_json::{Map, Value, json};

use super::body::{base_of, default, fill};
use super::values::names;
use super::words::{disabled, listed, named};
use super::{
    ALL, About, Descriptor, End, Entries, Form, Groups, Live, Shape as FormShape, Spec, Tie, Trace,
    Unresolved,
};
use crate::config::Table;
use crate::entry::Entry;
use crate::id::Id;
use crate::sentence::Sentence;
use crate::text::visible;

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

impl Policy {
    /// Returns what it is about: `everything`, `tcp 22, 443`, `udp on all ports`.
    fn traffic(&self) -> String {
        let protocol = match self.protocol {
            None | Some(Protocol::All) => return "everything".into(),
            Some(protocol) => protocol,
        };
        let ports: Vec<String> = self
            .ports
            .iter()
            .flatten()
            .map(ToString::to_string)
            .collect();
        match (protocol.takes_ports(), ports.is_empty()) {
            (false, _) => protocol.name().to_owned(),
            (true, true) => format!("{} on all ports", protocol.name()),
            (true, false) => format!("{} {}", protocol.name(), listed(&ports)),
        }
    }

    fn from(&self) -> Vec<&str> {
        side(&self.sources, &self.source_resource)
    }

    fn to(&self) -> Vec<&str> {
        side(&self.destinations, &self.destination_resource)
    }
}

/// What stands on a side: the resource, or else the groups.
fn side<'a>(groups: &'a BTreeSet<String>, resource: &'a Option<String>) -> Vec<&'a str> {
    match resource {
        Some(resource) => vec![resource],
        None => groups.iter().map(String::as_str).collect(),
    }
}

impl Spec for Policy {
    const KIND: Descriptor = Descriptor {
        label: "policy",
        plural: "policies",
        word: "policy",
        section: &["policies"],
        about: "Policies by name. One policy is one rule.",
        longest_name: names::MAX_CHARS,
        reserved_name: None,
        collection: "/policies",
        name_field: "name",
        can_be_renamed: true,
        has_unique_names: false,
        deletion_event: Some("policy.delete"),
        is_several: false,
        fixed: &[],
        traces: &[
            ("sources", Trace::Tie(End::From)),
            ("destinations", Trace::Tie(End::To)),
        ],
        entries: Entries::Named(entry::read),
        check: |_, _| {},
        outline: || entry::TABLE.outline(),
    };

    const TABLE: Option<&'static Table<Self>> = Some(&entry::TABLE);

    fn read(wire: Entry, groups: &Groups) -> Result<Live, serde_json::Error> {
        answer::read(wire, groups)
    }

    fn request(
        &self,
        name: &str,
        live: Option<&Value>,
        groups: &Groups,
    ) -> Result<Value, Unresolved> {
        let mut body = base_of(live, &["id", "rules"]);
        body.insert("name".into(), json!(name));
        fill(
            &mut body,
            &entry::TABLE,
            self,
            groups,
            &["description", "enabled"],
        )?;
        // of a live one they stand in the body already; one that is made anew takes over those of the one before
        if live.is_none() {
            body.insert(
                "source_posture_checks".into(),
                json!(self.beyond.posture_checks),
            );
        }
        default(&mut body, "source_posture_checks", json!([]));

        // the rule's id must be repeated: without it an old policy gets a second rule (docs/netbird-api.md, "Policies:
        // one rule")
        let rule = live.and_then(|live| live["rules"].get(0));
        let mut rule = base_of(rule, &[]);
        default(&mut rule, "name", json!(name));
        default(&mut rule, "description", json!(""));
        let fields = ["enabled", "action", "bidirectional", "protocol"];
        fill(&mut rule, &entry::TABLE, self, groups, &fields)?;
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

    fn keep(&mut self, live: &Self) {
        entry::TABLE.keep(self, live);
        self.beyond.clone_from(&live.beyond);
    }

    fn beyond_the_file(&self) -> Option<String> {
        match self.rules.0 {
            1 => {
                let resource = self
                    .source_resource
                    .as_ref()
                    .or(self.destination_resource.as_ref())?;
                Some(format!("names {resource} in the place of groups"))
            }
            rules => Some(format!("has {rules} rules")),
        }
    }

    fn user_groups(&self) -> Vec<&Id> {
        match self.protocol {
            Some(Protocol::NetbirdSsh) => self.beyond.authorized_groups.keys().collect(),
            _ => Vec::new(),
        }
    }

    fn form(&self) -> Form {
        let between_groups = self.source_resource.is_none()
            && self.destination_resource.is_none()
            && !self.sources.is_empty()
            && !self.destinations.is_empty();
        let shape = if self.rules.0 != 1 || !between_groups {
            FormShape::Elsewhere
        } else if self.beyond.is_empty() {
            FormShape::Plain
        } else {
            FormShape::More
        };
        let tie = |end, names: &BTreeSet<String>| Tie {
            end,
            names: names.clone(),
        };
        Form {
            shape,
            ties: vec![
                tie(End::From, &self.sources),
                tie(End::To, &self.destinations),
            ],
        }
    }

    fn form_in_words(&self) -> &'static str {
        match self.form().shape {
            FormShape::Elsewhere if self.rules.0 != 1 => "of several rules or none",
            FormShape::Elsewhere => "to or from a resource, a peer or nobody",
            FormShape::More => "with posture checks or users who may log in",
            FormShape::Plain => "otherwise than declared",
        }
    }

    fn export(&self, mut fields: Map<String, Value>) -> Result<Map<String, Value>, String> {
        if self.rules.0 != 1 {
            return Err(format!("it has {} rules", self.rules.0));
        }
        if self.source_resource.is_some() || self.destination_resource.is_some() {
            return Err("it names a network resource or a peer".into());
        }
        if self.sources.is_empty() || self.destinations.is_empty() {
            return Err("it has no sources, or no destinations".into());
        }
        // without them the policy would grant more
        if !self.beyond.posture_checks.is_empty() {
            return Err("it has posture checks, which a file cannot say".into());
        }
        if !self.beyond.authorized_groups.is_empty() {
            return Err("it says which users may log in, which a file cannot say".into());
        }
        fields.retain(|field, _| entry::TABLE.names().any(|name| name == field));
        // ports of all and icmp cannot stand; of others an empty list is every port
        if self.ports.as_ref().is_none_or(BTreeSet::is_empty) {
            fields.remove("ports");
        }
        Ok(fields)
    }

    fn summary(&self, _about: &About) -> String {
        let arrow = if self.bidirectional == Some(false) {
            "→"
        } else {
            "↔"
        };
        let side = |groups: &BTreeSet<String>, resource: &Option<String>| match resource {
            Some(resource) => visible(resource).into_owned(),
            None => named(groups.iter().map(String::as_str)),
        };
        let mut text = format!(
            "{} {arrow} {}: {}",
            side(&self.sources, &self.source_resource),
            side(&self.destinations, &self.destination_resource),
            self.traffic()
        );
        if self.action == Some(Action::Drop) {
            text.push_str(", dropped");
        }
        text + disabled(self.enabled)
    }

    fn is_on(&self) -> bool {
        self.enabled != Some(false)
    }

    fn loss(&self, _about: &About) -> Sentence {
        let what = self.traffic();
        if self.action == Some(Action::Drop) {
            let blocked = Sentence::default()
                .say(format!("{what} from "))
                .names(self.from());
            return blocked
                .say(" to ")
                .names(self.to())
                .say(" is blocked no more");
        }
        if self.sources.contains(ALL) && self.destinations.contains(ALL) {
            return Sentence::default().say(format!(
                "peers that no other policy connects lose each other ({what})"
            ));
        }
        let text = Sentence::default().names(self.from());
        if self.bidirectional != Some(false) {
            return text
                .say(" and ")
                .names(self.to())
                .say(format!(" lose {what} to each other"));
        }
        text.say(format!(" lose {what} to ")).names(self.to())
    }

    /// What an enabled policy lets through from or to every peer.
    fn opens_to_all(&self) -> Option<Sentence> {
        if self.action == Some(Action::Drop) || !self.is_on() {
            return None;
        }
        let everything = matches!(self.protocol, None | Some(Protocol::All));
        let what = self.traffic();
        match (self.sources.contains(ALL), self.destinations.contains(ALL)) {
            (true, true) if everything => {
                Some(Sentence::default().say("every peer reaches every other, with everything"))
            }
            (true, true) => {
                Some(Sentence::default().say(format!("every peer reaches every other: {what}")))
            }
            (true, false) => {
                let text = Sentence::default().say("every peer reaches ");
                Some(text.names(self.to()).say(format!(": {what}")))
            }
            (false, true) => {
                let text = Sentence::default().names(self.from());
                Some(text.say(format!(" reach every peer: {what}")))
            }
            (false, false) => None,
        }
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
    /// Its name in the file.
    fn name(self) -> &'static str {
        let known = entry::PROTOCOLS.iter().find(|(_, one)| *one == self);
        known.map_or("", |(name, _)| name)
    }

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
