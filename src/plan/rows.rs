//! What a plan takes away, row by row, and which change of the file is the cause of each.

use crate::account::Actual;
use crate::base::Id;
use crate::git::versions::Versions;
use crate::model::{Address, Cause, Change, Kind, Live, Moved, Operation};
use crate::plan::Ours;
use crate::plan::members::listed_names;

/// What of an object goes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Piece {
    /// All of it.
    Whole,
    /// A member of the group.
    Member(Id),
    /// What machines had by a field: their addresses, or their names.
    Field {
        /// The field.
        field: String,
        /// Its new value, as JSON.
        value: String,
    },
}

/// What a plan takes away: an object, a member that a group loses, or what machines have by a field.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Row {
    /// The object, or the group.
    pub address: Address,
    /// Its id.
    pub object: Id,
    /// What of it.
    pub piece: Piece,
}

impl Row {
    /// The row of an object that goes.
    pub fn object(address: &Address, live: &Live) -> Self {
        Row {
            address: address.clone(),
            object: live.id.clone(),
            piece: Piece::Whole,
        }
    }

    /// Returns the row of each field by which a change moves machines.
    pub fn moved(change: &Change) -> Vec<Row> {
        let Some(live) = change.operation.live() else {
            return Vec::new();
        };
        let row = |moved: &Moved| Row {
            piece: Piece::Field {
                field: moved.field.clone(),
                value: moved.value.clone(),
            },
            ..Row::object(&change.address, live)
        };
        change.moved.iter().map(row).collect()
    }

    /// Returns the rows of a change: none where it takes nothing away.
    pub fn of(change: &Change) -> Vec<Row> {
        let kind = change.address.kind;
        let is_nested = kind.parent().is_some() || kind.children().next().is_some();
        match &change.operation {
            Operation::Delete { live } => vec![Row::object(&change.address, live)],
            // what stood in it is lost for those who used it, until the new one is known everywhere
            Operation::Replace { live, .. } if is_nested => {
                vec![Row::object(&change.address, live)]
            }
            operation => {
                let members = change.removed_members().into_iter();
                let group = operation.live();
                let row = |member| {
                    Some(Row {
                        piece: Piece::Member(member),
                        ..Row::object(&change.address, group?)
                    })
                };
                members.filter_map(row).chain(Row::moved(change)).collect()
            }
        }
    }
}

/// Returns the change of the file that took out the entry of that key, where one since the last apply did.
pub(super) fn removal(key: &str, versions: &Versions) -> Option<Cause> {
    let key = Address::of_key(key)?;
    versions.changed(|file| file.has(&key))
}

/// Returns the change of the file that caused it, where one since the last apply did.
pub(super) fn cause(row: &Row, actual: &Actual, ours: &Ours) -> Option<Cause> {
    let Row {
        address,
        object,
        piece,
    } = row;
    let versions = &ours.versions;
    match piece {
        Piece::Field { field, .. } => versions.changed(|file| {
            let mut all = file.resource(address).iter();
            let one = all.next()?;
            // of two people of an address the entry says which
            let unseen = one.said()[1].take();
            Some((one.fields().get(field).cloned()?, unseen))
        }),
        Piece::Member(member) => {
            let recorded = ours.inventory.member(&address.name, member);
            let names = recorded.into_iter().chain(listed_names(member, actual));
            let causes =
                names.filter_map(|name| versions.changed(|file| file.lists(address, name)));
            causes.max()
        }
        Piece::Whole => {
            let recorded = ours.inventory.entry_of(object);
            let key = recorded.map_or_else(|| address.key(), |(key, _)| key.to_owned());
            let removal = removal(&key, versions);
            removal.or_else(|| changed(address, versions))
        }
    }
}

/// The last change of an entry that is still there: of a key, when it was asked for anew.
fn changed(address: &Address, versions: &Versions) -> Option<Cause> {
    match address.kind {
        Kind::SetupKey => versions.changed(|file| {
            let key = file.setup_key(&address.name);
            key.map(|key| key.reissue_after)
        }),
        _ => versions.changed(|file| file.entries.get(address).cloned()),
    }
}
