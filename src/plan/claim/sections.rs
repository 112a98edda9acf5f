//! Sections that the file had and no longer has: nothing of them is managed any more, and what lives of them stays.

use std::collections::BTreeSet;

use crate::address::Address;
use crate::kind::Kind;
use crate::notice::Gone;
use crate::plan::Given;

/// Returns the sections that the history had and the file has not: those of which something lives, and those that go just
/// now.
pub(super) fn gone(given: Given) -> Vec<Gone> {
    let (desired, actual) = (given.desired, given.actual);
    let ledger = &given.options.ledger;
    let kinds = Kind::sections().filter(|kind| !desired.manages(*kind));
    let sections = kinds.map(|kind| (kind, None, ledger.has_section(kind)));
    let entries = desired.entries.keys();
    let nested = entries.flat_map(|parent| {
        let kinds = parent.kind.children();
        let kinds = kinds.filter(|kind| !desired.manages_in(*kind, Some(&parent.name)));
        let section = |kind| {
            (
                kind,
                Some(parent.clone()),
                ledger.has_section_in(kind, parent),
            )
        };
        kinds.map(section)
    });
    let section = |(kind, within, has): (Kind, Option<Address>, Option<bool>)| {
        let is_new = has?;
        let name = within.as_ref().map(|at| &at.name);
        let of_kind = actual.objects.iter();
        let of_kind = of_kind.filter(|(at, _)| at.kind == kind && at.within.as_ref() == name);
        let left = of_kind.filter(|(address, all)| {
            let declared = ledger.is_declared(address);
            all.iter().any(|live| {
                // a dead key opens nothing
                let is_dead = actual.keys.get(&live.id).is_some_and(|key| !key.valid);
                let is_protected = actual.protected_groups.contains_key(&live.id);
                !is_dead && !is_protected && (declared || given.made(address, live))
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
