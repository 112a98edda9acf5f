//! Which live object each entry stands for: recorded ones by their ids, whatever they are called now; others by name, where the
//! entry lacks an object and nothing else can be meant. Parents come first: what stands in an object belongs to the object,
//! whatever that is called.
//!
//! Names in the file mean the objects of its entries. So where NetBird has another name for one, the account is read as if
//! it had the entry's name already; then nothing that refers to it differs, and the one change that is left is the name.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::{FxHashMap, FxHashSet};
use serde_json::Value;

use crate::account::{Actual, Early, NewNames, Snapshot};
use crate::base::{Id, did_you_mean};
use crate::inventory::{Inventory, RecordedAs};
use crate::model::{
    Address, Desired, Kind, Live, Notice, OfObject, PeerRef, Resource, TEMPORARY, Unique,
    differences,
};
use crate::plan::{Options, Prune, Standing, members};
use crate::wire::api::objects;

/// A recorded object that no entry stands for any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leaving {
    /// The key of its entry.
    pub key: String,
    /// How it was recorded.
    pub origin: RecordedAs,
    /// Whether it has another name in NetBird by now.
    pub is_renamed: bool,
    /// Whether the file still speaks of such objects; where it does not, nothing happens to it.
    pub is_managed: bool,
}

impl Leaving {
    /// Returns whether it goes with its entry: what was adopted, or has another name by now, is let go.
    pub(super) fn is_created_as_named(&self) -> bool {
        self.origin == RecordedAs::Created && !self.is_renamed
    }
}

/// What the entries of a file stand for in an account.
#[derive(Debug, Clone, Default)]
pub struct Bound {
    /// The objects of each entry, in the order of its places; none where one is to be made. Setup keys are not here.
    pub(super) stands: BTreeMap<Address, Vec<Option<Id>>>,
    /// Objects that entries adopt: the entry, and as what.
    pub(super) adopted: BTreeMap<Id, (Address, RecordedAs)>,
    /// Objects that entries have too many.
    pub(super) surplus: BTreeMap<Id, (Address, RecordedAs)>,
    /// Entries about which nothing is done: they could mean several objects, or cannot be made, since something that stays has
    /// their name, and NetBird takes it once (docs/netbird-api.md, "Errors").
    pub(super) skipped: BTreeSet<Address>,
    /// Objects that such entries can mean.
    pub(super) unclear: BTreeSet<Id>,
    /// Recorded objects that no entry stands for.
    pub(super) leaving: BTreeMap<Id, Leaving>,
    /// Recorded objects whose entry has another key by now.
    pub(super) moved: BTreeMap<Id, String>,
    /// Recorded objects that do not exist any more, and the keys of their entries.
    pub(super) dead: BTreeMap<Id, Address>,
    /// The kinds of which the account was read whole: their lists were asked for, and the token sees everything.
    pub(super) whole: BTreeSet<Kind>,
    /// Objects that keep the name that they have in NetBird, since another one has that of the entry.
    pub(super) keeps_name: BTreeSet<Id>,
    /// What objects are called while the file is planned, where that is not their name.
    names: NewNames,
    /// What a reader should know.
    pub(super) notices: Vec<Notice>,
}

impl Bound {
    /// Returns the names by which the file means groups of an identity provider.
    pub fn issued_groups(&self, actual: &Actual) -> BTreeSet<String> {
        let is_issued = |id: &Id| actual.protected_groups.contains_key(id);
        let entries = self.stands.iter();
        let issued = entries.filter(|(_, stands)| stands.iter().flatten().any(is_issued));
        issued.map(|(at, _)| at.name.clone()).collect()
    }

