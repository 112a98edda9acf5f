//! After an apply: fetch and plan again. It must be empty, but for what other runs and enrollments did meanwhile.
//!
//! No lock exists, so two runs may work at once, and a peer may enroll between the reading of a group and its
//! replacement. What such races leave is put right here: of namesakes the oldest stays, and members that a replacement
//! threw out come back.

use std::collections::BTreeSet;

use anyhow::{Context, Result};

use super::namesakes::{Namesakes, take_back};
use super::put_back::settle_from;
use super::{Applied, Observer};
use crate::actual::Actual;
use crate::address::Address;
use crate::api::Api;
use crate::change::{Change, Operation};
use crate::desired::Desired;
use crate::fetch::{More, Needs, complete, fetch};
use crate::id::Id;
use crate::kind::Kind;
use crate::options::Options;
use crate::plan::{self, Plan, plan};
use crate::problem::Problem;

/// What a verification found.
#[derive(Debug, Default)]
pub struct Verified {
    /// What did not converge, in words.
    pub left: Vec<String>,
    /// Why no plan can be made any more.
    pub problems: Vec<Problem>,
    /// What a peer that enrolled meanwhile leaves to do.
    pub enrolled: Vec<(&'static str, Address)>,
}

/// Fetches and plans again. Takes back what this run made second, and puts back members that its
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
        *snapshot.list_mut(Kind::Group) = api.list(Kind::Group.path()).context("cannot verify")?;
    }
    let actual = Actual::read(&snapshot)?;
    let namesakes = Namesakes::find(desired, &actual, applied);
    if !namesakes.ours.is_empty() {
        take_back(&namesakes.ours, api, desired, &actual, applied, observer)?;
        snapshot = fetch(api, needs, desired).context("cannot verify")?;
    }
    namesakes.without_theirs(&mut snapshot)?;
    let renames = plan::renames(desired, &snapshot, options);
    let actual = Actual::read_renamed(&snapshot, renames.names())?;
    // what was asked to be made anew is made
    let options = Options {
        replace: BTreeSet::new(),
        ..options.clone()
    };
    let mut planned = plan(desired, &actual, &renames, &options);
    // what keeps something from being deleted stands in lists that no other plan needs
    let more = More {
        referrers: planned.as_ref().is_ok_and(Plan::deletes_referred),
        events: false,
    };
    if complete(api, more, &mut snapshot).context("cannot verify")? {
        let actual = Actual::read_renamed(&snapshot, renames.names())?;
        planned = plan(desired, &actual, &renames, &options);
    }
    let mut verified = Verified::default();
    match planned {
        Ok(plan) => {
            for change in &plan.changes {
                let (word, address) = (change.operation.word(), change.address.clone());
                if is_enrollment(change, before) {
                    verified.enrolled.push((word, address))
                } else {
                    verified.left.push(format!("{word} {address}"))
                }
            }
        }
        Err(problems) => verified.problems = problems,
    }
    Ok(verified)
}

/// What only a peer that was not there before leaves to do.
fn is_enrollment(change: &Change, before: &Actual) -> bool {
    let is_new = |id: &Id| !before.peers.contains(id);
    match &change.operation {
        Operation::Update { live, .. } if change.address.kind == Kind::Peer => is_new(&live.id),
        Operation::Update { .. } if change.address.kind == Kind::Group => {
            let added = change.added_members();
            change.removed_members().is_empty() && !added.is_empty() && added.iter().all(is_new)
        }
        _ => false,
    }
}
