//! Is every usable key's sealed text in the repository where the run was killed?

use std::fs;

use fakes::{Effect, Fault};
use serde_json::{Value, json};

use super::{assert_nothing_lost, assert_one_stored_key, many, stored, without_groups};
use crate::run::{Bench, Job, Pid, Site};
use crate::secrets::one_key;

/// Kills a run before or after one of its requests, to NetBird or to Gitea, and runs again.
fn killed(file: &Value, method: &'static str, path: &str, at_gitea: bool) {
    for is_done in [false, true] {
        let site = Site::fake();
        site.commit(file.clone());
        let (gitea, path) = (site.gitea().clone(), path.to_owned());
        let place = path.clone();
        let hook = move |netbird: &fakes::NetBird, pid: Pid| match (at_gitea, is_done) {
            (false, true) => netbird.after(method, &path, move |_| pid.signal("KILL")),
            (false, false) => {
                netbird.before(method, &path, move |_| pid.signal("KILL"));
                netbird.fault(Fault::on(method, &path).then(Effect::CutBefore));
            }
            (true, true) => gitea.after(method, &gitea.path(&path), move |_| pid.signal("KILL")),
            (true, false) => {
                gitea.before(method, &gitea.path(&path), move |_| pid.signal("KILL"));
                gitea.fault(Fault::on(method, &gitea.path(&path)).then(Effect::CutBefore));
            }
        };
        let run = site
            .bench
            .start_command(site.command(&["apply"]), hook)
            .wait();
        assert_eq!(
            run.code,
            128 + 9,
            "{method} {place} {is_done}: {}",
            run.stderr
        );
        site.bench.netbird().clear_faults();
        site.gitea().clear_faults();
        assert_nothing_lost(&site);
        // disk and log of a job are gone with it
        fs::remove_dir_all(site.bench.path("sealed-keys")).ok();
        // what the next run finds is from before it
        site.bench.netbird().advance(60);
        site.run(&["apply"]).expect(0);
        site.bench.plan(&[]).expect(0).shows("No changes");
        assert_nothing_lost(&site);
        assert_one_stored_key(&site);
    }
}

#[test]
fn killed_at_any_write_a_key_is_stored_or_made_anew() {
    for (method, path, at_gitea) in [
        ("POST", "/contents", true),
        ("POST", "/setup-keys", false),
        ("PUT", "/setup-keys/", false),
    ] {
        killed(&one_key(), method, path, at_gitea);
    }
}

/// In a job the history says whose a key without groups is.
#[test]
fn killed_at_any_write_a_key_without_groups_is_stored_or_made_anew() {
    for (method, path) in [("POST", "/setup-keys"), ("PUT", "/setup-keys/")] {
        for is_done in [false, true] {
            let site = Site::fake();
            site.commit(without_groups());
            let tip = site.repo().tip("main");
            site.checkout(&tip);
            let job = Job::push(&site, &tip);
            let hook = |netbird: &fakes::NetBird, pid: Pid| match is_done {
                true => netbird.after(method, path, move |_| pid.signal("KILL")),
                false => {
                    netbird.before(method, path, move |_| pid.signal("KILL"));
                    netbird.fault(Fault::on(method, path).then(Effect::CutBefore));
                }
            };
            let command = site.job_command(&["apply"], &job);
            let run = site.bench.start_command(command, hook).wait();
            assert_eq!(run.code, 128 + 9, "{method} {is_done}: {}", run.stderr);
            site.bench.netbird().clear_faults();
            fs::remove_dir_all(site.bench.path("sealed-keys")).ok();
            site.bench.netbird().advance(60);
            site.in_job(&["apply"], &job).expect(0);
            site.in_job(&["plan"], &job).expect(0).shows("No changes");
            let key = site.bench.one("/setup-keys", "k");
            let id = key["id"].as_str().unwrap();
            let copy = stored(&site)
                .into_iter()
                .find(|(path, _)| path.contains(id));
            let (_, secret) = copy.expect("a copy of the one key");
            site.bench
                .server()
                .enroll(&secret, "machine")
                .expect("it works");
        }
    }
}

#[test]
fn a_signal_in_the_middle_of_a_block_ends_the_run_when_what_was_made_is_usable() {
    let site = Site::fake();
    site.commit(many(4));
    let hook = |netbird: &fakes::NetBird, pid: Pid| {
        netbird.after("POST", "/setup-keys", move |_| pid.signal("TERM"));
    };
    let run = site
        .bench
        .start_command(site.command(&["apply"]), hook)
        .wait()
        .expect(4);
    run.says("stopped by a signal");
    assert_eq!(site.bench.names("/setup-keys"), ["k00"]);
    assert_eq!(stored(&site).len(), 1);
    let key = site.bench.one("/setup-keys", "k00");
    assert_eq!(key["auto_groups"], json!([site.bench.id("/groups", "g")]));
    site.run(&["apply"]).expect(0);
    assert_eq!(stored(&site).len(), 4);
}

/// A bench is enough where nobody keeps copies.
#[test]
fn leftovers_of_a_killed_run_are_removed_by_the_next() {
    let bench = Bench::fake();
    bench.file(one_key());
    let hook = |netbird: &fakes::NetBird, pid: Pid| {
        netbird.before("POST", "/setup-keys", move |_| pid.signal("KILL"));
    };
    assert_eq!(bench.start(&["apply"], hook).wait().code, 128 + 9);
    let left = bench.sealed_files();
    assert!(left.len() == 1 && left[0].ends_with(".tmp"), "{left:?}");
    bench.apply(&[]).expect(0);
    assert_eq!(bench.sealed_files(), ["k.age"]);
    // also by one that makes no key
    fs::write(bench.path("sealed-keys/.netbird-gitops-Abc123.tmp"), "").unwrap();
    bench.apply(&[]).expect(0);
    assert_eq!(bench.sealed_files(), ["k.age"]);
    // somebody else's files stay
    fs::write(bench.path("sealed-keys/.netbird-gitops.tmp.mine"), "").unwrap();
    bench.apply(&[]).expect(0);
    assert_eq!(bench.sealed_files().len(), 2);
}
