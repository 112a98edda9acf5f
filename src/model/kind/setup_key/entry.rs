//! Setup keys in the file: section `setup_keys`.

use jiff::Timestamp;

use super::SetupKey;
use crate::base::ask;
use crate::model::kind::prelude::*;
use crate::secret::literal;
use crate::wire::api::objects::KeyType;

pub(super) const TABLE: Table<SetupKey> = Table {
    what: "a setup key",
    fields: fields![
        /// one-off enrolls one peer, reusable up to usage_limit.
        needs key_type as "type": Takes(Shape::Schema(KEY_TYPE), |value, log| {
            word::read::<KeyType>(value, log).unwrap_or_default()
        }),
        /// Life time in seconds from creation, such as 604800 for a week; 0 = never expires.
        needs expires_in_secs as "expires_in": Takes(Shape::Whole(0, 9_223_372_036), expires_in),
        /// Peers it may enroll: 1 for a one-off key (0 means the same); 0 = without limit for a reusable one. Default at
        /// creation: 1 or 0.
        own usage_limit: whole::<0, MOST_USES>(),
        /// Groups that its peers join at enrollment; never All.
        own(groups) auto_groups: names::GRANTED => [],
        /// Peers are forgotten soon after they disconnect.
        own ephemeral: FLAG => false,
        /// Peers may bring DNS labels of their own.
        own allow_extra_dns_labels: FLAG => false,
        /// The key did its work and is never made again. Set by sync-events for keys of one machine; only on one-off keys and on
        /// reusable ones with a usage_limit, and not on ephemeral ones.
        may enrolled: SWITCH => false,
        /// A live key created before that instant counts as absent, so a new one is made. RFC 3339 with offset.
        may reissue_after: Takes(Shape::Schema(INSTANT), reissue_after),
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
        let flaw = log.error(value.place(), message).coded(Code::WrongType);
        flaw.suggest("write it in brackets: [\"…\"]");
        return keys;
    }
    let (mut found, mut is_apart) = (BTreeSet::new(), None);
    let list = value.list(log, "a list of age or SSH public keys");
    for element in list.into_iter().flatten() {
        let Some(text) = element.string(log, "an age or SSH public key") else {
            continue;
        };
        match literal(text) {
            Err(flaw) => log.error(element.place(), flaw.message).suggest(flaw.hint),
            Ok(key) if !found.insert(key.key.clone()) => {
                let message = format!("the recipient {key} is in the list twice");
                log.notice(Code::Repeated, element.place(), message);
            }
            Ok(key) => {
                if *is_apart.get_or_insert(key.is_apart) != key.is_apart {
                    let message = "a post-quantum key (age1tagpq1…) and keys of other kinds cannot open one text";
                    let flaw = log.error(element.place(), message);
                    flaw.suggest("use keys of one sort only");
                }
                keys.insert(text.to_owned(), key.to_string());
            }
        }
    }
    keys
}

/// A key that nobody is named for could be opened by nobody.
fn recipients_only(key: &SetupKey, entry: &Cursor<'_>, log: &mut Log) {
    let listed = entry.get("recipients").map(|list| list.elements().count());
    if key.sealed_for.only && listed.unwrap_or_default() == 0 {
        let text =
            "nobody could open this key: it is sealed for its \"recipients\" only, and has none";
        let flaw = log.error(entry.place_of("recipients_only"), text);
        flaw.suggest("list the public keys of those who may open it in \"recipients\"");
    }
}

impl Word for KeyType {
    const WHAT: &'static str = "key type";
    const WORDS: &'static [(&'static str, KeyType)] = &[
        ("one-off", KeyType::OneOff),
        ("reusable", KeyType::Reusable),
    ];
}

