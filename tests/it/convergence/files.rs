//! Valid files over a small universe of names, as the property wants them.

mod repair;

use std::fmt;

use proptest::collection::btree_set;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use serde_json::{Map, Value, json};

use repair::{name_all_groups, repair};

const GROUPS: [&str; 3] = ["a", "b", "c"];

/// A file, that shows as the JSON that it is.
#[derive(Clone)]
pub(super) struct File(pub(super) Value);

impl fmt::Debug for File {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// Any valid file; with every section if `whole`.
pub(super) fn file(whole: bool) -> impl Strategy<Value = File> {
    let groups = section(GROUPS, |_| group());
    let keys = section(["k1", "k2"], key);
    let policies = section(["p1", "p2"], |_| policy());
    let routes = section(["r1", "r2"], route);
    let servers = section(["n1", "n2"], |_| nameserver_group());
    let zones = section(["z1", "z2"], move |at| zone(at, whole));
    let networks = networks();
    let settings = option::weighted(0.8, names(0));
    let settings =
        settings.prop_map(|groups| entry(json!({ "disabled_management_groups": groups })));
    let account = account_settings();
    let machines = section(["m1", "m2", "nobody"], |_| {
        option::of(any::<bool>()).prop_map(|ssh| entry(json!({ "ssh_enabled": ssh })))
    });
    let some = |section: BoxedStrategy<Value>| match whole {
        true => section.prop_map(Some).boxed(),
        false => option::weighted(0.8, section).boxed(),
    };
    let sections = (
        some(groups),
        some(keys),
        some(policies),
        some(routes),
        some(servers),
        some(zones),
        (
            some(settings.boxed()),
            some(account.boxed()),
            some(machines),
            some(networks.boxed()),
        ),
    );
    sections.prop_map(move |(groups, keys, policies, routes, servers, zones, (settings, account, machines, networks))| {
        let keys = keys.map(|mut keys| {
            for name in ["m1", "m2"] {
                keys[name] = json!({ "type": "one-off", "expires_in": 86400, "enrolled": true });
            }
            keys
        });
        let dns = [("nameserver_groups", servers), ("zones", zones), ("settings", settings)];
        let dns = dns.into_iter().filter_map(|(name, section)| Some((name.to_owned(), section?)));
        let dns: Map<String, Value> = dns.collect();
        let dns = (!dns.is_empty()).then_some(Value::Object(dns));
        let account = account.map(|settings| json!({ "settings": settings }));
        let sections = [("groups", groups), ("setup_keys", keys), ("policies", policies), ("routes", routes), ("networks", networks), ("dns", dns),
                        ("account", account), ("peers", machines)];
        let sections = sections.into_iter().filter_map(|(name, section)| Some((name.to_owned(), section?)));
        let mut file = Value::Object(sections.collect());
        // no section, or empty ones only, is an error
        if !has_entry(&file) {
            file = json!({ "groups": {} , "policies": { "p1": { "sources": ["base"], "destinations": ["base"] } } });
        }
        repair(&mut file);
        if whole {
            name_all_groups(&mut file);
        }
        File(file)
    })
}

/// Whether some section has an entry.
fn has_entry(file: &Value) -> bool {
    let sections = [
        "/groups",
        "/setup_keys",
        "/policies",
        "/routes",
        "/networks",
        "/dns/nameserver_groups",
        "/dns/zones",
        "/peers",
    ];
    if file.pointer("/dns/settings").is_some() || file.get("account").is_some() {
        return true;
    }
    let mut sections = sections
        .iter()
        .filter_map(|at| file.pointer(at)?.as_object());
    sections.any(|entries| !entries.is_empty())
}

/// A section with some of the names.
fn section<const N: usize, S: Strategy<Value = Value> + 'static>(
    names: [&'static str; N],
    entry: impl Fn(usize) -> S,
) -> BoxedStrategy<Value> {
    let entries: Vec<_> = (0..N).map(|at| option::weighted(0.7, entry(at))).collect();
    entries
        .prop_map(move |entries| {
            let named = names.iter().zip(entries);
            let named = named.filter_map(|(name, entry)| Some(((*name).to_owned(), entry?)));
            Value::Object(named.collect())
        })
        .boxed()
}

/// An entry of fields that may be there or not; null stands for absent.
fn entry(fields: Value) -> Value {
    let Value::Object(mut fields) = fields else {
        unreachable!("an entry is an object")
    };
    fields.retain(|_, value| !value.is_null());
    Value::Object(fields)
}

/// Some names of groups, at least `least`; those that the file does not declare are taken out later.
fn names(least: usize) -> impl Strategy<Value = Vec<&'static str>> {
    subsequence(vec!["a", "b", "c", "base"], least..=4)
}

