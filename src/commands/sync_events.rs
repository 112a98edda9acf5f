//! `sync-events`: finds peers that enrolled with a declared key, renames them, puts them into their groups, and commits
//! `enrolled: true` for all of them at once.
//!
//! Nothing here depends on when it ran last: it looks at keys, peers and events as they are. An idle run makes one request.

mod said;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use jiff::Timestamp;

use super::aloud::Aloud;
use super::apply::early_gates;
use super::branch::refuse_other_branches;
use super::forge::{Forge, Marked};
use super::history::History;
use super::session::{check, unreadable};
use super::settings::{connect, environment_name, file, readable};
use super::signals::signals;
use super::stop::Stop;
use super::versions::of_netbird;
use super::{annotate, print, report, report_stop};
use crate::actual::Actual;
use crate::api::Api;
use crate::apply::{Conduct, apply, settle_members};
use crate::ci::Context;
use crate::cli::{self, Cli, Format, SyncArgs};
use crate::config;
use crate::desired::{Desired, KeyType};
use crate::enrollment::{self, Detection, Enrollment, sync};
use crate::exit::Exit;
use crate::fetch::{Needs, fetch};
use crate::gates;
use crate::ledger::Ledger;
use crate::logging::Say;
use crate::plan::{Options, Plan};
use crate::render::Status;
use crate::resource::Resource;
use crate::scope::Prune;
use crate::state::{Id, Kind};
use crate::wire;

/// What a run found and did.
#[derive(Default)]
struct Synced {
    /// What was done about each key, by name.
    done: Vec<Done>,
    /// Keys that were left alone, and why.
    left_alone: Vec<(String, String)>,
    /// Peers that came by a key that the file does not declare.
    strangers: Vec<(String, String)>,
    /// What became of the commit.
    commit: Option<String>,
    place: Option<String>,
    /// When the first of these peers enrolled.
    oldest: Option<Timestamp>,
    /// What failed beside single keys, and what to do about it.
    failure: Option<(String, Option<String>)>,
    /// Nothing to look at: no used key that is not marked.
    idle: bool,
    dry_run: bool,
    requests: u64,
}

impl Synced {
    fn fail(&mut self, stop: Stop) {
        let Stop { error, hint, .. } = stop;
        self.failure = match self.failure.take() {
            Some((first, kept)) => Some((format!("{first}\n{error}"), kept.or(hint))),
            None => Some((error, hint)),
        };
    }
}

struct Done {
    enrollment: Enrollment,
    peer_label: String,
    /// What a rename makes of the peer's DNS name, where that can be told.
    dns_label: Option<String>,
    groups_assigned: BTreeSet<String>,
    error: Option<String>,
}

pub(super) fn run(cli: &Cli, args: &SyncArgs, say: Say) -> Exit {
    let mut synced = Synced {
        dry_run: args.dry_run,
        ..Synced::default()
    };
    let (mut exit, stop) = match make(cli, args, &mut synced, say) {
        Ok(exit) => (exit, None),
        Err(stop) => (stop.exit, Some(stop)),
    };
    if let Some(stop) = &stop {
        synced.failure = Some((stop.error.clone(), stop.hint.clone()));
    }
    let json = said::json(&synced);
    if report(cli, &json, say) != Exit::Done {
        // 1 says that nothing changed
        exit = match (exit, synced.done.is_empty() || synced.dry_run) {
            (Exit::Done, true) => Exit::Error,
            (Exit::Done, false) => Exit::Partial,
            (exit, _) => exit,
        };
    }
    match (cli.global.format, &stop) {
        (Format::Json, _) => print(&json),
        (Format::Text | Format::Markdown, None) => print(&said::text(&synced)),
        (Format::Text | Format::Markdown, Some(_)) => {}
    }
    match (stop, &synced.failure) {
        (Some(stop), _) => {
            annotate(&file(&cli.global).display().to_string(), &stop.problems);
            report_stop(say, stop);
        }
        (None, Some((error, hint))) => say.error("error", error, hint.as_deref()),
        (None, None) => {}
    }
    exit
}

