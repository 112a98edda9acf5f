//! The ledger: what the file's git history says was ever declared, since when and until when.
//!
//! It proves what is ours (docs/ownership.md, "The proof"). The history is that of first parents: what the base branch
//! had. What a feature branch added and took back before it was merged was never declared. Old versions are read
//! leniently; one that cannot be read at all proves nothing and removes nothing; `timeline` says how.
//!
//! The ledger knows names and times. What to do with its answers is up to `plan::claim` and the gates.

mod allow;
mod causes;
mod document;
mod facts;
mod history;
mod listing;
mod merge;
mod proof;
mod scan;
mod stale;
#[cfg(test)]
pub(crate) mod tests;
mod ties;
mod timeline;

use std::collections::HashMap;
use std::fmt;

use crate::code::Code;
use crate::git::{Blob, Git, GitError, RepoPath, Sha};
use crate::kind::{Kind, Tie};
use crate::notice::Notice;

pub use allow::{AllowDeletes, text_allow_deletes};
pub use causes::{Cause, Taken};
pub use listing::{Listing, Listings};
pub use merge::{MergeView, MergedFile, merge_view};
pub use proof::{Proof, Span};
pub use stale::content_differs_but_for_enrolled;
pub use ties::Told;
pub use timeline::Commit;

use facts::Fact;
use history::Content;
use timeline::{Chronicle, Interval, Timeline};

/// Versions of the file that are larger are not read, in bytes; the gates take 10 MiB.
const LARGEST: u64 = 16 << 20;

/// Why there is no history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoHistory {
    /// The file is in no git checkout.
    NotACheckout,
    /// There is no git to ask.
    NoGit,
    /// The checkout has no commit yet.
    NoCommit,
}

/// Why the ledger cannot be read.
#[derive(Debug)]
pub enum LedgerError {
    /// History was cut off when it was fetched.
    Shallow,
    /// Git's own trouble.
    Git(GitError),
}

impl From<GitError> for LedgerError {
    fn from(error: GitError) -> Self {
        LedgerError::Git(error)
    }
}

