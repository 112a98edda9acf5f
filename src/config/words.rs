//! Text from a file, shown to people: quoted, escaped, cut, and set against what may have been meant.

use std::fmt::Write;

/// The longest piece of a file that a message repeats, in characters.
const QUOTE_CHARS: usize = 60;
/// The longest name in a path, in characters; a valid name is never cut.
const STEP_CHARS: usize = 255;

/// Returns a text in double quotes: escaped, and cut where it is long.
pub(crate) fn quote(text: &str) -> String {
    escape(text, QUOTE_CHARS)
}

/// Appends a name to a path: `.name`, or `["a name"]` where it is not plain.
pub(crate) fn step(path: &str, name: &str) -> String {
    let plain = |char: char| char.is_alphanumeric() || matches!(char, '_' | '-' | '$');
    match (
        path,
        !name.is_empty() && name.chars().count() <= STEP_CHARS && name.chars().all(plain),
    ) {
        ("", true) => name.to_owned(),
        (_, true) => format!("{path}.{name}"),
        (_, false) => format!("{path}[{}]", escape(name, STEP_CHARS)),
    }
}

fn escape(text: &str, max_chars: usize) -> String {
    let mut quoted = String::from('"');
    for (count, char) in text.chars().enumerate() {
        if count == max_chars {
            quoted.push('…');
            break;
        }
        match char {
            '"' | '\\' => quoted.extend(['\\', char]),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            _ if char.is_control() || is_unseen(char) => {
                // writing to a String cannot fail
                let _ = write!(quoted, "\\u{{{:x}}}", u32::from(char));
            }
            _ => quoted.push(char),
        }
    }
    quoted.push('"');
    quoted
}

/// Returns whether a character changes the direction of what follows, so that text reads as something else.
pub(crate) fn is_bidi(char: char) -> bool {
    matches!(
        char,
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}' | '\u{61c}'
    )
}

/// Characters that leave no ink; the joiners of emoji and Indic scripts are not among them.
fn is_unseen(char: char) -> bool {
    is_bidi(char)
        || matches!(
            char,
            '\u{ad}' | '\u{200b}' | '\u{2028}' | '\u{2029}' | '\u{2060}'..='\u{2064}' | '\u{feff}'
        )
}

/// Returns `did you mean "…"?` for the candidate that is most like the word, or `None` where none is.
pub(crate) fn did_you_mean<'a>(
    word: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<String> {
    nearest(word, candidates).map(|near| format!("did you mean {}?", quote(near)))
}

/// Returns the candidate that is most like the word: equal but for case, a slip or two away, or with a like beginning.
pub(crate) fn nearest<'a>(
    word: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let folded = word.to_lowercase();
    let length = folded.chars().count();
    if length > STEP_CHARS {
        return None;
    }
    let score = |candidate: &str| {
        let candidate = candidate.to_lowercase();
        let longer = length.max(candidate.chars().count());
        let likeness = strsim::jaro_winkler(&folded, &candidate);
        let slip =
            || longer <= STEP_CHARS && is_slip(strsim::osa_distance(&folded, &candidate), longer);
        (likeness >= 0.85 || slip()).then_some(likeness)
    };
    candidates
        .into_iter()
        .filter(|candidate| *candidate != word)
        .filter_map(|candidate| {
            // of two that differ only by case, the one in the word's own
            Some((
                score(candidate)?,
                strsim::jaro_winkler(word, candidate),
                candidate,
            ))
        })
        .max_by(|one, other| one.0.total_cmp(&other.0).then(one.1.total_cmp(&other.1)))
        .map(|(_, _, candidate)| candidate)
}

/// One or two letters wrong; of a word of two letters none, since half of it would be a guess.
fn is_slip(distance: usize, length: usize) -> bool {
    distance <= 2 && distance * 3 <= length
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_are_safe_to_print() {
        let rows = [
            ("pilots", r#""pilots""#),
            ("Büro 🦉", r#""Büro 🦉""#),
            ("a\"b\\c", r#""a\"b\\c""#),
            ("a\nb\tc\rd", r#""a\nb\tc\rd""#),
            ("a\u{1b}[2J", r#""a\u{1b}[2J""#),
            ("gpj\u{202e}exe", r#""gpj\u{202e}exe""#),
            ("o\u{200b}ps\u{feff}", r#""o\u{200b}ps\u{feff}""#),
            ("👩\u{200d}🚒", "\"👩\u{200d}🚒\""),
        ];
        for (text, quoted) in rows {
            assert_eq!(quote(text), quoted);
        }
        assert_eq!(quote(&"x".repeat(61)), format!("\"{}…\"", "x".repeat(60)));
        assert_eq!(quote(&"x".repeat(60)), format!("\"{}\"", "x".repeat(60)));
    }

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
        ];
        for (path, name, whole) in rows {
            assert_eq!(step(path, name), whole);
        }
    }

    #[test]
    fn the_nearest_word() {
        let fields = [
            "enabled",
            "sources",
            "destinations",
            "protocol",
            "ports",
            "groups",
            "peers",
        ];
        let rows = [
            ("enabeld", Some("enabled")),
            ("sorces", Some("sources")),
            ("protcol", Some("protocol")),
            ("Protocol", Some("protocol")),
            ("port", Some("ports")),
            ("grp", Some("groups")),
            ("destination", Some("destinations")),
            ("colour", None),
            ("x", None),
            ("", None),
        ];
        for (word, near) in rows {
            assert_eq!(nearest(word, fields), near, "{word}");
        }
        assert_eq!(nearest("tpc", ["all", "tcp", "udp", "icmp"]), Some("tcp"));
        assert_eq!(
            nearest("b", ["a", "c"]),
            None,
            "a guess between names of one letter is noise"
        );
        assert_eq!(
            nearest("ops", ["ops"]),
            None,
            "the word itself is no suggestion"
        );
    }
}
