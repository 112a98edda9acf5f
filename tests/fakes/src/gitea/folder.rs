//! A folder of its own for the repositories of one fake.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::{fs, io, process};

/// A new folder for temporary files. It goes when this is dropped.
pub(super) struct Folder(PathBuf);

impl Folder {
    pub(super) fn new() -> io::Result<Folder> {
        static NUMBERS: AtomicU32 = AtomicU32::new(0);
        loop {
            let number = NUMBERS.fetch_add(1, Ordering::Relaxed);
            let path = crate::in_memory().join(format!("fake-gitea-{}-{number}", process::id()));
            match fs::create_dir(&path) {
                Ok(()) => return Ok(Folder(path)),
                // Left behind by an earlier process of this number.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What cannot be removed is left to whoever cleans the folder of temporary files.
        let _ = fs::remove_dir_all(&self.0);
    }
}
