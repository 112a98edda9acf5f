//! What a plan knows of what is ours, beside the file and the account.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::account::{Actual, Binding};
use crate::base::{Evidence, Id};
use crate::git::versions::Versions;
use crate::inventory::{Inventory, RecordedAs};
use crate::model::{Address, Desired, Kind, SetupKey};
use crate::wire::api::objects::{Event, User};

/// What is known of the inventory.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Standing {
    /// It was read.
    Read,
    /// There is none yet: the first apply makes it.
    First,
    /// It is not known: nothing is said of adopting, and nothing is deleted.
    #[default]
    Unknown,
}

/// What is known of what is ours.
#[derive(Debug, Clone, Default)]
pub struct Ours {
    /// The inventory; an empty one where there is none.
    pub inventory: Arc<Inventory>,
    /// Whether that is it.
    pub standing: Standing,
    /// Ids of objects that the event log proves a run of ours made.
    pub made: BTreeSet<Id>,
    /// Objects in the inventories of other environments of this account, and the file of each.
    pub strange: BTreeMap<Id, String>,
    /// The environment whose inventory cannot be read: what nobody recorded may be its own.
    pub unread: Option<String>,
    /// The objects that a person names for entries, or for names of machines (`--adopt`).
    pub asked: BTreeMap<Address, Id>,
    /// The versions of the file since the last apply.
    pub versions: Versions,
}

impl Ours {
    /// Returns how an object of that entry is recorded. Where it is not known, whatever has its name counts as its own.
    pub fn origin(&self, id: &Id) -> Option<RecordedAs> {
        match self.standing {
            Standing::Unknown => Some(RecordedAs::Created),
            Standing::Read | Standing::First => self.inventory.origin(id),
        }
    }

    /// Returns whether another environment has an object, or may have it.
    pub fn may_be_strange(&self, id: &Id) -> bool {
        let is_open = self.unread.is_some() && self.inventory.origin(id).is_none();
        is_open || self.strange.contains_key(id)
    }

    /// Returns whether the event log proves that a run of ours made an object. What was let go since is managed by nobody.
    pub fn is_made(&self, id: &Id) -> bool {
        self.made.contains(id) && !self.inventory.is_let_go(id)
    }

    /// Returns how an object that an entry adopts is recorded.
    pub fn adopted_as(&self, id: &Id) -> RecordedAs {
        match self.is_made(id) {
            true => RecordedAs::Created,
            false => RecordedAs::Adopted,
        }
    }

    /// Returns the machine that came by a recorded key of the setup key `name`, and what tells so. Of a key that is gone the file alone
    /// says that it was for one machine: this one, or the last one that had its entry.
    pub fn machine_of<'a>(
        &self,
        name: &str,
        key: &Id,
        desired: &Desired,
        actual: &'a Actual,
    ) -> Option<(&'a Id, Evidence)> {
        let has = |file: &Desired| file.setup_key(name).is_some();
        let file = Some(desired).filter(|file| has(file));
        let file = file.or_else(|| self.versions.last_with(has));
        let entry = file.and_then(|file| file.setup_key(name));
        match entry.is_some_and(SetupKey::is_for_one_peer) {
            true => actual.bindings.machine_of(key),
            false => actual.bindings.of_key(key).and_then(Binding::bound),
        }
    }

    /// Returns whether a version since the last apply had the entry of that key. The file of this run may have it or not.
    pub fn was_declared(&self, key: &Address) -> bool {
        self.versions.last_with(|file| file.has(key)).is_some()
    }
}

/// Returns the objects that this service user made, by the event log. What a person made proves nothing: people make objects by
/// hand, too (docs/netbird-api.md, "Events").
pub fn made_by(me: &User, events: &[Event]) -> BTreeSet<Id> {
    let kinds = Kind::ALL.into_iter();
    let deletions = kinds.filter_map(|kind| kind.descriptor().deletion_event);
    let deletions: BTreeSet<&str> = deletions.collect();
    let is_creation = |event: &&Event| {
        let code = &event.activity_code;
        let noun = code.strip_suffix(".add").or(code.strip_suffix(".create"));
        noun.is_some_and(|noun| deletions.contains(format!("{noun}.delete").as_str()))
    };
    let own = events
        .iter()
        .filter(|event| me.is_service_user && event.initiator_id == me.id);
    own.filter(is_creation)
        .map(|event| Id::from(&*event.target_id))
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_service_user_made_what_the_log_says_that_it_created() {
        let made = |is_service_user: bool| -> Vec<String> {
            let me = json!({ "id": "bot", "is_service_user": is_service_user });
            let me: User = serde_json::from_value(me).expect("a user");
            let events = [
                ("policy.add", "bot", "p"),
                ("posture.check.create", "bot", "c"),
                ("policy.add", "mira", "q"),
                ("policy.update", "bot", "r"),
                ("policy.delete", "bot", "s"),
                ("peer.group.add", "bot", "x"),
            ];
            let event = |(code, by, id): (&str, &str, &str)| {
                let event = json!({ "id": "1", "timestamp": "2026-11-30T12:00:00Z", "activity_code": code,
                                    "initiator_id": by, "target_id": id });
                serde_json::from_value(event).expect("an event")
            };
            let events: Vec<Event> = events.into_iter().map(event).collect();
            let made = made_by(&me, &events).into_iter();
            made.map(|id| id.to_string()).collect()
        };
        assert_eq!(made(true), ["c", "p"]);
        assert_eq!(made(false), [""; 0], "people make objects by hand, too");
    }
}
