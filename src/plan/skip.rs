//! Entries about which nothing is done: it is not known which object such an entry means, or it refers to such an entry. The
//! rest of the plan goes on.

use std::collections::BTreeSet;

use super::Given;
use super::resolve::Resolved;
use crate::base::Id;
use crate::model::{Address, Kind, Live, Notice, OfObject, Refers, Resource, differences};

/// Finds the entries that could mean several objects, with all that refers to one or stands in one, and takes
/// them out of what is resolved. Returns them, and what a reader should know.
pub(super) fn skip(given: Given, resolved: &mut Resolved) -> (BTreeSet<Address>, Vec<Notice>) {
    let (mut entries, mut notices) = (given.binding.skipped.clone(), Vec::new());
    // it is not known which group is meant, and no other one has the name
    let mut protected = given.actual.protected_groups.keys();
    let has_issued = protected.any(|id| given.actual.are_issued([id]));
    for (address, all) in resolved.entries(given.desired).filter(|_| has_issued) {
        let mut groups = all.iter().flat_map(Resource::references);
        if let Some((group, ids)) = groups.find_map(|group| issued_twins(group, given)) {
            let is_done = is_done(address, all, given, resolved);
            let twins = OfObject::IssuedTwins {
                group,
                ids,
                is_done,
            };
            notices.push(Notice::about(address, twins));
            if !is_done {
                entries.insert(address.clone());
            }
        }
    }
    let keys = resolved.decisions.iter();
    let keys = keys.filter(|(_, decision)| decision.is_skipped);
    let keys = keys.map(|(name, _)| Address::new(Kind::SetupKey, name));
    entries.extend(keys);
    if entries.is_empty() {
        return (entries, notices);
    }
    // what an entry refers to, and what it stands in, is of a kind before its own
    for (address, all) in resolved.entries(given.desired) {
        if entries.contains(address) {
            continue;
        }
        let skipped = |(what, name): (Refers, &str)| {
            let mut all = entries.iter();
            all.find(|at| at.kind.referred_as() == Some(what) && at.name == name)
        };
        let parent = address.parent().filter(|parent| entries.contains(parent));
        let because = parent.or_else(|| {
            all.iter()
                .flat_map(Resource::refers)
                .find_map(skipped)
                .cloned()
        });
        if let Some(because) = because {
            let what = OfObject::SkippedWith(because.quoted());
            notices.push(Notice::about(address, what));
            entries.insert(address.clone());
        }
    }
    resolved
        .resources
        .retain(|address, _| !entries.contains(address));
    for (name, decision) in &mut resolved.decisions {
        if entries.contains(&Address::new(Kind::SetupKey, name)) {
            decision.change = None;
            decision.deletions.clear();
            decision.adopts = None;
            decision.is_skipped = true;
        }
    }
    (entries, notices)
}

/// Returns a group's name and the groups of identity providers that have it, where there are several and no other one.
fn issued_twins(group: &str, given: Given) -> Option<(String, Vec<Id>)> {
    let ids: Vec<Id> = given.actual.groups.ids(group).cloned().collect();
    let is_so = ids.len() > 1 && given.actual.are_issued(&ids);
    is_so.then(|| (group.to_owned(), ids))
}

/// Whether an entry is as it should be, so that nothing is written.
fn is_done(address: &Address, all: &[Resource], given: Given, resolved: &Resolved) -> bool {
    if address.kind == Kind::SetupKey {
        let decision = resolved.decision(address);
        return decision.is_none_or(|of| of.change.is_none() && of.deletions.is_empty());
    }
    let parent = address
        .parent()
        .map(|parent| given.binding.stands.get(&parent));
    let parent = parent.and_then(|ids| ids?.first()?.as_ref());
    let keeps_name = &given.binding.keeps_name;
    let is_in_place = |live: &Live| {
        let is_called_so = live.name == address.name || keeps_name.contains(&live.id);
        is_called_so && live.within.as_ref() == parent
    };
    let is_as = |(place, one): (usize, &Resource)| {
        let live = given.stands(address, place, one);
        live.is_some_and(|live| is_in_place(live) && differences(one, &live.resource).is_empty())
    };
    let places = given.binding.stands.get(address).map_or(1, Vec::len);
    let is_replaced = given.options.replace.contains(address);
    !is_replaced && all.len() == places && all.iter().enumerate().all(is_as)
}
