//! `doctor`: is this set-up right? Asks the servers, the checkout and the job, and changes nothing.
//!
//! Each part continues after one that failed; what depends on a failed check is not made. What a token may not see and what is
//! not configured is neither right nor wrong.

mod checkout;
mod found;
mod gitea;
mod inventory;
mod job;
mod netbird;
mod rights;
mod shown;

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::json;

use super::failure::Failure;
use super::session::{check, notices};
use super::settings::{Run, halt, readable, recipients};
use super::{Ending, end_with};
use crate::base::text::count;
use crate::commands::cli::{DoctorArgs, Purpose};
use crate::commands::exit::Exit;
use crate::file;
use crate::forge::ci::JobEvent;
use crate::model::desired::Desired;
use crate::wire::api::Api;
use crate::wire::api::objects::User;
use found::{Check, Look, not_made, open, wrong};

/// The names of the checks, in the order in which a run meets them. They are the same in every version.
const NAMES: &str = "file recipients halt \
    netbird_url netbird_token netbird_role netbird_token_life netbird_account netbird_version netbird_clock netbird_rate_limit \
    gitea_url gitea_token gitea_version gitea_scopes gitea_repository gitea_push gitea_branch_rule gitea_comment \
    gitea_inventory_branch gitea_inventory_push inventory inventory_key_copies workflows git_history terminal job";

/// The largest difference of two clocks that is taken for none, in seconds: the times in ids are compared with those in the
/// file.
const CLOCK_SECS: i64 = 10;

pub(super) fn run(run: &Run, args: &DoctorArgs) -> Exit {
    end_with(run, make(run, args), json!({}))
}

fn make(run: &Run, args: &DoctorArgs) -> Result<Ending, Failure> {
    readable()?;
    let context = &run.context;
    let named = match args.purpose {
        None if context.is_pull_request_event() => Some(Purpose::Plan),
        None if context.is_ci => Some(Purpose::Apply),
        named => named,
    };
    let mut doctor = Doctor {
        run,
        args,
        named,
        purpose: named,
        desired: None,
        me: None,
        account: None,
        api: None,
        via_pr: false,
        has_workflows: false,
        found: Vec::new(),
    };
    doctor.check();
    let Doctor { found, purpose, .. } = doctor;
    Ok(Ending {
        exit: match found.iter().any(Check::failed) {
            true => Exit::Error,
            false => Exit::Done,
        },
        ..Ending::shown(shown::json(&found), shown::tree(&found, purpose))
    })
}

/// Why something is not looked at in the job of a pull request from a fork.
const OF_FORK: &str = "a pull request from a fork has no secrets; examples/workflows/plan-forks.yml takes the place of plan.yml \
                       where authors work in forks";

/// What all checks look at, and what they found.
struct Doctor<'a> {
    run: &'a Run<'a>,
    args: &'a DoctorArgs,
    /// What the set-up is for, where flags or the job say so.
    named: Option<Purpose>,
    /// The same; without a job and a flag what NetBird's token can do.
    purpose: Option<Purpose>,
    /// What the file asks for, where it is valid.
    desired: Option<Arc<Desired>>,
    /// The user of NetBird's token.
    me: Option<User>,
    /// The id of the account.
    account: Option<String>,
    /// NetBird, where it takes the token.
    api: Option<Api>,
    /// The workflows propose the bot's commits (`--via-pr`).
    via_pr: bool,
    /// There are workflows of ours.
    has_workflows: bool,
    found: Vec<Check>,
}

