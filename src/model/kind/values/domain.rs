//! Domains, where the server would take nearly anything (docs/netbird-api.md, "Routes", "Nameserver groups").

use std::net::IpAddr;

use rustc_hash::FxHashSet;
use unicode_normalization::is_nfc;

use crate::base::{MOST_NAMES, ask, is_hidden, joined, spelling};
use crate::file::{Cursor, Flaw, Log, quote};

/// Longest name in the DNS, in characters.
const MAX_CHARS: usize = 253;
const MAX_LABEL_CHARS: usize = 63;

/// Reads a list of domains by `one` of the checks below; says which are no domains, and which are there twice.
pub(crate) fn list(
    list: &Cursor<'_>,
    one: fn(&str) -> Result<String, Flaw>,
    log: &mut Log,
) -> Option<Vec<String>> {
    let mut domains: Vec<String> = Vec::new();
    let mut known = FxHashSet::default();
    for element in list.list(log, "a list of domains")? {
        let Some(domain) = read(&element, one, log) else {
            continue;
        };
        if known.insert(spelling::domain(&domain)) {
            domains.push(domain);
        } else {
            element.repeated(log);
        }
    }
    Some(domains)
}

/// Checks a domain of a route and returns it as the server renders it: lower case, Unicode. `*.` may begin it.
pub(crate) fn of_route(text: &str) -> Result<String, Flaw> {
    let name = without_wildcard(text).unwrap_or(text);
    only(without_dot(text), text, "ends with a dot")?;
    let meant = || as_network(text).or_else(|| several(text).or_else(|| of_url(text)));
    check(name, text, meant)?;
    if name.split('.').any(spelling::is_ascii_form) {
        let message = format!("the domain {} is in its ASCII form", quote(text));
        let hint = format!("write {}", quote(&spelling::domain(text)));
        return Err(Flaw::with_hint(message, hint));
    }
    // one by one, as Go does it: Rust's own folding of whole strings knows a final sigma
    let lower = |char: char| match char.to_lowercase() {
        mut one if one.len() == 1 => one.next(),
        _ => None,
    };
    let folded: Option<String> = text.chars().map(lower).collect();
    let plain = "has a letter without a plain lower case";
    folded.ok_or_else(|| Flaw::new(format!("the domain {} {plain}", quote(text))))
}

/// Refuses a domain that has what `bare` is without: a wildcard, or the dot of a name of the DNS that is written in full.
fn only(bare: Option<&str>, text: &str, has: &str) -> Result<(), Flaw> {
    let flaw = |bare| Flaw::with_hint(format!("the domain {} {has}", quote(text)), ask(bare));
    bare.map(flaw).map_or(Ok(()), Err)
}

fn without_wildcard(text: &str) -> Option<&str> {
    text.strip_prefix("*.")
}

fn without_dot(text: &str) -> Option<&str> {
    let bare = text.strip_suffix('.');
    bare.filter(|bare| !matches!(*bare, "" | "*" | "*."))
}

