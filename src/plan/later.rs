//! The account as it is once the changes of a plan are carried out.

use std::borrow::Cow;
use std::collections::HashMap;

use serde_json::Value;

use crate::account::Actual;
use crate::base::{Id, joined};
use crate::model::{Address, Change, Kind, Live, Operation, Resource};

/// An object as it will be; as it is, unless it is created.
pub(super) type Later<'a> = (&'a Address, Option<&'a Live>, Cow<'a, Resource>);

/// Returns every object that does not go. What is replaced is the old object in its new form.
pub(super) fn later<'a>(
    changes: &'a [Change],
    actual: &'a Actual,
) -> impl Iterator<Item = Later<'a>> {
    let written = changes.iter().map(|change| &change.operation);
    let written = written.filter_map(|operation| Some((&operation.live()?.id, operation)));
    let written: HashMap<&Id, &Operation> = written.collect();
    let there = actual.each().filter_map(move |(address, live)| {
        let then = match written.get(&live.id) {
            Some(operation) => Cow::Owned(operation.outcome()?),
            None => Cow::Borrowed(&live.resource),
        };
        Some((address, Some(live), then))
    });
    let created = changes.iter().filter_map(|change| match &change.operation {
        Operation::Create { after } => Some((&change.address, None, Cow::Borrowed(after))),
        _ => None,
    });
    there.chain(created)
}

/// Returns the objects of a kind that go.
pub(super) fn deleted(changes: &[Change], kind: Kind) -> impl Iterator<Item = (&Address, &Live)> {
    let of_kind = changes
        .iter()
        .filter(move |change| change.address.kind == kind);
    of_kind.filter_map(|change| Some((&change.address, change.deleted()?)))
}

/// Returns the fields of an object that name a group.
pub(super) fn fields_naming(live: &Live, group: &str) -> String {
    let names = |field: &str, value: &Value| match value {
        Value::Array(all) => all.contains(&group.into()),
        Value::Object(users) => field == "authorized_groups" && users.contains_key(group),
        _ => false,
    };
    let said = live.resource.said();
    let parts = said.as_array().into_iter().flatten();
    let fields = parts.filter_map(Value::as_object).flatten();
    let naming = fields.filter(|(field, value)| names(field, value));
    joined(naming.map(|(field, _)| field), ", ")
}
