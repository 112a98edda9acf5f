//! Which live object each entry stands for: the inventory's rules (`inventory::match_objects`), asked for each kind, parents
//! first. What stands in an object belongs to the object, whatever that is called.
//!
//! Names in the file mean the objects of its entries. So where NetBird has another name for one, the account is read as if
//! it had the entry's name already; then nothing that refers to it differs, and the one change that is left is the name.

use std::collections::{BTreeMap, BTreeSet};

use crate::account::actual::{Actual, NewNames, Unreadable};
use crate::account::snapshot::Snapshot;
use crate::base::id::Id;
use crate::inventory::{Entry, Inventory, Leaving, Match, Object, Origin, Scene, match_objects};
use crate::model::address::Address;
use crate::model::desired::Desired;
use crate::model::kind::{Answers, Kind, Live, Resource, TEMPORARY, differences};
use crate::plan::members;
use crate::plan::options::{Options, Prune};
use crate::plan::ours::Standing;

/// A recorded object that no entry stands for any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Left {
    /// The key of its entry.
    pub key: String,
    /// How it was recorded.
    pub origin: Origin,
    /// Whether it has another name in NetBird by now.
    pub is_renamed: bool,
    /// Whether the file still speaks of such objects; where it does not, nothing happens to it.
    pub is_managed: bool,
}

/// What the entries of a file stand for in an account.
#[derive(Debug, Clone, Default)]
pub struct Binding {
    /// The objects of each entry, in the order of its places; none where one is to be made. Setup keys are not here.
    pub(super) stands: BTreeMap<Address, Vec<Option<Id>>>,
    /// Objects that entries adopt: the entry, and as what.
    pub(super) adopted: BTreeMap<Id, (Address, Origin)>,
    /// Objects that entries have too many.
    pub(super) surplus: BTreeMap<Id, (Address, Origin)>,
    /// Entries that could mean several objects.
    pub(super) unclear: BTreeMap<Address, Vec<Id>>,
    /// Other objects of the name of an entry.
    pub(super) beside: BTreeMap<Address, BTreeSet<Id>>,
    /// Recorded objects that no entry stands for.
    pub(super) left: BTreeMap<Id, Left>,
    /// Recorded objects whose entry has another key by now.
    pub(super) moved: BTreeMap<Id, String>,
    /// Entries that lost a recorded object: it does not exist any more.
    pub(super) lost: BTreeSet<Address>,
    /// Recorded objects that do not exist any more, and the keys of their entries.
    pub(super) dead: BTreeMap<Id, Address>,
    /// The kinds of which the account was read whole: their lists were asked for, and the token sees everything.
    pub(super) whole: BTreeSet<Kind>,
    /// Entries that cannot be made: something that stays has their name, and NetBird takes it once (docs/netbird-api.md,
    /// "Errors").
    pub(super) taken: BTreeSet<Address>,
    /// Objects that keep the name that they have in NetBird, since another one has that of the entry.
    pub(super) keeps_name: BTreeSet<Id>,
    /// What objects are called while the file is planned, where that is not their name.
    names: NewNames,
}

