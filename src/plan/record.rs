//! What a plan's run writes down in the inventory, whatever it changes: what became of recorded objects, who came by which key,
//! whom names mean, and who is a member because the file lists it.

use std::collections::{BTreeMap, BTreeSet};

use super::bind::Bound;
use super::resolve::{Resolved, resolve};
use super::{Given, claim, rows};
use crate::account::Actual;
use crate::base::Id;
use crate::inventory::{Adoption, Delta, Inventory, Machine, RecordedAs};
use crate::model::{Address, Change, Desired, Kind, LeftBy};
use crate::plan::{Meaning, Options, Standing};

/// What is to be written down.
#[derive(Debug, Default)]
pub(super) struct Record {
    /// What entries adopt, sorted.
    pub(super) adoptions: Vec<(Address, Adoption)>,
    /// All else.
    pub(super) delta: Delta,
    /// Rows of agreements of what does not exist any more.
    pub(super) dead: Vec<(String, LeftBy)>,
    /// What an earlier run let go and does not exist any more: the key of its entry, its id, and the change that let it go.
    pub(super) let_go_dead: Vec<(String, Id, String)>,
}

/// Finds what is to be written down. Where it is not known what is ours, nothing is.
pub(super) fn record(given: Given, resolved: &Resolved, skipped: &BTreeSet<Address>) -> Record {
    let (desired, binding, options) = (given.desired, given.binding, given.options);
    let inventory = &options.ours.inventory;
    if options.ours.standing == Standing::Unknown {
        return Record::default();
    }
    let mut record = Record {
        adoptions: adoptions(given, resolved, skipped),
        ..Record::default()
    };
    record.delta.moved = binding.moved.clone().into_iter().collect();
    record.delta.dead = binding.dead.keys().cloned().collect();
    let mut kinds = Kind::ALL.into_iter().filter(|kind| kind.goes_with_entry());
    let is_whole = given.actual.unlisted.is_empty();
    if is_whole && kinds.all(|kind| binding.whole.contains(&kind)) {
        let released = inventory.released.iter();
        let gone = released
            .filter(|id| given.actual.live(id).is_none())
            .cloned();
        record.delta.dead.extend(gone);
    }
    let versions = &options.ours.versions;
    for key in binding.dead.values().filter(|key| !desired.has(key)) {
        if let Some(cause) = rows::removal(&key.key(), versions) {
            record.dead.push((key.key(), LeftBy::Change(cause)));
        }
    }
    // a run that was killed can have deleted it, and wrote nothing down
    for (key, left) in &inventory.let_go {
        let counts = |at: Address| {
            let is_told = claim::is_managed(desired, &at) && !desired.has(&at);
            is_told && binding.whole.contains(&at.kind)
        };
        let cause = left.cause.as_ref();
        if let Some(cause) = cause.filter(|_| Address::of_key(key).is_some_and(counts)) {
            let dead = left.ids.iter().filter(|id| given.actual.live(id).is_none());
            let rows = dead.map(|id| (key.clone(), id.clone(), cause.clone()));
            record.let_go_dead.extend(rows);
        }
    }
    enrolled(given, resolved, &mut record);
    of_groups(given, resolved, &mut record);
    let is_recorded = |name: &String| {
        let mut members = inventory.members.values();
        inventory.enrolled.contains_key(name) || members.any(|of| of.contains_key(name))
    };
    let unused = inventory.names.keys();
    // each name that the file uses and that was bound means something
    let is_used = |name: &str| resolved.names.meanings.contains_key(name);
    let unused = unused.filter(|name| !is_used(name) && !is_recorded(name));
    record.delta.unused_names = unused.cloned().collect();
    for (name, meaning) in &resolved.names.meanings {
        let (delta, name) = (&mut record.delta, name.to_string());
        match meaning {
            Meaning::First(id) => drop(delta.names.insert(name, id.clone())),
            Meaning::Alone(_) => drop(delta.names.insert(name, None)),
            Meaning::Asked(id) => drop(delta.rebound.insert(name, id.clone())),
            Meaning::Key => drop(delta.unused_names.insert(name)),
            // the key of that name and its machine are gone
            Meaning::Nobody(_) if !inventory.names.contains_key(&name) => {
                drop(delta.names.insert(name, None));
            }
            Meaning::Recorded(_) | Meaning::Nobody(_) => {}
        }
    }
    record.dead.sort();
    record.dead.dedup();
    record
}

/// Returns what there is to write down of machines and members alone: for a run that reads the lists of these.
pub fn people(desired: &Desired, actual: &Actual, binding: &Bound, options: &Options) -> Delta {
    let given = Given {
        desired,
        actual,
        binding,
        options,
    };
    let mut record = Record::default();
    let resolved = resolve(given);
    enrolled(given, &resolved, &mut record);
    of_groups(given, &resolved, &mut record);
    record.delta
}

