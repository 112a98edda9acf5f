//! A model of runs that disturb each other: every order of the steps of two applies, each of which can be killed at any step,
//! with what people do in the dashboard between them.
//!
//! The steps are those of an apply: it reads the inventory, then the lists; writes what it adopts; makes what is missing;
//! reads the inventory and the lists again and deletes; writes the rest. What holds afterwards: no object went that no run
//! made or adopted; an undisturbed apply brings the account to the file, and a second one does nothing; and once the entry is
//! gone, nothing is left that a run made.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::{
    Adoption, Delta, Entry, Inventory, Leaving, Match, Object, Origin, Scene, match_objects,
};
use crate::base::id::Id;

const NAME: &str = "x";
const KEY: &str = "groups/x";

/// What people do in the dashboard.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Hand {
    /// They make an object of the entry's name.
    Makes,
    /// They give the oldest object of the name another one.
    Renames,
    /// They delete the newest object of the name.
    Deletes,
}

#[derive(Debug, Clone, Default)]
struct World {
    /// The objects and their names, the oldest first.
    objects: BTreeMap<Id, String>,
    inventory: Option<Inventory>,
    /// What runs made: the event log says so.
    made: BTreeSet<Id>,
    /// What runs deleted and nobody had made or adopted.
    wrong: Vec<Id>,
    /// What was ever recorded.
    known: BTreeSet<Id>,
    next: u32,
    /// How often something was written.
    writes: usize,
}

impl World {
    fn make(&mut self, name: &str) -> Id {
        self.next += 1;
        let id = Id::from(format!("{:04}", self.next).as_str());
        self.objects.insert(id.clone(), name.to_owned());
        id
    }

    fn by_hand(&mut self, hand: Hand) {
        let named = || self.objects.iter().filter(|(_, name)| *name == NAME);
        let (first, last) = (named().next(), named().next_back());
        let (first, last) = (
            first.map(|(id, _)| id.clone()),
            last.map(|(id, _)| id.clone()),
        );
        match hand {
            Hand::Makes => drop(self.make(NAME)),
            Hand::Renames => {
                first.map(|id| self.objects.insert(id, "other".to_owned()));
            }
            Hand::Deletes => {
                last.map(|id| self.objects.remove(&id));
            }
        }
    }

    /// Puts a delta onto the newest inventory; whether there is one.
    fn record(&mut self, delta: &Delta, may_begin: bool) -> bool {
        let newest = match &self.inventory {
            Some(newest) => newest.clone(),
            None if may_begin => Inventory::new("account", "netbird.json"),
            None => return false,
        };
        let next = delta.onto(&newest);
        self.known.extend(next.ids().into_iter().cloned());
        if self.inventory.as_ref() != Some(&next) {
            self.inventory = Some(next);
            self.writes += 1;
        }
        true
    }

    fn delete(&mut self, id: &Id) {
        if self.objects.remove(id).is_some() {
            self.writes += 1;
            if !self.made.contains(id) && !self.known.contains(id) {
                self.wrong.push(id.clone());
            }
        }
    }
}

/// An apply of a file that has the entry or not.
#[derive(Debug, Clone)]
struct Run {
    has_entry: bool,
    step: usize,
    read: Option<Inventory>,
    matched: Match,
    leaving: Vec<Leaving>,
    /// Recorded objects that the lists lack.
    dead: BTreeSet<Id>,
    created: Option<Id>,
    deleted: BTreeSet<Id>,
}

/// How many steps an apply has.
const STEPS: usize = 6;

impl Run {
    fn of(has_entry: bool) -> Run {
        Run {
            has_entry,
            step: 0,
            read: None,
            matched: Match::default(),
            leaving: Vec::new(),
            dead: BTreeSet::new(),
            created: None,
            deleted: BTreeSet::new(),
        }
    }

    fn step(&mut self, world: &mut World) {
        match self.step {
            0 => self.read.clone_from(&world.inventory),
            1 => self.plan(world),
            2 => self.adopt(world),
            3 => self.make(world),
            4 => self.delete(world),
            _ => self.write_down(world),
        }
        self.step += 1;
    }

