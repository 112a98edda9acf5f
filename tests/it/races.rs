//! What comes of others who write at the same time: machines that enroll, people, and other runs?

use std::fs;
use std::process::Command;

use fakes::{Fault, NetBird};
use serde_json::{Value, json};

use crate::run::{Bench, Server, files, id, open};

/// A group of one member, and a key whose machine is still to come.
fn gateway(bench: &Bench, members: &[&str]) -> Value {
    let mut keys = bench.enrolled(&["m1"]);
    // not at one moment: that would leave it to the event log who came by which key
    bench.netbird().advance(5);
    keys["m2"] = bench.enrolled(&["m2"])["m2"].take();
    keys["new"] = json!({ "type": "one-off", "expires_in": 86400, "auto_groups": ["gw"] });
    let members: Vec<&str> = members.iter().copied().chain(["new"]).collect();
    json!({ "groups": { "gw": { "peers": members } }, "setup_keys": keys })
}

/// A file whose apply writes the group, and a machine that enrolls right before that write.
fn enrolled_in_between(prepare: impl Fn(&NetBird)) -> (Bench, crate::run::Run) {
    let bench = Bench::fake();
    let mut file = gateway(&bench, &["m1"]);
    bench.agreed(file.clone());
    file["groups"]["gw"]["peers"] = json!(["m1", "m2", "new"]);
    bench.file(file);
    prepare(bench.netbird());
    let secret = bench.unseal("new");
    let group = format!("/groups/{}", bench.id("/groups", "gw"));
    bench.netbird().before("PUT", &group, move |netbird| {
        netbird.enroll(&secret, "some-host").unwrap();
    });
    let run = bench.apply(&[]).expect(0);
    (bench, run)
}

fn members(bench: &Bench) -> Vec<String> {
    let group = bench.one("/groups", "gw");
    let mut names: Vec<String> = group["peers"]
        .as_array()
        .unwrap()
        .iter()
        .map(|peer| peer["name"].as_str().unwrap().to_owned())
        .collect();
    names.sort();
    names
}

#[test]
fn a_machine_that_enrolls_while_its_group_is_written_is_put_back() {
    let (bench, run) = enrolled_in_between(|_| {});
    run.says(
        "group gw: some-host joined while it was written and was thrown out by that; put back",
    )
    .shows("left for the next run, a peer enrolled meanwhile: rename peer new");
    assert_eq!(members(&bench), ["m1", "m2", "some-host"]);
    bench.apply(&[]).expect(0).says("renamed from some-host");
    assert_eq!(members(&bench), ["m1", "m2", "new"]);
    bench.plan(&[]).expect(0).shows("No changes");
}

#[test]
fn with_the_event_log_off_its_key_tells_where_it_belongs() {
    let (bench, run) = enrolled_in_between(|netbird| netbird.event_log(false));
    run.says("put back");
    assert_eq!(members(&bench), ["m1", "m2", "some-host"]);
}

#[test]
fn events_that_are_late_are_no_trouble() {
    let (bench, run) = enrolled_in_between(|netbird| netbird.late_events(1));
    run.says("put back");
    assert_eq!(members(&bench), ["m1", "m2", "some-host"]);
}

#[test]
fn a_member_that_somebody_adds_while_the_group_is_written_is_put_back() {
    let bench = Bench::fake();
    let mut file = gateway(&bench, &["m1"]);
    let theirs = bench.peer("theirs");
    bench.agreed(file.clone());
    file["groups"]["gw"]["peers"] = json!(["m1", "m2", "new"]);
    bench.file(file);
    let group = format!("/groups/{}", bench.id("/groups", "gw"));
    let m1 = bench.id("/peers", "m1");
    bench
        .netbird()
        .before("PUT", &group.clone(), move |netbird| {
            let (status, _) = netbird.call(
                "PUT",
                &group,
                json!({ "name": "gw", "peers": [m1, theirs], "resources": [] }),
            );
            assert_eq!(status, 200);
        });
    bench
        .apply(&[])
        .expect(0)
        .says("group gw: theirs joined while it was written");
    assert_eq!(members(&bench), ["m1", "m2", "theirs"]);
}

