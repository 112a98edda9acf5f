//! The base URL of a server: read leniently where the meaning is plain, refused where a token could leak.

use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};

use ureq::http::Uri;

use super::url_refused::{UrlProblem, UrlRefused, without_secrets};

/// Where an API lives: `https://host[:port][/sub/path]` and the API's own path behind it, without a slash at the end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BaseUrl {
    https: bool,
    host: String,
    port: Option<u16>,
    path: String,
    api_path: &'static str,
}

impl BaseUrl {
    /// Reads a URL as people write it. White space around it and slashes at its end do not matter, and `api_path` (as
    /// `/api` or `/api/v1`) is added unless it stands there already.
    ///
    /// Errors: see [`UrlProblem`].
    pub fn parse(text: &str, api_path: &'static str) -> Result<BaseUrl, UrlRefused> {
        let text = text.trim();
        let refused = |problem| UrlRefused {
            shown: without_secrets(text),
            problem,
        };
        if text.is_empty() {
            return Err(refused(UrlProblem::Empty));
        }
        let (scheme, rest) = match text.split_once("://") {
            Some((scheme, rest)) => (Some(scheme.to_ascii_lowercase()), rest),
            None => (None, text),
        };
        let authority = rest.split(['/', '?', '#', '\\']).next().unwrap_or_default();
        if authority.contains('@') {
            return Err(refused(UrlProblem::UserInfo));
        }
        let https = match scheme.as_deref() {
            Some("https") => true,
            Some("http") => false,
            Some(_) => return Err(refused(UrlProblem::OtherScheme)),
            None => return Err(refused(UrlProblem::NoScheme)),
        };
        if rest.contains(['?', '#']) {
            return Err(refused(UrlProblem::QueryOrFragment));
        }
        let uri: Uri = text.parse().map_err(|_| refused(UrlProblem::Malformed))?;
        let authority = uri
            .authority()
            .ok_or_else(|| refused(UrlProblem::Malformed))?;
        let host = authority.host().to_ascii_lowercase();
        let port = match authority.as_str()[authority.host().len()..].strip_prefix(':') {
            None => None,
            Some(digits) => match digits.parse::<u16>() {
                Ok(port) if port > 0 => Some(port),
                _ => return Err(refused(UrlProblem::Malformed)),
            },
        };
        if host.is_empty() || (host.starts_with('[') && bare(&host).parse::<Ipv6Addr>().is_err()) {
            return Err(refused(UrlProblem::Malformed));
        }
        if !https && !is_loopback(&host) {
            return Err(refused(UrlProblem::PlainHttp));
        }
        let segments: Vec<&str> = uri.path().split('/').filter(|s| !s.is_empty()).collect();
        if segments.iter().any(|s| matches!(*s, "." | "..")) {
            return Err(refused(UrlProblem::Malformed));
        }
        Ok(BaseUrl {
            https,
            host,
            port,
            path: with_api_path(&segments, api_path),
            api_path,
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

    /// Returns where the API would be if there were no sub-path: the first thing to try when a web page answered.
    pub(super) fn at_root(&self) -> String {
        format!("{}{}", self.origin(), self.api_path)
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

/// Returns the path with the API's behind it: `/sub` and `/sub/api` both give `/sub/api`; for `/api/v1` so does
/// `/sub/api`.
fn with_api_path(segments: &[&str], api_path: &str) -> String {
    let api: Vec<&str> = api_path.split('/').filter(|s| !s.is_empty()).collect();
    let there = (0..=api.len())
        .rev()
        .find(|&n| segments.ends_with(&api[..n]))
        .unwrap_or(0);
    segments
        .iter()
        .chain(&api[there..])
        .map(|segment| format!("/{segment}"))
        .collect()
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
#[allow(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<String, UrlProblem> {
        BaseUrl::parse(text, "/api")
            .map(|url| url.to_string())
            .map_err(|e| e.problem)
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
        use UrlProblem::*;
        for (text, wanted) in [
            ("", Empty),
            (" \t\n", Empty),
            ("nb.example", NoScheme),
            ("nb.example:8443/api", NoScheme),
            ("//nb.example", NoScheme),
            ("https:/nb.example", NoScheme),
            ("ftp://nb.example", OtherScheme),
            ("file:///etc/passwd", OtherScheme),
            ("://nb.example", OtherScheme),
            ("https://user@nb.example", UserInfo),
            ("https://user:pass@nb.example/api", UserInfo),
            ("user:pass@nb.example", UserInfo),
            ("http://127.0.0.1@evil.example", UserInfo),
            ("https://nb.example/api?x=1", QueryOrFragment),
            ("https://nb.example/#/peers", QueryOrFragment),
            ("https://nb.example?", QueryOrFragment),
            ("http://nb.example", PlainHttp),
            ("http://192.168.1.10/api", PlainHttp),
            ("http://0.0.0.0", PlainHttp),
            ("http://127.1", PlainHttp),
            ("http://127.0.0.1.evil.example", PlainHttp),
            ("http://localhost.evil.example", PlainHttp),
            ("https://", Malformed),
            ("https:///api", Malformed),
            ("https://:443", Malformed),
            ("https://nb.example:", Malformed),
            ("https://nb.example:0", Malformed),
            ("https://nb.example:99999", Malformed),
            ("https://nb.example:80a", Malformed),
            ("https://nb exa.mple", Malformed),
            ("https://nb.example/a b", Malformed),
            ("https://nb.example/../x", Malformed),
            ("https://[::1", Malformed),
            ("https://[x]", Malformed),
            ("https:\\\\nb.example", NoScheme),
        ] {
            assert_eq!(parse(text), Err(wanted), "{text:?}");
        }
    }

    #[test]
    fn refusals_hold_no_secret_and_say_what_to_do() {
        for text in [
            "https://u:hunter2@h",
            "u:hunter2@h",
            "https://h/?token=hunter2",
            "ftp://u:hunter2@h/#hunter2",
        ] {
            let refused = BaseUrl::parse(text, "/api").unwrap_err();
            let said = format!("{refused} {} {refused:?}", refused.hint());
            assert!(!said.contains("hunter2"), "{said}");
        }
        let hint = |text| BaseUrl::parse(text, "/api").unwrap_err().hint();
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
        assert_eq!(url.at_root(), "https://git.example/api/v1");
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
