//! What is sent, per kind: a creation with the documented defaults, an update that keeps whatever is not ours.

use serde_json::{Value, json};
use snapbox::data::Inline;
use snapbox::{IntoData, assert_data_eq, str};

use super::{groups, read};
use crate::resource::Resource;
use crate::state::Kind;
use crate::testing::{self, desired, group, key, nameservers, policy_with, route};

const NAMES: [(Kind, &str); 6] = [
    (Kind::Group, "All"),
    (Kind::Group, "pilots"),
    (Kind::Group, "db"),
    (Kind::Group, "lan"),
    (Kind::Group, "guards"),
    (Kind::Peer, "edge"),
];

/// The declared object of that kind called `x`, with these fields.
fn declared(kind: Kind, fields: Value) -> Resource {
    let section = json!({ "x": fields });
    let file = match kind {
        Kind::NameserverGroup => json!({ "dns": { "nameserver_groups": section } }),
        _ => json!({ kind.section(): section }),
    };
    let desired = desired(&file);
    match kind {
        Kind::SetupKey => crate::keys::desired(desired.setup_key("x").expect("declared")),
        Kind::Policy => Resource::Policy(desired.policies.expect("declared")["x"].clone()),
        Kind::Route => Resource::Route(desired.routes.expect("declared")["x"].clone()),
        Kind::NameserverGroup => {
            Resource::NameserverGroup(desired.nameserver_groups.expect("declared")["x"].clone())
        }
        Kind::Group | Kind::Peer => panic!("made by hand where it is wanted"),
    }
}

/// Compares the body of a POST, or of a PUT over a live answer, with a snapshot.
#[track_caller]
fn assert_body(resource: &Resource, live: Option<Value>, snapshot: Inline) {
    let groups = groups(&["pilots", "db", "lan", "guards"]);
    let body = resource
        .request("x", live.as_ref(), &groups)
        .expect("every group is known");
    let text = serde_json::to_string_pretty(&body).expect("JSON");
    assert_data_eq!(testing::named(&text, &NAMES), snapshot.raw());
}

