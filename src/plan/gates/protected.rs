//! The gate of what somebody named as protected (`--protect`): no agreement lifts it.

use std::collections::BTreeSet;

use super::Refusal;
use crate::base::text::{count, joined};
use crate::model::address::Address;
use crate::model::change::{Change, Operation};
use crate::plan::Plan;

/// Whether an object of that name is the one that `--protect` names; of what stands in other objects, in whichever.
fn is_meant(named: &Address, address: &Address) -> bool {
    (named.kind, &named.name) == (address.kind, &address.name)
}

/// Refuses a plan that deletes what is protected, or replaces it: whoever refers to the old object does not know the new one.
pub fn protected(plan: &Plan, protected: &BTreeSet<Address>) -> Option<Refusal> {
    let meant = |change: &&Change| {
        let (Operation::Delete { live } | Operation::Replace { live, .. }) = &change.operation
        else {
            return false;
        };
        // it may get another name by the same plan
        let as_it_is = Address::new(change.address.kind, live.name.clone());
        let mut named = protected.iter();
        named.any(|named| is_meant(named, &change.address) || is_meant(named, &as_it_is))
    };
    let meant: Vec<&Change> = plan.changes.iter().filter(meant).collect();
    let replaced = meant.iter().filter(|of| of.deleted().is_none()).count();
    let deleted = meant.len() - replaced;
    let told = [("deletes", deleted), ("replaces", replaced)].into_iter();
    let told = told.filter(|(_, number)| *number > 0);
    let told = told.map(|(verb, number)| {
        let objects = count(number, "protected object", "protected objects");
        format!("{verb} {objects}")
    });
    let text = format!("this plan {}", joined(told, " and "));
    let names = meant.iter().map(|change| change.address.to_string());
    let hint = "put it back into the file as it was; if it is meant to go, take it out of --protect \
                (NETBIRD_GITOPS_PROTECT) for this run: no agreement lifts that";
    let refusal = || Refusal::new("protected", text, names.collect(), hint);
    (!meant.is_empty()).then(refusal)
}
