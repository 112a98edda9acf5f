//! What a policy is about: what happens to which traffic.

use std::fmt;

use serde::{Deserializer, Serializer};

use crate::model::kind::prelude::*;

/// What happens to matching traffic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Action {
    /// Let through.
    Accept,
    /// Drop.
    Drop,
}

/// Protocols that the server knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
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

impl Word for Action {
    const WHAT: &'static str = "action";
    const WORDS: &'static [(&'static str, Action)] =
        &[("accept", Action::Accept), ("drop", Action::Drop)];
    const INSTEAD: &'static [(&'static [&'static str], &'static str)] = &[
        (&["allow", "permit"], "write \"accept\""),
        (&["deny", "block", "reject"], "write \"drop\""),
    ];
}

impl Word for Protocol {
    const WHAT: &'static str = "protocol";
    const WORDS: &'static [(&'static str, Protocol)] = &[
        ("all", Protocol::All),
        ("tcp", Protocol::Tcp),
        ("udp", Protocol::Udp),
        ("icmp", Protocol::Icmp),
        ("netbird-ssh", Protocol::NetbirdSsh),
    ];
    const SEVERAL: &'static str = "make two policies, one a protocol";
    const INSTEAD: &'static [(&'static [&'static str], &'static str)] = &[
        (&["any", "*", ""], "all of them are \"all\""),
        (
            &["ssh"],
            "write \"tcp\" with \"ports\": [22]; \"netbird-ssh\" is NetBird's own server of SSH",
        ),
        (&["http", "https"], "write \"tcp\" with its \"ports\""),
    ];
    const IS_ANY_CASE: bool = true;
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

impl PortRange {
    /// These ports, both included.
    pub(crate) fn new(start: u16, end: u16) -> Self {
        PortRange { start, end }
    }
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

/// Reads single ports, which are texts that the server keeps as sent (`080`); it refuses what is not a port.
pub(super) fn single<'de, D: Deserializer<'de>>(
    from: D,
) -> Result<Option<BTreeSet<PortRange>>, D::Error> {
    let ports: Vec<String> = nullable(from)?;
    let ports = ports.iter().filter_map(|port| port.trim().parse().ok());
    Ok(Some(ports.map(|port| PortRange::new(port, port)).collect()))
}
