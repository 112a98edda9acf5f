//! What comes of others who write at the same time: machines that enroll, people, and other runs?

mod namesakes;
mod runs;

use std::fs;
use std::process::Command;

use fakes::{Fault, NetBird};
use serde_json::{Value, json};

use crate::run::{Bench, id, open};

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
    let peers = group["peers"].as_array();
    let mut names: Vec<String> = peers
        .into_iter()
        .flatten()
        .map(|peer| peer["name"].as_str().unwrap().to_owned())
        .collect();
    names.sort();
    names
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

/// Returns which of these directories have a key's file.
fn sealed_in<'a>(bench: &Bench, directories: &[&'a str], name: &str) -> Vec<&'a str> {
    let file = format!("{}.age", bench.server().name(name));
    let has_it = |dir: &&str| bench.path(dir).join(&file).exists();
    directories.iter().copied().filter(has_it).collect()
}

/// The same command in its own keys directory.
fn other(bench: &Bench) -> Command {
    bench.command(&["apply", "--keys-dir", "other"])
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

#[test]
fn a_machine_that_enrolls_while_its_group_is_written_is_put_back() {
    let (bench, run) = enrolled_in_between(|_| {});
    run.says(
        "\"some-host\" joined group \"gw\" while this run wrote the group, and that write removed them. The run added them again.",
    )
    .shows("a peer enrolled meanwhile, so this is left for the next run: rename peer new")
    .hides("update group gw");
    assert_eq!(members(&bench), ["m1", "m2", "some-host"]);
    bench.apply(&[]).expect(0).says("renamed from some-host");
    assert_eq!(members(&bench), ["m1", "m2", "new"]);
    bench.plan(&[]).expect(0).shows("No changes");
}

#[test]
fn with_the_event_log_off_its_key_tells_where_it_belongs() {
    let (bench, run) = enrolled_in_between(|netbird| netbird.event_log(false));
    run.says("added them again");
    assert_eq!(members(&bench), ["m1", "m2", "some-host"]);
}

#[test]
fn events_that_are_late_are_no_trouble() {
    let (bench, run) = enrolled_in_between(|netbird| netbird.late_events(1));
    run.says("added them again");
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
        .says("\"theirs\" joined group \"gw\" while this run wrote the group");
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
    bench.apply(&[]).expect(4).says("added them again");
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
    let (path, newer) = (bench.path("netbird.json"), newer.to_string());
    let mut run = bench.command(&["apply"]);
    bench.netbird().before("POST", "/policies", move |_| {
        fs::write(path, newer).unwrap();
        let output = run.output().unwrap();
        assert!(output.status.success(), "{output:?}");
    });
    bench.netbird().fault(Fault::on("POST", "/policies"));
    let run = bench.apply(&[]).expect(4);
    assert!(!run.stderr.contains("added them again"), "{}", run.stderr);
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
    assert!(!run.stderr.contains("added them again"), "{}", run.stderr);
    assert_eq!(members(&bench), ["m1"]);
}

#[test]
fn one_that_leaves_stays_out_though_somebody_puts_it_back_meanwhile() {
    let bench = Bench::fake();
    let mut file = gateway(&bench, &["m1", "m2"]);
    bench.agreed(file.clone());
    file["groups"]["gw"]["peers"] = json!(["new"]);
    bench.file(file);
    let [m1, m2] = ["m1", "m2"].map(|name| bench.id("/peers", name));
    let path = format!("/groups/{}", bench.id("/groups", "gw"));
    let put = |peers: Value| {
        let path = path.clone();
        move |netbird: &NetBird| {
            let body = json!({ "name": "gw", "peers": peers, "resources": [] });
            assert_eq!(netbird.call("PUT", &path, body).0, 200);
            netbird.advance(5);
        }
    };
    bench.netbird().before("GET", &path, put(json!([m1])));
    bench.netbird().before("PUT", &path, put(json!([m1, m2])));
    let run = bench.apply(&["--max-deletes", "9"]).expect(0);
    assert!(!run.stderr.contains("added them again"), "{}", run.stderr);
    assert_eq!(members(&bench), Vec::<String>::new());
}

#[test]
fn a_member_that_was_removed_on_purpose_does_not_come_back_by_the_next_run_of_that_second() {
    // with all lists, and where the plan itself has no need of events
    for args in [&["--prune", "all"][..], &[]] {
        let bench = Bench::fake();
        let mut keys = json!({});
        for name in ["m1", "m2", "m3"] {
            // one after the other: at one moment only the event log would tell who came by which key
            keys[name] = bench.enrolled(&[name])[name].take();
            bench.netbird().advance(5);
        }
        let file = |members: &[&str]| json!({ "groups": { "gw": { "peers": members } }, "setup_keys": keys });
        // all of it in one second of the server's clock, and by one user
        let now = jiff::Timestamp::now().as_second() + 60;
        bench.netbird().set_clock(now);
        bench.agreed(file(&["m1"]));
        bench.agreed(file(&["m1", "m2"]));
        bench.file(file(&["m1"])).apply(args).expect(0);
        assert_eq!(members(&bench), ["m1"]);
        let run = bench.file(file(&["m1", "m3"])).apply(args).expect(0);
        assert!(!run.stderr.contains("added them again"), "{}", run.stderr);
        assert_eq!(members(&bench), ["m1", "m3"]);
    }
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
        assert!(!run.stderr.contains("added them again"), "{}", run.stderr);
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
        .says("\"some-host\" joined group \"gw\" while this run wrote the group")
        .says("\"theirs\" joined group \"gw\" while this run wrote the group");
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
    bench
        .apply(&[])
        .expect(0)
        .shows("lists the setup key \"m2\"");
    assert_eq!(members(&bench), ["m1"]);
}
