//! Setup keys: those that go, those of others that stay, and dead ones that let go of a group.

use serde_json::{Value, json};

use crate::run::history::second;
use crate::run::{Bench, id};

/// A file with a group and one-off keys that join it.
fn file(keys: &[(&str, bool)]) -> Value {
    let key = |enrolled: bool| json!({ "type": "one-off", "expires_in": 315_360_000, "auto_groups": ["g"], "enrolled": enrolled });
    let section = keys
        .iter()
        .map(|(name, enrolled)| ((*name).to_owned(), key(*enrolled)));
    json!({ "groups": { "g": {} }, "setup_keys": Value::Object(section.collect()) })
}

/// Enrolls a machine with the sealed key of that name.
fn enroll(bench: &Bench, key: &str) -> String {
    let secret = bench.unseal(key);
    bench.server().enroll(&secret, key).unwrap()
}

#[test]
fn a_removed_key_that_nobody_used_goes() {
    let bench = Bench::in_git();
    bench.applied(0.0, file(&[("k", false), ("l", false)]));
    bench.declared(9.0, file(&[("l", false)]));
    assert_eq!(bench.planned(&["--prune", "none"]), Vec::<String>::new());
    bench.apply(&[]).expect(0);
    bench.assert_writes(&["DELETE /setup-keys"]);
    assert_eq!(bench.names("/setup-keys"), ["l"]);
}

#[test]
fn a_removed_key_that_was_used_goes_and_its_peer_with_it() {
    let bench = Bench::in_git();
    bench.applied(0.0, file(&[("k", false), ("l", false)]));
    enroll(&bench, "k");
    bench.declared(2.0, file(&[("k", true), ("l", false)]));
    bench.leaves_all(&[]);
    bench.declared(9.0, file(&[("l", false)]));
    assert_eq!(bench.planned(&[]), ["delete_setup_key k", "delete_peer k"]);
    bench.refuses(&[]).says("this plan deletes 1 peer");
    bench.apply(&["--allow-deletes", "2"]).expect(0);
    assert_eq!(bench.names("/setup-keys"), ["l"]);
    assert_eq!(bench.names("/peers"), Vec::<String>::new());
}

#[test]
fn a_key_that_is_done_is_left_and_never_made_again() {
    let bench = Bench::in_git();
    bench.applied(0.0, file(&[("k", false)]));
    enroll(&bench, "k");
    bench.declared(2.0, file(&[("k", true)]));
    bench.leaves_all(&[]).shows("No changes");
    bench.leaves_all(&["--prune", "all"]);
    bench.delete("/setup-keys", "k");
    bench.leaves_all(&[]).shows("No changes");
}

#[test]
fn a_key_marked_enrolled_that_is_live_and_unused_goes() {
    let bench = Bench::in_git();
    bench.applied(0.0, file(&[("k", false)]));
    bench.declared(2.0, file(&[("k", true)]));
    bench
        .leaves_all(&["--prune", "none"])
        .says_anywhere("is marked enrolled");
    assert_eq!(bench.planned(&[]), ["delete_setup_key k"]);
    bench.apply(&[]).expect(0);
    assert_eq!(bench.names("/setup-keys"), Vec::<String>::new());
    bench.leaves_all(&[]).shows("No changes");
}

#[test]
fn a_key_marked_enrolled_that_is_not_ours_stays_and_is_named() {
    let bench = Bench::in_git();
    bench.applied(0.0, file(&[]));
    let body =
        json!({ "name": "k", "type": "one-off", "expires_in": 315_360_000, "auto_groups": [] });
    bench.create("/setup-keys", body);
    bench.declared(2.0, file(&[("k", true)]));
    bench
        .leaves_all(&[])
        .shows("is marked enrolled, and NetBird has a valid, unused key with its name");
    assert_eq!(bench.names("/setup-keys"), ["k"]);
    assert_eq!(bench.planned(&["--prune", "all"]), ["delete_setup_key k"]);
}

