//! What the file says of machines: one `PUT` sets it, with the name that an enrollment gives them.

use std::collections::BTreeMap;

use super::super::resolve::Resolved;
use super::FollowUp;
use crate::base::id::Id;
use crate::model::address::Address;
use crate::model::change::{Change, Operation};
use crate::model::kind::{EXPIRY, Peer, PeerRef, Resource, differences};
use crate::model::problem::{Impossible, Problem};

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
                continue;
            }
            let live = actual.live_peer(peer);
            let fields = differences(&Resource::Peer(after.clone()), &live.resource);
            let of_key = fields.iter().filter(|_| peer.user_id.is_empty());
            let expires = of_key.filter(|change| EXPIRY.contains(&change.field.as_str()));
            let refused = expires.map(|change| Impossible::ExpiresOfKey(change.field.clone()));
            let refused = refused.map(|what| Problem::new(address, what));
            self.problems.extend(refused);
            if fields.is_empty() {
                continue;
            }
            let mut changes = self.changes.iter_mut();
            let Some(change) = changes.find(|change| change.is_about(&peer.id)) else {
                let operation = Operation::Update {
                    live,
                    fields,
                    after: Resource::Peer(after.clone()),
                };
                let change = Change::new(address.clone(), operation, None);
                self.changes.push(change);
                continue;
            };
            if let Operation::Update {
                fields: renamed,
                after: Resource::Peer(with_name),
                ..
            } = &mut change.operation
            {
                renamed.extend(fields);
                *with_name = Peer {
                    name: with_name.name.take(),
                    ..after.clone()
                };
            }
        }
    }
}
