//! DNS labels of peers: what the server makes of a name (docs/netbird-api.md, "DNS labels of peers"). It decides alone,
//! so all that is said before it answered is a prediction, but for a name that is its own label.

use std::collections::{BTreeMap, BTreeSet};

use super::Enrollment;
use crate::account::actual::Actual;
use crate::base::id::Id;
use crate::model::label::{label_of, plain_label};
use crate::wire::api::objects::Peer;

/// What a rename makes of a peer's DNS label, both without the account's domain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Relabelled {
    /// The label that it has.
    pub before: String,
    /// The label that it gets, as far as that can be told.
    pub after: Option<String>,
    /// Whether the server may decide otherwise: the name itself is no label, or another peer has it.
    pub predicted: bool,
}

/// Returns what the renames of these enrollments make of the labels, by peer. The renames are made in the order of their
/// keys' names, each with the labels that the one before it left; peers that they replace are gone by then.
pub fn relabelled(enrollments: &[Enrollment], actual: &Actual) -> BTreeMap<Id, Relabelled> {
    let mut renamed: Vec<&Enrollment> = enrollments
        .iter()
        .filter(|enrollment| enrollment.renamed_from.is_some())
        .collect();
    if renamed.is_empty() {
        return BTreeMap::new();
    }
    renamed.sort_by_key(|enrollment| &enrollment.key);
    let goes = |id: &Id| renamed.iter().any(|at| at.replaces.contains(id));
    let peers = actual.peers.iter().filter(|peer| !goes(&peer.id));
    let mut labels: BTreeMap<&Id, String> = peers
        .map(|peer| (&peer.id, label_of(&peer.dns_label).to_owned()))
        .collect();
    let mut relabelled = BTreeMap::new();
    for enrollment in renamed {
        let Some(peer) = actual.peers.get(&enrollment.peer) else {
            continue;
        };
        let taken: BTreeSet<&str> = labels.values().map(String::as_str).collect();
        let after = plain_label(&enrollment.key).map(|label| free(label, peer, &taken));
        let before = label_of(&peer.dns_label).to_owned();
        labels.insert(&peer.id, after.clone().unwrap_or_default());
        let told = Relabelled {
            before,
            predicted: after.as_ref() != Some(&enrollment.key),
            after,
        };
        relabelled.insert(peer.id.clone(), told);
    }
    relabelled
}

/// A label that a peer has already, be it the same one, gets the end of the address behind it.
fn free(label: String, peer: &Peer, taken: &BTreeSet<&str>) -> String {
    if !taken.contains(label.as_str()) {
        return label;
    }
    let end: Vec<&str> = peer.ip.split('.').skip(2).collect();
    format!("{label}-{}", end.join("-"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::base::evidence::Evidence;
    use crate::model::kind::Kind;
    use crate::testing::{Case, id, over, peer};

    /// Renames of peers (name, label, key), and what is said of each.
    fn said(renames: &[(&str, &str, &str)]) -> Vec<String> {
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
        let labels = relabelled(&enrollments, &actual);
        let line = |(name, _, _): &(&str, &str, &str)| {
            let told = &labels[&Id(id(Kind::Peer, name).into())];
            let mark = if told.predicted { "?" } else { "" };
            let after = told.after.as_deref().unwrap_or("-");
            format!("{} {after}{mark}", told.before)
        };
        renames.iter().map(line).collect()
    }

    #[test]
    fn each_rename_meets_the_labels_that_the_one_before_it_left() {
        // of two names that differ by case the second gets a suffix
        assert_eq!(
            said(&[("h1", "h1", "F2-Cam"), ("h2", "h2", "f2-cam")]),
            ["h1 f2-cam?", "h2 f2-cam-14-7?"]
        );
        // the label that a rename gave up is free
        assert_eq!(said(&[("b", "b", "a"), ("h2", "h2", "b")]), ["b a", "h2 b"]);
        // a peer is in its own way
        assert_eq!(said(&[("Web 1", "web-1", "web-1")]), ["web-1 web-1-14-7?"]);
        assert_eq!(said(&[("h1", "h1", "ü")]), ["h1 -?"]);
    }
}
