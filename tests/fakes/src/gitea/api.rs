//! From a request to an answer: which call it is, who makes it, on which repository.

use std::sync::MutexGuard;

use serde_json::{Value, json};

use super::auth::{self, Caller, Level, Unit};
use super::forge::Forge;
use super::refusal::{Refusal, forbidden, invalid, json_response, missing, unauthorized};
use super::routes::{Needs, ROUTES, Route};
use super::shared::Shared;
use crate::body::Body;
use crate::http::{Request, Response};
use crate::url::{pairs, percent_decode};

/// Where the API is below the root of the server.
pub(super) const BASE: &str = "/api/v1";

/// What a handler makes.
pub(super) type Outcome = Result<Response, Refusal>;

/// Returns a 200.
pub(super) fn ok(body: &Value) -> Response {
    json_response(200, body)
}

/// Returns a 204.
pub(super) fn done() -> Response {
    Response {
        status: 204,
        ..Response::default()
    }
}

/// What a handler is given.
pub(super) struct Call<'a> {
    pub(super) shared: &'a Shared,
    pub(super) caller: Caller,
    /// The id of the repository, where the path names one.
    pub(super) repo: i64,
    parts: Vec<String>,
    query: Vec<(String, String)>,
    content_type: &'a str,
    bytes: &'a [u8],
}

impl Call<'_> {
    pub(super) fn forge(&self) -> MutexGuard<'_, Forge> {
        self.shared.forge()
    }

    /// Returns a part of the path that the pattern leaves open, not counting owner and name of the
    /// repository.
    pub(super) fn part(&self, index: usize) -> &str {
        self.parts.get(index).map_or("", String::as_str)
    }

    /// Returns a part of the path that is a number.
    pub(super) fn number(&self) -> Result<i64, Refusal> {
        self.part(0).parse().map_err(|_| missing())
    }

    /// Returns a parameter of the query; an empty one is none.
    pub(super) fn parameter(&self, name: &str) -> Option<&str> {
        let (_, value) = self.query.iter().find(|(key, _)| key == name)?;
        Some(value.as_str()).filter(|value| !value.is_empty())
    }

    pub(super) fn body(&self) -> Result<Body, Refusal> {
        if !self.content_type.starts_with("application/json") {
            return Err(invalid("[]: Unsupported Content-Type"));
        }
        Ok(Body::parse(self.bytes)?)
    }

    /// Returns what the caller may do with a unit of the repository.
    pub(super) fn level(&self, forge: &Forge, unit: Unit) -> Level {
        auth::level(forge, &self.caller, forge.repo(self.repo), unit)
    }

    /// Sees that the caller may read a unit. One who may not is told that there is none.
    pub(super) fn require_read(&self, forge: &Forge, unit: Unit) -> Result<(), Refusal> {
        if self.level(forge, unit) < Level::Read {
            return Err(missing());
        }
        Ok(())
    }

    pub(super) fn require_admin(&self) -> Result<(), Refusal> {
        if self.level(&self.forge(), Unit::Code) < Level::Admin {
            return Err(forbidden(
                "user should be an owner or a collaborator with admin write of a repository",
            ));
        }
        Ok(())
    }

    /// Sees that the repository takes changes at all.
    pub(super) fn require_alive(&self, forge: &Forge) -> Result<(), Refusal> {
        let repo = forge.repo(self.repo);
        if repo.archived {
            let message = format!("{} is not allowed to edit", forge.full_name(repo));
            return Err(Refusal::Message(423, message));
        }
        Ok(())
    }
}

/// Answers a request from the network.
pub(super) fn answer(shared: &Shared, request: &Request) -> Response {
    let authorization = request.header("authorization");
    let caller = auth::caller(&shared.forge(), authorization);
    let (caller, outcome) = match caller {
        Ok(caller) => (caller.clone(), perform(shared, caller, request)),
        Err(refusal) => (Caller::default(), Err(refusal)),
    };
    let mut forge = shared.forge();
    let date = forge
        .now()
        .strftime("%a, %d %b %Y %H:%M:%S GMT")
        .to_string();
    let to_admin = forge.user(caller.user).is_some_and(|user| user.is_admin);
    let response =
        outcome.unwrap_or_else(|refusal| refusal.response(forge.flavour, &forge.root, to_admin));
    response.with("Date", &date)
}

