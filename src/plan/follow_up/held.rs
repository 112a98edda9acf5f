//! What is kept back since something that is not ours needs it.

use std::collections::BTreeSet;

use super::super::resolve::Resolved;
use super::FollowUp;
use crate::account::actual::Actual;
use crate::base::text::joined;
use crate::model::address::Address;
use crate::model::change::{Change, Operation};
use crate::model::held::{Held, Why};
use crate::model::kind::{Kind, Live, PeerRef, Refers, Resource};
use crate::model::problem::{Impossible, Problem};
use crate::model::reason::Reason;
use crate::plan::Given;
use crate::plan::keys::Decisions;
use crate::plan::ours::Ours;
use crate::plan::referrers::{deleted, fields_naming, naming, referrers};

/// Names an object for people, with its id and, of a key, its state.
pub(super) fn holder(address: &Address, live: &Live, actual: &Actual) -> String {
    if address.kind.is_one() {
        return format!("the {address}");
    }
    let parent = address.parent().map(|at| format!(" of {}", at.quoted()));
    let parent = parent.unwrap_or_default();
    let Resource::NetworkRouter(router) = &live.resource else {
        let state = actual.keys.get(&live.id).map(|key| &key.state);
        let state = state.map_or_else(String::new, |state| format!(", {state}"));
        return format!("{} ({}{state}){parent}", address.quoted(), live.id);
    };
    let peer = router.peer.as_ref().map(|peer| match peer {
        PeerRef::Id(id) => actual.peer_label(id),
        PeerRef::Name(name) => name.clone(),
    });
    let through = peer.iter().chain(&router.peer_groups);
    let (label, through) = (address.kind.label(), joined(through, ", "));
    format!("{label} {}{parent} through {through}", live.id)
}

/// Whether a key is an entry's own: recorded, or adopted by this plan.
fn is_own_key(live: &Live, decisions: &Decisions, ours: &Ours) -> bool {
    let decision = decisions.get(&live.name);
    let adopted = decision.and_then(|decision| decision.adopts.as_ref());
    ours.origin(&live.id).is_some() || adopted.is_some_and(|(id, _)| *id == live.id)
}

/// Holds every group that only things need which are not ours: what the file does not declare, and fields that it does
/// not say of what it declares. Where the file itself names the group, the deletion stays in the plan, and is impossible: the
/// server names one referrer at a time, here are all of them.
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
        None => address.kind == Kind::SetupKey && is_ours(address, live),
    };
    // a dead key of ours lets go of a group that goes
    let lets_go =
        |live: &Live| actual.is_dead_key(live) && is_own_key(live, &resolved.decisions, ours);
    let referrers = referrers(&so_far.changes, actual);
    for (address, live) in going {
        let name = actual.label(live);
        let users = referrers.get(name).into_iter().flatten();
        let users: Vec<_> = users.filter(|(_, user)| !lets_go(user)).collect();
        let is_named = users.iter().any(|(at, user)| names(at, user, name));
        let users = users.into_iter().map(|(at, user)| {
            let user_words = match at.kind {
                Kind::AccountSettings => format!("{} of the {at}", fields_naming(user, name)),
                _ if is_named => at.to_string(),
                _ => holder(at, user, actual),
            };
            match is_ours(at, user) && !is_named {
                true => format!("{user_words}, in a field that the file does not say"),
                false => user_words,
            }
        });
        let others = actual.holders.get(&live.id).into_iter().flatten().cloned();
        if is_named {
            let what = Impossible::GroupUsed(users.chain(others).collect());
            let address = Address::new(Kind::Group, name);
            part.problems.push(Problem::new(&address, what));
            continue;
        }
        let holders: BTreeSet<String> = users.chain(others).collect();
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
    let going = deleted(&so_far.changes, Kind::Group);
    let going: BTreeSet<&str> = going.map(|(_, live)| actual.label(live)).collect();
    let is_busy = |live: &Live| {
        let mut changes = so_far.changes.iter();
        changes.any(|change| change.is_about(&live.id))
    };
    let without = |(_, live): (&Address, &Live)| {
        let Resource::SetupKey(key) = &live.resource else {
            return None;
        };
        let is_ours = is_own_key(live, decisions, &given.options.ours);
        let mut after = key.clone();
        let groups = after.auto_groups.get_or_insert_default();
        groups.retain(|group| !going.contains(group.as_str()));
        if !is_ours || !actual.is_dead_key(live) || is_busy(live) {
            return None;
        }
        let operation = Operation::update(live, &Resource::SetupKey(after), None)?;
        let address = Address::new(Kind::SetupKey, &live.name);
        let why = Reason::DeadKeyInTheWay;
        Some(Change::new(address, operation, why))
    };
    let all = actual.each().filter(|_| !going.is_empty());
    all.filter_map(without).collect()
}
