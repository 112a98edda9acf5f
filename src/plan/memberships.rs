//! Who will join which group once it enrolls: a membership that a file grants is a change to review, whether or not a write
//! follows now. A pure comparison of two versions of the file.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::{Desired, Kind};

/// Groups by setup key.
pub type ByKey = BTreeMap<String, BTreeSet<String>>;

/// What one version of the file grants and another does not, and what a pending key's peer joins in all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Memberships {
    /// Groups that a key's peer will join, and would not have joined before.
    pub new: ByKey,
    /// Groups that it would have joined, and will not.
    pub gone: ByKey,
    /// All groups that the keys in either of these will join.
    pub all: ByKey,
    /// Groups that the peer of a key which is pending no more would have joined.
    pub ended: ByKey,
}

impl Memberships {
    /// Compares the file with an earlier version of it. Keys that only the earlier one has pending are apart: one that is done
    /// joined already, and one that is removed joins nothing. `followed`: groups that the
    /// file calls by the name that somebody gave them in NetBird, by their old names. `issued`: groups of an identity provider,
    /// which nobody joins by being listed.
    pub fn between(
        desired: &Desired,
        base: &Desired,
        followed: &BTreeMap<String, String>,
        issued: &BTreeSet<String>,
    ) -> Self {
        let of = |file| granted(file, |group| !issued.contains(group));
        let now = of(desired);
        let mut before = under_new_names(of(base), desired, followed);
        let none = BTreeSet::new();
        let mut memberships = Memberships::default();
        for (key, groups) in now {
            let earlier = before.remove(&key);
            let earlier = earlier.as_ref().unwrap_or(&none);
            let (new, gone) = (&groups - earlier, earlier - &groups);
            if new.is_empty() && gone.is_empty() {
                continue;
            }
            if !new.is_empty() {
                memberships.new.insert(key.clone(), new);
            }
            if !gone.is_empty() {
                memberships.gone.insert(key.clone(), gone);
            }
            memberships.all.insert(key, groups);
        }
        memberships.ended = before;
        memberships
    }

    /// Returns how many memberships come or go.
    pub fn len(&self) -> usize {
        let both = self.new.values().chain(self.gone.values());
        both.map(BTreeSet::len).sum()
    }

    /// Returns those of keys that `is_told` does not say of that they are told elsewhere.
    pub fn without(&self, is_told: impl Fn(&str) -> bool) -> Memberships {
        let mut rest = self.clone();
        for list in [&mut rest.new, &mut rest.gone, &mut rest.all] {
            list.retain(|key, _| !is_told(key));
        }
        rest
    }
}

/// Returns the groups that the peer of each pending one-off key will join: its `auto_groups`, and of those that list it the ones
/// that take members by that.
pub fn granted(desired: &Desired, takes: impl Fn(&str) -> bool) -> ByKey {
    let pending = desired
        .setup_keys()
        .filter(|(name, _)| desired.awaits_enrollment(name));
    let mut granted: ByKey = pending
        .map(|(name, key)| (name.clone(), key.auto_groups.clone().unwrap_or_default()))
        .collect();
    let is_any = !granted.is_empty();
    for (group, declared) in desired.groups().filter(|(group, _)| is_any && takes(group)) {
        for member in declared.listed.iter().flatten() {
            if let Some(groups) = granted.get_mut(member) {
                groups.insert(group.clone());
            }
        }
    }
    granted
}

