//! `mark-enrolled`: the commit alone, or the file on disk; one wrong name, and nothing is written.

use std::fs;
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::Stdio;

use fakes::{Effect, Fault};
use serde_json::{Value, json};

use crate::run::{Bench, Job, Site, git};
use crate::whole_loop::flipped;

/// Two pending keys, one marked, and one that is for many.
fn text() -> String {
    let key =
        |enrolled: bool| json!({ "type": "one-off", "expires_in": 604800, "enrolled": enrolled });
    let file = json!({ "setup_keys": { "a": key(false), "b": key(false), "done": key(true),
        "fleet": { "type": "reusable", "expires_in": 604800 } } });
    format!("{file:#}\n")
}

fn site() -> Site {
    let site = Site::fake();
    site.commit_text(&text());
    site.gitea().clear_requests();
    site
}

fn writes(site: &Site) -> usize {
    let requests = site.gitea().requests();
    requests
        .iter()
        .filter(|request| request.method != "GET")
        .count()
}

#[test]
fn names_become_one_commit() {
    let site = site();
    let run = site.run(&["mark-enrolled", "b", "a", "done"]).expect(0);
    run.shows("Marked enrolled: a, b; committed as ")
        .shows("Marked already: done.");
    assert_eq!(site.file(), flipped(&flipped(&text(), "a"), "b"));
    assert_eq!(
        site.gitea().log("main")[0].message.trim_end(),
        "chore: mark 2 keys as enrolled [automated]\n\n- a\n- b"
    );
    // NetBird has nothing to do with it
    assert!(site.bench.netbird().requests().is_empty());
}

/// A page that answers a commit is no commit, whatever its status.
#[test]
fn a_page_in_the_place_of_a_commit() {
    let site = site();
    let fault = || Fault::on("POST", "/repos/acme/network/contents");
    let page = Effect::Html(200);
    site.gitea().fault(fault().always().then(page.clone()));
    site.run(&["mark-enrolled", "a"])
        .expect(1)
        .says("HTML, not JSON");
    assert_eq!(site.file(), text());
    site.gitea().clear_faults();
    site.gitea().fault(fault().then(page));
    site.run(&["mark-enrolled", "a"])
        .expect(0)
        .shows("Marked enrolled: a; committed");
    assert_eq!(site.file(), flipped(&text(), "a"));
}

#[test]
fn the_answer_as_json() {
    let run = site().run(&["mark-enrolled", "a", "done", "--format", "json"]);
    let json = run.expect(0).json();
    assert_eq!(
        (&json["marked"], &json["already"]),
        (&json!(["a"]), &json!(["done"]))
    );
    let run = site().run(&[
        "mark-enrolled",
        "x",
        "--format",
        "json",
        "--report",
        "r.json",
    ]);
    let json = run.expect(1).json();
    assert_eq!(json["marked"], json!([]));
    assert!(
        json["error"]["message"]
            .as_str()
            .unwrap()
            .contains("no setup key \"x\"")
    );
}

#[test]
fn nothing_to_flip_is_no_commit() {
    let site = site();
    let tip = site.repo().tip("main");
    let run = site.run(&["mark-enrolled", "done"]).expect(0);
    run.shows("Marked already: done.");
    assert_eq!((site.repo().tip("main"), writes(&site)), (tip, 0));
}

#[test]
fn a_name_that_is_not_there_is_an_error_and_nothing_is_written() {
    let site = site();
    let run = site.run(&["mark-enrolled", "a", "B"]).expect(1);
    run.says("netbird.json on main declares no setup key \"B\"; nothing was written")
        .says("hint: did you mean \"b\"?");
    assert_eq!(writes(&site), 0);
    // on disk likewise
    let run = site.run(&["mark-enrolled", "--local", "a", "B"]).expect(1);
    run.says("nothing was written")
        .says("hint: did you mean \"b\"?");
    let run = site
        .run(&["mark-enrolled", "--local", "laptop", "flet"])
        .expect(1);
    run.says("hint: did you mean \"fleet\"?");
    let run = site.run(&["mark-enrolled", "laptop"]).expect(1);
    run.says("hint: its setup keys are \"a\", \"b\", \"done\", \"fleet\"");
    assert_eq!(
        fs::read_to_string(site.bench.path("netbird.json")).unwrap(),
        text()
    );
}

