//! The one issue about drift (docs/gitea-api.md, "Issues and labels").

use super::*;
use crate::forge::gitea::post::{Board, PostAction};

const TITLE: &str = "NetBird drift";
const BODY: &str = "<!-- netbird-gitops drift default -->\nDrift";

fn issue(number: u64, author: i64, body: &str) -> Value {
    json!({"id": 9000 + number, "number": number, "user": {"id": author, "login": "x"}, "title": "NetBird drift", "body": body, "state": "open", "html_url": ""})
}

fn issues(issues: &[Value]) -> Act {
    answer(
        200,
        &format!("x-total-count: {}\r\n", issues.len()),
        Value::from(issues).to_string(),
    )
}

fn me() -> Act {
    reply(200, r#"{"id": 10, "login": "gitops bot"}"#)
}

/// What is kept, or with `closes` closed, on a server that answers so: its number and what was done.
fn run(
    closes: bool,
    acts: impl IntoIterator<Item = Act>,
) -> (Option<(u64, PostAction)>, Vec<String>, Script) {
    let (server, repo) = start(acts);
    let board = Board {
        repo: &repo,
        pull: None,
    };
    let posted = match closes {
        false => board.keep(TITLE, BODY).map(Some),
        true => board.correct(TITLE, BODY, true),
    };
    let posted = posted.unwrap_or_else(|e| panic!("{e}: {:?}", asked(&server)));
    let posted = posted.map(|posted| (posted.post.id(), posted.action));
    (posted, asked(&server), server)
}

const LIST: &str = "GET /issues?state=open&type=issues&created_by=gitops%20bot&limit=50&page=1";

#[test]
fn all_of_ours_are_closed_and_the_first_says_why() {
    let theirs = issue(3, 666, BODY);
    let (closed, asked, server) = run(
        true,
        [
            me(),
            issues(&[theirs, issue(4, 10, BODY), issue(6, 10, BODY)]),
            reply(201, "{}"),
            reply(201, "{}"),
        ],
    );
    assert_eq!(closed, Some((4, PostAction::Closed)));
    assert_eq!(asked[1..], [LIST, "PATCH /issues/4", "PATCH /issues/6"]);
    let says = json!({"title": TITLE, "body": BODY, "state": "closed"});
    assert_eq!(body(&server, 2), says);
    assert_eq!(body(&server, 3), json!({"state": "closed"}));
}

#[test]
fn two_runs_at_once_leave_one_issue() {
    let first = issue(22, 10, "<!-- netbird-gitops drift default -->\nolder");
    let (kept, asked, server) = run(
        false,
        [
            me(),
            issues(&[]),
            reply(201, &issue(23, 10, BODY).to_string()),
            issues(&[issue(23, 10, BODY), first]),
            reply(201, "{}"),
            reply(201, "{}"),
        ],
    );
    assert_eq!(kept, Some((22, PostAction::Edited)));
    assert_eq!(asked[4..], ["PATCH /issues/22", "PATCH /issues/23"]);
    assert_eq!(body(&server, 5), json!({"state": "closed"}));
}

#[test]
fn a_token_that_may_not_ask_who_it_is_is_told_by_a_comment() {
    let no_scope = || {
        message(
            403,
            "token does not have at least one of required scope(s): [read:user]",
        )
    };
    let says = || {
        let comment =
            json!({"id": 9, "user": {"id": 10, "login": "x"}, "body": "", "html_url": ""});
        reply(201, &comment.to_string())
    };
    let (kept, asked, _) = run(
        false,
        [no_scope(), issues(&[issue(4, 10, BODY)]), says(), bare(204)],
    );
    assert_eq!(kept, Some((4, PostAction::Unchanged)));
    assert_eq!(
        asked[1..],
        [
            "GET /issues?state=open&type=issues&limit=50&page=1",
            "POST /issues/4/comments",
            "DELETE /issues/comments/9"
        ]
    );
    // one that somebody planted is neither edited nor closed
    let theirs = || issue(3, 666, "<!-- netbird-gitops drift default -->\nfake");
    let (kept, asked, _) = run(
        false,
        [
            no_scope(),
            issues(&[theirs()]),
            says(),
            bare(204),
            reply(201, &issue(23, 10, BODY).to_string()),
            issues(&[theirs(), issue(23, 10, BODY)]),
        ],
    );
    assert_eq!((kept, asked.len()), (Some((23, PostAction::Created)), 6));
    let (kept, asked, _) = run(true, [no_scope(), issues(&[theirs()]), says(), bare(204)]);
    assert_eq!((kept, asked.len()), (None, 4));
    // none at all: nobody is asked
    let (kept, asked, _) = run(true, [no_scope(), issues(&[])]);
    assert_eq!((kept, asked.len()), (None, 2));
}

#[test]
fn the_automatic_user_is_known_by_its_id() {
    let (kept, asked, _) = run(
        false,
        [
            recorded("gitea/user-get-job-token"),
            issues(&[issue(3, 7, BODY), issue(4, -2, BODY)]),
        ],
    );
    assert_eq!(kept, Some((4, PostAction::Unchanged)));
    assert_eq!(
        asked[1],
        "GET /issues?state=open&type=issues&limit=50&page=1"
    );
}

#[test]
fn long_lists_are_read_to_their_end_and_no_further() {
    let page = |from: u64, count: u64| {
        Value::from(
            (from..from + count)
                .map(|n| issue(n, 7, "talk"))
                .collect::<Vec<_>>(),
        )
        .to_string()
    };
    // The server's own cap is lower than what was asked for.
    let (_server, repo) = start([
        answer(200, "x-total-count: 70\r\n", page(1, 30)),
        answer(200, "x-total-count: 70\r\n", page(31, 30)),
        answer(200, "x-total-count: 70\r\n", page(61, 10)),
    ]);
    assert_eq!(repo.open_issues(None).unwrap().len(), 70);
    // No total.
    let (server, repo) = start([
        answer(200, "", page(1, 50)),
        answer(200, "", page(51, 50)),
        answer(200, "", "[]"),
    ]);
    assert_eq!(repo.open_issues(None).unwrap().len(), 100);
    assert!(asked(&server)[2].ends_with("page=3"));
    // A server that repeats itself.
    let same = answer(200, "x-total-count: 999999\r\n", page(1, 1));
    let (server, repo) = start(vec![same; 250]);
    assert_eq!(repo.open_issues(None).unwrap().len(), 200);
    assert_eq!(server.seen().len(), 200);
}

#[test]
fn recorded_issues_are_read() {
    for name in ["gitea/issues-list", "forgejo/issues-list"] {
        let (_server, repo) = start([recorded(name)]);
        assert!(!repo.open_issues(None).unwrap().is_empty(), "{name}");
    }
    let (_server, repo) = start([recorded("gitea/issue-create")]);
    assert_eq!(repo.create_issue("t", "b").unwrap().id(), 23);
}
