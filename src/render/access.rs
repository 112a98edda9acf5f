//! Who reaches whom, in words: what is lost and gained, by which rule, and what of it nobody must miss.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::tree::{Attached, Block, Look, Mark, Rank, Row, Rows};
use crate::access::{Checks, Delta, Member, Passage, Side, Traffic, login};
use crate::base::json::with;
use crate::base::{MOST_NAMES, Sentence, count, listed, quoted, visible};
use crate::model::{ALL, Address, Reach};

/// Most edges of the graph: one with more is no picture any more.
const MOST_EDGES: usize = 20;
/// Most lines of what was reachable anyway.
const MOST_COVERED: usize = 50;

/// What a reviewer must not miss of it, as sentences; `all`: what the changes of rules themselves say, too.
pub(super) fn calls(delta: &Delta, all: bool) -> Vec<String> {
    let is_all = |side: &Side| matches!(side, Side::Group(members) if members.group == ALL);
    let is_few = |side: &Side| matches!(side, Side::Group(members) if members.is_few);
    let opens = |passage: &Passage| {
        // the lines of single machines that join a group say it themselves
        let machines = [Reach::Group, Reach::Peer, Reach::SetupKey];
        let is_machine = |cause: &Address| machines.contains(&cause.kind.descriptor().reach);
        if passage.causes.iter().any(is_machine) || is_few(&passage.from) {
            return None;
        }
        let everything = passage.traffic.is_everything();
        let whole = networks(&passage.to.networks()).filter(|_| everything);
        let from = match &passage.from {
            all if is_all(all) => "every machine reaches".to_owned(),
            Side::Group(of) => format!("the machines of group {:?} reach", of.group),
            one => format!("{} reaches", side(one)),
        };
        let to = match (is_all(&passage.from), is_all(&passage.to), whole) {
            // a change of the rule itself says so by itself
            (true, _, _) if !all && passage.causes.is_empty() => return None,
            (true, true, _) if everything => "every other machine on every port".to_owned(),
            (_, _, Some(networks)) => format!("all of {networks} on every port"),
            (true, _, None) => format!("{} ({})", side(&passage.to), what(passage)),
            _ => return None,
        };
        Some(format!("{from} {to}, by {}", because(passage)))
    };
    let mut calls: Vec<String> = delta.gained.iter().filter_map(opens).collect();
    calls.dedup();
    calls.extend(delta.idle.iter().take(MOST_NAMES).cloned());
    let more = delta.idle.len().saturating_sub(MOST_NAMES);
    let policies = (more > 0).then(|| count(more, "more policy", "more policies"));
    calls.extend(policies.map(|more| format!("nobody gets access by {more} either")));
    calls
}

/// What a rule lets through newly or no more, and others do as well.
pub(super) fn covered(delta: &Delta) -> Vec<String> {
    let line = |word: &str, covered: &Passage| {
        let (from, to) = (side(&covered.from), side(&covered.to));
        let (what, because) = (what(covered), because(covered));
        let others = quoted(&covered.others);
        format!("{word} reachable: {from} → {to}: {what} ({because}, and also by policy {others})")
    };
    let already = delta.already.iter().map(|it| line("already", it));
    let still = delta.still.iter().map(|it| line("still", it));
    already.chain(still).collect()
}

/// Most networks that are named one by one.
const MOST_NETWORKS: usize = 4;

/// Whole networks, in running text.
fn networks(networks: &[String]) -> Option<String> {
    let all = listed(networks.iter().map(|one| with_ipv6(one)));
    match networks.len() {
        0 => None,
        1 => Some(format!("the network {all}")),
        few if few <= MOST_NETWORKS => Some(format!("the networks {all}")),
        many => Some(format!("{many} networks")),
    }
}

/// What an address means: machines with IPv6 get all of that along with all of IPv4.
fn with_ipv6(address: &str) -> String {
    match address {
        "0.0.0.0/0" => "0.0.0.0/0 and ::/0".to_owned(),
        other => other.to_owned(),
    }
}

/// A side with its kind, or the few of a group that it is about.
fn side(side: &Side) -> Sentence {
    let of_kind = |kind: &str, name: &str| Sentence::from(kind).name(name);
    match side {
        Side::Peer(name) => of_kind("peer ", name),
        Side::Resource(place) => {
            let address = with_ipv6(&place.address);
            of_kind("network resource ", &place.name).say(format!(" {address}"))
        }
        Side::Route(of) => of_kind(
            &format!("{} behind route ", with_ipv6(&of.address)),
            &of.name,
        ),
        Side::Group(of) if of.names.is_empty() => of_kind("group ", &of.group),
        Side::Group(of) => {
            let names = of.names.iter();
            let (new, named): (Vec<_>, Vec<_>) = names.partition(|of| of.is_new());
            let is_all = of.group == ALL && of.resources == 0;
            let what = match named.len() {
                1 if is_all => "machine ",
                2.. if is_all => "machines ",
                _ => "",
            };
            let parts = [
                members(&named).map(|all| Sentence::from(what).then(all)),
                members(&new),
            ];
            let names = Sentence::default().listed(parts.into_iter().flatten(), 2);
            match is_all {
                true => names,
                false => names.say(" of group ").name(&of.group),
            }
        }
    }
}

