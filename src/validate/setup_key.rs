//! Section `setup_keys` (netbird-api.md §3).

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use super::{names, times};
use crate::code::Code;
use crate::config::{Cursor, Field, Log, Refused, Table, did_you_mean, quote};
use crate::desired::{KeyType, SealedFor, SetupKey};
use crate::secret::{Described, RecipientKind, literal};

/// A key as written; what is missing or wrong is `None`.
#[derive(Default)]
pub(super) struct Draft {
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

pub(super) const TABLE: Table<Draft> = Table {
    what: "a setup key",
    fields: &[
        Field::required("type", |key, value, log| {
            key.key_type = key_type(value, log)
        }),
        Field::required("expires_in", |key, value, log| {
            key.expires_in_secs = times::expires_in(value, log)
        }),
        Field::optional("usage_limit", |key, value, log| {
            key.usage_limit = value.integer(log, "a whole number of uses");
        }),
        Field::optional("auto_groups", |key, value, log| {
            key.auto_groups = auto_groups(value, log)
        }),
        Field::optional("ephemeral", |key, value, log| {
            key.ephemeral = value.boolean(log)
        }),
        Field::optional("allow_extra_dns_labels", |key, value, log| {
            key.allow_extra_dns_labels = value.boolean(log);
        }),
        Field::optional("enrolled", |key, value, log| {
            key.enrolled = value.boolean(log)
        }),
        Field::optional("reissue_after", |key, value, log| {
            key.reissue_after = times::reissue_after(value, log)
        }),
        Field::optional("recipients", |key, value, log| {
            key.recipients = recipients(value, log)
        }),
        Field::optional("recipients_only", |key, value, log| {
            key.recipients_only = value.boolean(log)
        }),
    ],
    refused: &[
        Refused::new(
            &["renamed_from"],
            "a setup key's name can never change",
            Some("a new name is a new key: the old one is deleted, a new one made and sealed"),
        ),
        Refused::new(
            &["name"],
            "a setup key's name is the name of its entry",
            None,
        ),
        Refused::new(
            &["key"],
            "a key's secret never stands in this file",
            Some("if it is a real one, revoke it in NetBird: git keeps it for ever"),
        ),
        Refused::new(
            &["revoked"],
            "keys are not revoked here",
            Some("remove the entry to delete the key"),
        ),
        Refused::new(
            &["expires", "expiry", "expiration", "ttl"],
            "the life time is \"expires_in\", in seconds from creation",
            None,
        )
        .meant("expires_in"),
        Refused::new(
            &["groups"],
            "the groups that a key grants are \"auto_groups\"",
            None,
        )
        .meant("auto_groups"),
        Refused::new(
            &["uses", "max_uses", "limit"],
            "the number of peers that a key enrolls is \"usage_limit\"",
            None,
        )
        .meant("usage_limit"),
    ],
};

pub(super) fn read(entry: &Cursor<'_>, log: &mut Log) -> Option<SetupKey> {
    let mut draft = Draft::default();
    entry.object(log, &TABLE, &mut draft);
    for check in [usage_limit, enrolled, reissue, recipients_only, peer_name] {
        check(&draft, entry, log);
    }
    Some(SetupKey {
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
    })
}

/// Public keys as they stand here and nowhere else: whoever reviews the file sees who will open the key.
fn recipients(value: &Cursor<'_>, log: &mut Log) -> Option<BTreeMap<String, String>> {
    // not repeated: it may be a secret that was pasted by mistake
    if value.text().is_some() {
        let message = "expected a list of age or SSH public keys, found a string";
        log.error(value.place(), message)
            .coded(Code::WrongType)
            .suggest("write it in brackets: [\"…\"]".to_owned());
        return None;
    }
    let mut keys: BTreeMap<String, String> = BTreeMap::new();
    let mut found: Vec<Described> = Vec::new();
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
        if found.iter().any(|other| other.key == key.key) {
            let message = format!("the recipient {key} is in the list twice");
            log.notice(Code::Repeated, element.place(), message);
            continue;
        }
        let is_alone = |kind| kind == RecipientKind::TagPq;
        if found
            .iter()
            .any(|other| is_alone(other.kind) != is_alone(key.kind))
        {
            let message =
                "a post-quantum key (age1tagpq1…) and keys of other kinds cannot open one text";
            log.error(element.place(), message)
                .suggest("use keys of one sort only".to_owned());
        }
        keys.insert(text.to_owned(), key.to_string());
        found.push(key);
    }
    Some(keys)
}

