//! Values that flags take.

use clap::ValueEnum;

/// What stdout carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For a terminal.
    Text,
    /// For a comment.
    Markdown,
    /// For programs.
    Json,
}

/// When to do something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum When {
    /// Where it makes sense.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// The form of what goes to stderr.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// JSON in CI, text elsewhere.
    Auto,
    /// Lines for people.
    Text,
    /// One JSON object a line.
    Json,
}

/// Whose directory workflows go into.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ForgeName {
    /// `.gitea/workflows`, which Forgejo reads, too, where it has none of its own.
    Gitea,
    /// `.forgejo/workflows`.
    Forgejo,
}

/// How finely a plan says who reaches whom.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum AccessLevel {
    /// Not at all: a plan asks for fewer lists then
    None,
    /// By groups, with the number of machines
    Groups,
    /// By groups, with the name of each machine
    Peers,
}

/// What a set-up is checked for: an apply writes to NetBird, the branch and the copies of sealed keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Purpose {
    /// Read, and comment.
    Plan,
    /// Write.
    Apply,
}

pub(super) fn number(text: &str) -> Result<usize, String> {
    let number = text.parse();
    number.map_err(|_| "expected a whole number, 0 or more".to_owned())
}

pub(super) fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if (0.0..=86_400.0).contains(&seconds) => Ok(seconds),
        _ => Err("expected a number of seconds from 0 to 86400".into()),
    }
}

/// Whether a text is a digest: an empty one is none, since a workflow whose variable is missing must not pass for one that
/// checks.
pub(in crate::commands) fn is_digest(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

pub(super) fn digest(text: &str) -> Result<String, String> {
    match is_digest(text) {
        true => Ok(text.to_ascii_lowercase()),
        false => Err("expected the 64 hexadecimal digits of a plan".into()),
    }
}
