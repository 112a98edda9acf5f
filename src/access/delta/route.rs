//! What comes and goes behind a route.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;

use super::{By, Maker, Tally, labels, place, shares};
use crate::access::reach::{ClassAt, between};
use crate::access::routes::Target;
use crate::access::traffic::Traffic;
use crate::access::world::{AFTER, BEFORE, SIDES};
use crate::access::{Passage, Place, Side, Why};
use crate::model::address::Address;
use crate::model::kind::Kind;

/// About how many rules are named as those which open it.
const MOST_RULES: usize = 3;

/// What passes before and after, in each of the states.
type Passing = [Vec<Traffic>; 2];

impl Maker<'_> {
    /// What comes and goes behind a route: of machines that change, of routers that change, by rules that pair them anew.
    pub(super) fn target(&mut self, target: &Target) {
        let reach = &self.reach;
        if reach.is_spent() {
            return;
        }
        let routers = SIDES.into_iter().flat_map(|side| target.routers(side));
        let routers: BTreeSet<ClassAt> = routers.collect();
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
            let mut found: [Tally; 2] = Default::default();
            let mut members = reach.in_group(client).to_vec();
            members.retain(|class| is_all || candidates.contains(class));
            // few things pass, for many classes
            let mut known: FxHashMap<Passing, [Vec<usize>; 2]> = FxHashMap::default();
            for class in members {
                if reach.is_spent() {
                    return;
                }
                let passing = SIDES
                    .map(|side| reach.in_states(|state| target.traffic(reach, side, state, class)));
                if passing[BEFORE] == passing[AFTER] {
                    continue;
                }
                let places = known.entry(passing).or_insert_with_key(|[before, after]| {
                    let diff = between(before, after);
                    SIDES.map(|which| {
                        let all = Traffic::everything();
                        let shares = shares(&reach.states, &diff[which], &all, By::Rule);
                        let shares = shares.into_iter();
                        let shares = shares.filter(|_| target.is_for(which, client));
                        let places = shares.map(|share| place(&mut found[which], share));
                        places.collect()
                    })
                });
                for which in SIDES {
                    for place in &places[which] {
                        let pairs = &mut found[which][*place].1;
                        pairs.all.push((class, class));
                        if target.differs() || pairs.because.len() >= MOST_RULES {
                            continue;
                        }
                        let name =
                            |rule: usize| Address::new(Kind::Policy, &reach.world.rules[rule].name);
                        pairs.because.extend(concerned(class).into_iter().map(name));
                        pairs.because.extend(self.causes(By::Source, class, class));
                    }
                }
            }
            for (which, found) in found.into_iter().enumerate() {
                for (said, pairs, is_even) in self.gathered(found) {
                    let behind = Place {
                        name: target.name.clone(),
                        address: target.target.clone(),
                    };
                    let passage = Passage {
                        from: self.side((client, true), &pairs.from(), &BTreeSet::new()),
                        to: Side::Route(behind),
                        traffic: said.traffic,
                        is_even,
                        condition: said.when.map(|(how, checks)| (how, labels(&checks))),
                        why: Why {
                            rule: Address::new(Kind::Route, &target.name),
                            causes: pairs.because.into_iter().collect(),
                            others: BTreeSet::new(),
                        },
                    };
                    passages.push((which, passage));
                }
            }
        }
        for (which, passage) in passages {
            self.list(which, true).push(passage);
        }
    }
}
