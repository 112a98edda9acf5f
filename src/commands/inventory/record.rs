//! Writing down: a run's changes onto the newest text, and copies of sealed keys in the same commit, with its message.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::sync::atomic::Ordering;

use anyhow::{Context as _, Result, anyhow, ensure};

use super::{At, Id, Inventory, InventoryPlace, NotRecorded, ROOT, file_error, file_stem};
use crate::apply::{KeyCopy, Recorded, Recorder};
use crate::base::{files, folder_of, joined, numbered};
use crate::check::validate::validate;
use crate::commands::Failure;
use crate::file;
use crate::forge::gitea::commit::Revision;
use crate::forge::gitea::subject;
use crate::inventory::{Delta, Left, RecordedAs};
use crate::model::Desired;

/// Keys by name and id.
type Keys<'k> = Vec<(&'k str, &'k Id)>;

/// The copy of a sealed key: the name of its file, and the text.
type CopyFile = (String, Vec<u8>);

/// Said where an inventory was there before.
const GONE: &str =
    "the inventory is gone: somebody deleted its branch or its file while this run was at work";

impl Recorder for InventoryPlace {
    fn newest(&self) -> Result<Option<Inventory>> {
        let text = self.text().map_err(|(why, hint)| {
            let hint = hint.map(|hint| format!("\nhint: {hint}"));
            anyhow!("{}: {why}{}", self.named(), hint.unwrap_or_default())
        })?;
        if text.is_some() {
            self.is_known.store(true, Ordering::Relaxed);
        }
        let unread = || format!("cannot read the inventory ({})", self.named());
        let inventory = text.map(|text| Inventory::parse(&text));
        inventory.transpose().with_context(unread)
    }

    fn log_proves(&self) -> Result<bool> {
        let account = self.account.get().map_or("", String::as_str);
        let others = self.others(account);
        let others = others.map_err(|failure| anyhow!(failure.error))?;
        Ok(!others.share_account)
    }

    fn record(&self, deltas: &[Delta], copies: &[KeyCopy]) -> Result<Recorded, NotRecorded> {
        let keeps = !copies.is_empty() && self.copies(None)?;
        let name = |copy: &KeyCopy| name_of_copy(&copy.name, &copy.id);
        let files = copies.iter().filter(|_| keeps);
        let files = files.map(|copy| (name(copy), copy.armored.clone().into_bytes()));
        let files: Vec<CopyFile> = files.collect();
        let deltas = self.listed(deltas);
        let written = match &self.at {
            At::Forge(branch) => {
                let mut now = None;
                let mut edit = |newest: Option<&[u8]>| {
                    let (next, text) = self.next(newest, &deltas)?;
                    now = Some(next);
                    Ok(text)
                };
                let written = branch.write(&mut edit, &files, branch.patience());
                let unwritten = |error| Failure::from(error).within(&self.named()).into();
                written.map(|_| now).map_err(unwritten)
            }
            At::File { path, .. } => self.onto_disk(path, &deltas, &files).map_err(|error| {
                let (why, hint) = (format!("{error:#}"), None);
                NotRecorded { why, hint }
            }),
            At::Clone(..) | At::Absent | At::Nowhere(_) | At::Unwanted => {
                self.writable().map(|()| None)
            }
        };
        let inventory = written?.unwrap_or_default();
        self.is_known.store(true, Ordering::Relaxed);
        let place = |copy: &KeyCopy| keeps.then(|| self.place_of_copy(&name(copy)));
        Ok(Recorded {
            inventory,
            places: copies.iter().map(place).collect(),
        })
    }
}

