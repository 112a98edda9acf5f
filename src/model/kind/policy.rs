//! Policies: one firewall rule between groups (docs/netbird-api.md, "Policies: one rule").

mod entry;
mod target;
mod traffic;

use super::prelude::*;
use super::spec::{default, fill};

pub use target::Target;
pub use traffic::{Action, PortRange, Protocol};

/// How the name of a policy begins that NetBird makes for a user's access to a peer, and deletes by itself.
pub const TEMPORARY: &str = "Temporary access policy for peer ";

/// A policy in canonical form. `None` = not ours.
///
/// NetBird keeps one rule per policy, whatever is sent; so a policy here is its rule.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Policy {
    /// Text for people; the policy's own, not its rule's.
    pub description: Option<String>,
    /// Whether it is enforced. Creation takes true.
    pub enabled: Option<bool>,
    /// Accept or drop. Creation takes accept.
    #[serde(deserialize_with = "word::answered")]
    pub action: Option<Action>,
    /// Whether destinations may also open connections to sources. Creation takes true.
    pub bidirectional: Option<bool>,
    /// Creation takes all.
    #[serde(deserialize_with = "word::answered")]
    pub protocol: Option<Protocol>,
    /// Ports of tcp and udp; empty = all ports.
    #[serde(deserialize_with = "traffic::single")]
    pub ports: Option<BTreeSet<PortRange>>,
    /// Names of groups; never empty in a valid file.
    #[serde(deserialize_with = "ids")]
    pub sources: BTreeSet<String>,
    /// Names of groups; never empty in a valid file.
    #[serde(deserialize_with = "ids")]
    pub destinations: BTreeSet<String>,
    /// A peer in the place of the sources; in NetBird it can be a network resource, which does nothing there.
    #[serde(
        rename(deserialize = "sourceResource"),
        deserialize_with = "target::answered"
    )]
    pub source_resource: Option<Target>,
    /// A network resource or a peer in the place of the destinations.
    #[serde(
        rename(deserialize = "destinationResource"),
        deserialize_with = "target::answered"
    )]
    pub destination_resource: Option<Target>,
    /// Names of the posture checks that sources have to pass.
    pub source_posture_checks: Option<BTreeSet<String>>,
    /// Of NetBird's SSH: groups of users, and as which local users they may log in (none = as any).
    #[serde(deserialize_with = "traffic::users")]
    pub authorized_groups: Option<BTreeMap<String, BTreeSet<String>>>,
    /// How many rules it holds; one, but for policies of old servers.
    #[serde(skip_deserializing)]
    pub rules: OneRule,
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
        let word = protocol.word();
        match &self.ports {
            _ if !protocol.takes_ports() => word.to_owned(),
            Some(ports) if !ports.is_empty() => format!("{word} {}", listed(ports)),
            _ => format!("{word} on all ports"),
        }
    }

    /// Who may connect, and whom they reach.
    fn sides(&self) -> [Side<'_>; 2] {
        let from = Side {
            field: "sources",
            resource: "sourceResource",
            groups: &self.sources,
            target: self.source_resource.as_ref(),
        };
        let to = Side {
            field: "destinations",
            resource: "destinationResource",
            groups: &self.destinations,
            target: self.destination_resource.as_ref(),
        };
        [from, to]
    }

    /// Whether the group of every peer is among its sources, and among its destinations.
    fn is_all(&self) -> [bool; 2] {
        [&self.sources, &self.destinations].map(|groups| groups.contains(ALL))
    }

    /// Returns the rules of a live policy, each as a policy of its own.
    pub(crate) fn rules(live: &Live, groups: &Groups) -> Vec<Policy> {
        match &live.resource {
            Resource::Policy(policy) if policy.rules.0 > 1 => {
                let rules = traffic::forms(&live.wire).unwrap_or_default().into_iter();
                rules.map(|rule| spec::named(rule, groups)).collect()
            }
            Resource::Policy(policy) => vec![policy.clone()],
            _ => Vec::new(),
        }
    }

    /// The groups of users who may log in, where it is a policy of NetBird's SSH: those of any other the server drops.
    pub(crate) fn users(&self) -> Option<&BTreeMap<String, BTreeSet<String>>> {
        match self.protocol {
            Some(Protocol::NetbirdSsh) => self.authorized_groups.as_ref(),
            _ => None,
        }
    }
}

