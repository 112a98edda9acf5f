//! What people may have meant by a name that means nothing here: a typo, an address, an id, a spelling of another
//! tool.

use std::net::IpAddr;

use crate::base::id::Id;
use crate::base::text::{ask, nearest};
use crate::model::facts::facts;
use crate::model::kind::ALL;

/// The first second of 2020: NetBird is not older.
const FIRST_SECOND: i64 = 1_577_836_800;
/// The first second of 2100.
const LAST_SECOND: i64 = 4_102_444_800;

facts! {
    /// What may be meant by a name.
    #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Hint {
        /// A group: the one of every peer.
        GroupAll => format!("the group of every peer is called {ALL:?}"),
        /// A member: every peer, which nobody has to list.
        NoMemberAll => format!("members are named one by one; every peer is in {ALL:?} without being listed"),
        /// A group, but this looks like something else.
        NoGroup(looks: Looks) => {
            format!("this looks like {}: groups stand here, by their names", looks.words())
        },
        /// A member, but this looks like something else.
        NoMember(looks: Looks) => format!(
            "this looks like {}: members are the names of setup keys and of peers",
            looks.words()
        ),
        /// That name.
        Near(name: String) => ask(name),
        /// The peer of that name, by something else of it.
        PeerOfName(name: String) => format!("write {name:?}, which is that peer's name"),
    }

    /// Returns it in words.
    fn words(&self) -> String;
}

facts! {
    /// What a name looks like, where it is hardly one.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Looks {
        /// An address, or a network.
        Address => "an address",
        /// A DNS name.
        DnsName => "a DNS name",
        /// An id of NetBird.
        Id => "an id of NetBird",
    }

    /// Returns it in words.
    fn words(&self) -> &'static str;
}

/// Returns what may be meant by the name of a group that there is not; `groups` are those that there are.
pub fn group<'a>(name: &str, groups: impl IntoIterator<Item = &'a str>) -> Option<Hint> {
    if ["*", "any", "everyone"].contains(&name.to_lowercase().as_str()) {
        return Some(Hint::GroupAll);
    }
    // `All` opens everything: nobody gets it for a typo
    let is_near = |group: &&str| *group != ALL || name.eq_ignore_ascii_case(ALL);
    let near = || nearest(name, groups.into_iter().filter(is_near));
    let looks = looks(name).map(Hint::NoGroup);
    looks.or_else(|| Some(Hint::Near(near()?.to_owned())))
}

/// Returns what may be meant by a name that nothing bears; `names` are those of what there is.
pub fn other<'a>(name: &str, names: impl IntoIterator<Item = &'a str>) -> Option<Hint> {
    Some(Hint::Near(nearest(name, names)?.to_owned()))
}

/// Returns what may be meant by a member that is neither a setup key nor a peer; `names` are those of both.
pub fn member<'a>(name: &str, names: impl IntoIterator<Item = &'a str>) -> Option<Hint> {
    if name == "*" {
        return Some(Hint::NoMemberAll);
    }
    let looks = looks(name).map(Hint::NoMember);
    looks.or_else(|| Some(Hint::Near(nearest(name, names)?.to_owned())))
}

/// Returns what a name looks like, where it is hardly one.
fn looks(name: &str) -> Option<Looks> {
    let before_slash = name.split('/').next().unwrap_or_default();
    let is_id = || {
        let second = Id::from(name).created_at()?;
        let is_one = name.contains(|char: char| char.is_ascii_digit());
        (is_one && (FIRST_SECOND..LAST_SECOND).contains(&second)).then_some(())
    };
    if before_slash.parse::<IpAddr>().is_ok() {
        Some(Looks::Address)
    } else if [".netbird.cloud", ".netbird.selfhosted"]
        .iter()
        .any(|domain| name.ends_with(domain))
    {
        Some(Looks::DnsName)
    } else {
        is_id().map(|()| Looks::Id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_peer_is_nobodys_typo() {
        for name in ["acl", "alb", "al", "a", "Alf"] {
            assert_eq!(group(name, [ALL, "ops"]), None, "{name}");
        }
        assert_eq!(group("ALL", [ALL]), Some(Hint::Near(ALL.to_owned())));
        assert_eq!(group("*", []), Some(Hint::GroupAll));
        let near = Hint::Near("ops".to_owned());
        assert_eq!(group("opss", [ALL, "ops"]), Some(near));
    }

    #[test]
    fn addresses_and_ids_are_no_names() {
        for (name, looks) in [
            ("100.92.14.7", Looks::Address),
            ("10.0.0.0/8", Looks::Address),
            ("fd00::1", Looks::Address),
            ("edge-1.netbird.cloud", Looks::DnsName),
            ("d2m7q0rl0ubs73a9k2v0", Looks::Id),
        ] {
            assert_eq!(member(name, []), Some(Hint::NoMember(looks)), "{name}");
            assert_eq!(group(name, []), Some(Hint::NoGroup(looks)), "{name}");
        }
        for name in ["edge-1", "a.b", "groundstationserver", "10", "v1"] {
            assert_eq!(member(name, []), None, "{name}");
        }
    }
}
