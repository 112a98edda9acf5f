//! One comment on a pull request that is kept up to date: found by a hidden marker at its very start and by its author,
//! edited in place, made where it is missing (gitea-api.md §1.7).

use super::{Comment, Error, Repo};

/// What became of the comment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Posted {
    /// Its id.
    pub id: i64,
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

/// Posts `body` on pull request `number`: into the comment that starts with `marker`, or as a new one.
///
/// `body` has to start with `marker`, an HTML comment, which the page does not show. Whoever may read the repository may
/// post such a text as well, so a comment of another author is not ours. Where the token may not ask who it is (a bot's
/// without `read:user`; the automatic token of a job may), the marker alone decides, and a bot with write access then takes
/// over what somebody planted. Of two comments that two jobs made at once the one with the lower id stays.
pub fn upsert(repo: &Repo, number: u64, marker: &str, body: &str) -> Result<Posted, Error> {
    debug_assert!(body.starts_with(marker), "the marker comes first");
    let mut found = marked(repo.comments(number)?, marker);
    if let [only] = found.as_slice()
        && only.body == body
    {
        return Ok(posted(only, Action::Unchanged));
    }
    let me = match found.is_empty() {
        true => None,
        false => me(repo)?,
    };
    if let Some(me) = me {
        found.retain(|comment| author(comment) == Some(me));
    }
    let mut refused = Vec::new();
    for (n, comment) in found.iter().enumerate() {
        let action = match comment.body == body {
            true => Some(Action::Unchanged),
            false => edit(repo, comment.id, body)?.then_some(Action::Edited),
        };
        let Some(action) = action else {
            refused.push(comment.id);
            continue;
        };
        if me.is_some() {
            remove(repo, &found[n + 1..]);
        }
        return Ok(posted(comment, action));
    }
    create(repo, number, marker, body, &refused)
}

/// Posts a new comment, and gives way to an older one that came up meanwhile.
fn create(
    repo: &Repo,
    number: u64,
    marker: &str,
    body: &str,
    refused: &[i64],
) -> Result<Posted, Error> {
    let new = repo.create_comment(number, body)?;
    let created = posted(&new, Action::Created);
    // It stands. That this could not be checked is no reason to say otherwise.
    let Ok(comments) = repo.comments(number) else {
        return Ok(created);
    };
    let mut found = marked(comments, marker);
    found.retain(|comment| {
        comment.id < new.id && author(comment) == author(&new) && !refused.contains(&comment.id)
    });
    let Some(lowest) = found.first() else {
        return Ok(created);
    };
    // Ours is the younger text.
    if lowest.body != body && !edit(repo, lowest.id, body)? {
        return Ok(created);
    }
    remove(repo, std::slice::from_ref(&new));
    Ok(posted(lowest, Action::Edited))
}

/// Returns the comments that start with the marker, the lowest id first.
fn marked(mut comments: Vec<Comment>, marker: &str) -> Vec<Comment> {
    comments.retain(|comment| comment.body.starts_with(marker));
    comments.sort_by_key(|comment| comment.id);
    comments
}

fn author(comment: &Comment) -> Option<i64> {
    comment.user.as_ref().map(|user| user.id)
}

/// Returns the id of the token's user, `None` where the token may not ask.
pub(super) fn me(repo: &Repo) -> Result<Option<i64>, Error> {
    match repo.user() {
        Ok(user) => Ok(Some(user.id)),
        Err(Error::Scope { .. } | Error::Forbidden(_) | Error::NotFound(_)) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Returns whether the comment has the text now: it may be another's, or gone.
fn edit(repo: &Repo, id: i64, body: &str) -> Result<bool, Error> {
    match repo.edit_comment(id, body) {
        Err(Error::Forbidden(_) | Error::NotFound(_)) => Ok(false),
        other => other,
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
        url: comment.html_url.clone(),
        action,
    }
}
