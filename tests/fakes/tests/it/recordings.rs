//! Recorded answers of a real NetBird, v0.77.1: each request is sent to the fake, and brings the
//! same status, the same fields of the same types, or the same refusal. The folder holds those that
//! need no history of their own.

use std::collections::BTreeMap;
use std::path::Path;

use fakes::NetBird;
use serde_json::{Value, json};

use crate::{send_as, text};

/// Types by the path of a field.
type Shape = BTreeMap<String, &'static str>;

/// Returns the type at each path of a value; entries of a list share one path, and what is null or
/// empty says nothing.
fn shape(value: &Value) -> Shape {
    fn visit(value: &Value, path: &str, shape: &mut Shape) {
        let kind = match value {
            Value::Null => "null",
            Value::Bool(_) => "bool",
            Value::Number(_) => "number",
            Value::String(_) => "text",
            Value::Array(items) => {
                items
                    .iter()
                    .for_each(|item| visit(item, &format!("{path}[]"), shape));
                "list"
            }
            Value::Object(fields) => {
                fields
                    .iter()
                    .for_each(|(name, field)| visit(field, &format!("{path}.{name}"), shape));
                "object"
            }
        };
        let known = shape.entry(path.to_owned()).or_insert(kind);
        if *known == "null" {
            *known = kind;
        }
    }
    let mut found = BTreeMap::new();
    visit(value, "", &mut found);
    found
}

fn is_id(text: &str) -> bool {
    text.len() == 20 && text.starts_with("dc50o") || text.len() == 36 && text.contains('-')
}

/// Replaces each recorded id in a body by this one.
fn with_id(value: &Value, id: &str) -> Value {
    match value {
        Value::String(text) if is_id(text) => json!(id),
        Value::Array(items) => items.iter().map(|item| with_id(item, id)).collect(),
        Value::Object(fields) => Value::Object(
            fields
                .iter()
                .map(|(name, field)| (name.clone(), with_id(field, id)))
                .collect(),
        ),
        _ => value.clone(),
    }
}

/// Replaces each recorded id in a path by that of an object in the same list.
fn with_ids(netbird: &NetBird, path: &str) -> String {
    let mut done = String::new();
    for segment in path.split('/').skip(1) {
        let id = is_id(segment).then(|| {
            let list = netbird.list(&done);
            let mut items = list.as_array().into_iter().flatten();
            let of_token = json!(netbird.user_id(&netbird.token()));
            let wanted = items
                .find(|item| item["name"] != "All" && (done != "/users" || item["id"] == of_token));
            text(wanted.unwrap_or_else(|| panic!("{done} is empty")), "id")
        });
        done = format!("{done}/{}", id.as_deref().unwrap_or(segment));
    }
    done
}

#[test]
fn recorded_requests_bring_answers_of_the_same_shape() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("recordings/netbird");
    let (mut count, mut differences) = (0, Vec::new());
    for entry in std::fs::read_dir(folder).expect("the folder of recordings") {
        let path = entry.expect("an entry").path();
        let bytes = std::fs::read(&path).expect("a readable recording");
        let recording: Value = serde_json::from_slice(&bytes).expect("a recording in JSON");
        let found = difference(&recording);
        differences.extend(found.map(|found| format!("{}: {found}", path.display())));
        count += 1;
    }
    assert!(count > 0, "no recording was found");
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

/// Returns in what the fake's answer to a recorded request differs.
fn difference(recording: &Value) -> Option<String> {
    let netbird = NetBird::start();
    let (request, wanted) = (&recording["request"], &recording["response"]);
    let group = furnish(&netbird);
    let path = text(request, "path");
    let path = with_ids(
        &netbird,
        path.strip_prefix("/api").expect("a path of the API"),
    );
    let body = Some(with_id(&request["body"], &group)).filter(|body| !body.is_null());
    let (token, method) = (netbird.token(), text(request, "method"));
    let answer = send_as(&netbird, Some(&token), &method, &path, body).expect("an answer");
    if json!(answer.status) != wanted["status"] {
        return Some(format!("status {}, {}", answer.status, answer.text));
    }
    if answer.status >= 400 {
        return (answer.json != wanted["body"])
            .then(|| format!("{} for {}", answer.text, wanted["body"]));
    }
    other_shape(&answer.json, &wanted["body"])
}

/// Returns in which fields and types two values differ.
pub(crate) fn other_shape(found: &Value, wanted: &Value) -> Option<String> {
    let (found, wanted) = (shape(found), shape(wanted));
    let only = |these: &Shape, those: &Shape| -> Vec<String> {
        these
            .iter()
            .filter(|(path, kind)| those.get(*path) != Some(kind))
            .map(|(path, kind)| format!("{path} {kind}"))
            .collect()
    };
    let (more, less) = (only(&found, &wanted), only(&wanted, &found));
    (!more.is_empty() || !less.is_empty()).then(|| format!("fake {more:?}, recorded {less:?}"))
}

/// One object of each kind, as the recorded server had them, so that no list is empty. Returns the
/// id of a group.
fn furnish(netbird: &NetBird) -> String {
    let group = text(
        &netbird.create("/groups", json!({"name": "ground-stations"})),
        "id",
    );
    let key =
        json!({"name": "spare", "type": "one-off", "expires_in": 3600, "auto_groups": [group]});
    let plain = text(&netbird.create("/setup-keys", key), "key");
    netbird.enroll(&plain, "gs-ams-1").expect("a fresh key");
    netbird.create(
        "/posture-checks",
        json!({"name": "new-enough", "checks": {
            "nb_version_check": {"min_version": "0.60.0"},
            "peer_network_range_check": {"action": "deny", "ranges": ["192.168.0.0/16"]},
            "process_check": {"processes": [{"linux_path": "/usr/bin/falcon-sensor"}]},
        }}),
    );
    netbird.create("/dns/nameservers", json!({
        "name": "corp", "nameservers": [{"ip": "10.20.0.53", "ns_type": "udp", "port": 53}], "groups": [group],
        "domains": ["corp.example"], "enabled": true,
    }));
    let zone = json!({"name": "lab", "domain": "lab.example", "distribution_groups": [group]});
    let zone = text(&netbird.create("/dns/zones", zone), "id");
    let record = json!({"name": "db.lab.example", "type": "A", "content": "10.20.0.9", "ttl": 300});
    netbird.create(&format!("/dns/zones/{zone}/records"), record);
    let network = text(
        &netbird.create("/networks", json!({"name": "ams-office"})),
        "id",
    );
    let resource = json!({"name": "office-lan", "address": "10.20.0.9", "enabled": true});
    netbird.create(&format!("/networks/{network}/resources"), resource);
    let router = json!({"peer_groups": [group], "metric": 9999, "masquerade": true});
    netbird.create(&format!("/networks/{network}/routers"), router);
    group
}
