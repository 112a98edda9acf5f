//! The path of a value in the file.

use crate::base::text::{is_hidden, quote_up_to};

/// The longest name in a path, in characters; a valid name is never cut.
const STEP_CHARS: usize = 255;
/// The longest part of a name that cannot be valid.
const HIDDEN_CHARS: usize = 60;

/// Appends a name to a path: `.name`, or `["a name"]` where it is not plain.
pub(crate) fn step(path: &str, name: &str) -> String {
    // a filler such as U+3164 is a letter to Unicode, and hidden to people
    let plain = |char: char| {
        !is_hidden(char) && (char.is_alphanumeric() || matches!(char, '_' | '-' | '$'))
    };
    let is_short = name.len() <= STEP_CHARS || name.chars().nth(STEP_CHARS).is_none();
    match (
        path,
        !name.is_empty() && is_short && name.chars().all(plain),
    ) {
        ("", true) => name.to_owned(),
        (_, true) => format!("{path}.{name}"),
        (_, false) if name.chars().take(STEP_CHARS).any(is_hidden) => {
            format!("{path}[{}]", quote_up_to(name, HIDDEN_CHARS))
        }
        (_, false) => format!("{path}[{}]", quote_up_to(name, STEP_CHARS)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_quote_what_is_not_plain() {
        let rows = [
            ("", "policies", "policies"),
            ("policies", "pilots-to-gs", "policies.pilots-to-gs"),
            ("groups", "Büro_2", "groups.Büro_2"),
            ("policies", "a.b", r#"policies["a.b"]"#),
            ("policies", "a[0]", r#"policies["a[0]"]"#),
            ("policies", "a b", r#"policies["a b"]"#),
            ("policies", "", r#"policies[""]"#),
            ("", "a b", r#"["a b"]"#),
            ("groups", "x\u{202e}", r#"groups["x\u{202e}"]"#),
            ("groups", "x\u{3164}", r#"groups["x\u{3164}"]"#),
            (
                "groups",
                "\u{115f}\u{ffa0}",
                r#"groups["\u{115f}\u{ffa0}"]"#,
            ),
        ];
        for (path, name, whole) in rows {
            assert_eq!(step(path, name), whole);
        }
        let (long, hidden) = ("x".repeat(255), "\u{202e}".repeat(255));
        assert_eq!(step("", &long), long, "a valid name is whole");
        let cut = "\\u{202e}".repeat(HIDDEN_CHARS);
        assert_eq!(step("", &hidden), format!("[\"{cut}…\"]"));
    }
}
