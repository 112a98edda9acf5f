//! Resources of networks: an address, a subnet or a domain that the network's routers reach (docs/netbird-api.md,
//! "Networks").
//!
//! Its name is unique in the account, and it can move from one network to another.

use std::net::{IpAddr, SocketAddr};

use super::prelude::*;

/// A resource in canonical form. `None` = not ours.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct NetworkResource {
    /// Text for people.
    pub description: Option<String>,
    /// A masked network, of a single address too (`10.20.0.9/32`); or a domain, in lower case and Unicode, which `*.` may
    /// begin.
    pub address: String,
    /// Groups that it is in: policies to them are for it.
    #[serde(default, deserialize_with = "ids")]
    pub groups: Option<BTreeSet<String>>,
    /// Whether it can be reached.
    pub enabled: Option<bool>,
}

const TABLE: Table<NetworkResource> = Table {
    what: "a network resource",
    fields: fields![
        /// Text for people.
        own description: TEXT => "",
        /// An IPv4 or IPv6 address or network, or a domain; *. may begin it.
        needs address: ADDRESS,
        /// Groups that it is in: a policy to one of them is for it. They own the membership: a group's peers say nothing of it.
        own(groups) groups: names::GROUPS => [],
        /// Whether it can be reached.
        own enabled: FLAG => true,
        ; renamed_from(),
    ],
    refused: refused![
        Refused::NAME;
        ["type"] => "its type follows from its address: host, subnet or domain", "leave it out";
        ["cidr", "domain", "ip", "subnet"] => address;
    ],
    rules: "{}",
};

const ADDRESS: Takes<String> = Takes(
    Shape::Schema(
        r#"{"type": "string", "minLength": 1, "maxLength": 255, "examples": ["10.20.0.9", "10.20.0.0/16", "*.corp.example"]}"#,
    ),
    |value, log| {
        const SEVERAL: &str = "declare one network resource for each address; in the same group, one policy can name them all";
        let text = value.one_string(log, "an address, a network or a domain", SEVERAL);
        let found = text.and_then(|text| {
            let found = address(text).map_err(|flaw| flaw.or_several(text, SEVERAL));
            value.checked(found, log)
        });
        found.unwrap_or_default()
    },
);

/// Checks an address, where the server answers 500 or takes a mistyped one for a domain (docs/netbird-api.md, "Networks").
fn address(text: &str) -> Result<String, Flaw> {
    if let Ok(address) = text.parse::<IpAddr>() {
        let bits = if address.is_ipv4() { 32 } else { 128 };
        return network::exact(&format!("{address}/{bits}"));
    }
    if text.contains('/') && !text.contains("://") {
        return network::exact(text);
    }
    if let Ok(socket) = text.parse::<SocketAddr>() {
        let message = format!("{} is an address with a port", quote(text));
        let hint = format!("write \"{}\"; policies have ports", socket.ip());
        return Err(Flaw::with_hint(message, hint));
    }
    let bare = text.strip_prefix("*.");
    if bare.is_some_and(|bare| !bare.contains('.')) {
        let text = quote(text);
        let message = format!("{text} is not a domain: it would be nearly all there are");
        return Err(Flaw::new(message));
    }
    domain::of_route(text)
}

/// The one spelling of an address of an answer.
fn canonical(text: &str) -> String {
    match text.parse::<IpAddr>() {
        Ok(address) if address.is_ipv4() => format!("{address}/32"),
        Ok(address) => format!("{address}/128"),
        Err(_) if text.contains('/') => spelling::network(text),
        Err(_) => spelling::domain(text),
    }
}

const BY_NAME: Referred = Referred::ByName(Refers::Resource);

impl Spec for NetworkResource {
    const KIND: Descriptor = Descriptor {
        called: ["network resource", "network resources", "network_resource"],
        section: &["resources"],
        about: "Resources of a network by name.",
        collection: "/resources",
        deletion_event: Some("network.resource.delete"),
        since: Some("0.46"),
        entries: Entries::Inside(Inside {
            parent: Kind::Network,
            answers: Answers::Listed {
                ids: "resources",
                path: "/networks/resources",
            },
            written: |resource, _| resource,
            name: NameOf::Key,
        }),
        unique: Unique::Always,
        is_anywhere: true,
        ..Descriptor::of(Reach::Resource, Role::NetworkAdmin, BY_NAME)
    };

    const TABLE: &'static Table<Self> = &TABLE;
    const ANSWER_ONLY: &'static [&'static str] = &["id", "type"];

    fn tidy(&mut self, _groups: &Groups) {
        self.address = canonical(&self.address);
    }

    fn export(&self, mut fields: Map<String, Value>) -> Result<Map<String, Value>, String> {
        let whole = &self.address;
        let bare = whole.strip_suffix("/32").filter(|it| !it.contains(':'));
        let written = bare.or(whole.strip_suffix("/128")).unwrap_or(whole);
        if address(written).ok().as_deref() != Some(whole) {
            return Err(format!("a file cannot say its address {}", quote(whole)));
        }
        fields.insert("address".into(), json!(written));
        Ok(fields)
    }

    fn summary(&self, _about: &About) -> String {
        let groups = match self.groups.as_ref().filter(|groups| !groups.is_empty()) {
            None => "no group".to_owned(),
            Some(groups) => named(groups),
        };
        format!("{} in {groups}", visible(&self.address))
    }

    fn loss(&self, _about: &About) -> Sentence {
        let text = Sentence::from("nobody reaches ");
        text.name(&self.address).say(" by it any more")
    }
}
