//! Names of peers: whether an entry ever named one, as a group lists its members, and since when it does.

use std::collections::BTreeMap;

use crate::address::Address;
use crate::kind::Kind;

use super::Ledger;
use super::facts::Fact;
use super::timeline::Interval;
use super::timeline::is_open;

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
        let mut lineage = self.lineage(at).into_iter();
        lineage.any(|(at, limit)| {
            let named = self.named(&at, name);
            named.iter().any(|interval| interval.from < limit)
        })
    }

    /// Returns since when each entry names the peers that it names now. One that was renamed names them since they were
    /// named under its old name.
    pub fn listings(&self) -> Listings {
        let open = self.history.facts.iter();
        let open = open.filter(|(_, intervals)| is_open(intervals));
        let listed = open.flat_map(|(fact, _)| match fact {
            Fact::Listed(group, member) => {
                vec![(Address::new(Kind::Group, group), member.clone())]
            }
            Fact::Tied(at, tie, _) if tie.end.is_peer() => {
                let names = tie.names.iter().cloned();
                names.map(|name| (at.clone(), name)).collect()
            }
            Fact::Declared(at) if at.kind == Kind::Peer => vec![(at.clone(), at.name.clone())],
            _ => Vec::new(),
        });
        let listed = listed.map(|(at, name)| {
            let from = self.first_listed(&at, &name);
            ((at, name), self.history.commits[from].ends)
        });
        let mut since: BTreeMap<(Address, String), i64> = listed.collect();
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

    /// When versions named a peer in that entry: wherever in its list, and at whichever end.
    fn named(&self, at: &Address, name: &str) -> Vec<Interval> {
        if at.kind == Kind::Group {
            let fact = Fact::Listed(at.name.clone(), name.to_owned());
            return self.intervals(&fact).to_vec();
        }
        if at.kind == Kind::Peer {
            // the entry is the name
            let of_it = (at.name == name).then(|| self.intervals(&Fact::Declared(at.clone())));
            return of_it.unwrap_or_default().to_vec();
        }
        let ties = self.ties.get(at).into_iter().flatten();
        let naming = ties.filter(|(tie, _)| tie.end.is_peer() && tie.names.contains(name));
        let facts = naming.map(|(tie, place)| Fact::Tied(at.clone(), tie.clone(), *place));
        let all = facts.flat_map(|fact| self.intervals(&fact).to_vec());
        all.collect()
    }

    /// The index of the commit that named a peer which the newest version names, seen through renames that happened in the
    /// very commit in which the new name begins.
    fn first_listed(&self, at: &Address, name: &str) -> usize {
        let (mut at, mut from) = (at.clone(), usize::MAX);
        loop {
            let reaches = |interval: &Interval| {
                interval.from < from && interval.to.is_none_or(|to| to >= from)
            };
            let named = self.named(&at, name);
            let earlier = named.iter().filter(|it| reaches(it)).map(|it| it.from);
            if let Some(earlier) = earlier.min() {
                from = earlier;
                continue;
            }
            let links = self.renames.get(&at).into_iter().flatten();
            let mut old = links.filter(|(_, since)| *since == from);
            let old = old.find_map(|(old, since)| {
                let old = Address::new(at.kind, old);
                let until = |to: Option<usize>| to.is_none_or(|to| to >= *since);
                let listed = self.named(&old, name);
                let mut before = listed.iter();
                let before = before.find(|it| it.from < *since && until(it.to))?;
                Some((old, before.from))
            });
            match old {
                Some((old, earlier)) => (at, from) = (old, earlier),
                None => return from,
            }
        }
    }
}
