//! Where NetBird differs from the committed file, and whose doing that is.

use serde_json::{Value, json};

use crate::run::{Bench, Site};

fn file(port: u16) -> Value {
    json!({
        "groups": { "a": {}, "b": {} },
        "policies": { "p": { "sources": ["a"], "destinations": ["b"], "protocol": "tcp", "ports": [port] } }
    })
}

fn agreed() -> Bench {
    let bench = Bench::in_git();
    bench.applied(0.0, file(22));
    bench
}

#[test]
fn agreement_is_clean_and_what_is_unmanaged_alone_is_no_alarm() {
    let bench = agreed();
    bench
        .run(&["drift"])
        .expect(0)
        .shows("1 unmanaged")
        .shows("policy Default")
        .shows("\nNothing has to be done. If you like:\n  to manage what is unmanaged: netbird-gitops adopt");
    bench.assert_writes(&[]);
}

#[test]
fn what_was_deleted_by_hand_is_missing_and_by_whom() {
    let bench = agreed();
    bench.hour(2.0);
    let id = bench.id("/policies", "p");
    bench
        .netbird()
        .call("DELETE", &format!("/policies/{id}"), Value::Null);
    // the last lines say what to do, with the commands
    let shown = bench.run(&["drift"]).expect(2).stdout;
    let (_, todo) = shown
        .split_once("\nNothing was corrected. What to do:\n")
        .unwrap();
    let begins: Vec<&str> = todo
        .lines()
        .filter_map(|line| Some(line.split_once(':')?.0))
        .collect();
    assert_eq!(
        begins,
        [
            "  to make NetBird as the file says",
            "  to keep what NetBird has",
            "  to manage what is unmanaged"
        ]
    );
    bench
        .run(&["drift", "--format", "markdown"])
        .expect(2)
        .shows("- to make NetBird as the file says: `netbird-gitops plan`, then `netbird-gitops apply`");
    let run = bench.run(&["drift", "--format", "json"]).expect(2);
    let drift = run.json();
    assert_eq!(drift["status"], "drift");
    assert_eq!(drift["missing"][0]["name"], "p");
    assert!(drift["missing"][0]["by"].is_string(), "{drift}");
    assert_eq!(drift["missing"][0]["at"], "2023-11-15T00:13:20Z");
    assert_eq!(drift["mismatched"], json!([]));
    bench.assert_writes(&[]);
}

#[test]
fn what_was_edited_by_hand_is_the_servers_doing() {
    let bench = agreed();
    bench.hour(2.0);
    bench.edit(
        "/policies",
        "p",
        json!({ "description": "by hand", "enabled": false }),
    );
    let mut wanted = file(22);
    wanted["policies"]["p"]["enabled"] = json!(true);
    bench.declared(3.0, wanted);
    let drift = bench.run(&["drift", "--format", "json"]).expect(2).json();
    let item = &drift["mismatched"][0];
    assert_eq!(item["name"], "p");
    assert_eq!(item["changes"][0]["field"], "enabled");
    assert!(item["by"].is_string(), "{drift}");
    bench
        .run(&["drift"])
        .expect(2)
        .shows("Mismatched, NetBird → file:")
        .shows("enabled  false → true")
        .shows("and that was not applied; NetBird was changed by Owner, ");
}

#[test]
fn of_what_was_never_applied_nobody_is_accused() {
    let bench = Bench::in_git();
    let [a, b] = ["a", "b"].map(|name| bench.group(name));
    let rule = json!({ "name": "p", "enabled": true, "action": "accept", "bidirectional": true, "protocol": "all",
                       "sources": [a], "destinations": [b] });
    bench.create(
        "/policies",
        json!({ "name": "p", "enabled": true, "rules": [rule] }),
    );
    bench.declared(1.0, file(22));
    let run = bench.run(&["drift"]).expect(2);
    assert!(!run.stdout.contains("was changed"), "{}", run.stdout);
    run.shows("  policy p\n");
}

