//! The digest of a plan: whoever looked at one can say of another whether it is the same.
//!
//! It covers what is done, all that the file says, which decides what follows once machines enroll, and the live objects that this
//! rests on, in canonical form.
//! What moves by itself in an account that nobody changes (who is online, how often a key was used) is no part of that form, and
//! neither are the commit, the history and the time: so the plan of a pull request and that of the apply after its merge have
//! one digest.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::Plan;
use super::resolve::Resolved;
use crate::account::Actual;
use crate::base::{Id, hex};
use crate::model::{Address, Change, Desired, Kind, Resource};
use crate::plan::Names;
use crate::plan::memberships::granted;

/// How a plan differs from the one of a digest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unlike {
    /// It does something else.
    Operations,
    /// It does the same, to objects that are otherwise by now.
    Live,
}

/// What a plan leads to, and rests on, beside its operations.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Beside {
    /// The file: its digest is made only where that of the plan is shown.
    desired: Arc<Desired>,
    /// The live objects.
    live: Value,
    /// What names mean.
    names: Arc<Names>,
}

impl Beside {
    pub(super) fn of(
        desired: &Arc<Desired>,
        actual: &Actual,
        changes: &[Change],
        resolved: Resolved,
    ) -> Self {
        let joins = granted(desired, |_| true);
        let ids = |kind: Kind, name: &str| -> Vec<&Id> {
            let all = actual.named(kind, name).iter();
            all.map(|live| &live.id).collect()
        };
        // a key that nobody used yet, with what the file does not say of it
        let waiting = joins.keys().map(|name| {
            let decision = resolved.decisions.get(name);
            let id = decision.and_then(|decision| decision.waiting.as_ref());
            let mut keys = actual.named(Kind::SetupKey, name).iter();
            let key = keys.find(|live| Some(&live.id) == id);
            key.map(|live| (&live.id, live.resource.fields()))
        });
        let joined: BTreeSet<&String> = joins.values().flatten().collect();
        let joined = joined.iter().map(|name| ids(Kind::Group, name));
        let named = changes.iter().map(|change| {
            let after = change.operation.outcome()?;
            let all = after
                .refers()
                .map(|(what, name)| actual.groups.other(what, name).ok());
            Some(all.collect::<Vec<_>>())
        });
        let within = changes.iter().map(|change| {
            let parent = change.address.parent();
            parent.map(|parent| ids(parent.kind, &parent.name))
        });
        let live = json!([
            ids(Kind::AccountSettings, ""),
            waiting.collect::<Vec<_>>(),
            joined.collect::<Vec<_>>(),
            named.collect::<Vec<_>>(),
            within.collect::<Vec<_>>(),
        ]);
        Beside {
            desired: desired.clone(),
            live,
            names: Arc::new(resolved.names),
        }
    }
}

impl Plan {
    /// Returns 64 hexadecimal digits, which are compared whole: 48 of all, behind 16 that differ where what is done does, so that
    /// a difference can be told.
    pub fn digest(&self) -> String {
        let Beside {
            desired,
            live,
            names,
        } = &self.beside;
        let machines: BTreeMap<&str, &Id> = names.of_machines().collect();
        let machines = machines.into_iter().map(|of| json!(of));
        let live = digits(std::iter::once(live.clone()).chain(machines));
        let operations = self.changes.iter().map(|change| self.operation(change));
        let adoptions = self.adoptions.iter();
        let adoptions = adoptions.map(|(at, of)| (at.key(), &of.id));
        let let_go = self.let_go.iter().map(|of| &of.id);
        let done = json!([
            operations.collect::<Vec<_>>(),
            adoptions.collect::<Vec<_>>(),
            let_go.collect::<Vec<_>>(),
            of_file(desired)
        ]);
        let objects = self.changes.iter().map(rests_on);
        let all = json!([done, objects.collect::<Vec<_>>(), live]);
        digits([done])[..16].to_owned() + &digits([all])[..48]
    }

