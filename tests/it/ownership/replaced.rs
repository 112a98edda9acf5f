//! A machine is replaced: its key is asked for anew, another machine enrolls, and the old peer goes if somebody agrees.

use serde_json::{Value, json};

use crate::run::Bench;
use crate::run::history::second;

/// The key `k`, which `g` and `h` list, with these fields besides.
fn file(fields: Value) -> Value {
    let mut key = json!({ "type": "one-off", "expires_in": 315_360_000, "auto_groups": ["g"], "enrolled": false });
    for (name, value) in fields.as_object().unwrap() {
        key[name] = value.clone();
    }
    json!({ "groups": { "g": { "peers": ["k"] }, "h": { "peers": ["k"] } }, "setup_keys": { "k": key } })
}

fn asked_anew() -> Value {
    let at = jiff::Timestamp::from_second(second(3.0)).unwrap();
    file(json!({ "reissue_after": at.to_string() }))
}

/// A machine enrolled as `k`, all of it marked and agreed to. Returns its id, too.
fn settled() -> (Bench, String) {
    let bench = Bench::in_git();
    bench.applied(0.0, file(json!({})));
    bench.hour(1.0);
    let old = bench.server().enroll(&bench.unseal("k"), "old-host");
    bench.apply(&[]).expect(0);
    bench.applied(2.0, file(json!({ "enrolled": true })));
    (bench, old.unwrap())
}

/// The same, and another machine of that hostname enrolled with the key that was made anew.
fn replaced(hostname: &str) -> (Bench, String, String) {
    let (bench, old) = settled();
    bench.applied(3.0, asked_anew());
    bench.hour(4.0);
    let new = bench.server().enroll(&bench.unseal("k"), hostname);
    bench.server().clear_requests();
    (bench, old, new.unwrap())
}

