//! The rows of the table on a real server, which makes the ids and keeps the clock. On the fake the same holds.

use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use crate::run::Bench;

/// A bench in a git checkout; hours are counted from now.
struct Real(Bench);

impl Real {
    fn new() -> Real {
        let bench = Bench::scenario_with_person();
        bench.git(&["init", "-q", "-b", "main"]);
        Real(bench)
    }

    /// Commits the file as of so many minutes from now.
    fn declared(&self, minutes: i64, file: Value, message: &str) -> &Bench {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        let second = i64::try_from(now.as_secs()).unwrap() + 60 * minutes;
        self.0.file(file).commit(second, message)
    }
}

/// A file with these groups, each with a policy to itself.
fn file(groups: &[&str]) -> Value {
    let entries = groups.iter().map(|name| ((*name).to_owned(), json!({})));
    let policies = groups.iter().map(|name| {
        let policy = json!({ "sources": [name], "destinations": [name] });
        ((*name).to_owned(), policy)
    });
    let (entries, policies): (serde_json::Map<_, _>, serde_json::Map<_, _>) =
        (entries.collect(), policies.collect());
    json!({ "groups": entries, "policies": policies })
}

#[test]
fn what_we_made_goes_and_what_others_made_stays() {
    let real = Real::new();
    let bench = &real.0;
    let theirs = bench.group("theirs");
    real.declared(0, file(&["a", "b"]), "two")
        .apply(&[])
        .expect(0);
    real.declared(1, file(&["a"]), "one").apply(&[]).expect(0);
    assert_eq!(bench.all("/groups", "b"), Vec::<Value>::new());
    assert_eq!(bench.all("/policies", "b"), Vec::<Value>::new());
    assert_eq!(bench.id("/groups", "theirs"), theirs);
    bench.id("/groups", "a");
    bench.plan(&["--detailed-exitcode"]).expect(0);
}

#[test]
fn what_was_adopted_is_let_go_until_somebody_agrees_to_delete_it() {
    let real = Real::new();
    let bench = &real.0;
    let old = bench.group("old");
    let one = || json!({ "groups": { "a": {} } });
    real.declared(0, json!({ "groups": { "a": {}, "old": {} } }), "adopts")
        .apply(&[])
        .expect(0)
        .shows("1 created, 1 adopted");
    real.declared(1, one(), "lets go");
    let run = bench.apply(&[]).expect(0).shows("1 let go");
    run.shows("stays in NetBird: it existed before this file managed it");
    assert_eq!(bench.id("/groups", "old"), old);
    let line = bench.line("line_with_let_go", &[]);
    real.declared(2, one(), &format!("it may go\n\n{line}"));
    bench.apply(&[]).expect(0);
    assert_eq!(bench.all("/groups", "old"), Vec::<Value>::new());
}

#[test]
fn what_was_made_by_hand_after_the_removal_is_not_ours() {
    let real = Real::new();
    let bench = &real.0;
    real.declared(0, file(&["a", "b"]), "two")
        .apply(&[])
        .expect(0);
    real.declared(1, file(&["a"]), "one").apply(&[]).expect(0);
    let made = bench.group("b");
    bench.apply(&[]).expect(0).shows("No changes");
    assert_eq!(bench.id("/groups", "b"), made);
}

#[test]
fn a_rename_keeps_the_id_and_the_references() {
    let real = Real::new();
    let bench = &real.0;
    real.declared(0, file(&["a"]), "one").apply(&[]).expect(0);
    let (group, policy) = (bench.id("/groups", "a"), bench.id("/policies", "a"));
    // the prefix of a real server is not put before old names
    let mut renamed = file(&["b"]);
    renamed["groups"]["b"]["renamed_from"] = json!(bench.server().name("a"));
    renamed["policies"]["b"]["renamed_from"] = json!(bench.server().name("a"));
    real.declared(1, renamed, "a is b").apply(&[]).expect(0);
    assert_eq!(bench.id("/groups", "b"), group);
    let after = bench.one("/policies", "b");
    assert_eq!(after["id"], json!(policy));
    assert_eq!(after["rules"][0]["sources"][0]["id"], json!(group));
    bench.apply(&[]).expect(0).shows("No changes");
}

