//! What follows from the differences: the peer of a key that goes, the name of a machine that came, what others need and is
//! held back. Each part sees what there is so far, and returns what it adds.

mod enrolled;
mod held;
mod moved;
mod offboard;
mod settings;

use std::collections::{BTreeMap, BTreeSet};

use super::Given;
use super::claim::Claimed;
use super::resolve::Resolved;
use super::rows::{Row, cause, removal};
use crate::base::id::Id;
use crate::model::change::Change;
use crate::model::held::Held;
use crate::model::kind::Live;
use crate::model::notice::Notice;
use crate::model::origin::Cause;
use crate::model::problem::Problem;
use crate::plan::enrollment::Enrollment;

pub use enrolled::{DNS_LABEL, answered_labels, peer_renames};

/// The changes with all that follows from them; of a part, what it adds.
#[derive(Debug, Default)]
pub(super) struct FollowUp {
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

impl FollowUp {
    /// Adds a part.
    fn add(&mut self, part: FollowUp) {
        let is_held = |live: &Live| part.held.iter().any(|held| held.id == live.id);
        // what stands in an object that is not replaced is not written either
        let inside = |change: &Change| {
            let parent = change.address.parent();
            let mut held = part.held.iter();
            held.any(|held| Some(&held.address) == parent.as_ref() && held.keeps_all())
        };
        self.changes
            .retain(|change| !change.operation.live().is_some_and(is_held) && !inside(change));
        self.changes.extend(part.changes);
        self.held.extend(part.held);
        self.causes.extend(part.causes);
        self.notices.extend(part.notices);
        self.problems.extend(part.problems);
    }

    /// Returns what is deleted.
    fn going(&self) -> BTreeSet<&Id> {
        let deleted = self.changes.iter().filter_map(Change::deleted);
        deleted.map(|live| &live.id).collect()
    }
}

/// Adds to the changes what follows from them, and finds the cause of all that goes or is held. What no change of the file
/// caused (flags, leftovers of killed runs) has none.
pub(super) fn follow_up(
    given: Given,
    changes: Vec<Change>,
    resolved: &Resolved,
    claimed: &Claimed,
) -> FollowUp {
    let (actual, ours) = (given.actual, &given.options.ours);
    let mut all = FollowUp {
        changes,
        held: claimed.held.clone(),
        ..FollowUp::default()
    };
    all.add(held::keep_parents(given, &all));
    all.add(held::keep_named(given, &all));
    all.add(offboard::offboard(given, &all, &resolved.names));
    all.add(offboard::replace(given, &all, &resolved.replaced));
    // the name is free once the peer of the older key goes
    let going = all.going();
    let has_room = |at: &&Enrollment| at.replaces.iter().all(|peer| going.contains(peer));
    let renamed = resolved.enrollments.iter().filter(has_room).cloned();
    let renamed: Vec<Enrollment> = renamed.collect();
    all.changes.extend(peer_renames(&renamed, actual));
    settings::settings(&mut all, &resolved.machines, actual);
    all.add(held::keep_groups(given, &all, resolved));
    all.changes
        .extend(held::let_go(given, &all, &resolved.decisions));
    all.changes
        .sort_by(|a, b| (&a.address, a.operation.word()).cmp(&(&b.address, b.operation.word())));
    moved::machines(&mut all.changes, actual);

    let rows = all.changes.iter().flat_map(Row::of);
    let causes = rows.filter_map(|row| Some((cause(&row, actual, ours)?, row)));
    let causes = causes.map(|(cause, row)| (row, cause));
    // a part knew better
    all.causes = causes.chain(all.causes).collect();
    for held in &mut all.held {
        held.cause = held
            .cause
            .or_else(|| removal(&held.address.key(), &ours.versions));
    }
    all.held.sort();
    all
}
