//! Resources of networks. The groups of a resource are those that list it: there is no
//! second list.

use std::net::IpAddr;

use serde_json::{Value, json};

use super::{Network, find};
use crate::netbird::account::Account;
use crate::netbird::api::{Call, Outcome};
use crate::netbird::cidr::Cidr;
use crate::netbird::groups::{self, Member};
use crate::netbird::names::{self, Form};
use crate::netbird::refusal::{Refusal, internal, invalid, missing};
use crate::netbird::unmanaged;

const DOMAIN: Form = Form {
    wildcard: true,
    trailing_dot: false,
    unicode: true,
    underscore: true,
};

#[derive(Clone)]
pub(in crate::netbird) struct Resource {
    pub(in crate::netbird) network: String,
    name: String,
    description: String,
    kind: &'static str,
    address: String,
    enabled: bool,
}

impl Resource {
    fn show(&self, account: &Account, id: &str) -> Value {
        let groups = groups_of(account, id);
        let groups: Vec<Value> = groups
            .iter()
            .filter_map(|group| groups::show_short(account, group))
            .collect();
        json!({
            "id": id,
            "name": self.name,
            "description": self.description,
            "type": self.kind,
            "address": self.address,
            "enabled": self.enabled,
            "groups": groups::or_null(groups),
        })
    }

    pub(super) fn meta(&self, network: &Network) -> Value {
        json!({"name": self.name, "type": self.kind, "network_name": network.name, "network_id": self.network})
    }
}

fn groups_of(account: &Account, id: &str) -> Vec<String> {
    let listed = account
        .groups
        .iter()
        .filter(|(_, group)| group.resources.iter().any(|resource| resource.id == id));
    listed.map(|(group, _)| group.to_owned()).collect()
}

pub(super) fn list_all(call: &mut Call) -> Outcome {
    let account = &*call.account;
    Ok(account
        .resources
        .iter()
        .map(|(id, resource)| resource.show(account, id))
        .collect())
}

/// Without any, the whole answer is null, for a network that is not there too.
pub(super) fn list(call: &mut Call) -> Outcome {
    let (account, network) = (&*call.account, call.parent());
    let resources = account
        .resources
        .iter()
        .filter(|(_, resource)| resource.network == network);
    let resources: Vec<Value> = resources
        .map(|(id, resource)| resource.show(account, id))
        .collect();
    Ok(groups::or_null(resources))
}

pub(super) fn get(call: &mut Call) -> Outcome {
    let (network, id) = (call.parent(), call.id());
    Ok(stored(call, &network, &id)?.show(call.account, &id))
}

/// Returns the resource, which asked for under another network is a 500.
fn stored(call: &Call, network: &str, id: &str) -> Result<Resource, Refusal> {
    let resource = call
        .account
        .resources
        .get(id)
        .cloned()
        .ok_or_else(|| not_found(id))?;
    if resource.network == network {
        Ok(resource)
    } else {
        Err(internal())
    }
}

fn not_found(id: &str) -> Refusal {
    missing(format!(
        "failed to get network resource: network resource: {id} not found"
    ))
}

pub(super) fn post(call: &mut Call) -> Outcome {
    let network_id = call.parent();
    let (resource, groups) = read(call, "create")?;
    let network = find(call, &network_id)?;
    if call
        .account
        .resources
        .values()
        .any(|other| other.name == resource.name)
    {
        let why = format!(
            "failed to create network resource: resource with name {} already exists",
            resource.name
        );
        return Err(invalid(why));
    }
    let id = call.account.new_id();
    call.record("network.resource.create", &id, resource.meta(&network));
    Ok(store(call, &id, resource, &groups))
}

