//! What an apply writes into the inventory, and when: what it adopts before its first other write, what it did right after the
//! last one, and what the verification learnt, with the commit that is applied then.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::super::history::Through;
use super::{Applied, Delta, Failure, NotRecorded, Notice, Plan, Session};
use crate::apply::Recorder;
use crate::base::Id;
use crate::inventory::Inventory;
use crate::model::{Cause, OfInventory, Operation};
use crate::plan::{Options, Ours, Standing};

/// What an apply writes down.
pub(super) struct Recording<'a> {
    session: &'a Session<'a>,
    /// The commit that counts as applied once the run is through, where that can be told.
    through: Option<Through>,
    standing: Standing,
    /// The inventory as this run read or wrote it last.
    written: Inventory,
    /// The same with what could not be written.
    assumed: Inventory,
    /// Causes that this run wrote down.
    causes: BTreeSet<Option<String>>,
    /// Nothing can be written, and the run needs nothing to be.
    is_off: bool,
    /// Why a write failed.
    failed: Option<NotRecorded>,
}

impl<'a> Recording<'a> {
    pub(super) fn of(session: &'a Session<'a>) -> Result<Self, Failure> {
        let ours = &session.options.ours;
        Ok(Recording {
            session,
            through: session.through()?,
            standing: ours.standing,
            written: (*ours.inventory).clone(),
            assumed: (*ours.inventory).clone(),
            causes: BTreeSet::new(),
            is_off: false,
            failed: None,
        })
    }

    /// Returns whether there is something to write even if the plan changes nothing.
    pub(super) fn is_due(&self, plan: &Plan) -> bool {
        let learnt = self.delta(&Applied::default(), plan);
        let through = self.through.as_ref();
        self.standing != Standing::Read
            || !plan.adoptions.is_empty()
            || learnt.onto(&self.written) != self.written
            || through.is_some_and(|through| through.is_other_file)
    }

    /// Sees that the inventory can be written. Errors where it cannot and the run would create, adopt or delete, or change an
    /// object that may not be ours; else that is worth a notice.
    pub(super) fn try_out(&mut self, plan: &Plan) -> Result<Option<Notice>, Failure> {
        let Err(refused) = self.session.place.writable() else {
            return Ok(None);
        };
        let is_known = self.standing != Standing::Unknown;
        let is_harmless = |of: &Operation| is_known && matches!(of, Operation::Update { .. });
        let mut operations = plan.changes.iter().map(|change| &change.operation);
        if !operations.all(is_harmless) || !plan.adoptions.is_empty() {
            return Err(refused.into());
        }
        self.is_off = true;
        let notice = OfInventory::NotWritable(refused.why);
        Ok(Some(Notice::general(notice)))
    }

    /// Writes what entries adopt, or a first inventory, before the first other write; of a plan that changes nothing all that
    /// there is to write, in one commit.
    pub(super) fn first(&mut self, plan: &Plan) -> Result<(), NotRecorded> {
        let is_first = self.standing != Standing::Read;
        let delta = plan.first_record(is_first).filter(|_| !self.is_off);
        let Some(mut delta) = delta else {
            return Ok(());
        };
        if let Some(through) = self.through.as_ref().filter(|_| is_first) {
            delta.applied_commit = Some(through.commit.clone());
        }
        let mut deltas = vec![delta];
        if plan.is_empty() {
            deltas.push(self.rest(&Applied::default(), plan));
            deltas.extend(self.commit(false));
        }
        self.write(&deltas)
    }

    /// Writes what became of the plan. `is_through`: the run is, and verifies nothing after that.
    pub(super) fn last(&mut self, applied: &mut Applied, plan: &Plan, is_through: bool) {
        if let Some(recorded) = applied.recorded.take() {
            self.written = recorded;
        }
        let delta = self.rest(applied, plan);
        self.assumed = delta.onto(&self.written);
        let through = self.commit(false).filter(|_| is_through);
        let deltas: Vec<Delta> = std::iter::once(delta).chain(through).collect();
        self.try_write(&deltas);
    }

