//! Against servers that answer by a script, with the answers that were recorded where there are some.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::{Value, json};

use super::{GiteaError, Repo, Token, config};
use crate::wire::http::ProxySetting;
use crate::wire::http::tests::script::{Act, Script, answer, json as reply};

mod answers;
mod comments;
mod commits;
mod drift_issue;
mod files;
mod inventory;
mod live;
mod proposals;

/// A server that answers so, and the repository acme/network on it.
fn start(acts: impl IntoIterator<Item = Act>) -> (Script, Repo) {
    let server = Script::start(acts);
    let repo = repo_at(&server.url(), "acme/network");
    (server, repo)
}

fn repo_at(url: &str, name: &str) -> Repo {
    let mut config = config(url).unwrap();
    config.proxy = ProxySetting::Direct;
    config.retry.sleep = |_: Duration| {};
    Repo::new(config, &Token::parse("0123456789abcdef").unwrap(), name).unwrap()
}

/// The answer of a recording, as in `gitea/contents-get`.
fn recorded(name: &str) -> Act {
    let response = &recording(name)["response"];
    let body = match &response["body"] {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let mut headers = String::new();
    for (name, value) in response["headers"].as_object().unwrap() {
        headers.push_str(&format!("{name}: {}\r\n", value.as_str().unwrap()));
    }
    let status = response["status"].as_u64().unwrap();
    answer(u16::try_from(status).unwrap(), &headers, body)
}

fn recording(name: &str) -> Value {
    let path = format!("{}/tests/data/{name}.json", env!("CARGO_MANIFEST_DIR"));
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// The answer of Gitea that an error is.
fn of_gitea(error: &anyhow::Error) -> Option<&GiteaError> {
    error.downcast_ref()
}

/// What an error says to do.
fn hint_of(error: &anyhow::Error) -> Option<String> {
    let text = error.to_string();
    let told = text.split_once("\nhint: ").map(|(_, hint)| hint.to_owned());
    told.or_else(|| of_gitea(error)?.hint())
}

fn names<const N: usize>(names: [&str; N]) -> BTreeSet<String> {
    names.into_iter().map(str::to_owned).collect()
}

/// The answer to a reading of a branch.
fn tip(commit: &str) -> Act {
    reply(
        200,
        &json!({"name": "main", "commit": {"id": commit}}).to_string(),
    )
}

/// The answer to a reading of netbird.json.
fn file(text: &str, sha: &str) -> Act {
    use base64::Engine;
    let content = base64::engine::general_purpose::STANDARD.encode(text);
    let file = json!({"type": "file", "sha": sha, "size": text.len(), "encoding": "base64", "content": content,
                      "last_commit_sha": format!("commit-of-{sha}")});
    reply(200, &file.to_string())
}

/// An answer without a body, as some refusals are.
fn bare(status: u16) -> Act {
    answer(status, "", "")
}

/// The answer of Gitea to an error.
fn message(status: u16, text: &str) -> Act {
    reply(
        status,
        &json!({"message": text, "url": "http://127.0.0.1:3000/api/swagger"}).to_string(),
    )
}

/// What a request line asks for, without the repository's path.
fn asked(server: &Script) -> Vec<String> {
    let lines = server.lines();
    lines
        .iter()
        .map(|line| line.replace("/api/v1/repos/acme/network", ""))
        .collect()
}

/// The body of request `n`.
fn body(server: &Script, n: usize) -> Value {
    serde_json::from_str(&server.seen()[n].body).unwrap()
}
