//! The secrets of this run, taken out of every text that leaves it: a server may repeat our token or a new key in what it
//! says, plain or in an encoding of the web.
//!
//! Nothing here holds a secret: what is kept of one are hashes of its pieces with a seed of this process. A piece alone is as good
//! as a secret: what repeats one may cut it, or break it over lines. Case does not count, since NetBird lower-cases its messages.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};
use std::hash::{BuildHasher, RandomState};
use std::ops::Range;
use std::sync::{LazyLock, PoisonError, RwLock};

use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use zeroize::Zeroizing;

/// What stands in the place of a secret.
pub const MASK: &str = "***";
/// The shortest secret that is looked for, in bytes; tokens and keys have 36 and more.
const SHORTEST: usize = 8;
/// The shortest piece of a longer one that is.
const PIECE: usize = 12;
/// Encodings around encodings.
const LAYERS: usize = 3;
/// Lenient: what comes before and behind a secret is anybody's.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_allow_trailing_bits(true)
        .with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

static SEED: LazyLock<RandomState> = LazyLock::new(RandomState::new);
/// The hashes of the pieces of secrets, by length.
static KNOWN: RwLock<BTreeMap<usize, HashSet<u64>>> = RwLock::new(BTreeMap::new());

/// Takes a secret out of all texts from here on.
pub fn remember(secret: &str) {
    let lower = Zeroizing::new(secret.to_ascii_lowercase().into_bytes());
    if lower.len() >= SHORTEST {
        let mut known = KNOWN.write().unwrap_or_else(PoisonError::into_inner);
        let length = lower.len().min(PIECE);
        let pieces = lower.windows(length).map(|piece| SEED.hash_one(piece));
        known.entry(length).or_default().extend(pieces);
    }
}

/// Returns the text with [`MASK`] in the place of each secret, and of each longer piece of one.
pub fn masked(text: &str) -> Cow<'_, str> {
    let known = KNOWN.read().unwrap_or_else(PoisonError::into_inner);
    let Some((shortest, _)) = known.first_key_value() else {
        return text.into();
    };
    let mut found: Vec<Range<usize>> = Vec::new();
    let mut start = 0;
    for word in text.split_inclusive(char::is_whitespace) {
        if word.len() >= *shortest {
            found.extend(in_word(word, start, &known));
        }
        start += word.len();
    }
    without(text, found)
}

/// Returns the text with [`MASK`] in the place of everything that has the form of a setup key.
pub fn without_keys(text: &str) -> Cow<'_, str> {
    let windows = text.as_bytes().windows(36).enumerate();
    let keys = windows.filter(|(_, window)| is_key(window));
    without(text, keys.map(|(at, _)| at..at + 36).collect())
}

/// Returns whether a text has the form of a setup key: a UUID.
pub fn is_key(text: &[u8]) -> bool {
    let is_one = |(at, byte): (usize, &u8)| match at {
        8 | 13 | 18 | 23 => *byte == b'-',
        _ => byte.is_ascii_hexdigit(),
    };
    text.len() == 36 && text.iter().enumerate().all(is_one)
}

fn without(text: &str, mut found: Vec<Range<usize>>) -> Cow<'_, str> {
    if found.is_empty() {
        return text.into();
    }
    found.sort_by_key(|range| range.start);
    let (mut out, mut at) = (String::new(), 0);
    for Range { start, end } in found {
        if start >= at {
            out.push_str(&text[at..start]);
            out.push_str(MASK);
        }
        at = at.max(end);
    }
    (out + &text[at..]).into()
}

/// A byte, and where in the text that stands for it.
type Unit = (u8, Range<usize>);

/// Where a word has secrets; it begins at `start` of its text.
fn in_word(word: &str, start: usize, known: &BTreeMap<usize, HashSet<u64>>) -> Vec<Range<usize>> {
    let units = word.bytes().enumerate();
    let units = units.map(|(at, byte)| (byte, start + at..start + at + 1));
    let mut units: Vec<Unit> = units.collect();
    let mut found = Vec::new();
    for _ in 0..=LAYERS {
        let plain: Vec<u8> = units.iter().map(|(byte, _)| *byte).collect();
        let ranges = secrets(&plain, known).into_iter();
        found.extend(ranges.map(|at| units[at.start].1.start..units[at.end - 1].1.end));
        let is_base64 = |(byte, _): &Unit| {
            byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'-' | b'_')
        };
        for run in units.chunk_by(|one, other| is_base64(one) == is_base64(other)) {
            if run.len() * 3 / 4 >= SHORTEST && is_base64(&run[0]) && holds(run, known) {
                found.push(run[0].1.start..run[run.len() - 1].1.end);
            }
        }
        let inner = decoded(&units);
        if inner.len() == units.len() {
            break;
        }
        units = inner;
    }
    found
}

/// Where the secrets are, or pieces of them that overlap.
fn secrets(text: &[u8], known: &BTreeMap<usize, HashSet<u64>>) -> Vec<Range<usize>> {
    let lower = text.to_ascii_lowercase();
    let of_length = |(length, hashes): (&usize, &HashSet<u64>)| {
        let windows = lower.windows(*length).enumerate();
        let secrets = windows.filter(|(_, window)| hashes.contains(&SEED.hash_one(*window)));
        secrets.map(|(at, _)| at..at + length).collect::<Vec<_>>()
    };
    known.iter().flat_map(of_length).collect()
}

