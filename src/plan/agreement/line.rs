//! `Allow-Deletes: N DIGEST`, the line that agrees to what a change of the file takes away.

use serde_json::json;
use sha2::{Digest, Sha256};

use crate::base::{hex, is_hidden};

/// The line's key.
const KEY: &str = "allow-deletes:";

/// Such a line.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct AllowDeletes {
    /// The number of rows.
    pub number: usize,
    /// 32 hexadecimal digits that differ where the environment or a row does: so many that nobody finds other rows with the same
    /// ones, whose names somebody may choose. Fewer are read, so that it can be said that they agree to nothing.
    pub digest: Option<String>,
}

impl AllowDeletes {
    /// Returns the line that agrees to these rows, which are sorted.
    pub(super) fn of(environment: &str, rows: &[&str]) -> Self {
        let digest = Sha256::digest(json!([environment, rows]).to_string());
        AllowDeletes {
            number: rows.len(),
            digest: Some(hex(&digest[..16])),
        }
    }

    /// Reads what stands behind the key: `N` or `N DIGEST`. The number has no sign and no leading zero.
    pub fn parse(text: &str) -> Option<Self> {
        let mut words = text.split([' ', '\t']).filter(|word| !word.is_empty());
        let (number, digest) = (words.next()?, words.next());
        let digits = number.bytes().all(|b| b.is_ascii_digit());
        let exact = digits && (number == "0" || !number.starts_with('0'));
        let is_digest = |word: &str| {
            (8..=32).contains(&word.len()) && word.bytes().all(|b| b.is_ascii_hexdigit())
        };
        if !exact || !digest.is_none_or(is_digest) || words.next().is_some() {
            return None;
        }
        Some(AllowDeletes {
            number: number.parse().ok()?,
            digest: digest.map(str::to_ascii_lowercase),
        })
    }
}

impl std::fmt::Display for AllowDeletes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Allow-Deletes: {}", self.number)?;
        match &self.digest {
            Some(digest) => write!(f, " {digest}"),
            None => Ok(()),
        }
    }
}

/// Returns these lines of a commit's message or a pull request's description, in order, and whether each is plain to see.
///
/// Only a line of its own is plain to see, from its first character to its last, in a paragraph of nothing but such lines and
/// trailers, above all code blocks, formulas and HTML: markdown has too many ways to hide or to quote a text to tell them
/// apart. Case of the key does not matter.
pub fn text_allow_deletes(text: &str) -> Vec<(AllowDeletes, bool)> {
    let text = text.replace("\r\n", "\n");
    // not every reader of markdown ends a line there
    let has_lone_returns = text.contains('\r');
    let text = text.replace('\r', "\n");
    let lines: Vec<&str> = text.split('\n').collect();
    let mut found = Vec::new();
    // what stands before all else between two lines of hyphens is folded away
    let mut is_above = !text.trim_start().starts_with("---") && !has_lone_returns;
    // to markdown a line of other blanks is none that ends a paragraph
    for paragraph in lines.split(|line| line.trim_matches([' ', '\t']).is_empty()) {
        is_above &= !paragraph.iter().any(|line| opens(line));
        let is_plain = is_above
            && paragraph
                .iter()
                .all(|line| own(line).is_some() || is_trailer(line));
        found.extend(paragraph.iter().filter_map(|line| match own(line) {
            Some(own) => Some((own, is_plain)),
            None => Some((beside_others(line)?, false)),
        }));
    }
    found
}

/// Returns the number and digest that stand behind the key within a line: in a list, in bold, in an HTML comment.
fn beside_others(line: &str) -> Option<AllowDeletes> {
    let at = line.to_ascii_lowercase().find(KEY)?;
    let (before, behind) = (&line[..at], &line[at + KEY.len()..]);
    if before.ends_with(|char: char| char.is_alphanumeric() || char == '-') {
        return None;
    }
    let mut words = behind.split(|char: char| !char.is_ascii_alphanumeric());
    let mut word = || words.find(|word| !word.is_empty());
    AllowDeletes::parse(&format!("{} {}", word()?, word()?))
}

