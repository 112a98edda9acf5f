//! Small texts that several outputs share.

use std::borrow::Cow;
use std::fmt::{Debug, Display};
use std::io::{self, ErrorKind};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use similar::DiffOp;
use similar::algorithms::{Capture, Compact, Replace, myers};
use unicode_normalization::UnicodeNormalization;

/// Returns what makes the old lines the new ones. All callers share one instance of the one algorithm: with others, and for each kind
/// of line, it is 6 % of the binary.
pub fn line_changes(old: &[&str], new: &[&str]) -> Vec<DiffOp> {
    let mut diff = Compact::new(Replace::new(Capture::new()), old, new);
    let done = myers::diff(&mut diff, old, 0..old.len(), new, 0..new.len());
    done.map(|()| diff.into_inner().into_inner().into_ops())
        .unwrap_or_default()
}

/// Returns those numbers that are not zero, each with its word.
pub fn numbered<'a>(
    all: impl IntoIterator<Item = (usize, &'a str)>,
) -> impl Iterator<Item = String> {
    let some = all.into_iter().filter(|(number, _)| *number > 0);
    some.map(|(number, word)| format!("{number} {word}"))
}

/// Returns whether two texts differ and look the same: one letter can be written as one character or as two.
pub fn look_alike(one: &str, other: &str) -> bool {
    one != other && one.nfc().eq(other.nfc())
}

/// The longest word that is compared with others, in characters.
const LONGEST_WORD: usize = 255;
/// The most slips of the finger that are one word's typo.
const MOST_SLIPS: usize = 2;
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
///
/// Whoever asks for many words among many candidates bounds the number of comparisons.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let is_long = |text: &str| text.chars().nth(LONGEST_WORD).is_some();
    let mut candidates = candidates.into_iter().peekable();
    if is_long(word) || candidates.peek().is_none() {
        return None;
    }
    let (wanted, letters) = (folded(word), letters(word));
    candidates
        .filter(|candidate| *candidate != word && may_be_near(word, letters, candidate))
        .filter(|candidate| !is_long(candidate))
        .filter_map(|candidate| {
            let slips = slips(&wanted, &folded(candidate))?;
            // of two that differ only by case, the one in the word's own
            let in_case = word.chars().zip(candidate.chars());
            let in_case = in_case.filter(|(one, other)| one != other).count();
            Some((slips, in_case, candidate))
        })
        .min_by_key(|(slips, in_case, _)| (*slips, *in_case))
        .map(|(_, _, candidate)| candidate)
}

/// The form in which spellings are compared.
fn folded(text: &str) -> Vec<char> {
    let composed: String = match text.is_ascii() {
        true => text.trim().into(),
        false => text.trim().nfc().collect(),
    };
    composed.to_lowercase().chars().collect()
}

/// Most candidates are told apart by how long they are, or by which letters are in them: a slip takes one in and one out at
/// the most. Only ASCII is; other letters have several spellings.
fn may_be_near(word: &str, letters: u64, candidate: &str) -> bool {
    let lengths = || word.trim().len().abs_diff(candidate.trim().len()) <= MOST_SLIPS;
    let shared = || (letters ^ self::letters(candidate)).count_ones() as usize <= 2 * MOST_SLIPS;
    !(word.is_ascii() && candidate.is_ascii()) || lengths() && shared()
}

/// The set of letters of an ASCII text, two of them sometimes as one.
fn letters(text: &str) -> u64 {
    let bytes = text.trim().bytes();
    let bits = bytes.map(|byte| 1 << (byte.to_ascii_lowercase() % 64));
    bits.fold(0, |all, one: u64| all | one)
}

/// How many slips of the finger make one word of the other, where that is likelier than another word being meant. Of short
/// words that is not a guess but two letters turned round: `acl` is not `all`. Another number is another thing: `node-3` is not
/// `node-1`.
fn slips(one: &[char], other: &[char]) -> Option<usize> {
    let slips = apart(one, other, MOST_SLIPS)?;
    let sorted = |text: &[char]| {
        let mut chars = text.to_vec();
        chars.sort_unstable();
        chars
    };
    let is_turned_round = || slips == 1 && sorted(one) == sorted(other);
    let digits = |char: &&char| !char.is_ascii_digit();
    let is_another_number = || {
        one.iter().filter(digits).eq(other.iter().filter(digits)) && sorted(one) != sorted(other)
    };
    let most = match one.len().max(other.len()) {
        ..=3 => usize::from(is_turned_round()),
        4..=5 => 1,
        _ => MOST_SLIPS,
    };
    (slips == 0 || slips <= most && !is_another_number()).then_some(slips)
}

