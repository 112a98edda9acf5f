//! Setup keys in an apply: sealed, recorded, and usable only then.
//!
//! A run can be killed at any instant. A key is made without groups and gets them once its id is in the inventory, in the
//! same commit as a copy of the sealed text; where no copies are kept, the sealed text is out before that commit. So a
//! recorded key was sealed, and the next run deletes an unrecorded one that a run of ours made and that lacks its groups. Whatever goes
//! wrong before takes the key back.

use std::ops::Range;

use anyhow::{Context, Error, Result, anyhow, bail};
use serde_json::Value;

use super::deletions::{StaysAsItIs, stays_as_it_is};
use super::write::NotKnown;
use super::{
    Address, Change, Course, Entry, Execution, Id, KeyCopy, Kind, Live, NotRecorded, Operation,
    Plan, Resource, Step, StepOutcome, same, unreadable,
};
use crate::inventory::Delta;
use crate::plan::keys::must_be_replaced;
use crate::render::CreatedKey;
use crate::secret::{Sealed, StoredFile};
use crate::wire::api::{NewKey, object_path, objects};
use crate::wire::http::Trouble;

/// The most keys that are made before they are recorded, in one commit.
const BLOCK: usize = 25;

const LOST: &str = "the answer was lost";

/// What becomes of a new key that somebody revoked.
const REVOKED: &str = "somebody revoked the new key meanwhile, so it gets no groups";

/// Returns how many steps from `number` on make keys one after the other, up to [`BLOCK`].
pub(super) fn block(plan: &Plan, number: usize) -> usize {
    let makes = |step: &&Step| plan.changes[step.change].makes_key();
    let steps = plan.steps[number..].iter().take(BLOCK);
    steps.take_while(makes).count()
}

/// A key that is made and sealed, and not usable yet.
struct Waiting<'a> {
    number: usize,
    address: &'a Address,
    after: &'a Resource,
    id: Id,
    object: Value,
    sealed: Sealed,
    file: StoredFile,
}

impl Waiting<'_> {
    fn wants_groups(&self) -> bool {
        matches!(self.after, Resource::SetupKey(key)
            if key.auto_groups.as_ref().is_some_and(|groups| !groups.is_empty()))
    }
}

impl Course<'_, '_> {
    /// Makes the keys of these steps and seals them one after the other, records them together, and then makes them usable.
    /// Where one fails, what was made before goes on to its end.
    pub(super) fn make_keys(&mut self, steps: Range<usize>) {
        let mut waiting = Vec::new();
        let mut asks = true;
        for number in steps {
            if !self.may_start(number, asks) {
                continue;
            }
            (asks, self.breaking) = (false, false);
            let change = self.change(number);
            match self.timed(number, |run| run.make_key(change, number)) {
                Ok(key) => waiting.push(key),
                Err(error) => self.finish(number, Err(error)),
            }
        }
        if waiting.is_empty() {
            return;
        }
        let recorded = self.run.record_keys(&waiting);
        if let Err(refused) = recorded {
            // taken back one by one, and each says why
            self.ended = true;
            let text = refused.to_string();
            self.run.applied.hint = self.run.applied.hint.take().or(refused.hint);
            for key in waiting {
                let (number, error) = (key.number, anyhow!(text.clone()));
                let error = self.run.take_back(key, error);
                self.finish(number, Err(error));
            }
            return;
        }
        for key in waiting {
            let (number, change) = (key.number, self.change(key.number));
            let outcome = match self.run.is_listed(&key) {
                true => self.timed(number, |run| run.make_usable(key, change)),
                false => {
                    self.ended = true;
                    let text = "the inventory does not have the new key any more; run again";
                    Err(self.run.take_back(key, anyhow!(text)))
                }
            };
            self.finish(number, outcome);
        }
    }
}