/// A one-off key is used once; the server stores 1 whatever a file says (docs/netbird-api.md, "Setup keys").
fn usage_limit(key: &SetupKey, entry: &Cursor<'_>, log: &mut Log) {
    let place = || entry.place_of("usage_limit");
    let written = || entry.mentions(&TABLE, "usage_limit");
    match (key.key_type, key.usage_limit) {
        // 0 and 1 are both stored as 1
        (KeyType::OneOff, Some(limit)) if limit > 1 => {
            let text = "a one-off key is used once: usage_limit can only be 1";
            let flaw = log.error(place(), text);
            flaw.suggest("for more than one peer use \"type\": \"reusable\"");
        }
        (KeyType::Reusable, None) if !written() => {
            let text = "this key will enroll any number of peers: it has no usage_limit";
            log.notice(Code::KeyWithoutLimit, place(), text);
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
        let flaw = log.error(written.place(), message);
        flaw.suggest("remove \"enrolled\"");
    } else {
        let message = format!("{why}: \"enrolled\" has no effect here");
        log.notice(Code::IdleEnrolled, written.place(), message);
    }
}

/// The commit that marks a key as enrolled flips the flag and nothing else: what asked for the key stays beside it.
fn reissue(key: &SetupKey, entry: &Cursor<'_>, log: &mut Log) {
    if key.enrolled && key.reissue_after.is_some() {
        let text = "the key is enrolled, so this has done its work";
        let notice = log.notice(Code::ReissueDone, entry.place_of("reissue_after"), text);
        let way_out =
            "it can be taken out; for another new key set \"enrolled\" to false and a new time";
        notice.suggest(way_out);
    }
}

/// The peer that enrolls gets the key's name, and the server makes its DNS label of the part before the first dot: where
/// there is none, the rename is a 500 (docs/netbird-api.md, "Peers").
fn peer_name(key: &SetupKey, entry: &Cursor<'_>, log: &mut Log) {
    if key.is_for_one_peer() && !key.enrolled && entry.name().starts_with('.') {
        let name = quote(entry.name());
        let refuses = "begins with a dot, so NetBird would refuse it for the key's peer";
        log.error(entry.key_place(), format!("the name {name} {refuses}"));
    }
}

/// Longest life in seconds; beyond it the server's clock overflows (docs/netbird-api.md, "Setup keys").
const MAX_EXPIRES_IN_SECS: i64 = 9_223_372_036;

/// Reads a life time in seconds; one that is too short to be meant is a notice.
fn expires_in(value: &Cursor<'_>, log: &mut Log) -> Option<i64> {
    let secs = (seconds::<0, MAX_EXPIRES_IN_SECS>().1)(value, log)?;
    if (1..HOUR_SECS).contains(&secs) {
        let life = count(secs as usize, "second", "seconds");
        let message = format!("this key lives for {life} only: expires_in counts seconds");
        let days = count(secs as usize, "day", "days");
        let meant = format!("did you mean {days}: {}?", secs * DAY_SECS);
        let notice = log.notice(Code::ShortLife, value.place(), message);
        notice.suggest((secs <= 366).then_some(meant));
    }
    Some(secs)
}

/// Reads an instant: RFC 3339 with its offset.
fn reissue_after(value: &Cursor<'_>, log: &mut Log) -> Option<Timestamp> {
    let text = value.string(log, "a time such as \"2026-12-01T12:00:00Z\"")?;
    // jiff takes more than RFC 3339: blanks for the T, times without seconds, [zones]
    let digit = |byte: u8| if byte.is_ascii_digit() { b'0' } else { byte };
    let shape = text.bytes().map(digit);
    let full = shape.take(19).eq(*b"0000-00-00T00:00:00") && !text.ends_with(']');
    let time: Option<Timestamp> = text.parse().ok().filter(|_| full);
    if time.is_none() {
        let in_utc = format!("{text}Z");
        let hint = match full && in_utc.parse::<Timestamp>().is_ok() {
            true => ask(&in_utc),
            false => {
                "write it like \"2026-12-01T12:00:00Z\" or \"2026-12-01T13:00:00+01:00\"".into()
            }
        };
        let message = format!("{} is not a time with an offset from UTC", quote(text));
        log.error(value.place(), message).suggest(hint);
    }
    time
}

#[cfg(test)]
mod tests {
    use snapbox::str;

    use crate::check::validate::testing::assert_table;

    #[test]
    fn reissue_after_is_a_time_with_its_offset() {
        let rows = [
            r#""2026-12-01T12:00:00Z""#,
            r#""2026-12-01T13:00:00.5+01:00""#,
            r#""2026-12-01T12:00:00""#,
            r#""2026-12-01""#,
            r#""2026-12-01 12:00:00Z""#,
            r#""2026-12-01T12:00Z""#,
            r#""2026-12-01T13:00:00+01:00[Europe/Berlin]""#,
            r#""2026-13-01T12:00:00Z""#,
            r#""2026-02-30T12:00:00Z""#,
            r#""tomorrow""#,
            r#""""#,
            "1796126400",
        ];
        let file = r#"{"setup_keys": {"k": {"type": "one-off", "expires_in": 604800, "reissue_after": ROW}}}"#;
        assert_table(
            file,
            &rows,
            str![[r#"
"2026-12-01T12:00:00Z"
"2026-12-01T13:00:00.5+01:00"
"2026-12-01T12:00:00"
    setup_keys.k.reissue_after: "2026-12-01T12:00:00" is not a time with an offset from UTC | did you mean "2026-12-01T12:00:00Z"?
"2026-12-01"
    setup_keys.k.reissue_after: "2026-12-01" is not a time with an offset from UTC | write it like "2026-12-01T12:00:00Z" or "2026-12-01T13:00:00+01:00"
"2026-12-01 12:00:00Z"
    setup_keys.k.reissue_after: "2026-12-01 12:00:00Z" is not a time with an offset from UTC | write it like "2026-12-01T12:00:00Z" or "2026-12-01T13:00:00+01:00"
"2026-12-01T12:00Z"
    setup_keys.k.reissue_after: "2026-12-01T12:00Z" is not a time with an offset from UTC | write it like "2026-12-01T12:00:00Z" or "2026-12-01T13:00:00+01:00"
"2026-12-01T13:00:00+01:00[Europe/Berlin]"
    setup_keys.k.reissue_after: "2026-12-01T13:00:00+01:00[Europe/Berlin]" is not a time with an offset from UTC | write it like "2026-12-01T12:00:00Z" or "2026-12-01T13:00:00+01:00"
"2026-13-01T12:00:00Z"
    setup_keys.k.reissue_after: "2026-13-01T12:00:00Z" is not a time with an offset from UTC | write it like "2026-12-01T12:00:00Z" or "2026-12-01T13:00:00+01:00"
"2026-02-30T12:00:00Z"
    setup_keys.k.reissue_after: "2026-02-30T12:00:00Z" is not a time with an offset from UTC | write it like "2026-12-01T12:00:00Z" or "2026-12-01T13:00:00+01:00"
"tomorrow"
    setup_keys.k.reissue_after: "tomorrow" is not a time with an offset from UTC | write it like "2026-12-01T12:00:00Z" or "2026-12-01T13:00:00+01:00"
""
    setup_keys.k.reissue_after: "" is not a time with an offset from UTC | write it like "2026-12-01T12:00:00Z" or "2026-12-01T13:00:00+01:00"
1796126400
    setup_keys.k.reissue_after: expected a time such as "2026-12-01T12:00:00Z", found the number 1796126400

"#]],
        );
    }
}
