//! Why a group is never changed.

/// Why a group is never changed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Protection {
    /// It is `All`, which holds every peer.
    All,
    /// It was issued by that, such as `jwt`.
    Issued(String),
}
