//! What an apply goes by, and what it leaves.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::AtomicBool;

use anyhow::Result;

use super::{Address, Change, GroupWrites, Id, Inventory, Resource, Status};
use crate::inventory::Delta;
use crate::model::Notice;
use crate::plan::Ours;
use crate::render::CreatedKey;
use crate::secret::{KeysDir, Recipients};

/// Is told what happens while it happens.
pub trait Observer {
    /// A step begins.
    fn begins(&mut self, _number: usize, _total: usize, _change: &Change) {}
    /// A step is over.
    fn step(&mut self, number: usize, total: usize, change: &Change, outcome: &StepOutcome);
    /// A secret was sealed: the text that opens with a recipient's identity.
    fn sealed(&mut self, name: &str, armored: &str);
    /// Something worth knowing happened.
    fn say(&mut self, text: &str);
    /// The state of things after each step, for a report that outlives a killed run.
    fn state(&mut self, _applied: &Applied) {}
    /// New keys are sealed, and nobody can use them yet or other kinds come next: what is to be kept of the sealed keys is kept
    /// now.
    fn keys_made(&mut self, _applied: &Applied) {}
}

/// What is to be said of a step that is over.
pub struct StepOutcome {
    /// In words.
    pub text: String,
    /// Whether it is just what the plan says: nobody misses it who does not see it.
    pub is_as_planned: bool,
}

impl StepOutcome {
    pub(super) fn as_planned(text: impl Into<String>) -> Self {
        StepOutcome {
            text: text.into(),
            is_as_planned: true,
        }
    }

    /// What failed, or went otherwise than anybody expected.
    pub(super) fn otherwise(text: impl Into<String>) -> Self {
        StepOutcome {
            text: text.into(),
            is_as_planned: false,
        }
    }
}

/// How to go about it.
#[derive(Clone, Copy)]
pub struct Conduct<'a> {
    /// Where new secrets go; only a plan without new keys needs none.
    pub custody: Option<&'a Custody>,
    /// Where the run writes down what it makes; only a plan that makes and deletes nothing needs none.
    pub records: Option<Records<'a>>,
    /// Carry on after a failure with what does not depend on it.
    pub keep_going: bool,
    /// Set by a signal: the operation in hand is finished, the rest is not tried.
    pub stop: &'a AtomicBool,
    /// Says whether the file is still the one to apply, before each block of new keys and of deletions: an error ends the run.
    pub fresh: &'a dyn Fn() -> Result<()>,
    /// Whether members that replacements of groups throw out are put back after it.
    pub puts_back: bool,
}

/// Where a run writes down what it makes, and what it knew when the plan was made.
#[derive(Clone, Copy)]
pub struct Records<'a> {
    /// Where it writes it down.
    pub recorder: &'a dyn Recorder,
    /// What was known of what is ours.
    pub ours: &'a Ours,
}

/// Where new secrets go.
pub struct Custody {
    /// Who can open them.
    pub recipients: Recipients,
    /// Where the sealed files are.
    pub dir: KeysDir,
    /// Whether copies of them are kept with the inventory, where they outlive the job.
    pub copies: bool,
}

impl Custody {
    /// Returns who opens the key that is to be made.
    pub fn recipients_of(&self, key: &Resource) -> Recipients {
        match key {
            Resource::SetupKey(key) => self.recipients.of_key(&key.sealed_for),
            _ => self.recipients.clone(),
        }
    }
}

/// A sealed key, to be copied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyCopy {
    /// The key's name.
    pub name: String,
    /// Its id: a name can have several keys in the course of time.
    pub id: Id,
    /// The sealed text.
    pub armored: String,
}

/// Where a run writes down what it did.
pub trait Recorder {
    /// Reads the newest inventory; none where there is none (any more).
    fn newest(&self) -> Result<Option<Inventory>>;

    /// Returns whether what the event log says of our own user proves that a run of this inventory did it: no other one of the
    /// account is kept beside it.
    fn log_proves(&self) -> Result<bool>;

    /// Puts changes onto the newest inventory one after the other, with copies of sealed keys in the same commit, and returns what it is then and
    /// the path of each copy (none where no copies are kept). Writes nothing where nothing differs. Errors where a run that
    /// read, saw or wrote an inventory finds none.
    fn record(&self, deltas: &[Delta], copies: &[KeyCopy]) -> Result<Recorded, NotRecorded>;
}

/// What is written down.
pub struct Recorded {
    /// The inventory as it is now.
    pub inventory: Inventory,
    /// Where the copy of each key is; none where no copies are kept.
    pub places: Vec<Option<String>>,
}

/// Why nothing could be written down, and what to do about it.
#[derive(Debug)]
pub struct NotRecorded {
    /// The reason.
    pub why: String,
    /// What to do.
    pub hint: Option<String>,
}

impl std::fmt::Display for NotRecorded {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "cannot write the inventory ({})", self.why)
    }
}

/// What an apply leaves for its report, for the inventory and for `verify`.
#[derive(Default)]
pub struct Applied {
    /// What became of each change of the plan.
    pub statuses: Vec<Status>,
    /// How long each change of the plan took, in milliseconds.
    pub durations_ms: Vec<u64>,
    /// New keys whose secret is sealed.
    pub created_keys: BTreeMap<String, CreatedKey>,
    /// A signal ended it early, or the server no longer takes the token or its user.
    pub interrupted: bool,
    /// What to do about the first failure, where the server's answer tells.
    pub hint: Option<String>,
    /// What to do next, where it is not to run again.
    pub next: Option<String>,
    /// Whether the file is still the one to apply could not be said, or it is not.
    pub stale: Option<anyhow::Error>,
    /// Objects that this run made and that live, by id; also those that another run of ours made meanwhile, as the event log
    /// proves.
    pub(super) made: BTreeMap<Id, Address>,
    /// Objects that somebody made meanwhile for entries of this plan, by id.
    pub(super) met: BTreeMap<Id, Address>,
    /// The inventory as it was after this run wrote its newest keys into it.
    pub recorded: Option<Inventory>,
    /// Objects that do not exist any more, by this run or when it was about to delete them.
    pub(super) deleted: BTreeSet<Id>,
    /// Changes whose object is not deleted after all, since another run or a machine needs it by now.
    pub(super) kept: BTreeSet<usize>,
    /// Ids of the objects that were there before.
    pub(super) known: BTreeSet<Id>,
    /// DNS labels that the server made of new names of peers.
    pub dns_labels: BTreeMap<Id, String>,
    /// What others changed meanwhile and what became of it.
    pub notices: Vec<Notice>,
    /// Whether a write was carried out.
    pub(super) wrote: bool,
    /// This run's replacements of groups.
    pub(super) groups: GroupWrites,
}

impl Applied {
    /// Returns whether everything was carried out, but for what is not to be deleted after all.
    pub fn is_complete(&self) -> bool {
        let mut statuses = self.statuses.iter().enumerate();
        statuses.all(|(at, status)| *status == Status::Success || self.kept.contains(&at))
    }

    /// Returns whether the object of that change is not deleted after all.
    pub fn is_kept(&self, change: usize) -> bool {
        self.kept.contains(&change)
    }

    /// Returns whether a change failed, or nobody knows whether it did.
    pub fn has_failed(&self) -> bool {
        let failed = |status: &Status| matches!(status, Status::Failed(_) | Status::Unknown(_));
        self.statuses.iter().any(failed)
    }

    /// Returns whether the account may differ from what it was.
    pub fn changed_something(&self) -> bool {
        let unknown = |status: &Status| matches!(status, Status::Unknown(_));
        self.wrote || self.statuses.iter().any(unknown)
    }
}
