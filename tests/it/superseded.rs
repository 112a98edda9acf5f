//! A run that a newer one takes the work of is no failure, and its pull request hears of the result all the same.

use serde_json::{Value, json};

use crate::run::{Job, Run, Site};

fn groups(names: &[&str]) -> Value {
    let entries = names.iter().map(|name| ((*name).to_owned(), json!({})));
    json!({ "groups": entries.collect::<serde_json::Map<_, _>>() })
}

/// A pull request that was merged: its number and the merge.
fn merged(site: &Site, branch: &str, path: &str, text: &str) -> (u64, String) {
    site.repo().push(branch, path, text.as_bytes(), branch);
    let number = site.repo().open_pr(branch, "main");
    let merge = site.repo().merge(number);
    (number, merge)
}

fn change(site: &Site, branch: &str, names: &[&str]) -> (u64, String) {
    merged(site, branch, "netbird.json", &site.text(groups(names)))
}

/// `apply --comment` in the job of a push, on a checkout of its commit.
fn apply(site: &Site, commit: &str, run: i64, args: &[&str]) -> Run {
    site.checkout(commit);
    let run = run.to_string();
    let job = Job::push(site, commit)
        .with("GITHUB_RUN_ID", &run)
        .with("GITEA_RUN_ID", &run);
    site.in_job(&[&["apply", "--comment"], args].concat(), &job)
}

fn bodies(site: &Site, number: u64) -> Vec<String> {
    let comments = site.repo().comments(number);
    let body = |comment: &Value| comment["body"].as_str().unwrap().to_owned();
    comments.iter().map(body).collect()
}

#[test]
fn two_merges_in_a_row_are_one_apply_and_two_results() {
    let site = Site::fake();
    let (first, one) = change(&site, "one", &["a"]);
    let (second, two) = change(&site, "two", &["a", "b"]);
    let runs = [(&one, "in_progress"), (&two, "queued")]
        .map(|(commit, state)| site.gitea().run("apply.yml", "main", commit, state));
    let run = apply(&site, &one, runs[0], &["--format", "json"]).expect(0);
    assert_eq!(run.json()["status"], "superseded");
    assert_eq!(run.json()["superseded_by"], two[..10]);
    assert_eq!(run.json()["summary"]["created"], 0);
    site.bench.assert_writes(&[]);
    let said = format!(
        "### NetBird apply: superseded by `{}`, which applies it",
        &two[..10]
    );
    assert!(
        bodies(&site, first)[0].contains(&said),
        "{:?}",
        bodies(&site, first)
    );
    // the other one applies both, and says so on both
    apply(&site, &two, runs[1], &[])
        .expect(0)
        .shows("2 created");
    for number in [first, second] {
        let bodies = bodies(&site, number);
        assert_eq!(bodies.len(), 1, "{bodies:?}");
        assert!(bodies[0].contains("NetBird apply: 2 created"), "{bodies:?}");
    }
    // a job that is started again changes nothing that was said
    site.bench.delete("/groups", "a");
    let run = apply(&site, &one, runs[0], &[]).expect(0);
    run.shows("superseded by")
        .says("no comment: this commit has its result already");
    assert!(bodies(&site, first)[0].contains("NetBird apply: 2 created"));
}

#[test]
fn found_out_right_before_the_first_write_too() {
    let site = Site::fake();
    site.bench.group("g");
    let key = json!({ "groups": { "g": {} },
        "setup_keys": { "k": { "type": "one-off", "expires_in": 86400, "auto_groups": ["g"] } } });
    let (number, one) = merged(&site, "one", "netbird.json", &site.text(key));
    let id = site.gitea().run("apply.yml", "main", &one, "in_progress");
    let contents = site.gitea().path("/contents/netbird.json");
    // the first reading of the branch is the old file; then the next one is merged, and its run waits
    site.gitea().after("GET", &contents, |gitea| {
        let tip = gitea.push("main", "netbird.json", "{\"groups\": {}}", "newer");
        gitea.run("apply.yml", "main", &tip, "queued");
    });
    site.bench.server().clear_requests();
    apply(&site, &one, id, &[]).expect(0).shows("superseded by");
    site.bench.assert_writes(&[]);
    assert!(bodies(&site, number)[0].contains("superseded by"));
}

