//! `apply`: the same plan, carried out and verified.

use std::io::IsTerminal;
use std::time::Duration;

use anyhow::Context as _;

use super::branch::{Overtaken, STALE, overtaken, refuse_other_branches};
use super::copies;
use super::failure::Failure;
use super::forge::{Forge, Stale};
use super::progress::{Announcer, Publish};
use super::publish::Publisher;
use super::session::{Origin, Request, Session};
use super::settings::{file, halt, keys_dir};
use super::signals::{asking, signals};
use super::versions::old_netbird;
use super::{Ending, blank, end, end_posted, refused};
use crate::apply::{Applied, Conduct, Custody, Verified, apply, settle_members, verify};
use crate::change::Change;
use crate::ci::Context;
use crate::cli::{AccessLevel, ApplyArgs, Cli};
use crate::exit::Exit;
use crate::logging::Say;
use crate::notice::{Notice, OfRun};
use crate::plan::{Plan, answered_labels};
use crate::render::{Document, Status, terminal, words};
use crate::secret::{KeysDir, remove_leftovers};
use crate::text::{count, visible};

pub(super) fn run(cli: &Cli, args: &ApplyArgs, say: Say) -> Exit {
    let mut document = blank(cli);
    let came_to = make(cli, args, &mut document, say);
    let ending = Ending::of(document, came_to, true);
    let context = Context::of_process();
    // Refused before any request. The commit of such a job can be another pull request's merge, whose result stays.
    if args.comment && !context.is_pull_request_event() {
        let file = file(&cli.global);
        let did = matches!(ending.exit, Exit::Done | Exit::Partial)
            && ending.document.superseded.is_none();
        let publisher = Publisher::new(&args.planning.gitea, &file, &context, say);
        let posted = publisher.result(&ending.document, did);
        return end_posted(cli, say, ending, posted);
    }
    end(cli, say, ending)
}