impl Execution<'_> {
    /// Makes a key without groups and seals it.
    fn make_key<'a>(&mut self, change: &'a Change, number: usize) -> Result<Waiting<'a>> {
        let address = &change.address;
        let after = change.operation.after();
        let after = after.with_context(|| format!("{address} is not to be made"))?;
        let custody = self
            .custody
            .context("no recipient is set for the new key")?;
        // resolved first: a key whose groups do not exist, or that several have, is not made
        after.request(&address.name, Some(&Value::Null), &self.groups)?;
        let reservation = custody.dir.reserve(&address.name)?;
        let body = after.request(&address.name, None, &self.groups)?;
        let NewKey { object, secret } = self.post_key(address, &body)?;
        let id = Id::from(object["id"].as_str().context("the answer has no id")?);

        let sealed = match custody.recipients_of(after).seal(&secret) {
            Ok(sealed) => sealed,
            Err(error) => return Err(self.withdraw(address, &id, None, error)),
        };
        drop(secret);
        self.observer.sealed(&address.name, &sealed.armored);
        let file = match reservation.store(&sealed) {
            Ok(file) => file,
            Err(error) => return Err(self.withdraw(address, &id, None, error)),
        };
        if let Some(older) = &file.older {
            let (path, older) = (file.path.display(), older.display());
            let text = format!("{address}: {path} was there already, and is kept as {older}");
            self.observer.say(&text);
        }
        Ok(Waiting {
            number,
            address,
            after,
            id,
            object,
            sealed,
            file,
        })
    }

    /// Writes the ids of sealed keys into the inventory, with copies where copies are kept, and reads it again.
    fn record_keys(&mut self, keys: &[Waiting]) -> Result<(), NotRecorded> {
        let refused = |why: String| NotRecorded { why, hint: None };
        let Some(records) = self.records else {
            return Err(refused("no inventory is written, so no key is made".into()));
        };
        let has_copies = self.custody.is_some_and(|custody| custody.copies);
        if !has_copies {
            // nothing else outlives a run that is killed after the commit
            keys.iter().for_each(|key| self.tell_key(key, None));
            self.observer.state(self.applied);
            self.observer.keys_made(self.applied);
        }
        let created = keys.iter().map(|key| (key.address.key(), key.id.clone()));
        let delta = Delta {
            created: created.collect(),
            ..Delta::default()
        };
        let copy = |key: &Waiting| KeyCopy {
            name: key.address.name.clone(),
            id: key.id.clone(),
            armored: key.sealed.armored.clone(),
        };
        let copies: Vec<KeyCopy> = match has_copies {
            true => keys.iter().map(copy).collect(),
            false => Vec::new(),
        };
        let recorded = records.recorder.record(&[delta], &copies)?;
        let made = keys.iter().map(|key| (key.id.clone(), key.address.clone()));
        self.applied.made.extend(made);
        for (key, place) in keys.iter().zip(recorded.places) {
            self.tell_key(key, place);
        }
        self.applied.recorded = Some(recorded.inventory);
        self.look_again()
            .map_err(|error| refused(format!("{error:#}")))
    }

    /// Notes a sealed key, and where a copy of it is.
    fn tell_key(&mut self, key: &Waiting, stored: Option<String>) {
        let custody = self.custody.iter();
        let recipients = custody.flat_map(|custody| custody.recipients_of(key.after).describe());
        let created = CreatedKey {
            file: key.file.path.display().to_string(),
            fingerprint: key.sealed.fingerprint(),
            sealed: key.sealed.armored.clone(),
            recipients: recipients.map(|recipient| recipient.to_string()).collect(),
            stored,
        };
        let keys = &mut self.applied.created_keys;
        keys.insert(key.address.name.clone(), created);
    }

    /// Returns whether the inventory that was read again has a key.
    fn is_listed(&self, key: &Waiting) -> bool {
        let inventory = self.look.as_ref();
        inventory.is_some_and(|inventory| inventory.origin(&key.id).is_some())
    }

    /// Returns the key of another run that stands for the entry, if that is not this run's: of the recorded ones that this run
    /// did not know the first that lives and needs no replacement.
    fn other_stands(&self, key: &Waiting) -> Result<Option<Live>> {
        let (Some(records), Some(inventory)) = (self.records, &self.look) else {
            return Ok(None);
        };
        let adoptions = &self.plan.adoptions;
        let adopted = |id: &Id| adoptions.iter().any(|(_, adopted)| adopted.id == *id);
        let is_new = |id: &&Id| records.ours.inventory.origin(id).is_none() && !adopted(id);
        let recorded = inventory.created.get(&key.address.key());
        // sorted, so those that come first are the older ones
        let older = recorded.into_iter().flatten().filter(is_new);
        for id in older.take_while(|id| **id != key.id) {
            let path = object_path(Kind::SetupKey.path(), &id.0)?;
            let Some(found) = self.find(&path)? else {
                continue;
            };
            let found = self.read(Kind::SetupKey, found)?;
            let of_wire = wire_key(&found.wire)?;
            let is_alive = of_wire.valid || of_wire.used_times > 0;
            if is_alive && !must_be_replaced(key.after, &found) {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// Gives a recorded key its groups, if it wants any; then what it replaces is deleted. Where another run's key stands for
    /// the entry, this run's is deleted and that one gets the groups.
    fn make_usable(&mut self, key: Waiting, change: &Change) -> Result<StepOutcome> {
        let made = match self.other_stands(&key) {
            Ok(None) => self.grant(&key),
            Ok(Some(other)) => return self.go_on_with(&other, key, change),
            Err(error) => Err(error),
        };
        if let Err(error) = made {
            return Err(match self.is_revoked(&key) {
                true => stays_as_it_is(REVOKED),
                false => self.take_back(key, error),
            });
        }
        let path = key.file.path.display();
        let told = self.applied.created_keys.get(&key.address.name);
        let copied = told.and_then(|told| told.stored.as_ref());
        let copied = copied.map(|place| format!(" and {place}"));
        let created = format!("created, sealed in {path}{}", copied.unwrap_or_default());
        self.end_old(change, StepOutcome::as_planned(created))
    }

    /// Returns whether somebody revoked a key of this run: NetBird refuses groups for it as it was made.
    fn is_revoked(&self, key: &Waiting) -> bool {
        let path = object_path(Kind::SetupKey.path(), &key.id.0);
        let found = path.and_then(|path| self.api.get(&path));
        found.is_ok_and(|found| found["revoked"] == true)
    }

    /// Gives a key its groups. One that wants none is usable already.
    fn grant(&mut self, key: &Waiting) -> Result<()> {
        match key.wants_groups() {
            true => self.write_key(key, &key.id, &key.object),
            false => same(key.after, &self.read(Kind::SetupKey, key.object.clone())?),
        }
    }

    /// Deletes this run's key, and goes on with that of another run.
    fn go_on_with(&mut self, other: &Live, key: Waiting, change: &Change) -> Result<StepOutcome> {
        self.delete_made(key.address, &key.id, Some(&key.file))?;
        // a used one has done its work
        let is_usable = wire_key(&other.wire)?.valid;
        if key.wants_groups() && is_usable && same(key.after, other).is_err() {
            self.write_key(&key, &other.id, &other.wire.value()?)?;
        }
        let said = "another run made it at the same time; this run deleted its own key again";
        self.end_old(change, StepOutcome::otherwise(said))
    }

    /// Deletes what a new key replaces.
    fn end_old(&mut self, change: &Change, made: StepOutcome) -> Result<StepOutcome> {
        let Operation::Replace { live, .. } = &change.operation else {
            return Ok(made);
        };
        let deleted = match self.remove(change, live) {
            Err(error) if error.is::<StaysAsItIs>() => StepOutcome::otherwise(format!("{error:#}")),
            deleted => deleted?,
        };
        Ok(StepOutcome {
            text: format!("{}; the old one: {}", made.text, deleted.text),
            is_as_planned: made.is_as_planned && deleted.is_as_planned,
        })
    }

    /// Writes a key as it is to be for the entry of another one, or its own.
    fn write_key(&mut self, of: &Waiting, id: &Id, object: &Value) -> Result<()> {
        let body = of
            .after
            .request(&of.address.name, Some(object), &self.groups)?;
        let is_done = |found: &Live| same(of.after, found).is_ok();
        let path = object_path(Kind::SetupKey.path(), &id.0)?;
        let (stored, _) = self.put(of.address, &path, &body, is_done)?;
        same(of.after, &stored)
    }

    /// Makes a key. If the answer is lost, so is the secret: the key that appeared is deleted, and since then the first
    /// request is known to be over, a second one is sent. What that one leaves without its secret goes, too.
    fn post_key(&mut self, address: &Address, body: &Value) -> Result<NewKey> {
        const AGAIN: &str = "the answer of NetBird was lost a second time";
        let mut lost = LOST;
        loop {
            let error = match self.api.create_key(Kind::SetupKey.path(), body) {
                Ok(made) => return Ok(made),
                Err(error) if error.outcome_unknown => Error::from(error),
                Err(error) => {
                    let Trouble::KeyUnusable(Some(id)) = &error.trouble else {
                        return Err(error.into());
                    };
                    let id = Id::from(id.as_str());
                    return Err(self.withdraw(address, &id, None, error.into()));
                }
            };
            if self.delete_orphans(address)? == 0 {
                let text = format!("{lost}, and no new key is in the list; run apply again");
                return Err(error.context(text));
            }
            if lost == AGAIN {
                let text = format!("{lost}, and the key was deleted again; run apply again");
                return Err(error.context(text));
            }
            self.observer.say(&format!(
                "{address}: {error:#}; the key was created, but its secret was lost, so it was deleted and is created again"
            ));
            lost = AGAIN;
        }
    }

    /// Deletes keys of that name that appeared since the run began, were never used, have no groups and are not recorded,
    /// if the event log proves that this run made them: the secret of such a key went with its answer. Returns how many.
    fn delete_orphans(&mut self, address: &Address) -> Result<usize> {
        let mut deleted = 0;
        let appeared = self.appeared(address).context(LOST)?;
        self.look_again()?;
        for live in appeared {
            let key = wire_key(&live.wire)?;
            let is_sealed = self.newest()?.origin(&live.id).is_some();
            if key.used_times > 0 || !key.auto_groups.is_empty() || is_sealed {
                continue;
            }
            let id = &live.id;
            if !self.is_made_by_us(id).context(LOST)? {
                bail!(
                    "{LOST}, and nothing proves who made the key {id}, which appeared meanwhile: if it is this run's, \
                     nobody has its secret; look at it in NetBird, delete it there, and run again"
                );
            }
            let path = object_path(Kind::SetupKey.path(), &id.0)?;
            let gone = self.api.delete(&path);
            let lost = || format!("the secret of key {id} is lost; delete this key in NetBird");
            gone.or_else(|error| if error.is_gone() { Ok(()) } else { Err(error) })
                .with_context(lost)?;
            deleted += 1;
        }
        Ok(deleted)
    }

    /// Takes back a key that was sealed and cannot be used.
    fn take_back(&mut self, key: Waiting, error: Error) -> Error {
        self.withdraw(key.address, &key.id, Some(&key.file), error)
    }

    /// Deletes a key that could not be finished, and its file; returns the error with what became of them.
    fn withdraw(
        &mut self,
        of: &Address,
        id: &Id,
        file: Option<&StoredFile>,
        error: Error,
    ) -> Error {
        match self.delete_made(of, id, file) {
            // whatever became of its writes, it is known that it is deleted
            Ok(()) => settled(error).context("the new key was deleted again"),
            Err(failed) => anyhow!("{error:#}; and {failed:#}"),
        }
    }

    /// Deletes a key that this run made, and its file.
    fn delete_made(&mut self, of: &Address, id: &Id, file: Option<&StoredFile>) -> Result<()> {
        let path = object_path(Kind::SetupKey.path(), &id.0);
        match path.and_then(|path| self.api.delete(&path)) {
            Err(failed) if !failed.is_gone() => {
                // the file stays: the key lives, and this is its only copy
                bail!(
                    "the new key {id} of {of} could not be deleted again: {failed}; delete it in NetBird"
                )
            }
            _ => {}
        }
        self.applied.created_keys.remove(&of.name);
        self.applied.made.remove(id);
        self.applied.deleted.insert(id.clone());
        let removed = file.map_or(Ok(()), |file| file.remove().map(drop));
        removed.context("the new key was deleted again, its file was not")
    }
}

fn wire_key(answer: &Entry) -> Result<objects::SetupKey> {
    answer
        .read()
        .map_err(|error| unreadable(Kind::SetupKey, &error))
}

/// Returns the error without the doubt whether a write was carried out.
fn settled(error: Error) -> Error {
    match error.is::<NotKnown>() {
        true => anyhow!("{error:#}"),
        false => error,
    }
}
