//! The order of operations: make before break.
//!
//! What grants comes first, in the order of kinds, so that references point to what is there; what takes away comes
//! last, in reverse. A group that gains and loses members is written twice: the new ones first, the old ones leave at
//! the end, when everything that replaces their access is in place. Routes are the exception: the server refuses a
//! second route of a network through the same routers (409), so the old one goes first. So does a peer whose name
//! another gets: while it lives, the server gives the name's DNS label a suffix (docs/netbird-api.md, "DNS labels of
//! peers").

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::account::Actual;
use crate::base::Id;
use crate::model::{
    Address, Change, Impossible, Kind, Live, Operation, PeerRef, Problem, Resource, Unique,
};

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

/// Returns the steps of the changes, or why there is no order. `strange`: what other files manage.
pub(super) fn order(
    changes: &[Change],
    actual: &Actual,
    strange: &BTreeMap<Id, String>,
) -> Result<Vec<Step>, Vec<Problem>> {
    let (mut makes, mut breaks, mut renames) = (Vec::new(), Vec::new(), Vec::new());
    for (index, change) in changes.iter().enumerate() {
        let live = change.operation.live();
        let is_renamed = live.is_some_and(|live| live.name != change.name());
        let (is_made, is_broken) = match &change.operation {
            Operation::Create { .. } => (true, false),
            Operation::Delete { .. } => (false, true),
            // an old key goes as soon as the new one is sealed
            Operation::Replace { .. } => (true, change.address.kind != Kind::SetupKey),
            Operation::Update { .. } => {
                let loses = !change.removed_members().is_empty();
                let gains = is_renamed || !change.added_members().is_empty();
                (!loses || gains, loses)
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
        renames.extend((is_made && is_renamed).then(|| step(Part::Making)));
    }
    let kind = |step: &Step| changes[step.change].address.kind;
    // new keys follow each other, since they are stored by the block; whether machines follow the groups of their users is
    // set before these change
    let follows = |step: &Step| kind(step) == Kind::User;
    makes.sort_by_key(|step| (follows(step), kind(step), changes[step.change].makes_key()));
    // members leave before their groups go
    let leaves = |step: &Step| matches!(changes[step.change].operation, Operation::Delete { .. });
    breaks.sort_by_key(|step| (std::cmp::Reverse(kind(step)), leaves(step)));

    let mut step_of = HashMap::new();
    // what takes an object away counts more
    for step in makes.iter().chain(&breaks) {
        let live = changes[step.change].operation.live();
        step_of.extend(live.map(|live| (&live.id, *step)));
    }
    let mut order = Order {
        changes,
        actual,
        strange,
        step_of,
        renames,
        breaks,
        steps: Vec::new(),
        placed: BTreeSet::new(),
        outcomes: HashMap::new(),
        new: BTreeMap::new(),
        problems: Vec::new(),
    };
    for step in makes {
        order.place(step, &mut BTreeSet::new());
    }
    if !order.problems.is_empty() {
        return Err(order.problems);
    }
    let rest = order.breaks.into_iter();
    let rest = rest.filter(|step| !order.placed.contains(step));
    order.steps.extend(rest);
    Ok(order.steps)
}

struct Order<'a> {
    changes: &'a [Change],
    actual: &'a Actual,
    strange: &'a BTreeMap<Id, String>,
    /// The step by which a live object goes, or else changes.
    step_of: HashMap<&'a Id, Step>,
    /// What gives a name up.
    renames: Vec<Step>,
    breaks: Vec<Step>,
    steps: Vec<Step>,
    placed: BTreeSet<Step>,
    /// What live objects are once the placed steps are done, those that are replaced in their new form; nothing of those that are
    /// gone then.
    outcomes: HashMap<&'a Id, Option<Resource>>,
    /// What the placed steps make, by kind.
    new: BTreeMap<Kind, Vec<&'a Change>>,
    problems: Vec<Problem>,
}

/// What the server does not take another one beside; as it is, unless it is new.
type InTheWay<'a> = (&'a Address, Option<&'a Live>);

impl<'a> Order<'a> {
    /// Places a step behind those that must come before it.
    fn place(&mut self, step: Step, waiting: &mut BTreeSet<Step>) {
        if self.placed.contains(&step) {
            return;
        }
        let change = &self.changes[step.change];
        if !waiting.insert(step) {
            self.problems
                .push(Problem::new(&change.address, Impossible::Exchange));
            return;
        }
        for first in self.before(step) {
            self.place(first, waiting);
        }
        let in_the_way = self.in_the_way(step);
        for (_, live) in &in_the_way {
            let first = live.and_then(|live| self.step_of.get(&live.id).copied());
            first
                .into_iter()
                .for_each(|first| self.place(first, waiting));
        }
        let left = match in_the_way.is_empty() {
            true => Vec::new(),
            false => self.in_the_way(step),
        };
        for (address, live) in left {
            // what waits itself is an exchange
            let step = live.and_then(|live| self.step_of.get(&live.id));
            if step.is_none_or(|step| self.placed.contains(step)) {
                self.problems.push(self.problem(change, address, live));
            }
        }
        match &change.operation {
            Operation::Create { .. } | Operation::Replace { .. } if step.part != Part::Breaking => {
                self.new
                    .entry(change.address.kind)
                    .or_default()
                    .push(change);
            }
            operation => {
                let live = operation.live();
                let outcome = live.map(|live| (&live.id, operation.outcome()));
                self.outcomes.extend(outcome);
            }
        }
        self.placed.insert(step);
        self.steps.push(step);
    }

    /// Returns the steps that come first: of a second step the first one of its change; those by which others of its name go, where it
    /// has to come behind them (peers, and objects of a kind whose names are unique, which two runs at once can make and no change
    /// passes: docs/netbird-api.md, "Unique names"), or by which one gives up the name of a new one or of one whose name is unique;
    /// and those by which what stands in an object goes that it takes away.
    fn before(&self, step: Step) -> Vec<Step> {
        let change = &self.changes[step.change];
        let kind = change.address.kind;
        let parent = match (&change.operation, step.part) {
            (Operation::Delete { live }, _) => Some(&live.id),
            (Operation::Replace { live, .. }, Part::Breaking) => Some(&live.id),
            _ => None,
        };
        let is_unique = kind.descriptor().unique == Unique::Always;
        let is_alone = kind == Kind::Peer || is_unique;
        let waits = is_alone && change.operation.after().is_some();
        let is_new = matches!(change.operation, Operation::Create { .. });
        let has_its_name = |of: &Change| {
            let live = of.operation.live();
            of.address.kind == kind && live.is_some_and(|live| live.name == change.name())
        };
        let goes = |step: &&Step| {
            let of = &self.changes[step.change];
            let inside = of.operation.live().and_then(|live| live.within.as_ref());
            waits && of.deleted().is_some() && has_its_name(of)
                || parent.is_some() && inside == parent
        };
        let gives_up = |step: &&Step| has_its_name(&self.changes[step.change]);
        let going = self.breaks.iter().filter(goes);
        let renames = self.renames.iter().filter(|_| is_new || is_unique);
        let making = (step.part == Part::Breaking).then_some(Step {
            part: Part::Making,
            ..step
        });
        let others = going.chain(renames.filter(gives_up)).copied();
        making.into_iter().chain(others).collect()
    }

    /// Returns what is there by now, and what the server does not take beside what this step makes or changes.
    fn in_the_way(&self, step: Step) -> Vec<InTheWay<'a>> {
        let change = &self.changes[step.change];
        let wanted = change.operation.after();
        let Some(wanted) = wanted.filter(|_| step.part != Part::Breaking) else {
            return Vec::new();
        };
        let own = change.operation.live().map(|live| &live.id);
        let (kind, is_anywhere) = (
            change.address.kind,
            change.address.kind.descriptor().is_anywhere,
        );
        let blocks = |address: &Address, form: &Resource| {
            let has_its_name = is_anywhere && address.name == change.address.name;
            let is_beside = is_anywhere || address.within == change.address.within;
            is_beside && (has_its_name || self.blocks(form, wanted))
        };
        // what stands in an object that goes is gone by then
        let goes = |id: &Id| {
            let step = self.step_of.get(id);
            step.is_some_and(|step| self.changes[step.change].ends(id))
        };
        let live = self.actual.of_kind(kind).filter(|(address, live)| {
            let form = match self.outcomes.get(&live.id) {
                None => Some(&live.resource),
                Some(outcome) => outcome.as_ref(),
            };
            Some(&live.id) != own
                && (is_anywhere || !live.within.as_ref().is_some_and(goes))
                && form.is_some_and(|form| blocks(address, form))
        });
        let live = live.map(|(address, live)| (address, Some(live)));
        let new = self.new.get(&kind).into_iter().flatten().copied();
        let new = new.filter(|of| {
            of.operation
                .after()
                .is_some_and(|form| blocks(&of.address, form))
        });
        live.chain(new.map(|of| (&of.address, None))).collect()
    }

    /// Returns whether the server refuses `wanted` because of `other` (docs/netbird-api.md, "Routes"): they are of the
    /// same network or domains and share a group of routers, or a peer in one. A route through a single peer is never
    /// in the way, but others can be in its way.
    fn blocks(&self, other: &Resource, wanted: &Resource) -> bool {
        if wanted.excludes(other) {
            return true;
        }
        let (Resource::Route(other), Resource::Route(wanted)) = (other, wanted) else {
            return false;
        };
        let peers = |groups: &BTreeSet<String>| {
            let groups = groups.iter();
            groups
                .flat_map(|name| self.members(name))
                .collect::<BTreeSet<&Id>>()
        };
        let single = wanted.peer.as_ref().and_then(PeerRef::id);
        let shares_a_peer = || {
            let mut wanted = peers(&wanted.peer_groups);
            wanted.extend(single);
            !wanted.is_disjoint(&peers(&other.peer_groups))
        };
        wanted.same_prefix(other) && shares_a_peer()
    }

    /// Returns the members that a group has when routes are written: new ones are in by then, and none has left.
    fn members(&self, group: &str) -> BTreeSet<&'a Id> {
        let address = Address::new(Kind::Group, group);
        let live = self.actual.at(&address).iter().map(|live| &live.resource);
        let changes = self.changes.iter().filter(|of| of.address == address);
        let after = changes.filter_map(|change| change.operation.after());
        let members = live.chain(after).filter_map(Resource::members);
        members.flatten().collect()
    }

    /// Returns why a change cannot be carried out beside what is in its way.
    fn problem(&self, change: &Change, address: &Address, live: Option<&Live>) -> Problem {
        let is_anywhere = address.kind.descriptor().is_anywhere;
        let named = |live: &Live| Address::new(address.kind, &live.name).quoted();
        let file = live.and_then(|live| self.strange.get(&live.id));
        let what = match (address.kind, live) {
            (_, Some(live)) if let Some(file) = file => {
                Impossible::StrangeInTheWay(named(live), live.id.clone(), file.clone())
            }
            (Kind::Route, None) => Impossible::NewRouteTwin(address.name.clone()),
            (Kind::Route, Some(live)) => Impossible::RouteTwin(live.name.clone(), live.id.clone()),
            (_, Some(live)) if is_anywhere => {
                let parent = address.parent().map(|parent| parent.quoted());
                Impossible::Elsewhere(parent.unwrap_or_default(), live.id.clone())
            }
            (_, Some(live)) => Impossible::InTheWay(format!("{} ({})", named(live), live.id)),
            (_, None) => Impossible::InTheWay(address.quoted()),
        };
        Problem::new(&change.address, what)
    }
}
