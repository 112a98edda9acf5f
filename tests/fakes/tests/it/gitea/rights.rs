//! Tokens, permissions, branch rules, and repositories that take nothing.

use fakes::Gitea;
use fakes::client;
use serde_json::{Value, json};

use super::{FILE, message, put, put_as, put_body, send, send_as, text};

/// Returns status and message of an answer.
fn told(answer: &client::Answer) -> (u16, String) {
    (answer.status, message(answer))
}

#[test]
fn job_token_writes_where_no_rule_is() {
    let gitea = Gitea::start();
    let token = gitea.job_token();
    assert_eq!(put_as(&gitea, &token, "by a job").status, 200);
    assert_eq!(gitea.log("main")[0].pusher, "gitea-actions");
    gitea.protect("main", json!({"enable_push": true}));
    let refused = (
        403,
        "user cannot commit to repo [user: gitea-actions]".to_owned(),
    );
    assert_eq!(told(&put_as(&gitea, &token, "again")), refused);
    assert_eq!(put(&gitea, "by the bot").status, 200);
    gitea.protect(
        "main",
        json!({"enable_push": true, "unprotected_file_patterns": "netbird.json"}),
    );
    let refused = (
        403,
        "Internal Server Error (no message for end users)".to_owned(),
    );
    assert_eq!(told(&put_as(&gitea, &token, "again")), refused);
    gitea.revoke(&token);
    assert_eq!(put_as(&gitea, &token, "late").status, 401);
}

#[test]
fn job_token_never_writes_files_on_forgejo() {
    let gitea = Gitea::start_forgejo();
    let token = gitea.job_token_with(&[]);
    assert_eq!(
        told(&put_as(&gitea, &token, "by a job")),
        (500, String::new())
    );
    let number = gitea.open_pr("feature", "main");
    let path = format!("/issues/{number}/comments");
    let answer = send_as(&gitea, &token, "POST", &path, Some(json!({"body": "plan"})));
    assert_eq!(answer.status, 201);
    assert_eq!(answer.json["user"]["login"], "forgejo-actions");
}

#[test]
fn job_token_has_the_permissions_of_its_job() {
    let gitea = Gitea::start();
    let number = gitea.open_pr("feature", "main");
    let comments = format!("/issues/{number}/comments");
    let token = gitea.job_token_with(&[("contents", "read")]);
    let get = |path: &str| send_as(&gitea, &token, "GET", path, None).status;
    assert_eq!([get(FILE), get(&comments)], [200, 404]);
    assert_eq!(put_as(&gitea, &token, "x").status, 403);
    let token = gitea.job_token_with(&[("pull-requests", "read")]);
    let post = send_as(
        &gitea,
        &token,
        "POST",
        &comments,
        Some(json!({"body": "plan"})),
    );
    assert_eq!(post.json["user"]["id"], -2);
    let own = format!("/issues/comments/{}", post.json["id"]);
    let others = format!(
        "/issues/comments/{}",
        gitea.comment("alice", number, "hello")
    );
    let patch = |path: &str| {
        let answer = send_as(
            &gitea,
            &token,
            "PATCH",
            path,
            Some(json!({"body": "plan 2"})),
        );
        (answer.status, answer.text.is_empty())
    };
    assert_eq!(patch(&own), (200, false));
    assert_eq!(patch(&others), (403, true));
}

#[test]
fn whitelist_lets_the_bot_alone_push() {
    let gitea = Gitea::start();
    let human = gitea.token_of("alice", &["write:repository"]);
    gitea.protect(
        "main",
        json!({"enable_push": true, "enable_push_whitelist": true,
            "push_whitelist_usernames": ["gitops-bot"]}),
    );
    assert_eq!(put_as(&gitea, &human, "alice's").status, 403);
    assert_eq!(put(&gitea, "the bot's").status, 200);
    let pushes = |token: &str| {
        let branch = send_as(&gitea, token, "GET", "/branches/main", None).json;
        branch["user_can_push"].clone()
    };
    assert_eq!(
        [pushes(&human), pushes(&gitea.token())],
        [json!(false), json!(true)]
    );
    gitea.unprotect();
    assert_eq!(put_as(&gitea, &human, "alice's").status, 200);
}

#[test]
fn rule_that_wants_signatures_refuses_like_any_other() {
    let gitea = Gitea::start();
    gitea.protect(
        "ma*",
        json!({"enable_push": true, "require_signed_commits": true}),
    );
    let refused = (
        403,
        "user cannot commit to repo [user: gitops-bot]".to_owned(),
    );
    assert_eq!(told(&put(&gitea, "unsigned")), refused);
}