/// A key that nobody is named for could be opened by nobody.
fn recipients_only(draft: &Draft, entry: &Cursor<'_>, log: &mut Log) {
    let listed = entry.get("recipients").map(|list| list.elements().count());
    if draft.recipients_only == Some(true) && listed.unwrap_or_default() == 0 {
        log.error(
            entry.place_of("recipients_only"),
            "nobody could open this key: it is sealed for its \"recipients\" only, and has none",
        )
        .suggest("list the public keys of those who may open it in \"recipients\"".to_owned());
    }
}

fn key_type(value: &Cursor<'_>, log: &mut Log) -> Option<KeyType> {
    match value.string(log, "\"one-off\" or \"reusable\"")? {
        "one-off" => Some(KeyType::OneOff),
        "reusable" => Some(KeyType::Reusable),
        other => {
            log.error(
                value.place(),
                format!(
                    "{} is no key type: it is \"one-off\" or \"reusable\"",
                    quote(other)
                ),
            )
            .suggest(did_you_mean(other, ["one-off", "reusable"]));
            None
        }
    }
}

fn auto_groups(value: &Cursor<'_>, log: &mut Log) -> Option<BTreeSet<String>> {
    let groups = names::groups(value, log);
    for element in value
        .elements()
        .filter(|element| element.text() == Some(names::ALL))
    {
        log.error(
            element.place(),
            "every peer is in All: a setup key cannot grant it",
        )
        .suggest("leave it out".to_owned());
    }
    groups
}

