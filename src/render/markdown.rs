//! The plan as markdown for a pull request: the heading answers "do I need to worry?", the table says what, the details
//! say how. Names are untrusted: they are inert wherever they stand.

use serde_json::Value;
use similar::{ChangeTag, TextDiff};

use super::{Counts, Document, Status, describe};
use crate::change::{Change, Operation, list_changes};
use crate::plan::Plan;
use crate::resource::FieldChange;
use crate::state::Kind;
use crate::text::{count, visible};

/// Size that a comment must not exceed, in characters: larger ones slow the page and are mailed to watchers.
pub const BUDGET: usize = 60_000;

/// Returns the plan, or what an apply made of it. What does not fit the budget is cut from the back: details first,
/// then rows of creations and changes; deletions and replacements stay to the last, and the text says what is missing.
pub fn document(document: &Document, applied: bool, budget: usize) -> String {
    let what = if applied { "apply" } else { "plan" };
    let marker = format!(
        "<!-- netbird-gitops {what} {} -->\n",
        document.environment.replace("--", "- -")
    );
    let mut out = String::new();
    for level in [Level::Full, Level::NoDetails, Level::Folded, Level::Bare] {
        out = format!("{marker}{}", body(document, applied, level));
        if out.chars().count() <= budget {
            return out;
        }
    }
    let cut: String = out.chars().take(budget.saturating_sub(80)).collect();
    let cut = cut
        .rsplit_once('\n')
        .map_or(cut.as_str(), |(whole, _)| whole);
    format!("{cut}\n\n**Cut here: the rest is in the job's log.**\n")
}

/// How much is left out.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
enum Level {
    Full,
    NoDetails,
    Folded,
    Bare,
}

fn body(document: &Document, applied: bool, level: Level) -> String {
    let Some(plan) = &document.plan else {
        return failure(document, applied);
    };
    let mut parts = vec![heading(document, plan, applied)];
    parts.extend(document.error.as_ref().map(|_| error(document)));
    parts.extend(left_out(plan, level));
    parts.extend(warnings(document, plan));
    if !plan.is_empty() {
        parts.push(table(document, plan, level));
    }
    if level == Level::Full {
        parts.extend(details(plan));
    }
    parts.extend(keys(document));
    if level < Level::Bare {
        parts.extend(notices(document));
        parts.extend(left_alone(document, plan));
    }
    parts.push(footer(document, plan));
    parts.join("\n\n") + "\n"
}

fn heading(document: &Document, plan: &Plan, applied: bool) -> String {
    let title = if applied {
        "NetBird apply"
    } else {
        "NetBird plan"
    };
    if plan.is_empty() {
        return format!("### {title}: No changes");
    }
    let counts = Counts::of(&plan.changes);
    let bold = |text: String| {
        let parts: Vec<String> = text.split(", ").map(str::to_owned).collect();
        let mark = |part: String| {
            if part.contains("delete") {
                format!("**{part}**")
            } else {
                part
            }
        };
        parts.into_iter().map(mark).collect::<Vec<_>>().join(", ")
    };
    if !applied {
        return format!("### {title}: {}", bold(counts.to_do()));
    }
    let pairs = plan.changes.iter().zip(&document.statuses);
    let done = Counts::of(
        pairs
            .filter(|(_, status)| **status == Status::Success)
            .map(|(change, _)| change),
    );
    let rest = document
        .statuses
        .iter()
        .filter(|status| **status != Status::Success)
        .count();
    let done = if done == Counts::default() {
        "nothing done".into()
    } else {
        bold(done.done())
    };
    if rest == 0 {
        format!("### {title}: {done}")
    } else {
        format!("### {title} **stopped**: {done}, {rest} not done")
    }
}

/// A plan that could not be made says so: an old plan never stands as if it were new.
fn failure(document: &Document, applied: bool) -> String {
    let title = if applied {
        "NetBird apply failed"
    } else {
        "NetBird plan could not be made"
    };
    format!("### {title}\n\n{}\n", error(document))
}

