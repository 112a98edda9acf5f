//! Jobs as real runners described them: recorded environments and events.

use std::collections::BTreeMap;
use std::io;

use super::{Context, PullRequest, Runner};

macro_rules! recording {
    ($name:literal) => {
        include_str!(concat!("../../../tests/data/", $name))
    };
}

const PULL_REQUEST: &str = recording!("gitea/env-pull_request.txt");
const SYNCHRONIZED: &str = recording!("gitea/event-pull_request-synchronized.json");

/// The context of an environment, as recorded or written `NAME=value` a line, and an event file.
fn context(env: &str, event: &str) -> Context {
    let env: BTreeMap<&str, &str> = env
        .lines()
        .filter_map(|line| line.split_once('='))
        .collect();
    Context::from(
        |name| env.get(name).map(|value| (*value).to_owned()),
        |path| match path.ends_with("event.json") {
            true => Ok(event.to_owned()),
            false => Err(io::ErrorKind::NotFound.into()),
        },
    )
}

/// A recorded environment with lines of its own that win.
fn with(env: &str, lines: &str) -> String {
    format!("{env}\n{lines}")
}

fn some(text: &str) -> Option<String> {
    Some(text.to_owned())
}

#[test]
fn a_pull_request_of_the_same_repository() {
    for env in [
        PULL_REQUEST,
        recording!("gitea/env-pull_request-act_runner-0.4.txt"),
    ] {
        let context = context(env, SYNCHRONIZED);
        assert!(context.is_ci && context.is_pull_request_event());
        assert_eq!(
            (context.runner, context.event.as_str()),
            (Runner::Gitea, "pull_request")
        );
        assert_eq!(context.repository, some("acme/gitops"));
        assert_eq!(
            context.repository_url,
            some("http://127.0.0.1:3000/acme/gitops")
        );
        assert_eq!(context.server_url, some("http://127.0.0.1:3000"));
        assert_eq!(context.git_ref, some("refs/pull/1/head"));
        assert_eq!(
            (&context.branch, &context.default_branch),
            (&some("main"), &some("main"))
        );
        assert_eq!(
            context.sha,
            some("be56200258fd13159d21c3c20bd4045321f63289")
        );
        assert_eq!(
            (context.actor, context.event_problem),
            (some("alice"), None)
        );
        assert_eq!(
            context.pull_request.unwrap(),
            PullRequest {
                number: 1,
                head_sha: some("be56200258fd13159d21c3c20bd4045321f63289"),
                base_ref: some("main"),
                base_sha: some("bf79a261bc8bc09ffbfaa70b1d6c94eea0665103"),
                body: some("b"),
                is_fork: false,
                is_closed: false,
            }
        );
    }
}

#[test]
fn a_pull_request_from_a_fork() {
    let context = context(
        recording!("gitea/env-pull_request-fork.txt"),
        recording!("gitea/event-pull_request-fork.json"),
    );
    let pull = context.pull_request.unwrap();
    assert!(pull.is_fork);
    assert_eq!(pull.number, 1);
    assert_eq!(context.repository, some("acme/forkpub"));
    assert_eq!(
        context.run_url,
        some("http://127.0.0.1:3000/acme/forkpub/actions/runs/152")
    );
}

#[test]
fn a_fork_that_was_deleted() {
    let recorded = recording!("gitea/pulls-get-fork-deleted.json");
    let recorded: serde_json::Value = serde_json::from_str(recorded).unwrap();
    let event =
        serde_json::json!({"action": "reopened", "pull_request": recorded["response"]["body"]});
    let pull = context(PULL_REQUEST, &event.to_string())
        .pull_request
        .unwrap();
    assert!(pull.is_fork);
}

