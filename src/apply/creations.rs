//! Creations, and what became of one whose answer was lost or that another run was quicker with.

use anyhow::{Context, Result};

use super::members::{MemberMoves, members_of};
use super::write::{NotKnown, not_known};
use super::{
    Address, ApiError, Execution, Id, Kind, Live, Resource, StepOutcome, differences, paths, same,
};
use crate::model::Unresolved;
use crate::plan::ours;
use crate::wire::api::objects::Event;

impl Execution<'_> {
    pub(super) fn create(&mut self, address: &Address, after: &Resource) -> Result<StepOutcome> {
        let body = after.request(&address.name, None, &self.groups)?;
        match self.api.post(&self.collection(address)?, &body) {
            Ok(answer) => {
                let live = self.read(address.kind, answer)?;
                self.made(address, &live);
                self.complete(address, after, &live)?;
                Ok(StepOutcome::as_planned("created"))
            }
            Err(error) if error.already_exists() => self.adopt(address, after, error),
            Err(error) if error.outcome_unknown => self.settle(address, after, error),
            Err(error) => Err(error.into()),
        }
    }

    /// Compares what was made with what was wanted, and writes what creation takes no notice of.
    fn complete(&mut self, address: &Address, after: &Resource, live: &Live) -> Result<()> {
        let late = address.kind.descriptor().not_at_creation;
        let lost = differences(after, &live.resource);
        if lost.is_empty()
            || !lost
                .iter()
                .all(|change| late.contains(&change.field.as_str()))
        {
            return same(after, live);
        }
        let within = self.within(address)?.cloned();
        let live = Live {
            within,
            ..live.clone()
        };
        let body = after.request(&address.name, Some(&live.wire.value()?), &self.groups)?;
        let is_done = |found: &Live| same(after, found).is_ok();
        let (stored, _) = self.put(address, &paths::object(&live)?, &body, is_done)?;
        same(after, &stored)
    }

    /// Another run made it meanwhile: then it is adopted as it is, if it is what is wanted.
    fn adopt(
        &mut self,
        address: &Address,
        after: &Resource,
        error: ApiError,
    ) -> Result<StepOutcome> {
        // of several the lowest id stands
        let found = self.appeared(address)?.into_iter();
        let Some(live) = found.min_by(|a, b| a.id.cmp(&b.id)) else {
            return Err(error.into());
        };
        self.learn(address, &live);
        if address.kind == Kind::Group {
            let members = members_of(Some(&live.resource));
            let missing = &members_of(Some(after)) - &members;
            self.write_members(&live.id, None, &MemberMoves::joining(missing))?;
        } else {
            same(after, &live).context("another run created it meanwhile, with other values")?;
        }
        self.found(address, &live);
        Ok(StepOutcome::otherwise("created by another run meanwhile"))
    }

    /// The answer of a creation was lost. It is not sent again: the list tells whether it arrived.
    fn settle(
        &mut self,
        address: &Address,
        after: &Resource,
        error: ApiError,
    ) -> Result<StepOutcome> {
        let mut found = match self.appeared(address) {
            Ok(found) => found,
            Err(failed) => return Err(not_known(error, &format_args!("{failed:#}"))),
        };
        let error = anyhow::Error::from(error);
        match (found.pop(), found.is_empty()) {
            (Some(live), true) => {
                self.learn(address, &live);
                self.found(address, &live);
                same(after, &live)?;
                self.observer.say(&format!(
                    "{address}: {error:#}; NetBird carried it out all the same"
                ));
                Ok(StepOutcome::otherwise(
                    "created, though its answer was lost",
                ))
            }
            (None, _) => {
                Err(error
                    .context("it was not created (NetBird's list does not have it); run again"))
            }
            (Some(_), false) => {
                let text = "NetBird has several new objects of that name";
                Err(error.context(NotKnown(text.into())))
            }
        }
    }

    /// Notes an object that stands for an entry by now. Without a proof that a run of ours made it it is adopted: then it is
    /// never deleted for having been made.
    fn found(&mut self, address: &Address, live: &Live) {
        let of_whom = match self.is_made_by_us(&live.id).unwrap_or_default() {
            true => &mut self.applied.made,
            false => &mut self.applied.met,
        };
        of_whom.insert(live.id.clone(), address.clone());
    }

    /// Returns whether the event log proves that a run of ours made an object whose answer was lost.
    pub(super) fn is_made_by_us(&self, id: &Id) -> Result<bool> {
        let (Some(me), Some(records)) = (self.me, self.records) else {
            return Ok(false);
        };
        if !records.recorder.log_proves()? {
            return Ok(false);
        }
        let events = self
            .api
            .list("/events")
            .context("cannot read the event log")?;
        let events = events.iter().filter_map(|event| event.read().ok());
        let events: Vec<Event> = events.collect();
        Ok(ours::made_by(me, &events).contains(id))
    }

    /// Returns the path of the collection that an object of that address is made in.
    fn collection(&self, address: &Address) -> Result<String> {
        Ok(paths::collection(address.kind, self.within(address)?)?)
    }

    /// Returns what an object of that address is to stand in, if in anything.
    pub(super) fn within(&self, address: &Address) -> Result<Option<&Id>> {
        match address.parent() {
            None => Ok(None),
            Some(parent) => match self.parents.get(&parent) {
                Some(id) => Ok(Some(id)),
                None => Err(Unresolved::Absent(parent.kind.label(), parent.name).into()),
            },
        }
    }

    /// Returns objects of that name that were not there when the run began and that it did not make.
    pub(super) fn appeared(&self, address: &Address) -> Result<Vec<Live>> {
        let entries = self
            .api
            .list(&self.collection(address)?)
            .with_context(|| format!("cannot list {}", address.kind.plural()))?;
        let mut found = Vec::new();
        for entry in entries {
            let live = self.read(address.kind, entry)?;
            let known =
                self.applied.known.contains(&live.id) || self.applied.made.contains_key(&live.id);
            if live.name == address.name && !known {
                found.push(live);
            }
        }
        Ok(found)
    }
}
