//! The one comment (gitea-api.md §1.7, §6).

use super::*;
use crate::gitea::comment::{Action, Posted, upsert};

const MARKER: &str = "<!-- netbird-gitops plan default -->";
const BODY: &str = "<!-- netbird-gitops plan default -->\n### NetBird plan: 1 to create\n";
const OLD: &str = "<!-- netbird-gitops plan default -->\n### NetBird plan: No changes\n";

fn comment(id: i64, author: i64, body: &str) -> Value {
    json!({"id": id, "user": {"id": author, "login": "x"}, "body": body, "html_url": format!("https://git.example/c{id}")})
}

fn comments(comments: &[Value]) -> Act {
    let headers = format!(
        "content-type: application/json\r\nx-total-count: {}\r\n",
        comments.len()
    );
    answer(200, &headers, Value::from(comments).to_string())
}

fn created(id: i64, author: i64) -> Act {
    reply(201, &comment(id, author, BODY).to_string())
}

fn me(id: i64) -> Act {
    reply(200, &json!({"id": id, "login": "gitops-bot"}).to_string())
}

fn no_scope() -> Act {
    message(
        403,
        "token does not have at least one of required scope(s), required=[read:user], token scope=write:issue",
    )
}

fn edited() -> Act {
    reply(200, &comment(0, 0, BODY).to_string())
}

/// Posts to a server that answers so. Returns what came of it and what was asked for.
fn post(acts: impl IntoIterator<Item = Act>) -> (Posted, Vec<String>) {
    let (server, repo) = start(acts);
    let posted =
        upsert(&repo, 7, MARKER, BODY).unwrap_or_else(|e| panic!("{e}: {:?}", asked(&server)));
    for seen in server.seen().iter().filter(|seen| !seen.body.is_empty()) {
        assert_eq!(
            serde_json::from_str::<Value>(&seen.body).unwrap(),
            json!({"body": BODY})
        );
    }
    (posted, asked(&server))
}

const LIST: &str = "GET /issues/7/comments";
const USER: &str = "GET /api/v1/user";
const POST: &str = "POST /issues/7/comments";

fn patch(id: i64) -> String {
    format!("PATCH /issues/comments/{id}")
}

fn delete(id: i64) -> String {
    format!("DELETE /issues/comments/{id}")
}

#[test]
fn the_first_plan_makes_a_comment() {
    for other in [
        vec![],
        vec![
            comment(3, 7, "looks good"),
            comment(4, 10, &format!("quoted:\n{OLD}")),
        ],
    ] {
        let mut after = other.clone();
        after.push(comment(9, 10, BODY));
        let (posted, asked) = post([comments(&other), created(9, 10), comments(&after)]);
        assert_eq!(
            posted,
            Posted {
                id: 9,
                url: "https://git.example/c9".into(),
                action: Action::Created
            }
        );
        assert_eq!(asked, [LIST, POST, LIST]);
    }
}

#[test]
fn the_same_plan_needs_one_request() {
    let (posted, asked) = post([comments(&[comment(9, -2, BODY)])]);
    assert_eq!((posted.id, posted.action), (9, Action::Unchanged));
    assert_eq!(asked, [LIST]);
}

#[test]
fn another_plan_is_edited_in_place() {
    for author in [10, -2] {
        let (posted, asked) = post([
            comments(&[comment(2, 7, "hi"), comment(9, author, OLD)]),
            me(author),
            edited(),
        ]);
        assert_eq!((posted.id, posted.action), (9, Action::Edited));
        assert_eq!(asked, [LIST, USER, &patch(9)]);
    }
    // Without read:user the marker decides.
    let (posted, asked) = post([comments(&[comment(9, 10, OLD)]), no_scope(), edited()]);
    assert_eq!((posted.id, asked.len()), (9, 3));
}

#[test]
fn of_120_comments_in_one_answer_ours_is_found() {
    let mut list: Vec<Value> = (1..=119).map(|id| comment(id, 7, "talk")).collect();
    list.push(comment(120, 10, OLD));
    let (posted, asked) = post([comments(&list), me(10), edited()]);
    assert_eq!(posted.id, 120);
    // One list: page 2 would be the same 120 again.
    assert_eq!(asked, [LIST, USER, &patch(120)]);
}

#[test]
fn a_marker_of_somebody_else_is_not_ours() {
    let theirs = comment(3, 666, BODY);
    let (posted, asked) = post([
        comments(&[theirs.clone(), comment(9, 10, OLD)]),
        me(10),
        edited(),
    ]);
    assert_eq!((posted.id, asked[2].as_str()), (9, patch(9).as_str()));
    let (posted, asked) = post([
        comments(&[comment(3, 666, OLD)]),
        me(10),
        created(9, 10),
        comments(&[theirs, comment(9, 10, BODY)]),
    ]);
    assert_eq!((posted.id, posted.action), (9, Action::Created));
    assert_eq!(asked, [LIST, USER, POST, LIST]);
}

