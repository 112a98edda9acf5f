//! Paths: from what the user typed to what git calls the file.

use std::fmt;
use std::path::{Component, Path, PathBuf};

use super::{GitError, Result};
use crate::base::text::{file_error, visible};

/// A file's path from the root of the checkout, with slashes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RepoPath(String);

impl RepoPath {
    /// The path that git writes so; `None` of one with a line break, which no list of paths can hold.
    pub fn parse(path: &str) -> Option<RepoPath> {
        (!path.is_empty() && !path.contains(['\n', '\0'])).then(|| RepoPath(path.to_owned()))
    }

    /// The path as git writes it.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RepoPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Resolves links and dots; an empty path is the current directory.
pub(super) fn canonical(path: &Path) -> Result<PathBuf> {
    let path = if path.as_os_str().is_empty() {
        Path::new(".")
    } else {
        path
    };
    path.canonicalize().map_err(|error| {
        let why = file_error(&error);
        GitError::new(format!("cannot open {}: {why}", path.display()))
    })
}

/// Returns whether `dir` or a directory above it has a `.git`, or is a repository itself.
pub(crate) fn has_git_above(dir: &Path) -> bool {
    dir.ancestors().any(|dir| {
        let has = |name: &str| dir.join(name).symlink_metadata().is_ok();
        has(".git") || (has("HEAD") && has("objects"))
    })
}

/// A path that git printed, with the newline behind it.
pub(super) fn from_output(mut output: Vec<u8>) -> Result<PathBuf> {
    if output.last() == Some(&b'\n') {
        output.pop();
    }
    match String::from_utf8(output) {
        Ok(path) => Ok(PathBuf::from(path)),
        Err(error) => Err(not_utf8(&String::from_utf8_lossy(error.as_bytes()))),
    }
}

/// The path below `top`, the canonical root, of a file that need not exist.
pub(super) fn locate(top: &Path, file: &Path) -> Result<RepoPath> {
    let (shown, root) = (file.display(), top.display());
    let name = file.file_name();
    let name = name.ok_or_else(|| GitError::new(format!("{shown} does not name a file")))?;
    let directory = lexical(file.parent().unwrap_or(Path::new("")))?;
    let below = directory
        .strip_prefix(top)
        .map_err(|_| GitError::new(format!("{shown} is outside the checkout {root}")))?;
    let parts = below.iter().chain([name]).map(|part| {
        let text = part.to_str();
        text.ok_or_else(|| not_utf8(&part.display().to_string()))
    });
    Ok(RepoPath(parts.collect::<Result<Vec<_>, _>>()?.join("/")))
}

/// The path below `top`, the canonical root, of a file as it is named: of its links none is followed that is below it. None of a
/// file that is elsewhere.
pub(super) fn named(top: &Path, file: &Path) -> Option<String> {
    let file = std::env::current_dir().ok()?.join(file);
    let above: Vec<&Path> = file.ancestors().collect();
    let mut above = above.into_iter().rev();
    let root = above.find(|dir| dir.canonicalize().is_ok_and(|dir| dir == top))?;
    let mut parts = Vec::new();
    for part in file.strip_prefix(root).ok()?.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => drop(parts.pop()),
            part => parts.push(part.as_os_str().to_str()?),
        }
    }
    Some(parts.join("/"))
}

/// Canonical as far as it exists; the rest (the directory of a file that moved away) word by word.
fn lexical(dir: &Path) -> Result<PathBuf> {
    let mut found = if dir.is_absolute() {
        PathBuf::new()
    } else {
        canonical(Path::new("."))?
    };
    for part in dir.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => drop(found.pop()),
            part => {
                found.push(part);
                found = found.canonicalize().unwrap_or(found);
            }
        }
    }
    Ok(found)
}

fn not_utf8(path: &str) -> GitError {
    let path = visible(path);
    GitError::new(format!("the path {path} holds bytes that are not UTF-8"))
        .hint("give the directory another name; git's other paths are texts too")
}