/// A side of a policy: the resource or the peer, or else the groups.
struct Side<'a> {
    field: &'static str,
    /// The field of the API for what stands there in the place of groups.
    resource: &'static str,
    groups: &'a BTreeSet<String>,
    target: Option<&'a Target>,
}

impl Side<'_> {
    /// The names of what stands there.
    fn sentence(&self, about: &About) -> Sentence {
        match self.target {
            Some(Target::Resource(name)) => Sentence::from("network resource ").name(name),
            Some(Target::Peer { peer }) => Sentence::from("peer ").name(about.peer(peer)),
            None => Sentence::from("peers in ").names(self.groups.iter().map(String::as_str)),
        }
    }

    /// Returns it as a line of a plan says it.
    fn words(&self, about: &About) -> String {
        match self.target {
            Some(Target::Resource(name)) => format!("network resource {}", visible(name)),
            Some(Target::Peer { peer }) => format!("the peer {}", visible(about.peer(peer))),
            None => named(self.groups),
        }
    }
}

impl Spec for Policy {
    const KIND: Descriptor = Descriptor {
        called: ["policy", "policies", "policy"],
        section: &["policies"],
        about: "Policies by name. One policy is one rule.",
        collection: "/policies",
        deletion_event: Some("policy.delete"),
        can_be_replaced: true,
        ..Descriptor::of(Reach::Policy, Role::NetworkAdmin, Referred::Never)
    };

    const TABLE: &'static Table<Self> = &entry::TABLE;

    fn settle(mut self, entry: &Cursor<'_>, _: Option<&Resource>, log: &mut Log) -> Option<Self> {
        entry::settle(&mut self, entry, log);
        Some(self)
    }

    fn form(wire: &Entry) -> Result<Self, serde_json::Error> {
        Ok(traffic::forms(wire)?.swap_remove(0))
    }

    fn tidy(&mut self, groups: &Groups) {
        let name = |what, id: &str| groups.other_name(what, &Id::from(id));
        let targets = [&mut self.source_resource, &mut self.destination_resource];
        for target in targets.into_iter().flatten() {
            if let Target::Resource(id) = target {
                *id = name(Refers::Resource, id);
            }
        }
        if let Some(ids) = &mut self.source_posture_checks {
            *ids = ids.iter().map(|id| name(Refers::Check, id)).collect();
        }
        if let Some(users) = &mut self.authorized_groups {
            let of_ids = std::mem::take(users).into_iter();
            let name = |id: String| groups.name(&Id::from(id.as_str()));
            *users = of_ids.map(|(id, logins)| (name(id), logins)).collect();
        }
    }

    fn request(&self, sent: Sent) -> Result<Value, Unresolved> {
        let Sent { name, live, groups } = sent;
        let mut body = base_of(live, &["id", "rules"]);
        body.insert("name".into(), json!(name));
        let of_policy = ["description", "enabled", "source_posture_checks"];
        fill(&mut body, self, groups, |field| of_policy.contains(&field))?;

        // the rule's id must be repeated: without it an old policy gets a second rule (docs/netbird-api.md, "Policies:
        // one rule")
        let rule = live.and_then(|live| live["rules"].get(0));
        let mut rule = base_of(rule, &[]);
        default(&mut rule, "name", json!(name));
        default(&mut rule, "description", json!(""));
        let of_rule = ["enabled", "action", "bidirectional", "protocol"];
        fill(&mut rule, self, groups, |field| of_rule.contains(&field))?;
        for side in self.sides() {
            // of the two the other one must be absent: presence is what counts
            rule.remove(side.field);
            rule.remove(side.resource);
            match side.target {
                Some(target) => rule.insert(side.resource.into(), target.request(groups)?),
                None => rule.insert(side.field.into(), groups.resolve(side.groups)?),
            };
        }
        if let Some(ports) = &self.ports {
            rule.remove("ports");
            rule.remove("port_ranges");
            let is_single = ports.iter().all(|range| range.start == range.end);
            let range = |range: &PortRange| match is_single {
                true => json!(range.to_string()),
                false => json!({ "start": range.start, "end": range.end }),
            };
            // never both fields: the server refuses that
            let field = if is_single { "ports" } else { "port_ranges" };
            rule.insert(field.into(), ports.iter().map(range).collect());
        }
        if self.authorized_groups.is_some() {
            rule.remove("authorized_groups");
            let users = self.users().into_iter().flatten();
            let users = users
                .map(|(group, logins)| Ok((groups.id(group)?.to_string(), json!(logins))))
                .collect::<Result<Map<String, Value>, Unresolved>>()?;
            if !users.is_empty() {
                rule.insert("authorized_groups".into(), users.into());
            }
        }
        body.insert("rules".into(), json!([rule]));
        Ok(Value::Object(body))
    }