#[test]
fn a_machine_that_was_thrown_out_is_put_back_even_where_the_run_fails_later() {
    let bench = Bench::fake();
    let mut file = gateway(&bench, &["m1"]);
    bench.agreed(file.clone());
    file["groups"]["gw"]["peers"] = json!(["m1", "m2", "new"]);
    file["policies"] = json!({ "p": { "sources": ["gw"], "destinations": ["gw"] } });
    bench.file(file);
    let secret = bench.unseal("new");
    let group = format!("/groups/{}", bench.id("/groups", "gw"));
    bench.netbird().before("PUT", &group, move |netbird| {
        netbird.enroll(&secret, "some-host").unwrap();
    });
    bench.netbird().fault(Fault::on("POST", "/policies"));
    bench.apply(&[]).expect(4).says("put back");
    assert_eq!(members(&bench), ["m1", "m2", "some-host"]);
}

#[test]
fn a_member_that_another_run_takes_out_does_not_come_back_by_one_that_fails() {
    let bench = Bench::fake();
    let mut file = gateway(&bench, &["m1"]);
    bench.agreed(file.clone());
    file["groups"]["gw"]["peers"] = json!(["m1", "m2", "new"]);
    file["policies"] = json!({ "p": { "sources": ["gw"], "destinations": ["gw"] } });
    bench.file(file.clone());
    // the run of a newer commit, with the same token
    let mut newer = file;
    newer["groups"]["gw"]["peers"] = json!(["m2", "new"]);
    newer.as_object_mut().unwrap().remove("policies");
    fs::write(bench.path("newer.json"), newer.to_string()).unwrap();
    let mut newer = bench.command(&["apply", "-f", "newer.json", "--prune", "all"]);
    bench.netbird().before("POST", "/policies", move |_| {
        assert!(newer.output().unwrap().status.success());
    });
    bench.netbird().fault(Fault::on("POST", "/policies"));
    let run = bench.apply(&[]).expect(4);
    assert!(!run.stderr.contains("put back"), "{}", run.stderr);
    assert_eq!(members(&bench), ["m2"]);
}

#[test]
fn a_member_that_is_meant_to_leave_does_not_come_back() {
    let bench = Bench::fake();
    let mut file = gateway(&bench, &["m1", "m2"]);
    bench.agreed(file.clone());
    file["groups"]["gw"]["peers"] = json!(["m1", "new"]);
    bench.file(file);
    let run = bench
        .apply(&["--prune", "all", "--max-deletes", "9"])
        .expect(0);
    assert!(!run.stderr.contains("put back"), "{}", run.stderr);
    assert_eq!(members(&bench), ["m1"]);
}

#[test]
fn a_member_that_was_removed_on_purpose_does_not_come_back_by_the_next_run_of_that_second() {
    let bench = Bench::fake();
    let keys = bench.enrolled(&["m1", "m2", "m3"]);
    let file =
        |members: &[&str]| json!({ "groups": { "gw": { "peers": members } }, "setup_keys": keys });
    // all of it in one second of the server's clock, and by one user
    let now = jiff::Timestamp::now().as_second();
    bench.netbird().set_clock(now);
    bench.agreed(file(&["m1"]));
    bench.agreed(file(&["m1", "m2"]));
    bench
        .file(file(&["m1"]))
        .apply(&["--prune", "all"])
        .expect(0);
    let run = bench.file(file(&["m1", "m3"])).apply(&["--prune", "all"]);
    let run = run.expect(0);
    assert!(!run.stderr.contains("put back"), "{}", run.stderr);
    assert_eq!(members(&bench), ["m1", "m3"]);
}

/// The same where the plan itself has no need of events.
#[test]
fn nor_where_history_alone_took_it_out() {
    let bench = Bench::in_git();
    for name in ["m1", "m2", "m3"] {
        bench.peer(name);
    }
    let file = |members: &[&str]| json!({ "groups": { "gw": { "peers": members } } });
    bench.applied(1.0, file(&["m1"]));
    bench.applied(1.0, file(&["m1", "m2"]));
    bench.applied(1.0, file(&["m1"]));
    assert_eq!(members(&bench), ["m1"]);
    let run = bench.declared(1.0, file(&["m1", "m3"])).apply(&[]);
    let run = run.expect(0);
    assert!(!run.stderr.contains("put back"), "{}", run.stderr);
    assert_eq!(members(&bench), ["m1", "m3"]);
}

