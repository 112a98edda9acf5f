//! Names and ids of objects: the words in which desired and actual state speak of the same thing.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The kinds of objects, in dependency order: a kind refers only to kinds above it.
///
/// The order is that of creation; deletions run in reverse. `Peer` stands for operations on enrolled machines; peers
/// are never declared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// A set of peers (and network resources) that everything else refers to.
    Group,
    /// A credential that enrolls peers into groups.
    SetupKey,
    /// An enrolled machine.
    Peer,
    /// A firewall rule between groups.
    Policy,
    /// A network or a list of domains reached through peers.
    Route,
    /// Name servers for groups.
    NameserverGroup,
}

impl Kind {
    /// Every kind, in dependency order.
    pub const ALL: [Kind; 6] = [
        Kind::Group,
        Kind::SetupKey,
        Kind::Peer,
        Kind::Policy,
        Kind::Route,
        Kind::NameserverGroup,
    ];

    /// What people call one of it.
    pub fn label(self) -> &'static str {
        match self {
            Kind::Group => "group",
            Kind::SetupKey => "setup key",
            Kind::Peer => "peer",
            Kind::Policy => "policy",
            Kind::Route => "route",
            Kind::NameserverGroup => "nameserver group",
        }
    }

    /// What people call several of it.
    pub fn plural(self) -> &'static str {
        match self {
            Kind::Group => "groups",
            Kind::SetupKey => "setup keys",
            Kind::Peer => "peers",
            Kind::Policy => "policies",
            Kind::Route => "routes",
            Kind::NameserverGroup => "nameserver groups",
        }
    }

    /// The word of operation types in JSON, as in `create_group`.
    pub fn word(self) -> &'static str {
        match self {
            Kind::Group => "group",
            Kind::SetupKey => "setup_key",
            Kind::Peer => "peer",
            Kind::Policy => "policy",
            Kind::Route => "route",
            Kind::NameserverGroup => "nameserver_group",
        }
    }

    /// The section of netbird.json, and the word of `--replace SECTION/NAME`.
    pub fn section(self) -> &'static str {
        match self {
            Kind::Group => "groups",
            Kind::SetupKey => "setup_keys",
            Kind::Peer => "peers",
            Kind::Policy => "policies",
            Kind::Route => "routes",
            Kind::NameserverGroup => "nameserver_groups",
        }
    }

    /// The collection's path under `/api`.
    pub fn path(self) -> &'static str {
        match self {
            Kind::Group => "/groups",
            Kind::SetupKey => "/setup-keys",
            Kind::Peer => "/peers",
            Kind::Policy => "/policies",
            Kind::Route => "/routes",
            Kind::NameserverGroup => "/dns/nameservers",
        }
    }
}

/// The server's name of an object; opaque, but for the creation time in it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Id(pub String);

impl Id {
    /// Returns the second in which the object was made, since 1970, or `None` where the id does not tell.
    ///
    /// NetBird's ids are xids: 20 characters of base32hex in lower case, of which the first 32 bits are the server's
    /// clock at creation (netbird-api.md §1.3). Old keys and users have ids of another form.
    pub fn created_at(&self) -> Option<i64> {
        let xid = self.0.len() == 20
            && self
                .0
                .bytes()
                .all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'v'));
        xid.then(|| {
            let bits = self.0.bytes().take(7).fold(0_i64, |bits, byte| {
                bits << 5
                    | i64::from(if byte < b'a' {
                        byte - b'0'
                    } else {
                        byte - b'a' + 10
                    })
            });
            bits >> 3
        })
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// An object as people name it: kind and name. Sorts by kind, then name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Address {
    /// The kind.
    pub kind: Kind,
    /// The name in netbird.json.
    pub name: String,
}

impl Address {
    /// The address of a name of that kind.
    pub fn new(kind: Kind, name: impl Into<String>) -> Self {
        Address {
            kind,
            name: name.into(),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind.label(), self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_xid_tells_its_creation_second() {
        // recordings/netbird/setup-key-created.json, made at 2026-11-27T23:02:47Z
        assert_eq!(
            Id("dc50o5tqmd2prpcba33g".into()).created_at(),
            Some(1_795_820_567)
        );
        assert_eq!(
            Id("1802457731".into()).created_at(),
            None,
            "an old numeric key id"
        );
        assert_eq!(
            Id("0b90e3c5-4689-429c-a1d0-c225297514bf".into()).created_at(),
            None,
            "a service user"
        );
        assert_eq!(
            Id("xxxxxxxxxxxxxxxxxxxx".into()).created_at(),
            None,
            "x is no digit of base32hex"
        );
    }
}
