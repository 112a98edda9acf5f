//! Routes: a network, or domains, reached through the peers of groups (netbird-api.md §7).

use std::collections::BTreeSet;

use serde::Serialize;
use serde_json::{Value, json};

use super::{Groups, Live, Resource, Unresolved, base_of, put};
use crate::entry::Entry;
use crate::spelling;
use crate::state::Id;
use crate::wire;

/// A route in canonical form. `None` = not ours.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Route {
    /// Text for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// A masked network such as `192.168.1.0/24`; exactly one of this and `domains` is set.
    pub network: Option<String>,
    /// 1 to 32 domains, lower case and Unicode as the server renders them; `*.` may begin one.
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
    /// Id of a single router in the place of `peer_groups`; the file cannot say one.
    pub peer: Option<Id>,
}

/// Reads an entry of `GET /routes`.
pub(super) fn read(wire: Entry, groups: &Groups) -> Result<Live, serde_json::Error> {
    let route: wire::Route = wire.read()?;
    // a domain route comes with a placeholder network, so the type decides (netbird-api.md §7)
    let by_domain = route.network_type == "Domain";
    let canonical = Route {
        description: Some(route.description),
        network: (!by_domain).then_some(route.network),
        domains: by_domain.then(|| {
            let domains = route.domains.iter();
            domains.map(|domain| spelling::domain(domain)).collect()
        }),
        peer_groups: groups.read(&route.peer_groups),
        groups: Some(groups.read(&route.groups)),
        access_control_groups: Some(groups.read(&route.access_control_groups)),
        metric: Some(route.metric),
        masquerade: Some(route.masquerade),
        keep_route: Some(route.keep_route),
        skip_auto_apply: Some(route.skip_auto_apply),
        enabled: Some(route.enabled),
        peer: (!route.peer.is_empty()).then_some(Id(route.peer)),
    };
    Ok(Live {
        id: route.id,
        name: route.network_id,
        resource: Resource::Route(canonical),
        wire,
    })
}

impl Route {
    pub(super) fn request(
        &self,
        name: &str,
        live: Option<&Value>,
        groups: &Groups,
    ) -> Result<Value, Unresolved> {
        // of network and domains, and of peer and peer_groups, the other one must be absent: presence is what counts
        let mut body = base_of(live, &["id", "network_type", "network", "domains", "peer"]);
        body.insert("network_id".into(), json!(name));
        if let Some(network) = &self.network {
            body.insert("network".into(), json!(network));
        } else {
            body.insert("domains".into(), json!(self.domains));
        }
        body.insert("peer_groups".into(), groups.resolve(&self.peer_groups)?);
        let everyone = BTreeSet::from([super::ALL.to_owned()]);
        match &self.groups {
            Some(names) => body.insert("groups".into(), groups.resolve(names)?),
            None if live.is_none() => body.insert("groups".into(), groups.resolve(&everyone)?),
            None => None,
        };
        if let Some(names) = &self.access_control_groups {
            body.insert("access_control_groups".into(), groups.resolve(names)?);
        }
        put(
            &mut body,
            "access_control_groups",
            None,
            Vec::<String>::new(),
        );
        put(&mut body, "description", self.description.as_deref(), "");
        put(&mut body, "metric", self.metric, 9999);
        put(&mut body, "masquerade", self.masquerade, true);
        put(&mut body, "keep_route", self.keep_route, false);
        put(&mut body, "skip_auto_apply", self.skip_auto_apply, false);
        put(&mut body, "enabled", self.enabled, true);
        Ok(Value::Object(body))
    }

    /// Returns whether both are about the same network, or the same domains.
    pub fn same_prefix(&self, other: &Route) -> bool {
        self.network == other.network && self.domains == other.domains
    }
}
