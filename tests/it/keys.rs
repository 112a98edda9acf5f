//! What becomes of a setup key? Case by case.

mod unsealed;

use serde_json::{Value, json};

use crate::run::{Bench, id};

/// One key `k`: one-off, of a day, that joins `g`, with these fields in place.
fn file(changes: Value) -> Value {
    let mut key = json!({ "type": "one-off", "expires_in": 86400, "auto_groups": ["g"] });
    key.as_object_mut()
        .unwrap()
        .extend(changes.as_object().unwrap().clone());
    json!({ "groups": { "g": {}, "h": {} }, "setup_keys": { "k": key } })
}

/// Makes a key `k` by hand.
fn by_hand(bench: &Bench, changes: Value) -> Value {
    let mut key = json!({ "name": "k", "type": "one-off", "expires_in": 86400, "auto_groups": [bench.id("/groups", "g")] });
    key.as_object_mut()
        .unwrap()
        .extend(changes.as_object().unwrap().clone());
    bench.create("/setup-keys", key)
}

/// A bench with the groups and without the key.
fn groups() -> Bench {
    let bench = Bench::scenario();
    bench.agreed(json!({ "groups": { "g": {}, "h": {} } }));
    bench
}

fn no_changes(bench: &Bench) -> crate::run::Run {
    bench
        .plan(&["--detailed-exitcode"])
        .expect(0)
        .shows("No changes")
}

#[test]
fn pending_and_absent_is_made_and_then_agrees() {
    let bench = Bench::scenario();
    bench.agreed(file(json!({})));
    no_changes(&bench);
    let secret = bench.unseal("k");
    // unused and equal: nothing, so the sealed file stays what it is
    bench.apply(&[]).expect(0);
    assert_eq!(bench.unseal("k"), secret);
}

#[test]
fn pending_with_other_groups_is_changed_in_place() {
    let bench = Bench::scenario();
    bench.agreed(file(json!({})));
    let (key, secret) = (bench.id("/setup-keys", "k"), bench.unseal("k"));
    bench.file(file(json!({ "auto_groups": ["h"] })));
    bench.apply(&[]).expect(0);
    bench.assert_writes(&["PUT /setup-keys"]);
    assert_eq!(
        (bench.id("/setup-keys", "k"), bench.unseal("k")),
        (key, secret)
    );
    assert_eq!(
        bench.one("/setup-keys", "k")["auto_groups"],
        json!([bench.id("/groups", "h")])
    );
    no_changes(&bench);
}

#[test]
fn what_no_key_can_change_makes_a_new_one() {
    let reusable = |changes: Value| {
        let mut all = json!({ "type": "reusable", "usage_limit": 5 });
        all.as_object_mut()
            .unwrap()
            .extend(changes.as_object().unwrap().clone());
        file(all)
    };
    let rows = [
        (file(json!({})), file(json!({ "type": "reusable" })), "type"),
        (
            file(json!({})),
            file(json!({ "expires_in": 0 })),
            "1 day → never",
        ),
        (
            file(json!({ "expires_in": 2_592_000 })),
            file(json!({ "expires_in": 86400 })),
            "30 days → 1 day",
        ),
        (
            file(json!({})),
            file(json!({ "expires_in": 90000 })),
            "1 day → 25 hours",
        ),
        (
            file(json!({})),
            file(json!({ "allow_extra_dns_labels": true })),
            "allow extra dns labels",
        ),
        (
            reusable(json!({})),
            reusable(json!({ "usage_limit": 6 })),
            "usage limit  5 → 6",
        ),
        (
            reusable(json!({})),
            reusable(json!({ "ephemeral": true })),
            "ephemeral",
        ),
    ];
    for (before, after, field) in rows {
        let bench = Bench::scenario_that_enrolls();
        bench.agreed(before);
        let (key, secret) = (bench.id("/setup-keys", "k"), bench.unseal("k"));
        bench.file(after);
        bench
            .plan(&[])
            .expect(0)
            .shows("this change needs a new setup key")
            .shows(field)
            .shows("1 to replace");
        bench.apply(&[]).expect(0);
        bench.assert_writes(&["POST /setup-keys", "PUT /setup-keys", "DELETE /setup-keys"]);
        assert_ne!(bench.id("/setup-keys", "k"), key);
        assert_ne!(bench.unseal("k"), secret);
        assert!(
            bench.server().enroll(&secret, "old").is_err(),
            "the old secret is worth nothing"
        );
        bench.server().enroll(&bench.unseal("k"), "new").unwrap();
    }
}

