//! What a check found, and how that is shown: as a tree for people, as JSON for programs.
//!
//! A check never changes anything. Its text says what is so, its hint what to do where that is wrong. What a token may not
//! see, what is not configured and what depends on a check that failed is neither right nor wrong.

use serde_json::{Value, json};

use crate::base::Sentence;
use crate::commands::Failure;
use crate::commands::cli::Purpose;
use crate::render::tree::{Mark, Rank, Row, Rows, Tree};
use crate::wire::api::numbers;

/// One thing that was looked at.
pub(super) struct Check {
    /// Its name, the same in every version.
    pub(super) name: &'static str,
    /// Whether it is right; `None` where it is not known.
    pub(super) ok: Option<bool>,
    /// What was found, or why nothing was.
    pub(super) text: String,
    /// What to do, where it is wrong, or right for now.
    pub(super) hint: Option<String>,
}

/// What somebody who looks finds: what is right, else what is not, without a name.
pub(super) type Look = Result<String, Check>;

/// It is wrong. `hint` says what to do.
pub(super) fn wrong(text: impl Into<String>, hint: impl Into<String>) -> Look {
    Err(Failure::error(text).hint(hint).into())
}

/// Not known, and why.
pub(super) fn open(text: impl Into<String>) -> Look {
    Err(Check::new(None, text.into(), None))
}

/// It was not looked at, and why.
pub(super) fn not_made(why: &str) -> Look {
    open(format!("not checked: {why}"))
}

/// The version of a server that is new enough, as far as that can be said.
pub(super) fn of_version(server: &str, version: &str) -> Look {
    match numbers(version) {
        Some(_) => Ok(format!("{server} {version}")),
        None => open(format!("{version:?} is not a version that can be compared")),
    }
}

impl Check {
    /// One that has no name yet.
    pub(super) fn new(ok: Option<bool>, text: String, hint: Option<String>) -> Self {
        let name = "";
        Check {
            name,
            ok,
            text,
            hint,
        }
    }

    /// Was something found wrong?
    pub(super) fn failed(&self) -> bool {
        self.ok == Some(false)
    }
}

impl<E: Into<Failure>> From<E> for Check {
    fn from(error: E) -> Self {
        let Failure { error, hint, .. } = error.into();
        Check::new(Some(false), error, hint)
    }
}

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
        let mut row = Row::with_cells(mark, vec![label.into(), first], Rank::Must);
        row.more = lines.chain(hint).collect();
        row
    };
    let rows = Rows::titled("", rows(checks).map(row)).table(&["check", "found"]);
    Tree::of(heading(checks, purpose), [rows])
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
    let [failed, passed, skipped] = [Some(false), Some(true), None].map(number);
    let failed = match failed {
        0 => String::new(),
        failed => format!("{failed} failed, "),
    };
    let skipped = match (skipped, purpose) {
        (0, _) => String::new(),
        (_, Some(_)) => format!(", {skipped} skipped"),
        (_, None) => format!(", {skipped} skipped; use --for plan or --for apply to check more"),
    };
    format!("NetBird set-up: {failed}{passed} passed{skipped}")
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
