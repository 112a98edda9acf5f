//! What a half offboarding leaves: a machine whose setup key left the file and is gone from NetBird, too. Nothing proves any
//! more that its peer may be deleted, so nobody ever would, and nobody would know.

use std::collections::HashSet;

use super::FollowUp;
use crate::actual::Actual;
use crate::address::Address;
use crate::api::objects::Peer;
use crate::code::Code;
use crate::desired::Desired;
use crate::kind::Kind;
use crate::ledger::Proof;
use crate::notice::Notice;
use crate::options::Options;

/// Names the peers that bear the name of a key that the file declared when they came, where neither the file nor a live key
/// says anything of them.
pub(super) fn notices(
    so_far: &FollowUp,
    desired: &Desired,
    actual: &Actual,
    options: &Options,
) -> Vec<Notice> {
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
            && desired.setup_key(&peer.name).is_none()
            && !listed.contains(peer.name.as_str())
            && actual.bindings.key_of(&peer.id).is_none_or(|key| {
                // of a key that lives more is known; it waits for its peer, or its peer for it
                !actual.keys.contains_key(key)
            })
            && options.ledger.proof(Kind::SetupKey, &peer.name, came) == Proof::Ours
    };
    let notice = |peer: &Peer| {
        let text = format!(
            "({}) stays in the network, though the setup key of that name left the file: that key is gone from NetBird too, \
             so nothing proves any more that its machine may go. Delete the peer in NetBird, or list it in a group if it \
             is to stay",
            peer.id
        );
        Notice::about(Code::PeerStays, &Address::new(Kind::Peer, &peer.name), text)
    };
    actual.peers.iter().filter(is_left).map(notice).collect()
}
