//! What is to be said of agreements to deletions.

use super::Fact;
use crate::base::{Code, Saying, count, quoted};
use crate::model::{Address, Origin, facts};

facts! {
    /// What is to be said of an agreement to deletions.
    #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum OfAgreement {
        /// A line agrees to nothing; who said so, and where.
        Void { line: String, by: String, why: Void } => {
            Code::Agreement.says(format!("{line} ({by}) does not count: {}", why.words()))
        },
        /// The number that a person agreed to, in these words, is not that of all rows of the plan.
        OtherNumber { by: String, number: usize, rows: usize } => Code::Agreement.says(format!(
            "{by} says {number}, but this plan has {}: the number must be exact",
            count(*rows, "deletion", "deletions")
        )),
        /// Whether a pull request agrees could not be asked, for this reason.
        NotAsked(error: String) => {
            Code::Agreement.says(format!("cannot ask whether a pull request agrees to deletions: {error}"))
        },
    }

    /// Returns its cause, and what it says.
    fn said(&self, _at: &Address) -> Saying; impl Fact;
}

facts! {
    /// Why a line counts for nothing.
    #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Void {
        /// Its author may not write to the repository; nobody knows who where there is no name.
        Author(author: Option<String>) => match author {
            Some(author) => format!("{author} may not write to this repository"),
            None => "nobody knows who wrote it".into(),
        },
        /// The branch is of another repository.
        Fork => "the branch of its pull request is of another repository",
        /// It is not known whether its author may write: the forge does not say it, for this reason.
        Untold(why: Untold) => why.words(),
        /// It is not plain to see, or other words stand beside it.
        Hidden => "it does not stand on a line of its own, in a paragraph with only such lines, above all code blocks and HTML",
        /// It has no digest.
        NoDigest => "it has no digest, so it is not known which deletions it approves",
        /// It is the line of nothing in the plan.
        NotOfThePlan => "nothing in this plan has that number and digest",
        /// These machines enrolled after it was written, and would be deleted, too.
        Enrolled(machines: Vec<String>) => {
            let word = if machines.len() == 1 { "machine" } else { "machines" };
            format!("{word} {} enrolled after the line was written", quoted(machines))
        },
        /// What that change deletes has another line by now. `None`: no known change.
        Other(change: Option<Origin>) => match change {
            Some(origin) => format!("what {} deletes in this environment has another line now", origin.words()),
            None => "what it was written for has another line now".into(),
        },
    }

    /// Returns why the line does not count.
    fn words(&self) -> String;
}

facts! {
    /// Why it is not known whether somebody may write.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Untold {
        /// The forge was not asked, or did not answer.
        NotAsked => "whether its author may write to this repository is not known: the forge was not asked",
        /// The organisation has teams that may not write to the code, and who is in which team the token may not ask.
        Teams =>
            "the organisation has teams that may not write to this repository, and the token may not ask who is in which: \
             put its user into the team that may write, and give it the scope read:organization",
        /// The organisation has teams that may change descriptions, and may not write to the code.
        Editors => "the organisation has teams that may change pull requests and may not write to this repository",
        /// The checkout does not tell which pull request brought the commit.
        Bringer => "which pull request brought the commit is not known",
    }

    /// Returns why the line does not count.
    fn words(&self) -> String;
}
