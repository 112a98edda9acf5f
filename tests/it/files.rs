//! Files that are named on the command line, and are none.

use std::process::Command;

use serde_json::json;

use crate::run::{Bench, RECIPIENT};

#[test]
fn what_is_no_file_is_an_error_and_never_waited_for() {
    let bench = Bench::fake();
    bench.file(json!({ "groups": { "g": {} } }));
    let made = Command::new("mkfifo").arg(bench.path("pipe")).status();
    assert!(made.expect("mkfifo").success());
    std::fs::create_dir(bench.path("folder")).expect("a directory");
    let arguments: [&[&str]; 8] = [
        &["validate", "--file", "FILE"],
        &["plan", "--live", "FILE"],
        &["plan", "--netbird-token-file", "FILE"],
        &[
            "plan",
            "--netbird-url",
            "https://127.0.0.1:1",
            "--ca-file",
            "FILE",
        ],
        &["plan", "-R", "FILE"],
        &["plan", "--report", "FILE"],
        &["mark-enrolled", "--local", "--from", "FILE"],
        &["doctor", "--file", "FILE"],
    ];
    for (file, words) in [
        ("pipe", "pipe"),
        ("folder", "directory"),
        ("/dev/zero", "device"),
    ] {
        for arguments in arguments {
            let arguments: Vec<&str> = arguments
                .iter()
                .map(|word| word.strip_suffix("FILE").map_or(*word, |_| file))
                .collect();
            let run = bench.run(&arguments).expect(1);
            let said = run.stdout.clone() + &run.stderr;
            assert!(
                said.contains(file) && said.contains(words),
                "{arguments:?}: {said}"
            );
        }
    }
    // a pipe or a device is not replaced by a report
    assert!(!bench.path("pipe").is_file());
}

#[test]
fn what_a_shell_hands_over_is_read() {
    let bench = Bench::fake();
    bench.file(json!({ "groups": { "g": {} } }));
    let script =
        "\"$0\" plan -R <(echo \"$1\") --netbird-token-file <(echo \"$NETBIRD_API_TOKEN\")";
    let plan = bench.command(&[]);
    let mut shell = Command::new("bash");
    shell
        .args(["-c", script])
        .arg(plan.get_program())
        .arg(RECIPIENT);
    shell.current_dir(bench.path("")).env_clear();
    shell.envs(
        plan.get_envs()
            .filter_map(|(name, value)| Some((name, value?))),
    );
    let run = bench.outcome(shell.output().expect("bash"));
    run.expect(0).shows("1 to create");
}
