//! Branches.

use serde_json::{Value, json};

use super::api::{Call, Outcome, done, ok};
use super::auth::{Level, Unit};
use super::commits;
use super::forge::{Forge, Repo};
use super::git::NOTHING;
use super::pages::page;
use super::refusal::{Refusal, forbidden, json_response, missing};

impl Repo {
    /// Returns the branches that git has and the database does not know.
    pub(super) fn unknown(&self) -> Vec<String> {
        let unknown = self.unknown.iter();
        let unknown = unknown.filter(|(name, tip)| self.git.tip(name).as_ref() == Some(*tip));
        unknown.map(|(name, _)| name.clone()).collect()
    }

    /// Returns the commit at the tip of a branch that the database knows.
    fn tip(&self, name: &str) -> Option<String> {
        let is_known = !self.unknown().iter().any(|unknown| unknown == name);
        self.git.tip(name).filter(|_| is_known)
    }
}

fn show(call: &Call, forge: &Forge, name: &str, tip: &str) -> Value {
    let repo = forge.repo(call.repo);
    let level = call.level(forge, Unit::Code);
    let rule = repo.rule(name);
    let pushes = rule.is_none_or(|rule| rule.lets_push(forge, &call.caller));
    let rule_name = rule.filter(|_| level >= Level::Admin);
    json!({
        "name": name,
        "commit": commits::show_tip(forge, repo, &repo.git.commit(tip)),
        "protected": rule.is_some(),
        "required_approvals": rule.map_or(0, |rule| rule.approvals),
        "enable_status_check": false,
        "status_check_contexts": if rule.is_some() { Value::Null } else { json!([]) },
        "user_can_push": level >= Level::Write && pushes,
        "user_can_merge": level >= Level::Write,
        "effective_branch_protection_name": rule_name.map_or("", |rule| rule.name.as_str()),
    })
}

/// `GET …/branches`.
pub(super) fn list(call: &Call) -> Outcome {
    let (shown, path) = {
        let forge = call.forge();
        call.require_read(&forge, Unit::Code)?;
        let repo = forge.repo(call.repo);
        let branches = repo.git.branches();
        let tips = branches
            .iter()
            .filter_map(|name| Some((name, repo.tip(name)?)));
        let shown: Vec<Value> = tips
            .map(|(name, tip)| show(call, &forge, name, &tip))
            .collect();
        (shown, format!("/repos/{}/branches", forge.full_name(repo)))
    };
    Ok(page(call, &path, &shown))
}

/// `GET …/branches/{name}`.
pub(super) fn get(call: &Call) -> Outcome {
    let forge = call.forge();
    call.require_read(&forge, Unit::Code)?;
    let tip = forge.repo(call.repo).tip(call.part(0));
    let tip = tip.ok_or_else(missing)?;
    Ok(ok(&show(call, &forge, call.part(0), &tip)))
}

/// `GET …/git/refs/heads/{name}`: of git, by the beginning of the name.
pub(super) fn refs(call: &Call) -> Outcome {
    let forge = call.forge();
    call.require_read(&forge, Unit::Code)?;
    let git = &forge.repo(call.repo).git;
    let named = git.branches().into_iter();
    let named = named.filter(|name| name.starts_with(call.part(0)));
    let show = |name: String| {
        let object = json!({"type": "commit", "sha": git.tip(&name)});
        json!({"ref": format!("refs/heads/{name}"), "object": object})
    };
    let shown: Vec<Value> = named.map(show).collect();
    match shown.is_empty() {
        true => Err(missing()),
        false => Ok(ok(&json!(shown))),
    }
}

/// Sees that the caller may make and delete branches.
fn require_write(call: &Call, forge: &Forge) -> Result<(), Refusal> {
    call.require_read(forge, Unit::Code)?;
    call.require_alive(forge)?;
    if call.level(forge, Unit::Code) < Level::Write {
        return Err(forbidden(
            "user should have a permission to write to a repo",
        ));
    }
    Ok(())
}

/// `POST …/branches`.
pub(super) fn create(call: &Call) -> Outcome {
    let mut forge = call.forge();
    require_write(call, &forge)?;
    let body = call.body()?;
    let repo = forge.repo(call.repo);
    let name = body.text("new_branch_name")?;
    let given = [body.text("old_ref_name")?, body.text("old_branch_name")?];
    let old = given.into_iter().find(|name| !name.is_empty());
    let old = old.unwrap_or_else(|| repo.default_branch.clone());
    let Some(commit) = repo.git.tip(&old).or_else(|| repo.git.resolve(&old)) else {
        let message = "The old branch does not exist".to_owned();
        return Err(Refusal::Message(404, message));
    };
    let made = repo
        .git
        .push(&format!("refs/heads/{name}"), &commit, NOTHING);
    if made.is_err() {
        let message = "The branch already exists.".to_owned();
        return Err(Refusal::Message(409, message));
    }
    forge.pushed(call.repo, &name, &commit, "", call.caller.user);
    Ok(json_response(201, &show(call, &forge, &name, &commit)))
}

/// `DELETE …/branches/{name}`.
pub(super) fn delete(call: &Call) -> Outcome {
    let forge = call.forge();
    require_write(call, &forge)?;
    let (repo, name) = (forge.repo(call.repo), call.part(0));
    repo.git.tip(name).ok_or_else(missing)?;
    if name == repo.default_branch {
        return Err(forbidden("can not delete default branch"));
    }
    if repo.rule(name).is_some() {
        return Err(forbidden("branch protected"));
    }
    repo.git.delete(&format!("refs/heads/{name}"));
    Ok(done())
}
