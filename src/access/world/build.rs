//! Puts what was read, and what a plan makes of it, into a world: one side after the other.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::{
    AFTER, BEFORE, Check, EVERYBODY, End, Grant, GroupAt, NetworkKey, NodeAt, Path, Router, Rule,
    SIDES, What, World,
};
use crate::access::Place;
use crate::access::traffic::Traffic;
use crate::base::{Id, joined};
use crate::model::{
    ALL, Action, Address, Change, Kind, Live, Operation, PeerRef, Policy, Protocol, Resource,
    SetupKey, Target,
};
use crate::plan::{ByKey, Memberships, Plan};

/// An object with what becomes of it.
struct Object<'a> {
    /// With the name that it has after.
    address: &'a Address,
    live: Option<&'a Live>,
    change: Option<&'a Change>,
}

impl<'a> Object<'a> {
    /// Its change, where that side has it.
    fn change(&self, side: usize) -> Option<&'a Change> {
        self.change.filter(|_| side == AFTER)
    }

    /// Its form on a side.
    fn form(&self, side: usize) -> Option<Cow<'a, Resource>> {
        match self.change(side).map(|change| &change.operation) {
            None => self.live.map(|live| Cow::Borrowed(&live.resource)),
            Some(Operation::Replace { after, .. }) => Some(Cow::Borrowed(after)),
            Some(operation) => operation.outcome().map(Cow::Owned),
        }
    }

    /// The network that it is in on a side.
    fn network(&self, side: usize, plan: &Plan) -> NetworkKey {
        if let (None, Some(live)) = (self.change(side), self.live) {
            return live.within.as_ref().map(Id::to_string);
        }
        let parent = self.address.parent()?;
        let live = plan.parents.get(&parent);
        Some(live.map_or_else(|| format!("new {parent}"), Id::to_string))
    }
}

/// A world in the making.
pub(super) struct Builder<'a, 'b> {
    world: World<'a>,
    plan: &'a Plan,
    memberships: &'b Memberships,
    nodes: HashMap<What<'a>, NodeAt>,
    peers: HashMap<&'a Id, NodeAt>,
    /// By the place of the policy among the objects, and of the rule in it.
    rules: BTreeMap<(usize, usize), Rule>,
    /// The changes of live objects, by id.
    changes: HashMap<&'a Id, &'a Change>,
    /// Objects that get another name, by the one that they have, and whether another object gets that one.
    renamed: HashMap<(Kind, &'a str), (&'a str, bool)>,
    /// Posture checks that other machines pass after.
    changed_checks: BTreeSet<&'a str>,
    /// The side that is read.
    side: usize,
    /// Whether the object that is read names others as NetBird does: it is no change of the file.
    is_live: bool,
}

impl<'a, 'b> Builder<'a, 'b> {
    pub(super) fn new(world: World<'a>, plan: &'a Plan, memberships: &'b Memberships) -> Self {
        let changes = plan.changes.iter();
        let live = changes.filter_map(|change| Some((&change.operation.live()?.id, change)));
        Builder {
            world,
            plan,
            memberships,
            nodes: HashMap::new(),
            peers: HashMap::new(),
            rules: BTreeMap::new(),
            changes: live.collect(),
            renamed: HashMap::new(),
            changed_checks: BTreeSet::new(),
            side: BEFORE,
            is_live: true,
        }
    }

