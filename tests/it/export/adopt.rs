//! `adopt`: live objects become entries, the file keeps its form, and nothing half is written.

use std::fs;

use serde_json::{Value, json};

use super::account;
use crate::run::Bench;

const FILE: &str =
    "{\n\t\"groups\": {\n\t\t\"g\":   {},\n\t\t\"h\": {}\n\t},\n\t\"policies\": {}\n}";

fn text(bench: &Bench) -> String {
    fs::read_to_string(bench.path("netbird.json")).unwrap()
}

/// That nothing is written, neither here nor there.
fn refused(bench: &Bench, names: &[&str]) -> crate::run::Run {
    let before = text(bench);
    let run = bench.run(&[&["adopt"], names].concat()).expect(1);
    assert_eq!(text(bench), before);
    bench.assert_writes(&[]);
    run
}

fn on(file: &str) -> Bench {
    let bench = account();
    bench.text(file);
    bench.server().clear_requests();
    bench
}

#[test]
fn candidates_are_listed_with_what_cannot_be_declared() {
    let bench = on(FILE);
    let run = bench.run(&["adopt", "--candidates"]).expect(0);
    for line in [
        "groups/Ops | Team\n",
        "policies/Default\n",
        "policies/p\n",
        "routes/lan\n",
        "nameserver_groups/corp\n",
        "setup_keys/fleet\n",
        "setup_keys/pending\n",
    ] {
        assert!(run.stdout.contains(line), "{line}{}", run.stdout);
    }
    assert!(!run.stdout.contains("groups/g\n"));
    let run = run.shows("policy several: it has 2 rules");
    assert!(!run.stdout.contains("All"), "{}", run.stdout);
    let json = bench
        .run(&["adopt", "--candidates", "--format", "json"])
        .expect(0)
        .json();
    let names: Vec<&str> = json["candidates"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| entry["name"].as_str().unwrap())
        .collect();
    assert!(names.contains(&"corp") && !names.contains(&"g"));
    // each can be named by what stands there, also what there is one of
    for entry in json["candidates"].as_array().unwrap() {
        let text = |field: &str| entry[field].as_str().unwrap();
        let name = format!("{}/{}", text("kind"), text("name"));
        on(FILE).run(&["adopt", &name]).expect(0);
    }
    assert_eq!(text(&bench), FILE);
    bench.assert_writes(&[]);
}

#[test]
fn named_ones_are_added_and_the_rest_stays_byte_for_byte() {
    let bench = on(FILE);
    let run = bench
        .run(&["adopt", "policies/p", "routes/lan", "groups/Ops | Team"])
        .expect(0);
    let said = "now declares group Ops | Team, policy p, route lan.\n";
    assert!(run.stdout.contains(said), "{}", run.stdout);
    let after = text(&bench);
    let kept = FILE.replace(
        "\"h\": {}",
        "\"h\": {},\n\t\t\"Ops | Team\": { \"peers\": [] }",
    );
    let (head, tail) = kept.split_once("\t\"policies\": {}").unwrap();
    assert!(
        after.starts_with(head) && after.ends_with('}') && tail == "\n}",
        "{after}"
    );
    assert!(
        after.contains("\t\t\"p\": {\n\t\t\t\"description\": \"why\",\n"),
        "{after}"
    );
    assert!(after.contains("\t\"routes\": {\n\t\t\"lan\": {"), "{after}");
    // what was taken over is equal
    bench.assert_writes(&[]);
    bench
        .plan(&["--detailed-exitcode"])
        .expect(2)
        .shows("+  group   h ");
    bench.create("/groups", json!({ "name": "h" }));
    bench.plan(&["--detailed-exitcode"]).expect(0);
}

#[test]
fn each_kind_can_be_adopted() {
    for name in [
        "groups/Ops | Team",
        "setup_keys/fleet",
        "policies/Default",
        "routes/lan",
        "nameserver_groups/corp",
    ] {
        let bench = on("{\"groups\": {\"g\": {}}}");
        bench.run(&["adopt", name]).expect(0);
        bench.plan(&["--detailed-exitcode"]).expect(0);
        // and again: said, and not written
        let before = text(&bench);
        bench
            .run(&["adopt", name])
            .expect(0)
            .says("is declared already: a plan shows whether NetBird differs from the file");
        assert_eq!(text(&bench), before);
    }
}

