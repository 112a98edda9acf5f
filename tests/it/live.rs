//! Does a plan against a recorded account say what a plan against its server says?

use std::fs;

use serde_json::{Value, json};

use crate::run::Bench;

/// The lists of an account, as a file for `plan --live`.
fn record(bench: &Bench) -> Value {
    let list = |path: &str| json!(bench.server().list(path));
    json!({
        "groups": list("/groups"), "setup_keys": list("/setup-keys"), "peers": list("/peers"), "policies": list("/policies"),
        "routes": list("/routes"), "nameserver_groups": list("/dns/nameservers"), "users": list("/users"), "events": list("/events"),
        "network_resources": list("/networks/resources"), "posture_checks": list("/posture-checks"),
        "zones": list("/dns/zones"), "dns_settings": bench.server().call("GET", "/dns/settings", Value::Null).1
    })
}

#[test]
fn a_recorded_account_needs_no_server_and_gives_the_same_plan() {
    let bench = Bench::fake();
    bench
        .text(include_str!("../../examples/full.json"))
        .apply(&[])
        .expect(0);
    bench.text(include_str!("../../netbird.json"));
    fs::write(bench.path("live.json"), record(&bench).to_string()).unwrap();
    let online = bench.plan(&["--format", "json"]).expect(0).json();
    let nowhere = [("NETBIRD_API_URL", ""), ("NETBIRD_API_TOKEN", "")];
    bench.netbird().clear_requests();
    let args = ["plan", "--live", "live.json", "--format", "json"];
    let offline = bench.run_with(&args, &nowhere).expect(0).json();
    // who made what is in no recorded account, so nothing of that is deleted
    let changes = |plan: &Value| {
        let all = plan["operations"].as_array().unwrap().iter();
        let kind = |one: &Value| one["type"].as_str().unwrap().to_owned();
        Vec::from_iter(all.filter(|one| !kind(one).starts_with("delete_")).cloned())
    };
    assert_eq!(changes(&online), changes(&offline));
    assert!(!changes(&offline).is_empty());
    assert!(bench.netbird().requests().is_empty());
}

/// Nobody knows which of two versions is true, and of what stands in the object a second one would be made.
#[test]
fn a_list_that_has_an_object_twice_is_an_error() {
    let bench = Bench::fake();
    bench
        .text(include_str!("../../examples/full.json"))
        .apply(&[])
        .expect(0);
    bench.peer("a");
    let record = record(&bench);
    let lists = [
        ("groups", "groups"),
        ("setup_keys", "setup keys"),
        ("peers", "peers"),
        ("policies", "policies"),
        ("routes", "routes"),
        ("nameserver_groups", "nameserver groups"),
        ("network_resources", "network resources"),
        ("posture_checks", "posture checks"),
        ("zones", "DNS zones"),
    ];
    for (list, kinds) in lists {
        let mut twice = record.clone();
        let entries = twice[list].as_array_mut().unwrap();
        let first = entries[0].clone();
        entries.push(first.clone());
        fs::write(bench.path("live.json"), twice.to_string()).unwrap();
        let id = first["id"].as_str().unwrap();
        bench
            .plan(&["--live", "live.json"])
            .expect(1)
            .says(&format!("NetBird's list of {kinds} has {id} twice"));
    }
}

#[test]
fn what_is_no_recorded_account_is_said() {
    let bench = Bench::fake();
    bench.file(json!({ "groups": { "g": {} } }));
    bench
        .plan(&["--live", "nope.json"])
        .expect(1)
        .says("cannot read nope.json")
        .says("to create a recorded account, run netbird-gitops export --raw > live.json");
    for text in ["", "[]", "{\"group\": []}", "{\"groups\": 7}"] {
        fs::write(bench.path("live.json"), text).unwrap();
        bench
            .plan(&["--live", "live.json"])
            .expect(1)
            .says("live.json is not a recorded account")
            .says("to create a recorded account, run netbird-gitops export --raw > live.json");
    }
    fs::write(bench.path("live.json"), "{\"groups\": [{\"id\": 7}]}").unwrap();
    bench
        .plan(&["--live", "live.json"])
        .expect(1)
        .says("groups: ");
}

#[test]
fn settings_that_the_account_lacks_are_shown() {
    let bench = Bench::fake();
    let settings = json!({ "peer_login_expiration": 7200, "lazy_connection_enabled": true });
    bench.file(json!({ "account": { "settings": settings } }));
    fs::write(bench.path("live.json"), "{\"groups\": []}").unwrap();
    bench
        .plan(&["--live", "live.json"])
        .expect(0)
        .shows("lazy connection enabled true, peer login expiration 7200");
}
