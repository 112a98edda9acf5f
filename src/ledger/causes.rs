//! What a change of the file takes away: the cause of deletions, and the digest by which somebody agrees to it.
//!
//! All of it is read from the file's versions, so that a pull request, the branch after its merge and an apply that runs
//! again half way see the same.

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::address::Address;
use crate::desired::Desired;
use crate::kind::{End, Kind, Tie};

use super::Ledger;
use super::facts::Fact;
use super::timeline::Interval;

/// A change of the file. The earlier one is the smaller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Cause {
    /// A commit, by its place in [`Ledger::commits`].
    Commit(usize),
    /// The file of this run: a work tree's, or what a merge would leave. No commit of the history has it yet.
    Proposed,
}

/// What changes of the file take away. A kind that is added later adds what it can lose here, as a field of its entry.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Taken(BTreeSet<(Address, Detail)>);

/// What of an entry goes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Detail {
    /// All of it.
    Whole,
    /// A member.
    Member(String),
    /// What a field stood for.
    Field(&'static str),
    /// What stood at one of its ends.
    End(BTreeSet<String>),
    /// What machines had by another value of a field: its new value.
    Value(String, BTreeSet<String>),
}

impl Taken {
    /// Adds an entry, or a member of one.
    pub fn add(&mut self, address: Address, member: Option<&str>) {
        let detail = member.map_or(Detail::Whole, |member| Detail::Member(member.to_owned()));
        self.0.insert((address, detail));
    }

    /// Adds what machines have by a field, in the place of which they get what its new value gives them.
    pub fn add_value(&mut self, address: Address, field: &str, value: &str) {
        let value = BTreeSet::from([value.to_owned()]);
        let detail = Detail::Value(field.to_owned(), value);
        self.0.insert((address, detail));
    }

    /// Returns whether nothing is taken away.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns 8 hexadecimal digits that differ where what is taken away does. What somebody agrees to differs by whether
    /// what is held back goes with it (`with_held`), so that nobody agrees to that by the line for the rest.
    pub fn digest(&self, with_held: bool) -> String {
        let mut items: Vec<&(Address, Detail)> = self.0.iter().collect();
        // by words, since that is what the digest is made of: the order of kinds may change
        items.sort_by_key(|(address, detail)| {
            (address.kind.word(), &address.within, &address.name, detail)
        });
        let items = items.into_iter().map(|(address, detail)| {
            let names = address.within.iter().chain([&address.name]);
            let path: Vec<&str> = [address.kind.word()]
                .into_iter()
                .chain(names.map(String::as_str))
                .collect();
            let detail = match detail {
                Detail::Whole => Vec::new(),
                Detail::Member(member) => vec![json!("member"), json!(member)],
                Detail::Field(field) => vec![json!("field"), json!(field)],
                Detail::End(names) => vec![json!("end"), json!(names)],
                Detail::Value(field, value) => vec![json!("value"), json!(field), json!(value)],
            };
            path.into_iter()
                .map(Value::from)
                .chain(detail)
                .collect::<Value>()
        });
        let items: Vec<_> = items.collect();
        let text = json!([with_held, items]).to_string();
        let digest = Sha256::digest(text);
        digest[..4].iter().map(|b| format!("{b:02x}")).collect()
    }
}

/// A file that is in no commit yet.
#[derive(Debug)]
pub(super) struct Proposal(Arc<Desired>);

impl Proposal {
    /// Returns whether the file can say that or not: it has the section, in the object's entry too.
    fn speaks_of(&self, fact: &Fact) -> bool {
        let section = fact.section();
        self.0.manages(fact.kind())
            && section.is_none_or(|(section, object)| self.says(&section) || !self.says(&object))
    }

