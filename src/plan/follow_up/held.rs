//! What is kept back since something that is not ours needs it.

use std::collections::BTreeSet;

use super::super::resolve::Resolved;
use super::FollowUp;
use crate::account::actual::Actual;
use crate::base::id::Id;
use crate::model::address::Address;
use crate::model::change::{Change, Operation};
use crate::model::held::{Held, Why};
use crate::model::kind::{Kind, Live, PeerRef, Refers, Resource};
use crate::model::reason::Reason;
use crate::plan::Given;
use crate::plan::keys::Decisions;
use crate::plan::ours::Ours;
use crate::plan::referrers::{deleted, fields_naming, naming, referrers};

/// Names an object for people, with its id and, of a key, its state.
pub(super) fn holder(address: &Address, live: &Live, actual: &Actual) -> String {
    let state = actual
        .keys
        .get(&live.id)
        .map(|key| format!(", {}", key.state));
    let state = state.unwrap_or_default();
    match address.kind.is_one() {
        true => format!("the {address}"),
        false => {
            let parent = address.parent().map(|at| format!(" of {}", at.quoted()));
            let parent = parent.unwrap_or_default();
            match address.name.as_str() {
                "" => {
                    let through = match &live.resource {
                        Resource::NetworkRouter(router) => {
                            let peer = match &router.peer {
                                Some(PeerRef::Id(id)) => Some(actual.peer_label(id)),
                                Some(PeerRef::Name(name)) => Some(name.clone()),
                                None => None,
                            };
                            let groups = router.peer_groups.iter().cloned();
                            let all: Vec<String> = peer.into_iter().chain(groups).collect();
                            format!(" through {}", all.join(", "))
                        }
                        _ => String::new(),
                    };
                    format!("{} {}{parent}{through}", address.kind.label(), live.id)
                }
                _ => format!("{} ({}{state}){parent}", address.quoted(), live.id),
            }
        }
    }
}

/// Whether a key is an entry's own: recorded, or adopted by this plan.
fn is_own_key(live: &Live, decisions: &Decisions, ours: &Ours) -> bool {
    let decision = decisions.get(&live.name);
    let adopted = decision.and_then(|decision| decision.adopts.as_ref());
    ours.origin(&live.id).is_some() || adopted.is_some_and(|(id, _)| *id == live.id)
}

/// Holds every group that only things need which are not ours: what the file does not declare, and fields that it does
/// not say of what it declares. Where the file itself names the group, the deletion stays in the plan, and is impossible.
pub(super) fn keep_groups(given: Given, so_far: &FollowUp, resolved: &Resolved) -> FollowUp {
    let (desired, actual) = (given.desired, given.actual);
    let mut part = FollowUp::default();
    let mut going = deleted(&so_far.changes, Kind::Group).peekable();
    if going.peek().is_none() {
        return part;
    }
    let ours = &given.options.ours;
    let is_ours = |address: &Address, live: &Live| match address.kind {
        Kind::SetupKey => desired.declares(address) && is_own_key(live, &resolved.decisions, ours),
        _ => desired.declares(address),
    };
    // a declared key that is done is no resource: what NetBird has of it was the file's
    let names = |address: &Address, live: &Live, group: &str| match resolved.resources.get(address)
    {
        Some(all) => all.iter().any(|one| one.references().contains(group)),
        None => is_ours(address, live),
    };
    // a dead key of ours lets go of a group that goes
    let lets_go = |live: &Live| {
        let is_dead = actual.keys.get(&live.id).is_some_and(|key| !key.valid);
        is_dead && is_own_key(live, &resolved.decisions, ours)
    };
    let referrers = referrers(&so_far.changes, actual);
    for (address, live) in going {
        let name = actual.label(live);
        let users = referrers.get(name).into_iter().flatten();
        let users: Vec<_> = users.filter(|(_, user)| !lets_go(user)).collect();
        if users
            .iter()
            .any(|(address, user)| names(address, user, name))
        {
            continue;
        }
        let users = users.iter().map(|(address, user)| {
            let holder = match address.kind {
                Kind::AccountSettings => format!("{} of the {address}", fields_naming(user, name)),
                _ => holder(address, user, actual),
            };
            match is_ours(address, user) {
                true => format!("{holder}, in a field that the file does not say"),
                false => holder,
            }
        });
        let others = actual.holders.get(&live.id).into_iter().flatten();
        let holders: BTreeSet<String> = users.chain(others.cloned()).collect();
        if !holders.is_empty() {
            let why = match actual.gone_resources.get(&live.id) == Some(&holders) {
                true => Why::NeededByGone(holders),
                false => Why::Needed(holders),
            };
            part.held.push(Held::new(address, live, why));
        }
    }
    part
}

