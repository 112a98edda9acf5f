//! Against a real server: whether the model has the same machines in each other's map. Run by hand on an account with many
//! machines; it only reads:
//!
//! `NETBIRD_API_URL=… NETBIRD_API_TOKEN=… cargo test access::tests::live -- --ignored`

use std::collections::{BTreeMap, BTreeSet};

use crate::access::reach::Reach;
use crate::access::world::{BEFORE, GroupAt, NodeAt, What, World};
use crate::account::{Actual, Needs, fetch};
use crate::base::Id;
use crate::model::Desired;
use crate::plan::{Memberships, Plan};
use crate::wire::api::{self, Api};
use crate::wire::http::Token;

fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| panic!("{name} is not set"))
}

/// Who is in whose map: who a rule pairs, and the routers of a resource with those that a rule leads to it. A source that
/// routes the network itself does not see the other routers, though they see it.
fn maps(actual: &Actual) -> BTreeMap<Id, BTreeSet<Id>> {
    let (nothing, none) = (Plan::default(), Memberships::default());
    let world = World::new(actual, &nothing, &none);
    let reach = Reach::new(&world).expect("a small account");
    let mut maps: BTreeMap<Id, BTreeSet<Id>> = BTreeMap::new();
    let id = |node: NodeAt| match &world.nodes[node as usize].what {
        What::Peer(id) => Some((*id).clone()),
        _ => None,
    };
    let mut put = |whose: NodeAt, who: NodeAt| {
        if let (Some(whose), Some(who)) = (id(whose), id(who)) {
            maps.entry(whose).or_default().insert(who);
        }
    };
    let classes = 0..u32::try_from(reach.classes.len()).expect("few");
    for a in classes.clone() {
        for b in classes.clone() {
            if reach.pairing(BEFORE, a, b).next().is_some() {
                for a in &reach.at(a).nodes {
                    reach.at(b).nodes.iter().for_each(|b| put(*a, *b));
                }
            }
        }
    }
    let members = |groups: &[GroupAt]| -> BTreeSet<NodeAt> {
        let groups = groups.iter().map(|group| &world.groups[*group as usize]);
        groups
            .flat_map(|group| group.members[BEFORE].clone())
            .collect()
    };
    for grant in world.rules.iter().filter_map(|rule| rule.on(BEFORE)) {
        for to in members(&grant.to) {
            let resource = &world.nodes[to as usize];
            if !resource.is_resource() || !resource.is_on[BEFORE] {
                continue;
            }
            let routers = members(&world.routing(to, BEFORE));
            for source in members(&grant.from) {
                for router in &routers {
                    put(*router, source);
                    if !routers.contains(&source) {
                        put(source, *router);
                    }
                }
            }
        }
    }
    for (whose, map) in &mut maps {
        map.remove(whose);
    }
    maps
}

#[test]
#[ignore = "asks a real server"]
fn the_model_has_the_same_machines_in_each_others_map() {
    let token = Token::parse(&variable("NETBIRD_API_TOKEN")).expect("a token");
    let config = api::config(&variable("NETBIRD_API_URL")).expect("a URL");
    let api = Api::new(config, &token).expect("a client");
    let snapshot = fetch(&api, &Needs::default().and_reach(), &Desired::default());
    let actual = Actual::read(&snapshot.expect("lists")).expect("answers");
    let model = maps(&actual);
    let mut pairs = 0;
    for peer in actual.peers.iter() {
        let path = format!("/peers/{}/accessible-peers", peer.id);
        let listed = api.values(&path).expect("a list").into_iter();
        let listed: BTreeSet<Id> = listed
            .map(|one| Id(one["id"].as_str().expect("an id").to_owned().into()))
            .collect();
        let ours = model.get(&peer.id).cloned().unwrap_or_default();
        assert_eq!(ours, listed, "{} {}", peer.name, peer.id);
        pairs += listed.len();
    }
    assert!(pairs > 0, "no two machines see each other");
}
