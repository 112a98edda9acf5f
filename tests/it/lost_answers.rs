//! What comes of a change or a deletion whose answer does not arrive? It is looked up: done, not done, or not known.

use std::time::Duration;

use fakes::{Effect, Fault};
use serde_json::{Value, json};

use crate::run::{Bench, Run};

/// One object of each kind, in one of two states.
fn file(second: bool) -> Value {
    let text = if second { "two" } else { "one" };
    let groups = if second {
        json!(["h", "i"])
    } else {
        json!(["h"])
    };
    json!({
        "groups": { "g": { "peers": if second { json!(["m"]) } else { json!([]) } }, "h": {}, "i": {} },
        "setup_keys": {
            "k": { "type": "one-off", "expires_in": 86400, "auto_groups": groups },
            "m": { "type": "one-off", "expires_in": 86400, "enrolled": true }
        },
        "policies": { "p": { "sources": ["g"], "destinations": ["h"], "description": text } },
        "routes": { "r": { "network": "10.6.0.0/16", "peer_groups": ["h"], "groups": ["h"], "description": text } },
        "dns": { "nameserver_groups": { "n": { "nameservers": [{ "ip": "10.6.0.53" }], "groups": ["h"],
                                                "domains": ["it.example"], "description": text } } }
    })
}

/// What of it goes.
fn without(section: &str) -> Value {
    let mut file = file(false);
    let entry = match section {
        "groups" => "i",
        "setup_keys" => "k",
        "policies" => "p",
        "routes" => "r",
        _ => "n",
    };
    let section = match section {
        "dns" => &mut file["dns"]["nameserver_groups"],
        _ => &mut file[section],
    };
    section.as_object_mut().unwrap().remove(entry);
    file
}

/// (section, path of its objects, what a line of the result calls its object)
const KINDS: [(&str, &str, &str); 5] = [
    ("groups", "/groups/", "group"),
    ("setup_keys", "/setup-keys/", "setup_key"),
    ("policies", "/policies/", "policy"),
    ("routes", "/routes/", "route"),
    ("dns", "/dns/nameservers/", "nameserver_group"),
];

/// A bench that agrees with the first state.
fn bench() -> Bench {
    let bench = Bench::fake();
    bench.enrolled(&["m"]);
    bench.agreed(file(false));
    bench.delete("/policies", "Default");
    bench
}

/// An apply of the second state, or one without an entry, that meets a fault of the first such request.
fn faulty(method: &str, section: &str, path: &str, effect: Effect) -> (Bench, Run) {
    let bench = bench();
    // the program makes a request again whose connection ended
    let times = match effect {
        Effect::CutAfter | Effect::CutBefore => 2,
        _ => 1,
    };
    bench
        .netbird()
        .fault(Fault::on(method, path).times(times).then(effect));
    let wanted = match method {
        "PUT" => file(true),
        _ => without(section),
    };
    bench.file(wanted);
    let run = bench.apply(&["--prune", "all", "--timeout", "1", "--format", "json"]);
    (bench, run)
}

fn status(run: &Run, operation: &str) -> String {
    let lines = run.operations();
    let line = lines.iter().find(|line| line.starts_with(operation));
    let line = line.unwrap_or_else(|| panic!("no {operation} in {lines:?}"));
    line.rsplit(' ').next().unwrap().to_owned()
}

fn verb(method: &str) -> &'static str {
    if method == "PUT" { "update" } else { "delete" }
}

#[test]
fn what_was_carried_out_counts_as_done() {
    for (section, path, kind) in KINDS {
        for method in ["PUT", "DELETE"] {
            for effect in [
                Effect::ErrorAfter,
                Effect::CutAfter,
                Effect::SlowAfter(Duration::from_secs(600)),
            ] {
                let (bench, run) = faulty(method, section, path, effect.clone());
                let run = run.expect(0);
                let operation = format!("{}_{kind}", verb(method));
                assert_eq!(
                    status(&run, &operation),
                    "success",
                    "{method} {path} {effect:?}"
                );
                bench
                    .plan(&["--prune", "all"])
                    .expect(0)
                    .shows("No changes");
            }
        }
    }
}

