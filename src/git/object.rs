//! Words for what a repository holds.

use std::fmt;

use crate::base::text::short_commit;

/// The name of an object: 40 or 64 hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Sha(String);

impl Sha {
    /// Reads a full name; `None` where it is anything else.
    pub fn parse(text: &str) -> Option<Sha> {
        let hex = matches!(text.len(), 40 | 64)
            && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        hex.then(|| Sha(text.to_owned()))
    }

    /// All digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The first ten digits, for people.
    pub fn short(&self) -> &str {
        short_commit(&self.0)
    }
}

impl fmt::Display for Sha {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

pub(super) const LINK: &str = "a symbolic link";
pub(super) const SUBMODULE: &str = "a submodule";

/// What a commit has at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitEntry {
    /// The object: of a file its blob, of a link or a submodule what says where it leads.
    pub(super) id: Sha,
    /// What it is instead of a file; `None` of a file, executable or not.
    pub(super) instead: Option<&'static str>,
    /// How many bytes a file has, where the checkout has it.
    pub(super) size: Option<usize>,
}

impl GitEntry {
    /// Whether it is a symbolic link or a submodule.
    pub(super) fn is_link(&self) -> bool {
        matches!(self.instead, Some(LINK | SUBMODULE))
    }
}

/// A commit and what it says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// The commit.
    pub commit: Sha,
    /// How many parents it has.
    pub parents: usize,
    /// Who wrote it, by the name that they gave themselves.
    pub author: String,
    /// Subject and body; what is not UTF-8 is replaced.
    pub text: String,
}

/// What a mode of a tree says that is not a file.
pub(super) fn mode_of(mode: &str) -> Option<&'static str> {
    match mode {
        "120000" => Some(LINK),
        "040000" => Some("a directory"),
        "160000" => Some(SUBMODULE),
        _ => None,
    }
}
