//! `Allow-Deletes: N DIGEST`, the line that agrees to what a change of the file takes away.

use serde_json::json;
use sha2::{Digest, Sha256};

/// The line's key.
const KEY: &str = "allow-deletes:";

/// The first words of markdown and HTML whose content is not said by whoever wrote the text, and how it ends.
const HIDDEN: [(&str, &str); 2] = [("<!--", "-->"), ("<blockquote", "</blockquote>")];

/// Such a line.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct AllowDeletes {
    /// The number of rows.
    pub number: usize,
    /// 8 hexadecimal digits that differ where the environment or a row does. Without them it agrees to nothing: nobody can
    /// tell what was meant.
    pub digest: Option<String>,
}

impl AllowDeletes {
    /// Returns the line that agrees to these rows, which are sorted.
    pub(super) fn of(environment: &str, rows: &[&str]) -> Self {
        let digest = Sha256::digest(json!([environment, rows]).to_string());
        let digits = digest[..4].iter().map(|byte| format!("{byte:02x}"));
        AllowDeletes {
            number: rows.len(),
            digest: Some(digits.collect()),
        }
    }

    /// Reads what stands behind the key: `N` or `N DIGEST`. The number has no sign and no leading zero.
    pub fn parse(text: &str) -> Option<Self> {
        let mut words = text.split([' ', '\t']).filter(|word| !word.is_empty());
        let (number, digest) = (words.next()?, words.next());
        let digits = number.bytes().all(|b| b.is_ascii_digit());
        let exact = digits && (number == "0" || !number.starts_with('0'));
        let is_digest = |word: &str| word.len() == 8 && word.bytes().all(|b| b.is_ascii_hexdigit());
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

/// Returns these lines of a commit's message or a pull request's description, in order.
///
/// Only a line of its own counts, from its first character: none that is indented or part of a list, none in an HTML
/// comment (templates have them), none in a quote. Case of the key does not matter.
pub fn text_allow_deletes(text: &str) -> Vec<AllowDeletes> {
    let text = without_hidden(&text.replace("\r\n", "\n").replace('\r', "\n"));
    let mut found = Vec::new();
    let mut in_quote = false;
    for line in text.split('\n') {
        // in markdown a line behind a quote goes on with it, unless a blank one stands between
        in_quote = line.trim_start().starts_with('>') || (in_quote && !line.trim().is_empty());
        if !in_quote {
            found.extend(line_allow_deletes(line));
        }
    }
    found
}

fn line_allow_deletes(line: &str) -> Option<AllowDeletes> {
    let key = line.get(..KEY.len())?;
    let rest = line.get(KEY.len()..)?;
    key.eq_ignore_ascii_case(KEY)
        .then(|| AllowDeletes::parse(rest))?
}

/// Puts a character that stands in no such line in the place of what is hidden; up to the end where it has none.
fn without_hidden(text: &str) -> String {
    let lower = text.to_ascii_lowercase();
    let mut out = String::new();
    let mut at = 0;
    loop {
        let starts = HIDDEN.iter().filter_map(|(start, end)| {
            let found = lower[at..].find(start)?;
            Some((at + found, *end))
        });
        let Some((start, end)) = starts.min() else {
            out.push_str(&text[at..]);
            return out;
        };
        out.push_str(&text[at..start]);
        out.push('\u{fffd}');
        match lower[start..].find(end) {
            Some(found) => at = start + found + end.len(),
            None => return out,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{AllowDeletes, text_allow_deletes};

    #[test]
    fn a_line_is_strict() {
        let yes = [
            ("Allow-Deletes: 3 0a1b2c3d", 3, Some("0a1b2c3d")),
            ("allow-deletes:0 DEADBEEF", 0, Some("deadbeef")),
            (
                "x\n\nALLOW-DELETES:\t12  0a1b2c3d \r\n",
                12,
                Some("0a1b2c3d"),
            ),
            ("Allow-Deletes: 3", 3, None),
            (
                "> quoted\r\n\r\nAllow-Deletes: 3 0a1b2c3d",
                3,
                Some("0a1b2c3d"),
            ),
            (
                "<!-- a\nb -->\nAllow-Deletes: 3 0a1b2c3d",
                3,
                Some("0a1b2c3d"),
            ),
            ("```\nAllow-Deletes: 3 0a1b2c3d\n```", 3, Some("0a1b2c3d")),
        ];
        for (text, number, digest) in yes {
            let digest = digest.map(str::to_owned);
            let wanted = AllowDeletes { number, digest };
            assert_eq!(text_allow_deletes(text), [wanted], "{text:?}");
        }
        let no = [
            " Allow-Deletes: 3 0a1b2c3d",
            "> Allow-Deletes: 3 0a1b2c3d",
            "> quoted\nAllow-Deletes: 3 0a1b2c3d",
            "  > quoted\r\nand more\r\nAllow-Deletes: 3 0a1b2c3d",
            "<!-- Allow-Deletes: 3 0a1b2c3d -->",
            "<!--\nAllow-Deletes: 3 0a1b2c3d\n-->",
            "<!-- without an end\nAllow-Deletes: 3 0a1b2c3d",
            "<!-- x -->Allow-Deletes: 3 0a1b2c3d",
            "<BlockQuote>\nAllow-Deletes: 3 0a1b2c3d\n</blockquote>",
            "- Allow-Deletes: 3 0a1b2c3d",
            "`Allow-Deletes: 3 0a1b2c3d`",
            "Allow-Deletes: 3 0a1b2c3d.",
            "Allow-Deletes: 3 0a1b2c3",
            "Allow-Deletes: 3 0a1b2c3d4",
            "Allow-Deletes: 3 0a1b2c3g",
            "Allow-Deletes: 3 0a1b2c3d more",
            "Allow-Deletes: 3 objects",
            "Allow-Deletes: +3 0a1b2c3d",
            "Allow-Deletes: -3 0a1b2c3d",
            "Allow-Deletes: 03 0a1b2c3d",
            "Allow-Deletes: ٣ 0a1b2c3d",
            "Allow-Deletes:",
            "Allow-Deletes : 3 0a1b2c3d",
            "Allow Deletes: 3 0a1b2c3d",
            "Not-Allow-Deletes: 3 0a1b2c3d",
            "Allow-Deletes: 99999999999999999999999 0a1b2c3d",
            "Allow-Delete\u{17f}: 3 0a1b2c3d",
            "ünïcödé-in-here",
        ];
        for text in no {
            assert!(text_allow_deletes(text).is_empty(), "{text:?}");
        }
        let two = "Allow-Deletes: 1 0a1b2c3d\nAllow-Deletes: 2 0a1b2c3d";
        assert_eq!(text_allow_deletes(two).len(), 2);
    }

    proptest! {
        #[test]
        fn any_text_is_read(text in any::<String>(), lines in prop::collection::vec("[<!\\->A-z: 0-9\n]{0,30}", 0..9)) {
            let text = lines.join(&text);
            for line in text_allow_deletes(&text) {
                prop_assert_eq!(text_allow_deletes(&line.to_string()), [line]);
            }
        }
    }
}
