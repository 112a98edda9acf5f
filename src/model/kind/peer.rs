//! Peers: enrolled machines, which nobody makes or deletes by an entry (docs/netbird-api.md, "Peers").
//!
//! A peer's settings are fields of it, and not an object of their own: with its name they go in one `PUT`, which resets what is
//! left out, so a run that renames a machine and sets something of it changes one object once.

use super::PeerRef;
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
        ["groups"] => "members stand in the group", "name the peer in the group's \"peers\"";
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
        label: "peer",
        plural: "peers",
        word: "peer",
        section: &["peers"],
        about: "Settings of enrolled machines, named as in a group's \"peers\". What is left out stays as it is.",
        collection: "/peers",
        deletion_event: None,
        reach: Reach::Peer,
        least_role: Role::Admin,
        referred: Referred::ById,
        since: None,
        entries: Entries::Enrolled,
        special: Special::NONE,
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
            ours.get(field)
                .or_else(live)
                .cloned()
                .unwrap_or(json!(false))
        };
        let body = fields
            .map(|field| (field.to_owned(), value(field)))
            .collect();
        Ok(Value::Object(body))
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
