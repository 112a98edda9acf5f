//! Whether an object is ours: was its name declared when it was made?

use std::collections::BTreeSet;

use crate::address::Address;
use crate::kind::Kind;

use super::Ledger;
use super::facts::Fact;
use super::timeline::{Interval, is_open};

/// An object may be that much older than the commit that declared it: clocks differ. In seconds.
pub(super) const EARLIER_SECS: i64 = 5 * 60;

/// An apply may make an object that much later than the commit that removed it: it ran, or waited. In seconds.
pub(super) const LATER_SECS: i64 = 60 * 60;

/// What the ledger says of an object that bears a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Proof {
    /// Made while its name was declared: we made it.
    Ours,
    /// Its name was declared once, but it is older: it was taken over.
    Older,
    /// Its name was declared once, but it is newer: made by hand later.
    Newer,
    /// Its name was never declared, or there is no history.
    Never,
    /// Its name was declared once, but its id does not say when it was made.
    NoIdTime,
}

/// A time, in seconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// Its first second.
    pub from: i64,
    /// Its end; none where it goes on.
    pub to: Option<i64>,
}

impl Span {
    /// Returns whether what was made in that second was made in this time, as far as clocks tell.
    pub fn holds(&self, second: i64) -> bool {
        let begins = self.from.saturating_sub(EARLIER_SECS);
        !self.is_backwards() && (begins..=self.ends()).contains(&second)
    }

    fn ends(&self) -> i64 {
        self.to.map_or(i64::MAX, |to| to.saturating_add(LATER_SECS))
    }

    fn is_backwards(&self) -> bool {
        self.to.is_some_and(|to| to < self.from)
    }
}

impl Ledger {
    /// Returns what is proved about an object of that address that was made in the second `created_at`.
    pub fn proof(&self, address: &Address, created_at: Option<i64>) -> Proof {
        let spans = self.spans(address);
        if !self.was_declared(address) {
            return Proof::Never;
        }
        let Some(created_at) = created_at else {
            return Proof::NoIdTime;
        };
        // a clock that ran backwards makes spans that end before they begin: they hold nothing, grace or not
        let spans = spans.iter().filter(|span| !span.is_backwards());
        let mut newer = true;
        for span in spans {
            if span.holds(created_at) {
                return Proof::Ours;
            }
            newer &= created_at > span.ends();
        }
        if newer { Proof::Newer } else { Proof::Older }
    }

    /// Returns when an entry was declared, its earlier names (`renamed_from`) included, without the times in which the file
    /// could not be read or had no such section.
    pub fn spans(&self, address: &Address) -> Vec<Span> {
        let declared = self.followed(address, |address| Fact::Declared(address.clone()));
        let holes = self.history.holes.get(&address.kind.top());
        let holes = holes.map_or(&[][..], Vec::as_slice);
        let mut spans = Vec::new();
        for interval in declared {
            let mut from = interval.from;
            let end = interval.to.unwrap_or(usize::MAX);
            for hole in holes {
                let (start, stop) = (hole.from, hole.to.unwrap_or(usize::MAX));
                if stop <= from || start >= end {
                    continue;
                }
                if start > from {
                    spans.push(self.span(from, Some(start)));
                }
                from = stop;
            }
            if from < end {
                spans.push(self.span(from, interval.to));
            }
        }
        spans.sort_by_key(|span| span.from);
        spans
    }

    pub(super) fn span(&self, from: usize, to: Option<usize>) -> Span {
        let commits = &self.history.commits;
        Span {
            from: commits[from].begins,
            to: to.map(|to| commits[to].ends),
        }
    }

    /// Returns whether the file ever declared that entry, or under a name that it had before.
    pub fn was_declared(&self, address: &Address) -> bool {
        let declared = self.followed(address, |address| Fact::Declared(address.clone()));
        !declared.is_empty()
    }

    /// Returns whether a version of the file, or that of this run, asked for a key of that name which lasts so long, in
    /// seconds (0 for ever); `seconds` says how it can be read from the live one. Where none says how long, any will do.
    pub fn asked_for_key_of(&self, key: &str, lasts: impl Fn(i64) -> bool) -> bool {
        let facts = self.history.facts.keys();
        let proposed = self.proposal.as_ref().and_then(|file| file.lasts(key));
        let said = facts.filter_map(|fact| match fact {
            Fact::Lasting(of, seconds) if of == key => Some(*seconds),
            _ => None,
        });
        let mut said = said.chain(proposed);
        let mut any = false;
        said.any(|seconds| {
            any = true;
            lasts(seconds)
        }) || !any
    }

    /// Returns whether the newest version that has the section declares that entry.
    pub fn is_declared(&self, address: &Address) -> bool {
        is_open(self.intervals(&Fact::Declared(address.clone())))
    }

    /// Returns whether the newest version says which objects of that kind stand in this one; `None` where no version ever
    /// did, under this name or an earlier one.
    pub fn has_section_in(&self, kind: Kind, parent: &Address) -> Option<bool> {
        let section = |parent: &Address| Fact::Section(kind, parent.name.clone());
        let intervals = self.followed(parent, section);
        (!intervals.is_empty()).then(|| is_open(&intervals))
    }

    /// Returns whether the newest version has the section of that kind; `None` where no version ever had it.
    pub fn has_section(&self, kind: Kind) -> Option<bool> {
        let holes = self.history.holes.get(&kind).map_or(&[][..], Vec::as_slice);
        let is_open = holes.last().is_some_and(|hole| hole.to.is_none());
        let never = matches!(holes, [Interval { from: 0, to: None }]);
        (!never && !self.history.commits.is_empty()).then_some(!is_open)
    }

    /// Returns every name of that kind that was ever declared.
    pub fn names(&self, kind: Kind) -> BTreeSet<&str> {
        let facts = self.history.facts.keys();
        let names = facts.filter_map(|fact| match fact {
            Fact::Declared(at) if at.kind == kind => Some(at.name.as_str()),
            _ => None,
        });
        names.collect()
    }

    /// Returns whether a commit of that second or later marked a setup key's entry as enrolled.
    pub fn was_enrolled_since(&self, key: &str, second: i64) -> bool {
        let enrolled = self.intervals(&Fact::Enrolled(key.to_owned()));
        let begins = |interval: &Interval| self.history.commits[interval.from].begins;
        enrolled.iter().any(|interval| begins(interval) >= second)
    }
}