#[test]
fn a_key_in_use_keeps_its_life_time_and_is_named() {
    let bench = Bench::scenario_that_enrolls();
    let fleet =
        |secs: u32| file(json!({ "type": "reusable", "usage_limit": 9, "expires_in": secs }));
    bench.agreed(fleet(2_592_000));
    bench.server().enroll(&bench.unseal("k"), "one").unwrap();
    let key = bench.id("/setup-keys", "k");
    bench.file(fleet(86400));
    no_changes(&bench)
        .shows("setup key \"k\" expires at")
        .shows("but its expires_in says otherwise. A machine used the key, so it is not replaced.");
    assert_eq!(bench.id("/setup-keys", "k"), key);
    bench.apply(&["--replace", "setup_keys/k"]).expect(0);
    no_changes(&bench).hides("expires at");
    assert_ne!(bench.id("/setup-keys", "k"), key);
}

/// A colleague's reusable key of our key's name was taken for a second one of ours.
#[test]
fn another_key_of_the_name_stays_and_is_named() {
    for theirs in [
        json!({ "type": "reusable", "expires_in": 7_776_000, "auto_groups": [] }),
        json!({}),
    ] {
        let bench = Bench::scenario_that_enrolls();
        bench.agreed(file(json!({})));
        let theirs = by_hand(&bench, theirs);
        let secret = theirs["key"].as_str().unwrap();
        bench.server().enroll(secret, "theirs").unwrap();
        bench.leaves_all(&[]);
        bench.file(json!({ "groups": { "g": {}, "h": {} }, "setup_keys": {} }));
        bench.apply(&[]).expect(0);
        assert_eq!(bench.id("/setup-keys", "k"), id(&theirs));
    }
}

#[test]
fn expired_revoked_or_used_up_is_reported_and_not_remade() {
    let bench = Bench::fake();
    bench.agreed(file(json!({})));
    bench.netbird().advance(90_000);
    no_changes(&bench)
        .shows("setup key \"k\" expired without being used")
        .shows("--replace setup_keys/k");

    let bench = Bench::scenario_that_enrolls();
    bench.agreed(file(json!({})));
    bench.edit("/setup-keys", "k", json!({ "revoked": true }));
    no_changes(&bench).shows("setup key \"k\" was revoked without being used");

    let bench = Bench::scenario_that_enrolls();
    let reusable = |changes: Value| {
        let mut file = file(json!({ "type": "reusable", "usage_limit": 2 }));
        let key = file["setup_keys"]["k"].as_object_mut().unwrap();
        key.extend(changes.as_object().unwrap().clone());
        file
    };
    bench.agreed(reusable(json!({})));
    for machine in ["one", "two"] {
        bench.server().enroll(&bench.unseal("k"), machine).unwrap();
    }
    no_changes(&bench)
        .shows("setup key \"k\" is used up. For a new key, set reissue_after")
        .shows("set \"enrolled\": true");
    // and that is what ends it
    bench.file(reusable(json!({ "enrolled": true })));
    no_changes(&bench).hides("used up");
}

/// Such a key was one of many machines: the group that listed it stayed empty, and its route waited for ever.
#[test]
fn a_reusable_key_of_one_machine_is_the_key_of_that_machine() {
    let bench = Bench::scenario_that_enrolls();
    let declared = |changes: Value| {
        let mut file = file(json!({ "type": "reusable", "usage_limit": 1 }));
        let key = file["setup_keys"]["k"].as_object_mut().unwrap();
        key.extend(changes.as_object().unwrap().clone());
        file["groups"]["h"] = json!({ "peers": ["k"] });
        file["routes"] =
            json!({ "lan": { "network": "10.7.0.0/24", "peer": "k", "groups": ["h"] } });
        file
    };
    bench.agreed(declared(json!({})));
    let peer = bench.server().enroll(&bench.unseal("k"), "host-7").unwrap();
    bench.plan(&[]).expect(0).shows("renamed from host-7");
    bench.apply(&[]).expect(0);
    assert_eq!(bench.id("/peers", "k"), peer);
    for group in ["g", "h"] {
        assert_eq!(bench.one("/groups", group)["peers"][0]["id"], json!(peer));
    }
    let routes = bench.server().list("/routes");
    assert!(
        routes.iter().any(|route| route["peer"] == json!(peer)),
        "{routes:?}"
    );
    no_changes(&bench).hides("used up");
    bench.file(declared(json!({ "enrolled": true })));
    no_changes(&bench).hides("note");
    bench.delete("/setup-keys", "k");
    no_changes(&bench).hides("note");
    // and it goes as the machine of a one-off key does
    let mut gone = declared(json!({}));
    gone["setup_keys"] = json!({});
    gone["groups"]["h"] = json!({ "peers": [] });
    gone["routes"] = json!({});
    bench.file(gone);
    bench
        .plan(&[])
        .expect(0)
        .shows("enrolled with setup key \"k\", whose entry was removed");
}

