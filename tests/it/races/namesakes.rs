//! What comes of objects of one name that two runs left?

use std::fs;
use std::process::{Command, Stdio};
use std::sync::mpsc;

use fakes::{Effect, Fault};
use serde_json::{Value, json};

use super::{assert_one_of_each, assert_unreferred, one_of_each, other};
use crate::run::{Bench, files, id, open};

/// Two of each, all ours and equal, as two runs leave them that were killed before they wrote them down; those of one refer to each
/// other. Returns the ids of what has to stay.
fn left_by_two_killed_runs(bench: &Bench) -> Vec<String> {
    bench.netbird().unserialised(true);
    let make = |list: &str, body: Value| id(&bench.as_program("POST", list, body));
    let mut kept = Vec::new();
    for round in 0..2 {
        let [g1, g2] = ["g1", "g2"].map(|name| make("/groups", json!({ "name": name })));
        let rule = |from: &str, to: &str| {
            json!([{ "name": "p", "enabled": true, "action": "accept", "bidirectional": true,
                     "protocol": "all", "sources": [from], "destinations": [to] }])
        };
        let route = json!({ "network_id": "r1", "network": "10.6.0.0/16", "peer_groups": [g1], "groups": [g2],
                            "metric": 9999, "masquerade": true, "enabled": true });
        let servers = json!({ "name": "n1", "nameservers": [{ "ip": "10.6.0.53", "ns_type": "udp", "port": 53 }],
                              "groups": [g1], "domains": ["it.example"], "enabled": true });
        let policy =
            |name: &str, rules: Value| json!({ "name": name, "enabled": true, "rules": rules });
        let made = [
            make("/policies", policy("p1", rule(&g1, &g2))),
            make("/policies", policy("p2", rule(&g2, &g2))),
            make("/routes", route),
            make("/dns/nameservers", servers),
        ];
        // a key gets its groups once it is recorded
        let key = json!({ "name": "k2", "type": "reusable", "expires_in": 0, "auto_groups": [] });
        make("/setup-keys", key);
        if round == 0 {
            kept.extend([g1, g2].into_iter().chain(made));
        }
    }
    bench.server().clear_requests();
    kept
}

#[test]
fn what_two_killed_runs_left_comes_down_to_the_oldest() {
    let bench = Bench::fake();
    let mut file = one_of_each();
    file["setup_keys"].as_object_mut().unwrap().remove("k1");
    let kept = left_by_two_killed_runs(&bench);
    bench.file(file);
    // the first inventory adopts what the file declares, and deletes nothing
    bench.apply(&[]).expect(0).shows("6 adopted");
    assert!(!bench.writes().iter().any(|it| it.starts_with("DELETE")));
    let plan = bench.plan(&[]).expect(0);
    plan.shows("a second object of this entry, created by another run of this file")
        .shows("its secret was never sealed and stored");
    bench.apply(&[]).expect(0);
    let named = [
        ("/groups", "g1"),
        ("/groups", "g2"),
        ("/policies", "p1"),
        ("/policies", "p2"),
        ("/routes", "r1"),
        ("/dns/nameservers", "n1"),
    ];
    assert_eq!(named.map(|(list, name)| bench.id(list, name)), kept[..]);
    bench.id("/setup-keys", "k2");
    assert_unreferred(&bench);
    bench.plan(&[]).expect(0).shows("No changes");
}

#[test]
fn a_second_group_that_somebody_needs_stays_and_is_named() {
    let bench = Bench::fake();
    bench.netbird().unserialised(true);
    let made = || id(&bench.as_program("POST", "/groups", json!({ "name": "g1" })));
    let (_, second) = (made(), made());
    let network = id(&bench.create("/networks", json!({ "name": "net" })));
    let router =
        json!({ "peer_groups": [second], "metric": 1, "masquerade": true, "enabled": true });
    bench.create(&format!("/networks/{network}/routers"), router);
    bench.file(json!({ "groups": { "g1": {} } }));
    bench.apply(&[]).expect(0);
    // that it stays is no failure of a run which has something to do
    bench.file(json!({ "groups": { "g1": {}, "new": {} } }));
    let run = bench.apply(&[]).expect(0);
    run.shows(&format!(
        "group \"g1 ({second})\" ({second}): not deleted, because it is still used by network router"
    ));
    assert_eq!(bench.all("/groups", "g1").len(), 2);
}

