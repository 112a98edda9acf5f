//! Drift as text, markdown for an issue, and JSON.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::describe;
use super::json::named;
use super::markdown::{code, line};
use crate::base::json::with;
use crate::base::text::{count, visible};
use crate::model::address::Address;
use crate::model::kind::FieldChange;
use crate::plan::Plan;
use crate::plan::drift::{Cause, Doer, Drift, Item};

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

/// How a terminal and an issue show the same.
struct Style {
    /// Running text, with names in it.
    text: fn(&str) -> String,
    /// A command, or a file.
    code: fn(&str) -> String,
    /// The title of a list, with what leads to its first line.
    title: fn(&str) -> String,
    /// What stands before an entry of a list, and before what is said of it.
    item: [&'static str; 2],
    /// A list that is long and of little weight, with its title.
    folded: fn(&str, &str) -> String,
}

/// Returns the drift for a terminal or a log.
pub fn terminal(drift: &Drift, plan: &Plan, file: &str) -> String {
    let style = Style {
        text: |text| visible(text).into_owned(),
        code: str::to_owned,
        title: |title| format!("\n{title}:\n"),
        item: ["  ", "      "],
        folded: |title, list| format!("\n{title}:\n{list}"),
    };
    format!("NetBird drift from {file}: {}", style.shown(drift, plan))
}

/// Returns the drift as the text of an issue, behind its marker.
pub fn markdown(drift: &Drift, plan: &Plan, marker: &str, file: &str) -> String {
    let style = Style {
        text: line,
        code,
        title: |title| format!("\n**{title}**\n\n"),
        item: ["- ", "  - "],
        folded: |title, list| {
            format!("\n<details><summary>{title}</summary>\n\n{list}\n</details>\n")
        },
    };
    let shown = style.shown(drift, plan);
    format!("{marker}\n### NetBird drift from {}: {shown}", code(file))
}

impl Style {
    /// The heading, what differs, and what to do.
    fn shown(&self, drift: &Drift, plan: &Plan) -> String {
        let [item, detail] = self.item;
        let mut out = format!("{}\n", heading(drift));
        for (title, items) in [
            ("Missing", &drift.missing),
            ("Mismatched, NetBird → file", &drift.mismatched),
        ] {
            if !items.is_empty() {
                out.push_str(&(self.title)(title));
            }
            for of in items {
                out.push_str(&format!("{item}{}\n", self.object(&of.address, why(of))));
                let missing = of.missing.as_ref();
                let missing = missing.map(|change| describe::summary(change, plan));
                let parts = of.fields.iter().map(FieldChange::named).chain(missing);
                out.extend(parts.map(|part| format!("{detail}{}\n", (self.text)(&part))));
            }
        }
        let list = |lines: Vec<String>| -> String {
            let lines = lines.iter().map(|line| format!("{item}{line}\n"));
            lines.collect()
        };
        let unmanaged = drift.unmanaged.iter();
        let unmanaged = unmanaged.map(|(at, what)| self.object(at, what.words(&at.name)));
        let unmanaged: Vec<String> = unmanaged.collect();
        if !unmanaged.is_empty() {
            let number = count(unmanaged.len(), "object", "objects");
            out.push_str(&(self.folded)(
                &format!("Unmanaged, {number}"),
                &list(unmanaged),
            ));
        }
        let ghosts = drift.ghosts.iter().map(|ghost| (self.text)(ghost));
        let enrolling = drift.enrolling.iter();
        let enrolling = enrolling.map(|key| (self.text)(&format!("setup key {key:?}")));
        for (title, lines) in [
            ("Ghosts", ghosts.collect::<Vec<_>>()),
            ("Enrolled, for the next sync-events", enrolling.collect()),
            (
                match drift.is_alarming() {
                    true => "Nothing was corrected. What to do",
                    false => "Nothing has to be done. If you like",
                },
                self.ways(drift),
            ),
        ] {
            if !lines.is_empty() {
                out.push_str(&(self.title)(title));
                out.push_str(&list(lines));
            }
        }
        out
    }

    /// An object, and what is to be said of it.
    fn object(&self, address: &Address, why: Option<String>) -> String {
        let why = why.map(|why| format!(" ({why})")).unwrap_or_default();
        (self.text)(&format!("{address}{why}"))
    }

    /// What to do about it; nothing where there is nothing.
    fn ways(&self, drift: &Drift) -> Vec<String> {
        let code = self.code;
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
}

/// Returns the last text of an issue that is closed, behind its marker: what was told there last is not true any more.
pub fn resolved(marker: &str, file: &str, at: Timestamp) -> String {
    format!(
        "{marker}\n### NetBird drift from {}: resolved\n\nNothing is missing or mismatched since {}. The earlier report is in the edits of this text.\n",
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
        let rest = json!({ "reason": what.words(&address.name) });
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

/// Which side moved, and who did it.
fn why(item: &Item) -> Option<String> {
    let file = match &item.cause {
        Some(Cause::File { commit, at }) => Some(format!(
            "the file changed in {commit} on {}, and that was not applied",
            at.strftime("%F")
        )),
        _ => None,
    };
    let by = item.doer.as_ref();
    let by = by.map(|Doer { name, at }| format!("NetBird was changed by {name}, {at:.0}"));
    let server = (item.cause == Some(Cause::Server)).then(|| "NetBird was changed".into());
    let parts: Vec<String> = file.into_iter().chain(by.or(server)).collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}
