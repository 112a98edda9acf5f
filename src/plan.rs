//! The plan: what an apply would do, in order, checked to be possible before the first write.
//!
//! `plan` names the stages; each is a function of plain values. Whatever is impossible is a `Problem`, and all of them
//! are found; whatever a reader should know is a `Notice`.

mod order;
mod possible;

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::actual::Actual;
use crate::change::{Change, Notice, Operation};
use crate::desired::Desired;
use crate::diff::diff;
use crate::keys;
use crate::members::{self, Listings};
use crate::resource::{self, Live, Resource};
use crate::scope::{self, Prune};
use crate::state::{Address, Id, Kind};

pub use order::{Part, Step};

/// What was asked for beside the file.
#[derive(Debug, Clone)]
pub struct Options {
    /// What happens to undeclared objects.
    pub prune: Prune,
    /// Entries to make anew (`--replace`).
    pub replace: BTreeSet<Address>,
    /// The present.
    pub now: Timestamp,
    /// Since when groups list their members.
    pub listings: Listings,
}

/// Why no plan can be made.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Problem {
    /// The object that it is about.
    pub address: Address,
    /// What is wrong.
    pub text: String,
    /// What to do.
    pub hint: Option<String>,
    /// The group whose name is the trouble, where it is one.
    pub group: Option<String>,
}

impl Problem {
    /// A problem of one object.
    pub fn new(address: &Address, text: impl Into<String>, hint: Option<String>) -> Self {
        Problem {
            address: address.clone(),
            text: text.into(),
            hint,
            group: None,
        }
    }
}

/// What an apply would do.
#[derive(Debug, Clone, Default)]
pub struct Plan {
    /// The operations, sorted by kind and name; `steps` has them in the order in which they are carried out.
    pub changes: Vec<Change>,
    /// The order: indices into `changes`.
    pub steps: Vec<Step>,
    /// What a reader should know.
    pub notices: Vec<Notice>,
    /// Objects of managed kinds that the file does not declare and that stay.
    pub unmanaged: BTreeSet<Address>,
    /// Members of declared groups that the file does not name and that stay, by group.
    pub foreign_members: BTreeMap<String, BTreeSet<Id>>,
    /// Setup keys whose peer joins a declared group once it enrolls, by group.
    pub pending_members: BTreeMap<String, BTreeSet<String>>,
    /// Live objects that a plan could delete, by kind: API-made, and of the keys those that are valid.
    pub counted: BTreeMap<Kind, usize>,
    /// What people call the peers of this plan.
    pub peer_labels: BTreeMap<Id, String>,
}

impl Plan {
    /// Returns whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// Returns the number of objects that go and members that are removed.
    pub fn deletions(&self) -> usize {
        self.changes.iter().map(deletions).sum()
    }

    /// Returns a text of 12 hexadecimal digits that differs where the operations do.
    pub fn digest(&self) -> String {
        let mut hash = Sha256::new();
        for change in &self.changes {
            let operation = &change.operation;
            let fields: Vec<_> = operation
                .fields()
                .iter()
                .map(|change| (&change.field, &change.after))
                .collect();
            let parts = serde_json::json!([
                change.address.to_string(),
                operation.word(),
                operation.live().map(|live| &live.id),
                operation.after().map(Resource::fields),
                fields,
            ]);
            hash.update(parts.to_string());
        }
        hash.finalize()
            .iter()
            .take(6)
            .map(|byte| format!("{byte:02x}"))
            .collect()
    }
}

/// Returns how many objects or members a change takes away.
pub fn deletions(change: &Change) -> usize {
    match change.operation {
        Operation::Delete { .. } => 1,
        _ => change.removed_members().len(),
    }
}

