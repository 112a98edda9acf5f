//! Pull requests (docs/gitea-api.md, "Pull requests").

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::json;

use super::{ForgeUser, IssueEdit, Method, Repo, Result, decode, encode, shown, unless_absent};

/// A pull request.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Pull {
    /// Its number in the repository.
    pub number: u64,
    /// Its title.
    #[serde(default)]
    pub title: String,
    /// Its text.
    #[serde(default)]
    pub body: String,
    /// `open` or `closed`, merged ones too.
    #[serde(default)]
    pub state: String,
    /// Was it merged?
    #[serde(default)]
    pub merged: bool,
    /// Its page.
    #[serde(default, deserialize_with = "shown")]
    pub html_url: String,
    /// Who opened it, and can change its text for ever.
    pub user: Option<ForgeUser>,
    /// The commit that its branch began at.
    #[serde(default)]
    pub merge_base: String,
    /// Where it comes from.
    #[serde(default)]
    pub head: PullEnd,
    /// Where it goes.
    #[serde(default)]
    pub base: PullEnd,
}

/// One of the two branches of a pull request.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct PullEnd {
    /// The branch's name.
    #[serde(rename = "ref")]
    pub branch: String,
    /// The commit.
    pub sha: String,
    /// The repository's id; −1 for a fork that was deleted.
    pub repo_id: i64,
}

/// Whether somebody may write to the code of a repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MayWrite {
    /// They may.
    Yes,
    /// They may not.
    No,
    /// A team of the organisation may not, and the token may not ask who is in which.
    Untold,
    /// A team that may not can change what others wrote in pull requests.
    OthersEdit,
}

/// A team of an organisation.
#[derive(Debug, Deserialize)]
struct Team {
    id: i64,
    /// What it may do: `read`, `write`, `admin`, `owner` or `none`, by unit.
    #[serde(default)]
    units_map: BTreeMap<String, String>,
}

impl Team {
    fn may_write(&self, unit: &str) -> bool {
        let may = self.units_map.get(unit).map(String::as_str);
        matches!(may, Some("write" | "admin" | "owner"))
    }
}

impl Pull {
    fn is_open(&self, base: &str, head: &str) -> bool {
        self.state == "open"
            && self.head.branch == head
            && self.base.branch == base
            && self.head.repo_id == self.base.repo_id
    }
}

impl Repo {
    /// Returns a pull request.
    pub fn pull(&self, number: u64) -> Result<Pull> {
        self.get(&format!("/pulls/{number}"), "a pull request")
    }

    /// Returns the pull request that was merged as this commit, if there is one (docs/gitea-api.md, "Pull requests").
    /// The commit's full id.
    pub fn pull_merged_as(&self, commit: &str) -> Result<Option<Pull>> {
        let path = format!("/commits/{}/pull", encode(commit));
        unless_absent(self.get(&path, "a pull request"))
    }

    /// Returns whether somebody may write to the code (docs/gitea-api.md, "Who agreed").
    pub fn may_write(&self, user: &ForgeUser) -> Result<MayWrite> {
        let is_in = |users: &[ForgeUser]| users.iter().any(|one| one.id == user.id);
        if !is_in(&self.get::<Vec<ForgeUser>>("/assignees", "a list of users")?) {
            return Ok(MayWrite::No);
        }
        // of an organisation's repository that list has people who read only, too
        let teams: Vec<Team> = match self.get("/teams", "a list of teams") {
            Err(error) if error.status() == Some(405) => return Ok(MayWrite::Yes),
            teams => teams?,
        };
        let may_write = |team: &&Team| team.may_write("repo.code");
        let (writing, other): (Vec<&Team>, Vec<&Team>) = teams.iter().partition(may_write);
        if other.is_empty() {
            return Ok(MayWrite::Yes);
        }
        if other.iter().any(|team| team.may_write("repo.pulls")) {
            return Ok(MayWrite::OthersEdit);
        }
        for team in writing {
            let path = format!("/teams/{}/members", team.id);
            match self.pages::<ForgeUser>(&path, "a list of users") {
                Ok(users) if is_in(&users) => return Ok(MayWrite::Yes),
                Ok(_) => {}
                Err(error) if error.is_denied() => {}
                Err(error) => return Err(error),
            }
        }
        Ok(MayWrite::Untold)
    }

    /// Returns the open pull request of this repository's branch `head` into `base`.
    pub fn open_pull(&self, base: &str, head: &str) -> Result<Option<Pull>> {
        // Finds one of any state (docs/gitea-api.md, "Pull requests"): none at all is the usual case, and known after
        // one request.
        let path = format!("/pulls/{}/{}", encode(base), encode(head));
        match unless_absent(self.get::<Pull>(&path, "a pull request"))? {
            Some(pull) if !pull.is_open(base, head) => {
                Ok(self.open_pulls(base, head)?.into_iter().next())
            }
            found => Ok(found),
        }
    }

    /// Returns all open pull requests of this repository's branch `head` into `base`, the lowest number first. There is one
    /// at most, but for two that were opened at the same instant.
    pub fn open_pulls(&self, base: &str, head: &str) -> Result<Vec<Pull>> {
        // The filters of this list are not to be relied on (docs/gitea-api.md, "Pull requests").
        let mut pulls: Vec<Pull> = self.list("/pulls?state=open", "a list of pull requests")?;
        pulls.retain(|pull| pull.is_open(base, head));
        pulls.sort_by_key(|pull| pull.number);
        pulls.dedup_by_key(|pull| pull.number);
        Ok(pulls)
    }

    /// Opens a pull request. Errors with 409 when there is an open one for these branches.
    pub fn create_pull(&self, head: &str, base: &str, title: &str, body: &str) -> Result<Pull> {
        let new = json!({"head": head, "base": base, "title": title, "body": body});
        let reply = self.send(Method::POST, "/pulls", Some(&new))?;
        decode(&reply, "a pull request")
    }

    /// Changes a pull request.
    pub fn edit_pull(&self, number: u64, edit: IssueEdit<'_>) -> Result<()> {
        let path = format!("/pulls/{number}");
        self.send(Method::PATCH, &path, Some(&edit.to_json()))
            .map(drop)
    }
}
