//! What a failure says: our words, its places, a way out, and JSON to whoever asked for that.

use serde_json::json;

use crate::run::{Bench, Site};

/// Nothing is written into a file that validate refuses, nor what would make it one; it is reported as validate does.
#[test]
fn a_wrong_file_is_reported_with_its_places_and_stays() {
    let wrong = "{ \"setup_keys\": { \"a\": { \"type\": \"one-off\", \"expires_in\": 3600, \"enrolled\": false, \"colour\": 1 } },\n  \"grups\": {} }\n";
    for args in [
        &["mark-enrolled", "a"][..],
        &["mark-enrolled", "a", "--via-pr"],
        &["mark-enrolled", "a", "--local"],
        &["adopt", "groups/theirs"],
    ] {
        let site = Site::fake();
        site.bench.create("/groups", json!({ "name": "theirs" }));
        site.commit_text(wrong);
        let tip = site.repo().tip("main");
        let run = site.run(args).expect(1);
        for place in [
            ":1:84  setup_keys.a.colour\n    unknown field",
            ":2:3  grups\n    unknown section \"grups\"\n    did you mean \"groups\"?",
        ] {
            assert!(run.stderr.contains(place), "{args:?}: {}", run.stderr);
        }
        assert_eq!(
            (site.file().as_str(), site.repo().tip("main")),
            (wrong, tip)
        );
        let local = std::fs::read_to_string(site.bench.path("netbird.json")).unwrap();
        assert_eq!(local, wrong, "{args:?}");
    }
    // a key for many peers cannot be marked: the file would not be valid
    let site = Site::fake();
    let text =
        site.commit(json!({ "setup_keys": { "fleet": { "type": "reusable", "expires_in": 0 } } }));
    for args in [
        &["mark-enrolled", "fleet"][..],
        &["mark-enrolled", "fleet", "--local"],
    ] {
        let run = site.run(args).expect(1);
        run.says("nothing was written")
            .says("cannot be marked as enrolled");
    }
    assert_eq!(site.file(), text);
}

/// What libraries say is for programmers.
#[test]
fn no_words_of_libraries() {
    let bench = Bench::fake();
    bench.file(json!({ "groups": { "a": {} } }));
    for (live, words) in [
        ("{\"groups\": [", "ends too early"),
        ("{\"groups\": {}}", "an object stands where a list belongs"),
        ("{\"groups\": [{\"id\": 1}]}", "stands where a text belongs"),
        ("{\"colours\": []}", "there is no field \"colours\""),
    ] {
        std::fs::write(bench.path("live.json"), live).unwrap();
        let run = bench.plan(&["--live", "live.json"]).expect(1).says(words);
        for theirs in ["EOF", "expected", "struct", "`"] {
            assert!(!run.stderr.contains(theirs), "{live}: {}", run.stderr);
        }
    }
    for text in [
        "{\"groups\": {\"a\": {",
        "{\"groups\": {\"a\": {}}",
        "{\"groups\": {\"a\": 1e999}}",
        "{\"a\": tru}",
    ] {
        let run = bench.text(text).run(&["validate"]).expect(1);
        assert!(
            !run.stderr.contains("EOF") && !run.stderr.contains("expected ident"),
            "{text}: {}",
            run.stderr
        );
    }
    for flag in ["--max-deletes", "--allow-deletes"] {
        let run = bench.plan(&[flag, "many"]).expect(1);
        assert!(!run.stderr.contains("invalid digit"), "{}", run.stderr);
    }
}

/// `-r FILE` is said to be `-R FILE`; tokens are named as the set-up page names their secrets.
#[test]
fn ways_out_name_what_people_set() {
    let bench = Bench::fake();
    bench.file(json!({ "groups": { "a": {} } }));
    std::fs::write(bench.path("recipients"), crate::run::RECIPIENT).unwrap();
    for file in ["recipients", "./keys/recipients.txt"] {
        bench
            .apply(&["-r", file])
            .expect(1)
            .says("-R FILE (a capital R)");
    }
    bench
        .run_with(
            &["plan"],
            &[(
                "NETBIRD_API_TOKEN",
                "nbp_0000000000000000000000000000000000000",
            )],
        )
        .expect(1)
        .says("NETBIRD_PLAN_TOKEN");
    bench
        .run_with(&["plan"], &[("NETBIRD_API_TOKEN", "")])
        .expect(1)
        .says("NETBIRD_APPLY_TOKEN");
}

