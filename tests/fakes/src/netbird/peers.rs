//! Peers: what the API shows of them and lets change. How they come in is left to `enrolment`.

pub(super) mod enrolment;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use jiff::Timestamp;
use serde_json::{Value, json};

use super::account::Account;
use super::api::{Call, Outcome, Route, open, route};
use super::auth::{self, Module, Right};
use super::cidr::Cidr;
use super::groups;
use super::names;
use super::refusal::{Refusal, broken, internal, invalid, missing, unmet};
use super::unmanaged;
use crate::clock;

pub(super) const ROUTES: &[Route] = &[
    open("GET", "/peers", Right::ByHandler, list),
    open("GET", "/peers/*", Right::ByHandler, get),
    route("PUT", "/peers/*", Module::Peers, put),
    route("DELETE", "/peers/*", Module::Peers, delete),
];

#[derive(Clone)]
pub(super) struct Peer {
    pub(super) name: String,
    hostname: String,
    /// The label alone; answers show the FQDN.
    dns_label: String,
    /// The domain behind it.
    pub(super) domain: String,
    pub(super) ip: Ipv4Addr,
    pub(super) ipv6: Ipv6Addr,
    /// Empty for a peer that came with a setup key.
    pub(super) user: String,
    pub(super) connected: bool,
    ephemeral: bool,
    ssh_enabled: bool,
    login_expiration_enabled: bool,
    inactivity_expiration_enabled: bool,
    created_at: Timestamp,
    pub(super) last_seen: Timestamp,
}

impl Peer {
    pub(super) fn fqdn(&self) -> String {
        format!("{}.{}", self.dns_label, self.domain)
    }

    fn show(&self, account: &Account, id: &str) -> Value {
        let of_peer = account
            .groups
            .iter()
            .filter(|(_, group)| group.peers.iter().any(|peer| peer == id));
        let groups: Vec<Value> = of_peer
            .filter_map(|(group, _)| groups::show_short(account, group))
            .collect();
        let flags = [
            "rosenpass_enabled",
            "rosenpass_permissive",
            "server_ssh_allowed",
            "disable_client_routes",
            "disable_server_routes",
            "disable_dns",
            "disable_firewall",
            "block_lan_access",
            "block_inbound",
            "lazy_connection_enabled",
        ];
        let mut shown = json!({
            "id": id,
            "name": self.name,
            "hostname": self.hostname,
            "dns_label": self.fqdn(),
            "extra_dns_labels": [],
            "ip": self.ip.to_string(),
            "ipv6": self.ipv6.to_string(),
            "connection_ip": "127.0.0.1",
            "connected": self.connected,
            "last_seen": clock::show(self.last_seen),
            "last_login": clock::show(self.created_at),
            "created_at": clock::show(self.created_at),
            "login_expired": false,
            "login_expiration_enabled": self.login_expiration_enabled,
            "inactivity_expiration_enabled": self.inactivity_expiration_enabled,
            "approval_required": false,
            "ssh_enabled": self.ssh_enabled,
            "ephemeral": self.ephemeral,
            "user_id": self.user,
            "groups": groups::or_null(groups),
            "os": "Debian GNU/Linux 12",
            "kernel_version": "6.1.0",
            "version": "0.77.1",
            "ui_version": "",
            "serial_number": "",
            "geoname_id": 0,
            "country_code": "",
            "city_name": "",
            "local_flags": flags.map(|flag| (flag.to_owned(), false)).into_iter().collect::<Value>(),
        });
        let has_ipv6 = |group: &str| {
            let group = account.groups.get(group);
            group.is_some_and(|group| group.peers.iter().any(|peer| peer == id))
        };
        if !account.settings.ipv6_groups().any(has_ipv6) {
            shown
                .as_object_mut()
                .and_then(|fields| fields.remove("ipv6"));
        }
        shown
    }