/// Makes the plan that brings `actual` to `desired`.
pub fn plan(desired: &Desired, actual: &Actual, options: &Options) -> Result<Plan, Vec<Problem>> {
    let mut plan = Plan::default();
    let mut problems = Vec::new();

    let keys = decide_keys(desired, actual, options, &mut plan, &mut problems);
    let resources = resolve(desired, actual, options, &keys.moved, &mut plan);
    let managed = Kind::ALL
        .into_iter()
        .filter(|kind| desired.manages(*kind))
        .collect();
    let referenced = references(desired);
    let scope = scope::scope(&resources, &managed, &referenced, actual, options.prune);
    problems.extend(scope.problems);

    plan.changes = diff(&resources, &scope.managed);
    replace(
        &mut plan.changes,
        &resources,
        &scope.managed,
        &options.replace,
    );
    plan.changes.extend(keys.changes);
    plan.changes
        .extend(renames(&keys.moved, actual, &mut plan.notices));
    plan.changes.extend(
        scope
            .pruned
            .into_iter()
            .map(|(address, live, reason)| Change {
                address,
                operation: Operation::Delete { live },
                reason,
            }),
    );
    plan.changes.extend(prune_keys(
        desired,
        actual,
        options.prune,
        &mut plan.unmanaged,
    ));
    plan.unmanaged.extend(scope.unmanaged);
    possible::let_go(&mut plan.changes, desired, actual);
    plan.changes
        .sort_by(|a, b| (&a.address, a.operation.word()).cmp(&(&b.address, b.operation.word())));

    plan.notices
        .extend(possible::look_alikes(&plan.changes, actual));
    problems.extend(unknown_replacements(&options.replace, desired));
    problems.extend(possible::check(&plan.changes, &resources, desired, actual));
    match order::order(&plan.changes, actual) {
        Ok(steps) => plan.steps = steps,
        Err(found) => problems.extend(found),
    }
    if !problems.is_empty() {
        problems.sort();
        problems.dedup();
        return Err(problems);
    }
    plan.counted = count(actual);
    plan.peer_labels = label_peers(&mut plan, actual);
    plan.notices.sort();
    plan.notices.dedup();
    Ok(plan)
}

/// Puts names in the place of ids in the field changes, and returns the names of all peers that the plan speaks of.
fn label_peers(plan: &mut Plan, actual: &Actual) -> BTreeMap<Id, String> {
    let mut labels = BTreeMap::new();
    let mut label = |id: &str| {
        let id = Id(id.to_owned());
        labels
            .entry(id.clone())
            .or_insert_with(|| actual.peer_label(&id))
            .clone()
    };
    for change in &mut plan.changes {
        if let Some(Resource::Group(resource::Group { peers: Some(peers) })) =
            change.operation.after()
        {
            peers.iter().for_each(|id| drop(label(&id.0)));
        }
        let (Operation::Update { fields, .. } | Operation::Replace { fields, .. }) =
            &mut change.operation
        else {
            continue;
        };
        for field in fields
            .iter_mut()
            .filter(|change| matches!(change.field.as_str(), "peers" | "peer"))
        {
            for value in [&mut field.before, &mut field.after] {
                match value {
                    Value::String(id) => *id = label(id),
                    Value::Array(ids) => {
                        for id in ids.iter_mut() {
                            *id = Value::String(label(id.as_str().unwrap_or_default()));
                        }
                    }
                    _ => {}
                }
            }
        }
    }
    plan.foreign_members
        .values()
        .flatten()
        .for_each(|id| drop(label(&id.0)));
    labels
}

/// Objects of each kind that could be ours: API-made, and of the keys those that live.
fn count(actual: &Actual) -> BTreeMap<Kind, usize> {
    let mut counted = BTreeMap::new();
    for (address, namesakes) in &actual.objects {
        let counts = |live: &&Live| match address.kind {
            Kind::Group => !actual.protected_groups.contains_key(&live.id),
            Kind::SetupKey => actual.keys.get(&live.id).is_some_and(|key| key.valid),
            _ => true,
        };
        *counted.entry(address.kind).or_default() += namesakes.iter().filter(counts).count();
    }
    counted
}

/// Names of all groups that the file refers to or declares.
fn references(desired: &Desired) -> BTreeSet<String> {
    let mut names: BTreeSet<String> = desired.groups().map(|(name, _)| name.clone()).collect();
    let auto = desired
        .setup_keys()
        .flat_map(|(_, key)| key.auto_groups.iter().flatten());
    names.extend(auto.cloned());
    let rest = declared_resources(desired);
    names.extend(
        rest.values()
            .flat_map(Resource::references)
            .map(str::to_owned),
    );
    names
}

