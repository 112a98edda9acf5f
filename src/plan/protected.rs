//! What `--protect` names: objects and machines, whatever NetBird calls them by now.

use std::collections::{BTreeMap, BTreeSet};

use super::Plan;
use crate::account::{Actual, Binding};
use crate::base::Id;
use crate::inventory::Inventory;
use crate::model::{Address, Change, Desired, Kind};
use crate::plan::Ours;

/// The live objects and machines that each name means, with the id of what each stands in.
pub type Protected = BTreeMap<Address, BTreeMap<Id, Option<Id>>>;

/// Returns what each of these names means: the objects that have it in NetBird, or that this plan gives it; those that were recorded
/// for an entry of that name; and the machine that came by such a key. The entry may have another name by now (`renamed_from`). What
/// has no name is meant by that of what it stands in.
pub fn read(
    named: &BTreeSet<Address>,
    plan: &Plan,
    desired: &Desired,
    actual: &Actual,
    ours: &Ours,
) -> Protected {
    if named.is_empty() {
        return Protected::new();
    }
    // what leaves the file said its former name in an older one, and these are read from git
    let is_end = |change: &Change| {
        change
            .operation
            .live()
            .is_some_and(|live| change.ends(&live.id))
    };
    let takes_away = plan.changes.iter().any(is_end);
    let older = ours.versions.older().take_while(|_| takes_away);
    let files = older.chain([desired]);
    let renamed: BTreeSet<(&Address, &str)> = files
        .flat_map(|file| &file.renamed_from)
        .map(|(at, old)| (at, old.as_str()))
        .collect();
    let meant = |named: &Address| {
        let renamed = renamed.iter();
        let renamed = renamed.filter(|(at, old)| at.kind == named.kind && *old == named.name);
        let names = renamed.map(|(at, _)| at.name.as_str());
        let names: BTreeSet<&str> = names.chain([named.name.as_str()]).collect();
        let is_it = |at: &Address| at.kind == named.kind && names.contains(at.name.as_str());
        let inventory = &ours.inventory;
        let is_recorded = |id: &Id| {
            let key = inventory.key_of(id).and_then(Address::of_key);
            key.is_some_and(|key| is_it(&key))
        };
        let objects = actual.of_kind(named.kind).filter(|(at, live)| {
            is_it(at) || names.contains(live.name.as_str()) || is_recorded(&live.id)
        });
        let objects = objects.map(|(_, live)| (live.id.clone(), live.within.clone()));
        let machines = names.iter().filter(|_| named.kind.enrolls());
        let machines = machines.flat_map(|name| machines_of(name, actual, inventory));
        let machines = machines.filter(|id| actual.peers.contains(id));
        objects.chain(machines.map(|id| (id, None))).collect()
    };
    let of = |named: &Address| {
        let mut all: BTreeMap<Id, Option<Id>> = meant(named);
        if let Some(parent) = named.parent() {
            let parents = meant(&parent);
            all.retain(|_, within| within.as_ref().is_some_and(|id| parents.contains_key(id)));
        }
        let unnamed = named.kind.children().filter(|kind| !kind.has_names());
        let inside = unnamed.flat_map(|kind| actual.of_kind(kind));
        let inside = inside.map(|(_, live)| (live.id.clone(), live.within.clone()));
        let is_inside =
            |(_, within): &(Id, Option<Id>)| within.as_ref().is_some_and(|id| all.contains_key(id));
        let inside: Vec<_> = inside.filter(is_inside).collect();
        all.extend(inside);
        (named.clone(), all)
    };
    named.iter().map(of).collect()
}

/// Returns the machines of that name in NetBird, those that came by a key of that name, and whom the name means as a member.
fn machines_of(name: &str, actual: &Actual, inventory: &Inventory) -> BTreeSet<Id> {
    let entry = Address::new(Kind::SetupKey, name).key();
    let recorded = inventory.of(&entry).into_iter().map(|(id, _)| id);
    let keys = actual.keys_named(name).map(|key| &key.id).chain(recorded);
    let bound = keys.filter_map(|key| actual.bindings.of_key(key).and_then(Binding::peer));
    let enrolled = inventory.enrolled.get(name).into_iter().flatten();
    let members = inventory.members.values().filter_map(|of| of.get(name));
    let meant = inventory.names.get(name).into_iter().flatten();
    let named = actual.peers_named(name).map(|peer| &peer.id);
    let known = enrolled
        .map(|machine| &machine.id)
        .chain(members)
        .chain(meant);
    named.chain(bound).chain(known).cloned().collect()
}

#[cfg(test)]
mod tests;
