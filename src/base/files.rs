//! Files that people name, read as a whole: regular ones of a bounded size, asked for before anything is read.
//!
//! A pipe that nobody writes to would hang a run, and a device may never end. What a shell hands over by a name of its own,
//! as in `-R <(command)`, is a pipe too, and is read; so is stdin, where it is named `-`.

use std::fs::{self, File, Metadata};
use std::io::{self, ErrorKind, Read, Write};
use std::path::Path;

/// The largest of the small files, in bytes: tokens, keys, workflows.
pub const SMALL: u64 = 1 << 20;
/// The largest netbird.json, in bytes: 10 MiB. Of a larger file Gitea gives no content (docs/gitea-api.md, "Reading a file").
pub const MAX_BYTES: usize = 10 << 20;
/// The largest file at all: a recorded account.
pub const LARGE: u64 = 1 << 30;

/// Returns a path as messages name it.
pub fn shown(path: &Path) -> String {
    match path == Path::new("-") {
        true => "stdin".to_owned(),
        false => path.display().to_string(),
    }
}

/// Reads a file of at most so many bytes, or stdin.
///
/// Errors with [`ErrorKind::FileTooLarge`], and with [`ErrorKind::Unsupported`] where it is neither a file nor a directory.
pub fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let source: Box<dyn Read> = match path == Path::new("-") {
        true => Box::new(io::stdin()),
        false => {
            check(path, most)?;
            Box::new(File::open(path)?)
        }
    };
    let mut bytes = Vec::new();
    source
        .take(most.saturating_add(1))
        .read_to_end(&mut bytes)?;
    match bytes.len() as u64 > most {
        true => Err(ErrorKind::FileTooLarge.into()),
        false => Ok(bytes),
    }
}

/// Puts a text in the place of a file at once or not at all, with the file's mode, and makes the folders for it. Of a new file
/// errors where one came meanwhile.
pub fn put(path: &Path, text: &[u8], is_new: bool) -> io::Result<()> {
    let folder = folder_of(path);
    fs::create_dir_all(folder)?;
    let mut builder = tempfile::Builder::new();
    builder.prefix(".netbird-gitops-");
    // as any new file: what the user's mask leaves of it
    #[cfg(unix)]
    if is_new {
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    }
    let mut file = builder.tempfile_in(folder)?;
    file.write_all(text)?;
    if let (false, Ok(old)) = (is_new, fs::metadata(path)) {
        file.as_file().set_permissions(old.permissions())?;
    }
    file.as_file().sync_all()?;
    let put = match is_new {
        true => file.persist_noclobber(path),
        false => file.persist(path),
    };
    put.map_err(|error| error.error)?;
    // the rename, too; where a folder cannot be opened for that, the file is whole all the same
    let _ = File::open(folder).and_then(|folder| folder.sync_all());
    Ok(())
}

/// Returns the folder that a file is in.
pub fn folder_of(path: &Path) -> &Path {
    let folder = path.parent().filter(|at| !at.as_os_str().is_empty());
    folder.unwrap_or(Path::new("."))
}

/// Reads a text likewise. Errors with [`ErrorKind::InvalidData`] where it is not UTF-8.
pub fn read_text(path: &Path, most: u64) -> io::Result<String> {
    String::from_utf8(read(path, most)?).map_err(|_| ErrorKind::InvalidData.into())
}

fn check(path: &Path, most: u64) -> io::Result<()> {
    let handed_over = ["/dev/stdin", "/dev/fd", "/proc/self/fd"];
    let found = fs::metadata(path)?;
    match is_file(&found) {
        Err(error) if found.is_dir() => Err(error),
        Err(_) if handed_over.iter().any(|start| path.starts_with(start)) => Ok(()),
        Ok(()) if found.len() > most => Err(ErrorKind::FileTooLarge.into()),
        is_file => is_file,
    }
}

/// Errors where it is something else than a file.
pub fn is_file(found: &Metadata) -> io::Result<()> {
    let kind = found.file_type();
    if kind.is_file() {
        return Ok(());
    }
    if kind.is_dir() {
        return Err(ErrorKind::IsADirectory.into());
    }
    #[cfg(unix)]
    let what = {
        use std::os::unix::fs::FileTypeExt;
        match (kind.is_fifo(), kind.is_socket()) {
            (true, _) => "a pipe",
            (_, true) => "a socket",
            _ => "a device",
        }
    };
    #[cfg(not(unix))]
    let what = "something else";
    let words = format!("it is {what}, not a file");
    Err(io::Error::new(ErrorKind::Unsupported, words))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::file_error;

    #[test]
    fn what_is_no_file_is_not_waited_for() {
        let dir = tempfile::tempdir().expect("a directory");
        let pipe = dir.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.expect("mkfifo").success());
        let socket = dir.path().join("socket");
        let _listening = std::os::unix::net::UnixListener::bind(&socket).expect("a socket");
        for (path, words) in [
            (pipe.as_path(), "it is a pipe, not a file"),
            (&socket, "it is a socket, not a file"),
            (Path::new("/dev/zero"), "it is a device, not a file"),
            (dir.path(), "it is a directory"),
            (Path::new("/nowhere/x"), "no such file or directory"),
        ] {
            let error = read(path, SMALL).expect_err("no file");
            assert_eq!(file_error(&error), words, "{}", path.display());
        }
    }

    #[test]
    fn a_size_is_asked_before_anything_is_read() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("large");
        // nothing of it is on the disk
        let large = File::create(&path).expect("a file");
        large.set_len(1 << 40).expect("a length");
        let error = read(&path, SMALL).expect_err("a large file");
        assert_eq!(file_error(&error), "it is too large");
        large.set_len(3).expect("a length");
        assert_eq!(read(&path, 3).expect("a file"), [0; 3]);
        assert!(read(&path, 2).is_err());
    }
}
