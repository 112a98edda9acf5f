//! Whatever files follow each other and whatever somebody does in NetBird meanwhile: nothing goes that no run made, what is
//! nobody's stays, what a run made goes with its entry, and a second apply has nothing to do.

use std::collections::{BTreeMap, BTreeSet};

use netbird_gitops::base::id::Id;
use netbird_gitops::model::change::Operation;
use netbird_gitops::model::kind::Kind;
use netbird_gitops::plan::Plan;
use netbird_gitops::plan::options::Prune;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use proptest::test_runner::{Config, TestCaseError};
use serde_json::{Value, json};

use super::{base, by_hand, kinds};
use crate::run::{Bench, Heard, Inner};

const NAMES: [&str; 4] = ["a", "b", "c", "d"];
const PEERS: [&str; 3] = ["p0", "p1", "p2"];
const SECTIONS: [(&str, &str); 3] = [
    ("groups", "/groups"),
    ("policies", "/policies"),
    ("setup_keys", "/setup-keys"),
];

/// One version of the file: names by section (none: the section is lost), and the members of the group `m`.
#[derive(Debug, Clone)]
struct Version {
    sections: [Option<Vec<&'static str>>; 3],
    members: Option<Vec<&'static str>>,
}

#[derive(Debug, Clone)]
enum Step {
    Commit(Version),
    Apply,
    /// Somebody makes an object, deletes those of a name, gives one another name, or puts a peer into the group `m`.
    Make(usize, &'static str),
    Delete(usize, &'static str),
    Rename(usize, &'static str, &'static str),
    Join(&'static str),
}

fn version() -> impl Strategy<Value = Version> {
    let names = || prop::option::weighted(0.85, subsequence(NAMES.to_vec(), 0..=4));
    let members = prop::option::weighted(0.8, subsequence(PEERS.to_vec(), 0..=3));
    (names(), names(), names(), members).prop_map(|(groups, policies, keys, members)| Version {
        sections: [groups, policies, keys],
        members,
    })
}

fn step() -> impl Strategy<Value = Step> {
    let name = || select(NAMES.to_vec());
    prop_oneof![
        5 => version().prop_map(Step::Commit),
        6 => Just(Step::Apply),
        3 => (0..3_usize, name()).prop_map(|(kind, name)| Step::Make(kind, name)),
        1 => (0..3_usize, name()).prop_map(|(kind, name)| Step::Delete(kind, name)),
        2 => (0..2_usize, name(), name()).prop_map(|(kind, from, to)| Step::Rename(kind, from, to)),
        1 => select(PEERS.to_vec()).prop_map(Step::Join),
    ]
}

impl Version {
    fn file(&self) -> Value {
        let mut file = json!({ "dns": { "nameserver_groups": {} } });
        for ((section, _), names) in SECTIONS.iter().zip(&self.sections) {
            let Some(names) = names else { continue };
            let entry = |name: &&str| ((*name).to_owned(), entry(section));
            file[section] = Value::Object(names.iter().map(entry).collect());
        }
        if let Some(groups) = file.get_mut("groups") {
            groups["g"] = json!({});
            groups["m"] = match &self.members {
                Some(members) => json!({ "peers": members }),
                None => json!({}),
            };
        } else {
            // a file whose sections are all empty is none
            file["routes"] =
                json!({ "r": { "network": "10.9.0.0/16", "peer_groups": ["g"], "groups": ["g"] } });
        }
        file
    }
}

fn entry(section: &str) -> Value {
    let mut kinds = kinds().into_iter();
    kinds.find(|kind| kind.0 == section).expect("a kind").2
}

/// What is known beside the account.
struct World {
    bench: Bench,
    file: Value,
    /// The members of `m` that the file listed when it was applied last.
    listed: BTreeSet<String>,
    /// Objects that an apply made.
    made: BTreeSet<Id>,
    /// Objects that somebody gave another name.
    renamed: BTreeSet<Id>,
    peers: BTreeMap<String, Value>,
}

impl World {
    /// The first apply is behind it, so that the names of machines mean those that are there.
    fn new() -> Result<World, TestCaseError> {
        let bench = Bench::fake();
        let peers = PEERS.map(|name| (name.to_owned(), json!(bench.peer(name))));
        let mut file = base();
        file["groups"]["m"] = json!({});
        let mut world = World {
            bench,
            file,
            listed: BTreeSet::new(),
            made: BTreeSet::new(),
            renamed: BTreeSet::new(),
            peers: peers.into(),
        };
        world.apply()?;
        Ok(world)
    }

    /// The objects, with section and name.
    fn objects(&self) -> BTreeMap<Id, (usize, String)> {
        let mut objects = BTreeMap::new();
        for (at, (_, path)) in SECTIONS.iter().enumerate() {
            for entry in self.bench.server().list(path) {
                let text = |field: &str| entry[field].as_str().unwrap().to_owned();
                objects.insert(Id(text("id").into()), (at, text("name")));
            }
        }
        objects
    }

    fn members(&self) -> BTreeSet<String> {
        let group = self.bench.one("/groups", "m");
        let peers = group["peers"].as_array().into_iter().flatten();
        peers
            .map(|peer| peer["name"].as_str().unwrap().to_owned())
            .collect()
    }

    fn step(&mut self, step: &Step) -> Result<(), TestCaseError> {
        // groups have one name each
        let is_taken =
            |at: usize, name: &str| at == 0 && !self.bench.all("/groups", name).is_empty();
        match step {
            Step::Commit(version) => self.file = version.file(),
            Step::Apply => self.apply()?,
            Step::Make(at, name) if is_taken(*at, name) => {}
            Step::Make(at, name) => drop(by_hand(&self.bench, SECTIONS[*at].0, name)),
            Step::Delete(at, name) => {
                let path = SECTIONS[*at].1;
                for live in self.bench.all(path, name) {
                    let path = format!("{path}/{}", live["id"].as_str().unwrap());
                    self.bench.server().write("DELETE", &path, Value::Null);
                }
            }
            Step::Rename(at, _, to) if is_taken(*at, to) => {}
            Step::Rename(at, from, to) => {
                let path = SECTIONS[*at].1;
                if let Some(live) = self.bench.all(path, from).first() {
                    self.bench.server().edit(path, live, json!({ "name": to }));
                    self.renamed.insert(Id(live["id"].as_str().unwrap().into()));
                }
            }
            Step::Join(name) => {
                let members = self.members();
                let members = members.iter().map(String::as_str).chain([*name]);
                let members: Vec<&Value> = members.map(|name| &self.peers[name]).collect();
                self.bench.edit("/groups", "m", json!({ "peers": members }));
            }
        }
        Ok(())
    }

    /// Applies the file.
    fn apply(&mut self) -> Result<(), TestCaseError> {
        let file = self.file.clone();
        let read = || Inner::read(&self.bench, &file, Prune::Owned).map_err(TestCaseError::fail);
        let inner = read()?;
        let (objects, members) = (self.objects(), self.members_before());
        let plan = inner
            .plan()
            .map_err(|problems| TestCaseError::fail(format!("{problems:?}")))?;
        if self.lacks_a_name(&plan) {
            return Ok(());
        }
        let mut heard = Heard::default();
        let (applied, verified) = inner.apply(&self.bench, &plan, &mut heard);
        prop_assert!(applied.is_complete(), "{:#?}", heard.0);
        let verified = verified.expect("what is complete is verified");
        prop_assert!(verified.left.is_empty(), "{verified:?}\n{:#?}", heard.0);
        let again = read()?
            .plan()
            .map_err(|problems| TestCaseError::fail(format!("{problems:?}")))?;
        let is_empty = again.changes.is_empty() && again.adoptions.is_empty();
        prop_assert!(
            is_empty,
            "a second apply: {:?} {:?}",
            again.changes,
            again.adoptions
        );
        let left = self.objects();
        for (id, (at, name)) in objects.iter().filter(|(id, _)| !left.contains_key(id)) {
            prop_assert!(
                self.made.contains(id),
                "{name} of {at} went and no run made it"
            );
            let has_section = file.get(SECTIONS[*at].0).is_some();
            prop_assert!(has_section, "{name} of {at} went without its section");
        }
        let new = left.keys().filter(|id| !objects.contains_key(id));
        self.made.extend(new.cloned());
        for (id, (at, name)) in &left {
            let section = file.get(SECTIONS[*at].0);
            let is_wanted = section.is_none_or(|section| section.get(name).is_some());
            let is_plain = self.made.contains(id) && !self.renamed.contains(id);
            prop_assert!(
                is_wanted || !is_plain,
                "{name} of {at} is ours, and is still there"
            );
        }
        self.check_members(&members)
    }

    /// Whether the file wants a group of a name that another one of ours keeps, since somebody gave its own name away: NetBird
    /// refuses that, and the notice says what to do.
    fn lacks_a_name(&self, plan: &Plan) -> bool {
        let makes = plan
            .changes
            .iter()
            .filter(|of| matches!(of.operation, Operation::Create { .. }));
        let mut groups = makes.filter(|of| of.address.kind == Kind::Group);
        format!("{:?}", plan.notices).contains("KeepsName")
            && groups.any(|of| !self.bench.all("/groups", &of.address.name).is_empty())
    }

    fn members_before(&self) -> BTreeSet<String> {
        match self.bench.all("/groups", "m").is_empty() {
            true => BTreeSet::new(),
            false => self.members(),
        }
    }

    fn check_members(&mut self, before: &BTreeSet<String>) -> Result<(), TestCaseError> {
        let after = self.members();
        for name in before.difference(&after) {
            prop_assert!(self.listed.contains(name), "{name} was not listed and left");
        }
        let Some(wanted) = self.file.pointer("/groups/m/peers") else {
            return Ok(());
        };
        let wanted = wanted.as_array().into_iter().flatten();
        let wanted: BTreeSet<String> = wanted
            .map(|name| name.as_str().unwrap().to_owned())
            .collect();
        for name in self.listed.intersection(&after) {
            prop_assert!(
                wanted.contains(name),
                "{name} is listed no more and still a member"
            );
        }
        for name in &wanted {
            prop_assert!(after.contains(name), "{name} is listed and no member");
        }
        self.listed = wanted;
        Ok(())
    }
}

proptest! {
    // where PROPTEST_CASES does not say how many
    #![proptest_config(Config { cases: 20, max_shrink_iters: 100, failure_persistence: None, ..Config::default() })]

    #[test]
    fn nothing_goes_that_no_run_made_and_a_second_apply_has_nothing_to_do(
        steps in vec(step(), 1..20),
    ) {
        let mut world = World::new()?;
        for step in &steps {
            world.step(step)?;
        }
        world.apply()?;
    }
}
