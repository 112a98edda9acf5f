//! What becomes of a key without groups: one that was never sealed, or one that wants none?

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use serde_json::{Value, json};

use netbird_gitops::options::Prune;

use super::{by_hand, file, groups, no_changes};
use crate::run::{Bench, Heard, Inner, id};

#[test]
fn never_sealed_is_made_again() {
    let bench = groups();
    let orphan = by_hand(&bench, json!({ "auto_groups": [] }));
    bench.file(file(json!({})));
    bench
        .plan(&[])
        .expect(0)
        .shows("never sealed: nobody holds its secret");
    bench.apply(&[]).expect(0);
    assert_ne!(bench.id("/setup-keys", "k"), id(&orphan));
    no_changes(&bench);
}

#[test]
fn a_key_that_somebody_emptied_by_hand_was_sealed_and_stays() {
    let bench = Bench::fake();
    bench.agreed(file(json!({})));
    let key = bench.id("/setup-keys", "k");
    bench.netbird().advance(60);
    bench.edit("/setup-keys", "k", json!({ "auto_groups": [] }));
    bench
        .plan(&[])
        .expect(0)
        .shows("auto groups")
        .shows("1 to change");
    bench.apply(&[]).expect(0);
    assert_eq!(bench.id("/setup-keys", "k"), key);
}

#[test]
fn a_key_that_wants_no_groups_is_marked_as_sealed_by_a_write_that_changes_nothing() {
    for groups in [json!([]), Value::Null] {
        let bench = Bench::scenario();
        let mut declared = file(json!({ "auto_groups": groups }));
        let key = declared["setup_keys"]["k"].as_object_mut().unwrap();
        key.retain(|_, value| !value.is_null());
        bench.file(declared).apply(&[]).expect(0);
        bench.assert_writes(&[
            "POST /groups",
            "POST /groups",
            "POST /setup-keys",
            "PUT /setup-keys",
        ]);
        bench.server().clear_requests();
        let key = bench.id("/setup-keys", "k");
        bench.apply(&[]).expect(0);
        bench.assert_writes(&[]);
        assert_eq!(bench.id("/setup-keys", "k"), key);
        no_changes(&bench);
    }
}

#[test]
fn several_that_want_no_groups_wait_together() {
    let bench = Bench::fake();
    let netbird = bench.netbird().clone();
    // made at once by the server's clock, which goes on while the run waits and at no other time
    netbird.set_clock(1_790_000_000);
    netbird.lasts("POST", "/setup-keys", 0);
    let key = json!({ "type": "reusable", "expires_in": 0, "usage_limit": 1 });
    let file = json!({ "setup_keys": { "a": key, "b": key, "c": key, "d": key } });
    let inner = Inner::read(&bench, &file, Prune::Owned).unwrap();
    let waited = Rc::new(RefCell::new(Vec::new()));
    let wait = {
        let waited = Rc::clone(&waited);
        Box::new(move |time: Duration| {
            netbird.advance(i64::try_from(time.as_secs_f64().ceil() as u64).unwrap());
            waited.borrow_mut().push(time);
        })
    };
    let plan = inner.plan().unwrap();
    let (applied, verified) = inner.apply_with(&bench, &plan, &mut Heard::default(), wait);
    assert!(applied.is_complete());
    assert_eq!(verified.unwrap().left, Vec::<String>::new());
    // the youngest is waited for, and the others are no younger
    let long = waited
        .borrow()
        .iter()
        .filter(|time| time.as_millis() > 2500)
        .count();
    assert!((1..=4).contains(&long), "{waited:?}");
    let keys = bench.netbird().list("/setup-keys");
    for key in keys.as_array().unwrap() {
        assert_ne!(key["updated_at"], json!("2026-09-21T14:13:20.000000000Z"));
    }
}

#[test]
fn a_finished_key_that_was_seen_unfinished_is_not_deleted() {
    // between plan and deletion the other run gave it its groups
    let bench = Bench::fake();
    bench.agreed(json!({ "groups": { "g": {}, "h": {} } }));
    let orphan = id(&by_hand(&bench, json!({ "auto_groups": [] })));
    bench.file(file(json!({})));
    let (path, group) = (format!("/setup-keys/{orphan}"), bench.id("/groups", "g"));
    bench
        .netbird()
        .before("GET", &path.clone(), move |netbird| {
            netbird.advance(60);
            assert_eq!(
                netbird
                    .call("PUT", &path, json!({ "auto_groups": [group] }))
                    .0,
                200
            );
        });
    bench.server().clear_requests();
    bench
        .apply(&[])
        .expect(0)
        .says("was finished by another run meanwhile");
    assert_eq!(bench.id("/setup-keys", "k"), orphan);
    bench.assert_writes(&[]);
}

#[test]
fn one_beside_a_good_key_that_is_finished_meanwhile_stays() {
    let bench = Bench::in_git();
    bench.applied(0.0, json!({ "groups": { "g": {}, "h": {} } }));
    bench.declared(1.0, file(json!({})));
    // two runs: the first goes on slowly, the second is done
    let slow = id(&by_hand(&bench, json!({ "auto_groups": [] })));
    bench.hour(1.01);
    let good = id(&by_hand(&bench, json!({})));
    bench.hour(1.1);
    let (path, group) = (format!("/setup-keys/{slow}"), bench.id("/groups", "g"));
    bench
        .netbird()
        .before("GET", &path.clone(), move |netbird| {
            netbird.call("PUT", &path, json!({ "auto_groups": [group] }));
        });
    bench
        .apply(&["--no-verify"])
        .expect(0)
        .says("was finished by another run meanwhile and stays");
    let left: Vec<String> = bench.all("/setup-keys", "k").iter().map(id).collect();
    assert!(left.contains(&slow) && left.contains(&good), "{left:?}");
}

#[test]
fn one_without_groups_that_lasts_otherwise_than_the_file_ever_said_is_somebodys() {
    let bench = Bench::in_git();
    bench.applied(0.0, json!({ "groups": { "g": {}, "h": {} } }));
    bench.declared(1.0, file(json!({})));
    bench.declared(1.5, file(json!({ "expires_in": 604800 })));
    let theirs = by_hand(&bench, json!({ "auto_groups": [], "expires_in": 3600 }));
    // a run of the version before left it
    let ours = by_hand(&bench, json!({ "auto_groups": [] }));
    bench
        .plan(&[])
        .expect(0)
        .shows("1 to replace")
        .shows(&format!("in NetBird, too ({}), which is not", id(&theirs)));
    bench.apply(&[]).expect(0);
    let left: Vec<String> = bench.all("/setup-keys", "k").iter().map(id).collect();
    assert!(left.contains(&id(&theirs)));
    assert!(!left.contains(&id(&ours)));
    assert_eq!(left.len(), 2);
    no_changes(&bench);
}
