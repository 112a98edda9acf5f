//! After an apply: fetch and plan again. It must be empty, but for what other runs and enrollments did meanwhile.
//!
//! No lock exists, so two runs may work at once, and a peer may enroll between the reading of a group and its
//! replacement: members that a replacement threw out come back here. What two runs made at once is deleted by the next one.

use std::collections::BTreeSet;
use std::sync::Arc;

use anyhow::{Context, Result};

use super::{Actual, Address, Applied, Change, Id, Kind, Operation, Plan, Writer};
use crate::account::{Ahead, More, Needs, absent, complete, fetch_rest};
use crate::inventory::Delta;
use crate::model::{Desired, Problem};
use crate::plan::{self, Options, plan};

/// What a verification found.
#[derive(Debug, Default)]
pub struct Verified {
    /// What did not converge, in words.
    pub left: Vec<String>,
    /// Why no plan can be made any more.
    pub problems: Vec<Problem>,
    /// What a peer that enrolled meanwhile leaves to do.
    pub enrolled: Vec<(&'static str, Address)>,
    /// What is still to be written into the inventory.
    pub record: Delta,
}

impl Writer<'_> {
    /// Fetches and plans again, and puts back members that this run's writes threw out. `options` has the inventory as it is by
    /// now.
    pub fn verify(
        &mut self,
        desired: &Arc<Desired>,
        needs: &Needs,
        options: &Options,
        applied: &mut Applied,
    ) -> Result<Verified> {
        let (api, before) = (self.api, self.before);
        let fetched = fetch_rest(Ahead::default(), api, needs, desired);
        let (mut snapshot, mut early) = fetched.context("cannot verify")?;
        if self.settle_from(&snapshot, applied)? {
            let groups = api.list(Kind::Group.path()).context("cannot verify")?;
            *snapshot.list_mut(Kind::Group) = groups;
        }
        // what was to be replaced is replaced, and what was to be adopted is recorded
        let mut options = Options {
            replace: BTreeSet::new(),
            ..options.clone()
        };
        let asked = &mut Arc::make_mut(&mut options.ours).asked;
        asked.retain(|address, _| address.kind == Kind::Peer);
        let planned = loop {
            let (actual, binding) = plan::read(desired, &snapshot, early.take(), &options)?;
            let inventory = &options.ours.inventory;
            let absent = binding.absent(&actual, inventory);
            absent::confirm(api, &absent, &actual, inventory)?;
            let planned = plan(desired, &actual, &binding, &options);
            // what keeps something from being deleted stands in lists that no other plan needs
            let more = More {
                referrers: planned.as_ref().is_ok_and(Plan::deletes_referred),
                events: false,
            };
            if !complete(api, more, &mut snapshot).context("cannot verify")? {
                break planned;
            }
        };
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
                verified.record = plan.record;
            }
            Err(problems) => verified.problems = problems,
        }
        Ok(verified)
    }
}

/// What only a peer that was not there before leaves to do.
fn is_enrollment(change: &Change, before: &Actual) -> bool {
    let is_new = |id: &Id| !before.peers.contains(id);
    match &change.operation {
        Operation::Update { live, .. } if change.address.kind == Kind::Peer => is_new(&live.id),
        Operation::Update { .. } => {
            let added = change.added_members();
            change.removed_members().is_empty() && !added.is_empty() && added.iter().all(is_new)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::model::{Group, Live, Resource};
    use crate::testing::{Case, group, peer};

    #[test]
    fn only_what_a_new_machine_leaves_to_do_is_left_for_the_next_run() {
        let account = |peers: &[&str]| {
            let peers: Vec<_> = peers.iter().map(|name| peer(name)).collect();
            let live = json!({ "peers": peers, "groups": [group("g", &["old"])] });
            Case::new(json!({ "groups": { "g": {} } }), live).actual()
        };
        let (before, now) = (
            account(&["old", "older"]),
            account(&["old", "older", "new"]),
        );
        let machine = |name: &str| {
            let mut named = now.peers_named(name);
            now.live_peer(named.next().expect("a peer"))
        };
        let update = |live: Live, after: Resource| {
            let address = Address::new(live.resource.kind(), live.name.clone());
            let (live, fields) = (live, Vec::new());
            let operation = Operation::Update {
                live,
                fields,
                after,
            };
            Change::new(address, operation, None)
        };
        let renamed = |name: &str| update(machine(name), machine("new").resource);
        let with = |members: &[&str]| {
            let ids = members.iter().map(|name| machine(name).id);
            let after = Resource::Group(Group::with(Some(ids.collect())));
            update(now.named(Kind::Group, "g")[0].clone(), after)
        };
        let creation = Operation::Create {
            after: with(&["new"]).operation.after().expect("a group").clone(),
        };
        let creation = Change::new(Address::new(Kind::Group, "h"), creation, None);
        for (what, change, is_left) in [
            ("a new machine gets its name", renamed("new"), true),
            ("a machine that was there gets one", renamed("old"), false),
            ("a new machine joins", with(&["old", "new"]), true),
            ("one that was there joins", with(&["old", "older"]), false),
            ("so do both", with(&["old", "older", "new"]), false),
            (
                "a new one joins and an old one leaves",
                with(&["new"]),
                false,
            ),
            ("nobody joins", with(&["old"]), false),
            ("a group is to be made", creation, false),
        ] {
            assert_eq!(is_enrollment(&change, &before), is_left, "{what}");
        }
    }
}
