//! A plan from a file and a live account, and its outcome as short lines.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{MADE, NOW, group, over, value};
use crate::access::Delta;
use crate::account::actual::Actual;
use crate::account::snapshot::Snapshot;
use crate::base::id::Id;
use crate::check::validate::validate;
use crate::file::Source;
use crate::git::Sha;
use crate::git::versions::{VersionReader, Versions};
use crate::inventory::{Inventory, Machine};
use crate::model::address::Address;
use crate::model::desired::Desired;
use crate::model::kind::Kind;
use crate::model::problem::{self, Problem};
use crate::plan::memberships::Memberships;
use crate::plan::options::{Options, Prune};
use crate::plan::ours::{Ours, Standing};
use crate::plan::{self, Part, Plan};
use crate::render::Document;
use crate::wire::api::objects::Peer;

/// Returns the desired state of a valid file.
pub(crate) fn desired(file: &Value) -> Desired {
    let source = Source::from_text("netbird.json", file.to_string()).expect("a text");
    match validate(&source) {
        Ok(valid) => Arc::unwrap_or_clone(valid.desired),
        Err(problems) => panic!("the file of this test is wrong:\n{problems}"),
    }
}

/// Files by their commits.
#[derive(Debug)]
struct Files(BTreeMap<Sha, Arc<Desired>>);

impl VersionReader for Files {
    fn read(&self, commit: &Sha) -> Option<Option<Arc<Desired>>> {
        Some(self.0.get(commit).cloned())
    }
}

/// Returns versions of the file since the last apply, the first of them applied, the others made at `NOW`. The ids of these count
/// from zero.
pub(crate) fn committed(files: Vec<Arc<Desired>>) -> Versions {
    let sha = |at: usize| format!("{:040x}", at.wrapping_sub(1));
    let sha = |at: usize| Sha::parse(&sha(at)).expect("a commit's id");
    let commits: Vec<Sha> = (0..files.len()).map(sha).collect();
    let files = commits.iter().cloned().zip(files).collect();
    let now = Timestamp::from_second(NOW).expect("a second of this century");
    let mut commits = commits.into_iter().map(|commit| (commit, now));
    match commits.next() {
        Some((applied, _)) => Versions::new(applied, commits.collect(), Box::new(Files(files))),
        None => Versions::default(),
    }
}

/// A file and a live account, and what else a plan is made for.
#[derive(Debug, Clone)]
pub(crate) struct Case {
    pub(crate) desired: Desired,
    pub(crate) snapshot: Snapshot,
    pub(crate) options: Options,
}

impl Case {
    /// A file against the lists of a live account; the group All is there without being said, with all peers in it.
    pub(crate) fn new(file: Value, live: Value) -> Self {
        let mut snapshot: Snapshot = serde_json::from_value(live).expect("lists of a live account");
        let peers = snapshot
            .list(Kind::Peer)
            .iter()
            .map(|peer| value(peer)["id"].clone());
        let peers: Vec<Value> = peers.map(|id| json!({ "id": id })).collect();
        let all = over(group("All", &[]), json!({ "peers": peers }));
        snapshot.list_mut(Kind::Group).insert(0, all.into());
        let options = Options {
            prune: Prune::None,
            replace: BTreeSet::new(),
            now: Timestamp::from_second(NOW).expect("a second of this century"),
            ours: Arc::default(),
            release: BTreeSet::new(),
        };
        Case {
            desired: desired(&file),
            snapshot,
            options,
        }
    }

    /// With `--prune all`.
    pub(crate) fn prune_all(mut self) -> Self {
        self.options.prune = Prune::All;
        // where it is not known whether there is an inventory, nothing is deleted
        self.ours(|ours| {
            if ours.standing == Standing::Unknown {
                ours.standing = Standing::First;
            }
        })
    }

    /// With `--prune` of that word, whatever is known of an inventory.
    pub(crate) fn prune(mut self, prune: Prune) -> Self {
        self.options.prune = prune;
        self
    }

    /// With `--replace`.
    pub(crate) fn replace(mut self, kind: Kind, name: &str) -> Self {
        self.options.replace.insert(Address::new(kind, name));
        self
    }