#[test]
fn between_its_writes_it_is_green_and_names_what_it_made() {
    let site = Site::fake();
    let file = json!({ "groups": { "g": {} },
        "setup_keys": { "k": { "type": "one-off", "expires_in": 86400, "auto_groups": ["g"] } } });
    let (number, one) = merged(&site, "one", "netbird.json", &site.text(file));
    let id = site.gitea().run("apply.yml", "main", &one, "in_progress");
    let gitea = site.gitea().clone();
    site.bench.netbird().after("POST", "/groups", move |_| {
        let tip = gitea.push("main", "netbird.json", "{\"groups\": {\"g\": {}}}", "newer");
        gitea.run("apply.yml", "main", &tip, "queued");
    });
    let json = apply(&site, &one, id, &["--format", "json"])
        .expect(0)
        .json();
    assert_eq!(json["status"], "superseded");
    assert_eq!(json["operations"][0]["status"], "success");
    assert_eq!(json["operations"][1]["status"], "skipped");
    let body = &bodies(&site, number)[0];
    assert!(
        body.contains("NetBird apply **superseded**: 1 created, 1 not tried")
            && body.contains("applies what is left, and keeps what this run did.")
            && body.contains("| group | `g` | done |"),
        "{body}"
    );
    // the newer run's result takes its place, and says what this one did, and where that stands
    let two = site.repo().tip("main");
    let newer = site.gitea().run("apply.yml", "main", &two, "in_progress");
    apply(&site, &two, newer, &[]).expect(0);
    let bodies = bodies(&site, number);
    assert_eq!(bodies.len(), 1, "{bodies:?}");
    let before = format!(
        "Before this run: **superseded**: 1 created, 1 not tried ([its page](http://127.0.0.1:3000/acme/gitops/actions/runs/{id}))"
    );
    assert!(bodies[0].contains(&before), "{}", bodies[0]);
}

#[test]
fn with_a_failure_it_is_red_all_the_same() {
    let site = Site::fake();
    let file = json!({ "groups": { "f": {}, "g": {} },
        "setup_keys": { "k": { "type": "one-off", "expires_in": 86400, "auto_groups": ["g"] } } });
    let (_, one) = merged(&site, "one", "netbird.json", &site.text(file));
    let id = site.gitea().run("apply.yml", "main", &one, "in_progress");
    let refusal = fakes::Effect::Status(422, json!({ "message": "no", "code": 422 }));
    let first = fakes::Fault::on("POST", "/groups").nth(1);
    site.bench.netbird().fault(first.then(refusal));
    let gitea = site.gitea().clone();
    site.bench.netbird().after("POST", "/groups", move |_| {
        let tip = gitea.push("main", "netbird.json", "{\"groups\": {\"g\": {}}}", "newer");
        gitea.run("apply.yml", "main", &tip, "queued");
    });
    let run = apply(&site, &one, id, &["--keep-going"]).expect(4);
    assert!(!run.stdout.contains("superseded"), "{}", run.stdout);
}

#[test]
fn what_somebody_starts_by_hand_leaves_the_result_of_the_pull_request() {
    let site = Site::fake();
    let (number, one) = change(&site, "one", &["a"]);
    apply(&site, &one, 1, &[]).expect(0);
    let before = bodies(&site, number);
    site.bench.delete("/groups", "a");
    let job = Job::push(&site, &one).by_hand(&site);
    site.in_job(&["apply", "--comment"], &job)
        .expect(0)
        .shows("1 created")
        .says("no comment: this commit has its result already");
    assert_eq!(bodies(&site, number), before);
}

#[test]
fn a_run_that_the_server_makes_a_moment_after_the_push_is_seen() {
    let site = Site::fake();
    let (_, one) = change(&site, "one", &["a"]);
    let (_, two) = change(&site, "two", &["a", "b"]);
    let own = site.gitea().run("apply.yml", "main", &one, "in_progress");
    let runs = site.gitea().path("/actions/runs");
    let newer = two.clone();
    site.gitea().after("GET", &runs, move |gitea| {
        gitea.run("apply.yml", "main", &newer, "queued");
    });
    let run = apply(&site, &one, own, &[]).expect(0);
    run.shows(&format!("superseded by {}", &two[..10]));
    site.bench.assert_writes(&[]);
}

