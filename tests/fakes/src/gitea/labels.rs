//! Labels.

use serde_json::{Value, json};

use super::api::{Call, Outcome, ok};
use super::auth::{Level, Unit};
use super::issues::{self, Label};
use super::pages::page;
use super::refusal::{forbidden, invalid, json_response};

/// `GET …/labels`.
pub(super) fn list(call: &Call) -> Outcome {
    let (shown, path) = {
        let forge = call.forge();
        call.require_read(&forge, Unit::Issues)?;
        let repo = forge.repo(call.repo);
        let labels = repo.labels.iter();
        let shown: Vec<Value> = labels.map(|label| forge.show_label(repo, label)).collect();
        (shown, format!("/repos/{}/labels", forge.full_name(repo)))
    };
    Ok(page(call, &path, &shown))
}

/// `POST …/labels`. A second one of the same name is another label.
pub(super) fn create(call: &Call) -> Outcome {
    let body = call.body()?;
    let mut forge = call.forge();
    call.require_read(&forge, Unit::Issues)?;
    if call.level(&forge, Unit::Issues) < Level::Write {
        return Err(forbidden(
            "user should have a permission to write to a repo",
        ));
    }
    let (name, color) = (body.text("name")?, body.text("color")?);
    for (field, value) in [("Name", &name), ("Color", &color)] {
        if value.is_empty() {
            return Err(invalid(format!("[{field}]: Required")));
        }
    }
    let label = Label {
        id: forge.new_id(),
        name,
        color: color.trim_start_matches('#').to_lowercase(),
        description: body.text("description")?,
    };
    forge.repo_mut(call.repo).labels.push(label.clone());
    let shown = forge.show_label(forge.repo(call.repo), &label);
    Ok(json_response(201, &shown))
}

/// `GET …/issues/{number}/labels`.
pub(super) fn list_of_issue(call: &Call) -> Outcome {
    let forge = call.forge();
    let ids = &issues::find(call, &forge)?.labels;
    Ok(ok(&json!(forge.show_labels(forge.repo(call.repo), ids))))
}

/// `POST …/issues/{number}/labels`, by names or ids. Unknown ones are dropped.
pub(super) fn attach(call: &Call) -> Outcome {
    let body = call.body()?;
    let mut forge = call.forge();
    let issue = issues::find(call, &forge)?;
    let (number, unit) = (issue.number, issue.unit());
    if call.level(&forge, unit) < Level::Write {
        return Err(forbidden("write permission is required"));
    }
    let given = body.get("labels").and_then(Value::as_array).cloned();
    let given = given.unwrap_or_default();
    let repo = forge.repo_mut(call.repo);
    let named =
        |label: &&Label| given.contains(&json!(label.id)) || given.contains(&json!(label.name));
    let ids: Vec<i64> = repo
        .labels
        .iter()
        .filter(named)
        .map(|label| label.id)
        .collect();
    let mut all = Vec::new();
    if let Some(issue) = repo.issue_mut(number) {
        issue.labels.extend(ids);
        issue.labels.sort_unstable();
        issue.labels.dedup();
        all.clone_from(&issue.labels);
    }
    Ok(ok(&json!(forge.show_labels(forge.repo(call.repo), &all))))
}
