//! Who reaches whom: what a plan says of it, and the answers of `access`.

use serde_json::{Value, json};

use crate::run::Bench;

fn file(policies: Value) -> Value {
    json!({ "groups": { "pilots": {}, "stations": {}, "db": {} }, "policies": policies })
}

fn ssh() -> Value {
    json!({ "sources": ["pilots"], "destinations": ["stations"], "protocol": "tcp", "ports": [22], "bidirectional": false })
}

/// An account with a machine in `pilots` and one in `stations`, and nothing that connects them.
fn two_machines() -> Bench {
    let bench = Bench::fake();
    bench.agreed(file(json!({})));
    for name in ["pilots", "stations"] {
        let peer = bench.peer(&format!("machine-{name}"));
        let members = json!([peer]);
        bench.edit("/groups", name, json!({ "peers": members }));
    }
    // everything to everything would be no question
    for policy in bench.server().list("/policies") {
        let path = format!("/policies/{}", policy["id"].as_str().unwrap());
        bench.server().call("DELETE", &path, Value::Null);
    }
    bench
}

#[test]
fn a_plan_says_who_gains_and_who_loses() {
    let bench = two_machines();
    bench.file(file(json!({ "ssh": ssh() })));
    let access = bench.plan(&["--format", "json"]).expect(0).json()["access"].clone();
    let gained = access["gained"].as_array().unwrap();
    assert_eq!(gained.len(), 1, "{access}");
    for (field, value) in [
        ("from", json!("pilots")),
        ("to", json!("stations")),
        ("protocol", json!("tcp")),
        ("ports", json!(["22"])),
        ("because", json!("policy \"ssh\"")),
    ] {
        assert_eq!(gained[0][field], value, "{field}");
    }
    assert_eq!(access["lost"], json!([]));
    bench.apply(&[]).expect(0);
    let access = bench.plan(&["--format", "json"]).expect(0).json()["access"].clone();
    assert_eq!(
        (&access["gained"], &access["lost"]),
        (&json!([]), &json!([]))
    );
}

#[test]
fn what_others_made_grants_too() {
    let bench = two_machines();
    let (from, to) = (
        bench.id("/groups", "pilots"),
        bench.id("/groups", "stations"),
    );
    let rule = json!({ "name": "r", "enabled": true, "action": "accept", "bidirectional": true, "protocol": "all",
                       "sources": [from], "destinations": [to] });
    bench.create(
        "/policies",
        json!({ "name": "by-hand", "enabled": true, "rules": [rule] }),
    );
    // the section of policies is not there: they are asked for all the same
    bench.file(json!({ "groups": { "pilots": {}, "stations": {}, "db": {} } }));
    bench
        .run(&["access", "group/pilots", "group/stations", "tcp/443"])
        .expect(0)
        .shows("yes: group/pilots → group/stations: tcp/443")
        .shows("by policy \"by-hand\"");
    bench.file(file(json!({ "ssh": ssh() })));
    bench.plan(&[]).expect(0).shows(
        r#"already reachable: group "pilots" → group "stations": tcp 22 (policy "ssh", and also by policy "by-hand")"#,
    );
}

#[test]
fn a_question_is_answered_now_and_as_the_file_would_have_it() {
    let bench = two_machines();
    bench.file(file(json!({ "ssh": ssh() })));
    let ask = [
        "access",
        "group/pilots",
        "group/stations",
        "tcp/22",
        "--format",
        "json",
    ];
    let now = bench.run(&ask).expect(0).json();
    assert_eq!(now["reachable"], false);
    let after = bench
        .run(&[&ask[..], &["--after"]].concat())
        .expect(0)
        .json();
    assert_eq!(after["reachable"], true);
    assert_eq!(after["rules"][0]["policy"], "ssh");
    assert_eq!(
        bench
            .netbird()
            .requests()
            .iter()
            .filter(|request| request.method != "GET")
            .count(),
        0
    );
}

#[test]
fn a_name_alone_is_asked_about_where_it_is_one_thing_only() {
    let bench = two_machines();
    bench.file(file(json!({ "ssh": ssh() })));
    for from in [
        "pilots",
        "machine-pilots",
        "group/pilots",
        "peers/machine-pilots",
    ] {
        bench
            .run(&["access", from, "stations", "tcp/22", "--after"])
            .expect(0)
            .shows(&format!("yes: {from} → stations: tcp/22"));
    }
}