    /// Returns whether the file says that. Of marks and renames nobody asks it.
    fn says(&self, fact: &Fact) -> bool {
        match fact {
            Fact::Declared(address) => self.0.declares(address),
            Fact::Section(kind, parent) => self.0.manages_in(*kind, Some(parent)),
            Fact::Tied(address, tie, at) => {
                let all = self.0.resource(address).iter();
                // of several of one name, each in the entry of what it stands in, nothing tells which is where
                let all = all.enumerate();
                let mut all = all.filter(|(index, _)| index == at || address.within.is_some());
                all.any(|(_, resource)| resource.form().ties.contains(tie))
            }
            Fact::Listed(group, member) => {
                let peers = self.0.group(group).and_then(|group| group.peers.as_ref());
                peers.is_some_and(|peers| peers.contains(member))
            }
            Fact::Reissued(key, instant) => self.reissue(key) == Some(*instant),
            Fact::Lasting(key, seconds) => self.lasts(key) == Some(*seconds),
            Fact::Enrolled(_) | Fact::Renamed(..) => false,
        }
    }

    /// Returns the `reissue_after` of a key.
    fn reissue(&self, key: &str) -> Option<Timestamp> {
        self.0.setup_key(key)?.reissue_after
    }

    /// Returns the `expires_in` of a key, in seconds.
    pub(super) fn lasts(&self, key: &str) -> Option<i64> {
        Some(self.0.setup_key(key)?.expires_in_secs)
    }

    /// Every `reissue_after`, and every field that moves machines.
    fn set(&self) -> impl Iterator<Item = Fact> {
        let keys = self.0.setup_keys();
        let reissued =
            keys.filter_map(|(name, key)| Some(Fact::Reissued(name.clone(), key.reissue_after?)));
        let entries = self.0.resources().filter(|(at, _)| at.kind.is_one());
        let ties = entries.flat_map(|(address, all)| {
            let ties = all.iter().flat_map(|resource| resource.form().ties);
            ties.map(move |tie| (address, tie))
        });
        let moving = ties.filter(|(_, tie)| matches!(tie.end, End::Setting(_)));
        reissued.chain(moving.map(|(address, tie)| Fact::Tied(address.clone(), tie, 0)))
    }
}

impl Ledger {
    /// Takes over the file of this run, which may be in no commit yet: what it takes away has a cause, too. It proves
    /// nothing.
    pub fn propose(&mut self, desired: impl Into<Arc<Desired>>) {
        self.proposal = Some(Proposal(desired.into()));
    }

    /// Returns the change that last took that entry out of the file; `None` where it is declared, or never was.
    pub fn removal(&self, address: &Address) -> Option<Cause> {
        let fact = Fact::Declared(address.clone());
        self.end(&fact, self.intervals(&fact))
    }

    /// Returns the change that last took out of an entry what stood at one of its ends: of several of one name, one.
    pub fn tie_removal(&self, address: &Address, tie: &Tie) -> Option<Cause> {
        let ties = self.ties.get(address).into_iter().flatten();
        let places = ties.filter(|(known, _)| known == tie);
        let ends = places.map(|(_, at)| {
            let fact = Fact::Tied(address.clone(), tie.clone(), *at);
            self.end(&fact, self.intervals(&fact))
        });
        ends.collect::<Option<Vec<Cause>>>()?.into_iter().max()
    }

    /// Returns how many objects an entry has by a change.
    fn number(&self, address: &Address, cause: Cause) -> usize {
        let ties = self.ties.get(address).into_iter().flatten();
        let said = ties.filter(|(tie, at)| {
            let fact = Fact::Tied(address.clone(), tie.clone(), *at);
            self.says(cause, &fact)
        });
        said.map(|(_, at)| at + 1).max().unwrap_or_default()
    }

    /// Whether an entry that is still there by the last of these changes lost one of its objects.
    fn lost_one(&self, address: &Address, first: Cause, last: Cause) -> bool {
        let before = self.place(first).checked_sub(1).map(Cause::Commit);
        let before = before.map_or(0, |before| self.number(address, before));
        address.kind.descriptor().special.is_several && self.number(address, last) < before
    }

