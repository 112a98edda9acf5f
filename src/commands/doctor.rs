//! `doctor`: is this set-up right? Asks the servers, the checkout and the job, and changes nothing.
//!
//! The checks come in the order in which a run meets them. Each part goes on after one that failed; what depends on a
//! failed check is not told.

mod checkout;
mod gitea;
mod inventory;
mod job;
mod netbird;
mod rights;

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::json;

use super::failure::Failure;
use super::session::{check, notices};
use super::settings::{Run, halt, readable, recipients};
use super::{Ending, end};
use crate::base::text::count;
use crate::commands::cli::DoctorArgs;
use crate::commands::exit::Exit;
use crate::commands::setup::doctor::render;
use crate::commands::setup::doctor::{Check, Look, NotRight, Purpose, open, wrong};
use crate::file;
use crate::model::desired::Desired;
use crate::plan::gates;
use crate::wire::api::objects::User;

/// The largest difference of two clocks that is taken for none, in seconds: the times in ids are compared with those in the
/// file.
const CLOCK_SECS: i64 = 10;

pub(super) fn run(run: &Run, args: &DoctorArgs) -> Exit {
    if let Err(failure) = readable() {
        return end(run, Ending::stopped(failure, json!({})));
    }
    let (checks, purpose) = checks(run, args);
    let exit = match checks.iter().any(Check::failed) {
        true => Exit::Error,
        false => Exit::Done,
    };
    let ending = Ending {
        exit,
        ..Ending::shown(render::json(&checks), render::tree(&checks, purpose))
    };
    end(run, ending)
}

/// What all checks look at.
struct Subject<'a> {
    run: &'a Run<'a>,
    args: &'a DoctorArgs,
    /// What the file asks for, where it is valid.
    desired: Option<Arc<Desired>>,
    /// What the set-up is for, where flags or the job tell.
    told: Option<Purpose>,
}

/// Returns the checks, and what the set-up was checked for.
fn checks(run: &Run, args: &DoctorArgs) -> (Vec<Check>, Option<Purpose>) {
    let context = &run.context;
    let told = match args.purpose {
        None if context.is_pull_request_event() => Some(Purpose::Plan),
        None if context.is_ci => Some(Purpose::Apply),
        told => told,
    };
    let mut scene = Subject {
        run,
        args,
        desired: None,
        told,
    };
    let mut checks = vec![Check::of("file", file(&mut scene))];
    let (workflows, via_pr, are_there) = checkout::workflows(&scene);
    let (netbird, known) = netbird::checks(&scene);
    let purpose = told.or_else(|| purpose_of(known.me.as_ref()?));
    checks.push(Check::of("recipients", sealing(&scene, purpose)));
    checks.push(Check::of("halt", kill_switch(purpose)));
    checks.extend(netbird);
    let forge = gitea::checks(&scene, purpose, via_pr, are_there);
    let inventory = match (gitea::is_closed(&forge), scene.run.file.is_file()) {
        (true, _) => inventory::none("the forge cannot be read"),
        (false, false) => inventory::none("there is no such file"),
        (false, true) => inventory::checks(&scene, &known),
    };
    checks.extend(forge.into_iter().chain(inventory));
    let rest = [
        ("workflows", workflows),
        ("git_history", checkout::history(&scene)),
        ("terminal", job::terminal(&scene)),
        ("job", job::job(&scene, purpose)),
    ];
    checks.extend(rest.map(|(name, look)| Check::of(name, look)));
    (checks, purpose)
}

/// Without a job and a flag: what the token can do.
fn purpose_of(me: &User) -> Option<Purpose> {
    match gates::reads_only(me) {
        _ if me.role.is_empty() => None,
        Some(_) => Some(Purpose::Plan),
        None => Some(Purpose::Apply),
    }
}

impl<E: Into<Failure>> From<E> for NotRight {
    fn from(error: E) -> Self {
        let Failure { error, hint, .. } = error.into();
        NotRight::Wrong(error, hint)
    }
}

fn file(scene: &mut Subject) -> Look {
    let source = file::load(&scene.run.file)?;
    let valid = match check(&source) {
        Ok(valid) => valid,
        Err(failure) => {
            // all problems are for validate to tell
            let Some((line, column, message)) = failure.problems.first() else {
                return Err(failure.into());
            };
            let problems = count(failure.problems.len(), "problem", "problems");
            let file = scene.run.file.display();
            let text = format!("{file} has {problems}, the first at {line}:{column}: {message}");
            return wrong(text, "netbird-gitops validate shows all of them");
        }
    };
    let more = match notices::of_file(&valid).count() {
        0 => String::new(),
        number => format!("; validate shows {}", count(number, "notice", "notices")),
    };
    let text = format!("{} is valid{more}", valid.file);
    scene.desired = Some(valid.desired);
    Ok(text)
}

fn sealing(scene: &Subject, purpose: Option<Purpose>) -> Look {
    let recipients = recipients(&scene.args.sealing, BTreeMap::new())?;
    if recipients.is_empty() {
        let without = |desired: &Arc<Desired>| {
            let keys = desired.setup_keys();
            keys.filter(|(_, key)| !key.enrolled && key.sealed_for.keys.is_empty())
                .count()
        };
        let number = scene.desired.as_ref().map_or(0, without);
        if number == 0 || purpose != Some(Purpose::Apply) {
            return open("none is named: an apply that makes setup keys needs one");
        }
        let keys = count(number, "key", "keys");
        return wrong(
            format!(
                "nobody is named to seal new setup keys for, and the file has {keys} to create"
            ),
            "set AGE_PUBLIC_KEY to the age or SSH public keys of those who may read them, or use -r KEY or -R FILE",
        );
    }
    recipients.check()?;
    let described = recipients.describe();
    let shown: Vec<String> = described.iter().map(ToString::to_string).collect();
    let number = count(shown.len(), "recipient", "recipients");
    Ok(format!("{number}: {}", shown.join(", ")))
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
            "set both by NTP: the times in NetBird's ids tell which keys are made again, and which expired",
        ),
    }
}
