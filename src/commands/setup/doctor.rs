//! What a set-up is checked for: rows of what was found.
//!
//! A check never changes anything. Its text says what is so, its hint what to do where that is wrong. What a token may not
//! see, what is not configured and what depends on a check that failed is neither right nor wrong.

pub(crate) mod render;

use clap::ValueEnum;

/// What somebody who looks finds: what is right, else what is not.
pub type Look = Result<String, NotRight>;

/// What is not right.
#[derive(Debug)]
pub enum NotRight {
    /// It is wrong, and what to do.
    Wrong(String, Option<String>),
    /// Not known, and why.
    Open(String),
}

/// It is wrong. `hint` says what to do.
pub fn wrong(text: impl Into<String>, hint: impl Into<String>) -> Look {
    Err(NotRight::Wrong(text.into(), Some(hint.into())))
}

/// Not known, and why.
pub fn open(text: impl Into<String>) -> Look {
    Err(NotRight::Open(text.into()))
}

/// It was not looked at, and why.
pub fn not_made(why: &str) -> Look {
    open(format!("not checked: {why}"))
}

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    /// Its name, the same in every version.
    pub name: &'static str,
    /// Whether it is right; `None` where it is not known.
    pub ok: Option<bool>,
    /// What was found, or why nothing was.
    pub text: String,
    /// What to do, where it is wrong, or right for now.
    pub hint: Option<String>,
}

impl Check {
    /// What a look found under that name.
    pub fn of(name: &'static str, look: Look) -> Check {
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
    pub fn advice(self, hint: Option<String>) -> Check {
        Check {
            hint: self.hint.or(hint),
            ..self
        }
    }

    /// Returns a check for each of these names, in their order: what was `made`, and of the others `why` they were not.
    pub fn complete(names: &[&'static str], made: &[Check], why: &str) -> Vec<Check> {
        let check = |name: &&'static str| {
            let made = made.iter().find(|check| check.name == *name).cloned();
            made.unwrap_or_else(|| Check::of(name, not_made(why)))
        };
        names.iter().map(check).collect()
    }

    /// Was something found wrong?
    pub fn failed(&self) -> bool {
        self.ok == Some(false)
    }
}

/// What a set-up is checked for: an apply writes to NetBird, the branch and the copies of sealed keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Purpose {
    /// Read, and comment.
    Plan,
    /// Write.
    Apply,
}

impl Purpose {
    /// As in "a plan needs".
    pub fn word(self) -> &'static str {
        match self {
            Purpose::Plan => "plan",
            Purpose::Apply => "apply",
        }
    }
}
