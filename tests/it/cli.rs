//! Does the program keep to its contract: exit codes, what goes where, what it takes from the environment?

use std::fs;

use serde_json::{Value, json};

use crate::run::{Bench, Pid};

fn file() -> Value {
    json!({ "groups": { "a": {}, "b": {} }, "policies": { "p": { "sources": ["a"], "destinations": ["b"] } } })
}

pub(crate) fn bench() -> Bench {
    let bench = Bench::fake();
    bench.file(file());
    bench
}

#[test]
fn wrong_usage_is_1_and_help_is_0() {
    let bench = bench();
    for wrong in [
        &["--nope"][..],
        &["plan", "--prune", "some"],
        &["plan", "--timeout", "-1"],
        &["apply", "-v", "-q"],
        &[],
    ] {
        let run = bench.run(wrong).expect(1);
        assert_eq!(run.stdout, "", "{wrong:?}");
    }
    for right in [&["--help"][..], &["--version"], &["apply", "--help"]] {
        let run = bench.run(right).expect(0);
        assert_eq!(run.stderr, "");
        assert!(run.stdout.contains("netbird-gitops") || run.stdout.contains("Usage"));
    }
}

const NO_FILES: [&str; 5] = ["", " \n", "null", "[]", "{\"groups\":{},\"policies\":{}}"];

#[test]
fn what_is_no_file_and_what_is_no_token_is_an_error_before_any_request() {
    let bench = bench();
    for text in NO_FILES {
        bench.text(text);
        for command in ["validate", "apply"] {
            let run = bench.run(&[command]);
            assert_eq!(run.code, 1, "{command} {text:?}: {}", run.stderr);
        }
    }
    bench.file(file());
    bench
        .run_with(&["plan"], &[("NETBIRD_API_TOKEN", "")])
        .expect(1)
        .says("hint: set NETBIRD_API_TOKEN");
    bench
        .run_with(&["plan"], &[("NETBIRD_API_URL", "")])
        .expect(1)
        .says("NETBIRD_API_URL");
    assert!(bench.netbird().requests().is_empty());
}

/// A plan asks for the lists while the file is read.
#[test]
fn what_is_no_file_is_the_one_error_of_a_plan() {
    let bench = bench();
    for text in NO_FILES {
        bench.text(text);
        bench.plan(&[]).expect(1).says("netbird.json");
    }
    bench.plan(&["-f", "."]).expect(1).says("is a directory");
    // the server's own trouble is nothing beside it
    bench
        .run_with(
            &["plan", "-f", "."],
            &[("NETBIRD_API_URL", "http://127.0.0.1:1")],
        )
        .expect(1)
        .says("is a directory");
    let requests = bench.netbird().requests();
    assert!(requests.iter().all(|request| request.method == "GET"));
}

