//! What the CI job around us says: its environment and its event file, as one plain value.
//!
//! Runners differ in what they set, servers in what they write, and an unset secret is a variable that is set and
//! empty (docs/gitea-api.md, "A job's environment", "Event payloads"): everything here is optional, and an empty
//! variable is unset.

mod output;
mod payload;
#[cfg(test)]
mod tests;

use std::io;

pub use output::{annotation, safe_line};
pub use payload::PullRequest;

use payload::Payload;

use crate::base::files;

/// The job, as far as it is known. All empty outside of CI.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Context {
    /// Is this a job of some CI?
    pub is_ci: bool,
    /// Whose runner it is.
    pub runner: Runner,
    /// What started the job, as in `pull_request_target` or `push`; empty where we are not told.
    pub event: String,
    /// The pull request of the event.
    pub pull_request: Option<PullRequest>,
    /// The repository's full name, as in `owner/name`.
    pub repository: Option<String>,
    /// The repository's page, for links that people follow: by the server's own public name where the event tells it.
    pub repository_url: Option<String>,
    /// The server, without a slash at the end. It is the address that the runner was registered with: good for
    /// requests, maybe not for people (docs/gitea-api.md, "A job's environment").
    pub server_url: Option<String>,
    /// The full ref, as in `refs/heads/main` or `refs/pull/7/head`.
    pub git_ref: Option<String>,
    /// The branch that the job is about: the one that was pushed or scheduled, for a pull request its base.
    pub branch: Option<String>,
    /// The repository's default branch, where the event tells it.
    pub default_branch: Option<String>,
    /// The commit; of a pull request its head (for `pull_request_target` the base's tip). In a scheduled run it may be
    /// an old one (docs/gitea-api.md, "Triggers").
    pub sha: Option<String>,
    /// Who started it.
    pub actor: Option<String>,
    /// The page of the run.
    pub run_url: Option<String>,
    /// The run's id, by which the server knows it.
    pub run_id: Option<i64>,
    /// Why the event file is of no use, where there is one and it is not.
    pub event_problem: Option<String>,
}

/// A family of runners.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Runner {
    /// No CI, or none that is known.
    #[default]
    None,
    /// Gitea's runner or its predecessor act_runner, maybe on a Forgejo server.
    Gitea,
    /// Forgejo's runner.
    Forgejo,
    /// Another one that understands the same workflows.
    Other,
}

impl Context {
    /// Returns the context of this process.
    pub fn of_process() -> Context {
        Context::from(
            |name| std::env::var(name).ok(),
            |path| files::read_text(path.as_ref(), 64 * files::SMALL),
        )
    }

    /// Returns the context that variables and the event file give.
    pub fn from(
        lookup: impl Fn(&str) -> Option<String>,
        read_file: impl Fn(&str) -> io::Result<String>,
    ) -> Context {
        let variables = Variables(&lookup);
        let (payload, event_problem) =
            match variables.job("EVENT_PATH").map(|path| read_file(&path)) {
                None => (Payload::default(), None),
                Some(Ok(text)) => Payload::parse(&text),
                Some(Err(error)) => {
                    let why = crate::base::text::file_error(&error);
                    let problem = format!("the event file cannot be read: {why}");
                    (Payload::default(), Some(problem))
                }
            };
        // by the name that every runner has
        let run_id = variables.get("GITHUB_RUN_ID").or(variables.job("RUN_ID"));
        let mut context = Context {
            is_ci: variables.is_on("CI") || variables.runner() != Runner::None,
            runner: variables.runner(),
            event: variables.job("EVENT_NAME").unwrap_or_default(),
            repository: variables
                .job("REPOSITORY")
                .or(payload.text("/repository/full_name")),
            server_url: variables.job("SERVER_URL").map(without_slash),
            git_ref: variables.job("REF").or_else(|| payload.git_ref()),
            default_branch: payload.text("/repository/default_branch"),
            sha: variables.job("SHA"),
            actor: variables.job("ACTOR"),
            run_id: run_id.and_then(|id| id.parse().ok()),
            event_problem,
            ..Context::default()
        };
        let page = payload.text("/repository/html_url").map(without_slash);
        context.repository_url = page.or_else(|| {
            let (server, name) = (context.server_url.as_ref()?, context.repository.as_ref()?);
            Some(format!("{server}/{name}"))
        });
        context.pull_request = pull_request(&variables, &payload, &context);
        context.branch = branch(&context);
        context.run_url = run_url(&variables, &context);
        context
    }

