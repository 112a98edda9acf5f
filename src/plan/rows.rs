//! What a plan takes away, row by row, and which change of the file is the cause of each.

use crate::actual::Actual;
use crate::address::Address;
use crate::change::{Change, Operation};
use crate::id::Id;
use crate::kind::{Kind, Live};
use crate::ledger::{Cause, Ledger};
use crate::members::listed_names;

/// An object that goes, or a member that a group loses.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Row {
    /// The object, or the group.
    pub address: Address,
    /// Its id.
    pub object: Id,
    /// The member.
    pub member: Option<Id>,
}

impl Row {
    /// The row of an object that goes.
    pub fn object(address: &Address, live: &Live) -> Self {
        Row {
            address: address.clone(),
            object: live.id.clone(),
            member: None,
        }
    }

    /// Returns the rows of a change: none where it takes nothing away.
    pub fn of(change: &Change) -> Vec<Row> {
        match &change.operation {
            Operation::Delete { live } => vec![Row::object(&change.address, live)],
            operation => {
                let members = change.removed_members().into_iter();
                let group = operation.live();
                let row = |member| {
                    Some(Row {
                        member: Some(member),
                        ..Row::object(&change.address, group?)
                    })
                };
                members.filter_map(row).collect()
            }
        }
    }
}

/// Returns the change of the file that caused it.
pub(super) fn cause(row: &Row, actual: &Actual, ledger: &Ledger) -> Option<Cause> {
    let Address { kind, name } = &row.address;
    match &row.member {
        Some(member) => listed_names(member, actual)
            .filter_map(|listed| ledger.member_removal(name, listed))
            .max(),
        None => ledger
            .removal(*kind, name)
            .or_else(|| reissued(row, ledger)),
    }
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
