//! What the event log says, what it does not say, and what is not known: then a key is left alone and named.

use fakes::{Effect, Fault};
use serde_json::{Value, json};

use super::{enroll, members, pending, recorded, used};
use crate::run::Site;
use crate::whole_loop::flipped;

/// The reasons by key.
#[track_caller]
fn left_alone(run: &crate::run::Run) -> Vec<(String, String)> {
    let json = run.json();
    let word = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
    let left = json["left_alone"].as_array().unwrap().iter();
    left.map(|left| (word(&left["setup_key_name"]), word(&left["reason"])))
        .collect()
}

#[test]
fn a_key_whose_peer_is_gone() {
    let site = used(Site::fake(), ["a", "b"]);
    let gone = site.bench.id("/peers", "host-of-a");
    site.bench.netbird().deregister(&gone).unwrap();
    let before = site.file();
    let run = site.run(&["sync-events", "--format", "json"]).expect(0);
    let left = left_alone(&run);
    assert_eq!(left.len(), 1);
    assert_eq!(left[0].0, "a");
    assert!(left[0].1.contains("was deleted"), "{}", left[0].1);
    assert_eq!(site.file(), flipped(&before, "b"));
    // only what is left alone is left: no failure
    let run = site.run(&["sync-events"]).expect(0);
    run.shows(
        "setup key \"a\" was used, but the peer that enrolled with it was deleted; nothing is done",
    )
    .shows("Nothing to mark.");
}

/// A key that somebody deleted after its use did its work all the same.
#[test]
fn a_key_that_is_gone_and_was_used_is_marked() {
    let site = recorded(Site::fake(), ["a"]);
    let before = site.file();
    let key = format!("/setup-keys/{}", site.bench.id("/setup-keys", "a"));
    site.bench.server().call("DELETE", &key, Value::Null);
    site.run(&["sync-events"]).expect(0);
    assert_eq!(site.file(), flipped(&before, "a"));
    assert!(site.bench.names("/peers").contains(&"a".to_owned()));
}

/// Whose machine is recorded is not told again by every plan.
#[test]
fn who_is_recorded_is_no_question_any_more() {
    let site = recorded(Site::fake(), ["a"]);
    site.run(&["sync-events"]).expect(0);
    let mut file: Value = serde_json::from_str(&site.file()).unwrap();
    file["peers"] = json!({ "a": { "ssh_enabled": true } });
    site.commit(file);
    site.run(&["plan"])
        .expect(0)
        .shows("ssh enabled")
        .hides("only the times");
}

#[test]
fn a_key_whose_group_is_still_to_be_made_waits_for_the_apply() {
    let site = recorded(Site::fake(), ["a", "b"]);
    let mut file = super::file(&["a", "b"]);
    file["groups"]["new"] = json!({});
    file["setup_keys"]["a"]["auto_groups"] = json!(["g", "new"]);
    site.commit(file);
    let before = site.file();
    let run = site.run(&["sync-events", "--format", "json"]).expect(0);
    let why = "joins group \"new\", which is not in NetBird yet (an apply creates it)";
    assert_eq!(left_alone(&run), [("a".into(), why.into())]);
    // marked, it would never join: only pending keys bring their peers into groups
    assert_eq!(site.file(), flipped(&before, "b"));
    site.run(&["apply"]).expect(0);
    assert_eq!(members(&site, "new"), ["a"]);
    site.run(&["sync-events"]).expect(0).shows("1 key marked");
    assert!(!site.file().contains("false"));
    site.run(&["plan"]).expect(0).shows("No changes");
}

#[test]
fn a_name_that_another_peer_bears() {
    let site = used(Site::fake(), ["a", "b"]);
    site.bench.peer("a");
    let before = site.file();
    let run = site.run(&["sync-events", "--format", "json"]).expect(0);
    let other = site.bench.id("/peers", "a");
    let why = format!(
        "was used by the peer \"host-of-a\", but the peer {other} has the name \"a\": rename that peer in NetBird, or delete it if its machine \
         does not exist any more"
    );
    assert_eq!(left_alone(&run), [("a".into(), why)]);
    assert_eq!(site.file(), flipped(&before, "b"));
    assert_eq!(members(&site, "h"), ["b"]);
}

