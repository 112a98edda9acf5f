//! What each kind of object is: one file a kind, with the canonical form in which desired and actual state are
//! compared, how an answer of the server is read into it, and how a request is built from it.
//!
//! The rules of the form: references are names; lists whose order means nothing are sets; what the server computes is
//! left out; `None` is "not ours": no difference, and the live value is sent back. Field changes are found by comparing
//! serialised fields, so `Serialize` of a resource is part of its meaning.

mod form;
mod group;
mod nameserver_group;
mod policy;
mod references;
mod route;
mod setup_key;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::Serialize;
use serde_json::{Map, Value};

use crate::entry::Entry;
use crate::state::{Id, Kind};

pub use form::{End, Form, Shape, Tie};
pub use group::Group;
pub use nameserver_group::{Nameserver, NameserverGroup};
pub use policy::{Action, Beyond, Policy, PortRange, Protocol};
pub use route::Route;
pub use setup_key::SetupKey;

/// The group that holds every peer; it cannot be changed or deleted, and the server knows it by this name.
pub const ALL: &str = "All";

/// An object in canonical form.
#[derive(Debug, Clone, PartialEq)]
pub enum Resource {
    /// A group.
    Group(Group),
    /// A setup key.
    SetupKey(SetupKey),
    /// An enrolled peer, of which we only ever change the name.
    Peer(Peer),
    /// A policy.
    Policy(Policy),
    /// A route.
    Route(Route),
    /// A nameserver group.
    NameserverGroup(NameserverGroup),
}

/// A peer's part that we change.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Peer {
    /// Display name; the DNS label follows it.
    pub name: String,
}

/// A live object: its id, its canonical form, and the answer as it came.
#[derive(Debug, Clone, PartialEq)]
pub struct Live {
    /// The server's id.
    pub id: Id,
    /// Its name, which need not be unique.
    pub name: String,
    /// Its canonical form.
    pub resource: Resource,
    /// The answer, so that fields we do not know go back as they came. Never printed.
    pub wire: Entry,
}

impl Live {
    /// Returns whether it is a key that nobody can use: used up, expired or revoked.
    pub fn is_dead_key(&self) -> bool {
        let key = self.wire.read::<crate::wire::SetupKey>();
        self.resource.kind() == Kind::SetupKey && key.is_ok_and(|key| !key.valid)
    }
}

/// One field that differs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FieldChange {
    /// The field's name in netbird.json.
    pub field: String,
    /// The live value; null where there is none.
    pub before: Value,
    /// The desired value.
    pub after: Value,
}

impl Resource {
    /// The kind.
    pub fn kind(&self) -> Kind {
        match self {
            Resource::Group(_) => Kind::Group,
            Resource::SetupKey(_) => Kind::SetupKey,
            Resource::Peer(_) => Kind::Peer,
            Resource::Policy(_) => Kind::Policy,
            Resource::Route(_) => Kind::Route,
            Resource::NameserverGroup(_) => Kind::NameserverGroup,
        }
    }

    /// Returns the fields that are ours.
    pub fn fields(&self) -> Map<String, Value> {
        let value = match self {
            Resource::Group(group) => serde_json::to_value(group),
            Resource::SetupKey(key) => serde_json::to_value(key),
            Resource::Peer(peer) => serde_json::to_value(peer),
            Resource::Policy(policy) => serde_json::to_value(policy),
            Resource::Route(route) => serde_json::to_value(route),
            Resource::NameserverGroup(group) => serde_json::to_value(group),
        };
        match value {
            Ok(Value::Object(fields)) => fields,
            other => unreachable!("a resource serialises to an object, not {other:?}"),
        }
    }

    /// Returns the names of the groups that it refers to.
    pub fn references(&self) -> BTreeSet<&str> {
        match self {
            Resource::Group(_) | Resource::Peer(_) => BTreeSet::new(),
            Resource::SetupKey(key) => names(key.auto_groups.as_ref()),
            Resource::Policy(policy) => names([&policy.sources, &policy.destinations]),
            Resource::Route(route) => names(
                [
                    Some(&route.peer_groups),
                    route.groups.as_ref(),
                    route.access_control_groups.as_ref(),
                ]
                .into_iter()
                .flatten(),
            ),
            Resource::NameserverGroup(group) => names([&group.groups]),
        }
    }