#[test]
fn what_was_not_carried_out_has_failed() {
    for (section, path, kind) in KINDS {
        for method in ["PUT", "DELETE"] {
            for effect in [
                Effect::ErrorBefore,
                Effect::CutBefore,
                Effect::Html(502),
                Effect::Html(200),
                Effect::Slow(Duration::from_secs(600)),
            ] {
                let (bench, run) = faulty(method, section, path, effect);
                let run = run
                    .expect(4)
                    .says("it was not carried out, as far as NetBird shows");
                let operation = format!("{}_{kind}", verb(method));
                assert_eq!(status(&run, &operation), "failed");
                bench.apply(&["--prune", "all"]).expect(0);
            }
        }
    }
}

#[test]
fn what_nobody_can_tell_is_not_known() {
    for (section, path, kind) in KINDS {
        for method in ["PUT", "DELETE"] {
            let bench = bench();
            let wanted = match method {
                "PUT" => file(true),
                _ => without(section),
            };
            bench.file(wanted);
            let cut_off = path.to_owned();
            // from then on the object cannot be read
            bench.netbird().after(method, path, move |netbird| {
                netbird.fault(Fault::on("GET", &cut_off).always());
            });
            bench
                .netbird()
                .fault(Fault::on(method, path).then(Effect::ErrorAfter));
            let args = ["--prune", "all", "--report", "report.json"];
            let run = bench.apply(&args).expect(4);
            assert!(
                !run.stdout.contains("nothing was changed"),
                "{}",
                run.stdout
            );
            let run = run
                .says("whether it was carried out is not known: GET ")
                .shows("1 not known");
            assert!(!run.stdout.contains("failed:"), "{}", run.stdout);
            let report = std::fs::read_to_string(bench.path("report.json")).unwrap();
            let report: Value = serde_json::from_str(&report).unwrap();
            let kinds = report["operations"].as_array().unwrap();
            let operation = format!("{}_{kind}", verb(method));
            let status = kinds.iter().find(|entry| entry["type"] == operation);
            assert_eq!(status.unwrap()["status"], "unknown", "{method} {path}");
        }
    }
}

/// What is to be deleted is looked at once more: that NetBird fails says nothing of it.
#[test]
fn a_deletion_before_which_nothing_can_be_read_is_not_done() {
    for (section, path, kind) in KINDS {
        let bench = bench();
        bench.netbird().fault(Fault::on("GET", path).times(99));
        bench.file(without(section));
        let run = bench.apply(&["--prune", "all", "--format", "json"]);
        let run = run.expect(4);
        assert_eq!(status(&run, &format!("delete_{kind}")), "failed");
        bench.netbird().clear_faults();
        bench.apply(&["--prune", "all"]).expect(0).shows("deleted");
    }
}

/// What makes a new key usable is the PUT of its groups.
#[test]
fn a_new_key_whose_second_write_is_not_answered() {
    for (effect, is_done) in [
        (Effect::ErrorAfter, true),
        (Effect::CutAfter, true),
        (Effect::ErrorBefore, false),
        (Effect::CutBefore, false),
    ] {
        let bench = Bench::fake();
        bench.agreed(json!({ "groups": { "g": {} } }));
        bench.file(crate::secrets::one_key());
        let fault = Fault::on("PUT", "/setup-keys/").times(2);
        bench.netbird().fault(fault.then(effect.clone()));
        let run = bench.apply(&[]);
        bench.netbird().clear_faults();
        if is_done {
            run.expect(0).says("NetBird carried it out all the same");
            let secret = bench.unseal("k");
            bench.server().enroll(&secret, "k").unwrap();
        } else {
            run.expect(4)
                .says("the new key was deleted again")
                .says("it was not carried out, as far as NetBird shows");
            assert_eq!(bench.inventory()["created"]["setup_keys/k"], Value::Null);
            assert_eq!(bench.names("/setup-keys"), Vec::<String>::new());
            assert_eq!(bench.sealed_files(), Vec::<String>::new());
            bench.apply(&[]).expect(0);
        }
    }
}

