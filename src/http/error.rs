//! Why a request brought no answer that can be read.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use super::{Call, UrlRefused, tls};

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
    /// The body is larger than [`super::Config::max_body_bytes`].
    TooBig {
        /// The request.
        call: Call,
        /// The limit in bytes.
        limit: u64,
    },
}

impl Error {
    /// What to do about it, for a line of its own.
    pub fn hint(&self) -> Option<String> {
        match self {
            Error::UrlRefused(refused) => Some(refused.hint()),
            Error::Proxy { .. } => {
                Some("write it as http://HOST:PORT or socks5://HOST:PORT".to_owned())
            }
            Error::CaFile { .. } => {
                Some("give a PEM file: -----BEGIN CERTIFICATE----- …".to_owned())
            }
            Error::Tls { cause, .. } => tls::hint(cause).map(str::to_owned),
            Error::Transport {
                call,
                delivery: Delivery::Ambiguous,
                ..
            } if call.method.writes() => Some(
                "it may have been carried out all the same: look before making it again".to_owned(),
            ),
            Error::Transport { cause, timeout, .. } => {
                transport_hint(cause, *timeout).map(str::to_owned)
            }
            Error::Redirected { call, location, .. } => Some(match location {
                Some(location)
                    if *location == call.url_origin().replacen("http://", "https://", 1) =>
                {
                    format!("write the URL with {location}")
                }
                Some(location) => format!(
                    "redirects are not followed, so that the token stays with one host: give the URL of the API itself, \
                     at {location} if that is the server"
                ),
                None => "redirects are not followed: is the path of the URL right?".to_owned(),
            }),
            Error::NotJson {
                call,
                html: true,
                api,
                ..
            } if !call.url.starts_with(api.as_str()) => Some(format!(
                "this looks like the dashboard; is the API at {api} ?"
            )),
            Error::NotJson { html: true, .. } => Some(
                "this looks like a dashboard or a login page: is the API on another host or port?"
                    .to_owned(),
            ),
            Error::NotJson { .. } => {
                Some("is this the server's API, or something before it?".to_owned())
            }
            Error::TooBig { .. } => None,
        }
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

fn transport_hint(cause: &str, timeout: bool) -> Option<&'static str> {
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
            Error::TooBig { call, limit } => {
                write!(f, "{call}: the answer is larger than {} MiB", limit >> 20)
            }
        }
    }
}

impl std::error::Error for Error {}

impl From<UrlRefused> for Error {
    fn from(refused: UrlRefused) -> Error {
        Error::UrlRefused(refused)
    }
}

/// When in a request an error of ureq came up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// Before the head of the answer was complete.
    Call,
    /// While the body was read.
    Body,
}

/// An error of ureq, judged.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) delivery: Delivery,
    pub(super) cause: String,
    pub(super) timeout: bool,
    pub(super) tls: bool,
    /// The connection ended before an answer.
    pub(super) disconnected: bool,
    /// Another try may well do better.
    pub(super) passing: bool,
    pub(super) too_big: bool,
}

