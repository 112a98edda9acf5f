//! `Allow-Deletes: N`, the line that agrees to an exact number of deletions, and where it counts.

use std::collections::BTreeSet;

use crate::git::{Git, GitError, Range, Sha};
use crate::state::{Address, Kind};

use super::Ledger;
use super::facts::Fact;
use super::timeline::Interval;

/// The line's key.
const KEY: &str = "allow-deletes:";

/// Such a line in a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AllowDeletes {
    /// The number of deletions that it agrees to.
    pub number: usize,
    /// The commit.
    pub commit: Sha,
}

/// The commit that took a name out of the file. The earlier one is the smaller.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Removal {
    /// Its place among the commits that changed the file.
    index: usize,
    /// The commit.
    pub commit: Sha,
    /// When, in seconds since 1970.
    pub second: i64,
}

impl Ledger {
    /// Returns the commit that last removed that name; `None` where it is declared, or never was.
    pub fn removal(&self, kind: Kind, name: &str) -> Option<Removal> {
        self.closed(self.intervals(&Fact::Declared(kind, name.to_owned())))
    }

    /// Returns the commit that last took that member out of the group's list.
    pub fn member_removal(&self, group: &str, member: &str) -> Option<Removal> {
        self.closed(&self.followed(Kind::Group, group, |group| {
            Fact::Listed(group, member.to_owned())
        }))
    }

    fn closed(&self, intervals: &[Interval]) -> Option<Removal> {
        let ends = intervals.iter().map(|interval| interval.to);
        let index = ends.collect::<Option<Vec<usize>>>()?.into_iter().max()?;
        let commit = &self.history.commits[index];
        Some(Removal {
            index,
            commit: commit.sha.clone(),
            second: commit.ends,
        })
    }

    /// Returns what was taken out of the file by that removal's commit or later, and is not back: entries, and groups
    /// that stay and lost a member that stays. What a `renamed_from` passed on was not taken out.
    pub fn taken_out_since(&self, first: &Removal) -> BTreeSet<Address> {
        let since = |removal: &Removal| removal.index >= first.index;
        let taken = self.history.facts.keys().filter_map(|fact| match fact {
            Fact::Declared(kind, name) => {
                let removal = self.removal(*kind, name).filter(since)?;
                let passed_on = self.successor(*kind, name, removal.index).is_some();
                (!passed_on).then(|| Address::new(*kind, name))
            }
            Fact::Listed(group, member) => {
                let mut group = group;
                while let Some(removal) = self.removal(Kind::Group, group) {
                    // a group that went for good is taken out itself, and so is a key
                    group = self.successor(Kind::Group, group, removal.index)?;
                }
                if self.removal(Kind::SetupKey, member).is_some() {
                    return None;
                }
                self.member_removal(group, member).filter(since)?;
                Some(Address::new(Kind::Group, group))
            }
            Fact::Enrolled(_) | Fact::Renamed(..) | Fact::Tied(..) => None,
        });
        taken.collect()
    }

    /// The name that an entry got by the commit that ended this one.
    fn successor(&self, kind: Kind, name: &str, index: usize) -> Option<&String> {
        let mut links = self.renames.iter().filter(|((of, _), _)| *of == kind);
        links.find_map(|((_, new), olds)| {
            let is_it = |(old, at): &(String, usize)| old == name && *at == index && new != name;
            olds.iter().any(is_it).then_some(new)
        })
    }

    /// Returns the lines in the messages of the commits from the earliest of `removals` to the tip, newest first.
    ///
    /// A removal that is in no commit yet has no line.
    pub fn allow_deletes(
        &self,
        git: &Git,
        removals: &[Removal],
    ) -> Result<Vec<AllowDeletes>, GitError> {
        let (Some(first), Some(tip)) = (removals.iter().min(), &self.tip) else {
            return Ok(Vec::new());
        };
        let first = &first.commit;
        in_messages(git, Range::FirstParents { first, tip })
    }
}

/// The lines in the messages of a range of commits.
pub(super) fn in_messages(git: &Git, range: Range<'_>) -> Result<Vec<AllowDeletes>, GitError> {
    let mut found = Vec::new();
    for message in git.messages(range)? {
        let numbers = text_allow_deletes(&message.text).into_iter();
        found.extend(numbers.map(|number| AllowDeletes {
            number,
            commit: message.commit.clone(),
        }));
    }
    Ok(found)
}

/// Returns the numbers of the lines `Allow-Deletes: N` in a text, in order.
///
/// Only a line of its own counts, from its first character: not one that is quoted, indented or part of a list. Case of
/// the key does not matter. The number has no sign and no leading zero, and only blanks may follow it.
pub fn text_allow_deletes(text: &str) -> Vec<usize> {
    let lines = text.split(['\n', '\r']);
    lines.filter_map(line_allow_deletes).collect()
}

fn line_allow_deletes(line: &str) -> Option<usize> {
    let key = line.get(..KEY.len())?;
    let number = line.get(KEY.len()..)?.trim_matches([' ', '\t']);
    let exact =
        number.bytes().all(|b| b.is_ascii_digit()) && (number == "0" || !number.starts_with('0'));
    if key.eq_ignore_ascii_case(KEY) && exact {
        number.parse().ok()
    } else {
        None
    }
}
