//! Setup keys: credentials that enroll peers (docs/netbird-api.md, "Setup keys"). Their life cycle is in `keys`.

mod entry;

use jiff::Timestamp;

use super::prelude::*;
use crate::base::duration;
use crate::secret::SealedFor;
use crate::wire::api::objects::KeyType;

/// A setup key in canonical form. `None` = not ours.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SetupKey {
    /// One peer or many.
    #[serde(rename = "type")]
    pub key_type: KeyType,
    /// Life time in seconds from creation, 0 = for ever, at most 9,223,372,036; of a live key whose id does not tell its creation
    /// not known.
    #[serde(default, rename = "expires_in")]
    pub expires_in_secs: Option<i64>,
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

/// By how many seconds a life time can seem to be another one.
const CLOCK_SECS: i64 = 5;

impl SetupKey {
    /// Returns whether the field is one that a PUT can change; all others make a new key.
    pub fn can_change(field: &str) -> bool {
        field == "auto_groups"
    }

    /// Returns whether it enrolls one machine, as [`objects::SetupKey::is_for_one`].
    pub fn is_for_one(&self) -> bool {
        let is_limited = self.usage_limit == Some(1) && self.ephemeral != Some(true);
        self.key_type == KeyType::OneOff || is_limited
    }

    /// Returns whether its use is an enrollment: one peer, one name, for good.
    pub fn is_for_one_peer(&self) -> bool {
        self.is_for_one() && self.ephemeral != Some(true)
    }

    /// Returns whether the file can say that it did its work: the number of its machines is limited, and they stay.
    pub fn can_be_done(&self) -> bool {
        let is_limited = self.usage_limit.is_some_and(|limit| limit > 0);
        (self.key_type == KeyType::OneOff || is_limited) && self.ephemeral != Some(true)
    }

    /// Returns the instant from which on a new key is asked for, where it has come.
    pub fn asked_anew(&self, now: Timestamp) -> Option<Timestamp> {
        self.reissue_after.filter(|instant| *instant <= now)
    }
}

impl Spec for SetupKey {
    const KIND: Descriptor = Descriptor {
        called: ["setup key", "setup keys", "setup_key"],
        section: &["setup_keys"],
        about: "Setup keys by name. A key's name can never change.",
        collection: "/setup-keys",
        deletion_event: Some("setupkey.delete"),
        can_be_replaced: true,
        ..Descriptor::of(Reach::SetupKey, Role::Admin, Referred::Never)
    };

    const TABLE: &'static Table<Self> = &entry::TABLE;

    fn unseen(&self) -> Value {
        let SealedFor { keys, only } = &self.sealed_for;
        let keys: Vec<&String> = keys.keys().collect();
        let reissue_after = self.reissue_after.map(|at| at.to_string());
        json!([self.enrolled, reissue_after, keys, only])
    }

    fn settle(self, entry: &Cursor<'_>, _within: Option<&Resource>, log: &mut Log) -> Option<Self> {
        entry::settle(self, entry, log)
    }

    /// An answer says when the key expires, and its id when it was made.
    fn form(wire: &Entry) -> Result<Self, serde_json::Error> {
        let key: objects::SetupKey = wire.read()?;
        let life = match (key.expires, key.id.created_at()) {
            (None, _) => Some(0),
            (Some(_), None) => None,
            (Some(expires), Some(created)) => Some((expires.as_second() - created).max(1)),
        };
        Ok(SetupKey {
            expires_in_secs: life,
            ..wire.read()?
        })
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
            "expires_in": self.expires_in_secs.unwrap_or_default(),
            "usage_limit": self.usage_limit.unwrap_or_default(),
            "auto_groups": [],
            "ephemeral": self.ephemeral.unwrap_or(false),
            "allow_extra_dns_labels": self.allow_extra_dns_labels.unwrap_or(false),
        }))
    }

    /// A limit of the other type means something else: there the default counts.
    fn keep(&mut self, live: &Self) {
        if self.key_type != live.key_type {
            self.usage_limit = self.usage_limit.or(Some(0));
        }
        Self::TABLE.keep(self, live);
    }

    fn says_the_same(&self, live: &Self, field: &str) -> bool {
        let is_same = match (self.expires_in_secs, live.expires_in_secs) {
            (Some(wanted), None) => wanted != 0,
            (Some(0), Some(lives)) => lives == 0,
            (Some(wanted), Some(lives)) => lives != 0 && (wanted - lives).abs() <= CLOCK_SECS,
            (None, _) => true,
        };
        field == "expires_in" && is_same
    }

    fn summary(&self, about: &About) -> String {
        let of_type = match (self.key_type, self.usage_limit) {
            (KeyType::OneOff, _) => "one-off".to_owned(),
            (KeyType::Reusable, Some(0) | None) => "reusable, unlimited".into(),
            (KeyType::Reusable, Some(number)) => {
                let number = usize::try_from(number).unwrap_or(usize::MAX);
                format!("reusable, for {}", count(number, "peer", "peers"))
            }
        };
        let life = self.expires_in_secs.filter(|_| !about.goes);
        let life = life.map(|secs| match secs {
            0 => "never expires".into(),
            secs => format!("expires {} after creation", duration(secs)),
        });
        let is = |flag: Option<bool>, words: &str| (flag == Some(true)).then(|| words.to_owned());
        let ephemeral = is(self.ephemeral, "ephemeral peers");
        let labels = is(self.allow_extra_dns_labels, "extra DNS labels");
        // those that it grants, and those that list it
        let granted = self.auto_groups.iter().flatten().map(String::as_str);
        let mut groups: BTreeSet<&str> = granted.collect();
        if !about.goes {
            let listing = about.pending_members.iter();
            let listing = listing.filter(|(_, keys)| keys.contains(about.name));
            groups.extend(listing.map(|(group, _)| group.as_str()));
        }
        let joins = match groups.is_empty() {
            true => "joins no group".into(),
            false => format!("joins {}", named(groups)),
        };
        // each is named, however many there are: who opens a key is for a reviewer to see
        let own = joined(self.sealed_for.keys.values().map(|who| visible(who)), ", ");
        let sealed = (!own.is_empty()).then(|| match self.sealed_for.only {
            true => format!("sealed for {own} only"),
            false => format!("sealed also for {own}"),
        });
        let parts = [Some(of_type), life, ephemeral, labels, Some(joins), sealed];
        joined(parts.into_iter().flatten(), ", ")
    }

    fn loss(&self, about: &About) -> Sentence {
        Sentence::default().say(match about.is_dead {
            true => "it is dead already",
            false => "its secret stops working",
        })
    }
}
