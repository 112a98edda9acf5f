//! Which declared keys were used since, and what that asks for: one pure function that `plan`, `apply` and
//! `sync-events` share, so that a peer that enrolled a minute ago is never unmanaged for any of them.

pub mod sync;

use std::collections::BTreeSet;

use crate::account::{Actual, Binding};
use crate::base::{Evidence, Id};
use crate::inventory::Inventory;
use crate::model::{Address, Desired, Kind, Notice, Open, Remark, Stays};
use crate::plan::Prune;
use crate::plan::keys::{Came, Choice, Used};
use crate::wire::api::objects::Peer;

/// A pending key that was used, and the peer that it is bound to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Enrollment {
    /// The key's name, which the peer is to have.
    pub key: String,
    /// The peer.
    pub peer: Id,
    /// What tells that the peer came by the key.
    pub evidence: Evidence,
    /// The peer's name, where it is another.
    pub renamed_from: Option<String>,
    /// Names of the groups that it belongs to: the key's, and those that list it.
    pub groups: BTreeSet<String>,
    /// Peers of older keys of that name: it gets the name once they are gone.
    pub replaces: BTreeSet<Id>,
}

/// A peer that goes because another one came in its place: its key was asked for anew (`reissue_after`), another machine
/// enrolled with the new one, and gets the name once this one is gone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replaced {
    /// The key's name.
    pub key: String,
    /// The older peer.
    pub peer: Id,
    /// What tells that it came by an older key of that name.
    pub evidence: Evidence,
    /// The peer that came in its place.
    pub by: Id,
}

/// What a used key of an entry asks for.
#[derive(Debug, Default)]
pub struct Enrolled {
    /// What is done about it.
    pub enrollment: Option<Enrollment>,
    /// Why nothing is.
    pub open: Option<Open>,
    /// What else a reader should know of it.
    pub remarks: Vec<Remark>,
    /// Peers whose machines were replaced.
    pub replaced: Vec<Replaced>,
}

impl<'a> Choice<'a> {
    /// Notes what a used key asks for, and what a reader should know of it.
    pub(super) fn enroll(&mut self) {
        self.decision.enrolled = self.enrolled();
        let Enrolled { open, remarks, .. } = &self.decision.enrolled;
        let open = open
            .iter()
            .map(|why| Notice::about(&self.address, why.clone()));
        let remarks = remarks.iter();
        let remarks = remarks.map(|what| Notice::about(&self.address, what.clone()));
        self.decision.notices.extend(open.chain(remarks));
    }

    /// Finds out what a declared key for one peer asks for: one that is pending and used, or one whose machine was replaced.
    fn enrolled(&self) -> Enrolled {
        let mut enrolled = Enrolled::default();
        if !self.declared.is_for_one_peer() {
            return enrolled;
        }
        let (actual, name) = (self.actual, &self.address.name);
        let peer = self.peer().unwrap_or_else(|why| {
            enrolled.open = (!self.declared.enrolled).then_some(why);
            None
        });
        // the living machines of the used keys of the entry, but for the one that has the name
        let present = peer.map(|(peer, _)| &peer.id);
        let older = self.decision.machines.iter();
        let older = older.filter(|came| Some(&came.peer) != present);
        let older = older.filter_map(|came| Some((actual.peers.get(&came.peer)?, came)));
        let remarks = &mut enrolled.remarks;
        let Some((peer, came)) = peer else {
            // it was asked for anew, and still waits for its machine
            let is_pending = !self.declared.enrolled && self.decision.used.is_none();
            let going = older.filter(|_| is_pending);
            remarks.extend(going.map(|(older, _)| Remark::ToBeReplaced {
                name: older.name.clone(),
                peer: older.id.clone(),
                is_asked: self.asked.is_some(),
            }));
            return enrolled;
        };
        for (older, came) in older {
            match self.stays(older, came) {
                Some(why) => remarks.push(Remark::OlderStays {
                    peer: actual.who(&peer.id),
                    older: actual.who(&older.id),
                    why,
                }),
                None => enrolled.replaced.push(Replaced {
                    key: name.clone(),
                    peer: older.id.clone(),
                    evidence: came.by,
                    by: peer.id.clone(),
                }),
            }
        }
        let has_other_name = peer.name != *name;
        if self.declared.enrolled {
            let lacks = self.lacked_by(&peer.id);
            let is_told = has_other_name || !lacks.is_empty();
            if came.is_older_than_entry && self.decision.adopts.is_some() && is_told {
                remarks.push(Remark::DoneBefore {
                    peer: actual.who(&peer.id),
                    is_other: has_other_name,
                    lacks,
                });
            }
            return enrolled;
        }
        let machines = self.options.ours.inventory.enrolled.get(name);
        let is_known = machines.is_some_and(|all| all.iter().any(|of| of.id == peer.id));
        let keeps_name = match self.decision.used {
            Some(Used::Machine(_)) if is_known => Some(Remark::Gone(actual.who(&peer.id))),
            _ if !came.is_older_than_entry || !has_other_name => None,
            _ => Some(Remark::KeepsName(actual.who(&peer.id))),
        };
        let is_renamed = has_other_name && keeps_name.is_none();
        remarks.extend(keeps_name);
        let replaces = enrolled.replaced.iter().map(|of| of.peer.clone());
        let replaces: BTreeSet<Id> = replaces.collect();
        let mut others = actual.peers_named(name);
        let other = others.find(|other| is_renamed && !replaces.contains(&other.id));
        if let Some(other) = other {
            let (peer, name, other) = (peer.name.clone(), name.clone(), other.id.clone());
            enrolled.open = Some(Open::NameTaken { peer, name, other });
            return enrolled;
        }
        if self.was_flipped_back(came.made) {
            remarks.push(Remark::FlippedBack {
                peer: actual.who(&peer.id),
                asked: self.declared.reissue_after.is_some(),
            });
        }
        // a rename says it itself
        if !is_renamed && came.by != Evidence::Event {
            remarks.push(Remark::BoundByTime(actual.who(&peer.id), came.by));
        }
        enrolled.enrollment = Some(Enrollment {
            key: name.clone(),
            peer: peer.id.clone(),
            evidence: came.by,
            renamed_from: is_renamed.then(|| peer.name.clone()),
            groups: self.groups(),
            replaces,
        });
        enrolled
    }

