//! What is ours and is to go, and stays: something else still needs it.

use std::collections::BTreeSet;

use crate::base::id::Id;
use crate::model::address::Address;
use crate::model::kind::Live;
use crate::model::origin::Cause;

/// An object that stays, though its entry is gone.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Held {
    /// Its kind and name.
    pub address: Address,
    /// Its id: names are not unique.
    pub id: Id,
    /// Why it stays.
    pub why: Why,
    /// The change of the file that took its entry out, where one since the last apply did.
    pub cause: Option<Cause>,
}

/// Why something is held back.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Why {
    /// These are not ours and need it.
    Needed(BTreeSet<String>),
    /// These stand in it and stay.
    Holds(BTreeSet<String>),
    /// It is to be made anew, and these stand in it and are not the file's.
    HoldsAnew(BTreeSet<String>),
    /// A group that lists nothing but these, which are no more.
    NeededByGone(BTreeSet<String>),
}

impl Held {
    /// This object stays.
    pub fn new(address: &Address, live: &Live, why: Why) -> Self {
        Held {
            address: address.clone(),
            id: live.id.clone(),
            why,
            cause: None,
        }
    }

    /// Returns whether all that stands in it stays as it is, too.
    pub fn keeps_all(&self) -> bool {
        matches!(self.why, Why::HoldsAnew(_))
    }
}
