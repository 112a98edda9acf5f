//! Section `routes` (netbird-api.md §7).

use std::collections::BTreeSet;

use super::{domain, names, network, renames};
use crate::code::Code;
use crate::config::{Cursor, Field, Log, Refused, Table};
use crate::resource::Route;

const MAX_DOMAINS: usize = 32;

pub(super) const TABLE: Table<Route> = Table {
    what: "a route",
    fields: &[
        Field::optional("description", |route, value, log| {
            route.description = value.string(log, "a text").map(str::to_owned);
        }),
        Field::optional("network", |route, value, log| {
            route.network = network::read(value, log)
        }),
        Field::optional("domains", |route, value, log| {
            route.domains = domains(value, log)
        }),
        Field::required("peer_groups", |route, value, log| {
            route.peer_groups =
                names::some_groups(value, log, "the peers of these groups do the routing");
        }),
        Field::optional("groups", |route, value, log| {
            let why = "the peers of these groups get the route; left out, a new route goes to All";
            route.groups = Some(names::some_groups(value, log, why));
        }),
        Field::optional("access_control_groups", |route, value, log| {
            route.access_control_groups = names::groups(value, log);
        }),
        Field::optional("metric", |route, value, log| {
            route.metric = metric(value, log)
        }),
        Field::optional("masquerade", |route, value, log| {
            route.masquerade = value.boolean(log)
        }),
        Field::optional("keep_route", |route, value, log| {
            route.keep_route = value.boolean(log)
        }),
        Field::optional("skip_auto_apply", |route, value, log| {
            route.skip_auto_apply = value.boolean(log)
        }),
        Field::optional("enabled", |route, value, log| {
            route.enabled = value.boolean(log)
        }),
        Field::optional("renamed_from", |_, value, log| renames::check(value, log)),
    ],
    refused: &[
        Refused::new(
            &["network_id"],
            "a route's network_id is the name of its entry",
            Some("to rename it, rename the entry and add \"renamed_from\" with the old name"),
        ),
        Refused::new(&["name"], "a route's name is the name of its entry", None),
        Refused::new(
            &["peer", "peers", "routing_peers", "routing_groups"],
            "routes go through groups of peers",
            Some("put the peer into a group and name that in \"peer_groups\""),
        )
        .meant("peer_groups"),
        Refused::new(
            &["networks", "cidr", "prefix", "range"],
            "a route has one network",
            Some("write \"network\": \"192.168.1.0/24\"; another network is an entry of its own"),
        )
        .meant("network"),
        Refused::new(
            &["distribution_groups"],
            "write \"groups\": who gets the route",
            None,
        )
        .meant("groups"),
    ],
};

pub(super) fn read(entry: &Cursor<'_>, log: &mut Log) -> Option<Route> {
    let mut route = Route::default();
    entry.object(log, &TABLE, &mut route);
    names::check_short(entry, "a route", log);
    if entry.is_object() {
        match (entry.get("network"), entry.get("domains")) {
            (Some(_), Some(domains)) => {
                log.error(
                    domains.key_place(),
                    "a route has a network or domains, not both",
                )
                .suggest("make two routes".to_owned());
            }
            (None, None)
                if !entry.mentions(&TABLE, "network") && !entry.mentions(&TABLE, "domains") =>
            {
                log.error(
                    entry.key_place(),
                    "a route needs \"network\" or \"domains\"",
                );
            }
            _ => (),
        }
        if !entry.mentions(&TABLE, "groups") {
            log.notice(
                Code::RouteForAll,
                entry.key_place(),
                "a new route without \"groups\" goes to every peer (All)",
            )
            .suggest("name the groups that shall get it in \"groups\"".to_owned());
        }
    }
    Some(route)
}

fn domains(list: &Cursor<'_>, log: &mut Log) -> Option<BTreeSet<String>> {
    let elements = list.list(log, "a list of domains")?;
    let count = elements.len();
    let domains: BTreeSet<String> = domain::list(&elements, domain::of_route, log)
        .into_iter()
        .collect();
    if count == 0 {
        log.error(list.place(), "\"domains\" cannot be empty")
            .suggest("a route to no domain goes nowhere".to_owned());
    }
    if domains.len() > MAX_DOMAINS {
        log.error(
            list.place(),
            format!(
                "a route has at most {MAX_DOMAINS} domains; these are {}",
                domains.len()
            ),
        )
        .suggest("make two routes".to_owned());
    }
    Some(domains)
}

