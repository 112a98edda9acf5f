//! What of the live account is ours to touch: what stands for an entry, what goes, what is let go, what is unmanaged.
//!
//! It runs before the diff, so that the diff needs no flags. What is ours the inventory says (`plan::bind`,
//! docs/ownership.md). What is decided about setup keys is claimed as it is.

mod said_less;
mod sections;

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashSet;
use sections::gone;
use serde_json::Value;

use super::Given;
use super::bind::is_protected;
use super::resolve::Resolved;
use super::rows;
use crate::account::Actual;
use crate::base::Id;
use crate::inventory::RecordedAs;
use crate::model::{
    Address, Change, Desired, Gone, Kind, LeftBy, LetGo, LetGoWhy, Live, Notice, OfObject, OfRun,
    Protection, Reason, Resource,
};
use crate::plan::{Prune, Standing};

/// The result: live objects by what is to become of them.
#[derive(Debug, Default)]
pub(super) struct Claimed {
    /// What goes.
    pub(super) pruned: Vec<Change>,
    /// What nobody manages from now on, and what an earlier run let go.
    pub(super) let_go: Vec<LetGo>,
    /// Beside the file, of the kinds that it manages.
    pub(super) unmanaged: BTreeSet<Address>,
    /// What another file of the account manages, and which.
    pub(super) elsewhere: BTreeMap<Address, String>,
    /// Sections that the file no longer has.
    pub(super) gone_sections: Vec<Gone>,
    /// What a reader should know.
    pub(super) notices: Vec<Notice>,
}

/// Sorts the live objects of every kind.
pub(super) fn claim(given: Given, resolved: &Resolved, skipped: &BTreeSet<Address>) -> Claimed {
    let (desired, actual) = (given.desired, given.actual);
    let gone_sections = gone(given);
    let declared = desired.entries.values().flatten();
    let referenced: BTreeSet<&str> = declared.flat_map(Resource::references).collect();
    let mut notices = issued_twins(desired, actual, &referenced);
    notices.extend(issued_renames(given));
    notices.extend(said_less::said_less(given));
    let of_sections = gone_sections.iter().cloned();
    notices.extend(of_sections.map(|gone| Notice::general(OfRun::SectionGone(gone))));
    let stands = given.binding.stands.values().flatten().flatten();
    let mut claims = Claims {
        given,
        stands: stands.collect(),
        referenced,
        claimed: Claimed {
            notices,
            gone_sections,
            ..Claimed::default()
        },
    };
    for (address, live) in actual.each().filter(|(at, _)| at.kind.goes_with_entry()) {
        let is_key = address.kind == Kind::SetupKey;
        let is_decided = is_key && resolved.decisions.contains_key(&live.name);
        let can_stand =
            claims.stands.contains(&live.id) || given.binding.unclear.contains(&live.id);
        // nothing is done about it, so none of its objects is one too many
        let surplus = given.binding.surplus.get(&live.id);
        let is_skipped = surplus.is_some_and(|(entry, _)| skipped.contains(entry));
        if !is_decided && !can_stand && !is_skipped {
            claims.undeclared(address, live);
        }
    }
    claims.claimed.let_go.sort();
    claims.claimed
}

/// Returns whether the file manages what has such an address: with the entry of a parent goes what is said of it.
pub(super) fn is_managed(desired: &Desired, address: &Address) -> bool {
    match address.parent() {
        Some(parent) if !desired.declares(&parent) && desired.manages(parent.kind) => true,
        Some(_) => desired.manages_in(address.kind, address.within.as_deref()),
        None => desired.manages(address.kind),
    }
}

/// Which group a name of the file means where an identity provider made one of that name too.
fn issued_twins(desired: &Desired, actual: &Actual, referenced: &BTreeSet<&str>) -> Vec<Notice> {
    let notice = |(id, issued): (&Id, &String)| {
        let (_, twin) = actual.live(id)?;
        let address = Address::new(Kind::Group, &twin.name);
        let is_named = desired.declares(&address) || referenced.contains(twin.name.as_str());
        let what = OfObject::IssuedTwin {
            id: id.clone(),
            issued: issued.clone(),
        };
        is_named.then(|| Notice::about(&address, what))
    };
    actual.twins.iter().filter_map(notice).collect()
}

