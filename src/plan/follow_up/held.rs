//! What is kept back since something that is not ours needs it.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use super::super::resolve::Resolved;
use super::FollowUp;
use crate::account::Actual;
use crate::base::{Id, joined};
use crate::model::{
    Address, Change, Held, Impossible, Kind, Live, Operation, PeerRef, Problem, Reason, Refers,
    Resource, Why,
};
use crate::plan::later::{deleted, fields_naming, later};
use crate::plan::{Decisions, Ours};

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
    /// Holds what stands in the object of a skipped entry, or may stand in one, and the routers of a network in which one stands.
    pub(super) fn keep_beside(&mut self, skipped: &BTreeSet<Address>) {
        let (_, actual, binding, _) = self.given.parts();
        let stands = skipped
            .iter()
            .filter_map(|at| Some((at, binding.stands.get(at)?)));
        let stands = stands.flat_map(|(at, ids)| ids.iter().flatten().map(move |id| (id, at)));
        let unclear = binding.unclear.iter();
        let unclear = unclear.filter_map(|id| Some((id, actual.live(id)?.0)));
        let inside: BTreeMap<&Id, &Address> = stands.chain(unclear).collect();
        let parent = |id: &Id| actual.live(id)?.1.within.as_ref();
        let beside = inside
            .iter()
            .filter_map(|(id, at)| Some((parent(id)?, *at)));
        let beside: BTreeMap<&Id, &Address> = beside.collect();
        let held = self.changes.iter().filter_map(|change| {
            let (live, is_router) = (
                change.deleted()?,
                change.address.kind == Kind::NetworkRouter,
            );
            let parent = live.within.as_ref()?;
            let entry = inside
                .get(parent)
                .or(beside.get(parent).filter(|_| is_router))?;
            let why = Why::BesideSkipped(entry.quoted());
            Some(Held::new(&change.address, live, why))
        });
        let held = held.collect();
        self.hold(held);
    }

    /// Holds every group, network resource and posture check that only things need which are not ours: what the file does not
    /// declare, and fields that it does not say of what it declares. The server would refuse, or let them dangle. Where the file
    /// itself names one, the deletion stays in the plan, and is impossible (`plan::check`). Returns whether there was one.
    pub(super) fn keep_named(&mut self, resolved: &Resolved) -> bool {
        let (desired, actual, _, options) = self.given.parts();
        let mut going: BTreeMap<(Refers, &str), Vec<(&Address, &Live)>> = BTreeMap::new();
        for change in &self.changes {
            if let (Some(what), Some(live)) = (change.address.kind.referred_as(), change.deleted())
            {
                let of_name = going.entry((what, actual.label(live))).or_default();
                of_name.push((&change.address, live));
            }
        }
        if going.is_empty() {
            return false;
        }
        let is_own = |live: &Live| is_own_key(live, &resolved.decisions, &options.ours);
        let entry = |at: &Address, live: &Live| match resolved.resources.get(at) {
            Some(all) => &**all,
            // a key that is done is no resource
            None if resolved.is_checked_key(at) && is_own(live) => desired.resource(at),
            None => &[],
        };
        // who needs those of a name, by the first of them; none where the file names them
        let mut users: BTreeMap<&Id, Option<BTreeSet<String>>> = BTreeMap::new();
        for (address, live, then) in later(&self.changes, actual) {
            // a dead key of ours lets go of a group that goes
            let stays = |live: &&Live| !(actual.is_dead_key(live) && is_own(live));
            let Some(live) = live.filter(stays) else {
                continue;
            };
            for of in then.refers() {
                let Some(all) = going.get(&of) else {
                    continue;
                };
                let users = users.entry(&all[0].1.id);
                let users = users.or_insert_with(|| Some(BTreeSet::new()));
                let entry = entry(address, live);
                let mut said = entry.iter().flat_map(Resource::refers);
                if said.any(|said| said == of) {
                    *users = None;
                }
                let fields = fields_naming(live, of.1);
                let words = match address.kind {
                    Kind::AccountSettings => format!("{fields} of the {address}"),
                    _ => holder(address, live, actual),
                };
                let unsaid = match &*fields {
                    // nothing is written of what is not declared, or is skipped
                    _ if entry.is_empty() => String::new(),
                    "" => " (in a field that the file does not set)".into(),
                    fields => format!(" (in its {fields}, which the file does not set)"),
                };
                users.as_mut().map(|users| users.insert(words + &unsaid));
            }
        }
        let going = going
            .values()
            .flat_map(|all| all.iter().map(move |it| (&all[0].1.id, it)));
        let held = going.filter_map(|(first, (address, live))| {
            let users = users.get(first).cloned();
            let mut holders = users.unwrap_or_else(|| Some(BTreeSet::new()))?;
            holders.extend(actual.holders.get(&live.id).into_iter().flatten().cloned());
            let why = match actual.gone_resources.get(&live.id) {
                _ if holders.is_empty() => return None,
                Some(gone) if *gone == holders => Why::NeededByGone(holders),
                _ => Why::Needed(holders),
            };
            Some(Held::new(address, live, why))
        });
        let held = held.collect();
        self.hold(held)
    }

    /// Holds every object that would go, or be replaced, and take along what stays in it; of one that is replaced nothing that stands in
    /// it is written either. Where the file says nothing of what stands in one, its replacement is an error.
    /// Returns whether there was one.
    pub(super) fn keep_parents(&mut self) -> bool {
        let (desired, actual, ..) = self.given.parts();
        let leaves = |change: &Change| {
            let live = change.operation.live()?;
            let moves = change.address.parent().as_ref() != actual.parent_of(live);
            (moves || change.ends(&live.id)).then(|| live.id.clone())
        };
        let leaving: HashSet<Id> = self.changes.iter().filter_map(leaves).collect();
        let mut held = Vec::new();
        for change in &self.changes {
            let live = match &change.operation {
                Operation::Delete { live } | Operation::Replace { live, .. } => live,
                Operation::Create { .. } | Operation::Update { .. } => continue,
            };
            let inside = actual.children(live);
            let staying = inside.filter(|(_, child)| !leaving.contains(&child.id));
            let staying: Vec<(&Address, &Live)> = staying.collect();
            let words = staying
                .iter()
                .map(|(at, of)| format!("{} ({})", at.quoted(), of.id));
            let words: BTreeSet<String> = words.collect();
            let mut parts = staying.iter();
            let is_managed = parts.any(|(at, _)| desired.manages_in(at.kind, at.within.as_deref()));
            let why = match change.deleted() {
                _ if staying.is_empty() => continue,
                Some(_) => Why::Holds(words),
                None if is_managed => Why::HoldsAnew(words),
                None => {
                    let what = Impossible::TakesAlong(words.into_iter().collect());
                    self.problems.push(Problem::new(&change.address, what));
                    continue;
                }
            };
            held.push(Held::new(&change.address, live, why));
        }
        self.hold(held)
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
