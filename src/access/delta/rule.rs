//! What comes and goes by a rule: pair by pair of the groups that it names, each set of rules looked at once.

use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;

use super::Maker;
use super::tally::{By, CoveredBy, Facts, Found, Outcome, Pair, place, shares};
use crate::access::reach::{Diff, FAIL, bits};
use crate::access::traffic::Traffic;
use crate::access::world::{AFTER, BEFORE, EVERYBODY, Grant, GroupAt, Node, Rule, SIDES};
use crate::access::{Delta, Idle, Passage, Side, Why, WhyIdle};
use crate::address::Address;
use crate::kind::Kind;

/// Most rules that are named as those which let something through anyway.
const MOST_RULES: usize = 3;

impl Maker<'_> {
    /// What comes and goes by a rule: it is another one, or others are in its groups.
    pub(super) fn rule(&mut self, at: usize) {
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
        let (rule, checks) = (Address::new(Kind::Policy, &rule.name), self.checks(at));
        for (which, (found, covered)) in found.into_iter().zip(covered).enumerate() {
            let mut news = Vec::new();
            for (((traffic, passes), by), pairs, is_even) in self.gathered(found) {
                let passage = |[from, to]: [Side; 2]| Passage {
                    from,
                    to,
                    traffic: traffic.clone(),
                    is_even,
                    condition: passes.map(|passes| (passes, checks.clone())),
                    why: Why {
                        rule: rule.clone(),
                        causes: pairs.because.iter().cloned().collect(),
                        others: BTreeSet::new(),
                    },
                };
                // the other side of a machine that joins is all of its group but itself
                let ends = [(from, by != By::Destination), (to, by != By::Source)];
                self.tell(&mut news, ends, &pairs, passage);
            }
            // where something is gained, what was there already is no news
            let is_told = !news.is_empty() || !may[which];
            let mut anyway = Vec::new();
            for (traffic, pairs) in covered.into_iter().filter(|_| !is_told) {
                let others = pairs.rules.iter().take(MOST_RULES);
                let others = others.map(|at| self.reach.world.rules[*at].name.clone());
                let others: BTreeSet<String> = others.collect();
                let passage = |[from, to]: [Side; 2]| Passage {
                    from,
                    to,
                    traffic: traffic.clone(),
                    is_even: true,
                    condition: None,
                    why: Why {
                        rule: rule.clone(),
                        causes: Vec::new(),
                        others: others.clone(),
                    },
                };
                self.tell(&mut anyway, [(from, false), (to, false)], &pairs, passage);
            }
            let Delta {
                lost,
                gained,
                still,
                already,
                ..
            } = &mut self.delta;
            let (of_news, of_anyway) = match which {
                BEFORE => (lost, still),
                _ => (gained, already),
            };
            of_news.extend(news);
            of_anyway.extend(anyway);
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
            return WhyIdle::NoSource(from.iter().map(|group| world.name(*group)).collect());
        }
        let names = to.iter().map(|group| world.name(*group)).collect();
        let is_cut_off = |node: &&Node| node.is_resource() && !node.is_on[AFTER];
        match nodes(to) {
            to if to.is_empty() => WhyIdle::NoDestination(names),
            to if to.iter().all(is_cut_off) => WhyIdle::NoRouter(names),
            _ => WhyIdle::Itself,
        }
    }
}
