//! The result on a pull request: one comment a network and command, edited in place.

use std::path::Path;

use super::{Failure, Forge, Result, Run, SETTINGS, of_gitea};
use crate::git::{Git, GitError, Opened, Sha};
use crate::render::{self, Document, markdown};

/// How many commits back an apply looks for pull requests whose own run was superseded, cancelled or never started.
const BACK: usize = 20;
/// Gitea cuts the automatic token of such a job down, whatever the workflow asks for (docs/gitea-api.md, "The job's
/// token").
const OF_FORK: &str = "this job is of a pull request from a fork, and its automatic token may not comment: \
                       examples/workflows/plan-forks.yml takes the place of plan.yml where authors work in forks";

/// Posts the plan. Errors where a comment that was asked for could not be posted: an older plan must not stand as if
/// it were new.
pub(super) fn plan(run: &Run, document: &Document) -> Result<()> {
    post(run, &open(run)?, pull_request(run)?, &text(document, false)).map(drop)
}

/// Posts a text, and returns who wrote it.
fn post(run: &Run, forge: &Forge, number: u64, body: &str) -> Result<Option<i64>> {
    let posted = forge.board(Some(number)).keep("", body).map_err(|error| {
        let is_cut_down = run.is_of_fork() && error.is_no_right();
        let failure = of_gitea(&forge.repo, error);
        match is_cut_down {
            true => failure.hint(OF_FORK),
            false => failure,
        }
    })?;
    run.say.note(&format!("comment: {}", posted.post.html_url));
    Ok(posted.post.author())
}

/// Corrects the comment of a pull request that does not change the file (any more). One that never did has none, and
/// needs no settings for it.
pub(super) fn correction(run: &Run, document: &Document) -> Result<()> {
    let Some(forge) = Forge::open(run)? else {
        return Ok(());
    };
    let (text, number) = (text(document, false), pull_request(run)?);
    match forge.board(Some(number)).correct("", &text, false) {
        // a token that may not read comments made none here
        Err(error) if error.is_hidden_from_us() => {
            log::info!("no comment to correct is to be seen: {error}");
        }
        posted => {
            let posted = posted?.map(|posted| format!("comment: {}", posted.post.html_url));
            posted.iter().for_each(|text| run.say.note(text));
        }
    }
    Ok(())
}

/// Posts what an apply came to on the pull request that its commit merged, and, where it `did` its work, on those
/// merged before whose own run did not get to it. Errors as [`plan`] does; a commit that is no merge has
/// nowhere to answer.
pub(super) fn result(run: &Run, document: &Document, did: bool) -> Result<()> {
    let (forge, say, context) = (open(run)?, run.say, &run.context);
    let body = &text(document, true);
    let Some(sha) = &context.sha else {
        say.note("no comment: this job does not say which commit it is for");
        return Ok(());
    };
    let mut me = None;
    // what an earlier attempt of this run did stands, and what somebody starts by hand is about no pull request
    let gives_way = document.did_nothing() || context.event == "workflow_dispatch";
    match forge.repo.pull_merged_as(sha)? {
        Some(pull) if gives_way && has_result(&forge, pull.number, body, &mut me)? => {
            say.note("no comment: this commit has its result already");
        }
        Some(pull) => me = post(run, &forge, pull.number, body)?,
        None => say.note("no comment: this commit is not the merge of a pull request"),
    }
    if did {
        earlier(run, &forge, body, me)?;
    }
    Ok(())
}

/// Posts the result on the pull requests that were merged before this one and have none yet, back to the first that has.
fn earlier(run: &Run, forge: &Forge, body: &str, mut me: Option<i64>) -> Result<()> {
    // after a rebase or a fast-forward the last commit of a pull request alone is known to be its: what changed the
    // file before it, back to the next one that is known, is taken to have come with it
    let mut open: Option<u64> = None;
    for (sha, touches) in commits(&run.file)?.iter().skip(1) {
        if let Some(pull) = forge.repo.pull_merged_as(sha.as_str())? {
            open = Some(pull.number);
        }
        let Some(number) = open.filter(|_| *touches) else {
            continue;
        };
        if has_result(forge, number, body, &mut me)? {
            return Ok(());
        }
        me = post(run, forge, number, body)?.or(me);
        open = None;
    }
    Ok(())
}

/// Posts what an apply has come to before its end, so that the sealed keys stand there if it is killed. Nobody is told
/// where that does not work: the comment at the end says so.
pub(super) fn under_way(run: &Run, document: &Document) {
    let post = || -> Result<()> {
        let forge = open(run)?;
        if let Some(sha) = &run.context.sha
            && let Some(pull) = forge.repo.pull_merged_as(sha)?
        {
            let board = forge.board(Some(pull.number));
            board.keep("", &text(document, true))?;
        }
        Ok(())
    };
    if let Err(failure) = post() {
        log::warn!("not yet: cannot comment: {}", failure.error);
    }
}

fn open(run: &Run) -> Result<Forge> {
    Forge::wanted(run, SETTINGS)
}

fn pull_request(run: &Run) -> Result<u64> {
    if let Some(pull) = &run.context.pull_request {
        return Ok(pull.number);
    }
    let problem = run.context.event_problem.iter();
    let problem: String = problem.map(|problem| format!(": {problem}")).collect();
    let failure = Failure::error(format!("this job is not of a pull request{problem}"));
    Err(failure.hint("--comment is for jobs of pull_request and pull_request_target"))
}

fn text(document: &Document, applied: bool) -> String {
    markdown::comment(&render::tree(document, applied), markdown::BUDGET)
}

/// Does the pull request say what an apply made of it? That it was refused, or the like, is no result.
fn has_result(forge: &Forge, number: u64, body: &str, me: &mut Option<i64>) -> Result<bool> {
    let texts = forge.board(Some(number)).texts(body, me)?;
    Ok(texts.iter().any(|text| render::is_result(text)))
}

/// The newest commits of the checkout along first parents, and of each whether it changed the file.
fn commits(file: &Path) -> Result<Vec<(Sha, bool)>, GitError> {
    let Opened::Checkout(git) = Git::around(file)? else {
        return Ok(Vec::new());
    };
    let Some(head) = git.head()? else {
        return Ok(Vec::new());
    };
    let changed = git.changes(None, &head, &[&git.locate(file)?], BACK + 1)?;
    let all = git.changes(None, &head, &[], BACK + 1)?.into_iter();
    let all = all.map(|commit| (changed.contains(&commit), commit.0));
    Ok(all.map(|(touches, commit)| (commit, touches)).collect())
}
