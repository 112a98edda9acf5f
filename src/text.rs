//! Small texts that several outputs share.

use std::borrow::Cow;
use std::io::{self, ErrorKind};

use unicode_normalization::UnicodeNormalization;

/// Returns whether two texts differ and look the same: one letter can be written as one character or as two.
pub fn look_alike(one: &str, other: &str) -> bool {
    one != other && one.nfc().eq(other.nfc())
}

/// The longest word that is compared with others, in characters.
const LONGEST_WORD: usize = 255;
/// The longest piece of a text that a message repeats, in characters.
const QUOTE_CHARS: usize = 60;

/// Returns `did you mean "…"?` for the candidate that the word is a typo of, if there is one.
pub fn did_you_mean<'a>(
    word: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<String> {
    nearest(word, candidates).map(ask)
}

/// Returns the question whether that name was meant.
pub fn ask(near: &str) -> String {
    format!("did you mean {}?", quote(near))
}

/// Returns the candidate that the word is a typo of: equal but for case or spelling of the same letters, or a slip away. Of
/// several the nearest.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let folded = |text: &str| text.trim().nfc().collect::<String>().to_lowercase();
    let is_long = |text: &str| text.chars().nth(LONGEST_WORD).is_some();
    let mut candidates = candidates.into_iter().peekable();
    if is_long(word) || candidates.peek().is_none() {
        return None;
    }
    let wanted = folded(word);
    candidates
        .filter(|candidate| *candidate != word && !is_long(candidate))
        .filter_map(|candidate| {
            let slips = slips(&wanted, &folded(candidate))?;
            // of two that differ only by case, the one in the word's own
            Some((slips, strsim::osa_distance(word, candidate), candidate))
        })
        .min_by_key(|(slips, in_case, _)| (*slips, *in_case))
        .map(|(_, _, candidate)| candidate)
}

/// How many slips of the finger make one word of the other, where that is likelier than another word being meant. Of short
/// words that is no guess but two letters turned round: `acl` is not `all`. Another number is another thing: `node-3` is not
/// `node-1`.
fn slips(one: &str, other: &str) -> Option<usize> {
    let slips = strsim::osa_distance(one, other);
    let sorted = |text: &str| {
        let mut chars: Vec<char> = text.chars().collect();
        chars.sort_unstable();
        chars
    };
    let is_turned_round = || slips == 1 && sorted(one) == sorted(other);
    let without_digits = |text: &str| {
        text.chars()
            .filter(|char| !char.is_ascii_digit())
            .collect::<String>()
    };
    let is_another_number =
        || sorted(one) != sorted(other) && without_digits(one) == without_digits(other);
    let most = match one.chars().count().max(other.chars().count()) {
        ..=3 => usize::from(is_turned_round()),
        4..=5 => 1,
        _ => 2,
    };
    (slips == 0 || slips <= most && !is_another_number()).then_some(slips)
}

/// Returns a text in double quotes: escaped, and cut where it is long.
pub fn quote(text: &str) -> String {
    quote_up_to(text, QUOTE_CHARS)
}

/// Returns a text in double quotes: escaped, and cut behind so many characters.
pub fn quote_up_to(text: &str, max_chars: usize) -> String {
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
            _ if is_hidden(char) => quoted.extend(char.escape_unicode()),
            _ => quoted.push(char),
        }
    }
    quoted.push('"');
    quoted
}

/// Most names of a list that a text for people spells out.
pub const MOST_NAMES: usize = 10;

