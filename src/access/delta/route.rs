//! What is opened and closed behind a route.

use std::collections::HashSet;

use super::{By, MOST_RULES, Maker, Tally, shares};
use crate::access::Delta;
use crate::access::reach::{ClassAt, between};
use crate::access::routes::Target;
use crate::access::traffic::Traffic;
use crate::access::world::SIDES;
use crate::model::{Address, Kind};

impl Maker<'_> {
    /// Adds what is opened and closed behind a route: for machines that change, by routers that change, by rules that pair them now.
    pub(super) fn target(&self, target: &Target, delta: &mut Delta) {
        let (everything, no_checks) = (Traffic::everything(), Default::default());
        let is_moved = target.is_moved(&self.reach);
        let touched = target.touched(&self.reach).into_iter();
        let touched = touched.flat_map(|group| self.reach.in_group(group));
        let touched: HashSet<&ClassAt> = touched.collect();
        let rule = Address::new(Kind::Route, &target.place.name);
        for client in target.clients(&SIDES) {
            let reach = &self.reach;
            let mut tallies: [Tally; 2] = Default::default();
            for class in reach.in_group(client) {
                if !is_moved && !touched.contains(class) && !reach.at(*class).differs {
                    continue;
                }
                if reach.is_spent() {
                    return;
                }
                let [before, after] = SIDES.map(|side| {
                    reach.in_states(|state| target.traffic(reach, side, state, *class))
                });
                if before == after {
                    continue;
                }
                let diff = between(&before, &after);
                for which in SIDES
                    .into_iter()
                    .filter(|which| target.is_for(*which, client))
                {
                    for (said, traffic) in
                        shares(&reach.states, &diff[which], &everything, By::Rule)
                    {
                        let pairs =
                            self.add(&mut tallies[which], said, &traffic, &[(*class, *class)]);
                        if !target.differs() && pairs.causes.len() < MOST_RULES {
                            pairs.causes.extend(target.changed_rules(reach, *class));
                            pairs.causes.extend(reach.at(*class).causes.iter().cloned());
                        }
                    }
                }
            }
            for tally in tallies.into_iter().enumerate() {
                let ends = (client, Err(&target.place));
                self.passages(delta, tally, ends, &rule, &no_checks);
            }
        }
    }
}
