//! Why git could not be asked, in git's own words.

use std::fmt;
use std::io;

use super::{RepoPath, Sha};
use crate::base::text::{file_error, is_hidden};

/// A git command that did not do what it should.
#[derive(Debug)]
pub struct GitError {
    text: String,
    hint: Option<String>,
    no_git: bool,
    too_big: bool,
}

impl GitError {
    pub(crate) fn new(text: impl Into<String>) -> Self {
        GitError {
            text: text.into(),
            hint: None,
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

    pub(super) fn hint(self, hint: impl Into<String>) -> Self {
        GitError {
            hint: Some(hint.into()),
            ..self
        }
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
        let said: Vec<String> = said
            .lines()
            .map(|line| line.chars().filter(|c| !is_hidden(*c)).collect::<String>())
            .filter(|line| !line.trim().is_empty() && !line.starts_with("hint:"))
            .collect();
        let said = said.join("\n");
        let row = HINTS
            .iter()
            .find(|(words, _)| words.iter().any(|word| said.contains(word)));
        let said = match said.as_str() {
            "" => "no reason given",
            said => said,
        };
        GitError {
            hint: row.map(|(_, hint)| hint.replace("DIR", dir)),
            ..GitError::new(format!("git {command} failed: {said}"))
        }
    }

    /// Returns whether git's words have that in them.
    pub(super) fn says(&self, words: &str) -> bool {
        self.text.contains(words)
    }

    /// Is it a file that a gate refuses (exit code 3)?
    pub fn is_too_big(&self) -> bool {
        self.too_big
    }

    pub(super) fn is_no_git(&self) -> bool {
        self.no_git
    }
}

impl fmt::Display for GitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)?;
        match &self.hint {
            Some(hint) => write!(f, "\nhint: {hint}"),
            None => Ok(()),
        }
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
