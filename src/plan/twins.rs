//! Groups that two runs made at once: of one name the oldest stays, and the others go once their members and all that
//! refers to them have moved to it.
//!
//! A server on PostgreSQL does not write one after the other, so both creations succeed (docs/netbird-api.md, "Unique
//! names"). Names in a file mean the one that stays. Canonical form knows groups by name, so that namesakes which
//! differ by such a reference alone are equal; which object refers to a surplus one is read from its answer again, with
//! other names for those.

use std::collections::{BTreeMap, BTreeSet};

use super::Given;
use super::standing::{Standing, is_protected, standing};
use crate::actual::Actual;
use crate::address::Address;
use crate::change::{Change, Operation};
use crate::id::Id;
use crate::kind::{Group, Groups, Kind, Live, Resource, differences};
use crate::notice::{Notice, OfObject};
use crate::options::Prune;
use crate::reason::Reason;

/// Groups that go since an older one of their name stays.
#[derive(Debug, Default)]
pub(crate) struct Twins {
    /// The surplus ones, and the name of each.
    surplus: BTreeMap<Id, String>,
    /// The groups: each name is that of the one that stays, and a surplus one has another.
    groups: Groups,
}

impl Twins {
    /// Finds those of the declared groups that are all provably ours.
    pub(super) fn find(given: Given) -> Self {
        let actual = given.actual;
        let declared = given.desired.groups().map(|(name, _)| name);
        let names = declared.filter(|name| {
            let address = Address::new(Kind::Group, *name);
            let namesakes: Vec<&Live> = actual.named(Kind::Group, name).iter().collect();
            are_twins(given, &address, &namesakes)
        });
        let later = |name| actual.named(Kind::Group, name).iter().skip(1);
        let surplus = names.flat_map(|name| later(name).map(|live| live.id.clone()));
        Twins::of(surplus.collect(), actual)
    }

    /// These groups are surplus.
    pub(crate) fn of(ids: BTreeSet<Id>, actual: &Actual) -> Self {
        let mut twins = Twins {
            groups: actual.groups.clone(),
            ..Twins::default()
        };
        for id in ids {
            let name = actual.groups.name(&id);
            twins.groups.set_aside(&id);
            twins.surplus.insert(id, name);
        }
        twins
    }

    /// Returns whether several groups of that name become one.
    pub(super) fn has(&self, name: &str) -> bool {
        self.surplus.values().any(|twin| twin == name)
    }

    /// Returns the groups by the names that a file has for them.
    pub(super) fn groups(&self) -> &Groups {
        &self.groups
    }

    /// Returns the members of the groups of that name: all of them move to the one that stays.
    pub(super) fn members(&self, name: &str, actual: &Actual) -> BTreeSet<Id> {
        let meant = |live: &&Live| {
            self.surplus.contains_key(&live.id) || self.groups.id(name).ok() == Some(&live.id)
        };
        let namesakes = actual.named(Kind::Group, name).iter().filter(meant);
        let members = namesakes.filter_map(|live| live.resource.members());
        members.flatten().cloned().collect()
    }

    /// Returns the changes with what moves the references of these objects; `is_ours` says which may be written.
    pub(crate) fn move_references(
        &self,
        mut changes: Vec<Change>,
        actual: &Actual,
        is_ours: impl Fn(&Address, &Live) -> bool,
    ) -> Vec<Change> {
        if self.surplus.is_empty() {
            return changes;
        }
        for (address, live) in actual.each() {
            let Some(labelled) = self.labelled(address.kind, live) else {
                continue;
            };
            let change = changes.iter_mut().find(|change| change.is_about(&live.id));
            match change.map(|change| &mut change.operation) {
                Some(Operation::Update { fields, after, .. }) => {
                    *after = after.with_references_of(&live.resource);
                    let renamed = fields.iter().position(|change| change.field == "name");
                    let renamed = renamed.map(|at| fields.remove(at));
                    *fields = renamed
                        .into_iter()
                        .chain(differences(after, &labelled))
                        .collect();
                }
                Some(_) => {}
                None if is_ours(address, live) => {
                    let after = live.resource.references_alone();
                    let operation = Operation::Update {
                        live: live.clone(),
                        fields: differences(&after, &labelled),
                        after,
                    };
                    let why = Reason::RefersToSecondGroup;
                    changes.push(Change::new(address.clone(), operation, why));
                }
                None => {}
            }
        }
        changes
    }

