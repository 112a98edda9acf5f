//! Names of peers: whether an entry ever named one, as a group lists its members, and since when it does.

use std::collections::{BTreeMap, BTreeSet};

use crate::address::Address;
use crate::kind::{End, Kind, Tie};

use super::Ledger;
use super::facts::Fact;

/// Since when an entry names a peer, as the file's git history says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Listing {
    /// The second of the commit that named it; it is named ever since.
    Since(i64),
    /// In no commit yet.
    New,
    /// There is no history.
    Unknown,
}

/// Since when groups list their members, and other entries name a peer.
#[derive(Debug, Clone, Default)]
pub struct Listings {
    /// Whether there is a history.
    pub known: bool,
    /// The commit's second, by entry and name, for what the newest commit says.
    pub since: BTreeMap<(Address, String), i64>,
}

impl Listings {
    /// Returns since when the entry `at` names that peer.
    pub fn of(&self, at: &Address, name: &str) -> Listing {
        match self.since.get(&(at.clone(), name.to_owned())) {
            Some(second) => Listing::Since(*second),
            None if self.known => Listing::New,
            None => Listing::Unknown,
        }
    }
}

impl Ledger {
    /// Returns whether the entry, under this or an earlier name, ever named that peer.
    pub fn was_listed(&self, at: &Address, name: &str) -> bool {
        let ends = if at.kind == Kind::Group {
            &[None][..]
        } else {
            PEER_ENDS
        };
        ends.iter().any(|end| {
            let listed = |at: &Address| fact(at, name, *end);
            !self.followed(at, listed).is_empty()
        })
    }

    /// Returns since when each entry names the peers that it names now. One that was renamed names them since they were
    /// named under its old name.
    pub fn listings(&self) -> Listings {
        let mut since: BTreeMap<(Address, String), i64> = BTreeMap::new();
        for (fact, intervals) in &self.history.facts {
            let (at, names, end) = match fact {
                Fact::Listed(group, member) => {
                    let member = BTreeSet::from([member.clone()]);
                    (Address::new(Kind::Group, group), member, None)
                }
                Fact::Tied(at, tie) if tie.end.is_peer() => {
                    (at.clone(), tie.names.clone(), Some(tie.end))
                }
                _ => continue,
            };
            let Some(open) = intervals.last().filter(|last| last.to.is_none()) else {
                continue;
            };
            for name in names {
                let from = self.first_listed(&at, &name, end, open.from);
                let second = self.history.commits[from].ends;
                let known = since.entry((at.clone(), name)).or_insert(second);
                *known = second.min(*known);
            }
        }
        // renames that only the working file has: what the old name lists, the new one does
        let uncommitted = self.history.commits.len();
        for (new, links) in &self.renames {
            for (old, at) in links {
                if *at == uncommitted {
                    let old = Address::new(new.kind, old);
                    let listed: Vec<_> = since
                        .iter()
                        .filter(|((at, _), _)| *at == old)
                        .map(|((_, name), second)| ((new.clone(), name.clone()), *second))
                        .collect();
                    since.extend(listed);
                }
            }
        }
        Listings {
            known: self.is_known(),
            since,
        }
    }

    /// The index of the commit that named a peer, seen through renames that happened in the very commit in which the new
    /// name begins.
    fn first_listed(&self, at: &Address, name: &str, end: Option<End>, from: usize) -> usize {
        let (mut at, mut from) = (at.clone(), from);
        loop {
            let links = self.renames.get(&at);
            let step = links.into_iter().flatten().find_map(|(old, since)| {
                let old = Address::new(at.kind, old);
                let listed = self.intervals(&fact(&old, name, end));
                let until = |to: Option<usize>| to.is_none_or(|to| to >= *since);
                let before = listed
                    .iter()
                    .find(|interval| interval.from < *since && until(interval.to))?;
                (*since == from).then_some((old, before.from))
            });
            match step {
                Some((old, earlier)) => (at, from) = (old, earlier),
                None => return from,
            }
        }
    }
}

/// The ends at which entries name peers.
const PEER_ENDS: &[Option<End>] = &[Some(End::ThroughPeer)];

/// That an entry names a peer: at one of its ends, or as a member.
fn fact(at: &Address, name: &str, end: Option<End>) -> Fact {
    match end {
        None => Fact::Listed(at.name.clone(), name.to_owned()),
        Some(end) => {
            let names = BTreeSet::from([name.to_owned()]);
            Fact::Tied(at.clone(), Tie { end, names })
        }
    }
}
