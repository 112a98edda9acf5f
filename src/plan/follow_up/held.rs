//! What is kept back since something that is not ours needs it.

use std::collections::{BTreeMap, BTreeSet};

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
use crate::plan::keys::Decisions;
use crate::plan::later::{deleted, fields_naming, later};
use crate::plan::ours::Ours;

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

impl FollowUp<'_> {
    /// Holds every group that only things need which are not ours: what the file does not declare, and fields that it does
    /// not say of what it declares. Where the file itself names the group, the deletion stays in the plan, and is impossible: the
    /// server names one referrer at a time, here are all of them.
    pub(super) fn keep_groups(&mut self, resolved: &Resolved) {
        let (desired, actual, _, options) = self.given.parts();
        let mut going = deleted(&self.changes, Kind::Group).peekable();
        if going.peek().is_none() {
            return;
        }
        let is_own = |live: &Live| is_own_key(live, &resolved.decisions, &options.ours);
        let is_ours = |address: &Address, live: &Live| {
            desired.declares(address) && (address.kind != Kind::SetupKey || is_own(live))
        };
        // a declared key that is done is no resource: what NetBird has of it was the file's
        let names = |at: &Address, live: &Live, group: &str| match resolved.resources.get(at) {
            Some(all) => all.iter().any(|one| one.references().contains(group)),
            None => at.kind == Kind::SetupKey && is_ours(at, live),
        };
        let mut referrers: BTreeMap<String, Vec<(&Address, &Live)>> = BTreeMap::new();
        for (address, live, then) in later(&self.changes, actual) {
            // a dead key of ours lets go of a group that goes
            let stays = |live: &&Live| !(actual.is_dead_key(live) && is_own(live));
            let Some(live) = live.filter(stays) else {
                continue;
            };
            for group in then.references() {
                let of_group = referrers.entry(group.to_owned()).or_default();
                of_group.push((address, live));
            }
        }
        let (mut held, mut problems) = (Vec::new(), Vec::new());
        for (address, live) in going {
            let name = actual.label(live);
            let users = referrers.get(name).into_iter().flatten();
            let is_named = users.clone().any(|(at, user)| names(at, user, name));
            let users = users.map(|(at, user)| {
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
                problems.push(Problem::new(&address, what));
                continue;
            }
            let holders: BTreeSet<String> = users.chain(others).collect();
            if !holders.is_empty() {
                let why = match actual.gone_resources.get(&live.id) == Some(&holders) {
                    true => Why::NeededByGone(holders),
                    false => Why::Needed(holders),
                };
                held.push(Held::new(address, live, why));
            }
        }
        self.hold(held);
        self.problems.extend(problems);
    }

    /// Holds every network resource and posture check that policies which stay, or a reverse proxy, need: the server would let
    /// them dangle, or refuse. Where the file's own policy does, the deletion stays in the plan, and is impossible.
    pub(super) fn keep_named(&mut self) {
        let (desired, actual, ..) = self.given.parts();
        let mut held: Vec<Held> = Vec::new();
        for (kind, what) in [
            (Kind::NetworkResource, Refers::Resource),
            (Kind::PostureCheck, Refers::Check),
        ] {
            for (address, live) in deleted(&self.changes, kind) {
                let name = (what, actual.label(live));
                let users = later(&self.changes, actual).filter(|(at, _, then)| {
                    at.kind == Kind::Policy && then.others().contains(&name)
                });
                let users: Vec<_> = users.map(|(at, user, _)| (at, user)).collect();
                if users.iter().any(|(at, _)| desired.declares(at)) {
                    continue;
                }
                let users = users.into_iter();
                let users = users.filter_map(|(at, user)| Some(holder(at, user?, actual)));
                let others = actual.holders.get(&live.id).into_iter().flatten();
                let holders: BTreeSet<String> = users.chain(others.cloned()).collect();
                if !holders.is_empty() {
                    held.push(Held::new(address, live, Why::Needed(holders)));
                }
            }
        }
        // the network would take them along
        for (address, live) in deleted(&self.changes, Kind::Network) {
            let inside = |of: &&Held| actual.children(live).any(|(_, child)| child.id == of.id);
            let staying = held.iter().filter(inside);
            let staying = staying.map(|of| format!("{} ({})", of.address.quoted(), of.id));
            let staying: BTreeSet<String> = staying.collect();
            if !staying.is_empty() {
                held.push(Held::new(address, live, Why::Holds(staying)));
            }
        }
        self.hold(held);
    }

    /// Holds every object that would be replaced and holds what is not the file's: that would go with the old one. Nothing that
    /// stands in it is written either.
    pub(super) fn keep_parents(&mut self) {
        let (desired, actual, ..) = self.given.parts();
        let held = self.changes.iter().filter_map(|change| {
            let Operation::Replace { live, .. } = &change.operation else {
                return None;
            };
            // what stands in it and is left alone is an error of the file: `plan::check`
            let inside = actual.children(live).filter(|(address, child)| {
                let goes = |child: &Live| self.changes.iter().any(|of| of.ends(&child.id));
                desired.manages_in(address.kind, address.within.as_deref()) && !goes(child)
            });
            let staying = inside.map(|(address, live)| holder(address, live, actual));
            let staying: BTreeSet<String> = staying.collect();
            let is_empty = staying.is_empty();
            let why = Why::HoldsAnew(staying);
            (!is_empty).then(|| Held::new(&change.address, live, why))
        });
        let held = held.collect();
        self.hold(held);
    }

    /// Takes the groups that go out of our own dead keys: used, expired or revoked, a key still blocks their deletion.
    pub(super) fn clear_dead_keys(&mut self, decisions: &Decisions) {
        let (actual, ours) = (self.given.actual, &self.given.options.ours);
        let going = deleted(&self.changes, Kind::Group);
        let going: BTreeSet<&str> = going.map(|(_, live)| actual.label(live)).collect();
        let without = |(_, live): (&Address, &Live)| {
            let Resource::SetupKey(key) = &live.resource else {
                return None;
            };
            let is_busy = || self.changes.iter().any(|change| change.is_about(&live.id));
            if !actual.is_dead_key(live) || !is_own_key(live, decisions, ours) || is_busy() {
                return None;
            }
            let mut after = key.clone();
            let groups = after.auto_groups.get_or_insert_default();
            groups.retain(|group| !going.contains(group.as_str()));
            let operation = Operation::update(live, &Resource::SetupKey(after), None)?;
            let address = Address::new(Kind::SetupKey, &live.name);
            Some(Change::new(address, operation, Reason::DeadKeyInTheWay))
        };
        let all = actual.each().filter(|_| !going.is_empty());
        let changes: Vec<Change> = all.filter_map(without).collect();
        self.changes.extend(changes);
    }
}
