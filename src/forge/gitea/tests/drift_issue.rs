//! The one issue about drift (docs/gitea-api.md, "Issues and labels").

use super::*;
use crate::forge::gitea::issue::{Kept, Link, Report, keep, resolve};

const MARKER: &str = "<!-- netbird-gitops drift default -->";
const BODY: &str = "<!-- netbird-gitops drift default -->\nDrift";
const REPORT: Report<'_> = Report {
    title: "NetBird drift",
    body: BODY,
};

const RESOLVED: Report<'_> = Report {
    title: "NetBird drift: resolved",
    body: "<!-- netbird-gitops drift default -->\nresolved",
};

fn issue(number: u64, author: i64, body: &str) -> Value {
    json!({"number": number, "user": {"id": author, "login": "x"}, "title": "NetBird drift", "body": body, "state": "open", "html_url": ""})
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

fn run(
    report: Option<Report<'_>>,
    acts: impl IntoIterator<Item = Act>,
) -> (Kept, Vec<String>, Script) {
    let (server, repo) = start(acts);
    let kept = match report {
        Some(report) => keep(&repo, MARKER, report),
        None => resolve(&repo, MARKER, RESOLVED),
    };
    let kept = kept.unwrap_or_else(|e| panic!("{e}: {:?}", asked(&server)));
    (kept, asked(&server), server)
}

fn link(number: u64) -> Link {
    Link {
        number,
        url: String::new(),
    }
}

const LIST: &str = "GET /issues?state=open&type=issues&created_by=gitops%20bot&limit=50&page=1";

#[test]
fn drift_opens_one_issue() {
    let new = || reply(201, &issue(23, 10, BODY).to_string());
    let (kept, asked, server) = run(
        Some(REPORT),
        [me(), issues(&[]), new(), issues(&[issue(23, 10, BODY)])],
    );
    assert_eq!(kept, Kept::Opened(link(23)));
    assert_eq!(asked[1..], [LIST, "POST /issues", LIST]);
    assert_eq!(
        body(&server, 2),
        json!({"title": "NetBird drift", "body": BODY})
    );
}

#[test]
fn an_issue_that_is_there_is_edited_or_left() {
    let (kept, asked, _) = run(
        Some(REPORT),
        [me(), issues(&[issue(4, 10, BODY), issue(5, 7, "talk")])],
    );
    assert_eq!((kept, asked.len()), (Kept::Unchanged(link(4)), 2));
    // PATCH answers 201.
    let old = issue(4, 10, "<!-- netbird-gitops drift default -->\nold");
    let (kept, asked, server) = run(
        Some(REPORT),
        [me(), issues(std::slice::from_ref(&old)), reply(201, "{}")],
    );
    assert_eq!(
        (kept, asked[2].as_str()),
        (Kept::Edited(link(4)), "PATCH /issues/4")
    );
    assert_eq!(
        body(&server, 2),
        json!({"title": "NetBird drift", "body": BODY})
    );
    // Another's issue is not ours, whatever the server would let us do.
    let (kept, _, _) = run(
        Some(REPORT),
        [me(), issues(&[issue(3, 666, BODY), old]), reply(201, "{}")],
    );
    assert_eq!(kept, Kept::Edited(link(4)));
}

#[test]
fn without_drift_it_is_closed() {
    let (kept, asked, _) = run(None, [me(), issues(&[])]);
    assert_eq!((kept, asked.len()), (Kept::None, 2));
    let (kept, asked, server) = run(
        None,
        [
            me(),
            issues(&[issue(4, 10, BODY), issue(6, 10, BODY)]),
            reply(201, "{}"),
            reply(201, "{}"),
        ],
    );
    assert_eq!(kept, Kept::Closed(link(4)));
    assert_eq!(asked[2..], ["PATCH /issues/6", "PATCH /issues/4"]);
    // it says so, and does not stand there as if there were drift
    assert_eq!(
        body(&server, 3),
        json!({"title": RESOLVED.title, "body": RESOLVED.body, "state": "closed"})
    );
}

#[test]
fn two_runs_at_once_leave_one_issue() {
    let first = issue(22, 10, "<!-- netbird-gitops drift default -->\nolder");
    let (kept, asked, server) = run(
        Some(REPORT),
        [
            me(),
            issues(&[]),
            reply(201, &issue(23, 10, BODY).to_string()),
            issues(&[issue(23, 10, BODY), first]),
            reply(201, "{}"),
            reply(201, "{}"),
        ],
    );
    assert_eq!(kept, Kept::Edited(link(22)));
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
        Some(REPORT),
        [no_scope(), issues(&[issue(4, 10, BODY)]), says(), bare(204)],
    );
    assert_eq!(kept, Kept::Unchanged(link(4)));
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
        Some(REPORT),
        [
            no_scope(),
            issues(&[theirs()]),
            says(),
            bare(204),
            reply(201, &issue(23, 10, BODY).to_string()),
            issues(&[theirs(), issue(23, 10, BODY)]),
        ],
    );
    assert_eq!((kept, asked.len()), (Kept::Opened(link(23)), 6));
    let (kept, asked, _) = run(None, [no_scope(), issues(&[theirs()]), says(), bare(204)]);
    assert_eq!((kept, asked.len()), (Kept::None, 4));
    // none at all: nobody is asked
    let (kept, asked, _) = run(None, [no_scope(), issues(&[])]);
    assert_eq!((kept, asked.len()), (Kept::None, 2));
}

#[test]
fn the_automatic_user_is_known_by_its_id() {
    let (kept, asked, _) = run(
        Some(REPORT),
        [
            recorded("gitea/user-get-job-token"),
            issues(&[issue(3, 7, BODY), issue(4, -2, BODY)]),
        ],
    );
    assert_eq!(kept, Kept::Unchanged(link(4)));
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
    assert_eq!(repo.create_issue("t", "b").unwrap().number, 23);
}
