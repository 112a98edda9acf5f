//! Offboarding: with the entry of a used key goes the peer that is bound to it (docs/ownership.md).
//!
//! A peer's deletion is the one thing that cannot be undone by an apply, so it needs proof: the key was ours, still lives
//! and is bound to that peer, and no group lists it. The gates then want the word of somebody, whatever the number.

use std::collections::BTreeSet;

use super::FollowUp;
use super::held::holder;
use crate::actual::Actual;
use crate::address::Address;
use crate::api::objects::Peer;
use crate::change::{Change, Operation};
use crate::desired::Desired;
use crate::enrollment::{Binding, Evidence, Replaced};
use crate::held::{Held, Why};
use crate::id::Id;
use crate::kind::{Kind, Live, PeerRef, Resource};
use crate::ledger::{Cause, Ledger};
use crate::notice::{Notice, OfKey, OfMember, OfPeer, PeerStays};
use crate::options::Prune;
use crate::plan::Given;
use crate::plan::referrers::{deleted, then};
use crate::plan::rows::Row;
use crate::reason::Reason;

/// Returns the deletion of the peers whose keys' entries were removed.
pub(super) fn offboard(given: Given, so_far: &FollowUp) -> FollowUp {
    let (desired, actual, options) = (given.desired, given.actual, given.options);
    let mut part = FollowUp::default();
    if options.prune == Prune::None {
        return part;
    }
    let removed = deleted(&so_far.changes, Kind::SetupKey);
    // a key that was never ours says nothing about its peer, even where --prune all takes the key
    let undeclared = removed.filter(|(address, key)| {
        desired.setup_key(&address.name).is_none() && given.made(address, key)
    });
    for (address, key) in undeclared {
        let peer = match bound(&key.id, actual) {
            Ok(Some(peer)) => peer,
            Ok(None) => continue,
            Err(why) => {
                part.notices
                    .push(Notice::about(address, OfKey::PeerStays(why)));
                continue;
            }
        };
        let names = [peer.name.as_str(), address.name.as_str()];
        // it was due once the entry was gone and no group listed it any more
        let ledger = &options.ledger;
        let unlisted = names.into_iter().filter_map(|name| ledger.unlisting(name));
        let due = ledger.removal(address).into_iter().chain(unlisted).max();
        // the key goes last: it alone proves that the peer may
        let waits = |why: Why| Held {
            cause: due,
            ..Held::new(address, key, why)
        };
        let lists = |group: &crate::kind::DeclaredGroup| {
            let mut listed = group.peers.iter().flatten();
            listed.any(|name| names.contains(&name.as_str()))
        };
        let groups = desired.groups().filter(|(_, group)| lists(group));
        let groups: BTreeSet<String> = groups.map(|(name, _)| name.clone()).collect();
        let label = peer.name.clone();
        if !groups.is_empty() {
            part.held.push(waits(Why::Listed {
                peer: label,
                groups,
            }));
            continue;
        }
        let users = users(peer, so_far, actual);
        if !users.is_empty() {
            let until_agreed = users.iter().all(|user| user.waits_for_agreement);
            part.held.push(waits(Why::PeerNeeded {
                peer: label,
                holders: users.into_iter().map(|user| user.words).collect(),
                until_agreed,
            }));
            continue;
        }
        let binding = actual.bindings.of_key(&key.id).and_then(Binding::bound);
        let evidence = binding.map(|(_, evidence)| evidence);
        let reason = Reason::KeyRemoved {
            key: address.name.clone(),
            evidence,
        };
        part.causes
            .extend(due.map(|due| (Row::object(address, key), due)));
        part.delete(peer, reason, due, actual);
    }
    part
}

/// Returns the peer that goes with a key, if there is one; or that it stays, and why.
fn bound<'a>(key: &Id, actual: &'a Actual) -> Result<Option<&'a Peer>, PeerStays> {
    let is_used = actual.keys.get(key).is_some_and(|key| key.used_times > 0);
    let peer = match actual.bindings.of_key(key) {
        // a name is no proof for a deletion
        Some(Binding::Peer(id, Evidence::Name)) => {
            return Err(PeerStays::NameAlone(actual.who(id)));
        }
        Some(Binding::Peer(id, Evidence::Event | Evidence::Time)) => actual.peers.get(id),
        Some(Binding::Several(peers)) => {
            let labels = peers.iter().map(|id| actual.peer_label(id));
            return Err(PeerStays::OneOf(labels.collect()));
        }
        Some(Binding::Nobody) | None if is_used && actual.bindings.may_be_untold(key) => {
            return Err(PeerStays::Untold);
        }
        Some(Binding::PeerGone | Binding::Nobody) | None => None,
    };
    match peer {
        Some(peer) if peer.ephemeral => Err(PeerStays::Ephemeral(peer.name.clone())),
        Some(peer) if !peer.user_id.is_empty() => Err(PeerStays::Persons(peer.name.clone())),
        peer => Ok(peer),
    }
}

