//! What a merge of two commits would make of one file, without touching anything.
//!
//! A fork's author chooses what a merge would have to read: of a README of 100 MB that both sides changed, `git merge-tree`
//! takes gigabytes. So no other file is looked at, and of this one the sizes are asked before the contents. What both sides
//! changed is merged by git itself, as a forge would do it, in a tree of the scratch repository that holds nothing else.

use std::collections::BTreeSet;

use super::{Git, GitCommand, GitEntry, GitError, ObjectStore, RepoPath, Result, Sha};
use crate::base::text::visible;
use crate::model::notice::OfMerge;

/// The first git that has `merge-tree --write-tree`.
const FIRST: (u32, u32) = (2, 38);
/// The most lines that are merged. git takes about 200 bytes for each, and a file of 10 MiB may be nothing but lines.
const MAX_LINES: usize = 1_000_000;
/// The most common ancestors that are looked at; more than one are seldom, and then there are two.
const MAX_STARTS: usize = 8;

/// A pull request's merge, which nobody made yet: what it is about is the merge, not the branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergeView {
    /// The tip of the base branch.
    pub base: Sha,
    /// The tip of the pull request.
    pub head: Sha,
    /// The file.
    pub file: MergedFile,
    /// How many commits the base has that the head has not; none where history does not tell.
    pub behind: Option<usize>,
}

/// A file after a merge that nobody made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MergedFile {
    /// Its content.
    File(Vec<u8>),
    /// There would be none.
    Absent,
    /// Base and head changed the same lines of it.
    Conflict,
    /// The checkout or git does not tell.
    Untold(OfMerge),
}

impl MergeView {
    /// Returns what a reader of the plan should know of the merge.
    pub fn notices(&self) -> Vec<OfMerge> {
        let untold = match &self.file {
            MergedFile::Untold(why) => Some(why.clone()),
            _ => None,
        };
        let behind = self.behind.filter(|behind| *behind > 0);
        let behind = behind.map(OfMerge::Behind);
        untold.into_iter().chain(behind).collect()
    }
}

impl Git {
    /// Returns what merging `head` into `base` would make of the file at `path`; nothing is written to the checkout.
    ///
    /// Merge drivers, named by attributes, are not run: git's own merge of text is what counts. Errors where a version is
    /// too large to be read, and where git would look into other files: see [`moved`](Self::moved).
    pub fn merge_view(&self, base: &Sha, head: &Sha, path: &RepoPath) -> Result<MergeView> {
        let starts = self.merge_bases(base, head)?;
        // git merges several ancestors first; where all lead to one result, so does that
        let mut files = Vec::new();
        for start in starts.iter().take(MAX_STARTS) {
            let file = self.merge_from(start, base, head, path)?;
            if !files.contains(&file) {
                files.push(file);
            }
        }
        let file = match files.pop() {
            None => MergedFile::Untold(OfMerge::TooLittleHistory),
            Some(file) if files.is_empty() && starts.len() <= MAX_STARTS => file,
            Some(_) => MergedFile::Conflict,
        };
        let is_whole = !self.shallow && !starts.is_empty();
        let behind = is_whole.then(|| self.behind(base, head)).transpose()?;
        Ok(MergeView {
            base: base.clone(),
            head: head.clone(),
            file,
            behind,
        })
    }

    /// Returns what the merge makes of the file if `start` is the commit where the two parted.
    fn merge_from(
        &self,
        start: &Sha,
        base: &Sha,
        head: &Sha,
        path: &RepoPath,
    ) -> Result<MergedFile> {
        let [first, ours, theirs] = [start, base, head].map(|commit| self.entry(commit, path));
        let (first, ours, theirs) = (first?, ours?, theirs?);
        if first.is_none() && ours.is_some() != theirs.is_some() {
            let (new, other) = match ours {
                Some(_) => (base, head),
                None => (head, base),
            };
            self.moved(start, new, other, path)?;
        }
        let taken = match (first, ours, theirs) {
            (start, base, head) if base == head || start == base => head,
            (start, base, head) if start == head => base,
            (Some(first), Some(ours), Some(theirs))
                if [&first, &ours, &theirs]
                    .iter()
                    .all(|entry| entry.instead.is_none()) =>
            {
                return self.merge_contents([start, base, head], [first, ours, theirs], path);
            }
            // one changed what the other removed or made something else of, or each added its own
            _ => return Ok(MergedFile::Conflict),
        };
        match taken {
            None => Ok(MergedFile::Absent),
            Some(entry) => Ok(MergedFile::File(self.content(head, path, &entry)?)),
        }
    }