    /// Returns an object with the names that surplus groups have here, if it refers to one.
    fn labelled(&self, kind: Kind, live: &Live) -> Option<Resource> {
        let labelled = Resource::read(kind, live.wire.clone(), &self.groups).ok()?;
        let told = labelled.resource.references() != live.resource.references();
        told.then_some(labelled.resource)
    }

    /// Returns the deletions of the surplus groups. Each bears the name that it has here, since the name of the file stays.
    pub(crate) fn deletions(&self, actual: &Actual) -> Vec<Change> {
        let all = actual.objects.values().flatten();
        let surplus = all.filter_map(|live| Some((live, self.surplus.get(&live.id)?)));
        let deletion = |(live, name): (&Live, &String)| {
            let live = Live {
                name: self.groups.name(&live.id),
                ..live.clone()
            };
            Change::deletion(&Address::new(Kind::Group, name), &live, Reason::SecondGroup)
        };
        surplus.map(deletion).collect()
    }

    /// Returns the changes that move the members of surplus groups to those that stay.
    pub(crate) fn move_members(&self, actual: &Actual) -> Vec<Change> {
        let names: BTreeSet<&String> = self.surplus.values().collect();
        let change = |name: &&String| {
            let stays = self.groups.id(name).ok()?;
            let live = actual.named(Kind::Group, name);
            let live = live.iter().find(|live| live.id == *stays)?;
            let after = Resource::Group(Group {
                peers: Some(self.members(name, actual)),
            });
            let operation = Operation::update(live, &after, None)?;
            let address = Address::new(Kind::Group, *name);
            Some(Change::new(address, operation, None))
        };
        names.iter().filter_map(change).collect()
    }

    /// Returns the surplus groups that something beside ours needs once all the rest has moved, and says so.
    pub(super) fn needed(&self, changes: &[Change], actual: &Actual) -> BTreeMap<Id, Notice> {
        let needed = |(id, name): (&Id, &String)| {
            let holders = self.holders(id, changes, actual);
            let is_needed = !holders.is_empty();
            let what = OfObject::TwinStays {
                id: id.clone(),
                holders,
            };
            let notice = Notice::about(&Address::new(Kind::Group, name), what);
            is_needed.then_some((id.clone(), notice))
        };
        self.surplus.iter().filter_map(needed).collect()
    }

    /// Returns what refers to a surplus group and does not move, in words.
    fn holders(&self, id: &Id, changes: &[Change], actual: &Actual) -> BTreeSet<String> {
        let name = self.groups.name(id);
        let moves: BTreeSet<&Id> = changes
            .iter()
            .filter_map(|change| Some(&change.operation.live()?.id))
            .collect();
        let refers = |kind: Kind, live: &Live| {
            let labelled = self.labelled(kind, live);
            labelled.is_some_and(|labelled| labelled.references().contains(name.as_str()))
        };
        let staying = actual.each().filter(|(_, live)| !moves.contains(&live.id));
        let ours = staying.filter(|(address, live)| refers(address.kind, live));
        let ours = ours.map(|(address, live)| format!("{address} ({})", live.id));
        let others = actual.unmanaged_referrers.get(id).into_iter().flatten();
        ours.chain(others.cloned()).collect()
    }
}

/// Returns whether several objects of one name are all provably ours: runs at the same time made them.
pub(super) fn are_twins(given: Given, address: &Address, namesakes: &[&Live]) -> bool {
    let is_ours = |live: &&Live| standing(given, address, live) == Standing::Ours;
    let all_ours = match given.options.prune {
        Prune::None => false,
        Prune::Owned => namesakes.iter().all(is_ours),
        Prune::All => true,
    };
    let mut protected = namesakes
        .iter()
        .map(|live| is_protected(address.kind, live, given.actual));
    namesakes.len() > 1 && all_ours && !protected.any(|protected| protected)
}