fn error(document: &Document) -> String {
    let mut text = format!("error: {}", document.error.as_deref().unwrap_or_default());
    if let Some(hint) = &document.hint {
        text.push_str(&format!("\nhint: {hint}"));
    }
    fenced("", &text)
}

fn left_out(plan: &Plan, level: Level) -> Option<String> {
    let quiet = plan
        .changes
        .iter()
        .filter(|change| !is_loud(change))
        .count();
    let what = match level {
        Level::Full => return None,
        Level::NoDetails => "the details of its changes are".to_owned(),
        Level::Folded | Level::Bare => {
            format!(
                "{} and all details are",
                count(quiet, "creation or change", "creations and changes")
            )
        }
    };
    Some(format!(
        "> [!IMPORTANT]\n> This plan is too long for a comment: {what} left out here and stand in the job's log."
    ))
}

/// Deletions, replacements and removed members, and what an apply would refuse.
fn warnings(document: &Document, plan: &Plan) -> Option<String> {
    let mut lines = Vec::new();
    for refusal in &document.refusals {
        lines.push(format!(
            "**Apply would refuse this**: {}. {}.",
            text(&refusal.text),
            text(&refusal.hint)
        ));
    }
    let loud: Vec<&Change> = plan
        .changes
        .iter()
        .filter(|change| is_loud(change))
        .collect();
    for change in loud.iter().take(20) {
        let name = code(&change.address.name);
        let label = change.address.kind.label();
        lines.push(match &change.operation {
            Operation::Delete { .. } => format!("Deletes {label} {name}."),
            Operation::Replace { .. } if change.address.kind == Kind::SetupKey => {
                format!("Replaces {label} {name}: a new secret is made and sealed, the old one stops working.")
            }
            Operation::Replace { .. } => format!("Replaces {label} {name}."),
            Operation::Create { .. } | Operation::Update { .. } => {
                let gone: Vec<String> =
                    change.removed_members().iter().filter_map(|id| Some(code(plan.peer_labels.get(id)?))).collect();
                format!("Removes from {label} {name}: {}.", gone.join(", "))
            }
        });
    }
    if loud.len() > 20 {
        lines.push(format!(
            "And {} more deletions, replacements and removals, listed below.",
            loud.len() - 20
        ));
    }
    if lines.is_empty() {
        return None;
    }
    Some(format!(
        "> [!WARNING]\n{}",
        lines
            .iter()
            .map(|line| format!("> {line}"))
            .collect::<Vec<_>>()
            .join("\n")
    ))
}

/// Whether a change takes something away.
fn is_loud(change: &Change) -> bool {
    matches!(
        change.operation,
        Operation::Delete { .. } | Operation::Replace { .. }
    ) || !change.removed_members().is_empty()
}

fn table(document: &Document, plan: &Plan, level: Level) -> String {
    let applied = !document.statuses.is_empty();
    let mut rows = vec![
        format!(
            "|   | kind | name | what changes |{}",
            if applied { " result |" } else { "" }
        ),
        format!("|---|---|---|---|{}", if applied { "---|" } else { "" }),
    ];
    let mut folded = std::collections::BTreeMap::<(Kind, &str), usize>::new();
    let mut loud = Vec::new();
    let mut quiet = Vec::new();
    for (index, change) in plan.changes.iter().enumerate() {
        let row = row(change, plan, document.statuses.get(index));
        if is_loud(change) {
            loud.push(row);
        } else if level >= Level::Folded {
            *folded
                .entry((change.address.kind, sign(&change.operation)))
                .or_default() += 1;
        } else {
            quiet.push(row);
        }
    }
    // what takes away stands first: a reader who stops early has seen it
    rows.extend(loud);
    rows.extend(quiet);
    rows.extend(folded.into_iter().map(|((kind, sign), number)| {
        let result = if applied { " |" } else { "" };
        format!(
            "| {sign} | {} | {number} of them | left out |{result}",
            kind.plural()
        )
    }));
    rows.join("\n")
}

