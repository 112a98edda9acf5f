//! The parts of a comment around its table.

use std::collections::BTreeSet;

use serde_json::Value;

use super::STYLE;
use super::escape::{code, fenced, line, object, text};
use crate::base::text::{count, listed};
use crate::model::change::{Change, list_changes};
use crate::model::kind::{FieldChange, words};
use crate::model::let_go::LetGo;
use crate::plan::Plan;
use crate::plan::agreement;
use crate::render::Document;
use crate::render::impact::impact;

/// Most warnings at the top; the table has them all.
const MOST_WARNINGS: usize = 20;

/// Most rows of what is let go that are not folded.
const MOST_LET_GO: usize = 10;

/// Who joins what once it enrolls.
pub(super) fn memberships(document: &Document) -> Option<String> {
    let line = |(joins, line): (bool, String)| match joins {
        true => format!("- ➕ {line}"),
        false => format!("- ❌ {line}"),
    };
    let lines = STYLE.memberships(&document.memberships_to_tell());
    let lines: Vec<String> = lines.into_iter().map(line).collect();
    (!lines.is_empty()).then(|| format!("Memberships after enrollment:\n\n{}", lines.join("\n")))
}

/// Lines to copy, each in a block of its own.
pub(super) fn ways_out(document: &Document) -> Option<String> {
    let ways = agreement::ways_out(&document.agreements).into_iter();
    let block =
        |(what, line): (String, String)| format!("{}:\n\n{}", sentence(&what), fenced("", &line));
    let blocks: Vec<String> = ways.map(block).collect();
    (!blocks.is_empty()).then(|| blocks.join("\n\n"))
}

/// The text with a capital letter, as a paragraph begins.
fn sentence(it: &str) -> String {
    let mut chars = it.chars();
    let first = chars.next().map(|char| char.to_uppercase().to_string());
    line(&(first.unwrap_or_default() + chars.as_str()))
}

/// Why an apply would not start.
pub(super) fn refusals(document: &Document) -> Option<String> {
    // an apply that was refused says so in its error
    if document.error.is_some() {
        return None;
    }
    let line = |refusal: &crate::plan::gates::Refusal| {
        let names: Vec<String> = refusal.names.iter().map(|name| code(name)).collect();
        let names = match names.is_empty() {
            true => String::new(),
            false => format!(" ({})", listed(&names)),
        };
        format!(
            "> - {}{names}. Way out: {}.",
            text(&refusal.text),
            text(&refusal.hint)
        )
    };
    let lines: Vec<String> = document.refusals.iter().map(line).collect();
    let why = STYLE.blame(document);
    let why = why.unwrap_or_else(|| "Apply would refuse this plan:".into());
    (!lines.is_empty()).then(|| format!("> [!CAUTION]\n> {why}\n>\n{}", lines.join("\n")))
}

/// What takes something away or opens something, as sentences.
pub(super) fn warnings(document: &Document, plan: &Plan) -> Option<String> {
    let name = |change: &Change| object(&change.address);
    let (mut lines, mut idle) = (Vec::new(), Vec::new());
    let own = plan.changes.iter().enumerate();
    for (_, change) in own.filter(|(place, _)| !document.others.contains(place)) {
        match impact(change, plan) {
            None => {}
            Some(impact) if impact.harmless => idle.push(name(change)),
            Some(impact) => {
                let what = impact.what.render(code, text);
                lines.push(format!("> - {} {}: {what}.", impact.verb, name(change)));
            }
        }
    }
    if !idle.is_empty() {
        lines.push(format!(
            "> - Deletes, and nobody loses anything by it: {}.",
            listed(&idle)
        ));
    }
    if lines.is_empty() {
        return None;
    }
    let more = lines.len().saturating_sub(MOST_WARNINGS);
    if more > 0 {
        lines.truncate(MOST_WARNINGS);
        lines.push(format!(
            "> - And {more} more of that sort, first in the table below."
        ));
    }
    Some(format!("> [!WARNING]\n{}", lines.join("\n")))
}

/// One diff per change that has a before and an after: the lines that differ.
pub(super) fn details(plan: &Plan) -> Option<String> {
    let changed = plan
        .changes
        .iter()
        .filter(|change| change.told_fields().next().is_some());
    let blocks: Vec<String> = changed
        .map(|change| {
            format!(
                "{}\n\n{}",
                object(&change.address),
                fenced("diff", &diff(change))
            )
        })
        .collect();
    (!blocks.is_empty()).then(|| folded("Details", &blocks.join("\n\n")))
}

