//! Files below the repository's root: looked at before the first is written, and written at once or not at all.

use std::fs::{self, Metadata};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use crate::base::files;
use crate::base::text::file_error;
use crate::check::edit;

/// The directory of a repository.
pub(super) struct Tree {
    root: PathBuf,
}

/// Why a path cannot be used, and the way out.
#[derive(Debug)]
pub(super) struct InTheWay {
    pub(super) what: String,
    pub(super) way_out: String,
}

impl Tree {
    pub(super) fn new(root: PathBuf) -> Tree {
        Tree { root }
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// Is there such a directory?
    pub(super) fn has_directory(&self, path: &str) -> bool {
        self.root.join(path).is_dir()
    }

    /// Returns what stands at a path; `None` where nothing does. A link anywhere on the way is refused: git stores the link,
    /// and neither the forge nor a job reads what it points to.
    pub(super) fn read(&self, path: &str) -> Result<Option<Vec<u8>>, InTheWay> {
        let unreadable = |shown: &str, error: &io::Error| InTheWay {
            what: format!("{shown}: {}", file_error(error)),
            way_out: format!("see who may read {shown}"),
        };
        let mut at = self.root.clone();
        let mut parts = path.split('/').peekable();
        while let Some(part) = parts.next() {
            at.push(part);
            let shown = at.strip_prefix(&self.root).unwrap_or(&at);
            let shown = shown.display().to_string();
            let found = match fs::symlink_metadata(&at) {
                Ok(found) => found,
                Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
                Err(error) => return Err(unreadable(&shown, &error)),
            };
            let is_last = parts.peek().is_none();
            if let Some(what) = unfit(&found, is_last) {
                let way_out = match found.is_symlink() {
                    true => format!("put what it points to in its place, or remove it: rm {shown}"),
                    false => format!("move it: mv {shown} {shown}.old"),
                };
                return Err(InTheWay {
                    what: format!("{shown} is {what}"),
                    way_out,
                });
            }
        }
        let bytes = fs::read(&at);
        bytes.map(Some).map_err(|error| unreadable(path, &error))
    }

    /// Writes a file that is not there, at once or not at all; errors where one came meanwhile.
    pub(super) fn create(&self, path: &str, text: &[u8]) -> io::Result<()> {
        files::put(&self.root.join(path), text, true)
    }

    /// Puts a text in the place of a file that is there, with its mode.
    pub(super) fn overwrite(&self, path: &str, text: &[u8]) -> io::Result<()> {
        edit::replace(&self.root.join(path), text)
    }
}

/// What a thing is that should be a file, or on the way to one a directory; `None` where it is.
fn unfit(found: &Metadata, is_last: bool) -> Option<&'static str> {
    match (found.is_symlink(), found.is_dir(), found.is_file()) {
        (true, ..) => Some("a symbolic link"),
        (_, true, _) if is_last => Some("a directory, where a file belongs"),
        (_, _, true) if !is_last => Some("a file, where a directory belongs"),
        (_, true, _) | (_, _, true) => None,
        _ => Some("no file"),
    }
}
