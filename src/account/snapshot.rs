//! The live account as it was fetched: whole answers, list by list.
//!
//! The same value is read from a server (`fetch`) and from a file (`plan --live FILE`), so that a plan needs no server.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, OnceLock};

use rustc_hash::FxHashMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::{Map, Value};

use crate::base::{Entry, Id};
use crate::model::Kind;
use crate::wire::api::objects;

/// Answers of the server's lists. A list that was not asked for is empty; `None` where the difference matters.
#[derive(Debug, Clone, Default)]
pub struct Snapshot {
    /// The list of each kind, of what there is one of that one; the secrets of keys are masked by the server.
    lists: BTreeMap<Kind, Vec<Entry>>,
    /// What the entries of the peers say, which are most of an account: they are read once.
    peers: OnceLock<Arc<Peers>>,
    /// What no kind stands for.
    pub rest: Rest,
}

impl PartialEq for Snapshot {
    fn eq(&self, other: &Self) -> bool {
        self.lists == other.lists && self.rest == other.rest
    }
}

/// Answers beside the lists of the kinds.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Rest {
    /// `GET /users`, of service users alone where nobody asks for people.
    pub users: Vec<Entry>,
    /// Whether people are among them.
    #[serde(skip)]
    pub has_people: bool,
    /// `GET /events`, where a key moved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub events: Option<Vec<Entry>>,
    /// The server has no database of locations, which was asked where a posture check of the file needs one.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub lacks_locations: bool,
    /// Lists that not every server has, by path: where a group can be deleted those that could name it, and identity providers where
    /// the file names one.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub parts: BTreeMap<String, Vec<Entry>>,
}

impl Snapshot {
    /// Returns the entries of a kind's list.
    pub fn list(&self, kind: Kind) -> &[Entry] {
        match kind {
            Kind::User => &self.rest.users,
            kind => self.lists.get(&kind).map(Vec::as_slice).unwrap_or_default(),
        }
    }

    /// Returns whether the list of a kind was asked for.
    pub fn has(&self, kind: Kind) -> bool {
        match kind {
            Kind::User => self.rest.has_people,
            kind => self.lists.contains_key(&kind),
        }
    }

    /// Returns a kind's list, to change it.
    pub fn list_mut(&mut self, kind: Kind) -> &mut Vec<Entry> {
        if kind == Kind::User {
            self.rest.has_people = true;
            return &mut self.rest.users;
        }
        if kind == Kind::Peer {
            self.peers = OnceLock::new();
        }
        self.lists.entry(kind).or_default()
    }

    /// Puts the list of peers, and what was read of it on the way.
    pub fn put_peers(&mut self, entries: Vec<Entry>, read: Option<Arc<Peers>>) {
        *self.list_mut(Kind::Peer) = entries;
        self.peers = read.map(OnceLock::from).unwrap_or_default();
    }

    /// Returns the peers. Errors with the entry that cannot be read.
    pub fn peers(&self) -> Result<Arc<Peers>, (&Entry, serde_json::Error)> {
        if let Some(peers) = self.peers.get() {
            return Ok(peers.clone());
        }
        let entries = self.list(Kind::Peer);
        let read = entries
            .iter()
            .map(|entry| entry.read().map_err(|error| (entry, error)));
        let peers = Peers::of(read.collect::<Result<_, _>>()?, entries);
        Ok(self.peers.get_or_init(|| Arc::new(peers)).clone())
    }
}

/// The name of a kind's list: that of its section; of what there is one of, and of what is no section at the top, that of the
/// API's list, or what the kind is called.
fn name(kind: Kind) -> String {
    match kind.parent() {
        Some(_) => kind.plural().replace(' ', "_"),
        None if kind.is_listed_one() => kind.path().trim_start_matches('/').to_owned(),
        None if kind.is_one() => kind.word().to_owned(),
        None => kind.section().to_owned(),
    }
}

/// The kinds that have a list of their own.
fn listed() -> impl Iterator<Item = Kind> {
    let all = Kind::ALL.into_iter();
    // users are there for more than their entries
    all.filter(|kind| kind.list().is_some() && *kind != Kind::User)
}

/// As an object with a member for each list.
impl Serialize for Snapshot {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let lists = listed().map(|kind| (name(kind), self.list(kind)));
        Whole {
            lists: lists.collect(),
            rest: &self.rest,
        }
        .serialize(serializer)
    }
}