    /// Returns how it differs from the plan of that digest; `None` where it is the same.
    pub fn unlike(&self, digest: &str) -> Option<Unlike> {
        let own = self.digest();
        match digest {
            digest if digest == own => None,
            digest if digest.get(..16) == own.get(..16) => Some(Unlike::Live),
            _ => Some(Unlike::Operations),
        }
    }

    /// What is done to which object. The DNS label that a machine gets by it is the server's to choose, and in no resource.
    fn operation(&self, change: &Change) -> Value {
        let operation = &change.operation;
        json!([
            change.address.to_string(),
            change.address.within,
            change.name(),
            operation.word(),
            operation.live().map(|live| &live.id),
            operation.after().map(Resource::fields),
            operation.after().and_then(|after| self.at_creation(after)),
        ])
    }

    /// What no live object tells, so that it is no field of the canonical form: for whom a new key is sealed.
    fn at_creation(&self, after: &Resource) -> Option<BTreeSet<String>> {
        let Resource::SetupKey(key) = after else {
            return None;
        };
        let of_all = self.sealed_for.iter().filter(|_| !key.sealed_for.only);
        Some(key.sealed_for.keys.keys().chain(of_all).cloned().collect())
    }
}

/// Returns the digest of all that a file says, whether or not it is written now.
fn of_file(desired: &Desired) -> String {
    let named = |at: &Address| json!([at.kind.word(), at.within, at.name]);
    let sections = desired.sections.iter();
    let sections = sections.map(|(kind, within)| json!([kind.word(), within]));
    let renames = desired.renamed_from.iter();
    let renames = renames.map(move |(at, old)| json!([named(at), old]));
    let entries = desired.entries.iter().map(move |(at, all)| {
        let all = all.iter().map(Resource::said);
        json!([named(at), all.collect::<Vec<_>>()])
    });
    digits(sections.chain(renames).chain(entries))
}

/// Returns the digits of values one after the other: together they can be as long as the file.
fn digits(values: impl IntoIterator<Item = Value>) -> String {
    let mut hash = Sha256::new();
    for value in values {
        hash.update(value.to_string());
    }
    hex(&hash.finalize())
}

/// What the operation rests on: the object as it is.
fn rests_on(change: &Change) -> Value {
    let live = change.operation.live();
    json!(live.map(|live| json!([live.id, live.name, live.within, live.resource.fields()])))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::check::validate::validate;
    use crate::file::Source;

    fn read(file: &Value) -> Option<Arc<Desired>> {
        let source = Source::from_text("f", file.to_string()).expect("a text");
        Some(validate(&source).ok()?.desired)
    }

    /// Returns the value without each of the fields and elements in it, one at a time.
    fn without_one(value: &Value) -> Vec<Value> {
        let mut all = Vec::new();
        let keys: Vec<String> = value
            .as_object()
            .into_iter()
            .flat_map(|it| it.keys().cloned())
            .collect();
        for key in keys {
            let mut less = value.clone();
            less.as_object_mut().expect("it has keys").remove(&key);
            all.push(less);
            for inner in without_one(&value[&key]) {
                let mut less = value.clone();
                less[&key] = inner;
                all.push(less);
            }
        }
        for at in 0..value.as_array().map_or(0, Vec::len) {
            let mut less = value.clone();
            less.as_array_mut().expect("it has elements").remove(at);
            all.push(less);
        }
        all
    }

    #[test]
    fn all_that_a_file_says_is_part_of_it() {
        let text = include_str!("../../examples/full.json");
        let mut full: Value = serde_json::from_str(text).expect("JSON");
        full["groups"]["pilots"]["renamed_from"] = json!("flyers");
        let whole = read(&full).expect("a valid file");
        let others = without_one(&full)
            .into_iter()
            .filter_map(|file| read(&file));
        let others: Vec<_> = others.filter(|other| *other != whole).collect();
        assert!(others.len() > 50, "{}", others.len());
        for other in others {
            assert_ne!(of_file(&other), of_file(&whole), "{other:?}");
        }
    }
}
