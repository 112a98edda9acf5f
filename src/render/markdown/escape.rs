//! Untrusted text in markdown: it renders as itself and does nothing, in Gitea and wherever else GFM is read.
//!
//! Gitea links and mentions after it has rendered the markdown, so an escape that markdown undoes is not enough
//! (docs/gitea-api.md, "Comments"). A word that they would act on stands in a code span, with nothing in it that is not seen: people
//! copy such words. Where a sign alone would act, a word joiner (U+2060) keeps it apart, and shows nothing.

use crate::base::{joined, visible, wrapped};

const JOINER: char = '\u{2060}';

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
        let size = match copied(rest).filter(|_| ends_word(before)) {
            Some(size) => {
                out.push_str(&code(&rest[..size]));
                size
            }
            None if char.is_alphanumeric() => {
                let size = rest.find(|char: char| !char.is_alphanumeric());
                let size = size.unwrap_or(rest.len());
                out.push_str(&rest[..size]);
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

fn ends_word(char: char) -> bool {
    char.is_whitespace() || "\"'`()[]{}<>|\\,;".contains(char)
}

/// Returns the length of the word that the text begins with, if something in it would be linked, mentioned or formatted: a URL,
/// an address with a port, a time, a place in a file, the number of a pull request, the id of a commit, a variable.
fn copied(text: &str) -> Option<usize> {
    let word = &text[..text.find(ends_word).unwrap_or(text.len())];
    let word = word.trim_end_matches(['.', ':', '!', '?']);
    let is_commit = word.len() >= 7 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
    let is_link = || {
        word.get(..4)
            .is_some_and(|it| it.eq_ignore_ascii_case("www."))
    };
    let acts = || word.contains([':', '@', '#', '_']) && word.contains(char::is_alphanumeric);
    (is_commit || is_link() || acts()).then_some(word.len())
}

/// Returns markdown as the beginning of a line, where it must not begin a list or the like.
pub(super) fn inert_start(text: String) -> String {
    let begins = |char: char| matches!(char, '-' | '+' | '=' | ' ') || char.is_ascii_digit();
    match text.starts_with(begins) {
        true => format!("{JOINER}{text}"),
        false => text,
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
