//! The way through the steps of a plan: which of them is tried, and what became of each.

use std::collections::BTreeSet;
use std::sync::atomic::Ordering;
use std::time::Instant;

use anyhow::Result;
use serde_json::Value;

use super::deletions::StaysAsItIs;
use super::write::NotKnown;
use super::{
    ApiError, Change, Conduct, Execution, Operation, Part, Plan, Status, Step, StepOutcome, keys,
};
use crate::base::count;
use crate::model::{FieldChange, Kind};
use crate::wire::http::Trouble;

/// Why a change is no success of which the second step was not tried.
const HALF_DONE: &str = "only its first half was done: the new parts are in place, and the old ones are not deleted yet";

/// A run through the steps of a plan, and how far it is.
pub(super) struct Course<'r, 'a> {
    pub(super) run: &'r mut Execution<'a>,
    plan: &'r Plan,
    conduct: Conduct<'r>,
    /// Something did not work.
    failed: bool,
    /// NetBird refused a request that any run sends.
    refused: bool,
    /// The last step only took away.
    pub(super) breaking: bool,
    /// Nothing else is tried, whatever depends on it.
    pub(super) ended: bool,
    /// Changes of which a step was carried out.
    begun: BTreeSet<usize>,
    /// What was to be made, and was not, or not as it was to be: nothing is written that needs it, whatever else has its name.
    unmade: BTreeSet<(Kind, &'r str)>,
}

impl<'r, 'a> Course<'r, 'a> {
    pub(super) fn of(run: &'r mut Execution<'a>, plan: &'r Plan, conduct: Conduct<'r>) -> Self {
        Course {
            run,
            plan,
            conduct,
            failed: false,
            refused: false,
            breaking: false,
            ended: false,
            begun: BTreeSet::new(),
            unmade: BTreeSet::new(),
        }
    }

    /// Carries out all steps.
    pub(super) fn all(&mut self) {
        let mut number = 0;
        while number < self.plan.steps.len() {
            match keys::block(self.plan, number) {
                0 => {
                    self.one(number);
                    number += 1;
                }
                size => {
                    self.make_keys(number..number + size);
                    number += size;
                    if keys::block(self.plan, number) == 0 {
                        self.run.observer.keys_made(self.run.applied);
                    }
                }
            }
        }
        if self.refused {
            self.run.applied.next = Some(self.after_a_refusal());
        }
    }

    /// Returns what to do about a refusal, and how much waits behind it.
    fn after_a_refusal(&self) -> String {
        const UNTIL: &str = "correct the entry: NetBird will refuse it again in each run";
        let applied = &*self.run.applied;
        let statuses = applied.statuses.iter().enumerate();
        let waits = statuses.filter(|(at, it)| **it == Status::Skipped && !applied.is_kept(*at));
        let number = waits.count();
        if number == 0 || self.conduct.keep_going || applied.interrupted {
            return UNTIL.to_owned();
        }
        let untried = count(number, "operation was", "operations were");
        format!(
            "{UNTIL}\n{untried} not tried. To try the operations that do not depend on the refused one, use --keep-going (the \
             input keep_going of the apply workflow)."
        )
    }

    /// Notes what a change was to make and did not, once that is known.
    fn note_unmade(&mut self, at: usize) {
        let change = &self.plan.changes[at];
        let is_done = matches!(
            self.run.applied.statuses[at],
            Status::Success | Status::Pending
        );
        if !is_done && matches!(change.operation, Operation::Create { .. }) {
            self.unmade
                .insert((change.address.kind, &change.address.name));
        }
    }

    fn one(&mut self, number: usize) {
        let step = self.plan.steps[number];
        let change = self.change(number);
        let breaks = breaks(step, change);
        // a route in the way goes before others are made, so there can be several such blocks
        if !self.may_start(number, breaks && !self.breaking) {
            return;
        }
        if !self.breaking {
            self.run.look = None;
        }
        self.breaking = breaks;
        let outcome = self.timed(number, |run| run.step(step, change));
        self.finish(number, outcome);
    }

    /// The change of a step.
    pub(super) fn change(&self, number: usize) -> &'r Change {
        &self.plan.changes[self.plan.steps[number].change]
    }

    /// Returns whether a step is to be tried; says of one that is not what becomes of its change. `asks`: only if the file
    /// is still the one to apply.
    pub(super) fn may_start(&mut self, number: usize, asks: bool) -> bool {
        let step = self.plan.steps[number];
        let conduct = self.conduct;
        let applied = &mut *self.run.applied;
        let status = &applied.statuses[step.change];
        if matches!(
            status,
            Status::Failed(_) | Status::Unknown(_) | Status::Skipped
        ) {
            return false;
        }
        applied.interrupted |= conduct.stop.load(Ordering::Relaxed);
        // what takes away waits for all that replaces it
        let breaks = breaks(step, &self.plan.changes[step.change]);
        let waits = self.failed && (!conduct.keep_going || breaks);
        let mut skips = applied.interrupted
            || applied.stale.is_some()
            || self.ended
            || waits
            || lacks(&self.plan.changes[step.change], &self.unmade);
        if !skips
            && asks
            && let Err(error) = (conduct.fresh)()
        {
            applied.stale = Some(error);
            skips = true;
        }
        if skips {
            applied.statuses[step.change] = match self.begun.contains(&step.change) {
                true => Status::Failed(HALF_DONE.into()),
                false => Status::Skipped,
            };
            self.note_unmade(step.change);
        }
        !skips
    }

