//! Routes.

use serde_json::{Value, json};

use super::account::Account;
use super::api::{Call, Outcome, Route as ApiRoute, route};
use super::auth::Module;
use super::cidr::Cidr;
use super::names::{self, Form};
use super::refusal::{Refusal, exists, invalid, missing};

pub(super) const ROUTES: &[ApiRoute] = &[
    route("GET", "/routes", Module::Routes, list),
    route("POST", "/routes", Module::Routes, post),
    route("GET", "/routes/*", Module::Routes, get),
    route("PUT", "/routes/*", Module::Routes, put),
    route("DELETE", "/routes/*", Module::Routes, delete),
];

/// What is shown as the network of a route of domains.
const PLACEHOLDER: &str = "192.0.2.0/32";
const DOMAIN: Form = Form {
    wildcard: true,
    trailing_dot: false,
    unicode: true,
    underscore: true,
};

#[derive(Clone)]
pub(super) struct Route {
    pub(super) network_id: String,
    description: String,
    enabled: bool,
    target: Target,
    peer: String,
    pub(super) peer_groups: Vec<String>,
    pub(super) groups: Vec<String>,
    pub(super) access_control_groups: Vec<String>,
    metric: i64,
    masquerade: bool,
    keep_route: bool,
    skip_auto_apply: bool,
}

#[derive(Clone, PartialEq)]
enum Target {
    Network(Cidr),
    Domains(Vec<String>),
}

impl Route {
    fn show(&self, id: &str) -> Value {
        let (kind, network, domains) = match &self.target {
            Target::Network(cidr) if cidr.ip.is_ipv4() => ("IPv4", cidr.to_string(), None),
            Target::Network(cidr) => ("IPv6", cidr.to_string(), None),
            Target::Domains(domains) => ("Domain", PLACEHOLDER.to_owned(), Some(domains)),
        };
        let mut shown = json!({
            "id": id,
            "network_id": self.network_id,
            "network_type": kind,
            "description": self.description,
            "enabled": self.enabled,
            "network": network,
            "domains": domains,
            "peer": self.peer,
            "metric": self.metric,
            "masquerade": self.masquerade,
            "groups": self.groups,
            "keep_route": self.keep_route,
            "skip_auto_apply": self.skip_auto_apply,
        });
        for (field, groups) in [
            ("peer_groups", &self.peer_groups),
            ("access_control_groups", &self.access_control_groups),
        ] {
            if !groups.is_empty() {
                shown[field] = json!(groups);
            }
        }
        shown
    }

    /// What events say of a route, as Go prints it.
    fn meta(&self) -> Value {
        let (network, domains) = match &self.target {
            Target::Network(cidr) => (cidr.to_string(), String::new()),
            Target::Domains(domains) => (PLACEHOLDER.to_owned(), domains.join(", ")),
        };
        let peer_groups = if self.peer_groups.is_empty() {
            "<nil>".to_owned()
        } else {
            format!("[{}]", self.peer_groups.join(" "))
        };
        json!({
            "name": self.network_id, "network_range": network, "domains": domains, "peer_id": self.peer,
            "peer_groups": peer_groups,
        })
    }
}

fn list(call: &mut Call) -> Outcome {
    Ok(call
        .account
        .routes
        .iter()
        .map(|(id, route)| route.show(id))
        .collect())
}

fn get(call: &mut Call) -> Outcome {
    let id = call.id();
    Ok(call
        .account
        .routes
        .get(&id)
        .ok_or_else(|| not_found(&id))?
        .show(&id))
}

fn not_found(id: &str) -> Refusal {
    missing(format!("route: {id} not found"))
}

fn post(call: &mut Call) -> Outcome {
    let route = read(call)?;
    if !call.account.blind {
        check_duplicate(call.account, "", &route)?;
    }
    let id = call.account.new_id();
    call.record("route.add", &id, route.meta());
    let answer = route.show(&id);
    call.account.routes.insert(&id, route);
    Ok(answer)
}

fn put(call: &mut Call) -> Outcome {
    let id = call.id();
    if !call.account.routes.contains(&id) {
        return Err(not_found(&id));
    }
    let route = read(call)?;
    check_duplicate(call.account, &id, &route)?;
    call.record("route.update", &id, route.meta());
    let answer = route.show(&id);
    if let Some(stored) = call.account.routes.get_mut(&id) {
        *stored = route;
    }
    Ok(answer)
}

fn delete(call: &mut Call) -> Outcome {
    let id = call.id();
    let gone = call.account.routes.remove(&id);
    let route = gone.ok_or_else(|| {
        missing(format!(
            "failed to delete route {id}: route: {id} not found"
        ))
    })?;
    call.record("route.delete", &id, route.meta());
    Ok(json!({}))
}

