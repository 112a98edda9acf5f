//! Whatever happens to the program, in whatever order: applies that overlap request by request, runs that are killed before any
//! request, machines that enroll, sync-events, other versions of the file, and people in the dashboard. The processes are real,
//! the servers are fakes.
//!
//! What holds in the end: what people made still exists, as they left it; of each usable key of ours the copy on the branch opens;
//! one object of ours stands for each entry; one apply brings the account to the file, and the next one writes nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Condvar, Mutex};

use fakes::Request;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestCaseError};
use serde_json::{Value, json};

use crate::run::{INVENTORY, Job, Run, Site, id, open};

/// Entries that the file has or has not, by their place in a [`Version`].
const ENTRIES: [(&str, &str, &str); 8] = [
    ("groups", "/groups", "g1"),
    ("groups", "/groups", "g2"),
    ("setup_keys", "/setup-keys", "k1"),
    ("setup_keys", "/setup-keys", "k2"),
    ("policies", "/policies", "p1"),
    ("policies", "/policies", "p2"),
    ("networks", "/networks", "n1"),
    ("networks", "/networks", "n2"),
];

/// Which entries the file has.
type Version = [bool; ENTRIES.len()];

#[derive(Debug, Clone)]
enum Event {
    Commit(Version),
    /// One apply, or two whose requests come in the order of these bits. The first is killed at its nth request.
    Apply {
        order: Option<u64>,
        killed: Option<usize>,
    },
    SyncEvents {
        killed: Option<usize>,
    },
    /// A machine enrolls with the copy of a key.
    Enroll(&'static str),
    /// Somebody makes an object of an entry's name, gives the oldest of that name another one, or deletes the newest that a
    /// person made.
    Make(usize),
    Rename(usize),
    Delete(usize),
}

fn event() -> impl Strategy<Value = Event> {
    let killed = || prop::option::weighted(0.4, 1..70_usize);
    let order = prop::option::weighted(0.5, any::<u64>());
    let entry = || 0..ENTRIES.len();
    prop_oneof![
        3 => any::<Version>().prop_map(Event::Commit),
        6 => (order, killed()).prop_map(|(order, killed)| Event::Apply { order, killed }),
        2 => killed().prop_map(|killed| Event::SyncEvents { killed }),
        2 => prop_oneof![Just("k0"), Just("k1"), Just("k2")].prop_map(Event::Enroll),
        2 => entry().prop_map(Event::Make),
        1 => entry().prop_map(Event::Rename),
        1 => entry().prop_map(Event::Delete),
    ]
}

/// Whose turn it is. Each run asks under another name of the same host, and waits at each request until every run that is alive
/// waits, too; then the next bit chooses.
struct Turns {
    state: Mutex<Turn>,
    news: Condvar,
}

struct Turn {
    /// The requests that wait, by run, in the order in which they came.
    waiting: [Vec<u64>; 2],
    is_alive: [bool; 2],
    /// Requests that may go on.
    granted: BTreeSet<u64>,
    next: u64,
    order: u64,
    /// The requests of the first run that are left until it is killed, and its process.
    until_killed: Option<usize>,
    process: Option<u32>,
}

const HOSTS: [&str; 2] = ["127.0.0.1", "localhost"];

impl Turns {
    fn new(runs: usize, order: u64, killed: Option<usize>) -> Turns {
        Turns {
            state: Mutex::new(Turn {
                waiting: [Vec::new(), Vec::new()],
                is_alive: [true, runs > 1],
                granted: BTreeSet::new(),
                next: 0,
                order,
                until_killed: killed,
                process: None,
            }),
            news: Condvar::new(),
        }
    }

    /// Holds a request back until it is its turn.
    fn wait(&self, request: &Request) {
        let host = request.header("host").unwrap_or_default();
        let run = usize::from(host.starts_with(HOSTS[1]));
        let mut turn = self.state.lock().unwrap();
        // what a person asks for, or a run that is gone
        if !turn.is_alive[run] || request.header("user-agent").is_none() {
            return;
        }
        let ticket = turn.next;
        turn.next += 1;
        turn.waiting[run].push(ticket);
        turn.choose();
        self.news.notify_all();
        while !turn.granted.remove(&ticket) && turn.is_alive[run] {
            turn = self.news.wait(turn).unwrap();
        }
    }

