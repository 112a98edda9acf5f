//! Who reaches whom, in words: what comes and goes, by which rule, and what of it nobody must miss.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use crate::access::{Covered, Delta, End, Idle, Login, Passage, Side, Traffic, WhyIdle};
use crate::address::Address;
use crate::kind::{ALL, Kind, PortRange};
use crate::text::{count, listed};

/// A passage as a line of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Line {
    /// Whether it is gained; else it is lost.
    pub(super) is_gained: bool,
    /// Who opens the connection: its name, and what more there is to say of it.
    pub(super) from: (String, String),
    /// To whom or what.
    pub(super) to: (String, String),
    /// What passes.
    pub(super) what: String,
    /// By which rule, and what else changes.
    pub(super) because: String,
}

/// Returns what is lost and then what is gained.
pub(super) fn lines(delta: &Delta) -> Vec<Line> {
    let lost = delta.lost.iter().map(|passage| line_of(passage, false));
    let gained = delta.gained.iter().map(|passage| line_of(passage, true));
    lost.chain(gained).collect()
}

/// Returns a passage as a line.
pub(super) fn line_of(passage: &Passage, is_gained: bool) -> Line {
    Line {
        is_gained,
        from: side(&passage.from),
        to: side(&passage.to),
        what: what(passage),
        because: because(passage),
    }
}

/// What a reviewer must not miss of it, as sentences; `all`: what the changes of rules themselves say, too.
pub(super) fn calls(delta: &Delta, all: bool) -> Vec<String> {
    let is_all = |side: &Side| side.end == End::Group && side.name == ALL;
    let opens = |passage: &Passage| {
        // of single machines that join a group their own lines tell
        let is_machine =
            |cause: &Address| matches!(cause.kind, Kind::Group | Kind::Peer | Kind::SetupKey);
        if passage.why.causes.iter().any(is_machine) || passage.from.is_few {
            return None;
        }
        let everything = passage.traffic.is_everything();
        let by = because(passage);
        let to = plain(&passage.to);
        let whole = networks(&passage.to.networks);
        let whole = whole.filter(|_| everything);
        match (is_all(&passage.from), is_all(&passage.to), whole) {
            // a change of the rule itself says so by itself
            (true, _, _) if !all && passage.why.causes.is_empty() => None,
            (true, true, _) if everything => Some(format!(
                "every machine reaches every other one on every port, by {by}"
            )),
            (from_all, _, Some(networks)) => {
                let from = match from_all {
                    true => "every machine".to_owned(),
                    false => plain(&passage.from),
                };
                Some(format!(
                    "{from} reaches all of {networks} on every port, by {by}"
                ))
            }
            (true, _, None) => Some(format!(
                "every machine reaches {to} ({}), by {by}",
                what(passage)
            )),
            _ => None,
        }
    };
    let mut calls: Vec<String> = delta.gained.iter().filter_map(opens).collect();
    calls.dedup();
    calls.extend(delta.idle.iter().map(idle));
    calls
}

fn idle(idle: &Idle) -> String {
    let why = match &idle.why {
        WhyIdle::NoSource(names) => format!("no machine is in {}", listed(names)),
        WhyIdle::NoDestination(names) => format!("nothing is in {}", listed(names)),
        WhyIdle::NoRouter(names) => {
            format!("no router leads to {}, or it is disabled", listed(names))
        }
        WhyIdle::Itself => "its only source is its only destination".to_owned(),
    };
    format!("nobody reaches anything by policy {}: {why}", idle.policy)
}

/// What a rule lets through newly or no more, and others do as well.
pub(super) fn covered(delta: &Delta) -> Vec<String> {
    let line = |word: &str, covered: &Covered| {
        let by: Vec<&str> = covered.by.iter().map(String::as_str).collect();
        format!(
            "{word} reachable: {} → {}: {} (policy {}; by policy {} too)",
            whole(&covered.from),
            whole(&covered.to),
            traffic(&covered.traffic),
            covered.policy,
            listed(&by)
        )
    };
    let already = delta.already.iter().map(|it| line("already", it));
    let still = delta.still.iter().map(|it| line("still", it));
    already.chain(still).collect()
}

/// A side with its machines, where these are named.
fn whole(side: &Side) -> String {
    match side.names.is_empty() {
        true => plain(side),
        false => format!("{} (of {})", side.names.join(", "), side.name),
    }
}