    /// Returns the change that last took that member out of the list of the group, which may have had another name.
    pub fn member_removal(&self, group: &str, member: &str) -> Option<Cause> {
        let listed = |group: &Address| Fact::Listed(group.name.clone(), member.to_owned());
        let group = Address::new(Kind::Group, group);
        let intervals = self.followed(&group, listed);
        self.end(&listed(&group), &intervals)
    }

    /// Returns the change by which the last group ceased to list that member; `None` where one does, or none ever did.
    pub fn unlisting(&self, member: &str) -> Option<Cause> {
        let facts = self.history.facts.iter();
        let ends = facts.filter_map(|(fact, intervals)| match fact {
            Fact::Listed(_, of) if of == member => Some(self.end(fact, intervals)),
            _ => None,
        });
        ends.collect::<Option<Vec<Cause>>>()?.into_iter().max()
    }

    /// Returns the instant of the key's `reissue_after`, and the change that set it. A key that was new then was asked
    /// for, not asked for again.
    pub fn reissue(&self, key: &str) -> Option<(Timestamp, Cause)> {
        let committed = self.history.facts.iter().filter_map(|(fact, intervals)| {
            let last = intervals.last().filter(|last| last.to.is_none())?;
            Some((fact, Cause::Commit(last.from)))
        });
        let proposed = self.proposal.as_ref().and_then(|file| file.reissue(key));
        let proposed = proposed.map(|instant| Fact::Reissued(key.to_owned(), instant));
        let proposed = proposed.iter().map(|fact| (fact, Cause::Proposed));
        // of a fact that both have, the commit set it
        let set = committed.chain(proposed).find_map(|(fact, cause)| {
            let Fact::Reissued(of, instant) = fact else {
                return None;
            };
            let is_said = of == key && self.says(Cause::Proposed, fact);
            is_said.then_some((*instant, cause))
        });
        let declared = Fact::Declared(Address::new(Kind::SetupKey, key));
        set.filter(|(_, cause)| self.said_before(*cause, &declared))
    }

    /// Returns the change that gave a field that moves machines the value that the file has.
    pub fn setting(&self, address: &Address, field: &str) -> Option<Cause> {
        let facts = self.history.facts.iter();
        let mut committed = facts.filter_map(|(fact, intervals)| {
            let Fact::Tied(of, tie, _) = fact else {
                return None;
            };
            let is_it = of == address && matches!(tie.end, End::Setting(of) if of == field);
            let last = intervals.last().filter(|last| last.to.is_none())?;
            (is_it && self.says(Cause::Proposed, fact)).then_some(Cause::Commit(last.from))
        });
        let proposed = || self.proposal.as_ref().map(|_| Cause::Proposed);
        committed.next().or_else(proposed)
    }

    /// Returns what the changes from `first` to `last` take away together.
    pub fn taken(&self, first: Cause, last: Cause) -> Taken {
        let mut taken = Taken::default();
        let facts = self.history.facts.keys();
        for fact in facts.filter(|fact| self.said_before(first, fact)) {
            match fact {
                Fact::Declared(address)
                    if address.kind.goes_with_entry()
                        && !self.says(last, fact)
                        && !self.stands_elsewhere(last, address) =>
                {
                    taken.add(address.clone(), None)
                }
                Fact::Tied(address, tie, _)
                    if self.tie_removal(address, tie).is_some()
                        && (tie.end.is_lost() || self.lost_one(address, first, last))
                        && !self.says(last, fact)
                        && self.says(last, &Fact::Declared(address.clone())) =>
                {
                    let detail = Detail::End(tie.names.clone());
                    taken.0.insert((address.clone(), detail));
                }
                Fact::Listed(group, member) => {
                    // a group that went takes its list along; one that was renamed has it under the new name
                    let Some(group) = self.name_after(group, first, last) else {
                        continue;
                    };
                    if !self.says(last, &Fact::Listed(group.to_owned(), member.clone())) {
                        taken.add(Address::new(Kind::Group, group), Some(member));
                    }
                }
                _ => {}
            }
        }
        let proposed = self.proposal.iter().flat_map(Proposal::set);
        let proposed: Vec<Fact> = proposed.collect();
        let set = self.history.facts.keys().chain(&proposed);
        for fact in set.filter(|fact| self.says(last, fact) && !self.said_before(first, fact)) {
            match fact {
                Fact::Reissued(key, _) => {
                    let key = Address::new(Kind::SetupKey, key);
                    // one that was new then was asked for, not asked for again
                    if self.said_before(first, &Fact::Declared(key.clone())) {
                        let field = Detail::Field("reissue_after");
                        taken.0.insert((key, field));
                    }
                }
                Fact::Tied(address, tie, _) => {
                    if let End::Setting(field) = tie.end {
                        let detail = Detail::Value(field.to_owned(), tie.names.clone());
                        taken.0.insert((address.clone(), detail));
                    }
                }
                _ => {}
            }
        }
        taken
    }

