//! Issues; pull requests are issues with branches.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::api::{BASE, Call, Outcome, ok};
use super::auth::{Level, Unit};
use super::flavour::Flavour;
use super::forge::{Forge, Repo, show_time};
use super::pages::page;
use super::pulls::Pull;
use super::refusal::{Refusal, invalid, json_response, missing};
use crate::body::Body;

/// An issue, or a pull request.
#[derive(Clone)]
pub(super) struct Issue {
    pub(super) id: i64,
    pub(super) number: i64,
    pub(super) user: i64,
    pub(super) title: String,
    pub(super) body: String,
    pub(super) is_open: bool,
    pub(super) is_locked: bool,
    /// Ids.
    pub(super) labels: Vec<i64>,
    /// How often the text was changed.
    pub(super) version: i64,
    pub(super) created: Timestamp,
    pub(super) updated: Timestamp,
    pub(super) closed: Option<Timestamp>,
    pub(super) pull: Option<Pull>,
}

/// A label of a repository.
#[derive(Clone)]
pub(super) struct Label {
    pub(super) id: i64,
    pub(super) name: String,
    pub(super) color: String,
    pub(super) description: String,
}

impl Issue {
    /// Returns the unit whose rights count.
    pub(super) fn unit(&self) -> Unit {
        if self.pull.is_some() {
            Unit::Pulls
        } else {
            Unit::Issues
        }
    }

    /// Returns the ref of the head of a pull request.
    pub(super) fn head_ref(&self) -> String {
        format!("refs/pull/{}/head", self.number)
    }

    pub(super) fn close(&mut self, now: Timestamp) {
        if self.is_open {
            (self.is_open, self.closed, self.updated) = (false, Some(now), now);
        }
    }

    /// Takes the changes of a PATCH.
    pub(super) fn change(&mut self, body: &Body, now: Timestamp) -> Result<(), Refusal> {
        let title = body
            .optional_text("title")?
            .filter(|title| !title.is_empty());
        let text = body.optional_text("body")?;
        if title.is_some() || text.is_some() {
            self.updated = now;
        }
        if text.as_ref().is_some_and(|text| *text != self.body) {
            self.version += 1;
        }
        self.title = title.unwrap_or_else(|| self.title.clone());
        self.body = text.unwrap_or_else(|| self.body.clone());
        match body.text("state")?.as_str() {
            "closed" => self.close(now),
            "open" => (self.is_open, self.closed) = (true, None),
            "" => {}
            state => return Err(invalid(format!("unknown state: {state}"))),
        }
        Ok(())
    }

    pub(super) fn state(&self) -> &'static str {
        if self.is_open { "open" } else { "closed" }
    }
}

impl Repo {
    pub(super) fn issue(&self, number: i64) -> Option<&Issue> {
        self.issues.iter().find(|issue| issue.number == number)
    }

    pub(super) fn issue_mut(&mut self, number: i64) -> Option<&mut Issue> {
        self.issues.iter_mut().find(|issue| issue.number == number)
    }
}

/// Returns the unit of an issue by its number.
pub(super) fn unit_of(repo: &Repo, number: i64) -> Unit {
    repo.issue(number).map_or(Unit::Issues, Issue::unit)
}

impl Forge {
    /// Adds an issue or a pull request, and returns its number.
    pub(super) fn add_issue(
        &mut self,
        repo: i64,
        user: i64,
        title: &str,
        body: &str,
        pull: Option<Pull>,
    ) -> i64 {
        let (id, now) = (self.new_id(), self.now());
        let repo = self.repo_mut(repo);
        let number = repo.issues.iter().map(|issue| issue.number).max();
        let number = number.unwrap_or_default() + 1;
        repo.issues.push(Issue {
            id,
            number,
            user,
            title: title.to_owned(),
            body: body.to_owned(),
            is_open: true,
            is_locked: false,
            labels: Vec::new(),
            version: 0,
            created: now,
            updated: now,
            closed: None,
            pull,
        });
        number
    }

    pub(super) fn show_labels(&self, repo: &Repo, ids: &[i64]) -> Vec<Value> {
        let labels = repo.labels.iter().filter(|label| ids.contains(&label.id));
        labels.map(|label| self.show_label(repo, label)).collect()
    }

    pub(super) fn show_label(&self, repo: &Repo, label: &Label) -> Value {
        let Label {
            id,
            name,
            color,
            description,
        } = label;
        json!({
            "id": id,
            "name": name,
            "exclusive": false,
            "is_archived": false,
            "color": color,
            "description": description,
            "url": format!("{}{BASE}/repos/{}/labels/{id}", self.root, self.full_name(repo)),
        })
    }

    pub(super) fn show_issue(&self, repo: &Repo, issue: &Issue) -> Value {
        let full_name = self.full_name(repo);
        let (root, number) = (&self.root, issue.number);
        let comments = repo.comments.iter();
        let count = comments.filter(|comment| comment.number == number).count();
        let kind = if issue.pull.is_some() {
            "pulls"
        } else {
            "issues"
        };
        let html_url = format!("{root}/{full_name}/{kind}/{number}");
        let pull = issue.pull.as_ref().map_or(Value::Null, |pull| {
            json!({
                "merged": pull.is_merged(),
                "merged_at": pull.merged.as_ref().map(|merge| show_time(merge.time)),
                "draft": false,
                "html_url": html_url,
            })
        });
        let mut shown = json!({
            "id": issue.id,
            "url": format!("{root}{BASE}/repos/{full_name}/issues/{number}"),
            "html_url": html_url,
            "number": number,
            "user": self.show_user(issue.user, true),
            "original_author": "",
            "original_author_id": 0,
            "title": issue.title,
            "body": issue.body,
            "ref": "",
            "assets": [],
            "labels": self.show_labels(repo, &issue.labels),
            "milestone": null,
            "assignee": null,
            "assignees": null,
            "state": issue.state(),
            "is_locked": issue.is_locked,
            "comments": count,
            "created_at": show_time(issue.created),
            "updated_at": show_time(issue.updated),
            "closed_at": issue.closed.map(show_time),
            "due_date": null,
            "pull_request": pull,
            "repository": {
                "id": repo.id,
                "name": repo.name,
                "owner": self.login(repo.owner),
                "full_name": full_name,
            },
            "pin_order": 0,
        });
        if self.flavour == Flavour::Gitea {
            shown["time_estimate"] = json!(0);
            shown["content_version"] = json!(issue.version);
        }
        shown
    }
}

