//! What becomes of an object of each kind: one that a run made, one that a file adopted, and one that is nobody's.

use serde_json::{Value, json};

use super::{base, by_hand, kind, kinds, operation, with};
use crate::run::{Bench, id};

/// The file with an entry `x` of that section.
fn with_x(section: &str) -> Value {
    let mut kinds = kinds().into_iter();
    let (_, _, entry) = kinds.find(|kind| kind.0 == section).expect("a kind");
    with(base(), section, "x", entry)
}

#[test]
fn what_a_run_made_goes_with_its_entry() {
    for (section, path, _) in kinds() {
        let bench = Bench::in_git();
        bench.applied(1.0, with_x(section));
        bench.declared(30.0, base());
        let deletion = operation("delete", section, "x");
        assert_eq!(bench.planned(&["--prune", "none"]), Vec::<String>::new());
        bench.leaves_all(&["--prune", "none"]);
        bench
            .plan(&["--prune", "none"])
            .expect(0)
            .shows("Left alone, not managed here")
            .shows("\"x\"");
        let all = bench.planned(&["--prune", "all"]);
        assert!(all.contains(&deletion), "{all:?}");
        assert_eq!(bench.planned(&[]), [deletion.as_str()], "{section}");
        bench.apply(&[]).expect(0).shows("1 deleted");
        assert_eq!(bench.all(path, "x"), Vec::<Value>::new());
        bench.leaves_all(&[]).shows("No changes");
    }
}

#[test]
fn what_was_adopted_is_let_go_unless_somebody_agrees() {
    for (section, path, _) in kinds() {
        if section == "setup_keys" {
            continue;
        }
        let bench = Bench::in_git();
        bench.applied(0.0, base());
        let made = by_hand(&bench, section, "x");
        bench.declared(2.0, with_x(section));
        let adoption = operation("adopt", section, "x");
        assert_eq!(bench.planned(&[]), [adoption.as_str()], "{section}");
        bench.plan(&["--detailed-exitcode"]).expect(0);
        bench.leaves_all(&[]).shows("1 adopted");
        bench.leaves_all(&[]).shows("NetBird is as the file says");
        bench.declared(30.0, base());
        assert_eq!(bench.planned(&[]), Vec::<String>::new(), "{section}");
        assert_eq!(bench.let_go(), [format!("{} x: adopted", kind(section))]);
        let line = bench.line("line_with_let_go", &[]);
        bench
            .leaves_all(&[])
            .shows("it existed before this file managed it. After this change nobody manages it.")
            .shows(&line);
        // the number of something else agrees to nothing, and the line works after the apply as well
        bench.leaves_all(&["--allow-deletes", "2"]);
        assert_eq!(bench.line("line_with_let_go", &[]), line);
        assert_eq!(bench.id(path, "x"), made);
        bench.file(base()).commit(
            crate::run::history::second(31.0),
            &format!("agreed\n\n{line}"),
        );
        let deletion = operation("delete", section, "x");
        assert_eq!(bench.planned(&[]), [deletion.as_str()], "{section}");
        bench.apply(&[]).expect(0).shows("1 deleted");
        assert_eq!(bench.all(path, "x"), Vec::<Value>::new());
        bench.leaves_all(&[]).shows("No changes");
    }
}

#[test]
fn what_is_let_go_is_said_until_a_later_change_is_applied() {
    let bench = Bench::in_git();
    bench.applied(0.0, base());
    let x = bench.group("x");
    bench.applied(1.0, with_x("groups"));
    bench.applied(2.0, base());
    bench.leaves_all(&[]).shows("an earlier run let it go");
    bench.applied(3.0, with(base(), "groups", "y", json!({})));
    assert_eq!(bench.let_go(), Vec::<String>::new());
    bench.leaves_all(&[]).shows("NetBird is as the file says");
    // it is like any other from then on
    assert_eq!(bench.id("/groups", "x"), x);
    bench.declared(4.0, with_x("groups"));
    assert_eq!(bench.planned(&[]), ["adopt_group x", "delete_group y"]);
}

