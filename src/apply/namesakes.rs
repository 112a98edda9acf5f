//! Objects that this run made while another one made the same: of each name the lowest id stays, and the run that made a
//! higher one deletes it. Whoever is a member of a surplus group, and what refers to it, moves to the one that stays first.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::{Applied, Observer, Run};
use crate::actual::Actual;
use crate::address::Address;
use crate::api::Api;
use crate::change::Change;
use crate::desired::Desired;
use crate::id::Id;
use crate::keys::{self, never_sealed};
use crate::kind::{Kind, Live, Resource, Tie, differences};
use crate::plan::{Twins, ordered};
use crate::snapshot::Snapshot;

/// Namesakes of what this run made.
#[derive(Default)]
pub(super) struct Namesakes {
    /// Made by this run, and not first.
    pub(super) ours: Vec<(Address, Live)>,
    /// Surplus ones that other runs made and delete, and what stays of each name.
    theirs: BTreeMap<Id, Id>,
}

impl Namesakes {
    /// Finds them.
    pub(super) fn find(desired: &Desired, actual: &Actual, applied: &Applied) -> Self {
        let mut namesakes = Namesakes::default();
        let addresses: BTreeSet<&Address> =
            applied.made.values().map(|made| &made.address).collect();
        for address in addresses {
            let counts = |live: &&Live| {
                applied.made.contains_key(&live.id)
                    || rivals(live, address, desired, actual, applied)
            };
            let of_name = actual.at(address).iter();
            let mut by_form: BTreeMap<Vec<Tie>, Vec<&Live>> = BTreeMap::new();
            for live in of_name.filter(counts) {
                // an entry that has several objects tells them apart by what they connect
                let form = match address.kind.descriptor().special.is_several {
                    true => live.resource.form().ties,
                    false => Vec::new(),
                };
                by_form.entry(form).or_default().push(live);
            }
            for equal in by_form.values() {
                // by id, which is by age
                let [stays, surplus @ ..] = &equal[..] else {
                    continue;
                };
                for live in surplus {
                    match applied.made.contains_key(&live.id) {
                        true => namesakes.ours.push((address.clone(), (*live).clone())),
                        false => drop(namesakes.theirs.insert(live.id.clone(), stays.id.clone())),
                    }
                }
            }
        }
        namesakes
    }

    /// Returns the account as it is once the other runs are done: without their surplus, and with its members and what
    /// refers to it at what stays.
    pub(super) fn without_theirs(&self, snapshot: &mut Snapshot) -> Result<(), serde_json::Error> {
        if self.theirs.is_empty() {
            return Ok(());
        }
        let stays = |entry: &Value| self.theirs.get(&Id::from(entry["id"].as_str()?));
        let mut members: BTreeMap<&Id, Vec<Value>> = BTreeMap::new();
        for kind in Kind::sections() {
            let list = snapshot.list_mut(kind);
            let mut entries = Vec::new();
            for entry in &*list {
                let mut entry = entry.value()?;
                match stays(&entry) {
                    Some(id) => {
                        let peers = entry["peers"].as_array().into_iter().flatten();
                        members.entry(id).or_default().extend(peers.cloned());
                    }
                    None => {
                        self.point(&mut entry);
                        entries.push(entry.into());
                    }
                }
            }
            *list = entries;
        }
        for group in snapshot.list_mut(Kind::Group) {
            let mut moved = group.value()?;
            let id = Id::from(moved["id"].as_str().unwrap_or_default());
            if let Some(more) = members.remove(&id) {
                let peers = moved["peers"].as_array().cloned().unwrap_or_default();
                moved["peers"] = peers.into_iter().chain(more).collect();
                *group = moved.into();
            }
        }
        Ok(())
    }

    /// Puts the ids of what stays in the place of surplus ones.
    fn point(&self, value: &mut Value) {
        match value {
            Value::String(text) => {
                if let Some(stays) = self.theirs.get(&Id::from(text.as_str())) {
                    *text = stays.to_string();
                }
            }
            Value::Array(entries) => entries.iter_mut().for_each(|entry| self.point(entry)),
            Value::Object(fields) => fields.values_mut().for_each(|field| self.point(field)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
}

/// Deletes what this run made second, and the files of such keys.
pub(super) fn take_back(
    ours: &[(Address, Live)],
    api: &Api,
    desired: &Desired,
    actual: &Actual,
    applied: &mut Applied,
    observer: &mut dyn Observer,
) -> Result<()> {
    let (groups, others): (Vec<_>, Vec<_>) = ours
        .iter()
        .partition(|(address, _)| address.kind == Kind::Group);
    let twins = Twins::of(
        groups.iter().map(|(_, live)| live.id.clone()).collect(),
        actual,
    );
    let deletion = |(address, live): &(Address, Live)| Change::deletion(address, live, None);
    let changes = others.into_iter().map(deletion).collect();
    let mut changes =
        twins.move_references(changes, actual, |address, _| desired.declares(address));
    changes.extend(twins.move_members(actual));
    changes.extend(twins.deletions(actual));
    let plan = ordered(changes, actual);
    if plan.steps.is_empty() {
        let names: Vec<String> = ours
            .iter()
            .map(|(address, _)| address.to_string())
            .collect();
        bail!(
            "another run made {} too, at the same time, and ours is in use already, so it stays for now",
            names.join(", ")
        );
    }
    Run::with(api, &plan, actual, None, observer, applied, |run| {
        for step in &plan.steps {
            let change = &plan.changes[step.change];
            run.step(*step, change).with_context(|| {
                format!(
                    "{} was made by another run too, and is not taken back",
                    change.address
                )
            })?;
        }
        Ok::<(), anyhow::Error>(())
    })?;
    for (address, live) in ours {
        if let Some(file) = applied.made.remove(&live.id).and_then(|made| made.file) {
            file.remove().with_context(|| {
                format!("the file of {address}, which another run made too, stays")
            })?;
            applied.created_keys.remove(&address.name);
        }
        observer.say(&format!(
            "{address}: another run made it first; ours was deleted again"
        ));
    }
    Ok(())
}

/// Whether a namesake stands for the same declared entry as what this run made.
fn rivals(
    live: &Live,
    address: &Address,
    desired: &Desired,
    actual: &Actual,
    applied: &Applied,
) -> bool {
    match &live.resource {
        // members move
        Resource::Group(_) => !actual.protected_groups.contains_key(&live.id),
        Resource::SetupKey(_) => {
            let (Some(key), Some(declared)) =
                (actual.keys.get(&live.id), desired.setup_key(&address.name))
            else {
                return false;
            };
            let in_the_making = never_sealed(key) && !applied.known.contains(&live.id);
            let equal = differences(&keys::desired(declared), &live.resource).is_empty();
            key.valid && key.used_times == 0 && (equal || in_the_making)
        }
        Resource::Peer(_) => false,
        _ => {
            let mut declared = desired.resource(address).iter();
            declared.any(|declared| {
                // which peers are meant was told by the plan, and is what this run made
                let mut declared = declared.clone();
                let peers = live.resource.peers();
                let named = declared.peers_mut().into_iter().zip(peers);
                named.for_each(|(named, meant)| *named = meant);
                differences(&declared, &live.resource).is_empty()
            })
        }
    }
}