#[test]
fn a_member_that_somebody_takes_out_after_the_write_stays_out() {
    // with the log and without it: that one was read as a member, so this run did not throw it out
    for log in [true, false] {
        let bench = Bench::fake();
        let mut file = gateway(&bench, &["m1"]);
        bench.agreed(file.clone());
        file["groups"]["gw"]["peers"] = json!(["m1", "m2", "new"]);
        bench.file(file);
        bench.netbird().event_log(log);
        let (secret, group) = (bench.unseal("new"), bench.id("/groups", "gw"));
        let path = format!("/groups/{group}");
        // enrolled before the reading, taken out after the writing
        bench.netbird().before("GET", &path, move |netbird| {
            netbird.enroll(&secret, "some-host").unwrap();
        });
        let m1 = bench.id("/peers", "m1");
        bench.netbird().after("PUT", &path.clone(), move |netbird| {
            let body = json!({ "name": "gw", "peers": [m1], "resources": [] });
            assert_eq!(netbird.call("PUT", &path, body).0, 200);
        });
        let run = bench.apply(&[]);
        assert!(!run.stderr.contains("put back"), "{}", run.stderr);
        assert_eq!(members(&bench), ["m1"]);
    }
}

#[test]
fn who_is_thrown_out_by_the_putting_back_comes_back_too() {
    let bench = Bench::fake();
    let mut file = gateway(&bench, &["m1"]);
    let theirs = bench.peer("theirs");
    bench.agreed(file.clone());
    file["groups"]["gw"]["peers"] = json!(["m1", "m2", "new"]);
    bench.file(file);
    let (secret, group) = (bench.unseal("new"), bench.id("/groups", "gw"));
    let path = format!("/groups/{group}");
    bench
        .netbird()
        .before("PUT", &path.clone(), move |netbird| {
            netbird.enroll(&secret, "some-host").unwrap();
            // and somebody joins right before the next replacement of the group
            netbird.before("PUT", &path.clone(), move |netbird| {
                let (_, group) = netbird.call("GET", &path, Value::Null);
                let peers = group["peers"].as_array().unwrap().iter();
                let peers = peers.map(|peer| peer["id"].clone()).chain([json!(theirs)]);
                let body =
                    json!({ "name": "gw", "peers": peers.collect::<Vec<_>>(), "resources": [] });
                assert_eq!(netbird.call("PUT", &path, body).0, 200);
            });
        });
    bench
        .apply(&[])
        .expect(0)
        .says("some-host joined while it was written")
        .says("theirs joined while it was written");
    assert_eq!(members(&bench), ["m1", "m2", "some-host", "theirs"]);
}

#[test]
fn a_machine_that_is_deleted_while_it_joins_is_noticed() {
    let bench = Bench::fake();
    let mut file = gateway(&bench, &["m1"]);
    bench.agreed(file.clone());
    file["groups"]["gw"]["peers"] = json!(["m1", "m2", "new"]);
    bench.file(file);
    let (group, m2) = (bench.id("/groups", "gw"), bench.id("/peers", "m2"));
    // the server takes the id of a peer that is gone without a word
    bench
        .netbird()
        .before("PUT", &format!("/groups/{group}"), move |netbird| {
            netbird.deregister(&m2).unwrap();
        });
    bench
        .apply(&[])
        .expect(4)
        .says("was deleted meanwhile, so it did not join");
    bench.apply(&[]).expect(0).shows("lists \"m2\"");
    assert_eq!(members(&bench), ["m1"]);
}

/// One object of each kind.
fn one_of_each() -> Value {
    json!({
        "groups": { "g1": {}, "g2": {} },
        "setup_keys": {
            "k1": { "type": "one-off", "expires_in": 86400, "auto_groups": ["g1"] },
            "k2": { "type": "reusable", "expires_in": 0, "auto_groups": ["g1", "g2"] }
        },
        "policies": { "p1": { "sources": ["g1"], "destinations": ["g2"] }, "p2": { "sources": ["g2"], "destinations": ["g2"] } },
        "routes": { "r1": { "network": "10.6.0.0/16", "peer_groups": ["g1"], "groups": ["g2"] } },
        "dns": { "nameserver_groups": { "n1": { "nameservers": [{ "ip": "10.6.0.53" }], "groups": ["g1"],
                                                "domains": ["it.example"] } } }
    })
}

