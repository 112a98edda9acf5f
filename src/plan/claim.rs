//! What of the live account is ours to touch: what stands for a declared entry, what is pruned, what is unmanaged.
//!
//! It runs before the diff, so that the diff needs no flags. The proof of what is ours is the file's git history beside
//! the creation time in an object's id: docs/ownership.md. What is decided about setup keys is claimed as it is.

mod sections;

use std::collections::{BTreeMap, BTreeSet};

use sections::gone;

use super::Given;
use super::resolve::Resolved;
use super::standing::{self, Standing, is_protected};
use super::twins::are_twins;
use crate::actual::Actual;
use crate::address::Address;
use crate::change::Change;
use crate::desired::Desired;
use crate::held::{Held, Why};
use crate::id::Id;
use crate::keys::Decisions;
use crate::kind::{Kind, Live, Resource};
use crate::ledger::Ledger;
use crate::notice::{Gone, Notice, OfObject, OfRun};
use crate::options::Prune;
use crate::problem::{Impossible, Problem};
use crate::reason::Reason;

/// The result: live objects by what is to become of them.
#[derive(Debug, Default)]
pub(super) struct Claimed<'a> {
    /// The live object of each declared one, but for setup keys: as many as the entry has, in its order.
    pub(super) managed: BTreeMap<Address, Vec<Option<&'a Live>>>,
    /// Entries that stand for several objects.
    pub(super) ambiguous: BTreeSet<Address>,
    /// What goes.
    pub(super) pruned: Vec<Change>,
    /// Was declared once and stays all the same.
    pub(super) held: Vec<Held>,
    /// Beside the file, of the kinds that it manages.
    pub(super) unmanaged: BTreeSet<Address>,
    /// Sections that the file no longer has.
    pub(super) gone_sections: Vec<Gone>,
    /// What a reader should know.
    pub(super) notices: Vec<Notice>,
    /// Names that stand for several objects.
    pub(super) problems: Vec<Problem>,
}

impl<'a> Claimed<'a> {
    /// Returns the live object that an entry stands for, where it can stand for one only.
    fn one(&self, address: &Address) -> Option<&'a Live> {
        *self.managed.get(address)?.first()?
    }

    /// Returns whether an entry of that address stands for this object.
    pub(super) fn manages(&self, address: &Address, live: &Live) -> bool {
        let all = self.managed.get(address).into_iter().flatten();
        all.flatten().any(|meant| meant.id == live.id)
    }

    /// Returns the live objects that others of the file stand in, by address.
    pub(super) fn parents(&self) -> BTreeMap<Address, Id> {
        let parents = self.managed.keys();
        let parents = parents.filter(|address| address.kind.children().next().is_some());
        let parents = parents.filter_map(|at| Some((at.clone(), self.one(at)?.id.clone())));
        parents.collect()
    }
}

/// Sorts the live objects of every kind.
pub(super) fn claim<'a>(given: Given<'a>, resolved: &Resolved) -> Claimed<'a> {
    let (desired, actual) = (given.desired, given.actual);
    let referenced = references(desired);
    let gone_sections = gone(given);
    let mut notices = issued_twins(desired, actual, &referenced);
    let of_sections = gone_sections.iter().cloned();
    notices.extend(of_sections.map(|gone| Notice::general(OfRun::SectionGone(gone))));
    let mut claims = Claims {
        given,
        moves: moves(given),
        claimed: Claimed {
            notices,
            gone_sections,
            ..Claimed::default()
        },
    };
    claims.keys(&resolved.decisions);
    for (address, namesakes) in &actual.objects {
        // what moves stands for its entry, wherever it is
        let home = |live: &'a Live| Some((claims.moves.get(&live.id)?.clone(), vec![Some(live)]));
        let moving: Vec<_> = namesakes.iter().filter_map(home).collect();
        if !moving.is_empty() {
            claims.claimed.managed.extend(moving);
            continue;
        }
        // what stands in an object that no entry stands for was looked at with that one
        let namesakes = match address.parent() {
            None => namesakes.as_slice(),
            Some(parent) => inside(namesakes, claims.claimed.one(&parent)),
        };
        if namesakes.is_empty() {
            continue;
        }
        let is_several = address.kind.descriptor().special.is_several;
        match resolved.resources.get(address).map(Vec::as_slice) {
            Some([one]) if !is_several => claims.one(address, one, namesakes),
            Some(several) => {
                let waits = resolved.waiting.contains(address);
                claims.several(address, several, namesakes, waits);
            }
            None if desired.declares(address) => {}
            None if !desired.manages_in(address.kind, address.within.as_deref()) => {}
            None => {
                let is_group = address.kind == Kind::Group;
                let is_referenced = is_group && referenced.contains(&address.name);
                let standings = standing::standings(given, address, namesakes);
                for (live, standing) in namesakes.iter().zip(standings) {
                    claims.undeclared((address, live), standing, is_referenced);
                }
            }
        }
    }
    claims.claimed
}