impl Binding {
    /// Returns the names by which the file means groups of an identity provider.
    pub fn issued_groups(&self, actual: &Actual) -> BTreeSet<String> {
        let groups = self.stands.iter();
        let issued = groups.filter(|(at, stands)| {
            let mut stands = stands.iter().flatten();
            at.kind == Kind::Group && stands.any(|id| actual.protected_groups.contains_key(id))
        });
        issued.map(|(at, _)| at.name.clone()).collect()
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

/// Reads an account by the names that a file has for its objects, and finds what each entry stands for.
pub fn read(
    desired: &Desired,
    snapshot: &Snapshot,
    options: &Options,
) -> Result<(Actual, Binding), Unreadable> {
    let mut names = NewNames::new();
    let mut actual = Actual::read(snapshot)?;
    // of objects in others' places the names of groups decide how like they are, so a second look can see more
    for _ in 0..3 {
        let binding = bind(desired, &actual, options);
        if binding.names == names {
            break;
        }
        names = binding.names;
        actual = Actual::read_named(snapshot, &names)?;
    }
    let mut binding = bind(desired, &actual, options);
    binding.whole = whole(snapshot, &actual);
    binding.dead = dead(&binding.whole, &actual, options);
    Ok((actual, binding))
}

/// Returns the kinds of which nothing is hidden: what is not in their lists does not exist.
fn whole(snapshot: &Snapshot, actual: &Actual) -> BTreeSet<Kind> {
    let sees_all = actual.me.as_ref().is_some_and(crate::plan::gates::sees_all);
    let is_listed = |kind: Kind| match kind.inside_as().map(|(_, inside)| inside.answers) {
        None => snapshot.has(kind),
        Some(Answers::Embedded(_)) => kind.parent().is_some_and(|parent| snapshot.has(parent)),
        Some(Answers::Listed { .. }) => snapshot.has(kind),
    };
    let cut: BTreeSet<Kind> = actual.unlisted.keys().map(|(kind, _)| *kind).collect();
    let kinds = Kind::ALL.into_iter();
    let kinds = kinds.filter(|kind| sees_all && !cut.contains(kind));
    kinds.filter(|kind| is_listed(*kind)).collect()
}

/// Returns the recorded objects that do not exist, and the keys of their entries.
fn dead(whole: &BTreeSet<Kind>, actual: &Actual, options: &Options) -> BTreeMap<Id, Address> {
    let living: BTreeSet<&Id> = actual.each().map(|(_, live)| &live.id).collect();
    let recorded = options.ours.inventory.recorded();
    let dead = recorded.filter_map(|(key, id, _)| {
        let key = Address::of_key(key)?;
        (whole.contains(&key.kind) && !living.contains(id)).then(|| (id.clone(), key))
    });
    dead.collect()
}

/// Whether nobody may touch an object: a group that is never changed, or a policy that NetBird made for a while.
pub(super) fn is_protected(kind: Kind, live: &Live, actual: &Actual) -> bool {
    match kind {
        Kind::Group => actual.protected_groups.contains_key(&live.id),
        Kind::Policy => live.name.starts_with(TEMPORARY),
        _ => false,
    }
}

/// Finds what each entry stands for.
fn bind(desired: &Desired, actual: &Actual, options: &Options) -> Binding {
    let mut binder = Binder {
        desired,
        actual,
        options,
        objects: objects(actual),
        recorded: recorded(desired, actual, options),
        entries: BTreeMap::new(),
        binding: Binding::default(),
    };
    for kind in Kind::sections().filter(|kind| is_bound(*kind)) {
        binder.top(kind);
    }
    binder.keys();
    binder.binding
}

/// Whether objects of a kind are bound by their entries: machines and what there is one of are not, and keys have a life of
/// their own (`keys`).
fn is_bound(kind: Kind) -> bool {
    kind.goes_with_entry() && kind != Kind::SetupKey
}

/// The objects around one that an entry stands for: those of its kind, of what stands in others those in its parent.
struct Around<'a> {
    live: &'a BTreeMap<&'a Id, &'a Live>,
    named: BTreeMap<&'a str, Vec<&'a Live>>,
    /// Those that do not keep their names, or do not stay.
    elsewhere: BTreeSet<Id>,
}

/// The live objects by kind, the oldest first.
type Objects<'a> = BTreeMap<Kind, Vec<(&'a Address, &'a Live)>>;

fn objects(actual: &Actual) -> Objects<'_> {
    let mut objects: Objects = BTreeMap::new();
    for (address, live) in actual.each() {
        let of_kind = objects.entry(address.kind).or_default();
        of_kind.push((address, live));
    }
    for of_kind in objects.values_mut() {
        of_kind.sort_by(|(_, a), (_, b)| a.id.cmp(&b.id));
    }
    objects
}

