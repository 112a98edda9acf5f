//! Who agreed to deletions, where Gitea can be asked: descriptions of pull requests, before and after the merge.

use fakes::{Effect, Fault, How};
use serde_json::{Value, json};

use crate::run::{Job, Pull, Run, Site};

/// A file with these groups, one a line, so that git can merge.
fn file(site: &Site, groups: &[String]) -> String {
    let server = site.bench.server();
    let lines: Vec<String> = groups
        .iter()
        .map(|name| format!("    \"{}\": {{}}", server.name(name)))
        .collect();
    format!("{{\n  \"groups\": {{\n{}\n  }}\n}}\n", lines.join(",\n"))
}

/// `x00` and so on.
fn names(range: std::ops::Range<usize>) -> Vec<String> {
    range.map(|n| format!("x{n:02}")).collect()
}

/// A site whose `main` declares 24 groups, all of them applied.
fn applied(site: Site) -> Site {
    push(&site, "main", &names(0..24));
    apply(&site).expect(0);
    site
}

fn push(site: &Site, branch: &str, groups: &[String]) -> String {
    let file = file(site, groups);
    site.repo()
        .push(branch, "netbird.json", file.as_bytes(), "a change")
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

fn agreements(run: &Run) -> Vec<Value> {
    run.json()["agreements"].as_array().unwrap().clone()
}

fn line(run: &Run) -> String {
    agreements(run)[0]["line"].as_str().unwrap().to_owned()
}

#[test]
fn a_pull_request_is_red_until_the_line_stands_in_its_description() {
    let site = applied(Site::scenario());
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
    for body in [
        "> %",
        "<!--\n%\n-->",
        "```\n%\n```",
        "<div hidden>\n\n%\n\n</div>",
        "[//]: # (\n%\n)",
        "- %",
        "**%**",
        "<!-- % -->",
    ] {
        site.repo().describe(number, &body.replace('%', &line));
        let red = plan(&site, number, "change").expect(3);
        red.shows("does not count: it does not stand on a line of its own");
    }
    site.repo()
        .describe(number, &format!("why\r\n\r\n{line}\r\n"));
    let green = plan(&site, number, "change").expect(2);
    let by = &agreements(&green)[0]["agreed_by"];
    assert_eq!(
        *by,
        json!(format!(
            "{}, in the description of pull request #{number}",
            site.repo().person()
        ))
    );
    // another push makes it another change
    push(&site, "change", &names(13..24));
    plan(&site, number, "change")
        .expect(3)
        .shows("does not count: what pull request");
}

#[test]
fn it_counts_after_the_merge_however_that_was_made() {
    for how in [How::Merge, How::Squash, How::Rebase, How::FastForward] {
        for after in [false, true] {
            let site = applied(Site::scenario());
            push(&site, "change", &names(6..24));
            push(&site, "change", &names(12..24));
            let number = site.repo().open_pr("change", "main");
            let line = line(&plan(&site, number, "change").expect(3));
            if !after {
                site.repo().describe(number, &line);
            }
            if how != How::FastForward {
                site.repo().push("main", "other.txt", b"x", "meanwhile");
            }
            site.repo().merge_by(number, how);
            if after {
                let refused = apply(&site).expect(3);
                let entries = agreements(&refused);
                assert_eq!(entries.len(), 1, "{how:?}: {entries:?}");
                assert_eq!(entries[0]["line"], json!(line), "{how:?}");
                assert_eq!(entries[0]["cause"], json!(format!("#{number}")));
                site.repo().describe(number, &line);
            }
            let run = apply(&site).expect(0);
            assert_eq!(run.json()["summary"]["deleted"], 12, "{how:?}");
        }
    }
}

#[test]
fn what_was_pushed_meanwhile_is_not_what_a_merge_brought() {
    let site = applied(Site::fake());
    push(
        &site,
        "change",
        &[names(0..24), vec!["new".into()]].concat(),
    );
    let number = site.repo().open_pr("change", "main");
    // deletions by hand, on the branch itself, while the pull request waits
    let by_hand = push(&site, "main", &names(12..24));
    site.repo().merge_by(number, How::Merge);
    let refused = apply(&site).expect(3);
    let entries = agreements(&refused);
    assert_eq!(entries[0]["cause"], json!(by_hand), "{entries:?}");
    // so its description does not speak for them
    site.repo().describe(number, &line(&refused));
    apply(&site).expect(3);
}

#[test]
fn only_who_may_write_agrees_by_a_description() {
    let site = applied(Site::scenario_with_a_reader());
    let bob = site.repo().reader();
    push(&site, "change", &names(12..24));
    let number = site.repo().open_pr_as(&bob, "change", "main");
    let line = line(&plan(&site, number, "change").expect(3));
    site.repo().describe(number, &line);
    let why = format!(
        "{line} ({bob}, in the description of pull request #{number}) does not count: {bob} may not write to this repository"
    );
    plan(&site, number, "change").expect(3).shows(&why);
    let comments = site.repo().comments(number);
    let comment = comments[0]["body"].as_str().unwrap();
    assert!(
        comment.contains(&format!("{bob} may not write to this repository")),
        "{comment}"
    );
    site.repo().merge(number);
    apply(&site).expect(3).shows(&why);
    site.repo().permit(&bob, "write");
    apply(&site).expect(0);
}

#[test]
fn a_line_in_a_forks_description_agrees_to_nothing() {
    let site = applied(Site::fake());
    push(&site, "change", &names(12..24));
    let number = site.repo().open_pr("change", "main");
    let line = line(&plan(&site, number, "change").expect(3));
    site.repo().describe(number, &line);
    let path = site.gitea().path(&format!("/pulls/{number}"));
    let (_, mut pull) = site.gitea().call("GET", &path, Value::Null);
    // another repository, and one that was deleted
    for repo_id in [99, -1] {
        pull["head"]["repo_id"] = json!(repo_id);
        let answer = Effect::Status(200, pull.clone());
        site.gitea()
            .fault(Fault::on("GET", &path).always().then(answer));
        plan(&site, number, "change")
            .expect(3)
            .shows("does not count: the branch of its pull request is of another repository");
        site.gitea().clear_faults();
    }
    // the same without such an answer is good
    plan(&site, number, "change").expect(2);
    // and after the merge
    let merge = site.repo().merge(number);
    let path = site.gitea().path(&format!("/commits/{merge}/pull"));
    let (_, mut pull) = site.gitea().call("GET", &path, Value::Null);
    pull["head"]["repo_id"] = json!(99);
    let answer = Effect::Status(200, pull);
    site.gitea()
        .fault(Fault::on("GET", &path).always().then(answer));
    apply(&site)
        .expect(3)
        .shows("does not count: the branch of its pull request is of another repository");
    site.gitea().clear_faults();
    apply(&site).expect(0);
}

/// A rebase and a fast-forward bring the author's messages to the branch, a squash the description: none of that is said by the
/// person who merged.
#[test]
fn the_message_of_a_commit_counts_if_its_author_may_write() {
    for how in [How::Rebase, How::FastForward, How::Squash] {
        let site = applied(Site::fake());
        site.gitea().add_user("bob", "read");
        push(&site, "look", &names(12..24));
        let number = site.repo().open_pr("look", "main");
        let line = line(&plan(&site, number, "look").expect(3));
        let text = file(&site, &names(12..24));
        let message = format!("a change\n\n{line}");
        site.repo()
            .push("change", "netbird.json", text.as_bytes(), &message);
        // its last commit, by which the server knows it, is another one
        site.repo().push("change", "README.md", b"x", "more");
        let number = site.repo().open_pr_as("bob", "change", "main");
        if how == How::Squash {
            site.repo().describe(number, &line);
        }
        if how != How::FastForward {
            site.repo().push("main", "other.txt", b"x", "meanwhile");
        }
        let merge = site.repo().merge_by(number, how);
        let mut told = site.repo().messages("main").into_iter();
        assert!(told.any(|text| text.contains(&line)), "{how:?}");
        apply(&site)
            .expect(3)
            .shows("does not count: bob may not write to this repository")
            .shows(", in commit ");
        // it is not known without the forge
        let path = site.gitea().path(&format!("/commits/{merge}/pull"));
        let fault = Fault::on("GET", &path).always().then(Effect::Html(502));
        site.gitea().fault(fault);
        apply(&site)
            .expect(3)
            .shows("cannot ask whether a pull request agrees to deletions");
        site.gitea().clear_faults();
        site.repo().permit("bob", "write");
        apply(&site).expect(0);
    }
}

/// Where the branch of a merged pull request is by now says nothing of what it brought: whoever owns a fork moves it.
#[test]
fn a_branch_that_moves_on_after_the_merge_makes_no_message_count() {
    let site = applied(Site::fake());
    site.gitea().add_user("bob", "read");
    push(&site, "look", &names(12..24));
    let look = site.repo().open_pr("look", "main");
    let line = line(&plan(&site, look, "look").expect(3));
    let text = file(&site, &names(12..24));
    let message = format!("a change\n\n{line}");
    site.repo()
        .push("change", "netbird.json", text.as_bytes(), &message);
    // its last commit is a merge
    site.repo().push("side", "README.md", b"x", "more");
    let side = site.repo().open_pr_as("bob", "side", "change");
    site.repo().merge(side);
    let number = site.repo().open_pr_as("bob", "change", "main");
    site.repo().merge_by(number, How::FastForward);
    site.repo().push("change", "README.md", b"y", "afterwards");
    apply(&site)
        .expect(3)
        .shows("does not count: bob may not write to this repository");
}

/// An AGit push (`refs/for/main`) opens a pull request whose head is in the base's repository, by whoever may read it.
#[test]
fn who_reads_an_organisations_repository_agrees_to_nothing() {
    let site = applied(Site::fake());
    let gitea = site.gitea();
    gitea.add_user("bob", "none");
    gitea.add_user("carol", "none");
    gitea.team("writers", "write", "write", &["carol"]);
    push(&site, "change", &names(12..24));
    let by = |login: &str| {
        let number = site.repo().open_pr_as(login, "change", "main");
        let line = line(&plan(&site, number, "change").expect(3));
        site.repo().describe(number, &line);
        number
    };
    // where every team may write, whoever is listed may
    let of_carol = by("carol");
    plan(&site, of_carol, "change").expect(2);
    gitea.team("readers", "read", "read", &["bob"]);
    let of_bob = by("bob");
    let untold = "may not ask who is in which: put its user into the team that may write";
    for number in [of_carol, of_bob] {
        plan(&site, number, "change").expect(3).shows(untold);
    }
    // the token's user is in that team, and its token may ask
    gitea.team("bots", "write", "write", &["carol", "gitops-bot"]);
    let token = gitea.token_with(&[
        "write:repository",
        "write:issue",
        "read:user",
        "read:organization",
    ]);
    let asking = |number| {
        let (head, base) = (site.repo().tip("change"), site.repo().tip("main"));
        let pull = Pull {
            number,
            head: &head,
            base: &base,
        };
        let job = Job::pull_request(&site, &pull).with("GITEA_TOKEN", &token);
        site.in_job(&["plan"], &job)
    };
    asking(of_carol).expect(0);
    asking(of_bob).expect(3).shows(untold);
    // who may change every description, and not the code, makes none of them count
    gitea.team("triage", "read", "write", &[]);
    asking(of_carol)
        .expect(3)
        .shows("teams that may change pull requests and may not write");
}

#[test]
fn without_a_token_nobody_knows_whose_the_description_is() {
    let site = applied(Site::fake());
    push(&site, "change", &names(12..24));
    let number = site.repo().open_pr("change", "main");
    let line = line(&plan(&site, number, "change").expect(3));
    let (head, base) = (site.repo().tip("change"), site.repo().tip("main"));
    let pull = Pull {
        number,
        head: &head,
        base: &base,
    };
    let job = Job::pull_request(&site, &pull).with("GITEA_TOKEN", "");
    let event = std::fs::read_to_string(site.bench.path("event.json")).unwrap();
    let mut event: Value = serde_json::from_str(&event).unwrap();
    event["pull_request"]["body"] = json!(line);
    job.event(&site, &event.to_string());
    site.bench
        .git(&["update-ref", "refs/remotes/origin/main", &base]);
    let run = site.in_job(&["plan"], &job).expect(3);
    run.shows("does not count: whether its author may write to this repository is not known");
}

#[test]
fn what_others_left_to_do_stands_apart_and_makes_nobody_red() {
    let site = applied(Site::scenario());
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
    let first = comment.lines().take(6).collect::<Vec<_>>().join("\n");
    assert!(
        first.contains(&format!(
            "This pull request is not the reason: after it is merged, its apply is refused until somebody agrees to the \
             deletions of pull request `#{}`:",
            pulls[0]
        )),
        "{comment}"
    );
    assert!(!comment.contains('\u{2060}'), "{comment}");
    let row = |name: &str| format!("| `{}` |", site.bench.server().name(name));
    let (own, others) = comment
        .split_once("#### Not of this pull request")
        .expect(comment);
    assert!(
        own.contains(&row("new")) && !own.contains(&row("x00")),
        "{comment}"
    );
    assert!(
        others.contains(&format!(", left to do by pull request `#{}`", pulls[0])),
        "{comment}"
    );
    assert!(others.contains(&row("x00")), "{comment}");
    // the line for the first, which is merged, lets everybody go on
    site.repo()
        .describe(pulls[0], agreements(&two)[0]["line"].as_str().unwrap());
    site.repo().merge(pulls[1]);
    let done = apply(&site).expect(0);
    assert_eq!(
        done.json()["summary"],
        json!({ "adopted": 0, "created": 1, "updated": 0, "deleted": 12, "failed": 0 })
    );
}

/// What another change left to do closes nothing that this one would: its row stands below, and its reach nowhere.
#[test]
fn what_others_left_to_do_is_no_loss_of_this_pull_request() {
    let site = Site::fake();
    let file = |groups: &[String], rule: bool| {
        let mut file: Value = serde_json::from_str(&file(&site, groups)).unwrap();
        file["policies"] = json!({ "stays": { "sources": ["x01"], "destinations": ["x01"] } });
        if rule {
            file["policies"]["old"] = json!({ "sources": ["x00"], "destinations": ["x01"] });
        }
        format!("{file:#}\n")
    };
    let push = |branch: &str, text: &str| {
        let repo = site.repo();
        repo.push(branch, "netbird.json", text.as_bytes(), "a change");
    };
    push("main", &file(&names(0..24), true));
    apply(&site).expect(0);
    let bench = &site.bench;
    bench.delete("/policies", "Default");
    for group in ["x00", "x01"] {
        let key = json!({ "name": "by-hand", "type": "reusable", "expires_in": 86400, "auto_groups": [bench.id("/groups", group)] });
        let made = bench.create("/setup-keys", key);
        bench
            .server()
            .enroll(made["key"].as_str().unwrap(), group)
            .unwrap();
    }
    push("one", &file(&names(0..12), false));
    let one = site.repo().open_pr("one", "main");
    let losses = |run: &Run| {
        run.json()["access"]["lost"]
            .to_string()
            .contains(r#"policy \"old\""#)
    };
    let run = plan(&site, one, "one").expect(3);
    assert!(losses(&run), "{}", run.json()["access"]);
    site.repo().merge(one);
    apply(&site).expect(3);
    push(
        "two",
        &file(&[names(0..12), vec!["new".into()]].concat(), false),
    );
    let two = site.repo().open_pr("two", "main");
    let run = plan(&site, two, "two").expect(2);
    assert!(run.stdout.contains("delete_policy"), "{}", run.stdout);
    assert!(!losses(&run), "{}", run.json()["access"]);
}

#[test]
fn a_gitea_that_cannot_be_asked_is_said_and_agrees_to_nothing() {
    let site = applied(Site::fake());
    push(&site, "change", &names(12..24));
    let number = site.repo().open_pr("change", "main");
    let line = line(&plan(&site, number, "change").expect(3));
    site.repo().describe(number, &line);
    let commit = site.repo().merge(number);
    let path = site.gitea().path(&format!("/commits/{commit}/pull"));
    let fault = fakes::Fault::on("GET", &path)
        .always()
        .then(fakes::Effect::Html(502));
    site.gitea().fault(fault);
    apply(&site)
        .expect(3)
        .shows("cannot ask whether a pull request agrees to deletions");
    site.gitea().clear_faults();
    apply(&site).expect(0);
}

#[test]
fn a_line_for_something_else_is_told() {
    let site = applied(Site::scenario());
    push(&site, "change", &names(12..24));
    let number = site.repo().open_pr("change", "main");
    let line = line(&plan(&site, number, "change").expect(3));
    site.repo().merge(number);
    let why = format!(
        "({}, in the description of pull request #{number}) does not count: what pull request #{number} deletes in this \
         environment has another line now",
        site.repo().person()
    );
    site.repo().describe(number, "Allow-Deletes: 12 0badf00d");
    apply(&site).expect(3).shows(&why);
    let fewer = line.replace(" 12 ", " 11 ");
    site.repo().describe(number, &fewer);
    apply(&site).expect(3).shows(&why);
    site.repo().describe(number, &line);
    let done = apply(&site).expect(0);
    assert_eq!(done.json()["notices"], json!([]), "{}", done.stdout);
}

#[test]
fn the_input_of_a_job_that_was_started_by_hand_agrees() {
    let site = applied(Site::scenario());
    push(&site, "change", &names(12..24));
    let number = site.repo().open_pr("change", "main");
    let line = line(&plan(&site, number, "change").expect(3));
    let commit = site.repo().merge(number);
    site.checkout(&commit);
    let by_hand = |input: &str| {
        let job = Job::push(&site, &commit).by_hand(&site);
        site.in_job(
            &["apply", "--yes", "--comment", "--allow-deletes", input],
            &job,
        )
    };
    let wanted = line.strip_prefix("Allow-Deletes: ").unwrap();
    let (number_alone, digest) = wanted.split_once(' ').unwrap();
    by_hand(number_alone).expect(1).says("is only a number");
    for input in ["", "12 0badf00d", &format!("11 {digest}")] {
        by_hand(input).expect(3);
    }
    by_hand(wanted).expect(0);
    let comments = site.repo().comments(number);
    let result = comments.last().unwrap()["body"].as_str().unwrap();
    assert!(result.contains("12 deleted"), "{result}");
}

#[test]
fn the_line_is_said_once_and_by_itself() {
    let site = applied(Site::scenario());
    push(&site, "change", &names(12..24));
    let number = site.repo().open_pr("change", "main");
    let line = line(&plan(&site, number, "change").expect(3));
    let commit = site.repo().merge(number);
    site.checkout(&commit);
    let refused = site
        .in_job(&["apply", "--comment"], &Job::push(&site, &commit))
        .expect(3);
    let hint = format!(
        "if this is meant, copy the line into the description of pull request #{number} and run this job again, or \
         into the message of a later commit (if that one leaves the file alone, start the apply workflow by hand); if not, undo the change (git revert)"
    );
    let log = format!("{}{}", refused.stdout, refused.stderr);
    let alone = |text: &str| text.lines().filter(|it| *it == line).count();
    assert_eq!((alone(&log), log.matches(&line).count()), (1, 1), "{log}");
    assert!(
        log.contains(&format!("\nhint: {hint}\n"))
            && log.contains("\nrefused: this plan deletes 12 objects"),
        "{log}"
    );
    let comments = site.repo().comments(number);
    let result = comments.last().unwrap()["body"].as_str().unwrap();
    assert_eq!(result.matches(&line).count(), 1, "{result}");
    assert!(
        result.contains(&format!("\n```\n{line}\n```\n")),
        "{result}"
    );
    assert!(!result.contains('\u{2060}'), "{result}");
}

#[test]
fn a_refusal_is_no_result_and_the_plan_of_a_merged_pull_request_stands() {
    let site = applied(Site::scenario());
    push(&site, "one", &names(12..24));
    push(&site, "two", &[names(0..24), vec!["new".into()]].concat());
    let pulls = ["one", "two"].map(|branch| site.repo().open_pr(branch, "main"));
    let line = line(&plan(&site, pulls[0], "one").expect(3));
    let comment = |number: u64, what: &str| {
        let comments = site.repo().comments(number);
        let mut bodies = comments
            .iter()
            .map(|comment| comment["body"].as_str().unwrap());
        let marker = format!("<!-- netbird-gitops {what} default -->");
        bodies
            .find(|body| body.starts_with(&marker))
            .map(str::to_owned)
    };
    let comment_apply = || {
        let tip = site.repo().tip("main");
        site.checkout(&tip);
        site.in_job(&["apply", "--comment"], &Job::push(&site, &tip))
    };
    site.repo().merge(pulls[0]);
    comment_apply().expect(3);
    site.repo().merge(pulls[1]);
    comment_apply().expect(3);
    for number in pulls {
        let refused = comment(number, "apply").unwrap();
        assert!(refused.contains("**refused**"), "{refused}");
    }
    // the description is edited after the merge: its plan job runs again
    site.repo().describe(pulls[0], &line);
    let reviewed = comment(pulls[0], "plan").unwrap();
    plan_of_merged(&site, pulls[0], "one");
    assert_eq!(comment(pulls[0], "plan").unwrap(), reviewed);
    // merged before its plan job ran: none is made up
    plan_of_merged(&site, pulls[1], "two");
    assert_eq!(comment(pulls[1], "plan"), None);
    comment_apply().expect(0);
    for number in pulls {
        let done = comment(number, "apply").unwrap();
        assert!(
            done.contains("1 created, 12 deleted") && !done.contains("refused"),
            "{done}"
        );
    }
}

/// The plan job of a pull request that is merged: it ends well, and says so.
fn plan_of_merged(site: &Site, number: u64, branch: &str) {
    let (head, base) = (site.repo().tip(branch), site.repo().tip("main"));
    site.checkout(&head);
    let pull = Pull {
        number,
        head: &head,
        base: &base,
    };
    let run = site.in_job(&["plan", "--comment"], &Job::pull_request(site, &pull));
    run.expect(0).shows(&format!(
        "Pull request #{number} is merged or closed. Its comment stays as it is"
    ));
}
