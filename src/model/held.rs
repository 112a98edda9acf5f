//! What is ours and is to go, and stays: something else still needs it.

use std::collections::BTreeSet;

use crate::base::id::Id;
use crate::base::text::listed;
use crate::model::address::Address;
use crate::model::facts::facts;
use crate::model::kind::Live;

/// An object that stays, though its entry is gone.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Held {
    /// Its kind and name.
    pub address: Address,
    /// Its id: names are not unique.
    pub id: Id,
    /// Why it stays.
    pub why: Why,
}

facts! {
    /// Why something is held back.
    #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
    pub enum Why {
        /// These are not ours and need it.
        Needed(holders: BTreeSet<String>) => (
            format!("it is still used by {}", listed(holders)),
            "remove that use in NetBird, and the next apply deletes it; or put its entry back into the file",
        ),
        /// These need it, and some of them are entries of the file.
        NeededHere(holders: BTreeSet<String>) => (
            format!("it is still used by {}", listed(holders)),
            "remove that use, in the file or in NetBird, and the next apply deletes it; or put its entry back into the file",
        ),
        /// These stand in it and stay.
        Holds(inside: BTreeSet<String>) => (
            format!("it contains {}, which stays", listed(inside)),
            "delete that in NetBird, and the next apply deletes it; or declare it again",
        ),
        /// It is to be replaced, and these stand in it and are not the file's.
        HoldsAnew(inside: BTreeSet<String>) => (
            format!(
                "it cannot be changed as the file says, only deleted and created again, and {} in it would be deleted with it",
                listed(inside)
            ),
            "declare that too, or delete it in NetBird; nothing of it is changed until then",
        ),
        /// A group that lists nothing but these, which are no more. The list of the PUT is the whole list
        /// (docs/netbird-api.md, "A PUT replaces").
        NeededByGone(holders: BTreeSet<String>) => (
            format!("it is still used by {}", listed(holders)),
            "only the API takes that out of the group: PUT /api/groups/ID with {\"name\": \"NAME\"} and nothing else, then the \
             next apply deletes it; or declare it again",
        ),
    }

    /// Returns why something stays, as it follows the object's name, and what to do about it.
    fn said(&self) -> (String, &'static str);
}

impl Held {
    /// This object stays.
    pub fn new(address: &Address, live: &Live, why: Why) -> Self {
        Held {
            address: address.clone(),
            id: live.id.clone(),
            why,
        }
    }

    /// Returns whether all that stands in it stays as it is, too.
    pub fn keeps_all(&self) -> bool {
        matches!(self.why, Why::HoldsAnew(_))
    }
}
