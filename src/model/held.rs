//! What is ours and is to go, and stays: something else still needs it.

use std::collections::BTreeSet;

use crate::base::{Id, listed};
use crate::model::{Address, Live, facts};

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
        /// These need it: they are not ours, or they are entries of the file.
        Needed(holders: BTreeSet<String>) => (
            used_by(holders),
            "remove that use in NetBird, or in the file if it is there, and the next apply deletes it; or restore its entry",
        ),
        /// These stand in it and stay.
        Holds(inside: BTreeSet<String>) => (
            format!(
                "not deleted, because it contains {}, which {} not deleted",
                listed(inside),
                if inside.len() == 1 { "is" } else { "are" }
            ),
            "delete the content in NetBird, and the next apply deletes the rest; or restore the entry",
        ),
        /// It is to be replaced, and these stand in it and are not the file's.
        HoldsAnew(inside: BTreeSet<String>) => (
            format!(
                "not changed, because NetBird must delete and create it again for this, and would delete {} in it",
                listed(inside)
            ),
            "declare the content in the file too, or delete it in NetBird",
        ),
        /// This entry is skipped: what it stands in, or what stands in it, loses nothing meanwhile.
        BesideSkipped(entry: String) => (
            format!("not deleted, because {entry} is skipped"),
            "do what the note of the skipped entry says, and the next apply deletes it; or restore its entry",
        ),
        /// A group that lists nothing but these, which are no more. The list of the PUT is the whole list
        /// (docs/netbird-api.md, "A PUT replaces").
        NeededByGone(holders: BTreeSet<String>) => (
            used_by(holders),
            "only the API removes it from the group: PUT /api/groups/ID with {\"name\": \"NAME\"} and nothing else, then the \
             next apply deletes the group; or restore its entry",
        ),
    }

    /// Returns why something stays, as it follows the object's name, and what to do about it.
    fn said(&self) -> (String, &'static str);
}

fn used_by(holders: &BTreeSet<String>) -> String {
    format!(
        "not deleted, because it is still used by {}",
        listed(holders)
    )
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
