//! Entries about which nothing is done: which object such an entry means nobody can tell, or it refers to such an entry. The
//! rest of the plan goes on.

use std::collections::BTreeSet;

use super::Given;
use super::resolve::Resolved;
use crate::model::address::Address;
use crate::model::kind::{Kind, Refers, Resource};
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

/// Returns the entries that refer to a skipped one or stand in one, and which that is.
fn next(given: Given, resolved: &Resolved, skipped: &BTreeSet<Address>) -> Vec<(Address, Address)> {
    let of = |kind: Kind, name: &str| {
        let mut all = skipped.iter();
        all.find(|at| at.kind == kind && at.name == name).cloned()
    };
    let refers = |all: &[Resource]| {
        let groups = all.iter().flat_map(Resource::references);
        let others = all.iter().flat_map(Resource::others);
        let resources = others.filter(|(what, _)| *what == Refers::Resource);
        groups
            .filter_map(|name| of(Kind::Group, name))
            .chain(resources.filter_map(|(_, name)| of(Kind::NetworkResource, name)))
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
