//! What an error of ureq says: can the request have arrived, and may another try do better?

use super::{Config, Delivery, tls};
use crate::text::system_words;

/// When in a request an error of ureq came up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// Before the head of the answer was complete.
    Call,
    /// While the body was read.
    Body,
}

/// An error of ureq, classified.
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

/// Judges an error of ureq by what it shows of where the request was (seen with 3.5.2). What is not known to come
/// from before the request left counts as ambiguous.
pub(super) fn classify(error: &ureq::Error, phase: Phase, config: &Config) -> Failure {
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
            let secs = config.connect_timeout.as_secs_f64();
            failure.cause = format!("no connection within {secs} s");
            (failure.timeout, failure.passing, failure.delivery) = (true, true, Delivery::NotSent);
        }
        ureq::Error::Timeout(_) => {
            // Not tried again: each try may take as long, and a server that hangs would hang the run.
            let secs = config.total_timeout.as_secs_f64();
            failure.cause = format!("no complete answer within {secs} s");
            failure.timeout = true;
        }
        // A path or header that ureq cannot write.
        ureq::Error::Http(_) | ureq::Error::BadUri(_) => failure.delivery = Delivery::NotSent,
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
            failure.cause = system_words(io);
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
#[allow(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use super::*;
    use crate::http::BaseUrl;
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
            let failure = classify(&error, phase, &config);
            assert_eq!(failure.delivery, delivery, "{error:?}");
            assert_eq!(failure.passing, passing, "{error:?}");
            assert_eq!(failure.disconnected, disconnected, "{error:?}");
            assert_eq!(failure.timeout, timeout, "{error:?}");
        }
    }
}
