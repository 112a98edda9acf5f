//! What was ours once and is kept back: for want of proof, or since something that is not ours needs it.

use std::collections::{BTreeMap, BTreeSet};

use super::Plan;
use super::possible::referrers;
use crate::actual::Actual;
use crate::change::Operation;
use crate::desired::Desired;
use crate::ledger::Cause;
use crate::resource::{Live, Resource};
use crate::state::{Address, Id, Kind};
use crate::text::listed;

/// An object that stays, though the file declares it no more.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Held {
    /// Its kind and name.
    pub address: Address,
    /// Its id: names are not unique.
    pub id: Id,
    /// Why it stays.
    pub why: Why,
    /// The change of the file that took its entry out, where history tells.
    pub cause: Option<Cause>,
}

/// Why something is held back.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Why {
    /// It is older than its declaration.
    Older,
    /// It is newer than the removal of its entry.
    Newer,
    /// We made it, and somebody changed it into what the file never said.
    Changed,
    /// Its id does not say when it was made.
    Undated,
    /// These are not ours and need it.
    Needed(BTreeSet<String>),
    /// A group that lists nothing but these, which are no more.
    NeededByGone(BTreeSet<String>),
    /// A used key whose peer stays, since these groups of the file list it.
    Listed {
        /// The peer.
        peer: String,
        /// The groups.
        groups: BTreeSet<String>,
    },
    /// A used key whose peer stays, since these need it that are not the file's.
    PeerNeeded {
        /// The peer.
        peer: String,
        /// What needs it.
        holders: BTreeSet<String>,
        /// Whether all of them go once somebody agrees: then key and peer do, too.
        until_agreed: bool,
    },
}

impl Held {
    /// Returns how many live objects go once somebody agrees to it: none where no agreement helps.
    pub fn weight(&self) -> usize {
        match self.why {
            Why::Older | Why::Newer | Why::Changed | Why::Undated => 1,
            // key and peer
            Why::PeerNeeded { until_agreed, .. } => 2 * usize::from(until_agreed),
            Why::Needed(_) | Why::NeededByGone(_) | Why::Listed { .. } => 0,
        }
    }

    /// Returns whether it is a key that waits for its peer to go.
    pub(super) fn waits(&self) -> bool {
        matches!(self.why, Why::Listed { .. } | Why::PeerNeeded { .. })
    }

    /// Returns why it stays, as it follows the object's name.
    pub fn reason(&self) -> String {
        match &self.why {
            Why::Older => "it was there before the file declared it".into(),
            Why::Newer => "it was made by hand after its entry was removed".into(),
            Why::Changed => "it was changed by hand into what the file never said".into(),
            Why::Undated => {
                "its id does not say when it was made, so nothing proves whose it is".into()
            }
            Why::Needed(holders) | Why::NeededByGone(holders) => {
                format!("it is still used by {}", joined(holders))
            }
            Why::Listed { peer, groups } => {
                let word = if groups.len() == 1 { "group" } else { "groups" };
                let names: BTreeSet<String> =
                    groups.iter().map(|name| format!("{name:?}")).collect();
                let verb = if groups.len() == 1 { "lists" } else { "list" };
                format!(
                    "its peer {peer:?} stays: {word} {} still {verb} it",
                    joined(&names)
                )
            }
            Why::PeerNeeded { peer, holders, .. } => {
                format!(
                    "its peer {peer:?} stays: it is still used by {}",
                    joined(holders)
                )
            }
        }
    }

    /// Returns what to do about it.
    pub fn way_out(&self) -> &'static str {
        match &self.why {
            Why::Older | Why::Newer | Why::Changed | Why::Undated => {
                "it goes once somebody agrees with Allow-Deletes, and stays until then"
            }
            Why::Needed(_) => {
                "take it out there in NetBird, then the next apply deletes it; or declare it again"
            }
            // netbird-api.md §20: the list of the PUT is the whole list
            Why::NeededByGone(_) => {
                "only the API takes that out of the group: PUT /api/groups/ID with {\"name\": \"NAME\"} and nothing else, then the \
                 next apply deletes it; or declare it again"
            }
            Why::Listed { .. } => {
                "take it out there too, then key and peer go; or put the key's entry back"
            }
            Why::PeerNeeded {
                until_agreed: true, ..
            } => "key and peer go with them once somebody agrees with Allow-Deletes",
            Why::PeerNeeded { .. } => {
                "take the peer out there in NetBird, then key and peer go; or put the key's entry back"
            }
        }
    }
}

fn joined(names: &BTreeSet<String>) -> String {
    let names: Vec<&String> = names.iter().collect();
    listed(&names)
}

/// Names an object for people, with its id and, of a key, its state.
pub(super) fn holder(address: &Address, live: &Live, actual: &Actual) -> String {
    let state = actual
        .keys
        .get(&live.id)
        .map(|key| format!(", {}", key.state));
    let Address { kind, name } = address;
    format!(
        "{} {name:?} ({}{})",
        kind.label(),
        live.id,
        state.unwrap_or_default()
    )
}

/// Keeps back every group that only things need which are not ours: what the file does not declare, and fields that it does
/// not say of what it declares. Where the file itself names the group, the deletion stays in the plan, and is impossible.
pub(super) fn keep_groups(
    plan: &mut Plan,
    resources: &BTreeMap<Address, Resource>,
    desired: &Desired,
    actual: &Actual,
) {
    let is_ours = |address: &Address| resources.contains_key(address) || desired.declares(address);
    // a declared key that is done is no resource: what NetBird has of it was the file's
    let names = |address: &Address, group: &str| match resources.get(address) {
        Some(resource) => resource.references().contains(group),
        None => is_ours(address),
    };
    // a dead key of ours lets go of a group that goes
    let lets_go = |address: &Address, live: &Live| {
        let waits = || {
            plan.held
                .iter()
                .any(|held| held.id == live.id && held.waits())
        };
        actual.keys.get(&live.id).is_some_and(|key| !key.valid) && (is_ours(address) || waits())
    };
    let referrers = referrers(&plan.changes, actual);
    let mut kept: BTreeMap<Id, Held> = BTreeMap::new();
    for change in &plan.changes {
        let Operation::Delete { live } = &change.operation else {
            continue;
        };
        if change.address.kind != Kind::Group {
            continue;
        }
        let users = referrers.get(&live.name).into_iter().flatten();
        let users: Vec<_> = users
            .filter(|(address, user)| !lets_go(address, user))
            .collect();
        if users.iter().any(|(address, _)| names(address, &live.name)) {
            continue;
        }
        let users = users.iter().map(|(address, user)| {
            let holder = holder(address, user, actual);
            match is_ours(address) {
                true => format!("{holder}, in a field that the file does not say"),
                false => holder,
            }
        });
        let foreign = actual.foreign_referrers.get(&live.id).into_iter().flatten();
        let holders: BTreeSet<String> = users.chain(foreign.cloned()).collect();
        if !holders.is_empty() {
            let held = Held {
                address: change.address.clone(),
                id: live.id.clone(),
                why: match actual.gone_resources.get(&live.id) == Some(&holders) {
                    true => Why::NeededByGone(holders),
                    false => Why::Needed(holders),
                },
                cause: None,
            };
            kept.insert(live.id.clone(), held);
        }
    }
    plan.changes.retain(|change| match &change.operation {
        Operation::Delete { live } => !kept.contains_key(&live.id),
        _ => true,
    });
    plan.held.extend(kept.into_values());
}