/// Returns the live objects that the file has in another object than they stand in, and where it has them: each name is
/// unique in the account. One that is not ours moves only from where the file says what is there, or with `--prune all`.
fn moves(given: Given) -> BTreeMap<Id, Address> {
    let desired = given.desired;
    let is_anywhere = |address: &Address| address.kind.descriptor().special.is_anywhere;
    let entries = desired.entries.keys().filter(|at| is_anywhere(at));
    let homes: BTreeMap<(Kind, &str), &Address> = entries
        .map(|at| ((at.kind, at.name.as_str()), at))
        .collect();
    let all = given.actual.each().filter(|(at, _)| is_anywhere(at));
    let moved = all.filter_map(|(at, live)| {
        let home = *homes.get(&(at.kind, at.name.as_str()))?;
        let is_said = at.parent().is_some_and(|parent| desired.declares(&parent));
        // where all else goes, it would be deleted and made again
        let may = is_said || given.options.prune == Prune::All || given.made(at, live);
        (home != at && may).then(|| (live.id.clone(), home.clone()))
    });
    moved.collect()
}

/// Returns those of the namesakes that stand in this object.
fn inside<'a>(namesakes: &'a [Live], parent: Option<&Live>) -> &'a [Live] {
    let is_inside = |live: &Live| parent.is_some_and(|at| live.within.as_ref() == Some(&at.id));
    let from = namesakes
        .iter()
        .position(is_inside)
        .unwrap_or(namesakes.len());
    let rest = &namesakes[from..];
    let end = rest.iter().position(|live| !is_inside(live));
    &rest[..end.unwrap_or(rest.len())]
}

/// Returns the names of all groups that the file refers to.
fn references(desired: &Desired) -> BTreeSet<String> {
    let auto = desired
        .setup_keys()
        .flat_map(|(_, key)| key.auto_groups.iter().flatten());
    let rest = desired.resources();
    let rest = rest.flat_map(|(_, all)| all).flat_map(Resource::references);
    auto.cloned().chain(rest.map(str::to_owned)).collect()
}

/// Which group a name of the file means where an identity provider made one of that name too.
fn issued_twins(desired: &Desired, actual: &Actual, referenced: &BTreeSet<String>) -> Vec<Notice> {
    let notice = |(id, issued): (&Id, &String)| {
        let (_, twin) = actual.each().find(|(_, live)| live.id == *id)?;
        let address = Address::new(Kind::Group, &twin.name);
        let is_named = desired.declares(&address) || referenced.contains(&twin.name);
        let what = OfObject::IssuedTwin {
            id: id.clone(),
            issued: issued.clone(),
        };
        is_named.then(|| Notice::about(&address, what))
    };
    actual.twins.iter().filter_map(notice).collect()
}

