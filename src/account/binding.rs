//! Which peer came by which setup key: a pure function of keys, peers and events.
//!
//! The event log is exact where it still has the enrollment; it keeps the newest 10,000 events only. Without the event,
//! the key's last use and the peer's creation are one moment of one clock (docs/netbird-api.md, "Enrollment": 0.7 to 54
//! ms apart), and both times stay, so they bind for years.

mod times;

use std::collections::{BTreeMap, BTreeSet};

use crate::account::Peers;
use crate::base::Id;
use crate::wire::api::objects::{Event, Peer, SetupKey};

pub use crate::base::evidence::Evidence;

/// The activity code of an enrollment by setup key.
pub const ENROLLED: &str = "peer.setupkey.add";

/// How much later than its peer's creation a key's last use can be, in milliseconds.
const ENROLLMENT_MS: i64 = 1000;

/// What became of a used one-off key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Binding {
    /// This peer came by it, as that tells.
    Peer(Id, Evidence),
    /// The event log names a peer that is gone.
    PeerGone,
    /// No peer fits: it is gone, or the times tell nothing.
    Nobody,
    /// Several peers fit.
    Several(Vec<Id>),
}

impl Binding {
    /// Returns the bound peer, and what that rests on.
    pub fn bound(&self) -> Option<(&Id, Evidence)> {
        match self {
            Binding::Peer(peer, evidence) => Some((peer, *evidence)),
            Binding::PeerGone | Binding::Nobody | Binding::Several(_) => None,
        }
    }

    /// Returns the bound peer.
    pub fn peer(&self) -> Option<&Id> {
        self.bound().map(|(peer, _)| peer)
    }
}

/// The bindings of an account.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Bindings {
    /// Every used key of one machine that is not ephemeral, by id.
    one_off: BTreeMap<Id, Binding>,
    /// The key of each peer whose enrollment the event log still has.
    by_event: BTreeMap<Id, Id>,
    /// The key of each peer, where that is known by whatever proof.
    by_peer: BTreeMap<Id, Id>,
    /// The living peer that came by a key which does not exist any more, as the event log says, where it was used once.
    gone: BTreeMap<Id, Id>,
    /// Whether the server tells of some peer not when it enrolled: NetBird before 0.55 (docs/netbird-api.md,
    /// "Versions").
    is_timeless: bool,
}

impl Bindings {
    /// Returns what became of a one-off key; `None` for one that is unused or not one-off.
    pub fn of_key(&self, key: &Id) -> Option<&Binding> {
        self.one_off.get(key)
    }

    /// Returns the peer that came by a key of one use, and what that rests on, whether the key exists or not: of what sort one was
    /// that does not, nothing here tells.
    pub fn machine_of(&self, key: &Id) -> Option<(&Id, Evidence)> {
        let gone = || self.gone.get(key).map(|peer| (peer, Evidence::Event));
        self.one_off.get(key).map_or_else(gone, Binding::bound)
    }

    /// Returns whether a used key whose peer is not known may have one all the same: there are peers whose creation the
    /// server does not tell, so that only the event log could say who came by which key.
    pub fn may_be_untold(&self, key: &Id) -> bool {
        self.is_timeless && matches!(self.one_off.get(key), Some(Binding::Nobody) | None)
    }

    /// Returns the peers whose enrollment the event log still has, with their keys.
    pub fn by_event(&self) -> impl Iterator<Item = (&Id, &Id)> {
        self.by_event.iter()
    }

    /// Returns what tells that a peer came by a key: the event log, where it has the enrollment, or else what told it before.
    pub fn evidence(&self, peer: &Id, before: Evidence) -> Evidence {
        match self.by_event.contains_key(peer) {
            true => Evidence::Event,
            false => before,
        }
    }

    /// Returns the key by which a peer came, where that is known.
    pub fn key_of(&self, peer: &Id) -> Option<&Id> {
        self.by_peer.get(peer)
    }
}

