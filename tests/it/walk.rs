//! A repository's life, as its people see it: an account that is there already, what they and the dashboard change, and the
//! day on which the inventory is lost.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use serde_json::{Value, json};

use crate::run::{INVENTORY, Job, Pull, Run, Site, git, id, open};

const BRANCH: &str = INVENTORY[0];

/// Pushes the file, and checks it out as the job of the push does.
fn pushed(site: &Site, file: &Value) {
    site.commit(file.clone());
    site.checkout("origin/main");
    site.bench.netbird().clear_requests();
}

/// An apply that writes nothing to NetBird.
#[track_caller]
fn idle(site: &Site) -> Run {
    let run = site.run(&["apply"]).expect(0);
    site.bench.assert_writes(&[]);
    run
}

#[track_caller]
fn plan(site: &Site) -> Value {
    let run = site.run(&["plan", "--format", "json"]).expect(0);
    run.json()
}

/// How many objects the inventory has that were made, and that were adopted.
fn recorded(site: &Site) -> [usize; 2] {
    let inventory = site.inventory();
    ["created", "adopted"].map(|list| inventory[list].as_object().map_or(0, serde_json::Map::len))
}

/// An account of 40 objects as the dashboard makes them, and its file.
fn account() -> (Site, Value) {
    let site = Site::fake();
    let bench = &site.bench;
    bench.delete("/policies", "Default");
    for at in 0..20 {
        let group = bench.group(&format!("g{at}"));
        let rule = json!({ "name": "r", "enabled": true, "action": "accept", "bidirectional": true, "protocol": "all",
                           "sources": [group], "destinations": [group] });
        let name = format!("p{at}");
        bench.create(
            "/policies",
            json!({ "name": name, "enabled": true, "rules": [rule] }),
        );
    }
    let export = bench.run(&["export"]).expect(0).stdout;
    let file = serde_json::from_str(&export).unwrap();
    pushed(&site, &file);
    (site, file)
}

#[test]
fn an_account_that_is_there_is_adopted_and_then_kept_as_the_file_says() {
    let (site, mut file) = account();
    let bench = &site.bench;
    site.run(&["plan", "--detailed-exitcode"])
        .expect(0)
        .shows("NetBird plan: No changes, 40 to adopt\n")
        .shows("there is no inventory yet. The first apply creates it.");
    idle(&site).shows("40 adopted");
    assert_eq!(recorded(&site), [0, 40]);
    site.run(&["plan"])
        .expect(0)
        .shows("No changes, NetBird is as the file says");

    // a policy of the dashboard leaves the file: it stays, with the line that deletes it, also after the merge
    let removed = |file: &mut Value, name: &str| {
        let policies = file["policies"].as_object_mut().unwrap();
        policies.remove(name).expect("it was there");
    };
    removed(&mut file, "p0");
    pushed(&site, &file);
    let of_plan = plan(&site);
    let text = site.run(&["plan"]).expect(0);
    let text = text
        .shows("\"p0\" ")
        .shows("stays in NetBird: it existed before this file managed it");
    let line = of_plan["agreements"][0]["line_with_let_go"]
        .as_str()
        .unwrap();
    let text = text.shows(line);
    assert_eq!(
        text.stdout.matches("Allow-Deletes").count(),
        1,
        "{}",
        text.stdout
    );
    idle(&site);
    assert_eq!(bench.all("/policies", "p0").len(), 1);
    let agreed = line.strip_prefix("Allow-Deletes: ").unwrap();
    let run = site.run(&["apply", "--allow-deletes", agreed]).expect(0);
    run.shows("1 deleted");
    assert_eq!(bench.all("/policies", "p0"), [Value::Null; 0]);

    // one of ours is made, and goes with its entry
    file["policies"]["ours"] = json!({ "sources": ["g1"], "destinations": ["g2"] });
    pushed(&site, &file);
    site.run(&["apply"]).expect(0).shows("1 created");
    assert_eq!(recorded(&site), [1, 39]);
    removed(&mut file, "ours");
    pushed(&site, &file);
    site.run(&["apply"]).expect(0).shows("1 deleted");
    assert_eq!(recorded(&site), [0, 39]);
}