#[test]
fn what_nobody_declared_is_unmanaged() {
    for (section, path, _) in kinds() {
        let bench = Bench::in_git();
        bench.applied(0.0, base());
        let made = by_hand(&bench, section, "x");
        bench.declared(2.0, base());
        for args in [&[][..], &["--prune", "none"], &["--allow-deletes", "1"]] {
            bench.leaves_all(args);
            bench
                .plan(args)
                .expect(0)
                .shows("Left alone, not managed here")
                .shows("\"x\"");
        }
        let plan = bench.plan(&["--format", "json"]).expect(0).json();
        let listed = plan["unmanaged"].as_array().unwrap();
        assert!(listed.iter().any(|entry| entry["name"] == "x"), "{plan:#}");
        assert_eq!(bench.id(path, "x"), made);
        let all = bench.planned(&["--prune", "all"]);
        assert!(all.contains(&operation("delete", section, "x")), "{all:?}");
    }
}

#[test]
fn what_somebody_made_after_ours_went_is_nobodys() {
    for (section, path, _) in kinds() {
        let bench = Bench::in_git();
        bench.applied(0.0, with_x(section));
        bench.applied(2.0, base());
        let made = by_hand(&bench, section, "x");
        bench.leaves_all(&[]).shows("No changes");
        assert_eq!(bench.id(path, "x"), made);
    }
}

#[test]
fn what_somebody_deleted_is_made_again_and_what_he_made_instead_is_adopted() {
    for (section, path, _) in kinds() {
        let bench = Bench::in_git();
        bench.applied(0.0, with_x(section));
        bench.delete(path, "x");
        assert_eq!(bench.planned(&[]), [operation("create", section, "x")]);
        bench
            .apply(&[])
            .expect(0)
            .says_anywhere("was deleted in NetBird; this plan creates it again");
        bench.leaves_all(&[]).shows("No changes");
        if section == "setup_keys" {
            continue;
        }
        bench.delete(path, "x");
        let made = by_hand(&bench, section, "x");
        assert_eq!(bench.planned(&[]), [operation("adopt", section, "x")]);
        bench.leaves_all(&[]);
        bench.applied(9.0, base());
        assert_eq!(bench.id(path, "x"), made);
    }
}

/// Points 1 and 2 of issue 19.
#[test]
fn namesakes_made_by_hand_neither_end_a_plan_nor_are_ever_deleted() {
    for (section, path, _) in kinds() {
        // groups have one name each; more of one route are among the `forms`
        if matches!(section, "groups" | "nameserver_groups" | "routes") {
            continue;
        }
        let bench = Bench::in_git();
        bench.applied(1.0, with_x(section));
        let ours = bench.id(path, "x");
        let theirs = [by_hand(&bench, section, "x"), by_hand(&bench, section, "x")];
        for command in ["plan", "apply"] {
            let run = bench.run(&[command]).expect(0);
            run.shows("No changes").shows("NetBird has 2 other ");
        }
        bench.run(&["drift"]).expect(0);
        bench.leaves_all(&["--allow-deletes", "3"]);
        bench.declared(9.0, base());
        assert_eq!(bench.planned(&[]), [operation("delete", section, "x")]);
        bench.apply(&["--allow-deletes", "3"]).expect(0);
        let left: Vec<String> = bench.all(path, "x").iter().map(id).collect();
        assert!(!left.contains(&ours), "{section}: {left:?}");
        assert_eq!(left.len(), 2, "{section}: {left:?}");
        assert!(
            theirs.iter().all(|id| left.contains(id)),
            "{section}: {left:?}"
        );
        bench.leaves_all(&[]);
    }
}

