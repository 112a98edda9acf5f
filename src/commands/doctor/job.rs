//! The job around us, or the terminal.

use std::io::IsTerminal;

use super::Doctor;
use super::found::{Look, wrong};
use crate::commands::branch::refuse_other_branches;
use crate::commands::cli::Purpose;
use crate::commands::logging::use_color;
use crate::commands::{Exit, environment};
use crate::forge::ci::Runner;

impl Doctor<'_> {
    /// Which form the output has.
    pub(super) fn terminal(&self) -> Look {
        let is_terminal = std::io::stdout().is_terminal();
        if self.run.context.runner != Runner::None && environment("CI").is_none() {
            let text = "this is a CI job, but CI is not set: the runner would obey lines of the log that look like commands";
            return wrong(text, "set CI: true in the step's env");
        }
        let color = match use_color(self.run.cli.global.color, is_terminal, environment) {
            true => "stdout has colour",
            false => "stdout has no colour",
        };
        let log = match self.run.say.is_json() {
            true => "JSON lines",
            false => "for people",
        };
        Ok(format!("{color}; the log is {log}"))
    }

    /// Which job this is, and what was checked for.
    pub(super) fn job(&self) -> Look {
        let context = &self.run.context;
        if let Some(problem) = &context.event_problem {
            let hint = "the runner names it in GITHUB_EVENT_PATH: in a container, mount it";
            return wrong(problem.clone(), hint);
        }
        let checked = match self.purpose {
            Some(Purpose::Plan) => "checked what plan needs",
            Some(Purpose::Apply) => "checked what apply needs",
            None => "checked what both plan and apply need",
        };
        if !context.is_ci {
            let why = match (self.named, self.purpose) {
                (None, Some(_)) => ", because NetBird's token can do it; use --for to choose",
                _ => "",
            };
            return Ok(format!("not in a CI job; {checked}{why}"));
        }
        let applies = self.purpose == Some(Purpose::Apply);
        if applies && context.is_pull_request_event() {
            let hint = "run apply on a push to the branch that is applied; here run plan";
            return wrong("in a pull request's job apply refuses to run", hint);
        }
        if applies
            && let Err(failure) = refuse_other_branches("apply", self.run)
            && failure.exit == Exit::Refused
        {
            return Err(failure.into());
        }
        let runner = match context.runner {
            Runner::Gitea => "a job of Gitea's runner",
            Runner::Forgejo => "a job of Forgejo's runner",
            Runner::Other | Runner::None => "a job",
        };
        let event = Some(&context.event).filter(|event| !event.is_empty());
        let event = event.map(|event| format!(", event {event}"));
        let branch = self.run.branch().map(|branch| format!(", for {branch}"));
        let (event, branch) = (event.unwrap_or_default(), branch.unwrap_or_default());
        Ok(format!("{runner}{event}{branch}; {checked}"))
    }
}