/// Names of one sort: machines that are not there yet have none of their own.
fn members(all: &[&Member]) -> Option<Sentence> {
    let names = all.iter().map(|of| Sentence::default().name(of.name()));
    let begin = match (all.first()?.is_new(), all.len()) {
        (false, _) => return Some(Sentence::default().listed(names, usize::MAX)),
        (true, 1) => "new machine (setup key ",
        (true, _) => "new machines (setup keys ",
    };
    Some(Sentence::from(begin).listed(names, usize::MAX).say(")"))
}

/// How many machines and resources of a group it is about, where they are not named.
fn number(side: &Side) -> String {
    let of = match side {
        Side::Group(of) if of.names.is_empty() => of,
        _ => return String::new(),
    };
    let come = match of.to_come {
        0 => String::new(),
        number if number == of.machines => " not enrolled yet".into(),
        number => format!(", {number} not enrolled yet"),
    };
    let machines = count(of.machines, "machine", "machines") + &come;
    let resources = count(of.resources, "resource", "resources");
    match (of.machines, of.resources) {
        (_, 0) => format!(" ({machines})"),
        (0, _) => format!(" ({resources})"),
        _ => format!(" ({machines}, {resources})"),
    }
}

/// What passes, with the condition.
fn what(passage: &Passage) -> String {
    let part = if passage.is_even { "" } else { "some or all: " };
    let condition = condition(passage).into_iter();
    let condition: String = condition.map(|it| format!(", {it}")).collect();
    format!("{part}{}{condition}", passage.traffic)
}

/// For which machines it is, where that depends on posture checks.
fn condition(passage: &Passage) -> Option<String> {
    let (how, checks) = passage.condition.as_ref()?;
    Some(on_checks(*how, checks))
}

/// For machines that pass these posture checks, which are in quotes, or only for those that fail them.
pub(super) fn on_checks(how: Checks, checks: &BTreeSet<String>) -> String {
    let which = match checks.len() {
        0 => "the posture checks".to_owned(),
        1 => format!("the posture check {}", listed(checks)),
        _ if how == Checks::OneFails => format!("one of the posture checks {}", listed(checks)),
        _ => format!("the posture checks {}", listed(checks)),
    };
    match how {
        Checks::Pass => format!("for machines that pass {which}"),
        Checks::Fail | Checks::OneFails => {
            format!("only for machines that fail {which}")
        }
    }
}

/// By which rule, and what else changes.
fn because(passage: &Passage) -> String {
    let causes = listed(passage.causes.iter().map(Address::quoted));
    let causes = Some(causes).filter(|causes| !causes.is_empty());
    let causes = causes.map(|causes| format!(", because of {causes}"));
    passage.rule.quoted() + &causes.unwrap_or_default()
}

/// Returns the delta as JSON: one entry a direction and a protocol.
pub(super) fn json(delta: &Delta) -> Value {
    let news = |passage: &Passage| json!({ "because": because(passage), "if": condition(passage), "each_pair": passage.is_even });
    let anyway = |passage: &Passage| json!({ "because": because(passage), "by": passage.others });
    json!({
        "gained": entries(&delta.gained, news),
        "lost": entries(&delta.lost, news),
        "already_reachable": entries(&delta.already, anyway),
        "still_reachable": entries(&delta.still, anyway),
        "called_out": calls(delta, true),
    })
}

fn entries(passages: &[Passage], more: impl Fn(&Passage) -> Value) -> Vec<Value> {
    let entries = |passage: &Passage| {
        let all = with(ends(&passage.from, &passage.to), more(passage));
        let parts = parts(&passage.traffic).into_iter();
        parts.map(move |part| with(all.clone(), part))
    };
    passages.iter().flat_map(entries).collect()
}

