//! Offboarding: with the entry of a used key goes the peer that is bound to it (design §3).
//!
//! A peer's deletion is the one thing that cannot be undone by an apply, so it needs proof: the key was ours, still lives
//! and is bound to that peer, and no group lists it. The gates then want the word of somebody, whatever the number.

use super::{Options, Plan, Problem};
use crate::actual::Actual;
use crate::change::{Change, Operation};
use crate::code::Code;
use crate::desired::Desired;
use crate::enrollment::Binding;
use crate::ledger::Proof;
use crate::notice::Notice;
use crate::resource::{Live, Resource};
use crate::scope::Prune;
use crate::state::{Address, Id, Kind};
use crate::wire::Peer;

/// Adds the deletion of the peers whose keys' entries were removed.
pub(super) fn offboard(
    plan: &mut Plan,
    desired: &Desired,
    actual: &Actual,
    options: &Options,
    problems: &mut Vec<Problem>,
) {
    if options.prune == Prune::None {
        return;
    }
    let removed = plan
        .changes
        .iter()
        .filter_map(|change| match &change.operation {
            Operation::Delete { live } if change.address.kind == Kind::SetupKey => {
                Some((&change.address, live))
            }
            _ => None,
        });
    // a key that was never ours says nothing about its peer, even where --prune all takes the key
    let undeclared = removed.filter(|(address, key)| {
        let made = key.id.created_at();
        desired.setup_key(&address.name).is_none()
            && options.ledger.proof(Kind::SetupKey, &address.name, made) == Proof::Ours
    });
    let mut changes = Vec::new();
    let mut held = Vec::new();
    for (address, key) in undeclared {
        let mut stays = |text: String| {
            plan.notices
                .push(Notice::about(Code::PeerStays, address, text))
        };
        let peer = match actual.bindings.of_key(&key.id) {
            Some(Binding::Event(id) | Binding::Time(id)) => actual.peers.get(id),
            Some(Binding::Several(peers)) => {
                let labels: Vec<String> = peers.iter().map(|id| actual.peer_label(id)).collect();
                stays(format!(
                    "was removed, and its peer stays: it was used by one of {}, and nobody can tell by which",
                    labels.join(", ")
                ));
                continue;
            }
            Some(Binding::PeerGone | Binding::Nobody) | None => None,
        };
        let Some(peer) = peer else { continue };
        if !peer.user_id.is_empty() || peer.ephemeral {
            let whose = if peer.ephemeral {
                "is ephemeral"
            } else {
                "belongs to a person"
            };
            stays(format!(
                "was removed, and its peer {:?} stays: it {whose}",
                peer.name
            ));
            continue;
        }
        let lists = |(_, group): &(_, &crate::desired::Group)| {
            group
                .peers
                .iter()
                .flatten()
                .any(|name| *name == peer.name || *name == address.name)
        };
        if let Some((group, _)) = desired.groups().find(lists) {
            stays(format!(
                "was removed, and its peer {:?} stays: group {group:?} still lists it",
                peer.name
            ));
            continue;
        }
        match in_the_way(peer, plan, actual) {
            Some(InTheWay::Held(what)) => held.push((address.clone(), key.id.clone(), peer, what)),
            Some(InTheWay::Problem(problem)) => problems.push(problem),
            None => changes.push(deletion(peer, address, actual)),
        }
    }
    // whoever agrees to what is held back agrees to all of it, and what hangs together goes together
    for (key, id, peer, what) in held {
        let is_key = |change: &Change| {
            let live = change.operation.live();
            live.is_some_and(|live| live.id == id)
        };
        plan.changes.retain(|change| !is_key(change));
        let why = format!("its peer {:?} stays: {what}", peer.name);
        plan.held.insert(key, why);
        let why = format!("{what} would be hit, and is held back");
        plan.held.insert(Address::new(Kind::Peer, &peer.name), why);
        plan.held_objects += 2;
    }
    plan.changes.extend(changes);
}

fn deletion(peer: &Peer, key: &Address, actual: &Actual) -> Change {
    let live = actual.live_peer(peer);
    Change {
        address: Address::new(Kind::Peer, &peer.name),
        operation: Operation::Delete { live },
        reason: format!(
            "enrolled with setup key {:?}, whose entry was removed",
            key.name
        ),
    }
}

/// What the peer's deletion would hit: the server deletes policies that name it whole, leaves routes through it
/// dangling, and refuses while a router uses it (netbird-api.md §4).
fn in_the_way(peer: &Peer, plan: &Plan, actual: &Actual) -> Option<InTheWay> {
    let goes = |id: &Id| {
        plan.changes.iter().any(|change| match &change.operation {
            Operation::Delete { live } => live.id == *id,
            _ => false,
        })
    };
    let uses = |live: &&Live| match &live.resource {
        Resource::Policy(policy) => {
            let resource = format!("peer {}", peer.id);
            [&policy.source_resource, &policy.destination_resource].contains(&&Some(resource))
        }
        Resource::Route(route) => route.peer.as_ref() == Some(&peer.id),
        _ => false,
    };
    let users = actual.objects.iter().flat_map(|(address, all)| {
        let using = all.iter().filter(uses).filter(|live| !goes(&live.id));
        using.map(move |_| address)
    });
    let (held, users): (Vec<&Address>, Vec<&Address>) =
        users.partition(|address| plan.held.contains_key(address));
    let routers = actual
        .peer_routers
        .get(&peer.id)
        .into_iter()
        .flatten()
        .cloned();
    let words = |addresses: &[&Address]| -> Vec<String> {
        addresses.iter().map(ToString::to_string).collect()
    };
    let all: Vec<String> = words(&users).into_iter().chain(routers).collect();
    if all.is_empty() {
        return (!held.is_empty()).then(|| InTheWay::Held(words(&held).join(", ")));
    }
    let all: Vec<String> = words(&held).into_iter().chain(all).collect();
    let text = format!("cannot be deleted: {} would be hit", all.join(", "));
    let hint = "take the peer out of them first; a policy that names it would be deleted whole";
    Some(InTheWay::Problem(Problem {
        of_deletion: true,
        ..Problem::new(
            &Address::new(Kind::Peer, &peer.name),
            text,
            Some(hint.into()),
        )
    }))
}

/// What keeps a peer from being deleted.
enum InTheWay {
    /// Something that stays until somebody agrees that it goes too, in words.
    Held(String),
    /// Something that stays.
    Problem(Problem),
}
