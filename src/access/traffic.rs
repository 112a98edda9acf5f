//! Sets of traffic, with union, difference and intersection: what a rule lets through, and what is left of it.

use std::collections::BTreeSet;
use std::fmt;

use crate::base::{joined, listed};
use crate::model::{Policy, PortRange, Protocol};

/// Ports, as ranges that neither touch nor overlap, in order.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ports(Vec<(u16, u16)>);

impl Ports {
    /// Every port.
    pub fn all() -> Self {
        Ports(vec![(1, u16::MAX)])
    }

    /// These ranges; one that begins behind its end has no port.
    pub fn of(ranges: impl IntoIterator<Item = (u16, u16)>) -> Self {
        let ranges = ranges.into_iter();
        let ranges = ranges.map(|(start, end)| (start.max(1), end));
        let ranges: BTreeSet<_> = ranges.filter(|(start, end)| start <= end).collect();
        let mut joined: Vec<(u16, u16)> = Vec::with_capacity(ranges.len());
        for (start, end) in ranges {
            match joined.last_mut() {
                Some((_, last)) if u32::from(start) <= u32::from(*last) + 1 => {
                    *last = end.max(*last);
                }
                _ => joined.push((start, end)),
            }
        }
        Ports(joined)
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether it has all.
    pub fn is_all(&self) -> bool {
        self.0 == [(1, u16::MAX)]
    }

    /// The ranges, in order; none where it has all.
    pub fn ranges(&self) -> Vec<PortRange> {
        let range = |(start, end): &(u16, u16)| PortRange::new(*start, *end);
        let ranges = self.0.iter().filter(|_| !self.is_all());
        ranges.map(range).collect()
    }

    fn contains(&self, port: u16) -> bool {
        let mut ranges = self.0.iter();
        ranges.any(|(start, end)| (*start..=*end).contains(&port))
    }

    fn union(&self, other: &Ports) -> Ports {
        Ports::of(self.0.iter().chain(&other.0).copied())
    }

    fn minus(&self, other: &Ports) -> Ports {
        let mut left = self.0.clone();
        for (from, to) in &other.0 {
            let cut = |(start, end): (u16, u16)| {
                let below = (start < *from).then(|| (start, end.min(from - 1)));
                let above = (end > *to).then(|| (start.max(to + 1), end));
                below.into_iter().chain(above)
            };
            left = left.into_iter().flat_map(cut).collect();
        }
        Ports(left)
    }

    fn common(&self, other: &Ports) -> Ports {
        self.minus(&self.minus(other))
    }
}

/// Who may log in by NetBird's SSH: a group of users, and as which local user; `None` = all.
pub type Login = (Option<String>, Option<String>);

/// What may pass from one side to the other.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Traffic {
    /// Ports of TCP.
    pub tcp: Ports,
    /// Ports of UDP.
    pub udp: Ports,
    /// ICMP.
    pub icmp: bool,
    /// Every other protocol of IP.
    pub rest: bool,
    /// Logins by NetBird's SSH.
    pub logins: BTreeSet<Login>,
}

/// The ports of NetBird's SSH server: it listens on the second, and the first leads there (docs/netbird-api.md, "What is
/// enforced").
const SSH: [u16; 2] = [22, 22022];

impl Traffic {
    /// Everything, but no login.
    pub fn everything() -> Self {
        Traffic {
            tcp: Ports::all(),
            udp: Ports::all(),
            icmp: true,
            rest: true,
            logins: BTreeSet::new(),
        }
    }