/// Returns `a, b, c`; of more than [`MOST_NAMES`] the first, and how many more there are.
pub fn listed<T: AsRef<str>>(texts: &[T]) -> String {
    let shown: Vec<&str> = texts.iter().take(MOST_NAMES).map(AsRef::as_ref).collect();
    match texts.len().saturating_sub(MOST_NAMES) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

/// Returns a line in pieces of so many characters, broken at blanks; further pieces are indented by so many more than the line.
pub fn wrapped(line: &str, width: usize, further: usize) -> Vec<String> {
    let own = line.len() - line.trim_start_matches(' ').len();
    let mut pieces = vec![line[..own].to_owned()];
    let mut is_empty = true;
    for word in line[own..].split(' ') {
        let piece = pieces.last().map_or(0, |piece| piece.chars().count());
        if !is_empty && piece + 1 + word.chars().count() > width {
            pieces.push(" ".repeat(own + further));
            is_empty = true;
        }
        let piece = pieces.last_mut().expect("there is one");
        piece.push_str(if is_empty { "" } else { " " });
        piece.push_str(word);
        is_empty = false;
    }
    pieces
}

/// Returns the text with everything escaped that could move the cursor, hide or reorder text: names come from clients
/// and from pull requests.
pub fn visible(text: &str) -> Cow<'_, str> {
    if !text.contains(is_hidden) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 8);
    for char in text.chars() {
        if is_hidden(char) {
            shown.extend(char.escape_unicode());
        } else {
            shown.push(char);
        }
    }
    Cow::Owned(shown)
}

/// Returns whether a character cannot be seen for what it is: the one list of the program, for what a name may hold and for
/// every output. Control characters; what Unicode calls default ignorable (zero-width joiners and spaces, the byte order mark,
/// soft hyphens, marks of direction, fillers, variation selectors, tags); line and paragraph ends, marks of annotation; and
/// every blank but the space, since it looks like one.
pub fn is_hidden(char: char) -> bool {
    if char.is_ascii() {
        return char.is_ascii_control();
    }
    char.is_control()
        || char.is_whitespace()
        || matches!(char,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}'
            | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}')
}

/// Returns why an operation on a file did not work, in words for people and without the path, which the caller knows better.
pub fn file_error(error: &io::Error) -> String {
    match error.kind() {
        ErrorKind::NotFound => "no such file or directory".to_owned(),
        ErrorKind::IsADirectory => "it is a directory".to_owned(),
        ErrorKind::InvalidData => "it is not UTF-8 text".to_owned(),
        ErrorKind::FileTooLarge => "it is too large".to_owned(),
        ErrorKind::Unsupported if error.get_ref().is_some() => error.to_string(),
        kind => match &*kind.to_string() {
            "other error" | "uncategorized error" => system_words(error),
            kind => kind.to_owned(),
        },
    }
}

/// Returns the system's words for an error, without its number.
pub fn system_words(error: &io::Error) -> String {
    let text = error.to_string();
    match text.split_once(" (os error ") {
        Some((words, _)) => words.to_owned(),
        None => text,
    }
}

/// Returns `1 group`, `2 groups`.
pub fn count(number: usize, one: &str, several: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { several })
}

