//! Every recorded answer of a real server that concerns the kinds: it reads, and a request in which nothing is ours
//! sends back everything.

use serde_json::{Map, Value, json};

use crate::account::{Actual, Early, Snapshot};
use crate::base::Id;
use crate::model::{Answers, Groups, Kind, Policy, Resource, Route, SetupKey, differences};
use crate::testing::recordings;
use crate::wire::api::objects;

/// The recorded objects of a kind: name of the recording and object. What stands in others comes in their answers.
fn objects(kind: Kind) -> Vec<(String, Value)> {
    let mut objects = Vec::new();
    if let Some(Answers::Embedded(field)) = kind.inside().map(|inside| inside.answers) {
        for (name, parent) in self::objects(kind.top()) {
            let inside = parent[field].as_array().into_iter().flatten();
            objects.extend(inside.map(|entry| (name.clone(), entry.clone())));
        }
        return objects;
    }
    for (name, recording) in recordings() {
        let path = recording["request"]["path"].as_str().expect("a path");
        let of_kind = path
            .strip_prefix("/api")
            .and_then(|path| match kind.parent() {
                Some(parent) => {
                    let inside = path.strip_prefix(parent.path())?.strip_prefix('/')?;
                    let (_, rest) = inside.split_once('/')?;
                    rest.strip_prefix(kind.path().strip_prefix('/')?)
                }
                None => path.strip_prefix(kind.path()),
            })
            .is_some_and(|rest| {
                rest.is_empty() || rest.starts_with('/') && rest.matches('/').count() == 1
            });
        let body = &recording["response"]["body"];
        if !of_kind || name.starts_with("error-") {
            continue;
        }
        match body {
            Value::Array(list) => {
                objects.extend(list.iter().map(|entry| (name.clone(), entry.clone())))
            }
            Value::Null => {}
            entry if entry.get("id").is_some() || kind.is_one() => {
                objects.push((name, entry.clone()));
            }
            _ => assert!(name.ends_with("-deleted"), "{name} holds no object"),
        }
    }
    objects
}

fn groups() -> Groups {
    let mut groups = Groups::default();
    for (_, group) in objects(Kind::Group) {
        let text = |field: &str| group[field].as_str().expect("a text").to_owned();
        groups.insert(Id(text("id").into()), text("name"));
    }
    groups
}

/// How many objects were recorded of each kind: a lost recording fails here.
#[test]
fn there_are_recordings_of_every_kind() {
    let counts: Vec<(&str, usize)> = Kind::ALL
        .iter()
        .map(|kind| (kind.word(), objects(*kind).len()))
        .collect();
    let least = [
        ("group", 9),
        ("setup_key", 12),
        ("peer", 10),
        ("user", 1),
        ("network", 1),
        ("network_resource", 0),
        ("network_router", 1),
        ("posture_check", 1),
        ("policy", 11),
        ("route", 5),
        ("account_settings", 1),
        ("nameserver_group", 2),
        ("dns_settings", 1),
        ("dns_zone", 1),
        ("dns_record", 1),
    ];
    for ((kind, count), (wanted, least)) in counts.into_iter().zip(least) {
        assert!(kind == wanted && count >= least, "{count} of {kind}");
    }
}

/// The object with nothing of ours in it but what a file has to say.
fn left_alone(resource: Resource) -> Resource {
    match resource {
        Resource::Group(_) => Resource::Group(crate::model::kind::Group::default()),
        Resource::SetupKey(key) => Resource::SetupKey(SetupKey {
            usage_limit: None,
            auto_groups: None,
            ephemeral: None,
            allow_extra_dns_labels: None,
            sealed_for: Default::default(),
            ..key
        }),
        Resource::PostureCheck(_) => {
            Resource::PostureCheck(crate::model::kind::PostureCheck::default())
        }
        Resource::Policy(policy) => Resource::Policy(Policy {
            sources: policy.sources,
            destinations: policy.destinations,
            ..Policy::default()
        }),
        Resource::Route(route) => Resource::Route(Route {
            network: route.network,
            domains: route.domains,
            peer_groups: route.peer_groups,
            peer: route.peer,
            ..Route::default()
        }),
        Resource::NameserverGroup(group) => {
            Resource::NameserverGroup(crate::model::kind::NameserverGroup {
                description: None,
                search_domains_enabled: None,
                enabled: None,
                ..group
            })
        }
        Resource::Peer(_) => Resource::Peer(crate::model::kind::Peer::default()),
        Resource::User(_) => Resource::User(crate::model::kind::User::default()),
        Resource::AccountSettings(_) => {
            Resource::AccountSettings(crate::model::kind::AccountSettings::default())
        }
        Resource::Network(_) => Resource::Network(crate::model::kind::Network::default()),
        Resource::NetworkResource(resource) => {
            Resource::NetworkResource(crate::model::kind::NetworkResource {
                address: resource.address,
                ..Default::default()
            })
        }
        Resource::NetworkRouter(router) => {
            Resource::NetworkRouter(crate::model::kind::NetworkRouter {
                peer: router.peer,
                peer_groups: router.peer_groups,
                ..Default::default()
            })
        }
        Resource::DnsSettings(_) => {
            Resource::DnsSettings(crate::model::kind::DnsSettings::default())
        }
        Resource::DnsZone(zone) => Resource::DnsZone(crate::model::kind::DnsZone {
            search_domain: None,
            enabled: None,
            ..zone
        }),
        Resource::DnsRecord(record) => Resource::DnsRecord(crate::model::kind::DnsRecord {
            ttl: None,
            ..record
        }),
    }
}

