//! Puts what was read, and what a plan makes of it, into a world.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::{
    AFTER, BEFORE, EVERYBODY, End, Grant, GroupAt, NetworkKey, NodeAt, Path, Place, RouteOf,
    Router, Rule, SIDES, What, World,
};
use crate::access::traffic::Traffic;
use crate::account::actual::Actual;
use crate::base::id::Id;
use crate::base::text::joined;
use crate::model::address::Address;
use crate::model::change::{Change, Operation};
use crate::model::kind::{
    ALL, Action, Kind, Live, NetworkResource, PeerRef, Policy, Protocol, Resource, Target,
};
use crate::plan::Plan;
use crate::plan::memberships::Memberships;

/// The object of an address before a plan and after it, and where it stands then.
pub(super) struct Object<'a> {
    pub(super) address: &'a Address,
    live: Option<&'a Live>,
    change: Option<&'a Change>,
    after: Option<Resource>,
    network: [NetworkKey; 2],
}

impl Object<'_> {
    /// Its form on a side.
    fn form(&self, side: usize) -> Option<&Resource> {
        match (side, self.change) {
            (BEFORE, _) | (_, None) => self.live.map(|live| &live.resource),
            _ => self.after.as_ref(),
        }
    }
}

/// Every live object and every new one, with what becomes of it.
pub(super) fn objects<'a>(actual: &'a Actual, plan: &'a Plan) -> Vec<Object<'a>> {
    let changes = by_id(plan, |_| true);
    let network_of = |address: &Address| -> NetworkKey {
        let parent = address.parent()?;
        let live = plan.parents.get(&parent);
        Some(live.map_or_else(|| format!("new {}", parent.name), |id| id.to_string()))
    };
    let object = |address: &'a Address, live: Option<&'a Live>, change: Option<&'a Change>| {
        let before = match live {
            Some(live) => live.within.as_ref().map(Id::to_string),
            None => network_of(address),
        };
        let after = match change {
            Some(change) if before.is_some() => network_of(&change.address),
            _ => before.clone(),
        };
        Object {
            address: change.map_or(address, |change| &change.address),
            live,
            change,
            after: change.and_then(|change| match &change.operation {
                Operation::Replace { after, .. } => Some(after.clone()),
                operation => operation.outcome(),
            }),
            network: [before, after],
        }
    };
    let live = actual.each();
    let live = live.map(|(at, live)| object(at, Some(live), changes.get(&live.id).copied()));
    let is_new = |change: &&Change| matches!(change.operation, Operation::Create { .. });
    let new = plan.changes.iter().filter(is_new);
    let new = new.map(|change| object(&change.address, None, Some(change)));
    live.chain(new).collect()
}

/// The changes of live objects, by id.
fn by_id(plan: &Plan, of: impl Fn(&&Change) -> bool) -> HashMap<&Id, &Change> {
    let changes = plan.changes.iter().filter(of);
    let by_id = changes.filter_map(|change| Some((&change.operation.live()?.id, change)));
    by_id.collect()
}

impl<'a> World<'a> {
    /// What stands for one peer alone in rules.
    pub(super) fn one_peer(&mut self, id: &Id) -> GroupAt {
        let group = self.group(End::Peer, &id.0);
        if let Some(node) = self.peers.get(id).copied() {
            SIDES.iter().for_each(|side| self.put(node, [group], *side));
        }
        group
    }

    pub(super) fn add_peers(&mut self, actual: &'a Actual, plan: &Plan) {
        let of_peers = |change: &&Change| change.address.kind == Kind::Peer;
        let changes = by_id(plan, of_peers);
        for peer in actual.peers.iter() {
            let change = changes.get(&peer.id);
            let after = match change.map(|change| &change.operation) {
                Some(Operation::Delete { .. }) => None,
                Some(Operation::Update {
                    after: Resource::Peer(after),
                    ..
                }) => after.ssh_enabled.or(Some(peer.ssh_enabled)),
                _ => Some(peer.ssh_enabled),
            };
            let is_on = [peer.ssh_enabled, after.unwrap_or(false)];
            // whoever waits for approval is in nobody's map
            let is = [true, after.is_some()].map(|is| is && !peer.approval_required);
            let node = self.add_node(What::Peer(&peer.id), is, is_on);
            if after != Some(peer.ssh_enabled) {
                let cause = change.map(|change| change.address.clone());
                self.nodes[node as usize].causes.extend(cause);
            }
            self.peers.insert(&peer.id, node);
            SIDES
                .iter()
                .for_each(|side| self.put(node, [EVERYBODY], *side));
        }
    }

