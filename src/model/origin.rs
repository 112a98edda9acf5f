//! Where a change of the file is from.

use crate::base::short_commit;

/// A change of the file. The earlier one is the smaller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Cause {
    /// A commit, by its place in the commits since the last apply.
    Commit(usize),
    /// The file of this run: a work tree's, or what a merge would leave. No commit of the branch has it yet.
    Proposed,
}

/// Where a change of the file is from: as text `#N`, or the commit's full id.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Origin {
    /// The pull request of that number.
    Pull(u64),
    /// The commit of that full id.
    Commit(String),
}

impl std::fmt::Display for Origin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Origin::Pull(number) => write!(f, "#{number}"),
            Origin::Commit(id) => f.write_str(id),
        }
    }
}

impl Origin {
    /// Returns the origin of that text, as the inventory has it.
    pub fn of_text(text: &str) -> Self {
        let number = text.strip_prefix('#').and_then(|text| text.parse().ok());
        number.map_or_else(|| Origin::Commit(text.to_owned()), Origin::Pull)
    }

    /// Returns it in words, a commit by the beginning of its id.
    pub fn words(&self) -> String {
        match self {
            Origin::Pull(number) => format!("pull request #{number}"),
            Origin::Commit(id) => format!("commit {}", short_commit(id)),
        }
    }

    /// Returns whose deletions those of a cause are, in words.
    pub fn whose(cause: Option<&Origin>) -> String {
        cause.map_or_else(|| "no known commit".into(), Origin::words)
    }
}