    /// Returns the recorded objects and machines that no list has, with the names of their entries, and the members of groups that the
    /// list of peers lacks, by their ids.
    pub fn absent(&self, actual: &Actual, inventory: &Inventory) -> Vec<(Address, Id)> {
        let objects = self.dead.iter();
        let objects = objects.map(|(id, address)| (address.clone(), id.clone()));
        let enrolled = inventory.enrolled.iter().flat_map(|(key, machines)| {
            let machines = machines.iter();
            machines.map(move |machine| (key, &machine.id))
        });
        let named = inventory.names.iter();
        let named = named.filter_map(|(name, id)| Some((name, id.as_ref()?)));
        let is_absent = |id: &Id| self.whole.contains(&Kind::Peer) && !actual.peers.contains(id);
        let machines = enrolled.chain(named).filter(|(_, id)| is_absent(id));
        let machines = machines.map(|(name, id)| (Address::new(Kind::Peer, name), id.clone()));
        let all = objects.chain(machines).chain(actual.unlisted_members());
        let mut absent: Vec<(Address, Id)> = all.collect();
        absent.sort();
        absent.dedup();
        absent
    }

    /// Returns the groups that the file calls otherwise than the inventory, by their names there.
    pub fn followed_groups(&self, inventory: &Inventory) -> BTreeMap<String, String> {
        let moved = self.moved.iter();
        let moved = moved.filter_map(|(id, now)| Some((inventory.entry_of(id)?.0, now)));
        let names = moved.filter_map(|(before, now)| {
            let [before, now] = [Address::of_key(before)?, Address::of_key(now)?];
            (now.kind == Kind::Group).then_some((before.name, now.name))
        });
        names.collect()
    }
}

/// Reads an account by the names that a file has for its objects, and finds what each entry stands for. `early`: what was read of it
/// before.
pub fn read(
    desired: &Desired,
    snapshot: &Snapshot,
    early: Option<Early>,
    options: &Options,
) -> anyhow::Result<(Actual, Bound)> {
    let mut names = NewNames::new();
    let mut actual = Early::complete(early, snapshot)?;
    let mut bound = bind(desired, &actual, options);
    // of objects in others' places the names of groups decide how like they are, so a second look can see more
    for _ in 0..3 {
        if bound.names == names {
            break;
        }
        names = bound.names;
        actual = Actual::read_named(snapshot, &names)?;
        bound = bind(desired, &actual, options);
    }
    bound.whole = whole(snapshot, &actual);
    bound.dead = dead(&bound.whole, &actual, options);
    Ok((actual, bound))
}

/// Returns the kinds of which the token sees everything.
fn whole(snapshot: &Snapshot, actual: &Actual) -> BTreeSet<Kind> {
    let sees_all = actual.me.as_ref().is_some_and(crate::plan::gates::sees_all);
    // what has no list of its own stands in the answers of its parent
    let list_of = |kind: Kind| kind.list().map(|_| kind).or(kind.parent());
    let is_listed = |kind: Kind| list_of(kind).is_some_and(|kind| snapshot.has(kind));
    let kinds = Kind::ALL.into_iter();
    kinds.filter(|kind| sees_all && is_listed(*kind)).collect()
}

/// Returns the recorded objects that do not exist, and the keys of their entries.
fn dead(whole: &BTreeSet<Kind>, actual: &Actual, options: &Options) -> BTreeMap<Id, Address> {
    let recorded = options.ours.inventory.recorded();
    let dead = recorded.filter(|(_, id, _)| actual.live(id).is_none());
    let dead = dead.filter_map(|(key, id, _)| Some((id.clone(), Address::of_key(key)?)));
    dead.filter(|(_, key)| whole.contains(&key.kind)).collect()
}

/// Whether nobody may touch an object: a group that is never changed, or a policy that NetBird made for a while.
pub(super) fn is_protected(kind: Kind, live: &Live, actual: &Actual) -> bool {
    match kind {
        Kind::Group => actual.protected_groups.contains_key(&live.id),
        Kind::Policy => live.name.starts_with(TEMPORARY),
        _ => false,
    }
}

/// Whether NetBird makes an object of this kind only of a name that no other one has.
fn is_once(kind: Kind) -> bool {
    kind.descriptor().unique != Unique::Never
}

