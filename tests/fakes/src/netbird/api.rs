//! From a request to an answer: which call it is, who makes it, and how what came of it is put on
//! the wire.

use serde_json::{Value, json};

use super::account::Account;
use super::auth::{self, Module, Right};
use super::refusal::Refusal;
use super::{
    dns_settings, events, groups, nameservers, networks, peers, policies, posture, routes,
    settings, setup_keys, unmanaged, users, zones,
};
use crate::body::Body;
use crate::http::{Request, Response};
use crate::url::{pairs, percent_decode};

/// What a handler makes: the body of a 200, or a refusal.
pub(super) type Outcome = Result<Value, Refusal>;

/// One call of the API: a method, a path in which `*` stands for an id, the right that it needs,
/// and what it does.
pub(super) struct Route {
    method: &'static str,
    pattern: &'static str,
    right: Right,
    handler: fn(&mut Call) -> Outcome,
}

/// Returns a call that needs the right to read or write a module.
pub(super) const fn route(
    method: &'static str,
    pattern: &'static str,
    module: Module,
    handler: fn(&mut Call) -> Outcome,
) -> Route {
    Route {
        method,
        pattern,
        right: Right::To(module),
        handler,
    }
}

/// Returns a call with another kind of right.
pub(super) const fn open(
    method: &'static str,
    pattern: &'static str,
    right: Right,
    handler: fn(&mut Call) -> Outcome,
) -> Route {
    Route {
        method,
        pattern,
        right,
        handler,
    }
}

/// Of two patterns that match a path, the first counts.
const ROUTES: &[&[Route]] = &[
    users::ROUTES,
    groups::ROUTES,
    setup_keys::ROUTES,
    peers::ROUTES,
    policies::ROUTES,
    posture::ROUTES,
    routes::ROUTES,
    nameservers::ROUTES,
    dns_settings::ROUTES,
    settings::ROUTES,
    zones::ROUTES,
    networks::ROUTES,
    events::ROUTES,
    unmanaged::ROUTES,
    OTHERS,
];

const OTHERS: &[Route] = &[open("GET", "/instance/version", Right::Token, |_| {
    Ok(json!({"management_current_version": "0.77.1", "management_update_available": false}))
})];

/// What a handler is given.
pub(super) struct Call<'a> {
    pub(super) account: &'a mut Account,
    /// The id of the user who makes the call.
    pub(super) user: String,
    ids: Vec<String>,
    query: Vec<(String, String)>,
    bytes: &'a [u8],
}

impl Call<'_> {
    /// Returns the last id of the path: that of the object.
    pub(super) fn id(&self) -> String {
        self.ids.last().cloned().unwrap_or_default()
    }

    /// Returns the first id of the path: that of the parent, where the object has one.
    pub(super) fn parent(&self) -> String {
        self.ids.first().cloned().unwrap_or_default()
    }

    pub(super) fn body(&self) -> Result<Body, Refusal> {
        Ok(Body::parse(self.bytes)?)
    }

    /// Returns a parameter of the query; an empty one is none.
    pub(super) fn parameter(&self, name: &str) -> Option<&str> {
        let (_, value) = self.query.iter().find(|(key, _)| key == name)?;
        Some(value.as_str()).filter(|value| !value.is_empty())
    }

    /// Writes an event of the calling user.
    pub(super) fn record(&mut self, code: &str, target: &str, meta: Value) {
        self.account.record(&self.user, code, target, meta);
    }
}

