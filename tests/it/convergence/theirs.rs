//! What others do in the account, and that it is still there afterwards.

use std::collections::BTreeMap;

use netbird_gitops::plan::options::Prune;
use proptest::prelude::*;
use proptest::test_runner::TestCaseError;
use serde_json::{Map, Value, json};

use crate::run::{Bench, id};

/// What somebody made by hand.
pub(super) struct Theirs {
    base: String,
    member: String,
    check: String,
    resource: Value,
}

impl Theirs {
    /// An account with a life of its own: peers, groups of every issuer, one object of each kind.
    pub(super) fn make(bench: &Bench) -> Theirs {
        bench.enrolled(&["m1", "m2"]);
        let base = bench.group("base");
        let member = bench.peer("theirs");
        bench.netbird().enroll_sso("laptop");
        bench.netbird().issue_group("staff", "jwt");
        bench.create("/groups", json!({ "name": "theirs", "peers": [member] }));
        let rule = json!({ "name": "theirs", "enabled": true, "action": "accept", "bidirectional": false, "protocol": "tcp",
                           "ports": ["1"], "sources": [base], "destinations": [base] });
        bench.create(
            "/policies",
            json!({ "name": "theirs", "enabled": true, "rules": [rule] }),
        );
        let route = json!({ "network_id": "theirs", "network": "172.16.0.0/12", "peer": member, "groups": [base],
                            "metric": 5, "masquerade": true, "enabled": true });
        bench.create("/routes", route);
        let servers = json!({ "name": "theirs", "nameservers": [{ "ip": "10.9.9.9", "ns_type": "udp", "port": 53 }],
                              "groups": [base], "primary": true, "domains": [], "enabled": true });
        bench.create("/dns/nameservers", servers);
        let zone =
            json!({ "name": "theirs", "domain": "theirs.example", "distribution_groups": [base] });
        let zone = id(&bench.create("/dns/zones", zone));
        let record =
            json!({ "name": "db.theirs.example", "type": "A", "content": "10.9.9.9", "ttl": 5 });
        bench.create(&format!("/dns/zones/{zone}/records"), record);
        let key =
            json!({ "name": "theirs", "type": "reusable", "expires_in": 0, "auto_groups": [base] });
        bench.create("/setup-keys", key);
        let check = json!({ "name": "new", "description": "", "checks": { "nb_version_check": { "min_version": "0.60.0" } } });
        let check = id(&bench.create("/posture-checks", check));
        let network = id(&bench.create("/networks", json!({ "name": "office" })));
        let resource =
            json!({ "name": "lan", "address": "10.20.0.0/16", "enabled": true, "groups": [] });
        let resource = bench.create(&format!("/networks/{network}/resources"), resource);
        let resource = json!({ "id": resource["id"], "type": resource["type"] });
        Theirs {
            base,
            member,
            check,
            resource,
        }
    }

    /// Changes what the file does not say of the objects that it declares.
    pub(super) fn meddle(&self, bench: &Bench, file: &Value) {
        let declared = |pointer: &str| {
            file.pointer(pointer)
                .and_then(Value::as_object)
                .cloned()
                .unwrap_or_default()
        };
        // changes of which the file says nothing
        let free = |entry: &Value, changes: Value| -> Value {
            let changes = changes.as_object().expect("changes").clone().into_iter();
            changes
                .filter(|(field, _)| entry.get(field).is_none())
                .collect::<Map<_, _>>()
                .into()
        };
        for name in declared("/groups").keys() {
            for live in bench.all("/groups", name) {
                let mut peers: Vec<Value> = live["peers"]
                    .as_array()
                    .into_iter()
                    .flatten()
                    .map(|peer| peer["id"].clone())
                    .collect();
                peers.push(json!(self.member));
                bench.edit(
                    "/groups",
                    name,
                    json!({ "peers": peers, "resources": [self.resource] }),
                );
            }
        }
        for (name, entry) in declared("/policies") {
            for live in bench.all("/policies", &name) {
                let rule = free(
                    &entry,
                    json!({ "bidirectional": !live["rules"][0]["bidirectional"].as_bool().unwrap(), "action": "drop" }),
                );
                let mut changes = free(
                    &entry,
                    json!({ "description": "by hand", "enabled": false }),
                );
                changes["source_posture_checks"] = json!([self.check]);
                changes["rule"] = rule;
                changes["rule"]["name"] = json!("by hand");
                changes["rule"]["description"] = json!("by hand");
                bench.edit("/policies", &name, changes);
            }
        }
        if let Some(entry) = file.pointer("/account/settings") {
            let account = bench.server().list("/accounts").remove(0);
            let changes = json!({ "peer_login_expiration": 7200, "lazy_connection_enabled": false, "metrics_push_enabled": true,
                                  "extra": { "user_approval_required": false, "peer_approval_enabled": true } });
            let mut settings = account["settings"].clone();
            for (field, value) in free(entry, changes).as_object().expect("changes") {
                settings[field] = value.clone();
            }
            let path = format!("/accounts/{}", id(&account));
            bench
                .server()
                .write("PUT", &path, json!({ "settings": settings }));
        }
        for (name, entry) in declared("/routes") {
            if bench.all("/routes", &name).len() == 1 && entry.is_object() {
                let changes = json!({ "description": "by hand", "access_control_groups": [self.base], "metric": 77,
                                      "masquerade": false, "keep_route": true, "skip_auto_apply": true, "enabled": false,
                                      "groups": [self.base] });
                bench.edit("/routes", &name, free(&entry, changes));
            }
        }
        for (name, entry) in declared("/dns/nameserver_groups") {
            if !bench.all("/dns/nameservers", &name).is_empty() {
                let changes = json!({ "description": "by hand", "enabled": false });
                bench.edit("/dns/nameservers", &name, free(&entry, changes));
            }
        }
        for (name, entry) in declared("/dns/zones") {
            for live in bench.all("/dns/zones", &name) {
                let domain = live["domain"].as_str().expect("a domain");
                let record = json!({ "name": format!("theirs.{domain}"), "type": "A", "content": "10.9.9.9", "ttl": 5 });
                bench.create(&format!("/dns/zones/{}/records", id(&live)), record);
                if entry.get("search_domain").is_none() {
                    let search = live["enable_search_domain"] != json!(true);
                    bench.edit(
                        "/dns/zones",
                        &name,
                        json!({ "enable_search_domain": search }),
                    );
                }
            }
        }
    }
}