fn metric(value: &Cursor<'_>, log: &mut Log) -> Option<i64> {
    let metric = value.integer(log, "a whole number from 1 to 9999")?;
    if !(1..=9999).contains(&metric) {
        log.error(value.place(), "a metric is 1 to 9999")
            .suggest("the lowest wins".to_owned());
    }
    Some(metric)
}

#[cfg(test)]
mod tests {
    use snapbox::str;

    use super::*;
    use crate::validate::testing::{assert_table, check};

    #[test]
    fn fields() {
        let rows = [
            r#""network": "10.0.0.0/8", "peer_groups": ["g"], "groups": ["All"]"#,
            r#""network": "10.0.0.0/8", "peer_groups": ["g"]"#,
            r#""groups": ["g"]"#,
            r#""network": "10.0.0.0/8", "domains": ["a.example"], "peer_groups": ["All"], "groups": ["g"]"#,
            r#""network": null, "peer_groups": ["g"], "groups": ["g"]"#,
            r#""network": "10.0.0.0/8", "peer_groups": [], "groups": []"#,
            r#""network": "10.0.0.0/8", "peer_groups": ["g"], "groups": ["g"], "access_control_groups": []"#,
            r#""network": "10.0.0.0/8", "peer_groups": ["g"], "groups": ["g"], "metric": 0"#,
            r#""network": "10.0.0.0/8", "peer_groups": ["g"], "groups": ["g"], "metric": 1"#,
            r#""network": "10.0.0.0/8", "peer_groups": ["g"], "groups": ["g"], "metric": 9999"#,
            r#""network": "10.0.0.0/8", "peer_groups": ["g"], "groups": ["g"], "metric": 10000"#,
            r#""network": "10.0.0.0/8", "peer_groups": ["g"], "groups": ["g"], "metric": 1.5"#,
            r#""network": "10.0.0.0/8", "peer_groups": ["g"], "groups": ["g"], "masquerade": 1, "keep_route": 1"#,
            r#""network": "10.0.0.0/8", "peer_groups": ["g"], "groups": ["g"], "skip_auto_apply": 1, "enabled": 1"#,
            r#""network": "10.0.0.0/8", "peer_groups": ["g"], "groups": ["g"], "description": 1, "access_control_groups": "g""#,
            r#""network": "10.0.0.0/8", "groups": ["g"], "peer": "p", "network_id": "r", "name": "r""#,
        ];
        assert_table(
            r#"{"groups": {"g": {}}, "routes": {"r": {ROW}}}"#,
            &rows,
            str![[r#"
"network": "10.0.0.0/8", "peer_groups": ["g"], "groups": ["All"]
"network": "10.0.0.0/8", "peer_groups": ["g"]
    note: routes.r: a new route without "groups" goes to every peer (All) | name the groups that shall get it in "groups"
"groups": ["g"]
    routes.r: a route needs "peer_groups"
    routes.r: a route needs "network" or "domains"
"network": "10.0.0.0/8", "domains": ["a.example"], "peer_groups": ["All"], "groups": ["g"]
    routes.r.domains: a route has a network or domains, not both | make two routes
"network": null, "peer_groups": ["g"], "groups": ["g"]
    routes.r.network: null is no value | leave "network" out instead
"network": "10.0.0.0/8", "peer_groups": [], "groups": []
    routes.r.peer_groups: "peer_groups" cannot be empty | the peers of these groups do the routing
    routes.r.groups: "groups" cannot be empty | the peers of these groups get the route; left out, a new route goes to All
"network": "10.0.0.0/8", "peer_groups": ["g"], "groups": ["g"], "access_control_groups": []
"network": "10.0.0.0/8", "peer_groups": ["g"], "groups": ["g"], "metric": 0
    routes.r.metric: a metric is 1 to 9999 | the lowest wins
"network": "10.0.0.0/8", "peer_groups": ["g"], "groups": ["g"], "metric": 1
"network": "10.0.0.0/8", "peer_groups": ["g"], "groups": ["g"], "metric": 9999
"network": "10.0.0.0/8", "peer_groups": ["g"], "groups": ["g"], "metric": 10000
    routes.r.metric: a metric is 1 to 9999 | the lowest wins
"network": "10.0.0.0/8", "peer_groups": ["g"], "groups": ["g"], "metric": 1.5
    routes.r.metric: expected a whole number from 1 to 9999, found the number 1.5
"network": "10.0.0.0/8", "peer_groups": ["g"], "groups": ["g"], "masquerade": 1, "keep_route": 1
    routes.r.masquerade: expected true or false, found the number 1
    routes.r.keep_route: expected true or false, found the number 1
"network": "10.0.0.0/8", "peer_groups": ["g"], "groups": ["g"], "skip_auto_apply": 1, "enabled": 1
    routes.r.skip_auto_apply: expected true or false, found the number 1
    routes.r.enabled: expected true or false, found the number 1
"network": "10.0.0.0/8", "peer_groups": ["g"], "groups": ["g"], "description": 1, "access_control_groups": "g"
    routes.r.description: expected a text, found the number 1
    routes.r.access_control_groups: expected a list of group names, found the string "g" | write ["g"]
"network": "10.0.0.0/8", "groups": ["g"], "peer": "p", "network_id": "r", "name": "r"
    routes.r.peer: routes go through groups of peers | put the peer into a group and name that in "peer_groups"
    routes.r.network_id: a route's network_id is the name of its entry | to rename it, rename the entry and add "renamed_from" with the old name
    routes.r.name: a route's name is the name of its entry

"#]],
        );
    }

    #[test]
    fn a_route_has_one_to_32_domains() {
        let many = |count: usize| {
            let domains: Vec<_> = (0..count)
                .map(|index| format!("\"d{index}.example\""))
                .collect();
            format!("[{}]", domains.join(", "))
        };
        let file =
            r#"{"routes": {"r": {"domains": ROW, "peer_groups": ["All"], "groups": ["All"]}}}"#;
        let rows = [
            r#"["a.example", "*.b.example"]"#,
            r#"["a.example", "A.example"]"#,
            r#"["a.example.", 1, "10.0.0.300"]"#,
            "[]",
            r#""a.example""#,
        ];
        assert_table(
            file,
            &rows,
            str![[r#"
["a.example", "*.b.example"]
["a.example", "A.example"]
    note: routes.r.domains[1]: "a.example" is in the list twice
["a.example.", 1, "10.0.0.300"]
    routes.r.domains[0]: the domain "a.example." ends with a dot | did you mean "a.example"?
    routes.r.domains[1]: expected a domain, found the number 1
    routes.r.domains[2]: "10.0.0.300" is no domain: it looks like an address
[]
    routes.r.domains: "domains" cannot be empty | a route to no domain goes nowhere
"a.example"
    routes.r.domains: expected a list of domains, found the string "a.example" | write ["a.example"]

"#]],
        );
        assert!(check(&file.replace("ROW", &many(32))).is_ok());
        let error = check(&file.replace("ROW", &many(33))).expect_err("an error");
        assert!(
            error.contains("a route has at most 32 domains; these are 33"),
            "{error}"
        );
    }

    #[test]
    fn names_have_at_most_40_characters() {
        let file = r#"{"routes": {"ROW": {"network": "10.0.0.0/8", "peer_groups": ["All"], "groups": ["All"]}}}"#;
        assert!(check(&file.replace("ROW", &"ü".repeat(40))).is_ok());
        let error = check(&file.replace("ROW", &"ü".repeat(41))).expect_err("an error");
        assert!(
            error.contains("the name of a route has at most 40 characters; this one has 41"),
            "{error}"
        );
    }

    #[test]
    fn what_is_left_out_is_not_ours() {
        let file = r#"{"routes": {
            "bare": {"network": "10.0.0.0/8", "peer_groups": ["All"]},
            "full": {"description": "d", "domains": ["*.a.example"], "peer_groups": ["All"], "groups": ["All"],
                     "access_control_groups": [], "metric": 5, "masquerade": false, "keep_route": true,
                     "skip_auto_apply": true, "enabled": false}}}"#;
        let routes = check(file)
            .expect("a valid file")
            .desired
            .routes
            .expect("a section");
        let all = || BTreeSet::from(["All".to_owned()]);
        let bare = Route {
            network: Some("10.0.0.0/8".into()),
            peer_groups: all(),
            ..Route::default()
        };
        assert_eq!(routes["bare"], bare);
        let full = Route {
            description: Some("d".into()),
            network: None,
            domains: Some(BTreeSet::from(["*.a.example".into()])),
            peer_groups: all(),
            groups: Some(all()),
            access_control_groups: Some(BTreeSet::new()),
            metric: Some(5),
            masquerade: Some(false),
            keep_route: Some(true),
            skip_auto_apply: Some(true),
            enabled: Some(false),
            peer: None,
        };
        assert_eq!(routes["full"], full);
    }
}
