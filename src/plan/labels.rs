//! Names in the place of ids: what people call the peers that a plan speaks of.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::account::Actual;
use crate::base::Id;
use crate::model::{Change, Operation, Resource};

/// Returns the changes with names in the place of ids in their fields, and the names of all peers of the plan: those in the
/// changes, and these members that stay. A machine that a name is bound to by this plan comes with its address: another one can
/// have the name by the time that somebody reads it.
pub(super) fn label_peers<'a>(
    mut changes: Vec<Change>,
    members: impl IntoIterator<Item = &'a Id>,
    bound: &BTreeMap<String, Option<Id>>,
    actual: &Actual,
) -> (Vec<Change>, BTreeMap<Id, String>) {
    let bound = bound.values().flatten();
    let bound = bound.filter_map(|id| Some((id.clone(), actual.peers.get(id)?)));
    let mut labels: BTreeMap<Id, String> = bound
        .filter(|(_, peer)| !peer.ip.is_empty())
        .map(|(id, peer)| (id, format!("{} ({})", peer.name, peer.ip)))
        .collect();
    let mut label = |id: &str| {
        let id = Id::from(id);
        labels
            .entry(id.clone())
            .or_insert_with(|| actual.peer_label(&id))
            .clone()
    };
    for change in &mut changes {
        for resource in [
            change.operation.live().map(|live| &live.resource),
            change.operation.after(),
        ] {
            let members = resource.and_then(Resource::members).into_iter().flatten();
            members.for_each(|id| drop(label(&id.0)));
            let named = resource.map(Resource::peers).unwrap_or_default();
            named.iter().for_each(|peer| drop(label(peer.text())));
        }
        let (Operation::Update { fields, .. } | Operation::Replace { fields, .. }) =
            &mut change.operation
        else {
            continue;
        };
        for field in fields.iter_mut() {
            for value in [&mut field.before, &mut field.after] {
                name_peers(&field.field, value, &mut label);
            }
        }
    }
    members.into_iter().for_each(|id| drop(label(&id.0)));
    (changes, labels)
}

/// Puts the names of peers in the place of their ids: in a field that holds peers, or in what a field holds.
pub(crate) fn name_peers(field: &str, value: &mut Value, label: &mut impl FnMut(&str) -> String) {
    let is_of_peers = matches!(field, "peers" | "peer");
    match value {
        Value::String(id) if is_of_peers => *id = label(id),
        Value::Array(ids) if is_of_peers => {
            for id in ids.iter_mut() {
                *id = Value::String(label(id.as_str().unwrap_or_default()));
            }
            ids.sort_by(|a, b| a.as_str().cmp(&b.as_str()));
        }
        Value::Object(inner) => {
            let inner = inner.iter_mut();
            inner.for_each(|(field, value)| name_peers(field, value, label));
        }
        _ => {}
    }
}
