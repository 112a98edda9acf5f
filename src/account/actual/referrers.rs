//! Who else keeps a group or a peer from being deleted: what the file cannot declare (docs/netbird-api.md, "What keeps
//! an object").
//!
//! Some of it the server checks and refuses, naming one at a time; some it lets dangle. Both are named here, all of it,
//! in words that people know: by name, with the network it is in.

use std::collections::BTreeMap;

use anyhow::Result;
use serde_json::Value;

use super::{Actual, Lists, typed};
use crate::account::Snapshot;
use crate::base::{Entry, Id, count, quoted};
use crate::model::{ALL, Kind};
use crate::wire::api::objects;

/// A list of what no file manages, which not every server has (docs/netbird-api.md, "What keeps an object").
struct Part {
    path: &'static str,
    /// What people call one of its entries, and several.
    labels: [&'static str; 2],
    /// The field that names an entry.
    name: &'static str,
    /// Where an entry holds ids of groups, peers and network resources; `*` is each entry of a list.
    holds: &'static [&'static str],
}

const PARTS: [Part; 6] = [
    Part {
        path: "/identity-providers",
        labels: ["identity provider", "identity providers"],
        name: "name",
        holds: &[],
    },
    Part {
        path: "/reverse-proxies/domains",
        labels: ["reverse proxy domain", "reverse proxy domains"],
        name: "domain",
        holds: &[],
    },
    Part {
        path: "/reverse-proxies/services",
        labels: ["reverse proxy service", "reverse proxy services"],
        name: "domain",
        holds: &[
            "access_groups",
            "auth.bearer_auth.distribution_groups",
            "targets.*.target_id",
        ],
    },
    Part {
        path: "/ingress/peers",
        labels: ["ingress peer", "ingress peers"],
        name: "ingress_ip",
        holds: &["peer_id"],
    },
    Part {
        path: "/agent-network/policies",
        labels: ["agent network policy", "agent network policies"],
        name: "name",
        holds: &["source_groups"],
    },
    Part {
        path: "/agent-network/budget-rules",
        labels: ["agent network budget rule", "agent network budget rules"],
        name: "name",
        holds: &["target_groups"],
    },
];

/// Returns the lists of which a server may have none.
pub fn optional_lists() -> impl Iterator<Item = &'static str> {
    PARTS.iter().map(|part| part.path)
}

/// Returns those of them whose entries keep something else from being deleted.
pub fn holding_lists() -> impl Iterator<Item = &'static str> {
    let holding = PARTS.iter().filter(|part| !part.holds.is_empty());
    holding.map(|part| part.path)
}

/// Returns what such lists have, as in `2 identity providers: "corp" and "lab"`.
pub fn beside_the_kinds(parts: &BTreeMap<String, Vec<Entry>>) -> Vec<String> {
    let said = |part: &Part| {
        let entries = parts.get(part.path)?.iter();
        let mut names: Vec<String> = entries.map(|entry| part.name_of(entry)).collect();
        names.sort();
        let [one, several] = part.labels;
        (!names.is_empty()).then(|| {
            let number = count(names.len(), one, several);
            format!("{number}: {}", quoted(&names))
        })
    };
    PARTS.iter().filter_map(said).collect()
}

impl Part {
    fn name_of(&self, entry: &Entry) -> String {
        let entry = entry.value().unwrap_or_default();
        let name = entry[self.name].as_str().or(entry["id"].as_str());
        name.unwrap_or_default().to_owned()
    }
}

impl Actual {
    pub(super) fn read_referrers(&mut self, snapshot: &Snapshot, lists: &Lists) -> Result<()> {
        self.read_resources(lists);
        for user in typed::<objects::User>("users", &snapshot.rest.users)? {
            // people are objects of their own
            for group in user.auto_groups.iter().filter(|_| !user.has_address()) {
                self.hold(group, format!("user {}", user.name));
            }
            if user.is_current {
                self.me = Some(user);
            }
        }
        self.read_parts(snapshot);
        Ok(())
    }

    /// What groups hold beside peers and network resources: peers as resources, and resources that are no more.
    fn read_resources(&mut self, lists: &Lists) {
        let listed = lists.get(&Kind::NetworkResource);
        let groups = std::mem::take(&mut self.listed_groups);
        for group in &groups {
            for resource in &group.resources {
                let id = resource.id.as_str();
                let words = match resource.kind == "peer" {
                    true => {
                        let peer = self.peer_label(&Id::from(id));
                        format!("peer {peer:?} as a resource of it")
                    }
                    // it says itself which groups it is in
                    false if listed.is_some_and(|listed| listed.contains_key(id)) => continue,
                    false if listed.is_some() => {
                        let words = format!("network resource {id}, which no longer exists");
                        let gone = self.gone_resources.entry(group.id.clone());
                        gone.or_default().insert(words.clone());
                        words
                    }
                    false => format!("network resource {id}"),
                };
                if group.name != ALL {
                    self.hold(&group.id, words);
                }
            }
        }
        self.listed_groups = groups;
    }

    fn read_parts(&mut self, snapshot: &Snapshot) {
        for part in &PARTS {
            for entry in snapshot.rest.parts.get(part.path).into_iter().flatten() {
                let words = format!("{} {:?}", part.labels[0], part.name_of(entry));
                let entry = &entry.value().unwrap_or_default();
                for id in part.holds.iter().flat_map(|path| texts(entry, path)) {
                    self.hold(&Id::from(id), words.clone());
                }
            }
        }
    }

    fn hold(&mut self, object: &Id, holder: String) {
        let holders = self.holders.entry(object.clone());
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
