//! What becomes of a key that nobody recorded: one that was never sealed, or somebody's?

use serde_json::{Value, json};

use super::{by_hand, file, groups, no_changes};
use crate::run::{Bench, INVENTORY, Site, id};

/// Leaves what a run leaves that was killed before it recorded its key: one without groups, that the program's user made.
fn unsealed(bench: &Bench) -> Value {
    let key = json!({ "name": "k", "type": "one-off", "expires_in": 86400, "auto_groups": [] });
    let key = bench.as_program("POST", "/setup-keys", key);
    bench.server().clear_requests();
    key
}

/// Keys `k`.
fn ids(bench: &Bench) -> Vec<String> {
    bench.all("/setup-keys", "k").iter().map(id).collect()
}

#[test]
fn never_sealed_is_made_again_and_deleted_after_that() {
    let bench = Bench::fake();
    bench.agreed(json!({ "groups": { "g": {}, "h": {} } }));
    let orphan = unsealed(&bench);
    bench.file(file(json!({ "auto_groups": ["g"] })));
    bench
        .plan(&[])
        .expect(0)
        .shows("its secret was never sealed and stored");
    bench.apply(&[]).expect(0);
    let writes = bench.writes();
    assert_eq!(writes.first().unwrap(), "POST /setup-keys");
    assert_eq!(writes.last().unwrap(), "DELETE /setup-keys");
    assert_ne!(bench.id("/setup-keys", "k"), id(&orphan));
    no_changes(&bench);
}

/// A sealed key that wants no groups looks like one that was never sealed, once the inventory is lost.
#[test]
fn one_that_wants_no_groups_stays_and_is_named() {
    let wants_none = file(json!({ "auto_groups": [] }));
    let (killed, lost) = (Bench::fake(), Bench::fake());
    killed.agreed(json!({ "groups": { "g": {}, "h": {} } }));
    let orphan = id(&unsealed(&killed));
    lost.agreed(wants_none.clone());
    let sealed = lost.id("/setup-keys", "k");
    // with the copies beside it
    std::fs::remove_dir_all(lost.path(".netbird-gitops")).unwrap();
    std::fs::remove_dir_all(lost.path("sealed-keys")).unwrap();
    for (bench, stays) in [(killed, orphan), (lost, sealed)] {
        bench.file(wants_none.clone()).apply(&[]).expect(0);
        let said = format!("another valid setup key with the name \"k\" (id {stays})");
        no_changes(&bench).shows(&said);
        assert!(ids(&bench).contains(&stays));
        assert_eq!(ids(&bench).len(), 2);
    }
}

#[test]
fn what_the_event_log_does_not_prove_to_be_ours_stays_and_is_named() {
    let somebodys: fn(&Bench) -> Value = |bench| by_hand(bench, json!({ "auto_groups": [] }));
    for (leave, log) in [(somebodys, true), (unsealed, false)] {
        let bench = Bench::fake();
        bench.agreed(json!({ "groups": { "g": {}, "h": {} } }));
        bench.netbird().event_log(log);
        let theirs = id(&leave(&bench));
        bench.file(file(json!({}))).apply(&[]).expect(0);
        assert_eq!(ids(&bench).len(), 2);
        let said = format!("another valid setup key with the name \"k\" (id {theirs})");
        no_changes(&bench).shows(&said);
    }
}

#[test]
fn hand_made_keys_that_are_exported_within_minutes_are_not_called_unsealed() {
    let bench = groups();
    let made = by_hand(&bench, json!({}));
    std::fs::remove_dir_all(bench.path(".netbird-gitops")).ok();
    bench.file(file(json!({})));
    bench.plan(&[]).expect(0).shows("No changes, 3 to adopt");
    bench.apply(&[]).expect(0);
    assert_eq!(ids(&bench), [id(&made)]);
    no_changes(&bench);
}

