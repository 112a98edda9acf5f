//! The whole loop: a pull request with a plan, an apply, a peer that enrolls under another hostname, `sync-events`, one
//! flag in the repository, an apply with nothing to do. On the fakes, or on real servers (see `Site::scenario`).

use serde_json::{Value, json};

use crate::run::{Job, Pull, Site};

/// A network with these keys, which all join one group.
fn network(keys: &[&str]) -> Value {
    let mut file = json!({
        "groups": { "pilots": { "peers": keys }, "observers": { "peers": keys } },
        "setup_keys": {},
        "policies": { "pilots-to-pilots": { "sources": ["pilots"], "destinations": ["pilots"] } }
    });
    for key in keys {
        file["setup_keys"][*key] = json!({ "type": "one-off", "expires_in": 604800, "usage_limit": 1,
                                           "auto_groups": ["pilots"], "enrolled": false });
    }
    file
}

/// Marks one key in a text as `sync-events` must: one word, nothing else.
pub(crate) fn flipped(text: &str, name: &str) -> String {
    let key = text.find(&format!("\"{name}\": {{")).expect("the key");
    let at = key + text[key..].find("\"enrolled\": false").expect("a flag");
    let (before, after) = text.split_at(at);
    before.to_owned() + &after.replacen("\"enrolled\": false", "\"enrolled\": true", 1)
}

#[track_caller]
fn assert_member(site: &Site, group: &str, peer: &str) {
    let peers = &site.bench.one("/groups", group)["peers"];
    let name = json!(site.bench.server().name(peer));
    let mut peers = peers.as_array().unwrap().iter();
    assert!(
        peers.any(|member| member["name"] == name),
        "{group} has no {peer}"
    );
}

/// From the pull request that adds `key` to the no-op apply after its enrollment.
fn round(site: &Site, key: &str, file: &str) -> String {
    let (repo, bench) = (site.repo(), &site.bench);
    let base = repo.tip("main");
    // a first try, and what review made of it
    let branch = format!("add-{key}");
    let draft = file.replace("604800", "86400");
    let head = repo.push(&branch, "netbird.json", draft.as_bytes(), "a first try");
    let number = repo.open_pr(&branch, "main");
    site.checkout(&head);
    let pull = |head| Pull {
        number,
        head,
        base: &base,
    };
    let job = Job::pull_request(site, &pull(&head));
    site.in_job(&["plan", "--comment"], &job).expect(0);
    let first = repo.comments(number);
    assert_eq!(first.len(), 1);
    let head = repo.push(&branch, "netbird.json", file.as_bytes(), "a week");
    site.checkout(&head);
    let job = Job::pull_request(site, &pull(&head));
    site.in_job(&["plan", "--comment"], &job).expect(0);
    let comments = repo.comments(number);
    assert_eq!(comments.len(), 1);
    assert_eq!(comments[0]["id"], first[0]["id"]);
    assert_ne!(comments[0]["body"], first[0]["body"]);
    let body = comments[0]["body"].as_str().unwrap();
    assert!(
        body.starts_with("<!-- netbird-gitops plan default -->\n") && body.contains(key),
        "{body}"
    );

    // merged: the apply makes the key, and answers on the same pull request
    let merge = repo.merge(number);
    site.checkout(&merge);
    let on_main = site.file();
    assert_eq!(on_main, file);
    let job = Job::push(site, &merge);
    let run = site
        .in_job(&["apply", "--comment", "--format", "json"], &job)
        .expect(0);
    let made = format!("create_setup_key {key} success");
    assert!(run.operations().contains(&made), "{:?}", run.operations());
    let comments = repo.comments(number);
    assert_eq!(comments.len(), 2);
    let body = comments[1]["body"].as_str().unwrap();
    assert!(body.starts_with("<!-- netbird-gitops apply default -->\n"));

    // a machine enrolls under its own name; the clock's job has an old checkout
    let secret = bench.unseal(key);
    assert!(!body.contains(&secret));
    let hostname = format!("host-of-{key}");
    bench.server().enroll(&secret, &hostname).unwrap();
    let commits = repo.messages("main").len();
    let job = Job::schedule(site, &merge);
    let run = site
        .in_job(&["sync-events", "--format", "json"], &job)
        .expect(0);
    let done = &run.json()["enrollments"][0];
    assert_eq!(done["setup_key_name"], key);
    assert_eq!(done["peer_id"], json!(bench.id("/peers", key)));
    assert_eq!(done["renamed"], true);
    assert_eq!(done["groups_assigned"], true);
    assert_eq!(done["groups"], json!(["observers", "pilots"]));
    for group in ["pilots", "observers"] {
        assert_member(site, group, key);
    }
    let name = bench.server().name(key);
    let marked = flipped(&on_main, &name);
    assert_eq!(site.file(), marked);
    let messages = repo.messages("main");
    assert_eq!(messages.len(), commits + 1);
    let wanted = format!("chore: mark {name} as enrolled [automated]");
    assert_eq!(messages[0], wanted);

    // that commit starts an apply, which has nothing to do, and the next tick of the clock finds nothing
    let tip = repo.tip("main");
    site.checkout(&tip);
    bench.server().clear_requests();
    let run = site.in_job(&["apply"], &Job::push(site, &tip)).expect(0);
    run.shows("No changes");
    bench.assert_writes(&[]);
    bench
        .plan(&["--detailed-exitcode"])
        .expect(0)
        .shows("No changes");
    let run = site.in_job(&["sync-events"], &Job::schedule(site, &tip));
    run.expect(0).shows("every used key is marked");
    assert_eq!(repo.tip("main"), tip);
    marked
}

