//! The sentences of agreements to deletions.

use crate::notice::{OfAgreement, Void};
use crate::origin::Origin;
use crate::text::count;

pub(super) fn agreement(of: &OfAgreement) -> String {
    match of {
        OfAgreement::Void { line, by, why } => {
            format!("{line} ({by}) agrees to nothing: {}", void(why))
        }
        OfAgreement::OtherNumber { by, number, rows } => format!(
            "{by} says {number}, which is not the exact number: this plan has {}",
            count(*rows, "deletion", "deletions")
        ),
        OfAgreement::NotAsked(error) => {
            format!("whether a pull request agrees to deletions could not be asked: {error}")
        }
    }
}

/// Returns why a line agrees to nothing.
fn void(why: &Void) -> String {
    match why {
        Void::Author(Some(author)) => format!("{author} may not write to this repository"),
        Void::Author(None) => "nobody knows who wrote it".into(),
        Void::Fork => "the branch of its pull request is of another repository".into(),
        Void::Outgrown(number) => format!(
            "by now {} by it",
            count(*number, "deletion comes", "deletions come")
        ),
        Void::NoDigest => "it has no digest, so nobody can tell what it is about".into(),
        Void::NotOfThePlan => {
            "it is no line of this plan: another change, or more goes by it than that".into()
        }
        Void::NotOf(origin) => format!(
            "its digest is not that of the deletions of {}",
            Origin::whose(origin.as_ref())
        ),
    }
}
