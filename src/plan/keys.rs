//! The life cycle of setup keys: what becomes of a key, as a function of one declared key and the live keys of its name.
//!
//! Names of keys are not unique and old keys are never purged, so a name often stands for several: the inventory says which
//! of them are the entry's. A recorded key was sealed, since its id is recorded in the commit that stores its copy. The
//! plan, the members of groups and the enrollments all go by the one decision made here.

mod choice;

use std::collections::BTreeMap;

use jiff::Timestamp;

use crate::account::Actual;
use crate::base::{Evidence, Id, parallel};
use crate::inventory::RecordedAs;
use crate::model::{Address, Change, Desired, Kind, Live, Notice, Resource, SetupKey};
use crate::plan::{Enrolled, Options, Standing};
use crate::wire::api::objects;

pub use choice::must_be_replaced;

/// What is to be done about one declared key.
#[derive(Debug, Default)]
pub struct Decision {
    /// What makes, changes or replaces the key.
    pub change: Option<Change>,
    /// The deletions of other keys of the name.
    pub deletions: Vec<Change>,
    /// What a reader should know.
    pub notices: Vec<Notice>,
    /// A key that the entry adopts.
    pub adopts: Option<(Id, RecordedAs)>,
    /// Whether the key that a person names for it (`--adopt`) is older than the one that the file asks for: this very run
    /// would delete it.
    pub adopts_superseded: bool,
    /// Nothing is done, since several keys could be meant.
    pub is_skipped: bool,
    /// The living machines that came by the entry's own one-off keys, also by such that do not exist any more.
    pub machines: Vec<Came>,
    /// What tells whose the name is: of a pending entry a machine that came since it was asked for.
    pub used: Option<Used>,
    /// Id of the valid, unused key of ours that stands for the entry and stays.
    pub waiting: Option<Id>,
    /// What a used key asks for.
    pub enrolled: Enrolled,
}

/// A living machine that came by a key of an entry.
#[derive(Debug, Clone)]
pub struct Came {
    /// The peer.
    pub peer: Id,
    /// What tells so.
    pub by: Evidence,
    /// When its key was made, or else when it enrolled itself, in seconds since 1970.
    pub made: Option<i64>,
    /// Whether its key exists.
    has_key: bool,
    /// Whether it came before the entry adopted its key.
    pub is_older_than_entry: bool,
}

impl Came {
    /// Returns whether it is older than the instant from which on the file asks for another one.
    pub fn is_superseded(&self, asked: Option<Timestamp>) -> bool {
        asked.is_some_and(|instant| self.made.is_some_and(|made| made < instant.as_second()))
    }
}

/// What tells whose the name of an entry is.
#[derive(Debug)]
pub enum Used {
    /// Whoever came by this key.
    Key(Id),
    /// This machine: its key does not exist any more.
    Machine(Came),
}

/// A live key that has an entry's name.
#[derive(Debug, Clone, Copy)]
pub struct Namesake<'a> {
    /// The facts.
    pub key: &'a objects::SetupKey,
    /// The same in canonical form.
    pub live: &'a Live,
    /// How it is recorded, if it is.
    pub origin: Option<RecordedAs>,
    /// Whether the event log proves that a run of ours made it.
    pub is_made: bool,
    /// Whether the inventory of another environment has it.
    pub is_strange: bool,
}

impl Namesake<'_> {
    /// Returns whether it did its work.
    pub fn is_spent(&self) -> bool {
        self.key.is_for_one() && self.key.used_times > 0
    }

    /// Returns whether somebody can still enroll with it.
    pub fn is_waiting(&self) -> bool {
        self.key.valid
    }

    /// Returns whether it was made before the instant from which on the file asks for a new one. A key whose id does not
    /// tell its age is old if even its last change is.
    pub fn is_superseded(&self, asked: Option<Timestamp>) -> bool {
        let changed = || self.key.updated_at.map(Timestamp::as_second);
        let created = self.key.id.created_at().or_else(changed);
        asked.is_some_and(|instant| created.is_some_and(|second| second < instant.as_second()))
    }
}

/// What is decided about each declared key, by name. The plan's operations, members and enrollments all read it, so that
/// no two of them can take another key for the entry's.
pub type Decisions = BTreeMap<String, Decision>;

/// Decides about every declared key.
pub fn decisions(desired: &Desired, actual: &Actual, options: &Options) -> Decisions {
    let keys: Vec<_> = desired.setup_keys().collect();
    let decided = parallel::map(&keys, |(name, declared)| {
        let mut choice = Choice {
            address: Address::new(Kind::SetupKey, *name),
            declared,
            desired,
            actual,
            options,
            after: Resource::SetupKey((*declared).clone()),
            asked: declared.asked_anew(options.now),
            decision: Decision::default(),
        };
        let mut namesakes = choice.namesakes();
        choice.adopt(&mut namesakes);
        choice.decision.machines = choice.machines(&namesakes);
        choice.choose(&namesakes);
        choice.enroll();
        ((*name).clone(), choice.decision)
    });
    decided.into_iter().collect()
}

