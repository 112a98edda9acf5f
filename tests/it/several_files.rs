//! docs/several-files.md: two files of one account, each its own environment.

use serde_json::{Value, json};

use crate::run::{Run, Site};

fn base() -> Value {
    json!({
        "groups": { "staff": {}, "servers": {} },
        "policies": { "ssh": { "sources": ["staff"], "destinations": ["servers"], "protocol": "tcp", "ports": [22] } }
    })
}

fn clients() -> Value {
    json!({
        "setup_keys": { "edge": { "type": "one-off", "expires_in": 604800, "auto_groups": ["staff"] } },
        "policies": { "web": { "sources": ["staff"], "destinations": ["servers"], "protocol": "tcp", "ports": [443] } }
    })
}

/// A repository with both files.
struct Files(Site);

impl Files {
    fn applied() -> Files {
        let files = Files(Site::fake());
        for (name, file) in [("base", base()), ("clients", clients())] {
            files.write(name, &file);
            files.run(name, &["apply"]).expect(0);
        }
        files.0.bench.server().clear_requests();
        files
    }

    fn write(&self, name: &str, file: &Value) {
        let text = self.0.text(file.clone());
        let path = format!("network/{name}.json");
        self.0.repo().push("main", &path, text.as_bytes(), name);
        self.0.checkout("origin/main");
    }

    fn run(&self, name: &str, args: &[&str]) -> Run {
        let path = format!("network/{name}.json");
        self.0
            .run(&[args, &["-f", &path, "--environment", name]].concat())
    }
}

#[test]
fn each_lists_what_the_other_manages_under_its_name() {
    let files = Files::applied();
    files
        .run("base", &["plan"])
        .expect(0)
        .shows("No changes")
        .shows("managed by \"network/clients.json\": policy \"web\"");
    files
        .run("clients", &["plan"])
        .expect(0)
        .shows("No changes")
        .shows("managed by \"network/base.json\": policy \"ssh\"");
    let plan = files.run("clients", &["plan", "--format", "json"]).json();
    let ssh = json!({ "kind": "policy", "name": "ssh", "file": "network/base.json" });
    assert!(
        plan["unmanaged"].as_array().unwrap().contains(&ssh),
        "{plan}"
    );
    files
        .run("clients", &["drift"])
        .expect(0)
        .shows("policy ssh (managed by \"network/base.json\")");
    files.0.bench.assert_writes(&[]);
}

#[test]
fn only_the_file_that_declares_an_object_changes_it() {
    let files = Files::applied();
    let mut both = clients();
    both["groups"] = json!({ "staff": {} });
    both["policies"]["ssh"] =
        json!({ "sources": ["staff"], "destinations": ["servers"], "protocol": "all" });
    files.write("clients", &both);
    files
        .run("clients", &["apply", "--prune", "all"])
        .says_anywhere("which \"network/base.json\" manages");
    let ssh = files.0.bench.one("/policies", "ssh");
    assert_eq!(ssh["rules"][0]["protocol"], "tcp");
}

#[test]
fn a_group_that_the_other_file_uses_is_held_back() {
    let files = Files::applied();
    let mut less = base();
    less["groups"] = json!({ "servers": {} });
    less["policies"] = json!({});
    files.write("base", &less);
    files
        .run("base", &["plan"])
        .expect(0)
        .shows("it is still used by")
        .shows("policy \"web\"");
}

/// Neither file declares the zone: each has its own records in it, and leaves those of the other.
#[test]
fn both_have_records_in_a_zone_of_neither() {
    let files = Files::applied();
    let staff = files.0.bench.id("/groups", "staff");
    let zone = json!({ "name": "corp", "domain": "corp.example", "distribution_groups": [staff], "enabled": true });
    let zone = crate::run::id(&files.0.bench.create("/dns/zones", zone));
    let with = |file: Value, record: &str| {
        let record =
            json!({ "name": format!("{record}.corp.example"), "type": "A", "content": "10.0.0.1" });
        let mut file = file;
        file["dns"] = json!({ "zones": { "corp": { "records": [record] } } });
        file
    };
    let records = || -> Vec<String> {
        let records = format!("/dns/zones/{zone}/records");
        let records = files.0.bench.server().list(&records);
        let names = records
            .iter()
            .map(|record| record["name"].as_str().unwrap());
        let mut names: Vec<String> = names.map(str::to_owned).collect();
        names.sort();
        names
    };
    files.write("base", &with(base(), "one"));
    files.write("clients", &with(clients(), "two"));
    files.run("base", &["apply"]).expect(0);
    files.run("clients", &["apply"]).expect(0);
    files.run("base", &["plan"]).expect(0).shows("No changes");
    assert_eq!(records(), ["one.corp.example", "two.corp.example"]);
    files.write("clients", &clients());
    files.run("clients", &["apply"]).expect(0);
    files.write("clients", &with(clients(), "three"));
    files.run("clients", &["apply"]).expect(0);
    files.run("base", &["plan"]).expect(0).shows("No changes");
    assert_eq!(records(), ["one.corp.example", "three.corp.example"]);
}

