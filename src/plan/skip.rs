//! Entries about which nothing is done: it is not known which object such an entry means, or it refers to such an entry. The
//! rest of the plan goes on.

use std::collections::BTreeSet;

use super::Given;
use super::resolve::Resolved;
use crate::base::id::Id;
use crate::model::address::Address;
use crate::model::kind::{Kind, Live, Resource, differences};
use crate::model::notice::{Notice, OfObject};

/// What is skipped.
#[derive(Debug, Default)]
pub(super) struct Skipped {
    /// The entries.
    pub(super) entries: BTreeSet<Address>,
    /// What a reader should know.
    pub(super) notices: Vec<Notice>,
}

/// Finds the entries that could mean several objects, with all that refers to one or stands in one, and takes
/// them out of what is resolved.
pub(super) fn skip(given: Given, resolved: &mut Resolved) -> Skipped {
    let mut skipped = Skipped::default();
    for (address, ids) in &given.binding.unclear {
        let ids = ids.clone();
        let what = match given.options.ours.unread.clone() {
            Some(environment) => OfObject::MayBeStrange { ids, environment },
            None => OfObject::Unclear(ids),
        };
        skipped.notices.push(Notice::about(address, what));
        skipped.entries.insert(address.clone());
    }
    for (address, group, ids, is_same) in of_issued_twins(given, resolved) {
        let what = OfObject::IssuedTwins { group, ids };
        skipped.notices.push(Notice::about(&address, what));
        if !is_same {
            skipped.entries.insert(address);
        }
    }
    // what has the name is told beside it
    skipped.entries.extend(given.binding.taken.iter().cloned());
    let keys = resolved.decisions.iter();
    let keys = keys.filter(|(_, decision)| decision.is_skipped);
    let keys = keys.map(|(name, _)| Address::new(Kind::SetupKey, name));
    skipped.entries.extend(keys);
    if skipped.entries.is_empty() {
        return skipped;
    }
    loop {
        let found = next(given, resolved, &skipped.entries);
        if found.is_empty() {
            break;
        }
        for (address, because) in found {
            let what = OfObject::SkippedWith(because.quoted());
            skipped.notices.push(Notice::about(&address, what));
            skipped.entries.insert(address);
        }
    }
    let entries = &skipped.entries;
    resolved
        .resources
        .retain(|address, _| !entries.contains(address));
    for (name, decision) in &mut resolved.decisions {
        if entries.contains(&Address::new(Kind::SetupKey, name)) {
            decision.operation = None;
            decision.deletions.clear();
            decision.adopts = None;
            decision.is_skipped = true;
        }
    }
    skipped
}

/// Returns the entries that refer to a group by a name which several groups of an identity provider have: the group, its ids, and
/// whether the entry is as it should be, so that nothing is written. It is not known which group is meant, and no other has the
/// name.
fn of_issued_twins(given: Given, resolved: &Resolved) -> Vec<(Address, String, Vec<Id>, bool)> {
    let actual = given.actual;
    let twins = |name: &str| {
        let ids: Vec<Id> = actual.groups.ids(name).cloned().collect();
        (ids.len() > 1 && actual.are_issued(&ids)).then(|| (name.to_owned(), ids))
    };
    let is_same = |address: &Address, all: &[Resource]| {
        let stands = given.binding.stands.get(address).into_iter().flatten();
        let stands: Vec<&Id> = stands.flatten().collect();
        let live = |id: &&Id| actual.at(address).iter().find(|live| live.id == **id);
        let live: Vec<&Live> = stands.iter().filter_map(live).collect();
        let mut both = all.iter().zip(&live);
        all.len() == live.len()
            && both.all(|(one, live)| differences(one, &live.resource).is_empty())
    };
    let entries = resolved.resources.iter();
    let entries = entries.filter_map(|(address, all)| {
        let mut names = all.iter().flat_map(Resource::references);
        let (name, ids) = names.find_map(twins)?;
        Some((address.clone(), name, ids, is_same(address, all)))
    });
    let keys = given.desired.setup_keys().filter_map(|(name, key)| {
        let mut groups = key.auto_groups.iter().flatten();
        let (group, ids) = groups.find_map(|group| twins(group))?;
        let decision = resolved.decisions.get(name);
        let is_same = decision.is_none_or(|decision| decision.operation.is_none());
        Some((Address::new(Kind::SetupKey, name), group, ids, is_same))
    });
    entries.chain(keys).collect()
}

/// Returns the entries that refer to a skipped one or stand in one, and which that is.
fn next(given: Given, resolved: &Resolved, skipped: &BTreeSet<Address>) -> Vec<(Address, Address)> {
    let of = |kind: Kind, name: &str| {
        let mut all = skipped.iter();
        all.find(|at| at.kind == kind && at.name == name).cloned()
    };
    let refers = |all: &[Resource]| {
        let groups = all.iter().flat_map(Resource::references);
        let others = all.iter().flat_map(Resource::others);
        let others = others.filter_map(|(what, name)| of(what.kind()?, name));
        groups
            .filter_map(|name| of(Kind::Group, name))
            .chain(others)
            .next()
    };
    let entries = resolved.resources.iter();
    let entries = entries.map(|(address, all)| {
        let parent = address.parent().filter(|parent| skipped.contains(parent));
        (address.clone(), parent.or_else(|| refers(all)))
    });
    let keys = given.desired.setup_keys().map(|(name, key)| {
        let mut groups = key.auto_groups.iter().flatten();
        let because = groups.find_map(|group| of(Kind::Group, group));
        (Address::new(Kind::SetupKey, name), because)
    });
    let found = entries.chain(keys);
    let found = found.filter(|(address, _)| !skipped.contains(address));
    found
        .filter_map(|(address, because)| Some((address, because?)))
        .collect()
}
