//! Members of groups: who was listed once and is no more leaves, and nobody else does.

use serde_json::{Value, json};

use crate::run::Bench;

fn file(peers: &[&str]) -> Value {
    json!({ "groups": { "g": { "peers": peers } } })
}

/// The names of a group's members, sorted.
fn members(bench: &Bench, group: &str) -> Vec<String> {
    let group = bench.one("/groups", group);
    let peers = group["peers"].as_array().cloned().unwrap_or_default();
    let mut names: Vec<String> = peers
        .iter()
        .map(|peer| peer["name"].as_str().unwrap().to_owned())
        .collect();
    names.sort();
    names
}

/// Puts a peer into a group by hand.
fn add(bench: &Bench, group: &str, peer: &str) {
    let mut peers: Vec<Value> = bench.one("/groups", group)["peers"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|peer| peer["id"].clone())
        .collect();
    peers.push(json!(peer));
    bench.edit("/groups", group, json!({ "peers": peers }));
}

#[test]
fn listed_once_and_no_more_it_leaves() {
    let bench = Bench::in_git();
    for name in ["a", "b"] {
        bench.peer(name);
    }
    bench.applied(1.0, file(&["a", "b"]));
    assert_eq!(members(&bench, "g"), ["a", "b"]);
    bench.declared(9.0, file(&["a"]));
    assert_eq!(bench.planned(&["--prune", "none"]), Vec::<String>::new());
    assert_eq!(bench.planned(&["--prune", "all"]), ["update_group g"]);
    bench.plan(&[]).expect(0).shows("1 group member is removed");
    bench.apply(&[]).expect(0);
    assert_eq!(members(&bench, "g"), ["a"]);
    // whoever puts them back by hand after that meets the same
    add(&bench, "g", &bench.id("/peers", "b"));
    bench.apply(&[]).expect(0);
    assert_eq!(members(&bench, "g"), ["a"]);
}

#[test]
fn an_unmanaged_member_stays_and_is_named() {
    let bench = Bench::in_git();
    bench.peer("a");
    bench.applied(1.0, file(&["a"]));
    let theirs = bench.peer("theirs");
    add(&bench, "g", &theirs);
    bench.leaves_all(&[]).shows("No changes");
    bench.plan(&[]).expect(0).shows("theirs");
    // it stays when others come and go
    bench.peer("b");
    bench.declared(9.0, file(&["b"]));
    bench.apply(&[]).expect(0);
    assert_eq!(members(&bench, "g"), ["b", "theirs"]);
    bench.leaves_all(&["--prune", "none"]);
    bench.hour(10.0);
    bench.apply(&["--prune", "all"]).expect(0);
    assert_eq!(members(&bench, "g"), ["b"]);
}

#[test]
fn prune_all_leaves_persons_ephemerals_and_those_of_declared_keys() {
    let bench = Bench::in_git();
    let keys = json!({ "fleet": { "type": "reusable", "expires_in": 0, "auto_groups": ["g"] } });
    let whole = json!({ "groups": { "g": { "peers": [] } }, "setup_keys": keys });
    bench.applied(1.0, whole);
    bench
        .server()
        .enroll(&bench.unseal("fleet"), "by-key")
        .unwrap();
    add(&bench, "g", &bench.netbird().enroll_sso("laptop"));
    let key = json!({ "name": "ci", "type": "reusable", "expires_in": 0, "auto_groups": [], "ephemeral": true });
    let key = bench.create("/setup-keys", key);
    let runner = bench
        .server()
        .enroll(key["key"].as_str().unwrap(), "runner")
        .unwrap();
    add(&bench, "g", &runner);
    bench.delete("/setup-keys", "ci");
    add(&bench, "g", &bench.peer("theirs"));
    assert_eq!(
        members(&bench, "g"),
        ["by-key", "laptop", "runner", "theirs"]
    );
    bench.leaves_all(&[]);
    bench.apply(&["--prune", "all"]).expect(0);
    assert_eq!(members(&bench, "g"), ["by-key", "laptop", "runner"]);
}

