//! What is to be said of the file's history, and of the merge that a pull request stands for.

/// Why there is no history.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum NoHistory {
    /// The file is in no git checkout.
    NotACheckout,
    /// There is no git to ask.
    NoGit,
    /// The checkout has no commit yet.
    NoCommit,
}

/// What is to be said of the file's history.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum OfHistory {
    /// There is none.
    None(NoHistory),
    /// It was cut off when it was fetched.
    Shallow,
    /// No commit has the file.
    NoVersion {
        /// The newest commit, shortened.
        tip: String,
        /// Where it was looked for.
        paths: Vec<String>,
    },
    /// Versions cannot be read.
    Unread {
        /// How many.
        number: usize,
        /// The commit of the newest, shortened.
        newest: String,
        /// What is wrong with that one.
        why: String,
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
