//! Who routes: groups of peers, or one peer in their place. Routes and routers of networks say it in the same two fields.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::peer_ref::{self, PeerRef};
use super::values::names;
use super::words::named;
use super::{About, End, Shape as FormShape, Tie};
use crate::code::Code;
use crate::config::{Cursor, Log, Shape, Table, Takes};
use crate::text::visible;

/// Groups whose peers do the routing.
pub(super) const GROUPS: Takes<BTreeSet<String>> = Takes(Shape::SomeGroups, |list, log| {
    let why = "the peers of these groups do the routing";
    names::some_groups(list, log, why).unwrap_or_default()
});

/// The one peer that does the routing.
pub(super) const PEER: Takes<Option<PeerRef>> = Takes(
    Shape::Schema(r##"{"$ref": "#/definitions/name"}"##),
    peer_ref::read,
);

/// Notes where an entry has both fields, or neither: the server refuses that (docs/netbird-api.md, "Routes", "Networks").
pub(super) fn check<T>(entry: &Cursor<'_>, table: &Table<T>, way_out: &str, log: &mut Log) {
    let what = table.what;
    match (entry.get("peer_groups"), entry.get("peer")) {
        (Some(_), Some(peer)) => {
            let text = format!("{what} goes through groups of peers or through one peer, not both");
            log.error(peer.key_place(), text)
                .suggest(way_out.to_owned());
        }
        (None, None)
            if entry.is_object()
                && !entry.mentions(table, "peer_groups")
                && !entry.mentions(table, "peer") =>
        {
            let text = format!("{what} needs \"peer_groups\" or \"peer\"");
            log.error(entry.key_place(), text).coded(Code::MissingField);
        }
        _ => (),
    }
}

/// Returns whether a file can say it, and the tie that it is.
pub(super) fn form(peer: Option<&PeerRef>, groups: &BTreeSet<String>) -> (FormShape, Tie) {
    let tie = match peer {
        Some(peer) => Tie {
            end: End::ThroughPeer,
            names: BTreeSet::from([peer.text().to_owned()]),
        },
        None => Tie {
            end: End::Through,
            names: groups.clone(),
        },
    };
    match tie.names.is_empty() {
        true => (FormShape::Elsewhere, tie),
        false => (FormShape::Plain, tie),
    }
}

/// Takes the field that says nothing out of an export. Errors where nobody routes.
pub(super) fn export(
    fields: &mut Map<String, Value>,
    peer: Option<&PeerRef>,
    groups: &BTreeSet<String>,
) -> Result<(), String> {
    match (peer, groups.is_empty()) {
        (None, true) => return Err("it goes through nobody".into()),
        (Some(_), _) => drop(fields.remove("peer_groups")),
        (None, false) => drop(fields.remove("peer")),
    }
    Ok(())
}

/// Returns it as a line of a plan says it.
pub(super) fn words(peer: Option<&PeerRef>, groups: &BTreeSet<String>, about: &About) -> String {
    match peer {
        Some(peer) => format!("the peer {}", visible(about.peer(peer))),
        None => named(groups.iter().map(String::as_str)),
    }
}
