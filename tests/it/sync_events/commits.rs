//! The commit at the end of `sync-events`: one for all keys, on the file as it is by then, or a pull request.

use serde_json::{Value, json};

use super::{file, used};
use crate::run::{Job, Site};
use crate::whole_loop::flipped;

#[test]
fn several_keys_are_one_commit() {
    let site = used(Site::fake(), ["a", "b", "fixes #1"]);
    let issue = site.gitea().open_issue("something else", "");
    let before = site.file();
    let commits = site.gitea().log("main").len();
    site.run(&["sync-events"])
        .expect(0)
        .shows("3 keys marked enrolled: committed as ");
    let log = site.gitea().log("main");
    assert_eq!(log.len(), commits + 1);
    assert_eq!(
        log[0].message.trim_end(),
        "chore: mark 3 keys as enrolled [automated]\n\n- a\n- b\n- and 1 more"
    );
    assert_eq!(
        (&*log[0].pusher, &log[0].paths),
        ("gitops-bot", &vec!["netbird.json".to_owned()])
    );
    let names = ["a", "b", "fixes #1"];
    let marked = names.iter().fold(before, |text, name| flipped(&text, name));
    assert_eq!(site.file(), marked);
    let issues = site.gitea().issues();
    assert!(
        issues
            .iter()
            .any(|open| open["number"] == issue && open["state"] == "open")
    );
}

#[test]
fn the_file_at_the_tip_decides_and_not_the_checkout() {
    let site = used(Site::fake(), ["a", "b"]);
    let old = site.gitea().tip("main").unwrap();
    // since the clock's commit: `a` was marked by another run, `b` was removed, a group came in
    let mut newer = file(&["a"]);
    newer["groups"]["new"] = json!({});
    newer["setup_keys"]["a"]["enrolled"] = json!(true);
    let newer = format!("{newer}");
    site.gitea().push("main", "netbird.json", &newer, "by hand");
    let tip = site.gitea().tip("main");
    let run = site.in_job(
        &["sync-events", "--format", "json"],
        &Job::schedule(&site, &old),
    );
    let json = run.expect(0).json();
    assert_eq!(json["enrollments"], json!([]));
    assert_eq!(site.gitea().tip("main"), tip);
    site.bench.assert_writes(&[]);

    // and a key that only the newer file has pending is found once the checkout shows any used one
    site.gitea().push(
        "main",
        "netbird.json",
        flipped(&format!("{:#}\n", file(&["a", "b"])), "a"),
        "back",
    );
    let run = site.in_job(&["sync-events"], &Job::schedule(&site, &old));
    run.expect(0)
        .shows("setup key \"b\": peer \"host-of-b\" is renamed to it");
    assert!(!site.file().contains("false"));
}

#[test]
fn edits_of_people_meanwhile_survive_byte_for_byte() {
    let site = used(Site::fake(), ["a"]);
    let human = format!(
        "\u{feff}{}",
        site.file()
            .replace("\n", "\r\n")
            .replacen("\"g\"", "\"\\u0067\"", 1)
    );
    let human = human.replacen(
        "\"groups\": {",
        "\"groups\": {\r\n\t\t\"caf\\u00e9\" : { },",
        1,
    );
    let pushed = human.clone();
    let contents = site.gitea().path("/contents");
    // between our reading and our write; and once more in the middle of the next write
    site.gitea().before("POST", &contents, move |gitea| {
        gitea.push("main", "netbird.json", &pushed, "by hand");
    });
    site.gitea().race(|gitea| {
        gitea.push("main", "other.txt", "x", "another file");
    });
    site.run(&["sync-events"]).expect(0);
    assert_eq!(site.file(), flipped(&human, "a"));
    assert_eq!(site.gitea().file("main", "other.txt"), b"x");
}

#[test]
fn a_lost_answer_makes_no_second_commit() {
    use fakes::{Effect, Fault};
    let site = used(Site::fake(), ["a"]);
    let commits = site.gitea().log("main").len();
    let contents = site.gitea().path("/contents");
    site.gitea()
        .fault(Fault::on("POST", &contents).then(Effect::CutAfter));
    site.run(&["sync-events"])
        .expect(0)
        .shows("1 key marked enrolled: committed");
    assert_eq!(site.gitea().log("main").len(), commits + 1);
}

