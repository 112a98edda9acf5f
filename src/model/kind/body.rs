//! Parts of request bodies that every kind needs.

use serde_json::{Map, Value};

use super::{Groups, Spec, Unresolved};

/// Returns a live answer as the base of a PUT: without what only answers carry.
pub(super) fn base_of(live: Option<&Value>, answer_only: &[&str]) -> Map<String, Value> {
    let mut base = live.and_then(Value::as_object).cloned().unwrap_or_default();
    base.retain(|field, _| !answer_only.contains(&field.as_str()));
    base
}

/// Fills in the fields that may be left out, of these names: what is declared, or else what is there, or else the default
/// of creation.
pub(super) fn fill<T: Spec>(
    body: &mut Map<String, Value>,
    it: &T,
    groups: &Groups,
    is_meant: impl Fn(&str) -> bool,
) -> Result<(), Unresolved> {
    let ours = it.fields();
    let fields = T::TABLE.map_or(&[][..], |table| table.fields).iter();
    let own = fields.filter(|field| field.keep.is_some());
    for field in own.filter(|field| is_meant(field.row.name)) {
        let name = field.row.name;
        let value = match ours.get(name) {
            Some(value) => value.clone(),
            // null and absent are the same to the server, and null would not decode where a bool is wanted
            None if body.get(name).is_none_or(Value::is_null) => {
                let default = field.row.default;
                let default = default.expect("a field that can be left out has a default");
                serde_json::from_str(default).expect("a default is JSON")
            }
            None => continue,
        };
        let value = match field.groups {
            Some(_) => {
                let names = value.as_array().into_iter().flatten();
                let names = names.filter_map(Value::as_str).map(str::to_owned);
                groups.resolve(&names.collect())?
            }
            None => value,
        };
        body.insert(name.into(), value);
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
