//! One comment a network on a pull request, edited in place.

use std::fs;

use fakes::{Effect, Fault};
use serde_json::{Value, json};

use crate::run::{INVENTORY, Job, Pull, Run, Site};

mod jobs;

/// A site with a pull request that adds the group `new`, checked out without git.
struct Proposal {
    site: Site,
    number: u64,
    head: String,
    base: String,
}

impl Proposal {
    fn new() -> Proposal {
        Proposal::of(Site::fake(), json!({ "groups": { "new": {} } }))
    }

    fn of(site: Site, file: Value) -> Proposal {
        let base = site.repo().tip("main");
        let text = site.text(file);
        let head = site
            .repo()
            .push("change", "netbird.json", text.as_bytes(), "a change");
        site.bench.text(&text);
        let number = site.repo().open_pr("change", "main");
        site.gitea().clear_requests();
        Proposal {
            site,
            number,
            head,
            base,
        }
    }

    fn pull(&self) -> Pull<'_> {
        let Proposal {
            number, head, base, ..
        } = self;
        Pull {
            number: *number,
            head,
            base,
        }
    }

    fn job(&self) -> Job {
        Job::pull_request(&self.site, &self.pull())
    }

    /// `plan --comment ARGS` in the pull request's job.
    fn plan(&self, args: &[&str]) -> Run {
        let args = [&["plan", "--comment"], args].concat();
        self.site.in_job(&args, &self.job())
    }

    /// The bodies of all comments.
    fn bodies(&self) -> Vec<String> {
        let comments = self.site.repo().comments(self.number);
        let body = |comment: &Value| comment["body"].as_str().unwrap().to_owned();
        comments.iter().map(body).collect()
    }

    fn path(&self, rest: &str) -> String {
        self.site.gitea().path(&format!("/issues/{rest}"))
    }

    /// What a person, or the bot, says.
    fn says(&self, login: &str, body: &str) -> i64 {
        let number = i64::try_from(self.number).unwrap();
        self.site.gitea().comment(login, number, body)
    }
}

const MARKER: &str = "<!-- netbird-gitops plan default -->\n";

#[test]
fn a_comment_a_network_edited_in_place() {
    let proposal = Proposal::new();
    proposal.says("alice", "first!");
    proposal.plan(&[]).expect(0).says("comment: http");
    proposal.plan(&["--environment", "prod"]).expect(0);
    proposal.site.bench.group("new");
    proposal.plan(&[]).expect(0);
    proposal.plan(&["--environment", "prod"]).expect(0);
    let bodies = proposal.bodies();
    assert_eq!(bodies.len(), 3, "{bodies:#?}");
    assert!(bodies[1].starts_with(&format!("{MARKER}### NetBird plan: No changes")));
    assert!(bodies[2].starts_with("<!-- netbird-gitops plan prod -->\n"));
    assert!(bodies[2].contains("No changes"), "{}", bodies[2]);
}

#[test]
fn a_second_file_of_the_environment_leaves_the_comment_of_the_first_alone() {
    let proposal = Proposal::new();
    let bench = &proposal.site.bench;
    let [branch, path] = INVENTORY;
    bench.write_inventory(json!({}));
    let inventory = fs::read(bench.path(path)).unwrap();
    let gitea = proposal.site.gitea();
    gitea.push(branch, path, inventory, "an inventory");
    proposal.plan(&[]).expect(0);
    let before = proposal.bodies();
    assert!(before[0].contains("1 to create"));
    // whatever else is wrong with it
    for text in ["{\"groups\": {}}", "{"] {
        fs::write(bench.path("lab.json"), text).unwrap();
        proposal
            .plan(&["-f", "lab.json"])
            .expect(3)
            .says("belongs to netbird.json, but this file is lab.json");
        assert_eq!(proposal.bodies(), before);
    }
}

#[test]
fn the_same_plan_is_not_posted_again() {
    let proposal = Proposal::new();
    proposal.plan(&["--live", "live.json"]).expect(1);
    let before = proposal.bodies();
    proposal.site.gitea().clear_requests();
    proposal.plan(&["--live", "live.json"]).expect(1);
    let requests = proposal.site.gitea().requests();
    assert!(
        requests.iter().all(|request| request.method == "GET"),
        "{requests:?}"
    );
    assert_eq!(proposal.bodies(), before);
}

