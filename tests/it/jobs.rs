//! What a job may do: it is never asked, it acts for the repository's branch only, and it is red where something that was
//! asked for could not be done.

use std::os::unix::ffi::OsStringExt;
use std::process::Command;

use serde_json::{Value, json};

use crate::run::{Bench, INVENTORY, Job, Run, Site, Terminal};
use crate::sync_events::used;

fn one_group() -> Value {
    json!({ "groups": { "g": {} } })
}

#[test]
fn a_terminal_is_asked_and_a_job_with_a_terminal_is_not() {
    let bench = Bench::fake();
    bench.file(one_group());
    for (answer, code) in [("n\n", 1), ("\n", 1), ("y\n", 0)] {
        let mut terminal = Terminal::start(bench.command(&["apply"]));
        terminal.reads_until("Apply 1 change? [y/N]");
        terminal.types(answer);
        terminal.ends(&bench).expect(code);
    }
    bench.delete("/groups", "g");
    // a question would get this answer
    for ci in ["true", "1", "woodpecker"] {
        let mut command = bench.command(&["apply", "--inventory", INVENTORY[1]]);
        command.env("CI", ci);
        let mut terminal = Terminal::start(command);
        terminal.types("n\n");
        terminal.ends(&bench).expect(0).shows("1 created");
        bench.delete("/groups", "g");
    }
}

#[test]
fn an_apply_reads_the_inventory_before_any_list_also_where_it_asks() {
    let site = Site::fake();
    site.commit(one_group());
    site.run(&["apply"]).expect(0);
    site.bench.server().clear_requests();
    let netbird = site.bench.netbird().clone();
    let (send, seen) = std::sync::mpsc::channel();
    let path = format!(
        "/repos/{}/contents/.netbird-gitops/default/inventory.json",
        site.repo().full_name()
    );
    site.gitea().before("GET", &path, move |_| {
        let _ = send.send(netbird.requests().len());
    });
    let terminal = Terminal::start(site.command(&["apply"]));
    terminal.ends(&site.bench).expect(0);
    assert_eq!(seen.recv().unwrap(), 0);
}

#[test]
fn the_first_signal_at_the_question_ends_it() {
    let bench = Bench::fake();
    bench.file(one_group());
    bench.server().clear_requests();
    let program = || bench.command(&["apply"]);
    let ignoring = with_interrupts_ignored(&program());
    for (command, signal, code) in [
        (program(), "INT", 130),
        (program(), "TERM", 143),
        (ignoring, "INT", 130),
    ] {
        let mut terminal = Terminal::start(command);
        terminal.reads_until("[y/N]");
        terminal.pid().signal(signal);
        // where the question still stood, this would be its answer
        terminal.types_in_vain("y\n");
        terminal.ends(&bench).expect(code);
        bench.assert_writes(&[]);
    }
}

/// The same command as a script starts it in the background.
fn with_interrupts_ignored(command: &Command) -> Command {
    let mut shell = Command::new("sh");
    shell
        .args(["-c", "trap '' INT; exec \"$0\" \"$@\""])
        .arg(command.get_program())
        .args(command.get_args())
        .env_clear()
        .envs(
            command
                .get_envs()
                .filter_map(|(key, value)| Some((key, value?))),
        )
        .current_dir(command.get_current_dir().unwrap());
    shell
}

