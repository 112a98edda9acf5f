//! What a policy is about: what happens to which traffic.

use std::fmt;

use serde::{Deserializer, Serializer};

use super::{OneRule, Policy};
use crate::base::ask;
use crate::model::kind::prelude::*;

/// What happens to matching traffic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Action {
    /// Let through.
    Accept,
    /// Drop.
    Drop,
}

/// Protocols that the server knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Protocol {
    /// Everything.
    All,
    /// TCP, with or without ports.
    Tcp,
    /// UDP, with or without ports.
    Udp,
    /// ICMP.
    Icmp,
    /// NetBird's own SSH.
    NetbirdSsh,
}

impl Word for Action {
    const WHAT: &'static str = "action";
    const WORDS: &'static [(&'static str, Action)] =
        &[("accept", Action::Accept), ("drop", Action::Drop)];
    const INSTEAD: &'static [(&'static [&'static str], &'static str)] = &[
        (&["allow", "permit"], "write \"accept\""),
        (&["deny", "block", "reject"], "write \"drop\""),
    ];
}

impl Word for Protocol {
    const WHAT: &'static str = "protocol";
    const WORDS: &'static [(&'static str, Protocol)] = &[
        ("all", Protocol::All),
        ("tcp", Protocol::Tcp),
        ("udp", Protocol::Udp),
        ("icmp", Protocol::Icmp),
        ("netbird-ssh", Protocol::NetbirdSsh),
    ];
    const SEVERAL: &'static str = "make two policies, one a protocol";
    const INSTEAD: &'static [(&'static [&'static str], &'static str)] = &[
        (&["any", "*", ""], "all of them are \"all\""),
        (
            &["ssh"],
            "write \"tcp\" with \"ports\": [22]; \"netbird-ssh\" is NetBird's own server of SSH",
        ),
        (&["http", "https"], "write \"tcp\" with its \"ports\""),
    ];
    const IS_ANY_CASE: bool = true;
}

impl Protocol {
    /// Returns whether a rule of it may name ports.
    pub fn takes_ports(self) -> bool {
        !matches!(self, Protocol::All | Protocol::Icmp)
    }
}

/// Ports `start` to `end`, both included, 1 to 65535; one port where they are equal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct PortRange {
    /// First port.
    pub start: u16,
    /// Last port.
    pub end: u16,
}

impl PortRange {
    /// These ports, both included.
    pub(crate) fn new(start: u16, end: u16) -> Self {
        PortRange { start, end }
    }
}

impl fmt::Display for PortRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.start == self.end {
            true => self.start.fmt(f),
            false => write!(f, "{}-{}", self.start, self.end),
        }
    }
}

