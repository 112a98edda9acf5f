//! `plan`: what an apply would do.

use super::failure::Failure;
use super::forge::Forge;
use super::history::is_touched;
use super::inventory::{InventoryPlace, InventoryWanted};
use super::publish::Publisher;
use super::session::{Origin, Request, Session};
use super::settings::Run;
use super::{Body, Ending, blank, end, refused};
use crate::commands::cli::{PlanArgs, Planning};
use crate::commands::exit::Exit;
use crate::forge::ci::PullRequest;
use crate::model::change::Change;
use crate::model::notice::{Notice, OfRun};
use crate::plan::gates::Refusal;
use crate::render::{Document, Unplanned};

pub(super) fn run(run: &Run, args: &PlanArgs) -> Exit {
    let say = run.say;
    let mut document = blank(run);
    let mut red = Vec::new();
    let came_to = make(run, args, &mut document, &mut red);
    let is_of_other_file = came_to.as_ref().is_err_and(|of| of.is_of_other_file);
    let ending = Ending::of(document, came_to, false);
    let is_wanted = args.comment && !is_of_other_file;
    let posted = if let (Body::Document(document, _), true) = (&ending.body, is_wanted) {
        let args = &args.planning.gitea;
        let publisher = Publisher { run, args };
        match document.unplanned {
            Some(Unplanned::Closed { .. }) => Ok(()),
            Some(Unplanned::Untouched) => publisher.correction(document),
            None => publisher.plan(document),
        }
    } else {
        Ok(())
    };
    let exit = end(run, ending.posted("cannot comment", posted));
    if let Some(failure) = refused(&red) {
        let error = format!(
            "{}\nonce this is merged, every apply is refused",
            failure.error
        );
        say.error("refused", &error, failure.hint.as_deref());
    }
    exit
}

/// `red` are the refusals that the pull request of this job causes.
fn make(
    run: &Run,
    args: &PlanArgs,
    document: &mut Document,
    red: &mut Vec<Refusal>,
) -> Result<Exit, Failure> {
    let planning = &args.planning;
    let (path, context) = (&run.file, &run.context);
    let recipients = &planning.sealing.recipients_file;
    let of_pull_request = context.is_pull_request_event() && context.pull_request.is_some();
    // before any secret is needed: the workflow runs for each pull request
    let unplanned = match &context.pull_request {
        Some(pull) if of_pull_request && is_closed(pull, run, args)? => Some(Unplanned::Closed {
            number: pull.number,
        }),
        _ if of_pull_request && !is_touched(path, recipients, context)? => {
            if args.comment {
                of_other_file(run, planning)?;
            }
            Some(Unplanned::Untouched)
        }
        _ => None,
    };
    if unplanned.is_some() {
        document.unplanned = unplanned;
        return Ok(Exit::Done);
    }
    let origin = match &args.live {
        Some(path) => Origin::File(path),
        None => Origin::Server(&planning.server),
    };
    let request = Request {
        run,
        origin,
        scope: &planning.scope,
        sealing: &planning.sealing,
        inventory: &planning.inventory,
        gitea: &planning.gitea,
        adopt: &[],
        writes: false,
        committed: false,
        access: planning.access,
    };
    let mut session = Session::open(&request, document)?;
    let plan = session.judged(run, planning, false, document)?;
    *red = session.red(&plan, &planning.gates, path, document);
    let lacks = |change: &Change| change.makes_key() && !change.names_recipients();
    // they may be known to the apply's job alone, so this is no refusal yet
    if session.recipients.is_empty() && plan.changes.iter().any(lacks) {
        document.notices.push(Notice::general(OfRun::NoRecipient));
    }
    let pending = args.detailed_exitcode && !plan.is_empty();
    let exit = match pending {
        _ if !red.is_empty() => Exit::Refused,
        true => Exit::Pending,
        false => Exit::Done,
    };
    // the process ends now: to give back its memory piece by piece would take a tenth of a large plan's time
    std::mem::forget((session.snapshot, session.actual));
    Ok(exit)
}

/// Errors where the environment, and so the comment, is that of another file.
fn of_other_file(run: &Run, planning: &Planning) -> Result<(), Failure> {
    let place = InventoryPlace::find(&InventoryWanted {
        run,
        inventory: &planning.inventory,
        key_copies: None,
        gitea: &planning.gitea,
        writes: false,
        is_wanted: true,
    });
    match place.and_then(|place| place.read()) {
        Err(failure) if failure.is_of_other_file => Err(failure),
        _ => Ok(()),
    }
}

/// Whether the pull request of this job is merged or closed, by the event or by now: a plan of what it brings would take the
/// place of the one that was reviewed.
fn is_closed(pull: &PullRequest, run: &Run, args: &PlanArgs) -> Result<bool, Failure> {
    if pull.is_closed || !args.comment {
        return Ok(pull.is_closed);
    }
    let Some(forge) = Forge::open(run, &args.planning.gitea)? else {
        return Ok(false);
    };
    match forge.repo.pull(pull.number) {
        Ok(pull) => Ok(pull.merged || pull.state == "closed"),
        // whoever posts the comment says what is wrong there
        Err(error) => {
            log::info!("whether pull request #{} is open: {error}", pull.number);
            Ok(false)
        }
    }
}
