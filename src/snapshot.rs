//! The live account as it was fetched: whole answers, list by list.
//!
//! The same value is read from a server (`fetch`) and from a file (`plan --live FILE`), so that a plan needs no server.

use std::collections::{BTreeMap, HashMap};
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::entry::Entry;
use crate::id::Id;
use crate::wire;

/// Answers of the server's lists. A list that was not asked for is empty; `None` where the difference matters.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Snapshot {
    /// `GET /groups`
    pub groups: Vec<Entry>,
    /// `GET /setup-keys`; the secrets are masked by the server.
    pub setup_keys: Vec<Entry>,
    /// `GET /peers`
    pub peers: PeerList,
    /// `GET /policies`
    pub policies: Vec<Entry>,
    /// `GET /routes`
    pub routes: Vec<Entry>,
    /// `GET /dns/nameservers`
    pub nameserver_groups: Vec<Entry>,
    /// `GET /users`, of service users alone where no group can be deleted.
    pub users: Vec<Entry>,
    /// `GET /events`, where a key moved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub events: Option<Vec<Entry>>,
    /// `GET /networks`, where a group can be deleted: which network its resources and routers are in.
    pub networks: Vec<Value>,
    /// `GET /networks/resources`, likewise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network_resources: Option<Vec<Value>>,
    /// Lists that not every server has, likewise, by path.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub parts: BTreeMap<String, Vec<Value>>,
    /// `GET /networks/routers`, where a group can be deleted.
    pub routers: Vec<Entry>,
    /// `GET /dns/zones`, likewise.
    pub zones: Vec<Entry>,
    /// `GET /dns/settings`, likewise.
    pub dns_settings: Value,
    /// `GET /accounts`, where `--account` was given or a group can be deleted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accounts: Option<Vec<Value>>,
}

/// The entries of `GET /peers`, which are most of an account: whoever asks what is in them, they are read once.
#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PeerList {
    entries: Vec<Entry>,
    #[serde(skip)]
    read: OnceLock<Arc<Peers>>,
}

impl PeerList {
    /// Returns the peers. Errors with the entry that cannot be read.
    pub fn read(&self) -> Result<Arc<Peers>, (&Entry, serde_json::Error)> {
        if let Some(peers) = self.read.get() {
            return Ok(peers.clone());
        }
        let mut by_id = BTreeMap::new();
        for entry in &self.entries {
            let mut peer: wire::Peer = entry.read().map_err(|cause| (entry, cause))?;
            peer.answer = Some(entry.clone());
            by_id.insert(peer.id.clone(), peer);
        }
        let mut by_name: HashMap<String, Vec<Id>> = HashMap::new();
        for peer in by_id.values() {
            match by_name.get_mut(&peer.name) {
                Some(ids) => ids.push(peer.id.clone()),
                None => drop(by_name.insert(peer.name.clone(), vec![peer.id.clone()])),
            }
        }
        Ok(self
            .read
            .get_or_init(|| Arc::new(Peers { by_id, by_name }))
            .clone())
    }
}

impl From<Vec<Entry>> for PeerList {
    fn from(entries: Vec<Entry>) -> Self {
        PeerList {
            entries,
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
#[derive(Debug, Default)]
pub struct Peers {
    by_id: BTreeMap<Id, wire::Peer>,
    by_name: HashMap<String, Vec<Id>>,
}

impl Peers {
    /// Returns the peers of that name, the oldest first.
    pub fn named(&self, name: &str) -> impl Iterator<Item = &wire::Peer> {
        let ids = self.by_name.get(name).into_iter().flatten();
        ids.filter_map(|id| self.by_id.get(id))
    }
}

impl Deref for Peers {
    type Target = BTreeMap<Id, wire::Peer>;

    fn deref(&self) -> &Self::Target {
        &self.by_id
    }
}