/// Answers a request from the network.
pub(super) fn answer(account: &mut Account, request: &Request) -> Option<Response> {
    let Request {
        method,
        path,
        in_api,
        query,
        bytes,
        headers: _,
        body: _,
        status: _,
    } = request;
    if !in_api && path == "/sandbox/enroll" && method == "POST" {
        return Some(enroll(account, bytes));
    }
    let decoded = percent_decode(path);
    if let Some(clean) = cleaned(&decoded) {
        let base = if *in_api { "/api" } else { "" };
        let mark = if query.is_empty() { "" } else { "?" };
        return Some(
            Response::new(301, "text/html; charset=utf-8", "")
                .with("Location", &format!("{base}{clean}{mark}{query}")),
        );
    }
    let found = if *in_api {
        find(method, &decoded)
    } else {
        None
    };
    let outcome = match found {
        None => Err(Refusal::NoSuchPath),
        Some((route, ids)) => auth::caller(account, request.header("authorization"))
            .and_then(|user| run(account, user, route, ids, &decoded, query, bytes)),
    };
    let response = match outcome {
        // The real server forgets the charset in two answers.
        Ok(body) if path.starts_with("/setup-keys/") && method != "DELETE" => {
            Response::new(200, "application/json", format!("{body}\n"))
        }
        Ok(body) => Response::json(200, &body),
        Err(Refusal::Message(status, message)) => {
            Response::json(status, &json!({"message": message, "code": status}))
        }
        Err(Refusal::NoSuchPath) => {
            return Some(Response::new(
                404,
                "text/plain; charset=utf-8",
                "404 page not found\n",
            ));
        }
        Err(Refusal::Hangup) => return None,
    };
    let taken = account
        .lasting
        .iter()
        .find(|(of, at, _)| of == method && *at == decoded);
    if let Some((.., seconds)) = taken {
        account.clock.advance(*seconds);
    }
    let date = account
        .now()
        .strftime("%a, %d %b %Y %H:%M:%S GMT")
        .to_string();
    let response = response.with("Date", &date);
    Some(response.with("X-Request-Id", &account.new_id()))
}

/// Makes a call in process, as this user; returns the status and the body. A text stands for what
/// is no JSON.
pub(super) fn perform(
    account: &mut Account,
    user: &str,
    method: &str,
    target: &str,
    body: &[u8],
) -> (u16, Value) {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let path = percent_decode(path);
    let outcome = match find(method, &path) {
        Some((route, ids)) => run(account, user.to_owned(), route, ids, &path, query, body),
        None => Err(Refusal::NoSuchPath),
    };
    match outcome {
        Ok(body) => (200, body),
        Err(Refusal::Message(status, message)) => {
            (status, json!({"message": message, "code": status}))
        }
        Err(refusal @ Refusal::NoSuchPath) => (404, json!(refusal.to_string())),
        Err(refusal @ Refusal::Hangup) => (0, json!(refusal.to_string())),
    }
}

fn run(
    account: &mut Account,
    user: String,
    route: &Route,
    ids: Vec<String>,
    path: &str,
    query: &str,
    bytes: &[u8],
) -> Outcome {
    auth::allow(account, &user, route.right, route.method, path)?;
    (route.handler)(&mut Call {
        account,
        user,
        ids,
        query: pairs(query),
        bytes,
    })
}

/// Returns the call of this method and path, and the ids in the path.
fn find(method: &str, path: &str) -> Option<(&'static Route, Vec<String>)> {
    let matching = |route: &'static Route| {
        let ids = ids_in(route.pattern, path).filter(|_| route.method == method)?;
        Some((route, ids))
    };
    ROUTES.iter().copied().flatten().find_map(matching)
}

fn ids_in(pattern: &str, path: &str) -> Option<Vec<String>> {
    if pattern.split('/').count() != path.split('/').count() {
        return None;
    }
    let mut ids = Vec::new();
    for (wanted, segment) in pattern.split('/').zip(path.split('/')) {
        match wanted {
            "*" if !segment.is_empty() => ids.push(segment.to_owned()),
            _ if wanted == segment => {}
            _ => return None,
        }
    }
    Some(ids)
}

/// Registers a peer for those outside this process: `{"key", "hostname"}`.
fn enroll(account: &mut Account, bytes: &[u8]) -> Response {
    let registered = Body::parse(bytes)
        .and_then(|body| Ok((body.text("key")?, body.text("hostname")?)))
        .map_err(|_| "a body {\"key\": …, \"hostname\": …} is wanted".to_owned())
        .and_then(|(key, hostname)| peers::enrolment::with_key(account, &key, &hostname));
    match registered {
        Ok(peer) => Response::json(200, &json!({"peer_id": peer})),
        Err(message) => Response::json(404, &json!({"message": message})),
    }
}

/// Returns the path without `//`, `.` and `..`, where it differs.
fn cleaned(path: &str) -> Option<String> {
    let mut segments: Vec<&str> = Vec::new();
    for segment in path.split('/') {
        match segment {
            "" | "." => {}
            ".." => {
                segments.pop();
            }
            _ => segments.push(segment),
        }
    }
    let end = if path.ends_with('/') && !segments.is_empty() {
        "/"
    } else {
        ""
    };
    let clean = format!("/{}{end}", segments.join("/"));
    (clean != path && !path.is_empty()).then_some(clean)
}
