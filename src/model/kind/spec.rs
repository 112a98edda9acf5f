//! What each kind has to answer of its objects. A kind answers for itself only what is not the same for most.

use std::collections::{BTreeMap, BTreeSet};

use serde::de::{DeserializeOwned, Error};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::peer::Addresses;
use super::{Descriptor, Entries, Groups, Live, PeerRef, Refers, Resource, Unresolved};
use crate::base::{Entry, Id, Sentence};
use crate::file::{Cursor, Log, Names, Objects, Outline, Row, Shape, Table};

/// The canonical form of a kind.
pub(crate) trait Spec:
    Serialize + DeserializeOwned + Clone + Default + Into<Resource> + 'static
{
    /// What there is to know of the kind as a whole.
    const KIND: Descriptor;

    /// The table of its fields.
    const TABLE: &'static Table<Self>;

    /// What an answer has and no request.
    const ANSWER_ONLY: &'static [&'static str] = &["id"];

    /// Whether an answer can lack a field since its NetBird does not know it. Of other kinds, null and absent are what is
    /// empty, 0 or false (docs/netbird-api.md, "Null, empty and absent").
    const MAY_LACK: bool = false;

    /// Notes what does not go together in an entry that was read, and adds what follows from it and from what it stands in;
    /// `None` where it cannot be told what it is.
    fn settle(
        self,
        _entry: &Cursor<'_>,
        _within: Option<&Resource>,
        _log: &mut Log,
    ) -> Option<Self> {
        Some(self)
    }

    /// Reads an answer.
    fn read(wire: Entry, groups: &Groups) -> Result<Live, serde_json::Error> {
        read::<Self>(wire, groups)
    }

    /// Reads the fields of an answer, with ids in the place of names.
    fn form(wire: &Entry) -> Result<Self, serde_json::Error> {
        wire.read()
    }

    /// Puts the one spelling, and names of what the table does not know, into what was read of an answer.
    fn tidy(&mut self, _groups: &Groups) {}

    /// Builds the body of a POST, or of a PUT where there is a live object.
    fn request(&self, sent: Sent) -> Result<Value, Unresolved> {
        let Sent { name, live, groups } = sent;
        let mut body = base_of(live, Self::ANSWER_ONLY);
        let name_field = Self::KIND.name_field;
        if !name_field.is_empty() {
            body.insert(name_field.into(), name.into());
        }
        fill(&mut body, self, groups, |_| true)?;
        self.finish(&mut body);
        Ok(Value::Object(body))
    }

    /// Puts into a body what the table does not say.
    fn finish(&self, _body: &mut Map<String, Value>) {}

    /// Returns the fields that are ours: of what can be left out, none is "not ours".
    fn fields(&self) -> Map<String, Value> {
        let mut fields = match serde_json::to_value(self) {
            Ok(Value::Object(fields)) => fields,
            other => unreachable!("a resource serialises to an object, not {other:?}"),
        };
        let known = Self::TABLE.fields.iter();
        for field in known.filter(|field| field.keep.is_some()) {
            if fields.get(field.row.name).is_some_and(Value::is_null) {
                fields.remove(field.row.name);
            }
        }
        for row in Self::TABLE.fields.iter().map(|field| field.row) {
            if let Some(value) = fields
                .get_mut(row.name)
                .filter(|_| row.shape.inner().is_some())
            {
                prune(value);
            }
        }
        fields
    }

    /// Returns what an entry says and `fields` does not have: it is no difference.
    fn unseen(&self) -> Value {
        Value::Null
    }

    /// Returns the names of groups in it.
    fn references(&self) -> Vec<&str> {
        let groups = Self::TABLE.groups(self).into_iter().flatten();
        groups.map(String::as_str).collect()
    }

    /// Returns the names of what it refers to that is not a group.
    fn others(&self) -> Vec<(Refers, &str)> {
        Vec::new()
    }

    /// Returns the peers that it names.
    fn peers(&self) -> Vec<&PeerRef> {
        Vec::new()
    }

    /// Returns them, to say which ones are meant.
    fn peers_mut(&mut self) -> Vec<&mut PeerRef> {
        Vec::new()
    }

    /// Puts the addresses of the peers that it names in the place of one. Returns whether all of them have one.
    fn put_addresses(&mut self, _of: Addresses) -> bool {
        true
    }

    /// Takes over from the live object what is not ours.
    fn keep(&mut self, live: &Self) {
        Self::TABLE.keep(self, live);
    }

    /// Returns whether a field that is written otherwise in `live` means the same.
    fn says_the_same(&self, _live: &Self, _field: &str) -> bool {
        false
    }

    /// Returns whether an entry only says which live object it means: nobody makes, adopts or deletes one by it.
    fn is_only_named(&self) -> bool {
        false
    }

    /// Returns whether the server takes no such object while that one is there, in the same place.
    fn excludes(&self, _other: &Self) -> bool {
        false
    }

    /// Returns what of its form the file cannot say, as what follows "it".
    fn beyond_the_file(&self) -> Option<String> {
        None
    }

    /// Returns what tells it from others of its name, where several can have one.
    fn connects(&self) -> Value {
        Value::Null
    }

    /// Returns its entry in a file, made of its fields; `Err` says why there can be none.
    fn export(&self, fields: Map<String, Value>) -> Result<Map<String, Value>, String> {
        Ok(fields)
    }

    /// Returns the object in one line; empty where its name says all.
    fn summary(&self, _about: &About) -> String {
        String::new()
    }

    /// Returns who loses what when it goes or is switched off.
    fn loss(&self, _about: &About) -> Sentence {
        Sentence::default()
    }

    /// Returns what it lets through from or to every peer.
    fn opens_to_all(&self, _about: &About) -> Option<Sentence> {
        None
    }
}

