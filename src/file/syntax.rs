//! From text to a tree of values that know where they stand, or the one place at which the text is no JSON.
//!
//! Two parsers read every file. serde_json is the judge of the grammar: jsonc-parser, even at its strictest, takes raw
//! control characters in strings. jsonc-parser has what serde_json lacks: the position of every token, all members of
//! an object with two of one name, and errors that tell a comment from a stray character.

use jsonc_parser::ast::Value;
use jsonc_parser::errors::{ParseError, ParseErrorKind};
use jsonc_parser::{CollectOptions, ParseOptions, ParseStringErrorKind, parse_to_ast};
use serde::de::IgnoredAny;

use super::{Finding, Place, Source};
use crate::base::{Code, json};

/// JSON and nothing else; the crate's default allows everything.
const STRICT: ParseOptions = ParseOptions {
    allow_comments: false,
    allow_loose_object_property_names: false,
    allow_trailing_commas: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

/// Reads the text as strict JSON.
///
/// Errors with the first syntax error; what comes after it cannot be judged.
pub(crate) fn parse(source: &Source) -> Result<Value<'_>, Finding> {
    parse_text(source.json()).map_err(|Fault(offset, message, hint)| {
        let (line, column) = source.position(source.json_offset() + offset);
        let place = Place {
            path: String::new(),
            line,
            column,
        };
        let mut problem = Finding::error(Code::Syntax, place, message);
        problem.suggest(hint);
        let mut marks = ["<<<<<<<", "|||||||", "=======", ">>>>>>>"].iter();
        if marks.any(|mark| source.line(line).starts_with(mark)) {
            problem.message = "an unresolved merge conflict".to_owned();
            problem.suggest("keep one of the two sides and remove the markers");
        }
        problem
    })
}

/// Returns a text of the same length without its comments, and without the comma behind the last member or element: blanks stand there.
/// A comment that does not end stays.
pub(super) fn without_comments(text: &str) -> String {
    let mut bytes = text.as_bytes().to_vec();
    let (mut at, mut comma) = (0, None);
    while let Some(rest) = text.as_bytes().get(at..).filter(|rest| !rest.is_empty()) {
        let length = match rest {
            [b'"', ..] => string_length(rest),
            [b'/', b'/', ..] => rest
                .iter()
                .position(|it| *it == b'\n')
                .unwrap_or(rest.len()),
            [b'/', b'*', inner @ ..] => match inner.windows(2).position(|it| it == b"*/") {
                Some(end) => end + 4,
                None => break,
            },
            _ => 1,
        };
        match rest[0] {
            b'/' if length > 1 => {
                let comment = bytes[at..at + length].iter_mut();
                comment
                    .filter(|it| !matches!(it, b'\n' | b'\r'))
                    .for_each(|it| *it = b' ');
            }
            b',' => comma = Some(at),
            b'}' | b']' => {
                if let Some(comma) = comma.take() {
                    bytes[comma] = b' ';
                }
            }
            byte if byte.is_ascii_whitespace() => {}
            _ => comma = None,
        }
        at += length;
    }
    String::from_utf8(bytes).expect("whole comments became blanks")
}

/// Returns the length of the string at the beginning, with its quotes.
fn string_length(text: &[u8]) -> usize {
    let mut at = 1;
    while let Some(byte) = text.get(at).filter(|byte| **byte != b'"') {
        at += if *byte == b'\\' { 2 } else { 1 };
    }
    (at + 1).min(text.len())
}

/// A syntax error: its byte offset in the JSON, what is wrong, and what to do.
struct Fault(usize, String, Option<&'static str>);

/// Reads a text as [`parse`] does.
fn parse_text(json: &str) -> Result<Value<'_>, Fault> {
    let (judge, tree) = std::thread::scope(|scope| {
        let judge = scope.spawn(|| serde_json::from_str::<IgnoredAny>(json));
        let tree = parse_to_ast(json, &CollectOptions::default(), &STRICT);
        (judge.join().expect("a judging thread does not panic"), tree)
    });
    let (offset, message, hint) = match (judge, tree.map(|tree| tree.value)) {
        (Ok(_), Ok(Some(value))) => return Ok(value),
        _ if let Some((offset, message, hint)) = another_language(json) => {
            (offset, message.to_owned(), Some(hint))
        }
        (_, Ok(None)) if json.trim().is_empty() => (0, "the text is empty".to_owned(), None),
        (Ok(_), Ok(None)) => (0, NO_JSON.to_owned(), None),
        (Ok(_), Err(error)) => explain(json, &error, None),
        (Err(refusal), Err(error))
            if error.range().start <= refused_at(json, &refusal) && !is_number(&refusal) =>
        {
            explain(json, &error, Some(&refusal))
        }
        (Err(refusal), _) => (refused_at(json, &refusal), json::why(&refusal), None),
    };
    Err(Fault(offset, message, hint))
}