fn diff(change: &Change) -> String {
    let mut out = String::new();
    for FieldChange {
        field,
        before,
        after,
    } in change.told_fields()
    {
        let value = |value: &Value| words::value(field, value);
        let Some((gone, new)) = list_changes(before, after) else {
            let (before, after) = (value(before), value(after));
            out.push_str(&format!("- {field}: {before}\n+ {field}: {after}\n"));
            continue;
        };
        out.push_str(&format!("  {field}:\n"));
        let same = after.as_array().map_or(0, Vec::len) - new.len();
        out.extend(
            gone.into_iter()
                .map(|entry| format!("-   {}\n", value(entry))),
        );
        out.extend(
            new.into_iter()
                .map(|entry| format!("+   {}\n", value(entry))),
        );
        // without a port it is every port
        let is_all =
            |ports: &Value| field == "ports" && ports.as_array().is_some_and(Vec::is_empty);
        let signs = [("-", before), ("+", after)].into_iter();
        for (sign, _) in signs.filter(|(_, ports)| is_all(ports)) {
            out.push_str(&format!("{sign}   all ports\n"));
        }
        if same > 0 {
            out.push_str(&format!("    ({same} unchanged)\n"));
        }
    }
    out
}

pub(super) fn notices(document: &Document) -> Option<String> {
    let notices = document.said();
    let lines: Vec<String> = notices
        .iter()
        .map(|notice| match notice.is_warning() {
            true => format!("- **Warning:** {}", text(&notice.text)),
            false => format!("- {}", line(&notice.text)),
        })
        .collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

pub(super) fn unmanaged(document: &Document, plan: &Plan) -> Option<String> {
    let objects = document.unmanaged().into_iter();
    let objects = objects.map(|(label, names)| format!("{} {label}", names.len()));
    let members = plan.unmanaged_members.values().map(BTreeSet::len).sum();
    let members = (members > 0).then(|| count(members, "group member", "group members"));
    let counts: Vec<String> = objects.chain(members).collect();
    let title = format!("Not managed here, left alone: {}", counts.join(", "));
    let lines = STYLE.unmanaged(document, plan);
    (!lines.is_empty()).then(|| folded(&title, &bullets(&lines)))
}

/// What was ours once and stays, why, and what to do.
pub(super) fn held(document: &Document) -> Option<String> {
    let lines = STYLE.held(document);
    (!lines.is_empty()).then(|| format!("**Held back:**\n\n{}", bullets(&lines)))
}

/// What is let go, and the lines that delete it instead.
pub(super) fn let_go(document: &Document, plan: &Plan) -> Option<String> {
    let row = |of: &LetGo| format!("{} {}", object(&of.address), text(&of.words()));
    let rows: Vec<String> = plan.let_go.iter().map(row).collect();
    let list = match rows.len() {
        0 => return None,
        1..=MOST_LET_GO => format!("**Let go:**\n\n{}", bullets(&rows)),
        number => folded(&format!("Let go: {number} objects"), &bullets(&rows)),
    };
    let lines = STYLE.let_go(document, plan).into_iter();
    let lines = lines.map(|(what, line)| format!("{what}:\n\n{}", fenced("", &line)));
    Some(
        [list]
            .into_iter()
            .chain(lines)
            .collect::<Vec<_>>()
            .join("\n\n"),
    )
}

fn bullets(lines: &[String]) -> String {
    let lines: Vec<String> = lines.iter().map(|line| format!("- {line}")).collect();
    lines.join("\n")
}

pub(super) fn footer(document: &Document, plan: &Plan) -> String {
    let mut parts = Vec::new();
    let recipients = document.key_recipients();
    if !recipients.is_empty() {
        let who: Vec<String> = recipients.iter().map(|who| code(who)).collect();
        parts.push(format!("new keys are sealed for {}", who.join(", ")));
    }
    if !plan.is_empty() {
        parts.push(format!("digest {}", code(&plan.digest())));
    }
    parts.push(version(document));
    parts.join(" · ")
}

/// What was run on what. Neither time nor requests: the same plan is the same bytes, and an unchanged comment no edit.
pub(super) fn version(document: &Document) -> String {
    let mut parts: Vec<String> = document.commit.iter().map(|commit| code(commit)).collect();
    parts.push(format!("netbird-gitops {}", env!("CARGO_PKG_VERSION")));
    parts.join(" · ")
}

pub(super) fn folded(title: &str, body: &str) -> String {
    format!("<details><summary>{title}</summary>\n\n{body}\n\n</details>")
}