    fn all(mut self, world: &mut World) {
        while self.step < STEPS {
            self.step(world);
        }
    }

    fn plan(&mut self, world: &World) {
        let inventory = self.read.clone().unwrap_or_default();
        let dead = inventory.ids().into_iter();
        let dead = dead.filter(|id| !world.objects.contains_key(*id));
        self.dead = dead.cloned().collect();
        let key = |id: &Id| inventory.origin(id).map(|origin| (NAME, origin));
        let objects = world.objects.iter().map(|(id, name)| {
            let is_made = world.made.contains(id) && !inventory.is_let_go(id);
            // without the entry, what a killed run left counts as created
            let left_over = !self.has_entry && self.read.is_some() && is_made && name == NAME;
            Object {
                id,
                name,
                recorded: key(id).or(left_over.then_some((NAME, Origin::Created))),
                is_made,
                is_strange: false,
            }
        });
        let entry = Entry {
            name: NAME,
            old: None,
            number: 1,
            asked: None,
        };
        let scene = Scene {
            entries: self.has_entry.then_some(entry).into_iter().collect(),
            objects: objects.collect(),
            unlike: &|_, _, _| Some(0),
            is_fixed: &|_, _, _| false,
            is_several: false,
            adopts: true,
            trusts_log: self.read.is_some(),
        };
        let (matches, leaving) = match_objects(&scene);
        self.matched = matches.into_iter().next().unwrap_or_default();
        self.leaving = leaving;
    }

    fn adopt(&mut self, world: &mut World) {
        let adopted = self.matched.adopted.iter().map(|(id, origin)| Adoption {
            key: KEY.to_owned(),
            id: id.clone(),
            origin: *origin,
            room: 1,
        });
        let delta = Delta {
            adopted: adopted.collect(),
            dead: self.dead.clone(),
            ..Delta::default()
        };
        world.record(&delta, true);
    }

    fn make(&mut self, world: &mut World) {
        if self.matched.stands.iter().any(Option::is_none) {
            let id = world.make(NAME);
            world.made.insert(id.clone());
            world.writes += 1;
            self.created = Some(id);
        }
        // what somebody renamed gets its name back, where nobody else has it
        let is_free = !world.objects.values().any(|name| name == NAME);
        for id in self.matched.stands.iter().flatten().filter(|_| is_free) {
            if let Some(name) = world.objects.get_mut(id) {
                NAME.clone_into(name);
                world.writes += 1;
            }
        }
    }

    /// What leaves and is deleted, and what is let go.
    fn delete(&mut self, world: &mut World) {
        let newest = world.inventory.clone().unwrap_or_default();
        let read = self.read.clone().unwrap_or_default();
        let leaving = self
            .leaving
            .iter()
            .filter(|left| goes(left))
            .map(|left| &left.id);
        let stands = self.matched.stands.iter().flatten();
        let lives = stands.clone().all(|id| world.objects.contains_key(id));
        let surplus = self
            .matched
            .surplus
            .iter()
            .filter(|(_, origin)| *origin == Origin::Created);
        let surplus = surplus.map(|(id, _)| id).filter(|_| lives);
        let going: Vec<Id> = leaving.chain(surplus).cloned().collect();
        for id in going {
            // planned as recorded: still so; planned by the log's proof: nobody has it since
            if newest.origin(&id).is_some() == read.origin(&id).is_some() {
                world.delete(&id);
                self.deleted.insert(id);
            }
        }
    }

    fn write_down(&mut self, world: &mut World) {
        let let_go = self.leaving.iter().filter(|left| !goes(left));
        let delta = Delta {
            created: self
                .created
                .iter()
                .map(|id| (KEY.to_owned(), id.clone()))
                .collect(),
            dead: &self.dead | &self.deleted,
            let_go: let_go
                .map(|left| (KEY.to_owned(), left.id.clone(), None))
                .collect(),
            ..Delta::default()
        };
        world.record(&delta, false);
    }
}

