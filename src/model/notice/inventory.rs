//! What is to be said of the inventory, of the commits since the last apply, and of the merge that a pull request stands for.

use super::Fact;
use crate::base::{Code, Saying, count};
use crate::model::{Address, facts};

facts! {
    /// What is to be said of the inventory, and of the commits since the last apply.
    pub enum OfInventory {
        /// There is none yet.
        First => Code::Inventory.says(
            "there is no inventory yet. The first apply creates it. Until then nothing is deleted, except by --prune all."
        ),
        /// This clone does not have it; the branch that does.
        NotFetched(branch: String) => Code::InventoryLacks.says(format!(
            "this clone has no inventory, so deletions are missing from this plan. Run: {}",
            fetch(branch)
        )),
        /// It is not known whether there is one, for this reason; the branch that may have it.
        NotAsked { why: &'static str, branch: String } => Code::InventoryLacks.says(format!(
            "{why}. If there was no apply yet, there is no inventory. If there was one, deletions are missing from this plan. To fetch \
             the inventory, run: {}",
            fetch(branch)
        )),
        /// It cannot be read, for this reason, and a plan is made without it; the branch, where it helps to fetch it.
        Unread { why: String, branch: Option<String> } => {
            let run = branch.as_deref().map(|branch| format!(" Run: {}", fetch(branch))).unwrap_or_default();
            Code::InventoryLacks.says(format!(
                "the inventory cannot be read ({why}), so deletions are missing from this plan.{run}"
            ))
        },
        /// That of another environment cannot be read, for this reason.
        OtherUnread { environment: String, why: String } => Code::InventoryLacks.says(format!(
            "the inventory of the environment {environment:?} cannot be read ({why}), so no object is adopted by its name, and \
             --prune all deletes only what the inventory of this environment has."
        )),
        /// The file was moved since it was applied; its path then.
        Moved(from: String) => Code::Inventory.says(format!(
            "the file was {from} when it was applied last. Its inventory is used for the new path."
        )),
        /// It cannot be written, and the run has nothing to write.
        NotWritable(why: String) => Code::InventoryLacks.says(format!(
            "this run cannot write the inventory ({why}). It creates, adopts and deletes nothing; the next run that can write \
             it records the rest."
        )),
        /// What changed since that commit, shortened, was applied is not known, and why.
        TooShort { applied: String, why: Cut } => Code::Inventory.says(match why {
            Cut::TooLarge => format!(
                "the versions of the file since commit {applied} was applied are too large to be read, so {UNTOLD}."
            ),
            Cut::Shallow | Cut::Missing => format!(
                "this checkout does not tell what changed since commit {applied} was applied, so {UNTOLD}.{}",
                match why {
                    Cut::Shallow => " Set fetch-depth: 0 in the checkout step, or run git fetch --unshallow.",
                    _ => "",
                }
            ),
        }),
    }

    /// Returns its cause, and what it says.
    fn said(&self, _at: &Address) -> Saying; impl Fact;
}

/// What it means that it is not known which commit deletes what.
pub const UNTOLD: &str = "a plan cannot tell which commit deletes what: one line Allow-Deletes has to cover all deletions";

/// Why it is not known what changed since the last apply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Cut {
    /// History was cut off when it was fetched.
    Shallow,
    /// The checkout lacks a commit or a version of the file.
    Missing,
    /// The versions of the file are too large.
    TooLarge,
}

/// Returns the command that fetches the inventory's branch.
fn fetch(branch: &str) -> String {
    format!("git fetch origin +refs/heads/{branch}:refs/remotes/origin/{branch}")
}

facts! {
    /// What is to be said of the merge of a pull request.
    #[derive(Debug, Clone, PartialEq, Eq, Hash)]
    pub enum OfMerge {
        /// The base branch is not in the checkout: the plan is that of the branch.
        NoBase => Code::Merge.says(
            "this checkout does not have the base branch. The plan is for the file of this branch, not for the result of the merge. \
             Set fetch-depth: 0 in the checkout step."
        ),
        /// The checkout does not hold the commit that the branch started from.
        TooLittleHistory => Code::Merge.says(
            "the checkout does not hold the commit that the branch started from, so it is not known what a merge makes of \
             the file; set fetch-depth: 0 in the checkout step"
        ),
        /// The git binary of that version cannot tell what a merge makes of the file.
        OldGit(major: u32, minor: u32) => Code::Merge.says(format!(
            "git {major}.{minor} cannot tell what a merge makes of the file; git 2.38 and later can"
        )),
        /// The base has that many commits that the branch has not.
        Behind(number: usize) => Code::Merge.says(format!(
            "the branch is {} behind its base branch. The plan is for the result of the merge.",
            count(*number, "commit", "commits")
        )),
    }

    /// Returns its cause, and what it says.
    fn said(&self, _at: &Address) -> Saying; impl Fact;
}