#[test]
fn forgejos_payloads() {
    let env = "CI=true\nFORGEJO_ACTIONS=true\nGITEA_ACTIONS=true\nFORGEJO_EVENT_NAME=pull_request\nFORGEJO_EVENT_PATH=/e/event.json\nFORGEJO_SERVER_URL=https://git.example\nGITHUB_RUN_ID=44\nGITHUB_RUN_NUMBER=36";
    let pull = context(env, recording!("forgejo/event-pull_request.json"));
    assert_eq!(
        (pull.runner, pull.event.as_str()),
        (Runner::Forgejo, "pull_request")
    );
    assert_eq!(
        (pull.repository, pull.branch),
        (some("acme/fact"), some("main"))
    );
    assert_eq!(
        pull.run_url,
        some("http://127.0.0.1:3001/acme/fact/actions/runs/36")
    );
    assert_eq!(pull.pull_request.unwrap().number, 1);
    let schedule = with(
        env,
        "FORGEJO_EVENT_NAME=schedule\nGITHUB_REPOSITORY=acme/fact\nGITHUB_REF=refs/heads/main",
    );
    let schedule = context(&schedule, recording!("forgejo/event-schedule.json"));
    assert_eq!(
        (schedule.event.as_str(), schedule.pull_request),
        ("schedule", None)
    );
    assert_eq!(
        schedule.repository_url,
        some("https://git.example/acme/fact")
    );
    let push = with(env, "FORGEJO_EVENT_NAME=push");
    let push = context(&push, recording!("forgejo/event-push.json"));
    assert_eq!(
        (push.git_ref, push.branch),
        (some("refs/heads/slow"), some("slow"))
    );
    let dispatch = with(env, "FORGEJO_EVENT_NAME=workflow_dispatch");
    let dispatch = context(
        &dispatch,
        recording!("forgejo/event-workflow_dispatch.json"),
    );
    assert_eq!(
        (dispatch.event.as_str(), dispatch.branch),
        ("workflow_dispatch", some("main"))
    );
}

#[test]
fn pushes_schedules_and_dispatches() {
    let push_env = recording!("gitea/env-push.txt");
    for payload in [
        recording!("gitea/event-push-contents-api.json"),
        recording!("gitea/event-push-8-commits.json"),
        r#"{"before": "0000000000000000000000000000000000000000", "commits": null, "head_commit": null, "number": 7, "pull_request": {"number": 7}}"#,
    ] {
        let context = context(push_env, payload);
        assert_eq!(
            (context.event.as_str(), &context.branch),
            ("push", &some("main"))
        );
        assert!(!context.is_pull_request_event() && context.pull_request.is_none());
    }
    let env = recording!("gitea/env-schedule.txt");
    for payload in [
        recording!("gitea/event-schedule.json"),
        "null",
        "",
        "{}",
        r#"{"action":"schedule"}"#,
    ] {
        let context = context(env, payload);
        assert_eq!(context.event.as_str(), "schedule");
        // The payload's sender is whoever pushed last, long ago.
        assert_eq!(context.actor, some("gitea-actions"));
        assert_eq!(
            context.repository_url,
            some("http://127.0.0.1:3000/acme/gitops")
        );
        assert_eq!(
            (&context.branch, &context.event_problem),
            (&some("main"), &None)
        );
        assert!(!context.is_pull_request_event());
    }
    let env = with(push_env, "GITHUB_EVENT_NAME=workflow_dispatch\nGITHUB_REF=");
    for payload in [
        recording!("gitea/event-workflow_dispatch.json"),
        r#"{"ref": "main"}"#,
    ] {
        let context = context(&env, payload);
        assert_eq!(
            (context.event.as_str(), context.git_ref),
            ("workflow_dispatch", some("refs/heads/main"))
        );
    }
}

#[test]
fn without_a_payload_the_ref_gives_the_number() {
    let lines = "GITHUB_EVENT_PATH=/nowhere";
    let found = context(&with(PULL_REQUEST, lines), "");
    assert_eq!(
        found.event_problem,
        some("the event file cannot be read: no such file or directory")
    );
    let pull = found.pull_request.clone().unwrap();
    assert_eq!((pull.number, pull.is_fork), (1, false));
    assert_eq!(pull.base_ref, some("main"));
    assert_eq!(
        pull.head_sha,
        some("be56200258fd13159d21c3c20bd4045321f63289")
    );
    assert!(found.is_pull_request_event());

    for payload in [
        "null",
        "[]",
        "{\"number\": 9}",
        "{\"pull_request\": null, \"number\": 9}",
    ] {
        assert_eq!(
            context(PULL_REQUEST, payload).pull_request.unwrap().number,
            1,
            "{payload}"
        );
    }
    let broken = context(PULL_REQUEST, "{\n\"secret");
    assert_eq!(broken.event_problem, some("the event file: no JSON at 2:7"));
    assert_eq!(broken.pull_request.unwrap().number, 1);
}

