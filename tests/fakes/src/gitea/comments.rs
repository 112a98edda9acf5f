//! Comments on issues and pull requests.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::api::{Call, Outcome, done, ok};
use super::auth::Level;
use super::forge::{Forge, Repo, show_time};
use super::issues::{self, Issue};
use super::pages::{counted, page};
use super::refusal::{Refusal, forbidden, invalid, json_response, missing};

/// One plain comment.
#[derive(Clone)]
pub(super) struct Comment {
    pub(super) id: i64,
    /// The number of the issue.
    pub(super) number: i64,
    pub(super) user: i64,
    pub(super) body: String,
    created: Timestamp,
    updated: Timestamp,
}

impl Forge {
    pub(super) fn show_comment(&self, repo: &Repo, comment: &Comment) -> Value {
        let is_pull = repo
            .issue(comment.number)
            .is_some_and(|issue| issue.pull.is_some());
        let kind = if is_pull { "pulls" } else { "issues" };
        let page = format!(
            "{}/{}/{kind}/{}",
            self.root,
            self.full_name(repo),
            comment.number
        );
        let (pull, issue) = if is_pull {
            (page.as_str(), "")
        } else {
            ("", page.as_str())
        };
        json!({
            "id": comment.id,
            "html_url": format!("{page}#issuecomment-{}", comment.id),
            "pull_request_url": pull,
            "issue_url": issue,
            "user": self.show_user(comment.user, false),
            "original_author": "",
            "original_author_id": 0,
            "body": comment.body,
            "assets": [],
            "created_at": show_time(comment.created),
            "updated_at": show_time(comment.updated),
        })
    }

    /// Returns the comments on an issue as the API lists them, oldest first.
    pub(super) fn show_comments(&self, repo: &Repo, number: i64) -> Vec<Value> {
        let comments = repo.comments.iter();
        comments
            .filter(|comment| comment.number == number)
            .map(|comment| self.show_comment(repo, comment))
            .collect()
    }

    /// Adds a comment, and returns its id.
    pub(super) fn add_comment(&mut self, repo: i64, number: i64, user: i64, body: &str) -> i64 {
        let (id, now) = (self.new_id(), self.now());
        let repo = self.repo_mut(repo);
        repo.comments.push(Comment {
            id,
            number,
            user,
            body: body.to_owned(),
            created: now,
            updated: now,
        });
        if let Some(issue) = repo.issue_mut(number) {
            issue.updated = now;
        }
        id
    }
}

/// Returns the issue or pull request of the path, where the caller may read it. On Gitea an unknown
/// number is a 500.
fn thread<'a>(call: &Call, forge: &'a Forge) -> Result<&'a Issue, Refusal> {
    let number = call.number()?;
    let Some(issue) = forge.repo(call.repo).issue(number) else {
        let error = format!(
            "issue does not exist [id: 0, repo_id: {}, index: {number}]",
            call.repo
        );
        let of_forgejo = Refusal::Missing(Some("IsErrIssueNotExist"), vec![error.clone()]);
        return Err(forge.flavour.pick(Refusal::Hidden(error), of_forgejo));
    };
    call.require_read(forge, issue.unit())?;
    Ok(issue)
}

/// `GET …/issues/{number}/comments`: all of them in one answer, whatever page is asked for.
pub(super) fn list(call: &Call) -> Outcome {
    let forge = call.forge();
    let number = thread(call, &forge)?.number;
    let limit = |name: &str| call.parameter(name).and_then(|text| text.parse().ok());
    let (since, before): (Option<Timestamp>, Option<Timestamp>) = (limit("since"), limit("before"));
    let repo = forge.repo(call.repo);
    let wanted = repo.comments.iter().filter(|comment| {
        comment.number == number
            && since.is_none_or(|since| comment.updated >= since)
            && before.is_none_or(|before| comment.updated <= before)
    });
    let shown: Vec<Value> = wanted
        .map(|comment| forge.show_comment(repo, comment))
        .collect();
    let count = shown.len();
    Ok(counted(ok(&json!(shown)), count))
}

