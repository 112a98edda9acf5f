//! What is to be said of names that several peers have, and of keys that several peers can have used.

use std::collections::BTreeSet;

use super::{Found, Known};
use crate::account::Actual;
use crate::base::Id;
use crate::model::{Address, Machine, OfMember, WayOut};
use crate::wire::api::objects;

/// Whether a peer is neither a person's nor one that the server forgets.
pub(super) fn is_machine(peer: &&objects::Peer) -> bool {
    peer.user_id.is_empty() && !peer.ephemeral
}

/// Of several peers that can have come by a key, those that are members already stay so, whichever it was. One that
/// has a name that the group lists no more is no such member.
pub(super) fn several(at: &Address, peers: &[Id], live: &BTreeSet<Id>, known: Known) -> Found {
    let (desired, actual, options) = (known.desired, known.actual, known.options);
    let is_delisted = |id: &Id| {
        let recorded = options.ours.inventory.member(&at.name, id);
        recorded.is_some_and(|name| !desired.lists(at, name))
    };
    let members = peers
        .iter()
        .filter(|id| live.contains(*id) && !is_delisted(id));
    let members: Vec<Id> = members.cloned().collect();
    if !members.is_empty() {
        return Found::Peers(members, None);
    }
    let labels = peers.iter().map(|id| actual.peer_label(id));
    Found::Nobody(OfMember::OneOf(labels.collect()))
}

/// Says that the peer of a used key is gone, and who has its name.
pub(super) fn gone(member: &str, actual: &Actual) -> OfMember {
    let others = actual.peers_named(member).filter(is_machine);
    OfMember::Gone(others.map(machine).collect())
}

/// Says that other peers have a name that stands for `meant`: a machine that registered again is a new peer, and its old
/// one stays the member. `way_out` is what to do where the other is the right one.
pub(super) fn namesakes(name: &str, meant: &Id, way_out: WayOut, known: Known) -> Option<OfMember> {
    let actual = known.actual;
    let is_replaced = |peer: &objects::Peer| known.replaced.iter().any(|of| of.peer == peer.id);
    let is_other =
        |peer: &&objects::Peer| !peer.ephemeral && peer.id != *meant && !is_replaced(peer);
    let others = actual.peers_named(name).filter(is_other).map(machine);
    let others: Vec<Machine> = others.collect();
    if others.is_empty() {
        return None;
    }
    let meant = machine(actual.peers.get(meant)?);
    Some(OfMember::Twin {
        meant,
        others,
        way_out,
    })
}

pub(super) fn machine(peer: &objects::Peer) -> Machine {
    let answer = peer.answer.as_ref();
    let seen = answer.and_then(|answer| answer.read::<objects::LastSeen>().ok());
    let objects::LastSeen {
        connected,
        last_seen,
    } = seen.unwrap_or_default();
    Machine {
        id: peer.id.clone(),
        connected,
        last_seen,
    }
}
