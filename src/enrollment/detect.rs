//! Which declared keys were used since, and what that asks for: one pure function that `plan`, `apply` and
//! `sync-events` share, so that a peer that enrolled a minute ago is never foreign to any of them.

use std::collections::BTreeSet;

use super::replaced::{Older, Replaced, older};
use super::{Binding, Evidence};
use crate::actual::Actual;
use crate::address::Address;
use crate::api::objects::Peer;
use crate::code::Code;
use crate::desired::Desired;
use crate::id::Id;
use crate::keys::{Decision, Decisions};
use crate::kind::{DeclaredKey, KeyType, Kind};
use crate::notice::Notice;
use crate::options::Options;

/// A pending key that was used, and the peer that it is bound to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Enrollment {
    /// The key's name, which the peer is to bear.
    pub key: String,
    /// The key's id.
    pub key_id: Id,
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

/// A used key, and why nothing is done about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftAlone {
    /// The key's name.
    pub key: String,
    /// Why, as what follows the name.
    pub why: String,
}

/// What else a reader should know of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remark {
    /// The key's name.
    pub key: String,
    /// What it is about.
    pub code: Code,
    /// The sentence, as what follows the name.
    pub text: String,
}

/// What became of the used keys of a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Detection {
    /// By name.
    pub enrollments: Vec<Enrollment>,
    /// By name.
    pub left_alone: Vec<LeftAlone>,
    /// Peers whose machines were replaced.
    pub replaced: Vec<Replaced>,
    /// What else a reader should know.
    pub remarks: Vec<Remark>,
}

impl Detection {
    /// Returns what the reader of a plan should know of it.
    pub fn notices(&self) -> impl Iterator<Item = Notice> {
        let about = |code, key: &str, text: &str| {
            Notice::about(code, &Address::new(Kind::SetupKey, key), text)
        };
        let left = self.left_alone.iter().map(move |left| {
            let text = format!("{}: left alone", left.why);
            about(Code::EnrollmentOpen, &left.key, &text)
        });
        let remarks = self.remarks.iter();
        left.chain(remarks.map(move |remark| about(remark.code, &remark.key, &remark.text)))
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
        let Some(declared) = desired.setup_key(name).filter(|key| is_for_one_peer(key)) else {
            continue;
        };
        let key = NamedKey {
            name,
            declared,
            decision,
        };
        key.look(&mut detection, desired, actual, options);
    }
    detection
}

/// A declared key for one peer, and what is decided about it.
struct NamedKey<'a> {
    name: &'a String,
    declared: &'a DeclaredKey,
    decision: &'a Decision,
}

