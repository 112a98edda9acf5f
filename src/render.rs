//! A plan, or what became of it, as text for people and as JSON for programs. Every renderer returns a `String`.

mod access;
pub mod answer;
pub(crate) mod describe;
mod document;
pub mod drift;
pub mod json;
pub mod markdown;
mod said;
pub mod terminal;
#[cfg(test)]
pub(crate) mod testing;
pub(crate) mod tree;

use std::collections::{BTreeMap, BTreeSet, HashSet};

use serde::Serialize;

use crate::access::Delta;
use crate::base::{Code, count, joined, listed};
use crate::model::{Address, Change, Held, Kind, Notice, Operation, Resource, Why};
use crate::plan::agreement::Origin;
use crate::plan::{Agreement, ByKey, Memberships, Plan, Refusal};

pub(crate) use document::ways_out;
pub use document::{is_result, tree};
pub use said::{Said, say};
pub use tree::Tree;

/// What became of one change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Status {
    /// Not carried out yet.
    Pending,
    /// Done.
    Success,
    /// Tried, and this is why it did not work.
    Failed(String),
    /// Tried, and nobody knows whether it was carried out, and why.
    Unknown(String),
    /// Not tried, since something before it failed.
    Skipped,
}

impl Status {
    /// Returns the word for programs, and the words for people.
    pub(crate) fn words(&self) -> [&'static str; 2] {
        match self {
            Status::Pending => ["pending", "waiting"],
            Status::Success => ["success", "done"],
            Status::Failed(_) => ["failed", "failed"],
            Status::Unknown(_) => ["unknown", "not known"],
            Status::Skipped => ["skipped", "not tried"],
        }
    }

    /// Returns why it did not work, or why nobody knows.
    fn error(&self) -> Option<&str> {
        match self {
            Status::Failed(error) | Status::Unknown(error) => Some(error),
            Status::Pending | Status::Success | Status::Skipped => None,
        }
    }
}

/// A new setup key whose secret is sealed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CreatedKey {
    /// Path of the sealed file.
    pub file: String,
    /// Its text.
    pub sealed: String,
    /// Who can open it, shortened.
    pub recipients: Vec<String>,
    /// The first 16 hexadecimal digits of the text's SHA-256.
    pub fingerprint: String,
    /// Where its copy in the repository is, as in `BRANCH:PATH`.
    pub stored: Option<String>,
}

/// What a document says beside the plan.
#[derive(Debug, Clone, Default)]
pub struct Document {
    /// The plan; `None` where none could be made.
    pub plan: Option<Plan>,
    /// What became of each change of the plan; empty before an apply.
    pub statuses: Vec<Status>,
    /// Whether an apply changed something, or may have: also one of which nothing succeeded.
    pub changed: bool,
    /// How long each change of the plan took, in milliseconds; empty before an apply.
    pub durations_ms: Vec<u64>,
    /// What wants somebody's agreement, and who agreed.
    pub agreements: Vec<Agreement>,
    /// By change of the plan: what took it out of the file.
    pub causes: Vec<Option<Origin>>,
    /// Changes that take something away which the pull request of this job does not cause: places in the plan.
    pub others: BTreeSet<usize>,
    /// Who the deletions are of for which an apply is refused, though the pull request of this job causes none of them;
    /// empty where it does.
    pub blamed: BTreeSet<String>,
    /// Why an apply must not start.
    pub refusals: Vec<Refusal>,
    /// Why nothing was made of it, or why it stopped: the text that the terminal shows behind `error:`.
    pub error: Option<String>,
    /// What to do about the error.
    pub hint: Option<String>,
    /// Whether the error is a refusal.
    pub refused: bool,
    /// Why there is no plan, where a pull request needs none.
    pub unplanned: Option<Unplanned>,
    /// The commit whose run applies what this run left alone.
    pub superseded: Option<String>,
    /// Who will join what once it enrolls, against the base branch's version of the file.
    pub memberships: Memberships,
    /// Who gains and who loses which reach by the plan; `None` where nobody looked.
    pub access: Option<Delta>,
    /// Notices that are not the plan's.
    pub notices: Vec<Notice>,
    /// What people read of the notices before the run went on.
    pub told: HashSet<Notice>,
    /// Sealed keys by name.
    pub created_keys: BTreeMap<String, CreatedKey>,
    /// Who will be able to open new keys.
    pub recipients: Vec<String>,
    /// The file.
    pub file: String,
    /// The first 12 hexadecimal digits of its SHA-256.
    pub file_digest: String,
    /// The server, if there is one.
    pub server: Option<String>,
    /// The network's name in comments.
    pub environment: String,
    /// The commit, shortened, where it is known.
    pub commit: Option<String>,
    /// Whether the file is another one than that commit's.
    pub changed_since_commit: bool,
    /// Who started the job.
    pub actor: Option<String>,
    /// The page of the job's run.
    pub run: Option<String>,
    /// Requests sent.
    pub requests: u64,
    /// Length of the run in milliseconds.
    pub duration_ms: u64,
}

