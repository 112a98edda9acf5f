//! Accidents of a merge change nothing without an override.

use fakes::{Effect, Fault};
use serde_json::{Value, json};

use super::{base, kinds, with};
use crate::run::Bench;
use crate::run::history::second;

/// Two of each kind, all of it ours.
fn full() -> Value {
    let mut file = base();
    for name in ["x", "y"] {
        for (section, _, mut entry) in kinds() {
            if section == "routes" {
                entry["network"] = json!(format!(
                    "10.{}.0.0/16",
                    name.len() + usize::from(name == "y")
                ));
            }
            file = with(file, section, name, entry);
        }
    }
    file
}

fn agreed() -> Bench {
    let bench = Bench::in_git();
    bench.applied(1.0, full());
    bench
}

/// Everything that a file can manage, as the server has it.
fn account(bench: &Bench) -> Value {
    let mut account = json!({});
    for path in [
        "/groups",
        "/setup-keys",
        "/policies",
        "/routes",
        "/dns/nameservers",
        "/peers",
    ] {
        account[path] = json!(bench.server().list(path));
    }
    account
}

/// Commits a text in the file's place.
fn committed(bench: &Bench, text: &str) {
    bench
        .hour(9.0)
        .text(text)
        .commit(second(9.0), "an accident");
}

/// The object would be deleted with the entry that lost it.
#[test]
fn an_inventory_that_has_an_object_twice_is_refused() {
    let bench = agreed();
    let mut inventory = bench.inventory();
    let created = &mut inventory["created"];
    created["policies/y"] = created["policies/x"].clone();
    let id = created["policies/x"][0].as_str().unwrap().to_owned();
    bench.write_inventory(inventory);
    let why = format!("it has id {id} twice, for policies/x and for policies/y");
    bench.apply(&[]).expect(1).says(&why);
    bench.assert_writes(&[]);
}

#[test]
fn a_lost_section_is_not_managed() {
    for section in ["groups", "setup_keys", "policies", "routes", "dns"] {
        let bench = agreed();
        let before = account(&bench);
        let mut file = full();
        file.as_object_mut().unwrap().remove(section);
        bench.declared(9.0, file);
        bench.leaves_all(&[]).shows("No changes");
        assert_eq!(account(&bench), before, "{section}");
        // found again, it is as if nothing had been
        bench.declared(10.0, full());
        bench.leaves_all(&[]).shows("No changes");
        assert_eq!(account(&bench), before, "{section}");
    }
}

#[test]
fn everything_lost_is_an_error() {
    let bench = agreed();
    let before = account(&bench);
    for text in ["", " \n", "null", "[]", "{\"groups\": null}"] {
        committed(&bench, text);
        bench.cannot(&[]);
        bench.cannot(&["--allow-deletes", "10", "--prune", "all"]);
    }
    // an empty object manages nothing, so nothing goes
    committed(&bench, "{}");
    bench.leaves_all(&["--allow-deletes", "10", "--prune", "all"]);
    assert_eq!(account(&bench), before);
    std::fs::remove_file(bench.path("netbird.json")).unwrap();
    bench.git(&["add", "-A", "--", "netbird.json"]);
    bench.git_at(second(10.0), &["commit", "-q", "-m", "lost"]);
    bench.cannot(&[]);
    assert_eq!(account(&bench), before);
    // nor does a version that nobody could apply end what was declared
    bench.declared(11.0, full());
    bench.leaves_all(&[]).shows("No changes");
}

#[test]
fn emptied_sections_meet_the_gates() {
    for section in [
        "groups",
        "setup_keys",
        "policies",
        "routes",
        "nameserver_groups",
    ] {
        let bench = agreed();
        let before = account(&bench);
        let mut file = full();
        let place = match section {
            "nameserver_groups" => &mut file["dns"][section],
            section => &mut file[section],
        };
        *place = json!({});
        if section == "groups" {
            file = json!({ "groups": {}, "policies": {}, "routes": {}, "setup_keys": file["setup_keys"],
                           "dns": { "nameserver_groups": {} } });
        }
        bench.declared(9.0, file);
        bench.refuses(&[]).says("this plan deletes all ");
        assert_eq!(account(&bench), before, "{section}");
    }
}

