//! What holds for any plan: it is checked against a second model, which looks at each pair of machines and each rule by itself.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use serde_json::{Value, json};

use super::machine;
use crate::access::traffic::{Ports, Traffic};
use crate::access::world::World;
use crate::access::{Checks, Delta, Passage, Side, delta};
use crate::model::Kind;
use crate::plan::{Memberships, Plan};
use crate::testing::{Case, group, groups, id, over, policy_with};

/// Who is in which group.
const MEMBERS: [(&str, &[&str]); 4] = [
    ("a", &["m1", "m2"]),
    ("b", &["m2", "m3"]),
    ("c", &["m4"]),
    ("All", &["m1", "m2", "m3", "m4", "m5"]),
];
const MACHINES: [&str; 5] = ["m1", "m2", "m3", "m4", "m5"];
/// Samples of traffic; whatever a generated rule is about has all of one or nothing of it.
const SAMPLES: [&str; 6] = ["tcp 22", "tcp 443", "udp 53", "icmp", "rest", "login"];
/// The machines with NetBird's SSH server on.
const SSH: [&str; 2] = ["m3", "m5"];

#[derive(Debug, Clone)]
struct Rule {
    from: Vec<&'static str>,
    /// Groups, or the resource.
    to: Option<Vec<&'static str>>,
    accepts: bool,
    both_ways: bool,
    is_on: bool,
    protocol: usize,
    /// The posture checks that the source has to pass.
    checks: Vec<&'static str>,
}

#[derive(Debug, Clone)]
struct Way {
    through: &'static str,
    clients: Vec<&'static str>,
    guards: Vec<&'static str>,
    is_on: bool,
}

