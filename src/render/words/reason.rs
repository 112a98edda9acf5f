//! The sentences of why something changes.

use super::{told_by, who};
use crate::model::reason::{Guess, Reason};

/// Returns why the change of an object of that name is; nothing where its fields say it.
pub(crate) fn reason(reason: Option<&Reason>, name: &str) -> String {
    let Some(reason) = reason else {
        return String::new();
    };
    match reason {
        Reason::NoLongerDeclared { agreed: false } => "no longer declared",
        Reason::NoLongerDeclared { agreed: true } => {
            "no longer declared; its deletion is approved by Allow-Deletes"
        }
        Reason::NotDeclared => "not declared (--prune all)",
        Reason::Surplus => "a second one of this entry, created by another run of this file",
        Reason::SecondKey => "a second key of this entry, created by another run of this file",
        Reason::Lost => "was deleted in NetBird; this plan creates it again",
        Reason::RenamedBack(now) => {
            return format!(
                "somebody renamed it to {now:?} in NetBird; this plan renames it back to {name:?}. To keep the new name, \
                 write {now:?} in the file."
            );
        }
        Reason::Fixed(field) => {
            return format!(
                "its {field} cannot be changed: a new one is made, then the old one goes"
            );
        }
        Reason::WithParent => "replaced together with its parent",
        Reason::Replace => "--replace names it",
        Reason::ReplacedByHand => "replaced by hand",
        Reason::BeforeReissue => "made before reissue_after",
        Reason::NeverSealed => "never sealed: nobody holds its secret",
        Reason::ReplacedBefore => "replaced by a newer one, in a run that did not end",
        Reason::KeyCannotChange => {
            "a key cannot be changed: new secret, then the old one is deleted"
        }
        Reason::MarkedEnrolled => "marked as enrolled, so nobody needs this live, unused key",
        Reason::DeadKeyInTheWay => "a dead key that would keep its group from being deleted",
        Reason::Reissue(instant) => return format!("reissue_after {instant}"),
        Reason::Enrolled { evidence, label } => {
            let label = match label {
                None => "",
                Some(Guess::Predicted) => "; the label is predicted",
                Some(Guess::Punycode) => "; NetBird makes the label in punycode",
            };
            return format!("enrolled with this key{}{label}", told_by(*evidence, "; "));
        }
        Reason::KeyRemoved {
            key,
            adopted,
            evidence,
        } => {
            let adopted = match adopted {
                true => ", which existed before this file managed it and",
                false => ",",
            };
            return format!(
                "enrolled with setup key {key:?}{adopted} whose entry was removed{}",
                told_by(*evidence, "; ")
            );
        }
        Reason::Replaced { key, by, evidence } => {
            return format!(
                "enrolled with an older setup key {key:?}, and replaced by the peer {}{}",
                who(by),
                told_by(*evidence, "; ")
            );
        }
    }
    .into()
}
