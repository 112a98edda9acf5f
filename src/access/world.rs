//! All that says who reaches whom, as it is and as a plan would leave it: machines, groups, rules of policies, networks, routes.

mod build;

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fmt;

use super::Place;
use super::traffic::Traffic;
use crate::account::Actual;
use crate::base::Id;
use crate::model::{ALL, Address};
use crate::plan::{Memberships, Plan};

use build::Builder;

/// As the account is.
pub(super) const BEFORE: usize = 0;
/// As the plan would leave it.
pub(super) const AFTER: usize = 1;
/// Both.
pub(super) const SIDES: [usize; 2] = [BEFORE, AFTER];

/// A place in `World::groups`.
pub(super) type GroupAt = u32;
/// A place in `World::nodes`.
pub(super) type NodeAt = u32;

/// What can be reached, or can open a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum End {
    /// A group.
    Group,
    /// One machine.
    Peer,
    /// A resource of a network.
    Resource,
    /// A network or domains behind a route.
    Route,
}

/// A group, or what a rule names in the place of one.
pub(super) struct Group {
    pub(super) end: End,
    pub(super) name: String,
    /// Its machines and resources.
    pub(super) members: [Vec<NodeAt>; 2],
}

/// A machine or a resource.
pub(super) struct Node<'a> {
    pub(super) what: What<'a>,
    /// Whether it is there.
    pub(super) is: [bool; 2],
    /// Of a machine: whether NetBird's SSH server is on. Of a resource: whether a router leads to it.
    pub(super) is_on: [bool; 2],
    /// Of a resource: whether others lead to it after.
    pub(super) is_rerouted: bool,
    /// The groups that it is in, sorted.
    pub(super) groups: [Vec<GroupAt>; 2],
    /// What changes about it, where something does.
    pub(super) causes: BTreeSet<Address>,
}

/// What a node is.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum What<'a> {
    /// A live peer.
    Peer(&'a Id),
    /// The machines that will enroll with that setup key, as one.
    Key(String),
    /// A resource of a network: at another address, or behind the routers of another network, it is another one.
    Resource(Place, NetworkKey),
}

impl Node<'_> {
    pub(super) fn is_resource(&self) -> bool {
        matches!(self.what, What::Resource(..))
    }

    pub(super) fn differs(&self) -> bool {
        let of = |side: usize| (self.is[side], self.is_on[side], &self.groups[side]);
        self.is_rerouted || of(BEFORE) != of(AFTER)
    }
}

/// A network: its id, or in words one that the plan makes.
pub(super) type NetworkKey = Option<String>;

/// What a rule lets through, or drops.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Grant {
    pub(super) is_on: bool,
    pub(super) accepts: bool,
    pub(super) both_ways: bool,
    pub(super) traffic: Traffic,
    /// A machine with NetBird's SSH server lets all users in by it.
    pub(super) opens_ssh: bool,
    /// Who opens the connection; All alone where it is among them.
    pub(super) from: Vec<GroupAt>,
    /// To whom or what: beside All others stand for their resources.
    pub(super) to: Vec<GroupAt>,
    /// Posture checks that the source has to pass.
    pub(super) checks: BTreeSet<Check>,
}

impl Grant {
    /// Whether it lets through, or drops, from one group to another.
    pub(super) fn names(&self, [from, to]: [GroupAt; 2]) -> bool {
        let has = |from, to| self.from.contains(from) && self.to.contains(to);
        has(&from, &to) || self.both_ways && has(&to, &from)
    }
}

/// A posture check. One that the plan changes is two: as it is, and as it will be.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Check {
    pub(super) name: String,
    /// The side, of one that changes.
    pub(super) side: Option<usize>,
}

impl Check {
    /// The check in whatever form.
    pub(super) fn whole(&self) -> Check {
        Check {
            name: self.name.clone(),
            side: None,
        }
    }
}

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let when = match self.side {
            None => "",
            Some(BEFORE) => " (old version)",
            Some(_) => " (new version)",
        };
        write!(f, "{:?}{when}", self.name)
    }
}

/// The rule of a policy.
pub(super) struct Rule {
    pub(super) name: String,
    /// Whether the policy itself is changed.
    pub(super) is_changed: bool,
    pub(super) grants: [Option<Grant>; 2],
}

impl Rule {
    pub(super) fn differs(&self) -> bool {
        self.grants[BEFORE] != self.grants[AFTER]
    }

