//! The order of operations: make before break.
//!
//! What grants comes first, in the order of kinds, so that references point to what is there; what takes away comes
//! last, in reverse. A group that gains and loses members is written twice: the new ones first, the old ones leave at
//! the end, when everything that replaces their access is in place. Routes are the exception: the server refuses a
//! second route of a network through the same routers (409), so the old one goes first. So does a peer whose name
//! another gets: while it lives, the server gives the name's DNS label a suffix (docs/netbird-api.md, "DNS labels of
//! peers").

use std::collections::{BTreeMap, BTreeSet};

use crate::account::actual::Actual;
use crate::base::id::Id;
use crate::model::address::Address;
use crate::model::change::{Change, Operation};
use crate::model::kind::{Kind, Live, PeerRef, Resource, Route};
use crate::model::problem::{Impossible, Problem};

/// One write of the plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Step {
    /// Index into the plan's changes.
    pub change: usize,
    /// Which part of that change.
    pub part: Part,
}

/// What of a change a step carries out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// All of it.
    Whole,
    /// What it makes: a group's new members, or the new object of a replacement. The rest is a later step.
    Making,
    /// What it takes away: the members that leave, or the old object of a replacement.
    Breaking,
}

/// Returns the steps of the changes, or why there is no order.
pub(super) fn order(changes: &[Change], actual: &Actual) -> Result<Vec<Step>, Vec<Problem>> {
    let mut makes = Vec::new();
    let mut breaks = Vec::new();
    for (index, change) in changes.iter().enumerate() {
        let (is_made, is_broken) = match &change.operation {
            Operation::Create { .. } => (true, false),
            Operation::Delete { .. } => (false, true),
            // an old key goes as soon as the new one is sealed
            Operation::Replace { .. } => (true, change.address.kind != Kind::SetupKey),
            Operation::Update { .. } => {
                let loses = !change.removed_members().is_empty();
                (!loses || !change.added_members().is_empty(), loses)
            }
        };
        let step = |of_both| Step {
            change: index,
            part: if is_made && is_broken {
                of_both
            } else {
                Part::Whole
            },
        };
        makes.extend(is_made.then(|| step(Part::Making)));
        breaks.extend(is_broken.then(|| step(Part::Breaking)));
    }
    let kind = |step: &Step| changes[step.change].address.kind;
    // new keys follow each other, since they are stored by the block; whether machines follow the groups of their users is
    // set before these change
    let follows = |step: &Step| kind(step) == Kind::User;
    makes.sort_by_key(|step| (follows(step), kind(step), changes[step.change].makes_key()));
    // members leave before their groups go
    let leaves = |step: &Step| matches!(changes[step.change].operation, Operation::Delete { .. });
    breaks.sort_by_key(|step| (std::cmp::Reverse(kind(step)), leaves(step)));

    let renames = |step: &&Step| {
        let change = &changes[step.change];
        let live = change.operation.live();
        live.is_some_and(|live| live.name != change.name())
    };
    let going = changes.iter().filter_map(|change| {
        let live = change.operation.live()?;
        change.ends(&live.id).then_some(&live.id)
    });
    let mut order = Order {
        changes,
        actual,
        members: members(changes, actual),
        renames: makes.iter().filter(renames).copied().collect(),
        going: going.collect(),
        breaks,
        steps: Vec::new(),
        placed: BTreeSet::new(),
        routes: BTreeMap::new(),
        problems: Vec::new(),
    };
    for step in &makes {
        order.place(*step, &mut BTreeSet::new(), &makes);
    }
    if !order.problems.is_empty() {
        return Err(order.problems);
    }
    let placed = order.steps.iter().copied();
    let rest = order.breaks.iter().copied();
    let rest = rest.filter(|step| !order.placed.contains(step));
    Ok(placed.chain(rest).collect())
}

struct Order<'a> {
    changes: &'a [Change],
    actual: &'a Actual,
    /// Members of each group while the routes are written.
    members: BTreeMap<&'a str, BTreeSet<&'a Id>>,
    /// What gives a name up.
    renames: Vec<Step>,
    /// Objects that go, or are replaced.
    going: BTreeSet<&'a Id>,
    breaks: Vec<Step>,
    steps: Vec<Step>,
    placed: BTreeSet<Step>,
    /// The new routes that are placed, by what keeps the server from taking another one ([`Order::ways`]).
    routes: BTreeMap<String, Vec<&'a Change>>,
    problems: Vec<Problem>,
}

