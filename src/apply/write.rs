//! One live object written: read again right before, since whatever of it the file does not say stays as somebody may have
//! left it meanwhile; and looked up where the answer was lost, since the server may have done it.

use std::fmt;

use anyhow::{Context, Result, anyhow, bail};
use serde_json::Value;

use super::{
    Address, ApiError, Change, Execution, Kind, Live, Resource, StepOutcome, gone, paths, same,
};
use crate::model::{FieldChange, Meanwhile, Notice, label_of};
use crate::wire::api::{object_path, objects};

/// The cause of an error after which nobody knows whether a write was carried out: its answer was lost, and looking it up
/// failed, too.
#[derive(Debug)]
pub(super) struct NotKnown(pub(super) String);

impl fmt::Display for NotKnown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "whether it was carried out is not known: {}", self.0)
    }
}

/// Why a write whose answer was lost counts as not done.
pub(super) const NOT_DONE: &str = "it was not carried out, as far as NetBird shows";

impl Execution<'_> {
    /// Changes an object that is not a group. What the file says is set, whoever changed it since; the rest stays as it is now.
    pub(super) fn update(
        &mut self,
        change: &Change,
        live: &Live,
        after: &Resource,
    ) -> Result<StepOutcome> {
        let address = &change.address;
        let fresh = self.read_again(live)?;
        self.same_form(live, &fresh)?;
        self.tell_overwritten(change, live, &fresh, after)?;
        // a peer's entry has the name of its key, or its own: whether it is renamed, the change says
        let is_peer = matches!(after, Resource::Peer(_));
        let is_right =
            |found: &Live| (is_peer || found.name == change.name()) && same(after, found).is_ok();
        // what moves to another object is written there
        let moved = Live {
            within: self.within(address)?.cloned(),
            ..live.clone()
        };
        let moves = moved.within != live.within;
        if !moves && is_right(&fresh) {
            self.learn_label(&fresh);
            let said = "is already as the file says: somebody changed it meanwhile";
            return Ok(StepOutcome::otherwise(said));
        }
        let body = after.request(change.name(), Some(&fresh.wire.value()?), &self.groups)?;
        let path = paths::object(&moved)?;
        let (stored, lost) = self.put(address, &path, &body, is_right)?;
        same(after, &stored)?;
        let label = self.learn_label(&stored);
        let (said, was_predicted) = match after {
            // a plan predicts a label at most
            Resource::Peer(peer) if peer.name.is_some() => (
                format!("renamed from {}{label}", live.name),
                label.is_empty(),
            ),
            _ => ("changed".into(), true),
        };
        Ok(StepOutcome {
            is_as_planned: lost.is_empty() && was_predicted,
            text: said + lost,
        })
    }

    /// The label that the server made of a peer's name; it alone decides.
    fn learn_label(&mut self, stored: &Live) -> String {
        if stored.resource.kind() != Kind::Peer {
            return String::new();
        }
        let peer = stored.wire.read::<objects::Peer>();
        let label = peer.map(|peer| label_of(&peer.dns_label).to_owned());
        let Some(label) = label.ok().filter(|label| !label.is_empty()) else {
            return String::new();
        };
        let said = format!(", DNS label {label}");
        self.applied.dns_labels.insert(stored.id.clone(), label);
        said
    }

    /// Reads an object right before it is written.
    pub(super) fn read_again(&self, live: &Live) -> Result<Live> {
        let kind = live.resource.kind();
        let found = self.get(kind, &paths::object(live)?);
        let found = found.map_err(gone)?;
        self.read(kind, found)
    }

    /// Reads what is at a path: what has no place of its own, in the list that holds it.
    fn get(&self, kind: Kind, path: &str) -> Result<Value, ApiError> {
        if kind.is_only_listed() {
            for entry in self.api.values(kind.path())? {
                let id = entry["id"].as_str().unwrap_or_default();
                if object_path(kind.path(), id)? == path {
                    return Ok(entry);
                }
            }
        }
        self.api.get(path)
    }

    /// Replaces an object and returns what the server has then, and what to say of a lost answer. `is_done` tells of the
    /// object as it is found after that whether it was carried out.
    pub(super) fn put(
        &mut self,
        address: &Address,
        path: &str,
        body: &Value,
        is_done: impl Fn(&Live) -> bool,
    ) -> Result<(Live, &'static str)> {
        let error = match self.api.put(path, body) {
            // what it answers to settings is not what it says when it is asked (docs/netbird-api.md, "Account settings")
            Ok(_) if address.kind.is_listed_one() => {
                let found = self
                    .get(address.kind, path)
                    .context("it was carried out, and what NetBird has now could not be read")?;
                return Ok((self.read(address.kind, found)?, ""));
            }
            Ok(answer) => return Ok((self.read(address.kind, answer)?, "")),
            Err(error) if error.outcome_unknown => error,
            Err(error) => return Err(gone(error)),
        };
        match self.get(address.kind, path) {
            Ok(found) => {
                let found = self.read(address.kind, found)?;
                match is_done(&found) {
                    true => Ok((found, self.tell_lost(address, error))),
                    false => Err(anyhow::Error::from(error).context(NOT_DONE)),
                }
            }
            Err(failed) if failed.is_gone() => Err(gone(failed)),
            Err(failed) => Err(not_known(error, &failed)),
        }
    }

    /// Errors where somebody gave the object a form meanwhile that the file cannot say: what would be lost by writing it
    /// was in no plan.
    pub(super) fn same_form(&self, live: &Live, fresh: &Live) -> Result<()> {
        let now = fresh.resource.beyond_the_file();
        if now.is_some() && now != live.resource.beyond_the_file() {
            bail!(
                "somebody changed it meanwhile: it {}, which the file cannot say, so it is left as it is; look at it in \
                 NetBird, then run plan",
                now.unwrap_or_default()
            );
        }
        if let (Resource::User(planned), Resource::User(now)) = (&live.resource, &fresh.resource)
            && (planned.role, planned.blocked) != (now.role, now.blocked)
        {
            bail!(
                "somebody changed the role or blocked the user meanwhile, so this run does not change the user; run plan"
            );
        }
        Ok(())
    }

    /// Says what somebody changed since the plan was made and the file says otherwise.
    fn tell_overwritten(
        &mut self,
        change: &Change,
        live: &Live,
        fresh: &Live,
        after: &Resource,
    ) -> Result<()> {
        // read by the same groups as the fresh one
        let planned = self.read(change.address.kind, live.wire.clone())?;
        let (mut planned, mut now) = (planned.resource.fields(), fresh.resource.fields());
        let mut overwritten = Vec::new();
        for (field, after) in after.fields() {
            let before = planned.remove(&field).unwrap_or_default();
            let now = now.remove(&field).unwrap_or_default();
            if now != before && now != after && change.address.kind != Kind::Peer {
                let change = FieldChange {
                    field,
                    before: now,
                    after,
                };
                overwritten.push(change);
            }
        }
        self.tell_renamed(change, live, fresh);
        if !overwritten.is_empty() {
            self.tell(&change.address, Meanwhile::Changed(overwritten));
        }
        Ok(())
    }

    /// Says that somebody renamed an object since the plan was made, which the file undoes.
    pub(super) fn tell_renamed(&mut self, change: &Change, live: &Live, fresh: &Live) {
        if matches!(change.operation.after(), Some(Resource::Peer(peer)) if peer.name.is_none()) {
            return;
        }
        if fresh.name != live.name && fresh.name != change.address.name {
            self.tell(&change.address, Meanwhile::Renamed(fresh.name.clone()));
        }
    }

    /// Says something of an object, now and in the result.
    pub(super) fn tell(&mut self, address: &Address, what: Meanwhile) {
        let notice = Notice::about(address, what);
        self.observer.say(&notice.words());
        self.applied.notices.push(notice);
    }

    pub(super) fn tell_lost(&mut self, address: &Address, error: ApiError) -> &'static str {
        self.observer.say(&format!(
            "{address}: {error}; NetBird carried it out all the same"
        ));
        ", though the answer was lost"
    }
}

/// The error of a write whose answer was lost and that could not be looked up.
pub(super) fn not_known(error: ApiError, failed: &dyn fmt::Display) -> anyhow::Error {
    anyhow!(error).context(NotKnown(format!("{failed}")))
}
