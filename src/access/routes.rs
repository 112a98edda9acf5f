//! Routes: whoever gets one reaches what is behind it once a policy pairs them with a router (docs/access.md, "The rules of the model").

use std::collections::{BTreeMap, BTreeSet};

use super::Place;
use super::reach::{ClassAt, Reach, State, bits};
use super::traffic::Traffic;
use super::world::{GroupAt, Path, SIDES};
use crate::model::{Address, Kind};

/// A network or domains behind the routes of one name: several of them lead to the same.
pub(super) struct Target<'w> {
    pub(super) place: Place,
    /// Its routes that are on.
    ways: [Vec<Way<'w>>; 2],
}

/// A route, and the machines that route.
struct Way<'w> {
    path: &'w Path,
    routers: Vec<ClassAt>,
}

/// Returns what the routes of a world lead to.
pub(super) fn targets<'w>(reach: &Reach<'w>) -> Vec<Target<'w>> {
    let mut targets: BTreeMap<(&str, &str), [Vec<Way>; 2]> = BTreeMap::new();
    for side in SIDES {
        for path in &reach.world.routes[side] {
            let ways = targets.entry((&path.name, &path.target)).or_default();
            if path.is_on {
                let routers = path.routers.iter();
                let routers = routers.flat_map(|group| reach.in_group(*group).to_vec());
                let is_there = |router: &ClassAt| {
                    !reach.at(*router).is_resource && reach.is_in(side, *router, &path.routers)
                };
                let routers = routers.filter(is_there).collect();
                ways[side].push(Way { path, routers });
            }
        }
    }
    let targets = targets.into_iter().map(|((name, target), ways)| Target {
        place: Place {
            name: name.to_owned(),
            address: target.to_owned(),
        },
        ways,
    });
    targets.collect()
}

impl Target<'_> {
    fn on(&self, sides: &[usize], pick: fn(&Path) -> &Vec<GroupAt>) -> BTreeSet<GroupAt> {
        let ways = sides.iter().flat_map(|side| &self.ways[*side]);
        ways.flat_map(|way| pick(way.path)).copied().collect()
    }

    /// Whether one of its routes is another one after.
    pub(super) fn differs(&self) -> bool {
        let [before, after] = &self.ways;
        let before = before.iter().map(|way| way.path);
        before.ne(after.iter().map(|way| way.path))
    }

    /// Who gets it on one of these sides.
    pub(super) fn clients(&self, sides: &[usize]) -> BTreeSet<GroupAt> {
        self.on(sides, |path| &path.clients)
    }

    /// Whether that group gets it on a side.
    pub(super) fn is_for(&self, side: usize, client: GroupAt) -> bool {
        let mut ways = self.ways[side].iter();
        ways.any(|way| way.path.clients.contains(&client))
    }

    /// The groups whose policies guard it on one of these sides.
    pub(super) fn guards(&self, sides: &[usize]) -> BTreeSet<GroupAt> {
        self.on(sides, |path| &path.guards)
    }

    /// The machines that route on a side.
    pub(super) fn routers(&self, side: usize) -> impl Iterator<Item = ClassAt> {
        self.ways[side].iter().flat_map(|way| &way.routers).copied()
    }

    /// Whether it is another one after, or a machine that routes is.
    pub(super) fn is_moved(&self, reach: &Reach) -> bool {
        let mut routers = SIDES.into_iter().flat_map(|side| self.routers(side));
        self.differs() || routers.any(|router| reach.at(router).differs)
    }

    /// The groups that rules which are not the same before and after pair with a router, or let through to its guards.
    pub(super) fn touched(&self, reach: &Reach) -> BTreeSet<GroupAt> {
        let routers = SIDES.into_iter().flat_map(|side| self.routers(side));
        let routers = routers.map(|router| &reach.world.nodes[reach.at(router).nodes[0] as usize]);
        let routing: BTreeSet<&GroupAt> = routers
            .flat_map(|node| node.groups.iter().flatten())
            .collect();
        let guards = self.guards(&SIDES);
        let mut touched = BTreeSet::new();
        for rule in reach.differing_rules().map(|at| &reach.world.rules[at]) {
            reach.spend(rule.groups().count());
            for grant in SIDES.into_iter().filter_map(|side| rule.on(side)) {
                if grant.from.iter().any(|group| routing.contains(group)) {
                    touched.extend(&grant.to);
                }
                if grant
                    .to
                    .iter()
                    .any(|group| routing.contains(group) || guards.contains(group))
                {
                    touched.extend(&grant.from);
                }
            }
        }
        touched
    }

    /// The policies that are not the same before and after, and pair a class with a router or are about it and the guards.
    pub(super) fn changed_rules(&self, reach: &Reach, class: ClassAt) -> Vec<Address> {
        let guards: Vec<GroupAt> = self.guards(&SIDES).into_iter().collect();
        let about = |side: usize| {
            let guarding = bits(reach.rules_to(side, class, &guards));
            guarding.chain(self.opened_by(reach, side, class))
        };
        let about: BTreeSet<usize> = SIDES.into_iter().flat_map(about).collect();
        let rules = about.into_iter().map(|at| &reach.world.rules[at]);
        let changed = rules.filter(|rule| rule.differs());
        changed
            .map(|rule| Address::new(Kind::Policy, &rule.name))
            .collect()
    }

    /// Whether one of its routes is on.
    pub(super) fn is_on(&self, side: usize) -> bool {
        !self.ways[side].is_empty()
    }

    /// Whether a class gets it by a route that no groups guard.
    pub(super) fn has_open_way(&self, reach: &Reach, side: usize, class: ClassAt) -> bool {
        let ways = self.ways[side].iter();
        let mut open = ways.filter(|way| way.path.guards.is_empty());
        open.any(|way| reach.is_in(side, class, &way.path.clients))
    }

    /// The rules that let a class through to the groups that guard it.
    pub(super) fn let_through_by(&self, reach: &Reach, side: usize, class: ClassAt) -> Vec<usize> {
        let ways = self.ways[side].iter();
        let ways = ways.filter(|way| reach.is_in(side, class, &way.path.clients));
        let guards: Vec<GroupAt> = ways.flat_map(|way| way.path.guards.clone()).collect();
        let rules = bits(reach.rules_to(side, class, &guards));
        rules
            .filter(|rule| reach.world.rules[*rule].accepts(side))
            .collect()
    }

    /// The rules that pair a class with a router of it, and so open it.
    pub(super) fn opened_by(&self, reach: &Reach, side: usize, class: ClassAt) -> BTreeSet<usize> {
        let routers = self.routers(side).filter(|router| *router != class);
        let pairing = routers.flat_map(|router| reach.pairing(side, class, router));
        pairing.collect()
    }

    /// What passes from a class to what is behind it.
    pub(super) fn traffic(
        &self,
        reach: &Reach,
        side: usize,
        state: &State,
        class: ClassAt,
    ) -> Traffic {
        let mut traffic = Traffic::default();
        if reach.at(class).is_resource {
            return traffic;
        }
        for Way { path, routers } in &self.ways[side] {
            // who routes needs no route
            if !reach.is_in(side, class, &path.clients) || reach.is_in(side, class, &path.routers) {
                continue;
            }
            let mut routers = routers.iter();
            if routers.any(|router| reach.are_paired(side, state, class, *router)) {
                let passes = match path.guards.is_empty() {
                    true => Traffic::everything(),
                    false => reach.guarded(side, class, &path.guards, state),
                };
                traffic = traffic.union(&passes);
            }
        }
        traffic
    }
}
