//! What an object's form tells of who made it: whether a file can say such a thing, and what it connects.
//!
//! A name and a time prove little where names are not unique. A file says a route through groups, and a policy as one rule
//! between groups; what goes through a single peer, or names a resource, was not made by us.

use std::collections::BTreeSet;

use super::Resource;

/// What kind of object a file would have to be able to say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Shape {
    /// A file can say it.
    Plain,
    /// It connects what a file can say, and holds more besides: posture checks, users who may log in.
    More,
    /// No file can say what it connects: a single peer, a network resource, several rules.
    Elsewhere,
}

/// An end of what an object connects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum End {
    /// A policy's `sources`: groups.
    From,
    /// A policy's `destinations`: groups.
    To,
    /// A route's `network` or `domains`.
    Network,
    /// A route's `peer_groups`.
    Through,
}

/// An end and what stands there, in the one spelling of each.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tie {
    /// Which end.
    pub end: End,
    /// Names of groups, a network, or domains.
    pub names: BTreeSet<String>,
}

/// The form of an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Form {
    /// What it takes to say it.
    pub shape: Shape,
    /// What it connects; nothing for kinds whose name says all.
    pub ties: Vec<Tie>,
}

impl Form {
    /// Returns the form of an object.
    pub fn of(resource: &Resource) -> Self {
        let tie = |end, names: &BTreeSet<String>| Tie {
            end,
            names: names.clone(),
        };
        match resource {
            Resource::Policy(policy) => {
                let between_groups = policy.source_resource.is_none()
                    && policy.destination_resource.is_none()
                    && !policy.sources.is_empty()
                    && !policy.destinations.is_empty();
                let shape = if policy.rules.0 != 1 || !between_groups {
                    Shape::Elsewhere
                } else if policy.beyond.is_empty() {
                    Shape::Plain
                } else {
                    Shape::More
                };
                let ties = vec![
                    tie(End::From, &policy.sources),
                    tie(End::To, &policy.destinations),
                ];
                Form { shape, ties }
            }
            Resource::Route(route) => {
                let shape = if route.peer.is_some() || route.peer_groups.is_empty() {
                    Shape::Elsewhere
                } else {
                    Shape::Plain
                };
                let network = route.network.iter().chain(route.domains.iter().flatten());
                let network = Tie {
                    end: End::Network,
                    names: network.cloned().collect(),
                };
                let ties = vec![network, tie(End::Through, &route.peer_groups)];
                Form { shape, ties }
            }
            Resource::Group(_)
            | Resource::SetupKey(_)
            | Resource::Peer(_)
            | Resource::NameserverGroup(_) => Form {
                shape: Shape::Plain,
                ties: Vec::new(),
            },
        }
    }

    /// Returns what tells an object from others of its name, in words that follow its id.
    pub fn words(resource: &Resource) -> &'static str {
        match (Form::of(resource).shape, resource) {
            (Shape::Elsewhere, Resource::Route(route)) if route.peer.is_some() => {
                "through a single peer"
            }
            (Shape::Elsewhere, Resource::Route(_)) => "through no group",
            (Shape::Elsewhere, Resource::Policy(policy)) if policy.rules.0 != 1 => {
                "of several rules or none"
            }
            (Shape::Elsewhere, _) => "to or from a resource, a peer or nobody",
            (Shape::More, _) => "with posture checks or users who may log in",
            (Shape::Plain, Resource::Route(_)) => "for another network or through other groups",
            (Shape::Plain, _) => "otherwise than declared",
        }
    }

    /// Returns how many ends both have in common.
    pub fn in_common(&self, other: &Form) -> usize {
        let shared = self.ties.iter().filter(|tie| other.ties.contains(tie));
        shared.count()
    }
}
