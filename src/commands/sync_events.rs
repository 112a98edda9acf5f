//! `sync-events`: finds peers that enrolled with a declared key, renames them, puts them into their groups, and commits
//! `enrolled: true` for all of them at once.
//!
//! Nothing here depends on when it ran last: it looks at keys, peers and events as they are. An idle run makes one request. One
//! that finds news reads the inventory, which says which keys are the file's, and writes down who came by them.

mod done;
mod output;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;

use super::apply::early_gates;
use super::branch::refuse_other_branches;
use super::failure::Failure;
use super::forge::Forge;
use super::history::History;
use super::inventory::{InventoryPlace, InventoryWanted};
use super::progress::Announcer;
use super::session::notices::of_token;
use super::session::{check, unreadable};
use super::settings::{Run, connect, readable, setting};
use super::signals::signals;
use super::versions::of_netbird;
use super::{Ending, end};
use crate::account::actual::Actual;
use crate::account::fetch::{Needs, fetch};
use crate::apply::{Conduct, NotRecorded, Recorder, apply, settle_members};
use crate::base::entry::Entry;
use crate::base::id::Id;
use crate::base::text::visible;
use crate::commands::cli::SyncArgs;
use crate::commands::exit::Exit;
use crate::commands::logging::Say;
use crate::file;
use crate::forge::gitea::mark::Marked;
use crate::git::versions::Versions;
use crate::inventory::Inventory;
use crate::model::desired::Desired;
use crate::model::kind::Kind;
use crate::model::notice::{Notice, Open, Remark};
use crate::plan::enrollment::{self, Enrollment, sync};
use crate::plan::gates;
use crate::plan::keys;
use crate::plan::options::Options;
use crate::plan::ours::{Ours, Standing};
use crate::plan::{self, Plan};
use crate::render::Status;
use crate::wire::api::Api;
use crate::wire::api::objects;
use done::{Done, done};

/// Where a file stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MarkedAt {
    Checkout,
    Branch,
}

/// What a run found and did.
#[derive(Default)]
struct Synced {
    /// What was done about each key, by name.
    done: Vec<Done>,
    /// Used keys about which nothing was done, and why.
    open: Vec<(String, Open)>,
    /// What else is to be known of a key.
    remarks: Vec<(String, Remark)>,
    /// What else is to be known, such as what others did meanwhile; it was said when it was found.
    notices: Vec<Notice>,
    /// Peers that came by a key that the file does not declare.
    undeclared: Vec<(String, String)>,
    /// What became of the commit, where one was tried.
    marked: Option<Marked>,
    /// When the first of these peers enrolled.
    oldest: Option<Timestamp>,
    /// What failed beside single keys.
    failure: Option<Failure>,
    /// Where every used key of the file is marked already, so that there is nothing to look at.
    idle: Option<MarkedAt>,
    dry_run: bool,
    requests: u64,
}

impl Synced {
    fn fail(&mut self, failure: Failure) {
        self.failure = Some(match self.failure.take() {
            Some(first) => Failure {
                error: format!("{}\n{}", first.error, failure.error),
                hint: first.hint.or(failure.hint),
                ..failure
            },
            None => failure,
        });
    }
}

pub(super) fn run(run: &Run, args: &SyncArgs) -> Exit {
    let say = run.say;
    let mut synced = Synced {
        dry_run: args.dry_run,
        ..Synced::default()
    };
    let came_to = make(run, args, &mut synced, say);
    let text = match &came_to {
        Ok(_) => output::text(&synced),
        Err(_) => String::new(),
    };
    let (exit, failure) = match came_to {
        Ok(exit) => (exit, synced.failure.take()),
        Err(failure) => (failure.exit, Some(failure)),
    };
    let ending = Ending {
        exit,
        changed: !synced.done.is_empty() && !synced.dry_run,
        failure,
        ..Ending::answer(output::json(&synced), text)
    };
    let exit = end(run, ending);
    if let Some(marked) = synced.marked.as_ref().filter(|marked| marked.waits()) {
        say.progress(&marked.text);
    }
    for done in &synced.done {
        if let Some(error) = &done.error {
            let text = format!("setup key {}: {error}", done.enrollment.key);
            say.error("error", &visible(&text), None);
        }
    }
    exit
}

