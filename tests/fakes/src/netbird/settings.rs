//! The account's settings: one object, which a PUT replaces as a whole.

use serde_json::{Map, Value, json};

use super::account::Account;
use super::api::{Call, Outcome, Route, route};
use super::auth::Module;
use super::cidr::Cidr;
use super::names::{self, Form};
use super::peers::enrolment;
use super::refusal::{Refusal, internal, invalid};
use super::users;
use crate::body::Body;

pub(super) const ROUTES: &[Route] = &[
    route("GET", "/accounts", Module::Accounts, |call| {
        Ok(json!([call.account.show()]))
    }),
    route("PUT", "/accounts/*", Module::Settings, put),
];

/// The domain of peers where the settings name none.
const DNS_DOMAIN: &str = "netbird.selfhosted";

const DOMAIN: Form = Form {
    wildcard: false,
    trailing_dot: false,
    unicode: false,
    underscore: true,
};

const HOUR: i64 = 3600;
const LONGEST: i64 = 180 * 24 * HOUR;

const FLAGS: [&str; 12] = [
    "peer_login_expiration_enabled",
    "peer_inactivity_expiration_enabled",
    "regular_users_view_blocked",
    "groups_propagation_enabled",
    "jwt_groups_enabled",
    "routing_peer_dns_resolution_enabled",
    "peer_expose_enabled",
    "lazy_connection_enabled",
    "auto_update_always",
    "metrics_push_enabled",
    "local_mfa_enabled",
    "agent_network_only",
];

/// What the settings hold, as `GET /accounts` shows it.
#[derive(Clone)]
pub(super) struct Settings(Map<String, Value>);

impl Settings {
    /// Those of a new account.
    pub(super) fn new(all: &str) -> Settings {
        let settings = json!({
            "agent_network_only": false,
            "auto_update_always": false,
            "auto_update_version": "disabled",
            "dns_domain": "",
            "embedded_idp_enabled": true,
            "extra": {
                "network_traffic_logs_enabled": false,
                "network_traffic_logs_groups": null,
                "network_traffic_packet_counter_enabled": false,
                "peer_approval_enabled": false,
                "user_approval_required": true,
            },
            "groups_propagation_enabled": true,
            "ipv6_enabled_groups": [all],
            "jwt_allow_groups": [],
            "jwt_groups_claim_name": "",
            "jwt_groups_enabled": false,
            "lazy_connection_enabled": true,
            "local_auth_disabled": false,
            "local_mfa_enabled": false,
            "metrics_push_enabled": false,
            "network_range": "100.92.0.0/16",
            "network_range_v6": "fd00:4e42:ab12::/64",
            "peer_expose_enabled": false,
            "peer_expose_groups": null,
            "peer_inactivity_expiration": 600,
            "peer_inactivity_expiration_enabled": false,
            "peer_login_expiration": 86400,
            "peer_login_expiration_enabled": true,
            "regular_users_view_blocked": true,
            "routing_peer_dns_resolution_enabled": true,
        });
        match settings {
            Value::Object(fields) => Settings(fields),
            _ => unreachable!("it is written as an object"),
        }
    }

    pub(super) fn show(&self) -> Value {
        self.0.clone().into()
    }

    fn text(&self, field: &str) -> &str {
        self.0[field].as_str().unwrap_or_default()
    }

    fn texts(&self, field: &str) -> impl Iterator<Item = &str> {
        let list = self.0[field].as_array().into_iter().flatten();
        list.filter_map(Value::as_str)
    }

    /// The domain behind the labels of peers.
    /// Whether the machines of a person follow the person's groups.
    pub(super) fn propagates(&self) -> bool {
        self.show()["groups_propagation_enabled"] == true
    }

    pub(super) fn domain(&self) -> &str {
        match self.text("dns_domain") {
            "" => DNS_DOMAIN,
            domain => domain,
        }
    }

    pub(super) fn range(&self) -> Cidr {
        Cidr::parse(self.text("network_range")).expect("the range is a network")
    }

    pub(super) fn range_v6(&self) -> Cidr {
        Cidr::parse(self.text("network_range_v6")).expect("the range is a network")
    }

    /// The groups whose members have an IPv6 address.
    pub(super) fn ipv6_groups(&self) -> impl Iterator<Item = &str> {
        self.texts("ipv6_enabled_groups")
    }
}

fn put(call: &mut Call) -> Outcome {
    let (body, id) = (call.body()?, call.id());
    if id != call.account.id {
        return Err(internal());
    }
    let sent = body.object("settings")?.unwrap_or_default();
    let mut after = call.account.settings.0.clone();
    for flag in FLAGS {
        after.insert(flag.into(), sent.flag(flag)?.into());
    }
    for number in ["peer_login_expiration", "peer_inactivity_expiration"] {
        after.insert(number.into(), sent.number(number)?.into());
    }
    for text in ["jwt_groups_claim_name", "auto_update_version", "dns_domain"] {
        after.insert(text.into(), sent.text(text)?.into());
    }
    let lists = [
        "jwt_allow_groups",
        "ipv6_enabled_groups",
        "peer_expose_groups",
    ];
    for list in lists {
        after.insert(list.into(), sent.optional_texts(list)?.into());
    }
    if let Some(extra) = sent.object("extra")? {
        // what is logged of traffic is nothing that a self-hosted server keeps
        for flag in ["peer_approval_enabled", "user_approval_required"] {
            after["extra"][flag] = extra.flag(flag)?.into();
        }
    }
    let after = Settings(after);
    check(call.account, &after)?;
    let (range, range_v6) = ranges(&sent, &call.account.settings)?;
    let mut after = after;
    after
        .0
        .insert("network_range".into(), range.to_string().into());
    after
        .0
        .insert("network_range_v6".into(), range_v6.to_string().into());
    let is_sent = !sent.text("network_range")?.is_empty();
    let account = &mut call.account;
    let is_other = account.stored_range.as_mut().is_some_and(|stored| {
        let sent = is_sent.then(|| range.to_string());
        let is_other = is_sent && *stored != sent;
        *stored = sent;
        is_other
    });
    let followed = call.account.settings.propagates();
    store(call, after, is_other);
    if !followed && call.account.settings.propagates() {
        users::all_join(call.account);
    }
    // not all of it is what `GET` shows
    let mut answer = call.account.show();
    answer["settings"]["embedded_idp_enabled"] = json!(false);
    for field in ["network_range", "network_range_v6"] {
        if sent.text(field)?.is_empty() {
            answer["settings"]
                .as_object_mut()
                .and_then(|settings| settings.remove(field));
        }
    }
    Ok(answer)
}