/// The decision about one declared key while it is made.
pub(super) struct Choice<'a> {
    pub(super) address: Address,
    pub(super) declared: &'a SetupKey,
    pub(super) desired: &'a Desired,
    pub(super) actual: &'a Actual,
    pub(super) options: &'a Options,
    /// The entry in canonical form.
    after: Resource,
    /// The instant from which on a new key is asked for, where it has come.
    pub(super) asked: Option<Timestamp>,
    pub(super) decision: Decision,
}

impl<'a> Choice<'a> {
    /// Returns the live keys of that name, the oldest first.
    fn namesakes(&self) -> Vec<Namesake<'a>> {
        let (actual, ours) = (self.actual, &self.options.ours);
        let namesake = |live: &'a Live| {
            Some(Namesake {
                key: actual.keys.get(&live.id)?,
                live,
                origin: ours.origin(&live.id),
                is_made: ours.is_made(&live.id),
                is_strange: ours.may_be_strange(&live.id),
            })
        };
        actual
            .at(&self.address)
            .iter()
            .filter_map(namesake)
            .collect()
    }

    /// Notes the key that the entry adopts: the one that a person names, or else one that it can mean where it has none.
    fn adopt(&mut self, namesakes: &mut [Namesake]) {
        let ours = &self.options.ours;
        let is_known = ours.standing != Standing::Unknown;
        let asked = ours.asked.get(&self.address);
        let asked = asked.filter(|id| ours.inventory.origin(id).is_none());
        let lacks = namesakes.iter().all(|of| of.origin.is_none());
        let adopts = match asked {
            Some(id) => Some((id.clone(), RecordedAs::Adopted)),
            None if lacks => self.adopted(namesakes),
            None => None,
        };
        let adopted = |of: &&mut Namesake| adopts.as_ref().is_some_and(|(id, _)| *id == of.key.id);
        for of in namesakes.iter_mut().filter(adopted) {
            of.origin = adopts.as_ref().map(|(_, origin)| *origin);
            self.decision.adopts_superseded =
                !self.declared.enrolled && of.is_superseded(self.asked);
        }
        self.decision.adopts = adopts.filter(|_| is_known);
    }

    /// Returns the living machines that came by the entry's own keys: those that exist, and those that the inventory knows.
    fn machines(&self, namesakes: &[Namesake]) -> Vec<Came> {
        let (actual, inventory) = (self.actual, &self.options.ours.inventory);
        let known = inventory.enrolled.get(&self.address.name);
        let known = known.map(Vec::as_slice).unwrap_or_default();
        let own = namesakes.iter();
        let own = own.filter(|of| of.origin.is_some());
        let bound = own.filter_map(|of| {
            let (peer, by) = actual.bindings.of_key(&of.key.id)?.bound()?;
            Some((peer, by, Some(of)))
        });
        let known_ones = known.iter().map(|machine| (&machine.id, machine.by, None));
        // also those of keys that somebody deleted before a run recorded who came by them
        let recorded = inventory.of(&self.address.key()).into_iter();
        let recorded = recorded.filter_map(|(id, _)| {
            let (ours, name) = (&self.options.ours, &self.address.name);
            let (peer, by) = ours.machine_of(name, id, self.desired, actual)?;
            Some((peer, by, None))
        });
        let mut machines: Vec<Came> = Vec::new();
        for (id, by, key) in bound.chain(known_ones).chain(recorded) {
            let is_listed = machines.iter().any(|of| of.peer == *id);
            let Some(peer) = actual.peers.get(id).filter(|_| !is_listed) else {
                continue;
            };
            // the run that adopts a key records its machine, too
            let is_known = known.iter().any(|machine| machine.id == *id);
            let is_older = |of: &Namesake| {
                let is_adopted = of.origin == Some(RecordedAs::Adopted);
                is_adopted && (is_known || inventory.origin(&of.key.id).is_none())
            };
            let made = key.and_then(|of| of.key.id.created_at());
            let enrolled = || peer.created_at.map(Timestamp::as_second);
            machines.push(Came {
                peer: id.clone(),
                by: actual.bindings.evidence(id, by),
                made: made.or_else(enrolled),
                has_key: key.is_some(),
                is_older_than_entry: key.is_some_and(is_older),
            });
        }
        machines
    }
}

#[cfg(test)]
mod tests;