#[test]
fn a_comment_that_may_not_be_edited_is_replaced_once() {
    let theirs = comment(3, 666, OLD);
    let forbidden = || recorded("gitea/issue-comment-edit-forbidden");
    let (posted, asked) = post([
        comments(std::slice::from_ref(&theirs)),
        no_scope(),
        forbidden(),
        created(9, 10),
        comments(&[theirs.clone(), comment(9, 10, BODY)]),
    ]);
    assert_eq!((posted.id, posted.action), (9, Action::Created));
    assert_eq!(asked, [LIST, USER, &patch(3), POST, LIST]);
    // The next run finds its own, after the other.
    let (posted, _) = post([
        comments(&[theirs.clone(), comment(9, 10, OLD)]),
        no_scope(),
        forbidden(),
        edited(),
    ]);
    assert_eq!((posted.id, posted.action), (9, Action::Edited));
    let (posted, asked) = post([
        comments(&[theirs, comment(9, 10, BODY)]),
        no_scope(),
        forbidden(),
    ]);
    assert_eq!(
        (posted.id, posted.action, asked.len()),
        (9, Action::Unchanged, 3)
    );
    // Gone meanwhile, or an event: the same.
    for act in [message(404, ""), bare(204)] {
        let (posted, _) = post([
            comments(&[comment(9, 10, OLD)]),
            me(10),
            act,
            created(11, 10),
            comments(&[]),
        ]);
        assert_eq!((posted.id, posted.action), (11, Action::Created));
    }
}

#[test]
fn two_jobs_at_once_leave_one_comment() {
    // Ours is the second one: the first gets our text, ours goes.
    let both = [comment(8, 10, OLD), comment(9, 10, BODY)];
    let (posted, asked) = post([
        comments(&[]),
        created(9, 10),
        comments(&both),
        edited(),
        bare(204),
    ]);
    assert_eq!((posted.id, posted.action), (8, Action::Edited));
    assert_eq!(asked, [LIST, POST, LIST, &patch(8), &delete(9)]);
    let same = [comment(8, 10, BODY), comment(9, 10, BODY)];
    let (posted, asked) = post([comments(&[]), created(9, 10), comments(&same), bare(204)]);
    assert_eq!((posted.id, asked.len()), (8, 4));
    // Ours is the first one: the other job cleans up.
    let (posted, asked) = post([comments(&[]), created(8, 10), comments(&both)]);
    assert_eq!((posted.id, asked.len()), (8, 3));
    // A list that fails afterwards is no failure of ours.
    let (posted, _) = post([comments(&[]), created(9, 10), bare(401)]);
    assert_eq!(posted.id, 9);
}

#[test]
fn two_comments_of_an_earlier_accident_become_one() {
    let both = [comment(9, 10, OLD), comment(8, 10, OLD)];
    let (posted, asked) = post([comments(&both), me(10), edited(), bare(403)]);
    assert_eq!(posted.id, 8);
    assert_eq!(asked, [LIST, USER, &patch(8), &delete(9)]);
    // Whose they are is not known: nothing is deleted.
    let (_, asked) = post([comments(&both), no_scope(), edited()]);
    assert_eq!(asked, [LIST, USER, &patch(8)]);
}

#[test]
fn environments_do_not_meet() {
    let other = comment(3, 10, "<!-- netbird-gitops plan default2 -->\n");
    let apply = comment(4, 10, "<!-- netbird-gitops apply default -->\n");
    let (posted, _) = post([comments(&[other, apply]), created(9, 10), comments(&[])]);
    assert_eq!(posted.action, Action::Created);
}

#[test]
fn refusals_are_errors() {
    for (acts, wanted) in [
        // Asked twice: a 500 may pass. An unknown number is one.
        (
            vec![recorded("gitea/issue-comments-list-unknown-number"); 2],
            "500",
        ),
        (
            vec![recorded("forgejo/issue-comments-list-unknown-number")],
            "404",
        ),
        (vec![comments(&[]), message(403, "")], "403"),
        (vec![comments(&[]), message(423, "archived")], "423"),
        (vec![comments(&[comment(9, 10, OLD)]), bare(401)], "401"),
        (
            vec![
                comments(&[comment(9, 10, OLD)]),
                me(10),
                message(422, "[Body]: Required"),
            ],
            "422",
        ),
    ] {
        let (server, repo) = start(acts);
        let error = upsert(&repo, 7, MARKER, BODY).unwrap_err();
        assert_eq!(
            error.status().map(|s| s.to_string()).as_deref(),
            Some(wanted),
            "{error}: {:?}",
            asked(&server)
        );
    }
}

#[test]
fn recorded_lists_are_read() {
    for name in [
        "gitea/issue-comments-list",
        "gitea/issue-comments-list-job-token",
        "gitea/issue-comments-list-empty",
        "forgejo/issue-comments-list",
    ] {
        let (_server, repo) = start([recorded(name)]);
        let found = repo.comments(3).unwrap();
        let recorded = recording(name);
        assert_eq!(
            found.len(),
            recorded["response"]["body"].as_array().unwrap().len(),
            "{name}"
        );
    }
    let (_server, repo) = start([
        reply(
            200,
            r#"[{"id": 1, "user": null, "body": null, "html_url": null}]"#,
        ),
        reply(200, "null"),
    ]);
    assert_eq!(repo.comments(3).unwrap()[0].body, "");
    assert!(repo.comments(3).is_err());
}