/// Under the id of another network, a resource moves there.
pub(super) fn put(call: &mut Call) -> Outcome {
    let (network_id, id) = (call.parent(), call.id());
    let (resource, groups) = read(call, "update")?;
    if !call.account.resources.contains(&id) {
        return Err(not_found(&id));
    }
    let network = find(call, &network_id)?;
    if call
        .account
        .resources
        .iter()
        .any(|(other, held)| other != id && held.name == resource.name)
    {
        return Err(invalid(
            "failed to update network resource: new resource name already exists",
        ));
    }
    call.record("network.resource.update", &id, resource.meta(&network));
    Ok(store(call, &id, resource, &groups))
}

fn store(call: &mut Call, id: &str, resource: Resource, groups: &[String]) -> Value {
    let before = groups_of(call.account, id);
    for group in before.iter().filter(|group| !groups.contains(group)) {
        leave(call, group, id, &resource);
    }
    for group_id in groups.iter().filter(|group| !before.contains(group)) {
        if let Some(group) = call.account.groups.get_mut(group_id) {
            group.resources.push(Member {
                id: id.to_owned(),
                kind: resource.kind.to_owned(),
            });
        }
        record_membership(call, "resource.group.add", group_id, id, &resource);
    }
    let answer = resource.show(call.account, id);
    match call.account.resources.get_mut(id) {
        Some(stored) => *stored = resource,
        None => call.account.resources.insert(id, resource),
    }
    answer
}

pub(super) fn delete(call: &mut Call) -> Outcome {
    let (network_id, id) = (call.parent(), call.id());
    let resource = stored(call, &network_id, &id)?;
    let network = find(call, &network_id)?;
    unmanaged::check_targets(call.account, "resource", &id)?;
    call.account.resources.remove(&id);
    leave_groups(call, &id, &resource);
    call.record("network.resource.delete", &id, resource.meta(&network));
    Ok(json!({}))
}

/// Takes a resource out of all groups.
pub(super) fn leave_groups(call: &mut Call, id: &str, resource: &Resource) {
    for group in groups_of(call.account, id) {
        leave(call, &group, id, resource);
    }
}

fn leave(call: &mut Call, group_id: &str, id: &str, resource: &Resource) {
    if let Some(group) = call.account.groups.get_mut(group_id) {
        group.resources.retain(|member| member.id != id);
    }
    record_membership(call, "resource.group.delete", group_id, id, resource);
}

fn record_membership(call: &mut Call, code: &str, group_id: &str, id: &str, resource: &Resource) {
    let name = call
        .account
        .groups
        .get(group_id)
        .map(|group| group.name.clone());
    let meta = json!({
        "id": group_id, "name": name, "resource_id": id, "resource_name": resource.name, "resource_type": resource.kind,
    });
    call.record(code, group_id, meta);
}

/// Reads a resource and the groups that it is to be in.
fn read(call: &Call, verb: &str) -> Result<(Resource, Vec<String>), Refusal> {
    let body = call.body()?;
    let (address, groups) = (body.text("address")?, body.texts("groups")?);
    let (name, description, enabled) = (
        body.text("name")?,
        body.text("description")?,
        body.flag("enabled")?,
    );
    let (kind, address) = classify(&address).ok_or_else(internal)?;
    call.account.check_groups(&groups, |id| {
        missing(format!(
            "failed to {verb} network resource: group: {id} not found"
        ))
    })?;
    Ok((
        Resource {
            network: call.parent(),
            name,
            description,
            kind,
            address,
            enabled,
        },
        groups,
    ))
}

/// Returns type and canonical text of an address. Networks keep their host bits; a mistyped address
/// is a domain.
fn classify(address: &str) -> Option<(&'static str, String)> {
    if let Ok(ip) = address.parse::<IpAddr>() {
        return Some(("host", Cidr::host(ip).to_string()));
    }
    if let Some(cidr) = Cidr::parse(address) {
        // The real server looks at the length alone, so a /32 of IPv6 is a host too.
        let kind = if [32, 128].contains(&cidr.bits) {
            "host"
        } else {
            "subnet"
        };
        return Some((kind, cidr.to_string()));
    }
    names::is_domain(address, DOMAIN).then(|| ("domain", address.to_owned()))
}
