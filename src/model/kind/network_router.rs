//! Routers of networks: the peers through which its resources are reached (docs/netbird-api.md, "Networks").
//!
//! A router has no name: what tells it from others of its network is through whom it goes.

use super::prelude::*;

/// A router in canonical form. `None` = not ours.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct NetworkRouter {
    /// The one peer that routes.
    #[serde(default, deserialize_with = "peer::answered")]
    pub peer: Option<PeerRef>,
    /// Groups whose peers route; empty where `peer` does.
    #[serde(default, deserialize_with = "ids")]
    pub peer_groups: BTreeSet<String>,
    /// Priority among the routers of a network, 1 to 9999, the lowest wins.
    pub metric: Option<i64>,
    /// Whether routed traffic has the router's address.
    pub masquerade: Option<bool>,
    /// Whether it is in use.
    pub enabled: Option<bool>,
}

const TABLE: Table<NetworkRouter> = Table {
    what: "a router",
    fields: fields![
        /// Groups whose peers do the routing, at least one. Exactly one of peer_groups and peer.
        may(groups) peer_groups: peer::GROUPS,
        /// The one peer that does the routing, named as in a group's peers. Exactly one of peer_groups and peer.
        may peer: peer::PEER,
        /// Priority among the routers of the network; the lowest wins.
        own metric: whole::<1, 9999>() => 9999,
        /// Routed traffic has the router's address.
        own masquerade: FLAG => true,
        /// Whether it is in use.
        own enabled: FLAG => true,
    ],
    refused: refused![
        ["name", "description"] => "a router has neither name nor description";
        ["peers", "groups", "routing_peers"] => peer_groups;
    ],
    rules: r#"{"oneOf": [{"required": ["peer_groups"]}, {"required": ["peer"]}]}"#,
};

/// Two routers of a network that are the same peer or the same groups: the server takes both, and nothing tells them apart.
fn check(routers: &[&InFile<'_>], log: &mut Log) {
    let mut known = BTreeMap::new();
    for one in routers {
        let Some(router) = &one.resource else {
            continue;
        };
        let here = one.cursor.place();
        let key = (&one.address, router.connects().to_string());
        if let Some(line) = known.insert(key, here.line) {
            let text = format!("the same router is in line {line} already");
            log.error(here, text).coded(Code::Duplicate);
        }
    }
}

impl Spec for NetworkRouter {
    const KIND: Descriptor = Descriptor {
        called: ["network router", "network routers", "network_router"],
        section: &["routers"],
        about: "Routers of a network.",
        collection: "/routers",
        deletion_event: Some("network.router.delete"),
        since: Some("0.46"),
        entries: Entries::Inside(Inside {
            parent: Kind::Network,
            answers: Answers::Listed {
                ids: "routers",
                path: "/networks/routers",
            },
            written: |router, _| router,
            name: NameOf::Nothing,
        }),
        name_field: "",
        is_several: true,
        not_at_creation: &["enabled"],
        check,
        ..Descriptor::of(Reach::Router, Role::NetworkAdmin, Referred::Never)
    };

    const TABLE: &'static Table<Self> = &TABLE;

    fn settle(self, entry: &Cursor<'_>, _within: Option<&Resource>, log: &mut Log) -> Option<Self> {
        entry.one_of(&TABLE, peer::FIELDS, "make two routers", log);
        Some(self)
    }

    /// Of peer and peer_groups, the other one is sent empty.
    fn finish(&self, body: &mut Map<String, Value>) {
        if self.peer.is_none() {
            body.insert("peer".into(), json!(""));
        }
    }

    fn peers(&self) -> Vec<&PeerRef> {
        self.peer.iter().collect()
    }

    fn peers_mut(&mut self) -> Vec<&mut PeerRef> {
        self.peer.iter_mut().collect()
    }

    fn connects(&self) -> Value {
        json!([self.peer, self.peer_groups])
    }

    fn export(&self, mut fields: Map<String, Value>) -> Result<Map<String, Value>, String> {
        peer::export(&mut fields, self.peer.as_ref(), &self.peer_groups)?;
        // the server checks no metric, and the file has 1 to 9999
        if self.metric.is_some_and(|it| !(1..=9999).contains(&it)) {
            fields.remove("metric");
        }
        Ok(fields)
    }

    fn summary(&self, about: &About) -> String {
        let through = peer::words(self.peer.as_ref(), &self.peer_groups, about);
        format!("through {through}")
    }

    fn loss(&self, about: &About) -> Sentence {
        let text = Sentence::default().say("nothing of its network is reached through ");
        let text = match &self.peer {
            Some(peer) => text.name(about.peer(peer)),
            None => text.names(self.peer_groups.iter().map(String::as_str)),
        };
        text.say(" any more")
    }
}
