//! Carries out a plan: one write after the other, since the server queues them on one lock anyway.
//!
//! Driven by the plan alone. Each answer is compared with what was sent, because the server drops what it does not know
//! and answers 200. It stops at the first failure; running again is the way to resume. Keys are in `apply::keys`, the
//! check that everything arrived in `apply::verify`.

mod conduct;
mod creations;
mod custody;
mod keys;
mod members;
mod namesakes;
mod paths;
mod put_back;
mod verify;
mod write;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::Ordering;
use std::time::Instant;

use anyhow::{Result, anyhow};
use serde_json::Value;

use crate::actual::Actual;
use crate::address::Address;
use crate::api::{Api, ApiError};
use crate::change::{Change, Operation};
use crate::entry::Entry;
use crate::id::Id;
use crate::json;
use crate::kind::{FieldChange, Groups, Kind, Live, Refers, Resource, Unresolved, differences};
use crate::plan::{Part, Plan, Step};
use crate::reason::Reason;
use crate::render::Status;

use conduct::Made;
use members::GroupWrites;
use paths::NoParent;
use write::NotKnown;

pub use conduct::{Applied, Conduct, Fresh, Observer, StepOutcome};
pub use custody::{Copies, Custody, KeyCopy, NotStored};
pub use put_back::settle_members;
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
    let statuses = vec![Status::Pending; plan.changes.len()];
    let applied = Applied {
        statuses,
        known,
        durations_ms: vec![0; plan.changes.len()],
        ..Applied::default()
    };
    let mut applied = applied;
    applied.groups = GroupWrites::since(actual, conduct.puts_back);
    let custody = conduct.custody;
    Run::with(api, plan, actual, custody, observer, &mut applied, |run| {
        run.all(plan, conduct);
    });
    for status in &mut applied.statuses {
        if *status == Status::Pending {
            *status = Status::Skipped;
        }
    }
    applied
}

/// Why a change is no success of which the second step was not tried.
const HALF_DONE: &str =
    "only its first half was done: what is new is in place, what is to go is still there";

fn millis(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX)
}

/// The group that goes since an older one bears its name too.
fn is_surplus_group(change: &Change) -> Option<&Live> {
    match &change.operation {
        Operation::Delete { live } if change.reason == Some(Reason::SecondGroup) => Some(live),
        _ => None,
    }
}

/// Whether a step only takes away.
fn breaks(step: Step, change: &Change) -> bool {
    matches!(step.part, Part::Removals | Part::Breaking)
        || matches!(change.operation, Operation::Delete { .. })
}

fn log_write(change: &Change) {
    let fields = change.operation.fields();
    let side = |pick: fn(&FieldChange) -> &Value| {
        let fields = fields
            .iter()
            .map(|change| (change.field.clone(), pick(change).clone()));
        Value::Object(fields.collect()).to_string()
    };
    let (before, after) = match &change.operation {
        Operation::Create { after } => ("null".into(), Value::Object(after.fields()).to_string()),
        Operation::Delete { live } => (
            Value::Object(live.resource.fields()).to_string(),
            "null".into(),
        ),
        _ => (side(|change| &change.before), side(|change| &change.after)),
    };
    log::info!(
        operation = change.operation.word(), kind = change.address.kind.word(), name = change.address.name.as_str(),
        before = before.as_str(), after = after.as_str();
        "{} {}", change.operation.word(), change.address
    );
}

struct Run<'a> {
    /// What people call the plan's peers.
    labels: &'a BTreeMap<Id, String>,
    /// Members that the file does not name and that stay, by group.
    unmanaged_members: &'a BTreeMap<String, BTreeSet<Id>>,
    api: &'a Api,
    groups: Groups,
    /// What others stand in, as it is by now.
    parents: BTreeMap<Address, Id>,
    custody: Option<&'a Custody>,
    observer: &'a mut dyn Observer,
    applied: &'a mut Applied,
}

/// How far a run is.
#[derive(Default)]
struct Progress {
    /// Something did not work.
    failed: bool,
    /// The last step only took away.
    breaking: bool,
    /// Nothing else is tried, whatever depends on it.
    ended: bool,
    /// Changes of which a step was carried out.
    begun: BTreeSet<usize>,
}

