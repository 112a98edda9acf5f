//! Setup keys: credentials that enroll peers (netbird-api.md §3). Their life cycle is in `keys`.

use std::collections::BTreeSet;

use serde::Serialize;
use serde_json::{Value, json};

use super::{Groups, Live, Resource, Unresolved};
use crate::desired::{KeyType, SealedFor};
use crate::entry::Entry;
use crate::wire;

/// A setup key in canonical form. `None` = not ours.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SetupKey {
    /// One peer or many.
    #[serde(rename = "type")]
    pub key_type: KeyType,
    /// Whether it expires at all: there is no way back from a live key to its life time.
    pub expires: bool,
    /// Life time in seconds from creation, 0 = for ever; 0 where the key is live.
    #[serde(skip)]
    pub expires_in_secs: i64,
    /// Peers it may enroll, 0 = without limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage_limit: Option<i64>,
    /// Groups that its peers join.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auto_groups: Option<BTreeSet<String>>,
    /// Whether the server forgets its peers soon after they disconnect.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ephemeral: Option<bool>,
    /// Whether its peers may bring DNS labels of their own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allow_extra_dns_labels: Option<bool>,
    /// Who opens its sealed secret. No server knows: it is no difference, and nothing of a live key.
    #[serde(skip)]
    pub sealed_for: SealedFor,
}

/// Reads an entry of `GET /setup-keys`.
pub(super) fn read(wire: Entry, groups: &Groups) -> Result<Live, serde_json::Error> {
    let key: wire::SetupKey = wire.read()?;
    let resource = Resource::SetupKey(SetupKey {
        key_type: key.key_type,
        expires: key.expires.is_some(),
        expires_in_secs: 0,
        // any number below 1 is no limit
        usage_limit: Some(key.usage_limit.max(0)),
        auto_groups: Some(groups.read(&key.auto_groups)),
        ephemeral: Some(key.ephemeral),
        allow_extra_dns_labels: Some(key.allow_extra_dns_labels),
        sealed_for: SealedFor::default(),
    });
    Ok(Live {
        id: key.id,
        name: key.name,
        resource,
        wire,
    })
}

impl SetupKey {
    /// Returns whether the field is one that a PUT can change; all others make a new key.
    pub fn can_change(field: &str) -> bool {
        field == "auto_groups"
    }

    /// A new key is made without groups: only what is sealed gets its groups (design §4). A PUT changes groups and
    /// must repeat `revoked`, since a key cannot be un-revoked.
    pub(super) fn request(
        &self,
        name: &str,
        live: Option<&Value>,
        groups: &Groups,
    ) -> Result<Value, Unresolved> {
        if let Some(live) = live {
            let auto_groups = match &self.auto_groups {
                Some(names) => groups.resolve(names)?,
                None => live["auto_groups"].clone(),
            };
            return Ok(json!({ "auto_groups": auto_groups, "revoked": live["revoked"] }));
        }
        Ok(json!({
            "name": name,
            "type": self.key_type,
            "expires_in": self.expires_in_secs,
            "usage_limit": self.usage_limit.unwrap_or(i64::from(self.key_type == KeyType::OneOff)),
            "auto_groups": [],
            "ephemeral": self.ephemeral.unwrap_or(false),
            "allow_extra_dns_labels": self.allow_extra_dns_labels.unwrap_or(false),
        }))
    }
}