/// `GET …/issues/comments`: those of the whole repository, in pages and without `Link`.
pub(super) fn list_all(call: &Call) -> Outcome {
    let shown: Vec<Value> = {
        let forge = call.forge();
        call.require_read(&forge, super::auth::Unit::Issues)?;
        let repo = forge.repo(call.repo);
        let comments = repo.comments.iter();
        comments
            .map(|comment| forge.show_comment(repo, comment))
            .collect()
    };
    let mut response = page(call, "", &shown);
    response.headers.retain(|(name, _)| name != "Link");
    Ok(response)
}

/// Reads the text of a comment. Blanks pass.
fn text(call: &Call) -> Result<String, Refusal> {
    let body = call.body()?.text("body")?;
    if body.is_empty() {
        return Err(invalid("[Body]: Required"));
    }
    Ok(body)
}

/// `POST …/issues/{number}/comments`.
pub(super) fn create(call: &Call) -> Outcome {
    let body = text(call)?;
    let mut forge = call.forge();
    call.require_alive(&forge)?;
    let issue = thread(call, &forge)?;
    let (number, unit) = (issue.number, issue.unit());
    let locked = forge.flavour.pick(issue.is_locked, false);
    if locked && call.level(&forge, unit) < Level::Write {
        return Err(forbidden("comment on a locked issue is not allowed"));
    }
    let id = forge.add_comment(call.repo, number, call.caller.user, &body);
    let repo = forge.repo(call.repo);
    let comment = repo.comments.iter().find(|comment| comment.id == id);
    let comment = comment.expect("the comment that was just added");
    Ok(json_response(201, &forge.show_comment(repo, comment)))
}

/// Returns the comment of the path, where the caller may read it.
fn comment<'a>(call: &Call, forge: &'a Forge) -> Result<&'a Comment, Refusal> {
    let id = call.number()?;
    let repo = forge.repo(call.repo);
    let comment = repo.comments.iter().find(|comment| comment.id == id);
    let comment = comment.ok_or_else(missing)?;
    call.require_read(forge, issues::unit_of(repo, comment.number))?;
    Ok(comment)
}

/// Returns the comment of the path, where the caller may change it: its author may, and whoever may
/// write. Others get a 403 without a body.
fn own_comment<'a>(call: &Call, forge: &'a Forge) -> Result<&'a Comment, Refusal> {
    let comment = comment(call, forge)?;
    call.require_alive(forge)?;
    let unit = issues::unit_of(forge.repo(call.repo), comment.number);
    if comment.user != call.caller.user && call.level(forge, unit) < Level::Write {
        return Err(Refusal::Empty(403));
    }
    Ok(comment)
}

/// `GET …/issues/comments/{id}`.
pub(super) fn get(call: &Call) -> Outcome {
    let forge = call.forge();
    let comment = comment(call, &forge)?;
    Ok(ok(&forge.show_comment(forge.repo(call.repo), comment)))
}

/// `PATCH …/issues/comments/{id}`. On Gitea the same text again leaves the time of the last change
/// alone.
pub(super) fn edit(call: &Call) -> Outcome {
    let body = text(call)?;
    let mut forge = call.forge();
    let mut comment = own_comment(call, &forge)?.clone();
    let now = forge.now();
    if forge.flavour.pick(comment.body != body, true) {
        comment.updated = now;
    }
    comment.body = body;
    let comments = &mut forge.repo_mut(call.repo).comments;
    if let Some(stored) = comments.iter_mut().find(|stored| stored.id == comment.id) {
        *stored = comment.clone();
    }
    Ok(ok(&forge.show_comment(forge.repo(call.repo), &comment)))
}

/// `DELETE …/issues/comments/{id}`.
pub(super) fn delete(call: &Call) -> Outcome {
    let mut forge = call.forge();
    let id = own_comment(call, &forge)?.id;
    let comments = &mut forge.repo_mut(call.repo).comments;
    comments.retain(|comment| comment.id != id);
    Ok(done())
}
