//! `sync-events`: finds peers that enrolled with a declared key, renames them, puts them into their groups, and commits
//! `enrolled: true` for all of them at once.
//!
//! Nothing here depends on when it ran last: it looks at keys, peers and events as they are. An idle run makes one request. One
//! that finds news reads the inventory, which says which keys are the file's, and writes down who came by them.

mod done;
mod output;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::apply::early_gates;
use super::cli::SyncArgs;
use super::session::notices::of_token;
use super::signals::signals;
use super::{
    Announcer, Ending, Exit, Failure, Forge, History, InventoryPlace, Result, Run, connect,
    of_netbird, readable,
};
use crate::account::actual::typed;
use crate::account::{Actual, Ahead, Needs, absent, fetch_rest};
use crate::apply::{Conduct, NotRecorded, Recorder, Writer};
use crate::base::{Entry, Id, visible};
use crate::check::validate::validate;
use crate::file;
use crate::forge::gitea::mark_enrolled::Marked;
use crate::model::{Desired, Kind, Notice, Open, Remark};
use crate::plan::enrollment::sync;
use crate::plan::{
    self, Decision, Enrollment, Options, Ours, Plan, Standing, enrollment, gates, keys,
};
use crate::render::Status;
use crate::wire::api::{Api, objects};
use done::{Done, done};

/// A run: what was asked for, what it found and what it did.
struct Synced<'a> {
    run: &'a Run<'a>,
    args: &'a SyncArgs,
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
    /// What failed beside single keys.
    failure: Option<Failure>,
    /// Every used key of the file is marked already, so that there is nothing to look at.
    idle: bool,
    requests: u64,
}

pub(super) fn run(run: &Run, args: &SyncArgs) -> Ending {
    let mut synced = Synced {
        run,
        args,
        done: Vec::new(),
        open: Vec::new(),
        remarks: Vec::new(),
        notices: Vec::new(),
        undeclared: Vec::new(),
        marked: None,
        failure: None,
        idle: false,
        requests: 0,
    };
    let (text, stopped) = match synced.make() {
        Ok(()) => (output::text(&synced), None),
        Err(failure) => (String::new(), Some(failure)),
    };
    if let Some(marked) = synced.marked.as_ref().filter(|marked| marked.waits()) {
        run.say.progress(&marked.text);
    }
    let mut ending = Ending::answer(output::json(&synced), text);
    ending.changed = !synced.done.is_empty() && !args.dry_run;
    let of_keys = synced.done.iter().filter_map(|done| {
        let error = done.error.as_ref()?;
        let text = format!("setup key {:?}: {error}", done.enrollment.key);
        Some(Failure::partial(visible(&text)))
    });
    let failures = stopped.into_iter().chain(synced.failure).chain(of_keys);
    match failures.reduce(Failure::and) {
        Some(failure) => ending.failed(failure),
        None => ending,
    }
}

