//! Who gains and who loses which reach by a plan: only pairs that a change touches are looked at.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::rc::Rc;

use super::reach::{ClassAt, Diff, FAIL, PASS, Reach, between, bits};
use super::routes::{self, Target};
use super::traffic::Traffic;
use super::world::{
    AFTER, BEFORE, EVERYBODY, End, Grant, GroupAt, Node, NodeAt, Rule, SIDES, What, World,
};
use super::{Covered, Delta, Idle, Passage, Side, Why, WhyIdle};
use crate::address::Address;
use crate::id::Id;
use crate::kind::Kind;

/// Most rules that are named as those which let something through anyway.
const MOST_RULES: usize = 3;
/// Most machines of a group that are named one by one where it is not all of them.
const MOST_NAMES: usize = 4;

/// What is said of pairs with the same traffic: which classes, and the rules that cover it.
#[derive(Debug, Default)]
struct Pairs {
    all: Vec<(ClassAt, ClassAt)>,
    because: BTreeSet<Address>,
    rules: BTreeSet<usize>,
}

impl Pairs {
    fn from(&self) -> BTreeSet<ClassAt> {
        self.all.iter().map(|(from, _)| *from).collect()
    }

    fn to(&self) -> BTreeSet<ClassAt> {
        self.all.iter().map(|(_, to)| *to).collect()
    }

    fn join(&mut self, other: Pairs) {
        self.all.extend(other.all);
        self.because.extend(other.because);
        self.rules.extend(other.rules);
    }

    /// The same pairs as full products: sources that have the same destinations are together.
    fn products(&self) -> Vec<(BTreeSet<ClassAt>, BTreeSet<ClassAt>)> {
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

/// Pairs by what is said of them: few things are said, of many pairs.
type Tally<K> = Vec<(K, Pairs)>;

/// What is lost and what is gained by a rule.
type Found = [Tally<(Share, By)>; 2];
/// What it lets through no more, and what newly, as others do anyway.
type CoveredBy = [Tally<Traffic>; 2];

/// The place of what is said in a tally.
fn place<K: PartialEq>(tally: &mut Tally<K>, key: K) -> usize {
    let known = tally.iter().position(|(known, _)| *known == key);
    known.unwrap_or_else(|| {
        tally.push((key, Pairs::default()));
        tally.len() - 1
    })
}

/// What is said of every pair that the same rules are about, as places in the tallies.
#[derive(Debug, Default)]
struct Outcome {
    found: [Vec<usize>; 2],
    covered: [Option<usize>; 2],
    /// Whether the rule is about the pair, after.
    is_met: bool,
}

/// Traffic, and whether it depends on the posture checks: `Some(true)` while they pass, `Some(false)` while they fail.
type Share = (Traffic, Option<bool>);

/// What of a pair decides, beside the rules that are about it.
struct Pair {
    by: By,
    /// Whether one of its sides changes.
    is_moved: bool,
    /// Whether the line of All tells it, of what is lost and of what is gained.
    is_of_all: [bool; 2],
    /// Whether the destination has NetBird's SSH server on.
    ssh: [bool; 2],
}

/// What is known of a rule and a pair: what the rule itself is about, all the rules that are, and whether the destination has
/// NetBird's SSH server on.
struct Facts {
    rule: usize,
    own: [Traffic; 2],
    rules: [Vec<u64>; 2],
    ssh: [bool; 2],
}

impl Pair {
    fn key(&self) -> u64 {
        let flags = [
            self.is_moved,
            self.is_of_all[0],
            self.is_of_all[1],
            self.ssh[0],
            self.ssh[1],
        ];
        flags
            .iter()
            .fold(self.by as u64, |key, flag| key << 1 | u64::from(*flag))
    }
}

/// What a pair differs by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum By {
    /// The rule.
    Rule,
    /// The source: where both do, too.
    Source,
    /// The destination.
    Destination,
}

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
    /// What comes and goes by a rule: it is another one, or others are in its groups.
    fn rule(&mut self, at: usize) {
        let world = self.reach.world;
        let rule = &world.rules[at];
        let grants = SIDES.map(|side| rule.on(side));
        let of = |pick: fn(&Grant) -> &Vec<GroupAt>| -> BTreeSet<GroupAt> {
            let groups = grants.iter().flatten().flat_map(|grant| pick(grant));
            groups.copied().collect()
        };
        let (from, to) = (of(|grant| &grant.from), of(|grant| &grant.to));
        let both_ways = grants.iter().flatten().any(|grant| grant.both_ways);
        let mut is_idle = true;
        for from in &from {
            for to in &to {
                is_idle &= !self.pairs(at, *from, *to, false);
                if both_ways && from != to {
                    self.pairs(at, *to, *from, true);
                }
            }
        }
        let accepts = grants[AFTER].is_some_and(|grant| grant.accepts);
        // of an account without machines nothing can be said
        let is_empty = || {
            world
                .nodes
                .iter()
                .all(|node| node.is_resource() || !node.is[AFTER])
        };
        if is_idle && accepts && rule.differs() && !is_empty() {
            let why = self.why_idle(&from, &to);
            self.delta.idle.push(Idle {
                policy: rule.name.clone(),
                why,
            });
        }
    }