/// Declared policies, routes and nameserver groups: they need no live state to be in canonical form.
fn declared_resources(desired: &Desired) -> BTreeMap<Address, Resource> {
    let policies = desired.policies.iter().flatten().map(|(name, policy)| {
        (
            Address::new(Kind::Policy, name),
            Resource::Policy(policy.clone()),
        )
    });
    let routes = desired.routes.iter().flatten();
    let routes = routes.map(|(name, route)| {
        (
            Address::new(Kind::Route, name),
            Resource::Route(route.clone()),
        )
    });
    let nameservers = desired
        .nameserver_groups
        .iter()
        .flatten()
        .map(|(name, group)| {
            (
                Address::new(Kind::NameserverGroup, name),
                Resource::NameserverGroup(group.clone()),
            )
        });
    policies.chain(routes).chain(nameservers).collect()
}

/// A pending key that was used, and its peer if that can be told.
struct Moved {
    name: String,
    peer: Option<Id>,
    groups: BTreeSet<String>,
}

struct KeyChanges {
    changes: Vec<Change>,
    moved: Vec<Moved>,
}

fn decide_keys(
    desired: &Desired,
    actual: &Actual,
    options: &Options,
    plan: &mut Plan,
    problems: &mut Vec<Problem>,
) -> KeyChanges {
    let mut keys = KeyChanges {
        changes: Vec::new(),
        moved: Vec::new(),
    };
    for (name, declared) in desired.setup_keys() {
        let address = Address::new(Kind::SetupKey, name);
        let circumstances = keys::Circumstances {
            now: options.now,
            replace: options.replace.contains(&address),
            namesakes_are_ours: options.prune == Prune::All,
        };
        let namesakes = actual.named(Kind::SetupKey, name).iter();
        let namesakes: Vec<_> = namesakes
            .filter_map(|live| Some((actual.keys.get(&live.id)?, live)))
            .collect();
        let decision = keys::decide(name, declared, &namesakes, circumstances);
        plan.notices.extend(decision.notices);
        if !decision.ambiguous.is_empty() {
            problems.push(scope::ambiguous(&address, &decision.ambiguous));
        }
        if let Some(live) = decision.moved {
            let binding = actual.bindings.of_key(&live.id);
            let peer = binding.and_then(|binding| binding.peer().cloned());
            if peer.is_none() {
                let text = "was used, but which peer enrolled with it cannot be told: left alone";
                plan.notices.push(Notice::about(&address, text));
            }
            let groups = declared.auto_groups.clone().unwrap_or_default();
            keys.moved.push(Moved {
                name: name.clone(),
                peer,
                groups,
            });
        }
        keys.changes
            .extend(decision.operation.map(|(operation, reason)| Change {
                address: address.clone(),
                operation,
                reason,
            }));
        keys.changes
            .extend(decision.deletions.into_iter().map(|(live, reason)| Change {
                address: address.clone(),
                operation: Operation::Delete { live },
                reason,
            }));
    }
    keys
}

/// Returns the declared objects in canonical form, but for setup keys.
fn resolve(
    desired: &Desired,
    actual: &Actual,
    options: &Options,
    moved: &[Moved],
    plan: &mut Plan,
) -> BTreeMap<Address, Resource> {
    let mut resources = declared_resources(desired);
    for (name, declared) in desired.groups() {
        let address = Address::new(Kind::Group, name);
        let members_now = match actual.named(Kind::Group, name) {
            [
                Live {
                    resource: Resource::Group(group),
                    ..
                },
            ] => group.peers.clone().unwrap_or_default(),
            _ => BTreeSet::new(),
        };
        // a peer that enrolled goes into its key's groups even where the file leaves their members alone
        let enrolled = moved.iter().filter(|key| key.groups.contains(name));
        let enrolled: BTreeSet<Id> = enrolled.filter_map(|key| key.peer.clone()).collect();
        let peers = match &declared.peers {
            Some(wanted) => {
                let context = (desired, actual, &options.listings, options.prune);
                let members = members::resolve(name, wanted, &members_now, context);
                plan.notices.extend(members.notices);
                if !members.left_alone.is_empty() {
                    plan.foreign_members
                        .insert(name.clone(), members.left_alone);
                }
                if !members.pending.is_empty() {
                    plan.pending_members.insert(name.clone(), members.pending);
                }
                Some(&members.peers | &enrolled)
            }
            None if enrolled.is_subset(&members_now) => None,
            None => Some(&members_now | &enrolled),
        };
        resources.insert(address, Resource::Group(resource::Group { peers }));
    }
    resources
}

