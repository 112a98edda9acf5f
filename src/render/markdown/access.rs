//! Who reaches whom, in a comment: a table, and folded below it what was reachable anyway and a small graph.

use std::mem::{Discriminant, discriminant};

use super::escape::{cell, fenced, text};
use super::parts::folded;
use crate::access::{Delta, Passage, Side};
use crate::base::text::visible;
use crate::render::access::{Line, calls, covered, line_of, lines};

/// How far back the line of the same sides is looked for: they stand together.
const MOST_TOGETHER: usize = 8;
/// Most edges of the graph: one with more is no picture any more.
const MOST_EDGES: usize = 20;
/// Most sentences about what nobody must miss, before deletions.
const MOST_CALLED: usize = 50;
/// Most lines of what was reachable anyway.
const MOST_COVERED: usize = 50;

/// What comes and goes, and what nobody must miss of it.
pub(super) fn table(delta: &Delta) -> Option<String> {
    let rows: Vec<String> = lines(delta).iter().map(row).collect();
    let calls: Vec<String> = calls(delta, false)
        .iter()
        .map(|call| format!("> - {}.", text(call)))
        .collect();
    let table = (!rows.is_empty()).then(|| {
        format!(
            "#### Who reaches whom\n\n|   | from | to | what | because |\n|---|---|---|---|---|\n{}",
            rows.join("\n")
        )
    });
    let calls = (!calls.is_empty()).then(|| format!("> [!WARNING]\n{}", calls.join("\n")));
    let parts: Vec<String> = table.into_iter().chain(calls).collect();
    (!parts.is_empty()).then(|| parts.join("\n\n"))
}

fn row(line: &Line) -> String {
    let side = |(name, more): &(String, String)| match more.is_empty() {
        true => cell(name),
        false => format!("{} ({})", cell(name), text(more)),
    };
    format!(
        "| {} | {} | {} | {} | {} |",
        if line.is_gained { "➕" } else { "❌" },
        side(&line.from),
        side(&line.to),
        text(&line.what),
        text(&line.because)
    )
}

/// What nobody must miss, in short lines, where there is no room for a table.
pub(super) fn called_out(delta: &Delta) -> Vec<String> {
    let calls = calls(delta, true);
    let more = calls.len().saturating_sub(MOST_CALLED);
    let shown = calls.iter().take(MOST_CALLED);
    let shown = shown.map(|call| format!("- ⚠️ {}", text(call)));
    let more = (more > 0).then(|| format!("- ⚠️ and {more} more of this kind"));
    shown.chain(more).collect()
}

/// What comes and goes in short lines, where there is no room for a table.
pub(super) fn short_lines(delta: &Delta) -> Vec<String> {
    // what many rules do between two sides is one line, with the name of each
    let mut short: Vec<(bool, String, Vec<String>)> = Vec::new();
    for line in lines(delta) {
        let ends = format!("{} → {}", cell(&line.from.0), cell(&line.to.0));
        let what = format!("{} ({})", text(&line.what), text(&line.because));
        let known = short.iter_mut().rev().take(MOST_TOGETHER);
        let mut known =
            known.filter(|(gained, other, _)| *gained == line.is_gained && *other == ends);
        match known.next() {
            Some((_, _, all)) => all.push(what),
            None => short.push((line.is_gained, ends, vec![what])),
        }
    }
    let line = |(is_gained, ends, what): &(bool, String, Vec<String>)| {
        let sign = if *is_gained { "➕" } else { "❌" };
        format!("- {sign} {ends}: {}", what.join(", "))
    };
    short.iter().map(line).collect()
}

/// What was reachable anyway, and a graph of what changes.
pub(super) fn details(delta: &Delta) -> Vec<String> {
    let covered = covered(delta);
    let more = covered.len().saturating_sub(MOST_COVERED);
    let shown = covered.iter().take(MOST_COVERED);
    let mut shown: Vec<String> = shown.map(|line| format!("- {}", text(line))).collect();
    if more > 0 {
        shown.push(format!("- and {more} more"));
    }
    let title = format!("Reachable before and after: {}", covered.len());
    let anyway = (!covered.is_empty()).then(|| folded(&title, &shown.join("\n")));
    let graph = graph(delta).map(|graph| folded("Graph", &fenced("mermaid", &graph)));
    anyway.into_iter().chain(graph).collect()
}

/// The changed part as a graph: solid lines are gained, dotted ones lost.
fn graph(delta: &Delta) -> Option<String> {
    let all: Vec<&Passage> = delta.lost.iter().chain(&delta.gained).collect();
    if all.is_empty() || all.len() > MOST_EDGES {
        return None;
    }
    // a group, a machine and a resource may have the same name
    let mut known: Vec<(Discriminant<Side>, String)> = Vec::new();
    let mut node = |side: &Side, (name, more): &(String, String)| {
        let name = match side {
            Side::Resource(_) => format!("{name} ({more})"),
            _ => name.clone(),
        };
        let it = (discriminant(side), name);
        let place = known.iter().position(|known| *known == it);
        place.unwrap_or_else(|| {
            known.push(it);
            known.len() - 1
        })
    };
    let lost = delta.lost.len();
    let mut edges = Vec::new();
    let mut styles = Vec::new();
    for (at, passage) in all.iter().enumerate() {
        let line = line_of(passage, at >= lost);
        let from = node(&passage.from, &line.from);
        let to = node(&passage.to, &line.to);
        let (arrow, colour) = match line.is_gained {
            true => ("-->", "#1a7f37"),
            false => ("-.->", "#cf222e"),
        };
        edges.push(format!("    n{from} {arrow}|{}| n{to}", label(&line.what)));
        styles.push(format!("    linkStyle {at} stroke:{colour}"));
    }
    let nodes = known.iter().enumerate();
    let nodes = nodes.map(|(at, (_, name))| format!("    n{at}[{}]", label(name)));
    let lines = ["graph LR".to_owned()]
        .into_iter()
        .chain(nodes)
        .chain(edges)
        .chain(styles);
    Some(lines.collect::<Vec<_>>().join("\n") + "\n")
}

/// A label of a graph: in quotes, with nothing in it that ends them or that is markup there.
fn label(text: &str) -> String {
    let mut out = String::from("\"");
    for char in visible(text).chars() {
        match char {
            // an entity of the graph's language, by its number
            '"' | '#' | '&' | '<' | '>' | ';' | '`' | '\\' | '%' => {
                out.push_str(&format!("#{};", u32::from(char)));
            }
            char => out.push(char),
        }
    }
    out.push('"');
    out
}