    /// What comes and goes from one group to another by a rule; `back`: from its destinations to its sources. Returns whether there is a pair that it is about, after.
    fn pairs(&mut self, at: usize, from: GroupAt, to: GroupAt, back: bool) -> bool {
        let rule = &self.reach.world.rules[at];
        let (sources, destinations) = (self.reach.in_group(from), self.reach.in_group(to));
        let differs = rule.differs();
        let may = self.may(rule, from, to);
        let of_destinations = if back { from } else { to };
        let beside_all = SIDES.map(|side| {
            let grant = rule.on(side);
            let has_all = grant.is_some_and(|grant| grant.to.contains(&EVERYBODY));
            of_destinations != EVERYBODY && has_all
        });
        let mut found = Found::default();
        let mut covered = CoveredBy::default();
        let mut known: HashMap<Vec<u64>, Rc<Outcome>> = HashMap::new();
        let mut last: Option<(Vec<u64>, Rc<Outcome>)> = None;
        let mut is_met = false;
        let mut key = Vec::new();
        for a in sources.iter() {
            for b in destinations.iter() {
                let (source, destination) = (self.reach.at(*a), self.reach.at(*b));
                let is_itself = a == b && source.nodes.len() == 1;
                if is_itself || source.is_resource {
                    continue;
                }
                let by = match (differs, source.differs) {
                    (true, _) => By::Rule,
                    (false, true) => By::Source,
                    (false, false) if destination.differs => By::Destination,
                    (false, false) => continue,
                };
                let pair = Pair {
                    by,
                    is_moved: source.differs || destination.differs,
                    is_of_all: SIDES.map(|which| {
                        // beside All a group stands for its resources alone
                        beside_all[which] && (back || !destination.is_resource)
                    }),
                    ssh: SIDES.map(|side| self.reach.has_ssh(side, *b)),
                };
                key.clear();
                SIDES
                    .iter()
                    .for_each(|side| self.reach.rules_into(*side, *a, *b, &mut key));
                key.push(pair.key());
                let outcome = match &last {
                    Some((other, outcome)) if *other == key => outcome.clone(),
                    _ => {
                        let outcome = match known.get(&key) {
                            Some(outcome) => outcome.clone(),
                            None => {
                                let told = (&mut found, &mut covered);
                                let outcome = Rc::new(self.outcome(at, &key, &pair, may, told));
                                known.insert(key.clone(), outcome.clone());
                                outcome
                            }
                        };
                        last = Some((key.clone(), outcome.clone()));
                        outcome
                    }
                };
                is_met |= outcome.is_met;
                for which in SIDES {
                    for place in &outcome.found[which] {
                        let pairs = &mut found[which][*place].1;
                        pairs.all.push((*a, *b));
                        pairs.because.extend(self.causes(by, *a, *b));
                    }
                    if let Some(place) = outcome.covered[which] {
                        covered[which][place].1.all.push((*a, *b));
                    }
                }
            }
        }
        let ends = (self.side(from), self.side(to));
        let checks = self.checks(at);
        for which in SIDES {
            let is_told = !found[which].is_empty();
            for (((traffic, passes), by), pairs, is_even) in
                self.gathered(std::mem::take(&mut found[which]))
            {
                let why = Why {
                    rule: Address::new(Kind::Policy, &rule.name),
                    causes: pairs.because.iter().cloned().collect(),
                };
                let condition = passes.map(|passes| (passes, checks.clone()));
                // the other side of a machine that joins is all of its group but itself
                let named = (
                    (by != By::Destination).then_some(from),
                    (by != By::Source).then_some(to),
                );
                self.tell(
                    which,
                    &ends,
                    named,
                    &pairs,
                    (traffic, is_even),
                    condition,
                    why,
                );
            }
            // where something is gained, what was there already is no news
            for (traffic, pairs) in std::mem::take(&mut covered[which]) {
                if !is_told && may[which] {
                    self.tell_covered(which, &ends, &pairs, traffic, &rule.name);
                }
            }
        }
        is_met
    }

