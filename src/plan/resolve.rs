//! The file in the terms of the account: names of members become ids, each setup key becomes what its life cycle asks for,
//! and peers that enrolled go into the groups of their keys.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use super::Given;
use super::bind::Bound;
use crate::account::Actual;
use crate::base::{Id, parallel};
use crate::model::{
    Address, Desired, Group, Kind, Notice, OfKey, OfObject, PeerRef, Protection, Resource,
    label_of, plain_label,
};
use crate::plan::{
    Decision, Decisions, Enrollment, Known, Members, Names, Replaced, Standing, keys, members,
    people,
};
use crate::wire::api::objects;

/// What the entries of a file mean in an account.
#[derive(Debug)]
pub(super) struct Resolved<'a> {
    /// The entries in canonical form, but for setup keys; of one address several, where its kind has several.
    pub(super) resources: BTreeMap<Address, Cow<'a, [Resource]>>,
    /// The places of the objects of `resources` in entries of which another object waits for the peer that it names.
    pub(super) places: BTreeMap<Address, Vec<usize>>,
    /// What is decided about each setup key.
    pub(super) decisions: Decisions,
    /// Pending keys that were used.
    pub(super) enrollments: Vec<Enrollment>,
    /// Peers in whose place another machine came.
    pub(super) replaced: Vec<Replaced>,
    /// Which machines names mean.
    pub(super) names: Names,
    /// The members of each group that lists some.
    pub(super) members: BTreeMap<String, Members<'a>>,
    /// What a reader should know.
    pub(super) notices: Vec<Notice>,
}

impl Resolved<'_> {
    /// Returns the entries about which something is done, and all setup keys as the file has them.
    pub(super) fn entries<'a>(
        &'a self,
        desired: &'a Desired,
    ) -> impl Iterator<Item = (&'a Address, &'a [Resource])> {
        let keys = desired.entries.iter();
        let keys = keys.filter(|(at, _)| at.kind == Kind::SetupKey);
        let others = self.resources.iter().map(|(at, all)| (at, &**all));
        others.chain(keys.map(|(at, all)| (at, all.as_slice())))
    }

    /// Returns whether that is a setup key about which something can be done.
    pub(super) fn is_checked_key(&self, address: &Address) -> bool {
        self.decision(address).is_some_and(|of| !of.is_skipped)
    }

    /// Returns what is decided about the setup key of that address.
    pub(super) fn decision(&self, address: &Address) -> Option<&Decision> {
        let key = Some(&address.name).filter(|_| address.kind == Kind::SetupKey);
        self.decisions.get(key?)
    }
}

/// Resolves the names of the file. What cannot be told is a notice; whether it can be carried out is told by `check`.
pub(super) fn resolve<'a>(given: Given<'a>) -> Resolved<'a> {
    let (desired, actual, options) = (given.desired, given.actual, given.options);
    let decisions = keys::decisions(desired, actual, options);
    let enrolled = || decisions.values().map(|of| &of.enrolled);
    let enrollments = enrolled().filter_map(|of| of.enrollment.clone());
    let enrollments: Vec<Enrollment> = enrollments.collect();
    let replaced = enrolled().flat_map(|of| of.replaced.iter().cloned());
    let replaced: Vec<Replaced> = replaced.collect();
    let names = Names::of(desired, actual, &decisions, options);
    let unapproved = actual.peers.iter().filter(|peer| peer.approval_required);
    let known = Known {
        desired,
        actual,
        decisions: &decisions,
        names: &names,
        replaced: &replaced,
        unapproved: &unapproved.map(|peer| &peer.id).collect(),
        options,
    };
    let mut notices: Vec<Notice> = names
        .notice()
        .into_iter()
        .chain(taken_labels(desired, actual, &decisions))
        .chain(decisions.values().flat_map(|of| of.notices.iter().cloned()))
        .collect();
    let (mut resources, mut places) = (BTreeMap::new(), BTreeMap::new());
    let mut members = BTreeMap::new();
    let groups: Vec<_> = desired.groups().collect();
    let groups = parallel::map(&groups, |(name, group)| {
        let joins = enrollments.iter();
        let joins = joins.filter(|enrollment| enrollment.groups.contains(*name));
        let joins = joins.map(|enrollment| enrollment.peer.clone());
        members_of(name, group, joins.collect(), given.binding, known)
    });
    for ((name, _), (peers, of_group)) in desired.groups().zip(groups) {
        let group = Resource::Group(Group::with(peers));
        let address = Address::new(Kind::Group, name);
        resources.insert(address, Cow::Owned(vec![group]));
        if let Some(of_group) = of_group {
            notices.extend(of_group.notices.iter().cloned());
            members.insert(name.clone(), of_group);
        }
    }
    for (address, all) in desired.resources() {
        let mut told = match address.kind {
            Kind::User => person(address, all, actual),
            _ => told(address, all, known),
        };
        notices.append(&mut told.notices);
        if told.places.len() < all.len() {
            places.insert(address.clone(), told.places);
        }
        if !told.objects.is_empty() {
            resources.insert(address.clone(), told.objects);
        }
    }
    Resolved {
        resources,
        places,
        enrollments,
        replaced,
        decisions,
        names,
        members,
        notices,
    }
}