fn make(cli: &Cli, args: &ApplyArgs, document: &mut Document, say: Say) -> Result<Exit, Failure> {
    let planning = &args.planning;
    let context = Context::of_process();
    early_gates("apply", &context)?;
    refuse_other_branches("apply", &planning.gitea, &context, &file(&cli.global))?;
    let origin = Origin::Server(&planning.server);
    // who was asked nothing reads nothing: the plan of the pull request said it
    let access = match asks(args, &context) {
        true => planning.access,
        false => AccessLevel::None,
    };
    let request = Request {
        cli,
        origin,
        scope: &planning.scope,
        sealing: &planning.sealing,
        keys_dir: keys_dir(args.keys_dir.as_ref()),
        committed: false,
        access,
    };
    let mut session = Session::open(&request, document)?;
    session.expected.clone_from(&args.expect_digest);
    let plan = session.judged(planning, &file(&cli.global), true, document)?;
    if let Some(mut failure) = refused(&document.refusals) {
        failure.error.push_str("\nnothing was changed");
        return Err(failure);
    }
    // without a change there is nothing to spoil, but a comment of an old file would say so as if it were the branch's
    let forge = match plan.is_empty() && !args.comment {
        true => None,
        false => Forge::open(&planning.gitea, &session.context, &file(&cli.global))?,
    };
    remove_leftovers(&keys_dir(args.keys_dir.as_ref()));
    let mut custody = custody(&plan, args, &session)?;
    // the comment says so, where one was asked for
    if forge.is_none() && !args.any_commit && !args.comment && !plan.is_empty() {
        let why = Forge::not_configured(&planning.gitea, &session.context);
        say.note(&format!(
            "{why}: whether the branch has a newer file is not checked"
        ));
    }
    let ours = session.source.text().as_bytes();
    let guard = forge.as_ref().filter(|_| !args.any_commit);
    let fresh = || guard.map_or(Ok(()), |forge| forge.fresh(ours));
    let retry_wait = Duration::from_secs_f64(planning.server.retry_wait);
    let overtaken = |error| match &forge {
        Some(forge) => overtaken(error, forge, &context, retry_wait),
        None => Overtaken::Stopped(Failure::from(error)),
    };
    if let Err(error) = fresh() {
        return before_the_first_write(overtaken(error), document);
    }
    let environment = &document.environment;
    let copies = match &custody {
        Some(_) => copies::open(&planning.sealing, forge.as_ref(), environment, Some(say))?,
        None => None,
    };
    if args.comment {
        let ledger = &session.options.ledger;
        let told = copies::made_before(
            &planning.sealing,
            forge.as_ref(),
            environment,
            &plan,
            ledger,
        );
        document.notices.extend(told);
    }
    if !plan.is_empty() {
        tell(document, asks(args, &context), say);
        // an answer can have taken its time
        if confirm(args, &context, &plan, say)? == Confirmed::AfterAQuestion
            && let Err(error) = fresh()
        {
            return before_the_first_write(overtaken(error), document);
        }
    }
    // only now: until here a signal ends the run at once, and nothing was changed
    let stop = signals();

    if let (Some(custody), Some(copies)) = (&mut custody, copies) {
        copies.begin()?;
        custody.copies = Some(Box::new(copies));
    }

    let api = session
        .api
        .as_ref()
        .ok_or_else(|| Failure::error("an apply needs a server"))?;
    let path = file(&cli.global);
    let comments = args.comment.then(|| -> Publish {
        let publisher = Publisher::new(&planning.gitea, &path, &context, say);
        Box::new(move |document| publisher.under_way(document))
    });
    let mut observer =
        Announcer::reporting(say, &stop, cli.global.report.as_ref(), document, comments)?;
    let conduct = Conduct {
        custody: custody.as_ref(),
        keep_going: args.keep_going,
        stop: &stop,
        fresh: &fresh,
        puts_back: !args.no_verify,
    };
    let mut applied = apply(api, &plan, &session.actual, conduct, &mut observer);
    if !applied.changed_something()
        && let Some(error) = applied.stale.take()
    {
        return before_the_first_write(overtaken(error), document);
    }
    observer.verifies();
    let mut exit = match applied.is_complete() {
        true => Exit::Done,
        false => Exit::Partial,
    };
    let mut failure = (exit != Exit::Done).then(|| stopped(&plan, &applied));
    if exit == Exit::Done && !args.no_verify && !plan.is_empty() {
        let verified = verify(
            api,
            &session.valid.desired,
            &session.needs,
            &session.options,
            &session.actual,
            &mut applied,
            &mut observer,
        );
        failure = judge(verified, &mut document.notices);
        if failure.is_some() {
            exit = Exit::Partial;
        }
    }
    // whoever was thrown out of a group comes back, also where a failure ended the run
    if !applied.is_complete()
        && !applied.interrupted
        && !args.no_verify
        && let Err(error) = settle_members(api, &session.actual, &mut applied, &mut observer)
    {
        say.note(&format!(
            "whether a group lost a member is not known: {error:#}"
        ));
    }
    let old = failure.is_some().then(|| old_netbird(api)).flatten();
    session.measure(document);
    (document.error, document.hint) = failure.unzip();
    document.hint = document.hint.take().map(|hint| match old {
        Some(old) => format!("{hint}\n{old}"),
        None => hint,
    });
    document.refused = exit == Exit::Refused;
    document.changed = applied.changed_something();
    document.notices.append(&mut applied.notices);
    if let Some(plan) = &mut document.plan {
        answered_labels(&mut plan.changes, &applied.dns_labels);
    }
    document.statuses = applied.statuses;
    document.durations_ms = applied.durations_ms;
    document.created_keys = applied.created_keys;
    Ok(exit)
}

/// How a run ends whose file was found stale before it wrote anything.
fn before_the_first_write(overtaken: Overtaken, document: &mut Document) -> Result<Exit, Failure> {
    match overtaken {
        Overtaken::Superseded(commit) => {
            document.superseded = Some(commit);
            Ok(Exit::Done)
        }
        Overtaken::Stopped(failure) => Err(failure),
    }
}

/// Returns why a verification is a failure, in words and with a hint.
fn judge(
    verified: anyhow::Result<Verified>,
    notices: &mut Vec<Notice>,
) -> Option<(String, String)> {
    match verified {
        Ok(verified) if verified.left.is_empty() && verified.problems.is_empty() => {
            let left = verified.enrolled.into_iter();
            let left = left.map(|(operation, on)| OfRun::LeftForNext(operation, on));
            notices.extend(left.map(Notice::general));
            None
        }
        Ok(verified) => {
            let problems = words::problems(&verified.problems).into_iter();
            let problems = problems.map(|told| format!("{} {}", told.problem.address, told.text));
            let left: Vec<String> = verified.left.into_iter().chain(problems).collect();
            let text = format!("applied, but not converged:\n  {}", left.join("\n  "));
            Some((
                text,
                "another run may be at work; run apply again: it finishes what is left (plan shows it)".into(),
            ))
        }
        Err(error) => {
            let text = format!("applied, but not verified: {error:#}");
            Some((
                text,
                "run apply again: it finishes what is left, and of what two runs made at once it keeps the first".into(),
            ))
        }
    }
}

