//! Canonical form: what the server answers in several ways is one thing (docs/netbird-api.md, "Null, empty and
//! absent").

use serde_json::{Value, json};

use super::{groups, read};
use crate::model::{Address, Kind, Resource, differences};
use crate::testing::{self, desired, group, key, nameservers, over, policy_with, route};

/// The fields in which two answers differ once they are read.
fn changed(kind: Kind, one: Value, other: Value) -> Vec<String> {
    let (one, other) = (read(kind, one).resource, read(kind, other).resource);
    differences(&one, &other)
        .into_iter()
        .map(|change| change.field)
        .collect()
}

#[track_caller]
fn assert_same(kind: Kind, one: Value, other: Value) {
    assert_eq!(changed(kind, one, other), Vec::<String>::new());
}

fn without(mut object: Value, field: &str) -> Value {
    object
        .as_object_mut()
        .expect("an object")
        .remove(field)
        .expect("the field is there");
    object
}

#[test]
fn null_empty_and_absent_are_one() {
    for (kind, object, lists) in [
        (Kind::Group, group("x", &[]), vec!["peers", "resources"]),
        (
            Kind::Route,
            route("x", "10.0.0.0/8", &[]),
            vec!["peer_groups", "groups", "description"],
        ),
        (Kind::SetupKey, key("x", &[]), vec!["auto_groups"]),
        (
            Kind::NameserverGroup,
            nameservers("x", &[], &[]),
            vec!["groups", "domains", "nameservers", "description"],
        ),
        (
            Kind::Policy,
            testing::policy("x", &[], &[]),
            vec!["description"],
        ),
    ] {
        for list in lists {
            let empty = if list == "description" {
                json!("")
            } else {
                json!([])
            };
            assert_same(
                kind,
                over(object.clone(), json!({ list: empty })),
                over(object.clone(), json!({ list: null })),
            );
            assert_same(
                kind,
                over(object.clone(), json!({ list: null })),
                without(object.clone(), list),
            );
        }
    }
    for list in [
        "sources",
        "destinations",
        "ports",
        "port_ranges",
        "sourceResource",
    ] {
        let null = policy_with("x", &[], &[], json!({ list: null }));
        assert_same(
            Kind::Policy,
            null.clone(),
            policy_with("x", &[], &[], json!({})),
        );
        if list != "sourceResource" {
            assert_same(
                Kind::Policy,
                null,
                policy_with("x", &[], &[], json!({ list: [] })),
            );
        }
    }
}

/// The server has no order and repeats what it was sent twice.
#[test]
fn lists_are_sets() {
    assert_same(
        Kind::Group,
        group("x", &["a", "b", "c"]),
        group("x", &["c", "a", "b", "a"]),
    );
    assert_same(
        Kind::SetupKey,
        key("x", &["pilots", "db"]),
        key("x", &["db", "pilots", "db"]),
    );
    assert_same(
        Kind::Route,
        route("x", "10.0.0.0/8", &["db", "lan"]),
        route("x", "10.0.0.0/8", &["lan", "db"]),
    );
    assert_same(
        Kind::Policy,
        testing::policy("x", &["db", "lan"], &["pilots", "db"]),
        testing::policy("x", &["lan", "db", "lan"], &["db", "pilots"]),
    );
    assert_same(
        Kind::NameserverGroup,
        nameservers("x", &["10.0.0.1", "10.0.0.2"], &["db", "lan"]),
        nameservers("x", &["10.0.0.1", "10.0.0.2", "10.0.0.1"], &["lan", "db"]),
    );
    // clients ask the first nameserver first
    assert_eq!(
        changed(
            Kind::NameserverGroup,
            nameservers("x", &["10.0.0.1", "10.0.0.2"], &["db"]),
            nameservers("x", &["10.0.0.2", "10.0.0.1"], &["db"]),
        ),
        ["nameservers"]
    );
}

/// 443 is 443 to 443, however it was written.
#[test]
fn a_port_is_a_range_of_one() {
    let ports = |rule: Value| {
        policy_with(
            "x",
            &["db"],
            &["lan"],
            over(json!({ "protocol": "tcp" }), rule),
        )
    };
    let range = ports(json!({ "port_ranges": [{ "start": 443, "end": 443 }] }));
    for written in ["443", "0443", "00443"] {
        assert_same(
            Kind::Policy,
            ports(json!({ "ports": [written] })),
            range.clone(),
        );
    }
    assert_eq!(
        changed(
            Kind::Policy,
            ports(json!({ "ports": ["444"] })),
            range.clone()
        ),
        ["ports"]
    );
    // a live range is never "all ports"
    let file = desired(
        &json!({ "policies": { "x": { "sources": ["db"], "destinations": ["lan"], "protocol": "tcp",
                                                     "ports": [443] } } }),
    );
    let live = read(
        Kind::Policy,
        ports(json!({ "ports": null, "port_ranges": [{ "start": 7000, "end": 7100 }] })),
    );
    let ours = file
        .resource(&Address::new(Kind::Policy, "x"))
        .first()
        .expect("declared")
        .clone();
    let changes = differences(&ours, &live.resource);
    let told: Vec<_> = changes
        .iter()
        .map(|change| (&*change.field, &change.before, &change.after))
        .collect();
    assert_eq!(told, [("ports", &json!(["7000-7100"]), &json!(["443"]))]);
}

