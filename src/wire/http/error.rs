//! Why a request did not do what it was for, and what to do about it.

use std::fmt;

use super::retry::TryEnd;
use super::{Call, Config, ErrorAnswer, tls};
use crate::base::{UsedUp, system_words};

/// A request to NetBird or Gitea that did not do what it was for.
#[derive(Debug)]
pub struct HttpError {
    /// What it is, for those who decide by it.
    pub trouble: Trouble,
    /// The answer, where it was one that is an error.
    pub answer: Option<Box<ErrorAnswer>>,
    /// May a write have been carried out although this is an error? Always false for reads.
    ///
    /// A write is one transaction that may commit although its answer is lost (docs/netbird-api.md, "Requests and
    /// answers"): after this, look before making it again.
    pub outcome_unknown: bool,
    text: String,
    hint: Option<String>,
}

/// What an error is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trouble {
    /// A URL that no token is sent to (exit code 3).
    UrlRefused,
    /// A request that cannot be made: the proxy or the file of CAs cannot be read, or no path can hold an id.
    Setting,
    /// No TLS connection: the certificate, mostly.
    Tls,
    /// No answer, or one that was cut off or is too large.
    Transport,
    /// The server sends us elsewhere, which is never followed: the token is for one host, and a redirected POST would become
    /// a GET. The path of the new place without a query, where it is on the same host.
    Redirected(Option<String>),
    /// The body of an answer of this status is no JSON.
    NotJson(u16),
    /// The body is JSON, but not what was asked for.
    Decode,
    /// The server refuses the request: a 4xx that is none of the following. Of Gitea all of them: see the status.
    Refused,
    /// The server failed: 5xx.
    Server,
    /// NetBird does not take the token: 401, or a 404 `invalid token` (docs/netbird-api.md, "Tokens"). Never "object
    /// missing".
    Unauthenticated,
    /// The token's user is blocked.
    Blocked,
    /// The token's user waits for approval.
    Pending,
    /// The role of the token's user does not allow this.
    Forbidden,
    /// NetBird has no such path: a plain-text 404 (docs/netbird-api.md, "Requests and answers").
    PathUnknown,
    /// There is no such object: a 404 (for the DELETE of a group a 400) that names the object of the path.
    NotFound,
    /// Too many requests, still after all waiting.
    Throttled,
    /// NetBird lists no policy at all while one of them has no rules: for a moment while policies are written, or for
    /// good where one was left so (docs/netbird-api.md, "Policies: one rule").
    PolicyWithoutRules,
    /// A setup key was created, but its secret cannot be used: masked, or not of the known form. The new key's id, so that it can be
    /// deleted.
    KeyUnusable(Option<String>),
    /// Gitea has the repository, and not what was asked for in it: a file on a branch that is there, or the branch.
    Missing {
        /// Whether it is the file.
        is_file: bool,
    },
    /// The name of a repository or a path is none.
    BadName,
    /// What stands at a path is not a file.
    NotAFile,
    /// A file's content cannot be used: too large, not handed out, or another than it has to be.
    BadContent,
}

