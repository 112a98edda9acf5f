//! What is sent, per kind: a creation with the documented defaults, an update that keeps whatever is not ours.

mod rest;

use serde_json::{Value, json};
use snapbox::data::Inline;
use snapbox::{IntoData, assert_data_eq, str};

use super::groups;
use crate::model::{Address, Kind, Resource};
use crate::testing::{self, desired, key, policy_with};

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
    let wrap = |inside: Value, name: &&str| json!({ *name: inside });
    let desired = desired(&kind.section_path().iter().rev().fold(section, wrap));
    match kind {
        Kind::SetupKey => desired.setup_key("x").expect("declared").clone().into(),
        _ => {
            let resource = desired.resource(&Address::new(kind, "x"));
            resource.first().expect("declared").clone()
        }
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

/// A change of the description alone carries ports, posture checks, authorized groups and what a later
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

/// The server refuses ports and ranges in one rule, so one range makes ranges of all.
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
