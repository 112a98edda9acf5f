//! Whether the file ever said what a live object connects: names alone prove nothing where they are not unique.

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
        let (mut same, mut other) = (0, 0);
        for tie in &form.ties {
            let (mut is_said, mut is_same) = (false, false);
            for (known, interval) in self.tied(address, tie.end.place()) {
                let meets = |with: &Interval| {
                    interval.from < with.to.unwrap_or(usize::MAX)
                        && with.from < interval.to.unwrap_or(usize::MAX)
                };
                if around.iter().any(meets) {
                    begins.push(interval.from);
                    is_said = true;
                    is_same |= self.is_same(tie, known);
                }
            }
            if is_same || !is_said {
                same += 1;
            } else {
                other += 1;
            }
        }
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

    /// What versions said of one place of an entry, under each of its names, and when.
    fn tied(&self, address: &Address, place: End) -> Vec<(&Tie, Interval)> {
        let mut found = Vec::new();
        for (address, limit) in self.lineage(address) {
            let Some(ties) = self.ties.get(&address) else {
                continue;
            };
            for tie in ties.iter().filter(|tie| tie.end.place() == place) {
                let intervals = self.intervals(&Fact::Tied(address.clone(), tie.clone()));
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
            End::ThroughPeer => live.names.is_empty() || !live.names.is_disjoint(&known.names),
            End::Network | End::Domain | End::Content => live.names == known.names,
            End::From | End::To | End::Through => {
                live.names.len() == known.names.len() && live.names.iter().all(had_name)
            }
        }
    }
}