    /// Whether it is enforced on that side, and lets something through.
    pub(super) fn accepts(&self, side: usize) -> bool {
        self.on(side).is_some_and(|grant| grant.accepts)
    }

    /// As it is enforced on that side.
    pub(super) fn on(&self, side: usize) -> Option<&Grant> {
        self.grants[side].as_ref().filter(|grant| grant.is_on)
    }

    /// The groups that it names on either side.
    pub(super) fn groups(&self) -> impl Iterator<Item = &GroupAt> {
        let grants = SIDES.into_iter().filter_map(|side| self.on(side));
        grants.flat_map(|grant| grant.from.iter().chain(&grant.to))
    }

    /// The posture checks that the source has to pass on either side.
    pub(super) fn checks(&self) -> impl Iterator<Item = &Check> {
        let grants = self.grants.iter().flatten();
        grants.flat_map(|grant| &grant.checks)
    }
}

/// A route, and what it leads to.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Path {
    pub(super) name: String,
    pub(super) is_on: bool,
    /// The network, or the domains.
    pub(super) target: String,
    pub(super) routers: Vec<GroupAt>,
    pub(super) clients: Vec<GroupAt>,
    pub(super) guards: Vec<GroupAt>,
}

/// A router of a network that is on.
#[derive(Debug, PartialEq)]
struct Router {
    network: NetworkKey,
    /// Whose peers route.
    through: Vec<GroupAt>,
}

/// All of it.
pub(super) struct World<'a> {
    actual: &'a Actual,
    pub(super) nodes: Vec<Node<'a>>,
    pub(super) groups: Vec<Group>,
    pub(super) rules: Vec<Rule>,
    pub(super) routes: [Vec<Path>; 2],
    routers: [Vec<Router>; 2],
    /// Of posture checks that change: those that whoever passes the other form passes, too.
    pub(super) implied: BTreeSet<Check>,
    by_name: HashMap<End, HashMap<String, GroupAt>>,
}

