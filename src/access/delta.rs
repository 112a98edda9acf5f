//! Who gains and who loses which reach by a plan: only pairs that a change touches are looked at.

mod route;
mod rule;
mod tally;

use std::collections::{BTreeSet, HashSet};

use super::reach::{ClassAt, MOST_WORDS, Reach};
use super::routes;
use super::world::{AFTER, BEFORE, End, GroupAt, Node, NodeAt, Rule, SIDES, What, World};
use super::{Delta, Members, Passage, Place, Side, is_network};
use crate::model::address::Address;

use tally::{By, Pairs, Said, Tally};

/// Most machines of a group that are named one by one where it is not all of them.
const MOST_NAMES: usize = 4;

/// About what a passage costs, in the steps of [`Reach::spend`].
const PASSAGE: usize = 5_000;

/// Makes the delta. `peers`: machines are named one by one, each entry a full product. `None` where that would take too long.
pub(super) fn delta(world: &World, peers: bool) -> Option<Delta> {
    let mut touched = HashSet::new();
    for node in world.nodes.iter().filter(|node| node.differs()) {
        touched.extend(node.groups.iter().flatten().copied());
    }
    let is_affected = |rule: &Rule| {
        let grants = SIDES.iter().filter_map(|side| rule.on(*side));
        let mut groups = grants.flat_map(|grant| grant.from.iter().chain(&grant.to));
        rule.differs() || groups.any(|group| touched.contains(group))
    };
    let rules = world.rules.iter().enumerate();
    let affected: Vec<usize> = rules
        .filter(|(_, rule)| is_affected(rule))
        .map(|(at, _)| at)
        .collect();
    let mut paths = world.routes.iter().map(|route| &route.paths);
    if affected.is_empty() && paths.all(|paths| paths[BEFORE] == paths[AFTER]) {
        return Some(Delta::default());
    }
    let mut maker = Maker {
        reach: Reach::within(world, MOST_WORDS)?,
        peers,
        delta: Delta::default(),
    };
    for rule in &affected {
        maker.rule(*rule);
    }
    for target in &routes::targets(&maker.reach) {
        maker.target(target);
    }
    let mut delta = maker.delta;
    delta.sort();
    (!maker.reach.is_spent()).then_some(delta)
}

struct Maker<'w> {
    reach: Reach<'w>,
    peers: bool,
    delta: Delta,
}

impl Maker<'_> {
    /// One entry of what is lost or gained by a rule between two groups, but for different conditions: the traffic of all its
    /// pairs. Says whether each of them has all of it. Where machines are named, nothing is put together.
    fn gathered(&self, told: Tally) -> Vec<(Said, Pairs, bool)> {
        let mut gathered: Vec<(Said, Pairs, bool)> = Vec::new();
        for (said, pairs) in told {
            let is_alike = |other: &Said| {
                (other.passes, other.by, other.is_news) == (said.passes, said.by, true)
            };
            let known = gathered.iter_mut();
            let mut known =
                known.filter(|(other, ..)| !self.peers && said.is_news && is_alike(other));
            match known.next() {
                Some((all, all_pairs, is_even)) => {
                    all.traffic = all.traffic.union(&said.traffic);
                    all_pairs.join(pairs);
                    *is_even = false;
                }
                None => gathered.push((said, pairs, true)),
            }
        }
        gathered
    }

    /// Where that is told: of what was before or of what is after, and whether it is lost or gained.
    fn list(&mut self, which: usize, is_news: bool) -> &mut Vec<Passage> {
        match (which, is_news) {
            (BEFORE, true) => &mut self.delta.lost,
            (_, true) => &mut self.delta.gained,
            (BEFORE, false) => &mut self.delta.still,
            (_, false) => &mut self.delta.already,
        }
    }

    /// What changed of the classes of a pair, where it is not the rule.
    fn causes(&self, by: By, from: ClassAt, to: ClassAt) -> BTreeSet<Address> {
        let class = match by {
            By::Rule => return BTreeSet::new(),
            By::Source => from,
            By::Destination => to,
        };
        self.reach.at(class).causes.clone()
    }

    /// What a passage is about on a side: a group, or what stands for one, with what of it is in these classes. `is_named`:
    /// where few of it are named one by one; nobody is missing who is on the other side.
    fn side(
        &self,
        (at, is_named): (GroupAt, bool),
        classes: &BTreeSet<ClassAt>,
        other: &BTreeSet<ClassAt>,
    ) -> Side {
        let world = self.reach.world;
        let group = &world.groups[at as usize];
        self.reach.spend(PASSAGE + group.members[AFTER].len());
        let these = self.nodes(classes);
        let nodes = || these.iter().map(|node| &world.nodes[*node as usize]);
        let addresses = nodes().filter_map(|node| match &node.what {
            What::Resource(place) => Some(place.address.clone()),
            _ => None,
        });
        let addresses: BTreeSet<String> = addresses.collect();
        let number = |is: fn(&Node) -> bool| nodes().filter(|node| is(node)).count();
        match group.end {
            End::Peer => return Side::Peer(world.name(at)),
            End::Resource => {
                return Side::Resource(Place {
                    name: group.name.clone(),
                    address: addresses.into_iter().next().unwrap_or_default(),
                });
            }
            End::Group | End::Route => {}
        }
        let known: HashSet<NodeAt> = these.iter().copied().chain(self.nodes(other)).collect();
        let mut members = group.members.iter().flatten();
        let is_part = is_named && members.any(|node| !known.contains(node));
        let is_few = is_part && these.len() <= MOST_NAMES;
        let mut names: Vec<String> = match self.peers || is_few {
            true => nodes().map(|node| self.name(node)).collect(),
            false => Vec::new(),
        };
        names.sort();
        let resources = number(|node| node.is_resource());
        Side::Group(Members {
            group: group.name.clone(),
            machines: these.len() - resources,
            to_come: number(|node| matches!(node.what, What::Key(_))),
            resources,
            names,
            is_few,
            networks: addresses.into_iter().filter(|at| is_network(at)).collect(),
        })
    }

    /// The machines and resources of these classes.
    fn nodes(&self, classes: &BTreeSet<ClassAt>) -> Vec<NodeAt> {
        let nodes = classes
            .iter()
            .flat_map(|class| &self.reach.at(*class).nodes);
        nodes.copied().collect()
    }

    /// A machine or a resource as people name it.
    fn name(&self, node: &Node) -> String {
        match &node.what {
            What::Peer(id) => self.reach.world.label(id),
            What::Key(name) => format!("{name} (not enrolled yet)"),
            // the address says how much that is, and which of the two
            What::Resource(place) if place.is_moved || is_network(&place.address) => {
                format!("{} {}", place.name, place.address)
            }
            What::Resource(place) => place.name.clone(),
        }
    }

    /// What `passage` makes of the two sides of these pairs, each with whether few of it are named.
    fn passages(
        &self,
        [from, to]: [(GroupAt, bool); 2],
        pairs: &Pairs,
        passage: impl Fn([Side; 2]) -> Passage,
    ) -> Vec<Passage> {
        let products = match self.peers {
            true => pairs.products(),
            false => vec![(pairs.from(), pairs.to())],
        };
        let nobody = BTreeSet::new();
        let passages = products.into_iter().map(|(sources, destinations)| {
            // who joins is named, whoever is on the other side
            let beside = match (from.1, to.1) {
                (true, true) => [&destinations, &sources],
                _ => [&nobody, &nobody],
            };
            passage([
                self.side(from, &sources, beside[0]),
                self.side(to, &destinations, beside[1]),
            ])
        });
        passages.collect()
    }
}
