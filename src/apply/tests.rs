//! A model of runs that disturb each other: every order of the steps of two applies, each of which can be killed at any step,
//! with what people do in the dashboard between them.
//!
//! The steps are those of an apply, and what each decides the program itself decides: it reads the inventory, then the lists, and
//! plans; writes what it adopts; makes what is missing; reads the inventory and the lists again and deletes; writes the rest.
//! What holds afterwards: no object went that no run made; an undisturbed apply brings the account to the file, and a second one
//! does nothing; and once the entry is gone, nothing is left that a run made.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fmt;
use std::rc::Rc;
use std::sync::Arc;

use serde_json::{Value, json};

use super::{Applied, deletions};
use crate::base::Id;
use crate::inventory::{Delta, Inventory};
use crate::model::{Change, Operation, Reason};
use crate::plan::{Plan, Prune, Standing};
use crate::render::Status;
use crate::testing::{Case, over, policy};

const NAME: &str = "x";

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
    /// What runs deleted and none had made.
    wrong: Vec<Id>,
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
        if self.inventory.as_ref() != Some(&next) {
            self.inventory = Some(next);
            self.writes += 1;
        }
        true
    }

    fn delete(&mut self, id: &Id) {
        if self.objects.remove(id).is_some() {
            self.writes += 1;
            if !self.made.contains(id) {
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
    plan: Rc<Plan>,
    made: BTreeSet<Id>,
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
            plan: Rc::default(),
            made: BTreeSet::new(),
            deleted: BTreeSet::new(),
        }
    }

    fn step(&mut self, world: &mut World) {
        match self.step {
            0 => self.read.clone_from(&world.inventory),
            1 => self.plan = planned(world, self.read.as_ref(), self.has_entry),
            2 => {
                let delta = self.plan.first_record(self.read.is_none());
                delta.map(|delta| world.record(&delta, true));
            }
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

    fn make(&mut self, world: &mut World) {
        for change in &self.plan.changes {
            match &change.operation {
                Operation::Create { .. } => {
                    let id = world.make(NAME);
                    world.made.insert(id.clone());
                    world.writes += 1;
                    self.made.insert(id);
                }
                Operation::Update { live, .. } => {
                    if let Some(name) = world.objects.get_mut(&live.id) {
                        NAME.clone_into(name);
                        world.writes += 1;
                    }
                }
                _ => {}
            }
        }
    }

    fn delete(&mut self, world: &mut World) {
        let newest = world.inventory.clone().unwrap_or_default();
        let read = self.read.clone().unwrap_or_default();
        for change in &self.plan.changes {
            let Some(live) = change.deleted() else {
                continue;
            };
            let others = deletions::others(&self.plan, change, live, &newest);
            let stands = !self.made.is_empty()
                || others.iter().any(|other| world.objects.contains_key(other));
            let is_needed = change.reason == Some(Reason::Surplus) && !stands;
            let now = world.objects.get(&live.id);
            let is_renamed = now.is_some_and(|now| *now != live.name && now != NAME);
            let stays = deletions::stays(&self.plan, change, live, [&read, &newest]);
            if stays.is_none() && !is_needed && !is_renamed {
                world.delete(&live.id);
                self.deleted.insert(live.id.clone());
            }
        }
    }

    fn write_down(&mut self, world: &mut World) {
        let address = self.plan.changes.first().map(|change| &change.address);
        let made = self.made.iter().cloned();
        let is_done = |change: &Change| match change.deleted() {
            Some(live) if !self.deleted.contains(&live.id) => Status::Skipped,
            _ => Status::Success,
        };
        let applied = Applied {
            statuses: self.plan.changes.iter().map(is_done).collect(),
            made: made.filter_map(|id| Some((id, address?.clone()))).collect(),
            deleted: self.deleted.clone(),
            ..Applied::default()
        };
        let read = self.read.clone().unwrap_or_default();
        world.record(&applied.delta(&self.plan, &read, &|_| None), false);
    }
}

/// What a plan is made from: the objects, the inventory that was read, what the log tells, and whether the file has the entry.
type Seen = (BTreeMap<Id, String>, Option<String>, BTreeSet<Id>, bool);

thread_local! {
    /// The plans so far: many histories see the same.
    static PLANS: RefCell<HashMap<Seen, Rc<Plan>>> = RefCell::default();
}

/// Returns the plan of a run that read that inventory and now reads the lists.
fn planned(world: &World, read: Option<&Inventory>, has_entry: bool) -> Rc<Plan> {
    let text = read.map(Inventory::text);
    let (objects, made) = (world.objects.clone(), world.made.clone());
    let seen = (objects, text, made, has_entry);
    let known = PLANS.with_borrow(|plans| plans.get(&seen).cloned());
    known.unwrap_or_else(|| {
        let plan = Rc::new(made_of(world, read, has_entry));
        PLANS.with_borrow_mut(|plans| plans.insert(seen, plan.clone()));
        plan
    })
}

fn made_of(world: &World, read: Option<&Inventory>, has_entry: bool) -> Plan {
    let all = json!({ "sources": ["All"], "destinations": ["All"] });
    // an entry that stays, since a file of empty sections is none
    let without = json!({ "policies": { "stays": all } });
    let with = over(
        without.clone(),
        json!({ "policies": { NAME: all, "stays": all } }),
    );
    let file = if has_entry { with.clone() } else { without };
    let live = world.objects.iter().map(|(id, name)| {
        let own = json!({ "id": id, "name": name });
        over(policy(NAME, &["All"], &["All"]), own)
    });
    let me = json!({ "id": "me", "is_current": true, "is_service_user": true, "role": "admin" });
    let live = live.chain([policy("stays", &["All"], &["All"])]);
    let live = json!({ "policies": live.collect::<Vec<Value>>(), "users": [me] });
    let mut case = Case::new(file, live).since(&[with]).ours(|ours| {
        ours.standing = match read {
            Some(_) => Standing::Read,
            None => Standing::First,
        };
        ours.inventory = Arc::new(read.cloned().unwrap_or_default());
        ours.made = world.made.clone();
    });
    case.options.prune = Prune::Owned;
    case.possible()
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

/// What can happen next.
#[derive(Debug, Clone, Copy)]
enum Event {
    /// One of the runs takes its next step.
    Step(usize),
    /// One of them is killed.
    Kill(usize),
    By(Hand),
}

/// All that decides what happens next and how it ends.
type State = (
    Objects,
    [(usize, Option<String>, *const Plan, Ids, Ids); 2],
    bool,
);
type Objects = (BTreeMap<Id, String>, Option<String>, Ids, Vec<Id>, u32);
type Ids = BTreeSet<Id>;

/// Two runs in every order of their steps, with what disturbs them. A state that several histories lead to is left once.
struct Search {
    /// The states so far.
    left: HashSet<State>,
    /// What led to the present one.
    history: Vec<Event>,
    /// How many ends were looked at.
    ends: usize,
}

impl Search {
    /// Returns how many ends all histories of runs of these files lead to. `known`: an apply was there before.
    fn all(files: [bool; 2], known: bool) -> usize {
        let mut world = World::default();
        if known {
            Run::of(true).all(&mut world);
        }
        let mut search = Search {
            left: HashSet::new(),
            history: Vec::new(),
            ends: 0,
        };
        search.from(&world, &files.map(Run::of), true);
        search.ends
    }

    fn from(&mut self, world: &World, runs: &[Run; 2], hand: bool) {
        if !self.left.insert(state(world, runs, hand)) {
            return;
        }
        if runs.iter().all(|run| run.step == STEPS) {
            self.ends += 1;
            check(world.clone(), &self.history);
        }
        let going = (0..runs.len()).filter(|which| runs[*which].step < STEPS);
        let kills = going.clone().map(Event::Kill);
        let hands = [Hand::Makes, Hand::Renames, Hand::Deletes].map(Event::By);
        let hands = hands.into_iter().filter(|_| hand);
        let events: Vec<Event> = going.map(Event::Step).chain(kills).chain(hands).collect();
        for event in events {
            let (mut world, mut runs, mut hand) = (world.clone(), runs.clone(), hand);
            match event {
                Event::Step(which) => runs[which].step(&mut world),
                Event::Kill(which) => runs[which].step = STEPS,
                Event::By(what) => {
                    world.by_hand(what);
                    hand = false;
                }
            }
            self.history.push(event);
            self.from(&world, &runs, hand);
            self.history.pop();
        }
    }
}

fn state(world: &World, runs: &[Run; 2], hand: bool) -> State {
    let text = |inventory: &Option<Inventory>| inventory.as_ref().map(Inventory::text);
    let World {
        objects,
        inventory,
        made,
        wrong,
        next,
        ..
    } = world;
    let world = (
        objects.clone(),
        text(inventory),
        made.clone(),
        wrong.clone(),
        *next,
    );
    let run = |run: &Run| match run.step {
        // what a run knew is gone with it
        STEPS => (STEPS, None, std::ptr::null(), Ids::new(), Ids::new()),
        step => (
            step,
            text(&run.read),
            Rc::as_ptr(&run.plan),
            run.made.clone(),
            run.deleted.clone(),
        ),
    };
    (world, [run(&runs[0]), run(&runs[1])], hand)
}

const TOGETHER: [bool; 2] = [true, true];
const APART: [bool; 2] = [true, false];

#[test]
fn two_applies_in_every_order_killed_anywhere_with_a_hand_in_the_dashboard() {
    let cases = [
        (TOGETHER, false),
        (TOGETHER, true),
        (APART, false),
        (APART, true),
    ];
    let ends = cases.map(|(files, known)| Search::all(files, known));
    let ends: usize = ends.iter().sum();
    assert!(ends >= 100, "{ends}");
}
