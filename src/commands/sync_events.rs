//! `sync-events`: finds peers that enrolled with a declared key, renames them, puts them into their groups, and commits
//! `enrolled: true` for all of them at once.
//!
//! Nothing here depends on when it ran last: it looks at keys, peers and events as they are. An idle run makes one request.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use jiff::Timestamp;
use serde_json::json;

use super::apply::{Aloud, signals};
use super::forge::{Forge, Marked};
use super::session::{check, unreadable};
use super::settings::{connect, environment_name, file};
use super::stop::Stop;
use super::{annotate, print, report, report_stop};
use crate::actual::Actual;
use crate::api::Api;
use crate::apply::{Conduct, apply, settle_members};
use crate::ci::Context;
use crate::cli::{Cli, Format, SyncArgs};
use crate::config;
use crate::desired::{Desired, KeyType};
use crate::enrollment::{self, Detection, Enrollment, sync};
use crate::exit::Exit;
use crate::fetch::{Needs, fetch};
use crate::logging::Say;
use crate::plan::Plan;
use crate::render::Status;
use crate::resource::Resource;
use crate::state::Kind;
use crate::text::{count, visible};
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
    let json = json(&synced);
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
        (Format::Text | Format::Markdown, None) => print(&text(&synced)),
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
    let valid = check(&config::load(&path)?)?;
    let api = connect(&args.server, false)?;
    let keys = api.list(Kind::SetupKey.path());
    synced.requests = api.requests();
    if !has_news(&keys?, &valid.desired) {
        synced.idle = true;
        return Ok(Exit::Done);
    }
    // a scheduled run's checkout is that of the last push, so the branch's tip decides
    let context = Context::of_process();
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
    let snapshot = snapshot?;
    if snapshot
        .events
        .as_ref()
        .is_some_and(|events| events.len() >= EVENTS_KEPT)
    {
        say.note("NetBird keeps the newest 10,000 events: older enrollments are told by the times of key and peer");
    }
    let actual = Actual::read(&snapshot).map_err(unreadable)?;
    let Detection {
        enrollments,
        left_alone,
    } = enrollment::detect(&valid.desired, &actual, Timestamp::now(), &BTreeSet::new());
    synced.left_alone = left_alone
        .into_iter()
        .map(|left| (left.key, left.why))
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
    let statuses = match args.dry_run {
        true => vec![Status::Success; plan.changes.len()],
        false => carry_out(&api, &plan, &actual, synced, say),
    };
    synced.requests = api.requests();
    synced.done = done(enrollments, &plan, &statuses, &actual);

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
    let failed = synced.done.iter().any(|done| done.error.is_some());
    Ok(match failed || synced.failure.is_some() {
        true => Exit::Partial,
        false => Exit::Done,
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
    synced: &mut Synced,
    say: Say,
) -> Vec<Status> {
    let stop = signals();
    let conduct = Conduct {
        custody: None,
        keep_going: true,
        stop: &stop,
        fresh: &|| Ok(()),
    };
    let mut observer = Aloud::new(say);
    let mut applied = apply(api, plan, actual, conduct, &mut observer);
    if let Err(error) = settle_members(api, actual, &mut applied, &mut observer) {
        // what was done is done, and is committed
        synced.fail(error.into());
    }
    applied.statuses
}

/// What was done about each key: a failed change is that of every key that it was for.
fn done(
    enrollments: Vec<Enrollment>,
    plan: &Plan,
    statuses: &[Status],
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
                    Status::Failed(error) if concerns => {
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
            dns_label: dns_label(&enrollment, actual),
            groups_assigned: assigned(&enrollment),
            error: error_of(&enrollment),
            enrollment,
        })
        .collect()
}

/// The DNS label that a rename gives.
fn dns_label(enrollment: &Enrollment, actual: &Actual) -> Option<String> {
    enrollment.renamed_from.as_ref()?;
    let peer = actual.peers.get(&enrollment.peer)?;
    enrollment::dns_label(&enrollment.key, peer, actual.peers.values())
}

