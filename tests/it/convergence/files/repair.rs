//! What keeps a generated file one that somebody could have written.

use serde_json::{Map, Value, json};

/// Takes out references that no file could have: to groups that are not declared, and of pending keys to groups whose
/// members do not list them.
pub(super) fn repair(file: &mut Value) {
    let declared: Vec<String> = file["groups"]
        .as_object()
        .map(|groups| groups.keys().cloned().collect())
        .unwrap_or_default();
    let pointers = [
        "/setup_keys",
        "/policies",
        "/routes",
        "/dns/nameserver_groups",
        "/dns/zones",
        "/dns",
        "/account",
        "/networks/t1/resources",
        "/networks/t2/resources",
    ];
    let inside = ["/networks/t1/resources", "/networks/t2/resources"];
    let inside = inside
        .iter()
        .filter_map(|path| file.pointer(path)?.as_object());
    let resource = inside.flat_map(Map::keys).next().cloned();
    // where the file has networks, others' resources can go
    if file.get("networks").is_some() {
        let policies = file.get_mut("policies").and_then(Value::as_object_mut);
        for policy in policies.into_iter().flat_map(Map::values_mut) {
            match (&resource, policy["destination_resource"] == "lan") {
                (_, false) => {}
                (Some(name), true) => policy["destination_resource"] = json!(name),
                (None, true) => {
                    policy
                        .as_object_mut()
                        .unwrap()
                        .remove("destination_resource");
                    policy["destinations"] = json!(["base"]);
                }
            }
        }
    }
    for pointer in pointers {
        for entry in file
            .pointer_mut(pointer)
            .and_then(Value::as_object_mut)
            .into_iter()
            .flat_map(Map::values_mut)
            .flat_map(objects)
        {
            for field in [
                "auto_groups",
                "sources",
                "destinations",
                "peer_groups",
                "groups",
                "access_control_groups",
                "distribution_groups",
                "disabled_management_groups",
                "ipv6_enabled_groups",
                "peer_expose_groups",
            ] {
                let Some(names) = entry.get_mut(field).and_then(Value::as_array_mut) else {
                    continue;
                };
                names.retain(|name| name == "base" || declared.iter().any(|group| name == group));
                if names.is_empty()
                    && !matches!(
                        field,
                        "auto_groups"
                            | "access_control_groups"
                            | "disabled_management_groups"
                            | "ipv6_enabled_groups"
                            | "peer_expose_groups"
                    )
                {
                    names.push(json!("base"));
                }
            }
            if let Some(logins) = entry.pointer("/authorized_groups/a").cloned() {
                let sources = entry.get("sources").and_then(Value::as_array);
                let sources = sources.cloned().unwrap_or(vec![json!("base")]).into_iter();
                let users = sources
                    .map(|group| (group.as_str().expect("a name").to_owned(), logins.clone()));
                entry["authorized_groups"] = Value::Object(users.collect());
            }
        }
    }
    let joins = file
        .pointer("/setup_keys/k1/auto_groups")
        .cloned()
        .unwrap_or_default();
    for group in joins
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
    {
        let peers = file
            .pointer_mut(&format!("/groups/{group}/peers"))
            .and_then(Value::as_array_mut);
        if let Some(peers) = peers.filter(|peers| !peers.contains(&json!("k1"))) {
            peers.push(json!("k1"));
        }
    }
}

/// The objects of an entry, which can be a list of them.
fn objects(entry: &mut Value) -> Vec<&mut Value> {
    match entry {
        Value::Array(all) => all.iter_mut().collect(),
        one => vec![one],
    }
}

/// Says every reference to groups: one that is not said is kept, and may be to a group that is to go.
pub(super) fn name_all_groups(file: &mut Value) {
    let fields = [
        ("/setup_keys", "auto_groups", json!([])),
        ("/routes", "groups", json!(["base"])),
        ("/routes", "access_control_groups", json!([])),
        ("/networks/t1/resources", "groups", json!([])),
        ("/networks/t2/resources", "groups", json!([])),
    ];
    if let Some(settings) = file
        .pointer_mut("/dns/settings")
        .filter(|at| at.as_object().is_some_and(Map::is_empty))
    {
        settings["disabled_management_groups"] = json!([]);
    }
    if let Some(settings) = file.pointer_mut("/account/settings") {
        for field in ["ipv6_enabled_groups", "peer_expose_groups"] {
            if settings.get(field).is_none() {
                settings[field] = json!([]);
            }
        }
    }
    for (section, field, default) in fields {
        let entries = file.pointer_mut(section).and_then(Value::as_object_mut);
        let entries = entries.into_iter().flat_map(Map::values_mut);
        for entry in entries.flat_map(objects) {
            if entry.get(field).is_none() {
                entry[field] = default.clone();
            }
        }
    }
}
