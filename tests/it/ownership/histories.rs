//! Whatever the history of the file and whatever lives: what goes was declared once and is no older than that, and what
//! was declared, made by us and removed is gone.

use std::collections::{BTreeMap, BTreeSet};

use netbird_gitops::id::Id;
use netbird_gitops::options::Prune;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::subsequence;
use proptest::test_runner::{Config, TestCaseError};
use serde_json::{Value, json};

use super::by_hand;
use crate::run::history::second;
use crate::run::{Bench, Heard, Inner};

const NAMES: [&str; 4] = ["a", "b", "c", "d"];
const PEERS: [&str; 3] = ["p0", "p1", "p2"];
const SECTIONS: [(&str, &str); 3] = [
    ("groups", "/groups"),
    ("policies", "/policies"),
    ("setup_keys", "/setup-keys"),
];
/// How much older than its declaration an object of ours can be, in seconds.
const GRACE: i64 = 5 * 60;

/// One version of the file: names by section (none: the section is lost), and the members of the group `m`.
#[derive(Debug, Clone)]
struct Version {
    sections: [Option<Vec<&'static str>>; 3],
    members: Option<Vec<&'static str>>,
}

#[derive(Debug, Clone)]
enum Step {
    /// A commit of the base branch.
    Commit(Version),
    /// A commit that nobody can read.
    Broken(&'static str),
    /// A merged branch that declared more and took it back.
    Branch(Version, Version),
    Apply,
    /// Somebody makes an object, deletes one, or puts a peer into the group `m`.
    Make(usize, &'static str),
    Delete(usize, &'static str),
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
    let name = || prop::sample::select(NAMES.to_vec());
    let peer = prop::sample::select(PEERS.to_vec());
    prop_oneof![
        5 => version().prop_map(Step::Commit),
        1 => prop::sample::select(vec!["", "{", "{}", "<<<<<<< HEAD\n", "[]"]).prop_map(Step::Broken),
        1 => (version(), version()).prop_map(|(one, two)| Step::Branch(one, two)),
        6 => Just(Step::Apply),
        3 => (0..3_usize, name()).prop_map(|(kind, name)| Step::Make(kind, name)),
        1 => (0..3_usize, name()).prop_map(|(kind, name)| Step::Delete(kind, name)),
        1 => peer.prop_map(Step::Join),
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
            // a file that has no section at all is none
            file["routes"] =
                json!({ "r": { "network": "10.9.0.0/16", "peer_groups": ["g"], "groups": ["g"] } });
        }
        file
    }
}

fn entry(section: &str) -> Value {
    let mut kinds = super::kinds().into_iter();
    kinds.find(|kind| kind.0 == section).expect("a kind").2
}

/// What is known beside the account.
struct World {
    bench: Bench,
    hour: f64,
    /// The file as the newest commit has it, if it can be read.
    file: Option<Value>,
    /// When a version first declared a name, by section.
    first: BTreeMap<(usize, String), i64>,
    /// Members of `m` that some version listed.
    listed: BTreeSet<String>,
    /// Objects that an apply made, with section and name.
    made: BTreeMap<Id, (usize, String)>,
    peers: BTreeMap<String, Value>,
}

impl World {
    fn new() -> World {
        let bench = Bench::in_git();
        bench.group("g");
        bench.group("m");
        let peers = PEERS.map(|name| (name.to_owned(), json!(bench.peer(name))));
        World {
            bench,
            hour: 1.0,
            file: None,
            first: BTreeMap::new(),
            listed: BTreeSet::new(),
            made: BTreeMap::new(),
            peers: peers.into(),
        }
    }

    fn commit(&mut self, version: &Version) {
        let file = version.file();
        self.bench.declared(self.hour, file.clone());
        for (at, names) in version.sections.iter().enumerate() {
            for name in names.iter().flatten() {
                let first = self.first.entry((at, (*name).to_owned()));
                first.or_insert(second(self.hour));
            }
        }
        if version.sections[0].is_some() {
            let members = version.members.iter().flatten();
            self.listed.extend(members.map(|name| (*name).to_owned()));
        }
        self.file = Some(file);
    }

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
        self.bench.hour(self.hour);
        match step {
            Step::Commit(version) => self.commit(version),
            Step::Broken(text) => {
                self.bench.text(text).commit(second(self.hour), "broken");
                self.file = None;
            }
            Step::Branch(one, two) => {
                if self.first.is_empty() {
                    return Ok(());
                }
                let now = self.bench.git(&["show", "HEAD:netbird.json"]);
                self.bench.git(&["checkout", "-q", "-b", "feature"]);
                for (at, version) in [one, two].into_iter().enumerate() {
                    let hour = self.hour + 0.1 * at as f64;
                    self.bench.declared(hour, version.file());
                }
                self.bench
                    .text(&now)
                    .commit(second(self.hour + 0.2), "took it back");
                self.bench.git(&["checkout", "-q", "main"]);
                let merge = ["merge", "-q", "--no-ff", "-m", "merge", "feature"];
                self.bench.git_at(second(self.hour + 0.3), &merge);
                self.bench.git(&["branch", "-q", "-D", "feature"]);
                self.hour += 0.3;
            }
            Step::Apply => drop(self.apply()?),
            Step::Make(at, name) => {
                // groups have one name each
                if *at != 0 || self.bench.all("/groups", name).is_empty() {
                    by_hand(&self.bench, SECTIONS[*at].0, name);
                }
            }
            Step::Delete(at, name) => {
                let path = SECTIONS[*at].1;
                for live in self.bench.all(path, name) {
                    let path = format!("{path}/{}", live["id"].as_str().unwrap());
                    self.bench.server().write("DELETE", &path, Value::Null);
                }
            }
            Step::Join(name) => {
                let mut members: Vec<&Value> = self
                    .members()
                    .iter()
                    .map(|name| &self.peers[name])
                    .collect();
                members.push(&self.peers[*name]);
                self.bench.edit("/groups", "m", json!({ "peers": members }));
            }
        }
        Ok(())
    }

    /// Applies the newest version, if that is possible; returns whether it was.
    fn apply(&mut self) -> Result<bool, TestCaseError> {
        let Some(file) = self.file.clone() else {
            return Ok(false);
        };
        let inner =
            Inner::read_in_git(&self.bench, &file, Prune::Owned).map_err(TestCaseError::fail)?;
        let before = (self.objects(), self.members());
        // several objects of a declared name: nobody can tell which is meant
        let Ok(plan) = inner.plan() else {
            return Ok(false);
        };
        let mut heard = Heard::default();
        let (applied, verified) = inner.apply(&self.bench, &plan, &mut heard);
        prop_assert!(applied.is_complete(), "{:#?}", heard.0);
        let verified = verified.expect("what is complete is verified");
        prop_assert!(verified.left.is_empty(), "{verified:?}\n{:#?}", heard.0);
        let after = (self.objects(), self.members());
        for (id, (at, name)) in before.0.iter().filter(|(id, _)| !after.0.contains_key(id)) {
            let first = self.first.get(&(*at, name.clone()));
            prop_assert!(
                first.is_some(),
                "{name} of {at} went and was never declared"
            );
            let made = id.created_at().expect("a time");
            prop_assert!(
                made >= first.expect("a time") - GRACE,
                "{name} of {at} went and is older than its declaration"
            );
            prop_assert!(
                file.get(SECTIONS[*at].0).is_some(),
                "{name} went without its section"
            );
        }
        for name in before.1.difference(&after.1) {
            prop_assert!(
                self.listed.contains(name),
                "{name} was never listed and left"
            );
        }
        for (id, what) in after.0.iter().filter(|(id, _)| !before.0.contains_key(id)) {
            self.made.insert(id.clone(), what.clone());
        }
        for (id, (at, name)) in &self.made {
            let section = file.get(SECTIONS[*at].0);
            let wanted = section.is_none_or(|section| section.get(name).is_some());
            prop_assert!(
                wanted || !after.0.contains_key(id),
                "{name} of {at} was made by us and removed, and is still there"
            );
        }
        if let Some(wanted) = file.pointer("/groups/m/peers") {
            let wanted: Vec<&str> = wanted
                .as_array()
                .unwrap()
                .iter()
                .filter_map(Value::as_str)
                .collect();
            for name in self.listed.intersection(&after.1) {
                prop_assert!(
                    wanted.contains(&name.as_str()),
                    "{name} is listed no more and still a member"
                );
            }
            for name in wanted {
                prop_assert!(after.1.contains(name), "{name} is listed and no member");
            }
        }
        Ok(true)
    }
}

proptest! {
    #![proptest_config(Config { cases: 64, max_shrink_iters: 100, failure_persistence: None, ..Config::default() })]

    #[test]
    fn what_goes_was_ours_and_what_is_ours_and_unwanted_goes(
        start in version(),
        steps in vec((step(), 0.02..4.0_f64), 1..14),
    ) {
        let mut world = World::new();
        world.commit(&start);
        for (step, hours) in &steps {
            world.hour += hours;
            world.step(step)?;
        }
        world.hour += 0.1;
        world.step(&Step::Apply)?;
    }
}