#[test]
fn a_job_acts_for_the_repositorys_branch_only() {
    let site = used(Site::fake(), ["a"]);
    let commit = site.repo().tip("main");
    let push = |git_ref: &str| Job::push(&site, &commit).with("GITHUB_REF", git_ref);
    let dispatch = |git_ref: &str| push(git_ref).by_hand(&site);
    site.bench.server().clear_requests();
    let commands: [&[&str]; 3] = [&["apply"], &["sync-events"], &["mark-enrolled", "a"]];
    for args in commands {
        let command = args[0];
        for job in [
            dispatch("refs/heads/feature"),
            push("refs/heads/feature"),
            push("refs/heads/main2"),
            push("refs/heads/x/main"),
            push("refs/tags/main"),
            // another branch than the one that was named
            dispatch("refs/heads/main").with("GITEA_BRANCH", "live"),
        ] {
            let run = site.in_job(args, &job).expect(3);
            run.says(&format!("{command} works only for the branch "))
                .says("nothing was changed");
        }
        // an event that does not tell: the server is asked
        let job = push("refs/heads/feature").with("GITHUB_EVENT_NAME", "schedule");
        job.event(&site, "null");
        let run = site.in_job(args, &job).expect(3);
        run.says("works only for the branch main, and this job runs for refs/heads/feature");
    }
    assert!(site.bench.netbird().requests().is_empty());
    assert_eq!(site.repo().tip("main"), commit);
    // a plan of it is fine, and a dry run
    site.in_job(&["plan"], &dispatch("refs/heads/feature"))
        .expect(0);
    let dry = dispatch("refs/heads/feature").with("GITEA_BRANCH", "main");
    site.in_job(&["sync-events", "--dry-run"], &dry).expect(0);
    // and so is the branch itself, however it is named
    let adopt = format!("setup_keys/a={}", site.bench.id("/setup-keys", "a"));
    for job in [
        dispatch("refs/heads/main"),
        push("main"),
        push("refs/heads/live").with("GITEA_BRANCH", "live"),
        push("refs/heads/feature")
            .with("CI", "")
            .with("GITHUB_ACTIONS", "")
            .with("GITEA_ACTIONS", ""),
        // a CI that names no ref
        push("").with("GITHUB_EVENT_PATH", ""),
    ] {
        site.in_job(&["apply", "--any-commit", "--adopt", &adopt], &job)
            .expect(0);
    }
}

#[test]
fn enrollments_that_a_job_cannot_commit_are_no_green_run() {
    let site = used(Site::fake(), ["a"]);
    let job = |site: &Site| Job::schedule(site, &site.repo().tip("main")).with("GITEA_TOKEN", "");
    let run = site
        .in_job(&["sync-events", "--dry-run"], &job(&site))
        .expect(0);
    run.shows("1 key would be marked enrolled");
    let run = site.in_job(&["sync-events"], &job(&site)).expect(4);
    run.says("not committed: Gitea is not configured (GITEA_TOKEN not set)")
        .says("BOT_TOKEN");
    // peers and groups are done all the same
    site.bench.one("/peers", "a");
    // where somebody else commits
    site.in_job(&["sync-events", "--no-commit"], &job(&site))
        .expect(0);
    // nothing to mark needs no token
    site.in_job(
        &["sync-events"],
        &Job::schedule(&site, &site.repo().tip("main")),
    )
    .expect(0);
    site.checkout("origin/main");
    site.in_job(&["sync-events"], &job(&site)).expect(0);
}

#[test]
fn an_auditors_token_is_told_as_soon_as_there_is_news() {
    let site = used(Site::fake(), ["a"]);
    let auditor = site.bench.netbird().token_for("auditor");
    let job = Job::schedule(&site, &site.repo().tip("main")).with("NETBIRD_API_TOKEN", &auditor);
    site.bench.server().clear_requests();
    let run = site.in_job(&["sync-events"], &job).expect(3);
    run.says("the token's role auditor can change nothing in NetBird")
        .says("NETBIRD_APPLY_TOKEN");
    site.bench.assert_writes(&[]);
    site.in_job(&["sync-events", "--dry-run"], &job).expect(0);
    // without news it is not looked at
    site.run(&["sync-events"]).expect(0);
    site.checkout("origin/main");
    site.in_job(&["sync-events"], &job).expect(0);
}

#[test]
fn drift_without_its_issue_is_an_error_and_in_the_log() {
    let bench = Bench::in_git();
    bench.applied(0.0, one_group());
    let run = bench.run(&["drift", "--issue"]).expect(1);
    run.shows("no drift")
        .says("no issue: Gitea is not configured (GITEA_URL, GITEA_REPO, GITEA_TOKEN not set)");
    bench.delete("/groups", "g");
    let run = bench.run(&["drift", "--issue"]).expect(1);
    run.shows("group g");
    bench.run(&["drift"]).expect(2);
}

/// A site with git whose branch `change` was pushed with these files.
fn proposal(files: &[(&str, &str)]) -> (Site, u64) {
    let site = Site::fake();
    site.commit(one_group());
    for (path, text) in files {
        site.repo()
            .push("change", path, text.as_bytes(), "a change");
    }
    let number = site.repo().open_pr("change", "main");
    (site, number)
}

