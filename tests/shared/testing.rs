//! What unit tests share: live answers by name here; a plan from a file and an account, and its outcome as short lines,
//! in `case`.
//!
//! Every id stands for a name and tells a creation second, so a test speaks of names only.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::base::entry::Entry;
use crate::base::text::visible;
use crate::model::kind::Kind;

mod case;
mod fuzz;

pub(crate) use case::{Case, committed, desired, document};

/// The second in which live objects of the tests were made, unless they say otherwise: 2026-09-21T14:13:20Z.
pub(crate) const MADE: i64 = 1_790_000_000;
/// The present of the tests: about a month later.
pub(crate) const NOW: i64 = MADE + 30 * 86_400;

/// How long the keys of the tests live, in seconds, unless they say otherwise: to a month from the present.
pub(crate) const LIFE: i64 = 60 * 86_400;

/// Returns the id of an object of that kind and name, made at [`MADE`].
pub(crate) fn id(kind: Kind, name: &str) -> String {
    id_at(kind, name, MADE)
}

/// Returns an xid that tells that second; the rest of it stands for kind and name.
pub(crate) fn id_at(kind: Kind, name: &str, second: i64) -> String {
    let bytes = kind.word().bytes().chain(name.bytes());
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
    });
    let second = u128::from(u32::try_from(second).expect("a second of this century"));
    let bits = (second << 64 | u128::from(hash)) << 4;
    let digit = |at: u32| {
        char::from_digit((bits >> (5 * (19 - at)) & 31) as u32, 32).expect("a digit of base32hex")
    };
    (0..20).map(digit).collect()
}

/// Returns an RFC 3339 time.
pub(crate) fn time(second: i64) -> String {
    Timestamp::from_second(second)
        .expect("a second of this century")
        .to_string()
}

/// Puts the fields of the second object over those of the first.
pub(crate) fn over(mut base: Value, fields: Value) -> Value {
    let (Value::Object(into), Value::Object(fields)) = (&mut base, fields) else {
        panic!("two objects are wanted");
    };
    into.extend(fields);
    base
}

/// An entry of a list, to look into.
pub(crate) fn value(entry: &Entry) -> Value {
    entry.value().expect("JSON")
}

fn embedded(kind: Kind, names: &[&str]) -> Vec<Value> {
    names
        .iter()
        .map(|name| json!({ "id": id(kind, name), "name": name }))
        .collect()
}

/// Ids of groups.
pub(crate) fn groups(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| id(Kind::Group, name)).collect()
}

/// An entry of `GET /groups`.
pub(crate) fn group(name: &str, peers: &[&str]) -> Value {
    json!({ "id": id(Kind::Group, name), "name": name, "issued": "api", "peers": embedded(Kind::Peer, peers), "peers_count": peers.len(),
            "resources": null, "resources_count": 0 })
}

/// An entry of `GET /peers`: of a setup key, enrolled at [`MADE`].
pub(crate) fn peer(name: &str) -> Value {
    peer_at(name, MADE)
}

/// An entry of `GET /peers` that enrolled at that second. Its id stands for its name and the second.
pub(crate) fn peer_at(name: &str, second: i64) -> Value {
    json!({ "id": id_at(Kind::Peer, name, second), "name": name, "hostname": name, "user_id": "", "ip": "100.92.14.7",
            "dns_label": format!("{name}.netbird.selfhosted"), "ephemeral": false, "created_at": time(second),
            "ssh_enabled": true, "login_expiration_enabled": false, "inactivity_expiration_enabled": false })
}

/// An entry of `GET /setup-keys`: one-off, sealed, valid for another month, unused.
pub(crate) fn key(name: &str, groups: &[&str]) -> Value {
    key_at(name, groups, MADE)
}

/// The same, made at that second.
pub(crate) fn key_at(name: &str, groups: &[&str], second: i64) -> Value {
    json!({ "id": id_at(Kind::SetupKey, name, second), "key": "4CDAC****", "name": name, "type": "one-off", "valid": true,
            "expires": time(second + LIFE), "revoked": false, "used_times": 0, "last_used": "0001-01-01T00:00:00Z",
            "state": "valid", "auto_groups": self::groups(groups), "updated_at": time(second + 60), "usage_limit": 1,
            "ephemeral": false, "allow_extra_dns_labels": false })
}

/// What makes a one-off key a used one.
pub(crate) fn used_at(second: i64) -> Value {
    json!({ "used_times": 1, "last_used": time(second), "state": "overused", "valid": false })
}

