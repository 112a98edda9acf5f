//! What is left where a run is killed, or another one comes between, at any of its requests?

use std::collections::BTreeSet;
use std::fs;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use fakes::Request;
use serde_json::{Value, json};

use super::{assert_nothing_lost_but, many, stored};
use crate::run::{Bench, Job, Pid, Site, id};
use crate::secrets::one_key;

/// Lists whose objects the file declares, and the section of each.
const LISTS: [(&str, &str); 5] = [
    ("/groups", "groups"),
    ("/policies", "policies"),
    ("/networks", "networks"),
    ("/networks/resources", "resources"),
    ("/setup-keys", "setup_keys"),
];

/// A site whose file, applied once, was changed by a commit that the job applies: two keys, one made again, other kinds, a group to
/// adopt, a group and a policy to delete. Others have objects, too.
struct Scene {
    site: Site,
    job: Job,
    /// What others have in NetBird.
    theirs: BTreeSet<String>,
}

impl Scene {
    fn new() -> Scene {
        let site = Site::fake();
        let netbird = site.bench.netbird();
        let now = jiff::Timestamp::now().as_second();
        netbird.set_clock(now - 7200);
        let everybody = json!({ "sources": ["g"], "destinations": ["g"] });
        let key = json!({ "type": "one-off", "expires_in": 86400, "auto_groups": ["g"] });
        let mut file = json!({
            "groups": { "g": {}, "old": {} },
            "setup_keys": { "again": key },
            "policies": { "stays": everybody, "gone": everybody }
        });
        commit(&site, &file);
        let job = Job::push(&site, &site.repo().tip("main"));
        site.in_job(&["apply"], &job).expect(0);
        netbird.set_clock(now);

        let group = site.bench.group("theirs");
        let rule = json!({ "name": "r", "enabled": true, "action": "drop", "bidirectional": true, "protocol": "all",
                           "sources": [group], "destinations": [group] });
        let policy = json!({ "name": "stays", "enabled": true, "rules": [rule] });
        let key_of_theirs =
            json!({ "name": "k", "type": "reusable", "expires_in": 0, "auto_groups": [group] });
        let theirs = [
            group,
            site.bench.group("met"),
            id(&site.bench.create("/policies", policy)),
            id(&site.bench.create("/setup-keys", key_of_theirs)),
        ];

        file["groups"] = json!({ "g": {}, "met": {}, "new": {} });
        file["setup_keys"]["k"] = key;
        file["setup_keys"]["open"] =
            json!({ "type": "reusable", "expires_in": 86400, "usage_limit": 2 });
        let hour_ago = jiff::Timestamp::from_second(now - 3600).unwrap();
        file["setup_keys"]["again"]["reissue_after"] = json!(hour_ago.to_string());
        file["policies"] = json!({ "stays": everybody, "new": everybody });
        file["policies"]["stays"]["description"] = json!("changed");
        file["networks"] = json!({ "net": { "resources": {
            "printer": { "address": "10.1.2.3", "groups": ["new"] } } } });
        commit(&site, &file);
        let job = Job::push(&site, &site.repo().tip("main"));
        Scene {
            site,
            job,
            theirs: theirs.into(),
        }
    }

    /// That another run ends well and leaves nothing to do, that all is there once and recorded, each key can be opened, and
    /// what others have is as it was.
    #[track_caller]
    fn assert_settled(&self, at: &str) {
        let Scene { site, job, theirs } = self;
        // disk and log of a job are gone with it
        fs::remove_dir_all(site.bench.path("sealed-keys")).ok();
        let run = site.in_job(&["apply"], job);
        assert_eq!(run.code, 0, "{at}: {}\n{}", run.stdout, run.stderr);
        let plan = site.in_job(&["plan"], job).expect(0);
        assert!(plan.stdout.contains("No changes"), "{at}: {}", plan.stdout);
        assert_nothing_lost_but(site, theirs);

        let inventory = site.inventory();
        let ids = |entry: &Value| -> Vec<String> {
            let ids = entry.as_array().into_iter().flatten();
            ids.map(|id| id.as_str().unwrap().to_owned()).collect()
        };
        let mut recorded: Vec<String> = Vec::new();
        for origin in ["created", "adopted"] {
            let entries = inventory[origin].as_object().into_iter().flatten();
            recorded.extend(entries.flat_map(|(_, entry)| ids(entry)));
        }
        let mut left = theirs.clone();
        for (list, section) in LISTS {
            for object in site.bench.server().list(list) {
                let (id, name) = (id(&object), object["name"].as_str().unwrap());
                left.remove(&id);
                let is_ours = recorded.contains(&id);
                let is_known = theirs.contains(&id) || ["All", "Default"].contains(&name);
                // of a key that wants no groups nothing tells whether it was sealed: it stays, and every plan names it
                let is_named = name == "open" && plan.stdout.contains(&id);
                assert!(
                    is_ours || is_known || is_named,
                    "{at}: {section}/{name} is nobody's"
                );
            }
        }
        assert!(left.is_empty(), "{at}: {left:?} of others are gone");
        let names = |list: &str| -> Vec<String> {
            let own = |object: &Value| recorded.contains(&id(object));
            let own = site.bench.server().list(list).into_iter().filter(own);
            let mut names: Vec<String> = own
                .map(|object| object["name"].as_str().unwrap().to_owned())
                .collect();
            names.sort();
            names
        };
        let found = LISTS.map(|(list, _)| names(list).join(" "));
        let wanted = ["g met new", "new stays", "net", "printer", "again k open"];
        assert_eq!(found, wanted, "{at}");

        for (path, secret) in stored(site) {
            let of_key = recorded.iter().any(|id| path.contains(id.as_str()));
            if of_key {
                let enrolled = site.bench.server().enroll(&secret, "machine");
                assert!(enrolled.is_ok(), "{at}: {path}: {enrolled:?}");
            }
        }
    }
}

