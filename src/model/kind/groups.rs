//! Names and ids of what others refer to, both ways: groups first of all, network resources and posture checks.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::Deserialize;
use serde_json::Value;

use super::{Kind, Live};
use crate::base::{Id, joined};
use crate::file::Names;

/// The group that holds every peer; it cannot be changed or deleted, and the server knows it by this name.
pub const ALL: &str = "All";

/// What is referred to by a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Refers {
    /// A group.
    Group,
    /// A resource of a network.
    Resource,
    /// A posture check.
    Check,
}

impl From<Names> for Refers {
    fn from(names: Names) -> Self {
        match names {
            Names::Groups | Names::GroupsByMember => Refers::Group,
            Names::Resource => Refers::Resource,
            Names::Checks => Refers::Check,
        }
    }
}

impl Refers {
    /// The kind of it, where it is one of the file.
    pub fn kind(self) -> Option<Kind> {
        let mut all = Kind::ALL.into_iter();
        all.find(|kind| kind.referred_as() == Some(self))
    }

    /// What people call one of it.
    pub fn label(self) -> &'static str {
        match self {
            Refers::Group => "group",
            Refers::Resource => "network resource",
            Refers::Check => "posture check",
        }
    }
}

/// An answer about what is not a group.
#[derive(Debug, Deserialize)]
pub struct Other {
    /// Its id.
    pub id: Id,
    /// Its name.
    pub name: String,
    /// Of a network resource: `host`, `subnet` or `domain`.
    #[serde(default, rename = "type")]
    kind: String,
}

/// Names and ids of objects of one kind.
#[derive(Debug, Clone, Default)]
struct Known {
    names: BTreeMap<Id, String>,
    ids: BTreeMap<String, BTreeSet<Id>>,
}

impl Known {
    fn insert(&mut self, id: Id, name: String) {
        self.ids.entry(name.clone()).or_default().insert(id.clone());
        self.names.insert(id, name);
    }

    fn ids(&self, name: &str) -> impl Iterator<Item = &Id> {
        self.ids.get(name).into_iter().flatten()
    }

    /// The id of the one of that name; `label` is what people call it.
    fn id(&self, name: &str, label: &'static str) -> Result<&Id, Unresolved> {
        let mut ids = self.ids(name);
        match (ids.next(), ids.next()) {
            (Some(id), None) => Ok(id),
            (None, _) => Err(Unresolved::Absent(label, name.into())),
            (Some(_), Some(_)) => {
                let ids = self.ids(name).cloned().collect();
                Err(Unresolved::Ambiguous(label, name.into(), ids))
            }
        }
    }
}

/// Names and ids of what others refer to, both ways: of the live groups, and of network resources and posture checks where
/// they were asked for. Grows while an apply creates some.
#[derive(Debug, Clone, Default)]
pub struct Groups {
    /// What was not asked for is not there.
    names: BTreeMap<Refers, Known>,
    /// `host`, `subnet` or `domain`, by resource.
    types: BTreeMap<Id, String>,
}

impl Groups {
    /// Adds a group.
    pub fn insert(&mut self, id: Id, name: String) {
        let groups = self.names.entry(Refers::Group);
        groups.or_default().insert(id, name);
    }

    /// Adds one that was made, by its name in the file.
    pub fn learn(&mut self, what: Refers, live: &Live) {
        let made = live.wire.read().ok().map(|made| Other {
            name: live.name.clone(),
            ..made
        });
        self.insert_others(what, made);
    }

    /// Adds what is not a group: all of a list.
    pub fn insert_others(&mut self, what: Refers, others: impl IntoIterator<Item = Other>) {
        let names = self.names.entry(what).or_default();
        for other in others {
            self.types.insert(other.id.clone(), other.kind);
            names.insert(other.id, other.name);
        }
    }

    /// Returns the id of the one of that name.
    pub fn other(&self, what: Refers, name: &str) -> Result<&Id, Unresolved> {
        match self.names.get(&what) {
            Some(names) => names.id(name, what.label()),
            None => Err(Unresolved::Absent(what.label(), name.into())),
        }
    }

    /// Returns the name of what is not a group, or a text that says what its id stands for.
    pub fn other_name(&self, what: Refers, id: &Id) -> String {
        let known = self.names.get(&what).map(|known| known.names.get(id));
        match known {
            Some(Some(name)) => name.clone(),
            Some(None) => format!("(deleted {} {id})", what.label()),
            None => format!("({} {id})", what.label()),
        }
    }

    /// Returns every name of one.
    pub fn other_names(&self, what: Refers) -> impl Iterator<Item = &str> {
        let names = self.names.get(&what).into_iter();
        names.flat_map(|names| names.ids.keys().map(String::as_str))
    }

    /// Returns the type of a network resource; policies keep it, and what is enforced does not depend on it.
    pub(super) fn resource_type(&self, id: &Id) -> &str {
        let known = self.types.get(id).map(String::as_str);
        known.filter(|known| !known.is_empty()).unwrap_or("host")
    }

    /// Returns the ids of the groups of that name; several after a rename that the server did not check.
    pub fn ids(&self, name: &str) -> impl Iterator<Item = &Id> {
        let groups = self.names.get(&Refers::Group).into_iter();
        groups.flat_map(|groups| groups.ids(name))
    }

    /// Returns the id of the one group of that name.
    pub fn id(&self, name: &str) -> Result<&Id, Unresolved> {
        self.other(Refers::Group, name)
    }

    /// Returns the name of a group, or a text that says what its id stands for.
    pub fn name(&self, id: &Id) -> String {
        let groups = self.names.get(&Refers::Group);
        let name = groups.and_then(|groups| groups.names.get(id).cloned());
        name.unwrap_or_else(|| format!("(deleted group {id})"))
    }

    /// Returns whether there is a group of that id.
    pub fn knows(&self, id: &Id) -> bool {
        let groups = self.names.get(&Refers::Group);
        groups.is_some_and(|groups| groups.names.contains_key(id))
    }

    pub(super) fn read<'a>(&self, ids: impl IntoIterator<Item = &'a str>) -> BTreeSet<String> {
        let ids = ids.into_iter();
        ids.map(|id| self.name(&Id::from(id))).collect()
    }

    pub(super) fn resolve(&self, names: &BTreeSet<String>) -> Result<Value, Unresolved> {
        self.ids_of(Refers::Group, names.iter().map(String::as_str))
    }

    pub(super) fn ids_of<'a>(
        &self,
        what: Refers,
        names: impl Iterator<Item = &'a str>,
    ) -> Result<Value, Unresolved> {
        let id = |name| Ok(Value::String(self.other(what, name)?.to_string()));
        names.map(id).collect()
    }
}

/// A name that stands for nothing, or for several: what people call such an object, and the name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Unresolved {
    /// No such object.
    Absent(&'static str, String),
    /// Several of that name.
    Ambiguous(&'static str, String, Vec<Id>),
}

impl fmt::Display for Unresolved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unresolved::Absent(what, name) => write!(f, "there is no {what} {name:?} in NetBird"),
            Unresolved::Ambiguous(what, name, ids) => {
                let ids = joined(ids, ", ");
                write!(f, "several {what}s in NetBird are called {name:?}: {ids}")
            }
        }
    }
}

impl std::error::Error for Unresolved {}