#[derive(Debug, Clone)]
struct State {
    rules: BTreeMap<&'static str, Rule>,
    routes: BTreeMap<&'static str, Way>,
    /// Groups of the resource, and whether it is on.
    resource: (Vec<&'static str>, bool),
    router: bool,
    /// Groups of the person whose machine m5 is: it follows them.
    person: Vec<&'static str>,
    /// The version that the check `recent` asks for.
    version: u8,
}

/// What decides which posture checks a machine passes: whether `other` does, and its version.
type Passes = (bool, u8);

fn some(names: &[&'static str]) -> impl Strategy<Value = Vec<&'static str>> + use<> {
    prop::sample::subsequence(names.to_vec(), 1..=2)
}

const GROUPS: [&str; 4] = ["a", "b", "c", "All"];
const POLICIES: [&str; 4] = ["p", "q", "s", "t"];

fn any_rule() -> impl Strategy<Value = Rule> {
    let flags = (
        any::<bool>(),
        any::<bool>(),
        prop::bool::weighted(0.8),
        0..6_usize,
        prop::sample::subsequence(vec!["recent", "other"], 0..=2),
    );
    let to = prop::option::weighted(0.7, some(&GROUPS));
    (some(&GROUPS), to, flags).prop_map(
        |(from, to, (accepts, both_ways, is_on, protocol, checks))| Rule {
            from,
            to,
            accepts,
            both_ways,
            is_on,
            protocol,
            checks,
        },
    )
}

/// A state in which most is open, with another one that differs by one policy alone.
fn one_edit() -> impl Strategy<Value = [State; 2]> {
    let rule = || prop::option::weighted(0.9, any_rule());
    let parts = (any_state(), 0..3_usize, rule(), rule());
    parts.prop_map(|(mut state, protocol, before, after)| {
        let open = Rule {
            from: vec!["All"],
            to: Some(vec!["All"]),
            accepts: true,
            both_ways: true,
            is_on: true,
            protocol,
            checks: Vec::new(),
        };
        state.rules.insert("Default", open);
        [before, after].map(|edited| {
            let mut state = state.clone();
            state.rules.remove("p");
            state.rules.extend(edited.map(|rule| ("p", rule)));
            state
        })
    })
}

fn any_state() -> impl Strategy<Value = State> {
    let way = (
        prop::sample::select(vec!["a", "b", "c"]),
        some(&GROUPS),
        prop::option::of(some(&["a", "b", "c"])),
        prop::bool::weighted(0.8),
    );
    let way = way.prop_map(|(through, clients, guards, is_on)| Way {
        through,
        clients,
        guards: guards.unwrap_or_default(),
        is_on,
    });
    let policy = prop::sample::select(POLICIES.to_vec());
    let rules = prop::collection::btree_map(policy, any_rule(), 0..4);
    let routes = prop::collection::btree_map(prop::sample::select(vec!["lan", "wan"]), way, 0..2);
    let resource = (
        prop::sample::subsequence(vec!["b", "c"], 0..=2),
        any::<bool>(),
    );
    let person = prop::sample::subsequence(vec!["a", "b", "c"], 0..=2);
    (rules, routes, resource, any::<bool>(), person, 1..4_u8).prop_map(
        |(rules, routes, resource, router, person, version)| State {
            rules,
            routes,
            resource,
            router,
            person,
            version,
        },
    )
}

/// What a rule says of its traffic, in the file and in an answer.
fn traffic(protocol: usize, ports: Value) -> Value {
    match protocol {
        0 => json!({ "protocol": "all" }),
        1 => json!({ "protocol": "tcp" }),
        2 => json!({ "protocol": "tcp", "ports": [ports] }),
        3 => json!({ "protocol": "udp" }),
        4 => json!({ "protocol": "icmp" }),
        _ => json!({ "protocol": "netbird-ssh", "ports": [ports] }),
    }
}

/// Whether a rule is about a sample at a machine or something else.
fn is_about(rule: &Rule, to: &str, sample: &str) -> bool {
    match (rule.protocol, sample) {
        // it takes both ports of the server to cut it off
        (0 | 1 | 5, "login") if !rule.accepts => true,
        (0, "login") => SSH.contains(&to),
        (5, "login") => MACHINES.contains(&to),
        (0, _) => true,
        (1, _) => sample.starts_with("tcp"),
        (2 | 5, _) => sample == "tcp 22",
        (3, _) => sample.starts_with("udp"),
        _ => sample == "icmp",
    }
}

fn action(accepts: bool) -> &'static str {
    if accepts { "accept" } else { "drop" }
}

impl State {
    fn live(&self) -> Value {
        let printer = id(Kind::NetworkResource, "printer");
        let rules = self.rules.iter().map(|(name, rule)| {
            let fields = json!({ "enabled": rule.is_on, "action": action(rule.accepts), "bidirectional": rule.both_ways });
            let fields = over(fields, traffic(rule.protocol, json!("22")));
            let to = rule.to.clone().unwrap_or_default();
            let mut policy = policy_with(name, &rule.from, &to, fields);
            policy["source_posture_checks"] = json!(rule.checks);
            if rule.to.is_none() {
                policy["rules"][0]["destinations"] = Value::Null;
                policy["rules"][0]["destinationResource"] = json!({ "id": printer, "type": "host" });
            }
            policy
        });
        let routes = self.routes.iter().map(|(name, way)| {
            over(
                crate::testing::route(name, "10.0.0.0/8", &[way.through]),
                json!({ "groups": groups(&way.clients), "access_control_groups": groups(&way.guards), "enabled": way.is_on }),
            )
        });
        let of_resource = self.resource.0.iter();
        let of_resource: Vec<Value> = of_resource
            .map(|name| json!({ "id": id(Kind::Group, name), "name": name }))
            .collect();
        let of_person = self.person.iter().map(|name| id(Kind::Group, name));
        let groups_now = MEMBERS[..3].iter().map(|(name, peers)| {
            let own = self.person.contains(name).then_some("m5");
            group(name, &peers.iter().copied().chain(own).collect::<Vec<_>>())
        });
        json!({
            "groups": (groups_now.collect::<Vec<_>>()),
            "posture_checks": (["recent", "other"].map(|name| json!({ "id": name, "name": name,
                "checks": { "nb_version_check": { "min_version": self.version_of(name) } } }))),
            "users": [{ "id": "somebody", "email": "Mira@example.org", "role": "user", "auto_groups": (of_person.collect::<Vec<_>>()) }],
            "peers": (MACHINES.map(|name| match name {
                "m5" => over(machine(name), json!({ "ssh_enabled": true })),
                _ => over(machine(name), json!({ "user_id": "", "ssh_enabled": SSH.contains(&name) })),
            })),
            "policies": (rules.collect::<Vec<_>>()),
            "routes": (routes.collect::<Vec<_>>()),
            "networks": [{ "id": id(Kind::Network, "office"), "name": "office", "resources": [printer], "routers": ["router1"] }],
            "network_resources": [{ "id": printer, "name": "printer", "address": "10.20.0.9/32", "type": "host",
                                    "enabled": self.resource.1, "groups": of_resource }],
            "network_routers": [{ "id": "router1", "peer": "", "peer_groups": groups(&["c"]), "metric": 9999, "masquerade": true, "enabled": self.router }],
        })
    }

    fn file(&self) -> Value {
        let rules = self.rules.iter().map(|(name, rule)| {
            let to = match &rule.to {
                Some(groups) => json!({ "destinations": groups }),
                None => json!({ "destination_resource": "printer" }),
            };
            let fields = json!({ "enabled": rule.is_on, "action": action(rule.accepts), "bidirectional": rule.both_ways, "sources": rule.from });
            let mut entry = over(over(fields, to), traffic(rule.protocol, json!(22)));
            entry["source_posture_checks"] = json!(rule.checks);
            if entry.get("ports").is_none() {
                entry["ports"] = json!([]);
            }
            if matches!(rule.protocol, 0 | 4) {
                entry.as_object_mut().expect("an object").remove("ports");
            }
            (*name, entry)
        });
        let routes = self.routes.iter().map(|(name, way)| {
            let route = json!({ "network": "10.0.0.0/8", "peer_groups": [way.through], "groups": way.clients,
                                "access_control_groups": way.guards, "enabled": way.is_on });
            (*name, route)
        });
        json!({
            "groups": { "a": {}, "b": {}, "c": {} },
            "users": { "mira@example.org": { "auto_groups": self.person } },
            "posture_checks": { "recent": { "nb_version": self.version_of("recent") }, "other": { "nb_version": self.version_of("other") } },
            "policies": (rules.collect::<BTreeMap<_, _>>()),
            "routes": (routes.collect::<BTreeMap<_, _>>()),
            "networks": { "office": {
                "resources": { "printer": { "address": "10.20.0.9", "groups": self.resource.0, "enabled": self.resource.1 } },
                "routers": [{ "peer_groups": ["c"], "enabled": self.router }],
            } },
        })
    }

    /// Of the second model: whether a sample of traffic from a machine reaches a machine, the resource or the route's name.
    /// `passes`: which posture checks machines pass.
    fn reaches(&self, from: &str, to: &str, sample: &str, passes: Passes) -> bool {
        if let Some(way) = self.routes.get(to) {
            return self.reaches_behind(way, from, sample, passes);
        }
        let matching = |rule: &&Rule| {
            let forth = self.is_in(from, &rule.from) && self.is_target(to, rule);
            let back = rule.both_ways && self.is_in(to, &rule.from) && self.is_target(from, rule);
            let back = back && to != "printer";
            self.counts(rule, passes) && (forth || back) && is_about(rule, to, sample)
        };
        // who routes the network gets no route to it
        let is_open =
            to != "printer" || (self.resource.1 && self.router && !self.is_in(from, &["c"]));
        let rules = || self.rules.values().filter(matching);
        is_open && rules().any(|rule| rule.accepts) && rules().all(|rule| rule.accepts)
    }

    fn is_target(&self, it: &str, rule: &Rule) -> bool {
        match (&rule.to, it) {
            (None, it) => it == "printer",
            (Some(to), "printer") => to.iter().any(|group| self.resource.0.contains(group)),
            (Some(to), it) => self.is_in(it, to),
        }
    }

    fn reaches_behind(&self, way: &Way, from: &str, sample: &str, passes: Passes) -> bool {
        if !way.is_on || !self.is_in(from, &way.clients) || self.is_in(from, &[way.through]) {
            return false;
        }
        let pairs = |router: &&str, rule: &Rule| {
            let forth = self.is_in(from, &rule.from) && self.is_target(router, rule);
            let back = self.is_in(router, &rule.from) && self.is_target(from, rule);
            self.counts(rule, passes) && (forth || back)
        };
        let routers = MACHINES
            .iter()
            .filter(|machine| self.is_in(machine, &[way.through]));
        let mut routers =
            routers.filter(|router| self.rules.values().any(|rule| pairs(router, rule)));
        if routers.next().is_none() {
            return false;
        }
        let guards = |rule: &&Rule| {
            let to = rule.to.iter().flatten();
            let mut to = to.filter(|group| way.guards.contains(group));
            self.counts(rule, passes)
                && self.is_in(from, &rule.from)
                && to.next().is_some()
                && is_about(rule, "", sample)
        };
        let rules = || self.rules.values().filter(guards);
        way.guards.is_empty() && sample != "login"
            || (rules().any(|rule| rule.accepts) && rules().all(|rule| rule.accepts))
    }
}

impl State {
    fn version_of(&self, check: &str) -> String {
        let version = if check == "recent" { self.version } else { 7 };
        format!("0.{version}.0")
    }

    fn counts(&self, rule: &Rule, (other, version): Passes) -> bool {
        let passes = |check: &&str| match *check {
            "recent" => version >= self.version,
            _ => other,
        };
        rule.is_on && rule.checks.iter().all(passes)
    }

    fn is_in(&self, machine: &str, names: &[&str]) -> bool {
        let mut of = MEMBERS.iter().filter(|(name, _)| names.contains(name));
        let of_person = || machine == "m5" && self.person.iter().any(|name| names.contains(name));
        of.any(|(_, members)| members.contains(&machine)) || of_person()
    }
}

fn sample(name: &str) -> Traffic {
    let port = |port| Ports::of([(port, port)]);
    match name {
        "tcp 22" => Traffic {
            tcp: port(22),
            ..Traffic::default()
        },
        "tcp 443" => Traffic {
            tcp: port(443),
            ..Traffic::default()
        },
        "udp 53" => Traffic {
            udp: port(53),
            ..Traffic::default()
        },
        "login" => Traffic::default().with_every_login(),
        "icmp" => Traffic {
            icmp: true,
            ..Traffic::default()
        },
        _ => Traffic {
            rest: true,
            ..Traffic::default()
        },
    }
}

fn case(from: &State, to: &State) -> Case {
    Case::new(to.file(), from.live()).prune_all()
}

fn delta_of(case: &Case, peers: bool) -> Delta {
    Delta::of(
        &case.actual(),
        &case.possible(),
        &Memberships::default(),
        peers,
    )
    .expect("not too much")
}

type Pairs = BTreeSet<(String, String, &'static str)>;

/// From whom to whom which sample passes, by those of these passages whose condition holds.
fn pairs(passages: &[Passage], holds: impl Fn(Checks, &BTreeSet<String>) -> bool) -> Pairs {
    let mut all = BTreeSet::new();
    let holds = |of: &&Passage| {
        let condition = of.condition.as_ref();
        condition.is_none_or(|(how, checks)| holds(*how, checks))
    };
    for passage in passages.iter().filter(holds) {
        let names = |side: &Side| match side {
            Side::Group(members) => {
                let names = members.names.iter();
                names.map(|of| of.name().to_owned()).collect()
            }
            Side::Peer(name) => vec![name.clone()],
            Side::Resource(place) | Side::Route(place) => vec![place.name.clone()],
        };
        let to = names(&passage.to);
        for name in SAMPLES {
            if passage.traffic.common(&sample(name)).is_empty() {
                continue;
            }
            for from in &names(&passage.from) {
                let to = to.iter().filter(|to| *to != from);
                all.extend(to.map(|to| (from.clone(), to.clone(), name)));
            }
        }
    }
    all
}

/// The same by the second model: what the one state has and the other has not.
fn expected(has: &State, has_not: &State, passes: Passes) -> Pairs {
    let targets = MACHINES.into_iter().chain(["printer", "lan", "wan"]);
    let mut all = BTreeSet::new();
    for to in targets {
        for from in MACHINES.into_iter().filter(|from| *from != to) {
            for sample in SAMPLES {
                let reaches = |of: &State| of.reaches(from, to, sample, passes);
                if reaches(has) && !reaches(has_not) {
                    all.insert((from.to_owned(), to.to_owned(), sample));
                }
            }
        }
    }
    all
}

/// Passages without their reasons.
fn bare(passages: &[Passage]) -> BTreeSet<String> {
    let bare =
        |passage: &Passage| format!("{:?} {:?} {:?}", passage.from, passage.to, passage.traffic);
    passages.iter().map(bare).collect()
}

proptest! {
    #[test]
    fn the_delta_is_that_of_a_model_that_looks_at_each_pair([before, after] in prop_oneof![[any_state(), any_state()], one_edit()]) {
        let delta = delta_of(&case(&before, &after), true);
        let sides = [(&delta.lost, &before, &after), (&delta.gained, &after, &before)];
        for (passages, has, has_not) in sides {
            for (passes, how) in [((true, 9), Checks::Pass), ((false, 0), Checks::Fail)] {
                let holds = |of: Checks, _: &BTreeSet<String>| of == how;
                prop_assert_eq!(pairs(passages, holds), expected(has, has_not, passes));
            }
            let recent = match before.version < after.version {
                true => "\"recent\" (new version)",
                false => "\"recent\" (old version)",
            };
            let least = before.version.min(after.version);
            let alone = [((false, 9), "\"other\""), ((true, 0), "\"recent\""), ((true, least), recent)];
            for (passes, check) in alone {
                // no check fails where nothing is between two equal versions
                if check == recent && before.version == after.version {
                    continue;
                }
                let expected = expected(has, has_not, passes);
                let all = pairs(passages, |_, _| true);
                prop_assert!(expected.is_subset(&all), "{}: {:?} {:?}", check, expected, all);
                let is_own = |of: Checks, checks: &BTreeSet<String>| of == Checks::OneFails && checks.contains(check);
                let own: Vec<Passage> = passages.iter().filter(|it| it.condition.is_some()).cloned().collect();
                let own = pairs(&own, is_own);
                prop_assert!(own.is_subset(&expected), "{}: {:?} {:?}", check, own, expected);
            }
        }
    }

    #[test]
    fn what_a_change_gains_its_reverse_loses(before in any_state(), after in any_state()) {
        let there = delta_of(&case(&before, &after), false);
        let back = delta_of(&case(&after, &before), false);
        prop_assert_eq!(bare(&there.gained), bare(&back.lost));
        prop_assert_eq!(bare(&there.lost), bare(&back.gained));
        prop_assert_eq!(there.already.len(), back.still.len());
    }

    #[test]
    fn where_nothing_is_done_nothing_comes_or_goes(state in any_state()) {
        let case = case(&state, &state);
        prop_assert!(case.possible().is_empty(), "{}", case.outcome());
        let (actual, plan, none) = (case.actual(), Plan::default(), Memberships::default());
        let world = World::new(&actual, &plan, &none);
        prop_assert_eq!(delta::delta(&world, false), Some(Delta::default()));
    }
}
