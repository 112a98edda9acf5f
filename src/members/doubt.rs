//! What is said of names that several peers bear, and of keys that several peers can have used.

use std::collections::BTreeSet;

use super::{Found, Known};
use crate::actual::Actual;
use crate::api::objects;
use crate::code::Code;
use crate::id::Id;

/// What to do for a machine that came otherwise than by the key of its name.
const NEW_KEY: &str =
    "give that machine a new key of this name, with \"enrolled\": false and reissue_after";

/// The same, as a way out.
pub(super) fn new_key() -> String {
    NEW_KEY.into()
}

/// Whether a peer is neither a person's nor one that the server forgets.
pub(super) fn is_machine(peer: &&objects::Peer) -> bool {
    peer.user_id.is_empty() && !peer.ephemeral
}

/// Of several peers that can have come by a key, those that are members already stay so, whichever it was. One that
/// bears a name that the group lists no more is no such member.
pub(super) fn several(
    member: &str,
    group: &str,
    peers: &[Id],
    live: &BTreeSet<Id>,
    known: Known,
) -> Found {
    let Known {
        desired,
        actual,
        options,
        ..
    } = known;
    let lists = |name: &str| {
        let group = desired.groups().find(|(of, _)| *of == group);
        group.is_some_and(|(_, group)| group.peers.iter().flatten().any(|at| at == name))
    };
    let is_delisted = |id: &Id| {
        let peer = actual.peers.get(id);
        let name = peer.map(|peer| peer.name.as_str());
        name.is_some_and(|name| options.ledger.was_listed(group, name) && !lists(name))
    };
    let members = peers
        .iter()
        .filter(|id| live.contains(*id) && !is_delisted(id));
    let members: Vec<Id> = members.cloned().collect();
    if !members.is_empty() {
        return Found::Peers(members);
    }
    let labels: Vec<String> = peers.iter().map(|id| actual.peer_label(id)).collect();
    let labels = labels.join(", ");
    Found::Nobody(
        Code::MemberUnclear,
        format!(
            "lists {member:?}, whose key was used by one of several peers ({labels}): which one cannot be told"
        ),
    )
}

/// Says that the peer of a used key is gone, and who bears its name.
pub(super) fn gone(member: &str, actual: &Actual) -> String {
    let others = actual.peers_named(member).filter(is_machine).map(seen);
    let others: Vec<String> = others.collect();
    let other = match others.is_empty() {
        true => String::new(),
        false => format!(
            "; {} came otherwise, though it bears the name: {NEW_KEY}",
            others.join(" and ")
        ),
    };
    format!("lists {member:?}, whose key was used, but its peer is gone{other}")
}

/// Says that other peers bear a name that stands for `meant`: a machine that registered again is a new peer, and its old
/// one stays the member. `way` is what to do where the other is the right one.
pub(super) fn namesakes(
    name: &str,
    meant: &Id,
    way: impl Fn() -> String,
    known: Known,
) -> Option<(Code, String)> {
    let actual = known.actual;
    let is_other = |peer: &&objects::Peer| {
        !peer.ephemeral && peer.id != *meant && !known.replaced.contains(&peer.id)
    };
    let others = actual.peers_named(name).filter(is_other).map(seen);
    let others: Vec<String> = others.collect();
    let (are, it, one, rest) = match others[..] {
        [] => return None,
        [_] => ("bears", "it is", "it is", "the other"),
        _ => ("bear", "they are", "one of them is", "the others"),
    };
    let meant = seen(actual.peers.get(meant)?);
    let way = way();
    let text = format!(
        "lists {name:?}, which is the peer {meant}; {} {are} the name too, and {it} not added. If {one} the machine \
         that is meant, {way}; else rename {rest}",
        others.join(" and ")
    );
    Some((Code::MemberTwin, text))
}

/// A peer's id, and what tells people whether its machine lives.
fn seen(peer: &objects::Peer) -> String {
    match (peer.connected, peer.last_seen) {
        (true, _) => format!("{} (connected)", peer.id),
        (false, Some(at)) => format!("{} (last seen {at:.0})", peer.id),
        (false, None) => peer.id.to_string(),
    }
}
