//! Networks. What is in them is left to `resources` and `routers`.

mod resources;
mod routers;

use serde_json::{Value, json};

use super::account::Account;
use super::api::{Call, Outcome, Route, route};
use super::auth::Module;
use super::refusal::{Refusal, missing};
pub(super) use resources::Resource;
pub(super) use routers::Router;

pub(super) const ROUTES: &[Route] = &[
    route(
        "GET",
        "/networks/resources",
        Module::Networks,
        resources::list_all,
    ),
    route(
        "GET",
        "/networks/routers",
        Module::Networks,
        routers::list_all,
    ),
    route("GET", "/networks", Module::Networks, list),
    route("POST", "/networks", Module::Networks, post),
    route("GET", "/networks/*", Module::Networks, get),
    route("PUT", "/networks/*", Module::Networks, put),
    route("DELETE", "/networks/*", Module::Networks, delete),
    route(
        "GET",
        "/networks/*/resources",
        Module::Networks,
        resources::list,
    ),
    route(
        "POST",
        "/networks/*/resources",
        Module::Networks,
        resources::post,
    ),
    route(
        "GET",
        "/networks/*/resources/*",
        Module::Networks,
        resources::get,
    ),
    route(
        "PUT",
        "/networks/*/resources/*",
        Module::Networks,
        resources::put,
    ),
    route(
        "DELETE",
        "/networks/*/resources/*",
        Module::Networks,
        resources::delete,
    ),
    route(
        "GET",
        "/networks/*/routers",
        Module::Networks,
        routers::list,
    ),
    route(
        "POST",
        "/networks/*/routers",
        Module::Networks,
        routers::post,
    ),
    route(
        "GET",
        "/networks/*/routers/*",
        Module::Networks,
        routers::get,
    ),
    route(
        "PUT",
        "/networks/*/routers/*",
        Module::Networks,
        routers::put,
    ),
    route(
        "DELETE",
        "/networks/*/routers/*",
        Module::Networks,
        routers::delete,
    ),
];

/// Names are not unique, and may be empty.
#[derive(Clone)]
pub(super) struct Network {
    pub(super) name: String,
    description: String,
}

/// Three calls show a network, each with other empty lists: GET of one and PUT `null`, POST `[]`,
/// the list both.
struct Empty {
    routers: Value,
    resources: Value,
}

fn show(account: &mut Account, id: &str, network: &Network, empty: &Empty) -> Value {
    let routers = account
        .routers
        .iter()
        .filter(|(_, router)| router.network == id);
    let peers = |router: &Router| {
        let of_group = |group: &String| {
            account
                .groups
                .get(group)
                .map_or(0, |group| group.peers.len())
        };
        usize::from(!router.peer.is_empty())
            + router.peer_groups.iter().map(of_group).sum::<usize>()
    };
    let (mut routing_peers_count, mut router_ids) = (0, Vec::new());
    for (router_id, router) in routers {
        routing_peers_count += peers(router);
        router_ids.push(router_id.to_owned());
    }
    let resources = account
        .resources
        .iter()
        .filter(|(_, resource)| resource.network == id);
    let resources: Vec<String> = resources.map(|(id, _)| id.to_owned()).collect();
    let mut policies = policies_to(account, &resources);
    account.ids.shuffle(&mut policies);
    let or_empty = |list: Vec<String>, empty: &Value| {
        if list.is_empty() {
            empty.clone()
        } else {
            json!(list)
        }
    };
    json!({
        "id": id,
        "name": network.name,
        "description": network.description,
        "routers": or_empty(router_ids, &empty.routers),
        "routing_peers_count": routing_peers_count,
        "resources": or_empty(resources, &empty.resources),
        "policies": policies,
    })
}

/// Returns the policies whose destination is one of these resources, or a group with one.
fn policies_to(account: &Account, resources: &[String]) -> Vec<String> {
    let holds_one = |group: &String| {
        let members = account
            .groups
            .get(group)
            .map(|group| group.resources.as_slice())
            .unwrap_or_default();
        members.iter().any(|member| resources.contains(&member.id))
    };
    let leads_there = |rule: &super::policies::Rule| {
        resources
            .iter()
            .any(|resource| rule.names_resource(resource))
            || rule.destinations().iter().any(holds_one)
    };
    let policies = account
        .policies
        .iter()
        .filter(|(_, policy)| policy.rules.iter().any(leads_there));
    policies.map(|(id, _)| id.to_owned()).collect()
}

fn list(call: &mut Call) -> Outcome {
    let empty = Empty {
        routers: json!([]),
        resources: Value::Null,
    };
    let networks: Vec<(String, Network)> = call
        .account
        .networks
        .iter()
        .map(|(id, network)| (id.to_owned(), network.clone()))
        .collect();
    Ok(networks
        .iter()
        .map(|(id, network)| show(call.account, id, network, &empty))
        .collect())
}

fn get(call: &mut Call) -> Outcome {
    let id = call.id();
    let network = find(call, &id).map_err(|_| not_found(&id))?;
    Ok(show(
        call.account,
        &id,
        &network,
        &Empty {
            routers: Value::Null,
            resources: Value::Null,
        },
    ))
}

fn find(call: &Call, id: &str) -> Result<Network, Refusal> {
    call.account
        .networks
        .get(id)
        .cloned()
        .ok_or_else(|| missing(format!("network: {id} not found")))
}

fn not_found(id: &str) -> Refusal {
    missing(format!("failed to get network: network: {id} not found"))
}

fn read(call: &Call) -> Result<Network, Refusal> {
    let body = call.body()?;
    Ok(Network {
        name: body.text("name")?,
        description: body.text("description")?,
    })
}

fn post(call: &mut Call) -> Outcome {
    let network = read(call)?;
    let id = call.account.new_id();
    call.record("network.create", &id, json!({"name": network.name}));
    call.account.networks.insert(&id, network.clone());
    Ok(show(
        call.account,
        &id,
        &network,
        &Empty {
            routers: json!([]),
            resources: json!([]),
        },
    ))
}

fn put(call: &mut Call) -> Outcome {
    let (id, network) = (call.id(), read(call)?);
    let stored = call
        .account
        .networks
        .get_mut(&id)
        .ok_or_else(|| not_found(&id))?;
    *stored = network.clone();
    call.record("network.update", &id, json!({"name": network.name}));
    Ok(show(
        call.account,
        &id,
        &network,
        &Empty {
            routers: Value::Null,
            resources: Value::Null,
        },
    ))
}

/// Takes resources and routers with it. Policies that name a resource are left dangling.
fn delete(call: &mut Call) -> Outcome {
    let id = call.id();
    let network = find(call, &id).map_err(|_| not_found(&id))?;
    for (resource_id, resource) in call
        .account
        .resources
        .remove_where(|_, resource| resource.network == id)
    {
        resources::leave_groups(call, &resource_id, &resource);
        call.record(
            "network.resource.delete",
            &resource_id,
            resource.meta(&network),
        );
    }
    for (router_id, router) in call
        .account
        .routers
        .remove_where(|_, router| router.network == id)
    {
        call.record("network.router.delete", &router_id, router.meta(&network));
    }
    call.account.networks.remove(&id);
    call.record("network.delete", &id, json!({"name": network.name}));
    Ok(json!({}))
}