#[test]
fn what_the_dashboard_does_is_told_and_set_right_and_nobody_elses_is_touched() {
    let (site, mut file) = account();
    let bench = &site.bench;
    site.run(&["apply"]).expect(0);

    // a colleague's policy of the name of ours is one note
    let mut namesake = bench.one("/policies", "p1");
    namesake["description"] = json!("a colleague's");
    namesake["rules"][0] = json!({ "name": "r", "enabled": true, "action": "accept", "bidirectional": true, "protocol": "udp",
                                   "ports": ["9"], "sources": [bench.id("/groups", "g2")], "destinations": [bench.id("/groups", "g3")] });
    namesake["source_posture_checks"] = json!([]);
    let namesake = id(&bench.create("/policies", namesake));
    bench.netbird().clear_requests();
    let said = format!("NetBird has another policy with the name \"p1\" (id {namesake})");
    idle(&site).shows(&said);
    assert_eq!(plan(&site)["notices"].as_array().unwrap().len(), 1);

    // ours has another name in NetBird, and gets its own again
    let before = bench.id("/policies", "p2");
    bench.edit("/policies", "p2", json!({ "name": "by hand" }));
    site.run(&["plan"]).expect(0).shows(
        "somebody renamed it to \"by hand\" in NetBird; this plan renames it back to \"p2\"",
    );
    site.run(&["apply"]).expect(0).shows("1 changed");
    assert_eq!(bench.id("/policies", "p2"), before);

    // or the file follows
    let before = bench.id("/groups", "g4");
    bench.edit("/groups", "g4", json!({ "name": "four" }));
    let text = file.to_string().replace("\"g4\"", "\"four\"");
    file = serde_json::from_str(&text).unwrap();
    pushed(&site, &file);
    site.run(&["plan", "--detailed-exitcode"])
        .expect(0)
        .shows("No changes");
    idle(&site);
    assert_eq!(site.inventory()["adopted"]["groups/four"], json!([before]));

    // what is deleted there is made again, and is ours then
    bench.delete("/policies", "p5");
    site.run(&["plan"])
        .expect(0)
        .shows("was deleted in NetBird; this plan creates it again");
    site.run(&["apply"]).expect(0).shows("1 created");
    assert_eq!(recorded(&site), [1, 39]);
}

#[test]
fn a_lost_inventory_changes_nothing_and_the_next_apply_adopts_again() {
    let (site, mut file) = account();
    let gitea = site.gitea();
    file["groups"]["ours"] = json!({});
    pushed(&site, &file);
    site.run(&["apply"]).expect(0);
    assert_eq!(recorded(&site), [1, 40]);
    let path = gitea.path(&format!("/branches/{BRANCH}"));
    assert_eq!(gitea.call("DELETE", &path, Value::Null).0, 204);
    file["groups"].as_object_mut().unwrap().remove("ours");
    file["policies"].as_object_mut().unwrap().remove("p0");
    pushed(&site, &file);
    site.run(&["plan"])
        .expect(0)
        .shows("No changes, 39 to adopt")
        .shows("there is no inventory yet");
    idle(&site).shows("39 adopted");
    assert_eq!(recorded(&site), [0, 39]);
}

