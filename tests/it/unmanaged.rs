//! What the program does not manage: is it named, and is what it uses left alone?

use fakes::Fault;
use serde_json::{Value, json};

use crate::run::Bench;

fn file(resources: Value) -> Value {
    json!({
        "groups": { "gateways": {}, "web": {} },
        "networks": { "office": { "resources": resources, "routers": [{ "peer_groups": ["gateways"] }] } }
    })
}

/// A network with a resource, which a service of the reverse proxy publishes; and an identity provider.
fn published() -> Bench {
    let bench = Bench::in_git();
    let resource = json!({ "intranet": { "address": "10.20.0.9", "groups": ["web"] } });
    bench.applied(0.0, file(resource));
    let resource = bench.id("/networks/resources", "intranet");
    let netbird = bench.netbird();
    let service = json!({ "name": "intranet", "domain": "intranet.example.com", "enabled": true,
                          "targets": [{ "target_id": resource, "target_type": "host", "port": 443 }] });
    netbird.add_unmanaged("/reverse-proxies/services", service);
    let provider = json!({ "name": "corp", "type": "oidc", "issuer": "https://login.example.com" });
    netbird.add_unmanaged("/identity-providers", provider);
    bench
}

#[test]
fn export_and_drift_name_what_no_file_manages() {
    let bench = published();
    let run = bench.run(&["export"]).expect(0);
    let rest = "not managed by this program (docs/coming-from.md)";
    for what in [
        "1 identity provider: \"corp\"",
        "1 reverse proxy service: \"intranet.example.com\"",
    ] {
        assert!(
            run.stderr.contains(&format!("{what}: {rest}")),
            "{}",
            run.stderr
        );
    }
    assert!(!run.stdout.contains("corp"), "{}", run.stdout);
    let drift = bench.run(&["drift"]).expect(0);
    drift
        .shows("Not managed by this program:")
        .shows("  1 identity provider: \"corp\"");
    let drift = bench.run(&["drift", "--format", "json"]).expect(0).json();
    assert_eq!(
        drift["not_managed"],
        json!([
            "1 identity provider: \"corp\"",
            "1 reverse proxy service: \"intranet.example.com\""
        ])
    );
}

/// The server would refuse to delete the resource, but with its network it would go (docs/netbird-api.md, "What keeps an object").
#[test]
fn what_a_service_of_the_reverse_proxy_uses_stays() {
    let bench = published();
    bench.declared(1.0, file(json!({})));
    let held = "it is still used by reverse proxy service \"intranet.example.com\"";
    bench.plan(&[]).shows(held);
    bench.run(&["drift"]).shows(held);
    bench.apply(&[]);
    bench.id("/networks/resources", "intranet");
    bench.declared(
        2.0,
        json!({ "groups": { "gateways": {}, "web": {} }, "networks": {} }),
    );
    bench.plan(&[]).shows(held);
    bench.apply(&[]);
    bench.id("/networks/resources", "intranet");
}

/// A token that may not read a list, and a server that fails to answer it, are said; the rest is named.
#[test]
fn what_cannot_be_read_is_said_and_the_rest_is_named() {
    let bench = published();
    let denied = bench.netbird().person_token("network_admin");
    bench
        .run_with(&["export"], &[("NETBIRD_API_TOKEN", &denied)])
        .expect(0)
        .says("1 identity provider: \"corp\"")
        .says("/reverse-proxies/services cannot be read (");
    let fails = Fault::on("GET", "/reverse-proxies/domains").always();
    bench.netbird().fault(fails);
    bench
        .run(&["drift"])
        .expect(0)
        .shows("1 identity provider: \"corp\"")
        .shows("/reverse-proxies/domains cannot be read (");
}

/// Nobody knows then whether a service uses it, so nothing is deleted.
#[test]
fn a_resource_is_not_deleted_where_the_services_cannot_be_read() {
    let bench = published();
    let fails = Fault::on("GET", "/reverse-proxies/services").always();
    bench.netbird().fault(fails);
    bench.declared(1.0, file(json!({})));
    bench.apply(&[]).expect(1);
    bench.id("/networks/resources", "intranet");
}
