//! Names of objects: the words in which desired and actual state speak of the same thing.

use std::fmt;

use crate::base::{Id, joined, quote_name, shell};
use crate::model::Kind;

/// An object as people name it: kind and name, and the name of what it stands in. Sorts by kind, then by these.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Address {
    /// The kind.
    pub kind: Kind,
    /// The name of the object that it stands in, which is of its kind's parent; `None` where the kind has none.
    pub within: Option<String>,
    /// The name in netbird.json; empty for what there is one of.
    pub name: String,
}

impl Address {
    /// The address of a name of that kind.
    pub fn new(kind: Kind, name: impl Into<String>) -> Self {
        let (within, mut name) = (None, name.into());
        // of an e-mail address case makes no difference
        if kind == Kind::User {
            name = name.to_lowercase();
        }
        Address { kind, within, name }
    }

    /// The address of an object of that kind that stands in this one.
    pub fn child(&self, kind: Kind, name: impl Into<String>) -> Self {
        Address {
            within: Some(self.name.clone()),
            ..Address::new(kind, name)
        }
    }

    /// Returns it with its name in quotes, as in `group "ops"`; what has none, with that of what it stands in.
    pub fn quoted(&self) -> String {
        self.written(quote_name)
    }

    fn written(&self, name: fn(&str) -> String) -> String {
        let label = self.kind.label();
        match (self.name.as_str(), self.parent()) {
            ("", None) => label.to_owned(),
            ("", Some(parent)) => format!("{label} of {}", parent.written(name)),
            (own, _) => format!("{label} {}", name(own)),
        }
    }

    /// Returns the name that stands behind its kind in every text: of what has none, whose it is, as in `of network office`.
    pub fn spoken_name(&self) -> String {
        match (self.name.as_str(), self.parent()) {
            ("", Some(parent)) => format!("of {parent}"),
            (own, _) => own.to_owned(),
        }
    }

    /// Returns it as command lines name it, as in `groups/ops`.
    pub fn path(&self) -> String {
        match self.kind.is_one() {
            true => self.kind.in_path().to_owned(),
            false => format!("{}/{}", self.kind.in_path(), self.name),
        }
    }

    /// Returns it as the inventory names it, as in `groups/ops` or `records/ZONE/NAME TYPE`. What can move from one parent to
    /// another is named without its parent.
    pub fn key(&self) -> String {
        let is_anywhere = self.kind.descriptor().is_anywhere;
        let within = self.within.as_deref().filter(|_| !is_anywhere);
        let parts = [Some(self.kind.in_path()), within, Some(&self.name)];
        let parts = parts.into_iter().flatten();
        joined(parts.filter(|part| !part.is_empty()), "/")
    }

    /// Reads a key of the inventory; none where it is of a kind that this version does not know.
    pub fn of_key(key: &str) -> Option<Address> {
        let (section, rest) = key.split_once('/')?;
        let mut kinds = Kind::ALL.into_iter();
        let kind = kinds.find(|kind| kind.section() == section && !kind.is_one())?;
        let is_inside = kind.parent().is_some() && !kind.descriptor().is_anywhere;
        let (within, name) = match is_inside {
            false => return Some(Address::new(kind, rest)),
            true if !kind.has_names() => (rest, ""),
            true => rest.rsplit_once('/')?,
        };
        Some(Address {
            within: Some(within.to_owned()),
            ..Address::new(kind, name)
        })
    }

    /// Returns the command by which a person says that it means the object of that id.
    pub fn adopt(&self, id: &str) -> String {
        adopt([(self.key(), id)])
    }

    /// The address of what it stands in, if anything.
    pub fn parent(&self) -> Option<Address> {
        let kind = self.kind.parent()?;
        let name = self.within.clone()?;
        Some(Address::new(kind, name))
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.written(str::to_owned))
    }
}

/// Returns the command by which a person says which object each entry means, or which machine each name means.
pub fn adopt<'a>(meant: impl IntoIterator<Item = (String, &'a str)>) -> String {
    let meant = meant.into_iter();
    let flags = meant.map(|(key, id)| format!("--adopt {}", shell(&format!("{key}={id}"))));
    let flags = joined(flags, " ");
    format!("apply {flags} (in a job: the input adopt of the apply workflow)")
}

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::Sentence;

    #[test]
    fn a_name_is_quoted_as_in_a_sentence() {
        for name in ["a\"b", "a\\b", "a\nb", "a\u{202e}b", "e\u{301}"] {
            let sentence = Sentence::from("group ").name(name).to_string();
            assert_eq!(sentence, Address::new(Kind::Group, name).quoted());
        }
    }
}