/// Peers that enrolled under another name get their key's, unless another peer bears it.
fn renames(moved: &[Moved], actual: &Actual, notices: &mut Vec<Notice>) -> Vec<Change> {
    let mut changes = Vec::new();
    for Moved { name, peer, .. } in moved {
        let Some(peer) = peer.as_ref().and_then(|id| actual.peers.get(id)) else {
            continue;
        };
        let address = Address::new(Kind::Peer, name);
        if peer.name == *name {
            continue;
        }
        if actual.peers_named(name).next().is_some() {
            let text = format!(
                "enrolled as {:?}, but another peer is called {name:?}: not renamed",
                peer.name
            );
            notices.push(Notice::about(&Address::new(Kind::SetupKey, name), text));
            continue;
        }
        let live = Live {
            id: peer.id.clone(),
            name: peer.name.clone(),
            resource: Resource::Peer(resource::Peer {
                name: peer.name.clone(),
            }),
            wire: actual
                .peer_answers
                .get(&peer.id)
                .cloned()
                .unwrap_or_default(),
        };
        let after = Resource::Peer(resource::Peer { name: name.clone() });
        let fields = resource::differences(&after, &live.resource);
        let operation = Operation::Update {
            live,
            fields,
            after,
        };
        changes.push(Change {
            address,
            operation,
            reason: "enrolled with this key".into(),
        });
    }
    changes
}

/// Turns `--replace` of policies into a new one and the deletion of the old; other kinds keep their update.
fn replace(
    changes: &mut Vec<Change>,
    resources: &BTreeMap<Address, Resource>,
    managed: &BTreeMap<Address, Live>,
    asked: &BTreeSet<Address>,
) {
    for address in asked.iter().filter(|address| address.kind == Kind::Policy) {
        let (Some(after), Some(live)) = (resources.get(address), managed.get(address)) else {
            continue;
        };
        changes.retain(|change| change.address != *address);
        let fields = resource::differences(after, &live.resource);
        let operation = Operation::Replace {
            live: live.clone(),
            fields,
            after: after.clone(),
        };
        changes.push(Change {
            address: address.clone(),
            operation,
            reason: "--replace names it".into(),
        });
    }
}

fn unknown_replacements(asked: &BTreeSet<Address>, desired: &Desired) -> Vec<Problem> {
    let known = |address: &&Address| match address.kind {
        Kind::SetupKey => desired.setup_key(&address.name).is_some(),
        Kind::Policy => desired
            .policies
            .iter()
            .flatten()
            .any(|(name, _)| *name == address.name),
        _ => false,
    };
    let problem = |address: &Address| {
        let text = match address.kind {
            Kind::SetupKey | Kind::Policy => "--replace names an entry that the file does not have",
            _ => "--replace makes setup keys and policies anew, nothing else",
        };
        Problem::new(address, text, None)
    };
    asked
        .iter()
        .filter(|address| !known(address))
        .map(problem)
        .collect()
}

/// Undeclared setup keys: deleted, or listed where they can still be used.
fn prune_keys(
    desired: &Desired,
    actual: &Actual,
    prune: Prune,
    unmanaged: &mut BTreeSet<Address>,
) -> Vec<Change> {
    let mut changes = Vec::new();
    if !desired.manages(Kind::SetupKey) {
        return changes;
    }
    let keys = actual
        .objects
        .iter()
        .filter(|(address, _)| address.kind == Kind::SetupKey);
    for (address, namesakes) in
        keys.filter(|(address, _)| desired.setup_key(&address.name).is_none())
    {
        if prune == Prune::All {
            changes.extend(namesakes.iter().map(|live| Change {
                address: address.clone(),
                operation: Operation::Delete { live: live.clone() },
                reason: "not declared (--prune all)".into(),
            }));
        } else if namesakes
            .iter()
            .any(|live| actual.keys.get(&live.id).is_some_and(|key| key.valid))
        {
            unmanaged.insert(address.clone());
        }
    }
    changes
}
