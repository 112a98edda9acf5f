//! What is to be said of agreements to deletions.

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
