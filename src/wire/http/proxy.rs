//! Which proxy a request goes through, chosen as curl does.
//!
//! ureq reads the environment by itself, but takes one proxy for all schemes, goes direct without a word when it cannot
//! read the variable, and reads NO_PROXY too narrowly (seen with 3.5.2). So the choice is made here, once a client,
//! and ureq gets the outcome.

use std::net::IpAddr;

use secrecy::{ExposeSecret, SecretString};

use super::{BaseUrl, HttpError, Result, Trouble};
use crate::base::spelling;

/// Where the proxy of a client comes from.
#[derive(Debug, Clone, Default)]
pub enum ProxySetting {
    /// The usual environment variables; loopback goes direct whatever they say.
    #[default]
    Environment,
    /// No proxy.
    Direct,
    /// This one, for loopback too.
    Url(SecretString),
}

/// The variables that name a proxy, the first that is set counts.
const HTTPS: &[&str] = &["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"];
const HTTP: &[&str] = &["http_proxy", "all_proxy", "ALL_PROXY"];
const DIRECT: &[&str] = &["no_proxy", "NO_PROXY"];

/// Is it a variable that says which proxy to use?
pub fn is_variable(name: &str) -> bool {
    [HTTPS, HTTP, DIRECT].concat().contains(&name)
}

/// Returns the URL of the proxy for requests to `url`, which may hold a password, and the variable that names it; `None` means
/// direct. `lookup` is the environment.
///
/// `https_proxy`, `HTTPS_PROXY` for https; `http_proxy` alone for http (`HTTP_PROXY` can be set by a caller of a CGI
/// program); then `all_proxy`, `ALL_PROXY`. An empty variable is an unset one. `no_proxy`, `NO_PROXY` list hosts that
/// go direct: a name covers its sub-domains, `*` is everything, `host:port` is one port; a network such as `10.0.0.0/8` covers
/// the addresses in it, as curl (7.86) and Go have it, and no name, since nobody looks names up for that.
fn choose(
    lookup: impl Fn(&str) -> Option<String>,
    url: &BaseUrl,
) -> Option<(&'static str, SecretString)> {
    let set = |name: &str| {
        let value = lookup(name).map(|value| value.trim().to_owned());
        value.filter(|value| !value.is_empty())
    };
    if url.is_loopback() {
        return None;
    }
    let no_proxy = DIRECT.iter().find_map(|name| set(name)).unwrap_or_default();
    let mut direct = no_proxy.split([',', ' ', '\t']);
    if direct.any(|entry| covers(entry, url)) {
        return None;
    }
    let names = if url.is_https() { HTTPS } else { HTTP };
    let named = |variable: &&'static str| Some((*variable, set(variable)?.into()));
    names.iter().find_map(named)
}

/// Does an entry of NO_PROXY cover the host of `url`?
fn covers(entry: &str, url: &BaseUrl) -> bool {
    let entry = entry.trim().to_ascii_lowercase();
    if entry == "*" {
        return true;
    }
    let address = url.host().parse::<IpAddr>();
    if let Some((network, length)) = entry.split_once('/') {
        return address.is_ok_and(|address| is_inside(address, network, length));
    }
    let (name, port) = split_port(&entry);
    if port.is_some_and(|port| port != url.port().to_string()) {
        return false;
    }
    let name = name.trim_start_matches("*.").trim_matches('.');
    let host = url.host().trim_end_matches('.');
    if name.is_empty() {
        return false;
    }
    if let Ok(address) = address {
        return name.parse() == Ok(address);
    }
    let rest = host.strip_suffix(name);
    rest.is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
}

/// Whether the address is in a network; an IPv6 one may stand in brackets.
fn is_inside(address: IpAddr, network: &str, length: &str) -> bool {
    let network = network.trim_start_matches('[').trim_end_matches(']');
    let (Ok(network), Ok(length)) = (network.parse::<IpAddr>(), length.parse::<u32>()) else {
        return false;
    };
    let bits = if address.is_ipv4() { 32 } else { 128 };
    address.is_ipv4() == network.is_ipv4()
        && length <= bits
        && spelling::masked(address, length) == spelling::masked(network, length)
}

/// Splits `host:port`; an IPv6 address has a port only behind brackets.
fn split_port(entry: &str) -> (&str, Option<&str>) {
    let bare = entry
        .strip_prefix('[')
        .and_then(|rest| rest.split_once(']'));
    match entry.split_once(':') {
        _ if let Some((host, rest)) = bare => (host, rest.strip_prefix(':')),
        Some((host, port)) if !port.contains(':') => (host, Some(port)),
        _ => (entry, None),
    }
}

/// Returns ureq's form of the proxy that `setting` asks for, and what to call it: its host and port, and who names it.
///
/// Errors when it cannot be read.
pub(super) fn resolve(
    setting: &ProxySetting,
    url: &BaseUrl,
) -> Result<Option<(ureq::Proxy, String)>> {
    let choice = match setting {
        ProxySetting::Direct => None,
        ProxySetting::Url(proxy) => Some(("the proxy setting", proxy.clone())),
        ProxySetting::Environment => choose(|name| std::env::var(name).ok(), url),
    };
    let named = |(source, url): (&str, SecretString)| {
        let proxy = read(source, &url)?;
        let name = format!("{}:{} of {source}", proxy.host(), proxy.port());
        Ok((proxy, name))
    };
    choice.map(named).transpose()
}