#[test]
fn the_whole_loop_twice_in_a_row() {
    let site = Site::scenario_that_enrolls();
    site.commit(network(&[]));
    let first = round(
        &site,
        "Pilot-hawk-72",
        &site.text(network(&["Pilot-hawk-72"])),
    );
    // the second key comes into the file as it is by now
    let second = site.text(network(&["Pilot-hawk-72", "Pilot-kite-8"]));
    let second = flipped(&second, &site.bench.server().name("Pilot-hawk-72"));
    assert_ne!(first, second);
    round(&site, "Pilot-kite-8", &second);
}

/// A site where these keys are used, each by a machine with another hostname.
fn enrolled(keys: &[&str]) -> (Site, String) {
    let site = Site::scenario_that_enrolls();
    let text = site.commit(network(keys));
    site.run(&["apply", "--prune", "none"]).expect(0);
    for key in keys {
        let secret = site.bench.unseal(key);
        let hostname = format!("host-of-{key}");
        site.bench.server().enroll(&secret, &hostname).unwrap();
    }
    (site, text)
}

#[test]
fn two_sync_events_at_once_flip_each_flag_once() {
    let keys = ["one", "two"];
    let (site, text) = enrolled(&keys);
    let commits = site.repo().messages("main").len();
    let runs = [(); 2].map(|()| site.start(&["sync-events"]));
    for run in runs {
        run.wait(&site.bench).expect(0);
    }
    let marked = keys.iter().fold(text, |text, key| {
        flipped(&text, &site.bench.server().name(key))
    });
    assert_eq!(site.file(), marked);
    assert_eq!(site.repo().messages("main").len(), commits + 1);
    for key in keys {
        site.bench.one("/peers", key);
        for group in ["pilots", "observers"] {
            assert_member(&site, group, key);
        }
    }
    site.bench.text(&site.file());
    site.run(&["apply", "--prune", "none"])
        .expect(0)
        .shows("No changes");
}

