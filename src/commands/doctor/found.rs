//! What a check found.
//!
//! A check never changes anything. Its text says what is so, its hint what to do where that is wrong. What a token may not
//! see, what is not configured and what depends on a check that failed is neither right nor wrong.

use crate::commands::failure::Failure;

/// What somebody who looks finds: what is right, else what is not.
pub(super) type Look = Result<String, NotRight>;

/// What is not right.
pub(super) enum NotRight {
    /// It is wrong, and what to do.
    Wrong(String, Option<String>),
    /// Not known, and why.
    Open(String),
}

/// It is wrong. `hint` says what to do.
pub(super) fn wrong(text: impl Into<String>, hint: impl Into<String>) -> Look {
    Err(NotRight::Wrong(text.into(), Some(hint.into())))
}

/// Not known, and why.
pub(super) fn open(text: impl Into<String>) -> Look {
    Err(NotRight::Open(text.into()))
}

/// It was not looked at, and why.
pub(super) fn not_made(why: &str) -> Look {
    open(format!("not checked: {why}"))
}

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

impl Check {
    /// What a look found under that name.
    pub(super) fn of(name: &'static str, look: Look) -> Check {
        let (ok, text, hint) = match look {
            Ok(text) => (Some(true), text, None),
            Err(NotRight::Wrong(text, hint)) => (Some(false), text, hint),
            Err(NotRight::Open(text)) => (None, text, None),
        };
        Check {
            name,
            ok,
            text,
            hint,
        }
    }

    /// Says what to do although it is not wrong.
    pub(super) fn advise(&mut self, hint: Option<String>) {
        self.hint = self.hint.take().or(hint);
    }

    /// Was something found wrong?
    pub(super) fn failed(&self) -> bool {
        self.ok == Some(false)
    }
}

impl<E: Into<Failure>> From<E> for NotRight {
    fn from(error: E) -> Self {
        let Failure { error, hint, .. } = error.into();
        NotRight::Wrong(error, hint)
    }
}
