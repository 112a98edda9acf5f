//! Members of groups: whether a group ever listed a name, and since when it does.

use std::collections::BTreeMap;

use crate::address::Address;
use crate::kind::Kind;

use super::Ledger;
use super::facts::Fact;

/// Since when a group lists a member, as the file's git history says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Listing {
    /// The second of the commit that listed it; it is listed ever since.
    Since(i64),
    /// In no commit yet.
    New,
    /// There is no history.
    Unknown,
}

/// Since when groups list their members.
#[derive(Debug, Clone, Default)]
pub struct Listings {
    /// Whether there is a history.
    pub known: bool,
    /// The commit's second, by group and member, for what the newest commit lists.
    pub since: BTreeMap<(String, String), i64>,
}

impl Listings {
    /// Returns since when `group` lists `member`.
    pub fn of(&self, group: &str, member: &str) -> Listing {
        match self.since.get(&(group.to_owned(), member.to_owned())) {
            Some(second) => Listing::Since(*second),
            None if self.known => Listing::New,
            None => Listing::Unknown,
        }
    }
}

impl Ledger {
    /// Returns whether the group, under this or an earlier name, ever listed that member.
    pub fn was_listed(&self, group: &str, member: &str) -> bool {
        let listed = |group: &Address| Fact::Listed(group.name.clone(), member.to_owned());
        let group = Address::new(Kind::Group, group);
        !self.followed(&group, listed).is_empty()
    }

    /// Returns since when each group lists the members that it lists now. A group that was renamed lists them since they
    /// were listed under its old name.
    pub fn listings(&self) -> Listings {
        let mut since = BTreeMap::new();
        for (fact, intervals) in &self.history.facts {
            let Fact::Listed(group, member) = fact else {
                continue;
            };
            if let Some(open) = intervals.last().filter(|last| last.to.is_none()) {
                let from = self.first_listed(group, member, open.from);
                let second = self.history.commits[from].ends;
                since.insert((group.clone(), member.clone()), second);
            }
        }
        // renames that only the working file has: what the old name lists, the new one does
        let uncommitted = self.history.commits.len();
        for (new, links) in &self.renames {
            for (old, at) in links {
                if new.kind == Kind::Group && *at == uncommitted {
                    let listed: Vec<_> = since
                        .iter()
                        .filter(|((group, _), _)| group == old)
                        .map(|((_, member), second)| ((new.name.clone(), member.clone()), *second))
                        .collect();
                    since.extend(listed);
                }
            }
        }
        Listings {
            known: self.is_known(),
            since,
        }
    }

    /// The index of the commit that listed a member, seen through renames that happened in the very commit in which the
    /// listing under the new name begins.
    fn first_listed(&self, group: &str, member: &str, from: usize) -> usize {
        let (mut group, mut from) = (group, from);
        loop {
            let links = self.renames.get(&Address::new(Kind::Group, group));
            let step = links.into_iter().flatten().find_map(|(old, at)| {
                let listed = self.intervals(&Fact::Listed(old.clone(), member.to_owned()));
                let until = |to: Option<usize>| to.is_none_or(|to| to >= *at);
                let before = listed
                    .iter()
                    .find(|interval| interval.from < *at && until(interval.to))?;
                (*at == from).then_some((old, before.from))
            });
            match step {
                Some((old, earlier)) => (group, from) = (old, earlier),
                None => return from,
            }
        }
    }
}