    /// Returns what of its form the file cannot say, as what follows "it"; writing it would take that away.
    pub fn beyond_the_file(&self) -> Option<String> {
        match self {
            Resource::Policy(policy) => match policy.rules.0 {
                1 => [&policy.source_resource, &policy.destination_resource]
                    .into_iter()
                    .flatten()
                    .next()
                    .map(|resource| format!("names {resource} in the place of groups")),
                rules => Some(format!("has {rules} rules")),
            },
            Resource::Route(Route {
                peer: Some(peer), ..
            }) => Some(format!("goes through the single peer {peer}")),
            _ => None,
        }
    }

    /// Returns the groups of users that may log in by a policy of NetBird's SSH: the server would let them go, and leave a
    /// dead id (netbird-api.md §2).
    pub fn user_groups(&self) -> impl Iterator<Item = &Id> {
        let groups = match self {
            Resource::Policy(policy) if policy.protocol == Some(Protocol::NetbirdSsh) => {
                Some(policy.beyond.authorized_groups.keys())
            }
            _ => None,
        };
        groups.into_iter().flatten()
    }

    /// Builds the body of a POST (no live object: undeclared fields take their documented defaults) or a PUT (they go
    /// back as they are). A PUT is a full replacement on this server (netbird-api.md §1.1).
    pub fn request(
        &self,
        name: &str,
        live: Option<&Value>,
        groups: &Groups,
    ) -> Result<Value, Unresolved> {
        match self {
            Resource::Group(group) => Ok(group.request(name, live)),
            Resource::SetupKey(key) => key.request(name, live, groups),
            Resource::Peer(peer) => Ok(peer.request(live)),
            Resource::Policy(policy) => policy.request(name, live, groups),
            Resource::Route(route) => route.request(name, live, groups),
            Resource::NameserverGroup(group) => group.request(name, live, groups),
        }
    }

    /// Reads an answer of that kind.
    pub fn read(
        kind: Kind,
        wire: impl Into<Entry>,
        groups: &Groups,
    ) -> Result<Live, serde_json::Error> {
        let wire = wire.into();
        match kind {
            Kind::Group => group::read(wire),
            Kind::SetupKey => setup_key::read(wire, groups),
            Kind::Peer => read_peer(wire),
            Kind::Policy => policy::read(wire, groups),
            Kind::Route => route::read(wire, groups),
            Kind::NameserverGroup => nameserver_group::read(wire, groups),
        }
    }
}

impl Peer {
    /// The ssh and expiration flags go back as they came: left out they would be switched off (netbird-api.md §4).
    fn request(&self, live: Option<&Value>) -> Value {
        let mut body = serde_json::json!({ "name": self.name });
        for flag in [
            "ssh_enabled",
            "login_expiration_enabled",
            "inactivity_expiration_enabled",
        ] {
            body[flag] = live
                .and_then(|live| live.get(flag))
                .cloned()
                .unwrap_or(Value::Bool(false));
        }
        body
    }
}

fn read_peer(wire: Entry) -> Result<Live, serde_json::Error> {
    let peer: crate::wire::Peer = wire.read()?;
    let resource = Resource::Peer(Peer {
        name: peer.name.clone(),
    });
    Ok(Live {
        id: peer.id,
        name: peer.name,
        resource,
        wire,
    })
}

fn names<'a>(sets: impl IntoIterator<Item = &'a BTreeSet<String>>) -> BTreeSet<&'a str> {
    sets.into_iter().flatten().map(String::as_str).collect()
}

/// Returns the fields of `desired` that `actual` has otherwise. Of the same resource with itself: none.
pub fn differences(desired: &Resource, live: &Resource) -> Vec<FieldChange> {
    let mut actual = live.fields();
    desired
        .fields()
        .into_iter()
        .map(|(field, after)| FieldChange {
            before: actual.remove(&field).unwrap_or_default(),
            field,
            after,
        })
        .filter(|change| change.before != change.after)
        .filter(|change| !says_the_same(desired, live, &change.field))
        .collect()
}

