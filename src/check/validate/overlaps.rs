//! Routes that NetBird would not take side by side.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;

use crate::base::code::Code;
use crate::file::{Log, quote};
use crate::model::address::Address;
use crate::model::kind::{InFile, Resource, Route};

/// Where a route leads: equal where the server sees one prefix or one list of domains.
#[derive(PartialEq, Eq, Hash)]
enum Destination<'a> {
    Network(&'a str),
    Domains(&'a BTreeSet<String>),
}

impl<'a> Destination<'a> {
    fn of(route: &'a Route) -> Option<Self> {
        let domains = route.domains.as_ref().filter(|domains| !domains.is_empty());
        let network = route.network.as_deref().map(Destination::Network);
        network.or(domains.map(Destination::Domains))
    }
}

/// Notes routes to one destination through one group: the server refuses the second (docs/netbird-api.md, "Routes").
pub(super) fn check(entries: &[InFile<'_>], log: &mut Log) {
    let mut seen: FxHashMap<(Destination<'_>, &str), &InFile<'_>> = FxHashMap::default();
    let routes = entries.iter().filter_map(|entry| match &entry.resource {
        Some(Resource::Route(route)) => Some((entry, route)),
        _ => None,
    });
    let mut through_peers: FxHashMap<(&Address, Destination<'_>, &str), &InFile<'_>> =
        FxHashMap::default();
    for (entry, route) in routes {
        if let (Some(to), Some(peer)) = (Destination::of(route), &route.peer)
            && let Some(first) = through_peers.insert((&entry.address, to, peer.text()), entry)
        {
            let message = format!(
                "{} leads to one {} through the peer {} twice: nothing tells the two apart",
                quote(&entry.address.name),
                route.destination(),
                quote(peer.text())
            );
            log.error(entry.cursor.key_place(), message)
                .coded(Code::Overlap)
                .suggest(format!(
                    "the first one is in line {}",
                    first.cursor.key_place().line
                ));
            continue;
        }
        let twin = route.peer_groups.iter().find_map(|group| {
            let first = *seen
                .entry((Destination::of(route)?, group))
                .or_insert(entry);
            (!std::ptr::eq(first, entry)).then_some((first, group))
        });
        let Some((first, group)) = twin else { continue };
        let name = quote(&entry.address.name);
        let both = match quote(&first.address.name) {
            first if first == name => format!("two routes of {name}"),
            first => format!("the routes {first} and {name}"),
        };
        let message = format!(
            "{both} lead to the same {} through group {}: NetBird refuses the second",
            route.destination(),
            quote(group)
        );
        let hint = format!("the first one is in line {}", first.cursor.key_place().line);
        log.error(entry.cursor.key_place(), message)
            .coded(Code::Overlap)
            .suggest(hint);
    }
}

#[cfg(test)]
mod tests {
    use crate::check::validate::testing::check;

    #[test]
    fn two_routes_to_one_destination_share_no_group() {
        let route = |destination: &str, groups: &str| {
            format!(r#"{{{destination}, "peer_groups": [{groups}], "groups": ["All"]}}"#)
        };
        let rows = [
            (
                r#""network": "10.0.0.0/8""#,
                r#""a""#,
                r#""network": "10.0.0.0/8""#,
                r#""b", "a""#,
                true,
            ),
            (
                r#""network": "10.0.0.0/8""#,
                r#""a""#,
                r#""network": "10.1.2.3/8""#,
                r#""a""#,
                true,
            ),
            (
                r#""network": "FD00::/8""#,
                r#""a""#,
                r#""network": "fd00:0::/8""#,
                r#""a""#,
                true,
            ),
            (
                r#""domains": ["a.b", "c.d"]"#,
                r#""a""#,
                r#""domains": ["C.d", "a.b"]"#,
                r#""a""#,
                true,
            ),
            (
                r#""network": "10.0.0.0/8""#,
                r#""a""#,
                r#""network": "10.0.0.0/8""#,
                r#""b""#,
                false,
            ),
            (
                r#""network": "10.0.0.0/8""#,
                r#""a""#,
                r#""network": "10.0.0.0/9""#,
                r#""a""#,
                false,
            ),
            (
                r#""domains": ["a.b", "c.d"]"#,
                r#""a""#,
                r#""domains": ["a.b"]"#,
                r#""a""#,
                false,
            ),
            (
                r#""network": "10.0.0.0/8""#,
                r#""a""#,
                r#""domains": ["a.b"]"#,
                r#""a""#,
                false,
            ),
        ];
        for (one, one_groups, other, other_groups, clash) in rows {
            let (one, other) = (route(one, one_groups), route(other, other_groups));
            let file = format!(
                "{{\"groups\": {{\"a\": {{}}, \"b\": {{}}}}, \"routes\": {{\"one\": {one},\n\"other\": {other}}}}}"
            );
            match check(&file) {
                Ok(_) => assert!(!clash, "{file}"),
                Err(error) => {
                    assert!(clash, "{file}: {error}");
                    assert!(
                        error.contains(
                            "f:2:1  routes.other\n    the routes \"one\" and \"other\" lead"
                        ),
                        "{error}"
                    );
                    assert!(error.contains("through group \"a\": NetBird refuses the second\n    the first one is in line 1"));
                }
            }
        }
    }
}