impl<'a> Order<'a> {
    /// Places a step behind those that must come before it.
    fn place(&mut self, step: Step, waiting: &mut BTreeSet<usize>, makes: &[Step]) {
        if self.placed.contains(&step) {
            return;
        }
        let change = &self.changes[step.change];
        if !waiting.insert(step.change) {
            self.problems
                .push(Problem::new(&change.address, Impossible::Exchange));
            return;
        }
        for first in self.bearers(change).into_iter().chain(self.inside(step)) {
            self.place(first, waiting, makes);
        }
        for blocker in self.in_the_way(change) {
            let of_blocker = |step: &&Step| self.changes[step.change].is_about(&blocker.id);
            let first = self.breaks.iter().chain(makes).find(of_blocker).copied();
            match first.filter(|first| !self.still_blocks(*first, change)) {
                Some(first) => self.place(first, waiting, makes),
                None => {
                    let id = blocker.id.clone();
                    let what = match change.address.kind {
                        Kind::Route => Impossible::RouteTwin(blocker.name.clone(), id),
                        kind if kind.descriptor().is_anywhere => {
                            let parent = self.actual.parent_of(blocker);
                            let parent = parent.map(Address::quoted).unwrap_or_default();
                            Impossible::Elsewhere(parent, id)
                        }
                        _ => {
                            let there = Address::new(blocker.resource.kind(), &blocker.name);
                            Impossible::InTheWay(format!("{} ({id})", there.quoted()))
                        }
                    };
                    self.problems.push(Problem::new(&change.address, what));
                }
            }
        }
        self.problems.extend(self.twin(change));
        if let Operation::Create {
            after: Resource::Route(route),
        } = &change.operation
        {
            for way in self.ways(route, None) {
                self.routes.entry(way).or_default().push(change);
            }
        }
        self.placed.insert(step);
        self.steps.push(step);
    }

    /// Returns the steps by which others of its name go, where this change has to come behind them: peers, and objects of a
    /// kind whose names are unique, which two runs at once can make and no change passes (docs/netbird-api.md, "Unique
    /// names").
    fn bearers(&self, change: &Change) -> Vec<Step> {
        let kind = change.address.kind;
        let is_alone = kind == Kind::Peer || kind.descriptor().has_unique_names;
        let waits = is_alone && change.operation.after().is_some();
        let bears_it = |step: &&Step| {
            let other = &self.changes[step.change];
            matches!(&other.operation, Operation::Delete { live } if live.name == change.name())
                && other.address.kind == kind
        };
        let bearers = self.breaks.iter().filter(|_| waits);
        let bearers = bearers.filter(bears_it);
        // what bears the name of a new one gets another
        let is_new = matches!(change.operation, Operation::Create { .. });
        let gives_up = |step: &&Step| {
            let other = &self.changes[step.change];
            let live = other.operation.live();
            other.address.kind == kind
                && other.address.within == change.address.within
                && other.name() != change.name()
                && live.is_some_and(|live| live.name == change.name())
        };
        let renames = self.renames.iter().filter(|_| is_new && kind != Kind::Peer);
        bearers.chain(renames.filter(gives_up)).copied().collect()
    }

    /// Returns the steps by which what stands in an object goes that a step takes away.
    fn inside(&self, step: Step) -> Vec<Step> {
        let parent = match (&self.changes[step.change].operation, step.part) {
            (Operation::Delete { live }, _) => live,
            (Operation::Replace { live, .. }, Part::Breaking) => live,
            _ => return Vec::new(),
        };
        let inside = |other: &&Step| {
            let live = self.changes[other.change].operation.live();
            live.is_some_and(|live| live.within.as_ref() == Some(&parent.id))
        };
        self.breaks.iter().filter(inside).copied().collect()
    }