/// Which entries are to be renamed from a group of an identity provider: that one keeps its name, and theirs is created.
fn issued_renames(given: Given) -> Vec<Notice> {
    let (desired, actual, binding) = (given.desired, given.actual, given.binding);
    let is_made = |at: &Address| binding.stands.get(at).is_some_and(|ids| *ids == [None]);
    let renames = desired.renamed_from.iter();
    let renames = renames.filter(|(at, _)| at.kind == Kind::Group && is_made(at));
    let notice = |(address, old): (&Address, &String)| {
        let named = actual.named(Kind::Group, old).iter();
        let mut why = named.filter_map(|live| actual.protected_groups.get(&live.id));
        let Protection::Issued(issued) = why.next()? else {
            return None;
        };
        let (old, issued) = (old.clone(), issued.clone());
        Some(Notice::about(address, OfObject::NotRenamed { old, issued }))
    };
    renames.filter_map(notice).collect()
}

/// The claims, as they are made.
struct Claims<'a> {
    given: Given<'a>,
    /// Objects that entries stand for.
    stands: FxHashSet<&'a Id>,
    /// Groups that the file refers to.
    referenced: BTreeSet<&'a str>,
    claimed: Claimed,
}

impl<'a> Claims<'a> {
    /// An object that no entry stands for.
    fn undeclared(&mut self, address: &Address, live: &'a Live) {
        let actual = self.given.actual;
        let is_all =
            live.name == crate::model::kind::ALL && is_protected(address.kind, live, actual);
        let fate = self.fate(address, live);
        let claimed = &mut self.claimed;
        match fate {
            Fate::Goes(why) => claimed.pruned.push(Change::deletion(address, live, why)),
            Fate::LetGo(let_go) => claimed.let_go.push(let_go),
            // of keys only those that can still be used are worth a word
            Fate::Unmanaged if !is_all && !actual.is_dead_key(live) => {
                let ours = &self.given.options.ours;
                let was_ours = ours.inventory.let_go_of(&live.id).is_some();
                let Some(file) = ours.strange.get(&live.id) else {
                    claimed.unmanaged.insert(address.clone());
                    return;
                };
                if was_ours {
                    let (id, file) = (live.id.clone(), file.clone());
                    let what = OfObject::Strange { id, file };
                    claimed.notices.push(Notice::about(address, what));
                }
                claimed.elsewhere.insert(address.clone(), file.clone());
            }
            Fate::Unmanaged | Fate::Nothing => {}
        }
    }