#[test]
fn dead_keys_of_ours_let_go_of_a_group_first() {
    let bench = Bench::in_git();
    let groups = |file: Value| {
        let mut file = file;
        file["groups"]["h"] = json!({});
        for key in file["setup_keys"].as_object_mut().unwrap().values_mut() {
            key["auto_groups"] = json!(["g", "h"]);
        }
        file
    };
    bench.applied(0.0, groups(file(&[("used", false), ("revoked", false)])));
    enroll(&bench, "used");
    bench.edit("/setup-keys", "revoked", json!({ "revoked": true }));
    // the group goes from the file, and from what the keys say
    bench.declared(9.0, file(&[("used", true), ("revoked", false)]));
    bench.apply(&[]).expect(0);
    bench.assert_writes(&["PUT /setup-keys", "PUT /setup-keys", "DELETE /groups"]);
    assert_eq!(bench.names("/groups"), ["All", "g"]);
    assert_eq!(bench.one("/setup-keys", "revoked")["revoked"], true);
    let g = json!([bench.id("/groups", "g")]);
    assert_eq!(bench.one("/setup-keys", "used")["auto_groups"], g);
    assert_eq!(bench.one("/setup-keys", "used")["state"], "overused");
}

#[test]
fn an_unmanaged_dead_key_that_names_the_group_holds_it_and_nothing_else() {
    let bench = Bench::in_git();
    let mut with_h = file(&[]);
    with_h["groups"]["h"] = json!({});
    bench.applied(0.0, with_h);
    let h = bench.id("/groups", "h");
    let body = json!({ "name": "theirs", "type": "one-off", "expires_in": 315_360_000, "auto_groups": [h] });
    bench.create("/setup-keys", body);
    bench.edit("/setup-keys", "theirs", json!({ "revoked": true }));
    let theirs = bench.id("/setup-keys", "theirs");
    let mut with_new = file(&[]);
    with_new["groups"]["new"] = json!({});
    bench.declared(9.0, with_new);
    let run = bench.apply(&[]).expect(0).shows("1 created");
    run.shows(&format!(
        "not deleted, because it is still used by setup key \"theirs\" ({theirs}, revoked); remove that use"
    ));
    // no agreement helps, so none is asked for
    let plan = bench.plan(&["--format", "json"]).expect(0).json();
    assert_eq!(plan["agreements"], json!([]));
    assert_eq!(plan["unmanaged"][0]["name"], "h");
    bench.delete("/setup-keys", "theirs");
    assert_eq!(bench.planned(&[]), ["delete_group h"]);
}

#[test]
fn a_dead_key_of_a_removed_entry_goes_with_the_group_it_names() {
    let bench = Bench::in_git();
    let mut first = file(&[("k", false)]);
    first["groups"]["h"] = json!({});
    first["setup_keys"]["k"]["auto_groups"] = json!(["h"]);
    bench.applied(0.0, first);
    bench.edit("/setup-keys", "k", json!({ "revoked": true }));
    bench.declared(9.0, file(&[]));
    bench.apply(&[]).expect(0);
    bench.assert_writes(&["DELETE /setup-keys", "DELETE /groups"]);
}

/// A key of the name `k` that somebody made: its id and its secret.
fn by_hand(bench: &Bench, kind: &str, groups: &[&str]) -> (String, String) {
    let groups: Vec<String> = groups
        .iter()
        .map(|name| bench.id("/groups", name))
        .collect();
    let key = json!({ "name": "k", "type": kind, "expires_in": 7_776_000, "auto_groups": groups });
    let made = bench.create("/setup-keys", key);
    (id(&made), made["key"].as_str().unwrap().to_owned())
}