/// Whether a field that is written otherwise means the same.
fn says_the_same(desired: &Resource, live: &Resource, field: &str) -> bool {
    match (desired, live, field) {
        (Resource::NameserverGroup(desired), Resource::NameserverGroup(live), "domains") => {
            desired.same_domains(live)
        }
        _ => false,
    }
}

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

    fn read(&self, ids: &[Id]) -> BTreeSet<String> {
        ids.iter().map(|id| self.name(id)).collect()
    }

    fn resolve(&self, names: &BTreeSet<String>) -> Result<Value, Unresolved> {
        names
            .iter()
            .map(|name| Ok(Value::String(self.id(name)?.0.clone())))
            .collect()
    }
}

/// A name that stands for no group, or for several.
#[derive(Debug, Clone, PartialEq, Eq)]
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

/// Returns a live answer as the base of a PUT: without what only answers carry.
fn base_of(live: Option<&Value>, answer_only: &[&str]) -> Map<String, Value> {
    let mut base = live.and_then(Value::as_object).cloned().unwrap_or_default();
    base.retain(|field, _| !answer_only.contains(&field.as_str()));
    base
}

/// Puts a declared value, or else keeps what is there, or else the default of creation.
fn put<T: Serialize>(body: &mut Map<String, Value>, field: &str, ours: Option<T>, default: T) {
    let encode = |value: T| serde_json::to_value(value).expect("plain values serialise");
    match ours {
        Some(value) => {
            body.insert(field.into(), encode(value));
        }
        // null and absent are the same to the server, and null would not decode where a bool is wanted
        None if body.get(field).is_none_or(Value::is_null) => {
            body.insert(field.into(), encode(default));
        }
        None => {}
    }
}

/// Ids of an embedded list of objects, of ids, or of nothing.
fn embedded_ids(list: Option<&Value>) -> Value {
    let entries = list
        .and_then(Value::as_array)
        .map(Vec::as_slice)
        .unwrap_or_default();
    entries
        .iter()
        .map(|entry| entry.get("id").unwrap_or(entry).clone())
        .collect()
}

impl Resource {
    /// Returns the object as it will be: what is not ours comes from `live`, which is of the same kind.
    pub fn over(&self, live: &Resource) -> Resource {
        let mut after = self.clone();
        match (&mut after, live) {
            (Resource::Group(after), Resource::Group(live)) => keep(&mut after.peers, &live.peers),
            (Resource::SetupKey(after), Resource::SetupKey(live)) => {
                keep(&mut after.usage_limit, &live.usage_limit);
                keep(&mut after.auto_groups, &live.auto_groups);
                keep(&mut after.ephemeral, &live.ephemeral);
                keep(
                    &mut after.allow_extra_dns_labels,
                    &live.allow_extra_dns_labels,
                );
            }
            (Resource::Policy(after), Resource::Policy(live)) => {
                keep(&mut after.description, &live.description);
                keep(&mut after.enabled, &live.enabled);
                keep(&mut after.action, &live.action);
                keep(&mut after.bidirectional, &live.bidirectional);
                keep(&mut after.protocol, &live.protocol);
                keep(&mut after.ports, &live.ports);
                after.beyond.clone_from(&live.beyond);
            }
            (Resource::Route(after), Resource::Route(live)) => {
                keep(&mut after.description, &live.description);
                keep(&mut after.groups, &live.groups);
                keep(
                    &mut after.access_control_groups,
                    &live.access_control_groups,
                );
                keep(&mut after.metric, &live.metric);
                keep(&mut after.masquerade, &live.masquerade);
                keep(&mut after.keep_route, &live.keep_route);
                keep(&mut after.skip_auto_apply, &live.skip_auto_apply);
                keep(&mut after.enabled, &live.enabled);
            }
            (Resource::NameserverGroup(after), Resource::NameserverGroup(live)) => {
                keep(&mut after.description, &live.description);
                keep(
                    &mut after.search_domains_enabled,
                    &live.search_domains_enabled,
                );
                keep(&mut after.enabled, &live.enabled);
            }
            _ => {}
        }
        after
    }
}

fn keep<T: Clone>(after: &mut Option<T>, live: &Option<T>) {
    if after.is_none() {
        after.clone_from(live);
    }
}

#[cfg(test)]
mod tests;
