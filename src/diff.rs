//! Desired × actual → changes. Knows no kind and no policy; what is to be deleted is scope's word.

use std::collections::BTreeMap;

use crate::address::Address;
use crate::change::{Change, Operation};
use crate::kind::{Live, Resource, differences};

/// Returns what makes `actual` as `desired`, in the order of addresses. Of equal sides: nothing.
pub fn diff(
    desired: &BTreeMap<Address, Resource>,
    actual: &BTreeMap<Address, Live>,
) -> Vec<Change> {
    let change = |(address, after): (&Address, &Resource)| {
        let after = after.clone();
        let operation = match actual.get(address) {
            None => Operation::Create { after },
            Some(live) => {
                let fields = differences(&after, &live.resource);
                if fields.is_empty() {
                    return None;
                }
                Operation::Update {
                    live: live.clone(),
                    fields,
                    after,
                }
            }
        };
        Some(Change {
            address: address.clone(),
            operation,
            reason: None,
        })
    };
    desired.iter().filter_map(change).collect()
}
