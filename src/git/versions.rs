//! The versions of the file since the one that was applied last: what each change took out of it.
//!
//! They say by which change something leaves, so that people can agree to a change (`agreement`). They prove no ownership:
//! that does the inventory.

use std::sync::Arc;

use crate::git::Sha;
use crate::model::desired::Desired;
use crate::model::origin::Cause;

/// A commit on the first-parent line, and the file that it has.
#[derive(Debug, Clone)]
pub struct Version {
    /// The commit.
    pub sha: Sha,
    /// What its file asks for. A file that no command would accept asks for what the one before it did.
    pub desired: Arc<Desired>,
}

/// The versions of the file since the one that was applied last.
#[derive(Debug, Clone, Default)]
pub struct Versions {
    /// What was applied last; nothing where no apply was through yet.
    start: Option<Arc<Desired>>,
    /// The commits since then that changed the file, the oldest first.
    commits: Vec<Version>,
    /// The file of this run.
    proposed: Option<Arc<Desired>>,
}

impl Versions {
    /// The versions behind `start`.
    pub fn new(start: Option<Arc<Desired>>, commits: Vec<Version>) -> Self {
        Versions {
            start,
            commits,
            proposed: None,
        }
    }

    /// Adds the file of this run, which may be in no commit yet.
    pub fn propose(&mut self, desired: Arc<Desired>) {
        self.proposed = Some(desired);
    }

    /// The commits since the last apply that changed the file, the oldest first.
    pub fn commits(&self) -> &[Version] {
        &self.commits
    }

    /// Returns what the newest commit asks for: of a pull request its base.
    pub fn base(&self) -> Option<&Arc<Desired>> {
        let newest = self.commits.last().map(|version| &version.desired);
        newest.or(self.start.as_ref())
    }

    /// Returns every change with the files before and after it.
    fn steps(&self) -> impl DoubleEndedIterator<Item = (Cause, &Desired, &Desired)> {
        let commits = self.commits.iter().enumerate();
        let commits = commits.map(|(at, version)| (Cause::Commit(at), &*version.desired));
        let proposed = self.proposed.iter().map(|file| (Cause::Proposed, &**file));
        let after: Vec<(Cause, &Desired)> = commits.chain(proposed).collect();
        let mut before: Vec<Option<&Desired>> = vec![self.start.as_deref()];
        before.extend(after.iter().map(|(_, file)| Some(*file)));
        let steps: Vec<_> = before
            .into_iter()
            .zip(after)
            .filter_map(|(before, (cause, after))| Some((cause, before?, after)))
            .collect();
        steps.into_iter()
    }

    /// Returns the last change that made a fact what it is by now; none where no change did since the last apply.
    pub fn changed<T: PartialEq>(&self, fact: impl Fn(&Desired) -> T) -> Option<Cause> {
        let mut steps = self.steps().rev();
        steps.find_map(|(cause, before, after)| (fact(before) != fact(after)).then_some(cause))
    }

    /// Returns the file that the last of the changes found which took something out: the last one where that was so.
    pub fn last_with(&self, has: impl Fn(&Desired) -> bool) -> Option<&Desired> {
        let mut steps = self.steps().rev();
        steps.find_map(|(_, before, _)| has(before).then_some(before))
    }
}
