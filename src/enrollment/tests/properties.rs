//! What holds for any account.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{Account, event, peer, reusable, used};
use crate::state::Id;
use crate::testing::over;

prop_compose! {
    fn any_key()(id in 0..5_u8, ms in 0..2_500_i64, one_off in prop::bool::weighted(0.8), used_times in prop::sample::select(vec![0, 1, 1, 1, 2]),
                 ephemeral in prop::bool::weighted(0.1)) -> Value {
        let base = if one_off { used(&format!("k{id}"), ms) } else { reusable(&format!("k{id}"), ms) };
        over(base, json!({ "used_times": used_times, "ephemeral": ephemeral }))
    }
}

prop_compose! {
    fn any_peer()(id in 0..4_u8, ms in 0..2_500_i64, sso in prop::bool::weighted(0.1),
                  ephemeral in prop::bool::weighted(0.1)) -> Value {
        let user = if sso { "mira" } else { "" };
        over(peer(&format!("p{id}"), ms), json!({ "user_id": user, "ephemeral": ephemeral }))
    }
}

prop_compose! {
    fn any_events()(pairs in prop::collection::vec((0..5_u8, 0..5_u8), 0..6)) -> Vec<Value> {
        pairs.iter().map(|(key, peer)| event(&format!("k{key}"), &format!("p{peer}"))).collect()
    }
}

fn turned<T: Clone>(list: &[T], by: usize) -> Vec<T> {
    let mut turned: Vec<T> = list.iter().rev().cloned().collect();
    turned.rotate_left(by % list.len().max(1));
    turned
}

proptest! {
    #[test]
    fn the_order_of_lists_means_nothing(
        keys in prop::collection::vec(any_key(), 0..5),
        peers in prop::collection::vec(any_peer(), 0..7),
        events in prop::option::of(any_events()),
        by in 0..7_usize,
    ) {
        // peers come as a map: of two with one id the first would win, so there is one of each
        let peers: BTreeMap<String, Value> = peers.into_iter().map(|peer| (peer["id"].to_string(), peer)).collect();
        let peers: Vec<Value> = peers.into_values().collect();
        let one = Account::new(&keys, &peers, events.as_deref()).bind();
        let events = events.map(|events| turned(&events, by));
        let other = Account::new(&turned(&keys, by), &turned(&peers, by), events.as_deref()).bind();
        prop_assert_eq!(one, other);
    }

    #[test]
    fn one_key_one_peer(
        keys in prop::collection::vec(any_key(), 0..5),
        peers in prop::collection::vec(any_peer(), 0..7),
        events in prop::option::of(any_events()),
    ) {
        let account = Account::new(&keys, &peers, events.as_deref());
        let bindings = account.bind();
        let mut bound = BTreeSet::new();
        let ids: BTreeSet<&Id> = account.keys.iter().map(|key| &key.id).collect();
        for key in ids {
            let Some(peer) = bindings.of_key(key).and_then(|binding| binding.peer()) else { continue };
            prop_assert!(account.peers.contains_key(peer), "{} is bound to a peer that is gone", key);
            prop_assert!(bound.insert(peer), "{} is bound twice", peer);
            prop_assert_eq!(bindings.key_of(peer), Some(key));
        }
    }
}