impl InventoryPlace {
    /// Returns the newest inventory with the changes, and the commit that it takes; none where nothing differs.
    fn next(
        &self,
        newest: Option<&[u8]>,
        deltas: &[Delta],
    ) -> Result<(Inventory, Option<Revision>)> {
        let before = newest.map(Inventory::parse).transpose();
        let before = before.context("cannot read the inventory")?;
        let account = self.account.get();
        let base = match (&before, account) {
            (Some(before), Some(account)) => {
                let now = &before.account;
                ensure!(
                    now == account,
                    "the inventory now belongs to account {now}, but this token belongs to account {account}"
                );
                before.clone()
            }
            (Some(before), None) => before.clone(),
            (None, _) if self.is_known.load(Ordering::Relaxed) => return Err(anyhow!(GONE)),
            (None, Some(account)) if self.begins.load(Ordering::Relaxed) => {
                Inventory::new(account.as_str(), self.path.as_str())
            }
            (None, _) => return Err(anyhow!("there is no inventory yet: an apply creates it")),
        };
        let mut next = Delta::all_onto(deltas, &base);
        next.file.clone_from(&self.path);
        let differs = before.as_ref() != Some(&next);
        let revision = differs.then(|| Revision {
            bytes: next.text().into_bytes(),
            message: self.message(before.as_ref(), &next),
        });
        Ok((next, revision))
    }

    /// Returns the message of the commit that makes `after` of `before`: numbers, the commit and the run. No name of an object is
    /// in it: names are other people's text, and servers read messages. All that changed is in its difference.
    pub(super) fn message(&self, before: Option<&Inventory>, after: &Inventory) -> String {
        let nothing = Inventory::default();
        let old = before.unwrap_or(&nothing);
        let new = |wanted| of(after, wanted).difference(&of(old, wanted)).count();
        // what was let go is deleted where it is gone now, else it is just not said any more
        let (was_let_go, is_let_go) = (ids_of(&old.let_go), ids_of(&after.let_go));
        let mut ended: BTreeSet<&Id> = &was_let_go & &ids_of(&after.gone);
        ended.extend(old.ids());
        let still = after.ids();
        ended.retain(|id| !still.contains(id) && !is_let_go.contains(id));
        let (created, adopted) = (new(RecordedAs::Created), new(RecordedAs::Adopted));
        let let_go = is_let_go.difference(&was_let_go).count();
        let numbers = [created, adopted, ended.len(), let_go].into_iter();
        let numbers = numbers.zip(["created", "adopted", "deleted", "let go"]);
        let numbers = joined(numbered(numbers), ", ");
        let what = match (before, numbers.as_str()) {
            (None, "") => "the first inventory".to_owned(),
            (None, numbers) => format!("the first inventory: {numbers}"),
            (Some(old), "") if old.applied_commit != after.applied_commit => "applied".to_owned(),
            (Some(_), "") => "the inventory is up to date".to_owned(),
            (Some(_), numbers) => numbers.to_owned(),
        };
        let mut message = subject(&self.environment, &what) + "\n";
        let (commit, run) = (self.commit.get(), self.context.run_url.as_ref());
        for (name, value) in [("Commit", commit), ("Run", run)] {
            message.extend(value.map(|value| format!("\n{name}: {value}")));
        }
        message.trim_end().to_owned()
    }

    /// Returns the changes without members that the newest netbird.json does not list: what another run took out of a group
    /// meanwhile must not come back.
    fn listed(&self, deltas: &[Delta]) -> Vec<Delta> {
        let mut deltas = deltas.to_vec();
        if deltas.iter().all(|delta| delta.members.is_empty()) {
            return deltas;
        }
        let newest = self.newest_file();
        for delta in &mut deltas {
            delta.members.retain(|(group, name, _)| {
                let group = newest.as_ref().and_then(|file| file.group(group));
                group.is_some_and(|group| group.lists(name))
            });
        }
        deltas
    }

    /// Returns what netbird.json asks for at the tip of the branch that is applied, without a forge the one on disk; none where
    /// that cannot be read.
    fn newest_file(&self) -> Option<std::sync::Arc<Desired>> {
        let source = match &self.forge {
            Some(forge) if forge.branch().is_some() => forge.source().ok()?,
            _ => file::load(&self.file).ok()?,
        };
        Some(validate(&source).ok()?.desired)
    }

