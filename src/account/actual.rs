//! Actual state: a snapshot read into canonical form, with what the stages after it look up.

mod referrers;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use anyhow::{Result, anyhow};
use rustc_hash::FxHashMap;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::account::{Bindings, Peers, Snapshot, binding};
use crate::base::{Entry, Id, json, parallel};
use crate::model::kind::Other;
use crate::model::{
    ALL, Address, Answers, Change, Groups, Impossible, Kind, Live, Problem, Protection, Referred,
    Resource, Who, kind,
};
use crate::wire::api::objects;

pub use referrers::{beside_the_kinds, holding_lists, optional_lists};

/// The live account.
#[derive(Debug, Clone, Default)]
pub struct Actual {
    /// Every object of the kinds that a file can declare; namesakes by id, which is by age.
    pub objects: BTreeMap<Address, Vec<Live>>,
    /// The addresses of these objects, by id.
    addresses: FxHashMap<Id, Address>,
    /// The groups, with what else they hold.
    listed_groups: Vec<objects::Group>,
    /// What objects are called here, where that is not their name.
    labels: BTreeMap<Id, String>,
    /// Names and ids of the groups.
    pub groups: Groups,
    /// Groups that nobody may touch: `All` and what an identity provider issued.
    pub protected_groups: BTreeMap<Id, Protection>,
    /// Groups of an identity provider that have the name of exactly one that the API made, and who issued them.
    pub twins: BTreeMap<Id, String>,
    /// Peers by id.
    pub peers: Arc<Peers>,
    /// Setup keys by id.
    pub keys: BTreeMap<Id, objects::SetupKey>,
    /// Which peer came by which key.
    pub bindings: Bindings,
    /// Whether the event log was read.
    pub events_known: bool,
    /// What other objects name and the list of its kind lacks, with the object that it stands in: not all of the list came.
    pub unlisted: BTreeMap<(Kind, Option<Address>), BTreeSet<Id>>,
    /// Ids of the events that were read.
    pub event_ids: BTreeSet<String>,
    /// The server has no database of locations.
    pub lacks_locations: bool,
    /// The names of the identity providers, by id, where the file has users.
    pub identity_providers: BTreeMap<String, String>,
    /// The token's own user, where the server tells.
    pub me: Option<objects::User>,
    /// What no kind stands for and keeps an object from being deleted, in words, by the object's id.
    pub holders: BTreeMap<Id, BTreeSet<String>>,
    /// Of these, resources that groups list and that are no more: the server lets nobody delete such a group.
    pub gone_resources: BTreeMap<Id, BTreeSet<String>>,
}

/// What objects are called, where that is not their name.
pub type NewNames = BTreeMap<(Kind, Id), String>;

impl Actual {
    /// Returns a peer as an object that a change can be about.
    pub fn live_peer(&self, peer: &objects::Peer) -> Live {
        let answer = peer.answer.clone();
        Live {
            id: peer.id.clone(),
            name: peer.name.clone(),
            within: None,
            resource: Resource::Peer(kind::Peer::of(peer)),
            wire: answer.unwrap_or_else(|| Value::Null.into()),
        }
    }

    /// Reads a snapshot.
    pub fn read(snapshot: &Snapshot) -> Result<Self> {
        Actual::read_named(snapshot, &NewNames::new())
    }

    /// Reads a snapshot; entries mean these objects by other names than their own.
    pub fn read_named(snapshot: &Snapshot, names: &NewNames) -> Result<Self> {
        let mut actual = Actual::begin(snapshot, names)?;
        actual.finish(snapshot)?;
        Ok(actual)
    }

