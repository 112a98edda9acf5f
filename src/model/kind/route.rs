//! Routes: a network, or domains, reached through the peers of groups (docs/netbird-api.md, "Routes").

use super::prelude::*;

const MAX_DOMAINS: usize = 32;

/// A route in canonical form. `None` = not ours.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Route {
    /// Text for people.
    pub description: Option<String>,
    /// A masked network such as `192.168.1.0/24`; exactly one of this and `domains` is set.
    pub network: Option<String>,
    /// 1 to 32 domains, lower case and Unicode as the server renders them; `*.` may begin one.
    pub domains: Option<BTreeSet<String>>,
    /// Groups whose peers route; empty where `peer` does.
    #[serde(default, deserialize_with = "ids")]
    pub peer_groups: BTreeSet<String>,
    /// The one peer that routes, in their place.
    #[serde(default, deserialize_with = "peer::answered")]
    pub peer: Option<PeerRef>,
    /// Groups that get the route.
    #[serde(default, deserialize_with = "ids")]
    pub groups: Option<BTreeSet<String>>,
    /// Groups whose policies guard what is behind the route.
    #[serde(default, deserialize_with = "ids")]
    pub access_control_groups: Option<BTreeSet<String>>,
    /// Priority among equal routes, 1 to 9999, the lowest wins.
    pub metric: Option<i64>,
    /// Whether routed traffic has the router's address.
    pub masquerade: Option<bool>,
    /// Whether a domain route outlives a change of its addresses.
    pub keep_route: Option<bool>,
    /// Whether clients leave it off until somebody switches it on.
    pub skip_auto_apply: Option<bool>,
    /// Whether it is in use.
    pub enabled: Option<bool>,
}

const TABLE: Table<Route> = Table {
    what: "a route",
    fields: fields![
        /// Text for people.
        own description: TEXT => "",
        /// An IPv4 or IPv6 network; host bits are masked, with a notice. Exactly one of network and domains.
        may network: NETWORK,
        /// 1 to 32 domains in Unicode; *. may begin one. Exactly one of network and domains.
        may domains: DOMAINS,
        /// Groups whose peers do the routing, at least one. Exactly one of peer_groups and peer.
        may(groups) peer_groups: peer::GROUPS,
        /// The one peer that does the routing, named as in a group's peers. Exactly one of peer_groups and peer.
        may peer: peer::PEER,
        /// Groups whose peers get the route, at least one. Left out, a new route goes to All, with a notice.
        own(groups) groups: Takes(Shape::SOME_NAMES, receivers) => ["All"],
        /// Groups whose policies guard what is behind the route.
        own(groups) access_control_groups: names::GROUPS => [],
        /// Priority among equal routes; the lowest wins.
        own metric: whole::<1, 9999>() => 9999,
        /// Routed traffic has the router's address.
        own masquerade: FLAG => true,
        /// A domain route outlives a change of its addresses.
        own keep_route: FLAG => false,
        /// Clients leave it off until somebody switches it on.
        own skip_auto_apply: FLAG => false,
        /// Whether it is in use.
        own enabled: FLAG => true,
        ; renamed_from(),
    ],
    refused: refused![
        NAME;
        ["peers", "routing_peers", "routing_groups"] => peer_groups;
        ["networks", "cidr", "prefix", "range"] => network;
        ["distribution_groups"] => groups;
    ],
    rules: r#"{"allOf": [
        {"oneOf": [{"required": ["network"]}, {"required": ["domains"]}]},
        {"oneOf": [{"required": ["peer_groups"]}, {"required": ["peer"]}]}
    ]}"#,
};

const NAME: Refused = Refused {
    names: &["network_id", "name"],
    message: "its network_id is its name, which is the name of its entry",
    ..Refused::NAME
};

const NETWORK: Takes<Option<String>> = Takes(
    Shape::Schema(
        r#"{"type": "string", "pattern": "^[0-9A-Fa-f:.]+/(0|[1-9][0-9]{0,2})$", "examples": ["192.168.1.0/24", "fd00::/64"]}"#,
    ),
    network::read,
);

const DOMAINS: Takes<Option<BTreeSet<String>>> = Takes(
    Shape::Schema(
        r#"{"type": "array", "minItems": 1, "items": {"type": "string", "minLength": 1, "maxLength": 255}}"#,
    ),
    domains,
);

fn receivers(list: &Cursor<'_>, log: &mut Log) -> Option<BTreeSet<String>> {
    let why = "name a group whose peers receive the route; without \"groups\" a new route is distributed to every peer (All)";
    names::some_groups(list, log, why)
}

fn domains(list: &Cursor<'_>, log: &mut Log) -> Option<BTreeSet<String>> {
    let domains = domain::list(list, domain::of_route, log)?;
    let domains: BTreeSet<String> = domains.into_iter().collect();
    if list.elements().next().is_none() {
        let flaw = log.error(list.place(), "\"domains\" cannot be empty");
        flaw.suggest("list at least one domain");
    }
    let number = domains.len();
    if number > MAX_DOMAINS {
        let text = format!("a route has at most {MAX_DOMAINS} domains; these are {number}");
        log.error(list.place(), text).suggest("make two routes");
    }
    Some(domains)
}