/// `GET …/issues`: newest first.
pub(super) fn list(call: &Call) -> Outcome {
    let (shown, path) = {
        let forge = call.forge();
        let repo = forge.repo(call.repo);
        let state = call.parameter("state").unwrap_or("open");
        let kind = call.parameter("type").unwrap_or_default();
        // Unknown names are dropped, so one alone is no filter at all.
        let names = call.parameter("labels").unwrap_or_default().split(',');
        let id = |name: &str| repo.labels.iter().find(|label| label.name == name);
        let labels: Vec<i64> = names.filter_map(id).map(|label| label.id).collect();
        let author = call.parameter("created_by");
        let words = call.parameter("q").map(str::to_lowercase);
        let says = |issue: &Issue, words: &str| {
            let text = format!("{}\n{}", issue.title, issue.body).to_lowercase();
            text.contains(words)
        };
        let wanted = |issue: &&Issue| {
            (state == "all" || state == issue.state())
                && (kind != "issues" || issue.pull.is_none())
                && (kind != "pulls" || issue.pull.is_some())
                && labels.iter().all(|label| issue.labels.contains(label))
                && author.is_none_or(|login| forge.login(issue.user).eq_ignore_ascii_case(login))
                && words.as_ref().is_none_or(|words| says(issue, words))
                && call.level(&forge, issue.unit()) >= Level::Read
        };
        let issues = repo.issues.iter().rev().filter(wanted);
        let shown: Vec<Value> = issues.map(|issue| forge.show_issue(repo, issue)).collect();
        (shown, format!("/repos/{}/issues", forge.full_name(repo)))
    };
    Ok(page(call, &path, &shown))
}

/// Returns the issue of the path, where the caller may read it.
pub(super) fn find<'a>(call: &Call, forge: &'a Forge) -> Result<&'a Issue, Refusal> {
    let issue = forge.repo(call.repo).issue(call.number()?);
    let issue = issue.ok_or_else(missing)?;
    call.require_read(forge, issue.unit())?;
    Ok(issue)
}

/// `GET …/issues/{number}`.
pub(super) fn get(call: &Call) -> Outcome {
    let forge = call.forge();
    let issue = find(call, &forge)?;
    Ok(ok(&forge.show_issue(forge.repo(call.repo), issue)))
}

/// Reads the ids of labels. Names are no ids.
pub(super) fn label_ids(body: &Body) -> Result<Vec<i64>, Refusal> {
    let Some(Value::Array(ids)) = body.get("labels") else {
        return Ok(Vec::new());
    };
    let id = |id: &Value| id.as_i64().ok_or_else(|| invalid("[]: Deserialization"));
    ids.iter().map(id).collect()
}

/// `POST …/issues`.
pub(super) fn create(call: &Call) -> Outcome {
    let body = call.body()?;
    let title = body.text("title")?;
    if title.trim().is_empty() {
        return Err(invalid("[Title]: Required"));
    }
    let labels = label_ids(&body)?;
    let mut forge = call.forge();
    call.require_read(&forge, Unit::Issues)?;
    call.require_alive(&forge)?;
    let text = body.text("body")?;
    let number = forge.add_issue(call.repo, call.caller.user, &title, &text, None);
    let now = forge.now();
    // What a reader asks for beyond the text is dropped without a word.
    let writes = call.level(&forge, Unit::Issues) >= Level::Write;
    let closed = body.flag("closed")?;
    if let Some(issue) = forge.repo_mut(call.repo).issue_mut(number) {
        issue.labels = labels.into_iter().filter(|_| writes).collect();
        if closed {
            issue.close(now);
        }
    }
    let repo = forge.repo(call.repo);
    let issue = repo.issue(number).expect("the issue that was just added");
    Ok(json_response(201, &forge.show_issue(repo, issue)))
}

/// `PATCH …/issues/{number}`, which answers 201.
pub(super) fn edit(call: &Call) -> Outcome {
    let body = call.body()?;
    let mut forge = call.forge();
    let mut issue = find(call, &forge)?.clone();
    call.require_alive(&forge)?;
    if issue.user != call.caller.user && call.level(&forge, issue.unit()) < Level::Write {
        return Err(Refusal::Empty(403));
    }
    let known = body.get("content_version").and_then(Value::as_i64);
    let stale = known.is_some_and(|version| version != issue.version);
    if stale && forge.flavour == Flavour::Gitea {
        let message = "the issue is already changed".to_owned();
        return Err(Refusal::Message(409, message));
    }
    issue.change(&body, forge.now())?;
    if let Some(stored) = forge.repo_mut(call.repo).issue_mut(issue.number) {
        *stored = issue.clone();
    }
    let shown = forge.show_issue(forge.repo(call.repo), &issue);
    Ok(json_response(201, &shown))
}