#[test]
fn with_the_event_log_off_the_times_tell() {
    let site = Site::fake();
    site.bench.netbird().event_log(false);
    let site = used(site, ["a"]);
    site.bench.netbird().advance(5);
    site.bench.peer("somebody-else");
    let run = site.run(&["sync-events", "--format", "json"]).expect(0);
    assert_eq!(run.json()["enrollments"][0]["proof"], "time");
    assert_eq!(site.bench.names("/peers"), ["a", "somebody-else"]);
    assert!(!site.file().contains("false"));
}

#[test]
fn several_machines_of_one_second_cannot_be_told_apart_without_events() {
    let site = Site::fake();
    let netbird = site.bench.netbird();
    netbird.set_clock(jiff::Timestamp::now().as_second() - 3600);
    netbird.event_log(false);
    let site = used(site, ["a", "b"]);
    let run = site.run(&["sync-events", "--format", "json"]).expect(0);
    let left = left_alone(&run);
    assert_eq!(
        left.iter().map(|left| &*left.0).collect::<Vec<_>>(),
        ["a", "b"]
    );
    for (_, why) in left {
        assert!(why.contains("host-of-a, host-of-b"), "{why}");
    }
    site.bench.assert_writes(&[]);
}

#[test]
fn a_rotated_log_is_said_and_the_times_tell() {
    let site = used(Site::fake(), ["a"]);
    site.bench.netbird().fill_events(10_000);
    let run = site.run(&["sync-events"]).expect(0);
    run.shows("only the times of key and peer say so")
        .says("NetBird keeps the newest 10,000 events");
    site.bench.one("/peers", "a");
}

#[test]
fn an_event_that_is_late_is_no_trouble() {
    let site = Site::fake();
    let secrets = pending(&site, ["a"]);
    site.bench.netbird().late_events(1);
    enroll(&site, &secrets[0], "one");
    let run = site.run(&["sync-events", "--format", "json"]).expect(0);
    assert_eq!(run.json()["enrollments"][0]["proof"], "time");
    site.bench.one("/peers", "a");
}

#[test]
fn events_of_no_known_kind_or_peer_are_no_trouble() {
    let site = used(Site::fake(), ["a"]);
    // removals of peers that nobody saw come, and events without anything in them
    let gone = site.bench.peer("temporary");
    site.bench.netbird().deregister(&gone).unwrap();
    let mut events = site.bench.netbird().list("/events");
    let list = events.as_array_mut().unwrap();
    list.insert(0, json!({ "id": "9999", "timestamp": "2026-11-28T00:00:00Z", "activity": "?", "activity_code": "new.code",
                           "initiator_id": "", "target_id": "", "meta": {} }));
    list.reverse();
    let answer = fakes::Effect::Status(200, events);
    site.bench
        .netbird()
        .fault(fakes::Fault::on("GET", "/events").always().then(answer));
    site.run(&["sync-events"]).expect(0);
    site.bench.one("/peers", "a");
}

