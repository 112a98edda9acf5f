//! The life cycle of setup keys: what becomes of a key, as a function of one declared key and its live namesakes.
//!
//! Names of keys are not unique and old keys are never purged, so a name often stands for several live keys: dead ones
//! (used, expired, revoked), those that somebody made by hand, and at most one that is wanted. Whose they are is told in
//! `namesakes`; the plan, the members of groups and the enrollments all go by the one decision made here.

mod choice;
mod namesakes;
mod operation;

use std::collections::BTreeMap;

use crate::actual::Actual;
use crate::address::Address;
use crate::api::objects;
use crate::change::Operation;
use crate::desired::Desired;
use crate::id::Id;
use crate::kind::{DeclaredKey, Kind, Live};
use crate::notice::{Notice, OfKey};
use crate::options::Options;
use crate::reason::Reason;

use choice::choose;
use operation::{compare, make, must_be_replaced};

pub use namesakes::{Namesake, Whose, consumed, namesakes};
pub use operation::desired;

/// How long after its creation a key can have been changed last and count as untouched, in seconds: creation takes
/// its two times one after the other, and the id holds whole seconds.
const UNTOUCHED_SECS: i64 = 2;

/// The age at which a change moves `updated_at` out of that, in seconds.
pub const MARKABLE_SECS: i64 = UNTOUCHED_SECS + 1;

/// What is to be done about one declared key.
#[derive(Debug, Default)]
pub struct Decision {
    /// The operation and why it is.
    pub operation: Option<(Operation, Option<Reason>)>,
    /// Older namesakes that go after it, and why.
    pub deletions: Vec<(Live, Reason)>,
    /// What a reader should know.
    pub notices: Vec<Notice>,
    /// Namesakes among which nobody can choose.
    pub ambiguous: Vec<Live>,
    /// Ids of the entry's own one-off keys that a machine used, the oldest first.
    pub spent: Vec<Id>,
    /// Id of the used key by whose peer the name is borne: of a pending entry that of one that was used since it was asked
    /// for.
    pub used: Option<Id>,
    /// Id of the valid, unused key of ours that stands for the entry and stays.
    pub waiting: Option<Id>,
    /// What lives is older than the entry, which stands for it all the same.
    pub takes_over: bool,
}

/// Returns whether nobody holds the key's secret: unused, without groups, and never changed since its creation. Keys are
/// made without groups and are changed only once sealed: they get their groups then, or a write that changes nothing.
/// One that was emptied by hand was changed later.
pub fn never_sealed(key: &objects::SetupKey) -> bool {
    let untouched = || {
        let created = key.id.created_at()?;
        Some((0..=UNTOUCHED_SECS).contains(&(key.updated_at?.as_second() - created)))
    };
    key.used_times == 0 && key.auto_groups.is_empty() && untouched() == Some(true)
}

/// What is decided about each declared key, by name. The plan's operations, members and enrollments all read it, so that
/// no two of them can take another key for the entry's.
pub type Decisions = BTreeMap<String, Decision>;

/// Decides about every declared key.
pub fn decisions(desired: &Desired, actual: &Actual, options: &Options) -> Decisions {
    let keys = desired.setup_keys();
    keys.map(|(name, declared)| (name.clone(), decide(name, declared, actual, options)))
        .collect()
}

/// Decides about the declared key `name` of an account.
fn decide(name: &str, declared: &DeclaredKey, actual: &Actual, options: &Options) -> Decision {
    let address = Address::new(Kind::SetupKey, name);
    let namesakes = namesakes(name, actual, options);
    let mut decision = choose(&address, declared, &namesakes, options);
    let touched = decision
        .operation
        .iter()
        .filter_map(|(operation, _)| operation.live())
        .chain(decision.deletions.iter().map(|(live, _)| live));
    let mut touched = touched.map(|live| &live.id).chain(&decision.used);
    let is_named = |id: &Id| {
        let mut namesakes = namesakes.iter();
        namesakes.any(|of| of.whose == Whose::Named && of.key.id == *id)
    };
    if !declared.enrolled && touched.any(is_named) {
        let notice = Notice::about(&address, OfKey::ByName);
        decision.notices.push(notice);
    }
    decision
}

#[cfg(test)]
mod tests;
