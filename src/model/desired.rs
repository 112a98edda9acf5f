//! Desired state: what a valid netbird.json asks for, in plain types.
//!
//! `validate` makes it, `plan` turns it into resources that compare with live ones. An optional field that the file
//! does not name is `None`: not ours, so there is no difference and the live value is sent back.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::{Address, Group, Kind, Resource, SetupKey};

/// A valid file.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Desired {
    /// The sections that the file has, with the name of the object whose entry holds it, if any does. What has none is not
    /// managed.
    pub sections: BTreeSet<(Kind, Option<String>)>,
    /// The entries of all sections; several of one name where the kind has that.
    pub entries: BTreeMap<Address, Vec<Resource>>,
    /// Old name of an entry that was renamed (`renamed_from`).
    pub renamed_from: BTreeMap<Address, String>,
}

impl Desired {
    /// Returns whether the file manages that kind; of what stands in other objects, whether it does in one of them.
    pub fn manages(&self, kind: Kind) -> bool {
        let mut sections = self.sections.range((kind, None)..);
        sections.next().is_some_and(|(of, _)| *of == kind)
    }

    /// Returns whether the file manages what of that kind stands in the object of that name; without one, the kind.
    pub fn manages_in(&self, kind: Kind, within: Option<&str>) -> bool {
        self.sections.contains(&(kind, within.map(str::to_owned)))
    }

    /// Returns whether the file has that entry.
    pub fn declares(&self, address: &Address) -> bool {
        self.entries.contains_key(address)
    }

    /// Returns whether the file has the entry of that key. What can move is looked for in every parent.
    pub fn has(&self, key: &Address) -> bool {
        match key.kind.descriptor().is_anywhere {
            true => self.of_kind(key.kind).any(|(name, _)| *name == key.name),
            false => self.declares(key),
        }
    }

    /// Returns every name that stands for a machine: a setup key's, or the machine's own. Each with the entry that uses it.
    pub fn machine_names(&self) -> impl Iterator<Item = (&Address, &str)> {
        let entries = self.entries.iter();
        entries.flat_map(|(at, all)| machine_names(all).map(move |name| (at, name)))
    }

    /// Returns whether the file names a machine by one of these names, or has a setup key of one of them.
    pub fn uses(&self, names: &BTreeSet<&str>) -> bool {
        names.iter().any(|name| self.setup_key(name).is_some())
            || self.machine_names().any(|(_, name)| names.contains(name))
    }

    /// Returns the entries of a kind, by name.
    pub fn of_kind(&self, kind: Kind) -> impl Iterator<Item = (&String, &Vec<Resource>)> {
        let entries = self.entries.range(Address::new(kind, "")..);
        let entries = entries.take_while(move |(address, _)| address.kind == kind);
        entries.map(|(address, all)| (&address.name, all))
    }

    /// Returns the declared groups; none where the section is missing.
    pub fn groups(&self) -> impl Iterator<Item = (&String, &Group)> {
        let entries = self.of_kind(Kind::Group);
        entries.filter_map(|(name, all)| Some((name, group(all)?)))
    }

    /// Returns the declared group of that name.
    pub fn group(&self, name: &str) -> Option<&Group> {
        group(self.resource(&Address::new(Kind::Group, name)))
    }

    /// Returns the declared setup keys; none where the section is missing.
    pub fn setup_keys(&self) -> impl Iterator<Item = (&String, &SetupKey)> {
        let entries = self.of_kind(Kind::SetupKey);
        entries.filter_map(|(name, all)| Some((name, setup_key(all)?)))
    }

    /// Returns the declared setup key of that name.
    pub fn setup_key(&self, name: &str) -> Option<&SetupKey> {
        setup_key(self.resource(&Address::new(Kind::SetupKey, name)))
    }

    /// Returns whether a declared key waits for the machine that enrolls with it.
    pub fn awaits_enrollment(&self, name: &str) -> bool {
        let declared = self.setup_key(name);
        declared.is_some_and(|key| !key.enrolled && key.is_for_one_peer())
    }

    /// Returns whether an entry names that peer, as a group lists its members.
    pub fn lists(&self, at: &Address, peer: &str) -> bool {
        self.listed(at).any(|name| name == peer)
    }

    /// Returns the names by which the entry of that address names machines.
    pub fn listed(&self, at: &Address) -> impl Iterator<Item = &str> {
        machine_names(self.resource(at))
    }

    /// Returns the entries that are compared as they stand: the members of groups and the life of keys depend on what lives.
    pub fn resources(&self) -> impl Iterator<Item = (&Address, &[Resource])> {
        let entries = self.entries.iter();
        let rest = entries.filter(|(at, _)| !matches!(at.kind, Kind::Group | Kind::SetupKey));
        rest.map(|(address, all)| (address, all.as_slice()))
    }

    /// Returns what is declared under that address.
    pub fn resource(&self, address: &Address) -> &[Resource] {
        self.entries.get(address).map_or(&[], Vec::as_slice)
    }
}

fn machine_names(all: &[Resource]) -> impl Iterator<Item = &str> {
    all.iter().flat_map(Resource::machine_names)
}

fn group(all: &[Resource]) -> Option<&Group> {
    match all {
        [Resource::Group(group)] => Some(group),
        _ => None,
    }
}

fn setup_key(all: &[Resource]) -> Option<&SetupKey> {
    match all {
        [Resource::SetupKey(key)] => Some(key),
        _ => None,
    }
}
