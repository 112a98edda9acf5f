//! The versions of the file along first parents, as git lists them: which commit, when, which blob.

use crate::git::{Git, GitError, RepoPath, Sha, mode_of};

/// What a commit made of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Content {
    /// This blob.
    Blob(Sha),
    /// Nothing: at none of the paths is a file.
    Absent,
    /// A symbolic link, a directory or a submodule in its place.
    Other(&'static str),
}

/// A commit that changed the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Version {
    pub(super) commit: Sha,
    /// The committer's date, in seconds since 1970.
    pub(super) second: i64,
    pub(super) content: Content,
}

/// Returns the versions, oldest first. Of `paths`, the first one that a commit has is the file.
pub(super) fn versions(git: &Git, tip: &Sha, paths: &[RepoPath]) -> Result<Vec<Version>, GitError> {
    let log = git.log_raw(tip, paths)?;
    let changes =
        parse(&log).ok_or_else(|| GitError::new("git log answered in an unknown form"))?;
    let mut now: Vec<Content> = vec![Content::Absent; paths.len()];
    let mut versions: Vec<Version> = Vec::new();
    for change in changes.into_iter().rev() {
        for (path, content) in change.paths {
            let places = paths
                .iter()
                .position(|known| known.as_str().as_bytes() == path);
            if let Some(place) = places {
                now[place] = content;
            }
        }
        let content = now.iter().find(|content| **content != Content::Absent);
        let content = content.cloned().unwrap_or(Content::Absent);
        let before = versions.last().map(|version| &version.content);
        if before.unwrap_or(&Content::Absent) != &content {
            versions.push(Version {
                commit: change.commit,
                second: change.second,
                content,
            });
        }
    }
    Ok(versions)
}

struct LogEntry<'a> {
    commit: Sha,
    second: i64,
    paths: Vec<(&'a [u8], Content)>,
}

/// Parses `git log --raw -z --format='%H %ct'`: a commit is `HASH SECOND`, then for each path two fields,
/// `:MODE MODE BLOB BLOB STATUS` (the first with a newline before it) and the path; all of them end in NUL.
fn parse(log: &[u8]) -> Option<Vec<LogEntry<'_>>> {
    let mut changes: Vec<LogEntry<'_>> = Vec::new();
    let mut fields = log.split(|b| *b == 0);
    while let Some(field) = fields.next() {
        let field = field.strip_prefix(b"\n").unwrap_or(field);
        if field.is_empty() {
            continue;
        }
        let text = std::str::from_utf8(field).ok()?;
        let Some(raw) = text.strip_prefix(':') else {
            let (commit, second) = text.split_once(' ')?;
            changes.push(LogEntry {
                commit: Sha::parse(commit)?,
                second: second.parse().ok()?,
                paths: Vec::new(),
            });
            continue;
        };
        let words: Vec<&str> = raw.split(' ').collect();
        let [_, mode, _, blob, _] = words[..] else {
            return None;
        };
        let blob = Sha::parse(blob)?;
        let content = match mode_of(mode) {
            Some(other) => Content::Other(other),
            None if mode == "000000" => Content::Absent,
            None => Content::Blob(blob),
        };
        changes.last_mut()?.paths.push((fields.next()?, content));
    }
    Some(changes)
}
