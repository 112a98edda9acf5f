//! Who gains and who loses which reach by a plan: only pairs that a change touches are looked at.

mod route;
mod rule;

use std::collections::{BTreeMap, BTreeSet, HashSet};

use super::reach::{ClassAt, Reach, State};
use super::traffic::Traffic;
use super::world::{AFTER, BEFORE, Check, End, GroupAt, Node, NodeAt, Rule, What, World};
use super::{Checks, Delta, Member, Members, Passage, Place, Side, is_network, routes};
use crate::model::Address;

/// Most machines of a group that are named one by one where it is not all of them.
const MOST_NAMES: usize = 4;
/// Most rules that are named as those which let something through anyway, and about how many as those which open a route.
const MOST_RULES: usize = 3;

/// About what a passage costs, in the steps of [`Reach::spend`].
const PASSAGE: usize = 5_000;

/// Makes the delta. `peers`: machines are named one by one, each entry a full product. `None` where that would take too long.
pub(super) fn delta(world: &World, peers: bool) -> Option<Delta> {
    let differing = world.nodes.iter().filter(|node| node.differs());
    let touched = differing.flat_map(|node| node.groups.iter().flatten());
    let touched: HashSet<&GroupAt> = touched.collect();
    let is_affected =
        |rule: &Rule| rule.differs() || rule.groups().any(|group| touched.contains(group));
    let rules = world.rules.iter().enumerate();
    let affected = rules.filter(|(_, rule)| is_affected(rule));
    let affected: Vec<usize> = affected.map(|(at, _)| at).collect();
    if affected.is_empty() && world.routes[BEFORE] == world.routes[AFTER] {
        return Some(Delta::default());
    }
    let reach = Reach::new(world)?;
    let maker = Maker { reach, peers };
    let mut delta = Delta::default();
    for rule in &affected {
        maker.rule(*rule, &mut delta);
    }
    for target in &routes::targets(&maker.reach) {
        maker.target(target, &mut delta);
    }
    delta.sort();
    (!maker.reach.is_spent()).then_some(delta)
}

struct Maker<'w> {
    reach: Reach<'w>,
    /// Whether machines are named one by one.
    peers: bool,
}

/// What is said of pairs.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Said {
    /// Whether it is lost or gained; else others let it through anyway.
    is_news: bool,
    by: By,
    /// Whether it depends on posture checks: on those of the rule, or on these of which one fails.
    when: Option<(Checks, BTreeSet<Check>)>,
}

/// What a pair differs by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum By {
    /// The rule.
    Rule,
    /// The source: where both do, too.
    Source,
    /// The destination.
    Destination,
}

/// A pair: from which class to which.
type Ends = (ClassAt, ClassAt);

/// The pairs of which the same is said.
#[derive(Debug, Default)]
struct Pairs {
    all: Vec<Ends>,
    traffic: Traffic,
    /// Whether not all of the traffic passes for each of them.
    is_uneven: bool,
    /// What changes of them, where it is not the rule.
    causes: BTreeSet<Address>,
    /// The rules that let it through anyway.
    others: BTreeSet<usize>,
}

/// What is said, of what was before and of what is after: few things, of many pairs. Where machines are named, and of what others
/// let through, each traffic is an entry of its own.
type Tally = BTreeMap<(Said, Option<Traffic>), Pairs>;

