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

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;

use super::cli::{DoctorArgs, Purpose};
use super::session::notices;
use super::{Ending, Exit, Result, Run, halt, readable, recipients};
use crate::base::{count, joined};
use crate::check::validate::validate;
use crate::file;
use crate::model::{Desired, Kind};
use crate::wire::api::Api;
use crate::wire::api::objects::{SetupKey, User};
use found::{Check, Look, not_made, open, wrong};

/// The names of the checks, in the order in which a run meets them. They are the same in every version.
const NAMES: &str = "file recipients halt \
    netbird_url netbird_token netbird_role netbird_token_life netbird_account netbird_version netbird_clock netbird_rate_limit \
    gitea_url gitea_token gitea_version gitea_scopes gitea_repository gitea_push gitea_branch_rule gitea_comment \
    gitea_inventory_branch gitea_inventory_push inventory inventory_key_copies workflows git_history terminal job";

/// The largest difference of two clocks that is taken for none, in seconds: the times in ids are compared with those in the
/// file.
const CLOCK_SECS: i64 = 10;

pub(super) fn run(run: &Run, args: &DoctorArgs) -> Result<Ending> {
    readable()?;
    let context = &run.context;
    let named = match args.purpose {
        None if context.is_pull_request_event() => Some(Purpose::Plan),
        None if context.is_ci => Some(Purpose::Apply),
        named => named,
    };
    let mut doctor = Doctor {
        run,
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
    let tree = found::tree(&found, purpose);
    let mut ending = Ending::shown(run, found::json(&found), &tree);
    if found.iter().any(Check::failed) {
        ending.exit = Exit::Error;
    }
    Ok(ending)
}

/// Why something is not looked at in the job of a pull request from a fork.
const OF_FORK: &str = "a pull request from a fork has no secrets; examples/workflows/plan-forks.yml takes the place of plan.yml \
                       where authors work in forks";

/// What all checks look at, and what they found.
struct Doctor<'a> {
    run: &'a Run<'a>,
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

    fn put(&mut self, name: &'static str, look: Look) {
        self.put_advised(name, look, None);
    }

    /// Puts a check, with what to do also where it is not wrong.
    fn put_advised(&mut self, name: &'static str, look: Look, advice: Option<String>) {
        let right = |text| Check::new(Some(true), text, None);
        let mut check = look.map_or_else(|check| check, right);
        debug_assert!(NAMES.split(' ').any(|known| known == name), "{name}");
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
        let valid = match validate(&source) {
            Ok(valid) => valid,
            Err(problems) => {
                let found: Vec<_> = problems.errors().collect();
                let number = count(found.len(), "problem", "problems");
                let file = self.run.file.display();
                let first = found.first().map(|it| {
                    let (place, message) = (&it.place, &it.message);
                    format!("{}:{}: {message}", place.line, place.column)
                });
                let first = first.unwrap_or_default();
                let text = format!("{file} has {number}, the first at {first}");
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
        let recipients = recipients(self.run, BTreeMap::new())?;
        if !recipients.is_empty() {
            recipients.check()?;
            let described = recipients.describe();
            let number = count(described.len(), "recipient", "recipients");
            return Ok(format!("{number}: {}", joined(described, ", ")));
        }
        // a key of many uses is never marked as enrolled
        let there = self.api.as_ref();
        let there = there.and_then(|api| api.list(Kind::SetupKey.path()).ok());
        let there = there.into_iter().flatten();
        let there = there.filter_map(|key| Some(key.read::<SetupKey>().ok()?.name));
        let there: BTreeSet<String> = there.collect();
        let keys = self.desired.iter().flat_map(|desired| desired.setup_keys());
        let unsealed = keys.filter(|(name, key)| {
            !key.enrolled && key.sealed_for.keys.is_empty() && !there.contains(*name)
        });
        let number = unsealed.count();
        if number == 0 || self.purpose != Some(Purpose::Apply) {
            return open("none: an apply that creates setup keys needs one (AGE_PUBLIC_KEY)");
        }
        let keys = count(number, "setup key", "setup keys");
        wrong(
            format!("no recipient is set, and the file has {keys} to create"),
            "set AGE_PUBLIC_KEY to the age or SSH public keys of those who may open new setup keys, or use -r KEY or -R FILE",
        )
    }
}

fn kill_switch(purpose: Option<Purpose>) -> Look {
    let Some(value) = halt() else {
        return Ok("NETBIRD_GITOPS_HALT is not set".into());
    };
    let text = format!("NETBIRD_GITOPS_HALT is set ({value}): every apply is refused");
    match purpose {
        Some(Purpose::Plan) => open("NETBIRD_GITOPS_HALT is set; it does not stop a plan"),
        _ => wrong(text, "unset NETBIRD_GITOPS_HALT once the reason is gone"),
    }
}

/// Compares the clock of a server with ours: `asked` before, `server` in its answer, which has whole seconds, `now` after.
fn clock(whose: &str, asked: Timestamp, server: Option<Timestamp>, now: Timestamp) -> Look {
    let Some(server) = server.map(Timestamp::as_second) else {
        return open(format!("{whose} does not say what time it is"));
    };
    let ahead = server - now.as_second();
    let secs = ahead.max(asked.as_second() - server);
    let number = usize::try_from(secs).unwrap_or_default();
    let seconds = count(number, "second", "seconds");
    let which = if ahead > 0 { "ahead of" } else { "behind" };
    let text = format!("{whose}'s clock is {seconds} {which} ours");
    let hint = "synchronise both clocks (NTP): the times in NetBird's ids tell which keys are expired or replaced";
    match secs {
        i64::MIN..=1 => Ok(format!("{whose}'s clock and ours agree")),
        2..=CLOCK_SECS => Ok(text),
        _ => wrong(text, hint),
    }
}
