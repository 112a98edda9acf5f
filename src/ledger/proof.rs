//! Whether an object is ours: was its name declared when it was made?

use crate::kind::Kind;

use super::Ledger;
use super::facts::Fact;
use super::timeline::Interval;

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
    /// Returns what is proved about an object of that kind and name that was made in the second `created_at`.
    pub fn proof(&self, kind: Kind, name: &str, created_at: Option<i64>) -> Proof {
        let spans = self.spans(kind, name);
        if !self.was_declared(kind, name) {
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

    /// Returns when a name was declared, its earlier names (`renamed_from`) included, without the times in which the file
    /// could not be read or had no such section.
    pub fn spans(&self, kind: Kind, name: &str) -> Vec<Span> {
        let declared = self.followed(kind, name, |name| Fact::Declared(kind, name));
        let holes = self.history.holes.get(&kind).map_or(&[][..], Vec::as_slice);
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

    /// Returns whether the file ever declared that name, or one that it had before.
    pub fn was_declared(&self, kind: Kind, name: &str) -> bool {
        !self
            .followed(kind, name, |name| Fact::Declared(kind, name))
            .is_empty()
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

    /// Returns whether the newest version that has the section declares that name.
    pub fn is_declared(&self, kind: Kind, name: &str) -> bool {
        is_open(self.intervals(&Fact::Declared(kind, name.to_owned())))
    }

    /// Returns whether the newest version has the section of that kind; `None` where no version ever had it.
    pub fn has_section(&self, kind: Kind) -> Option<bool> {
        let holes = self.history.holes.get(&kind).map_or(&[][..], Vec::as_slice);
        let is_open = holes.last().is_some_and(|hole| hole.to.is_none());
        let never = matches!(holes, [Interval { from: 0, to: None }]);
        (!never && !self.history.commits.is_empty()).then_some(!is_open)
    }

    /// Returns whether a commit of that second or later marked a setup key's entry as enrolled.
    pub fn was_enrolled_since(&self, key: &str, second: i64) -> bool {
        let enrolled = self.intervals(&Fact::Enrolled(key.to_owned()));
        let begins = |interval: &Interval| self.history.commits[interval.from].begins;
        enrolled.iter().any(|interval| begins(interval) >= second)
    }
}

pub(super) fn is_open(intervals: &[Interval]) -> bool {
    intervals.last().is_some_and(|last| last.to.is_none())
}
