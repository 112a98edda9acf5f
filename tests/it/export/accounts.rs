//! Random live accounts: namesakes, odd names, what a file cannot say, keys in every state, peers of every kind.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use serde_json::{Value, json};

use crate::run::Bench;

/// What people and clients did, in order; what the server refuses did not happen.
#[derive(Debug, Clone)]
pub(super) struct Account(Vec<Deed>);

#[derive(Debug, Clone)]
enum Deed {
    Peer(&'static str),
    Person(&'static str),
    Key {
        name: &'static str,
        one_off: bool,
        ephemeral: bool,
        expires: i64,
        groups: Vec<usize>,
        /// Machines that enroll with it.
        used: Vec<&'static str>,
        revoked: bool,
    },
    Group(&'static str, Vec<usize>),
    Issued(&'static str, &'static str),
    Policy(&'static str, Value, [Vec<usize>; 2], Side, bool),
    Route(&'static str, Value, [Vec<usize>; 2], Option<usize>),
    Nameservers(&'static str, Value, Vec<usize>),
    Rename(usize, &'static str),
    DeletePeer(usize),
    DropEvents,
}

#[derive(Debug, Clone, Copy)]
enum Side {
    Group,
    Peer(usize),
    Nobody,
}

const NAMES: [&str; 14] = [
    "a",
    "A",
    "b",
    "m1",
    "k1",
    "Ops Team",
    " ops",
    "B\u{fc}ro",
    "Bu\u{308}ro",
    "a|b\n",
    "\u{202e}x",
    "\u{1f989}",
    "a/b",
    "Temporary access policy for peer m1",
];

pub(super) fn account() -> impl Strategy<Value = Account> {
    vec(deed(), 0..24).prop_map(Account)
}

fn some() -> impl Strategy<Value = Vec<usize>> {
    subsequence((0..6).collect::<Vec<usize>>(), 0..3)
}

fn deed() -> impl Strategy<Value = Deed> {
    let name = || select(NAMES.to_vec());
    let host = || select(vec!["m1", "m2", "k1", "odd name", "\u{202e}x"]);
    let key = (
        name(),
        any::<bool>(),
        prop::bool::weighted(0.2),
        select(vec![0, 86_400]),
        some(),
        vec(host(), 0..2),
        prop::bool::weighted(0.2),
    );
    let rule = (
        select(vec!["all", "tcp", "udp", "icmp"]),
        select(vec!["accept", "drop"]),
        any::<[bool; 3]>(),
        select(vec![json!([]), json!(["22"]), json!(["080", "443"])]),
        select(vec![json!([]), json!([{ "start": 8000, "end": 8100 }])]),
    );
    let rule = rule.prop_map(|(protocol, action, [policy, rule, both], ports, ranges)| {
        let mut rule = json!({ "name": "r", "enabled": rule, "action": action, "bidirectional": both, "protocol": protocol });
        if matches!(protocol, "tcp" | "udp") {
            match ranges == json!([]) {
                true => rule["ports"] = ports,
                false => rule["port_ranges"] = ranges,
            }
        }
        json!({ "description": "x", "enabled": policy, "rules": [rule] })
    });
    let side = prop_oneof![6 => Just(Side::Group), 1 => (0..4_usize).prop_map(Side::Peer), 1 => Just(Side::Nobody)];
    let route = (
        prop_oneof![
            select(vec!["10.1.0.0/16", "10.2.0.0/16", "fd00::/64"])
                .prop_map(|network| json!({ "network": network })),
            select(vec!["x.example", "*.y.example", "b\u{fc}ro.example"])
                .prop_map(|domain| json!({ "domains": [domain], "keep_route": true })),
        ],
        1..9999_i64,
        any::<[bool; 2]>(),
    );
    let route = route.prop_map(|(mut route, metric, [masquerade, enabled])| {
        route["metric"] = json!(metric);
        route["masquerade"] = json!(masquerade);
        route["enabled"] = json!(enabled);
        route["description"] = json!("d");
        route
    });
    let servers = (
        any::<bool>(),
        any::<bool>(),
        select(vec!["10.0.0.53", "fd00::53"]),
        select(vec![53, 5353]),
        select(vec!["x.example", "B\u{fc}ro.example", "single"]),
    );
    let servers = servers.prop_map(|(primary, enabled, ip, port, domain)| {
        json!({ "nameservers": [{ "ip": ip, "ns_type": "udp", "port": port }], "primary": primary, "enabled": enabled,
                "domains": if primary { json!([]) } else { json!([domain]) }, "search_domains_enabled": enabled && !primary,
                "description": "" })
    });
    prop_oneof![
        3 => host().prop_map(Deed::Peer),
        1 => host().prop_map(Deed::Person),
        5 => key.prop_map(|(name, one_off, ephemeral, expires, groups, used, revoked)| Deed::Key {
            name, one_off, ephemeral, expires, groups, used, revoked
        }),
        5 => (name(), some()).prop_map(|(name, peers)| Deed::Group(name, peers)),
        1 => (name(), select(vec!["jwt", "integration"])).prop_map(|(name, issuer)| Deed::Issued(name, issuer)),
        4 => (name(), rule, some(), some(), side, prop::bool::weighted(0.1))
            .prop_map(|(name, rule, from, to, side, more)| Deed::Policy(name, rule, [from, to], side, more)),
        3 => (name(), route, some(), some(), prop::option::weighted(0.2, 0..4_usize))
            .prop_map(|(name, route, by, to, peer)| Deed::Route(name, route, [by, to], peer)),
        2 => (name(), servers, some()).prop_map(|(name, servers, groups)| Deed::Nameservers(name, servers, groups)),
        1 => (0..4_usize, host()).prop_map(|(peer, name)| Deed::Rename(peer, name)),
        1 => (0..4_usize).prop_map(Deed::DeletePeer),
        1 => Just(Deed::DropEvents),
    ]
}

impl Account {
    pub(super) fn make(&self, bench: &Bench) {
        for deed in &self.0 {
            deed.done(bench);
        }
    }
}

/// The ids of some of what a list holds; places beyond its end are nobody.
fn ids(bench: &Bench, path: &str, places: &[usize]) -> Vec<Value> {
    let list = bench.server().list(path);
    // All is in every account, and not for keys and routers
    let list = list.iter().filter(|entry| entry["name"] != "All");
    let all: Vec<Value> = list.map(|entry| entry["id"].clone()).collect();
    places
        .iter()
        .filter_map(|at| all.get(*at).cloned())
        .collect()
}

fn with(body: &Value, more: Value) -> Value {
    let mut body = body.clone();
    body.as_object_mut()
        .unwrap()
        .extend(more.as_object().unwrap().clone());
    body
}

impl Deed {
    fn done(&self, bench: &Bench) {
        let groups = |places: &[usize]| ids(bench, "/groups", places);
        let peers = |places: &[usize]| ids(bench, "/peers", places);
        let call =
            |method: &str, path: &str, body: Value| bench.netbird().call(method, path, body).1;
        match self {
            Deed::Peer(hostname) => drop(bench.peer(hostname)),
            Deed::Person(hostname) => drop(bench.netbird().enroll_sso(hostname)),
            Deed::Key {
                name,
                one_off,
                ephemeral,
                expires,
                groups: joins,
                used,
                revoked,
            } => {
                let body = json!({ "name": name, "type": if *one_off { "one-off" } else { "reusable" }, "usage_limit": 0,
                                   "expires_in": expires, "auto_groups": groups(joins), "ephemeral": ephemeral });
                let made = call("POST", "/setup-keys", body);
                for hostname in used {
                    bench
                        .server()
                        .enroll(made["key"].as_str().unwrap(), hostname)
                        .ok();
                }
                if *revoked {
                    let path = format!("/setup-keys/{}", made["id"].as_str().unwrap());
                    call(
                        "PUT",
                        &path,
                        json!({ "auto_groups": made["auto_groups"], "revoked": true }),
                    );
                }
            }
            Deed::Group(name, members) => {
                drop(call(
                    "POST",
                    "/groups",
                    json!({ "name": name, "peers": peers(members) }),
                ));
            }
            Deed::Issued(name, issuer) => drop(bench.netbird().issue_group(name, issuer)),
            Deed::Policy(name, policy, [from, to], side, more) => {
                let mut policy = with(policy, json!({ "name": name }));
                let rule = &mut policy["rules"][0];
                rule["sources"] = json!(groups(from));
                match side {
                    Side::Group => rule["destinations"] = json!(groups(to)),
                    Side::Nobody => rule["destinations"] = json!([]),
                    Side::Peer(at) => match peers(&[*at]).pop() {
                        Some(peer) => {
                            rule["destinationResource"] = json!({ "id": peer, "type": "peer" })
                        }
                        None => rule["destinations"] = json!(groups(to)),
                    },
                }
                let rule = rule.clone();
                let made = call("POST", "/policies", policy);
                if let (true, Some(id)) = (*more, made["id"].as_str()) {
                    bench.netbird().add_legacy_rule(id, rule).ok();
                }
            }
            Deed::Route(name, route, [by, to], peer) => {
                let router = match peer.and_then(|at| peers(&[at]).pop()) {
                    Some(peer) => json!({ "peer": peer }),
                    None => json!({ "peer_groups": groups(by) }),
                };
                let route = with(route, json!({ "network_id": name, "groups": groups(to) }));
                drop(call("POST", "/routes", with(&route, router)));
            }
            Deed::Nameservers(name, servers, to) => {
                let body = with(servers, json!({ "name": name, "groups": groups(to) }));
                drop(call("POST", "/dns/nameservers", body));
            }
            Deed::Rename(at, name) => {
                if let Some(peer) = bench.server().list("/peers").get(*at) {
                    let path = format!("/peers/{}", peer["id"].as_str().unwrap());
                    call("PUT", &path, with(peer, json!({ "name": name })));
                }
            }
            Deed::DeletePeer(at) => {
                if let Some(peer) = peers(&[*at]).first().and_then(Value::as_str) {
                    call("DELETE", &format!("/peers/{peer}"), Value::Null);
                }
            }
            Deed::DropEvents => bench.netbird().drop_events(),
        }
    }
}