/// An entry of `GET /policies`: everything, both ways.
pub(crate) fn policy(name: &str, sources: &[&str], destinations: &[&str]) -> Value {
    let id = id(Kind::Policy, name);
    let rule = json!({ "id": id, "name": name, "description": "", "enabled": true, "action": "accept",
                       "bidirectional": true, "protocol": "all", "sources": embedded(Kind::Group, sources),
                       "destinations": embedded(Kind::Group, destinations) });
    json!({ "id": id, "name": name, "description": "", "enabled": true, "source_posture_checks": null,
            "rules": [rule] })
}

/// An entry of `GET /policies` whose rule has other fields.
pub(crate) fn policy_with(
    name: &str,
    sources: &[&str],
    destinations: &[&str],
    rule: Value,
) -> Value {
    let mut policy = policy(name, sources, destinations);
    policy["rules"][0] = over(policy["rules"][0].clone(), rule);
    policy
}

/// An entry of `GET /routes`, for everybody.
pub(crate) fn route(name: &str, network: &str, peer_groups: &[&str]) -> Value {
    json!({ "id": id(Kind::Route, name), "network_id": name, "network_type": "IPv4", "description": "", "enabled": true, "peer": "",
            "peer_groups": groups(peer_groups), "network": network, "domains": null, "metric": 9999, "masquerade": true,
            "groups": groups(&["All"]), "keep_route": false, "skip_auto_apply": false })
}

/// A zone with these A records: full name and address.
pub(crate) fn zone(name: &str, domain: &str, records: &[(&str, &str)], groups: &[&str]) -> Value {
    let record = |(record, ip): &(&str, &str)| json!({ "id": id(Kind::DnsRecord, &format!("{name} {record} {ip}")), "name": record, "type": "A", "content": ip, "ttl": 300 });
    json!({ "id": id(Kind::DnsZone, name), "name": name, "domain": domain, "enabled": true, "enable_search_domain": false,
            "distribution_groups": self::groups(groups), "records": records.iter().map(record).collect::<Vec<_>>() })
}

/// An entry of `GET /dns/nameservers`, for everything.
pub(crate) fn nameservers(name: &str, ips: &[&str], groups: &[&str]) -> Value {
    let servers: Vec<Value> = ips
        .iter()
        .map(|ip| json!({ "ip": ip, "ns_type": "udp", "port": 53 }))
        .collect();
    json!({ "id": id(Kind::NameserverGroup, name), "name": name, "description": "", "primary": true, "domains": null, "enabled": true,
            "groups": self::groups(groups), "nameservers": servers, "search_domains_enabled": false })
}

/// An entry of `GET /events`: a peer of that name came by that key.
pub(crate) fn enrolled(key: &str, peer: &str) -> Value {
    json!({ "id": "1", "timestamp": time(MADE), "activity_code": "peer.setupkey.add", "initiator_id": id(Kind::SetupKey, key),
            "target_id": id(Kind::Peer, peer), "meta": { "setup_key_name": key, "location_geo_name_id": "2.759794e+06" } })
}

/// Names in the place of ids: `<kind name>` for whatever of these lists stands in the text.
pub(crate) fn named(text: &str, names: &[(Kind, &str)]) -> String {
    let name = |text: String, (kind, name): &(Kind, &str)| {
        text.replace(&id(*kind, name), &format!("<{} {name}>", kind.word()))
    };
    names.iter().fold(text.to_owned(), name)
}

/// A table for a snapshot: each row's label, and what came of it indented below.
pub(crate) fn table<'a>(rows: impl IntoIterator<Item = (&'a str, String)>) -> String {
    let mut text = String::new();
    for (label, outcome) in rows {
        text.push_str(&format!("{label}\n"));
        for line in outcome.lines() {
            text.push_str(&format!("    {}\n", visible(line)));
        }
    }
    text
}

/// Recorded answers of a real server, by path and name.
pub(crate) fn recordings() -> BTreeMap<String, Value> {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut recordings = BTreeMap::new();
    for directory in ["tests/data/recordings", "tests/fakes/recordings/netbird"] {
        for entry in
            std::fs::read_dir(root.join(directory)).expect("the recordings are in the repository")
        {
            let path = entry.expect("a directory entry").path();
            let name = path
                .file_stem()
                .and_then(|stem| stem.to_str())
                .map(str::to_owned);
            let text = std::fs::read(&path).expect("a readable recording");
            let recording = serde_json::from_slice(&text).expect("a recording in JSON");
            recordings.insert(name.expect("a name in ASCII"), recording);
        }
    }
    recordings
}
