//! Desired × actual → changes: the entries against what stands for them. What goes decides `claim`, and what is held back is
//! decided after both.

use std::collections::{BTreeMap, BTreeSet};

use super::Given;
use super::resolve::Resolved;
use crate::account::Actual;
use crate::base::{Id, did_you_mean};
use crate::model::{
    Address, Change, Desired, FieldChange, Impossible, Kind, Live, Operation, PeerRef, Problem,
    Reason, Resource, differences,
};
use crate::plan::Meaning;

/// Compares the entries with what stands for them. Of equal sides: nothing. Returns what makes the account as
/// the file says, but for what follows from it, and what cannot be replaced or adopted.
pub(super) fn diff(given: Given, resolved: &Resolved) -> (Vec<Change>, Vec<Problem>) {
    let (desired, actual, binding, options) = given.parts();
    let mut anew = Anew {
        asked: &options.replace,
        parents: BTreeMap::new(),
    };
    let mut changes = Vec::new();
    // what differs of machines is for `follow_up`
    let compared = resolved
        .resources
        .iter()
        .filter(|(at, _)| !at.kind.enrolls());
    for (address, all) in compared {
        for (index, after) in all.iter().enumerate() {
            // an object that waits for its peer has a place of its own
            let place = resolved
                .places
                .get(address)
                .map_or(index, |places| places[index]);
            let Some(live) = given.stands(address, place, after) else {
                let after = anew.filled(address, after.clone(), actual);
                let operation = Operation::Create { after };
                let recorded = options.ours.inventory.of(&address.key());
                let mut recorded = recorded.into_iter();
                let is_lost = recorded.any(|(id, _)| actual.live(id).is_none());
                let why = is_lost.then_some(Reason::Lost);
                changes.push(Change::new(address.clone(), operation, why));
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
            changes.extend(operation.map(|it| {
                let why = why.or_else(|| addresses(&it, actual));
                Change {
                    kept_name,
                    ..Change::new(address.clone(), it, why)
                }
            }));
        }
    }
    let decisions = resolved.decisions.values();
    let of_keys = decisions.flat_map(|of| of.deletions.iter().chain(&of.change));
    changes.extend(of_keys.cloned());
    let adoptions = options.ours.asked.iter();
    let adoptions = adoptions.filter_map(|(address, id)| {
        let what = not_adoptable(address, id, given, resolved)?;
        Some(Problem::new(address, what))
    });
    let problems = unknown_replacements(&options.replace, desired).into_iter();
    let problems = problems.chain(adoptions).chain(taken_names(given));
    (changes, problems.collect())
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
    (live.name != address.name).then(|| FieldChange {
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
            ours.iter()
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

/// Why what `--adopt` names cannot be adopted: without an entry, not there, somebody's already, for an entry that has its object, or
/// a key that would be replaced at once.
fn not_adoptable(
    address: &Address,
    id: &Id,
    given: Given,
    resolved: &Resolved,
) -> Option<Impossible> {
    let (desired, actual, binding, options) = given.parts();
    let inventory = &options.ours.inventory;
    let is_machine = address.kind == Kind::Peer;
    let is_used = || desired.uses(&BTreeSet::from([address.name.as_str()]));
    if !(is_machine && is_used() || desired.has(address)) {
        return Some(Impossible::AdoptUndeclared(near(address, desired)));
    }
    let meaning = resolved.names.meanings.get(&*address.name);
    if is_machine && !matches!(meaning, Some(Meaning::Asked(_))) {
        return Some(Impossible::AdoptForKey(id.clone()));
    }
    let live = actual.live(id).filter(|(at, _)| at.kind == address.kind);
    if !(live.is_some() || is_machine && actual.peers.contains(id)) {
        return Some(Impossible::AdoptAbsent(id.clone()));
    }
    // a key keeps its name
    if address.kind == Kind::SetupKey && live.is_some_and(|(at, _)| at.name != address.name) {
        return Some(Impossible::AdoptUnfit(id.clone()));
    }
    let recorded = inventory.entry_of(id);
    let is_own = recorded.is_some_and(|(key, _)| key == address.key());
    let entry = recorded.and_then(|(key, _)| Address::of_key(key));
    let entry = entry.filter(|entry| entry.key() != address.key() && desired.has(entry));
    let mut asked = options.ours.asked.iter().filter(|_| !is_machine);
    let asked = asked.find(|(at, of)| *of == id && *at != address);
    if let Some((at, _)) = asked {
        return Some(Impossible::AdoptTwice(id.clone(), at.quoted()));
    }
    // one that the file renames, or that somebody renamed to another entry's name, stands for that one
    let mut others = binding.stands.iter();
    let other = others
        .find(|(at, ids)| at.key() != address.key() && ids.iter().flatten().any(|of| of == id));
    if let Some(entry) = entry.or(other.map(|(at, _)| at.clone())) {
        return Some(Impossible::AdoptOfEntry(id.clone(), entry.quoted()));
    }
    if let Some(file) = options.ours.strange.get(id) {
        return Some(Impossible::AdoptStrange(id.clone(), file.clone()));
    }
    let mut renames = desired.renamed_from.iter();
    let rename = renames.find(|(at, _)| at.key() == address.key());
    let old = rename.map(|(_, old)| Address {
        name: old.clone(),
        ..address.clone()
    });
    let keys = [Some(address.key()), old.map(|old| old.key())];
    let keys: Vec<String> = keys.into_iter().flatten().collect();
    let known = keys.iter().flat_map(|key| inventory.of(key));
    let alive = known.filter(|(of, _)| *of != id && !binding.dead.contains_key(*of));
    let mut stands = binding.stands.iter();
    let stands = stands.find(|(at, _)| at.key() == address.key());
    let places = stands.map_or(1, |(_, places)| places.len());
    if !is_own && alive.count() >= places {
        return Some(Impossible::AdoptOneMore(id.clone()));
    }
    if let Some((at, places)) = stands
        && !places.iter().flatten().any(|of| of == id)
        && !binding.skipped.contains(at)
    {
        return Some(Impossible::AdoptUnfit(id.clone()));
    }
    let is_superseded = resolved.decision(address)?.adopts_superseded;
    is_superseded.then(|| Impossible::AdoptSuperseded(id.clone()))
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

/// Asks whether another entry was meant.
fn near(address: &Address, desired: &Desired) -> Option<String> {
    let names = desired.of_kind(address.kind);
    did_you_mean(&address.name, names.map(|(name, _)| name.as_str()))
}

fn unknown_replacements(asked: &BTreeSet<Address>, desired: &Desired) -> Vec<Problem> {
    let problem = |address: &Address| {
        let what = match address.kind.descriptor().can_be_replaced {
            true if desired.declares(address) => return None,
            true => Impossible::ReplaceUndeclared(near(address, desired)),
            false => Impossible::ReplaceOfKind,
        };
        Some(Problem::new(address, what))
    };
    asked.iter().filter_map(problem).collect()
}
