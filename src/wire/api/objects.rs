//! NetBird's objects as its API answers them, with the fields that we read.
//!
//! Lenient on purpose: null, `[]` and absent mean the same (docs/netbird-api.md, "Null, empty and absent"), and fields
//! of a later version are ignored here; they survive an update because `Live` keeps the whole answer.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde::{Deserialize, Deserializer, Serialize};

use super::Entry;
use crate::base::Id;

/// Reads null as the default.
pub(crate) fn nullable<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(
    deserializer: D,
) -> Result<T, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

/// Reads ids: of a list of ids, of a list of objects, or of null.
pub(crate) fn ids<'de, D: Deserializer<'de>, T: From<BTreeSet<String>>>(
    deserializer: D,
) -> Result<T, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Named {
        Id(String),
        Object { id: String },
    }
    let list: Vec<Named> = nullable(deserializer)?;
    let id = |one| match one {
        Named::Id(id) | Named::Object { id } => id,
    };
    Ok(list.into_iter().map(id).collect::<BTreeSet<_>>().into())
}

/// Reads a time; year 1, Go's zero time, means never.
pub(crate) fn moment<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Timestamp>, D::Error> {
    /// The answer's own text, where it has no escapes.
    #[derive(Deserialize)]
    struct Text<'t>(#[serde(borrow)] Cow<'t, str>);

    let text: Option<Text> = Option::deserialize(deserializer)?;
    let Some(Text(text)) = text.filter(|text| !text.0.is_empty()) else {
        return Ok(None);
    };
    let time: Timestamp = text.parse().map_err(serde::de::Error::custom)?;
    // 0001-01-01 is some 62 billion seconds before 1970; nothing real is.
    Ok((time.as_second() > -60_000_000_000).then_some(time))
}

/// An object that is embedded in another. Its name is that of the list of its kind.
#[derive(Debug, Clone, Deserialize)]
pub struct Reference {
    /// Id of the embedded object.
    pub id: Id,
}

/// An entry of `GET /groups`, without its members.
#[derive(Debug, Clone, Deserialize)]
pub struct Group {
    /// Id.
    pub id: Id,
    /// Unique but for renames.
    pub name: String,
    /// `api`, `jwt` or `integration`.
    #[serde(default, deserialize_with = "nullable")]
    pub issued: String,
    /// Network resources linked to the group.
    #[serde(default, deserialize_with = "nullable")]
    pub resources: Vec<ResourceReference>,
}

/// A network resource or peer, as policies and groups name it.
#[derive(Debug, Clone, Deserialize)]
pub struct ResourceReference {
    /// Id of the resource.
    pub id: String,
    /// `host`, `subnet`, `domain` or `peer`.
    #[serde(rename = "type", default)]
    pub kind: String,
}

/// What a setup key can be used for, in the word that the file has, too.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum KeyType {
    /// Enrolls one peer.
    #[default]
    OneOff,
    /// Enrolls peers up to its usage limit.
    Reusable,
}

/// An entry of `GET /setup-keys`.
#[derive(Debug, Clone, Deserialize)]
pub struct SetupKey {
    /// Id.
    pub id: Id,
    /// Not unique.
    pub name: String,
    /// One peer or many.
    #[serde(rename = "type")]
    pub key_type: KeyType,
    /// `None` = never.
    #[serde(default, deserialize_with = "moment")]
    pub expires: Option<Timestamp>,
    /// Not revoked, not expired, not used up.
    pub valid: bool,
    /// Peers enrolled so far.
    #[serde(default)]
    pub used_times: i64,
    /// Last enrollment; `None` = never used.
    #[serde(default, deserialize_with = "moment")]
    pub last_used: Option<Timestamp>,
    /// `valid`, `expired`, `revoked` or `overused`.
    #[serde(default)]
    pub state: String,
    /// Ids of groups.
    #[serde(default, deserialize_with = "nullable")]
    pub auto_groups: Vec<Id>,
    /// Creation, or the last change by the API; enrollments do not move it.
    #[serde(default, deserialize_with = "moment")]
    pub updated_at: Option<Timestamp>,
    /// 0 = without limit.
    #[serde(default)]
    pub usage_limit: i64,
    /// The server forgets its peers soon after they disconnect.
    #[serde(default)]
    pub ephemeral: bool,
    /// Its peers may bring DNS labels of their own.
    #[serde(default)]
    pub allow_extra_dns_labels: bool,
}

impl SetupKey {
    /// Returns whether it enrolls one machine: a reusable key with a limit of 1 does the same as a one-off key, unless the
    /// server forgets its machine.
    pub fn is_for_one(&self) -> bool {
        let is_limited = self.usage_limit == 1 && !self.ephemeral;
        self.key_type == KeyType::OneOff || is_limited
    }

    /// Returns whether its use is an enrollment: one machine, for good.
    pub fn is_for_one_peer(&self) -> bool {
        self.is_for_one() && !self.ephemeral
    }
}

