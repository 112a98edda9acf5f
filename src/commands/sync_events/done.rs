//! What a run did about each key.

use std::collections::BTreeSet;

use super::{Actual, Enrollment, Kind, Labels, Plan, Status};
use crate::model::{Change, Resource};

/// What was done about one key.
pub(super) struct Done {
    pub(super) enrollment: Enrollment,
    pub(super) peer_label: String,
    /// What a rename makes of the peer's DNS name, where that can be told.
    pub(super) dns_label: Option<String>,
    /// Groups that it joined in this run.
    pub(super) joined: BTreeSet<String>,
    /// Whether it is in every group of its key now.
    pub(super) is_in_all: bool,
    /// It waits until somebody lets it in.
    pub(super) waits_for_approval: bool,
    /// The peers in whose place it came, which have its key's name as long as they live.
    pub(super) replaces: Vec<String>,
    pub(super) error: Option<String>,
}

impl Done {
    /// Returns whether its key is to be marked.
    pub(super) fn is_ready(&self) -> bool {
        self.error.is_none() && self.replaces.is_empty()
    }

    /// Returns whether the run changed something about it.
    pub(super) fn is_news(&self) -> bool {
        let renamed = self.enrollment.renamed_from.is_some() && self.replaces.is_empty();
        renamed || !self.joined.is_empty() || self.error.is_some()
    }
}

/// Returns what was done about each key: a failed change is that of every key that it was for.
pub(super) fn done(
    enrollments: Vec<Enrollment>,
    plan: &Plan,
    (statuses, labels): (&[Status], &Labels),
    dry_run: bool,
    actual: &Actual,
) -> Vec<Done> {
    let done = |enrollment: Enrollment| {
        let peer = &enrollment.peer;
        let joins = |(change, status): &(&Change, &Status)| {
            **status == Status::Success && change.added_members().contains(peer)
        };
        let joins = plan.changes.iter().zip(statuses).filter(joins);
        let joined = joins.map(|(change, _)| change.address.name.clone());
        let joined: BTreeSet<String> = joined.collect();
        let is_in = |group: &String| {
            let was = is_member(&enrollment, group, actual);
            was || (joined.contains(group) && !dry_run)
        };
        let waits = actual.peers.get(peer).map(|peer| peer.approval_required);
        let replaces = enrollment.replaces.iter();
        Done {
            peer_label: actual.peer_label(peer),
            dns_label: labels.get(peer).cloned(),
            is_in_all: enrollment.groups.iter().all(is_in),
            waits_for_approval: waits.unwrap_or_default(),
            replaces: replaces.map(|id| actual.who(id).to_string()).collect(),
            error: error_of(&enrollment, plan, statuses),
            joined,
            enrollment,
        }
    };
    enrollments.into_iter().map(done).collect()
}

fn error_of(enrollment: &Enrollment, plan: &Plan, statuses: &[Status]) -> Option<String> {
    let mut changes = plan.changes.iter().zip(statuses);
    changes.find_map(|(change, status)| {
        let error = match status {
            Status::Failed(error) | Status::Unknown(error) => error,
            Status::Skipped => "not tried",
            Status::Pending | Status::Success => return None,
        };
        let concerns = match change.operation.after() {
            Some(Resource::Group(_)) => change.added_members().contains(&enrollment.peer),
            _ => change.operation.live().map(|live| &live.id) == Some(&enrollment.peer),
        };
        concerns.then(|| format!("{}: {error}", change.address.quoted()))
    })
}

fn is_member(enrollment: &Enrollment, group: &str, actual: &Actual) -> bool {
    let mut live = actual.named(Kind::Group, group).iter();
    live.any(|live| {
        let members = live.resource.members();
        members.is_some_and(|members| members.contains(&enrollment.peer))
    })
}
