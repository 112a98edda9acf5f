//! Setup keys and the groups that list them.

use std::borrow::Cow;

use rustc_hash::{FxHashMap, FxHashSet};

use super::of_kind;
use crate::base::Code;
use crate::file::{Cursor, Log, quote};
use crate::model::kind::values::names;
use crate::model::{Desired, InFile, KeyType, Kind, SetupKey, hint};

/// Notes pending keys that a group forgets, and members that look like a key and are none.
pub(super) fn check(entries: &[InFile<'_>], desired: &Desired, log: &mut Log) {
    let keys = of_kind(entries, Kind::SetupKey);
    // who gives a reusable key leaves it to the key who is in its groups
    let is_one_off = |key: &SetupKey| key.key_type == KeyType::OneOff;
    let is_pending = |name: &str| {
        desired.awaits_enrollment(name) && desired.setup_key(name).is_some_and(is_one_off)
    };
    let groups: FxHashMap<&str, Cursor<'_>> = peers_of(entries).collect();
    let pending = keys.filter(|entry| is_pending(&entry.address.name));
    pending.for_each(|entry| check_listed(entry, &groups, desired, log));
    check_members(entries, desired, log);
}

/// The `peers` of every group that has them.
fn peers_of<'e, 'a>(
    entries: &'e [InFile<'a>],
) -> impl Iterator<Item = (&'a str, Cursor<'a>)> + use<'e, 'a> {
    let groups = of_kind(entries, Kind::Group);
    groups.filter_map(|entry| Some((entry.cursor.name(), entry.cursor.get("peers")?)))
}

/// The peers that entries name outside of groups, and those that entries are about.
fn single_peers<'e, 'a>(
    entries: &'e [InFile<'a>],
) -> impl Iterator<Item = (Cursor<'a>, &'a str)> + use<'e, 'a> {
    entries.iter().flat_map(|entry| {
        // what stands in another object is an entry of its own
        let is_flat = entry.address.kind.children().next().is_none();
        let inner = entry.cursor.members().filter(move |_| is_flat);
        let inner = inner.flat_map(Cursor::elements);
        let holders = entry.cursor.members().chain(inner).chain([entry.cursor]);
        let named = holders.filter_map(|holder| holder.get("peer"));
        let named = named.filter_map(|peer| Some((peer, peer.text()?)));
        let is_one = entry.address.kind.enrolls();
        let itself = is_one.then(|| (entry.cursor, entry.cursor.name()));
        named.chain(itself).collect::<Vec<_>>()
    })
}

/// A peer that joins by its key, and is not listed where members are, would be thrown out by the next apply.
fn check_listed(
    entry: &InFile<'_>,
    groups: &FxHashMap<&str, Cursor<'_>>,
    desired: &Desired,
    log: &mut Log,
) {
    let key = entry.cursor.name();
    let granted = entry.cursor.get("auto_groups");
    for granted in granted.iter().flat_map(|list| list.elements()) {
        let group = granted.text().unwrap_or_default();
        let declared = desired.group(group).and_then(|group| group.listed.as_ref());
        let (Some(members), Some(peers)) = (declared, groups.get(group)) else {
            continue;
        };
        if members.contains(key) {
            continue;
        }
        let (group, key, place) = (quote(group), quote(key), peers.place());
        let among = format!("group {group} lists its peers, and {key} is not among them");
        let message = format!("{among}: the next apply would undo its enrollment");
        let flaw = log.error(granted.place(), message).coded(Code::Members);
        flaw.suggest(format!(
            "add {key} to {} in line {}",
            place.path, place.line
        ));
    }
}

