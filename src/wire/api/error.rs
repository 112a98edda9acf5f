//! What an answer of NetBird means when it is not the one asked for.

use std::fmt;

use serde_json::Value;

use crate::wire::http::{self, ErrorAnswer, HttpError, Method, Reply, Trouble};

/// Why a request to NetBird did not do what it was for.
#[derive(Debug)]
pub enum ApiError {
    /// The server refused it or failed.
    Answered(Meaning, ErrorAnswer),
    /// A setup key was created, but its secret cannot be used: masked, or not of the known form.
    KeyUnusable {
        /// The request, and what is wrong with the secret, without the secret.
        text: String,
        /// The new key's id, so that it can be deleted.
        id: Option<String>,
    },
    /// There was no answer to judge, or not the one asked for.
    Http(HttpError),
}

/// What an answer that is an error means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meaning {
    /// The server does not take the token: 401, or a 404 `invalid token` (docs/netbird-api.md, "Tokens"). Never "object
    /// missing".
    Unauthenticated,
    /// The token's user is blocked.
    Blocked,
    /// The token's user waits for approval.
    Pending,
    /// The role of the token's user does not allow this.
    Forbidden,
    /// The server has no such path: a plain-text 404 (docs/netbird-api.md, "Requests and answers").
    PathUnknown,
    /// There is no such object: a 404 (for the DELETE of a group a 400) that names the object of the path.
    NotFound,
    /// The server refuses the request: another 4xx.
    Refused,
    /// Too many requests, still after all waiting.
    Throttled,
    /// The server failed: 5xx.
    Server,
    /// The server lists no policy at all while one of them has no rules: for a moment while policies are written, or for
    /// good where one was left so (docs/netbird-api.md, "Policies: one rule").
    PolicyWithoutRules,
}

impl ApiError {
    /// Judges an answer that is no success. `None` when it is one.
    pub(super) fn of(reply: &Reply) -> Option<ApiError> {
        if reply.is_success() {
            return None;
        }
        let mut answer = ErrorAnswer::of(reply);
        let meaning = match (reply.status, reply.json()) {
            (429, _) => Meaning::Throttled,
            _ if policies_change(reply) => Meaning::PolicyWithoutRules,
            (500.., _) => Meaning::Server,
            (404, Err(_)) if reply.bytes().trim_ascii() == UNKNOWN_PATH => {
                answer.message = "page not found".into();
                Meaning::PathUnknown
            }
            (_, Err(error)) => return Some(error.into()),
            (_, Ok(_)) => of_message(&mut answer),
        };
        Some(ApiError::Answered(meaning, answer))
    }

    /// Returns what the answer means, where there is one.
    pub fn meaning(&self) -> Option<Meaning> {
        match self {
            ApiError::Answered(meaning, _) => Some(*meaning),
            _ => None,
        }
    }

    /// Is it certain that the object of the path does not exist?
    pub fn is_gone(&self) -> bool {
        self.meaning() == Some(Meaning::NotFound)
    }

    /// Is what the path names not there: a part of NetBird that this server does not have (a plain-text 404), or an object?
    /// Before 0.46 a list under a network's path is a JSON 404 (docs/netbird-api.md, "Versions").
    pub fn is_absent(&self) -> bool {
        match self {
            ApiError::Answered(Meaning::PathUnknown | Meaning::NotFound, _) => true,
            ApiError::Answered(Meaning::Refused, answer) => answer.status == 404,
            _ => false,
        }
    }

    /// Does the server lack what the request needs (412)?
    pub fn is_unmet(&self) -> bool {
        matches!(self, ApiError::Answered(Meaning::Refused, answer) if answer.status == 412)
    }

    /// Is the name taken (409; docs/netbird-api.md, "Unique names")? Nameserver groups answer 422 for that.
    pub fn already_exists(&self) -> bool {
        let is_taken = |answer: &ErrorAnswer| match answer.status {
            409 => true,
            status => status == 422 && answer.message.contains("already exist"),
        };
        matches!(self, ApiError::Answered(Meaning::Refused, answer) if is_taken(answer))
    }

    /// Is it the token, its user or its role: nothing that another request could change?
    pub fn is_access(&self) -> bool {
        use Meaning::{Blocked, Forbidden, Pending, Unauthenticated};
        let access = [Unauthenticated, Blocked, Pending, Forbidden];
        self.meaning().is_some_and(|it| access.contains(&it))
    }