#[test]
fn a_group_whose_members_are_not_declared_keeps_them() {
    let bench = Bench::in_git();
    bench.peer("a");
    bench.applied(1.0, file(&["a"]));
    bench.declared(9.0, json!({ "groups": { "g": {} } }));
    for prune in ["owned", "all"] {
        bench.leaves_all(&["--prune", prune]);
    }
    assert_eq!(members(&bench, "g"), ["a"]);
}

#[test]
fn a_peer_that_is_younger_than_its_listing_is_not_added() {
    let bench = Bench::in_git();
    bench.declared(1.0, file(&["a"]));
    bench.hour(5.0).peer("a");
    bench
        .apply(&[])
        .expect(0)
        .says_anywhere("younger than the commit that listed it");
    assert_eq!(members(&bench, "g"), Vec::<String>::new());
    // listed again, by a commit that can have meant it
    bench.declared(6.0, file(&[]));
    bench.declared(7.0, file(&["a"]));
    bench.apply(&[]).expect(0);
    assert_eq!(members(&bench, "g"), ["a"]);
}

#[test]
fn a_stranger_of_a_members_name_neither_joins_nor_throws_it_out() {
    let bench = Bench::in_git();
    let a = bench.peer("a");
    bench.applied(1.0, file(&["a"]));
    bench.hour(5.0).peer("a");
    bench.leaves_all(&[]);
    let group = bench.one("/groups", "g");
    assert_eq!(group["peers"][0]["id"], json!(a));
    // the member's own machine is gone: the stranger does not take its place
    bench
        .server()
        .write("DELETE", &format!("/peers/{a}"), Value::Null);
    bench.leaves_all(&[]);
    assert_eq!(members(&bench, "g"), Vec::<String>::new());
}

#[test]
fn a_member_that_was_lost_comes_back() {
    let bench = Bench::in_git();
    bench.peer("gw-01");
    bench.applied(1.0, file(&["gw-01"]));
    bench.edit("/groups", "g", json!({ "peers": [] }));
    bench.plan(&["--detailed-exitcode"]).expect(2);
    bench.apply(&[]).expect(0);
    assert_eq!(members(&bench, "g"), ["gw-01"]);
}

#[test]
fn a_listed_key_without_its_peer_harms_nothing() {
    let bench = Bench::in_git();
    let keys = bench.enrolled(&["db-01"]);
    let whole =
        |peers: &[&str]| json!({ "groups": { "db": { "peers": peers } }, "setup_keys": keys });
    bench.applied(1.0, whole(&["db-01"]));
    bench.delete("/peers", "db-01");
    bench.leaves_all(&[]).says_anywhere("but its peer is gone");
    bench.delete("/setup-keys", "db-01");
    bench
        .leaves_all(&[])
        .says_anywhere("is marked enrolled but has no peer");
}

#[test]
fn a_member_that_was_listed_by_its_keys_name_leaves_too() {
    let bench = Bench::in_git();
    let keys = bench.enrolled(&["k"]);
    let whole =
        |peers: &[&str]| json!({ "groups": { "g": { "peers": peers } }, "setup_keys": keys });
    bench.applied(1.0, whole(&["k"]));
    // renamed by hand meanwhile: the event still tells whose it is
    bench.edit("/peers", "k", json!({ "name": "renamed" }));
    bench.leaves_all(&[]);
    bench.declared(9.0, whole(&[]));
    bench.apply(&[]).expect(0);
    assert_eq!(members(&bench, "g"), Vec::<String>::new());
}

#[test]
fn a_member_that_somebody_elses_group_lists_is_not_ours_to_remove() {
    let bench = Bench::in_git();
    bench.peer("a");
    let both =
        |g: &[&str], h: &[&str]| json!({ "groups": { "g": { "peers": g }, "h": { "peers": h } } });
    bench.applied(1.0, both(&["a"], &[]));
    // a was listed in g and never in h
    add(&bench, "h", &bench.id("/peers", "a"));
    bench.declared(9.0, both(&[], &[]));
    bench.apply(&[]).expect(0);
    assert_eq!(members(&bench, "g"), Vec::<String>::new());
    assert_eq!(members(&bench, "h"), ["a"]);
}