    /// Reads the lists of the file's kinds, but for peers, and nothing that rests on peers or on what is beside the lists.
    fn begin(snapshot: &Snapshot, names: &NewNames) -> Result<Self> {
        let mut actual = Actual::default();
        let mut groups = typed::<objects::Group>("groups", snapshot.list(Kind::Group))?;
        for group in &mut groups {
            if let Some(new) = names.get(&(Kind::Group, group.id.clone())) {
                group.name.clone_from(new);
            }
        }
        actual.twins = twins(&groups);
        for group in &groups {
            let why = match (group.name.as_str(), group.issued.as_str()) {
                (ALL, _) => Some(Protection::All),
                (_, issued @ ("jwt" | "integration")) => Some(Protection::Issued(issued.into())),
                _ => None,
            };
            let why = why.map(|why| (group.id.clone(), why));
            actual.protected_groups.extend(why);
            // the API-made one is meant where exactly one is, so the other needs another name here
            let name = match actual.twins.get(&group.id) {
                Some(issued) => format!("{} (issued by {issued}, {})", group.name, group.id),
                None => group.name.clone(),
            };
            actual.groups.insert(group.id.clone(), name);
        }
        actual.read_others(snapshot, names)?;
        actual.listed_groups = groups;
        let labels = names.iter();
        actual.labels = labels
            .map(|((_, id), name)| (id.clone(), name.clone()))
            .collect();
        let issued = actual.twins.keys();
        let issued = issued.map(|id| (id.clone(), actual.groups.name(id)));
        actual.labels.extend(issued.collect::<Vec<_>>());
        let lists = lists(snapshot);
        for kind in Kind::sections().filter(|kind| !kind.enrolls()) {
            actual.read_kind(kind, snapshot, &lists)?;
        }
        Ok(actual)
    }

    /// Reads the rest: again where more of it came.
    fn finish(&mut self, snapshot: &Snapshot) -> Result<()> {
        self.lacks_locations = snapshot.rest.lacks_locations;
        let providers = snapshot.rest.parts.get("/identity-providers");
        let providers = providers.map(Vec::as_slice).unwrap_or_default();
        let providers = typed::<Other>("identity_providers", providers)?;
        let providers = providers
            .into_iter()
            .map(|of| (of.id.0.to_string(), of.name));
        self.identity_providers = providers.collect();
        let peers = snapshot.peers();
        self.peers = peers.map_err(|(entry, cause)| unreadable("peers", entry, cause))?;
        let lists = lists(snapshot);
        let distinct = lists.iter().map(|(kind, of)| (*kind, of.len()));
        for (kind, number) in distinct.chain([(Kind::Peer, self.peers.iter().count())]) {
            if number < snapshot.list(kind).len() {
                once(kind, snapshot.list(kind))?;
            }
        }
        let keys = typed::<objects::SetupKey>("setup_keys", snapshot.list(Kind::SetupKey))?;
        let events = match &snapshot.rest.events {
            Some(events) => Some(typed::<objects::Event>("events", events)?),
            None => None,
        };
        self.events_known = events.is_some();
        let ids = events.iter().flatten().map(|event| event.id.clone());
        self.event_ids = ids.collect();
        self.bindings = binding::bind(&keys, &self.peers, events.as_deref());
        self.keys = keys.into_iter().map(|key| (key.id.clone(), key)).collect();
        (self.holders, self.gone_resources) = Default::default();
        self.read_referrers(snapshot, &lists)?;
        if snapshot.has(Kind::Peer) {
            let members = self.each();
            let members = members.filter_map(|(_, live)| live.resource.members());
            let unlisted = parallel::map(&members.collect::<Vec<_>>(), |members| {
                let unlisted = members.iter().filter(|id| !self.peers.contains(id));
                unlisted.cloned().collect::<Vec<Id>>()
            });
            let unlisted = unlisted.into_iter().flatten().collect();
            self.unlisted.insert((Kind::Peer, None), unlisted);
        }
        self.unlisted.retain(|_, ids| !ids.is_empty());
        for namesakes in self.objects.values_mut() {
            // what stands in one object stands side by side
            namesakes.sort_by(|a, b| (&a.within, &a.id).cmp(&(&b.within, &b.id)));
        }
        Ok(())
    }

    /// Reads the list of a kind that has a section.
    fn read_kind(&mut self, kind: Kind, snapshot: &Snapshot, lists: &Lists) -> Result<()> {
        let read = |entry: &&Entry| {
            Resource::read(kind, (*entry).clone(), &self.groups)
                .map_err(|cause| unreadable(kind.section(), entry, cause))
        };
        let is_person = |user: objects::User| user.has_address();
        let is_meant = |of: &&Entry| kind != Kind::User || of.read().is_ok_and(is_person);
        let list: Vec<&Entry> = snapshot.list(kind).iter().filter(is_meant).collect();
        for live in parallel::map(&list, read) {
            let live = live?;
            let address = Address::new(kind, self.label(&live));
            self.add(address, live, lists)?;
        }
        Ok(())
    }

