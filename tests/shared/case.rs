//! A plan from a file and a live account, and its outcome as short lines.

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{MADE, NOW, group, over, value};
use crate::access::Delta;
use crate::actual::Actual;
use crate::address::Address;
use crate::config::Source;
use crate::desired::Desired;
use crate::kind::Kind;
use crate::ledger::Listings;
use crate::memberships::Memberships;
use crate::options::{Options, Prune};
use crate::plan::{self, Part, Plan};
use crate::problem::Problem;
use crate::render::{Document, words};
use crate::snapshot::Snapshot;
use crate::validate::validate;

/// Returns the desired state of a valid file.
pub(crate) fn desired(file: &Value) -> Desired {
    let source = Source::from_text("netbird.json", file.to_string()).expect("a text");
    match validate(&source) {
        Ok(valid) => Arc::unwrap_or_clone(valid.desired),
        Err(problems) => panic!("the file of this test is wrong:\n{problems}"),
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
        let peers = snapshot.peers.iter().map(|peer| value(peer)["id"].clone());
        let peers: Vec<Value> = peers.map(|id| json!({ "id": id })).collect();
        let all = over(group("All", &[]), json!({ "peers": peers }));
        snapshot.list_mut(Kind::Group).insert(0, all.into());
        let options = Options {
            prune: Prune::None,
            replace: BTreeSet::new(),
            now: Timestamp::from_second(NOW).expect("a second of this century"),
            ledger: Arc::default(),
            listings: Listings::default(),
            release: BTreeSet::new(),
            keys_files: BTreeSet::new(),
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
        self
    }

    /// With `--replace`.
    pub(crate) fn replace(mut self, kind: Kind, name: &str) -> Self {
        self.options.replace.insert(Address::new(kind, name));
        self
    }

    /// With `--prune owned` and a git history of the file: (second, version). The file itself is in no commit yet,
    /// unless it is the last version.
    pub(crate) fn history(mut self, versions: &[(i64, Value)]) -> Self {
        let texts: Vec<(i64, String)> = versions
            .iter()
            .map(|(second, version)| (*second, version.to_string()))
            .collect();
        let versions: Vec<(i64, &str)> = texts
            .iter()
            .map(|(second, text)| (*second, text.as_str()))
            .collect();
        let mut ledger = crate::ledger::tests::of_at(NOW, &versions);
        ledger.propose(self.desired.clone());
        self.options.listings = ledger.listings();
        self.options.ledger = Arc::new(ledger);
        self.options.prune = Prune::Owned;
        self
    }

    /// Reads the live account.
    pub(crate) fn actual(&self) -> Actual {
        Actual::read(&self.snapshot).expect("answers of the server's form")
    }

    /// Makes the plan.
    pub(crate) fn plan(&self) -> Result<Plan, Vec<Problem>> {
        let renames = plan::renames(&self.desired, &self.snapshot, &self.options);
        let actual = Actual::read_renamed(&self.snapshot, renames.names())
            .expect("answers of the server's form");
        plan::plan(&self.desired, &actual, &renames, &self.options)
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
            access: Some(Delta::of(
                &self.actual(),
                &plan,
                &Memberships::default(),
                false,
            )),
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
        let reason = match words::reason(change.reason.as_ref()) {
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
            .map(|held| format!("held: {}: {}", held.address, words::why(&held.why))),
    );
    lines.extend(
        plan.unmanaged
            .iter()
            .map(|address| format!("unmanaged: {address}")),
    );
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
    let told = words::problems(problems).into_iter();
    told.map(|told| {
        let hint = told.hint.map(|hint| format!(" | {hint}"));
        format!(
            "impossible: {} {}{}\n",
            told.problem.address,
            told.text,
            hint.unwrap_or_default()
        )
    })
    .collect()
}
