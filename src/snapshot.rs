//! The live account as it was fetched: whole answers, list by list.
//!
//! The same value is read from a server (`fetch`) and from a file (`plan --live FILE`), so that a plan needs no server.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::entry::Entry;

/// Answers of the server's lists. A list that was not asked for is empty; `None` where the difference matters.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Snapshot {
    /// `GET /groups`
    pub groups: Vec<Entry>,
    /// `GET /setup-keys`; the secrets are masked by the server.
    pub setup_keys: Vec<Entry>,
    /// `GET /peers`
    pub peers: Vec<Entry>,
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
