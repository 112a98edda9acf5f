//! `renamed_from`: an entry that stood under another name before.

use std::collections::BTreeMap;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::base::code::Code;
use crate::base::text::is_hidden;
use crate::file::{Log, quote};
use crate::model::address::Address;
use crate::model::kind::values::names;
use crate::model::kind::{ALL, InFile, Kind};

/// Returns the old names by the new address, and notes those that cannot be.
pub(super) fn read<'e, 'a>(entries: &'e [InFile<'a>], log: &mut Log) -> BTreeMap<Address, String> {
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
        let message = if let Some(flaw) = flaw {
            flaw.message
        } else if old == name {
            format!("{} is the name it has", quote(old))
        } else if *kind == Kind::Group && old == ALL {
            "All is NetBird's own group of every peer: it cannot be renamed".to_owned()
        } else if declared.contains(&named(&address)) {
            format!("{} is declared as well: it was not renamed", quote(old))
        } else if renames
            .get(&entry.address)
            .is_some_and(|known| *known == old)
        {
            continue; // another one of its list says so too
        } else if renames.contains_key(&entry.address) {
            format!(
                "{} had one name before, and another one of its list says it",
                quote(name)
            )
        } else if let Some(other) = taken.get(&address) {
            format!(
                "{} was renamed to {} already",
                quote(old),
                quote(&other.name)
            )
        } else {
            taken.insert(address, &entry.address);
            renames.insert(entry.address.clone(), old.to_owned());
            continue;
        };
        let is_taken = old != name && declared.contains(&named(&address));
        let in_two = "where another entry takes the old name, merge it in two: first this rename, then the other entry";
        log.error(value.place(), message)
            .coded(Code::Rename)
            .suggest(is_taken.then(|| in_two.to_owned()));
    }
    renames
}

#[cfg(test)]
mod tests {
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
