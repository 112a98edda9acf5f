//! One text of ours that is kept up to date, as a comment on a pull request or as an issue: found by a hidden marker at its
//! very start and by its author, edited in place, created where it is missing (docs/gitea-api.md, "Comments", "Issues and
//! labels").
//!
//! The marker is the text's first line: an HTML comment, which the page does not show. Whoever may read the repository may
//! post such a text as well, so one of another author is never ours, whatever it says. A token that may not ask who it is (a
//! bot's without `read:user`; the automatic token of a job may) learns it from the answer of a comment, which is deleted at
//! once. Of two texts that two jobs posted at once the one with the lower number stays.
//!
//! Scheduled runs set no commit status (docs/gitea-api.md, "Statuses"), so an issue is how they are heard. A closed issue
//! is not opened again: the next drift is another story, and gets an issue of its own that people are told about.

use super::{ForgeUser, IssueEdit, Post, Repo, Result};
use crate::render::markdown::{keep_earlier, keep_sealed};

/// Where a text is kept.
#[derive(Debug, Clone, Copy)]
pub struct Board<'a> {
    /// The repository.
    pub repo: &'a Repo,
    /// The pull request that has it as a comment; `None` for an issue.
    pub pull: Option<u64>,
}

/// What became of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Posted {
    /// The comment or the issue that has it.
    pub post: Post,
    /// What was done.
    pub action: PostAction,
}

/// What was done to a comment or an issue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PostAction {
    /// It is new.
    Created,
    /// It was there, and says something else now.
    Edited,
    /// It said the same already.
    Unchanged,
    /// It was open, and is closed now.
    Closed,
}

/// How often an edit is made that another one got in the way of.
const EDITS: u32 = 5;

