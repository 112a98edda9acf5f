//! What a version of the file can say, numbered, so that saying it again costs nothing.

use std::collections::HashMap;

use jiff::Timestamp;

use crate::address::Address;
use crate::kind::{Kind, Tie};

/// The number of a fact.
pub(super) type FactId = u32;

/// One thing that a version of the file says.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Fact {
    /// An entry of that address.
    Declared(Address),
    /// That an object says which of that kind stand in it: kind, and its name.
    Section(Kind, String),
    /// A member in a group's `peers`: group, member.
    Listed(String, String),
    /// A setup key that is marked enrolled.
    Enrolled(String),
    /// A setup key's `reissue_after`.
    Reissued(String, Timestamp),
    /// A setup key's `expires_in`, in seconds.
    Lasting(String, i64),
    /// An entry's `renamed_from`: the entry, its old name.
    Renamed(Address, String),
    /// What an entry connects, at one of its ends: the object at that place of its list, 0 where it is no list.
    Tied(Address, Tie, usize),
}

impl Fact {
    /// The section in another object's entry that says it, and that object; `None` where the file's own section does.
    pub(super) fn section(&self) -> Option<(Fact, Fact)> {
        match self {
            Fact::Declared(at) | Fact::Tied(at, ..) => {
                let parent = at.parent()?;
                let section = Fact::Section(at.kind, parent.name.clone());
                Some((section, Fact::Declared(parent)))
            }
            _ => None,
        }
    }

    /// The kind whose section of the file says it.
    pub(super) fn kind(&self) -> Kind {
        match self {
            Fact::Declared(at) | Fact::Renamed(at, _) | Fact::Tied(at, ..) => at.kind.top(),
            Fact::Section(kind, _) => kind.top(),
            Fact::Listed(_, _) => Kind::Group,
            Fact::Enrolled(_) | Fact::Reissued(..) | Fact::Lasting(..) => Kind::SetupKey,
        }
    }
}

/// All facts that were ever said.
#[derive(Debug, Default)]
pub(super) struct Facts {
    numbers: HashMap<Fact, FactId>,
    kinds: Vec<Kind>,
    /// Of facts that stand in another object's entry.
    sections: HashMap<FactId, (FactId, FactId)>,
}

impl Facts {
    /// The number of a fact.
    pub(super) fn id(&mut self, fact: Fact) -> FactId {
        if let Some(known) = self.numbers.get(&fact) {
            return *known;
        }
        let section = fact.section();
        let section = section.map(|(section, object)| (self.id(section), self.id(object)));
        let id = self.kinds.len() as FactId;
        self.kinds.push(fact.kind());
        self.sections.extend(section.map(|section| (id, section)));
        self.numbers.insert(fact, id);
        id
    }

    pub(super) fn kind(&self, id: FactId) -> Kind {
        self.kinds[id as usize]
    }

    /// The numbers of the section of another object's entry that says a fact, and of that object.
    pub(super) fn section(&self, id: FactId) -> Option<(FactId, FactId)> {
        self.sections.get(&id).copied()
    }

    pub(super) fn len(&self) -> usize {
        self.kinds.len()
    }

    /// Every fact with its number.
    #[cfg(test)]
    pub(super) fn numbers(&self) -> &HashMap<Fact, FactId> {
        &self.numbers
    }

    /// Every fact with its number.
    pub(super) fn into_numbers(self) -> HashMap<Fact, FactId> {
        self.numbers
    }
}
