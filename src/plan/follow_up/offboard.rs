//! Offboarding: with the entry of a used key goes the machine that came by it (docs/ownership.md).
//!
//! A machine's deletion is the one thing that cannot be undone by an apply, so it needs proof: it came by a recorded key, and
//! the file names it nowhere. The gates then want the word of somebody, whatever the number.

use std::collections::{BTreeMap, BTreeSet};

use super::FollowUp;
use super::held::holder;
use crate::account::actual::Actual;
use crate::account::binding::Binding;
use crate::base::evidence::Evidence;
use crate::base::id::Id;
use crate::model::address::Address;
use crate::model::change::{Change, Operation};
use crate::model::held::{Held, Why};
use crate::model::kind::{Kind, Live, Resource};
use crate::model::notice::{Notice, OfKey, OfPeer, PeerStays};
use crate::model::origin::Cause;
use crate::model::reason::Reason;
use crate::plan::Given;
use crate::plan::enrollment::Replaced;
use crate::plan::members::Names;
use crate::plan::options::Prune;
use crate::plan::ours::Standing;
use crate::plan::referrers::then;
use crate::plan::rows::Row;
use crate::wire::api::objects::Peer;

/// Returns the deletion of the machines whose keys' entries are gone.
pub(super) fn offboard(given: Given, so_far: &FollowUp, names: &Names) -> FollowUp {
    let (desired, actual, options) = (given.desired, given.actual, given.options);
    let mut part = FollowUp::default();
    let is_known = options.ours.standing != Standing::Unknown;
    if options.prune == Prune::None || !is_known || !desired.manages(Kind::SetupKey) {
        return part;
    }
    let versions = &options.ours.versions;
    for (id, (key, evidence)) in machines(given, &mut part) {
        let Some(peer) = actual.peers.get(&id) else {
            continue;
        };
        if desired.setup_key(&key).is_some() {
            continue;
        }
        let names: BTreeSet<&str> = names.of_machine(&id).chain([key.as_str()]).collect();
        if desired.uses(&names) {
            continue;
        }
        if let Some(why) = stays(peer, evidence, actual) {
            let address = Address::new(Kind::SetupKey, &key);
            part.notices
                .push(Notice::about(&address, OfKey::PeerStays(why)));
            continue;
        }
        // it was due once the entry was gone and nothing named it any more
        let removal = versions.changed(|file| file.setup_key(&key).is_some());
        let cause = removal.max(versions.changed(|file| file.uses(&names)));
        let (here, there) = users(peer, so_far, given);
        if !here.is_empty() || !there.is_empty() {
            let address = Address::new(Kind::Peer, &peer.name);
            let is_here = !here.is_empty();
            let users = here.into_iter().chain(there).collect();
            let why = match is_here {
                true => Why::NeededHere(users),
                false => Why::Needed(users),
            };
            part.held.push(Held {
                cause,
                ..Held::new(&address, &actual.live_peer(peer), why)
            });
            continue;
        }
        let inventory = &options.ours.inventory;
        let entry = Address::new(Kind::SetupKey, &key).key();
        let reason = Reason::KeyRemoved {
            // a created key is never let go
            adopted: inventory.adopted.contains_key(&entry)
                || inventory.let_go.contains_key(&entry),
            key,
            evidence,
        };
        part.delete(peer, reason, cause, actual);
    }
    part
}

