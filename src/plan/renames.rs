//! `renamed_from`: an entry under a new name keeps its object, and so its id and all references to it.
//!
//! The account is read as if the objects bore their new names already; then nothing that refers to them differs, and
//! the one change that is left is the name itself.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::Given;
use super::standing::{Standing, standings};
use crate::actual::{Actual, NewNames};
use crate::address::Address;
use crate::desired::Desired;
use crate::entry::Entry;
use crate::id::Id;
use crate::kind::{ALL, FieldChange, Groups, Kind, Live, Resource};
use crate::notice::{Notice, OfObject};
use crate::options::Options;
use crate::problem::{Impossible, Problem, Rename};
use crate::snapshot::Snapshot;

/// The renames of a plan.
#[derive(Debug, Clone, Default)]
pub struct Renames {
    /// The new address of each renamed object, and its old name.
    renamed: BTreeMap<Id, (Address, String)>,
    /// Their new names, to read the account with.
    names: NewNames,
    /// Entries whose `renamed_from` has no effect any more.
    pub(super) notices: Vec<Notice>,
    /// Renames that cannot be.
    pub(super) problems: Vec<Problem>,
}

/// Finds the live objects that the file renames.
pub fn renames(desired: &Desired, snapshot: &Snapshot, options: &Options) -> Renames {
    let mut renames = Renames::default();
    let mut lists: BTreeMap<Kind, Vec<Named>> = BTreeMap::new();
    for (address, old) in &desired.renamed_from {
        let (address, kind, new) = (address.clone(), &address.kind, &address.name);
        let list = lists.entry(*kind).or_insert_with(|| {
            let entries = snapshot.list(*kind).iter();
            entries.map(|entry| Named::of(*kind, entry)).collect()
        });
        let named = |name: &str| {
            let all: Vec<&Named> = list.iter().filter(|live| live.name == name).collect();
            let meant = all.iter().filter(|live| live.is_meant).count();
            (meant, if meant == 1 { 1 } else { all.len() })
        };
        let ((meant, olds), (_, news)) = (named(old), named(new));
        // what is left of the old name once it is renamed is not meant
        let olds = if meant == 0 && news > 0 { 0 } else { olds };
        let is_several =
            kind.descriptor().special.is_several && (olds > 1 || (olds == 1 && news > 0));
        if is_several {
            let ours = ours(
                &Address::new(*kind, old),
                &address,
                desired,
                snapshot,
                options,
            );
            // some bear the new name already, as after half of a rename: together not more than the entry has
            let is_half_done = news > 0 && ours.len() + news <= desired.resource(&address).len();
            if is_half_done || (news == 0 && !ours.is_empty()) || (news > 0 && ours.is_empty()) {
                if ours.is_empty() {
                    let what = OfObject::RenamedAlready(old.clone());
                    renames.notices.push(Notice::about(&address, what));
                }
                for id in ours {
                    renames.names.insert((*kind, id.clone()), new.clone());
                    renames.renamed.insert(id, (address.clone(), old.clone()));
                }
                continue;
            }
        }
        let was_declared = |old| options.ledger.was_declared(&Address::new(*kind, old));
        let mut problem = |why: Rename| {
            let what = Impossible::Rename(old.clone(), why);
            renames.problems.push(Problem::new(&address, what));
        };
        match (olds, news) {
            (0, 0) => {}
            (0, _) => {
                let what = OfObject::RenamedAlready(old.clone());
                renames.notices.push(Notice::about(&address, what));
            }
            (1, 0) if !was_declared(old) => problem(Rename::NeverDeclared),
            (1, 0) => {
                let all = list.iter_mut().filter(|live| live.name == *old);
                let Some(live) = all.min_by_key(|live| !live.is_meant) else {
                    continue;
                };
                if old == ALL || live.issued.as_str().unwrap_or("api") != "api" {
                    problem(Rename::NotOfApi);
                    continue;
                }
                live.name = Value::String(new.clone());
                let id = Id::from(live.id.as_str().unwrap_or_default());
                renames.names.insert((*kind, id.clone()), new.clone());
                renames.renamed.insert(id, (address, old.clone()));
            }
            (1.., 1..) => problem(Rename::BothLive),
            (2.., 0) => problem(Rename::Several),
        }
    }
    renames
}

/// The objects of the old name that are this file's, where its kind has several of one name. Those of the new name are
/// looked at with them: half of a rename may be done.
fn ours(
    old: &Address,
    new: &Address,
    desired: &Desired,
    snapshot: &Snapshot,
    options: &Options,
) -> Vec<Id> {
    // what cannot be read here is an error of the plan
    let actual = Actual::read(snapshot).unwrap_or_default();
    let given = Given {
        desired,
        actual: &actual,
        options,
    };
    let namesakes = [actual.at(old), actual.at(new)].concat();
    let standings = standings(given, new, &namesakes).into_iter();
    let is_ours = |standing: &Standing| {
        matches!(
            standing,
            Standing::Ours | Standing::Changed | Standing::Older
        )
    };
    let ours = namesakes.iter().zip(standings);
    let ours = ours.filter(|(live, standing)| live.name == old.name && is_ours(standing));
    ours.map(|(live, _)| live.id.clone()).collect()
}

/// What a rename looks at.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Named {
    id: Value,
    name: Value,
    /// The name of a route.
    network_id: Value,
    issued: Value,
    /// Whether a rename can mean it where several bear its name: an identity provider made it otherwise, or no file can say
    /// it.
    #[serde(skip)]
    is_meant: bool,
}

impl Named {
    fn of(kind: Kind, entry: &Entry) -> Self {
        // what cannot be read here is an error of `Actual::read`
        let mut named: Named = entry.read().unwrap_or_default();
        if kind.descriptor().special.name_field == "network_id" {
            named.name = std::mem::take(&mut named.network_id);
        }
        let is_issued = matches!(named.issued.as_str(), Some("jwt" | "integration"));
        let read = Resource::read(kind, entry.clone(), &Groups::default());
        named.is_meant =
            !is_issued && read.is_ok_and(|live| live.resource.beyond_the_file().is_none());
        named
    }
}

impl Renames {
    /// Returns the new names, to read the account with.
    pub fn names(&self) -> &NewNames {
        &self.names
    }

    /// Returns the change of the name of the live object that stands for an entry, if it is renamed.
    pub(super) fn of(&self, address: &Address, live: &Live) -> Option<FieldChange> {
        let (_, old) = self.renamed.get(&live.id).filter(|(at, _)| at == address)?;
        Some(FieldChange {
            field: "name".into(),
            before: Value::String(old.clone()),
            after: Value::String(address.name.clone()),
        })
    }
}
