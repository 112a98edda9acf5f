//! The plan: what an apply would do, in order, checked to be possible before the first write.
//!
//! `plan` names the stages: resolve, claim, diff, follow up, order and check. Each is a function of plain values, and returns
//! what it found with its notices and its problems. Whatever is impossible is a `Problem`, and all of them are found; whatever
//! a reader should know is a `Notice`.

mod check;
mod claim;
mod diff;
mod digest;
mod follow_up;
mod labels;
mod order;
mod referrers;
mod renames;
mod resolve;
mod rows;
mod standing;
mod twins;

use std::collections::{BTreeMap, BTreeSet};

use crate::actual::Actual;
use crate::address::Address;
use crate::change::Change;
use crate::desired::Desired;
use crate::held::Held;
use crate::id::Id;
use crate::kind::{Kind, Live};
use crate::ledger::{Cause, Proof};
use crate::notice::{Gone, Notice};
use crate::options::Options;
use crate::problem::Problem;

pub(crate) use twins::Twins;

use claim::Claimed;

pub(crate) use labels::name_peers;

pub use digest::Unlike;
pub use follow_up::{DNS_LABEL, answered_labels, peer_renames};
pub use order::{Part, Step};
pub use renames::{Renames, renames};
pub use rows::{Piece, Row};

/// What a plan is made from.
#[derive(Clone, Copy)]
struct Given<'a> {
    /// What the file says.
    desired: &'a Desired,
    /// The live account.
    actual: &'a Actual,
    /// What was asked for beside the file, and its history.
    options: &'a Options,
}

impl Given<'_> {
    /// Returns whether an object was made while its entry was declared.
    fn made(&self, address: &Address, live: &Live) -> bool {
        self.options.ledger.proof(address, live.id.created_at()) == Proof::Ours
    }
}

/// What an apply would do.
#[derive(Debug, Clone, Default)]
pub struct Plan {
    /// The operations, sorted by kind and name; `steps` has them in the order in which they are carried out.
    pub changes: Vec<Change>,
    /// The order: indices into `changes`.
    pub steps: Vec<Step>,
    /// What a reader should know.
    pub notices: Vec<Notice>,
    /// Objects of managed kinds that the file does not declare and that stay.
    pub unmanaged: BTreeSet<Address>,
    /// What was declared once and stays all the same, sorted.
    pub held: Vec<Held>,
    /// By which change of the file something goes.
    pub causes: BTreeMap<Row, Cause>,
    /// Sections that the file no longer has.
    pub gone_sections: Vec<Gone>,
    /// Members of declared groups that the file does not name and that stay, by group.
    pub unmanaged_members: BTreeMap<String, BTreeSet<Id>>,
    /// Setup keys whose peer joins a declared group once it enrolls, by group.
    pub pending_members: BTreeMap<String, BTreeSet<String>>,
    /// Names of the pending keys of ours that nobody used yet and that stay, by id.
    pub waiting_keys: BTreeMap<Id, String>,
    /// Live objects that are declared or go, by kind; of the keys those that are valid.
    pub counted: BTreeMap<Kind, usize>,
    /// The live objects that others of the file stand in.
    pub parents: BTreeMap<Address, Id>,
    /// Peers that enrolled with a pending key of that name.
    pub enrolling: BTreeMap<Id, String>,
    /// What people call the peers of this plan.
    pub peer_labels: BTreeMap<Id, String>,
}

impl Plan {
    /// Returns whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// Returns the number of objects that go, members that are removed, and fields that move machines.
    pub fn deletions(&self) -> usize {
        let rows = self.changes.iter().map(|change| Row::of(change).len());
        rows.sum()
    }

    /// Returns whether it deletes what other objects can refer to.
    pub fn deletes_referred(&self) -> bool {
        let refers = |kind| matches!(kind, Kind::Group | Kind::Peer | Kind::NetworkResource);
        let mut changes = self.changes.iter();
        changes.any(|change| change.deleted().is_some() && refers(change.address.kind))
    }

    /// Returns what it takes away.
    pub fn rows(&self) -> BTreeSet<Row> {
        self.changes.iter().flat_map(Row::of).collect()
    }

    /// Returns how many live objects are held back until somebody agrees.
    pub fn held_for_agreement(&self) -> usize {
        self.held.iter().map(Held::weight).sum()
    }
}