impl Serialize for PortRange {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Reads single ports, which are texts that the server keeps as sent (`080`); it refuses what is not a port.
pub(super) fn single<'de, D: Deserializer<'de>>(
    from: D,
) -> Result<Option<BTreeSet<PortRange>>, D::Error> {
    let ports: Vec<String> = nullable(from)?;
    let ports = ports.iter().filter_map(|port| port.trim().parse().ok());
    Ok(Some(ports.map(|port| PortRange::new(port, port)).collect()))
}

const WANTED: &str = "a port such as 443, or a range such as \"8000-8100\"";

/// Reads a list of ports. Two spellings of one port are one port; empty means all ports.
pub(super) fn read_ports(list: &Cursor<'_>, log: &mut Log) -> Option<BTreeSet<PortRange>> {
    let mut ports: BTreeSet<PortRange> = BTreeSet::new();
    for element in list.list(log, "a list of ports")? {
        let Some(text) = element.text().or_else(|| element.number_text()) else {
            let _: Option<()> = element.wrong(log, WANTED, None);
            continue;
        };
        ports.extend(element.checked(parse(text), log));
    }
    if let Some((one, other)) = overlap(&ports) {
        let text = format!("the ports {one} and {other} overlap");
        log.notice(Code::PortsOverlap, list.place(), text);
    }
    Some(ports)
}

/// The first two that share a port. In order of their starts, a range that overlaps any overlaps the widest before it.
fn overlap(ports: &BTreeSet<PortRange>) -> Option<(PortRange, PortRange)> {
    let mut pairs = ports.iter().zip(ports.iter().skip(1));
    let overlap = pairs.find(|(before, range)| before.end >= range.start);
    overlap.map(|(before, range)| (*before, *range))
}

fn parse(text: &str) -> Result<PortRange, Flaw> {
    let Some((start, end)) = text.split_once('-').filter(|(start, _)| !start.is_empty()) else {
        let port = port(text, text)?;
        return Ok(PortRange::new(port, port));
    };
    let (start, end) = (port(start, text)?, port(end, text)?);
    if start > end {
        let message = format!("the range {} ends before it begins", quote(text));
        return Err(Flaw::with_hint(message, ask(&format!("{end}-{start}"))));
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
    let (port, text) = (quote(text), "is out of range: ports are 1 to 65535");
    Flaw::new(format!("the port {} {text}", port.trim_matches('"')))
}

/// An entry of `GET /policies`.
#[derive(Deserialize)]
struct PolicyAnswer {
    description: Option<String>,
    enabled: bool,
    /// One in practice (docs/netbird-api.md, "Policies: one rule").
    #[serde(default, deserialize_with = "nullable")]
    rules: Vec<RuleAnswer>,
    #[serde(default, deserialize_with = "ids")]
    source_posture_checks: BTreeSet<String>,
}

/// A rule of a policy.
#[derive(Deserialize)]
struct RuleAnswer {
    #[serde(flatten)]
    form: Policy,
    #[serde(default, deserialize_with = "nullable")]
    port_ranges: Vec<RangeAnswer>,
}

/// A range of ports, both ends included. The server takes any number from 1 on for the first, and does not check that it is
/// below the last.
#[derive(Deserialize)]
struct RangeAnswer {
    start: i64,
    end: i64,
}

/// Reads every rule of a live policy as if it were the only one: old servers kept several. One without rules is one that says
/// nothing.
pub(super) fn forms(wire: &Entry) -> Result<Vec<Policy>, serde_json::Error> {
    let policy: PolicyAnswer = wire.read()?;
    let number = policy.rules.len();
    let of_rule = |rule: RuleAnswer| {
        // single ports and ranges are one set: 443 is 443 to 443
        let port = |number: i64| u16::try_from(number).unwrap_or(u16::MAX);
        let ranges = rule.port_ranges.iter();
        let ranges = ranges.map(|range| PortRange::new(port(range.start), port(range.end)));
        let ports = rule.form.ports.into_iter().flatten().chain(ranges);
        Policy {
            ports: Some(ports.collect()),
            ..rule.form
        }
    };
    let mut forms: Vec<Policy> = policy.rules.into_iter().map(of_rule).collect();
    if forms.is_empty() {
        forms.push(Policy::default());
    }
    for form in &mut forms {
        form.description.clone_from(&policy.description);
        // two switches of one light: the policy's and its rule's
        form.enabled = Some(policy.enabled && form.enabled == Some(true));
        form.source_posture_checks = Some(policy.source_posture_checks.clone());
        form.rules = OneRule(number);
    }
    Ok(forms)
}

/// Reads ids of groups of users, and the local users that they may log in as.
pub(super) fn users<'de, D: Deserializer<'de>>(
    from: D,
) -> Result<Option<BTreeMap<String, BTreeSet<String>>>, D::Error> {
    let users: BTreeMap<String, Option<BTreeSet<String>>> = nullable(from)?;
    let of_group = |(group, logins): (String, Option<_>)| (group, logins.unwrap_or_default());
    Ok(Some(users.into_iter().map(of_group).collect()))
}

#[cfg(test)]
mod tests {
    use snapbox::str;

    use crate::check::validate::testing::{assert_table, check};
    use crate::model::{Address, Kind};

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
