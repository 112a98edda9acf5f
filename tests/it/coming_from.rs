//! docs/coming-from.md: each row of its tables is tried, and its ways in and out are walked.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::run::{Bench, INVENTORY, Site, open};

const PAGE: &str = include_str!("../../docs/coming-from.md");

/// The resources of netbirdio/terraform-provider-netbird at 47c6f28, and the kinds of netbirdio/kubernetes-operator at 627e388
/// (those that begin with NB are of its first version).
const THEIRS: &str = "\
    netbird_account_settings netbird_agent_network_guardrail netbird_agent_network_policy netbird_agent_network_provider \
    netbird_agent_network_settings netbird_dns_record netbird_dns_settings netbird_dns_zone netbird_group \
    netbird_identity_provider netbird_nameserver_group netbird_network netbird_network_resource netbird_network_router \
    netbird_peer netbird_policy netbird_posture_check netbird_reverse_proxy_domain netbird_reverse_proxy_service \
    netbird_route netbird_scim netbird_setup_key netbird_token netbird_user \
    ClusterProxy Group NetworkEgress NetworkResource NetworkRouter SetupKey SidecarProfile \
    NBGroup NBPolicy NBResource NBRoutingPeer NBSetupKey";

/// What the page says of each: the section of the file, and whether it is managed.
fn rows() -> BTreeMap<&'static str, (&'static str, bool)> {
    let lines = PAGE.lines().filter(|line| line.starts_with("| `"));
    let mut rows = BTreeMap::new();
    for line in lines {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let (theirs, here) = (cells[1], cells[2]);
        let is_managed = !here.starts_with("no: ");
        let section = here.trim_start_matches("no: ").trim_matches('`');
        for name in theirs.split(", ").map(|name| name.trim_matches('`')) {
            if THEIRS.split(' ').any(|one| one == name) {
                rows.insert(name, (section, is_managed));
            }
        }
    }
    rows
}

/// An entry for each section: what the resource or kind would be here.
fn entry(section: &str, theirs: &str) -> Value {
    let record = json!([{ "name": "db", "type": "A", "content": "10.20.0.9", "ttl": 300 }]);
    match (section, theirs) {
        ("account.settings", _) => json!({ "peer_login_expiration_enabled": true }),
        ("dns.settings", _) => json!({ "disabled_management_groups": ["g"] }),
        ("dns.zones", "netbird_dns_record") => {
            json!({ "corp": { "domain": "corp.example", "distribution_groups": ["g"], "records": record } })
        }
        ("dns.zones", _) => {
            json!({ "corp": { "domain": "corp.example", "distribution_groups": ["g"] } })
        }
        ("dns.nameserver_groups", _) => {
            json!({ "n": { "nameservers": [{ "ip": "1.1.1.1" }], "groups": ["g"], "primary": true } })
        }
        ("networks", "netbird_network_router" | "NetworkRouter" | "NBRoutingPeer") => {
            json!({ "office": { "routers": [{ "peer_groups": ["g"] }] } })
        }
        ("networks", "netbird_network_resource" | "NetworkResource" | "NBResource") => {
            json!({ "office": { "resources": { "lan": { "address": "10.20.0.0/16", "groups": ["g"] } } } })
        }
        ("networks", _) => json!({ "office": {} }),
        ("peers", _) => json!({ "gw-1": { "ssh_enabled": true } }),
        ("policies", _) => json!({ "p": { "sources": ["g"], "destinations": ["g"] } }),
        ("posture_checks", _) => json!({ "recent": { "nb_version": "0.60.0" } }),
        ("routes", _) => {
            json!({ "r": { "network": "10.1.0.0/16", "peer_groups": ["g"], "groups": ["g"] } })
        }
        ("setup_keys", _) => {
            json!({ "k": { "type": "one-off", "expires_in": 604800, "auto_groups": ["g"] } })
        }
        ("users", _) => json!({ "mira@example.org": { "role": "admin" } }),
        _ => json!({}),
    }
}

#[test]
fn each_row_says_what_becomes_of_it_here() {
    let rows = rows();
    let missing: Vec<&str> = THEIRS
        .split(' ')
        .filter(|name| !rows.contains_key(name))
        .collect();
    assert!(missing.is_empty(), "no row for {missing:?}");
    let bench = Bench::fake();
    for (name, (section, is_managed)) in rows {
        let mut file = json!({ "groups": { "g": {} } });
        let place = section
            .split('.')
            .fold(&mut file, |place, name| &mut place[name]);
        match place {
            Value::Object(entries) => {
                entries.extend(entry(section, name).as_object().unwrap().clone())
            }
            place => *place = entry(section, name),
        }
        bench.file(file);
        let run = bench.run(&["validate"]);
        match is_managed {
            true => drop(run.expect(0)),
            // a reason, and what to do
            false => drop(run.expect(1).says("not managed here: ").says("\n    ")),
        }
    }
}

#[test]
fn coming_from_terraform_changes_nothing_in_netbird() {
    let bench = Bench::fake();
    let pilots = bench.group("pilots");
    let crew = bench.group("crew");
    bench.create(
        "/policies",
        json!({ "name": "ssh", "enabled": true, "rules": [{
            "name": "ssh", "enabled": true, "action": "accept", "bidirectional": false, "protocol": "tcp", "ports": ["22"],
            "sources": [pilots], "destinations": [crew] }] }),
    );
    bench.server().clear_requests();
    let text = bench.run(&["export"]).expect(0).stdout;
    let whole: Value = serde_json::from_str(&text).unwrap();
    bench.file(whole.clone());
    bench.plan(&[]).expect(0).shows("No changes, 4 to adopt");
    // kind by kind: only this section is handed over
    bench.file(json!({ "groups": whole["groups"] }));
    bench.apply(&[]).expect(0);
    bench.assert_writes(&[]);
    bench.plan(&[]).expect(0).shows("No changes");
    bench.file(whole);
    bench.plan(&[]).expect(0).shows("No changes, 2 to adopt");
}

/// What stays is usable without the program: the objects, the sealed keys, and the ids for another tool.
#[test]
fn leaving_changes_nothing_in_netbird() {
    let site = Site::fake();
    site.commit(json!({
        "groups": { "pilots": {} },
        "setup_keys": { "edge": { "type": "one-off", "expires_in": 604800, "auto_groups": ["pilots"] } }
    }));
    site.run(&["apply"]).expect(0);
    let bench = &site.bench;
    let raw = bench.run(&["export", "--raw"]).expect(0).json();
    let ids = |list: &str| {
        let all = raw[list].as_array().unwrap().iter();
        all.map(|one| one["id"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    let inventory = site.inventory().to_string();
    let recorded = |id: &&String| inventory.contains(id.as_str());
    assert_eq!(ids("groups").iter().filter(recorded).count(), 1);
    let keys = ids("setup_keys");
    let key = keys.iter().find(recorded).unwrap();
    let path = format!(".netbird-gitops/default/keys/edge.{key}.age");
    let secret = open(&site.gitea().file(INVENTORY[0], &path));
    bench
        .server()
        .enroll(&secret, "edge")
        .expect("the key works");
}
