//! Setup keys in the file: section `setup_keys`.

use super::SetupKey;
use crate::model::kind::prelude::*;
use crate::model::kind::values::times;
use crate::secret::literal;
use crate::wire::key_type::KeyType;

pub(super) const TABLE: Table<SetupKey> = Table {
    what: "a setup key",
    fields: fields![
        /// one-off enrolls one peer, reusable up to usage_limit.
        needs key_type as "type": Takes(Shape::Schema(KEY_TYPE), |value, log| {
            word::read::<KeyType>(value, log).unwrap_or_default()
        }),
        /// Life time in seconds from creation, such as 604800 for a week; 0 = never expires.
        needs expires_in_secs as "expires_in": Takes(Shape::Whole(0, 9_223_372_036), times::expires_in),
        /// Peers it may enroll: 1 for a one-off key (0 means the same); 0 = without limit for a reusable one. Default at
        /// creation: 1 or 0.
        own usage_limit: whole::<0, MOST_USES>(),
        /// Groups that its peers join at enrollment; never All.
        own(groups) auto_groups: Takes(Shape::Schema(AUTO_GROUPS), auto_groups) => [],
        /// Peers are forgotten soon after they disconnect.
        own ephemeral: FLAG => false,
        /// Peers may bring DNS labels of their own.
        own allow_extra_dns_labels: FLAG => false,
        /// The key did its work and is never made again. Set by sync-events for keys of one machine; only on one-off keys and on
        /// reusable ones with a usage_limit, and not on ephemeral ones.
        may enrolled: SWITCH => false,
        /// A live key created before that instant counts as absent, so a new one is made. RFC 3339 with offset.
        may reissue_after: Takes(Shape::Schema(INSTANT), times::reissue_after),
        /// age or SSH public keys that open this key's sealed secret, besides those that the run seals every key for.
        /// Literal keys only. Another list replaces nothing by itself: reissue_after does.
        may sealed_for.keys as "recipients": Takes(Shape::Schema(RECIPIENTS), recipients),
        /// The secret is sealed for recipients alone.
        may sealed_for.only as "recipients_only": SWITCH => false,
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
            "else": {
                "if": {"properties": {"usage_limit": {"minimum": 1}}, "required": ["usage_limit"]},
                "else": {"properties": {"enrolled": {"const": false}}}
            }
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

/// NetBird refuses what 64 bits cannot hold.
const MOST_USES: i64 = 999_999_999_999_999_999;

const NAME: Refused = Refused {
    hint: None,
    ..Refused::NAME
};

const KEY_TYPE: &str = r#"{"enum": ["one-off", "reusable"]}"#;

/// What is off where it is left out.
const SWITCH: Takes<bool> = Takes(Shape::Flag, |value, log| {
    value.boolean(log).unwrap_or_default()
});

const AUTO_GROUPS: &str =
    r#"{"type": "array", "items": {"type": "string", "minLength": 1, "not": {"const": "All"}}}"#;

const INSTANT: &str =
    r#"{"type": "string", "format": "date-time", "examples": ["2026-12-01T12:00:00Z"]}"#;

const RECIPIENTS: &str = r#"{"type": "array", "items": {"type": "string", "pattern": "^(age1|AGE1|ssh-ed25519 |ssh-rsa )"}}"#;

/// Notes what does not go together, and adds what follows.
pub(super) fn settle(mut key: SetupKey, entry: &Cursor<'_>, log: &mut Log) -> Option<SetupKey> {
    // where its type is wrong, that is said already
    KeyType::of(entry.get("type")?.text()?)?;
    for check in [usage_limit, enrolled, reissue, recipients_only, peer_name] {
        check(&key, entry, log);
    }
    if key.key_type == KeyType::OneOff {
        key.usage_limit = Some(1); // the server stores that, whatever is sent
    }
    Some(key)
}

/// Public keys as they stand here and nowhere else: whoever reviews the file sees who will open the key.
fn recipients(value: &Cursor<'_>, log: &mut Log) -> BTreeMap<String, String> {
    let mut keys: BTreeMap<String, String> = BTreeMap::new();
    // not repeated: it may be a secret that was pasted by mistake
    if value.text().is_some() {
        let message = "expected a list of age or SSH public keys, found a string";
        log.error(value.place(), message)
            .coded(Code::WrongType)
            .suggest("write it in brackets: [\"…\"]");
        return keys;
    }
    let (mut found, mut is_apart) = (BTreeSet::new(), None);
    let list = value.list(log, "a list of age or SSH public keys");
    for element in list.into_iter().flatten() {
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
    keys
}

/// A key that nobody is named for could be opened by nobody.
fn recipients_only(key: &SetupKey, entry: &Cursor<'_>, log: &mut Log) {
    let listed = entry.get("recipients").map(|list| list.elements().count());
    if key.sealed_for.only && listed.unwrap_or_default() == 0 {
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
fn usage_limit(key: &SetupKey, entry: &Cursor<'_>, log: &mut Log) {
    let place = entry.place_of("usage_limit");
    let written = entry.mentions(&TABLE, "usage_limit");
    match (key.key_type, key.usage_limit) {
        // 0 and 1 are both stored as 1
        (KeyType::OneOff, Some(limit)) if limit > 1 => {
            log.error(
                place,
                "a one-off key is used once: usage_limit can only be 1",
            )
            .suggest("for more than one peer use \"type\": \"reusable\"");
        }
        (KeyType::Reusable, None) if !written => {
            log.notice(
                Code::KeyWithoutLimit,
                place,
                "this key will enroll any number of peers: it has no usage_limit",
            );
        }
        _ => (),
    }
}

/// Only where the number of its peers is limited does it mean something that the key did its work.
fn enrolled(key: &SetupKey, entry: &Cursor<'_>, log: &mut Log) {
    let Some(written) = entry.get("enrolled") else {
        return;
    };
    let why = match key.ephemeral {
        _ if key.can_be_done() => return,
        Some(true) => "an ephemeral key's peer is forgotten, so the key is never done",
        _ => "a reusable key without a usage_limit enrolls many peers and is never done",
    };
    if key.enrolled {
        let message = format!("{why}: it cannot be marked as enrolled");
        log.error(written.place(), message)
            .suggest("remove \"enrolled\"");
    } else {
        let message = format!("{why}: \"enrolled\" has no effect here");
        log.notice(Code::IdleEnrolled, written.place(), message);
    }
}

/// The commit that marks a key as enrolled flips the flag and nothing else: what asked for the key stays beside it.
fn reissue(key: &SetupKey, entry: &Cursor<'_>, log: &mut Log) {
    if key.enrolled && key.reissue_after.is_some() {
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
fn peer_name(key: &SetupKey, entry: &Cursor<'_>, log: &mut Log) {
    if key.is_for_one_peer() && !key.enrolled && entry.name().starts_with('.') {
        let message = format!(
            "the name {} begins with a dot, so NetBird would refuse it for the key's peer",
            quote(entry.name())
        );
        log.error(entry.key_place(), message);
    }
}
