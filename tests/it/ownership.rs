//! What is ours? Each case of docs/ownership.md: start from agreement, change one thing.

mod accidents;
mod allow;
mod checkout;
mod forms;
mod gates;
mod histories;
mod keys;
mod members;
mod objects;
mod offboarding;
mod real;
mod renames;
mod replaced;
mod run_again;
mod takeover;

use serde_json::{Value, json};

use crate::run::{Bench, id};

/// A file with the group that everything refers to, and nothing else in its sections.
pub(crate) fn base() -> Value {
    json!({ "groups": { "g": {} }, "setup_keys": {}, "policies": {}, "routes": {}, "networks": {},
            "dns": { "nameserver_groups": {}, "zones": {} } })
}

/// One of each kind: section, path, and what the file says of it.
pub(crate) fn kinds() -> [(&'static str, &'static str, Value); 7] {
    [
        ("groups", "/groups", json!({})),
        (
            "setup_keys",
            "/setup-keys",
            json!({ "type": "reusable", "expires_in": 0 }),
        ),
        (
            "policies",
            "/policies",
            json!({ "sources": ["g"], "destinations": ["g"] }),
        ),
        (
            "routes",
            "/routes",
            json!({ "network": "10.1.0.0/16", "peer_groups": ["g"], "groups": ["g"] }),
        ),
        (
            "nameserver_groups",
            "/dns/nameservers",
            json!({ "nameservers": [{ "ip": "10.0.0.53" }], "groups": ["g"], "domains": ["x.example"] }),
        ),
        (
            "zones",
            "/dns/zones",
            json!({ "domain": "x.example", "distribution_groups": ["g"], "records": [] }),
        ),
        (
            "networks",
            "/networks",
            json!({ "description": "x", "resources": {}, "routers": [] }),
        ),
    ]
}

/// The file with one more entry.
pub(crate) fn with(mut file: Value, section: &str, name: &str, mut entry: Value) -> Value {
    // one zone a domain
    let zones = file["dns"]["zones"].as_object();
    let mut zones = zones.into_iter().flatten();
    if section == "zones" && zones.any(|(_, zone)| zone["domain"] == entry["domain"]) {
        entry["domain"] = json!(format!("{name}.example"));
    }
    match section {
        "nameserver_groups" | "zones" => file["dns"][section][name] = entry,
        _ => file[section][name] = entry,
    }
    file
}

/// `delete_group x`, by section.
pub(crate) fn operation(verb: &str, section: &str, name: &str) -> String {
    format!("{verb}_{} {name}", kind(section))
}

/// The kind of a section's objects, as JSON names it.
fn kind(section: &str) -> &str {
    match section {
        "policies" => "policy",
        "zones" => "dns_zone",
        section => section.trim_end_matches('s'),
    }
}

/// Makes an object by hand, equal to what the file of `kinds` says.
pub(crate) fn by_hand(bench: &Bench, section: &str, name: &str) -> String {
    let g = match section {
        "policies" | "routes" | "nameserver_groups" | "zones" => bench.id("/groups", "g"),
        _ => String::new(),
    };
    let zones = bench.server().list("/dns/zones");
    let domain = match zones.iter().any(|zone| zone["domain"] == "x.example") {
        true => format!("{name}-{}.example", zones.len()),
        false => "x.example".into(),
    };
    let (path, body) = match section {
        "groups" => ("/groups", json!({ "name": name })),
        "setup_keys" => (
            "/setup-keys",
            json!({ "name": name, "type": "reusable", "expires_in": 0, "auto_groups": [] }),
        ),
        "policies" => (
            "/policies",
            json!({ "name": name, "enabled": true, "rules": [{ "name": name, "enabled": true, "action": "accept",
                    "bidirectional": true, "protocol": "all", "sources": [g], "destinations": [g] }] }),
        ),
        "routes" => (
            "/routes",
            json!({ "network_id": name, "network": "10.1.0.0/16", "peer_groups": [g], "groups": [g], "metric": 9999,
                    "masquerade": true, "enabled": true, "description": "" }),
        ),
        "networks" => ("/networks", json!({ "name": name, "description": "x" })),
        "zones" => (
            "/dns/zones",
            json!({ "name": name, "domain": domain, "distribution_groups": [g] }),
        ),
        _ => (
            "/dns/nameservers",
            json!({ "name": name, "nameservers": [{ "ip": "10.0.0.53", "ns_type": "udp", "port": 53 }], "groups": [g],
                    "primary": false, "domains": ["x.example"], "enabled": true, "search_domains_enabled": false,
                    "description": "" }),
        ),
    };
    id(&bench.create(path, body))
}
