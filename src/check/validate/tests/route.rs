//! Section `routes`, entry by entry.

use std::collections::BTreeSet;

use snapbox::str;

use crate::model::{Address, Kind, Resource, Route};

use crate::check::validate::testing::{assert_table, check};

#[test]
fn fields_of_routes() {
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
    note: routes.r: a new route without "groups" is distributed to every peer (All) | list the groups that receive the route in "groups"
"groups": ["g"]
    routes.r: a route needs "network" or "domains"
    routes.r: a route needs "peer_groups" or "peer"
"network": "10.0.0.0/8", "domains": ["a.example"], "peer_groups": ["All"], "groups": ["g"]
    routes.r.domains: a route has "network" or "domains", not both | make two routes
"network": null, "peer_groups": ["g"], "groups": ["g"]
    routes.r.network: null is not allowed | leave "network" out instead
"network": "10.0.0.0/8", "peer_groups": [], "groups": []
    routes.r.peer_groups: "peer_groups" cannot be empty | name a group whose peers do the routing
    routes.r.groups: "groups" cannot be empty | name a group whose peers receive the route; without "groups" a new route is distributed to every peer (All)
"network": "10.0.0.0/8", "peer_groups": ["g"], "groups": ["g"], "access_control_groups": []
"network": "10.0.0.0/8", "peer_groups": ["g"], "groups": ["g"], "metric": 0
    routes.r.metric: 0 is too small: expected a whole number from 1 to 9999
"network": "10.0.0.0/8", "peer_groups": ["g"], "groups": ["g"], "metric": 1
"network": "10.0.0.0/8", "peer_groups": ["g"], "groups": ["g"], "metric": 9999
"network": "10.0.0.0/8", "peer_groups": ["g"], "groups": ["g"], "metric": 10000
    routes.r.metric: 10000 is too large: expected a whole number from 1 to 9999
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
    routes.r.network_id: its network_id is its name, which is the name of its entry | to rename it, rename the entry and add "renamed_from" with the old name
    routes.r.name: its network_id is its name, which is the name of its entry | to rename it, rename the entry and add "renamed_from" with the old name

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
    let file = r#"{"routes": {"r": {"domains": ROW, "peer_groups": ["All"], "groups": ["All"]}}}"#;
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
    note: routes.r.domains[1]: "A.example" is in the list twice
["a.example.", 1, "10.0.0.300"]
    routes.r.domains[0]: the domain "a.example." ends with a dot | did you mean "a.example"?
    routes.r.domains[1]: expected a domain, found the number 1
    routes.r.domains[2]: "10.0.0.300" is not a domain: it looks like an address
[]
    routes.r.domains: "domains" cannot be empty | list at least one domain
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
fn names_of_routes_have_at_most_40_characters() {
    let file = r#"{"routes": {"ROW": {"network": "10.0.0.0/8", "peer_groups": ["All"], "groups": ["All"]}}}"#;
    assert!(check(&file.replace("ROW", &"ü".repeat(40))).is_ok());
    let error = check(&file.replace("ROW", &"ü".repeat(41))).expect_err("an error");
    assert!(
        error.contains("the name of a route has at most 40 characters; this one has 41"),
        "{error}"
    );
}

#[test]
fn what_a_route_leaves_out_is_not_ours() {
    let file = r#"{"routes": {
        "bare": {"network": "10.0.0.0/8", "peer_groups": ["All"]},
        "full": {"description": "d", "domains": ["*.a.example"], "peer_groups": ["All"], "groups": ["All"],
                 "access_control_groups": [], "metric": 5, "masquerade": false, "keep_route": true,
                 "skip_auto_apply": true, "enabled": false}}}"#;
    let desired = check(file).expect("a valid file").desired;
    let route = |name: &str| match desired.resource(&Address::new(Kind::Route, name)) {
        [Resource::Route(route)] => route.clone(),
        other => panic!("{other:?}"),
    };
    let all = || BTreeSet::from(["All".to_owned()]);
    let bare = Route {
        network: Some("10.0.0.0/8".into()),
        peer_groups: all(),
        ..Route::default()
    };
    assert_eq!(route("bare"), bare);
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
    assert_eq!(route("full"), full);
}