    /// Errors where the file is new in `new`, and a file that is gone from there was changed in `other` meanwhile: it may be
    /// the same one under its old name. git would compare their contents, of whatever size; after a merge or a rebase the
    /// question is gone.
    fn moved(&self, start: &Sha, new: &Sha, other: &Sha, path: &RepoPath) -> Result<()> {
        let paths = |to: &Sha, filter: &str| {
            let mut diff = self.scratch.command(ObjectStore::Checkout);
            diff.args("diff-tree -r -z --no-renames --name-only --no-commit-id".split(' '));
            let named = diff
                .args([filter, start.as_str(), to.as_str(), "--"])
                .run()?;
            Ok::<_, GitError>(String::from_utf8_lossy(&named).into_owned())
        };
        let gone = paths(new, "--diff-filter=D")?;
        if gone.is_empty() {
            return Ok(());
        }
        let changed = paths(other, "--diff-filter=M")?;
        let changed: BTreeSet<&str> = changed.split_terminator('\0').collect();
        match gone.split_terminator('\0').find(|name| changed.contains(name)) {
            None => Ok(()),
            Some(name) => Err(GitError::new(format!(
                "{path} is new in commit {}, which has no {} any more, and commit {} changed that one: whether it was \
                 renamed is not looked into",
                new.short(),
                visible(name),
                other.short()
            ))
            .hint("merge the base branch into this one, or rebase; then a plan can be made")),
        }
    }

    /// Merges three versions of the file as git would, alone in a tree of the scratch repository.
    fn merge_contents(
        &self,
        commits: [&Sha; 3],
        versions: [GitEntry; 3],
        path: &RepoPath,
    ) -> Result<MergedFile> {
        let version = GitCommand::in_checkout(&self.dir).args(["version"]).run()?;
        let version = parse_version(&String::from_utf8_lossy(&version));
        if version < FIRST {
            let (major, minor) = version;
            return Ok(MergedFile::Untold(OfMerge::OldGit(major, minor)));
        }
        for (commit, entry) in commits.into_iter().zip(&versions) {
            let content = self.content(commit, path, entry)?;
            if content.iter().filter(|byte| **byte == b'\n').count() > MAX_LINES {
                return Err(GitError::new(format!(
                    "{path} has more than {MAX_LINES} lines in commit {}: too many to merge",
                    commit.short()
                ))
                .hint("merge the base branch into this one, or rebase; then a plan can be made"));
            }
        }
        let [start, base, head] = versions.map(|entry| entry.id);
        let commit = |name: &str, from: &str, id: &Sha| {
            format!(
                "commit refs/{name}\ncommitter a <a> 0 +0000\ndata 0\n{from}M 100644 {id} file\n\n"
            )
        };
        let stream = commit("start", "", &start)
            + &commit("base", "from refs/start\n", &base)
            + &commit("head", "from refs/start\n", &head);
        let mut import = self.scratch.command(ObjectStore::Scratch);
        import.args(["fast-import", "--quiet", "--force"]);
        import.input(stream).run()?;
        let mut merge = self.scratch.command(ObjectStore::Scratch);
        merge.args("merge-tree --write-tree --no-messages refs/base refs/head".split(' '));
        let Some(tree) = merge.run_or_no()? else {
            return Ok(MergedFile::Conflict);
        };
        let tree = String::from_utf8_lossy(&tree).into_owned();
        let file = format!("{}:file", tree.trim_end());
        let mut read = self.scratch.command(ObjectStore::Scratch);
        let text = read.args(["cat-file", "blob", &file]).run()?;
        Ok(MergedFile::File(text))
    }

    /// Returns the commits at which the histories of the two part; none where this checkout has none.
    fn merge_bases(&self, a: &Sha, b: &Sha) -> Result<Vec<Sha>> {
        let mut command = self.scratch.command(ObjectStore::Checkout);
        command.args(["merge-base", "--all", a.as_str(), b.as_str()]);
        let found = command.run_or_no()?.unwrap_or_default();
        let found = String::from_utf8_lossy(&found).into_owned();
        Ok(found.lines().filter_map(Sha::parse).collect())
    }

    /// Returns the commit that both have in common; `None` where this checkout has none.
    pub fn merge_base(&self, a: &Sha, b: &Sha) -> Result<Option<Sha>> {
        Ok(self.merge_bases(a, b)?.into_iter().next())
    }

    /// Returns how many commits `base` has that `head` has not.
    fn behind(&self, base: &Sha, head: &Sha) -> Result<usize> {
        let (base, head) = (base.as_str(), head.as_str());
        let mut command = self.scratch.command(ObjectStore::Checkout);
        command.args(["rev-list", "--count", base, "--not", head, "--"]);
        let count = String::from_utf8_lossy(&command.run()?).trim().parse();
        count.map_err(|_| GitError::new("git rev-list --count answered no number"))
    }
}

/// `git version 2.39.5`, with more behind it on some systems.
fn parse_version(text: &str) -> (u32, u32) {
    let parts = text.split(|c: char| !c.is_ascii_digit());
    let mut numbers = parts.filter_map(|part| part.parse().ok());
    let mut next = || numbers.next().unwrap_or_default();
    (next(), next())
}