#[test]
fn where_no_newer_run_is_seen_nobody_applies_it() {
    let site = Site::fake();
    let (number, one) = change(&site, "one", &["a"]);
    let (_, two) = change(&site, "two", &["a", "b"]);
    let own = site.gitea().run("apply.yml", "main", &one, "in_progress");
    let nobody = format!("and no run applies {} yet; nothing was changed", &two[..10]);
    let refused = |site: &Site| {
        let run = apply(site, &one, own, &[]).expect(3);
        run.says("main has another netbird.json by now, so this apply is stale")
            .says(&nobody)
            .says("workflow_dispatch");
    };
    refused(&site);
    assert!(bodies(&site, number)[0].contains("NetBird apply **refused**"));
    // runs that do not count: failed, cancelled, of another workflow, of another branch, of a commit with another file
    site.gitea().run("apply.yml", "main", &two, "failure");
    site.gitea().run("apply.yml", "main", &two, "cancelled");
    site.gitea().run("plan.yml", "main", &two, "success");
    site.gitea().run("apply.yml", "feature", &two, "success");
    site.gitea().run("apply.yml", "main", &one, "success");
    refused(&site);
    // a run that is not to be seen itself
    let run = apply(&site, &one, 12345, &[]).expect(3);
    run.says(&nobody);
    // a Gitea that has no such list
    let path = site.gitea().path("/actions/runs");
    let gone = fakes::Effect::Status(404, json!({ "message": "not found" }));
    site.gitea()
        .fault(fakes::Fault::on("GET", &path).always().then(gone));
    refused(&site);
    site.gitea().clear_faults();
    site.bench.assert_writes(&[]);
    // one that succeeded does count, and any of a commit with the same file
    let flags = site
        .repo()
        .push("main", "other.txt", b"x", "no change of the file");
    site.gitea().run("apply.yml", "main", &two, "success");
    let run = apply(&site, &one, own, &[]).expect(0);
    run.shows(&format!("superseded by {}", &two[..10]));
    assert_ne!(flags, two);
}

#[test]
fn a_branch_that_does_not_follow_is_stale_and_nothing_else() {
    let site = Site::fake();
    let (_, one) = change(&site, "one", &["a"]);
    // main was set back and went another way
    site.repo().push(
        "other",
        "netbird.json",
        b"{\"groups\": {\"z\": {}}}",
        "other",
    );
    let run = site.gitea().run("apply.yml", "main", &one, "in_progress");
    site.checkout(&one);
    let job = Job::push(&site, &one)
        .with("GITHUB_RUN_ID", &run.to_string())
        .with("GITHUB_REF", "refs/heads/unrelated")
        .with("GITEA_BRANCH", "unrelated");
    site.gitea()
        .change("unrelated")
        .delete("netbird.json")
        .push();
    let tip = site.gitea().push(
        "unrelated",
        "netbird.json",
        "{\"groups\": {\"q\": {}}}",
        "x",
    );
    site.gitea().run("apply.yml", "unrelated", &tip, "queued");
    // it began at main: a descendant; main seen from there is not
    let run = site.in_job(&["apply"], &job).expect(3);
    run.says("unrelated has another netbird.json by now");
    let back = Job::push(&site, &tip)
        .with("GITHUB_RUN_ID", &run_id(&site, &tip))
        .with("GITEA_BRANCH", "main");
    // a newer run of main is no successor of what main never had
    site.gitea().run("apply.yml", "main", &one, "queued");
    site.checkout(&tip);
    let run = site.in_job(&["apply"], &back).expect(3);
    let run = run
        .says("main has another netbird.json by now")
        .says("push it first");
    assert!(!run.stderr.contains("no run applies"), "{}", run.stderr);
    site.bench.assert_writes(&[]);
}

fn run_id(site: &Site, commit: &str) -> String {
    site.gitea()
        .run("apply.yml", "main", commit, "in_progress")
        .to_string()
}