fn make(run: &Run, args: &SyncArgs, synced: &mut Synced, say: Say) -> Result<Exit, Failure> {
    let path = &run.file;
    let context = &run.context;
    if !args.dry_run {
        early_gates("sync-events", context)?;
        refuse_other_branches("sync-events", run, &args.servers.gitea)?;
    }
    readable()?;
    let valid = check(&file::load(path)?)?;
    let api = connect(&args.servers.server, context.is_pull_request_event())?;
    let keys = api.list(Kind::SetupKey.path());
    synced.requests = api.requests();
    let used = used_keys(&keys?);
    let is_marked = |name: &String| {
        let declared = valid.desired.setup_key(name);
        declared.is_some_and(|key| key.enrolled)
    };
    // a scheduled run's checkout is that of the last push, so the branch's tip decides; with nothing to mark either way
    // nobody is asked, but about a pull request that may have become superfluous
    let proposes = args.via_pr && !args.dry_run && !args.no_commit;
    synced.idle = used.iter().all(is_marked).then_some(MarkedAt::Checkout);
    if synced.idle.is_some() && !proposes {
        return Ok(Exit::Done);
    }
    let forge = Forge::open(run, &args.servers.gitea)?;
    let valid = match &forge {
        Some(forge) => check(&forge.source()?)?,
        None => valid,
    };
    let waits = used
        .iter()
        .any(|name| valid.desired.awaits_enrollment(name));
    synced.idle = match (waits, &forge, synced.idle) {
        (true, ..) => None,
        (false, Some(_), None) => Some(MarkedAt::Branch),
        (false, ..) => Some(MarkedAt::Checkout),
    };
    if waits {
        if forge.is_none() {
            let why = Forge::not_configured(run, &args.servers.gitea);
            say.note(&format!("{why}: nothing is committed"));
        }
        let wanted = InventoryWanted {
            run,
            inventory: &args.servers.inventory,
            key_copies: None,
            gitea: &args.servers.gitea,
            writes: true,
            is_wanted: true,
        };
        enroll(&api, args, &wanted, &valid.desired, synced, say)?;
    }

    let ready = synced.done.iter().filter(|done| done.is_ready());
    let ready: BTreeSet<String> = ready.map(|done| done.enrollment.key.clone()).collect();
    let commits = !args.dry_run && !args.no_commit;
    match &forge {
        Some(forge) if commits && (proposes || !ready.is_empty()) => {
            match forge.mark(&ready, args.via_pr, &run.environment) {
                Ok(marked) => synced.marked = Some(marked),
                // peers and groups are done; the flags are found missing again by the next run
                Err(failure) => synced.fail(Failure {
                    error: format!("not committed: {}", failure.error),
                    ..failure
                }),
            }
        }
        // on a laptop that is a choice, in a job nobody would ever know
        None if commits && context.is_ci && !ready.is_empty() => {
            let why = Forge::not_configured(run, &args.servers.gitea);
            let hint = "set GITEA_TOKEN from the secret BOT_TOKEN (docs/gitea.md, step 5), or say --no-commit where \
                        something else commits";
            synced.fail(Failure::error(format!("not committed: {why}")).hint(hint));
        }
        _ => {}
    }
    let failed = synced.done.iter().any(|done| done.error.is_some());
    Ok(match failed || synced.failure.is_some() {
        true => Exit::Partial,
        false => Exit::Done,
    })
}

