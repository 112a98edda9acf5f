//! Issues, and comments, which pull requests have as issues do (docs/gitea-api.md, "Comments", "Issues and labels").

use serde::Deserialize;
use serde_json::{Value, json};

use super::{ForgeUser, Method, Repo, Result, decode, encode, shown};
use crate::base::masked;

/// A comment on an issue or a pull request, or an issue.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Post {
    /// The id, unique on the server.
    id: u64,
    /// The number of an issue, in its repository.
    number: Option<u64>,
    /// Who wrote it; `None` for a user that was deleted.
    pub user: Option<ForgeUser>,
    /// The title of an issue.
    #[serde(default)]
    pub title: String,
    /// Its text, byte for byte as it was sent.
    #[serde(default)]
    pub body: String,
    /// Its place on the page.
    #[serde(default, deserialize_with = "shown")]
    pub html_url: String,
}

impl Post {
    /// Returns the number of an issue, or the id of a comment.
    pub fn id(&self) -> u64 {
        self.number.unwrap_or(self.id)
    }

    /// Returns who wrote it.
    pub fn author(&self) -> Option<i64> {
        self.user.as_ref().map(|user| user.id)
    }
}

/// What to change of an issue; `None` leaves a field.
#[derive(Debug, Clone, Copy, Default)]
pub struct IssueEdit<'a> {
    /// The title.
    pub title: Option<&'a str>,
    /// The text.
    pub body: Option<&'a str>,
    /// `open` or `closed`.
    pub state: Option<&'a str>,
}

impl IssueEdit<'_> {
    /// Closes it.
    pub const CLOSE: Self = IssueEdit {
        title: None,
        body: None,
        state: Some("closed"),
    };

    pub(super) fn to_json(self) -> Value {
        let IssueEdit { title, body, state } = self;
        let fields = [("title", title), ("body", body), ("state", state)].into_iter();
        let set = fields.filter_map(|(name, value)| Some((name, masked(value?))));
        set.collect()
    }
}

impl Repo {
    /// Returns all comments of an issue or pull request, oldest first.
    ///
    /// One request: this list is not paginated, and a loop over pages would not end (docs/gitea-api.md, "Comments").
    /// For an unknown number Gitea answers 500.
    pub fn comments(&self, number: u64) -> Result<Vec<Post>> {
        let path = format!("/issues/{number}/comments");
        self.get(&path, "a list of comments")
    }

    /// Writes a comment. It needs no more than read access to the pull request, and the scope `write:issue`.
    pub fn create_comment(&self, number: u64, body: &str) -> Result<Post> {
        let path = format!("/issues/{number}/comments");
        let reply = self.send(Method::POST, &path, Some(&json!({"body": masked(body)})))?;
        decode(&reply, "a comment")
    }

    /// Changes a comment. Returns whether there was one to change: an event in the list of comments stays as it is (204).
    pub fn edit_comment(&self, id: u64, body: &str) -> Result<bool> {
        let path = format!("/issues/comments/{id}");
        let reply = self.send(Method::PATCH, &path, Some(&json!({"body": masked(body)})))?;
        Ok(reply.status != 204)
    }

    /// Deletes a comment.
    pub fn delete_comment(&self, id: u64) -> Result<()> {
        self.send(Method::DELETE, &format!("/issues/comments/{id}"), None)
            .map(drop)
    }

    /// Returns the open issues, newest first; with `created_by` only that user's. Pull requests are not among them.
    pub fn open_issues(&self, created_by: Option<&str>) -> Result<Vec<Post>> {
        let mut path = "/issues?state=open&type=issues".to_owned();
        if let Some(login) = created_by {
            path.push_str(&format!("&created_by={}", encode(login)));
        }
        self.list(&path, "a list of issues")
    }

    /// Opens an issue.
    pub fn create_issue(&self, title: &str, body: &str) -> Result<Post> {
        let new = json!({"title": masked(title), "body": masked(body)});
        decode(&self.send(Method::POST, "/issues", Some(&new))?, "an issue")
    }

    /// Changes an issue.
    pub fn edit_issue(&self, number: u64, edit: IssueEdit<'_>) -> Result<()> {
        let path = format!("/issues/{number}");
        self.send(Method::PATCH, &path, Some(&edit.to_json()))
            .map(drop)
    }
}
