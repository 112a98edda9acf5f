//! Setup keys: credentials that enroll peers (docs/netbird-api.md, "Setup keys"). Their life cycle is in `keys`.

mod entry;

use std::borrow::Cow;

use jiff::Timestamp;
use serde::Deserializer;

use super::prelude::*;
use crate::base::text::duration;
use crate::secret::SealedFor;
use crate::wire::key_type::KeyType;

/// A setup key in canonical form. `None` = not ours.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SetupKey {
    /// One peer or many.
    #[serde(rename = "type")]
    pub key_type: KeyType,
    /// Whether it expires at all: there is no way back from a live key to its life time.
    #[serde(default, deserialize_with = "expires")]
    pub expires: bool,
    /// Life time in seconds from creation, 0 = for ever, at most 9,223,372,036; 0 where the key is live.
    #[serde(skip)]
    pub expires_in_secs: i64,
    /// Peers it may enroll, 0 = without limit. Creation takes 0 for a reusable one.
    pub usage_limit: Option<i64>,
    /// Groups that its peers join. Creation takes none.
    #[serde(default, deserialize_with = "ids")]
    pub auto_groups: Option<BTreeSet<String>>,
    /// Whether the server forgets its peers soon after they disconnect. Creation takes false.
    pub ephemeral: Option<bool>,
    /// Whether its peers may bring DNS labels of their own. Creation takes false.
    pub allow_extra_dns_labels: Option<bool>,
    /// Who opens its sealed secret. No server knows: it is no difference, and nothing of a live key.
    #[serde(skip)]
    pub sealed_for: SealedFor,
    /// The entry says that the key did its work: it is never made again.
    #[serde(skip)]
    pub enrolled: bool,
    /// The entry says that a live key created before that instant counts as absent.
    #[serde(skip)]
    pub reissue_after: Option<Timestamp>,
}

/// Reads whether an answer has a time at which the key expires.
fn expires<'de, D: Deserializer<'de>>(from: D) -> Result<bool, D::Error> {
    Ok(objects::moment(from)?.is_some())
}

impl SetupKey {
    /// Returns whether the field is one that a PUT can change; all others make a new key.
    pub fn can_change(field: &str) -> bool {
        field == "auto_groups"
    }

    /// Returns whether its use is an enrollment: one peer, one name, for good.
    pub fn is_for_one_peer(&self) -> bool {
        self.key_type == KeyType::OneOff && self.ephemeral != Some(true)
    }

    /// Returns the instant from which on a new key is asked for, where it has come.
    pub fn asked_anew(&self, now: Timestamp) -> Option<Timestamp> {
        self.reissue_after.filter(|instant| *instant <= now)
    }
}

impl Spec for SetupKey {
    const KIND: Descriptor = Descriptor {
        label: "setup key",
        plural: "setup keys",
        word: "setup_key",
        section: &["setup_keys"],
        about: "Setup keys by name. A key's name can never change.",
        collection: "/setup-keys",
        deletion_event: Some("setupkey.delete"),
        reach: Reach::SetupKey,
        least_role: Role::Admin,
        referred: Referred::Never,
        since: None,
        entries: Entries::Named,
        special: Special::NONE,
    };

    const TABLE: &'static Table<Self> = &entry::TABLE;

    fn settle(self, entry: &Cursor<'_>, _within: Option<&Resource>, log: &mut Log) -> Option<Self> {
        entry::settle(self, entry, log)
    }

    /// Any number below 1 is no limit.
    fn tidy(&mut self, _groups: &Groups) {
        self.usage_limit = self.usage_limit.map(|limit| limit.max(0));
    }

    /// A new key is made without groups: only what is sealed gets its groups. A PUT changes groups and
    /// must repeat `revoked`, since a key cannot be un-revoked.
    fn request(&self, sent: Sent) -> Result<Value, Unresolved> {
        let Sent { name, live, groups } = sent;
        if let Some(live) = live {
            let auto_groups = match &self.auto_groups {
                Some(names) => groups.resolve(names)?,
                None => live["auto_groups"].clone(),
            };
            return Ok(json!({ "auto_groups": auto_groups, "revoked": live["revoked"] }));
        }
        Ok(json!({
            "name": name,
            "type": self.key_type,
            "expires_in": self.expires_in_secs,
            "usage_limit": self.usage_limit.unwrap_or_default(),
            "auto_groups": [],
            "ephemeral": self.ephemeral.unwrap_or(false),
            "allow_extra_dns_labels": self.allow_extra_dns_labels.unwrap_or(false),
        }))
    }

    /// What became of the key decides about its entry: that is told by all keys of its name together.
    fn export(&self, mut fields: Map<String, Value>) -> Result<Map<String, Value>, String> {
        fields.remove("expires");
        Ok(fields)
    }

    fn summary(&self, about: &About) -> String {
        let mut parts = vec![match (self.key_type, self.usage_limit) {
            (KeyType::OneOff, _) => "one-off".to_owned(),
            (KeyType::Reusable, Some(0) | None) => "reusable, unlimited".into(),
            (KeyType::Reusable, Some(number)) => {
                let number = usize::try_from(number).unwrap_or(usize::MAX);
                format!("reusable, for {}", count(number, "peer", "peers"))
            }
        }];
        // a live key does not tell how long it was made for
        match self.expires_in_secs {
            _ if about.goes => {}
            0 => parts.push("never expires".into()),
            secs => parts.push(format!("expires {} after creation", duration(secs))),
        }
        if self.ephemeral == Some(true) {
            parts.push("ephemeral peers".into());
        }
        if self.allow_extra_dns_labels == Some(true) {
            parts.push("extra DNS labels".into());
        }
        // those that it grants, and those that list it
        let granted = self.auto_groups.iter().flatten().map(String::as_str);
        let mut groups: BTreeSet<&str> = granted.collect();
        if !about.goes {
            let lists = |keys: &BTreeSet<String>| keys.contains(about.name);
            let listing = about.pending_members.iter().filter(|(_, keys)| lists(keys));
            groups.extend(listing.map(|(group, _)| group.as_str()));
        }
        match groups.is_empty() {
            true => parts.push("joins no group".into()),
            false => parts.push(format!("joins {}", named(groups))),
        }
        // each is named, however many there are: who opens a key is for a reviewer to see
        let own = self.sealed_for.keys.values();
        let own: Vec<Cow<str>> = own.map(|who| visible(who)).collect();
        match (own.join(", "), self.sealed_for.only) {
            (own, _) if own.is_empty() => {}
            (own, true) => parts.push(format!("sealed for {own} only")),
            (own, false) => parts.push(format!("sealed also for {own}")),
        }
        parts.join(", ")
    }

    fn loss(&self, about: &About) -> Sentence {
        Sentence::default().say(match about.is_dead {
            true => "it is dead already",
            false => "its secret stops working",
        })
    }
}
