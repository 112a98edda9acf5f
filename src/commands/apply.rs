//! `apply`: the same plan, carried out, written down and verified.

mod earlier;
mod recording;

use std::collections::BTreeSet;
use std::io::IsTerminal;

use anyhow::Context as _;

use super::branch::{overtaken, refuse_other_branches};
use super::cli::{AccessLevel, ApplyArgs};
use super::settings::keys_dir;
use super::signals::{asking, signals};
use super::versions::old_netbird;
use super::{
    Announcer, Body, Ending, Exit, Failure, Forge, Result, Run, Say, Session, blank, halt, publish,
    refused,
};
use crate::apply::{Applied, Conduct, Custody, NotRecorded, Records, Verified, Writer};
use crate::base::{count, joined, visible};
use crate::forge::ci::Context;
use crate::inventory::Delta;
use crate::model::{Change, Notice, OfRun, problem};
use crate::plan::{Plan, answered_labels};
use crate::render::{self, Document, Status, terminal};
use crate::secret::{KeysDir, remove_leftovers};

use earlier::made_earlier;
use recording::{Recording, names};

pub(super) fn run(run: &Run, args: &ApplyArgs) -> Ending {
    let (document, came_to) = make(run, args);
    let is_of_other_file = came_to.as_ref().is_err_and(|of| of.is_of_other_file);
    let ending = Ending::of(document, came_to, true);
    // Refused before any request. The commit of such a job can be another pull request's merge, whose result stays.
    if let Body::Document(document, _) = &ending.body
        && args.comment
        && !run.context.is_pull_request_event()
        && !is_of_other_file
    {
        let did =
            matches!(ending.exit, Exit::Done | Exit::Partial) && document.superseded.is_none();
        let posted = publish::result(run, document, did);
        return ending.posted("cannot comment", posted);
    }
    ending
}

/// Returns what is known of the apply, and how it ends.
fn make(run: &Run, args: &ApplyArgs) -> (Document, Result<Exit>) {
    // who was asked nothing reads nothing: the plan of the pull request said it
    let access = match asks(args, &run.context) {
        true => args.planning.access,
        false => AccessLevel::None,
    };
    let mut document = blank(run);
    let allowed = early_gates("apply", run);
    let mut session = match allowed.and_then(|()| Session::open(run, access, &mut document)) {
        Ok(session) => session,
        Err(failure) => return (document, Err(failure)),
    };
    session.expected.clone_from(&args.expect_digest);
    let judged = session.judged();
    let mut document = std::mem::take(&mut session.document);
    let came_to = judged.and_then(|plan| carry_out(run, args, &session, &plan, &mut document));
    session.document = document;
    session.measure();
    (session.document, came_to)
}

