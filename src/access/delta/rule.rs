//! What comes and goes by a rule: pair by pair of the groups that it names, each set of rules looked at once.

use std::collections::BTreeSet;
use std::rc::Rc;

use rustc_hash::FxHashMap;

use super::{By, Maker, Outcome, Pair, Said, Tally, labels, place, shares};
use crate::access::reach::{State, bits};
use crate::access::traffic::Traffic;
use crate::access::world::{AFTER, BEFORE, EVERYBODY, Grant, GroupAt, Node, Rule, SIDES};
use crate::access::{Checks, Passage, Side, Why};
use crate::base::text::listed;
use crate::model::address::Address;
use crate::model::kind::Kind;

/// Most rules that are named as those which let something through anyway.
const MOST_RULES: usize = 3;

impl Maker<'_> {
    /// What comes and goes by a rule: it is another one, or others are in its groups.
    pub(super) fn rule(&mut self, at: usize) {
        let world = self.reach.world;
        let rule = &world.rules[at];
        let grants = SIDES.map(|side| rule.on(side));
        let on = || grants.iter().flatten();
        let of = |pick: fn(&Grant) -> &Vec<GroupAt>| -> BTreeSet<GroupAt> {
            on().flat_map(|grant| pick(grant)).copied().collect()
        };
        let (from, to) = (of(|grant| &grant.from), of(|grant| &grant.to));
        let both_ways = on().any(|grant| grant.both_ways);
        // each of them is looked for in these lists
        let lists = on().map(|grant| grant.from.len() + grant.to.len()).sum();
        let mut is_idle = true;
        for from in &from {
            for to in &to {
                if self.reach.spend(lists) {
                    return;
                }
                is_idle &= !self.pairs(at, *from, *to, false);
                if both_ways && from != to {
                    self.pairs(at, *to, *from, true);
                }
            }
        }
        // of an account without machines nothing can be said
        let is_machine = |node: &Node| !node.is_resource() && node.is[AFTER];
        let is_news = is_idle && rule.accepts(AFTER) && rule.is_changed && rule.differs();
        if is_news && world.nodes.iter().any(is_machine) {
            let (policy, why) = (&rule.name, self.why_idle(&from, &to));
            let idle = format!("nobody gets access by policy {policy}: {why}");
            self.delta.idle.push(idle);
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
        let mut told: [Tally; 2] = Default::default();
        let mut known: FxHashMap<(Vec<u64>, Pair), Rc<Outcome>> = FxHashMap::default();
        let mut is_met = false;
        let mut key = Vec::new();
        for a in sources.iter() {
            let pair = 2 * self.reach.words() + 10;
            if self.reach.spend(destinations.len() * pair) {
                return false;
            }
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
                for side in SIDES {
                    self.reach.rules_into(side, *a, *b, &mut key);
                }
                let new = || Rc::new(self.outcome(at, &key, &pair, may, &mut told));
                let outcome = known.entry((key.clone(), pair)).or_insert_with(new).clone();
                is_met |= outcome.is_met;
                for which in SIDES {
                    for place in &outcome.told[which] {
                        let (said, pairs) = &mut told[which][*place];
                        pairs.all.push((*a, *b));
                        if said.is_news {
                            pairs.because.extend(self.causes(by, *a, *b));
                        }
                    }
                }
            }
        }
        let world = self.reach.world;
        let rule = &world.rules[at];
        let changed = rule
            .checks()
            .filter(|check| !rule.is_changed && check.side.is_some());
        let changed = changed.map(|check| Address::new(Kind::PostureCheck, &check.name));
        let changed: BTreeSet<Address> = changed.collect();
        let checks: BTreeSet<String> = rule.checks().map(|check| check.name.clone()).collect();
        for (which, told) in told.into_iter().enumerate() {
            let has_news = told.iter().any(|(said, _)| said.is_news);
            for (said, pairs, is_even) in self.gathered(told) {
                // where something is gained, what was there already is no news
                if !said.is_news && (has_news || !may[which]) {
                    continue;
                }
                let others = pairs.rules.iter().take(MOST_RULES);
                let why = Why {
                    rule: Address::new(Kind::Policy, &rule.name),
                    causes: pairs.because.iter().chain(&changed).cloned().collect(),
                    others: others.map(|at| world.rules[*at].name.clone()).collect(),
                };
                let passage = |[from, to]: [Side; 2]| Passage {
                    from,
                    to,
                    traffic: said.traffic.clone(),
                    is_even,
                    condition: said.when.as_ref().map(|(how, of)| match how {
                        Checks::OneFails => (*how, labels(of)),
                        _ => (*how, checks.clone()),
                    }),
                    why: why.clone(),
                };
                // the other side of a machine that joins is all of its group but itself
                let ends = [
                    (from, said.is_news && said.by != By::Destination),
                    (to, said.is_news && said.by != By::Source),
                ];
                let passages = self.passages(ends, &pairs, passage);
                self.list(which, said.is_news).extend(passages);
            }
        }
        is_met
    }

    /// What is said of a pair of a rule: `key` has the rules that are about it, before and after.
    fn outcome(
        &self,
        at: usize,
        key: &[u64],
        pair: &Pair,
        may: [bool; 2],
        told: &mut [Tally; 2],
    ) -> Outcome {
        let words = self.reach.words();
        let rules = [key[..words].to_vec(), key[words..2 * words].to_vec()];
        let own = SIDES.map(|side| self.own(side, at, &rules[side], pair.ssh[side]));
        let mut outcome = Outcome {
            is_met: !own[AFTER].is_empty(),
            ..Outcome::default()
        };
        let diff = self.reach.diff(&rules, pair.ssh);
        let rule = &self.reach.world.rules[at];
        for which in SIDES {
            let accepts = rule.accepts(which);
            let same = self.reach.same(&rules[which]);
            // what rules that stay as they are let through: they tell it
            let by_same = || {
                self.reach
                    .traffic(which, &same, pair.ssh[which], &State::Fail)
            };
            let moved = own[which].minus(&own[1 - which]);
            let news = diff.as_ref().map(|diff| &diff[which]);
            let is_news = news.is_some_and(|news| {
                let of_rule = moved.minus(&by_same());
                news.iter().any(|news| !news.common(&of_rule).is_empty())
            });
            if accepts && !moved.is_empty() && !is_news {
                // what is not lost is there after, and what is not gained was there before, or comes by others
                let there = self.others(1 - which, at, &rules[1 - which], pair, &moved);
                let here = self.others(which, at, &same, pair, &moved);
                let others: BTreeSet<usize> = there.into_iter().chain(here).collect();
                if !others.is_empty() {
                    let said = Said {
                        traffic: moved,
                        when: None,
                        by: By::Rule,
                        is_news: false,
                    };
                    let place = place(&mut told[which], said);
                    told[which][place].1.rules.extend(others);
                    outcome.told[which].push(place);
                }
            }
            let Some(news) = news.filter(|_| may[which] && !pair.is_of_all[which]) else {
                continue;
            };
            // what a machine that changes gains by rules that stay is told by these
            let mut of_rule = own[BEFORE].union(&own[AFTER]);
            if pair.by == By::Rule && pair.is_moved && accepts {
                of_rule = of_rule.minus(&by_same());
            }
            for share in shares(&self.reach.states, news, &of_rule, pair.by) {
                let place = place(&mut told[which], share);
                outcome.told[which].push(place);
            }
        }
        outcome
    }

    /// Of these rules, those beside one that let some of that through.
    fn others(
        &self,
        side: usize,
        rule: usize,
        rules: &[u64],
        pair: &Pair,
        traffic: &Traffic,
    ) -> Vec<usize> {
        let lets_through = |other: &usize| {
            let of_other = self.reach.of_rule(side, *other, pair.ssh[side]);
            self.reach.world.rules[*other].accepts(side) && !of_other.common(traffic).is_empty()
        };
        let others = bits(rules.iter().copied()).filter(|other| *other != rule);
        others.filter(lets_through).collect()
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

    /// What the rule itself lets through, or drops, between two classes.
    fn own(&self, side: usize, rule: usize, rules: &[u64], ssh: bool) -> Traffic {
        match rules[rule / 64] & (1 << (rule % 64)) {
            0 => Traffic::default(),
            _ => self.reach.of_rule(side, rule, ssh),
        }
    }

    fn why_idle(&self, from: &BTreeSet<GroupAt>, to: &BTreeSet<GroupAt>) -> String {
        let world = self.reach.world;
        let names =
            |groups: &BTreeSet<GroupAt>| listed(groups.iter().map(|group| world.name(*group)));
        let nodes = |groups: &BTreeSet<GroupAt>| -> Vec<&Node> {
            let groups = groups.iter().map(|group| &world.groups[*group as usize]);
            let members = groups.flat_map(|group| &group.members[AFTER]);
            members.map(|node| &world.nodes[*node as usize]).collect()
        };
        if nodes(from).iter().all(|node| node.is_resource()) {
            return format!("there is no machine in {}", names(from));
        }
        let is_cut_off = |node: &&Node| node.is_resource() && !node.is_on[AFTER];
        match nodes(to) {
            nodes if nodes.is_empty() => format!("there is nothing in {}", names(to)),
            nodes if nodes.iter().all(is_cut_off) => {
                format!("no router leads to {}, or it is disabled", names(to))
            }
            _ => "its only source is its only destination".to_owned(),
        }
    }
}