/// Finds what each entry stands for.
fn bind(desired: &Desired, actual: &Actual, options: &Options) -> Bound {
    let mut objects: BTreeMap<Kind, Vec<&Live>> = BTreeMap::new();
    for (address, live) in actual.each() {
        objects.entry(address.kind).or_default().push(live);
    }
    // an object that gets another name is listed by that one
    for of_kind in objects.values_mut() {
        of_kind.sort_by(|a, b| a.id.cmp(&b.id));
    }
    // machines and what there is one of are not bound by their entries, and keys have a life of their own (`keys`)
    let is_bound = |kind: Kind| kind.goes_with_entry() && kind != Kind::SetupKey;
    let entries = desired.entries.iter();
    let entries = entries.filter(|(address, _)| is_bound(address.kind));
    let to_be_made = entries.map(|(address, all)| (address.clone(), vec![None; all.len()]));
    let mut binder = Binder {
        desired,
        actual,
        options,
        recorded: &recorded(desired, actual, options),
        entries: FxHashMap::default(),
        bound: Bound {
            stands: to_be_made.collect(),
            ..Bound::default()
        },
    };
    for kind in Kind::sections().filter(|kind| is_bound(*kind)) {
        binder.section(kind, &objects);
    }
    for live in objects.get(&Kind::SetupKey).into_iter().flatten() {
        if desired.setup_key(&live.name).is_none() {
            binder.leaves(live, desired.manages(Kind::SetupKey));
        }
    }
    binder.bound
}

/// The recorded objects of entries.
type Own<'a> = FxHashMap<&'a Address, Vec<&'a Live>>;

/// The recorded objects: the key that each was recorded by, and how. What a run made and did not get to record, and whose entry
/// is out of the file again, counts as created.
fn recorded<'a>(
    desired: &Desired,
    actual: &'a Actual,
    options: &'a Options,
) -> FxHashMap<&'a Id, (Address, RecordedAs)> {
    let ours = &options.ours;
    let recorded = ours.inventory.recorded();
    let recorded =
        recorded.filter_map(|(key, id, origin)| Some((id, (Address::of_key(key)?, origin))));
    let mut recorded: FxHashMap<&Id, (Address, RecordedAs)> = recorded.collect();
    if ours.standing == Standing::Unknown {
        // what has the name of an entry is taken for its own: nothing is said of adopting then
        let named = actual
            .each()
            .filter(|(address, _)| desired.declares(address));
        let named = named.map(|(at, live)| (&live.id, (at.clone(), RecordedAs::Created)));
        return named.collect();
    }
    if ours.standing == Standing::Read && !ours.made.is_empty() {
        for (address, live) in actual.each() {
            let is_left_over = ours.is_made(&live.id)
                && !recorded.contains_key(&live.id)
                && !desired.has(address)
                && ours.was_declared(address);
            if is_left_over {
                recorded.insert(&live.id, (address.clone(), RecordedAs::Created));
            }
        }
    }
    recorded
}

struct Binder<'a> {
    desired: &'a Desired,
    actual: &'a Actual,
    options: &'a Options,
    recorded: &'a FxHashMap<&'a Id, (Address, RecordedAs)>,
    /// The entry of each object that stands for one.
    entries: FxHashMap<&'a Id, &'a Address>,
    bound: Bound,
}

/// Objects of one kind; of what stands in other objects those in one of them. All but those that nobody may touch.
struct Scene<'a> {
    kind: Kind,
    /// The oldest first.
    objects: Vec<&'a Live>,
    /// The same by their names in NetBird.
    named: FxHashMap<&'a str, Vec<&'a Live>>,
    /// Those that nobody recorded and entries have all the same, and those that a person names for one.
    taken: FxHashSet<&'a Id>,
}