const NO_JSON: &str = "this is not JSON";

/// What a text is that begins as one of another language: where, what, and what to do.
fn another_language(text: &str) -> Option<(usize, &'static str, &'static str)> {
    let is_comment = |line: &&str| line.starts_with('#') || line.starts_with("//");
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = lines.find(|line| !is_comment(line))?;
    let offset = first.as_ptr().addr() - text.as_ptr().addr();
    let word = first.split([' ', '{', '"']).next().unwrap_or_default();
    let of_terraform = "resource data terraform provider variable module locals output";
    if of_terraform.split(' ').any(|it| it == word) {
        let hint = "netbird-gitops export writes the account as it is (docs/coming-from.md)";
        return Some((offset, "this is a file of Terraform", hint));
    }
    let is_key = |line: &str| line.ends_with(':') || line.contains(": ");
    let is_yaml = first.starts_with("---") || is_key(first) && !first.starts_with(['{', '[', '"']);
    let hint = "the same in JSON: yq -o json FILE.yaml > FILE.json";
    is_yaml.then_some((offset, "this is YAML, not JSON", hint))
}

/// Where serde_json stopped, as a byte offset. Its columns count bytes.
fn refused_at(json: &str, refusal: &serde_json::Error) -> usize {
    let lines = json.split_inclusive('\n');
    let before = lines.take(refusal.line().saturating_sub(1));
    let start: usize = before.map(str::len).sum();
    let offset = (start + refusal.column().saturating_sub(1)).min(json.len());
    json.floor_char_boundary(offset)
}

/// jsonc-parser takes `01` for two numbers, and asks for a comma.
fn is_number(refusal: &serde_json::Error) -> bool {
    refusal.to_string().starts_with("invalid number")
}

/// Returns offset, message and hint for an error of jsonc-parser.
fn explain(
    json: &str,
    error: &ParseError,
    refusal: Option<&serde_json::Error>,
) -> (usize, String, Option<&'static str>) {
    use ParseErrorKind as Kind;
    let offset = error.range().start;
    let rest = &json[json.floor_char_boundary(offset)..];
    let (message, hint) = match error.kind() {
        Kind::UnterminatedCommentBlock => ("this comment is never closed", None),
        Kind::CommentsNotAllowed => COMMENT,
        _ if rest.starts_with('#') => COMMENT,
        Kind::TrailingCommasNotAllowed => (
            "trailing comma",
            Some("remove the comma before the closing bracket"),
        ),
        Kind::NestingDepthExceeded => ("nested too deep", None),
        Kind::UnexpectedComma => ("a comma too many", None),
        Kind::UnexpectedTokenInObject if rest.starts_with(',') => ("a comma too many", None),
        Kind::ExpectedComma => ("a comma is missing here", None),
        Kind::ExpectedColonAfterObjectKey => ("a colon is missing before this", None),
        Kind::ExpectedObjectValue => ("a value is missing here", None),
        Kind::UnterminatedObject => ("this { is never closed", None),
        Kind::UnterminatedArray => ("this [ is never closed", None),
        Kind::String(ParseStringErrorKind::UnterminatedStringLiteral) => {
            ("this string is never closed", None)
        }
        Kind::String(ParseStringErrorKind::InvalidUnicodeEscapeSequence(_)) => (
            "half of a \\u pair: a character beyond \\uffff takes two",
            None,
        ),
        Kind::String(_) => (
            "no escape of JSON in this string",
            Some("a backslash itself is written \\\\"),
        ),
        _ if rest.starts_with(['\'', '`', '“', '”', '„', '‘', '’']) => (
            "not the quotes of JSON",
            Some("strings stand in plain double quotes"),
        ),
        Kind::ExpectedStringObjectProperty => (
            "a name without quotes",
            Some("names stand in double quotes"),
        ),
        Kind::UnexpectedWord | Kind::UnexpectedToken if rest.starts_with(char::is_alphabetic) => (
            "a word without quotes",
            Some("strings stand in double quotes; the bare words are true, false and null"),
        ),
        Kind::HexadecimalNumbersNotAllowed
        | Kind::UnaryPlusNumbersNotAllowed
        | Kind::BareDecimalPointNumbersNotAllowed
        | Kind::NonFiniteNumbersNotAllowed => ("not a number of JSON", None),
        Kind::MultipleRootJsonValues => (
            "there is more text after the end of the JSON",
            Some("it holds one object { … }"),
        ),
        _ => {
            let message = refusal.map_or_else(|| NO_JSON.to_owned(), json::why);
            return (offset, message, None);
        }
    };
    (offset, message.to_owned(), hint)
}

