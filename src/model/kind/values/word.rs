//! Values that the file says by one of a few words.

use serde::{Deserialize, Deserializer};

use crate::base::joined;
use crate::file::{Cursor, Log, did_you_mean, quote};

/// A value that the file says by one of a few words.
pub(crate) trait Word: Copy + PartialEq + 'static {
    /// What it is, as in "protocol".
    const WHAT: &'static str;
    /// The words.
    const WORDS: &'static [(&'static str, Self)];
    /// Whether the file may have them in any case; they are in lower case then.
    const IS_ANY_CASE: bool = false;
    /// Values that answers have and no file may say, and why.
    const REFUSED: &'static [(Self, &'static str)] = &[];
    /// What to write instead of other words, which are in lower case here.
    const INSTEAD: &'static [(&'static [&'static str], &'static str)] = &[];

    /// How to write what several of them would say.
    const SEVERAL: &'static str = "only one word is possible here";

    /// Returns the value of a word.
    fn of(text: &str) -> Option<Self> {
        let mut words = Self::WORDS.iter();
        words.find_map(|(word, value)| (*word == text).then_some(*value))
    }

    /// Returns its word.
    fn word(self) -> &'static str {
        let mut words = Self::WORDS.iter();
        let found = words.find_map(|(word, value)| (*value == self).then_some(*word));
        found.expect("every value has a word")
    }
}

/// Reads the word of an answer; one that is not known is none.
pub(crate) fn answered<'de, D: Deserializer<'de>, T: Word>(from: D) -> Result<Option<T>, D::Error> {
    let text: Option<String> = Option::deserialize(from)?;
    Ok(text.and_then(|text| T::of(&text)))
}

/// Reads a word.
pub(crate) fn read<T: Word>(value: &Cursor<'_>, log: &mut Log) -> Option<T> {
    let of = |text: &str| match T::IS_ANY_CASE {
        true => T::of(&text.to_lowercase()),
        false => T::of(text),
    };
    let found = value.text().and_then(of);
    let refusal = |value: T| T::REFUSED.iter().find(|(refused, _)| *refused == value);
    let words = || {
        let words = T::WORDS.iter();
        let words = words.filter(|(_, value)| refusal(*value).is_none());
        words.map(|(word, _)| *word)
    };
    let known = || format!("one of {}", joined(words().map(quote), ", "));
    if let Some((_, why)) = found.and_then(refusal) {
        let flaw = log.error(value.place(), *why);
        flaw.suggest(format!("write {}", known()));
        return None;
    }
    if found.is_none() {
        let known = known();
        let text = value.one_string(log, &known, T::SEVERAL)?;
        let message = format!("{} is not a valid {}: it is {known}", quote(text), T::WHAT);
        let lower = text.to_lowercase();
        let mut instead = T::INSTEAD.iter();
        let hint = instead.find(|(others, _)| others.contains(&lower.as_str()));
        let hint = hint.map(|(_, hint)| (*hint).to_owned());
        let parts = lower.split([',', '/', '+', ' ']);
        let parts: Vec<&str> = parts.filter(|word| !word.is_empty()).collect();
        let are_several = parts.len() > 1 && parts.iter().all(|word| T::of(word).is_some());
        let several = are_several.then(|| T::SEVERAL.to_owned());
        let hint = hint.or(several).or_else(|| did_you_mean(text, words()));
        log.error(value.place(), message).suggest(hint);
    }
    found
}
