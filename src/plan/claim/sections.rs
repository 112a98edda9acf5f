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
    let kinds = Kind::ALL.into_iter().filter(|kind| !desired.manages(*kind));
    let section = |kind| {
        let is_new = ledger.has_section(kind)?;
        let of_kind = actual
            .objects
            .iter()
            .filter(|(address, _)| address.kind == kind);
        let left = of_kind.filter(|(address, all)| {
            let was_ours = |created| ledger.proof(kind, &address.name, created) == Proof::Ours;
            let declared = ledger.is_declared(kind, &address.name);
            all.iter().any(|live| {
                // a dead key opens nothing
                let is_dead = actual.keys.get(&live.id).is_some_and(|key| !key.valid);
                let is_protected = actual.protected_groups.contains_key(&live.id);
                !is_dead && !is_protected && (declared || was_ours(live.id.created_at()))
            })
        });
        let left: BTreeSet<Address> = left.map(|(address, _)| address.clone()).collect();
        (is_new || !left.is_empty()).then_some(Gone { kind, left, is_new })
    };
    kinds.filter_map(section).collect()
}
