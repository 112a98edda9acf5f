//! What refers to the groups of an account, as it is once the changes of a plan are carried out.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::Value;

use crate::account::actual::Actual;
use crate::base::id::Id;
use crate::model::address::Address;
use crate::model::change::{Change, Operation};
use crate::model::kind::{Kind, Live, Refers, Resource};

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

/// Returns a live object as it is once the changes are carried out; nothing where it goes.
pub(super) fn then<'a>(live: &'a Live, changes: &[Change]) -> Option<Cow<'a, Resource>> {
    match changes.iter().find(|change| change.is_about(&live.id)) {
        Some(change) => change.operation.outcome().map(Cow::Owned),
        None => Some(Cow::Borrowed(&live.resource)),
    }
}

/// Returns the policies that name a network resource or a posture check once the changes are carried out.
pub(super) fn naming<'a>(
    what: Refers,
    named: &Live,
    changes: &[Change],
    actual: &'a Actual,
) -> Vec<(&'a Address, &'a Live)> {
    let name = (what, actual.label(named));
    let names = |live| then(live, changes).is_some_and(|then| then.others().contains(&name));
    let policies = actual.each().filter(|(at, _)| at.kind == Kind::Policy);
    policies.filter(|(_, live)| names(live)).collect()
}

/// Returns the fields of an object that name a group.
pub(super) fn fields_naming(live: &Live, group: &str) -> String {
    let has = |value: &Value| {
        let all = value.as_array();
        all.is_some_and(|all| all.contains(&group.into()))
    };
    let fields = live.resource.fields().into_iter();
    let fields: Vec<String> = fields
        .filter_map(|(field, value)| has(&value).then_some(field))
        .collect();
    fields.join(", ")
}