#[test]
fn a_commit_that_was_not_applied_is_the_files_doing() {
    let bench = agreed();
    bench.declared(3.0, file(80));
    let commit = bench.git(&["rev-parse", "HEAD"])[..10].to_owned();
    bench.declared(4.0, {
        let mut later = file(80);
        later["groups"]["c"] = json!({});
        later
    });
    let drift = bench.run(&["drift", "--format", "json"]).expect(2).json();
    let item = &drift["mismatched"][0];
    assert_eq!(
        (item["name"].as_str(), item["moved"].as_str()),
        (Some("p"), Some("file"))
    );
    assert_eq!(
        item["commit"], commit,
        "the first commit that asks for something else"
    );
    assert_eq!(drift["missing"][0]["name"], "c");
}

#[test]
fn the_committed_file_counts_and_not_the_one_on_disk() {
    let bench = agreed();
    bench.file(file(80));
    bench.run(&["drift"]).expect(0);
}

#[test]
fn ghosts_have_a_list_of_their_own() {
    let bench = Bench::in_git();
    let key = json!({ "type": "one-off", "expires_in": 3600, "auto_groups": ["a"] });
    let mut enrolled = key.clone();
    enrolled["enrolled"] = json!(true);
    bench.applied(
        0.0,
        json!({ "groups": { "a": {} }, "setup_keys": { "old": key, "gone": enrolled } }),
    );
    bench.hour(9.0);
    let drift = bench.run(&["drift", "--format", "json"]).expect(0).json();
    assert_eq!(
        drift["ghosts"],
        json!([
            "setup key \"gone\" is marked enrolled, but NetBird has no peer for it",
            "setup key \"old\" is expired and was never used",
        ])
    );
}

#[test]
fn one_issue_opened_edited_and_closed() {
    let site = Site::fake();
    let bench = &site.bench;
    let open = || {
        let issues = site.gitea().issues();
        let open = issues.into_iter().filter(|issue| issue["state"] == "open");
        open.map(|issue| issue["title"].as_str().unwrap_or_default().to_owned())
            .collect::<Vec<_>>()
    };
    let drift = |code| site.run(&["drift", "--issue"]).expect(code);
    bench.agreed(file(22));
    drift(0);
    assert!(open().is_empty());

    let id = bench.id("/policies", "p");
    bench
        .netbird()
        .call("DELETE", &format!("/policies/{id}"), Value::Null);
    drift(2).says_anywhere("issue opened");
    drift(2);
    assert_eq!(open(), ["NetBird drift (default): 1 missing, 1 unmanaged"]);

    let id = bench.id("/groups", "b");
    bench
        .netbird()
        .call("DELETE", &format!("/groups/{id}"), Value::Null);
    drift(2).says_anywhere("issue edited");
    assert_eq!(open(), ["NetBird drift (default): 2 missing, 1 unmanaged"]);

    bench.apply(&[]).expect(0);
    drift(0).says_anywhere("issue closed");
    assert!(open().is_empty());
}

/// Whoever may read the repository can open issues with our marker, and more of them than a page has.
#[test]
fn planted_issues_are_not_ours_and_hide_no_issue_of_ours() {
    let all = ["write:repository", "write:issue", "read:user"];
    for scopes in [&all[..], &all[..2]] {
        let site = Site::fake();
        let gitea = site.gitea();
        let token = gitea.token_with(scopes);
        let drift = |code| {
            let run = site.run_with(&["drift", "--issue"], &[("GITEA_TOKEN", &token)]);
            run.expect(code)
        };
        let ours = || -> Vec<Value> {
            let issues = gitea.issues().into_iter();
            issues
                .filter(|issue| issue["user"]["login"] == "gitops-bot")
                .collect()
        };
        let bench = &site.bench;
        bench.agreed(file(22));
        let trap = "<!-- netbird-gitops drift default -->\n### NetBird drift: none";
        let plant = |number: usize| {
            for n in 0..number {
                gitea.open_issue(&format!("NetBird drift (default) {n}"), trap);
            }
        };
        plant(1);
        bench.delete("/policies", "p");
        drift(2).says_anywhere("issue opened");
        plant(70);
        drift(2);
        bench.delete("/groups", "b");
        drift(2).says_anywhere("issue edited");
        assert_eq!(ours().len(), 1, "{scopes:?}");
        bench.apply(&[]).expect(0);
        drift(0).says_anywhere("issue closed");
        assert_eq!(ours()[0]["state"], "closed");
        let planted = gitea.issues().into_iter();
        let planted: Vec<Value> = planted.filter(|issue| issue["body"] == trap).collect();
        assert_eq!(planted.len(), 71);
        let is_open = |issue: &Value| issue["state"] == "open" && issue["comments"] == 0;
        assert!(planted.iter().all(is_open));
    }
}

