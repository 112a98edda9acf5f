//! Issues, pull requests and comments in the hands of a test.

use serde_json::Value;

use super::git::Draft;
use super::pulls::{Merge, Pull};
use super::{Gitea, HUMAN};

/// How a pull request is merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// With a merge commit.
    Merge,
    /// All of it as one commit.
    Squash,
    /// Each commit anew on top of the base.
    Rebase,
    /// The base is moved to the head.
    FastForward,
}

impl Gitea {
    /// Opens a pull request as this user, and returns its number.
    ///
    /// # Panics
    ///
    /// When there is no such user.
    pub fn open_pr_as(&self, login: &str, head: &str, base: &str, body: &str) -> i64 {
        let user = self.user(login);
        let mut forge = self.inner.shared.forge();
        forge.add_pull(self.inner.repo, user, (head, base), head, body)
    }

    /// Opens a pull request as `alice`, and returns its number. A head that is not there yet begins
    /// at the base.
    ///
    /// # Panics
    ///
    /// When there is no such base.
    pub fn open_pr(&self, head: &str, base: &str) -> i64 {
        let user = self.user(HUMAN);
        let mut forge = self.inner.shared.forge();
        let git = &forge.repo(self.inner.repo).git;
        let tip = git.tip(base);
        let tip = tip.unwrap_or_else(|| panic!("there is no branch {base}"));
        if git.tip(head).is_none() {
            git.set(&format!("refs/heads/{head}"), &tip);
        }
        forge.add_pull(self.inner.repo, user, (head, base), head, "")
    }

    /// Opens an issue as `alice`, and returns its number.
    pub fn open_issue(&self, title: &str, body: &str) -> i64 {
        let user = self.user(HUMAN);
        let mut forge = self.inner.shared.forge();
        forge.add_issue(self.inner.repo, user, title, body, None)
    }

    /// Closes an issue or a pull request.
    pub fn close(&self, number: i64) {
        let mut forge = self.inner.shared.forge();
        let now = forge.now();
        let repo = forge.repo_mut(self.inner.repo);
        if let Some(issue) = repo.issue_mut(number) {
            issue.close(now);
        }
    }

    /// Merges a pull request with a merge commit, as `alice` does in the browser, and returns the
    /// commit's id.
    ///
    /// # Panics
    ///
    /// When there is no such pull request, or the branches conflict.
    pub fn merge(&self, number: i64) -> String {
        self.merge_by(number, How::Merge)
    }

    /// Merges a pull request in one of the ways that the page offers. A rebase writes each commit anew, with its author and
    /// its message; the server knows the pull request by the last one alone.
    ///
    /// # Panics
    ///
    /// When there is no such pull request, or the branches conflict, or cannot be moved forward.
    pub fn merge_by(&self, number: i64, how: How) -> String {
        let user = self.user(HUMAN);
        let mut forge = self.inner.shared.forge();
        let (person, now) = (forge.person(user), forge.now());
        let repo = forge.repo(self.inner.repo);
        let issue = repo.issue(number);
        let Some(Pull { head, base, .. }) = issue.and_then(|issue| issue.pull.clone()) else {
            panic!("there is no pull request {number}");
        };
        // of a squash the page fills in the description
        let message = match how {
            How::Squash => format!(
                "{head} (#{number})\n\n{}\n",
                issue.map_or("", |issue| &issue.body)
            ),
            _ => format!("Merge pull request '{head}' (#{number}) from {head} into {base}\n"),
        };
        let draft = Draft {
            author: person.clone(),
            committer: person,
            message,
            changes: Vec::new(),
        };
        let git = repo.git.clone();
        let tips = git.tip(&base).zip(git.tip(&head));
        let start = tips
            .as_ref()
            .and_then(|(base, head)| git.merge_base(base, head));
        let start = start.unwrap_or_default();
        let merged = tips.and_then(|(base, head)| match how {
            How::Merge => git.merge(&base, &head, &draft),
            How::Squash => git.squash(&base, &head, &draft),
            How::FastForward => (start == base).then_some(head),
            How::Rebase => git.rebase(&base, &start, &head, &draft),
        });
        let commit = merged.unwrap_or_else(|| panic!("pull request {number} cannot be merged"));
        git.set(&format!("refs/heads/{base}"), &commit);
        forge.pushed(self.inner.repo, &base, &commit, &draft.message, user);
        let repo = forge.repo_mut(self.inner.repo);
        if let Some(issue) = repo.issue_mut(number) {
            issue.close(now);
            if let Some(pull) = &mut issue.pull {
                pull.merged = Some(Merge {
                    time: now,
                    commit: commit.clone(),
                    base: start,
                    user,
                });
            }
        }
        commit
    }

    /// Locks the conversation of an issue or pull request.
    pub fn lock(&self, number: i64) {
        let mut forge = self.inner.shared.forge();
        let repo = forge.repo_mut(self.inner.repo);
        if let Some(issue) = repo.issue_mut(number) {
            issue.is_locked = true;
        }
    }

    /// Adds a comment of this user (`alice`, `gitops-bot`, `gitea-actions`, …), and returns its id.
    ///
    /// # Panics
    ///
    /// When there is no such user.
    pub fn comment(&self, login: &str, number: i64, body: &str) -> i64 {
        let user = self.user(login);
        let mut forge = self.inner.shared.forge();
        forge.add_comment(self.inner.repo, number, user, body)
    }

    /// Returns the comments on an issue or pull request as the API lists them, oldest first.
    pub fn comments(&self, number: i64) -> Vec<Value> {
        let forge = self.inner.shared.forge();
        forge.show_comments(forge.repo(self.inner.repo), number)
    }

    /// Returns the issues and pull requests as the API lists them, oldest first.
    pub fn issues(&self) -> Vec<Value> {
        let forge = self.inner.shared.forge();
        let repo = forge.repo(self.inner.repo);
        let issues = repo.issues.iter();
        issues.map(|issue| forge.show_issue(repo, issue)).collect()
    }

    /// Returns the pull requests as the API shows them, oldest first.
    pub fn pulls(&self) -> Vec<Value> {
        let issues = self.issues();
        let pulls = issues
            .iter()
            .filter(|issue| !issue["pull_request"].is_null());
        let pull = |issue: &Value| {
            let path = self.path(&format!("/pulls/{}", issue["number"]));
            self.call("GET", &path, Value::Null).1
        };
        pulls.map(pull).collect()
    }

    /// Returns the statuses of a commit as the API lists them, oldest first.
    pub fn statuses(&self, commit: &str) -> Vec<Value> {
        let forge = self.inner.shared.forge();
        let repo = forge.repo(self.inner.repo);
        let statuses = repo.statuses.iter();
        statuses
            .filter(|status| status.commit == commit)
            .map(|status| forge.show_status(repo, status))
            .collect()
    }

    fn user(&self, login: &str) -> i64 {
        let forge = self.inner.shared.forge();
        let user = forge.user_named(login).map(|user| user.id);
        user.unwrap_or_else(|| panic!("there is no user {login}"))
    }
}
