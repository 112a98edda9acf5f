//! Jobs of runners: forks without secrets, event files that tell little, what a runner reads in a log.

use fakes::{Effect, Fault};
use serde_json::json;

use super::Proposal;
use crate::run::{Job, Site};

#[test]
fn the_jobs_own_token_comments_as_minus_two() {
    let proposal = Proposal::new();
    let token = proposal
        .site
        .gitea()
        .job_token_with(&[("contents", "read"), ("pull-requests", "write")]);
    for _ in 0..2 {
        let job = proposal.job().with("GITEA_TOKEN", &token);
        proposal.site.in_job(&["plan", "--comment"], &job).expect(0);
    }
    let comments = proposal.site.repo().comments(proposal.number);
    assert_eq!(comments.len(), 1);
    assert_eq!(comments[0]["user"]["id"], -2);
}

#[test]
fn a_forks_job_has_no_secrets() {
    let proposal = Proposal::new();
    let pull = proposal.pull();
    let text = "there is no NetBird token in this pull request's job";
    let fork = Job::fork(&proposal.site, &pull).with("GITEA_TOKEN", "");
    let run = proposal
        .site
        .in_job(&["plan", "--comment"], &fork)
        .expect(3);
    run.says(text)
        .says("a pull request from a fork has no secrets")
        .says("cannot comment: Gitea is not configured (GITEA_TOKEN not set)");
    // the job's token is there, and may not comment: said, and no failure of its own
    for job in [
        Job::fork(&proposal.site, &pull),
        Job::deleted_fork(&proposal.site, &pull),
    ] {
        let refused = Fault::on("*", &proposal.path("")).always();
        let body = json!({ "message": "not found" });
        proposal
            .site
            .gitea()
            .fault(refused.then(Effect::Status(404, body)));
        let run = proposal.site.in_job(&["plan", "--comment"], &job).expect(3);
        let run = run.says(text).says("cannot comment: ");
        // the cause first, and no doubt about a name that is right
        let stderr = &run.stderr;
        assert!(
            stderr.find(text) < stderr.find("cannot comment: "),
            "{stderr}"
        );
        assert!(
            stderr.contains("plan-forks.yml takes the place of plan.yml"),
            "{stderr}"
        );
        assert!(!stderr.contains("is the name right"), "{stderr}");
        proposal.site.gitea().clear_faults();
    }
    assert!(proposal.site.bench.netbird().requests().is_empty());
    assert!(proposal.bodies().is_empty());
    // where it may, the pull request says it
    let job = Job::fork(&proposal.site, &pull);
    proposal.site.in_job(&["plan", "--comment"], &job).expect(3);
    assert!(
        proposal.bodies()[0].contains(text),
        "{}",
        proposal.bodies()[0]
    );
    // a plan that nobody sees is no green run
    let job = Job::fork(&proposal.site, &pull)
        .with("NETBIRD_API_TOKEN", &proposal.site.bench.server().token());
    let fault = Fault::on("*", &proposal.path(""))
        .always()
        .then(Effect::Empty(403));
    proposal.site.gitea().fault(fault);
    proposal
        .site
        .in_job(&["plan", "--comment"], &job)
        .expect(1)
        .shows("1 to create")
        .says("what it would say is in this log");
}

#[test]
fn a_job_of_the_same_repository_without_a_token_is_told_which_one_is_missing() {
    let proposal = Proposal::new();
    let job = Job::pull_request(&proposal.site, &proposal.pull()).with("NETBIRD_API_TOKEN", "");
    for command in ["plan", "export"] {
        let run = proposal.site.in_job(&[command], &job).expect(3);
        let run = run
            .says("there is no NetBird token in this pull request's job")
            .says("from the secret NETBIRD_PLAN_TOKEN");
        assert!(!run.stderr.contains("fork"), "{}", run.stderr);
    }
}

/// The job's own commit is the base's there.
#[test]
fn the_foot_of_a_forks_plan_has_the_commit_of_its_head() {
    let proposal = Proposal::new();
    proposal.site.checkout(&proposal.base);
    let job = Job::fork(&proposal.site, &proposal.pull())
        .target(&proposal.base)
        .with("NETBIRD_API_TOKEN", &proposal.site.bench.server().token());
    proposal.site.in_job(&["plan", "--comment"], &job).expect(0);
    let body = &proposal.bodies()[0];
    assert!(
        body.contains(&format!("commit `{}`", &proposal.head[..10])),
        "{body}"
    );
    assert!(!body.contains(&proposal.base[..10]), "{body}");
}