/// Holds every network resource and posture check that policies which stay, or a reverse proxy, need: the server would let them
/// dangle, or refuse. Where the file's own policy does, the deletion stays in the plan, and is impossible.
pub(super) fn keep_named(given: Given, so_far: &FollowUp) -> FollowUp {
    let (desired, actual) = (given.desired, given.actual);
    let mut part = FollowUp::default();
    let named = [
        (Kind::NetworkResource, Refers::Resource),
        (Kind::PostureCheck, Refers::Check),
    ];
    let going = |(kind, what)| {
        let deleted = deleted(&so_far.changes, kind);
        deleted.map(move |(address, live)| (what, address, live))
    };
    for (what, address, live) in named.into_iter().flat_map(going) {
        let users = naming(what, live, &so_far.changes, actual);
        let is_ours = |(at, _): &(&Address, &Live)| desired.declares(at);
        if users.iter().any(is_ours) {
            continue;
        }
        let users = users.iter().map(|(at, live)| holder(at, live, actual));
        let others = actual.holders.get(&live.id).into_iter().flatten();
        let holders: BTreeSet<String> = users.chain(others.cloned()).collect();
        if !holders.is_empty() {
            part.held
                .push(Held::new(address, live, Why::Needed(holders)));
        }
    }
    // the network would take them along
    for (address, live) in deleted(&so_far.changes, Kind::Network) {
        let staying = part.held.iter().filter(|held| {
            let mut inside = actual.children(live);
            inside.any(|(_, child)| child.id == held.id)
        });
        let staying: BTreeSet<String> = staying
            .map(|held| format!("{} ({})", held.address.quoted(), held.id))
            .collect();
        if !staying.is_empty() {
            part.held
                .push(Held::new(address, live, Why::Holds(staying)));
        }
    }
    part
}

/// Holds every object that would be replaced and holds what is not the file's: that would go with the old one. Nothing that
/// stands in it is written either.
pub(super) fn keep_parents(given: Given, so_far: &FollowUp) -> FollowUp {
    let (desired, actual) = (given.desired, given.actual);
    let mut part = FollowUp::default();
    for change in &so_far.changes {
        let Operation::Replace { live, .. } = &change.operation else {
            continue;
        };
        let stays = |child: &Live| !so_far.changes.iter().any(|change| change.ends(&child.id));
        // what stands in it and is left alone is an error of the file: `plan::check`
        let inside = actual.children(live);
        let inside = inside.filter(|(address, child)| {
            desired.manages_in(address.kind, address.within.as_deref()) && stays(child)
        });
        let staying: BTreeSet<String> = inside
            .map(|(address, live)| holder(address, live, actual))
            .collect();
        if !staying.is_empty() {
            part.held
                .push(Held::new(&change.address, live, Why::HoldsAnew(staying)));
        }
    }
    part
}

/// Returns what takes the groups that go out of our own dead keys: used, expired or revoked, a key still blocks their deletion.
pub(super) fn let_go(given: Given, so_far: &FollowUp, decisions: &Decisions) -> Vec<Change> {
    let actual = given.actual;
    let going: BTreeSet<String> = deleted(&so_far.changes, Kind::Group)
        .map(|(_, live)| actual.label(live).to_owned())
        .collect();
    let busy: BTreeSet<Id> = so_far
        .changes
        .iter()
        .filter_map(|change| Some(change.operation.live()?.id.clone()))
        .collect();
    let dead = |live: &&Live| actual.keys.get(&live.id).is_some_and(|key| !key.valid);
    let is_ours = |(address, live): &(&Address, &Live)| {
        address.kind == Kind::SetupKey && is_own_key(live, decisions, &given.options.ours)
    };
    let keys = actual.each().filter(is_ours).map(|(_, live)| live);
    let mut changes = Vec::new();
    for live in keys.filter(dead) {
        let Resource::SetupKey(key) = &live.resource else {
            continue;
        };
        let groups = key.auto_groups.clone().unwrap_or_default();
        let kept: BTreeSet<String> = groups.difference(&going).cloned().collect();
        if kept.len() == groups.len() || busy.contains(&live.id) {
            continue;
        }
        let mut after = key.clone();
        after.auto_groups = Some(kept);
        let address = Address::new(Kind::SetupKey, &live.name);
        let operation = Operation::update(live, &Resource::SetupKey(after), None);
        changes.extend(
            operation.map(|operation| Change::new(address, operation, Reason::DeadKeyInTheWay)),
        );
    }
    changes
}
