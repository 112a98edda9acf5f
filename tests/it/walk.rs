//! A repository's life, as its people see it: an account that is there already, what they and the dashboard change, and the
//! day on which the inventory is lost.

use serde_json::{Value, json};

use crate::run::{INVENTORY, Run, Site, git, id};

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
        .shows("there is no inventory yet. The first apply makes it.");
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
        .shows("p0 ")
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
        .shows("this clone has no inventory, so deletions are missing from this plan")
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
        .shows("NetBird has another group with the name \"g0\" (id ")
        .shows(
            ", which netbird.json manages. This file does not manage it and does not change it.",
        );
    site.run(&["plan", "-f", "lab.json"])
        .expect(3)
        .says("the inventory \"default\" is of netbird.json, and this file is lab.json. Nothing was changed.");
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