fn group() -> impl Strategy<Value = Value> {
    let peers = option::weighted(0.6, subsequence(vec!["m1", "m2", "k1", "nobody"], 0..=4));
    peers.prop_map(|peers| entry(json!({ "peers": peers })))
}

fn key(at: usize) -> BoxedStrategy<Value> {
    let flags = (
        option::of(any::<bool>()),
        option::of(any::<bool>()),
        select(vec![0, 86400, 604800]),
    );
    (option::weighted(0.8, names(0)), flags, option::of(select(vec![0, 1, 5])))
        .prop_map(move |(groups, (ephemeral, labels, expires), limit)| {
            let one_off = at == 0;
            // an ephemeral one-off key would not stand for its peer
            let ephemeral = if one_off { None } else { ephemeral };
            let limit = if one_off { limit.map(|_| 1) } else { limit };
            entry(json!({
                "type": if one_off { "one-off" } else { "reusable" }, "expires_in": expires, "auto_groups": groups,
                "ephemeral": ephemeral, "allow_extra_dns_labels": labels, "usage_limit": limit,
            }))
        })
        .boxed()
}

fn policy() -> impl Strategy<Value = Value> {
    let protocol = option::of(select(vec![
        "all",
        "tcp",
        "udp",
        "icmp",
        "TCP",
        "netbird-ssh",
    ]));
    let in_place = (
        option::weighted(0.2, Just(json!({ "peer": "m1" }))),
        option::weighted(0.3, select(vec![json!("lan"), json!({ "peer": "m2" })])),
        option::of(subsequence(vec!["new"], 0..=1)),
        btree_set(select(vec!["root", "pilot"]), 0..3),
    );
    let ports = option::of(btree_set(
        select(vec!["22", "443", "8000-8100", "9000-9001"]),
        0..4,
    ));
    let flags = (
        option::of(any::<bool>()),
        option::of(any::<bool>()),
        option::of(select(vec!["accept", "drop"])),
    );
    let description = option::of(select(vec!["", "why", "zwei \u{1f989} | `x`"]));
    (names(1), names(1), protocol, ports, flags, description, in_place).prop_map(
        |(sources, destinations, protocol, ports, flags, description, in_place)| {
            let (enabled, bidirectional, action) = flags;
            let (source, destination, checks, logins) = in_place;
            let (sources, destinations) = (
                source.is_none().then_some(sources),
                destination.is_none().then_some(destinations),
            );
            // the groups are those of the sources, which `repair` knows; what is not said could contradict what lives
            let users = (protocol == Some("netbird-ssh")).then(|| json!({ "a": logins }));
            let takes_ports = protocol.is_some_and(|protocol| !matches!(protocol, "all" | "icmp"));
            entry(json!({
                "sources": sources, "source_resource": source, "destinations": destinations,
                "destination_resource": destination, "source_posture_checks": checks, "authorized_groups": users,
                "protocol": protocol,
                "ports": ports.filter(|_| takes_ports), "enabled": enabled, "bidirectional": bidirectional,
                "action": action, "description": description,
            }))
        },
    )
}

