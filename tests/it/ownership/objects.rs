//! The three rows of the table, for every kind, under each `--prune`.

use serde_json::json;

use super::{base, by_hand, kinds, operation, with};
use crate::run::Bench;

#[test]
fn declared_once_and_made_meanwhile_goes() {
    for (section, path, entry) in kinds() {
        let bench = Bench::in_git();
        bench.applied(1.0, with(base(), section, "x", entry));
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
        assert_eq!(
            bench.names(path).iter().filter(|name| *name == "x").count(),
            0
        );
        bench.leaves_all(&[]).shows("No changes");
    }
}

#[test]
fn taken_over_it_is_held_back() {
    for (section, path, entry) in kinds() {
        let bench = Bench::in_git();
        bench.applied(0.0, base());
        let made = by_hand(&bench, section, "x");
        bench.applied(2.0, with(base(), section, "x", entry));
        bench.declared(30.0, base());
        assert_eq!(bench.planned(&[]), Vec::<String>::new(), "{section}");
        bench
            .leaves_all(&[])
            .says_anywhere("it was there before the file declared it")
            .says_anywhere("Allow-Deletes: 1");
        // the number of something else agrees to nothing
        bench.leaves_all(&["--allow-deletes", "2"]);
        assert_eq!(bench.id(path, "x"), made);
        let deletion = operation("delete", section, "x");
        assert_eq!(
            bench.planned(&["--allow-deletes", "1"]),
            [deletion.as_str()]
        );
        bench.apply(&["--allow-deletes", "1"]).expect(0);
        assert_eq!(bench.all(path, "x"), Vec::<serde_json::Value>::new());
    }
}

#[test]
fn made_by_hand_after_the_removal_it_is_held_back() {
    for (section, path, entry) in kinds() {
        let bench = Bench::in_git();
        bench.applied(0.0, with(base(), section, "x", entry));
        bench.applied(2.0, base());
        assert_eq!(bench.all(path, "x"), Vec::<serde_json::Value>::new());
        bench.hour(9.0);
        let made = by_hand(&bench, section, "x");
        bench
            .leaves_all(&[])
            .says_anywhere("it was made by hand after its entry was removed")
            .says_anywhere("Allow-Deletes: 1");
        assert_eq!(bench.id(path, "x"), made);
        bench.apply(&["--allow-deletes", "1"]).expect(0);
        assert_eq!(bench.all(path, "x"), Vec::<serde_json::Value>::new());
    }
}

