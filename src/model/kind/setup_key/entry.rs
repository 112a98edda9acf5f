//! Setup keys in the file: section `setup_keys`.

use jiff::Timestamp;

use super::DeclaredKey;
use crate::model::kind::prelude::*;
use crate::model::kind::values::times;
use crate::secret::{SealedFor, literal};
use crate::wire::key_type::KeyType;

/// A key as written; what is missing or wrong is `None`.
#[derive(Default)]
pub(super) struct KeyDraft {
    key_type: Option<KeyType>,
    expires_in_secs: Option<i64>,
    usage_limit: Option<i64>,
    auto_groups: Option<BTreeSet<String>>,
    ephemeral: Option<bool>,
    allow_extra_dns_labels: Option<bool>,
    enrolled: Option<bool>,
    reissue_after: Option<Timestamp>,
    recipients: Option<BTreeMap<String, String>>,
    recipients_only: Option<bool>,
}

pub(super) const TABLE: Table<KeyDraft> = Table {
    what: "a setup key",
    fields: fields![
        /// one-off enrolls one peer, reusable up to usage_limit.
        needs key_type as "type": Takes(Shape::Schema(r#"{"enum": ["one-off", "reusable"]}"#), word::read::<KeyType>),
        /// Life time in seconds from creation, such as 604800 for a week; 0 = never expires.
        needs expires_in_secs as "expires_in": Takes(Shape::Whole(0, 9_223_372_036), times::expires_in),
        /// Peers it may enroll: 1 for a one-off key (0 means the same); 0 = without limit for a reusable one. Default at
        /// creation: 1 or 0.
        own usage_limit: Takes(Shape::Whole(0, i64::MAX), |value, log| value.integer(log, "a whole number of uses")),
        /// Groups that its peers join at enrollment; never All.
        own(groups) auto_groups: Takes(Shape::Schema(AUTO_GROUPS), auto_groups) => [],
        /// Peers are forgotten soon after they disconnect.
        own ephemeral: FLAG => false,
        /// Peers may bring DNS labels of their own.
        own allow_extra_dns_labels: FLAG => false,
        /// The key did its work and is never made again. Set by sync-events; only on one-off keys that are not ephemeral.
        may enrolled: FLAG => false,
        /// A live key created before that instant counts as absent, so a new one is made. RFC 3339 with offset.
        may reissue_after: Takes(Shape::Schema(INSTANT), times::reissue_after),
        /// age or SSH public keys that open this key's sealed secret, besides those that the run seals every key for.
        /// Literal keys only. Another list replaces nothing by itself: reissue_after does.
        may recipients: Takes(Shape::Schema(RECIPIENTS), recipients),
        /// The secret is sealed for recipients alone.
        may recipients_only: FLAG => false,
    ],
    refused: refused![
        ["renamed_from"] => "a setup key's name can never change",
            "a new name is a new key: the old one is deleted, a new one made and sealed";
        NAME;
        ["key"] => "this file never has the secret of a key",
            "if it is a real one, revoke it in NetBird: git keeps it for ever";
        ["revoked"] => "keys are not revoked here", "remove the entry to delete the key";
        ["expires", "expiry", "expiration", "expiry_seconds", "duration", "ttl"] => expires_in;
        ["groups"] => auto_groups;
        ["uses", "max_uses", "limit"] => usage_limit;
    ],
    rules: r#"{"allOf": [
        {
            "if": {"properties": {"type": {"const": "one-off"}}, "required": ["type"]},
            "then": {"properties": {"usage_limit": {"enum": [0, 1]}}},
            "else": {"properties": {"enrolled": {"const": false}}}
        },
        {
            "if": {"properties": {"ephemeral": {"const": true}}, "required": ["ephemeral"]},
            "then": {"properties": {"enrolled": {"const": false}}}
        },
        {
            "if": {"properties": {"recipients_only": {"const": true}}, "required": ["recipients_only"]},
            "then": {"required": ["recipients"], "properties": {"recipients": {"minItems": 1}}}
        }
    ]}"#,
};