/// What to do about a failure, by a part of its text. The first row counts: a certificate comes before the proxy that it came through.
const HINTS: &[(&str, &str)] = &[
    (
        "UnknownIssuer",
        "no known CA signed the server's certificate: give its CA with NETBIRD_GITOPS_CA_FILE, or with SSL_CERT_FILE in place \
         of the system's",
    ),
    (
        "CaUsedAsEndEntity",
        "the server's own certificate is marked as a CA, which openssl req -x509 does by default: make it with \
         basicConstraints=CA:FALSE, or let a CA of your own sign one and give that CA with NETBIRD_GITOPS_CA_FILE",
    ),
    (
        "is not valid for any names",
        "the server's certificate has no subjectAltName, and the common name alone does not count: make one with \
         subjectAltName",
    ),
    (
        "certificate not valid for name",
        "the server's certificate is for another host: is the URL right?",
    ),
    (
        "certificate expired",
        "the server's certificate has expired: renew it, or check this machine's clock",
    ),
    (
        "certificate not valid yet",
        "the server's certificate is not valid yet: check this machine's clock",
    ),
    (
        "UnsupportedCertVersion",
        "the server's certificate is of X.509 version 1: make one of version 3",
    ),
    (
        "corrupt message",
        "this port answers, but not in TLS: is the port right?",
    ),
    (
        "CertificateRequired",
        "the server wants a client certificate, which is not supported",
    ),
    (
        THROUGH,
        "is it the right proxy, and does it let this host through? NO_PROXY lists hosts and networks that go direct \
         (docs/cli.md)",
    ),
    (
        "lookup address",
        "is the name of the host right, and can this machine resolve it?",
    ),
    (
        "host not found",
        "is the name of the host right, and can this machine resolve it?",
    ),
    ("refused", "is the server running, and is the port right?"),
    (
        " within ",
        "is the server up and reachable from this machine? A firewall may be in between",
    ),
];

/// What stands before the name of a proxy.
const THROUGH: &str = " (through the proxy ";

impl HttpError {
    /// An error of a request that was not made.
    pub(crate) fn not_made(trouble: Trouble, text: String, hint: Option<String>) -> HttpError {
        HttpError {
            trouble,
            answer: None,
            outcome_unknown: false,
            text,
            hint,
        }
    }

    /// An answer that is an error.
    pub(crate) fn answered(trouble: Trouble, answer: ErrorAnswer, hint: Option<String>) -> Self {
        let (text, is_safe) = (answer.to_string(), answer.call.method.is_safe());
        HttpError {
            outcome_unknown: trouble == Trouble::Server && !is_safe,
            answer: Some(Box::new(answer)),
            ..HttpError::not_made(trouble, text, hint)
        }
    }

    /// An answer that is not what was asked for. A write was carried out, or may have been, but for a 3xx or 4xx.
    pub(crate) fn unreadable(
        trouble: Trouble,
        call: &Call,
        status: u16,
        text: String,
        hint: Option<String>,
    ) -> HttpError {
        HttpError {
            outcome_unknown: !call.method.is_safe() && !(300..500).contains(&status),
            ..HttpError::not_made(trouble, text, hint)
        }
    }

    /// JSON of another form than the one asked for. `what` it is, as in "a list, not an object".
    pub(crate) fn decode(call: &Call, what: &str) -> HttpError {
        let text = format!("{call}: the answer is {what}");
        HttpError::unreadable(Trouble::Decode, call, 200, text, None)
    }

    /// An answer of more bytes than are read; `what` says so.
    pub(super) fn too_big(call: &Call, what: impl fmt::Display) -> HttpError {
        let text = format!("{call}: {what}");
        HttpError::unreadable(Trouble::Transport, call, 200, text, None)
    }

    /// What to do about it, for a line of its own.
    pub fn hint(&self) -> Option<String> {
        self.hint.clone()
    }

    /// Returns the status of the answer, also of one that is a page.
    pub fn status(&self) -> Option<u16> {
        match self.trouble {
            Trouble::NotJson(status) => Some(status),
            _ => Some(self.answer.as_ref()?.status),
        }
    }

    /// What the server says.
    pub fn message(&self) -> &str {
        self.answer.as_ref().map_or("", |answer| &answer.message)
    }

    /// Is it the URL that a gate refuses (exit code 3)?
    pub fn is_url_refused(&self) -> bool {
        self.trouble == Trouble::UrlRefused
    }

    /// Returns the same error with other words.
    pub(crate) fn said(self, text: String, hint: String) -> HttpError {
        HttpError {
            text,
            hint: Some(hint),
            ..self
        }
    }

    /// What happened, in words, without the request.
    pub(super) fn cause(&self, call: &Call) -> &str {
        let cause = self.text.strip_prefix(&call.to_string());
        cause.map_or(&self.text, |cause| cause.trim_start_matches(": "))
    }
}

