//! Where a run writes down what it did.

use anyhow::Result;

use super::KeyCopy;
use crate::inventory::{Delta, Inventory};

/// Where a run writes down what it did.
pub trait Recorder {
    /// Reads the newest inventory; none where there is none (any more).
    fn newest(&self) -> Result<Option<Inventory>>;

    /// Returns whether what the event log says of our own user proves that a run of this inventory did it: no other one of the
    /// account is kept beside it.
    fn log_proves(&self) -> Result<bool>;

    /// Puts changes onto the newest inventory one after the other, with copies of sealed keys in the same commit, and returns what it is then and
    /// the path of each copy (none where no copies are kept). Writes nothing where nothing differs. Errors where a run that
    /// read, saw or wrote an inventory finds none.
    fn record(&self, deltas: &[Delta], copies: &[KeyCopy]) -> Result<Recorded, NotRecorded>;
}

/// What is written down.
pub struct Recorded {
    /// The inventory as it is now.
    pub inventory: Inventory,
    /// Where the copy of each key is; none where no copies are kept.
    pub places: Vec<Option<String>>,
}

/// Why nothing could be written down, and what to do about it.
#[derive(Debug)]
pub struct NotRecorded {
    /// The reason.
    pub why: String,
    /// What to do.
    pub hint: Option<String>,
}

impl std::fmt::Display for NotRecorded {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "cannot write the inventory ({})", self.why)
    }
}