fn make(cli: &Cli, args: &SyncArgs, synced: &mut Synced, say: Say) -> Result<Exit, Stop> {
    let path = file(&cli.global);
    let context = Context::of_process();
    if !args.dry_run {
        early_gates("sync-events", &context)?;
        refuse_other_branches("sync-events", &args.gitea, &context, &path)?;
    }
    readable()?;
    let valid = check(&config::load(&path)?)?;
    let api = connect(&args.server, context.is_pull_request_event())?;
    let keys = api.list(Kind::SetupKey.path());
    synced.requests = api.requests();
    if !has_news(&keys?, &valid.desired) {
        synced.idle = true;
        return Ok(Exit::Done);
    }
    // a scheduled run's checkout is that of the last push, so the branch's tip decides
    let forge = Forge::open(&args.gitea, &context, &path)?;
    let valid = match &forge {
        Some(forge) => check(&forge.source()?)?,
        None => {
            let why = Forge::not_configured(&args.gitea, &context);
            say.note(&format!("{why}: nothing is committed"));
            valid
        }
    };
    let snapshot = fetch(&api, &Needs::enrollment(), &valid.desired);
    synced.requests = api.requests();
    let snapshot = snapshot.map_err(|error| of_netbird(&api, error))?;
    if snapshot
        .events
        .as_ref()
        .is_some_and(|events| events.len() >= EVENTS_KEPT)
    {
        say.note("NetBird keeps the newest 10,000 events: older enrollments are told by the times of key and peer");
    }
    let actual = Actual::read(&snapshot).map_err(unreadable)?;
    if let Some(refusal) = actual.me.as_ref().and_then(gates::reads_only)
        && !args.dry_run
    {
        return Err(
            Stop::refused(format!("{}; nothing was changed", refusal.text)).hint(refusal.hint),
        );
    }
    let ledger = ledger(&path, &context, &valid.desired, &actual)?;
    let options = Options::of_enrollment(ledger, Timestamp::now());
    let Detection {
        enrollments,
        left_alone,
    } = enrollment::detect(&valid.desired, &actual, &options);
    if !options.ledger.is_known() && !enrollments.is_empty() {
        say.note("no git history tells when the file declared these keys: they are told by their names alone");
    }
    let waits = |enrollment: &Enrollment| sync::waits_for(enrollment, &actual);
    let waiting = enrollments
        .iter()
        .filter_map(|at| Some((at.key.clone(), waits(at)?)));
    synced.left_alone = left_alone
        .into_iter()
        .map(|left| (left.key, left.why))
        .chain(waiting)
        .collect();
    let enrollments: Vec<Enrollment> = enrollments
        .into_iter()
        .filter(|enrollment| waits(enrollment).is_none())
        .collect();
    if actual.events_known {
        let strangers = enrollment::strangers(&valid.desired, &actual);
        synced.strangers = strangers
            .into_iter()
            .map(|(peer, key)| (actual.peer_label(&peer), key))
            .collect();
    }
    let peers = enrollments
        .iter()
        .filter_map(|enrollment| actual.peers.get(&enrollment.peer));
    synced.oldest = peers.filter_map(|peer| peer.created_at).min();
    let plan = sync::plan(&enrollments, &actual);
    let mut labels: BTreeMap<Id, String> = enrollment::relabelled(&enrollments, &actual)
        .into_iter()
        .filter_map(|(peer, label)| Some((peer, label.after?)))
        .collect();
    let statuses = match args.dry_run {
        true => vec![Status::Success; plan.changes.len()],
        false => carry_out(&api, &plan, &actual, &mut labels, synced, say),
    };
    synced.requests = api.requests();
    synced.done = done(enrollments, &plan, &statuses, &labels, &actual);

    let ready = synced.done.iter().filter(|done| done.error.is_none());
    let ready: BTreeSet<String> = ready.map(|done| done.enrollment.key.clone()).collect();
    if let Some(forge) = &forge
        && !ready.is_empty()
        && !args.dry_run
        && !args.no_commit
    {
        match forge.mark(&ready, args.via_pr, &environment_name(&cli.global)) {
            Ok(Marked {
                text,
                place,
                edit: _,
            }) => {
                synced.commit = Some(text);
                synced.place = place;
            }
            // peers and groups are done; the flags are found missing again by the next run
            Err(stop) => synced.fail(Stop {
                error: format!("not committed: {}", stop.error),
                ..stop
            }),
        }
    }
    // on a laptop somebody reads the text; a job's green run says that all is done
    if forge.is_none() && context.is_ci && !args.no_commit && !args.dry_run && !ready.is_empty() {
        let why = Forge::not_configured(&args.gitea, &context);
        synced.fail(Stop::error(format!("not committed: {why}")).hint(
            "set GITEA_TOKEN from the secret BOT_TOKEN (docs/gitea.md, step 4), or say --no-commit where something else \
             commits",
        ));
    }
    let failed = synced.done.iter().any(|done| done.error.is_some());
    Ok(match failed || synced.failure.is_some() {
        true => Exit::Partial,
        false => Exit::Done,
    })
}