/// The other run is killed between the record of its keys and their groups: this run gives them theirs.
#[test]
fn a_key_of_a_killed_run_gets_its_groups_from_the_run_that_meets_it() {
    let bench = Bench::fake();
    bench.file(one_of_each());
    let mut killed = other(&bench);
    killed.stdout(Stdio::null()).stderr(Stdio::null());
    bench
        .netbird()
        .before("POST", "/setup-keys", move |netbird| {
            let (send, pid) = mpsc::channel::<u32>();
            netbird.fault(Fault::on("PUT", "/setup-keys/").then(Effect::CutBefore));
            netbird.before("PUT", "/setup-keys/", move |_| {
                let pid = pid.recv().unwrap().to_string();
                let mut kill = Command::new("kill");
                assert!(kill.args(["-KILL", &pid]).status().unwrap().success());
            });
            let mut killed = killed.spawn().unwrap();
            send.send(killed.id()).unwrap();
            assert_eq!(killed.wait().unwrap().code(), None);
        });
    let mut run = bench.apply(&[]).expect(0);
    for (name, groups) in [("k1", 1), ("k2", 2)] {
        run = run.says_anywhere(&format!("setup key {name}: another run made it"));
        let key = bench.one("/setup-keys", name);
        assert_eq!(key["auto_groups"].as_array().unwrap().len(), groups);
    }
    assert_eq!(bench.sealed_files(), Vec::<String>::new());
    assert_one_of_each(&bench, &["sealed-keys", "other"]);
    bench.plan(&[]).expect(0).shows("No changes");
}

#[test]
fn of_two_keys_of_one_name_the_older_stays_and_the_other_goes_with_its_file() {
    let bench = Bench::fake();
    bench.file(one_of_each());
    let mut second = other(&bench);
    // the first run has looked, and makes its keys after the second one is done
    bench.netbird().before("POST", "/setup-keys", move |_| {
        assert!(second.output().unwrap().status.success());
    });
    // of policies there are two then, and the next run deletes the second one
    let run = bench.apply(&["--format", "json"]).expect(4);
    assert_eq!(run.json()["created_keys"], json!({}));
    run.says(
        "setup key k1: another run made it at the same time; this run deleted its own key again",
    )
    .says("applied, but not converged:\n  delete policy p1");
    assert_eq!(bench.sealed_files(), Vec::<String>::new());
    let puts = bench.writes().into_iter();
    let puts = puts.filter(|write| write == "PUT /setup-keys");
    assert_eq!(puts.count(), 2, "the other run's keys have their groups");
    let live = bench.server().list("/setup-keys");
    let live: Vec<String> = live.iter().map(id).collect();
    let recorded = bench.inventory()["created"].clone();
    for name in ["k1", "k2"] {
        let ids = recorded[format!("setup_keys/{name}")].as_array().unwrap();
        let lives = |id: &Value| live.contains(&id.as_str().unwrap().to_owned());
        assert!(ids.iter().all(lives), "{name}: {recorded}");
    }
    bench.apply(&[]).expect(0);
    assert_eq!(files(&bench.path("other")), ["k1.age", "k2.age"]);
    assert_one_of_each(&bench, &["sealed-keys", "other"]);
}

