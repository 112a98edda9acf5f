//! A peer that something is said of.

use std::fmt;

use crate::base::id::Id;

/// A peer, by its name as long as it lives.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Who {
    /// Its id.
    pub id: Id,
    /// Its name; `None` of one that was deleted.
    pub name: Option<String>,
}

/// Its name and its id.
impl fmt::Display for Who {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.name {
            Some(name) => write!(f, "{name:?} ({})", self.id),
            None => write!(f, "(deleted peer {})", self.id),
        }
    }
}