/// Whatever became of its groups, it is known that nobody can use it.
#[test]
fn a_new_key_that_is_taken_back_has_failed_and_is_not_unknown() {
    let refusal = || Effect::Status(422, json!({ "message": "no", "code": 422 }));
    for is_refused in [true, false] {
        let bench = Bench::fake();
        bench.agreed(json!({ "groups": { "g": {} } }));
        bench.file(crate::secrets::one_key());
        let fault = Fault::on("PUT", "/setup-keys/");
        match is_refused {
            true => bench.netbird().fault(fault.then(refusal())),
            false => {
                bench.netbird().after("PUT", "/setup-keys/", |netbird| {
                    netbird.fault(Fault::on("GET", "/setup-keys/").always());
                });
                bench.netbird().fault(fault);
            }
        }
        crate::secrets::somebody_deletes_the_key_first(&bench);
        let run = bench.apply(&["--format", "json"]).expect(4);
        assert_eq!(run.operations(), ["create_setup_key k failed"]);
        assert_eq!(bench.sealed_files(), Vec::<String>::new());
        let run = run.says("the new key was deleted again");
        let says = run
            .stderr
            .contains("correct the entry: NetBird will refuse it again");
        assert_eq!(says, is_refused, "{}", run.stderr);
    }
}

/// It lives, and nothing else opens it.
#[test]
fn a_new_key_that_cannot_be_deleted_again_keeps_its_sealed_file() {
    let bench = Bench::fake();
    bench.agreed(json!({ "groups": { "g": {} } }));
    bench.file(crate::secrets::one_key());
    for method in ["PUT", "DELETE"] {
        bench
            .netbird()
            .fault(Fault::on(method, "/setup-keys/").times(9));
    }
    let run = bench.apply(&[]).expect(4);
    run.says("could not be deleted again")
        .says("delete it in NetBird");
    bench.netbird().clear_faults();
    assert_eq!(bench.names("/setup-keys"), ["k"]);
    bench.unseal("k");
}

#[test]
fn a_rename_whose_answer_is_lost_is_done_once() {
    let bench = Bench::fake();
    let file = json!({ "setup_keys": { "k": { "type": "one-off", "expires_in": 86400 } } });
    bench.agreed(file);
    let secret = bench.unseal("k");
    bench.server().enroll(&secret, "machine").unwrap();
    for effect in [Effect::ErrorAfter, Effect::CutAfter] {
        let peer = bench.netbird().list("/peers")[0].clone();
        bench.edit(
            "/peers",
            peer["name"].as_str().unwrap(),
            json!({ "name": "machine" }),
        );
        let fault = Fault::on("PUT", "/peers/").times(2);
        bench.netbird().fault(fault.then(effect));
        bench
            .apply(&[])
            .expect(0)
            .says("NetBird carried it out all the same");
        bench.netbird().clear_faults();
        assert_eq!(bench.names("/peers"), ["k"]);
    }
}

#[test]
fn a_rename_that_failed_is_not_told_as_done() {
    let bench = Bench::fake();
    bench.agreed(json!({ "groups": { "old": {} } }));
    bench.file(json!({ "groups": { "new": { "renamed_from": "old" } } }));
    bench.netbird().fault(Fault::on("PUT", "/groups/"));
    let run = bench.apply(&["--format", "json"]).expect(4);
    assert_eq!(status(&run, "update_group"), "failed");
    run.says("it was not carried out, as far as NetBird shows");
}

#[test]
fn a_creation_that_cannot_be_looked_up_is_not_known() {
    let bench = Bench::fake();
    bench.file(json!({ "groups": { "a": {} } }));
    bench.netbird().after("POST", "/groups", |netbird| {
        netbird.fault(Fault::on("GET", "/groups").always());
    });
    bench
        .netbird()
        .fault(Fault::on("POST", "/groups").then(Effect::ErrorAfter));
    let run = bench.apply(&[]).expect(4).shows("1 not known");
    assert!(!run.stdout.contains("nothing was changed"));
}