#[test]
fn half_lost_meets_the_limit() {
    let bench = Bench::in_git();
    let groups = |number: usize| {
        (0..number).fold(base(), |file, n| {
            with(file, "groups", &format!("n{n:02}"), json!({}))
        })
    };
    bench.applied(1.0, groups(30));
    let before = account(&bench);
    bench.declared(9.0, groups(15));
    bench
        .refuses(&[])
        .says("this plan deletes 15 objects, more than --max-deletes 10");
    bench.plan(&[]).expect(0).shows("apply would refuse");
    assert_eq!(account(&bench), before);
}

#[test]
fn half_a_file_and_conflict_markers_are_errors() {
    let bench = agreed();
    let before = account(&bench);
    let text = format!("{:#}\n", full());
    let half = &text[..text.len() / 2];
    let markers = text.replacen(
        "\"x\": {}",
        "\n<<<<<<< HEAD\n    \"x\": {}\n=======\n    \"x\": { \"peers\": [] }\n>>>>>>> feature\n",
        1,
    );
    assert_ne!(markers, text);
    for broken in [half, &markers] {
        committed(&bench, broken);
        bench.cannot(&[]).says("netbird.json:");
    }
    assert_eq!(account(&bench), before);
    bench.declared(10.0, full());
    bench.leaves_all(&[]);
    // and what was there before the accident is still ours after it
    let mut less = full();
    less["groups"].as_object_mut().unwrap().remove("y");
    bench.declared(12.0, less);
    assert_eq!(bench.planned(&[]), ["delete_group y"]);
}

#[test]
fn a_group_that_is_lost_while_others_refer_to_it_is_an_error() {
    let bench = agreed();
    let mut file = full();
    file["groups"].as_object_mut().unwrap().remove("g");
    bench.declared(9.0, file);
    bench
        .cannot(&[])
        .says("refers to group \"g\", which this plan deletes");
}

/// Commits the file under another name.
fn moved(bench: &Bench, to: &str, file: Value) {
    std::fs::write(bench.path(to), file.to_string()).unwrap();
    std::fs::remove_file(bench.path("netbird.json")).unwrap();
    bench.git(&["add", "-A", "netbird.json", to]);
    bench.git_at(second(9.0), &["commit", "-q", "-m", "moved"]);
}

#[test]
fn the_inventory_follows_a_file_that_moved() {
    let bench = agreed();
    let mut file = full();
    file["groups"].as_object_mut().unwrap().remove("y");
    moved(&bench, "net.json", file);
    let args = ["-f", "net.json"];
    assert_eq!(bench.planned(&args), ["delete_group y"]);
    bench.apply(&args).expect(0).says_anywhere(
        "the file was netbird.json when it was applied last. Its inventory is used for the new path.",
    );
    assert_eq!(bench.inventory()["file"], "net.json");
    bench.leaves_all(&args).shows("No changes");
}

#[test]
fn another_file_beside_the_one_of_the_inventory_is_refused() {
    let bench = agreed();
    std::fs::write(bench.path("other.json"), base().to_string()).unwrap();
    let said = "the inventory \"default\" belongs to netbird.json, but this file is other.json. Nothing was changed.";
    bench.plan(&["-f", "other.json"]).expect(3).says(said);
    bench.apply(&["-f", "other.json"]).expect(3).says(said);
    bench.assert_writes(&[]);
}

#[test]
fn without_its_inventory_nothing_goes_that_the_file_does_not_declare() {
    let bench = Bench::in_git();
    let policies = |names: &[&str]| {
        let policy = kinds()[2].2.clone();
        let with_policy = |file, name: &&str| with(file, "policies", name, policy.clone());
        names.iter().fold(base(), with_policy)
    };
    bench.applied(1.0, policies(&["x", "y"]));
    std::fs::remove_dir_all(bench.path(".netbird-gitops")).unwrap();
    bench.declared(9.0, policies(&["x"]));
    bench.plan(&[]).expect(0).shows("there is no inventory yet");
    bench.leaves_all(&[]).shows("2 adopted");
    assert_eq!(bench.names("/policies"), ["Default", "x", "y"]);
    // what the event log says that we made is ours again, and goes with its entry
    bench.declared(10.0, policies(&["y"]));
    assert_eq!(bench.planned(&[]), ["adopt_policy y", "delete_policy x"]);
}

/// Points 3 and 6 of issue 19: neither the clock nor the order of commits says what is ours.
#[test]
fn a_commit_of_1970_declares_a_policy_made_by_hand_and_the_next_one_lets_it_go() {
    let bench = Bench::in_git();
    bench.applied(1.0, base());
    let theirs = super::by_hand(&bench, "policies", "p");
    bench.file(with(base(), "policies", "p", kinds()[2].2.clone()));
    bench.commit(0, "of 1970");
    bench.leaves_all(&[]).shows("1 adopted");
    bench.declared(2.0, base());
    bench.leaves_all(&[]).shows("nobody manages it");
    assert_eq!(bench.id("/policies", "p"), theirs);
}

