//! Names and ids of the live groups, both ways.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde_json::Value;

use crate::id::Id;

/// The group that holds every peer; it cannot be changed or deleted, and the server knows it by this name.
pub const ALL: &str = "All";

/// Names and ids of the live groups, both ways. Grows while an apply creates groups.
#[derive(Debug, Clone, Default)]
pub struct Groups {
    names: BTreeMap<Id, String>,
    ids: BTreeMap<String, BTreeSet<Id>>,
}

impl Groups {
    /// Adds a group.
    pub fn insert(&mut self, id: Id, name: String) {
        self.ids.entry(name.clone()).or_default().insert(id.clone());
        self.names.insert(id, name);
    }

    /// Takes a group's name away: it has one with its id in it from then on.
    pub fn set_aside(&mut self, id: &Id) {
        let Some(name) = self.names.get_mut(id) else {
            return;
        };
        if let Some(ids) = self.ids.get_mut(name) {
            ids.remove(id);
        }
        *name = format!("{name} ({id})");
    }

    /// Returns the ids of the groups of that name; several after a rename that the server did not check.
    pub fn ids(&self, name: &str) -> impl Iterator<Item = &Id> {
        self.ids.get(name).into_iter().flatten()
    }

    /// Returns the id of the one group of that name.
    pub fn id(&self, name: &str) -> Result<&Id, Unresolved> {
        let mut ids = self.ids(name);
        match (ids.next(), ids.next()) {
            (Some(id), None) => Ok(id),
            (None, _) => Err(Unresolved::Absent(name.into())),
            (Some(_), Some(_)) => Err(Unresolved::Ambiguous(
                name.into(),
                self.ids(name).cloned().collect(),
            )),
        }
    }

    /// Returns the name of a group, or a text that says what its id stands for.
    pub fn name(&self, id: &Id) -> String {
        self.names
            .get(id)
            .cloned()
            .unwrap_or_else(|| format!("(deleted group {id})"))
    }

    /// Returns every name.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.ids.keys().map(String::as_str)
    }

    pub(super) fn read(&self, ids: &[Id]) -> BTreeSet<String> {
        ids.iter().map(|id| self.name(id)).collect()
    }

    pub(super) fn resolve(&self, names: &BTreeSet<String>) -> Result<Value, Unresolved> {
        names
            .iter()
            .map(|name| Ok(Value::String(self.id(name)?.0.clone())))
            .collect()
    }
}

/// A name that stands for no group, or for several.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Unresolved {
    /// No such group.
    Absent(String),
    /// Several groups of that name.
    Ambiguous(String, Vec<Id>),
}

impl fmt::Display for Unresolved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unresolved::Absent(name) => write!(f, "there is no group {name:?} in NetBird"),
            Unresolved::Ambiguous(name, ids) => {
                let ids: Vec<&str> = ids.iter().map(|id| id.0.as_str()).collect();
                write!(
                    f,
                    "several groups in NetBird are called {name:?}: {}",
                    ids.join(", ")
                )
            }
        }
    }
}

impl std::error::Error for Unresolved {}
