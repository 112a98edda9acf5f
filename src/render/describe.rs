//! Objects and their changes in a few words.

use serde_json::Value;

use super::impact::about;
use crate::base::text::visible;
use crate::inventory::{Adoption, Origin};
use crate::model::address::Address;
use crate::model::change::{Change, Operation};
use crate::model::kind::{FieldChange, Kind, NameOf, words};
use crate::plan::{DNS_LABEL, Plan};

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
                Value::Null => format!(
                    "; DNS label {} → ?",
                    words::value(DNS_LABEL, &change.before)
                ),
                _ => format!("; DNS label {}", change.words()),
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
        visible(&change.why()).into_owned(),
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

/// Returns what differs in the fields of a change that its line does not tell, each in a line.
pub(super) fn fields(change: &Change) -> String {
    let names = change.told_fields().map(|change| change.field.len());
    let width = names.max().unwrap_or(0);
    let line = |change: &FieldChange| {
        let name = change.label();
        format!("        {name:width$}   {}\n", change.words())
    };
    change.told_fields().map(line).collect()
}