#[test]
fn a_new_setup_key_has_no_groups_until_it_is_sealed() {
    let key = declared(
        Kind::SetupKey,
        json!({ "type": "one-off", "expires_in": 604_800, "auto_groups": ["pilots"] }),
    );
    assert_body(
        &key,
        None,
        str![[r#"
{
  "allow_extra_dns_labels": false,
  "auto_groups": [],
  "ephemeral": false,
  "expires_in": 604800,
  "name": "x",
  "type": "one-off",
  "usage_limit": 1
}
"#]],
    );
}

#[test]
fn a_reusable_setup_key_is_unlimited_by_default() {
    let key = declared(
        Kind::SetupKey,
        json!({ "type": "reusable", "expires_in": 0 }),
    );
    assert_body(
        &key,
        None,
        str![[r#"
{
  "allow_extra_dns_labels": false,
  "auto_groups": [],
  "ephemeral": false,
  "expires_in": 0,
  "name": "x",
  "type": "reusable",
  "usage_limit": 0
}
"#]],
    );
}

/// The server takes two fields and forgets neither; a revoked key cannot be un-revoked.
#[test]
fn an_update_of_a_setup_key_repeats_revoked() {
    let live = testing::over(key("x", &["db"]), json!({ "revoked": true }));
    let ours = json!({ "type": "one-off", "expires_in": 0, "auto_groups": ["pilots"] });
    assert_body(
        &declared(Kind::SetupKey, ours),
        Some(live.clone()),
        str![[r#"
{
  "auto_groups": [
    "<group pilots>"
  ],
  "revoked": true
}
"#]],
    );
    let not_ours = json!({ "type": "one-off", "expires_in": 0 });
    assert_body(
        &declared(Kind::SetupKey, not_ours),
        Some(live),
        str![[r#"
{
  "auto_groups": [
    "<group db>"
  ],
  "revoked": true
}
"#]],
    );
}

#[test]
fn a_new_policy_takes_the_documented_defaults() {
    let policy = declared(
        Kind::Policy,
        json!({ "sources": ["pilots"], "destinations": ["db", "All"] }),
    );
    assert_body(
        &policy,
        None,
        str![[r#"
{
  "description": "",
  "enabled": true,
  "name": "x",
  "rules": [
    {
      "action": "accept",
      "bidirectional": true,
      "description": "",
      "destinations": [
        "<group All>",
        "<group db>"
      ],
      "enabled": true,
      "name": "x",
      "protocol": "all",
      "sources": [
        "<group pilots>"
      ]
    }
  ],
  "source_posture_checks": []
}
"#]],
    );
}

/// C013 and C094: a change of the description alone carries ports, posture checks, authorized groups and what a later
/// version knows; the rule's id is repeated.
#[test]
fn an_update_of_a_policy_keeps_what_is_not_ours() {
    let rule = json!({ "id": "legacy-rule", "protocol": "tcp", "port_ranges": [{ "start": 7000, "end": 7100 }],
                       "description": "the rule's own", "authorized_groups": { "g": ["root"] }, "of_the_future": [1] });
    let mut live = policy_with("x", &["pilots"], &["db"], rule);
    live["source_posture_checks"] = json!(["check"]);
    live["of_the_future"] = json!({ "a": null });
    let policy = declared(
        Kind::Policy,
        json!({ "description": "new", "sources": ["pilots"], "destinations": ["db"] }),
    );
    assert_body(
        &policy,
        Some(live),
        str![[r#"
{
  "description": "new",
  "enabled": true,
  "name": "x",
  "of_the_future": {
    "a": null
  },
  "rules": [
    {
      "action": "accept",
      "authorized_groups": {
        "g": [
          "root"
        ]
      },
      "bidirectional": true,
      "description": "the rule's own",
      "destinations": [
        "<group db>"
      ],
      "enabled": true,
      "id": "legacy-rule",
      "name": "x",
      "of_the_future": [
        1
      ],
      "port_ranges": [
        {
          "end": 7100,
          "start": 7000
        }
      ],
      "protocol": "tcp",
      "sources": [
        "<group pilots>"
      ]
    }
  ],
  "source_posture_checks": [
    "check"
  ]
}
"#]],
    );
}

/// C028: the server refuses ports and ranges in one rule, so one range makes ranges of all.
#[test]
fn ports_go_as_ranges_as_soon_as_one_is_a_range() {
    let fields = |ports: Value| json!({ "sources": ["pilots"], "destinations": ["db"], "protocol": "TCP", "ports": ports });
    let live = policy_with(
        "x",
        &["pilots"],
        &["db"],
        json!({ "ports": ["1"], "protocol": "udp" }),
    );
    let mixed = declared(Kind::Policy, fields(json!(["8000-8100", 443])));
    let body = mixed
        .request("x", Some(&live), &groups(&["pilots", "db"]))
        .expect("known");
    let ranges = json!([{ "start": 443, "end": 443 }, { "start": 8000, "end": 8100 }]);
    assert_eq!(body["rules"][0]["port_ranges"], ranges);
    assert_eq!(body["rules"][0].get("ports"), None);
    assert_eq!(
        body["rules"][0]["protocol"], "tcp",
        "the server refuses capitals"
    );

    let live = policy_with(
        "x",
        &["pilots"],
        &["db"],
        json!({ "port_ranges": [{ "start": 1, "end": 2 }] }),
    );
    let single = declared(Kind::Policy, fields(json!([443, "80"])));
    let body = single
        .request("x", Some(&live), &groups(&["pilots", "db"]))
        .expect("known");
    assert_eq!(body["rules"][0]["ports"], json!(["80", "443"]));
    assert_eq!(body["rules"][0].get("port_ranges"), None);

    let none = declared(Kind::Policy, fields(json!([])));
    let body = none
        .request("x", Some(&live), &groups(&["pilots", "db"]))
        .expect("known");
    assert_eq!(
        (
            body["rules"][0].get("ports"),
            body["rules"][0].get("port_ranges")
        ),
        (Some(&json!([])), None)
    );
}

/// A side that is a resource in NetBird becomes groups: both present is refused.
#[test]
fn a_resource_makes_room_for_groups() {
    let resource =
        json!({ "destinations": null, "destinationResource": { "id": "r", "type": "host" } });
    let live = policy_with("x", &["pilots"], &[], resource);
    let policy = declared(
        Kind::Policy,
        json!({ "sources": ["pilots"], "destinations": ["db"] }),
    );
    let body = policy
        .request("x", Some(&live), &groups(&["pilots", "db"]))
        .expect("known");
    assert_eq!(body["rules"][0].get("destinationResource"), None);
    assert_eq!(
        body["rules"][0]["destinations"],
        json!(testing::groups(&["db"]))
    );
}

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

/// C044: the access control groups are what guards the network.
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
    let left_alone = Resource::Group(crate::resource::Group { peers: None });
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
    let renamed = Resource::Peer(crate::resource::Peer { name: "x".into() });
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
    twice.insert(crate::state::Id("another".into()), "nowhere".into());
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
