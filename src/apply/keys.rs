//! Setup keys in an apply: sealed, stored, and usable only then.
//!
//! A run can be killed at any instant. A key is made without groups, so it is one whose secret may not be sealed; the next
//! plan sees that and makes it anew. What marks it as sealed, its groups or a write that changes nothing, comes once the
//! sealed text is on disk and a copy of it where it outlives the job. Whatever goes wrong before takes the key back.

use std::ops::Range;
use std::time::{Duration, Instant};

use anyhow::{Context, Error, Result, anyhow, bail};
use jiff::Timestamp;
use serde_json::Value;

use super::write::NotKnown;
use super::{Course, KeyCopy, Made, NotStored, Run, StepOutcome, same, unreadable};
use crate::address::Address;
use crate::api::objects;
use crate::api::{ApiError, NewKey, object_path};
use crate::change::{Change, Operation};
use crate::entry::Entry;
use crate::id::Id;
use crate::keys::{MARKABLE_SECS, never_sealed};
use crate::kind::{Kind, Live, Resource};
use crate::plan::Plan;
use crate::reason::Reason;
use crate::render::CreatedKey;
use crate::secret::{Sealed, StoredFile};

/// The most keys that are made before they are stored, in one commit.
const BLOCK: usize = 25;

/// Returns how many steps from `number` on make keys one after the other, up to [`BLOCK`].
pub(super) fn block(plan: &Plan, number: usize) -> usize {
    let makes = |step: &&crate::plan::Step| plan.changes[step.change].makes_key();
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
    /// When the answer came, and what the server's clock said then.
    made: Instant,
    server_time: Option<Timestamp>,
}

impl Waiting<'_> {
    fn wants_groups(&self) -> bool {
        matches!(self.after, Resource::SetupKey(key)
            if key.auto_groups.as_ref().is_some_and(|groups| !groups.is_empty()))
    }

    /// How long until a write moves `updated_at` away from the key's creation, by the server's clock.
    fn until_markable(&self) -> Duration {
        let Some(created) = self.id.created_at() else {
            return Duration::ZERO;
        };
        // whole seconds, so the server's clock is not behind this
        let then = self.server_time.map_or(created, Timestamp::as_second);
        let left = u64::try_from(created + MARKABLE_SECS - then).unwrap_or(0);
        Duration::from_secs(left).saturating_sub(self.made.elapsed())
    }
}

impl Course<'_, '_> {
    /// Makes the keys of these steps and seals them one after the other, stores them together, and then makes them usable.
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
                Ok(Some(key)) => waiting.push(key),
                Ok(None) => {
                    let said = "was finished by another run meanwhile";
                    self.finish(number, Ok(StepOutcome::otherwise(said)));
                }
                Err(error) => self.finish(number, Err(error)),
            }
        }
        let places = match self.run.store(&waiting) {
            Ok(places) => places,
            Err(NotStored { text, hint }) => {
                // taken back one by one, and each says why
                self.ended = true;
                self.run.applied.hint = self.run.applied.hint.take().or(hint);
                for key in waiting {
                    let (number, error) = (key.number, anyhow!(text.clone()));
                    let error = self
                        .run
                        .take_back(key.address, &key.id, Some(key.file), error);
                    self.finish(number, Err(error));
                }
                return;
            }
        };
        // those that wait for their age come last, so that they wait together
        let mut waiting: Vec<_> = waiting.into_iter().zip(places).collect();
        waiting.sort_by_key(|(key, _)| !key.wants_groups());
        for (key, place) in waiting {
            let (number, change) = (key.number, self.change(key.number));
            let outcome = self.timed(number, |run| run.make_usable(key, place, change));
            self.finish(number, outcome);
        }
    }
}

