//! Section `setup_keys`, entry by entry.

use std::collections::BTreeSet;

use snapbox::str;

use crate::model::{KeyType, SetupKey};

use crate::check::validate::testing::{assert_table, check};

#[test]
fn a_name_that_no_peer_can_bear() {
    let key = |name: &str, fields: &str| {
        format!(r#"{{"setup_keys": {{"{name}": {{"expires_in": 60, "type": {fields}}}}}}}"#)
    };
    let refused = |text: &str| check(text).is_err_and(|text| text.contains("begins with a dot"));
    assert!(refused(&key(".", r#""one-off""#)));
    assert!(refused(&key(".x", r#""one-off""#)));
    assert!(!refused(&key("x.y", r#""one-off""#)));
    assert!(!refused(&key(".x", r#""reusable""#)));
    assert!(!refused(&key(".x", r#""one-off", "enrolled": true"#)));
}

#[test]
fn fields_of_setup_keys() {
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
    setup_keys.k.type: "One-Off" is not a valid key type: it is one of "one-off", "reusable" | did you mean "one-off"?
"type": "oneoff", "expires_in": 604800
    setup_keys.k.type: "oneoff" is not a valid key type: it is one of "one-off", "reusable" | did you mean "one-off"?
"type": "multi", "expires_in": 604800
    setup_keys.k.type: "multi" is not a valid key type: it is one of "one-off", "reusable"
"type": 1, "expires_in": "604800"
    setup_keys.k.type: expected one of "one-off", "reusable", found the number 1
    setup_keys.k.expires_in: expected a whole number from 0 to 9223372036, found the string "604800" | write 604800 without quotes

    setup_keys.k: a setup key needs "type"
    setup_keys.k: a setup key needs "expires_in"
"type": "one-off", "expires_in": -1
    setup_keys.k.expires_in: -1 is too small: expected a whole number from 0 to 9223372036
"type": "one-off", "expires_in": 0
"type": "one-off", "expires_in": 1
    note: setup_keys.k.expires_in: this key lives for 1 second only: expires_in counts seconds | did you mean 1 day: 86400?
"type": "one-off", "expires_in": 30
    note: setup_keys.k.expires_in: this key lives for 30 seconds only: expires_in counts seconds | did you mean 30 days: 2592000?
"type": "one-off", "expires_in": 1800
    note: setup_keys.k.expires_in: this key lives for 1800 seconds only: expires_in counts seconds
"type": "one-off", "expires_in": 3600
"type": "one-off", "expires_in": 604800.0
    setup_keys.k.expires_in: expected a whole number from 0 to 9223372036, found the number 604800.0 | write 604800
"type": "one-off", "expires_in": 6e5
    setup_keys.k.expires_in: expected a whole number from 0 to 9223372036, found the number 6e5 | write 600000
"type": "one-off", "expires_in": 1.5
    setup_keys.k.expires_in: expected a whole number from 0 to 9223372036, found the number 1.5
"type": "one-off", "expires_in": "7d"
    setup_keys.k.expires_in: expected a whole number of seconds, found the string "7d" | write 604800
"type": "one-off", "expires_in": " 12 Hours"
    setup_keys.k.expires_in: expected a whole number of seconds, found the string " 12 Hours" | write 43200
"type": "one-off", "expires_in": "6m"
    setup_keys.k.expires_in: expected a whole number from 0 to 9223372036, found the string "6m"
"type": "one-off", "expires_in": "99999999999d"
    setup_keys.k.expires_in: expected a whole number of seconds, found the string "99999999999d"
"type": "one-off", "expires_in": "-1"
    setup_keys.k.expires_in: expected a whole number from 0 to 9223372036, found the string "-1"
"type": "one-off", "expires_in": 9223372036
"type": "one-off", "expires_in": 9223372037
    setup_keys.k.expires_in: 9223372037 is too large: expected a whole number from 0 to 9223372036
"type": "one-off", "expires_in": 18446744073709551616
    setup_keys.k.expires_in: 18446744073709551616 is too large: expected a whole number from 0 to 9223372036
"type": "one-off", "expires_in": 604800, "usage_limit": 0
"type": "one-off", "expires_in": 604800, "usage_limit": -1
    setup_keys.k.usage_limit: -1 is too small: expected a whole number from 0 to 999999999999999999
"type": "reusable", "expires_in": 604800
    note: setup_keys.k: this key will enroll any number of peers: it has no usage_limit
"type": "reusable", "expires_in": 604800, "usage_limit": 5
"type": "reusable", "expires_in": 604800, "usage_limit": -1
    setup_keys.k.usage_limit: -1 is too small: expected a whole number from 0 to 999999999999999999
"type": "reusable", "expires_in": 604800, "usage_limit": "5"
    setup_keys.k.usage_limit: expected a whole number from 0 to 999999999999999999, found the string "5" | write 5 without quotes
"type": "reusable", "expires_in": 604800, "usage_limit": "true"
    setup_keys.k.usage_limit: expected a whole number from 0 to 999999999999999999, found the string "true"
"type": "reusable", "expires_in": 604800, "usage_limit": 1e3
    setup_keys.k.usage_limit: expected a whole number from 0 to 999999999999999999, found the number 1e3 | write 1000
"type": "reusable", "expires_in": 604800, "usage_limit": 9223372036854775807
    setup_keys.k.usage_limit: 9223372036854775807 is too large: expected a whole number from 0 to 999999999999999999
"type": "one-off", "expires_in": 604800, "ephemeral": "5", "allow_extra_dns_labels": "Yes"
    setup_keys.k.ephemeral: expected true or false, found the string "5"
    setup_keys.k.allow_extra_dns_labels: expected true or false, found the string "Yes" | write true
"type": "one-off", "expires_in": 604800, "auto_groups": [{"id": "x", "name": "ops"}, {"id": "x"}]
    setup_keys.k.auto_groups[0]: expected a name, found an object | write its name: "ops"
    setup_keys.k.auto_groups[1]: expected a name, found an object
"type": "one-off", "expires_in": 604800, "auto_groups": ["All"]
    setup_keys.k.auto_groups[0]: every peer is in All: neither a setup key nor a user can grant it | leave it out
"type": "one-off", "expires_in": 604800, "auto_groups": []
"type": "one-off", "expires_in": 604800, "ephemeral": true, "allow_extra_dns_labels": true
"type": "one-off", "expires_in": 604800, "ephemeral": 1, "allow_extra_dns_labels": "true"
    setup_keys.k.ephemeral: expected true or false, found the number 1
    setup_keys.k.allow_extra_dns_labels: expected true or false, found the string "true" | write true without quotes
"type": "one-off", "expires_in": 604800, "enrolled": true
"type": "one-off", "expires_in": 604800, "enrolled": "true"
    setup_keys.k.enrolled: expected true or false, found the string "true" | write true without quotes
"type": "reusable", "expires_in": 604800, "usage_limit": 5, "enrolled": true
"type": "reusable", "expires_in": 604800, "usage_limit": 5, "enrolled": false
"type": "one-off", "expires_in": 604800, "ephemeral": true, "enrolled": true
    setup_keys.k.enrolled: an ephemeral key's peer is forgotten, so the key is never done: it cannot be marked as enrolled | remove "enrolled"
"type": "one-off", "expires_in": 604800, "ephemeral": true, "enrolled": false
    note: setup_keys.k.enrolled: an ephemeral key's peer is forgotten, so the key is never done: "enrolled" has no effect here
"type": "one-off", "expires_in": 604800, "enrolled": true, "reissue_after": "2026-12-01T12:00:00Z"
    note: setup_keys.k.reissue_after: the key is enrolled, so this has done its work | it can be taken out; for another new key set "enrolled" to false and a new time
"type": "one-off", "expires_in": 604800, "renamed_from": "old", "key": "x", "revoked": true
    setup_keys.k.renamed_from: a setup key's name can never change | a new name is a new key: the old one is deleted, a new one made and sealed
    setup_keys.k.key: this file never has the secret of a key | if it is a real one, revoke it in NetBird: git keeps it for ever
    setup_keys.k.revoked: keys are not revoked here | remove the entry to delete the key
"type": "one-off", "expires": 604800, "name": "k"
    setup_keys.k.expires: unknown field "expires" | write "expires_in": Life time in seconds from creation, such as 604800 for a week; 0 = never expires.
    setup_keys.k.name: its name is the name of its entry
"type": "one-off", "expires_in": 604800, "recipients": ["age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p"]
"type": "one-off", "expires_in": 604800, "recipients": "age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p"
    setup_keys.k.recipients: expected a list of age or SSH public keys, found a string | write it in brackets: ["…"]
"type": "one-off", "expires_in": 604800, "recipients": ["age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8q", "alice", 1, ""]
    setup_keys.k.recipients[0]: a mistyped or cut off age key (its checksum is wrong) | copy the whole key again
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
    let desired = check(file).expect("a valid file").desired;
    let key = |name| desired.setup_key(name).expect("an entry").clone();
    let bare = SetupKey {
        key_type: KeyType::OneOff,
        expires_in_secs: Some(3600),
        usage_limit: Some(1),
        ..SetupKey::default()
    };
    let full = SetupKey {
        key_type: KeyType::Reusable,
        expires_in_secs: Some(0),
        usage_limit: Some(7),
        auto_groups: Some(BTreeSet::from(["g".into()])),
        ephemeral: Some(false),
        allow_extra_dns_labels: Some(true),
        reissue_after: Some("2026-12-01T12:00:00Z".parse().expect("a time")),
        ..SetupKey::default()
    };
    assert_eq!(
        key("done"),
        SetupKey {
            expires_in_secs: Some(7200),
            enrolled: true,
            ..bare.clone()
        }
    );
    assert_eq!(key("bare"), bare);
    assert_eq!(key("full"), full);
}
