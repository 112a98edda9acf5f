//! The scratch repository: a bare one of ours, with the objects of the checkout.

mod leftovers;

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::{GitCommand, GitError, Result};
use crate::base::text::file_error;

/// Where a command in the scratch repository finds objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ObjectStore {
    /// In the checkout; for commands that only read.
    Checkout,
    /// In the scratch repository, which borrows the checkout's; for commands that write.
    Scratch,
}

/// The repository; its directory goes when it is dropped.
#[derive(Debug)]
pub(super) struct Scratch {
    dir: TempDir,
    /// Locked while the run lives.
    _owner: File,
    objects: PathBuf,
}

impl Scratch {
    /// Makes one that borrows `objects`. `boundary` is the checkout's file of shallow commits, if it has one.
    pub(super) fn new(objects: PathBuf, boundary: &Path, sha256: bool) -> Result<Self> {
        let refuse = |error: io::Error| {
            let why = file_error(&error);
            GitError::new(format!("cannot make a temporary directory for git: {why}"))
                .hint("TMPDIR chooses the directory of temporary files")
        };
        let (dir, owner) = leftovers::directory().map_err(refuse)?;
        let config = if sha256 {
            "[core]\n\trepositoryformatversion = 1\n\tbare = true\n[extensions]\n\tobjectformat = sha256\n"
        } else {
            "[core]\n\trepositoryformatversion = 0\n\tbare = true\n"
        };
        let fill = || {
            let root = dir.path();
            fs::create_dir_all(root.join("objects/info"))?;
            fs::create_dir(root.join("refs"))?;
            fs::write(root.join("HEAD"), "ref: refs/heads/none\n")?;
            fs::write(root.join("config"), config)?;
            fs::write(root.join("objects/info/alternates"), quoted(&objects))?;
            if boundary.is_file() {
                fs::copy(boundary, root.join("shallow"))?;
            }
            Ok(())
        };
        fill().map_err(refuse)?;
        Ok(Scratch {
            dir,
            _owner: owner,
            objects,
        })
    }

    /// A git command in it.
    pub(super) fn command(&self, objects: ObjectStore) -> GitCommand {
        let mut command = GitCommand::in_scratch(self.dir.path());
        if objects == ObjectStore::Checkout {
            command.env("GIT_OBJECT_DIRECTORY", &self.objects);
        }
        command
    }
}

/// A line of `info/alternates`; quoted, since a path may have a newline in it.
fn quoted(path: &Path) -> Vec<u8> {
    let mut line = vec![b'"'];
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'\n' => line.extend(b"\\n"),
            b'"' | b'\\' => line.extend([b'\\', *byte]),
            _ => line.push(*byte),
        }
    }
    line.extend(b"\"\n");
    line
}
