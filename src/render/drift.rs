//! Drift as text, markdown for an issue, and JSON.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::json::{named, with};
use super::markdown::{cell, code, line, object, text as inert};
use super::{describe, words};
use crate::drift::{Cause, Doer, Drift, Item};
use crate::plan::Plan;
use crate::text::{count, visible};

/// Returns the heading: how much there is.
pub fn heading(drift: &Drift) -> String {
    let parts = [
        (drift.missing.len(), "missing"),
        (drift.mismatched.len(), "mismatched"),
        (drift.unmanaged.len(), "unmanaged"),
    ];
    let parts: Vec<String> = parts
        .iter()
        .filter(|(n, _)| *n > 0)
        .map(|(n, word)| format!("{n} {word}"))
        .collect();
    if parts.is_empty() {
        "no drift".into()
    } else {
        parts.join(", ")
    }
}

/// Returns the drift for a terminal or a log.
pub fn terminal(drift: &Drift, plan: &Plan, file: &str) -> String {
    let mut out = format!("NetBird drift from {file}: {}\n", heading(drift));
    for (title, items) in [
        ("Missing", &drift.missing),
        ("Mismatched, NetBird → file", &drift.mismatched),
    ] {
        if !items.is_empty() {
            out.push_str(&format!("\n{title}:\n"));
        }
        for item in items {
            let why = why(item)
                .map(|why| format!("  ({why})"))
                .unwrap_or_default();
            out.push_str(&format!(
                "  {}{}\n",
                visible(&item.address.to_string()),
                visible(&why)
            ));
            if let Some(change) = &item.missing {
                out.push_str(&format!("      {}\n", describe::summary(change, plan)));
            }
            let names = item.fields.iter().map(describe::field_name);
            let width = names.map(|name| name.chars().count()).max().unwrap_or(0);
            for change in &item.fields {
                out.push_str(&format!(
                    "      {:width$}   {}\n",
                    describe::field_name(change),
                    describe::field(change)
                ));
            }
        }
    }
    if !drift.unmanaged.is_empty() {
        out.push_str("\nUnmanaged:\n");
        for (address, what) in &drift.unmanaged {
            let why = words::unmanaged(what)
                .map(|why| format!("  ({why})"))
                .unwrap_or_default();
            out.push_str(&format!(
                "  {}{}\n",
                visible(&address.to_string()),
                visible(&why)
            ));
        }
    }
    for (title, lines) in notes(drift) {
        out.push_str(&format!("\n{title}:\n"));
        lines
            .iter()
            .for_each(|line| out.push_str(&format!("  {}\n", visible(line))));
    }
    let ways = ways(drift, false);
    out.push_str(match (drift.is_alarming(), ways.is_empty()) {
        (true, _) => "\nNothing was corrected. What to do:\n",
        (false, true) => "\nNothing to do.\n",
        (false, false) => "\nNothing has to be done. If you like:\n",
    });
    ways.iter()
        .for_each(|way| out.push_str(&format!("  {way}\n")));
    out
}

/// What to do about it; nothing where there is nothing.
fn ways(drift: &Drift, in_markdown: bool) -> Vec<String> {
    let code = |text: &str| match in_markdown {
        true => format!("`{text}`"),
        false => text.to_owned(),
    };
    let mut ways = Vec::new();
    if drift.is_alarming() {
        ways.push(format!(
            "to have it as the file says: {}, then {} (in CI run the workflow apply by hand)",
            code("netbird-gitops plan"),
            code("netbird-gitops apply")
        ));
        ways.push(format!(
            "to have it as NetBird has it: write that into the file ({} prints it), and merge",
            code("netbird-gitops export")
        ));
    }
    if !drift.unmanaged.is_empty() {
        ways.push(format!(
            "to manage what is unmanaged: {} ({} lists all that there is)",
            code("netbird-gitops adopt KIND/NAME"),
            code("netbird-gitops adopt --candidates")
        ));
    }
    if !drift.enrolling.is_empty() {
        ways.push(format!(
            "to take in what enrolled: {} (in CI the workflow enrollment does it)",
            code("netbird-gitops sync-events")
        ));
    }
    ways
}

