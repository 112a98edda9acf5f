//! The account's settings, of which there is one object (docs/netbird-api.md, "Account settings").
//!
//! In the file all of them stand side by side; in the API some stand in `extra`. What a self-hosted server takes and ignores
//! is refused by the table.

use std::ops::RangeInclusive;

use super::prelude::*;
use super::spec::fill;

/// The settings in canonical form. `None` = not ours; of a live one, that this NetBird has no such setting.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct AccountSettings {
    /// Whether peers of people have to log in again after a time.
    pub peer_login_expiration_enabled: Option<bool>,
    /// After how many seconds.
    pub peer_login_expiration: Option<i64>,
    /// Whether they have to after they were offline for a time.
    pub peer_inactivity_expiration_enabled: Option<bool>,
    /// After how many seconds.
    pub peer_inactivity_expiration: Option<i64>,
    /// Whether users of role user see nothing in the dashboard.
    pub regular_users_view_blocked: Option<bool>,
    /// Whether the groups of a user go to the user's peers.
    pub groups_propagation_enabled: Option<bool>,
    /// Whether groups come from the identity provider's tokens.
    pub jwt_groups_enabled: Option<bool>,
    /// In which claim.
    pub jwt_groups_claim_name: Option<String>,
    /// Names in that claim, of which a user needs one.
    pub jwt_allow_groups: Option<BTreeSet<String>>,
    /// Whether routing peers resolve the domains of routes.
    pub routing_peer_dns_resolution_enabled: Option<bool>,
    /// The domain behind the names of machines, in lower case; empty: NetBird's own.
    pub dns_domain: Option<String>,
    /// The IPv4 network of the machines' addresses.
    pub network_range: Option<String>,
    /// The IPv6 network of them.
    pub network_range_v6: Option<String>,
    /// Groups whose peers have an IPv6 address.
    #[serde(deserialize_with = "ids")]
    pub ipv6_enabled_groups: Option<BTreeSet<String>>,
    /// Whether peers may expose services.
    pub peer_expose_enabled: Option<bool>,
    /// Groups whose peers may.
    #[serde(deserialize_with = "ids")]
    pub peer_expose_groups: Option<BTreeSet<String>>,
    /// Whether connections are made when they are needed.
    pub lazy_connection_enabled: Option<bool>,
    /// To which version clients update themselves.
    pub auto_update_version: Option<String>,
    /// Whether they do so without asking.
    pub auto_update_always: Option<bool>,
    /// Whether clients send metrics.
    pub metrics_push_enabled: Option<bool>,
    /// Whether local users need a second factor.
    pub local_mfa_enabled: Option<bool>,
    /// Whether new peers wait until somebody lets them in.
    pub peer_approval_enabled: Option<bool>,
    /// Whether new users do.
    pub user_approval_required: Option<bool>,
    /// Groups whose traffic NetBird's cloud logs: no file says them, and they hold their groups.
    #[serde(skip_serializing, deserialize_with = "ids")]
    pub network_traffic_logs_groups: BTreeSet<String>,
}

/// What stands in `extra`.
const EXTRA: [&str; 2] = ["peer_approval_enabled", "user_approval_required"];

impl AccountSettings {
    /// Returns whether the API has a setting in `extra`.
    pub fn is_extra(field: &str) -> bool {
        EXTRA.contains(&field)
    }
}

/// Takes out the ranges where `GET` answers the effective ones, and returns them in their one spelling. A `PUT` is compared
/// with the stored ones there, which can be others: NetBird 0.71.0 and 0.71.1 give every machine another address when its own
/// range is sent back. One that is left out changes nothing.
///
/// Before 0.71 both are the stored ones, and one that is left out would be lost. `ipv6_enabled_groups` came with 0.71.
fn take_ranges(settings: &mut Map<String, Value>) -> Vec<(&'static str, Value)> {
    if !settings.contains_key("ipv6_enabled_groups") {
        return Vec::new();
    }
    let take = |field| {
        let range = settings.remove(field)?;
        Some((field, spelling::network(range.as_str()?).into()))
    };
    let ranges = ["network_range", "network_range_v6"].into_iter();
    ranges.filter_map(take).collect()
}

impl Spec for AccountSettings {
    const KIND: Descriptor = Descriptor {
        called: ["account settings", "account settings", "account_settings"],
        section: &["account", "settings"],
        about: "The account's settings. There is one. What is left out stays as it is.",
        collection: "/accounts",
        entries: Entries::One { is_listed: true },
        name_field: "",
        moves: &[
            ("dns_domain", Moves::Names),
            ("network_range", Moves::Addresses),
            ("network_range_v6", Moves::AddressesV6),
            ("ipv6_enabled_groups", Moves::HavingV6),
        ],
        ..Descriptor::of(Reach::Nothing, Role::Admin, Referred::Never)
    };

