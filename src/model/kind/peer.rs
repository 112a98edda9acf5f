//! Peers: enrolled machines, which nobody makes or deletes by an entry (docs/netbird-api.md, "Peers").
//!
//! A peer's settings are fields of it, and not an object of their own: with its name they go in one `PUT`, which resets what is
//! left out, so a run that renames a machine and sets something of it changes one object once.

use serde::{Deserializer, Serializer};

use super::prelude::*;

/// A peer's part that we change. `None` = not ours.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Peer {
    /// Which one an entry means; of a live one nothing.
    #[serde(skip)]
    pub peer: Option<PeerRef>,
    /// Display name; the DNS label follows it. No file says it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Whether NetBird's SSH server runs on it.
    pub ssh_enabled: Option<bool>,
    /// Whether its person has to log in again after a time.
    pub login_expiration_enabled: Option<bool>,
    /// Whether its person has to after it was offline for a time.
    pub inactivity_expiration_enabled: Option<bool>,
}

/// What only peers of people have on: the server refuses another value of any other one (412).
pub(crate) const EXPIRY: [&str; 2] = ["login_expiration_enabled", "inactivity_expiration_enabled"];

const TABLE: Table<Peer> = Table {
    what: "a peer",
    fields: fields![
        /// Whether NetBird's SSH server runs on it. With it, every policy of protocol all to the peer lets all users log in.
        own ssh_enabled: FLAG,
        /// Whether its person has to log in again after a time. Of a peer of a setup key it is false, and stays so.
        own login_expiration_enabled: FLAG,
        /// Whether its person has to after it was offline for a time; likewise.
        own inactivity_expiration_enabled: FLAG,
    ],
    refused: refused![
        ["name", "renamed_from"] => "a machine is named by its setup key, or by whoever enrolls it",
            "to rename it, rename the key's entry, or the peer in NetBird";
        ["groups"] => "members belong in the group", "name the peer in the group's \"peers\"";
        ["ip", "ipv6", "dns_label"] => "NetBird gives a machine its address and its name", "leave it out";
        ["approval_required", "approved"] => "a self-hosted NetBird answers 200 to it and ignores it", "leave it out";
        ["ssh"] => ssh_enabled;
    ],
    rules: "{}",
};

impl Peer {
    /// A peer that shall have that name.
    pub fn named(name: impl Into<String>) -> Self {
        Peer {
            name: Some(name.into()),
            ..Peer::default()
        }
    }

    /// A live one in canonical form.
    pub fn of(peer: &objects::Peer) -> Self {
        let answer = peer.answer.as_ref();
        let mut form: Peer = answer.and_then(|it| it.read().ok()).unwrap_or_default();
        let zeros = TABLE.fields.iter().filter_map(|field| field.zero);
        zeros.for_each(|zero| zero(&mut form));
        form.name = Some(peer.name.clone());
        form
    }
}

impl Spec for Peer {
    const KIND: Descriptor = Descriptor {
        called: ["peer", "peers", "peer"],
        section: &["peers"],
        about: "Settings of enrolled machines, named as in a group's \"peers\". What is left out stays as it is.",
        collection: "/peers",
        entries: Entries::Enrolled,
        ..Descriptor::of(Reach::Peer, Role::Admin, Referred::ById)
    };

    const TABLE: &'static Table<Self> = &TABLE;

    fn unseen(&self) -> Value {
        json!(self.peer)
    }

    fn settle(mut self, entry: &Cursor<'_>, _: Option<&Resource>, _: &mut Log) -> Option<Self> {
        self.peer = Some(PeerRef::Name(entry.name().to_owned()));
        Some(self)
    }

    /// All of it goes back as it came, but for what is ours: left out, a switch would be switched off (docs/netbird-api.md,
    /// "Peers").
    fn request(&self, sent: Sent) -> Result<Value, Unresolved> {
        let Sent { live, .. } = sent;
        let ours = self.fields();
        let fields = ["name"].into_iter().chain(TABLE.names());
        let value = |field: &str| {
            let live = || live?.get(field).filter(|live| !live.is_null());
            ours.get(field).or_else(live).cloned()
        };
        let body = fields.map(|it| (it.to_owned(), value(it).unwrap_or(json!(false))));
        Ok(Value::Object(body.collect()))
    }