/// The history that tells which keys are the file's; none where the checkout has none, or is older than the file: a key
/// that its newest version does not declare would be taken for somebody else's.
fn ledger(
    path: &Path,
    context: &Context,
    desired: &Desired,
    actual: &Actual,
) -> Result<Arc<Ledger>, Stop> {
    // nothing is deleted here, so a shallow checkout is none
    let History { ledger, .. } =
        History::read(path, &cli::History::default(), Prune::None, context)?;
    let is_known = |name: &String| ledger.is_declared(Kind::SetupKey, name);
    let mut used = desired.setup_keys().map(|(name, _)| name);
    let is_old = used.any(|name| actual.keys_named(name).next().is_some() && !is_known(name));
    Ok(match is_old {
        true => Arc::default(),
        false => ledger,
    })
}

/// How many events the server keeps (netbird-api.md §12).
const EVENTS_KEPT: usize = 10_000;

/// Whether a used one-off key is declared and not marked.
fn has_news(keys: &[serde_json::Value], desired: &Desired) -> bool {
    let keys = keys
        .iter()
        .filter_map(|key| serde_json::from_value::<wire::SetupKey>(key.clone()).ok());
    keys.into_iter().any(|key| {
        key.key_type == KeyType::OneOff
            && key.used_times > 0
            && enrollment::is_enrollable(desired, &key.name)
    })
}

/// Renames and groups, each peer for itself; whoever joined a group meanwhile stays in it.
fn carry_out(
    api: &Api,
    plan: &Plan,
    actual: &Actual,
    labels: &mut BTreeMap<Id, String>,
    synced: &mut Synced,
    say: Say,
) -> Vec<Status> {
    let stop = signals();
    let conduct = Conduct {
        custody: None,
        keep_going: true,
        stop: &stop,
        fresh: &|| Ok(()),
        puts_back: true,
    };
    let mut observer = Aloud::new(say);
    let mut applied = apply(api, plan, actual, conduct, &mut observer);
    if let Err(error) = settle_members(api, actual, &mut applied, &mut observer) {
        // what was done is done, and is committed
        synced.fail(error.into());
    }
    // what was predicted gives way to what the server answered
    labels.clone_from(&applied.dns_labels);
    applied.statuses
}

/// What was done about each key: a failed change is that of every key that it was for.
fn done(
    enrollments: Vec<Enrollment>,
    plan: &Plan,
    statuses: &[Status],
    labels: &BTreeMap<Id, String>,
    actual: &Actual,
) -> Vec<Done> {
    let error_of = |enrollment: &Enrollment| {
        plan.changes
            .iter()
            .zip(statuses)
            .find_map(|(change, status)| {
                let concerns = match change.operation.after() {
                    Some(Resource::Group(_)) => change.added_members().contains(&enrollment.peer),
                    _ => change
                        .operation
                        .live()
                        .is_some_and(|live| live.id == enrollment.peer),
                };
                match status {
                    Status::Failed(error) | Status::Unknown(error) if concerns => {
                        Some(format!("{}: {error}", change.address))
                    }
                    Status::Skipped if concerns => Some(format!("{}: not tried", change.address)),
                    _ => None,
                }
            })
    };
    let assigned = |enrollment: &Enrollment| {
        let groups = plan
            .changes
            .iter()
            .filter(|change| change.added_members().contains(&enrollment.peer));
        groups.map(|change| change.address.name.clone()).collect()
    };
    enrollments
        .into_iter()
        .map(|enrollment| Done {
            peer_label: actual.peer_label(&enrollment.peer),
            dns_label: labels.get(&enrollment.peer).cloned(),
            groups_assigned: assigned(&enrollment),
            error: error_of(&enrollment),
            enrollment,
        })
        .collect()
}

/// Names of the file for `--from`.
pub(super) fn names_in(text: &str) -> Vec<String> {
    let json: Option<serde_json::Value> = serde_json::from_str(text).ok();
    match json
        .as_ref()
        .and_then(|json| json["enrollments"].as_array())
    {
        Some(entries) => {
            let done = entries.iter().filter(|entry| entry["error"].is_null());
            done.filter_map(|entry| Some(entry["setup_key_name"].as_str()?.to_owned()))
                .collect()
        }
        None => text
            .lines()
            .map(str::trim)
            .filter(|line| !line.is_empty())
            .map(str::to_owned)
            .collect(),
    }
}

/// Reads names from a file, or from stdin where it is `-`.
pub(super) fn read_names(path: &Path) -> Result<Vec<String>, Stop> {
    let text = match path == Path::new("-") {
        true => std::io::read_to_string(std::io::stdin()),
        false => std::fs::read_to_string(path),
    };
    let text =
        text.map_err(|error| Stop::error(format!("cannot read {}: {error}", path.display())))?;
    Ok(names_in(&text))
}
