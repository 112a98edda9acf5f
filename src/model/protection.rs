//! Why a group is never changed.

use std::fmt;

/// Why a group is never changed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Protection {
    /// It is `All`, which holds every peer.
    All,
    /// It was issued by that, such as `jwt`.
    Issued(String),
}

/// As it follows "it is".
impl fmt::Display for Protection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Protection::All => f.write_str("the group of every peer"),
            Protection::Issued(by) => write!(f, "issued by {by}"),
        }
    }
}
