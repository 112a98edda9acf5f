//! Where history comes from: a checkout, none, one that was cut off, one that git refuses.

use std::process::Command;

use serde_json::json;

use super::{base, with};
use crate::run::Bench;
use crate::run::history::second;

/// A group of ours that the file declares no more.
fn removed() -> Bench {
    let bench = Bench::in_git();
    bench.applied(1.0, with(base(), "groups", "x", json!({})));
    bench.declared(9.0, base());
    bench
}

#[test]
fn without_a_checkout_nothing_is_deleted_and_that_is_said() {
    let bench = removed();
    std::fs::remove_dir_all(bench.path(".git")).unwrap();
    bench
        .leaves_all(&[])
        .says_anywhere("is in no git checkout, so nothing is provably ours and nothing is deleted");
    bench.plan(&[]).expect(0).shows("\"x\"");
    assert_eq!(bench.planned(&[]), Vec::<String>::new());
    // nor is a member removed, whoever was listed once
    let all = bench.planned(&["--prune", "all"]);
    assert!(all.contains(&"delete_group x".to_owned()), "{all:?}");
}

#[test]
fn without_git_nothing_is_deleted_and_that_is_said() {
    let bench = removed();
    let run = bench
        .run_with(&["apply"], &[("PATH", "/nowhere")])
        .expect(0);
    run.says_anywhere("git is not on PATH");
    bench.assert_writes(&[]);
}

#[test]
fn without_a_commit_nothing_is_deleted() {
    let bench = Bench::in_git();
    bench.group("x");
    bench.file(base());
    bench.apply(&[]).expect(0).says_anywhere("no commit yet");
    assert_eq!(bench.names("/groups"), ["All", "g", "x"]);
}

#[test]
fn a_shallow_clone_is_an_error_that_says_fetch_depth_0() {
    let bench = removed();
    let from = format!("file://{}", bench.path("").display());
    let clone = bench.path("clone");
    let target = clone.display().to_string();
    bench.git(&["clone", "-q", "--depth", "1", &from, &target]);
    let run = |args: &[&str]| {
        let mut command: Command = bench.command(args);
        let output = command.current_dir(&clone).output().unwrap();
        let text = String::from_utf8(output.stderr).unwrap();
        (output.status.code(), text)
    };
    for command in ["plan", "apply"] {
        let (code, text) = run(&[command]);
        assert_eq!(code, Some(1), "{text}");
        assert!(text.contains("fetch-depth: 0"), "{text}");
    }
    bench.assert_writes(&[]);
    let (code, text) = run(&["plan", "--prune", "none"]);
    assert_eq!(code, Some(0), "{text}");
    assert!(
        text.contains("shallow") || !text.contains("error"),
        "{text}"
    );
}

#[test]
fn git_that_fails_is_an_error_and_not_no_checkout() {
    let bench = removed();
    std::fs::write(bench.path(".git/HEAD"), "nonsense\n").unwrap();
    bench.cannot(&[]).says("git");
    std::fs::write(bench.path(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
    // an object of the history is missing
    let tree = bench.git(&["rev-parse", "HEAD~1"]);
    let object = format!(".git/objects/{}/{}", &tree[..2], &tree[2..]);
    std::fs::remove_file(bench.path(&object)).unwrap();
    bench.cannot(&[]).says("git");
}

#[test]
fn another_ref_can_be_the_ledger() {
    let bench = Bench::in_git();
    bench.applied(1.0, with(base(), "groups", "x", json!({})));
    // a branch that starts anew knows nothing of x
    bench.git(&["checkout", "-q", "--orphan", "fresh"]);
    bench.file(base()).commit(second(9.0), "fresh");
    assert_eq!(bench.planned(&[]), Vec::<String>::new());
    assert_eq!(bench.planned(&["--ledger-ref", "main"]), ["delete_group x"]);
    bench.cannot(&["--ledger-ref", "nowhere"]).says("nowhere");
}

#[test]
fn what_only_a_feature_branch_had_was_never_declared() {
    let bench = Bench::in_git();
    bench.applied(1.0, base());
    bench.git(&["checkout", "-q", "-b", "feature"]);
    bench.declared(2.0, with(base(), "groups", "x", json!({})));
    bench.hour(2.1).group("x");
    bench.declared(3.0, base());
    bench.git(&["checkout", "-q", "main"]);
    bench.git_at(
        second(4.0),
        &["merge", "-q", "--no-ff", "-m", "merge", "feature"],
    );
    assert_eq!(bench.planned(&[]), Vec::<String>::new());
    bench.leaves_all(&[]);
}

#[test]
fn the_file_in_a_folder_of_the_repository() {
    let bench = Bench::in_git();
    std::fs::create_dir(bench.path("vpn")).unwrap();
    let file = |file: serde_json::Value, hour: f64| {
        std::fs::write(bench.path("vpn/netbird.json"), file.to_string()).unwrap();
        bench.git(&["add", "vpn"]);
        bench.git_at(second(hour), &["commit", "-q", "-m", "a change"]);
        bench.hour(hour);
    };
    file(with(base(), "groups", "x", json!({})), 1.0);
    bench.apply(&["-f", "vpn/netbird.json"]).expect(0);
    file(base(), 9.0);
    assert_eq!(
        bench.planned(&["-f", "vpn/netbird.json"]),
        ["delete_group x"]
    );
}