/// What is refused before anything is read.
pub(super) fn early_gates(command: &str, context: &Context) -> Result<(), Failure> {
    let refuse = |error: &str, hint: &str| Err(Failure::refused(error).hint(hint));
    if context.is_pull_request_event() {
        return refuse(
            &format!("{command} does not run in a pull request's job: nothing was reviewed yet"),
            &format!("run plan there, and {command} on the default branch"),
        );
    }
    if let Some(text) = halt() {
        let text = visible(&text).into_owned();
        return refuse(
            &format!("NETBIRD_GITOPS_HALT is set ({text}); nothing was changed"),
            "unset NETBIRD_GITOPS_HALT once the reason is gone",
        );
    }
    Ok(())
}

/// Recipients and keys directory are tried before the first write, if there is anything to seal.
fn custody(plan: &Plan, args: &ApplyArgs, session: &Session) -> Result<Option<Custody>, Failure> {
    if !plan.changes.iter().any(Change::makes_key) {
        return Ok(None);
    }
    let dir = KeysDir::probe(&keys_dir(args.keys_dir.as_ref()))?;
    let custody = Custody {
        recipients: session.recipients.clone(),
        dir,
        copies: None,
        wait: Box::new(std::thread::sleep),
    };
    for change in plan.changes.iter().filter(|change| change.makes_key()) {
        let key = change.operation.after();
        let checked = key.map_or(Ok(()), |key| custody.recipients_of(key).check());
        checked.with_context(|| format!("{} cannot be sealed", change.address))?;
    }
    Ok(Some(custody))
}

/// How somebody said that the plan is meant.
#[derive(PartialEq)]
enum Confirmed {
    /// By starting the command.
    Beforehand,
    /// By an answer, which can have taken its time.
    AfterAQuestion,
}

/// Asks on a terminal; where nobody can answer, starting the command is the answer. Nobody can in a job, though some
/// runners give its steps a terminal (act_runner up to 0.4).
fn confirm(
    args: &ApplyArgs,
    context: &Context,
    plan: &Plan,
    say: Say,
) -> Result<Confirmed, Failure> {
    if !asks(args, context) {
        return Ok(Confirmed::Beforehand);
    }
    let question = format!("Apply {}?", count(plan.changes.len(), "change", "changes"));
    if asking(|| say.ask(&question)) {
        Ok(Confirmed::AfterAQuestion)
    } else {
        Err(Failure::error("not confirmed; nothing was changed"))
    }
}

fn asks(args: &ApplyArgs, context: &Context) -> bool {
    let terminal = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
    terminal && !args.yes && !context.is_ci
}

/// Shows the plan. Its notices are told once a run: before the question where there is one, else with the result.
fn tell(document: &mut Document, before_a_question: bool, say: Say) {
    let said = document.said().into_iter().flat_map(|said| said.notices);
    let notices = said.cloned().collect();
    if before_a_question {
        say.text(&terminal::plan(document, terminal::Color(false)));
        document.told = notices;
    } else {
        document.told = notices;
        say.text(&terminal::plan(document, terminal::Color(false)));
        document.told.clear();
    }
}

fn stopped(plan: &Plan, applied: &Applied) -> (String, String) {
    let (mut done, mut failed, mut unknown, mut skipped) = (vec![], vec![], vec![], vec![]);
    let mut errors = Vec::new();
    for (change, status) in plan.changes.iter().zip(&applied.statuses) {
        let name = visible(&change.address.to_string()).into_owned();
        if let Status::Failed(error) | Status::Unknown(error) = status {
            errors.push(format!("  {name}: {}", visible(error)));
        }
        match status {
            Status::Success => done.push(name),
            Status::Failed(_) => failed.push(name),
            Status::Unknown(_) => unknown.push(name),
            Status::Skipped | Status::Pending => skipped.push(name),
        }
    }
    let why = if applied.interrupted && failed.is_empty() && unknown.is_empty() {
        "stopped by a signal"
    } else {
        "stopped"
    };
    let not_tried = match skipped.len() {
        0 => String::new(),
        1 => "; 1 was not tried".into(),
        number => format!("; {number} were not tried"),
    };
    let mut text = vec![format!(
        "{why} after {} of {}{not_tried}",
        done.len(),
        count(plan.changes.len(), "operation", "operations"),
    )];
    for (label, names) in [
        ("done:     ", &done),
        ("failed:   ", &failed),
        ("not known:", &unknown),
        ("not tried:", &skipped),
    ] {
        if !names.is_empty() {
            text.push(format!("  {label} {}", names.join(", ")));
        }
    }
    text.append(&mut errors);
    let mut hint = "run plan to see what is left; running apply again continues from here";
    if let Some(stale) = &applied.stale {
        text.insert(0, format!("{stale:#}"));
        if stale.is::<Stale>() {
            hint = STALE;
        }
    }
    let hint = match &applied.hint {
        Some(cause) => format!("{cause}\n{hint}"),
        None => hint.to_owned(),
    };
    (text.join("\n"), hint)
}
