//! Routes: whoever gets one reaches what is behind it once a policy pairs them with a router (docs/access.md, "The rules of the model").

use std::collections::{BTreeMap, BTreeSet};

use super::reach::{ClassAt, Reach};
use super::traffic::Traffic;
use super::world::{GroupAt, Path, RouteOf, SIDES, World};

/// A network or domains behind the routes of one name: several of them lead to the same.
#[derive(Debug)]
pub(super) struct Target<'w> {
    pub(super) name: String,
    /// The network, or the domains.
    pub(super) target: String,
    routes: Vec<&'w RouteOf>,
}

/// Returns what the routes of a world lead to.
pub(super) fn targets<'w>(world: &'w World<'_>) -> Vec<Target<'w>> {
    let mut targets: BTreeMap<(&str, &str), Vec<&RouteOf>> = BTreeMap::new();
    for route in &world.routes {
        let to: BTreeSet<&str> = route
            .paths
            .iter()
            .flatten()
            .map(|path| path.target.as_str())
            .collect();
        for to in to {
            targets.entry((&route.name, to)).or_default().push(route);
        }
    }
    let target = |((name, target), routes): ((&str, &str), Vec<&'w RouteOf>)| Target {
        name: name.to_owned(),
        target: target.to_owned(),
        routes,
    };
    targets.into_iter().map(target).collect()
}

impl Target<'_> {
    /// Its routes that are on.
    fn paths(&self, side: usize) -> impl Iterator<Item = &Path> {
        let paths = self
            .routes
            .iter()
            .filter_map(move |route| route.paths[side].as_ref());
        paths.filter(|path| path.is_on && path.target == self.target)
    }

    fn of(&self, pick: fn(&Path) -> &Vec<GroupAt>) -> BTreeSet<GroupAt> {
        let paths = SIDES.iter().flat_map(|side| self.paths(*side));
        paths.flat_map(pick).copied().collect()
    }

    /// Whether one of its routes is another one after.
    pub(super) fn differs(&self) -> bool {
        let [before, after] = SIDES.map(|side| self.paths(side).collect::<Vec<_>>());
        before != after
    }

    /// Who gets it, before or after.
    pub(super) fn clients(&self) -> BTreeSet<GroupAt> {
        self.of(|path| &path.clients)
    }

    /// Whether that group gets it on a side.
    pub(super) fn is_for(&self, side: usize, client: GroupAt) -> bool {
        self.paths(side).any(|path| path.clients.contains(&client))
    }

    /// The groups whose policies guard it.
    pub(super) fn guards(&self) -> BTreeSet<GroupAt> {
        self.of(|path| &path.guards)
    }

    /// The machines that route, before or after.
    pub(super) fn routers(&self, reach: &Reach) -> BTreeSet<ClassAt> {
        let groups = self.of(|path| &path.routers).into_iter();
        groups
            .flat_map(|group| reach.in_group(group).to_vec())
            .collect()
    }

    /// The rules that are not the same before and after and may open or close it, each with the groups of the machines for
    /// which it does: those on the other side of a router, and the sources of what goes to its guards.
    pub(super) fn opening(
        &self,
        reach: &Reach,
        routers: &BTreeSet<ClassAt>,
    ) -> Vec<(usize, Vec<GroupAt>)> {
        let guards = self.guards();
        let has_router = |groups: &[GroupAt]| {
            let mut routers = routers.iter();
            routers.any(|router| reach.is_ever_in(*router, groups))
        };
        let differing = reach.differing_rules();
        let opening = differing.filter_map(|at| {
            let rule = &reach.world.rules[at];
            let mut groups = BTreeSet::new();
            for grant in SIDES.iter().filter_map(|side| rule.on(*side)) {
                if has_router(&grant.from) {
                    groups.extend(grant.to.iter().copied());
                }
                if has_router(&grant.to) || grant.to.iter().any(|group| guards.contains(group)) {
                    groups.extend(grant.from.iter().copied());
                }
            }
            let groups: Vec<GroupAt> = groups.into_iter().collect();
            (!groups.is_empty()).then_some((at, groups))
        });
        opening.collect()
    }

    /// Its routes that are on, with who routes.
    pub(super) fn ways(&self, reach: &Reach, side: usize) -> Ways<'_> {
        let ways = self.paths(side).map(|path| {
            let routers = path.routers.iter();
            let routers = routers.flat_map(|group| reach.in_group(*group).to_vec());
            let is_there = |router: &ClassAt| {
                !reach.at(*router).is_resource && reach.is_in(side, *router, &path.routers)
            };
            (path, routers.filter(is_there).collect())
        });
        Ways {
            side,
            ways: ways.collect(),
        }
    }

    /// Whether one of its routes is on.
    pub(super) fn is_on(&self, side: usize) -> bool {
        self.paths(side).next().is_some()
    }

    /// Whether a class gets it by a route that no groups guard.
    pub(super) fn has_open_way(&self, reach: &Reach, side: usize, class: ClassAt) -> bool {
        let mut paths = self.paths(side);
        paths.any(|path| path.guards.is_empty() && reach.is_in(side, class, &path.clients))
    }

    /// The rules that let a class through to the groups that guard it.
    pub(super) fn let_through_by(&self, reach: &Reach, side: usize, class: ClassAt) -> Vec<usize> {
        let paths = self.paths(side);
        let paths = paths.filter(|path| reach.is_in(side, class, &path.clients));
        let guards: Vec<GroupAt> = paths.flat_map(|path| path.guards.clone()).collect();
        reach.accepting(side, class, &guards)
    }

    /// The rules that pair a class with a router of it, and so open it.
    pub(super) fn opened_by(&self, reach: &Reach, side: usize, class: ClassAt) -> BTreeSet<usize> {
        let paths = self.paths(side);
        let groups = paths.flat_map(|path| path.routers.iter().copied());
        let routers = groups.flat_map(|group| reach.in_group(group).to_vec());
        let routers = routers.filter(|router| !reach.at(*router).is_resource && *router != class);
        routers
            .flat_map(|router| reach.pairing(side, class, router))
            .collect()
    }
}

/// The routes of a target that are on, each with the machines that route.
#[derive(Debug)]
pub(super) struct Ways<'t> {
    side: usize,
    ways: Vec<(&'t Path, Vec<ClassAt>)>,
}

impl Ways<'_> {
    /// What passes from a class to what is behind it.
    pub(super) fn traffic(&self, reach: &Reach, checks: usize, class: ClassAt) -> Traffic {
        let side = self.side;
        let mut traffic = Traffic::default();
        if reach.at(class).is_resource {
            return traffic;
        }
        for (path, routers) in &self.ways {
            // who routes needs no route
            if !reach.is_in(side, class, &path.clients) || reach.is_in(side, class, &path.routers) {
                continue;
            }
            let mut routers = routers.iter();
            if routers.any(|router| reach.are_paired(side, checks, class, *router)) {
                let passes = match path.guards.is_empty() {
                    true => Traffic::everything(),
                    false => reach.guarded(side, class, &path.guards, checks),
                };
                traffic = traffic.union(&passes);
            }
        }
        traffic
    }
}