/// Points 1 and 2 of issue 19.
#[test]
fn a_colleagues_keys_of_our_keys_name_stay_with_all_machines_that_came_by_them() {
    let bench = Bench::in_git();
    bench.applied(0.0, file(&[("k", false), ("l", false)]));
    let ours = bench.id("/setup-keys", "k");
    let (reusable, secret) = by_hand(&bench, "reusable", &["g"]);
    for machine in ["one", "two"] {
        bench.server().enroll(&secret, machine).unwrap();
    }
    let (used, secret) = by_hand(&bench, "one-off", &["g"]);
    bench.server().enroll(&secret, "three").unwrap();
    let (unused, _) = by_hand(&bench, "one-off", &[]);
    // used ones are not worth a note
    let run = bench.leaves_all(&[]).shows("NetBird is as the file says");
    run.shows("valid setup keys with the name \"k\"")
        .shows(&unused)
        .hides("Left alone")
        .hides(&used);
    let members = &bench.one("/groups", "g")["peers_count"];
    assert_eq!(members, 3);
    // ours is the one that waits, and the only one that goes
    enroll(&bench, "k");
    bench.declared(2.0, file(&[("k", true), ("l", false)]));
    bench.leaves_all(&[]);
    bench.declared(9.0, file(&[("l", false)]));
    assert_eq!(bench.planned(&[]), ["delete_setup_key k", "delete_peer k"]);
    bench.apply(&["--allow-deletes", "2"]).expect(0);
    let left: Vec<String> = bench.all("/setup-keys", "k").iter().map(id).collect();
    assert!(!left.contains(&ours), "{left:?}");
    for theirs in [reusable, used, unused] {
        assert!(left.contains(&theirs), "{theirs}: {left:?}");
    }
    assert_eq!(bench.names("/peers"), ["one", "three", "two"]);
}

/// Point 8 of issue 19.
#[test]
fn keys_made_by_hand_and_exported_and_committed_at_once_are_adopted_as_they_are() {
    let bench = Bench::in_git();
    bench.group("g");
    let (key, _) = by_hand(&bench, "one-off", &["g"]);
    let text = bench.run(&["export"]).expect(0).stdout;
    bench.text(&text).commit(second(0.01), "as it is");
    assert!(bench.planned(&[]).contains(&"adopt_setup_key k".to_owned()));
    bench.leaves_all(&[]);
    bench.leaves_all(&[]).shows("NetBird is as the file says");
    assert_eq!(bench.id("/setup-keys", "k"), key);
}

#[test]
fn a_key_is_not_adopted_by_its_name_but_by_its_id() {
    let bench = Bench::in_git();
    bench.applied(0.0, file(&[]));
    let (key, _) = by_hand(&bench, "one-off", &["g"]);
    bench.declared(2.0, file(&[("k", false)]));
    assert_eq!(bench.planned(&[]), ["create_setup_key k"]);
    bench.leaves_all(&["--adopt", &format!("setup_keys/k={key}")]);
    bench.leaves_all(&[]).shows("NetBird is as the file says");
    bench.declared(9.0, file(&[]));
    bench
        .leaves_all(&[])
        .shows("it existed before this file managed it");
    assert_eq!(bench.id("/setup-keys", "k"), key);
}

/// The key `k`, which `g` lists and a route goes through, with these fields besides.
fn gateway(fields: Value) -> Value {
    let mut file = file(&[("k", false)]);
    file["groups"]["g"]["peers"] = json!(["k"]);
    file["routes"] = json!({ "r": { "network": "10.1.0.0/16", "peer": "k", "groups": ["g"] } });
    let key = file["setup_keys"]["k"].as_object_mut().unwrap();
    key.extend(fields.as_object().unwrap().clone());
    file
}

#[test]
fn a_used_key_that_somebody_deletes_did_its_work() {
    let bench = Bench::in_git();
    bench.applied(0.0, gateway(json!({})));
    bench.hour(1.0);
    let machine = enroll(&bench, "k");
    bench.applied(2.0, gateway(json!({})));
    bench.delete("/setup-keys", "k");
    let is_there = |bench: &Bench| {
        let group = bench.one("/groups", "g");
        assert_eq!(group["peers"][0]["id"], json!(machine));
        assert_eq!(bench.one("/routes", "r")["peer"], json!(machine));
    };
    // the first of these runs forgets the key
    for _ in 0..2 {
        let run = bench.leaves_all(&[]).shows("No changes");
        run.says_anywhere(
            "The key is not created again. To enroll another machine, set reissue_after",
        );
        is_there(&bench);
    }
    let at = jiff::Timestamp::from_second(second(3.0)).unwrap();
    let asked = gateway(json!({ "reissue_after": at.to_string() }));
    bench.declared(3.0, asked.clone());
    assert_eq!(bench.planned(&[]), ["create_setup_key k"]);
    std::fs::remove_dir_all(bench.path("sealed-keys")).unwrap();
    bench.apply(&[]).expect(0);
    is_there(&bench);
    bench.hour(4.0);
    enroll(&bench, "k");
    bench.refuses(&[]).says("this plan deletes 1 peer");
}

