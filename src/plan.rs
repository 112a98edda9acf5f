//! The plan: what an apply would do, in order, checked to be possible before the first write.
//!
//! `plan` names the stages; each is a function of plain values. Whatever is impossible is a `Problem`, and all of them
//! are found; whatever a reader should know is a `Notice`.

mod held;
mod labels;
mod left_behind;
mod offboard;
mod order;
mod possible;
mod renames;
mod resolve;
mod rows;
mod sections;
mod twins;

use std::collections::{BTreeMap, BTreeSet};

use sha2::{Digest, Sha256};

use crate::actual::Actual;
use crate::address::Address;
use crate::change::{Change, Operation};
use crate::code::Code;
use crate::desired::Desired;
use crate::diff::diff;
use crate::enrollment::{self, Enrollment};
use crate::held::Held;
use crate::id::Id;
use crate::keys;
use crate::kind::{self, Kind, Live, Resource};
use crate::ledger::Cause;
use crate::members;
use crate::notice::Notice;
use crate::options::Options;
use crate::problem::{Impossible, Problem};
use crate::reason::Reason;
use crate::scope::{self, Scoped};

pub(crate) use twins::Twins;

pub use order::{Part, Step};
pub use renames::{Renames, renames};
pub use resolve::{DNS_LABEL, answered_labels, peer_renames};
pub use rows::Row;
pub use sections::{Gone, gone};

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
    pub foreign_members: BTreeMap<String, BTreeSet<Id>>,
    /// Setup keys whose peer joins a declared group once it enrolls, by group.
    pub pending_members: BTreeMap<String, BTreeSet<String>>,
    /// Names of the pending keys of ours that nobody used yet and that stay, by id.
    pub waiting_keys: BTreeMap<Id, String>,
    /// Live objects that are declared or go, by kind; of the keys those that are valid.
    pub counted: BTreeMap<Kind, usize>,
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

    /// Returns the number of objects that go and members that are removed.
    pub fn deletions(&self) -> usize {
        self.changes.iter().map(deletions).sum()
    }

    /// Returns what it takes away.
    pub fn rows(&self) -> BTreeSet<Row> {
        self.changes.iter().flat_map(Row::of).collect()
    }

    /// Returns how many live objects are held back until somebody agrees.
    pub fn held_for_agreement(&self) -> usize {
        self.held.iter().map(Held::weight).sum()
    }

    /// Returns a text of 12 hexadecimal digits that differs where the operations do.
    pub fn digest(&self) -> String {
        let mut hash = Sha256::new();
        for change in &self.changes {
            let operation = &change.operation;
            // what the server makes of a name is no part of what somebody agreed to
            let fields = operation.fields().iter();
            let fields = fields
                .filter(|change| change.field != DNS_LABEL)
                .map(|change| (&change.field, &change.after));
            let parts = serde_json::json!([
                change.address.to_string(),
                operation.word(),
                operation.live().map(|live| &live.id),
                operation.after().map(Resource::fields),
                fields.collect::<Vec<_>>(),
            ]);
            hash.update(parts.to_string());
        }
        hash.finalize()
            .iter()
            .take(6)
            .map(|byte| format!("{byte:02x}"))
            .collect()
    }
}

/// Returns how many objects or members a change takes away.
pub fn deletions(change: &Change) -> usize {
    match change.operation {
        Operation::Delete { .. } => 1,
        _ => change.removed_members().len(),
    }
}