/// A one-off key is used once; the server stores 1 whatever a file says (netbird-api.md §3).
fn usage_limit(draft: &Draft, entry: &Cursor<'_>, log: &mut Log) {
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
                .suggest("0 means without limit".to_owned());
        }
        // what 64 bits cannot hold was read as the last number that they can; NetBird refuses such a body
        (Some(KeyType::Reusable), Some(i64::MAX)) => {
            log.error(place, "a usage limit has 18 digits at most")
                .suggest("0 means without limit".to_owned());
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
fn enrolled(draft: &Draft, entry: &Cursor<'_>, log: &mut Log) {
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
            .suggest("remove \"enrolled\"".to_owned());
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
fn reissue(draft: &Draft, entry: &Cursor<'_>, log: &mut Log) {
    if draft.enrolled == Some(true) && entry.get("reissue_after").is_some() {
        log.notice(
            Code::ReissueDone,
            entry.place_of("reissue_after"),
            "the key is enrolled, so this has done its work",
        )
        .suggest(
            "it can be taken out; for another new key set \"enrolled\" to false and a new time"
                .to_owned(),
        );
    }
}

/// The peer that enrolls gets the key's name, and the server makes its DNS label of the part before the first dot: where
/// there is none, the rename is a 500 (netbird-api.md §4).
fn peer_name(draft: &Draft, entry: &Cursor<'_>, log: &mut Log) {
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

#[cfg(test)]
mod tests {
    use snapbox::str;

    use super::*;
    use crate::validate::testing::{assert_table, check};

    #[test]
    fn a_name_that_no_peer_can_bear() {
        let key = |name: &str, fields: &str| {
            format!(r#"{{"setup_keys": {{"{name}": {{"expires_in": 60, "type": {fields}}}}}}}"#)
        };
        let refused =
            |text: &str| check(text).is_err_and(|text| text.contains("begins with a dot"));
        assert!(refused(&key(".", r#""one-off""#)));
        assert!(refused(&key(".x", r#""one-off""#)));
        assert!(!refused(&key("x.y", r#""one-off""#)));
        assert!(!refused(&key(".x", r#""reusable""#)));
        assert!(!refused(&key(".x", r#""one-off", "enrolled": true"#)));
    }

    #[test]
    fn fields() {
        let rows = [
            r#""type": "one-off", "expires_in": 604800"#,
            r#""type": "one-off", "expires_in": 604800, "usage_limit": 1, "auto_groups": ["g"], "enrolled": false"#,
            r#""type": "One-Off", "expires_in": 604800"#,
            r#""type": "oneoff", "expires_in": 604800"#,
            r#""type": "multi", "expires_in": 604800"#,
            r#""type": 1, "expires_in": "604800""#,
            "",
            r#""type": "one-off", "expires_in": -1"#,
            r#""type": "one-off", "expires_in": 0"#,
            r#""type": "one-off", "expires_in": 1"#,
            r#""type": "one-off", "expires_in": 30"#,
            r#""type": "one-off", "expires_in": 1800"#,
            r#""type": "one-off", "expires_in": 3600"#,
            r#""type": "one-off", "expires_in": 604800.0"#,
            r#""type": "one-off", "expires_in": 6e5"#,
            r#""type": "one-off", "expires_in": 1.5"#,
            r#""type": "one-off", "expires_in": "7d""#,
            r#""type": "one-off", "expires_in": " 12 Hours""#,
            r#""type": "one-off", "expires_in": "6m""#,
            r#""type": "one-off", "expires_in": "99999999999d""#,
            r#""type": "one-off", "expires_in": "-1""#,
            r#""type": "one-off", "expires_in": 9223372036"#,
            r#""type": "one-off", "expires_in": 9223372037"#,
            r#""type": "one-off", "expires_in": 18446744073709551616"#,
            r#""type": "one-off", "expires_in": 604800, "usage_limit": 0"#,
            r#""type": "one-off", "expires_in": 604800, "usage_limit": -1"#,
            r#""type": "reusable", "expires_in": 604800"#,
            r#""type": "reusable", "expires_in": 604800, "usage_limit": 5"#,
            r#""type": "reusable", "expires_in": 604800, "usage_limit": -1"#,
            r#""type": "reusable", "expires_in": 604800, "usage_limit": "5""#,
            r#""type": "reusable", "expires_in": 604800, "usage_limit": "true""#,
            r#""type": "reusable", "expires_in": 604800, "usage_limit": 1e3"#,
            r#""type": "reusable", "expires_in": 604800, "usage_limit": 9223372036854775807"#,
            r#""type": "one-off", "expires_in": 604800, "ephemeral": "5", "allow_extra_dns_labels": "Yes""#,
            r#""type": "one-off", "expires_in": 604800, "auto_groups": [{"id": "x", "name": "ops"}, {"id": "x"}]"#,
            r#""type": "one-off", "expires_in": 604800, "auto_groups": ["All"]"#,
            r#""type": "one-off", "expires_in": 604800, "auto_groups": []"#,
            r#""type": "one-off", "expires_in": 604800, "ephemeral": true, "allow_extra_dns_labels": true"#,
            r#""type": "one-off", "expires_in": 604800, "ephemeral": 1, "allow_extra_dns_labels": "true""#,
            r#""type": "one-off", "expires_in": 604800, "enrolled": true"#,
            r#""type": "one-off", "expires_in": 604800, "enrolled": "true""#,
            r#""type": "reusable", "expires_in": 604800, "usage_limit": 5, "enrolled": true"#,
            r#""type": "reusable", "expires_in": 604800, "usage_limit": 5, "enrolled": false"#,
            r#""type": "one-off", "expires_in": 604800, "ephemeral": true, "enrolled": true"#,
            r#""type": "one-off", "expires_in": 604800, "ephemeral": true, "enrolled": false"#,
            r#""type": "one-off", "expires_in": 604800, "enrolled": true, "reissue_after": "2026-12-01T12:00:00Z""#,
            r#""type": "one-off", "expires_in": 604800, "renamed_from": "old", "key": "x", "revoked": true"#,
            r#""type": "one-off", "expires": 604800, "name": "k""#,
            r#""type": "one-off", "expires_in": 604800, "recipients": ["age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p"]"#,
            r#""type": "one-off", "expires_in": 604800, "recipients": "age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p""#,
            r#""type": "one-off", "expires_in": 604800, "recipients": ["age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8q", "alice", 1, ""]"#,
            r#""type": "one-off", "expires_in": 604800, "recipients": ["age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p", "AGE1QL3Z7HJY54PW3HYWW5AYYFG7ZQGVC7W3J2ELW8ZMRJ2KG5SFN9AQMCAC8P"]"#,
            r#""type": "one-off", "expires_in": 604800, "recipients": ["AGE-SECRET-KEY-1JW6ER7XNWV5NANVT3SGWEUC74PYXQ4U0U4QJN3DEL3A0AEEDK7DQW5EVEL"]"#,
            r#""type": "one-off", "expires_in": 604800, "recipients_only": true"#,
            r#""type": "one-off", "expires_in": 604800, "recipients": [], "recipients_only": true"#,
            r#""type": "one-off", "expires_in": 604800, "recipients": ["alice"], "recipients_only": true"#,
        ];
        assert_table(
            r#"{"groups": {"g": {}}, "setup_keys": {"k": {ROW}}}"#,
            &rows,
            str![[r#"
"type": "one-off", "expires_in": 604800
"type": "one-off", "expires_in": 604800, "usage_limit": 1, "auto_groups": ["g"], "enrolled": false
"type": "One-Off", "expires_in": 604800
    setup_keys.k.type: "One-Off" is no key type: it is "one-off" or "reusable" | did you mean "one-off"?
"type": "oneoff", "expires_in": 604800
    setup_keys.k.type: "oneoff" is no key type: it is "one-off" or "reusable" | did you mean "one-off"?
"type": "multi", "expires_in": 604800
    setup_keys.k.type: "multi" is no key type: it is "one-off" or "reusable"
"type": 1, "expires_in": "604800"
    setup_keys.k.type: expected "one-off" or "reusable", found the number 1
    setup_keys.k.expires_in: expected a whole number of seconds, found the string "604800" | write 604800 without quotes

    setup_keys.k: a setup key needs "type"
    setup_keys.k: a setup key needs "expires_in"
"type": "one-off", "expires_in": -1
    setup_keys.k.expires_in: a life time cannot be negative | 0 means never
"type": "one-off", "expires_in": 0
"type": "one-off", "expires_in": 1
    note: setup_keys.k.expires_in: this key lives for 1 second only: expires_in counts seconds | did you mean 1 day: 86400?
"type": "one-off", "expires_in": 30
    note: setup_keys.k.expires_in: this key lives for 30 seconds only: expires_in counts seconds | did you mean 30 days: 2592000?
"type": "one-off", "expires_in": 1800
    note: setup_keys.k.expires_in: this key lives for 1800 seconds only: expires_in counts seconds
"type": "one-off", "expires_in": 3600
"type": "one-off", "expires_in": 604800.0
    setup_keys.k.expires_in: expected a whole number of seconds, found the number 604800.0 | write 604800
"type": "one-off", "expires_in": 6e5
    setup_keys.k.expires_in: expected a whole number of seconds, found the number 6e5 | write 600000
"type": "one-off", "expires_in": 1.5
    setup_keys.k.expires_in: expected a whole number of seconds, found the number 1.5
"type": "one-off", "expires_in": "7d"
    setup_keys.k.expires_in: expected a whole number of seconds, found the string "7d" | write 604800
"type": "one-off", "expires_in": " 12 Hours"
    setup_keys.k.expires_in: expected a whole number of seconds, found the string " 12 Hours" | write 43200
"type": "one-off", "expires_in": "6m"
    setup_keys.k.expires_in: expected a whole number of seconds, found the string "6m"
"type": "one-off", "expires_in": "99999999999d"
    setup_keys.k.expires_in: expected a whole number of seconds, found the string "99999999999d"
"type": "one-off", "expires_in": "-1"
    setup_keys.k.expires_in: expected a whole number of seconds, found the string "-1"
"type": "one-off", "expires_in": 9223372036
"type": "one-off", "expires_in": 9223372037
    setup_keys.k.expires_in: a life time is at most 9223372036 seconds, which is 292 years | 0 means never
"type": "one-off", "expires_in": 18446744073709551616
    setup_keys.k.expires_in: a life time is at most 9223372036 seconds, which is 292 years | 0 means never
"type": "one-off", "expires_in": 604800, "usage_limit": 0
"type": "one-off", "expires_in": 604800, "usage_limit": -1
    setup_keys.k.usage_limit: a one-off key is used once: usage_limit can only be 1
"type": "reusable", "expires_in": 604800
    note: setup_keys.k: this key will enroll any number of peers: it has no usage_limit
"type": "reusable", "expires_in": 604800, "usage_limit": 5
"type": "reusable", "expires_in": 604800, "usage_limit": -1
    setup_keys.k.usage_limit: a usage limit cannot be negative | 0 means without limit
"type": "reusable", "expires_in": 604800, "usage_limit": "5"
    setup_keys.k.usage_limit: expected a whole number of uses, found the string "5" | write 5 without quotes
"type": "reusable", "expires_in": 604800, "usage_limit": "true"
    setup_keys.k.usage_limit: expected a whole number of uses, found the string "true"
"type": "reusable", "expires_in": 604800, "usage_limit": 1e3
    setup_keys.k.usage_limit: expected a whole number of uses, found the number 1e3 | write 1000
"type": "reusable", "expires_in": 604800, "usage_limit": 9223372036854775807
    setup_keys.k.usage_limit: a usage limit has 18 digits at most | 0 means without limit
"type": "one-off", "expires_in": 604800, "ephemeral": "5", "allow_extra_dns_labels": "Yes"
    setup_keys.k.ephemeral: expected true or false, found the string "5"
    setup_keys.k.allow_extra_dns_labels: expected true or false, found the string "Yes" | write true
"type": "one-off", "expires_in": 604800, "auto_groups": [{"id": "x", "name": "ops"}, {"id": "x"}]
    setup_keys.k.auto_groups[0]: expected a name, found an object | write its name: "ops"
    setup_keys.k.auto_groups[1]: expected a name, found an object
"type": "one-off", "expires_in": 604800, "auto_groups": ["All"]
    setup_keys.k.auto_groups[0]: every peer is in All: a setup key cannot grant it | leave it out
"type": "one-off", "expires_in": 604800, "auto_groups": []
"type": "one-off", "expires_in": 604800, "ephemeral": true, "allow_extra_dns_labels": true
"type": "one-off", "expires_in": 604800, "ephemeral": 1, "allow_extra_dns_labels": "true"
    setup_keys.k.ephemeral: expected true or false, found the number 1
    setup_keys.k.allow_extra_dns_labels: expected true or false, found the string "true" | write true without quotes
"type": "one-off", "expires_in": 604800, "enrolled": true
"type": "one-off", "expires_in": 604800, "enrolled": "true"
    setup_keys.k.enrolled: expected true or false, found the string "true" | write true without quotes
"type": "reusable", "expires_in": 604800, "usage_limit": 5, "enrolled": true
    setup_keys.k.enrolled: a reusable key enrolls many peers and is never done: it cannot be marked as enrolled | remove "enrolled"
"type": "reusable", "expires_in": 604800, "usage_limit": 5, "enrolled": false
    note: setup_keys.k.enrolled: a reusable key enrolls many peers and is never done: "enrolled" has no effect here
"type": "one-off", "expires_in": 604800, "ephemeral": true, "enrolled": true
    setup_keys.k.enrolled: an ephemeral key's peer is forgotten, so the key is never done: it cannot be marked as enrolled | remove "enrolled"
"type": "one-off", "expires_in": 604800, "ephemeral": true, "enrolled": false
    note: setup_keys.k.enrolled: an ephemeral key's peer is forgotten, so the key is never done: "enrolled" has no effect here
"type": "one-off", "expires_in": 604800, "enrolled": true, "reissue_after": "2026-12-01T12:00:00Z"
    note: setup_keys.k.reissue_after: the key is enrolled, so this has done its work | it can be taken out; for another new key set "enrolled" to false and a new time
"type": "one-off", "expires_in": 604800, "renamed_from": "old", "key": "x", "revoked": true
    setup_keys.k.renamed_from: a setup key's name can never change | a new name is a new key: the old one is deleted, a new one made and sealed
    setup_keys.k.key: a key's secret never stands in this file | if it is a real one, revoke it in NetBird: git keeps it for ever
    setup_keys.k.revoked: keys are not revoked here | remove the entry to delete the key
"type": "one-off", "expires": 604800, "name": "k"
    setup_keys.k.expires: the life time is "expires_in", in seconds from creation
    setup_keys.k.name: a setup key's name is the name of its entry
"type": "one-off", "expires_in": 604800, "recipients": ["age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p"]
"type": "one-off", "expires_in": 604800, "recipients": "age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p"
    setup_keys.k.recipients: expected a list of age or SSH public keys, found a string | write it in brackets: ["…"]
"type": "one-off", "expires_in": 604800, "recipients": ["age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8q", "alice", 1, ""]
    setup_keys.k.recipients[0]: mistyped or cut off: the checksum of this age key is wrong | copy the whole key again
    setup_keys.k.recipients[1]: not an age or SSH public key | a recipient begins with age1, ssh-ed25519 or ssh-rsa
    setup_keys.k.recipients[2]: expected an age or SSH public key, found the number 1
    setup_keys.k.recipients[3]: not an age or SSH public key | a recipient begins with age1, ssh-ed25519 or ssh-rsa
"type": "one-off", "expires_in": 604800, "recipients": ["age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p", "AGE1QL3Z7HJY54PW3HYWW5AYYFG7ZQGVC7W3J2ELW8ZMRJ2KG5SFN9AQMCAC8P"]
    note: setup_keys.k.recipients[1]: the recipient age1ql3z7h…mcac8p is in the list twice
"type": "one-off", "expires_in": 604800, "recipients": ["AGE-SECRET-KEY-1JW6ER7XNWV5NANVT3SGWEUC74PYXQ4U0U4QJN3DEL3A0AEEDK7DQW5EVEL"]
    setup_keys.k.recipients[0]: a SECRET key, where public ones belong (it is not repeated here) | take it out, and replace that key: it may have been seen; public keys come from age-keygen -y, or end in .pub
"type": "one-off", "expires_in": 604800, "recipients_only": true
    setup_keys.k.recipients_only: nobody could open this key: it is sealed for its "recipients" only, and has none | list the public keys of those who may open it in "recipients"
"type": "one-off", "expires_in": 604800, "recipients": [], "recipients_only": true
    setup_keys.k.recipients_only: nobody could open this key: it is sealed for its "recipients" only, and has none | list the public keys of those who may open it in "recipients"
"type": "one-off", "expires_in": 604800, "recipients": ["alice"], "recipients_only": true
    setup_keys.k.recipients[0]: not an age or SSH public key | a recipient begins with age1, ssh-ed25519 or ssh-rsa

"#]],
        );
    }

    #[test]
    fn a_key_is_read_as_written() {
        let file = r#"{"groups": {"g": {}}, "setup_keys": {
            "bare": {"type": "one-off", "expires_in": 3600},
            "full": {"type": "reusable", "expires_in": 0, "usage_limit": 7, "auto_groups": ["g"], "ephemeral": false,
                     "allow_extra_dns_labels": true, "reissue_after": "2026-12-01T13:00:00+01:00"},
            "done": {"type": "one-off", "expires_in": 7200, "enrolled": true}}}"#;
        let keys = check(file)
            .expect("a valid file")
            .desired
            .setup_keys
            .expect("a section");
        let bare = SetupKey {
            key_type: KeyType::OneOff,
            expires_in_secs: 3600,
            usage_limit: None,
            auto_groups: None,
            ephemeral: None,
            allow_extra_dns_labels: None,
            enrolled: false,
            reissue_after: None,
            sealed_for: SealedFor::default(),
        };
        let full = SetupKey {
            key_type: KeyType::Reusable,
            expires_in_secs: 0,
            usage_limit: Some(7),
            auto_groups: Some(BTreeSet::from(["g".into()])),
            ephemeral: Some(false),
            allow_extra_dns_labels: Some(true),
            enrolled: false,
            reissue_after: Some("2026-12-01T12:00:00Z".parse().expect("a time")),
            sealed_for: SealedFor::default(),
        };
        assert_eq!(
            keys["done"],
            SetupKey {
                expires_in_secs: 7200,
                enrolled: true,
                ..bare.clone()
            }
        );
        assert_eq!(keys["bare"], bare);
        assert_eq!(keys["full"], full);
    }
}
