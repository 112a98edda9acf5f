//! What the tests of this module share: small files, and their problems as short lines.

use snapbox::IntoData;
use snapbox::data::Inline;

use super::{Valid, validate};
use crate::file::{Finding, Severity, Source};

/// Validates a text.
pub(crate) fn check(text: &str) -> Result<Valid, String> {
    let source = Source::from_text("f", text).expect("a text");
    validate(&source).map_err(|problems| problems.render())
}

/// Returns errors (`path: message | hint`) and notices (`note: path: message | hint`), one a line.
pub(crate) fn problems(text: &str) -> Vec<String> {
    let source = Source::from_text("f", text).expect("a text");
    let list = match validate(&source) {
        Ok(valid) => valid.notices,
        Err(problems) => problems.list,
    };
    let line = |problem: Finding| {
        let note = if problem.severity == Severity::Notice {
            "note: "
        } else {
            ""
        };
        let hint = problem
            .hint
            .map(|hint| format!(" | {hint}"))
            .unwrap_or_default();
        format!("{note}{}: {}{hint}", problem.place.path, problem.message)
    };
    list.into_iter().map(line).collect()
}

/// Puts each row in place of `ROW` in the file, and returns the rows with their problems indented below.
pub(crate) fn table(file: &str, rows: &[&str]) -> String {
    let mut text = String::new();
    for row in rows {
        text += &format!("{row}\n");
        let problems = problems(&file.replace("ROW", row));
        text.extend(problems.iter().map(|problem| format!("    {problem}\n")));
    }
    text
}

/// Compares a [`table`] with a snapshot; `SNAPSHOTS=overwrite cargo test` writes it anew.
#[track_caller]
pub(crate) fn assert_table(file: &str, rows: &[&str], snapshot: Inline) {
    snapbox::assert_data_eq!(table(file, rows), snapshot.raw());
}
