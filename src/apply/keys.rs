//! Setup keys in an apply: sealed before the next request, and given their groups only then (design §4).
//!
//! A run can be killed at any instant. A key that has no groups yet is one whose secret may not be sealed; the next plan
//! sees that and makes it anew. Whatever goes wrong here takes the key back.

use anyhow::{Context, Result, anyhow, bail};
use secrecy::SecretString;
use serde_json::Value;

use super::{Made, Run, gone, same};
use crate::api::{ApiError, object_path};
use crate::keys::never_sealed;
use crate::render::CreatedKey;
use crate::resource::{Live, Resource};
use crate::secret::{Sealed, StoredFile};
use crate::state::{Address, Id, Kind};
use crate::wire;

impl Run<'_> {
    pub(super) fn create_key(&mut self, address: &Address, after: &Resource) -> Result<String> {
        let Resource::SetupKey(key) = after else {
            bail!("{address} is no setup key")
        };
        let custody = self.custody.context("nobody to seal the new key for")?;
        // resolved first: a key whose groups are not there is not made
        after.request(&address.name, Some(&Value::Null), &self.groups)?;
        let reservation = custody.dir.reserve(&address.name)?;
        let body = after.request(&address.name, None, &self.groups)?;
        let (made, secret) = self.post_key(address, &body)?;
        let id = Id(made["id"]
            .as_str()
            .context("the answer has no id")?
            .to_owned());

        let sealed = match custody.recipients.seal(&secret) {
            Ok(sealed) => sealed,
            Err(error) => return Err(self.take_back(address, &id, None, error)),
        };
        drop(secret);
        self.observer.sealed(&address.name, &sealed.armored);
        let file = match reservation.store(&sealed) {
            Ok(file) => file,
            Err(error) => return Err(self.take_back(address, &id, None, error)),
        };
        let path = file.path.display().to_string();
        let wants_groups = key
            .auto_groups
            .as_ref()
            .is_some_and(|groups| !groups.is_empty());
        if wants_groups {
            let granted = self.grant(&id, &made, address, after);
            if let Err(error) = granted {
                return Err(self.take_back(address, &id, Some(file), error));
            }
        }
        self.keep_key(address, id, file, &sealed);
        let unmarked = if wants_groups {
            ""
        } else {
            "; it has no groups, so a lost file of it cannot be noticed"
        };
        Ok(format!("created, sealed in {path}{unmarked}"))
    }

    /// Gives the sealed key its groups. An answer that was lost is looked up.
    fn grant(&self, id: &Id, made: &Value, address: &Address, after: &Resource) -> Result<()> {
        let body = after.request(&address.name, Some(made), &self.groups)?;
        let path = object_path(Kind::SetupKey.path(), &id.0)?;
        let answer = match self.api.put(&path, &body) {
            Err(error) if error.outcome_unknown() => {
                let found = self
                    .api
                    .get(&path)
                    .with_context(|| format!("{error}; and it cannot be looked up"))?;
                match same(after, &self.read(Kind::SetupKey, found.clone())?) {
                    Ok(()) => found,
                    Err(_) => return Err(error.into()),
                }
            }
            answer => answer.map_err(|error| gone(error, "to get its groups"))?,
        };
        same(after, &self.read(Kind::SetupKey, answer)?)
    }

    fn keep_key(&mut self, address: &Address, id: Id, file: StoredFile, sealed: &Sealed) {
        let recipients = self
            .custody
            .map(|custody| custody.recipients.describe())
            .unwrap_or_default();
        let created = CreatedKey {
            file: file.path.display().to_string(),
            sealed: sealed.armored.clone(),
            recipients: recipients.iter().map(ToString::to_string).collect(),
            fingerprint: sealed.fingerprint(),
        };
        self.applied
            .created_keys
            .insert(address.name.clone(), created);
        self.applied.made.insert(
            id,
            Made {
                address: address.clone(),
                file: Some(file),
            },
        );
    }

    /// Makes a key. If the answer is lost, so is the secret: the key that appeared is deleted, and since then the first
    /// request is known to be over, a second one is sent.
    fn post_key(&mut self, address: &Address, body: &Value) -> Result<(Value, SecretString)> {
        let path = Kind::SetupKey.path();
        match self.api.create_key(path, body) {
            Ok(made) => Ok(made),
            Err(error) if error.outcome_unknown() => {
                let error = anyhow::Error::from(error);
                if self.delete_orphans(address)? == 0 {
                    let text = "the answer was lost, and no new key is in the list; run again";
                    return Err(error.context(text));
                }
                self.observer.say(&format!(
                    "{address}: {error:#}; the key was made and its secret is lost, so it was deleted and is made again"
                ));
                self.post_key_again(address, body)
            }
            Err(error) => Err(self.unusable(address, error)),
        }
    }

    /// Makes a key after the first answer was lost. What this one leaves without its secret goes, too.
    fn post_key_again(&self, address: &Address, body: &Value) -> Result<(Value, SecretString)> {
        match self.api.create_key(Kind::SetupKey.path(), body) {
            Ok(made) => Ok(made),
            Err(error) if error.outcome_unknown() => {
                let error = anyhow::Error::from(error);
                let text = match self.delete_orphans(address)? {
                    0 => "the answer was lost again, and no new key is in the list; run again",
                    _ => "the answer was lost again, and the key was deleted again; run again",
                };
                Err(error.context(text))
            }
            Err(error) => Err(self.unusable(address, error)),
        }
    }

    /// Takes back a key that was made and whose secret cannot be used.
    fn unusable(&self, address: &Address, error: ApiError) -> anyhow::Error {
        let id = match &error {
            ApiError::KeyUnusable { id: Some(id), .. } => Id(id.clone()),
            _ => return error.into(),
        };
        self.take_back(address, &id, None, error.into())
    }

    /// Deletes keys of that name that appeared since the run began, were never used and have no groups: the secret of
    /// such a key went with its answer. Returns how many.
    fn delete_orphans(&self, address: &Address) -> Result<usize> {
        let mut deleted = 0;
        for live in self.appeared(address).context("the answer was lost")? {
            let key: wire::SetupKey = serde_json::from_value(live.wire.clone())?;
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
        error: anyhow::Error,
    ) -> anyhow::Error {
        let deleted =
            object_path(Kind::SetupKey.path(), &id.0).and_then(|path| self.api.delete(&path));
        match deleted {
            Err(failed) if !failed.is_gone() => {
                // the file stays: the key lives, and this is its only copy
                anyhow!(
                    "{error:#}; and the new key {id} of {address} could not be deleted again: {failed}"
                )
            }
            _ => match file.map(StoredFile::remove) {
                Some(Err(failed)) => error.context(format!(
                    "the new key was deleted again, its file was not: {failed:#}"
                )),
                _ => error.context("the new key was deleted again"),
            },
        }
    }

    pub(super) fn replace_key(
        &mut self,
        address: &Address,
        old: &Live,
        after: &Resource,
        reason: &str,
    ) -> Result<String> {
        if is_unsealed_reason(reason) && !self.still_unsealed(old)? {
            return Ok("was finished by another run meanwhile".into());
        }
        let created = self.create_key(address, after)?;
        let deleted = self.delete_key(address, old, reason)?;
        Ok(format!("{created}; the old one {deleted}"))
    }

    /// Deletes a key, looked at again right before where it goes because nobody holds its secret.
    pub(super) fn delete_key(
        &mut self,
        address: &Address,
        old: &Live,
        reason: &str,
    ) -> Result<String> {
        if is_unsealed_reason(reason) && !self.still_unsealed(old)? {
            return Ok("was finished by another run meanwhile and stays".into());
        }
        self.delete(address, old)
    }

    fn still_unsealed(&self, old: &Live) -> Result<bool> {
        match self
            .api
            .get(&object_path(Kind::SetupKey.path(), &old.id.0)?)
        {
            Ok(found) => Ok(never_sealed(&serde_json::from_value(found)?, true)),
            Err(error) if error.is_gone() => Ok(true),
            Err(error) => Err(error.into()),
        }
    }
}

fn is_unsealed_reason(reason: &str) -> bool {
    reason == crate::keys::NEVER_SEALED
}
