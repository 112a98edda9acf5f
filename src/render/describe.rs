//! Objects and their changes in a few words.

use serde_json::Value;

use super::impact::about;
use super::tree::Mark;
use crate::base::sentence::Sentence;
use crate::base::text::{joined, visible};
use crate::inventory::{Adoption, RecordedAs};
use crate::model::address::Address;
use crate::model::change::{Change, Operation};
use crate::model::kind::{Kind, NameOf, words};
use crate::plan::{DNS_LABEL, Plan};

/// The sign of an operation.
pub(super) fn mark(operation: &Operation) -> Mark {
    match operation {
        Operation::Create { .. } => Mark::CREATE,
        Operation::Update { .. } => Mark::CHANGE,
        Operation::Replace { .. } => Mark::REPLACE,
        Operation::Delete { .. } => Mark::DELETE,
    }
}

/// Returns an object as people name it: what there is one of has no name.
pub(super) fn object(address: &Address) -> Sentence {
    let label = address.kind.label();
    match (address.name.as_str(), address.parent()) {
        ("", None) => label.into(),
        ("", Some(parent)) => Sentence::from(format!("{label} of ")).then(object(&parent)),
        (name, _) => Sentence::from(format!("{label} ")).name(name),
    }
}

/// Returns what is said of an adoption.
pub(super) fn adoption(of: &Adoption) -> String {
    let what = match of.origin {
        RecordedAs::Adopted => "exists in NetBird",
        RecordedAs::Created => "was created by a run that did not record it",
    };
    format!("{what}; this file manages it from now on")
}

/// Returns an object's name; of one without a name, what it stands in.
pub(super) fn name(address: &Address) -> Sentence {
    match (address.name.as_str(), place(address)) {
        ("", Some(place)) => place.into(),
        (name, _) => Sentence::default().name(name),
    }
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
                Value::Null => format!("{} → ?", words::value(DNS_LABEL, &change.before)),
                _ => change.words(),
            });
            let label = label.map(|label| format!("; DNS label {label}"));
            let label = label.unwrap_or_default();
            format!("renamed from {}{label}", visible(&live.name))
        }
        Operation::Update { .. } | Operation::Replace { .. } => String::new(),
    };
    let place = place(&change.address).filter(|_| !change.address.name.is_empty());
    let parts = [
        object,
        place.unwrap_or_default(),
        visible(&change.why()).into_owned(),
    ];
    joined(parts.iter().filter(|part| !part.is_empty()), "; ")
}

/// What an object stands in, where its name does not say so.
fn place(address: &Address) -> Option<String> {
    let parent = address.parent()?;
    let is_named =
        matches!(address.kind.inside()?.name, NameOf::Texts { .. }) && !address.name.is_empty();
    (!is_named).then(|| format!("of {} {}", parent.kind.label(), visible(&parent.name)))
}
