//! Routes: a network, or domains, reached through the peers of groups (netbird-api.md §7).

use std::collections::BTreeSet;

use serde::Serialize;

/// A route in canonical form. `None` = not ours.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Route {
    /// Text for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// A masked network such as `192.168.1.0/24`; exactly one of this and `domains` is set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network: Option<String>,
    /// 1 to 32 domains, lower case and Unicode as the server renders them; `*.` may begin one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub domains: Option<BTreeSet<String>>,
    /// Groups whose peers route.
    pub peer_groups: BTreeSet<String>,
    /// Groups that get the route. Creation takes All.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub groups: Option<BTreeSet<String>>,
    /// Groups whose policies guard what is behind the route.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub access_control_groups: Option<BTreeSet<String>>,
    /// Priority among equal routes, 1 to 9999, the lowest wins. Creation takes 9999.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metric: Option<i64>,
    /// Whether routed traffic bears the router's address. Creation takes true.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub masquerade: Option<bool>,
    /// Whether a domain route outlives a change of its addresses. Creation takes false.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keep_route: Option<bool>,
    /// Whether clients leave it off until somebody switches it on. Creation takes false.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skip_auto_apply: Option<bool>,
    /// Creation takes true.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
}
