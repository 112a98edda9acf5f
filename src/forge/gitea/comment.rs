//! One comment on a pull request that is kept up to date: found by a hidden marker at its very start and by its author,
//! edited in place, made where it is missing (docs/gitea-api.md, "Comments").

use super::{Comment, Error, Repo};
use crate::render::markdown::keep_sealed;

/// What became of the comment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Posted {
    /// Its id.
    pub id: i64,
    /// Who wrote it: the token's user.
    pub author: Option<i64>,
    /// Its place on the page.
    pub url: String,
    /// What was done.
    pub action: Action,
}

/// What was done to a comment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// It is new.
    Created,
    /// It was there, and says something else now.
    Edited,
    /// It said the same already.
    Unchanged,
}

/// Posts `body` on pull request `number`: into the comment that starts with its first line, or as a new one.
///
/// That line is the marker: an HTML comment, which the page does not show. Whoever may read the repository may
/// post such a text as well, so a comment of another author is never ours, whatever it says. A token that may not ask who
/// it is (a bot's without `read:user`; the automatic token of a job may) is told by the answer of its post: the older
/// comment of that author gets the text then, and the new one goes. Of two comments that two jobs made at once the one
/// with the lower id stays.
///
/// The sealed keys of a text that is replaced are kept: a job that ran again made others, and knows nothing of these.
pub fn upsert(repo: &Repo, number: u64, body: &str) -> Result<Posted, Error> {
    let mut found = marked(repo.comments(number)?, body);
    if found.is_empty() {
        return create(repo, number, body, &[]);
    }
    let Some(me) = repo.me()? else {
        return create(repo, number, body, &[]);
    };
    found.retain(|comment| author(comment) == Some(me.id));
    let mut refused = Vec::new();
    match write(repo, &found, body, &mut refused)? {
        Some(posted) => Ok(posted),
        None => create(repo, number, &kept(&found, body), &refused),
    }
}

/// Writes `body` into our comment with its marker, if there is one: a text that only corrects an older one.
pub fn correct(repo: &Repo, number: u64, body: &str) -> Result<Option<Posted>, Error> {
    let mut found = marked(repo.comments(number)?, body);
    if found.is_empty() {
        return Ok(None);
    }
    let me = whose(repo, number, body)?;
    found.retain(|comment| author(comment) == me);
    write(repo, &found, body, &mut Vec::new())
}

/// Returns the texts of our comments with the marker of `body`. Who we are is asked where there are such comments and `me`
/// does not say it: whoever may read the repository can post one.
pub fn texts(
    repo: &Repo,
    number: u64,
    body: &str,
    me: &mut Option<i64>,
) -> Result<Vec<String>, Error> {
    let mut found = marked(repo.comments(number)?, body);
    if !found.is_empty() && me.is_none() {
        *me = whose(repo, number, body)?;
    }
    found.retain(|comment| author(comment) == *me);
    Ok(found.into_iter().map(|comment| comment.body).collect())
}

/// Returns who the token's user is; where it may not ask, the answer of a comment tells it, which goes again.
fn whose(repo: &Repo, number: u64, body: &str) -> Result<Option<i64>, Error> {
    if let Some(me) = repo.me()? {
        return Ok(Some(me.id));
    }
    let asking = repo.create_comment(number, body)?;
    remove(repo, std::slice::from_ref(&asking));
    Ok(author(&asking))
}

/// Writes the text into the first of these comments of ours that takes it, and removes those behind it. `refused` gets
/// the ids of those that do not take it.
fn write(
    repo: &Repo,
    own: &[Comment],
    body: &str,
    refused: &mut Vec<i64>,
) -> Result<Option<Posted>, Error> {
    let body = kept(own, body);
    for (n, comment) in own.iter().enumerate() {
        let action = match comment.body == body {
            true => Some(Action::Unchanged),
            false => edit(repo, comment.id, &body)?.then_some(Action::Edited),
        };
        let Some(action) = action else {
            refused.push(comment.id);
            continue;
        };
        remove(repo, &own[n + 1..]);
        return Ok(Some(posted(comment, action)));
    }
    Ok(None)
}

/// Returns the text with the sealed keys of these comments.
fn kept(own: &[Comment], body: &str) -> String {
    let keep = |body: String, comment: &Comment| keep_sealed(&comment.body, &body);
    own.iter().fold(body.to_owned(), keep)
}

/// Posts a new comment, and gives way to an older one of its author.
fn create(repo: &Repo, number: u64, body: &str, refused: &[i64]) -> Result<Posted, Error> {
    let new = repo.create_comment(number, body)?;
    let created = posted(&new, Action::Created);
    // It stands. That this could not be checked is no reason to say otherwise.
    let Ok(comments) = repo.comments(number) else {
        return Ok(created);
    };
    let mut older = marked(comments, body);
    older.retain(|comment| {
        comment.id < new.id && author(comment) == author(&new) && !refused.contains(&comment.id)
    });
    // Ours is the younger text.
    match write(repo, &older, body, &mut Vec::new())? {
        Some(written) => {
            remove(repo, std::slice::from_ref(&new));
            Ok(Posted {
                action: Action::Edited,
                ..written
            })
        }
        None => Ok(created),
    }
}

/// Returns the comments with the marker of `body`, the lowest id first.
fn marked(mut comments: Vec<Comment>, body: &str) -> Vec<Comment> {
    let marker = body.lines().next().unwrap_or_default();
    comments.retain(|comment| comment.user.is_some() && comment.body.starts_with(marker));
    comments.sort_by_key(|comment| comment.id);
    comments
}

fn author(comment: &Comment) -> Option<i64> {
    comment.user.as_ref().map(|user| user.id)
}

/// How often an edit is made that another one got in the way of.
const EDITS: u32 = 5;

/// Returns whether the comment has the text now: it may be another's, or gone.
///
/// Of two edits at once the server refuses one with a 500 `the comment is already changed`, whose text only its
/// administrators see (docs/gitea-api.md, "Versions"): so any 500 is tried again, with the same text.
fn edit(repo: &Repo, id: i64, body: &str) -> Result<bool, Error> {
    let mut n = 0;
    loop {
        match repo.edit_comment(id, body) {
            Err(Error::Forbidden(_) | Error::NotFound(_)) => return Ok(false),
            Err(Error::Server(_)) if n + 1 < EDITS => repo.pause(n),
            other => return other,
        }
        n += 1;
    }
}

/// Removes surplus comments. One that stays is a nuisance and no failure; the next run sees it again.
fn remove(repo: &Repo, comments: &[Comment]) {
    for comment in comments {
        if let Err(error) = repo.delete_comment(comment.id) {
            log::warn!("a second comment stays: {error}");
        }
    }
}

fn posted(comment: &Comment, action: Action) -> Posted {
    Posted {
        id: comment.id,
        author: author(comment),
        url: comment.html_url.clone(),
        action,
    }
}
