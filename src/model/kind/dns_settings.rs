//! DNS settings: which groups' peers NetBird leaves their own resolvers (docs/netbird-api.md, "DNS settings").

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::rows::{fields, refused};
use super::spec::entry;
use super::values::names;
use super::words::named;
use super::{
    About, Descriptor, Entries, Groups, Live, One, Reach, Referred, Role, Sent, Spec, Special,
    Unresolved,
};
use crate::base::entry::Entry;
use crate::base::id::Id;
use crate::base::sentence::Sentence;
use crate::file::Table;

/// The DNS settings in canonical form. `None` = not ours.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct DnsSettings {
    /// Groups whose peers get no DNS settings from NetBird.
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

/// The answer of `GET /dns/settings`.
#[derive(Debug, Clone, Deserialize)]
struct Answer {
    /// Groups.
    disabled_management_groups: Option<Vec<Id>>,
}

impl Spec for DnsSettings {
    const KIND: Descriptor = Descriptor {
        label: "DNS settings",
        plural: "DNS settings",
        word: "dns_settings",
        section: &["dns", "settings"],
        about: "The account's DNS settings. There is one.",
        collection: "/dns/settings",
        can_be_renamed: false,
        deletion_event: None,
        reach: Reach::Nothing,
        least_role: Role::NetworkAdmin,
        referred: Referred::Never,
        since: Some("0.12"),
        entries: Entries::One(One {
            read: entry::<DnsSettings>,
            is_listed: false,
        }),
        outline: || TABLE.outline(),
        special: Special {
            name_field: "",
            ..Special::NONE
        },
    };

    const TABLE: Option<&'static Table<Self>> = Some(&TABLE);

    fn read(wire: Entry, groups: &Groups) -> Result<Live, serde_json::Error> {
        let settings: Answer = wire.read()?;
        let disabled = settings.disabled_management_groups.unwrap_or_default();
        let canonical = DnsSettings {
            disabled_management_groups: Some(groups.read(&disabled)),
        };
        let id = Id::from(Self::KIND.word); // it has none
        Ok(Live::new(id, String::new(), canonical, wire))
    }

    /// Always with a list: without one, or with null, the server answers 404 and changes nothing (docs/netbird-api.md, "DNS
    /// settings").
    fn request(&self, sent: Sent) -> Result<Value, Unresolved> {
        let Sent { live, groups, .. } = sent;
        let field = "disabled_management_groups";
        let list = match &self.disabled_management_groups {
            Some(names) => groups.resolve(names)?,
            None => live
                .and_then(|live| live.get(field))
                .filter(|list| !list.is_null())
                .cloned()
                .unwrap_or_else(|| json!([])),
        };
        Ok(json!({ field: list }))
    }

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

    fn loss(&self, _about: &About) -> Sentence {
        Sentence::default()
    }
}
