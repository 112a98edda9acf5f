//! Members of groups: NetBird replaces the whole list, so it is read again right before. Every write of a group goes through
//! here, and what it may have dropped is put back by `apply::put_back`.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result, bail};
use jiff::Timestamp;

use super::{Actual, Address, Change, Execution, Id, Kind, Live, Part, Resource, StepOutcome};
use crate::model::{Group, Meanwhile};
use crate::wire::api::{object_path, objects};

/// What this run's replacements of groups read and meant. Whoever joins between the reading and the replacement is thrown
/// out without a word; with this that can be told from what others did on purpose.
#[derive(Default)]
pub(super) struct GroupWrites {
    /// Ids of events that were there before the first of them; `None` where nobody looked.
    pub(super) events_before: Option<BTreeSet<String>>,
    /// Whether somebody wants to know.
    wanted: bool,
    /// What the last replacement of each group read, and the server's clock then.
    pub(super) read: BTreeMap<Id, (BTreeSet<Id>, Option<Timestamp>)>,
    /// Members that were meant to leave: (group, peer).
    pub(super) removals: BTreeSet<(Id, Id)>,
}

impl GroupWrites {
    /// Begins with what was known when the plan was made.
    pub(super) fn since(actual: &Actual, wanted: bool) -> Self {
        GroupWrites {
            events_before: actual.events_known.then(|| actual.event_ids.clone()),
            wanted,
            ..GroupWrites::default()
        }
    }
}

/// What a write does to the members of a group.
#[derive(Default)]
pub(super) struct MemberMoves {
    /// Join.
    pub(super) added: BTreeSet<Id>,
    /// Leave.
    pub(super) removed: BTreeSet<Id>,
    /// Were members when the plan was made, and the file says so: they are to be members whoever took them out since.
    pub(super) declared: BTreeSet<Id>,
}

impl MemberMoves {
    /// Nothing but these who join.
    pub(super) fn joining(added: BTreeSet<Id>) -> Self {
        MemberMoves {
            added,
            ..MemberMoves::default()
        }
    }
}

impl Execution<'_> {
    pub(super) fn update_members(
        &mut self,
        live: &Live,
        change: &Change,
        part: Part,
    ) -> Result<StepOutcome> {
        let added: BTreeSet<Id> = change.added_members().into_iter().collect();
        let removed: BTreeSet<Id> = change.removed_members().into_iter().collect();
        let unmanaged = self.plan.unmanaged_members.get(&change.address.name);
        let declared = members_of(change.operation.after())
            .into_iter()
            .filter(|id| !added.contains(id) && !unmanaged.is_some_and(|ids| ids.contains(id)))
            .collect();
        let mut moves = MemberMoves {
            added,
            removed,
            declared,
        };
        match part {
            Part::Making => moves.removed.clear(),
            Part::Breaking => moves.declared.append(&mut moves.added),
            Part::Whole => {}
        }
        let lost = self.write_members(&live.id, Some((change, live)), &moves)?;
        let mut said = Vec::new();
        for (ids, word) in [(&moves.added, "added"), (&moves.removed, "removed")] {
            if !ids.is_empty() {
                said.push(format!("{} {word}", ids.len()));
            }
        }
        let said = match said.is_empty() {
            true => "changed".to_owned(),
            false => format!("members changed: {}", said.join(", ")),
        };
        Ok(StepOutcome {
            is_as_planned: lost.is_empty(),
            text: said + lost,
        })
    }

    /// Moves members, and gives the group the name of the change, by a full replacement that is read right before: whoever
    /// joined since stays, and so does every field that we do not know. Returns what to say of a lost answer.
    pub(super) fn write_members(
        &mut self,
        group: &Id,
        planned: Option<(&Change, &Live)>,
        moves: &MemberMoves,
    ) -> Result<&'static str> {
        self.remember_events()?;
        let path = object_path(Kind::Group.path(), &group.0)?;
        let (fresh, at) = self.api.get_at(&path).map_err(super::gone)?;
        let fresh = self.read(Kind::Group, fresh)?;
        let members = members_of(Some(&fresh.resource));
        let name = match planned {
            Some((change, live)) => {
                self.tell_renamed(change, live, &fresh);
                change.name().to_owned()
            }
            None => fresh.name.clone(),
        };
        let back: BTreeSet<Id> = moves.declared.difference(&members).cloned().collect();
        let kept = members.difference(&moves.removed);
        let wanted: BTreeSet<Id> = kept.chain(&moves.added).chain(&back).cloned().collect();
        if wanted == members && fresh.name == name {
            return Ok("");
        }
        let removals = moves.removed.iter();
        let removals = removals.map(|peer| (group.clone(), peer.clone()));
        self.applied.groups.removals.extend(removals);
        self.applied
            .groups
            .read
            .insert(group.clone(), (members, at));
        let after = Resource::Group(Group::with(Some(wanted)));
        let body = after.request(&name, Some(&fresh.wire.value()?), &self.groups)?;
        let is_done = |found: &Live| {
            let members = members_of(Some(&found.resource));
            found.name == name
                && moves.added.is_subset(&members)
                && moves.removed.is_disjoint(&members)
        };
        let address = Address::new(Kind::Group, name.clone());
        let (stored, lost) = self.put(&address, &path, &body, is_done)?;
        let stored = members_of(Some(&stored.resource));
        // one that is not there now was deleted, which is no fault of this write
        let back: Vec<String> = back
            .intersection(&stored)
            .map(|id| self.label(id))
            .collect();
        if !back.is_empty() {
            self.tell(&address, Meanwhile::TookOut(back));
        }
        match moves.added.iter().find(|peer| !stored.contains(*peer)) {
            Some(peer) => {
                let name = self.label(peer);
                bail!("peer {name:?} was deleted meanwhile, so it did not join; run again")
            }
            None => Ok(lost),
        }
    }

    /// Events that were there before the first replacement tell of nothing that this run did. Their times do not tell
    /// that, since the server's answers have whole seconds.
    fn remember_events(&mut self) -> Result<()> {
        let groups = &self.applied.groups;
        if groups.wanted && groups.events_before.is_none() {
            let events = self.api.list("/events").context(
                "cannot read the event log, which says whom the replacement of a group removes",
            )?;
            let events = events.iter().filter_map(|event| event.read().ok());
            let ids = events.map(|event: objects::Event| event.id);
            self.applied.groups.events_before = Some(ids.collect());
        }
        Ok(())
    }

    pub(super) fn label(&self, peer: &Id) -> String {
        let label = self.plan.peer_labels.get(peer).cloned();
        label.unwrap_or_else(|| peer.to_string())
    }
}

/// Returns the members of a group; nobody of what is not a group.
pub(super) fn members_of(resource: Option<&Resource>) -> BTreeSet<Id> {
    let members = resource.and_then(Resource::members);
    members.cloned().unwrap_or_default()
}
