//! Files that are named on the command line, and are none.

use std::process::Command;

use serde_json::{Value, json};

use crate::run::{Bench, RECIPIENT, Site};

#[test]
fn what_is_no_file_is_an_error_and_never_waited_for() {
    let bench = Bench::fake();
    bench.file(json!({ "groups": { "g": {} } }));
    let made = Command::new("mkfifo").arg(bench.path("pipe")).status();
    assert!(made.expect("mkfifo").success());
    std::fs::create_dir(bench.path("folder")).expect("a directory");
    let arguments: [&[&str]; 9] = [
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
        &["plan", "--inventory", "FILE"],
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

const POINTER: &str = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n";

fn network() -> Value {
    json!({ "groups": { "g": {} } })
}

/// Behind a link or in Git LFS no commit shows what left the file: deletions would have no cause.
#[test]
fn a_file_that_git_has_elsewhere_is_named_before_anything_is_done() {
    for (words, hint) in [
        (
            "netbird.json is a symbolic link in commit ",
            "commit the file itself",
        ),
        (
            "is a pointer of Git LFS, not the file itself",
            "git lfs untrack",
        ),
    ] {
        let bench = Bench::in_git();
        bench.declared(0.0, json!({ "groups": { "g": {}, "h": {} } }));
        bench.apply(&[]).expect(0);
        if hint.contains("lfs") {
            // the checkout has the file, as git lfs puts it there, and the commit the pointer
            bench.text(POINTER).commit(9, "into Git LFS");
            bench.file(network());
        } else {
            std::fs::rename(bench.path("netbird.json"), bench.path("real.json")).unwrap();
            std::os::unix::fs::symlink("real.json", bench.path("netbird.json")).unwrap();
            bench.commit(9, "a link");
            std::fs::write(bench.path("real.json"), network().to_string()).unwrap();
        }
        bench.server().clear_requests();
        for args in [&["plan"][..], &["apply"], &["adopt", "groups/All"]] {
            bench.run(args).expect(1).says(words).says(hint);
        }
        assert_eq!(bench.writes(), [""; 0], "{words}");
    }
}

#[test]
fn a_pointer_of_git_lfs_is_none_of_the_files_that_are_read() {
    let pointer = "netbird.json is a pointer of Git LFS, not the file itself";
    // the checkout of a job without lfs: true
    let bench = Bench::fake();
    bench.text(POINTER);
    for command in ["validate", "plan", "apply", "sync-events"] {
        let run = bench.run(&[command]).expect(1);
        let said = run.stdout.clone() + &run.stderr;
        assert!(said.contains(pointer), "{command}: {said}");
    }
    // the branch that sync-events and mark-enrolled read
    let site = crate::sync_events::used(Site::fake(), ["a"]);
    site.gitea()
        .push("main", "netbird.json", POINTER, "into Git LFS");
    let named = "netbird.json on main is a pointer of Git LFS";
    for args in [&["sync-events"][..], &["mark-enrolled", "a"]] {
        site.run(args).expect(1).says(named).says("git lfs untrack");
    }
    let link = site.gitea().change("main").delete("netbird.json");
    link.file_of_mode("netbird.json", "120000", "real.json")
        .push();
    let run = site.run(&["sync-events"]).expect(1);
    run.says("netbird.json is a symbolic link to real.json, no file");
    site.bench.assert_writes(&[]);
}

/// What it makes it must be able to read again: else an apply stops half way.
#[test]
fn a_umask_that_keeps_the_owner_out_is_an_error_before_anything_is_written() {
    let bench = Bench::fake();
    bench.file(json!({ "groups": { "g": {} } }));
    for (umask, args, code) in [
        ("777", "apply --yes", 1),
        ("400", "plan", 1),
        ("777", "init new", 1),
        ("077", "apply --yes", 0),
    ] {
        let plan = bench.command(&[]);
        let mut shell = Command::new("sh");
        let script = format!("umask {umask}; exec \"$0\" {args}");
        shell.args(["-c", &script]).arg(plan.get_program());
        shell.current_dir(bench.path("")).env_clear();
        let environment = plan.get_envs();
        shell.envs(environment.filter_map(|(name, value)| Some((name, value?))));
        let run = bench.outcome(shell.output().expect("sh")).expect(code);
        if code == 1 {
            run.says(&format!("with the umask 0{umask} this program cannot read"));
        }
    }
    assert!(!bench.path("new").exists());
}
