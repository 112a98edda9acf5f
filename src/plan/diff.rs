//! Desired × claimed → changes: the entries against what stands for them, then what goes. Whose something is was decided
//! before, and what is held back is decided after it.

use std::collections::BTreeSet;

use super::Given;
use super::claim::Claimed;
use super::renames::Renames;
use super::resolve::Resolved;
use crate::actual::Actual;
use crate::address::Address;
use crate::change::{Change, Operation};
use crate::desired::Desired;
use crate::kind::{FieldChange, Kind, Live, differences};
use crate::notice::Notice;
use crate::problem::{Impossible, Problem};
use crate::reason::Reason;

/// What differs.
#[derive(Debug, Default)]
pub(super) struct Difference {
    /// What makes the account as the file says, but for what follows from it.
    pub(super) changes: Vec<Change>,
    /// What a reader should know.
    pub(super) notices: Vec<Notice>,
    /// What cannot be made anew.
    pub(super) problems: Vec<Problem>,
}

/// Compares the entries with what stands for them, and adds what goes. Of equal sides: nothing.
pub(super) fn diff(
    given: Given,
    resolved: &Resolved,
    claimed: &Claimed,
    renames: &Renames,
) -> Difference {
    let (desired, actual, options) = (given.desired, given.actual, given.options);
    let mut anew = Anew {
        asked: &options.replace,
        parents: BTreeSet::new(),
    };
    let mut entries = Vec::new();
    // what stands for several live objects is not made anew
    let meant = |(address, _): &(&Address, _)| !claimed.ambiguous.contains(*address);
    for (address, all) in resolved.resources.iter().filter(meant) {
        let claimed = claimed.managed.get(address).map(Vec::as_slice);
        for (index, after) in all.iter().enumerate() {
            let live = claimed.unwrap_or_default().get(index);
            let live = live.copied().flatten();
            let name = live.and_then(|live| renames.of(address, live));
            let moved = live.and_then(|live| moved(address, live, actual));
            let after = after.clone();
            let Some(live) = live else {
                let operation = Operation::Create { after };
                entries.push(Change::new(address.clone(), operation, None));
                continue;
            };
            let place = name.into_iter().chain(moved);
            let update = Operation::update(live, &after, place);
            let why = anew.why(address, update.as_ref());
            let replacement = why.is_some().then(|| Operation::Replace {
                live: live.clone(),
                fields: differences(&after, &live.resource),
                after,
            });
            let operation = replacement.or(update);
            entries.extend(operation.map(|it| Change::new(address.clone(), it, why)));
        }
    }
    let keys = resolved.decisions.iter().filter_map(|(name, decision)| {
        let (operation, why) = decision.operation.clone()?;
        Some(Change::new(
            Address::new(Kind::SetupKey, name),
            operation,
            why,
        ))
    });
    let pruned = claimed.pruned.iter().cloned();
    let changes = entries.into_iter().chain(keys).chain(pruned).collect();

    let twins = &resolved.twins;
    let mut changes = twins.move_references(changes, actual, |address, live| match address.kind {
        Kind::SetupKey => desired.declares(address),
        _ => claimed.manages(address, live),
    });
    let needed = twins.needed(&changes, actual);
    let goes = |change: &Change| {
        let live = change.operation.live();
        live.is_some_and(|live| !needed.contains_key(&live.id))
    };
    changes.extend(twins.deletions(actual).into_iter().filter(goes));

    let stay = needed.into_values();
    Difference {
        changes,
        notices: renames.notices.iter().cloned().chain(stay).collect(),
        problems: [
            renames.problems.clone(),
            unknown_replacements(&options.replace, desired),
        ]
        .concat(),
    }
}

/// What is made anew.
struct Anew<'a> {
    /// What `--replace` names.
    asked: &'a BTreeSet<Address>,
    /// Those so far that others stand in.
    parents: BTreeSet<Address>,
}

impl Anew<'_> {
    /// Returns why a live object is made anew rather than changed, if it is. What others stand in comes before them.
    fn why(&mut self, address: &Address, operation: Option<&Operation>) -> Option<Reason> {
        if address.kind == Kind::Policy && self.asked.contains(address) {
            return Some(Reason::Replace);
        }
        let fixed = address.kind.descriptor().special.fixed;
        let changes = operation.map(Operation::fields).unwrap_or_default();
        let is_changed = |field: &&&str| changes.iter().any(|change| change.field == **field);
        let fixed = fixed.iter().find(is_changed);
        if let Some(fixed) = fixed {
            self.parents.insert(address.clone());
            return Some(Reason::Fixed(fixed));
        }
        let parent = address
            .parent()
            .filter(|parent| self.parents.contains(parent));
        parent.map(|_| Reason::WithParent)
    }
}

/// The change of what an object stands in, where that is another one than its entry says.
fn moved(address: &Address, live: &Live, actual: &Actual) -> Option<FieldChange> {
    let parent = address.parent()?;
    let before = actual.parent_of(live)?;
    (*before != parent).then(|| FieldChange {
        field: parent.kind.word().to_owned(),
        before: before.name.clone().into(),
        after: parent.name.into(),
    })
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