#[test]
fn a_failing_plan_takes_the_place_of_the_old_one() {
    let proposal = Proposal::new();
    proposal.plan(&[]).expect(0);
    assert!(proposal.bodies()[0].contains("1 to create"));
    // NetBird is down
    let fault = Fault::on("GET", "/groups").always().then(Effect::Html(502));
    proposal.site.bench.netbird().fault(fault);
    proposal.plan(&[]).expect(1);
    let bodies = proposal.bodies();
    assert_eq!(bodies.len(), 1);
    assert!(bodies[0].starts_with(MARKER) && !bodies[0].contains("1 to create"));
    assert!(bodies[0].contains("502"), "{}", bodies[0]);
    proposal.site.bench.netbird().clear_faults();
    // the file is wrong
    proposal
        .site
        .bench
        .text("{\"groups\": {\"new\": {\"peer\": []}}}");
    proposal.plan(&[]).expect(1);
    let bodies = proposal.bodies();
    assert_eq!(bodies.len(), 1);
    assert!(
        bodies[0].contains("did you mean \"peers\"?"),
        "{}",
        bodies[0]
    );
}

#[test]
fn of_two_jobs_that_both_posted_the_lowest_id_stays() {
    let proposal = Proposal::new();
    let number = i64::try_from(proposal.number).unwrap();
    let post = proposal.path(&format!("{number}/comments"));
    proposal.site.gitea().before("POST", &post, move |gitea| {
        gitea.comment(
            "gitops-bot",
            number,
            &format!("{MARKER}the other job's plan"),
        );
    });
    proposal.plan(&[]).expect(0);
    let bodies = proposal.bodies();
    assert_eq!(bodies.len(), 1, "{bodies:?}");
    assert!(
        bodies[0].contains("1 to create"),
        "ours is the younger text: {}",
        bodies[0]
    );
}

#[test]
fn second_comments_of_ours_go() {
    let proposal = Proposal::new();
    for text in ["one", "two", "three"] {
        proposal.says("gitops-bot", &format!("{MARKER}{text}"));
    }
    let kept = proposal.site.repo().comments(proposal.number)[0]["id"].clone();
    proposal.plan(&[]).expect(0);
    let comments = proposal.site.repo().comments(proposal.number);
    assert_eq!(comments.len(), 1);
    assert_eq!(comments[0]["id"], kept);
}

#[test]
fn what_somebody_else_put_behind_our_marker_is_not_ours() {
    let proposal = Proposal::new();
    let trap = format!("{MARKER}### NetBird plan: No changes");
    proposal.says("alice", &trap);
    proposal.says("alice", &format!("I quote:\n{MARKER}"));
    proposal.plan(&[]).expect(0);
    proposal.plan(&[]).expect(0);
    let bodies = proposal.bodies();
    assert_eq!(bodies.len(), 3);
    assert_eq!(bodies[0], trap);
    assert!(bodies[2].contains("1 to create"));
}

/// Before ours, behind it, with other text in the marker's line, of somebody who was deleted, and more than a page of them.
#[test]
fn many_planted_markers_hide_no_comment_of_ours_and_stay() {
    let proposal = Proposal::new();
    let gitea = proposal.site.gitea();
    let all = ["write:repository", "write:issue", "read:user"];
    let plant = |number: usize| {
        for n in 0..number {
            proposal.says(
                "alice",
                &format!("{MARKER}### NetBird plan: No changes {n}"),
            );
            proposal.says("alice", MARKER.trim_end());
            proposal.says("alice", &format!("{} and more", MARKER.trim_end()));
        }
    };
    plant(30);
    for scopes in [&all[..], &all[..2], &all[..]] {
        let job = proposal
            .job()
            .with("GITEA_TOKEN", &gitea.token_with(scopes));
        proposal.site.in_job(&["plan", "--comment"], &job).expect(0);
        plant(30);
    }
    proposal.site.bench.group("new");
    proposal.plan(&[]).expect(0);
    let comments = proposal.site.repo().comments(proposal.number);
    let (ours, theirs): (Vec<&Value>, Vec<&Value>) = comments
        .iter()
        .partition(|comment| comment["user"]["login"] == "gitops-bot");
    assert_eq!((ours.len(), theirs.len()), (1, 360));
    assert!(ours[0]["body"].as_str().unwrap().contains("No changes"));
}

#[test]
fn a_comment_that_may_not_be_edited_is_replaced_by_a_new_one() {
    let proposal = Proposal::new();
    let id = proposal.says("gitops-bot", &format!("{MARKER}old"));
    let fault = Fault::on("PATCH", &proposal.path(&format!("comments/{id}")));
    proposal
        .site
        .gitea()
        .fault(fault.always().then(Effect::Empty(403)));
    proposal.plan(&[]).expect(0);
    let bodies = proposal.bodies();
    assert_eq!(bodies.len(), 2);
    assert!(bodies[1].starts_with(MARKER) && bodies[1].contains("1 to create"));
}