    /// What events say of a peer.
    fn meta(&self) -> Value {
        json!({
            "name": self.name,
            "fqdn": self.fqdn(),
            "ip": self.ip.to_string(),
            "ipv6": self.ipv6.to_string(),
            "created_at": clock::show(self.created_at),
            "location_city_name": "",
            "location_country_code": "",
            "location_geo_name_id": "0",
            "location_connection_ip": "127.0.0.1",
        })
    }
}

/// A person without the right to read peers gets an empty list, not a refusal.
fn list(call: &mut Call) -> Outcome {
    let account = &*call.account;
    if account
        .users
        .get(&call.user)
        .is_some_and(|user| !auth::reads(user, Module::Peers))
    {
        return Ok(json!([]));
    }
    let like = |wanted: Option<&str>, text: &str| {
        wanted.is_none_or(|wanted| text.to_lowercase().contains(&wanted.to_lowercase()))
    };
    let (name, ip) = (call.parameter("name"), call.parameter("ip"));
    let wanted = account
        .peers
        .iter()
        .filter(|(_, peer)| like(name, &peer.name) && like(ip, &peer.ip.to_string()));
    let mut wanted: Vec<_> = wanted.collect();
    wanted.sort_by_key(|(_, peer)| &peer.dns_label);
    let show = |(id, peer): (&str, &Peer)| {
        let mut shown = peer.show(account, id);
        shown["accessible_peers_count"] = json!(0);
        shown
    };
    Ok(wanted.into_iter().map(show).collect())
}

fn get(call: &mut Call) -> Outcome {
    let (account, id) = (&*call.account, call.id());
    let peer = account.peers.get(&id).ok_or_else(|| not_found(&id))?;
    if peer.user != call.user
        && account
            .users
            .get(&call.user)
            .is_some_and(|user| !auth::reads(user, Module::Peers))
    {
        return Err(broken(format!(
            "user {} has no access to peer {id}",
            call.user
        )));
    }
    Ok(peer.show(account, &id))
}

fn not_found(id: &str) -> Refusal {
    missing(format!("peer not found: {id}"))
}

/// A new address is stored before the rest is looked at, and stays when that is refused.
fn put(call: &mut Call) -> Outcome {
    let (body, id) = (call.body()?, call.id());
    let (name, ssh) = (body.text("name")?, body.flag("ssh_enabled")?);
    let login = body.flag("login_expiration_enabled")?;
    let inactivity = body.flag("inactivity_expiration_enabled")?;
    let (ip, ipv6) = (body.optional_text("ip")?, body.optional_text("ipv6")?);
    body.optional_flag("approval_required")?;

    if !call.account.peers.contains(&id) {
        return Err(not_found(&id));
    }
    move_to(call, &id, ip.as_deref(), call.account.settings.range())?;
    move_to(call, &id, ipv6.as_deref(), call.account.settings.range_v6())?;

    let before = call
        .account
        .peers
        .get(&id)
        .cloned()
        .ok_or_else(|| not_found(&id))?;
    let mut peer = before.clone();
    if name.is_empty() || name == "." {
        return Err(internal());
    }
    if name != peer.name {
        let label = names::label(&name).ok_or_else(internal)?;
        peer.dns_label = enrolment::free_label(call.account, label, peer.ip, false);
        peer.name = name;
    }
    for (changed, what) in [
        (login != peer.login_expiration_enabled, "login"),
        (
            inactivity != peer.inactivity_expiration_enabled,
            "inactivity",
        ),
    ] {
        if changed && peer.user.is_empty() {
            return Err(unmet(format!(
                "this peer hasn't been added with the SSO login, therefore the {what} expiration can't be updated"
            )));
        }
    }
    (
        peer.ssh_enabled,
        peer.login_expiration_enabled,
        peer.inactivity_expiration_enabled,
    ) = (ssh, login, inactivity);
    if let Some(stored) = call.account.peers.get_mut(&id) {
        *stored = peer.clone();
    }
    record_changes(call, &id, &before, &peer);
    Ok(peer.show(call.account, &id))
}