/// Returns the members that a declared group is to have, where that is for the file to say, and what its list means. A peer that
/// enrolled goes into its key's groups even where the file leaves their members alone.
fn members_of<'f>(
    name: &str,
    group: &'f Group,
    joins: BTreeSet<Id>,
    binding: &Bound,
    known: Known,
) -> (Option<BTreeSet<Id>>, Option<Members<'f>>) {
    let (actual, address) = (known.actual, Address::new(Kind::Group, name));
    let stands = binding.stands.get(&address).into_iter().flatten();
    let id = stands.flatten().next();
    // whoever is in a second one of the group, too
    let seconds = binding.surplus.iter();
    let seconds = seconds.filter(|(_, (at, _))| *at == address);
    let all = id.into_iter().chain(seconds.map(|(id, _)| id));
    let all = all.filter_map(|id| actual.live(id)?.1.resource.members());
    let all: Vec<&BTreeSet<Id>> = all.collect();
    let live = match all[..] {
        [only] => Cow::Borrowed(only),
        _ => Cow::Owned(all.iter().copied().flatten().cloned().collect()),
    };
    let inventory = &known.options.ours.inventory;
    let recorded = id.and_then(|id| inventory.entry_of(id));
    let recorded = recorded.and_then(|(key, _)| key.split_once('/'));
    let names = (name, recorded.map_or(name, |(_, name)| name));
    let listed = group.listed.as_ref();
    let listed = listed.map(|listed| members::resolve(names, listed, &live, known));
    let protected = id.and_then(|id| actual.protected_groups.get(id));
    match (protected, listed) {
        (Some(why), listed) => {
            let listed = listed.map(|listed| of_issued(&address, why, listed, &live, known));
            (None, listed)
        }
        (None, Some(mut listed)) => {
            let mut peers = std::mem::take(&mut listed.peers);
            peers.extend(joins);
            (Some(peers), Some(listed))
        }
        (None, None) => {
            let is_ours = !joins.is_subset(&live) || all.len() > 1;
            (is_ours.then(|| &*live | &joins), None)
        }
    }
}

/// Returns the members of a group that the file lists and an identity provider decides: they stay who they are.
fn of_issued<'f>(
    address: &Address,
    issued: &Protection,
    members: Members,
    live: &BTreeSet<Id>,
    known: Known,
) -> Members<'f> {
    let ours = &known.options.ours;
    let listed = |file: &Desired| file.resource(address).first().map(Resource::said);
    let is_new = match ours.versions.base() {
        Some(base) => listed(base) != listed(known.desired),
        None => ours.standing == Standing::First,
    };
    let meant: BTreeSet<Id> = members.meant.into_iter().map(|(_, id)| id).collect();
    let label = |id: &Id| known.actual.peer_label(id);
    let lacks = meant.difference(live).map(label);
    let what = OfObject::IssuedPeers {
        issued: issued.clone(),
        more: live.difference(&meant).map(label).collect(),
        lacks: lacks.chain(members.pending).collect(),
        is_new,
    };
    Members {
        notices: vec![Notice::about(address, what)],
        ..Members::default()
    }
}

