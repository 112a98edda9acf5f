//! The digest of a plan: whoever looked at one can say of another whether it is the same.
//!
//! It covers what is done, and the live objects that this rests on, in canonical form. What moves by itself in an account that
//! nobody changes (who is online, how often a key was used) is no part of that form, and neither are the commit, the history and
//! the time: so the plan of a pull request and that of the apply after its merge have one digest.

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::Plan;
use crate::model::change::Change;
use crate::model::kind::Resource;

/// How a plan differs from the one of a digest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unlike {
    /// It does something else.
    Operations,
    /// It does the same, to objects that are otherwise by now.
    Live,
}

impl Plan {
    /// Returns 12 hexadecimal digits: 6 that differ where the operations do, and 6 that differ where the live objects do that
    /// they rest on.
    pub fn digest(&self) -> String {
        digits(self.changes.iter().map(operation)) + &digits(self.changes.iter().map(live))
    }

    /// Returns how it differs from the plan of that digest; `None` where it is the same.
    pub fn unlike(&self, digest: &str) -> Option<Unlike> {
        let own = self.digest();
        match digest {
            digest if digest == own => None,
            digest if digest.get(..6) == own.get(..6) => Some(Unlike::Live),
            _ => Some(Unlike::Operations),
        }
    }
}

fn digits(parts: impl Iterator<Item = Value>) -> String {
    let mut hash = Sha256::new();
    parts.for_each(|part| hash.update(part.to_string()));
    let hash = hash.finalize();
    hash.iter()
        .take(3)
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// What is done to which object. The DNS label that a machine gets by it is the server's to choose, and in no resource.
fn operation(change: &Change) -> Value {
    let operation = &change.operation;
    json!([
        change.address.to_string(),
        change.address.within,
        operation.word(),
        operation.live().map(|live| &live.id),
        operation.after().map(Resource::fields),
        operation.after().and_then(at_creation),
    ])
}

/// What no live object tells, so that it is no field of the canonical form: how long a new key lives, and for whom it is sealed.
fn at_creation(after: &Resource) -> Option<Value> {
    let Resource::SetupKey(key) = after else {
        return None;
    };
    let recipients: Vec<&String> = key.sealed_for.keys.keys().collect();
    Some(json!([
        key.expires_in_secs,
        recipients,
        key.sealed_for.only
    ]))
}

/// What the operation rests on: the object as it is.
fn live(change: &Change) -> Value {
    let live = change.operation.live();
    json!(live.map(|live| json!([live.id, live.name, live.within, live.resource.fields()])))
}
