//! Nameserver groups: who asks which name servers for which domains (netbird-api.md §8).

use std::collections::BTreeSet;

use serde::Serialize;
use serde_json::{Value, json};

use super::{Groups, Live, Resource, Unresolved, base_of, put};
use crate::entry::Entry;
use crate::spelling;
use crate::wire;

/// A nameserver group in canonical form. `None` = not ours.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct NameserverGroup {
    /// Text for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// 1 to 3 servers, in canonical text; clients ask the first one first.
    pub nameservers: Vec<Nameserver>,
    /// Groups whose peers ask them; never empty.
    pub groups: BTreeSet<String>,
    /// Whether they answer for everything; exactly where `domains` is empty.
    pub primary: bool,
    /// Domains they answer for, as written; in that order clients search them.
    pub domains: Vec<String>,
    /// Whether the domains are search domains too. Creation takes false.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub search_domains_enabled: Option<bool>,
    /// Creation takes true.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
}

/// One name server; always asked by UDP.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Nameserver {
    /// IPv4 or IPv6 address in canonical text, without brackets.
    pub ip: String,
    /// 1 to 65535.
    pub port: u16,
}

/// Reads an entry of `GET /dns/nameservers`.
pub(super) fn read(wire: Entry, groups: &Groups) -> Result<Live, serde_json::Error> {
    let group: wire::NameserverGroup = wire.read()?;
    // the server does not check ports: 0 stands for one that does not fit, and is a difference to any declared one
    let server = |server: wire::Nameserver| Nameserver {
        ip: server.ip,
        port: u16::try_from(server.port).unwrap_or(0),
    };
    let canonical = NameserverGroup {
        description: Some(group.description),
        nameservers: first_ones(group.nameservers.into_iter().map(server)),
        groups: groups.read(&group.groups),
        primary: group.primary,
        domains: group.domains,
        search_domains_enabled: Some(group.search_domains_enabled),
        enabled: Some(group.enabled),
    };
    let resource = Resource::NameserverGroup(canonical);
    Ok(Live {
        id: group.id,
        name: group.name,
        resource,
        wire,
    })
}

/// A server that is listed twice is asked where it stands first.
fn first_ones(servers: impl Iterator<Item = Nameserver>) -> Vec<Nameserver> {
    let mut kept = Vec::new();
    for server in servers {
        if !kept.contains(&server) {
            kept.push(server);
        }
    }
    kept
}

impl NameserverGroup {
    /// Returns whether both have the same domains, however they are spelled, and in the same order where they are searched.
    pub(super) fn same_domains(&self, live: &NameserverGroup) -> bool {
        let spelled = |group: &NameserverGroup| -> Vec<String> {
            group
                .domains
                .iter()
                .map(|domain| spelling::domain(domain))
                .collect()
        };
        let (mut ours, mut theirs) = (spelled(self), spelled(live));
        let searched = self.search_domains_enabled.or(live.search_domains_enabled);
        if searched != Some(true) {
            for domains in [&mut ours, &mut theirs] {
                domains.sort();
                domains.dedup();
            }
        }
        ours == theirs
    }

    pub(super) fn request(
        &self,
        name: &str,
        live: Option<&Value>,
        groups: &Groups,
    ) -> Result<Value, Unresolved> {
        let mut body = base_of(live, &["id"]);
        body.insert("name".into(), json!(name));
        let server =
            |server: &Nameserver| json!({ "ip": server.ip, "ns_type": "udp", "port": server.port });
        body.insert(
            "nameservers".into(),
            self.nameservers.iter().map(server).collect(),
        );
        body.insert("groups".into(), groups.resolve(&self.groups)?);
        body.insert("primary".into(), json!(self.primary));
        body.insert("domains".into(), json!(self.domains));
        put(&mut body, "description", self.description.as_deref(), "");
        put(
            &mut body,
            "search_domains_enabled",
            self.search_domains_enabled,
            false,
        );
        put(&mut body, "enabled", self.enabled, true);
        Ok(Value::Object(body))
    }
}