    /// Another new route of the plan that keeps the server from taking this one.
    fn twin(&self, change: &Change) -> Option<Problem> {
        let Resource::Route(wanted) = change.operation.after()? else {
            return None;
        };
        let ways = self.ways(wanted, wanted.peer.as_ref().and_then(PeerRef::id));
        let others = ways.iter().filter_map(|way| self.routes.get(way)).flatten();
        // what is in the way as it is now was told already
        let told = |after: &Resource| {
            let live = change.operation.live();
            live.is_some_and(|live| self.blocks(&live.resource, after))
        };
        let is_told = |other: &Change| other.operation.after().is_some_and(told);
        let mut others = others.copied();
        let twin = others.find(|other| !is_told(other))?;
        let what = Impossible::NewRouteTwin(twin.address.name.clone());
        Some(Problem::new(&change.address, what))
    }

    /// Returns whether the route of a step is in the way of `change` even when the step is done.
    fn still_blocks(&self, step: Step, change: &Change) -> bool {
        let operation = &self.changes[step.change].operation;
        let after = operation.outcome();
        let after = after.filter(|_| matches!(operation, Operation::Update { .. }));
        match (after, change.operation.after()) {
            (Some(after), Some(wanted)) => self.blocks(&after, wanted),
            _ => false,
        }
    }

    /// Returns the live objects that the server does not take this one beside.
    fn in_the_way(&self, change: &Change) -> Vec<&'a Live> {
        let Some(wanted) = change.operation.after() else {
            return Vec::new();
        };
        let own = change.operation.live().map(|live| &live.id);
        let actual: &'a Actual = self.actual;
        let others = actual.each();
        let is_anywhere = change.address.kind.descriptor().is_anywhere;
        let stays = |id: &Id| !self.going.contains(id);
        let is_beside = |address: &Address, live: &Live| {
            address.within == change.address.within && live.within.as_ref().is_none_or(stays)
        };
        let in_the_way = others.filter(|(address, live)| {
            let has_its_name = is_anywhere && address.name == change.address.name;
            address.kind == change.address.kind
                && Some(&live.id) != own
                && (is_anywhere || is_beside(address, live))
                && (has_its_name || self.blocks(&live.resource, wanted))
        });
        in_the_way.map(|(_, live)| live).collect()
    }

    /// Returns whether the server refuses `wanted` because of `other` (docs/netbird-api.md, "Routes"): they are of the
    /// same network or domains and share a group of routers, or a peer in one. A route through a single peer is never
    /// in the way, but others can be in its way.
    fn blocks(&self, other: &Resource, wanted: &Resource) -> bool {
        let (Resource::Route(other), Resource::Route(wanted)) = (other, wanted) else {
            return wanted.excludes(other);
        };
        let single = wanted.peer.as_ref().and_then(PeerRef::id);
        wanted.same_prefix(other)
            && !self
                .ways(wanted, single)
                .is_disjoint(&self.ways(other, None))
    }

    /// Returns the ways of a route: its network or domains through each group of routers, and each peer in one. Of two routes that
    /// share one the server takes the first only.
    fn ways(&self, route: &Route, single: Option<&Id>) -> BTreeSet<String> {
        let groups = route.peer_groups.iter();
        let peers = groups
            .clone()
            .filter_map(|name| self.members.get(name.as_str()));
        let peers = peers.flatten().copied().chain(single);
        let peers = peers.map(|peer| format!("peer {peer}"));
        let all = groups.map(|name| format!("group {name}")).chain(peers);
        all.map(|router| format!("{:?} {:?} {router}", route.network, route.domains))
            .collect()
    }
}

/// Returns the members that each group has when routes are written: new ones are in by then, and none has left.
fn members<'a>(changes: &'a [Change], actual: &'a Actual) -> BTreeMap<&'a str, BTreeSet<&'a Id>> {
    let live = actual.each();
    let live = live.map(|(address, live)| (address.name.as_str(), &live.resource));
    let after = changes
        .iter()
        .filter_map(|change| Some((change.address.name.as_str(), change.operation.after()?)));
    let mut members: BTreeMap<&str, BTreeSet<&Id>> = BTreeMap::new();
    for (name, resource) in live.chain(after) {
        if let Some(peers) = resource.members() {
            members.entry(name).or_default().extend(peers);
        }
    }
    members
}
