//! Who else keeps a group or a peer from being deleted: what the file cannot declare (docs/netbird-api.md, "What keeps
//! an object").
//!
//! Some of it the server checks and refuses, naming one at a time; some it lets dangle. Both are named here, all of it,
//! in words that people know: by name, with the network it is in.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{Actual, Unreadable, typed};
use crate::account::snapshot::Snapshot;
use crate::base::id::Id;
use crate::model::kind::{ALL, Kind};
use crate::wire::api::objects;

/// A part of NetBird that not every server has: its list, what people call an entry, and where that holds groups or peers.
/// `*` stands for each entry of a list.
struct Part {
    path: &'static str,
    label: &'static str,
    name: &'static str,
    groups: &'static [&'static str],
    peers: &'static [&'static str],
}

/// Read, not run: docs/netbird-api.md, "What keeps an object".
const PARTS: [Part; 4] = [
    Part {
        path: "/reverse-proxies/services",
        label: "reverse proxy service",
        name: "domain",
        groups: &["access_groups", "auth.bearer_auth.distribution_groups"],
        peers: &["targets.*.target_id"],
    },
    Part {
        path: "/ingress/peers",
        label: "ingress peer",
        name: "ingress_ip",
        groups: &[],
        peers: &["peer_id"],
    },
    Part {
        path: "/agent-network/policies",
        label: "agent network policy",
        name: "name",
        groups: &["source_groups"],
        peers: &[],
    },
    Part {
        path: "/agent-network/budget-rules",
        label: "agent network budget rule",
        name: "name",
        groups: &["target_groups"],
        peers: &[],
    },
];

/// Returns the lists of which a server may have none.
pub fn optional_lists() -> impl Iterator<Item = &'static str> {
    PARTS.iter().map(|part| part.path)
}

impl Actual {
    pub(super) fn read_referrers(
        &mut self,
        snapshot: &Snapshot,
        groups: &[objects::Group],
    ) -> Result<(), Unreadable> {
        self.read_resources(snapshot, groups)?;
        for user in typed::<objects::User>("users", &snapshot.rest.users)? {
            for group in &user.auto_groups {
                self.refer(group, format!("user {}", user.name));
            }
            if user.is_current {
                self.me = Some(user);
            }
        }
        self.read_parts(snapshot);
        Ok(())
    }

    /// What groups hold beside peers and network resources: peers as resources, and resources that are no more.
    fn read_resources(
        &mut self,
        snapshot: &Snapshot,
        groups: &[objects::Group],
    ) -> Result<(), Unreadable> {
        #[derive(serde::Deserialize)]
        struct Listed {
            id: String,
        }
        let is_known = snapshot.has(Kind::NetworkResource);
        let listed = typed::<Listed>("network_resources", snapshot.list(Kind::NetworkResource))?;
        let listed: BTreeSet<String> = listed.into_iter().map(|resource| resource.id).collect();
        for group in groups {
            for resource in &group.resources {
                let id = resource.id.as_str();
                let words = match resource.kind == "peer" {
                    true => {
                        let peer = self.peer_label(&Id::from(id));
                        format!("peer {peer:?} as a resource of it")
                    }
                    // it says itself which groups it is in
                    false if listed.contains(id) => continue,
                    false if is_known => {
                        let words = format!("network resource {id}, which no longer exists");
                        let gone = self.gone_resources.entry(group.id.clone());
                        gone.or_default().insert(words.clone());
                        words
                    }
                    false => format!("network resource {id}"),
                };
                if group.name != ALL {
                    self.refer(&group.id, words);
                }
            }
        }
        Ok(())
    }

    fn read_parts(&mut self, snapshot: &Snapshot) {
        for part in &PARTS {
            for entry in snapshot.rest.parts.get(part.path).into_iter().flatten() {
                let entry = &entry.value().unwrap_or_default();
                let name = entry[part.name].as_str().or(entry["id"].as_str());
                let words = format!("{} {:?}", part.label, name.unwrap_or_default());
                for group in part.groups.iter().flat_map(|path| texts(entry, path)) {
                    self.refer(&Id::from(group), words.clone());
                }
                for peer in part.peers.iter().flat_map(|path| texts(entry, path)) {
                    self.hold(peer, words.clone());
                }
            }
        }
    }

    fn refer(&mut self, group: &Id, referrer: String) {
        let referrers = self.unmanaged_referrers.entry(group.clone());
        referrers.or_default().insert(referrer);
    }

    fn hold(&mut self, peer: &str, holder: String) {
        let holders = self.peer_holders.entry(Id::from(peer));
        holders.or_default().insert(holder);
    }
}

/// The texts at a path of fields, at its end those of a list too.
fn texts<'a>(value: &'a Value, path: &str) -> Vec<&'a str> {
    match (path.split_once('.').unwrap_or((path, "")), value) {
        (("", _), Value::String(text)) => vec![text],
        (("", _), Value::Array(list)) => list.iter().filter_map(Value::as_str).collect(),
        (("*", rest), Value::Array(list)) => list.iter().flat_map(|one| texts(one, rest)).collect(),
        ((field, rest), Value::Object(fields)) => fields
            .get(field)
            .map(|one| texts(one, rest))
            .unwrap_or_default(),
        _ => Vec::new(),
    }
}
