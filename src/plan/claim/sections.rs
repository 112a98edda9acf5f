//! Sections that the file had and no longer has: nothing of them is managed any more, and what lives of them stays.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::{Address, Gone, Kind};
use crate::plan::Given;

/// Returns the sections of which something recorded lives and that the file has not, and those that go just now.
pub(super) fn gone(given: Given) -> Vec<Gone> {
    let (desired, actual, binding, options) = given.parts();
    let mut gone: BTreeMap<(Kind, Option<Address>), BTreeSet<Address>> = BTreeMap::new();
    for (address, live) in actual.each() {
        // a dead key opens nothing
        let is_dead = actual.is_dead_key(live);
        let left = binding
            .leaving
            .get(&live.id)
            .filter(|left| !left.is_managed);
        if left.is_some() && !is_dead {
            let section = gone.entry((address.kind, address.parent())).or_default();
            section.insert(address.clone());
        }
    }
    let base = options.ours.versions.base();
    let had = base.into_iter().flat_map(|base| &base.sections);
    let lost = had.filter(|section| !desired.sections.contains(*section));
    let lost = lost.filter_map(|(kind, within)| {
        let parent = within.as_ref().and_then(|name| {
            let parent = Address::new(kind.parent()?, name);
            desired.declares(&parent).then_some(parent)
        });
        (parent.is_some() || within.is_none()).then_some((*kind, parent))
    });
    let lost: BTreeSet<(Kind, Option<Address>)> = lost.collect();
    for section in &lost {
        gone.entry(section.clone()).or_default();
    }
    let section = |((kind, within), left): ((Kind, Option<Address>), BTreeSet<Address>)| Gone {
        is_new: lost.contains(&(kind, within.clone())),
        kind,
        within,
        left,
    };
    gone.into_iter().map(section).collect()
}