#[test]
fn a_merge_that_swapped_the_first_parents_disowns_nothing() {
    let bench = Bench::in_git();
    bench.applied(1.0, with(base(), "groups", "x", json!({})));
    bench.git(&["checkout", "-q", "-b", "feature", "HEAD"]);
    bench.commit(second(2.0), "a commit of the branch");
    bench.git(&["checkout", "-q", "main"]);
    bench.applied(
        3.0,
        with(
            with(base(), "groups", "x", json!({})),
            "groups",
            "y",
            json!({}),
        ),
    );
    // as somebody does who merges main into his branch and pushes that to main
    bench.git(&["checkout", "-q", "feature"]);
    bench.git_at(
        second(4.0),
        &["merge", "-q", "--no-ff", "-m", "merge", "main"],
    );
    bench.git(&["checkout", "-q", "-B", "main"]);
    bench.leaves_all(&[]).shows("NetBird is as the file says");
    bench.declared(5.0, base());
    assert_eq!(bench.planned(&[]), ["delete_group x", "delete_group y"]);
}

/// Point 5 of issue 19.
#[test]
fn an_apply_of_a_file_that_is_not_committed_disowns_nothing() {
    let bench = Bench::in_git();
    bench.applied(1.0, base());
    let key = json!({ "type": "one-off", "expires_in": 86400, "auto_groups": ["g"] });
    let file = with(
        with(base(), "groups", "x", json!({})),
        "setup_keys",
        "k",
        key,
    );
    bench.file(file.clone());
    bench.apply(&[]).expect(0).shows("2 created");
    bench.leaves_all(&[]).shows("NetBird is as the file says");
    bench.declared(2.0, file);
    bench.leaves_all(&[]).shows("NetBird is as the file says");
    assert_eq!(bench.all("/setup-keys", "k").len(), 1);
    bench.file(base());
    assert_eq!(bench.planned(&[]), ["delete_group x", "delete_setup_key k"]);
}

#[test]
fn a_revert_brings_back_what_was_removed_and_no_more() {
    let bench = agreed();
    let mut less = full();
    less["policies"].as_object_mut().unwrap().remove("y");
    bench.applied(9.0, less);
    assert_eq!(bench.names("/policies"), ["Default", "x"]);
    bench.git_at(second(10.0), &["revert", "--no-edit", "HEAD"]);
    bench.hour(10.0);
    assert_eq!(bench.planned(&[]), ["create_policy y"]);
    bench.apply(&[]).expect(0);
    bench.git_at(second(11.0), &["revert", "--no-edit", "HEAD"]);
    assert_eq!(bench.planned(&[]), ["delete_policy y"]);
}

#[test]
fn a_section_that_went_is_said_as_long_as_something_of_it_lives() {
    let bench = Bench::in_git();
    let key = json!({ "type": "reusable", "expires_in": 0 });
    let group = json!({ "groups": { "g": {} } });
    let mut both = group.clone();
    both["setup_keys"] = json!({ "k": key });
    bench.applied(1.0, both);
    // somebody's own key is none of it
    bench.create(
        "/setup-keys",
        json!({ "name": "theirs", "type": "reusable", "expires_in": 0, "auto_groups": [] }),
    );
    // the last entry goes, and the section with it
    bench.hour(5.0).file(group.clone());
    let said = "1 setup key stays in NetBird as before: \"k\"";
    bench
        .plan(&[])
        .expect(0)
        .shows("section \"setup_keys\" is removed from the file by this change")
        .shows(said);
    bench.commit(crate::run::history::second(5.0), "all of them");
    bench
        .leaves_all(&[])
        .shows("section \"setup_keys\" is no longer in the file")
        .shows(said);
    bench
        .plan(&["--format", "markdown"])
        .expect(0)
        .shows("1 setup key stays in NetBird");
    let drift = bench.run(&["drift", "--format", "json"]).stdout;
    assert!(
        drift.contains("its section is no longer in the file"),
        "{drift}"
    );
    bench.delete("/setup-keys", "k");
    let run = bench.plan(&[]).expect(0);
    assert!(!run.stdout.contains("setup_keys"), "{}", run.stdout);
}