/// Judges an error of ureq by what it shows of where the request was (crates.md, "Error classes"). What is not known to
/// come from before the request left counts as ambiguous.
pub(super) fn judge(error: &ureq::Error, phase: Phase, total: Duration) -> Failure {
    use std::io::ErrorKind::*;
    let mut failure = Failure {
        delivery: Delivery::Ambiguous,
        cause: error.to_string(),
        timeout: false,
        tls: false,
        disconnected: false,
        passing: false,
        too_big: false,
    };
    if let Some(cause) = tls::cause(error) {
        failure.tls = true;
        if phase == Phase::Call && !tls::may_be_late(&cause) {
            failure.delivery = Delivery::NotSent;
        }
        failure.cause = cause;
        return failure;
    }
    match error {
        ureq::Error::Timeout(ureq::Timeout::Connect | ureq::Timeout::Resolve) => {
            failure.cause = "no connection in time".to_owned();
            (failure.timeout, failure.passing, failure.delivery) = (true, true, Delivery::NotSent);
        }
        ureq::Error::Timeout(_) => {
            // Not tried again: each try may take as long, and a server that hangs would hang the run.
            failure.cause = format!("no complete answer within {} s", total.as_secs_f64());
            failure.timeout = true;
        }
        ureq::Error::HostNotFound => failure.delivery = Delivery::NotSent,
        ureq::Error::ConnectProxyFailed(why) => {
            failure.cause = format!("the proxy refused to connect: {why}");
            failure.delivery = Delivery::NotSent;
        }
        ureq::Error::ConnectionFailed => {
            (failure.passing, failure.delivery) = (true, Delivery::NotSent);
        }
        ureq::Error::BodyExceedsLimit(_) => failure.too_big = true,
        ureq::Error::BodyStalled => failure.passing = true,
        ureq::Error::Io(io) => {
            failure.cause = io.to_string();
            match io.kind() {
                ConnectionRefused | HostUnreachable | NetworkUnreachable | NetworkDown
                | AddrNotAvailable => {
                    (failure.passing, failure.delivery) = (true, Delivery::NotSent);
                }
                UnexpectedEof | ConnectionReset | ConnectionAborted | BrokenPipe => {
                    failure.passing = true;
                    failure.disconnected = phase == Phase::Call;
                    failure.cause = match phase {
                        Phase::Call => "the connection ended before an answer".to_owned(),
                        Phase::Body => "the answer was cut off".to_owned(),
                    };
                }
                _ if failure.cause.starts_with("failed to lookup address") => {
                    failure.delivery = Delivery::NotSent;
                    failure.passing = failure.cause.contains("Temporary failure");
                }
                _ => {}
            }
        }
        _ => {}
    }
    failure
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io;

    #[test]
    fn judgements() {
        let io = |kind: io::ErrorKind| ureq::Error::Io(kind.into());
        let dns = |why: &str| {
            ureq::Error::Io(io::Error::other(format!(
                "failed to lookup address information: {why}"
            )))
        };
        use Delivery::*;
        for (error, phase, delivery, passing, disconnected, timeout) in [
            (
                io(io::ErrorKind::ConnectionRefused),
                Phase::Call,
                NotSent,
                true,
                false,
                false,
            ),
            (
                io(io::ErrorKind::NetworkUnreachable),
                Phase::Call,
                NotSent,
                true,
                false,
                false,
            ),
            (
                io(io::ErrorKind::UnexpectedEof),
                Phase::Call,
                Ambiguous,
                true,
                true,
                false,
            ),
            (
                io(io::ErrorKind::ConnectionReset),
                Phase::Call,
                Ambiguous,
                true,
                true,
                false,
            ),
            (
                io(io::ErrorKind::BrokenPipe),
                Phase::Call,
                Ambiguous,
                true,
                true,
                false,
            ),
            (
                io(io::ErrorKind::UnexpectedEof),
                Phase::Body,
                Ambiguous,
                true,
                false,
                false,
            ),
            (
                io(io::ErrorKind::PermissionDenied),
                Phase::Call,
                Ambiguous,
                false,
                false,
                false,
            ),
            (
                dns("Name or service not known"),
                Phase::Call,
                NotSent,
                false,
                false,
                false,
            ),
            (
                dns("Temporary failure in name resolution"),
                Phase::Call,
                NotSent,
                true,
                false,
                false,
            ),
            (
                ureq::Error::Timeout(ureq::Timeout::Connect),
                Phase::Call,
                NotSent,
                true,
                false,
                true,
            ),
            (
                ureq::Error::Timeout(ureq::Timeout::Resolve),
                Phase::Call,
                NotSent,
                true,
                false,
                true,
            ),
            (
                ureq::Error::Timeout(ureq::Timeout::Global),
                Phase::Call,
                Ambiguous,
                false,
                false,
                true,
            ),
            (
                ureq::Error::Timeout(ureq::Timeout::Global),
                Phase::Body,
                Ambiguous,
                false,
                false,
                true,
            ),
            (
                ureq::Error::ConnectProxyFailed("407".into()),
                Phase::Call,
                NotSent,
                false,
                false,
                false,
            ),
            (
                ureq::Error::Tls("bad name"),
                Phase::Call,
                NotSent,
                false,
                false,
                false,
            ),
            (
                ureq::Error::HostNotFound,
                Phase::Call,
                NotSent,
                false,
                false,
                false,
            ),
        ] {
            let failure = judge(&error, phase, Duration::from_secs(60));
            assert_eq!(failure.delivery, delivery, "{error:?}");
            assert_eq!(failure.passing, passing, "{error:?}");
            assert_eq!(failure.disconnected, disconnected, "{error:?}");
            assert_eq!(failure.timeout, timeout, "{error:?}");
        }
    }
}