/// Binds keys to peers. `events` is `None` where the log was not read.
pub fn bind(keys: &[SetupKey], peers: &Peers, events: Option<&[Event]>) -> Bindings {
    // ids of old servers were short hashes that could collide: such keys are bound by nothing
    let mut seen = BTreeSet::new();
    let shared: BTreeSet<&Id> = keys
        .iter()
        .map(|key| &key.id)
        .filter(|id| !seen.insert(*id))
        .collect();

    let timeless =
        |peer: &Peer| peer.user_id.is_empty() && !peer.ephemeral && peer.created_at.is_none();
    let mut bindings = Bindings {
        is_timeless: peers.iter().any(timeless),
        ..Bindings::default()
    };
    let mut enrolled_by: BTreeMap<&str, BTreeSet<Id>> = BTreeMap::new();
    let mut came_by: BTreeMap<Id, BTreeSet<Id>> = BTreeMap::new();
    for event in events
        .into_iter()
        .flatten()
        .filter(|event| event.activity_code == ENROLLED)
    {
        let (key, peer) = (Id::from(&*event.initiator_id), Id::from(&*event.target_id));
        enrolled_by
            .entry(&event.initiator_id)
            .or_default()
            .insert(peer.clone());
        if peers.contains(&peer) {
            came_by.entry(peer).or_default().insert(key);
        }
    }
    // a peer enrolls once: one that the log gives to two keys is nobody's
    let only_key = |peer: &Id| {
        let mut keys = came_by.get(peer)?.iter();
        keys.next()
            .filter(|key| keys.len() == 0 && !shared.contains(key))
    };
    let by_event = came_by
        .keys()
        .filter_map(|peer| Some((peer.clone(), only_key(peer)?.clone())));
    bindings.by_event = by_event.collect();
    let there: BTreeSet<&str> = keys.iter().map(|key| &*key.id.0).collect();
    let gone = enrolled_by.iter().filter(|(key, _)| !there.contains(*key));
    // a key of one use was used once
    let gone = gone.filter_map(|(key, enrolled)| {
        let only = enrolled.iter().next().filter(|_| enrolled.len() == 1)?;
        only_key(only)?;
        Some((Id::from(*key), only.clone()))
    });
    bindings.gone = gone.collect();

    let one_off = |key: &&SetupKey| key.is_for_one_peer();
    let used = keys
        .iter()
        .filter(one_off)
        .filter(|key| key.used_times > 0 && !shared.contains(&key.id));
    let mut by_time = Vec::new();
    for key in used {
        match enrolled_by.get(key.id.0.as_str()) {
            Some(enrolled) => {
                let living: Vec<&Id> = enrolled.iter().filter(|id| peers.contains(id)).collect();
                let binding = match living[..] {
                    [] => Binding::PeerGone,
                    [peer] if only_key(peer).is_some() => {
                        Binding::Peer(peer.clone(), Evidence::Event)
                    }
                    _ => Binding::Several(living.into_iter().cloned().collect()),
                };
                bindings.one_off.insert(key.id.clone(), binding);
            }
            None => by_time.push(key),
        }
    }

    // a peer whose event names another key is no candidate
    let free = |peer: &&Peer| {
        peer.user_id.is_empty() && !peer.ephemeral && !came_by.contains_key(&peer.id)
    };
    let free: Vec<&Peer> = peers.iter().filter(free).collect();
    let reusable: Vec<&SetupKey> = keys.iter().filter(|key| !one_off(key)).collect();
    bindings
        .one_off
        .extend(times::assign(&by_time, &free, &reusable));
    let bound = bindings.one_off.iter();
    let bound = bound.filter_map(|(key, binding)| Some((binding.peer()?.clone(), key.clone())));
    bindings.by_peer = bound.chain(bindings.by_event.clone()).collect();
    bindings
}

/// Returns by how many milliseconds the key's last use follows the peer's creation, where it can be its enrollment.
fn lag_ms(key: &SetupKey, peer: &Peer) -> Option<i64> {
    let lag = key.last_used?.as_millisecond() - peer.created_at?.as_millisecond();
    (0..=ENROLLMENT_MS).contains(&lag).then_some(lag)
}

/// Returns whether a peer can have come by the key's last use.
pub fn fits(key: &SetupKey, peer: &Peer) -> bool {
    peer.user_id.is_empty() && lag_ms(key, peer).is_some()
}

#[cfg(test)]
mod tests;