#[test]
fn a_wrong_path_or_branch_makes_no_file() {
    for (args, said) in [
        (&["--file", "netbird.jsn"][..], "404"),
        (&["--file", "deep/netbird.json"], "404"),
        (&["--branch", "master"], "404"),
    ] {
        let site = site();
        let run = site
            .run(&[&["mark-enrolled", "a"], args].concat())
            .expect(1);
        run.says(said);
        assert_eq!(writes(&site), 0, "{args:?}");
        assert_eq!(site.gitea().files("main"), ["netbird.json"]);
    }
}

/// Between its check of the names and its commit somebody takes an entry out.
#[test]
fn a_name_that_vanishes_meanwhile_is_told() {
    for (names, code) in [(&["a", "b"][..], 4), (&["a"], 1)] {
        for via_pr in [&[][..], &["--via-pr"]] {
            let site = site();
            let file = text().replace("\"a\"", "\"c\"");
            let contents = site.gitea().path("/contents/netbird.json");
            site.gitea().after("GET", &contents, move |gitea| {
                gitea.push("main", "netbird.json", &file, "by hand");
            });
            let args = [&["mark-enrolled", "--format", "json"], names, via_pr].concat();
            let run = site.run(&args).expect(code);
            let run = run.says("netbird.json does not declare \"a\" any more");
            assert_eq!(run.json()["missing"], json!(["a"]), "{args:?}");
        }
    }
}

#[test]
fn a_pull_requests_job_marks_nothing() {
    let site = site();
    let tip = site.repo().tip("main");
    // with the base's workflow the ref is the branch itself
    for event in ["pull_request", "pull_request_target"] {
        let job = Job::push(&site, &tip).with("GITHUB_EVENT_NAME", event);
        let run = site.in_job(&["mark-enrolled", "a"], &job).expect(3);
        run.says("mark-enrolled does not run in a pull request's job");
    }
    assert_eq!(writes(&site), 0);
}

#[test]
fn a_key_for_many_is_not_marked() {
    let site = site();
    let run = site.run(&["mark-enrolled", "a", "fleet"]).expect(1);
    run.says("setup_keys.fleet.enrolled")
        .says("cannot be marked as enrolled");
    assert_eq!(writes(&site), 0);
}

#[test]
fn names_come_from_a_file_or_from_stdin() {
    let site = site();
    fs::write(site.bench.path("names"), "a\r\n\n  done  \n").unwrap();
    site.run(&["mark-enrolled", "--from", "names"])
        .expect(0)
        .shows("Marked enrolled: a;");
    let mut command = site
        .bench
        .command(&["mark-enrolled", "--from", "-", "--local"]);
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"b\n").unwrap();
    let output = child.wait_with_output().unwrap();
    let run = site.bench.outcome(output).expect(0);
    run.shows("Marked enrolled: b; netbird.json written");
    // a file that is not there
    let run = site.run(&["mark-enrolled", "--from", "nowhere"]).expect(1);
    run.says("cannot read nowhere");
}

#[test]
fn the_json_of_an_idle_sync_events_is_nothing_to_mark() {
    let site = site();
    let run = site.run(&["sync-events", "--no-commit", "--format", "json"]);
    fs::write(site.bench.path("synced.json"), run.expect(0).stdout).unwrap();
    let run = site
        .run(&["mark-enrolled", "--from", "synced.json"])
        .expect(0);
    run.shows("Nothing to mark");
    assert_eq!(writes(&site), 0);
    // and keys that failed there are not marked here
    let synced = json!({ "enrollments": [{ "setup_key_name": "a" }, { "setup_key_name": "b", "error": "PUT …: 500" }] });
    fs::write(site.bench.path("synced.json"), synced.to_string()).unwrap();
    site.run(&["mark-enrolled", "--from", "synced.json"])
        .expect(0);
    assert_eq!(site.file(), flipped(&text(), "a"));
}