    /// With `--prune owned`, and with versions of the file that were applied: (second, version). What was made while a version
    /// declared it is recorded as created, with the members that were listed. The last version is what was applied last; the
    /// file itself is in no commit yet, unless it is that one.
    pub(crate) fn history(mut self, versions: &[(i64, Value)]) -> Self {
        let versions: Vec<(i64, Desired)> = versions
            .iter()
            .map(|(second, version)| (*second, desired(version)))
            .collect();
        self.options.prune = Prune::Owned;
        let actual = self.actual();
        let declared = |address: &Address, made: Option<i64>| {
            let mut spans = versions.iter().enumerate();
            spans.any(|(at, (from, file))| {
                let to = versions.get(at + 1).map_or(i64::MAX, |(to, _)| *to);
                file.has(address) && made.is_some_and(|made| *from <= made && made < to)
            })
        };
        let mut inventory = Inventory::new("account", "netbird.json");
        for (address, live) in actual.each() {
            let key = Address::of_key(&address.key()).unwrap_or(address.clone());
            if address.kind.goes_with_entry() && declared(&key, live.id.created_at()) {
                let ids = inventory.created.entry(address.key()).or_default();
                ids.push(live.id.clone());
                ids.sort();
            }
        }
        for (name, key) in actual.keys.values().map(|key| (&key.name, &key.id)) {
            let is_recorded = inventory.origin(key).is_some();
            let bound = actual
                .bindings
                .of_key(key)
                .and_then(|binding| binding.bound());
            if let Some((peer, by)) = bound.filter(|_| is_recorded) {
                let id = peer.clone();
                let machines = inventory.enrolled.entry(name.clone()).or_default();
                machines.push(Machine { id, by });
                machines.sort();
            }
        }
        for (_, file) in &versions {
            for (group, entry) in file.groups() {
                let live = actual.named(Kind::Group, group).first();
                let members = live.and_then(|live| live.resource.members());
                let listed = entry.listed.iter().flatten();
                for id in members.into_iter().flatten() {
                    let names = crate::plan::members::names_of(id, &actual);
                    let listed = listed.clone().find(|name| names.contains(*name));
                    if let Some(name) = listed {
                        let members = inventory.members.entry(group.clone()).or_default();
                        members.insert(name.clone(), id.clone());
                    }
                }
            }
        }
        // whom names meant when a version first used them
        for (second, file) in &versions {
            for (_, name) in file.machine_names() {
                let bearing = actual.peers_named(name);
                let created = |peer: &Peer| peer.created_at.map_or(0, Timestamp::as_second);
                let bearing = bearing.filter(|peer| created(peer) <= *second);
                let bearing: Vec<Id> = bearing.map(|peer| peer.id.clone()).collect();
                let meant = (bearing.len() == 1).then(|| bearing[0].clone());
                if file.setup_key(name).is_none() {
                    let known = inventory.names.entry(name.to_owned());
                    known.or_insert(meant);
                }
            }
        }
        let last = versions.into_iter().next_back();
        let last = last.map(|(_, file)| Arc::new(file));
        let mut versions = committed(last.into_iter().collect());
        versions.propose(Arc::new(self.desired.clone()));
        self.ours(|ours| {
            ours.inventory = Arc::new(inventory);
            ours.standing = Standing::Read;
            ours.versions = versions;
        })
    }

    /// With what else is known of what is ours.
    pub(crate) fn ours(mut self, change: impl FnOnce(&mut Ours)) -> Self {
        let mut ours = Arc::unwrap_or_clone(self.options.ours);
        change(&mut ours);
        self.options.ours = Arc::new(ours);
        self
    }

    /// With an inventory that was read, in its own text.
    pub(crate) fn inventory(mut self, inventory: Value) -> Self {
        self.options.prune = Prune::Owned;
        let text = over(
            json!({ "format_version": 1, "account": "account", "file": "netbird.json" }),
            inventory,
        );
        let inventory = Inventory::parse(text.to_string().as_bytes()).expect("an inventory");
        self.ours(|ours| {
            ours.inventory = Arc::new(inventory);
            ours.standing = Standing::Read;
        })
    }

    /// With versions of the file since the last apply, the first of them applied. The file itself is in no commit yet, unless it is
    /// the last one.
    pub(crate) fn since(self, versions: &[Value]) -> Self {
        let files = versions.iter().map(|version| Arc::new(desired(version)));
        let mut versions = committed(files.collect());
        versions.propose(Arc::new(self.desired.clone()));
        self.ours(|ours| ours.versions = versions)
    }

    /// Reads the live account.
    pub(crate) fn actual(&self) -> Actual {
        Actual::read(&self.snapshot).expect("answers of the server's form")
    }