fn plan(site: &Site, number: u64, adapt: impl Fn(Job) -> Job) -> Run {
    let (head, base) = (site.repo().tip("change"), site.repo().tip("main"));
    let pull = crate::run::Pull {
        number,
        head: &head,
        base: &base,
    };
    site.checkout(&head);
    let job = adapt(Job::pull_request(site, &pull));
    site.in_job(&["plan", "--comment"], &job)
}

fn bodies(site: &Site, number: u64) -> Vec<String> {
    let comments = site.repo().comments(number);
    let body = |comment: &Value| comment["body"].as_str().unwrap().to_owned();
    comments.iter().map(body).collect()
}

#[test]
fn a_pull_request_that_does_not_touch_the_file_needs_nothing() {
    let (site, number) = proposal(&[("README.md", "hello")]);
    // the base's own changes are none of it
    site.repo()
        .push("main", "netbird.json", b"{\"groups\": {}}", "meanwhile");
    let no_secrets = |job: Job| job.with("NETBIRD_API_TOKEN", "").with("GITEA_TOKEN", "");
    let run = plan(&site, number, no_secrets).expect(0);
    run.shows("This pull request does not change netbird.json");
    plan(&site, number, |job| job).expect(0);
    // nor with a token that may not look
    let token = site.gitea().job_token_with(&[("contents", "read")]);
    plan(&site, number, |job| job.with("GITEA_TOKEN", &token)).expect(0);
    assert!(bodies(&site, number).is_empty());
    assert!(site.bench.netbird().requests().is_empty());
    let run = site.in_job(&["plan", "--format", "json"], &{
        let (head, base) = (site.repo().tip("change"), site.repo().tip("main"));
        Job::pull_request(
            &site,
            &crate::run::Pull {
                number,
                head: &head,
                base: &base,
            },
        )
    });
    let json = run.expect(0).json();
    assert_eq!(
        (&json["status"], &json["operations"]),
        (&json!("planned"), &json!([]))
    );
}

#[test]
fn a_push_that_takes_the_file_out_corrects_the_comment() {
    let (site, number) = proposal(&[("netbird.json", "{\"groups\": {\"g\": {}, \"h\": {}}}")]);
    plan(&site, number, |job| job).expect(0);
    assert!(bodies(&site, number)[0].contains("2 to create"));
    let old = site.file();
    site.repo()
        .push("change", "netbird.json", old.as_bytes(), "taken back");
    plan(&site, number, |job| job)
        .expect(0)
        .says("comment: http");
    let after = bodies(&site, number);
    assert_eq!(after.len(), 1);
    assert!(
        after[0].starts_with("<!-- netbird-gitops plan default -->\n### NetBird plan: no change\n"),
        "{}",
        after[0]
    );
    assert!(after[0].contains("does not change `netbird.json`"));
    // an old plan that cannot be corrected is no green run
    site.repo().push(
        "change",
        "netbird.json",
        b"{\"groups\": {\"g\": {}, \"h\": {}}}",
        "again",
    );
    plan(&site, number, |job| job).expect(0);
    site.repo()
        .push("change", "netbird.json", old.as_bytes(), "taken back");
    let id = site.repo().comments(number)[0]["id"].clone();
    let path = site.gitea().path(&format!("/issues/comments/{id}"));
    let fault = fakes::Fault::on("PATCH", &path).always();
    site.gitea()
        .fault(fault.then(fakes::Effect::Status(422, json!({ "message": "no" }))));
    plan(&site, number, |job| job)
        .expect(1)
        .says("cannot comment: ");
}

#[test]
fn the_comment_of_a_pull_request_that_was_merged_stays_as_it_was_reviewed() {
    let (site, number) = proposal(&[("netbird.json", "{\"groups\": {\"g\": {}, \"h\": {}}}")]);
    plan(&site, number, |job| job).expect(0);
    let reviewed = bodies(&site, number);
    let (head, base) = (site.repo().tip("change"), site.repo().tip("main"));
    site.repo().merge(number);
    site.checkout(&head);
    let pull = crate::run::Pull {
        number,
        head: &head,
        base: &base,
    };
    // merged while the job waited; and its description edited afterwards, of which the event tells
    let job = Job::pull_request(&site, &pull);
    let run = site.in_job(&["plan", "--comment"], &job).expect(0);
    run.shows("is merged or closed. Its comment stays as it is");
    for closed in [json!({ "state": "closed" }), json!({ "merged": true })] {
        let job = Job::pull_request(&site, &pull).with("NETBIRD_API_TOKEN", "");
        let path = site.bench.path("event.json");
        let mut event: Value =
            serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        let fields = closed.as_object().unwrap().clone();
        event["pull_request"]
            .as_object_mut()
            .unwrap()
            .extend(fields);
        event["action"] = json!("edited");
        job.event(&site, &event.to_string());
        let run = site.in_job(&["plan", "--comment"], &job).expect(0);
        run.shows("is merged or closed. Its comment stays as it is");
    }
    assert_eq!(bodies(&site, number), reviewed);
}

