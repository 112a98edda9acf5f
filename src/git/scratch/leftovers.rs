//! What runs that were killed leave among the temporary files: a directory that nobody uses any more.

use std::fs::{self, File, Metadata};
use std::io;
use std::path::Path;
use std::time::{Duration, SystemTime};

use tempfile::TempDir;

const PREFIX: &str = "netbird-gitops-git-";
/// The file in it that its run holds locked: a lock ends with its process, however that ends.
const OWNER: &str = "owner";
/// How old a directory without such a file is before it goes: a run makes it at once, versions before this one never did.
const OLD: Duration = Duration::from_secs(24 * 3600);

/// Makes a directory of this run, and removes what runs that were killed left. Returns it with the lock that keeps it.
pub(super) fn directory() -> io::Result<(TempDir, File)> {
    directory_in(&tempfile::env::temp_dir())
}

fn directory_in(parent: &Path) -> io::Result<(TempDir, File)> {
    loop {
        let dir = tempfile::Builder::new().prefix(PREFIX).tempdir_in(parent)?;
        let owner = dir.path().join(OWNER);
        let file = File::create(&owner)?;
        match file.lock() {
            // another run may have taken it for a leftover before it was locked
            Ok(()) if !owner.exists() => continue,
            Err(error) if error.kind() != io::ErrorKind::Unsupported => return Err(error),
            _ => {}
        }
        if let Ok(own) = dir.path().symlink_metadata() {
            remove(parent, &own);
        }
        return Ok((dir, file));
    }
}

/// Removes directories of the same user that no run holds. What cannot be removed stays, and is no failure.
fn remove(parent: &Path, own: &Metadata) {
    let entries = fs::read_dir(parent).into_iter().flatten().flatten();
    let is_ours = |name: &str| name.starts_with(PREFIX);
    let ours = entries.filter(|entry| entry.file_name().to_str().is_some_and(is_ours));
    for path in ours.map(|entry| entry.path()) {
        let Ok(found) = path.symlink_metadata() else {
            continue;
        };
        if found.is_dir() && is_of_the_same_user(&found, own) {
            // held until it is gone, so that its run, if it is just being made, sees that
            if let Some(_owner) = unheld(&path, &found) {
                let shown = path.display();
                log::debug!("removing {shown}, which a run that was killed left");
                let _ = fs::remove_dir_all(&path);
            }
        }
    }
}

/// Returns the lock of a directory that no run holds; nothing to lock where it is old and has none.
fn unheld(path: &Path, found: &Metadata) -> Option<Option<File>> {
    match File::open(path.join(OWNER)) {
        Ok(owner) => owner.try_lock().is_ok().then_some(Some(owner)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let age = SystemTime::now().duration_since(found.modified().ok()?);
            (age.ok()? > OLD).then_some(None)
        }
        Err(_) => None,
    }
}

#[cfg(unix)]
fn is_of_the_same_user(one: &Metadata, other: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    one.uid() == other.uid()
}

#[cfg(not(unix))]
fn is_of_the_same_user(_one: &Metadata, _other: &Metadata) -> bool {
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_killed_run_left_goes_and_nothing_else() {
        let parent = tempfile::tempdir().unwrap();
        let path = |name: &str| parent.path().join(name);
        let make = |name: &str| {
            fs::create_dir_all(path(name).join("objects")).unwrap();
            fs::write(path(name).join("objects/x"), "x").unwrap();
        };
        let dead = path("netbird-gitops-git-dead");
        let mut held = Vec::new();
        for name in ["dead", "living", "young", "old"] {
            make(&format!("netbird-gitops-git-{name}"));
        }
        for name in ["dead", "living"] {
            held.push(
                File::create(path(&format!("netbird-gitops-git-{name}")).join(OWNER)).unwrap(),
            );
        }
        held.remove(0);
        held[0].lock().unwrap();
        let old = File::open(path("netbird-gitops-git-old")).unwrap();
        old.set_modified(SystemTime::now() - 2 * OLD).unwrap();
        make("netbird-gitops-other");
        make("elsewhere");
        std::os::unix::fs::symlink(path("elsewhere"), path("netbird-gitops-git-link")).unwrap();
        fs::write(path("netbird-gitops-git-file"), "x").unwrap();
        remove(parent.path(), &parent.path().symlink_metadata().unwrap());
        let left: Vec<String> = {
            let names = fs::read_dir(parent.path()).unwrap();
            let mut names: Vec<_> = names.map(|entry| entry.unwrap().file_name()).collect();
            names.sort();
            names
                .into_iter()
                .map(|name| name.into_string().unwrap())
                .collect()
        };
        assert!(!dead.exists());
        assert_eq!(
            left,
            [
                "elsewhere",
                "netbird-gitops-git-file",
                "netbird-gitops-git-link",
                "netbird-gitops-git-living",
                "netbird-gitops-git-young",
                "netbird-gitops-other"
            ]
        );
        assert!(path("elsewhere").join("objects/x").exists());
    }

    #[test]
    fn the_directory_of_a_run_is_held_while_it_lives() {
        // of its own: the runs of other tests remove what nobody holds among the temporary files
        let parent = tempfile::tempdir().unwrap();
        let (dir, owner) = directory_in(parent.path()).unwrap();
        let own = dir.path().symlink_metadata().unwrap();
        assert!(unheld(dir.path(), &own).is_none());
        drop(owner);
        // a process that another test is just starting has the file until it runs its program
        let mut looks = std::iter::repeat_with(|| unheld(dir.path(), &own).is_some());
        assert!(looks.by_ref().take(100_000).any(|is_free| is_free));
    }
}
