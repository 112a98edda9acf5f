//! What does a run leave behind that is killed at one of its requests, and does the next one put it right?

use std::fs;

use fakes::{Effect, Fault, NetBird};
use serde_json::json;

use crate::run::{Bench, INVENTORY, Pid, Site};
use crate::secrets::{assert_one_sealed_key, one_key, pending, replacement};

/// What a run that was killed leaves behind.
fn remove_temporary_files(bench: &Bench) {
    for name in bench.sealed_files() {
        if name.ends_with(".tmp") {
            fs::remove_file(bench.path("sealed-keys").join(name)).unwrap();
        }
    }
}

/// Kills a run at one of its requests, then runs again.
fn killed(method: &str, path: &str, prepare: impl Fn(&Bench)) {
    for is_done in [false, true] {
        let bench = Bench::fake();
        prepare(&bench);
        let hook = |netbird: &NetBird, pid: Pid| {
            if is_done {
                netbird.after(method, path, move |_| pid.signal("KILL"));
            } else {
                netbird.before(method, path, move |_| pid.signal("KILL"));
                netbird.fault(Fault::on(method, path).then(Effect::CutBefore));
            }
        };
        let run = bench.start(&["apply"], hook).wait();
        assert_eq!(
            run.code,
            128 + 9,
            "{method} {path} {is_done}: {}",
            run.stderr
        );
        bench.netbird().clear_faults();
        bench.apply(&[]).expect(0);
        bench.plan(&[]).expect(0).shows("No changes");
        remove_temporary_files(&bench);
        assert_one_sealed_key(&bench);
    }
}

#[test]
fn killed_when_the_key_is_made() {
    killed("POST", "/setup-keys", pending);
}

#[test]
fn killed_when_the_sealed_key_gets_its_groups() {
    killed("PUT", "/setup-keys/", pending);
}

#[test]
fn killed_when_a_replacement_is_made() {
    killed("POST", "/setup-keys", replacement);
}

#[test]
fn killed_when_a_replacement_gets_its_groups() {
    killed("PUT", "/setup-keys/", replacement);
}

#[test]
fn killed_when_the_replaced_key_goes() {
    killed("DELETE", "/setup-keys/", replacement);
}

#[test]
fn killed_when_a_key_is_remade_by_hand() {
    for (method, path) in [
        ("POST", "/setup-keys"),
        ("PUT", "/setup-keys/"),
        ("DELETE", "/setup-keys/"),
    ] {
        let bench = Bench::fake();
        bench.agreed(one_key());
        let args = ["apply", "--replace", "setup_keys/k"];
        let hook = |netbird: &NetBird, pid: Pid| {
            netbird.after(method, path, move |_| pid.signal("KILL"));
        };
        assert_eq!(bench.start(&args, hook).wait().code, 128 + 9);
        bench.run(&args).expect(0);
        bench.plan(&[]).expect(0).shows("No changes");
        remove_temporary_files(&bench);
        assert_one_sealed_key(&bench);
    }
}

#[test]
fn what_git_was_read_by_goes_with_the_next_run() {
    let bench = Bench::fake();
    bench.file(one_key());
    bench.git(&["init", "-q"]);
    bench.git(&["add", "netbird.json"]);
    bench.git(&["commit", "-q", "-m", "a file"]);
    let temporary = bench.path("temporary");
    fs::create_dir(&temporary).unwrap();
    let command = |argument: &str| {
        let mut command = bench.command(&[argument]);
        command.env("TMPDIR", &temporary);
        command
    };
    let hook = |netbird: &NetBird, pid: Pid| {
        netbird.before("POST", "/setup-keys", move |_| pid.signal("KILL"));
    };
    let run = bench.start_command(command("apply"), hook).wait();
    assert_eq!(run.code, 128 + 9, "{}", run.stderr);
    assert_eq!(fs::read_dir(&temporary).unwrap().count(), 1);
    bench.outcome(command("plan").output().unwrap()).expect(0);
    assert_eq!(fs::read_dir(&temporary).unwrap().count(), 0);
}

/// Gitea was killed between git's part of the first commit and its own: the lines that are printed mend it.
#[test]
fn a_branch_that_git_alone_has_is_named_with_what_makes_it_known() {
    let site = Site::fake();
    site.commit(json!({ "groups": { "g": {} } }));
    let [branch, _] = INVENTORY;
    site.gitea().push(branch, "README.md", "ids\n", "begin\n");
    site.gitea().forget_branch(branch);
    site.checkout("origin/main");
    let doctor = site.run(&["doctor", "--for", "apply"]);
    doctor.shows("the server does not know netbird-gitops/inventory, which git has");
    let run = site.run(&["apply"]).expect(3);
    let run = run
        .says("hint: git has the branch netbird-gitops/inventory, and the server does not know it");
    let lines = run.stderr.lines().map(str::trim);
    let is_command = |line: &&str| line.starts_with("git ") || line.starts_with("commit=");
    let commands: Vec<&str> = lines.filter(|line| is_command(line)).collect();
    fs::write(site.bench.path("mend.sh"), commands.join("\n")).unwrap();
    let origin = site.gitea().git_dir();
    site.bench
        .git(&["remote", "add", "origin", origin.to_str().unwrap()]);
    site.bench.git(&["-c", "alias.mend=!sh -e mend.sh", "mend"]);
    site.run(&["apply"]).expect(0).shows("1 created");
}