impl<'a> Binder<'a> {
    /// Binds a kind that has a section, and what stands in its objects.
    fn section(&mut self, kind: Kind, objects: &BTreeMap<Kind, Vec<&'a Live>>) {
        let of_kind = |kind| objects.get(&kind).map(Vec::as_slice).unwrap_or_default();
        let desired: &'a Desired = self.desired;
        self.scene(kind, &self.declared(kind, None), of_kind(kind));
        for child in kind.children() {
            if child.descriptor().is_anywhere {
                let entries = desired.entries.keys().filter(|at| at.kind == child);
                self.scene(child, &entries.collect::<Vec<_>>(), of_kind(child));
                continue;
            }
            let mut inside: FxHashMap<&Id, Vec<&Live>> = FxHashMap::default();
            for live in of_kind(child) {
                if let Some(parent) = &live.within {
                    inside.entry(parent).or_default().push(live);
                }
            }
            for parent in of_kind(kind) {
                let entry = self.entries.get(&parent.id);
                let entries = entry.map(|entry| self.declared(child, Some(&entry.name)));
                let inside = inside.remove(&parent.id).unwrap_or_default();
                self.scene(child, &entries.unwrap_or_default(), &inside);
            }
        }
    }

    /// Notes that no entry stands for an object, if it is recorded.
    fn leaves(&mut self, live: &Live, is_managed: bool) {
        let is_known = self.options.ours.standing != Standing::Unknown;
        let recorded = self.recorded.get(&live.id).filter(|_| is_known);
        let leaving = recorded.map(|(key, origin)| Leaving {
            key: key.key(),
            origin: *origin,
            is_renamed: key.name != live.name,
            is_managed,
        });
        let leaving = leaving.map(|leaving| (live.id.clone(), leaving));
        self.bound.leaving.extend(leaving);
    }

