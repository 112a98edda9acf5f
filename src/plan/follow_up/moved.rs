//! Machines that a setting gives another address, or another name.

use std::collections::BTreeSet;

use crate::account::Actual;
use crate::base::Id;
use crate::model::{Change, Moved, Moves, label_of};
use crate::plan::later::later;
use crate::wire::api::objects::Peer;

/// Notes at each change the machines that it moves. A setting that moves nobody is like any other.
pub(super) fn machines(changes: &mut [Change], actual: &Actual) {
    for at in 0..changes.len() {
        let kind = changes[at].address.kind;
        let fields = changes[at].operation.fields().iter();
        let moved = fields.filter_map(|change| {
            let what = kind.moves(&change.field)?;
            let names = |value: &serde_json::Value| -> BTreeSet<String> {
                let names = value.as_array().into_iter().flatten();
                let names = names.filter_map(|name| name.as_str());
                names.map(str::to_owned).collect()
            };
            let machines = match what {
                Moves::Names => {
                    let domain = change.after.as_str().unwrap_or_default();
                    number(actual, |peer| !is_in(domain, peer))
                }
                Moves::Addresses => number(actual, |_| true),
                Moves::AddressesV6 => number(actual, |peer| !peer.ipv6.is_empty()),
                Moves::Role => 1,
                Moves::Unblocked => usize::from(change.after == false),
                Moves::HavingV6 => {
                    let after = members(&names(&change.after), changes, actual);
                    number(actual, |peer| {
                        peer.ipv6.is_empty() == after.contains(&peer.id)
                    })
                }
            };
            (machines > 0).then(|| Moved {
                field: change.field.clone(),
                value: change.after.to_string(),
                what,
                machines,
            })
        });
        changes[at].moved = moved.collect();
    }
}

/// The number of peers that are so.
fn number(actual: &Actual, is_so: impl Fn(&Peer) -> bool) -> usize {
    actual.peers.iter().filter(|peer| is_so(peer)).count()
}

/// Whether a peer's name is in that domain already. What NetBird's own domain is, nothing tells but the names in it.
fn is_in(domain: &str, peer: &Peer) -> bool {
    let label = label_of(&peer.dns_label);
    let has = peer.dns_label[label.len()..].trim_start_matches('.');
    has.eq_ignore_ascii_case(domain)
}

/// The members that groups of these names have once the changes are carried out.
fn members(groups: &BTreeSet<String>, changes: &[Change], actual: &Actual) -> BTreeSet<Id> {
    let meant = later(changes, actual).filter(|(at, ..)| groups.contains(&at.name));
    let members = meant.filter_map(|(_, _, then)| then.members().cloned());
    members.flatten().collect()
}