fn read(source: &str, url: &SecretString) -> Result<ureq::Proxy> {
    // the error of ureq says no more than "invalid"; and text of the URL could be a password
    ureq::Proxy::new(url.expose_secret()).map_err(|_| {
        let text = format!("the proxy in {source} is not a URL of a proxy");
        let hint = "write it as http://HOST:PORT or socks5://HOST:PORT".to_owned();
        HttpError::not_made(Trouble::Setting, text, Some(hint))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(env: &[(&str, &str)], url: &str) -> Option<String> {
        let url = BaseUrl::parse(url, "/api").unwrap();
        let lookup = |name: &str| {
            env.iter()
                .find(|(variable, _)| *variable == name)
                .map(|(_, value)| (*value).to_owned())
        };
        choose(lookup, &url).map(|(variable, url)| format!("{variable} {}", url.expose_secret()))
    }

    #[test]
    fn variables_by_scheme() {
        let https = "https://nb.example";
        for (env, wanted) in [
            (vec![], None),
            (
                vec![("HTTPS_PROXY", "http://p:1")],
                Some("HTTPS_PROXY http://p:1"),
            ),
            (
                vec![("HTTPS_PROXY", "http://P:1"), ("https_proxy", "http://p:1")],
                Some("https_proxy http://p:1"),
            ),
            (
                vec![("https_proxy", ""), ("HTTPS_PROXY", " http://p:1\n")],
                Some("HTTPS_PROXY http://p:1"),
            ),
            (
                vec![("HTTP_PROXY", "http://p:1"), ("http_proxy", "http://p:1")],
                None,
            ),
            (
                vec![("ALL_PROXY", "socks5://p:1")],
                Some("ALL_PROXY socks5://p:1"),
            ),
            (
                vec![("ALL_PROXY", "x"), ("HTTPS_PROXY", "http://p:1")],
                Some("HTTPS_PROXY http://p:1"),
            ),
        ] {
            assert_eq!(chosen(&env, https).as_deref(), wanted, "{env:?}");
        }
    }

    #[test]
    fn loopback_goes_direct() {
        let env = [
            ("http_proxy", "http://p:1"),
            ("HTTPS_PROXY", "http://p:1"),
            ("ALL_PROXY", "http://p:1"),
        ];
        for url in [
            "http://127.0.0.1:8080",
            "http://localhost",
            "https://[::1]:8443",
        ] {
            assert_eq!(chosen(&env, url), None, "{url}");
        }
    }

    #[test]
    fn no_proxy_entries() {
        for (no_proxy, url, direct) in [
            ("nb.example", "https://nb.example", true),
            ("NB.Example", "https://nb.example", true),
            ("a.example, nb.example", "https://nb.example", true),
            ("a.example nb.example", "https://nb.example", true),
            ("example", "https://nb.example", true),
            (".example", "https://nb.example", true),
            ("*.example", "https://nb.example", true),
            (".nb.example", "https://nb.example", true),
            ("*", "https://nb.example", true),
            ("a.example,*", "https://nb.example", true),
            ("b.example", "https://nb.example", false),
            ("xnb.example", "https://nb.example", false),
            ("nb.example:443", "https://nb.example", true),
            ("nb.example:8443", "https://nb.example", false),
            ("nb.example:8443", "https://nb.example:8443", true),
            ("10.0.0.1", "https://10.0.0.1", true),
            ("0.0.1", "https://10.0.0.1", false),
            ("2001:db8::1", "https://[2001:db8::1]", true),
            ("[2001:db8::1]:443", "https://[2001:db8:0::1]", true),
            ("[2001:db8::1]:80", "https://[2001:db8::1]", false),
            ("10.0.0.0/8", "https://10.1.2.3", true),
            ("a.example, 10.0.0.0/8", "https://10.1.2.3:8443", true),
            ("10.0.0.0/8", "https://11.1.2.3", false),
            ("10.1.2.3/8", "https://10.9.9.9", true),
            ("10.1.2.3/32", "https://10.1.2.3", true),
            ("0.0.0.0/0", "https://10.1.2.3", true),
            ("0.0.0.0/0", "https://[2001:db8::1]", false),
            ("2001:db8::/32", "https://[2001:db8::1]", true),
            ("[2001:db8::]/32", "https://[2001:db8::1]", true),
            ("2001:db8::/32", "https://[2001:db9::1]", false),
            ("10.0.0.0/33", "https://10.0.0.0", false),
            ("10.0.0.0/", "https://10.0.0.0", false),
            ("10.0.0.0/8", "https://nb.example", false),
            ("nb.example/8", "https://nb.example", false),
            ("", "https://nb.example", false),
            (",,", "https://nb.example", false),
            (".", "https://nb.example", false),
        ] {
            let env = [("HTTPS_PROXY", "http://p:1"), ("NO_PROXY", no_proxy)];
            assert_eq!(chosen(&env, url).is_none(), direct, "{no_proxy:?} {url}");
        }
    }

    #[test]
    fn an_unreadable_proxy_is_an_error_without_its_text() {
        for bad in [
            "http://u:hunter2@",
            "ftp://u:hunter2@p:1",
            "http://u:hunter2@p :1",
            "://",
        ] {
            let error = read("HTTPS_PROXY", &bad.into()).unwrap_err();
            let said = format!("{error} {error:?} {:?}", error.hint());
            assert!(
                said.contains("HTTPS_PROXY") && !said.contains("hunter2"),
                "{said}"
            );
        }
        for good in [
            "http://p:3128",
            "p:3128",
            "https://u:p@p:1",
            "socks5h://p",
            "socks4a://p:1080",
        ] {
            read("ALL_PROXY", &good.into()).unwrap();
        }
    }
}
