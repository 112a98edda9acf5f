//! Comments, issues, pull requests, statuses.

use fakes::Gitea;
use serde_json::{Value, json};

use super::{FILE, put_body, send, send_as};

#[test]
fn list_of_120_comments_is_one_answer_whatever_the_page() {
    let gitea = Gitea::start();
    let number = gitea.open_pr("feature", "main");
    for count in 0..120 {
        gitea.comment("alice", number, &count.to_string());
    }
    let list = |query: &str| {
        send(
            &gitea,
            "GET",
            &format!("/issues/{number}/comments{query}"),
            None,
        )
    };
    let first = list("");
    assert_eq!(first.json.as_array().map(Vec::len), Some(120));
    assert_eq!(first.json[0]["body"], "0", "oldest first");
    assert_eq!(list("?page=2").json, first.json);
    assert_eq!(json!(gitea.comments(number)), first.json);
    let all = send(&gitea, "GET", "/issues/comments?page=3&limit=50", None);
    assert_eq!(
        all.json.as_array().map(Vec::len),
        Some(20),
        "this list has pages"
    );
}

#[test]
fn locked_conversation_is_closed_to_readers_on_gitea() {
    for (gitea, status) in [(Gitea::start(), 403), (Gitea::start_forgejo(), 201)] {
        let reader = gitea.add_user("bob", "read");
        let number = gitea.open_issue("drift", "");
        gitea.lock(number);
        let path = format!("/issues/{number}/comments");
        let post = |token: &str| {
            let body = Some(json!({"body": "x"}));
            send_as(&gitea, token, "POST", &path, body).status
        };
        assert_eq!([post(&reader), post(&gitea.token())], [status, 201]);
    }
}

#[test]
fn same_text_again_leaves_the_time_alone_on_gitea() {
    for (gitea, moves) in [(Gitea::start(), false), (Gitea::start_forgejo(), true)] {
        gitea.set_clock(1_795_820_567);
        let number = gitea.open_issue("drift", "");
        let id = gitea.comment("gitops-bot", number, "plan");
        gitea.advance(60);
        let body = Some(json!({"body": "plan"}));
        let edited = send(&gitea, "PATCH", &format!("/issues/comments/{id}"), body).json;
        assert_eq!(edited["updated_at"] != edited["created_at"], moves);
    }
}

#[test]
fn message_on_the_default_branch_closes_issues() {
    let gitea = Gitea::start();
    for title in ["one", "two", "three"] {
        gitea.open_issue(title, "");
    }
    gitea.push("main", "x", "y", "chore: mark fixes #1 as enrolled\n");
    gitea.push("feature", "x", "z", "fixes #2\n");
    let mut body = put_body(&gitea, "{}");
    body["message"] = json!("closes: #3");
    assert_eq!(send(&gitea, "PUT", FILE, Some(body)).status, 200);
    let states: Vec<Value> = gitea
        .issues()
        .iter()
        .map(|it| it["state"].clone())
        .collect();
    assert_eq!(states, ["closed", "open", "closed"]);
}

#[test]
fn labels_filter_issues_and_unknown_ones_do_not() {
    let gitea = Gitea::start();
    let label = || {
        let body = json!({"name": "drift", "color": "#FF0000"});
        send(&gitea, "POST", "/labels", Some(body)).json["id"].clone()
    };
    let (one, two) = (label(), label());
    assert_ne!(one, two, "a second label of the same name");
    let issue = json!({"title": "a", "labels": [one]});
    assert_eq!(send(&gitea, "POST", "/issues", Some(issue)).status, 201);
    let named = json!({"title": "b", "labels": ["drift"]});
    assert_eq!(send(&gitea, "POST", "/issues", Some(named)).status, 422);
    gitea.open_issue("c", "");
    let count = |query: &str| {
        let list = send(&gitea, "GET", &format!("/issues?{query}"), None).json;
        list.as_array().map_or(0, Vec::len)
    };
    assert_eq!(
        [
            count("labels=drift"),
            count("labels=nope"),
            count("created_by=alice")
        ],
        [1, 2, 1]
    );
    let attached = send(
        &gitea,
        "POST",
        "/issues/2/labels",
        Some(json!({"labels": ["drift"]})),
    );
    assert_eq!(attached.json.as_array().map(Vec::len), Some(2));
}

#[test]
fn pull_is_found_in_any_state_and_merges() {
    let gitea = Gitea::start();
    let mut body = put_body(&gitea, "{ }");
    body["new_branch"] = json!("enrol/x");
    assert_eq!(send(&gitea, "PUT", FILE, Some(body)).status, 200);
    let pull = json!({"head": "enrol/x", "base": "main", "title": "enrolled"});
    let made = send(&gitea, "POST", "/pulls", Some(pull)).json;
    assert_eq!(made["head"]["sha"], json!(gitea.tip("enrol/x")));
    let number = made["number"].as_i64().expect("a number");
    let find = || send(&gitea, "GET", "/pulls/main/enrol/x", None).json;
    assert_eq!(find()["state"], "open");
    gitea.push("main", "README.md", "x", "theirs\n");
    let merge = gitea.merge(number);
    let found = find();
    assert_eq!(
        (&found["merged"], &found["merge_commit_sha"]),
        (&json!(true), &json!(merge))
    );
    assert_eq!(gitea.file("main", "netbird.json"), b"{ }");
    assert_eq!(gitea.log("main")[0].parents.len(), 2);
    let list = |state: &str| send(&gitea, "GET", &format!("/pulls?state={state}"), None).json;
    assert_eq!(
        [list("open"), list("all")].map(|list| list.as_array().map(Vec::len)),
        [Some(0), Some(1)]
    );
    assert_eq!(found["merged_by"]["login"], "alice");
    assert_eq!(gitea.pulls()[0]["number"], found["number"]);
}

#[test]
fn job_token_opens_pulls_on_gitea_with_both_permissions() {
    let pull = json!({"head": "feature", "base": "main", "title": "x"});
    for (gitea, statuses) in [
        (Gitea::start(), [403, 201]),
        (Gitea::start_forgejo(), [404, 404]),
    ] {
        gitea.push("feature", "x", "y", "m\n");
        let tokens = [
            gitea.job_token_with(&[("contents", "write"), ("pull-requests", "read")]),
            gitea.job_token(),
        ];
        let post = |token: String| send_as(&gitea, &token, "POST", "/pulls", Some(pull.clone()));
        assert_eq!(tokens.map(post).map(|answer| answer.status), statuses);
    }
}

#[test]
fn statuses_take_any_word_and_answer_another_field() {
    let gitea = Gitea::start();
    let tip = gitea.tip("main").expect("a tip");
    let post = |state: &str, context: &str| {
        let body = json!({"state": state, "context": context});
        send(&gitea, "POST", &format!("/statuses/{tip}"), Some(body))
    };
    assert_eq!(post("pending", "plan").json["status"], "pending");
    assert_eq!(post("bogus", "plan").status, 201);
    assert_eq!(post("success", "apply").status, 201);
    assert_eq!(gitea.statuses(&tip).len(), 3);
    let combined = send(&gitea, "GET", "/commits/main/status", None).json;
    assert_eq!(
        (&combined["total_count"], &combined["state"]),
        (&json!(2), &json!("success"))
    );
    let list = send(&gitea, "GET", &format!("/commits/{tip}/statuses"), None).json;
    assert_eq!(list[0]["context"], "apply");
}
