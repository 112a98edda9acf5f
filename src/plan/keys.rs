//! The life cycle of setup keys: what becomes of a key, as a function of one declared key and the live keys of its name.
//!
//! Names of keys are not unique and old keys are never purged, so a name often stands for several: the inventory says which
//! of them are the entry's. A recorded key was sealed, since its id is recorded in the commit that stores its copy. The
//! plan, the members of groups and the enrollments all go by the one decision made here.

mod choice;
mod operation;

use std::collections::BTreeMap;

use jiff::Timestamp;

use crate::account::actual::Actual;
use crate::base::evidence::Evidence;
use crate::base::id::Id;
use crate::base::parallel;
use crate::inventory::{Inventory, RecordedAs};
use crate::model::address::Address;
use crate::model::change::Operation;
use crate::model::desired::Desired;
use crate::model::kind::{Kind, Live, SetupKey};
use crate::model::notice::Notice;
use crate::model::reason::Reason;
use crate::plan::options::Options;
use crate::plan::ours::Standing;
use crate::wire::api::objects;

use choice::choose;
use operation::{compare, make, wanted};

pub use operation::must_be_replaced;

/// What is to be done about one declared key.
#[derive(Debug, Default)]
pub struct Decision {
    /// The operation and why it is.
    pub operation: Option<(Operation, Option<Reason>)>,
    /// Other keys of the name that go after it, and why.
    pub deletions: Vec<(Live, Reason)>,
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
        self.key.valid && !self.is_spent()
    }

    /// Returns whether it was made before the instant from which on the file asks for a new one. A key whose id does not
    /// tell its age is old if even its last change is.
    pub fn is_superseded(&self, asked: Option<Timestamp>) -> bool {
        let changed = || self.key.updated_at.map(Timestamp::as_second);
        let created = self.key.id.created_at().or_else(changed);
        asked.is_some_and(|instant| created.is_some_and(|second| second < instant.as_second()))
    }
}

/// Returns the live keys of that name, the oldest first.
fn namesakes<'a>(name: &str, actual: &'a Actual, options: &Options) -> Vec<Namesake<'a>> {
    let ours = &options.ours;
    let asked = ours.asked.get(&Address::new(Kind::SetupKey, name));
    let namesake = |live: &'a Live| {
        let named = (asked == Some(&live.id)).then_some(RecordedAs::Adopted);
        Some(Namesake {
            key: actual.keys.get(&live.id)?,
            live,
            origin: ours.origin(&live.id).or(named),
            is_made: ours.is_made(&live.id),
            is_strange: ours.may_be_strange(&live.id),
        })
    };
    let live = actual.named(Kind::SetupKey, name).iter();
    live.filter_map(namesake).collect()
}

/// Returns the living machines that came by an entry's own keys: those that exist, and those that the inventory knows.
fn machines(
    name: &str,
    namesakes: &[Namesake],
    actual: &Actual,
    inventory: &Inventory,
) -> Vec<Came> {
    let known = inventory.enrolled.get(name).into_iter().flatten();
    let own = namesakes
        .iter()
        .filter(|of| of.origin.is_some() && of.is_spent());
    let bound = own.filter_map(|of| {
        let (peer, by) = actual.bindings.of_key(&of.key.id)?.bound()?;
        Some((peer, by, Some(of)))
    });
    let all = bound.chain(known.clone().map(|machine| (&machine.id, machine.by, None)));
    let mut machines: Vec<Came> = Vec::new();
    for (id, by, key) in all {
        let is_listed = machines.iter().any(|of| of.peer == *id);
        if let (Some(peer), false) = (actual.peers.get(id), is_listed) {
            // the run that adopts a key records its machine, too
            let is_known = known.clone().any(|machine| machine.id == *id);
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
    }
    machines
}

/// What is decided about each declared key, by name. The plan's operations, members and enrollments all read it, so that
/// no two of them can take another key for the entry's.
pub type Decisions = BTreeMap<String, Decision>;

/// Decides about every declared key.
pub fn decisions(desired: &Desired, actual: &Actual, options: &Options) -> Decisions {
    let keys: Vec<_> = desired.setup_keys().collect();
    let decided = parallel::map(&keys, |(name, declared)| {
        ((*name).clone(), decide(name, declared, actual, options))
    });
    decided.into_iter().collect()
}

/// Decides about the declared key `name` of an account.
fn decide(name: &str, declared: &SetupKey, actual: &Actual, options: &Options) -> Decision {
    let address = Address::new(Kind::SetupKey, name);
    let mut namesakes = namesakes(name, actual, options);
    let ours = &options.ours;
    let asked = ours.asked.get(&address);
    let is_new = |id: &Id| ours.inventory.origin(id).is_none();
    let adopts = asked.filter(|id| is_new(id)).cloned();
    let mut adopts = adopts.map(|id| (id, RecordedAs::Adopted));
    let lacks = namesakes.iter().all(|of| of.origin.is_none());
    if adopts.is_none() && lacks && ours.standing != Standing::Unknown {
        adopts = choice::adopted(declared, &namesakes, options);
    }
    if let Some((id, origin)) = &adopts {
        let adopted = namesakes.iter_mut().filter(|of| of.key.id == *id);
        adopted.for_each(|of| of.origin = Some(*origin));
    }
    let is_superseded = |of: &Namesake| {
        let is_asked = of.origin == Some(RecordedAs::Adopted) && is_new(&of.key.id);
        is_asked && !declared.enrolled && of.is_superseded(declared.asked_anew(options.now))
    };
    let adopts_superseded = namesakes.iter().any(is_superseded);
    let machines = machines(name, &namesakes, actual, &ours.inventory);
    let mut decision = choose(&address, declared, (&namesakes, machines), options);
    decision.adopts_superseded = adopts_superseded;
    decision.adopts = adopts.filter(|_| ours.standing != Standing::Unknown);
    decision
}

#[cfg(test)]
mod tests;
