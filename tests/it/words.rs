//! What people and programs are told: codes, folded lists, and nothing that cannot be seen.

use serde_json::{Value, json};

use crate::run::Bench;

/// Of 110 keys without a limit one notice, in every format; the file's order; programs get all of them with their places.
#[test]
fn many_notices_of_one_cause_are_one() {
    let bench = Bench::fake();
    let keys: serde_json::Map<String, Value> = (0..110)
        .map(|n| {
            (
                format!("key-{n:03}"),
                json!({ "type": "reusable", "expires_in": 86400 }),
            )
        })
        .collect();
    bench.file(json!({ "groups": { "All ": {} }, "setup_keys": keys }));
    let json = bench
        .run(&["validate", "--format", "json"])
        .expect(1)
        .json();
    assert_eq!(json["problems"][0]["code"], "name");
    assert_eq!(json["problems"][0]["path"], "groups[\"All \"]");
    assert_eq!(json["notices"].as_array().unwrap().len(), 110);
    assert_eq!(json["notices"][0]["code"], "key_without_limit");
    assert!(json["notices"][0]["line"].as_u64() < json["notices"][109]["line"].as_u64());

    bench.file(json!({ "groups": { "a": {} }, "setup_keys": keys }));
    let run = bench.run(&["validate"]).expect(0);
    let told = "110 keys have no usage_limit: each will enroll any number of peers";
    assert_eq!(
        run.stderr.matches("usage_limit").count(),
        1,
        "{}",
        run.stderr
    );
    assert!(
        run.stderr.contains(told) && run.stderr.contains("and 100 more"),
        "{}",
        run.stderr
    );
    let plan = bench.plan(&["--format", "json"]).expect(0).json();
    let said: Vec<&str> = plan["notices"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(Value::as_str)
        .collect();
    assert_eq!(
        said.iter()
            .filter(|text| text.contains("usage_limit"))
            .count(),
        1,
        "{said:?}"
    );
    let details = plan["notice_details"].as_array().unwrap();
    let folded = details
        .iter()
        .find(|entry| entry["code"] == "key_without_limit")
        .unwrap();
    assert_eq!(folded["count"], 110);
    assert_eq!(folded["about"][109]["path"], "setup_keys.key-109");
}

/// A value that is written out is no news; a default is.
#[test]
fn what_the_file_says_itself_is_not_told() {
    let bench = Bench::fake();
    let key = json!({ "type": "reusable", "expires_in": 0, "usage_limit": 0 });
    bench.file(json!({ "groups": {}, "setup_keys": { "fleet": key } }));
    bench.run(&["validate"]).expect(0);
    assert_eq!(bench.run(&["validate"]).stderr, "");
}

/// What cannot be seen is refused in the file, and escaped in JSON where a server has it.
#[test]
fn hidden_characters_are_escaped_in_json_and_refused_in_names() {
    let bench = Bench::fake();
    for hidden in [
        "\u{200b}",
        "\u{200d}",
        "\u{feff}",
        "\u{2060}",
        "\u{ad}",
        "\u{e0041}",
        "\u{a0}",
        "\u{2007}",
    ] {
        bench.file(json!({ "groups": { "ops": {}, format!("o{hidden}ps"): {} } }));
        let run = bench.run(&["validate", "--format", "json"]).expect(1);
        assert!(
            !run.stdout.contains(hidden) && !run.stderr.contains(hidden),
            "{hidden:?}"
        );
        run.says("cannot be seen");
    }
    bench
        .server()
        .write("POST", "/groups", json!({ "name": "o\u{200b}ps" }));
    bench.file(json!({ "groups": { "a": {} } }));
    for format in ["json", "text", "markdown"] {
        let run = bench.plan(&["--format", format]).expect(0);
        assert!(!run.stdout.contains('\u{200b}'), "{format}: {}", run.stdout);
    }
    let json = bench.plan(&["--format", "json"]);
    assert!(json.stdout.contains("o\\u200bps"), "{}", json.stdout);
    bench.run(&["export"]).expect(0).says("cannot be seen");
}

/// Four hundred unmanaged groups are ten names and a count, in text too.
#[test]
fn long_lists_are_folded_in_text() {
    let bench = Bench::fake();
    for n in 0..40 {
        bench.server().write(
            "POST",
            "/groups",
            json!({ "name": format!("theirs-{n:02}") }),
        );
    }
    bench.file(json!({ "groups": { "ours": {} } }));
    let plan = bench.plan(&[]).expect(0);
    assert!(
        plan.stdout.contains("\"theirs-09\" and 30 more"),
        "{}",
        plan.stdout
    );
}