    /// Writes what the verification learnt and, where the run is through, which commit is applied by now.
    pub(super) fn end(&mut self, mut learnt: Delta, is_through: bool) {
        // a list that lacks what was recorded while this run went on is older than that
        let known = &self.session.options.ours.inventory;
        let is_known = |id: &Id| known.origin(id).is_some() || known.released.contains(id);
        learnt.dead.retain(is_known);
        let is_news = learnt.onto(&self.written) != self.written;
        let through = self.commit(is_news).filter(|_| is_through);
        let deltas: Vec<Delta> = std::iter::once(learnt).chain(through).collect();
        self.try_write(&deltas);
    }

    /// Returns what became of the plan, and keeps the causes of it.
    fn rest(&mut self, applied: &Applied, plan: &Plan) -> Delta {
        let delta = self.delta(applied, plan);
        let versions = &self.session.options.ours.versions;
        let commits = (0..versions.commits().len()).map(Cause::Commit);
        let causes = commits.map(|cause| self.session.cause_text(Some(cause)));
        self.causes = causes.collect();
        let left = delta.let_go.iter().chain(&delta.gone);
        let left = left.map(|(_, _, cause)| cause.clone());
        self.causes.extend(left);
        delta
    }

    /// Returns which commit is applied once the run is through, where it has another file or something else `is_news`.
    fn commit(&self, is_news: bool) -> Option<Delta> {
        let through = self.through.as_ref();
        let through = through.filter(|through| through.is_other_file || is_news)?;
        Some(Delta {
            applied_commit: Some(through.commit.clone()),
            keeps_causes: through.changes_more.then(|| self.causes.clone()),
            ..Delta::default()
        })
    }

    /// Returns the options of a plan that knows what this run did. What a first inventory makes possible is up to the next run.
    pub(super) fn options(&self) -> Options {
        let before = &self.session.options;
        let (mut options, mut ours) = (before.clone(), Ours::clone(&before.ours));
        ours.inventory = Arc::new(self.assumed.clone());
        options.ours = Arc::new(ours);
        options
    }

    /// Returns why the inventory does not have what this run did, with the ids of what it made, and what to do about it.
    pub(super) fn failure(self, applied: &Applied) -> Option<Failure> {
        let NotRecorded { why, hint } = self.failed?;
        let mut text = format!("the inventory could not be written: {why}");
        let made = applied.made_or_met();
        let lost = made.filter(|(_, id)| self.written.origin(id).is_none());
        let ids = lost.map(|(address, id)| format!("\n  {} {id}", address.key()));
        let ids: BTreeSet<String> = ids.collect();
        if !ids.is_empty() {
            text += "\nit does not have these objects, which this run created or adopted:";
            text.extend(ids);
        }
        Some(Failure::partial(text).aside(hint))
    }

    fn delta(&self, applied: &Applied, plan: &Plan) -> Delta {
        let planned = &self.session.options.ours.inventory;
        applied.delta(plan, planned, &|cause| self.session.cause_text(cause))
    }

    /// Writes at the end: what fails there is said once the run is over.
    fn try_write(&mut self, deltas: &[Delta]) {
        if !self.is_off && self.failed.is_none() {
            self.failed = self.write(deltas).err();
        }
    }

    fn write(&mut self, deltas: &[Delta]) -> Result<(), NotRecorded> {
        let is_there = self.standing == Standing::Read;
        if is_there && Delta::all_onto(deltas, &self.written) == self.written {
            return Ok(());
        }
        self.standing = Standing::Read;
        self.written = self.session.place.record(deltas, &[])?.inventory;
        self.assumed.clone_from(&self.written);
        Ok(())
    }
}

/// Writes what new names mean into an inventory that exists, for a run that a gate for deletions refused: the machine that a
/// name means is that of the time when the file first used it.
pub(super) fn names(session: &Session, plan: &Plan) -> Result<(), NotRecorded> {
    let mut delta = Delta::default();
    delta.names.clone_from(&plan.record.names);
    if session.options.ours.standing != Standing::Read || delta.names.is_empty() {
        return Ok(());
    }
    session.place.record(&[delta], &[]).map(drop)
}