#[test]
fn the_file_on_disk_keeps_its_bytes_and_its_mode() {
    let bench = Bench::fake();
    let odd = format!(
        "\u{feff}{}",
        text().trim_end().replace("\n", "\r\n").replace("  ", "\t")
    );
    fs::write(bench.path("real.json"), &odd).unwrap();
    let mode = fs::Permissions::from_mode(0o640);
    fs::set_permissions(bench.path("real.json"), mode).unwrap();
    symlink("real.json", bench.path("netbird.json")).unwrap();
    let run = bench.run(&["mark-enrolled", "--local", "b"]).expect(0);
    run.shows("Marked enrolled: b; netbird.json written");
    let path = bench.path("real.json");
    assert_eq!(fs::read_to_string(&path).unwrap(), flipped(&odd, "b"));
    assert_eq!(
        fs::metadata(&path).unwrap().permissions().mode() & 0o777,
        0o640
    );
    assert!(bench.path("netbird.json").is_symlink());
    // nothing of the writing is left
    assert_eq!(
        crate::run::files(&bench.path("")),
        ["netbird.json", "real.json"]
    );
}

#[test]
fn bytes_of_all_kinds_survive_the_commit() {
    let odd = format!(
        "\u{feff}{}",
        text()
            .trim_end()
            .replace("\n", "\r\n")
            .replace("\"fleet\"", "\"f\\u00fcr 🦉\"")
            .replace(": ", " :\t")
    );
    let site = site();
    site.commit_text(&odd);
    site.run(&["mark-enrolled", "a"]).expect(0);
    let at = odd.find("\"enrolled\" :\tfalse").unwrap();
    let wanted = format!("{}{}", &odd[..at], odd[at..].replacen("false", "true", 1));
    assert_eq!(site.file(), wanted);
}

#[test]
fn the_blobs_id_is_sent_though_other_files_came_later() {
    let site = site();
    site.gitea().push("main", "README.md", "x", "another file");
    let sha = site.gitea().sha("main", "netbird.json").unwrap();
    site.run(&["mark-enrolled", "a"]).expect(0);
    let requests = site.gitea().requests();
    let put = requests
        .iter()
        .find(|request| request.method == "POST")
        .unwrap();
    assert_eq!(put.body.as_ref().unwrap()["files"][0]["sha"], json!(sha));
    assert_eq!(put.body.as_ref().unwrap()["branch"], "main");
}

#[test]
fn a_stale_write_is_made_again_on_the_new_text() {
    let site = site();
    let human = text().replacen("{\n", "{\n  \"groups\": {},\n", 1);
    let pushed = human.clone();
    let contents = site.gitea().path("/contents");
    site.gitea().before("POST", &contents, move |gitea| {
        gitea.push("main", "netbird.json", &pushed, "by hand");
    });
    site.run(&["mark-enrolled", "a"]).expect(0);
    assert_eq!(site.file(), flipped(&human, "a"));
}

#[test]
fn what_is_no_file_is_named() {
    let site = site();
    let push = site.gitea().change("main").delete("netbird.json");
    push.file_of_mode("netbird.json", "120000", "real.json")
        .push();
    let run = site.run(&["mark-enrolled", "a"]).expect(1);
    run.says("netbird.json is a symbolic link to real.json, no file");

    let push = site.gitea().change("main").delete("netbird.json");
    push.file("netbird.json/inner", "x").push();
    let run = site.run(&["mark-enrolled", "a"]).expect(1);
    run.says("netbird.json is a directory, no file");
    assert_eq!(writes(&site), 0);
}

#[test]
fn content_that_is_null_is_read_raw_and_never_taken_for_empty() {
    let site = site();
    site.gitea().set_max_blob_size(10);
    site.run(&["mark-enrolled", "a"]).expect(0);
    assert_eq!(site.file(), flipped(&text(), "a"));
    // where the raw form is no help either
    let raw = site.gitea().path("/raw/netbird.json");
    let wrong = Effect::Raw(fakes::http::Response::new(
        200,
        "text/plain",
        b"{}".to_vec(),
    ));
    site.gitea()
        .fault(Fault::on("GET", &raw).always().then(wrong));
    let run = site.run(&["mark-enrolled", "b"]).expect(1);
    run.says("Gitea gave no content for netbird.json");
}

