//! The git checkout that holds the file, read through the git binary.
//!
//! A checkout is not trusted: its configuration and attributes may name programs, and git would run them. So only
//! discovery and the naming of commits happen in the checkout itself, by commands that run nothing. Everything else
//! runs in a *scratch* repository: a directory of ours that is thrown away, with a configuration of ours, that borrows
//! the checkout's objects. There is no hook, driver, filter, alias, pager or helper to run in it, and `git merge-tree`
//! writes its trees there, so that reading leaves the checkout as it is. The child's environment is made from a short
//! list of variables, so no token is in it, and nothing is ever fetched.

mod command;
mod error;
mod merge;
mod object;
mod path;
mod place;
mod scratch;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
pub mod versions;

use std::collections::BTreeMap;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, Weak};

pub use error::GitError;
pub use merge::{MergeView, MergedFile};
pub use object::{GitEntry, Message, Sha};
pub use path::RepoPath;
pub(crate) use path::has_git_above;

use crate::base::files::MAX_BYTES;
use command::GitCommand;
use object::mode_of;
use scratch::{ObjectStore, Scratch};

/// What git says, or why it could not be asked.
type Result<T, E = GitError> = std::result::Result<T, E>;

const UNPOISONED: &str = "nothing panics while it holds the lock";

/// What a directory turned out to be.
#[derive(Debug)]
pub enum Opened {
    /// In a git checkout.
    Checkout(Git),
    /// In none: there is no history.
    NotACheckout,
    /// The git binary is not on PATH, so it is not known: there is no history that could be read.
    NoGit,
}

/// A git checkout, open for reading. A clone is the same one.
#[derive(Debug, Clone)]
pub struct Git(Arc<Checkout>);

/// What is known of a checkout.
#[derive(Debug)]
pub struct Checkout {
    /// Root of the work tree, canonical.
    top: PathBuf,
    /// Where discovery started.
    dir: PathBuf,
    shallow: bool,
    scratch: Scratch,
    /// What commits have at paths, as far as it was asked: that never changes.
    entries: Mutex<BTreeMap<(Sha, RepoPath), Option<GitEntry>>>,
    /// Blobs that were read, as large together as one file may be.
    blobs: Mutex<BTreeMap<Sha, Vec<u8>>>,
    /// Which commit is an ancestor of which, as far as it was asked.
    ancestors: Mutex<BTreeMap<(Sha, Sha), bool>>,
}

impl Deref for Git {
    type Target = Checkout;

    fn deref(&self) -> &Checkout {
        &self.0
    }
}

/// The checkout that was opened last by the directory of a file, as long as somebody uses it.
static LAST: Mutex<Option<(PathBuf, Weak<Checkout>)>> = Mutex::new(None);

impl Git {
    /// Opens the checkout that `dir` is in; an empty path is the current directory.
    ///
    /// A directory that has no repository above it is not a checkout, and git is not asked; where there is one and git refuses
    /// (dubious ownership, damage) that is an error with git's own words, never "no checkout".
    pub fn open(dir: &Path) -> Result<Opened> {
        let dir = path::canonical(dir)?;
        if !path::has_git_above(&dir) {
            return Ok(match command::is_installed() {
                true => Opened::NotACheckout,
                false => Opened::NoGit,
            });
        }
        let real = |args: &[&str]| GitCommand::in_checkout(&dir).args(args).run();
        // the path last: it may have a newline, which the way up to the root has not
        let facts = "rev-parse --is-shallow-repository --show-object-format --is-inside-work-tree --show-cdup --git-path objects";
        let facts: Vec<&str> = facts.split(' ').collect();
        let facts = match real(&facts) {
            Err(error) if error.no_git => return Ok(Opened::NoGit),
            facts => facts?,
        };
        let mut facts = facts.splitn(5, |byte| *byte == b'\n');
        let shallow = facts.next() != Some(b"false");
        let sha256 = facts.next() == Some(b"sha256");
        if facts.next() != Some(b"true") {
            let text = format!(
                "{} is in a git repository, but in no work tree of it",
                dir.display()
            );
            return Err(GitError::new(text));
        }
        let mut path = || path::from_output(facts.next().unwrap_or_default().to_owned());
        let (up, objects) = (path()?, path()?);
        let (top, objects) = (dir.join(up), dir.join(objects));
        let boundary = objects.with_file_name("shallow");
        let objects = path::canonical(&objects)?;
        Ok(Opened::Checkout(Git(Arc::new(Checkout {
            top: path::canonical(&top)?,
            dir,
            shallow,
            scratch: Scratch::new(objects, &boundary, sha256)?,
            entries: Mutex::default(),
            blobs: Mutex::default(),
            ancestors: Mutex::default(),
        }))))
    }

