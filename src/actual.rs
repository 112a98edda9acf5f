//! Actual state: a snapshot read into canonical form, with what the stages after it look up.

use std::collections::{BTreeMap, BTreeSet};

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::enrollment::{self, Bindings};
use crate::resource::{self, Groups, Live, Resource};
use crate::snapshot::Snapshot;
use crate::state::{Address, Id, Kind};
use crate::wire;

/// The live account.
#[derive(Debug, Clone, Default)]
pub struct Actual {
    /// Every object of the kinds that a file can declare; namesakes by id, which is by age.
    pub objects: BTreeMap<Address, Vec<Live>>,
    /// Names and ids of the groups.
    pub groups: Groups,
    /// Groups that nobody may touch: `All` and what an identity provider issued.
    pub protected_groups: BTreeMap<Id, String>,
    /// Peers by id.
    pub peers: BTreeMap<Id, wire::Peer>,
    /// The same as they were answered: a rename echoes fields that we do not read.
    pub peer_answers: BTreeMap<Id, Value>,
    /// Setup keys by id.
    pub keys: BTreeMap<Id, wire::SetupKey>,
    /// Which peer came by which key.
    pub bindings: Bindings,
    /// Whether the event log was read.
    pub events_known: bool,
    /// Ids of the events that were read.
    pub event_ids: BTreeSet<String>,
    /// The token's own user, where the server tells.
    pub me: Option<wire::User>,
    /// Who else keeps a group from being deleted, by group id, in words.
    pub foreign_referrers: BTreeMap<Id, BTreeSet<String>>,
    /// Network routers that keep a peer from being deleted, by peer, in words.
    pub peer_routers: BTreeMap<Id, BTreeSet<String>>,
}

/// An answer that is not of the form that we read.
#[derive(Debug)]
pub struct Unreadable {
    /// The list.
    pub list: &'static str,
    /// Which entry of it: position and id, if any.
    pub entry: String,
    /// What is wrong.
    pub cause: serde_json::Error,
}

impl std::fmt::Display for Unreadable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // the cause may quote a value of the entry; lists carry no secrets, keys are masked by the server
        write!(
            f,
            "{}: {} cannot be read: {}",
            self.list, self.entry, self.cause
        )
    }
}

impl std::error::Error for Unreadable {}

impl Actual {
    /// Returns a peer as an object that a change can be about.
    pub fn live_peer(&self, peer: &wire::Peer) -> Live {
        Live {
            id: peer.id.clone(),
            name: peer.name.clone(),
            resource: Resource::Peer(resource::Peer {
                name: peer.name.clone(),
            }),
            wire: self.peer_answers.get(&peer.id).cloned().unwrap_or_default(),
        }
    }

    /// Reads a snapshot.
    pub fn read(snapshot: &Snapshot) -> Result<Self, Unreadable> {
        let mut actual = Actual::default();
        for group in typed::<wire::Group>("groups", &snapshot.groups)? {
            if group.name == crate::resource::ALL {
                actual
                    .protected_groups
                    .insert(group.id.clone(), "holds every peer".into());
            } else if group.issued == "jwt" || group.issued == "integration" {
                let why = format!("issued by {}", group.issued);
                actual.protected_groups.insert(group.id.clone(), why);
            }
            for resource in &group.resources {
                actual.refer(&group.id, format!("network resource {}", resource.id));
            }
            actual.groups.insert(group.id, group.name);
        }
        let peers = typed::<wire::Peer>("peers", &snapshot.peers)?;
        let answers = peers.iter().zip(&snapshot.peers);
        actual.peer_answers = answers
            .map(|(peer, answer)| (peer.id.clone(), answer.clone()))
            .collect();
        actual.peers = peers
            .into_iter()
            .map(|peer| (peer.id.clone(), peer))
            .collect();
        let keys = typed::<wire::SetupKey>("setup_keys", &snapshot.setup_keys)?;
        let events = match &snapshot.events {
            Some(events) => Some(typed::<wire::Event>("events", events)?),
            None => None,
        };
        actual.events_known = events.is_some();
        let ids = events.iter().flatten().map(|event| event.id.clone());
        actual.event_ids = ids.collect();
        actual.bindings = enrollment::bind(&keys, &actual.peers, events.as_deref());
        actual.keys = keys.into_iter().map(|key| (key.id.clone(), key)).collect();
        actual.read_referrers(snapshot)?;

        for (kind, list, entries) in [
            (Kind::Group, "groups", &snapshot.groups),
            (Kind::SetupKey, "setup_keys", &snapshot.setup_keys),
            (Kind::Policy, "policies", &snapshot.policies),
            (Kind::Route, "routes", &snapshot.routes),
            (
                Kind::NameserverGroup,
                "nameserver_groups",
                &snapshot.nameserver_groups,
            ),
        ] {
            for entry in entries {
                let live = Resource::read(kind, entry.clone(), &actual.groups)
                    .map_err(|cause| unreadable(list, entry, cause))?;
                let address = Address::new(kind, live.name.clone());
                actual.objects.entry(address).or_default().push(live);
            }
        }
        for namesakes in actual.objects.values_mut() {
            namesakes.sort_by(|a, b| a.id.cmp(&b.id));
        }
        Ok(actual)
    }

