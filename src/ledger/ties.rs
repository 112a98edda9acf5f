//! Whether the file ever said what a live object connects: names alone prove nothing where they are not unique.

use std::collections::BTreeSet;

use crate::address::Address;
use crate::kind::{End, Form, Kind, Tie};

use super::Ledger;
use super::facts::Fact;
use super::proof::{EARLIER_SECS, LATER_SECS};
use super::timeline::Interval;

/// What the versions that declared an object's name say of what it connects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Told {
    /// How many of its ends a version had as they are now. An end that no version speaks of counts.
    pub same: usize,
    /// How many are otherwise than in every version.
    pub other: usize,
    /// Whether it was made when a version that changed its entry was applied: not later than an hour after.
    pub is_fresh: bool,
}

impl Ledger {
    /// Compares what an object of that name connects with the versions of the interval in which it was made, or with all
    /// where it was made in none. Names of groups are followed through renames; of a peer the form has all names.
    pub fn told(&self, address: &Address, created_at: Option<i64>, form: &Form) -> Told {
        let declared = self.followed(address, |address| Fact::Declared(address.clone()));
        let made_in = |interval: &&Interval| {
            created_at.is_some_and(|at| self.span(interval.from, interval.to).holds(at))
        };
        let around: Vec<Interval> = declared.iter().filter(made_in).copied().collect();
        let around = if around.is_empty() { declared } else { around };
        let mut begins: Vec<usize> = around.iter().map(|interval| interval.from).collect();
        // of the objects that a version had, the one that it is like
        let mut like = (0, form.ties.len());
        for at in self.places(address) {
            let said = |tie: &Tie| {
                let said = self.tied(address, tie.end.place(), at).into_iter();
                let said =
                    said.filter(|(_, interval)| around.iter().any(|with| interval.meets(with)));
                let said = said.map(|(known, interval)| (self.is_same(tie, known), interval));
                said.collect::<Vec<(bool, Interval)>>()
            };
            let said: Vec<Vec<(bool, Interval)>> = form.ties.iter().map(said).collect();
            let from = said.iter().flatten().map(|(_, interval)| interval.from);
            begins.extend(from);
            let versions: BTreeSet<usize> = begins.iter().copied().collect();
            for version in versions {
                let is_like = |said: &&Vec<(bool, Interval)>| {
                    let mut now = said.iter().filter(|(_, it)| it.holds(version));
                    // what no version speaks of is as it was
                    said.is_empty() || now.any(|(same, _)| *same)
                };
                let same = said.iter().filter(is_like).count();
                if same >= like.0 {
                    like = (same, form.ties.len() - same);
                }
            }
        }
        let (same, other) = like;
        let is_fresh = begins.into_iter().any(|index| {
            let begins = self.history.commits[index].begins;
            let applied = begins.saturating_sub(EARLIER_SECS)..=begins.saturating_add(LATER_SECS);
            created_at.is_some_and(|at| applied.contains(&at))
        });
        Told {
            same,
            other,
            is_fresh,
        }
    }

    /// Returns whether a version of an entry had something at that very end.
    pub fn was_said(&self, address: &Address, end: End) -> bool {
        self.said_at(address, end.place())
            .any(|(tie, _)| tie.end == end)
    }

    /// Returns whether versions of an entry had something in that place, and never at that end: groups where a peer stands
    /// now, or the other way round.
    pub fn was_said_otherwise(&self, address: &Address, end: End) -> bool {
        let mut said = self.said_at(address, end.place()).peekable();
        said.peek().is_some() && said.all(|(tie, _)| tie.end != end)
    }

    fn said_at(&self, address: &Address, place: End) -> impl Iterator<Item = (&Tie, Interval)> {
        let places = self.places(address).into_iter();
        places.flat_map(move |at| self.tied(address, place, at))
    }

    /// Returns whether another entry has taken over what that one was.
    pub fn is_passed_on(&self, address: &Address) -> bool {
        let mut links = self.renames.iter();
        links.any(|(new, olds)| {
            new.kind == address.kind && olds.iter().any(|(old, _)| *old == address.name)
        })
    }

    /// Returns how many objects an entry had at most; of what stands in another object one.
    pub fn most(&self, address: &Address) -> usize {
        let places = self.places(address).into_iter();
        places.map(|at| at + 1).max().unwrap_or(1)
    }

    /// The places of an entry's list that a version had; the first one in any case.
    fn places(&self, address: &Address) -> BTreeSet<usize> {
        let lineage = self.lineage(address).into_iter();
        let ties = lineage.filter_map(|(address, _)| self.ties.get(&address));
        let places = ties.flatten().map(|(_, at)| *at);
        places.chain([0]).collect()
    }

    /// What versions said of one end of an object of an entry, under each of its names, and when.
    fn tied(&self, address: &Address, place: End, at: usize) -> Vec<(&Tie, Interval)> {
        let mut found = Vec::new();
        for (address, limit) in self.lineage(address) {
            let Some(ties) = self.ties.get(&address) else {
                continue;
            };
            let of_it = |(tie, of): &&(Tie, usize)| tie.end.place() == place && *of == at;
            for (tie, at) in ties.iter().filter(of_it) {
                let intervals = self.intervals(&Fact::Tied(address.clone(), tie.clone(), *at));
                let in_time = intervals.iter().filter(|interval| interval.from < limit);
                found.extend(in_time.map(|interval| (tie, *interval)));
            }
        }
        found
    }

    /// Whether a live end is that of a version: the same networks, groups that bear these names or had them, a peer that
    /// bears that name.
    fn is_same(&self, live: &Tie, known: &Tie) -> bool {
        let had_name = |name: &String| {
            let names = self.lineage(&Address::new(Kind::Group, name));
            names.iter().any(|(at, _)| known.names.contains(&at.name))
        };
        if live.end != known.end {
            return false;
        }
        match live.end {
            // one that is gone has no name, and nothing goes through it any more
            End::ThroughPeer | End::FromPeer | End::ToPeer => {
                live.names.is_empty() || !live.names.is_disjoint(&known.names)
            }
            End::Network
            | End::Domain
            | End::Content
            | End::Setting(_)
            | End::ToResource
            | End::Checks
            | End::Users => live.names == known.names,
            End::From | End::To | End::Through => {
                live.names.len() == known.names.len() && live.names.iter().all(had_name)
            }
        }
    }
}