/// The claims, as they are made.
struct Claims<'a> {
    given: Given<'a>,
    /// What moves to another object, and where to.
    moves: BTreeMap<Id, Address>,
    claimed: Claimed<'a>,
}

impl<'a> Claims<'a> {
    /// What is decided about the setup keys, but for what differs.
    fn keys(&mut self, decisions: &Decisions) {
        for (name, decision) in decisions {
            let address = Address::new(Kind::SetupKey, name);
            if decision.takes_over {
                self.takes_over(&address, OfObject::TakesOverKey);
            }
            let claimed = &mut self.claimed;
            claimed.notices.extend(decision.notices.iter().cloned());
            if !decision.ambiguous.is_empty() {
                let problem = ambiguous(&address, &decision.ambiguous);
                claimed.problems.push(problem);
            }
            let going = decision.deletions.iter();
            let going = going.map(|(live, why)| Change::deletion(&address, live, why.clone()));
            claimed.pruned.extend(going);
        }
    }

    /// Says that an entry stands for what is older than it, where the entry is new.
    fn takes_over(&mut self, address: &Address, what: OfObject) {
        if is_new(&self.given.options.ledger, address) {
            self.claimed.notices.push(Notice::about(address, what));
        }
    }

    /// Namesakes of an entry that has several objects: those that they stand for, and the others. `waits`: one of them has
    /// to wait, and could stand for any that is left.
    fn several(
        &mut self,
        address: &Address,
        wanted: &[Resource],
        namesakes: &'a [Live],
        waits: bool,
    ) {
        let given = self.given;
        let assigned = standing::assign(given, address, wanted, namesakes, waits);
        let standings = standing::standings(given, address, namesakes);
        let (mut beside, mut takes_over) = (Vec::new(), false);
        for (index, (live, standing)) in namesakes.iter().zip(standings).enumerate() {
            match standing {
                _ if assigned.contains(&Some(index)) => takes_over |= !given.made(address, live),
                Standing::Theirs | Standing::Unproved => beside.push(live),
                standing if let Some(meant) = twin_of(live, &assigned, namesakes) => match standing
                {
                    Standing::Ours => self.second(address, meant, live),
                    _ => beside.push(live),
                },
                _ if waits => {}
                _ => self.undeclared((address, live), standing, false),
            }
        }
        self.beside(address, &beside);
        if takes_over {
            self.takes_over(address, OfObject::TakesOver);
        }
        let live = |index: Option<usize>| Some(&namesakes[index?]);
        let managed = assigned.into_iter().map(live).collect();
        self.claimed.managed.insert(address.clone(), managed);
    }

    /// An object that connects the same as the one that is meant, and was made by us too: two runs at once did it.
    fn second(&mut self, address: &Address, meant: &Live, live: &'a Live) {
        let are_equal = meant.resource == live.resource;
        let claimed = &mut self.claimed;
        if are_equal && are_twins(self.given, address, &[meant, live]) {
            let change = Change::deletion(address, live, Reason::Second);
            claimed.pruned.push(change);
        } else {
            claimed.problems.push(ambiguous(address, [meant, live]));
            claimed.ambiguous.insert(address.clone());
        }
    }

