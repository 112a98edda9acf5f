//! What goes where: stdout, stderr and the report, in every format?

use std::fs;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::cli::bench;
use crate::run::{Bench, INVENTORY};

#[test]
fn stdout_has_the_document_and_nothing_else() {
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
            text.starts_with(&format!("NetBird {command}: 3 ")),
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
            1,
            "there is no NetBird token",
        ),
        (
            vec!["plan"],
            vec![("NETBIRD_API_URL", ""), ("NETBIRD_API_TOKEN", "")],
            1,
            "no NetBird server is named\nthere is no NetBird token",
        ),
        (vec!["plan", "-f", "nope.json"], vec![], 1, "no such file"),
        (
            vec!["plan", "-f", "https://example.com/netbird.json"],
            vec![],
            1,
            "https://example.com/netbird.json: no such file",
        ),
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
        let failed = [
            "NetBird plan **could not be made**",
            "NetBird apply **failed**",
            "NetBird apply **refused**",
        ];
        assert!(
            failed.iter().any(|title| markdown.contains(title)),
            "{markdown}"
        );
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
fn a_reader_that_goes_away_is_no_error() {
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

/// A full disk behind `>`: nobody has the plan.
#[test]
fn a_stdout_that_takes_nothing_is_an_error() {
    let bench = bench();
    for (arguments, code) in [
        (&["validate"][..], 1),
        (&["plan"], 1),
        (&["plan", "--format", "json"], 1),
        (&["export"], 1),
        (&["schema"], 1),
        (&["completions", "bash"], 1),
        (&["--help"], 1),
        (&["apply"], 4),
    ] {
        let full = fs::OpenOptions::new().write(true).open("/dev/full");
        let mut command = bench.command(arguments);
        let output = command.stdout(full.unwrap()).output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{arguments:?}");
        let said = String::from_utf8_lossy(&output.stderr);
        let is_said = arguments == ["--help"] || said.contains("cannot write to stdout");
        assert!(is_said, "{arguments:?}: {said}");
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
    // an apply tries before the first write
    bench.apply(&["--report", "no/such/report.json"]).expect(1);
    bench.assert_writes(&[]);
    // and what happens to it meanwhile makes no success of 1, which says that nothing changed
    let dir = bench.path("reports");
    fs::create_dir(&dir).unwrap();
    bench.netbird().after("POST", "/groups", move |_| {
        fs::remove_dir_all(&dir).unwrap()
    });
    bench
        .apply(&["--report", "reports/report.json"])
        .expect(4)
        .says("cannot write the report")
        .shows("3 created");
}

#[test]
fn commands_that_make_no_plan_write_the_report_too_whether_they_end_well_or_not() {
    let bench = bench();
    for (args, code) in [
        (&["adopt", "--candidates"][..], 0),
        (&["adopt", "groups/nobody"], 1),
        (&["access", "group/nobody", "group/All"], 1),
        (&["access", "group/All", "group/All"], 0),
    ] {
        let flags = ["--format", "json", "--report", "report.json"];
        let run = bench.run(&[args, &flags].concat()).expect(code);
        let report = fs::read_to_string(bench.path("report.json")).unwrap();
        assert_eq!(report, run.stdout, "{args:?}");
        let report: Value = serde_json::from_str(&report).unwrap();
        assert_eq!(report["error"].is_object(), code != 0, "{report}");
        fs::remove_file(bench.path("report.json")).unwrap();
    }
}

#[test]
fn in_a_job_every_line_of_stderr_is_json_but_for_what_people_read() {
    let bench = bench();
    let parse = |stderr: &str| -> Vec<Value> {
        // the plan is lines, and no string with line breaks in it
        let of_the_plan = |line: &&str| line.is_empty() || !line.starts_with('{');
        let plan: Vec<&str> = stderr.lines().filter(of_the_plan).collect();
        assert_eq!(
            plan.is_empty(),
            !stderr.contains("NetBird plan: "),
            "{plan:#?}"
        );
        assert!(
            plan.first()
                .is_none_or(|line| line.starts_with("NetBird plan: "))
        );
        stderr
            .lines()
            .filter(|line| !of_the_plan(line))
            .map(|line| {
                serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))
            })
            .collect()
    };
    // a job has a forge, or the list in a file
    bench.write_inventory(json!({}));
    let ci = [("CI", "true"), ("NETBIRD_GITOPS_INVENTORY", INVENTORY[1])];
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
