//! Files below the repository's root: looked at before the first is written, and written at once or not at all.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::PathBuf;

use super::files::File;
use crate::base::{file_error, files};
use crate::commands::Failure;

/// The directory of a repository.
pub(super) struct Root(pub(super) PathBuf);

impl Root {
    /// Is there such a directory?
    pub(super) fn has_directory(&self, path: &str) -> bool {
        self.0.join(path).is_dir()
    }

    /// Returns what stands at a path; `None` where nothing does. A link anywhere on the way is refused: git stores the link,
    /// and neither the forge nor a job reads what it points to.
    pub(super) fn read(&self, path: &str) -> Result<Option<Vec<u8>>, Failure> {
        let unreadable = |shown: &str, error: &io::Error| {
            let text = format!("{shown}: {}", file_error(error));
            Failure::error(text).hint(format!("see who may read {shown}"))
        };
        let parts = path.match_indices('/').map(|(at, _)| &path[..at]);
        for shown in parts.chain([path]) {
            let found = match fs::symlink_metadata(self.0.join(shown)) {
                Ok(found) => found,
                Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
                Err(error) => return Err(unreadable(shown, &error)),
            };
            let what = match (found.is_dir(), found.is_file(), shown == path) {
                (true, _, false) | (_, true, true) => continue,
                _ if found.is_symlink() => "a symbolic link",
                (true, ..) => "a directory, where a file belongs",
                (_, true, _) => "a file, where a directory belongs",
                _ => "neither a file nor a directory",
            };
            let way_out = match found.is_symlink() {
                true => format!("put what it points to in its place, or remove it: rm {shown}"),
                false => format!("move it: mv {shown} {shown}.old"),
            };
            return Err(Failure::error(format!("{shown} is {what}")).hint(way_out));
        }
        let bytes = fs::read(self.0.join(path));
        bytes.map(Some).map_err(|error| unreadable(path, &error))
    }

    /// Writes a file, at once or not at all; errors where a new one is there meanwhile. One that is there keeps its mode.
    pub(super) fn write(&self, file: &File) -> Result<(), Failure> {
        let path = self.0.join(&file.path);
        let written = match &file.text {
            Some(text) => files::put(&path, text, file.diff.is_none()),
            None => Ok(()),
        };
        let hint = "run init again: what is written stays, and counts as unchanged";
        written.map_err(|error| Failure::of_file("write", &path, &error).hint(hint))
    }
}