    fn declared(&self, kind: Kind, within: Option<&str>) -> Vec<&'a Address> {
        let first = Address {
            within: within.map(str::to_owned),
            ..Address::new(kind, "")
        };
        let desired: &'a Desired = self.desired;
        let entries = desired.entries.range(first..).map(|(address, _)| address);
        let is_it = |at: &&Address| at.kind == kind && at.within.as_deref() == within;
        entries.take_while(is_it).collect()
    }

    /// Returns the object that a person names for an entry, by the entry's key.
    fn asked(&self, address: &Address) -> Option<&'a Id> {
        let asked = &self.options.ours.asked;
        let key = || Address::of_key(&address.key()).unwrap_or(address.clone());
        (!asked.is_empty()).then(|| asked.get(&key())).flatten()
    }

    /// Returns the name that an object was recorded by, and how, if it is recorded.
    fn recorded(&self, live: &Live) -> Option<(&'a str, RecordedAs)> {
        let recorded = self.recorded.get(&live.id);
        let (key, origin) = recorded.filter(|(key, _)| key.kind == live.resource.kind())?;
        Some((key.name.as_str(), *origin))
    }

    /// Binds entries to objects of one kind.
    fn scene(&mut self, kind: Kind, entries: &[&'a Address], objects: &[&'a Live]) {
        let (desired, actual) = (self.desired, self.actual);
        // a policy of NetBird's own is one like others where the file declares it
        let is_ours_to_see =
            |live: &&Live| kind != Kind::Group || !is_protected(kind, live, actual);
        let objects: Vec<&Live> = objects.iter().copied().filter(is_ours_to_see).collect();
        let asked = entries.iter().filter_map(|at| self.asked(at));
        let mut scene = Scene {
            kind,
            named: FxHashMap::default(),
            taken: asked.collect(),
            objects,
        };
        for live in &scene.objects {
            scene.named.entry(&live.name).or_default().push(live);
        }
        let (mut own, mut leaving) = self.own(entries, &scene);
        let mut found = Vec::new();
        for address in entries {
            let own = own.remove(*address).unwrap_or_default();
            let mut stands = self.entry(address, own, &mut scene);
            // a group that nobody may touch can be meant all the same
            if let ([place @ None], Kind::Group) = (&mut stands[..], kind) {
                let mut named = actual.at(address).iter();
                *place = named.find(|live| is_protected(kind, live, actual));
            }
            found.push((*address, stands));
        }
        leaving.retain(|live| !scene.taken.contains(&live.id));
        // what stands for another entry gets that one's name
        let standing = found.iter().flat_map(|(_, stands)| stands).flatten();
        let elsewhere: FxHashSet<&Id> = standing.map(|live| &live.id).collect();
        for live in leaving {
            let within = live.within.as_ref();
            let parent = within.and_then(|at| self.entries.get(at));
            let is_managed = match (actual.parent_of(live), parent) {
                (None, _) => desired.manages(kind),
                (_, Some(entry)) => desired.manages_in(kind, Some(&entry.name)),
                (Some(at), None) => desired.manages(at.kind),
            };
            self.leaves(live, is_managed);
        }
        let stays = |live: &&&Live| !elsewhere.contains(&live.id);
        // the order finds these in the way, unless they go, and says what they stand in
        let is_anywhere = kind.descriptor().is_anywhere;
        for (address, stands) in &found {
            let namesakes = scene.named.get(address.name.as_str()).into_iter().flatten();
            self.name(
                address,
                stands,
                &namesakes.filter(stays).copied().collect::<Vec<_>>(),
            );
        }
        for (address, _) in found
            .iter()
            .filter(|(_, stands)| is_once(kind) && matches!(stands[..], [None]))
        {
            let keeps_name = &self.bound.keeps_name;
            let namesakes = scene.named.get(address.name.as_str()).into_iter().flatten();
            let taken = namesakes
                .filter(|live| stays(live) && !is_anywhere || keeps_name.contains(&live.id));
            let taken: Vec<Id> = taken.map(|live| live.id.clone()).collect();
            if !taken.is_empty() && self.bound.skipped.insert((*address).clone()) {
                let notice = Notice::about(address, OfObject::NameTaken(taken));
                self.bound.notices.push(notice);
            }
        }
        let ids = |live: &Option<&Live>| live.map(|live| live.id.clone());
        let found = found.into_iter();
        let found = found.map(|(at, stands)| (at.clone(), stands.iter().map(ids).collect()));
        self.bound.stands.extend(found);
    }

    /// Finds the recorded objects of each entry, whatever they are called now, and those that none has.
    fn own(&self, entries: &[&'a Address], scene: &Scene<'a>) -> (Own<'a>, Vec<&'a Live>) {
        let mut recorded: FxHashMap<&str, Vec<&Live>> = FxHashMap::default();
        for live in &scene.objects {
            if let Some((name, _)) = self.recorded(live) {
                recorded.entry(name).or_default().push(live);
            }
        }
        let lacks = entries
            .iter()
            .filter(|at| !recorded.contains_key(at.name.as_str()));
        let old_name = |at: &Address| self.desired.renamed_from.get(at);
        let mut lacking: FxHashMap<&str, &Address> =
            lacks.map(|at| (at.name.as_str(), *at)).collect();
        let mut own = Own::default();
        // an entry that says which one it was goes before the one that has the old name now
        for at in entries
            .iter()
            .filter(|at| lacking.contains_key(at.name.as_str()))
        {
            let all = old_name(at).and_then(|old| recorded.remove(old.as_str()));
            own.extend(all.map(|all| (*at, all)));
        }
        for at in entries {
            let all = recorded.remove(at.name.as_str());
            own.extend(all.map(|all| (*at, all)));
        }
        // an old name can be the one that somebody gave the object in NetBird
        for at in lacking.values().copied().collect::<Vec<_>>() {
            if let Some(old) = old_name(at) {
                lacking.entry(old).or_insert(at);
            }
        }
        let mut leaving = Vec::new();
        for live in recorded.values().flatten() {
            // the file followed a rename in NetBird
            let entry = lacking.get(live.name.as_str());
            match entry.filter(|at| old_name(at).is_none() || !own.contains_key(**at)) {
                Some(at) => own.entry(at).or_default().push(live),
                None => leaving.push(*live),
            }
        }
        (own, leaving)
    }

    /// Returns the object of each place of an entry, of which `own` are the recorded ones.
    fn entry(
        &mut self,
        address: &'a Address,
        mut own: Vec<&'a Live>,
        scene: &mut Scene<'a>,
    ) -> Vec<Option<&'a Live>> {
        let (desired, ours) = (self.desired, &self.options.ours);
        if desired
            .resource(address)
            .iter()
            .any(Resource::is_only_named)
        {
            let named = scene.named.get(address.name.as_str()).into_iter().flatten();
            let one = own.iter().chain(named).next().copied();
            scene.taken.extend(one.map(|live| &live.id));
            return vec![one];
        }
        let asked = self.asked(address);
        let asked = asked.and_then(|id| scene.objects.iter().find(|live| live.id == *id));
        own.extend(asked);
        own.sort_by(|a, b| a.id.cmp(&b.id));
        own.dedup_by(|a, b| a.id == b.id);
        let mut stands = self.given_out(address, &own);
        let (mut adopted, mut surplus) = (Vec::new(), Vec::new());
        for live in &own {
            let stands = || stands.iter().flatten().any(|it| it.id == live.id);
            match self.recorded(live) {
                None => adopted.push(*live),
                // surplus of an entry that has none is no surplus: there is a place for each
                Some((_, origin)) if !stands() => surplus.push((live.id.clone(), origin)),
                Some(_) => {}
            }
        }
        // those of its name that nobody recorded
        let own_name = address.name.as_str();
        let name = match desired.renamed_from.get(address) {
            Some(old) if own.is_empty() && !scene.named.contains_key(own_name) => old,
            _ => own_name,
        };
        let is_free =
            |live: &&&Live| self.recorded(live).is_none() && !scene.taken.contains(&live.id);
        let free = scene.named.get(name).into_iter().flatten().filter(is_free);
        let (strange, mut free): (Vec<&Live>, Vec<&Live>) =
            free.partition(|live| ours.strange.contains_key(&live.id));
        let mut unclear = Vec::new();
        for (place, stands) in stands.iter_mut().enumerate().filter(|(_, it)| it.is_none()) {
            let unlike = |live: &Live| self.unlike(address, place, live);
            let fitting: Vec<&Live> = free
                .iter()
                .copied()
                .filter(|it| unlike(it).is_some())
                .collect();
            // the only one; of several the one that a run of ours made, then the one that is as the entry says, of equal ones
            // the oldest
            let made = || fitting.iter().find(|live| ours.is_made(&live.id));
            let equal = || fitting.iter().find(|live| unlike(live) == Some(0));
            let chosen = match &fitting[..] {
                [only] => Some(only),
                _ => made().or_else(equal),
            };
            match chosen.filter(|_| ours.unread.is_none()) {
                Some(live) => {
                    free.retain(|other| other.id != live.id);
                    scene.taken.insert(&live.id);
                    adopted.push(live);
                    *stands = Some(live);
                }
                None => unclear.extend(fitting.into_iter().map(|live| live.id.clone())),
            }
        }
        let lacks_none = stands.iter().all(Option::is_some);
        let mut beside = Vec::new();
        for live in free {
            if ours.is_made(&live.id) && lacks_none && ours.standing == Standing::Read {
                surplus.push((live.id.clone(), RecordedAs::Created));
                scene.taken.insert(&live.id);
            } else if !unclear.contains(&live.id) {
                beside.push(live.id.clone());
            }
        }
        let bound = &mut self.bound;
        let mut tell = |what| bound.notices.push(Notice::about(address, what));
        for live in strange {
            let (id, file) = (live.id.clone(), ours.strange[&live.id].clone());
            let mut wanted = desired.resource(address).iter();
            let is_taken =
                is_once(address.kind) || wanted.any(|wanted| wanted.excludes(&live.resource));
            if !is_taken || lacks_none {
                tell(OfObject::Strange { id, file });
                continue;
            }
            tell(OfObject::SkippedAsStrange { id, file });
            bound.skipped.insert(address.clone());
        }
        if !beside.is_empty() && self.options.prune != Prune::All {
            tell(OfObject::Beside(beside));
        }
        if !unclear.is_empty() {
            let ids = unclear.clone();
            tell(match ours.unread.clone() {
                Some(environment) => OfObject::MayBeStrange { ids, environment },
                None => OfObject::Unclear(ids),
            });
            bound.skipped.insert(address.clone());
            bound.unclear.extend(unclear);
        }
        let is_new = stands == [None]
            && !bound.skipped.contains(address)
            && ours.inventory.of(&address.key()).is_empty();
        if let Some(old) = desired.renamed_from.get(address).filter(|_| is_new)
            && !self
                .actual
                .of_kind(scene.kind)
                .any(|(_, live)| live.name == *old)
        {
            let recorded = self.recorded.values();
            let recorded = recorded.filter(|(key, _)| key.kind == scene.kind);
            let names = recorded.map(|(key, _)| key.name.as_str());
            let hint = did_you_mean(old, names.chain(scene.named.keys().copied()));
            let what = OfObject::NothingToRename {
                old: old.clone(),
                hint,
            };
            bound.notices.push(Notice::about(address, what));
        }
        if ours.standing != Standing::Unknown {
            let adopted = adopted
                .into_iter()
                .map(|live| (live.id.clone(), ours.adopted_as(&live.id)));
            let of_entry = |(id, origin)| (id, (address.clone(), origin));
            bound.adopted.extend(adopted.map(of_entry));
            bound.surplus.extend(surplus.into_iter().map(of_entry));
        }
        stands
    }

    /// Notes what the objects of an entry are called while the file is planned; `others` have its name and keep it.
    fn name(&mut self, address: &'a Address, stands: &[Option<&'a Live>], others: &[&Live]) {
        let (kind, bound) = (address.kind, &mut self.bound);
        let prune = self.options.prune;
        let is_too_many = |bound: &Bound, live: &Live| match bound.surplus.get(&live.id) {
            Some((_, RecordedAs::Created)) => prune != Prune::None,
            Some(_) => prune == Prune::All,
            None => false,
        };
        for live in stands.iter().flatten() {
            self.entries.insert(&live.id, address);
            if live.name != address.name {
                let name = address.name.clone();
                bound.names.insert((kind, live.id.clone()), name);
                // what is too many goes in the same run; a group does so when nothing refers to it any more, which is too late
                let goes = |other: &&Live| kind != Kind::Group && is_too_many(bound, other);
                if let Some(other) = others.iter().find(|other| !goes(other)) {
                    let (now, other) = (live.name.clone(), other.id.clone());
                    let notice = Notice::about(address, OfObject::KeepsName { now, other });
                    bound.keeps_name.insert(live.id.clone());
                    bound.notices.push(notice);
                }
            }
            let recorded = self.recorded.get(&live.id);
            if recorded.is_some_and(|(key, _)| key.key() != address.key()) {
                bound.moved.insert(live.id.clone(), address.key());
            }
            // others refer to these by name, or stand in them, and mean the entry's own
            let is_meant = kind.referred_as().is_some() || kind.children().next().is_some();
            for other in others.iter().filter(|_| is_meant) {
                let aside = format!("{} ({})", other.name, other.id);
                bound.names.insert((kind, other.id.clone()), aside);
            }
        }
    }

    /// Gives recorded objects out to the places of an entry. An entry of one has the first that needs no replacement, of several
    /// such one that still has its name; where an entry can have several, those come first that differ least, and of equal ones the
    /// oldest.
    fn given_out(&self, address: &Address, own: &[&'a Live]) -> Vec<Option<&'a Live>> {
        let number = self.desired.resource(address).len().max(1);
        if let (1, [] | [_]) = (number, own) {
            return vec![own.first().copied()];
        }
        if !address.kind.descriptor().is_several {
            let order = |live: &&&Live| (self.is_fixed(address, live), live.name != address.name);
            return vec![own.iter().min_by_key(order).copied()];
        }
        // what differs in what it connects differs more than in all else
        const OTHER: usize = 1_000;
        let cost = |place: usize, which: usize| {
            let unlike = self.unlike(address, place, own[which]);
            unlike.unwrap_or(OTHER)
        };
        let mut given = vec![None; number];
        let mut free: BTreeSet<usize> = (0..own.len()).collect();
        // where nothing differs each place looks at one object
        for (place, given) in given.iter_mut().enumerate() {
            *given = free.iter().copied().find(|which| cost(place, *which) == 0);
            given.map(|which| free.remove(&which));
        }
        let mut pairs = Vec::new();
        for place in (0..number).filter(|place| given[*place].is_none()) {
            pairs.extend(
                free.iter()
                    .map(|which| (cost(place, *which), place, *which)),
            );
        }
        pairs.sort_unstable();
        for (_, place, which) in pairs {
            if given[place].is_none() && free.remove(&which) {
                given[place] = Some(which);
            }
        }
        let given = given.into_iter();
        given.map(|which| which.map(|which| own[which])).collect()
    }

    /// Returns whether an object differs from its entry in what no change can give it.
    fn is_fixed(&self, address: &Address, live: &Live) -> bool {
        let fixed = address.kind.descriptor().fixed;
        let wanted = self.desired.resource(address).first();
        let fields = wanted.map(|wanted| differences(wanted, &live.resource));
        let mut fields = fields.into_iter().flatten();
        fields.any(|of| fixed.contains(&of.field.as_str()))
    }

    /// Returns in how many fields a live object differs from what an entry has at that place; none where it is another thing, or
    /// such as no file can say.
    fn unlike(&self, address: &Address, place: usize, live: &Live) -> Option<usize> {
        let names = |id: &Id| members::names_of(id, self.actual);
        if let [Resource::Group(group)] = self.desired.resource(address) {
            let Some(wanted) = &group.listed else {
                return Some(0);
            };
            let live = live.resource.members().into_iter().flatten();
            let found: Vec<BTreeSet<String>> = live.map(names).collect();
            let is_listed = |of: &BTreeSet<String>| !of.is_disjoint(wanted);
            let same = found.len() == wanted.len() && found.iter().all(is_listed);
            return Some(usize::from(!same));
        }
        let mut wanted = self.desired.resource(address).get(place)?.clone();
        for (named, meant) in wanted.peers_mut().into_iter().zip(live.resource.peers()) {
            let is_it = |id: &Id| names(id).contains(named.text());
            if meant.id().is_some_and(is_it) {
                *named = meant.clone();
            }
        }
        let address = |peer: &PeerRef, is_v6: bool| {
            let keys = self.actual.keys_named(peer.text());
            let bound = keys.filter_map(|key| self.actual.bindings.of_key(&key.id)?.peer());
            let bound = bound.filter_map(|id| self.actual.peers.get(id));
            let mut machines = self.actual.peers_named(peer.text()).chain(bound);
            let there = Value::Object(live.resource.fields()).to_string();
            let of = |peer: &objects::Peer| peer.address(is_v6).map(str::to_owned);
            machines.find_map(|peer| of(peer).filter(|it| there.contains(&format!("{it:?}"))))
        };
        wanted.put_addresses(&address);
        let connects_the_same = wanted.connects() == live.resource.connects();
        let can_be_said = live.resource.export().is_ok();
        (connects_the_same && can_be_said).then(|| differences(&wanted, &live.resource).len())
    }
}