#[test]
fn an_apply_before_sync_events_does_the_same_but_for_the_commit() {
    let (site, text) = enrolled(&["one"]);
    let run = site.run(&["apply", "--prune", "none", "--format", "json"]);
    let wanted = ["update_group observers success", "rename_peer one success"];
    let mut operations = run.expect(0).operations();
    operations.sort_by_key(|operation| operation.starts_with("rename"));
    assert_eq!(operations, wanted);
    assert_eq!(site.file(), text);
    site.bench.server().clear_requests();
    let run = site.run(&["sync-events", "--format", "json"]).expect(0);
    let done = &run.json()["enrollments"][0];
    assert_eq!(
        (&done["renamed"], &done["groups_assigned"]),
        (&json!(false), &json!(true))
    );
    site.bench.assert_writes(&[]);
    let name = site.bench.server().name("one");
    assert_eq!(site.file(), flipped(&text, &name));
}

#[test]
fn eight_writers_at_once_all_succeed() {
    let keys = ["a", "b", "c", "d", "e", "f", "g", "h"];
    let site = Site::scenario_that_enrolls();
    let text = site.commit(network(&keys));
    let before = site.repo().messages("main").len();
    let name = |key| site.bench.server().name(key);
    let runs = keys.map(|key| site.start(&["mark-enrolled", &name(key)]));
    for run in runs {
        run.wait(&site.bench).expect(0).shows("Marked enrolled");
    }
    let marked = keys
        .iter()
        .fold(text, |text, key| flipped(&text, &name(key)));
    assert_eq!(site.file(), marked);
    // nobody wrote for another one, and nobody twice
    let mut messages = site.repo().messages("main");
    messages.truncate(messages.len() - before);
    messages.sort();
    let wanted = keys.map(|key| format!("chore: mark {} as enrolled [automated]", name(key)));
    assert_eq!(messages, wanted);
}

#[test]
fn on_a_protected_branch_one_pull_request_takes_all_keys() {
    let keys = ["one", "two"];
    let (site, text) = enrolled(&keys);
    site.repo().protect("main");
    let run = site.run(&["sync-events"]).expect(4);
    run.says("not committed: ").says("--via-pr");
    assert_eq!(site.file(), text);

    let run = site.run(&["sync-events", "--via-pr"]).expect(0);
    run.shows(" opened: ");
    // the same again, and two at once, leave it as it is, and say nothing
    let runs = [(); 2].map(|()| site.start(&["sync-events", "--via-pr"]));
    for run in runs {
        let run = run.wait(&site.bench).expect(0);
        // on a real server other tests enroll machines in the same account
        let mut said = run.stdout.lines();
        let all = said.all(|line| line.ends_with("which the file does not declare"));
        assert!(all, "{}", run.stdout);
    }
    let pulls = site.repo().pulls();
    assert_eq!(pulls.len(), 1, "{pulls:?}");
    assert_eq!(
        pulls[0]["title"],
        "chore: mark 2 keys as enrolled [automated]"
    );
    site.repo().merge(pulls[0]["number"].as_u64().unwrap());
    let marked = keys.iter().fold(text, |text, key| {
        flipped(&text, &site.bench.server().name(key))
    });
    assert_eq!(site.file(), marked);
    let run = site.run(&["sync-events", "--via-pr"]).expect(0);
    run.shows("Nothing to mark");
}

#[test]
fn two_plans_at_once_leave_one_comment() {
    let site = Site::scenario_that_enrolls();
    let base = site.repo().tip("main");
    let text = site.text(network(&["one"]));
    let head = site
        .repo()
        .push("change", "netbird.json", text.as_bytes(), "a change");
    site.bench.text(&text);
    let number = site.repo().open_pr("change", "main");
    let pull = Pull {
        number,
        head: &head,
        base: &base,
    };
    let job = Job::pull_request(&site, &pull);
    for _ in 0..2 {
        let runs = [(); 2].map(|()| site.start_job(&["plan", "--comment"], &job));
        for run in runs {
            run.wait(&site.bench).expect(0);
        }
        assert_eq!(site.repo().comments(number).len(), 1);
    }
}