#[test]
fn of_several_that_all_differ_none_is_taken_until_somebody_says_which() {
    let bench = Bench::in_git();
    bench.applied(0.0, base());
    by_hand(&bench, "policies", "x");
    let second = by_hand(&bench, "policies", "x");
    let mut file = with_x("policies");
    file["policies"]["x"]["description"] = json!("ours");
    bench.declared(2.0, with(file, "groups", "other", json!({})));
    // the rest goes on
    assert_eq!(bench.planned(&[]), ["create_group other"]);
    let run = bench.plan(&[]).expect(0);
    run.says_anywhere("policy \"x\" is skipped")
        .says_anywhere(&second)
        .says_anywhere("--adopt policies/x=ID");
    bench.apply(&[]).expect(4);
    assert_eq!(bench.names("/groups"), ["All", "g", "other"]);
    let adopt = format!("policies/x={second}");
    bench
        .apply(&["--adopt", &adopt])
        .expect(0)
        .shows("1 changed, 1 adopted");
    bench
        .leaves_all(&[])
        .shows("NetBird has another policy with the name \"x\"");
    bench.declared(9.0, with(base(), "groups", "other", json!({})));
    bench.leaves_all(&[]);
    assert_eq!(bench.all("/policies", "x").len(), 2);
}

#[test]
fn an_object_of_another_kind_or_spelling_is_another_name() {
    let bench = Bench::in_git();
    bench.applied(0.0, with_x("groups"));
    by_hand(&bench, "policies", "x");
    bench.group("X");
    bench.declared(3.0, base());
    assert_eq!(bench.planned(&[]), ["delete_group x"]);
}

#[test]
fn what_was_adopted_and_is_in_use_stays_whoever_agrees() {
    let bench = Bench::in_git();
    bench.applied(0.0, base());
    let x = bench.group("x");
    bench.create(
        "/dns/zones",
        json!({ "name": "zone", "domain": "lab.example", "distribution_groups": [x] }),
    );
    bench.applied(3.0, with_x("groups"));
    bench.declared(9.0, base());
    bench.leaves_all(&[]);
    bench
        .leaves_all(&["--allow-deletes", "1"])
        .shows("it is still used by DNS zone \"zone\"");
}

/// Somebody deleted the recorded object and made another one, which the entry adopts and changes at once.
#[test]
fn what_an_entry_adopts_in_the_place_of_a_dead_object_is_recorded_by_the_same_run() {
    let bench = Bench::in_git();
    bench.applied(0.0, with_x("policies"));
    bench.delete("/policies", "x");
    let made = by_hand(&bench, "policies", "x");
    let mut file = with_x("policies");
    file["policies"]["x"]["description"] = json!("ours");
    bench.declared(2.0, file);
    let run = bench.apply(&[]).expect(0);
    run.shows("1 changed, 1 adopted");
    let inventory = bench.inventory();
    assert_eq!(inventory["adopted"]["policies/x"], json!([made]));
    bench.declared(9.0, base());
    assert_eq!(bench.planned(&[]), Vec::<String>::new());
    assert_eq!(bench.let_go(), ["policy x: adopted"]);
}

#[test]
fn what_was_let_go_and_is_declared_again_is_adopted_and_not_taken_for_made() {
    let bench = Bench::in_git();
    bench.applied(0.0, with_x("policies"));
    bench.edit("/policies", "x", json!({ "name": "kept" }));
    bench.applied(1.0, base());
    assert_eq!(bench.let_go().len(), 1);
    bench.edit("/policies", "kept", json!({ "name": "x" }));
    bench.declared(2.0, with_x("policies"));
    assert_eq!(bench.planned(&[]), ["adopt_policy x"]);
    bench.leaves_all(&[]);
    bench.declared(9.0, base());
    assert_eq!(bench.planned(&[]), Vec::<String>::new());
    assert_eq!(bench.let_go(), ["policy x: adopted"]);
}

/// Applies a file of another environment of the repository.
fn lab(bench: &Bench, file: &Value) {
    std::fs::write(bench.path("lab.json"), file.to_string()).unwrap();
    let run = bench.run(&["apply", "-f", "lab.json", "--environment", "lab"]);
    run.expect(0);
}

