//! Groups.

use serde_json::{Value, json};

use super::account::Account;
use super::api::{Call, Outcome, Route, route};
use super::auth::Module;
use super::refusal::{Refusal, bad, exists, invalid, missing};
use crate::body::Body;

/// The group that holds every peer. It is known by its name.
pub(super) const ALL: &str = "All";

pub(super) const ROUTES: &[Route] = &[
    route("GET", "/groups", Module::Groups, list),
    route("POST", "/groups", Module::Groups, post),
    route("GET", "/groups/*", Module::Groups, get),
    route("PUT", "/groups/*", Module::Groups, put),
    route("DELETE", "/groups/*", Module::Groups, delete),
];

#[derive(Clone)]
pub(super) struct Group {
    pub(super) name: String,
    pub(super) issued: String,
    /// Ids of peers; unknown ones are kept and never shown.
    pub(super) peers: Vec<String>,
    pub(super) resources: Vec<Member>,
}

/// Something with a type that a group or a rule names, known or not.
#[derive(Clone, Debug, PartialEq, PartialOrd, Eq, Ord)]
pub(super) struct Member {
    pub(super) id: String,
    pub(super) kind: String,
}

impl Member {
    pub(super) fn read(body: &Body) -> Result<Member, Refusal> {
        Ok(Member {
            id: body.text("id")?,
            kind: body.text("type")?,
        })
    }

    pub(super) fn show(&self) -> Value {
        json!({"id": self.id, "type": self.kind})
    }
}

impl Group {
    pub(super) fn named(name: &str, issued: &str) -> Group {
        Group {
            name: name.to_owned(),
            issued: issued.to_owned(),
            peers: Vec::new(),
            resources: Vec::new(),
        }
    }

    fn read(body: &Body) -> Result<Group, Refusal> {
        let mut group = Group::named(&body.text("name")?, "api");
        for peer in body.texts("peers")? {
            if !group.peers.contains(&peer) {
                group.peers.push(peer);
            }
        }
        group.resources = body
            .objects("resources")?
            .iter()
            .map(Member::read)
            .collect::<Result<_, _>>()?;
        if group.name.is_empty() {
            return Err(invalid("group name shouldn't be empty"));
        }
        Ok(group)
    }
}

fn show(account: &Account, id: &str, group: &Group) -> Value {
    let peer = |id: &String| {
        account
            .peers
            .get(id)
            .map(|peer| json!({"id": id, "name": peer.name}))
    };
    let peers: Vec<Value> = group.peers.iter().filter_map(peer).collect();
    let resources: Vec<Value> = group.resources.iter().map(Member::show).collect();
    json!({
        "id": id,
        "name": group.name,
        "issued": group.issued,
        "peers_count": peers.len(),
        "peers": or_null(peers),
        "resources_count": resources.len(),
        "resources": or_null(resources),
    })
}

/// The form in which other objects show a group of theirs.
pub(super) fn show_short(account: &Account, id: &str) -> Option<Value> {
    let group = account.groups.get(id)?;
    let peers_count = group
        .peers
        .iter()
        .filter(|peer| account.peers.contains(peer))
        .count();
    let resources_count = group.resources.len();
    Some(
        json!({"id": id, "name": group.name, "peers_count": peers_count, "resources_count": resources_count}),
    )
}

/// An empty list is null in most answers.
pub(super) fn or_null<T: Into<Value>>(list: Vec<T>) -> Value {
    if list.is_empty() {
        Value::Null
    } else {
        list.into()
    }
}

fn list(call: &mut Call) -> Outcome {
    let account = &*call.account;
    let groups = account.groups.iter();
    let Some(name) = call.parameter("name") else {
        return Ok(groups.map(|(id, group)| show(account, id, group)).collect());
    };
    match groups
        .filter(|(_, group)| group.name == name)
        .max_by_key(|(_, group)| group.peers.len())
    {
        Some((id, group)) => Ok(json!([show(account, id, group)])),
        None => Err(missing(format!("group: {name} not found"))),
    }
}

fn get(call: &mut Call) -> Outcome {
    let (account, id) = (&*call.account, call.id());
    let group = account.groups.get(&id).ok_or_else(|| not_found(&id))?;
    Ok(show(account, &id, group))
}

fn not_found(id: &str) -> Refusal {
    missing(format!("group: {id} not found"))
}

fn post(call: &mut Call) -> Outcome {
    let group = Group::read(&call.body()?)?;
    let is_taken = |other: &Group| other.name == group.name;
    if !call.account.blind && call.account.groups.values().any(is_taken) {
        return Err(exists(format!(
            "group with name {} already exists",
            group.name
        )));
    }
    let id = call.account.new_id();
    call.record("group.add", &id, json!({"name": group.name}));
    Ok(store(call, &id, Group::named(&group.name, "api"), group))
}

