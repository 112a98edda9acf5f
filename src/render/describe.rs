//! Objects and their changes in a few words.

use serde_json::Value;

use super::impact::about;
use super::words;
use crate::base::text::visible;
use crate::inventory::{Adoption, Origin};
use crate::model::address::Address;
use crate::model::change::{Change, Operation, list_changes};
use crate::model::kind::words::{address, listed};
use crate::model::kind::{FieldChange, Kind, NameOf};
use crate::plan::{DNS_LABEL, Plan};

/// Most characters of a free text in a line.
const MOST_TEXT: usize = 80;

/// The sign of an operation on a terminal and its colour there, and its sign in a comment.
pub(super) fn signs(operation: &Operation) -> [&'static str; 3] {
    match operation {
        Operation::Create { .. } => ["+", "32", "➕"],
        Operation::Update { .. } => ["~", "33", "✏️"],
        Operation::Replace { .. } => ["-+", "35", "♻️"],
        Operation::Delete { .. } => ["-", "31", "❌"],
    }
}

/// The same of an adoption.
pub(super) const ADOPTED: [&str; 3] = ["=", "36", "="];

/// The sign of what is let go on a terminal, and its colour.
pub(super) const LET_GO: [&str; 2] = ["!", "33"];

/// Returns what is said of an adoption.
pub(super) fn adoption(address: &Address, of: &Adoption) -> String {
    let what = match of.origin {
        Origin::Adopted => "exists in NetBird; this file manages it from now on",
        Origin::Created => {
            "was created by a run that did not record it; this file manages it from now on"
        }
    };
    match place(address).filter(|_| address.name.is_empty()) {
        Some(place) => format!("{place}; {what}"),
        None => what.to_owned(),
    }
}

/// Returns an object's name; of one without a name, what it stands in.
pub(super) fn name(address: &Address) -> String {
    let place = place(address).filter(|_| address.name.is_empty());
    place.unwrap_or_else(|| visible(&address.name).into_owned())
}

/// What a reviewer needs to know of a change in one line: the object where it is new or goes, why where there is a
/// reason. Field changes are told apart, by `field`.
pub(super) fn summary(change: &Change, plan: &Plan) -> String {
    let about = about(change, plan);
    let object = match &change.operation {
        Operation::Create { after } => after.summary(&about),
        Operation::Replace { after, .. } if after.kind() == Kind::SetupKey => after.summary(&about),
        Operation::Delete { live } => live.resource.summary(&about),
        Operation::Update { live, fields, .. } if change.renames_peer() => {
            let label = fields.iter().find(|change| change.field == DNS_LABEL);
            let label = label.map(|change| match change.after {
                Value::Null => format!("; DNS label {} → ?", value(DNS_LABEL, &change.before)),
                _ => format!("; DNS label {}", field(change)),
            });
            format!(
                "renamed from {}{}",
                visible(&live.name),
                label.unwrap_or_default()
            )
        }
        Operation::Update { .. } | Operation::Replace { .. } => String::new(),
    };
    let parts = [
        object,
        place(&change.address).unwrap_or_default(),
        visible(&words::reason(change.reason.as_ref(), &change.address.name)).into_owned(),
    ];
    parts
        .into_iter()
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join("; ")
}

/// What an object stands in, where its name does not say so.
fn place(address: &Address) -> Option<String> {
    let parent = address.parent()?;
    let is_named =
        matches!(address.kind.inside()?.name, NameOf::Texts { .. }) && !address.name.is_empty();
    (!is_named).then(|| format!("of {} {}", parent.kind.label(), visible(&parent.name)))
}

/// Returns one value of a field: names as they are, free text in quotes, and in words what a number or nothing means.
pub(super) fn value(field: &str, value: &Value) -> String {
    match (field, value) {
        ("usage_limit", Value::Number(number)) if number.as_i64() == Some(0) => "unlimited".into(),
        ("expires", Value::Bool(expires)) => if *expires { "yes" } else { "never" }.into(),
        ("ports", Value::Array(ports)) if ports.is_empty() => "all".into(),
        (_, Value::Null) => "none".into(),
        (_, Value::String(text)) if text.is_empty() => "none".into(),
        ("description", Value::String(text)) => format!("\"{}\"", visible(text)),
        (_, Value::String(text)) => visible(text).into_owned(),
        (_, Value::Array(entries)) => {
            let entries: Vec<String> = entries
                .iter()
                .map(|entry| self::value(field, entry))
                .collect();
            listed(&entries)
        }
        ("authorized_groups", Value::Object(groups)) => {
            let entry = |(group, logins): (&String, &Value)| {
                let logins = match logins.as_array().is_some_and(Vec::is_empty) {
                    true => "any local user".to_owned(),
                    false => self::value(field, logins),
                };
                format!("{} as {logins}", visible(group))
            };
            let entries: Vec<String> = groups.iter().map(entry).collect();
            match entries.is_empty() {
                true => "none".into(),
                false => listed(&entries),
            }
        }
        (_, Value::Object(target)) if target.contains_key("peer") => {
            format!("the peer {}", self::value("peer", &target["peer"]))
        }
        (_, Value::Object(server)) => {
            let ip = server.get("ip").and_then(Value::as_str);
            let port = server.get("port").and_then(Value::as_i64);
            match (ip, port) {
                (Some(ip), Some(port)) => address(&visible(ip), port),
                _ => visible(&value.to_string()).into_owned(),
            }
        }
        (_, other) => other.to_string(),
    }
}

/// Returns what differs in one field: `all → tcp`. Of lists with something in common: what goes, all of it, and what
/// comes.
pub(crate) fn field(change: &FieldChange) -> String {
    let value = |value: &Value| cut(&self::value(&change.field, value));
    if let Some((gone, new)) = list_changes(&change.before, &change.after) {
        let total = change.after.as_array().map_or(0, Vec::len);
        let same = total - new.len();
        if same > 0 {
            let went = gone.iter().map(|entry| format!("-{}", value(entry)));
            let came: Vec<String> = new
                .iter()
                .map(|entry| format!("+{}", value(entry)))
                .collect();
            let came = (!came.is_empty()).then(|| listed(&came));
            let moved: Vec<String> = went.chain(came).collect();
            return format!("{} ({same} unchanged)", moved.join(", "));
        }
    }
    format!("{} → {}", value(&change.before), value(&change.after))
}

/// Returns the text, or its beginning.
fn cut(text: &str) -> String {
    match text.char_indices().nth(MOST_TEXT) {
        Some((end, _)) if text.starts_with('"') => format!("{}…\"", &text[..end]),
        _ => text.to_owned(),
    }
}

/// Returns what differs in one field behind its name.
pub(super) fn named_field(change: &FieldChange) -> String {
    format!("{} {}", field_name(change), field(change))
}

/// Returns what differs in the fields of a change that its line does not tell, each in a line.
pub(super) fn fields(change: &Change) -> String {
    let names = change.told_fields().map(|change| change.field.len());
    let width = names.max().unwrap_or(0);
    let line = |change: &FieldChange| {
        let name = field_name(change);
        format!("        {name:width$}   {}\n", field(change))
    };
    change.told_fields().map(line).collect()
}

/// Returns a field's name for people.
fn field_name(change: &FieldChange) -> String {
    change.field.replace('_', " ")
}
