//! Settings of machines: set on the machine that a name means, with its name in one change, and on no other.

use fakes::{Effect, Fault};
use serde_json::{Value, json};

use crate::run::{Bench, id};

fn file(peers: Value) -> Value {
    json!({ "groups": { "g": {} }, "peers": peers })
}

/// A bench with an inventory: from here on a name means the machine that has it when the file first uses it.
fn settled() -> Bench {
    let bench = Bench::in_git();
    bench.applied(0.0, json!({ "groups": { "g": {} } }));
    bench
}

fn switches(bench: &Bench, name: &str) -> [Value; 3] {
    let peer = bench.one("/peers", name);
    [
        "ssh_enabled",
        "login_expiration_enabled",
        "inactivity_expiration_enabled",
    ]
    .map(|field| peer[field].clone())
}

/// Somebody changes a peer by hand.
fn by_hand(bench: &Bench, name: &str, changes: Value) {
    let mut peer = bench.one("/peers", name);
    for (field, value) in changes.as_object().unwrap() {
        peer[field] = value.clone();
    }
    bench
        .server()
        .write("PUT", &format!("/peers/{}", id(&peer)), peer);
}

#[test]
fn what_the_file_says_is_set_and_the_rest_stays() {
    let bench = settled();
    bench.peer("gw");
    bench.netbird().enroll_sso("laptop");
    by_hand(
        &bench,
        "laptop",
        json!({ "inactivity_expiration_enabled": false }),
    );
    let before = bench.one("/peers", "gw");
    bench.declared(
        1.0,
        file(
            json!({ "gw": { "ssh_enabled": true, "login_expiration_enabled": false },
                     "laptop": { "login_expiration_enabled": false } }),
        ),
    );
    bench
        .plan(&[])
        .expect(0)
        .shows("~  peer")
        .shows("ssh enabled  false → true")
        .shows("NetBird's SSH server runs on it");
    let run = bench
        .apply(&[])
        .expect(0)
        .shows("2 changed")
        .hides("rename");
    assert!(!run.stderr.contains("rename"), "{}", run.stderr);
    let mut after = before.clone();
    after["ssh_enabled"] = json!(true);
    assert_eq!(bench.one("/peers", "gw"), after);
    assert_eq!(
        switches(&bench, "laptop"),
        [json!(false), json!(false), json!(false)]
    );
    bench.plan(&["--detailed-exitcode"]).expect(0);
    // drift is told, and what leaves the file stays
    by_hand(&bench, "gw", json!({ "ssh_enabled": false }));
    bench.run(&["drift"]).expect(2).shows("ssh enabled");
    bench.apply(&[]).expect(0).shows("1 changed");
    bench.file(json!({ "groups": { "g": {} } }));
    bench
        .plan(&[])
        .says_anywhere("section \"peers\" is removed from the file by this change")
        .says_anywhere("NetBird keeps its present settings.");
    bench.declared(2.0, json!({ "groups": { "g": {} } }));
    bench.leaves_all(&["--prune", "all"]);
    assert_eq!(bench.one("/peers", "gw"), after);
}

#[test]
fn an_entry_waits_for_its_machine_and_is_set_with_its_name() {
    let key =
        |enrolled: bool| json!({ "type": "one-off", "expires_in": 86400, "enrolled": enrolled });
    let file = |enrolled| {
        json!({ "groups": { "g": {} }, "setup_keys": { "gw": key(enrolled) },
                "peers": { "gw": { "ssh_enabled": true }, "nobody": { "ssh_enabled": true } } })
    };
    let bench = Bench::in_git();
    bench
        .declared(0.0, file(false))
        .apply(&[])
        .expect(0)
        .says_anywhere("peer \"gw\" has not enrolled yet. This entry is skipped until its peer is known.")
        .says_anywhere(
            "peer \"nobody\" is declared for \"nobody\", but no peer has this name. Check the name. When its machine enrolled, \
             run apply --adopt peers/nobody=ID. This entry is skipped until its peer is known.",
        );
    bench.hour(1.0);
    let peer = bench
        .server()
        .enroll(&bench.unseal("gw"), "some-host")
        .unwrap();
    let plan = bench.plan(&["--format", "json"]).expect(0).json();
    let operations = plan["operations"].as_array().unwrap();
    assert_eq!(operations.len(), 1, "{plan:#}");
    assert_eq!(operations[0]["type"], "rename_peer");
    bench
        .plan(&[])
        .expect(0)
        .shows("renamed from some-host")
        .shows("ssh enabled  false → true");
    bench.netbird().clear_requests();
    bench.apply(&[]).expect(0);
    bench.assert_writes(&["PUT /peers"]);
    let found = bench.one("/peers", "gw");
    assert_eq!((id(&found), &found["ssh_enabled"]), (peer, &json!(true)));
    bench.declared(2.0, file(true)).leaves_all(&[]);
}

#[test]
fn a_rename_keeps_what_was_set() {
    let bench = Bench::in_git();
    let key = json!({ "type": "one-off", "expires_in": 86400, "enrolled": false });
    bench.applied(
        0.0,
        json!({ "groups": { "g": {} }, "setup_keys": { "gw": key }, "peers": { "other": { "ssh_enabled": false } } }),
    );
    bench.hour(1.0);
    bench
        .server()
        .enroll(&bench.unseal("gw"), "some-host")
        .unwrap();
    by_hand(&bench, "some-host", json!({ "ssh_enabled": true }));
    bench.run(&["sync-events"]).expect(0);
    assert_eq!(
        switches(&bench, "gw"),
        [json!(true), json!(false), json!(false)]
    );
    let text = std::fs::read_to_string(bench.path("netbird.json")).unwrap();
    let file: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(file["peers"], json!({ "other": { "ssh_enabled": false } }));
}