    /// Returns why the peer of an older key stays although another one came by a newer key of the name; `None` where it was replaced.
    ///
    /// It is deleted on proof alone, as with offboarding: it came by a recorded key, and the file asked for another one since.
    fn stays(&self, peer: &Peer, came: &Came) -> Option<Stays> {
        match self.asked {
            None => Some(Stays::NotAsked),
            Some(_) if self.options.prune == Prune::None => Some(Stays::PruneNone),
            Some(_) if !came.is_superseded(self.asked) => Some(Stays::Newer),
            Some(_) if came.by == Evidence::Name => Some(Stays::NameAlone),
            Some(_) => {
                let has_other_name = peer.name != self.address.name;
                let mut groups = self.desired.groups().filter(|_| has_other_name);
                let listing = groups.find(|(_, group)| group.lists(&peer.name));
                listing.map(|(group, _)| Stays::Listed(group.clone()))
            }
        }
    }

    /// Returns the names of the groups that its peer belongs to: the key's, and those that list it.
    fn groups(&self) -> BTreeSet<String> {
        let listing = self.desired.groups();
        let listing = listing.filter(|(_, group)| group.lists(&self.address.name));
        let own = self.declared.auto_groups.iter().flatten();
        let all = listing.map(|(group, _)| group).chain(own);
        all.cloned().collect()
    }

    /// Returns the names of the key's groups that this peer is not in, nor listed to join.
    fn lacked_by(&self, peer: &Id) -> BTreeSet<String> {
        let is_in = |group: &String| {
            let live = self.actual.named(Kind::Group, group).iter();
            let mut members = live.filter_map(|live| live.resource.members());
            let declared = self.desired.group(group);
            members.any(|members| members.contains(peer))
                || declared.is_some_and(|group| group.lists(&self.address.name))
        };
        let own = self.declared.auto_groups.iter().flatten();
        own.filter(|group| !is_in(group)).cloned().collect()
    }

    /// Returns the peer that has the name, and how it came. Errors with why there is none, where the key was used.
    fn peer(&self) -> Result<Option<(&'a Peer, &Came)>, Open> {
        let actual = self.actual;
        let used = match &self.decision.used {
            None => return Ok(None),
            Some(Used::Key(used)) => used,
            Some(Used::Machine(came)) => {
                return Ok(actual.peers.get(&came.peer).map(|peer| (peer, came)));
            }
        };
        match actual.bindings.of_key(used) {
            Some(Binding::Peer(peer, _)) if let Some(peer) = actual.peers.get(peer) => {
                let mut machines = self.decision.machines.iter();
                let came = machines.find(|came| came.peer == peer.id);
                Ok(came.map(|came| (peer, came)))
            }
            Some(Binding::PeerGone) => Err(Open::PeerGone),
            Some(Binding::Several(peers)) => {
                let labels = peers.iter().map(|id| actual.peer_label(id));
                Err(Open::OneOf(labels.collect()))
            }
            _ if actual.bindings.may_be_untold(used) => Err(Open::Untold),
            _ => Err(Open::Nobody),
        }
    }

    /// Whether the file had marked this very key, which was made then, as enrolled since the last apply, and took it back.
    fn was_flipped_back(&self, made: Option<i64>) -> bool {
        let asked = self.declared.reissue_after;
        let is_newer =
            made.is_some_and(|made| asked.is_none_or(|instant| instant.as_second() <= made));
        let was_marked = |file: &Desired| {
            file.setup_key(&self.address.name)
                .is_some_and(|key| key.enrolled)
        };
        is_newer && self.options.ours.versions.last_with(was_marked).is_some()
    }
}

/// Returns peers that the event log says enrolled with a key that the file does not declare: (peer, key's name).
pub fn undeclared(desired: &Desired, actual: &Actual, inventory: &Inventory) -> Vec<(Id, String)> {
    let of_peer = |(peer, key): (&Id, &Id)| {
        let recorded = || Some(Address::of_key(inventory.entry_of(key)?.0)?.name);
        let name = actual.keys.get(key).map(|key| key.name.clone());
        let name = name.or_else(recorded);
        let is_declared = |name: &String| desired.setup_key(name).is_some();
        let gone = || format!("(deleted key {key})");
        let told = !name.as_ref().is_some_and(is_declared);
        told.then(|| (peer.clone(), name.unwrap_or_else(gone)))
    };
    actual.bindings.by_event().filter_map(of_peer).collect()
}
