//! The job around us, or the terminal.

use std::io::IsTerminal;

use super::Doctor;
use super::found::{Look, wrong};
use crate::commands::cli::Purpose;
use crate::commands::forge;
use crate::commands::logging::use_color;
use crate::commands::settings::{environment, setting};
use crate::forge::ci::{JobEvent, Runner};

impl Doctor<'_> {
    /// Where the output goes.
    pub(super) fn terminal(&self) -> Look {
        let is_terminal = std::io::stdout().is_terminal();
        let ci = environment("CI");
        if self.run.context.runner != Runner::None && ci.is_none() {
            return wrong(
                "this is a runner's job, but CI is not set: lines of a log that look like commands are not made harmless",
                "set CI: true in the step's env",
            );
        }
        let color = match use_color(self.run.cli.global.color, is_terminal, environment) {
            true => "stdout has colour",
            false => "stdout has no colour",
        };
        let ci = match ci {
            Some(ci) if !matches!(ci.as_str(), "false" | "0") => {
                "CI is set: the log on stderr is JSON lines"
            }
            Some(_) => "CI is off: the log is for people",
            None => "CI is not set: the log is for people",
        };
        Ok(format!("{color}; {ci}"))
    }

    /// Which job this is, and what was checked for.
    pub(super) fn job(&self) -> Look {
        let context = &self.run.context;
        if let Some(problem) = &context.event_problem {
            let hint = "the runner names it in GITHUB_EVENT_PATH: in a container, mount it";
            return wrong(problem.clone(), hint);
        }
        let checked = match self.purpose {
            Some(Purpose::Plan) => "checked for plan",
            Some(Purpose::Apply) => "checked for apply",
            None => "checked for what plan and apply have in common",
        };
        if !context.is_ci {
            let why = match (self.told, self.purpose) {
                (None, Some(_)) => ", by what NetBird's token can do; --for chooses otherwise",
                _ => "",
            };
            return Ok(format!("no job; {checked}{why}"));
        }
        let applies = self.purpose == Some(Purpose::Apply);
        if applies && context.is_pull_request_event() {
            return wrong(
                "this is a pull request's job, where apply refuses to run",
                "run apply on a push to the branch that is applied; here run plan",
            );
        }
        let own = context.git_ref.as_deref().unwrap_or_default();
        let own_name = own.strip_prefix("refs/heads/").unwrap_or(own);
        let applied =
            setting(self.args.gitea.branch.as_ref()).or_else(|| context.default_branch.clone());
        if let Some(branch) = applied
            && applies
            && !own.is_empty()
            && own_name != branch
        {
            return wrong(
                format!("apply acts for the branch {branch} only, and this job is of {own}"),
                format!(
                    "start the workflow on {branch}; --branch (GITEA_BRANCH) names another branch"
                ),
            );
        }
        let runner = match context.runner {
            Runner::Gitea => "a job of Gitea's runner",
            Runner::Forgejo => "a job of Forgejo's runner",
            Runner::Other => "a job of another runner",
            Runner::None => "a job",
        };
        let event = match &context.event {
            JobEvent::None => String::new(),
            JobEvent::PullRequest => ", of a pull request".to_owned(),
            JobEvent::PullRequestTarget => {
                ", of a pull request, with the base's workflow".to_owned()
            }
            JobEvent::Push => ", after a push".to_owned(),
            JobEvent::Schedule => ", by the clock".to_owned(),
            JobEvent::WorkflowDispatch => ", started by hand".to_owned(),
            JobEvent::Other(event) => format!(", after {event}"),
        };
        let branch = forge::branch(self.run, &self.args.gitea);
        let branch = branch.map(|branch| format!(", for {branch}"));
        let branch = branch.unwrap_or_default();
        Ok(format!("{runner}{event}{branch}; {checked}"))
    }
}