#[test]
fn an_empty_variable_is_an_unset_one() {
    let bench = bench();
    let empty = [
        "NETBIRD_GITOPS_FILE",
        "NETBIRD_API_TOKEN_FILE",
        "NETBIRD_ACCOUNT_ID",
        "NETBIRD_GITOPS_CA_FILE",
        "NETBIRD_GITOPS_ENVIRONMENT",
        "NETBIRD_GITOPS_KEYS_DIR",
        "NETBIRD_GITOPS_HALT",
        "AGE_PUBLIC_KEY",
        "GITHUB_EVENT_NAME",
        "GITHUB_SHA",
        "HTTP_PROXY",
        "http_proxy",
        "HTTPS_PROXY",
        "SSL_CERT_FILE",
        "RUST_LOG",
        "CI",
        "NO_COLOR",
    ];
    let environment = empty.map(|name| (name, ""));
    let run = bench.run_with(&["apply"], &environment).expect(0);
    assert!(
        run.stdout.contains(
            "
netbird.json (sha256 "
        ),
        "{}",
        run.stdout
    );
    assert!(
        !run.stderr.starts_with('{'),
        "text, not JSON: {}",
        run.stderr
    );
}

#[test]
fn a_token_is_trimmed_and_what_is_none_is_named_and_not_shown() {
    let bench = bench();
    let token = bench.server().token();
    for good in [format!("{token}\n"), format!(" \t{token} ")] {
        bench
            .run_with(&["plan"], &[("NETBIRD_API_TOKEN", &good)])
            .expect(0);
        fs::write(bench.path("token"), &good).unwrap();
        let file = [
            ("NETBIRD_API_TOKEN", ""),
            ("NETBIRD_API_TOKEN_FILE", "token"),
        ];
        bench.run_with(&["plan"], &file).expect(0);
    }
    for (bad, why) in [
        (format!("\"{token}\""), "quotes"),
        (format!("Token {token}"), "scheme word"),
        (format!("Bearer {token}"), "scheme word"),
    ] {
        let run = bench
            .run_with(&["plan", "-vv"], &[("NETBIRD_API_TOKEN", &bad)])
            .expect(1)
            .says(why);
        assert!(!run.stderr.contains(&token));
    }
}

#[test]
fn a_url_with_and_without_its_path_and_slash() {
    let bench = bench();
    let url = bench.server().url();
    for (at, end) in ["", "/", "/api", "/api/"].into_iter().enumerate() {
        bench.file(json!({ "groups": { format!("g{at}"): {} } }));
        bench
            .run_with(&["apply"], &[("NETBIRD_API_URL", &format!("{url}{end}"))])
            .expect(0)
            .shows("1 created");
    }
    bench
        .run_with(
            &["plan"],
            &[("NETBIRD_API_URL", &format!("{url}/ui/peers"))],
        )
        .expect(1)
        .says("hint: ");
}

#[test]
fn a_signal_ends_the_run_after_the_operation_in_hand() {
    for signal in ["TERM", "INT"] {
        let bench = bench();
        let hook = |netbird: &fakes::NetBird, pid: Pid| {
            netbird.after("POST", "/groups", move |_| pid.signal(signal));
        };
        let run = bench
            .start(&["apply", "--format", "json"], hook)
            .wait()
            .expect(4);
        assert_eq!(
            run.operations(),
            [
                "create_group a success",
                "create_group b skipped",
                "create_policy p skipped"
            ]
        );
        run.says("stopped by a signal after 1 of 3 operations; 2 were not tried");
        bench.assert_writes(&["POST /groups"]);
        bench.apply(&[]).expect(0);
        bench.plan(&[]).expect(0).shows("No changes");
    }
}

#[test]
fn a_signal_never_comes_between_a_key_and_its_secret() {
    let bench = Bench::fake();
    let key = json!({ "type": "one-off", "expires_in": 86400, "auto_groups": ["g"] });
    bench.file(json!({ "groups": { "g": {} }, "setup_keys": { "k1": key, "k2": key } }));
    let hook = |netbird: &fakes::NetBird, pid: Pid| {
        netbird.after("POST", "/setup-keys", move |_| pid.signal("TERM"));
    };
    bench
        .start(&["apply"], hook)
        .wait()
        .expect(4)
        .shows("setup key  k2  not tried");
    bench.assert_writes(&["POST /groups", "POST /setup-keys", "PUT /setup-keys"]);
    assert_eq!(bench.sealed_files(), ["k1.age"]);
    bench.server().enroll(&bench.unseal("k1"), "k1").unwrap();
}

#[test]
fn plan_only_reads() {
    let bench = bench();
    bench.plan(&[]).expect(0);
    bench.plan(&["--prune", "all"]).expect(0);
    assert!(
        bench
            .netbird()
            .requests()
            .iter()
            .all(|request| request.method == "GET")
    );
}

#[test]
fn a_ca_file_that_is_none_is_named() {
    // trusting a private CA needs a server with TLS: src/wire/http/tls.rs has that
    let bench = bench();
    fs::write(bench.path("ca.pem"), "no certificate").unwrap();
    let url = [("NETBIRD_API_URL", "https://localhost:1")];
    for path in ["ca.pem", "nope.pem"] {
        bench
            .run_with(&["plan", "--ca-file", path], &url)
            .expect(1)
            .says(path)
            .says("-----BEGIN CERTIFICATE-----");
    }
}

#[test]
fn a_path_that_is_no_text_is_named() {
    use std::os::unix::ffi::OsStrExt;
    let bench = Bench::fake();
    let name = std::ffi::OsStr::from_bytes(b"caf\xe9");
    let mut command = bench.command(&["validate", "--file"]);
    let output = bench.outcome(command.arg(name).output().unwrap());
    output
        .expect(1)
        .says("the argument caf\u{fffd} holds bytes that are not UTF-8");
    let directory = bench.path("").join(name);
    std::fs::create_dir(&directory).unwrap();
    crate::run::git(&directory, &["init", "-q"]);
    std::fs::write(directory.join("netbird.json"), "{\"groups\": {\"g\": {}}}").unwrap();
    let mut command = bench.command(&["plan"]);
    let output = bench.outcome(command.current_dir(&directory).output().unwrap());
    // of the directory's name nothing is asked
    output.expect(0).shows("1 to create");
}

#[test]
fn the_file_is_named_behind_validate_or_comes_from_stdin() {
    let bench = Bench::fake();
    bench.file(json!({ "groups": { "g": {} } }));
    fs::rename(bench.path("netbird.json"), bench.path("other.json")).unwrap();
    bench
        .run(&["validate", "other.json"])
        .expect(0)
        .shows("other.json is valid");
    bench
        .run_with(&["validate", "other.json"], &[("NETBIRD_GITOPS_FILE", "x")])
        .expect(0);
    let twice = ["validate", "other.json", "-f", "other.json"];
    bench.run(&twice).expect(1).says("the file is named twice");
    let twice = ["plan", "-f", "a.json", "-f", "b.json"];
    bench
        .run(&twice)
        .expect(1)
        .says("hint: a run is about one file");
    for arguments in [["validate", "-f", "-"], ["plan", "-f", "-"]] {
        let stdin = fs::File::open(bench.path("other.json")).unwrap();
        let output = bench.command(&arguments).stdin(stdin).output().unwrap();
        let run = bench.outcome(output).expect(0);
        assert!(run.stdout.contains("stdin is valid") || run.stdout.contains("1 to create"));
    }
    let output = bench.command(&["validate", "-f", "-"]).output().unwrap();
    bench.outcome(output).expect(1).says("stdin is empty");
}
