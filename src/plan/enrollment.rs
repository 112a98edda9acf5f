//! Which declared keys were used since, and what that asks for: one pure function that `plan`, `apply` and
//! `sync-events` share, so that a peer that enrolled a minute ago is never unmanaged for any of them.

mod replaced;
pub mod sync;

use std::collections::BTreeSet;

use crate::account::actual::Actual;
use crate::account::binding::Binding;
use crate::base::evidence::Evidence;
use crate::base::id::Id;
use crate::model::address::Address;
use crate::model::desired::Desired;
use crate::model::kind::{Kind, SetupKey};
use crate::model::notice::{Notice, Open, Remark};
use crate::plan::keys::{Came, Decision, Decisions, Used};
use crate::plan::options::Options;
use crate::wire::api::objects::Peer;

pub use replaced::Replaced;
use replaced::stays;

/// A pending key that was used, and the peer that it is bound to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Enrollment {
    /// The key's name, which the peer is to bear.
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

/// What became of the used keys of a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Detection {
    /// By name.
    pub enrollments: Vec<Enrollment>,
    /// By name: used keys about which nothing is done, and why.
    pub open: Vec<(String, Open)>,
    /// Peers whose machines were replaced.
    pub replaced: Vec<Replaced>,
    /// By name: what else a reader should know of a key.
    pub remarks: Vec<(String, Remark)>,
}

impl Detection {
    /// Returns what the reader of a plan should know of it.
    pub fn notices(&self) -> impl Iterator<Item = Notice> {
        let key = |name: &str| Address::new(Kind::SetupKey, name);
        let open = self.open.iter();
        let open = open.map(move |(name, why)| Notice::about(&key(name), why.clone()));
        let remarks = self.remarks.iter();
        open.chain(remarks.map(move |(name, what)| Notice::about(&key(name), what.clone())))
    }
}

/// Finds the declared one-off keys that are used: those that are pending, and those whose machine was replaced.
pub fn detect(
    desired: &Desired,
    actual: &Actual,
    decisions: &Decisions,
    options: &Options,
) -> Detection {
    let mut detection = Detection::default();
    for (name, decision) in decisions {
        let Some(declared) = desired.setup_key(name).filter(|key| key.is_for_one_peer()) else {
            continue;
        };
        let key = NamedKey {
            name,
            declared,
            decision,
            desired,
            actual,
            options,
        };
        key.look(&mut detection);
    }
    detection
}

/// A declared key for one peer, what is decided about it, and what else tells of it.
pub(super) struct NamedKey<'a> {
    name: &'a String,
    declared: &'a SetupKey,
    decision: &'a Decision,
    desired: &'a Desired,
    actual: &'a Actual,
    options: &'a Options,
}

impl<'a> NamedKey<'a> {
    fn look(&self, detection: &mut Detection) {
        let actual = self.actual;
        let peer = self.peer().unwrap_or_else(|why| {
            if !self.declared.enrolled {
                detection.open.push((self.name.clone(), why));
            }
            None
        });
        // the living machines of the used keys of the entry, but for the one that has the name
        let present = peer.map(|(peer, _)| &peer.id);
        let older = self.decision.machines.iter();
        let older = older.filter(|came| Some(&came.peer) != present);
        let older = older.filter_map(|came| Some((actual.peers.get(&came.peer)?, came)));
        let Some((peer, came)) = peer else {
            if self.waits_for_another() {
                let going = older.map(|(older, _)| {
                    let what = Remark::ToBeReplaced(older.name.clone(), older.id.clone());
                    (self.name.clone(), what)
                });
                detection.remarks.extend(going);
            }
            return;
        };
        let mut remark = |what| detection.remarks.push((self.name.clone(), what));
        let mut replaces = BTreeSet::new();
        for (older, came) in older {
            match stays(self, older, came) {
                Some(why) => remark(Remark::OlderStays {
                    peer: actual.who(&peer.id),
                    older: actual.who(&older.id),
                    why,
                }),
                None => {
                    replaces.insert(older.id.clone());
                    detection.replaced.push(Replaced {
                        key: self.name.clone(),
                        peer: older.id.clone(),
                        evidence: came.by,
                        by: peer.id.clone(),
                    });
                }
            }
        }
        let has_other_name = peer.name != *self.name;
        if self.declared.enrolled {
            let lacks = self.lacks(&peer.id);
            let is_told = has_other_name || !lacks.is_empty();
            if came.is_older_than_entry && self.decision.adopts.is_some() && is_told {
                remark(Remark::DoneBefore {
                    peer: actual.who(&peer.id),
                    is_other: has_other_name,
                    lacks,
                });
            }
            return;
        }
        let keeps_name = match self.decision.used {
            Some(Used::Machine(_)) => {
                remark(Remark::Gone(actual.who(&peer.id)));
                true
            }
            _ if came.is_older_than_entry && has_other_name => {
                remark(Remark::KeepsName(actual.who(&peer.id)));
                true
            }
            _ => false,
        };
        let renamed_from = (has_other_name && !keeps_name).then(|| peer.name.clone());
        let bears_name = |other: &&Peer| !replaces.contains(&other.id);
        let other = actual.peers_named(self.name).find(bears_name);
        if let (Some(_), Some(other)) = (&renamed_from, other) {
            remark(Remark::GivesName {
                peer: peer.id.clone(),
                other: other.id.clone(),
            });
            let (peer, name) = (peer.name.clone(), self.name.clone());
            let why = Open::NameTaken { peer, name };
            detection.open.push((self.name.clone(), why));
            return;
        }
        if self.was_flipped_back(came.made) {
            remark(Remark::FlippedBack {
                peer: actual.who(&peer.id),
                asked: self.declared.reissue_after.is_some(),
            });
        }
        // a rename says it itself
        if renamed_from.is_none() && came.by != Evidence::Event {
            remark(Remark::BoundByTime(actual.who(&peer.id), came.by));
        }
        detection.enrollments.push(Enrollment {
            key: self.name.clone(),
            peer: peer.id.clone(),
            evidence: came.by,
            renamed_from,
            groups: self.groups(),
            replaces,
        });
    }

