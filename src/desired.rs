//! Desired state: what a valid netbird.json asks for, in plain types.
//!
//! `validate` makes it, `resolve` turns it into resources that compare with live ones. An optional field that the file
//! does not name is `None`: not ours, so there is no difference and the live value is sent back.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use crate::resource::{NameserverGroup, Policy, Route};
use crate::state::{Address, Kind};

/// A valid file. A section that the file does not have is `None`: not managed.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Desired {
    /// Section `groups`.
    pub groups: Option<BTreeMap<String, Group>>,
    /// Section `setup_keys`.
    pub setup_keys: Option<BTreeMap<String, SetupKey>>,
    /// Section `policies`.
    pub policies: Option<BTreeMap<String, Policy>>,
    /// Section `routes`.
    pub routes: Option<BTreeMap<String, Route>>,
    /// Section `dns.nameserver_groups`.
    pub nameserver_groups: Option<BTreeMap<String, NameserverGroup>>,
    /// Old name of an entry that was renamed (`renamed_from`), by kind and new name.
    pub renamed_from: BTreeMap<(Kind, String), String>,
}

/// A declared group.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Group {
    /// Names of setup keys and of live peers; `None` leaves the members alone.
    pub peers: Option<BTreeSet<String>>,
}

/// What a setup key can be used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum KeyType {
    /// Enrolls one peer.
    OneOff,
    /// Enrolls peers up to its usage limit.
    Reusable,
}

/// A declared setup key.
#[derive(Debug, Clone, PartialEq)]
pub struct SetupKey {
    /// One peer or many.
    pub key_type: KeyType,
    /// Life time in seconds from creation, 0 = for ever; at most 9,223,372,036.
    pub expires_in_secs: i64,
    /// Peers it may enroll, 0 = without limit. Creation takes 1 for a one-off key and 0 for a reusable one.
    pub usage_limit: Option<i64>,
    /// Groups that its peers join at enrollment. Creation takes none.
    pub auto_groups: Option<BTreeSet<String>>,
    /// Whether the server forgets its peers soon after they disconnect. Creation takes false.
    pub ephemeral: Option<bool>,
    /// Whether its peers may bring DNS labels of their own. Creation takes false.
    pub allow_extra_dns_labels: Option<bool>,
    /// The key did its work: it is never made again.
    pub enrolled: bool,
    /// A live key created before that instant counts as absent.
    pub reissue_after: Option<Timestamp>,
    /// Who opens it, beside those that the run seals every key for.
    pub sealed_for: SealedFor,
}

/// Who opens the sealed secret of one key, beside those that the run seals every key for, or instead of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SealedFor {
    /// Public keys of age or SSH as they are written, and what people are shown of them.
    pub keys: BTreeMap<String, String>,
    /// Nobody else opens it.
    pub only: bool,
}

impl SetupKey {
    /// Returns the instant from which on a new key is asked for, where it has come.
    pub fn asked_anew(&self, now: Timestamp) -> Option<Timestamp> {
        self.reissue_after.filter(|instant| *instant <= now)
    }
}

impl Desired {
    /// Returns whether the file manages that kind.
    pub fn manages(&self, kind: Kind) -> bool {
        match kind {
            Kind::Group => self.groups.is_some(),
            Kind::SetupKey => self.setup_keys.is_some(),
            Kind::Peer => false,
            Kind::Policy => self.policies.is_some(),
            Kind::Route => self.routes.is_some(),
            Kind::NameserverGroup => self.nameserver_groups.is_some(),
        }
    }

    /// Returns whether the file has that entry.
    pub fn declares(&self, address: &Address) -> bool {
        let name = &address.name;
        let has = |is_there: Option<bool>| is_there.unwrap_or(false);
        match address.kind {
            Kind::Group => has(self.groups.as_ref().map(|all| all.contains_key(name))),
            Kind::SetupKey => has(self.setup_keys.as_ref().map(|all| all.contains_key(name))),
            Kind::Peer => false,
            Kind::Policy => has(self.policies.as_ref().map(|all| all.contains_key(name))),
            Kind::Route => has(self.routes.as_ref().map(|all| all.contains_key(name))),
            Kind::NameserverGroup => has(self
                .nameserver_groups
                .as_ref()
                .map(|all| all.contains_key(name))),
        }
    }

    /// Returns the declared groups; none where the section is missing.
    pub fn groups(&self) -> impl Iterator<Item = (&String, &Group)> {
        self.groups.iter().flatten()
    }

    /// Returns the declared setup keys; none where the section is missing.
    pub fn setup_keys(&self) -> impl Iterator<Item = (&String, &SetupKey)> {
        self.setup_keys.iter().flatten()
    }

    /// Returns the declared setup key of that name.
    pub fn setup_key(&self, name: &str) -> Option<&SetupKey> {
        self.setup_keys.as_ref()?.get(name)
    }
}