fn own(line: &str) -> Option<AllowDeletes> {
    let key = line.get(..KEY.len())?;
    let rest = line.get(KEY.len()..)?;
    key.eq_ignore_ascii_case(KEY)
        .then(|| AllowDeletes::parse(rest))?
}

/// Whether a line begins what can go on over blank lines: a code block, a formula or HTML, but for the address of a link.
fn opens(line: &str) -> bool {
    let is_tag = |rest: &str| {
        let name =
            rest.trim_start_matches(|char: char| char.is_ascii_alphanumeric() || char == '-');
        rest.starts_with(['!', '?', '/'])
            || name.len() < rest.len() && !name.starts_with([':', '@', '.', '_', '+'])
    };
    let fences = ["```", "~~~", "$$", "\\["];
    fences.iter().any(|fence| line.contains(fence)) || line.split('<').skip(1).any(is_tag)
}

/// Whether a line is `Key: value`, without anything that markdown could spread over further lines.
fn is_trailer(line: &str) -> bool {
    let is_key = |key: &str| {
        key.starts_with(|char: char| char.is_ascii_alphabetic())
            && key.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
    };
    let spreads = |char| matches!(char, '[' | '`' | '~' | '$' | '\\') || is_hidden(char);
    line.split_once(": ")
        .is_some_and(|(key, value)| is_key(key) && !value.contains(spreads))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{AllowDeletes, text_allow_deletes};

    const DIGEST: &str = "0a1b2c3d4e5f60718293a4b5c6d7e8f9";

    /// The lines of a text that are plain to see, and how many there are that are not. `%` stands for a digest.
    fn read(text: &str) -> (Vec<AllowDeletes>, usize) {
        let all = text_allow_deletes(&text.replace('%', DIGEST));
        let (plain, other): (Vec<_>, Vec<_>) = all.into_iter().partition(|(_, is_plain)| *is_plain);
        (
            plain.into_iter().map(|(line, _)| line).collect(),
            other.len(),
        )
    }

    #[test]
    fn a_line_is_strict() {
        let yes = [
            ("Allow-Deletes: 3 %", 3, Some(DIGEST)),
            (
                "allow-deletes:0 0A1B2C3D4E5F60718293A4B5C6D7E8F9",
                0,
                Some(DIGEST),
            ),
            ("x\n\nALLOW-DELETES:\t12  % \r\n", 12, Some(DIGEST)),
            ("Allow-Deletes: 3 deadbeef", 3, Some("deadbeef")),
            ("Allow-Deletes: 3", 3, None),
            ("> quoted\r\n\r\nAllow-Deletes: 3 %", 3, Some(DIGEST)),
            (
                "Allow-Deletes: 3 %\n\n```\ncode\n```\n<div>",
                3,
                Some(DIGEST),
            ),
            (
                "See <https://example.org> 1 < 2\n\nReviewed-by: Bob <bob@x.org>\nAllow-Deletes: 3 %\nCo-authored-by: Jo-Ann <jo-ann.b@x.org>",
                3,
                Some(DIGEST),
            ),
        ];
        for (text, number, digest) in yes {
            let digest = digest.map(str::to_owned);
            let wanted = AllowDeletes { number, digest };
            assert_eq!(read(text), (vec![wanted], 0), "{text:?}");
        }
        let no = [
            " Allow-Deletes: 3 %",
            "> Allow-Deletes: 3 %",
            "<!-- Allow-Deletes: 3 % -->",
            "<!-- x -->Allow-Deletes: 3 %",
            "- Allow-Deletes: 3 %",
            "`Allow-Deletes: 3 %`",
            "[//]: # (Allow-Deletes: 3 %)",
            "Allow-Deletes: 3 %.",
            "Allow-Deletes: 3 0a1b2c3",
            "Allow-Deletes: 3 0a1b2c3d4e5f60718293a4b5c6d7e8f90",
            "Allow-Deletes: 3 0a1b2c3g",
            "Allow-Deletes: 3 % more",
            "Allow-Deletes: 3 objects",
            "Allow-Deletes: +3 %",
            "Allow-Deletes: -3 %",
            "Allow-Deletes: 03 %",
            "Allow-Deletes: ٣ D",
            "Allow-Deletes:",
            "Allow-Deletes : 3 %",
            "Allow Deletes: 3 %",
            "Not-Allow-Deletes: 3 %",
            "Allow-Deletes: 99999999999999999999999 D",
            "Allow-Delete\u{17f}: 3 %",
            "ünïcödé-in-here",
        ];
        for text in no {
            assert!(read(text).0.is_empty(), "{text:?}");
        }
    }

    /// What a reader of the page does not see, or takes for somebody else's words.
    #[test]
    fn what_is_hidden_or_quoted_is_not_plain_to_see() {
        let no = [
            "> quoted\nAllow-Deletes: 3 %",
            "  > quoted\r\nand more\r\nAllow-Deletes: 3 %",
            "- a list\nAllow-Deletes: 3 %",
            "<!--\nAllow-Deletes: 3 %\n-->",
            "<!-- without an end\n\nAllow-Deletes: 3 %",
            "<BlockQuote>\n\nAllow-Deletes: 3 %\n\n</blockquote>",
            "<div hidden>\n\nAllow-Deletes: 3 %\n\n</div>",
            "a <span\n\nAllow-Deletes: 3 %",
            "<details>\n\nAllow-Deletes: 3 %",
            "<?\n\nAllow-Deletes: 3 %",
            "text <pre>\n\nAllow-Deletes: 3 %",
            "```\nAllow-Deletes: 3 %\n```",
            "- ~~~\n\nAllow-Deletes: 3 %",
            "````\n\nAllow-Deletes: 3 %\n\n````",
            "$$\n\nAllow-Deletes: 3 %\n\n$$",
            "\\[\n\nAllow-Deletes: 3 %\n\n\\]",
            "---\nx: y\n\nAllow-Deletes: 3 %\n\n---",
            "[//]: # (\nAllow-Deletes: 3 %\n)",
            "[x]: y '\nAllow-Deletes: 3 %\n'",
            "X: [a](b \"\nAllow-Deletes: 3 %\nY: \")",
            "![a](b 'x\nAllow-Deletes: 3 %\n')",
            "Allow-Deletes: 3 %\n===",
            "| a |\n|---|\nAllow-Deletes: 3 %",
            "> quoted\n\u{a0}\nAllow-Deletes: 3 %",
            "[//]: # (\n\u{b}\nAllow-Deletes: 3 %\n\u{3000}\n)",
            "> quoted\r\rAllow-Deletes: 3 %",
            "[//]: # (\r\rAllow-Deletes: 3 %\r\r)",
            "X: ~~a\nAllow-Deletes: 3 %\nY: b~~",
            "X: $\\phantom{\nAllow-Deletes: 3 %\nY: }$",
            "X: \u{202e}a\nAllow-Deletes: 3 %",
            "X: a\n---: |\nAllow-Deletes: 3 %",
            "He said: so\nAllow-Deletes: 3 %",
            "- Allow-Deletes: 3 %",
            "1. **Allow-Deletes: 3 %**",
            "**Allow-Deletes:** 3 %",
            "<!-- Allow-Deletes: 3 % -->",
            "> allow-deletes: 3 `%`",
            "I say Allow-Deletes: 3 %.",
            "Allow-Deletes: 3 % .",
        ];
        for text in no {
            assert_eq!(read(text), (vec![], 1), "{text:?}");
        }
        for text in ["Not-Allow-Deletes: 3 %", "xAllow-Deletes: 3 %"] {
            assert_eq!(read(text), (vec![], 0), "another key: {text:?}");
        }
        let two = "Allow-Deletes: 1 0a1b2c3d\nAllow-Deletes: 2 0a1b2c3d";
        assert_eq!(text_allow_deletes(two).len(), 2);
    }

    proptest! {
        #[test]
        fn any_text_is_read(text in any::<String>(), lines in prop::collection::vec("[<!\\->A-z: 0-9\n]{0,30}", 0..9)) {
            let text = lines.join(&text);
            for (line, _) in text_allow_deletes(&text) {
                prop_assert_eq!(text_allow_deletes(&line.to_string()), [(line, true)]);
            }
        }
    }
}
