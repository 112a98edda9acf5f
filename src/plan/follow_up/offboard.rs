//! Offboarding: with the entry of a used key goes the machine that came by it (docs/ownership.md).
//!
//! A machine's deletion is the one thing that cannot be undone by an apply, so it needs proof: it came by a recorded key, and
//! the file names it nowhere. The gates then want the word of somebody, whatever the number.

use std::collections::{BTreeMap, BTreeSet};

use super::FollowUp;
use super::held::holder;
use crate::account::Binding;
use crate::base::{Evidence, Id};
use crate::model::{
    Address, Cause, Change, Desired, Held, Kind, Notice, OfKey, OfPeer, PeerStays, Reason, Why,
};
use crate::plan::later::later;
use crate::plan::{Names, Prune, Replaced, Row, Standing};
use crate::wire::api::objects::Peer;

impl FollowUp<'_> {
    /// Deletes the machines whose keys' entries are gone.
    pub(super) fn offboard(&mut self, names: &Names) {
        let (desired, actual, _, options) = self.given.parts();
        let is_known = options.ours.standing != Standing::Unknown;
        if options.prune == Prune::None || !is_known || !desired.manages(Kind::SetupKey) {
            return;
        }
        let (versions, inventory) = (&options.ours.versions, &options.ours.inventory);
        let machines = self.machines().into_iter();
        // most machines are those of entries, and whom a name means is looked for
        let gone = machines.filter(|(_, (key, _))| desired.setup_key(key).is_none());
        for (id, (key, evidence)) in gone.collect::<Vec<_>>() {
            let names = names.of_machines().filter(|(_, meant)| **meant == id);
            let names = names.map(|(name, _)| name).chain([key.as_str()]);
            let names: BTreeSet<&str> = names.collect();
            let Some(peer) = actual.peers.get(&id).filter(|_| !desired.uses(&names)) else {
                continue;
            };
            let entry = Address::new(Kind::SetupKey, &key);
            if let Some(why) = self.stays(peer, evidence) {
                let notice = Notice::about(&entry, OfKey::PeerStays(why));
                self.notices.push(notice);
                continue;
            }
            // it was due once the entry was gone and nothing named it any more
            let cause = versions.changed(|file| file.uses(&names));
            let users = BTreeSet::from_iter(self.users(peer));
            if !users.is_empty() {
                let address = Address::new(Kind::Peer, &peer.name);
                let peer = actual.live_peer(peer);
                self.held
                    .push(Held::new(&address, &peer, Why::Needed(users)));
                continue;
            }
            let entry = entry.key();
            let reason = Reason::KeyRemoved {
                // a created key is never let go
                adopted: inventory.adopted.contains_key(&entry)
                    || inventory.let_go.contains_key(&entry),
                key,
                evidence,
            };
            self.delete(peer, reason, cause);
        }
    }

    /// Returns the machines that came by recorded keys without an entry: the key's name, and what tells so. Names the keys
    /// whose machine is not known.
    fn machines(&mut self) -> BTreeMap<Id, (String, Evidence)> {
        let (desired, actual, binding, options) = self.given.parts();
        let enrolled = options.ours.inventory.enrolled.iter();
        let enrolled = enrolled.flat_map(|(name, all)| all.iter().map(move |of| (name, of)));
        let enrolled = enrolled.map(|(name, of)| {
            let by = actual.bindings.evidence(&of.id, of.by);
            (of.id.clone(), (name.clone(), by))
        });
        // those of keys that somebody deleted before a run recorded their machines
        let dead = binding.dead.iter();
        let dead = dead.filter(|(_, at)| at.kind == Kind::SetupKey);
        let dead = dead.filter_map(|(key, at)| {
            let (peer, by) = options.ours.machine_of(&at.name, key, desired, actual)?;
            Some((peer.clone(), (at.name.clone(), by)))
        });
        let mut machines: BTreeMap<Id, (String, Evidence)> = dead.chain(enrolled).collect();
        for (id, left) in &binding.leaving {
            let Some(address) = Address::of_key(&left.key) else {
                continue;
            };
            let why = match actual.bindings.of_key(id) {
                Some(Binding::Several(peers)) => {
                    let labels = peers.iter().map(|id| actual.peer_label(id));
                    PeerStays::OneOf(labels.collect())
                }
                Some(Binding::Nobody) if actual.bindings.may_be_untold(id) => PeerStays::Untold,
                Some(Binding::Peer(peer, evidence)) => {
                    let known = machines.entry(peer.clone());
                    let known = known.or_insert_with(|| (address.name.clone(), *evidence));
                    known.1 = known.1.min(*evidence);
                    continue;
                }
                _ => continue,
            };
            let notice = Notice::about(&address, OfKey::PeerStays(why));
            self.notices.push(notice);
        }
        machines
    }

    /// Returns why a machine stays whatever the file says.
    fn stays(&self, peer: &Peer, evidence: Evidence) -> Option<PeerStays> {
        match evidence {
            // a name is no proof for a deletion
            Evidence::Name => Some(PeerStays::NameAlone(self.given.actual.who(&peer.id))),
            _ if peer.ephemeral => Some(PeerStays::Ephemeral(peer.name.clone())),
            _ if !peer.user_id.is_empty() => Some(PeerStays::Persons(peer.name.clone())),
            Evidence::Event | Evidence::Time => None,
        }
    }

    /// Deletes the peers in whose place another machine came, but where it is not known whose keys they came by.
    /// One that something else needs stays and is named: then nothing but the new one's name waits.
    pub(super) fn replace(&mut self, replaced: &[Replaced]) {
        let (actual, ours) = (self.given.actual, &self.given.options.ours);
        if ours.standing == Standing::Unknown {
            return;
        }
        for old in replaced {
            let Some(peer) = actual.peers.get(&old.peer) else {
                continue;
            };
            let users = self.users(peer);
            let by = actual.who(&old.by);
            if !users.is_empty() {
                let address = Address::new(Kind::Peer, &peer.name);
                let notice = Notice::about(&address, OfPeer::StaysInUse { by, users });
                self.notices.push(notice);
                continue;
            }
            let reason = Reason::PeerReplaced {
                key: old.key.clone(),
                by,
                evidence: old.evidence,
            };
            let asked = |file: &Desired| file.setup_key(&old.key).map(|key| key.reissue_after);
            self.delete(peer, reason, ours.versions.changed(asked));
        }
    }

    /// Adds the deletion of a peer, by that change of the file.
    fn delete(&mut self, peer: &Peer, reason: Reason, cause: Option<Cause>) {
        let live = self.given.actual.live_peer(peer);
        let address = Address::new(Kind::Peer, &peer.name);
        self.causes
            .extend(cause.map(|cause| (Row::object(&address, &live), cause)));
        self.changes.push(Change::deletion(&address, &live, reason));
    }

    /// What the peer's deletion would hit once the rest of the plan is carried out: the server deletes policies that name it whole,
    /// leaves routes through it dangling, and refuses while a router uses it (docs/netbird-api.md, "What keeps an object").
    fn users(&self, peer: &Peer) -> Vec<String> {
        let actual = self.given.actual;
        let users = later(&self.changes, actual).filter_map(|(address, live, then)| {
            let words = live.map(|live| holder(address, live, actual));
            let is_user = then.peers().iter().any(|of| of.id() == Some(&peer.id));
            is_user.then(|| words.unwrap_or_else(|| address.quoted()))
        });
        let unmanaged = actual.holders.get(&peer.id).into_iter().flatten();
        users.chain(unmanaged.cloned()).collect()
    }
}