#[test]
fn never_declared_it_is_unmanaged() {
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
fn the_grace_of_clocks() {
    // made so many hours before or after, and whether it is ours
    let rows = [
        (-0.15, false),
        (-0.05, true),
        (0.0, true),
        (5.0, true),
        (5.9, true),
        (6.1, false),
    ];
    for (offset, ours) in rows {
        let bench = Bench::in_git();
        bench
            .file(base())
            .commit(crate::run::history::second(5.0), "base");
        bench.apply(&[]).expect(0);
        bench.hour(10.0 + offset);
        bench.group("x");
        let file = with(base(), "groups", "x", json!({}));
        bench
            .file(file)
            .commit(crate::run::history::second(10.0), "declared");
        bench
            .file(base())
            .commit(crate::run::history::second(15.0), "removed");
        let wanted = if ours {
            vec!["delete_group x".to_owned()]
        } else {
            Vec::new()
        };
        assert_eq!(bench.planned(&[]), wanted, "{offset}");
    }
}

#[test]
fn an_object_of_another_kind_or_spelling_is_another_name() {
    let bench = Bench::in_git();
    bench.applied(0.0, with(base(), "groups", "x", json!({})));
    by_hand(&bench, "policies", "x");
    bench.group("X");
    bench.declared(3.0, base());
    assert_eq!(bench.planned(&[]), ["delete_group x"]);
}

#[test]
fn an_object_that_was_remade_by_hand_while_declared_is_ours() {
    let bench = Bench::in_git();
    bench.applied(0.0, with(base(), "groups", "x", json!({})));
    bench.delete("/groups", "x");
    bench.hour(5.0).group("x");
    bench.declared(9.0, base());
    assert_eq!(bench.planned(&[]), ["delete_group x"]);
}

#[test]
fn each_object_is_judged_by_itself() {
    let bench = Bench::in_git();
    bench.applied(0.0, base());
    by_hand(&bench, "policies", "x");
    let (section, _, entry) = kinds()[2].clone();
    bench.declared(3.0, with(base(), section, "x", entry));
    bench.apply(&[]).expect(0);
    bench.hour(5.0);
    let ours = by_hand(&bench, "policies", "x");
    // several of one name cannot be planned while the file declares it
    bench.cannot(&[]).says("is the name of 2 policies");
    bench.declared(9.0, base());
    // one is older than its declaration, the other is not
    bench.apply(&[]).expect(0).shows("1 deleted");
    let left = bench.all("/policies", "x");
    assert_eq!(left.len(), 1);
    assert_ne!(left[0]["id"], json!(ours));
}

#[test]
fn held_namesakes_are_counted_one_by_one() {
    let bench = Bench::in_git();
    bench.applied(0.0, base());
    bench.hour(1.0);
    by_hand(&bench, "policies", "x");
    by_hand(&bench, "policies", "x");
    let (section, _, entry) = kinds()[2].clone();
    bench.declared(3.0, with(base(), section, "x", entry));
    bench.declared(9.0, base());
    bench.leaves_all(&[]).says_anywhere("Allow-Deletes: 2");
    bench.leaves_all(&["--allow-deletes", "1"]);
    bench
        .apply(&["--allow-deletes", "2"])
        .expect(0)
        .shows("2 deleted");
}

#[test]
fn a_held_group_that_is_in_use_stays_whoever_agrees() {
    let bench = Bench::in_git();
    bench.applied(0.0, base());
    let x = bench.group("x");
    bench.create(
        "/dns/zones",
        json!({ "name": "zone", "domain": "lab.example", "distribution_groups": [x] }),
    );
    bench.declared(3.0, with(base(), "groups", "x", json!({})));
    bench.declared(9.0, base());
    bench.leaves_all(&[]);
    bench
        .leaves_all(&["--allow-deletes", "1"])
        .shows("it is still used by DNS zone \"zone\"");
}

#[test]
fn protected_groups_are_never_touched() {
    let bench = Bench::in_git();
    let file = with(base(), "groups", "IdP-staff", json!({}));
    let file = with(file, "groups", "scim", json!({}));
    // declared for a while, so that the ledger knows the names
    bench.hour(1.0);
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
    // nor where the ledger knows the name
    let (section, _, entry) = kinds()[2].clone();
    bench.declared(0.0, with(base(), section, name, entry));
    bench.declared(9.0, base());
    assert_eq!(bench.planned(&["--prune", "all"]), Vec::<String>::new());
}

#[test]
fn ids_without_a_time_prove_nothing() {
    // an account as an old server had it: a key with a number for an id
    let bench = Bench::in_git();
    let key = kinds()[1].2.clone();
    bench.applied(0.0, with(base(), "setup_keys", "x", key));
    bench.declared(9.0, base());
    let raw = bench.run(&["export", "--raw"]).expect(0).stdout;
    let id = bench.id("/setup-keys", "x");
    std::fs::write(bench.path("live.json"), raw.replace(&id, "1802457731")).unwrap();
    assert_eq!(bench.planned(&[]), ["delete_setup_key x"]);
    // it can still be used: it is held and named, and goes once somebody agrees
    let live = ["--live", "live.json"];
    assert_eq!(bench.planned(&live), Vec::<String>::new());
    let run = bench.plan(&live).expect(0);
    run.shows("Held back: setup key \"x\" (1802457731): its id does not say when");
    let line = bench.line("line_with_held", &live);
    let text = line.strip_prefix("Allow-Deletes: ").unwrap();
    let agreed = ["--live", "live.json", "--allow-deletes", text];
    assert_eq!(bench.planned(&agreed), ["delete_setup_key x"]);
}
