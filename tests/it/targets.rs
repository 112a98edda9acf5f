//! What policies name beside groups: network resources, peers, posture checks, and who logs in by SSH.

use serde_json::{Value, json};

use crate::run::Bench;

fn file(policy: Value) -> Value {
    json!({ "groups": { "g": {}, "h": {} }, "policies": { "p": policy } })
}

fn rule(bench: &Bench) -> Value {
    bench.one("/policies", "p")["rules"][0].clone()
}

#[test]
fn a_policy_to_a_resource_a_peer_and_groups_and_back() {
    let bench = Bench::scenario();
    let printer = bench.resource("printer");
    let keys = bench.enrolled(&["gw"]);
    let with = |policy: Value| {
        let mut file = file(policy);
        file["setup_keys"] = keys.clone();
        file
    };
    bench.agreed(with(json!({ "sources": ["g"], "destination_resource": "printer", "protocol": "tcp", "ports": [631] })));
    let made = bench.id("/policies", "p");
    assert_eq!(rule(&bench)["destinationResource"]["id"], json!(printer));
    assert_eq!(rule(&bench)["destinationResource"]["type"], "host");
    // the server neither checks nor refreshes the type: only peer or not is a difference
    let stale = json!({ "id": printer, "type": "subnet" });
    bench.edit(
        "/policies",
        "p",
        json!({ "rule": { "destinationResource": stale, "destinations": null } }),
    );
    bench.plan(&["--detailed-exitcode"]).expect(0);
    bench.file(with(
        json!({ "sources": ["g"], "destination_resource": { "peer": "gw" } }),
    ));
    bench.plan(&[]).expect(0).shows("printer → the peer gw");
    bench.apply(&[]).expect(0);
    assert_eq!(rule(&bench)["destinationResource"]["type"], "peer");
    bench.file(with(
        json!({ "source_resource": { "peer": "gw" }, "destinations": ["h"] }),
    ));
    bench.apply(&[]).expect(0);
    assert_eq!(rule(&bench)["sourceResource"]["type"], "peer");
    assert_eq!(
        rule(&bench)
            .get("destinationResource")
            .filter(|of| !of.is_null()),
        None
    );
    bench.file(with(json!({ "sources": ["g"], "destinations": ["h"] })));
    bench.apply(&[]).expect(0);
    assert_eq!(bench.id("/policies", "p"), made);
    bench.plan(&["--detailed-exitcode"]).expect(0);
}

#[test]
fn posture_checks_are_named_and_kept_where_nobody_speaks_of_them() {
    let bench = Bench::scenario();
    let (linux, recent) = (bench.check("linux"), bench.check("recent"));
    let policy = |fields: Value| {
        let mut policy = json!({ "sources": ["g"], "destinations": ["h"] });
        policy
            .as_object_mut()
            .unwrap()
            .extend(fields.as_object().unwrap().clone());
        file(policy)
    };
    let checks = |bench: &Bench| bench.one("/policies", "p")["source_posture_checks"].clone();
    bench.agreed(policy(json!({ "source_posture_checks": ["linux"] })));
    assert_eq!(checks(&bench), json!([linux]));
    bench.file(policy(json!({ "description": "why" })));
    bench.apply(&[]).expect(0);
    assert_eq!(checks(&bench), json!([linux]));
    bench.file(policy(json!({ "source_posture_checks": ["recent"] })));
    bench.plan(&[]).expect(0).shows("linux → recent");
    bench.apply(&[]).expect(0);
    assert_eq!(checks(&bench), json!([recent]));
    bench.file(policy(json!({ "source_posture_checks": ["recnt"] })));
    bench
        .plan(&[])
        .expect(1)
        .says("refers to posture check \"")
        .says("which is neither declared nor in NetBird")
        .says("did you mean");
    bench.file(policy(
        json!({ "source_posture_checks": ["nothing like it"] }),
    ));
    bench
        .plan(&[])
        .expect(1)
        .says("\"nothing like it\", which is neither declared nor in NetBird");
    bench.file(policy(json!({ "source_posture_checks": [] })));
    bench.apply(&[]).expect(0);
    assert_eq!(checks(&bench).as_array().map_or(0, Vec::len), 0);
}

#[test]
fn who_logs_in_by_ssh_is_declared() {
    let bench = Bench::scenario();
    let policy = |fields: Value| {
        let mut policy = json!({ "sources": ["g"], "destinations": ["h"], "protocol": "netbird-ssh", "ports": [22] });
        policy
            .as_object_mut()
            .unwrap()
            .extend(fields.as_object().unwrap().clone());
        file(policy)
    };
    let users = |bench: &Bench| rule(bench)["authorized_groups"].clone();
    bench.agreed(policy(
        json!({ "authorized_groups": { "g": ["root", "deploy"] } }),
    ));
    let g = bench.id("/groups", "g");
    let mut logins: Vec<Value> = users(&bench)[&g].as_array().unwrap().clone();
    logins.sort_by_key(Value::to_string);
    assert_eq!(logins, [json!("deploy"), json!("root")]);
    // left out they are kept
    bench.file(policy(json!({ "description": "why" })));
    bench.apply(&[]).expect(0);
    assert_eq!(users(&bench)[&g].as_array().map(Vec::len), Some(2));
    bench.file(policy(
        json!({ "authorized_groups": { "g": [], "h": ["pilot"] } }),
    ));
    bench
        .apply(&[])
        .expect(0)
        .says_anywhere("may log in as any local user");
    assert_eq!(users(&bench)[&g].as_array().map_or(0, Vec::len), 0);
    let h = bench.id("/groups", "h");
    assert_eq!(users(&bench)[&h], json!(["pilot"]));
    // a group that lets users in is in use
    bench.file(json!({ "groups": { "g": {}, "h": {} }, "policies": { "p": policy(json!({}))["policies"]["p"] } }));
    bench.plan(&["--detailed-exitcode"]).expect(0);
    bench.file(file(
        json!({ "sources": ["g"], "destinations": ["h"], "protocol": "tcp", "ports": [22] }),
    ));
    bench.apply(&[]).expect(0);
    assert_eq!(rule(&bench)["protocol"], "tcp");
    bench.plan(&["--detailed-exitcode"]).expect(0);
}

