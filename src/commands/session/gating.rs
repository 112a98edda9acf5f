//! What of a plan somebody agreed to, and what the gates say of it.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::anyhow;

use super::{AccessLevel, Document, EVENTS, Id, Kind, Notice, Plan, Result, Row, Session, notices};
use crate::access::Delta;
use crate::base::listed;
use crate::commands::agreements::asked;
use crate::commands::{Forge, halt};
use crate::model::{Cause, Change, LeftBy, OfAgreement, OfRun};
use crate::plan::agreement::Said;
use crate::plan::{self, Agreement, Judgement, Protected, Refusal, agreement, gates, protected};

impl Session<'_> {
    /// Makes the plan, with what is let go where somebody agreed to delete it. Looks for agreements as far as the plan needs
    /// them.
    pub(in crate::commands) fn plan(&mut self) -> Result<Plan> {
        // who is bound to a key whose entry was removed decides about a peer, so it is not left to times alone
        if self.offboards() && self.complete(EVENTS)? {
            self.read(None)?;
        }
        let mut plan = self.plan_whole()?;
        let of_token = notices::of_token(&self.actual);
        self.document.notices.extend(of_token);
        self.statements = asked(self.run)?;
        let mut outcome = self.outcome(&plan)?;
        let mut before = None;
        if !outcome.release.is_empty() {
            self.options.release.clone_from(&outcome.release);
            let released = self.plan_whole()?;
            outcome = self.judge(&released, Some(&plan));
            before = Some(std::mem::replace(&mut plan, released));
        }
        let let_go = before.as_ref().map_or(&plan, |before| before).let_go.iter();
        let let_go: BTreeMap<&Id, &LeftBy> = let_go.map(|it| (&it.id, &it.left_by)).collect();
        let versions = &self.options.ours.versions;
        let cause = |change: &Change| {
            let rows = Row::of(change).into_iter();
            let newest = rows.filter_map(|row| plan.causes.get(&row)).max();
            let newest = newest.map(|cause| LeftBy::Change(*cause));
            let deleted = || let_go.get(&change.deleted()?.id).copied().cloned();
            self.statements.left_by(&newest.or_else(deleted)?, versions)
        };
        self.document.causes = plan.changes.iter().map(cause).collect();
        self.document.notices.extend(outcome.notices);
        self.document.agreements = outcome.agreements;
        self.agreed = outcome.rows;
        Ok(plan)
    }

    /// Returns where a change of the file is from, as the inventory has it: `#N`, or the full id of a commit.
    pub(in crate::commands) fn cause_text(&self, cause: Option<Cause>) -> Option<String> {
        let versions = &self.options.ours.versions;
        let origin = self.statements.origin(cause?, versions)?;
        Some(origin.to_string())
    }

    /// Gathers what was said, and judges the plan by it: in commits wherever something is deleted or let go, in pull requests
    /// where it is still wanted.
    fn outcome(&mut self, plan: &Plan) -> Result<Judgement> {
        if !plan.counted_rows().is_empty() || !plan.let_go.is_empty() {
            self.in_messages()?;
        }
        let outcome = self.judge(plan, None);
        let is_said = !outcome.agreements.iter().any(Agreement::is_unsaid);
        if is_said && !self.statements.lines.iter().any(Said::is_of_message) {
            return Ok(outcome);
        }
        let asked = match Forge::open(self.run) {
            Ok(forge) => self.ask(plan, forge.as_ref()),
            Err(failure) => Err(anyhow!(failure.error)),
        };
        if let Err(error) = asked {
            let notice = Notice::general(OfAgreement::NotAsked(format!("{error:#}")));
            self.document.notices.push(notice);
        }
        Ok(self.judge(plan, None))
    }

    /// Asks the forge who wrote the lines of messages, and what descriptions say.
    fn ask(&mut self, plan: &Plan, forge: Option<&Forge>) -> anyhow::Result<()> {
        self.by_writers(forge)?;
        let outcome = self.judge(plan, None);
        if !outcome.agreements.iter().any(Agreement::is_unsaid) {
            return Ok(());
        }
        self.in_this_description(forge)?;
        forge.map_or(Ok(()), |forge| self.in_descriptions(forge, &outcome))
    }

    /// `before` is the plan as it was before what is let go was released.
    fn judge(&self, plan: &Plan, before: Option<&Plan>) -> Judgement {
        let refusals = gates::deletions(plan, self.max_deletes(), &BTreeSet::new()).into_iter();
        let needed = refusals.flat_map(|refusal| refusal.rows).collect();
        let ours = &self.options.ours;
        self.statements.judge(plan, before, ours, &needed)
    }

    /// The most deletions that need no word of agreement. Whoever only reads a plan deletes nothing.
    fn max_deletes(&self) -> usize {
        let planning = self.run.command.planning();
        planning.map_or(usize::MAX, |planning| planning.gates.max_deletes)
    }

    /// Makes the plan and lets the gates judge it.
    pub(in crate::commands) fn judged(&mut self) -> Result<Plan> {
        let plan = self.plan();
        self.measure();
        let mut plan = plan?;
        let recipients = self.recipients.describe().into_iter();
        plan.sealed_for = recipients.map(|who| who.key).collect();
        notices::place(&mut plan.notices, &self.valid);
        let is_past = |notice: &Notice| notices::is_past(notice, &plan, &self.valid);
        self.document.notices.retain(|notice| !is_past(notice));
        let mut told = notices::recipients_of_keys(self, &plan);
        notices::place(&mut told, &self.valid);
        self.document.notices.extend(told);
        let gates = self.gates(&plan);
        let idle = notices::protects_nothing(self, &gates.protected);
        self.document.notices.extend(idle);
        let refusals = gates::check(&plan, &gates);
        self.document.refusals = self.with_way_out(refusals, &plan);
        self.document.access = self.delta(&plan);
        if self.document.access.is_none() && self.access != AccessLevel::None {
            let untold = Notice::general(OfRun::ReachUntold);
            self.document.notices.push(untold);
        }
        self.document.plan = Some(plan.clone());
        Ok(plan)
    }

    /// Who reaches whom by a plan, as finely as somebody asked.
    fn delta(&self, plan: &Plan) -> Option<Delta> {
        let (level, memberships) = (self.access, &self.document.memberships);
        let delta = || Delta::of(&self.actual, plan, memberships, level == AccessLevel::Peers);
        (level != AccessLevel::None).then(delta)?
    }

    /// Returns the refusals of what goes that the pull request of this job causes; none in another job. What it takes away
    /// is the plan of the merge without that of the base's file. All else that goes is set apart in the document.
    pub(in crate::commands) fn red(&mut self, plan: &Plan) -> Vec<Refusal> {
        if !self.run.context.is_pull_request_event() {
            return Vec::new();
        }
        // what an apply of the base's file would do, by the same answers and the same inventory
        let base = self.history.base(&self.run.file).and_then(|desired| {
            let (actual, binding) =
                plan::read(&desired, &self.snapshot, None, &self.options).ok()?;
            plan::plan(&desired, &actual, &binding, &self.options).ok()
        });
        let own: BTreeSet<Row> = match &base {
            Some(base) => &plan.rows() - &base.rows(),
            // nobody can plan the base's file: what history says has to do
            None => {
                let causes = plan.causes.iter();
                let proposed = causes.filter(|(_, cause)| **cause == Cause::Proposed);
                proposed.map(|(row, _)| row.clone()).collect()
            }
        };
        let is_others = |change: &Change| {
            let rows = Row::of(change);
            !rows.is_empty() && rows.iter().all(|row| !own.contains(row))
        };
        let places = plan.changes.iter().enumerate();
        let others = places.filter(|(_, change)| is_others(change));
        self.document.others = others.map(|(place, _)| place).collect();
        if !self.document.others.is_empty() {
            // what others left to do is nothing that this pull request opens or closes
            let mut own = plan.clone();
            own.changes.retain(|change| !is_others(change));
            self.document.access = self.document.access.take().and_then(|_| self.delta(&own));
        }
        let red = gates::deletions_of(plan, self.max_deletes(), &self.agreed, &own);
        if red.is_empty() {
            blame(&mut self.document);
        }
        // nobody can agree to what is protected, so that a pull request must not bring it
        let meant = self.protected(plan);
        let protected = |plan| gates::protected(plan, &meant);
        let before = base.as_ref().and_then(protected);
        let brought = protected(plan).filter(|now| {
            let known = |name| before.iter().any(|before| before.names.contains(name));
            !now.names.iter().all(known)
        });
        let mut red = self.with_way_out(red, plan);
        let brought = brought.into_iter().collect();
        red.extend(self.with_way_out(brought, plan));
        red
    }

    /// Says of refused deletions what to do about them, and of what is protected which change wants it to go.
    fn with_way_out(&self, mut refusals: Vec<Refusal>, plan: &Plan) -> Vec<Refusal> {
        let (agreements, rows) = (&self.document.agreements, plan.counted_rows().len());
        let hint = agreement::way_out(agreements, rows, self.run.context.is_ci);
        for refusal in &mut refusals {
            if refusal.gate == "protected" {
                let is_it = |change: &Change| refusal.names.contains(&change.address.to_string());
                let causes = plan.changes.iter().zip(&self.document.causes);
                let causes = causes.filter(|(change, _)| is_it(change));
                let causes = causes.filter_map(|(_, cause)| Some(cause.as_ref()?.words()));
                let causes: BTreeSet<String> = causes.collect();
                if !causes.is_empty() {
                    refusal.text += &format!(", because of {}", listed(causes));
                }
            }
            if !refusal.rows.is_empty() {
                refusal.hint.clone_from(&hint);
            }
        }
        refusals
    }

    /// What `--protect` names.
    fn protected(&self, plan: &Plan) -> Protected {
        let (desired, ours) = (&self.valid.desired, &self.options.ours);
        protected::read(&self.protected, plan, desired, &self.actual, ours)
    }

    /// What the gates look at.
    fn gates(&self, plan: &Plan) -> gates::Context {
        let account = self.run.account();
        let accounts = self.actual.named(Kind::AccountSettings, "").iter();
        let ids = accounts.map(|account| account.id.to_string());
        gates::Context {
            max_deletes: self.max_deletes(),
            agreed: self.agreed.clone(),
            halt: halt(),
            me: self.actual.me.clone(),
            account: account.filter(|_| self.api.is_some()),
            accounts: ids.collect(),
            online: self.api.is_some(),
            applying: self.run.writes(),
            recipients: self.recipients.describe().len(),
            protected: self.protected(plan),
            expected: self.expected.clone(),
        }
    }
}

/// Says whom an apply waits for, where it is refused for deletions of others alone.
fn blame(document: &mut Document) {
    let agreements = &document.agreements;
    let refusals = document.refusals.iter_mut();
    let mut refused = refusals.filter(|it| !it.rows.is_empty()).peekable();
    if refused.peek().is_none() {
        return;
    }
    let others = agreement::open(agreements).filter(|agreement| !agreement.is_proposed);
    document.blamed.extend(others.map(Agreement::whose));
    for refusal in refused {
        refusal.hint = agreement::way_out_of_others(agreements);
    }
}