#[test]
fn what_is_declared_stays_as_it_is() {
    let bench = account();
    bench.file(json!({
        "groups": { "g": { "peers": ["m1"] } },
        "policies": { "p": { "sources": ["g"], "destinations": ["g"], "protocol": "udp", "description": "a\nb" } },
        "setup_keys": { "fleet": { "type": "reusable", "expires_in": 60, "usage_limit": 3 } }
    }));
    let before = text(&bench);
    let names = ["policies/p", "groups/g", "setup_keys/fleet"];
    let run = bench.run(&[&["adopt"], &names[..]].concat()).expect(0);
    for name in ["policy p", "group g", "setup key fleet"] {
        let said = format!(
            "{name} is declared already: a plan shows whether NetBird differs from the file"
        );
        assert!(run.stderr.contains(&said), "{}", run.stderr);
    }
    assert_eq!(text(&bench), before);
}

#[test]
fn what_is_not_there_or_cannot_be_said_is_refused() {
    let bench = on(FILE);
    refused(&bench, &["policies/P"])
        .says("policy P is not in NetBird; did you mean \"p\"?")
        .says("netbird-gitops adopt --candidates lists what can be adopted");
    refused(&bench, &["policies/several"])
        .says("policy several cannot be declared: it has 2 rules");
    refused(&bench, &["groups/staff"]).says("group staff cannot be declared: it is issued by jwt");
    refused(&bench, &["groups/All"]).says("group All cannot be declared: it is NetBird's own");
    let usual = "is not adopted: all of it is as NetBird makes it, so an entry has nothing to say";
    refused(&bench, &["peers/m1"]).says(&format!("peer m1 {usual}"));
    refused(&bench, &["dns_settings"]).says(&format!("DNS settings {usual}"));
    // named twice, told once
    let twice = refused(&bench, &["policies/P", "policies/P"]);
    assert_eq!(
        twice.stderr.matches("policy P").count(),
        1,
        "{}",
        twice.stderr
    );
    refused(&bench, &["policies"]).says("expected KIND/NAME");
    refused(&bench, &["nothing/p"]).says("expected KIND/NAME");
    // a good one beside a bad one
    refused(&bench, &["policies/p", "policies/several"]).says("nothing was written");
}

#[test]
fn hostile_names_are_shown_and_move_nothing() {
    let bench = account();
    bench.create("/groups", json!({ "name": "x\n\u{1b}[2J\u{202e}" }));
    bench.text(FILE);
    let run = refused(&bench, &["groups/x\n\u{1b}[2J\u{202e}"]).says("x\\u{a}\\u{1b}[2J\\u{202e}");
    assert!(!run.stderr.contains('\u{1b}') && !run.stderr.contains('\u{202e}'));
    let run = bench.run(&["adopt", "--candidates"]).expect(0);
    assert!(!run.stdout.contains('\u{1b}') && !run.stdout.contains('\u{202e}'));
}

#[test]
fn a_result_that_is_not_valid_is_not_written() {
    // a pending key must be listed in the groups that it joins
    let bench = account();
    bench.file(json!({ "groups": { "g": { "peers": ["m1", "m2", "laptop"] } } }));
    refused(&bench, &["setup_keys/pending"])
        .says("with the new entries the file would not be valid; nothing was written")
        .says("pending");
}

#[test]
fn a_file_that_is_not_valid_is_not_touched() {
    let bench = on("{\"groups\": {\"g\": {}},}");
    refused(&bench, &["policies/p"]).says("netbird.json:1:");
}

#[test]
fn a_new_key_brings_its_groups_along_where_they_are_named_too() {
    let bench = on("{\"groups\": {\"h\": {}}, \"setup_keys\": {}}");
    bench
        .run(&["adopt", "groups/g", "setup_keys/pending", "setup_keys/m2"])
        .expect(0)
        .shows(&format!(
            "To adopt this one, run apply --adopt setup_keys/pending={} (",
            bench.id("/setup-keys", "pending")
        ));
    let file: Value = serde_json::from_str(&text(&bench)).unwrap();
    assert_eq!(
        file["groups"]["g"]["peers"],
        json!(["laptop", "m1", "m2", "pending"])
    );
    assert_eq!(file["setup_keys"]["m2"]["enrolled"], true);
    bench.group("h");
    bench.plan(&["--detailed-exitcode"]).expect(0);
}