/// The recorded objects: the key that each was recorded by, and how. What a run made and did not get to record, and whose entry
/// is out of the file again, counts as created.
fn recorded<'a>(
    desired: &Desired,
    actual: &'a Actual,
    options: &'a Options,
) -> BTreeMap<&'a Id, (Address, Origin)> {
    let ours = &options.ours;
    let recorded = ours.inventory.recorded();
    let recorded =
        recorded.filter_map(|(key, id, origin)| Some((id, (Address::of_key(key)?, origin))));
    let mut recorded: BTreeMap<&Id, (Address, Origin)> = recorded.collect();
    if ours.standing == Standing::Unknown {
        // what bears the name of an entry is taken for its own: nothing is said of adopting then
        let named = actual
            .each()
            .filter(|(address, _)| desired.declares(address));
        let named = named.map(|(at, live)| (&live.id, (at.clone(), Origin::Created)));
        return named.collect();
    }
    if ours.standing == Standing::Read && !ours.made.is_empty() {
        for (address, live) in actual.each() {
            let is_left_over = ours.is_made(&live.id)
                && !recorded.contains_key(&live.id)
                && !desired.has(address)
                && ours.was_declared(address);
            if is_left_over {
                recorded.insert(&live.id, (address.clone(), Origin::Created));
            }
        }
    }
    recorded
}

struct Binder<'a> {
    desired: &'a Desired,
    actual: &'a Actual,
    options: &'a Options,
    objects: Objects<'a>,
    recorded: BTreeMap<&'a Id, (Address, Origin)>,
    /// The entry of each object that stands for one.
    entries: BTreeMap<Id, Address>,
    binding: Binding,
}

impl<'a> Binder<'a> {
    /// A kind that has a section, and what stands in its objects.
    fn top(&mut self, kind: Kind) {
        let all = self.objects.get(&kind).cloned().unwrap_or_default();
        let entries = self.declared(kind, None);
        self.scene(kind, &entries, &all);
        for child in kind.children() {
            if child.descriptor().special.is_anywhere {
                let entries = self.desired.entries.keys();
                let entries: Vec<&Address> = entries.filter(|at| at.kind == child).collect();
                let all = self.objects.get(&child).cloned().unwrap_or_default();
                self.scene(child, &entries, &all);
                continue;
            }
            let mut by_parent: BTreeMap<&Id, Vec<(&'a Address, &'a Live)>> = BTreeMap::new();
            for (address, live) in self.objects.get(&child).into_iter().flatten() {
                if let Some(parent) = &live.within {
                    by_parent.entry(parent).or_default().push((address, live));
                }
            }
            for (_, parent) in &all {
                let entries = match self.entries.get(&parent.id) {
                    Some(entry) => self.declared(child, Some(&entry.name)),
                    None => Vec::new(),
                };
                let inside = by_parent.remove(&parent.id).unwrap_or_default();
                self.scene(child, &entries, &inside);
            }
            // of a parent that is to be made all is to be made
            for address in self.desired.entries.keys().filter(|at| at.kind == child) {
                let number = self.desired.resource(address).len();
                let stands = self.binding.stands.entry(address.clone());
                stands.or_insert_with(|| vec![None; number]);
            }
        }
    }

