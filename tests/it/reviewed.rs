//! `apply --expect-digest`: what nobody looked at is not done.

use serde_json::{Value, json};

use crate::run::{Bench, Job, Pull, Site};

fn file(port: u16) -> Value {
    json!({
        "groups": { "g": {}, "h": {} },
        "policies": { "p": { "sources": ["g"], "destinations": ["h"], "protocol": "tcp", "ports": [port] } },
    })
}

fn digest(bench: &Bench) -> String {
    let plan = bench.plan(&["--format", "json"]).expect(0).json();
    plan["digest"].as_str().unwrap().to_owned()
}

#[test]
fn the_plan_that_was_looked_at_is_applied_and_no_other_one() {
    let bench = Bench::fake();
    bench.agreed(file(22)).file(file(443));
    let looked_at = digest(&bench);
    let refused = |why: &str| {
        bench.server().clear_requests();
        let run = bench.apply(&["--expect-digest", &looked_at]).expect(3);
        bench.assert_writes(&[]);
        let now = digest(&bench);
        run.says(&format!(
            "this plan does not have the digest of --expect-digest: {why}\n"
        ))
        .says("nothing was changed")
        .says(&format!(
            "look at the plan again; if it is right, run apply with --expect-digest {now}"
        ));
    };
    bench.file(file(80));
    refused("the operations or the file are different");
    bench.file(file(443));
    // what the file does not say is part of what was looked at
    bench.edit("/policies", "p", json!({ "enabled": false }));
    refused(
        "the operations are the same, but what they are about was changed in NetBird meanwhile",
    );
    bench.edit("/policies", "p", json!({ "enabled": true }));
    bench
        .apply(&["--expect-digest", &looked_at.to_uppercase()])
        .expect(0);
    // run again, nothing is left
    bench.apply(&["--expect-digest", &looked_at]).expect(0);
    let (cut, longer) = (&looked_at[..63], format!("{looked_at}0"));
    for nonsense in [
        "",
        "123456789012",
        cut,
        &longer,
        &looked_at.replace(|_| true, "x"),
    ] {
        bench
            .apply(&["--expect-digest", nonsense])
            .expect(1)
            .says("expected the 64 hexadecimal digits of a plan");
    }
}

#[test]
fn what_moves_by_itself_is_no_part_of_it() {
    let bench = Bench::in_git();
    let key = |groups: &[&str]| json!({ "type": "reusable", "expires_in": 315_360_000, "auto_groups": groups });
    let file = |groups: &[&str]| json!({ "groups": { "g": {}, "h": {} }, "setup_keys": { "k": key(groups), "gone": key(&[]) } });
    bench.applied(0.0, file(&["g"]));
    let mut changed = file(&["h"]);
    changed["setup_keys"]
        .as_object_mut()
        .unwrap()
        .remove("gone");
    bench.declared(1.0, changed);
    let looked_at = digest(&bench);
    // somebody uses the keys that are changed and deleted, and time goes by
    for name in ["k", "gone"] {
        bench
            .hour(2.0)
            .server()
            .enroll(&bench.unseal(name), name)
            .unwrap();
    }
    bench.hour(3.0);
    assert_eq!(digest(&bench), looked_at);
    bench.apply(&["--expect-digest", &looked_at]).expect(0);
}

#[test]
fn a_new_keys_life_and_who_opens_it_are_part_of_it() {
    let bench = Bench::fake();
    let recipient = age::x25519::Identity::generate().to_public().to_string();
    let key = |more: Value| {
        let mut key = json!({ "type": "one-off", "expires_in": 86_400 });
        key.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        json!({ "setup_keys": { "k": key } })
    };
    let files = [
        key(json!({})),
        key(json!({ "expires_in": 604_800 })),
        key(json!({ "recipients": [recipient] })),
        key(json!({ "recipients": [recipient], "recipients_only": true })),
    ];
    let digests = files.map(|file| {
        bench.file(file);
        digest(&bench)
    });
    let different: std::collections::BTreeSet<&String> = digests.iter().collect();
    assert_eq!(different.len(), digests.len(), "{digests:?}");
}

/// What a plan leads to once a machine enrolls is as much what somebody looked at as its operations.
#[test]
fn who_will_join_which_group_is_part_of_it() {
    let bench = Bench::fake();
    let file = |listed: &[&str], more: Value| {
        let mut key = json!({ "type": "one-off", "expires_in": 86_400, "auto_groups": ["low"] });
        key.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        json!({ "groups": { "low": {}, "other": {}, "admins": { "peers": listed } }, "setup_keys": { "k": key } })
    };
    bench.file(file(&[], json!({})));
    let looked_at = digest(&bench);
    bench.file(file(&["k"], json!({})));
    bench
        .apply(&["--expect-digest", &looked_at])
        .expect(3)
        .says("this plan does not have the digest of --expect-digest: the operations or the file are different\n");
    // the same of a key that waits already, beside a change of something else
    bench.agreed(file(&[], json!({})));
    let beside = |listed: &[&str]| {
        let mut file = file(listed, json!({}));
        file["groups"]["third"] = json!({});
        file
    };
    let looked_at = digest(bench.file(beside(&[])));
    assert_ne!(digest(bench.file(beside(&["k"]))), looked_at);
    // and of what the file does not say of that key
    let silent = |bench: &Bench| {
        let mut file = beside(&[]);
        file["setup_keys"]["k"]
            .as_object_mut()
            .unwrap()
            .remove("auto_groups");
        digest(bench.file(file))
    };
    let looked_at = silent(&bench);
    let other = bench.id("/groups", "other");
    bench.edit("/setup-keys", "k", json!({ "auto_groups": [other] }));
    assert_ne!(silent(&bench), looked_at);
}