#[test]
fn a_pull_request_shows_whatever_the_event_is_called() {
    for (env, payload, wanted) in [
        ("GITHUB_EVENT_NAME=pull_request", "null", true),
        (
            "GITHUB_EVENT_NAME=pull_request_target\nGITHUB_REF=refs/heads/main",
            "null",
            true,
        ),
        ("GITHUB_EVENT_NAME=pull_request_review", "null", true),
        ("GITHUB_EVENT_NAME=pull_request_comment", "null", true),
        ("GITHUB_REF=refs/pull/7/merge", "null", true),
        (
            "GITHUB_EVENT_NAME=push\nGITHUB_REF=refs/pull/7/head",
            "null",
            true,
        ),
        (
            "GITHUB_EVENT_NAME=",
            r#"{"pull_request": {"number": 7}}"#,
            true,
        ),
        (
            "GITHUB_EVENT_NAME=push\nGITHUB_REF=refs/heads/refs/pull/7",
            "null",
            false,
        ),
        (
            "GITHUB_EVENT_NAME=issues",
            r#"{"number": 7, "issue": {}}"#,
            false,
        ),
        ("", "null", false),
    ] {
        let env = with("GITHUB_EVENT_PATH=/event.json", env);
        assert_eq!(
            context(&env, payload).is_pull_request_event(),
            wanted,
            "{env} {payload}"
        );
    }
    let env = "GITHUB_EVENT_NAME=pull_request_target\nGITHUB_EVENT_PATH=/event.json\nGITHUB_REF=refs/heads/main\nGITHUB_SHA=base";
    let target = context(
        env,
        r#"{"number": 7, "pull_request": {"head": {"sha": ""}}}"#,
    )
    .pull_request
    .unwrap();
    assert_eq!((target.number, target.head_sha), (7, None));
}

#[test]
fn urls_and_empty_variables() {
    for (server, wanted) in [
        ("https://git.example/", "https://git.example"),
        ("https://git.example/sub//", "https://git.example/sub"),
        ("http://gitea:3000", "http://gitea:3000"),
    ] {
        let env = format!("GITHUB_REPOSITORY=o/r\nGITHUB_RUN_ID=5\nGITHUB_SERVER_URL={server}");
        let found = context(&env, "");
        assert_eq!(found.server_url, some(wanted));
        assert_eq!(found.run_url, Some(format!("{wanted}/o/r/actions/runs/5")));
    }
    assert_eq!(context("", ""), Context::default());
    let empty = "CI=\nGITHUB_ACTIONS=\nGITEA_REPOSITORY=\nGITHUB_REPOSITORY= \nGITHUB_EVENT_NAME=\nGITHUB_EVENT_PATH=\nGITHUB_RUN_ATTEMPT=\nGITHUB_REF=";
    assert_eq!(context(empty, "{}"), Context::default());
    assert!(!context("CI=false", "").is_ci);
    assert!(context("CI=1", "").is_ci && context("GITHUB_ACTIONS=true", "").is_ci);
    assert_eq!(
        context("CI=woodpecker\nGITHUB_ACTIONS=true", "").runner,
        Runner::Other
    );
    assert_eq!(
        context(
            "GITEA_REPOSITORY=\nFORGEJO_REPOSITORY=o/f\nGITHUB_REPOSITORY=o/r",
            ""
        )
        .repository,
        some("o/f")
    );
}

proptest::proptest! {
    #[test]
    fn no_payload_makes_it_panic(text in ".{0,80}", number in proptest::prelude::any::<i64>(), field in "[a-z_]{1,12}") {
        context(PULL_REQUEST, &text);
        let odd = serde_json::json!({"pull_request": {"number": number, "head": {&field: number}, "base": [null]}, &field: null});
        context(PULL_REQUEST, &odd.to_string());
    }
}
