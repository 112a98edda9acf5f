//! `drift`: the committed file against NetBird, and one issue about it.

use jiff::Timestamp;
use serde_json::json;
use std::sync::Arc;

use super::branch::refuse_other_branches;
use super::failure::Failure;
use super::forge::{Forge, SETTINGS};
use super::history::History;
use super::session::notices::of_token;
use super::session::{LiveFrom, Request, Session};
use super::settings::Run;
use super::{Ending, blank, end_with};
use crate::account::fetch::beside_the_kinds;
use crate::base::text::visible;
use crate::commands::cli::DriftArgs;
use crate::commands::exit::Exit;
use crate::forge::gitea::post::{Board, PostAction};
use crate::git::Sha;
use crate::model::desired::Desired;
use crate::plan::Plan;
use crate::plan::drift::{self, Drift, Version};
use crate::render::{Tree, drift as render, markdown};

/// How many versions of the file are looked at for the last agreement.
const VERSIONS: usize = 50;

pub(super) fn run(run: &Run, args: &DriftArgs) -> Exit {
    end_with(run, make(run, args), json!({ "status": "error" }))
}

fn make(run: &Run, args: &DriftArgs) -> Result<Ending, Failure> {
    let (drift, plan, name) = found(run, args)?;
    let marker = markdown::marker("drift", &run.environment);
    let tree = render::tree(&drift, &plan, &marker, &name);
    let kept = match args.issue {
        true => keep_issue(run, args, &drift, &tree, &name),
        false => Ok(()),
    };
    let ending = Ending {
        exit: match drift.is_alarming() {
            true => Exit::Pending,
            false => Exit::Done,
        },
        ..Ending::shown(render::json(&drift, &name), tree)
    };
    Ok(ending.posted("no issue", kept))
}

/// Returns the drift, the plan and the file's name.
fn found(run: &Run, args: &DriftArgs) -> Result<(Drift, Plan, String), Failure> {
    if args.issue {
        // people read the issue as the state of the branch that is applied
        refuse_other_branches("drift --issue", run, &args.servers.gitea)?;
    }
    let request = Request {
        committed: true,
        ..Request::reading(
            run,
            LiveFrom::Server(&args.servers.server),
            &args.servers.inventory,
            &args.servers.gitea,
        )
    };
    let mut session = Session::open(&request, &mut blank(run))?;
    let plan = session.plan(&request)?;
    let mut drift = drift::drift(&plan, &session.valid.desired, &session.actual);
    if let Some(notice) = of_token(&session.actual) {
        run.say.note(&visible(&notice.words()));
    }
    for notice in session.document.said() {
        log::info!("{}", notice.text);
    }
    if let Some(api) = &session.api {
        drift.beside_the_kinds = beside_the_kinds(api);
    }
    if drift.is_alarming() {
        let versions = versions(&session.history)?;
        drift::blame_versions(&mut drift, versions, &session.snapshot, &session.options);
        if let Some(api) = &session.api {
            let events = api.list("/events")?.into_iter();
            let events: Vec<_> = events.filter_map(|event| event.read().ok()).collect();
            drift::blame_events(&mut drift, &events, &session.actual);
        }
    }
    Ok((drift, plan, session.document.file))
}

/// Versions of the file, the newest first; those that are no valid file are passed over.
fn versions(history: &History) -> Result<Vec<Version>, Failure> {
    let newest = history.newest(VERSIONS)?.into_iter();
    let version = |(commit, at, desired): (Sha, i64, Arc<Desired>)| {
        Some(Version {
            commit: commit.short().to_owned(),
            at: Timestamp::from_second(at).ok()?,
            desired,
        })
    };
    Ok(newest.filter_map(version).collect())
}

/// Writes the one issue: opened or edited while there is drift, closed when there is none.
fn keep_issue(
    run: &Run,
    args: &DriftArgs,
    drift: &Drift,
    tree: &Tree,
    name: &str,
) -> Result<(), Failure> {
    let forge = Forge::wanted(run, &args.servers.gitea, SETTINGS)?;
    let issues = Board {
        repo: &forge.repo,
        pull: None,
    };
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
    run.say.note(&format!("issue {done}: {}", posted.url));
    Ok(())
}