    /// What the rule of a policy is about.
    pub fn of(policy: &Policy) -> Self {
        let named = policy.ports.iter().flatten();
        let named: Vec<(u16, u16)> = named.map(|range| (range.start, range.end)).collect();
        let ports = match named.is_empty() {
            true => Ports::all(),
            false => Ports::of(named),
        };
        let mut traffic = Traffic::default();
        match policy.protocol.unwrap_or(Protocol::All) {
            Protocol::All => traffic = Traffic::everything(),
            Protocol::Tcp => traffic.tcp = ports,
            Protocol::Udp => traffic.udp = ports,
            Protocol::Icmp => traffic.icmp = true,
            // without ports it is every TCP port; port 22 brings the server's own along
            Protocol::NetbirdSsh => {
                let server = ports.contains(SSH[0]).then_some((SSH[1], SSH[1]));
                traffic.tcp = ports.union(&Ports::of(server));
                traffic.logins = logins(policy);
            }
        }
        traffic
    }

    /// The same, and all users may log in.
    pub fn with_every_login(mut self) -> Self {
        self.logins.insert((None, None));
        self
    }

    /// Whether nothing passes.
    pub fn is_empty(&self) -> bool {
        *self == Traffic::default()
    }

    /// Whether every packet passes.
    pub fn is_everything(&self) -> bool {
        self.tcp.is_all() && self.udp.is_all() && self.icmp && self.rest
    }

    /// What is in either.
    pub fn union(&self, other: &Traffic) -> Traffic {
        let logins = self.logins.union(&other.logins);
        self.both(other, Ports::union, |one, other| one | other, logins)
    }

    /// What is in this one alone. Where all users may log in, no group of them is left.
    pub fn minus(&self, other: &Traffic) -> Traffic {
        let is_there = |(group, user): &Login| {
            let of_all = |other: &Option<String>, own| other.is_none() || other == own;
            let mut others = other.logins.iter();
            others.any(|other| of_all(&other.0, group) && of_all(&other.1, user))
        };
        let logins = self.logins.iter().filter(|login| !is_there(login));
        self.both(other, Ports::minus, |one, other| one & !other, logins)
    }

    /// What is in both.
    pub fn common(&self, other: &Traffic) -> Traffic {
        let logins = self.logins.intersection(&other.logins);
        self.both(other, Ports::common, |one, other| one & other, logins)
    }

    fn both<'a>(
        &self,
        other: &Traffic,
        ports: fn(&Ports, &Ports) -> Ports,
        flag: fn(bool, bool) -> bool,
        logins: impl Iterator<Item = &'a Login>,
    ) -> Traffic {
        Traffic {
            tcp: ports(&self.tcp, &other.tcp),
            udp: ports(&self.udp, &other.udp),
            icmp: flag(self.icmp, other.icmp),
            rest: flag(self.rest, other.rest),
            logins: logins.cloned().collect(),
        }
    }

    /// What is left where this is dropped: nobody logs in where no packet reaches the server.
    pub fn without(&self, dropped: &Traffic) -> Traffic {
        let mut packets = dropped.clone();
        packets.logins.clear();
        let mut left = self.minus(&packets);
        if !left.has_ssh_port() {
            left.logins.clear();
        }
        left
    }

    /// Whether a port of NetBird's SSH server is in it.
    pub fn has_ssh_port(&self) -> bool {
        SSH.iter().any(|port| self.tcp.contains(*port))
    }

    /// Whether all of that is in it.
    pub fn has(&self, wanted: &Traffic) -> bool {
        wanted.minus(self).is_empty()
    }

    /// It in parts, each of one protocol: what passes of it, and on which ports (none = all, or it has none).
    pub fn parts(&self) -> Vec<(&'static str, Vec<PortRange>)> {
        if self.is_everything() {
            return vec![("all", Vec::new())];
        }
        let ports = |name, ports: &Ports| (!ports.is_empty()).then(|| (name, ports.ranges()));
        let flag = |name, is_on: bool| is_on.then_some((name, Vec::new()));
        let (tcp, udp) = (ports("tcp", &self.tcp), ports("udp", &self.udp));
        let (icmp, rest) = (flag("icmp", self.icmp), flag("other", self.rest));
        [tcp, udp, icmp, rest].into_iter().flatten().collect()
    }
}

