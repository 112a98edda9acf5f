//! Who routes: groups of peers, or one peer in their place. Routes and routers of networks say it in the same two fields.

use super::prelude::*;

/// The two fields, of which an entry has one: the server refuses both, and neither (docs/netbird-api.md, "Routes",
/// "Networks").
pub(super) const FIELDS: [&str; 2] = ["peer_groups", "peer"];

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