/// Point 11 of issue 23.
#[test]
fn an_adopted_key_renames_no_machine_that_came_before() {
    let bench = Bench::in_git();
    bench.applied(0.0, file(&[]));
    let (key, secret) = by_hand(&bench, "one-off", &["g"]);
    bench.server().enroll(&secret, "jump").unwrap();
    bench.declared(1.0, file(&[("k", false)]));
    for args in [&["--adopt", &format!("setup_keys/k={key}")][..], &[]] {
        let run = bench.leaves_all(args);
        run.says_anywhere("before this file managed it, so the peer keeps its name");
        assert_eq!(bench.names("/peers"), ["jump"]);
    }
    bench.run(&["sync-events", "--no-commit"]).expect(0);
    assert_eq!(bench.names("/peers"), ["jump"]);
    // whoever comes by it later gets its name
    let bench = Bench::in_git();
    bench.applied(0.0, file(&[]));
    let (key, secret) = by_hand(&bench, "one-off", &["g"]);
    bench.declared(1.0, file(&[("k", false)]));
    bench.leaves_all(&["--adopt", &format!("setup_keys/k={key}")]);
    let machine = bench.server().enroll(&secret, "host").unwrap();
    bench.apply(&[]).expect(0);
    assert_eq!(bench.names("/peers"), ["k"]);
    assert_eq!(bench.inventory()["enrolled"]["k"], json!([machine]));
}

#[test]
fn an_adopted_key_is_named_so_where_its_machine_goes_and_the_gates_line_comes_first() {
    let bench = Bench::in_git();
    bench.applied(0.0, file(&[]));
    let (_, secret) = by_hand(&bench, "one-off", &["g"]);
    bench.server().enroll(&secret, "laptop").unwrap();
    bench.applied(1.0, file(&[("k", true)]));
    bench.declared(2.0, file(&[]));
    let run = bench.plan(&[]).expect(0);
    let place = |text: &str| {
        let place = run.stdout.find(text);
        place.unwrap_or_else(|| panic!("{text:?} is not in {}", run.stdout))
    };
    place(
        "enrolled with setup key \"k\", which existed before this file managed it and whose entry",
    );
    let (gate, more) = (bench.line("line", &[]), bench.line("line_with_let_go", &[]));
    assert!(place(&gate) < place(&more), "{}", run.stdout);
}

#[test]
fn a_key_that_the_file_asks_for_anew_is_not_adopted() {
    let bench = Bench::in_git();
    bench.applied(0.0, file(&[]));
    let (key, _) = by_hand(&bench, "one-off", &["g"]);
    let mut asked = file(&[("k", false)]);
    let at = jiff::Timestamp::from_second(second(1.0)).unwrap();
    asked["setup_keys"]["k"]["reissue_after"] = json!(at.to_string());
    bench.declared(2.0, asked);
    let run = bench.apply(&["--adopt", &format!("setup_keys/k={key}")]);
    run.expect(1).says("that key is older than reissue_after");
    let both = ["one", "two"].map(|id| format!("setup_keys/k={id}"));
    bench
        .apply(&["--adopt", &both[0], "--adopt", &both[1]])
        .expect(1)
        .says("--adopt names two objects for setup_keys/k: one and two");
    assert_eq!(bench.id("/setup-keys", "k"), key);
}

#[test]
fn what_is_adopted_and_replaced_at_once_is_verified() {
    let bench = Bench::in_git();
    bench.applied(0.0, file(&[]));
    let (key, _) = by_hand(&bench, "one-off", &["g"]);
    bench.declared(1.0, file(&[("k", false)]));
    let adopt = format!("setup_keys/k={key}");
    let args = ["--adopt", &adopt, "--replace", "setup_keys/k"];
    bench.apply(&args).expect(0);
    assert_ne!(bench.id("/setup-keys", "k"), key);
    bench.leaves_all(&[]).shows("No changes");
}

