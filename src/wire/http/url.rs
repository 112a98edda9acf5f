//! The base URL of a server: read leniently where the meaning is plain, refused where a token could leak.

use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};

use ureq::http::Uri;

use super::{HttpError, Result, Trouble, text};
use crate::base::mask::MASK;

/// Where an API lives: `https://host[:port][/sub/path]` and the API's own path behind it, without a slash at the end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BaseUrl {
    https: bool,
    host: String,
    port: Option<u16>,
    path: String,
}

impl BaseUrl {
    /// Reads a URL as people write it. White space around it and slashes at its end do not matter, and `api_path` (as
    /// `/api` or `/api/v1`) is added unless it stands there already.
    ///
    /// Errors where no token may be sent there, in words that hold none of the URL's secrets.
    pub fn parse(text: &str, api_path: &str) -> Result<BaseUrl> {
        let text = text.trim();
        let shown = without_secrets(text);
        let refused = |what: String, hint: &str| {
            HttpError::not_made(Trouble::UrlRefused, what, Some(hint.to_owned()))
        };
        let refuse =
            |what: &str, hint: &str| Err(refused(format!("the URL {shown:?} {what}"), hint));
        let malformed = || {
            let hint = "write it as https://HOST or https://HOST:PORT/PATH; a name outside ASCII in its xn-- form";
            refused(format!("{shown:?} is not a URL of a server"), hint)
        };
        if text.is_empty() {
            let hint = "give it as https://HOST, with or without the path of the API";
            return Err(refused("the URL of the server is empty".to_owned(), hint));
        }
        let (scheme, rest) = match text.split_once("://") {
            Some((scheme, rest)) => (Some(scheme.to_ascii_lowercase()), rest),
            None => (None, text),
        };
        let authority = rest.split(['/', '?', '#', '\\']).next().unwrap_or_default();
        if authority.contains('@') {
            let hint = "remove user name and password from the URL; a token belongs in the environment or in a file";
            return refuse("has credentials in it", hint);
        }
        let https = match scheme.as_deref() {
            Some("https") => true,
            Some("http") => false,
            Some(_) => return refuse("is not an https URL", "write it with https://"),
            None => {
                let rest = shown
                    .trim_start_matches("https:")
                    .trim_start_matches("http:");
                let hint = format!("write https://{}", rest.trim_start_matches(['/', ':']));
                return refuse("does not start with https://", &hint);
            }
        };
        if rest.contains(['?', '#']) {
            let hint = match rest.contains("account=") {
                true => {
                    "leave out everything after ?, and name the account with --account (NETBIRD_ACCOUNT_ID)"
                }
                false => "leave out everything after ? or #",
            };
            return refuse("has a query or fragment behind it", hint);
        }
        let uri: Uri = text.parse().map_err(|_| malformed())?;
        let authority = uri.authority().ok_or_else(malformed)?;
        let host = authority.host().to_ascii_lowercase();
        let port = authority.as_str()[authority.host().len()..].strip_prefix(':');
        let port = port.map(|digits| digits.parse::<u16>().unwrap_or(0));
        let is_host = !host.starts_with('[') || bare(&host).parse::<Ipv6Addr>().is_ok();
        let segments: Vec<&str> = uri.path().split('/').filter(|s| !s.is_empty()).collect();
        let is_path = !segments.iter().any(|s| matches!(*s, "." | ".."));
        if host.is_empty() || !is_host || port == Some(0) || !is_path {
            return Err(malformed());
        }
        if !https && !is_loopback(&host) {
            let hint = "use https; plain http is for this machine (localhost, 127.0.0.1, [::1]) only, because anyone on the \
                        way can read the token";
            return refuse("would send the token unencrypted", hint);
        }
        Ok(BaseUrl {
            https,
            host,
            port,
            path: with_api_path(&segments, api_path),
        })
    }

    /// Returns the host in lower case, an IPv6 address without its brackets.
    pub fn host(&self) -> &str {
        bare(&self.host)
    }

    /// Returns the port, the scheme's own where none is written.
    pub fn port(&self) -> u16 {
        self.port.unwrap_or(if self.https { 443 } else { 80 })
    }

    /// Is it https?
    pub fn is_https(&self) -> bool {
        self.https
    }

