//! The live account as it was fetched: whole answers, list by list.
//!
//! The same value is read from a server (`fetch`) and from a file (`plan --live FILE`), so that a plan needs no server.

use std::collections::BTreeMap;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::{Map, Value};

use crate::base::entry::{Entry, Listed};
use crate::base::id::Id;
use crate::base::index::Index;
use crate::model::kind::Kind;
use crate::wire::api::objects;

/// Answers of the server's lists. A list that was not asked for is empty; `None` where the difference matters.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Snapshot {
    /// The list of each kind but peers, of what there is one of that one; the secrets of keys are masked by the server.
    lists: BTreeMap<Kind, Vec<Entry>>,
    /// `GET /peers`
    pub peers: PeerList,
    /// What no kind stands for.
    pub rest: Rest,
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
    /// `GET /identity-providers`, where the file names one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub identity_providers: Vec<Entry>,
    /// `GET /events`, where a key moved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub events: Option<Vec<Entry>>,
    /// The server has no database of locations, which was asked where a posture check of the file needs one.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub lacks_locations: bool,
    /// Lists that not every server has, where a group can be deleted, by path.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub parts: BTreeMap<String, Vec<Entry>>,
}

impl Snapshot {
    /// Returns the entries of a kind's list.
    pub fn list(&self, kind: Kind) -> &[Entry] {
        match kind {
            Kind::Peer => &self.peers,
            Kind::User => &self.rest.users,
            kind => self.lists.get(&kind).map(Vec::as_slice).unwrap_or_default(),
        }
    }

    /// Returns whether the list of a kind was asked for.
    pub fn has(&self, kind: Kind) -> bool {
        match kind {
            Kind::Peer => self.peers.is_known,
            Kind::User => self.rest.has_people,
            kind => self.lists.contains_key(&kind),
        }
    }

    /// Returns a kind's list, to change it.
    pub fn list_mut(&mut self, kind: Kind) -> &mut Vec<Entry> {
        match kind {
            Kind::Peer => &mut self.peers,
            Kind::User => {
                self.rest.has_people = true;
                &mut self.rest.users
            }
            kind => self.lists.entry(kind).or_default(),
        }
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

/// The entries of `GET /peers`, which are most of an account: whoever asks what is in them, they are read once.
#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PeerList {
    entries: Vec<Entry>,
    /// Whether the list was asked for: an account without machines has an empty one.
    #[serde(skip)]
    is_known: bool,
    #[serde(skip)]
    read: OnceLock<Arc<Peers>>,
}

impl PeerList {
    /// Returns the peers. Errors with the entry that cannot be read.
    pub fn read(&self) -> Result<Arc<Peers>, (&Entry, serde_json::Error)> {
        if let Some(peers) = self.read.get() {
            return Ok(peers.clone());
        }
        let read = self.entries.iter().map(|entry| {
            let peer: objects::Peer = entry.read().map_err(|error| (entry, error))?;
            Ok(with_answer(entry, peer))
        });
        let peers = read.collect::<Result<Peers, _>>()?;
        Ok(self.read.get_or_init(|| Arc::new(peers)).clone())
    }
}

fn with_answer(entry: &Entry, peer: objects::Peer) -> objects::Peer {
    let answer = Some(entry.clone());
    objects::Peer { answer, ..peer }
}

/// With what was read of the entries already.
impl From<Listed<objects::Peer>> for PeerList {
    fn from((entries, peers): Listed<objects::Peer>) -> Self {
        let peers = peers.map(|peers| {
            let peers = peers.into_iter().zip(&entries);
            Arc::new(
                peers
                    .map(|(peer, entry)| with_answer(entry, peer))
                    .collect(),
            )
        });
        PeerList {
            entries,
            is_known: true,
            read: peers.map(OnceLock::from).unwrap_or_default(),
        }
    }
}

impl From<Vec<Entry>> for PeerList {
    fn from(entries: Vec<Entry>) -> Self {
        PeerList {
            entries,
            is_known: true,
            read: OnceLock::new(),
        }
    }
}

impl FromIterator<Entry> for PeerList {
    fn from_iter<T: IntoIterator<Item = Entry>>(entries: T) -> Self {
        Vec::from_iter(entries).into()
    }
}

impl Deref for PeerList {
    type Target = Vec<Entry>;

    fn deref(&self) -> &Self::Target {
        &self.entries
    }
}

/// What is changed is read again.
impl DerefMut for PeerList {
    fn deref_mut(&mut self) -> &mut Self::Target {
        self.is_known = true;
        self.read = OnceLock::new();
        &mut self.entries
    }
}

impl PartialEq for PeerList {
    fn eq(&self, other: &Self) -> bool {
        self.entries == other.entries
    }
}

impl std::fmt::Debug for PeerList {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.entries.fmt(f)
    }
}

/// Peers by id, and by name.
#[derive(Debug, Clone, Default)]
pub struct Peers {
    /// By id, which is by age.
    peers: Vec<objects::Peer>,
    by_id: Index,
    by_name: Index,
}

impl Peers {
    /// Returns the peer of that id.
    pub fn get(&self, id: &Id) -> Option<&objects::Peer> {
        let mut found = self.by_id.find(&id.0).map(|at| &self.peers[at]);
        found.find(|peer| peer.id == *id)
    }

    /// Returns whether there is a peer of that id.
    pub fn contains(&self, id: &Id) -> bool {
        self.get(id).is_some()
    }

    /// Returns the peers of that name, the oldest first.
    pub fn named<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a objects::Peer> {
        let found = self.by_name.find(name).map(|at| &self.peers[at]);
        found.filter(move |peer| peer.name == name)
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
        Peers {
            by_id: Index::of(peers.iter().map(|peer| peer.id.0.as_str())),
            by_name: Index::of(peers.iter().map(|peer| peer.name.as_str())),
            peers,
        }
    }
}