/// A domain route comes with a placeholder network; only its domains count.
#[test]
fn the_placeholder_of_a_domain_route_is_nothing() {
    let by_domain = |network: &str| {
        let fields = json!({ "network_type": "Domain", "network": network, "domains": ["a.example", "*.b.example"] });
        over(route("x", "", &["lan"]), fields)
    };
    assert_same(Kind::Route, by_domain("192.0.2.0/32"), by_domain(""));
    let Resource::Route(read) = read(Kind::Route, by_domain("192.0.2.0/32")).resource else {
        panic!()
    };
    assert_eq!(
        (read.network, read.domains.map(|domains| domains.len())),
        (None, Some(2))
    );
}

/// What the server masks or folds is canonical in the file already, so the second plan is empty.
#[test]
fn a_file_speaks_as_the_server_answers() {
    let file = desired(&json!({ "routes": {
        "v4": { "network": "10.1.2.0/24", "peer_groups": ["lan"] },
        "v6": { "network": "2001:DB8:0:0::/64", "peer_groups": ["lan"] },
        "dns": { "domains": ["App.Example", "*.cdn.example"], "peer_groups": ["lan"] },
    } }));
    let domains = json!({ "network_type": "Domain", "network": "192.0.2.0/32", "domains": ["*.cdn.example", "app.example"] });
    for (name, live) in [
        ("v4", route("v4", "10.1.2.0/24", &["lan"])),
        (
            "v6",
            over(
                route("v6", "2001:db8::/64", &["lan"]),
                json!({ "network_type": "IPv6" }),
            ),
        ),
        ("dns", over(route("dns", "", &["lan"]), domains)),
    ] {
        let ours = file
            .resource(&Address::new(Kind::Route, name))
            .first()
            .expect("declared")
            .clone();
        assert_eq!(
            differences(&ours, &read(Kind::Route, live).resource),
            [],
            "{name}"
        );
    }
}

/// Two switches of one light: the policy's and its rule's. An update sets both.
#[test]
fn a_policy_is_on_where_both_its_switches_are() {
    for (policy, rule, on) in [
        (true, true, true),
        (true, false, false),
        (false, true, false),
    ] {
        let live = over(
            policy_with("x", &["db"], &["lan"], json!({ "enabled": rule })),
            json!({ "enabled": policy }),
        );
        let Resource::Policy(read) = read(Kind::Policy, live.clone()).resource else {
            panic!()
        };
        assert_eq!(read.enabled, Some(on), "{policy} {rule}");
        let body = Resource::Policy(crate::model::kind::Policy {
            enabled: Some(true),
            ..read
        });
        let body = body
            .request("x", Some(&live), &groups(&["db", "lan"]))
            .expect("known");
        assert_eq!(
            (&body["enabled"], &body["rules"][0]["enabled"]),
            (&json!(true), &json!(true))
        );
    }
}

/// A policy's description is its own; the rule's is never read and never lost.
#[test]
fn one_description_is_ours() {
    let live = over(
        policy_with(
            "x",
            &["db"],
            &["lan"],
            json!({ "description": "the rule's" }),
        ),
        json!({ "description": "" }),
    );
    let Resource::Policy(read) = read(Kind::Policy, live.clone()).resource else {
        panic!()
    };
    assert_eq!(read.description.as_deref(), Some(""));
    for (ours, sent) in [(None, ""), (Some(""), ""), (Some("ops only"), "ops only")] {
        let policy = crate::model::kind::Policy {
            description: ours.map(str::to_owned),
            ..read.clone()
        };
        let body = Resource::Policy(policy)
            .request("x", Some(&live), &groups(&["db", "lan"]))
            .expect("known");
        assert_eq!(
            (&body["description"], &body["rules"][0]["description"]),
            (&json!(sent), &json!("the rule's"))
        );
    }
}

/// What the file does not say is no difference, and the prediction of the result takes it from the live object.
#[test]
fn what_is_not_ours_is_no_difference() {
    let live = read(
        Kind::Route,
        over(
            route("x", "10.0.0.0/8", &["lan"]),
            json!({ "metric": 7, "description": "d" }),
        ),
    );
    let file =
        desired(&json!({ "routes": { "x": { "network": "10.0.0.0/8", "peer_groups": ["lan"] } } }));
    let ours = file
        .resource(&Address::new(Kind::Route, "x"))
        .first()
        .expect("declared")
        .clone();
    assert_eq!(differences(&ours, &live.resource), []);
    assert_eq!(ours.over(&live.resource), live.resource);
}

/// An id of a group that is gone is said as such, and differs from every name.
#[test]
fn a_deleted_group_is_named_as_one() {
    let live = read(
        Kind::SetupKey,
        over(key("x", &[]), json!({ "auto_groups": ["gone"] })),
    );
    let Resource::SetupKey(read) = live.resource else {
        panic!()
    };
    assert_eq!(
        read.auto_groups.expect("read").first().map(String::as_str),
        Some("(deleted group gone)")
    );
}