fn read(call: &Call) -> Result<Route, Refusal> {
    let body = call.body()?;
    let (network, domains) = (
        body.optional_text("network")?,
        body.optional_texts("domains")?,
    );
    let (peer, peer_groups) = (
        body.optional_text("peer")?,
        body.optional_texts("peer_groups")?,
    );
    let (network_id, metric) = (body.text("network_id")?, body.number("metric")?);
    let (groups, access_control_groups) =
        (body.texts("groups")?, body.texts("access_control_groups")?);

    // Presence is tested, not whether there is anything in it.
    let target = match (network, domains) {
        (Some(_), Some(_)) => {
            return Err(invalid(
                "only one of 'network' or 'domains' should be provided",
            ));
        }
        (None, None) => return Err(invalid("either 'network' or 'domains' should be provided")),
        (Some(network), None) => Target::Network(read_network(&network)?),
        (None, Some(domains)) => Target::Domains(read_domains(&domains)?),
    };
    match (&peer, &peer_groups) {
        (Some(_), Some(_)) => {
            return Err(invalid(
                "only one of 'peer' or 'peer_groups' should be provided",
            ));
        }
        (None, None) => return Err(invalid("either 'peer' or 'peer_groups' should be provided")),
        _ => {}
    }
    let (peer, peer_groups) = (peer.unwrap_or_default(), peer_groups.unwrap_or_default());
    if !(1..=40).contains(&network_id.chars().count()) {
        return Err(invalid("identifier should be between 1 and 40 characters"));
    }
    if !(1..=9999).contains(&metric) {
        return Err(invalid("metric should be between 1 and 9999"));
    }
    if !peer.is_empty() && !call.account.peers.contains(&peer) {
        return Err(invalid(format!("peer with ID {peer} not found")));
    }
    if groups.is_empty() {
        return Err(invalid("the list of group IDs should not be empty"));
    }
    for ids in [&peer_groups, &groups, &access_control_groups] {
        check_groups(call.account, ids)?;
    }
    Ok(Route {
        network_id,
        description: body.text("description")?,
        enabled: body.flag("enabled")?,
        target,
        peer,
        peer_groups,
        groups,
        access_control_groups,
        metric,
        masquerade: body.flag("masquerade")?,
        keep_route: body.flag("keep_route")?,
        skip_auto_apply: body.flag("skip_auto_apply")?,
    })
}

/// Sees that groups exist, in the words that routes and nameserver groups have for it.
pub(super) fn check_groups(account: &Account, ids: &[String]) -> Result<(), Refusal> {
    if ids.iter().any(String::is_empty) {
        return Err(invalid("group ID should not be empty string"));
    }
    account.check_groups(ids, |id| invalid(format!("group id {id} not found")))
}

fn read_network(text: &str) -> Result<Cidr, Refusal> {
    Cidr::parse(text)
        .map(Cidr::masked)
        .ok_or_else(|| invalid(format!("invalid network {text}")))
}

fn read_domains(domains: &[String]) -> Result<Vec<String>, Refusal> {
    let why = match domains.len() {
        0 => Some("domains list is empty".to_owned()),
        1..=32 => {
            let wrong = domains
                .iter()
                .find(|domain| !names::is_domain(domain, DOMAIN));
            wrong.map(|domain| format!("invalid domain format: {domain}"))
        }
        _ => Some("domains list exceeds maximum allowed domains: 32".to_owned()),
    };
    match why {
        Some(why) => Err(invalid(format!("invalid domains: {why}"))),
        None => Ok(domains
            .iter()
            .map(|domain| names::to_unicode(domain))
            .collect()),
    }
}

/// Refuses a second route to the same place through the same peer, as far as the server notices:
/// routes through a single peer are never found, neither by their like nor by routes through
/// groups.
fn check_duplicate(account: &Account, id: &str, route: &Route) -> Result<(), Refusal> {
    let place = match &route.target {
        Target::Network(cidr) => format!("prefix {cidr}"),
        Target::Domains(domains) => format!("domains [{}]", domains.join(", ")),
    };
    let refused = |what: String| {
        exists(format!(
            "failed to add route with {place} - {what} already has this route"
        ))
    };
    let members = |group: &str| {
        account
            .groups
            .get(group)
            .map(|group| group.peers.as_slice())
            .unwrap_or_default()
    };
    let alike = account
        .routes
        .iter()
        .filter(|(other, held)| *other != id && held.target == route.target);
    for group in alike.flat_map(|(_, held)| &held.peer_groups) {
        let Some(name) = account.groups.get(group).map(|group| &group.name) else {
            return Err(invalid(format!(
                "failed to add route with {place} - peer group {group} doesn't exist"
            )));
        };
        if route.peer_groups.contains(group) {
            return Err(refused(format!("peer group {name}")));
        }
        let ours = route
            .peer_groups
            .iter()
            .flat_map(|group| members(group))
            .chain([&route.peer]);
        if let Some(peer) = ours.into_iter().find(|peer| members(group).contains(*peer)) {
            return Err(refused(format!("peer {peer} from the group {name}")));
        }
    }
    Ok(())
}
