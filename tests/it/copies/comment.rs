//! Does the comment on the merged pull request have the sealed keys?

use fakes::{Effect, Fault};
use serde_json::{Value, json};

use super::{BRANCH, stored};
use crate::run::{Job, Pid, Run, Site, open};
use crate::secrets::one_key;

/// A pull request that was merged, and the job of the merge.
fn merged(site: &Site, file: &Value) -> (u64, Job) {
    let text = site.text(file.clone());
    site.repo()
        .push("change", "netbird.json", text.as_bytes(), "a change");
    site.bench.text(&text);
    let number = site.repo().open_pr("change", "main");
    let merge = site.repo().merge(number);
    (number, Job::push(site, &merge))
}

fn comment(site: &Site, number: u64) -> String {
    let comments = site.repo().comments(number);
    let [comment] = comments.as_slice() else {
        panic!("one comment is wanted: {comments:?}");
    };
    comment["body"].as_str().unwrap().to_owned()
}

/// The secrets in the blocks of a text.
fn secrets_in(text: &str) -> Vec<String> {
    let begin = "-----BEGIN AGE ENCRYPTED FILE-----\n";
    let end = "-----END AGE ENCRYPTED FILE-----\n";
    let blocks = text.split(begin).skip(1);
    blocks
        .map(|rest| {
            let (body, _) = rest.split_once(end).expect("a whole block");
            open(format!("{begin}{body}{end}").as_bytes())
        })
        .collect()
}

#[test]
fn the_comment_has_the_keys_before_the_next_kind_and_keeps_them() {
    let site = Site::fake();
    let mut file = one_key();
    file["policies"] = json!({ "p": { "sources": ["g"], "destinations": ["g"] } });
    let (number, job) = merged(&site, &file);
    let hook = |netbird: &fakes::NetBird, pid: Pid| {
        netbird.before("POST", "/policies", move |_| pid.signal("KILL"));
    };
    let command = site.job_command(&["apply", "--comment"], &job);
    assert_eq!(site.bench.start_command(command, hook).wait().code, 128 + 9);
    let under_way = comment(&site, number);
    assert!(under_way.contains("**is under way**"), "{under_way}");
    let secret = site.bench.unseal("k");
    assert_eq!(secrets_in(&under_way), std::slice::from_ref(&secret));
    // the job is run again: it makes no key
    site.in_job(&["apply", "--comment"], &job).expect(0);
    let again = comment(&site, number);
    assert!(!again.contains("is under way"), "{again}");
    assert_eq!(secrets_in(&again), std::slice::from_ref(&secret));
    // and once more, with a key made anew and a failure at the end
    let refused = Fault::on("GET", "/groups").nth(2);
    site.bench
        .netbird()
        .fault(refused.then(Effect::Status(403, json!({ "message": "no", "code": 403 }))));
    let args = ["apply", "--comment", "--replace", "setup_keys/k"];
    let run: Run = site.in_job(&args, &job);
    assert_ne!(run.code, 0);
    // the key that was replaced stands behind the one that replaced it
    let last = comment(&site, number);
    assert!(
        last.contains("1 sealed key of an earlier attempt, replaced since"),
        "{last}"
    );
    assert_eq!(secrets_in(&last), [site.bench.unseal("k"), secret]);
}

#[test]
fn a_key_that_a_killed_run_stored_and_did_not_get_to_say_is_named() {
    let site = Site::fake();
    let mut file = one_key();
    file["policies"] = json!({ "p": { "sources": ["g"], "destinations": ["g"] } });
    let (number, job) = merged(&site, &file);
    site.checkout(&site.repo().tip("main"));
    let hook = |netbird: &fakes::NetBird, pid: Pid| {
        netbird.after("PUT", "/setup-keys/", move |_| pid.signal("KILL"));
    };
    let command = site.job_command(&["apply", "--comment"], &job);
    assert_eq!(site.bench.start_command(command, hook).wait().code, 128 + 9);
    assert!(site.repo().comments(number).is_empty());
    let (place, _) = stored(&site).remove(0);
    // copied as it stands
    let said = format!("Its sealed secret is in `origin/{BRANCH}:{place}`");
    site.in_job(&["apply", "--comment"], &job).expect(0);
    let again = comment(&site, number);
    assert!(again.contains(&said), "{again}");
    // what was done stands, whoever runs it again
    let run = site.in_job(&["apply", "--comment"], &job).expect(0);
    run.says("no comment: this commit has its result already");
    assert_eq!(comment(&site, number), again);
}

#[test]
fn without_copies_the_comment_has_the_key_before_it_is_usable_and_the_next_run_says_so() {
    let site = Site::fake();
    site.gitea().publish();
    let (number, job) = merged(&site, &one_key());
    site.checkout(&site.repo().tip("main"));
    let hook = |netbird: &fakes::NetBird, pid: Pid| {
        netbird.before("PUT", "/setup-keys/", move |_| pid.signal("KILL"));
        netbird.fault(Fault::on("PUT", "/setup-keys/").then(Effect::CutBefore));
    };
    let command = site.job_command(&["apply", "--comment"], &job);
    assert_eq!(site.bench.start_command(command, hook).wait().code, 128 + 9);
    site.bench.netbird().clear_faults();
    let secret = site.bench.unseal("k");
    assert_eq!(
        secrets_in(&comment(&site, number)),
        std::slice::from_ref(&secret)
    );
    let run = site.in_job(&["apply", "--comment"], &job).expect(0);
    run.shows("Its sealed secret is in the log, the artifact or the comment of that run");
    assert_eq!(
        secrets_in(&comment(&site, number)),
        std::slice::from_ref(&secret)
    );
    site.bench.server().enroll(&secret, "machine").unwrap();
}
