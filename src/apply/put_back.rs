//! Members that this run's replacements of groups threw out: they come back.
//!
//! A machine that enrolls, or that somebody adds, between the reading of a group and its replacement is thrown out
//! silently. It is told by what this run wrote: a member that the last replacement did not read, that joined since the
//! first one, and that this run's user took out without meaning to. Where the event log is off, only machines that
//! enrolled meanwhile are told, by the times of their keys.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result, bail};
use jiff::Timestamp;

use super::members::{MemberMoves, members_of};
use super::{Actual, Address, Api, Applied, Entry, GroupWrites, Id, Kind, Resource, Writer};
use crate::account::{Needs, Snapshot, binding, fetch};
use crate::model::{Desired, Meanwhile};
use crate::plan::ordered;
use crate::wire::api::objects::{Event, Peer};

/// How often members are put back: each time that is a replacement, too, that somebody can run into.
const ROUNDS: usize = 5;

impl Writer<'_> {
    /// Puts members back until nobody is missing: for runs without a verification, since they have no file or ended early.
    pub fn settle_members(&mut self, applied: &mut Applied) -> Result<()> {
        if applied.groups.read.is_empty() {
            return Ok(());
        }
        let snapshot = look(self.api)?;
        self.settle_from(&snapshot, applied).map(drop)
    }

    /// Puts members back until nobody is missing; the account was just fetched. Returns whether there were any.
    pub(super) fn settle_from(
        &mut self,
        snapshot: &Snapshot,
        applied: &mut Applied,
    ) -> Result<bool> {
        if applied.groups.read.is_empty() {
            return Ok(false);
        }
        let mut newer = None;
        for round in 0..ROUNDS {
            let snapshot = newer.as_ref().unwrap_or(snapshot);
            let actual = Actual::read(snapshot)?;
            let events = match &snapshot.rest.events {
                Some(events) => events,
                None => &self.api.list("/events").context(LOST)?,
            };
            let lost = lost(events, self.before, &actual, &applied.groups);
            if lost.is_empty() {
                return Ok(round > 0);
            }
            self.put_back(lost, &actual, applied)?;
            newer = Some(look(self.api)?);
        }
        bail!(
            "members are removed from groups again and again, because others write the same groups; run again"
        )
    }

    fn put_back(&mut self, lost: Lost, actual: &Actual, applied: &mut Applied) -> Result<()> {
        let mut nothing = ordered(Vec::new(), actual);
        let labels = actual.peers.iter();
        let labels = labels.map(|peer| (peer.id.clone(), actual.peer_label(&peer.id)));
        nothing.peer_labels = labels.collect();
        self.execute(&nothing, actual, None, applied, |run| {
            for (group, peers) in lost {
                let name = run.groups.name(&group);
                let labels: Vec<String> = peers.iter().map(|id| run.label(id)).collect();
                run.write_members(&group, None, &MemberMoves::joining(peers))
                    .with_context(|| format!("cannot put members back into group {name}"))?;
                let group = Address::new(Kind::Group, name);
                run.tell(&group, Meanwhile::ThrownOut(labels));
            }
            Ok(())
        })
    }
}

/// Who is missing, by group.
type Lost = BTreeMap<Id, BTreeSet<Id>>;

const LOST: &str = "cannot verify that the groups lost no member";

fn look(api: &Api) -> Result<Snapshot> {
    fetch(api, &Needs::enrollment(), &Desired::default()).context(LOST)
}

/// Returns who is missing, by group.
fn lost(events: &[Entry], before: &Actual, actual: &Actual, writes: &GroupWrites) -> Lost {
    let known = writes.events_before.iter().flatten();
    let known: BTreeSet<&str> = known.map(String::as_str).collect();
    let events = events
        .iter()
        .filter_map(|event| event.read::<Event>().ok())
        .filter(|event| !known.contains(event.id.as_str()));
    // who took a member out of a group since the last reading of it, and who joined
    let mut removed: BTreeMap<(Id, Id), BTreeSet<String>> = BTreeMap::new();
    let mut added: BTreeSet<(Id, Id)> = BTreeSet::new();
    for event in events {
        let Some(group) = event.meta("group_id").map(Id::from) else {
            continue;
        };
        // the server's clock as an answer's Date header gives it: whole seconds
        let since = writes.read.get(&group).and_then(|(_, at)| *at);
        if event.timestamp.map(Timestamp::as_second) < since.map(Timestamp::as_second) {
            continue;
        }
        let pair = (group, Id::from(event.target_id.as_str()));
        match event.activity_code.as_str() {
            "peer.group.delete" => {
                removed.entry(pair).or_default().insert(event.initiator_id);
            }
            "peer.group.add" => drop(added.insert(pair)),
            _ => {}
        }
    }
    let me = actual.me.as_ref().map(|me| BTreeSet::from([me.id.clone()]));
    let live = actual.objects.values().flatten();
    let live: BTreeMap<&Id, &Resource> = live.map(|live| (&live.id, &live.resource)).collect();
    let mut lost = Lost::new();
    for (group, (read, _)) in &writes.read {
        let Some(group_now) = live.get(group) else {
            continue;
        };
        let members = members_of(Some(group_now));
        for peer in actual.peers.iter() {
            let pair = (group.clone(), peer.id.clone());
            if members.contains(&peer.id)
                || read.contains(&peer.id)
                || writes.removals.contains(&pair)
            {
                continue;
            }
            let is_new = !before.peers.contains(&peer.id);
            let thrown_out = match removed.get(&pair) {
                // an event can be late, and the log be off
                None => is_new && is_granted(peer, group, actual),
                by => by == me.as_ref() && (is_new || added.contains(&pair)),
            };
            if thrown_out {
                lost.entry(pair.0).or_default().insert(pair.1);
            }
        }
    }
    lost
}

/// Returns whether the one key by which a peer can have come grants the group.
fn is_granted(peer: &Peer, group: &Id, actual: &Actual) -> bool {
    let bound = actual.bindings.key_of(&peer.id);
    if let Some(key) = bound.and_then(|key| actual.keys.get(key)) {
        return key.auto_groups.contains(group);
    }
    let mut keys = actual.keys.values().filter(|key| binding::fits(key, peer));
    match (keys.next(), keys.next()) {
        (Some(key), None) => key.auto_groups.contains(group),
        _ => false,
    }
}

#[cfg(test)]
mod tests;