impl Doctor<'_> {
    fn check(&mut self) {
        let file = self.file();
        self.put("file", file);
        let workflows = self.workflows();
        self.put("workflows", workflows);
        self.netbird();
        self.put("recipients", self.sealing());
        self.put("halt", kill_switch(self.purpose));
        self.gitea();
        self.inventory();
        self.put("git_history", self.history());
        self.put("terminal", self.terminal());
        self.put("job", self.job());
        let place = |check: &Check| NAMES.split(' ').position(|name| name == check.name);
        self.found.sort_by_key(place);
    }

    /// Whether this is the job of a pull request from a fork that has no secrets.
    fn is_of_fork(&self) -> bool {
        let context = &self.run.context;
        let pull = context.pull_request.as_ref();
        context.event == JobEvent::PullRequest && pull.is_some_and(|pull| pull.is_fork)
    }

    fn put(&mut self, name: &'static str, look: Look) {
        self.put_advised(name, look, None);
    }

    /// Puts a check, with what to do also where it is not wrong.
    fn put_advised(&mut self, name: &'static str, look: Look, advice: Option<String>) {
        let right = |text| Check::new(Some(true), text, None);
        let mut check = look.map_or_else(|check| check, right);
        (check.name, check.hint) = (name, check.hint.or(advice));
        self.found.push(check);
    }

    /// Puts the checks whose names begin so and that were not made, and why.
    fn put_rest(&mut self, start: &str, why: &str) {
        for name in NAMES.split(' ').filter(|name| name.starts_with(start)) {
            if !self.found.iter().any(|check| check.name == name) {
                self.put(name, not_made(why));
            }
        }
    }

    fn file(&mut self) -> Look {
        let source = file::load(&self.run.file)?;
        let valid = match check(&source) {
            Ok(valid) => valid,
            Err(failure) => {
                // validate shows all of them
                let Some((line, column, message)) = failure.problems.first() else {
                    return Err(failure.into());
                };
                let problems = count(failure.problems.len(), "problem", "problems");
                let file = self.run.file.display();
                let text =
                    format!("{file} has {problems}, the first at {line}:{column}: {message}");
                return wrong(text, "netbird-gitops validate shows all of them");
            }
        };
        let more = match notices::of_file(&valid).count() {
            0 => String::new(),
            number => format!("; validate shows {}", count(number, "notice", "notices")),
        };
        let text = format!("{} is valid{more}", valid.file);
        self.desired = Some(valid.desired);
        Ok(text)
    }

    fn sealing(&self) -> Look {
        let recipients = recipients(&self.args.sealing, BTreeMap::new())?;
        if !recipients.is_empty() {
            recipients.check()?;
            let described = recipients.describe();
            let shown: Vec<String> = described.iter().map(ToString::to_string).collect();
            let number = count(shown.len(), "recipient", "recipients");
            return Ok(format!("{number}: {}", shown.join(", ")));
        }
        let keys = self.desired.iter().flat_map(|desired| desired.setup_keys());
        let unsealed = keys.filter(|(_, key)| !key.enrolled && key.sealed_for.keys.is_empty());
        match unsealed.count() {
            number if number > 0 && self.purpose == Some(Purpose::Apply) => wrong(
                format!(
                    "nobody is named to seal new setup keys for, and the file has {} to create",
                    count(number, "key", "keys")
                ),
                "set AGE_PUBLIC_KEY to the age or SSH public keys of those who may read them, or use -r KEY or -R FILE",
            ),
            _ => open("none: an apply that creates setup keys needs one (AGE_PUBLIC_KEY)"),
        }
    }
}

fn kill_switch(purpose: Option<Purpose>) -> Look {
    match halt() {
        None => Ok("NETBIRD_GITOPS_HALT is not set".into()),
        Some(_) if purpose == Some(Purpose::Plan) => {
            open("NETBIRD_GITOPS_HALT is set; a plan is made all the same")
        }
        Some(value) => wrong(
            format!("NETBIRD_GITOPS_HALT is set ({value}): every apply is refused"),
            "unset NETBIRD_GITOPS_HALT once the reason is gone",
        ),
    }
}

/// Compares the clock of a server with ours: `asked` before, `server` in its answer, which has whole seconds, `now` after.
fn clock(whose: &str, asked: Timestamp, server: Option<Timestamp>, now: Timestamp) -> Look {
    let Some(server) = server.map(Timestamp::as_second) else {
        return open(format!("{whose} does not say what time it is"));
    };
    let (ahead, behind) = (server - now.as_second(), asked.as_second() - server);
    let (secs, where_to) = match ahead > 0 {
        true => (ahead, "ahead of"),
        false => (behind.max(0), "behind"),
    };
    if secs <= 1 {
        return Ok(format!("{whose}'s clock and ours agree"));
    }
    let number = usize::try_from(secs).unwrap_or(usize::MAX);
    let seconds = count(number, "second", "seconds");
    let text = format!("{whose}'s clock is {seconds} {where_to} ours");
    match secs <= CLOCK_SECS {
        true => Ok(text),
        false => wrong(
            text,
            "set both by NTP: by the times in NetBird's ids keys are made again, or have expired",
        ),
    }
}
