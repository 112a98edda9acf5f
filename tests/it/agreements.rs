//! Who agreed to deletions, where Gitea can be asked: descriptions of pull requests, before and after the merge.

use fakes::How;
use serde_json::{Value, json};

use crate::run::{Job, Pull, Run, Site};

/// A file with these groups, one a line, so that git can merge.
fn file(groups: &[String]) -> String {
    let lines: Vec<String> = groups
        .iter()
        .map(|name| format!("    \"{name}\": {{}}"))
        .collect();
    format!("{{\n  \"groups\": {{\n{}\n  }}\n}}\n", lines.join(",\n"))
}

/// `x00` and so on.
fn names(range: std::ops::Range<usize>) -> Vec<String> {
    range.map(|n| format!("x{n:02}")).collect()
}

/// A site whose `main` declares 24 groups, all of them applied.
fn applied() -> Site {
    let site = Site::fake();
    push(&site, "main", &names(0..24));
    apply(&site).expect(0);
    site
}

fn push(site: &Site, branch: &str, groups: &[String]) -> String {
    site.repo()
        .push(branch, "netbird.json", file(groups).as_bytes(), "a change")
}

/// An apply in the job of the push of `main`'s tip.
fn apply(site: &Site) -> Run {
    let tip = site.repo().tip("main");
    site.checkout(&tip);
    site.in_job(&["apply", "--format", "json"], &Job::push(site, &tip))
}

/// A plan in the job of a pull request.
fn plan(site: &Site, number: u64, branch: &str) -> Run {
    let (head, base) = (site.repo().tip(branch), site.repo().tip("main"));
    site.checkout(&head);
    let pull = Pull {
        number,
        head: &head,
        base: &base,
    };
    let job = Job::pull_request(site, &pull);
    site.in_job(
        &[
            "plan",
            "--comment",
            "--format",
            "json",
            "--detailed-exitcode",
        ],
        &job,
    )
}

fn describe(site: &Site, number: u64, body: &str) {
    let path = site.gitea().path(&format!("/pulls/{number}"));
    let (status, _) = site.gitea().call("PATCH", &path, json!({ "body": body }));
    assert_eq!(status, 201);
}

fn agreements(run: &Run) -> Vec<Value> {
    run.json()["agreements"].as_array().unwrap().clone()
}

fn line(run: &Run) -> String {
    agreements(run)[0]["line"].as_str().unwrap().to_owned()
}

#[test]
fn a_pull_request_is_red_until_the_line_stands_in_its_description() {
    let site = applied();
    push(&site, "change", &names(12..24));
    let number = site.repo().open_pr("change", "main");
    let red = plan(&site, number, "change").expect(3);
    assert_eq!(agreements(&red)[0]["cause"], json!(format!("#{number}")));
    assert_eq!(
        red.json()["operations"][0]["cause"],
        json!(format!("#{number}"))
    );
    let line = line(&red);
    let comment = &site.repo().comments(number)[0]["body"];
    assert!(
        comment
            .as_str()
            .unwrap()
            .contains(&format!("\n```\n{line}\n```\n")),
        "{comment}"
    );
    red.says("this plan deletes 12 objects, more than --max-deletes 10")
        .says(&line);
    // quoted or in a comment it is nothing
    for body in [format!("> {line}"), format!("<!--\n{line}\n-->")] {
        describe(&site, number, &body);
        plan(&site, number, "change").expect(3);
    }
    describe(&site, number, &format!("why\r\n\r\n{line}\r\n"));
    let green = plan(&site, number, "change").expect(2);
    let by = &agreements(&green)[0]["agreed_by"];
    assert_eq!(
        *by,
        json!(format!(
            "alice, in the description of pull request #{number}"
        ))
    );
    // another push makes it another change
    push(&site, "change", &names(13..24));
    plan(&site, number, "change")
        .expect(3)
        .shows("agrees to nothing");
}

