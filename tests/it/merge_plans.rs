//! The plan of a pull request is about the merge, not about the branch: with real git, as a job checks it out.

use serde_json::Value;

use crate::run::{Job, Pull, Run, Site, git};

/// A text with one line an entry, so that git can merge.
fn file(groups: &[&str]) -> String {
    let lines: Vec<String> = groups
        .iter()
        .map(|name| format!("    \"{name}\": {{}}"))
        .collect();
    format!("{{\n  \"groups\": {{\n{}\n  }}\n}}\n", lines.join(",\n"))
}

/// A site whose branch `change` began when `main` had `start`.
fn branched(start: &str, change: &str) -> (Site, u64) {
    let site = Site::fake();
    site.repo()
        .push("main", "netbird.json", start.as_bytes(), "start");
    site.repo()
        .push("change", "netbird.json", change.as_bytes(), "a change");
    let number = site.repo().open_pr("change", "main");
    (site, number)
}

fn job(site: &Site, number: u64) -> Job {
    let (head, base) = (site.repo().tip("change"), site.repo().tip("main"));
    Job::pull_request(
        site,
        &Pull {
            number,
            head: &head,
            base: &base,
        },
    )
}

/// `plan --comment --format json` on a checkout of the branch.
fn plan(site: &Site, number: u64) -> Run {
    site.checkout(&site.repo().tip("change"));
    site.in_job(
        &["plan", "--comment", "--format", "json"],
        &job(site, number),
    )
}

fn notices(run: &Run) -> String {
    run.json()["notices"].to_string()
}

#[test]
fn what_main_got_meanwhile_is_part_of_the_plan() {
    let start = ["a", "b", "c", "d", "e"];
    let (site, number) = branched(&file(&start), &file(&["a", "b", "c", "d", "e", "mine"]));
    let theirs = file(&["theirs", "a", "b", "c", "d", "e"]);
    site.repo()
        .push("main", "netbird.json", theirs.as_bytes(), "meanwhile");
    site.repo().push("main", "other.txt", b"x", "more");
    let run = plan(&site, number).expect(0);
    let names: Vec<String> = run.operations();
    let wanted =
        ["a", "b", "c", "d", "e", "mine", "theirs"].map(|name| format!("create_group {name} null"));
    let plain = |text: &String| {
        text.replace(" planned", " null")
            .replace(" pending", " null")
    };
    assert_eq!(names.iter().map(plain).collect::<Vec<_>>(), wanted);
    assert!(
        notices(&run).contains("the branch is 2 commits behind its base"),
        "{}",
        notices(&run)
    );
    let comments = site.repo().comments(number);
    assert!(
        comments[0]["body"]
            .as_str()
            .unwrap()
            .contains("2 commits behind")
    );
    // the checkout is as it was
    let dir = site.bench.path("");
    assert_eq!(git(&dir, &["status", "--porcelain", "netbird.json"]), "");
}

#[test]
fn what_main_applied_meanwhile_is_no_deletion_of_the_branch() {
    let start = ["a", "b", "c", "d", "e"];
    let (site, number) = branched(&file(&start), &file(&["a", "b", "c", "d", "e", "mine"]));
    let theirs = file(&["theirs", "a", "b", "c", "d", "e"]);
    let commit = site
        .repo()
        .push("main", "netbird.json", theirs.as_bytes(), "meanwhile");
    site.checkout(&commit);
    site.in_job(&["apply"], &Job::push(&site, &commit))
        .expect(0);
    let run = plan(&site, number).expect(0);
    assert_eq!(run.operations().len(), 1, "{:?}", run.operations());
    assert!(run.operations()[0].starts_with("create_group mine "));
}

#[test]
fn a_removal_is_one_only_where_the_merge_removes() {
    // the branch removes `b`, which the base has had applied
    let start = ["a", "b", "c"];
    let (site, number) = branched(&file(&start), &file(&["a", "c"]));
    let commit = site.repo().tip("main");
    site.checkout(&commit);
    site.in_job(&["apply"], &Job::push(&site, &commit))
        .expect(0);
    let run = plan(&site, number).expect(0);
    let operations = run.operations();
    assert_eq!(operations.len(), 1, "{operations:?}");
    assert!(
        operations[0].starts_with("delete_group b "),
        "{operations:?}"
    );
}

#[test]
fn a_conflict_is_said_and_no_plan_is_made() {
    let (site, number) = branched(&file(&["a"]), &file(&["mine"]));
    let base = site.repo().push(
        "main",
        "netbird.json",
        file(&["theirs"]).as_bytes(),
        "meanwhile",
    );
    let run = plan(&site, number).expect(1);
    let message = run.json()["error"]["message"].as_str().unwrap().to_owned();
    assert!(
        message.contains("conflicts with the base branch"),
        "{message}"
    );
    let comments = site.repo().comments(number);
    let body = comments[0]["body"].as_str().unwrap();
    assert!(body.starts_with("<!-- netbird-gitops plan default -->\n"));
    assert!(body.contains("conflicts with the base branch"), "{body}");
    // resolved: the same comment has the plan
    site.checkout(&site.repo().tip("change"));
    let dir = site.bench.path("");
    git(&dir, &["merge", "-q", "-s", "ours", "--no-edit", &base]);
    let push = format!("HEAD:refs/heads/{}", "change");
    git(
        &dir,
        &[
            "push",
            "-q",
            site.gitea().git_dir().to_str().unwrap(),
            &push,
        ],
    );
    plan(&site, number).expect(0);
    let comments = site.repo().comments(number);
    assert_eq!(comments.len(), 1);
    assert!(
        comments[0]["body"]
            .as_str()
            .unwrap()
            .contains("1 to create")
    );
}

