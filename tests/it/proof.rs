//! What nobody has to believe: one account with an object of every kind, and a program that is misled, killed or outrun at each of
//! its requests.
//!
//! The account is made once a thread; each case takes it back to that moment. What has to hold after any case is in `world`.

mod admin;
mod faults;
mod kills;
mod secrets;
mod world;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use fakes::{NetBird, Saved, SavedForge};
use serde_json::{Value, json};

use crate::run::{Bench, Job, Run, Site, id};
use world::World;

/// A site at a moment to which it can be taken back.
pub(crate) struct Scene {
    pub(crate) site: Site,
    /// None of a real server, which nobody takes back.
    netbird: Option<Saved>,
    forge: SavedForge,
    files: Vec<(PathBuf, Vec<u8>)>,
    /// What NetBird had at that moment.
    before: World,
    /// What others have in NetBird, by list and id.
    theirs: BTreeSet<(&'static str, String)>,
    /// What a run may delete.
    leaves: BTreeSet<(&'static str, String)>,
}

/// The file that is applied first.
fn first() -> Value {
    let key =
        |groups: Value| json!({ "type": "one-off", "expires_in": 86400, "auto_groups": groups });
    let mut file = json!({
        "groups": { "g": {}, "crew": { "peers": ["m1", "leaver"] }, "old": {} },
        "setup_keys": {
            "again": key(json!(["g"])), "m1": key(json!(["crew"])), "leaver": key(json!(["crew"])),
            "changes": { "type": "reusable", "expires_in": 0, "usage_limit": 5, "auto_groups": ["g"] }
        },
        "users": { "mira@example.com": { "role": "user", "auto_groups": ["g"] } },
        "posture_checks": { "check": { "nb_version": "0.60.0" }, "gone": { "nb_version": "0.61.0" } },
        "policies": {
            "stays": { "sources": ["g"], "destinations": ["crew"] },
            "gone": { "sources": ["old"], "destinations": ["g"], "source_posture_checks": ["gone"] }
        },
        "routes": {
            "r": { "network": "10.6.0.0/16", "peer_groups": ["g"], "groups": ["crew"] },
            "gone": { "network": "10.7.0.0/16", "peer_groups": ["g"], "groups": ["old"] }
        },
        "networks": {
            "net": { "resources": { "printer": { "address": "10.1.2.3", "groups": ["g"] }, "gone": { "address": "10.1.2.4" } },
                     "routers": [{ "peer_groups": ["g"] }] },
            "gone": { "resources": {}, "routers": [{ "peer_groups": ["old"] }] }
        },
        "account": { "settings": { "peer_login_expiration": 86400 } },
        "dns": {
            "nameserver_groups": {
                "n": { "nameservers": [{ "ip": "10.6.0.53" }], "groups": ["g"], "domains": ["it.example"] },
                "gone": { "nameservers": [{ "ip": "10.6.0.54" }], "groups": ["old"], "domains": ["old.example"] }
            },
            "settings": { "disabled_management_groups": ["old"] },
            "zones": { "z": { "domain": "z.example", "distribution_groups": ["g"],
                              "records": [{ "name": "a", "type": "A", "content": "10.1.1.1" }, { "name": "gone", "type": "A", "content": "10.1.1.2" }] },
                       "gone": { "domain": "gone.example", "distribution_groups": ["old"],
                                 "records": [{ "name": "a", "type": "A", "content": "10.1.1.1" }] } }
        }
    });
    for section in ["/setup_keys/m1", "/setup_keys/leaver"] {
        file.pointer_mut(section).expect("a key")["enrolled"] = json!(false);
    }
    file
}

/// The file that a commit makes of it: something of each kind is created, changed, deleted and left, a key is made again, one machine
/// leaves, and a group of somebody's is adopted.
fn second(reissue_after: &str) -> Value {
    let mut file = first();
    file["groups"] = json!({ "g": {}, "crew": { "peers": ["m1", "k"] }, "met": {}, "new": {} });
    let keys = file["setup_keys"].as_object_mut().expect("keys");
    keys.remove("leaver");
    keys["m1"]["enrolled"] = json!(true);
    keys["again"]["reissue_after"] = json!(reissue_after);
    keys["changes"]["auto_groups"] = json!(["g", "new"]);
    keys.insert(
        "k".into(),
        json!({ "type": "one-off", "expires_in": 86400, "auto_groups": ["crew", "new"] }),
    );
    keys.insert(
        "open".into(),
        json!({ "type": "reusable", "expires_in": 86400, "usage_limit": 2 }),
    );
    file["peers"] = json!({ "m1": { "ssh_enabled": true } });
    file["users"] =
        json!({ "mira@example.com": { "role": "network_admin", "auto_groups": ["g", "new"] } });
    file["posture_checks"] =
        json!({ "check": { "nb_version": "0.62.0" }, "new": { "nb_version": "0.63.0" } });
    file["policies"] = json!({
        "stays": { "sources": ["g"], "destinations": ["crew", "met"], "description": "changed", "source_posture_checks": ["new"] },
        "new": { "sources": ["new"], "destination_resource": "printer" }
    });
    file["routes"] = json!({
        "r": { "network": "10.6.0.0/16", "peer_groups": ["g"], "groups": ["crew", "new"], "metric": 7 },
        "new": { "domains": ["maps.example"], "peer_groups": ["new"], "groups": ["g"] }
    });
    file["networks"] = json!({
        "net": { "description": "changed", "resources": {
                     "printer": { "address": "10.1.2.3", "groups": ["g", "new"] }, "new": { "address": "10.1.2.5", "groups": ["new"] } },
                 "routers": [{ "peer_groups": ["g"], "metric": 7 }, { "peer": "m1" }] },
        "new": { "resources": {}, "routers": [] }
    });
    file["account"]["settings"]["peer_login_expiration"] = json!(7200);
    file["dns"] = json!({
        "nameserver_groups": {
            "n": { "nameservers": [{ "ip": "10.6.0.53" }], "groups": ["g", "new"], "domains": ["it.example"] },
            "new": { "nameservers": [{ "ip": "10.6.0.55" }], "groups": ["new"], "domains": ["new.example"] }
        },
        "settings": { "disabled_management_groups": ["new"] },
        "zones": { "z": { "domain": "z.example", "distribution_groups": ["g", "new"],
                          "records": [{ "name": "a", "type": "A", "content": "10.1.1.1", "ttl": 60 }, { "name": "new", "type": "A", "content": "10.1.1.3" }] },
                   "new": { "domain": "new.example", "distribution_groups": ["new"],
                            "records": [{ "name": "a", "type": "A", "content": "10.1.1.1" }] } }
    });
    file
}

/// What is called so in the account once the second file is applied, by list.
const WANTED: [(&str, &str); 10] = [
    ("/groups", "crew g met new"),
    ("/setup-keys", "again changes k m1 open"),
    ("/peers", "m1"),
    ("/posture-checks", "check new"),
    ("/policies", "new stays"),
    ("/routes", "new r"),
    ("/networks", "net new"),
    ("/networks/resources", "new printer"),
    ("/dns/nameservers", "n new"),
    ("/dns/zones", "new z"),
];

/// What the second file lacks, and a key that it makes again.
const LEAVES: [(&str, &str); 11] = [
    ("/groups", "old"),
    ("/setup-keys", "again"),
    ("/setup-keys", "leaver"),
    ("/peers", "leaver"),
    ("/posture-checks", "gone"),
    ("/policies", "gone"),
    ("/routes", "gone"),
    ("/networks", "gone"),
    ("/networks/resources", "gone"),
    ("/dns/nameservers", "gone"),
    ("/dns/zones", "gone"),
];

fn commit(site: &Site, file: &Value) {
    site.commit(file.clone());
    site.checkout(&site.repo().tip("main"));
}

/// Stops the clocks of fakes at a second.
fn set_clocks(site: &Site, second: i64) {
    if let Some(netbird) = site.bench.server().netbird() {
        netbird.set_clock(second);
        site.gitea().set_clock(second);
    }
}

/// The job of a push of the newest commit.
pub(crate) fn push(site: &Site) -> Job {
    Job::push(site, &site.repo().tip("main"))
}

/// What others have: an object of each kind, some of them under names of the file.
fn others(bench: &Bench) -> BTreeSet<(&'static str, String)> {
    let before = world::read(bench);
    let member = bench.peer("theirs");
    let group = json!({ "name": "theirs", "peers": [member] });
    let group = id(&bench.create("/groups", group));
    let rule = json!({ "name": "r", "enabled": true, "action": "drop", "bidirectional": true, "protocol": "all",
                       "sources": [group], "destinations": [group] });
    bench.create(
        "/policies",
        json!({ "name": "stays", "enabled": true, "rules": [rule] }),
    );
    let key = json!({ "name": "k", "type": "reusable", "expires_in": 0, "auto_groups": [group] });
    bench.create("/setup-keys", key);
    bench.check("theirs");
    let route = json!({ "network_id": "r", "network": "172.16.0.0/12", "peer": member, "groups": [group], "metric": 5,
                        "masquerade": true, "enabled": true });
    bench.create("/routes", route);
    bench.resource("theirs");
    let network = id(&bench.create("/networks", json!({ "name": "net" })));
    let router =
        json!({ "peer_groups": [group], "metric": 9, "masquerade": true, "enabled": true });
    bench.create(&format!("/networks/{network}/routers"), router);
    let servers = json!({ "name": "theirs", "nameservers": [{ "ip": "10.9.9.9", "ns_type": "udp", "port": 53 }],
                          "groups": [group], "primary": true, "domains": [], "enabled": true });
    bench.create("/dns/nameservers", servers);
    let zone = json!({ "name": "z", "domain": "theirs.example", "distribution_groups": [group] });
    let zone = id(&bench.create("/dns/zones", zone));
    let record =
        json!({ "name": "db.theirs.example", "type": "A", "content": "10.9.9.9", "ttl": 5 });
    bench.create(&format!("/dns/zones/{zone}/records"), record);
    let after = world::read(bench);
    let is_new = |at: &&(&'static str, String)| !before.contains_key(*at);
    after.keys().filter(is_new).cloned().collect()
}

/// Pushes a commit that agrees to what the plan would delete.
fn agree(site: &Site) {
    let plan = site
        .in_job(&["plan", "--format", "json"], &push(site))
        .expect(0)
        .json();
    let line = plan["agreements"][0]["line"]
        .as_str()
        .expect("an agreement");
    let readme = format!("agreed: {line}");
    site.repo().push(
        "main",
        "README.md",
        readme.as_bytes(),
        &format!("agreed\n\n{line}"),
    );
    site.checkout(&site.repo().tip("main"));
}

impl Scene {
    /// The first file is applied, and both of its machines have enrolled: there is something for sync-events to do.
    pub(crate) fn enrolled() -> Scene {
        Scene::enrolled_on(Site::fake())
    }

    fn enrolled_on(site: Site) -> Scene {
        let begin = jiff::Timestamp::now().as_second() - 7200;
        set_clocks(&site, begin);
        let mira = json!({ "email": "mira@example.com", "name": "Mira", "role": "user", "is_service_user": false, "auto_groups": [] });
        match site.bench.server().netbird() {
            Some(netbird) => drop(netbird.person("mira@example.com", "user", "local")),
            None => drop(site.bench.create("/users", mira)),
        }
        let mut theirs: BTreeSet<_> = world::read(&site.bench).into_keys().collect();
        commit(&site, &first());
        site.in_job(&["apply"], &push(&site)).expect(0);
        set_clocks(&site, begin + 900);
        theirs.extend(others(&site.bench));
        for (name, second) in [("m1", 960), ("leaver", 1020)] {
            set_clocks(&site, begin + second);
            let secret = site.bench.unseal(name);
            site.bench
                .server()
                .enroll(&secret, &format!("host-of-{name}"))
                .expect("a new key");
        }
        set_clocks(&site, begin + 3600);
        Scene::at(site, theirs, &[])
    }

    /// The machines are renamed and grouped, and a commit changes something of each kind, with the line that agrees to its deletions.
    pub(crate) fn changed() -> Scene {
        Scene::changed_on(Site::fake())
    }

    fn changed_on(site: Site) -> Scene {
        let Scene { site, theirs, .. } = Scene::enrolled_on(site);
        let job = Job::schedule(&site, &site.repo().tip("main"));
        site.in_job(&["sync-events"], &job).expect(0);
        site.bench.group("met");
        let now = jiff::Timestamp::now().as_second();
        let is_fake = site.bench.server().netbird().is_some();
        let again = jiff::Timestamp::from_second(if is_fake { now - 1800 } else { now });
        commit(&site, &second(&again.expect("a time").to_string()));
        agree(&site);
        set_clocks(&site, now);
        Scene::at(site, theirs, &LEAVES)
    }

    fn at(
        site: Site,
        theirs: BTreeSet<(&'static str, String)>,
        leaves: &[(&'static str, &str)],
    ) -> Scene {
        fs::remove_dir_all(site.bench.path("sealed-keys")).ok();
        let before = world::read(&site.bench);
        let is_named = |(list, _): &(&'static str, String), object: &Value| {
            let name = world::name(object);
            leaves
                .iter()
                .any(|(of, leaves)| of == list && *leaves == name)
        };
        let leaves = before
            .iter()
            .filter(|(at, object)| !theirs.contains(*at) && is_named(at, object));
        let mut leaves: BTreeSet<_> = leaves.map(|(at, _)| at.clone()).collect();
        // a router has no name
        let old = leaves.iter().find(|(list, _)| *list == "/groups").cloned();
        let routers = before.iter().filter(|((list, _), router)| {
            let old = old.as_ref().filter(|_| *list == "/networks/routers");
            old.is_some_and(|(_, old)| router["peer_groups"] == json!([old]))
        });
        leaves.extend(routers.map(|(at, _)| at.clone()));
        let mut files = Vec::new();
        collect(&site.bench.path(""), &mut files);
        let scene = Scene {
            netbird: site.bench.server().netbird().map(NetBird::save),
            forge: site.gitea().save(),
            files,
            before,
            theirs,
            leaves,
            site,
        };
        scene.restore();
        scene
    }

    /// Takes everything back to the moment of the scene, as far as it can be.
    pub(crate) fn restore(&self) {
        let bench = &self.site.bench;
        self.rest();
        if let Some(netbird) = &self.netbird {
            bench.netbird().restore(netbird);
        }
        self.site.gitea().restore(&self.forge);
        for entry in fs::read_dir(bench.path("")).expect("the bench's directory") {
            let path = entry.expect("an entry").path();
            match path.is_dir() {
                true if path.ends_with(".git") => {}
                true => fs::remove_dir_all(&path).expect("a directory of the bench"),
                false => fs::remove_file(&path).expect("a file of the bench"),
            }
        }
        for (path, bytes) in &self.files {
            fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
            fs::write(path, bytes).expect("a file of the bench");
        }
        self.forget();
    }

    /// Waits until the servers have done all that they were asked for, and ends the faults.
    fn rest(&self) {
        self.site.bench.server().http().quiesce();
        self.site.gitea().quiesce();
    }

    fn forget(&self) {
        self.site.bench.server().http().clear_requests();
        self.site.gitea().clear_requests();
    }

    /// Runs a task without any fault, and returns what it came to.
    fn run(&self, task: &Task) -> Run {
        let output = (task.command)(self).output().expect("the program runs");
        self.site.bench.outcome(output)
    }
}

fn collect(dir: &Path, files: &mut Vec<(PathBuf, Vec<u8>)>) {
    for entry in fs::read_dir(dir).expect("a directory") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            if !path.ends_with(".git") {
                collect(&path, files);
            }
        } else {
            let bytes = fs::read(&path).expect("a file");
            files.push((path, bytes));
        }
    }
}

/// A command, as the tests run it.
#[derive(Clone, Copy)]
pub(crate) struct Task {
    pub(crate) name: &'static str,
    pub(crate) command: fn(&Scene) -> Command,
}

pub(crate) const APPLY: Task = Task {
    name: "apply",
    command: |scene| scene.site.job_command(&["apply"], &push(&scene.site)),
};

pub(crate) const SYNC_EVENTS: Task = Task {
    name: "sync-events",
    command: |scene| {
        let site = &scene.site;
        site.job_command(
            &["sync-events"],
            &Job::schedule(site, &site.repo().tip("main")),
        )
    },
};

pub(crate) const VIA_PR: Task = Task {
    name: "sync-events --via-pr",
    command: |scene| {
        let site = &scene.site;
        site.job_command(
            &["sync-events", "--via-pr"],
            &Job::schedule(site, &site.repo().tip("main")),
        )
    },
};

pub(crate) const MARK_ENROLLED: Task = Task {
    name: "mark-enrolled",
    command: |scene| {
        let site = &scene.site;
        site.job_command(
            &["mark-enrolled", "m1", "leaver"],
            &Job::schedule(site, &site.repo().tip("main")),
        )
    },
};

/// How many of the cases are tried: every nth, or each where `PROOF_EVERY` says 1.
fn every(nth: usize) -> usize {
    std::env::var("PROOF_EVERY").map_or(nth, |text| text.parse().expect("a number"))
}
