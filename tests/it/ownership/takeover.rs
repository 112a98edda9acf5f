//! What lives already and is declared for the first time: taken over, and said.

use serde_json::json;

use super::{base, by_hand, kinds, with};
use crate::run::Bench;

const SAID: &str = "lives in NetBird already: the file takes it over";

#[test]
fn it_is_said_once() {
    for (section, _, entry) in kinds() {
        let bench = Bench::in_git();
        bench.applied(0.0, base());
        by_hand(&bench, section, "x");
        let taken = with(base(), section, "x", entry);
        // before the commit, as on a laptop or in a pull request
        bench.file(taken.clone());
        bench.plan(&[]).expect(0).says_anywhere(SAID);
        bench.declared(3.0, taken.clone());
        bench.leaves_all(&[]).says_anywhere(SAID);
        // and no more after the next change
        bench.declared(5.0, with(taken, "groups", "other", json!({})));
        let run = bench.apply(&[]).expect(0);
        assert!(!format!("{run:?}").contains(SAID), "{section}: {run:?}");
    }
}

#[test]
fn it_is_not_said_of_what_we_made() {
    for (section, _, entry) in kinds() {
        let bench = Bench::in_git();
        bench.applied(0.0, base());
        let file = with(base(), section, "x", entry);
        bench.declared(1.0, file.clone());
        let run = bench.apply(&[]).expect(0);
        assert!(!format!("{run:?}").contains(SAID), "{section}");
        let run = bench.leaves_all(&[]);
        assert!(!format!("{run:?}").contains(SAID), "{section}");
    }
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
    // declared, it can be switched off; removed from the file again it was there before us
    let off = json!({ "sources": ["All"], "destinations": ["All"], "enabled": false });
    let both = with(
        with(base(), section, "p", entry.clone()),
        section,
        "Default",
        off,
    );
    bench.declared(3.0, both);
    bench.apply(&[]).expect(0).says_anywhere(SAID);
    assert_eq!(bench.one("/policies", "Default")["enabled"], false);
    bench.declared(9.0, with(base(), section, "p", entry));
    bench.leaves_all(&[]).says_anywhere("Allow-Deletes: 1");
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
