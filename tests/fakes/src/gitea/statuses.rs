//! Statuses of commits.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::api::{BASE, Call, Outcome, ok};
use super::auth::{Level, Unit};
use super::forge::{Forge, Repo, show_time};
use super::pages::page;
use super::refusal::{Refusal, forbidden, json_response};

/// One status of a commit.
#[derive(Clone)]
pub(super) struct Status {
    id: i64,
    pub(super) commit: String,
    state: String,
    target_url: String,
    description: String,
    context: String,
    user: i64,
    created: Timestamp,
}

impl Forge {
    /// Shows a status. What a request calls `state` is `status` here.
    pub(super) fn show_status(&self, repo: &Repo, status: &Status) -> Value {
        let Status {
            id,
            commit,
            state,
            target_url,
            description,
            context,
            user,
            created,
        } = status;
        json!({
            "id": id,
            "status": state,
            "target_url": target_url,
            "description": description,
            "url": format!("{}{BASE}/repos/{}/statuses/{commit}", self.root, self.full_name(repo)),
            "context": context,
            "creator": self.show_user(*user, false),
            "created_at": show_time(*created),
            "updated_at": show_time(*created),
        })
    }
}

/// Returns the commit of the path. One that is not there is a 500.
fn commit(call: &Call, forge: &Forge) -> Result<String, Refusal> {
    let git = &forge.repo(call.repo).git;
    let commit = git.tip(call.part(0)).or_else(|| git.resolve(call.part(0)));
    commit.ok_or_else(|| Refusal::Hidden(format!("object does not exist [id: {}]", call.part(0))))
}

/// `POST …/statuses/{sha}`. Any word is taken as a state.
pub(super) fn create(call: &Call) -> Outcome {
    let body = call.body()?;
    let mut forge = call.forge();
    call.require_read(&forge, Unit::Code)?;
    if call.level(&forge, Unit::Code) < Level::Write {
        return Err(forbidden(
            "user should have a permission to write to a repo",
        ));
    }
    let commit = commit(call, &forge)?;
    let context = body.text("context")?;
    let status = Status {
        id: forge.new_id(),
        commit,
        state: body.text("state")?,
        target_url: body.text("target_url")?,
        description: body.text("description")?,
        context: if context.is_empty() {
            "default".to_owned()
        } else {
            context
        },
        user: call.caller.user,
        created: forge.now(),
    };
    forge.repo_mut(call.repo).statuses.push(status.clone());
    let shown = forge.show_status(forge.repo(call.repo), &status);
    Ok(json_response(201, &shown))
}

fn of_commit(call: &Call, forge: &Forge) -> Result<Vec<Status>, Refusal> {
    call.require_read(forge, Unit::Code)?;
    let commit = commit(call, forge)?;
    let statuses = forge.repo(call.repo).statuses.iter();
    Ok(statuses
        .filter(|status| status.commit == commit)
        .cloned()
        .collect())
}

/// `GET …/statuses/{sha}` and `…/commits/{ref}/statuses`: newest first.
pub(super) fn list(call: &Call) -> Outcome {
    let (shown, path) = {
        let forge = call.forge();
        let repo = forge.repo(call.repo);
        let statuses = of_commit(call, &forge)?;
        let shown: Vec<Value> = statuses
            .iter()
            .rev()
            .map(|status| forge.show_status(repo, status))
            .collect();
        let path = format!("/repos/{}/statuses/{}", forge.full_name(repo), call.part(0));
        (shown, path)
    };
    Ok(page(call, &path, &shown))
}

/// `GET …/commits/{ref}/status`: the last one of each context, and the worst of them.
pub(super) fn combined(call: &Call) -> Outcome {
    const WORST_FIRST: [&str; 5] = ["error", "failure", "pending", "warning", "success"];
    let forge = call.forge();
    let repo = forge.repo(call.repo);
    let commit = commit(call, &forge)?;
    let mut latest: Vec<Status> = Vec::new();
    for status in of_commit(call, &forge)? {
        latest.retain(|other| other.context != status.context);
        latest.push(status);
    }
    let worst = WORST_FIRST
        .into_iter()
        .find(|word| latest.iter().any(|status| status.state == *word));
    let shown: Vec<Value> = latest
        .iter()
        .map(|status| forge.show_status(repo, status))
        .collect();
    let none = forge.flavour.pick("pending", "");
    Ok(ok(&json!({
        "state": worst.unwrap_or(if shown.is_empty() { none } else { "pending" }),
        "sha": commit,
        "total_count": shown.len(),
        "statuses": if shown.is_empty() { Value::Null } else { json!(shown) },
        "repository": forge.show_repo(repo, &call.caller),
    })))
}
