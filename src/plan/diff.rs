//! Desired × claimed → changes: the entries against what stands for them, then what goes. Whose something is was decided
//! before, and what is held back is decided after it.

use std::collections::{BTreeMap, BTreeSet};

use super::Given;
use super::claim::Claimed;
use super::resolve::Resolved;
use crate::account::actual::Actual;
use crate::base::id::Id;
use crate::model::address::Address;
use crate::model::change::{Change, Operation};
use crate::model::desired::Desired;
use crate::model::kind::{FieldChange, Kind, Live, PeerRef, Resource, differences};
use crate::model::problem::{Impossible, Problem};
use crate::model::reason::Reason;

/// What differs.
#[derive(Debug, Default)]
pub(super) struct Difference {
    /// What makes the account as the file says, but for what follows from it.
    pub(super) changes: Vec<Change>,
    /// What cannot be replaced.
    pub(super) problems: Vec<Problem>,
}

/// Compares the entries with what stands for them, and adds what goes. Of equal sides: nothing.
pub(super) fn diff(given: Given, resolved: &Resolved, claimed: &Claimed) -> Difference {
    let (desired, actual, binding, options) = given.parts();
    let mut anew = Anew {
        asked: &options.replace,
        parents: BTreeMap::new(),
    };
    let mut entries = Vec::new();
    // what differs of machines is for `follow_up`
    let compared = resolved
        .resources
        .iter()
        .filter(|(at, _)| !at.kind.enrolls());
    for (address, all) in compared {
        let claimed = claimed.managed.get(address).map(Vec::as_slice);
        for (index, after) in all.iter().enumerate() {
            // an object that waits for its peer has a place of its own
            let place = resolved
                .places
                .get(address)
                .map_or(index, |places| places[index]);
            let live = claimed.unwrap_or_default().get(place);
            let Some(live) = live.copied().flatten() else {
                let after = anew.filled(address, after.clone(), actual);
                let operation = Operation::Create { after };
                let why = binding.lost.contains(address).then_some(Reason::Lost);
                entries.push(Change::new(address.clone(), operation, why));
                continue;
            };
            let keeps_name = binding.keeps_name.contains(&live.id);
            let kept_name = keeps_name.then(|| live.name.clone());
            let name = renamed(address, live).filter(|_| !keeps_name);
            // of one that the file renames its entry is another one by now
            let is_named_back = name.is_some()
                && options.ours.inventory.origin(&live.id).is_some()
                && !binding.moved.contains_key(&live.id);
            let place = name.into_iter().chain(moved(address, live, actual));
            let update = Operation::update(live, after, place);
            let why = anew.why(address, (live, after), update.as_ref());
            let replacement = why.is_some().then(|| Operation::Replace {
                live: live.clone(),
                fields: differences(after, &live.resource),
                // what the file does not say stays as it is
                after: after.over(&live.resource),
            });
            let named_back = is_named_back.then(|| Reason::RenamedBack(live.name.clone()));
            let operation = replacement.or(update);
            let why = why.or(named_back);
            entries.extend(operation.map(|it| {
                let why = why.or_else(|| addresses(&it, actual));
                Change {
                    kept_name,
                    ..Change::new(address.clone(), it, why)
                }
            }));
        }
    }
    let keys = resolved.decisions.iter().filter_map(|(name, decision)| {
        let (operation, why) = decision.operation.clone()?;
        let address = Address::new(Kind::SetupKey, name);
        Some(Change::new(address, operation, why))
    });
    let pruned = claimed.pruned.iter().cloned();
    Difference {
        changes: entries.into_iter().chain(keys).chain(pruned).collect(),
        problems: [
            unknown_replacements(&options.replace, desired),
            unknown_adoptions(given, resolved),
            taken_names(given),
        ]
        .concat(),
    }
}

/// Whose addresses an object gets, where the file names peers in their place.
fn addresses(operation: &Operation, actual: &Actual) -> Option<Reason> {
    let mut fields = operation.fields().iter().map(|of| of.field.as_str());
    fields.find(|field| ["content", "nameservers"].contains(field))?;
    let peers = operation
        .after()?
        .peers()
        .into_iter()
        .filter_map(PeerRef::id);
    let peers: Vec<String> = peers.map(|id| actual.peer_label(id)).collect();
    (!peers.is_empty()).then_some(Reason::Address(peers))
}

/// The change of an object's name, where that is another one than its entry's.
fn renamed(address: &Address, live: &Live) -> Option<FieldChange> {
    (address.kind.has_names() && live.name != address.name).then(|| FieldChange {
        field: "name".into(),
        before: live.name.clone().into(),
        after: address.name.clone().into(),
    })
}

/// What is replaced.
struct Anew<'a> {
    /// What `--replace` names.
    asked: &'a BTreeSet<Address>,
    /// Those so far that others stand in: the old one, and the new one.
    parents: BTreeMap<Address, (&'a Live, Resource)>,
}