/// What an answer says of the object as a whole.
#[derive(Deserialize)]
struct Identity {
    id: Option<Id>,
    name: Option<String>,
    network_id: Option<String>,
    email: Option<String>,
}

/// Reads an answer, with names of groups in the place of ids.
pub(super) fn read<T: Spec>(wire: Entry, groups: &Groups) -> Result<Live, serde_json::Error> {
    let identity: Identity = wire.read()?;
    let form = named(T::form(&wire)?, groups);
    let name_field = T::KIND.name_field;
    let name = match name_field {
        "" => Some(String::new()),
        "network_id" => identity.network_id,
        "email" => identity.email,
        _ => identity.name,
    };
    let id = match T::KIND.entries {
        Entries::One { is_listed: false } => Some(Id::from(T::KIND.called[2])), // it has none
        _ => identity.id,
    };
    let id = id.ok_or_else(|| serde_json::Error::missing_field("id"))?;
    let name = name.ok_or_else(|| serde_json::Error::missing_field(name_field))?;
    Ok(Live::new(id, name, form, wire))
}

/// Puts names in the place of the ids of an answer, and what is empty, 0 or false where it has nothing.
pub(super) fn named<T: Spec>(mut form: T, groups: &Groups) -> T {
    for field in T::TABLE.fields {
        let zero = field.zero.filter(|_| !T::MAY_LACK);
        zero.into_iter().for_each(|zero| zero(&mut form));
        let ids = field.groups_mut.and_then(|groups_of| groups_of(&mut form));
        if let Some(ids) = ids {
            *ids = groups.read(ids.iter().map(String::as_str));
        }
    }
    form.tidy(groups);
    form
}

/// What a field for objects of a kind takes.
pub(super) const fn objects<T: Spec>() -> Objects {
    Objects {
        word: T::KIND.called[2],
        count: None,
        outline: || T::TABLE.outline(),
    }
}

/// Reads an entry, or an object in the entry of another one.
pub(super) fn entry<T: Spec>(
    entry: &Cursor<'_>,
    within: Option<&Resource>,
    log: &mut Log,
) -> Option<Resource> {
    let mut form = T::default();
    entry.object(log, T::TABLE, &mut form);
    let form = entry.is_object().then_some(form)?;
    Some(form.settle(entry, within, log)?.into())
}

/// What a request is built from, beside the object.
#[derive(Clone, Copy)]
pub(crate) struct Sent<'a> {
    /// The object's name.
    pub(crate) name: &'a str,
    /// The answer that a PUT replaces.
    pub(crate) live: Option<&'a Value>,
    /// Names and ids of the groups.
    pub(crate) groups: &'a Groups,
}

/// What is known of an object beside its form, for sentences about it.
#[derive(Debug, Clone, Copy)]
pub struct About<'a> {
    /// Its name.
    pub name: &'a str,
    /// It is made by this plan.
    pub is_new: bool,
    /// It goes by this plan.
    pub goes: bool,
    /// Nobody can use it any more: a key that is used, expired or revoked.
    pub is_dead: bool,
    /// What people call the peers, by id.
    pub peer_labels: &'a BTreeMap<Id, String>,
    /// Setup keys whose peer joins a group once it enrolls, by group.
    pub pending_members: &'a BTreeMap<String, BTreeSet<String>>,
}

