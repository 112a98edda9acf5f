//! What is kept back since something that is not ours needs it.

use std::collections::{BTreeMap, BTreeSet};

use super::Plan;
use super::possible::{deleted_groups, referrers};
use crate::actual::Actual;
use crate::address::Address;
use crate::change::Operation;
use crate::desired::Desired;
use crate::held::{Held, Why};
use crate::id::Id;
use crate::kind::{Kind, Live, Resource};

/// Names an object for people, with its id and, of a key, its state.
pub(super) fn holder(address: &Address, live: &Live, actual: &Actual) -> String {
    let state = actual
        .keys
        .get(&live.id)
        .map(|key| format!(", {}", key.state));
    let Address { kind, name } = address;
    format!(
        "{} {name:?} ({}{})",
        kind.label(),
        live.id,
        state.unwrap_or_default()
    )
}

/// Keeps back every group that only things need which are not ours: what the file does not declare, and fields that it does
/// not say of what it declares. Where the file itself names the group, the deletion stays in the plan, and is impossible.
pub(super) fn keep_groups(
    plan: &mut Plan,
    resources: &BTreeMap<Address, Resource>,
    desired: &Desired,
    actual: &Actual,
) {
    if deleted_groups(&plan.changes).next().is_none() {
        return;
    }
    let is_ours = |address: &Address| resources.contains_key(address) || desired.declares(address);
    // a declared key that is done is no resource: what NetBird has of it was the file's
    let names = |address: &Address, group: &str| match resources.get(address) {
        Some(resource) => resource.references().contains(group),
        None => is_ours(address),
    };
    // a dead key of ours lets go of a group that goes
    let lets_go = |address: &Address, live: &Live| {
        let waits = || {
            plan.held
                .iter()
                .any(|held| held.id == live.id && held.waits())
        };
        actual.keys.get(&live.id).is_some_and(|key| !key.valid) && (is_ours(address) || waits())
    };
    let referrers = referrers(&plan.changes, actual);
    let mut kept: BTreeMap<Id, Held> = BTreeMap::new();
    for change in &plan.changes {
        let Operation::Delete { live } = &change.operation else {
            continue;
        };
        if change.address.kind != Kind::Group {
            continue;
        }
        let users = referrers.get(&live.name).into_iter().flatten();
        let users: Vec<_> = users
            .filter(|(address, user)| !lets_go(address, user))
            .collect();
        if users.iter().any(|(address, _)| names(address, &live.name)) {
            continue;
        }
        let users = users.iter().map(|(address, user)| {
            let holder = holder(address, user, actual);
            match is_ours(address) {
                true => format!("{holder}, in a field that the file does not say"),
                false => holder,
            }
        });
        let foreign = actual.foreign_referrers.get(&live.id).into_iter().flatten();
        let holders: BTreeSet<String> = users.chain(foreign.cloned()).collect();
        if !holders.is_empty() {
            let held = Held {
                address: change.address.clone(),
                id: live.id.clone(),
                why: match actual.gone_resources.get(&live.id) == Some(&holders) {
                    true => Why::NeededByGone(holders),
                    false => Why::Needed(holders),
                },
                cause: None,
            };
            kept.insert(live.id.clone(), held);
        }
    }
    plan.changes.retain(|change| match &change.operation {
        Operation::Delete { live } => !kept.contains_key(&live.id),
        _ => true,
    });
    plan.held.extend(kept.into_values());
}
