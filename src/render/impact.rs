//! What a change means for whom: the sentences that a reviewer must not miss.

use std::collections::BTreeSet;

use crate::change::{Change, Operation};
use crate::kind::{About, Live, Resource};
use crate::plan::Plan;
use crate::reason::Reason;
use crate::sentence::Sentence;
use crate::text::count;

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
    let impact = |verb, what| {
        Some(Impact {
            verb,
            what,
            harmless: false,
        })
    };
    match &change.operation {
        Operation::Delete { .. } if change.reason == Some(Reason::Second) => Some(Impact {
            verb: "Deletes",
            what: Sentence::default().say("the other one stays, and does the same"),
            harmless: true,
        }),
        Operation::Delete { live } => Some(Impact {
            verb: "Deletes",
            what: loss(&live.resource, &about),
            harmless: is_idle(live),
        }),
        Operation::Replace { live, after, .. } => {
            let what = match after {
                Resource::SetupKey(_) if is_dead(live) => {
                    Sentence::default().say("a new secret is made and sealed")
                }
                Resource::SetupKey(_) => Sentence::default()
                    .say("a new secret is made and sealed, the old one stops working"),
                _ if change.address.kind.children().next().is_some() => {
                    loss(&live.resource, &about)
                }
                _ => Sentence::default().say("the new one is made before the old one goes"),
            };
            impact("Replaces", what)
        }
        Operation::Update { live, after, .. } => {
            let removed = change.removed_members();
            let after = after.over(&live.resource);
            if !removed.is_empty() {
                let labels = removed.iter().map(|id| about.label(id));
                return impact(
                    "Takes members from",
                    Sentence::default()
                        .names(labels)
                        .say(if removed.len() == 1 {
                            " leaves"
                        } else {
                            " leave"
                        }),
                );
            }
            if !change.moved.is_empty() {
                let moved = change.moved.iter().map(ToString::to_string);
                let moved = moved.collect::<Vec<_>>().join(", and ");
                return impact("Moves machines by", Sentence::default().say(moved));
            }
            if live.resource.is_on() && !after.is_on() {
                return impact("Switches off", loss(&live.resource, &about));
            }
            let opens = after.opens_to_all(&about)?;
            if live.resource.opens_to_all(&about).as_ref() == Some(&opens) {
                return None;
            }
            impact("Opens", opens)
        }
        Operation::Create { after } => impact("Opens", after.opens_to_all(&about)?),
    }
}

/// Whether nobody gets anything from an object: it is dead, disabled, or has no members.
fn is_idle(live: &Live) -> bool {
    let is_empty = match &live.resource {
        Resource::Group(group) => group.peers.as_ref().is_none_or(BTreeSet::is_empty),
        _ => false,
    };
    is_empty || is_dead(live) || !live.resource.is_on()
}

/// Used, expired or revoked.
fn is_dead(key: &Live) -> bool {
    key.is_dead_key()
}

/// What is known of the object of a change beside its form.
pub(super) fn about<'a>(change: &'a Change, plan: &'a Plan) -> About<'a> {
    About {
        name: &change.address.name,
        is_new: matches!(change.operation, Operation::Create { .. }),
        goes: matches!(change.operation, Operation::Delete { .. }),
        is_dead: change.operation.live().is_some_and(is_dead),
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

/// Returns `; 3 group members are removed` for the members that groups lose.
pub(super) fn removed_members(plan: &Plan) -> Option<String> {
    let removed = plan
        .changes
        .iter()
        .map(|change| change.removed_members().len());
    let number: usize = removed.sum();
    (number > 0).then(|| {
        format!(
            "{} removed",
            count(number, "group member is", "group members are")
        )
    })
}