    const TABLE: &'static Table<Self> = &TABLE;

    const MAY_LACK: bool = true;

    /// All settings side by side.
    fn form(wire: &Entry) -> Result<Self, serde_json::Error> {
        let mut answer: BTreeMap<String, Value> = wire.read()?;
        let mut settings = answer.remove("settings").unwrap_or_default();
        if let Some(Value::Object(extra)) = settings.get_mut("extra").map(Value::take) {
            settings = crate::base::json::with(settings, extra.into());
        }
        serde_json::from_value(settings)
    }

    fn tidy(&mut self, groups: &Groups) {
        let logs = &mut self.network_traffic_logs_groups;
        *logs = groups.read(logs.iter().map(String::as_str));
        for network in [&mut self.network_range, &mut self.network_range_v6] {
            *network = network.take().map(|range| spelling::network(&range));
        }
        let domain = self.dns_domain.take();
        self.dns_domain = domain.map(|name| name.to_ascii_lowercase());
    }

    /// All settings as they are, but for ours: what is left out, the server sets to zero (docs/netbird-api.md, "Account
    /// settings"). A range that does not change is left out ([`take_ranges`]).
    fn request(&self, sent: Sent) -> Result<Value, Unresolved> {
        let Sent { live, groups, .. } = sent;
        let mut settings = base_of(live.and_then(|live| live.get("settings")), &[]);
        let ranges = take_ranges(&mut settings);
        let mut extra = base_of(settings.get("extra"), &[]);
        fill(&mut settings, self, groups, |field| !Self::is_extra(field))?;
        fill(&mut extra, self, groups, Self::is_extra)?;
        settings.retain(|field, value| !ranges.iter().any(|(of, it)| of == field && it == value));
        // one that holds nothing would reset it
        if !extra.is_empty() {
            settings.insert("extra".into(), extra.into());
        }
        Ok(json!({ "settings": settings }))
    }

    fn unseen(&self) -> Value {
        json!({ "network_traffic_logs_groups": self.network_traffic_logs_groups })
    }

    fn references(&self) -> Vec<&str> {
        let groups = TABLE.groups(self).into_iter().flatten();
        let all = groups.chain(&self.network_traffic_logs_groups);
        all.map(String::as_str).collect()
    }

    fn keep(&mut self, live: &Self) {
        TABLE.keep(self, live);
        self.network_traffic_logs_groups
            .clone_from(&live.network_traffic_logs_groups);
    }

    /// What is otherwise than in a new account. The ranges are the account's own: in another account they would move every
    /// machine.
    fn export(&self, mut fields: Map<String, Value>) -> Result<Map<String, Value>, String> {
        fields.retain(|name, value| {
            let default = TABLE.field(name).and_then(|field| field.row.default);
            let default = default.map(|text| serde_json::from_str(text).expect("JSON"));
            default.is_some_and(|default: Value| default != *value)
        });
        Ok(fields)
    }
}

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

const TABLE: Table<AccountSettings> = Table {
    what: "the account settings",
    fields: fields![
        /// Whether machines of people have to log in again after a time.
        own peer_login_expiration_enabled: FLAG => true,
        /// After how many seconds: an hour to 180 days.
        own peer_login_expiration: seconds::<3_600, 15_552_000>() => 86400,
        /// Whether they have to after they were offline for a time.
        own peer_inactivity_expiration_enabled: FLAG => false,
        /// After how many seconds.
        own peer_inactivity_expiration: seconds::<1, MOST_SECS>() => 600,
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
const ALLOWED: Takes<Option<BTreeSet<String>>> = Takes(Shape::NAMES, |value, log| {
    names::others(value, log, "a list of names")
});

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
        let length = network.rsplit_once('/').map(|(_, it)| it.parse::<u32>());
        let length = length.and_then(Result::ok).unwrap_or_default();
        let (least, most) = (prefixes.start(), prefixes.end());
        let message = if network.contains(':') != (family == "IPv6") {
            format!("{} is not an {family} network", quote(text))
        } else if !prefixes.contains(&length) {
            let size = if length > *most { "small" } else { "large" };
            let text = quote(text);
            format!("{text} is too {size}: NetBird accepts /{least} to /{most} here")
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
        let flaw = log.error(value.place(), message);
        flaw.suggest("write \"latest\", \"disabled\", or one such as \"0.77.1\"");
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
