//! Ports of a policy: numbers, or strings of one port or of a range.

use std::collections::BTreeSet;

use crate::base::code::Code;
use crate::base::text::{ask, joined};
use crate::file::{Cursor, Flaw, Log, quote};
use crate::model::kind::PortRange;

const WANTED: &str = "a port such as 443, or a range such as \"8000-8100\"";

/// Reads a list of ports. Two spellings of one port are one port; empty means all ports.
pub(crate) fn read(list: &Cursor<'_>, log: &mut Log) -> Option<BTreeSet<PortRange>> {
    let mut ports: BTreeSet<PortRange> = BTreeSet::new();
    for element in list.list(log, "a list of ports")? {
        let Some(text) = element.text().or_else(|| element.number_text()) else {
            let _: Option<()> = element.wrong(log, WANTED, None);
            continue;
        };
        ports.extend(element.checked(parse(text), log));
    }
    if let Some((one, other)) = overlap(&ports) {
        log.notice(
            Code::PortsOverlap,
            list.place(),
            format!("the ports {one} and {other} overlap"),
        );
    }
    Some(ports)
}

/// The first two that share a port. In order of their starts, a range that overlaps any overlaps the widest before it.
fn overlap(ports: &BTreeSet<PortRange>) -> Option<(PortRange, PortRange)> {
    let mut widest: Option<PortRange> = None;
    for range in ports {
        if let Some(before) = widest.filter(|before| before.end >= range.start) {
            return Some((before, *range));
        }
        widest = Some(*range);
    }
    None
}

fn parse(text: &str) -> Result<PortRange, Flaw> {
    let Some((start, end)) = text.split_once('-').filter(|(start, _)| !start.is_empty()) else {
        let port = port(text, text)?;
        return Ok(PortRange::new(port, port));
    };
    let (start, end) = (port(start, text)?, port(end, text)?);
    if start > end {
        let message = format!("the range {} ends before it begins", quote(text));
        return Err(Flaw::with_hint(
            message,
            format!("did you mean \"{end}-{start}\"?"),
        ));
    }
    Ok(PortRange { start, end })
}

fn port(text: &str, whole: &str) -> Result<u16, Flaw> {
    let plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if plain && !text.starts_with('0') {
        return text.parse().map_err(|_| out_of_range(text));
    }
    if plain && text.bytes().all(|byte| byte == b'0') {
        return Err(out_of_range(text));
    }
    let tidy = whole.split(['-', ':']);
    let tidy = joined(tidy.map(|part| part.trim().trim_start_matches('0')), "-");
    let message = format!("{} is not a port: expected {WANTED}", quote(whole));
    let parts: Vec<&str> = whole.split(',').map(str::trim).collect();
    if parts.len() > 1 && parts.iter().all(|part| parse(part).is_ok()) {
        let parts = joined(parts.into_iter().map(quote), ", ");
        return Err(Flaw::with_hint(message, format!("write {parts}")));
    }
    let is_it = tidy != whole && tidy.contains(|char: char| char.is_ascii_digit());
    let hint = (is_it && parse(&tidy).is_ok()).then(|| ask(&tidy));
    Err(Flaw { message, hint })
}

fn out_of_range(text: &str) -> Flaw {
    Flaw::new(format!(
        "the port {} is out of range: ports are 1 to 65535",
        quote(text).trim_matches('"')
    ))
}

#[cfg(test)]
mod tests {
    use snapbox::str;

    use crate::check::validate::testing::{assert_table, check};
    use crate::model::address::Address;
    use crate::model::kind::Kind;

    const FILE: &str = r#"{"policies": {"p": {"sources": ["All"], "destinations": ["All"], "protocol": "tcp", "ports": ROW}}}"#;