    pub(super) fn built(mut self) -> World<'a> {
        let objects = self.objects();
        self.compare_checks();
        for peer in self.world.actual.peers.iter() {
            let node = self.world.add_node(What::Peer(&peer.id), [false, false]);
            self.peers.insert(&peer.id, node);
        }
        for side in SIDES {
            self.side = side;
            self.add_peers();
            for (at, object) in objects.iter().enumerate() {
                self.is_live = side == BEFORE || object.change.is_none();
                if let Some(form) = object.form(side) {
                    self.add(at, object, &form);
                }
            }
        }
        self.follow_users();
        self.world.rules = std::mem::take(&mut self.rules).into_values().collect();
        self.world.join();
        self.name_groups();
        self.world
    }

    /// Every live object and every new one, by kind: what others refer to is first.
    fn objects(&mut self) -> Vec<Object<'a>> {
        let mut objects = Vec::new();
        for (named, live) in self.world.actual.each() {
            let change = self.changes.get(&live.id).copied();
            let address = change.map_or(named, |change| &change.address);
            let live = Some(live);
            if named.name != address.name {
                let name = (named.kind, named.name.as_str());
                self.renamed.insert(name, (&address.name, false));
            }
            objects.push(Object {
                address,
                live,
                change,
            });
        }
        let new = self.plan.changes.iter();
        let new = new.filter(|change| change.operation.live().is_none());
        objects.extend(new.map(|change| Object {
            address: &change.address,
            live: None,
            change: Some(change),
        }));
        for Address { kind, name, .. } in objects.iter().map(|object| object.address) {
            if let Some((_, is_taken)) = self.renamed.get_mut(&(*kind, name.as_str())) {
                *is_taken = true;
            }
        }
        objects.sort_by_key(|object| object.address.kind);
        objects
    }

    /// Notes which posture checks other machines pass after.
    fn compare_checks(&mut self) {
        let changes = self.plan.changes.iter();
        for change in changes.filter(|change| change.address.kind == Kind::PostureCheck) {
            let before = change.operation.live().map(|live| &live.resource);
            let (Some(Resource::PostureCheck(before)), Some(Resource::PostureCheck(after))) =
                (before, change.operation.outcome())
            else {
                continue;
            };
            let implied = [after.implies(before), before.implies(&after)];
            let name = &change.address.name;
            if implied != [true, true] {
                self.changed_checks.insert(name);
                let implied = SIDES.into_iter().filter(|side| implied[*side]);
                self.world.implied.extend(implied.map(|side| Check {
                    name: name.clone(),
                    side: Some(side),
                }));
            }
        }
    }

    /// Adds an object as it is on this side.
    fn add(&mut self, at: usize, object: &Object<'a>, form: &Resource) {
        let name = &object.address.name;
        match form {
            Resource::Group(form) if name != ALL => {
                let group = self.world.group(End::Group, name);
                for id in form.peers.iter().flatten() {
                    self.put_peer(id, [group]);
                }
            }
            Resource::SetupKey(key) => self.add_key(object, key),
            Resource::NetworkResource(form) => {
                let place = Place {
                    name: name.clone(),
                    address: form.address.clone(),
                };
                let network = object.network(self.side, self.plan);
                let node = self.node(What::Resource(place, network));
                let groups = self.groups(form.groups.iter().flatten());
                let alone = self.group(End::Resource, name);
                let side = self.side;
                let of = &mut self.world.nodes[node as usize];
                (of.is[side], of.is_on[side]) = (true, form.enabled.unwrap_or(true));
                of.causes = match object.change {
                    Some(_) => BTreeSet::from([object.address.clone()]),
                    None => object.address.parent().into_iter().collect(),
                };
                self.put(node, groups.into_iter().chain([alone]));
            }
            Resource::NetworkRouter(form) if form.enabled.unwrap_or(true) => {
                let network = object.network(self.side, self.plan);
                let through = self.who(form.peer.as_ref(), &form.peer_groups);
                self.world.routers[self.side].push(Router { network, through });
            }
            Resource::Policy(form) => {
                // old servers kept several rules in one policy; one that is changed has one
                let live = object.live.filter(|_| self.is_live);
                let live = live.map(|live| Policy::rules(live, &self.world.actual.groups));
                let rules = live.unwrap_or_else(|| vec![form.clone()]);
                for (rule, policy) in rules.iter().enumerate() {
                    let grant = self.grant(policy);
                    let rule = self.rules.entry((at, rule)).or_insert_with(|| Rule {
                        name: name.clone(),
                        is_changed: object.change.is_some(),
                        grants: [None, None],
                    });
                    rule.grants[self.side] = Some(grant);
                }
            }
            Resource::Route(form) => {
                let domains = || joined(form.domains.iter().flatten(), ", ");
                let all = BTreeSet::from([ALL.to_owned()]);
                let path = Path {
                    name: name.clone(),
                    is_on: form.enabled.unwrap_or(true),
                    target: form.network.clone().unwrap_or_else(domains),
                    routers: self.who(form.peer.as_ref(), &form.peer_groups),
                    clients: self.groups(form.groups.as_ref().unwrap_or(&all)),
                    guards: self.groups(form.access_control_groups.iter().flatten()),
                };
                self.world.routes[self.side].push(path);
            }
            // machines that no entry names, too, are there already; a network is what its parts say of it
            Resource::Group(_)
            | Resource::NetworkRouter(_)
            | Resource::Peer(_)
            | Resource::User(_)
            | Resource::Network(_)
            | Resource::PostureCheck(_)
            | Resource::NameserverGroup(_)
            | Resource::DnsZone(_)
            | Resource::DnsRecord(_)
            | Resource::DnsSettings(_)
            | Resource::AccountSettings(_) => {}
        }
    }

    fn add_peers(&mut self) {
        let (side, peers) = (self.side, self.world.actual.peers.iter());
        // they are the first nodes
        for (peer, node) in peers.zip(&mut self.world.nodes) {
            let change = self.changes.get(&peer.id).filter(|_| side == AFTER);
            let ssh_enabled = match change.map(|change| &change.operation) {
                Some(Operation::Delete { .. }) => None,
                Some(Operation::Update {
                    after: Resource::Peer(after),
                    ..
                }) => after.ssh_enabled.or(Some(peer.ssh_enabled)),
                _ => Some(peer.ssh_enabled),
            };
            if ssh_enabled != Some(peer.ssh_enabled) {
                node.causes
                    .extend(change.map(|change| change.address.clone()));
            }
            // whoever waits for approval is in nobody's map
            node.is[side] = ssh_enabled.is_some() && !peer.approval_required;
            node.is_on[side] = ssh_enabled == Some(true);
            node.groups[side].extend(node.is[side].then_some(EVERYBODY));
        }
    }

    /// A key that somebody can still enroll with: its machines join its groups, and those that list it.
    fn add_key(&mut self, object: &Object, key: &SetupKey) {
        let name = &object.address.name;
        let live = object
            .live
            .and_then(|live| self.world.actual.keys.get(&live.id));
        let makes = object.change.is_some_and(Change::makes_key) && self.side == AFTER;
        if !live.is_some_and(|key| key.valid) && !makes {
            return;
        }
        // of several keys of an entry each lets its machine in
        let node = self.node(What::Key(name.clone()));
        let of = |all: &ByKey| all.get(name).cloned().unwrap_or_default();
        let lists = self.plan.pending_members.iter();
        let lists = lists.filter(|(_, keys)| keys.contains(name));
        let mut groups: BTreeSet<String> = lists.map(|(group, _)| group.clone()).collect();
        if self.side == BEFORE {
            let Memberships {
                new, gone, ended, ..
            } = self.memberships;
            groups = &(&groups - &of(new)) | &(&of(gone) | &of(ended));
        }
        groups.extend(key.auto_groups.iter().flatten().cloned());
        let groups = self.groups(&groups);
        let of = &mut self.world.nodes[node as usize];
        of.is[self.side] = true;
        of.causes = BTreeSet::from([object.address.clone()]);
        self.put(node, groups.into_iter().chain([EVERYBODY]));
    }

    /// Machines whose user gets other groups follow at once, out of those that they were put into by hand, too. Where the account
    /// did not let them follow before, those of every user join all groups of the user.
    fn follow_users(&mut self) {
        let (actual, plan) = (self.world.actual, self.plan);
        if !actual.propagates_groups(&plan.changes) {
            return;
        }
        let all_join = !actual.propagates_groups(&[]);
        for (_, live) in actual.each().filter(|(at, _)| at.kind == Kind::User) {
            let change = self.changes.get(&live.id).copied();
            let cause = match change {
                Some(change) => change.address.clone(),
                None if all_join => Address::new(Kind::AccountSettings, ""),
                None => continue,
            };
            let groups = |user: &Resource| match user {
                Resource::User(user) => user.auto_groups.clone().unwrap_or_default(),
                _ => BTreeSet::new(),
            };
            let before = groups(&live.resource);
            let after = change.and_then(|change| change.operation.outcome());
            let after = after.as_ref().map_or_else(|| before.clone(), groups);
            self.is_live = change.is_none();
            let lost = self.groups(before.difference(&after));
            let joined = after.iter();
            let gained = self.groups(joined.filter(|name| all_join || !before.contains(*name)));
            for (peer, node) in actual.peers.iter().zip(&mut self.world.nodes) {
                let groups = &mut node.groups[AFTER];
                let is_in = |group| groups.contains(group);
                let is_same = lost.is_empty() && gained.iter().all(is_in);
                if peer.user_id != live.id.0 || is_same {
                    continue;
                }
                groups.retain(|group| !lost.contains(group));
                groups.extend(gained.iter().filter(|_| node.is[AFTER]));
                node.causes.insert(cause.clone());
            }
        }
    }

    /// Names the changed groups that machines join or leave.
    fn name_groups(&mut self) {
        let changed = self.plan.changes.iter();
        for change in changed.filter(|change| change.address.kind == Kind::Group) {
            let Some(group) = self.world.find(End::Group, &change.address.name) else {
                continue;
            };
            let members = &self.world.groups[group as usize].members;
            let [before, after] = members
                .each_ref()
                .map(|of| of.iter().collect::<HashSet<_>>());
            for node in before.symmetric_difference(&after) {
                let node = &mut self.world.nodes[**node as usize];
                if matches!(node.what, What::Peer(_)) && node.is == [true, true] {
                    node.causes.insert(change.address.clone());
                }
            }
        }
    }

    /// The place of a machine or a resource; it is made where it is not there.
    fn node(&mut self, what: What<'a>) -> NodeAt {
        let world = &mut self.world;
        let node = self.nodes.entry(what);
        *node.or_insert_with_key(|what| world.add_node(what.clone(), [false, false]))
    }

    /// Puts what is there on this side into groups.
    fn put(&mut self, node: NodeAt, groups: impl IntoIterator<Item = GroupAt>) {
        let node = &mut self.world.nodes[node as usize];
        let groups = groups.into_iter().filter(|_| node.is[self.side]);
        node.groups[self.side].extend(groups);
    }

    fn put_peer(&mut self, id: &Id, groups: impl IntoIterator<Item = GroupAt>) {
        if let Some(node) = self.peers.get(id) {
            self.put(*node, groups);
        }
    }

    /// The name after of what the object that is read calls so.
    fn name_after<'c>(&self, kind: Kind, name: &'c str) -> &'c str
    where
        'a: 'c,
    {
        match self.renamed.get(&(kind, name)) {
            // what the file leaves out has the names of NetBird
            Some((renamed, is_taken)) if self.is_live || !is_taken => renamed,
            _ => name,
        }
    }

    /// The place of what the object that is read calls so.
    fn group(&mut self, end: End, name: &str) -> GroupAt {
        let kind = match end {
            End::Resource => Kind::NetworkResource,
            _ => Kind::Group,
        };
        let name = self.name_after(kind, name).to_owned();
        self.world.group(end, &name)
    }

    fn groups<'c>(&mut self, names: impl IntoIterator<Item = &'c String>) -> Vec<GroupAt> {
        let names = names.into_iter();
        names.map(|name| self.group(End::Group, name)).collect()
    }

    /// The group of one peer alone, or else the groups.
    fn who(&mut self, peer: Option<&PeerRef>, groups: &BTreeSet<String>) -> Vec<GroupAt> {
        match peer {
            Some(PeerRef::Id(id)) => {
                let group = self.world.group(End::Peer, &id.0);
                self.put_peer(id, [group]);
                vec![group]
            }
            Some(PeerRef::Name(_)) => Vec::new(),
            None => self.groups(groups),
        }
    }

    fn grant(&mut self, policy: &Policy) -> Grant {
        let mut side = |target: &Option<Target>, groups: &BTreeSet<String>| match target {
            Some(Target::Peer { peer }) => self.who(Some(peer), groups),
            Some(Target::Resource(name)) => vec![self.group(End::Resource, name)],
            None => self.groups(groups),
        };
        let from = match side(&policy.source_resource, &policy.sources) {
            // all others are among them
            from if from.contains(&EVERYBODY) => vec![EVERYBODY],
            from => from,
        };
        let to = side(&policy.destination_resource, &policy.destinations);
        let checks = policy.source_posture_checks.iter().flatten();
        let check = |name: &String| {
            let name = self.name_after(Kind::PostureCheck, name).to_owned();
            let changes = self.changed_checks.contains(name.as_str());
            let side = changes.then_some(self.side);
            Check { name, side }
        };
        Grant {
            is_on: policy.enabled.unwrap_or(true),
            accepts: policy.action != Some(Action::Drop),
            both_ways: policy.bidirectional.unwrap_or(true),
            traffic: Traffic::of(policy),
            opens_ssh: matches!(policy.protocol, None | Some(Protocol::All)),
            from,
            to,
            checks: checks.map(check).collect(),
        }
    }
}