/// Carries out the plan, where nothing refuses it.
fn carry_out(
    run: &Run,
    args: &ApplyArgs,
    session: &Session,
    plan: &Plan,
    document: &mut Document,
) -> Result<Exit> {
    let (context, say) = (&run.context, run.say);
    if let Some(mut failure) = refused(&document.refusals) {
        let mut refusals = document.refusals.iter();
        if refusals.all(|refusal| !refusal.rows.is_empty())
            && let Err(NotRecorded { why, .. }) = names(session, plan)
        {
            say.note(&format!("the meaning of new names is not recorded: {why}"));
        }
        failure.error.push_str("\nnothing was changed");
        tell(document, false, say);
        return Err(failure);
    }
    document.notices.extend(made_earlier(session, plan)?);
    let mut recording = Recording::of(session)?;
    // without a change there is nothing to spoil, but a comment of an old file would say so as if it were the branch's
    let is_due = !plan.is_empty() || recording.is_due(plan);
    let forge = session.place.forge().filter(|_| is_due || args.comment);
    remove_leftovers(&keys_dir(args.keys_dir.as_ref()));
    let custody = custody(plan, args, session, say)?;
    // the comment says so, where one was asked for
    if forge.is_none() && !args.any_commit && !args.comment && !plan.is_empty() {
        let why = Forge::not_configured(run);
        let what = "whether the branch has a newer file is not checked";
        say.note(&format!("{why}: {what}"));
    }
    let ours = session.source.text().as_bytes();
    let guard = forge.filter(|_| !args.any_commit);
    let fresh = |makes: &_| guard.map_or(Ok(()), |forge| forge.fresh(ours, makes));
    let makes = plan.changes.iter().filter(|change| change.makes_key());
    let makes = makes.map(|change| change.address.name.as_str()).collect();
    let overtaken = |error| match forge {
        Some(forge) => overtaken(error, forge, context),
        None => Err(Failure::from(error)),
    };
    if let Err(error) = fresh(&makes) {
        return before_the_first_write(overtaken(error), document);
    }
    if is_due {
        document.notices.extend(recording.try_out(plan)?);
    }
    if !plan.is_empty() {
        let is_asked = asks(args, context);
        tell(document, is_asked, say);
        if is_asked {
            let question = format!("Apply {}?", count(plan.changes.len(), "change", "changes"));
            if !asking(|| say.ask(&question)) {
                return Err(Failure::error("not confirmed; nothing was changed"));
            }
            // an answer can have taken its time
            if let Err(error) = fresh(&makes) {
                return before_the_first_write(overtaken(error), document);
            }
        }
    }
    // only now: until here a signal ends the run at once, and nothing was changed
    let stop = signals();

    session.place.begin();
    recording.first(plan)?;

    let api = session.api.as_ref();
    let api = api.ok_or_else(|| Failure::error("an apply needs a server"))?;
    let mut observer = Announcer::new(run, &stop).reporting(document, args.comment)?;
    let records = Records {
        recorder: &session.place,
        ours: &session.options.ours,
    };
    let conduct = Conduct {
        custody: custody.as_ref(),
        records: Some(records),
        keep_going: args.keep_going,
        stop: &stop,
        // of the keys that it made by then some may be used and marked
        fresh: &|| fresh(&BTreeSet::new()),
        puts_back: !args.no_verify,
    };
    let mut applied = Writer::new(api, &session.actual, &mut observer).apply(plan, conduct);
    let mut stale = applied.stale.take().map(overtaken);
    if !applied.changed_something()
        && let Some(overtaken) = stale.take()
    {
        return before_the_first_write(overtaken, document);
    }
    let verifies = !args.no_verify && !plan.is_empty();
    let is_complete = applied.is_complete();
    recording.last(&mut applied, plan, is_complete && !verifies);
    observer.verifies();
    let mut writer = Writer::new(api, &session.actual, &mut observer);
    let mut failure = match stale {
        // a newer run applies the rest
        Some(Ok(commit)) if !applied.has_failed() => {
            document.superseded = Some(commit);
            None
        }
        Some(Err(failure)) => Some(stopped(plan, &applied, Some(failure))),
        _ if is_complete => None,
        _ => Some(stopped(plan, &applied, None)),
    };
    let mut learnt = Delta::default();
    if is_complete && verifies {
        let (desired, options) = (&session.valid.desired, recording.options());
        let mut verified = writer.verify(desired, &session.needs, &options, &mut applied);
        if let Ok(verified) = &mut verified {
            learnt = std::mem::take(&mut verified.record);
        }
        failure = judge(verified, &mut document.notices);
    }
    // whoever was thrown out of a group comes back, also where a failure ended the run
    if !is_complete
        && !applied.interrupted
        && !args.no_verify
        && let Err(error) = writer.settle_members(&mut applied)
    {
        let text = format!("it is not known whether a group lost a member: {error:#}");
        say.note(&text);
    }
    recording.end(learnt, is_complete && failure.is_none());
    let failures = [failure, recording.failure(&applied), skipped(plan)];
    let failure = failures.into_iter().flatten().reduce(Failure::and);
    document.changed = applied.changed_something();
    document.notices.append(&mut applied.notices);
    if let Some(plan) = &mut document.plan {
        answered_labels(&mut plan.changes, &applied.dns_labels);
    }
    document.statuses = applied.statuses;
    document.durations_ms = applied.durations_ms;
    document.created_keys = applied.created_keys;
    match failure {
        Some(failure) => Err(failure.aside(old_netbird(api))),
        None => Ok(Exit::Done),
    }
}

/// How a run ends whose file was found stale before it wrote anything.
fn before_the_first_write(overtaken: Result<String>, document: &mut Document) -> Result<Exit> {
    let commit = overtaken.map_err(|mut failure| {
        if failure.exit == Exit::Refused {
            failure.error.push_str("; nothing was changed");
        }
        failure
    })?;
    document.superseded = Some(commit);
    Ok(Exit::Done)
}

/// Returns why a verification is a failure, if it is one.
fn judge(verified: anyhow::Result<Verified>, notices: &mut Vec<Notice>) -> Option<Failure> {
    let (text, hint) = match verified {
        Ok(verified) if verified.left.is_empty() && verified.problems.is_empty() => {
            let left = verified.enrolled.into_iter();
            let left = left.map(|(operation, on)| OfRun::LeftForNext(operation, on));
            notices.extend(left.map(Notice::general));
            return None;
        }
        Ok(verified) => {
            let problems = problem::told(&verified.problems).into_iter();
            let problems = problems.map(|(of, text, _)| format!("{} {text}", of.address));
            let left: Vec<String> = verified.left.into_iter().chain(problems).collect();
            (
                format!("applied, but not converged:\n  {}", left.join("\n  ")),
                "another run may be at work; run apply again: it finishes what is left (plan shows it)",
            )
        }
        Err(error) => {
            let why = format!("{error:#}");
            let why = why.split("\nhint: ").next().unwrap_or_default();
            (
                format!("applied, but not verified: {why}"),
                "run apply again: it finishes the rest, and keeps the first of two objects that two runs created at once",
            )
        }
    };
    Some(Failure::partial(text).hint(hint))
}