#[test]
fn a_section_that_was_emptied_and_then_went_is_said_likewise() {
    let bench = Bench::in_git();
    let policy = json!({ "sources": ["g"], "destinations": ["g"] });
    let group = json!({ "groups": { "g": {} } });
    let mut file = group.clone();
    file["policies"] = json!({ "p": policy });
    bench.applied(1.0, file.clone());
    file["policies"] = json!({});
    bench.declared(5.0, file);
    bench.declared(6.0, group);
    bench
        .leaves_all(&[])
        .shows("1 policy stays in NetBird as before: \"p\"");
}

/// Another account can have the same names, and the same name itself: its id is what counts.
#[test]
fn another_account_with_the_same_names_is_refused_by_whatever_writes() {
    let bench = agreed();
    let other = Bench::fake();
    for name in bench.names("/groups") {
        if name != "All" {
            other.group(&name);
        }
    }
    let before = account(&other);
    let url = other.netbird().url();
    let token = other.netbird().token();
    let elsewhere = [("NETBIRD_API_URL", &*url), ("NETBIRD_API_TOKEN", &*token)];
    let inventory = bench.inventory();
    for args in [
        &["plan"][..],
        &["plan", "--prune", "all"],
        &["apply"],
        &["apply", "--prune", "all", "--allow-deletes", "99"],
        &["apply", "--any-commit", "--adopt", "groups/g=x"],
        &["drift"],
    ] {
        let run = bench.run_with(args, &elsewhere).expect(3);
        run.says("but this token belongs to account");
    }
    other.netbird().clear_requests();
    let own = other.netbird().account_id();
    let run = bench.run_with(&["apply", "--account", &own], &elsewhere);
    run.expect(3).says("but this token belongs to account");
    let run = bench.run_with(&["apply", "--account", "x"], &elsewhere);
    run.expect(3);
    assert_eq!(account(&other), before);
    assert_eq!(bench.inventory(), inventory);
}

/// Answers these lists as they were, `times` times.
fn answers_old(bench: &Bench, old: &[(&str, Vec<Value>)], times: usize) {
    for (path, old) in old {
        let fault = Fault::on("GET", path).times(times);
        bench
            .netbird()
            .fault(fault.then(Effect::Otherwise(json!(old))));
    }
}

/// Each command ends with an error by these lists and changes nothing; where they are old once only, it reads them again.
fn is_refused(bench: &Bench, old: &[(&str, Vec<Value>)]) {
    let (before, inventory) = (account(bench), bench.inventory());
    for command in ["plan", "apply", "drift"] {
        answers_old(bench, old, 1_000);
        let run = bench.run(&[command]);
        run.expect(1)
            .says("but NetBird has it: the list is old or incomplete");
        bench.netbird().clear_faults();
        answers_old(bench, old, 1);
        bench.run(&[command]).expect(0);
        bench.netbird().clear_faults();
    }
    assert_eq!(account(bench), before);
    assert_eq!(bench.inventory(), inventory);
}

/// An old list, or one that something before NetBird cut, is not the account: what it lacks is asked for by its id.
#[test]
fn what_a_list_lacks_and_netbird_has_is_not_made_again() {
    for (section, path, _) in kinds() {
        let bench = Bench::in_git();
        let mut file = with(base(), "groups", "x", json!({}));
        for (section, _, entry) in kinds() {
            file = with(file, section, "x", entry);
        }
        file["networks"]["x"]["resources"]["inner"] =
            json!({ "groups": ["g"], "address": "10.8.0.0/24" });
        file["networks"]["x"]["routers"] = json!([{ "peer_groups": ["g"] }]);
        file["dns"]["zones"]["x"]["records"] =
            json!([{ "name": "db", "type": "A", "content": "10.8.0.9" }]);
        bench.applied(1.0, file);
        let all = bench.server().list(path);
        let mut rest = all.clone();
        rest.retain(|one| one["name"] != "x" && one["network_id"] != "x");
        let mut empty_inside = all.clone();
        for zone in empty_inside.iter_mut().filter(|_| section == "zones") {
            zone["records"] = json!([]);
        }
        for old in [Vec::new(), rest, empty_inside] {
            // of groups alone All is always there
            if old != all && (section != "groups" || !old.is_empty()) {
                is_refused(&bench, &[(path, old)]);
            }
        }
        bench.leaves_all(&[]).shows("No changes");
    }
}

