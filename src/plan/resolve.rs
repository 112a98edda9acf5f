//! The file in the terms of the account: names of members become ids, each setup key becomes what its life cycle asks for,
//! and peers that enrolled go into the groups of their keys.

use std::borrow::Cow;
use std::cell::LazyCell;
use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashMap;

use super::Given;
use crate::account::actual::Actual;
use crate::base::id::Id;
use crate::base::parallel;
use crate::model::address::Address;
use crate::model::desired::Desired;
use crate::model::kind::{Group, Kind, Live, PeerRef, Resource};
use crate::model::label::{label_of, plain_label};
use crate::model::notice::{Notice, OfKey, OfObject, OfRun};
use crate::model::problem::Protection;
use crate::plan::enrollment::{self, Enrollment, Replaced};
use crate::plan::keys::{self, ByName, Decisions};
use crate::plan::members::{self, Known, Members, Names};
use crate::plan::ours::Standing;
use crate::plan::people;
use crate::wire::api::objects;

/// What the entries of a file mean in an account.
#[derive(Debug)]
pub(super) struct Resolved<'a> {
    /// The entries in canonical form, but for setup keys; of one address several, where its kind has several.
    pub(super) resources: BTreeMap<Address, Cow<'a, [Resource]>>,
    /// Entries of which an object waits for the peer that it names: the places of those that do not. What waits is not in
    /// `resources`.
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

/// Resolves the names of the file. What cannot be told is a notice; whether it can be carried out is told by `check`.
pub(super) fn resolve<'a>(given: Given<'a>) -> Resolved<'a> {
    let (desired, actual, options) = (given.desired, given.actual, given.options);
    let decisions = keys::decisions(desired, actual, options);
    let detection = enrollment::detect(desired, actual, &decisions, options);
    let by_name = decisions.iter().map(|(name, of)| (name.as_str(), of));
    let by_name: ByName = by_name.collect();
    let names = Names::of(desired, actual, &by_name, options);
    let replaced = detection.replaced.iter().map(|at| at.peer.clone());
    let unapproved = actual.peers.iter().filter(|peer| peer.approval_required);
    let known = Known {
        desired,
        actual,
        decisions: &by_name,
        names: &names,
        replaced: &replaced.collect(),
        unapproved: &unapproved.map(|peer| peer.id.clone()).collect(),
        options,
    };
    let live_groups = LiveGroups::of(given);
    let live = |name: &str| live_groups.members(name);
    let groups: Vec<_> = desired.groups().collect();
    let members = parallel::map(&groups, |(name, group)| {
        let (recorded, live) = (live_groups.recorded.get(name.as_str()), live(name));
        let names = (name.as_str(), recorded.unwrap_or(name).as_str());
        let members = members::resolve(names, group.listed.as_ref()?, &live, known);
        let members = match live_groups.protected.get(name.as_str()) {
            Some(why) => of_issued(name, why, members, &live, given),
            None => members,
        };
        Some(((*name).clone(), members))
    });
    let mut members: BTreeMap<String, Members<'a>> = members.into_iter().flatten().collect();
    // a peer that enrolled goes into its key's groups even where the file leaves their members alone
    let groups = desired.groups().map(|(name, _)| {
        let joins = detection.enrollments.iter();
        let joins = joins.filter(|enrollment| enrollment.groups.contains(name));
        let joins: BTreeSet<Id> = joins.map(|enrollment| enrollment.peer.clone()).collect();
        let peers = match members.get_mut(name) {
            _ if live_groups.protected.contains_key(name.as_str()) => None,
            Some(members) => {
                let mut peers = std::mem::take(&mut members.peers);
                peers.extend(joins);
                Some(peers)
            }
            None => {
                let live = live(name);
                let is_ours = !joins.is_subset(&live) || live_groups.is_second(name);
                is_ours.then(|| &*live | &joins)
            }
        };
        let group = Resource::Group(Group::with(peers));
        (Address::new(Kind::Group, name), Cow::Owned(vec![group]))
    });
    let mut peers = Peers {
        known,
        places: BTreeMap::new(),
        notices: Vec::new(),
    };
    let entries = desired.resources();
    let entries = entries.filter_map(|(address, all)| {
        let all = match address.kind {
            Kind::User => peers.person(address, all)?,
            _ => peers.told(address, all)?,
        };
        Some((address.clone(), all))
    });
    let resources = entries.chain(groups).collect();
    let Peers {
        places,
        notices: of_peers,
        ..
    } = peers;
    let unlisted_peers = actual.unlisted.get(&(Kind::Peer, None)).into_iter();
    let of_members = members.values().flat_map(|members| &members.notices);
    Resolved {
        resources,
        places,
        notices: unlisted_peers
            .map(|ids| Notice::general(OfRun::UnlistedPeers(ids.clone())))
            .chain(detection.notices())
            .chain(names.notices.iter().cloned())
            .chain(taken_labels(desired, actual, &decisions))
            .chain(of_members.cloned())
            .chain(of_peers)
            .collect(),
        enrollments: detection.enrollments,
        replaced: detection.replaced,
        decisions,
        names,
        members,
    }
}

