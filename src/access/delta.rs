//! Who gains and who loses which reach by a plan: only pairs that a change touches are looked at.

mod route;
mod rule;

use std::collections::{BTreeMap, BTreeSet, HashSet};

use super::reach::{ClassAt, Reach, State};
use super::traffic::Traffic;
use super::world::{AFTER, BEFORE, Check, End, GroupAt, Node, NodeAt, Rule, SIDES, What, World};
use super::{Checks, Delta, Members, Passage, Place, Side, is_network, routes};
use crate::model::address::Address;

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
    let affected = rules.filter(|(_, rule)| is_affected(rule));
    let affected: Vec<usize> = affected.map(|(at, _)| at).collect();
    if affected.is_empty() && world.routes[BEFORE] == world.routes[AFTER] {
        return Some(Delta::default());
    }
    let mut maker = Maker {
        reach: Reach::new(world)?,
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
            let is_one = !self.peers && said.is_news;
            let is_alike = |(other, ..): &&mut (Said, _, _)| {
                is_one && (&other.when, other.by, other.is_news) == (&said.when, said.by, true)
            };
            match gathered.iter_mut().find(is_alike) {
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
        let classes = classes.iter();
        let nodes = classes.flat_map(|class| &self.reach.at(*class).nodes);
        nodes.copied().collect()
    }

    /// A machine or a resource as people name it.
    fn name(&self, node: &Node) -> String {
        match &node.what {
            What::Peer(id) => self.reach.world.label(id),
            What::Key(name) => format!("{name} (not enrolled yet)"),
            // the address says how much that is, and which of the two
            What::Resource(place)
                if self.is_moved(node, &place.name) || is_network(&place.address) =>
            {
                format!("{} {}", place.name, place.address)
            }
            What::Resource(place) => place.name.clone(),
        }
    }

    /// Whether a resource of that name is at another place on the other side.
    fn is_moved(&self, node: &Node, name: &str) -> bool {
        let world = self.reach.world;
        let group = world.find(End::Resource, name);
        let group = group.map(|group| &world.groups[group as usize]);
        let is_on_both = group.is_some_and(|it| it.members.iter().all(|of| !of.is_empty()));
        node.is[BEFORE] != node.is[AFTER] && is_on_both
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

/// What is said of pairs with the same traffic: which classes, and the rules that cover it.
#[derive(Debug, Default)]
pub(super) struct Pairs {
    pub(super) all: Vec<(ClassAt, ClassAt)>,
    pub(super) because: BTreeSet<Address>,
    pub(super) rules: BTreeSet<usize>,
}

impl Pairs {
    pub(super) fn from(&self) -> BTreeSet<ClassAt> {
        self.all.iter().map(|(from, _)| *from).collect()
    }

    pub(super) fn to(&self) -> BTreeSet<ClassAt> {
        self.all.iter().map(|(_, to)| *to).collect()
    }

    pub(super) fn join(&mut self, other: Pairs) {
        self.all.extend(other.all);
        self.because.extend(other.because);
        self.rules.extend(other.rules);
    }

    /// The same pairs as full products: sources that have the same destinations are together.
    pub(super) fn products(&self) -> Vec<(BTreeSet<ClassAt>, BTreeSet<ClassAt>)> {
        let mut each: BTreeMap<ClassAt, BTreeSet<ClassAt>> = BTreeMap::new();
        for (from, to) in &self.all {
            each.entry(*from).or_default().insert(*to);
        }
        let mut by_to: BTreeMap<BTreeSet<ClassAt>, BTreeSet<ClassAt>> = BTreeMap::new();
        for (from, to) in each {
            by_to.entry(to).or_default().insert(from);
        }
        by_to.into_iter().map(|(to, from)| (from, to)).collect()
    }
}

/// What is said of pairs.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Said {
    pub(super) traffic: Traffic,
    /// Whether it depends on posture checks: on those of the rule, or on these of which one fails.
    pub(super) when: Option<(Checks, BTreeSet<Check>)>,
    pub(super) by: By,
    /// Whether it is lost or gained; else others let it through anyway.
    pub(super) is_news: bool,
}

/// Pairs by what is said of them: few things are said, of many pairs.
pub(super) type Tally = Vec<(Said, Pairs)>;

/// The place of what is said in a tally.
pub(super) fn place(tally: &mut Tally, said: Said) -> usize {
    let known = tally.iter().position(|(known, _)| *known == said);
    known.unwrap_or_else(|| {
        tally.push((said, Pairs::default()));
        tally.len() - 1
    })
}

/// What is said of every pair that the same rules are about, as places in the tallies.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    pub(super) told: [Vec<usize>; 2],
    /// Whether the rule is about the pair, after.
    pub(super) is_met: bool,
}

/// What of a pair decides, beside the rules that are about it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Pair {
    pub(super) by: By,
    /// Whether one of its sides changes.
    pub(super) is_moved: bool,
    /// Whether the line of All tells it, of what is lost and of what is gained.
    pub(super) is_of_all: [bool; 2],
    /// Whether the destination has NetBird's SSH server on.
    pub(super) ssh: [bool; 2],
}

/// What a pair differs by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum By {
    /// The rule.
    Rule,
    /// The source: where both do, too.
    Source,
    /// The destination.
    Destination,
}

/// What of this, which is in the order of the states, is lost or gained within `of`.
pub(super) fn shares(states: &[State], traffic: &[Traffic], of: &Traffic, by: By) -> Vec<Said> {
    let mut within = traffic.iter().map(|traffic| traffic.common(of));
    let pass = within.next().unwrap_or_default();
    let fail = within.next().unwrap_or_else(|| pass.clone());
    let told = pass.union(&fail);
    let of_rule = |checks| Some((checks, BTreeSet::new()));
    let mut shares = vec![
        (pass.common(&fail), None),
        (pass.minus(&fail), of_rule(Checks::Pass)),
        (fail.minus(&pass), of_rule(Checks::Fail)),
    ];
    for (state, traffic) in states.iter().skip(2).zip(within) {
        let State::Without(check) = state else {
            continue;
        };
        let rest = traffic.minus(&told);
        let known = shares.iter_mut().skip(3).find(|(known, _)| *known == rest);
        match known {
            Some((_, Some((_, checks)))) => {
                let whole = Check {
                    side: None,
                    ..check.clone()
                };
                if !checks.contains(&whole) {
                    checks.insert(check.clone());
                }
            }
            _ => shares.push((
                rest,
                Some((Checks::OneFails, BTreeSet::from([check.clone()]))),
            )),
        }
    }
    shares.retain(|(traffic, _)| !traffic.is_empty());
    let said = |(traffic, when)| Said {
        traffic,
        when,
        by,
        is_news: true,
    };
    shares.into_iter().map(said).collect()
}

fn labels(checks: &BTreeSet<Check>) -> BTreeSet<String> {
    checks.iter().map(Check::to_string).collect()
}