/// A group that was renamed is the same group.
fn under_new_names(
    mut granted: ByKey,
    desired: &Desired,
    followed: &BTreeMap<String, String>,
) -> ByKey {
    let renamed = desired.renamed_from.iter();
    let renamed = renamed.filter(|(at, _)| at.kind == Kind::Group);
    let renamed = renamed.map(|(at, old)| (old, &at.name));
    for (old, new) in renamed.chain(followed) {
        for groups in granted.values_mut() {
            if groups.remove(old) {
                groups.insert(new.clone());
            }
        }
    }
    granted
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::check::validate::validate;
    use crate::file::Source;

    fn desired(file: Value) -> Desired {
        let source = Source::from_text("f", file.to_string()).expect("a text");
        let valid = validate(&source).expect("a valid file");
        std::sync::Arc::unwrap_or_clone(valid.desired)
    }

    fn key(more: Value) -> Value {
        let mut key = json!({ "type": "one-off", "expires_in": 604800 });
        for (field, value) in more.as_object().expect("fields") {
            key[field] = value.clone();
        }
        key
    }

    /// `KEY joins GROUP` and `KEY leaves GROUP`, sorted.
    fn between(file: Value, base: Value) -> Vec<String> {
        lines(&Memberships::between(
            &desired(file),
            &desired(base),
            &BTreeMap::new(),
            &BTreeSet::new(),
        ))
    }

    fn lines(memberships: &Memberships) -> Vec<String> {
        let lines = |list: &ByKey, verb: &str| -> Vec<String> {
            let pairs = list.iter().flat_map(|(key, groups)| {
                groups.iter().map(move |group| (key.clone(), group.clone()))
            });
            pairs
                .map(|(key, group)| format!("{key} {verb} {group}"))
                .collect()
        };
        let mut all = lines(&memberships.new, "joins");
        all.extend(lines(&memberships.gone, "leaves"));
        assert_eq!(all.len(), memberships.len());
        let mut both = memberships.new.values().chain(memberships.gone.values());
        assert!(both.all(|groups| !groups.is_empty()));
        let keys = memberships.new.keys().chain(memberships.gone.keys());
        let keys: BTreeSet<&String> = keys.collect();
        assert_eq!(Vec::from_iter(keys), Vec::from_iter(memberships.all.keys()));
        all
    }

    #[test]
    fn being_listed_and_auto_groups_are_memberships_to_come() {
        let base = json!({ "groups": { "a": { "peers": [] }, "b": {} }, "setup_keys": { "k": key(json!({})) } });
        let mut listed = base.clone();
        listed["groups"]["a"]["peers"] = json!(["k"]);
        assert_eq!(between(listed.clone(), base.clone()), ["k joins a"]);
        assert_eq!(between(base.clone(), listed.clone()), ["k leaves a"]);
        let mut granted = listed.clone();
        granted["setup_keys"]["k"] = key(json!({ "auto_groups": ["b"] }));
        assert_eq!(
            between(granted.clone(), base.clone()),
            ["k joins a", "k joins b"]
        );
        assert_eq!(between(granted.clone(), granted.clone()), [""; 0]);
        let all = Memberships::between(
            &desired(granted),
            &desired(listed),
            &BTreeMap::new(),
            &BTreeSet::new(),
        )
        .all;
        assert_eq!(all["k"], BTreeSet::from(["a".to_owned(), "b".to_owned()]));
    }

    #[test]
    fn who_is_done_or_is_many_joins_nothing_later() {
        let file = |more: Value| json!({ "groups": { "a": { "peers": ["k"] } }, "setup_keys": { "k": key(more) } });
        let none = json!({ "groups": { "a": { "peers": [] } } });
        for more in [
            json!({ "enrolled": true }),
            json!({ "ephemeral": true }),
            json!({ "type": "reusable", "usage_limit": 3 }),
        ] {
            assert_eq!(between(file(more.clone()), none.clone()), [""; 0], "{more}");
        }
        assert_eq!(
            between(none.clone(), file(json!({}))),
            [""; 0],
            "the key's deletion says it"
        );
        // a machine that is replaced joins again
        assert_eq!(
            between(file(json!({})), file(json!({ "enrolled": true }))),
            ["k joins a"]
        );
    }

    /// Nobody joins a group of an identity provider by being listed; by the groups of a key machines do.
    #[test]
    fn a_group_of_an_identity_provider_is_joined_by_auto_groups_alone() {
        let base = json!({ "groups": { "staff": {} }, "setup_keys": { "k": key(json!({})) } });
        let mut file = base.clone();
        file["groups"]["staff"] = json!({ "peers": ["k"] });
        let issued = BTreeSet::from(["staff".to_owned()]);
        let number = |file: &Value| {
            let (file, base) = (desired(file.clone()), desired(base.clone()));
            Memberships::between(&file, &base, &BTreeMap::new(), &issued).len()
        };
        assert_eq!(number(&file), 0);
        file["setup_keys"]["k"] = key(json!({ "auto_groups": ["staff"] }));
        assert_eq!(number(&file), 1);
    }

    #[test]
    fn what_is_told_elsewhere_is_not_told_again() {
        let file = |peers: &[&str]| json!({ "groups": { "a": { "peers": peers } }, "setup_keys": { "k": key(json!({})), "l": key(json!({})) } });
        let none = BTreeMap::new();
        let of = |file: Value, base: Value| {
            let (file, base) = (desired(file), desired(base));
            Memberships::between(&file, &base, &none, &BTreeSet::new())
        };
        let comes = of(file(&["k", "l"]), file(&[]));
        assert_eq!(lines(&comes.without(|key| key == "k")), ["l joins a"]);
        assert_eq!(lines(&comes.without(|_| false)), ["k joins a", "l joins a"]);
        let goes = of(file(&[]), file(&["k", "l"]));
        assert_eq!(goes.without(|key| key == "k").gone.len(), 1);
        assert_eq!(lines(&of(file(&["k"]), file(&["k"]))), [""; 0]);
    }

    #[test]
    fn a_renamed_group_is_the_same_group() {
        let old = json!({ "groups": { "old": { "peers": ["k"] } }, "setup_keys": { "k": key(json!({})) } });
        let new = json!({ "groups": { "new": { "peers": ["k"], "renamed_from": "old" } }, "setup_keys": { "k": key(json!({})) } });
        assert_eq!(between(new.clone(), old.clone()), [""; 0]);
        // also where somebody renamed it in NetBird, and the file followed
        let followed = BTreeMap::from([("old".to_owned(), "new".to_owned())]);
        let file = json!({ "groups": { "new": { "peers": ["k"] } }, "setup_keys": { "k": key(json!({})) } });
        let (file, base) = (desired(file), desired(old.clone()));
        let memberships = Memberships::between(&file, &base, &followed, &BTreeSet::new());
        assert_eq!(lines(&memberships), [""; 0]);
        // whom it did not list before joins it
        let mut empty = old.clone();
        empty["groups"]["old"]["peers"] = json!([]);
        assert_eq!(between(new, empty), ["k joins new"]);
        // a policy of the name is no group
        let mut policy = old.clone();
        policy["policies"] =
            json!({ "q": { "renamed_from": "old", "sources": ["old"], "destinations": ["old"] } });
        assert_eq!(between(policy, old), [""; 0]);
    }
}