const NAME: Refused = Refused {
    hint: None,
    ..Refused::NAME
};

const AUTO_GROUPS: &str =
    r#"{"type": "array", "items": {"type": "string", "minLength": 1, "not": {"const": "All"}}}"#;

const INSTANT: &str =
    r#"{"type": "string", "format": "date-time", "examples": ["2026-12-01T12:00:00Z"]}"#;

const RECIPIENTS: &str = r#"{"type": "array", "items": {"type": "string", "pattern": "^(age1|AGE1|ssh-ed25519 |ssh-rsa )"}}"#;

pub(super) fn read(entry: &Cursor<'_>, log: &mut Log) -> Option<Declared> {
    let mut draft = KeyDraft::default();
    entry.object(log, &TABLE, &mut draft);
    for check in [usage_limit, enrolled, reissue, recipients_only, peer_name] {
        check(&draft, entry, log);
    }
    Some(Declared::SetupKey(DeclaredKey {
        key_type: draft.key_type?,
        expires_in_secs: draft.expires_in_secs.unwrap_or_default(),
        usage_limit: draft.usage_limit,
        auto_groups: draft.auto_groups,
        ephemeral: draft.ephemeral,
        allow_extra_dns_labels: draft.allow_extra_dns_labels,
        enrolled: draft.enrolled.unwrap_or_default(),
        reissue_after: draft.reissue_after,
        sealed_for: SealedFor {
            keys: draft.recipients.unwrap_or_default(),
            only: draft.recipients_only.unwrap_or_default(),
        },
    }))
}

/// Public keys as they stand here and nowhere else: whoever reviews the file sees who will open the key.
fn recipients(value: &Cursor<'_>, log: &mut Log) -> Option<BTreeMap<String, String>> {
    // not repeated: it may be a secret that was pasted by mistake
    if value.text().is_some() {
        let message = "expected a list of age or SSH public keys, found a string";
        log.error(value.place(), message)
            .coded(Code::WrongType)
            .suggest("write it in brackets: [\"…\"]");
        return None;
    }
    let mut keys: BTreeMap<String, String> = BTreeMap::new();
    let (mut found, mut is_apart) = (BTreeSet::new(), None);
    for element in value.list(log, "a list of age or SSH public keys")? {
        let Some(text) = element.string(log, "an age or SSH public key") else {
            continue;
        };
        let key = match literal(text) {
            Ok(key) => key,
            Err(flaw) => {
                log.error(element.place(), flaw.message).suggest(flaw.hint);
                continue;
            }
        };
        if !found.insert(key.key.clone()) {
            let message = format!("the recipient {key} is in the list twice");
            log.notice(Code::Repeated, element.place(), message);
            continue;
        }
        if *is_apart.get_or_insert(key.is_apart) != key.is_apart {
            let message =
                "a post-quantum key (age1tagpq1…) and keys of other kinds cannot open one text";
            log.error(element.place(), message)
                .suggest("use keys of one sort only");
        }
        keys.insert(text.to_owned(), key.to_string());
    }
    Some(keys)
}

/// A key that nobody is named for could be opened by nobody.
fn recipients_only(draft: &KeyDraft, entry: &Cursor<'_>, log: &mut Log) {
    let listed = entry.get("recipients").map(|list| list.elements().count());
    if draft.recipients_only == Some(true) && listed.unwrap_or_default() == 0 {
        log.error(
            entry.place_of("recipients_only"),
            "nobody could open this key: it is sealed for its \"recipients\" only, and has none",
        )
        .suggest("list the public keys of those who may open it in \"recipients\"");
    }
}

impl Word for KeyType {
    const WHAT: &'static str = "key type";
    const WORDS: &'static [(&'static str, KeyType)] = &[
        ("one-off", KeyType::OneOff),
        ("reusable", KeyType::Reusable),
    ];
}

