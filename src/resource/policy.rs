//! Policies: one firewall rule between groups (netbird-api.md §5).

use std::collections::BTreeSet;
use std::fmt;

use serde::{Serialize, Serializer};

/// A policy in canonical form. `None` = not ours.
///
/// NetBird keeps one rule per policy, whatever is sent; so a policy here is its rule.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Policy {
    /// Text for people; the policy's own, not its rule's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Whether it is enforced. Creation takes true.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    /// Accept or drop. Creation takes accept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub action: Option<Action>,
    /// Whether destinations may also open connections to sources. Creation takes true.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bidirectional: Option<bool>,
    /// Creation takes all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protocol: Option<Protocol>,
    /// Ports of tcp and udp; empty = all ports.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ports: Option<BTreeSet<PortRange>>,
    /// Names of groups; never empty in a valid file.
    pub sources: BTreeSet<String>,
    /// Names of groups; never empty in a valid file.
    pub destinations: BTreeSet<String>,
}

/// What happens to matching traffic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Action {
    /// Let through.
    Accept,
    /// Drop.
    Drop,
}

/// Protocols that the server knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Protocol {
    /// Everything.
    All,
    /// TCP, with or without ports.
    Tcp,
    /// UDP, with or without ports.
    Udp,
    /// ICMP.
    Icmp,
    /// NetBird's own SSH.
    NetbirdSsh,
}

impl Protocol {
    /// Returns whether a rule of it may name ports.
    pub fn takes_ports(self) -> bool {
        !matches!(self, Protocol::All | Protocol::Icmp)
    }
}

/// Ports `start` to `end`, both included, 1 to 65535; one port where they are equal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct PortRange {
    /// First port.
    pub start: u16,
    /// Last port.
    pub end: u16,
}

impl fmt::Display for PortRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.start == self.end {
            write!(f, "{}", self.start)
        } else {
            write!(f, "{}-{}", self.start, self.end)
        }
    }
}

impl Serialize for PortRange {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