    /// Makes the plan.
    pub(crate) fn plan(&self) -> Result<Plan, Vec<Problem>> {
        let (actual, binding) = plan::read(&self.desired, &self.snapshot, None, &self.options)
            .expect("answers of the server's form");
        plan::plan(
            &Arc::new(self.desired.clone()),
            &actual,
            &binding,
            &self.options,
        )
    }

    /// Makes a plan that has to be possible.
    #[track_caller]
    pub(crate) fn possible(&self) -> Plan {
        self.plan()
            .unwrap_or_else(|problems| panic!("no plan can be made:\n{}", problem_lines(&problems)))
    }

    /// A document about the plan, as a command would fill it.
    #[track_caller]
    pub(crate) fn document(&self) -> Document {
        let plan = self.possible();
        Document {
            access: Delta::of(&self.actual(), &plan, &Memberships::default(), false),
            plan: Some(plan),
            ..document()
        }
    }

    /// Returns the outcome in lines: the steps in their order with what they change, then notices; or the problems.
    pub(crate) fn outcome(&self) -> String {
        match self.plan() {
            Ok(plan) => plan_lines(&plan),
            Err(problems) => problem_lines(&problems),
        }
    }
}

/// A document with fixed numbers and without a plan.
pub(crate) fn document() -> Document {
    Document {
        file: "netbird.json".into(),
        file_digest: "9f3c00aa11bb".into(),
        server: Some("https://netbird.example.com".into()),
        environment: "default".into(),
        commit: Some("a1b2c3d4e5f6".into()),
        requests: 6,
        duration_ms: 41,
        ..Document::default()
    }
}

fn plan_lines(plan: &Plan) -> String {
    let mut lines = Vec::new();
    let mut told = BTreeSet::new();
    for step in &plan.steps {
        let change = &plan.changes[step.change];
        let is_group = change.address.kind == Kind::Group;
        let part = match step.part {
            Part::Whole => "",
            Part::Making if is_group => " (additions)",
            Part::Breaking if is_group => " (removals)",
            Part::Making => " (making)",
            Part::Breaking => " (breaking)",
        };
        let reason = match change.why() {
            none if none.is_empty() => none,
            reason => format!(": {reason}"),
        };
        let made = change
            .operation
            .live()
            .and_then(|live| live.id.created_at());
        let made = match made.map(|second| second - MADE) {
            None | Some(0) => String::new(),
            Some(secs) => format!(" [made {secs:+} s]"),
        };
        lines.push(format!(
            "{} {}{made}{part}{reason}",
            change.operation.word(),
            change.address
        ));
        if told.insert(step.change) {
            lines.extend(
                change
                    .operation
                    .fields()
                    .iter()
                    .map(|field| format!("    {} {} → {}", field.field, field.before, field.after)),
            );
        }
    }
    for (group, keys) in &plan.pending_members {
        lines.push(format!("pending in {group}: {keys:?}"));
    }
    for (group, peers) in &plan.unmanaged_members {
        let labels: Vec<&String> = peers.iter().map(|id| &plan.peer_labels[id]).collect();
        lines.push(format!("unmanaged in {group}: {labels:?}"));
    }
    lines.extend(
        plan.held
            .iter()
            .map(|held| format!("held: {}: {}", held.address, held.why.said().0)),
    );
    lines.extend(
        plan.adoptions
            .iter()
            .map(|(address, of)| format!("adopts {address} as {:?}", of.origin)),
    );
    lines.extend(
        plan.let_go
            .iter()
            .map(|let_go| format!("let go: {}: {:?}", let_go.address, let_go.why)),
    );
    lines.extend(
        plan.skipped
            .iter()
            .map(|address| format!("skipped: {address}")),
    );
    lines.extend(
        plan.unmanaged
            .iter()
            .map(|address| format!("unmanaged: {address}")),
    );
    let elsewhere = plan.elsewhere.iter();
    lines.extend(elsewhere.map(|(address, file)| format!("managed by {file}: {address}")));
    lines.extend(
        crate::render::say(&plan.notices)
            .iter()
            .map(|said| format!("note: {}", said.text)),
    );
    if lines.is_empty() {
        lines.push("nothing".into());
    }
    lines.join("\n") + "\n"
}

fn problem_lines(problems: &[Problem]) -> String {
    let told = problem::told(problems).into_iter();
    told.map(|(problem, text, hint)| {
        let hint = hint.map(|hint| format!(" | {hint}"));
        format!(
            "impossible: {} {text}{}\n",
            problem.address,
            hint.unwrap_or_default()
        )
    })
    .collect()
}
