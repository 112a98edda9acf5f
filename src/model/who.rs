//! A peer that something is said of.

use crate::base::id::Id;

/// A peer, by its name as long as it lives.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Who {
    /// Its id.
    pub id: Id,
    /// Its name; `None` of one that was deleted.
    pub name: Option<String>,
}