/// Returns how many letters more, less, other or turned round it takes to make one word of the other, where `most` are enough.
/// A full table of distances would cost the product of both lengths.
fn apart(one: &[char], other: &[char], most: usize) -> Option<usize> {
    let pairs = one.iter().zip(other);
    let same = pairs.take_while(|(one, other)| one == other).count();
    match (&one[same..], &other[same..]) {
        ([], []) => Some(0),
        (one, other) if most == 0 || one.len().abs_diff(other.len()) > most => None,
        (one, other) => {
            let is_turned = matches!((one, other), ([a, b, ..], [c, d, ..]) if a == d && b == c);
            let turned = is_turned.then_some((2, 2)).into_iter();
            let steps = turned.chain([(1, 1), (1, 0), (0, 1)]);
            let rest = steps.filter_map(|(of_one, of_other)| {
                apart(one.get(of_one..)?, other.get(of_other..)?, most - 1)
            });
            rest.min().map(|slips| slips + 1)
        }
    }
}

/// Returns a text in double quotes: escaped, and cut where it is long.
pub fn quote(text: &str) -> String {
    quote_up_to(text, QUOTE_CHARS)
}

/// Returns a text in double quotes: escaped, and cut behind so many characters.
pub fn quote_up_to(text: &str, max_chars: usize) -> String {
    let escaped = |char: char| match char {
        '"' | '\\' => format!("\\{char}"),
        '\n' => "\\n".to_owned(),
        '\r' => "\\r".to_owned(),
        '\t' => "\\t".to_owned(),
        _ => shown(char, is_hidden(char)),
    };
    let quoted: String = text.chars().take(max_chars).map(escaped).collect();
    let is_cut = text.chars().nth(max_chars).is_some();
    format!("\"{quoted}{}\"", if is_cut { "…" } else { "" })
}

/// Returns a name in double quotes: escaped so that two names that look the same differ, and whole.
pub fn quote_name(name: &str) -> String {
    visible(&format!("{name:?}")).into_owned()
}

fn shown(char: char, is_escaped: bool) -> String {
    match is_escaped {
        true => char.escape_unicode().to_string(),
        false => char.to_string(),
    }
}

/// Most names of a list that a text for people spells out.
pub const MOST_NAMES: usize = 10;

