//! What a plan is made of: an object and the operation on it, as data.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::base::{Id, joined, listed};
use crate::model::kind::words::value;
use crate::model::{Address, FieldChange, Kind, Live, Moved, Reason, Resource, differences};

/// What happens to one object.
#[derive(Debug, Clone, PartialEq)]
pub enum Operation {
    /// It is made.
    Create {
        /// What is made.
        after: Resource,
    },
    /// It is changed in place.
    Update {
        /// As it is.
        live: Live,
        /// What differs.
        fields: Vec<FieldChange>,
        /// As it will be; what is `None` there stays.
        after: Resource,
    },
    /// A new one is made, then the old one goes: what differs cannot be changed in place.
    Replace {
        /// The old one.
        live: Live,
        /// What differs.
        fields: Vec<FieldChange>,
        /// What is made.
        after: Resource,
    },
    /// It goes.
    Delete {
        /// As it is.
        live: Live,
    },
}

impl Operation {
    /// The verb of operation types in JSON, as in `create_group`; a peer's update is a rename.
    pub fn word(&self) -> &'static str {
        match self {
            Operation::Create { .. } => "create",
            Operation::Update {
                after: Resource::Peer(peer),
                ..
            } if peer.name.is_some() => "rename",
            Operation::Update { .. } => "update",
            Operation::Replace { .. } => "replace",
            Operation::Delete { .. } => "delete",
        }
    }

    /// The object as it is, if there is one.
    pub fn live(&self) -> Option<&Live> {
        self.parts().0
    }

    /// The fields that differ; empty for creations and deletions.
    pub fn fields(&self) -> &[FieldChange] {
        self.parts().1
    }

    /// The object as it will be, unless it goes.
    pub fn after(&self) -> Option<&Resource> {
        self.parts().2
    }

    fn parts(&self) -> (Option<&Live>, &[FieldChange], Option<&Resource>) {
        use Operation::{Create, Delete, Replace, Update};
        match self {
            Create { after } => (None, &[], Some(after)),
            Update {
                live,
                fields,
                after,
            }
            | Replace {
                live,
                fields,
                after,
            } => (Some(live), fields, Some(after)),
            Delete { live } => (Some(live), &[], None),
        }
    }

    /// Returns the object as it will be, with what the file does not say as it is; nothing where it goes.
    pub fn outcome(&self) -> Option<Resource> {
        let after = self.after()?;
        let live = self.live();
        Some(live.map_or_else(|| after.clone(), |live| after.over(&live.resource)))
    }

    /// Returns what makes a live object so, with its new name or place, if it gets one; nothing where it is so.
    pub fn update(
        live: &Live,
        after: &Resource,
        place: impl IntoIterator<Item = FieldChange>,
    ) -> Option<Self> {
        let differences = differences(after, &live.resource);
        let fields: Vec<FieldChange> = place.into_iter().chain(differences).collect();
        (!fields.is_empty()).then(|| Operation::Update {
            live: live.clone(),
            fields,
            after: after.clone(),
        })
    }
}

/// One object and the operation on it.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// Which object.
    pub address: Address,
    /// What happens to it.
    pub operation: Operation,
    /// Why, where the fields do not say it.
    pub reason: Option<Reason>,
    /// Machines that get another address or name by it.
    pub moved: Vec<Moved>,
    /// The name that the object keeps, since another one has its entry's.
    pub kept_name: Option<String>,
}

impl Change {
    /// This operation on that object; why, where its fields do not say it.
    pub fn new(address: Address, operation: Operation, why: impl Into<Option<Reason>>) -> Self {
        Change {
            address,
            operation,
            reason: why.into(),
            moved: Vec::new(),
            kept_name: None,
        }
    }

    /// Returns why it is, in words; nothing where its fields say it.
    pub fn why(&self) -> String {
        let why = self.reason.as_ref();
        why.map_or_else(String::new, |why| why.words(&self.address.name))
    }

    /// The name that the object has once it is carried out.
    pub fn name(&self) -> &str {
        self.kept_name.as_ref().unwrap_or(&self.address.name)
    }

    /// The object goes.
    pub fn deletion(address: &Address, live: &Live, why: impl Into<Option<Reason>>) -> Self {
        let live = live.clone();
        Change::new(address.clone(), Operation::Delete { live }, why)
    }

    /// Returns whether it is about the live object of that id.
    pub fn is_about(&self, id: &Id) -> bool {
        self.operation.live().is_some_and(|live| live.id == *id)
    }

