//! Networks: what is reached through routers, as a place for resources and routers (docs/netbird-api.md, "Networks").

use super::prelude::*;
use super::spec::objects;
use super::{NetworkResource, NetworkRouter};

/// A network in canonical form, without what is in it. `None` = not ours.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Network {
    /// Text for people.
    pub description: Option<String>,
}

const TABLE: Table<Network> = Table {
    what: "a network",
    fields: fields![
        /// Text for people.
        own description: TEXT => "",
        ; Field::inside(
            "resources",
            Shape::Named(objects::<NetworkResource>()),
            "What is reached in it, by name. Without it, the resources are not changed; if it is empty, all are deleted.",
        ),
        Field::inside(
            "routers",
            Shape::Objects(objects::<NetworkRouter>()),
            "Through whom it is reached. Without it, the routers are not changed; if it is empty, all are deleted.",
        ),
        renamed_from(),
    ],
    refused: refused![
        Refused::NAME;
        ["address", "addresses", "cidr", "network", "subnet", "range"] =>
            "a network has no address: its resources have",
            "write \"resources\": { \"NAME\": { \"address\": \"10.20.0.0/16\" } }";
        ["peer", "peers", "peer_groups", "routing_peers", "router"] =>
            "the peers that route are listed in \"routers\"",
            "write \"routers\": [{ \"peer_groups\": [ … ] }]";
        ["policies"] => "policies stand at the top of the file",
            "who reaches a resource is said by a policy to one of its groups";
    ],
    rules: "{}",
};

impl Spec for Network {
    const KIND: Descriptor = Descriptor {
        called: ["network", "networks", "network"],
        section: &["networks"],
        about: "Networks by name, with their resources and routers.",
        collection: "/networks",
        deletion_event: Some("network.delete"),
        since: Some("0.35"),
        ..Descriptor::of(Reach::Network, Role::NetworkAdmin, Referred::Never)
    };

    const TABLE: &'static Table<Self> = &TABLE;
    const ANSWER_ONLY: &'static [&'static str] = &[
        "id",
        "routers",
        "resources",
        "policies",
        "routing_peers_count",
    ];

    fn loss(&self, _about: &About) -> Sentence {
        Sentence::default().say("its resources can no longer be reached through it")
    }
}