impl Synced<'_> {
    /// Keeps a failure; the run goes on.
    fn fail(&mut self, mut failure: Failure) {
        failure.exit = Exit::Partial;
        let failures = self.failure.take().into_iter().chain([failure]);
        self.failure = failures.reduce(Failure::and);
    }

    fn make(&mut self) -> Result<()> {
        let (run, args, context) = (self.run, self.args, &self.run.context);
        if !args.dry_run {
            early_gates("sync-events", run)?;
        }
        readable()?;
        let valid = validate(&file::load(&run.file)?)?;
        let api = connect(run)?;
        let keys = api.list(Kind::SetupKey.path());
        self.requests = api.requests();
        let used = used_keys(&keys?, &valid.desired)?;
        let is_marked = |name: &String| {
            let declared = valid.desired.setup_key(name);
            declared.is_some_and(|key| key.enrolled)
        };
        // a scheduled run's checkout is that of the last push, so the branch's tip decides; with nothing to mark either way
        // nobody is asked, but about a pull request that may have become superfluous
        let commits = !args.dry_run && !args.no_commit;
        let proposes = args.via_pr && commits;
        self.idle = used.iter().all(is_marked);
        if self.idle && !proposes {
            return Ok(());
        }
        let forge = Forge::open(run)?;
        let valid = match &forge {
            Some(forge) => validate(&forge.source()?)?,
            None => valid,
        };
        let mut waits = used.iter();
        self.idle = !waits.any(|name| valid.desired.awaits_enrollment(name));
        let unconfigured = || Forge::not_configured(run);
        if !self.idle {
            if forge.is_none() {
                let text = format!("{}: enrolled: true is not committed", unconfigured());
                run.say.note(&text);
            }
            self.enroll(&api, &valid.desired)?;
        }
        let ready = self.done.iter().filter(|done| done.is_ready());
        let ready: BTreeSet<String> = ready.map(|done| done.enrollment.key.clone()).collect();
        match &forge {
            Some(forge) if commits && (proposes || !ready.is_empty()) => {
                match forge.mark(&ready, args.via_pr, &run.environment) {
                    Ok(marked) => self.marked = Some(marked),
                    // peers and groups are done; the flags are found missing again by the next run
                    Err(failure) => self.fail(failure.within("not committed")),
                }
            }
            // on a laptop that is a choice, in a job nobody would ever know
            None if commits && context.is_ci && !ready.is_empty() => {
                let hint = "set GITEA_TOKEN from the secret BOT_TOKEN (docs/gitea.md, step 5), or say --no-commit where \
                            something else commits";
                let error = format!("not committed: {}", unconfigured());
                self.fail(Failure::error(error).hint(hint));
            }
            _ => {}
        }
        Ok(())
    }

    /// Finds who enrolled, renames the peers, puts them into their groups, and writes that down.
    fn enroll(&mut self, api: &Api, desired: &Desired) -> Result<()> {
        let (run, args, say) = (self.run, self.args, self.run.say);
        // before the lists: what is recorded after that is newer than they are
        let store = InventoryPlace::find(run)?;
        let found = store.read()?;
        let needs = Needs::enrollment().and_account();
        let needs = needs.and_keys(&found.inventory);
        let snapshot = fetch_rest(Ahead::default(), api, &needs, desired);
        self.requests = api.requests();
        let (snapshot, early) = snapshot.map_err(|error| of_netbird(api, error))?;
        let events = snapshot.rest.events.as_ref();
        if events.is_some_and(|events| events.len() >= EVENTS_KEPT) {
            say.note("NetBird keeps the newest 10,000 events: older enrollments are known by the times of key and peer");
        }
        // a mark that a person took back is not made again
        let history = History::read(&run.file, &[], &run.context)?;
        if let Some(tip) = history.tip() {
            store.of_commit(tip);
        }
        let applied = found.inventory.applied_commit.as_deref();
        // only an apply makes one: until then the names of keys tell
        let is_known = found.standing == Standing::Read;
        let [known, unknown] = [Standing::Read, Standing::Unknown];
        let ours = Ours {
            standing: if is_known { known } else { unknown },
            versions: history.versions(applied, &found.inventory.file)?,
            inventory: Arc::new(found.inventory.clone()),
            ..Ours::default()
        };
        let options = Options::of_enrollment(Arc::new(ours), api.now());
        let (actual, binding) = plan::read(desired, &snapshot, early, &options)?;
        store.of_account(&found.inventory, &actual)?;
        let absent = binding.absent(&actual, &found.inventory);
        absent::confirm(api, &absent, &actual, &found.inventory)?;
        let accounts = actual.named(Kind::AccountSettings, "").iter();
        let accounts: Vec<String> = accounts.map(|account| account.id.to_string()).collect();
        let unnamed = || gates::no_account(&accounts).filter(|_| run.account().is_none());
        let reads_only = actual.me.as_ref().and_then(gates::reads_only);
        if let Some(refusal) = reads_only.or_else(unnamed)
            && !args.dry_run
        {
            let error = format!("{}; nothing was changed", refusal.text);
            return Err(Failure::refused(error).hint(refusal.hint));
        }
        if let Some(notice) = of_token(&actual) {
            say.note(&notice.words());
            self.notices.push(notice);
        }
        let decisions = keys::decisions(desired, &actual, &options);
        let mut enrollments = Vec::new();
        for (name, Decision { enrolled, .. }) in decisions {
            let waits = enrolled.enrollment.as_ref();
            let waits = waits.and_then(|of| sync::waits_for(of, &actual));
            enrollments.extend(enrolled.enrollment.filter(|_| waits.is_none()));
            let open = enrolled.open.or(waits).map(|why| (name.clone(), why));
            self.open.extend(open);
            // what times tell stands in the line of each key
            let remarks = enrolled.remarks.into_iter();
            let remarks = remarks.filter(|what| !matches!(what, Remark::BoundByTime(..)));
            self.remarks
                .extend(remarks.map(|what| (name.clone(), what)));
        }
        if !is_known && !enrollments.is_empty() {
            say.note("there is no inventory yet, so this file's keys are recognized by name only");
        }
        if actual.events_known {
            let undeclared = enrollment::undeclared(desired, &actual, &options.ours.inventory);
            let undeclared = undeclared.into_iter();
            let undeclared = undeclared.map(|(peer, key)| (actual.peer_label(&peer), key));
            self.undeclared = undeclared.collect();
        }
        let plan = sync::plan(&enrollments, &actual);
        let (statuses, labels) = match args.dry_run {
            true => {
                let labels = plan::peer_renames(&enrollments, &actual).into_iter();
                let labels = labels.filter_map(|of| {
                    let label = of.operation.fields().last()?.after.as_str()?.to_owned();
                    Some((of.operation.live()?.id.clone(), label))
                });
                (vec![Status::Success; plan.changes.len()], labels.collect())
            }
            false => self.carry_out(api, &plan, &actual),
        };
        self.requests = api.requests();
        let came_to = (&*statuses, &labels);
        self.done = done(enrollments, &plan, came_to, args.dry_run, &actual);
        if is_known && !args.dry_run {
            let mut delta = plan::people(desired, &actual, &binding, &options);
            delta.members.extend(joined(&self.done, desired));
            // the next run finds it again
            if let Err(NotRecorded { why, hint }) = store.record(&[delta], &[]) {
                let failure = Failure::error(format!("the inventory could not be written: {why}"));
                self.fail(failure.aside(hint));
            }
        }
        Ok(())
    }

    /// Renames and groups, each peer for itself; whoever joined a group meanwhile stays in it. Returns what became of each change, and
    /// the DNS labels that the server answered.
    fn carry_out(&mut self, api: &Api, plan: &Plan, actual: &Actual) -> (Vec<Status>, Labels) {
        let stop = signals();
        let conduct = Conduct {
            custody: None,
            records: None,
            keep_going: true,
            stop: &stop,
            fresh: &|| Ok(()),
            puts_back: true,
        };
        let mut observer = Announcer::new(self.run, &stop);
        let mut writer = Writer::new(api, actual, &mut observer);
        let mut applied = writer.apply(plan, conduct);
        if let Err(error) = writer.settle_members(&mut applied) {
            // what was done is done, and is committed
            self.fail(error.into());
        }
        self.notices.append(&mut applied.notices);
        (applied.statuses, applied.dns_labels)
    }
}

/// The DNS labels that peers get.
type Labels = BTreeMap<Id, String>;

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

/// How many events the server keeps (docs/netbird-api.md, "Events").
const EVENTS_KEPT: usize = 10_000;

/// Returns the names of the used keys that are for one peer, and of those that wait for theirs and that NetBird does not have: somebody
/// may have deleted them after a peer came.
fn used_keys(keys: &[Entry], desired: &Desired) -> Result<BTreeSet<String>> {
    let keys: Vec<objects::SetupKey> = typed("setup_keys", keys)?;
    let there: BTreeSet<&str> = keys.iter().map(|key| key.name.as_str()).collect();
    let gone = desired.setup_keys().map(|(name, _)| name);
    let gone =
        gone.filter(|name| desired.awaits_enrollment(name) && !there.contains(name.as_str()));
    let used = keys
        .iter()
        .filter(|key| key.is_for_one_peer() && key.used_times > 0);
    Ok(gone.chain(used.map(|key| &key.name)).cloned().collect())
}