/// The members of the declared groups as they are.
struct LiveGroups<'a> {
    members: BTreeMap<&'a str, Cow<'a, BTreeSet<Id>>>,
    /// The names that groups were recorded by, where those are others.
    recorded: BTreeMap<&'a str, String>,
    /// Those that nobody may touch.
    protected: BTreeMap<&'a str, &'a Protection>,
}

/// Returns the members of a group that the file lists and an identity provider decides: they stay who they are.
fn of_issued(
    name: &str,
    issued: &Protection,
    members: Members,
    live: &BTreeSet<Id>,
    given: Given,
) -> Members<'static> {
    let (desired, actual, ours) = (given.desired, given.actual, &given.options.ours);
    let listed = |file: &Desired| file.group(name).and_then(|group| group.listed.clone());
    let is_new = match ours.versions.base() {
        Some(base) => listed(base) != listed(desired),
        None => ours.standing == Standing::First,
    };
    let meant = members.meant.into_iter().map(|(_, id)| id);
    let meant: BTreeSet<Id> = meant.collect();
    let label = |id: &Id| actual.peer_label(id);
    let lacks = meant.difference(live).map(label).chain(members.pending);
    let what = OfObject::IssuedPeers {
        issued: issued.clone(),
        more: live.difference(&meant).map(label).collect(),
        lacks: lacks.collect(),
        is_new,
    };
    Members {
        notices: vec![Notice::about(&Address::new(Kind::Group, name), what)],
        ..Members::default()
    }
}

impl<'a> LiveGroups<'a> {
    fn of(given: Given<'a>) -> Self {
        let (actual, binding, options) = (given.actual, given.binding, given.options);
        let groups = actual.each().filter(|(at, _)| at.kind == Kind::Group);
        let live: FxHashMap<&Id, &Live> = groups.map(|(_, live)| (&live.id, live)).collect();
        let members = |id: &Id| live.get(id)?.resource.members();
        let mut groups = LiveGroups {
            members: BTreeMap::new(),
            recorded: BTreeMap::new(),
            protected: BTreeMap::new(),
        };
        let bound = binding
            .stands
            .iter()
            .filter(|(at, _)| at.kind == Kind::Group);
        for (address, stands) in bound {
            let Some(id) = stands.iter().flatten().next() else {
                continue;
            };
            if let Some(own) = members(id) {
                groups.members.insert(&address.name, Cow::Borrowed(own));
            }
            let why = actual.protected_groups.get(id);
            groups
                .protected
                .extend(why.map(|why| (address.name.as_str(), why)));
            if binding.moved.contains_key(id) {
                let recorded = options.ours.inventory.entry_of(id);
                let entry = recorded.and_then(|(key, _)| Address::of_key(key));
                let name = entry.map(|entry| (address.name.as_str(), entry.name));
                groups.recorded.extend(name);
            }
        }
        // who is in a second one of the group is a member of it
        for (id, (address, _)) in binding
            .surplus
            .iter()
            .filter(|(_, (at, _))| at.kind == Kind::Group)
        {
            let of_group = groups.members.entry(&address.name).or_default();
            of_group
                .to_mut()
                .extend(members(id).into_iter().flatten().cloned());
        }
        groups
    }