impl Route {
    /// Returns what it leads to, in a word.
    pub(crate) fn destination(&self) -> &'static str {
        match self.network {
            Some(_) => "network",
            None => "domains",
        }
    }

    /// Returns whether both are about the same network, or the same domains.
    pub fn same_prefix(&self, other: &Route) -> bool {
        self.network == other.network && self.domains == other.domains
    }
}

/// What an answer says of a route beside its form.
#[derive(Deserialize)]
struct Typed {
    /// `IPv4`, `IPv6` or `Domain`.
    network_type: Option<String>,
}

impl Spec for Route {
    const KIND: Descriptor = Descriptor {
        called: ["route", "routes", "route"],
        section: &["routes"],
        about: "Routes by name, which is NetBird's network_id: 1 to 40 characters.",
        collection: "/routes",
        deletion_event: Some("route.delete"),
        longest_name: 40,
        name_field: "network_id",
        is_several: true,
        ..Descriptor::of(Reach::Route, Role::NetworkAdmin, Referred::Never)
    };

    const TABLE: &'static Table<Self> = &TABLE;
    const ANSWER_ONLY: &'static [&'static str] = &[
        "id",
        "network_type",
        "network",
        "domains",
        "peer",
        "peer_groups",
    ];

    fn settle(self, entry: &Cursor<'_>, _within: Option<&Resource>, log: &mut Log) -> Option<Self> {
        entry.one_of(&TABLE, ["network", "domains"], "make two routes", log);
        let way_out = "put the peer into one of the groups, or make two routes";
        entry.one_of(&TABLE, peer::FIELDS, way_out, log);
        if !entry.mentions(&TABLE, "groups") {
            let text = "a new route without \"groups\" is distributed to every peer (All)";
            let notice = log.notice(Code::RouteForAll, entry.key_place(), text);
            notice.suggest("list the groups that receive the route in \"groups\"");
        }
        Some(self)
    }

    /// A domain route comes with a placeholder network, so the type decides (docs/netbird-api.md, "Routes").
    fn form(wire: &Entry) -> Result<Self, serde_json::Error> {
        let mut route: Route = wire.read()?;
        let is_of_domains = wire.read::<Typed>()?.network_type.as_deref() == Some("Domain");
        let (network, domains) = (route.network.take(), route.domains.take());
        let domains = domains.unwrap_or_default();
        match is_of_domains {
            true => route.domains = Some(domains.iter().map(|it| spelling::domain(it)).collect()),
            false => route.network = Some(network.unwrap_or_default()),
        }
        Ok(route)
    }

    /// Of peer and peer_groups, the other one must be absent: presence is what counts.
    fn finish(&self, body: &mut Map<String, Value>) {
        if self.peer.is_some() {
            body.remove("peer_groups");
        }
    }

    fn peers(&self) -> Vec<&PeerRef> {
        self.peer.iter().collect()
    }

    fn peers_mut(&mut self) -> Vec<&mut PeerRef> {
        self.peer.iter_mut().collect()
    }

    /// Routes through groups; whose machines are in both is not asked here.
    fn excludes(&self, other: &Self) -> bool {
        self.same_prefix(other) && !self.peer_groups.is_disjoint(&other.peer_groups)
    }

    fn connects(&self) -> Value {
        json!([self.network, self.domains, self.peer, self.peer_groups])
    }

    fn export(&self, mut fields: Map<String, Value>) -> Result<Map<String, Value>, String> {
        peer::export(&mut fields, self.peer.as_ref(), &self.peer_groups)?;
        fields.retain(|_, value| !value.is_null());
        Ok(fields)
    }

    fn summary(&self, about: &About) -> String {
        let what = match (&self.network, &self.domains) {
            (Some(network), _) => visible(network).into_owned(),
            (None, domains) => named(domains.iter().flatten()),
        };
        let through = peer::words(self.peer.as_ref(), &self.peer_groups, about);
        let to = self.groups.as_ref().map_or(ALL.to_owned(), named);
        let guards = self.access_control_groups.iter().flatten();
        let guarded = match guards.clone().count() {
            0 => String::new(),
            _ => format!(", guarded by policies to {}", named(guards)),
        };
        format!("{what} through {through}, for {to}{guarded}")
    }

    fn loss(&self, _about: &About) -> Sentence {
        let groups = self.groups.iter().flatten().map(String::as_str);
        let text = Sentence::from("peers in ").names(groups).say(" lose ");
        match (&self.network, &self.domains) {
            (Some(network), _) => text.name(network),
            (None, domains) => text.names(domains.iter().flatten().map(String::as_str)),
        }
    }
}