#[test]
fn forgejo_says_it_otherwise_and_gets_the_same_commit() {
    let site = used(Site::forgejo(), ["a"]);
    let before = site.file();
    let contents = site.gitea().path("/contents");
    // a stale sha is 409 there, a lost race 500 without a word
    let human = before.replacen("{\n", "{\n  \"$schema\": \"x\",\n", 1);
    let pushed = human.clone();
    site.gitea().before("POST", &contents, move |gitea| {
        gitea.push("main", "netbird.json", &pushed, "by hand");
    });
    site.gitea().race(|gitea| {
        gitea.push("main", "other.txt", "x", "another file");
    });
    site.run(&["sync-events"]).expect(0);
    assert_eq!(site.file(), flipped(&human, "a"));
    let puts = site.gitea().requests();
    let puts: Vec<u16> = puts
        .iter()
        .filter(|request| request.method == "POST")
        .map(|request| request.status)
        .collect();
    assert_eq!(puts, [409, 500, 201]);
}

#[test]
fn a_protected_branch_is_said_with_what_to_do() {
    let site = used(Site::fake(), ["a"]);
    site.gitea().protect("main", json!({}));
    let tip = site.gitea().tip("main");
    let run = site.run(&["sync-events", "--format", "json"]).expect(4);
    let json = run.json();
    // peer and groups are done all the same
    assert_eq!(json["enrollments"][0]["error"], Value::Null);
    assert_eq!(json["commit"], Value::Null);
    let message = json["error"]["message"].as_str().unwrap();
    assert!(message.starts_with("not committed: "), "{message}");
    assert!(message.contains("user cannot commit to repo"), "{message}");
    assert!(json["error"]["hint"].as_str().unwrap().contains("--via-pr"));
    run.says("error: not committed: ").says("--via-pr");
    assert_eq!(site.gitea().tip("main"), tip);
    site.bench.one("/peers", "a");
}

/// Several rules have one answer: who may push is asked, and an administrator's token is told the rule.
#[test]
fn signed_commits_are_not_blamed_on_the_whitelist() {
    let site = used(Site::fake(), ["a"]);
    let bot = json!({ "require_signed_commits": true, "enable_push": true });
    site.gitea().protect("main", bot);
    let run = site.run(&["mark-enrolled", "a"]).expect(1);
    run.says("may push to \"main\"")
        .says("signed commits")
        .says("--via-pr");
    let admin = site.gitea().admin_token();
    let run = site
        .run_with(&["mark-enrolled", "a"], &[("GITEA_TOKEN", &admin)])
        .expect(1);
    run.says("the branch rule \"main\" requires signed commits");
    site.run(&["mark-enrolled", "a", "--via-pr"]).expect(0);
}

/// Nor is a pattern of files, for which the server has a text of its own.
#[test]
fn a_protected_file_pattern_is_no_missing_signature() {
    for site in [Site::fake(), Site::forgejo()] {
        let site = used(site, ["a"]);
        let rule = json!({ "enable_push": true, "protected_file_patterns": "*.json" });
        site.gitea().protect("main", rule);
        let admin = site.gitea().admin_token();
        for token in [site.gitea().token(), admin] {
            let run = site.run_with(&["mark-enrolled", "a"], &[("GITEA_TOKEN", &token)]);
            let run = run.expect(1).says("path is protected");
            let run = run
                .says("a protected file pattern of the branch rule")
                .says("--via-pr");
            assert!(!run.stderr.contains("signed"), "{}", run.stderr);
        }
    }
}

