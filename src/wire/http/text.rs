//! Text of servers, made fit for messages.

use crate::base::{is_hidden, masked};

/// Returns `text` on one line without control characters and secrets, cut to `max` characters.
///
/// Names and messages come from outside: an escape sequence must not reach a terminal. Other characters that cannot be seen
/// are left out too, and white space is drawn together. Secrets go first: of one that is cut the rest would be shown.
pub(crate) fn clean(text: &str, max: usize) -> String {
    let mut out = String::new();
    let seen = text.chars();
    let seen: String = seen
        .filter(|c| c.is_whitespace() || !is_hidden(*c))
        .collect();
    for (n, c) in masked(&seen)
        .split_whitespace()
        .flat_map(|word| [' '].into_iter().chain(word.chars()))
        .skip(1)
        .enumerate()
    {
        if n == max {
            out.push('…');
            break;
        }
        out.push(c);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::clean;

    #[test]
    fn one_line_without_controls() {
        assert_eq!(
            clean("  a\n\tb \u{1b}[31mred\u{7}\u{202e} ", 100),
            "a b [31mred"
        );
        assert_eq!(clean("abcdef", 3), "abc…");
        assert_eq!(clean("abc", 3), "abc");
        assert_eq!(clean("", 3), "");
    }
}