impl NamedKey<'_> {
    fn look(
        &self,
        detection: &mut Detection,
        desired: &Desired,
        actual: &Actual,
        options: &Options,
    ) {
        let peer = self.peer(actual).unwrap_or_else(|why| {
            if !self.declared.enrolled {
                detection.left_alone.push(self.said(why));
            }
            None
        });
        let older = older(self.decision, peer.map(|(_, peer, _)| &peer.id), actual);
        let Some((key_id, peer, evidence)) = peer else {
            let text = older
                .iter()
                .filter_map(|older| self.to_be_replaced(older, options));
            let text = text.map(|text| self.remark(Code::ToBeReplaced, text));
            detection.remarks.extend(text);
            return;
        };
        let mut replaces = BTreeSet::new();
        for older in &older {
            let Some(why) = older.stays(self.name, self.declared, desired, options) else {
                replaces.insert(older.peer.id.clone());
                detection.replaced.push(Replaced {
                    key: self.name.clone(),
                    peer: older.peer.id.clone(),
                    evidence: older.evidence,
                    by: peer.id.clone(),
                });
                continue;
            };
            let text = format!(
                "was used by the peer {}, and the peer {} of another key of that name stays: {why}",
                actual.peer_with_id(&peer.id),
                actual.peer_with_id(&older.peer.id),
            );
            detection.remarks.push(self.remark(Code::PeerStays, text));
        }
        if self.declared.enrolled {
            return;
        }
        let renamed_from = (peer.name != *self.name).then(|| peer.name.clone());
        let bears_name = |other: &&Peer| !replaces.contains(&other.id);
        let other = actual.peers_named(self.name).find(bears_name);
        if let (Some(_), Some(other)) = (&renamed_from, other) {
            detection.left_alone.push(self.said(format!(
                "was used by the peer {:?}, but another peer is called {:?}",
                peer.name, self.name
            )));
            let text = format!(
                "can give its name to the peer {} once no other bears it: rename the peer {} in NetBird, or delete it \
                 there if its machine is gone",
                peer.id, other.id
            );
            detection
                .remarks
                .push(self.remark(Code::EnrollmentOpen, text));
            return;
        }
        if self.was_flipped_back(key_id, options) {
            let asked = match self.declared.reissue_after {
                Some(_) => {
                    "set reissue_after, which is older than that key, to the time of that change"
                }
                None => "set reissue_after beside it to the time of that change",
            };
            let text = format!(
                "was marked enrolled and is not any more, which alone changes nothing: the peer {} came by its key. To \
                 enroll another machine, {asked}; if none is meant, put enrolled back to true",
                actual.peer_with_id(&peer.id)
            );
            detection.remarks.push(self.remark(Code::FlippedBack, text));
        }
        // a rename says it itself
        if let (None, Some(told)) = (&renamed_from, evidence.said()) {
            let peer = actual.peer_with_id(&peer.id);
            let text = format!("was used by the peer {peer}: {told}");
            detection.remarks.push(self.remark(Code::BoundByTime, text));
        }
        detection.enrollments.push(Enrollment {
            key: self.name.clone(),
            key_id: key_id.clone(),
            peer: peer.id.clone(),
            evidence,
            renamed_from,
            groups: self.groups(desired),
            replaces,
        });
    }

    /// Returns the names of the groups that its peer belongs to: the key's, and those that list it.
    fn groups(&self, desired: &Desired) -> BTreeSet<String> {
        let lists = |group: &crate::kind::DeclaredGroup| {
            let mut peers = group.peers.iter().flatten();
            peers.any(|listed| listed == self.name)
        };
        let listing = desired.groups().filter(|(_, group)| lists(group));
        let own = self.declared.auto_groups.iter().flatten();
        let listing = listing.map(|(group, _)| group);
        listing.chain(own).cloned().collect()
    }

    /// Returns the used key, its peer and what tells so. Errors with why there is none, where the key was used.
    fn peer<'a>(
        &'a self,
        actual: &'a Actual,
    ) -> Result<Option<(&'a Id, &'a Peer, Evidence)>, String> {
        let Some(used) = &self.decision.used else {
            return Ok(None);
        };
        let nobody = || match actual.bindings.may_be_untold(&used.id) {
            true => format!("was used, and {UNTOLD}"),
            false => NOBODY.into(),
        };
        let Some(binding) = actual.bindings.of_key(&used.id) else {
            return Err(nobody());
        };
        let peer = binding.peer().and_then(|peer| actual.peers.get(peer));
        match (binding, peer, binding.evidence()) {
            (_, Some(peer), Some(evidence)) => Ok(Some((&used.id, peer, evidence))),
            (Binding::PeerGone, ..) => {
                Err("was used, and the peer that enrolled with it is gone".into())
            }
            (Binding::Several(peers), ..) => {
                let labels: Vec<String> = peers.iter().map(|id| actual.peer_label(id)).collect();
                Err(format!(
                    "was used, and which of several peers enrolled with it cannot be told: {}",
                    labels.join(", ")
                ))
            }
            _ => Err(nobody()),
        }
    }

    /// What is to be known of the peer of an older key while the key that was asked for since waits for its machine.
    fn to_be_replaced(&self, older: &Older, options: &Options) -> Option<String> {
        let asked = self.declared.reissue_after?;
        let waits = !self.declared.enrolled && asked <= options.now && self.decision.used.is_none();
        waits.then(|| {
            format!(
                "is made anew for another machine: once that one enrolled, its peer {:?} ({}) is to be deleted, which \
                 somebody has to agree to",
                older.peer.name, older.peer.id
            )
        })
    }

    /// Whether the file had marked this very key as enrolled, and took it back.
    fn was_flipped_back(&self, key: &Id, options: &Options) -> bool {
        let Some(created) = key.created_at() else {
            return false;
        };
        let asked = self.declared.reissue_after;
        asked.is_none_or(|instant| instant.as_second() <= created)
            && options.ledger.was_enrolled_since(self.name, created)
    }

    fn remark(&self, code: Code, text: String) -> Remark {
        Remark {
            key: self.name.clone(),
            code,
            text,
        }
    }

    fn said(&self, why: String) -> LeftAlone {
        LeftAlone {
            key: self.name.clone(),
            why,
        }
    }
}

/// What is said where a server before 0.55 leaves only the event log to tell who came by a key, and it does not.
pub const UNTOLD: &str = "which peer enrolled with it nobody can tell: this NetBird does not say when peers enrolled (0.55 and \
                          later do), and the event log has nothing of it";

const NOBODY: &str =
    "was used, and no peer can be told to have enrolled with it: it is gone, or the event is";

/// Returns peers that the event log says enrolled with a key that the file does not declare: (peer, key's name).
pub fn strangers(desired: &Desired, actual: &Actual) -> Vec<(Id, String)> {
    let mut strangers = Vec::new();
    for (peer, key) in actual.bindings.by_event() {
        let name = actual.keys.get(key).map(|key| key.name.as_str());
        if name.is_none_or(|name| desired.setup_key(name).is_none()) {
            strangers.push((
                peer.clone(),
                name.map_or_else(|| format!("(deleted key {key})"), str::to_owned),
            ));
        }
    }
    strangers
}

/// Returns whether the use of a declared key is an enrollment that is waited for.
pub fn is_enrollable(desired: &Desired, name: &str) -> bool {
    let declared = desired.setup_key(name);
    declared.is_some_and(|key| !key.enrolled && is_for_one_peer(key))
}

/// Returns whether a declared key is one whose use is an enrollment: one peer, one name, for good.
fn is_for_one_peer(key: &DeclaredKey) -> bool {
    key.key_type == KeyType::OneOff && key.ephemeral != Some(true)
}
