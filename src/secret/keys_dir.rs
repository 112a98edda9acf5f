//! The directory of sealed files: one `NAME.age` a setup key.
//!
//! A new file is written under a temporary name and renamed when it is whole and on disk. A process that is killed leaves at
//! most a file `.netbird-gitops-….tmp`, empty or with sealed text, which the next run removes.
//!
//! No file is overwritten: it may be the only copy of a living key's secret. An older `NAME.age` is renamed to `NAME~1.age`, or the next
//! free number, whatever made it: another environment, a run whose inventory was lost, or a key that is replaced.
//!
//! Two runs at once may use one directory: each has temporary files of its own, they rename one after the other, and each
//! takes back only a file that still holds what it wrote itself.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use anyhow::{Result, anyhow, ensure};
use tempfile::NamedTempFile;

use super::Sealed;
use super::file_name::{file_name, hashed};
use crate::base::{file_error, files, folder_of};

const HINT: &str = "\nhint: --keys-dir chooses another directory";

/// Room on the disk that a reservation takes, in bytes; a file for ten recipients needs about 2,000.
const RESERVED: usize = 16 * 1024;

/// The largest file that is compared with what was written, in bytes.
const LARGEST: u64 = 1 << 20;

/// A directory that is known to take files.
#[derive(Debug)]
pub struct KeysDir {
    path: PathBuf,
    /// File names given out in this run, and the key each is for.
    taken: Mutex<BTreeMap<String, String>>,
}

impl KeysDir {
    /// Makes the directory if it is missing (mode 0700), and tries there what a sealed file needs: create, write, sync,
    /// rename, remove.
    pub fn probe(path: &Path) -> Result<Self> {
        let shown = path.display();
        ensure!(
            !path.as_os_str().is_empty(),
            "the keys directory has an empty name{HINT}"
        );
        let is_missing = |error: &io::Error| {
            error.kind() == io::ErrorKind::NotFound && fs::symlink_metadata(path).is_err()
        };
        match fs::metadata(path) {
            Ok(metadata) => ensure!(
                metadata.is_dir(),
                "cannot keep sealed keys in {shown}: it is not a directory{HINT}"
            ),
            Err(error) if is_missing(&error) => create_dir(path).map_err(cannot("make", path))?,
            Err(error) => return Err(cannot("open", path)(error)),
        }
        rehearse(path).map_err(cannot("write to", path))?;
        let (path, taken) = (path.into(), Mutex::default());
        Ok(KeysDir { path, taken })
    }

    /// Takes the file name for a key; to be called before the first write.
    ///
    /// See [`file_name`]; where another file differs from that name only by case, which some systems take for the same,
    /// the name gets its hash as well. An older file of that name stays as it is until [`Reservation::store`].
    pub fn take(&self, key_name: &str) -> Result<PathBuf> {
        let target = self.path.join(self.take_name(key_name)?);
        match fs::symlink_metadata(&target) {
            Ok(metadata) if metadata.is_dir() => {
                Err(cannot_reserve(&target)(io::ErrorKind::IsADirectory.into()))
            }
            _ => Ok(target),
        }
    }

    /// Takes the file name for a key, and room on the disk; to be called before the key is made.
    pub fn reserve(&self, key_name: &str) -> Result<Reservation> {
        let target = self.take(key_name)?;
        let refuse = cannot_reserve(&target);
        let file = temporary(&self.path).map_err(&refuse)?;
        let written = file.as_file().write_all(&[0; RESERVED]);
        let synced = written.and_then(|()| file.as_file().sync_all());
        synced.map_err(&refuse)?;
        Ok(Reservation { file, target })
    }

    fn take_name(&self, key_name: &str) -> Result<String> {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let names = |entries: fs::ReadDir| entries.map(|entry| Ok(entry?.file_name())).collect();
        let present: io::Result<Vec<_>> = fs::read_dir(&self.path).and_then(names);
        let present = present.map_err(cannot("list", &self.path))?;
        let mut name = file_name(key_name);
        let differs_by_case = |other: &str| other != name && other.eq_ignore_ascii_case(&name);
        let present = present.iter().filter_map(|other| other.to_str());
        let mut others = present.chain(taken.keys().map(String::as_str));
        if others.any(differs_by_case) {
            name = hashed(key_name);
        }
        let owner = taken.entry(name.clone());
        let owner = owner.or_insert_with(|| key_name.to_owned());
        ensure!(
            owner == key_name,
            "the setup keys {owner:?} and {key_name:?} would share the file {name}\nhint: rename one of them"
        );
        Ok(name)
    }
}

/// Says what cannot be done with the keys directory, and why.
fn cannot(what: &str, dir: &Path) -> impl FnOnce(io::Error) -> anyhow::Error {
    let text = format!("cannot {what} the keys directory {}", dir.display());
    move |error| anyhow!("{text}: {}{HINT}", file_error(&error))
}

/// Says that a file cannot be kept free for a key, and why.
fn cannot_reserve(target: &Path) -> impl Fn(io::Error) -> anyhow::Error + use<> {
    let text = format!("cannot reserve {}", target.display());
    move |error| anyhow!("{text}: {}{HINT}", file_error(&error))
}