    /// Returns the names of the groups that its peer belongs to: the key's, and those that list it.
    fn groups(&self) -> BTreeSet<String> {
        let listing = self.desired.groups();
        let listing = listing.filter(|(_, group)| group.lists(self.name));
        let own = self.declared.auto_groups.iter().flatten();
        let all = listing.map(|(group, _)| group).chain(own);
        all.cloned().collect()
    }

    /// Returns the names of the key's groups that this peer is not in, nor listed to join.
    fn lacks(&self, peer: &Id) -> BTreeSet<String> {
        let is_in = |group: &String| {
            let live = self.actual.named(Kind::Group, group).iter();
            let mut members = live.filter_map(|live| live.resource.members());
            let declared = self.desired.group(group);
            members.any(|members| members.contains(peer))
                || declared.is_some_and(|group| group.lists(self.name))
        };
        let own = self.declared.auto_groups.iter().flatten();
        own.filter(|group| !is_in(group)).cloned().collect()
    }

    /// Returns the peer that has the name, and how it came. Errors with why there is none, where the key was used.
    fn peer(&self) -> Result<Option<(&'a Peer, &'a Came)>, Open> {
        let actual = self.actual;
        let used = match &self.decision.used {
            None => return Ok(None),
            Some(Used::Key(used)) => used,
            Some(Used::Machine(came)) => {
                return Ok(actual.peers.get(&came.peer).map(|peer| (peer, came)));
            }
        };
        let nobody = || match actual.bindings.may_be_untold(used) {
            true => Open::Untold,
            false => Open::Nobody,
        };
        let Some(binding) = actual.bindings.of_key(used) else {
            return Err(nobody());
        };
        match binding {
            Binding::Peer(peer, _) if let Some(peer) = actual.peers.get(peer) => {
                let mut machines = self.decision.machines.iter();
                let came = machines.find(|came| came.peer == peer.id);
                Ok(came.map(|came| (peer, came)))
            }
            Binding::PeerGone => Err(Open::PeerGone),
            Binding::Several(peers) => {
                let labels = peers.iter().map(|id| actual.peer_label(id));
                Err(Open::OneOf(labels.collect()))
            }
            _ => Err(nobody()),
        }
    }

    /// Whether the key was asked for anew, and still waits for its machine.
    fn waits_for_another(&self) -> bool {
        let asked = self.declared.asked_anew(self.options.now);
        asked.is_some() && !self.declared.enrolled && self.decision.used.is_none()
    }

    /// Whether the file had marked this very key, which was made then, as enrolled since the last apply, and took it back.
    fn was_flipped_back(&self, made: Option<i64>) -> bool {
        let asked = self.declared.reissue_after;
        let is_newer =
            made.is_some_and(|made| asked.is_none_or(|instant| instant.as_second() <= made));
        let was_marked = |file: &Desired| file.setup_key(self.name).is_some_and(|key| key.enrolled);
        is_newer && self.options.ours.versions.last_with(was_marked).is_some()
    }
}

/// Returns peers that the event log says enrolled with a key that the file does not declare: (peer, key's name).
pub fn undeclared(desired: &Desired, actual: &Actual) -> Vec<(Id, String)> {
    let of_peer = |(peer, key): (&Id, &Id)| {
        let name = actual.keys.get(key).map(|key| key.name.clone());
        let is_declared = |name: &String| desired.setup_key(name).is_some();
        let gone = || format!("(deleted key {key})");
        let told = !name.as_ref().is_some_and(is_declared);
        told.then(|| (peer.clone(), name.unwrap_or_else(gone)))
    };
    actual.bindings.by_event().filter_map(of_peer).collect()
}
