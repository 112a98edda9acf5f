//! Groups: sets of peers that everything else refers to (netbird-api.md §2).

use std::collections::BTreeSet;

use serde::Serialize;
use serde_json::{Value, json};

use super::{Live, Resource, base_of, embedded_ids};
use crate::entry::Entry;
use crate::state::Id;
use crate::wire;

/// A group in canonical form.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Group {
    /// Ids of its members, since names of peers prove nothing. `None` = not ours.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peers: Option<BTreeSet<Id>>,
}

/// Reads an entry of `GET /groups`.
pub(super) fn read(wire: Entry) -> Result<Live, serde_json::Error> {
    let group: wire::Group = wire.read()?;
    let peers = group.peers.into_iter().map(|peer| peer.id).collect();
    Ok(Live {
        id: group.id,
        name: group.name,
        resource: Resource::Group(Group { peers: Some(peers) }),
        wire,
    })
}

impl Group {
    /// A PUT that leaves out `peers` or `resources` empties them, so both are always sent.
    pub(super) fn request(&self, name: &str, live: Option<&Value>) -> Value {
        let mut body = base_of(live, &["id", "issued", "peers_count", "resources_count"]);
        body.insert("name".into(), json!(name));
        let peers = match &self.peers {
            Some(peers) => json!(peers),
            None => embedded_ids(body.get("peers")),
        };
        body.insert("peers".into(), peers);
        if body.get("resources").is_none_or(Value::is_null) {
            body.insert("resources".into(), json!([]));
        }
        Value::Object(body)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn live() -> Value {
        json!({ "id": "g1", "name": "ams", "issued": "api", "peers_count": 1, "resources_count": 1,
                "peers": [{ "id": "p1", "name": "edge" }], "resources": [{ "id": "r1", "type": "subnet" }],
                "of_a_later_version": 7 })
    }

    #[test]
    fn an_update_keeps_resources_members_and_unknown_fields() {
        let body = Group { peers: None }.request("ams", Some(&live()));
        let resources = json!([{ "id": "r1", "type": "subnet" }]);
        let kept = json!({ "name": "ams", "peers": ["p1"], "resources": resources, "of_a_later_version": 7 });
        assert_eq!(body, kept);
    }

    #[test]
    fn a_creation_sends_both_lists() {
        let body = Group {
            peers: Some(BTreeSet::from([Id("p2".into())])),
        }
        .request("new", None);
        assert_eq!(
            body,
            json!({ "name": "new", "peers": ["p2"], "resources": [] })
        );
    }
}