fn row(change: &Change, plan: &Plan, status: Option<&Status>) -> String {
    let fields: Vec<String> = match change.address.kind {
        Kind::Peer => Vec::new(),
        _ => change.operation.fields().iter().map(field).collect(),
    };
    let summary = describe::summary(change, plan);
    let what: Vec<String> = fields
        .into_iter()
        .chain((!summary.is_empty()).then(|| text(&summary)))
        .collect();
    let result = match status {
        None => "",
        Some(Status::Success) => " done |",
        Some(Status::Failed(_)) => " **failed** |",
        Some(Status::Pending | Status::Skipped) => " not tried |",
    };
    format!(
        "| {} | {} | {} | {} |{result}",
        sign(&change.operation),
        change.address.kind.label(),
        code(&change.address.name),
        what.join("; ")
    )
}

fn field(change: &FieldChange) -> String {
    text(&format!(
        "{} {}",
        describe::field_name(change),
        describe::field(change)
    ))
}

fn sign(operation: &Operation) -> &'static str {
    match operation {
        Operation::Create { .. } => "➕",
        Operation::Update { .. } => "✏️",
        Operation::Replace { .. } => "♻️",
        Operation::Delete { .. } => "❌",
    }
}

/// One diff per change that has a before and an after: the lines that differ.
fn details(plan: &Plan) -> Option<String> {
    let changed = plan
        .changes
        .iter()
        .filter(|change| !change.operation.fields().is_empty());
    let blocks: Vec<String> = changed
        .map(|change| {
            let title = format!(
                "{} {}",
                change.address.kind.label(),
                code(&change.address.name)
            );
            format!("{title}\n\n{}", fenced("diff", &diff(change)))
        })
        .collect();
    (!blocks.is_empty()).then(|| folded("Details", &blocks.join("\n\n")))
}

fn diff(change: &Change) -> String {
    change.operation.fields().iter().map(field_diff).collect()
}

/// Each field for itself: over all of them, the lines of one would stand between those of another.
fn field_diff(field: &FieldChange) -> String {
    let entries = |value: &Value| -> String {
        let entries = value.as_array().into_iter().flatten();
        entries
            .map(|entry| format!("  {}\n", describe::value(entry)))
            .collect()
    };
    let (title, before, after) = match list_changes(&field.before, &field.after) {
        Some(_) => (
            format!("  {}:\n", field.field),
            entries(&field.before),
            entries(&field.after),
        ),
        None => (
            String::new(),
            line(&field.field, &field.before),
            line(&field.field, &field.after),
        ),
    };
    let lines = TextDiff::from_lines(&before, &after);
    let lines = lines.iter_all_changes().filter_map(|change| {
        let sign = match change.tag() {
            ChangeTag::Delete => '-',
            ChangeTag::Insert => '+',
            ChangeTag::Equal => return None,
        };
        Some(format!("{sign} {}", change.value()))
    });
    title + &lines.collect::<String>()
}

fn line(field: &str, value: &Value) -> String {
    format!("{field}: {}\n", describe::value(value))
}

/// The sealed secrets, each as a block at column 0 that can be copied and decrypted as it is.
fn keys(document: &Document) -> Option<String> {
    let blocks: Vec<String> = document
        .created_keys
        .iter()
        .map(|(name, key)| {
            let recipients = text(&key.recipients.join(", "));
            format!(
                "{} for {recipients}\n\n{}",
                code(name),
                fenced("", key.sealed.trim_end())
            )
        })
        .collect();
    (!blocks.is_empty()).then(|| folded("Sealed keys", &blocks.join("\n\n")))
}