#[test]
fn an_entry_is_a_route_or_a_list_of_them() {
    let a = r#"{"network": "10.1.0.0/16", "peer_groups": ["g"], "groups": ["g"]}"#;
    let b = r#"{"network": "10.1.0.0/16", "peer": "p", "groups": ["g"]}"#;
    let c = r#"{"network": "10.1.0.0/16", "peer_groups": ["g", "h"], "groups": ["g"]}"#;
    let old = r#"{"network": "10.2.0.0/16", "peer": "p", "groups": ["g"], "renamed_from": "old"}"#;
    let older =
        r#"{"network": "10.3.0.0/16", "peer": "p", "groups": ["g"], "renamed_from": "older"}"#;
    let rows = [
        format!("[{a}]"),
        format!("[{a}, {b}]"),
        format!("[{a}, {c}]"),
        format!("[{b}, {b}]"),
        format!("[{old}, {a}]"),
        format!("[{old}, {older}]"),
        "[]".to_owned(),
        format!("[{a}, [{b}], \"r\"]"),
        format!(r#"[{a}, {{"network": "10.2.0.0/16", "peer": " p", "peer_groups": ["g"]}}]"#),
    ];
    let rows: Vec<&str> = rows.iter().map(String::as_str).collect();
    assert_table(
        r#"{"groups": {"g": {}, "h": {}}, "routes": {"r": ROW}}"#,
        &rows,
        str![[r#"
[{"network": "10.1.0.0/16", "peer_groups": ["g"], "groups": ["g"]}]
[{"network": "10.1.0.0/16", "peer_groups": ["g"], "groups": ["g"]}, {"network": "10.1.0.0/16", "peer": "p", "groups": ["g"]}]
[{"network": "10.1.0.0/16", "peer_groups": ["g"], "groups": ["g"]}, {"network": "10.1.0.0/16", "peer_groups": ["g", "h"], "groups": ["g"]}]
    routes.r[1]: two routes of "r" lead to the same network through group "g": NetBird refuses the second | the first one is in line 1
[{"network": "10.1.0.0/16", "peer": "p", "groups": ["g"]}, {"network": "10.1.0.0/16", "peer": "p", "groups": ["g"]}]
    routes.r[1]: "r" leads to one network through the peer "p" twice: nothing tells the two apart | the first one is in line 1
[{"network": "10.2.0.0/16", "peer": "p", "groups": ["g"], "renamed_from": "old"}, {"network": "10.1.0.0/16", "peer_groups": ["g"], "groups": ["g"]}]
[{"network": "10.2.0.0/16", "peer": "p", "groups": ["g"], "renamed_from": "old"}, {"network": "10.3.0.0/16", "peer": "p", "groups": ["g"], "renamed_from": "older"}]
    routes.r[1].renamed_from: "r" had one name before, and another one of its list says it
[]
    routes.r: a list of routes has at least one | leave the entry out where there is to be no route
[{"network": "10.1.0.0/16", "peer_groups": ["g"], "groups": ["g"]}, [{"network": "10.1.0.0/16", "peer": "p", "groups": ["g"]}], "r"]
    routes.r[1]: expected a route { … }, found a list | write its fields in braces: description, network, domains, peer_groups, peer, groups, access_control_groups, metric, masquerade, keep_route, skip_auto_apply, enabled, renamed_from
    routes.r[2]: expected a route { … }, found the string "r" | write its fields in braces: description, network, domains, peer_groups, peer, groups, access_control_groups, metric, masquerade, keep_route, skip_auto_apply, enabled, renamed_from
[{"network": "10.1.0.0/16", "peer_groups": ["g"], "groups": ["g"]}, {"network": "10.2.0.0/16", "peer": " p", "peer_groups": ["g"]}]
    note: routes.r[1]: a new route without "groups" is distributed to every peer (All) | list the groups that receive the route in "groups"
    routes.r[1].peer: a route has "peer_groups" or "peer", not both | put the peer into one of the groups, or make two routes
    routes.r[1].peer: the name " p" begins with a space | did you mean "p"?

"#]],
    );
    assert_eq!(
        routes(&format!("[{a}]")),
        routes(a),
        "a list of one is the same as that one"
    );
}

fn routes(entry: &str) -> Vec<Resource> {
    let file = check(&format!(
        r#"{{"groups": {{"g": {{}}}}, "routes": {{"r": {entry}}}}}"#
    ))
    .expect("valid");
    let address = Address::new(Kind::Route, "r");
    file.desired.resource(&address).to_vec()
}
