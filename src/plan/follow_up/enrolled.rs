//! The names of peers that enrolled: each gets its key's, and NetBird makes its DNS label of it (docs/netbird-api.md, "DNS labels
//! of peers"). The server decides alone, so all that is said before it answered is a prediction, but for a name that is its own
//! label.

use std::collections::BTreeMap;

use crate::account::Actual;
use crate::base::Id;
use crate::model::{
    Address, Change, FieldChange, Guess, Kind, Operation, Reason, Resource, kind, label_of,
    plain_label,
};
use crate::plan::Enrollment;
use crate::wire::api::objects::Peer;

/// Returns the renames of peers that enrolled under another name, in the order of their keys' names. Each meets the DNS labels that
/// the one before it left, and the peers that they replace are gone by then.
pub fn peer_renames(enrolled: &[Enrollment], actual: &Actual) -> Vec<Change> {
    let renamed = enrolled.iter().filter(|of| of.renamed_from.is_some());
    let renamed: Vec<&Enrollment> = renamed.collect();
    if renamed.is_empty() {
        return Vec::new();
    }
    let goes = |peer: &&Peer| renamed.iter().any(|of| of.replaces.contains(&peer.id));
    let peers = actual.peers.iter().filter(|peer| !goes(peer));
    let labels = peers.map(|peer| (&peer.id, label_of(&peer.dns_label).to_owned()));
    let mut labels: BTreeMap<&Id, String> = labels.collect();
    let rename = |of: &&Enrollment| {
        let peer = actual.peers.get(&of.peer)?;
        let is_taken = |label: &String| labels.values().any(|other| other == label);
        let label = plain_label(&of.key).map(|label| match is_taken(&label) {
            false => label,
            // also where the peer itself has it already
            true => {
                let parts = peer.ip.split('.').skip(2);
                parts.fold(label, |label, part| format!("{label}-{part}"))
            }
        });
        labels.insert(&peer.id, label.clone().unwrap_or_default());
        let guess = match &label {
            Some(label) if *label == of.key => None,
            Some(_) => Some(Guess::Predicted),
            None => Some(Guess::Punycode),
        };
        let live = actual.live_peer(peer);
        let after = Resource::Peer(kind::Peer::named(&of.key));
        let mut fields = kind::differences(&after, &live.resource);
        fields.push(FieldChange {
            field: DNS_LABEL.into(),
            before: label_of(&peer.dns_label).into(),
            after: label.into(),
        });
        let operation = Operation::Update {
            live,
            fields,
            after,
        };
        let why = Reason::Enrolled {
            evidence: of.evidence,
            label: guess,
        };
        let address = Address::new(Kind::Peer, &of.key);
        Some(Change::new(address, operation, why))
    };
    renamed.iter().filter_map(rename).collect()
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::json;

    use super::*;
    use crate::base::Evidence;
    use crate::testing::{Case, id, over, peer};

    /// The renames of these peers (name, label, key).
    fn changes(renames: &[(&str, &str, &str)]) -> Vec<Change> {
        let of = |(name, label, _): &(&str, &str, &str)| {
            let fqdn = format!("{label}.netbird.selfhosted");
            over(peer(name), json!({ "dns_label": fqdn }))
        };
        let peers: Vec<_> = renames.iter().map(of).collect();
        let actual =
            Case::new(json!({ "groups": { "g": {} } }), json!({ "peers": peers })).actual();
        let enrollment = |(name, _, key): &(&str, &str, &str)| Enrollment {
            key: (*key).to_owned(),
            peer: Id(id(Kind::Peer, name).into()),
            evidence: Evidence::Event,
            replaces: BTreeSet::new(),
            renamed_from: (name != key).then(|| (*name).to_owned()),
            groups: BTreeSet::new(),
        };
        let enrollments: Vec<Enrollment> = renames.iter().map(enrollment).collect();
        peer_renames(&enrollments, &actual)
    }

    /// What is said of the label of each.
    fn said(changes: &[Change]) -> Vec<String> {
        let line = |change: &Change| {
            let label = change.operation.fields().last().expect("a label");
            let is_sure = matches!(change.reason, Some(Reason::Enrolled { label: None, .. }));
            let mark = if is_sure { "" } else { "?" };
            let text = |value: &serde_json::Value| value.as_str().unwrap_or("-").to_owned();
            format!("{} {}{mark}", text(&label.before), text(&label.after))
        };
        changes.iter().map(line).collect()
    }

    #[test]
    fn each_rename_meets_the_labels_that_the_one_before_it_left() {
        // of two names that differ by case the second gets a suffix
        assert_eq!(
            said(&changes(&[("h1", "h1", "F2-Cam"), ("h2", "h2", "f2-cam")])),
            ["h1 f2-cam?", "h2 f2-cam-14-7?"]
        );
        // the label that a rename gave up is free
        assert_eq!(
            said(&changes(&[("b", "b", "a"), ("h2", "h2", "b")])),
            ["b a", "h2 b"]
        );
        // a peer is in its own way
        assert_eq!(
            said(&changes(&[("Web 1", "web-1", "web-1")])),
            ["web-1 web-1-14-7?"]
        );
        assert_eq!(said(&changes(&[("h1", "h1", "ü")])), ["h1 -?"]);
    }

    #[test]
    fn the_label_that_the_server_answered_is_the_one_that_is_told() {
        let mut changes = changes(&[("h1", "h1", "F2-Cam"), ("h2", "h2", "ü")]);
        let of = |peer: &str, label: &str| (Id(id(Kind::Peer, peer).into()), label.to_owned());
        let name = changes[0].operation.fields()[0].clone();
        answered_labels(
            &mut changes,
            &[of("h1", "f2-cam-1"), of("other", "x")].into(),
        );
        assert_eq!(said(&changes), ["h1 f2-cam-1", "h2 -?"]);
        assert_eq!(changes[0].operation.fields()[0], name);
    }
}
