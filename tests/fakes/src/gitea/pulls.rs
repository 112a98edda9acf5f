//! Pull requests within one repository. There are no forks.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::api::{Call, Outcome, ok};
use super::auth::{Caller, Level, Unit};
use super::flavour::Flavour;
use super::forge::{Forge, Repo, show_time};
use super::issues::{self, Issue};
use super::pages::page;
use super::refusal::{Refusal, invalid, json_response, missing};

/// What makes an issue a pull request.
#[derive(Clone)]
pub(super) struct Pull {
    /// The branch with the changes.
    pub(super) head: String,
    /// The branch that is to have them.
    pub(super) base: String,
    pub(super) merged: Option<Merge>,
}

/// How a pull request was merged.
#[derive(Clone)]
pub(super) struct Merge {
    pub(super) time: Timestamp,
    pub(super) commit: String,
    /// Where the branch began, as it was when it was merged.
    pub(super) base: String,
    pub(super) user: i64,
}

impl Pull {
    pub(super) fn is_merged(&self) -> bool {
        self.merged.is_some()
    }
}

impl Forge {
    /// Shows a pull request; `is_checked` false is one that the server has had no time to look at.
    fn show_pull(&self, caller: &Caller, repo: &Repo, issue: &Issue, is_checked: bool) -> Value {
        let Some(pull) = &issue.pull else {
            return Value::Null;
        };
        let Issue { number, .. } = issue;
        let url = format!("{}/{}/pulls/{number}", self.root, self.full_name(repo));
        // A push by git itself moves the branch alone. That of a merged one shows where its branch is by now, too.
        let tip = repo.git.tip(&pull.head);
        let head = tip.or_else(|| repo.git.resolve(&issue.head_ref()));
        let base = repo.git.tip(&pull.base);
        let merge_base = match (&pull.merged, &base, &head) {
            (Some(merge), ..) => Some(merge.base.clone()),
            (None, Some(base), Some(head)) => repo.git.merge_base(base, head),
            _ => None,
        };
        let shown_repo = self.show_repo(repo, caller);
        let side = |name: &str, sha: &Option<String>| {
            json!({
                "label": name,
                "ref": name,
                "sha": sha.as_deref().unwrap_or_default(),
                "repo_id": repo.id,
                "repo": shown_repo,
            })
        };
        let comments = repo.comments.iter();
        let count = comments.filter(|comment| comment.number == *number).count();
        let merged = pull.merged.as_ref();
        let mut shown = json!({
            "id": issue.id,
            "url": url,
            "number": number,
            "user": self.show_user(issue.user, true),
            "title": issue.title,
            "body": issue.body,
            "labels": self.show_labels(repo, &issue.labels),
            "milestone": null,
            "assignee": null,
            "assignees": [],
            "requested_reviewers": [],
            "requested_reviewers_teams": [],
            "state": issue.state(),
            "draft": false,
            "is_locked": issue.is_locked,
            "comments": count,
            "html_url": url,
            "diff_url": format!("{url}.diff"),
            "patch_url": format!("{url}.patch"),
            "mergeable": is_checked,
            "merged": pull.is_merged(),
            "merged_at": merged.map(|merge| show_time(merge.time)),
            "merge_commit_sha": merged.map(|merge| &merge.commit),
            "merged_by": merged.map(|merge| self.show_user(merge.user, false)),
            "allow_maintainer_edit": false,
            "base": side(&pull.base, &base),
            "head": side(&pull.head, &head),
            "merge_base": merge_base.unwrap_or_default(),
            "due_date": null,
            "created_at": show_time(issue.created),
            "updated_at": show_time(issue.updated),
            "closed_at": issue.closed.map(show_time),
            "pin_order": 0,
        });
        if self.flavour == Flavour::Gitea {
            shown["content_version"] = json!(issue.version);
        }
        shown
    }

    /// Opens a pull request of a branch that is there, and returns its number.
    pub(super) fn add_pull(
        &mut self,
        repo: i64,
        user: i64,
        branches: (&str, &str),
        title: &str,
        body: &str,
    ) -> i64 {
        let (head, base) = branches;
        let pull = Pull {
            head: head.to_owned(),
            base: base.to_owned(),
            merged: None,
        };
        let number = self.add_issue(repo, user, title, body, Some(pull));
        let repo = self.repo(repo);
        let tip = repo.git.tip(head);
        if let (Some(issue), Some(tip)) = (repo.issue(number), tip) {
            repo.git.set(&issue.head_ref(), &tip);
        }
        number
    }
}

fn pulls(repo: &Repo) -> impl DoubleEndedIterator<Item = (&Issue, &Pull)> {
    let issues = repo.issues.iter();
    issues.filter_map(|issue| Some((issue, issue.pull.as_ref()?)))
}

/// `GET …/pulls`. `head=` is no filter; `base_branch=` is one on Gitea.
pub(super) fn list(call: &Call) -> Outcome {
    let (shown, path) = {
        let forge = call.forge();
        call.require_read(&forge, Unit::Pulls)?;
        let repo = forge.repo(call.repo);
        let state = call.parameter("state").unwrap_or("open");
        let base = forge.flavour.pick(call.parameter("base_branch"), None);
        let wanted = pulls(repo).rev().filter(|(issue, pull)| {
            (state == "all" || state == issue.state()) && base.is_none_or(|base| pull.base == base)
        });
        let shown: Vec<Value> = wanted
            .map(|(issue, _)| forge.show_pull(&call.caller, repo, issue, true))
            .collect();
        (shown, format!("/repos/{}/pulls", forge.full_name(repo)))
    };
    Ok(page(call, &path, &shown))
}