/// Somebody revoked the other run's keys before anybody used them: nobody can enroll with those.
#[test]
fn of_two_keys_of_one_name_a_revoked_one_does_not_stand() {
    let bench = Bench::fake();
    bench.file(one_of_each());
    let mut second = other(&bench);
    bench
        .netbird()
        .before("POST", "/setup-keys", move |netbird| {
            assert!(second.output().unwrap().status.success());
            for key in netbird.list("/setup-keys").as_array().unwrap() {
                let path = format!("/setup-keys/{}", key["id"].as_str().unwrap());
                let body = json!({ "revoked": true, "auto_groups": key["auto_groups"] });
                assert_eq!(netbird.call("PUT", &path, body).0, 200);
            }
        });
    bench.apply(&[]);
    assert_eq!(bench.sealed_files(), ["k1.age", "k2.age"]);
    bench.server().enroll(&bench.unseal("k1"), "cam").unwrap();
}

/// The other run applies an older file, which gives the key another life: what no run can change.
#[test]
fn of_two_keys_of_one_name_one_of_an_older_file_does_not_stand() {
    let bench = Bench::fake();
    let mut older = one_of_each();
    older["setup_keys"]["k1"]["expires_in"] = json!(172_800);
    bench.file(one_of_each());
    let (mut second, path) = (other(&bench), bench.path("netbird.json"));
    bench.netbird().before("POST", "/setup-keys", move |_| {
        fs::write(path, older.to_string()).unwrap();
        assert!(second.output().unwrap().status.success());
    });
    bench.apply(&[]).expect(4);
    let secret = bench.unseal("k1");
    // the other one goes with the next run
    bench.file(one_of_each()).apply(&[]).expect(0);
    let key = bench.one("/setup-keys", "k1");
    assert_eq!(key["auto_groups"], json!([bench.id("/groups", "g1")]));
    bench.server().enroll(&secret, "cam").unwrap();
}

/// The work of such a key is done: a second one would let another machine in.
#[test]
fn of_two_keys_of_one_name_the_older_stays_though_a_machine_used_it() {
    let bench = Bench::fake();
    // adopted, which has nothing to do with the keys
    bench.group("g2");
    bench.file(one_of_each());
    let mut second = other(&bench);
    let sealed = bench.path("other/k1.age");
    bench
        .netbird()
        .before("POST", "/setup-keys", move |netbird| {
            assert!(second.output().unwrap().status.success());
            let secret = open(&fs::read(&sealed).unwrap());
            netbird.enroll(&secret, "cam").unwrap();
            // what somebody does with it then is theirs
            let keys = netbird.list("/setup-keys");
            let mut keys = keys.as_array().unwrap().iter();
            let key = keys.find(|key| key["name"] == "k1").unwrap();
            let path = format!("/setup-keys/{}", key["id"].as_str().unwrap());
            let body = json!({ "revoked": false, "auto_groups": [] });
            assert_eq!(netbird.call("PUT", &path, body).0, 200);
        });
    bench.apply(&[]).expect(4).says(
        "setup key k1: another run made it at the same time; this run deleted its own key again",
    );
    let key = bench.one("/setup-keys", "k1");
    assert_eq!(
        (&key["used_times"], &key["auto_groups"]),
        (&json!(1), &json!([]))
    );
    assert_eq!(bench.sealed_files(), Vec::<String>::new());
}

#[test]
fn namesakes_by_hand_stay_and_are_named() {
    let bench = Bench::scenario();
    let mut file = one_of_each();
    file["networks"] = json!({ "net": {} });
    file["dns"]["zones"] = json!({ "z": { "domain": "z.example", "distribution_groups": ["g1"] } });
    bench.agreed(file);
    let group = bench.id("/groups", "g1");
    let rule = json!({ "name": "p1", "enabled": true, "action": "drop", "bidirectional": true, "protocol": "all", "sources": [group],
                       "destinations": [group] });
    let theirs = [
        (
            "/policies",
            json!({ "name": "p1", "enabled": true, "rules": [rule] }),
        ),
        (
            "/setup-keys",
            json!({ "name": "k1", "type": "one-off", "expires_in": 0, "auto_groups": [group] }),
        ),
        ("/networks", json!({ "name": "net" })),
        (
            "/dns/zones",
            json!({ "name": "z", "domain": "other.example", "distribution_groups": [group] }),
        ),
        (
            "/routes",
            json!({ "network_id": "r1", "network": "10.7.0.0/16", "peer_groups": [group], "groups": [group], "metric": 1,
                            "enabled": true }),
        ),
    ];
    let theirs = theirs.map(|(list, body)| id(&bench.create(list, body)));
    bench.leaves_all(&[]);
    let plan = bench.plan(&["--detailed-exitcode"]).expect(0);
    let plan = theirs.iter().fold(plan, |plan, id| {
        plan.shows(&format!("(id {id}). This file does not manage it"))
    });
    plan.shows("No changes");
}

