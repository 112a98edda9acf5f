//! Settings of the account and of peers that NetBird would refuse, as far as the file tells.

use std::collections::BTreeSet;

use rustc_hash::{FxHashMap, FxHashSet};

use super::of_kind;
use crate::base::Code;
use crate::file::{Log, quote};
use crate::model::{AccountSettings, Address, EXPIRY, InFile, Kind, Peer, Resource};

/// Notes settings that NetBird would refuse: what lives may be in the way of more, which a plan tells.
pub(super) fn check(entries: &[InFile<'_>], log: &mut Log) {
    let keys = of_kind(entries, Kind::SetupKey);
    let keys: FxHashSet<&str> = keys.map(|key| key.cursor.name()).collect();
    for entry in entries {
        match &entry.resource {
            Some(Resource::AccountSettings(settings)) => account(entry, settings, entries, log),
            Some(Resource::Peer(of)) if keys.contains(entry.cursor.name()) => peer(entry, of, log),
            _ => {}
        }
    }
}

/// The domain of machines is none of a zone, and who may expose services is said by groups (docs/netbird-api.md, "Account
/// settings").
fn account(entry: &InFile<'_>, settings: &AccountSettings, entries: &[InFile<'_>], log: &mut Log) {
    let domain = settings.dns_domain.as_ref();
    let domain = domain.filter(|domain| !domain.is_empty());
    let is_of = |zone: &&InFile<'_>| matches!(&zone.resource, Some(Resource::DnsZone(zone)) if zone.domain.as_ref() == domain);
    let zone = domain.and_then(|_| entries.iter().find(is_of));
    if let Some(zone) = zone {
        let (name, line) = (quote(zone.cursor.name()), zone.cursor.key_place().line);
        let zone = format!("the DNS zone {name} in line {line} has that domain");
        let message = format!("{zone}: NetBird allows only one of the two");
        let flaw = log.error(entry.cursor.place_of("dns_domain"), message);
        let hint = "give the machines, or the zone, another one";
        flaw.coded(Code::Overlap).suggest(hint);
    }
    let nobody = settings.peer_expose_groups.as_ref();
    let nobody = nobody.is_some_and(|groups| groups.is_empty());
    if settings.peer_expose_enabled == Some(true) && nobody {
        let message =
            "machines cannot expose services without a group of those that may: NetBird refuses it";
        let flaw = log.error(entry.cursor.place_of("peer_expose_groups"), message);
        flaw.suggest("name one, or write \"peer_expose_enabled\": false");
    }
}

/// The peer of a setup key has no person who could log in again (docs/netbird-api.md, "Peers").
fn peer(entry: &InFile<'_>, peer: &Peer, log: &mut Log) {
    let wanted = [
        peer.login_expiration_enabled,
        peer.inactivity_expiration_enabled,
    ];
    for (field, wanted) in EXPIRY.into_iter().zip(wanted) {
        if wanted == Some(true) {
            let message = "it enrolls with a setup key, and only machines of people log in again";
            let flaw = log.error(entry.cursor.place_of(field), message);
            flaw.suggest("leave the field out");
        }
    }
}

/// Where a route leads: equal where the server sees one prefix or one list of domains.
type Destination<'a> = (Option<&'a str>, Option<&'a BTreeSet<String>>);

/// Notes routes to one destination through one group: the server refuses the second (docs/netbird-api.md, "Routes").
pub(super) fn routes(entries: &[InFile<'_>], log: &mut Log) {
    type First<'e, 'a> = FxHashMap<(Option<&'e Address>, Destination<'e>, &'e str), &'e InFile<'a>>;
    let mut first = First::default();
    let routes = entries.iter().filter_map(|entry| match &entry.resource {
        Some(Resource::Route(route)) => Some((entry, route)),
        _ => None,
    });
    for (entry, route) in routes {
        let domains = route.domains.as_ref().filter(|domains| !domains.is_empty());
        let to = (route.network.as_deref(), domains);
        if to == (None, None) {
            continue;
        }
        let (name, what) = (quote(&entry.address.name), route.destination());
        let by_peer = route.peer.iter();
        let by_peer = by_peer.map(|peer| (Some(&entry.address), peer.text()));
        let by_group = route.peer_groups.iter().map(|group| (None, group.as_str()));
        let twin = by_peer.chain(by_group).find_map(|(of, through)| {
            let there = *first.entry((of, to, through)).or_insert(entry);
            (!std::ptr::eq(there, entry)).then_some((there, of, through))
        });
        let Some((there, of, through)) = twin else {
            continue;
        };
        let through = quote(through);
        let both = match quote(&there.address.name) {
            first if first == name => format!("two routes of {name}"),
            first => format!("the routes {first} and {name}"),
        };
        let message = match of {
            Some(_) => format!(
                "{name} leads to one {what} through the peer {through} twice: nothing tells the two apart"
            ),
            None => format!(
                "{both} lead to the same {what} through group {through}: NetBird refuses the second"
            ),
        };
        let flaw = log.error(entry.cursor.key_place(), message);
        let line = there.cursor.key_place().line;
        let hint = format!("the first one is in line {line}");
        flaw.coded(Code::Overlap).suggest(hint);
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