/// Makes the plan that brings `actual` to `desired`. `renames` are those that `actual` was read with.
pub fn plan(
    desired: &Desired,
    actual: &Actual,
    renames: &Renames,
    options: &Options,
) -> Result<Plan, Vec<Problem>> {
    let mut plan = Plan::default();
    let mut problems = renames.problems.clone();
    plan.notices.extend(renames.notices.clone());

    let decisions = keys::decisions(desired, actual, options);
    let keys = resolve::keys(&decisions, options, &mut plan, &mut problems);
    let detection = enrollment::detect(desired, actual, &decisions, options);
    plan.notices.extend(detection.notices());
    let replaced = detection.replaced.iter().map(|at| at.peer.clone());
    let known = members::Known {
        desired,
        actual,
        decisions: &decisions,
        replaced: &replaced.collect(),
        options,
    };
    let twins = Twins::find(desired, actual, options);
    plan.notices.extend(resolve::taken_labels(desired, actual));
    let resources = resolve::resources(known, &detection.enrollments, &twins, &mut plan);
    let managed = Kind::ALL
        .into_iter()
        .filter(|kind| desired.manages(*kind))
        .collect();
    let referenced = resolve::references(desired);
    let keys_of_file = desired
        .setup_keys()
        .map(|(name, _)| name.as_str())
        .collect();
    plan.notices
        .extend(issued_twins(desired, actual, &referenced));
    let entries = Scoped {
        desired: &resources,
        managed: &managed,
        keys: &keys_of_file,
        referenced: &referenced,
    };
    let scope = scope::scope(entries, actual, options);
    // what stands for several live objects is not made anew
    let ambiguous = scope.problems.iter().map(|problem| &problem.address);
    let ambiguous: BTreeSet<Address> = ambiguous.cloned().collect();
    problems.extend(scope.problems);
    plan.notices.extend(scope.notices);
    plan.unmanaged = scope.unmanaged;
    plan.held = scope.held;

    plan.changes = diff(&resources, &scope.managed);
    plan.changes
        .retain(|change| !ambiguous.contains(&change.address));
    renames.apply(&mut plan.changes, &resources, &scope.managed);
    replace(
        &mut plan.changes,
        &resources,
        &scope.managed,
        &options.replace,
    );
    plan.changes.extend(keys);
    plan.changes.extend(
        scope
            .pruned
            .into_iter()
            .map(|(address, live, reason)| Change {
                address,
                operation: Operation::Delete { live },
                reason: Some(reason),
            }),
    );
    plan.changes.extend(twins.deletions(actual));
    twins.move_references(&mut plan.changes, actual, |address, live| {
        match address.kind {
            Kind::SetupKey => desired.setup_key(&address.name).is_some(),
            _ => scope
                .managed
                .get(address)
                .is_some_and(|at| at.id == live.id),
        }
    });
    twins.keep_needed(&mut plan, actual);
    offboard::offboard(&mut plan, desired, actual, options, &mut problems);
    plan.notices
        .extend(offboard::names_of_keys(desired, &options.ledger));
    let leaving = offboard::replace(&mut plan, &detection.replaced, actual, options);
    let has_room = |enrollment: &&Enrollment| enrollment.replaces.is_subset(&leaving);
    let renamed = detection.enrollments.iter().filter(has_room).cloned();
    let renamed: Vec<Enrollment> = renamed.collect();
    plan.changes.extend(resolve::peer_renames(&renamed, actual));
    let enrolling = detection.enrollments.into_iter();
    plan.enrolling = enrolling.map(|at| (at.peer, at.key)).collect();
    let left_behind = left_behind::notices(&plan, desired, actual, options);
    plan.notices.extend(left_behind);
    held::keep_groups(&mut plan, &resources, desired, actual);
    possible::let_go(&mut plan, desired, actual);
    plan.changes
        .sort_by(|a, b| (&a.address, a.operation.word()).cmp(&(&b.address, b.operation.word())));

    plan.notices
        .extend(possible::look_alikes(&plan.changes, actual));
    plan.notices.extend(possible::logins(&plan.changes, actual));
    problems.extend(unknown_replacements(&options.replace, desired));
    problems.extend(possible::check(
        &plan.changes,
        &resources,
        desired,
        actual,
        twins.groups(),
    ));
    problems.extend(possible::pending_members(&plan.pending_members, actual));
    match order::order(&plan.changes, actual) {
        Ok(steps) => plan.steps = steps,
        Err(found) => problems.extend(found),
    }
    if !problems.is_empty() {
        problems.sort();
        problems.dedup();
        return Err(problems);
    }
    plan.counted = count(actual, desired, &scope.managed, &plan.changes);
    rows::attribute(&mut plan, actual, options);
    plan.held.sort();
    plan.gone_sections = gone(desired, actual, &options.ledger);
    plan.notices
        .extend(plan.gone_sections.iter().map(Gone::notice));
    plan.peer_labels = labels::label_peers(&mut plan, actual);
    Ok(plan)
}

