//! What a set-up is checked for: rows of what was found.
//!
//! A check never changes anything. Its text says what is so, its hint what to do where that is wrong. What a token may not
//! see, what is not configured and what depends on a check that failed is neither right nor wrong.

pub(crate) mod render;

use clap::ValueEnum;

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    /// Its name, the same in every version.
    pub name: &'static str,
    /// Whether it is right; `None` where nobody can tell.
    pub ok: Option<bool>,
    /// What was found, or why nothing was.
    pub text: String,
    /// What to do, where it is wrong.
    pub hint: Option<String>,
}

impl Check {
    /// It is right.
    pub fn right(name: &'static str, text: impl Into<String>) -> Check {
        Check {
            name,
            ok: Some(true),
            text: text.into(),
            hint: None,
        }
    }

    /// It is wrong. `hint` says what to do.
    pub fn wrong(name: &'static str, text: impl Into<String>, hint: impl Into<String>) -> Check {
        Check {
            ok: Some(false),
            hint: Some(hint.into()),
            ..Check::right(name, text)
        }
    }

    /// Nobody can tell, and why.
    pub fn open(name: &'static str, text: impl Into<String>) -> Check {
        Check {
            ok: None,
            ..Check::right(name, text)
        }
    }

    /// It was not looked at, and why.
    pub fn not_made(name: &'static str, why: &str) -> Check {
        Check::open(name, format!("not checked: {why}"))
    }

    /// Returns a check for each of these names, in their order: what was `made`, and of the others `why` they were not.
    pub fn complete(names: &[&'static str], made: &[Check], why: &str) -> Vec<Check> {
        let check = |name: &&'static str| {
            let made = made.iter().find(|check| check.name == *name).cloned();
            made.unwrap_or_else(|| Check::not_made(name, why))
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
