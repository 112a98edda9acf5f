//! What holds for any account.

use std::collections::BTreeSet;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::super::{Binding, Evidence};
use super::{Account, event, peer, reusable, used};
use crate::base::Id;
use crate::testing::over;

/// Keys with an id each; now and then two share one, as on old servers.
fn any_keys() -> impl Strategy<Value = Vec<Value>> {
    let uses = prop::sample::select(vec![0_i64, 1, 1, 1, 2]);
    let often = prop::bool::weighted(0.85);
    let key = (0..2_500_i64, uses, often, often, often);
    prop::collection::vec(key, 1..6).prop_map(|keys| {
        let key = |(index, (ms, used_times, one_off, lasting, own_id)): (
            usize,
            (i64, i64, bool, bool, bool),
        )| {
            let id = format!("k{}", if own_id { index } else { 0 });
            let base = if one_off {
                used(&id, ms)
            } else {
                reusable(&id, ms)
            };
            over(
                base,
                json!({ "used_times": used_times, "ephemeral": !lasting }),
            )
        };
        keys.into_iter().enumerate().map(key).collect()
    })
}

fn any_peers() -> impl Strategy<Value = Vec<Value>> {
    let often = prop::bool::weighted(0.9);
    prop::collection::vec((0..2_500_i64, often, often), 1..5).prop_map(|peers| {
        let peer = |(index, (ms, of_key, lasting)): (usize, (i64, bool, bool))| {
            let user = if of_key { "" } else { "mira" };
            over(
                peer(&format!("p{index}"), ms),
                json!({ "user_id": user, "ephemeral": !lasting }),
            )
        };
        peers.into_iter().enumerate().map(peer).collect()
    })
}

/// Machines that enrolled one after the other: the key's name, the milliseconds since the one before, how much later the key
/// counts as used, and whether the machine is still there and has its key's name.
type Enrolled = (String, i64, i64, bool, bool);

/// Enrollments as the server makes them (docs/netbird-api.md, "Enrollment"), any number of them within the same
/// instant.
fn any_enrollments() -> impl Strategy<Value = Vec<Enrolled>> {
    let gap = prop_oneof![0..20_i64, 0..400_i64, 900..1_100_i64];
    let often = prop::bool::weighted(0.8);
    let name = prop::sample::select(vec!["a", "b", "c", "d"]);
    let one = (name, gap, 0..=60_i64, often, prop::bool::ANY);
    let own = |(index, (name, gap, lag, lives, renamed)): (usize, (&str, i64, i64, bool, bool))| {
        (format!("{name}{index}"), gap, lag, lives, renamed)
    };
    prop::collection::vec(one, 1..12)
        .prop_map(move |all| all.into_iter().enumerate().map(own).collect())
}

/// Keys and peers of these enrollments: `kN` and `pN` belong together. A machine without its key's name has another's.
fn account(enrollments: &[Enrolled]) -> (Vec<Value>, Vec<Value>) {
    let (mut keys, mut peers, mut now) = (Vec::new(), Vec::new(), 0);
    for (index, (name, gap, lag, lives, renamed)) in enrollments.iter().enumerate() {
        now += gap;
        keys.push(over(
            used(&format!("k{index}"), now + lag),
            json!({ "name": name }),
        ));
        let of_other = &enrollments[(index + 1) % enrollments.len()].0;
        let hostname = if *renamed { name } else { of_other };
        if *lives {
            peers.push(over(
                peer(&format!("p{index}"), now),
                json!({ "name": hostname }),
            ));
        }
    }
    (keys, peers)
}

/// Enrollments of keys and peers that may be gone.
fn any_events() -> impl Strategy<Value = Vec<Value>> {
    let pairs = prop::collection::vec((0..6_u8, 0..5_u8), 0..5);
    let event = |(key, peer)| event(&format!("k{key}"), &format!("p{peer}"));
    pairs.prop_map(move |pairs| pairs.into_iter().map(event).collect())
}

fn turned<T: Clone>(list: &[T], by: usize) -> Vec<T> {
    let mut turned: Vec<T> = list.iter().rev().cloned().collect();
    turned.rotate_left(by % list.len().max(1));
    turned
}

proptest! {
    #[test]
    fn the_order_of_lists_means_nothing(
        keys in any_keys(),
        peers in any_peers(),
        events in prop::option::of(any_events()),
        by in 0..7_usize,
    ) {
        let one = Account::new(&keys, &peers, events.as_deref()).bind();
        let events = events.map(|events| turned(&events, by));
        let other = Account::new(&turned(&keys, by), &turned(&peers, by), events.as_deref()).bind();
        prop_assert_eq!(one, other);
    }

    #[test]
    fn one_key_one_peer(
        keys in any_keys(),
        peers in any_peers(),
        events in prop::option::of(any_events()),
    ) {
        let account = Account::new(&keys, &peers, events.as_deref());
        let bindings = account.bind();
        let mut bound = BTreeSet::new();
        let ids: BTreeSet<&Id> = account.keys.iter().map(|key| &key.id).collect();
        for key in ids {
            let Some(peer) = bindings.of_key(key).and_then(|binding| binding.peer()) else { continue };
            prop_assert!(account.peers.contains(peer), "{} is bound to a peer that is gone", key);
            prop_assert!(bound.insert(peer), "{} is bound twice", peer);
            prop_assert_eq!(bindings.key_of(peer), Some(key));
        }
    }

    /// Whatever hostnames say, and whoever is gone by now.
    #[test]
    fn times_bind_nobody_to_another_ones_key(enrollments in any_enrollments()) {
        let (keys, peers) = account(&enrollments);
        let bindings = Account::new(&keys, &peers, None).bind();
        for index in 0..enrollments.len() {
            if let Some(Binding::Peer(peer, Evidence::Time)) = bindings.of_key(&Id(format!("k{index}").into())) {
                prop_assert_eq!(peer, &Id(format!("p{index}").into()));
            }
        }
    }

    #[test]
    fn machines_that_enroll_apart_are_all_told(
        lags in prop::collection::vec((260..1_500_i64, 0..=54_i64), 1..30),
        hostnames in prop::bool::ANY,
    ) {
        let all: Vec<Enrolled> = lags
            .iter()
            .enumerate()
            .map(|(index, (gap, lag))| (format!("n{index}"), *gap, *lag, true, hostnames))
            .collect();
        let (keys, peers) = account(&all);
        let bindings = Account::new(&keys, &peers, None).bind();
        for index in 0..all.len() {
            let wanted = Binding::Peer(Id(format!("p{index}").into()), Evidence::Time);
            prop_assert_eq!(bindings.of_key(&Id(format!("k{index}").into())), Some(&wanted));
        }
    }

    /// Once renamed, machines of the same instant are told by their names.
    #[test]
    fn machines_that_bear_their_keys_names_are_all_told(
        lags in prop::collection::vec((0..30_i64, 0..=54_i64), 1..12),
    ) {
        let all: Vec<Enrolled> = lags
            .iter()
            .enumerate()
            .map(|(index, (gap, lag))| (format!("n{index}"), *gap, *lag, true, true))
            .collect();
        let (keys, peers) = account(&all);
        let bindings = Account::new(&keys, &peers, None).bind();
        for index in 0..all.len() {
            let peer = bindings.of_key(&Id(format!("k{index}").into())).and_then(Binding::peer);
            prop_assert_eq!(peer, Some(&Id(format!("p{index}").into())));
        }
    }
}