#[test]
fn it_counts_after_the_merge_however_that_was_made() {
    for how in [How::Merge, How::Squash, How::Rebase, How::FastForward] {
        for after in [false, true] {
            let site = applied();
            push(&site, "change", &names(6..24));
            push(&site, "change", &names(12..24));
            let number = site.repo().open_pr("change", "main");
            let line = line(&plan(&site, number, "change").expect(3));
            if !after {
                describe(&site, number, &line);
            }
            if how != How::FastForward {
                site.repo().push("main", "other.txt", b"x", "meanwhile");
            }
            site.gitea().merge_by(i64::try_from(number).unwrap(), how);
            if after {
                let refused = apply(&site).expect(3);
                let entries = agreements(&refused);
                assert_eq!(entries.len(), 1, "{how:?}: {entries:?}");
                assert_eq!(entries[0]["line"], json!(line), "{how:?}");
                assert_eq!(entries[0]["cause"], json!(format!("#{number}")));
                describe(&site, number, &line);
            }
            let run = apply(&site).expect(0);
            assert_eq!(run.json()["summary"]["deleted"], 12, "{how:?}");
        }
    }
}

#[test]
fn only_who_may_write_agrees_by_a_description() {
    let site = applied();
    site.gitea().call(
        "POST",
        "/admin/users",
        json!({ "username": "bob", "email": "bob@example.com" }),
    );
    let reader = site.gitea().path("/collaborators/bob");
    site.gitea()
        .call("PUT", &reader, json!({ "permission": "read" }));
    push(&site, "change", &names(12..24));
    let number = site
        .gitea()
        .open_pr_as("bob", "change", "main", "")
        .unsigned_abs();
    let line = line(&plan(&site, number, "change").expect(3));
    describe(&site, number, &line);
    plan(&site, number, "change").expect(3);
    site.repo().merge(number);
    apply(&site).expect(3);
    site.gitea()
        .call("PUT", &reader, json!({ "permission": "write" }));
    apply(&site).expect(0);
}

#[test]
fn what_others_left_to_do_stands_apart_and_makes_nobody_red() {
    let site = applied();
    push(&site, "one", &names(12..24));
    push(&site, "two", &[names(0..24), vec!["new".into()]].concat());
    push(&site, "three", &names(0..11));
    let pulls = ["one", "two", "three"].map(|branch| site.repo().open_pr(branch, "main"));
    site.repo().merge(pulls[0]);
    apply(&site).expect(3);
    // another pull request is as green as ever
    let two = plan(&site, pulls[1], "two").expect(2);
    assert_eq!(
        agreements(&two)[0]["cause"],
        json!(format!("#{}", pulls[0]))
    );
    let comments = site.repo().comments(pulls[1]);
    let comment = comments[0]["body"].as_str().unwrap();
    let (own, others) = comment
        .split_once("#### Not of this pull request")
        .expect(comment);
    assert!(
        own.contains("| `new` |") && !own.contains("| `x00` |"),
        "{comment}"
    );
    assert!(
        others.contains(&format!("Left to do by `pull request #{}`", pulls[0])),
        "{comment}"
    );
    assert!(others.contains("| `x00` |"), "{comment}");
    // the line for the first, which is merged, lets everybody go on
    describe(
        &site,
        pulls[0],
        agreements(&two)[0]["line"].as_str().unwrap(),
    );
    site.repo().merge(pulls[1]);
    let done = apply(&site).expect(0);
    assert_eq!(
        done.json()["summary"],
        json!({ "created": 1, "updated": 0, "deleted": 12, "failed": 0 })
    );
}

#[test]
fn a_gitea_that_cannot_be_asked_is_said_and_agrees_to_nothing() {
    let site = applied();
    push(&site, "change", &names(12..24));
    let number = site.repo().open_pr("change", "main");
    let line = line(&plan(&site, number, "change").expect(3));
    describe(&site, number, &line);
    let commit = site.repo().merge(number);
    let path = site.gitea().path(&format!("/commits/{commit}/pull"));
    let fault = fakes::Fault::on("GET", &path)
        .always()
        .then(fakes::Effect::Html(502));
    site.gitea().fault(fault);
    apply(&site).expect(3).shows("could not be asked");
    site.gitea().clear_faults();
    apply(&site).expect(0);
}
