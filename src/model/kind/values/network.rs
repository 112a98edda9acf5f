//! Addresses and networks in canonical text. By std: its parser refuses leading zeros, and the messages are ours.

use std::net::{IpAddr, Ipv4Addr};

use super::domain;
use crate::base::{Code, ask, joined, spelling};
use crate::file::{Cursor, Flaw, Log, quote};

/// Reads a network; one with host bits is masked as the server does it (docs/netbird-api.md, "Routes"), with a notice.
pub(crate) fn read(value: &Cursor<'_>, log: &mut Log) -> Option<String> {
    const SEVERAL: &str = "write a list of routes under the name, one a network: [{ … }, { … }]";
    let text = value.one_string(log, "a network such as \"192.168.1.0/24\"", SEVERAL)?;
    let found = network(text).map_err(|flaw| flaw.or_several(text, SEVERAL));
    let (network, address) = value.checked(found, log)?;
    if !network.starts_with(&format!("{address}/")) {
        let (text, hint) = (quote(text), format!("write {network:?}"));
        let message =
            format!("{text} is inside the network {network}, which is what the route is for");
        let notice = log.notice(Code::HostBits, value.place(), message);
        notice.brief(format!("{text} ({hint})")).suggest(hint);
    }
    Some(network)
}

/// Returns the canonical text of a network; one with host bits is refused.
pub(crate) fn exact(text: &str) -> Result<String, Flaw> {
    let (network, address) = network(text)?;
    match network.starts_with(&format!("{address}/")) {
        true => Ok(network),
        false => {
            let message = format!("{} has host bits: it is inside {network}", quote(text));
            Err(Flaw::with_hint(
                message,
                format!("write {}", quote(&network)),
            ))
        }
    }
}

/// Returns the canonical text of an address, without the brackets that may stand around an IPv6 one.
pub(crate) fn address(text: &str) -> Result<String, Flaw> {
    let bare = text.strip_prefix('[').and_then(|it| it.strip_suffix(']'));
    let address = match bare {
        Some(bare) => bare.parse().map(IpAddr::V6).ok(),
        None => text.parse().ok(),
    };
    if let Some(address) = address {
        return unmapped(address, text).map(|address| address.to_string());
    }
    let url = Some(text).filter(|text| text.contains("://"));
    let of_url = || domain::host_of(url?)?.parse::<IpAddr>().ok();
    let meant = without_zeros(text).map(IpAddr::V4).or_else(of_url);
    let hint = match text.parse::<std::net::SocketAddr>() {
        Ok(_) => Some("write the port in \"port\"".to_owned()),
        Err(_) => meant.map(|meant| ask(&meant.to_string())),
    };
    let message = format!("{} is not an IP address", quote(text));
    Err(Flaw { message, hint })
}

/// Returns the masked network and the address as written, both in canonical text.
fn network(text: &str) -> Result<(String, IpAddr), Flaw> {
    let no_network = |why: &str, hint| Flaw {
        message: format!("{} is not a network: {why}", quote(text)),
        hint,
    };
    if text.contains("://") {
        let host = domain::host_of(text);
        let hint = host.map(|host| match host.parse::<IpAddr>() {
            Ok(address) => ask(&alone(address)),
            Err(_) => format!("write a domain in \"domains\": [{}]", quote(host)),
        });
        return Err(no_network("it is a URL", hint));
    }
    let Some((address, prefix)) = text.split_once('/') else {
        let Ok(address) = text.parse::<IpAddr>() else {
            let why = "it has an address and a prefix, such as 192.168.1.0/24";
            return Err(no_network(why, None));
        };
        let message = format!("{} is an address, not a network", quote(text));
        let hint = format!("for this address alone write {:?}", alone(address));
        return Err(Flaw::with_hint(message, hint));
    };
    let Ok(address) = address.parse::<IpAddr>() else {
        let tidy = without_zeros(address);
        let hint = tidy.map(|tidy| ask(&format!("{tidy}/{prefix}")));
        let why = format!("{} is not an IP address", quote(address));
        return Err(no_network(&why, hint));
    };
    let address = unmapped(address, text)?;
    let (family, bits) = match address {
        IpAddr::V4(_) => ("an IPv4", 32),
        IpAddr::V6(_) => ("an IPv6", 128),
    };
    let length = prefix.parse::<u32>().ok();
    match length.filter(|length| *length <= bits && length.to_string() == prefix) {
        Some(length) => Ok((spelling::masked(address, length), address)),
        None => {
            let why = format!("the prefix of {family} network is 0 to {bits}");
            Err(no_network(&why, None))
        }
    }
}

