//! The settings in the file: which there are, and how each is read.

use std::ops::RangeInclusive;

use super::AccountSettings;
use crate::model::kind::prelude::*;

/// Most seconds of inactivity: the server makes a negative number of more.
const MOST_SECS: i64 = 9_223_372_036;

const LEAVE_OUT: &str = "leave it out: what NetBird has stays as it is";

const TRAFFIC_LOGS: Refused = Refused::new(
    &[
        "network_traffic_logs_enabled",
        "network_traffic_logs_groups",
        "network_traffic_packet_counter_enabled",
    ],
    "traffic is logged by NetBird's cloud: a self-hosted one answers 200 to it and ignores it",
    Some(LEAVE_OUT),
)
.unless_off();

pub(super) const TABLE: Table<AccountSettings> = Table {
    what: "the account settings",
    fields: fields![
        /// Whether machines of people have to log in again after a time.
        own peer_login_expiration_enabled: FLAG => true,
        /// After how many seconds: an hour to 180 days.
        own peer_login_expiration: whole::<3_600, 15_552_000>() => 86400,
        /// Whether they have to after they were offline for a time.
        own peer_inactivity_expiration_enabled: FLAG => false,
        /// After how many seconds.
        own peer_inactivity_expiration: whole::<1, MOST_SECS>() => 600,
        /// Whether people of role user see no peers of others in the dashboard.
        own regular_users_view_blocked: FLAG => true,
        /// Whether the groups of a user go to the user's machines.
        own groups_propagation_enabled: FLAG => true,
        /// Whether groups come from the tokens of the identity provider.
        own jwt_groups_enabled: FLAG => false,
        /// The claim of a token that lists them.
        own jwt_groups_claim_name: Takes(Shape::Text, claim) => "",
        /// Names in that claim: who has none of them is let in no more. Empty: everybody is.
        own jwt_allow_groups: ALLOWED => [],
        /// Whether routing peers resolve the domains of routes, rather than each client.
        own routing_peer_dns_resolution_enabled: FLAG => true,
        /// The domain behind the names of machines; "" is NetBird's own. Another one renames every machine: somebody has
        /// to agree.
        own dns_domain: Takes(Shape::Text, own_domain) => "",
        /// The IPv4 network of the machines' addresses, /28 or larger. Another one gives every machine another address:
        /// somebody has to agree.
        own network_range: Takes(Shape::Text, |value, log| range(value, ("IPv4", 0..=28), log)),
        /// The IPv6 network of them, /48 to /120; likewise.
        own network_range_v6: Takes(Shape::Text, |value, log| range(value, ("IPv6", 48..=120), log)),
        /// Groups whose machines have an IPv6 address too. Where machines get or lose theirs, somebody has to agree.
        own(groups) ipv6_enabled_groups: names::GROUPS => ["All"],
        /// Whether machines may expose services. It needs "peer_expose_groups".
        own peer_expose_enabled: FLAG => false,
        /// Groups whose machines may.
        own(groups) peer_expose_groups: names::GROUPS => [],
        /// Whether machines connect to each other only once they have something to send.
        own lazy_connection_enabled: FLAG => true,
        /// The version to which clients update themselves: "latest", "disabled", or a version such as "0.77.1".
        own auto_update_version: VERSION => "disabled",
        /// Whether they do so without asking.
        own auto_update_always: FLAG => false,
        /// Whether clients send metrics.
        own metrics_push_enabled: FLAG => false,
        /// Whether users of NetBird's own identity provider need a second factor.
        own local_mfa_enabled: FLAG => false,
        /// Whether new machines wait until somebody lets them in; NetBird stores it everywhere, and goes by it on its
        /// cloud.
        own peer_approval_enabled: FLAG => false,
        /// Whether new users wait until somebody lets them in.
        own user_approval_required: FLAG => true,
    ],
    refused: refused![
        ["embedded_idp_enabled"] => "whether NetBird's own identity provider runs is set where the server is started: NetBird answers 200 to it and ignores it",
            LEAVE_OUT;
        ["local_auth_disabled"] => "a self-hosted NetBird answers 200 to it and ignores it", LEAVE_OUT;
        ["agent_network_only"] => "a NetBird without agent networks refuses it", LEAVE_OUT;
        TRAFFIC_LOGS;
        ["extra"] => "fields of the API's \"extra\" are written beside the other settings here",
            "write \"peer_approval_enabled\" and \"user_approval_required\" without \"extra\" around them";
        ["onboarding"] => "the dashboard's first steps are not managed", LEAVE_OUT;
        ["domain", "dns_label"] => dns_domain;
        ["network", "cidr"] => network_range;
    ],
    rules: "{}",
};

/// Names of groups of the identity provider.
const ALLOWED: Takes<Option<BTreeSet<String>>> = Takes(
    Shape::Schema(r#"{"type": "array", "items": {"type": "string", "minLength": 1}}"#),
    |value, log| names::others(value, log, "a list of names"),
);

/// A version: the server answers 500 to anything else.
const VERSION: Takes<Option<String>> = Takes(
    Shape::Schema(r#"{"type": "string", "pattern": "^(|latest|disabled|v?[0-9]+(\\.[0-9]+)*)$"}"#),
    version,
);

/// Reads a network of that family without host bits, which the server would mask, with a prefix that it takes.
fn range(
    value: &Cursor<'_>,
    (family, prefixes): (&str, RangeInclusive<u32>),
    log: &mut Log,
) -> Option<String> {
    let text = value.string(log, "a network such as \"100.64.0.0/16\"")?;
    let found = network::exact(text).and_then(|network| {
        let length = network.rsplit_once('/').and_then(|(_, it)| it.parse().ok());
        let length: u32 = length.unwrap_or_default();
        let (least, most) = (prefixes.start(), prefixes.end());
        let message = if network.contains(':') != (family == "IPv6") {
            format!("{} is no {family} network", quote(text))
        } else if !prefixes.contains(&length) {
            format!(
                "NetBird takes /{least} to /{most} here, not {}",
                quote(text)
            )
        } else {
            return Ok(network);
        };
        Err(Flaw::new(message))
    });
    value.checked(found, log)
}

/// Reads the domain of machines.
fn own_domain(value: &Cursor<'_>, log: &mut Log) -> Option<String> {
    match value.text() {
        Some("") => Some(String::new()),
        _ => domain::read(value, domain::of_zone, log),
    }
}

/// Reads a version: the server answers 500 to anything else.
fn version(value: &Cursor<'_>, log: &mut Log) -> Option<String> {
    let version = value.string(log, "a version")?;
    let numbers = version.strip_prefix('v').unwrap_or(version);
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    if !["", "latest", "disabled"].contains(&version) && !numbers.split('.').all(is_number) {
        let message = format!("{} is not a version", quote(version));
        log.error(value.place(), message)
            .suggest("write \"latest\", \"disabled\", or one such as \"0.77.1\"");
        return None;
    }
    Some(version.to_owned())
}

/// Reads the name of a claim; empty is NetBird's own.
fn claim(value: &Cursor<'_>, log: &mut Log) -> Option<String> {
    let name = value.string(log, "the name of a claim")?;
    if !name.is_empty() {
        names::check_own(name, || value.place(), log);
    }
    Some(name.to_owned())
}