/// A resource can move from network to network, and a record can be in a zone that somebody else manages.
#[test]
fn what_an_unrecorded_object_has_in_it_is_asked_for_there() {
    let bench = Bench::in_git();
    let lists = ["/networks", "/networks/resources", "/groups", "/dns/zones"];
    let mut file = with(base(), "networks", "x", json!({ "resources": {} }));
    bench.applied(1.0, file.clone());
    let group = bench.id("/groups", "g");
    bench.create(
        "/dns/zones",
        json!({ "name": "theirs", "domain": "theirs.example", "distribution_groups": [group] }),
    );
    let before = lists.map(|path| (path, bench.server().list(path)));
    let [networks, resources, groups, zones] = before;
    file["networks"]["x"]["resources"]["inner"] =
        json!({ "groups": ["g"], "address": "10.8.0.0/24" });
    file["dns"]["zones"]["theirs"] =
        json!({ "records": [{ "name": "db.theirs.example", "type": "A", "content": "10.8.0.9" }] });
    bench.applied(2.0, file.clone());
    is_refused(&bench, &[networks, resources, groups]);
    is_refused(&bench, &[zones]);
}

#[test]
fn a_machine_that_the_list_of_peers_lacks_is_not_forgotten() {
    let bench = Bench::in_git();
    let mut key = json!({ "type": "one-off", "expires_in": 86400 });
    bench.applied(1.0, with(base(), "setup_keys", "m", key.clone()));
    let [peers, groups] = ["/peers", "/groups"].map(|path| (path, bench.server().list(path)));
    bench.hour(2.0);
    bench.server().enroll(&bench.unseal("m"), "m").unwrap();
    key["enrolled"] = json!(true);
    bench.applied(3.0, with(base(), "setup_keys", "m", key.clone()));
    is_refused(&bench, std::slice::from_ref(&peers));
    is_refused(&bench, &[peers.clone(), groups]);
    // sync-events reads the list where a used key is not marked yet
    let n = json!({ "type": "one-off", "expires_in": 86400 });
    let file = with(base(), "setup_keys", "m", key);
    bench.applied(4.0, with(file, "setup_keys", "n", n));
    bench.hour(5.0);
    bench.server().enroll(&bench.unseal("n"), "n").unwrap();
    let inventory = bench.inventory();
    answers_old(&bench, &[peers], 1_000);
    let run = bench.run(&["sync-events"]);
    run.expect(1)
        .says("but NetBird has it: the list is old or incomplete");
    bench.netbird().clear_faults();
    assert_eq!(bench.inventory(), inventory);
    // nor is one that no run has recorded yet: the group All has it
    let without_it = |peers: Vec<Value>| -> Vec<Value> {
        let others = peers.into_iter().filter(|peer| peer["name"] != "n");
        others.collect()
    };
    let old = without_it(bench.server().list("/peers"));
    for old in [old, Vec::new()] {
        answers_old(&bench, &[("/peers", old)], 1_000);
        let run = bench.run(&["sync-events"]);
        run.expect(1)
            .says("but NetBird has it: the list is old or incomplete");
        bench.netbird().clear_faults();
    }
    bench.run(&["sync-events", "--dry-run"]).expect(0).says("n");
    // one that is deleted is asked for, and then forgotten
    bench.delete("/peers", "m");
    bench.apply(&[]).expect(0);
    assert_eq!(bench.inventory()["enrolled"]["m"], Value::Null);
}

#[test]
fn an_old_list_of_the_verification_makes_nothing_forgotten() {
    let bench = Bench::in_git();
    let x = with(base(), "groups", "x", json!({}));
    bench.applied(1.0, x.clone());
    let mut old = bench.server().list("/groups");
    old.retain(|group| group["name"] != "x");
    bench.declared(
        2.0,
        with(
            x,
            "policies",
            "p",
            json!({ "sources": ["g"], "destinations": ["g"] }),
        ),
    );
    let fault = Fault::on("GET", "/groups").nth(2).times(1_000);
    bench
        .netbird()
        .fault(fault.then(Effect::Otherwise(json!(old))));
    let run = bench.apply(&[]).expect(4);
    let run = run.says("applied, but not verified: NetBird's list of groups lacks group \"x\"");
    assert_eq!(run.stderr.matches("hint: ").count(), 1, "{}", run.stderr);
    bench.netbird().clear_faults();
    assert_ne!(bench.inventory()["created"]["groups/x"], Value::Null);
    bench.leaves_all(&[]).shows("No changes");
}