/// That there is one object of each name, and that one directory has the key that lives, and no other one has a key.
#[track_caller]
fn assert_one_of_each(bench: &Bench, directories: &[&str]) {
    for name in ["k1", "k2"] {
        let found = sealed_in(bench, directories, name);
        assert_eq!(found.len(), 1, "{name} is sealed in {found:?}");
    }
    assert_one_live_of_each(bench, directories);
}

/// Returns which of these directories have a key's file.
fn sealed_in<'a>(bench: &Bench, directories: &[&'a str], name: &str) -> Vec<&'a str> {
    let file = format!("{}.age", bench.server().name(name));
    let has_it = |dir: &&str| bench.path(dir).join(&file).exists();
    directories.iter().copied().filter(has_it).collect()
}

/// That there is one object of each name, and that one directory has the key that lives.
#[track_caller]
fn assert_one_live_of_each(bench: &Bench, directories: &[&str]) {
    let lists = [
        ("/groups", vec!["g1", "g2"]),
        ("/policies", vec!["p1", "p2"]),
        ("/routes", vec!["r1"]),
        ("/dns/nameservers", vec!["n1"]),
        ("/setup-keys", vec!["k1", "k2"]),
    ];
    for (list, names) in lists {
        for name in names {
            bench.one(list, name);
        }
    }
    for name in ["k1", "k2"] {
        let file = format!("{}.age", bench.server().name(name));
        let opens = |dir: &&str| {
            let sealed = fs::read(bench.path(dir).join(&file)).unwrap();
            bench.server().enroll(&open(&sealed), name).is_ok()
        };
        let found = sealed_in(bench, directories, name);
        let live: Vec<&str> = found.into_iter().filter(opens).collect();
        assert_eq!(live.len(), 1, "{name} lives in {live:?}");
    }
}

/// The same command in its own keys directory.
fn other(bench: &Bench) -> Command {
    bench.command(&["apply", "--keys-dir", "other"])
}

#[test]
fn a_run_that_begins_and_ends_within_another() {
    // before each write of the first run the second one does everything
    let moments = [
        ("POST", "/groups"),
        ("POST", "/setup-keys"),
        ("PUT", "/setup-keys/"),
        ("POST", "/policies"),
        ("POST", "/routes"),
        ("POST", "/dns/nameservers"),
    ];
    for (method, path) in moments {
        let bench = Bench::fake();
        bench.file(one_of_each());
        let mut second = other(&bench);
        bench.netbird().before(method, path, move |_| {
            let output = second.output().unwrap();
            assert!(
                output.status.success(),
                "{}",
                String::from_utf8_lossy(&output.stderr)
            );
        });
        let first = bench.apply(&[]);
        assert!(
            matches!(first.code, 0 | 4),
            "{method} {path}: {}",
            first.stderr
        );
        if first.code == 4 {
            bench.apply(&[]).expect(0);
        }
        assert_one_of_each(&bench, &["sealed-keys", "other"]);
    }
}

#[test]
fn two_runs_on_a_server_that_takes_both_creations_end_in_one_object_of_each_name() {
    // before the first creation of each kind the second run does everything, and the server does not see that
    let moments = [
        "/groups",
        "/setup-keys",
        "/policies",
        "/routes",
        "/dns/nameservers",
    ];
    for path in moments {
        let bench = Bench::fake();
        bench.netbird().unserialised(true);
        bench.file(one_of_each());
        let mut second = other(&bench);
        bench.netbird().before("POST", path, move |_| {
            assert!(second.output().unwrap().status.success());
        });
        // without git nothing but what this run made says whose those are
        bench.apply(&[]).expect(0);
        assert_unreferred(&bench);
        bench.plan(&[]).expect(0).shows("No changes");
        assert_one_of_each(&bench, &["sealed-keys", "other"]);
    }
}

#[test]
fn the_first_of_two_runs_leaves_the_second_ones_objects_to_it() {
    let bench = Bench::fake();
    bench.netbird().unserialised(true);
    bench.file(one_of_each());
    let mut second = other(&bench);
    // the other run makes everything once we have, and looks at it after we did
    bench.netbird().after("POST", "/dns/nameservers", move |_| {
        let output = second.output().unwrap();
        assert!(output.status.success(), "{output:?}");
    });
    bench.apply(&[]).expect(0);
    assert_unreferred(&bench);
    bench.plan(&[]).expect(0).shows("No changes");
    assert_one_of_each(&bench, &["sealed-keys", "other"]);
}

