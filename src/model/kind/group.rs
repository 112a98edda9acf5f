//! Groups: sets of peers that everything else refers to (docs/netbird-api.md, "Groups").

use serde::Deserializer;

use super::prelude::*;

/// A group in canonical form.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Group {
    /// Ids of its members, since names of peers prove nothing. `None` = not ours.
    #[serde(deserialize_with = "members", skip_serializing_if = "Option::is_none")]
    pub peers: Option<BTreeSet<Id>>,
    /// As the file lists them: names of setup keys and of live peers. `None` leaves the members alone.
    #[serde(skip)]
    pub listed: Option<BTreeSet<String>>,
}

impl Group {
    /// A group with these members.
    pub fn with(peers: Option<BTreeSet<Id>>) -> Self {
        let listed = None;
        Group { peers, listed }
    }

    /// Returns whether the file lists a member by that name.
    pub fn lists(&self, name: &str) -> bool {
        let listed = self.listed.as_ref();
        listed.is_some_and(|listed| listed.contains(name))
    }
}

/// Reads the members of an answer.
fn members<'de, D: Deserializer<'de>>(from: D) -> Result<Option<BTreeSet<Id>>, D::Error> {
    let members: Vec<Reference> = nullable(from)?;
    Ok(Some(members.into_iter().map(|peer| peer.id).collect()))
}

const TABLE: Table<Group> = Table {
    what: "a group",
    fields: fields![
        /// Names of setup keys and peers. Without it, the members are not changed.
        may listed as "peers": names::PEERS,
        ; renamed_from(),
    ],
    refused: refused![
        ["description"] => "groups have no description in NetBird", "leave it out: the commit says why";
        Refused::NAME;
        Refused::ID;
        ["members", "users"] => peers;
        ["resources"] => "the groups of a network resource are listed in the resource",
            "write \"networks\": { \"NAME\": { \"resources\": { \"NAME\": { \"groups\": [ … ] } } } }";
    ],
    rules: "{}",
};

const BY_NAME: Referred = Referred::ByName(Refers::Group);

impl Spec for Group {
    const KIND: Descriptor = Descriptor {
        called: ["group", "groups", "group"],
        section: &["groups"],
        about: "Groups of peers by name. All is NetBird's own and cannot be declared.",
        collection: "/groups",
        deletion_event: Some("group.delete"),
        reserved_name: Some(ALL),
        unique: Unique::AtCreation,
        ..Descriptor::of(Reach::Group, Role::NetworkAdmin, BY_NAME)
    };

    const TABLE: &'static Table<Self> = &TABLE;

    fn unseen(&self) -> Value {
        json!(self.listed)
    }

    fn settle(self, entry: &Cursor<'_>, _within: Option<&Resource>, log: &mut Log) -> Option<Self> {
        if entry.name() == ALL {
            let message = "All is NetBird's own group of every peer: it cannot be declared";
            let flaw = log.error(entry.key_place(), message);
            flaw.suggest("refer to it without declaring it");
        }
        Some(self)
    }

    fn tidy(&mut self, _groups: &Groups) {
        self.peers.get_or_insert_default();
    }

    /// A PUT that leaves out `peers` or `resources` empties them, so both are always sent.
    fn request(&self, sent: Sent) -> Result<Value, Unresolved> {
        let Sent { name, live, .. } = sent;
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
        Ok(Value::Object(body))
    }

    fn keep(&mut self, live: &Self) {
        keep(&mut self.peers, &live.peers);
        self.listed.clone_from(&live.listed);
    }

    /// Members are listed by their names, once all of the account is in the file.
    fn export(&self, _fields: Map<String, Value>) -> Result<Map<String, Value>, String> {
        Ok(Map::from_iter([("peers".to_owned(), json!([]))]))
    }

    fn summary(&self, about: &About) -> String {
        let peers = self.peers.iter().flatten();
        let peers: Vec<&String> = peers.filter_map(|id| about.peer_labels.get(id)).collect();
        let members = (!peers.is_empty()).then(|| format!("with {}", named(peers)));
        let pending = about.pending_members.get(about.name);
        let pending = pending
            .filter(|_| about.is_new)
            .map(|keys| match keys.len() {
                1 => format!("{} joins when it enrolls", named(keys)),
                _ => format!("{} join when they enroll", named(keys)),
            });
        match joined(members.into_iter().chain(pending), "; ") {
            parts if parts.is_empty() => "no members".into(),
            parts => parts,
        }
    }

    fn loss(&self, about: &About) -> Sentence {
        let peers = self.peers.iter().flatten();
        match peers.clone().count() {
            0 => "it has no members".into(),
            number => {
                let number = count(number, "member", "members");
                let text = Sentence::from(format!("it has {number}: "));
                text.names(peers.map(|id| about.label(id)))
            }
        }
    }
}