impl Board<'_> {
    /// Posts a text: into our post that starts with its first line, or as a new one. A comment has no title.
    ///
    /// The sealed keys of a text that is replaced are kept: a job that ran again made others, and knows nothing of these.
    pub fn keep(&self, title: &str, body: &str) -> Result<Posted> {
        let own = self.own(body, &mut None)?;
        let mut refused = Vec::new();
        match self.write(&own, title, body, false, &mut refused)? {
            Some(posted) => Ok(posted),
            None => self.create(title, &kept(&own, body), &refused),
        }
    }

    /// Writes a text into our post with its marker, if there is one: it only corrects an older one. `closes`: an issue is
    /// closed with it.
    pub fn correct(&self, title: &str, body: &str, closes: bool) -> Result<Option<Posted>> {
        let own = self.own(body, &mut None)?;
        self.write(&own, title, body, closes, &mut Vec::new())
    }

    /// Returns the texts of our posts with the marker of `body`. Who we are is asked where there are such posts and `me`
    /// does not say it.
    pub fn texts(&self, body: &str, me: &mut Option<i64>) -> Result<Vec<String>> {
        let own = self.own(body, me)?.into_iter();
        Ok(own.map(|post| post.body).collect())
    }

    /// Returns our posts with the marker of `body`, the lowest number first.
    fn own(&self, body: &str, me: &mut Option<i64>) -> Result<Vec<Post>> {
        // a repository can have many issues: only those of one user are asked for
        let mut user = match self.pull {
            Some(_) => None,
            None => self.repo.me()?,
        };
        let mut found = self.marked(body, user.as_ref())?;
        if let (Some(first), None) = (found.first(), &me) {
            if self.pull.is_some() {
                user = self.repo.me()?;
            }
            if user.is_none() {
                let number = self.pull.unwrap_or(first.id());
                // watchers get a mail of it
                let asks = self.pull.map_or("This is looked at.", |_| body);
                let asking = self.repo.create_comment(number, asks)?;
                user.clone_from(&asking.user);
                remains(self.repo.delete_comment(asking.id()));
            }
            *me = user.map(|user| user.id);
        }
        found.retain(|post| post.author() == *me);
        Ok(found)
    }

    /// Returns the posts with the marker of `body`, the lowest number first; issues of this user alone, where the server can
    /// filter by it: the automatic user of jobs is in no list of users (docs/gitea-api.md, "Branch rules").
    fn marked(&self, body: &str, user: Option<&ForgeUser>) -> Result<Vec<Post>> {
        let mut posts = match (self.pull, user) {
            (Some(pull), _) => self.repo.comments(pull)?,
            (None, Some(user)) if user.id > 0 => self.repo.open_issues(Some(&user.login))?,
            (None, _) => self.repo.open_issues(None)?,
        };
        let marker = body.lines().next().unwrap_or_default();
        posts.retain(|post| post.user.is_some() && post.body.starts_with(marker));
        posts.sort_by_key(Post::id);
        posts.dedup_by_key(|post| post.id());
        Ok(posts)
    }

    /// Writes a text into the first of these posts of ours that takes it, and removes those behind it. `refused` gets the
    /// numbers of those that do not take it.
    fn write(
        &self,
        own: &[Post],
        title: &str,
        body: &str,
        closes: bool,
        refused: &mut Vec<u64>,
    ) -> Result<Option<Posted>> {
        let body = kept(own, body);
        for (n, post) in own.iter().enumerate() {
            let action = match closes {
                true => PostAction::Closed,
                false if post.body == body && post.title == title => PostAction::Unchanged,
                false => PostAction::Edited,
            };
            let edit = IssueEdit {
                title: Some(title).filter(|title| !title.is_empty()),
                body: Some(&body),
                state: closes.then_some("closed"),
            };
            if action != PostAction::Unchanged && !self.edit(post.id(), edit)? {
                refused.push(post.id());
                continue;
            }
            self.remove(&own[n + 1..]);
            let post = post.clone();
            return Ok(Some(Posted { post, action }));
        }
        Ok(None)
    }

    /// Creates a post, and gives way to an older one of its author.
    fn create(&self, title: &str, body: &str, refused: &[u64]) -> Result<Posted> {
        let new = match self.pull {
            Some(pull) => self.repo.create_comment(pull, body)?,
            None => self.repo.create_issue(title, body)?,
        };
        // It stands. That this could not be checked is no reason to say otherwise.
        let mut older = self.marked(body, new.user.as_ref()).unwrap_or_default();
        older.retain(|post| {
            post.id() < new.id() && post.author() == new.author() && !refused.contains(&post.id())
        });
        // Ours is the younger text.
        match self.write(&older, title, body, false, &mut Vec::new())? {
            Some(written) => {
                self.remove(std::slice::from_ref(&new));
                Ok(Posted {
                    action: PostAction::Edited,
                    ..written
                })
            }
            None => Ok(Posted {
                post: new,
                action: PostAction::Created,
            }),
        }
    }

    /// Returns whether the post has the text now: it may be another's, or gone.
    ///
    /// Of two edits at once the server refuses one with a 500 `the comment is already changed`, whose text only its
    /// administrators see (docs/gitea-api.md, "Versions"): so any 500 is tried again, with the same text.
    fn edit(&self, id: u64, edit: IssueEdit<'_>) -> Result<bool> {
        let mut n = 0;
        loop {
            let edited = match self.pull {
                Some(_) => self.repo.edit_comment(id, edit.body.unwrap_or_default()),
                None => self.repo.edit_issue(id, edit).map(|()| true),
            };
            match edited {
                Err(error) if error.is_denied() && !error.is_scope() => return Ok(false),
                Err(error) if error.is_failure() && n + 1 < EDITS => self.repo.pause(n),
                other => return other,
            }
            n += 1;
        }
    }

    /// Deletes surplus comments, closes surplus issues; the next run sees again what stays.
    fn remove(&self, posts: &[Post]) {
        for post in posts {
            remains(match self.pull {
                Some(_) => self.repo.delete_comment(post.id()),
                None => self.repo.edit_issue(post.id(), IssueEdit::CLOSE),
            });
        }
    }
}

/// A post that stays is a nuisance and no failure.
fn remains(removed: Result<()>) {
    if let Err(error) = removed {
        log::warn!("a second comment or issue stays: {error}");
    }
}

/// Returns the text with the sealed keys of these posts, and with what earlier runs say in them of what they did.
fn kept(own: &[Post], body: &str) -> String {
    let keep =
        |body: String, post: &Post| keep_sealed(&post.body, &keep_earlier(&post.body, &body));
    own.iter().fold(body.to_owned(), keep)
}
