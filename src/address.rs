//! Names of objects: the words in which desired and actual state speak of the same thing.

use std::fmt;

use crate::kind::Kind;

/// An object as people name it: kind and name. Sorts by kind, then name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Address {
    /// The kind.
    pub kind: Kind,
    /// The name in netbird.json.
    pub name: String,
}

impl Address {
    /// The address of a name of that kind.
    pub fn new(kind: Kind, name: impl Into<String>) -> Self {
        Address {
            kind,
            name: name.into(),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind.label(), self.name)
    }
}