#[test]
fn a_key_that_expires_soon_is_announced() {
    let bench = Bench::fake();
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let now = i64::try_from(now.unwrap().as_secs()).unwrap();
    bench.netbird().set_clock(now - 100_000);
    bench.agreed(file(json!({ "expires_in": 172_800 })));
    bench.netbird().set_clock(now);
    no_changes(&bench).shows("setup key \"k\" expires within a day");
    // of one that was made for a day that is no news
    let bench = Bench::fake();
    bench.agreed(file(json!({ "expires_in": 86_400 })));
    no_changes(&bench).hides("within a day");
}

#[test]
fn replace_makes_a_dead_or_a_living_key_again() {
    for dead in [false, true] {
        let bench = Bench::scenario_that_enrolls();
        bench.agreed(file(json!({})));
        if dead {
            bench.edit("/setup-keys", "k", json!({ "revoked": true }));
        }
        let old = bench.id("/setup-keys", "k");
        bench.apply(&["--replace", "setup_keys/k"]).expect(0);
        let keys = bench.all("/setup-keys", "k");
        let valid: Vec<_> = keys.iter().filter(|key| key["valid"] == true).collect();
        assert_eq!(valid.len(), 1);
        assert_ne!(id(valid[0]), old);
        no_changes(&bench);
        bench.server().enroll(&bench.unseal("k"), "k").unwrap();
    }
}

/// It is this run's old key, and not one that another run made at the same time.
#[test]
fn a_key_that_is_adopted_and_replaced_at_once_makes_room_for_the_new_one() {
    let bench = Bench::fake();
    let make = |list: &str, body: Value| id(&bench.as_program("POST", list, body));
    let group = make("/groups", json!({ "name": "g" }));
    let key = json!({ "name": "k", "type": "one-off", "expires_in": 86400, "auto_groups": [group], "usage_limit": 1 });
    let old = make("/setup-keys", key);
    bench.file(file(json!({ "auto_groups": ["g"] })));
    bench.apply(&["--replace", "setup_keys/k"]).expect(0);
    assert_ne!(bench.id("/setup-keys", "k"), old);
    bench.server().enroll(&bench.unseal("k"), "k").unwrap();
}

/// The file says nothing of its groups, so a new key gets those of the old one.
#[test]
fn a_key_is_not_made_in_the_place_of_one_whose_group_shares_its_name() {
    let bench = Bench::scenario();
    bench.agreed(json!({ "setup_keys": { "k": { "type": "one-off", "expires_in": 86400 } } }));
    let group = bench.group("g");
    bench.edit("/setup-keys", "k", json!({ "auto_groups": [group] }));
    bench.group("twin");
    bench.edit("/groups", "twin", json!({ "name": "g" }));
    let secret = bench.unseal("k");
    bench.server().clear_requests();
    bench
        .apply(&["--replace", "setup_keys/k"])
        .expect(4)
        .says("several groups in NetBird are called \"g\"");
    bench.assert_writes(&[]);
    assert_eq!(bench.unseal("k"), secret);
}

#[test]
fn reissue_after_makes_what_is_older_again_once() {
    let bench = Bench::scenario();
    bench.agreed(file(json!({})));
    let (key, secret) = (bench.id("/setup-keys", "k"), bench.unseal("k"));
    // made before: nothing of it
    bench.file(file(json!({ "reissue_after": "2020-01-01T00:00:00Z" })));
    no_changes(&bench);
    // in the future: nothing yet
    bench.file(file(json!({ "reissue_after": "2999-01-01T00:00:00Z" })));
    no_changes(&bench).shows("has a reissue_after in the future");
    assert_eq!(
        (bench.id("/setup-keys", "k"), bench.unseal("k")),
        (key, secret)
    );
}