    fn read_referrers(&mut self, snapshot: &Snapshot) -> Result<(), Unreadable> {
        for user in typed::<wire::User>("users", &snapshot.users)? {
            for group in &user.auto_groups {
                self.refer(group, format!("user {}", user.name));
            }
            if user.is_current {
                self.me = Some(user);
            }
        }
        for router in typed::<wire::Router>("routers", &snapshot.routers)? {
            if !router.peer.is_empty() {
                let routers = self
                    .peer_routers
                    .entry(Id(router.peer.clone()))
                    .or_default();
                routers.insert(format!("network router {}", router.id));
            }
            for group in &router.peer_groups {
                self.refer(group, format!("network router {}", router.id));
            }
        }
        for zone in typed::<wire::Zone>("zones", &snapshot.zones)? {
            // the server would let the group go and refuse the zone's next change
            for group in &zone.distribution_groups {
                self.refer(group, format!("DNS zone {}", zone.name));
            }
        }
        if !snapshot.dns_settings.is_null() {
            let settings: wire::DnsSettings = serde_json::from_value(snapshot.dns_settings.clone())
                .map_err(|cause| unreadable("dns_settings", &snapshot.dns_settings, cause))?;
            for group in &settings.disabled_management_groups {
                self.refer(
                    group,
                    "the DNS settings (disabled management groups)".into(),
                );
            }
        }
        Ok(())
    }

    fn refer(&mut self, group: &Id, referrer: String) {
        self.foreign_referrers
            .entry(group.clone())
            .or_default()
            .insert(referrer);
    }

    /// Returns the live objects of that kind and name, the oldest first.
    pub fn named(&self, kind: Kind, name: &str) -> &[Live] {
        self.objects
            .get(&Address::new(kind, name))
            .map(Vec::as_slice)
            .unwrap_or_default()
    }

    /// Returns the peers of that name.
    pub fn peers_named<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a wire::Peer> {
        self.peers.values().filter(move |peer| peer.name == name)
    }

    /// Returns the setup keys of that name, the oldest first.
    pub fn keys_named<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a wire::SetupKey> {
        self.keys.values().filter(move |key| key.name == name)
    }

    /// Returns a peer's name for people; its id behind it where another peer bears the same.
    pub fn peer_label(&self, id: &Id) -> String {
        match self.peers.get(id) {
            Some(peer) if self.peers_named(&peer.name).count() > 1 => {
                format!("{} ({id})", peer.name)
            }
            Some(peer) => peer.name.clone(),
            None => format!("(deleted peer {id})"),
        }
    }
}

/// Returns the entries of a list with their types.
fn typed<T: DeserializeOwned>(list: &'static str, entries: &[Value]) -> Result<Vec<T>, Unreadable> {
    let read = |entry: &Value| {
        serde_json::from_value(entry.clone()).map_err(|cause| unreadable(list, entry, cause))
    };
    entries.iter().map(read).collect()
}

fn unreadable(list: &'static str, entry: &Value, cause: serde_json::Error) -> Unreadable {
    let id = entry
        .get("id")
        .and_then(Value::as_str)
        .unwrap_or("without an id");
    Unreadable {
        list,
        entry: format!("entry {id}"),
        cause,
    }
}