    pub(super) fn add_group(&mut self, object: &Object) {
        let name = &object.address.name;
        let group = self.group(End::Group, name);
        if group == EVERYBODY {
            return;
        }
        let mut members: [HashSet<NodeAt>; 2] = Default::default();
        for side in SIDES {
            let Some(Resource::Group(form)) = object.form(side) else {
                continue;
            };
            let peers = form.peers.iter().flatten();
            members[side] = peers.filter_map(|id| self.peers.get(id).copied()).collect();
            let nodes = members[side].iter();
            nodes.for_each(|node| self.put(*node, [group], side));
        }
        if object.change.is_none() {
            return;
        }
        for node in members[BEFORE].symmetric_difference(&members[AFTER]) {
            let causes = &mut self.nodes[*node as usize].causes;
            causes.push(object.address.clone());
        }
    }

    /// Machines whose user gets other groups follow at once, out of those that they were put into by hand, too.
    pub(super) fn follow_users(&mut self, plan: &Plan) {
        let actual = self.actual;
        let people = plan
            .changes
            .iter()
            .filter(|of| of.address.kind == Kind::User);
        for change in people.filter(|_| actual.propagates_groups(&plan.changes)) {
            let live = change.operation.live();
            let groups = |user: &Resource| match user {
                Resource::User(user) => user.auto_groups.clone().unwrap_or_default(),
                _ => BTreeSet::new(),
            };
            let before = live.map(|live| groups(&live.resource)).unwrap_or_default();
            let after = change
                .operation
                .outcome()
                .as_ref()
                .map(groups)
                .unwrap_or_default();
            let lost = self.groups(before.difference(&after));
            let gained = self.groups(after.difference(&before));
            let is_of = |user: &str| live.is_some_and(|live| live.id.0 == user);
            for peer in actual.peers.iter().filter(|peer| is_of(&peer.user_id)) {
                let Some(node) = self.peers.get(&peer.id).copied() else {
                    continue;
                };
                let of = &mut self.nodes[node as usize];
                of.groups[AFTER].retain(|group| !lost.contains(group));
                of.causes.push(change.address.clone());
                self.put(node, gained.iter().copied(), AFTER);
            }
        }
    }

    /// A key that somebody can still enroll with: its machines join its groups, and those that list it.
    pub(super) fn add_key(
        &mut self,
        object: &Object,
        actual: &Actual,
        plan: &Plan,
        memberships: &Memberships,
    ) {
        let name = &object.address.name;
        let key = object.live.and_then(|live| actual.keys.get(&live.id));
        let is_usable = key.is_some_and(|key| key.valid);
        let makes = object.change.is_some_and(Change::makes_key);
        let is = [
            is_usable,
            object.form(AFTER).is_some() && (is_usable || makes),
        ];
        if is == [false, false] {
            return;
        }
        // of several keys of an entry each lets its machine in
        let node = match self.keys.get(name) {
            Some(node) => *node,
            None => self.add_node(What::Key(name.clone()), is, [false, false]),
        };
        self.keys.insert(name.clone(), node);
        for side in SIDES {
            self.nodes[node as usize].is[side] |= is[side];
        }
        let lists = plan.pending_members.iter();
        let lists = lists.filter(|(_, keys)| keys.contains(name));
        let listed: BTreeSet<String> = lists.map(|(group, _)| group.clone()).collect();
        let none = BTreeSet::new();
        let new = memberships.new.get(name).unwrap_or(&none);
        let gone = memberships.gone.get(name).unwrap_or(&none);
        let before = &(&listed - new) | gone;
        let mut groups: [BTreeSet<String>; 2] = [before, listed];
        for side in SIDES {
            if let Some(Resource::SetupKey(key)) = object.form(side) {
                groups[side].extend(key.auto_groups.iter().flatten().cloned());
            }
            groups[side].insert(ALL.to_owned());
            if is[side] {
                let groups = self.groups(&groups[side]);
                self.put(node, groups, side);
            }
        }
        if is[BEFORE] != is[AFTER] || groups[BEFORE] != groups[AFTER] {
            let causes = &mut self.nodes[node as usize].causes;
            causes.push(object.address.clone());
        }
    }

    /// Who routes.
    fn who(&mut self, peer: Option<&PeerRef>, groups: &BTreeSet<String>) -> Vec<GroupAt> {
        match peer {
            Some(PeerRef::Id(id)) => vec![self.one_peer(id)],
            Some(PeerRef::Name(_)) => Vec::new(),
            None => self.groups(groups),
        }
    }

    pub(super) fn add_router(&mut self, object: &Object) {
        let through = SIDES.map(|side| match object.form(side) {
            Some(Resource::NetworkRouter(form)) => {
                let who = self.who(form.peer.as_ref(), &form.peer_groups);
                Some((form.enabled.unwrap_or(true), who))
            }
            _ => None,
        });
        let network = object.network.clone();
        self.routers.push(Router { network, through });
    }

