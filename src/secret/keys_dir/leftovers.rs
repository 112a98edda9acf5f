//! What runs that were killed leave in the directory: files of theirs that were never renamed.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use crate::base::text::file_error;
use tempfile::NamedTempFile;

const PREFIX: &str = ".netbird-gitops-";
const SUFFIX: &str = ".tmp";

/// Opens a new file in the directory; its name is hidden and unlike any sealed file's, its mode 0600. It is locked while
/// its run lives, so that nobody takes it for a leftover.
pub(super) fn temporary(dir: &Path) -> io::Result<NamedTempFile> {
    loop {
        let file = tempfile::Builder::new()
            .prefix(PREFIX)
            .suffix(SUFFIX)
            .tempfile_in(dir)?;
        match file.as_file().lock() {
            // another run may have taken it for a leftover before it was locked
            Ok(()) if fs::symlink_metadata(file.path()).is_err() => {}
            Err(error) if error.kind() != io::ErrorKind::Unsupported => return Err(error),
            _ => return Ok(file),
        }
    }
}

/// Returns whether a file of that name is one that a run writes before it renames it.
pub fn is_temporary(name: &str) -> bool {
    name.starts_with(PREFIX) && name.ends_with(SUFFIX)
}

/// Removes what killed runs left in a keys directory. Files of runs that are at work stay: theirs are locked.
pub fn remove_leftovers(dir: &Path) {
    let entries = fs::read_dir(dir).into_iter().flatten();
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    for name in names.filter(|name| is_temporary(name)) {
        let path = dir.join(name);
        let free =
            File::open(&path).and_then(|file| file.try_lock().map_err(Into::into).map(|()| file));
        // locked until it is removed, so that its run, if it is just being made, sees that
        if let Ok(_locked) = free
            && let Err(error) = fs::remove_file(&path)
        {
            log::warn!(
                "a file of a run that was killed stays, {}: {}",
                path.display(),
                file_error(&error)
            );
        }
    }
}