/// A file that manages nothing yet is where a network begins that is taken over piece by piece.
#[test]
fn a_file_of_empty_sections_takes_entries() {
    for (file, code) in [
        ("{\"groups\": {}}\n", 1),
        ("{\n  \"groups\": {},\n  \"policies\": {}\n}\n", 1),
        ("{}\n", 0),
        ("{\n  \"$schema\": \"./netbird.schema.json\"\n}\n", 0),
    ] {
        let bench = on(file);
        let run = bench.run(&["validate"]).expect(code);
        if code == 0 {
            run.says_anywhere("the file manages nothing yet");
            let run = bench.plan(&["--detailed-exitcode"]).expect(0);
            run.shows("No changes")
                .says_anywhere("the file manages nothing yet");
        }
        bench
            .run(&["adopt", "--candidates"])
            .expect(0)
            .shows("groups/g\n");
        bench.run(&["adopt", "groups/g", "policies/p"]).expect(0);
        bench.run(&["validate"]).expect(0);
        assert!(text(&bench).contains("\"g\""), "{}", text(&bench));
        bench
            .plan(&["--detailed-exitcode", "--prune", "none"])
            .expect(0);
    }
    // what is wrong otherwise is still wrong
    refused(&on("{\"groups\": {}, \"polices\": {}}"), &["groups/g"]).says("polices");
}

#[test]
fn another_kind_that_was_meant_is_asked_for() {
    for (written, meant) in [
        ("Groups/g", "groups/g"),
        ("goups/g", "groups/g"),
        ("polices/p", "policies/p"),
        ("setup-keys/pending", "setup_keys/pending"),
        ("account-settings", "account_settings"),
    ] {
        refused(&on(FILE), &[written]).says(&format!("hint: did you mean \"{meant}\"?"));
    }
    refused(&on(FILE), &["ssh"])
        .says("netbird-gitops adopt --candidates lists what can be adopted");
    refused(&on(FILE), &["routes/LAN"]).says("did you mean \"lan\"?");
}

/// A checkout that git refuses is in the way of nothing that wants no git.
#[test]
fn with_an_inventory_in_a_file_nothing_of_git_is_needed() {
    let bench = on(FILE);
    fs::write(bench.path(".git"), "gitdir: /nowhere/at/all\n").unwrap();
    refused(&bench, &["policies/p"]).says("git");
    let list = ["--inventory", "list.json"];
    bench
        .run(&[&["adopt", "--candidates"], &list[..]].concat())
        .expect(0)
        .shows("policies/p\n");
    bench
        .run(&[&["adopt", "policies/p"], &list[..]].concat())
        .expect(0);
    assert!(text(&bench).contains("\"p\": {"));
}

/// What stands in an entry has none of its own: its text is listed, to be written there.
#[test]
fn what_an_entry_lacks_is_listed_with_its_text() {
    let bench = Bench::fake();
    let declared = json!({
        "groups": { "gw": {} },
        "networks": { "hangar": { "resources": { "printer": { "address": "10.20.0.9" } } } },
        "dns": { "zones": { "corp": { "domain": "corp.example", "distribution_groups": ["gw"], "records": [] } } }
    });
    bench.agreed(declared);
    let network = bench.id("/networks", "hangar");
    let scanner =
        json!({ "name": "scanner", "address": "10.20.0.10", "enabled": true, "groups": [] });
    bench.create(&format!("/networks/{network}/resources"), scanner);
    let router = json!({ "peer_groups": [bench.id("/groups", "gw")], "metric": 5, "masquerade": true, "enabled": true });
    bench.create(&format!("/networks/{network}/routers"), router);
    let zone = bench.id("/dns/zones", "corp");
    let record =
        json!({ "name": "x.corp.example", "type": "A", "content": "10.0.0.1", "ttl": 300 });
    bench.create(&format!("/dns/zones/{zone}/records"), record);
    bench.server().clear_requests();
    let run = bench.run(&["adopt", "--candidates"]).expect(0);
    let run = run
        .shows("\nTo be written into an entry that is declared:\n")
        .shows("  networks/hangar resources scanner: {\"address\":\"10.20.0.10\"")
        .shows("  networks/hangar routers: {")
        .shows("  zones/corp records x.corp.example A: {");
    assert!(!run.stdout.contains("printer"), "{}", run.stdout);
    refused(&bench, &["resources/scanner"]).says("and what an entry that is declared lacks");
    let found = bench.run(&["adopt", "--candidates", "--format", "json"]);
    let inside = &found.expect(0).json()["inside"];
    assert_eq!(inside.as_array().unwrap().len(), 3, "{inside}");
}