    /// What becomes of an object that no entry stands for.
    fn fate(&self, address: &Address, live: &Live) -> Fate {
        let (desired, actual, binding, options) = self.given.parts();
        let (id, prune, ours) = (&live.id, options.prune, &options.ours);
        let parent = address.parent();
        let is_inside = parent.is_some_and(|parent| !desired.declares(&parent));
        let is_managed = is_managed(desired, address);
        if ours.may_be_strange(id) || is_protected(address.kind, live, actual) {
            return match is_managed {
                true => Fate::Unmanaged,
                false => Fate::Nothing,
            };
        }
        let let_go = |name: &str, key: &str, why, left_by| {
            Fate::LetGo(LetGo {
                address: Address {
                    name: name.to_owned(),
                    ..address.clone()
                },
                id: id.clone(),
                key: key.to_owned(),
                why,
                left_by,
            })
        };
        let name = &address.name;
        if let Some((entry, origin)) = binding.surplus.get(id) {
            return match (prune, origin) {
                (Prune::None, _) => Fate::Unmanaged,
                (Prune::Owned, RecordedAs::Adopted) => {
                    let_go(name, &entry.key(), LetGoWhy::Adopted, LeftBy::Unknown)
                }
                _ => Fate::Goes(self.too_many(entry, live)),
            };
        }
        // what a run made in an object of which there are too many
        let of = live.within.as_ref().and_then(|of| binding.surplus.get(of));
        let is_of_created = of.is_some_and(|(_, origin)| *origin == RecordedAs::Created);
        if is_of_created && prune != Prune::None && ours.is_made(id) {
            return Fate::Goes(Reason::NoLongerDeclared { agreed: false });
        }
        let agreed = options.release.contains(id);
        let is_agreed = agreed || prune == Prune::All;
        let goes = Fate::Goes(Reason::NoLongerDeclared { agreed });
        if let Some(left) = binding.leaving.get(id) {
            let cause = || LeftBy::from(rows::removal(&left.key, &ours.versions));
            return match left.is_renamed {
                _ if !left.is_managed => Fate::Nothing,
                _ if prune == Prune::None => Fate::Unmanaged,
                _ if is_agreed || left.is_created_as_named() => goes,
                false => let_go(name, &left.key, LetGoWhy::Adopted, cause()),
                true => {
                    // a reader knows it by the name that its entry had
                    let entry = Address::of_key(&left.key);
                    let name = entry.map_or_else(|| name.clone(), |entry| entry.name);
                    let why = LetGoWhy::Renamed(live.name.clone());
                    let_go(&name, &left.key, why, cause())
                }
            };
        }
        let was_let_go = ours.inventory.let_go_of(id);
        // what the file refers to and never declared is somebody else's, whatever the flags
        let is_referenced = address.kind == Kind::Group && self.referenced.contains(&*live.name);
        let is_known = ours.standing != Standing::Unknown;
        match (was_let_go, prune) {
            _ if !is_managed => Fate::Nothing,
            (Some(_), _) if is_agreed => goes,
            (Some((key, left)), _) => {
                let left_by = left.cause.clone();
                let left_by = left_by.map_or(LeftBy::Unknown, LeftBy::Recorded);
                let_go(name, key, LetGoWhy::Before, left_by)
            }
            (None, Prune::All) if is_known && !is_referenced => Fate::Goes(Reason::NotDeclared),
            // it is told with what it stands in
            _ if is_inside => Fate::Nothing,
            _ => Fate::Unmanaged,
        }
    }

    /// Why an object goes that an entry has too many. Of equal ones nobody misses one, whoever is in a group; else the entry
    /// had more objects before.
    fn too_many(&self, entry: &Address, live: &Live) -> Reason {
        // what refers to the second one of a group is as one that refers to the first
        let groups = &self.given.actual.groups;
        let seconds = self.given.binding.surplus.iter();
        let seconds = seconds.map(|(id, (of, _))| (groups.name(id), of.name.as_str()));
        let seconds: BTreeMap<String, &str> = seconds.collect();
        let as_first = |live: &Live| {
            let mut fields = Value::Object(live.resource.fields());
            rename(&mut fields, &seconds);
            fields
        };
        let own = as_first(live);
        let is_equal = |other: &Live| entry.kind == Kind::Group || as_first(other) == own;
        let stand = self.given.binding.stands.get(entry).into_iter().flatten();
        let mut stand = stand.flatten().filter_map(|id| self.given.actual.live(id));
        match stand.any(|(_, other)| is_equal(other)) {
            true => Reason::Surplus,
            false => Reason::NoLongerDeclared { agreed: false },
        }
    }
}

/// Puts other names in the place of these, in whatever a field has. Lists are sorted then: most of them are sets.
fn rename(value: &mut Value, names: &BTreeMap<String, &str>) {
    match value {
        Value::String(text) => {
            if let Some(name) = names.get(text) {
                (*name).clone_into(text);
            }
        }
        Value::Array(all) => {
            all.iter_mut().for_each(|one| rename(one, names));
            all.sort_by_cached_key(Value::to_string);
        }
        Value::Object(fields) => fields.values_mut().for_each(|one| rename(one, names)),
        _ => {}
    }
}

/// What becomes of an object.
enum Fate {
    /// It goes.
    Goes(Reason),
    /// It is let go.
    LetGo(LetGo),
    /// It is left alone.
    Unmanaged,
    /// The file says nothing of such objects.
    Nothing,
}

#[cfg(test)]
mod tests;
