//! What follows from the differences: the peer of a key that goes, the name of a machine that came, what others need and is
//! held back. Each part sees what there is so far, and adds to it.

mod enrolled;
mod held;
mod moved;
mod offboard;
mod settings;

use std::collections::{BTreeMap, BTreeSet};

use super::Given;
use super::resolve::Resolved;
use super::rows::{Row, cause};
use crate::base::Id;
use crate::model::{Address, Cause, Change, Held, Notice, Problem};
use crate::plan::Enrollment;

pub use enrolled::{DNS_LABEL, answered_labels, peer_renames};

/// The changes with all that follows from them.
pub(super) struct FollowUp<'a> {
    given: Given<'a>,
    /// What is to be done, by address.
    pub(super) changes: Vec<Change>,
    /// What stays all the same: it is in no change.
    pub(super) held: Vec<Held>,
    /// By which change of the file something goes.
    pub(super) causes: BTreeMap<Row, Cause>,
    /// What a reader should know.
    pub(super) notices: Vec<Notice>,
    /// What is in the way.
    pub(super) problems: Vec<Problem>,
}

impl FollowUp<'_> {
    /// Holds these objects: nothing is done to them, nor to what stands in one that is not replaced.
    fn hold(&mut self, held: Vec<Held>) -> bool {
        let is_held = |change: &Change| {
            let parent = change.address.parent();
            held.iter().any(|of| {
                let inside = of.keeps_all() && parent.as_ref() == Some(&of.address);
                inside || change.is_about(&of.id)
            })
        };
        self.changes.retain(|change| !is_held(change));
        let is_more = !held.is_empty();
        self.held.extend(held);
        is_more
    }
}

/// Adds to the changes what follows from them, and finds the cause of all that goes or is held. What no change of the file
/// caused (flags, leftovers of killed runs) has none.
pub(super) fn follow_up<'a>(
    given: Given<'a>,
    changes: Vec<Change>,
    resolved: &Resolved,
    skipped: &BTreeSet<Address>,
) -> FollowUp<'a> {
    let (actual, ours) = (given.actual, &given.options.ours);
    let mut all = FollowUp {
        given,
        changes,
        held: Vec::new(),
        causes: BTreeMap::new(),
        notices: Vec::new(),
        problems: Vec::new(),
    };
    all.keep_beside(skipped);
    // what is held needs others, and keeps what it stands in
    while all.keep_parents() | all.keep_named(resolved) {}
    all.offboard(&resolved.names);
    all.replace(&resolved.replaced);
    // the name is free once the peer of the older key goes
    let goes = |peer: &Id| all.changes.iter().any(|change| change.ends(peer));
    let has_room = |at: &&Enrollment| at.replaces.iter().all(goes);
    let renamed = resolved.enrollments.iter().filter(has_room).cloned();
    let renamed: Vec<Enrollment> = renamed.collect();
    all.changes.extend(peer_renames(&renamed, actual));
    all.set_machines(resolved);
    all.clear_dead_keys(&resolved.decisions);
    all.changes
        .sort_by(|a, b| (&a.address, a.operation.word()).cmp(&(&b.address, b.operation.word())));
    moved::machines(&mut all.changes, actual);

    for row in all.changes.iter().flat_map(Row::of) {
        // a part knew better
        if let (None, Some(cause)) = (all.causes.get(&row), cause(&row, actual, ours)) {
            all.causes.insert(row, cause);
        }
    }
    all.held.sort();
    all
}