/// The host in the address of a page or a service, without brackets; `None` where the text is nothing else.
pub(crate) fn host_of(text: &str) -> Option<&str> {
    let rest = text.split_once("://").map_or(text, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next()?;
    let authority = authority.rsplit('@').next()?;
    let host = match authority.strip_prefix('[') {
        Some(v6) => v6.split(']').next()?,
        None => authority.split(':').next()?,
    };
    (host != text).then_some(host)
}

/// The domain, or the address, of a page or a service.
fn of_url(text: &str) -> Option<String> {
    let host = host_of(text)?;
    let is_one = is_domain(host) || host.parse::<IpAddr>().is_ok();
    is_one.then(|| ask(host))
}

/// How to write several where one domain stands.
fn several(text: &str) -> Option<String> {
    let parts: Vec<&str> = text.split([',', ';']).map(str::trim).collect();
    let are_domains = parts.len() > 1 && parts.iter().all(|part| is_domain(part));
    are_domains.then(|| {
        let parts = parts.iter().take(MOST_NAMES).map(|part| quote(part));
        format!("write {}", joined(parts, ", "))
    })
}

/// An address is a small network.
fn as_network(text: &str) -> Option<String> {
    let address: IpAddr = text.parse().ok()?;
    let bits = if address.is_ipv4() { 32 } else { 128 };
    let network = format!("{address}/{bits}");
    Some(format!(
        "write an address in \"network\", as in {network:?}"
    ))
}

/// Checks a domain of a nameserver group, which the server keeps as it is. A dot may end it.
pub(crate) fn of_nameservers(text: &str) -> Result<String, Flaw> {
    let why = "has a wildcard: nameservers answer for a domain and all below it";
    only(without_wildcard(text), text, why)?;
    let bare = text.strip_suffix('.').unwrap_or(text);
    check(bare, text, || several(text).or_else(|| of_url(text)))?;
    Ok(text.to_owned())
}

/// Reads a domain by one of the checks here.
pub(crate) fn read(
    value: &Cursor<'_>,
    one: fn(&str) -> Result<String, Flaw>,
    log: &mut Log,
) -> Option<String> {
    let several = "only one domain is possible here: write an entry for each domain";
    let text = value.one_string(log, "a domain", several)?;
    value.checked(one(text), log)
}

/// Checks the domain of a zone, or a full name in one, and returns it in lower case: the server takes ASCII only, and to it
/// capital letters make another domain (docs/netbird-api.md, "DNS zones and records").
pub(crate) fn of_zone(text: &str) -> Result<String, Flaw> {
    only(without_wildcard(text), text, "has a wildcard")?;
    only(without_dot(text), text, "ends with a dot")?;
    check(text, text, || of_url(text))?;
    if !text.is_ascii() {
        let message = format!("the domain {} holds letters beyond ASCII", quote(text));
        let ascii = quote(&spelling::to_ascii(text));
        let hint = format!("write it in its ASCII form, {ascii}");
        return Err(Flaw::with_hint(message, hint));
    }
    Ok(text.to_ascii_lowercase())
}

fn is_domain(text: &str) -> bool {
    why_not(text).is_none()
}

/// Checks a domain without its wildcard and its last dot; `whole` is how it was written, and `meant` what to write instead.
fn check(name: &str, whole: &str, meant: impl Fn() -> Option<String>) -> Result<(), Flaw> {
    let flaw = |why| Flaw {
        message: format!("{} is not a domain: {why}", quote(whole)),
        hint: meant(),
    };
    why_not(name).map(flaw).map_or(Ok(()), Err)
}

/// Why that is not a domain.
fn why_not(name: &str) -> Option<String> {
    let of_label = |label: &str| {
        if spelling::is_ascii_form(label) && spelling::unicode(label).is_none() {
            return Some(format!("{} is the ASCII form of nothing", quote(label)));
        }
        if let Some(char) = label.chars().find(|char| !is_allowed(*char)) {
            return Some(format!("it holds {}", quote(&char.to_string())));
        }
        let is_hyphened = label.starts_with('-') || label.ends_with(['-', '_']);
        let why = match label.chars().count() {
            0 => "it has an empty part",
            chars if chars > MAX_LABEL_CHARS => "a part of it is longer than 63 characters",
            _ if is_hyphened => {
                "a part of it begins or ends with a hyphen, or ends with an underscore"
            }
            _ => return None,
        };
        Some(why.to_owned())
    };
    let last = name.rsplit('.').next().unwrap_or(name);
    let why = match name.chars().count() {
        0 => "it is empty",
        chars if chars > MAX_CHARS => "it is longer than 253 characters",
        _ if let Some(why) = name.split('.').find_map(of_label) => return Some(why),
        _ if last.starts_with('_') => "its last part begins with an underscore",
        _ if last.bytes().all(|byte| byte.is_ascii_digit()) => "it looks like an address",
        _ if !is_nfc(name) => "its letters are not composed (Unicode NFC)",
        _ => return None,
    };
    Some(why.to_owned())
}

/// ASCII as the server has it; beyond ASCII anything that can be seen, but for the dots of other scripts.
fn is_allowed(char: char) -> bool {
    match char {
        'a'..='z' | 'A'..='Z' | '0'..='9' | '-' | '_' => true,
        '\0'..='\u{7f}' | '\u{3002}' | '\u{ff0e}' | '\u{ff61}' => false,
        _ => !is_hidden(char),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is wrong, without the domain itself.
    fn why(result: Result<String, Flaw>) -> Result<String, String> {
        result.map_err(|Flaw { message, hint }| {
            let message = message
                .rsplit_once(": ")
                .map_or(message.clone(), |(_, why)| why.to_owned());
            hint.map_or(message.clone(), |hint| format!("{message} | {hint}"))
        })
    }

    #[test]
    fn domains_of_routes() {
        let label = "x".repeat(63);
        let long = format!("{label}.{label}.{label}.{label}");
        let rows = [
            ("example.com", Ok("example.com")),
            ("*.Example.COM", Ok("*.example.com")),
            ("corp", Ok("corp")),
            ("_sip._tcp.example.com", Ok("_sip._tcp.example.com")),
            ("1.2.3.example", Ok("1.2.3.example")),
            ("a--b.example", Ok("a--b.example")),
            ("Bücher.example", Ok("bücher.example")),
            ("ΣΑΣ.example", Ok("σασ.example")),
            ("例え.jp", Ok("例え.jp")),
            (&label, Ok(&label)),
            (
                "http://x.example:80/y",
                Err("it holds \":\" | did you mean \"x.example\"?"),
            ),
            (
                "x.example/path",
                Err("it holds \"/\" | did you mean \"x.example\"?"),
            ),
            ("x example:1", Err("it holds \" \"")),
            ("", Err("it is empty")),
            ("*", Err("it holds \"*\"")),
            ("*.", Err("it is empty")),
            ("*.*.example", Err("it holds \"*\"")),
            ("a.*.example", Err("it holds \"*\"")),
            (".", Err("it has an empty part")),
            (".example", Err("it has an empty part")),
            ("a..example", Err("it has an empty part")),
            (
                "example.com.",
                Err("the domain \"example.com.\" ends with a dot | did you mean \"example.com\"?"),
            ),
            (
                "*.example.com.",
                Err(
                    "the domain \"*.example.com.\" ends with a dot | did you mean \"*.example.com\"?",
                ),
            ),
            ("exa mple.com", Err("it holds \" \"")),
            (
                "https://example.com",
                Err("it holds \":\" | did you mean \"example.com\"?"),
            ),
            (
                "example.com/x",
                Err("it holds \"/\" | did you mean \"example.com\"?"),
            ),
            ("a\u{202e}b.com", Err("it holds \"\\u{202e}\"")),
            ("例え。jp", Err("it holds \"。\"")),
            (
                "-a.example",
                Err("a part of it begins or ends with a hyphen, or ends with an underscore"),
            ),
            (
                "a-.example",
                Err("a part of it begins or ends with a hyphen, or ends with an underscore"),
            ),
            (
                "a_.example",
                Err("a part of it begins or ends with a hyphen, or ends with an underscore"),
            ),
            ("a._b", Err("its last part begins with an underscore")),
            (
                "Bu\u{308}cher.example",
                Err("its letters are not composed (Unicode NFC)"),
            ),
            (
                "XN--bcher-kva.example",
                Err(
                    "the domain \"XN--bcher-kva.example\" is in its ASCII form | write \"bücher.example\"",
                ),
            ),
            (
                "*.a.xn--bcher-kva.Example",
                Err(
                    "the domain \"*.a.xn--bcher-kva.Example\" is in its ASCII form | write \"*.a.bücher.example\"",
                ),
            ),
            (
                "xn--zzzzzz999.example",
                Err("\"xn--zzzzzz999\" is the ASCII form of nothing"),
            ),
            (
                "İ.example",
                Err("the domain \"İ.example\" has a letter without a plain lower case"),
            ),
            (
                "10.0.0.1",
                Err(
                    "it looks like an address | write an address in \"network\", as in \"10.0.0.1/32\"",
                ),
            ),
            ("10.0.0.300", Err("it looks like an address")),
            (
                "fd00::1",
                Err("it holds \":\" | write an address in \"network\", as in \"fd00::1/128\""),
            ),
            (&long, Err("it is longer than 253 characters")),
        ];
        for (text, wanted) in rows {
            assert_eq!(
                why(of_route(text)),
                wanted.map(str::to_owned).map_err(str::to_owned),
                "{text}"
            );
        }
        assert!(of_route(&"x".repeat(64)).is_err());
    }

    #[test]
    fn domains_of_nameserver_groups() {
        let rows = [
            ("Example.COM", Ok("Example.COM")),
            ("example.com.", Ok("example.com.")),
            ("xn--bcher-kva.example", Ok("xn--bcher-kva.example")),
            ("Bücher.example", Ok("Bücher.example")),
            (
                "*.example.com",
                Err(
                    "nameservers answer for a domain and all below it | did you mean \"example.com\"?",
                ),
            ),
            ("example.com..", Err("it has an empty part")),
            (
                "xn--zzzzzz999.example.",
                Err("\"xn--zzzzzz999\" is the ASCII form of nothing"),
            ),
            (".", Err("it is empty")),
            ("", Err("it is empty")),
            ("10.0.0.300", Err("it looks like an address")),
            ("10.0.0.300.", Err("it looks like an address")),
        ];
        for (text, wanted) in rows {
            assert_eq!(
                why(of_nameservers(text)),
                wanted.map(str::to_owned).map_err(str::to_owned),
                "{text}"
            );
        }
    }
}
