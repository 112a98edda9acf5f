//! Drift: where NetBird differs from the committed file, and whose doing that is. Reports and corrects nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;

use crate::account::{Actual, Snapshot};
use crate::base::Id;
use crate::model::{Address, Change, Desired, FieldChange, LetGo, Operation, Reason, Why};
use crate::plan::{self, Options, Plan};
use crate::wire::api::objects::{Event, SetupKey};

/// The difference between a file and an account.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Drift {
    /// Lives in NetBird and is not declared.
    pub unmanaged: BTreeMap<Address, Unmanaged>,
    /// Declared and not in NetBird.
    pub missing: Vec<Item>,
    /// In NetBird otherwise than declared.
    pub mismatched: Vec<Item>,
    /// Entries of the file that are skipped, so that nobody knows what differs.
    pub skipped: BTreeSet<Address>,
    /// Leftovers that change nothing: dead keys of declared names, pending keys that expired, keys marked enrolled
    /// without a peer.
    pub ghosts: BTreeSet<String>,
    /// Peers that enrolled and are not renamed, grouped or marked yet.
    pub enrolling: Vec<String>,
    /// What the account has that no file manages, in words.
    pub beside_the_kinds: Vec<String>,
}

/// What becomes of an object that lives in NetBird and is not declared.
#[derive(Debug, Clone, PartialEq)]
pub enum Unmanaged {
    /// It stays, and was never ours.
    NeverOurs,
    /// This other file of the account manages it.
    Elsewhere(String),
    /// It is held back.
    Held(Why),
    /// It is let go.
    LetGo(LetGo),
    /// It stays, since the file has no section of its kind any more.
    SectionGone,
    /// An apply deletes it.
    Goes(Option<Reason>),
}

impl Unmanaged {
    /// Returns what is to be said of it, which has that name.
    pub(crate) fn words(&self, name: &str) -> Option<String> {
        match self {
            Unmanaged::NeverOurs => None,
            Unmanaged::Elsewhere(file) => Some(format!("managed by {file:?}")),
            Unmanaged::LetGo(of) => Some(of.words()),
            Unmanaged::Held(why) => Some(why.said().0),
            Unmanaged::SectionGone => {
                Some("its section is no longer in the file, so this file does not manage it".into())
            }
            Unmanaged::Goes(why) => {
                let why = why.as_ref().map(|why| why.words(name));
                Some(format!("{}: an apply deletes it", why.unwrap_or_default()))
            }
        }
    }
}

/// One object that differs.
#[derive(Debug, Clone, PartialEq)]
pub struct Item {
    /// Which.
    pub address: Address,
    /// What differs; empty where it is missing.
    pub fields: Vec<FieldChange>,
    /// What would be made, where it is missing.
    pub missing: Option<Change>,
    /// Who moved: the file or the server.
    pub cause: Option<Mover>,
    /// Who did it, where the event log tells.
    pub doer: Option<Doer>,
}

/// Which side moved since both were last equal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mover {
    /// The file: an older version asks for what NetBird has.
    File {
        /// The first commit that asks for something else, shortened.
        commit: String,
        /// When it was made.
        at: Timestamp,
    },
    /// The server: an apply made the object, and no version of the file that was looked at asks for what it has.
    Server,
}

/// Who changed an object by hand, and when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Doer {
    /// Name or mail address.
    pub name: String,
    /// The server's clock.
    pub at: Timestamp,
}

/// A version of the file.
#[derive(Debug, Clone)]
pub struct Version {
    /// Its commit, shortened.
    pub commit: String,
    /// When it was made.
    pub at: Timestamp,
    /// What it asks for.
    pub desired: Arc<Desired>,
}

impl Drift {
    /// Returns whether something is missing, mismatched or skipped; what is unmanaged alone is no alarm.
    pub fn is_alarming(&self) -> bool {
        let is_equal = self.missing.is_empty() && self.mismatched.is_empty();
        !is_equal || !self.skipped.is_empty()
    }
}

