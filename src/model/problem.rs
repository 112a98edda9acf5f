//! What makes a plan impossible, as data; its sentences are made in `render`.

use crate::base::id::Id;
use crate::model::address::Address;
use crate::model::hint::Hint;
use crate::model::kind::{Refers, Unresolved};
use crate::model::protection::Protection;

/// Why no plan can be made.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Problem {
    /// The object that it is about.
    pub address: Address,
    /// What is wrong with it.
    pub what: Impossible,
}

/// What cannot be.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Impossible {
    /// `--replace` names what the file does not have.
    ReplaceUndeclared,
    /// `--replace` names what is of a kind that is never made anew.
    ReplaceOfKind,
    /// `--adopt` names what the file does not have.
    AdoptUndeclared,
    /// `--adopt` names an object that there is not.
    AdoptAbsent(Id),
    /// `--adopt` names an object for an entry that has as many recorded ones as it has places.
    AdoptOneMore(Id),
    /// The key is older than the one that the entry's `reissue_after` asks for.
    AdoptSuperseded(Id),
    /// `--adopt` names the object of another entry, in words.
    AdoptOfEntry(Id, String),
    /// `--adopt` names an object that the file of another environment manages.
    AdoptStrange(Id, String),
    /// Objects exchange what only one of them can have.
    Exchange,
    /// Another route for the same network and routers lives.
    RouteTwin(String, Id),
    /// This lives, and NetBird does not take both.
    InTheWay(String),
    /// One of its name stands in another object, in words, and does not go.
    Elsewhere(String, Id),
    /// It is made anew, and these stand in the old one and are not the file's.
    TakesAlong(Vec<String>),
    /// The plan makes another route for the same network and routers.
    NewRouteTwin(String),
    /// It refers to what the plan deletes.
    Goes(Refers, String),
    /// It refers to what there is not.
    Absent {
        /// What it would be.
        what: Refers,
        /// The name.
        name: String,
        /// What may be meant.
        hint: Option<Hint>,
    },
    /// It refers to a name that several bear; which those are.
    SeveralOf(Refers, String, Unresolved),
    /// A policy has that many rules.
    Rules(String),
    /// The users of this source group are not named, where those of others are.
    UnnamedUsers(String),
    /// A group that is never changed would be.
    Protected(Protection),
    /// A member is to join a group that is never changed.
    ProtectedJoin {
        /// The member.
        member: String,
        /// Why the group is never changed.
        why: Protection,
    },
    /// A group is to be deleted that these use.
    GroupUsed(Vec<String>),
    /// It means the same machine as another entry.
    SamePeer(String),
    /// A machine of a setup key is to expire, or not to, by this field.
    ExpiresOfKey(String),
    /// This NetBird has no such setting.
    NoSetting(String),
    /// Machines may expose services, and no group says which.
    ExposesNobody,
    /// NetBird refuses any change of the settings while this one names a group that is gone.
    DeadGroup {
        /// The setting.
        field: String,
        /// The group, in words.
        group: String,
    },
    /// It is the domain of that zone, and NetBird does not take both.
    DomainOfZone(String),
}

impl Problem {
    /// A problem of one object.
    pub fn new(address: &Address, what: Impossible) -> Self {
        let address = address.clone();
        Problem { address, what }
    }

    /// What it refers to by the name that is the trouble, where it is one.
    pub fn reference(&self) -> Option<(Refers, &str)> {
        match &self.what {
            Impossible::Goes(what, name)
            | Impossible::Absent { what, name, .. }
            | Impossible::SeveralOf(what, name, _) => Some((*what, name)),
            _ => None,
        }
    }

    /// The member whose name is the trouble, where it is one.
    pub fn member(&self) -> Option<&str> {
        match &self.what {
            Impossible::ProtectedJoin { member, .. } => Some(member),
            _ => None,
        }
    }

    /// Whether something is in the way of a deletion; there may be more of it in lists that no other plan needs.
    pub fn is_of_deletion(&self) -> bool {
        matches!(self.what, Impossible::GroupUsed(_))
    }
}
