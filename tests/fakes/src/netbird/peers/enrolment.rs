//! How a peer comes in: with a setup key, or through the login of a person.

use std::net::{Ipv4Addr, Ipv6Addr};

use serde_json::json;

use super::Peer;
use crate::netbird::account::Account;
use crate::netbird::cidr::Cidr;
use crate::netbird::groups::ALL;
use crate::netbird::names;

/// What the client is told of any key that enrols nobody.
const INVALID_KEY: &str = "couldn't add peer: setup key is invalid";

/// Registers a new peer with a plain setup key, and returns its id.
pub(in crate::netbird) fn with_key(
    account: &mut Account,
    key: &str,
    hostname: &str,
) -> Result<String, String> {
    let now = account.now();
    let key = key.to_uppercase();
    let found = account
        .setup_keys
        .iter()
        .find(|(_, held)| held.plain == key && held.state(now) == "valid");
    let (key_id, found) = found
        .map(|(id, found)| (id.to_owned(), found.clone()))
        .ok_or(INVALID_KEY)?;

    let (id, peer) = register(account, hostname, "", found.ephemeral, &found.auto_groups)?;
    let used_at = account.now();
    if let Some(stored) = account.setup_keys.get_mut(&key_id) {
        stored.used_times += 1;
        stored.last_used = Some(used_at);
    }
    let mut meta = peer.meta();
    meta["setup_key_name"] = json!(found.name);
    account.record(&key_id, "peer.setupkey.add", &id, meta);
    Ok(id)
}

/// Registers a new peer of a person, and returns its id.
pub(in crate::netbird) fn with_login(
    account: &mut Account,
    user: &str,
    hostname: &str,
) -> Result<String, String> {
    let auto_groups = account
        .users
        .get(user)
        .map(|user| user.auto_groups.clone())
        .unwrap_or_default();
    let (id, peer) = register(account, hostname, user, false, &auto_groups)?;
    account.record(user, "peer.user.add", &id, peer.meta());
    Ok(id)
}

fn register(
    account: &mut Account,
    hostname: &str,
    user: &str,
    ephemeral: bool,
    auto_groups: &[String],
) -> Result<(String, Peer), String> {
    let label = names::label(hostname).ok_or("internal server error")?;
    let (created_at, id, ip) = (account.now(), account.new_id(), free_ip(account));
    let of_person = !user.is_empty();
    let peer = Peer {
        name: hostname.to_owned(),
        hostname: hostname.to_owned(),
        dns_label: free_label(account, label, ip, ephemeral),
        domain: account.settings.domain().to_owned(),
        ip,
        ipv6: ipv6_beside(account.settings.range_v6(), ip),
        user: user.to_owned(),
        connected: false,
        ephemeral,
        ssh_enabled: false,
        login_expiration_enabled: of_person,
        inactivity_expiration_enabled: of_person,
        created_at,
        last_seen: created_at,
    };
    account.peers.insert(&id, peer.clone());
    let all = account
        .groups
        .iter()
        .find(|(_, group)| group.name == ALL)
        .map(|(id, _)| id.to_owned());
    for group in auto_groups.iter().chain(&all) {
        if let Some(group) = account.groups.get_mut(group) {
            group.peers.push(id.clone());
            group.peers.sort();
        }
    }
    Ok((id, peer))
}

/// Returns the label, with the last two numbers of the address behind it where any peer has it, the
/// same one included.
pub(super) fn free_label(account: &Account, label: String, ip: Ipv4Addr, suffixed: bool) -> String {
    let [.., third, fourth] = ip.octets();
    if suffixed || account.peers.values().any(|peer| peer.dns_label == label) {
        format!("{label}-{third}-{fourth}")
    } else {
        label
    }
}

/// Returns an address of the account's range that no peer has.
pub(in crate::netbird) fn free_ip(account: &mut Account) -> Ipv4Addr {
    let Cidr {
        ip: std::net::IpAddr::V4(network),
        bits,
    } = account.settings.range()
    else {
        unreachable!("the range is one of IPv4");
    };
    loop {
        let hosts = (1_usize << (32 - bits)) - 2;
        let ip = Ipv4Addr::from_bits(network.to_bits() + 1 + account.ids.below(hosts) as u32);
        if account.peers.values().all(|peer| peer.ip != ip) {
            return ip;
        }
    }
}

/// Returns an address of the range that is as unique as the other one.
pub(in crate::netbird) fn ipv6_beside(range: Cidr, ip: Ipv4Addr) -> Ipv6Addr {
    let std::net::IpAddr::V6(network) = range.ip else {
        unreachable!("the range is one of IPv6")
    };
    Ipv6Addr::from_bits(network.to_bits() | u128::from(ip.to_bits()))
}
