//! What was ours once and is kept back: for want of proof, or since something that is not ours needs it.

use std::collections::BTreeSet;

use crate::address::Address;
use crate::id::Id;
use crate::kind::Live;
use crate::ledger::Cause;

/// An object that stays, though the file declares it no more.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Held {
    /// Its kind and name.
    pub address: Address,
    /// Its id: names are not unique.
    pub id: Id,
    /// Why it stays.
    pub why: Why,
    /// The change of the file that took its entry out, where history tells.
    pub cause: Option<Cause>,
}

/// Why something is held back.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Why {
    /// It is older than its declaration.
    Older,
    /// It is newer than the removal of its entry.
    Newer,
    /// We made it, and somebody changed it into what the file never said.
    Changed,
    /// Its id does not say when it was made.
    Undated,
    /// These are not ours and need it.
    Needed(BTreeSet<String>),
    /// These stand in it and stay.
    Holds(BTreeSet<String>),
    /// It is to be made anew, and these stand in it and are not the file's.
    HoldsAnew(BTreeSet<String>),
    /// A group that lists nothing but these, which are no more.
    NeededByGone(BTreeSet<String>),
    /// A used key whose peer stays, since these groups of the file list it.
    Listed {
        /// The peer.
        peer: String,
        /// The groups.
        groups: BTreeSet<String>,
    },
    /// A used key whose peer stays, since these need it that are not the file's.
    PeerNeeded {
        /// The peer.
        peer: String,
        /// What needs it.
        holders: BTreeSet<String>,
        /// Whether all of them go once somebody agrees: then key and peer do, too.
        until_agreed: bool,
    },
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

    /// Returns how many live objects go once somebody agrees to it: none where no agreement helps.
    pub fn weight(&self) -> usize {
        match self.why {
            Why::Older | Why::Newer | Why::Changed | Why::Undated => 1,
            // key and peer
            Why::PeerNeeded { until_agreed, .. } => 2 * usize::from(until_agreed),
            Why::Needed(_)
            | Why::Holds(_)
            | Why::HoldsAnew(_)
            | Why::NeededByGone(_)
            | Why::Listed { .. } => 0,
        }
    }

    /// Returns whether all that stands in it stays as it is, too.
    pub fn keeps_all(&self) -> bool {
        matches!(self.why, Why::HoldsAnew(_))
    }

    /// Returns whether it is a key that waits for its peer to go.
    pub fn waits(&self) -> bool {
        matches!(self.why, Why::Listed { .. } | Why::PeerNeeded { .. })
    }
}