    /// Writes a file, and the copies beside it first: what is recorded was sealed.
    fn onto_disk(
        &self,
        path: &Path,
        deltas: &[Delta],
        copies: &[CopyFile],
    ) -> Result<Option<Inventory>> {
        let keys = path.with_file_name("keys");
        // one run at a time, for as long as this one writes; where a file system has no such lock, the last one wins
        drop(fs::create_dir_all(folder_of(path)));
        let folder = fs::File::open(folder_of(path));
        let _locked = folder.and_then(|folder| folder.lock().map(|()| folder));
        for (name, bytes) in copies {
            put(&keys.join(name), bytes)?;
        }
        let unread = |(why, _)| anyhow!("cannot read {}: {why}", path.display());
        let newest = self.text().map_err(unread)?;
        let next = self.next(newest.as_deref(), deltas);
        let (next, revision) = next.with_context(|| self.named())?;
        if let Some(revision) = revision {
            put(path, &revision.bytes)?;
        }
        Ok(Some(next))
    }

    /// Whether the copies of keys can be listed.
    pub(in crate::commands) fn lists_copies(&self) -> bool {
        matches!(self.at, At::Forge(_) | At::File { .. })
    }

    /// Returns those of these keys of which a copy is kept, as far as copies can be listed.
    pub(in crate::commands) fn with_copy<'k>(
        &self,
        mut keys: Keys<'k>,
    ) -> Result<Keys<'k>, Failure> {
        let kept: BTreeSet<String> = match &self.at {
            _ if keys.is_empty() || !self.copies(None)? => BTreeSet::new(),
            At::Forge(branch) => branch.copies()?.into_iter().collect(),
            At::File { path, .. } => {
                let entries = fs::read_dir(path.with_file_name("keys")).into_iter();
                let paths = entries.flatten().flatten().map(|entry| entry.path());
                paths.map(|path| path.display().to_string()).collect()
            }
            _ => BTreeSet::new(),
        };
        keys.retain(|(name, id)| kept.contains(&self.path_of_copy(&name_of_copy(name, id))));
        Ok(keys)
    }

    /// Returns where people find the copy of a key, if there is one.
    pub(in crate::commands) fn copy_of(&self, name: &str, id: &Id) -> String {
        let place = self.place_of_copy(&name_of_copy(name, id));
        match &self.at {
            // as git takes it after a fetch
            At::Forge(_) => format!("origin/{place}"),
            _ => place,
        }
    }

    /// The path of a key's copy, by its file's name.
    fn path_of_copy(&self, name: &str) -> String {
        match &self.at {
            At::File { path, .. } => {
                let path = path.with_file_name("keys").join(name);
                path.display().to_string()
            }
            _ => format!("{ROOT}/{}/keys/{name}", file_stem(&self.environment)),
        }
    }

    /// Where people find a key's copy: `BRANCH:PATH`, or the path of a file.
    fn place_of_copy(&self, name: &str) -> String {
        let path = self.path_of_copy(name);
        match &self.at {
            At::Forge(branch) => format!("{}:{path}", branch.branch()),
            _ => path,
        }
    }
}

/// The name of a key's copy.
fn name_of_copy(name: &str, id: &Id) -> String {
    format!("{}.{}.age", file_stem(name), file_stem(&id.0))
}

/// Puts a text in the place of a file.
fn put(path: &Path, text: &[u8]) -> Result<()> {
    let written = files::put(path, text, false);
    written.map_err(|error| anyhow!("cannot write {}: {}", path.display(), file_error(&error)))
}

/// The ids of what is recorded so.
fn of(inventory: &Inventory, wanted: RecordedAs) -> BTreeSet<&Id> {
    let recorded = inventory.recorded();
    let recorded = recorded.filter(|(.., origin)| *origin == wanted);
    recorded.map(|(_, id, _)| id).collect()
}

/// The ids of what was let go, or is gone.
fn ids_of(left: &BTreeMap<String, Left>) -> BTreeSet<&Id> {
    left.values().flat_map(|left| &left.ids).collect()
}
