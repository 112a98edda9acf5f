//! Does the program keep to its contract: exit codes, what goes where, what it takes from the environment?

use std::fs;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::run::{Bench, Pid};

fn file() -> Value {
    json!({ "groups": { "a": {}, "b": {} }, "policies": { "p": { "sources": ["a"], "destinations": ["b"] } } })
}

fn bench() -> Bench {
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

#[test]
fn c035_c066_stdout_has_the_document_and_nothing_else() {
    let bench = bench();
    for level in [&[][..], &["-vv"]] {
        let plan = bench
            .run_with(
                &[&["plan", "--format", "markdown"], level].concat(),
                &[("RUST_LOG", "trace")],
            )
            .expect(0);
        assert!(
            plan.stdout.starts_with(
                "<!-- netbird-gitops plan default -->\n### NetBird plan: 3 to create\n"
            ),
            "{}",
            plan.stdout
        );
        assert!(plan.stderr.contains("GET"));
    }
    let apply = bench.apply(&["--format", "json", "-vv"]).expect(0);
    assert_eq!(apply.json()["status"], "applied");
    assert!(apply.stderr.contains("[1/3] group a: created"));
    let quiet = bench.apply(&["-q"]).expect(0);
    assert_eq!(quiet.stderr, "");
}

/// Runs a plan and an apply that end so, in every format; returns the documents by format.
#[track_caller]
fn in_every_format(
    bench: &Bench,
    args: &[&str],
    environment: &[(&str, &str)],
    code: i32,
) -> [String; 3] {
    ["text", "markdown", "json"].map(|format| {
        let args = [args, &["--format", format, "--report", "report.json"]].concat();
        let run = bench.run_with(&args, environment).expect(code);
        let report: Value =
            serde_json::from_str(&fs::read_to_string(bench.path("report.json")).unwrap()).unwrap();
        assert_eq!(report["format_version"], 1);
        let is_error = code != 0;
        assert_eq!(report["status"] == "error", is_error, "{report}");
        assert_eq!(report["error"].is_object(), is_error);
        fs::remove_file(bench.path("report.json")).unwrap();
        run.stdout
    })
}

#[test]
fn every_format_on_success_on_an_error_and_on_a_refusal() {
    let bench = bench();
    for command in ["plan", "apply"] {
        let [text, markdown, json] = in_every_format(&bench, &[command], &[], 0);
        assert!(
            text.starts_with(&format!("NetBird {command} for netbird.json")),
            "{text}"
        );
        assert!(markdown.starts_with("<!--"), "{markdown}");
        serde_json::from_str::<Value>(&json).unwrap();
    }
    // c055: the plan of a fork's job has no token; an old plan must not stand as if it were new
    let errors = [
        (
            vec!["plan"],
            vec![("NETBIRD_API_TOKEN", "")],
            3,
            "there is no NetBird token",
        ),
        (vec!["plan", "-f", "nope.json"], vec![], 1, "no such file"),
        (
            vec!["apply"],
            vec![("NETBIRD_GITOPS_HALT", "stop")],
            3,
            "NETBIRD_GITOPS_HALT is set",
        ),
        (
            vec!["apply"],
            vec![("NETBIRD_API_URL", "http://127.0.0.1:1")],
            1,
            "cannot list",
        ),
    ];
    for (args, environment, code, why) in errors {
        let [text, markdown, json] = in_every_format(&bench, &args, &environment, code);
        assert_eq!(text, "", "stderr has it");
        assert!(markdown.contains(if args[0] == "plan" {
            "NetBird plan could not be made"
        } else {
            "NetBird apply failed"
        }));
        assert!(markdown.contains(why), "{markdown}");
        let json: Value = serde_json::from_str(&json).unwrap();
        assert!(
            json["error"]["message"].as_str().unwrap().contains(why),
            "{json}"
        );
    }
}

#[test]
fn validate_says_it_in_every_format_and_makes_no_request() {
    let bench = bench();
    let [text, _, json] = in_every_format(
        &bench,
        &["validate"],
        &[("NETBIRD_API_URL", ""), ("NETBIRD_API_TOKEN", "")],
        0,
    );
    assert_eq!(text, "netbird.json is valid.\n");
    assert_eq!(
        serde_json::from_str::<Value>(&json).unwrap()["status"],
        "valid"
    );
    bench.text("{ \"groups\": { \"a\": { \"peer\": [] } }, }");
    let [_, _, json] = in_every_format(&bench, &["validate"], &[], 1);
    assert_eq!(
        serde_json::from_str::<Value>(&json).unwrap()["status"],
        "error"
    );
    assert!(bench.netbird().requests().is_empty());
}

#[test]
fn c015_c055_what_is_no_file_and_what_is_no_token_is_an_error_before_any_request() {
    let bench = bench();
    for text in [
        "",
        " \n",
        "{}",
        "null",
        "[]",
        "{\"groups\":{},\"policies\":{}}",
    ] {
        bench.text(text);
        for command in ["validate", "plan", "apply"] {
            let run = bench.run(&[command]);
            assert_eq!(run.code, 1, "{command} {text:?}: {}", run.stderr);
        }
    }
    bench.plan(&["-f", "."]).expect(1).says("is a directory");
    bench.file(file());
    bench
        .run_with(&["plan"], &[("NETBIRD_API_TOKEN", "")])
        .expect(3)
        .says("a pull request from a fork has no secrets");
    bench
        .run_with(&["plan"], &[("NETBIRD_API_URL", "")])
        .expect(1)
        .says("NETBIRD_API_URL");
    assert!(bench.netbird().requests().is_empty());
}

#[test]
fn c097_an_empty_variable_is_an_unset_one() {
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
        run.stdout
            .starts_with("NetBird apply for netbird.json (sha256 "),
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
fn c012_a_token_is_trimmed_and_what_is_none_is_named_and_not_shown() {
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
fn t12_c120_a_url_with_and_without_its_path_and_slash() {
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
fn c035_a_reader_that_goes_away_is_no_error() {
    let bench = bench();
    for format in ["text", "json"] {
        let mut command = bench.command(&["plan", "--format", format]);
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0));
        assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    }
}

#[test]
fn a_report_that_cannot_be_written_is_an_error_that_tells_whether_something_changed() {
    let bench = bench();
    bench
        .plan(&["--report", "no/such/report.json"])
        .expect(1)
        .says("cannot write the report");
    bench
        .plan(&["--report", "no/such/report.json", "--detailed-exitcode"])
        .expect(1);
    bench
        .apply(&["--report", "no/such/report.json"])
        .expect(4)
        .shows("3 created");
    bench.apply(&["--report", "no/such/report.json"]).expect(1);
}

#[test]
fn in_a_job_every_line_of_stderr_is_json() {
    let bench = bench();
    let parse = |stderr: &str| -> Vec<Value> {
        stderr
            .lines()
            .map(|line| {
                serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))
            })
            .collect()
    };
    let ci = [("CI", "true")];
    let lines = parse(&bench.run_with(&["apply", "-vv"], &ci).expect(0).stderr);
    for line in &lines {
        assert!(
            line["time"].is_string() && line["level"].is_string() && line["message"].is_string(),
            "{line}"
        );
    }
    let posts: Vec<&Value> = lines
        .iter()
        .filter(|line| line["method"] == "POST")
        .collect();
    assert_eq!(posts.len(), 3, "{lines:#?}");
    assert!(
        posts.iter().all(|line| line["status"] == 200
            && line["ms"].is_number()
            && line["path"].is_string()),
        "{posts:#?}"
    );
    let writes = lines
        .iter()
        .filter(|line| line["operation"] == "create")
        .count();
    assert_eq!(writes, 3);
    let lines = parse(
        &bench
            .run_with(&["plan", "-f", "nope"], &ci)
            .expect(1)
            .stderr,
    );
    assert!(lines.last().unwrap()["hint"].is_string());
    bench
        .run_with(&["plan", "--log-format", "text", "-f", "nope"], &ci)
        .expect(1)
        .says("error: nope: no such file\nhint: ");
    bench
        .run_with(&["plan", "-f", "nope"], &[("CI", "false")])
        .expect(1)
        .says("error: nope");
}

#[test]
fn without_a_terminal_there_is_no_colour_and_no_question() {
    let bench = bench();
    let run = bench.apply(&[]).expect(0);
    assert!(!run.stdout.contains('\u{1b}') && !run.stderr.contains('\u{1b}'));
    assert!(!run.stderr.contains("[y/N]"));
    bench.file(json!({ "groups": { "c": {} } }));
    let run = bench.plan(&["--color", "always"]).expect(0);
    assert!(run.stdout.contains("\u{1b}[32m"));
}

#[test]
fn c032_a_signal_ends_the_run_after_the_operation_in_hand() {
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
fn c032_a_signal_never_comes_between_a_key_and_its_secret() {
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
        .says("not tried: setup key k2");
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
