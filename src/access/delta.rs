//! Who gains and who loses which reach by a plan: only pairs that a change touches are looked at.

mod route;
mod rule;
mod tally;

use std::collections::{BTreeSet, HashSet};

use super::reach::{ClassAt, Reach};
use super::routes::{self, Target};
use super::traffic::Traffic;
use super::world::{BEFORE, End, GroupAt, Node, NodeAt, Rule, SIDES, What, World};
use super::{Covered, Delta, Passage, Side, Why};
use crate::address::Address;
use crate::id::Id;

use tally::{By, Pairs, Share, Tally};

/// Most rules that are named as those which let something through anyway.
const MOST_RULES: usize = 3;
/// Most machines of a group that are named one by one where it is not all of them.
const MOST_NAMES: usize = 4;

/// Makes the delta. `label` says what people call a peer; `peers`: machines are named one by one, each entry a full product.
pub(super) fn delta(world: &World, label: &dyn Fn(&Id) -> String, peers: bool) -> Delta {
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
    let targets = routes::targets(world);
    if affected.is_empty() && !targets.iter().any(Target::differs) {
        return Delta::default();
    }
    let mut maker = Maker {
        reach: Reach::new(world),
        label,
        peers,
        delta: Delta::default(),
    };
    for rule in &affected {
        maker.rule(*rule);
    }
    for target in &targets {
        maker.target(target);
    }
    let mut delta = maker.delta;
    delta.sort();
    delta
}

struct Maker<'w> {
    reach: Reach<'w>,
    label: &'w dyn Fn(&Id) -> String,
    peers: bool,
    delta: Delta,
}