#[test]
fn pull_requests_whose_run_got_lost_hear_of_the_result() {
    let site = Site::fake();
    let (before, zero) = change(&site, "zero", &["z"]);
    apply(&site, &zero, 1, &[]).expect(0);
    let (older, _) = change(&site, "older", &["z", "o"]);
    let answered = bodies(&site, before);
    // cancelled while it waited; and one that has nothing to do with the file
    let (lost, _) = change(&site, "lost", &["z", "a"]);
    let (readme, _) = merged(&site, "readme", "README.md", "x");
    let (last, tip) = change(&site, "last", &["z", "a", "b"]);
    apply(&site, &tip, 2, &[]).expect(0);
    for number in [older, lost, last] {
        assert!(
            bodies(&site, number)[0].contains("NetBird apply: 2 created"),
            "#{number}"
        );
    }
    assert!(bodies(&site, readme).is_empty());
    assert_eq!(bodies(&site, before), answered);
    // what a stranger planted there is no result
    let (planted, _) = change(&site, "planted", &["z", "a", "b", "c"]);
    let number = i64::try_from(planted).unwrap();
    let trap = "<!-- netbird-gitops apply default -->\n### NetBird apply: 1 created";
    site.gitea().comment("alice", number, trap);
    let (_, tip) = change(&site, "after", &["z", "a", "b", "c", "d"]);
    apply(&site, &tip, 3, &[]).expect(0);
    let found = bodies(&site, planted);
    assert_eq!(found.len(), 2);
    assert_eq!(found[0], trap);
    assert!(found[1].contains("NetBird apply: 2 created"));
}

/// A commit without a pull request posts nothing itself, so that who we are is not known yet when earlier comments are read.
#[test]
fn a_planted_marker_keeps_no_result_back_where_the_branch_was_pushed_to() {
    let all = ["write:repository", "write:issue", "read:user"];
    for scopes in [&all[..], &all[..2]] {
        let site = Site::fake();
        let (planted, _) = change(&site, "planted", &["a"]);
        let trap = "<!-- netbird-gitops apply default -->\n### NetBird apply: 1 created";
        let number = i64::try_from(planted).unwrap();
        site.gitea().comment("alice", number, trap);
        let text = site.text(groups(&["a", "b"]));
        let tip = site
            .repo()
            .push("main", "netbird.json", text.as_bytes(), "direct");
        site.checkout(&tip);
        let token = site.gitea().token_with(scopes);
        let job = Job::push(&site, &tip).with("GITEA_TOKEN", &token);
        site.in_job(&["apply", "--comment"], &job).expect(0);
        let found = bodies(&site, planted);
        assert_eq!(found.len(), 2, "{scopes:?}");
        assert_eq!(found[0], trap);
        assert!(found[1].contains("NetBird apply: 2 created"));
        // it stands for the next run
        let next = site
            .repo()
            .push("main", "README.md", b"x", "nothing of the file");
        site.checkout(&next);
        let job = Job::push(&site, &next).with("GITEA_TOKEN", &token);
        site.in_job(&["apply", "--comment"], &job).expect(0);
        assert_eq!(bodies(&site, planted), found, "{scopes:?}");
    }
}

#[test]
fn an_old_job_that_has_nothing_to_do_says_nothing_of_its_old_file() {
    let site = Site::fake();
    let (first, one) = change(&site, "one", &["a"]);
    let runs = site.gitea().run("apply.yml", "main", &one, "in_progress");
    apply(&site, &one, runs, &[]).expect(0);
    let (_, two) = change(&site, "two", &["a", "b"]);
    let newer = site.gitea().run("apply.yml", "main", &two, "success");
    apply(&site, &two, newer, &[]).expect(0);
    let before = bodies(&site, first);
    assert!(before[0].contains("NetBird apply: 1 created"));
    let run = apply(&site, &one, runs, &[]).expect(0);
    run.shows("superseded by")
        .says("no comment: this commit has its result already");
    assert_eq!(bodies(&site, first), before);
}

#[test]
fn a_refusal_is_no_result_once_a_later_run_did_the_work() {
    let site = Site::fake();
    let (first, one) = change(&site, "one", &["a"]);
    site.checkout(&one);
    let job = Job::push(&site, &one).with("NETBIRD_GITOPS_HALT", "a change of the office");
    site.in_job(&["apply", "--comment"], &job).expect(3);
    assert!(bodies(&site, first)[0].contains("**refused**"));
    let (_, two) = change(&site, "two", &["a", "b"]);
    apply(&site, &two, 7, &[]).expect(0);
    let after = bodies(&site, first);
    assert!(
        after.len() == 1 && after[0].contains("NetBird apply: 2 created"),
        "{after:?}"
    );
}