/// Why a pull request needs no plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unplanned {
    /// It does not change the file.
    Untouched,
    /// It is merged or closed: the plan that was reviewed stands.
    Closed {
        /// Its number.
        number: u64,
    },
}

impl Document {
    /// Memberships that no row of the plan tells: the row of a new key names all groups that its peer joins.
    fn memberships_to_tell(&self) -> Memberships {
        let changes = self.plan.iter().flat_map(|plan| &plan.changes);
        let made = changes.filter(|change| Change::makes_key(change));
        let made: BTreeSet<&str> = made.map(|change| change.address.name.as_str()).collect();
        self.memberships.without(|key| made.contains(key))
    }

    /// Returns what is said of all notices, by position in the file.
    pub fn said(&self) -> Vec<Said<'_>> {
        say(self.all_notices())
    }

    /// Whether an inventory could not be read, so that the plan lacks something.
    pub fn lacks_inventory(&self) -> bool {
        self.all_notices()
            .any(|notice| notice.code == Code::InventoryLacks)
    }

    fn all_notices(&self) -> impl Iterator<Item = &Notice> {
        let of_plan = self.plan.iter().flat_map(|plan| &plan.notices);
        self.notices.iter().chain(of_plan)
    }

    /// Returns whether an apply changed anything, as far as it knows.
    pub fn did_something(&self) -> bool {
        let is_done = |status: &Status| matches!(status, Status::Success | Status::Unknown(_));
        self.changed || self.statuses.iter().any(is_done)
    }

    /// Returns whether an apply had nothing to do, or left it to another run.
    pub fn did_nothing(&self) -> bool {
        let is_idle = |plan: &Plan| plan.is_empty() && plan.adoptions.is_empty();
        let is_idle = || self.plan.as_ref().is_some_and(is_idle) && self.error.is_none();
        let is_superseded = self.superseded.is_some() && !self.did_something();
        is_superseded || is_idle()
    }

    /// Returns what became of the adoptions: an apply writes them down before its first change.
    fn adoption(&self, applied: bool) -> Status {
        let is_tried = |status: &Status| !matches!(status, Status::Pending | Status::Skipped);
        let is_over = self.error.is_none() && !self.statuses.contains(&Status::Pending);
        let is_written = is_over || self.statuses.iter().any(is_tried);
        match applied {
            false => Status::Pending,
            true if is_written && self.superseded.is_none() => Status::Success,
            true => Status::Skipped,
        }
    }

    /// Returns who agreed to deletions, and where; nobody where nobody had to.
    pub fn agreed_by(&self) -> Option<String> {
        let agreements = self.agreements.iter();
        let by = agreements.filter_map(|agreement| agreement.agreed_by.as_deref());
        let by: BTreeSet<&str> = by.collect();
        (!by.is_empty()).then(|| joined(by, "; "))
    }

    /// Returns what is held back, by why it is and what to do about it.
    pub fn held(&self) -> Vec<(String, &'static str, Vec<&Held>)> {
        let mut reasons: BTreeMap<&Why, Vec<&Held>> = BTreeMap::new();
        for held in self.plan.iter().flat_map(|plan| &plan.held) {
            reasons.entry(&held.why).or_default().push(held);
        }
        let said = |(why, held): (&Why, _)| {
            let (why, way_out) = why.said();
            (why, way_out, held)
        };
        let mut said: Vec<_> = reasons.into_iter().map(said).collect();
        said.sort();
        said
    }

    /// Returns who is to be agreed to first, where that is not the pull request of this job.
    pub fn blamed(&self) -> Option<String> {
        (!self.blamed.is_empty()).then(|| listed(&self.blamed))
    }

    /// Returns by which causes those changes come that the pull request of this job does not cause, with their places.
    pub fn others_by_cause(&self) -> BTreeMap<String, Vec<usize>> {
        let mut causes: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for place in &self.others {
            let origin = self.causes.get(*place).and_then(Option::as_ref);
            let cause = origin.map_or_else(|| "no change of the file".into(), Origin::words);
            causes.entry(cause).or_default().push(*place);
        }
        causes
    }

    /// Returns who can open the keys that the plan makes, but for those that name their recipients alone; nobody where it
    /// makes none.
    pub fn key_recipients(&self) -> &[String] {
        let is_for_all = |change: &Change| {
            let own = matches!(change.operation.after(), Some(Resource::SetupKey(key)) if key.sealed_for.only);
            change.makes_key() && !own
        };
        let mut changes = self.plan.iter().flat_map(|plan| &plan.changes);
        match changes.any(is_for_all) {
            true => &self.recipients,
            false => &[],
        }
    }

    /// Returns what a notice names as another object of an entry's name.
    fn noted(&self) -> BTreeSet<&Address> {
        let noted = self
            .all_notices()
            .filter(|of| matches!(of.code, Code::Namesake | Code::KeyNamesake));
        noted.filter_map(|of| of.about.as_ref()).collect()
    }

    /// Returns what other files of the account manage and no notice names, by file.
    pub fn elsewhere(&self) -> BTreeMap<&str, Vec<&Address>> {
        let mut files: BTreeMap<&str, Vec<&Address>> = BTreeMap::new();
        let noted = self.noted();
        let all = self.plan.iter().flat_map(|plan| &plan.elsewhere);
        for (address, file) in all.filter(|(at, _)| !noted.contains(at)) {
            files.entry(file).or_default().push(address);
        }
        files
    }

    /// Returns what is unmanaged, by kind and with its word for that many.
    pub fn unmanaged(&self) -> Vec<(&'static str, Vec<&Address>)> {
        let mut kinds: BTreeMap<_, Vec<&Address>> = BTreeMap::new();
        let noted = self.noted();
        let unmanaged = self.plan.iter().flat_map(|plan| &plan.unmanaged);
        for address in unmanaged.filter(|at| !noted.contains(at)) {
            kinds.entry(address.kind).or_default().push(address);
        }
        let label = |kind: Kind, number| match number {
            1 => kind.label(),
            _ => kind.plural(),
        };
        let kinds = kinds.into_iter();
        let kinds = kinds.map(|(kind, objects)| (label(kind, objects.len()), objects));
        kinds.collect()
    }
}

