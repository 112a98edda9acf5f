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
mod said;
mod stale;
#[cfg(test)]
pub(crate) mod tests;
mod ties;
mod timeline;

use std::collections::{BTreeSet, HashMap};
use std::fmt;

use crate::address::Address;
use crate::git::{Blob, Git, GitError, RepoPath, Sha};
use crate::kind::{Kind, Tie};
use crate::notice::{Notice, OfHistory};

pub use crate::notice::NoHistory;
pub use allow::{AllowDeletes, text_allow_deletes};
pub use causes::{Cause, Taken};
pub use listing::{Listing, Listings};
pub use merge::{MergeView, MergedFile, merge_view};
pub use proof::{Proof, Span};
pub use stale::content_differs_but_for_enrolled;
pub use ties::Told;
pub use timeline::Commit;

use document::Broken;
use facts::Fact;
use history::{Content, Version};
use timeline::{Chronicle, Interval, Timeline};

/// Versions of the file that are larger are not read, in bytes; the gates take 10 MiB.
const LARGEST: u64 = 16 << 20;

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
    /// By new address: the old name, and the index of the commit that first said so (one past the last commit
    /// where only the working file does).
    renames: HashMap<Address, Vec<(String, usize)>>,
    /// By kind and name of what can move: what it ever stood in.
    places: HashMap<(Kind, String), BTreeSet<String>>,
    /// By address: whatever a version said of what the entry connects, and at which place of its list.
    ties: HashMap<Address, Vec<(Tie, usize)>>,
    /// The file of this run.
    proposal: Option<causes::Proposal>,
    notices: Vec<Notice>,
}

