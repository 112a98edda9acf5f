//! What `netbird.py` and `gitea.py` cannot see of the fakes: clock, faults, hooks, races, the log,
//! events on demand; and a look at recordings.

mod faults;
mod gitea;
mod hooks;
mod netbird;
mod recordings;

use fakes::NetBird;
use fakes::client::{self, Answer};
use serde_json::Value;

/// Sends a request as the admin service user. None where the connection was closed without a whole
/// answer.
fn send(netbird: &NetBird, method: &str, path: &str, body: Option<Value>) -> Option<Answer> {
    send_as(netbird, Some(&netbird.token()), method, path, body)
}

fn send_as(
    netbird: &NetBird,
    token: Option<&str>,
    method: &str,
    path: &str,
    body: Option<Value>,
) -> Option<Answer> {
    client::send(
        method,
        &format!("{}/api{path}", netbird.url()),
        token,
        body.as_ref(),
    )
    .ok()
}

/// Returns the status of an answer, or 0 for none.
fn status(answer: &Option<Answer>) -> u16 {
    answer.as_ref().map_or(0, |answer| answer.status)
}

/// Returns the requests so far, a line each.
fn log(netbird: &NetBird) -> Vec<String> {
    netbird.requests().iter().map(ToString::to_string).collect()
}

/// Returns the names of a list.
fn names(netbird: &NetBird, path: &str) -> Vec<String> {
    let list = netbird.list(path);
    list.as_array()
        .into_iter()
        .flatten()
        .map(|item| text(item, "name"))
        .collect()
}

/// Returns a field that is a text.
fn text(item: &Value, field: &str) -> String {
    item[field]
        .as_str()
        .unwrap_or_else(|| panic!("{item} has no text {field}"))
        .to_owned()
}