/// What NetBird takes once, under the same name in both files.
#[test]
fn what_the_other_file_has_and_netbird_takes_once_is_skipped() {
    let files = Files::applied();
    let shared = json!({
        "networks": { "office": { "resources": { "printer": { "address": "10.20.0.9/32" } } } },
        "posture_checks": { "recent": { "nb_version": "0.60.0" } },
        "routes": { "lab": { "network": "10.30.0.0/24", "peer_groups": ["servers"], "groups": ["staff"] } },
        "dns": { "zones": { "corp": { "domain": "corp.example", "distribution_groups": ["staff"], "enabled": true } } }
    });
    let with = |mut file: Value, network: &str| {
        let shared = shared.as_object().unwrap().clone();
        file.as_object_mut().unwrap().extend(shared);
        let office = file["networks"].as_object_mut().unwrap();
        let office = office.remove("office").unwrap();
        file["networks"][network] = office;
        file
    };
    files.write("base", &with(base(), "office"));
    files.run("base", &["apply"]).expect(0);
    files.0.bench.server().clear_requests();
    let mut both = with(clients(), "branch");
    both["posture_checks"]["recent"]["nb_version"] = json!("0.65.0");
    both["policies"]["new"] = json!({ "sources": ["staff"], "destinations": ["servers"], "source_posture_checks": ["recent"] });
    files.write("clients", &both);
    let mut plan = files.run("clients", &["plan"]).expect(0);
    for skipped in [
        "posture check \"recent\" is skipped: \"network/base.json\" manages this posture check",
        "policy \"new\" is skipped: it refers to posture check \"recent\", which is skipped, too",
        "route \"lab\" is skipped: \"network/base.json\" manages this route",
        "DNS zone \"corp\" is skipped: \"network/base.json\" manages this DNS zone",
        "network resource \"printer\" is skipped: \"network/base.json\" manages this network resource",
    ] {
        plan = plan.shows(skipped);
    }
    // the rest is applied
    files
        .run("clients", &["apply"])
        .expect(4)
        .says("hint: do what the notice of each says")
        .hides("delete the other");
    files.0.bench.one("/networks", "branch");
    assert_eq!(files.0.bench.names("/policies"), ["Default", "ssh", "web"]);
    let base = files.run("base", &["plan"]);
    base.expect(0).shows("No changes");
}

/// The same under another name: nobody is told to delete what the other file manages.
#[test]
fn what_the_other_file_has_under_another_name_is_named_with_that_file() {
    let files = Files::applied();
    let zone =
        json!({ "domain": "corp.example", "distribution_groups": ["staff"], "enabled": true });
    let route =
        json!({ "network": "10.30.0.0/24", "peer_groups": ["servers"], "groups": ["staff"] });
    let with = |mut file: Value, name: &str| {
        file["dns"] = json!({ "zones": { name: zone } });
        file["routes"] = json!({ name: route });
        file
    };
    files.write("base", &with(base(), "one"));
    files.run("base", &["apply"]).expect(0);
    files.0.bench.server().clear_requests();
    files.write("clients", &with(clients(), "two"));
    let mut plan = files.run("clients", &["plan"]).expect(1);
    for kind in ["route", "DNS zone"] {
        plan = plan.says_anywhere(&format!(
            "{kind} \"two\" cannot be written: NetBird has {kind} \"one\""
        ));
    }
    let plan = plan
        .says_anywhere(", which \"network/base.json\" manages, and allows only one of the two")
        .says_anywhere("remove the entry from one of the two files");
    assert!(!plan.stderr.contains("delete"), "{}", plan.stderr);
    files.0.bench.assert_writes(&[]);
}