/// As in `tcp 22, 443; SSH logins of all users`.
impl fmt::Display for Traffic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let part = |(protocol, ports): (&str, Vec<PortRange>)| match (protocol, ports.is_empty()) {
            ("all", _) => "everything".to_owned(),
            ("other", _) => "other protocols".to_owned(),
            ("icmp", _) => "icmp".to_owned(),
            (protocol, true) => format!("{protocol} on all ports"),
            (protocol, false) => format!("{protocol} {}", joined(ports, ", ")),
        };
        let logins = listed(self.logins.iter().map(login));
        let logins = (!logins.is_empty()).then(|| format!("SSH logins of {logins}"));
        let parts = self.parts().into_iter().map(part).chain(logins);
        f.write_str(&joined(parts, "; "))
    }
}

/// Returns who may log in, in words.
pub fn login((group, user): &Login) -> String {
    let who = group
        .as_ref()
        .map(|group| format!("users of group {group:?}"));
    let who = who.unwrap_or("all users".into());
    match user {
        Some(user) => format!("{who} as {user:?}"),
        None => who,
    }
}

/// Who may log in: without groups of users all, and without local users as any (docs/netbird-api.md, "What is
/// enforced").
fn logins(policy: &Policy) -> BTreeSet<Login> {
    let groups = policy.authorized_groups.iter().flatten();
    let logins = groups.flat_map(|(group, users)| {
        let any = users.is_empty().then_some(None);
        let users = users.iter().cloned().map(Some).chain(any);
        users.map(|user| (Some(group.clone()), user))
    });
    let logins: BTreeSet<Login> = logins.collect();
    match logins.is_empty() {
        true => BTreeSet::from([(None, None)]),
        false => logins,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ports(ranges: &[(u16, u16)]) -> Ports {
        Ports::of(ranges.iter().copied())
    }

    #[test]
    fn ports_are_sets() {
        let some = ports(&[(80, 80), (443, 443), (8000, 8100), (8101, 8101)]);
        assert_eq!(some.0, [(80, 80), (443, 443), (8000, 8101)]);
        assert_eq!(some.minus(&ports(&[(8050, 8050)])).0.len(), 4);
        assert_eq!(Ports::all().minus(&Ports::all()), Ports::default());
        assert_eq!(
            Ports::all().minus(&ports(&[(1, 1), (65535, 65535)])).0,
            [(2, 65534)]
        );
        assert_eq!(some.common(&ports(&[(1, 100)])).0, [(80, 80)]);
        assert!(ports(&[(9, 3)]).is_empty());
    }

    #[test]
    fn ssh_without_ports_is_every_tcp_port_and_22_brings_the_servers_own() {
        let mut policy = Policy {
            protocol: Some(Protocol::NetbirdSsh),
            ..Policy::default()
        };
        assert!(Traffic::of(&policy).tcp.is_all());
        policy.ports = Some(BTreeSet::from([PortRange { start: 22, end: 22 }]));
        assert_eq!(Traffic::of(&policy).tcp, ports(&[(22, 22), (22022, 22022)]));
    }

    #[test]
    fn nobody_logs_in_where_the_servers_ports_are_dropped() {
        let all = Traffic::everything().with_every_login();
        let tcp = |ranges: &[(u16, u16)]| Traffic {
            tcp: ports(ranges),
            ..Traffic::default()
        };
        assert!(!all.without(&tcp(&[(22, 22)])).logins.is_empty());
        let both = all.without(&tcp(&[(22, 22), (22022, 22022)]));
        assert!(both.logins.is_empty());
        assert!(!both.is_everything());
    }

    #[test]
    fn a_login_of_all_covers_that_of_a_group() {
        let admins = BTreeSet::from([(Some("admins".to_owned()), Some("root".to_owned()))]);
        let some = Traffic {
            logins: admins,
            ..Traffic::default()
        };
        let all = Traffic::default().with_every_login();
        assert!(some.minus(&all).is_empty());
        assert!(!all.minus(&some).is_empty());
    }
}