/// A route, or a list of a route and another one of that name.
fn route(at: usize) -> BoxedStrategy<Value> {
    let networks = [
        ["10.6.0.0/16", "10.7.0.0/16"],
        ["10.8.0.0/16", "10.9.0.0/16"],
    ][at];
    let through = prop_oneof![
        select(vec!["a", "b", "base"]).prop_map(|group| json!({ "peer_groups": [group] })),
        select(vec!["m1", "m2"]).prop_map(|peer| json!({ "peer": peer })),
    ];
    let second = (
        select(networks.to_vec()),
        through,
        option::of(select(vec![1, 100])),
    );
    let second = second.prop_map(|(network, through, metric)| {
        entry(json!({ "network": network, "peer_groups": through["peer_groups"], "peer": through["peer"], "metric": metric }))
    });
    (one_route(at), option::weighted(0.3, second))
        .prop_map(|(route, second)| match second {
            Some(second) => json!([route, second]),
            None => route,
        })
        .boxed()
}

fn one_route(at: usize) -> BoxedStrategy<Value> {
    // networks of its own: the exchange of networks has a suite
    let networks = [
        ["10.1.0.0/16", "10.2.0.0/16", "fd00:1::/64"],
        ["10.3.0.0/16", "10.4.0.0/16", "fd00:2::/64"],
    ][at];
    let domains = [
        ["one.example", "*.one.example"],
        ["two.example", "b\u{fc}ro.example"],
    ][at];
    let what = prop_oneof![
        select(networks.to_vec()).prop_map(|network| json!({ "network": network })),
        subsequence(domains.to_vec(), 1..=2).prop_map(|domains| json!({ "domains": domains })),
    ];
    let flags = (
        option::of(any::<bool>()),
        option::of(any::<bool>()),
        option::of(any::<bool>()),
        option::of(any::<bool>()),
    );
    let groups = (names(1), option::of(names(1)), option::of(names(0)));
    (what, groups, option::of(select(vec![1, 100, 9999])), flags, option::of(select(vec!["", "lan"])))
        .prop_map(|(what, (routers, groups, guards), metric, (masquerade, keep, skip, enabled), description)| {
            entry(json!({
                "network": what["network"], "domains": what["domains"], "peer_groups": routers, "groups": groups,
                "access_control_groups": guards, "metric": metric, "masquerade": masquerade, "keep_route": keep,
                "skip_auto_apply": skip, "enabled": enabled, "description": description,
            }))
        })
        .boxed()
}

fn nameserver_group() -> impl Strategy<Value = Value> {
    let servers = subsequence(
        vec![
            json!({ "ip": "10.0.0.53" }),
            json!({ "ip": "10.0.0.54", "port": 5353 }),
            json!({ "ip": "2620:fe::fe" }),
        ],
        1..=3,
    );
    let domains = subsequence(vec!["corp.example", "lab.example"], 0..=2);
    let flags = (option::of(any::<bool>()), option::of(any::<bool>()));
    (servers, names(1), domains, flags, option::of(select(vec!["", "dns"]))).prop_map(
        |(servers, groups, domains, (search, enabled), description)| {
            let primary = domains.is_empty();
            entry(json!({
                "nameservers": servers, "groups": groups, "primary": primary,
                "domains": (!primary).then_some(domains), "search_domains_enabled": search.filter(|_| !primary),
                "enabled": enabled, "description": description,
            }))
        },
    )
}

fn zone(at: usize, whole: bool) -> BoxedStrategy<Value> {
    // domains of its own: one domain under another name has a suite
    let domains = [
        ["one.example", "sub.one.example"],
        ["two.example", "zwei.example"],
    ][at];
    let mut aliases = vec![
        json!({ "name": "www", "type": "CNAME", "content": "db.one.example." }),
        json!({ "name": "www", "type": "CNAME", "content": "Elsewhere.example" }),
    ];
    // where nothing is deleted, one stays in the way of the other
    aliases.extend(whole.then(|| json!({ "name": "www", "type": "A", "content": "10.0.0.6" })));
    let records = (
        subsequence(
            vec![
                json!({ "name": "db", "type": "A", "content": "10.0.0.1" }),
                json!({ "name": "db", "type": "A", "content": "10.0.0.2", "ttl": 60 }),
                json!({ "name": "db", "type": "A", "content": "10.0.0.3" }),
                json!({ "name": "db", "type": "AAAA", "content": "FD00:0::1" }),
                json!({ "name": "@", "type": "A", "content": "10.0.0.4" }),
                json!({ "name": "*.apps", "type": "A", "content": "10.0.0.5", "ttl": 0 }),
            ],
            0..=6,
        ),
        option::of(select(aliases)),
    );
    let records = records.prop_map(|(records, www)| [records, www.into_iter().collect()].concat());
    let flags = (option::of(any::<bool>()), option::of(any::<bool>()));
    (select(domains.to_vec()), names(1), option::weighted(0.8, records), flags)
        .prop_map(|(domain, groups, records, (search, enabled))| {
            entry(json!({
                "domain": domain, "distribution_groups": groups, "records": records, "search_domain": search,
                "enabled": enabled,
            }))
        })
        .boxed()
}