fn put(call: &mut Call) -> Outcome {
    let id = call.id();
    let stored = call
        .account
        .groups
        .get(&id)
        .cloned()
        .ok_or_else(|| not_found(&id))?;
    let mut group = Group::read(&call.body()?)?;
    // Of several groups of that name only the first, which is the real one, is guarded.
    let all = call
        .account
        .groups
        .iter()
        .find(|(_, group)| group.name == ALL);
    if all.is_some_and(|(all, _)| all == id) {
        return Err(invalid("updating group All is not allowed"));
    }
    group.issued = stored.issued.clone();
    if group.name != stored.name {
        call.record(
            "group.update",
            &id,
            json!({"old_name": stored.name, "new_name": group.name}),
        );
    }
    Ok(store(call, &id, stored, group))
}

/// Stores a group in the place of another, writes the events of its members, and returns it with
/// the members in the order sent. Later answers show them in the database's order, which here is
/// that of their ids.
fn store(call: &mut Call, id: &str, before: Group, group: Group) -> Value {
    let answer = show(call.account, id, &group);
    for (code, these, those) in [
        ("peer.group.add", &group, &before),
        ("peer.group.delete", &before, &group),
    ] {
        for member in these
            .peers
            .iter()
            .filter(|peer| !those.peers.contains(peer))
        {
            let Some(peer) = call.account.peers.get(member) else {
                continue;
            };
            let meta = json!({
                "group": group.name, "group_id": id, "peer_ip": peer.ip.to_string(), "peer_fqdn": peer.fqdn(),
            });
            call.record(code, member, meta);
        }
    }
    let mut group = group;
    group.peers.sort();
    match call.account.groups.get_mut(id) {
        Some(stored) => *stored = group,
        None => call.account.groups.insert(id, group),
    }
    answer
}

fn delete(call: &mut Call) -> Outcome {
    let id = call.id();
    let account = &*call.account;
    let group = account
        .groups
        .get(&id)
        .ok_or_else(|| bad(format!("group: {id} not found")))?;
    let caller = account.users.get(&call.user);
    if group.issued == "integration"
        && !caller.is_some_and(|user| user.is_service && user.role == "admin")
    {
        return Err(bad(
            "only service users with admin power can delete integration group",
        ));
    }
    if group.name == ALL {
        return Err(bad("deleting group ALL is not allowed"));
    }
    if let Some(referrer) = referrer(account, &id, group) {
        return Err(bad(format!("group has been linked to {referrer}")));
    }
    let name = group.name.clone();
    call.account.groups.remove(&id);
    call.record("group.delete", &id, json!({"name": name}));
    Ok(json!({}))
}

/// Returns the first object that keeps a group from being deleted, in the order in which the server
/// looks. Zones and `authorized_groups` do not.
fn referrer(account: &Account, id: &str, group: &Group) -> Option<String> {
    let named = |ids: &[String]| ids.iter().any(|named| named == id);
    let resource = || {
        group
            .resources
            .first()
            .map(|resource| format!("network resource: {}", resource.id))
    };
    let route = || {
        let names = |lists: [&[String]; 3]| lists.into_iter().any(named);
        let mut routes = account.routes.values();
        let route = routes.find(|route| {
            names([
                &route.groups,
                &route.peer_groups,
                &route.access_control_groups,
            ])
        })?;
        Some(format!("route: {}", route.network_id))
    };
    let nameservers = || {
        let found = account
            .nameserver_groups
            .values()
            .find(|found| named(&found.groups))?;
        Some(format!("name server groups: {}", found.name))
    };
    let policy = || {
        let found = account
            .policies
            .values()
            .find(|policy| policy.rules.iter().any(|rule| rule.names_group(id)))?;
        Some(format!("policy: {}", found.name))
    };
    let key = || {
        let found = account
            .setup_keys
            .values()
            .find(|key| named(&key.auto_groups))?;
        Some(format!("setup key: {}", found.name))
    };
    let user = || {
        let (user, _) = account
            .users
            .iter()
            .find(|(_, user)| named(&user.auto_groups))?;
        Some(format!("user: {user}"))
    };
    let router = || {
        let (router, _) = account
            .routers
            .iter()
            .find(|(_, router)| named(&router.peer_groups))?;
        Some(format!("network router: {router}"))
    };
    let dns = || {
        named(&account.disabled_management_groups)
            .then(|| format!("disabled DNS management groups: {}", group.name))
    };
    resource()
        .or_else(route)
        .or_else(nameservers)
        .or_else(policy)
        .or_else(key)
        .or_else(user)
        .or_else(router)
        .or_else(dns)
}