    fn references(&self) -> Vec<&str> {
        let groups = entry::TABLE.groups(self).into_iter().flatten();
        let users = self.users().into_iter().flat_map(BTreeMap::keys);
        groups.chain(users).map(String::as_str).collect()
    }

    fn others(&self) -> Vec<(Refers, &str)> {
        let targets = [&self.source_resource, &self.destination_resource];
        let resources = targets.into_iter().flatten().filter_map(Target::resource);
        let checks = self.source_posture_checks.iter().flatten();
        let checks = checks.map(|name| (Refers::Check, name.as_str()));
        let resources = resources.map(|name| (Refers::Resource, name));
        resources.chain(checks).collect()
    }

    fn peers(&self) -> Vec<&PeerRef> {
        let targets = [&self.source_resource, &self.destination_resource];
        let peers = targets.into_iter().flatten().filter_map(Target::peer);
        peers.collect()
    }

    fn peers_mut(&mut self) -> Vec<&mut PeerRef> {
        let targets = [&mut self.source_resource, &mut self.destination_resource];
        let targets = targets.into_iter().flatten();
        targets.filter_map(Target::peer_mut).collect()
    }

    fn beyond_the_file(&self) -> Option<String> {
        (self.rules.0 != 1).then(|| format!("has {} rules", self.rules.0))
    }

    fn export(&self, mut fields: Map<String, Value>) -> Result<Map<String, Value>, String> {
        let is_empty = |side: &Side| side.target.is_none() && side.groups.is_empty();
        if let Some(why) = self.beyond_the_file() {
            return Err(format!("it {why}"));
        }
        if matches!(self.source_resource, Some(Target::Resource(_))) {
            return Err("it has a network resource as its source, which does nothing".into());
        }
        if self.sides().iter().any(is_empty) {
            return Err("it has no sources, or no destinations".into());
        }
        // of a side the one that is not there; ports of all and icmp cannot stand, of others no list is every port
        let is_said = |value: &Value| ![json!(null), json!([]), json!({})].contains(value);
        let is_known = |field: &str| match field {
            "authorized_groups" => self.users().is_some(),
            field => entry::TABLE.field(field).is_some(),
        };
        fields.retain(|field, value| is_known(field) && is_said(value));
        Ok(fields)
    }

    fn summary(&self, about: &About) -> String {
        let is_one_way = self.bidirectional == Some(false);
        let arrow = if is_one_way { "→" } else { "↔" };
        let [from, to] = self.sides().map(|side| side.words(about));
        let mut text = format!("{from} {arrow} {to}: {}", self.traffic());
        if self.action == Some(Action::Drop) {
            text.push_str(", dropped");
        }
        let mut checks = self.source_posture_checks.iter().flatten().peekable();
        if checks.peek().is_some() {
            text = format!("{text}, for those who pass {}", named(checks));
        }
        text
    }

    fn loss(&self, about: &About) -> Sentence {
        let what = self.traffic();
        let [from, to] = self.sides().map(|side| side.sentence(about));
        match self.bidirectional {
            _ if self.action == Some(Action::Drop) => {
                let blocked = Sentence::from(format!("{what} from ")).then(from);
                blocked.say(" to ").then(to).say(" is no longer blocked")
            }
            _ if self.is_all() == [true, true] => {
                format!("peers that no other policy connects lose each other ({what})").into()
            }
            Some(false) => from.say(format!(" lose {what} to ")).then(to),
            _ => {
                let both = from.say(" and ").then(to);
                both.say(format!(" lose {what} to each other"))
            }
        }
    }

    /// What an enabled policy lets through from or to every peer.
    fn opens_to_all(&self, about: &About) -> Option<Sentence> {
        if self.action == Some(Action::Drop) || self.enabled == Some(false) {
            return None;
        }
        let what = self.traffic();
        let [from, to] = self.sides().map(|side| side.sentence(about));
        let every = Sentence::from("every peer reaches ");
        match self.is_all() {
            [true, true] => Some(every.say(format!("every other: {what}"))),
            [true, false] => Some(every.then(to).say(format!(": {what}"))),
            [false, true] => Some(from.say(format!(" reach every peer: {what}"))),
            [false, false] => None,
        }
    }
}
