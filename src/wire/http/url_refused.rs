//! Why a base URL is refused, in words that hold none of its secrets.

use std::fmt;

use super::text;

/// A URL that no request is made to. A gate refuses it: exit code 3.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UrlRefused {
    /// The URL, without user-info, query and fragment.
    pub shown: String,
    /// What is wrong with it.
    pub problem: UrlProblem,
}

/// Why a URL is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UrlProblem {
    /// There is none.
    Empty,
    /// It starts with no `https://`.
    NoScheme,
    /// Neither https nor http.
    OtherScheme,
    /// A user name or password stands before the host.
    UserInfo,
    /// There is something after `?` or `#`.
    QueryOrFragment,
    /// http to another machine: the token would travel in clear.
    PlainHttp,
    /// Host, port or path cannot be read.
    Malformed,
}

impl UrlRefused {
    /// What to do about it.
    pub fn hint(&self) -> String {
        let hint = match self.problem {
            UrlProblem::Empty => "give it as https://HOST, with or without the path of the API",
            UrlProblem::NoScheme => {
                let rest = self
                    .shown
                    .trim_start_matches("https:")
                    .trim_start_matches("http:");
                return format!("write https://{}", rest.trim_start_matches(['/', ':']));
            }
            UrlProblem::OtherScheme => "write it with https://",
            UrlProblem::UserInfo => {
                "take user name and password out of the URL; a token goes into the environment or \
                 a file"
            }
            UrlProblem::QueryOrFragment => "leave out everything after ? or #",
            UrlProblem::PlainHttp => {
                "use https; plain http is for this machine (localhost, 127.0.0.1, [::1]) only, \
                 because anyone on the way can read the token"
            }
            UrlProblem::Malformed => {
                "write it as https://HOST or https://HOST:PORT/PATH; a name outside ASCII in its \
                 xn-- form"
            }
        };
        hint.to_owned()
    }
}

impl fmt::Display for UrlRefused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = &self.shown;
        match self.problem {
            UrlProblem::Empty => f.write_str("the URL of the server is empty"),
            UrlProblem::NoScheme => write!(f, "the URL {shown:?} does not start with https://"),
            UrlProblem::OtherScheme => write!(f, "the URL {shown:?} is not of https"),
            UrlProblem::UserInfo => write!(f, "the URL {shown:?} has credentials in it"),
            UrlProblem::QueryOrFragment => {
                write!(f, "the URL {shown:?} has a query or fragment behind it")
            }
            UrlProblem::PlainHttp => {
                write!(f, "the URL {shown:?} would send the token unencrypted")
            }
            UrlProblem::Malformed => write!(f, "{shown:?} is no URL of a server"),
        }
    }
}

impl std::error::Error for UrlRefused {}

/// Returns the URL fit for a message: user-info replaced, query and fragment cut off.
pub(super) fn without_secrets(url: &str) -> String {
    let url = url.split(['?', '#']).next().unwrap_or_default();
    let (scheme, rest) = match url.split_once("://") {
        Some((scheme, rest)) => (format!("{scheme}://"), rest),
        None => (String::new(), url),
    };
    let shown = match rest.rsplit_once('@') {
        Some((_, host)) => format!("{scheme}***@{host}"),
        None => format!("{scheme}{rest}"),
    };
    text::clean(&shown, 200)
}