/// Members are matched with keys by name: one that only looks like a key's name is some other peer.
fn check_members(entries: &[InFile<'_>], desired: &Desired, log: &mut Log) {
    let keys = || of_kind(entries, Kind::SetupKey).map(|entry| entry.cursor.name());
    let declared = desired.setup_keys();
    let declared = declared.map(|(name, key)| (name.as_str(), key));
    let declared: FxHashMap<&str, &SetupKey> = declared.collect();
    let composed: FxHashMap<Cow<str>, &str> = keys().map(|name| (names::nfc(name), name)).collect();
    let folded: FxHashMap<Cow<str>, &str> = keys().map(|name| (names::fold(name), name)).collect();
    let groups = of_kind(entries, Kind::Group).map(|entry| entry.cursor.name());
    let groups: FxHashSet<&str> = groups.collect();
    let of_groups = peers_of(entries).flat_map(|(_, peers)| peers.elements());
    let of_groups = of_groups.filter_map(|member| Some((member, member.text()?)));
    for (member, name) in of_groups.chain(single_peers(entries)) {
        let (place, shown) = (|| member.place(), || quote(name));
        let sibling = folded.get(&names::fold(name));
        // what is like no key in any spelling is none
        if let Some(key) = sibling.and_then(|_| declared.get(name)) {
            if !key.enrolled && !key.is_for_one_peer() {
                let kind = match key.key_type {
                    KeyType::Reusable => "a reusable",
                    KeyType::OneOff => "an ephemeral",
                };
                let text = format!("{} is {kind} setup key, which names no peer", shown());
                let notice = log.notice(Code::KeyOfMany, place(), text);
                notice.suggest("write the name of one peer; to mean all of them, put a group into the key's auto_groups and name that group");
            }
            continue;
        }
        let twin = sibling.and_then(|_| composed.get(&names::nfc(name)));
        if let Some(twin) = twin.filter(|twin| **twin != name) {
            let like = "looks like a setup key's name, but is made of other characters";
            let flaw = log.error(place(), format!("{} {like}", shown()));
            let hint = format!("copy the name {} from \"setup_keys\"", quote(twin));
            flaw.coded(Code::Members).suggest(hint);
        } else if let Some(sibling) = sibling.filter(|key| **key != name) {
            let (shown, sibling) = (shown(), quote(sibling));
            let text = format!("{shown} differs from the setup key {sibling} by case");
            log.notice(Code::CaseTwin, place(), text);
        } else if let Some((what, hint)) = odd_member(name, &groups) {
            let shown = shown();
            let text = format!("{shown} {what}");
            let notice = log.notice(Code::OddMember, place(), text);
            notice.brief(format!("{shown} ({hint})")).suggest(hint);
        }
    }
}

/// What may be meant by a member that can hardly be a peer.
fn odd_member(name: &str, groups: &FxHashSet<&str>) -> Option<(&'static str, String)> {
    let of_group = "is the name of a group, and a group cannot be a member of a group";
    match groups.contains(name) {
        true => Some((of_group, "list its setup keys and peers one by one".into())),
        false => Some((
            "does not look like the name of a peer",
            hint::member(name, [])?,
        )),
    }
}

#[cfg(test)]
mod tests {
    use snapbox::str;

    use crate::check::validate::testing::{assert_table, table};

    fn file(key: &str) -> String {
        format!(
            r#"{{"groups": {{"g": {{"peers": [ROW]}}, "free": {{}}}}, "setup_keys": {{"node-1": {{{key}}}}}}}"#
        )
    }

    #[test]
    fn a_pending_key_is_listed_where_members_are() {
        let pending = r#""type": "one-off", "expires_in": 3600, "auto_groups": ["free", "g"]"#;
        assert_table(
            &file(pending),
            &["", r#""node-1""#, r#""node-2""#],
            str![[r#"

    setup_keys.node-1.auto_groups[1]: group "g" lists its peers, and "node-1" is not among them: the next apply would undo its enrollment | add "node-1" to groups.g.peers in line 1
"node-1"
"node-2"
    setup_keys.node-1.auto_groups[1]: group "g" lists its peers, and "node-1" is not among them: the next apply would undo its enrollment | add "node-1" to groups.g.peers in line 1

"#]],
        );
        for not_pending in [
            r#""type": "one-off", "expires_in": 3600, "auto_groups": ["g"], "enrolled": true"#,
            r#""type": "one-off", "expires_in": 3600, "auto_groups": ["g"], "ephemeral": true"#,
            r#""type": "one-off", "expires_in": 3600, "auto_groups": ["free"]"#,
            r#""type": "one-off", "expires_in": 3600"#,
            r#""type": "reusable", "expires_in": 3600, "usage_limit": 2, "auto_groups": ["g"]"#,
        ] {
            assert_eq!(
                table(&file(not_pending), &["", r#""node-2""#]),
                "\n\"node-2\"\n",
                "{not_pending}"
            );
        }
    }

    #[test]
    fn members_that_are_hardly_peers() {
        assert_table(
            &file(r#""type": "one-off", "expires_in": 3600"#),
            &[
                r#""100.92.14.7""#,
                r#""edge-1.netbird.cloud""#,
                r#""d2m7q0rl0ubs73a9k2v0""#,
                r#""*""#,
                r#""free""#,
                r#""edge-1.example.com""#,
            ],
            str![[r#"
"100.92.14.7"
    note: groups.g.peers[0]: "100.92.14.7" does not look like the name of a peer | this looks like an address: members are the names of setup keys and of peers
"edge-1.netbird.cloud"
    note: groups.g.peers[0]: "edge-1.netbird.cloud" does not look like the name of a peer | this looks like a DNS name: members are the names of setup keys and of peers
"d2m7q0rl0ubs73a9k2v0"
    note: groups.g.peers[0]: "d2m7q0rl0ubs73a9k2v0" does not look like the name of a peer | this looks like an id of NetBird: members are the names of setup keys and of peers
"*"
    note: groups.g.peers[0]: "*" does not look like the name of a peer | members are named one by one; every peer is in "All" without being listed
"free"
    note: groups.g.peers[0]: "free" is the name of a group, and a group cannot be a member of a group | list its setup keys and peers one by one
"edge-1.example.com"

"#]],
        );
    }

    #[test]
    fn single_peers_that_are_nearly_keys() {
        let file = r#"{ "groups": { "g": {} }, ROW,
            "setup_keys": { "fleet": { "type": "reusable", "expires_in": 3600, "usage_limit": 2, "auto_groups": ["g"] } } }"#;
        let rows = [
            r#""routes": { "r": [{ "network": "10.0.0.0/8", "peer": "fleet", "groups": ["g"] }] }"#,
            r#""networks": { "n": { "routers": [{ "peer": "Fleet" }] } }"#,
            r#""policies": { "p": { "sources": ["g"], "destination_resource": { "peer": "fleet" } } }"#,
            r#""policies": { "p": { "source_resource": { "peer": "fleet" }, "destinations": ["g"] } }"#,
            r#""peers": { "fleet": { "ssh_enabled": false } }"#,
        ];
        assert_table(
            file,
            &rows,
            str![[r#"
"routes": { "r": [{ "network": "10.0.0.0/8", "peer": "fleet", "groups": ["g"] }] }
    note: routes.r[0].peer: "fleet" is a reusable setup key, which names no peer | write the name of one peer; to mean all of them, put a group into the key's auto_groups and name that group
"networks": { "n": { "routers": [{ "peer": "Fleet" }] } }
    note: networks.n.routers[0].peer: "Fleet" differs from the setup key "fleet" by case
"policies": { "p": { "sources": ["g"], "destination_resource": { "peer": "fleet" } } }
    note: policies.p.destination_resource.peer: "fleet" is a reusable setup key, which names no peer | write the name of one peer; to mean all of them, put a group into the key's auto_groups and name that group
"policies": { "p": { "source_resource": { "peer": "fleet" }, "destinations": ["g"] } }
    note: policies.p.source_resource.peer: "fleet" is a reusable setup key, which names no peer | write the name of one peer; to mean all of them, put a group into the key's auto_groups and name that group
"peers": { "fleet": { "ssh_enabled": false } }
    note: peers.fleet: "fleet" is a reusable setup key, which names no peer | write the name of one peer; to mean all of them, put a group into the key's auto_groups and name that group

"#]],
        );
    }

    #[test]
    fn members_that_are_nearly_keys() {
        let rows = [r#""node-1""#, r#""Node-1""#, r#""node-1", "NODE-1""#];
        let done = r#""type": "one-off", "expires_in": 3600, "enrolled": true"#;
        assert_table(
            &file(done),
            &rows,
            str![[r#"
"node-1"
"Node-1"
    note: groups.g.peers[0]: "Node-1" differs from the setup key "node-1" by case
"node-1", "NODE-1"
    note: groups.g.peers[1]: "NODE-1" differs from the setup key "node-1" by case

"#]],
        );
        let reusable = r#""type": "reusable", "expires_in": 3600, "usage_limit": 2"#;
        assert_table(
            &file(reusable),
            &rows[..1],
            str![[r#"
"node-1"
    note: groups.g.peers[0]: "node-1" is a reusable setup key, which names no peer | write the name of one peer; to mean all of them, put a group into the key's auto_groups and name that group

"#]],
        );
        let ephemeral = r#""type": "one-off", "expires_in": 3600, "ephemeral": true"#;
        assert_table(
            &file(ephemeral),
            &rows[..1],
            str![[r#"
"node-1"
    note: groups.g.peers[0]: "node-1" is an ephemeral setup key, which names no peer | write the name of one peer; to mean all of them, put a group into the key's auto_groups and name that group

"#]],
        );
        let umlaut = file(done).replace("node-1", "B\\u00fcro");
        assert_table(
            &umlaut,
            &[r#""Bu\u0308ro""#],
            str![[r#"
"Bu\u0308ro"
    groups.g.peers[0]: "Büro" looks like a setup key's name, but is made of other characters | copy the name "Büro" from "setup_keys"

"#]],
        );
    }
}
