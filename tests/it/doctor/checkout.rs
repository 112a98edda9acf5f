//! The checkout and the job.

use std::fs;

use super::Setup;
use crate::run::{Job, Pull, git};

#[test]
fn workflows_of_another_version_are_told() {
    let setup = Setup::new();
    setup.replace(".gitea/workflows/plan.yml", "ubuntu-latest", "debian");
    let adapted = setup.found(&[], &[]);
    adapted
        .failed(&[])
        .is("workflows", Some(true), "with settings of yours: plan.yml");
    setup.replace(
        ".gitea/workflows/apply.yml",
        "fetch-depth: 0",
        "fetch-depth: 1",
    );
    setup.found(&[], &[]).only("workflows", ": apply.yml", &[]);
    fs::remove_dir_all(setup.site.bench.path(".gitea")).unwrap();
    setup
        .found(&[], &[])
        .failed(&[])
        .is("workflows", None, "no workflows here");
}

#[test]
fn a_shallow_checkout_proves_nothing() {
    let setup = Setup::new();
    let dir = setup.site.bench.path("");
    let head = git(&dir, &["rev-parse", "HEAD"]);
    fs::write(dir.join(".git/shallow"), format!("{head}\n")).unwrap();
    setup
        .found(&[], &[])
        .only("git_history", "fetch-depth: 0", &[]);
}

#[test]
fn without_a_checkout_nothing_is_deleted_which_an_apply_is_told() {
    let setup = Setup::new();
    fs::remove_dir_all(setup.site.bench.path(".git")).unwrap();
    setup
        .found(&[], &[])
        .failed(&[])
        .is("git_history", None, "no git checkout");
    setup
        .found(&["--for", "apply"], &[])
        .only("git_history", "fetch-depth: 0", &[]);
    let no_git = [("PATH", "/nowhere")];
    setup
        .found(&["--for", "apply"], &no_git)
        .only("git_history", "install git", &[]);
}

#[test]
fn a_job_is_told_what_it_is_and_where_it_must_not_apply() {
    let setup = Setup::new();
    let tip = setup.site.repo().tip("main");
    let push = || Job::push(&setup.site, &tip);
    let found = setup.found_in_job(&[], &push());
    found.failed(&[]).is(
        "job",
        Some(true),
        "a job of Gitea's runner, after a push, for main; checked for apply",
    );
    found.is("terminal", Some(true), "CI is set");
    let other = push()
        .with("GITHUB_REF", "refs/heads/feature")
        .with("GITEA_BRANCH", "main");
    setup
        .found_in_job(&[], &other)
        .only("job", "for the branch main only", &[]);
    let lost = push().with("GITHUB_EVENT_PATH", "/nowhere/event.json");
    setup
        .found_in_job(&[], &lost)
        .only("job", "the event file cannot be read", &[]);
    // a log in which nothing is made harmless
    setup
        .found_in_job(&[], &push().with("CI", ""))
        .only("terminal", "CI is not set", &[]);
}

#[test]
fn an_apply_in_a_pull_requests_job_is_told() {
    let setup = Setup::new();
    let head = setup
        .site
        .gitea()
        .push("feature", "netbird.json", "{\"groups\": {}}\n", "m\n");
    let base = setup.site.repo().tip("main");
    let number = setup.site.repo().open_pr("feature", "main");
    let job = Job::pull_request(
        &setup.site,
        &Pull {
            number,
            head: &head,
            base: &base,
        },
    );
    let found = setup.found_in_job(&["--for", "apply"], &job);
    found.only("job", "apply refuses to run", &[]);
    setup.found_in_job(&[], &job).is(
        "job",
        Some(true),
        "of a pull request, for main; checked for plan",
    );
}