#[test]
fn via_pr_opens_one_pull_request_and_updates_it() {
    let site = Site::fake();
    let secrets = super::pending(&site, ["a", "b"]);
    let before = site.file();
    site.gitea().protect("main", json!({}));
    super::enroll(&site, &secrets[0], "one");
    let run = site.run(&["sync-events", "--via-pr"]).expect(0);
    run.shows("pull request #1 opened: http");
    let pulls = site.gitea().pulls();
    assert_eq!(pulls.len(), 1);
    assert_eq!(pulls[0]["title"], "chore: mark a as enrolled [automated]");
    let head = pulls[0]["head"]["ref"].as_str().unwrap().to_owned();
    let proposed = |head: &str| String::from_utf8(site.gitea().file(head, "netbird.json")).unwrap();
    assert_eq!(proposed(&head), flipped(&before, "a"));

    // the same again changes nothing, and there is nothing to say
    let tip = site.gitea().tip(&head);
    site.gitea().clear_requests();
    let run = site.run(&["sync-events", "--via-pr"]).expect(0);
    assert_eq!(run.stdout, "");
    let requests = site.gitea().requests();
    assert!(requests.iter().all(|request| request.method == "GET"));
    assert_eq!(site.gitea().tip(&head), tip);
    let run = site.run(&["sync-events", "--via-pr", "--format", "json"]);
    let json = run.expect(0).json();
    assert_eq!(json["enrollments"][0]["setup_key_name"], "a");
    let waits = json["commit"].as_str().unwrap();
    assert!(
        waits.starts_with("pull request #1 waits to be merged: http"),
        "{waits}"
    );

    // a second key goes onto the same one
    super::enroll(&site, &secrets[1], "two");
    site.run(&["sync-events", "--via-pr"]).expect(0);
    let pulls = site.gitea().pulls();
    assert_eq!(pulls.len(), 1);
    assert_eq!(
        pulls[0]["title"],
        "chore: mark 2 keys as enrolled [automated]"
    );
    let both = flipped(&flipped(&before, "a"), "b");
    assert_eq!(proposed(&head), both);
    assert_eq!(site.file(), before);

    // merged: nothing is left to propose
    site.gitea().merge(1);
    assert_eq!(site.file(), both);
    site.run(&["sync-events", "--via-pr"])
        .expect(0)
        .shows("Nothing to mark");
    assert_eq!(site.gitea().pulls().len(), 1);
}

#[test]
fn an_executable_file_with_odd_bytes_keeps_them() {
    let site = used(Site::fake(), ["a"]);
    let odd = site
        .file()
        .trim_end()
        .replace("  ", "\t")
        .replacen("\"h\"", "\"\\u0068\"", 1);
    let push = site
        .gitea()
        .change("main")
        .file_of_mode("netbird.json", "100755", &odd);
    push.message("an executable file").push();
    site.run(&["sync-events"]).expect(0);
    assert_eq!(site.file(), flipped(&odd, "a"));
    let dir = site.gitea().git_dir();
    let entry = crate::run::git(&dir, &["ls-tree", "main", "netbird.json"]);
    assert!(entry.starts_with("100755 "), "{entry}");
}

#[test]
fn an_entry_that_goes_before_the_write_is_skipped() {
    let site = used(Site::fake(), ["a", "b"]);
    let rest = format!("{:#}\n", file(&["b"]));
    let pushed = rest.clone();
    let contents = site.gitea().path("/contents");
    site.gitea().before("POST", &contents, move |gitea| {
        gitea.push("main", "netbird.json", &pushed, "a is not wanted any more");
    });
    site.run(&["sync-events"]).expect(0);
    assert_eq!(site.file(), flipped(&rest, "b"));
    assert_eq!(
        site.gitea().log("main")[0].message.trim_end(),
        "chore: mark b as enrolled [automated]"
    );
}

#[test]
fn forgejo_hides_why_it_refuses_and_takes_a_pull_request() {
    let site = used(Site::forgejo(), ["a"]);
    let before = site.file();
    site.gitea().refuse_pushes(Some("not today"));
    let run = site.run(&["sync-events"]).expect(4);
    run.says("not committed: ")
        .says("use the bot's token, or use --via-pr");
    site.gitea().refuse_pushes(None);
    site.gitea().protect("main", json!({}));
    let run = site.run(&["sync-events", "--via-pr"]).expect(0);
    run.shows("pull request #1 opened");
    site.gitea().merge(1);
    assert_eq!(site.file(), flipped(&before, "a"));
}
