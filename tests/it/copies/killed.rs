//! What is left where a run is killed whose sealed keys nobody copies, or that is stopped? The kills at every write are in `proof`.

use std::fs;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use fakes::Request;
use serde_json::{Value, json};

use super::{many, stored};
use crate::run::{Bench, Job, Pid, Site};
use crate::secrets::one_key;

fn commit(site: &Site, file: &Value) {
    site.commit(file.clone());
    site.checkout(&site.repo().tip("main"));
}

/// Does something once, when the nth write arrives at NetBird or Gitea: a run that is killed at a read leaves what one leaves that is
/// killed at the write before.
fn at_write(site: &Site, nth: usize, run: impl FnOnce() + Send + 'static) {
    let left = Arc::new((AtomicUsize::new(nth), Mutex::new(Some(run))));
    let watch = || {
        let left = Arc::clone(&left);
        move |request: &Request| {
            if request.method != "GET" && left.0.fetch_sub(1, Ordering::SeqCst) == 1 {
                let run = left.1.lock().unwrap().take();
                run.into_iter().for_each(|run| run());
            }
        }
    };
    site.bench.netbird().watch(watch());
    site.gitea().watch(watch());
}

/// In a public repository nobody but the log, the artifact and the comment has the sealed text.
#[test]
fn killed_at_any_write_where_no_copies_are_kept_no_key_is_lost() {
    for nth in 1.. {
        let site = Site::fake();
        site.gitea().publish();
        commit(&site, &one_key());
        let job = Job::push(&site, &site.repo().tip("main"));
        let hook = |_: &fakes::NetBird, pid: Pid| {
            at_write(&site, nth, move || pid.signal("KILL"));
        };
        let args = ["apply", "--report", "report.json"];
        let command = site.job_command(&args, &job);
        let run = site.bench.start_command(command, hook).wait();
        site.bench.netbird().quiesce();
        site.gitea().quiesce();
        let report = fs::read(site.bench.path("report.json")).unwrap_or_default();
        let report: Value = serde_json::from_slice(&report).unwrap_or_default();
        let mut sealed = vec![report["created_keys"]["k"]["sealed"].clone()];
        let again = site.in_job(&[&args[..], &["--format", "json"]].concat(), &job);
        let again = again.expect(0).json();
        sealed.push(again["created_keys"]["k"]["sealed"].clone());
        site.in_job(&["plan"], &job).expect(0).shows("No changes");
        // one of both runs told it
        site.bench.one("/setup-keys", "k");
        let opens = |sealed: &Value| {
            let secret = sealed
                .as_str()
                .map(|sealed| crate::run::open(sealed.as_bytes()));
            secret.is_some_and(|secret| site.bench.server().enroll(&secret, "m").is_ok())
        };
        assert!(sealed.iter().any(opens), "write {nth}: {sealed:?}");
        if run.code != 128 + 9 {
            break;
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
    // somebody else's files stay, whatever part of their names is like one of these
    for name in [
        "mine.tmp",
        ".netbird-gitops-mine",
        ".netbird-gitops.tmp.mine",
    ] {
        fs::write(bench.path("sealed-keys").join(name), "").unwrap();
    }
    bench.apply(&[]).expect(0);
    assert_eq!(bench.sealed_files().len(), 4);
}
