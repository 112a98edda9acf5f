//! What a pull request is about: the merge, not the branch.

use crate::git::{Git, Merged, RepoPath, Sha};

use super::LedgerError;

/// The file as a merge would leave it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MergedFile {
    /// Its content.
    File(Vec<u8>),
    /// There would be none.
    Absent,
    /// Base and head changed the same lines of it.
    Conflict,
    /// The checkout is shallow, or the two have nothing in common.
    TooLittleHistory,
    /// The git binary cannot merge without a work tree (it takes 2.38); its version.
    OldGit(u32, u32),
}

/// A pull request's merge, which nobody made yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergeView {
    /// The tip of the base branch.
    pub base: Sha,
    /// The tip of the pull request.
    pub head: Sha,
    /// The file.
    pub file: MergedFile,
    /// Paths that conflict, sorted; the file may be among them or not.
    pub conflicts: Vec<String>,
    /// How many commits the base has that the head has not; none where history does not tell.
    pub behind: Option<usize>,
}

impl MergeView {
    /// Returns what a reader of the plan should know of the merge, and why there is no plan where there is none.
    pub fn notices(&self) -> Vec<String> {
        let mut notices = Vec::new();
        match &self.file {
            MergedFile::File(_) => {}
            MergedFile::Absent => notices.push("the merge would leave no such file".to_owned()),
            MergedFile::Conflict => notices.push(
                "the file conflicts with the base branch: merge or rebase, then there is a plan of the merge".to_owned(),
            ),
            MergedFile::TooLittleHistory => notices.push(
                "the checkout does not hold the commit that the branch started from, so nobody can tell what a merge \
                 makes of the file; set fetch-depth: 0 in the checkout step"
                    .to_owned(),
            ),
            MergedFile::OldGit(major, minor) => notices.push(format!(
                "git {major}.{minor} cannot tell what a merge makes of the file; it takes git 2.38 or later"
            )),
        }
        if !self.conflicts.is_empty() && self.file != MergedFile::Conflict {
            notices.push(format!(
                "{} conflict with the base branch, this file does not",
                self.conflicts.join(", ")
            ));
        }
        if let Some(behind) = self.behind.filter(|behind| *behind > 0) {
            let commits = if behind == 1 { "commit" } else { "commits" };
            notices.push(format!(
                "the branch is {behind} {commits} behind its base; the plan is that of the merge"
            ));
        }
        notices
    }
}

/// Returns what merging `head` into `base` would make of the file at `path`; nothing is written to the checkout.
pub fn merge_view(
    git: &Git,
    base: &Sha,
    head: &Sha,
    path: &RepoPath,
) -> Result<MergeView, LedgerError> {
    let (file, conflicts) = match git.merge(base, head, path)? {
        Merged::File(text, conflicts) => (MergedFile::File(text), conflicts),
        Merged::Absent(conflicts) => (MergedFile::Absent, conflicts),
        Merged::Conflict(conflicts) => (MergedFile::Conflict, conflicts),
        Merged::NoAncestor => (MergedFile::TooLittleHistory, Vec::new()),
        Merged::OldGit(major, minor) => (MergedFile::OldGit(major, minor), Vec::new()),
    };
    let whole = !git.is_shallow() && file != MergedFile::TooLittleHistory;
    let behind = match whole {
        true => Some(git.behind(base, head)?),
        false => None,
    };
    Ok(MergeView {
        base: base.clone(),
        head: head.clone(),
        file,
        conflicts,
        behind,
    })
}