    /// Namesakes of an entry that has one object: the one that it stands for, and the others.
    fn one(&mut self, address: &Address, desired: &Resource, namesakes: &'a [Live]) {
        let given = self.given;
        let indices = standing::claim(given, address, desired, namesakes);
        let (these, others): (Vec<(usize, &Live)>, _) = namesakes
            .iter()
            .enumerate()
            .partition(|(index, _)| indices.contains(index));
        let others: Vec<&Live> = others.into_iter().map(|(_, live)| live).collect();
        self.beside(address, &others);
        let these: Vec<&Live> = these.into_iter().map(|(_, live)| live).collect();
        let [oldest, later @ ..] = &these[..] else {
            return;
        };
        // two runs at once make the same object twice, in what the file leaves open too; who came into a group since is no
        // difference, since members move
        let copies = |live: &&'a Live| match live.resource == oldest.resource {
            true => self.copies_inside(oldest, live),
            false => (address.kind == Kind::Group).then(Vec::new),
        };
        let copies: Option<Vec<Vec<Change>>> = later.iter().map(copies).collect();
        let one_is_meant =
            later.is_empty() || (are_twins(given, address, &these) && copies.is_some());
        if !one_is_meant {
            let problem = ambiguous(address, these.iter().copied());
            self.claimed.problems.push(problem);
            self.claimed.ambiguous.insert(address.clone());
            return;
        }
        if !given.made(address, oldest) && !address.kind.is_one() {
            self.takes_over(address, OfObject::TakesOver);
        }
        let claimed = &mut self.claimed;
        let managed = vec![Some(*oldest)];
        claimed.managed.insert(address.clone(), managed);
        // a group goes once everything has moved: `plan::twins`
        let surplus = later.iter().filter(|_| address.kind != Kind::Group);
        let surplus = surplus.map(|live| Change::deletion(address, live, Reason::Second));
        let copies = copies.into_iter().flatten().flatten();
        claimed.pruned.extend(copies.chain(surplus));
    }

    /// The deletions of what stands in the second of two equal objects; `None` if something stands in it alone.
    fn copies_inside(&self, first: &Live, second: &'a Live) -> Option<Vec<Change>> {
        let given = self.given;
        let actual = given.actual;
        let has_children = second.resource.kind().children().next().is_some();
        let inside = has_children.then(|| actual.children(second));
        let copy = |(address, live): (&Address, &'a Live)| {
            let is_equal = |(_, other): &(&Address, &Live)| other.resource == live.resource;
            let (_, meant) = actual.children(first).find(is_equal)?;
            let are_twins = are_twins(given, address, &[meant, live]);
            are_twins.then(|| Change::deletion(address, live, Reason::Second))
        };
        inside.into_iter().flatten().map(copy).collect()
    }

    /// Namesakes of a declared entry that the entry does not stand for.
    fn beside(&mut self, address: &Address, others: &[&Live]) {
        let (actual, options) = (self.given.actual, self.given.options);
        let goes = |live: &&&Live| {
            options.prune == Prune::All && !is_protected(address.kind, live, actual)
        };
        let (pruned, left): (Vec<&Live>, Vec<&Live>) = others.iter().partition(goes);
        let claimed = &mut self.claimed;
        let goes = |live| Change::deletion(address, live, Reason::NotDeclared);
        claimed.pruned.extend(pruned.into_iter().map(goes));
        if left.is_empty() {
            return;
        }
        let left = left.iter();
        let left = left.map(|live| (live.id.clone(), live.resource.form_in_words()));
        let what = OfObject::Namesakes(left.collect());
        claimed.notices.push(Notice::about(address, what));
        claimed.unmanaged.insert(address.clone());
    }

    /// An object that no entry stands for, with what stands in it.
    fn undeclared(
        &mut self,
        (address, live): (&Address, &Live),
        standing: Standing,
        is_referenced: bool,
    ) {
        let actual = self.given.actual;
        let staying = self.inside(live);
        let fate = match self.fate((address, live), standing, is_referenced) {
            // what stands in it would go with it, whoever made that
            Fate::Goes(_) if !staying.is_empty() => Fate::Held(Why::Holds(staying)),
            fate => fate,
        };
        let is_all = live.name == crate::kind::ALL && is_protected(address.kind, live, actual);
        // of keys only those that can still be used are worth a word
        let is_dead_key = actual.keys.get(&live.id).is_some_and(|key| !key.valid);
        if matches!(fate, Fate::Unmanaged) && !is_all && !is_dead_key {
            self.claimed.unmanaged.insert(address.clone());
        }
        self.note(address, live, fate);
    }

    /// Notes what becomes of an object.
    fn note(&mut self, address: &Address, live: &Live, fate: Fate) {
        let claimed = &mut self.claimed;
        match fate {
            Fate::Goes(why) => claimed.pruned.push(Change::deletion(address, live, why)),
            Fate::Held(why) => claimed.held.push(Held::new(address, live, why)),
            Fate::Unmanaged => {}
        }
    }

    /// What stands in an object that no entry stands for: what of it is ours goes. Returns what stays, in words.
    fn inside(&mut self, parent: &Live) -> BTreeSet<String> {
        let actual = self.given.actual;
        if parent.resource.kind().children().next().is_none() {
            return BTreeSet::new();
        }
        let mut staying = BTreeSet::new();
        for (address, live) in actual.children(parent) {
            if self.moves.contains_key(&live.id) {
                continue;
            }
            let standing = standing::standing(self.given, address, live);
            let fate = self.fate((address, live), standing, false);
            if !matches!(fate, Fate::Goes(_)) {
                staying.insert(format!("{} ({})", address.quoted(), live.id));
            }
            self.note(address, live, fate);
        }
        staying
    }

    /// What becomes of an object that no entry stands for, by itself.
    fn fate(
        &self,
        (address, live): (&Address, &Live),
        standing: Standing,
        is_referenced: bool,
    ) -> Fate {
        let (actual, options) = (self.given.actual, self.given.options);
        if is_protected(address.kind, live, actual) {
            return Fate::Unmanaged;
        }
        let why = match standing {
            Standing::Older => Some(Why::Older),
            Standing::Newer => Some(Why::Newer),
            Standing::Changed => Some(Why::Changed),
            Standing::Undated => Some(Why::Undated),
            Standing::Ours | Standing::Theirs | Standing::Unproved => None,
        };
        match (options.prune, standing, why) {
            (Prune::Owned | Prune::All, Standing::Ours, _) => {
                Fate::Goes(Reason::NoLongerDeclared { agreed: false })
            }
            // what the file refers to and never declared is somebody else's, whatever the flags
            (Prune::All, ..) if is_referenced => Fate::Unmanaged,
            (Prune::All, ..) => Fate::Goes(Reason::NotDeclared),
            (Prune::Owned, _, Some(_)) if options.release.contains(&live.id) => {
                Fate::Goes(Reason::NoLongerDeclared { agreed: true })
            }
            (Prune::Owned, _, Some(why)) => Fate::Held(why),
            (Prune::Owned, _, None) | (Prune::None, ..) => Fate::Unmanaged,
        }
    }
}

