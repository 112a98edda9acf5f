//! What a change means for whom: the sentences that a reviewer must not miss.

use std::collections::BTreeSet;

use crate::base::sentence::Sentence;
use crate::base::text::{count, joined};
use crate::model::change::{Change, Operation};
use crate::model::kind::{About, Live, Resource};
use crate::model::reason::Reason;
use crate::plan::Plan;

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
            let secret = "a new secret is made and sealed";
            let what = match after {
                Resource::SetupKey(_) if live.is_dead_key() => say(secret),
                Resource::SetupKey(_) => say(secret).say(", the old one stops working"),
                _ if after.kind().children().next().is_some() => loss(&live.resource, &about),
                _ => say("the new one is made before the old one goes"),
            };
            ("Replaces", what)
        }
        Operation::Update { live, after, .. } => {
            let removed = change.removed_members();
            let after = after.over(&live.resource);
            if !removed.is_empty() {
                let leaves = if removed.len() == 1 {
                    " leaves"
                } else {
                    " leave"
                };
                let labels = removed.iter().map(|id| about.label(id));
                let what = Sentence::default().names(labels).say(leaves);
                ("Takes members from", what)
            } else if !change.moved.is_empty() {
                ("Moves machines by", say(&joined(&change.moved, ", and ")))
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
        pending_groups: &plan.pending_groups,
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
