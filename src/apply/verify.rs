//! After an apply: fetch and plan again. It must be empty, but for what other runs and enrollments did meanwhile.
//!
//! No lock exists, so two runs may work at once, and a peer may enroll between the reading of a group and its
//! replacement. What such races leave is put right here: of namesakes the oldest stays, and members that a replacement
//! threw out come back.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result};

use super::put_back::settle_from;
use super::{Applied, Observer};
use crate::actual::Actual;
use crate::api::{Api, object_path};
use crate::change::{Change, Operation};
use crate::desired::Desired;
use crate::fetch::{Needs, fetch};
use crate::keys::{self, never_sealed};
use crate::plan::{self, Options, Problem, plan};
use crate::resource::{Live, Resource, differences};
use crate::snapshot::Snapshot;
use crate::state::{Id, Kind};

/// What a verification found.
#[derive(Debug, Default)]
pub struct Verified {
    /// What did not converge, in words.
    pub left: Vec<String>,
    /// What a peer that enrolled meanwhile leaves to do.
    pub enrolled: Vec<String>,
}

/// Fetches and plans again. Takes back keys and policies that this run made second, and puts back members that its
/// writes threw out.
pub fn verify(
    api: &Api,
    desired: &Desired,
    needs: &Needs,
    options: &Options,
    before: &Actual,
    applied: &mut Applied,
    observer: &mut dyn Observer,
) -> Result<Verified> {
    let mut snapshot = fetch(api, needs, desired).context("cannot verify")?;
    if settle_from(api, &snapshot, before, applied, observer)? {
        snapshot.groups = api.list(Kind::Group.path()).context("cannot verify")?;
    }
    let actual = Actual::read(&snapshot)?;
    let surplus = settle_namesakes(api, desired, &actual, applied, observer)?;
    drop_entries(&mut snapshot, &surplus);
    let renames = plan::renames(desired, &mut snapshot, &options.ledger);
    let actual = Actual::read(&snapshot)?;
    // what was asked to be made anew is made
    let options = Options {
        replace: BTreeSet::new(),
        ..options.clone()
    };
    let mut verified = Verified::default();
    match plan(desired, &actual, &renames, &options) {
        Ok(plan) => {
            for change in &plan.changes {
                let text = format!("{} {}", change.operation.word(), change.address);
                if is_enrollment(change, before) {
                    verified.enrolled.push(text)
                } else {
                    verified.left.push(text)
                }
            }
        }
        Err(problems) => verified.left.extend(problems.iter().map(problem)),
    }
    Ok(verified)
}

fn problem(problem: &Problem) -> String {
    let plan::Problem { address, text, .. } = problem;
    format!("{address} {text}")
}

/// What only a peer that was not there before leaves to do.
fn is_enrollment(change: &Change, before: &Actual) -> bool {
    let is_new = |id: &Id| !before.peers.contains_key(id);
    match &change.operation {
        Operation::Update { live, .. } if change.address.kind == Kind::Peer => is_new(&live.id),
        Operation::Update { .. } if change.address.kind == Kind::Group => {
            let added = change.added_members();
            change.removed_members().is_empty() && !added.is_empty() && added.iter().all(is_new)
        }
        _ => false,
    }
}

/// Deletes what this run made under a name that another run took first: the lowest id stays. Returns every surplus
/// namesake, those of other runs too, which those runs delete.
fn settle_namesakes(
    api: &Api,
    desired: &Desired,
    actual: &Actual,
    applied: &mut Applied,
    observer: &mut dyn Observer,
) -> Result<BTreeSet<Id>> {
    let mut surplus = BTreeSet::new();
    let made: BTreeMap<Id, _> = applied
        .made
        .iter()
        .map(|(id, made)| (id.clone(), made.address.clone()))
        .collect();
    for (id, address) in made {
        let rivals: Vec<&Live> = actual
            .named(address.kind, &address.name)
            .iter()
            .filter(|live| live.id != id && rivals(live, &address.name, desired, actual, applied))
            .collect();
        if rivals.iter().all(|live| live.id > id) {
            surplus.extend(rivals.into_iter().map(|live| live.id.clone()));
            continue;
        }
        let deleted = api.delete(&object_path(address.kind.path(), &id.0)?);
        if let Err(error) =
            deleted.or_else(|error| if error.is_gone() { Ok(()) } else { Err(error) })
        {
            return Err(error).with_context(|| {
                format!("{address} was made by another run too, and ours {id} stays")
            });
        }
        if let Some(file) = applied.made.remove(&id).and_then(|made| made.file) {
            file.remove().with_context(|| {
                format!("the file of {address}, which another run made too, stays")
            })?;
            applied.created_keys.remove(&address.name);
        }
        observer.say(&format!(
            "{address}: another run made it first; ours was deleted again"
        ));
        surplus.insert(id);
    }
    Ok(surplus)
}

/// Whether a namesake stands for the same declared entry as what this run made.
fn rivals(live: &Live, name: &str, desired: &Desired, actual: &Actual, applied: &Applied) -> bool {
    match &live.resource {
        Resource::SetupKey(_) => {
            let (Some(key), Some(declared)) = (actual.keys.get(&live.id), desired.setup_key(name))
            else {
                return false;
            };
            let in_the_making = never_sealed(key, true) && !applied.known.contains(&live.id);
            let equal = differences(&keys::desired(declared), &live.resource).is_empty();
            key.valid && key.used_times == 0 && (equal || in_the_making)
        }
        Resource::Policy(_) => {
            let declared = desired
                .policies
                .iter()
                .flatten()
                .find(|(declared, _)| *declared == name);
            declared.is_some_and(|(_, policy)| {
                differences(&Resource::Policy(policy.clone()), &live.resource).is_empty()
            })
        }
        _ => false,
    }
}

fn drop_entries(snapshot: &mut Snapshot, surplus: &BTreeSet<Id>) {
    for list in [&mut snapshot.setup_keys, &mut snapshot.policies] {
        list.retain(|entry| {
            !entry["id"]
                .as_str()
                .is_some_and(|id| surplus.contains(&Id(id.to_owned())))
        });
    }
}
