//! What a run was asked for beside the file.

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::Timestamp;

use crate::base::Id;
use crate::model::Address;
use crate::plan::Ours;

/// Which live objects that the file does not declare are deleted, and which members it does not name are removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Prune {
    /// What a run of this file created, once its entry is gone
    Owned,
    /// Nothing: it is listed as unmanaged
    None,
    /// Every API-made object of a managed section that no other environment has, and every unmanaged member
    All,
}

/// What was asked for beside the file.
#[derive(Debug, Clone)]
pub struct Options {
    /// What happens to undeclared objects.
    pub prune: Prune,
    /// Entries to replace (`--replace`).
    pub replace: BTreeSet<Address>,
    /// The present, by the clock of NetBird where it told: it creates the keys.
    pub now: Timestamp,
    /// What is ours.
    pub ours: Arc<Ours>,
    /// What is let go, and is deleted since somebody agreed to it.
    pub release: BTreeSet<Id>,
}

impl Options {
    /// What decides which keys were used, where nothing else is asked.
    pub fn of_enrollment(ours: Arc<Ours>, now: Timestamp) -> Self {
        Options {
            // what was replaced is told; nothing is deleted here
            prune: Prune::Owned,
            replace: BTreeSet::new(),
            now,
            ours,
            release: BTreeSet::new(),
        }
    }
}