/// What the server looks at before it stores.
fn check(account: &Account, after: &Settings) -> Result<(), Refusal> {
    let lasts = after.0["peer_login_expiration"]
        .as_i64()
        .unwrap_or_default();
    if lasts < HOUR {
        return Err(invalid(
            "peer login expiration can't be smaller than one hour",
        ));
    }
    if lasts > LONGEST {
        return Err(invalid(
            "peer login expiration can't be larger than 180 days",
        ));
    }
    if after.0["agent_network_only"] == json!(true) {
        return Err(invalid(
            "agent network only mode requires dashboard_features.agent_network to be enabled",
        ));
    }
    let version = after.text("auto_update_version");
    let numbers = version.strip_prefix('v').unwrap_or(version);
    let is_version = numbers
        .split('.')
        .all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()));
    if !is_version && !["", "latest", "disabled"].contains(&version) {
        return Err(internal());
    }
    let domain = after.text("dns_domain");
    if !domain.is_empty() {
        if !names::is_domain(domain, DOMAIN) {
            return Err(invalid(format!(
                "invalid domain \"{domain}\" provided for dns domain"
            )));
        }
        if account.zones.values().any(|zone| zone.domain == domain) {
            return Err(invalid(format!(
                "peer dns domain {domain} conflicts with existing custom dns zone"
            )));
        }
    }
    if after.0["peer_expose_enabled"] == json!(true)
        && after.texts("peer_expose_groups").next().is_none()
    {
        return Err(invalid("peer expose requires at least one group"));
    }
    let groups: Vec<String> = after.ipv6_groups().map(str::to_owned).collect();
    account.check_groups(&groups, |id| {
        invalid(format!("ipv6 enabled group {id} does not exist"))
    })
}

/// The ranges that are sent; those that are there where none is.
fn ranges(sent: &Body, before: &Settings) -> Result<(Cidr, Cidr), Refusal> {
    let read = |field: &str, family: &str, before: Cidr, sizes: std::ops::RangeInclusive<u32>| {
        let text = sent.text(field)?;
        if text.is_empty() {
            return Ok(before);
        }
        let range = Cidr::parse(&text).ok_or_else(|| {
            invalid(format!(
                "invalid CIDR format: netip.ParsePrefix(\"{text}\"): no '/'"
            ))
        })?;
        if range.ip.is_ipv4() != before.ip.is_ipv4() {
            return Err(invalid(format!(
                "network range must be an {family} address"
            )));
        }
        if range.bits < *sizes.start() {
            return Err(invalid(format!(
                "network range too large: maximum size is /{} for {family}",
                sizes.start()
            )));
        }
        if range.bits > *sizes.end() {
            return Err(invalid(format!(
                "network range too small: minimum size is /{} for {family}",
                sizes.end()
            )));
        }
        Ok(range.masked())
    };
    Ok((
        read("network_range", "IPv4", before.range(), 0..=28)?,
        read("network_range_v6", "IPv6", before.range_v6(), 48..=120)?,
    ))
}

/// Stores the settings, and gives the peers the addresses that follow from them; with `is_other_range` new ones in any case.
fn store(call: &mut Call, after: Settings, is_other_range: bool) {
    let before = std::mem::replace(&mut call.account.settings, after);
    let after = &call.account.settings;
    let (range, range_v6) = (after.range(), after.range_v6());
    let domains = [
        before.text("dns_domain").to_owned(),
        after.text("dns_domain").to_owned(),
    ];
    let target = call.account.id.clone();
    for (old, new, suffix) in [
        (before.range(), range, ""),
        (before.range_v6(), range_v6, "_v6"),
    ] {
        if old != new {
            let meta = json!({ format!("old_network_range{suffix}"): old.to_string(),
                               format!("new_network_range{suffix}"): new.to_string() });
            call.record("account.network.range.update", &target, meta);
        }
    }
    let [old, new] = domains;
    if old != new {
        let meta = json!({ "old_dns_domain": old, "new_dns_domain": new });
        call.record("account.dns.domain.update", &target, meta);
    }
    if before.range() != range || is_other_range {
        let peers: Vec<String> = call
            .account
            .peers
            .iter()
            .map(|(id, _)| id.to_owned())
            .collect();
        for id in peers {
            let ip = enrolment::free_ip(call.account);
            if let Some(peer) = call.account.peers.get_mut(&id) {
                peer.ip = ip;
            }
        }
    }
    if before.range_v6() != range_v6 {
        for peer in call.account.peers.values_mut() {
            peer.ipv6 = enrolment::ipv6_beside(range_v6, peer.ip);
        }
    }
    let domain = call.account.settings.domain().to_owned();
    for peer in call.account.peers.values_mut() {
        peer.domain.clone_from(&domain);
    }
}