    /// What is said of a pair of a rule: `key` has the rules that are about it, before and after.
    fn outcome(
        &mut self,
        at: usize,
        key: &[u64],
        pair: &Pair,
        may: [bool; 2],
        (found, covered): (&mut Found, &mut CoveredBy),
    ) -> Outcome {
        let words = self.reach.words();
        let rules = [key[..words].to_vec(), key[words..2 * words].to_vec()];
        let own = SIDES.map(|side| self.own(side, at, &rules[side], pair.ssh[side]));
        let facts = Facts {
            rule: at,
            own,
            rules,
            ssh: pair.ssh,
        };
        let Facts { own, rules, .. } = &facts;
        let mut outcome = Outcome {
            is_met: !own[AFTER].is_empty(),
            ..Outcome::default()
        };
        let diff = self.reach.diff(rules, pair.ssh);
        if own[BEFORE] != own[AFTER] {
            self.cover(&facts, diff.as_deref(), covered, &mut outcome);
        }
        let Some(diff) = diff else {
            return outcome;
        };
        let rule = &self.reach.world.rules[at];
        let of_rule = own[BEFORE].union(&own[AFTER]);
        for (which, traffic) in [&diff.lost, &diff.gained].into_iter().enumerate() {
            if !may[which] || pair.is_of_all[which] {
                continue;
            }
            // what a machine that changes gains by rules that stay is told by these
            let accepts = rule.on(which).is_some_and(|on| on.accepts);
            let of_rule = match pair.by == By::Rule && pair.is_moved && accepts {
                true => of_rule.minus(&self.by_same_rules(which, &rules[which], pair.ssh[which])),
                false => of_rule.clone(),
            };
            for share in shares(traffic, &of_rule) {
                let place = place(&mut found[which], (share, pair.by));
                outcome.found[which].push(place);
            }
        }
        outcome
    }

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

    /// Whether something can be lost, and gained, from one group to another by a rule: it names them before and after, and
    /// lets through or drops.
    fn may(&self, rule: &Rule, from: GroupAt, to: GroupAt) -> [bool; 2] {
        let [before, after] = SIDES.map(|side| {
            let grant = rule.on(side)?;
            let has = |from, to| grant.from.contains(from) && grant.to.contains(to);
            let is_named = has(&from, &to) || grant.both_ways && has(&to, &from);
            is_named.then_some(grant.accepts)
        });
        [
            before == Some(true) || after == Some(false),
            after == Some(true) || before == Some(false),
        ]
    }

    /// What rules that stay as they are let through on the side where it is lost from, or gained on: they tell it.
    fn by_same_rules(&self, side: usize, rules: &[u64], ssh: bool) -> Traffic {
        let same = self.reach.same(rules);
        self.reach.traffic(side, &same, ssh, FAIL)
    }

