//! The ways in which the server says no.

use serde_json::{Value, json};

use super::flavour::Flavour;
use crate::body::Unreadable;
use crate::http::Response;

/// Why a request is not done.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Refusal {
    /// A status and a message.
    Message(u16, String),
    /// A 404 with a list of errors. Without a message of its own it has the server's usual one.
    Missing(Option<&'static str>, Vec<String>),
    /// A 500. Only site admins see the text.
    Hidden(String),
    /// A status without a body.
    Empty(u16),
    /// The plain-text 404 of an unknown route.
    NoSuchRoute,
    /// 301 to a repository that has another name now.
    Moved(String),
}

pub(super) fn invalid(message: impl Into<String>) -> Refusal {
    Refusal::Message(422, message.into())
}

pub(super) fn forbidden(message: impl Into<String>) -> Refusal {
    Refusal::Message(403, message.into())
}

pub(super) fn unauthorized(message: impl Into<String>) -> Refusal {
    Refusal::Message(401, message.into())
}

pub(super) fn missing() -> Refusal {
    Refusal::Missing(None, Vec::new())
}

impl From<Unreadable> for Refusal {
    fn from(Unreadable: Unreadable) -> Refusal {
        invalid("[]: Deserialization")
    }
}

impl Refusal {
    /// Returns the answer. `root` is where the server is.
    pub(super) fn response(self, flavour: Flavour, root: &str, to_admin: bool) -> Response {
        let (status, message, errors) = match self {
            Refusal::Message(status, message) => (status, message, None),
            Refusal::Hidden(text) => (500, if to_admin { text } else { String::new() }, None),
            Refusal::Missing(message, errors) => {
                let message = message.unwrap_or(flavour.not_found());
                let null = errors.is_empty() && flavour == Flavour::Gitea;
                let errors = if null { Value::Null } else { json!(errors) };
                (404, message.to_owned(), Some(errors))
            }
            Refusal::Empty(status) => {
                return Response {
                    status,
                    ..Response::default()
                };
            }
            Refusal::NoSuchRoute => {
                return Response::new(404, "text/plain; charset=utf-8", "404 page not found\n");
            }
            Refusal::Moved(location) => {
                return Response {
                    status: 301,
                    ..Response::default()
                }
                .with("Location", &location);
            }
        };
        let mut body = json!({"message": message, "url": format!("{root}/api/swagger")});
        if let Some(errors) = errors {
            body["errors"] = errors;
        }
        json_response(status, &body)
    }
}

/// Returns an answer in JSON, with the headers of the real server.
pub(super) fn json_response(status: u16, body: &Value) -> Response {
    Response::new(
        status,
        "application/json;charset=utf-8",
        format!("{body}\n"),
    )
    .with(
        "Cache-Control",
        "max-age=0, private, must-revalidate, no-transform",
    )
}
