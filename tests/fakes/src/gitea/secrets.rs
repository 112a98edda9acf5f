//! Secrets and variables of a repository: for its owner alone, an administrator of the repository is told so.

use serde_json::{Value, json};

use super::api::{Call, Outcome, done, ok};
use super::auth::{self, Level, Unit};
use super::forge::show_time;
use super::pages::page;
use super::refusal::{Refusal, invalid};
use crate::http::Response;

/// More bytes of a value are refused.
const MAX_BYTES: usize = 65_535;

/// Sees that the caller owns the repository, or the whole site.
fn require_owner(call: &Call) -> Result<(), Refusal> {
    let forge = call.forge();
    let repo = forge.repo(call.repo);
    let user = forge.user(call.caller.user);
    let owns = user.is_some_and(|user| user.is_admin || user.id == repo.owner);
    let level = auth::level(&forge, &call.caller, repo, Unit::Code);
    match owns && call.caller.job.is_none() && level == Level::Admin {
        true => Ok(()),
        false => Err(Refusal::Message(
            403,
            "user should be the owner of the repo".to_owned(),
        )),
    }
}

/// Returns a name as it is kept, in upper case.
fn name(call: &Call) -> Result<String, Refusal> {
    let name = call.part(0).to_uppercase();
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let is_reserved = name.starts_with("GITEA_") || name.starts_with("GITHUB_") || name == "CI";
    let begins = name
        .bytes()
        .next()
        .is_some_and(|byte| !byte.is_ascii_digit());
    match begins && name.bytes().all(is_plain) && !is_reserved {
        true => Ok(name),
        false => Err(Refusal::Message(
            400,
            "invalid variable or secret name".to_owned(),
        )),
    }
}

fn value(call: &Call, field: &str, label: &str) -> Result<String, Refusal> {
    let value = call.body()?.text(field)?;
    match value.len() {
        0 => Err(invalid(format!("[{label}]: Required"))),
        length if length > MAX_BYTES => Err(Refusal::Message(400, "data too long".to_owned())),
        _ => Ok(value.replace("\r\n", "\n")),
    }
}

fn created() -> Outcome {
    Ok(Response {
        status: 201,
        ..Response::default()
    })
}

/// `GET …/actions/secrets`: names alone.
pub(super) fn list(call: &Call) -> Outcome {
    require_owner(call)?;
    let (shown, path) = {
        let forge = call.forge();
        let repo = forge.repo(call.repo);
        let secret = |name: &String| json!({ "name": name, "description": "", "created_at": show_time(repo.created) });
        let shown: Vec<Value> = repo.secrets.keys().map(secret).collect();
        (
            shown,
            format!("/repos/{}/actions/secrets", forge.full_name(repo)),
        )
    };
    Ok(page(call, &path, &shown))
}

/// `PUT …/actions/secrets/{name}`: 201 where it is new, 204 where it is replaced. An archived repository takes it, too.
pub(super) fn set(call: &Call) -> Outcome {
    require_owner(call)?;
    let (value, name) = (value(call, "data", "Data")?, name(call)?);
    let mut forge = call.forge();
    match forge.repo_mut(call.repo).secrets.insert(name, value) {
        None => created(),
        Some(_) => Ok(done()),
    }
}

fn show_variable(repo: i64, name: &str, value: &str) -> Value {
    json!({ "owner_id": 0, "repo_id": repo, "name": name, "data": value, "description": "" })
}

/// `GET …/actions/variables`.
pub(super) fn variables(call: &Call) -> Outcome {
    require_owner(call)?;
    let (shown, path) = {
        let forge = call.forge();
        let repo = forge.repo(call.repo);
        let variables = repo.variables.iter();
        let shown: Vec<Value> = variables
            .map(|(name, value)| show_variable(repo.id, name, value))
            .collect();
        (
            shown,
            format!("/repos/{}/actions/variables", forge.full_name(repo)),
        )
    };
    Ok(page(call, &path, &shown))
}

/// `GET …/actions/variables/{name}`.
pub(super) fn variable(call: &Call) -> Outcome {
    require_owner(call)?;
    let name = call.part(0).to_uppercase();
    let forge = call.forge();
    match forge.repo(call.repo).variables.get(&name) {
        Some(value) => Ok(ok(&show_variable(call.repo, &name, value))),
        None => Err(Refusal::Message(404, "variable not found".to_owned())),
    }
}

/// `POST …/actions/variables/{name}`: one that is there stays.
pub(super) fn create_variable(call: &Call) -> Outcome {
    require_owner(call)?;
    let (value, name) = (value(call, "value", "Value")?, name(call)?);
    let mut forge = call.forge();
    let variables = &mut forge.repo_mut(call.repo).variables;
    if variables.contains_key(&name) {
        let message = format!("variable name {} already exists", call.part(0));
        return Err(Refusal::Message(409, message));
    }
    variables.insert(name, value);
    created()
}

/// `PUT …/actions/variables/{name}`: one that is not there is not made.
pub(super) fn update_variable(call: &Call) -> Outcome {
    require_owner(call)?;
    let (value, name) = (value(call, "value", "Value")?, name(call)?);
    let mut forge = call.forge();
    match forge.repo_mut(call.repo).variables.get_mut(&name) {
        Some(held) => {
            *held = value;
            Ok(done())
        }
        None => Err(Refusal::Message(404, "variable not found".to_owned())),
    }
}