    /// Is it the URL that a gate refuses (exit code 3)?
    pub fn is_url_refused(&self) -> bool {
        matches!(self, ApiError::Http(error) if error.trouble == Trouble::UrlRefused)
    }

    /// May a write have been carried out although this is an error? Always false for reads.
    ///
    /// A write is one transaction that may commit although its answer is lost (docs/netbird-api.md, "Requests and
    /// answers"): after this, look before making it again.
    pub fn outcome_unknown(&self) -> bool {
        match self {
            ApiError::Http(error) => error.outcome_unknown,
            ApiError::Answered(Meaning::Server, answer) => answer.call.method.writes(),
            // of an unusable key it is known: it exists
            ApiError::Answered(..) | ApiError::KeyUnusable { .. } => false,
        }
    }

    /// What to do about it, for a line of its own.
    pub fn hint(&self) -> Option<String> {
        let (meaning, answer) = match self {
            ApiError::Answered(meaning, answer) => (meaning, answer),
            ApiError::Http(error) => return error.hint().map(str::to_owned),
            // what became of the key says who took it back
            ApiError::KeyUnusable { .. } => return None,
        };
        let hint = match meaning {
            Meaning::Unauthenticated => {
                "the token is not valid: expired, revoked, cut short, or of another server. Make a new one for the service \
                 user (role auditor for plan, admin for apply) and give it as NETBIRD_API_TOKEN; in a job that is the secret \
                 NETBIRD_PLAN_TOKEN (plan, drift) or NETBIRD_APPLY_TOKEN (apply, sync-events)"
            }
            Meaning::Pending => "an administrator has to approve the token's user in NetBird first",
            Meaning::Blocked => "unblock the token's user in NetBird, or use a token of another",
            Meaning::Forbidden => {
                "the role of the token's user is too weak: plan needs auditor, apply admin. Best is a service user"
            }
            Meaning::PathUnknown => {
                let path = answer.call.path();
                return Some(format!(
                    "this server has no {path}: an older server, or a wrong base URL"
                ));
            }
            Meaning::Throttled => {
                "the server limits requests per token: run again later, or raise NB_API_RATE_LIMITING_RPM on the server"
            }
            Meaning::Server => {
                let id = answer.request_id.as_ref();
                let id = id.map(|id| format!(", under request id {id}"));
                let id = id.unwrap_or_default();
                return Some(format!("the server's log has the cause{id}"));
            }
            Meaning::PolicyWithoutRules => {
                "somebody may be writing policies right now: run again. If it stays so, one policy was left without rules: its \
                 id is in NetBird's activity log, and DELETE /api/policies/ID removes it"
            }
            Meaning::NotFound | Meaning::Refused => return None,
        };
        let origin = answer.token_origin.as_deref();
        Some(http::with_origin(hint, origin.filter(|_| self.is_access())))
    }
}

/// What the server's router answers for a path or method that it does not have.
const UNKNOWN_PATH: &[u8] = b"404 page not found";

/// Judges a 4xx by the server's message.
fn of_message(answer: &mut ErrorAnswer) -> Meaning {
    let message = &*answer.message;
    match answer.status {
        401 => Meaning::Unauthenticated,
        404 if message.starts_with("invalid token") => {
            // what follows is a hash of the token
            answer.message = "invalid token".into();
            Meaning::Unauthenticated
        }
        // GET /groups says it without the prefix that the other paths have
        403 if message.ends_with("user is blocked") => Meaning::Blocked,
        403 if message.ends_with("user is pending approval") => Meaning::Pending,
        403 => Meaning::Forbidden,
        404 if message.starts_with("user role:") => Meaning::Forbidden,
        404 if names_missing_object(answer) => Meaning::NotFound,
        400 if answer.call.method == Method::Delete && names_missing_object(answer) => {
            Meaning::NotFound
        }
        _ => Meaning::Refused,
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
fn names_missing_object(answer: &ErrorAnswer) -> bool {
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
            ApiError::Answered(Meaning::PolicyWithoutRules, answer) => write!(
                f,
                "{answer}: NetBird lists no policy while one of them has no rules"
            ),
            ApiError::Answered(_, answer) => answer.fmt(f),
            ApiError::KeyUnusable { text, .. } => f.write_str(text),
            ApiError::Http(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ApiError {}

impl From<HttpError> for ApiError {
    fn from(error: HttpError) -> ApiError {
        ApiError::Http(error)
    }
}
