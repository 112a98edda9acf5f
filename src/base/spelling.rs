//! One spelling for what has several: domains and networks that are written otherwise and mean the same.
//!
//! The server keeps a nameserver group's domains as they were sent, and answers those of a route in lower case and Unicode
//! (docs/netbird-api.md, "Routes", "Nameserver groups"). So both sides of every comparison come through here.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use unicode_normalization::UnicodeNormalization;

use crate::base::joined;

/// What an ASCII form of a label begins with.
const ACE: &str = "xn--";

/// Returns the one spelling of a domain: lower case, Unicode, no dot at its end. `*.` may begin it. A part that is no
/// ASCII form of anything stays as it is.
pub fn domain(text: &str) -> String {
    let name = text.strip_suffix('.').filter(|name| !name.is_empty());
    let labels = name.unwrap_or(text).split('.').map(|label| {
        let label = lower(label);
        unicode(&label).map_or(label, |decoded| lower(&decoded))
    });
    joined(labels, ".")
}

/// One by one, as Go does it: Rust's own folding of whole strings knows a final sigma.
fn lower(text: &str) -> String {
    text.chars().flat_map(char::to_lowercase).collect()
}

/// Returns whether a part of a domain is in its ASCII form, or claims to be.
pub fn is_ascii_form(label: &str) -> bool {
    let start = label.get(..ACE.len());
    start.is_some_and(|start| start.eq_ignore_ascii_case(ACE))
}

/// Returns the Unicode of a part of a domain in its ASCII form; `None` where it has no such form, or stands for nothing:
/// the server refuses that.
pub fn unicode(label: &str) -> Option<String> {
    if !is_ascii_form(label) {
        return None;
    }
    let decoded = punycode::decode(&label[ACE.len()..]).ok();
    decoded.filter(|decoded| !decoded.is_ascii())
}

/// Returns the ASCII form of a domain, in lower case and composed (NFC).
pub fn to_ascii(domain: &str) -> String {
    let labels = domain.split('.').map(|label| {
        let label: String = lower(label).nfc().collect();
        match punycode::encode(&label) {
            Ok(encoded) if !label.is_ascii() => format!("{ACE}{encoded}"),
            _ => label,
        }
    });
    joined(labels, ".")
}

/// Returns a network with its host bits masked, as the server does it (docs/netbird-api.md, "Routes"). `length` is that
/// of the prefix in bits, at most 32 or 128.
pub fn masked(address: IpAddr, length: u32) -> String {
    let network = match address {
        IpAddr::V4(ip) => {
            let mask = u32::MAX.checked_shl(32 - length).unwrap_or(0);
            IpAddr::V4(Ipv4Addr::from_bits(ip.to_bits() & mask))
        }
        IpAddr::V6(ip) => {
            let mask = u128::MAX.checked_shl(128 - length).unwrap_or(0);
            IpAddr::V6(Ipv6Addr::from_bits(ip.to_bits() & mask))
        }
    };
    format!("{network}/{length}")
}

/// Returns the one spelling of a network; what is none stays as it is.
pub fn network(text: &str) -> String {
    let parts = text.split_once('/').and_then(|(address, length)| {
        let address: IpAddr = address.parse().ok()?;
        let bits = if address.is_ipv4() { 32 } else { 128 };
        let length = length.parse().ok().filter(|length| *length <= bits)?;
        Some(masked(address, length))
    });
    parts.unwrap_or_else(|| text.to_owned())
}

/// Returns the one spelling of what a record leads to: an address, or a name.
pub fn content(text: &str) -> String {
    match text.parse::<IpAddr>() {
        Ok(address) => address.to_string(),
        Err(_) => text.strip_suffix('.').unwrap_or(text).to_ascii_lowercase(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_a_domain() {
        let rows = [
            ("Example.COM.", "example.com"),
            ("*.XN--bcher-KVA.example", "*.bücher.example"),
            ("Bücher.example.", "bücher.example"),
            ("BÜCHER.example", "bücher.example"),
            ("xn--r8jz45g.jp", "例え.jp"),
            ("xn--zzzzzz999.example", "xn--zzzzzz999.example"),
            ("xn--.example", "xn--.example"),
            ("xn--abc-.example", "xn--abc-.example"),
            (".", "."),
            ("", ""),
        ];
        for (text, wanted) in rows {
            assert_eq!(domain(text), wanted, "{text}");
            assert_eq!(domain(&domain(text)), wanted, "{text} twice");
        }
    }

    #[test]
    fn ascii_forms() {
        for (text, ascii) in [
            ("Bücher.Example", "xn--bcher-kva.example"),
            ("Bu\u{308}cher.example", "xn--bcher-kva.example"),
            ("例え.jp", "xn--r8jz45g.jp"),
            ("faß.example", "xn--fa-hia.example"),
            ("plain.example", "plain.example"),
            (
                "почемужеонинеговорятпорусски",
                "xn--b1abfaaepdrnnbgefbadotcwatmq2g4l",
            ),
        ] {
            assert_eq!(to_ascii(text), ascii, "{text}");
        }
        for text in ["bücher", "例え", "ü", "a\u{1f989}b", "\u{10ffff}\u{80}"] {
            assert_eq!(domain(&to_ascii(text)), text, "there and back");
        }
    }

    #[test]
    fn what_is_no_ascii_form_of_anything() {
        for label in ["xn--zzzzzz999", "xn--", "xn--999999999", "xn--a b", "plain"] {
            assert_eq!(unicode(label), None, "{label}");
        }
    }

    #[test]
    fn spellings_of_a_network() {
        assert_eq!(network("10.1.2.3/8"), "10.0.0.0/8");
        assert_eq!(network("FD00:0::1/64"), "fd00::/64");
        for text in ["10.0.0.0", "10.0.0.0/33", "x/8"] {
            assert_eq!(network(text), text);
        }
    }
}