impl<'a> World<'a> {
    /// The account as it is, and as the plan would leave it. `memberships` are those that this version of the file grants
    /// and the one before did not.
    pub(super) fn new(actual: &'a Actual, plan: &'a Plan, memberships: &Memberships) -> World<'a> {
        let mut world = World {
            actual,
            nodes: Vec::new(),
            groups: Vec::new(),
            rules: Vec::new(),
            routes: Default::default(),
            routers: Default::default(),
            implied: BTreeSet::new(),
            by_name: HashMap::new(),
        };
        world.group(End::Group, ALL);
        Builder::new(world, plan, memberships).built()
    }

    /// The place of a group, or of what a rule names in the place of one; it is made where it is not there.
    fn group(&mut self, end: End, name: &str) -> GroupAt {
        if let Some(at) = self.find(end, name) {
            return at;
        }
        let at = place(self.groups.len());
        self.groups.push(Group {
            end,
            name: name.to_owned(),
            members: [Vec::new(), Vec::new()],
        });
        let names = self.by_name.entry(end).or_default();
        names.insert(name.to_owned(), at);
        at
    }

    /// The place of a group that is there.
    pub(super) fn find(&self, end: End, name: &str) -> Option<GroupAt> {
        self.by_name.get(&end)?.get(name).copied()
    }

    fn add_node(&mut self, what: What<'a>, is: [bool; 2]) -> NodeAt {
        let at = place(self.nodes.len());
        self.nodes.push(Node {
            what,
            is,
            is_on: [false, false],
            is_rerouted: false,
            groups: [Vec::new(), Vec::new()],
            causes: BTreeSet::new(),
        });
        at
    }

    /// Puts the members into the groups.
    fn join(&mut self) {
        for at in 0..self.nodes.len() {
            for side in SIDES {
                let node = &mut self.nodes[at];
                node.groups[side].sort_unstable();
                node.groups[side].dedup();
                for group in node.groups[side].clone() {
                    self.groups[group as usize].members[side].push(place(at));
                }
            }
        }
        let leading = SIDES.map(|side| self.leading(side));
        let differ = self.routers[BEFORE] != self.routers[AFTER];
        for at in 0..self.nodes.len() {
            let What::Resource(_, network) = &self.nodes[at].what else {
                continue;
            };
            let leads = leading.each_ref().map(|it| it.contains(network));
            // who routes a network gets nothing of it
            let routing = |side: usize| self.routing(place(at), side);
            let is_rerouted = differ && routing(BEFORE) != routing(AFTER);
            let node = &mut self.nodes[at];
            node.is_rerouted = is_rerouted;
            SIDES
                .iter()
                .for_each(|side| node.is_on[*side] &= leads[*side]);
        }
    }

    /// The group of one machine alone: a peer by its id, or the machines that a key will enroll by its name.
    pub(super) fn alone(&mut self, name: &str) -> Option<GroupAt> {
        let is_it = |node: &Node| match &node.what {
            What::Peer(id) => id.0 == name,
            What::Key(key) => key == name,
            What::Resource(..) => false,
        };
        let node = place(self.nodes.iter().position(is_it)?);
        let group = self.group(End::Peer, name);
        self.enter(node, group);
        Some(group)
    }

    /// Whether that is a peer which waits for approval.
    pub(super) fn waits(&self, id: &str) -> bool {
        let mut peers = self.actual.peers.iter();
        peers.any(|peer| peer.id.0 == id && peer.approval_required)
    }

    /// Puts a machine into one more group.
    fn enter(&mut self, node: NodeAt, group: GroupAt) {
        for side in SIDES {
            let of = &mut self.nodes[node as usize];
            if of.is[side] && !of.groups[side].contains(&group) {
                of.groups[side].push(group);
                of.groups[side].sort_unstable();
                self.groups[group as usize].members[side].push(node);
            }
        }
    }

    /// Puts a machine that would be in a group into it, where it has fewer than so many.
    pub(super) fn visit(&mut self, group: GroupAt, side: usize, least: usize) {
        let of = &self.groups[group as usize];
        if of.end != End::Group || of.members[side].len() >= least {
            return;
        }
        let name = format!("a machine of {}", of.name);
        let node = self.add_node(What::Key(name), [true, true]);
        self.enter(node, EVERYBODY);
        self.enter(node, group);
    }

    /// Whose peers lead to a resource.
    pub(super) fn routing(&self, node: NodeAt, side: usize) -> Vec<GroupAt> {
        let What::Resource(_, network) = &self.nodes[node as usize].what else {
            return Vec::new();
        };
        let of = self.routers[side].iter();
        let of = of.filter(|router| router.network == *network);
        of.flat_map(|router| &router.through).copied().collect()
    }

    /// The groups as people call them, or what stands in the place of each, with its kind.
    pub(super) fn called<'b>(&self, groups: impl IntoIterator<Item = &'b GroupAt>) -> Vec<String> {
        let called = |at: &GroupAt| match self.groups[*at as usize].end {
            End::Peer => format!("peer {:?}", self.name(*at)),
            End::Resource => format!("network resource {:?}", self.name(*at)),
            End::Group | End::Route => format!("group {:?}", self.name(*at)),
        };
        groups.into_iter().map(called).collect()
    }

    /// A group as people call it, or what stands in the place of one.
    pub(super) fn name(&self, group: GroupAt) -> String {
        let Group { end, name, .. } = &self.groups[group as usize];
        match end {
            End::Peer => self.label(&Id::from(name.as_str())),
            _ => name.clone(),
        }
    }

    /// What people call a network.
    pub(super) fn network(&self, key: &NetworkKey) -> String {
        let key = key.as_deref().unwrap_or_default();
        let live = self.actual.live(&Id::from(key));
        live.map_or_else(|| key.to_owned(), |(at, _)| at.to_string())
    }

    /// What people call a peer.
    pub(super) fn label(&self, id: &Id) -> String {
        self.actual.peer_label(id)
    }

    /// The networks that a router leads to: it is on, and has a machine.
    fn leading(&self, side: usize) -> HashSet<NetworkKey> {
        let has_machine = |group: &GroupAt| {
            let mut members = self.groups[*group as usize].members[side].iter();
            members.any(|node| !self.nodes[*node as usize].is_resource())
        };
        let leads = |router: &&Router| router.through.iter().any(has_machine);
        let leading = self.routers[side].iter().filter(leads);
        leading.map(|router| router.network.clone()).collect()
    }
}

/// The group of every machine.
pub(super) const EVERYBODY: GroupAt = 0;

/// Returns a place in a list in the form in which the world has it.
pub(super) fn place(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}