#[test]
fn a_resource_that_is_not_there_is_said_before_the_first_write() {
    let bench = Bench::fake();
    bench.resource("printer");
    bench.file(file(
        json!({ "sources": ["g"], "destination_resource": "priner" }),
    ));
    bench
        .apply(&[])
        .expect(1)
        .says("policy \"p\" refers to network resource \"priner\", which is neither declared nor in NetBird")
        .says("did you mean \"printer\"");
    bench.assert_writes(&[]);
}

#[test]
fn a_peer_that_the_file_still_names_is_not_offboarded() {
    let key = json!({ "gw": { "type": "one-off", "expires_in": 86400 } });
    let with = |policy: Value, keys: Value| {
        let mut file = file(policy);
        file["setup_keys"] = keys;
        file
    };
    let to_peer = json!({ "sources": ["g"], "destination_resource": { "peer": "gw" } });
    let bench = Bench::in_git();
    bench.applied(
        0.0,
        with(
            json!({ "sources": ["g"], "destinations": ["h"] }),
            key.clone(),
        ),
    );
    bench.hour(0.5);
    bench.server().enroll(&bench.unseal("gw"), "gw").unwrap();
    let mut enrolled = key;
    enrolled["gw"]["enrolled"] = json!(true);
    bench.applied(1.0, with(to_peer.clone(), enrolled));
    assert_eq!(rule(&bench)["destinationResource"]["type"], "peer");
    // the name means the live peer now, and keeps it
    bench.applied(2.0, with(to_peer, json!({})));
    assert_eq!(bench.names("/setup-keys"), Vec::<String>::new());
    bench.leaves_all(&[]).shows("No changes");
    // what goes to somebody else is in nobody's way
    let to_group = json!({ "sources": ["g"], "destinations": ["h"] });
    bench.declared(3.0, with(to_group, json!({})));
    assert_eq!(bench.planned(&[]), ["delete_peer gw", "update_policy p"]);
}

#[test]
fn what_is_exported_plans_nothing() {
    let bench = Bench::fake();
    let (g, printer, check, peer) = (
        bench.group("g"),
        bench.resource("printer"),
        bench.check("linux"),
        bench.peer("gw"),
    );
    let policy = |name: &str, checks: Value, fields: Value| {
        let mut rule = json!({ "name": name, "enabled": true, "action": "accept", "bidirectional": false, "protocol": "all" });
        rule.as_object_mut()
            .unwrap()
            .extend(fields.as_object().unwrap().clone());
        bench.create("/policies", json!({ "name": name, "enabled": true, "source_posture_checks": checks, "rules": [rule] }));
    };
    policy(
        "printer",
        json!([check]),
        json!({ "sources": [g], "destinationResource": { "id": printer, "type": "host" } }),
    );
    policy(
        "gw",
        json!([]),
        json!({ "sourceResource": { "id": peer, "type": "peer" }, "destinations": [g] }),
    );
    policy(
        "idle",
        json!([]),
        json!({ "sourceResource": { "id": printer, "type": "host" }, "destinations": [g] }),
    );
    policy(
        "dead",
        json!([]),
        json!({ "sources": [g], "destinationResource": { "id": "d2m8a1bl0ubs73a9k3c0", "type": "host" } }),
    );
    policy(
        "ssh",
        json!([]),
        json!({ "protocol": "netbird-ssh", "ports": ["22"], "sources": [g], "destinations": [g],
                                     "authorized_groups": { &g: ["root"] } }),
    );
    let run = bench.run(&["export"]).expect(0);
    let exported: Value = serde_json::from_str(&run.stdout).unwrap();
    let policies = &exported["policies"];
    assert_eq!(policies["printer"]["destination_resource"], "printer");
    assert_eq!(
        policies["printer"]["source_posture_checks"],
        json!(["linux"])
    );
    assert_eq!(policies["gw"]["source_resource"], json!({ "peer": "gw" }));
    assert_eq!(
        policies["ssh"]["authorized_groups"],
        json!({ "g": ["root"] })
    );
    assert_eq!((policies.get("idle"), policies.get("dead")), (None, None));
    let file = run.stdout.clone();
    run.says_anywhere("it has a network resource as its source, which does nothing");
    bench.text(&file).plan(&["--detailed-exitcode"]).expect(0);
    bench.file(json!({ "groups": { "g": {} } }));
    bench
        .run(&["adopt", "policies/printer", "policies/gw", "policies/ssh"])
        .expect(0);
    bench.plan(&["--detailed-exitcode"]).expect(0);
}
