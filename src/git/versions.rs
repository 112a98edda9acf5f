//! The versions of the file since the one that was applied last: what each change took out of it.
//!
//! They say by which change something leaves, so that people can agree to a change (`agreement`). They prove no ownership:
//! that does the inventory.

use std::fmt::Debug;
use std::hash::Hash;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use jiff::Timestamp;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::git::Sha;
use crate::model::desired::Desired;
use crate::model::origin::Cause;

/// Reads what the file asked for.
pub trait VersionReader: Debug + Send + Sync {
    /// Returns what the file of a commit asks for; `Some(None)` where no command would accept it, and `None` where the checkout lacks
    /// it.
    fn read(&self, commit: &Sha) -> Option<Option<Arc<Desired>>>;
}

/// The versions of the file since the one that was applied last.
#[derive(Debug, Clone, Default)]
pub struct Versions {
    past: Arc<Past>,
    /// The file of this run.
    proposed: Option<Arc<Desired>>,
}

/// What is committed. It is read when a plan asks for it, the newest version first: most plans take nothing away.
#[derive(Debug, Default)]
struct Past {
    /// The commit that was applied last, and those since then that changed the file, the oldest first.
    commits: Vec<Sha>,
    /// When those since then were made.
    times: Vec<Timestamp>,
    /// What their files ask for, as far as they were read.
    read: Vec<OnceLock<Option<Arc<Desired>>>>,
    reader: Option<Box<dyn VersionReader>>,
    /// The checkout lacks one of them.
    is_cut: AtomicBool,
}

impl Past {
    /// Returns what the file of a commit asks for. A file that no command would accept asks for what the one before it did.
    fn desired(&self, at: usize) -> Option<&Desired> {
        let mut own = (0..=at).rev().map_while(|at| self.own(at));
        own.find_map(Option::as_deref)
    }

    fn own(&self, at: usize) -> Option<&Option<Arc<Desired>>> {
        let own = self.read.get(at)?;
        if own.get().is_none() && !self.is_cut.load(Ordering::Relaxed) {
            let reader = self.reader.as_ref();
            match reader.and_then(|reader| reader.read(&self.commits[at])) {
                Some(file) => drop(own.set(file)),
                None => self.is_cut.store(true, Ordering::Relaxed),
            }
        }
        own.get()
    }
}

impl Versions {
    /// The versions behind a commit that was applied: what changed the file since then, and when, the oldest first.
    pub fn new(applied: Sha, since: Vec<(Sha, Timestamp)>, reader: Box<dyn VersionReader>) -> Self {
        let (since, times): (Vec<Sha>, Vec<Timestamp>) = since.into_iter().unzip();
        let commits: Vec<Sha> = std::iter::once(applied).chain(since).collect();
        let past = Past {
            read: commits.iter().map(|_| OnceLock::new()).collect(),
            commits,
            times,
            reader: Some(reader),
            ..Past::default()
        };
        Versions {
            past: Arc::new(past),
            proposed: None,
        }
    }

    /// The checkout does not have them.
    pub fn cut() -> Self {
        let versions = Versions::default();
        versions.past.is_cut.store(true, Ordering::Relaxed);
        versions
    }

    /// Adds the file of this run, which may be in no commit yet.
    pub fn propose(&mut self, desired: Arc<Desired>) {
        self.proposed = Some(desired);
    }

    /// Whether the checkout lacks a version that was asked for. Then there are none: all that leaves the file is one change.
    pub fn is_cut(&self) -> bool {
        self.past.is_cut.load(Ordering::Relaxed)
    }

    /// The commits since the last apply that changed the file, the oldest first.
    pub fn commits(&self) -> &[Sha] {
        match self.past.commits.get(1..) {
            Some(commits) if !self.is_cut() => commits,
            _ => &[],
        }
    }

    /// Returns what the newest commit asks for: of a pull request its base.
    pub fn base(&self) -> Option<&Desired> {
        self.past.desired(self.commits().len())
    }

    /// Returns every change with the files before and after it, the newest first.
    fn steps(&self) -> impl Iterator<Item = (Cause, &Desired, &Desired)> {
        let proposed = self.proposed.as_deref();
        let proposed = proposed.map(|file| (Cause::Proposed, self.commits().len(), file));
        let commits = (0..self.commits().len()).rev();
        let commits =
            commits.map_while(|at| Some((Cause::Commit(at), at, self.past.desired(at + 1)?)));
        let steps = proposed.into_iter().chain(commits);
        steps.map_while(|(cause, before, after)| Some((cause, self.past.desired(before)?, after)))
    }

    /// Returns the last change that made a fact what it is by now; none where no change did since the last apply.
    pub fn changed<T: PartialEq>(&self, fact: impl Fn(&Desired) -> T) -> Option<Cause> {
        let mut steps = self.steps();
        steps.find_map(|(cause, before, after)| (fact(before) != fact(after)).then_some(cause))
    }

    /// Returns what came into the file since the last apply, each with the time of the commit that put it there; none for what
    /// is in no commit yet.
    pub fn gained<'a, T: Eq + Hash>(
        &'a self,
        of: impl Fn(&'a Desired) -> FxHashSet<T>,
    ) -> FxHashMap<T, Option<Timestamp>> {
        let mut gained = FxHashMap::default();
        for (cause, before, after) in self.steps() {
            let at = match cause {
                Cause::Commit(at) => self.past.times.get(at).copied(),
                Cause::Proposed => None,
            };
            let before = of(before);
            for one in of(after) {
                if !before.contains(&one) {
                    gained.entry(one).or_insert(at);
                }
            }
        }
        gained
    }

    /// Returns what the file was before each of the changes, the newest first.
    pub fn older(&self) -> impl Iterator<Item = &Desired> {
        self.steps().map(|(_, before, _)| before)
    }

    /// Returns the file that the last of the changes found which took something out: the last one where that was so.
    pub fn last_with(&self, has: impl Fn(&Desired) -> bool) -> Option<&Desired> {
        self.older().find(|file| has(file))
    }
}
