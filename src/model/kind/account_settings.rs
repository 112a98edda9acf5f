//! The account's settings, of which there is one object (docs/netbird-api.md, "Account settings").
//!
//! In the file all of them stand side by side; in the API some stand in `extra`. What a self-hosted server takes and ignores
//! is refused by the table.

mod entry;

use super::body::fill;
use super::prelude::*;
use entry::TABLE;

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
    ["network_range", "network_range_v6"]
        .into_iter()
        .filter_map(take)
        .collect()
}

impl Spec for AccountSettings {
    const KIND: Descriptor = Descriptor {
        label: "account settings",
        plural: "account settings",
        word: "account_settings",
        section: &["account", "settings"],
        about: "The account's settings. There is one. What is left out stays as it is.",
        collection: "/accounts",
        deletion_event: None,
        reach: Reach::Nothing,
        least_role: Role::Admin,
        referred: Referred::Never,
        since: None,
        entries: Entries::One { is_listed: true },
        special: Special {
            name_field: "",
            moves: &[
                ("dns_domain", Moves::Names),
                ("network_range", Moves::Addresses),
                ("network_range_v6", Moves::AddressesV6),
                ("ipv6_enabled_groups", Moves::HavingV6),
            ],
            ..Special::NONE
        },
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
