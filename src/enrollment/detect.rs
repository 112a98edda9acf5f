//! Which declared keys were used since, and what that asks for: one pure function that `plan`, `apply` and
//! `sync-events` share, so that a peer that enrolled a minute ago is never foreign to any of them.

use std::collections::BTreeSet;

use super::Binding;
use crate::actual::Actual;
use crate::desired::{Desired, KeyType};
use crate::keys;
use crate::plan::Options;
use crate::state::{Address, Id, Kind};

/// A pending key that was used, and the peer that it is bound to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Enrollment {
    /// The key's name, which the peer is to bear.
    pub key: String,
    /// The key's id.
    pub key_id: Id,
    /// The peer.
    pub peer: Id,
    /// Whether the event log says so; otherwise the times of key and peer do.
    pub by_event: bool,
    /// The peer's name, where it is another.
    pub renamed_from: Option<String>,
    /// Names of the groups that it belongs to: the key's, and those that list it.
    pub groups: BTreeSet<String>,
}

/// A pending key that was used, and why nothing is done about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftAlone {
    /// The key's name.
    pub key: String,
    /// Why, as what follows the name.
    pub why: String,
}

/// What became of the used keys of a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Detection {
    /// By name.
    pub enrollments: Vec<Enrollment>,
    /// By name.
    pub left_alone: Vec<LeftAlone>,
}

/// Finds the declared one-off keys that are pending and used. Of entries that are to be made anew nothing is waited for.
pub fn detect(desired: &Desired, actual: &Actual, options: &Options) -> Detection {
    let mut detection = Detection::default();
    for (name, key_id) in &used(desired, actual, options) {
        let mut leave = |why: String| {
            detection.left_alone.push(LeftAlone {
                key: name.clone(),
                why,
            })
        };
        let (peer, by_event) = match actual.bindings.of_key(key_id) {
            Some(Binding::Event(peer)) => (peer, true),
            Some(Binding::Time(peer)) => (peer, false),
            Some(Binding::PeerGone) => {
                leave("was used, and the peer that enrolled with it is gone".into());
                continue;
            }
            Some(Binding::Several(peers)) => {
                let labels: Vec<String> = peers.iter().map(|id| actual.peer_label(id)).collect();
                let labels = labels.join(", ");
                leave(format!(
                    "was used, and which of several peers enrolled with it cannot be told: {labels}"
                ));
                continue;
            }
            Some(Binding::Nobody) | None => {
                leave("was used, and no peer can be told to have enrolled with it: it is gone, or the event is".into());
                continue;
            }
        };
        let Some(facts) = actual.peers.get(peer) else {
            continue;
        };
        let renamed_from = (facts.name != *name).then(|| facts.name.clone());
        if renamed_from.is_some() && actual.peers_named(name).next().is_some() {
            leave(format!(
                "was used by the peer {:?}, but another peer is called {name:?}",
                facts.name
            ));
            continue;
        }
        let listing = desired
            .groups()
            .filter(|(_, group)| group.peers.iter().flatten().any(|peer| peer == name));
        let own = desired
            .setup_key(name)
            .and_then(|key| key.auto_groups.clone())
            .unwrap_or_default();
        detection.enrollments.push(Enrollment {
            key: name.clone(),
            key_id: key_id.clone(),
            peer: peer.clone(),
            by_event,
            renamed_from,
            groups: listing.map(|(group, _)| group.clone()).chain(own).collect(),
        });
    }
    detection
}

/// Returns the live keys that stand for pending names and were used; `keys` tells them apart from ghosts of older lives
/// and from what somebody made by hand.
fn used(desired: &Desired, actual: &Actual, options: &Options) -> Vec<(String, Id)> {
    let enrollable = desired
        .setup_keys()
        .filter(|(name, _)| is_enrollable(desired, name))
        .filter(|(name, _)| {
            !options
                .replace
                .contains(&Address::new(Kind::SetupKey, *name))
        });
    let moved = enrollable.filter_map(|(name, declared)| {
        let decision = keys::of_account(name, declared, actual, options);
        Some((name.clone(), decision.moved?.id))
    });
    moved.collect()
}

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

/// Returns whether a declared key is one whose use is an enrollment: one peer, one name, for good.
pub fn is_enrollable(desired: &Desired, name: &str) -> bool {
    desired.setup_key(name).is_some_and(|key| {
        !key.enrolled && key.key_type == KeyType::OneOff && key.ephemeral != Some(true)
    })
}
