//! Objects and their changes in a few words.

use std::collections::BTreeSet;

use serde_json::Value;

use super::tree::Mark;
use crate::base::{Sentence, count, joined, visible};
use crate::inventory::{Adoption, RecordedAs};
use crate::model::kind::words;
use crate::model::{About, Address, Change, Kind, Live, NameOf, Operation, Reason, Resource};
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
        Operation::Create { after } => match after.summary(&about) {
            words if words.is_empty() => set(after),
            words => words,
        },
        Operation::Replace { after, .. } if after.kind() == Kind::SetupKey => after.summary(&about),
        Operation::Delete { live } => live.resource.summary(&about),
        Operation::Update { live, fields, .. } if change.renames_peer() => {
            let label = fields.iter().filter(|change| change.field == DNS_LABEL);
            let label = label.map(|change| match change.after {
                Value::Null => format!("{} → ?", words::value(DNS_LABEL, &change.before)),
                _ => change.words(),
            });
            let label: String = label.map(|label| format!("; DNS label {label}")).collect();
            format!("renamed from {}{label}", visible(&live.name))
        }
        Operation::Update { .. } | Operation::Replace { .. } => String::new(),
    };
    let place = place(&change.address).filter(|_| !change.address.name.is_empty());
    let why = visible(&change.why()).into_owned();
    let parts = [object, place.unwrap_or_default(), why];
    joined(parts.iter().filter(|part| !part.is_empty()), "; ")
}

/// The fields that an entry sets.
fn set(entry: &Resource) -> String {
    let fields = entry.fields();
    let set = fields.iter().filter(|(_, value)| !value.is_null());
    let set = set.map(|(field, value)| {
        format!("{} {}", field.replace('_', " "), words::value(field, value))
    });
    joined(set, ", ")
}

/// What an object stands in, where its name does not say so.
fn place(address: &Address) -> Option<String> {
    let parent = address.parent()?;
    let is_named = matches!(address.kind.inside()?.name, NameOf::Texts(_));
    (!is_named).then(|| format!("of {} {}", parent.kind.label(), visible(&parent.name)))
}

/// What stands out about a change.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Impact {
    /// What is done to the object, as in `Deletes`.
    pub(super) verb: &'static str,
    /// What that means.
    pub(super) what: Sentence,
    /// Nobody loses anything by it.
    pub(super) harmless: bool,
}

/// Returns what a reviewer must not miss of a change: that it takes something away, or opens something to all.
pub(super) fn impact(change: &Change, plan: &Plan) -> Option<Impact> {
    let about = about(change, plan);
    let say = |words: &str| Sentence::default().say(words);
    let (verb, what) = match &change.operation {
        Operation::Delete { .. } if change.reason == Some(Reason::Surplus) => {
            ("Deletes", say("its entry has another one, which stays"))
        }
        Operation::Delete { live } => ("Deletes", loss(&live.resource, &about)),
        Operation::Replace { live, after, .. } => {
            let secret = "a new secret is created and sealed";
            let what = match after {
                Resource::SetupKey(_) if live.is_dead_key() => say(secret),
                Resource::SetupKey(_) => say(secret).say(", the old one stops working"),
                _ if after.kind().children().next().is_some() => loss(&live.resource, &about),
                _ => say("the new one is created before the old one is deleted"),
            };
            ("Replaces", what)
        }
        Operation::Update { live, after, .. } => {
            let removed = change.removed_members();
            let after = after.over(&live.resource);
            if !removed.is_empty() {
                let is_one = removed.len() == 1;
                let leaves = if is_one { " leaves" } else { " leave" };
                let labels = removed.iter().map(|id| about.label(id));
                let what = Sentence::default().names(labels).say(leaves);
                ("Takes members from", what)
            } else if !change.moved.is_empty() {
                let verb = match change.address.kind {
                    Kind::User => "Changes the rights of",
                    _ => "Moves machines by",
                };
                (verb, say(&joined(&change.moved, ", and ")))
            } else if live.resource.is_on() && !after.is_on() {
                ("Switches off", loss(&live.resource, &about))
            } else {
                let opens = after.opens_to_all(&about)?;
                if live.resource.opens_to_all(&about).as_ref() == Some(&opens) {
                    return None;
                }
                ("Opens", opens)
            }
        }
        Operation::Create { after } => ("Opens", after.opens_to_all(&about)?),
    };
    let goes = change.deleted();
    let harmless = goes.is_some_and(|live| change.reason == Some(Reason::Surplus) || is_idle(live));
    Some(Impact {
        verb,
        what,
        harmless,
    })
}

/// Whether nobody gets anything from an object: it is dead, disabled, or has no members.
fn is_idle(live: &Live) -> bool {
    let is_empty = match &live.resource {
        Resource::Group(group) => group.peers.as_ref().is_none_or(BTreeSet::is_empty),
        _ => false,
    };
    is_empty || live.is_dead_key() || !live.resource.is_on()
}

/// What is known of the object of a change beside its form.
pub(super) fn about<'a>(change: &'a Change, plan: &'a Plan) -> About<'a> {
    About {
        name: &change.address.name,
        is_new: matches!(change.operation, Operation::Create { .. }),
        goes: matches!(change.operation, Operation::Delete { .. }),
        is_dead: change.operation.live().is_some_and(Live::is_dead_key),
        peer_labels: &plan.peer_labels,
        pending_members: &plan.pending_members,
    }
}

/// Who loses what when an object goes or is switched off.
fn loss(resource: &Resource, about: &About) -> Sentence {
    match resource.is_on() {
        true => resource.loss(about),
        false => Sentence::default().say("it is disabled already"),
    }
}

/// Returns `3 group members are removed` for the members that groups lose.
pub(super) fn removed_members(plan: &Plan) -> Option<String> {
    let changes = plan.changes.iter();
    let number: usize = changes.map(|change| change.removed_members().len()).sum();
    let members = count(number, "group member is", "group members are");
    (number > 0).then(|| format!("{members} removed"))
}