/// Returns `a, b, c`; of more than [`MOST_NAMES`] the first, and how many more there are.
pub fn listed(texts: impl IntoIterator<Item = impl Display>) -> String {
    let mut texts = texts.into_iter();
    let shown = joined(texts.by_ref().take(MOST_NAMES), ", ");
    match texts.count() {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// Returns the texts, with that between them.
pub fn joined(texts: impl IntoIterator<Item = impl Display>, between: &str) -> String {
    let texts = texts.into_iter().map(|text| text.to_string());
    texts.collect::<Vec<String>>().join(between)
}

/// Returns names in quotes, listed.
pub fn quoted(names: impl IntoIterator<Item = impl Debug>) -> String {
    listed(names.into_iter().map(|name| format!("{name:?}")))
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
    let shown = |char| shown(char, is_hidden(char));
    match text.contains(is_hidden) {
        true => text.chars().map(shown).collect(),
        false => text.into(),
    }
}

/// What begins and ends our own colours.
const COLOURS: [&str; 8] = ["0m", "2m", "31m", "32m", "33m", "34m", "35m", "36m"];

/// Returns an output with everything escaped that a terminal would obey, but for line ends, tabs and our own colours.
pub fn obedient_to_us(text: &str) -> Cow<'_, str> {
    let is_order = |char: char| char.is_control() && !matches!(char, '\n' | '\t');
    let is_ours = |rest: &str| COLOURS.iter().any(|colour| rest.starts_with(colour));
    let shown = |(at, char)| {
        let colour = text[at..].strip_prefix("\x1b[");
        shown(char, is_order(char) && !colour.is_some_and(is_ours))
    };
    match text.contains(is_order) {
        true => text.char_indices().map(shown).collect(),
        false => text.into(),
    }
}

/// Returns whether a character cannot be seen for what it is: the one list of the program, for what a name may hold and for
/// every output. What Unicode calls control, format or default ignorable (zero-width joiners and spaces, the byte order mark,
/// soft hyphens, marks of direction, fillers, variation selectors, tags); line and paragraph ends; every blank but the space,
/// since it looks like one; and what stands for an object that is not there.
pub fn is_hidden(char: char) -> bool {
    if char.is_ascii() {
        return char.is_ascii_control();
    }
    char.is_control()
        || char.is_whitespace()
        || matches!(char,
            '\u{ad}' | '\u{34f}' | '\u{600}'..='\u{605}' | '\u{61c}' | '\u{6dd}' | '\u{70f}' | '\u{890}' | '\u{891}'
            | '\u{8e2}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffc}' | '\u{110bd}' | '\u{110cd}'
            | '\u{13430}'..='\u{1343f}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
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

/// Returns a word of a command line, as a shell takes it.
pub fn shell(word: &str) -> String {
    let is_plain = |char: char| char.is_ascii_alphanumeric() || "/._-=".contains(char);
    match word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

/// Returns bytes as hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns the first digits of a commit's id, for people.
pub fn short_commit(id: &str) -> &str {
    id.get(..10).unwrap_or(id)
}

/// Returns a segment of a path, or a value of a query, percent-encoded.
pub fn percent_encoded(segment: &str) -> String {
    const PLAIN: AsciiSet = NON_ALPHANUMERIC.remove(b'-').remove(b'.');
    const UNRESERVED: &AsciiSet = &PLAIN.remove(b'_').remove(b'~');
    utf8_percent_encode(segment, UNRESERVED).to_string()
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

    /// By what Unicode says of each character, and not by those that somebody tried.
    #[test]
    fn what_unicode_calls_unseen_is_hidden() {
        let unseen =
            r"[\p{Control}\p{Format}\p{Separator}\p{Default_Ignorable_Code_Point}\u{fffc}&&[^ ]]";
        let unseen = regex_syntax::parse(unseen).expect("a class of characters");
        let regex_syntax::hir::HirKind::Class(regex_syntax::hir::Class::Unicode(class)) =
            unseen.kind()
        else {
            panic!("no class of characters");
        };
        for range in class.ranges() {
            for char in range.start()..=range.end() {
                assert!(is_hidden(char), "{:x}", u32::from(char));
            }
        }
    }

    #[test]
    fn a_terminal_obeys_us_alone() {
        for ours in ["plain\n\ttext", "\u{1b}[31mred\u{1b}[0m\n", "✏️ é"] {
            assert_eq!(obedient_to_us(ours), ours);
        }
        for (theirs, shown) in [
            ("\u{1b}[2Jx", "\\u{1b}[2Jx"),
            ("\u{1b}]0;title\u{7}", "\\u{1b}]0;title\\u{7}"),
            ("\u{1b}[31;8mx\u{9b}8m", "\\u{1b}[31;8mx\\u{9b}8m"),
            ("a\rb", "a\\u{d}b"),
            ("\u{1b}", "\\u{1b}"),
        ] {
            assert_eq!(obedient_to_us(theirs), shown);
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
            "the word itself is not a guess"
        );
    }

    #[test]
    fn slips_are_counted_as_a_full_table_would() {
        let words = [
            "", "a", "ab", "ba", "abc", "acb", "bac", "abcd", "badc", "abdc", "xabcd", "abcdx",
            "axbcd", "axbxcd",
        ];
        let chars = |word: &str| word.chars().collect::<Vec<_>>();
        for (one, other) in words
            .iter()
            .flat_map(|one| words.map(|other| (*one, other)))
        {
            let wanted =
                Some(table(&chars(one), &chars(other))).filter(|slips| *slips <= MOST_SLIPS);
            assert_eq!(
                apart(&chars(one), &chars(other), MOST_SLIPS),
                wanted,
                "{one} {other}"
            );
        }
    }

    /// Letters more, less, other or turned round, by the recursion of the definition.
    fn table(one: &[char], other: &[char]) -> usize {
        let ([.., a], [.., b]) = (one, other) else {
            return one.len() + other.len();
        };
        let (before, there) = (&one[..one.len() - 1], &other[..other.len() - 1]);
        let steps = [
            table(before, there) + usize::from(a != b),
            table(before, other) + 1,
            table(one, there) + 1,
        ];
        let turned = match (one, other) {
            ([one @ .., c, a], [other @ .., d, b]) if a == d && b == c => table(one, other) + 1,
            _ => usize::MAX,
        };
        steps.into_iter().chain([turned]).min().expect("four steps")
    }

    #[test]
    fn long_lists_are_folded() {
        assert_eq!(listed(["a", "b"]), "a, b");
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