fn account_settings() -> impl Strategy<Value = Value> {
    let flags = (option::of(any::<bool>()), option::of(any::<bool>()));
    let lasts = option::of(select(vec![3600, 86400]));
    let domain = option::of(select(vec!["", "vpn.example", "other.example"]));
    let groups = (option::of(names(0)), option::of(names(0)));
    (lasts, flags, domain, groups).prop_map(|(lasts, (lazy, approved), domain, (ipv6, expose))| {
        entry(
            json!({ "peer_login_expiration": lasts, "lazy_connection_enabled": lazy, "user_approval_required": approved,
                      "dns_domain": domain, "ipv6_enabled_groups": ipv6, "peer_expose_groups": expose }),
        )
    })
}

/// Networks of which each resource is in one at the most: it moves between them, and from the one to the other.
fn networks() -> impl Strategy<Value = Value> {
    let resource = |addresses: [&'static str; 3]| {
        let flags = (
            option::of(any::<bool>()),
            option::of(select(vec!["", "lan"])),
        );
        let resource = (select(addresses.to_vec()), option::of(names(0)), flags);
        let resource = resource.prop_map(|(address, groups, (enabled, description))| {
            entry(json!({ "address": address, "groups": groups, "enabled": enabled, "description": description }))
        });
        option::weighted(0.7, (resource, any::<bool>()))
    };
    let resources = (
        resource(["10.20.0.9", "10.20.0.0/16", "one.example"]),
        resource(["fd00::9", "fd00::/64", "*.Two.example"]),
    );
    let router = || {
        let flags = (option::of(any::<bool>()), option::of(any::<bool>()));
        (option::of(select(vec![1, 100, 9999])), flags).prop_map(|(metric, (masquerade, enabled))| {
            json!({ "metric": metric, "masquerade": masquerade, "enabled": enabled })
        })
    };
    // by groups that no repair makes equal, and by peers
    let routers = (
        option::of((
            router(),
            select(vec![
                json!({ "peer_groups": ["base"] }),
                json!({ "peer": "m1" }),
            ]),
        )),
        option::of((
            router(),
            select(vec![json!({ "peer": "m2" }), json!({ "peer": "nobody" })]),
        )),
    );
    let sides = (
        option::weighted(0.8, any::<bool>()),
        option::weighted(0.8, any::<bool>()),
    );
    let description = option::of(select(vec!["", "why"]));
    (resources, routers, sides, description).prop_map(
        |((one, two), (first, second), (office, lab), description)| {
            let mut networks = Map::new();
            // both are there always: what the file does not have holds what is not the file's to move
            for (name, side, is_first) in [("t1", office, true), ("t2", lab, false)] {
                let mut network = entry(json!({ "description": description }));
                let mut inside = Map::new();
                for (name, resource) in [("o1", &one), ("o2", &two)] {
                    if let Some((resource, at)) = resource
                        && *at == is_first
                    {
                        inside.insert(name.to_owned(), resource.clone());
                    }
                }
                if side.is_some() || !inside.is_empty() {
                    network["resources"] = inside.into();
                }
                let routers = [&first, &second]
                    .into_iter()
                    .flatten()
                    .map(|(router, who)| {
                        let mut router = entry(router.clone());
                        let who = who.as_object().expect("an object").clone();
                        router.as_object_mut().expect("an object").extend(who);
                        router
                    });
                if side == Some(true) {
                    network["routers"] = routers.collect();
                }
                networks.insert(name.to_owned(), network);
            }
            Value::Object(networks)
        },
    )
}