#[test]
fn a_machine_in_the_surplus_group_moves_with_it() {
    let bench = Bench::fake();
    bench.netbird().unserialised(true);
    let file = json!({ "groups": { "g1": {} }, "policies": {} });
    bench.file(file);
    let mut second = other(&bench);
    bench.netbird().before("POST", "/groups", move |_| {
        assert!(second.output().unwrap().status.success());
    });
    let m = bench.peer("m");
    // somebody puts a machine into the group that this run just made
    bench.netbird().after("POST", "/groups", move |netbird| {
        let groups = netbird.list("/groups");
        let newest = groups.as_array().unwrap().iter();
        let newest = newest.filter(|group| group["name"] == "g1").map(id).max();
        let path = format!("/groups/{}", newest.unwrap());
        let body = json!({ "name": "g1", "peers": [m], "resources": [] });
        assert_eq!(netbird.call("PUT", &path, body).0, 200);
    });
    bench
        .apply(&[])
        .expect(0)
        .says("group g1: another run made it first; ours was deleted again");
    let peers = bench.one("/groups", "g1")["peers"].clone();
    assert_eq!(peers[0]["name"], "m");
}

/// That nothing refers to a group that is gone.
#[track_caller]
fn assert_unreferred(bench: &Bench) {
    let groups = bench.server().list("/groups");
    let live: Vec<String> = groups.iter().map(id).collect();
    let ids = |value: &Value| -> Vec<String> {
        let entries = value.as_array().map(Vec::as_slice).unwrap_or_default();
        let id = |entry: &Value| entry.get("id").unwrap_or(entry).as_str().map(str::to_owned);
        entries.iter().filter_map(id).collect()
    };
    let mut named = Vec::new();
    for policy in bench.server().list("/policies") {
        let rule = &policy["rules"][0];
        assert!(!ids(&rule["sources"]).is_empty() && !ids(&rule["destinations"]).is_empty());
    }
    for (list, fields) in [
        ("/setup-keys", vec!["auto_groups"]),
        ("/routes", vec!["groups", "peer_groups"]),
        ("/dns/nameservers", vec!["groups"]),
    ] {
        for entry in bench.server().list(list) {
            named.extend(fields.iter().flat_map(|field| ids(&entry[*field])));
        }
    }
    let dangling: Vec<_> = named.iter().filter(|id| !live.contains(id)).collect();
    assert!(dangling.is_empty(), "{dangling:?}");
}

/// Two of each, all ours and equal, as two runs leave them that were killed before they looked; each with references of its
/// own. Returns the ids of what has to stay.
fn left_by_two_killed_runs(bench: &Bench) -> Vec<String> {
    bench.netbird().unserialised(true);
    let mut kept = Vec::new();
    let mut groups = Vec::new();
    for round in 0..2 {
        let made: Vec<String> = ["g1", "g2"].map(|name| bench.group(name)).into();
        groups.push(made.clone());
        let [g1, g2] = [&made[0], &made[1]];
        let rule = |from: &str, to: &str| {
            json!([{ "name": "p", "enabled": true, "action": "accept", "bidirectional": true,
                                                   "protocol": "all", "sources": [from], "destinations": [to] }])
        };
        let objects = [
            (
                "/setup-keys",
                json!({ "name": "k2", "type": "reusable", "expires_in": 0, "auto_groups": [g1, g2] }),
            ),
            (
                "/policies",
                json!({ "name": "p1", "enabled": true, "rules": rule(g1, g2) }),
            ),
            (
                "/policies",
                json!({ "name": "p2", "enabled": true, "rules": rule(g2, g2) }),
            ),
            (
                "/routes",
                json!({ "network_id": "r1", "network": "10.6.0.0/16", "peer_groups": [g1], "groups": [g2],
                                "metric": 9999, "masquerade": true, "enabled": true }),
            ),
            (
                "/dns/nameservers",
                json!({ "name": "n1", "nameservers": [{ "ip": "10.6.0.53", "ns_type": "udp", "port": 53 }],
                                         "groups": [g1], "domains": ["it.example"], "enabled": true }),
            ),
        ];
        for (list, body) in objects {
            let made = id(&bench.create(list, body));
            if round == 0 {
                kept.push(made);
            }
        }
    }
    // what stays of the others refers to the surplus groups
    let [first, second] = [&groups[0], &groups[1]];
    let policy = bench.all("/policies", "p1")[0].clone();
    let rule = json!({ "sources": [second[0]], "destinations": [second[1]] });
    bench
        .server()
        .edit("/policies", &policy, json!({ "rule": rule }));
    let key = format!("/setup-keys/{}", kept[0]);
    let body = json!({ "auto_groups": second, "revoked": false });
    bench.server().write("PUT", &key, body);
    bench.delete("/policies", "Default");
    kept.extend(first.iter().cloned());
    kept
}

