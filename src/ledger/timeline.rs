//! From versions to intervals: since when, and until when, the file said what.
//!
//! Two kinds of versions say nothing of a name, and a name that was declared before them still is:
//!
//! - a version *without the section* does not manage it, and no plan deletes anything of it; so with a section in the entry
//!   of an object that is there (the records of a zone);
//! - a *broken* one (half a file, conflict markers, no file, no section at all) was refused by every command.
//!
//! Neither removes a name, and neither proves anything: an object made in that time was not made by us. So an interval
//! runs on through such a *hole*, and what was made in the hole is not counted as ours.

use std::collections::HashMap;

use crate::git::Sha;
use crate::kind::Kind;

use super::document::{Broken, LastRead};
use super::facts::{Fact, FactId, Facts};

/// Commits may be dated that much ahead of our clock before their date is taken for a lie, in seconds.
const AHEAD_SECS: i64 = 3600;

/// A commit that changed the file.
///
/// Clocks differ, so committer dates can go backwards. A commit is on the branch no sooner than those before it, so
/// earlier dates are moved up to theirs. A date in the future is no measure for later commits, and proves nothing before
/// it comes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commit {
    /// The commit.
    pub sha: Sha,
    /// When what it declares begins to count, in seconds since 1970.
    pub begins: i64,
    /// When what it no longer declares ends to count.
    pub ends: i64,
}

/// Indices of commits: from one, to another (which no longer has it) or open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Interval {
    pub(super) from: usize,
    pub(super) to: Option<usize>,
}

impl Interval {
    /// Returns whether the version of that commit is in it.
    pub(super) fn holds(&self, commit: usize) -> bool {
        self.from <= commit && self.to.is_none_or(|to| to > commit)
    }

    /// Returns whether some version is in both.
    pub(super) fn meets(&self, other: &Interval) -> bool {
        self.holds(other.from) || other.holds(self.from)
    }

    /// Returns its parts that lie in one of these; all of it where there are none to lie in.
    pub(super) fn within(&self, others: Option<&[Interval]>) -> Vec<Interval> {
        let Some(others) = others else {
            return vec![*self];
        };
        let part = |other: &Interval| {
            let from = self.from.max(other.from);
            let to = match (self.to, other.to) {
                (Some(one), Some(other)) => Some(one.min(other)),
                (one, other) => one.or(other),
            };
            to.is_none_or(|to| from < to)
                .then_some(Interval { from, to })
        };
        others.iter().filter_map(part).collect()
    }
}

/// Returns whether the last of these has no end.
pub(super) fn is_open(intervals: &[Interval]) -> bool {
    intervals.last().is_some_and(|last| last.to.is_none())
}

/// Intervals while they grow.
#[derive(Debug)]
pub(super) struct Timeline {
    now: i64,
    clock: i64,
    commits: Vec<Commit>,
    document: LastRead,
    facts: Facts,
    /// By fact: how often the version says it.
    counts: Vec<u32>,
    /// By fact.
    intervals: Vec<Vec<Interval>>,
    /// Open intervals of facts whose section went away.
    waiting: Vec<FactId>,
    /// By kind: when no section spoke.
    holes: HashMap<Kind, Vec<Interval>>,
}

/// What the versions of the file say, and when they said it.
#[derive(Debug, Default)]
pub(super) struct Chronicle {
    pub(super) commits: Vec<Commit>,
    pub(super) facts: HashMap<Fact, Vec<Interval>>,
    pub(super) holes: HashMap<Kind, Vec<Interval>>,
}

/// Opens an interval at a commit, or closes the one that is open.
fn turn(intervals: &mut Vec<Interval>, index: usize, is_on: bool) {
    let open = intervals.last_mut().filter(|last| last.to.is_none());
    match (open, is_on) {
        (None, true) => intervals.push(Interval {
            from: index,
            to: None,
        }),
        (Some(open), false) => open.to = Some(index),
        (Some(_), true) | (None, false) => {}
    }
}

impl Timeline {
    /// An empty one; `now` is the present, in seconds since 1970.
    pub(super) fn new(now: i64) -> Self {
        Timeline {
            now,
            clock: i64::MIN,
            commits: Vec::new(),
            document: LastRead::default(),
            facts: Facts::default(),
            counts: Vec::new(),
            intervals: Vec::new(),
            waiting: Vec::new(),
            holes: HashMap::new(),
        }
    }

    /// Adds a commit and the file that it has, if it has one; errors with why that cannot be read.
    pub(super) fn push(
        &mut self,
        commit: Sha,
        second: i64,
        file: Result<Option<&[u8]>, Broken>,
    ) -> Result<(), Broken> {
        let index = self.commit(commit, second);
        let update = |text: &[u8]| self.document.update(text, &mut self.facts);
        let delta = match file.and_then(|text| text.map(update).transpose()) {
            Ok(Some(delta)) => delta,
            nothing => {
                self.hole(index, |_| true);
                return nothing.map(drop);
            }
        };
        self.counts.resize(self.facts.len(), 0);
        self.intervals.resize(self.facts.len(), Vec::new());
        for fact in &delta.gone {
            self.counts[*fact as usize] -= 1;
        }
        for fact in &delta.new {
            self.counts[*fact as usize] += 1;
        }
        let mut touched = std::mem::take(&mut self.waiting);
        touched.extend(delta.gone.into_iter().chain(delta.new));
        touched.sort_unstable();
        touched.dedup();
        for fact in touched {
            self.settle(fact, index);
        }
        let managed = Kind::ALL.map(|kind| self.document.manages(kind).then_some(kind));
        self.hole(index, |kind| !managed.contains(&Some(kind)));
        Ok(())
    }

    /// Opens or closes a fact's interval as the newest version has it.
    fn settle(&mut self, fact: FactId, index: usize) {
        let is_said = |fact: FactId| self.counts[fact as usize] > 0;
        let said = is_said(fact);
        // an object that goes takes along what it said; one that stays without the section says nothing of it
        let section = self.facts.section(fact);
        let speaks = self.document.manages(self.facts.kind(fact))
            && section.is_none_or(|(section, object)| is_said(section) || !is_said(object));
        let intervals = &mut self.intervals[fact as usize];
        if said || speaks {
            turn(intervals, index, said);
        } else if is_open(intervals) {
            self.waiting.push(fact);
        }
    }

    fn hole(&mut self, index: usize, is_silent: impl Fn(Kind) -> bool) {
        for kind in Kind::ALL {
            turn(self.holes.entry(kind).or_default(), index, is_silent(kind));
        }
    }

    fn commit(&mut self, sha: Sha, second: i64) -> usize {
        let begins = second.max(self.clock);
        if second <= self.now.saturating_add(AHEAD_SECS) {
            self.clock = begins;
        }
        let ends = if self.clock == i64::MIN {
            begins
        } else {
            self.clock
        };
        self.commits.push(Commit { sha, begins, ends });
        self.commits.len() - 1
    }

    pub(super) fn finish(self) -> Chronicle {
        let mut intervals = self.intervals;
        intervals.resize(self.facts.len(), Vec::new());
        let facts = self.facts.into_numbers().into_iter();
        let facts = facts.map(|(fact, id)| (fact, std::mem::take(&mut intervals[id as usize])));
        Chronicle {
            commits: self.commits,
            facts: facts
                .filter(|(_, intervals)| !intervals.is_empty())
                .collect(),
            holes: self.holes,
        }
    }
}
