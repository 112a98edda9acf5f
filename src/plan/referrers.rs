//! What refers to the groups of an account, as it is once the changes of a plan are carried out.

use std::collections::BTreeMap;

use crate::actual::Actual;
use crate::address::Address;
use crate::change::{Change, Operation};
use crate::id::Id;
use crate::kind::{Kind, Live, Refers};

/// Returns the objects of a kind that go.
pub(super) fn deleted(changes: &[Change], kind: Kind) -> impl Iterator<Item = (&Address, &Live)> {
    let of_kind = changes
        .iter()
        .filter(move |change| change.address.kind == kind);
    of_kind.filter_map(|change| Some((&change.address, change.deleted()?)))
}

/// Returns what refers to each group once the changes are carried out.
pub(super) fn referrers<'a>(
    changes: &[Change],
    actual: &'a Actual,
) -> BTreeMap<String, Vec<(&'a Address, &'a Live)>> {
    let by_id: BTreeMap<&Id, &Operation> = changes
        .iter()
        .filter_map(|change| Some((&change.operation.live()?.id, &change.operation)))
        .collect();
    let mut referrers: BTreeMap<String, Vec<_>> = BTreeMap::new();
    for (address, live) in actual.each() {
        let after = match by_id.get(&live.id) {
            Some(Operation::Delete { .. } | Operation::Replace { .. }) => continue,
            Some(Operation::Update { after, .. }) => after.over(&live.resource),
            Some(Operation::Create { .. }) | None => live.resource.clone(),
        };
        for group in after.references() {
            let of_group = referrers.entry(group.to_owned()).or_default();
            of_group.push((address, live));
        }
    }
    referrers
}

/// Returns the policies that name a network resource once the changes are carried out.
pub(super) fn naming<'a>(
    resource: &Live,
    changes: &[Change],
    actual: &'a Actual,
) -> Vec<(&'a Address, &'a Live)> {
    let names = |live: &Live| {
        let change = changes.iter().find(|change| {
            let at = change.operation.live();
            at.is_some_and(|at| at.id == live.id)
        });
        let after = match change.map(|change| &change.operation) {
            Some(Operation::Delete { .. }) => return false,
            Some(operation) => operation.after().map(|after| after.over(&live.resource)),
            None => None,
        };
        after
            .as_ref()
            .unwrap_or(&live.resource)
            .others()
            .contains(&(Refers::Resource, resource.name.as_str()))
    };
    let policies = actual.each().filter(|(at, _)| at.kind == Kind::Policy);
    policies.filter(|(_, live)| names(live)).collect()
}
