//! Is what a run says what it did: from which file, how much of it, and what failed?

use fakes::{Effect, Fault};
use serde_json::{Value, json};

use super::{enroll, file, members, pending, recorded, used};
use crate::run::{Job, Site};
use crate::whole_loop::flipped;

#[test]
fn a_checkout_that_lacks_the_used_key_is_not_what_decides() {
    let site = used(Site::fake(), ["a"]);
    let pending = site.file();
    for (checkout, name) in [
        (json!({ "groups": { "g": {} } }), "without the section"),
        (file(&[]), "without the entry"),
    ] {
        site.repo()
            .push("main", "netbird.json", pending.as_bytes(), "again");
        let checkout = site.text(checkout);
        site.bench.text(&checkout);
        let job = Job::schedule(&site, &site.repo().tip("main"));
        let run = site.in_job(&["sync-events"], &job).expect(0);
        run.shows("1 key marked enrolled: committed as ");
        assert_eq!(site.file(), flipped(&pending, "a"), "{name}");
        // by now the branch has it, though this checkout does not
        let run = site.in_job(&["sync-events"], &job).expect(0);
        run.shows("Nothing to mark: every used key is marked.");
    }
    // without Gitea there is nobody else to ask
    let run = site.bench.run(&["sync-events"]).expect(0);
    run.shows("Nothing to mark: every used key is marked.");
}

#[test]
fn a_wrong_branch_is_named_and_the_token_is_not_blamed() {
    let site = used(Site::fake(), ["a"]);
    let runs: [&[&str]; 3] = [
        &["sync-events", "--branch", "mian"],
        &["sync-events", "--via-pr", "--branch", "mian"],
        &["mark-enrolled", "a", "--branch", "mian"],
    ];
    for args in runs {
        let run = site.run(args).expect(1);
        run.says("has no branch \"mian\": ")
            .says("the branch is that of --branch (GITEA_BRANCH), else of the job; its default branch is main");
    }
    let run = site.run(&["mark-enrolled", "a", "--file", "netbrid.json"]);
    run.expect(1)
        .says("the branch \"main\" has no file \"netbrid.json\": ")
        .says("--file (NETBIRD_GITOPS_FILE)");
    // what the token may not see is still the token's affair
    let run = site.run_with(&["sync-events"], &[("GITEA_REPO", "nobody/nothing")]);
    run.expect(1)
        .says("check the name, and that the token's user may read the repository");
}

#[test]
fn what_was_written_is_counted_and_not_what_was_meant() {
    let site = used(Site::fake(), ["a", "b", "c"]);
    let gone = flipped(&site.text(file(&["b", "c"])), "b");
    let pushed = gone.clone();
    let contents = site.gitea().path("/contents");
    site.gitea().before("POST", &contents, move |gitea| {
        gitea.push("main", "netbird.json", &pushed, "by hand");
    });
    let run = site.run(&["sync-events"]).expect(0);
    let tip = site.repo().tip("main");
    run.shows(&format!(
        "1 key marked enrolled: committed as {} to main.",
        &tip[..10]
    ))
    .shows("setup key \"b\" was already marked by somebody else.")
    .shows("setup key \"a\" has no entry on the branch any more, so it is not marked.")
    .hides("3 keys");
    assert_eq!(site.file(), flipped(&gone, "c"));
    assert_eq!(
        site.gitea().log("main")[0].message.trim_end(),
        "chore: mark c as enrolled [automated]"
    );
}

#[test]
fn somebody_who_did_all_of_it_leaves_nothing_to_count() {
    let site = used(Site::fake(), ["a"]);
    let marked = flipped(&site.file(), "a");
    let pushed = marked.clone();
    let contents = site.gitea().path("/contents");
    site.gitea().before("POST", &contents, move |gitea| {
        gitea.push("main", "netbird.json", &pushed, "by hand");
    });
    let run = site.run(&["sync-events", "--format", "json"]).expect(0);
    let json = run.json();
    assert_eq!(json["marked"], json!([]));
    assert_eq!(json["commit_place"], Value::Null);
    assert_eq!(site.gitea().log("main")[0].message.trim_end(), "by hand");
}