    /// Does what a step is about, and notes how long it took.
    pub(super) fn timed<T>(&mut self, number: usize, work: impl FnOnce(&mut Execution) -> T) -> T {
        let (total, change) = (self.plan.steps.len(), self.change(number));
        self.run.observer.begins(number + 1, total, change);
        let start = Instant::now();
        let done = work(self.run);
        let took = u64::try_from(start.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.run.applied.durations_ms[self.plan.steps[number].change] += took;
        done
    }

    /// Notes what became of a step, and says it.
    pub(super) fn finish(&mut self, number: usize, outcome: Result<StepOutcome>) {
        let at = self.plan.steps[number].change;
        let (total, change) = (self.plan.steps.len(), self.change(number));
        let (status, said) = match outcome {
            Ok(said) => {
                log_write(change);
                self.begun.insert(at);
                let mut later = self.plan.steps[number + 1..].iter();
                let status = match later.any(|later| later.change == at) {
                    true => Status::Pending,
                    false => Status::Success,
                };
                (status, said)
            }
            Err(error) if error.is::<StaysAsItIs>() => {
                self.run.applied.kept.insert(at);
                let said = StepOutcome::otherwise(format!("{error:#}"));
                (Status::Skipped, said)
            }
            Err(error) => self.failure(&error),
        };
        self.run.applied.statuses[at] = status;
        self.note_unmade(at);
        self.run.observer.step(number + 1, total, change, &said);
        self.run.observer.state(self.run.applied);
    }

    /// What a step that failed leaves: the status of its change, and what to say.
    fn failure(&mut self, error: &anyhow::Error) -> (Status, StepOutcome) {
        self.failed = true;
        let of_api = error.downcast_ref::<ApiError>();
        self.refused |= of_api.is_some_and(|error| error.trouble == Trouble::Refused);
        let applied = &mut *self.run.applied;
        applied.interrupted |= of_api.is_some_and(ApiError::is_of_token);
        let text = format!("{error:#}");
        // what concerns files says its hint on a line of its own
        let (text, of_file) = match text.split_once("\nhint: ") {
            Some((text, hint)) => (text.to_owned(), Some(hint.to_owned())),
            None => (text, None),
        };
        let hint = of_api.and_then(ApiError::hint);
        applied.hint = applied.hint.take().or(hint).or(of_file);
        let status = match error.is::<NotKnown>() {
            true => Status::Unknown(text.clone()),
            false => Status::Failed(text.clone()),
        };
        (status, StepOutcome::otherwise(text))
    }
}

/// Whether a change needs one of these: it names it, or stands in it.
fn lacks(change: &Change, unmade: &BTreeSet<(Kind, &str)>) -> bool {
    let Some(after) = change.operation.after() else {
        return false;
    };
    let named = after.refers();
    let named = named.filter_map(|(what, name)| Some((what.kind()?, name)));
    let parent = change.address.parent();
    let parent = parent.iter().map(|parent| (parent.kind, &*parent.name));
    named.chain(parent).any(|one| unmade.contains(&one))
}

/// Whether a step only takes away.
fn breaks(step: Step, change: &Change) -> bool {
    match (step.part, &change.operation) {
        (Part::Breaking, _) | (_, Operation::Delete { .. }) => true,
        // a group that some leave and nobody joins
        (Part::Whole, Operation::Update { .. }) => !change.removed_members().is_empty(),
        _ => false,
    }
}

fn log_write(change: &Change) {
    let Change {
        address, operation, ..
    } = change;
    let side = |pick: fn(&FieldChange) -> &Value| {
        let fields = operation.fields().iter();
        Value::Object(
            fields
                .map(|it| (it.field.clone(), pick(it).clone()))
                .collect(),
        )
    };
    let (before, after) = match operation {
        Operation::Create { after } => (Value::Null, after.fields().into()),
        Operation::Delete { live } => (live.resource.fields().into(), Value::Null),
        _ => (side(|change| &change.before), side(|change| &change.after)),
    };
    log::info!(
        operation = operation.word(), kind = address.kind.word(), name = address.name.as_str(),
        before = before.to_string().as_str(), after = after.to_string().as_str();
        "{} {address}", operation.word()
    );
}