/// Whoever wants to know what happened reads the branch: numbers, the commit that was applied and the run, no other text.
#[test]
fn the_log_of_the_branch_tells_what_happened() {
    let (site, mut file) = account();
    let of_main = || site.repo().tip("main");
    let first = of_main();
    site.run(&["apply"]).expect(0);
    file["groups"]["ours"] = json!({});
    file["policies"].as_object_mut().unwrap().remove("p0");
    pushed(&site, &file);
    let second = of_main();
    site.run(&["apply"]).expect(0);
    site.checkout("origin/main");
    let tip = format!("origin/{BRANCH}");
    let log = git(
        &site.bench.path(""),
        &[
            "log",
            "--reverse",
            "--format=%B",
            &tip,
            "--not",
            "origin/main",
        ],
    );
    let texts = [
        "the first inventory: 40 adopted",
        &first,
        "1 created, 1 let go",
        &second,
    ];
    let mut rest = log.as_str();
    for text in texts {
        let (_, after) = rest
            .split_once(text)
            .unwrap_or_else(|| panic!("{text}: {log}"));
        rest = after;
    }
    assert!(
        !log.contains("ours") && log.matches("[skip ci]").count() >= 2,
        "{log}"
    );
}

/// A clone has the branch, or is told how to fetch it; a laptop plans by it without a token.
#[test]
fn a_clone_plans_by_what_it_fetched_and_says_what_is_missing() {
    let (site, mut file) = account();
    file["groups"]["ours"] = json!({});
    pushed(&site, &file);
    site.run(&["apply"]).expect(0);
    file["groups"].as_object_mut().unwrap().remove("ours");
    pushed(&site, &file);
    let dir = site.bench.path("");
    git(
        &dir,
        &[
            "remote",
            "add",
            "origin",
            "https://git.example.org/acme/network.git",
        ],
    );
    let without = [("GITEA_URL", ""), ("GITEA_REPO", ""), ("GITEA_TOKEN", "")];
    let laptop = || site.run_with(&["plan"], &without).expect(0);
    laptop().shows("1 to delete").hides("inventory");
    let branch = format!("refs/remotes/origin/{BRANCH}");
    git(&dir, &["update-ref", "-d", &branch]);
    laptop()
        .shows("If there was one, deletions are missing from this plan")
        .shows(&format!("git fetch origin +refs/heads/{BRANCH}:{branch}"))
        .hides("to delete")
        .hides("to adopt");
}

#[test]
fn two_environments_of_a_repository_leave_each_others_objects_alone() {
    let (site, _) = account();
    site.run(&["apply"]).expect(0);
    let lab = site.text(json!({ "groups": { "g0": {}, "lab": {} }, "policies": {} }));
    site.gitea().push("main", "lab.json", &lab, "lab\n");
    site.checkout("origin/main");
    site.bench.netbird().clear_requests();
    let of_lab =
        |args: &[&str]| site.run(&[args, &["-f", "lab.json", "--environment", "lab"]].concat());
    of_lab(&["plan"])
        .expect(0)
        .shows("group \"g0\" is skipped: \"netbird.json\" manages this group (id ");
    site.run(&["plan", "-f", "lab.json"])
        .expect(3)
        .says("the inventory \"default\" belongs to netbird.json, but this file is lab.json. Nothing was changed.");
    let lab = site.text(json!({ "groups": { "lab": {} }, "policies": {} }));
    site.gitea().push("main", "lab.json", &lab, "lab\n");
    site.checkout("origin/main");
    of_lab(&["apply", "--prune", "all"])
        .expect(0)
        .shows("1 created");
    site.bench.assert_writes(&["POST /groups"]);
    assert_eq!(recorded(&site), [0, 40]);
    assert_eq!(site.bench.names("/policies").len(), 20);
}

/// A clone of `main` alone in place of the checkout.
fn cloned(site: &Site, flags: &[&str]) {
    std::fs::remove_dir_all(site.bench.path(".git")).unwrap();
    let main = ["+refs/heads/main:refs/remotes/origin/main"];
    site.fetch(&[flags, &main].concat());
    git(
        &site.bench.path(""),
        &["checkout", "-q", "--force", "--detach", "origin/main"],
    );
}

