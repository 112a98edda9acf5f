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
use crate::commands::setup::doctor::{Check, Purpose};
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
struct Scene<'a> {
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
    let mut scene = Scene {
        run,
        args,
        desired: None,
        told,
    };
    let mut checks = vec![file(&mut scene)];
    let (workflows, via_pr, are_there) = checkout::workflows(&scene);
    let (netbird, known) = netbird::checks(&scene);
    let purpose = told.or_else(|| purpose_of(known.me.as_ref()?));
    checks.extend([sealing(&scene, purpose), kill_switch(purpose)]);
    checks.extend(netbird);
    let forge = gitea::checks(&scene, purpose, via_pr, are_there);
    let inventory = match (gitea::is_closed(&forge), scene.run.file.is_file()) {
        (true, _) => inventory::not_made("the forge cannot be read"),
        (false, false) => inventory::not_made("there is no such file"),
        (false, true) => inventory::checks(&scene, &known),
    };
    checks.extend(forge.into_iter().chain(inventory));
    checks.extend([workflows, checkout::history(&scene)]);
    checks.extend([job::terminal(&scene), job::job(&scene, purpose)]);
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

/// A check that an error made fail.
fn failed(name: &'static str, failure: Failure) -> Check {
    Check {
        hint: failure.hint,
        ..Check::wrong(name, failure.error, "")
    }
}

fn file(scene: &mut Scene) -> Check {
    let name = "file";
    let source = file::load(&scene.run.file).map_err(Failure::from);
    match source.and_then(|source| check(&source)) {
        Ok(valid) => {
            let notices = notices::of_file(&valid).count();
            let more = match notices {
                0 => String::new(),
                _ => format!("; validate tells {}", count(notices, "notice", "notices")),
            };
            let text = format!("{} is valid{more}", valid.file);
            scene.desired = Some(valid.desired);
            Check::right(name, text)
        }
        Err(failure) => match failure.problems.first() {
            None => failed(name, failure),
            // all problems are for validate to tell
            Some((line, column, message)) => {
                let (file, number) = (scene.run.file.display(), failure.problems.len());
                let problems = count(number, "problem", "problems");
                let text =
                    format!("{file} has {problems}, the first at {line}:{column}: {message}");
                Check::wrong(name, text, "netbird-gitops validate tells all of them")
            }
        },
    }
}

fn sealing(scene: &Scene, purpose: Option<Purpose>) -> Check {
    let name = "recipients";
    let recipients = match recipients(&scene.args.sealing, BTreeMap::new()) {
        Ok(recipients) => recipients,
        Err(failure) => return failed(name, failure),
    };
    if recipients.is_empty() {
        let without = |desired: &Arc<Desired>| {
            let keys = desired.setup_keys();
            keys.filter(|(_, key)| !key.enrolled && key.sealed_for.keys.is_empty())
                .count()
        };
        return match scene.desired.as_ref().map_or(0, without) {
            number if number > 0 && purpose == Some(Purpose::Apply) => Check::wrong(
                name,
                format!(
                    "nobody is named to seal new setup keys for, and the file has {} to create",
                    count(number, "key", "keys")
                ),
                "set AGE_PUBLIC_KEY to the age or SSH public keys of those who may read them, or use -r KEY or -R FILE",
            ),
            _ => Check::open(
                name,
                "none is named: an apply that makes setup keys needs one",
            ),
        };
    }
    let described = recipients.describe();
    let shown: Vec<String> = described.iter().map(ToString::to_string).collect();
    match recipients.check() {
        Ok(()) => {
            let number = count(shown.len(), "recipient", "recipients");
            Check::right(name, format!("{number}: {}", shown.join(", ")))
        }
        Err(error) => failed(name, error.into()),
    }
}

fn kill_switch(purpose: Option<Purpose>) -> Check {
    let name = "halt";
    match halt() {
        None => Check::right(name, "NETBIRD_GITOPS_HALT is not set"),
        Some(_) if purpose == Some(Purpose::Plan) => Check::open(
            name,
            "NETBIRD_GITOPS_HALT is set; a plan is made all the same",
        ),
        Some(value) => Check::wrong(
            name,
            format!("NETBIRD_GITOPS_HALT is set ({value}): every apply is refused"),
            "unset NETBIRD_GITOPS_HALT once the reason is gone",
        ),
    }
}

/// Compares the clock of a server with ours: `asked` before, `server` in its answer, which has whole seconds, `now` after.
fn clock(
    name: &'static str,
    whose: &str,
    asked: Timestamp,
    server: Option<Timestamp>,
    now: Timestamp,
) -> Check {
    let Some(server) = server.map(Timestamp::as_second) else {
        return Check::open(name, format!("{whose} does not say what time it is"));
    };
    let (ahead, behind) = (server - now.as_second(), asked.as_second() - server);
    let (secs, where_to) = match ahead > 0 {
        true => (ahead, "ahead of"),
        false => (behind.max(0), "behind"),
    };
    let number = usize::try_from(secs).unwrap_or(usize::MAX);
    let seconds = count(number, "second", "seconds");
    let text = format!("{whose}'s clock is {seconds} {where_to} ours");
    match secs {
        0..=1 => Check::right(name, format!("{whose}'s clock and ours agree")),
        2..=CLOCK_SECS => Check::right(name, text),
        _ => Check::wrong(
            name,
            text,
            "set both by NTP: the times in NetBird's ids tell which keys are made again, and which expired",
        ),
    }
}
