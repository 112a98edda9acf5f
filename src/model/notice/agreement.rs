//! What is to be said of agreements to deletions.

use crate::base::text::{count, listed};
use crate::model::origin::Origin;

/// What is to be said of an agreement to deletions.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum OfAgreement {
    /// A line agrees to nothing.
    Void {
        /// The line.
        line: String,
        /// Who said so, and where.
        by: String,
        /// Why.
        why: Void,
    },
    /// The number that a person agreed to is not that of all rows.
    OtherNumber {
        /// In which words they did.
        by: String,
        /// The number.
        number: usize,
        /// How many deletions the plan has.
        rows: usize,
    },
    /// Whether a pull request agrees could not be asked, for this reason.
    NotAsked(String),
}

/// Why a line counts for nothing.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Void {
    /// Its author may not write to the repository; nobody knows who where there is no name.
    Author(Option<String>),
    /// The branch is of another repository.
    Fork,
    /// Nobody can tell whether its author may write: the forge does not say it, for this reason.
    Untold(Untold),
    /// It is not plain to see.
    Hidden,
    /// It has no digest.
    NoDigest,
    /// It is the line of nothing in the plan.
    NotOfThePlan,
    /// These machines enrolled after it was written, and would be deleted, too.
    Enrolled(Vec<String>),
    /// What that change deletes has another line by now. `None`: no known change.
    Other(Option<Origin>),
}

/// Why nobody can tell whether somebody may write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Untold {
    /// The forge was not asked, or did not answer.
    NotAsked,
    /// The organisation has teams that may not write to the code, and who is in which team the token may not ask.
    Teams,
    /// The organisation has teams that may change descriptions, and may not write to the code.
    Editors,
    /// The checkout does not tell which pull request brought the commit.
    Bringer,
}

impl OfAgreement {
    pub(super) fn words(&self) -> String {
        match self {
            OfAgreement::Void { line, by, why } => {
                format!("{line} ({by}) does not count: {}", why.words())
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
}

impl Void {
    /// Returns why a line does not count.
    fn words(&self) -> String {
        match self {
            Void::Author(Some(author)) => format!("{author} may not write to this repository"),
            Void::Author(None) => "nobody knows who wrote it".into(),
            Void::Fork => "the branch of its pull request is of another repository".into(),
            Void::Untold(why) => why.words().into(),
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
}

impl Untold {
    fn words(self) -> &'static str {
        match self {
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
}
