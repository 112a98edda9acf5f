//! Small texts that several outputs share.

use std::borrow::Cow;

use unicode_normalization::UnicodeNormalization;

/// Returns whether two texts differ and look the same: one letter can be written as one character or as two.
pub fn look_alike(one: &str, other: &str) -> bool {
    one != other && one.nfc().eq(other.nfc())
}

/// Returns `did you mean "…"?` for the candidate that is most like `word`, if one is.
pub fn did_you_mean<'a>(
    word: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<String> {
    let folded = |text: &str| text.nfc().collect::<String>().to_lowercase();
    let likeness = |candidate: &str| strsim::jaro_winkler(&folded(word), &folded(candidate));
    candidates
        .into_iter()
        .map(|candidate| (likeness(candidate), candidate))
        .filter(|(likeness, candidate)| *likeness >= 0.85 && *candidate != word)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, candidate)| format!("did you mean {candidate:?}?"))
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

fn is_hidden(char: char) -> bool {
    char.is_control()
        || matches!(char, '\u{061c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
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
    fn c083_two_spellings_of_one_letter_look_alike() {
        let (composed, decomposed) = ("B\u{fc}ro", "Bu\u{308}ro");
        assert!(look_alike(composed, decomposed));
        assert!(!look_alike(composed, composed) && !look_alike(composed, "Buro"));
        let hint = did_you_mean(decomposed, ["Boro", composed]);
        assert_eq!(hint.as_deref(), Some("did you mean \"B\u{fc}ro\"?"));
    }
}