    /// Reads the names of what is not a group and that entries name, where they were asked for.
    fn read_others(&mut self, snapshot: &Snapshot, names: &NewNames) -> Result<()> {
        let listed = Kind::ALL.into_iter().filter(|kind| snapshot.has(*kind));
        let referred = listed.filter_map(|kind| Some((kind, kind.referred_as()?)));
        // groups have protections and twins besides, and are read before
        for (kind, what) in referred.filter(|(kind, _)| *kind != Kind::Group) {
            let mut others = typed::<Other>(kind.section(), snapshot.list(kind))?;
            for other in &mut others {
                if let Some(new) = names.get(&(kind, other.id.clone())) {
                    other.name.clone_from(new);
                }
            }
            self.groups.insert_others(what, others);
        }
        Ok(())
    }

    /// Adds an object with what stands in it, of which `lists` are the lists.
    fn add(&mut self, address: Address, live: Live, lists: &Lists) -> Result<()> {
        let before = self.addresses.insert(live.id.clone(), address.clone());
        // ids of old servers' keys were short hashes, which two keys can share
        let is_key = address.kind == Kind::SetupKey;
        let is_it = |of: &Address| of.kind == address.kind && (!is_key || *of == address);
        if before.is_some_and(|before| is_it(&before)) {
            return Err(twice(address.kind, &live.id));
        }
        for (kind, inside) in address.kind.children().filter_map(Kind::inside_as) {
            let list = address.kind.section();
            let mut answer = live
                .wire
                .value()
                .map_err(|cause| unreadable(list, &live.wire, cause))?;
            let entries: Vec<Entry> = match inside.answers {
                Answers::Embedded(field) => match answer[field].take() {
                    Value::Array(entries) => entries.into_iter().map(Entry::from).collect(),
                    _ => Vec::new(),
                },
                Answers::Listed { ids, .. } => {
                    let ids = answer[ids].as_array().into_iter().flatten();
                    let ids: Vec<&str> = ids.filter_map(Value::as_str).collect();
                    let of_kind = lists.get(&kind);
                    let lacks = |id: &&&str| of_kind.is_some_and(|list| !list.contains_key(**id));
                    let unlisted = ids.iter().filter(lacks).map(|id| Id::from(*id));
                    let key = (kind, Some(address.clone()));
                    self.unlisted.insert(key, unlisted.collect());
                    let entries = ids.iter().filter_map(|id| of_kind?.get(*id));
                    entries.map(|entry| (*entry).clone()).collect()
                }
            };
            for entry in entries {
                let unreadable = |cause| unreadable(kind.section(), &entry, cause);
                let mut child =
                    Resource::read(kind, entry.clone(), &self.groups).map_err(unreadable)?;
                child.within = Some(live.id.clone());
                self.add(address.child(kind, self.label(&child)), child, lists)?;
            }
        }
        let namesakes = self.objects.entry(address);
        // room for one: a list grows to four at its first entry, and most names are borne once
        let namesakes = namesakes.or_insert_with(|| Vec::with_capacity(1));
        namesakes.push(live);
        Ok(())
    }

    /// Returns what entries call an object: its name, or what [`NewNames`] say.
    pub fn label<'a>(&'a self, live: &'a Live) -> &'a str {
        self.labels.get(&live.id).unwrap_or(&live.name)
    }

    /// Returns the address of what an object stands in, if in anything.
    pub fn parent_of(&self, live: &Live) -> Option<&Address> {
        self.addresses.get(live.within.as_ref()?)
    }

    /// Returns the objects of which a list lacks what stands in them, with its kind: not all of that list came.
    pub fn incomplete(&self) -> impl Iterator<Item = (Kind, Problem)> {
        self.unlisted.iter().filter_map(|((kind, within), ids)| {
            let what = Impossible::Unlisted(*kind, ids.clone());
            Some((*kind, Problem::new(within.as_ref()?, what)))
        })
    }

    /// Returns the members of groups that the list of peers lacks, by their ids.
    pub fn unlisted_members(&self) -> impl Iterator<Item = (Address, Id)> {
        let members = self.unlisted.get(&(Kind::Peer, None)).into_iter();
        members
            .flatten()
            .map(|id| (Address::new(Kind::Peer, id.0.as_str()), id.clone()))
    }

    /// Returns the live object of that id, of the kinds that a file can declare.
    pub fn live(&self, id: &Id) -> Option<(&Address, &Live)> {
        let address = self.addresses.get(id)?;
        let live = self.at(address).iter().find(|live| live.id == *id)?;
        Some((address, live))
    }