fn commit(site: &Site, file: &Value) {
    site.commit(file.clone());
    site.checkout(&site.repo().tip("main"));
}

/// Does something once, when the nth request arrives at NetBird or Gitea that counts.
fn at(site: &Site, nth: usize, counts: fn(&Request) -> bool, run: impl FnOnce() + Send + 'static) {
    let left = Arc::new((AtomicUsize::new(nth), Mutex::new(Some(run))));
    let watch = || {
        let left = Arc::clone(&left);
        move |request: &Request| {
            if counts(request) && left.0.fetch_sub(1, Ordering::SeqCst) == 1 {
                let run = left.1.lock().unwrap().take();
                run.into_iter().for_each(|run| run());
            }
        }
    };
    site.bench.netbird().watch(watch());
    site.gitea().watch(watch());
}

/// Waits until the servers have done all that they were asked for.
fn rest(site: &Site) {
    let is_done = |requests: Vec<Request>| requests.iter().all(|request| request.status != 0);
    while !is_done(site.bench.netbird().requests()) || !is_done(site.gitea().requests()) {
        std::thread::yield_now();
    }
    site.bench.netbird().clear_faults();
    site.gitea().clear_faults();
}

/// A read changes nothing: a run that is killed at one leaves what one leaves that is killed at the write before.
fn is_write(request: &Request) -> bool {
    request.method != "GET"
}

#[test]
fn killed_at_a_third_of_the_writes_the_next_run_finishes_it() {
    killed_at((2..).step_by(3));
}

#[test]
#[ignore = "takes minutes"]
fn killed_at_any_write_the_next_run_finishes_it() {
    killed_at(1..);
}

fn killed_at(writes: impl Iterator<Item = usize>) {
    for nth in writes {
        let scene = Scene::new();
        let Scene { site, job, .. } = &scene;
        let hook = |_: &fakes::NetBird, pid: Pid| {
            at(site, nth, is_write, move || pid.signal("KILL"));
        };
        let command = site.job_command(&["apply"], job);
        let run = site.bench.start_command(command, hook).wait();
        rest(site);
        scene.assert_settled(&format!("killed at write {nth}"));
        if run.code != 128 + 9 {
            assert_eq!(run.code, 0, "{}", run.stderr);
            assert!(nth > 15, "{nth} writes");
            break;
        }
    }
}

#[test]
fn a_run_that_begins_and_ends_before_a_third_of_the_writes_of_another() {
    another_run_before((1..).step_by(3));
}

#[test]
#[ignore = "takes minutes"]
fn a_run_that_begins_and_ends_before_any_write_of_another() {
    another_run_before(1..);
}

fn another_run_before(writes: impl Iterator<Item = usize>) {
    for nth in writes {
        let scene = Scene::new();
        let Scene { site, job, .. } = &scene;
        let mut second = site.job_command(&["apply", "--keys-dir", "other"], job);
        let (send, came_to) = std::sync::mpsc::channel();
        at(site, nth, is_write, move || {
            send.send(second.output().unwrap()).unwrap();
        });
        let first = site.in_job(&["apply"], job);
        rest(site);
        let second = came_to.try_recv().map(|output| site.bench.outcome(output));
        for run in [Some(&first), second.as_ref().ok()].into_iter().flatten() {
            let is_well = matches!(run.code, 0 | 4);
            assert!(is_well, "{nth}: {}\n{}", run.stdout, run.stderr);
        }
        scene.assert_settled(&format!("another run before write {nth}"));
        if second.is_err() {
            assert!(nth > 10, "{nth} writes");
            break;
        }
    }
}

#[test]
fn two_runs_at_once_leave_one_object_of_each_name() {
    for _ in 0..3 {
        let scene = Scene::new();
        let Scene { site, job, .. } = &scene;
        let runs = [&["apply"][..], &["apply", "--keys-dir", "other"]];
        for run in runs.map(|args| site.start_job(args, job)) {
            let run = run.wait(&site.bench);
            let is_well = matches!(run.code, 0 | 4);
            assert!(is_well, "{}\n{}", run.stdout, run.stderr);
        }
        scene.assert_settled("two at once");
    }
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
            at(&site, nth, is_write, move || pid.signal("KILL"));
        };
        let args = ["apply", "--report", "report.json"];
        let command = site.job_command(&args, &job);
        let run = site.bench.start_command(command, hook).wait();
        rest(&site);
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
    // somebody else's files stay
    fs::write(bench.path("sealed-keys/.netbird-gitops.tmp.mine"), "").unwrap();
    bench.apply(&[]).expect(0);
    assert_eq!(bench.sealed_files().len(), 2);
}
