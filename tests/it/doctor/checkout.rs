//! The checkout and the job.

use std::fs;

use super::Setup;
use crate::run::{Job, Pull, git};

/// `init` judges by the same list: what is no fault here is no difference there.
#[test]
fn what_people_add_to_a_workflow_is_no_fault_and_a_protected_line_that_is_lost_is() {
    let setup = Setup::new();
    let plan = ".gitea/workflows/plan.yml";
    setup.replace(plan, "ubuntu-latest", "debian");
    setup.replace(plan, "timeout-minutes: 30", "timeout-minutes: 60");
    let step = "      - run: netbird-gitops plan";
    let more = format!("      - run: netbird-gitops doctor\n{step}");
    setup.replace(plan, step, &more);
    let env = "        env:\n          NETBIRD";
    let more = "        env:\n          GITEA_BRANCH: trunk\n          NETBIRD";
    setup.replace(plan, env, more);
    let text = "enrollment.yml, plan.yml";
    setup
        .found(&[], &[])
        .failed(&[])
        .is("workflows", Some(true), text);
    setup
        .site
        .run_with(&["init", "--dry-run"], &[])
        .shows("unchanged    .gitea/workflows/plan.yml");
    let apply = ".gitea/workflows/apply.yml";
    setup.replace(apply, "        continue-on-error: true", "        if: true");
    let note = "apply.yml (1 line differs: netbird-gitops init shows them)";
    setup
        .found(&[], &[])
        .failed(&[])
        .is("workflows", Some(true), note);
    setup
        .site
        .run_with(&["init", "--dry-run"], &[])
        .shows("differs      .gitea/workflows/apply.yml")
        .shows("+        continue-on-error: true");
    setup.replace(apply, "fetch-depth: 0", "fetch-depth: 1");
    let lacks = "apply.yml lacks fetch-depth: 0";
    setup.found(&[], &[]).only("workflows", lacks, &[]);
    // somebody else's workflow of that name is none of ours
    let theirs = "name: plan\non: push\n";
    fs::write(setup.site.bench.path(plan), theirs).unwrap();
    setup.found(&[], &[]).only("workflows", lacks, &[]);
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
        .is("git_history", None, "not a git checkout");
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
        "a job of Gitea's runner, event push, for main; checked what apply needs",
    );
    found.is("terminal", Some(true), "the log is JSON lines");
    let other = push()
        .with("GITHUB_REF", "refs/heads/feature")
        .with("GITEA_BRANCH", "main");
    setup
        .found_in_job(&[], &other)
        .only("job", "only for the branch main", &[]);
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
        "event pull_request, for main; checked what plan needs",
    );
}
