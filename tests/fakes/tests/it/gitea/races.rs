//! Two writers at once, and other things that happen in the middle of a write.

use std::sync::{Arc, Barrier};
use std::thread;

use fakes::client::Answer;
use fakes::{Effect, Fault, Gitea};
use serde_json::json;

use super::{FILE, message, put, put_body, send, send_as, text};

#[test]
fn push_before_the_write_makes_its_sha_stale() {
    for (gitea, status) in [(Gitea::start(), 422), (Gitea::start_forgejo(), 409)] {
        gitea.before("PUT", &gitea.path(FILE), |gitea| {
            gitea.push("main", "netbird.json", "theirs", "theirs\n");
        });
        let answer = put(&gitea, "ours");
        assert_eq!(answer.status, status);
        assert!(message(&answer).starts_with("sha does not match [given: "));
        assert_eq!(text(&gitea), "theirs");
        assert_eq!(put(&gitea, "ours").status, 200, "the hook runs once");
    }
}

#[test]
fn push_of_another_file_before_the_write_does_not_hurt() {
    let gitea = Gitea::start();
    gitea.before("PUT", &gitea.path(FILE), |gitea| {
        gitea.push("main", "README.md", "theirs", "theirs\n");
    });
    assert_eq!(put(&gitea, "ours").status, 200);
    assert_eq!(gitea.files("main"), ["README.md", "netbird.json"]);
}

#[test]
fn push_of_another_file_between_check_and_push_wins() {
    let gitea = Gitea::start();
    let (tip, sha) = (gitea.tip("main"), gitea.sha("main", "netbird.json"));
    gitea.race(|gitea| {
        gitea.push("main", "README.md", "theirs", "theirs\n");
    });
    let answer = put(&gitea, "ours");
    assert_eq!(answer.status, 403);
    let wanted = format!(
        "cannot lock ref 'refs/heads/main': is at {} but expected {}",
        gitea.tip("main").expect("a tip"),
        tip.expect("a tip")
    );
    assert_eq!(message(&answer), wanted);
    assert_eq!(gitea.sha("main", "netbird.json"), sha, "not written");
    assert_eq!(put(&gitea, "ours").status, 200);
    let subjects: Vec<String> = gitea.log("main").into_iter().map(|it| it.message).collect();
    assert_eq!(subjects, ["a change\n", "theirs\n", "Initial commit\n"]);
}

#[test]
fn lost_race_is_an_empty_500_on_forgejo() {
    let gitea = Gitea::start_forgejo();
    gitea.race(|gitea| {
        gitea.push("main", "README.md", "theirs", "theirs\n");
    });
    let answer = put(&gitea, "ours");
    assert_eq!((answer.status, message(&answer).as_str()), (500, ""));
}

#[test]
fn each_write_takes_one_race() {
    let gitea = Gitea::start();
    for number in 0..3 {
        gitea.race(move |gitea| {
            gitea.push("main", "other.txt", number.to_string(), "theirs\n");
        });
    }
    let statuses = [(); 4].map(|()| put(&gitea, "ours").status);
    assert_eq!(statuses, [403, 403, 403, 200]);
}

#[test]
fn race_that_pushes_nothing_to_the_branch_is_none() {
    let gitea = Gitea::start();
    gitea.race(|gitea| {
        gitea.push("feature", "netbird.json", "theirs", "theirs\n");
    });
    assert_eq!(put(&gitea, "ours").status, 200);
}

/// Sends one PUT for each body at the same moment.
fn at_once(gitea: &Gitea, writes: Vec<(String, serde_json::Value)>) -> Vec<Answer> {
    let gate = Arc::new(Barrier::new(writes.len()));
    let threads = writes.into_iter().map(|(path, body)| {
        let (gitea, gate) = (gitea.clone(), Arc::clone(&gate));
        thread::spawn(move || {
            gate.wait();
            send(&gitea, "PUT", &path, Some(body))
        })
    });
    let threads: Vec<_> = threads.collect();
    let answer = |thread: thread::JoinHandle<Answer>| thread.join().expect("an answer");
    threads.into_iter().map(answer).collect()
}