/// Whether what no entry stands for is deleted.
fn goes(left: &Leaving) -> bool {
    left.origin == Origin::Created && !left.is_renamed
}

/// Looks at what a history of steps left.
fn check(mut world: World, history: &dyn fmt::Debug) {
    assert_eq!(world.wrong, [], "went and was nobody's: {history:?}");
    Run::of(true).all(&mut world);
    let before = world.writes;
    let (objects, inventory) = (world.objects.clone(), world.inventory.clone());
    Run::of(true).all(&mut world);
    // what two runs made at once the first of these deletes
    assert_eq!(
        world.objects, objects,
        "a second apply changed something: {history:?}"
    );
    assert_eq!(world.inventory, inventory, "{history:?}");
    assert_eq!(world.writes, before, "{history:?}");
    let named = world.objects.iter().filter(|(_, name)| *name == NAME);
    assert!(named.count() >= 1, "the entry has no object: {history:?}");
    Run::of(false).all(&mut world);
    let left = world.objects.iter();
    let left = left.filter(|(id, name)| world.made.contains(*id) && *name == NAME);
    let inventory = world.inventory.clone().unwrap_or_default();
    let left: Vec<_> = left.filter(|(id, _)| !inventory.is_let_go(id)).collect();
    assert_eq!(left, [], "ours and beyond deletion: {history:?}");
    assert_eq!(world.wrong, [], "went and was nobody's: {history:?}");
    // the entry comes back, and then what was let go gets the entry's name
    let let_go = world.objects.keys().filter(|id| inventory.is_let_go(id));
    let let_go: Vec<Id> = let_go.cloned().collect();
    Run::of(true).all(&mut world);
    for id in &let_go {
        world.objects.insert(id.clone(), NAME.to_owned());
    }
    Run::of(true).all(&mut world);
    let lives = |id: &Id| world.objects.contains_key(id);
    assert!(let_go.iter().all(lives), "let go and deleted: {history:?}");
}

/// Takes the steps in the order of the bits, of each run up to the step at which it is killed, with one disturbance.
fn play(
    order: u32,
    files: [bool; 2],
    killed: [usize; 2],
    hand: Option<(usize, Hand)>,
    known: bool,
) {
    let mut world = World::default();
    if known {
        Run::of(true).all(&mut world);
    }
    let mut runs = files.map(Run::of);
    for at in 0..2 * STEPS {
        if let Some((_, hand)) = hand.filter(|(when, _)| *when == at) {
            world.by_hand(hand);
        }
        let which = usize::from(order >> at & 1 == 1);
        if runs[which].step < killed[which] {
            runs[which].step(&mut world);
        }
    }
    check(world, &(order, files, killed, hand, known));
}

/// Every order of the steps of two runs; of runs of one file that by which the first begins is enough.
fn orders(files: [bool; 2]) -> impl Iterator<Item = u32> {
    let all = 0..1_u32 << (2 * STEPS);
    let are_equal = files[0] == files[1];
    let is_other = move |order: &u32| !are_equal || order & 1 == 0;
    all.filter(|order| order.count_ones() as usize == STEPS)
        .filter(is_other)
}

#[test]
fn two_applies_in_every_order_and_a_hand_in_the_dashboard() {
    for (files, known) in [
        ([true, true], false),
        ([true, true], true),
        ([true, false], true),
    ] {
        for order in orders(files) {
            for when in 0..2 * STEPS {
                for hand in [Hand::Makes, Hand::Renames, Hand::Deletes] {
                    play(order, files, [STEPS; 2], Some((when, hand)), known);
                }
            }
        }
    }
}

#[test]
fn two_applies_that_are_killed_anywhere() {
    for files in [[true, true], [true, false]] {
        for order in orders(files) {
            for known in [false, true] {
                for first in 0..=STEPS {
                    for second in [1, 3, 4, 5, STEPS] {
                        play(order, files, [first, second], None, known);
                    }
                }
            }
        }
    }
}
