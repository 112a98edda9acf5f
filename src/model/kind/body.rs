//! Parts of request bodies that every kind needs.

use serde_json::{Map, Value};

use super::{Groups, Spec, Unresolved};
use crate::file::Names;

/// Returns a live answer as the base of a PUT: without what only answers carry.
pub(super) fn base_of(live: Option<&Value>, answer_only: &[&str]) -> Map<String, Value> {
    let mut base = live.and_then(Value::as_object).cloned().unwrap_or_default();
    base.retain(|field, _| !answer_only.contains(&field.as_str()));
    base
}

/// Fills in the fields of these names: what is declared, or else what is there, or else the default of creation. What says
/// something by being left out stays out.
pub(super) fn fill<T: Spec>(
    body: &mut Map<String, Value>,
    it: &T,
    groups: &Groups,
    is_meant: impl Fn(&str) -> bool,
) -> Result<(), Unresolved> {
    let mut ours = it.fields();
    for field in T::TABLE
        .fields
        .iter()
        .filter(|field| is_meant(field.row.name))
    {
        let (row, is_own) = (field.row, field.keep.is_some());
        let there = body.get(row.wire).filter(|value| !value.is_null());
        let value = match (ours.remove(row.name), there) {
            (Some(Value::Null), _) => continue,
            (Some(value), _) => value,
            (None, _) if !is_own || T::MAY_LACK => continue,
            (None, Some(there)) if row.names.is_some() => {
                let ids = embedded_ids(Some(there));
                body.insert(row.wire.into(), ids);
                continue;
            }
            (None, Some(_)) => continue,
            // null and absent are the same to the server, and null would not decode where a bool is wanted
            (None, None) => {
                let default = row.default;
                let default = default.expect("a field that can be left out has a default");
                serde_json::from_str(default).expect("a default is JSON")
            }
        };
        let value = match row.names {
            Some(what @ (Names::Groups | Names::Checks)) => {
                let names = value.as_array().into_iter().flatten();
                groups.ids_of(what.into(), names.filter_map(Value::as_str))?
            }
            _ => value,
        };
        body.insert(row.wire.into(), value);
    }
    Ok(())
}

/// Puts a value where there is none.
pub(super) fn default(body: &mut Map<String, Value>, field: &str, value: Value) {
    if body.get(field).is_none_or(Value::is_null) {
        body.insert(field.into(), value);
    }
}

/// Ids of an embedded list of objects, of ids, or of nothing.
pub(super) fn embedded_ids(list: Option<&Value>) -> Value {
    let entries = list
        .and_then(Value::as_array)
        .map(Vec::as_slice)
        .unwrap_or_default();
    entries
        .iter()
        .map(|entry| entry.get("id").unwrap_or(entry).clone())
        .collect()
}

/// Puts the live value where there is none of ours.
pub(super) fn keep<T: Clone>(after: &mut Option<T>, live: &Option<T>) {
    if after.is_none() {
        after.clone_from(live);
    }
}