    /// Does the job run for a pull request, whose text is a proposal that nobody agreed to yet?
    ///
    /// True also when the event is not named but anything else shows a pull request: the gate of `apply` leans on this.
    pub fn is_pull_request_event(&self) -> bool {
        let by_name = match self.event.as_str() {
            "" => self.pull_request.is_some(),
            name => name.starts_with("pull_request"),
        };
        by_name || self.git_ref.as_deref().and_then(number_of).is_some()
    }
}

/// Prefixes of the variables that runners set.
const PREFIXES: [&str; 3] = ["GITEA_", "FORGEJO_", "GITHUB_"];

/// What is read of them.
const NAMES: &str = "ACTIONS ACTOR BASE_REF EVENT_NAME EVENT_PATH REF REPOSITORY RUN_ID RUN_NUMBER SERVER_URL SHA TOKEN";

/// Is it a variable of a job that the program reads?
pub fn is_variable(name: &str) -> bool {
    let read = |rest: &str| NAMES.split(' ').any(|name| name == rest);
    let mut prefixes = PREFIXES.iter();
    prefixes.any(|prefix| name.strip_prefix(prefix).is_some_and(read))
}

struct Variables<'a>(&'a dyn Fn(&str) -> Option<String>);

impl Variables<'_> {
    /// Returns a variable that is set and not empty.
    fn get(&self, name: &str) -> Option<String> {
        (self.0)(name).filter(|value| !value.trim().is_empty())
    }

    /// Returns a variable of the job by its name behind `GITEA_`, `FORGEJO_` or `GITHUB_`.
    fn job(&self, name: &str) -> Option<String> {
        debug_assert!(is_variable(&format!("GITEA_{name}")), "{name} is read");
        let mut prefixes = PREFIXES.iter();
        prefixes.find_map(|prefix| self.get(&format!("{prefix}{name}")))
    }

    fn is_on(&self, name: &str) -> bool {
        let value = self.get(name).map(|value| value.to_ascii_lowercase());
        value.is_some_and(|value| !["false", "0", "no"].contains(&value.as_str()))
    }

    /// Forgejo's runner says that it is Gitea's, too (docs/gitea-api.md, "A job's environment").
    fn runner(&self) -> Runner {
        let runners = [
            ("FORGEJO_ACTIONS", Runner::Forgejo),
            ("GITEA_ACTIONS", Runner::Gitea),
            ("GITHUB_ACTIONS", Runner::Other),
        ];
        let found = runners.into_iter().find(|(name, _)| self.is_on(name));
        found.map_or(Runner::None, |(_, runner)| runner)
    }
}

/// Returns the pull request that the payload tells of, with what it leaves out taken from the variables.
fn pull_request(vars: &Variables, payload: &Payload, context: &Context) -> Option<PullRequest> {
    // The payload of a scheduled run is that of an old push; a push is none of a pull request's whatever it carries.
    if ["push", "schedule", "workflow_dispatch"].contains(&context.event.as_str()) {
        return None;
    }
    let from_ref = context.git_ref.as_deref().and_then(number_of);
    let mut found = match payload.pull_request() {
        Some(found) => found,
        None => PullRequest {
            number: from_ref?,
            ..PullRequest::default()
        },
    };
    found.base_ref = found.base_ref.or_else(|| vars.job("BASE_REF"));
    if found.head_sha.is_none() && context.event != "pull_request_target" {
        found.head_sha.clone_from(&context.sha);
    }
    Some(found)
}

fn branch(context: &Context) -> Option<String> {
    let base = || context.pull_request.as_ref()?.base_ref.as_deref();
    let pushed = || context.git_ref.as_deref()?.strip_prefix("refs/heads/");
    base().or_else(pushed).map(str::to_owned)
}

/// Gitea's pages of runs are found by the run's id since 1.26 (by its number before), Forgejo's by its number
/// (go-gitea/gitea pull request 36842).
fn run_url(variables: &Variables, context: &Context) -> Option<String> {
    let number = match context.runner {
        Runner::Forgejo => variables.job("RUN_NUMBER"),
        Runner::Gitea | Runner::Other | Runner::None => variables.job("RUN_ID"),
    };
    let (url, number) = (context.repository_url.as_ref()?, number?);
    Some(format!("{url}/actions/runs/{number}"))
}

/// Returns the number of `refs/pull/7/head` (on GitHub `refs/pull/7/merge`).
fn number_of(git_ref: &str) -> Option<u64> {
    let number = git_ref.strip_prefix("refs/pull/")?.split('/').next()?;
    number.parse().ok()
}

fn without_slash(url: String) -> String {
    url.trim().trim_end_matches('/').to_owned()
}
