//! Carries out a plan: one write after the other, since the server queues them on one lock anyway.
//!
//! Driven by the plan alone. Each answer is compared with what was sent, because the server drops what it does not know
//! and answers 200. It stops at the first failure; running again is the way to resume. Keys are in `apply::keys`, the
//! check that everything arrived in `apply::verify`.

mod conduct;
mod course;
mod creations;
mod deletions;
mod delta;
mod keys;
mod members;
mod put_back;
#[cfg(test)]
mod tests;
mod verify;
mod write;

use std::collections::BTreeMap;

use anyhow::{Result, anyhow};
use serde_json::Value;

use crate::account::{Actual, paths};
use crate::base::{Entry, Id, json};
use crate::inventory::Inventory;
use crate::model::{Address, Change, Groups, Kind, Live, Operation, Resource, differences};
use crate::plan::{Part, Plan, Step};
use crate::render::Status;
use crate::wire::api::objects::User;
use crate::wire::api::{Api, ApiError};

use course::Course;
use members::GroupWrites;

pub use conduct::{
    Applied, Conduct, Custody, KeyCopy, NotRecorded, Observer, Recorded, Recorder, Records,
    StepOutcome,
};
pub use verify::Verified;

/// Who writes: the server, the account as it was when the plan was made, and who is told.
pub struct Writer<'a> {
    api: &'a Api,
    before: &'a Actual,
    observer: &'a mut dyn Observer,
}

impl<'a> Writer<'a> {
    /// Writes to this server, whose account was so.
    pub fn new(api: &'a Api, before: &'a Actual, observer: &'a mut dyn Observer) -> Self {
        Writer {
            api,
            before,
            observer,
        }
    }

    /// Carries out the plan.
    pub fn apply(&mut self, plan: &Plan, conduct: Conduct) -> Applied {
        let known = self.before.objects.values().flatten();
        let mut applied = Applied {
            statuses: vec![Status::Pending; plan.changes.len()],
            known: known.map(|live| live.id.clone()).collect(),
            durations_ms: vec![0; plan.changes.len()],
            groups: GroupWrites::since(self.before, conduct.puts_back),
            ..Applied::default()
        };
        self.execute(plan, self.before, Some(conduct), &mut applied, |run| {
            Course::of(run, plan, conduct).all();
        });
        applied
    }

    /// Carries out what `work` says in an account that is so, and notes whether anything was written.
    fn execute<T>(
        &mut self,
        plan: &Plan,
        actual: &Actual,
        conduct: Option<Conduct>,
        applied: &mut Applied,
        work: impl FnOnce(&mut Execution) -> T,
    ) -> T {
        let before = self.api.writes();
        let mut run = Execution {
            plan,
            api: self.api,
            groups: actual.groups.clone(),
            parents: plan.parents.clone(),
            custody: conduct.and_then(|conduct| conduct.custody),
            records: conduct.and_then(|conduct| conduct.records),
            look: None,
            me: actual.me.as_ref(),
            observer: self.observer,
            applied,
        };
        let done = work(&mut run);
        applied.wrote |= self.api.writes() > before;
        done
    }
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
    /// Carries out one step and returns what to say of it.
    fn step(&mut self, step: Step, change: &Change) -> Result<StepOutcome> {
        let address = &change.address;
        match (&change.operation, step.part) {
            (Operation::Create { after }, _) => self.create(address, after),
            (Operation::Replace { live, after, .. }, Part::Making) => {
                // what the file does not say is carried over from the old one, as it is now
                let fresh = self.read_again(live)?;
                self.same_form(live, &fresh)?;
                let after = after.over(&fresh.resource);
                self.create(address, &after).map(|outcome| StepOutcome {
                    text: "replacement created".to_owned(),
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

    /// Reads what is at a path; none where it is gone.
    fn find(&self, path: &str) -> Result<Option<Value>> {
        match self.api.get(path) {
            Err(error) if error.is_gone() => Ok(None),
            found => Ok(Some(found?)),
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
        self.parents.insert(address.clone(), live.id.clone());
    }
}

/// Compares an answer with what was sent: the server takes unknown ids without a word and drops them.
fn same(sent: &Resource, answer: &Live) -> Result<()> {
    let lost = differences(sent, &answer.resource);
    if lost.is_empty() {
        return Ok(());
    }
    let fields = lost.iter().map(|change| {
        let (field, before, after) = (&change.field, &change.before, &change.after);
        format!("{field} is {before} where {after} was sent")
    });
    let fields: Vec<String> = fields.collect();
    let fields = fields.join("; ");
    Err(anyhow!(
        "NetBird answered 200 and stored something else: {fields}"
    ))
}

/// The error of an answer that does not have the form of its kind.
fn unreadable(kind: Kind, error: &serde_json::Error) -> anyhow::Error {
    let (kind, why) = (kind.label(), json::why(error));
    anyhow!("the answer is not a {kind} that can be read: {why}")
}

/// The error of a write of what can be gone.
fn gone(error: ApiError) -> anyhow::Error {
    match error.is_gone() {
        true => anyhow::Error::from(error)
            .context("it was to be changed, but somebody deleted it meanwhile; run again"),
        false => error.into(),
    }
}
