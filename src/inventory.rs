//! The inventory: ids of the objects that this file's runs made or adopted. It says what is ours (docs/ownership.md).
//!
//! This room is pure: it reads and writes the text (`text`), and puts what a run did onto the newest text (`delta`). Which object
//! belongs to which entry says `plan::bind`; where the text is kept is up to `commands`.

mod delta;
mod index;
mod text;

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::base::{Evidence, Id};
use index::Index;

pub use delta::{Adoption, Delta};
pub use text::Unreadable;

/// Ids by entry. An entry is named by its key, as in `groups/pilots` ([`crate::model::address::Address::key`]).
pub type Ids = BTreeMap<String, Vec<Id>>;

/// How an object came into the inventory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RecordedAs {
    /// A run made it.
    Created,
    /// It existed before, and a run adopted it.
    Adopted,
}

/// Objects or members that are not recorded any more, and the change of the file that took out their entry.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct Left {
    /// The ids.
    pub ids: Vec<Id>,
    /// The change: `#N` or a commit's id; none where no commit has it.
    pub cause: Option<String>,
}

/// A machine that came by a key of one use.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Machine {
    /// The peer's id.
    pub id: Id,
    /// What tells that it came by the key.
    pub by: Evidence,
}

/// The inventory of one environment.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Inventory {
    /// The account's id.
    pub account: String,
    /// The path of the file from the repository's root.
    pub file: String,
    /// The commit that was applied last, all of it.
    pub applied_commit: Option<String>,
    /// What runs made.
    pub created: Ids,
    /// What runs adopted.
    pub adopted: Ids,
    /// What is not managed any more: it existed before the file managed it, or somebody renamed it.
    pub let_go: BTreeMap<String, Left>,
    /// What was let go by changes that cannot be applied again any more.
    pub released: BTreeSet<Id>,
    /// What was deleted by changes that may still be applied again, by row of an agreement.
    pub gone: BTreeMap<String, Left>,
    /// By group and listed name: the member that the name means.
    pub members: BTreeMap<String, BTreeMap<String, Id>>,
    /// By setup key of one use: the machines that came by it, the oldest first.
    pub enrolled: BTreeMap<String, Vec<Machine>>,
    /// Which machine its own name meant when the file first used it; none: nobody.
    pub names: BTreeMap<String, Option<Id>>,
    /// Fields that this version does not know.
    unknown: Map<String, Value>,
    index: Index,
}

impl Inventory {
    /// An inventory of nothing, for that account and file.
    pub fn new(account: impl Into<String>, file: impl Into<String>) -> Self {
        Inventory {
            account: account.into(),
            file: file.into(),
            ..Inventory::default()
        }
    }

    /// Returns every recorded object: the key of its entry, its id and how it came here.
    pub fn recorded(&self) -> impl Iterator<Item = (&str, &Id, RecordedAs)> {
        let created = self.created.iter().map(|of| (of, RecordedAs::Created));
        let adopted = self.adopted.iter().map(|of| (of, RecordedAs::Adopted));
        let all = created.chain(adopted);
        all.flat_map(|((key, ids), origin)| ids.iter().map(move |id| (key.as_str(), id, origin)))
    }

    /// Returns the recorded objects of one entry, the oldest first.
    pub fn of(&self, key: &str) -> Vec<(&Id, RecordedAs)> {
        let created = self.created.get(key).into_iter().flatten();
        let adopted = self.adopted.get(key).into_iter().flatten();
        let created = created.map(|id| (id, RecordedAs::Created));
        let mut all: Vec<(&Id, RecordedAs)> = created
            .chain(adopted.map(|id| (id, RecordedAs::Adopted)))
            .collect();
        all.sort();
        all
    }

    /// Returns how an object is recorded, if it is.
    pub fn origin(&self, id: &Id) -> Option<RecordedAs> {
        self.entry_of(id).map(|(_, origin)| origin)
    }

    /// Returns whether an object was let go.
    pub fn is_let_go(&self, id: &Id) -> bool {
        self.let_go_of(id).is_some() || self.released.contains(id)
    }

    /// Returns the ids of all recorded objects.
    pub fn ids(&self) -> BTreeSet<&Id> {
        self.recorded().map(|(_, id, _)| id).collect()
    }

    /// Returns the listed name by which a peer is recorded as a member of a group.
    pub fn member(&self, group: &str, peer: &Id) -> Option<&str> {
        let mut members = self.members.get(group)?.iter();
        members.find_map(|(name, id)| (id == peer).then_some(name.as_str()))
    }
}
