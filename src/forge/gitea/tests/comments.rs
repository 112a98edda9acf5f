//! The one comment (docs/gitea-api.md, "Comments").

use super::*;
use crate::forge::gitea::GiteaError;
use crate::forge::gitea::post::{Board, PostAction, Posted};

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

fn board(repo: &Repo) -> Board<'_> {
    Board {
        repo,
        pull: Some(7),
    }
}

/// Posts to a server that answers so. Returns what came of it and what was asked for.
fn post(acts: impl IntoIterator<Item = Act>) -> (Posted, Vec<String>) {
    let (server, repo) = start(acts);
    let posted = board(&repo)
        .keep("", BODY)
        .unwrap_or_else(|e| panic!("{e}: {:?}", asked(&server)));
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

fn patch(id: u64) -> String {
    format!("PATCH /issues/comments/{id}")
}

fn delete(id: u64) -> String {
    format!("DELETE /issues/comments/{id}")
}

fn status(error: &GiteaError) -> Option<u16> {
    error.answer.as_ref().map(|answer| answer.status)
}

#[test]
fn a_token_that_may_not_ask_who_it_is_is_told_by_its_post() {
    // somebody planted the first one; the second is ours
    let found = [comment(3, 666, OLD), comment(9, 10, OLD)];
    let (posted, asked) = post([
        comments(&found),
        no_scope(),
        created(11, 10),
        bare(204),
        edited(),
    ]);
    assert_eq!((posted.post.id(), posted.action), (9, PostAction::Edited));
    assert_eq!(
        asked,
        [LIST, USER, POST, &delete(11), &patch(9)],
        "the stranger's is never written to"
    );
    // only the planted one is there
    let (posted, asked) = post([
        comments(&found[..1]),
        no_scope(),
        created(11, 10),
        bare(204),
        created(12, 10),
        comments(&[found[0].clone(), comment(12, 10, BODY)]),
    ]);
    assert_eq!((posted.post.id(), posted.action), (12, PostAction::Created));
    assert_eq!(asked, [LIST, USER, POST, &delete(11), POST, LIST]);
}

#[test]
fn a_correction_makes_no_comment() {
    let run = |acts: Vec<Act>| {
        let (server, repo) = start(acts);
        let corrected = board(&repo).correct("", BODY, false).unwrap();
        (corrected.map(|posted| posted.post.id()), asked(&server))
    };
    assert_eq!(run(vec![comments(&[])]), (None, vec![LIST.to_owned()]));
    let theirs = comment(3, 666, OLD);
    let (id, asked) = run(vec![comments(std::slice::from_ref(&theirs)), me(10)]);
    assert_eq!((id, asked.len()), (None, 2));
    let both = [theirs.clone(), comment(9, 10, OLD)];
    let (id, asked) = run(vec![comments(&both), me(10), edited()]);
    assert_eq!((id, asked[2].as_str()), (Some(9), patch(9).as_str()));
    // who we are is asked by a post, which goes again
    let (id, asked) = run(vec![
        comments(&both),
        no_scope(),
        created(11, 10),
        bare(204),
        edited(),
    ]);
    assert_eq!((id, asked.len()), (Some(9), 5));
    assert_eq!(asked[3..], [delete(11), patch(9)]);
    let (id, asked) = run(vec![
        comments(std::slice::from_ref(&theirs)),
        no_scope(),
        created(11, 10),
        bare(204),
    ]);
    assert_eq!((id, asked[3].as_str()), (None, delete(11).as_str()));
}

#[test]
fn an_edit_that_another_one_got_in_the_way_of_is_made_again() {
    let in_the_way = || message(500, "");
    let (posted, asked) = post([
        comments(&[comment(9, 10, OLD)]),
        me(10),
        in_the_way(),
        message(500, "the comment is already changed"),
        edited(),
    ]);
    assert_eq!((posted.post.id(), posted.action), (9, PostAction::Edited));
    assert_eq!(asked[2..], [patch(9), patch(9), patch(9)]);
    // one that fails for good is an error
    let acts = [comments(&[comment(9, 10, OLD)]), me(10)];
    let (server, repo) = start(acts.into_iter().chain((0..5).map(|_| in_the_way())));
    let error = board(&repo).keep("", BODY).unwrap_err();
    assert_eq!((status(&error), server.seen().len()), (Some(500), 7));
}

#[test]
fn of_120_comments_in_one_answer_ours_is_found() {
    let mut list: Vec<Value> = (1..=119).map(|id| comment(id, 7, "talk")).collect();
    list.push(comment(120, 10, OLD));
    let (posted, asked) = post([comments(&list), me(10), edited()]);
    assert_eq!(posted.post.id(), 120);
    // One list: page 2 would be the same 120 again.
    assert_eq!(asked, [LIST, USER, &patch(120)]);
}

#[test]
fn a_comment_that_may_not_be_edited_is_replaced_once() {
    let old = comment(3, 10, OLD);
    let forbidden = || recorded("gitea/issue-comment-edit-forbidden");
    let (posted, asked) = post([
        comments(std::slice::from_ref(&old)),
        me(10),
        forbidden(),
        created(9, 10),
        comments(&[old.clone(), comment(9, 10, BODY)]),
    ]);
    assert_eq!((posted.post.id(), posted.action), (9, PostAction::Created));
    assert_eq!(asked, [LIST, USER, &patch(3), POST, LIST]);
    // The next run finds the new one, behind the other.
    let (posted, _) = post([
        comments(&[old.clone(), comment(9, 10, OLD)]),
        me(10),
        forbidden(),
        edited(),
    ]);
    assert_eq!((posted.post.id(), posted.action), (9, PostAction::Edited));
    let (posted, asked) = post([comments(&[old, comment(9, 10, BODY)]), me(10), forbidden()]);
    assert_eq!(
        (posted.post.id(), posted.action, asked.len()),
        (9, PostAction::Unchanged, 3)
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
        assert_eq!((posted.post.id(), posted.action), (11, PostAction::Created));
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
    assert_eq!((posted.post.id(), posted.action), (8, PostAction::Edited));
    assert_eq!(asked, [LIST, POST, LIST, &patch(8), &delete(9)]);
    let same = [comment(8, 10, BODY), comment(9, 10, BODY)];
    let (posted, asked) = post([comments(&[]), created(9, 10), comments(&same), bare(204)]);
    assert_eq!((posted.post.id(), asked.len()), (8, 4));
    // Ours is the first one: the other job cleans up.
    let (posted, asked) = post([comments(&[]), created(8, 10), comments(&both)]);
    assert_eq!((posted.post.id(), asked.len()), (8, 3));
    // A list that fails afterwards is no failure of ours.
    let (posted, _) = post([comments(&[]), created(9, 10), bare(401)]);
    assert_eq!(posted.post.id(), 9);
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
        let error = board(&repo).keep("", BODY).unwrap_err();
        assert_eq!(
            status(&error).map(|s| s.to_string()).as_deref(),
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