fn notices(document: &Document) -> Option<String> {
    let lines: Vec<String> = document
        .all_notices()
        .iter()
        .map(|notice| format!("- {}", text(&notice.text)))
        .collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

fn left_alone(document: &Document, plan: &Plan) -> Option<String> {
    let unmanaged = document.unmanaged();
    let mut lines: Vec<String> = unmanaged
        .iter()
        .map(|(label, names)| {
            format!(
                "- {label} {}",
                names
                    .iter()
                    .map(|name| code(name))
                    .collect::<Vec<_>>()
                    .join(", ")
            )
        })
        .collect();
    for (group, members) in &plan.foreign_members {
        let labels: Vec<String> = members
            .iter()
            .filter_map(|id| Some(code(plan.peer_labels.get(id)?)))
            .collect();
        lines.push(format!("- in group {}: {}", code(group), labels.join(", ")));
    }
    if lines.is_empty() {
        return None;
    }
    let mut counts: Vec<String> = unmanaged
        .iter()
        .map(|(label, names)| format!("{} {label}", names.len()))
        .collect();
    let members: usize = plan
        .foreign_members
        .values()
        .map(std::collections::BTreeSet::len)
        .sum();
    if members > 0 {
        counts.push(count(members, "group member", "group members"));
    }
    Some(folded(
        &format!("Not managed here, left alone: {}", counts.join(", ")),
        &lines.join("\n"),
    ))
}

fn footer(document: &Document, plan: &Plan) -> String {
    let mut parts = Vec::new();
    parts.extend(document.commit.as_ref().map(|commit| code(commit)));
    if document.requests > 0 {
        parts.push(count(
            usize::try_from(document.requests).unwrap_or(usize::MAX),
            "request",
            "requests",
        ));
        parts.push(format!("{} ms", document.duration_ms));
    }
    let recipients = document.key_recipients();
    if !recipients.is_empty() {
        let recipients = recipients.join(", ");
        parts.push(text(&format!("new keys sealed for {recipients}")));
    }
    if !plan.is_empty() {
        parts.push(format!("digest {}", code(&plan.digest())));
    }
    parts.push(format!("netbird-gitops {}", env!("CARGO_PKG_VERSION")));
    parts.join(" · ")
}

fn folded(title: &str, body: &str) -> String {
    format!("<details><summary>{title}</summary>\n\n{body}\n\n</details>")
}

/// Returns a code span that holds the text and nothing else, in a table cell too.
///
/// A pipe splits cells even inside a span unless it is escaped, and a backslash before it would undo the escape: a word
/// joiner stands between the two then. Line breaks are shown as escapes.
pub fn code(text: &str) -> String {
    let text = visible(text)
        .replace("\\|", "\\\u{2060}|")
        .replace('|', "\\|");
    let longest = longest_run(&text, '`');
    let fence = "`".repeat(longest + 1);
    let pad = if text.starts_with(['`', ' ']) || text.ends_with(['`', ' ']) || text.is_empty() {
        " "
    } else {
        ""
    };
    format!("{fence}{pad}{text}{pad}{fence}")
}

/// Returns running text that renders as itself: every character that markdown, HTML or Gitea could act on is an
/// entity, and a word joiner follows what would mention or link.
pub fn text(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for char in visible(text).chars() {
        match char {
            '@' | '#' => out.push_str(&format!("{char}\u{2060}")),
            '<' | '>' | '&' | '|' | '\\' | '`' | '*' | '_' | '[' | ']' | '!' | '~' | '$' => {
                out.push_str(&format!("&#{};", char as u32));
            }
            // a URL or an emoji name needs its colon
            ':' => out.push_str(":\u{2060}"),
            _ => out.push(char),
        }
    }
    out
}

fn longest_run(text: &str, wanted: char) -> usize {
    text.split(|char| char != wanted)
        .map(str::len)
        .max()
        .unwrap_or(0)
}

/// Returns a fenced block, its fence longer than any inside.
fn fenced(language: &str, text: &str) -> String {
    let text: Vec<String> = text
        .lines()
        .map(|line| visible(line).into_owned())
        .collect();
    let text = text.join("\n");
    let fence = "`".repeat(longest_run(&text, '`').max(2) + 1);
    format!("{fence}{language}\n{text}\n{fence}")
}