/// A bench that agrees with the file, and has a second `p1` that a run made. Returns the ids of both.
fn twins() -> (Bench, [String; 2]) {
    let bench = Bench::fake();
    bench.agreed(one_of_each());
    let policy = bench.id("/policies", "p1");
    let second = twin(&bench, json!({}));
    (bench, [policy, second])
}

/// A run makes another `p1`, which is as the oldest but for these fields. Returns its id.
fn twin(bench: &Bench, fields: Value) -> String {
    let mut twin = bench.all("/policies", "p1").remove(0);
    for side in ["sources", "destinations"] {
        twin["rules"][0][side] = json!([twin["rules"][0][side][0]["id"]]);
    }
    for (field, value) in fields.as_object().unwrap() {
        twin[field] = value.clone();
    }
    id(&bench.as_program("POST", "/policies", twin))
}

#[test]
fn a_second_one_that_a_run_made_goes_and_nobody_loses_by_it() {
    let (bench, [first, _]) = twins();
    let plan = bench.plan(&[]).expect(0).shows("1 to delete");
    assert!(!plan.stdout.contains(" lose "), "{}", plan.stdout);
    bench.apply(&[]).expect(0);
    assert_eq!(bench.id("/policies", "p1"), first);
    assert_one_of_each(&bench, &["sealed-keys"]);
}

#[test]
fn a_second_one_stays_where_somebody_deletes_the_first_meanwhile() {
    let (bench, [first, second]) = twins();
    let mut file = one_of_each();
    // what this run makes for another entry is no reason to delete it
    file["policies"]["p3"] = json!({ "sources": ["g1"], "destinations": ["g1"] });
    deleted_meanwhile(&bench, &first);
    bench
        .file(file)
        .apply(&[])
        .expect(0)
        .says("its entry has no other object any more, so it is not deleted");
    assert_eq!(bench.id("/policies", "p1"), second);
    bench.plan(&[]).expect(0).shows("No changes");
}

#[test]
fn the_last_object_of_an_entry_stays_though_two_others_go() {
    let (bench, [first, second]) = twins();
    let third = twin(&bench, json!({ "description": "other" }));
    let mut inventory = bench.inventory();
    inventory["created"]["policies/p1"] = json!([first, second, third]);
    bench.write_inventory(inventory);
    let mut file = one_of_each();
    file["policies"]["p3"] = json!({ "sources": ["g1"], "destinations": ["g1"] });
    bench.file(file).plan(&[]).expect(0).shows("2 to delete");
    deleted_meanwhile(&bench, &first);
    bench.apply(&[]).expect(0).shows("1 deleted");
    assert_eq!(bench.id("/policies", "p1"), second);
    bench.plan(&[]).expect(0).shows("No changes");
}

/// Somebody deletes that policy once a run has made one.
fn deleted_meanwhile(bench: &Bench, policy: &str) {
    let path = format!("/policies/{policy}");
    bench.netbird().after("POST", "/policies", move |netbird| {
        assert_eq!(netbird.call("DELETE", &path, Value::Null).0, 200);
    });
}

#[test]
fn a_second_one_goes_with_the_first_where_both_are_replaced() {
    let (bench, both) = twins();
    bench.apply(&["--replace", "policies/p1"]).expect(0);
    assert!(!both.contains(&bench.id("/policies", "p1")));
    bench.plan(&[]).expect(0).shows("No changes");
}
