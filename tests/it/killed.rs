//! What does a run leave behind that is killed at one of its requests, and does the next one put it right?

use std::fs;

use fakes::{Effect, Fault, NetBird};

use crate::run::{Bench, Pid};
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
