//! Does an apply do what the plan says, in an order that works, and leave alone what is not ours?

use std::time::Duration;

use fakes::{Effect, Fault};
use serde_json::{Value, json};
use snapbox::{assert_data_eq, file};

use crate::run::{Bench, Job, Site, id, redact};

fn full() -> Value {
    serde_json::from_str(include_str!("../../examples/full.json")).unwrap()
}

#[test]
fn every_field_arrives_at_once() {
    let bench = Bench::scenario();
    bench.file(full());
    let run = bench.apply(&["--format", "json"]).expect(0);
    assert!(run.operations().iter().all(|op| op.ends_with(" success")));
    bench.server().clear_requests();
    bench
        .plan(&["--detailed-exitcode"])
        .expect(0)
        .shows("No changes");
    let second = bench.apply(&[]).expect(0);
    second.shows("No changes");
    bench.assert_writes(&[]);
}

#[test]
fn the_example_applied() {
    let bench = Bench::fake();
    bench.text(include_str!("../../netbird.json"));
    let run = bench.apply(&[]).expect(0);
    let both = format!("{}\n--- stderr ---\n{}", run.stdout, run.stderr);
    assert_data_eq!(redact(&both), file!["snapshots/apply.txt"].raw());
    let wanted = [
        "POST /groups",
        "POST /groups",
        "POST /groups",
        "POST /setup-keys",
        "PUT /setup-keys",
        "POST /policies",
        "POST /routes",
    ];
    bench.assert_writes(&wanted);
    bench.plan(&[]).expect(0).shows("No changes");
}

#[test]
fn what_refers_to_a_group_goes_before_it() {
    let bench = Bench::scenario();
    let everything = json!({
        "groups": { "g": {}, "stays": {} },
        "setup_keys": { "k1": { "type": "one-off", "expires_in": 86400, "auto_groups": ["g"] } },
        "policies": { "p1": { "sources": ["g"], "destinations": ["stays"] } },
        "routes": { "r1": { "network": "10.3.0.0/16", "peer_groups": ["g"], "groups": ["g"] } },
        "dns": { "nameserver_groups": { "n1": { "nameservers": [{ "ip": "10.3.0.53" }], "groups": ["g"],
                                                "domains": ["it.example"] } } }
    });
    bench.agreed(everything);
    if bench.server().netbird().is_none() {
        return; // --prune all is nothing for a shared server
    }
    bench.delete("/policies", "Default");
    bench.file(
        json!({ "groups": { "stays": {} }, "setup_keys": {}, "policies": {}, "routes": {},
                       "dns": { "nameserver_groups": {} } }),
    );
    bench.apply(&["--prune", "all"]).expect(0);
    bench.assert_writes(&[
        "DELETE /dns/nameservers",
        "DELETE /routes",
        "DELETE /policies",
        "DELETE /setup-keys",
        "DELETE /groups",
    ]);
    assert_eq!(bench.names("/groups"), ["All", "stays"]);
}

#[test]
fn fields_that_the_file_does_not_say_go_back_as_they_were() {
    let bench = Bench::scenario();
    let route = |metric: u32| json!({ "network": "10.4.0.0/16", "peer_groups": ["gw"], "groups": ["gw"], "metric": metric });
    let file =
        |metric: u32| json!({ "groups": { "gw": {} }, "routes": { "lan-a": route(metric) } });
    bench.agreed(file(100));
    let guards = bench.group("guards");
    let by_hand = json!({ "access_control_groups": [guards], "keep_route": true, "skip_auto_apply": true,
                          "masquerade": false, "enabled": false, "description": "by hand" });
    bench.edit("/routes", "lan-a", by_hand.clone());
    bench.plan(&[]).expect(0).shows("No changes");
    bench.file(file(200));
    bench.apply(&[]).expect(0);
    let after = bench.one("/routes", "lan-a");
    assert_eq!(after["metric"], 200);
    for (field, value) in by_hand.as_object().unwrap() {
        assert_eq!(after[field], *value, "{field}");
    }
}