/// Returns the object that stands for one of an entry's and connects the same as this one.
fn twin_of<'a>(live: &Live, assigned: &[Option<usize>], namesakes: &'a [Live]) -> Option<&'a Live> {
    let form = live.resource.form();
    let mut meant = assigned.iter().flatten().map(|at| &namesakes[*at]);
    meant.find(|meant| !form.ties.is_empty() && meant.resource.form().ties == form.ties)
}

/// What becomes of an object.
enum Fate {
    /// It goes.
    Goes(Reason),
    /// It was ours once and stays.
    Held(Why),
    /// It is left alone.
    Unmanaged,
}

/// Whether the newest version of the file, or the working file alone, is the first that declares the entry.
fn is_new(ledger: &Ledger, address: &Address) -> bool {
    let newest = ledger.commits().last().map(|commit| commit.begins);
    let spans = ledger.spans(address);
    ledger.is_known()
        && match spans.as_slice() {
            [] => !ledger.was_declared(address),
            [only] => only.to.is_none() && Some(only.from) == newest,
            _ => false,
        }
}

/// The problem of a declared name that stands for several live objects.
fn ambiguous<'a>(address: &Address, namesakes: impl IntoIterator<Item = &'a Live>) -> Problem {
    let ids = namesakes.into_iter().map(|live| live.id.clone());
    Problem::new(address, Impossible::Ambiguous(ids.collect()))
}

#[cfg(test)]
mod tests;
