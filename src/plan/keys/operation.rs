//! What is to be done to a declared key: the operation that makes, changes or replaces it.

use super::Namesake;
use crate::model::change::Operation;
use crate::model::kind::{self, Live, Resource, differences};
use crate::model::reason::Reason;

/// Returns whether a live key differs from the declared one in what no key can change.
pub fn must_be_replaced(after: &Resource, live: &Live) -> bool {
    let fields = differences(after, &live.resource);
    fields
        .iter()
        .any(|change| !kind::SetupKey::can_change(&change.field))
}

/// Returns a creation, or a replacement where an older key is to go. What the file does not say is carried over from what
/// goes, or else from `last`, the newest that stood for the entry.
pub(super) fn make(after: Resource, superseded: Option<&Live>, last: Option<&Live>) -> Operation {
    let after = match superseded.or(last) {
        Some(old) => after.over(&old.resource),
        None => after,
    };
    match superseded {
        Some(live) => Operation::Replace {
            live: live.clone(),
            fields: differences(&after, &live.resource),
            after,
        },
        None => Operation::Create { after },
    }
}

/// Returns what the file wants of a live key. Of one that was used already the life time is not: its secret is in use.
pub(super) fn wanted(after: &Resource, of: &Namesake) -> Resource {
    match (after, &of.live.resource) {
        (Resource::SetupKey(after), Resource::SetupKey(live)) if of.key.used_times > 0 => {
            let expires_in_secs = live.expires_in_secs.or(after.expires_in_secs);
            Resource::SetupKey(kind::SetupKey {
                expires_in_secs,
                ..after.clone()
            })
        }
        _ => after.clone(),
    }
}

/// Compares a declared key with its valid, unused (or reusable) live one.
pub(super) fn compare(of: &Namesake, after: &Resource) -> Option<(Operation, Option<Reason>)> {
    let (live, wanted) = (of.live, wanted(after, of));
    if must_be_replaced(&wanted, live) {
        let operation = make(after.clone(), Some(live), None);
        return Some((operation, Some(Reason::KeyCannotChange)));
    }
    Operation::update(live, &wanted, None).map(|operation| (operation, None))
}