/// Returns the drift of a plan that was made for the committed file.
pub fn drift(plan: &Plan, desired: &Desired, actual: &Actual) -> Drift {
    let mut unmanaged = BTreeMap::new();
    let mut add = |at: &Address, what| drop(unmanaged.insert(at.clone(), what));
    plan.unmanaged
        .iter()
        .for_each(|at| add(at, Unmanaged::NeverOurs));
    for (at, file) in &plan.elsewhere {
        add(at, Unmanaged::Elsewhere(file.clone()));
    }
    for held in &plan.held {
        add(&held.address, Unmanaged::Held(held.why.clone()));
    }
    for of in &plan.let_go {
        add(&of.address, Unmanaged::LetGo(of.clone()));
    }
    let left = plan.gone_sections.iter().flat_map(|gone| &gone.left);
    left.for_each(|at| add(at, Unmanaged::SectionGone));
    let mut drift = Drift {
        unmanaged,
        skipped: plan.skipped.clone(),
        ghosts: ghosts(desired, actual),
        enrolling: plan.enrolling.values().cloned().collect(),
        ..Drift::default()
    };
    for change in &plan.changes {
        let item = |fields: &[FieldChange]| Item {
            address: change.address.clone(),
            fields: fields.to_vec(),
            missing: matches!(change.operation, Operation::Create { .. }).then(|| change.clone()),
            cause: None,
            doer: None,
        };
        match &change.operation {
            Operation::Create { .. } => drift.missing.push(item(&[])),
            Operation::Update { .. } if is_enrollment(change, &plan.enrolling) => {}
            Operation::Update { fields, .. } | Operation::Replace { fields, .. } => {
                drift.mismatched.push(item(fields));
            }
            Operation::Delete { .. } => {
                let goes = Unmanaged::Goes(change.reason.clone());
                drift.unmanaged.insert(change.address.clone(), goes);
            }
        }
    }
    drift
}

/// What only a peer that enrolled leaves to do is no drift: the next sync-events does it.
fn is_enrollment(change: &Change, enrolling: &BTreeMap<Id, String>) -> bool {
    let added = change.added_members();
    let is_new = |peer: &Id| enrolling.contains_key(peer);
    let joins = change.removed_members().is_empty() && !added.is_empty();
    change.renames_peer() || joins && added.iter().all(is_new)
}

/// Says for each mismatch which side moved, where that is known: the newest version of the file that asks for what NetBird has, if
/// any, was the last agreement. `versions` are the newest first, the committed one at the head.
pub fn blame_versions(
    drift: &mut Drift,
    versions: impl IntoIterator<Item = Version>,
    snapshot: &Snapshot,
    options: &Options,
) {
    let planned = |desired: &Arc<Desired>| {
        let (actual, binding) = plan::read(desired, snapshot, None, options).ok()?;
        plan::plan(desired, &actual, &binding, options).ok()
    };
    let mut open: BTreeSet<Address> = drift
        .mismatched
        .iter()
        .map(|item| item.address.clone())
        .collect();
    let mut newer: Option<Version> = None;
    let mut causes: BTreeMap<Address, Mover> = BTreeMap::new();
    for version in versions {
        if open.is_empty() {
            break;
        }
        if let Some(newer) = &newer
            && let Some(plan) = planned(&version.desired)
        {
            let differs: BTreeSet<&Address> =
                plan.changes.iter().map(|change| &change.address).collect();
            let agrees = |at: &Address| version.desired.declares(at) && !differs.contains(at);
            for address in open.iter().filter(|at| agrees(at)) {
                let cause = Mover::File {
                    commit: newer.commit.clone(),
                    at: newer.at,
                };
                causes.insert(address.clone(), cause);
            }
            open.retain(|address| !causes.contains_key(address));
        }
        newer = Some(version);
    }
    for item in &mut drift.mismatched {
        // an apply made a recorded object as the file said then
        let recorded = options.ours.inventory.of(&item.address.key());
        let server = (!recorded.is_empty()).then_some(Mover::Server);
        item.cause = causes.remove(&item.address).or(server);
    }
}

