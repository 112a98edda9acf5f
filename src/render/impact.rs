//! What a change means for whom: the sentences that a reviewer must not miss.

use std::collections::BTreeSet;

use super::describe::{names_of_servers, traffic};
use crate::change::{Change, Operation, SECOND};
use crate::plan::Plan;
use crate::resource::{ALL, Action, Live, NameserverGroup, Policy, Protocol, Resource, Route};
use crate::text::count;

/// Most names that a sentence spells out.
const MOST_NAMES: usize = 10;

/// A part of a sentence: our words, or somebody's name.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Piece {
    /// Words.
    Text(String),
    /// A name, which each renderer makes inert in its own way.
    Name(String),
}

/// A sentence in which names stand out.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Sentence(pub(super) Vec<Piece>);

impl Sentence {
    fn say(mut self, text: impl Into<String>) -> Self {
        self.0.push(Piece::Text(text.into()));
        self
    }

    fn name(mut self, name: impl Into<String>) -> Self {
        self.0.push(Piece::Name(name.into()));
        self
    }

    fn names<'a>(mut self, names: impl IntoIterator<Item = &'a str>) -> Self {
        let names: Vec<&str> = names.into_iter().collect();
        for (index, name) in names.iter().take(MOST_NAMES).enumerate() {
            self = if index > 0 { self.say(", ") } else { self };
            self = self.name(*name);
        }
        match names.len().saturating_sub(MOST_NAMES) {
            0 => self,
            more => self.say(format!(" and {more} more")),
        }
    }

    /// Returns the sentence with its names as `name` renders them, and its words as `text` does.
    pub(super) fn render(&self, name: fn(&str) -> String, text: fn(&str) -> String) -> String {
        let piece = |piece: &Piece| match piece {
            Piece::Text(words) => text(words),
            Piece::Name(it) => name(it),
        };
        self.0.iter().map(piece).collect()
    }
}

/// What stands out about a change.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Impact {
    /// What is done to the object, as in `Deletes`.
    pub(super) verb: &'static str,
    /// What that means.
    pub(super) what: Sentence,
    /// Nobody loses anything by it.
    pub(super) harmless: bool,
}

/// Returns what a reviewer must not miss of a change: that it takes something away, or opens something to all.
pub(super) fn impact(change: &Change, plan: &Plan) -> Option<Impact> {
    let impact = |verb, what| {
        Some(Impact {
            verb,
            what,
            harmless: false,
        })
    };
    match &change.operation {
        // of two keys each has a secret of its own
        Operation::Delete { live }
            if change.reason == SECOND && !matches!(live.resource, Resource::SetupKey(_)) =>
        {
            Some(Impact {
                verb: "Deletes",
                what: Sentence::default().say("the other one stays, and does the same"),
                harmless: true,
            })
        }
        Operation::Delete { live } => Some(Impact {
            verb: "Deletes",
            what: loss(&live.resource, live, plan),
            harmless: is_idle(live),
        }),
        Operation::Replace { live, after, .. } => {
            let what = match after {
                Resource::SetupKey(_) if is_dead(live) => {
                    Sentence::default().say("a new secret is made and sealed")
                }
                Resource::SetupKey(_) => Sentence::default()
                    .say("a new secret is made and sealed, the old one stops working"),
                _ => Sentence::default().say("the new one is made before the old one goes"),
            };
            impact("Replaces", what)
        }
        Operation::Update { live, after, .. } => {
            let removed = change.removed_members();
            let after = after.over(&live.resource);
            if !removed.is_empty() {
                let labels = removed.iter().map(|id| label(plan, id));
                return impact(
                    "Takes members from",
                    Sentence::default()
                        .names(labels)
                        .say(if removed.len() == 1 {
                            " leaves"
                        } else {
                            " leave"
                        }),
                );
            }
            if is_on(&live.resource) && !is_on(&after) {
                return impact("Switches off", loss(&live.resource, live, plan));
            }
            let opens = opens_to_all(&after)?;
            if opens_to_all(&live.resource).as_ref() == Some(&opens) {
                return None;
            }
            impact("Opens", opens)
        }
        Operation::Create { after } => impact("Opens", opens_to_all(after)?),
    }
}

fn label<'a>(plan: &'a Plan, id: &'a crate::state::Id) -> &'a str {
    plan.peer_labels
        .get(id)
        .map_or(id.0.as_str(), String::as_str)
}

fn is_on(resource: &Resource) -> bool {
    match resource {
        Resource::Policy(policy) => policy.enabled != Some(false),
        Resource::Route(route) => route.enabled != Some(false),
        Resource::NameserverGroup(group) => group.enabled != Some(false),
        Resource::Group(_) | Resource::SetupKey(_) | Resource::Peer(_) => true,
    }
}

/// Whether nobody gets anything from an object: it is dead, disabled, or has no members.
fn is_idle(live: &Live) -> bool {
    let is_empty = match &live.resource {
        Resource::Group(group) => group.peers.as_ref().is_none_or(BTreeSet::is_empty),
        _ => false,
    };
    is_empty || is_dead(live) || !is_on(&live.resource)
}

