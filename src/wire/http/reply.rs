//! What a server answered: the status, a few headers, and the body as bytes that are wiped when dropped.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde_json::Value;
use ureq::http::HeaderMap;
use zeroize::Zeroizing;

use crate::base::entry::NoList;
use crate::base::{Entry, Listed, Share, json};

use super::error::larger_than;
use super::{HttpError, Method, Result, Trouble, retry, text};

/// A request as messages name it: `GET https://host/api/groups`, without the query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// The method.
    pub method: Method,
    /// The URL without its query, which may hold names.
    pub url: String,
}

impl Call {
    /// Returns the path of the URL, as in `/api/groups`.
    pub fn path(&self) -> &str {
        &self.url[self.url_origin().len()..]
    }

    /// Returns host and port, as written in the URL.
    pub fn host(&self) -> &str {
        let origin = self.url_origin().split_once("://");
        origin.map_or("", |(_, host)| host)
    }

    /// Returns scheme, host and port.
    pub(super) fn url_origin(&self) -> &str {
        let host = self.url.find("://").map_or(0, |at| at + 3);
        let end = self.url[host..]
            .find('/')
            .map_or(self.url.len(), |at| host + at);
        &self.url[..end]
    }
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.method, self.url)
    }
}

/// An answer, complete. Any status but 3xx.
pub struct Reply {
    /// The request it answers.
    pub call: Call,
    /// The status, 200 to 299 or 400 and up.
    pub status: u16,
    /// Where the request's token came from, where that is known.
    pub token_origin: Option<Arc<str>>,
    pub(super) headers: HeaderMap,
    pub(super) body: Zeroizing<Vec<u8>>,
    /// What the body takes of the budget for all answers.
    pub(super) share: Share,
}

/// The largest body that is read as one value, in bytes: a value takes up to sixteen times its text. A file of 10 MiB in
/// base64 has 14.
const MAX_JSON: u64 = 32 << 20;

impl Reply {
    /// Returns when the server says it answered (its `Date` header).
    pub fn server_time(&self) -> Option<jiff::Timestamp> {
        retry::http_date(self.header("date")?)
    }

    /// Returns the server's name for the request (`X-Request-Id`), to find it in the server's log.
    pub fn request_id(&self) -> Option<String> {
        self.header("x-request-id").map(|id| text::clean(id, 100))
    }

    /// Returns how long the server asks to wait.
    pub(super) fn retry_after(&self) -> Option<Duration> {
        let header = self.header("retry-after")?;
        let now = self.server_time().unwrap_or_else(jiff::Timestamp::now);
        retry::retry_after(header, now)
    }

    /// Is the status 200 to 299?
    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// Returns a header, if it is there and is text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// Returns how many requests are left and of how many, where the server, or something before it, says so.
    pub fn rate_limit(&self) -> Option<(u64, u64)> {
        let number = |name: &str| self.header(name)?.trim().parse().ok();
        ["x-ratelimit", "ratelimit"].iter().find_map(|start| {
            let left = number(&format!("{start}-remaining"))?;
            Some((left, number(&format!("{start}-limit"))?))
        })
    }

    /// Returns the body as it came, decompressed.
    pub fn bytes(&self) -> &[u8] {
        &self.body
    }

    /// Is the body a web page?
    pub fn is_html(&self) -> bool {
        let first = self.body.iter().find(|byte| !byte.is_ascii_whitespace());
        first == Some(&b'<')
            || (self
                .header("content-type")
                .is_some_and(|kind| kind.trim_start().starts_with("text/html"))
                && !matches!(first, Some(b'{' | b'[')))
    }

    /// Takes the body apart where it is a list, and reads each entry on the way; `None` where it is not, and then it stays for
    /// [`json`](Self::json).
    ///
    /// Errors where all answers together are too many.
    pub fn entries<T: DeserializeOwned>(&mut self) -> Result<Option<Listed<T>>> {
        if self.is_html() {
            return Ok(None);
        }
        let share = std::mem::take(&mut self.share);
        match Entry::list(std::mem::take(&mut *self.body), share) {
            Ok(listed) => Ok(Some(listed)),
            Err(NoList::Body(body, share)) => {
                (*self.body, self.share) = (body, share);
                Ok(None)
            }
            Err(NoList::TooMany(used_up)) => Err(HttpError::too_big(&self.call, used_up)),
        }
    }

    /// Reads the body as JSON.
    ///
    /// Errors where it is none, and where it has more than 32 MiB. The error of an answer to a POST shows nothing of the body:
    /// it could hold a key.
    pub fn json(&self) -> Result<Value> {
        if self.body.len() as u64 > MAX_JSON {
            return Err(HttpError::too_big(&self.call, larger_than(MAX_JSON)));
        }
        if self.is_html() {
            let hint = "this looks like a dashboard or a login page: is the API on another host, port or path?";
            return Err(self.not_json("HTML", "", hint));
        }
        serde_json::from_slice(&self.body).map_err(|error| {
            let first = self.body.iter().find(|byte| !byte.is_ascii_whitespace());
            let detail = match first {
                None => "the body is empty".to_owned(),
                // of JSON that goes wrong on its way, where says more than what
                Some(byte) if self.call.method == Method::POST || b"{[".contains(byte) => {
                    let (line, column) = (error.line(), error.column());
                    format!("{} at line {line}, column {column}", json::why(&error))
                }
                Some(_) => self.excerpt(200),
            };
            let hint = "is this the server's API, or something before it?";
            self.not_json("something else", &detail, hint)
        })
    }

    fn not_json(&self, what: &str, detail: &str, hint: &str) -> HttpError {
        let mut text = format!("{} answered {what}, not JSON", self.call);
        if !self.is_success() {
            text.push_str(&format!(" (status {})", self.status));
        }
        if !detail.is_empty() {
            text.push_str(&format!(": {detail}"));
        }
        let (trouble, hint) = (Trouble::NotJson(self.status), Some(hint.to_owned()));
        HttpError::unreadable(trouble, &self.call, self.status, text, hint)
    }

    /// Returns the first `max` characters of the body on one line; nothing for an answer to a POST, which could hold a
    /// key.
    pub fn excerpt(&self, max: usize) -> String {
        if self.call.method == Method::POST {
            return String::new();
        }
        let bytes = &self.body[..self.body.len().min(4 * max)];
        text::clean(&String::from_utf8_lossy(bytes), max)
    }
}

impl fmt::Debug for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Reply {
            call, status, body, ..
        } = self;
        f.debug_struct("Reply")
            .field("call", call)
            .field("status", status)
            .field("body_bytes", &body.len())
            .finish_non_exhaustive()
    }
}
