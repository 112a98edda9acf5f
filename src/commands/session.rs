//! One run of `plan` or `apply` up to the plan: the file, the settings, the live account.

mod gating;
pub(super) mod notices;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use jiff::Timestamp;
use sha2::{Digest, Sha256};

use super::cli::{AccessLevel, Command};
use super::history::Through;
use super::settings::{adopted, protected, replaced};
use super::{
    Failure, FoundInventory, History, InventoryPlace, Result, Run, connect, environment,
    of_netbird, readable, recipients,
};
use crate::account::{Actual, Ahead, Early, More, Needs, Snapshot, absent, fetch};
use crate::base::{Id, files, hex, json, short_commit, visible};
use crate::check::validate::{Valid, validate};
use crate::file::{self, Place as Position, Source};
use crate::git::Sha;
use crate::model::{Address, Held, Kind, Live, Notice, OfInventory, Problem, Refers, Why, problem};
use crate::plan::ours::made_by;
use crate::plan::{
    self, Bound, Memberships, Options, Ours, Plan, Prune, Row, Standing, Statements,
};
use crate::render::Document;
use crate::secret::Recipients;
use crate::wire::api::Api;
use crate::wire::api::objects::Event;

/// What was asked for, and what was found so far.
pub(super) struct Session<'a> {
    pub(super) run: &'a Run<'a>,
    pub(super) source: Source,
    pub(super) valid: Valid,
    pub(super) options: Options,
    pub(super) needs: Needs,
    pub(super) api: Option<Api>,
    pub(super) snapshot: Snapshot,
    pub(super) actual: Actual,
    /// Which object each entry stands for.
    pub(super) binding: Bound,
    pub(super) recipients: Recipients,
    pub(super) history: History,
    /// Where the inventory is.
    pub(super) place: InventoryPlace,
    /// What was said of deletions, and what is known of the changes that cause them.
    pub(super) statements: Statements,
    /// What of the plan somebody agreed to.
    agreed: BTreeSet<Row>,
    access: AccessLevel,
    /// What `--protect` names.
    protected: BTreeSet<Address>,
    /// The digest of the plan that somebody looked at.
    pub(super) expected: Option<String>,
    /// What the run says, as far as it knows.
    pub(super) document: Document,
    started: Instant,
}

/// What a plan needs of the event log alone.
const EVENTS: More = More {
    events: true,
    referrers: false,
};

