//! Who came by which key where the event log does not say it: an assignment over all used keys and all peers at once.
//!
//! A key's last use follows its peer's creation by 0.7 to 54 ms on the same clock (docs/netbird-api.md, "Enrollment").
//! Machines that enroll one after the other fit several keys within the second, so what is settled leaves the rest: a
//! peer whose key is known is no candidate for another. As long as no used key was deleted, nobody gets another's peer
//! this way.

use std::collections::{BTreeMap, BTreeSet};

use super::{Binding, ENROLLMENT_MS, Evidence};
use crate::base::Id;
use crate::wire::api::objects::{Peer, SetupKey};

/// Of several peers the nearest is meant where it is at most that far, in milliseconds,
const NEAR_MS: i64 = 100;

/// and no other that near, in milliseconds. The same holds for the keys that fit its peer.
const APART_MS: i64 = 200;

/// A key and a peer whose times fit.
#[derive(Debug, Clone, Copy)]
struct Fit {
    key: usize,
    peer: usize,
    lag: i64,
    /// The peer has the key's name.
    named: bool,
    /// No reusable key's use fits the peer as well.
    free: bool,
}

/// What makes a fit the only one that can be meant.
#[derive(Debug, Clone, Copy)]
enum Rule {
    /// Nothing else fits the peer or the key.
    Sole,
    /// It is near, and nothing else is.
    Near,
    /// Of all that fit, the peer alone has the key's name, and the key alone the peer's.
    Named,
}

/// Binds used one-off keys to free peers by their times. `reusable` are keys whose last use can be another's enrollment.
pub(super) fn assign(
    keys: &[&SetupKey],
    peers: &[&Peer],
    reusable: &[&SetupKey],
) -> BTreeMap<Id, Binding> {
    let mut open = fits(keys, peers, reusable);
    let mut settled = BTreeMap::new();
    // names are chosen by clients: they are asked last, and what follows from them is no stronger
    for (first, evidence) in [(Rule::Near, Evidence::Time), (Rule::Named, Evidence::Name)] {
        settle(&[first, Rule::Sole], &mut open, |fit| {
            let binding = Binding::Peer(peers[fit.peer].id.clone(), evidence);
            settled.insert(keys[fit.key].id.clone(), binding);
        });
    }
    let mut rest: BTreeMap<usize, BTreeSet<&Id>> = BTreeMap::new();
    for fit in &open {
        rest.entry(fit.key).or_default().insert(&peers[fit.peer].id);
    }
    for (index, key) in keys.iter().enumerate() {
        let binding = || match rest.remove(&index) {
            None => Binding::Nobody,
            Some(peers) => Binding::Several(peers.into_iter().cloned().collect()),
        };
        settled.entry(key.id.clone()).or_insert_with(binding);
    }
    settled
}

/// Returns all pairs whose times fit.
fn fits(keys: &[&SetupKey], peers: &[&Peer], reusable: &[&SetupKey]) -> Vec<Fit> {
    let created = |index: usize| Some((peers[index].created_at?.as_millisecond(), index));
    let mut by_age: Vec<(i64, usize)> = (0..peers.len()).filter_map(created).collect();
    by_age.sort_unstable();
    let since = |from: i64| by_age.partition_point(|(at, _)| *at < from);
    let fitting = |key: &SetupKey| {
        let used = key.last_used.map(|at| at.as_millisecond());
        let range = used.map_or(0..0, |at| since(at - ENROLLMENT_MS)..since(at + 1));
        let fitting = by_age[range].iter();
        fitting.map(move |(at, peer)| (*peer, used.unwrap_or_default() - at))
    };
    let mut rivals: BTreeMap<usize, i64> = BTreeMap::new();
    for (peer, lag) in reusable.iter().flat_map(|key| fitting(key)) {
        let least = rivals.entry(peer).or_insert(lag);
        *least = lag.min(*least);
    }
    let mut fits = Vec::new();
    for (index, key) in keys.iter().enumerate() {
        for (peer, lag) in fitting(key) {
            fits.push(Fit {
                key: index,
                peer,
                lag,
                named: peers[peer].name == key.name,
                free: rivals.get(&peer).is_none_or(|rival| *rival > lag),
            });
        }
    }
    fits
}

/// Settles what the rules settle, and what follows from that, and takes it out of what is open.
fn settle(rules: &[Rule], open: &mut Vec<Fit>, mut settled: impl FnMut(&Fit)) {
    loop {
        let mut of_key: BTreeMap<usize, Vec<Fit>> = BTreeMap::new();
        let mut of_peer: BTreeMap<usize, Vec<Fit>> = BTreeMap::new();
        for fit in open.iter() {
            of_key.entry(fit.key).or_default().push(*fit);
            of_peer.entry(fit.peer).or_default().push(*fit);
        }
        let is_alone = |rule: &Rule, fit: &Fit| {
            [&of_key[&fit.key], &of_peer[&fit.peer]]
                .into_iter()
                .all(|rivals| rule.tells(fit, rivals))
        };
        let is_settled = |fit: &&Fit| fit.free && rules.iter().any(|rule| is_alone(rule, fit));
        let found: Vec<Fit> = open.iter().filter(is_settled).copied().collect();
        if found.is_empty() {
            return;
        }
        // no two of these share a key or a peer: each rule keeps out what the others could settle beside it
        let (keys, taken): (BTreeSet<usize>, BTreeSet<usize>) =
            found.iter().map(|fit| (fit.key, fit.peer)).unzip();
        found.iter().for_each(&mut settled);
        open.retain(|fit| !keys.contains(&fit.key) && !taken.contains(&fit.peer));
    }
}

impl Rule {
    /// Returns whether of all these, which share its key or its peer, the fit alone can be meant.
    fn tells(self, fit: &Fit, all: &[Fit]) -> bool {
        let mut others = all
            .iter()
            .filter(|other| (other.key, other.peer) != (fit.key, fit.peer));
        match self {
            Rule::Sole => others.next().is_none(),
            Rule::Near => fit.lag <= NEAR_MS && others.all(|other| other.lag > APART_MS),
            Rule::Named => fit.named && !others.any(|other| other.named),
        }
    }
}
