//! What a run was asked for beside the file.

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::Timestamp;

use crate::address::Address;
use crate::id::Id;
use crate::ledger::{Ledger, Listings};

/// Which live objects that the file does not declare are deleted, and which members it does not name are removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Prune {
    /// What the file declared once, and what was made while it did
    Owned,
    /// Nothing: it is listed as unmanaged
    None,
    /// Every API-made object of a managed section, and every unmanaged member
    All,
}

/// What was asked for beside the file.
#[derive(Debug, Clone)]
pub struct Options {
    /// What happens to undeclared objects.
    pub prune: Prune,
    /// Entries to make anew (`--replace`).
    pub replace: BTreeSet<Address>,
    /// The present.
    pub now: Timestamp,
    /// What was ever ours.
    pub ledger: Arc<Ledger>,
    /// Since when groups list their members, by the same history.
    pub listings: Listings,
    /// What is held back for want of proof, and goes since somebody agreed to it.
    pub release: BTreeSet<Id>,
    /// Names of the files in the keys directory: traces of runs that made keys here.
    pub keys_files: BTreeSet<String>,
}

impl Options {
    /// What decides which keys were used, where nothing else is asked.
    pub fn of_enrollment(ledger: Arc<Ledger>, now: Timestamp) -> Self {
        Options {
            // what was replaced is told; nothing is deleted here
            prune: Prune::Owned,
            replace: BTreeSet::new(),
            now,
            listings: ledger.listings(),
            ledger,
            keys_files: BTreeSet::new(),
            release: BTreeSet::new(),
        }
    }
}