    /// Returns whether the live object of that id goes by it, or is replaced.
    pub fn ends(&self, id: &Id) -> bool {
        self.is_about(id) && !matches!(self.operation, Operation::Update { .. })
    }

    /// Returns whether it gives a machine another name.
    pub fn renames_peer(&self) -> bool {
        matches!(self.operation.after(), Some(Resource::Peer(peer)) if peer.name.is_some())
    }

    /// The fields that its line does not tell: that of a machine that is renamed tells the names.
    pub fn told_fields(&self) -> impl Iterator<Item = &FieldChange> {
        let of_file = self.renames_peer().then(|| self.address.kind.field_names());
        let is_told = move |field: &str| of_file.as_ref().is_none_or(|of| of.contains(&field));
        let fields = self.operation.fields().iter();
        fields.filter(move |change| is_told(&change.field))
    }

    /// Returns whether it makes a setup key, whose secret has to be sealed.
    pub fn makes_key(&self) -> bool {
        use Operation::{Create, Replace};
        let makes = matches!(self.operation, Create { .. } | Replace { .. });
        self.address.kind == Kind::SetupKey && makes
    }

    /// The object that goes by it, with none in its place.
    pub fn deleted(&self) -> Option<&Live> {
        match &self.operation {
            Operation::Delete { live } => Some(live),
            _ => None,
        }
    }

    /// Returns whether the file says of the key itself who opens it.
    pub fn names_recipients(&self) -> bool {
        matches!(self.operation.after(), Some(Resource::SetupKey(key)) if !key.sealed_for.keys.is_empty())
    }

    /// Members that a group loses by it.
    pub fn removed_members(&self) -> Vec<Id> {
        match self.members() {
            (Some(before), Some(after)) => before.difference(after).cloned().collect(),
            _ => Vec::new(),
        }
    }

    /// Members that a group gains by it.
    pub fn added_members(&self) -> Vec<Id> {
        let (before, after) = self.members();
        let is_new = |id: &&Id| !before.is_some_and(|before| before.contains(*id));
        let after = after.into_iter().flatten();
        after.filter(is_new).cloned().collect()
    }

    /// The members of a group before and after it, where it says which.
    fn members(&self) -> (Option<&BTreeSet<Id>>, Option<&BTreeSet<Id>>) {
        let before = self.operation.live().map(|live| &live.resource);
        let both = [before, self.operation.after()];
        both.map(|it| it.and_then(Resource::members)).into()
    }
}

/// Returns the entries of two lists that only one of them has: (gone, new). `None` where what both have stands in another
/// order, which means something then: sets are written in one order.
pub fn list_changes<'a>(
    before: &'a Value,
    after: &'a Value,
) -> Option<(Vec<&'a Value>, Vec<&'a Value>)> {
    let (before, after) = (before.as_array()?, after.as_array()?);
    let (kept, gone): (Vec<_>, Vec<_>) = before.iter().partition(|entry| after.contains(entry));
    let (stayed, new): (Vec<_>, Vec<_>) = after.iter().partition(|entry| before.contains(entry));
    (kept == stayed).then_some((gone, new))
}

/// Most characters of a free text in a line.
const MOST_TEXT: usize = 80;

impl FieldChange {
    /// Returns what differs: `all → tcp`. Of lists with something in common: what goes, all of it, and what comes.
    pub fn words(&self) -> String {
        let value = |entry: &Value| cut(&value(&self.field, entry));
        if let Some((gone, new)) = list_changes(&self.before, &self.after) {
            let total = self.after.as_array().map_or(0, Vec::len);
            let same = total - new.len();
            if same > 0 {
                let went = gone.iter().map(|entry| format!("-{}", value(entry)));
                let came = new.iter().map(|entry| format!("+{}", value(entry)));
                let came = (!new.is_empty()).then(|| listed(came));
                let moved = joined(went.chain(came), ", ");
                return format!("{moved} ({same} unchanged)");
            }
        }
        format!("{} → {}", value(&self.before), value(&self.after))
    }

    /// Returns the same behind the field's name.
    pub fn named(&self) -> String {
        format!("{} {}", self.label(), self.words())
    }

    /// Returns the field's name for people.
    pub fn label(&self) -> String {
        self.field.replace('_', " ")
    }
}

/// Returns the text, or its beginning.
fn cut(text: &str) -> String {
    match text.char_indices().nth(MOST_TEXT) {
        Some((end, _)) if text.starts_with('"') => format!("{}…\"", &text[..end]),
        _ => text.to_owned(),
    }
}
