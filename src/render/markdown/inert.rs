//! Untrusted text in markdown: it renders as itself and does nothing, in Gitea and wherever else GFM is read.
//!
//! Gitea links and mentions after it has rendered the markdown, so an escape that markdown undoes is not enough
//! (gitea-api.md §1.7): a word joiner (U+2060) keeps such words apart, and shows nothing.

use crate::text::visible;

const JOINER: char = '\u{2060}';

/// Returns a code span that holds the text and nothing else.
pub fn code(text: &str) -> String {
    let mut text = visible(text).into_owned();
    // not every reader of tables knows that a backslash in a code span escapes nothing
    if text.ends_with('\\') {
        text.push(JOINER);
    }
    let fence = "`".repeat(longest_run(&text, '`') + 1);
    let pad = if text.starts_with(['`', ' ']) || text.ends_with(['`', ' ']) || text.is_empty() {
        " "
    } else {
        ""
    };
    format!("{fence}{pad}{text}{pad}{fence}")
}

/// Returns a code span for a cell of a table, where a pipe splits even inside a span unless it is escaped, and a
/// backslash before it would undo the escape.
pub(in crate::render) fn cell(text: &str) -> String {
    code(text)
        .replace("\\|", &format!("\\{JOINER}|"))
        .replace('|', "\\|")
}

/// Returns running text that renders as itself, in a cell too.
pub fn text(text: &str) -> String {
    let shown = visible(text);
    let mut out = String::with_capacity(shown.len());
    let mut word = String::new();
    let mut chars = shown.chars().peekable();
    while let Some(char) = chars.next() {
        if char.is_alphanumeric() {
            word.push(char);
            continue;
        }
        push_word(&mut out, &word, char);
        word.clear();
        match char {
            // a URL or an emoji goes on behind its colon
            ':' if chars.peek().is_none_or(|next| next.is_whitespace()) => out.push(':'),
            '@' | '#' | ':' => out.extend([char, JOINER]),
            '!' => out.push_str(&format!("&#33;{JOINER}")),
            '<' | '>' | '&' | '|' | '\\' | '`' | '*' | '_' | '[' | ']' | '~' | '$' => {
                out.push_str(&format!("&#{};", char as u32));
            }
            _ => out.push(char),
        }
    }
    push_word(&mut out, &word, ' ');
    out
}

/// Returns the text as the beginning of a line, where it must not begin a list or the like.
pub(in crate::render) fn line(it: &str) -> String {
    let begins = |char: char| matches!(char, '-' | '+' | '=' | ' ') || char.is_ascii_digit();
    match it.starts_with(begins) {
        true => format!("{JOINER}{}", text(it)),
        false => text(it),
    }
}

/// Pushes a word; one that is `www` before a dot, or looks like the id of a commit, is broken up.
fn push_word(out: &mut String, word: &str, next: char) {
    let is_host = next == '.' && word.eq_ignore_ascii_case("www");
    let is_commit = word.len() >= 7 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_host || is_commit {
        out.push_str(&word[..1]);
        out.push(JOINER);
        out.push_str(&word[1..]);
    } else {
        out.push_str(word);
    }
}

fn longest_run(text: &str, wanted: char) -> usize {
    text.split(|char| char != wanted)
        .map(str::len)
        .max()
        .unwrap_or(0)
}

/// Returns a fenced block at column 0, its fence longer than any inside, and without blank lines at its ends.
pub(super) fn fenced(language: &str, text: &str) -> String {
    let lines: Vec<String> = text
        .lines()
        .map(|line| visible(line).into_owned())
        .collect();
    let text = lines.join("\n");
    let text = text.trim_matches('\n');
    let fence = "`".repeat(longest_run(text, '`').max(2) + 1);
    format!("{fence}{language}\n{text}\n{fence}")
}

/// Returns the hidden line by which a comment is found: one per document and environment. An HTML comment ends at `--`
/// in some readers and at `>` in others, so of an environment's name only harmless characters stay.
pub fn marker(what: &str, environment: &str) -> String {
    let mut name = String::new();
    for byte in environment.bytes() {
        match byte {
            b'-' if name.ends_with('-') || name.is_empty() => name.push_str("%2D"),
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' => {
                name.push(char::from(byte))
            }
            _ => name.push_str(&format!("%{byte:02X}")),
        }
    }
    if name.ends_with('-') {
        name.pop();
        name.push_str("%2D");
    }
    format!("<!-- netbird-gitops {what} {name} -->")
}