#[test]
fn a_machine_is_offboarded_with_its_key() {
    let real = Real::new();
    let bench = &real.0;
    let key = |enrolled: bool| {
        json!({ "groups": { "g": {} }, "setup_keys": { "k": { "type": "one-off", "expires_in": 86400,
                "auto_groups": ["g"], "enrolled": enrolled } } })
    };
    real.declared(0, key(false), "a machine")
        .apply(&[])
        .expect(0);
    bench.server().enroll(&bench.unseal("k"), "k").unwrap();
    // one that has its name and came otherwise
    let stranger = bench.peer("k");
    real.declared(1, key(true), "enrolled").apply(&[]).expect(0);
    let gone = json!({ "groups": { "g": {} }, "setup_keys": {} });
    real.declared(2, gone.clone(), "it leaves");
    bench.apply(&[]).expect(3).says("this plan deletes 1 peer");
    assert_eq!(bench.all("/peers", "k").len(), 2);
    let line = bench.line("line", &[]);
    real.declared(3, gone, &format!("it leaves\n\n{line}"));
    bench.apply(&[]).expect(0);
    assert_eq!(bench.id("/peers", "k"), stranger);
    assert_eq!(bench.all("/setup-keys", "k"), Vec::<Value>::new());
}

#[test]
fn a_member_that_is_listed_no_more_leaves_and_an_unmanaged_one_stays() {
    let real = Real::new();
    let bench = &real.0;
    let ids = ["p1", "p2", "p3"].map(|name| bench.peer(name));
    let listed = |peers: &[&str]| json!({ "groups": { "g": { "peers": peers } } });
    real.declared(1, listed(&[]), "none").apply(&[]).expect(0);
    real.declared(2, listed(&["p1", "p2"]), "two")
        .apply(&[])
        .expect(0);
    bench.edit("/groups", "g", json!({ "peers": ids }));
    real.declared(3, listed(&["p1"]), "one")
        .apply(&[])
        .expect(0);
    let group = bench.one("/groups", "g");
    let mut left: Vec<&str> = group["peers"]
        .as_array()
        .unwrap()
        .iter()
        .map(|peer| peer["id"].as_str().unwrap())
        .collect();
    left.sort_unstable();
    let mut wanted = [ids[0].as_str(), ids[2].as_str()];
    wanted.sort_unstable();
    assert_eq!(left, wanted);
}

#[test]
fn a_dead_key_lets_go_of_its_group() {
    let real = Real::new();
    let bench = &real.0;
    let with = |groups: &[&str]| {
        let entries = groups.iter().map(|name| ((*name).to_owned(), json!({})));
        json!({ "groups": Value::Object(entries.collect()), "setup_keys": { "k": { "type": "one-off", "expires_in": 86400,
                "auto_groups": groups } } })
    };
    real.declared(0, with(&["g", "h"]), "two")
        .apply(&[])
        .expect(0);
    bench.edit("/setup-keys", "k", json!({ "revoked": true }));
    real.declared(1, with(&["g"]), "one").apply(&[]).expect(0);
    assert_eq!(bench.all("/groups", "h"), Vec::<Value>::new());
    assert_eq!(bench.one("/setup-keys", "k")["revoked"], true);
}

#[test]
fn adopted_entries_are_equal() {
    let real = Real::new();
    let bench = &real.0;
    let group = bench.group("theirs");
    bench.create("/policies", json!({ "name": "theirs", "description": "why", "enabled": true, "rules": [
        { "name": "r", "enabled": true, "action": "accept", "bidirectional": true, "protocol": "tcp", "ports": ["443"],
          "sources": [group], "destinations": [group] }] }));
    bench.file(json!({ "groups": { "a": {} }, "policies": {} }));
    let names = ["adopt", "groups/theirs", "policies/theirs"];
    bench.run(&names).expect(0);
    bench.run(&names).expect(0).says("is declared already");
    bench.group("a");
    bench.plan(&["--detailed-exitcode"]).expect(0);
}

#[test]
fn a_key_that_somebody_made_is_named_and_its_machine_keeps_its_name() {
    let real = Real::new();
    let bench = &real.0;
    let with = |keys: Value| json!({ "groups": { "g": {} }, "setup_keys": keys });
    real.declared(0, with(json!({})), "a group")
        .apply(&[])
        .expect(0);
    let key = json!({ "name": "k", "type": "one-off", "expires_in": 86400, "auto_groups": [] });
    let made = bench.create("/setup-keys", key);
    let secret = made["key"].as_str().unwrap();
    bench.server().enroll(secret, "jump").unwrap();
    let entry = |enrolled: bool| json!({ "k": { "type": "one-off", "expires_in": 86400, "auto_groups": ["g"], "enrolled": enrolled } });
    real.declared(1, with(entry(false)), "pending");
    let run = bench.plan(&[]).expect(0);
    run.shows("1 to create").shows(made["id"].as_str().unwrap());
    real.declared(1, with(entry(true)), "enrolled");
    let run = bench.plan(&[]).expect(0);
    run.shows("The peer keeps its name. The peer is not added to g");
    bench.apply(&[]).expect(0).shows("1 adopted");
    assert_eq!(bench.names("/peers"), ["jump"]);
    assert_eq!(bench.one("/groups", "g")["peers_count"], 0);
    bench.apply(&[]).expect(0).hides("keeps its name");
}
