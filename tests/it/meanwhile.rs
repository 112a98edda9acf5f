//! What somebody changes between the plan and a write: what the file does not say stays, the rest is set and said.

use fakes::{Effect, Fault, NetBird};
use serde_json::{Value, json};

use crate::run::{Bench, INVENTORY};

/// One object of each kind that a PUT changes.
fn file(text: &str) -> Value {
    json!({
        "groups": { "g": {}, "h": {}, "spare": {} },
        "setup_keys": { "k": { "type": "one-off", "expires_in": 86400,
                               "auto_groups": if text == "one" { json!(["h"]) } else { json!(["g", "h"]) } } },
        "policies": { "p": { "sources": ["g"], "destinations": ["h"], "description": text } },
        "routes": { "r": { "network": "10.6.0.0/16", "peer_groups": ["h"], "groups": ["h"], "description": text } },
        "dns": { "nameserver_groups": { "n": { "nameservers": [{ "ip": "10.6.0.53" }], "groups": ["h"],
                                                "domains": ["it.example"], "description": text } } }
    })
}

fn agreed() -> Bench {
    let bench = Bench::fake();
    bench.agreed(file("one"));
    bench.delete("/policies", "Default");
    bench
}

/// Changes an object by hand once the plan is made: right before the first write, whatever it is.
fn changed(bench: &Bench, path: &str, name: &str, changes: Value) {
    let (path, live) = (path.to_owned(), bench.one(path, name));
    let edit = move |netbird: &NetBird| {
        let id = live["id"].as_str().unwrap();
        let mut body = live.as_object().unwrap().clone();
        if path == "/policies" {
            for side in ["sources", "destinations"] {
                let ids = live["rules"][0][side].as_array().unwrap().iter();
                body["rules"][0][side] = ids.map(|group| group["id"].clone()).collect();
            }
            for (field, value) in changes["rule"].as_object().into_iter().flatten() {
                body["rules"][0][field] = value.clone();
            }
        }
        if path == "/routes" {
            body.remove("domains");
            body.remove("peer");
        }
        body.extend(changes.as_object().unwrap().clone());
        let (status, answer) = netbird.call("PUT", &format!("{path}/{id}"), body.into());
        assert_eq!(status, 200, "{answer}");
    };
    bench.netbird().before("GET", "/groups/", edit);
}

/// A file whose first write is that of a group, so that a change by hand comes before all others.
fn second(bench: &Bench) -> Value {
    let mut file = file("two");
    file["groups"]["g"] = json!({ "peers": ["m", "k"] });
    file["setup_keys"]["m"] = bench.enrolled(&["m"])["m"].take();
    file
}

#[test]
fn what_the_file_does_not_say_stays_as_somebody_left_it() {
    let bench = agreed();
    let file = second(&bench);
    let check = json!({ "name": "c", "description": "", "checks": { "nb_version_check": { "min_version": "0.1.0" } } });
    let check = bench.server().write("POST", "/posture-checks", check);
    for (path, name, changes) in [
        (
            "/policies",
            "p",
            json!({ "enabled": false, "rule": { "enabled": false }, "source_posture_checks": [check["id"]] }),
        ),
        ("/routes", "r", json!({ "metric": 7, "enabled": false })),
        ("/dns/nameservers", "n", json!({ "enabled": false })),
        (
            "/setup-keys",
            "k",
            json!({ "revoked": true, "auto_groups": bench.one("/setup-keys", "k")["auto_groups"] }),
        ),
    ] {
        changed(&bench, path, name, changes);
    }
    bench.file(file);
    let run = bench.apply(&["--prune", "all"]);
    for (path, name) in [
        ("/policies", "p"),
        ("/routes", "r"),
        ("/dns/nameservers", "n"),
    ] {
        let live = bench.one(path, name);
        assert_eq!(live["enabled"], false, "{path}: {}", run.stderr);
        assert_eq!(live["description"], "two");
    }
    assert_eq!(
        bench.one("/policies", "p")["source_posture_checks"],
        json!([check["id"]])
    );
    assert_eq!(bench.one("/routes", "r")["metric"], 7);
    assert_eq!(bench.one("/setup-keys", "k")["revoked"], true);
    let run = run.expect(0);
    assert!(!run.stderr.contains("somebody changed"), "{}", run.stderr);
}

