//! Groups: sets of peers that everything else refers to (docs/netbird-api.md, "Groups").

use super::prelude::*;
use crate::base::text::listed;

/// A group in canonical form.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Group {
    /// Ids of its members, since names of peers prove nothing. `None` = not ours.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peers: Option<BTreeSet<Id>>,
}

/// A group as the file declares it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DeclaredGroup {
    /// Names of setup keys and of live peers; `None` leaves the members alone.
    pub peers: Option<BTreeSet<String>>,
}

const TABLE: Table<DeclaredGroup> = Table {
    what: "a group",
    fields: fields![
        /// Names of setup keys and of live peers. Left out: the members are left alone.
        own peers: names::PEERS,
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

fn entry(entry: &Cursor<'_>, log: &mut Log) -> Option<Declared> {
    let mut group = DeclaredGroup::default();
    let names: Vec<String> = entry
        .elements()
        .filter_map(|name| name.text().map(quote))
        .collect();
    match names.is_empty() {
        true => entry.object(log, &TABLE, &mut group),
        false => {
            log.error(
                entry.place(),
                "expected a group { … }, found a list of names",
            )
            .coded(Code::WrongType)
            .suggest(format!("write {{ \"peers\": [{}] }}", listed(&names)));
        }
    }
    if entry.name() == ALL {
        log.error(
            entry.key_place(),
            "All is NetBird's own group of every peer: it cannot be declared",
        )
        .suggest("refer to it without declaring it");
    }
    Some(Declared::Group(group))
}

/// An entry of `GET /groups`, with its members.
#[derive(Deserialize)]
struct GroupAnswer {
    id: Id,
    name: String,
    #[serde(default, deserialize_with = "nullable")]
    peers: Vec<Reference>,
}

impl Spec for Group {
    const KIND: Descriptor = Descriptor {
        label: "group",
        plural: "groups",
        word: "group",
        section: &["groups"],
        about: "Groups of peers by name. All is NetBird's own and cannot be declared.",
        collection: "/groups",
        can_be_renamed: true,
        deletion_event: Some("group.delete"),
        reach: Reach::Group,
        least_role: Role::NetworkAdmin,
        referred: Referred::ByName(Refers::Group),
        since: None,
        entries: Entries::Named(entry),
        outline: || TABLE.outline(),
        special: Special {
            reserved_name: Some(ALL),
            ..Special::NONE
        },
    };

    fn read(wire: Entry, _groups: &Groups) -> Result<Live, serde_json::Error> {
        let group: GroupAnswer = wire.read()?;
        let peers = group.peers.into_iter().map(|peer| peer.id).collect();
        let canonical = Group { peers: Some(peers) };
        Ok(Live::new(group.id, group.name, canonical, wire))
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
    }

    /// Members are listed by their names, once all of the account is in the file.
    fn export(&self, _fields: Map<String, Value>) -> Result<Map<String, Value>, String> {
        Ok(Map::from_iter([("peers".to_owned(), json!([]))]))
    }

    fn summary(&self, about: &About) -> String {
        let label = |id| about.peer_labels.get(id).map(String::as_str);
        let peers: Vec<&str> = self.peers.iter().flatten().filter_map(label).collect();
        let members = (!peers.is_empty()).then(|| format!("with {}", named(peers)));
        let pending = about.pending_members.get(about.name);
        let pending = pending.filter(|_| about.is_new).map(|keys| {
            let joins = if keys.len() == 1 {
                "joins when it enrolls"
            } else {
                "join when they enroll"
            };
            format!("{} {joins}", named(keys))
        });
        let parts: Vec<String> = members.into_iter().chain(pending).collect();
        match parts.is_empty() {
            true => "no members".into(),
            false => parts.join("; "),
        }
    }

    fn loss(&self, about: &About) -> Sentence {
        let peers: Vec<&str> = self
            .peers
            .iter()
            .flatten()
            .map(|id| about.label(id))
            .collect();
        match peers.len() {
            0 => Sentence::default().say("it has no members"),
            number => {
                let number = count(number, "member", "members");
                Sentence::default()
                    .say(format!("it has {number}: "))
                    .names(peers)
            }
        }
    }
}
