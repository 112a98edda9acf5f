//! `plan`: what an apply would do.

use super::cli::PlanArgs;
use super::history::is_touched;
use super::{
    Body, Ending, Exit, Forge, InventoryPlace, Result, Run, Session, blank, end, publish, refused,
};
use crate::forge::ci::PullRequest;
use crate::model::{Change, Notice, OfRun};
use crate::plan::Refusal;
use crate::render::{Document, Unplanned};

pub(super) fn run(run: &Run, args: &PlanArgs) -> Exit {
    let say = run.say;
    let (document, came_to, red) = make(run, args);
    let is_of_other_file = came_to.as_ref().is_err_and(|of| of.is_of_other_file);
    let mut ending = Ending::of(document, came_to, false);
    if let (Body::Document(document, _), true) = (&ending.body, args.comment && !is_of_other_file) {
        let posted = match document.unplanned {
            Some(Unplanned::Closed { .. }) => Ok(()),
            Some(Unplanned::Untouched) => publish::correction(run, document),
            None => publish::plan(run, document),
        };
        ending = ending.posted("cannot comment", posted);
    }
    let exit = end(run, ending);
    if let Some(mut failure) = refused(&red) {
        failure.error += "\nonce this is merged, every apply is refused";
        say.error("refused", &failure.error, failure.hint.as_deref());
    }
    exit
}

/// Returns what is known of the plan, how the run ends, and the refusals that the pull request of this job causes.
fn make(run: &Run, args: &PlanArgs) -> (Document, Result<Exit>, Vec<Refusal>) {
    // before any secret is needed: the workflow runs for each pull request
    let mut document = blank(run);
    match unplanned(run, args) {
        Ok(None) => {}
        Ok(why) => {
            document.unplanned = why;
            return (document, Ok(Exit::Done), Vec::new());
        }
        Err(failure) => return (document, Err(failure), Vec::new()),
    }
    let mut session = match Session::open(run, args.planning.access, &mut document) {
        Ok(session) => session,
        Err(failure) => return (document, Err(failure), Vec::new()),
    };
    let judged = session.judged().map(|plan| {
        let red = session.red(&plan);
        let lacks = |change: &Change| change.makes_key() && !change.names_recipients();
        // they may be known to the apply's job alone, so this is no refusal yet
        if session.recipients.is_empty() && plan.changes.iter().any(lacks) {
            let notice = Notice::general(OfRun::NoRecipient);
            session.document.notices.push(notice);
        }
        let exit = match args.detailed_exitcode && !plan.is_empty() {
            _ if !red.is_empty() => Exit::Refused,
            true => Exit::Pending,
            false => Exit::Done,
        };
        (exit, red)
    });
    // as in `end`: the options hold what has to go, the directory that git was read in
    let read = (session.snapshot, session.actual, session.binding);
    std::mem::forget((read, session.valid));
    match judged {
        Ok((exit, red)) => (session.document, Ok(exit), red),
        Err(failure) => (session.document, Err(failure), Vec::new()),
    }
}

/// Returns why the pull request of this job needs no plan, if it needs none.
fn unplanned(run: &Run, args: &PlanArgs) -> Result<Option<Unplanned>> {
    let (path, context) = (&run.file, &run.context);
    let pull = context.pull_request.as_ref();
    let Some(pull) = pull.filter(|_| context.is_pull_request_event()) else {
        return Ok(None);
    };
    if is_closed(pull, run, args)? {
        let number = pull.number;
        return Ok(Some(Unplanned::Closed { number }));
    }
    if is_touched(path, run.recipients_files(), context)? {
        return Ok(None);
    }
    // where the environment is that of another file, so is the comment
    if args.comment {
        match InventoryPlace::find(run).and_then(|place| place.read()) {
            Err(failure) if failure.is_of_other_file => return Err(failure),
            _ => {}
        }
    }
    Ok(Some(Unplanned::Untouched))
}

/// Whether the pull request of this job is merged or closed, by the event or by now: a plan of what it brings would take the
/// place of the one that was reviewed.
fn is_closed(pull: &PullRequest, run: &Run, args: &PlanArgs) -> Result<bool> {
    if pull.is_closed || !args.comment {
        return Ok(pull.is_closed);
    }
    let Some(forge) = Forge::open(run)? else {
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
