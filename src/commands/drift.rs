//! `drift`: the committed file against NetBird, and one issue about it.

use jiff::Timestamp;

use super::branch::refuse_other_branches;
use super::cli::{AccessLevel, DriftArgs};
use super::session::notices::of_token;
use super::{Ending, Exit, Forge, Result, Run, SETTINGS, Session, blank};
use crate::account::beside_the_kinds;
use crate::base::visible;
use crate::forge::gitea::post::PostAction;
use crate::plan::{Drift, Plan, drift};
use crate::render::{Tree, drift as render, markdown};

/// How many versions of the file are looked at for the last agreement.
const VERSIONS: usize = 50;

pub(super) fn run(run: &Run, args: &DriftArgs) -> Result<Ending> {
    let (drift, plan, name) = found(run, args)?;
    let marker = markdown::marker("drift", &run.environment);
    let tree = render::tree(&drift, &plan, &marker, &name);
    let mut ending = Ending::shown(run, render::json(&drift, &name), &tree);
    if drift.is_alarming() {
        ending.exit = Exit::Pending;
    }
    Ok(match args.issue {
        true => ending.posted("no issue", keep_issue(run, &drift, &tree, &name)),
        false => ending,
    })
}

/// Returns the drift, the plan and the file's name.
fn found(run: &Run, args: &DriftArgs) -> Result<(Drift, Plan, String)> {
    if args.issue {
        // people read the issue as the state of the branch that is applied
        refuse_other_branches("drift --issue", run)?;
    }
    let mut session = Session::open(run, AccessLevel::None, &mut blank(run))?;
    let plan = session.plan()?;
    let mut drift = drift::drift(&plan, &session.valid.desired, &session.actual);
    if let Some(notice) = of_token(&session.actual) {
        run.say.note(&visible(&notice.words()));
    }
    for said in session.document.said() {
        match said.is_warning() {
            true => run.say.note(&visible(&said.text)),
            false => log::info!("{}", said.text),
        }
    }
    if let Some(api) = &session.api {
        drift.beside_the_kinds = beside_the_kinds(api);
    }
    if drift.is_alarming() {
        let versions = session.history.newest(VERSIONS)?;
        drift::blame_versions(&mut drift, versions, &session.snapshot, &session.options);
        if let Some(api) = &session.api {
            let events = api.list("/events")?.into_iter();
            let events: Vec<_> = events.filter_map(|event| event.read().ok()).collect();
            drift::blame_events(&mut drift, &events, &session.actual);
        }
    }
    Ok((drift, plan, session.document.file))
}

/// Writes the one issue: opened or edited while there is drift, closed when there is none.
fn keep_issue(run: &Run, drift: &Drift, tree: &Tree, name: &str) -> Result<()> {
    let forge = Forge::wanted(run, SETTINGS)?;
    let issues = forge.board(None);
    let title = |state: &str| format!("NetBird drift ({}): {state}", run.environment);
    let body = |tree: &Tree| markdown::comment(tree, markdown::BUDGET);
    let posted = match drift.is_alarming() {
        true => Some(issues.keep(&title(&render::summary(drift)), &body(tree))?),
        false => {
            let tree = render::resolved(&tree.marker, name, Timestamp::now());
            issues.correct(&title("resolved"), &body(&tree), true)?
        }
    };
    let Some(posted) = posted else { return Ok(()) };
    let done = match posted.action {
        PostAction::Created => "opened",
        PostAction::Edited => "edited",
        PostAction::Closed => "closed",
        PostAction::Unchanged => return Ok(()),
    };
    run.say
        .note(&format!("issue {done}: {}", posted.post.html_url));
    Ok(())
}
