//! The ways in which the server says no.

use std::fmt;

use crate::body::Unreadable;

/// Why a request is not done.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Refusal {
    /// A status and a message in JSON.
    Message(u16, String),
    /// The plain-text 404 of an unknown path or a wrong method.
    NoSuchPath,
    /// The connection is closed without an answer.
    Hangup,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Message(_, message) => f.write_str(message),
            Refusal::NoSuchPath => f.write_str("404 page not found"),
            Refusal::Hangup => f.write_str("the connection was closed"),
        }
    }
}

impl From<Unreadable> for Refusal {
    fn from(Unreadable: Unreadable) -> Refusal {
        bad("couldn't parse JSON request")
    }
}

/// Typed errors: the whole message is lower-cased, names and ids too.
fn typed(status: u16, message: impl Into<String>) -> Refusal {
    Refusal::Message(status, message.into().to_lowercase())
}

pub(super) fn invalid(message: impl Into<String>) -> Refusal {
    typed(422, message)
}

pub(super) fn exists(message: impl Into<String>) -> Refusal {
    typed(409, message)
}

pub(super) fn unmet(message: impl Into<String>) -> Refusal {
    typed(412, message)
}

pub(super) fn missing(message: impl Into<String>) -> Refusal {
    typed(404, message)
}

pub(super) fn unauthorized(message: impl Into<String>) -> Refusal {
    typed(401, message)
}

pub(super) fn forbidden(message: impl Into<String>) -> Refusal {
    typed(403, message)
}

pub(super) fn denied() -> Refusal {
    forbidden("permission denied")
}

/// The untyped 400s, which keep their letters.
pub(super) fn bad(message: impl Into<String>) -> Refusal {
    Refusal::Message(400, message.into())
}

/// The 500 that several plain mistakes of users bring.
pub(super) fn internal() -> Refusal {
    Refusal::Message(500, "internal server error".to_owned())
}

/// A 500 that does say why.
pub(super) fn broken(message: impl Into<String>) -> Refusal {
    typed(500, message)
}
