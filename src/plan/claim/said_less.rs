//! What an entry said in the base's version of the file and says no more, and what an entry says to no effect.

use std::collections::BTreeSet;

use crate::model::{Address, Desired, Kind, Notice, OfKey, OfObject, Resource};
use crate::plan::Given;

/// Returns what a reader of the change should know, where no difference tells it: a field that is gone is not managed any more, and
/// neither is a machine whose entry is gone; what changes of a key that did its work changes nothing.
pub(super) fn said_less(given: Given) -> Vec<Notice> {
    let desired = given.desired;
    let Some(base) = given.options.ours.versions.base() else {
        return Vec::new();
    };
    let mut notices = Vec::new();
    for (address, all) in &desired.entries {
        let before = base.resource(&old_address(address, desired));
        if before == all.as_slice() {
            continue;
        }
        if let ([Resource::SetupKey(before)], [Resource::SetupKey(key)]) = (before, &all[..])
            && key.enrolled
        {
            let (before, now) = (before.clone().into(), key.clone().into());
            let changed = changed(&before, &now);
            if !changed.is_empty() {
                notices.push(Notice::about(address, OfKey::IdleChange(changed)));
            }
            continue;
        }
        let gone = all.iter().enumerate().flat_map(|(place, one)| {
            let mut alike = before.iter().filter(|of| of.connects() == one.connects());
            let by_place = || before.get(place).filter(|_| before.len() == all.len());
            let before = alike.next().or_else(by_place);
            before.map_or_else(BTreeSet::new, |before| &said(before) - &said(one))
        });
        let gone: BTreeSet<String> = gone.collect();
        if !gone.is_empty() {
            notices.push(Notice::about(address, OfObject::SaysLess(gone)));
        }
    }
    let machines = base.entries.keys().filter(|at| {
        let is_gone = !desired.declares(at) && desired.manages(at.kind);
        matches!(at.kind, Kind::Peer | Kind::User) && is_gone
    });
    notices.extend(machines.map(|at| Notice::about(at, OfObject::NotManaged)));
    notices
}

/// Returns the address that an entry had before this file renamed it, or what it stands in.
fn old_address(address: &Address, desired: &Desired) -> Address {
    let old = |at: &Address| desired.renamed_from.get(at).cloned();
    let parent = address.parent();
    Address {
        name: old(address).unwrap_or_else(|| address.name.clone()),
        within: parent.and_then(|at| old(&at)).or(address.within.clone()),
        ..address.clone()
    }
}

/// Returns the names of the fields that an entry says.
fn said(one: &Resource) -> BTreeSet<String> {
    let members = match one {
        Resource::Group(group) => group.listed.as_ref(),
        _ => None,
    };
    let fields = one
        .fields()
        .into_iter()
        .filter(|(_, value)| !value.is_null());
    let fields = fields.map(|(field, _)| field);
    fields.chain(members.map(|_| "peers".to_owned())).collect()
}

/// Returns the names of the fields that two entries say otherwise.
fn changed(before: &Resource, now: &Resource) -> BTreeSet<String> {
    let (before, now) = (before.fields(), now.fields());
    let fields = before.keys().chain(now.keys());
    let differs = |field: &&String| before.get(*field) != now.get(*field);
    fields.filter(differs).cloned().collect()
}