impl<'a> About<'a> {
    /// What people call a peer that a field names.
    pub fn peer(&self, peer: &'a PeerRef) -> &'a str {
        match peer {
            PeerRef::Name(name) => name,
            PeerRef::Id(id) => self.label(id),
        }
    }

    /// What people call a peer.
    pub fn label(&self, id: &'a Id) -> &'a str {
        let label = self.peer_labels.get(id);
        label.map_or(id.0.as_str(), String::as_str)
    }
}

/// Returns a live answer as the base of a PUT: without what only answers carry.
pub(super) fn base_of(live: Option<&Value>, answer_only: &[&str]) -> Map<String, Value> {
    let mut base = live.and_then(Value::as_object).cloned().unwrap_or_default();
    base.retain(|field, _| !answer_only.contains(&field.as_str()));
    base
}

/// Fills in the fields of these names: what is declared, or else what is there, or else the default of creation. What says
/// something by being left out stays out.
pub(super) fn fill<T: Spec>(
    body: &mut Map<String, Value>,
    it: &T,
    groups: &Groups,
    is_meant: impl Fn(&str) -> bool,
) -> Result<(), Unresolved> {
    let mut ours = it.fields();
    let fields = T::TABLE.fields.iter();
    for field in fields.filter(|field| is_meant(field.row.name)) {
        let (row, is_own) = (field.row, field.keep.is_some());
        let there = at(body, row.wire);
        let value = match (ours.remove(row.name), there) {
            (Some(Value::Null), _) => continue,
            (Some(value), _) => value,
            (None, _) if !is_own || T::MAY_LACK => continue,
            (None, Some(there)) => {
                let ids = row.names.map(|_| embedded_ids(Some(there)));
                body.extend(ids.map(|ids| (row.wire.to_owned(), ids)));
                continue;
            }
            // null and absent are the same to the server, and null would not decode where a bool is wanted
            (None, None) => match row.default {
                Some(default) => serde_json::from_str(default).expect("a default is JSON"),
                None => continue,
            },
        };
        let value = match row.names {
            Some(what @ (Names::Groups | Names::Checks)) => {
                let names = value.as_array().into_iter().flatten();
                groups.ids_of(what.into(), names.filter_map(Value::as_str))?
            }
            _ => sent(value, row.shape),
        };
        put(body, row.wire, value);
    }
    Ok(())
}

/// Returns what stands at a path of an answer or a body, with dots between the names; nothing where that is null.
pub(super) fn at<'a>(body: &'a Map<String, Value>, path: &str) -> Option<&'a Value> {
    let (first, rest) = path.split_once('.').unwrap_or((path, ""));
    let names = rest.split('.').filter(|name| !name.is_empty());
    let found = names.fold(body.get(first), |place, name| place?.get(name));
    found.filter(|value| !value.is_null())
}

/// Puts a value there.
fn put(body: &mut Map<String, Value>, path: &str, value: Value) {
    let Some((first, rest)) = path.split_once('.') else {
        body.insert(path.into(), value);
        return;
    };
    let place = body.entry(first).or_insert(Value::Null);
    let mut inner = place.as_object().cloned().unwrap_or_default();
    put(&mut inner, rest, value);
    *place = inner.into();
}

/// Returns the value of a field as the API has it: the objects in it have its names, and the defaults of creation.
fn sent(value: Value, shape: Shape) -> Value {
    match (shape.inner(), value) {
        (Some(outline), Value::Object(fields)) if !fields.is_empty() => {
            let mut body = Map::new();
            for row in outline().rows {
                let default = || serde_json::from_str(row.default?).ok();
                let value = fields.get(row.name).cloned().or_else(default);
                if let Some(value) = value {
                    put(&mut body, row.wire, sent(value, row.shape));
                }
            }
            body.into()
        }
        (Some(_), Value::Array(all)) => all.into_iter().map(|one| sent(one, shape)).collect(),
        (_, value) => value,
    }
}

/// Returns an answer as the file has it: the fields of this outline, under their names, and likewise in the objects in them.
pub(super) fn answered(answer: &Map<String, Value>, outline: &Outline) -> Map<String, Value> {
    fn inner(value: &Value, shape: Shape) -> Value {
        match (shape.inner(), value) {
            (Some(outline), Value::Object(answer)) => answered(answer, &outline()).into(),
            (Some(_), Value::Array(all)) => all.iter().map(|one| inner(one, shape)).collect(),
            (_, value) => value.clone(),
        }
    }
    let field = |row: &Row| Some((row.name.to_owned(), inner(at(answer, row.wire)?, row.shape)));
    outline.rows.iter().filter_map(field).collect()
}

/// Takes out of the objects of a value what says nothing: none, an empty text, an empty list, an empty object.
fn prune(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.values_mut().for_each(prune);
            fields.retain(|_, value| !is_nothing(value));
        }
        Value::Array(all) => all.iter_mut().for_each(prune),
        _ => {}
    }
}

/// Returns whether a value says nothing.
pub(super) fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Object(fields) => fields.is_empty(),
        Value::Array(all) => all.is_empty(),
        value => value.is_null() || value.as_str() == Some(""),
    }
}

/// Puts a value where there is none.
pub(super) fn default(body: &mut Map<String, Value>, field: &str, value: Value) {
    if body.get(field).is_none_or(Value::is_null) {
        body.insert(field.into(), value);
    }
}

/// Ids of an embedded list of objects, of ids, or of nothing.
pub(super) fn embedded_ids(list: Option<&Value>) -> Value {
    let entries = list.and_then(Value::as_array).into_iter().flatten();
    let ids = entries.map(|entry| entry.get("id").unwrap_or(entry).clone());
    ids.collect()
}

/// Puts the live value where there is none of ours.
pub(crate) fn keep<T: Clone>(after: &mut Option<T>, live: &Option<T>) {
    if after.is_none() {
        after.clone_from(live);
    }
}