#[test]
fn a_failure_has_an_error_line_at_every_log_level() {
    let site = used(Site::fake(), ["a"]);
    let bad = format!("/peers/{}", site.bench.id("/peers", "host-of-a"));
    let refusal = json!({ "message": "internal server error", "code": 500 });
    let fault = || Fault::on("PUT", &bad).then(Effect::Status(500, refusal.clone()));
    let logs: [&[(&str, &str)]; 3] = [&[], &[("RUST_LOG", "off")], &[("CI", "1")]];
    for log in logs {
        // a job's log is JSON
        let error = match log {
            [("CI", _)] => r#"error: setup key \"a\": peer \"a\": "#,
            _ => r#"error: setup key "a": peer "a": "#,
        };
        for quiet in [&[][..], &["-q"]] {
            site.bench.netbird().fault(fault());
            let args = [&["sync-events"], quiet].concat();
            let run = site.run_with(&args, log).expect(4);
            run.says(error)
                .shows("FAILED: peer \"a\": ")
                .hides("Nothing to mark");
        }
    }
    // nor is anything said to be idle where the commit failed
    site.gitea().protect("main", json!({}));
    let run = site.run_with(&["sync-events", "-q"], &[("RUST_LOG", "off")]);
    run.expect(4)
        .says("error: not committed: ")
        .hides("Nothing to mark")
        .hides("marked");
}