    fn peers(&self) -> Vec<&PeerRef> {
        self.peer.iter().collect()
    }

    fn peers_mut(&mut self) -> Vec<&mut PeerRef> {
        self.peer.iter_mut().collect()
    }

    fn keep(&mut self, live: &Self) {
        TABLE.keep(self, live);
        if self.name.is_none() {
            self.name.clone_from(&live.name);
        }
    }

    /// What is otherwise than when it came: a machine of a setup key with all off, one of a person without SSH.
    fn export(&self, mut fields: Map<String, Value>) -> Result<Map<String, Value>, String> {
        fields.remove("name");
        Ok(fields)
    }

    fn opens_to_all(&self, _about: &About) -> Option<Sentence> {
        let text = "NetBird's SSH server runs on it: wherever a policy of protocol all leads to it, every user of the account may log in";
        (self.ssh_enabled == Some(true)).then(|| Sentence::default().say(text))
    }

    fn loss(&self, _about: &About) -> Sentence {
        Sentence::default().say("the machine is cut off and has to enroll again")
    }
}

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
pub(super) fn read_peer(value: &Cursor<'_>, log: &mut Log) -> Option<PeerRef> {
    let name = value.string(log, "the name of a setup key or of a peer")?;
    names::check_own(name, || value.place(), log);
    Some(PeerRef::Name(name.to_owned()))
}

/// The two fields, of which an entry has one: the server refuses both, and neither (docs/netbird-api.md, "Routes",
/// "Networks").
pub(super) const FIELDS: [&str; 2] = ["peer_groups", "peer"];

/// Groups whose peers do the routing.
pub(super) const GROUPS: Takes<BTreeSet<String>> = Takes(Shape::SOME_NAMES, |list, log| {
    let why = "name a group whose peers do the routing";
    names::some_groups(list, log, why).unwrap_or_default()
});

/// The one peer that does the routing.
pub(super) const PEER: Takes<Option<PeerRef>> = Takes(
    Shape::Schema(r##"{"$ref": "#/definitions/name"}"##),
    read_peer,
);

/// A peer in the place of its address, as written.
#[derive(Default)]
pub(super) struct AddressOf {
    pub(super) peer: Option<PeerRef>,
}

impl AddressOf {
    /// Reads one.
    pub(super) fn read(value: &Cursor<'_>, log: &mut Log) -> Option<PeerRef> {
        let mut it = AddressOf::default();
        value.object(log, &ADDRESS_OF, &mut it);
        it.peer
    }
}

const ADDRESS_OF: Table<AddressOf> = Table {
    what: "a peer in the place of its address",
    fields: fields![
        /// The peer, named as in a group's peers.
        needs peer: PEER,
    ],
    refused: refused![["name", "id", "ip"] => peer;],
    rules: "{}",
};

/// Returns the address of a peer: which, and whether that of IPv6; none where it has none, or it is not known which one is
/// meant.
pub type Addresses<'a> = &'a dyn Fn(&PeerRef, bool) -> Option<String>;

/// Puts the address of a peer, where one is named, in the place of a text. Returns whether it has one.
pub(super) fn put_address(
    text: &mut String,
    peer: Option<&PeerRef>,
    of: impl Fn(&PeerRef) -> Option<String>,
) -> bool {
    let address = peer.map(of);
    let is_known = address != Some(None);
    *text = address.flatten().unwrap_or(std::mem::take(text));
    is_known
}

/// Takes the field that says nothing out of an export. Errors where nobody routes.
pub(super) fn export(
    fields: &mut Map<String, Value>,
    peer: Option<&PeerRef>,
    groups: &BTreeSet<String>,
) -> Result<(), String> {
    match (peer, groups.is_empty()) {
        (None, true) => return Err("it has no routing peer".into()),
        (Some(_), _) => drop(fields.remove("peer_groups")),
        (None, false) => drop(fields.remove("peer")),
    }
    Ok(())
}

/// Returns it as a line of a plan says it.
pub(super) fn words(peer: Option<&PeerRef>, groups: &BTreeSet<String>, about: &About) -> String {
    match peer {
        Some(peer) => format!("the peer {}", visible(about.peer(peer))),
        None => named(groups),
    }
}