#[test]
fn a_policy_keeps_its_posture_checks_and_its_rule() {
    let bench = Bench::fake();
    let file = |description: &str| {
        json!({ "groups": { "g": {} },
                "policies": { "p": { "description": description, "sources": ["g"], "destinations": ["g"] } } })
    };
    bench.agreed(file("one"));
    let check = json!({ "name": "new enough", "description": "", "checks": { "nb_version_check": { "min_version": "0.60.0" } } });
    let check = id(&bench.create("/posture-checks", check));
    bench.edit("/policies", "p", json!({ "source_posture_checks": [check], "rule": { "name": "by hand", "description": "why" } }));
    bench.file(file("two")).apply(&[]).expect(0);
    let after = bench.one("/policies", "p");
    assert_eq!(after["description"], "two");
    assert_eq!(after["source_posture_checks"], json!([check]));
    assert_eq!(after["rules"][0]["name"], "by hand");
    assert_eq!(after["rules"][0]["description"], "why");
}

#[test]
fn a_group_with_network_resources_is_changed_and_keeps_them() {
    let bench = Bench::scenario_that_enrolls();
    let keys = bench.enrolled(&["p1"]);
    bench.agreed(json!({ "groups": { "lan": { "peers": [] } }, "setup_keys": keys }));
    let network = id(&bench.create("/networks", json!({ "name": "office" })));
    let resource = json!({ "name": "subnet", "address": "10.5.0.0/16", "enabled": true, "groups": [bench.id("/groups", "lan")] });
    bench.create(&format!("/networks/{network}/resources"), resource);
    bench.file(json!({ "groups": { "lan": { "peers": ["p1"] } }, "setup_keys": keys }));
    bench.apply(&[]).expect(0);
    let group = bench.one("/groups", "lan");
    assert_eq!(group["peers_count"], 1);
    assert_eq!(group["resources_count"], 1);
}

#[test]
fn unmanaged_members_stay_and_are_said() {
    let bench = Bench::scenario_that_enrolls();
    let (keys, theirs) = (bench.enrolled(&["ours"]), bench.peer("theirs"));
    bench.agreed(json!({ "groups": { "g": { "peers": [] } }, "setup_keys": keys }));
    bench.edit("/groups", "g", json!({ "peers": [theirs] }));
    bench.file(json!({ "groups": { "g": { "peers": ["ours"] } }, "setup_keys": keys }));
    bench
        .plan(&[])
        .expect(0)
        .shows("in group \"g\": \"theirs\"");
    bench.apply(&[]).expect(0);
    assert_eq!(bench.one("/groups", "g")["peers_count"], 2);
}

#[test]
fn single_ports_and_ranges_go_as_ranges() {
    let bench = Bench::scenario();
    let policy = json!({ "sources": ["All"], "destinations": ["All"], "protocol": "tcp", "ports": ["443", "8000-8100"] });
    bench.agreed(json!({ "policies": { "p": policy } }));
    let rule = &bench.one("/policies", "p")["rules"][0];
    assert_eq!(
        rule["port_ranges"],
        json!([{ "start": 443, "end": 443 }, { "start": 8000, "end": 8100 }])
    );
    assert_eq!(rule["ports"], Value::Null);
    bench.plan(&[]).expect(0).shows("No changes");
}

#[test]
fn what_somebody_deleted_meanwhile_is_no_trouble_to_delete() {
    // before it is looked at again, and after that
    for method in ["GET", "DELETE"] {
        let bench = Bench::fake();
        bench.agreed(
            json!({ "policies": { "a": { "sources": ["All"], "destinations": ["All"] },
                                           "b": { "sources": ["All"], "destinations": ["All"] } } }),
        );
        bench.file(json!({ "policies": { "b": { "sources": ["All"], "destinations": ["All"] } } }));
        bench.delete("/policies", "Default");
        let path = format!("/policies/{}", bench.id("/policies", "a"));
        bench
            .netbird()
            .before(method, &path.clone(), move |netbird| {
                netbird.call("DELETE", &path, Value::Null);
            });
        bench
            .apply(&["--prune", "all"])
            .expect(0)
            .says("policy a: was gone already");
    }
}

