//! What a rule opens and closes: pair by pair of the groups that it names, each set of rules looked at once.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;

use super::{By, Ends, Maker, Said, Tally, shares};
use crate::access::Delta;
use crate::access::reach::{Ssh, State, bits};
use crate::access::traffic::Traffic;
use crate::access::world::{AFTER, BEFORE, EVERYBODY, Grant, GroupAt, Node, Rule, SIDES};
use crate::base::listed;
use crate::model::{Address, Kind};

/// What of a pair decides, beside the rules that are about it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Pair {
    by: By,
    /// Whether one of its sides changes.
    is_moved: bool,
    /// Whether the line of All says it, of what is lost and of what is gained.
    is_of_all: [bool; 2],
    /// NetBird's SSH server at the destination.
    ssh: [Ssh; 2],
}

impl Maker<'_> {
    /// Adds what a rule opens and closes: it is another one, or others are in its groups.
    pub(super) fn rule(&self, at: usize, delta: &mut Delta) {
        let world = self.reach.world;
        let rule = &world.rules[at];
        let grants = SIDES.map(|side| rule.on(side));
        let on = || grants.iter().flatten();
        let of = |pick: fn(&Grant) -> &Vec<GroupAt>| -> BTreeSet<GroupAt> {
            on().flat_map(|grant| pick(grant)).copied().collect()
        };
        let (sources, destinations) = (of(|grant| &grant.from), of(|grant| &grant.to));
        let both_ways = on().any(|grant| grant.both_ways);
        // each of them is looked for in these lists
        let lists = on().map(|grant| grant.from.len() + grant.to.len()).sum();
        let mut is_idle = true;
        for from in &sources {
            for to in &destinations {
                if self.reach.spend(lists) {
                    return;
                }
                is_idle &= !self.pairs(delta, at, [*from, *to]);
                if both_ways && !(sources.contains(to) && destinations.contains(from)) {
                    self.pairs(delta, at, [*to, *from]);
                }
            }
        }
        // of an account without machines nothing can be said
        let is_machine = |node: &Node| !node.is_resource() && node.is[AFTER];
        let is_news = is_idle && rule.accepts(AFTER) && rule.is_changed && rule.differs();
        if let Some(grant) = rule.on(AFTER).filter(|_| is_news)
            && world.nodes.iter().any(is_machine)
        {
            let (policy, why) = (&rule.name, self.why_idle(grant));
            let idle = format!("nobody gets access by policy {policy:?}: {why}");
            delta.idle.push(idle);
        }
    }

    /// Adds what a rule opens and closes from one group to another. Returns whether there is a pair that it is about, after.
    fn pairs(&self, delta: &mut Delta, at: usize, [from, to]: [GroupAt; 2]) -> bool {
        let rule = &self.reach.world.rules[at];
        let (sources, destinations) = (self.reach.in_group(from), self.reach.in_group(to));
        let differs = rule.differs();
        let grants = SIDES.map(|which| {
            let grants = by(rule, which).filter(|grant| grant.names([from, to]));
            grants.collect::<Vec<&Grant>>()
        });
        let may = grants.each_ref().map(|grants| !grants.is_empty());
        let of_all = [[from, EVERYBODY], [EVERYBODY, to]].into_iter();
        let of_all = of_all.filter(|line| *line != [from, to]);
        let has_all = |grant: &&Grant| of_all.clone().any(|line| grant.names(line));
        let beside_all = grants.map(|grants| grants.iter().all(has_all));
        // few sets of rules are about many pairs
        let mut alike: FxHashMap<(Vec<u64>, Pair), Vec<Ends>> = FxHashMap::default();
        let mut rules = Vec::new();
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
                let by = match (rule.is_changed && differs, source.differs) {
                    (true, _) => By::Rule,
                    (false, true) => By::Source,
                    (false, false) if destination.differs => By::Destination,
                    (false, false) if differs => By::Rule,
                    (false, false) => continue,
                };
                let pair = Pair {
                    by,
                    is_moved: source.differs || destination.differs,
                    is_of_all: SIDES.map(|which| {
                        // beside All a group means its resources alone
                        beside_all[which] && !destination.is_resource
                    }),
                    ssh: SIDES.map(|side| self.reach.ssh(side, *b)),
                };
                rules.clear();
                for side in SIDES {
                    self.reach.rules_into(side, *a, *b, &mut rules);
                }
                let key = (rules, pair);
                match alike.get_mut(&key) {
                    Some(pairs) => pairs.push((*a, *b)),
                    None => drop(alike.insert(key.clone(), vec![(*a, *b)])),
                }
                rules = key.0;
            }
        }
        let mut tallies: [Tally; 2] = Default::default();
        let mut is_met = false;
        for ((rules, pair), pairs) in &alike {
            let rules = rules.split_at(self.reach.words());
            is_met |= self.outcome(at, rules.into(), pair, pairs, may, &mut tallies);
        }
        // a policy that is as it was differs by its checks alone
        let changed = rule
            .checks()
            .filter(|check| !rule.is_changed && check.side.is_some());
        let changed = changed.map(|check| Address::new(Kind::PostureCheck, &check.name));
        let changed: BTreeSet<Address> = changed.collect();
        for ((said, _), pairs) in tallies.iter_mut().flatten() {
            let changed = changed.iter().filter(|_| said.by == By::Rule);
            pairs.causes.extend(changed.cloned());
        }
        let checks = rule
            .checks()
            .map(|check| check.whole().to_string())
            .collect();
        let policy = Address::new(Kind::Policy, &rule.name);
        for tally in tallies.into_iter().enumerate() {
            self.passages(delta, tally, (from, Ok(to)), &policy, &checks);
        }
        is_met
    }

    /// Adds what is said of the pairs that these rules are about, before and after. Returns whether one rule is about them after.
    fn outcome(
        &self,
        at: usize,
        rules: [&[u64]; 2],
        pair: &Pair,
        pairs: &[Ends],
        may: [bool; 2],
        tallies: &mut [Tally; 2],
    ) -> bool {
        let reach = &self.reach;
        let own = SIDES.map(|side| self.own(side, at, rules[side], pair.ssh[side]));
        let diff = reach.diff(rules, pair.ssh);
        for which in SIDES.into_iter().filter(|which| may[*which]) {
            let (news, tally) = (&diff[which], &mut tallies[which]);
            let accepts = reach.world.rules[at].accepts(which);
            // what rules that stay as they are let through: their own lines say it
            let same = reach.same(rules[which]);
            let by_same = reach.traffic(which, &same, pair.ssh[which], &State::Fail);
            let moved = own[which].minus(&own[1 - which]);
            let by_rule = moved.minus(&by_same);
            let is_news = news.iter().any(|news| !news.common(&by_rule).is_empty());
            if accepts && !moved.is_empty() && !is_news {
                // what is not lost is there after, and what is not gained was there before, or is so by others
                let there = self.others(1 - which, at, rules[1 - which], pair, &moved);
                let here = self.others(which, at, &same, pair, &moved);
                let others: BTreeSet<usize> = there.into_iter().chain(here).collect();
                if !others.is_empty() {
                    let said = Said {
                        is_news: false,
                        by: By::Rule,
                        when: None,
                    };
                    let pairs = self.add(tally, said, &moved, pairs);
                    pairs.others.extend(others);
                }
            }
            if pair.is_of_all[which] {
                continue;
            }
            // what a machine that changes gains by rules that stay is said of these
            let mut of_rule = own[BEFORE].union(&own[AFTER]);
            if pair.by == By::Rule && pair.is_moved && accepts {
                of_rule = of_rule.minus(&by_same);
            }
            for (said, traffic) in shares(&reach.states, news, &of_rule, pair.by) {
                let all = self.add(tally, said, &traffic, pairs);
                for (from, to) in pairs {
                    let class = match pair.by {
                        By::Rule => continue,
                        By::Source => from,
                        By::Destination => to,
                    };
                    all.causes.extend(reach.at(*class).causes.iter().cloned());
                }
            }
        }
        !own[AFTER].is_empty()
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

    /// What the rule itself lets through, or drops, between two classes.
    fn own(&self, side: usize, rule: usize, rules: &[u64], ssh: Ssh) -> Traffic {
        match rules[rule / 64] & (1 << (rule % 64)) {
            0 => Traffic::default(),
            _ => self.reach.of_rule(side, rule, ssh),
        }
    }

    /// Why nobody gets anything by what a rule lets through after.
    fn why_idle(&self, grant: &Grant) -> String {
        let world = self.reach.world;
        let names = |groups: &[GroupAt]| listed(world.called(groups));
        let nodes = |groups: &[GroupAt]| -> Vec<&Node> {
            let groups = groups.iter().map(|group| &world.groups[*group as usize]);
            let members = groups.flat_map(|group| &group.members[AFTER]);
            members.map(|node| &world.nodes[*node as usize]).collect()
        };
        let (sources, destinations) = (names(&grant.from), names(&grant.to));
        if nodes(&grant.from).iter().all(|node| node.is_resource()) {
            return format!("there is no machine in {sources}");
        }
        let nodes = nodes(&grant.to);
        let mut resources = nodes.iter().filter(|node| node.is_resource());
        match nodes.is_empty() {
            true => format!("there is nothing in {destinations}"),
            false if resources.clone().any(|node| !node.is_on[AFTER]) => format!(
                "no enabled router with a machine leads to {destinations}, or the resource itself is disabled"
            ),
            false if resources.next().is_some() => {
                format!("every machine in {sources} is a router of {destinations}")
            }
            false => "the only source is also the only destination".to_owned(),
        }
    }
}

/// By what of a rule something can be lost, or gained: what lets it through before, or drops it after, and the other way round.
fn by(rule: &Rule, which: usize) -> impl Iterator<Item = &Grant> {
    let accepting = rule.on(which).filter(|grant| grant.accepts);
    let dropping = rule.on(1 - which).filter(|grant| !grant.accepts);
    accepting.into_iter().chain(dropping)
}