#[test]
fn of_eight_writers_of_one_file_one_wins_each_round() {
    for (gitea, lost) in [
        (Gitea::start(), [403, 422]),
        (Gitea::start_forgejo(), [500, 409]),
    ] {
        for round in 0..4 {
            let before = gitea.tip("main").expect("a tip");
            let body = |writer| {
                (
                    FILE.to_owned(),
                    put_body(&gitea, &format!("{round} {writer}")),
                )
            };
            let answers = at_once(&gitea, (0..8).map(body).collect());
            let statuses: Vec<u16> = answers.iter().map(|answer| answer.status).collect();
            let won: Vec<&Answer> = answers.iter().filter(|it| it.status == 200).collect();
            let [winner] = won[..] else {
                panic!("not one winner: {statuses:?}");
            };
            let others = statuses.iter().filter(|status| **status != 200);
            assert!(
                others.copied().all(|status| lost.contains(&status)),
                "{statuses:?}"
            );
            let tip = gitea.tip("main").expect("a tip");
            assert_eq!(winner.json["commit"]["sha"], json!(tip));
            assert_eq!(winner.json["commit"]["parents"][0]["sha"], json!(before));
        }
    }
}

#[test]
fn of_eight_writers_of_eight_files_those_that_were_told_so_have_written() {
    let gitea = Gitea::start();
    let write = |number: usize| {
        let body = json!({"content": "eA==", "branch": "main", "message": "m"});
        (format!("/contents/{number}.txt"), body)
    };
    let answers = at_once(&gitea, (0..8).map(write).collect());
    let files = gitea.files("main");
    for (number, answer) in answers.iter().enumerate() {
        let is_there = files.contains(&format!("{number}.txt"));
        assert_eq!(answer.status == 201, is_there, "{answer:?}");
        assert!([201, 403].contains(&answer.status), "{answer:?}");
    }
    assert!(files.len() > 1, "nobody won");
}

#[test]
fn lost_answer_of_a_write_that_was_done() {
    let gitea = Gitea::start();
    let path = gitea.path(FILE);
    gitea.fault(Fault::on("PUT", &path).then(Effect::ErrorAfter));
    let answer = put(&gitea, "ours");
    assert_eq!((answer.status, message(&answer).as_str()), (500, ""));
    assert_eq!(text(&gitea), "ours");

    gitea.fault(Fault::on("PUT", &path).then(Effect::CutAfter));
    let url = format!("{}/api/v1{path}", gitea.url());
    let body = put_body(&gitea, "again");
    let token = gitea.token();
    assert!(fakes::client::send("PUT", &url, Some(&token), Some(&body)).is_err());
    assert_eq!(text(&gitea), "again");
}

#[test]
fn faults_of_the_network_and_of_proxies() {
    let gitea = Gitea::start();
    let path = gitea.path(FILE);
    let get = || send(&gitea, "GET", FILE, None);
    let answer = |effect| {
        gitea.fault(Fault::on("GET", &path).then(effect));
        get()
    };
    let list = answer(Effect::Status(200, json!([])));
    assert_eq!((list.status, list.json), (200, json!([])));
    let empty = answer(Effect::Empty(403));
    assert_eq!((empty.status, empty.text.as_str()), (403, ""));
    assert_eq!(answer(Effect::Html(502)).status, 502);
    assert_eq!(answer(Effect::Redirect(301, "/x".to_owned())).status, 301);
    assert_eq!(get().status, 200);
    assert_eq!(gitea.requests().len(), 5);
}

#[test]
fn hook_may_send_requests_itself() {
    let gitea = Gitea::start();
    gitea.race(|gitea| {
        let token = gitea.token_of("alice", &["write:repository"]);
        let body = put_body(gitea, "theirs");
        assert_eq!(send_as(gitea, &token, "PUT", FILE, Some(body)).status, 200);
    });
    assert_eq!(put(&gitea, "ours").status, 403);
    assert_eq!(gitea.log("main")[0].pusher, "alice");
}