    /// Recorded setup keys whose entry is gone; no name of theirs changes.
    fn keys(&mut self) {
        let (desired, ours) = (self.desired, &self.options.ours);
        for (address, live) in self.objects.get(&Kind::SetupKey).into_iter().flatten() {
            let Some((key, origin)) = self.recorded.get(&live.id) else {
                continue;
            };
            if desired.declares(address) || ours.standing == Standing::Unknown {
                continue;
            }
            let left = Left {
                key: key.key(),
                origin: *origin,
                is_renamed: false,
                is_managed: desired.manages(Kind::SetupKey),
            };
            self.binding.left.insert(live.id.clone(), left);
        }
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

    /// Matches entries with objects of one kind; of what stands in other objects with those in one parent.
    fn scene(&mut self, kind: Kind, entries: &[&'a Address], objects: &[(&'a Address, &'a Live)]) {
        let (desired, actual, options) = (self.desired, self.actual, self.options);
        let ours = &options.ours;
        let live: BTreeMap<&Id, &Live> = objects.iter().map(|(_, it)| (&it.id, *it)).collect();
        let is_several = kind.descriptor().special.is_several;
        let unlike = |entry: usize, place: usize, id: &Id| {
            let live = *live.get(id)?;
            unlike(entries[entry], place, live, (desired, actual))
        };
        let is_fixed = |entry: usize, place: usize, id: &Id| {
            let wanted = desired.resource(entries[entry]).get(place);
            let fixed = kind.descriptor().special.fixed;
            let differs = wanted.zip(live.get(id)).map(|(wanted, live)| {
                let fields = differences(wanted, &live.resource);
                fields.iter().any(|of| fixed.contains(&of.field.as_str()))
            });
            differs == Some(true)
        };
        let entry = |address: &&'a Address| Entry {
            name: &address.name,
            old: desired.renamed_from.get(*address).map(String::as_str),
            number: match desired.resource(address).len() {
                0 => 1,
                number => number,
            },
            asked: ours
                .asked
                .get(&Address::of_key(&address.key()).unwrap_or((*address).clone())),
        };
        // a policy of NetBird's own is one like others where the file declares it
        let is_ours_to_see =
            |live: &&Live| kind != Kind::Group || !is_protected(kind, live, actual);
        let seen = objects.iter().map(|(_, live)| *live);
        let seen: Vec<&'a Live> = seen.filter(is_ours_to_see).collect();
        let object = |live: &'a Live| {
            let recorded = self.recorded.get(&live.id);
            let recorded = recorded.filter(|(key, _)| key.kind == kind);
            let recorded = recorded.map(|(key, origin)| (key.name.as_str(), *origin));
            Object {
                id: &live.id,
                name: &live.name,
                recorded,
                is_made: ours.is_made(&live.id),
                is_strange: ours.strange.contains_key(&live.id),
            }
        };
        let scene = Scene {
            entries: entries.iter().map(entry).collect(),
            objects: seen.iter().copied().map(object).collect(),
            unlike: &unlike,
            is_fixed: &is_fixed,
            is_several,
            adopts: ours.unread.is_none(),
            trusts_log: ours.standing == Standing::Read,
        };
        let (matches, leaving) = match_objects(&scene);
        // what stands for another entry gets that one's name, and what goes is gone by then
        let standing = matches.iter().flat_map(|of| of.stands.iter().flatten());
        let mut elsewhere: BTreeSet<Id> = standing.cloned().collect();
        let goes = |left: &&Leaving| {
            left.origin == Origin::Created && !left.is_renamed && options.prune != Prune::None
        };
        let going = leaving.iter().filter(goes).map(|left| left.id.clone());
        elsewhere.extend(going);
        let mut named: BTreeMap<&str, Vec<&Live>> = BTreeMap::new();
        for live in seen {
            named.entry(&live.name).or_default().push(live);
        }
        let around = Around {
            live: &live,
            named,
            elsewhere,
        };
        for (address, mut matched) in entries.iter().zip(matches) {
            // a group that nobody may touch can be meant all the same
            if let ([place @ None], true) = (&mut matched.stands[..], kind == Kind::Group) {
                let named = actual.at(address).iter();
                let mut protected = named.filter(|live| is_protected(kind, live, actual));
                *place = protected.next().map(|live| live.id.clone());
            }
            self.entry(address, matched, &around);
        }
        let is_once = kind == Kind::Group || kind.descriptor().special.has_unique_names;
        for address in entries.iter().filter(|_| is_once) {
            let is_made = self
                .binding
                .stands
                .get(*address)
                .is_some_and(|at| *at == [None]);
            let stays = |other: &&&Live| {
                let gives_it_up = around.elsewhere.contains(&other.id);
                !gives_it_up || self.binding.keeps_name.contains(&other.id)
            };
            let bearing = around.named.get(address.name.as_str());
            if is_made && bearing.into_iter().flatten().any(|live| stays(&live)) {
                self.binding.taken.insert((*address).clone());
            }
        }
        for left in leaving {
            let Some(live) = live.get(&left.id) else {
                continue;
            };
            let is_managed = match actual.parent_of(live) {
                None => desired.manages(kind),
                Some(at) => match live.within.as_ref().and_then(|at| self.entries.get(at)) {
                    Some(entry) => desired.manages_in(kind, Some(&entry.name)),
                    None => desired.manages(at.kind),
                },
            };
            let Some((key, _)) = self.recorded.get(&left.id) else {
                continue;
            };
            let left = (
                left.id,
                Left {
                    key: key.key(),
                    origin: left.origin,
                    is_renamed: left.is_renamed,
                    is_managed,
                },
            );
            if ours.standing != Standing::Unknown {
                self.binding.left.extend([left]);
            }
        }
    }