#[test]
fn what_the_file_says_is_set_again_and_that_is_said() {
    let bench = agreed();
    let file = second(&bench);
    changed(
        &bench,
        "/policies",
        "p",
        json!({ "description": "by hand", "name": "q" }),
    );
    changed(&bench, "/routes", "r", json!({ "description": "by hand" }));
    let renamed = json!({ "name": "x", "peers": [], "resources": [] });
    changed(&bench, "/groups", "g", renamed);
    bench.file(file);
    let run = bench.apply(&["--format", "json"]).expect(0);
    let told = "somebody changed policy \"p\" during this run (description \"by hand\" → \"two\"). This run sets the values of the file again.";
    let notices = run.json()["notices"].clone();
    let notices: Vec<&str> = notices
        .as_array()
        .unwrap()
        .iter()
        .filter_map(Value::as_str)
        .collect();
    assert!(notices.contains(&told), "{notices:?}");
    run.says(told)
        .says("somebody renamed policy \"p\" to \"q\" during this run")
        .says("somebody renamed group \"g\" to \"x\" during this run")
        .says("somebody changed route \"r\" during this run");
    assert_eq!(bench.one("/policies", "p")["description"], "two");
}

#[test]
fn what_somebody_did_already_is_not_written_again() {
    let bench = agreed();
    let file = second(&bench);
    changed(&bench, "/policies", "p", json!({ "description": "two" }));
    let m = bench.id("/peers", "m");
    changed(
        &bench,
        "/groups",
        "g",
        json!({ "peers": [m], "resources": [] }),
    );
    bench.file(file);
    bench.server().clear_requests();
    let run = bench.apply(&[]).expect(0);
    let run = run.says("policy p: is already as the file says: somebody changed it meanwhile");
    let again = "This run sets the values of the file again";
    assert!(!run.stderr.contains(again), "{}", run.stderr);
    let puts = bench.writes();
    for path in ["PUT /policies", "PUT /groups"] {
        assert!(!puts.contains(&path.to_owned()), "{puts:?}");
    }
}

#[test]
fn what_is_right_but_for_its_name_gets_its_name_back() {
    let bench = agreed();
    let file = second(&bench);
    let renamed = json!({ "description": "two", "name": "q" });
    changed(&bench, "/policies", "p", renamed);
    bench.file(file).apply(&[]).expect(0);
    bench.one("/policies", "p");
}

#[test]
fn a_policy_that_got_a_second_rule_meanwhile_is_left_as_it_is() {
    let bench = agreed();
    let file = second(&bench);
    let p = bench.one("/policies", "p");
    let rule = json!({ "name": "other", "enabled": true, "action": "drop", "protocol": "all",
                       "sources": [p["rules"][0]["sources"][0]["id"]], "destinations": [p["rules"][0]["sources"][0]["id"]] });
    let id = p["id"].as_str().unwrap().to_owned();
    bench.netbird().before("GET", "/groups/", move |netbird| {
        netbird.add_legacy_rule(&id, rule).unwrap();
    });
    bench.file(file);
    bench
        .apply(&[])
        .expect(4)
        .says("it has 2 rules, which the file cannot say, so it is left as it is");
    assert_eq!(bench.one("/policies", "p")["description"], "one");
}

#[test]
fn a_declared_member_that_somebody_took_out_meanwhile_is_back() {
    let bench = Bench::fake();
    let keys = bench.enrolled(&["m", "n", "x"]);
    let file = |peers: Value| json!({ "groups": { "g": { "peers": peers } }, "setup_keys": keys });
    bench.agreed(file(json!(["m"])));
    // one of whom the file says nothing is not set again
    let members = ["m", "x"].map(|name| bench.id("/peers", name));
    bench.edit("/groups", "g", json!({ "peers": members }));
    let g = bench.one("/groups", "g");
    let group = format!("/groups/{}", g["id"].as_str().unwrap());
    bench
        .netbird()
        .before("GET", &group.clone(), move |netbird| {
            let body = json!({ "name": "g", "peers": [], "resources": [] });
            assert_eq!(netbird.call("PUT", &group, body).0, 200);
        });
    bench.file(file(json!(["m", "n"])));
    let run = bench.apply(&[]).expect(0).says(
        "somebody removed \"m\" from group \"g\" during this run. The file lists them, so the run added them again.",
    );
    run.says("group g: members changed: 1 added\n");
    assert_eq!(
        bench.one("/groups", "g")["peers"].as_array().unwrap().len(),
        2
    );
}

#[test]
fn what_this_run_renames_in_the_first_of_two_writes_was_renamed_by_nobody_else() {
    let bench = Bench::fake();
    let keys = bench.enrolled(&["m", "n"]);
    let file = |groups: Value| json!({ "groups": groups, "setup_keys": keys });
    bench.agreed(file(json!({ "old": { "peers": ["m"] } })));
    bench.file(file(
        json!({ "new": { "renamed_from": "old", "peers": ["n"] } }),
    ));
    let run = bench.apply(&["--max-deletes", "9"]).expect(0);
    bench.assert_writes(&["PUT /groups", "PUT /groups"]);
    assert!(!run.stderr.contains("somebody renamed"), "{}", run.stderr);
}