#[test]
fn a_key_that_somebody_emptied_by_hand_was_sealed_and_stays() {
    let bench = Bench::fake();
    bench.agreed(file(json!({})));
    let key = bench.id("/setup-keys", "k");
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
fn a_key_that_wants_no_groups_is_one_write() {
    for groups in [json!([]), Value::Null] {
        let bench = Bench::scenario();
        let mut declared = file(json!({ "auto_groups": groups }));
        let key = declared["setup_keys"]["k"].as_object_mut().unwrap();
        key.retain(|_, value| !value.is_null());
        bench.file(declared).apply(&[]).expect(0);
        bench.assert_writes(&["POST /groups", "POST /groups", "POST /setup-keys"]);
        bench.leaves_all(&[]);
        no_changes(&bench);
    }
}

#[test]
fn one_that_is_finished_used_or_recorded_meanwhile_stays() {
    let finish: fn(&Bench, &str) = |bench, key| {
        let (path, group) = (format!("/setup-keys/{key}"), bench.id("/groups", "g"));
        let finish = move |netbird: &fakes::NetBird| {
            let body = json!({ "auto_groups": [group], "revoked": false });
            assert_eq!(netbird.call("PUT", &path, body).0, 200);
        };
        bench
            .netbird()
            .before("GET", &format!("/setup-keys/{key}"), finish);
    };
    let enroll: fn(&Bench, &str) = |bench, key| {
        let secret = bench.netbird().secrets().pop().unwrap();
        let enroll = move |netbird: &fakes::NetBird| drop(netbird.enroll(&secret, "machine"));
        bench
            .netbird()
            .before("GET", &format!("/setup-keys/{key}"), enroll);
    };
    let record: fn(&Bench, &str) = |bench, key| {
        let (path, key) = (bench.path(crate::run::INVENTORY[1]), key.to_owned());
        // after another deletion has read it
        bench.netbird().after("DELETE", "/policies/", move |_| {
            let text = std::fs::read(&path).unwrap();
            let mut inventory: Value = serde_json::from_slice(&text).unwrap();
            let keys = &mut inventory["created"]["setup_keys/k"];
            keys.as_array_mut().unwrap().push(json!(key));
            std::fs::write(path, inventory.to_string()).unwrap();
        });
    };
    for (meanwhile, said) in [
        (
            finish,
            "another run finished it meanwhile, so it is not deleted",
        ),
        (
            enroll,
            "another run finished it meanwhile, so it is not deleted",
        ),
        (record, "another run recorded it meanwhile, so it stays"),
    ] {
        let bench = Bench::fake();
        let mut before = json!({ "groups": { "g": {}, "h": {} } });
        before["policies"] = json!({ "p": { "sources": ["g"], "destinations": ["h"] } });
        bench.agreed(before);
        let slow = id(&unsealed(&bench));
        meanwhile(&bench, &slow);
        let mut after = file(json!({}));
        after["policies"] = json!({});
        bench.file(after);
        bench.apply(&["--no-verify"]).expect(0).says(said);
        assert!(ids(&bench).contains(&slow));
        assert_eq!(ids(&bench).len(), 2);
    }
}

/// A key without groups looks like one that was never sealed: it was deleted although its sealed copy was there.
#[test]
fn one_of_which_a_copy_is_kept_was_sealed_whatever_the_inventory_lost() {
    let bench = Bench::fake();
    let wanted = file(json!({ "auto_groups": ["g"] }));
    bench.agreed(wanted.clone());
    let sealed = bench.id("/setup-keys", "k");
    bench.edit(
        "/setup-keys",
        "k",
        json!({ "auto_groups": [], "revoked": false }),
    );
    std::fs::remove_file(bench.path(crate::run::INVENTORY[1])).unwrap();
    std::fs::remove_dir_all(bench.path("sealed-keys")).unwrap();
    bench
        .file(json!({ "groups": { "g": {}, "h": {} } }))
        .apply(&[])
        .expect(0);
    bench.file(wanted).apply(&[]).expect(0);
    let said = format!("another valid setup key with the name \"k\" (id {sealed})");
    no_changes(&bench).shows(&said);
    assert!(ids(&bench).contains(&sealed));
}

/// Nobody could tell that such a key is ours: the next run would make another one beside it.
#[test]
fn one_that_the_inventory_lost_at_once_is_deleted_before_it_is_usable() {
    let site = Site::fake();
    site.commit(json!({ "groups": { "g": {}, "h": {} } }));
    site.run(&["apply"]).expect(0);
    let [branch, path] = INVENTORY;
    let before = site.repo().file(branch, path);
    let mut with_key = file(json!({ "auto_groups": ["g"] }));
    with_key["policies"] = json!({ "p": { "sources": ["g"], "destinations": ["h"] } });
    site.commit(with_key);
    let contents = site.gitea().path("/contents");
    site.gitea().after("POST", &contents, move |gitea| {
        gitea.push(branch, path, &before, "by hand");
    });
    // nothing else is written either
    site.run(&["apply", "--keep-going"])
        .expect(4)
        .says("the inventory does not have the new key any more; run again");
    assert_eq!(ids(&site.bench), Vec::<String>::new());
    let made = ["POST /setup-keys", "DELETE /setup-keys"];
    let writes = site.bench.writes();
    assert!(writes.ends_with(&made.map(str::to_owned)), "{writes:?}");
}
