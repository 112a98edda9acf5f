//! What an object's form tells of who made it: whether a file can say such a thing, and what it connects.
//!
//! A name and a time prove little where names are not unique. A file says a route through groups or one peer, and a policy as
//! one rule; what has several, or nobody at an end, was not made by us.

use std::collections::BTreeSet;

use crate::id::Id;
use crate::spelling;

/// What kind of object a file would have to be able to say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Shape {
    /// A file can say it.
    Plain,
    /// It connects what a file can say, and holds more besides that no version said: posture checks, users who may log in.
    More,
    /// No file can say what it connects: several rules, an empty side.
    Elsewhere,
}

/// An end of what an object connects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum End {
    /// A policy's `sources`: groups.
    From,
    /// A single peer in their place.
    FromPeer,
    /// A policy's `destinations`: groups.
    To,
    /// A single peer in their place.
    ToPeer,
    /// A network resource in their place.
    ToResource,
    /// A policy's `source_posture_checks`.
    Checks,
    /// A policy's `authorized_groups`.
    Users,
    /// A route's `network` or `domains`.
    Network,
    /// A route's `peer_groups`.
    Through,
    /// A single peer in their place.
    ThroughPeer,
    /// A zone's `domain`: another one makes the zone anew.
    Domain,
    /// What a record leads to: what tells records of one name and type apart.
    Content,
    /// A field whose value moves machines: since when the file has it.
    Setting(&'static str),
}

impl End {
    /// Returns the one spelling of a text that stands at this end alone.
    pub(crate) fn spelled(self, text: &str) -> String {
        match self {
            End::Domain => text.to_ascii_lowercase(),
            End::Setting(_) => spelling::network(&text.to_ascii_lowercase()),
            End::Content => spelling::content(text),
            End::ThroughPeer
            | End::FromPeer
            | End::ToPeer
            | End::ToResource
            | End::Checks
            | End::Users => text.to_owned(),
            End::From | End::To | End::Network | End::Through => spelling::network(text),
        }
    }

    /// Returns the one spelling of a text that stands at this end in a list.
    pub(crate) fn listed(self, text: &str) -> String {
        match self {
            End::Network => spelling::domain(text),
            _ => text.to_owned(),
        }
    }

    /// The end that it stands for: of a group or a peer in one place a file says one.
    pub(crate) fn place(self) -> End {
        match self {
            End::ThroughPeer => End::Through,
            End::FromPeer => End::From,
            End::ToPeer | End::ToResource => End::To,
            end => end,
        }
    }

    /// Whether a single peer stands there: by its id in NetBird, by one of its names in the file.
    pub(crate) fn is_peer(self) -> bool {
        matches!(self, End::ThroughPeer | End::FromPeer | End::ToPeer)
    }

    /// Whether what stood there is lost with it, though the object stays: what a zone answered, and what a record led to.
    pub(crate) fn is_lost(self) -> bool {
        matches!(self, End::Domain | End::Content)
    }
}

/// What the history of the file remembers of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trace {
    /// The members of a group.
    Members,
    /// That a key did its work.
    Done,
    /// From which instant on a new key was asked for.
    Anew,
    /// How many seconds a key was asked to last.
    Lasts,
    /// What an object connects at one of its ends.
    Tie(End),
}

/// An end and what stands there, in the one spelling of each.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tie {
    /// Which end.
    pub end: End,
    /// Names of groups, a network, domains, or a peer.
    pub names: BTreeSet<String>,
}

impl Tie {
    /// One text at an end.
    pub(crate) fn one(end: End, text: impl Into<String>) -> Tie {
        let names = BTreeSet::from([text.into()]);
        Tie { end, names }
    }

    /// Returns it as versions of the file can have said it: a peer by each of its names.
    pub fn as_written(self, names: impl Fn(&Id) -> BTreeSet<String>) -> Vec<Tie> {
        if !self.end.is_peer() {
            return vec![self];
        }
        let names = self
            .names
            .into_iter()
            .flat_map(|id| names(&Id::from(id.as_str())));
        names.map(|name| Tie::one(self.end, name)).collect()
    }
}

/// The form of an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Form {
    /// What it takes to say it.
    pub shape: Shape,
    /// What it connects; nothing for kinds whose name says all.
    pub ties: Vec<Tie>,
    /// What it holds besides; which of that does not tell whose it is.
    pub more: BTreeSet<End>,
}

impl Form {
    /// The form of a kind whose name says all.
    pub fn plain() -> Self {
        Form {
            shape: Shape::Plain,
            ties: Vec::new(),
            more: BTreeSet::new(),
        }
    }

    /// The form of what a file can say, and what it connects.
    pub(crate) fn tied(ties: impl IntoIterator<Item = Tie>) -> Self {
        Form {
            ties: ties.into_iter().collect(),
            ..Form::plain()
        }
    }

    /// Returns it with the names by which a file can have meant its peers, in the place of their ids.
    pub fn with_names_of_peers(mut self, names: impl Fn(&Id) -> BTreeSet<String>) -> Self {
        for tie in self.ties.iter_mut().filter(|tie| tie.end.is_peer()) {
            let ids = std::mem::take(&mut tie.names).into_iter();
            tie.names = ids.flat_map(|id| names(&Id::from(id.as_str()))).collect();
        }
        self
    }

    /// Returns how many ends both have in common.
    pub fn in_common(&self, other: &Form) -> usize {
        let shared = self.ties.iter().filter(|tie| other.ties.contains(tie));
        shared.count()
    }
}
