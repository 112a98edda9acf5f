//! The sentences of why something changes.

use super::{told_by, who};
use crate::evidence::Evidence;
use crate::reason::{Guess, Reason};

/// Returns why a change is; nothing where its fields say it.
pub(crate) fn reason(reason: Option<&Reason>) -> String {
    let told = |by: Option<Evidence>| by.map(|by| told_by(by, "; ")).unwrap_or_default();
    let Some(reason) = reason else {
        return String::new();
    };
    match reason {
        Reason::NoLongerDeclared { agreed: false } => "no longer declared",
        Reason::NoLongerDeclared { agreed: true } => {
            "no longer declared (agreed to by Allow-Deletes)"
        }
        Reason::NotDeclared => "not declared (--prune all)",
        Reason::Second => "a second one of that name, and equal",
        Reason::SecondKey => "a second key of that name",
        Reason::SecondGroup => {
            "a second one of that name: its members and what refers to it move to the oldest"
        }
        Reason::RefersToSecondGroup => "refers to a second group of the name, which goes",
        Reason::Fixed(field) => {
            return format!(
                "its {field} cannot be changed: a new one is made, then the old one goes"
            );
        }
        Reason::WithParent => "made anew with what it stands in",
        Reason::Replace => "--replace names it",
        Reason::ReplacedByHand => "replaced by hand",
        Reason::BeforeReissue => "made before reissue_after",
        Reason::NeverSealed => "never sealed: nobody holds its secret",
        Reason::ReplacedBefore => "replaced by a newer one, in a run that did not end",
        Reason::KeyCannotChange => {
            "a key cannot be changed: new secret, then the old one is deleted"
        }
        Reason::MarkedEnrolled => "marked enrolled, so this live and unused credential is nobody's",
        Reason::DeadKeyInTheWay => "a dead key that would keep its group from being deleted",
        Reason::Reissue(instant) => return format!("reissue_after {instant}"),
        Reason::Enrolled { evidence, label } => {
            let label = match label {
                None => "",
                Some(Guess::Predicted) => "; the label is predicted",
                Some(Guess::Punycode) => "; NetBird makes the label in punycode",
            };
            return format!("enrolled with this key{}{label}", told(Some(*evidence)));
        }
        Reason::KeyRemoved { key, evidence } => {
            return format!(
                "enrolled with setup key {key:?}, whose entry was removed{}",
                told(*evidence)
            );
        }
        Reason::Replaced { key, by, evidence } => {
            return format!(
                "enrolled with an older setup key {key:?}, and replaced by the peer {}{}",
                who(by),
                told(Some(*evidence))
            );
        }
    }
    .into()
}
