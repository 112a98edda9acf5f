//! What the file says of machines: one `PUT` sets it, with the name that an enrollment gives them.

use std::collections::BTreeMap;

use super::super::resolve::Resolved;
use super::FollowUp;
use crate::base::Id;
use crate::model::{Address, Change, EXPIRY, Impossible, Operation, PeerRef, Problem, Resource};

impl FollowUp<'_> {
    /// Adds to the changes what differs of machines. Of one that goes nothing is set.
    pub(super) fn set_machines(&mut self, resolved: &Resolved) {
        let actual = self.given.actual;
        let mut meant: BTreeMap<&Id, &Address> = BTreeMap::new();
        for (address, all) in &resolved.resources {
            let [Resource::Peer(after)] = &**all else {
                continue;
            };
            let id = after.peer.as_ref().and_then(PeerRef::id);
            let Some(peer) = id.and_then(|id| actual.peers.get(id)) else {
                continue;
            };
            if let Some(first) = meant.insert(&peer.id, address) {
                let what = Impossible::SamePeer(address.name.clone());
                self.problems.push(Problem::new(first, what));
            }
            let after = Resource::Peer(after.clone());
            let Some(update) = Operation::update(&actual.live_peer(peer), &after, None) else {
                continue;
            };
            let of_key = update.fields().iter().filter(|_| peer.user_id.is_empty());
            for expires in of_key.filter(|of| EXPIRY.contains(&of.field.as_str())) {
                let what = Impossible::ExpiresOfKey(expires.field.clone());
                self.problems.push(Problem::new(address, what));
            }
            let mut changes = self.changes.iter_mut();
            let change = changes.find(|change| change.is_about(&peer.id));
            match change.map(|change| &mut change.operation) {
                None => {
                    let change = Change::new(address.clone(), update, None);
                    self.changes.push(change);
                }
                Some(Operation::Update {
                    fields,
                    after: renamed,
                    ..
                }) => {
                    fields.extend(update.fields().iter().cloned());
                    *renamed = after.over(renamed);
                }
                // of one that goes nothing is set
                Some(_) => {}
            }
        }
    }
}
