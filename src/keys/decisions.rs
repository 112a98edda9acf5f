//! One decision about each declared key. The plan's operations, members and enrollments all read it, so that no two of
//! them can take another key for the entry's.

use std::collections::BTreeMap;

use super::{Decision, decide};
use crate::actual::Actual;
use crate::desired::Desired;
use crate::options::Options;

/// What is decided about each declared key, by name.
pub type Decisions = BTreeMap<String, Decision>;

/// Decides about every declared key.
pub fn decisions(desired: &Desired, actual: &Actual, options: &Options) -> Decisions {
    let keys = desired.setup_keys();
    keys.map(|(name, declared)| (name.clone(), decide(name, declared, actual, options)))
        .collect()
}