/// Errors with hints inside: lines in text, in a comment and in JSON, and never an escaped line end.
#[test]
fn what_several_recipients_are_told_stands_in_lines() {
    let bench = Bench::fake();
    bench.file(json!({ "groups": { "a": {} } }));
    std::fs::write(bench.path("keys"), "# the team\nage1x\n\nssh-dss AAAA\n").unwrap();
    for format in ["text", "markdown", "json"] {
        let run = bench
            .run_with(
                &["plan", "-R", "keys", "--format", format],
                &[("AGE_PUBLIC_KEY", "")],
            )
            .expect(1)
            .says("keys:2\n    a mistyped or cut off age key")
            .says("\n    hint: copy the whole key again\n");
        for text in [&run.stdout, &run.stderr] {
            assert!(!text.contains("\\u{a}"), "{format}: {text}");
        }
    }
    std::fs::write(bench.path("keys"), b"# the team\n# B\xfcro\n").unwrap();
    bench
        .run_with(&["plan", "-R", "keys"], &[("AGE_PUBLIC_KEY", "")])
        .expect(1)
        .says("keys:2: not UTF-8 text\nhint: save the file as UTF-8");
}

/// What a library says of a file or an answer is for programmers.
#[test]
fn people_read_no_words_of_libraries_or_of_the_system() {
    let bench = Bench::fake();
    std::fs::write(bench.path("latin"), b"B\xfcro").unwrap();
    std::fs::create_dir(bench.path("folder")).unwrap();
    bench.file(json!({ "groups": { "a": {} } }));
    for (arguments, told) in [
        (
            &["plan", "--netbird-token-file", "latin"][..],
            "the token file latin: it is not UTF-8 text",
        ),
        (
            &["plan", "--netbird-token-file", "folder"],
            "the token file folder: it is a directory",
        ),
        (
            &["plan", "--netbird-token-file", "none"],
            "the token file none: no such file or directory",
        ),
        (
            &["plan", "--live", "none"],
            "cannot read none: no such file or directory",
        ),
        (
            &["plan", "--report", "none/x"],
            "cannot write the report none/x: no such file or directory",
        ),
        (
            &["mark-enrolled", "--from", "latin"],
            "cannot read latin: it is not UTF-8 text",
        ),
    ] {
        bench.run(arguments).expect(1).says(told);
    }
    // an answer without the fields that it always has
    let answer = fakes::Effect::Status(200, json!({ "id": "x" }));
    bench
        .netbird()
        .fault(fakes::Fault::on("POST", "/groups").always().then(answer));
    let run = bench.apply(&[]);
    assert_ne!(run.code, 0);
    assert!(!run.stderr.contains("missing field"), "{}", run.stderr);
    run.says("the answer is not a group that can be read: the field \"name\" is missing");
}

/// A program that asked for JSON gets some, whatever happens; of `export` stdout is a netbird.json or nothing.
#[test]
fn who_asks_for_json_gets_it_also_of_a_failure() {
    let bench = Bench::fake();
    bench.file(json!({ "groups": { "a": {} } }));
    let failing = [
        &["validate", "-f", "none"][..],
        &["plan", "-f", "none"],
        &["apply", "-f", "none"],
        &["sync-events", "-f", "none"],
        &["mark-enrolled", "k", "--local"],
        &["drift", "-f", "none"],
        &["adopt", "groups/none"],
        &["adopt", "--candidates", "-f", "none"],
    ];
    for arguments in failing {
        let run = bench
            .run(&[arguments, &["--format", "json"]].concat())
            .expect(1);
        let json = run.json();
        let message = json["error"]["message"].as_str().unwrap_or_default();
        assert!(
            !message.is_empty() && run.stderr.contains(message),
            "{arguments:?}: {json}"
        );
    }
    let adopted = bench
        .run(&["adopt", "policies/Default", "--format", "json"])
        .expect(0);
    assert_eq!(
        adopted.json()["adopted"],
        json!([{ "kind": "policies", "name": "Default" }])
    );
}