/// Returns a length of time in the largest unit that is whole: `7 days`, `90 minutes`, `7 seconds`.
pub fn duration(secs: i64) -> String {
    let (number, unit) = match secs {
        _ if secs % 86_400 == 0 => (secs / 86_400, "day"),
        _ if secs % 3_600 == 0 => (secs / 3_600, "hour"),
        _ if secs % 60 == 0 => (secs / 60, "minute"),
        _ => (secs, "second"),
    };
    format!("{number} {unit}{}", if number == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_hides_or_moves_is_escaped() {
        for shown in ["edge-1", "Büro", "機器-01", "🦉", "a b…", "e\u{301}"] {
            assert_eq!(visible(shown), shown);
        }
        for (hidden, shown) in [
            ("a\tb", "a\\u{9}b"),
            ("\u{1b}[2J", "\\u{1b}[2J"),
            ("a\u{202e}b", "a\\u{202e}b"),
            ("a\u{ad}b", "a\\u{ad}b"),
            ("\u{e0041}", "\\u{e0041}"),
            ("\u{3164}", "\\u{3164}"),
            ("a\u{a0}b", "a\\u{a0}b"),
            ("a\u{fe0f}", "a\\u{fe0f}"),
        ] {
            assert_eq!(visible(hidden), shown);
        }
    }

    #[test]
    fn what_a_file_does_not_allow_is_said_without_the_systems_numbers() {
        let missing = std::fs::read("/nowhere/at-all").expect_err("no such file");
        assert_eq!(file_error(&missing), "no such file or directory");
        let directory = std::fs::read_to_string("/").expect_err("a directory");
        assert_eq!(file_error(&directory), "it is a directory");
        let latin = std::io::read_to_string(&b"B\xfcro"[..]).expect_err("Latin-1");
        assert_eq!(file_error(&latin), "it is not UTF-8 text");
        let refused = io::Error::from_raw_os_error(13);
        assert_eq!(file_error(&refused), "permission denied");
        assert_eq!(file_error(&io::Error::other("lost")), "lost");
        let refused = io::Error::from_raw_os_error(111);
        assert_eq!(system_words(&refused), "Connection refused");
    }

    #[test]
    fn a_duration_is_in_its_largest_whole_unit() {
        for (secs, words) in [
            (604_800, "7 days"),
            (86_400, "1 day"),
            (90_000, "25 hours"),
            (5_400, "90 minutes"),
            (7, "7 seconds"),
            (1, "1 second"),
        ] {
            assert_eq!(duration(secs), words);
        }
    }

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
            ("a\u{200d}b", r#""a\u{200d}b""#),
        ];
        for (text, quoted) in rows {
            assert_eq!(quote(text), quoted);
        }
        assert_eq!(quote(&"x".repeat(61)), format!("\"{}…\"", "x".repeat(60)));
        assert_eq!(quote(&"x".repeat(60)), format!("\"{}\"", "x".repeat(60)));
    }

    #[test]
    fn only_a_typo_is_a_guess() {
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
            ("destination", Some("destinations")),
            ("destination_resource", None),
            ("proposal", None),
            ("colour", None),
            ("x", None),
            ("", None),
        ];
        for (word, near) in rows {
            assert_eq!(nearest(word, fields), near, "{word}");
        }
        let short = ["all", "tcp", "udp", "icmp"];
        for (word, near) in [
            ("tpc", Some("tcp")),
            ("TCP", Some("tcp")),
            ("acl", None),
            ("alb", None),
            ("al", None),
            ("a", None),
            ("icpm", Some("icmp")),
        ] {
            assert_eq!(nearest(word, short), near, "{word}");
        }
        let known = ["pilots", "ground-stations", "Pilots", "node-1", "node-12"];
        assert_eq!(
            did_you_mean("pilot", known).as_deref(),
            Some("did you mean \"pilots\"?")
        );
        assert_eq!(
            nearest("PILOTS", known),
            Some("Pilots"),
            "in the word's own case"
        );
        assert_eq!(nearest("contractors", known), None);
        assert_eq!(
            nearest("node-3", known),
            None,
            "another number is another thing"
        );
        assert_eq!(nearest("node-21", known), Some("node-12"));
        assert_eq!(
            nearest("pilots", ["pilots"]),
            None,
            "the word itself is no guess"
        );
    }

    #[test]
    fn long_lists_are_folded() {
        assert_eq!(listed(&["a", "b"]), "a, b");
        let many: Vec<String> = (0..12).map(|number| number.to_string()).collect();
        assert_eq!(listed(&many), "0, 1, 2, 3, 4, 5, 6, 7, 8, 9 and 2 more");
    }

    #[test]
    fn two_spellings_of_one_letter_look_alike() {
        let (composed, decomposed) = ("B\u{fc}ro", "Bu\u{308}ro");
        assert!(look_alike(composed, decomposed));
        assert!(!look_alike(composed, composed) && !look_alike(composed, "Buro"));
        let hint = did_you_mean(decomposed, ["Boro", composed]);
        assert_eq!(hint.as_deref(), Some("did you mean \"B\u{fc}ro\"?"));
    }
}
