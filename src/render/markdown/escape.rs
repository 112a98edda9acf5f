//! Untrusted text in markdown: it renders as itself and does nothing, in Gitea and wherever else GFM is read.
//!
//! Gitea links and mentions after it has rendered the markdown, so an escape that markdown undoes is not enough
//! (docs/gitea-api.md, "Comments"): a word joiner (U+2060) keeps such words apart, and shows nothing. What people copy,
//! the id of a commit, the number of a pull request, a place in a file or a time, stands in a code span instead, with
//! nothing in it that is not seen.

use jiff::Timestamp;

use crate::base::text::{joined, visible, wrapped};

const JOINER: char = '\u{2060}';
/// In the place of a stored key, as `git show` takes it.
const STORED: &str = ":.netbird-gitops/";

/// Returns a code span that holds the text and nothing else.
pub fn code(text: &str) -> String {
    let mut text = visible(text).into_owned();
    // not every reader of tables knows that a backslash in a code span escapes nothing
    if text.ends_with('\\') {
        text.push(JOINER);
    }
    let fence = "`".repeat(longest_run(&text, '`') + 1);
    let is_edge = |char| matches!(char, Some('`' | ' ') | None);
    let mut chars = text.chars();
    let is_padded = is_edge(chars.next()) || text.ends_with(['`', ' ']);
    let pad = if is_padded { " " } else { "" };
    format!("{fence}{pad}{text}{pad}{fence}")
}

/// Returns a code span for a cell of a table, where a pipe splits even inside a span unless it is escaped, and a
/// backslash before it would undo the escape.
pub(super) fn cell(text: &str) -> String {
    // what there is one of has no name, and an empty code span is none
    if text.is_empty() {
        return String::new();
    }
    let text = code(text).replace("\\|", &format!("\\{JOINER}|"));
    text.replace('|', "\\|")
}

/// Returns running text that renders as itself, in a cell too.
pub fn text(text: &str) -> String {
    let shown = visible(text);
    let mut out = String::with_capacity(shown.len());
    let mut rest = &*shown;
    let mut before = ' ';
    while let Some(char) = rest.chars().next() {
        let copied = time(rest).or_else(|| number(rest));
        let copied = copied.or_else(|| place(rest).filter(|_| before.is_whitespace()));
        let size = match copied.filter(|_| !before.is_alphanumeric()) {
            Some(size) => {
                out.push_str(&code(&rest[..size]));
                size
            }
            None if char.is_alphanumeric() => {
                let size = rest.find(|char: char| !char.is_alphanumeric());
                let size = size.unwrap_or(rest.len());
                push_word(&mut out, &rest[..size], rest[size..].starts_with('.'));
                size
            }
            None => {
                push_sign(&mut out, char, rest[char.len_utf8()..].chars().next());
                char.len_utf8()
            }
        };
        before = rest[..size].chars().next_back().unwrap_or(' ');
        rest = &rest[size..];
    }
    out
}

/// Returns the length of the number of an issue or a pull request that the text begins with, if it does.
fn number(text: &str) -> Option<usize> {
    let digits = text.strip_prefix('#')?.bytes();
    let digits = digits.take_while(u8::is_ascii_digit).count();
    (digits > 0).then_some(1 + digits)
}

/// Returns the length of the place in a file, as `netbird.json:12:7`, or on the branch of the inventory that the text begins
/// with, if it does.
fn place(text: &str) -> Option<usize> {
    let word = text.split(char::is_whitespace).next()?;
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let is_position = || {
        let (rest, column) = word.rsplit_once(':')?;
        let (file, line) = rest.rsplit_once(':')?;
        Some(!file.is_empty() && is_number(line) && is_number(column))
    };
    // a pipe and a backslash are not the same inside of a cell and outside
    let is_plain = !word.contains(['|', '\\']);
    let is_place = word.contains(STORED) || is_position().unwrap_or_default();
    (is_plain && is_place).then_some(word.len())
}

/// Returns the length of the time (RFC 3339) that the text begins with, if it does.
fn time(text: &str) -> Option<usize> {
    if !text.starts_with(|char: char| char.is_ascii_digit()) {
        return None;
    }
    let is_of_time = |char: char| char.is_ascii_digit() || "TZ:.+-".contains(char);
    let most = text.find(|char| !is_of_time(char)).unwrap_or(text.len());
    let found = text[..most].trim_end_matches(['.', ':', '-', '+']);
    found.parse::<Timestamp>().ok().map(|_| found.len())
}

/// Returns markdown as the beginning of a line, where it must not begin a list or the like.
pub(super) fn inert_start(text: String) -> String {
    let begins = |char: char| matches!(char, '-' | '+' | '=' | ' ') || char.is_ascii_digit();
    match text.starts_with(begins) {
        true => format!("{JOINER}{text}"),
        false => text,
    }
}

/// Pushes a word; one that looks like the id of a commit is a code span, and `www` before a dot is broken up.
fn push_word(out: &mut String, word: &str, before_a_dot: bool) {
    let is_commit = word.len() >= 7 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
    match before_a_dot && word.eq_ignore_ascii_case("www") {
        true => out.extend([&word[..1], "\u{2060}", &word[1..]]),
        false if is_commit => out.push_str(&code(word)),
        false => out.push_str(word),
    }
}

/// Pushes a character that is neither letter nor digit.
fn push_sign(out: &mut String, char: char, next: Option<char>) {
    match char {
        // a URL or an emoji goes on behind its colon
        ':' if next.is_none_or(char::is_whitespace) => out.push(':'),
        '@' | '#' | ':' => out.extend([char, JOINER]),
        '!' => out.push_str(&format!("&#33;{JOINER}")),
        '<' | '>' | '&' | '|' | '\\' | '`' | '*' | '_' | '[' | ']' | '~' | '$' => {
            out.push_str(&format!("&#{};", char as u32));
        }
        _ => out.push(char),
    }
}

fn longest_run(text: &str, wanted: char) -> usize {
    let runs = text.split(|char| char != wanted);
    runs.map(str::len).max().unwrap_or_default()
}

/// The longest line of a block that nobody has to scroll.
const WIDTH: usize = 100;

/// Returns a fenced block at column 0, its fence longer than any inside, and without blank lines at its ends. Long lines
/// go on in the next one, but for those without a blank.
pub(super) fn fenced(language: &str, text: &str) -> String {
    // a line of a diff that went on would lose its sign
    let shown = |line: &str| match language {
        "" => wrapped(&visible(line), WIDTH, 2),
        _ => vec![visible(line).into_owned()],
    };
    let text = joined(text.lines().flat_map(shown), "\n");
    let text = text.trim_matches('\n');
    let fence = "`".repeat(longest_run(text, '`').max(2) + 1);
    format!("{fence}{language}\n{text}\n{fence}")
}

/// Returns the hidden line by which a comment is found: one per document and environment. An HTML comment ends at `--`
/// in some readers and at `>` in others, so of an environment's name only harmless characters stay.
pub fn marker(what: &str, environment: &str) -> String {
    let mut name = String::new();
    for byte in environment.bytes() {
        let is_plain = byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        match byte == b'-' && (name.ends_with('-') || name.is_empty()) {
            false if is_plain => name.push(char::from(byte)),
            _ => name.push_str(&format!("%{byte:02X}")),
        }
    }
    if name.ends_with('-') {
        name.pop();
        name.push_str("%2D");
    }
    format!("<!-- netbird-gitops {what} {name} -->")
}