/// Returns why entries that were skipped are no success, if there are some.
fn skipped(plan: &Plan) -> Option<Failure> {
    let names = plan.skipped.iter().map(|address| address.quoted());
    let text = format!("skipped, as the notices say:\n  {}", joined(names, "\n  "));
    let hint = "do what the notice of each says; what refers to a skipped entry is applied with it";
    (!plan.skipped.is_empty()).then(|| Failure::partial(text).hint(hint))
}

/// What is refused before anything is read.
pub(super) fn early_gates(command: &str, run: &Run) -> Result<()> {
    let (error, hint) = match halt() {
        _ if run.context.is_pull_request_event() => (
            format!("{command} does not run in a pull request's job: nothing was reviewed yet"),
            format!("run plan there, and {command} on the default branch"),
        ),
        Some(text) => (
            format!("NETBIRD_GITOPS_HALT is set ({text}); nothing was changed"),
            "unset NETBIRD_GITOPS_HALT once the reason is gone".to_owned(),
        ),
        None => return refuse_other_branches(command, run),
    };
    Err(Failure::refused(visible(&error)).hint(hint))
}

/// Recipients and keys directory are tried before the first write, if there is anything to seal.
fn custody(plan: &Plan, args: &ApplyArgs, session: &Session, say: Say) -> Result<Option<Custody>> {
    if !plan.changes.iter().any(Change::makes_key) {
        return Ok(None);
    }
    let dir = KeysDir::probe(&keys_dir(args.keys_dir.as_ref()))?;
    let custody = Custody {
        recipients: session.recipients.clone(),
        dir,
        copies: session.place.copies(Some(say))?,
    };
    for change in plan.changes.iter().filter(|change| change.makes_key()) {
        let key = change.operation.after();
        let checked = key.map_or(Ok(()), |key| custody.recipients_of(key).check());
        checked.with_context(|| format!("{} cannot be sealed", change.address))?;
        custody.dir.take(&change.address.name)?;
    }
    Ok(Some(custody))
}

/// Whether somebody is asked: on a terminal; where nobody can answer, starting the command is the answer. Nobody can in a job, though
/// some runners give its steps a terminal (act_runner up to 0.4).
fn asks(args: &ApplyArgs, context: &Context) -> bool {
    let terminal = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
    terminal && !args.yes && !context.is_ci
}

/// Shows the plan. Its notices are told once a run: before the question where there is one, else with the result.
fn tell(document: &mut Document, before_a_question: bool, say: Say) {
    let said = document.said().into_iter().flat_map(|said| said.notices);
    document.told = said.cloned().collect();
    let mut shown = document.clone();
    if !shown.refusals.is_empty() {
        // the error says why, and the result what to do
        shown.refusals.clear();
        shown.agreements.clear();
    }
    match before_a_question {
        true => shown.told.clear(),
        false => document.told.clear(),
    }
    let tree = render::tree(&shown, false);
    say.text(&terminal::text(&tree, terminal::Color(false)));
}

/// Returns why an apply stopped, and what to do: what became of each change stands in the result.
fn stopped(plan: &Plan, applied: &Applied, stale: Option<Failure>) -> Failure {
    let statuses = || applied.statuses.iter();
    let why = match applied.interrupted && !applied.has_failed() {
        true => "stopped by a signal",
        false => "stopped",
    };
    let waits = statuses().enumerate();
    let waits = waits.filter(|(_, it)| matches!(it, Status::Skipped | Status::Pending));
    let not_tried = match waits.filter(|(at, _)| !applied.is_kept(*at)).count() {
        0 => String::new(),
        number => "; ".to_owned() + &count(number, "was not tried", "were not tried"),
    };
    let done = statuses().filter(|status| **status == Status::Success);
    let all = count(plan.changes.len(), "operation", "operations");
    let text = format!("{why} after {} of {all}{not_tried}", done.count());
    let (text, hint) = match stale {
        Some(stale) => (format!("{}\n{text}", stale.error), stale.hint),
        None => (text, None),
    };
    let again = "run plan to see what is left; running apply again continues from here";
    let hint = hint.or_else(|| applied.next.clone());
    let failure = Failure::partial(text).aside(applied.hint.clone());
    failure.aside(hint.or(Some(again.into())))
}
