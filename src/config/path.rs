//! The path of a value in the file.

use crate::text::{is_hidden, quote_up_to};

/// The longest name in a path, in characters; a valid name is never cut.
const STEP_CHARS: usize = 255;

/// Appends a name to a path: `.name`, or `["a name"]` where it is not plain.
pub(crate) fn step(path: &str, name: &str) -> String {
    // a filler such as U+3164 is a letter to Unicode, and hidden to people
    let plain = |char: char| {
        !is_hidden(char) && (char.is_alphanumeric() || matches!(char, '_' | '-' | '$'))
    };
    match (
        path,
        !name.is_empty() && name.chars().count() <= STEP_CHARS && name.chars().all(plain),
    ) {
        ("", true) => name.to_owned(),
        (_, true) => format!("{path}.{name}"),
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
    }
}