    fn ended(&self, run: usize) {
        let mut turn = self.state.lock().unwrap();
        turn.is_alive[run] = false;
        turn.waiting[run].clear();
        turn.choose();
        self.news.notify_all();
    }
}

impl Turn {
    /// Lets requests go on for as long as every run that is alive has one.
    fn choose(&mut self) {
        let alive: Vec<usize> = (0..2).filter(|run| self.is_alive[*run]).collect();
        let waits = |run: &usize| !self.waiting[*run].is_empty();
        if alive.is_empty() || !alive.iter().all(waits) {
            return;
        }
        self.order = self.order.rotate_right(1);
        let run = alive[(self.order & 1) as usize % alive.len()];
        self.granted.insert(self.waiting[run].remove(0));
        if let (0, Some(left), Some(process)) = (run, &mut self.until_killed, self.process) {
            *left = left.saturating_sub(1);
            if *left == 0 {
                self.until_killed = None;
                let mut kill = Command::new("kill");
                let status = kill.args(["-KILL", &process.to_string()]).status();
                assert!(status.unwrap().success());
            }
        }
        self.choose();
    }
}

struct World {
    site: Site,
    /// What people made, and what they left of it.
    theirs: BTreeMap<String, (usize, Value)>,
    /// What anybody gave another name.
    renamed: BTreeSet<String>,
    machines: usize,
}

impl World {
    fn new() -> World {
        let site = Site::fake();
        let world = World {
            site,
            theirs: BTreeMap::new(),
            renamed: BTreeSet::new(),
            machines: 0,
        };
        world.commit([false; ENTRIES.len()]);
        world
    }

    /// The file of a version. Keys that machines enrolled with keep their mark.
    fn file(&self, version: Version) -> Value {
        let entry = |section: &str, name: &str| match section {
            "setup_keys" => {
                json!({ "type": "one-off", "expires_in": 86400, "auto_groups": ["g0"] })
            }
            "policies" => {
                json!({ "sources": ["g0"], "destinations": ["g0"], "description": "ours" })
            }
            "networks" => {
                let resource = json!({ "address": format!("{name}.example"), "groups": ["g0"] });
                json!({ "resources": { format!("r-{name}"): resource }, "routers": [{ "peer_groups": ["g0"] }] })
            }
            _ => json!({}),
        };
        let has = |which: usize| version[which];
        let mut file =
            json!({ "groups": { "g0": {} }, "setup_keys": {}, "policies": {}, "networks": {} });
        for section in ["setup_keys", "policies", "networks"] {
            let name = format!("{}0", &section[..1].replace('s', "k"));
            file[section][&name] = entry(section, &name);
        }
        for (which, (section, _, name)) in ENTRIES.into_iter().enumerate() {
            if has(which) {
                file[section][name] = entry(section, name);
            }
        }
        if has(0) {
            file["groups"]["g1"] = json!({ "peers": ["k0"] });
        }
        file
    }

    fn commit(&self, version: Version) {
        let mut file = self.file(version);
        let files = self.site.gitea().files("main");
        if files.iter().any(|path| path == "netbird.json") {
            let before: Value = serde_json::from_str(&self.site.file()).unwrap();
            for (name, key) in file["setup_keys"].as_object_mut().unwrap() {
                if before["setup_keys"][name]["enrolled"] == true {
                    key["enrolled"] = json!(true);
                }
            }
        }
        self.site.commit(file);
    }

