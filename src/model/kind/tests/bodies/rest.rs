//! Requests of routes, nameserver groups, groups and peers.

use std::collections::BTreeSet;

use serde_json::json;
use snapbox::str;

use super::super::{groups, read};
use super::{assert_body, declared};
use crate::base::Id;
use crate::model::{Group, Kind, Resource};
use crate::testing::{self, group, key, nameservers, route};

#[test]
fn a_new_route_takes_the_documented_defaults() {
    let route = declared(
        Kind::Route,
        json!({ "network": "192.168.1.0/24", "peer_groups": ["lan"] }),
    );
    assert_body(
        &route,
        None,
        str![[r#"
{
  "access_control_groups": [],
  "description": "",
  "enabled": true,
  "groups": [
    "<group All>"
  ],
  "keep_route": false,
  "masquerade": true,
  "metric": 9999,
  "network": "192.168.1.0/24",
  "network_id": "x",
  "peer_groups": [
    "<group lan>"
  ],
  "skip_auto_apply": false
}
"#]],
    );
}

/// The access control groups are what guards the network.
#[test]
fn an_update_of_a_route_keeps_what_is_not_ours() {
    let kept = json!({ "access_control_groups": testing::groups(&["guards"]), "keep_route": true,
                       "skip_auto_apply": true, "masquerade": false, "metric": 7, "of_the_future": "x" });
    let live = testing::over(route("x", "192.168.1.0/24", &["lan"]), kept);
    let ours = json!({ "network": "192.168.1.0/24", "peer_groups": ["lan"], "enabled": false });
    assert_body(
        &declared(Kind::Route, ours),
        Some(live),
        str![[r#"
{
  "access_control_groups": [
    "<group guards>"
  ],
  "description": "",
  "enabled": false,
  "groups": [
    "<group All>"
  ],
  "keep_route": true,
  "masquerade": false,
  "metric": 7,
  "network": "192.168.1.0/24",
  "network_id": "x",
  "of_the_future": "x",
  "peer_groups": [
    "<group lan>"
  ],
  "skip_auto_apply": true
}
"#]],
    );
}

/// Presence is what counts: a domain route comes with a placeholder network, and a group route with an empty peer.
#[test]
fn of_network_and_domains_only_one_is_sent() {
    let placeholder =
        json!({ "network_type": "Domain", "network": "192.0.2.0/32", "domains": ["a.example"] });
    let by_domain = testing::over(route("x", "", &["lan"]), placeholder);
    let by_network = route("x", "10.0.0.0/8", &["lan"]);
    for live in [by_domain, by_network] {
        for (ours, other, fields) in [
            (
                "network",
                "domains",
                json!({ "network": "10.1.0.0/16", "peer_groups": ["lan"] }),
            ),
            (
                "domains",
                "network",
                json!({ "domains": ["B.example", "a.example"], "peer_groups": ["lan"] }),
            ),
        ] {
            let route = declared(Kind::Route, fields);
            let body = route
                .request("x", Some(&live), &groups(&["lan"]))
                .expect("known");
            assert!(
                body.get(ours).is_some() && body.get(other).is_none(),
                "{body}"
            );
            assert!(
                body.get("peer").is_none() && body.get("network_type").is_none(),
                "{body}"
            );
        }
    }
}

#[test]
fn a_new_nameserver_group_takes_the_documented_defaults() {
    let group = declared(
        Kind::NameserverGroup,
        json!({ "nameservers": [{ "ip": "10.20.0.53" }], "groups": ["All"], "domains": ["corp.example"] }),
    );
    assert_body(
        &group,
        None,
        str![[r#"
{
  "description": "",
  "domains": [
    "corp.example"
  ],
  "enabled": true,
  "groups": [
    "<group All>"
  ],
  "name": "x",
  "nameservers": [
    {
      "ip": "10.20.0.53",
      "ns_type": "udp",
      "port": 53
    }
  ],
  "primary": false,
  "search_domains_enabled": false
}
"#]],
    );
}

#[test]
fn an_update_of_a_nameserver_group_keeps_what_is_not_ours() {
    let kept = json!({ "description": "kept", "search_domains_enabled": true, "primary": false,
                       "domains": ["corp.example"], "enabled": false, "of_the_future": 1 });
    let live = testing::over(nameservers("x", &["10.20.0.53"], &["All"]), kept);
    let ours = json!({ "nameservers": [{ "ip": "10.20.0.54", "port": 5353 }], "groups": ["pilots"],
                       "domains": ["corp.example"] });
    assert_body(
        &declared(Kind::NameserverGroup, ours),
        Some(live),
        str![[r#"
{
  "description": "kept",
  "domains": [
    "corp.example"
  ],
  "enabled": false,
  "groups": [
    "<group pilots>"
  ],
  "name": "x",
  "nameservers": [
    {
      "ip": "10.20.0.54",
      "ns_type": "udp",
      "port": 5353
    }
  ],
  "of_the_future": 1,
  "primary": false,
  "search_domains_enabled": true
}
"#]],
    );
}

/// A PUT of a group without its members or resources would empty it.
#[test]
fn a_group_always_sends_members_and_resources() {
    let kept = json!({ "resources": [{ "id": "r", "type": "subnet" }], "of_the_future": true });
    let live = testing::over(group("x", &["edge"]), kept);
    let left_alone = Resource::Group(crate::model::kind::Group::default());
    assert_body(
        &left_alone,
        Some(live),
        str![[r#"
{
  "name": "x",
  "of_the_future": true,
  "peers": [
    "<peer edge>"
  ],
  "resources": [
    {
      "id": "r",
      "type": "subnet"
    }
  ]
}
"#]],
    );
    assert_body(
        &left_alone,
        None,
        str![[r#"
{
  "name": "x",
  "peers": [],
  "resources": []
}
"#]],
    );
}

/// Left out, each of the flags would be switched off.
#[test]
fn a_rename_of_a_peer_echoes_its_flags() {
    let renamed = Resource::Peer(crate::model::kind::Peer::named("x"));
    assert_body(
        &renamed,
        Some(testing::peer("edge")),
        str![[r#"
{
  "inactivity_expiration_enabled": false,
  "login_expiration_enabled": false,
  "name": "x",
  "ssh_enabled": true
}
"#]],
    );
}

/// A name that stands for no group, or for several, is never sent.
#[test]
fn a_name_that_is_no_group_is_an_error() {
    let policy = declared(
        Kind::Policy,
        json!({ "sources": ["pilots"], "destinations": ["nowhere"] }),
    );
    let error = policy
        .request("x", None, &groups(&["pilots"]))
        .expect_err("there is no such group");
    assert_eq!(
        error.to_string(),
        "there is no group \"nowhere\" in NetBird"
    );
    let mut twice = groups(&["pilots", "nowhere"]);
    twice.insert(crate::base::id::Id("another".into()), "nowhere".into());
    let error = policy
        .request("x", None, &twice)
        .expect_err("there are two");
    assert!(
        error
            .to_string()
            .starts_with("several groups in NetBird are called \"nowhere\": another, "),
        "{error}"
    );
}

/// The masked key and every other field of an answer stay out of requests.
#[test]
fn no_request_carries_the_key() {
    let live = key("x", &["db"]);
    let group = read(Kind::SetupKey, live.clone()).resource;
    let body = group
        .request("x", Some(&live), &groups(&["db"]))
        .expect("known");
    assert_eq!(
        body,
        json!({ "auto_groups": testing::groups(&["db"]), "revoked": false })
    );
}

#[test]
fn an_update_of_a_group_keeps_resources_members_and_unknown_fields() {
    let live = json!({ "id": "g1", "name": "ams", "issued": "api", "peers_count": 1, "resources_count": 1,
                       "peers": [{ "id": "p1", "name": "edge" }], "resources": [{ "id": "r1", "type": "subnet" }],
                       "of_a_later_version": 7 });
    let body = Resource::Group(Group::default()).request("ams", Some(&live), &groups(&[]));
    let resources = json!([{ "id": "r1", "type": "subnet" }]);
    let kept =
        json!({ "name": "ams", "peers": ["p1"], "resources": resources, "of_a_later_version": 7 });
    assert_eq!(body, Ok(kept));
}

#[test]
fn a_creation_of_a_group_sends_both_lists() {
    let peers = Some(BTreeSet::from([Id("p2".into())]));
    let body = Resource::Group(Group::with(peers)).request("new", None, &groups(&[]));
    assert_eq!(
        body,
        Ok(json!({ "name": "new", "peers": ["p2"], "resources": [] }))
    );
}
