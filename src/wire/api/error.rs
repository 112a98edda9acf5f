//! What an answer of NetBird means when it is not the one asked for.

use std::fmt;

use serde_json::Value;

use crate::wire::http::{self, Answer, Call, Method, Reply};

/// Why a request to NetBird did not do what it was for.
#[derive(Debug)]
pub enum ApiError {
    /// The server does not take the token: 401, or a 404 `invalid token` (docs/netbird-api.md, "Tokens"). Never "object
    /// missing".
    Unauthenticated(Answer),
    /// The token's user is blocked or waits for approval.
    Blocked(Answer),
    /// The role of the token's user does not allow this.
    Forbidden(Answer),
    /// The server has no such path: a plain-text 404 (docs/netbird-api.md, "Requests and answers").
    PathUnknown(Answer),
    /// There is no such object: a 404 (for the DELETE of a group a 400) that names the object of the path.
    NotFound(Answer),
    /// The server refuses the request: another 4xx.
    Refused(Answer),
    /// Too many requests, still after all waiting.
    Throttled(Answer),
    /// The server failed: 5xx.
    Server(Answer),
    /// The server lists no policy at all while one of them has no rules: for a moment while policies are written, or for
    /// good where one was left so (docs/netbird-api.md, "Policies: one rule").
    PolicyWithoutRules(Answer),
    /// The answer is JSON, but not what was asked for.
    Decode {
        /// The request.
        call: Call,
        /// What was wanted, as in "a list".
        wanted: &'static str,
        /// What came, in words; never a value.
        found: &'static str,
    },
    /// A setup key was created, but its secret cannot be used: masked, or not of the known form.
    KeyUnusable {
        /// The request.
        call: Call,
        /// What is wrong with the secret, without the secret.
        problem: &'static str,
        /// The new key's id, so that it can be deleted.
        id: Option<String>,
    },
    /// An id that cannot stand in a path.
    BadId {
        /// The path of the collection.
        collection: String,
    },
    /// There was no answer to judge.
    Http(http::Error),
}

impl ApiError {
    /// Judges an answer that is no success. `None` when it is one.
    pub(super) fn of(reply: &Reply) -> Option<ApiError> {
        if reply.is_success() {
            return None;
        }
        let answer = Answer::of(reply);
        Some(match (reply.status, reply.json()) {
            (429, _) => ApiError::Throttled(answer),
            _ if policies_change(reply) => ApiError::PolicyWithoutRules(answer),
            (500.., _) => ApiError::Server(answer),
            (404, Err(_)) if reply.bytes().trim_ascii() == UNKNOWN_PATH => {
                ApiError::PathUnknown(answer)
            }
            (_, Err(error)) => ApiError::Http(error),
            (_, Ok(_)) => of_message(answer),
        })
    }

    /// Is it certain that the object of the path does not exist?
    pub fn is_gone(&self) -> bool {
        matches!(self, ApiError::NotFound(_))
    }

    /// Is what the path names not there: a part of NetBird that this server does not have (a plain-text 404), or an object?
    /// Before 0.46 a list under a network's path is a JSON 404 (docs/netbird-api.md, "Versions").
    pub fn is_absent(&self) -> bool {
        match self {
            ApiError::PathUnknown(_) | ApiError::NotFound(_) => true,
            ApiError::Refused(answer) => answer.status == 404,
            _ => false,
        }
    }

    /// Is the name taken (409; docs/netbird-api.md, "Unique names")? Nameserver groups answer 422 for that.
    pub fn already_exists(&self) -> bool {
        match self {
            ApiError::Refused(answer) => {
                answer.status == 409
                    || (answer.status == 422 && answer.message.contains("already exist"))
            }
            _ => false,
        }
    }

    /// Is it the token, its user or its role: nothing that another request could change?
    pub fn is_access(&self) -> bool {
        matches!(
            self,
            ApiError::Unauthenticated(_) | ApiError::Blocked(_) | ApiError::Forbidden(_)
        )
    }

    /// Is it the URL that a gate refuses (exit code 3)?
    pub fn is_url_refused(&self) -> bool {
        matches!(self, ApiError::Http(http::Error::UrlRefused(_)))
    }

    /// May a write have been carried out although this is an error? Always false for reads.
    ///
    /// A write is one transaction that may commit although its answer is lost (docs/netbird-api.md, "Requests and
    /// answers"): after this, look before making it again.
    pub fn outcome_unknown(&self) -> bool {
        match self {
            ApiError::Http(error) => error.outcome_unknown(),
            ApiError::Server(answer) => answer.call.method.writes(),
            ApiError::Decode { call, .. } => call.method.writes(),
            // It is known: the key exists.
            ApiError::KeyUnusable { .. } => false,
            ApiError::Unauthenticated(_)
            | ApiError::Blocked(_)
            | ApiError::Forbidden(_)
            | ApiError::PathUnknown(_)
            | ApiError::NotFound(_)
            | ApiError::Refused(_)
            | ApiError::Throttled(_)
            | ApiError::PolicyWithoutRules(_)
            | ApiError::BadId { .. } => false,
        }
    }

    /// Where the token came from that the server does not take, where that is known.
    fn token_origin(&self) -> Option<&str> {
        match self {
            ApiError::Unauthenticated(answer)
            | ApiError::Blocked(answer)
            | ApiError::Forbidden(answer) => answer.token_origin.as_deref(),
            _ => None,
        }
    }