/// Returns a plan of these changes and nothing else, in order; without steps where there is none. It has no file, so
/// nothing says who is a member beside those who join.
pub fn ordered(changes: Vec<Change>, actual: &Actual) -> Plan {
    let steps = order::order(&changes, actual).unwrap_or_default();
    let members = changes.iter().filter_map(|change| {
        let Resource::Group(group) = &change.operation.live()?.resource else {
            return None;
        };
        Some((change.address.name.clone(), group.peers.clone()?))
    });
    let mut plan = Plan {
        foreign_members: members.collect(),
        changes,
        steps,
        ..Plan::default()
    };
    plan.peer_labels = labels::label_peers(&mut plan, actual);
    plan
}

/// Objects of each kind that are ours, as far as the plan knows: declared, or deleted by it. Of the keys those that live.
fn count(
    actual: &Actual,
    desired: &Desired,
    managed: &BTreeMap<Address, Live>,
    changes: &[Change],
) -> BTreeMap<Kind, usize> {
    let deleted = |change: &Change| match &change.operation {
        Operation::Delete { live } => Some(live.id.clone()),
        _ => None,
    };
    let going: BTreeSet<Id> = changes.iter().filter_map(deleted).collect();
    let mut counted = BTreeMap::new();
    for (address, namesakes) in &actual.objects {
        let declared = |live: &Live| match managed.get(address) {
            Some(meant) => meant.id == live.id,
            None => address.kind == Kind::SetupKey && desired.setup_key(&address.name).is_some(),
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

/// Which group a name of the file means where an identity provider made one of that name too.
fn issued_twins(desired: &Desired, actual: &Actual, referenced: &BTreeSet<String>) -> Vec<Notice> {
    let notice = |(id, issued): (&Id, &String)| {
        let twin = actual
            .objects
            .values()
            .flatten()
            .find(|live| live.id == *id)?;
        let address = Address::new(Kind::Group, &twin.name);
        let is_named = desired.declares(&address) || referenced.contains(&twin.name);
        let text = format!(
            "is the name of two groups in NetBird: the file means the one that the API made, and leaves {id}, issued by \
             {issued}, alone"
        );
        is_named.then(|| Notice::about(Code::Namesake, &address, text))
    };
    actual.twins.iter().filter_map(notice).collect()
}

/// Turns `--replace` of policies into a new one and the deletion of the old.
fn replace(
    changes: &mut Vec<Change>,
    resources: &BTreeMap<Address, Resource>,
    managed: &BTreeMap<Address, Live>,
    asked: &BTreeSet<Address>,
) {
    for address in asked.iter().filter(|address| address.kind == Kind::Policy) {
        let (Some(after), Some(live)) = (resources.get(address), managed.get(address)) else {
            continue;
        };
        changes.retain(|change| change.address != *address);
        let fields = kind::differences(after, &live.resource);
        let operation = Operation::Replace {
            live: live.clone(),
            fields,
            after: after.clone(),
        };
        changes.push(Change {
            address: address.clone(),
            operation,
            reason: Some(Reason::Replace),
        });
    }
}

fn unknown_replacements(asked: &BTreeSet<Address>, desired: &Desired) -> Vec<Problem> {
    let can_be = |kind| matches!(kind, Kind::SetupKey | Kind::Policy);
    let known = |address: &&Address| can_be(address.kind) && desired.declares(address);
    let problem = |address: &Address| {
        let what = match can_be(address.kind) {
            true => Impossible::ReplaceUndeclared,
            false => Impossible::ReplaceOfKind,
        };
        Problem::new(address, what)
    };
    asked
        .iter()
        .filter(|address| !known(address))
        .map(problem)
        .collect()
}

#[cfg(test)]
mod tests;