#[derive(Serialize)]
struct Whole<'a> {
    #[serde(flatten)]
    lists: BTreeMap<String, &'a [Entry]>,
    #[serde(flatten)]
    rest: &'a Rest,
}

impl<'de> Deserialize<'de> for Snapshot {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut members: Map<String, Value> = Map::deserialize(deserializer)?;
        let mut snapshot = Snapshot::default();
        for kind in listed() {
            *snapshot.list_mut(kind) = match members.remove(&name(kind)) {
                None => continue,
                Some(one @ Value::Object(_)) if kind.is_one() => vec![one.into()],
                Some(list) => serde_json::from_value(list).map_err(de::Error::custom)?,
            };
        }
        snapshot.rest =
            serde_json::from_value(Value::Object(members)).map_err(de::Error::custom)?;
        let is_person = |user: &Entry| {
            user.read()
                .is_ok_and(|user: objects::User| user.has_address())
        };
        snapshot.rest.has_people = snapshot.rest.users.iter().any(is_person);
        Ok(snapshot)
    }
}

/// Peers by id, and by name.
#[derive(Debug, Clone, Default)]
pub struct Peers {
    /// By id, which is by age.
    peers: Vec<objects::Peer>,
    by_id: FxHashMap<Id, usize>,
    /// Clients choose names, and shall not choose their hashes.
    by_name: HashMap<String, Vec<usize>>,
}

impl Peers {
    /// The peers that were read of these entries.
    pub fn of(read: Vec<objects::Peer>, entries: &[Entry]) -> Self {
        let with_answer = |(peer, entry): (objects::Peer, &Entry)| objects::Peer {
            answer: Some(entry.clone()),
            ..peer
        };
        read.into_iter().zip(entries).map(with_answer).collect()
    }

    /// Returns the peer of that id.
    pub fn get(&self, id: &Id) -> Option<&objects::Peer> {
        self.by_id.get(id).map(|at| &self.peers[*at])
    }

    /// Returns whether there is a peer of that id.
    pub fn contains(&self, id: &Id) -> bool {
        self.get(id).is_some()
    }

    /// Returns the peers of that name, the oldest first.
    pub fn named(&self, name: &str) -> impl Iterator<Item = &objects::Peer> {
        let places = self.by_name.get(name).into_iter().flatten();
        places.map(|at| &self.peers[*at])
    }

    /// Returns all of them, the oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &objects::Peer> {
        self.peers.iter()
    }
}

/// Of two of one id the later one counts.
impl FromIterator<objects::Peer> for Peers {
    fn from_iter<T: IntoIterator<Item = objects::Peer>>(peers: T) -> Self {
        let mut peers = Vec::from_iter(peers);
        peers.reverse();
        peers.sort_by(|a, b| a.id.cmp(&b.id));
        peers.dedup_by(|later, earlier| later.id == earlier.id);
        let mut by_name: HashMap<String, Vec<usize>> = HashMap::new();
        for (at, peer) in peers.iter().enumerate() {
            by_name.entry(peer.name.clone()).or_default().push(at);
        }
        let by_id = peers.iter().enumerate();
        let by_id = by_id.map(|(at, peer)| (peer.id.clone(), at)).collect();
        Peers {
            peers,
            by_id,
            by_name,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn peers_are_found_by_id_and_by_name_the_oldest_first() {
        let of = |id: &str, name: &str| json!({ "id": id, "name": name, "ip": "100.64.0.1" });
        let all = [
            of("c", "b"),
            of("b", "a"),
            of("a", "a"),
            of("c", "a"),
            of("d", "d"),
        ];
        let read = all.map(|peer| serde_json::from_value(peer).expect("a peer"));
        let peers = Peers::from_iter(read);
        let named = |name: &str| {
            peers
                .named(name)
                .map(|peer| &*peer.id.0)
                .collect::<Vec<_>>()
        };
        // of two of one id the later one counts
        assert_eq!(named("a"), ["a", "b", "c"]);
        assert_eq!((named("b").len(), named("d").len()), (0, 1));
        let found = peers.get(&Id::from("d")).map(|peer| peer.name.as_str());
        assert_eq!((found, peers.contains(&Id::from("e"))), (Some("d"), false));
    }
}