    /// What the rule itself lets through, or drops, between two classes.
    fn own(&self, side: usize, rule: usize, rules: &[u64], ssh: bool) -> Traffic {
        match rules[rule / 64] & (1 << (rule % 64)) {
            0 => Traffic::default(),
            _ => self.reach.of_rule(side, rule, ssh),
        }
    }

    /// Notes what a rule lets through newly, or no more, and others do anyway.
    fn cover(
        &self,
        facts: &Facts,
        diff: Option<&Diff>,
        covered: &mut CoveredBy,
        outcome: &mut Outcome,
    ) {
        let Facts {
            rule,
            own,
            rules,
            ssh,
        } = facts;
        let accepts = |side: usize| {
            let grant = self.reach.world.rules[*rule].on(side);
            grant.is_some_and(|grant| grant.accepts)
        };
        for side in SIDES {
            let moved = own[side].minus(&own[1 - side]);
            if moved.is_empty() || !accepts(side) {
                continue;
            }
            let anyway = self.by_same_rules(side, &rules[side], ssh[side]);
            let is_news = diff.is_some_and(|diff| {
                let news = [&diff.lost, &diff.gained][side];
                let of_rule = moved.minus(&anyway);
                news.iter().any(|news| !news.common(&of_rule).is_empty())
            });
            if is_news {
                continue;
            }
            // what is not lost is there after, and what is not gained was there before, or comes by others
            let same = self.reach.same(&rules[side]);
            let others = [(1 - side, rules[1 - side].clone()), (side, same)];
            let others = others.iter().flat_map(|(side, rules)| {
                let ssh = ssh[*side];
                let world = self.reach.world;
                bits(rules)
                    .filter(move |other| {
                        let accepts = world.rules[*other].on(*side).is_some_and(|on| on.accepts);
                        other != rule && accepts
                    })
                    .filter(|other| {
                        let traffic = self.reach.of_rule(*side, *other, ssh);
                        !traffic.common(&moved).is_empty()
                    })
                    .collect::<Vec<usize>>()
            });
            let others: BTreeSet<usize> = others.collect();
            if others.is_empty() {
                continue;
            }
            let place = place(&mut covered[side], moved);
            covered[side][place].1.rules.extend(others);
            outcome.covered[side] = Some(place);
        }
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

    fn checks(&self, rule: usize) -> BTreeSet<String> {
        let grants = self.reach.world.rules[rule].grants.iter().flatten();
        grants.flat_map(|grant| grant.checks.clone()).collect()
    }

    fn why_idle(&self, from: &BTreeSet<GroupAt>, to: &BTreeSet<GroupAt>) -> WhyIdle {
        let world = self.reach.world;
        let nodes = |groups: &BTreeSet<GroupAt>| -> Vec<&Node> {
            let groups = groups.iter().map(|group| &world.groups[*group as usize]);
            let members = groups.flat_map(|group| &group.members[AFTER]);
            members.map(|node| &world.nodes[*node as usize]).collect()
        };
        if nodes(from).iter().all(|node| node.is_resource()) {
            let names = from.iter().map(|group| self.side(*group).name);
            return WhyIdle::NoSource(names.collect());
        }
        let names = to.iter().map(|group| self.side(*group).name).collect();
        let is_cut_off = |node: &&Node| node.is_resource() && !node.is_on[AFTER];
        match nodes(to) {
            to if to.is_empty() => WhyIdle::NoDestination(names),
            to if to.iter().all(is_cut_off) => WhyIdle::NoRouter(names),
            _ => WhyIdle::Itself,
        }
    }

    /// A group as people name it.
    fn side(&self, group: GroupAt) -> Side {
        let group = &self.reach.world.groups[group as usize];
        let name = match group.end {
            End::Peer => (self.label)(&Id(group.name.clone())),
            _ => group.name.clone(),
        };
        let address = match group.end {
            End::Resource => group.members.iter().flatten().find_map(|node| {
                match &self.reach.world.nodes[*node as usize].what {
                    What::Resource(place) => place.address.iter().flatten().last().cloned(),
                    _ => None,
                }
            }),
            _ => None,
        };
        Side {
            end: group.end,
            name,
            address,
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
                What::Resource(place) => place.name.clone(),
            });
        let mut names: Vec<String> = match self.peers || (is_part && these.len() <= MOST_NAMES) {
            true => names.collect(),
            false => Vec::new(),
        };
        names.sort();
        let resources = of_all(&these, |node| node.is_resource());
        Side {
            machines: these.len() - resources,
            to_come: of_all(&these, |node| matches!(node.what, What::Key(_))),
            resources,
            names,
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

    /// What comes and goes behind a route: of machines that change, of routers that change, by rules that pair them anew.
    fn target(&mut self, target: &Target) {
        let reach = &self.reach;
        let routers = target.routers(reach);
        let ways = SIDES.map(|side| target.ways(reach, side));
        let is_all = target.differs() || routers.iter().any(|class| reach.at(*class).differs);
        let opening = target.opening(reach, &routers);
        let concerned = |class: ClassAt| -> Vec<usize> {
            let rules = opening.iter();
            let rules = rules.filter(|(_, groups)| reach.is_ever_in(class, groups));
            rules.map(|(rule, _)| *rule).collect()
        };
        let candidates: BTreeSet<ClassAt> = opening
            .iter()
            .flat_map(|(_, groups)| groups)
            .flat_map(|group| reach.in_group(*group).to_vec())
            .chain(reach.differing_classes())
            .collect();
        let mut passages = Vec::new();
        for client in target.clients() {
            let mut found: [Tally<(Share, ())>; 2] = Default::default();
            let members = match is_all {
                true => reach.in_group(client).to_vec(),
                false => {
                    let of = candidates.iter().copied();
                    of.filter(|class| reach.is_ever_in(*class, &[client]))
                        .collect()
                }
            };
            for class in members {
                let passing = SIDES
                    .map(|side| reach.by_checks(|checks| ways[side].traffic(reach, checks, class)));
                let diff = between(&passing[BEFORE], &passing[AFTER]);
                for (which, traffic) in [&diff.lost, &diff.gained].into_iter().enumerate() {
                    if !target.is_for(which, client) {
                        continue;
                    }
                    for share in shares(traffic, &Traffic::everything()) {
                        let place = place(&mut found[which], (share, ()));
                        let pairs = &mut found[which][place].1;
                        pairs.all.push((class, class));
                        if target.differs() {
                            continue;
                        }
                        let name =
                            |rule: usize| Address::new(Kind::Policy, &reach.world.rules[rule].name);
                        let rules = concerned(class).into_iter().map(name);
                        pairs.because.extend(rules.take(MOST_RULES));
                        pairs.because.extend(self.causes(By::Source, class, class));
                    }
                }
            }
            for which in SIDES {
                for (((traffic, passes), ()), pairs, is_even) in
                    self.gathered(std::mem::take(&mut found[which]))
                {
                    let from = self.side(client);
                    let to = Side {
                        end: End::Route,
                        name: target.name.clone(),
                        address: Some(target.target.clone()),
                        ..Side::default()
                    };
                    let passage = Passage {
                        from: self.counted(&from, Some(client), &pairs.from(), &BTreeSet::new()),
                        to,
                        traffic,
                        is_even,
                        condition: passes.map(|passes| (passes, BTreeSet::new())),
                        why: Why {
                            rule: Address::new(Kind::Route, &target.name),
                            causes: pairs.because.into_iter().collect(),
                        },
                    };
                    passages.push((which, passage));
                }
            }
        }
        for (which, passage) in passages {
            self.list(which).push(passage);
        }
    }
}

/// What of this is within `of`: by the state of the checks where that makes a difference.
fn shares(traffic: &[Traffic; 2], of: &Traffic) -> Vec<Share> {
    let [pass, fail] = [PASS, FAIL].map(|checks| traffic[checks].common(of));
    let always = (pass.common(&fail), None);
    let passing = (pass.minus(&fail), Some(true));
    let failing = (fail.minus(&pass), Some(false));
    let all = [always, passing, failing];
    let all = all.into_iter().filter(|(traffic, _)| !traffic.is_empty());
    all.collect()
}
