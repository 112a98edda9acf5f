//! Names of one section that look the same.

use std::borrow::Cow;
use std::collections::BTreeMap;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::base::{Code, is_hidden};
use crate::file::{Log, quote};
use crate::model::kind::values::names;
use crate::model::kind::values::names::{fold, nfc};
use crate::model::{ALL, Address, Desired, InFile, Kind, plain_label};

/// Notes names of one section that look the same, or differ only by case.
pub(super) fn check(entries: &[InFile<'_>], log: &mut Log) {
    type Names<'e, 'a> = FxHashMap<(Kind, Option<&'e str>, Cow<'e, str>), &'e InFile<'a>>;
    let (mut composed, mut folded) = (Names::default(), Names::default());
    for entry in entries {
        let Address { kind, within, name } = &entry.address;
        let (kind, within) = (*kind, within.as_deref());
        // of what can move, a name is one in the whole account
        let is_anywhere = kind.descriptor().is_anywhere;
        let within = within.filter(|_| !is_anywhere);
        // ASCII is made of no other characters
        let twin = match is_anywhere || !name.is_ascii() {
            true => *composed.entry((kind, within, nfc(name))).or_insert(entry),
            false => entry,
        };
        let sibling = *folded.entry((kind, within, fold(name))).or_insert(entry);
        let is_one = |of: &InFile<'_>| of.address == entry.address;
        let is_all = kind == Kind::Group && is_nearly_all(name);
        if is_one(twin) && is_one(sibling) && !is_all {
            continue;
        }
        let (place, name) = (entry.cursor.key_place(), quote(name));
        let line = |of: &InFile<'_>| of.cursor.key_place().line;
        if is_anywhere && !is_one(twin) && twin.address.name == entry.address.name {
            let parent = twin.address.parent().map(|at| at.quoted());
            let (parent, kind) = (parent.unwrap_or_default(), kind.plural());
            let there = format!("{name} is in {parent} too, in line {}", line(twin));
            let message = format!("{there}: the names of {kind} are unique in the account");
            let flaw = log.error(place, message).coded(Code::Duplicate);
            flaw.suggest("rename one of them");
        } else if !is_one(twin) {
            let there = format!("the name {name} looks like the one in line {}", line(twin));
            let flaw = log.error(place, format!("{there}, but is made of other characters"));
            let hint = "two names must differ when composed (Unicode NFC)";
            flaw.coded(Code::Name).suggest(hint);
        } else if !is_one(sibling) {
            let (other, line) = (quote(&sibling.address.name), line(sibling));
            let message =
                format!("the name {name} differs only by case from {other} in line {line}");
            log.notice(Code::CaseTwin, place, message);
        } else {
            let all = format!("{ALL}, NetBird's group of every peer");
            let message = format!("the name {name} differs only by case from {all}");
            log.notice(Code::CaseTwin, place, message);
        }
    }
}

fn is_nearly_all(name: &str) -> bool {
    name != ALL && name.eq_ignore_ascii_case(ALL)
}

/// Notes names of keys whose peer's DNS label is not what a reader expects (docs/netbird-api.md, "DNS labels of
/// peers").
pub(super) fn labels(entries: &[InFile<'_>], desired: &Desired, log: &mut Log) {
    let mut first: FxHashMap<String, &InFile<'_>> = FxHashMap::default();
    for entry in entries {
        let name = entry.address.name.as_str();
        let key = (entry.address.kind == Kind::SetupKey).then(|| desired.setup_key(name));
        let key = key.flatten().filter(|key| key.is_for_one_peer());
        let Some(label) = key.and_then(|_| plain_label(name)) else {
            continue;
        };
        let is_pending = desired.awaits_enrollment(name);
        let other = *first.entry(label.clone()).or_insert(entry);
        let place = || entry.cursor.key_place();
        // of two that are done the server has decided
        if !is_pending && !desired.awaits_enrollment(&other.address.name) {
            continue;
        }
        let (shown, quoted) = (quote(name), quote(&label));
        if other.address != entry.address {
            let (taken, line) = (quote(&other.address.name), other.cursor.key_place().line);
            let second = "the peer that enrolls second gets a suffix from its IP";
            let both = format!("{shown} and {taken} in line {line} both make the DNS label");
            let message = format!("{both} {quoted}: {second}");
            let notice = log.notice(Code::DnsLabel, place(), message);
            let brief = format!("{shown} → {quoted}, as {taken}");
            notice.brief(brief).suggest("give them different names: upper or lower case, spaces, special characters and the part after the first dot are ignored");
        } else if is_pending && is_cut(name, &label) {
            let message = format!("the DNS label of this key's peer will be {quoted}");
            let why = match name.contains('.') {
                true => "a label is the part before the first dot",
                false => "a label has at most 59 characters",
            };
            let notice = log.notice(Code::DnsLabel, place(), message);
            notice.brief(format!("{shown} → {quoted}")).suggest(why);
        }
    }
}

/// Whether letters or digits of the name are not in the label.
fn is_cut(name: &str, label: &str) -> bool {
    let count = |text: &str| text.chars().filter(char::is_ascii_alphanumeric).count();
    count(name) > count(label) || name.contains('.')
}

/// Returns the old names by the new address, and notes those that cannot be.
pub(super) fn renames<'e, 'a>(
    entries: &'e [InFile<'a>],
    log: &mut Log,
) -> BTreeMap<Address, String> {
    let can_be = |entry: &&InFile<'_>| entry.address.kind.can_be_renamed();
    let renamed = |entry: &'e InFile<'a>| Some((entry, entry.cursor.get("renamed_from")?));
    let renamed: Vec<_> = entries.iter().filter(can_be).filter_map(renamed).collect();
    let mut renames = BTreeMap::new();
    if renamed.is_empty() {
        return renames;
    }
    // what can move has one name in the whole account
    let named = |at: &Address| (at.kind, at.name.clone());
    let declared: FxHashSet<(Kind, String)> =
        entries.iter().map(|entry| named(&entry.address)).collect();
    let mut taken: FxHashMap<Address, &Address> = FxHashMap::default();
    for (entry, value) in renamed {
        let Address { kind, name, .. } = &entry.address;
        let Some(old) = value.text() else {
            continue;
        };
        let address = Address::new(*kind, old);
        // a name that is not allowed any more is left behind by a rename
        let flaw = names::flaw(old).filter(|_| !old.chars().any(is_hidden));
        let known = renames.get(&entry.address);
        let (name, old_name) = (quote(name), quote(old));
        let message = if let Some(flaw) = flaw {
            flaw.message
        } else if old == entry.address.name {
            format!("{old_name} is the name it has")
        } else if *kind == Kind::Group && old == ALL {
            "All is NetBird's own group of every peer: it cannot be renamed".to_owned()
        } else if declared.contains(&named(&address)) {
            format!("{old_name} is declared as well: it was not renamed")
        } else if let Some(known) = known {
            if *known == old {
                continue; // another one of its list says so too
            }
            format!("{name} had one name before, and another one of its list says it")
        } else if let Some(other) = taken.get(&address) {
            format!("{old_name} was renamed to {} already", quote(&other.name))
        } else {
            taken.insert(address, &entry.address);
            renames.insert(entry.address.clone(), old.to_owned());
            continue;
        };
        let is_taken = old != entry.address.name && declared.contains(&named(&address));
        let in_two = "where another entry takes the old name, merge it in two: first this rename, then the other entry";
        let flaw = log.error(value.place(), message).coded(Code::Rename);
        flaw.suggest(is_taken.then_some(in_two));
    }
    renames
}

#[cfg(test)]
mod tests {
    use snapbox::str;

    use crate::check::validate::testing::assert_table;

    #[test]
    fn labels_that_are_cut_or_shared() {
        let long = format!(r#""{}": KEY"#, "x".repeat(60));
        let rows = [
            r#""Pilot-hawk-72": KEY"#,
            r#""pump3.hall4": KEY"#,
            r#""pump3.hall4": KEY, "pump3.hall5": KEY"#,
            r#""F2-Cam": KEY, "f2-cam": KEY"#,
            r#""a b": KEY, "a-b": DONE"#,
            r#""a b": DONE, "a-b": DONE"#,
            r#""a b": MANY, "a-b": KEY"#,
            &long,
        ];
        let rows: Vec<String> = rows
            .iter()
            .map(|row| {
                let key = r#"{"type": "one-off", "expires_in": 3600"#;
                row.replace("KEY", &format!("{key}}}"))
                    .replace("DONE", &format!(r#"{key}, "enrolled": true}}"#))
                    .replace(
                        "MANY",
                        r#"{"type": "reusable", "expires_in": 0, "usage_limit": 2}"#,
                    )
            })
            .collect();
        let rows: Vec<&str> = rows.iter().map(String::as_str).collect();
        assert_table(
            r#"{"setup_keys": {ROW}}"#,
            &rows,
            str![[r#"
"Pilot-hawk-72": {"type": "one-off", "expires_in": 3600}
"pump3.hall4": {"type": "one-off", "expires_in": 3600}
    note: setup_keys["pump3.hall4"]: the DNS label of this key's peer will be "pump3" | a label is the part before the first dot
"pump3.hall4": {"type": "one-off", "expires_in": 3600}, "pump3.hall5": {"type": "one-off", "expires_in": 3600}
    note: setup_keys["pump3.hall4"]: the DNS label of this key's peer will be "pump3" | a label is the part before the first dot
    note: setup_keys["pump3.hall5"]: "pump3.hall5" and "pump3.hall4" in line 1 both make the DNS label "pump3": the peer that enrolls second gets a suffix from its IP | give them different names: upper or lower case, spaces, special characters and the part after the first dot are ignored
"F2-Cam": {"type": "one-off", "expires_in": 3600}, "f2-cam": {"type": "one-off", "expires_in": 3600}
    note: setup_keys.f2-cam: the name "f2-cam" differs only by case from "F2-Cam" in line 1
    note: setup_keys.f2-cam: "f2-cam" and "F2-Cam" in line 1 both make the DNS label "f2-cam": the peer that enrolls second gets a suffix from its IP | give them different names: upper or lower case, spaces, special characters and the part after the first dot are ignored
"a b": {"type": "one-off", "expires_in": 3600}, "a-b": {"type": "one-off", "expires_in": 3600, "enrolled": true}
    note: setup_keys.a-b: "a-b" and "a b" in line 1 both make the DNS label "a-b": the peer that enrolls second gets a suffix from its IP | give them different names: upper or lower case, spaces, special characters and the part after the first dot are ignored
"a b": {"type": "one-off", "expires_in": 3600, "enrolled": true}, "a-b": {"type": "one-off", "expires_in": 3600, "enrolled": true}
"a b": {"type": "reusable", "expires_in": 0, "usage_limit": 2}, "a-b": {"type": "one-off", "expires_in": 3600}
"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx": {"type": "one-off", "expires_in": 3600}
    note: setup_keys.xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx: the DNS label of this key's peer will be "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx" | a label has at most 59 characters

"#]],
        );
    }
}

#[cfg(test)]
mod renames_tests {
    use snapbox::str;

    use super::*;
    use crate::check::validate::testing::{assert_table, check};

    #[test]
    fn old_names() {
        let rows = [
            r#""b": {"renamed_from": "a"}"#,
            r#""b": {"renamed_from": ""}"#,
            r#""b": {"renamed_from": "b"}"#,
            r#""b": {"renamed_from": "All"}"#,
            r#""b": {"renamed_from": 1}"#,
            r#""b": {"renamed_from": null}"#,
            r#""b": {"renamed_from": "a"}, "a": {}"#,
            r#""b": {"renamed_from": "a"}, "c": {"renamed_from": "a"}"#,
            r#""b": {"renamed_from": "old "}"#,
            r#""B\u00fcro": {"renamed_from": "Bu\u0308ro"}"#,
        ];
        assert_table(
            r#"{"groups": {ROW}}"#,
            &rows,
            str![[r#"
"b": {"renamed_from": "a"}
"b": {"renamed_from": ""}
    groups.b.renamed_from: a name cannot be empty
"b": {"renamed_from": "b"}
    groups.b.renamed_from: "b" is the name it has
"b": {"renamed_from": "All"}
    groups.b.renamed_from: All is NetBird's own group of every peer: it cannot be renamed
"b": {"renamed_from": 1}
    groups.b.renamed_from: expected the old name, found the number 1
"b": {"renamed_from": null}
    groups.b.renamed_from: null is not allowed | leave "renamed_from" out instead
"b": {"renamed_from": "a"}, "a": {}
    groups.b.renamed_from: "a" is declared as well: it was not renamed | where another entry takes the old name, merge it in two: first this rename, then the other entry
"b": {"renamed_from": "a"}, "c": {"renamed_from": "a"}
    groups.c.renamed_from: "a" was renamed to "b" already
"b": {"renamed_from": "old "}
"B\u00fcro": {"renamed_from": "Bu\u0308ro"}

"#]],
        );
    }

    #[test]
    fn every_kind_but_setup_keys_is_renamed() {
        let file = r#"{"groups": {"g": {"renamed_from": "x"}},
            "policies": {"p": {"sources": ["g"], "destinations": ["g"], "renamed_from": "x"}},
            "routes": {"r": {"network": "10.0.0.0/8", "peer_groups": ["g"], "groups": ["g"], "renamed_from": "x"}},
            "dns": {"nameserver_groups": {"n": {"nameservers": [{"ip": "1.1.1.1"}], "groups": ["g"], "primary": true, "renamed_from": "x"}}}}"#;
        let rename = |kind, name: &str| (Address::new(kind, name), "x".to_owned());
        let wanted = BTreeMap::from([
            rename(Kind::Group, "g"),
            rename(Kind::Policy, "p"),
            rename(Kind::Route, "r"),
            rename(Kind::NameserverGroup, "n"),
        ]);
        assert_eq!(
            check(file).expect("a valid file").desired.renamed_from,
            wanted
        );
    }
}
