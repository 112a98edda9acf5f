//! What a pull request is about: the merge, not the branch.

#[cfg(test)]
mod tests;

use crate::git::{Git, GitError, MergedFile, RepoPath, Sha};
use crate::model::notice::OfMerge;

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
    /// Returns why there is no plan of it, where the checkout or git is the cause.
    pub fn untold(&self) -> Option<OfMerge> {
        match self.file {
            MergedFile::File(_) | MergedFile::Absent | MergedFile::Conflict => None,
            MergedFile::TooLittleHistory => Some(OfMerge::TooLittleHistory),
            MergedFile::OldGit(major, minor) => Some(OfMerge::OldGit(major, minor)),
        }
    }

    /// Returns what a reader of the plan should know of the merge.
    pub fn notices(&self) -> Vec<OfMerge> {
        let others = !self.conflicts.is_empty() && self.file != MergedFile::Conflict;
        let conflicts = others.then(|| OfMerge::Conflicts(self.conflicts.clone()));
        let behind = self.behind.filter(|behind| *behind > 0);
        let untold = self.untold().into_iter();
        untold
            .chain(conflicts)
            .chain(behind.map(OfMerge::Behind))
            .collect()
    }
}

/// Returns what merging `head` into `base` would make of the file at `path`; nothing is written to the checkout.
pub fn merge_view(
    git: &Git,
    base: &Sha,
    head: &Sha,
    path: &RepoPath,
) -> Result<MergeView, GitError> {
    let (file, conflicts) = git.merge(base, head, path)?;
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