/// `POST …/pulls`.
pub(super) fn create(call: &Call) -> Outcome {
    let body = call.body()?;
    let mut forge = call.forge();
    call.require_read(&forge, Unit::Pulls)?;
    call.require_alive(&forge)?;
    let (head, base) = (body.text("head")?, body.text("base")?);
    let title = body.text("title")?;
    if let Some(job) = &call.caller.job {
        if forge.flavour == Flavour::Forgejo && forge.repo(call.repo).private {
            return Err(missing());
        }
        if job.code < Level::Write || job.pulls < Level::Write {
            let message = "user should have a permission to write to a repo".to_owned();
            return Err(Refusal::Message(403, message));
        }
    }
    for (field, value) in [("Head", &head), ("Base", &base), ("Title", &title)] {
        if value.is_empty() {
            return Err(invalid(format!("[{field}]: Required")));
        }
    }
    if head == base {
        let message =
            format!("Invalid PullRequest: There are no changes between {base} and {head}");
        return Err(invalid(message));
    }
    let repo = forge.repo(call.repo);
    if repo.git.tip(&head).is_none() || repo.git.tip(&base).is_none() {
        return Err(missing());
    }
    let same =
        |(issue, pull): &(&Issue, &Pull)| issue.is_open && pull.head == head && pull.base == base;
    if let Some((issue, _)) = pulls(repo).find(same) {
        let (id, repo) = (issue.id, call.repo);
        let message = format!(
            "pull request already exists for these targets [id: {id}, issue_id: {id}, \
             head_repo_id: {repo}, base_repo_id: {repo}, head_branch: {head}, base_branch: {base}]"
        );
        return Err(Refusal::Message(409, message));
    }
    let labels = issues::label_ids(&body)?;
    let text = body.text("body")?;
    let branches = (head.as_str(), base.as_str());
    let number = forge.add_pull(call.repo, call.caller.user, branches, &title, &text);
    if let Some(issue) = forge.repo_mut(call.repo).issue_mut(number) {
        issue.labels = labels;
    }
    let repo = forge.repo(call.repo);
    let issue = repo.issue(number).expect("the pull that was just added");
    let shown = forge.show_pull(&call.caller, repo, issue, false);
    Ok(json_response(201, &shown))
}

fn of_path<'a>(call: &Call, forge: &'a Forge) -> Result<&'a Issue, Refusal> {
    call.require_read(forge, Unit::Pulls)?;
    let issue = forge.repo(call.repo).issue(call.number()?);
    issue
        .filter(|issue| issue.pull.is_some())
        .ok_or_else(missing)
}

/// `GET …/pulls/{number}`.
pub(super) fn get(call: &Call) -> Outcome {
    let forge = call.forge();
    let issue = of_path(call, &forge)?;
    let repo = forge.repo(call.repo);
    Ok(ok(&forge.show_pull(&call.caller, repo, issue, true)))
}

/// `GET …/pulls/{base}/{head}`: one in any state, the newest first. Which slash parts the two names
/// is for the repository to say.
pub(super) fn find(call: &Call) -> Outcome {
    let forge = call.forge();
    call.require_read(&forge, Unit::Pulls)?;
    let repo = forge.repo(call.repo);
    let names = format!("{}/{}", call.part(0), call.part(1));
    let mut found = pulls(repo).rev();
    let found = found.find(|(_, pull)| names == format!("{}/{}", pull.base, pull.head));
    let (issue, _) = found.ok_or_else(missing)?;
    Ok(ok(&forge.show_pull(&call.caller, repo, issue, true)))
}

/// `GET …/commits/{sha}/pull`: found by the commit that it was merged as, and by no other.
pub(super) fn of_commit(call: &Call) -> Outcome {
    let forge = call.forge();
    call.require_read(&forge, Unit::Pulls)?;
    let repo = forge.repo(call.repo);
    let is_it = |pull: &Pull| {
        let merge = pull.merged.as_ref();
        merge.is_some_and(|merge| merge.commit == call.part(0))
    };
    let found = pulls(repo).find(|(_, pull)| is_it(pull));
    let (issue, _) = found.ok_or_else(missing)?;
    Ok(ok(&forge.show_pull(&call.caller, repo, issue, true)))
}

/// `PATCH …/pulls/{number}`, which answers 201.
pub(super) fn edit(call: &Call) -> Outcome {
    let body = call.body()?;
    let mut forge = call.forge();
    let mut issue = of_path(call, &forge)?.clone();
    call.require_alive(&forge)?;
    if issue.user != call.caller.user && call.level(&forge, Unit::Pulls) < Level::Write {
        return Err(Refusal::Empty(403));
    }
    let is_merged = issue.pull.as_ref().is_some_and(Pull::is_merged);
    if is_merged && body.optional_text("state")?.is_some() {
        let message = "cannot change state of this pull request, it was already merged".to_owned();
        return Err(Refusal::Message(412, message));
    }
    issue.change(&body, forge.now())?;
    if let Some(stored) = forge.repo_mut(call.repo).issue_mut(issue.number) {
        *stored = issue.clone();
    }
    let repo = forge.repo(call.repo);
    let shown = forge.show_pull(&call.caller, repo, &issue, true);
    Ok(json_response(201, &shown))
}
