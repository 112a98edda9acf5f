//! The sentences of agreements to deletions.

use crate::base::text::{count, listed};
use crate::model::notice::{OfAgreement, Untold, Void};

pub(super) fn agreement(of: &OfAgreement) -> String {
    match of {
        OfAgreement::Void { line, by, why } => {
            format!("{line} ({by}) does not count: {}", void(why))
        }
        OfAgreement::OtherNumber { by, number, rows } => format!(
            "{by} says {number}, which is not the exact number: this plan has {}",
            count(*rows, "deletion", "deletions")
        ),
        OfAgreement::NotAsked(error) => {
            format!("cannot ask whether a pull request agrees to deletions: {error}")
        }
    }
}

/// Returns why a line does not count.
fn void(why: &Void) -> String {
    match why {
        Void::Author(Some(author)) => format!("{author} may not write to this repository"),
        Void::Author(None) => "nobody knows who wrote it".into(),
        Void::Fork => "the branch of its pull request is of another repository".into(),
        Void::Untold(why) => untold(*why).into(),
        Void::Hidden => {
            "it is not in a paragraph of its own, above all code blocks and HTML".into()
        }
        Void::NoDigest => "it has no digest, so nobody can tell what it is about".into(),
        Void::NotOfThePlan => "nothing in this plan has that number and digest".into(),
        Void::Enrolled(machines) => {
            let names: Vec<String> = machines.iter().map(|name| format!("{name:?}")).collect();
            let (word, verb) = match machines.len() {
                1 => ("machine", "was"),
                _ => ("machines", "were"),
            };
            format!(
                "{word} {} enrolled after that and {verb} not agreed to",
                listed(&names)
            )
        }
        Void::Other(Some(origin)) => format!(
            "what {} deletes in this environment has another line by now",
            origin.words()
        ),
        Void::Other(None) => "what it was written for has another line by now".into(),
    }
}

fn untold(why: Untold) -> &'static str {
    match why {
        Untold::NotAsked => {
            "whether its author may write to this repository is not known: the forge was not asked"
        }
        Untold::Teams => {
            "the organisation has teams that may not write to this repository, and the token may not ask who is in which: \
             put its user into the team that may write, and give it the scope read:organization"
        }
        Untold::Editors => {
            "the organisation has teams that may change pull requests and may not write to this repository"
        }
        Untold::Bringer => "which pull request brought the commit is not known",
    }
}