    /// Whether what can move stands in another object after that change.
    fn stands_elsewhere(&self, last: Cause, address: &Address) -> bool {
        let known = self.history.facts.keys().filter_map(|fact| match fact {
            Fact::Declared(at) => Some(at),
            _ => None,
        });
        let proposed = self
            .proposal
            .iter()
            .flat_map(|proposal| proposal.0.resources());
        let mut others = known.chain(proposed.map(|(at, _)| at));
        address.kind.descriptor().special.is_anywhere
            && others.any(|at| {
                let is_same = at.kind == address.kind && at.name == address.name;
                is_same && self.says(last, &Fact::Declared(at.clone()))
            })
    }

    /// The name that a group has after these changes, if it is still there.
    fn name_after<'a>(&'a self, group: &'a str, first: Cause, last: Cause) -> Option<&'a str> {
        let declared =
            |name: &str| self.says(last, &Fact::Declared(Address::new(Kind::Group, name)));
        if declared(group) {
            return Some(group);
        }
        let mut links = self.renames.iter();
        links.find_map(|(new, olds)| {
            let is_it = |(old, at): &(String, usize)| {
                old == group && (self.place(first)..=self.place(last)).contains(at)
            };
            (new.kind == Kind::Group && olds.iter().any(is_it) && declared(&new.name))
                .then_some(new.name.as_str())
        })
    }

    /// The index of a change: the proposed one is behind all commits.
    fn place(&self, cause: Cause) -> usize {
        match cause {
            Cause::Commit(index) => index,
            Cause::Proposed => self.history.commits.len(),
        }
    }

    /// Whether the version before a change says that.
    fn said_before(&self, cause: Cause, fact: &Fact) -> bool {
        let before = self.place(cause).checked_sub(1);
        before.is_some_and(|before| self.says(Cause::Commit(before), fact))
    }

    /// Whether the version of a change says that, or does not speak of that section and an earlier one said so.
    fn says(&self, cause: Cause, fact: &Fact) -> bool {
        let at = self.place(cause);
        match (cause, &self.proposal) {
            (Cause::Proposed, Some(proposal)) if proposal.speaks_of(fact) => proposal.says(fact),
            _ => {
                let mut spans = self.intervals(fact).iter();
                spans.any(|span| span.holds(at))
            }
        }
    }

    /// The change that ended what `intervals` say; `fact` is the same in the words of the newest version.
    fn end(&self, fact: &Fact, intervals: &[Interval]) -> Option<Cause> {
        let is_open = intervals.iter().any(|span| span.to.is_none());
        match &self.proposal {
            Some(proposal) if proposal.speaks_of(fact) => {
                if proposal.says(fact) {
                    return None;
                }
                if is_open {
                    return Some(Cause::Proposed);
                }
            }
            _ if is_open => return None,
            _ => {}
        }
        let ends = intervals.iter().filter_map(|span| span.to);
        ends.max().map(Cause::Commit)
    }
}