fn auto_groups(value: &Cursor<'_>, log: &mut Log) -> Option<BTreeSet<String>> {
    let groups = (names::GROUPS.1)(value, log);
    for element in value
        .elements()
        .filter(|element| element.text() == Some(ALL))
    {
        log.error(
            element.place(),
            "every peer is in All: a setup key cannot grant it",
        )
        .suggest("leave it out");
    }
    groups
}

/// A one-off key is used once; the server stores 1 whatever a file says (docs/netbird-api.md, "Setup keys").
fn usage_limit(draft: &KeyDraft, entry: &Cursor<'_>, log: &mut Log) {
    let place = entry.place_of("usage_limit");
    let written = entry.mentions(&TABLE, "usage_limit");
    match (draft.key_type, draft.usage_limit) {
        // 0 and 1 are both stored as 1
        (Some(KeyType::OneOff), Some(limit)) if !(0..=1).contains(&limit) => {
            log.error(
                place,
                "a one-off key is used once: usage_limit can only be 1",
            )
            .suggest(
                (limit > 1).then(|| "for more than one peer use \"type\": \"reusable\"".to_owned()),
            );
        }
        (Some(KeyType::Reusable), Some(..0)) => {
            log.error(place, "a usage limit cannot be negative")
                .suggest("0 means without limit");
        }
        // what 64 bits cannot hold was read as the last number that they can; NetBird refuses such a body
        (Some(KeyType::Reusable), Some(i64::MAX)) => {
            log.error(place, "a usage limit has 18 digits at most")
                .suggest("0 means without limit");
        }
        (Some(KeyType::Reusable), None) if !written => {
            log.notice(
                Code::KeyWithoutLimit,
                place,
                "this key will enroll any number of peers: it has no usage_limit",
            );
        }
        _ => (),
    }
}

/// One key, one peer, one name: only there does it mean something that the key did its work.
fn enrolled(draft: &KeyDraft, entry: &Cursor<'_>, log: &mut Log) {
    let why = match (draft.key_type, draft.ephemeral) {
        (Some(KeyType::Reusable), _) => "a reusable key enrolls many peers and is never done",
        (_, Some(true)) => "an ephemeral key's peer is forgotten, so the key is never done",
        _ => return,
    };
    match draft.enrolled {
        Some(true) => {
            log.error(
                entry.place_of("enrolled"),
                format!("{why}: it cannot be marked as enrolled"),
            )
            .suggest("remove \"enrolled\"");
        }
        Some(false) => {
            log.notice(
                Code::IdleEnrolled,
                entry.place_of("enrolled"),
                format!("{why}: \"enrolled\" has no effect here"),
            );
        }
        None => (),
    }
}

/// The commit that marks a key as enrolled flips the flag and nothing else: what asked for the key stays beside it.
fn reissue(draft: &KeyDraft, entry: &Cursor<'_>, log: &mut Log) {
    if draft.enrolled == Some(true) && entry.get("reissue_after").is_some() {
        log.notice(
            Code::ReissueDone,
            entry.place_of("reissue_after"),
            "the key is enrolled, so this has done its work",
        )
        .suggest(
            "it can be taken out; for another new key set \"enrolled\" to false and a new time",
        );
    }
}

/// The peer that enrolls gets the key's name, and the server makes its DNS label of the part before the first dot: where
/// there is none, the rename is a 500 (docs/netbird-api.md, "Peers").
fn peer_name(draft: &KeyDraft, entry: &Cursor<'_>, log: &mut Log) {
    let names_a_peer = draft.key_type == Some(KeyType::OneOff)
        && draft.ephemeral != Some(true)
        && draft.enrolled != Some(true);
    if names_a_peer && entry.name().starts_with('.') {
        let message = format!(
            "the name {} begins with a dot, so NetBird would refuse it for the key's peer",
            quote(entry.name())
        );
        log.error(entry.key_place(), message);
    }
}
