//! What an error of ureq says: can the request have arrived, and may another try do better?

use super::retry::Outcome;
use super::{Call, Config, Delivery, Error, tls};
use crate::base::budget::UsedUp;
use crate::base::text::system_words;

/// When in a request an error of ureq came up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// Before the head of the answer was complete.
    Call,
    /// While the body was read.
    Body,
}

/// What stands before the name of a proxy.
pub(super) const THROUGH: &str = " (through the proxy ";

/// A try that brought no answer.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) error: Error,
    /// May another try do better?
    pub(super) outcome: Outcome,
}

impl Failure {
    /// Says which proxy the request went through.
    pub(super) fn through(mut self, proxy: Option<&str>) -> Failure {
        if let (Some(proxy), Error::Tls { cause, .. } | Error::Transport { cause, .. }) =
            (proxy, &mut self.error)
        {
            cause.push_str(&format!("{THROUGH}{proxy})"));
        }
        self
    }

    /// Returns what happened, in words, without the request.
    pub(super) fn cause(&self) -> String {
        match &self.error {
            Error::Tls { cause, .. } | Error::Transport { cause, .. } => cause.clone(),
            error => error.to_string(),
        }
    }
}

/// Judges an error of ureq by what it shows of where the request was (seen with 3.5.2). What is not known to come
/// from before the request left counts as ambiguous.
pub(super) fn classify(error: &ureq::Error, phase: Phase, call: &Call, config: &Config) -> Failure {
    use Delivery::{Ambiguous, NotSent};
    use Outcome::{Disconnected, Lasting, Passing};
    use std::io::ErrorKind::*;
    let call = call.clone();
    if let Some(cause) = tls::cause(error) {
        let delivery = match phase {
            Phase::Call if !tls::may_be_late(&cause) => NotSent,
            Phase::Call | Phase::Body => Ambiguous,
        };
        let error = Error::Tls {
            call,
            cause,
            delivery,
        };
        return Failure {
            error,
            outcome: Lasting,
        };
    }
    if let ureq::Error::Io(io) = error
        && let Some(UsedUp(limit)) = io.get_ref().and_then(|inner| inner.downcast_ref())
    {
        let (limit, together) = (*limit, true);
        return Failure {
            error: Error::TooBig {
                call,
                limit,
                together,
            },
            outcome: Lasting,
        };
    }
    let (delivery, outcome, cause) = match error {
        ureq::Error::BodyExceedsLimit(_) => {
            let (limit, together) = (config.max_body_bytes, false);
            return Failure {
                error: Error::TooBig {
                    call,
                    limit,
                    together,
                },
                outcome: Lasting,
            };
        }
        ureq::Error::Timeout(ureq::Timeout::Connect | ureq::Timeout::Resolve) => {
            let secs = config.connect_timeout.as_secs_f64();
            (NotSent, Passing, format!("no connection within {secs} s"))
        }
        ureq::Error::Timeout(_) => {
            // Not tried again: each try may take as long, and a server that hangs would hang the run.
            let secs = config.total_timeout.as_secs_f64();
            let cause = format!("no complete answer within {secs} s");
            (Ambiguous, Lasting, cause)
        }
        // A path or header that ureq cannot write, or no such host.
        ureq::Error::Http(_) | ureq::Error::BadUri(_) | ureq::Error::HostNotFound => {
            (NotSent, Lasting, error.to_string())
        }
        ureq::Error::ConnectProxyFailed(why) => {
            let cause = format!("the proxy refused to connect: {why}");
            (NotSent, Lasting, cause)
        }
        ureq::Error::ConnectionFailed => (NotSent, Passing, error.to_string()),
        ureq::Error::BodyStalled => (Ambiguous, Passing, error.to_string()),
        ureq::Error::Io(io) => match (io.kind(), phase) {
            (
                ConnectionRefused | HostUnreachable | NetworkUnreachable | NetworkDown
                | AddrNotAvailable,
                _,
            ) => (NotSent, Passing, system_words(io)),
            (UnexpectedEof | ConnectionReset | ConnectionAborted | BrokenPipe, Phase::Call) => {
                let cause = "the connection ended before an answer".to_owned();
                (Ambiguous, Disconnected, cause)
            }
            (UnexpectedEof | ConnectionReset | ConnectionAborted | BrokenPipe, Phase::Body) => {
                (Ambiguous, Passing, "the answer was cut off".to_owned())
            }
            _ => match system_words(io) {
                words if !words.starts_with("failed to lookup address") => {
                    (Ambiguous, Lasting, words)
                }
                words if words.contains("Temporary failure") => (NotSent, Passing, words),
                words => (NotSent, Lasting, words),
            },
        },
        _ => (Ambiguous, Lasting, error.to_string()),
    };
    let timeout = matches!(error, ureq::Error::Timeout(_));
    let error = Error::Transport {
        call,
        delivery,
        cause,
        timeout,
    };
    Failure { error, outcome }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use super::*;
    use crate::wire::http::{BaseUrl, Method};
    use std::io;

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
            method: Method::Get,
            url: "https://nb.example/api/groups".to_owned(),
        };
        use Delivery::*;
        use Outcome::*;
        for (error, phase, delivery, outcome, timeout) in [
            (
                io(io::ErrorKind::ConnectionRefused),
                Phase::Call,
                NotSent,
                Passing,
                false,
            ),
            (
                io(io::ErrorKind::NetworkUnreachable),
                Phase::Call,
                NotSent,
                Passing,
                false,
            ),
            (
                io(io::ErrorKind::UnexpectedEof),
                Phase::Call,
                Ambiguous,
                Disconnected,
                false,
            ),
            (
                io(io::ErrorKind::ConnectionReset),
                Phase::Call,
                Ambiguous,
                Disconnected,
                false,
            ),
            (
                io(io::ErrorKind::BrokenPipe),
                Phase::Call,
                Ambiguous,
                Disconnected,
                false,
            ),
            (
                io(io::ErrorKind::UnexpectedEof),
                Phase::Body,
                Ambiguous,
                Passing,
                false,
            ),
            (
                io(io::ErrorKind::PermissionDenied),
                Phase::Call,
                Ambiguous,
                Lasting,
                false,
            ),
            (
                dns("Name or service not known"),
                Phase::Call,
                NotSent,
                Lasting,
                false,
            ),
            (
                dns("Temporary failure in name resolution"),
                Phase::Call,
                NotSent,
                Passing,
                false,
            ),
            (
                ureq::Error::Timeout(ureq::Timeout::Connect),
                Phase::Call,
                NotSent,
                Passing,
                true,
            ),
            (
                ureq::Error::Timeout(ureq::Timeout::Resolve),
                Phase::Call,
                NotSent,
                Passing,
                true,
            ),
            (
                ureq::Error::Timeout(ureq::Timeout::Global),
                Phase::Call,
                Ambiguous,
                Lasting,
                true,
            ),
            (
                ureq::Error::Timeout(ureq::Timeout::Global),
                Phase::Body,
                Ambiguous,
                Lasting,
                true,
            ),
            (
                ureq::Error::ConnectProxyFailed("407".into()),
                Phase::Call,
                NotSent,
                Lasting,
                false,
            ),
            (
                ureq::Error::Tls("bad name"),
                Phase::Call,
                NotSent,
                Lasting,
                false,
            ),
            (
                ureq::Error::HostNotFound,
                Phase::Call,
                NotSent,
                Lasting,
                false,
            ),
        ] {
            let failure = classify(&error, phase, &call, &config);
            let (Error::Transport { delivery: told, .. } | Error::Tls { delivery: told, .. }) =
                &failure.error
            else {
                panic!("{failure:?}")
            };
            assert_eq!((*told, failure.outcome), (delivery, outcome), "{error:?}");
            let timed_out = matches!(failure.error, Error::Transport { timeout: true, .. });
            assert_eq!(timed_out, timeout, "{error:?}");
        }
    }
}
