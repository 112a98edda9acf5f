//! Members of groups: NetBird replaces the whole list, so it is read again right before.

use std::collections::BTreeSet;

use anyhow::{Result, bail};
use jiff::Timestamp;

use super::{Run, gone};
use crate::api::object_path;
use crate::change::Change;
use crate::plan::Part;
use crate::resource::{Group, Live, Resource};
use crate::state::{Id, Kind};

impl Run<'_> {
    pub(super) fn update_members(
        &mut self,
        live: &Live,
        change: &Change,
        part: Part,
    ) -> Result<String> {
        let added: BTreeSet<Id> = change.added_members().into_iter().collect();
        let removed: BTreeSet<Id> = change.removed_members().into_iter().collect();
        let none = BTreeSet::new();
        let (added, removed) = match part {
            Part::Additions => (&added, &none),
            Part::Removals => (&none, &removed),
            _ => (&added, &removed),
        };
        self.write_members(&live.id, &change.address.name, added, removed)?;
        let mut said = Vec::new();
        if !added.is_empty() {
            said.push(format!("{} added", added.len()));
        }
        if !removed.is_empty() {
            said.push(format!("{} removed", removed.len()));
        }
        if said.is_empty() {
            return Ok("changed".into());
        }
        Ok(format!("members changed: {}", said.join(", ")))
    }

    /// Adds and removes members, and gives the group its name, by a full replacement that is read right before: whoever
    /// joined since stays, and so does every field that we do not know.
    pub(super) fn write_members(
        &mut self,
        group: &Id,
        name: &str,
        added: &BTreeSet<Id>,
        removed: &BTreeSet<Id>,
    ) -> Result<()> {
        let path = object_path(Kind::Group.path(), &group.0)?;
        let (fresh, at) = self
            .api
            .get_at(&path)
            .map_err(|error| gone(error, "to be changed"))?;
        let fresh = self.read(Kind::Group, fresh)?;
        let Resource::Group(Group {
            peers: Some(members),
        }) = &fresh.resource
        else {
            bail!("{path} is no group");
        };
        let kept = members.iter().filter(|id| !removed.contains(*id));
        let wanted: BTreeSet<Id> = kept.chain(added).cloned().collect();
        if wanted == *members && fresh.name == name {
            return Ok(());
        }
        let removals = removed.iter().map(|peer| (group.clone(), peer.clone()));
        self.applied.removals.extend(removals);
        self.applied.written_groups.insert(group.clone());
        let first = self.applied.first_group_write.or(at);
        self.applied.first_group_write = first.or(Some(Timestamp::now()));
        let after = Resource::Group(Group {
            peers: Some(wanted),
        });
        let body = after.request(name, Some(&fresh.wire), &self.groups)?;
        let answer = self
            .api
            .put(&path, &body)
            .map_err(|error| gone(error, "to be changed"))?;
        let stored = self.read(Kind::Group, answer)?;
        let Resource::Group(Group {
            peers: Some(stored),
        }) = &stored.resource
        else {
            bail!("{path} is no group");
        };
        // a bystander that was deleted meanwhile is no fault of this write
        match added.iter().find(|peer| !stored.contains(*peer)) {
            Some(peer) => {
                let name = self.labels.get(peer).unwrap_or(&peer.0);
                bail!("peer {name:?} was deleted meanwhile, so it did not join; run again")
            }
            None => Ok(()),
        }
    }
}