    /// What to do about it, for a line of its own.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            ApiError::Unauthenticated(_) => {
                "the token is not valid: expired, revoked, cut short, or of another server. Make a new \
                 one for the service user (role auditor for plan, admin for apply) and give it as \
                 NETBIRD_API_TOKEN; in a job that is the secret NETBIRD_PLAN_TOKEN (plan, drift) or \
                 NETBIRD_APPLY_TOKEN (apply, sync-events)"
            }
            ApiError::Blocked(answer) if answer.message.ends_with(PENDING) => {
                "an administrator has to approve the token's user in NetBird first"
            }
            ApiError::Blocked(_) => {
                "unblock the token's user in NetBird, or use a token of another"
            }
            ApiError::Forbidden(_) => {
                "the role of the token's user is too weak: plan needs auditor, apply admin. Best \
                 is a service user"
            }
            ApiError::PathUnknown(answer) => {
                let path = answer.call.path();
                return Some(format!(
                    "this server has no {path}: an older server, or a wrong base URL"
                ));
            }
            ApiError::Throttled(_) => {
                "the server limits requests per token: run again later, or raise \
                 NB_API_RATE_LIMITING_RPM on the server"
            }
            ApiError::Server(Answer {
                request_id: Some(id),
                ..
            }) => {
                return Some(format!(
                    "the server's log has the cause, under request id {id}"
                ));
            }
            ApiError::Server(_) => "the server's log has the cause",
            ApiError::PolicyWithoutRules(_) => {
                "somebody may be writing policies right now: run again. If it stays so, one policy was \
                 left without rules: its id is in NetBird's activity log, and DELETE /api/policies/ID \
                 removes it"
            }
            ApiError::Http(error) => return error.hint(),
            ApiError::NotFound(_)
            | ApiError::Refused(_)
            | ApiError::Decode { .. }
            // what became of the key says who took it back
            | ApiError::KeyUnusable { .. }
            | ApiError::BadId { .. } => return None,
        };
        Some(http::with_origin(hint, self.token_origin()))
    }
}

/// What the server's router answers for a path or method that it does not have.
const UNKNOWN_PATH: &[u8] = b"404 page not found";

/// How the 403 for a user ends who is not approved yet.
const PENDING: &str = "user is pending approval";

/// Judges a 4xx by the server's message.
fn of_message(mut answer: Answer) -> ApiError {
    let message = &*answer.message;
    match answer.status {
        401 => ApiError::Unauthenticated(answer),
        404 if message.starts_with("invalid token") => {
            // What follows is a hash of the token.
            answer.message = "invalid token".into();
            ApiError::Unauthenticated(answer)
        }
        // GET /groups says it without the prefix that the other paths have.
        403 if message.ends_with("user is blocked") || message.ends_with(PENDING) => {
            ApiError::Blocked(answer)
        }
        403 => ApiError::Forbidden(answer),
        404 if message.starts_with("user role:") => ApiError::Forbidden(answer),
        404 if names_missing_object(&answer) => ApiError::NotFound(answer),
        400 if answer.call.method == Method::Delete && names_missing_object(&answer) => {
            ApiError::NotFound(answer)
        }
        _ => ApiError::Refused(answer),
    }
}

/// Does the answer say that the policies cannot be listed, since one has no rules? Of other 500s it is told by its text
/// alone (docs/netbird-api.md, "Policies: one rule").
pub(super) fn policies_change(reply: &Reply) -> bool {
    let says = |body: Value| body["message"] == "no rules in the policy";
    reply.status == 500 && reply.call.method == Method::Get && reply.json().is_ok_and(says)
}

/// Does the message say `not found` of the object that the path ends in?
///
/// Others do not: `account not found` of `PUT /dns/settings`, `group: x not found` of the PUT of a network resource.
fn names_missing_object(answer: &Answer) -> bool {
    let id = answer.call.path().rsplit('/').next().unwrap_or_default();
    let id = percent_encoding::percent_decode_str(id)
        .decode_utf8_lossy()
        .to_lowercase();
    let message = answer.message.to_lowercase();
    let mut words =
        message.split(|c: char| c.is_whitespace() || matches!(c, ':' | ',' | '"' | '\''));
    message.contains("not found") && !id.is_empty() && words.any(|word| word == id)
}

impl fmt::Display for ApiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ApiError::Unauthenticated(answer)
            | ApiError::Blocked(answer)
            | ApiError::Forbidden(answer)
            | ApiError::NotFound(answer)
            | ApiError::Refused(answer)
            | ApiError::Throttled(answer)
            | ApiError::Server(answer) => answer.fmt(f),
            ApiError::PathUnknown(answer) => write!(f, "{}: 404 page not found", answer.call),
            ApiError::PolicyWithoutRules(answer) => write!(
                f,
                "{answer}: NetBird lists no policy while one of them has no rules"
            ),
            ApiError::Decode {
                call,
                wanted,
                found,
            } => write!(f, "{call}: the answer is {found}, not {wanted}"),
            ApiError::KeyUnusable { call, problem, .. } => {
                write!(
                    f,
                    "{call}: the setup key was created, but its secret {problem}"
                )
            }
            ApiError::BadId { collection } => {
                write!(f, "an object of {collection} has an id that fits no path")
            }
            ApiError::Http(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ApiError {}

impl From<http::Error> for ApiError {
    fn from(error: http::Error) -> ApiError {
        ApiError::Http(error)
    }
}

impl From<http::UrlRefused> for ApiError {
    fn from(refused: http::UrlRefused) -> ApiError {
        ApiError::Http(refused.into())
    }
}