/// What the server must be sent to keep an object as it is: docs/netbird-api.md, "Null, empty and absent", written down
/// a second time.
fn keeps_everything(kind: Kind, answer: &Value) -> Value {
    let ids = |list: &Value| -> Value {
        let entries = list.as_array().into_iter().flatten();
        entries
            .map(|entry| entry.get("id").unwrap_or(entry).clone())
            .collect()
    };
    let mut body = answer.clone();
    let fields = body.as_object_mut().expect("an object");
    fields.remove("id");
    match kind {
        Kind::Group => {
            for computed in ["issued", "peers_count", "resources_count"] {
                fields.remove(computed);
            }
            fields.insert("peers".into(), ids(&answer["peers"]));
        }
        Kind::SetupKey => *fields = pick(answer, &["auto_groups", "revoked"]),
        Kind::Peer => {
            let sent = [
                "name",
                "ssh_enabled",
                "login_expiration_enabled",
                "inactivity_expiration_enabled",
            ];
            *fields = pick(answer, &sent);
        }
        Kind::User => *fields = pick(answer, &["role", "auto_groups", "is_blocked"]),
        Kind::Policy => {
            let mut rule = answer["rules"][0].clone();
            rule["sources"] = ids(&rule["sources"]);
            rule["destinations"] = ids(&rule["destinations"]);
            fields.insert("rules".into(), json!([rule]));
        }
        Kind::Route => {
            let unused = if answer["network_type"] == "Domain" {
                "network"
            } else {
                "domains"
            };
            let unused_routers = match answer["peer"].as_str() {
                Some("") | None => "peer",
                Some(_) => "peer_groups",
            };
            for computed in ["network_type", unused_routers, unused] {
                fields.remove(computed);
            }
            fields.entry("access_control_groups").or_insert(json!([]));
        }
        Kind::Network => {
            for computed in ["routers", "resources", "policies", "routing_peers_count"] {
                fields.remove(computed);
            }
        }
        Kind::NetworkResource => {
            fields.remove("type");
            fields.insert("groups".into(), ids(&answer["groups"]));
        }
        Kind::DnsZone => drop(fields.remove("records")),
        // null stays null where a list of groups was never set
        // a range that does not change is left out: some servers compare it with another one than they answer
        Kind::AccountSettings => {
            let mut settings = answer["settings"].clone();
            let of_answer = settings.as_object_mut().expect("settings");
            of_answer.retain(|field, _| !field.starts_with("network_range"));
            return json!({ "settings": settings });
        }
        Kind::NameserverGroup
        | Kind::DnsSettings
        | Kind::DnsRecord
        | Kind::NetworkRouter
        | Kind::PostureCheck => {}
    }
    // an empty list is sent as such
    for value in fields.values_mut().filter(|value| value.is_null()) {
        *value = json!([]);
    }
    body
}

fn pick(answer: &Value, fields: &[&str]) -> Map<String, Value> {
    fields
        .iter()
        .map(|field| ((*field).to_owned(), answer[field].clone()))
        .collect()
}

/// Lists in one order: the server has none.
fn sorted(value: &Value) -> Value {
    match value {
        Value::Array(entries) => {
            let mut entries: Vec<Value> = entries.iter().map(sorted).collect();
            entries.sort_by_key(Value::to_string);
            entries.dedup();
            entries.into()
        }
        Value::Object(fields) => fields
            .iter()
            .map(|(field, value)| (field.clone(), sorted(value)))
            .collect(),
        other => other.clone(),
    }
}

#[test]
fn a_request_in_which_nothing_is_ours_loses_nothing() {
    let groups = groups();
    for kind in Kind::ALL {
        for (recording, answer) in objects(kind) {
            let live = Resource::read(kind, answer.clone(), &groups)
                .unwrap_or_else(|error| panic!("{recording}: {error}"));
            // what only NetBird can say of an object is a difference that plan shows, not a field that gets lost
            let is_elsewhere = ["sourceResource", "destinationResource"]
                .iter()
                .any(|side| answer["rules"][0].get(side).is_some())
                || answer["rules"]
                    .as_array()
                    .is_some_and(|rules| rules.len() > 1);
            let left_alone = left_alone(live.resource.clone());
            assert_eq!(
                !differences(&left_alone, &live.resource).is_empty(),
                is_elsewhere,
                "{recording}: {answer}"
            );
            if is_elsewhere {
                continue;
            }
            let body = left_alone
                .request(&live.name, Some(&answer), &groups)
                .unwrap_or_else(|error| panic!("{recording}: {error}"));
            assert_eq!(
                sorted(&body),
                sorted(&keeps_everything(kind, &answer)),
                "{recording}"
            );
            assert_eq!(
                differences(&live.resource, &live.resource),
                [],
                "{recording}"
            );
        }
    }
}