    #[test]
    fn ports_are_read_in_one_form() {
        let rows = [
            ("[]", ""),
            ("[443]", "443"),
            (r#"["443"]"#, "443"),
            (r#"[443, "443"]"#, "443"),
            (r#"["443-443", 443]"#, "443"),
            (r#"["443", "8000-8100"]"#, "443 8000-8100"),
            (r#"[65535, 1]"#, "1 65535"),
            (r#"["1-65535"]"#, "1-65535"),
        ];
        for (ports, read) in rows {
            let valid = check(&FILE.replace("ROW", ports)).expect("a valid file");
            assert!(valid.notices.is_empty(), "{ports}: {:?}", valid.notices);
            let policy = valid.desired.resource(&Address::new(Kind::Policy, "p"));
            let fields = policy.first().expect("an entry").fields();
            let read: Vec<&str> = read.split_terminator(' ').collect();
            assert_eq!(fields["ports"], serde_json::json!(read), "{ports}");
        }
    }

    #[test]
    fn what_is_no_port_is_refused() {
        let rows = [
            r#"["0443"]"#,
            r#"["80, 443"]"#,
            r#"["80,x"]"#,
            r#"["80:90"]"#,
            r#"[" 443"]"#,
            r#"["443 "]"#,
            "[443.0]",
            "[4e2]",
            "[-1]",
            r#"["http"]"#,
            r#"["0"]"#,
            "[0]",
            r#"["00"]"#,
            r#"["65536"]"#,
            "[99999999999999999999]",
            r#"[""]"#,
            r#"["8100-8000"]"#,
            r#"["8000-"]"#,
            r#"["-8000"]"#,
            r#"["8000 - 8100"]"#,
            r#"["8000:8100"]"#,
            r#"["1-2-3"]"#,
            r#"["0-80"]"#,
            r#"["80-65536"]"#,
            r#"["+80"]"#,
            r#"["\u0668\u0660"]"#,
            "[true, null, [80], {}]",
            r#""443""#,
            "443",
            "{}",
            r#"["8000-8100", 8050]"#,
            r#"["1-100", "2-3", "50-60"]"#,
        ];
        assert_table(
            FILE,
            &rows,
            str![[r#"
["0443"]
    policies.p.ports[0]: "0443" is not a port: expected a port such as 443, or a range such as "8000-8100" | did you mean "443"?
["80, 443"]
    policies.p.ports[0]: "80, 443" is not a port: expected a port such as 443, or a range such as "8000-8100" | write "80", "443"
["80,x"]
    policies.p.ports[0]: "80,x" is not a port: expected a port such as 443, or a range such as "8000-8100"
["80:90"]
    policies.p.ports[0]: "80:90" is not a port: expected a port such as 443, or a range such as "8000-8100" | did you mean "80-90"?
[" 443"]
    policies.p.ports[0]: " 443" is not a port: expected a port such as 443, or a range such as "8000-8100" | did you mean "443"?
["443 "]
    policies.p.ports[0]: "443 " is not a port: expected a port such as 443, or a range such as "8000-8100" | did you mean "443"?
[443.0]
    policies.p.ports[0]: "443.0" is not a port: expected a port such as 443, or a range such as "8000-8100"
[4e2]
    policies.p.ports[0]: "4e2" is not a port: expected a port such as 443, or a range such as "8000-8100"
[-1]
    policies.p.ports[0]: "-1" is not a port: expected a port such as 443, or a range such as "8000-8100"
["http"]
    policies.p.ports[0]: "http" is not a port: expected a port such as 443, or a range such as "8000-8100"
["0"]
    policies.p.ports[0]: the port 0 is out of range: ports are 1 to 65535
[0]
    policies.p.ports[0]: the port 0 is out of range: ports are 1 to 65535
["00"]
    policies.p.ports[0]: the port 00 is out of range: ports are 1 to 65535
["65536"]
    policies.p.ports[0]: the port 65536 is out of range: ports are 1 to 65535
[99999999999999999999]
    policies.p.ports[0]: the port 99999999999999999999 is out of range: ports are 1 to 65535
[""]
    policies.p.ports[0]: "" is not a port: expected a port such as 443, or a range such as "8000-8100"
["8100-8000"]
    policies.p.ports[0]: the range "8100-8000" ends before it begins | did you mean "8000-8100"?
["8000-"]
    policies.p.ports[0]: "8000-" is not a port: expected a port such as 443, or a range such as "8000-8100"
["-8000"]
    policies.p.ports[0]: "-8000" is not a port: expected a port such as 443, or a range such as "8000-8100"
["8000 - 8100"]
    policies.p.ports[0]: "8000 - 8100" is not a port: expected a port such as 443, or a range such as "8000-8100" | did you mean "8000-8100"?
["8000:8100"]
    policies.p.ports[0]: "8000:8100" is not a port: expected a port such as 443, or a range such as "8000-8100" | did you mean "8000-8100"?
["1-2-3"]
    policies.p.ports[0]: "1-2-3" is not a port: expected a port such as 443, or a range such as "8000-8100"
["0-80"]
    policies.p.ports[0]: the port 0 is out of range: ports are 1 to 65535
["80-65536"]
    policies.p.ports[0]: the port 65536 is out of range: ports are 1 to 65535
["+80"]
    policies.p.ports[0]: "+80" is not a port: expected a port such as 443, or a range such as "8000-8100"
["\u0668\u0660"]
    policies.p.ports[0]: "٨٠" is not a port: expected a port such as 443, or a range such as "8000-8100"
[true, null, [80], {}]
    policies.p.ports[0]: expected a port such as 443, or a range such as "8000-8100", found true
    policies.p.ports[1]: null is not allowed: expected a port such as 443, or a range such as "8000-8100"
    policies.p.ports[2]: expected a port such as 443, or a range such as "8000-8100", found a list
    policies.p.ports[3]: expected a port such as 443, or a range such as "8000-8100", found an object
"443"
    policies.p.ports: expected a list of ports, found the string "443" | write ["443"]
443
    policies.p.ports: expected a list of ports, found the number 443
{}
    policies.p.ports: expected a list of ports, found an object
["8000-8100", 8050]
    note: policies.p.ports: the ports 8000-8100 and 8050 overlap
["1-100", "2-3", "50-60"]
    note: policies.p.ports: the ports 1-100 and 2-3 overlap

"#]],
        );
    }
}
