//! What a plan takes away, row by row, and which change of the file is the cause of each.

use crate::actual::Actual;
use crate::address::Address;
use crate::change::{Change, Operation};
use crate::id::Id;
use crate::kind::{Kind, Live, Moved};
use crate::ledger::{Cause, Ledger};
use crate::members::{listed_names, names_of};

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

/// Returns the change of the file that caused it.
pub(super) fn cause(row: &Row, actual: &Actual, ledger: &Ledger) -> Option<Cause> {
    if let Piece::Field { field, .. } = &row.piece {
        return ledger.setting(&row.address, field);
    }
    if let Piece::Member(member) = &row.piece {
        return listed_names(member, actual)
            .filter_map(|listed| ledger.member_removal(&row.address.name, listed))
            .max();
    }
    let kind = row.address.kind;
    let removal = kind.goes_with_entry().then(|| ledger.removal(&row.address));
    removal
        .flatten()
        .or_else(|| reissued(row, ledger))
        .or_else(|| untied(row, actual, ledger))
}

/// The change that took out of an entry what this object stood for: the entry itself is still there.
fn untied(row: &Row, actual: &Actual, ledger: &Ledger) -> Option<Cause> {
    let mut namesakes = actual.at(&row.address).iter();
    let live = namesakes.find(|live| live.id == row.object)?;
    let ties = live.resource.form().ties.into_iter();
    let is_several = row.address.kind.descriptor().special.is_several;
    let lost = ties.filter(|tie| tie.end.is_lost() || is_several);
    let written = lost.flat_map(|tie| tie.as_written(|peer| names_of(peer, actual)));
    let removals = written.filter_map(|tie| ledger.tie_removal(&row.address, &tie));
    removals.max()
}

/// The change that asked for a new key in the place of this one.
fn reissued(row: &Row, ledger: &Ledger) -> Option<Cause> {
    if row.address.kind != Kind::SetupKey {
        return None;
    }
    let (instant, cause) = ledger.reissue(&row.address.name)?;
    let is_older = |made: i64| made < instant.as_second();
    row.object
        .created_at()
        .is_some_and(is_older)
        .then_some(cause)
}
