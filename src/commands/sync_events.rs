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
use super::{print, report_stop, write_report};
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
    /// Nothing to look at: no used key that is not marked.
    idle: bool,
    dry_run: bool,
    requests: u64,
}

struct Done {
    enrollment: Enrollment,
    peer_label: String,
    groups_assigned: BTreeSet<String>,
    error: Option<String>,
}

pub(super) fn run(cli: &Cli, args: &SyncArgs, say: Say) -> Exit {
    match make(cli, args, say) {
        Ok((synced, exit)) => {
            let json = json(&synced);
            if let Some(path) = &cli.global.report
                && let Err(error) = write_report(path, &json)
            {
                say.error(
                    "error",
                    &format!("cannot write the report {}: {error}", path.display()),
                    None,
                );
            }
            match cli.global.format {
                Format::Json => print(&json),
                Format::Text | Format::Markdown => print(&text(&synced)),
            }
            exit
        }
        Err(stop) => report_stop(say, stop),
    }
}

fn make(cli: &Cli, args: &SyncArgs, say: Say) -> Result<(Synced, Exit), Stop> {
    let path = file(&cli.global);
    let valid = check(&config::load(&path)?)?;
    let api = connect(&args.server, false)?;
    let mut synced = Synced {
        dry_run: args.dry_run,
        ..Synced::default()
    };
    let keys = api.list(Kind::SetupKey.path())?;
    if !has_news(&keys, &valid.desired) {
        synced.idle = true;
        synced.requests = api.requests();
        return Ok((synced, Exit::Done));
    }
    // a scheduled run's checkout is that of the last push, so the branch's tip decides
    let forge = Forge::open(&args.gitea, &Context::of_process(), &path)?;
    let valid = match &forge {
        Some(forge) => check(&forge.source()?)?,
        None => {
            say.note("Gitea is not configured (GITEA_URL, GITEA_REPO, GITEA_TOKEN): nothing is committed");
            valid
        }
    };
    let snapshot = fetch(&api, &Needs::enrollment(), &valid.desired)?;
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
    let plan = sync::plan(&enrollments, &actual);
    let statuses = match args.dry_run {
        true => vec![Status::Success; plan.changes.len()],
        false => carry_out(&api, &plan, &actual, say)?,
    };
    synced.done = done(enrollments, &plan, &statuses, &actual);
    let failed = synced.done.iter().any(|done| done.error.is_some());
    let mut exit = if failed { Exit::Partial } else { Exit::Done };

    let ready = synced.done.iter().filter(|done| done.error.is_none());
    let ready: BTreeSet<String> = ready.map(|done| done.enrollment.key.clone()).collect();
    if !ready.is_empty() && !args.dry_run && !args.no_commit {
        if let Some(forge) = &forge {
            match forge.mark(&ready, args.via_pr, &environment_name(&cli.global)) {
                Ok(Marked {
                    text,
                    place,
                    edit: _,
                }) => {
                    synced.commit = Some(text);
                    synced.place = place;
                }
                Err(Stop { error, hint, .. }) => {
                    // peers and groups are done; the flags are found missing again by the next run
                    say.error("error", &format!("not committed: {error}"), hint.as_deref());
                    exit = Exit::Partial;
                }
            }
        }
    }
    synced.requests = api.requests();
    Ok((synced, exit))
}

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
fn carry_out(api: &Api, plan: &Plan, actual: &Actual, say: Say) -> Result<Vec<Status>, Stop> {
    let stop = signals();
    let conduct = Conduct {
        custody: None,
        keep_going: true,
        stop: &stop,
        fresh: &|| Ok(()),
    };
    let mut observer = Aloud::new(say);
    let mut applied = apply(api, plan, actual, conduct, &mut observer);
    settle_members(api, actual, &mut applied, &mut observer)?;
    Ok(applied.statuses)
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
            groups_assigned: assigned(&enrollment),
            error: error_of(&enrollment),
            enrollment,
        })
        .collect()
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
        groups_assigned,
        error,
    } in &synced.done
    {
        let mut parts = Vec::new();
        parts.push(match &enrollment.renamed_from {
            Some(old) => format!("peer {old:?} {verb} renamed to it"),
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
    let result = json!({
        "format_version": 1,
        "enrollments": enrollments.collect::<Vec<_>>(),
        "left_alone": left_alone,
        "undeclared": strangers,
        "commit": synced.commit,
        "commit_place": synced.place,
        "dry_run": synced.dry_run,
        "requests": synced.requests,
    });
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
