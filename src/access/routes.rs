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

    /// All groups that it speaks of.
    pub(super) fn groups(&self) -> BTreeSet<GroupAt> {
        let routers = self.of(|path| &path.routers);
        routers
            .into_iter()
            .chain(self.clients())
            .chain(self.guards())
            .collect()
    }

    /// The machines that route, before or after.
    pub(super) fn routers(&self, reach: &Reach) -> BTreeSet<ClassAt> {
        let groups = self.of(|path| &path.routers).into_iter();
        groups
            .flat_map(|group| reach.in_group(group).to_vec())
            .collect()
    }

    /// What passes from a class to what is behind it.
    pub(super) fn traffic(
        &self,
        reach: &Reach,
        side: usize,
        checks: usize,
        class: ClassAt,
    ) -> Traffic {
        let is_in = |class: ClassAt, groups: &[GroupAt]| {
            let nodes = &reach.at(class).nodes;
            let node = nodes.first().map(|node| &reach.world.nodes[*node as usize]);
            node.is_some_and(|node| groups.iter().any(|group| node.groups[side].contains(group)))
        };
        let mut traffic = Traffic::default();
        for path in self.paths(side) {
            // who routes needs no route
            if reach.at(class).is_resource
                || !is_in(class, &path.clients)
                || is_in(class, &path.routers)
            {
                continue;
            }
            let routers = path
                .routers
                .iter()
                .flat_map(|group| reach.in_group(*group).to_vec());
            let mut routers = routers
                .filter(|router| is_in(*router, &path.routers) && !reach.at(*router).is_resource);
            if routers.any(|router| reach.are_paired(side, checks, class, router)) {
                let passes = match path.guards.is_empty() {
                    true => Traffic::everything(),
                    false => reach.guarded(side, class, &path.guards, checks),
                };
                traffic = traffic.union(&passes);
            }
        }
        traffic
    }

    /// Whether one of its routes is on.
    pub(super) fn is_on(&self, side: usize) -> bool {
        self.paths(side).next().is_some()
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