    /// Is the host this machine: `localhost`, 127.0.0.0/8 or `::1`?
    pub fn is_loopback(&self) -> bool {
        is_loopback(&self.host)
    }

    /// Returns the full URL of `path` below the API; it may carry a query. Nothing in it can lead to another host.
    pub fn join(&self, path: &str) -> String {
        format!("{self}/{}", path.trim_start_matches('/'))
    }

    /// Returns scheme, host and port.
    fn origin(&self) -> String {
        let scheme = if self.https { "https" } else { "http" };
        match self.port {
            Some(port) => format!("{scheme}://{}:{port}", self.host),
            None => format!("{scheme}://{}", self.host),
        }
    }
}

impl fmt::Display for BaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.origin(), self.path)
    }
}

/// The shortest word that is taken for a token, in bytes.
const TOKEN: usize = 20;

/// Returns a URL fit for a message: user-info replaced, query and fragment cut off.
pub(super) fn without_secrets(url: &str) -> String {
    let url = url.split(['?', '#']).next().unwrap_or_default();
    let (scheme, rest) = url.split_at(url.find("://").map_or(0, |at| at + 3));
    let shown = match rest.rsplit_once('@') {
        Some((_, host)) => format!("{scheme}***@{host}"),
        // no host is called so: a token in the place of the URL
        None if rest.len() >= TOKEN && !rest.contains(['.', ':', '/']) => MASK.to_owned(),
        None => url.to_owned(),
    };
    text::clean(&shown, 200)
}

/// Returns the path with the API's behind it: `/sub` and `/sub/api` both give `/sub/api`; for `/api/v1` so does
/// `/sub/api`.
fn with_api_path(segments: &[&str], api_path: &str) -> String {
    let api: Vec<&str> = api_path.split('/').filter(|s| !s.is_empty()).collect();
    let mut numbers = (0..=api.len()).rev();
    let there = numbers.find(|&n| segments.ends_with(&api[..n]));
    let all = segments.iter().chain(&api[there.unwrap_or(0)..]);
    all.map(|segment| format!("/{segment}")).collect()
}

fn bare(host: &str) -> &str {
    host.trim_start_matches('[').trim_end_matches(']')
}

