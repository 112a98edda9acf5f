//! Objects as they live, and what of them is otherwise than the file says.

use serde::Serialize;
use serde_json::Value;

use super::{Kind, Resource};
use crate::base::entry::Entry;
use crate::base::id::Id;
use crate::wire::api::objects;

/// A live object: its id, its canonical form, and the answer as it came.
#[derive(Debug, Clone, PartialEq)]
pub struct Live {
    /// The server's id.
    pub id: Id,
    /// Its name, which need not be unique.
    pub name: String,
    /// The id of what it stands in, if it stands in anything.
    pub within: Option<Id>,
    /// Its canonical form.
    pub resource: Resource,
    /// The answer, so that fields we do not know go back as they came. Never printed.
    pub wire: Entry,
}

impl Live {
    /// What is read of an answer; where it stands, if in anything, is told by its list.
    pub(super) fn new(id: Id, name: String, resource: impl Into<Resource>, wire: Entry) -> Self {
        Live {
            id,
            name,
            within: None,
            resource: resource.into(),
            wire,
        }
    }

    /// Returns whether it is a key that nobody can use: used up, expired or revoked.
    pub fn is_dead_key(&self) -> bool {
        let is_valid = || self.wire.read::<objects::SetupKey>().map(|key| key.valid);
        self.resource.kind() == Kind::SetupKey && matches!(is_valid(), Ok(false))
    }
}

/// One field that differs.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
pub struct FieldChange {
    /// The field's name in netbird.json.
    pub field: String,
    /// The live value; null where there is none.
    pub before: Value,
    /// The desired value.
    pub after: Value,
}

/// Returns the fields of `desired` that `actual` has otherwise. Of the same resource with itself: none.
pub fn differences(desired: &Resource, live: &Resource) -> Vec<FieldChange> {
    // most objects of most plans are as they should be
    if desired == live || desired.over(live) == *live {
        return Vec::new();
    }
    let mut actual = live.fields();
    desired
        .fields()
        .into_iter()
        .map(|(field, after)| FieldChange {
            before: actual.remove(&field).unwrap_or_default(),
            field,
            after,
        })
        .filter(|change| change.before != change.after)
        .filter(|change| !desired.says_the_same(live, &change.field))
        .collect()
}