/// Makes a call in process, as this user.
pub(super) fn call_as(
    shared: &Shared,
    user: i64,
    method: &str,
    target: &str,
    body: &Value,
) -> Response {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let request = Request {
        method: method.to_owned(),
        path: path.to_owned(),
        query: query.to_owned(),
        in_api: true,
        headers: vec![("content-type".to_owned(), "application/json".to_owned())],
        bytes: if body.is_null() {
            Vec::new()
        } else {
            body.to_string().into_bytes()
        },
        ..Request::default()
    };
    let outcome = perform(shared, Caller::user(user), &request);
    let forge = shared.forge();
    outcome.unwrap_or_else(|refusal| refusal.response(forge.flavour, &forge.root, true))
}

fn perform(shared: &Shared, caller: Caller, request: &Request) -> Outcome {
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
    if !in_api {
        return Err(Refusal::NoSuchRoute);
    }
    // Slashes too many are taken as one, and one at the end as none.
    let segments: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    let (route, mut parts) = find(method, &segments)?;
    let forge = shared.forge();
    auth::allow(forge.flavour, &caller, route.scope, method)?;
    let mut repo = 0;
    if segments.first() == Some(&"repos") && parts.len() >= 2 {
        let rest: Vec<String> = parts.split_off(2);
        repo = repository(&forge, &caller, &parts[0], &parts[1], &segments, query)?;
        parts = rest;
    }
    let everyone = matches!(route.needs, Needs::Nothing | Needs::Sight);
    if caller.is_anonymous() && !everyone {
        return Err(unauthorized("token is required"));
    }
    drop(forge);
    (route.handler)(&Call {
        shared,
        caller,
        repo,
        parts,
        query: pairs(query),
        content_type: request.header("content-type").unwrap_or_default(),
        bytes,
    })
}

/// Returns the repository of this name. One that has another name now is a 301, for strangers too;
/// Forgejo hides it from them.
fn repository(
    forge: &Forge,
    caller: &Caller,
    owner: &str,
    name: &str,
    segments: &[&str],
    query: &str,
) -> Result<i64, Refusal> {
    if let Some(repo) = forge.find(owner, name) {
        let seen = auth::sees(forge, caller, repo);
        return if seen { Ok(repo.id) } else { Err(missing()) };
    }
    let earlier = format!("{owner}/{name}").to_lowercase();
    let moved = forge.moved.get(&earlier);
    let repo = moved.and_then(|id| forge.repos.iter().find(|repo| repo.id == *id));
    let told =
        |repo: &&super::forge::Repo| forge.flavour.pick(true, auth::sees(forge, caller, repo));
    let repo = repo.filter(told).ok_or_else(missing)?;
    let rest: String = segments[3..]
        .iter()
        .map(|part| format!("/{part}"))
        .collect();
    let mark = if query.is_empty() { "" } else { "?" };
    let full_name = forge.full_name(repo);
    Err(Refusal::Moved(format!(
        "{BASE}/repos/{full_name}{rest}{mark}{query}"
    )))
}

/// Returns the call of this method and path, and what stands in the open parts of the path.
fn find(method: &str, segments: &[&str]) -> Result<(&'static Route, Vec<String>), Refusal> {
    let mut known = false;
    for route in ROUTES {
        let Some(parts) = parts_in(route.pattern, segments) else {
            continue;
        };
        if route.method == method {
            return Ok((route, parts));
        }
        known = true;
    }
    Err(if known {
        Refusal::Empty(405)
    } else {
        Refusal::NoSuchRoute
    })
}

fn parts_in(pattern: &str, segments: &[&str]) -> Option<Vec<String>> {
    let mut parts = Vec::new();
    let mut rest = segments;
    for wanted in pattern.split('/').skip(1) {
        if wanted == "**" {
            let joined = percent_decode(&rest.join("/"));
            return (!rest.is_empty()).then(|| {
                parts.push(joined);
                parts
            });
        }
        let (first, others) = rest.split_first()?;
        match wanted {
            "*" => parts.push(percent_decode(first)),
            _ if wanted == *first => {}
            _ => return None,
        }
        rest = others;
    }
    rest.is_empty().then_some(parts)
}

/// `GET /version`.
pub(super) fn version(call: &Call) -> Outcome {
    Ok(ok(&json!({"version": call.forge().flavour.version()})))
}

/// `GET /settings/api`.
pub(super) fn settings(call: &Call) -> Outcome {
    let forge = call.forge();
    let mut settings = json!({
        "max_response_items": super::pages::MAX_LIMIT,
        "default_paging_num": super::pages::DEFAULT_LIMIT,
        "default_git_trees_per_page": forge.trees_per_page,
        "default_max_blob_size": forge.max_blob_size,
    });
    if forge.flavour.pick(true, false) {
        settings["default_max_response_size"] = json!(104_857_600);
    }
    Ok(ok(&settings))
}