/// Makes the plan that brings `actual` to `desired`. `renames` are those that `actual` was read with.
pub fn plan(
    desired: &Desired,
    actual: &Actual,
    renames: &Renames,
    options: &Options,
) -> Result<Plan, Vec<Problem>> {
    let given = Given {
        desired,
        actual,
        options,
    };
    let resolved = resolve::resolve(given);
    let claimed = claim::claim(given, &resolved);
    let difference = diff::diff(given, &resolved, &claimed, renames);
    let followed = follow_up::follow_up(given, difference.changes, &resolved, &claimed);
    let checked = check::check(given, &followed.changes, &resolved);

    let counted = count(given, &claimed, &followed.changes);
    let parents = claimed.parents();
    let mut problems = [
        claimed.problems,
        difference.problems,
        followed.problems,
        checked.problems,
    ]
    .concat();
    if !problems.is_empty() {
        problems.sort();
        problems.dedup();
        return Err(problems);
    }
    let notices = [
        resolved.notices,
        claimed.notices,
        difference.notices,
        followed.notices,
        checked.notices,
    ];
    let waiting = resolved.decisions.into_iter();
    let waiting = waiting.filter_map(|(name, decision)| Some((decision.waiting?, name)));
    let enrolling = resolved.enrollments.into_iter();
    let (mut unmanaged_members, mut pending_members) = (BTreeMap::new(), BTreeMap::new());
    for (group, members) in resolved.members {
        if !members.unmanaged.is_empty() {
            unmanaged_members.insert(group.clone(), members.unmanaged);
        }
        if !members.pending.is_empty() {
            pending_members.insert(group, members.pending);
        }
    }
    let unmanaged = unmanaged_members.values().flatten();
    let (changes, peer_labels) = labels::label_peers(followed.changes, unmanaged, actual);
    Ok(Plan {
        changes,
        steps: checked.steps,
        notices: notices.concat(),
        unmanaged: claimed.unmanaged,
        held: followed.held,
        causes: followed.causes,
        gone_sections: claimed.gone_sections,
        unmanaged_members,
        pending_members,
        waiting_keys: waiting.collect(),
        counted,
        parents,
        enrolling: enrolling.map(|at| (at.peer, at.key)).collect(),
        peer_labels,
    })
}

/// Returns a plan of these changes and nothing else, in order; without steps where there is none. It has no file, so
/// nothing says who is a member beside those who join.
pub fn ordered(changes: Vec<Change>, actual: &Actual) -> Plan {
    let steps = order::order(&changes, actual).unwrap_or_default();
    let members = changes.iter().filter_map(|change| {
        let members = change.operation.live()?.resource.members()?;
        Some((change.address.name.clone(), members.clone()))
    });
    let unmanaged_members: BTreeMap<String, BTreeSet<Id>> = members.collect();
    let unmanaged = unmanaged_members.values().flatten();
    let (changes, peer_labels) = labels::label_peers(changes, unmanaged, actual);
    Plan {
        changes,
        steps,
        unmanaged_members,
        peer_labels,
        ..Plan::default()
    }
}

/// Objects of each kind that are ours, as far as the plan knows: declared, or deleted by it. Of the keys those that live.
fn count(given: Given, claimed: &Claimed, changes: &[Change]) -> BTreeMap<Kind, usize> {
    let (desired, actual) = (given.desired, given.actual);
    let deleted = changes.iter().filter_map(Change::deleted);
    let going: BTreeSet<&Id> = deleted.map(|live| &live.id).collect();
    let mut counted = BTreeMap::new();
    for (address, namesakes) in &actual.objects {
        let declared = |live: &Live| match address.kind {
            Kind::SetupKey => desired.setup_key(&address.name).is_some(),
            _ => claimed.manages(address, live),
        };
        let counts = |live: &&Live| match address.kind {
            Kind::Group => !actual.protected_groups.contains_key(&live.id),
            Kind::SetupKey => actual.keys.get(&live.id).is_some_and(|key| key.valid),
            _ => true,
        };
        let ours = |live: &&Live| declared(live) || going.contains(&live.id);
        let ours = namesakes.iter().filter(ours).filter(counts);
        *counted.entry(address.kind).or_default() += ours.count();
    }
    counted
}

#[cfg(test)]
mod tests;
