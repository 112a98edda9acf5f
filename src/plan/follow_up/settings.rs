//! What the file says of machines: one `PUT` sets it, with the name that an enrollment gives them.

use std::collections::BTreeMap;

use super::FollowUp;
use crate::account::actual::Actual;
use crate::base::id::Id;
use crate::model::address::Address;
use crate::model::change::{Change, Operation};
use crate::model::kind::{EXPIRY, Peer, Resource, differences};
use crate::model::problem::{Impossible, Problem};

/// Adds to the changes what differs of machines; `wanted` is what the file says, by the machines that it means. Of one that
/// goes nothing is set.
pub(super) fn settings(
    so_far: &mut FollowUp,
    wanted: &BTreeMap<Id, Vec<(Address, Peer)>>,
    actual: &Actual,
) {
    for (id, entries) in wanted {
        let ([(address, after), others @ ..], Some(peer)) =
            (entries.as_slice(), actual.peers.get(id))
        else {
            continue;
        };
        if let Some((other, _)) = others.first() {
            let what = Impossible::SamePeer(other.name.clone());
            so_far.problems.push(Problem::new(address, what));
            continue;
        }
        let live = actual.live_peer(peer);
        let fields = differences(&Resource::Peer(after.clone()), &live.resource);
        let expires = fields
            .iter()
            .filter(|change| EXPIRY.contains(&change.field.as_str()));
        let of_key = expires.filter(|_| peer.user_id.is_empty());
        let refused = of_key.map(|change| Impossible::ExpiresOfKey(change.field.clone()));
        let refused = refused.map(|what| Problem::new(address, what));
        so_far.problems.extend(refused);
        if fields.is_empty() {
            continue;
        }
        let mut changes = so_far.changes.iter_mut();
        match changes.find(|change| change.is_about(id)) {
            Some(change) => {
                let Operation::Update {
                    fields: renamed,
                    after: Resource::Peer(with_name),
                    ..
                } = &mut change.operation
                else {
                    continue;
                };
                renamed.extend(fields);
                *with_name = Peer {
                    name: with_name.name.take(),
                    ..after.clone()
                };
            }
            None => {
                let operation = Operation::Update {
                    live,
                    fields,
                    after: Resource::Peer(after.clone()),
                };
                let change = Change::new(address.clone(), operation, None);
                so_far.changes.push(change);
            }
        }
    }
}