#[test]
fn reusable_and_ephemeral_keys_are_nobodys_name() {
    let site = Site::fake();
    let mut file = super::file(&["a"]);
    file["setup_keys"]["ci"] = json!({ "type": "reusable", "expires_in": 604800, "ephemeral": true, "auto_groups": ["g"] });
    file["groups"]["g"] = json!({});
    file["groups"]["h"] = json!({});
    site.commit(file);
    site.run(&["apply"]).expect(0);
    let before = site.file();
    let secret = site.bench.unseal("ci");
    for host in ["ci-1", "ci-2"] {
        enroll(&site, &secret, host);
    }
    site.bench.server().clear_requests();
    site.gitea().clear_requests();
    site.run(&["sync-events"])
        .expect(0)
        .shows("Nothing to mark: every");
    assert_eq!(super::calls(&site), ["GET /setup-keys"]);
    // their peers are nobody's strangers, and keep their names where another key has news
    enroll(&site, &site.bench.unseal("a"), "one");
    let run = site.run(&["sync-events", "--format", "json"]).expect(0);
    assert_eq!(run.json()["undeclared"], json!({}));
    assert_eq!(site.bench.names("/peers"), ["a", "ci-1", "ci-2"]);
    assert_eq!(site.file(), flipped(&before, "a"));
}

#[test]
fn peers_that_came_by_keys_of_nobody_are_named() {
    let site = used(Site::fake(), ["a"]);
    site.bench.peer("stranger");
    let run = site.run(&["sync-events"]).expect(0);
    run.shows("note: peer \"stranger\" enrolled with ")
        .shows("which the file does not declare");
    assert_eq!(site.bench.names("/peers"), ["a", "stranger"]);
}

#[test]
fn nine_days_of_backlog_are_one_run_and_one_commit() {
    let site = Site::fake();
    let day = 86_400;
    site.bench
        .netbird()
        .set_clock(jiff::Timestamp::now().as_second() - 9 * day - 60);
    let names = [
        "k01", "k02", "k03", "k04", "k05", "k06", "k07", "k08", "k09", "k10", "k11", "k12", "k13",
        "k14",
    ];
    let site = {
        let secrets = pending(&site, names);
        for (name, secret) in names.iter().zip(secrets) {
            enroll(&site, &secret, &format!("host-of-{name}"));
            site.bench.netbird().advance(day / 2);
        }
        site
    };
    // two of them were cleaned up in the dashboard since
    for name in ["k03", "k09"] {
        site.bench.delete("/setup-keys", name);
    }
    let before = site.file();
    let commits = site.gitea().log("main").len();
    let run = site.run(&["sync-events"]).expect(0);
    run.shows("12 keys marked enrolled");
    assert_eq!(site.gitea().log("main").len(), commits + 1);
    let done = names.iter().filter(|name| !["k03", "k09"].contains(name));
    let marked = done.fold(before, |text, name| flipped(&text, name));
    assert_eq!(site.file(), marked);
}

#[test]
fn names_beyond_ascii_are_names() {
    let site = used(Site::fake(), ["🦉", "機器-01"]);
    let before = site.file();
    site.run(&["sync-events"]).expect(0);
    assert_eq!(site.bench.names("/peers"), ["機器-01", "🦉"]);
    assert_eq!(site.file(), flipped(&flipped(&before, "🦉"), "機器-01"));
    assert_eq!(
        site.gitea().log("main")[0].message.trim_end(),
        "chore: mark 2 keys as enrolled [automated]"
    );
}

/// A provider's token sees the accounts of its customers.
#[test]
fn which_of_several_accounts_is_meant_must_be_said() {
    let site = recorded(Site::fake(), ["k"]);
    let netbird = site.bench.netbird();
    let mut accounts = site.bench.server().list("/accounts");
    let mut other = accounts[0].clone();
    other["id"] = json!("customer");
    accounts.push(other);
    let several = Effect::Status(200, accounts.into());
    netbird.fault(Fault::on("GET", "/accounts").always().then(several));
    let run = site.run(&["sync-events"]).expect(3);
    run.says("sees several accounts").says("--account");
    site.bench.assert_writes(&[]);
    let url = format!("{}/api?account=customer", netbird.url());
    let run = site.run_with(&["sync-events"], &[("NETBIRD_API_URL", &url)]);
    run.expect(3)
        .says("has a query")
        .says("name the account with --account");
    let own = netbird.account_id();
    site.run(&["sync-events", "--account", &own]).expect(0);
}
