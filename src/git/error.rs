//! Why git could not be asked, in git's own words.

use std::fmt;
use std::io;

use super::{RepoPath, Sha};
use crate::base::text::{file_error, is_hidden, joined};

/// A git command that did not do what it should.
#[derive(Debug)]
pub struct GitError {
    /// In words, with what to do in a line of its own.
    text: String,
    /// The binary is not there.
    pub(super) no_git: bool,
    too_big: bool,
}

impl GitError {
    pub(crate) fn new(text: impl Into<String>) -> Self {
        GitError {
            text: text.into(),
            no_git: false,
            too_big: false,
        }
    }

    /// A version of a file that is not read.
    pub(super) fn too_big(path: &RepoPath, commit: &Sha) -> Self {
        let text = format!("{path} is larger than 10 MiB in commit {}", commit.short());
        GitError {
            too_big: true,
            ..GitError::new(text).hint("larger files are not read: no network needs that much")
        }
    }

    pub(super) fn hint(mut self, hint: &str) -> Self {
        self.text += &format!("\nhint: {hint}");
        self
    }

    /// The binary could not be started.
    pub(super) fn start(error: &io::Error) -> Self {
        GitError {
            no_git: error.kind() == io::ErrorKind::NotFound,
            ..GitError::new(format!("cannot run git: {}", file_error(error)))
        }
    }

    /// It ran and complained.
    pub(super) fn refused(command: &str, said: &[u8], dir: &str) -> Self {
        let said = String::from_utf8_lossy(said);
        let seen = |line: &str| line.chars().filter(|c| !is_hidden(*c)).collect();
        let lines = said.lines().map(seen);
        let is_told = |line: &String| !line.trim().is_empty() && !line.starts_with("hint:");
        let said = joined(lines.filter(is_told), "\n");
        let is_it = |words: &&[&str]| words.iter().any(|word| said.contains(word));
        let row = HINTS.iter().find(|(words, _)| is_it(words));
        let said = if said.is_empty() {
            "no reason given"
        } else {
            &said
        };
        let error = GitError::new(format!("git {command} failed: {said}"));
        match row {
            Some((_, hint)) => error.hint(&hint.replace("DIR", dir)),
            None => error,
        }
    }

    /// Is it a file that a gate refuses (exit code 3)?
    pub fn is_too_big(&self) -> bool {
        self.too_big
    }
}

impl fmt::Display for GitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for GitError {}

/// What to do about the failures that people meet, by git's words. The first row counts.
const HINTS: &[(&[&str], &str)] = &[
    (
        &["dubious ownership"],
        "the checkout belongs to another user; if it is the job's own, run git config --global --add safe.directory DIR before \
         this, in the same container",
    ),
    (
        &["not a git repository"],
        "there is a .git here that git does not accept: clone again, or remove it",
    ),
    (
        &["safe.bareRepository", "must be run in a work tree"],
        "run it in a work tree, not in a bare repository",
    ),
    (
        &[
            "missing",
            "promisor",
            "bad object",
            "bad file",
            "not our ref",
            "lazy",
            "could not get object info",
        ],
        MISSING_OBJECTS,
    ),
];

/// The way out where the checkout lacks objects.
const MISSING_OBJECTS: &str = "the checkout does not hold all objects; fetch all of it: fetch-depth: 0 and no filter \
     in the checkout step; in a clone of yours, git fetch --refetch --no-filter";
