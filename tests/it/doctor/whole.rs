//! The whole text, in every format.

use std::fs;

use snapbox::{assert_data_eq, file};

use super::Setup;
use crate::run::{Bench, redact};

/// Days of the calendar differ from run to run.
fn shown(text: &str) -> String {
    let mut text = text.to_owned();
    for (at, before) in text.clone().rmatch_indices("days, on 20") {
        let at = at + before.len() - "20".len();
        text.replace_range(at..at + "2000-00-00".len(), "[day]");
    }
    redact(&text)
}

#[test]
fn where_everything_is_right() {
    let setup = Setup::new();
    let text = setup.run(&[], &[]).expect(0);
    assert_eq!(text.stderr, "");
    assert_data_eq!(shown(&text.stdout), file!["../snapshots/doctor.txt"].raw());
    let json = setup.run(&["--format", "json", "--report", "report.json"], &[]);
    let json = json.expect(0).stdout;
    assert_data_eq!(shown(&json), file!["../snapshots/doctor.json"].raw());
    let report = fs::read_to_string(setup.site.bench.path("report.json")).unwrap();
    assert_eq!(report, json);
}

#[test]
fn where_much_is_wrong() {
    let setup = Setup::new();
    let gitea = setup.site.gitea();
    gitea.unprotect();
    setup
        .site
        .bench
        .text("{\"groups\": {\"a\": {\"pears\": []}}}\n");
    setup.replace(".gitea/workflows/apply.yml", "--yes", "--yes --any-commit");
    let more = [
        ("NETBIRD_API_TOKEN", "nbp_wrong"),
        ("AGE_PUBLIC_KEY", "age1wrong"),
    ];
    let text = setup.run(&["--for", "apply"], &more).expect(1);
    assert_data_eq!(
        shown(&text.stdout),
        file!["../snapshots/doctor-wrong.txt"].raw()
    );
    let markdown = setup
        .run(&["--for", "apply", "--format", "markdown"], &more)
        .expect(1);
    assert_data_eq!(
        shown(&markdown.stdout),
        file!["../snapshots/doctor-wrong.md"].raw()
    );
}

#[test]
fn where_nothing_is_set() {
    let bench = Bench::fake();
    let nothing = ["NETBIRD_API_URL", "NETBIRD_API_TOKEN", "AGE_PUBLIC_KEY"].map(|name| (name, ""));
    let text = bench.run_with(&["doctor"], &nothing).expect(1);
    assert_data_eq!(
        shown(&text.stdout),
        file!["../snapshots/doctor-nothing.txt"].raw()
    );
}

#[test]
fn colour_is_where_it_is_asked_for() {
    let setup = Setup::new();
    let text = setup.run(&["--color", "always"], &[]).expect(0).stdout;
    assert!(text.contains("\x1b[32m✔\x1b[0m  netbird url"), "{text}");
}

#[test]
fn a_report_that_cannot_be_written_is_an_error() {
    let setup = Setup::new();
    let run = setup.run(&["--report", "nowhere/report.json"], &[]);
    run.expect(1).says("cannot write the report");
}