/// The whole recorded account, as one snapshot.
#[test]
fn the_recorded_account_reads() {
    let recordings = recordings();
    let body = |name: &str| &recordings[name]["response"]["body"];
    let mut live = json!({
        "groups": body("groups-list"),
        "setup_keys": body("setup-keys-list-after-use"),
        "peers": body("peers-list"),
        "policies": body("policies-list"),
        "routes": body("routes-list"),
        "nameserver_groups": body("nameserver-groups-list"),
        "users": body("users-list"),
        "events": body("events-after-enrolment"),
        "zones": body("zones-list"),
        "dns_settings": body("dns-settings"),
        "network_routers": [body("network-router-created-enabled-ignored")],
        "accounts": body("accounts"),
    });
    let snapshot: Snapshot = serde_json::from_value(live.clone()).expect("lists of an account");
    let actual = Actual::read(&snapshot).expect("real answers");
    assert_eq!(
        actual
            .me
            .as_ref()
            .map(|me| (me.name.as_str(), me.is_service_user)),
        Some(("gitops-admin", true))
    );
    let pilot = actual.keys_named("Pilot-hawk-72").next().expect("recorded");
    let bound = actual
        .bindings
        .of_key(&pilot.id)
        .and_then(|binding| binding.peer())
        .expect("bound");
    assert_eq!(
        actual.peers.get(bound).expect("a peer").name,
        "Pilot-hawk-72"
    );
    // whichever list comes later, the account is the same
    for list in live.as_object().expect("lists").keys() {
        let mut first = live.clone();
        first.as_object_mut().expect("lists").remove(list);
        let first: Snapshot = serde_json::from_value(first).expect("lists of an account");
        let early = match list.as_str() {
            "peers" => Early::begin(first),
            _ => Early::read(first, None),
        };
        let early = Some(early.expect("real answers"));
        let later = Early::complete(early, &snapshot).expect("real answers");
        let parts = |of: &Actual| {
            (
                of.objects.clone(),
                of.bindings.clone(),
                of.unlisted.clone(),
                of.event_ids.clone(),
                format!("{:?} {:?} {:?}", of.groups, of.me, of.holders),
            )
        };
        assert_eq!(parts(&later), parts(&actual), "{list}");
    }
    // without the event log the times say the same
    live["events"] = Value::Null;
    let snapshot: Snapshot = serde_json::from_value(live).expect("lists of an account");
    let without_events = Actual::read(&snapshot).expect("real answers");
    assert_eq!(
        without_events
            .bindings
            .of_key(&pilot.id)
            .and_then(|binding| binding.peer()),
        Some(bound)
    );
    assert_eq!(actual.peer_label(bound), "Pilot-hawk-72");
    let lab = actual.groups.id("lab").expect("recorded");
    assert!(
        actual.holders[lab]
            .iter()
            .any(|who| who.starts_with("network resource ")),
        "{actual:?}"
    );
    assert_eq!(
        actual.protected_groups.values().collect::<Vec<_>>(),
        [&crate::model::problem::Protection::All]
    );
}

/// Every event reads, the odd ones too: an unknown code and texts in the place of numbers are no error.
#[test]
fn every_recorded_event_reads() {
    let recordings = recordings();
    for name in ["events-after-enrolment", "events-one-per-code"] {
        let events: Vec<objects::Event> =
            serde_json::from_value(recordings[name]["response"]["body"].clone()).expect("events");
        assert!(
            events
                .iter()
                .all(|event| event.timestamp.is_some() && !event.activity_code.is_empty()),
            "{name}"
        );
    }
    let odd = json!({ "id": "7", "timestamp": "2026-03-02T09:14:07+02:00", "activity_code": "made.up", "meta": null });
    let odd: objects::Event = serde_json::from_value(odd).expect("an event");
    assert_eq!((odd.target_id.as_str(), odd.meta("name")), ("", None));
}

/// A key that was shown once is masked in every later answer, and nothing of it is read.
#[test]
fn nothing_of_a_key_is_read() {
    for (recording, answer) in objects(Kind::SetupKey) {
        let live =
            Resource::read(Kind::SetupKey, answer.clone(), &groups()).expect("a real answer");
        let secret = answer["key"].as_str().expect("a key");
        assert!(
            !format!("{:?}", live.resource).contains(secret),
            "{recording}"
        );
    }
}
