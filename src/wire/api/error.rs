//! What an answer of NetBird means when it is not the one asked for.

use serde_json::Value;

use super::{Method, Reply, Trouble};
use crate::wire::http::{self, ErrorAnswer, HttpError};

/// Why a request to NetBird did not do what it was for.
pub type ApiError = HttpError;

impl ApiError {
    /// Judges an answer of NetBird that is no success. `None` when it is one.
    pub(super) fn of_netbird(reply: &Reply) -> Option<ApiError> {
        if reply.is_success() {
            return None;
        }
        let mut answer = ErrorAnswer::of(reply);
        let trouble = match (reply.status, reply.json()) {
            (429, _) => Trouble::Throttled,
            _ if policies_change(reply) => {
                let more = "NetBird cannot list policies while one of them has no rules";
                answer.message = format!("{}: {more}", answer.message).into();
                Trouble::PolicyWithoutRules
            }
            (500.., _) => Trouble::Server,
            (404, Err(_)) if reply.bytes().trim_ascii() == UNKNOWN_PATH => {
                answer.message = "page not found".into();
                Trouble::PathUnknown
            }
            (_, Err(error)) => return Some(error),
            (_, Ok(_)) => of_message(&mut answer),
        };
        let hint = hint(&trouble, &answer);
        Some(ApiError::answered(trouble, answer, hint))
    }

    /// Is it certain that the object of the path does not exist?
    pub fn is_gone(&self) -> bool {
        self.trouble == Trouble::NotFound
    }

    /// Is what the path names not there: a part of NetBird that this server does not have (a plain-text 404), or an object?
    /// Before 0.46 a list under a network's path is a JSON 404 (docs/netbird-api.md, "Versions").
    pub fn is_absent(&self) -> bool {
        match self.trouble {
            Trouble::PathUnknown | Trouble::NotFound => true,
            _ => self.trouble == Trouble::Refused && self.status() == Some(404),
        }
    }

    /// Does the server lack what the request needs (412)?
    pub fn is_unmet(&self) -> bool {
        self.trouble == Trouble::Refused && self.status() == Some(412)
    }

    /// Is the name taken (409; docs/netbird-api.md, "Unique names")? Nameserver groups answer 422 for that.
    pub fn already_exists(&self) -> bool {
        let is_taken = match self.status() {
            Some(409) => true,
            status => status == Some(422) && self.message().contains("already exist"),
        };
        self.trouble == Trouble::Refused && is_taken
    }

    /// Is it the token, its user or its role?
    pub fn is_access(&self) -> bool {
        is_access(&self.trouble)
    }

    /// Is it the token or its user, so that any other request is refused, too? What the role does not allow may be about one
    /// object.
    pub fn is_of_token(&self) -> bool {
        self.is_access() && self.trouble != Trouble::Forbidden
    }
}

fn is_access(trouble: &Trouble) -> bool {
    use Trouble::{Blocked, Forbidden, Pending, Unauthenticated};
    [Unauthenticated, Blocked, Pending, Forbidden].contains(trouble)
}

/// What to do about it, for a line of its own.
fn hint(trouble: &Trouble, answer: &ErrorAnswer) -> Option<String> {
    let hint = match trouble {
        Trouble::Unauthenticated => {
            "the token is expired, revoked, cut off, or of another server: set NETBIRD_API_TOKEN to a new token of the service \
             user\nplan needs the role auditor, apply the role admin; in a job the token comes from the secret \
             NETBIRD_PLAN_TOKEN (plan, drift) or NETBIRD_APPLY_TOKEN (apply, sync-events)"
        }
        Trouble::Pending => "an administrator has to approve the token's user in NetBird first",
        Trouble::Blocked => "unblock the token's user in NetBird, or use a token of another user",
        Trouble::Forbidden => {
            "the role of the token's user is too weak: use a service user with the role auditor for plan, admin for apply"
        }
        Trouble::PathUnknown => {
            let path = answer.call.path();
            return Some(format!(
                "this server does not have {path}: it is too old, or the base URL is wrong"
            ));
        }
        Trouble::Throttled => {
            "the server limits requests per token: run again later, or raise NB_API_RATE_LIMITING_RPM on the server"
        }
        Trouble::Server => {
            let id = answer.request_id.as_ref();
            let id = id.map(|id| format!(", under request id {id}"));
            let id = id.unwrap_or_default();
            return Some(format!("the server's log has the cause{id}"));
        }
        Trouble::PolicyWithoutRules => {
            "somebody may be writing policies right now: run again\nif it fails again, a policy has no rules: find its id in \
             NetBird's activity log, and remove the policy with DELETE /api/policies/ID"
        }
        _ => return None,
    };
    let origin = answer.token_origin.as_deref();
    Some(http::with_origin(
        hint,
        origin.filter(|_| is_access(trouble)),
    ))
}

/// What the server's router answers for a path or method that it does not have.
const UNKNOWN_PATH: &[u8] = b"404 page not found";

/// Judges a 4xx by the server's message.
fn of_message(answer: &mut ErrorAnswer) -> Trouble {
    let message = &*answer.message;
    match answer.status {
        401 => Trouble::Unauthenticated,
        404 if message.starts_with("invalid token") => {
            // what follows is a hash of the token
            answer.message = "invalid token".into();
            Trouble::Unauthenticated
        }
        // GET /groups says it without the prefix that the other paths have
        403 if message.ends_with("user is blocked") => Trouble::Blocked,
        403 if message.ends_with("user is pending approval") => Trouble::Pending,
        403 => Trouble::Forbidden,
        404 if message.starts_with("user role:") => Trouble::Forbidden,
        404 if names_missing_object(answer) => Trouble::NotFound,
        400 if answer.call.method == Method::DELETE && names_missing_object(answer) => {
            Trouble::NotFound
        }
        _ => Trouble::Refused,
    }
}

/// Does the answer say that the policies cannot be listed, since one has no rules? Of other 500s it is told by its text
/// alone (docs/netbird-api.md, "Policies: one rule").
pub(super) fn policies_change(reply: &Reply) -> bool {
    let says = |body: Value| body["message"] == "no rules in the policy";
    reply.status == 500 && reply.call.method == Method::GET && reply.json().is_ok_and(says)
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