impl<'a> Anew<'a> {
    /// Returns why a live object is replaced rather than changed, if it is. What others stand in comes before them.
    fn why(
        &mut self,
        address: &Address,
        (live, after): (&'a Live, &Resource),
        operation: Option<&Operation>,
    ) -> Option<Reason> {
        if self.asked.contains(address) {
            return Some(Reason::Replace);
        }
        let fixed = address.kind.descriptor().fixed;
        let changes = operation.map(Operation::fields).unwrap_or_default();
        let is_changed = |field: &&&str| changes.iter().any(|change| change.field == **field);
        let fixed = fixed.iter().find(is_changed);
        if let Some(fixed) = fixed {
            self.parents.insert(address.clone(), (live, after.clone()));
            return Some(Reason::Fixed(fixed));
        }
        let parent = address
            .parent()
            .filter(|parent| self.parents.contains_key(parent));
        parent.map(|_| Reason::WithParent)
    }

    /// Returns what is created, with what the file does not say as it is on what stands in the old parent as this one is to
    /// stand in the new one: a record's full name ends in the zone's domain, and its `ttl` must not be lost.
    fn filled(&self, address: &Address, after: Resource, actual: &Actual) -> Resource {
        let (parent, inside) = (address.parent(), address.kind.inside());
        let parents = parent.and_then(|parent| self.parents.get(&parent));
        let (Some((old, new)), Some(inside)) = (parents, inside) else {
            return after;
        };
        let written = |it: &Resource, within: &Resource| {
            (inside.written)(it.fields(), &within.fields().into())
        };
        let ours = written(&after, new);
        let is_it = |live: &&Live| {
            let theirs = written(&live.resource, &old.resource);
            live.resource.kind() == address.kind
                && ours
                    .iter()
                    .all(|(field, value)| theirs.get(field) == Some(value))
        };
        let live = actual.children(old).map(|(_, live)| live).find(is_it);
        live.map_or_else(|| after.clone(), |live| after.over(&live.resource))
    }
}

/// The change of what an object stands in, where that is another one than its entry says.
fn moved(address: &Address, live: &Live, actual: &Actual) -> Option<FieldChange> {
    let parent = address.parent()?;
    let before = actual.parent_of(live)?;
    (*before != parent).then(|| FieldChange {
        field: parent.kind.word().to_owned(),
        before: before.name.clone().into(),
        after: parent.name.into(),
    })
}

/// What `--adopt` names and cannot be adopted: without an entry, not there, somebody's already, for an entry that has its object, or
/// a key that would be replaced at once.
fn unknown_adoptions(given: Given, resolved: &Resolved) -> Vec<Problem> {
    let (desired, actual, binding, options) = given.parts();
    let inventory = &options.ours.inventory;
    let is_one_more = |address: &Address, id: &Id| {
        let recorded = inventory.of(&address.key());
        let alive = recorded
            .iter()
            .filter(|(id, _)| !binding.dead.contains_key(*id));
        let mut stands = binding
            .stands
            .iter()
            .filter(|(at, _)| at.key() == address.key());
        let places = stands.next().map_or(1, |(_, places)| places.len());
        address.kind != Kind::Peer && inventory.origin(id).is_none() && alive.count() >= places
    };
    let is_superseded = |address: &Address| {
        resolved
            .decision(address)
            .is_some_and(|of| of.adopts_superseded)
    };
    let problem = |(address, id): (&Address, &Id)| {
        let (is_declared, exists) = match address.kind {
            Kind::Peer => {
                let names = BTreeSet::from([address.name.as_str()]);
                (desired.uses(&names), actual.peers.contains(id))
            }
            kind => {
                // a key keeps its name
                let can_be = |at: &Address| kind != Kind::SetupKey || at.name == address.name;
                let live = actual
                    .live(id)
                    .filter(|(at, _)| at.kind == kind && can_be(at));
                (desired.has(address), live.is_some())
            }
        };
        // one that the file renames is the object of its new name
        let entry = inventory
            .entry_of(id)
            .and_then(|(key, _)| Address::of_key(key));
        let entry = entry.filter(|entry| entry.key() != address.key() && desired.has(entry));
        let strange = options.ours.strange.get(id);
        let what = match (is_declared, exists) {
            (true, true) if let Some(entry) = entry => {
                Impossible::AdoptOfEntry(id.clone(), entry.quoted())
            }
            (true, true) if let Some(file) = strange => {
                Impossible::AdoptStrange(id.clone(), file.clone())
            }
            (true, true) if is_one_more(address, id) => Impossible::AdoptOneMore(id.clone()),
            (true, true) if is_superseded(address) => Impossible::AdoptSuperseded(id.clone()),
            (true, true) => return None,
            (false, _) => Impossible::AdoptUndeclared,
            (true, false) => Impossible::AdoptAbsent(id.clone()),
        };
        Some(Problem::new(address, what))
    };
    options.ours.asked.iter().filter_map(problem).collect()
}

/// New renames to a name that another entry gives up in the same change: the object that is to be renamed would be left, and the
/// other one be taken for it. A rename that was applied before tells nothing any more.
fn taken_names(given: Given) -> Vec<Problem> {
    let (desired, binding, options) = (given.desired, given.binding, given.options);
    let versions = &options.ours.versions;
    let taken = desired.renamed_from.iter().filter(|(address, old)| {
        let old_key = Address {
            name: (*old).clone(),
            ..(*address).clone()
        };
        let mut leaving = binding.leaving.values();
        let mut leaves = || leaving.any(|left| left.key == old_key.key());
        let is_new = || {
            let changed = versions.changed(|file| file.renamed_from.get(*address).cloned());
            changed.is_some() || versions.base().is_none()
        };
        leaves() && is_new()
    });
    let problem = |(address, old): (&Address, &String)| {
        Problem::new(address, Impossible::NameGivenUp(old.clone()))
    };
    taken.map(problem).collect()
}

fn unknown_replacements(asked: &BTreeSet<Address>, desired: &Desired) -> Vec<Problem> {
    let problem = |address: &Address| {
        let what = match address.kind.descriptor().can_be_replaced {
            true if desired.declares(address) => return None,
            true => Impossible::ReplaceUndeclared,
            false => Impossible::ReplaceOfKind,
        };
        Some(Problem::new(address, what))
    };
    asked.iter().filter_map(problem).collect()
}