    /// Returns whether history was cut off when it was fetched.
    pub fn is_shallow(&self) -> bool {
        self.shallow
    }

    /// Opens the checkout that the file at a path is in, or would be in. Whoever else reads it at this time has the same one.
    pub fn around(file: &Path) -> Result<Opened> {
        let dir = path::canonical(file.parent().unwrap_or(Path::new("")))?;
        let mut last = LAST.lock().expect(UNPOISONED);
        let known = last.as_ref().filter(|(known, _)| *known == dir);
        if let Some(checkout) = known.and_then(|(_, checkout)| checkout.upgrade()) {
            return Ok(Opened::Checkout(Git(checkout)));
        }
        let opened = Git::open(&dir)?;
        if let Opened::Checkout(git) = &opened {
            *last = Some((dir, Arc::downgrade(&git.0)));
        }
        Ok(opened)
    }

    /// Returns the path inside the checkout of a file that is named relative to the current directory.
    ///
    /// The file need not exist. A link in its directories is followed; the file itself may be one, and is not.
    pub fn locate(&self, file: &Path) -> Result<RepoPath> {
        path::locate(&self.top, file)
    }

    /// Returns the commit that is checked out; `None` where there is no commit yet.
    pub fn head(&self) -> Result<Option<Sha>> {
        if let Some(sha) = self.find("HEAD")? {
            return Ok(Some(sha));
        }
        // on a branch that has no commit; a HEAD that is detached and missing is damage
        GitCommand::in_checkout(&self.dir)
            .args(["symbolic-ref", "-q", "HEAD"])
            .run()
            .map(|_| None)
            .map_err(|_| GitError::new("cannot read HEAD: it names no commit"))
    }

    /// Returns the commit that `rev` names: a branch, a tag, `origin/main`, a hash, anything `git rev-parse` knows.
    pub fn resolve(&self, rev: &str) -> Result<Sha> {
        self.find(rev)?.ok_or_else(|| {
            let hint = if self.shallow {
                "the checkout is shallow; in CI, set fetch-depth: 0 of the checkout step"
            } else {
                "in CI, a branch other than the one checked out is origin/NAME"
            };
            GitError::new(format!("git knows no commit {rev:?}")).hint(hint)
        })
    }

    /// Returns the commit that `rev` names; `None` where there is none.
    ///
    /// The name goes through stdin, where a leading dash means nothing.
    pub fn find(&self, rev: &str) -> Result<Option<Sha>> {
        if rev.is_empty() || rev.contains(['\n', '\0']) {
            return Ok(None);
        }
        let answer = GitCommand::in_checkout(&self.dir)
            .args(["cat-file", "--batch-check=%(objectname) %(objecttype)"])
            .input(format!("{rev}^{{commit}}\n"))
            .run()?;
        let answer = String::from_utf8_lossy(&answer).into_owned();
        let sha = answer.trim_end().strip_suffix(" commit");
        Ok(sha.and_then(Sha::parse))
    }

    /// Returns what `commit` has at `path`.
    pub fn entry(&self, commit: &Sha, path: &RepoPath) -> Result<Option<GitEntry>> {
        let asked = (commit.clone(), path.clone());
        let known = |known: &BTreeMap<_, _>| known.get(&asked).cloned();
        if let Some(entry) = known(&self.entries.lock().expect(UNPOISONED)) {
            return Ok(entry);
        }
        let entry = self.listed(commit, path)?;
        let mut entries = self.entries.lock().expect(UNPOISONED);
        entries.insert(asked, entry.clone());
        Ok(entry)
    }