/// Returns what entries adopt.
fn adoptions(
    given: Given,
    resolved: &Resolved,
    skipped: &BTreeSet<Address>,
) -> Vec<(Address, Adoption)> {
    let binding = given.binding;
    let bound = binding.adopted.iter().map(|(id, (address, origin))| {
        let room = binding.stands.get(address).map_or(1, Vec::len);
        let (id, origin) = (id.clone(), *origin);
        (address.clone(), Adoption { id, origin, room })
    });
    let keys = resolved.decisions.iter().filter_map(|(name, decision)| {
        let (id, origin) = decision.adopts.clone()?;
        let room = 1;
        let address = Address::new(Kind::SetupKey, name);
        Some((address, Adoption { id, origin, room }))
    });
    let all = bound.chain(keys);
    let mut all: Vec<_> = all.filter(|(at, _)| !skipped.contains(at)).collect();
    all.sort_by(|(a, of_a), (b, of_b)| (a, &of_a.id).cmp(&(b, &of_b.id)));
    all
}

/// The machines that came by recorded keys of one use, and those that are no more.
fn enrolled(given: Given, resolved: &Resolved, record: &mut Record) {
    let (desired, actual, binding, options) = given.parts();
    let inventory = &options.ours.inventory;
    let recorded = inventory.recorded().map(|(key, id, _)| (key, id));
    let adopted = record.adoptions.iter();
    let adopted: Vec<(String, &Id)> = adopted.map(|(at, of)| (at.key(), &of.id)).collect();
    let adopted = adopted.iter().map(|(key, id)| (key.as_str(), *id));
    for (key, id) in recorded.chain(adopted) {
        let name = Address::of_key(key).filter(|at| at.kind == Kind::SetupKey);
        let Some(at) = name else {
            continue;
        };
        let Some((peer, by)) = options.ours.machine_of(&at.name, id, desired, actual) else {
            continue;
        };
        let known = inventory.enrolled.get(&at.name).into_iter().flatten();
        let is_known = known.clone().any(|of| of.id == *peer && of.by <= by);
        // a machine that is known keeps its name: one that is to get that of an adopted key is known once it has it
        let is_to_be_renamed = || {
            let mut coming = resolved.enrollments.iter();
            inventory.origin(id) == Some(RecordedAs::Adopted)
                && coming.any(|of| of.peer == *peer && of.renamed_from.is_some())
        };
        if !is_known && !is_to_be_renamed() {
            let machine = Machine {
                id: peer.clone(),
                by,
            };
            record.delta.enrolled.push((at.name, machine));
        }
    }
    if !binding.whole.contains(&Kind::Peer) {
        return;
    }
    for (name, machines) in &inventory.enrolled {
        let gone = machines.iter().filter(|of| !actual.peers.contains(&of.id));
        for machine in gone {
            record.delta.dead_machines.insert(machine.id.clone());
            let removal = || {
                let versions = &options.ours.versions;
                versions.changed(|file| file.setup_key(name).is_some())
            };
            if desired.setup_key(name).is_none()
                && let Some(cause) = removal()
            {
                let row = format!("peers/{}", machine.id);
                record.dead.push((row, LeftBy::Change(cause)));
            }
        }
    }
}

/// Returns the names by which the file lists the members that changes bring or take, by group and peer; of those that left the
/// file, the recorded ones.
pub(super) fn listed(
    changes: &[Change],
    resolved: &Resolved,
    inventory: &Inventory,
) -> BTreeMap<(String, Id), String> {
    let mut listed = BTreeMap::new();
    let groups = changes.iter().filter(|of| of.address.kind == Kind::Group);
    for group in groups.map(|change| &change.address.name) {
        let meant = resolved.members.get(group).into_iter();
        let meant = meant.flat_map(|members| members.meant.iter().map(|(name, id)| (*name, id)));
        let recorded = inventory.members.get(group).into_iter().flatten();
        let recorded = recorded.map(|(name, id)| (name.as_str(), id));
        // what is recorded counts more
        for (name, id) in meant.chain(recorded) {
            listed.insert((group.clone(), id.clone()), name.to_owned());
        }
    }
    listed
}

/// The listed members that are in their groups, and those that left.
fn of_groups(given: Given, resolved: &Resolved, record: &mut Record) {
    let (actual, options, binding) = (given.actual, given.options, given.binding);
    let inventory = &options.ours.inventory;
    let live = |group: &str| {
        let live = actual.named(Kind::Group, group).first();
        live.and_then(|live| live.resource.members())
    };
    for (group, members) in &resolved.members {
        let (known, inside) = (inventory.members.get(group), live(group));
        let is_known = |name: &str, id: &Id| known.and_then(|known| known.get(name)) == Some(id);
        let is_in = |id: &Id| inside.is_some_and(|inside| inside.contains(id));
        let news = members.meant.iter();
        let news = news.filter(|(name, id)| !is_known(name, id) && is_in(id));
        let news = news.map(|(name, id)| (group.clone(), (*name).to_owned(), id.clone()));
        record.delta.members.extend(news);
    }
    if !binding.whole.contains(&Kind::Group) {
        return;
    }
    for (group, members) in &inventory.members {
        let inside = live(group);
        let is_in = |id: &Id| inside.is_some_and(|inside| inside.contains(id));
        let left = members.values().filter(|id| !is_in(id));
        let left = left.map(|id| (group.clone(), id.clone()));
        record.delta.left_members.extend(left);
    }
}