impl Run<'_> {
    /// Makes a key without groups and seals it. `None`: the one that was to be replaced is good by now.
    fn make_key<'a>(&mut self, change: &'a Change, number: usize) -> Result<Option<Waiting<'a>>> {
        let address = &change.address;
        let after = match &change.operation {
            Operation::Create { after } => after,
            Operation::Replace { live, after, .. } => {
                if change.reason == Some(Reason::NeverSealed) && !self.still_unsealed(live)? {
                    return Ok(None);
                }
                after
            }
            Operation::Update { .. } | Operation::Delete { .. } => {
                bail!("{address} is not to be made")
            }
        };
        let custody = self.custody.context("nobody to seal the new key for")?;
        // resolved first: a key whose groups are not there is not made
        after.request(&address.name, Some(&Value::Null), &self.groups)?;
        let reservation = custody.dir.reserve(&address.name)?;
        let body = after.request(&address.name, None, &self.groups)?;
        let NewKey {
            object,
            secret,
            server_time,
        } = self.post_key(address, &body)?;
        let made = Instant::now();
        let id = Id::from(object["id"].as_str().context("the answer has no id")?);

        let sealed = match custody.recipients_of(after).seal(&secret) {
            Ok(sealed) => sealed,
            Err(error) => return Err(self.take_back(address, &id, None, error)),
        };
        drop(secret);
        self.observer.sealed(&address.name, &sealed.armored);
        let file = match reservation.store(&sealed) {
            Ok(file) => file,
            Err(error) => return Err(self.take_back(address, &id, None, error)),
        };
        Ok(Some(Waiting {
            number,
            address,
            after,
            id,
            object,
            sealed,
            file,
            made,
            server_time,
        }))
    }

    /// Stores copies of the sealed keys; says of each where it is, where copies are kept.
    fn store(&self, keys: &[Waiting]) -> Result<Vec<Option<String>>, NotStored> {
        let copies = self.custody.and_then(|custody| custody.copies.as_ref());
        let Some(copies) = copies.filter(|_| !keys.is_empty()) else {
            return Ok(vec![None; keys.len()]);
        };
        let files = keys.iter().map(|key| KeyCopy {
            name: key.address.name.clone(),
            id: key.id.clone(),
            armored: key.sealed.armored.clone(),
        });
        let places = copies.store(&files.collect::<Vec<_>>())?;
        Ok(places.into_iter().map(Some).collect())
    }

    /// Gives a sealed key its groups, or marks it as sealed where it wants none; then what it replaces goes.
    fn make_usable(
        &mut self,
        key: Waiting,
        place: Option<String>,
        change: &Change,
    ) -> Result<StepOutcome> {
        let done = match key.wants_groups() {
            true => self.write_key(&key).map(drop),
            false => self.mark(&key),
        };
        let address = key.address;
        if let Err(error) = done {
            return Err(self.take_back(address, &key.id, Some(key.file), error));
        }
        let path = key.file.path.display();
        let copied = place.as_ref().map(|place| format!(" and {place}"));
        let created = format!("created, sealed in {path}{}", copied.unwrap_or_default());
        self.keep_key(key, place);
        match &change.operation {
            Operation::Replace { live, .. } => {
                let deleted = self.delete_key(address, live, change.reason.as_ref())?;
                Ok(StepOutcome {
                    text: format!("{created}; the old one {}", deleted.text),
                    ..deleted
                })
            }
            _ => Ok(StepOutcome::as_planned(created)),
        }
    }

    /// Moves a key's `updated_at`, so that it reads as sealed: there are no groups that would tell.
    fn mark(&mut self, key: &Waiting) -> Result<()> {
        let custody = self.custody.context("nobody to seal the new key for")?;
        (custody.wait)(key.until_markable());
        for is_last in [false, true] {
            let stored: objects::SetupKey = wire_key(&self.write_key(key)?.wire)?;
            if !never_sealed(&stored) {
                return Ok(());
            }
            // a clock that stood still, or ran backwards
            if !is_last {
                (custody.wait)(Duration::from_secs(MARKABLE_SECS.unsigned_abs()));
            }
        }
        bail!(
            "{} was written, and NetBird's answer says that it never was: whether it is sealed could not be told from \
             that later",
            key.address
        )
    }

    /// Writes the key as it is to be, and returns what NetBird has then.
    fn write_key(&mut self, key: &Waiting) -> Result<Live> {
        let after = key.after;
        let body = after.request(&key.address.name, Some(&key.object), &self.groups)?;
        // what changes nothing is told by its time
        let is_marked = |found: &Live| {
            let found = found.wire.read();
            found.is_ok_and(|found| !never_sealed(&found))
        };
        let is_done =
            |found: &Live| same(after, found).is_ok() && (key.wants_groups() || is_marked(found));
        let path = object_path(Kind::SetupKey.path(), &key.id.0)?;
        let (stored, _) = self.put(key.address, &path, &body, is_done)?;
        same(after, &stored)?;
        Ok(stored)
    }

    /// Notes a key that is usable, and where a copy of it is.
    fn keep_key(&mut self, key: Waiting, stored: Option<String>) {
        let address = key.address.clone();
        let custody = self.custody.iter();
        let recipients = custody.flat_map(|custody| custody.recipients_of(key.after).describe());
        let created = CreatedKey {
            file: key.file.path.display().to_string(),
            fingerprint: key.sealed.fingerprint(),
            sealed: key.sealed.armored,
            recipients: recipients.map(|recipient| recipient.to_string()).collect(),
            stored,
        };
        let keys = &mut self.applied.created_keys;
        keys.insert(address.name.clone(), created);
        let file = Some(key.file);
        self.applied.made.insert(key.id, Made { address, file });
    }

    /// Makes a key. If the answer is lost, so is the secret: the key that appeared is deleted, and since then the first
    /// request is known to be over, a second one is sent. What that one leaves without its secret goes, too.
    fn post_key(&mut self, address: &Address, body: &Value) -> Result<NewKey> {
        const LOST_AGAIN: &str = "the answer was lost again";
        let error = match self.try_key(address, body, "the answer was lost")? {
            Ok(made) => return Ok(made),
            Err(error) => error,
        };
        self.observer.say(&format!(
            "{address}: {error:#}; the key was made and its secret is lost, so it was deleted and is made again"
        ));
        let again = self.try_key(address, body, LOST_AGAIN)?;
        let text = || format!("{LOST_AGAIN}, and the key was deleted again; run again");
        again.with_context(text)
    }

    /// Sends the request for a key. The inner error is that of an answer that was `lost`, once the key that appeared is
    /// deleted.
    fn try_key(&self, address: &Address, body: &Value, lost: &str) -> Result<Result<NewKey>> {
        let error = match self.api.create_key(Kind::SetupKey.path(), body) {
            Ok(made) => return Ok(Ok(made)),
            Err(error) if error.outcome_unknown() => Error::from(error),
            Err(error) => return Err(self.unusable(address, error)),
        };
        match self.delete_orphans(address)? {
            0 => {
                let text = format!("{lost}, and no new key is in the list; run again");
                Err(error.context(text))
            }
            _ => Ok(Err(error)),
        }
    }

    /// Takes back a key that was made and whose secret cannot be used.
    fn unusable(&self, address: &Address, error: ApiError) -> Error {
        let id = match &error {
            ApiError::KeyUnusable { id: Some(id), .. } => Id::from(id.as_str()),
            _ => return error.into(),
        };
        self.take_back(address, &id, None, error.into())
    }

    /// Deletes keys of that name that appeared since the run began, were never used and have no groups: the secret of
    /// such a key went with its answer. Returns how many.
    fn delete_orphans(&self, address: &Address) -> Result<usize> {
        let mut deleted = 0;
        for live in self.appeared(address).context("the answer was lost")? {
            let key = wire_key(&live.wire)?;
            if key.used_times == 0 && key.auto_groups.is_empty() {
                let path = object_path(Kind::SetupKey.path(), &live.id.0)?;
                let gone = self.api.delete(&path);
                let lost = || format!("the secret of key {} is lost; delete it by hand", live.id);
                gone.or_else(|error| if error.is_gone() { Ok(()) } else { Err(error) })
                    .with_context(lost)?;
                deleted += 1;
            }
        }
        Ok(deleted)
    }

    /// Deletes a key that could not be finished, and its file; returns the error with what became of them.
    fn take_back(
        &self,
        address: &Address,
        id: &Id,
        file: Option<StoredFile>,
        error: Error,
    ) -> Error {
        let deleted =
            object_path(Kind::SetupKey.path(), &id.0).and_then(|path| self.api.delete(&path));
        match deleted {
            Err(failed) if !failed.is_gone() => {
                // the file stays: the key lives, and this is its only copy
                anyhow!(
                    "{error:#}; and the new key {id} of {address} could not be deleted again: {failed}; delete it in NetBird"
                )
            }
            // whatever became of its writes, it is known that it is gone
            _ => match (file.map(StoredFile::remove), settled(error)) {
                (Some(Err(failed)), error) => error.context(format!(
                    "the new key was deleted again, its file was not: {failed:#}"
                )),
                (_, error) => error.context("the new key was deleted again"),
            },
        }
    }

    /// Deletes a key, looked at again right before where it goes because nobody holds its secret.
    pub(super) fn delete_key(
        &mut self,
        address: &Address,
        old: &Live,
        reason: Option<&Reason>,
    ) -> Result<StepOutcome> {
        if reason == Some(&Reason::NeverSealed) && !self.still_unsealed(old)? {
            let said = "was finished by another run meanwhile and stays";
            return Ok(StepOutcome::otherwise(said));
        }
        self.delete(address, old)
    }

    fn still_unsealed(&self, old: &Live) -> Result<bool> {
        match self
            .api
            .get(&object_path(Kind::SetupKey.path(), &old.id.0)?)
        {
            Ok(found) => Ok(never_sealed(&wire_key(&found.into())?)),
            Err(error) if error.is_gone() => Ok(true),
            Err(error) => Err(error.into()),
        }
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
