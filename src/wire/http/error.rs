//! Why a request brought no answer that can be read.

use std::fmt;
use std::path::PathBuf;

use super::classify::THROUGH;
use super::{Call, UrlRefused, tls};
use crate::base::budget::UsedUp;

/// What is known about a request that brought no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delivery {
    /// The server cannot have seen it.
    NotSent,
    /// It may have been carried out.
    Ambiguous,
}

/// An error beneath the statuses of the server.
#[derive(Debug)]
pub enum Error {
    /// The URL of the server is one that no request is made to (exit code 3).
    UrlRefused(UrlRefused),
    /// The proxy that `source` names cannot be read. The value is left out: it may hold a password.
    Proxy {
        /// The environment variable.
        source: String,
    },
    /// The file of additional CAs is no use.
    CaFile {
        /// Its path as given.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// No TLS connection: the certificate, mostly.
    Tls {
        /// The request.
        call: Call,
        /// What rustls says.
        cause: String,
        /// Almost always [`Delivery::NotSent`].
        delivery: Delivery,
    },
    /// No answer, or one that was cut off.
    Transport {
        /// The request.
        call: Call,
        /// Can it have been carried out?
        delivery: Delivery,
        /// What happened, in words.
        cause: String,
        /// Was it a time-out?
        timeout: bool,
    },
    /// The server sends us elsewhere, which is never followed: the token is for one host, and a redirected POST would
    /// become a GET.
    Redirected {
        /// The request.
        call: Call,
        /// The status, 300 to 399.
        status: u16,
        /// Scheme and host of the new place, when it is another.
        location: Option<String>,
        /// The path of the new place, without a query: on Gitea it has a repository's new name.
        path: Option<String>,
    },
    /// The body is no JSON.
    NotJson {
        /// The request.
        call: Call,
        /// The status of the answer.
        status: u16,
        /// Is it a web page?
        html: bool,
        /// What came instead, never of an answer to a POST; or what is wrong with the JSON.
        detail: String,
        /// Where the API would be without a sub-path.
        api: String,
    },
    /// The body is larger than [`super::Config::max_body_bytes`], or all answers are larger than what is held of them.
    TooBig {
        /// The request.
        call: Call,
        /// The limit in bytes.
        limit: u64,
        /// Whether it is that of all answers together.
        together: bool,
    },
}

impl Error {
    /// What to do about it, for a line of its own.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Error::UrlRefused(refused) => return Some(refused.hint()),
            Error::Proxy { .. } => "write it as http://HOST:PORT or socks5://HOST:PORT",
            Error::CaFile { .. } => "give a PEM file: -----BEGIN CERTIFICATE----- …",
            Error::Tls { cause, .. } => tls::hint(cause)?,
            Error::Transport { .. } if self.outcome_unknown() => {
                "it may have been carried out all the same: look before making it again"
            }
            Error::Transport { cause, timeout, .. } => transport_hint(cause, *timeout)?,
            Error::Redirected { call, location, .. } => {
                return Some(redirect_hint(call, location.as_deref()));
            }
            Error::NotJson {
                call,
                html: true,
                api,
                ..
            } if !call.url.starts_with(api.as_str()) => {
                return Some(format!(
                    "this looks like the dashboard; is the API at {api} ?"
                ));
            }
            Error::NotJson { html: true, .. } => {
                "this looks like a dashboard or a login page: is the API on another host or port?"
            }
            Error::NotJson { .. } => "is this the server's API, or something before it?",
            Error::TooBig { .. } => return None,
        };
        Some(hint.to_owned())
    }

    /// May a write have been carried out although this is an error? Always false for reads.
    pub fn outcome_unknown(&self) -> bool {
        match self {
            Error::UrlRefused(_)
            | Error::Proxy { .. }
            | Error::CaFile { .. }
            | Error::Redirected { .. } => false,
            Error::Tls { call, delivery, .. } | Error::Transport { call, delivery, .. } => {
                call.method.writes() && *delivery == Delivery::Ambiguous
            }
            Error::NotJson { call, status, .. } => {
                call.method.writes() && (*status < 300 || *status >= 500)
            }
            Error::TooBig { call, .. } => call.method.writes(),
        }
    }
}

fn redirect_hint(call: &Call, location: Option<&str>) -> String {
    let with_tls = call.url_origin().replacen("http://", "https://", 1);
    match location {
        Some(location) if location == with_tls => format!("write the URL with {location}"),
        Some(location) => format!(
            "redirects are not followed, so that the token stays with one host: give the URL of \
             the API itself, at {location} if that is the server"
        ),
        None => "redirects are not followed: is the path of the URL right?".to_owned(),
    }
}

fn transport_hint(cause: &str, timeout: bool) -> Option<&'static str> {
    if cause.contains(THROUGH) {
        return Some(
            "is it the right proxy, and does it let this host through? NO_PROXY lists hosts and networks that go direct \
             (docs/cli.md)",
        );
    }
    if cause.contains("lookup address") || cause.contains("host not found") {
        Some("is the name of the host right, and can this machine resolve it?")
    } else if cause.contains("refused") {
        Some("is the server running, and is the port right?")
    } else if timeout {
        Some("is the server up and reachable from this machine? A firewall may be in between")
    } else {
        None
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::UrlRefused(refused) => refused.fmt(f),
            Error::Proxy { source } => write!(f, "the proxy in {source} is no URL of a proxy"),
            Error::CaFile { path, problem } => write!(f, "CA file {}: {problem}", path.display()),
            Error::Tls { call, cause, .. } => {
                write!(f, "{call}: no TLS with {}: {cause}", call.host())
            }
            Error::Transport { call, cause, .. } => write!(f, "{call}: {cause}"),
            Error::Redirected {
                call,
                status,
                location,
                path: _,
            } => match location {
                Some(location) => write!(f, "{call}: {status} redirect to {location}"),
                None => write!(f, "{call}: {status} redirect"),
            },
            Error::NotJson {
                call,
                status,
                html,
                detail,
                ..
            } => {
                write!(
                    f,
                    "{call} answered {}, not JSON",
                    if *html { "HTML" } else { "something else" }
                )?;
                if !(200..300).contains(status) {
                    write!(f, " (status {status})")?;
                }
                if !detail.is_empty() {
                    write!(f, ": {detail}")?;
                }
                Ok(())
            }
            Error::TooBig {
                call,
                limit,
                together: false,
            } => {
                write!(f, "{call}: the answer is larger than {} MiB", limit >> 20)
            }
            Error::TooBig { call, limit, .. } => write!(f, "{call}: {}", UsedUp(*limit)),
        }
    }
}

impl std::error::Error for Error {}

impl From<UrlRefused> for Error {
    fn from(refused: UrlRefused) -> Error {
        Error::UrlRefused(refused)
    }
}
