//! What is to be said of the inventory, of the commits since the last apply, and of the merge that a pull request stands for.

use crate::base::text::count;

/// What is to be said of the inventory, and of the commits since the last apply.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum OfInventory {
    /// There is none yet.
    First,
    /// This clone does not have it; the branch that does.
    NotFetched(String),
    /// Whether there is one, nobody can tell.
    NotAsked {
        /// Why.
        why: &'static str,
        /// The branch that may have it.
        branch: String,
    },
    /// It cannot be read, and a plan is made without it.
    Unread {
        /// Why.
        why: String,
        /// The branch, where it helps to fetch it.
        branch: Option<String>,
    },
    /// That of another environment cannot be read.
    OtherUnread {
        /// The environment.
        environment: String,
        /// Why.
        why: String,
    },
    /// The file was moved since it was applied; its path then.
    Moved(String),
    /// It cannot be written, and the run has nothing to write.
    NotWritable(String),
    /// The checkout does not tell what changed since that commit was applied, shortened.
    TooShort {
        /// The commit that was applied last, shortened.
        applied: String,
        /// Whether history was cut off when it was fetched.
        is_shallow: bool,
    },
}

/// What is to be said of the merge of a pull request.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum OfMerge {
    /// The base branch is not in the checkout: the plan is that of the branch.
    NoBase,
    /// The checkout does not hold the commit that the branch started from.
    TooLittleHistory,
    /// The git binary of that version cannot tell what a merge makes of the file.
    OldGit(u32, u32),
    /// Other files conflict.
    Conflicts(Vec<String>),
    /// The base has that many commits that the branch has not.
    Behind(usize),
}

impl OfInventory {
    pub(super) fn words(&self) -> String {
        match self {
            OfInventory::First => "there is no inventory yet. The first apply makes it. Until then nothing is deleted, except by \
                                   --prune all."
                .into(),
            OfInventory::NotFetched(branch) => format!(
                "this clone has no inventory, so deletions are missing from this plan. Run: {}",
                fetch(branch)
            ),
            OfInventory::NotAsked { why, branch } => format!(
                "{why}. Before the first apply there is no inventory. After it, deletions are missing from this plan, and this \
                 fetches it: {}",
                fetch(branch)
            ),
            OfInventory::Unread { why, branch } => {
                let run = branch.as_deref().map(|branch| format!(" Run: {}", fetch(branch)));
                format!(
                    "the inventory cannot be read ({why}), so deletions are missing from this plan.{}",
                    run.unwrap_or_default()
                )
            }
            OfInventory::OtherUnread { environment, why } => format!(
                "the inventory of the environment {environment} cannot be read ({why}), so nothing is adopted by its name, and \
                 --prune all deletes only what the inventory has."
            ),
            OfInventory::Moved(from) => {
                format!("the file was {from} when it was applied last. The inventory follows it.")
            }
            OfInventory::NotWritable(why) => format!(
                "this run cannot write the inventory ({why}). It creates, adopts and deletes nothing; the next run that can write it writes down the rest."
            ),
            OfInventory::TooShort {
                applied,
                is_shallow,
            } => {
                let way_out = match is_shallow {
                    true => "; set fetch-depth: 0 in the checkout step, or run git fetch --unshallow",
                    false => "",
                };
                format!(
                    "this checkout does not tell what changed since commit {applied} was applied, so all deletions count as \
                     one change{way_out}"
                )
            }
        }
    }
}

/// Returns the command that fetches the inventory's branch.
fn fetch(branch: &str) -> String {
    format!("git fetch origin +refs/heads/{branch}:refs/remotes/origin/{branch}")
}

impl OfMerge {
    /// Returns what is said of a merge.
    pub(crate) fn words(&self) -> String {
        match self {
            OfMerge::NoBase => {
                "the base branch is not in this checkout, so the plan is that of the branch and not of the merge; set \
                 fetch-depth: 0 in the checkout step"
                    .into()
            }
            OfMerge::TooLittleHistory => {
                "the checkout does not hold the commit that the branch started from, so nobody can tell what a merge makes of \
                 the file; set fetch-depth: 0 in the checkout step"
                    .into()
            }
            OfMerge::OldGit(major, minor) => format!(
                "git {major}.{minor} cannot tell what a merge makes of the file; it takes git 2.38 or later"
            ),
            OfMerge::Conflicts(paths) => format!(
                "{} conflict with the base branch, this file does not",
                paths.join(", ")
            ),
            OfMerge::Behind(number) => format!(
                "the branch is {} behind its base; the plan is that of the merge",
                count(*number, "commit", "commits")
            ),
        }
    }
}