    fn members(&self, name: &str) -> Cow<'a, BTreeSet<Id>> {
        self.members.get(name).cloned().unwrap_or_default()
    }

    /// Whether members of a second group of the name were added.
    fn is_second(&self, name: &str) -> bool {
        matches!(self.members.get(name), Some(Cow::Owned(_)))
    }
}

/// The peers that entries name, as they are found.
struct Peers<'a> {
    known: Known<'a>,
    /// The places of the objects of an entry that do not wait, where others do.
    places: BTreeMap<Address, Vec<usize>>,
    /// What a reader should know.
    notices: Vec<Notice>,
}

impl Peers<'_> {
    /// Returns the entry of a user, where something is done about it.
    fn person(&mut self, address: &Address, all: &[Resource]) -> Option<Cow<'static, [Resource]>> {
        match people::told(address, all, self.known.actual) {
            Ok(told) => Some(Cow::Owned(vec![told])),
            Err(why) => {
                let notice = why.map(|why| Notice::about(address, why));
                self.notices.extend(notice);
                None
            }
        }
    }

    /// Returns the objects of an entry with the peers that they name; without those that have to wait for theirs. `None`
    /// where all of them do.
    fn told<'f>(&mut self, at: &Address, all: &'f [Resource]) -> Option<Cow<'f, [Resource]>> {
        let mut named = all.iter().flat_map(Resource::peers);
        if named.all(|peer| peer.id().is_some()) {
            return Some(Cow::Borrowed(all));
        }
        let live = self.known.actual.at(at).iter();
        let live = live.flat_map(|live| live.resource.peers());
        let live: BTreeSet<Id> = live.filter_map(PeerRef::id).cloned().collect();
        let (mut told, mut places) = (Vec::new(), Vec::new());
        for (place, one) in all.iter().enumerate() {
            let mut one = one.clone();
            let mut waits = false;
            for peer in one.peers_mut() {
                let PeerRef::Name(name) = &*peer else {
                    continue;
                };
                let (found, notice) = members::one(at, name, &live, self.known);
                self.notices.extend(notice);
                match found {
                    Some(id) => *peer = PeerRef::Id(id),
                    None => waits = true,
                }
            }
            let address = |peer: &PeerRef, is_v6: bool| {
                let peer = self.known.actual.peers.get(peer.id()?)?;
                peer.address(is_v6).map(str::to_owned)
            };
            if !waits && !one.put_addresses(&address) {
                self.notices.push(Notice::about(at, OfObject::NoAddress));
                waits = true;
            }
            if !waits {
                told.push(one);
                places.push(place);
            }
        }
        if told.len() < all.len() {
            self.places.insert(at.clone(), places);
        }
        (!told.is_empty()).then_some(Cow::Owned(told))
    }
}

/// Pending keys whose peer will not get the DNS label of its name, since another peer has it.
fn taken_labels(desired: &Desired, actual: &Actual, decisions: &Decisions) -> Vec<Notice> {
    // of most accounts no key waits
    let holders = LazyCell::new(|| {
        let mut holders: BTreeMap<&str, Vec<&objects::Peer>> = BTreeMap::new();
        for peer in actual.peers.iter() {
            let label = label_of(&peer.dns_label);
            holders.entry(label).or_default().push(peer);
        }
        holders
    });
    let holder = |label: &str, name: &str| {
        let mut peers = holders.get(label).into_iter().flatten();
        peers.find(|peer| peer.name != name)
    };
    let is_waiting = |name: &&String| {
        let is_used = decisions.get(*name).is_some_and(|of| of.used.is_some());
        desired.awaits_enrollment(name) && !is_used
    };
    let notice = |name: &String| {
        let label = plain_label(name)?;
        let peer = holder(&label, name)?;
        let what = OfKey::LabelTaken {
            label,
            peer: peer.name.clone(),
        };
        Some(Notice::about(&Address::new(Kind::SetupKey, name), what))
    };
    let keys = desired.setup_keys().map(|(name, _)| name);
    keys.filter(is_waiting).filter_map(notice).collect()
}