    fn listed(&self, commit: &Sha, path: &RepoPath) -> Result<Option<GitEntry>> {
        let (tree, path) = (commit.as_str(), path.as_str());
        let mut command = self.scratch.command(ObjectStore::Checkout);
        command.args(["ls-tree", "-l", "-z", "--full-tree", tree, "--", path]);
        let found = String::from_utf8_lossy(&command.run()?).into_owned();
        let Some((facts, _)) = found.split_once('\t') else {
            return Ok(None);
        };
        let facts: Vec<&str> = facts.split_ascii_whitespace().collect();
        let [mode, _, id, size] = facts[..] else {
            return Err(GitError::new(format!("git ls-tree answered {found:?}")));
        };
        Ok(Sha::parse(id).map(|id| GitEntry {
            id,
            instead: mode_of(mode),
            // of an object that the checkout lacks git says BAD
            size: size.parse().ok(),
        }))
    }

    /// Returns whether a link or a submodule on the way to a file, or in its place, is in one of two commits only, or leads
    /// elsewhere in the other. The file is named as by [`locate`](Self::locate).
    pub fn leads_elsewhere(&self, one: &Sha, other: &Sha, file: &Path) -> Result<bool> {
        let Some(path) = path::named(&self.top, file) else {
            return Ok(false);
        };
        let ends = path.match_indices('/').map(|(at, _)| at);
        for end in ends.chain([path.len()]) {
            let Some(part) = RepoPath::parse(&path[..end]) else {
                return Ok(false);
            };
            let (one, other) = (self.entry(one, &part)?, self.entry(other, &part)?);
            if one != other && [&one, &other].into_iter().flatten().any(GitEntry::is_link) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns the file that `commit` has at `path`, byte by byte as committed; `None` where it has none.
    ///
    /// Errors where it has more than 10 MiB, before it is read.
    pub fn show(&self, commit: &Sha, path: &RepoPath) -> Result<Option<Vec<u8>>> {
        match self.entry(commit, path)? {
            None => Ok(None),
            Some(entry) => self.content(commit, path, &entry).map(Some),
        }
    }

    /// Checks that what `commit` has at `path`, if anything, is a file.
    pub fn has_no_other(&self, commit: &Sha, path: &RepoPath) -> Result<()> {
        let entry = self.entry(commit, path)?;
        entry.map_or(Ok(()), |entry| is_file(commit, path, &entry))
    }

    /// Returns the blob of an entry. Its size is known before: a file of 3 GB can be 13 MB in a repository.
    fn content(&self, commit: &Sha, path: &RepoPath, entry: &GitEntry) -> Result<Vec<u8>> {
        is_file(commit, path, entry)?;
        let GitEntry { id, size, .. } = entry;
        if size.is_some_and(|size| size > MAX_BYTES) {
            return Err(GitError::too_big(path, commit));
        }
        if let Some(content) = self.blobs.lock().expect(UNPOISONED).get(id) {
            return Ok(content.clone());
        }
        let mut command = self.scratch.command(ObjectStore::Checkout);
        let content = command.args(["cat-file", "blob", id.as_str()]).run()?;
        let mut blobs = self.blobs.lock().expect(UNPOISONED);
        let held: usize = blobs.values().map(Vec::len).sum();
        if held + content.len() <= MAX_BYTES {
            blobs.insert(id.clone(), content.clone());
        }
        Ok(content)
    }

    /// Returns the commits from `first`, a first-parent ancestor of `tip`, to `tip`, along first parents, newest first.
    pub fn messages(&self, first: &Sha, tip: &Sha) -> Result<Vec<Message>> {
        let mut log = self.scratch.command(ObjectStore::Checkout);
        let before = format!("{first}^@");
        log.args(
            "log -z --encoding=UTF-8 --format=tformat:%H%n%P%n%an%n%B --first-parent".split(' '),
        );
        log.args([tip.as_str(), "--not", &before, "--"]);
        let log = String::from_utf8_lossy(&log.run()?).into_owned();
        let messages = log.split('\0').filter_map(|record| {
            let mut lines = record.splitn(4, '\n');
            Some(Message {
                commit: Sha::parse(lines.next()?)?,
                parents: lines.next()?.split_whitespace().count(),
                author: lines.next()?.to_owned(),
                text: lines.next()?.to_owned(),
            })
        });
        Ok(messages.collect())
    }

    /// Returns the commits along the first parents of `tip` that changed one of these files, the newest first, each with its
    /// second since 1970. `from`: none that is an ancestor of that one, nor itself; `most`: no more than that.
    pub fn changes(
        &self,
        from: Option<&Sha>,
        tip: &Sha,
        paths: &[&RepoPath],
        most: usize,
    ) -> Result<Vec<(Sha, i64)>> {
        let mut log = self.scratch.command(ObjectStore::Checkout);
        log.args("log --first-parent -m --format=tformat:%H%x20%ct".split(' '));
        log.args([format!("--max-count={most}"), tip.as_str().to_owned()]);
        log.args(from.map(|from| format!("^{from}")));
        log.args(["--"])
            .args(paths.iter().map(|path| path.as_str()));
        let text = String::from_utf8_lossy(&log.run()?).into_owned();
        let commit = |line: &str| {
            let (sha, second) = line.split_once(' ')?;
            Some((Sha::parse(sha)?, second.parse().ok()?))
        };
        Ok(text.lines().filter_map(commit).collect())
    }

    /// Returns whether `old` is `new` or an ancestor of it. Errors where the checkout lacks one of them.
    pub fn is_ancestor(&self, old: &Sha, new: &Sha) -> Result<bool> {
        let asked = (old.clone(), new.clone());
        let known = self
            .ancestors
            .lock()
            .expect(UNPOISONED)
            .get(&asked)
            .copied();
        if let Some(is_ancestor) = known {
            return Ok(is_ancestor);
        }
        let mut command = self.scratch.command(ObjectStore::Checkout);
        command.args(["merge-base", "--is-ancestor", old.as_str(), new.as_str()]);
        let is_ancestor = command.run_or_no()?.is_some();
        let mut ancestors = self.ancestors.lock().expect(UNPOISONED);
        ancestors.insert(asked, is_ancestor);
        Ok(is_ancestor)
    }

    /// Returns the file that `commit` has at the first of these paths where it has one. What is larger than 10 MiB counts as none.
    pub fn version(&self, commit: &Sha, paths: &[&RepoPath]) -> Result<Option<Vec<u8>>> {
        for path in paths {
            if let Some(entry) = self.entry(commit, path)?
                && entry.instead.is_none()
            {
                return match self.content(commit, path, &entry) {
                    Err(error) if error.is_too_big() => Ok(None),
                    text => text.map(Some),
                };
            }
        }
        Ok(None)
    }

    /// Returns the names of what a folder holds in `commit`; none where it is not there.
    pub fn folder(&self, commit: &Sha, folder: &str) -> Result<Vec<String>> {
        let mut command = self.scratch.command(ObjectStore::Checkout);
        let inside = format!("{}/", folder.trim_end_matches('/'));
        command.args("ls-tree -z --full-tree --name-only".split(' '));
        command.args([commit.as_str(), "--", &inside]);
        let found = String::from_utf8_lossy(&command.run()?).into_owned();
        let names = found
            .split('\0')
            .filter_map(|path| path.strip_prefix(&inside));
        Ok(names.map(str::to_owned).collect())
    }
}

fn is_file(commit: &Sha, path: &RepoPath, entry: &GitEntry) -> Result<()> {
    let Some(what) = entry.instead else {
        return Ok(());
    };
    let commit = commit.short();
    let text = format!("{path} is {what} in commit {commit}, not a file");
    let hint = "commit the file itself at this path: what is behind it has no history here";
    Err(GitError::new(text).hint(hint))
}