/// Only forms that no resolver reads differently: `127.1` or `127.0.0.1.example.com` are not loopback here.
fn is_loopback(host: &str) -> bool {
    let host = bare(host);
    host == "localhost"
        || host.parse::<Ipv4Addr>().is_ok_and(|ip| ip.is_loopback())
        || host.parse::<Ipv6Addr>().is_ok_and(|ip| ip.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<String, String> {
        let url = BaseUrl::parse(text, "/api");
        url.map(|url| url.to_string()).map_err(|e| e.to_string())
    }

    #[test]
    fn forms_that_mean_the_same() {
        for (text, wanted) in [
            ("https://nb.example", "https://nb.example/api"),
            ("https://nb.example/", "https://nb.example/api"),
            ("https://nb.example///", "https://nb.example/api"),
            ("https://nb.example/api", "https://nb.example/api"),
            ("https://nb.example/api/", "https://nb.example/api"),
            ("https://nb.example//api//", "https://nb.example/api"),
            (" https://nb.example/api\n", "https://nb.example/api"),
            ("HTTPS://NB.Example/API", "https://nb.example/API/api"),
            ("https://nb.example:8443", "https://nb.example:8443/api"),
            ("https://nb.example/vpn", "https://nb.example/vpn/api"),
            ("https://nb.example/vpn/api/", "https://nb.example/vpn/api"),
            (
                "https://[2001:db8::1]:8443",
                "https://[2001:db8::1]:8443/api",
            ),
            ("https://10.1.2.3", "https://10.1.2.3/api"),
            ("http://127.0.0.1:8080", "http://127.0.0.1:8080/api"),
            ("http://127.9.8.7", "http://127.9.8.7/api"),
            ("http://localhost:33073/api", "http://localhost:33073/api"),
            ("http://[::1]:80", "http://[::1]:80/api"),
        ] {
            assert_eq!(parse(text).as_deref(), Ok(wanted), "{text:?}");
        }
    }

    #[test]
    fn refused_forms() {
        for (text, wanted) in [
            ("", "is empty"),
            (" \t\n", "is empty"),
            ("nb.example", "does not start with https://"),
            ("nb.example:8443/api", "does not start with https://"),
            ("//nb.example", "does not start with https://"),
            ("https:/nb.example", "does not start with https://"),
            ("ftp://nb.example", "is not an https URL"),
            ("file:///etc/passwd", "is not an https URL"),
            ("://nb.example", "is not an https URL"),
            ("https://user@nb.example", "has credentials in it"),
            ("https://user:pass@nb.example/api", "has credentials in it"),
            ("user:pass@nb.example", "has credentials in it"),
            ("http://127.0.0.1@evil.example", "has credentials in it"),
            (
                "https://nb.example/api?x=1",
                "has a query or fragment behind it",
            ),
            (
                "https://nb.example/#/peers",
                "has a query or fragment behind it",
            ),
            ("https://nb.example?", "has a query or fragment behind it"),
            ("http://nb.example", "would send the token unencrypted"),
            (
                "http://192.168.1.10/api",
                "would send the token unencrypted",
            ),
            ("http://0.0.0.0", "would send the token unencrypted"),
            ("http://127.1", "would send the token unencrypted"),
            (
                "http://127.0.0.1.evil.example",
                "would send the token unencrypted",
            ),
            (
                "http://localhost.evil.example",
                "would send the token unencrypted",
            ),
            ("https://", "is not a URL of a server"),
            ("https:///api", "is not a URL of a server"),
            ("https://:443", "is not a URL of a server"),
            ("https://nb.example:", "is not a URL of a server"),
            ("https://nb.example:0", "is not a URL of a server"),
            ("https://nb.example:99999", "is not a URL of a server"),
            ("https://nb.example:80a", "is not a URL of a server"),
            ("https://nb exa.mple", "is not a URL of a server"),
            ("https://nb.example/a b", "is not a URL of a server"),
            ("https://nb.example/../x", "is not a URL of a server"),
            ("https://[::1", "is not a URL of a server"),
            ("https://[x]", "is not a URL of a server"),
            ("https:\\\\nb.example", "does not start with https://"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.ends_with(wanted), "{text:?}: {error}");
        }
    }

    #[test]
    fn refusals_hold_no_secret_and_say_what_to_do() {
        for text in [
            "https://u:hunter2@h",
            "u:hunter2@h",
            "https://h/?token=hunter2",
            "ftp://u:hunter2@h/#hunter2",
            "hunter2-in-the-place-of-the-url",
        ] {
            let refused = BaseUrl::parse(text, "/api").unwrap_err();
            let said = format!("{refused} {refused:?}");
            assert!(!said.contains("hunter2"), "{said}");
        }
        let hint = |text| {
            let refused = BaseUrl::parse(text, "/api").unwrap_err();
            refused.hint().unwrap().to_owned()
        };
        assert_eq!(hint("nb.example/api"), "write https://nb.example/api");
        assert_eq!(hint("https:/nb.example"), "write https://nb.example");
    }

    #[test]
    fn an_api_path_of_two_segments() {
        for text in [
            "https://git.example",
            "https://git.example/api/",
            "https://git.example/api/v1",
        ] {
            assert_eq!(
                BaseUrl::parse(text, "/api/v1").unwrap().to_string(),
                "https://git.example/api/v1"
            );
        }
        let url = BaseUrl::parse("https://git.example/gitea", "/api/v1").unwrap();
        assert_eq!(url.path, "/gitea/api/v1");
    }

    #[test]
    fn parts() {
        let url = BaseUrl::parse("http://[::1]:8080/x", "/api").unwrap();
        assert_eq!(
            (url.host(), url.port(), url.is_https(), url.is_loopback()),
            ("::1", 8080, false, true)
        );
        assert_eq!(
            url.join("/groups?name=a"),
            "http://[::1]:8080/x/api/groups?name=a"
        );
        let url = BaseUrl::parse("https://nb.example", "/api").unwrap();
        assert_eq!(
            (url.host(), url.port(), url.is_https(), url.is_loopback()),
            ("nb.example", 443, true, false)
        );
    }

    proptest::proptest! {
        #[test]
        fn never_panics(text in "\\PC{0,40}", scheme in proptest::sample::select(vec!["", "http://", "https://"])) {
            let _ = BaseUrl::parse(&format!("{scheme}{text}"), "/api");
        }
    }
}
