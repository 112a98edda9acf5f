//! An answer that is an error, as messages show it.

use std::fmt;
use std::sync::Arc;

use super::{Call, Method, Reply, text};
use crate::base::mask;

/// How much of a server's message is shown, in characters.
const MESSAGE_MAX: usize = 300;

/// An answer that is an error, as messages show it.
/// Its texts are boxed: errors hold it, and every `Result` has room for its error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErrorAnswer {
    /// The request.
    pub call: Call,
    /// The status, 400 to 599.
    pub status: u16,
    /// What the server says, on one line, at most 300 characters. NetBird lower-cases it as a whole, your names too
    /// (docs/netbird-api.md, "Errors"); Gitea often says nothing.
    pub message: Box<str>,
    /// The server's name for the request, to find it in its log.
    pub request_id: Option<Box<str>>,
    /// Where the request's token came from, where that is known.
    pub token_origin: Option<Arc<str>>,
}

impl ErrorAnswer {
    /// Takes the `message` of a JSON body, or the beginning of another text.
    pub fn of(reply: &Reply) -> ErrorAnswer {
        let message = match reply.json() {
            Ok(body) => body["message"].as_str().unwrap_or_default().to_owned(),
            Err(_) if reply.is_html() => "(a web page)".to_owned(),
            Err(_) => reply.excerpt(MESSAGE_MAX),
        };
        // of a key that nobody has read yet, its form is all that is known
        let message = match reply.call.method {
            Method::POST => mask::without_keys(&message),
            _ => message.into(),
        };
        ErrorAnswer {
            call: reply.call.clone(),
            status: reply.status,
            message: text::clean(&message, MESSAGE_MAX).into(),
            request_id: reply.request_id().map(Into::into),
            token_origin: reply.token_origin.clone(),
        }
    }
}

impl fmt::Display for ErrorAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.call, self.status)?;
        if !self.message.is_empty() {
            write!(f, " {}", self.message)?;
        }
        Ok(())
    }
}
