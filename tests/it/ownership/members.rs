//! Members of groups: who is a member because the file lists it leaves with its name, and nobody else does.

use serde_json::{Value, json};

use crate::run::Bench;

fn file(peers: &[&str]) -> Value {
    json!({ "groups": { "g": { "peers": peers } } })
}

/// A bench whose group `g` lists nobody yet; from here on a name means the machine that has it when the file first uses it.
fn settled() -> Bench {
    let bench = Bench::in_git();
    bench.applied(0.0, file(&[]));
    bench
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
fn listed_and_no_more_it_leaves() {
    let bench = settled();
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
    // whom somebody puts back by hand after that is somebody's member
    add(&bench, "g", &bench.id("/peers", "b"));
    bench.leaves_all(&[]).shows("No changes");
    bench.plan(&[]).expect(0).shows("in group \"g\": \"b\"");
}

#[test]
fn one_who_came_by_auto_groups_and_is_listed_leaves_with_its_name() {
    let bench = Bench::in_git();
    let whole = |peers: &[&str], enrolled: bool| {
        json!({ "groups": { "g": { "peers": peers } }, "setup_keys": { "k": { "type": "one-off", "expires_in": 86400,
                "auto_groups": ["g"], "enrolled": enrolled } } })
    };
    bench.applied(0.0, whole(&["k"], false));
    bench.hour(1.0);
    bench.server().enroll(&bench.unseal("k"), "k").unwrap();
    bench.applied(2.0, whole(&["k"], true));
    assert_eq!(members(&bench, "g"), ["k"]);
    bench.applied(3.0, whole(&[], true));
    assert_eq!(members(&bench, "g"), Vec::<String>::new());
    assert_eq!(bench.names("/peers"), ["k"]);
}

#[test]
fn an_unmanaged_member_stays_and_is_named() {
    let bench = settled();
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
    let bench = settled();
    bench.peer("a");
    bench.applied(1.0, file(&["a"]));
    bench.declared(9.0, json!({ "groups": { "g": {} } }));
    for prune in ["owned", "all"] {
        bench.leaves_all(&["--prune", prune]);
    }
    assert_eq!(members(&bench, "g"), ["a"]);
}

#[test]
fn a_first_inventory_takes_nobody_by_a_name_alone_but_who_is_in_the_group() {
    let bench = Bench::in_git();
    let g = bench.group("g");
    let [inside, outside] = ["inside", "outside"].map(|name| bench.peer(name));
    add(&bench, "g", &inside);
    bench.declared(1.0, file(&["inside", "outside"]));
    let adopt = format!("--adopt peers/outside={outside}");
    let run = bench.apply(&[]).expect(0).says_anywhere(&adopt);
    run.says_anywhere("which means no machine yet");
    assert_eq!(members(&bench, "g"), ["inside"]);
    assert_eq!(bench.id("/groups", "g"), g);
    bench.apply(&[&adopt[..7], &adopt[8..]]).expect(0);
    assert_eq!(members(&bench, "g"), ["inside", "outside"]);
}

#[test]
fn a_name_that_meant_a_machine_that_is_gone_says_so() {
    let bench = settled();
    let first = bench.peer("a");
    bench.applied(1.0, file(&["a"]));
    bench.delete("/peers", "a");
    let [second, third] = [2.0, 3.0].map(|hour| bench.hour(hour).peer("a"));
    let run = bench.leaves_all(&[]);
    run.says_anywhere(&format!(
        "the machine that it meant ({first}) does not exist any more"
    ))
    .says_anywhere(&second)
    .says_anywhere(&third)
    .says_anywhere("If one of them is the right machine, run apply --adopt peers/a=ID");
}

#[test]
fn a_machine_that_takes_a_name_later_is_not_added() {
    let bench = settled();
    bench.applied(1.0, file(&["a"]));
    let a = bench.hour(5.0).peer("a");
    let run = bench.leaves_all(&[]);
    run.says_anywhere(&format!("--adopt peers/a={a}"));
    // somebody puts it there: then it is the one that is meant
    add(&bench, "g", &a);
    let run = bench.leaves_all(&[]).shows("No changes");
    run.hides("means no machine yet");
    bench.applied(6.0, file(&[]));
    assert_eq!(members(&bench, "g"), Vec::<String>::new());
}

#[test]
fn a_stranger_of_a_members_name_neither_joins_nor_throws_it_out() {
    let bench = settled();
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
    let bench = settled();
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
    bench
        .leaves_all(&[])
        .says_anywhere("but the peer that enrolled with it was deleted");
    bench.delete("/setup-keys", "db-01");
    bench
        .leaves_all(&[])
        .says_anywhere("has no peer that is known to have enrolled with it");
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
    let both =
        |g: &[&str], h: &[&str]| json!({ "groups": { "g": { "peers": g }, "h": { "peers": h } } });
    bench.applied(0.0, both(&[], &[]));
    bench.peer("a");
    bench.applied(1.0, both(&["a"], &[]));
    // a was listed in g and never in h
    add(&bench, "h", &bench.id("/peers", "a"));
    bench.declared(9.0, both(&[], &[]));
    bench.apply(&[]).expect(0);
    assert_eq!(members(&bench, "g"), Vec::<String>::new());
    assert_eq!(members(&bench, "h"), ["a"]);
}

/// A name means who had it when the commit was made that wrote it, however late that is applied.
#[test]
fn who_takes_the_name_after_the_commit_is_nobody() {
    let bench = settled();
    bench.declared(1.0, file(&["cam-9"]));
    bench.hour(2.0);
    let later = bench.peer("cam-9");
    let hint = format!("--adopt peers/cam-9={later}");
    bench.plan(&[]).expect(0).shows(&hint);
    bench.apply(&[]).expect(0);
    assert_eq!(members(&bench, "g"), Vec::<String>::new());
    // who had it before is meant, and is not hidden by whoever takes it then
    let bench = settled();
    bench.hour(0.5);
    let before = bench.peer("cam-9");
    bench.declared(1.0, file(&["cam-9"]));
    bench.hour(2.0);
    bench.peer("cam-9");
    bench.apply(&[]).expect(0);
    assert_eq!(bench.inventory()["names"], json!({ "cam-9": before }));
}

/// A name that was a pending key's is a machine's once the file says that the key did its work, or has the key no more: whoever takes it
/// after that commit is not meant.
#[test]
fn who_takes_the_name_of_a_key_that_nobody_used_is_nobody() {
    let key = |enrolled| json!({ "type": "one-off", "expires_in": 86400, "enrolled": enrolled });
    for keys in [json!({ "k": key(true) }), json!({})] {
        let bench = Bench::in_git();
        let mut wanted = file(&["k"]);
        wanted["setup_keys"] = json!({ "k": key(false) });
        bench.applied(0.0, wanted.clone());
        wanted["setup_keys"] = keys;
        bench.declared(1.0, wanted);
        bench.hour(2.0);
        bench.peer("k");
        bench.apply(&["--allow-deletes", "1"]).expect(0);
        assert_eq!(members(&bench, "g"), Vec::<String>::new());
    }
}

/// The name of a key that is gone is free again: whoever takes it has nothing of the machine that came by the key.
#[test]
fn who_takes_the_name_of_a_machine_that_is_gone_with_its_key_is_nobody() {
    for is_declared in [true, false] {
        let bench = Bench::in_git();
        let keys = bench.enrolled(&["k"]);
        let mut wanted = file(&["k"]);
        wanted["setup_keys"] = keys;
        bench.applied(0.0, wanted.clone());
        assert_eq!(members(&bench, "g"), ["k"]);
        if !is_declared {
            wanted["setup_keys"] = json!({});
            bench.declared(1.0, wanted.clone());
            bench.apply(&[]).expect(0);
        }
        let mut gone = vec![("/peers", "k")];
        gone.extend(is_declared.then_some(("/setup-keys", "k")));
        for (path, name) in gone {
            let path = format!("{path}/{}", bench.id(path, name));
            bench.server().call("DELETE", &path, Value::Null);
        }
        bench.hour(2.0);
        bench.peer("k");
        bench.apply(&[]).expect(0);
        bench.apply(&[]).expect(0);
        assert_eq!(members(&bench, "g"), Vec::<String>::new(), "{is_declared}");
    }
}

/// No run came between the enrollment and the change that takes the name out again.
#[test]
fn who_enrolled_and_left_the_file_before_a_run_recorded_it_leaves() {
    let bench = Bench::in_git();
    let whole = |listed: &[&str], groups: &[&str]| {
        json!({ "groups": { "a": { "peers": listed }, "b": {} }, "setup_keys": { "k": { "type": "one-off", "expires_in": 86400,
                "auto_groups": groups } } })
    };
    bench.applied(0.0, whole(&["k"], &["a", "b"]));
    bench.hour(1.0);
    bench.server().enroll(&bench.unseal("k"), "k").unwrap();
    assert_eq!(members(&bench, "a"), ["k"]);
    bench.declared(2.0, whole(&[], &["b"]));
    bench
        .plan(&[])
        .expect(0)
        .shows("1 group member is removed")
        .hides("when it enrolls")
        .hides("after enrollment");
    bench.apply(&[]).expect(0);
    assert_eq!(members(&bench, "a"), Vec::<String>::new());
    assert_eq!(members(&bench, "b"), ["k"]);
}

/// Nor where somebody deleted the key before.
#[test]
fn who_came_by_a_key_that_was_deleted_and_left_the_file_leaves() {
    for is_marked in [false, true] {
        let bench = Bench::in_git();
        let whole = |listed: &[&str], is_marked: bool| {
            json!({ "groups": { "a": { "peers": listed } }, "setup_keys": { "k": { "type": "one-off", "expires_in": 86400,
                    "enrolled": is_marked } } })
        };
        bench.applied(0.0, whole(&["k"], false));
        bench.hour(1.0);
        bench.server().enroll(&bench.unseal("k"), "k").unwrap();
        let peer = bench.id("/peers", "k");
        add(&bench, "a", &peer);
        let key = format!("/setup-keys/{}", bench.id("/setup-keys", "k"));
        bench.server().call("DELETE", &key, Value::Null);
        bench.declared(2.0, whole(&[], is_marked));
        bench.apply(&[]).expect(0);
        assert_eq!(members(&bench, "a"), Vec::<String>::new(), "{is_marked}");
        bench.leaves_all(&[]).shows("No changes");
    }
}

/// Somebody deleted the used key before a run saw it: the event log still tells who came by it.
#[test]
fn who_came_by_a_key_that_was_deleted_since_has_its_name() {
    let bench = Bench::in_git();
    let whole = json!({ "groups": { "a": { "peers": ["k"] }, "b": { "peers": ["k"] } }, "setup_keys": { "k": {
        "type": "one-off", "expires_in": 86400, "auto_groups": ["a"] } } });
    bench.applied(0.0, whole);
    bench.hour(1.0);
    bench
        .server()
        .enroll(&bench.unseal("k"), "some-host")
        .unwrap();
    let key = format!("/setup-keys/{}", bench.id("/setup-keys", "k"));
    bench.server().call("DELETE", &key, Value::Null);
    bench.hour(2.0);
    assert_eq!(bench.planned(&[]), ["update_group b", "rename_peer k"]);
    bench.apply(&[]).expect(0);
    for group in ["a", "b"] {
        assert_eq!(members(&bench, group), ["k"]);
    }
    bench.leaves_all(&[]).shows("No changes");
    // and it is known from then on
    bench.netbird().drop_events();
    bench.leaves_all(&[]).shows("No changes");
}

/// A machine of a key for many is nobody's to take along, whoever deleted the key.
#[test]
fn the_only_machine_of_a_key_for_many_that_was_deleted_is_not_the_keys() {
    let bench = Bench::in_git();
    let whole = |keys: Value| json!({ "groups": { "a": {} }, "setup_keys": keys });
    let fleet = json!({ "fleet": { "type": "reusable", "expires_in": 0 } });
    bench.applied(0.0, whole(fleet.clone()));
    bench.hour(1.0);
    bench
        .server()
        .enroll(&bench.unseal("fleet"), "some-host")
        .unwrap();
    let key = format!("/setup-keys/{}", bench.id("/setup-keys", "fleet"));
    bench.server().call("DELETE", &key, Value::Null);
    bench.hour(2.0);
    bench.apply(&[]).expect(0);
    assert_eq!(bench.inventory()["enrolled"], Value::Null);
    bench.applied(3.0, whole(json!({})));
    assert_eq!(bench.names("/peers"), ["some-host"]);
}

#[test]
fn nobody_is_adopted_for_the_name_of_a_key() {
    let bench = Bench::in_git();
    let key = json!({ "type": "one-off", "expires_in": 86400 });
    bench.applied(
        0.0,
        json!({ "groups": { "g": { "peers": ["k"] } }, "setup_keys": { "k": key } }),
    );
    let adopt = format!("peers/k={}", bench.peer("other"));
    bench
        .run(&["apply", "--adopt", &adopt])
        .expect(1)
        .says("the file has a setup key with this name");
}