#[test]
fn what_is_no_longer_what_was_to_go_stays() {
    let gone = |section: &str, entry: &str| {
        let mut file = file("one");
        let section = file[section].as_object_mut().unwrap();
        section.remove(entry);
        file
    };
    // renamed: it may be somebody's now
    let bench = agreed();
    bench.file(gone("policies", "p"));
    let p = format!("/policies/{}", bench.id("/policies", "p"));
    changed_before_deletion(&bench, &p, json!({ "name": "theirs" }));
    bench
        .apply(&["--prune", "all"])
        .expect(4)
        .says("somebody renamed it to \"theirs\" meanwhile, so it stays");
    bench.one("/policies", "theirs");

    // with a second rule: no plan showed that it goes, too
    let bench = agreed();
    bench.file(gone("policies", "p"));
    let p = bench.one("/policies", "p");
    let group = &p["rules"][0]["sources"][0]["id"];
    let rule = json!({ "name": "other", "enabled": true, "action": "drop", "protocol": "all",
                       "sources": [group], "destinations": [group] });
    let id = p["id"].as_str().unwrap().to_owned();
    bench
        .netbird()
        .before("GET", &format!("/policies/{id}"), move |netbird| {
            netbird.add_legacy_rule(&id, rule).unwrap();
        });
    bench
        .apply(&["--prune", "all"])
        .expect(4)
        .says("it has 2 rules, which the file cannot say, so it is left as it is");
    bench.one("/policies", "p");

    // used: the key is all that tells whose machine that is
    let bench = agreed();
    bench.file(gone("setup_keys", "k"));
    let (key, secret) = (bench.id("/setup-keys", "k"), bench.unseal("k"));
    let path = format!("/setup-keys/{key}");
    bench.netbird().before("GET", &path, move |netbird| {
        netbird.enroll(&secret, "some-host").unwrap();
    });
    let mut file = gone("setup_keys", "k");
    file["groups"].as_object_mut().unwrap().remove("spare");
    bench.file(file);
    let refusal = Effect::Status(422, json!({ "message": "no", "code": 422 }));
    bench
        .netbird()
        .fault(Fault::on("DELETE", "/groups/").then(refusal));
    let run = bench
        .apply(&["--prune", "all"])
        .expect(4)
        .says("a machine enrolled with it meanwhile, so it is not deleted")
        .says("correct the entry: NetBird will refuse it again in each run");
    for wrong in ["not tried. To", "; 1 was not tried", "not carried out"] {
        // it was looked at, and the refusal is no lost answer
        assert!(!run.stderr.contains(wrong), "{wrong}: {}", run.stderr);
    }
    bench.one("/setup-keys", "k");

    // but a key for many machines is deleted, whoever enrolled with it meanwhile
    let bench = agreed();
    let mut file = self::file("one");
    file["setup_keys"]["r"] = json!({ "type": "reusable", "expires_in": 86400 });
    bench.agreed(file);
    let (key, secret) = (bench.id("/setup-keys", "r"), bench.unseal("r"));
    let path = format!("/setup-keys/{key}");
    bench.netbird().before("GET", &path, move |netbird| {
        netbird.enroll(&secret, "some-host").unwrap();
    });
    bench.file(self::file("one"));
    bench.apply(&["--prune", "all"]).expect(0);
    assert_eq!(bench.names("/setup-keys"), ["k"]);
}

/// Another run let it go while this one made its keys.
#[test]
fn the_inventory_is_read_again_before_a_block_of_deletions() {
    let bench = agreed();
    let mut file = file("one");
    file["setup_keys"]["new"] = file["setup_keys"]["k"].clone();
    file["policies"] = json!({});
    bench.file(file);
    let path = bench.path(INVENTORY[1]);
    bench.netbird().after("PUT", "/setup-keys/", move |_| {
        let text = std::fs::read(&path).unwrap();
        let mut inventory: Value = serde_json::from_slice(&text).unwrap();
        let created = inventory["created"].as_object_mut().unwrap();
        created.remove("policies/p").expect("it is ours");
        std::fs::write(path, inventory.to_string()).unwrap();
    });
    bench
        .apply(&["--no-verify"])
        .expect(0)
        .says("another run deleted it or let it go meanwhile");
    bench.one("/policies", "p");
}

/// Changes a policy by hand right before it is looked at for its deletion.
fn changed_before_deletion(bench: &Bench, path: &str, changes: Value) {
    let path = path.to_owned();
    bench
        .netbird()
        .before("GET", &path.clone(), move |netbird| {
            let (_, live) = netbird.call("GET", &path, Value::Null);
            let mut body = live.as_object().unwrap().clone();
            for side in ["sources", "destinations"] {
                let ids = live["rules"][0][side].as_array().unwrap().iter();
                body["rules"][0][side] = ids.map(|group| group["id"].clone()).collect();
            }
            body.extend(changes.as_object().unwrap().clone());
            assert_eq!(netbird.call("PUT", &path, body.into()).0, 200);
        });
}
