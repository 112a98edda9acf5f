//! What stands on a side of a policy in the place of groups: a network resource or a peer.

use serde::Deserializer;

use crate::model::kind::prelude::*;
use crate::wire::api::objects::ResourceReference;

/// What stands on a side of a policy in the place of groups; as JSON as the file has it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(untagged)]
pub enum Target {
    /// One peer.
    Peer {
        /// Which.
        peer: PeerRef,
    },
    /// A network resource, by its name.
    Resource(String),
}

/// The word of the server for a peer; any other is a network resource, which its id tells (docs/netbird-api.md, "Policies:
/// one rule").
const PEER: &str = "peer";

/// Reads what an answer names; a network resource by its id.
pub(super) fn answered<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Target>, D::Error> {
    let named: Option<ResourceReference> = Option::deserialize(from)?;
    let named = named.filter(|named| !named.id.is_empty());
    Ok(
        named.map(|ResourceReference { id, kind }| match kind.as_str() {
            PEER => Target::Peer {
                peer: PeerRef::Id(Id::from(id.as_str())),
            },
            _ => Target::Resource(id),
        }),
    )
}

impl Target {
    /// Returns what a request names.
    pub(super) fn request(&self, groups: &Groups) -> Result<Value, Unresolved> {
        match self {
            Target::Peer { peer } => Ok(json!({ "id": peer.text(), "type": PEER })),
            Target::Resource(name) => {
                let id = groups.other(Refers::Resource, name)?;
                Ok(json!({ "id": id.0, "type": groups.resource_type(id) }))
            }
        }
    }

    /// The peer, where it is one.
    pub(super) fn peer(&self) -> Option<&PeerRef> {
        match self {
            Target::Peer { peer } => Some(peer),
            Target::Resource(_) => None,
        }
    }

    /// The same, to say which one is meant.
    pub(super) fn peer_mut(&mut self) -> Option<&mut PeerRef> {
        match self {
            Target::Peer { peer } => Some(peer),
            Target::Resource(_) => None,
        }
    }

    /// The network resource, where it is one.
    pub(super) fn resource(&self) -> Option<&str> {
        match self {
            Target::Peer { .. } => None,
            Target::Resource(name) => Some(name),
        }
    }
}

/// A peer in the place of groups, as written.
#[derive(Default)]
struct PeerDraft {
    peer: Option<PeerRef>,
}

const TABLE: Table<PeerDraft> = Table {
    what: "a peer in the place of groups",
    fields: fields![
        /// The peer, named as in a group's peers.
        needs peer: Takes(Shape::Text, peer::read_peer),
    ],
    refused: refused![
        ["id", "type", "name", "resource"] => "write only the name of the network resource",
            "write its name as a string, or { \"peer\": \"NAME\" }";
    ],
    rules: "{}",
};

const ONE_PEER: &str = r##"{"type": "object", "additionalProperties": false, "required": ["peer"], "properties": {"peer": {"$ref": "#/definitions/name"}}}"##;

/// The source of a policy.
pub(super) const SOURCE: Takes<Option<Target>> = Takes(Shape::Schema(ONE_PEER), source);

/// The destination of one.
pub(super) const DESTINATION: Takes<Option<Target>> = Takes(
    Shape::Schema(
        r##"{"anyOf": [
                {"type": "string", "minLength": 1},
                {"type": "object", "additionalProperties": false, "required": ["peer"], "properties": {"peer": {"$ref": "#/definitions/name"}}}
            ]}"##,
    ),
    destination,
);

/// Reads the destination of a policy: a network resource by its name, or a peer.
fn destination(value: &Cursor<'_>, log: &mut Log) -> Option<Target> {
    if value.is_object() {
        return peer(value, log);
    }
    let wanted = "the name of a network resource, or { \"peer\": … }";
    let name = value.string(log, wanted)?;
    names::check_live(name, || value.place(), log);
    Some(Target::Resource(name.to_owned()))
}

/// Reads the source of a policy, which is a peer: a network resource opens no connections.
fn source(value: &Cursor<'_>, log: &mut Log) -> Option<Target> {
    if value.text().is_none() {
        return peer(value, log);
    }
    let text = "a network resource as a source does nothing: it never opens a connection";
    let hint =
        "for a peer write { \"peer\": \"NAME\" }; list what may reach a resource in \"sources\"";
    value.checked(Err(Flaw::with_hint(text, hint)), log)
}

fn peer(value: &Cursor<'_>, log: &mut Log) -> Option<Target> {
    let text = |field: &str| value.get(field).and_then(|field| field.text());
    if value.get("id").is_some() && value.get("type").is_some() {
        let message = "expected a name, found an id of NetBird";
        let hint = match text("type") {
            Some(PEER) => format!("write \"{}\": {{ \"peer\": \"NAME\" }}", value.name()),
            _ => format!(
                "write the name of the resource: \"{}\": \"NAME\"",
                value.name()
            ),
        };
        log.error(value.place(), message).suggest(hint);
        return None;
    }
    let mut draft = PeerDraft::default();
    value.object(log, &TABLE, &mut draft);
    Some(Target::Peer { peer: draft.peer? })
}