#[test]
fn a_conflict_elsewhere_is_not_looked_for() {
    let (site, number) = branched(&file(&["a"]), &file(&["a", "mine"]));
    site.repo().push("change", "README.md", b"mine\n", "text");
    site.repo().push("main", "README.md", b"theirs\n", "text");
    let run = plan(&site, number).expect(0);
    assert_eq!(run.operations().len(), 2, "{:?}", run.operations());
    assert!(!notices(&run).contains("README.md"), "{}", notices(&run));
}

#[test]
fn a_shallow_checkout_has_a_plan_of_the_branch_that_says_fetch_depth() {
    let (site, number) = branched(&file(&["a"]), &file(&["a", "mine"]));
    let dir = site.bench.path("");
    git(&dir, &["init", "-q"]);
    let source = format!("file://{}", site.gitea().git_dir().display());
    git(&dir, &["fetch", "-q", "--depth", "1", &source, "change"]);
    git(&dir, &["checkout", "-q", "--detach", "FETCH_HEAD"]);
    let run = site
        .in_job(&["plan", "--comment"], &job(&site, number))
        .expect(0);
    run.shows("fetch-depth: 0");
    let comments = site.repo().comments(number);
    assert!(
        comments[0]["body"]
            .as_str()
            .unwrap()
            .contains("fetch-depth: 0")
    );
}

#[test]
fn a_base_that_was_not_fetched_is_said() {
    let (site, number) = branched(&file(&["a"]), &file(&["a", "mine"]));
    // the whole history of the branch, and nothing else; the base moved since
    let dir = site.bench.path("");
    git(&dir, &["init", "-q"]);
    git(
        &dir,
        &[
            "fetch",
            "-q",
            site.gitea().git_dir().to_str().unwrap(),
            "change",
        ],
    );
    git(&dir, &["checkout", "-q", "--detach", "FETCH_HEAD"]);
    site.repo().push("main", "other.txt", b"x", "meanwhile");
    let run = site
        .in_job(&["plan", "--format", "json"], &job(&site, number))
        .expect(0);
    assert!(
        notices(&run)
            .contains("The plan is for the file of this branch, not for the result of the merge."),
        "{}",
        notices(&run)
    );
}

#[test]
fn a_file_that_is_too_large_is_refused_by_its_size() {
    let large = file(&["a"]) + &" ".repeat(10 << 20);
    let (site, number) = branched(&file(&["a"]), &large);
    let run = plan(&site, number).expect(3);
    run.says("netbird.json is larger than 10 MiB in commit");
    let comments = site.repo().comments(number);
    let body = comments[0]["body"].as_str().unwrap();
    assert!(body.contains("larger than 10 MiB"), "{body}");
}

#[test]
fn with_the_bases_checkout_the_head_is_read_as_data() {
    let (site, number) = branched(&file(&["a"]), &file(&["a", "mine"]));
    let base = site.repo().tip("main");
    site.checkout(&base);
    let target = job(&site, number).target(&base);
    let run = site
        .in_job(&["plan", "--comment", "--format", "json"], &target)
        .expect(0);
    assert_eq!(run.operations().len(), 2);
    let comments: Vec<Value> = site.repo().comments(number);
    assert!(comments[0]["body"].as_str().unwrap().contains("mine"));
    // nothing of the head is in the work tree
    let on_disk = std::fs::read_to_string(site.bench.path("netbird.json")).unwrap();
    assert_eq!(on_disk, file(&["a"]));
}

#[test]
fn a_head_that_was_not_fetched_is_an_error_and_never_a_plan_of_the_base() {
    let (site, number) = branched(&file(&["a"]), &file(&["a", "mine"]));
    let dir = site.bench.path("");
    git(&dir, &["init", "-q"]);
    git(
        &dir,
        &[
            "fetch",
            "-q",
            site.gitea().git_dir().to_str().unwrap(),
            "main:refs/remotes/origin/main",
        ],
    );
    git(&dir, &["checkout", "-q", "--detach", "origin/main"]);
    let target = job(&site, number).target(&site.repo().tip("main"));
    let run = site
        .in_job(&["plan", "--comment", "--format", "json"], &target)
        .expect(1);
    run.says("are not in this checkout")
        .says(&format!("git fetch origin +refs/pull/{number}/head"));
    let comments = site.repo().comments(number);
    assert!(
        comments[0]["body"]
            .as_str()
            .unwrap()
            .contains("are not in this checkout")
    );
}