impl Maker<'_> {
    /// Adds pairs to those of which the same is said.
    fn add<'t>(
        &self,
        tally: &'t mut Tally,
        said: Said,
        traffic: &Traffic,
        pairs: &[Ends],
    ) -> &'t mut Pairs {
        let apart = (self.peers || !said.is_news).then(|| traffic.clone());
        let all = tally.entry((said, apart)).or_default();
        all.is_uneven |= !all.all.is_empty() && all.traffic != *traffic;
        all.traffic = all.traffic.union(traffic);
        all.all.extend(pairs);
        all
    }

    /// Adds what is said of the pairs from one group to another, or to what is behind a route, to the delta.
    fn passages(
        &self,
        delta: &mut Delta,
        (which, tally): (usize, Tally),
        (from, to): (GroupAt, Result<GroupAt, &Place>),
        rule: &Address,
        checks: &BTreeSet<String>,
    ) {
        let has_news = tally.keys().any(|(said, _)| said.is_news);
        // where something is gained, what was there already is no news
        let tally = tally.into_iter();
        for ((said, _), pairs) in tally.filter(|((said, _), _)| said.is_news || !has_news) {
            let list = match (which, said.is_news) {
                (BEFORE, true) => &mut delta.lost,
                (_, true) => &mut delta.gained,
                (BEFORE, false) => &mut delta.still,
                (_, false) => &mut delta.already,
            };
            let others = pairs.others.iter().take(MOST_RULES);
            let others = others.map(|at| self.reach.world.rules[*at].name.clone());
            let others: BTreeSet<String> = others.collect();
            let condition = said.when.map(|(how, of)| match how {
                Checks::OneFails => (how, of.iter().map(Check::to_string).collect()),
                _ => (how, checks.clone()),
            });
            let products = match (self.peers, to) {
                (true, Ok(_)) => pairs.products(),
                _ => vec![pairs.sides()],
            };
            // the other side of a machine that joins is all of its group but itself
            let is_named = [By::Destination, By::Source].map(|by| said.is_news && said.by != by);
            for [sources, destinations] in products {
                // who joins is named, whoever is on the other side
                let nobody = BTreeSet::new();
                let beside = match is_named == [true, true] && to.is_ok() {
                    true => [&destinations, &sources],
                    false => [&nobody, &nobody],
                };
                list.push(Passage {
                    from: self.side((from, is_named[0]), &sources, beside[0]),
                    to: match to {
                        Ok(to) => self.side((to, is_named[1]), &destinations, beside[1]),
                        Err(place) => Side::Route(place.clone()),
                    },
                    traffic: pairs.traffic.clone(),
                    is_even: !pairs.is_uneven,
                    condition: condition.clone(),
                    rule: rule.clone(),
                    causes: pairs.causes.clone(),
                    others: others.clone(),
                });
            }
        }
    }

    /// What a passage is about on a side: a group, or what is named in the place of one, with what of it is in these classes. `is_named`:
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
            What::Resource(place, _) => Some(place.address.clone()),
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
        let mut names: Vec<Member> = match self.peers || is_few {
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
    fn name(&self, node: &Node) -> Member {
        Member::Named(match &node.what {
            What::Peer(id) => self.reach.world.label(id),
            What::Key(name) => return Member::New(name.clone()),
            // the address says how much that is, and which of the two
            What::Resource(place, network) if self.is_moved(node, &place.name) => {
                let network = self.reach.world.network(network);
                format!("{} {} in {network}", place.name, place.address)
            }
            What::Resource(place, _) if is_network(&place.address) => {
                format!("{} {}", place.name, place.address)
            }
            What::Resource(place, _) => place.name.clone(),
        })
    }

    /// Whether a resource of that name is at another place on the other side.
    fn is_moved(&self, node: &Node, name: &str) -> bool {
        let world = self.reach.world;
        let group = world.find(End::Resource, name);
        let group = group.map(|group| &world.groups[group as usize]);
        let is_on_both = group.is_some_and(|it| it.members.iter().all(|of| !of.is_empty()));
        node.is[BEFORE] != node.is[AFTER] && is_on_both
    }
}

impl Pairs {
    /// The sources, and the destinations.
    fn sides(&self) -> [BTreeSet<ClassAt>; 2] {
        let from = self.all.iter().map(|(from, _)| *from);
        let to = self.all.iter().map(|(_, to)| *to);
        [from.collect(), to.collect()]
    }

    /// The same pairs as full products: sources that have the same destinations are together.
    fn products(&self) -> Vec<[BTreeSet<ClassAt>; 2]> {
        let mut each: BTreeMap<ClassAt, BTreeSet<ClassAt>> = BTreeMap::new();
        for (from, to) in &self.all {
            each.entry(*from).or_default().insert(*to);
        }
        let mut by_to: BTreeMap<BTreeSet<ClassAt>, BTreeSet<ClassAt>> = BTreeMap::new();
        for (from, to) in each {
            by_to.entry(to).or_default().insert(from);
        }
        by_to.into_iter().map(|(to, from)| [from, to]).collect()
    }
}

/// What of this, which is in the order of the states, is lost or gained within `of`.
fn shares(states: &[State], traffic: &[Traffic], of: &Traffic, by: By) -> Vec<(Said, Traffic)> {
    let mut within = traffic.iter().map(|traffic| traffic.common(of));
    let pass = within.next().unwrap_or_default();
    let fail = within.next().unwrap_or_else(|| pass.clone());
    let known = pass.union(&fail);
    let of_rule = |checks| Some((checks, BTreeSet::new()));
    let mut alone: BTreeMap<Traffic, BTreeSet<Check>> = BTreeMap::new();
    for (state, traffic) in states.iter().skip(2).zip(within) {
        if let State::Without(check) = state {
            let checks = alone.entry(traffic.minus(&known)).or_default();
            // who fails one form of it fails less than who fails the whole
            if !checks.contains(&check.whole()) {
                checks.insert(check.clone());
            }
        }
    }
    let mut shares = vec![
        (pass.common(&fail), None),
        (pass.minus(&fail), of_rule(Checks::Pass)),
        (fail.minus(&pass), of_rule(Checks::Fail)),
    ];
    let alone = alone.into_iter();
    shares.extend(alone.map(|(traffic, checks)| (traffic, Some((Checks::OneFails, checks)))));
    shares.retain(|(traffic, _)| !traffic.is_empty());
    let said = |when| Said {
        is_news: true,
        by,
        when,
    };
    let shares = shares.into_iter();
    shares
        .map(|(traffic, when)| (said(when), traffic))
        .collect()
}