/// Merges the file as a pull request whose plan ends so, and checks it out. Returns the plan's line, the pull request and
/// the push's job.
fn merged(site: &Site, branch: &str, file: &Value, code: i32) -> (String, u64, Job) {
    let repo = site.repo();
    let base = repo.tip("main");
    let head = repo.push(
        branch,
        "netbird.json",
        site.text(file.clone()).as_bytes(),
        branch,
    );
    let number = repo.open_pr(branch, "main");
    site.checkout(&head);
    let pull = || Pull {
        number,
        head: &head,
        base: &base,
    };
    let plan = |args: &[&str]| site.in_job(args, &Job::pull_request(site, &pull()));
    let planned = plan(&["plan", "--comment", "--format", "json"])
        .expect(code)
        .json();
    let line = planned["agreements"][0]["line"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    if code == 3 {
        repo.describe(number, &line);
        plan(&["plan", "--comment"]).expect(0);
    }
    let merge = repo.merge(number);
    site.checkout(&merge);
    (line, number, Job::push(site, &merge))
}

/// Applies, and ends the run right after the answer to its nth creation of a key.
fn killed(site: &Site, job: &Job, nth: usize) {
    let mut command = site.job_command(&["apply", "-vv", "--log-format", "json"], job);
    let mut child = command
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let made = lines
        .map(Result::unwrap)
        .filter(|line| line.contains("\"method\":\"POST\"") && line.contains("/api/setup-keys\""));
    assert!(made.take(nth).count() == nth, "it ended before");
    child.kill().unwrap();
    child.wait().unwrap();
}

/// The secret of a key as whoever reads the branch has it.
fn secret(site: &Site, name: &str) -> String {
    let name = site.bench.server().name(name);
    let inventory = site.inventory();
    let ids = inventory["created"][format!("setup_keys/{name}")].as_array();
    let id = ids.and_then(|ids| ids.last()).and_then(Value::as_str);
    let id = id.unwrap_or_else(|| panic!("{name} is not recorded: {inventory}"));
    let copy = format!(".netbird-gitops/default/keys/{name}.{id}.age");
    open(&site.repo().file(BRANCH, &copy))
}

/// From a killed apply to the day on which the machine leaves; then a key that somebody made by hand, and shallow clones. On
/// the fakes, or on real servers.
#[test]
fn a_machine_comes_is_replaced_and_leaves() {
    let site = Site::scenario_that_enrolls();
    let bench = &site.bench;
    let now = jiff::Timestamp::now();
    if let Some(netbird) = bench.server().netbird() {
        netbird.set_clock(now.as_second() - 200);
    }
    let key = json!({ "type": "one-off", "expires_in": 86400, "auto_groups": ["crew"] });
    let mut file = json!({
        "groups": { "crew": {}, "deck": { "peers": ["hawk"] } },
        "setup_keys": { "hawk": key, "kite": key },
        "policies": { "crew": { "sources": ["crew"], "destinations": ["deck"] } }
    });
    site.commit(file.clone());
    site.checkout("origin/main");
    let job = Job::push(&site, &site.repo().tip("main"));

    // killed twice, run again: each key is there once, and its copy opens it
    killed(&site, &job, 1);
    killed(&site, &job, 1);
    site.in_job(&["apply"], &job).expect(0);
    bench.one("/setup-keys", "kite");
    let machine = bench
        .server()
        .enroll(&secret(&site, "hawk"), "old-host")
        .unwrap();
    site.in_job(
        &["sync-events"],
        &Job::schedule(&site, &site.repo().tip("main")),
    )
    .expect(0)
    .shows("1 key marked");
    assert_eq!(bench.id("/peers", "hawk"), machine);
    file = serde_json::from_str(&bench.server().unprefixed(&site.file())).unwrap();
    assert_eq!(file["setup_keys"]["hawk"]["enrolled"], true);

    // a pending key is made again by hand
    let old = secret(&site, "kite");
    site.checkout("origin/main");
    let job = Job::push(&site, &site.repo().tip("main"));
    site.in_job(&["apply", "--replace", "setup_keys/kite"], &job)
        .expect(0);
    assert!(bench.server().enroll(&old, "too-late").is_err());
    assert_ne!(secret(&site, "kite"), old);

    // another machine in place of the first: it waits until somebody agrees, also after the merge
    let asked = match bench.server().netbird() {
        Some(_) => jiff::Timestamp::from_second(now.as_second() - 100).unwrap(),
        None => jiff::Timestamp::now(),
    };
    file["setup_keys"]["hawk"]["enrolled"] = json!(false);
    file["setup_keys"]["hawk"]["reissue_after"] = json!(asked.to_string());
    if let Some(netbird) = bench.server().netbird() {
        netbird.set_clock(now.as_second());
    }
    let (_, number, job) = merged(&site, "replace", &file, 0);
    site.in_job(&["apply", "--comment"], &job).expect(0);
    let new = bench
        .server()
        .enroll(&secret(&site, "hawk"), "new-host")
        .unwrap();
    let planned = site
        .in_job(&["plan", "--format", "json"], &job)
        .expect(0)
        .json();
    let line = planned["agreements"][0]["line"].as_str().unwrap();
    site.in_job(&["apply"], &job).expect(3);
    site.repo().describe(number, line);
    site.in_job(&["apply", "--comment"], &job).expect(0);
    assert_eq!(bench.id("/peers", "hawk"), new);
    site.in_job(&["sync-events"], &job)
        .expect(0)
        .shows("1 key marked");
    file["setup_keys"]["hawk"]["enrolled"] = json!(true);

    // it leaves: the pull request is red until the line stands in it
    for section in ["setup_keys", "groups"] {
        file[section]
            .as_object_mut()
            .unwrap()
            .remove(match section {
                "groups" => "deck",
                _ => "hawk",
            });
    }
    file["policies"]["crew"]["destinations"] = json!(["crew"]);
    let (line, _, job) = merged(&site, "leaves", &file, 3);
    assert!(line.starts_with("Allow-Deletes: "), "{line}");
    site.in_job(&["apply", "--comment"], &job).expect(0);
    assert_eq!(bench.all("/peers", "hawk"), [Value::Null; 0]);
    assert_eq!(bench.all("/groups", "deck"), [Value::Null; 0]);
    site.in_job(&["apply"], &job).expect(0).shows("No changes");

    // somebody's key is adopted where somebody says so
    let crew = bench.id("/groups", "crew");
    let by_hand =
        json!({ "name": "lark", "type": "one-off", "expires_in": 86400, "auto_groups": [crew] });
    let by_hand = id(&bench.create("/setup-keys", by_hand));
    file["setup_keys"]["lark"] = key;
    let (_, _, job) = merged(&site, "lark", &file, 0);
    let adopt = format!("setup_keys/lark={by_hand}");
    site.in_job(&["apply", "--adopt", &adopt], &job)
        .expect(0)
        .shows("1 adopted");
    assert_eq!(bench.id("/setup-keys", "lark"), by_hand);

    // a job's clone of depth 1 plans as well
    cloned(&site, &["--depth=1"]);
    assert!(bench.path(".git/shallow").exists());
    site.in_job(&["plan", "--detailed-exitcode"], &job)
        .expect(0)
        .shows("No changes");
    // let go: the clone of one branch is told what it lacks, the one that fetched it says so
    file["setup_keys"].as_object_mut().unwrap().remove("kite");
    let (_, _, job) = merged(&site, "without-kite", &file, 0);
    cloned(&site, &[]);
    let laptop = [("GITEA_URL", ""), ("GITEA_REPO", ""), ("GITEA_TOKEN", "")];
    let dir = bench.path("");
    git(
        &dir,
        &[
            "remote",
            "add",
            "origin",
            "https://git.example.org/acme/network.git",
        ],
    );
    let plan = || site.run_with(&["plan"], &laptop).expect(0);
    plan().shows("If there was one, deletions are missing from this plan");
    let branch = format!("+refs/heads/{BRANCH}:refs/remotes/origin/{BRANCH}");
    site.fetch(&[&branch]);
    plan().shows("1 to delete");
    site.in_job(&["apply"], &job).expect(0).shows("1 deleted");
    assert_eq!(bench.all("/setup-keys", "kite"), [Value::Null; 0]);
}