#[test]
fn a_renamed_repository_is_an_error_with_the_new_name() {
    let site = site();
    let old = site.repo().full_name();
    site.gitea().rename_repo("vpn");
    let run = site.run_with(&["mark-enrolled", "a"], &[("GITEA_REPO", &old)]);
    run.expect(1).says("the repository is acme/vpn now");
    assert_eq!(writes(&site), 0);
}

#[test]
fn an_archived_repository_ends_it_at_once() {
    let site = site();
    site.gitea().archive();
    let run = site.run(&["mark-enrolled", "a"]).expect(1);
    run.says("423").says("archived");
    assert_eq!(writes(&site), 1);
}

#[test]
fn tokens_that_may_not_are_told_apart() {
    for (token, said) in [
        (site().gitea().token_with(&["read:repository"]), "401"),
        ("0".repeat(40), "401"),
    ] {
        // a token of another server
        site()
            .run_with(&["mark-enrolled", "a"], &[("GITEA_TOKEN", &token)])
            .expect(1)
            .says(said);
    }
    let site = site();
    let token = site.gitea().token_with(&["read:repository"]);
    let run = site.run_with(&["mark-enrolled", "a"], &[("GITEA_TOKEN", &token)]);
    run.expect(1).says("write:repository");
    let reader = site.gitea().add_user("carol", "none");
    let run = site.run_with(&["mark-enrolled", "a"], &[("GITEA_TOKEN", &reader)]);
    run.expect(1).says("404");
}

#[test]
fn via_pr_from_a_branch_that_nobody_may_push_to() {
    let site = site();
    site.gitea().protect("main", json!({}));
    let run = site.run(&["mark-enrolled", "a", "--via-pr", "--environment", "prod eu"]);
    run.expect(0).shows("pull request #1 opened");
    let pull = &site.gitea().pulls()[0];
    let head = pull["head"]["ref"].as_str().unwrap();
    assert_eq!(head, "netbird-gitops/enrolled-prod-eu");
    let proposed = site.gitea().file(head, "netbird.json");
    assert_eq!(String::from_utf8(proposed).unwrap(), flipped(&text(), "a"));
    assert_eq!(site.file(), text());
}

#[test]
fn a_file_that_is_no_json_is_said_with_its_place() {
    let site = site();
    let broken = text().replacen("\"b\"", "b", 1);
    site.commit_text(&broken);
    let run = site.run(&["mark-enrolled", "a"]).expect(1);
    run.says("netbird.json on main:");
    assert_eq!(writes(&site), 0);
    let run = site.run(&["mark-enrolled", "--local", "a"]).expect(1);
    run.says("netbird.json:8:5\n    a name without quotes");
}

#[test]
fn the_branch_of_the_job_is_the_one_that_gets_the_commit() {
    let site = site();
    site.gitea()
        .push("release", "netbird.json", text(), "a second branch");
    let run = site.run(&["mark-enrolled", "a", "--branch", "release"]);
    run.expect(0).shows("to release");
    assert_eq!(site.file(), text());
    let release = String::from_utf8(site.gitea().file("release", "netbird.json")).unwrap();
    assert_eq!(release, flipped(&text(), "a"));
}

#[test]
fn in_a_checkout_the_path_is_that_of_the_repository() {
    let site = site();
    let dir = site.bench.path("");
    git(&dir, &["init", "-q"]);
    fs::create_dir(dir.join("vpn")).unwrap();
    site.gitea()
        .push("main", "vpn/netbird.json", text(), "deeper");
    let mut command = site.bench.command(&["mark-enrolled", "a"]);
    command
        .current_dir(dir.join("vpn"))
        .env("GITEA_URL", site.repo().url())
        .env("GITEA_REPO", site.repo().full_name())
        .env("GITEA_TOKEN", site.repo().token())
        .env("GITEA_BRANCH", "main");
    fs::write(dir.join("vpn/netbird.json"), text()).unwrap();
    let run = site.bench.outcome(command.output().unwrap()).expect(0);
    run.shows("Marked enrolled: a");
    assert_eq!(site.file(), text());
    let deeper = String::from_utf8(site.gitea().file("main", "vpn/netbird.json")).unwrap();
    assert_eq!(deeper, flipped(&text(), "a"));
    let _: Value = serde_json::from_str(&deeper).unwrap();
}
