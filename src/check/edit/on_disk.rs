//! The same on a file on disk.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Write};
use std::path::Path;

use anyhow::{Result, anyhow};

use super::{Edit, mark_enrolled};
use crate::base::files;
use crate::base::text::file_error;
use crate::file::MAX_BYTES;

/// Marks keys in a file, as [`mark_enrolled`] does, and returns what became of it.
///
/// The new text takes the old one's place at once or not at all, with the old one's mode. Behind a symbolic link the
/// target is changed. A file with nothing to change is not touched.
pub fn mark_enrolled_file(path: &Path, names: &BTreeSet<String>) -> Result<Edit> {
    let shown = path.display();
    let unread = |error| anyhow!("cannot read {shown}: {}", file_error(&error));
    let target = fs::canonicalize(path).map_err(unread)?;
    let text = files::read(&target, MAX_BYTES as u64).map_err(unread)?;
    let edit = mark_enrolled(&shown.to_string(), &text, names)?;
    if !edit.flipped.is_empty() {
        let unwritten = |error| anyhow!("cannot write {shown}: {}", file_error(&error));
        replace(&target, &edit.text).map_err(unwritten)?;
    }
    Ok(edit)
}

/// Puts a text in the place of a file at once or not at all, with the file's mode. `target` is no symbolic link.
pub fn replace(target: &Path, text: &[u8]) -> io::Result<()> {
    // A path that canonicalize returned is absolute, and a file has a directory.
    let directory = target.parent().unwrap_or(Path::new("/"));
    let mut file = tempfile::Builder::new()
        .prefix(".netbird-gitops-")
        .tempfile_in(directory)?;
    file.write_all(text)?;
    file.as_file()
        .set_permissions(fs::metadata(target)?.permissions())?;
    file.as_file().sync_all()?;
    file.persist(target)?;
    // The rename, too. Where a directory cannot be opened for that, the file is whole all the same.
    if let Ok(directory) = fs::File::open(directory) {
        let _ = directory.sync_all();
    }
    Ok(())
}
