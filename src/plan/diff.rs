//! Desired × claimed → changes: the entries against what stands for them, then what goes. Whose something is was decided
//! before, and what is held back is decided after it.

use std::collections::BTreeSet;

use super::claim::Claimed;
use super::renames::Renames;
use super::resolve::Resolved;
use crate::actual::Actual;
use crate::address::Address;
use crate::change::{Change, Operation};
use crate::desired::Desired;
use crate::kind::{FieldChange, Kind, Live, Resource, differences};
use crate::notice::Notice;
use crate::options::Options;
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
    desired: &Desired,
    resolved: &Resolved,
    claimed: &Claimed,
    renames: &Renames,
    actual: &Actual,
    options: &Options,
) -> Difference {
    // what stands for several live objects is not made anew
    let meant = |(address, _): &(&Address, _)| !claimed.ambiguous.contains(*address);
    let entries = resolved.resources.iter().filter(meant);
    let entries = entries.filter_map(|(address, after)| {
        let live = claimed.managed.get(address).copied();
        let anew = address.kind == Kind::Policy && options.replace.contains(address);
        let (operation, why) = match live.filter(|_| anew).cloned() {
            Some(live) => {
                let (fields, after) = (differences(after, &live.resource), after.clone());
                let operation = Operation::Replace {
                    live,
                    fields,
                    after,
                };
                (operation, Some(Reason::Replace))
            }
            None => {
                let name = live.and_then(|live| renames.of(address, live));
                (entry(after, live, name)?, None)
            }
        };
        Some(Change::new(address.clone(), operation, why))
    });
    let keys = resolved.decisions.iter().filter_map(|(name, decision)| {
        let (operation, why) = decision.operation.clone()?;
        Some(Change::new(
            Address::new(Kind::SetupKey, name),
            operation,
            why,
        ))
    });
    let pruned = claimed.pruned.iter().cloned();
    let changes = entries.chain(keys).chain(pruned).collect();

    let twins = &resolved.twins;
    let mut changes = twins.move_references(changes, actual, |address, live| match address.kind {
        Kind::SetupKey => desired.declares(address),
        _ => {
            let meant = claimed.managed.get(address);
            meant.is_some_and(|at| at.id == live.id)
        }
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

/// Returns what makes a live object as its entry says. `name` is the change of its name.
pub(super) fn entry(
    after: &Resource,
    live: Option<&Live>,
    name: Option<FieldChange>,
) -> Option<Operation> {
    match live {
        Some(live) => Operation::update(live, after, name),
        None => Some(Operation::Create {
            after: after.clone(),
        }),
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
