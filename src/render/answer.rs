//! The answer of `access`: yes or no first, then by which rules, or what comes nearest.

use serde_json::{Value, json};

use super::access::{on_checks, parts};
use super::tree::{Mark, Rank, Row, Rows, Tree};
use crate::access::{Answer, By, Checks};
use crate::base::{Sentence, joined};

/// Returns the answer for people. `asked` are the words of the question.
pub fn tree(answer: &Answer, (from, to, wanted): (&str, &str, Option<&str>)) -> Tree {
    let (reaching, all) = answer.pairs;
    let word = match reaching {
        0 => "no",
        some if some == all => "yes",
        _ => "in part",
    };
    let wanted = wanted.map_or(String::new(), |wanted| format!(": {wanted}"));
    let pairs = match all {
        0 => " (there is no pair of machines to ask about)".to_owned(),
        1 => String::new(),
        _ => format!(" ({reaching} of {all} pairs)"),
    };
    let heading = format!("{word}: {from} → {to}{wanted}{pairs}");
    let row = |by: &By| {
        let through = by.through.iter();
        let through = through.map(|through| format!("through {through}"));
        let checks = by.checks.iter().map(|check| format!("{check:?}")).collect();
        let checks = (!by.checks.is_empty()).then(|| on_checks(Checks::Pass, &checks));
        let (what, how) = (by.traffic.to_string(), joined(through.chain(checks), ", "));
        let cells = [format!("by policy {:?}", by.policy), what, how].map(Sentence::from);
        Row::with_cells(Mark::NONE, cells.into(), Rank::Must)
    };
    let rules = Rows::titled("", answer.rules.iter().map(row));
    let nearest = answer.nearest.iter();
    let nearest = Rows::titled("nearest", nearest.map(|near| Row::plain(near.as_str())));
    Tree::of(heading, [rules.table(&["rule", "what", "how"]), nearest])
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
        "nearest": answer.nearest,
    })
}