#[test]
fn a_token_that_may_not_say_who_it_is_still_keeps_one_comment() {
    let proposal = Proposal::new();
    let gitea = proposal.site.gitea();
    let token = gitea.token_with(&["write:repository", "write:issue"]);
    let job = proposal.job().with("GITEA_TOKEN", &token);
    proposal.site.in_job(&["plan", "--comment"], &job).expect(0);
    proposal.site.bench.group("new");
    proposal.site.in_job(&["plan", "--comment"], &job).expect(0);
    let bodies = proposal.bodies();
    assert_eq!(bodies.len(), 1);
    assert!(bodies[0].contains("No changes"));
}

#[test]
fn the_budget_is_kept() {
    let groups: serde_json::Map<String, Value> = (0..1500)
        .map(|n| (format!("{n:04}-{}", "long".repeat(12)), json!({})))
        .collect();
    let proposal = Proposal::of(Site::fake(), json!({ "groups": groups }));
    proposal.plan(&[]).expect(0);
    let body = &proposal.bodies()[0];
    let length = body.chars().count();
    assert!(length <= 60_000, "{length}");
    assert!(body.starts_with(&format!("{MARKER}### NetBird plan: 1500 to create")));
}

#[test]
fn apply_answers_on_the_pull_request_that_was_merged() {
    let proposal = Proposal::new();
    proposal.plan(&[]).expect(0);
    let merge = proposal.site.repo().merge(proposal.number);
    let job = Job::push(&proposal.site, &merge);
    for _ in 0..2 {
        proposal
            .site
            .in_job(&["apply", "--comment"], &job)
            .expect(0);
    }
    let bodies = proposal.bodies();
    assert_eq!(bodies.len(), 2, "{bodies:?}");
    assert!(bodies[0].starts_with(MARKER));
    assert!(bodies[1].starts_with("<!-- netbird-gitops apply default -->\n"));
    // a commit that is no merge has nowhere to answer
    let other = proposal
        .site
        .gitea()
        .push("main", "other.txt", "x", "by hand");
    let run = proposal
        .site
        .in_job(&["apply", "--comment"], &Job::push(&proposal.site, &other));
    run.expect(0)
        .says("no comment: this commit is not the merge of a pull request");
    assert_eq!(proposal.bodies().len(), 2);
}

#[test]
fn an_apply_that_cannot_comment_does_not_say_that_nothing_changed() {
    let proposal = Proposal::new();
    let merge = proposal.site.repo().merge(proposal.number);
    let job = Job::push(&proposal.site, &merge);
    let fault = Fault::on(
        "POST",
        &proposal.path(&format!("{}/comments", proposal.number)),
    );
    proposal.site.gitea().fault(fault.always());
    let run = proposal.site.in_job(&["apply", "--comment"], &job);
    run.expect(4).says("cannot comment");
    // now nothing is to be done, and nothing is
    let run = proposal.site.in_job(&["apply", "--comment"], &job);
    run.expect(1).says("cannot comment");
}

/// Who reads JSON alone knows that people see no result, also where the apply failed before.
#[test]
fn a_comment_that_could_not_be_posted_is_an_error_in_json() {
    let proposal = Proposal::new();
    let merge = proposal.site.repo().merge(proposal.number);
    let job = Job::push(&proposal.site, &merge);
    let comments = proposal.path(&format!("{}/comments", proposal.number));
    let fault = Fault::on("POST", &comments);
    proposal.site.gitea().fault(fault.always());
    let error = || {
        let args = ["apply", "--comment", "--format", "json"];
        let run = proposal.site.in_job(&args, &job).expect(4);
        run.json()["error"]["message"].as_str().unwrap().to_owned()
    };
    let refusal = json!({ "message": "no", "code": 422 });
    let fault = Fault::on("POST", "/groups").then(Effect::Status(422, refusal));
    proposal.site.bench.netbird().fault(fault);
    let both = error();
    assert!(both.starts_with("stopped after "), "{both}");
    assert!(both.contains("\ncannot comment: POST "), "{both}");
    assert!(error().starts_with("cannot comment: POST "));
}

#[test]
fn a_failed_apply_says_so_on_the_pull_request() {
    let proposal = Proposal::new();
    let merge = proposal.site.repo().merge(proposal.number);
    let refusal = json!({ "message": "no", "code": 422 });
    let fault = Fault::on("POST", "/groups").then(Effect::Status(422, refusal));
    proposal.site.bench.netbird().fault(fault);
    let job = Job::push(&proposal.site, &merge);
    proposal
        .site
        .in_job(&["apply", "--comment"], &job)
        .expect(4);
    let body = &proposal.bodies()[0];
    assert!(body.contains("422 no"), "{body}");
}