    /// Returns what stands in that object.
    pub fn children<'a>(
        &'a self,
        parent: &'a Live,
    ) -> impl Iterator<Item = (&'a Address, &'a Live)> {
        let kinds = parent.resource.kind().children();
        let inside = kinds.flat_map(|kind| self.of_kind(kind));
        inside.filter(|(_, live)| live.within.as_ref() == Some(&parent.id))
    }

    /// Returns every live object of the kinds that a file can declare.
    pub fn each(&self) -> impl Iterator<Item = (&Address, &Live)> {
        self.objects.iter().flat_map(each)
    }

    /// Returns the live objects of a kind.
    pub fn of_kind(&self, kind: Kind) -> impl Iterator<Item = (&Address, &Live)> {
        let objects = self.objects.range(Address::new(kind, "")..);
        let objects = objects.take_while(move |(address, _)| address.kind == kind);
        objects.flat_map(each)
    }

    /// Returns whether an identity provider made all of these groups.
    pub fn are_issued<'a>(&self, groups: impl IntoIterator<Item = &'a Id>) -> bool {
        let mut why = groups.into_iter().map(|id| self.protected_groups.get(id));
        why.all(|why| matches!(why, Some(Protection::Issued(_))))
    }

    /// Returns the live objects of that kind and name, the oldest first.
    pub fn named(&self, kind: Kind, name: &str) -> &[Live] {
        self.at(&Address::new(kind, name))
    }

    /// Returns whether the machines of a user follow the user's groups once these changes are made.
    pub fn propagates_groups(&self, changes: &[Change]) -> bool {
        let is_settings = |change: &&Change| change.address.kind == Kind::AccountSettings;
        let mut planned = changes.iter().filter(is_settings);
        let planned = planned.find_map(|change| change.operation.outcome());
        let live = self.named(Kind::AccountSettings, "").first();
        match planned.or_else(|| live.map(|live| live.resource.clone())) {
            Some(Resource::AccountSettings(of)) => of.groups_propagation_enabled != Some(false),
            _ => true,
        }
    }

    /// Returns the live objects of that address, the oldest first.
    pub fn at(&self, address: &Address) -> &[Live] {
        let namesakes = self.objects.get(address);
        namesakes.map(Vec::as_slice).unwrap_or_default()
    }

    /// Returns the peers of that name, the oldest first.
    pub fn peers_named(&self, name: &str) -> impl Iterator<Item = &objects::Peer> {
        self.peers.named(name)
    }

    /// Returns the setup keys of that name, the oldest first.
    pub fn keys_named(&self, name: &str) -> impl Iterator<Item = &objects::SetupKey> {
        let live = self.named(Kind::SetupKey, name).iter();
        live.filter_map(|live| self.keys.get(&live.id))
    }

    /// Returns whether it is a key that nobody can use: used up, expired or revoked.
    pub fn is_dead_key(&self, live: &Live) -> bool {
        let is_key = live.resource.kind() == Kind::SetupKey;
        is_key && self.keys.get(&live.id).is_some_and(|key| !key.valid)
    }

    /// Returns a peer's name for people who have to find it: with its id.
    pub fn who(&self, id: &Id) -> Who {
        Who {
            id: id.clone(),
            name: self.peers.get(id).map(|peer| peer.name.clone()),
        }
    }

    /// Returns a peer's name for people; its id behind it where another peer has the same.
    pub fn peer_label(&self, id: &Id) -> String {
        match self.peers.get(id) {
            Some(peer) if self.peers_named(&peer.name).count() > 1 => {
                format!("{} ({id})", peer.name)
            }
            Some(peer) => peer.name.clone(),
            None => format!("(deleted peer {id})"),
        }
    }
}

/// An account as a snapshot tells it to which more may come.
pub struct Early {
    of: Snapshot,
    /// The account.
    pub actual: Actual,
}

impl Early {
    /// Reads what rests on no peers, which are most of an account and come last.
    pub fn begin(of: Snapshot) -> Result<Self> {
        let actual = Actual::begin(&of, &NewNames::new())?;
        Ok(Early { of, actual })
    }

    /// Reads a snapshot, of which an earlier one may have been read.
    pub fn read(of: Snapshot, early: Option<Early>) -> Result<Self> {
        let actual = Early::complete(early, &of)?;
        Ok(Early { of, actual })
    }

