//! What is to be said of the inventory, of the commits since the last apply, and of the merge that a pull request stands for.

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