/// An entry of `GET /peers`.
#[derive(Debug, Clone, Deserialize)]
pub struct Peer {
    /// Id.
    pub id: Id,
    /// Display name; at first the hostname. Chosen by the client, not unique.
    pub name: String,
    /// Owner of an SSO peer, empty for a peer of a setup key.
    #[serde(default, deserialize_with = "nullable")]
    pub user_id: String,
    /// FQDN.
    #[serde(default, deserialize_with = "nullable")]
    pub dns_label: String,
    /// IPv4 address in the VPN.
    #[serde(default, deserialize_with = "nullable")]
    pub ip: String,
    /// IPv6 address in the VPN; empty where it has none.
    #[serde(default, deserialize_with = "nullable")]
    pub ipv6: String,
    /// When it enrolled.
    #[serde(default, deserialize_with = "moment")]
    pub created_at: Option<Timestamp>,
    /// Gone soon after it disconnects.
    #[serde(default)]
    pub ephemeral: bool,
    /// NetBird's SSH server is on.
    #[serde(default)]
    pub ssh_enabled: bool,
    /// Waits until somebody lets it in; on NetBird's cloud only.
    #[serde(default)]
    pub approval_required: bool,
    /// All of it: a rename sends back what we do not read.
    #[serde(skip)]
    pub answer: Option<Entry>,
}

impl Peer {
    /// Returns its address in the VPN, or that of IPv6; none where it has none.
    pub fn address(&self, is_v6: bool) -> Option<&str> {
        let address = if is_v6 { &self.ipv6 } else { &self.ip };
        Some(address.as_str()).filter(|address| !address.is_empty())
    }
}

/// What of an entry of `GET /peers` tells whether the machine lives; of most nobody asks.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct LastSeen {
    /// Holds a connection to the management server.
    #[serde(default)]
    pub connected: bool,
    /// When it last did; of one that never did, when it enrolled.
    #[serde(default, deserialize_with = "moment")]
    pub last_seen: Option<Timestamp>,
}

/// An entry of `GET /users`.
#[derive(Debug, Clone, Deserialize)]
pub struct User {
    /// Id: a UUID for service users, the identity provider's otherwise.
    pub id: String,
    /// Name.
    #[serde(default, deserialize_with = "nullable")]
    pub name: String,
    /// `owner`, `admin`, `network_admin`, `auditor`, `user` or one we do not know.
    #[serde(default, deserialize_with = "nullable")]
    pub role: String,
    /// The token's own user.
    #[serde(default)]
    pub is_current: bool,
    /// No person.
    #[serde(default)]
    pub is_service_user: bool,
    /// The address of a person.
    #[serde(default, deserialize_with = "nullable")]
    pub email: String,
    /// A person whom nobody let in yet.
    #[serde(default)]
    pub pending_approval: bool,
    /// Groups that its peers join; they keep a group from being deleted.
    #[serde(default, deserialize_with = "nullable")]
    pub auto_groups: Vec<Id>,
}

impl User {
    /// Returns whether it is a person whom an entry of the file can name.
    pub fn has_address(&self) -> bool {
        !self.is_service_user && !self.email.is_empty()
    }
}

/// An entry of `GET /users/ID/tokens`: never the token itself.
#[derive(Debug, Clone, Deserialize)]
pub struct UserToken {
    /// What somebody called it.
    #[serde(default, deserialize_with = "nullable")]
    pub name: String,
    /// When it ends.
    #[serde(default, deserialize_with = "moment")]
    pub expiration_date: Option<Timestamp>,
    /// When it was used last.
    #[serde(default, deserialize_with = "moment")]
    pub last_used: Option<Timestamp>,
}

/// An entry of `GET /events`, with the fields that enrollments and races need.
#[derive(Debug, Clone, Deserialize)]
pub struct Event {
    /// A sequence number, not in the order of time.
    #[serde(default, deserialize_with = "nullable")]
    pub id: String,
    /// The server's clock.
    #[serde(default, deserialize_with = "moment")]
    pub timestamp: Option<Timestamp>,
    /// An open set of words.
    #[serde(default, deserialize_with = "nullable")]
    pub activity_code: String,
    /// Who did it: a user, or the setup key of an enrollment.
    #[serde(default, deserialize_with = "nullable")]
    pub initiator_id: String,
    /// A user's name; empty for setup keys.
    #[serde(default, deserialize_with = "nullable")]
    pub initiator_name: String,
    /// A person's mail address.
    #[serde(default, deserialize_with = "nullable")]
    pub initiator_email: String,
    /// What it was done to.
    #[serde(default, deserialize_with = "nullable")]
    pub target_id: String,
    /// Texts only.
    #[serde(default, deserialize_with = "nullable")]
    pub meta: BTreeMap<String, serde_json::Value>,
}

impl Event {
    /// Returns a text of `meta`.
    pub fn meta(&self, key: &str) -> Option<&str> {
        self.meta.get(key)?.as_str()
    }
}