fn members(bench: &Bench, group: &str) -> Vec<String> {
    let group = bench.one("/groups", group);
    let ids = group["peers"].as_array().unwrap().iter();
    ids.map(|peer| peer["id"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn the_new_one_gets_the_name_once_the_old_one_is_gone() {
    let (bench, old, new) = replaced("new-host");
    // both are members until then: nothing takes the name out of the groups that list it
    let planned = ["update_group h", "delete_peer k", "rename_peer k"];
    assert_eq!(bench.planned(&[]), planned);
    let run = bench.plan(&[]).expect(0);
    run.shows("enrolled with an older setup key \"k\", and replaced by the peer \"new-host\"")
        .hides("the label is predicted")
        .hides("- k")
        .hides("nothing is done");
    bench.refuses(&[]).says("this plan deletes 1 peer");

    let run = bench.apply(&["--allow-deletes", "1"]).expect(0);
    run.hides("did not converge");
    let writes = ["PUT /groups", "DELETE /peers", "PUT /peers"];
    bench.assert_writes(&writes);
    let peer = bench.one("/peers", "k");
    assert_eq!(peer["id"], json!(new));
    // the name's label was free by then
    assert_eq!(peer["dns_label"], "k.netbird.selfhosted");
    for group in ["g", "h"] {
        assert_eq!(members(&bench, group), [new.as_str()]);
    }
    assert!(bench.all("/peers", "old-host").is_empty());
    assert_ne!(old, new);
    bench.leaves_all(&[]).shows("No changes");
    let mut marked = asked_anew();
    marked["setup_keys"]["k"]["enrolled"] = json!(true);
    bench.declared(5.0, marked);
    bench.leaves_all(&[]).shows("No changes");
    // it is done: the event log is asked no more
    let requests = bench.netbird().requests();
    assert!(requests.iter().all(|request| request.path != "/events"));
}

#[test]
fn it_is_the_same_where_the_new_one_calls_itself_so() {
    let (bench, old, new) = replaced("k");
    let planned = ["update_group h", "delete_peer k"];
    assert_eq!(bench.planned(&[]), planned);
    bench.refuses(&[]).says("this plan deletes 1 peer");
    // also where somebody marked it by hand meanwhile
    let mut marked = asked_anew();
    marked["setup_keys"]["k"]["enrolled"] = json!(true);
    bench.declared(5.0, marked);
    assert_eq!(bench.planned(&[]), planned);
    bench.apply(&["--allow-deletes", "1"]).expect(0);
    assert_eq!(bench.id("/peers", "k"), new);
    assert_ne!(old, new);
}

#[test]
fn while_the_new_key_waits_the_old_peer_stays_and_is_named() {
    let (bench, old) = settled();
    bench.declared(3.0, asked_anew());
    assert_eq!(bench.planned(&[]), ["create_setup_key k"]);
    let said = format!(
        "a plan deletes the peer \"k\" ({old}) of the old machine. That deletion needs an agreement."
    );
    bench.plan(&[]).expect(0).says_anywhere(&said);
    bench.apply(&[]).expect(0);
    bench.leaves_all(&[]).says_anywhere(&said);
    assert_eq!(members(&bench, "h"), [old.as_str()]);
}

#[test]
fn flipped_back_alone_nothing_happens_and_what_is_missing_is_said() {
    let (bench, old) = settled();
    let missing = format!(
        "was marked enrolled before, and now it is not. This has no effect, because the peer \"k\" ({old}) enrolled with this key"
    );
    bench.file(file(json!({})));
    for committed in [false, true] {
        if committed {
            bench.declared(3.0, file(json!({})));
        }
        let run = bench.plan(&[]).expect(0);
        run.says_anywhere(&missing)
            .says_anywhere("set reissue_after to the time of this change");
    }
    // an instant that lies before the key asks for nothing either
    let before = jiff::Timestamp::from_second(second(-1.0)).unwrap();
    bench.declared(4.0, file(json!({ "reissue_after": before.to_string() })));
    let run = bench.leaves_all(&[]).shows("No changes");
    run.says_anywhere(&missing).says_anywhere(
        "set reissue_after, which is older than this key, to the time of this change (such as 2026-12-01T12:00:00Z)",
    );
    // a key that was never marked is a plain enrollment
    let bench = Bench::in_git();
    bench.applied(0.0, file(json!({})));
    bench.hour(1.0);
    bench.server().enroll(&bench.unseal("k"), "host").unwrap();
    let run = bench.plan(&[]).expect(0).shows("rename");
    run.hides("was marked enrolled");
}

#[test]
fn where_nobody_asked_for_another_machine_it_stays_and_why_is_said() {
    let stays = |bench: &Bench, args: &[&str], why: &str| {
        let planned = bench.planned(args);
        assert!(
            !planned.iter().any(|op| op.starts_with("delete")),
            "{planned:?}"
        );
        assert!(
            !planned.iter().any(|op| op.starts_with("rename")),
            "{planned:?}"
        );
        bench.plan(args).expect(0).says_anywhere(why);
    };
    let (bench, old, _) = replaced("new-host");
    let of_older = format!(
        "The peer \"k\" ({old}), which used an older key of this name, is not deleted, because "
    );
    stays(&bench, &["--prune", "none"], &of_older);
    stays(&bench, &["--prune", "none"], "--prune none deletes nothing");
    // nothing asks for another machine any more
    for (hour, enrolled) in [(5.0, false), (6.0, true)] {
        bench.declared(hour, file(json!({ "enrolled": enrolled })));
        stays(
            &bench,
            &[],
            "which used an older key of this name, is not deleted, because the file has no reissue_after",
        );
    }
    // what was asked for before that key was made asks for no other one
    let before = jiff::Timestamp::from_second(second(-1.0)).unwrap();
    let asked = json!({ "enrolled": true, "reissue_after": before.to_string() });
    bench.declared(7.0, file(asked));
    stays(&bench, &[], "its key was created after reissue_after");
    // a group lists the old one by its own name
    let (bench, old, _) = replaced("new-host");
    bench.server().edit(
        "/peers",
        &bench.one("/peers", "k"),
        json!({ "name": "lathe" }),
    );
    let mut listed = asked_anew();
    listed["groups"]["lathes"] = json!({ "peers": ["lathe"] });
    bench.declared(5.0, listed);
    let planned = bench.planned(&[]);
    assert!(
        !planned.iter().any(|op| op.starts_with("delete")),
        "{planned:?}"
    );
    let why = format!(
        "The peer \"lathe\" ({old}), which used an older key of this name, is not deleted, because group \"lathes\" lists"
    );
    bench.plan(&[]).expect(0).says_anywhere(&why);
    // and without an inventory nothing is deleted
    let (bench, ..) = replaced("new-host");
    std::fs::remove_dir_all(bench.path(".netbird-gitops")).unwrap();
    let skipped = "is skipped: NetBird has a used key with this name";
    stays(&bench, &[], skipped);
}

/// Two machines of one second, and no event log: which of the two came by which key only their names say.
#[test]
fn one_that_is_told_by_its_name_alone_stays() {
    let bench = Bench::in_git();
    bench.netbird().event_log(false);
    let twin = |mut file: Value, enrolled: bool| {
        file["setup_keys"]["twin"] =
            json!({ "type": "one-off", "expires_in": 315_360_000, "enrolled": enrolled });
        file
    };
    bench.applied(0.0, twin(file(json!({})), false));
    bench.hour(1.0);
    for name in ["k", "twin"] {
        bench.server().enroll(&bench.unseal(name), name).unwrap();
    }
    bench.apply(&[]).expect(0);
    bench.applied(2.0, twin(file(json!({ "enrolled": true })), true));
    bench.applied(3.0, twin(asked_anew(), true));
    bench.hour(4.0);
    bench
        .server()
        .enroll(&bench.unseal("k"), "new-host")
        .unwrap();
    let planned = bench.planned(&[]);
    assert!(
        !planned.iter().any(|op| op.starts_with("delete")),
        "{planned:?}"
    );
    bench
        .plan(&[])
        .expect(0)
        .says_anywhere("only names and times say with which key it enrolled");
}

#[test]
fn the_machine_of_a_key_that_somebody_made_by_hand_is_not_replaced() {
    let (bench, old) = settled();
    bench.hour(2.5);
    let key = json!({ "name": "k", "type": "one-off", "expires_in": 86_400, "auto_groups": [] });
    let made = bench.create("/setup-keys", key);
    let other = bench
        .server()
        .enroll(made["key"].as_str().unwrap(), "other");
    bench.applied(3.0, asked_anew());
    bench.hour(4.0);
    bench
        .server()
        .enroll(&bench.unseal("k"), "new-host")
        .unwrap();
    assert_eq!(
        bench.planned(&[]),
        ["update_group h", "delete_peer k", "rename_peer k"]
    );
    bench.apply(&["--allow-deletes", "1"]).expect(0);
    assert_eq!(bench.id("/peers", "other"), other.unwrap());
    assert_ne!(bench.id("/peers", "k"), old);
}

#[test]
fn what_would_be_hit_keeps_it_and_nothing_else_waits() {
    let (bench, old, new) = replaced("new-host");
    let h = bench.id("/groups", "h");
    let rule = json!({ "name": "to-old", "enabled": true, "action": "accept", "bidirectional": true, "protocol": "all",
                       "sources": [h], "destinationResource": { "id": old, "type": "peer" } });
    bench.create(
        "/policies",
        json!({ "name": "to-old", "enabled": true, "rules": [rule] }),
    );
    bench.server().clear_requests();
    assert_eq!(bench.planned(&[]), ["update_group h"]);
    let run = bench.apply(&[]).expect(0);
    run.says_anywhere("but is not deleted, because its deletion would break policy \"to-old\"");
    assert_eq!(members(&bench, "h").len(), 2);
    bench.delete("/policies", "to-old");
    bench.apply(&["--allow-deletes", "1"]).expect(0);
    assert_eq!(bench.id("/peers", "k"), new);
}

/// NetBird creates keys by its own clock: what is asked for after that is asked for later, whatever the clock of the job says.
#[test]
fn where_the_clocks_differ_a_key_is_not_replaced_again_and_again() {
    let (bench, _) = settled();
    bench.hour(2.9);
    bench.declared(2.9, asked_anew());
    let key = bench.id("/setup-keys", "k");
    for _ in 0..2 {
        bench.apply(&[]).expect(0);
        assert_eq!(bench.id("/setup-keys", "k"), key);
    }
    bench.hour(3.1);
    bench.apply(&[]).expect(0).shows("1 created");
    let new = bench.server().list("/setup-keys");
    bench.leaves_all(&[]);
    assert_eq!(bench.server().list("/setup-keys"), new);
}

#[test]
fn what_becomes_of_the_older_machine_is_said_where_its_reissue_after_left_the_file() {
    let (bench, old) = settled();
    bench.applied(3.0, asked_anew());
    bench.declared(4.0, file(json!({})));
    let stays = format!(
        "The peer \"k\" ({old}), which used an older key of this name, keeps the name and leaves the groups that list it"
    );
    bench.plan(&[]).expect(0).shows("No changes").shows(&stays);
}

/// The machine of a key that is asked for anew is a member by its name until another one comes, and leaves with the name.
#[test]
fn a_machine_that_is_to_be_replaced_leaves_a_group_with_its_name() {
    let (bench, old) = settled();
    let with = |listed: &[&str], groups: &[&str]| {
        let mut file = asked_anew();
        file["groups"]["c"] = json!({ "peers": listed });
        file["setup_keys"]["k"]["auto_groups"] = json!(groups);
        file
    };
    let mut before = file(json!({ "enrolled": true }));
    before["groups"]["c"] = json!({});
    bench.applied(2.5, before);
    bench.edit("/groups", "c", json!({ "peers": [old] }));
    bench.applied(3.0, with(&["k"], &["g"]));
    assert_eq!(members(&bench, "c"), [old.as_str()]);
    bench.applied(4.0, with(&[], &["g"]));
    assert!(bench.one("/groups", "c")["peers"].is_null());
}