#[test]
fn user_of_jobs_is_on_no_whitelist() {
    let gitea = Gitea::start();
    let rule = json!({"rule_name": "main", "push_whitelist_usernames": ["gitea-actions"]});
    let (status, body) = gitea.call("POST", &gitea.path("/branch_protections"), rule);
    assert_eq!(status, 422, "{body}");
    let answer = send(&gitea, "GET", "/branch_protections", None);
    assert_eq!(answer.status, 403, "for admins of the repository");
}

#[test]
fn nothing_is_written_to_archives_mirrors_and_past_hooks() {
    for (gitea, hook, mirror) in [
        (Gitea::start(), (403, "not on Fridays"), 423),
        (Gitea::start_forgejo(), (500, ""), 500),
    ] {
        let before = gitea.log("main");
        gitea.refuse_pushes(Some("not on Fridays"));
        assert_eq!(told(&put(&gitea, "x")), (hook.0, hook.1.to_owned()));
        gitea.refuse_pushes(None);
        gitea.make_mirror();
        assert_eq!(put(&gitea, "x").status, mirror);
        gitea.archive();
        let number = gitea.open_issue("drift", "");
        assert_eq!(put(&gitea, "x").status, 423);
        let comments = format!("/issues/{number}/comments");
        let answer = send(&gitea, "POST", &comments, Some(json!({"body": "x"})));
        assert_eq!(answer.status, 423);
        assert_eq!(gitea.log("main"), before);
    }
}

#[test]
fn renamed_repository_is_301_for_everyone() {
    let gitea = Gitea::start();
    let old = format!("{}/api/v1{}", gitea.url(), gitea.path(FILE));
    let body = put_body(&gitea, "x");
    gitea.rename_repo("renamed");
    assert_eq!(gitea.repo(), "acme/renamed");
    for token in [Some(gitea.token()), None] {
        let answer = client::send("PUT", &old, token.as_deref(), Some(&body)).expect("an answer");
        assert_eq!((answer.status, answer.text.as_str()), (301, ""));
        let location = (
            "location".to_owned(),
            "/api/v1/repos/acme/renamed/contents/netbird.json".to_owned(),
        );
        assert!(answer.headers.contains(&location), "{answer:?}");
    }
    assert_eq!(text(&gitea), "{\n  \"groups\": {}\n}\n");
    assert_eq!(put(&gitea, "x").status, 200);
}

#[test]
fn who_sees_the_repository() {
    let gitea = Gitea::start();
    let stranger = gitea.add_user("mallory", "none");
    let reader = gitea.add_user("bob", "read");
    let get = |token: &str| send_as(&gitea, token, "GET", FILE, None).status;
    assert_eq!(
        [get(&stranger), get(&reader), get(""), get("x y"), get("x")],
        [404, 200, 404, 404, 401]
    );
    assert_eq!(put_as(&gitea, "", "x").status, 404);
    gitea.publish();
    assert_eq!([get(&stranger), get("")], [200, 200]);
    assert_eq!(
        told(&put_as(&gitea, "", "x")),
        (401, "token is required".to_owned())
    );
    gitea.permit("gitops-bot", "read");
    assert_eq!(put(&gitea, "x").status, 403);
}

#[test]
fn scopes_are_asked_for_by_part_and_method() {
    let gitea = Gitea::start();
    let token = gitea.token_with(&["read:repository", "write:issue"]);
    let answer = put_as(&gitea, &token, "x");
    let wanted = "token does not have at least one of required scope(s), \
        required=[write:repository], token scope=read:repository,write:issue";
    assert_eq!(told(&answer), (403, wanted.to_owned()));
    assert_eq!(send_as(&gitea, &token, "GET", FILE, None).status, 200);
    let issue = json!({"title": "drift"});
    assert_eq!(
        send_as(&gitea, &token, "POST", "/issues", Some(issue)).status,
        201
    );
    assert!(gitea.secrets().contains(&token));
}

#[test]
fn repository_tells_what_the_caller_may() {
    let gitea = Gitea::start();
    let permissions = |token: &str| {
        let repo = send_as(&gitea, token, "GET", "", None).json;
        repo["permissions"].clone()
    };
    let levels = |admin, push| json!({"admin": admin, "push": push, "pull": true});
    assert_eq!(permissions(&gitea.token()), levels(false, true));
    assert_eq!(permissions(&gitea.admin_token()), levels(true, true));
    let job = gitea.job_token_with(&[("contents", "read")]);
    assert_eq!(permissions(&job), levels(false, false));
    assert_eq!(gitea.call("GET", &gitea.path(""), Value::Null).0, 200);
}
