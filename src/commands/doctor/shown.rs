//! What `doctor` found: as a tree for people, as JSON for programs.

use serde_json::{Value, json};

use super::found::Check;
use crate::base::sentence::Sentence;
use crate::commands::cli::Purpose;
use crate::render::tree::{Block, Mark, Rank, Row, Rows, Tree};

/// Returns the table: what is wrong with what to do about it under it.
pub(super) fn tree(checks: &[Check], purpose: Option<Purpose>) -> Tree {
    let row = |(label, check): (String, &Check)| {
        let mut lines = check.text.lines().map(|line| Sentence::from(line.trim()));
        let first = lines.next().unwrap_or_default();
        let hint = check.hint.iter().flat_map(|hint| hint.lines().enumerate());
        let hint = hint.map(|(at, line)| match at {
            0 => Sentence::default()
                .strong("hint:")
                .say(" ")
                .say(line.trim()),
            _ => line.trim().into(),
        });
        let mark = match check.ok {
            Some(true) => Mark::PASSED,
            Some(false) => Mark::FAILED,
            None => Mark::SKIPPED,
        };
        Row {
            cells: vec![label.into(), first],
            more: lines.chain(hint).collect(),
            ..Row::of(mark, "", Rank::Must)
        }
    };
    let rows = Rows {
        head: &["check", "found"],
        rows: rows(checks).map(row).collect(),
        ..Rows::default()
    };
    Tree {
        heading: heading(checks, purpose).into(),
        body: vec![Block::Rows(rows)],
        ..Tree::default()
    }
}

/// Returns the same for programs.
pub(super) fn json(checks: &[Check]) -> Value {
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
    let all = [
        (number(Some(false)), "failed"),
        (number(Some(true)), "passed"),
        (number(None), "skipped"),
    ];
    let shown = |(number, word): (usize, &str)| {
        (number > 0 || word == "passed").then(|| format!("{number} {word}"))
    };
    let parts: Vec<String> = all.into_iter().filter_map(shown).collect();
    let more = match purpose {
        None if number(None) > 0 => "; use --for plan or --for apply to check more",
        _ => "",
    };
    format!("NetBird set-up: {}{more}", parts.join(", "))
}

/// The checks with their names as people read them. Of three and more in a row that were not made for one reason the first is
/// shown for all.
fn rows(checks: &[Check]) -> impl Iterator<Item = (String, &Check)> {
    let alike =
        |one: &Check, next: &Check| one.ok.is_none() && one.text == next.text && next.ok.is_none();
    let name = |check: &Check| check.name.replace('_', " ");
    checks.chunk_by(alike).flat_map(move |group| match group {
        [first, _, _, ..] => vec![(format!("{} more", group.len()), first)],
        few => few.iter().map(|check| (name(check), check)).collect(),
    })
}