/// Returns the drift as the text of an issue, behind its marker.
pub fn markdown(drift: &Drift, plan: &Plan, marker: &str, file: &str) -> String {
    let mut out = format!(
        "{marker}\n### NetBird drift from {}: {}\n",
        code(file),
        heading(drift)
    );
    for (title, what, items) in [
        ("Missing", "what the file declares", &drift.missing),
        ("Mismatched", "NetBird → file", &drift.mismatched),
    ] {
        if items.is_empty() {
            continue;
        }
        out.push_str(&format!(
            "\n**{title}**\n\n| kind | name | {what} | since |\n|---|---|---|---|\n"
        ));
        for item in items {
            let missing = item.missing.as_ref();
            let missing = missing.map(|change| inert(&describe::summary(change, plan)));
            let fields: Vec<String> = item
                .fields
                .iter()
                .map(|change| {
                    inert(&format!(
                        "{} {}",
                        describe::field_name(change),
                        describe::field(change)
                    ))
                })
                .chain(missing)
                .collect();
            out.push_str(&format!(
                "| {} | {} | {} | {} |\n",
                item.address.kind.label(),
                cell(&item.address.name),
                fields.join("; "),
                inert(&why(item).unwrap_or_default())
            ));
        }
    }
    if !drift.unmanaged.is_empty() {
        let number = count(drift.unmanaged.len(), "object", "objects");
        out.push_str(&format!(
            "\n<details><summary>Unmanaged: {number}</summary>\n\n"
        ));
        for (address, what) in &drift.unmanaged {
            let why = words::unmanaged(what)
                .map(|why| format!(" ({})", inert(&why)))
                .unwrap_or_default();
            out.push_str(&format!("- {}{why}\n", object(address)));
        }
        out.push_str("\n</details>\n");
    }
    for (title, lines) in notes(drift) {
        out.push_str(&format!("\n**{title}**\n\n"));
        lines
            .iter()
            .for_each(|note| out.push_str(&format!("- {}\n", line(note))));
    }
    out.push_str("\nNothing was corrected.\n");
    let ways = ways(drift, true);
    if !ways.is_empty() {
        out.push('\n');
    }
    ways.iter()
        .for_each(|way| out.push_str(&format!("- {way}\n")));
    out
}

/// Returns the last text of an issue that is closed, behind its marker: what was told there last is not true any more.
pub fn resolved(marker: &str, file: &str, at: Timestamp) -> String {
    format!(
        "{marker}\n### NetBird drift from {}: resolved\n\nNothing is missing or mismatched since {}. What it was stands in \
         the edits of this text.\n",
        code(file),
        code(&format!("{at:.0}"))
    )
}

/// Returns the drift as JSON.
pub fn json(drift: &Drift, file: &str) -> Value {
    let item = |item: &Item| {
        let changes: Vec<Value> = item
            .fields
            .iter()
            .map(|change| json!({ "field": change.field, "before": change.before, "after": change.after }))
            .collect();
        let rest = json!({
            "changes": changes,
            "moved": item.cause.as_ref().map(|cause| match cause {
                Cause::File { .. } => "file",
                Cause::Server => "server",
            }),
            "commit": match &item.cause {
                Some(Cause::File { commit, .. }) => Some(commit),
                _ => None,
            },
            "by": item.doer.as_ref().map(|doer| &doer.name),
            "at": item.doer.as_ref().map(|doer| doer.at.to_string()),
        });
        with(named(&item.address, "kind", item.address.kind.word()), rest)
    };
    let unmanaged = drift.unmanaged.iter().map(|(address, what)| {
        let rest = json!({ "reason": words::unmanaged(what) });
        with(named(address, "kind", address.kind.word()), rest)
    });
    json!({
        "format_version": 1,
        "status": if drift.is_alarming() { "drift" } else { "clean" },
        "file": file,
        "missing": drift.missing.iter().map(item).collect::<Vec<_>>(),
        "mismatched": drift.mismatched.iter().map(item).collect::<Vec<_>>(),
        "extraneous": unmanaged.collect::<Vec<_>>(),
        "ghosts": drift.ghosts,
        "enrolling": drift.enrolling,
    })
}

fn why(item: &Item) -> Option<String> {
    let by = item
        .doer
        .as_ref()
        .map(|Doer { name, at }| format!("by {name}, {at:.0}"));
    match (&item.cause, by) {
        (Some(Cause::File { commit, at }), by) => {
            let file = format!(
                "the file changed in {commit} on {}, and that was not applied",
                day(*at)
            );
            Some(match by {
                Some(by) => format!("{file}; NetBird was changed {by}"),
                None => file,
            })
        }
        (Some(Cause::Server), Some(by)) => Some(format!("NetBird was changed {by}")),
        (Some(Cause::Server), None) => Some("NetBird was changed".into()),
        (None, by) => by,
    }
}

fn day(at: jiff::Timestamp) -> String {
    at.to_string().chars().take(10).collect()
}

fn notes(drift: &Drift) -> Vec<(&'static str, Vec<String>)> {
    let ghosts: Vec<String> = drift.ghosts.iter().cloned().collect();
    let enrolling = drift
        .enrolling
        .iter()
        .map(|key| format!("setup key {key:?}"))
        .collect::<Vec<_>>();
    let all = [
        ("Ghosts", ghosts),
        ("Enrolled, for the next sync-events", enrolling),
    ];
    all.into_iter()
        .filter(|(_, lines)| !lines.is_empty())
        .collect()
}
