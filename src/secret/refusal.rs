//! Why a text is not a recipient.

use std::borrow::Cow;

/// Why a text cannot be used as a recipient. It never repeats the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecipientError {
    /// Where it stands: `-r`, `recipients.txt:3`, `AGE_PUBLIC_KEY, line 2`.
    pub origin: String,
    /// What it is.
    pub message: Cow<'static, str>,
    /// What to do.
    pub hint: &'static str,
}

impl RecipientError {
    pub(super) const fn new(message: &'static str, hint: &'static str) -> Self {
        RecipientError {
            origin: String::new(),
            message: Cow::Borrowed(message),
            hint,
        }
    }
}

pub(super) const NOT_ALONE: RecipientError = RecipientError::new(
    "more than one key, or text behind the key",
    "one key a line, one key a -r; only AGE_PUBLIC_KEY takes commas between keys",
);
pub(super) const LOW_ORDER: RecipientError = RecipientError::new(
    "a key without an owner (a point of low order): anyone could open what is sealed for it",
    "remove it",
);
