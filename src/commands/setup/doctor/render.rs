//! What `doctor` found: as a table for people, as a comment, as JSON for programs.

use serde_json::{Value, json};

use crate::base::text::visible;
use crate::commands::setup::doctor::{Check, Purpose};
use crate::render::markdown;
use crate::render::terminal::Color;

/// Returns the table: what is wrong with what to do about it under it.
pub fn terminal(checks: &[Check], purpose: Option<Purpose>, color: Color) -> String {
    let width = checks.iter().map(|check| check.name.len()).max();
    let width = width.unwrap_or_default();
    let mut out = format!("{}\n\n", heading(checks, purpose));
    for (label, check) in rows(checks) {
        let (sign, code) = sign(check);
        let first = format!(
            "{} {label:width$}  {}\n",
            color.paint(code, sign),
            under(&check.text, width + 4)
        );
        out.push_str(&first);
        if let Some(hint) = &check.hint {
            let indent = " ".repeat(width + 4);
            let label = color.paint("36", "hint:");
            out.push_str(&format!("{indent}{label} {}\n", under(hint, width + 10)));
        }
    }
    out
}

/// Returns the same for a comment.
pub fn comment(checks: &[Check], purpose: Option<Purpose>) -> String {
    let mut out = format!(
        "### {}\n\n| | check | |\n|---|---|---|\n",
        heading(checks, purpose)
    );
    for (label, check) in rows(checks) {
        let (sign, _) = sign(check);
        let lines = |text: &str| {
            let lines: Vec<String> = text
                .lines()
                .map(|line| markdown::text(line.trim()))
                .collect();
            lines.join("<br>")
        };
        let hint = check.hint.as_deref().map(lines);
        let hint = hint.map(|hint| format!("<br>**hint:** {hint}"));
        out.push_str(&format!(
            "| {sign} | {label} | {}{} |\n",
            lines(&check.text),
            hint.unwrap_or_default()
        ));
    }
    out
}

/// Returns the same for programs.
pub fn json(checks: &[Check]) -> Value {
    let check = |check: &Check| json!({ "name": check.name, "ok": check.ok, "text": check.text, "hint": check.hint });
    let failed = checks.iter().any(Check::failed);
    json!({
        "format_version": 1,
        "status": if failed { "failed" } else { "ok" },
        "checks": checks.iter().map(check).collect::<Vec<_>>(),
    })
}

/// The first line: does anybody need to worry?
fn heading(checks: &[Check], purpose: Option<Purpose>) -> String {
    let number = |ok| checks.iter().filter(|check| check.ok == ok).count();
    let mut parts = vec![format!("{} passed", number(Some(true)))];
    if number(Some(false)) > 0 {
        parts.insert(0, format!("{} failed", number(Some(false))));
    }
    if number(None) > 0 {
        parts.push(format!("{} skipped", number(None)));
    }
    let more = match purpose {
        None if number(None) > 0 => "; use --for plan or --for apply to check more",
        _ => "",
    };
    format!("NetBird set-up: {}{more}", parts.join(", "))
}

fn sign(check: &Check) -> (&'static str, &'static str) {
    match check.ok {
        Some(true) => ("✔", "32"),
        Some(false) => ("✖", "31"),
        None => ("–", "2"),
    }
}

/// Most checks in a row that are told one by one although the same is said of each.
const FEW: usize = 2;

/// The checks with their names as people read them. Of many in a row that were not made for one reason the first stands
/// for all.
fn rows(checks: &[Check]) -> impl Iterator<Item = (String, &Check)> {
    let alike =
        |one: &Check, next: &Check| one.ok.is_none() && one.text == next.text && next.ok.is_none();
    let groups = checks.chunk_by(alike);
    groups.flat_map(|group| {
        let shown = match group.len() > FEW {
            true => &group[..1],
            false => group,
        };
        let number = group.len();
        let label = move |check: &Check| match number > FEW {
            true => format!("{number} more"),
            false => check.name.replace('_', " "),
        };
        shown.iter().map(move |check| (label(check), check))
    })
}

/// Further lines stand under the first.
fn under(text: &str, indent: usize) -> String {
    let lines: Vec<_> = text.lines().map(visible).collect();
    lines.join(&format!("\n{}", " ".repeat(indent)))
}