#[test]
fn a_pull_request_is_closed_when_somebody_else_did_the_work() {
    let site = used(Site::fake(), ["a", "b"]);
    let before = site.file();
    site.run(&["sync-events", "--via-pr"])
        .expect(0)
        .shows("2 keys to be marked enrolled: pull request #1 opened: http");
    let head = site.gitea().pulls()[0]["head"]["ref"]
        .as_str()
        .unwrap()
        .to_owned();
    let state = || {
        site.gitea().pulls()[0]["state"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    // a part of it: the rest is proposed still
    site.repo().push(
        "main",
        "netbird.json",
        flipped(&before, "a").as_bytes(),
        "by hand",
    );
    site.run(&["sync-events", "--via-pr"])
        .expect(0)
        .shows("1 key to be marked enrolled: pull request #1 updated: ");
    assert_eq!(
        site.gitea().pulls()[0]["title"],
        "chore: mark b as enrolled [automated]"
    );
    // all of it, in a checkout that has it and in one that has not
    let all = flipped(&flipped(&before, "a"), "b");
    site.repo()
        .push("main", "netbird.json", all.as_bytes(), "by hand");
    site.bench.text(&all);
    let dry = site
        .run(&["sync-events", "--via-pr", "--dry-run"])
        .expect(0);
    dry.shows("Nothing to mark: every");
    assert_eq!(state(), "open");
    let run = site.run(&["sync-events", "--via-pr"]).expect(0);
    run.shows("Nothing to mark: pull request #1 closed, since main has all of it: http");
    assert_eq!(state(), "closed");
    assert!(site.gitea().tip(&head).is_none());
    let run = site.run(&["sync-events", "--via-pr"]).expect(0);
    run.shows("Nothing to mark: every");
    assert_eq!(site.gitea().pulls().len(), 1);
}

#[test]
fn in_a_job_news_that_cannot_be_committed_is_no_green_run() {
    let site = used(Site::fake(), ["a"]);
    let job = || Job::schedule(&site, &site.repo().tip("main")).with("GITEA_TOKEN", "");
    for (args, code) in [
        (&["sync-events", "--dry-run"][..], 0),
        (&["sync-events", "--no-commit"], 0),
        (&["sync-events"], 4),
        (&["sync-events", "--via-pr"], 4),
    ] {
        let run = site.in_job(args, &job()).expect(code);
        assert_eq!(
            run.stderr.contains("not committed: "),
            code == 4,
            "{args:?}"
        );
    }
    let run = site.in_job(&["sync-events", "-q", "--format", "json"], &job());
    let run = run
        .expect(4)
        .says("Gitea is not configured (GITEA_TOKEN not set)");
    assert!(
        run.json()["error"]["hint"]
            .as_str()
            .unwrap()
            .contains("the secret BOT_TOKEN")
    );
    // peer and groups are done all the same
    assert_eq!(members(&site, "h"), ["a"]);
    // nothing new is no failure, and neither is a laptop without Gitea
    let site = Site::fake();
    pending(&site, ["a"]);
    let job = Job::schedule(&site, &site.repo().tip("main")).with("GITEA_TOKEN", "");
    site.in_job(&["sync-events"], &job).expect(0);
    let site = used(Site::fake(), ["a"]);
    site.bench
        .run(&["sync-events"])
        .expect(0)
        .shows("1 key not marked: nothing was committed.");
}

#[test]
fn machines_one_a_second_are_told_apart_by_their_times() {
    let site = Site::fake();
    let names: [String; 40] = std::array::from_fn(|number| format!("k{number:02}"));
    let secrets = pending(&site, names.each_ref().map(String::as_str));
    let netbird = site.bench.netbird();
    netbird.set_clock(jiff::Timestamp::now().as_second() - 3600);
    for (name, secret) in names.iter().zip(&secrets) {
        enroll(&site, secret, &format!("host-of-{name}"));
        netbird.advance(1);
    }
    netbird.drop_events();
    let run = site.run(&["sync-events", "--format", "json"]).expect(0);
    let json = run.json();
    assert_eq!(json["left_alone"], json!([]));
    let done = json["enrollments"].as_array().unwrap();
    assert_eq!(done.len(), names.len());
    for done in done {
        let name = done["setup_key_name"].as_str().unwrap();
        assert_eq!(done["renamed_from"], format!("host-of-{name}"));
        assert_eq!(done["proof"], "time");
    }
    assert!(!site.file().contains("false"));
    // years later nothing has to be told again
    site.bench.text(&site.file());
    let run = site.run(&["plan", "--prune", "none"]).expect(0);
    run.shows("No changes").hides("several");
}

#[test]
fn a_peer_that_waits_for_approval_is_said_to_wait() {
    let site = recorded(Site::fake(), ["a"]);
    let mut peers = site.bench.netbird().list("/peers");
    peers[0]["approval_required"] = json!(true);
    let answer = Effect::Status(200, peers);
    let fault = Fault::on("GET", "/peers").always().then(answer);
    site.bench.netbird().fault(fault);
    let run = site.run(&["sync-events", "--dry-run"]).expect(0);
    run.shows("it waits for approval in NetBird: until it is approved, it cannot reach any peer");
    let run = site.run(&["sync-events", "--dry-run", "--format", "json"]);
    let json = run.expect(0).json();
    assert_eq!(json["enrollments"][0]["waits_for_approval"], true);
    let run = site.run(&["plan", "--prune", "none"]).expect(0);
    run.says_anywhere(
        "waits for approval in NetBird: until it is approved, it cannot reach any peer",
    );
}

#[test]
fn who_came_is_written_once_into_an_inventory_that_is_there() {
    let site = recorded(Site::fake(), ["a"]);
    let peer = site.bench.id("/peers", "host-of-a");
    site.run(&["sync-events"]).expect(0);
    let inventory = site.inventory();
    assert_eq!(inventory["enrolled"], json!({ "a": [peer] }));
    let members = json!({ "g": { "a": peer }, "h": { "a": peer } });
    assert_eq!(inventory["members"], members);
    let written = site.repo().tip("netbird-gitops/inventory");
    site.run(&["sync-events"]).expect(0);
    assert_eq!(site.repo().tip("netbird-gitops/inventory"), written);
    // it makes none
    let site = used(Site::fake(), ["a"]);
    site.run(&["sync-events"]).expect(0);
    assert_eq!(site.inventory(), Value::Null);
}

/// A token ends with the access of whose it is.
#[test]
fn a_persons_token_is_a_notice() {
    let site = used(Site::fake(), ["a"]);
    let token = site.bench.netbird().person_token("admin");
    let said = "the token belongs to a person";
    for args in [&["--dry-run"][..], &["--format", "json"]] {
        let args = [&["sync-events"], args].concat();
        let run = site.run_with(&args, &[("NETBIRD_API_TOKEN", &token)]);
        let run = run.expect(0).says_anywhere(said);
        if args.contains(&"json") {
            let notices = run.json()["notices"].to_string();
            assert!(notices.contains(said), "{notices}");
        }
    }
}
