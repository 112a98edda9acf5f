//! The answer of `access`: yes or no first, then by which rules, or what comes nearest.

use serde_json::{Value, json};

use super::access::{on_checks, parts, traffic};
use super::tree::{Block, Mark, Rank, Row, Rows, Tree};
use crate::access::{Answer, By, Near};
use crate::base::sentence::Sentence;
use crate::base::text::listed;

/// Returns the answer for people. `asked` are the words of the question.
pub fn tree(answer: &Answer, (from, to, wanted): (&str, &str, Option<&str>)) -> Tree {
    let (reaching, all) = answer.pairs;
    let word = match reaching {
        0 => "no",
        some if some == all => "yes",
        _ => "in part",
    };
    let wanted = wanted.map(|wanted| format!(": {wanted}"));
    let pairs = match all {
        0 => " (there is no pair of machines to ask about)".to_owned(),
        1 => String::new(),
        _ => format!(" ({reaching} of {all} pairs)"),
    };
    let wanted = wanted.unwrap_or_default();
    let heading = format!("{word}: {from} → {to}{wanted}{pairs}");
    let row = |by: &By| {
        let through = by.through.iter();
        let through = through.map(|through| format!("through {through}"));
        let checks = (!by.checks.is_empty()).then(|| on_checks(true, &by.checks));
        let more: Vec<String> = through.chain(checks).collect();
        let cells = [
            format!("by policy {}", by.policy),
            traffic(&by.traffic),
            more.join(", "),
        ];
        Row {
            cells: cells.map(Sentence::from).into(),
            ..Row::of(Mark::NONE, "", Rank::Must)
        }
    };
    let near = answer.nearest.iter();
    let near = near.map(|near| Row::of(Mark::NONE, words(near), Rank::Must));
    let rules = Rows {
        head: &["policy", "what", "how"],
        rows: answer.rules.iter().map(row).collect(),
        ..Rows::default()
    };
    let nearest = Rows {
        title: "nearest".into(),
        rows: near.collect(),
        ..Rows::default()
    };
    Tree {
        heading: heading.into(),
        body: vec![Block::Rows(rules), Block::Rows(nearest)],
        ..Tree::default()
    }
}

/// Returns the answer for programs.
pub fn json(answer: &Answer) -> Value {
    let (reaching, all) = answer.pairs;
    let rules = answer.rules.iter().flat_map(|by| {
        let entry = move |part: Value| {
            json!({ "policy": by.policy, "protocol": part["protocol"], "ports": part["ports"], "through": by.through,
                    "posture_checks": by.checks })
        };
        parts(&by.traffic).into_iter().map(entry)
    });
    json!({
        "format_version": 1,
        "reachable": all > 0 && reaching == all,
        "pairs": all,
        "pairs_reaching": reaching,
        "rules": rules.collect::<Vec<_>>(),
        "nearest": answer.nearest.iter().map(words).collect::<Vec<_>>(),
    })
}

fn words(near: &Near) -> String {
    match near {
        Near::Waits(peer) => {
            format!("peer {peer} waits for approval in NetBird, and reaches nobody until then")
        }
        Near::Drops(policy) => format!("policy {policy} drops it"),
        Near::Other(policy, passes) => format!("policy {policy} lets {} through", traffic(passes)),
        Near::Disabled(policy) => format!("policy {policy} would let it through, but is disabled"),
        Near::Reverse(policy) => {
            format!("policy {policy} lets it through the other way round only")
        }
        Near::NoRouter(resource) => {
            format!("no router leads to resource {resource}, or one of them is disabled")
        }
        Near::RouteOff(route) => format!("route {route} is disabled"),
        Near::NotFor(route, groups) => format!("route {route} is for {} alone", listed(groups)),
        Near::Router(route) => {
            format!("it is a router of route {route} itself, and needs no route")
        }
        Near::Unpaired(route) => {
            format!("no policy connects it with a router of route {route}, in whatever direction")
        }
        Near::Guarded(route, groups) => format!(
            "route {route} is guarded: no policy lets it through to {}",
            listed(groups)
        ),
        Near::Others(policy, groups, passes) => {
            format!(
                "policy {policy} lets {} in ({})",
                listed(groups),
                traffic(passes)
            )
        }
    }
}