/// The network of one address.
fn alone(address: IpAddr) -> String {
    let bits = if address.is_ipv4() { 32 } else { 128 };
    format!("{address}/{bits}")
}

/// Refuses IPv4 in IPv6 clothes: the server keeps it as something else.
fn unmapped(address: IpAddr, text: &str) -> Result<IpAddr, Flaw> {
    match address {
        IpAddr::V6(ip) if ip.to_ipv4_mapped().is_some() => {
            let message = format!("{} is an IPv4 address written as IPv6", quote(text));
            Err(Flaw::with_hint(message, "write it as IPv4"))
        }
        _ => Ok(address),
    }
}

/// An IPv4 address without the leading zeros it was written with, if that is what is wrong with it.
fn without_zeros<'a>(text: &'a str) -> Option<Ipv4Addr> {
    let tidy = |part: &'a str| match part.trim_start_matches('0') {
        "" if !part.is_empty() => "0",
        part => part,
    };
    joined(text.split('.').map(tidy), ".").parse().ok()
}

#[cfg(test)]
mod tests {
    use snapbox::str;

    use super::*;
    use crate::check::validate::testing::{assert_table, check};
    use crate::model::{Address, Kind};

    const FILE: &str =
        r#"{"routes": {"r": {"network": "ROW", "peer_groups": ["All"], "groups": ["All"]}}}"#;

    #[test]
    fn networks_are_canonical() {
        let rows = [
            ("192.168.1.0/24", "192.168.1.0/24", true),
            ("0.0.0.0/0", "0.0.0.0/0", true),
            ("10.1.2.3/32", "10.1.2.3/32", true),
            ("FD00:0:0::/8", "fd00::/8", true),
            ("::/0", "::/0", true),
            ("2001:DB8::1/128", "2001:db8::1/128", true),
            ("10.1.2.3/24", "10.1.2.0/24", false),
            ("10.1.2.3/0", "0.0.0.0/0", false),
            ("2001:db8::1/64", "2001:db8::/64", false),
            ("fd00::1/0", "::/0", false),
        ];
        for (text, canonical, exact) in rows {
            let valid = check(&FILE.replace("ROW", text)).expect("a valid file");
            let route = valid.desired.resource(&Address::new(Kind::Route, "r"));
            let fields = route.first().expect("an entry").fields();
            assert_eq!(fields["network"], canonical, "{text}");
            assert_eq!(
                valid.notices.is_empty(),
                exact,
                "{text}: {:?}",
                valid.notices
            );
        }
    }