impl fmt::Display for LedgerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LedgerError::Shallow => f.write_str(
                "the checkout is shallow, so its history does not tell what was ever ours\n\
                 hint: set fetch-depth: 0 in the checkout step; on a laptop, run git fetch --unshallow",
            ),
            LedgerError::Git(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for LedgerError {}

/// What was ever declared.
#[derive(Debug, Default)]
pub struct Ledger {
    /// The commit that it was read up to; none where there is no history.
    tip: Option<Sha>,
    history: Chronicle,
    /// By kind and new name: the old name, and the index of the commit that first said so (one past the last commit
    /// where only the working file does).
    renames: HashMap<(Kind, String), Vec<(String, usize)>>,
    /// By kind and name: whatever a version said of what the entry connects.
    ties: HashMap<(Kind, String), Vec<Tie>>,
    /// The file of this run.
    proposal: Option<causes::Proposal>,
    notices: Vec<Notice>,
}

impl Ledger {
    /// The ledger of a file without history: nothing is provably ours.
    pub fn none(why: NoHistory) -> Self {
        let reason = match why {
            NoHistory::NotACheckout => "the file is in no git checkout",
            NoHistory::NoGit => "git is not on PATH",
            NoHistory::NoCommit => "the checkout has no commit yet",
        };
        let text = format!("{reason}, so nothing is provably ours and nothing is deleted");
        Ledger {
            notices: vec![Notice::general(Code::History, text)],
            ..Ledger::default()
        }
    }

    /// Reads the history of the file up to `tip`.
    ///
    /// `paths` are the file's path and those it had earlier: of these, the first one that a commit has is the file
    /// there. `now` is the present, in seconds since 1970.
    ///
    /// It takes one `git log` and one `git cat-file --batch`, and holds two versions at a time.
    pub fn read(git: &Git, tip: &Sha, paths: &[RepoPath], now: i64) -> Result<Self, LedgerError> {
        if git.is_shallow() {
            return Err(LedgerError::Shallow);
        }
        let versions = history::versions(git, tip, paths)?;
        let blobs = versions
            .iter()
            .filter_map(|version| match &version.content {
                Content::Blob(id) => Some(id),
                Content::Absent | Content::Other(_) => None,
            });
        let mut timeline = Timeline::new(now);
        let mut unread = Unread::default();
        let mut rest = versions.iter();
        git.blobs()?.each(blobs, LARGEST, |_, answer, text| {
            for version in rest.by_ref() {
                let (commit, second) = (version.commit.clone(), version.second);
                match &version.content {
                    Content::Absent => timeline.push_nothing(commit, second),
                    Content::Other(what) => {
                        unread.add(&version.commit, (*what).to_owned());
                        timeline.push_nothing(commit, second);
                    }
                    Content::Blob(_) => {
                        if let Blob::TooLarge(size) = answer {
                            unread.add(&version.commit, format!("{size} bytes"));
                            timeline.push_nothing(commit, second);
                        } else {
                            if let Err(broken) = timeline.push(commit, second, text) {
                                let line =
                                    1 + text[..broken.at].iter().filter(|b| **b == b'\n').count();
                                unread.add(&version.commit, format!("line {line}: {}", broken.why));
                            }
                        }
                        break;
                    }
                }
            }
        })?;
        for version in rest {
            if let Content::Other(what) = version.content {
                unread.add(&version.commit, what.to_owned());
            }
            timeline.push_nothing(version.commit.clone(), version.second);
        }
        let mut ledger = Ledger {
            tip: Some(tip.clone()),
            history: timeline.finish(),
            ..Ledger::default()
        };
        ledger.link();
        if versions.is_empty() {
            let names: Vec<&str> = paths.iter().map(RepoPath::as_str).collect();
            let names = names.join(" or ");
            ledger.notice(format!(
                "no commit up to {} has {names}, so nothing is provably ours",
                tip.short()
            ));
        }
        if let Some(text) = unread.text() {
            ledger.notice(text);
        }
        Ok(ledger)
    }

    /// Returns whether there is a history.
    pub fn is_known(&self) -> bool {
        self.tip.is_some()
    }

    /// The commit that it was read up to.
    pub fn tip(&self) -> Option<&Sha> {
        self.tip.as_ref()
    }

    /// What a reader of the plan should know of the history.
    pub fn notices(&self) -> &[Notice] {
        &self.notices
    }

    /// The commits that changed the file, oldest first.
    pub fn commits(&self) -> &[Commit] {
        &self.history.commits
    }

    /// Takes over a `renamed_from` of the working file or of a merge, which is in no commit yet.
    pub fn follow(&mut self, kind: Kind, new: &str, old: &str) {
        let at = self.history.commits.len();
        let links = self.renames.entry((kind, new.to_owned())).or_default();
        if !links.iter().any(|(known, _)| known == old) {
            links.push((old.to_owned(), at));
        }
    }

    fn link(&mut self) {
        for (fact, intervals) in &self.history.facts {
            match (fact, &intervals[..]) {
                (Fact::Renamed(kind, new, old), [first, ..]) => {
                    let links = self.renames.entry((*kind, new.clone())).or_default();
                    links.push((old.clone(), first.from));
                }
                (Fact::Tied(kind, name, tie), _) => {
                    let ties = self.ties.entry((*kind, name.clone())).or_default();
                    ties.push(tie.clone());
                }
                _ => {}
            }
        }
    }

    fn notice(&mut self, text: String) {
        self.notices.push(Notice::general(Code::History, text));
    }

    fn intervals(&self, fact: &Fact) -> &[Interval] {
        self.history.facts.get(fact).map_or(&[], Vec::as_slice)
    }

    /// The names that an entry had, with the commit index up to which each is meant: its own first.
    fn lineage(&self, kind: Kind, name: &str) -> Vec<(String, usize)> {
        let mut lineage = vec![(name.to_owned(), usize::MAX)];
        let mut next = 0;
        while let Some((name, limit)) = lineage.get(next).cloned() {
            for (old, at) in self.renames.get(&(kind, name)).into_iter().flatten() {
                if *at <= limit && !lineage.iter().any(|(known, _)| known == old) {
                    lineage.push((old.clone(), *at));
                }
            }
            next += 1;
        }
        lineage
    }

    /// The intervals of a fact under each of an entry's names, cut off where the name passed on.
    fn followed(&self, kind: Kind, name: &str, fact: impl Fn(String) -> Fact) -> Vec<Interval> {
        let mut found = Vec::new();
        for (name, limit) in self.lineage(kind, name) {
            for interval in self.intervals(&fact(name)) {
                if interval.from < limit {
                    let to = match interval.to {
                        None if limit >= self.history.commits.len() => None,
                        to => Some(to.map_or(limit, |to| to.min(limit))),
                    };
                    found.push(Interval { to, ..*interval });
                }
            }
        }
        found
    }
}

/// Versions that could not be read: the newest, and how many.
#[derive(Debug, Default)]
struct Unread {
    number: usize,
    newest: Option<(Sha, String)>,
}

impl Unread {
    fn add(&mut self, commit: &Sha, why: String) {
        log::debug!("the file cannot be read in commit {commit}: {why}");
        self.number += 1;
        self.newest = Some((commit.clone(), why));
    }

    fn text(&self) -> Option<String> {
        let (commit, why) = self.newest.as_ref()?;
        Some(format!(
            "{} of the file's versions in git cannot be read (the newest is commit {}: {why}): they prove nothing \
             and remove nothing",
            self.number,
            commit.short()
        ))
    }
}