#[test]
fn a_refused_comment_of_an_own_pull_request_is_a_failure_that_hides_no_plan() {
    let proposal = Proposal::new();
    let fault = Fault::on("*", &proposal.path(""))
        .always()
        .then(Effect::Empty(403));
    proposal.site.gitea().fault(fault);
    let run = proposal.plan(&[]).expect(1);
    run.shows("1 to create").says("cannot comment: ");
}

#[test]
fn event_files_that_tell_little() {
    let proposal = Proposal::new();
    // the number is in the ref, too
    for text in [
        "null",
        "",
        "{}",
        "{\"pull_request\": null}",
        "{\"number\": null, \"pull_request\": {\"head\": null}}",
    ] {
        let job = proposal.job();
        job.event(&proposal.site, text);
        proposal.site.in_job(&["plan", "--comment"], &job).expect(0);
    }
    assert_eq!(proposal.bodies().len(), 1);
    // a job of no pull request
    let job = Job::push(&proposal.site, &proposal.base);
    let run = proposal.site.in_job(&["plan", "--comment"], &job).expect(1);
    run.says("this job is not of a pull request")
        .shows("1 to create");
    // a file that is none
    let job = proposal.job().target(&proposal.base);
    job.event(&proposal.site, "{");
    let run = proposal.site.in_job(&["plan", "--comment"], &job).expect(1);
    run.says("this job is not of a pull request: the event file: no JSON at 1:1");
}

#[test]
fn problems_of_the_file_are_annotations_in_a_job() {
    let proposal = Proposal::new();
    proposal
        .site
        .bench
        .text("{\n  \"groups\": {\n    \"new\": { \"peer\": [] }\n  }\n}\n");
    let job = proposal.job();
    for args in [
        &["plan"][..],
        &["plan", "--comment"],
        &["sync-events", "--dry-run"],
    ] {
        let run = proposal.site.in_job(args, &job).expect(1);
        let lines: Vec<&str> = run
            .stderr
            .lines()
            .filter(|line| line.starts_with("::"))
            .collect();
        assert_eq!(lines.len(), 1, "{args:?}: {}", run.stderr);
        assert!(
            lines[0].starts_with("::error file=netbird.json,line=3,col="),
            "{}",
            lines[0]
        );
    }
    // and nowhere else
    let run = proposal.site.run(&["plan"]).expect(1);
    assert!(!run.stderr.contains("::error"), "{}", run.stderr);
}

#[test]
fn no_name_starts_a_line_that_a_runner_obeys() {
    let names = [
        "::add-mask::e",
        "##[group]x",
        "::error file=x::y",
        "::stop-commands::t",
    ];
    let mut file = json!({ "groups": {}, "policies": {} });
    for name in names {
        file["groups"][name] = json!({});
        file["policies"][name] = json!({ "description": "d\n::error::d\r##[error]d", "sources": [name], "destinations": [name] });
    }
    let proposal = Proposal::of(Site::fake(), file);
    proposal.site.bench.group("::warning::left alone");
    proposal.site.bench.peer("::set-env name=PATH::x");
    let push = Job::push(&proposal.site, &proposal.head)
        .with("GITHUB_REF", "refs/heads/change")
        .with("GITEA_BRANCH", "change");
    for (args, job) in [
        (&["plan", "--log-format", "text", "-vv"][..], proposal.job()),
        (&["plan", "--format", "markdown"], proposal.job()),
        (&["plan", "--format", "json"], proposal.job()),
        (&["apply", "--log-format", "text"], push),
    ] {
        let run = proposal.site.in_job(args, &job).expect(0);
        for line in run.stdout.lines().chain(run.stderr.lines()) {
            assert!(
                !line.starts_with("::") && !line.starts_with("##["),
                "{args:?}: {line}"
            );
        }
    }
}

#[test]
fn a_forgejo_runners_job() {
    let proposal = Proposal::of(Site::forgejo(), json!({ "groups": { "new": {} } }));
    let job = proposal.job().of_forgejo(&proposal.site);
    proposal.site.in_job(&["plan", "--comment"], &job).expect(0);
    assert!(proposal.bodies()[0].contains("1 to create"));
    let run = proposal.site.in_job(&["apply"], &job).expect(3);
    run.says("apply does not run in a pull request's job");
}