#[test]
fn a_colleagues_dead_key_of_our_keys_name_is_not_changed_and_holds_the_group() {
    let bench = Bench::in_git();
    let mut with_h = file(&[("k", false)]);
    with_h["groups"]["h"] = json!({});
    bench.applied(0.0, with_h);
    let (theirs, _) = by_hand(&bench, "reusable", &["g", "h"]);
    let all = bench.all("/setup-keys", "k");
    let key = all.iter().find(|key| id(key) == theirs).unwrap();
    let revoked = json!({ "revoked": true });
    bench.server().edit("/setup-keys", key, revoked);
    bench.declared(1.0, file(&[("k", false)]));
    let said = format!(
        "not deleted, because it is still used by setup key \"k\" ({theirs}, revoked); remove that use"
    );
    bench.leaves_all(&[]).shows(&said);
}

/// Point 11 of issue 23.
#[test]
fn an_adopted_key_that_is_marked_enrolled_says_what_its_machine_keeps() {
    let bench = Bench::in_git();
    bench.applied(0.0, file(&[]));
    let (_, secret) = by_hand(&bench, "one-off", &[]);
    bench.server().enroll(&secret, "jump").unwrap();
    bench.declared(1.0, file(&[("k", true)]));
    let told = "before this file managed it, so it is marked enrolled. The peer keeps its name. The peer is not added to g: to add it, list";
    bench.plan(&[]).expect(0).shows(told);
    bench.leaves_all(&[]).says_anywhere(told);
    assert_eq!(bench.names("/peers"), ["jump"]);
    // it is adopted by now, and this was said
    bench.leaves_all(&[]).hides("keeps its name");
    // whose machine lacks nothing has nothing to say
    let bench = Bench::in_git();
    bench.applied(0.0, file(&[]));
    let (_, secret) = by_hand(&bench, "one-off", &["g"]);
    bench.server().enroll(&secret, "k").unwrap();
    bench.declared(1.0, file(&[("k", true)]));
    bench.plan(&[]).expect(0).hides("marked enrolled");
}

/// Point 11 of issue 23.
#[test]
fn a_used_key_of_the_name_is_named_where_another_one_is_created() {
    let bench = Bench::in_git();
    bench.applied(0.0, file(&[]));
    let (key, secret) = by_hand(&bench, "one-off", &["g"]);
    bench.server().enroll(&secret, "jump").unwrap();
    bench.declared(1.0, file(&[("k", false)]));
    assert_eq!(bench.planned(&[]), ["create_setup_key k"]);
    let way_out = format!("is the one that is meant, run apply --adopt setup_keys/k={key}");
    bench.plan(&[]).expect(0).shows(&way_out);
    // one that the file asks for again is older than that, and cannot be adopted
    let mut asked = file(&[("k", false)]);
    let at = jiff::Timestamp::from_second(second(1.0)).unwrap();
    asked["setup_keys"]["k"]["reissue_after"] = json!(at.to_string());
    bench.declared(1.0, asked);
    bench.plan(&[]).expect(0).hides("--adopt");
    // once the entry has a key of its own nobody needs to know
    bench.declared(1.0, file(&[("k", false)]));
    bench.apply(&[]).expect(0);
    bench.leaves_all(&[]).hides("--adopt");
}

/// A rename that failed once is made by the next run: the machine came by an adopted key after the entry had it.
#[test]
fn a_machine_of_an_adopted_key_whose_rename_failed_is_renamed_by_the_next_run() {
    let bench = Bench::in_git();
    bench.applied(0.0, file(&[]));
    let (key, secret) = by_hand(&bench, "one-off", &["g"]);
    bench.declared(1.0, file(&[("k", false)]));
    bench.leaves_all(&["--adopt", &format!("setup_keys/k={key}")]);
    bench.server().enroll(&secret, "host").unwrap();
    let refused = json!({ "message": "no" });
    let fault = fakes::Fault::on("PUT", "/peers/");
    bench
        .netbird()
        .fault(fault.then(fakes::Effect::Status(422, refused)));
    bench.apply(&[]).expect(4);
    assert_eq!(bench.names("/peers"), ["host"]);
    bench.apply(&[]).expect(0);
    assert_eq!(bench.names("/peers"), ["k"]);
}
