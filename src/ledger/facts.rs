//! What a version of the file can say, numbered, so that saying it again costs nothing.

use std::collections::HashMap;

use jiff::Timestamp;

use crate::kind::{Kind, Tie};

/// The number of a fact.
pub(super) type FactId = u32;

/// One thing that a version of the file says.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Fact {
    /// An entry of that name.
    Declared(Kind, String),
    /// A member in a group's `peers`: group, member.
    Listed(String, String),
    /// A setup key that is marked enrolled.
    Enrolled(String),
    /// A setup key's `reissue_after`.
    Reissued(String, Timestamp),
    /// A setup key's `expires_in`, in seconds.
    Lasting(String, i64),
    /// An entry's `renamed_from`: new name, old name.
    Renamed(Kind, String, String),
    /// What an entry of that name connects, at one of its ends.
    Tied(Kind, String, Tie),
}

impl Fact {
    /// The kind whose section says it.
    pub(super) fn kind(&self) -> Kind {
        match self {
            Fact::Declared(kind, _) | Fact::Renamed(kind, _, _) | Fact::Tied(kind, _, _) => *kind,
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
}

impl Facts {
    /// The number of a fact.
    pub(super) fn id(&mut self, fact: Fact) -> FactId {
        let next = self.kinds.len() as FactId;
        let kind = fact.kind();
        let id = *self.numbers.entry(fact).or_insert(next);
        if id == next {
            self.kinds.push(kind);
        }
        id
    }

    pub(super) fn kind(&self, id: FactId) -> Kind {
        self.kinds[id as usize]
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