#[test]
fn namesakes_of_every_kind_that_two_killed_runs_left_come_down_to_the_oldest() {
    let bench = Bench::fake();
    let mut file = one_of_each();
    file["setup_keys"].as_object_mut().unwrap().remove("k1");
    let kept = left_by_two_killed_runs(&bench);
    // a machine that came by the key of one run, while the groups of the other were meant
    let surplus = bench.all("/groups", "g1")[1].clone();
    let m = bench.peer("m");
    bench
        .server()
        .edit("/groups", &surplus, json!({ "peers": [m] }));
    bench.file(file);
    bench
        .plan(&["--prune", "all"])
        .expect(0)
        .shows("a second one of that name: its members and what refers to it move to the oldest");
    bench
        .apply(&["--prune", "all", "--max-deletes", "20"])
        .expect(0);
    for (list, name, id) in [
        ("/setup-keys", "k2", &kept[0]),
        ("/policies", "p1", &kept[1]),
        ("/policies", "p2", &kept[2]),
        ("/routes", "r1", &kept[3]),
        ("/dns/nameservers", "n1", &kept[4]),
        ("/groups", "g1", &kept[5]),
        ("/groups", "g2", &kept[6]),
    ] {
        assert_eq!(bench.id(list, name), *id, "{list} {name}");
    }
    assert_unreferred(&bench);
    let peers = bench.one("/groups", "g1")["peers"].clone();
    assert_eq!(peers[0]["name"], "m");
    bench
        .plan(&["--prune", "all"])
        .expect(0)
        .shows("No changes");
}

#[test]
fn a_machine_that_joins_a_second_group_since_the_plan_was_made_moves_too() {
    let bench = Bench::fake();
    bench.netbird().unserialised(true);
    let [_, second] = [bench.group("g1"), bench.group("g1")];
    bench.delete("/policies", "Default");
    let m = bench.peer("m");
    let path = format!("/groups/{second}");
    bench
        .netbird()
        .before("GET", &path.clone(), move |netbird| {
            let body = json!({ "name": "g1", "peers": [m], "resources": [] });
            assert_eq!(netbird.call("PUT", &path, body).0, 200);
        });
    bench.file(json!({ "groups": { "g1": {} }, "policies": {} }));
    bench.apply(&["--prune", "all"]).expect(0);
    let peers = bench.one("/groups", "g1")["peers"].clone();
    assert_eq!(peers[0]["name"], "m");
}

#[test]
fn a_second_group_that_somebody_needs_stays_and_is_named() {
    let bench = Bench::fake();
    bench.netbird().unserialised(true);
    let (_, second) = (bench.group("g1"), bench.group("g1"));
    let network = id(&bench.create("/networks", json!({ "name": "net" })));
    let router =
        json!({ "peer_groups": [second], "metric": 1, "masquerade": true, "enabled": true });
    bench.create(&format!("/networks/{network}/routers"), router);
    bench.delete("/policies", "Default");
    bench.file(json!({ "groups": { "g1": {} } }));
    let run = bench.apply(&["--prune", "all"]).expect(0);
    run.shows(&format!(
        "has a second one of its name in NetBird ({second}), which stays: network router"
    ));
    assert_eq!(bench.all("/groups", "g1").len(), 2);
}