/// Most networks that are named one by one.
const MOST_NETWORKS: usize = 4;

/// Whole networks, in running text.
fn networks(networks: &[String]) -> Option<String> {
    match networks {
        [] => None,
        [one] => Some(format!("the network {}", with_ipv6(one))),
        few if few.len() <= MOST_NETWORKS => {
            let few: Vec<String> = few.iter().map(|one| with_ipv6(one)).collect();
            Some(format!("the networks {}", listed(&few)))
        }
        many => Some(format!("{} networks", many.len())),
    }
}

/// What an address stands for: machines with IPv6 get all of that along with all of IPv4.
fn with_ipv6(address: &str) -> String {
    match address {
        "0.0.0.0/0" => "0.0.0.0/0 and ::/0".to_owned(),
        other => other.to_owned(),
    }
}

/// A side in running text.
fn plain(side: &Side) -> String {
    match &side.address {
        Some(address) => with_ipv6(address),
        None => side.name.clone(),
    }
}

/// A side's name, and how many of it this is about.
fn side(side: &Side) -> (String, String) {
    let come = match side.to_come {
        0 => String::new(),
        number if number == side.machines => " to come".into(),
        number => format!(", {number} to come"),
    };
    let machines = count(side.machines, "machine", "machines");
    let resources = count(side.resources, "resource", "resources");
    match (side.end, &side.address) {
        (End::Route, Some(address)) => (with_ipv6(address), format!("behind route {}", side.name)),
        (End::Resource, Some(address)) => (side.name.clone(), with_ipv6(address)),
        (End::Peer | End::Resource | End::Route, _) => (side.name.clone(), String::new()),
        (End::Group, _) if !side.names.is_empty() => {
            let of = match side.name.as_str() {
                ALL => String::new(),
                name => format!("of {name}"),
            };
            (side.names.join(", "), of)
        }
        (End::Group, _) => {
            let number = match (side.machines, side.resources) {
                (_, 0) => format!("{machines}{come}"),
                (0, _) => resources,
                _ => format!("{machines}{come}, {resources}"),
            };
            (side.name.clone(), number)
        }
    }
}

/// What passes, with the condition.
fn what(passage: &Passage) -> String {
    let traffic = traffic(&passage.traffic);
    let traffic = match passage.is_even {
        true => traffic,
        false => format!("up to {traffic}"),
    };
    match condition(passage) {
        None => traffic,
        Some(condition) => format!("{traffic}, {condition}"),
    }
}

/// The posture checks that it depends on.
fn condition(passage: &Passage) -> Option<String> {
    let (passes, checks) = passage.condition.as_ref()?;
    Some(on_checks(*passes, checks))
}

/// The condition that these posture checks pass, or fail.
pub(super) fn on_checks(passes: bool, checks: &BTreeSet<String>) -> String {
    let names: Vec<&str> = checks.iter().map(String::as_str).collect();
    let (which, several) = match names.len() {
        0 => ("the posture checks".to_owned(), true),
        1 => (format!("posture check {}", names[0]), false),
        _ => (format!("posture checks {}", listed(&names)), true),
    };
    let verb = match (passes, several) {
        (true, true) => "pass",
        (true, false) => "passes",
        (false, true) => "fail",
        (false, false) => "fails",
    };
    format!("if {which} {verb}")
}

/// What passes, as in `tcp 22, 443`.
pub(super) fn traffic(traffic: &Traffic) -> String {
    let part = |(protocol, ports): (&str, Vec<PortRange>)| match (protocol, ports.is_empty()) {
        ("all", _) => "everything".to_owned(),
        ("other", _) => "other protocols".to_owned(),
        ("icmp", _) => "icmp".to_owned(),
        (protocol, true) => format!("{protocol} on all ports"),
        (protocol, false) => {
            let ports: Vec<String> = ports.iter().map(ToString::to_string).collect();
            format!("{protocol} {}", ports.join(", "))
        }
    };
    let mut parts: Vec<String> = traffic.parts().into_iter().map(part).collect();
    if !traffic.logins.is_empty() {
        let logins: Vec<String> = traffic.logins.iter().map(login).collect();
        parts.push(format!("SSH for {}", listed(&logins)));
    }
    parts.join("; ")
}

