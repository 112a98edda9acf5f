//! Desired state in canonical form: names of members become ids, and each setup key becomes what its life cycle asks for.

use std::collections::{BTreeMap, BTreeSet};

use super::Plan;
use super::twins::Twins;
use crate::actual::Actual;
use crate::address::Address;
use crate::change::{Change, Operation};
use crate::code::Code;
use crate::desired::Desired;
use crate::enrollment::{self, Enrollment};
use crate::id::Id;
use crate::keys::{Decisions, Whose};
use crate::kind::{self, FieldChange, Kind, Live, Resource};
use crate::members::{self, Known};
use crate::notice::Notice;
use crate::options::Options;
use crate::options::Prune;
use crate::problem::Problem;
use crate::reason::{Guess, Reason};
use crate::scope;
use crate::wire;

/// Returns the names of all groups that the file refers to.
pub(super) fn references(desired: &Desired) -> BTreeSet<String> {
    let auto = desired
        .setup_keys()
        .flat_map(|(_, key)| key.auto_groups.iter().flatten());
    let rest = desired.resources();
    let rest = rest.flat_map(|(_, resource)| resource.references());
    auto.cloned().chain(rest.map(str::to_owned)).collect()
}

/// Returns the declared objects in canonical form, but for setup keys.
pub(super) fn resources(
    known: Known,
    enrolled: &[Enrollment],
    twins: &Twins,
    plan: &mut Plan,
) -> BTreeMap<Address, Resource> {
    let Known {
        desired, actual, ..
    } = known;
    let resources = desired.resources();
    let mut resources: BTreeMap<Address, Resource> = resources
        .map(|(address, resource)| (address.clone(), resource.clone()))
        .collect();
    for (name, declared) in desired.groups() {
        let address = Address::new(Kind::Group, name);
        let now = match actual.named(Kind::Group, name) {
            [
                Live {
                    resource: Resource::Group(group),
                    ..
                },
            ] => group.peers.clone().unwrap_or_default(),
            _ => twins.members(name, actual),
        };
        // a peer that enrolled goes into its key's groups even where the file leaves their members alone
        let joins = enrolled
            .iter()
            .filter(|enrollment| enrollment.groups.contains(name));
        let joins: BTreeSet<Id> = joins.map(|enrollment| enrollment.peer.clone()).collect();
        let peers = match &declared.peers {
            Some(wanted) => {
                let members = members::resolve(name, wanted, &now, known);
                plan.notices.extend(members.notices);
                if !members.left_alone.is_empty() {
                    plan.foreign_members
                        .insert(name.clone(), members.left_alone);
                }
                if !members.pending.is_empty() {
                    plan.pending_members.insert(name.clone(), members.pending);
                }
                Some(&members.peers | &joins)
            }
            None if joins.is_subset(&now) && !twins.has(name) => None,
            None => Some(&now | &joins),
        };
        resources.insert(address, Resource::Group(kind::Group { peers }));
    }
    resources
}

/// Turns what is decided about the setup keys into changes.
pub(super) fn keys(
    decisions: &Decisions,
    options: &Options,
    plan: &mut Plan,
    problems: &mut Vec<Problem>,
) -> Vec<Change> {
    let mut changes = Vec::new();
    for (name, decision) in decisions {
        let address = Address::new(Kind::SetupKey, name);
        if decision.takes_over && scope::is_new(&options.ledger, &address) {
            let text = format!("{}, whose secret was never sealed here", scope::TAKES_OVER);
            plan.notices
                .push(Notice::about(Code::TakesOver, &address, text));
        }
        plan.notices.extend(decision.notices.iter().cloned());
        if decision.by_name {
            let text = "is taken for this file's by its name alone: no git history says when the file declared it";
            plan.notices
                .push(Notice::about(Code::KeyByName, &address, text));
        }
        if !decision.ambiguous.is_empty() {
            problems.push(scope::ambiguous(&address, &decision.ambiguous));
        }
        if let Some(waiting) = &decision.waiting {
            plan.waiting_keys.insert(waiting.id.clone(), name.clone());
        }
        let change = |operation, reason| Change {
            address: address.clone(),
            operation,
            reason,
        };
        changes.extend(
            decision
                .operation
                .iter()
                .map(|(operation, reason)| change(operation.clone(), reason.clone())),
        );
        let deletion = |live: &Live, reason: Reason| {
            let live = live.clone();
            change(Operation::Delete { live }, Some(reason))
        };
        let deletions = decision.deletions.iter();
        changes.extend(deletions.map(|(live, reason)| deletion(live, reason.clone())));
        for (live, whose) in &decision.unused {
            let ours = options.prune == Prune::All
                || (options.prune == Prune::Owned && *whose == Whose::Ours);
            if ours {
                changes.push(deletion(live, Reason::MarkedEnrolled));
            } else {
                let text = format!(
                    "is marked enrolled, but a valid key of that name that nobody used lives in NetBird ({}): it is \
                     not provably ours, so it stays",
                    live.id
                );
                plan.notices
                    .push(Notice::about(Code::UnusedKey, &address, text));
            }
        }
    }
    changes
}

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
        let after = Resource::Peer(kind::Peer {
            name: enrollment.key.clone(),
        });
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
        Some(Change {
            address: Address::new(Kind::Peer, &enrollment.key),
            operation: Operation::Update {
                live,
                fields,
                after,
            },
            reason: Some(Reason::Enrolled {
                evidence: enrollment.evidence,
                label: label.predicted.then_some(guess),
            }),
        })
    };
    renamed.filter_map(change).collect()
}

/// Pending keys whose peer will not get the DNS label of its name, since another peer has it.
pub(super) fn taken_labels(desired: &Desired, actual: &Actual) -> Vec<Notice> {
    let mut holders: BTreeMap<&str, Vec<&wire::Peer>> = BTreeMap::new();
    for peer in actual.peers.values() {
        let label = enrollment::label_of(&peer.dns_label);
        holders.entry(label).or_default().push(peer);
    }
    let holder = |label: &str, name: &str| {
        let mut peers = holders.get(label).into_iter().flatten();
        peers.find(|peer| peer.name != name)
    };
    let is_waiting = |name: &&String| {
        let used = actual.keys_named(name).any(|key| key.used_times > 0);
        enrollment::is_enrollable(desired, name) && !used
    };
    let notice = |name: &String| {
        let label = enrollment::plain_label(name)?;
        let peer = holder(&label, name)?;
        let text = format!(
            "makes the DNS label {label:?}, which the peer {:?} has: its own peer will have the end of its address behind it",
            peer.name
        );
        Some(Notice::about(
            Code::DnsLabel,
            &Address::new(Kind::SetupKey, name),
            text,
        ))
    };
    let keys = desired.setup_keys().map(|(name, _)| name);
    keys.filter(is_waiting).filter_map(notice).collect()
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