impl<'a> Session<'a> {
    /// Reads the file, the settings and the live account. `document` says what is known where that fails, and `access` how finely
    /// it is to be said who reaches whom: that takes lists which a plan may not need else.
    pub(super) fn open(
        run: &'a Run<'a>,
        access: AccessLevel,
        document: &mut Document,
    ) -> Result<Session<'a>> {
        let started = Instant::now();
        readable()?;
        let (path, context, live) = (&run.file, &run.context, run.command.live());
        // of a fork's plan the job's own commit is the base's
        let pull = context.pull_request.as_ref();
        let pull = pull.filter(|_| context.is_pull_request_event());
        let head = pull.and_then(|pull| pull.head_sha.clone());
        let commit = head.or_else(|| environment("GITHUB_SHA"));
        document.commit = commit.map(|sha| short_commit(&sha).to_owned());
        document.actor.clone_from(&context.actor);
        document.run.clone_from(&context.run_url);
        let api = live.is_none().then(|| connect(run));
        let ahead = match &api {
            // what another run makes and records in between would seem to be gone
            Some(Ok(api)) if access != AccessLevel::None && !run.writes() => Ahead::begin(api),
            _ => Ahead::default(),
        };
        let asked = match run.command {
            Command::Apply(args) => adopted(&args.adopt)?,
            _ => BTreeMap::new(),
        };
        let scope = run.command.planning().map(|planning| &planning.scope);
        let replace = scope.iter().flat_map(|scope| &scope.replace);
        let replace: Result<_> = replace.map(|text| replaced(text)).collect();
        let replace = replace?;
        let protected = protected(scope.map_or(&[], |scope| &scope.protect))?;
        let recipients_files = run.recipients_files();
        // git and the forge take their time, and what git has to say of another file than the one on disk is seldom
        let (on_disk, history, found) = std::thread::scope(|scope| {
            let history = scope.spawn(|| History::read(path, recipients_files, context));
            let found = scope.spawn(|| -> Result<(InventoryPlace, FoundInventory)> {
                let place = InventoryPlace::find(run)?;
                let found = place.read()?;
                Ok((place, found))
            });
            let on_disk = file::load(path).map(|file| (validate(&file), file));
            (
                on_disk,
                history.join().expect("a reading thread does not panic"),
                found.join().expect("a reading thread does not panic"),
            )
        });
        let merged = history.as_ref().ok().and_then(|it| it.merged.as_ref());
        let is_there = merged.is_some() || path == Path::new("-") || path.exists();
        let found = match found {
            // before all else that is wrong with a file: its comment is that of the other one
            Err(failure) if failure.is_of_other_file && is_there => return Err(failure),
            found => found,
        };
        // a file that is not there has no history
        let (on_disk, mut history) = match (on_disk, history) {
            (Err(error), Err(_)) if !is_there => return Err(error.into()),
            (on_disk, history) => (on_disk, history?),
        };
        let tip = history.tip().map(|tip| tip.short().to_owned());
        let told = document.commit.take();
        // a job of the clock names the commit that began it, and not the one that it checked out
        document.commit = match pull {
            Some(_) => told.or(tip),
            None => tip.or(told),
        };
        document.notices.append(&mut history.notices);
        // the committed file is meant, not the one on disk
        let committed = match run.command {
            Command::Drift(_) => history.committed(path)?,
            _ => None,
        };
        let (valid, source) = match committed.or(history.merged.take()) {
            Some(source) => (validate(&source), source),
            None => on_disk?,
        };
        document.file_digest = hex(&Sha256::digest(source.text())[..6]);
        // in a pull request the file is that of the merge
        document.changed_since_commit = pull.is_none() && history.is_other(&source);
        let valid = valid?;
        document.notices.extend(notices::of_planned_file(&valid));
        // a base without a valid file grants nothing
        let tip = history.tip();
        let base = tip.map(|_| history.base(path).unwrap_or_default());
        let recipients = recipients(run, history.recipients.clone())?;
        let new = notices::new_recipients(recipients_files, &history);
        document.notices.extend(new);
        let who = recipients.describe();
        document.recipients = who.iter().map(ToString::to_string).collect();
        let prune = scope.map_or(Prune::Owned, |scope| scope.prune);
        let api = api.transpose()?;
        let (place, mut found) = found?;
        let inventory = std::mem::take(&mut found.inventory);
        let mut versions =
            history.versions(inventory.applied_commit.as_deref(), &inventory.file)?;
        versions.propose(valid.desired.clone());
        // of a recorded account everything is meant, whosever it is
        let is_of_all = live.is_some() && prune == Prune::All;
        let standing = match found.standing {
            Standing::Unknown if is_of_all => Standing::First,
            standing => standing,
        };
        // the account is compared with that of the inventory
        let needs = Needs::of(&valid.desired, true).and_recorded(&inventory);
        let ours = Ours {
            inventory: Arc::new(inventory),
            standing,
            asked,
            versions,
            ..Ours::default()
        };
        let mut options = Options {
            prune,
            replace,
            now: Timestamp::now(),
            ours: Arc::new(ours),
            release: BTreeSet::new(),
        };
        if let Some(tip) = history.tip() {
            place.of_commit(tip);
        }
        let lists = match access {
            AccessLevel::None => needs.clone(),
            _ => needs.clone().and_reach(),
        };
        let (snapshot, early) = match (&api, live) {
            (Some(api), _) => {
                let base = api.base().to_string();
                document.server = Some(base.strip_suffix("/api").unwrap_or(&base).to_owned());
                let snapshot = fetch::fetch_rest(ahead, api, &lists, &valid.desired);
                document.requests = api.requests();
                options.now = api.now();
                snapshot.map_err(|error| of_netbird(api, error))?
            }
            (None, Some(path)) => {
                document.server = Some(path.display().to_string());
                (recorded(path)?, None)
            }
            (None, None) => (Snapshot::default(), None),
        };
        let mut session = Session {
            source,
            valid,
            options,
            needs,
            api,
            snapshot,
            actual: Actual::default(),
            binding: Bound::default(),
            recipients,
            history,
            place,
            run,
            statements: Statements::default(),
            agreed: BTreeSet::new(),
            access,
            protected,
            expected: None,
            document: Document::default(),
            started,
        };
        session.read(early)?;
        let inventory = &session.options.ours.inventory;
        session.place.of_account(inventory, &session.actual)?;
        let is_whole = session.actual.incomplete().next().is_none();
        if let Some(api) = session.api.clone()
            && (session.confirm(&api).is_err() || !is_whole)
        {
            // lists that were asked for before the inventory lack what another run made and recorded in between, and lists that are
            // asked for one after the other differ where somebody is at work
            session.snapshot = fetch::fetch(&api, &lists, &session.valid.desired)?;
            session.read(None)?;
            session.confirm(&api)?;
        }
        document.notices.extend(session.learn()?);
        if let Some(base) = base {
            let inventory = &session.options.ours.inventory;
            let followed = session.binding.followed_groups(inventory);
            let issued = session.binding.issued_groups(&session.actual);
            let desired = &session.valid.desired;
            document.memberships = Memberships::between(desired, &base, &followed, &issued);
        }
        document.notices.extend(found.notices);
        document.requests = session.api.as_ref().map_or(0, Api::requests);
        session.document = std::mem::take(document);
        Ok(session)
    }

    /// Reads the snapshot into actual state, and finds which object each entry stands for.
    /// `early`: what was read of it before.
    fn read(&mut self, early: Option<Early>) -> Result<()> {
        let desired = &self.valid.desired;
        let read = plan::read(desired, &self.snapshot, early, &self.options)?;
        (self.actual, self.binding) = read;
        Ok(())
    }

    /// Errors where NetBird has a recorded object that its lists lack.
    fn confirm(&self, api: &Api) -> Result<()> {
        let inventory = &self.options.ours.inventory;
        let absent = self.binding.absent(&self.actual, inventory);
        Ok(absent::confirm(api, &absent, &self.actual, inventory)?)
    }

    /// Asks what the inventories of other environments have, and, where an entry may adopt something, what the event log proves that
    /// a run of ours made. Returns what a reader should know of an inventory that cannot be read.
    fn learn(&mut self) -> Result<Option<Notice>> {
        let ours = &self.options.ours;
        if ours.standing == Standing::Unknown {
            return Ok(None);
        }
        let account = self.actual.named(Kind::AccountSettings, "").first();
        let Some(account) = account.map(|account| account.id.to_string()) else {
            return Ok(None);
        };
        let waits = self.has_unrecorded();
        let may_delete = self.options.prune == Prune::All || !ours.inventory.let_go.is_empty();
        let matters = waits || may_delete || !ours.asked.is_empty();
        let others = self.place.others(&account)?;
        if !matters && others.strange.is_empty() && others.unread.is_none() {
            return Ok(None);
        }
        let me = self.actual.me.as_ref();
        let is_service_user = me.is_some_and(|me| me.is_service_user);
        let mut made = BTreeSet::new();
        if waits && !others.share_account && is_service_user {
            self.complete(EVENTS)?;
            made = self.made();
            let sealed = self.sealed(&made)?;
            made.retain(|id| !sealed.contains(id));
        }
        let ours = Arc::make_mut(&mut self.options.ours);
        ours.strange = others.strange;
        ours.made = made;
        ours.unread = others.unread.clone().map(|(environment, _)| environment);
        self.read(None)?;
        let unread = others.unread;
        let unread = unread.map(|(environment, why)| OfInventory::OtherUnread { environment, why });
        Ok(unread.map(Notice::general))
    }

    /// Whether an object that is not recorded has a declared name, or one that a commit since the last apply took out. Keys
    /// count while they could be used, or where their entry has none.
    fn has_unrecorded(&self) -> bool {
        let (desired, ours) = (&self.valid.desired, &self.options.ours);
        let is_open = |address: &Address, live: &Live| match address.kind {
            Kind::SetupKey => {
                let key = self.actual.keys.get(&live.id);
                let is_usable = key.is_some_and(|key| key.valid && key.used_times == 0);
                is_usable || ours.inventory.of(&address.key()).is_empty()
            }
            _ => true,
        };
        let is_old_name = |address: &Address| {
            let mut renamed = desired.renamed_from.iter();
            renamed.any(|(new, old)| new.kind == address.kind && *old == address.name)
        };
        let unrecorded = |at: &Address, live: &Live| {
            let is_unknown = || ours.inventory.origin(&live.id).is_none();
            at.kind.goes_with_entry() && is_unknown() && is_open(at, live)
        };
        let is_declared = |address: &Address, live: &Live| {
            // of several groups of a name the plan calls each otherwise
            let own = Address {
                name: live.name.clone(),
                ..address.clone()
            };
            desired.has(&own) || is_old_name(address)
        };
        let all = self.actual.each().filter(|(at, live)| unrecorded(at, live));
        let (named, others): (Vec<_>, Vec<_>) = all.partition(|(at, live)| is_declared(at, live));
        !named.is_empty() || others.iter().any(|(at, _)| ours.was_declared(at))
    }

    /// Returns what the event log says that our own user made.
    fn made(&self) -> BTreeSet<Id> {
        let events = self.snapshot.rest.events.iter().flatten();
        let events: Vec<Event> = events.filter_map(|event| event.read().ok()).collect();
        let me = self.actual.me.as_ref();
        me.map(|me| made_by(me, &events)).unwrap_or_default()
    }

    /// Returns which of these are keys without groups of which a sealed copy is kept: no killed run left them, but one whose inventory
    /// is lost.
    fn sealed(&self, made: &BTreeSet<Id>) -> Result<BTreeSet<Id>> {
        let inventory = &self.options.ours.inventory;
        let keys = self.actual.keys.values().filter(|key| {
            let is_bare = key.valid && key.auto_groups.is_empty();
            is_bare && made.contains(&key.id) && inventory.origin(&key.id).is_none()
        });
        let keys = keys.map(|key| (key.name.as_str(), &key.id)).collect();
        let sealed = self.place.with_copy(keys)?.into_iter();
        Ok(sealed.map(|(_, id)| id.clone()).collect())
    }

    /// Returns how far the file is applied once this apply is through; none where what counts as applied stays.
    pub(super) fn through(&self) -> Result<Option<Through>> {
        let applied = self.options.ours.inventory.applied_commit.as_deref();
        let text = self.source.text().as_bytes();
        let is_newer = |applied: &Sha, commit: &Sha| match self.place.forge() {
            Some(forge) => forge.is_newer(applied.as_str(), commit.as_str()),
            None => Ok(false),
        };
        self.history.through(text, applied, is_newer)
    }

    /// Makes the plan; where it deletes, what could refer to that is fetched and the plan is made again, so that all
    /// referrers are named at once.
    pub(super) fn plan_whole(&mut self) -> Result<Plan> {
        loop {
            let was_cut = self.options.ours.versions.is_cut();
            let desired = &self.valid.desired;
            let planned = plan::plan(desired, &self.actual, &self.binding, &self.options);
            let more = match &planned {
                Ok(plan) => self.more(plan),
                Err(_) => More::default(),
            };
            // what was found before is one change with the rest then
            let is_cut = self.options.ours.versions.is_cut();
            if !self.complete(more)? && is_cut == was_cut {
                let mut plan = planned.map_err(|problems| self.stop(&problems))?;
                if is_cut && (!plan.counted_rows().is_empty() || !plan.let_go.is_empty()) {
                    let applied = self.options.ours.inventory.applied_commit.as_deref();
                    plan.notices.extend(self.history.too_short(applied));
                }
                // who enrolled joined already
                let came = |key: &str| plan.enrolling.values().any(|name| name == key);
                self.document.memberships = self.document.memberships.without(came);
                return Ok(plan);
            }
            self.read(None)?;
        }
    }

    /// Fetches what a plan needs beside the lists of every plan. Returns whether anything was missing.
    fn complete(&mut self, more: More) -> Result<bool> {
        match self.api.clone() {
            Some(api) => Ok(fetch::complete(&api, more, &mut self.snapshot)?),
            None => Ok(false),
        }
    }

    /// Whether the entry of a key is gone by which a machine came: with it may go the machine.
    fn offboards(&self) -> bool {
        let desired = &self.valid.desired;
        let mut enrolled = self.options.ours.inventory.enrolled.keys();
        self.options.prune != Prune::None
            && desired.manages(Kind::SetupKey)
            && enrolled.any(|key| desired.setup_key(key).is_none())
    }

    fn more(&self, plan: &Plan) -> More {
        let mut changes = plan.changes.iter();
        let loses = changes.any(|change| !change.removed_members().is_empty());
        // what is held back since something needs it names all that does
        let is_needed = |held: &Held| matches!(held.why, Why::Needed(_) | Why::NeededByGone(_));
        More {
            referrers: plan.deletes_referred() || plan.held.iter().any(is_needed),
            events: self.options.prune == Prune::All
                && (loses || !plan.unmanaged_members.is_empty()),
        }
    }

    /// Puts the numbers of the run into the document.
    pub(super) fn measure(&mut self) {
        self.document.requests = self.api.as_ref().map_or(0, Api::requests);
        self.document.duration_ms =
            u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
    }

    /// All problems of a plan as one error, with their places in the file.
    fn stop(&self, problems: &[Problem]) -> Failure {
        let place = |problem: &Problem| {
            let (places, own) = (&self.valid.places, &problem.address);
            let reference = problem.reference().and_then(|(what, name)| match what {
                Refers::Group => {
                    let mut all = self.valid.references.iter();
                    let it = all.find(|it| it.owner == *own && it.group == name)?;
                    Some(&it.place)
                }
                Refers::Resource => places.name(own, "destination_resource", name),
                Refers::Check => places.name(own, "source_posture_checks", name),
            });
            reference.or_else(|| self.valid.position_of(own))
        };
        let mut text = match problems.len() {
            1 => "this cannot be planned\n".to_owned(),
            number => format!("this cannot be planned: {number} problems\n"),
        };
        for (problem, told, hint) in problem::told(problems) {
            let at = place(problem).map(|Position { path, line, column }| {
                format!("{}:{line}:{column}  {path}\n    ", self.valid.file)
            });
            let what = format!("{} {told}", problem.address.quoted());
            text += &format!("\n{}{}", at.unwrap_or_default(), visible(&what));
            text.extend(hint.iter().map(|hint| format!("\n    {}", visible(hint))));
        }
        Failure::error(text)
    }
}

pub(super) fn recorded(path: &Path) -> Result<Snapshot> {
    let text = files::read(path, files::LARGE);
    let create = "to create a recorded account, run netbird-gitops export --raw > live.json";
    let text = text.map_err(|error| Failure::of_file("read", path, &error).hint(create))?;
    // as a map first: serde takes a list, an empty one too, for a struct
    let lists = serde_json::from_slice::<serde_json::Map<_, _>>(&text);
    let snapshot = lists.and_then(|lists| serde_json::from_value(lists.into()));
    snapshot.map_err(|error| {
        let (path, why) = (path.display(), json::why(&error));
        Failure::error(format!("{path} is not a recorded account: {why}")).hint(create)
    })
}