fn login((group, user): &Login) -> String {
    let who = group.as_ref().map_or("all users".to_owned(), |group| {
        format!("the users of {group}")
    });
    match user {
        Some(user) => format!("{who} as {user}"),
        None => who,
    }
}

fn because(passage: &Passage) -> String {
    let causes = passage.why.causes.iter();
    let all = causes.chain([&passage.why.rule]);
    let all: Vec<String> = all.map(Address::to_string).collect();
    listed(&all)
}

/// Returns the delta as JSON: one entry a direction and a protocol.
pub(super) fn json(delta: &Delta) -> Value {
    let passages = |all: &[Passage]| -> Vec<Value> { all.iter().flat_map(entries).collect() };
    let covered = |all: &[Covered]| -> Vec<Value> {
        let entry = |covered: &Covered| {
            let parts = parts(&covered.traffic);
            let both = ends(&covered.from, &covered.to);
            let because = format!("policy {}", covered.policy);
            let more = json!({ "because": because, "by": covered.by });
            let entries = parts.into_iter().map(|part| joined([&both, &part, &more]));
            entries.collect::<Vec<_>>()
        };
        all.iter().flat_map(entry).collect()
    };
    json!({
        "gained": passages(&delta.gained),
        "lost": passages(&delta.lost),
        "already_reachable": covered(&delta.already),
        "still_reachable": covered(&delta.still),
        "called_out": calls(delta, true),
    })
}

fn entries(passage: &Passage) -> Vec<Value> {
    let both = ends(&passage.from, &passage.to);
    let more = json!({ "because": because(passage), "if": condition(passage), "each_pair": passage.is_even });
    let parts = parts(&passage.traffic).into_iter();
    parts.map(|part| joined([&both, &part, &more])).collect()
}

fn ends(from: &Side, to: &Side) -> Value {
    let kind = |side: &Side| match side.end {
        End::Group => "group",
        End::Peer => "peer",
        End::Resource => "network_resource",
        End::Route => "route",
    };
    let names = |side: &Side| (!side.names.is_empty()).then(|| side.names.clone());
    // nobody knows how many machines are behind a route or are a resource
    let machines = |side: &Side| {
        let is_known = matches!(side.end, End::Group | End::Peer);
        is_known.then_some(side.machines)
    };
    json!({
        "from": from.name, "from_kind": kind(from), "peers_from": machines(from), "names_from": names(from),
        "to": to.address.as_ref().filter(|_| to.end == End::Route).unwrap_or(&to.name),
        "to_kind": kind(to), "peers_to": machines(to), "names_to": names(to),
        "address": to.address,
    })
}

/// The traffic in parts, each of one protocol, for programs.
pub(super) fn parts(traffic: &Traffic) -> Vec<Value> {
    let part = |(protocol, ports): (&str, Vec<PortRange>)| {
        let ports: Vec<String> = ports.iter().map(ToString::to_string).collect();
        json!({ "protocol": protocol, "ports": ports })
    };
    let mut parts: Vec<Value> = traffic.parts().into_iter().map(part).collect();
    if !traffic.logins.is_empty() {
        let logins: Vec<String> = traffic.logins.iter().map(login).collect();
        parts.push(json!({ "protocol": "ssh", "ports": [], "logins": logins }));
    }
    parts
}

fn joined<const N: usize>(parts: [&Value; N]) -> Value {
    let fields = parts.into_iter().filter_map(Value::as_object);
    Value::Object(
        fields
            .flatten()
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect::<Map<_, _>>(),
    )
}

/// Returns the delta in lines, for tests of what is found.
#[cfg(test)]
pub(crate) fn in_lines(delta: &Delta) -> Vec<String> {
    let side = |(name, more): &(String, String)| match more.is_empty() {
        true => name.clone(),
        false => format!("{name} ({more})"),
    };
    let line = |line: &Line| {
        let sign = if line.is_gained { "+" } else { "-" };
        let (from, to) = (side(&line.from), side(&line.to));
        format!("{sign} {from} → {to}: {}, by {}", line.what, line.because)
    };
    let all = lines(delta);
    let calls = calls(delta, true);
    let calls = calls.iter().map(|call| format!("! {call}"));
    all.iter()
        .map(line)
        .chain(calls)
        .chain(covered(delta))
        .collect()
}
