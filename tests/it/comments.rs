//! Can people write beside an entry why it is so, and does everything keep what they wrote?

use std::fs;

use serde_json::{Value, json};

use crate::run::Bench;

const JSONC: &str = include_str!("../data/commented.jsonc");

fn commented() -> Value {
    json!({
        "$comment": "owned by the network team",
        "groups": { "$comment": "one a role", "staff": { "$comment": "everybody" }, "servers": {} },
        "networks": { "$comment": "sites", "office": {
            "$comment": "ground floor",
            "resources": { "$comment": "machines without NetBird", "printer": {
                "$comment": "in the hall", "address": "10.1.1.1", "groups": ["servers"] } },
            "routers": [{ "$comment": "the box in the rack", "peer_groups": ["servers"] }]
        } },
        "policies": { "web": { "$comment": "for the intranet", "sources": ["staff"], "destinations": ["servers"] } },
        "dns": { "$comment": "names", "zones": { "$comment": "ours", "corp": {
            "$comment": "inside", "domain": "corp.example", "distribution_groups": ["staff"],
            "records": [{ "$comment": "the database", "name": "db", "type": "A", "content": "10.1.1.2" }] } } },
        "account": { "$comment": "settings", "settings": { "$comment": "by agreement", "peer_login_expiration_enabled": true } }
    })
}

#[test]
fn comments_stand_in_every_object_and_are_never_sent() {
    let bench = Bench::scenario();
    bench.file(commented());
    bench.run(&["validate"]).expect(0);
    bench.apply(&[]).expect(0);
    bench.plan(&["--detailed-exitcode"]).expect(0);
    for path in ["/groups", "/policies", "/networks"] {
        let list = Value::from(bench.server().list(path)).to_string();
        assert!(!list.contains("$comment"), "{list}");
    }
    let names = bench.names("/groups");
    assert!(!names.iter().any(|name| name.starts_with('$')), "{names:?}");
}

#[test]
fn a_comment_is_a_text() {
    let bench = Bench::fake();
    bench.file(json!({ "groups": { "g": { "$comment": ["a"] } }, "policies": { "$comment": {} } }));
    let run = bench.run(&["validate"]).expect(1);
    run.says("groups.g.$comment\n    expected a text, found a list")
        .says("policies.$comment\n    expected a text, found an object");
}

#[test]
fn other_words_for_a_comment_lead_to_it() {
    let bench = Bench::fake();
    bench.file(json!({ "groups": { "g": { "_comment": "a" } } }));
    bench
        .run(&["validate"])
        .expect(1)
        .says("write \"$comment\"");
}

#[test]
fn a_file_named_jsonc_may_have_comments_and_trailing_commas() {
    let bench = Bench::fake();
    fs::write(bench.path("netbird.jsonc"), JSONC).unwrap();
    let args = |command| [command, "--file", "netbird.jsonc"];
    bench.run(&args("validate")).expect(0);
    bench.run(&args("apply")).expect(0);
    assert_eq!(bench.names("/setup-keys"), ["printer"]);
    fs::write(bench.path("netbird.json"), JSONC).unwrap();
    bench
        .run(&["validate"])
        .expect(1)
        .says("netbird.json:1:1")
        .says("netbird.jsonc");
    fs::write(
        bench.path("netbird.jsonc"),
        JSONC.replace("\"staff\": {},", "\"staff\": {},,"),
    )
    .unwrap();
    bench
        .run(&args("validate"))
        .expect(1)
        .says("netbird.jsonc:6:17");
}
