//! The result on a pull request: one comment a network and command, edited in place.

use std::path::Path;

use super::forge::Forge;
use super::stop::Stop;
use crate::ci::Context;
use crate::cli::GiteaArgs;
use crate::exit::Exit;
use crate::logging::Say;
use crate::render::{Document, markdown};

/// Posts the plan, or what an apply made of it. Returns the exit code that a comment which could not be posted asks for:
/// an older plan must not stand as if it were new, but where nobody gave this job a right to comment, it is no failure.
pub(super) fn comment(
    document: &Document,
    applied: bool,
    file: &Path,
    args: &GiteaArgs,
    context: &Context,
    say: Say,
) -> Exit {
    let body = markdown::document(document, applied, markdown::BUDGET);
    match post(&body, applied, file, args, context) {
        Ok(Posted::At(url)) => {
            say.note(&format!("comment: {url}"));
            Exit::Done
        }
        Ok(Posted::NoPullRequest) => {
            say.note("no comment: this commit is no merge of a pull request");
            Exit::Done
        }
        Ok(Posted::NotConfigured) => {
            let why = Forge::not_configured(args, context);
            say.note(&format!("no comment: {why}"));
            Exit::Done
        }
        Err(Stop { error, hint, .. }) => {
            let is_fork = context
                .pull_request
                .as_ref()
                .is_some_and(|pull| pull.is_fork);
            say.error(
                "error",
                &format!("cannot comment: {error}"),
                hint.as_deref(),
            );
            if is_fork { Exit::Done } else { Exit::Error }
        }
    }
}

/// Where a comment is, or why there is none.
enum Posted {
    At(String),
    NoPullRequest,
    NotConfigured,
}

fn post(
    body: &str,
    applied: bool,
    file: &Path,
    args: &GiteaArgs,
    context: &Context,
) -> Result<Posted, Stop> {
    let Some(forge) = Forge::open(args, context, file)? else {
        return Ok(Posted::NotConfigured);
    };
    let number = match (applied, &context.pull_request) {
        (false, Some(pull)) => pull.number,
        (false, None) => {
            let error = match &context.event_problem {
                Some(problem) => {
                    format!("which pull request this job is of is not told: {problem}")
                }
                None => "this job is not of a pull request".to_owned(),
            };
            return Err(Stop::error(error)
                .hint("--comment is for jobs of pull_request and pull_request_target"));
        }
        (true, _) => {
            let merged = context
                .sha
                .as_ref()
                .map(|sha| forge.repo.pull_merged_as(sha))
                .transpose()?;
            match merged.flatten() {
                Some(pull) => pull.number,
                None => return Ok(Posted::NoPullRequest),
            }
        }
    };
    Ok(Posted::At(forge.comment(number, body)?))
}