#[test]
fn what_somebody_deleted_meanwhile_cannot_be_changed() {
    let bench = Bench::fake();
    let policy = |protocol: &str| json!({ "sources": ["All"], "destinations": ["All"], "protocol": protocol });
    let all = |protocol: &str| {
        json!({ "policies": { "a": policy(protocol), "b": policy(protocol), "c": policy(protocol),
                                                     "d": policy(protocol) } })
    };
    bench.agreed(all("tcp")).file(all("udp"));
    let path = |name: &str| format!("/policies/{}", bench.id("/policies", name));
    for name in ["a", "c"] {
        let path = path(name);
        bench
            .netbird()
            .before("PUT", &path.clone(), move |netbird| {
                netbird.call("DELETE", &path, Value::Null);
            });
    }
    // of the one the answer does not arrive, and another one is refused for a reason of its own
    let lost = Fault::on("PUT", &path("c")).then(Effect::ErrorAfter);
    let refusal = Effect::Status(422, json!({ "message": "no", "code": 422 }));
    bench.netbird().fault(lost);
    bench
        .netbird()
        .fault(Fault::on("PUT", &path("d")).then(refusal));
    let run = bench.apply(&["--keep-going", "--format", "json"]).expect(4);
    let wanted = [
        ("update_policy a failed", true),
        ("update_policy b success", false),
        ("update_policy c failed", true),
        ("update_policy d failed", false),
    ];
    assert_eq!(run.operations(), wanted.map(|(operation, _)| operation));
    let said = "it was to be changed, but somebody deleted it meanwhile; run again";
    for (at, (operation, is_gone)) in wanted.into_iter().enumerate() {
        let entry = run.json()["operations"][at].to_string();
        assert_eq!(entry.contains(said), is_gone, "{operation}: {entry}");
        assert!(!entry.contains("not carried out"), "{entry}");
    }
    bench.apply(&[]).expect(0);
    assert_eq!(bench.names("/policies"), ["Default", "a", "b", "c", "d"]);
}

fn three_policies() -> Value {
    let policy = |group: &str| json!({ "sources": [group], "destinations": [group] });
    json!({ "groups": { "a": {}, "b": {}, "c": {} }, "policies": { "pa": policy("a"), "pb": policy("b"), "pc": policy("c") } })
}

#[test]
fn it_stops_at_the_first_failure_and_says_what_is_left() {
    let bench = Bench::fake();
    bench.file(three_policies());
    let refusal = json!({ "message": "policy rule has no destinations", "code": 422 });
    let fault = Fault::on("POST", "/policies")
        .nth(2)
        .then(Effect::Status(422, refusal));
    bench.netbird().fault(fault);
    let run = bench.apply(&[]).expect(4);
    let both = format!("{}\n--- stderr ---\n{}", run.stdout, run.stderr);
    assert_data_eq!(redact(&both), file!["snapshots/stopped.txt"].raw());
    assert_eq!(bench.names("/policies"), ["Default", "pa"]);
    // running again continues from here
    bench.apply(&[]).expect(0).shows("2 created");
    bench.plan(&[]).expect(0).shows("No changes");
}

#[test]
fn with_keep_going_independent_items_go_on() {
    let refused_once = |status: u16| {
        let bench = Bench::fake();
        bench.file(three_policies());
        let refusal = json!({ "message": "no", "code": status });
        let fault = Fault::on("POST", "/groups").nth(2);
        bench
            .netbird()
            .fault(fault.then(Effect::Status(status, refusal)));
        bench.apply(&["--keep-going", "--format", "json"]).expect(4)
    };
    for status in [400, 403, 422] {
        let run = refused_once(status);
        let wanted = [
            "create_group a success",
            "create_group b failed",
            "create_group c success",
            "create_policy pa success",
            "create_policy pb skipped",
            "create_policy pc success",
        ];
        assert_eq!(run.operations(), wanted, "{status}");
        assert_eq!(
            run.json()["summary"],
            json!({ "adopted": 0, "created": 4, "updated": 0, "deleted": 0, "failed": 1 })
        );
    }
    // without its token nothing is tried any more
    let run = refused_once(401);
    assert_eq!(
        run.operations()[1..3],
        ["create_group b failed", "create_group c skipped"]
    );
}