impl Ledger {
    /// The ledger of a file without history: nothing is provably ours.
    pub fn none(why: NoHistory) -> Self {
        Ledger {
            notices: vec![Notice::general(OfHistory::None(why))],
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
        let mut push = |version: &Version, blob: Option<(Blob, &[u8])>| {
            let file = match (&version.content, blob) {
                (Content::Absent, _) => Ok(None),
                (Content::Other(what), _) => Err(Broken((*what).to_owned())),
                (_, Some((Blob::TooLarge(size), _))) => Err(Broken(format!("{size} bytes"))),
                (_, blob) => Ok(blob.map(|(_, text)| text)),
            };
            let commit = version.commit.clone();
            if let Err(Broken(why)) = timeline.push(commit, version.second, file) {
                unread.add(&version.commit, why);
            }
        };
        git.blobs()?.each(blobs, LARGEST, |_, answer, text| {
            for version in rest.by_ref() {
                push(version, Some((answer, text)));
                if matches!(version.content, Content::Blob(_)) {
                    break;
                }
            }
        })?;
        rest.for_each(|version| push(version, None));
        let mut ledger = Ledger {
            tip: Some(tip.clone()),
            history: timeline.finish(),
            ..Ledger::default()
        };
        ledger.link();
        if versions.is_empty() {
            let paths = paths.iter().map(|path| path.as_str().to_owned());
            ledger.notices.push(Notice::general(OfHistory::NoVersion {
                tip: tip.short().to_owned(),
                paths: paths.collect(),
            }));
        }
        ledger.notices.extend(unread.told().map(Notice::general));
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
    pub fn follow(&mut self, new: &Address, old: &str) {
        let at = self.history.commits.len();
        let links = self.renames.entry(new.clone()).or_default();
        if !links.iter().any(|(known, _)| known == old) {
            links.push((old.to_owned(), at));
        }
    }

    fn link(&mut self) {
        for (fact, intervals) in &self.history.facts {
            match (fact, &intervals[..]) {
                (Fact::Renamed(new, old), [first, ..]) => {
                    let links = self.renames.entry(new.clone()).or_default();
                    links.push((old.clone(), first.from));
                }
                (Fact::Declared(address), _) if address.kind.descriptor().special.is_anywhere => {
                    let places = self.places.entry((address.kind, address.name.clone()));
                    places.or_default().extend(address.within.clone());
                }
                (Fact::Tied(address, tie, at), _) => {
                    let ties = self.ties.entry(address.clone()).or_default();
                    ties.push((tie.clone(), *at));
                }
                _ => {}
            }
        }
    }

    fn intervals(&self, fact: &Fact) -> &[Interval] {
        self.history.facts.get(fact).map_or(&[], Vec::as_slice)
    }

    /// The addresses that an entry had, with the commit index up to which each is meant: its own first. What stands in
    /// another object had those that the names of that one make.
    fn lineage(&self, address: &Address) -> Vec<(Address, usize)> {
        let descriptor = address.kind.descriptor();
        if descriptor.special.is_anywhere {
            return self.lineage_anywhere(address);
        }
        if let Some(parent) = address.parent() {
            let within = |(parent, limit): (Address, usize)| {
                let within = Some(parent.name);
                let address = address.clone();
                (Address { within, ..address }, limit)
            };
            return self.lineage(&parent).into_iter().map(within).collect();
        }
        let mut lineage = vec![(address.clone(), usize::MAX)];
        if self.renames.is_empty() {
            return lineage;
        }
        let mut next = 0;
        while let Some((address, limit)) = lineage.get(next).cloned() {
            for (old, at) in self.renames.get(&address).into_iter().flatten() {
                let old = Address::new(address.kind, old);
                if *at <= limit && !lineage.iter().any(|(known, _)| *known == old) {
                    lineage.push((old, *at));
                }
            }
            next += 1;
        }
        lineage
    }

    /// The same of what can move: it is known by its name, whatever it stood in.
    fn lineage_anywhere(&self, address: &Address) -> Vec<(Address, usize)> {
        let mut lineage: Vec<(Address, usize)> = Vec::new();
        let mut names = vec![(address.name.clone(), usize::MAX)];
        let mut next = 0;
        while let Some((name, limit)) = names.get(next).cloned() {
            let places = self.places.get(&(address.kind, name.clone()));
            let places = places.into_iter().flatten().map(|within| Address {
                kind: address.kind,
                within: Some(within.clone()),
                name: name.clone(),
            });
            for place in places {
                for (old, at) in self.renames.get(&place).into_iter().flatten() {
                    if *at <= limit && !names.iter().any(|(known, _)| known == old) {
                        names.push((old.clone(), *at));
                    }
                }
                lineage.push((place, limit));
            }
            next += 1;
        }
        if !lineage.iter().any(|(known, _)| known == address) {
            // what only the working file says of it
            for (old, at) in self.renames.get(address).into_iter().flatten() {
                let old = Address {
                    name: old.clone(),
                    ..address.clone()
                };
                let before = self.lineage_anywhere(&old);
                lineage.extend(
                    before
                        .into_iter()
                        .map(|(at_then, limit)| (at_then, limit.min(*at))),
                );
            }
            lineage.insert(0, (address.clone(), usize::MAX));
        }
        lineage
    }

    /// The intervals of a fact under each of an entry's addresses, cut off where the name passed on. What an object's entry
    /// says of what stands in it counts while it has that section.
    fn followed(&self, address: &Address, fact: impl Fn(&Address) -> Fact) -> Vec<Interval> {
        let mut found = Vec::new();
        for (address, limit) in self.lineage(address) {
            let fact = fact(&address);
            let section = fact.section().map(|(section, _)| self.intervals(&section));
            for interval in self.intervals(&fact) {
                for interval in interval.within(section) {
                    if interval.from < limit {
                        let to = match interval.to {
                            None if limit >= self.history.commits.len() => None,
                            to => Some(to.map_or(limit, |to| to.min(limit))),
                        };
                        found.push(Interval { to, ..interval });
                    }
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

    fn told(self) -> Option<OfHistory> {
        let (newest, why) = self.newest?;
        Some(OfHistory::Unread {
            number: self.number,
            newest: newest.short().to_owned(),
            why,
        })
    }
}