    /// Returns the account of a snapshot. What was read of an earlier one stays, where that had the same lists, but for such as no
    /// other list rests on.
    pub fn complete(early: Option<Early>, snapshot: &Snapshot) -> Result<Actual> {
        let Some(mut early) = early else {
            return Actual::read(snapshot);
        };
        let of = &early.of;
        let stays = |kind: Kind| match (of.has(kind), snapshot.has(kind)) {
            // people stand in a list that every run has
            (false, true) if kind == Kind::User => false,
            (false, true) => kind.top() == kind && kind.descriptor().referred == Referred::Never,
            (had, has) => had == has && of.list(kind) == snapshot.list(kind),
        };
        let kinds = Kind::ALL.into_iter().filter(|kind| !kind.enrolls());
        if !kinds.clone().all(stays) || of.rest.users != snapshot.rest.users {
            return Actual::read(snapshot);
        }
        let lists = lists(snapshot);
        for kind in kinds.filter(|kind| snapshot.has(*kind) && !of.has(*kind)) {
            early.actual.read_kind(kind, snapshot, &lists)?;
        }
        // before the peers came the rest was not read
        if !of.has(Kind::Peer) || of != snapshot {
            early.actual.finish(snapshot)?;
        }
        Ok(early.actual)
    }
}

fn each<'a>(
    (at, all): (&'a Address, &'a Vec<Live>),
) -> impl Iterator<Item = (&'a Address, &'a Live)> {
    all.iter().map(move |live| (at, live))
}

/// What stands in other objects and has lists of its own, by id: of the kinds whose lists were asked for.
type Lists<'a> = BTreeMap<Kind, BTreeMap<String, &'a Entry>>;

fn lists(snapshot: &Snapshot) -> Lists<'_> {
    // what has no id is in no other object's answer
    let named = |entry| Some((id_of(entry)?, entry));
    let kinds = Kind::ALL.into_iter().filter(|kind| kind.parent().is_some());
    let kinds = kinds.filter(|kind| snapshot.has(*kind));
    kinds
        .map(|kind| (kind, snapshot.list(kind).iter().filter_map(named).collect()))
        .collect()
}

fn id_of(entry: &Entry) -> Option<String> {
    #[derive(serde::Deserialize)]
    struct Named {
        id: String,
    }
    Some(entry.read::<Named>().ok()?.id)
}

/// Errors where a list has an object twice: of two versions nobody knows which is true.
fn once(kind: Kind, list: &[Entry]) -> Result<()> {
    let mut seen = BTreeSet::new();
    let mut ids = list.iter().filter_map(id_of);
    let again = ids.find(|id| !seen.insert(id.clone()));
    again.map_or(Ok(()), |id| Err(twice(kind, &Id::from(&*id))))
}

fn twice(kind: Kind, id: &Id) -> anyhow::Error {
    let kinds = kind.plural();
    anyhow!(
        "NetBird's list of {kinds} has {id} twice: look at the proxy before NetBird, and run again"
    )
}

/// The groups of an identity provider whose name exactly one API-made group has too.
fn twins(groups: &[objects::Group]) -> BTreeMap<Id, String> {
    let is_issued = |group: &&objects::Group| matches!(&group.issued[..], "jwt" | "integration");
    let mut made: BTreeMap<&str, usize> = BTreeMap::new();
    for group in groups.iter().filter(|group| !is_issued(group)) {
        *made.entry(&group.name).or_default() += 1;
    }
    let issued = groups.iter().filter(is_issued);
    issued
        .filter(|group| made.get(group.name.as_str()) == Some(&1))
        .map(|group| (group.id.clone(), group.issued.clone()))
        .collect()
}

/// Returns the entries of a list with their types.
pub(crate) fn typed<T: DeserializeOwned + Send>(
    list: &'static str,
    entries: &[Entry],
) -> Result<Vec<T>> {
    let read = |entry: &Entry| entry.read().map_err(|cause| unreadable(list, entry, cause));
    parallel::map(entries, read).into_iter().collect()
}

/// An answer that is not of the form that we read. The cause may quote a value of the entry; lists carry no secrets, keys are masked
/// by the server.
fn unreadable(list: &str, entry: &Entry, cause: serde_json::Error) -> anyhow::Error {
    let value = entry.value().unwrap_or_default();
    let id = value["id"].as_str().unwrap_or("without an id");
    anyhow!("{list}: entry {id} cannot be read: {}", json::why(&cause))
}