/// One key that NetBird refuses stops every run, and what to do is not to run again.
#[test]
fn a_refusal_that_every_run_meets_says_what_waits_behind_it() {
    let bench = Bench::fake();
    let key = json!({ "type": "one-off", "expires_in": 86400 });
    bench.file(json!({ "setup_keys": { "a": key, "b": key },
        "policies": { "p": { "sources": ["All"], "destinations": ["All"] } } }));
    let refuses = || {
        let refusal = json!({ "message": "no such key", "code": 422 });
        let fault = Fault::on("POST", "/setup-keys").then(Effect::Status(422, refusal));
        bench.netbird().fault(fault);
    };
    for off in ["", "false"] {
        refuses();
        let run = bench.run_with(&["apply"], &[("NETBIRD_GITOPS_KEEP_GOING", off)]);
        let run = run.expect(4).says("no such key");
        let run = run
            .says("2 operations were not tried. To try the operations that do not depend on the refused one, use --keep-going");
        assert_eq!(
            run.stdout.matches("  not tried  ").count(),
            2,
            "{}",
            run.stdout
        );
    }
    refuses();
    let run = bench.run_with(&["apply"], &[("NETBIRD_GITOPS_KEEP_GOING", "true")]);
    let run = run
        .expect(4)
        .says("correct the entry: NetBird will refuse it again in each run");
    assert!(!format!("{run:?}").contains("until then"), "{run:?}");
    assert_eq!(bench.names("/setup-keys"), ["b"]);
    assert_eq!(bench.names("/policies"), ["Default", "p"]);
    // a failure of the server can be over by the next run
    let fault = Fault::on("POST", "/setup-keys")
        .always()
        .then(Effect::ErrorBefore);
    bench.netbird().fault(fault);
    let run = bench.apply(&[]).expect(4);
    run.says("running apply again continues from here");
}

#[test]
fn with_keep_going_no_key_is_made_whose_group_is_not_there() {
    let bench = Bench::fake();
    bench.file(json!({ "groups": { "g": {} },
        "setup_keys": { "k": { "type": "one-off", "expires_in": 86400, "auto_groups": ["g"] } } }));
    let refusal = json!({ "message": "no", "code": 422 });
    let fault = Fault::on("POST", "/groups").then(Effect::Status(422, refusal));
    bench.netbird().fault(fault);
    let run = bench.apply(&["--keep-going", "--format", "json"]).expect(4);
    let wanted = ["create_group g failed", "create_setup_key k skipped"];
    assert_eq!(run.operations(), wanted);
    bench.assert_writes(&["POST /groups"]);
    assert!(bench.sealed_files().is_empty());
}

/// Somebody's posture check took the name while the run went on, and lets in more than the file says.
#[test]
fn with_keep_going_nothing_names_what_was_not_made_as_the_file_says() {
    let bench = Bench::fake();
    let policy =
        json!({ "sources": ["All"], "destinations": ["All"], "source_posture_checks": ["new"] });
    bench.file(json!({ "posture_checks": { "new": { "nb_version": "0.65.0" } }, "policies": { "p": policy } }));
    let of_others =
        json!({ "name": "new", "checks": { "nb_version_check": { "min_version": "0.1.0" } } });
    bench
        .netbird()
        .before("POST", "/posture-checks", move |netbird| {
            netbird.call("POST", "/posture-checks", of_others);
        });
    let run = bench.apply(&["--keep-going", "--format", "json"]).expect(4);
    assert_eq!(
        run.operations(),
        ["create_posture_check new failed", "create_policy p skipped"]
    );
    run.says("another run created it meanwhile, with other values");
    assert_eq!(bench.names("/policies"), ["Default"]);
}