const LISTS: [(&str, &str); 7] = [
    ("/networks", "/networks"),
    ("/groups", "/groups"),
    ("/setup-keys", "/setup_keys"),
    ("/policies", "/policies"),
    ("/routes", "/routes"),
    ("/dns/nameservers", "/dns/nameserver_groups"),
    ("/dns/zones", "/dns/zones"),
];

/// What the program never touches, but for what it renames or puts into groups.
const OTHERS: [&str; 4] = ["/users", "/posture-checks", "/accounts", "/peers"];

/// All objects of an account, by list and id.
pub(super) struct Account {
    objects: BTreeMap<(&'static str, String), Value>,
}

impl Account {
    /// Whether several objects have that name.
    fn several(&self, list: &str, name: &str) -> bool {
        let of_list = self.objects.iter().filter(|((at, _), _)| *at == list);
        of_list
            .filter(|(_, live)| live["network_id"] == name)
            .count()
            > 1
    }

    pub(super) fn read(bench: &Bench) -> Account {
        let mut objects = BTreeMap::new();
        let resources = bench.server().list("/networks/resources").into_iter();
        let theirs = resources.filter(|resource| resource["name"] == "lan");
        let theirs: Vec<Value> = theirs.map(|resource| resource["id"].clone()).collect();
        let lists = LISTS.iter().map(|(list, _)| *list).chain(OTHERS);
        for list in lists {
            for mut entry in bench.server().list(list) {
                // which of the file's resources are in a group, these say themselves
                if let (true, Some(resources)) =
                    (list == "/groups", entry["resources"].as_array_mut())
                {
                    resources.retain(|resource| theirs.contains(&resource["id"]));
                    if resources.is_empty() {
                        entry["resources"] = Value::Null;
                    }
                }
                objects.insert((list, id(&entry)), without_counts(entry));
            }
        }
        Account { objects }
    }
}

/// Without what follows other objects: numbers of members, names in references, policies of a network.
fn without_counts(mut value: Value) -> Value {
    const FOLLOWS: [&str; 5] = [
        "peers_count",
        "resources_count",
        "routing_peers_count",
        "updated_at",
        "policies",
    ];
    match &mut value {
        Value::Object(fields) => {
            fields.retain(|field, _| !FOLLOWS.contains(&field.as_str()));
            for (field, value) in fields.iter_mut() {
                *value = match (field.as_str(), value.as_array()) {
                    ("peers", Some(peers)) => peers.iter().map(|peer| peer["id"].clone()).collect(),
                    _ => without_counts(value.take()),
                };
            }
        }
        Value::Array(entries) => entries
            .iter_mut()
            .for_each(|entry| *entry = without_counts(entry.take())),
        _ => {}
    }
    value
}

/// That what `file` does not own is as it was.
pub(super) fn check(
    before: &Account,
    after: &Account,
    file: &Value,
    prune: Prune,
) -> Result<(), TestCaseError> {
    // a machine leaves with the key that it came by
    let leaves = |(list, id): &(&str, String), was: &Value| {
        let is_gone = *list == "/peers" && !after.objects.contains_key(&("/peers", id.clone()));
        let is_removed = prune == Prune::All && file.pointer("/setup_keys/k1").is_none();
        is_gone && is_removed && was["hostname"] == "some-host"
    };
    let objects = before.objects.iter();
    let gone = objects.filter(|(at, was)| leaves(at, was));
    let gone: Vec<&str> = gone.map(|((_, id), _)| id.as_str()).collect();
    for ((list, id), was) in &before.objects {
        if gone.contains(&id.as_str()) {
            continue;
        }
        let mut was = was.clone();
        if let Some(peers) = was.get_mut("peers").and_then(Value::as_array_mut) {
            peers.retain(|peer| !gone.iter().any(|gone| peer == gone));
            if peers.is_empty() {
                was["peers"] = Value::Null;
            }
        }
        let was = &was;
        let is = after.objects.get(&(*list, id.clone()));
        if OTHERS.contains(list) {
            let same = |value: &Value| match *list {
                "/peers" => {
                    let mut peer = value.clone();
                    // its domain and whether it has an IPv6 address follow the account's settings
                    for field in ["name", "dns_label", "groups", "ipv6"] {
                        peer[field].take();
                    }
                    let name = value["name"].as_str().unwrap_or_default();
                    if file["peers"][name].get("ssh_enabled").is_some() {
                        peer["ssh_enabled"].take();
                    }
                    peer
                }
                "/accounts" => {
                    let mut account = value.clone();
                    let declared = file.pointer("/account/settings");
                    let declared = declared.and_then(Value::as_object).into_iter().flatten();
                    for (field, _) in declared {
                        account["settings"][field].take();
                        if account["settings"]["extra"].get(field).is_some() {
                            account["settings"]["extra"][field].take();
                        }
                    }
                    account
                }
                _ => value.clone(),
            };
            prop_assert_eq!(Some(same(was)), is.map(same), "{}", list);
            continue;
        }
        let section = LISTS
            .iter()
            .find(|(path, _)| path == list)
            .map(|(_, section)| *section)
            .expect("a list");
        let name = was
            .get("name")
            .or(was.get("network_id"))
            .and_then(Value::as_str)
            .expect("a name");
        let declared = file.pointer(section).map(|section| section.get(name));
        match declared {
            // a section that is not managed; an entry that is not declared; what only an identity provider makes
            None => prop_assert_eq!(Some(was), is),
            Some(None) if prune == Prune::None || name == "All" || was["issued"] == "jwt" => {
                prop_assert_eq!(Some(was), is)
            }
            Some(None) => {}
            // keys are remade where they cannot be changed
            Some(Some(_)) if *list == "/setup-keys" => {}
            // so are zones
            Some(Some(entry)) if *list == "/dns/zones" && entry["domain"] != was["domain"] => {}
            // of several routes of one name those that the file has not go, or are brought to what it has
            Some(Some(entry))
                if *list == "/routes" && (entry.is_array() || before.several(list, name)) => {}
            Some(Some(entry)) => {
                prop_assert!(
                    is.is_some(),
                    "{list} {name} is not the same object any more"
                );
                kept(list, entry, was, is.expect("it is there"), prune)?;
            }
        }
    }
    Ok(())
}

/// That the fields of a declared object that the file does not say are as they were.
fn kept(
    list: &str,
    entry: &Value,
    was: &Value,
    is: &Value,
    prune: Prune,
) -> Result<(), TestCaseError> {
    let mut fields: Vec<&str> = match list {
        "/groups" => vec!["resources", "issued"],
        "/policies" => vec!["description", "enabled", "source_posture_checks"],
        "/routes" => vec![
            "description",
            "access_control_groups",
            "metric",
            "masquerade",
            "keep_route",
            "skip_auto_apply",
            "enabled",
            "groups",
        ],
        // a resource may have left for another network
        "/networks" => vec!["description", "routers"],
        "/dns/zones" => vec!["enabled", "records", "enable_search_domain"],
        _ => vec!["description", "enabled", "search_domains_enabled"],
    };
    fields.retain(|field| *field != "enable_search_domain" || entry.get("search_domain").is_none());
    fields.retain(|field| entry.get(field).is_none());
    // somebody's resource is no more where all else is pruned
    fields.retain(|field| *field != "resources" || prune == Prune::None);
    // the server takes no search domains where there are none, so primary says that too
    fields.retain(|field| *field != "search_domains_enabled" || entry["primary"] == false);
    for field in fields {
        prop_assert_eq!(&was[field], &is[field], "{} {}", list, field);
    }
    if list == "/policies" {
        let (was, is) = (&was["rules"][0], &is["rules"][0]);
        prop_assert_eq!(&was["id"], &is["id"]);
        for field in ["name", "description"] {
            prop_assert_eq!(&was[field], &is[field], "rule {}", field);
        }
        for field in ["action", "bidirectional", "protocol"] {
            if entry.get(field).is_none() {
                prop_assert_eq!(&was[field], &is[field], "rule {}", field);
            }
        }
    }
    if list == "/groups" {
        let members = |group: &Value| -> Vec<Value> {
            group["peers"].as_array().cloned().unwrap_or_default()
        };
        let (was, is) = (members(was), members(is));
        let leaves = |id: &&Value| !is.contains(id);
        if prune == Prune::None {
            let gone: Vec<&Value> = was.iter().filter(leaves).collect();
            prop_assert!(gone.is_empty(), "members {gone:?} were removed");
        } else if entry.get("peers").is_none() {
            prop_assert_eq!(was.len(), was.iter().filter(|id| is.contains(id)).count());
        }
    }
    Ok(())
}