/// Returns how many changes create, change (renames of peers included), replace and delete.
fn counts<'a>(changes: impl IntoIterator<Item = &'a Change>) -> [usize; 4] {
    let mut counts = [0; 4];
    for change in changes {
        counts[match change.operation {
            Operation::Create { .. } => 0,
            Operation::Update { .. } => 1,
            Operation::Replace { .. } => 2,
            Operation::Delete { .. } => 3,
        }] += 1;
    }
    counts
}

/// What one key's peer will join, or will not any more.
struct Joining<'a> {
    /// The key.
    key: &'a str,
    /// Whether it joins.
    joins: bool,
    /// The groups that come or go.
    groups: &'a BTreeSet<String>,
    /// All groups that it will join.
    all: &'a BTreeSet<String>,
}

/// Returns the rows, by key: what comes before what goes.
fn joining<'a>(memberships: &'a Memberships) -> impl Iterator<Item = Joining<'a>> {
    memberships.all.iter().flat_map(|(key, all)| {
        let lists = [(true, &memberships.new), (false, &memberships.gone)];
        let row = move |(joins, list): (bool, &'a ByKey)| {
            let groups = list.get(key)?;
            Some(Joining {
                key,
                joins,
                groups,
                all,
            })
        };
        lists.into_iter().filter_map(row)
    })
}

/// Returns `2 memberships after enrollment`, where there are any.
fn number_joining(memberships: &Memberships) -> Option<String> {
    let (one, several) = match memberships.gone.is_empty() {
        true => ("membership", "memberships"),
        false => ("change to memberships", "changes to memberships"),
    };
    let number = memberships.len();
    (number > 0).then(|| count(number, one, several) + " after enrollment")
}