    pub(super) fn add_resource(&mut self, object: &Object) {
        let forms = SIDES.map(|side| match object.form(side) {
            Some(Resource::NetworkResource(form)) => Some(form.clone()),
            _ => None,
        });
        let is_moved = match &forms {
            [Some(before), Some(after)] => {
                before.address != after.address || object.network[BEFORE] != object.network[AFTER]
            }
            _ => false,
        };
        match (is_moved, forms) {
            // what is at another address, or behind another network's routers, is another thing, whatever its name
            (true, [before, after]) => {
                self.add_resource_node(object, is_moved, &[before, None]);
                self.add_resource_node(object, is_moved, &[None, after]);
            }
            (false, forms) => self.add_resource_node(object, is_moved, &forms),
        }
    }

    fn add_resource_node(
        &mut self,
        object: &Object,
        is_moved: bool,
        forms: &[Option<NetworkResource>; 2],
    ) {
        let Some(form) = forms.iter().flatten().last() else {
            return;
        };
        let name = &object.address.name;
        let is = forms.each_ref().map(Option::is_some);
        let is_on = forms.each_ref().map(|form| {
            let is_on = |form: &NetworkResource| form.enabled.unwrap_or(true);
            form.as_ref().is_some_and(is_on)
        });
        let what = What::Resource(Place {
            name: name.clone(),
            address: form.address.clone(),
            is_moved,
            network: object.network.clone(),
        });
        let node = self.add_node(what, is, is_on);
        let alone = self.group(End::Resource, name);
        for side in SIDES {
            let groups = forms[side].as_ref().and_then(|form| form.groups.as_ref());
            let groups = self.groups(groups.into_iter().flatten());
            self.put(node, groups.into_iter().chain([alone]), side);
        }
        let causes = match object.change {
            Some(_) => vec![object.address.clone()],
            None => object.address.parent().into_iter().collect(),
        };
        self.nodes[node as usize].causes = causes;
    }

    pub(super) fn add_policy(&mut self, object: &Object, actual: &Actual) {
        // old servers kept several rules in one policy; one that is changed has one
        let live = object.live.map(|live| Policy::rules(live, &actual.groups));
        let live = live.unwrap_or_default();
        let mut after = match &object.after {
            Some(Resource::Policy(policy)) => Some(policy),
            _ => None,
        };
        for at in 0..live.len().max(usize::from(after.is_some())) {
            let before = live.get(at).map(|rule| self.grant(rule));
            let grants = match object.change {
                Some(_) => [before, after.take().map(|rule| self.grant(rule))],
                None => [before.clone(), before],
            };
            let name = object.address.name.clone();
            self.rules.push(Rule { name, grants });
        }
    }

    fn grant(&mut self, policy: &Policy) -> Grant {
        let mut side = |target: &Option<Target>, groups: &BTreeSet<String>| match target {
            Some(Target::Peer { peer }) => self.who(Some(peer), groups),
            Some(Target::Resource(name)) => vec![self.group(End::Resource, name)],
            None => self.groups(groups),
        };
        Grant {
            is_on: policy.enabled.unwrap_or(true),
            accepts: policy.action != Some(Action::Drop),
            both_ways: policy.bidirectional.unwrap_or(true),
            traffic: Traffic::of(policy),
            opens_ssh: matches!(policy.protocol, None | Some(Protocol::All)),
            from: match side(&policy.source_resource, &policy.sources) {
                // all others are among them
                from if from.contains(&EVERYBODY) => vec![EVERYBODY],
                from => from,
            },
            to: side(&policy.destination_resource, &policy.destinations),
            checks: policy.source_posture_checks.clone().unwrap_or_default(),
        }
    }

    pub(super) fn add_route(&mut self, object: &Object) {
        let paths = SIDES.map(|side| match object.form(side) {
            Some(Resource::Route(form)) => {
                let domains = || joined(form.domains.iter().flatten(), ", ");
                let all = BTreeSet::from([ALL.to_owned()]);
                Some(Path {
                    is_on: form.enabled.unwrap_or(true),
                    target: form.network.clone().unwrap_or_else(domains),
                    routers: self.who(form.peer.as_ref(), &form.peer_groups),
                    clients: self.groups(form.groups.as_ref().unwrap_or(&all)),
                    guards: self.groups(form.access_control_groups.iter().flatten()),
                })
            }
            _ => None,
        });
        let name = object.address.name.clone();
        self.routes.push(RouteOf { name, paths });
    }
}