/// The objects of an entry that do not wait.
struct Told<'a> {
    objects: Cow<'a, [Resource]>,
    /// Their places in the entry.
    places: Vec<usize>,
    /// What a reader should know.
    notices: Vec<Notice>,
}

/// Returns the entry of a user, where something is done about it.
fn person(address: &Address, all: &[Resource], actual: &Actual) -> Told<'static> {
    let (objects, notices) = match people::told(address, all, actual) {
        Ok(told) => (vec![told], Vec::new()),
        Err(why) => {
            let notice = why.map(|why| Notice::about(address, why));
            (Vec::new(), Vec::from_iter(notice))
        }
    };
    Told {
        places: (0..objects.len()).collect(),
        objects: objects.into(),
        notices,
    }
}

/// Returns the objects of an entry with the peers that they name; without those that have to wait for theirs.
fn told<'f>(at: &Address, all: &'f [Resource], known: Known) -> Told<'f> {
    let actual = known.actual;
    let mut told = Told {
        objects: Cow::Borrowed(all),
        places: (0..all.len()).collect(),
        notices: Vec::new(),
    };
    let mut named = all.iter().flat_map(Resource::peers);
    if named.all(|peer| peer.id().is_some()) {
        return told;
    }
    let live = actual.at(at).iter().flat_map(|live| live.resource.peers());
    let live: BTreeSet<Id> = live.filter_map(PeerRef::id).cloned().collect();
    let mut objects = all.to_vec();
    told.places.retain(|place| {
        let mut waits = false;
        for peer in objects[*place].peers_mut() {
            let PeerRef::Name(name) = &*peer else {
                continue;
            };
            let (found, notice) = members::one(at, name, &live, known);
            told.notices.extend(notice);
            match found {
                Some(id) => *peer = PeerRef::Id(id),
                None => waits = true,
            }
        }
        let address = |peer: &PeerRef, is_v6: bool| {
            let peer = actual.peers.get(peer.id()?)?;
            peer.address(is_v6).map(str::to_owned)
        };
        if !waits && !objects[*place].put_addresses(&address) {
            told.notices.push(Notice::about(at, OfObject::NoAddress));
            waits = true;
        }
        !waits
    });
    let ready = told.places.iter().map(|place| objects[*place].clone());
    told.objects = ready.collect();
    told
}

/// Pending keys whose peer will not get the DNS label of its name, since another peer has it.
fn taken_labels(desired: &Desired, actual: &Actual, decisions: &Decisions) -> Vec<Notice> {
    let is_used = |name: &str| decisions.get(name).is_some_and(|of| of.used.is_some());
    let keys = desired.setup_keys().map(|(name, _)| name);
    let waiting = keys.filter(|name| desired.awaits_enrollment(name) && !is_used(name));
    let waiting = waiting.filter_map(|name| Some((plain_label(name)?, name)));
    let waiting: Vec<(String, &String)> = waiting.collect();
    let mut holders: BTreeMap<&str, Vec<&objects::Peer>> = BTreeMap::new();
    // of most accounts no key waits
    for peer in actual.peers.iter().filter(|_| !waiting.is_empty()) {
        let label = label_of(&peer.dns_label);
        holders.entry(label).or_default().push(peer);
    }
    let notice = |(label, name): (String, &String)| {
        let mut peers = holders.get(label.as_str())?.iter();
        let peer = peers.find(|peer| peer.name != *name)?.name.clone();
        let what = OfKey::LabelTaken { label, peer };
        Some(Notice::about(&Address::new(Kind::SetupKey, name), what))
    };
    waiting.into_iter().filter_map(notice).collect()
}
