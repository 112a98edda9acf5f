//! Nameserver groups: who asks which name servers for which domains (netbird-api.md §8).

use std::collections::BTreeSet;

use serde::Serialize;

/// A nameserver group in canonical form. `None` = not ours.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct NameserverGroup {
    /// Text for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// 1 to 3 servers, in canonical text.
    pub nameservers: BTreeSet<Nameserver>,
    /// Groups whose peers ask them; never empty.
    pub groups: BTreeSet<String>,
    /// Whether they answer for everything; exactly where `domains` is empty.
    pub primary: bool,
    /// Domains they answer for, as written.
    pub domains: BTreeSet<String>,
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
