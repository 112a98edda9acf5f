//! Sections that the file had and no longer has: nothing of them is managed any more, and what lives of them stays.

use std::collections::BTreeSet;

use crate::actual::Actual;
use crate::address::Address;
use crate::desired::Desired;
use crate::kind::Kind;
use crate::ledger::{Ledger, Proof};
use crate::notice::Gone;

/// Returns the sections that the history had and the file has not: those of which something lives, and those that go just
/// now.
pub fn gone(desired: &Desired, actual: &Actual, ledger: &Ledger) -> Vec<Gone> {
    let kinds = Kind::sections().filter(|kind| !desired.manages(*kind));
    let sections = kinds.map(|kind| (kind, None, ledger.has_section(kind)));
    let entries = desired.entries.keys();
    let nested = entries.flat_map(|parent| {
        let kinds = parent.kind.children();
        let kinds = kinds.filter(|kind| !desired.manages_in(*kind, Some(&parent.name)));
        kinds.map(|kind| {
            (
                kind,
                Some(parent.clone()),
                ledger.has_section_in(kind, parent),
            )
        })
    });
    let section = |(kind, within, has): (Kind, Option<Address>, Option<bool>)| {
        let is_new = has?;
        let name = within.as_ref().map(|at| &at.name);
        let of_kind = actual.objects.iter();
        let of_kind = of_kind.filter(|(at, _)| at.kind == kind && at.within.as_ref() == name);
        let left = of_kind.filter(|(address, all)| {
            let was_ours = |created| ledger.proof(address, created) == Proof::Ours;
            let declared = ledger.is_declared(address);
            all.iter().any(|live| {
                // a dead key opens nothing
                let is_dead = actual.keys.get(&live.id).is_some_and(|key| !key.valid);
                let is_protected = actual.protected_groups.contains_key(&live.id);
                !is_dead && !is_protected && (declared || was_ours(live.id.created_at()))
            })
        });
        let left: BTreeSet<Address> = left.map(|(address, _)| address.clone()).collect();
        (is_new || !left.is_empty()).then_some(Gone {
            kind,
            within,
            left,
            is_new,
        })
    };
    sections.chain(nested).filter_map(section).collect()
}
