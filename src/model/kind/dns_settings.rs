//! DNS settings: which groups' peers NetBird leaves their own resolvers (docs/netbird-api.md, "DNS settings").

use super::prelude::*;

/// The DNS settings in canonical form. `None` = not ours.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct DnsSettings {
    /// Groups whose peers get no DNS settings from NetBird.
    ///
    /// Always sent: without a list, or with null, the server answers 404 and changes nothing (docs/netbird-api.md, "DNS settings").
    #[serde(default, deserialize_with = "ids")]
    pub disabled_management_groups: Option<BTreeSet<String>>,
}

const TABLE: Table<DnsSettings> = Table {
    what: "the DNS settings",
    fields: fields![
        /// Groups whose peers keep their own resolvers: they get no DNS settings from NetBird.
        own(groups) disabled_management_groups: names::GROUPS => [],
    ],
    refused: refused![
        ["disabled_groups", "groups", "disabled"] => disabled_management_groups;
    ],
    rules: "{}",
};

impl Spec for DnsSettings {
    const KIND: Descriptor = Descriptor {
        called: ["DNS settings", "DNS settings", "dns_settings"],
        section: &["dns", "settings"],
        about: "The account's DNS settings. There is one.",
        collection: "/dns/settings",
        since: Some("0.12"),
        entries: Entries::One { is_listed: false },
        name_field: "",
        ..Descriptor::of(Reach::Nothing, Role::NetworkAdmin, Referred::Never)
    };

    const TABLE: &'static Table<Self> = &TABLE;

    /// A list that is empty is what there is without a file, too.
    fn export(&self, mut fields: Map<String, Value>) -> Result<Map<String, Value>, String> {
        fields.retain(|_, value| value.as_array().is_none_or(|list| !list.is_empty()));
        Ok(fields)
    }

    fn summary(&self, _about: &About) -> String {
        let groups = self.disabled_management_groups.iter().flatten();
        let groups = named(groups);
        format!("no DNS settings for peers in {groups}")
    }
}