#[test]
fn with_keep_going_only_what_was_not_made_stops_what_needs_it() {
    let refuse = |bench: &Bench, method: &str, path: &str| {
        let refusal = json!({ "message": "no", "code": 422 });
        let fault = Fault::on(method, path).then(Effect::Status(422, refusal));
        bench.netbird().fault(fault);
        let run = bench.apply(&["--keep-going", "--format", "json"]).expect(4);
        assert!(!run.stderr.contains("use --keep-going"), "{}", run.stderr);
        run.says("correct the entry: NetBird will refuse it again")
    };
    // what stands in it is not made, nor what names that
    let bench = Bench::fake();
    let policy = json!({ "sources": ["All"], "destination_resource": "printer" });
    let printer = json!({ "address": "10.6.0.9", "groups": ["g"] });
    bench.file(json!({ "groups": { "g": {} }, "policies": { "p": policy },
                       "networks": { "hangar": { "resources": { "printer": printer } } } }));
    let wanted = [
        "create_group g success",
        "create_network hangar failed",
        "create_network_resource printer skipped",
        "create_policy p skipped",
    ];
    assert_eq!(refuse(&bench, "POST", "/networks").operations(), wanted);
    // a group that was there before is there
    let bench = Bench::fake();
    let mut file =
        json!({ "groups": { "g": { "peers": [] } }, "setup_keys": bench.enrolled(&["m"]) });
    bench.agreed(file.clone());
    file["groups"]["g"]["peers"] = json!(["m"]);
    file["policies"] = json!({ "p": { "sources": ["g"], "destinations": ["All"] } });
    bench.file(file);
    let wanted = ["update_group g failed", "create_policy p success"];
    assert_eq!(refuse(&bench, "PUT", "/groups/").operations(), wanted);
}

#[test]
fn with_keep_going_nothing_is_taken_away_after_a_failure() {
    let bench = Bench::fake();
    bench.agreed(json!({ "policies": { "old": { "sources": ["All"], "destinations": ["All"] } } }));
    bench.file(json!({ "policies": { "new": { "sources": ["All"], "destinations": ["All"] } } }));
    let refusal = json!({ "message": "no", "code": 422 });
    bench
        .netbird()
        .fault(Fault::on("POST", "/policies").then(Effect::Status(422, refusal)));
    bench
        .apply(&["--keep-going", "--prune", "all", "--max-deletes", "2"])
        .expect(4);
    assert_eq!(bench.names("/policies"), ["Default", "old"]);
    // nor does a member leave a group that nobody joins
    let bench = Bench::fake();
    let keys = bench.enrolled(&["m1", "m2"]);
    bench.agreed(json!({ "setup_keys": keys, "groups": { "g": { "peers": ["m1", "m2"] } } }));
    bench.file(
        json!({ "setup_keys": keys, "groups": { "g": { "peers": ["m1"] } },
                       "policies": { "new": { "sources": ["g"], "destinations": ["All"] } } }),
    );
    let refusal = json!({ "message": "no", "code": 422 });
    bench
        .netbird()
        .fault(Fault::on("POST", "/policies").then(Effect::Status(422, refusal)));
    bench
        .apply(&["--keep-going", "--prune", "all", "--max-deletes", "3"])
        .expect(4);
    assert_eq!(bench.one("/groups", "g")["peers_count"], 2);
}

#[test]
fn a_group_that_vanishes_before_its_policy_is_written_is_noticed() {
    let bench = Bench::fake();
    let gone = bench.group("gone");
    bench.file(
        json!({ "policies": { "p": { "sources": ["gone", "All"], "destinations": ["All"] } } }),
    );
    bench.netbird().before("POST", "/policies", move |netbird| {
        netbird.call("DELETE", &format!("/groups/{gone}"), Value::Null);
    });
    bench
        .apply(&[])
        .expect(4)
        .says("stored something else: sources is");
}

