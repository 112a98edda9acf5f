//! What a half offboarding leaves: a machine whose setup key left the file and is gone from NetBird, too. Nothing proves any
//! more that its peer may be deleted, so nobody ever would, and nobody would know.

use std::collections::HashSet;

use super::FollowUp;
use crate::address::Address;
use crate::api::objects::Peer;
use crate::kind::Kind;
use crate::ledger::Proof;
use crate::notice::{Notice, OfPeer};
use crate::plan::Given;

/// Names the peers that bear the name of a key that the file declared when they came, where neither the file nor a live key
/// says anything of them.
pub(super) fn notices(given: Given, so_far: &FollowUp) -> Vec<Notice> {
    let (desired, actual, options) = (given.desired, given.actual, given.options);
    if !desired.manages(Kind::SetupKey) {
        return Vec::new();
    }
    let groups = desired.groups();
    let listed = groups.flat_map(|(_, group)| group.peers.iter().flatten());
    let listed: HashSet<&str> = listed.map(String::as_str).collect();
    let going = so_far.going();
    let is_left = |peer: &&Peer| {
        let came = peer.created_at.map(|at| at.as_second());
        peer.user_id.is_empty()
            && !peer.ephemeral
            && !going.contains(&peer.id)
            && !listed.contains(peer.name.as_str())
            && desired.setup_key(&peer.name).is_none()
            && actual.bindings.key_of(&peer.id).is_none_or(|key| {
                // of a key that lives more is known; it waits for its peer, or its peer for it
                !actual.keys.contains_key(key)
            })
            && options
                .ledger
                .proof(&Address::new(Kind::SetupKey, &peer.name), came)
                == Proof::Ours
    };
    let notice = |peer: &Peer| {
        let what = OfPeer::LeftBehind(peer.id.clone());
        Notice::about(&Address::new(Kind::Peer, &peer.name), what)
    };
    actual.peers.iter().filter(is_left).map(notice).collect()
}
