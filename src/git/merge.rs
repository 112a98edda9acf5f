//! What a merge of two commits would make of a file, without touching anything.

use super::scratch::Objects;
use super::{Entry, Git, GitError, RepoPath, Sha};

/// The first git that has `merge-tree --write-tree`.
const FIRST: (u32, u32) = (2, 38);

/// A file after a merge that nobody made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MergedFile {
    /// Its content.
    File(Vec<u8>),
    /// There would be none.
    Absent,
    /// Base and head changed the same lines of it.
    Conflict,
    /// The two have no common ancestor in this checkout: it is shallow, or they never had one.
    TooLittleHistory,
    /// The git binary is too old for `merge-tree --write-tree`, which takes 2.38; its version.
    OldGit(u32, u32),
}

impl Git {
    /// Returns what merging `head` into `base` makes of the file at `path`, and all paths that conflict, sorted.
    ///
    /// Merge drivers, named by attributes, are not run: git's own merge of text is what counts.
    pub fn merge(
        &self,
        base: &Sha,
        head: &Sha,
        path: &RepoPath,
    ) -> Result<(MergedFile, Vec<String>), GitError> {
        if self.version < FIRST {
            let (major, minor) = self.version;
            return Ok((MergedFile::OldGit(major, minor), Vec::new()));
        }
        if self.merge_base(base, head)?.is_none() {
            return Ok((MergedFile::TooLittleHistory, Vec::new()));
        }
        let mut command = self.scratch.command(Objects::Scratch);
        command.args("merge-tree --write-tree -z --name-only --no-messages".split(' '));
        let output = command.args([base.as_str(), head.as_str()]).output()?;
        let refused = || Err(command.refused(&output.stderr));
        if !matches!(output.status.code(), Some(0 | 1)) {
            return refused();
        }
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let mut parts = text.split('\0').filter(|part| !part.is_empty());
        let Some(tree) = parts.next().and_then(Sha::parse) else {
            return refused();
        };
        let mut conflicts: Vec<String> = parts.map(str::to_owned).collect();
        conflicts.sort();
        conflicts.dedup();
        if conflicts.iter().any(|name| name == path.as_str()) {
            return Ok((MergedFile::Conflict, conflicts));
        }
        let file = match self.entry_in(Objects::Scratch, &tree, path)? {
            None => MergedFile::Absent,
            Some(Entry::File(id)) => MergedFile::File(self.blob(Objects::Scratch, &id)?),
            Some(Entry::Other(what)) => return Err(super::not_a_file(path, head, what)),
        };
        Ok((file, conflicts))
    }

    /// Returns the commit that both have in common; `None` where this checkout has none.
    pub fn merge_base(&self, a: &Sha, b: &Sha) -> Result<Option<Sha>, GitError> {
        let mut command = self.scratch.command(Objects::Checkout);
        let output = command
            .args(["merge-base", a.as_str(), b.as_str()])
            .output()?;
        match output.status.code() {
            Some(0) => {
                let text = String::from_utf8_lossy(&output.stdout).into_owned();
                Ok(Sha::parse(text.lines().next().unwrap_or_default()))
            }
            Some(1) => Ok(None),
            _ => Err(command.refused(&output.stderr)),
        }
    }

    /// Returns how many commits `base` has that `head` has not.
    pub fn behind(&self, base: &Sha, head: &Sha) -> Result<usize, GitError> {
        let (base, head) = (base.as_str(), head.as_str());
        let mut command = self.scratch.command(Objects::Checkout);
        command.args(["rev-list", "--count", base, "--not", head, "--"]);
        let count = String::from_utf8_lossy(&command.run()?).trim().parse();
        count.map_err(|_| GitError::new("git rev-list --count answered no number"))
    }
}