impl Maker<'_> {
    /// One entry of what is told of a rule and two groups, but for different conditions: the traffic of all its pairs. Says
    /// whether each of them has all of it. Where machines are named, nothing is put together.
    fn gathered<K: PartialEq + Copy>(
        &self,
        found: Tally<(Share, K)>,
    ) -> Vec<((Share, K), Pairs, bool)> {
        let mut gathered: Vec<((Share, K), Pairs, bool)> = Vec::new();
        for (key, pairs) in found {
            let ((traffic, passes), by) = &key;
            let known = gathered.iter_mut().find(|(((_, other), other_by), ..)| {
                !self.peers && other == passes && other_by == by
            });
            match known {
                Some((((all, _), _), all_pairs, is_even)) => {
                    *all = all.union(traffic);
                    all_pairs.join(pairs);
                    *is_even = false;
                }
                None => gathered.push((key, pairs, true)),
            }
        }
        gathered
    }

    /// What changed of the classes of a pair, where it is not the rule.
    fn causes(&self, by: By, from: ClassAt, to: ClassAt) -> Vec<Address> {
        let class = match by {
            By::Rule => return Vec::new(),
            By::Source => from,
            By::Destination => to,
        };
        let node = self.reach.at(class).nodes.first();
        let causes = node.map(|node| self.reach.world.nodes[*node as usize].causes.clone());
        causes.unwrap_or_default()
    }

    /// A group as people name it.
    fn side(&self, group: GroupAt) -> Side {
        let group = &self.reach.world.groups[group as usize];
        let name = match group.end {
            End::Peer => (self.label)(&Id::from(&*group.name)),
            _ => group.name.clone(),
        };
        Side {
            end: group.end,
            name,
            ..Side::default()
        }
    }

    /// A side with its machines, of those that are in these classes. `group`: where few of it are named one by one; nobody
    /// is missing who is on the other side.
    fn counted(
        &self,
        side: &Side,
        group: Option<GroupAt>,
        classes: &BTreeSet<ClassAt>,
        other: &BTreeSet<ClassAt>,
    ) -> Side {
        let world = self.reach.world;
        let nodes = |classes: &BTreeSet<ClassAt>| -> Vec<NodeAt> {
            let classes = classes.iter().map(|class| self.reach.at(*class));
            classes
                .flat_map(|class| class.nodes.iter().copied())
                .collect()
        };
        let of_all = |nodes: &[NodeAt], is: fn(&Node) -> bool| {
            let nodes = nodes.iter().map(|node| &world.nodes[*node as usize]);
            nodes.filter(|node| is(node)).count()
        };
        let these = nodes(classes);
        let is_part = group.is_some_and(|group| {
            let known: HashSet<NodeAt> = these.iter().copied().chain(nodes(other)).collect();
            let mut members = world.groups[group as usize].members.iter().flatten();
            members.any(|node| !known.contains(node))
        });
        let names = these
            .iter()
            .map(|node| match &world.nodes[*node as usize].what {
                What::Peer(id) => (self.label)(id),
                What::Key(name) => format!("{name} (to come)"),
                What::Resource(place) => match &place.address {
                    // the address says how much that is, and which of the two
                    Some(address) if place.is_moved || is_network(address) => {
                        format!("{} {address}", place.name)
                    }
                    _ => place.name.clone(),
                },
            });
        let is_few = is_part && these.len() <= MOST_NAMES;
        let mut names: Vec<String> = match self.peers || is_few {
            true => names.collect(),
            false => Vec::new(),
        };
        names.sort();
        let addresses = these
            .iter()
            .filter_map(|node| match &world.nodes[*node as usize].what {
                What::Resource(place) => place.address.clone(),
                _ => None,
            });
        let addresses: BTreeSet<String> = addresses.collect();
        let resources = of_all(&these, |node| node.is_resource());
        Side {
            machines: these.len() - resources,
            to_come: of_all(&these, |node| matches!(node.what, What::Key(_))),
            resources,
            names,
            is_few,
            address: match side.end {
                End::Resource => addresses.first().cloned(),
                _ => side.address.clone(),
            },
            networks: addresses.into_iter().filter(|at| is_network(at)).collect(),
            ..side.clone()
        }
    }

    #[expect(clippy::too_many_arguments, reason = "the parts of one entry")]
    fn tell(
        &mut self,
        which: usize,
        (from_side, to_side): &(Side, Side),
        (from, to): (Option<GroupAt>, Option<GroupAt>),
        pairs: &Pairs,
        (traffic, is_even): (Traffic, bool),
        condition: Option<(bool, BTreeSet<String>)>,
        why: Why,
    ) {
        let products = match self.peers {
            true => pairs.products(),
            false => vec![(pairs.from(), pairs.to())],
        };
        let nobody = BTreeSet::new();
        for (sources, destinations) in products {
            // who joins is named, whoever is on the other side
            let beside = match (from, to) {
                (Some(_), Some(_)) => [&destinations, &sources],
                _ => [&nobody, &nobody],
            };
            let passage = Passage {
                from: self.counted(from_side, from, &sources, beside[0]),
                to: self.counted(to_side, to, &destinations, beside[1]),
                traffic: traffic.clone(),
                is_even,
                condition: condition.clone(),
                why: why.clone(),
            };
            self.list(which).push(passage);
        }
    }

    fn tell_covered(
        &mut self,
        which: usize,
        (from, to): &(Side, Side),
        pairs: &Pairs,
        traffic: Traffic,
        rule: &str,
    ) {
        let world = self.reach.world;
        let by = pairs.rules.iter().take(MOST_RULES);
        let covered = Covered {
            from: self.counted(from, None, &pairs.from(), &pairs.to()),
            to: self.counted(to, None, &pairs.to(), &pairs.from()),
            traffic,
            policy: rule.to_owned(),
            by: by.map(|at| world.rules[*at].name.clone()).collect(),
        };
        match which {
            BEFORE => self.delta.still.push(covered),
            _ => self.delta.already.push(covered),
        }
    }

    fn list(&mut self, which: usize) -> &mut Vec<Passage> {
        match which {
            BEFORE => &mut self.delta.lost,
            _ => &mut self.delta.gained,
        }
    }
}

/// Whether it is more than one address.
fn is_network(address: &str) -> bool {
    match address.rsplit_once('/') {
        Some((_, "32" | "128")) | None => false,
        Some(_) => true,
    }
}