impl Run<'_> {
    /// Carries out what `work` says, and notes whether anything was written.
    fn with<T>(
        api: &Api,
        plan: &Plan,
        actual: &Actual,
        custody: Option<&Custody>,
        observer: &mut dyn Observer,
        applied: &mut Applied,
        work: impl FnOnce(&mut Run) -> T,
    ) -> T {
        let before = api.writes();
        let mut groups = actual.groups.clone();
        let surplus = plan.changes.iter().filter_map(is_surplus_group);
        surplus.for_each(|live| groups.set_aside(&live.id));
        let mut run = Run {
            labels: &plan.peer_labels,
            unmanaged_members: &plan.unmanaged_members,
            api,
            groups,
            parents: plan.parents.clone(),
            custody,
            observer,
            applied,
        };
        let done = work(&mut run);
        applied.wrote |= api.writes() > before;
        done
    }

    fn all(&mut self, plan: &Plan, conduct: Conduct) {
        let mut progress = Progress::default();
        let mut number = 0;
        while number < plan.steps.len() {
            match keys::block(plan, number) {
                0 => {
                    self.one(plan, number, conduct, &mut progress);
                    number += 1;
                }
                size => {
                    self.make_keys(plan, number..number + size, conduct, &mut progress);
                    number += size;
                    if keys::block(plan, number) == 0 {
                        self.observer.keys_made(self.applied);
                    }
                }
            }
        }
    }

    fn one(&mut self, plan: &Plan, number: usize, conduct: Conduct, progress: &mut Progress) {
        let step = plan.steps[number];
        let change = &plan.changes[step.change];
        // a route in the way goes before others are made, so there can be several such blocks
        let first_break = !progress.breaking && breaks(step, change);
        if !self.may_start(plan, number, conduct, progress, first_break) {
            return;
        }
        progress.breaking = breaks(step, change);
        self.begins(plan, number);
        let start = Instant::now();
        let outcome = self.step(step, change);
        self.applied.durations_ms[step.change] += millis(start);
        self.finish(plan, number, conduct, progress, outcome);
    }

    /// Returns whether a step is to be tried; says of one that is not what becomes of its change. `asks`: only if the file
    /// is still the one to apply.
    fn may_start(
        &mut self,
        plan: &Plan,
        number: usize,
        conduct: Conduct,
        progress: &Progress,
        asks: bool,
    ) -> bool {
        let step = plan.steps[number];
        let change = &plan.changes[step.change];
        let status = &self.applied.statuses[step.change];
        if matches!(
            status,
            Status::Failed(_) | Status::Unknown(_) | Status::Skipped
        ) {
            return false;
        }
        self.applied.interrupted |= conduct.stop.load(Ordering::Relaxed);
        // what takes away waits for all that replaces it
        let waits = progress.failed && (!conduct.keep_going || breaks(step, change));
        let mut skips =
            self.applied.interrupted || self.applied.stale.is_some() || progress.ended || waits;
        if !skips
            && asks
            && let Err(error) = (conduct.fresh)()
        {
            self.applied.stale = Some(error);
            skips = true;
        }
        if skips {
            self.applied.statuses[step.change] = match progress.begun.contains(&step.change) {
                true => Status::Failed(HALF_DONE.into()),
                false => Status::Skipped,
            };
        }
        !skips
    }

    fn begins(&mut self, plan: &Plan, number: usize) {
        let change = &plan.changes[plan.steps[number].change];
        self.observer.begins(number + 1, plan.steps.len(), change);
    }

    /// Notes what became of a step, and says it.
    fn finish(
        &mut self,
        plan: &Plan,
        number: usize,
        conduct: Conduct,
        progress: &mut Progress,
        outcome: Result<StepOutcome>,
    ) {
        let step = plan.steps[number];
        let change = &plan.changes[step.change];
        let later = plan.steps[number + 1..]
            .iter()
            .any(|later| later.change == step.change);
        progress.failed |= outcome.is_err();
        let said = match outcome {
            Ok(said) => {
                log_write(change);
                progress.begun.insert(step.change);
                let status = if later {
                    Status::Pending
                } else {
                    Status::Success
                };
                self.applied.statuses[step.change] = status;
                said
            }
            Err(error) => {
                let needs =
                    (error.is::<Unresolved>() || error.is::<NoParent>()) && conduct.keep_going;
                let access = error
                    .downcast_ref::<ApiError>()
                    .is_some_and(ApiError::is_access);
                self.applied.interrupted |= access;
                let text = format!("{error:#}");
                // what concerns files says its hint on a line of its own
                let (text, of_file) = match text.split_once("\nhint: ") {
                    Some((text, hint)) => (text.to_owned(), Some(hint.to_owned())),
                    None => (text, None),
                };
                let hint = error.downcast_ref::<ApiError>().and_then(ApiError::hint);
                self.applied.hint = self.applied.hint.take().or(hint).or(of_file);
                let status = match error.downcast_ref::<NotKnown>() {
                    _ if needs => Status::Skipped,
                    Some(_) => Status::Unknown(text.clone()),
                    None => Status::Failed(text.clone()),
                };
                self.applied.statuses[step.change] = status;
                StepOutcome::otherwise(text)
            }
        };
        self.observer
            .step(number + 1, plan.steps.len(), change, &said);
        self.observer.state(self.applied);
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
            (Operation::Replace { live, .. }, _) => self.delete(address, live),
            (Operation::Update { live, .. }, part) if address.kind == Kind::Group => {
                self.update_members(live, change, part)
            }
            (Operation::Update { live, after, .. }, _) => self.update(change, live, after),
            (Operation::Delete { live }, _) if address.kind == Kind::SetupKey => {
                self.delete_key(address, live, change.reason.as_ref())
            }
            (Operation::Delete { live }, _) => {
                if is_surplus_group(change).is_some() {
                    self.move_newcomers(address, live)?;
                }
                self.delete(address, live)
            }
        }
    }

    fn read(&self, kind: Kind, answer: impl Into<Entry>) -> Result<Live> {
        let read = Resource::read(kind, answer, &self.groups);
        read.map_err(|error| unreadable(kind, &error))
    }

    fn record(&mut self, address: &Address, live: &Live) {
        self.learn(address, live);
        self.applied.made.insert(
            live.id.clone(),
            Made {
                address: address.clone(),
                file: None,
            },
        );
    }

    /// Notes what others refer to, or stand in.
    fn learn(&mut self, address: &Address, live: &Live) {
        match address.kind {
            Kind::Group => self.groups.insert(live.id.clone(), live.name.clone()),
            // an answer that was read has what others need of it
            Kind::NetworkResource => {
                let others = live.wire.read().ok();
                self.groups.insert_others(Refers::Resource, others);
            }
            _ => {}
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
        "the answer is no {} that can be read: {}",
        kind.label(),
        json::why(error)
    )
}

fn gone(error: ApiError, wanted: &str) -> anyhow::Error {
    if error.is_gone() {
        let error = anyhow::Error::from(error);
        return error.context(format!(
            "it was {wanted}, but somebody deleted it meanwhile; run again"
        ));
    }
    error.into()
}