    /// Takes over what was found of an entry.
    fn entry(&mut self, address: &Address, matched: Match, around: &Around) {
        let Around {
            live,
            named,
            elsewhere,
        } = around;
        let Match {
            stands,
            adopted,
            surplus,
            unclear,
            beside,
        } = matched;
        let kind = address.kind;
        let standing: BTreeSet<&Id> = stands.iter().flatten().collect();
        let namesakes = named.get(address.name.as_str()).into_iter().flatten();
        let others = namesakes.filter(|other| !elsewhere.contains(&other.id));
        let others: Vec<&&Live> = others.collect();
        // others refer to these by name, and mean the entry's own
        let is_referred = kind.referred_as().is_some();
        for other in others
            .iter()
            .filter(|_| is_referred && !standing.is_empty())
        {
            let aside = format!("{} ({})", other.name, other.id);
            self.binding.names.insert((kind, other.id.clone()), aside);
        }
        for live in standing.iter().filter_map(|id| live.get(*id)) {
            self.entries.insert(live.id.clone(), address.clone());
            if live.name != address.name {
                let name = address.name.clone();
                self.binding.names.insert((kind, live.id.clone()), name);
                if !others.is_empty() {
                    self.binding.keeps_name.insert(live.id.clone());
                }
            }
            let recorded = self.recorded.get(&live.id).map(|(key, _)| key.key());
            if recorded.is_some_and(|key| key != address.key()) {
                let moved = (live.id.clone(), address.key());
                self.binding.moved.extend([moved]);
            }
        }
        let living = standing.len();
        let known = self.options.ours.inventory.of(&address.key()).len();
        if known > 0 && living < stands.len() && known + adopted.len() > living {
            self.binding.lost.insert(address.clone());
        }
        let is_known = self.options.ours.standing != Standing::Unknown;
        let binding = &mut self.binding;
        let adopted = adopted.into_iter().filter(|_| is_known);
        binding
            .adopted
            .extend(adopted.map(|(id, origin)| (id, (address.clone(), origin))));
        let surplus = surplus.into_iter().filter(|_| is_known);
        binding
            .surplus
            .extend(surplus.map(|(id, origin)| (id, (address.clone(), origin))));
        if !unclear.is_empty() {
            binding.unclear.insert(address.clone(), unclear);
        }
        if !beside.is_empty() {
            binding.beside.insert(address.clone(), beside);
        }
        binding.stands.insert(address.clone(), stands);
    }
}

/// In how many fields a live object differs from what an entry has at that place; none where it is another thing, or such as
/// no file can say.
fn unlike(
    address: &Address,
    place: usize,
    live: &Live,
    (desired, actual): (&Desired, &Actual),
) -> Option<usize> {
    let names = |id: &Id| members::names_of(id, actual);
    if let [Resource::Group(group)] = desired.resource(address) {
        let Some(wanted) = &group.listed else {
            return Some(0);
        };
        let live = live.resource.members().into_iter().flatten();
        let found: Vec<BTreeSet<String>> = live.map(names).collect();
        let is_listed = |of: &BTreeSet<String>| !of.is_disjoint(wanted);
        let same = found.len() == wanted.len() && found.iter().all(is_listed);
        return Some(usize::from(!same));
    }
    let mut wanted = desired.resource(address).get(place)?.clone();
    for (named, meant) in wanted.peers_mut().into_iter().zip(live.resource.peers()) {
        let is_it = |id: &Id| names(id).contains(named.text());
        if meant.id().is_some_and(is_it) {
            *named = meant;
        }
    }
    let connects_the_same = wanted.connects() == live.resource.connects();
    let can_be_said = live.resource.export().is_ok();
    (connects_the_same && can_be_said).then(|| differences(&wanted, &live.resource).len())
}