fn ends(from: &Side, to: &Side) -> Value {
    // kind, name, how many machines and which: nobody knows how many are behind a route or are a resource
    let end = |which: &str, side: &Side| {
        let (kind, name, peers, names) = match side {
            Side::Group(of) => {
                let text = |of: &Member| match members(&[of]).filter(|_| of.is_new()) {
                    Some(new) => new.to_string(),
                    None => of.name().to_owned(),
                };
                let names = of.names.iter().map(text).collect();
                let names = Some(names).filter(|names: &Vec<String>| !names.is_empty());
                ("group", &of.group, Some(of.machines), names)
            }
            Side::Peer(name) => ("peer", name, Some(1), Some(vec![name.clone()])),
            Side::Resource(of) => {
                let names = Some(vec![of.name.clone()]);
                ("network_resource", &of.name, None, names)
            }
            Side::Route(of) => ("route", &of.address, None, None),
        };
        json!({ which: name, format!("{which}_kind"): kind, format!("peers_{which}"): peers,
                format!("names_{which}"): names })
    };
    let address = match to {
        Side::Resource(place) | Side::Route(place) => Some(&place.address),
        Side::Group(_) | Side::Peer(_) => None,
    };
    let ends = with(end("from", from), end("to", to));
    with(ends, json!({ "address": address }))
}

/// The traffic in parts, each of one protocol, for programs.
pub(super) fn parts(traffic: &Traffic) -> Vec<Value> {
    let parts = traffic.parts().into_iter();
    let parts = parts.map(|(protocol, ports)| json!({ "protocol": protocol, "ports": ports }));
    let logins: Vec<String> = traffic.logins.iter().map(login).collect();
    let ssh =
        (!logins.is_empty()).then(|| json!({ "protocol": "ssh", "ports": [], "logins": logins }));
    parts.chain(ssh).collect()
}

/// What is lost and what is gained.
pub(super) fn rows(delta: &Delta) -> Rows {
    let side = |of: &Side| side(of).say(number(of));
    let row = |passage: &Passage, is_gained: bool| {
        let to = Sentence::from("→ ").then(side(&passage.to));
        let because = format!("by {}", because(passage));
        let (from, what) = (side(&passage.from), what(passage).into());
        let cells = vec![from, to, what, because.into()];
        Row::with_cells(Mark::gained(is_gained), cells, Rank::Reach)
    };
    let lost = delta.lost.iter().map(|passage| row(passage, false));
    let gained = delta.gained.iter().map(|passage| row(passage, true));
    let rows = Rows::titled("Who reaches whom", lost.chain(gained));
    rows.table(&["from", "to", "what", "how"])
}

/// What was reachable anyway, and a graph of what changes.
pub(super) fn extra(delta: &Delta) -> Vec<Block> {
    let covered = covered(delta);
    let row = |text: String| Row::of(Mark::NONE, text, Rank::Extra);
    let more = covered.len().saturating_sub(MOST_COVERED);
    let more = (more > 0).then(|| row(format!("and {more} more")));
    let title = format!("Reachable before and after ({})", covered.len());
    let rows = covered.into_iter().take(MOST_COVERED).map(row);
    let anyway = Rows::titled(title, rows.chain(more)).shown_as(Look::Folded);
    let texts = graph(delta).map(|graph| (Sentence::default(), graph));
    let graph = Attached::block("Graph", texts, "mermaid", Rank::Extra);
    [Block::Rows(anyway)].into_iter().chain(graph).collect()
}

/// The changed part as a graph: solid lines are gained, dotted ones lost.
fn graph(delta: &Delta) -> Option<String> {
    let all: Vec<&Passage> = delta.lost.iter().chain(&delta.gained).collect();
    if all.is_empty() || all.len() > MOST_EDGES {
        return None;
    }
    let mut known: Vec<String> = Vec::new();
    let mut node = |of: &Side| {
        let it = side(of).to_string();
        let place = known.iter().position(|known| *known == it);
        place.unwrap_or_else(|| {
            known.push(it);
            known.len() - 1
        })
    };
    let (mut edges, mut styles) = (String::new(), String::new());
    for (at, passage) in all.iter().enumerate() {
        let (from, to) = (node(&passage.from), node(&passage.to));
        let (arrow, colour) = match at >= delta.lost.len() {
            true => ("-->", "#1a7f37"),
            false => ("-.->", "#cf222e"),
        };
        edges += &format!("    n{from} {arrow}|{}| n{to}\n", label(&what(passage)));
        styles += &format!("    linkStyle {at} stroke:{colour}\n");
    }
    let nodes = known.iter().enumerate();
    let nodes = nodes.map(|(at, name)| format!("    n{at}[{}]\n", label(name)));
    let nodes: String = nodes.collect();
    Some(format!("graph LR\n{nodes}{edges}{styles}"))
}

/// A label of a graph: in quotes, with nothing in it that ends them or that is markup there.
fn label(text: &str) -> String {
    let shown = |char: char| match char {
        // an entity of the graph's language, by its number
        '"' | '#' | '&' | '<' | '>' | ';' | '`' | '\\' | '%' => format!("#{};", u32::from(char)),
        char => char.to_string(),
    };
    let text: String = visible(text).chars().map(shown).collect();
    format!("\"{text}\"")
}