#[test]
fn a_question_that_cannot_be_answered_says_why() {
    let bench = two_machines();
    bench.peer("twin");
    bench.create("/groups", json!({ "name": "twin" }));
    let (pilots, stations) = (
        bench.id("/groups", "pilots"),
        bench.id("/groups", "stations"),
    );
    let key = json!({ "type": "one-off", "expires_in": 86_400 });
    bench.file(json!({ "groups": { "planned": {} }, "setup_keys": { "Hawk": key } }));
    bench.create(
        "/routes",
        json!({ "network_id": "lan", "network": "10.9.0.0/16", "peer_groups": [stations], "groups": [pilots],
                "description": "", "enabled": true, "metric": 9999, "masquerade": true, "keep_route": false }),
    );
    for (args, words) in [
        (
            ["access", "group/pilot", "group/db"],
            "did you mean \"pilots\"?",
        ),
        (["access", "pilot", "db"], "did you mean \"pilots\"?"),
        (
            ["access", "resource/x", "group/db"],
            "there is no resource \"x\"",
        ),
        (
            ["access", "pilots", "route/office"],
            "the routes are \"lan\"",
        ),
        (
            ["access", "resource/x", "db"],
            "hint: there are no resources",
        ),
        (
            ["access", "pilots", "10.9.0.0/16"],
            "name a resource or a route, not an address",
        ),
        (
            ["access", "pilots", "planned"],
            "netbird.json declares it, but NetBird does not have it yet: add --after",
        ),
        (
            ["access", "Hawk", "db"],
            "declares it, but NetBird does not have it yet",
        ),
        (
            ["access", "lan", "db"],
            "\"lan\" is not a group or a peer: it can be reached, but it opens no connections",
        ),
        (
            ["access", "group/pilots", "groop/db"],
            "write NAME, group/NAME",
        ),
        (["access", "db", "twin"], "write one of group/twin, peer/"),
    ] {
        bench.run(&args).expect(1).says(words);
    }
    bench
        .run(&["access", "group/pilots", "group/db", "tcp/0"])
        .expect(1)
        .says("write tcp/22");
}

#[test]
fn whoever_waits_for_approval_reaches_nobody() {
    let bench = two_machines();
    bench.agreed(file(json!({ "ssh": ssh() })));
    let asked = ["access", "peer/machine-pilots", "group/stations", "tcp/22"];
    bench.run(&asked).expect(0).shows("yes: ");
    let mut peers = bench.netbird().list("/peers");
    for peer in peers.as_array_mut().unwrap() {
        peer["approval_required"] = json!(peer["name"] == "machine-pilots");
    }
    let answer = fakes::Effect::Status(200, peers);
    bench
        .netbird()
        .fault(fakes::Fault::on("GET", "/peers").always().then(answer));
    bench
        .run(&asked)
        .shows("no: ")
        .shows(r#"peer "machine-pilots" waits for approval in NetBird: until it is approved, it cannot reach any peer"#);
}

#[test]
fn every_key_that_lets_machines_in_is_named() {
    let bench = two_machines();
    bench.agreed(file(json!({ "ssh": ssh() })));
    let mut more = file(json!({ "ssh": ssh() }));
    for key in ["q1", "q2", "q3", "q4"] {
        more["setup_keys"][key] =
            json!({ "type": "one-off", "expires_in": 86400, "auto_groups": ["pilots"] });
    }
    bench.file(more);
    let json = bench.plan(&["--format", "json"]).expect(0).json();
    assert_eq!(
        json["access"]["gained"][0]["because"],
        r#"policy "ssh", because of setup key "q1", setup key "q2", setup key "q3", setup key "q4""#
    );
}

/// The route is for fewer groups after: an answer about one side names the groups of that side.
#[test]
fn why_a_route_is_out_of_reach_is_told_of_the_side_that_was_asked_about() {
    let bench = two_machines();
    let route = |groups: Value, guards: Value| {
        let mut routed = file(json!({ "ssh": ssh() }));
        routed["routes"] = json!({ "lan": { "network": "10.30.0.0/24", "peer_groups": ["stations"], "groups": groups,
                                            "access_control_groups": guards } });
        routed
    };
    bench.file(route(json!(["pilots"]), json!(["db"])));
    bench.apply(&[]).expect(0);
    bench.file(route(json!(["db"]), json!([])));
    let ask = ["access", "group/pilots", "route/lan"];
    bench.run(&ask).expect(0).shows(
        "route \"lan\" has access_control_groups, and no policy lets the source reach group \"db\"\n",
    );
    bench
        .run(&[&ask[..], &["--after"]].concat())
        .expect(0)
        .shows("route \"lan\" is only for group \"db\"\n");
}