/// Finds who enrolled, renames the peers, puts them into their groups, and writes that down.
fn enroll(
    api: &Api,
    args: &SyncArgs,
    wanted: &InventoryWanted,
    desired: &Desired,
    synced: &mut Synced,
    say: Say,
) -> Result<(), Failure> {
    // before the lists: what is recorded after that is newer than they are
    let store = InventoryPlace::find(wanted)?;
    let found = store.read()?;
    let needs = Needs::enrollment().and_account();
    let snapshot = fetch(api, &needs, desired);
    synced.requests = api.requests();
    let snapshot = snapshot.map_err(|error| of_netbird(api, error))?;
    if snapshot
        .rest
        .events
        .as_ref()
        .is_some_and(|events| events.len() >= EVENTS_KEPT)
    {
        say.note("NetBird keeps the newest 10,000 events: older enrollments are known by the times of key and peer");
    }
    let versions = versions(wanted, &store, &found.inventory)?;
    let ours = Ours {
        standing: match found.standing {
            Standing::Read => Standing::Read,
            // only an apply makes one: until then the names of keys tell
            Standing::First | Standing::Unknown => Standing::Unknown,
        },
        inventory: found.inventory.clone(),
        versions,
        ..Ours::default()
    };
    let options = Options::of_enrollment(Arc::new(ours), Timestamp::now());
    let (actual, binding) = plan::read(desired, &snapshot, &options).map_err(unreadable)?;
    store.of_account(&found.inventory, &actual)?;
    let accounts = actual.named(Kind::AccountSettings, "").iter();
    let accounts: Vec<String> = accounts.map(|account| account.id.to_string()).collect();
    let unnamed = match setting(args.servers.server.account.as_ref()) {
        Some(_) => None,
        None => gates::no_account(&accounts),
    };
    if let Some(refusal) = actual.me.as_ref().and_then(gates::reads_only).or(unnamed)
        && !args.dry_run
    {
        return Err(
            Failure::refused(format!("{}; nothing was changed", refusal.text)).hint(refusal.hint),
        );
    }
    if let Some(notice) = of_token(&actual) {
        say.note(&notice.words());
        synced.notices.push(notice);
    }
    let decisions = keys::decisions(desired, &actual, &options);
    let detection = enrollment::detect(desired, &actual, &decisions, &options);
    let is_known = options.ours.standing == Standing::Read;
    if !is_known && !detection.enrollments.is_empty() {
        say.note(
            "there is no inventory yet, so this file's keys are recognized by their names only",
        );
    }
    let waits = |enrollment: &Enrollment| sync::waits_for(enrollment, &actual);
    let waiting = detection.enrollments.iter();
    let waiting = waiting.filter_map(|at| Some((at.key.clone(), waits(at)?)));
    let open = detection.open.into_iter();
    synced.open = open.chain(waiting).collect();
    let remarks = detection.remarks.into_iter();
    // what times tell stands in the line of each key
    let remarks = remarks.filter(|(_, what)| !matches!(what, Remark::BoundByTime(..)));
    synced.remarks = remarks.collect();
    let enrollments: Vec<Enrollment> = detection
        .enrollments
        .into_iter()
        .filter(|enrollment| waits(enrollment).is_none())
        .collect();
    if actual.events_known {
        let undeclared = enrollment::undeclared(desired, &actual);
        synced.undeclared = undeclared
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
        false => carry_out(api, &plan, &actual, &mut labels, synced, say),
    };
    synced.requests = api.requests();
    synced.done = done(
        enrollments,
        &plan,
        &statuses,
        &labels,
        args.dry_run,
        &actual,
    );
    if is_known && !args.dry_run {
        let mut delta = plan::people(desired, &actual, &binding, &options);
        delta.members.extend(joined(&synced.done, desired));
        if let Err(NotRecorded { why, hint }) = store.record(&[delta], &[]) {
            // the next run finds it again
            let failure = Failure::error(format!("the inventory could not be written: {why}"));
            synced.fail(failure.aside(hint));
        }
    }
    Ok(())
}

/// Returns the members that this run put into groups that list the names of their keys.
fn joined(done: &[Done], desired: &Desired) -> Vec<(String, String, Id)> {
    let lists = |group: &String, key: &String| {
        let listed = desired.group(group).and_then(|group| group.listed.as_ref());
        listed.is_some_and(|listed| listed.contains(key))
    };
    let members = done.iter().flat_map(|done| {
        let Enrollment { key, peer, .. } = &done.enrollment;
        let groups = done.joined.iter().filter(|group| lists(group, key));
        groups.map(|group| (group.clone(), key.clone(), peer.clone()))
    });
    members.collect()
}

/// Returns what the commits since the last apply made of the file: a mark that a person took back is not made again.
fn versions(
    wanted: &InventoryWanted,
    store: &InventoryPlace,
    inventory: &Inventory,
) -> Result<Versions, Failure> {
    let history = History::read(&wanted.run.file, &[], &wanted.run.context)?;
    if let Some(tip) = history.tip() {
        store.of_commit(tip);
    }
    history.versions(inventory.applied_commit.as_deref(), &inventory.file)
}

/// How many events the server keeps (docs/netbird-api.md, "Events").
const EVENTS_KEPT: usize = 10_000;

/// Returns the names of the used keys that are for one peer.
fn used_keys(keys: &[Entry]) -> BTreeSet<String> {
    let keys = keys.iter().filter_map(|key| key.read().ok());
    let used = keys.filter(|key: &objects::SetupKey| key.is_for_one_peer() && key.used_times > 0);
    used.map(|key| key.name).collect()
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
        records: None,
        keep_going: true,
        stop: &stop,
        fresh: &|| Ok(()),
        puts_back: true,
    };
    let mut observer = Announcer::new(say, &stop);
    let mut applied = apply(api, plan, actual, conduct, &mut observer);
    if let Err(error) = settle_members(api, actual, &mut applied, &mut observer) {
        // what was done is done, and is committed
        synced.fail(error.into());
    }
    synced.notices.append(&mut applied.notices);
    // what was predicted gives way to what the server answered
    labels.clone_from(&applied.dns_labels);
    applied.statuses
}