/// Says of a name that groups list that it was a setup key until this change: from now on it is a peer's name, and as long as
/// one of them lists it the key's peer stays.
pub(super) fn names_of_keys(desired: &Desired, ledger: &Ledger) -> Vec<Notice> {
    let mut removed = ledger.names(Kind::SetupKey);
    removed.retain(|name| {
        desired.setup_key(name).is_none()
            && ledger.removal(&Address::new(Kind::SetupKey, *name)) == Some(Cause::Proposed)
    });
    let listed = desired.groups().flat_map(|(group, entry)| {
        let names = entry.peers.iter().flatten();
        names
            .filter(|name| removed.contains(name.as_str()))
            .map(move |name| (group, name))
    });
    let notice = |(group, name): (&String, &String)| {
        Notice::member(&Address::new(Kind::Group, group), name, OfMember::WasKey)
    };
    listed.map(notice).collect()
}

/// Returns the deletion of the peers in whose place another machine came. One that something else needs stays and is named:
/// then nothing but the new one's name waits.
pub(super) fn replace(given: Given, so_far: &FollowUp, replaced: &[Replaced]) -> FollowUp {
    let (actual, options) = (given.actual, given.options);
    let mut part = FollowUp::default();
    for old in replaced {
        let Some(peer) = actual.peers.get(&old.peer) else {
            continue;
        };
        let users = users(peer, so_far, actual).into_iter();
        let users: Vec<String> = users.map(|user| user.words).collect();
        if !users.is_empty() {
            let by = actual.who(&old.by);
            let address = Address::new(Kind::Peer, &peer.name);
            part.notices
                .push(Notice::about(&address, OfPeer::StaysInUse { by, users }));
            continue;
        }
        let reason = Reason::Replaced {
            key: old.key.clone(),
            by: actual.who(&old.by),
            evidence: old.evidence,
        };
        let cause = options.ledger.reissue(&old.key).map(|(_, cause)| cause);
        part.delete(peer, reason, cause, actual);
    }
    part
}

impl FollowUp {
    /// Adds the deletion of a peer, by that change of the file.
    fn delete(&mut self, peer: &Peer, reason: Reason, cause: Option<Cause>, actual: &Actual) {
        let (address, live) = (Address::new(Kind::Peer, &peer.name), actual.live_peer(peer));
        self.causes
            .extend(cause.map(|cause| (Row::object(&address, &live), cause)));
        self.changes.push(Change::deletion(&address, &live, reason));
    }
}

/// What a peer's deletion would hit.
struct User {
    /// Its name for people.
    words: String,
    /// Whether it goes once somebody agrees.
    waits_for_agreement: bool,
}

/// What the peer's deletion would hit once the rest of the plan is carried out: the server deletes policies that name it whole,
/// leaves routes through it dangling, and refuses while a router uses it (docs/netbird-api.md, "What keeps an object").
fn users(peer: &Peer, so_far: &FollowUp, actual: &Actual) -> Vec<User> {
    let uses = |resource: &Resource| resource.peers().contains(&PeerRef::Id(peer.id.clone()));
    // what the plan deletes, or brings to somebody else, is not hit
    let stays_so = |live: &Live| then(live, &so_far.changes).is_some_and(|then| uses(&then));
    let agreed = |id: &Id| {
        let mut held = so_far.held.iter();
        held.any(|held| held.id == *id && held.weight() > 0)
    };
    let users = actual.each().filter(|(_, live)| stays_so(live));
    let users = users.map(|(address, live)| User {
        words: holder(address, live, actual),
        waits_for_agreement: agreed(&live.id),
    });
    let made = so_far
        .changes
        .iter()
        .filter(|change| match &change.operation {
            Operation::Create { after } => uses(after),
            _ => false,
        });
    let unmanaged = actual.peer_holders.get(&peer.id).into_iter().flatten();
    let others = made
        .map(|change| change.address.quoted())
        .chain(unmanaged.cloned());
    users
        .chain(others.map(|words| User {
            words,
            waits_for_agreement: false,
        }))
        .collect()
}