#[test]
fn groups_are_made_before_what_names_them_and_go_by_id() {
    let bench = Bench::fake();
    bench.file(json!({ "groups": { "Lab Boxes": {} },
                       "setup_keys": { "k": { "type": "reusable", "expires_in": 86400, "auto_groups": ["Lab Boxes"] } } }));
    bench.apply(&[]).expect(0);
    assert_eq!(
        bench.one("/setup-keys", "k")["auto_groups"],
        json!([bench.id("/groups", "Lab Boxes")])
    );
    bench.file(json!({ "setup_keys": { "k": { "type": "reusable", "expires_in": 86400, "auto_groups": ["Lab Boxs"] } } }));
    let run = bench
        .plan(&[])
        .expect(1)
        .says("did you mean \"Lab Boxes\"?");
    run.says("setup_keys.k.auto_groups[0]")
        .says("netbird.json:");
}

#[test]
fn how_long_each_operation_took_is_in_the_result() {
    let bench = Bench::fake();
    bench.file(json!({ "groups": { "g": {} } }));
    let slow = Effect::SlowAfter(Duration::from_millis(20));
    bench
        .netbird()
        .fault(Fault::on("POST", "/groups").then(slow));
    let result = bench.apply(&["--format", "json"]).expect(0).json();
    let took = result["operations"][0]["duration_ms"].as_u64();
    assert!(took >= Some(20), "{result}");
}

#[test]
fn the_commit_and_the_files_digest_are_told() {
    let bench = Bench::fake();
    bench.file(json!({ "groups": { "g": {} } }));
    let run = bench
        .run_with(&["apply"], &[("GITHUB_SHA", "0123456789abcdef0123")])
        .expect(0);
    run.shows("(commit 0123456789, sha256 ");
}

#[test]
fn a_file_that_is_in_no_commit_is_not_said_to_be_in_one() {
    let site = Site::fake();
    let file = |groups: Value| json!({ "groups": groups });
    site.commit(file(json!({ "g": {} })));
    let tip = site.repo().tip("main");
    site.checkout(&tip);
    let job = Job::push(&site, &tip);
    let committed = format!("(commit {}, sha256 ", &tip[..10]);
    site.run(&["plan"]).expect(0).shows(&committed);
    site.in_job(&["apply"], &job).expect(0).shows(&committed);
    // the clock names the commit that it was set up with
    site.repo().push("main", "other.txt", b"x", "more");
    let newest = site.repo().tip("main");
    site.checkout(&newest);
    let clock = Job::schedule(&site, &tip);
    let run = site.in_job(&["plan"], &clock).expect(0);
    run.shows(&format!("(commit {}, sha256 ", &newest[..10]));
    // edited, and not committed
    site.bench.file(file(json!({ "g": {}, "h": {} })));
    let edited = format!("(commit {}, changed since, sha256 ", &newest[..10]);
    site.run(&["plan"]).expect(0).shows(&edited);
    let markdown = site.run(&["plan", "--format", "markdown"]).expect(0);
    markdown.shows(&format!(
        "(commit `{}`, changed since, sha256 `",
        &newest[..10]
    ));
    let apply = ["apply", "--any-commit", "--format", "json"];
    let result = site.in_job(&apply, &job).expect(0).json();
    assert_eq!(result["commit"], newest[..10]);
    assert_eq!(result["changed_since_commit"], true);
}

#[test]
fn only_the_plan_is_carried_out_when_the_file_declares_what_is_there() {
    // a group taken over keeps its id, its members and its resources
    let bench = Bench::scenario_that_enrolls();
    let (peer, group) = (bench.peer("m"), bench.group("taken"));
    bench.edit("/groups", "taken", json!({ "peers": [peer] }));
    bench.agreed(json!({ "groups": { "taken": {} } }));
    assert_eq!(bench.id("/groups", "taken"), group);
    assert_eq!(bench.one("/groups", "taken")["peers_count"], 1);
}