/// Returns the machines that came by recorded keys without an entry: the key's name, and what tells so. Names the keys
/// whose machine is not known.
fn machines(given: Given, part: &mut FollowUp) -> BTreeMap<Id, (String, Evidence)> {
    let (desired, actual, binding, options) = given.parts();
    let enrolled = options.ours.inventory.enrolled.iter();
    let enrolled = enrolled.flat_map(|(name, all)| all.iter().map(move |of| (name, of)));
    let enrolled = enrolled.map(|(name, of)| {
        let by = actual.bindings.evidence(&of.id, of.by);
        (of.id.clone(), (name.clone(), by))
    });
    let mut machines: BTreeMap<Id, (String, Evidence)> = enrolled.collect();
    for (id, left) in &binding.leaving {
        let key = Address::of_key(&left.key).filter(|at| at.kind == Kind::SetupKey);
        let Some(address) = key.filter(|at| !desired.declares(at)) else {
            continue;
        };
        match actual.bindings.of_key(id) {
            Some(Binding::Several(peers)) => {
                let labels = peers.iter().map(|id| actual.peer_label(id));
                let why = OfKey::PeerStays(PeerStays::OneOf(labels.collect()));
                part.notices.push(Notice::about(&address, why));
            }
            Some(Binding::Peer(peer, evidence)) => {
                let known = machines.entry(peer.clone());
                let known = known.or_insert_with(|| (address.name.clone(), *evidence));
                known.1 = known.1.min(*evidence);
            }
            Some(Binding::Nobody) if actual.bindings.may_be_untold(id) => {
                let why = OfKey::PeerStays(PeerStays::Untold);
                part.notices.push(Notice::about(&address, why));
            }
            _ => {}
        }
    }
    machines
}

/// Returns why a machine stays whatever the file says.
fn stays(peer: &Peer, evidence: Evidence, actual: &Actual) -> Option<PeerStays> {
    match evidence {
        // a name is no proof for a deletion
        Evidence::Name => Some(PeerStays::NameAlone(actual.who(&peer.id))),
        _ if peer.ephemeral => Some(PeerStays::Ephemeral(peer.name.clone())),
        _ if !peer.user_id.is_empty() => Some(PeerStays::Persons(peer.name.clone())),
        Evidence::Event | Evidence::Time => None,
    }
}

/// Returns the deletion of the peers in whose place another machine came, but where it is not known whose keys they came by.
/// One that something else needs stays and is named: then nothing but the new one's name waits.
pub(super) fn replace(given: Given, so_far: &FollowUp, replaced: &[Replaced]) -> FollowUp {
    let (actual, options) = (given.actual, given.options);
    let mut part = FollowUp::default();
    if options.ours.standing == Standing::Unknown {
        return part;
    }
    for old in replaced {
        let Some(peer) = actual.peers.get(&old.peer) else {
            continue;
        };
        let (here, there) = users(peer, so_far, given);
        let users: Vec<String> = here.into_iter().chain(there).collect();
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
        let versions = &options.ours.versions;
        let cause = versions.changed(|file| {
            let key = file.setup_key(&old.key);
            key.map(|key| key.reissue_after)
        });
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

/// What the peer's deletion would hit once the rest of the plan is carried out: the server deletes policies that name it whole,
/// leaves routes through it dangling, and refuses while a router uses it (docs/netbird-api.md, "What keeps an object"). Entries of
/// the file, and what only NetBird has.
fn users(peer: &Peer, so_far: &FollowUp, given: Given) -> (Vec<String>, Vec<String>) {
    let actual = given.actual;
    let uses = |resource: &Resource| resource.peers().iter().any(|of| of.id() == Some(&peer.id));
    // what the plan deletes, or brings to somebody else, is not hit
    let stays_so = |live: &Live| then(live, &so_far.changes).is_some_and(|then| uses(&then));
    let users = actual.each().filter(|(_, live)| stays_so(live));
    let (here, there): (Vec<_>, Vec<_>) = users.partition(|(at, _)| given.desired.declares(at));
    let words = |users: Vec<(&Address, &Live)>| -> Vec<String> {
        let words = users.into_iter().map(|(at, live)| holder(at, live, actual));
        words.collect()
    };
    let makes_it =
        |change: &&Change| matches!(&change.operation, Operation::Create { after } if uses(after));
    let made = so_far.changes.iter().filter(makes_it);
    let made = made.map(|change| change.address.quoted());
    let unmanaged = actual.holders.get(&peer.id).into_iter().flatten();
    let here = words(here).into_iter().chain(made).collect();
    let there = words(there).into_iter().chain(unmanaged.cloned());
    (here, there.collect())
}