#[test]
fn what_was_let_go_and_another_environment_adopted_since_is_its_own() {
    let bench = Bench::in_git();
    bench.applied(0.0, base());
    bench.group("x");
    bench.applied(1.0, with_x("groups"));
    bench.applied(2.0, base());
    lab(&bench, &json!({ "groups": { "x": {} } }));
    let all = bench.planned(&["--prune", "all"]);
    assert!(!all.contains(&"delete_group x".to_owned()), "{all:?}");
    bench.plan(&[]).says_anywhere("which \"lab.json\" manages");
    assert_eq!(bench.let_go(), Vec::<String>::new());
}

#[test]
fn a_person_cannot_adopt_what_is_somebodys_already() {
    let bench = Bench::in_git();
    lab(&bench, &json!({ "groups": { "theirs": {} } }));
    let mut file = with_x("policies");
    bench.applied(1.0, file.clone());
    file["policies"]["q"] = file["policies"]["x"].clone();
    file["groups"]["y"] = json!({});
    bench.declared(2.0, file);
    bench.server().clear_requests();
    let [x, theirs] = [bench.id("/policies", "x"), bench.id("/groups", "theirs")];
    for (adopt, why) in [
        (
            format!("policies/q={x}"),
            "it is the object of policy \"x\"",
        ),
        (format!("groups/y={theirs}"), "\"lab.json\" manages it"),
    ] {
        let run = bench.apply(&["--adopt", &adopt]).expect(1);
        run.says("cannot adopt").says(why);
    }
    bench.assert_writes(&[]);
}

#[test]
fn what_another_environment_has_is_neither_adopted_nor_pruned() {
    let bench = Bench::in_git();
    lab(&bench, &json!({ "groups": { "x": {} }, "policies": {} }));
    // by hand, and a name that both files have
    bench.group("theirs");
    bench.declared(2.0, json!({ "groups": { "y": {} }, "policies": {} }));
    assert_eq!(
        bench.planned(&["--prune", "all"]),
        [
            "delete_group theirs",
            "create_group y",
            "delete_policy Default"
        ]
    );
    bench.apply(&["--prune", "all"]).expect(0);
    assert_eq!(bench.names("/groups"), ["All", "x", "y"]);
    bench.declared(3.0, json!({ "groups": { "x": {}, "y": {} } }));
    bench
        .plan(&[])
        .says_anywhere("\"lab.json\" manages this group");
    assert!(!bench.inventory().to_string().contains("groups/x"));
}

#[test]
fn protected_groups_are_never_touched() {
    let bench = Bench::in_git();
    let file = with(base(), "groups", "IdP-staff", json!({}));
    let file = with(file, "groups", "scim", json!({}));
    // declared for a while, as if they were the file's
    bench.netbird().issue_group("IdP-staff", "jwt");
    bench.netbird().issue_group("scim", "integration");
    bench.applied(0.9, file);
    bench.declared(9.0, base());
    for prune in ["owned", "none", "all"] {
        let plan = bench.planned(&["--prune", prune]);
        assert!(
            plan.iter().all(|op| !op.contains("group ")),
            "{prune}: {plan:?}"
        );
    }
    bench.apply(&["--prune", "all"]).expect(0);
    assert_eq!(bench.names("/groups"), ["All", "IdP-staff", "g", "scim"]);
}

#[test]
fn the_servers_own_policies_are_never_touched() {
    let bench = Bench::in_git();
    bench.applied(0.0, base());
    let name = "Temporary access policy for peer laptop";
    by_hand(&bench, "policies", name);
    bench.delete("/policies", "Default");
    for prune in ["owned", "none", "all"] {
        assert_eq!(bench.planned(&["--prune", prune]), Vec::<String>::new());
    }
}

/// The event log has what was let go as ours, and nobody manages it.
#[test]
fn what_was_let_go_is_no_second_one_of_an_entry_that_came_back() {
    let bench = Bench::in_git();
    bench.applied(0.0, with_x("policies"));
    let first = bench.id("/policies", "x");
    bench.edit("/policies", "x", json!({ "name": "kept" }));
    bench.applied(1.0, base());
    bench.applied(2.0, with_x("policies"));
    bench.edit("/policies", "kept", json!({ "name": "x" }));
    bench.leaves_all(&[]).shows(&format!("(id {first})"));
    assert_eq!(bench.all("/policies", "x").len(), 2);
}