#[test]
fn a_refused_first_write_changed_nothing_and_a_half_done_one_did() {
    let bench = Bench::fake();
    bench.file(json!({ "groups": { "a": {} } }));
    let refusal = Effect::Status(422, json!({ "message": "no", "code": 422 }));
    bench
        .netbird()
        .fault(Fault::on("POST", "/groups").then(refusal.clone()));
    bench
        .apply(&[])
        .expect(4)
        .shows("nothing was changed, 1 failed");

    for (method, path, said) in [
        ("POST", "/policies", "nothing was changed, 1 failed"),
        (
            "DELETE",
            "/policies/",
            "no operation was completed, 1 failed",
        ),
    ] {
        let bench = self::bench();
        bench
            .netbird()
            .fault(Fault::on(method, path).then(refusal.clone()));
        bench.file(file(false));
        let run = bench.apply(&["--replace", "policies/p"]).expect(4);
        run.shows(said).shows("422 no");
    }
}

/// Whether the write was carried out is read from its removals: nobody was to join.
#[test]
fn a_member_that_was_not_taken_out_has_not_left() {
    let bench = bench();
    bench.agreed(file(true));
    bench.file(file(false));
    bench.netbird().fault(Fault::on("PUT", "/groups/"));
    let args = ["--prune", "all", "--max-deletes", "9", "--format", "json"];
    let run = bench.apply(&args).expect(4);
    assert_eq!(status(&run, "update_group"), "failed");
    run.says("it was not carried out, as far as NetBird shows");
}

/// Two environments of one service user: the log says of either's objects that our own user made them.
#[test]
fn what_another_environment_makes_while_an_answer_is_lost_is_not_taken_for_ours() {
    let key = json!({ "name": "k", "type": "one-off", "expires_in": 86400, "auto_groups": [], "usage_limit": 1 });
    for section in ["setup_keys", "policies"] {
        let bench = Bench::in_git();
        let lab = json!({ "groups": { "x": {} }, "setup_keys": {}, "policies": {} });
        std::fs::write(bench.path("lab.json"), lab.to_string()).unwrap();
        let lab = ["apply", "-f", "lab.json", "--environment", "lab"];
        bench.run(&lab).expect(0);
        let mut file = json!({ "groups": { "g": {} }, "setup_keys": {}, "policies": {} });
        bench.applied(0.0, file.clone());
        let group = bench.id("/groups", "g");
        let policy = json!({ "name": "p", "enabled": true, "rules": [{ "name": "p", "enabled": true, "action": "accept",
            "bidirectional": true, "protocol": "all", "sources": [group], "destinations": [group] }] });
        let (path, body) = match section {
            "policies" => ("/policies", policy),
            _ => ("/setup-keys", key.clone()),
        };
        file[section] = match section {
            "policies" => json!({ "p": { "sources": ["g"], "destinations": ["g"] } }),
            _ => json!({ "k": { "type": "one-off", "expires_in": 86400, "auto_groups": ["g"] } }),
        };
        bench.declared(1.0, file);
        let (url, token) = (bench.server().url(), bench.server().token());
        let url = format!("{url}/api{path}");
        bench.netbird().before("POST", path, move |netbird| {
            netbird.before("GET", path, move |_| {
                fakes::client::send("POST", &url, Some(&token), Some(&body)).unwrap();
            });
        });
        let lost = Fault::on("POST", path).times(1);
        bench.netbird().fault(lost.then(Effect::ErrorBefore));
        bench.apply(&[]);
        let inventory = bench.inventory();
        let created = inventory["created"].as_object().unwrap();
        assert_eq!(
            created.keys().collect::<Vec<_>>(),
            ["groups/g"],
            "{section}"
        );
        let theirs = bench.server().list(path);
        let own = theirs.iter().filter(|of| of["name"] != "Default");
        assert_eq!(own.count(), 1, "{section}: {theirs:?}");
    }
}