/// A place for one sealed key. Dropped without [`store`](Self::store), it leaves nothing behind.
#[derive(Debug)]
pub struct Reservation {
    file: NamedTempFile,
    target: PathBuf,
}

impl Reservation {
    /// Writes the sealed key and puts it in place: file and directory are on disk when this returns.
    ///
    /// What has the name already is renamed, a symbolic link too. On an error it has its name again.
    pub fn store(self, sealed: &Sealed) -> Result<StoredFile> {
        let Reservation { file, target } = self;
        let refuse =
            |error: io::Error| anyhow!("cannot write {}: {}", target.display(), file_error(&error));
        let file = fill(file, sealed.armored.as_bytes()).map_err(refuse)?;
        let _locked = locked(&target);
        let stored = StoredFile {
            older: rename_older(&target).map_err(refuse)?,
            path: target.clone(),
            content: sealed.armored.clone().into(),
        };
        let done = put(file, &target).and_then(|()| sync_parent(&target));
        if let Err(error) = done {
            let _ = stored.take_back(); // the first error is the one to tell
            return Err(refuse(error));
        }
        Ok(stored)
    }
}

/// A sealed key on disk.
#[derive(Debug)]
pub struct StoredFile {
    /// The file: the path of the directory as it was given, and the name.
    pub path: PathBuf,
    /// The path of the file that had the name before, if one had.
    pub older: Option<PathBuf>,
    content: Vec<u8>,
}

impl StoredFile {
    /// Takes the file back, for a key that is deleted again. An older file gets its name back.
    pub fn remove(&self) -> Result<()> {
        let _locked = locked(&self.path);
        self.take_back().map_err(|error| {
            let why = file_error(&error);
            anyhow!("cannot take back {}: {why}", self.path.display())
        })
    }

    fn take_back(&self) -> io::Result<()> {
        let path = &self.path;
        match fs::symlink_metadata(path) {
            Ok(_) if content_of(path).as_ref() == Some(&self.content) => fs::remove_file(path)?,
            // somebody else's file by now
            Ok(_) => return Ok(()),
            Err(_) => {}
        }
        if let Some(older) = self.older.as_ref().filter(|older| is_there(older)) {
            fs::rename(older, path)?;
        }
        match folder_of(path).exists() {
            true => sync_parent(path),
            false => Ok(()),
        }
    }
}

/// Renames the file at that path, if there is one, and returns its new path.
fn rename_older(path: &Path) -> io::Result<Option<PathBuf>> {
    match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_dir() => return Err(io::ErrorKind::IsADirectory.into()),
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    }
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    // no key's own file has such a name
    let mut free = (1..).map(|number| path.with_file_name(format!("{stem}~{number}.age")));
    let free = free.find(|path| !is_there(path));
    let free = free.ok_or(io::ErrorKind::AlreadyExists)?;
    fs::rename(path, &free)?;
    Ok(Some(free))
}

fn is_there(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok()
}

/// Waits for runs that rename files in the same directory. Systems that cannot lock a directory are taken as they are.
fn locked(path: &Path) -> Option<File> {
    let dir = File::open(folder_of(path)).ok()?;
    dir.lock().ok()?;
    Some(dir)
}

/// Makes the directory, and those above it, for the owner only.
fn create_dir(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(path)
}

/// Does once what a sealed file will need.
fn rehearse(path: &Path) -> io::Result<()> {
    let file = fill(temporary(path)?, b"netbird-gitops\n")?;
    let renamed = temporary(path)?.into_temp_path();
    put(file, &renamed)?;
    sync_parent(&renamed)?;
    renamed.close()
}

/// Makes this the whole content, and waits until it is on disk. The room that a reservation took is given back last.
fn fill(mut file: NamedTempFile, content: &[u8]) -> io::Result<NamedTempFile> {
    file.as_file_mut().rewind()?;
    file.as_file_mut().write_all(content)?;
    file.as_file().set_len(content.len() as u64)?;
    file.as_file().sync_all()?;
    Ok(file)
}

/// Renames the file onto the target, or removes it.
fn put(file: NamedTempFile, target: &Path) -> io::Result<()> {
    file.persist(target).map(drop).map_err(|error| error.error)
}

/// Waits until the directory's entries are on disk. File systems that cannot do that for a directory are taken as they are.
fn sync_parent(path: &Path) -> io::Result<()> {
    if cfg!(not(unix)) {
        return Ok(());
    }
    use io::ErrorKind::{InvalidInput, Unsupported};
    match File::open(folder_of(path))?.sync_all() {
        Err(error) if !matches!(error.kind(), InvalidInput | Unsupported) => Err(error),
        _ => Ok(()),
    }
}

/// Returns the content of a regular file of moderate size; a link is not followed, a pipe not opened.
fn content_of(path: &Path) -> Option<Vec<u8>> {
    let is_file = fs::symlink_metadata(path).ok()?.is_file();
    is_file.then(|| files::read(path, LARGEST).ok())?
}

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
            let (path, why) = (path.display(), file_error(&error));
            log::warn!("a file of a run that was killed stays, {path}: {why}");
        }
    }
}

#[cfg(test)]
mod tests;