/// What is let go for good is remembered while it lives, and no longer: a run that reads all lists sees that it is gone.
#[test]
fn what_was_let_go_and_is_gone_leaves_the_inventory() {
    let bench = Bench::in_git();
    bench.applied(0.0, base());
    let x = bench.group("x");
    bench.applied(1.0, with_x("groups"));
    bench.applied(2.0, base());
    let mut later = with(base(), "groups", "y", json!({}));
    bench.applied(3.0, later.clone());
    assert_eq!(bench.inventory()["released"], json!([x]));
    bench.delete("/groups", "x");
    later["posture_checks"] = json!({});
    bench.applied(4.0, with(later, "groups", "z", json!({})));
    assert_eq!(bench.inventory()["released"], Value::Null);
}

/// With one of each kind, what stands in others too, and a machine.
#[test]
fn prune_all_leaves_whatever_another_environment_has() {
    let bench = Bench::in_git();
    bench.hour(0.0);
    let key = json!({ "type": "one-off", "expires_in": 315_360_000, "auto_groups": ["l"] });
    let lab_file = json!({
        "groups": { "l": { "peers": ["k"] } },
        "setup_keys": { "k": key },
        "policies": { "l": { "sources": ["l"], "destinations": ["l"] } },
        "routes": { "l": { "network": "10.7.0.0/16", "peer_groups": ["l"], "groups": ["l"] } },
        "networks": { "l": {
            "resources": { "host-l": { "address": "10.7.0.9", "groups": ["l"] } },
            "routers": [{ "peer_groups": ["l"] }] } },
        "dns": {
            "nameserver_groups": { "l": { "nameservers": [{ "ip": "10.7.0.53" }], "groups": ["l"], "domains": ["l.example"] } },
            "zones": { "l": { "domain": "l.example", "distribution_groups": ["l"],
                "records": [{ "name": "db", "type": "A", "content": "10.7.0.7" }] } } } });
    lab(&bench, &lab_file);
    std::fs::rename(bench.path("sealed-keys"), bench.path("of-lab")).unwrap();
    let sealed = std::fs::read(bench.path("of-lab/k.age")).unwrap();
    let secret = crate::run::open(&sealed);
    bench.server().enroll(&secret, "k").unwrap();
    lab(&bench, &lab_file);
    let lists = || {
        let paths = kinds().map(|(_, path, _)| path);
        let paths = paths.into_iter().chain(["/peers"]);
        paths
            .map(|path| (path, bench.server().list(path)))
            .collect::<Vec<_>>()
    };
    bench.applied(1.0, base());
    let before = lists();
    // the server's own policy is of no environment
    bench.delete("/policies", "Default");
    let made = kinds().map(|(section, path, _)| (path, by_hand(&bench, section, "hand")));
    bench.declared(2.0, base());
    let all = bench.planned(&["--prune", "all"]);
    assert_eq!(all.len(), made.len(), "{all:?}");
    assert!(all.iter().all(|op| op.ends_with(" hand")), "{all:?}");
    bench.apply(&["--prune", "all"]).expect(0);
    for ((path, before), (_, after)) in before.into_iter().zip(lists()) {
        let default = |entry: &&Value| entry["name"] != "Default";
        let before: Vec<&Value> = before.iter().filter(default).collect();
        let after: Vec<&Value> = after.iter().collect();
        assert_eq!(before, after, "{path}");
    }
    // what nobody can read may have anything
    let inventory = bench.path(".netbird-gitops/lab/inventory.json");
    std::fs::write(inventory, "{").unwrap();
    bench.group("hand");
    let all = bench.planned(&["--prune", "all"]);
    assert_eq!(all, Vec::<String>::new());
}
