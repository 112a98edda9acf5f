//! Why a text is no recipient.

use std::borrow::Cow;

/// Why a text is no recipient: what it is, and what to do instead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) message: Cow<'static, str>,
    pub(super) hint: &'static str,
}

impl Refusal {
    pub(super) const fn new(message: &'static str, hint: &'static str) -> Self {
        Refusal {
            message: Cow::Borrowed(message),
            hint,
        }
    }
}

pub(super) const NOT_ALONE: Refusal = Refusal::new(
    "more than one key, or text behind the key",
    "one key a line, one key a -r; only AGE_PUBLIC_KEY takes commas between keys",
);
pub(super) const LOW_ORDER: Refusal = Refusal::new(
    "a key without an owner (a point of low order): anyone could open what is sealed for it",
    "remove it",
);
