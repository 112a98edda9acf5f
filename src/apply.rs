//! Carries out a plan: one write after the other, since the server queues them on one lock anyway.
//!
//! Driven by the plan alone. Each answer is compared with what was sent, because the server drops what it does not know
//! and answers 200. It stops at the first failure; running again is the way to resume. Keys are in `apply::keys`, the
//! check that everything arrived in `apply::verify`.

mod conduct;
mod course;
mod creations;
mod custody;
mod deletions;
mod delta;
mod keys;
mod members;
mod paths;
mod put_back;
mod recorder;
#[cfg(test)]
mod tests;
mod verify;
mod write;

use std::collections::BTreeMap;

use anyhow::{Result, anyhow};

use crate::account::actual::Actual;
use crate::base::entry::Entry;
use crate::base::id::Id;
use crate::base::json;
use crate::inventory::Inventory;
use crate::model::address::Address;
use crate::model::change::{Change, Operation};
use crate::model::kind::{Groups, Kind, Live, Resource, differences};
use crate::plan::{Part, Plan, Step};
use crate::render::Status;
use crate::wire::api::objects::User;
use crate::wire::api::{Api, ApiError};

use course::Course;
use members::GroupWrites;

pub use conduct::{Applied, Conduct, Fresh, Observer, Records, StepOutcome};
pub use custody::{Custody, KeyCopy};
pub use put_back::settle_members;
pub use recorder::{NotRecorded, Recorded, Recorder};
pub use verify::{Verified, verify};

/// Carries out the plan.
pub fn apply(
    api: &Api,
    plan: &Plan,
    actual: &Actual,
    conduct: Conduct,
    observer: &mut dyn Observer,
) -> Applied {
    let known = actual
        .objects
        .values()
        .flatten()
        .map(|live| live.id.clone())
        .collect();
    let mut applied = Applied {
        statuses: vec![Status::Pending; plan.changes.len()],
        known,
        durations_ms: vec![0; plan.changes.len()],
        groups: GroupWrites::since(actual, conduct.puts_back),
        ..Applied::default()
    };
    let asked = Some(conduct);
    Execution::with(api, plan, actual, asked, observer, &mut applied, |run| {
        Course::of(run, plan, conduct).all();
    });
    applied
}

struct Execution<'a> {
    plan: &'a Plan,
    api: &'a Api,
    groups: Groups,
    /// What others stand in, as it is by now.
    parents: BTreeMap<Address, Id>,
    custody: Option<&'a Custody>,
    records: Option<Records<'a>>,
    /// The inventory as it was read again for this block of deletions, or of keys.
    look: Option<Inventory>,
    /// The token's own user, where the server tells.
    me: Option<&'a User>,
    observer: &'a mut dyn Observer,
    applied: &'a mut Applied,
}

impl Execution<'_> {
    /// Carries out what `work` says, and notes whether anything was written.
    fn with<T>(
        api: &Api,
        plan: &Plan,
        actual: &Actual,
        conduct: Option<Conduct>,
        observer: &mut dyn Observer,
        applied: &mut Applied,
        work: impl FnOnce(&mut Execution) -> T,
    ) -> T {
        let before = api.writes();
        let mut run = Execution {
            plan,
            api,
            groups: actual.groups.clone(),
            parents: plan.parents.clone(),
            custody: conduct.and_then(|conduct| conduct.custody),
            records: conduct.and_then(|conduct| conduct.records),
            look: None,
            me: actual.me.as_ref(),
            observer,
            applied,
        };
        let done = work(&mut run);
        applied.wrote |= api.writes() > before;
        done
    }

    /// Carries out one step and returns what to say of it.
    fn step(&mut self, step: Step, change: &Change) -> Result<StepOutcome> {
        let Change {
            address, operation, ..
        } = change;
        match (operation, step.part) {
            (Operation::Create { after }, _) => self.create(address, after),
            (Operation::Replace { live, after, .. }, Part::Making) => {
                // what the file does not say is carried over from the old one, as it is now
                let fresh = self.read_again(live)?;
                self.same_form(live, &fresh)?;
                let after = after.over(&fresh.resource);
                self.create(address, &after).map(|outcome| StepOutcome {
                    text: "made anew".to_owned(),
                    ..outcome
                })
            }
            (Operation::Replace { live, .. } | Operation::Delete { live }, _) => {
                self.remove(change, live)
            }
            (Operation::Update { live, .. }, part) if address.kind == Kind::Group => {
                self.update_members(live, change, part)
            }
            (Operation::Update { live, after, .. }, _) => self.update(change, live, after),
        }
    }

    fn read(&self, kind: Kind, answer: impl Into<Entry>) -> Result<Live> {
        let read = Resource::read(kind, answer, &self.groups);
        read.map_err(|error| unreadable(kind, &error))
    }

    /// Notes what this run made.
    fn made(&mut self, address: &Address, live: &Live) {
        self.learn(address, live);
        let made = &mut self.applied.made;
        made.insert(live.id.clone(), address.clone());
    }

    /// Notes what others refer to, or stand in.
    fn learn(&mut self, address: &Address, live: &Live) {
        if let Some(what) = address.kind.referred_as() {
            self.groups.learn(what, live);
        }
        if address.kind.children().next().is_some() {
            self.parents.insert(address.clone(), live.id.clone());
        }
    }
}

/// Compares an answer with what was sent: the server takes unknown ids without a word and drops them.
fn same(sent: &Resource, answer: &Live) -> Result<()> {
    let lost = differences(sent, &answer.resource);
    if lost.is_empty() {
        return Ok(());
    }
    let fields: Vec<String> = lost
        .iter()
        .map(|change| {
            format!(
                "{} is {} where {} was sent",
                change.field, change.before, change.after
            )
        })
        .collect();
    Err(anyhow!(
        "NetBird answered 200 and stored something else: {}",
        fields.join("; ")
    ))
}

/// The error of an answer that does not have the form of its kind.
fn unreadable(kind: Kind, error: &serde_json::Error) -> anyhow::Error {
    anyhow!(
        "the answer is not a {} that can be read: {}",
        kind.label(),
        json::why(error)
    )
}

/// The error of a write of what can be gone.
fn gone(error: ApiError) -> anyhow::Error {
    match error.is_gone() {
        true => anyhow::Error::from(error)
            .context("it was to be changed, but somebody deleted it meanwhile; run again"),
        false => error.into(),
    }
}