/// Gives the peer another address of this range, where one is wanted.
fn move_to(call: &mut Call, id: &str, wanted: Option<&str>, range: Cidr) -> Result<(), Refusal> {
    let Some(wanted) = wanted else { return Ok(()) };
    let ip: IpAddr = wanted
        .parse()
        .map_err(|_| invalid(format!("invalid IP address {wanted}")))?;
    let address = |peer: &Peer| {
        if range.ip.is_ipv4() {
            IpAddr::V4(peer.ip)
        } else {
            IpAddr::V6(peer.ipv6)
        }
    };
    let old = call
        .account
        .peers
        .get(id)
        .map(address)
        .ok_or_else(|| not_found(id))?;
    if ip == old {
        return Ok(());
    }
    let refused = |why: String| invalid(format!("update peer IP transaction: {why}"));
    if !range.contains(ip) {
        return Err(refused(format!(
            "IP {ip} is not within the account network range {range}"
        )));
    }
    if let Some((other, _)) = call
        .account
        .peers
        .iter()
        .find(|(_, peer)| address(peer) == ip)
    {
        return Err(refused(format!(
            "IP {ip} is already assigned to peer {other}"
        )));
    }
    let peer = call
        .account
        .peers
        .get_mut(id)
        .ok_or_else(|| not_found(id))?;
    match ip {
        IpAddr::V4(ip) => peer.ip = ip,
        IpAddr::V6(ip) => peer.ipv6 = ip,
    }
    let mut meta = peer.meta();
    meta["old_ip"] = json!(old.to_string());
    call.record("peer.ip.update", id, meta);
    Ok(())
}

/// The events of the switches name the peer by its address.
fn record_changes(call: &mut Call, id: &str, before: &Peer, peer: &Peer) {
    if before.name != peer.name {
        call.record("peer.rename", id, peer.meta());
    }
    for (old, new, what) in [
        (before.ssh_enabled, peer.ssh_enabled, "ssh"),
        (
            before.login_expiration_enabled,
            peer.login_expiration_enabled,
            "login.expiration",
        ),
        (
            before.inactivity_expiration_enabled,
            peer.inactivity_expiration_enabled,
            "inactivity.expiration",
        ),
    ] {
        if old != new {
            let verb = if new { "enable" } else { "disable" };
            call.record(
                &format!("peer.{what}.{verb}"),
                &peer.ip.to_string(),
                peer.meta(),
            );
        }
    }
}

fn delete(call: &mut Call) -> Outcome {
    let (id, initiator) = (call.id(), call.user.clone());
    remove(call.account, &id, &initiator)?;
    Ok(json!({}))
}

/// Deletes a peer, and with it every policy that names it as a resource. Routes keep its id.
pub(super) fn remove(account: &mut Account, id: &str, initiator: &str) -> Result<(), Refusal> {
    if !account.peers.contains(id) {
        return Err(missing(format!("peer {id} account not found")));
    }
    if let Some((router, _)) = account.routers.iter().find(|(_, router)| router.peer == id) {
        return Err(unmet(format!(
            "peer is linked to a network router: {router}"
        )));
    }
    unmanaged::check_targets(account, "peer", id)?;
    let peer = account.peers.remove(id).ok_or_else(|| not_found(id))?;
    for group in account.groups.values_mut() {
        group.peers.retain(|member| member != id);
    }
    let names_peer =
        |policy: &super::policies::Policy| policy.rules.iter().any(|rule| rule.names_resource(id));
    for (_, policy) in account
        .policies
        .remove_where(|_, policy| names_peer(policy))
    {
        account.record(initiator, "policy.delete", id, json!({"name": policy.name}));
    }
    account.record(initiator, "user.peer.delete", id, peer.meta());
    Ok(())
}
