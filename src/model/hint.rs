//! What people may have meant by a name that means nothing here: a typo, an address, an id, a spelling of another
//! tool.

use std::net::IpAddr;

use crate::base::{Id, did_you_mean};
use crate::model::ALL;
use crate::model::kind::values::names;

/// Most comparisons of names that a plan spends on what may be meant. Beyond that nobody is asked any more: a file of unknown names
/// would cost the product of their number and that of all names.
pub const MAX_GUESSES: usize = 1_000_000;

/// The first second of 2020: NetBird is not older.
const FIRST_SECOND: i64 = 1_577_836_800;
/// The first second of 2100.
const LAST_SECOND: i64 = 4_102_444_800;

/// Returns what may be meant by the name of a group that there is not; `groups` are those that there are.
pub fn group<'a>(name: &str, groups: impl IntoIterator<Item = &'a str>) -> Option<String> {
    if ["*", "any", "everyone"].contains(&name.to_lowercase().as_str()) {
        return Some(format!("the group of every peer is called {ALL:?}"));
    }
    // `All` opens everything: nobody gets it for a typo
    let is_near = |group: &&str| *group != ALL || name.eq_ignore_ascii_case(ALL);
    let looks = looks(name);
    let looks =
        looks.map(|it| format!("this looks like {it}: this list takes groups, by their names"));
    // a name that no file can say helps nobody
    let can_be_said = |group: &&str| names::flaw(group).is_none();
    let groups = groups.into_iter().filter(is_near).filter(can_be_said);
    looks.or_else(|| did_you_mean(name, groups))
}

/// Returns what may be meant by a member that is neither a setup key nor a peer; `names` are those of both.
pub fn member<'a>(name: &str, names: impl IntoIterator<Item = &'a str>) -> Option<String> {
    if name == "*" {
        let listed = "members are named one by one; every peer is in";
        return Some(format!("{listed} {ALL:?} without being listed"));
    }
    let members = "members are the names of setup keys and of peers";
    let looks = looks(name).map(|it| format!("this looks like {it}: {members}"));
    let names = names.into_iter();
    let names = names.filter(|name| names::own_flaw(name).is_none());
    looks.or_else(|| did_you_mean(name, names))
}

/// Returns what a name looks like, where it is hardly one.
fn looks(name: &str) -> Option<&'static str> {
    let before_slash = name.split('/').next().unwrap_or_default();
    let is_id = || {
        let second = Id::from(name).created_at()?;
        let is_one = name.contains(|char: char| char.is_ascii_digit());
        (is_one && (FIRST_SECOND..LAST_SECOND).contains(&second)).then_some(())
    };
    let mut domains = [".netbird.cloud", ".netbird.selfhosted"].iter();
    match before_slash.parse::<IpAddr>() {
        Ok(_) => Some("an address"),
        _ if domains.any(|domain| name.ends_with(domain)) => Some("a DNS name"),
        _ => is_id().map(|()| "an id of NetBird"),
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
        let all = group("ALL", [ALL]);
        assert_eq!(all.as_deref(), Some("did you mean \"All\"?"));
        let all = group("*", []);
        assert_eq!(
            all.as_deref(),
            Some("the group of every peer is called \"All\"")
        );
        let near = group("opss", [ALL, "ops"]);
        assert_eq!(near.as_deref(), Some("did you mean \"ops\"?"));
    }

    #[test]
    fn what_a_file_cannot_say_is_not_meant() {
        let blank = group("ops", ["ops "]);
        assert_eq!(blank.as_deref(), Some("did you mean \"ops \"?"));
        assert_eq!(group("ops", ["ops\t"]), None);
        assert_eq!(member("gw", ["gw "]), None);
    }

    #[test]
    fn addresses_and_ids_are_no_names() {
        for (name, looks) in [
            ("100.92.14.7", "an address"),
            ("10.0.0.0/8", "an address"),
            ("fd00::1", "an address"),
            ("edge-1.netbird.cloud", "a DNS name"),
            ("d2m7q0rl0ubs73a9k2v0", "an id of NetBird"),
        ] {
            let start = format!("this looks like {looks}: ");
            for said in [member(name, []), group(name, [])] {
                assert!(said.is_some_and(|said| said.starts_with(&start)), "{name}");
            }
        }
        for name in ["edge-1", "a.b", "groundstationserver", "10", "v1"] {
            assert_eq!(member(name, []), None, "{name}");
        }
    }
}
