//! What a check found.
//!
//! A check never changes anything. Its text says what is so, its hint what to do where that is wrong. What a token may not
//! see, what is not configured and what depends on a check that failed is neither right nor wrong.

use crate::commands::failure::Failure;

/// One thing that was looked at.
pub(super) struct Check {
    /// Its name, the same in every version.
    pub(super) name: &'static str,
    /// Whether it is right; `None` where it is not known.
    pub(super) ok: Option<bool>,
    /// What was found, or why nothing was.
    pub(super) text: String,
    /// What to do, where it is wrong, or right for now.
    pub(super) hint: Option<String>,
}

/// What somebody who looks finds: what is right, else what is not, without a name.
pub(super) type Look = Result<String, Check>;

/// It is wrong. `hint` says what to do.
pub(super) fn wrong(text: impl Into<String>, hint: impl Into<String>) -> Look {
    Err(Failure::error(text).hint(hint).into())
}

/// Not known, and why.
pub(super) fn open(text: impl Into<String>) -> Look {
    Err(Check::new(None, text.into(), None))
}

/// It was not looked at, and why.
pub(super) fn not_made(why: &str) -> Look {
    open(format!("not checked: {why}"))
}

impl Check {
    /// One that has no name yet.
    pub(super) fn new(ok: Option<bool>, text: String, hint: Option<String>) -> Self {
        Check {
            name: "",
            ok,
            text,
            hint,
        }
    }

    /// Was something found wrong?
    pub(super) fn failed(&self) -> bool {
        self.ok == Some(false)
    }
}

impl<E: Into<Failure>> From<E> for Check {
    fn from(error: E) -> Self {
        let Failure { error, hint, .. } = error.into();
        Check::new(Some(false), error, hint)
    }
}
