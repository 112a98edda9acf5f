//! Pull requests (gitea-api.md §1.11).

use serde::Deserialize;
use serde_json::json;

use super::{Error, IssueEdit, Repo, decode, encode, or_default};
use crate::http::Method;

/// A pull request.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Pull {
    /// Its number in the repository.
    pub number: u64,
    /// Its title.
    #[serde(default, deserialize_with = "or_default")]
    pub title: String,
    /// Its text.
    #[serde(default, deserialize_with = "or_default")]
    pub body: String,
    /// `open` or `closed`, merged ones too.
    #[serde(default, deserialize_with = "or_default")]
    pub state: String,
    /// Was it merged?
    #[serde(default, deserialize_with = "or_default")]
    pub merged: bool,
    /// The commit that it became.
    pub merge_commit_sha: Option<String>,
    /// Its page.
    #[serde(default, deserialize_with = "or_default")]
    pub html_url: String,
    /// Where it comes from.
    pub head: PullEnd,
    /// Where it goes.
    pub base: PullEnd,
}

/// One of the two branches of a pull request.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct PullEnd {
    /// The branch's name.
    #[serde(default, rename = "ref", deserialize_with = "or_default")]
    pub branch: String,
    /// The commit.
    #[serde(default, deserialize_with = "or_default")]
    pub sha: String,
    /// The repository's id; −1 for a fork that was deleted.
    #[serde(default, deserialize_with = "or_default")]
    pub repo_id: i64,
}

impl Repo {
    /// Returns a pull request.
    pub fn pull(&self, number: u64) -> Result<Pull, Error> {
        decode(
            &self.send(Method::Get, &format!("/pulls/{number}"), None)?,
            "a pull request",
        )
    }

    /// Returns the pull request that was merged as this commit, if there is one (§1.11). The commit's full id.
    pub fn pull_merged_as(&self, commit: &str) -> Result<Option<Pull>, Error> {
        match self.send(
            Method::Get,
            &format!("/commits/{}/pull", encode(commit)),
            None,
        ) {
            Ok(reply) => decode(&reply, "a pull request").map(Some),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Returns the open pull request of this repository's branch `head` into `base`.
    pub fn open_pull(&self, base: &str, head: &str) -> Result<Option<Pull>, Error> {
        let is_it = |pull: &Pull| {
            pull.state == "open"
                && pull.head.branch == head
                && pull.base.branch == base
                && pull.head.repo_id == pull.base.repo_id
        };
        // Finds one of any state (§1.11): none at all is the usual case, and known after one request.
        let path = format!("/pulls/{}/{}", encode(base), encode(head));
        match self.send(Method::Get, &path, None) {
            Err(error) if error.is_not_found() => return Ok(None),
            Err(error) => return Err(error),
            Ok(reply) => {
                let pull: Pull = decode(&reply, "a pull request")?;
                if is_it(&pull) {
                    return Ok(Some(pull));
                }
            }
        }
        // It was a closed one. The filters of the list are not to be relied on.
        let pulls: Vec<Pull> = self.list(
            "/pulls?state=open",
            "a list of pull requests",
            |page: &[Pull]| page.iter().any(is_it),
        )?;
        Ok(pulls.into_iter().find(is_it))
    }

    /// Opens a pull request. Errors with 409 when there is an open one for these branches.
    pub fn create_pull(
        &self,
        head: &str,
        base: &str,
        title: &str,
        body: &str,
    ) -> Result<Pull, Error> {
        let new = json!({"head": head, "base": base, "title": title, "body": body});
        decode(
            &self.send(Method::Post, "/pulls", Some(&new))?,
            "a pull request",
        )
    }

    /// Changes a pull request.
    pub fn edit_pull(&self, number: u64, edit: IssueEdit<'_>) -> Result<(), Error> {
        let path = format!("/pulls/{number}");
        self.send(Method::Patch, &path, Some(&edit.to_json()))
            .map(drop)
    }
}
