//! Nameserver groups.

use std::net::IpAddr;

use serde_json::{Value, json};

use super::api::{Call, Outcome, Route, route};
use super::auth::Module;
use super::names::{self, Form};
use super::refusal::{Refusal, invalid, missing};
use super::routes;
use crate::body::Body;

pub(super) const ROUTES: &[Route] = &[
    route("GET", "/dns/nameservers", Module::Nameservers, list),
    route("POST", "/dns/nameservers", Module::Nameservers, post),
    route("GET", "/dns/nameservers/*", Module::Nameservers, get),
    route("PUT", "/dns/nameservers/*", Module::Nameservers, put),
    route("DELETE", "/dns/nameservers/*", Module::Nameservers, delete),
];

const DOMAIN: Form = Form {
    wildcard: false,
    trailing_dot: true,
    unicode: true,
    underscore: true,
};

#[derive(Clone)]
pub(super) struct NameserverGroup {
    pub(super) name: String,
    description: String,
    /// Address and port; UDP is all there is.
    nameservers: Vec<(IpAddr, i64)>,
    pub(super) groups: Vec<String>,
    primary: bool,
    /// As sent: letters, dots, and whether there was a list.
    domains: Option<Vec<String>>,
    search_domains_enabled: bool,
    enabled: bool,
}

impl NameserverGroup {
    fn show(&self, id: &str) -> Value {
        let nameserver = |(ip, port): &(IpAddr, i64)| json!({"ip": ip.to_string(), "ns_type": "udp", "port": port});
        json!({
            "id": id,
            "name": self.name,
            "description": self.description,
            "nameservers": self.nameservers.iter().map(nameserver).collect::<Vec<_>>(),
            "groups": self.groups,
            "primary": self.primary,
            "domains": self.domains,
            "search_domains_enabled": self.search_domains_enabled,
            "enabled": self.enabled,
        })
    }
}

fn list(call: &mut Call) -> Outcome {
    Ok(call
        .account
        .nameserver_groups
        .iter()
        .map(|(id, found)| found.show(id))
        .collect())
}

fn get(call: &mut Call) -> Outcome {
    let id = call.id();
    Ok(call
        .account
        .nameserver_groups
        .get(&id)
        .ok_or_else(|| not_found(&id))?
        .show(&id))
}

fn not_found(id: &str) -> Refusal {
    missing(format!("nameserver group: {id} not found"))
}

fn post(call: &mut Call) -> Outcome {
    let group = read(call, "")?;
    let id = call.account.new_id();
    call.record("nameserver.group.add", &id, json!({"name": group.name}));
    let mut answer = group.show(&id);
    // This answer alone says [] where GET says null.
    answer["domains"] = json!(group.domains.clone().unwrap_or_default());
    call.account.nameserver_groups.insert(&id, group);
    Ok(answer)
}

fn put(call: &mut Call) -> Outcome {
    let id = call.id();
    if !call.account.nameserver_groups.contains(&id) {
        return Err(not_found(&id));
    }
    let group = read(call, &id)?;
    call.record("nameserver.group.update", &id, json!({"name": group.name}));
    let answer = group.show(&id);
    if let Some(stored) = call.account.nameserver_groups.get_mut(&id) {
        *stored = group;
    }
    Ok(answer)
}

fn delete(call: &mut Call) -> Outcome {
    let id = call.id();
    let group = call
        .account
        .nameserver_groups
        .remove(&id)
        .ok_or_else(|| not_found(&id))?;
    call.record("nameserver.group.delete", &id, json!({"name": group.name}));
    Ok(json!({}))
}

fn read(call: &Call, id: &str) -> Result<NameserverGroup, Refusal> {
    let body = call.body()?;
    let group = NameserverGroup {
        name: body.text("name")?,
        description: body.text("description")?,
        nameservers: body
            .objects("nameservers")?
            .iter()
            .map(read_nameserver)
            .collect::<Result<_, _>>()?,
        groups: body.texts("groups")?,
        primary: body.flag("primary")?,
        domains: body.optional_texts("domains")?,
        search_domains_enabled: body.flag("search_domains_enabled")?,
        enabled: body.flag("enabled")?,
    };
    if !(1..=40).contains(&group.name.chars().count()) {
        return Err(invalid("nameserver group name should be between 1 and 40"));
    }
    // a change still sees another one of its name
    let is_blind = call.account.blind && id.is_empty();
    let mut others = call.account.nameserver_groups.iter();
    if !is_blind && others.any(|(other, held)| other != id && held.name == group.name) {
        return Err(invalid(format!(
            "nameserver group with name {} already exist",
            group.name
        )));
    }
    let count = group.nameservers.len();
    if !(1..=3).contains(&count) {
        return Err(invalid(format!(
            "the list of nameservers should be 1 or 3, got {count}"
        )));
    }
    if group.groups.is_empty() {
        return Err(invalid("the list of group IDs should not be empty"));
    }
    routes::check_groups(call.account, &group.groups)?;
    check_domains(&group)?;
    Ok(group)
}

/// A primary group serves all domains, any other serves those that it names.
fn check_domains(group: &NameserverGroup) -> Result<(), Refusal> {
    let domains = group.domains.as_deref().unwrap_or_default();
    let refused = |why: &str| invalid(format!("nameserver group {why}"));
    if !group.primary && domains.is_empty() {
        return Err(refused(
            "primary status is false and domains are empty, it should be primary or have domains",
        ));
    }
    if group.primary && !domains.is_empty() {
        return Err(refused(
            "primary status is true and domains are not empty, it should be primary or have domains",
        ));
    }
    if group.primary && group.search_domains_enabled {
        return Err(refused(
            "primary status is true and search domains is enabled, it should not be both",
        ));
    }
    match domains
        .iter()
        .find(|domain| !names::is_domain(domain, DOMAIN))
    {
        Some(domain) => Err(refused(&format!("got an invalid domain: {domain}"))),
        None => Ok(()),
    }
}

fn read_nameserver(body: &Body) -> Result<(IpAddr, i64), Refusal> {
    let (ip, kind, port) = (
        body.text("ip")?,
        body.text("ns_type")?,
        body.number("port")?,
    );
    let unwrapped = ip
        .strip_prefix('[')
        .and_then(|ip| ip.strip_suffix(']'))
        .unwrap_or(&ip);
    match unwrapped.parse() {
        Ok(ip) if kind.eq_ignore_ascii_case("udp") && port >= 0 => Ok((ip, port)),
        _ => Err(invalid("invalid NS servers format")),
    }
}
