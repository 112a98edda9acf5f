//! The answer of `access`: yes or no first, then by which rules, or what comes nearest.

use serde_json::{Value, json};

use super::access::{on_checks, parts, traffic};
use super::terminal::aligned;
use crate::access::{Answer, By, Near};
use crate::base::text::{listed, visible};

/// Returns the answer for people. `asked` are the words of the question.
pub fn text(answer: &Answer, (from, to, wanted): (&str, &str, Option<&str>)) -> String {
    let (reaching, all) = answer.pairs;
    let word = match reaching {
        0 => "no",
        some if some == all => "yes",
        _ => "in part",
    };
    let wanted = wanted
        .map(|wanted| format!(": {wanted}"))
        .unwrap_or_default();
    let pairs = match all {
        0 => "there is no pair of machines to ask about".to_owned(),
        1 => String::new(),
        _ => format!("{reaching} of {all} pairs"),
    };
    let pairs = match pairs.as_str() {
        "" => pairs,
        pairs => format!(" ({pairs})"),
    };
    let mut out = format!(
        "{word}: {} → {}{}{pairs}\n",
        visible(from),
        visible(to),
        visible(&wanted)
    );
    let rows = answer.rules.iter().map(|by| {
        let policy = format!("  by policy {}", visible(&by.policy));
        vec![policy, traffic(&by.traffic), more(by)]
    });
    out.extend(aligned(rows).iter().map(|line| format!("{line}\n")));
    if !answer.nearest.is_empty() {
        out.push_str("nearest:\n");
        let near = answer
            .nearest
            .iter()
            .map(|near| format!("  {}\n", visible(&words(near))));
        out.extend(near);
    }
    out
}

fn more(by: &By) -> String {
    let through = by
        .through
        .iter()
        .map(|through| format!("through {through}"));
    let checks = (!by.checks.is_empty()).then(|| on_checks(true, &by.checks));
    let parts: Vec<String> = through.chain(checks).collect();
    visible(&parts.join(", ")).into_owned()
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