/// What is wrong with an answer of more than `limit` bytes.
pub(super) fn larger_than(limit: u64) -> String {
    format!("the answer is larger than {} MiB", limit >> 20)
}

impl fmt::Display for HttpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for HttpError {}

/// Judges an error of ureq by what it shows of where the request was (seen with 3.5.2), and says whether another try may do
/// better. What is not known to come from before the request left may have been carried out. `in_body`: the head of the
/// answer was complete.
pub(super) fn classify(
    error: &ureq::Error,
    in_body: bool,
    call: &Call,
    config: &Config,
    proxy: Option<&str>,
) -> (HttpError, TryEnd) {
    use TryEnd::{Disconnected, Lasting, Passing};
    use std::io::ErrorKind::*;
    use ureq::{Error, Timeout};
    let within =
        |what: &str, limit: std::time::Duration| format!("{what} within {} s", limit.as_secs_f64());
    let (connect, total) = (config.connect_timeout, config.total_timeout);
    let words = error.to_string();
    let tls = tls::cause(error);
    let trouble = match tls {
        Some(_) => Trouble::Tls,
        None => Trouble::Transport,
    };
    let (not_sent, end, cause) = match error {
        _ if let Some(cause) = tls => (!in_body && !tls::may_be_late(&cause), Lasting, cause),
        Error::BodyExceedsLimit(_) => {
            let limit = larger_than(config.max_body_bytes);
            return (HttpError::too_big(call, limit), Lasting);
        }
        Error::Timeout(Timeout::Connect | Timeout::Resolve) => {
            (true, Passing, within("no connection", connect))
        }
        // not tried again: each try may take as long, and a server that hangs would hang the run
        Error::Timeout(_) => (false, Lasting, within("no complete answer", total)),
        // a path or header that ureq cannot write, or no such host
        Error::Http(_) | Error::BadUri(_) | Error::HostNotFound => (true, Lasting, words),
        Error::ConnectProxyFailed(why) => {
            let words = format!("the proxy refused to connect: {why}");
            (true, Lasting, words)
        }
        Error::ConnectionFailed => (true, Passing, words),
        Error::BodyStalled => (false, Passing, words),
        Error::Io(io) => {
            let inner = io.get_ref();
            if let Some(used_up) = inner.and_then(|inner| inner.downcast_ref::<UsedUp>()) {
                return (HttpError::too_big(call, used_up), Lasting);
            }
            let words = system_words(io);
            match io.kind() {
                ConnectionRefused | HostUnreachable | NetworkUnreachable | NetworkDown
                | AddrNotAvailable => (true, Passing, words),
                UnexpectedEof | ConnectionReset | ConnectionAborted | BrokenPipe => match in_body {
                    true => (false, Passing, "the answer was cut off".into()),
                    false => (
                        false,
                        Disconnected,
                        "the connection ended before an answer".into(),
                    ),
                },
                _ if !words.starts_with("failed to lookup address") => (false, Lasting, words),
                _ if words.contains("Temporary failure") => (true, Passing, words),
                _ => (true, Lasting, words),
            }
        }
        _ => (false, Lasting, words),
    };
    let through = proxy.map(|proxy| format!("{THROUGH}{proxy})"));
    let cause = cause + &through.unwrap_or_default();
    let outcome_unknown = !call.method.is_safe() && !not_sent;
    let mut hints = HINTS.iter().filter(|(part, _)| cause.contains(part));
    let hint = match outcome_unknown && trouble == Trouble::Transport {
        true => Some("the server may have carried it out: check that before you run it again"),
        false => hints.next().map(|(_, hint)| *hint),
    };
    let text = match trouble {
        Trouble::Tls => format!("{call}: no TLS with {}: {cause}", call.host()),
        _ => format!("{call}: {cause}"),
    };
    let error = HttpError {
        outcome_unknown,
        ..HttpError::not_made(trouble, text, hint.map(str::to_owned))
    };
    (error, end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::http::{BaseUrl, Method};
    use std::io;

    /// A proxy may be the one whose certificate nobody knows: what to do about that counts.
    #[test]
    fn a_certificate_comes_before_the_proxy() {
        let config = Config::new(BaseUrl::parse("https://nb.example", "").unwrap());
        let call = Call {
            method: Method::GET,
            url: "https://nb.example/api/groups".to_owned(),
        };
        for (error, part) in [
            (
                ureq::Error::Tls("invalid peer certificate: UnknownIssuer"),
                "NETBIRD_GITOPS_CA_FILE",
            ),
            (
                ureq::Error::ConnectProxyFailed("407".into()),
                "is it the right proxy",
            ),
        ] {
            let (error, _) = classify(&error, false, &call, &config, Some("proxy.example:3128"));
            let hint = error.hint.unwrap_or_default();
            assert!(hint.contains(part), "{hint}");
        }
    }

    #[test]
    fn classes() {
        let io = |kind: io::ErrorKind| ureq::Error::Io(kind.into());
        let dns = |why: &str| {
            ureq::Error::Io(io::Error::other(format!(
                "failed to lookup address information: {why}"
            )))
        };
        let config = Config::new(BaseUrl::parse("https://nb.example", "").unwrap());
        let call = Call {
            method: Method::POST,
            url: "https://nb.example/api/groups".to_owned(),
        };
        use TryEnd::*;
        let (not_sent, open) = (false, true);
        for (error, in_body, unknown, end) in [
            (
                io(io::ErrorKind::ConnectionRefused),
                false,
                not_sent,
                Passing,
            ),
            (
                io(io::ErrorKind::NetworkUnreachable),
                false,
                not_sent,
                Passing,
            ),
            (io(io::ErrorKind::UnexpectedEof), false, open, Disconnected),
            (
                io(io::ErrorKind::ConnectionReset),
                false,
                open,
                Disconnected,
            ),
            (io(io::ErrorKind::BrokenPipe), false, open, Disconnected),
            (io(io::ErrorKind::UnexpectedEof), true, open, Passing),
            (io(io::ErrorKind::PermissionDenied), false, open, Lasting),
            (dns("Name or service not known"), false, not_sent, Lasting),
            (
                dns("Temporary failure in name resolution"),
                false,
                not_sent,
                Passing,
            ),
            (
                ureq::Error::Timeout(ureq::Timeout::Connect),
                false,
                not_sent,
                Passing,
            ),
            (
                ureq::Error::Timeout(ureq::Timeout::Resolve),
                false,
                not_sent,
                Passing,
            ),
            (
                ureq::Error::Timeout(ureq::Timeout::Global),
                false,
                open,
                Lasting,
            ),
            (
                ureq::Error::Timeout(ureq::Timeout::Global),
                true,
                open,
                Lasting,
            ),
            (
                ureq::Error::ConnectProxyFailed("407".into()),
                false,
                not_sent,
                Lasting,
            ),
            (ureq::Error::Tls("bad name"), false, not_sent, Lasting),
            (ureq::Error::HostNotFound, false, not_sent, Lasting),
        ] {
            let (found, ended) = classify(&error, in_body, &call, &config, None);
            assert_eq!((found.outcome_unknown, ended), (unknown, end), "{error:?}");
        }
    }

    #[test]
    fn hints() {
        let hint = |cause: &str| {
            let row = HINTS.iter().find(|(part, _)| cause.contains(part));
            row.map(|(_, hint)| *hint)
        };
        let issuer = hint("invalid peer certificate: UnknownIssuer").unwrap();
        assert!(issuer.contains("NETBIRD_GITOPS_CA_FILE"));
        let no_san = "certificate not valid for name \"h\"; certificate is not valid for any names (according to its \
                      subjectAltName extension)";
        assert!(hint(no_san).unwrap().contains("make one with"));
        let other = "certificate not valid for name \"h\"; certificate is only valid for x";
        assert!(hint(other).unwrap().contains("URL"));
        assert_eq!(hint("peer sent no certificates"), None);
    }
}