#[test]
fn what_cannot_be_set_is_told() {
    let bench = settled();
    bench.peer("gw");
    for field in ["login_expiration_enabled", "inactivity_expiration_enabled"] {
        bench.declared(1.0, file(json!({ "gw": { field: true } })));
        bench
            .cannot(&[])
            .says(&format!("peer \"gw\" cannot have another {field}"))
            .says("leave the field out");
    }
    // a machine that came under the name since is not meant, and none is where several have it
    bench.applied(2.0, file(json!({ "late": { "ssh_enabled": true } })));
    bench.hour(3.0).peer("late");
    bench.leaves_all(&[]).says_anywhere("\"late\"");
    assert_eq!(switches(&bench, "late")[0], false);
    bench.peer("late");
    bench.leaves_all(&[]).says_anywhere("\"late\"");
}

#[test]
fn two_entries_that_mean_one_machine_are_an_error() {
    let bench = settled();
    let keys = bench.enrolled(&["gw"]);
    by_hand(&bench, "gw", json!({ "name": "gateway" }));
    let mut both =
        file(json!({ "gw": { "ssh_enabled": true }, "gateway": { "ssh_enabled": true } }));
    both["setup_keys"] = keys;
    bench.declared(1.0, both.clone());
    bench.cannot(&[]).says("means the same machine as");
    both["peers"].as_object_mut().unwrap().remove("gateway");
    bench.declared(2.0, both).apply(&[]).expect(0);
    assert_eq!(switches(&bench, "gateway")[0], true);
}

#[test]
fn a_machine_that_has_another_name_than_its_entry_keeps_it() {
    let bench = settled();
    let keys = bench.enrolled(&["gw"]);
    by_hand(&bench, "gw", json!({ "name": "gateway" }));
    let mut file = file(json!({ "gw": { "ssh_enabled": true } }));
    file["setup_keys"] = keys;
    bench.declared(1.0, file);
    let lost = Fault::on("PUT", "/peers/");
    bench.netbird().fault(lost.then(Effect::ErrorAfter));
    let run = bench.apply(&[]).expect(0);
    run.says("NetBird carried it out all the same");
    assert_eq!(switches(&bench, "gateway")[0], true);
    // whatever name it gets meanwhile
    by_hand(&bench, "gateway", json!({ "ssh_enabled": false }));
    let mut renamed = bench.one("/peers", "gateway");
    renamed["name"] = json!("door");
    let path = format!("/peers/{}", id(&renamed));
    bench
        .netbird()
        .before("GET", &path.clone(), move |netbird| {
            assert_eq!(netbird.call("PUT", &path, renamed).0, 200);
        });
    let run = bench.apply(&[]).expect(0);
    assert!(!run.stderr.contains("somebody renamed"), "{}", run.stderr);
    assert_eq!(switches(&bench, "door")[0], true);
}

#[test]
fn a_machine_that_an_entry_names_stays_and_goes_with_the_entry() {
    let bench = Bench::in_git();
    let key =
        |enrolled: bool| json!({ "type": "one-off", "expires_in": 86400, "enrolled": enrolled });
    let file = |keys: Value, peers: Value| json!({ "groups": { "g": {} }, "setup_keys": keys, "peers": peers });
    let on = json!({ "gw": { "ssh_enabled": true } });
    bench.applied(0.0, file(json!({ "gw": key(false) }), on.clone()));
    bench.hour(1.0);
    bench.server().enroll(&bench.unseal("gw"), "gw").unwrap();
    bench.apply(&[]).expect(0);
    bench.applied(2.0, file(json!({ "gw": key(true) }), on.clone()));
    by_hand(&bench, "gw", json!({ "ssh_enabled": false }));
    bench.applied(3.0, file(json!({}), on));
    assert_eq!(switches(&bench, "gw")[0], true);
    assert_eq!(bench.names("/setup-keys"), Vec::<String>::new());
    by_hand(&bench, "gw", json!({ "ssh_enabled": false }));
    bench.declared_agreed(4.0, file(json!({}), json!({})), "the gateway goes");
    assert_eq!(bench.planned(&[]), ["delete_peer gw"]);
    bench.apply(&[]).expect(0).shows("1 deleted");
    bench.plan(&["--detailed-exitcode"]).expect(0);
}

#[test]
fn an_export_says_what_is_otherwise_than_when_a_machine_comes() {
    let bench = Bench::in_git();
    bench.peer("gw");
    bench.peer("plain");
    bench.netbird().enroll_sso("laptop");
    bench.netbird().enroll_sso("phone");
    by_hand(&bench, "gw", json!({ "ssh_enabled": true }));
    by_hand(
        &bench,
        "phone",
        json!({ "inactivity_expiration_enabled": false }),
    );
    let export = bench.run(&["export"]).expect(0).json();
    let wanted = json!({ "gw": { "ssh_enabled": true }, "phone": { "inactivity_expiration_enabled": false } });
    assert_eq!(export["peers"], wanted);
    bench.declared(1.0, export).leaves_all(&[]);
    bench.declared(2.0, json!({ "groups": { "g": {} } }));
    bench.run(&["adopt", "peers/gw"]).expect(0);
    let text = std::fs::read_to_string(bench.path("netbird.json")).unwrap();
    let file: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(file["peers"], json!({ "gw": { "ssh_enabled": true } }));
}