const COMMENT: (&str, Option<&str>) = (
    "comments are not JSON",
    Some("write \"$comment\": \"…\" in the object, or name the file netbird.jsonc"),
);

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(text: &str) -> Finding {
        parse(&Source::from_text("netbird.json", text).expect("a text"))
            .expect_err("a syntax error")
    }

    #[test]
    fn syntax_errors_are_named_where_they_are() {
        let rows = [
            ("{\n  // pilots\n}", (2, 3), "comments are not JSON"),
            ("{} // end", (1, 4), "comments are not JSON"),
            ("/* a */ {}", (1, 1), "comments are not JSON"),
            ("{ /* a", (1, 3), "this comment is never closed"),
            ("{\n# pilots\n}", (2, 1), "comments are not JSON"),
            ("{\"a\": 1,}", (1, 8), "trailing comma"),
            ("{\"a\": [1,\n 2,\n ]}", (2, 3), "trailing comma"),
            ("{\"Büro\": 1 , }", (1, 12), "trailing comma"),
            ("\u{feff}{\"a\": 1,}", (1, 8), "trailing comma"),
            ("{\"a\": 1,, \"b\": 2}", (1, 9), "a comma too many"),
            ("[,]", (1, 2), "a comma too many"),
            ("{\"a\": 1\n \"b\": 2}", (1, 8), "a comma is missing here"),
            ("[1 2]", (1, 3), "a comma is missing here"),
            ("{\"a\" 1}", (1, 6), "a colon is missing before this"),
            ("{\"a\": {\"b\": [1]}", (1, 1), "this { is never closed"),
            ("{\"a\": [1", (1, 7), "this [ is never closed"),
            ("{\"a\": \"b}", (1, 7), "this string is never closed"),
            (
                "{\"a\": \"b\nc\"}",
                (1, 8),
                "a line break or another control character in a string; write it as \\n, \\t or \\u…",
            ),
            (
                "{\"a\": \"b\tc\"} // x",
                (1, 8),
                "a line break or another control character in a string; write it as \\n, \\t or \\u…",
            ),
            (
                "{\"a\": \"\\x41\"}",
                (1, 8),
                "no escape of JSON in this string",
            ),
            (
                "{\"a\": \"\\ud800\"}",
                (1, 8),
                "half of a \\u pair: a character beyond \\uffff takes two",
            ),
            ("{'a': 1}", (1, 2), "not the quotes of JSON"),
            ("{“a”: 1}", (1, 2), "not the quotes of JSON"),
            ("{a: 1}", (1, 2), "a name without quotes"),
            ("{\"a\": True}", (1, 7), "a word without quotes"),
            ("{\"a\": 0x1f}", (1, 7), "not a number of JSON"),
            ("{\"a\": +1}", (1, 7), "not a number of JSON"),
            ("{\"a\": .5}", (1, 7), "not a number of JSON"),
            ("{\"a\": NaN}", (1, 7), "a word without quotes"),
            ("{\"a\": 01}", (1, 8), "not a number of JSON"),
            (
                "{} {}",
                (1, 4),
                "there is more text after the end of the JSON",
            ),
            (
                "{\n<<<<<<< HEAD\n\"a\": 1\n=======\n}",
                (2, 1),
                "an unresolved merge conflict",
            ),
        ];
        for (text, position, message) in rows {
            let Finding {
                place,
                message: found,
                ..
            } = problem(text);
            assert_eq!(
                ((place.line, place.column), found.as_str()),
                (position, message),
                "{text}"
            );
        }
        let deep = "[".repeat(600) + &"]".repeat(600);
        assert_eq!(problem(&deep).message, "nested too deep");
    }

    #[test]
    fn json_parses() {
        for text in [
            "{}",
            "null",
            " [1, -0, 1E5, \"\\u00fc\\ud83e\\udd89\"] ",
            "\u{feff}{\"a\": {}}\r\n",
        ] {
            assert!(
                parse(&Source::from_text("-", text).expect("a text")).is_ok(),
                "{text}"
            );
        }
    }
}