/// Whether base64, or hexadecimal digits, have a secret in them, wherever the text that was encoded begins.
fn holds(run: &[Unit], known: &BTreeMap<usize, HashSet<u64>>) -> bool {
    let digit = |(byte, _): &Unit| char::from(*byte).to_digit(16);
    let digits: Option<Vec<u32>> = run.iter().map(digit).collect();
    let is_hex = digits.is_some_and(|digits| {
        (0..2).any(|skip| {
            let pairs = digits[skip..].chunks_exact(2);
            let bytes: Vec<u8> = pairs.map(|pair| (pair[0] * 16 + pair[1]) as u8).collect();
            !secrets(&bytes, known).is_empty()
        })
    });
    if is_hex {
        return true;
    }
    let to_standard = |(byte, _): &Unit| match byte {
        b'-' => b'+',
        b'_' => b'/',
        byte => *byte,
    };
    let text: Vec<u8> = run.iter().map(to_standard).collect();
    (0..4).any(|skip| {
        let whole = text.get(skip..).unwrap_or_default();
        // one letter alone stands for nothing
        let whole = &whole[..whole.len() - usize::from(whole.len() % 4 == 1)];
        let inner = BASE64.decode(whole).unwrap_or_default();
        !secrets(&inner, known).is_empty()
    })
}

/// Takes one layer of escapes away: of URLs, of JSON and other strings, of HTML.
fn decoded(units: &[Unit]) -> Vec<Unit> {
    let mut inner = Vec::with_capacity(units.len());
    let mut at = 0;
    while at < units.len() {
        let (length, byte) = match units[at].0 {
            b'%' | b'\\' | b'&' => escape(&units[at..]).unwrap_or((1, units[at].0)),
            byte => (1, byte),
        };
        inner.push((byte, units[at].1.start..units[at + length - 1].1.end));
        at += length;
    }
    inner
}

/// How many units an escape takes, and what it stands for; `None` where it is none.
fn escape(units: &[Unit]) -> Option<(usize, u8)> {
    let text = units.iter().take(8).map(|(byte, _)| char::from(*byte));
    let text: String = text.collect();
    let hex = |from: usize| u8::from_str_radix(text.get(from..from + 2)?, 16).ok();
    let mut escapes = ["%", "\\u00", "\\x"].iter();
    if let Some(start) = escapes.find(|start| text.starts_with(**start)) {
        return Some((start.len() + 2, hex(start.len())?));
    }
    if let Some(rest) = text.strip_prefix("&#") {
        let (number, _) = rest.split_once(';')?;
        let byte = match number.strip_prefix(['x', 'X']) {
            Some(hex) => u8::from_str_radix(hex, 16),
            None => number.parse(),
        };
        return Some((3 + number.len(), byte.ok()?));
    }
    let escaped = text.strip_prefix('\\')?.bytes().next()?;
    escaped.is_ascii_punctuation().then_some((2, escaped))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: &str = "nbp_Zq7VtWmK3xYb9Hd2RfLs5Pj8NcGuAe4Ti6Xo";

    fn encoded(text: &str, one: impl Fn(u8) -> String) -> String {
        text.bytes().map(one).collect()
    }

    #[test]
    fn a_secret_is_found_in_every_encoding() {
        remember(TOKEN);
        let base64 = |text: String| BASE64.encode(text);
        let percent = |text: &str| encoded(text, |byte| format!("%{byte:02x}"));
        let rows = [
            TOKEN.to_owned(),
            TOKEN.to_lowercase(),
            TOKEN.to_uppercase(),
            percent(TOKEN),
            percent(&percent(TOKEN)),
            TOKEN.replace('_', "%5F"),
            TOKEN.replace('_', "\\_"),
            encoded(TOKEN, |byte| format!("\\u{byte:04X}")),
            encoded(TOKEN, |byte| format!("&#{byte};")),
            encoded(TOKEN, |byte| format!("&#x{byte:x};")),
            base64(TOKEN.to_owned()),
            base64(format!("u:{TOKEN}")),
            base64(format!("us:{TOKEN}")),
            base64(format!("user:{TOKEN}:more")),
            base64(format!("user:{TOKEN}")) + "==",
            base64(format!("{{\"a\":\"??>{TOKEN}\"}}"))
                .replace('+', "-")
                .replace('/', "_"),
            percent(&base64(format!("user:{TOKEN}"))),
            format!("Basic%20{}", base64(format!("user:{TOKEN}"))),
            format!("é{TOKEN}é"),
            TOKEN[..12].to_owned(),
            format!("{}…", &TOKEN[..30]),
            encoded(TOKEN, |byte| format!("\\x{byte:02x}")),
            encoded(&format!("u:{TOKEN}"), |byte| format!("{byte:02X}")),
            format!("{}\n{}", &TOKEN[..20], &TOKEN[20..]),
            percent(&TOKEN[5..25]),
            base64(format!("user:{}", &TOKEN[..20])),
        ];
        for text in rows {
            let shown = masked(&text);
            let left = shown.replace(MASK, "").trim().len();
            assert!(shown.contains(MASK) && left < 12, "{text}: {shown}");
            let said = format!("cannot do it: token={text}, says\nthe server");
            let shown = masked(&said);
            assert!(shown.starts_with("cannot do it: "), "{shown}");
            assert!(
                shown.ends_with("says\nthe server") && shown.len() < 60,
                "{shown}"
            );
        }
    }

    #[test]
    fn what_is_no_secret_stays() {
        remember(TOKEN);
        remember("short");
        for text in [
            "",
            "short",
            "a%b\\c&d",
            &TOKEN[1..12],
            "é%C3%A9 \u{1f989}",
            "&#;",
        ] {
            assert_eq!(masked(text), text);
        }
    }

    #[test]
    fn what_has_the_form_of_a_key() {
        let key = "A616097E-FCF0-48FA-9354-CA4A61142761";
        assert_eq!(
            without_keys(&format!("new key {key}: no")),
            "new key ***: no"
        );
        assert_eq!(without_keys(&key[1..]), key[1..]);
    }
}