#[test]
fn a_variable_that_is_no_text_is_an_error_and_halt_halts_whatever_it_is() {
    let bench = Bench::fake();
    bench.file(one_group());
    let run = |args: &[&str], name: &str, value: &[u8]| {
        let mut command = bench.command(args);
        command.env(name, std::ffi::OsString::from_vec(value.to_vec()));
        bench.outcome(command.output().unwrap())
    };
    for value in [&b"\xff"[..], b" ", b"0", b"false", b"no\xe9"] {
        for args in [&["apply"][..], &["sync-events"], &["mark-enrolled", "a"]] {
            let run = run(args, "NETBIRD_GITOPS_HALT", value);
            run.expect(3).says("NETBIRD_GITOPS_HALT is set");
        }
        let run = run(&["plan"], "NETBIRD_GITOPS_HALT", value).expect(0);
        run.shows("apply would refuse").shows("NETBIRD_GITOPS_HALT");
    }
    bench.server().clear_requests();
    for name in [
        "AGE_PUBLIC_KEY",
        "GITEA_TOKEN",
        "GITEA_URL",
        "GITEA_BRANCH",
        "NETBIRD_API_TOKEN",
        "NETBIRD_ACCOUNT_ID",
        "NETBIRD_GITOPS_ENVIRONMENT",
        "NETBIRD_GITOPS_KEYS_DIR",
        "GITHUB_REF",
        "GITHUB_RUN_ID",
        "CI",
        "HTTPS_PROXY",
    ] {
        for command in ["apply", "plan", "sync-events", "drift", "export"] {
            let run = run(&[command], name, b"a\xff").expect(1);
            run.says(&format!("{name} holds bytes that are not UTF-8"));
        }
    }
    assert!(bench.netbird().requests().is_empty());
    // others' variables are theirs
    run(&["plan"], "SOMETHING", b"\xff").expect(0);
    bench.apply(&[]).expect(0);
}

#[test]
fn a_flag_goes_before_a_variable_and_a_refused_token_says_where_it_came_from() {
    let site = Site::fake();
    site.commit(one_group());
    let token = site.bench.server().token();
    let write = |name: &str, text: &str| std::fs::write(site.bench.path(name), text).unwrap();
    write("good", &format!("{token}\n"));
    write("bad", "nbp_unknown");
    let plan = |args: &[&str], environment: &[(&str, &str)]| {
        site.run_with(&[&["plan"], args].concat(), environment)
    };
    plan(
        &["--netbird-token-file", "good"],
        &[("NETBIRD_API_TOKEN", "nbp_unknown")],
    )
    .expect(0);
    plan(&["--netbird-token-file", "bad"], &[])
        .expect(1)
        .says("the token came from the file bad");
    plan(&[], &[("NETBIRD_API_TOKEN", "nbp_unknown")])
        .expect(1)
        .says("the token came from NETBIRD_API_TOKEN");
    // an empty flag is none; of the variables the one that holds the token goes first
    let bad_file = ("NETBIRD_API_TOKEN_FILE", "bad");
    plan(&["--netbird-token-file", ""], &[bad_file]).expect(0);
    plan(&[], &[("NETBIRD_API_TOKEN", ""), bad_file])
        .expect(1)
        .says("the token came from the file bad (NETBIRD_API_TOKEN_FILE)");
    // the same for Gitea's
    write("bot", &site.repo().token());
    let apply = |args: &[&str], environment: &[(&str, &str)]| {
        site.run_with(&[&["apply"], args].concat(), environment)
    };
    apply(&[], &[("GITEA_TOKEN", "unknown")])
        .expect(1)
        .says("the token came from GITEA_TOKEN");
    apply(&["--gitea-token-file", "bad"], &[])
        .expect(1)
        .says("the token came from the file bad");
    apply(
        &["--gitea-token-file", "bot"],
        &[("GITEA_TOKEN", "unknown")],
    )
    .expect(0);
}
