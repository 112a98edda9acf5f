//! NetBird before 0.55 does not say when a peer enrolled.

use fakes::{Effect, Fault};
use serde_json::{Value, json};

use crate::run::Bench;

/// From here on the list of peers is as it is now, without the times of their creation.
fn without_times(bench: &Bench) {
    let mut peers = bench.server().list("/peers");
    for peer in &mut peers {
        peer.as_object_mut().unwrap().remove("created_at");
    }
    let answer = Effect::Status(200, Value::Array(peers));
    let fault = Fault::on("GET", "/peers").always();
    bench.netbird().fault(fault.then(answer));
}

/// A group that lists the peer of an enrolled key, and has it.
fn listed() -> Bench {
    let bench = Bench::fake();
    let keys = bench.enrolled(&["m", "n"]);
    let listed = json!({ "groups": { "g": { "peers": ["m"] } }, "setup_keys": keys });
    bench.agreed(listed);
    without_times(&bench);
    bench
}

/// The same, emptied by hand.
fn emptied() -> Bench {
    let bench = listed();
    bench.edit("/groups", "g", json!({ "peers": [] }));
    bench
}

#[test]
fn whoever_is_a_member_stays_one() {
    let bench = listed();
    bench
        .plan(&["--detailed-exitcode"])
        .expect(0)
        .shows("No changes");
    bench.netbird().drop_events();
    bench
        .plan(&["--detailed-exitcode"])
        .expect(0)
        .shows("No changes");
}

#[test]
fn the_event_log_is_asked_who_came_by_a_key() {
    let bench = emptied();
    let run = bench.plan(&["--detailed-exitcode"]).expect(2);
    assert!(!format!("{run:?}").contains("is gone"), "{run:?}");
    bench.apply(&["--no-verify"]).expect(0);
    let member = &bench.one("/groups", "g")["peers"][0]["name"];
    assert_eq!(member, "m");
}

#[test]
fn where_nothing_tells_that_is_said() {
    let bench = emptied();
    bench.netbird().drop_events();
    let run = bench.plan(&[]).expect(0);
    assert!(!format!("{run:?}").contains("is gone"), "{run:?}");
    run.says_anywhere("this NetBird does not say when peers enrolled");
}