    #[test]
    fn host_bits_are_said_and_never_a_difference() {
        let masked = check(&FILE.replace("ROW", "10.1.2.3/24"))
            .expect("a valid file")
            .desired;
        assert_eq!(
            masked,
            check(&FILE.replace("ROW", "10.1.2.0/24"))
                .expect("a valid file")
                .desired
        );
        assert_table(
            FILE,
            &["10.1.2.3/24"],
            str![[r#"
10.1.2.3/24
    note: routes.r.network: "10.1.2.3/24" is inside the network 10.1.2.0/24, which is what the route is for | write "10.1.2.0/24"

"#]],
        );
    }

    #[test]
    fn what_is_no_network_is_refused() {
        let rows = [
            "10.0.0.0/33",
            "10.0.0.0/-1",
            "10.0.0.0/08",
            "10.0.0.0/",
            "10.0.0.0/+8",
            "10.0.0.0/255.0.0.0",
            "10.0.0.0/8/8",
            "fd00::/129",
            "010.0.0.0/8",
            r"010.0.0.0/8\u202e",
            "10.00.0.0/8",
            "10.0.0/8",
            "10.0.0.256/32",
            " 10.0.0.0/8",
            "10.0.0.0 /8",
            "10.1.2.3",
            "fd00::1",
            "::ffff:10.0.0.0/104",
            "fe80::1%eth0/64",
            "[fd00::]/8",
            "office.example",
            "",
        ];
        assert_table(
            FILE,
            &rows,
            str![[r#"
10.0.0.0/33
    routes.r.network: "10.0.0.0/33" is not a network: the prefix of an IPv4 network is 0 to 32
10.0.0.0/-1
    routes.r.network: "10.0.0.0/-1" is not a network: the prefix of an IPv4 network is 0 to 32
10.0.0.0/08
    routes.r.network: "10.0.0.0/08" is not a network: the prefix of an IPv4 network is 0 to 32
10.0.0.0/
    routes.r.network: "10.0.0.0/" is not a network: the prefix of an IPv4 network is 0 to 32
10.0.0.0/+8
    routes.r.network: "10.0.0.0/+8" is not a network: the prefix of an IPv4 network is 0 to 32
10.0.0.0/255.0.0.0
    routes.r.network: "10.0.0.0/255.0.0.0" is not a network: the prefix of an IPv4 network is 0 to 32
10.0.0.0/8/8
    routes.r.network: "10.0.0.0/8/8" is not a network: the prefix of an IPv4 network is 0 to 32
fd00::/129
    routes.r.network: "fd00::/129" is not a network: the prefix of an IPv6 network is 0 to 128
010.0.0.0/8
    routes.r.network: "010.0.0.0/8" is not a network: "010.0.0.0" is not an IP address | did you mean "10.0.0.0/8"?
010.0.0.0/8\u202e
    routes.r.network: "010.0.0.0/8\u{202e}" is not a network: "010.0.0.0" is not an IP address | did you mean "10.0.0.0/8\u{202e}"?
10.00.0.0/8
    routes.r.network: "10.00.0.0/8" is not a network: "10.00.0.0" is not an IP address | did you mean "10.0.0.0/8"?
10.0.0/8
    routes.r.network: "10.0.0/8" is not a network: "10.0.0" is not an IP address
10.0.0.256/32
    routes.r.network: "10.0.0.256/32" is not a network: "10.0.0.256" is not an IP address
 10.0.0.0/8
    routes.r.network: " 10.0.0.0/8" is not a network: " 10.0.0.0" is not an IP address
10.0.0.0 /8
    routes.r.network: "10.0.0.0 /8" is not a network: "10.0.0.0 " is not an IP address
10.1.2.3
    routes.r.network: "10.1.2.3" is an address, not a network | for this address alone write "10.1.2.3/32"
fd00::1
    routes.r.network: "fd00::1" is an address, not a network | for this address alone write "fd00::1/128"
::ffff:10.0.0.0/104
    routes.r.network: "::ffff:10.0.0.0/104" is an IPv4 address written as IPv6 | write it as IPv4
fe80::1%eth0/64
    routes.r.network: "fe80::1%eth0/64" is not a network: "fe80::1%eth0" is not an IP address
[fd00::]/8
    routes.r.network: "[fd00::]/8" is not a network: "[fd00::]" is not an IP address
office.example
    routes.r.network: "office.example" is not a network: it has an address and a prefix, such as 192.168.1.0/24

    routes.r.network: "" is not a network: it has an address and a prefix, such as 192.168.1.0/24

"#]],
        );
    }

    #[test]
    fn addresses_are_canonical() {
        let rows = [
            ("10.0.0.1", Ok("10.0.0.1")),
            ("FD00::0:1", Ok("fd00::1")),
            ("[fd00::1]", Ok("fd00::1")),
            ("[10.0.0.1]", Err(None)),
            ("[fd00::1", Err(None)),
            ("10.0.0.01", Err(Some("did you mean \"10.0.0.1\"?"))),
            ("10.0.0.300", Err(None)),
            ("10.0.0.1:53", Err(Some("write the port in \"port\""))),
            ("[fd00::1]:53", Err(Some("write the port in \"port\""))),
            ("::ffff:10.0.0.1", Err(Some("write it as IPv4"))),
            ("fe80::1%eth0", Err(None)),
            ("dns.example", Err(None)),
            ("", Err(None)),
        ];
        for (text, wanted) in rows {
            let found = address(text).map_err(|flaw| flaw.hint);
            assert_eq!(found.as_deref().map_err(Option::as_deref), wanted, "{text}");
        }
    }
}
