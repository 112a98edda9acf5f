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
    let likeness = |candidate: &str| {
        let like = strsim::jaro_winkler(&folded(word), &folded(candidate));
        (like, strsim::jaro_winkler(word, candidate))
    };
    candidates
        .into_iter()
        .map(|candidate| (likeness(candidate), candidate))
        .filter(|((like, _), candidate)| *like >= 0.85 && *candidate != word)
        .max_by(|(a, _), (b, _)| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)))
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

/// Control characters, and what is invisible or reorders text: joiners and marks of direction, fillers, annotations, tags.
fn is_hidden(char: char) -> bool {
    char.is_control()
        || matches!(char,
            '\u{ad}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{180e}' | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{feff}' | '\u{ffa0}'
            | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
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
        ] {
            assert_eq!(visible(hidden), shown);
        }
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
    fn a_guess_is_near() {
        let known = ["pilots", "ground-stations", "Pilots"];
        assert_eq!(
            did_you_mean("pilot", known).as_deref(),
            Some("did you mean \"pilots\"?")
        );
        assert_eq!(did_you_mean("contractors", known), None);
        assert_eq!(
            did_you_mean("pilots", ["pilots"]),
            None,
            "the word itself is no guess"
        );
    }

    #[test]
    fn c083_two_spellings_of_one_letter_look_alike() {
        let (composed, decomposed) = ("B\u{fc}ro", "Bu\u{308}ro");
        assert!(look_alike(composed, decomposed));
        assert!(!look_alike(composed, composed) && !look_alike(composed, "Buro"));
        let hint = did_you_mean(decomposed, ["Boro", composed]);
        assert_eq!(hint.as_deref(), Some("did you mean \"B\u{fc}ro\"?"));
    }
}
