//! What the handle and the threads of one server share.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard};

use super::forge::Forge;
use super::git::Git;
use crate::http::lock;

/// Something that happens between the check and the push of a write.
type Race = Box<dyn FnOnce() + Send>;

/// Writes of files do not hold the lock while they work, so that two of them can race.
pub(super) struct Shared {
    forge: Mutex<Forge>,
    folder: PathBuf,
    races: Mutex<VecDeque<Race>>,
}

impl Shared {
    pub(super) fn new(forge: Forge, folder: &Path) -> Shared {
        Shared {
            forge: Mutex::new(forge),
            folder: folder.to_owned(),
            races: Mutex::default(),
        }
    }

    pub(super) fn forge(&self) -> MutexGuard<'_, Forge> {
        lock(&self.forge)
    }

    /// Makes the bare repository of a new repository.
    pub(super) fn new_git(&self, id: i64, default_branch: &str) -> Git {
        let folder = self.folder.join(format!("{id}.git"));
        Git::init(folder, default_branch)
    }

    pub(super) fn add_race(&self, race: Race) {
        lock(&self.races).push_back(race);
    }

    pub(super) fn clear_races(&self) {
        lock(&self.races).clear();
    }

    /// Runs the next race, with no lock held.
    pub(super) fn run_race(&self) {
        let race = lock(&self.races).pop_front();
        if let Some(race) = race {
            race();
        }
    }
}