/// Used, expired or revoked.
fn is_dead(key: &Live) -> bool {
    key.is_dead_key()
}

/// Who loses what when an object goes or is switched off.
fn loss(resource: &Resource, live: &Live, plan: &Plan) -> Sentence {
    let nobody = || Sentence::default().say("it is disabled already");
    match resource {
        _ if !is_on(resource) => nobody(),
        Resource::Group(group) => {
            let peers: Vec<&str> = group
                .peers
                .iter()
                .flatten()
                .map(|id| label(plan, id))
                .collect();
            match peers.len() {
                0 => Sentence::default().say("it has no members"),
                number => {
                    let number = count(number, "member", "members");
                    Sentence::default()
                        .say(format!("it has {number}: "))
                        .names(peers)
                }
            }
        }
        Resource::SetupKey(_) if is_dead(live) => Sentence::default().say("it is dead already"),
        Resource::SetupKey(_) => Sentence::default().say("its secret stops working"),
        Resource::Peer(_) => {
            Sentence::default().say("the machine is cut off and has to enroll anew")
        }
        Resource::Policy(policy) => policy_loss(policy),
        Resource::Route(route) => route_loss(route),
        Resource::NameserverGroup(group) => nameserver_loss(group),
    }
}

fn side<'a>(groups: &'a BTreeSet<String>, resource: &'a Option<String>) -> Vec<&'a str> {
    match resource {
        Some(resource) => vec![resource],
        None => groups.iter().map(String::as_str).collect(),
    }
}

fn policy_loss(policy: &Policy) -> Sentence {
    let sources = side(&policy.sources, &policy.source_resource);
    let destinations = side(&policy.destinations, &policy.destination_resource);
    let what = traffic(policy);
    if policy.action == Some(Action::Drop) {
        let blocked = Sentence::default()
            .say(format!("{what} from "))
            .names(sources);
        return blocked
            .say(" to ")
            .names(destinations)
            .say(" is blocked no more");
    }
    let all = |groups: &BTreeSet<String>| groups.contains(ALL);
    if all(&policy.sources) && all(&policy.destinations) {
        return Sentence::default().say(format!(
            "peers that no other policy connects lose each other ({what})"
        ));
    }
    let both = policy.bidirectional != Some(false);
    let text = Sentence::default().names(sources);
    if both {
        return text
            .say(" and ")
            .names(destinations)
            .say(format!(" lose {what} to each other"));
    }
    text.say(format!(" lose {what} to ")).names(destinations)
}

fn route_loss(route: &Route) -> Sentence {
    let text = Sentence::default().say("peers in ");
    let text = text
        .names(route.groups.iter().flatten().map(String::as_str))
        .say(" lose ");
    match (&route.network, &route.domains) {
        (Some(network), _) => text.name(network),
        (None, domains) => text.names(domains.iter().flatten().map(String::as_str)),
    }
}

fn nameserver_loss(group: &NameserverGroup) -> Sentence {
    let text = Sentence::default().say("peers in ");
    let text = text.names(group.groups.iter().map(String::as_str));
    let servers = names_of_servers(group).join(", ");
    let text = text.say(format!(" no longer ask {servers} for "));
    match group.primary {
        true => text.say("everything"),
        false => text.names(group.domains.iter().map(String::as_str)),
    }
}

/// What an enabled policy lets through from or to every peer.
fn opens_to_all(resource: &Resource) -> Option<Sentence> {
    let Resource::Policy(policy) = resource else {
        return None;
    };
    if policy.action == Some(Action::Drop) || policy.enabled == Some(false) {
        return None;
    }
    let all = |groups: &BTreeSet<String>| groups.contains(ALL);
    let everything = matches!(policy.protocol, None | Some(Protocol::All));
    let what = traffic(policy);
    match (all(&policy.sources), all(&policy.destinations)) {
        (true, true) if everything => {
            Some(Sentence::default().say("every peer reaches every other, with everything"))
        }
        (true, true) => {
            Some(Sentence::default().say(format!("every peer reaches every other: {what}")))
        }
        (true, false) => {
            let text = Sentence::default().say("every peer reaches ");
            let destinations = side(&policy.destinations, &policy.destination_resource);
            Some(text.names(destinations).say(format!(": {what}")))
        }
        (false, true) => {
            let sources = side(&policy.sources, &policy.source_resource);
            let text = Sentence::default().names(sources);
            Some(text.say(format!(" reach every peer: {what}")))
        }
        (false, false) => None,
    }
}

/// Returns `; 3 group members are removed` for the members that groups lose.
pub(super) fn removed_members(plan: &Plan) -> Option<String> {
    let removed = plan
        .changes
        .iter()
        .map(|change| change.removed_members().len());
    let number: usize = removed.sum();
    (number > 0).then(|| {
        format!(
            "{} removed",
            count(number, "group member is", "group members are")
        )
    })
}