    /// A command in a job that somebody started on the tip of the branch, under one name of the host.
    fn job(&self, args: &[&str], run: usize) -> Command {
        let site = &self.site;
        let host = |url: String| url.replace(HOSTS[0], HOSTS[run]);
        let mut job = Job::push(site, &site.repo().tip("main")).by_hand(site);
        job.put("GITHUB_SERVER_URL", &host(site.repo().url()));
        job.put("GITHUB_API_URL", &host(site.repo().url() + "/api/v1"));
        let mut command = site.job_command(args, &job);
        command.env("NETBIRD_API_URL", host(site.bench.server().url()));
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Runs commands side by side, the first until it is killed.
    fn run(&self, args: &[&[&str]], order: u64, killed: Option<usize>) -> Vec<Run> {
        let site = &self.site;
        site.checkout(&site.repo().tip("main"));
        let turns = Arc::new(Turns::new(args.len(), order, killed));
        let watch = || {
            let turns = Arc::clone(&turns);
            move |request: &Request| turns.wait(request)
        };
        site.bench.netbird().watch(watch());
        site.gitea().watch(watch());
        let commands = args.iter().enumerate();
        let processes: Vec<Child> = commands
            .map(|(run, args)| {
                // the first waits until its process is known
                let mut turn = turns.state.lock().unwrap();
                let process = self.job(args, run).spawn().expect("the program runs");
                if run == 0 {
                    turn.process = Some(process.id());
                }
                process
            })
            .collect();
        let runs = std::thread::scope(|scope| {
            let runs = processes.into_iter().enumerate().map(|(run, process)| {
                let turns = &turns;
                scope.spawn(move || {
                    let output = process.wait_with_output().unwrap();
                    turns.ended(run);
                    output
                })
            });
            let runs: Vec<_> = runs.collect();
            let runs = runs
                .into_iter()
                .map(|run| site.bench.outcome(run.join().unwrap()));
            runs.collect()
        });
        rest(site);
        // the disk of a job is gone with it
        std::fs::remove_dir_all(site.bench.path("sealed-keys")).ok();
        runs
    }

    /// Applies the file, with whatever agreement that takes.
    fn apply(&self) -> Run {
        let apply = ["apply", "--yes", "--max-deletes", "1000"];
        let run = self.run(&[&apply], 0, None).remove(0);
        if run.code != 3 {
            return run;
        }
        let plan = self
            .run(&[&["plan", "--format", "json"]], 0, None)
            .remove(0);
        let agreements = plan.json()["agreements"].clone();
        let lines = agreements.as_array().unwrap().iter();
        let lines = lines.filter_map(|of| of["line"].as_str()?.strip_prefix("Allow-Deletes: "));
        let lines: Vec<&str> = lines.collect();
        let lines = lines.join(",");
        let agreed = [&apply[..], &["--allow-deletes", &lines]].concat();
        self.run(&[&agreed], 0, None).remove(0)
    }

    /// The objects of an entry's name, the oldest first.
    fn named(&self, which: usize) -> Vec<Value> {
        let (_, path, name) = ENTRIES[which];
        self.site.bench.all(path, name)
    }

    /// Makes something happen; returns false where it cannot.
    fn happens(&mut self, event: &Event) -> Result<(), TestCaseError> {
        let bench = &self.site.bench;
        match event {
            Event::Commit(version) => self.commit(*version),
            Event::Apply { order, killed } => {
                let apply: &[&str] = &["apply", "--yes", "--max-deletes", "1000"];
                let number = 1 + usize::from(order.is_some());
                let runs = self.run(&vec![apply; number], order.unwrap_or(0), *killed);
                for run in runs {
                    // lists that another run writes between are an error
                    let is_torn = run.code == 1 && run.stderr.contains("run again");
                    let is_well = is_torn || matches!(run.code, 0 | 3 | 4 | 137);
                    prop_assert!(is_well, "{}\n{}\n{}", run.code, run.stdout, run.stderr);
                }
            }
            Event::SyncEvents { killed } => {
                let run = self.run(&[&["sync-events"]], 0, *killed).remove(0);
                let is_well = matches!(run.code, 0 | 4 | 137);
                prop_assert!(is_well, "{}\n{}\n{}", run.code, run.stdout, run.stderr);
            }
            Event::Enroll(name) => {
                if let Some((_, secret)) = self.copies(name).pop() {
                    self.machines += 1;
                    let hostname = format!("machine-{}", self.machines);
                    bench.server().enroll(&secret, &hostname).ok();
                }
            }
            Event::Make(which) => {
                let (section, path, name) = ENTRIES[*which];
                let theirs = |live: &Value| self.theirs.contains_key(&id(live));
                let is_taken = section == "groups" || section == "networks";
                let others = self.named(*which);
                if others.iter().any(theirs) || (is_taken && !others.is_empty()) {
                    return Ok(());
                }
                let group = match bench.all("/groups", "people").first() {
                    Some(group) => id(group),
                    None => bench.group("people"),
                };
                let rule = json!({ "name": "r", "enabled": true, "action": "drop", "bidirectional": true,
                                   "protocol": "all", "sources": [group], "destinations": [group] });
                let body = match section {
                    "setup_keys" => {
                        json!({ "name": name, "type": "reusable", "expires_in": 0, "auto_groups": [group] })
                    }
                    "policies" => json!({ "name": name, "enabled": true, "rules": [rule] }),
                    "networks" => json!({ "name": name, "description": "theirs" }),
                    _ => json!({ "name": name }),
                };
                let made = id(&bench.create(path, body));
                let listed = bench.all(path, name).into_iter();
                let listed = listed.filter(|live| id(live) == made);
                self.theirs
                    .extend(listed.map(|live| (id(&live), (*which, live))));
            }
            // others' names are taken once
            Event::Rename(which) if ENTRIES[*which].0 != "policies" => {}
            Event::Rename(which) => {
                let path = ENTRIES[*which].1;
                if let Some(live) = self.named(*which).first() {
                    bench.server().edit(path, live, json!({ "name": "other" }));
                    self.renamed.insert(id(live));
                    self.theirs.remove(&id(live));
                }
            }
            Event::Delete(which) => {
                let path = ENTRIES[*which].1;
                let theirs = |live: &&Value| self.theirs.contains_key(&id(live));
                if let Some(live) = self.named(*which).iter().rfind(theirs) {
                    let path = format!("{path}/{}", id(live));
                    bench.server().write("DELETE", &path, Value::Null);
                    self.theirs.remove(&id(live));
                }
            }
        }
        Ok(())
    }

    /// The copies on the branch of the keys of a name: id and secret.
    fn copies(&self, name: &str) -> Vec<(String, String)> {
        let gitea = self.site.gitea();
        let files = gitea.files(INVENTORY[0]).into_iter();
        let of_key = files.filter_map(|path| {
            let file = path.rsplit('/').next()?.strip_suffix(".age")?;
            let id = file.strip_prefix(name)?.strip_prefix('.')?.to_owned();
            Some((id, open(&gitea.file(INVENTORY[0], &path))))
        });
        of_key.collect()
    }

    /// Checks what holds in the end.
    fn check(&self) -> Result<(), TestCaseError> {
        let run = self.apply();
        prop_assert!(
            run.code == 0,
            "{}\n{}\n{}",
            run.code,
            run.stdout,
            run.stderr
        );
        self.site.bench.netbird().clear_requests();
        let again = self.apply();
        prop_assert!(again.code == 0, "{}\n{}", again.stdout, again.stderr);
        let writes = self.site.bench.writes();
        prop_assert!(
            writes.is_empty(),
            "a second apply: {writes:#?}\n{}",
            again.stdout
        );

        let inventory = self.site.inventory();
        let recorded = |list: &str, section: &str, name: &str| -> Vec<String> {
            let ids = inventory[list][format!("{section}/{name}")].as_array();
            let ids = ids.into_iter().flatten();
            ids.map(|id| id.as_str().unwrap().to_owned()).collect()
        };
        let file: Value = serde_json::from_str(&self.site.file()).unwrap();
        for (which, (section, path, name)) in ENTRIES.into_iter().enumerate() {
            let created = recorded("created", section, name);
            let adopted = recorded("adopted", section, name);
            let ours = [&created[..], &adopted].concat();
            let living = self.site.bench.server().list(path);
            let living: Vec<&Value> = living.iter().filter(|it| ours.contains(&id(it))).collect();
            let wanted = usize::from(file[section].get(name).is_some());
            prop_assert!(
                living.len() == wanted,
                "{section}/{name}: {wanted} wanted, recorded and alive: {living:#?}"
            );
            for live in self.named(which) {
                let id = id(&live);
                let is_known = ours.contains(&id)
                    || self.theirs.contains_key(&id)
                    || self.renamed.contains(&id);
                prop_assert!(is_known, "{section}/{name} is left of a run: {live:#?}");
            }
            for (id, (_, made)) in self.theirs.iter().filter(|(_, (of, _))| *of == which) {
                let live = self.site.bench.server().list(path);
                let live = live.iter().find(|live| live["id"] == json!(id));
                let Some(live) = live else {
                    return Err(TestCaseError::fail(format!(
                        "{section}/{name} ({id}) is gone"
                    )));
                };
                let stays = adopted.contains(id) || live == made || section == "setup_keys";
                let was_adopted = inventory["let_go"].to_string().contains(id.as_str());
                prop_assert!(stays || was_adopted, "{live:#?} was {made:#?}");
            }
        }
        for key in self.site.bench.server().list("/setup-keys") {
            let (key_id, name) = (id(&key), key["name"].as_str().unwrap());
            if self.theirs.contains_key(&key_id) || key["valid"] != true {
                continue;
            }
            let is_recorded = inventory["created"].to_string().contains(&key_id);
            prop_assert!(is_recorded, "{key:#?}");
            let copies = self.copies(name);
            let copy = copies.iter().find(|(id, _)| *id == key_id);
            let opens = copy.map(|(_, secret)| self.site.bench.server().enroll(secret, "last"));
            prop_assert!(matches!(opens, Some(Ok(_))), "{key:#?}: {opens:?}");
        }
        Ok(())
    }
}

/// Waits until the servers have done all that they were asked for.
fn rest(site: &Site) {
    let is_done = |requests: Vec<Request>| requests.iter().all(|request| request.status != 0);
    while !is_done(site.bench.netbird().requests()) || !is_done(site.gitea().requests()) {
        std::thread::yield_now();
    }
    site.bench.netbird().clear_faults();
    site.gitea().clear_faults();
}

proptest! {
    // where PROPTEST_CASES does not say how many
    #![proptest_config(Config { cases: 8, max_shrink_iters: 60, failure_persistence: None, ..Config::default() })]

    #[test]
    fn whatever_happens_one_apply_brings_the_account_to_the_file(events in vec(event(), 1..12)) {
        let mut world = World::new();
        for event in &events {
            world.happens(event)?;
        }
        world.check()?;
    }
}