#[test]
fn two_runs_at_once_end_in_one_object_of_each_name() {
    for _ in 0..3 {
        let bench = Bench::scenario_that_enrolls();
        bench.git(&["init", "-q", "-b", "main"]);
        // what two runs left on a server that takes both creations is ours by the history
        let now = jiff::Timestamp::now().as_second();
        bench.file(one_of_each()).commit(now - 60, "declared");
        let mut runs = [bench.command(&["apply"]), other(&bench)];
        let quiet = std::process::Stdio::null;
        let runs = runs
            .each_mut()
            .map(|run| run.stdout(quiet()).stderr(quiet()).spawn().unwrap());
        let codes = runs.map(|mut run| run.wait().unwrap().code());
        assert!(
            codes.iter().all(|code| matches!(code, Some(0 | 4))),
            "{codes:?}"
        );
        let met = codes != [Some(0), Some(0)];
        // finished by the next run, which does not know where the others keep what they sealed
        if met {
            bench.apply(&[]).expect(0);
        }
        bench.plan(&[]).expect(0).shows("No changes");
        match met {
            true => assert_one_live_of_each(&bench, &["sealed-keys", "other"]),
            false => assert_one_of_each(&bench, &["sealed-keys", "other"]),
        }
    }
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
    let run = bench.apply(&["--format", "json"]).expect(0);
    assert_eq!(run.json()["created_keys"], json!({}));
    run.says("setup key k1: another run made it first; ours was deleted again")
        .says("policy p1: another run made it first; ours was deleted again");
    assert_eq!(bench.sealed_files(), Vec::<String>::new());
    assert_eq!(files(&bench.path("other")), ["k1.age", "k2.age"]);
}

#[test]
fn namesakes_in_a_plan_are_an_error_with_their_ids() {
    let bench = Bench::scenario();
    bench.agreed(one_of_each());
    let group = bench.id("/groups", "g1");
    let rule = json!({ "name": "p1", "enabled": true, "action": "drop", "bidirectional": true, "protocol": "all", "sources": [group],
                       "destinations": [group] });
    let policy = bench.create(
        "/policies",
        json!({ "name": "p1", "enabled": true, "rules": [rule] }),
    );
    let key = json!({ "name": "k1", "type": "one-off", "expires_in": 0, "auto_groups": [group] });
    let key = bench.create("/setup-keys", key);
    let route = json!({ "network_id": "r1", "network": "10.7.0.0/16", "peer_groups": [group], "groups": [group], "metric": 1, "enabled": true });
    let route = bench.create("/routes", route);
    bench.server().clear_requests();
    let run = bench
        .apply(&[])
        .expect(1)
        .says("policies.p1")
        .says("setup_keys.k1")
        .says("routes.r1");
    let run = [policy, key, route]
        .iter()
        .fold(run, |run, object| run.says(&id(object)));
    run.says("nobody can tell which one is meant");
    bench.assert_writes(&[]);
}

#[test]
fn namesakes_that_are_all_ours_and_equal_come_down_to_the_oldest() {
    let bench = Bench::fake();
    bench.agreed(one_of_each());
    let policy = bench.one("/policies", "p1");
    let mut twin = policy.clone();
    for side in ["sources", "destinations"] {
        twin["rules"][0][side] = json!([policy["rules"][0][side][0]["id"]]);
    }
    bench.create("/policies", twin);
    let key = json!({ "name": "k2", "type": "reusable", "expires_in": 0, "auto_groups": bench.one("/setup-keys", "k2")["auto_groups"] });
    bench.create("/setup-keys", key);
    bench.delete("/policies", "Default");
    // who loses what, of an equal one
    let plan = bench.plan(&["--prune", "all"]).expect(0);
    let plan = plan.shows("the other one stays, and does the same");
    assert!(!plan.stdout.contains(" lose "), "{}", plan.stdout);
    bench.apply(&["--prune", "all"]).expect(0);
    assert_eq!(id(&bench.one("/policies", "p1")), id(&policy));
    assert_one_of_each(&bench, &["sealed-keys"]);
}

#[test]
fn a_bench_on_a_real_server_leaves_nothing_behind() {
    // of the tests themselves: what they make is gone with the bench
    let Some(server) = Server::real() else { return };
    let bench = Bench::scenario();
    bench.agreed(one_of_each());
    let bear = |list: &str| {
        server
            .list(list)
            .iter()
            .filter_map(|entry| bench.server().own_name(entry))
            .count()
    };
    assert_eq!(bear("/groups"), 3, "with All");
    let names = [
        "/groups",
        "/setup-keys",
        "/policies",
        "/routes",
        "/dns/nameservers",
    ];
    let prefix = bench.server().name("");
    drop(bench);
    for list in names {
        let left = server
            .list(list)
            .iter()
            .any(|entry| entry.to_string().contains(&prefix));
        assert!(!left, "{list}");
    }
}