fn text(synced: &Synced) -> String {
    if synced.idle {
        return "Nothing enrolled since: every used key is marked.\n".into();
    }
    let mut out = String::new();
    let verb = if synced.dry_run { "would be" } else { "is" };
    for Done {
        enrollment,
        peer_label,
        dns_label,
        groups_assigned,
        error,
    } in &synced.done
    {
        let mut parts = Vec::new();
        let label = dns_label
            .iter()
            .map(|label| format!(" (DNS label {label})"));
        parts.push(match &enrollment.renamed_from {
            Some(old) => format!(
                "peer {old:?} {verb} renamed to it{}",
                label.collect::<String>()
            ),
            None => format!("peer {peer_label:?} bears its name"),
        });
        if !groups_assigned.is_empty() {
            let groups: Vec<&str> = groups_assigned.iter().map(String::as_str).collect();
            parts.push(format!("{verb} put into {}", groups.join(", ")));
        }
        if !enrollment.by_event {
            parts.push("told by the times of key and peer, since the event is gone".into());
        }
        if let Some(error) = error {
            parts.push(format!("FAILED: {error}"));
        }
        out.push_str(&visible(&format!(
            "setup key {}: {}",
            enrollment.key,
            parts.join("; ")
        )));
        out.push('\n');
    }
    for (key, why) in &synced.left_alone {
        out.push_str(&visible(&format!("setup key {key} {why}: left alone")));
        out.push('\n');
    }
    for (peer, key) in &synced.strangers {
        out.push_str(&visible(&format!(
            "note: peer {peer:?} enrolled with {key:?}, which the file does not declare"
        )));
        out.push('\n');
    }
    let age = synced
        .oldest
        .map(|oldest| Timestamp::now().as_second() - oldest.as_second());
    if let Some(days) = age.map(|secs| secs / 86_400).filter(|days| *days > 0) {
        let days = count(usize::try_from(days).unwrap_or_default(), "day", "days");
        out.push_str(&format!("The oldest of these enrolled {days} ago.\n"));
    }
    let marked = synced
        .done
        .iter()
        .filter(|done| done.error.is_none())
        .count();
    out.push_str(&match (&synced.commit, marked) {
        (Some(commit), _) => format!(
            "{} marked enrolled: {}.\n",
            count(marked, "key", "keys"),
            visible(commit)
        ),
        (None, 0) => "Nothing to mark.\n".into(),
        (None, _) if synced.dry_run => format!(
            "{} would be marked enrolled.\n",
            count(marked, "key", "keys")
        ),
        (None, _) => format!(
            "{} not marked: nothing was committed.\n",
            count(marked, "key", "keys")
        ),
    });
    out
}

fn json(synced: &Synced) -> String {
    let enrollments = synced.done.iter().map(|done| {
        let mut entry = json!({
            "setup_key_name": done.enrollment.key,
            "peer_id": done.enrollment.peer,
            "renamed": done.enrollment.renamed_from.is_some(),
            "groups_assigned": done.groups_assigned,
            "renamed_from": done.enrollment.renamed_from,
            "dns_label": done.dns_label,
            "proof": if done.enrollment.by_event { "event" } else { "time" },
        });
        if let Some(error) = &done.error {
            entry["error"] = json!(error);
        }
        entry
    });
    let left_alone: Vec<_> = synced
        .left_alone
        .iter()
        .map(|(key, why)| json!({ "setup_key_name": key, "reason": why }))
        .collect();
    let strangers: BTreeMap<_, _> = synced.strangers.iter().cloned().collect();
    let mut result = json!({
        "format_version": 1,
        "enrollments": enrollments.collect::<Vec<_>>(),
        "left_alone": left_alone,
        "undeclared": strangers,
        "commit": synced.commit,
        "commit_place": synced.place,
        "dry_run": synced.dry_run,
        "requests": synced.requests,
    });
    if let Some((message, hint)) = &synced.failure {
        result["error"] = json!({ "message": message, "hint": hint });
    }
    format!("{result:#}\n")
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
