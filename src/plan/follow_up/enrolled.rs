//! The names of peers that enrolled: each gets its key's, and NetBird makes its DNS label of it.

use std::collections::BTreeMap;

use crate::account::actual::Actual;
use crate::base::id::Id;
use crate::model::address::Address;
use crate::model::change::{Change, Operation};
use crate::model::kind::{self, FieldChange, Kind, Resource};
use crate::model::reason::{Guess, Reason};
use crate::plan::enrollment::{self, Enrollment};

/// Peers that enrolled under another name get their key's.
pub fn peer_renames(enrolled: &[Enrollment], actual: &Actual) -> Vec<Change> {
    let labels = enrollment::relabelled(enrolled, actual);
    let renamed = enrolled
        .iter()
        .filter(|enrollment| enrollment.renamed_from.is_some());
    let change = |enrollment: &Enrollment| {
        let peer = actual.peers.get(&enrollment.peer)?;
        let label = labels.get(&enrollment.peer)?;
        let live = actual.live_peer(peer);
        let after = Resource::Peer(kind::Peer::named(&enrollment.key));
        let mut fields = kind::differences(&after, &live.resource);
        fields.push(FieldChange {
            field: DNS_LABEL.into(),
            before: label.before.clone().into(),
            after: label.after.clone().into(),
        });
        let guess = match label.after {
            Some(_) => Guess::Predicted,
            None => Guess::Punycode,
        };
        let operation = Operation::Update {
            live,
            fields,
            after,
        };
        let why = Reason::Enrolled {
            evidence: enrollment.evidence,
            label: label.predicted.then_some(guess),
        };
        let address = Address::new(Kind::Peer, &enrollment.key);
        Some(Change::new(address, operation, why))
    };
    renamed.filter_map(change).collect()
}

/// The field of a rename that says what becomes of the peer's DNS label.
pub const DNS_LABEL: &str = "dns_label";

/// Puts the labels that the server answered in the place of what was predicted.
pub fn answered_labels(changes: &mut [Change], labels: &BTreeMap<Id, String>) {
    for change in changes {
        let Operation::Update { live, fields, .. } = &mut change.operation else {
            continue;
        };
        let field = fields.iter_mut().find(|field| field.field == DNS_LABEL);
        if let (Some(label), Some(field)) = (labels.get(&live.id), field) {
            field.after = label.clone().into();
            if let Some(Reason::Enrolled { label, .. }) = &mut change.reason {
                *label = None;
            }
        }
    }
}