#[test]
fn reissue_after_replaces_a_key_of_before_and_not_the_new_one() {
    let bench = Bench::fake();
    let now = jiff::Timestamp::now().as_second();
    bench.netbird().set_clock(now - 7200);
    bench.agreed(file(json!({})));
    let (key, secret) = (bench.id("/setup-keys", "k"), bench.unseal("k"));
    bench.netbird().set_clock(now);
    let instant = jiff::Timestamp::from_second(now - 3600).unwrap();
    bench.file(file(json!({ "reissue_after": instant.to_string() })));
    bench
        .plan(&[])
        .expect(0)
        .shows("reissue_after")
        .shows("1 to replace");
    bench.apply(&[]).expect(0);
    assert_ne!(bench.id("/setup-keys", "k"), key);
    assert_ne!(bench.unseal("k"), secret);
    no_changes(&bench);
}

#[test]
fn reissue_after_remakes_a_dead_key_of_before_and_leaves_it_there() {
    let bench = Bench::fake();
    let now = jiff::Timestamp::now().as_second();
    bench.netbird().set_clock(now - 7200);
    bench.agreed(file(json!({ "expires_in": 60 })));
    bench.netbird().set_clock(now);
    let instant = jiff::Timestamp::from_second(now - 3600)
        .unwrap()
        .to_string();
    bench.file(file(json!({ "reissue_after": instant })));
    bench.apply(&[]).expect(0).shows("1 created");
    assert_eq!(bench.all("/setup-keys", "k").len(), 2);
    no_changes(&bench);
}

#[test]
fn a_consumed_key_is_done_whether_it_is_there_or_gone() {
    let bench = Bench::scenario_that_enrolls();
    bench.agreed(file(json!({})));
    bench.server().enroll(&bench.unseal("k"), "k").unwrap();
    bench.file(file(json!({ "enrolled": true })));
    no_changes(&bench);
    bench.delete("/setup-keys", "k");
    no_changes(&bench);
    bench
        .apply(&["--replace", "setup_keys/k"])
        .expect(0)
        .shows("so --replace has no effect");
    assert_eq!(bench.names("/setup-keys"), Vec::<String>::new());
}

#[test]
fn a_used_key_that_is_not_marked_yet_gives_its_machine_name_and_groups() {
    let bench = Bench::scenario_that_enrolls();
    let mut declared = file(json!({}));
    declared["groups"]["g"] = json!({ "peers": ["k"] });
    bench.agreed(declared);
    let peer = bench
        .server()
        .enroll(&bench.unseal("k"), "some-host")
        .unwrap();
    bench.edit("/groups", "g", json!({ "peers": [] }));
    bench.edit("/peers", "some-host", json!({ "ssh_enabled": true }));
    bench.plan(&[]).expect(0).shows("renamed from some-host");
    bench.apply(&[]).expect(0);
    assert_eq!(bench.id("/peers", "k"), peer);
    assert_eq!(bench.one("/peers", "k")["ssh_enabled"], true);
    assert_eq!(bench.one("/groups", "g")["peers"][0]["id"], json!(peer));
    no_changes(&bench);
}

#[test]
fn a_rename_to_a_name_that_another_peer_bears_is_left_alone() {
    let bench = Bench::scenario_that_enrolls();
    bench.agreed(file(json!({})));
    bench.peer("k");
    bench
        .server()
        .enroll(&bench.unseal("k"), "some-host")
        .unwrap();
    no_changes(&bench).shows("has the name \"k\": rename that peer in NetBird");
    assert_eq!(bench.names("/peers"), ["k", "some-host"]);
}

#[test]
fn ids_of_old_servers_are_opaque() {
    let bench = Bench::fake();
    bench.agreed(json!({ "groups": { "g": {}, "h": {} } }));
    bench.file(file(json!({})));
    let group = bench.id("/groups", "g");
    let old = json!([{ "id": "1802457731", "name": "k", "type": "one-off", "expires": "2999-01-01T00:00:00Z", "valid": true, "revoked": false,
                       "used_times": 0, "last_used": "0001-01-01T00:00:00Z", "state": "valid", "auto_groups": [group],
                       "updated_at": "2020-01-01T00:00:00Z", "usage_limit": 1, "ephemeral": false, "allow_extra_dns_labels": false }]);
    let fault = fakes::Fault::on("GET", "/setup-keys").always();
    bench
        .netbird()
        .fault(fault.then(fakes::Effect::Status(200, old)));
    bench
        .apply(&["--adopt", "setup_keys/k=1802457731"])
        .expect(0);
    no_changes(&bench);
}

#[test]
fn limits_and_life_times_are_said() {
    let bench = Bench::fake();
    bench.file(json!({ "setup_keys": { "a": { "type": "reusable", "expires_in": 7, "usage_limit": 0 }, "b": { "type": "reusable", "expires_in": 0 } } }));
    let run = bench.plan(&[]).expect(0);
    run.shows("reusable, unlimited, expires 7 seconds after creation")
        .shows("never expires")
        .shows("setup_keys.a.expires_in");
    bench.file(json!({ "setup_keys": { "a": { "type": "one-off", "expires_in": 86400, "usage_limit": 5 } } }));
    bench
        .run(&["validate"])
        .expect(1)
        .says("setup_keys.a.usage_limit");
}