/// Says who changed or deleted what, where the event log still tells.
pub fn blame_events(drift: &mut Drift, events: &[Event], actual: &Actual) {
    let me = actual.me.as_ref().map(|me| me.id.as_str());
    let mut by_hand: Vec<&Event> = events
        .iter()
        .filter(|event| Some(event.initiator_id.as_str()) != me)
        .collect();
    by_hand.sort_by_key(|event| std::cmp::Reverse(event.timestamp));
    for item in &mut drift.mismatched {
        let ids: BTreeSet<&str> = actual
            .at(&item.address)
            .iter()
            .map(|live| live.id.0.as_str())
            .collect();
        let concerns = |event: &&&Event| {
            let of_members = event.activity_code.starts_with("peer.group.");
            let own =
                ids.contains(event.target_id.as_str()) && !event.activity_code.ends_with(".add");
            own || (of_members && event.meta("group_id").is_some_and(|id| ids.contains(id)))
        };
        item.doer = by_hand.iter().find(concerns).and_then(|event| doer(event));
    }
    for item in &mut drift.missing {
        let code = item.address.kind.descriptor().deletion_event;
        // what has no name is told with the name of what it stands in
        let (told_as, name) = match item.address.kind.has_names() {
            true => ("name", Some(item.address.name.as_str())),
            false => ("network_name", item.address.within.as_deref()),
        };
        let concerns = |event: &&&Event| {
            let told = event.meta(told_as);
            let told = told.and_then(|told| name?.strip_prefix(told));
            let told = told.map(str::trim_start);
            // the name of a record has its type behind it
            Some(event.activity_code.as_str()) == code
                && told.is_some_and(|rest| rest.is_empty() || event.meta("type") == Some(rest))
        };
        item.doer = by_hand.iter().find(concerns).and_then(|event| doer(event));
    }
}

fn doer(event: &Event) -> Option<Doer> {
    let names = [
        &event.initiator_name,
        &event.initiator_email,
        &event.initiator_id,
    ];
    let name = names.into_iter().find(|name| !name.is_empty())?;
    Some(Doer {
        name: name.clone(),
        at: event.timestamp?,
    })
}

fn ghosts(desired: &Desired, actual: &Actual) -> BTreeSet<String> {
    let mut ghosts = BTreeSet::new();
    for (name, declared) in desired.setup_keys() {
        let live: Vec<&SetupKey> = actual.keys_named(name).collect();
        let binding = |key: &SetupKey| actual.bindings.of_key(&key.id);
        let (bound, rest): (Vec<&SetupKey>, Vec<&SetupKey>) = live
            .iter()
            .partition(|key| binding(key).is_some_and(|binding| binding.peer().is_some()));
        let dead: Vec<&SetupKey> = rest.into_iter().filter(|key| !key.valid).collect();
        if let (false, [key]) = (declared.enrolled, &dead[..])
            && live.len() == 1
            && key.used_times == 0
        {
            ghosts.insert(format!(
                "setup key {name:?} is {} and was never used",
                key.state
            ));
        } else if !dead.is_empty() {
            let number = crate::base::text::count(
                dead.len(),
                "key that cannot be used any more has",
                "keys that cannot be used any more have",
            );
            ghosts.insert(format!("{number} the name of setup key {name:?}"));
        }
        let has_peer =
            !bound.is_empty() || actual.peers_named(name).any(|peer| peer.user_id.is_empty());
        if declared.enrolled && !has_peer {
            ghosts.insert(format!(
                "setup key {name:?} is marked enrolled, but NetBird has no peer for it"
            ));
        }
    }
    ghosts
}

#[cfg(test)]
mod tests;
