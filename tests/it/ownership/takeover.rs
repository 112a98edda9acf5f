//! What lives already and is declared for the first time.

use serde_json::{Value, json};

use super::{base, kinds, with};
use crate::run::Bench;

/// What a killed run made and did not get to write down is its own all the same.
#[test]
fn what_a_killed_run_made_is_adopted_as_its_own() {
    for (section, path, entry) in kinds() {
        // a key has a story of its own, see `killed`
        if section == "setup_keys" {
            continue;
        }
        let bench = Bench::in_git();
        bench.applied(0.0, base());
        killed_at(&bench, path, with(base(), section, "x", entry));
        let made = bench.id(path, "x");
        assert_eq!(
            bench.planned(&[]),
            [super::operation("adopt", section, "x")]
        );
        bench.leaves_all(&[]);
        bench.leaves_all(&[]).shows("NetBird is as the file says");
        assert_eq!(bench.id(path, "x"), made);
        bench.declared(3.0, base());
        assert_eq!(
            bench.planned(&[]),
            [super::operation("delete", section, "x")]
        );
    }
}

#[test]
fn what_a_killed_run_made_goes_if_its_change_is_reverted() {
    for (section, path, entry) in kinds() {
        if section == "setup_keys" {
            continue;
        }
        let bench = Bench::in_git();
        bench.applied(0.0, base());
        killed_at(&bench, path, with(base(), section, "x", entry));
        bench.declared(3.0, base());
        assert_eq!(
            bench.planned(&[]),
            [super::operation("delete", section, "x")]
        );
        // unless the log does not tell any more who made it
        bench.netbird().drop_events();
        bench.plan(&[]).expect(0).shows("\"x\"");
        bench.leaves_all(&[]);
    }
}

/// Commits the file and kills its apply when something was made.
fn killed_at(bench: &Bench, path: &'static str, file: Value) {
    bench.declared(1.0, file);
    let run = bench.start(&["apply"], move |netbird, pid| {
        netbird.after("POST", path, move |_| pid.signal("KILL"));
    });
    assert_eq!(run.wait().code, 128 + 9);
}

#[test]
fn the_default_policy_stays_and_is_named_until_it_is_declared() {
    let bench = Bench::in_git();
    let (section, _, entry) = kinds()[2].clone();
    bench.applied(1.0, with(base(), section, "p", entry.clone()));
    let default = bench.id("/policies", "Default");
    bench.leaves_all(&[]);
    bench.plan(&[]).expect(0).shows("\"Default\"");
    assert_eq!(
        bench.planned(&["--prune", "all"]),
        ["delete_policy Default"]
    );
    // declared, it can be switched off; out of the file again it stays as it is
    let off = json!({ "sources": ["All"], "destinations": ["All"], "enabled": false });
    let both = with(
        with(base(), section, "p", entry.clone()),
        section,
        "Default",
        off,
    );
    bench.declared(3.0, both);
    bench.apply(&[]).expect(0).shows("1 changed, 1 adopted");
    assert_eq!(bench.one("/policies", "Default")["enabled"], false);
    bench.declared(9.0, with(base(), section, "p", entry));
    bench.leaves_all(&[]).shows("Allow-Deletes: 1");
    assert_eq!(bench.id("/policies", "Default"), default);
    bench.apply(&["--allow-deletes", "1"]).expect(0);
    assert_eq!(bench.names("/policies"), ["p"]);
}

#[test]
fn new_policies_are_there_before_default_goes() {
    let bench = Bench::in_git();
    bench.applied(0.0, base());
    let (section, _, entry) = kinds()[2].clone();
    bench.declared(1.0, with(base(), section, "p", entry));
    bench.apply(&["--prune", "all"]).expect(0);
    bench.assert_writes(&["POST /policies", "DELETE /policies"]);
}

#[test]
fn what_was_edited_by_hand_and_then_declared_is_no_difference() {
    let bench = Bench::in_git();
    let policy = |description: &str| json!({ "sources": ["g"], "destinations": ["g"], "description": description });
    bench.applied(1.0, with(base(), "policies", "p", policy("one")));
    bench.edit("/policies", "p", json!({ "description": "two" }));
    bench.plan(&["--detailed-exitcode"]).expect(2);
    bench.declared(5.0, with(base(), "policies", "p", policy("two")));
    bench.leaves_all(&[]).shows("No changes");
    bench.plan(&["--detailed-exitcode"]).expect(0);
}
