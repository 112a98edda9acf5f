//! A peer that a field names. Names of peers prove nothing, so the canonical form holds an id: `members` says whose.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::base::id::Id;
use crate::file::{Cursor, Log};

use super::values::names;

/// A peer that a field names.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum PeerRef {
    /// As the file has it: the name of a setup key or of a live peer.
    Name(String),
    /// The peer itself.
    Id(Id),
}

impl PeerRef {
    /// Its name, or its id.
    pub(crate) fn text(&self) -> &str {
        match self {
            PeerRef::Name(name) => name,
            PeerRef::Id(id) => &id.0,
        }
    }

    /// The peer, once it is known which one is meant.
    pub(crate) fn id(&self) -> Option<&Id> {
        match self {
            PeerRef::Name(_) => None,
            PeerRef::Id(id) => Some(id),
        }
    }
}

/// As its name, or its id: the places of peers in a plan's fields get names before people see them.
impl Serialize for PeerRef {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.text())
    }
}

/// Reads the id of an answer, in which null and an empty text are none.
pub(super) fn answered<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<PeerRef>, D::Error> {
    let id: Option<Id> = Option::deserialize(deserializer)?;
    Ok(id.filter(|id| !id.0.is_empty()).map(PeerRef::Id))
}

/// Reads the name of a peer.
pub(super) fn read(value: &Cursor<'_>, log: &mut Log) -> Option<PeerRef> {
    let name = value.string(log, "the name of a setup key or of a peer")?;
    names::check_own(name, || value.place(), log);
    Some(PeerRef::Name(name.to_owned()))
}