#[test]
fn a_second_file_of_the_environment_leaves_the_issue_of_the_first_alone() {
    let site = Site::fake();
    site.commit(file(22));
    site.checkout("origin/main");
    site.run(&["apply"]).expect(0);
    site.bench.delete("/policies", "p");
    site.run(&["drift", "--issue"]).expect(2);
    let before = site.gitea().issues();
    assert_eq!(before.len(), 1);
    std::fs::write(site.bench.path("lab.json"), "{\"groups\": {}}").unwrap();
    site.run(&["drift", "--issue", "-f", "lab.json"])
        .expect(3)
        .says("belongs to netbird.json, but this file is lab.json");
    assert_eq!(site.gitea().issues(), before);
}

#[test]
fn the_issue_says_what_is_missing_and_when_it_is_resolved() {
    let site = Site::fake();
    site.commit(file(22));
    site.checkout("origin/main");
    let issue = || -> Value {
        let issues = site.gitea().issues();
        assert_eq!(issues.len(), 1, "{issues:#?}");
        issues[0].clone()
    };
    site.run(&["drift", "--issue"]).expect(2);
    let open = issue();
    let body = open["body"].as_str().unwrap();
    assert!(
        body.contains("- policy p\n  - a ↔ b: tcp 22\n"),
        "an entry says what is missing: {body}"
    );
    assert_eq!(
        open["title"],
        "NetBird drift (default): 3 missing, 1 unmanaged"
    );
    site.run(&["drift"]).expect(2).shows("a ↔ b: tcp 22");
    site.run(&["apply"]).expect(0);
    site.run(&["drift", "--issue"]).expect(0);
    let closed = issue();
    assert_eq!(closed["state"], "closed");
    assert_eq!(closed["title"], "NetBird drift (default): resolved");
    let body = closed["body"].as_str().unwrap();
    assert!(
        body.contains("Nothing is missing, mismatched or skipped since `20"),
        "{body}"
    );
    assert!(
        !body.contains('\u{2060}') && !body.contains("- policy"),
        "{body}"
    );
}

#[test]
fn a_skipped_entry_is_drift() {
    let bench = Bench::in_git();
    bench.applied(0.0, json!({ "groups": { "a": {} }, "policies": {} }));
    for issued in ["jwt", "integration"] {
        bench.netbird().issue_group("staff", issued);
    }
    let file = json!({ "groups": { "a": {} }, "policies": { "q": { "sources": ["staff"], "destinations": ["a"] } } });
    bench.declared(1.0, file);
    let run = bench.run(&["drift"]).expect(2);
    run.shows("1 skipped")
        .shows("Skipped, so not compared:\n  policy q\n")
        .shows("an identity provider gave this name to 2 groups");
    let json = bench.run(&["drift", "--format", "json"]).expect(2).json();
    assert_eq!(json["status"], "drift");
    assert_eq!(json["skipped"], json!([{ "kind": "policy", "name": "q" }]));
    bench.run(&["apply"]).expect(4);
}

#[test]
fn of_another_branch_no_issue_is_made() {
    let site = Site::fake();
    site.commit(file(22));
    site.checkout("origin/main");
    let job = |branch: &str| {
        crate::run::Job::schedule(&site, &site.repo().tip("main"))
            .with("GITHUB_EVENT_NAME", "workflow_dispatch")
            .with("GITHUB_REF", &format!("refs/heads/{branch}"))
    };
    let run = site
        .in_job(&["drift", "--issue"], &job("feature"))
        .expect(3);
    run.says("drift --issue works only for the branch main");
    assert!(site.gitea().issues().is_empty());
    site.in_job(&["drift"], &job("feature")).expect(2);
    site.in_job(&["drift", "--issue"], &job("main")).expect(2);
}