/// Somebody revokes a key between its creation and its groups.
#[test]
fn a_new_key_that_somebody_revokes_stays_and_is_not_made_again() {
    let bench = Bench::fake();
    bench.agreed(json!({ "groups": { "g": {}, "h": {} } }));
    bench.file(file(json!({})));
    bench.netbird().before("PUT", "/setup-keys/", |netbird| {
        let keys = netbird.list("/setup-keys");
        let key = keys.as_array().unwrap().last().unwrap();
        let path = format!("/setup-keys/{}", id(key));
        netbird.call("PUT", &path, json!({ "auto_groups": [], "revoked": true }));
    });
    let run = bench.apply(&[]).expect(0);
    run.says_anywhere("somebody revoked the new key meanwhile");
    for _ in 0..2 {
        let key = bench.one("/setup-keys", "k");
        assert_eq!(
            (&key["state"], &key["auto_groups"]),
            (&json!("revoked"), &json!([]))
        );
        assert_eq!(bench.sealed_files().len(), 1);
        bench
            .apply(&[])
            .expect(0)
            .says_anywhere("was revoked without being used");
    }
}

/// The same of a key that takes the place of another one: nobody is asked twice.
#[test]
fn a_replacement_that_somebody_revokes_is_told_and_not_made_again() {
    for changes in [
        json!({ "expires_in": 172_800 }),
        json!({ "reissue_after": jiff::Timestamp::now().to_string() }),
    ] {
        let bench = Bench::fake();
        let now = jiff::Timestamp::now().as_second();
        bench.netbird().set_clock(now - 600);
        bench.agreed(file(json!({})));
        bench.netbird().set_clock(now + 10);
        let old = bench.id("/setup-keys", "k");
        bench.file(file(changes));
        std::fs::remove_dir_all(bench.path("sealed-keys")).unwrap();
        bench.netbird().before("PUT", "/setup-keys/", |netbird| {
            let keys = netbird.list("/setup-keys");
            let key = keys.as_array().unwrap().last().unwrap();
            let path = format!("/setup-keys/{}", id(key));
            netbird.call("PUT", &path, json!({ "auto_groups": [], "revoked": true }));
        });
        let run = bench.apply(&[]);
        run.says_anywhere("somebody revoked the new key meanwhile");
        for _ in 0..2 {
            bench.server().clear_requests();
            let run = bench.apply(&[]).expect(0);
            run.says_anywhere("but somebody revoked it in NetBird before a machine used it")
                .says_anywhere(&format!("(id {old}) is not deleted"));
            bench.assert_writes(&[]);
        }
        // a person can ask for another one
        bench.apply(&["--replace", "setup_keys/k"]).expect(0);
        let keys = bench.all("/setup-keys", "k");
        let valid: Vec<&Value> = keys.iter().filter(|key| key["valid"] == true).collect();
        assert_eq!(valid.len(), 1);
        assert_ne!(valid[0]["id"], json!(old));
    }
}

/// A notice about what is taken where the file does not say it is about new objects.
#[test]
fn a_limit_that_the_live_key_has_is_not_said_to_be_missing() {
    let bench = Bench::fake();
    let key = |limit: Value| {
        let mut file = file(json!({ "type": "reusable" }));
        file["setup_keys"]["k"]["usage_limit"] = limit;
        file["routes"] =
            json!({ "r": { "network": "10.1.0.0/16", "peer_groups": ["g"], "groups": ["g"] } });
        file
    };
    bench.agreed(key(json!(7)));
    let mut without = key(json!(7));
    let entry = without["setup_keys"]["k"].as_object_mut().unwrap();
    entry.remove("usage_limit");
    without["routes"]["r"]
        .as_object_mut()
        .unwrap()
        .remove("groups");
    bench.file(without.clone());
    no_changes(&bench)
        .hides("usage_limit")
        .hides("distributed to every peer");
    // of what is created both are said
    without["setup_keys"]["new"] = without["setup_keys"]["k"].clone();
    without["routes"]["new"] = json!({ "network": "10.2.0.0/16", "peer_groups": ["g"] });
    bench.file(without);
    let run = bench.plan(&[]).expect(0);
    run.shows("usage_limit").shows("distributed to every peer");
}