#[test]
fn what_names_mean_is_part_of_it() {
    let bench = Bench::fake();
    bench.agreed(json!({ "groups": { "h": {} } }));
    for name in ["low", "high"] {
        bench.create("/groups", json!({ "name": name }));
    }
    bench.file(json!({
        "groups": { "h": {} },
        "policies": { "p": { "sources": ["low"], "destinations": ["h"], "protocol": "tcp", "ports": [22] } },
    }));
    let looked_at = digest(&bench);
    // two groups of the account change names
    for (from, to) in [("low", "x"), ("high", "low"), ("x", "high")] {
        bench.edit("/groups", from, json!({ "name": to }));
    }
    bench
        .apply(&["--expect-digest", &looked_at])
        .expect(3)
        .says(
            "the operations are the same, but what they are about was changed in NetBird meanwhile",
        );
}

#[test]
fn the_recipients_of_a_run_are_part_of_it() {
    let bench = Bench::fake();
    let other = age::x25519::Identity::generate().to_public().to_string();
    let only = age::x25519::Identity::generate().to_public().to_string();
    let key = json!({ "type": "one-off", "expires_in": 86_400 });
    let mut own = key.clone();
    own["recipients"] = json!([only]);
    own["recipients_only"] = json!(true);
    let digest = |more: &[&str]| {
        let run = bench
            .plan(&[&["--format", "json"], more].concat())
            .expect(0);
        run.json()["digest"].as_str().unwrap().to_owned()
    };
    bench.file(json!({ "setup_keys": { "k": key } }));
    let looked_at = digest(&[]);
    assert_ne!(digest(&["-r", &other]), looked_at);
    bench
        .apply(&["-r", &other, "--expect-digest", &looked_at])
        .expect(3)
        .says("the operations or the file are different");
    // where nothing is sealed for them they are no part of it
    bench.file(json!({ "setup_keys": { "k": own } }));
    assert_eq!(digest(&["-r", &other]), digest(&[]));
}

/// What a run does without a write to NetBird: what it adopts, what it lets go, and what waits for a machine.
#[test]
fn what_is_recorded_or_waits_is_part_of_it() {
    let bench = Bench::fake();
    bench.create("/groups", json!({ "name": "by-hand" }));
    bench.agreed(json!({ "groups": { "h": {} } }));
    let file = |more: Value| {
        let mut file = json!({ "groups": { "h": {} } });
        file["groups"]
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        file
    };
    bench.file(file(json!({ "by-hand": {} })));
    bench
        .apply(&["--expect-digest", &"0".repeat(64)])
        .expect(3)
        .says("this plan does not have the digest of --expect-digest");
    bench.agreed(file(json!({ "by-hand": {} })));
    // the entry leaves, beside a change of something else
    let looked_at = digest(bench.file(file(json!({ "by-hand": {}, "n": {} }))));
    assert_ne!(digest(bench.file(file(json!({ "n": {} })))), looked_at);
    // and alone
    bench.file(file(json!({})));
    bench.apply(&["--expect-digest", &looked_at]).expect(3);
}

#[test]
fn a_merge_has_the_digest_of_its_pull_request() {
    let text = |port: u16| serde_json::to_string_pretty(&file(port)).unwrap();
    let site = Site::fake();
    let first = site
        .repo()
        .push("main", "netbird.json", text(22).as_bytes(), "start");
    site.checkout(&first);
    site.in_job(&["apply"], &Job::push(&site, &first)).expect(0);
    let mut removed = file(443);
    removed["groups"] = json!({ "g": {}, "h": {}, "new": {} });
    let removed = serde_json::to_string_pretty(&removed).unwrap();
    let head = site
        .repo()
        .push("change", "netbird.json", removed.as_bytes(), "a change");
    let number = site.repo().open_pr("change", "main");
    site.checkout(&head);
    let job = Job::pull_request(
        &site,
        &Pull {
            number,
            head: &head,
            base: &first,
        },
    );
    let plan = site
        .in_job(&["plan", "--format", "json"], &job)
        .expect(0)
        .json();
    let merged = site
        .repo()
        .push("main", "netbird.json", removed.as_bytes(), "merge");
    site.checkout(&merged);
    let args = ["apply", "--expect-digest", plan["digest"].as_str().unwrap()];
    site.in_job(&args, &Job::push(&site, &merged)).expect(0);
}
