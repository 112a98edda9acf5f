//! A machine is replaced, as the clock's job sees it.

use serde_json::{Value, json};

use super::{enroll, file, members};
use crate::run::Site;
use crate::whole_loop::flipped;

/// The key `a` with these fields besides.
fn with(fields: Value) -> Value {
    let mut file = file(&["a"]);
    for (name, value) in fields.as_object().unwrap() {
        file["setup_keys"]["a"][name] = value.clone();
    }
    file
}

/// Commits a file and checks it out, with its history.
fn checked_out(site: &Site, file: Value) {
    site.commit(file);
    site.checkout(&site.repo().tip("main"));
}

/// A site on which another machine enrolled for `a`, with that hostname. Returns both peers.
fn replaced(hostname: &str) -> (Site, [String; 2]) {
    let site = Site::fake();
    let now = jiff::Timestamp::now().as_second();
    // as old as a commit of now can have made it
    site.bench.netbird().set_clock(now - 200);
    checked_out(&site, with(json!({})));
    site.run(&["apply"]).expect(0);
    let old = enroll(&site, &site.bench.unseal("a"), "old-host");
    site.run(&["sync-events"]).expect(0).shows("1 key marked");
    let asked = jiff::Timestamp::from_second(now - 100).unwrap();
    checked_out(&site, with(json!({ "reissue_after": asked.to_string() })));
    site.bench.netbird().set_clock(now);
    site.run(&["apply"]).expect(0);
    let new = enroll(&site, &site.bench.unseal("a"), hostname);
    site.bench.server().clear_requests();
    (site, [old, new])
}

#[test]
fn it_waits_for_the_old_peer_to_go_and_says_so_in_every_run() {
    let (site, [old, new]) = replaced("new-host");
    let before = site.file();
    for _ in 0..2 {
        let run = site.run(&["sync-events"]).expect(0);
        run.shows("setup key \"a\": peer \"new-host\" enrolled with it; ")
            .shows(&format!(
                "it replaces peer \"a\" ({old}), and gets the name"
            ))
            .hides("nothing is done");
    }
    // it works meanwhile, and so does the old one
    assert_eq!(members(&site, "h"), ["a", "new-host"]);
    assert_eq!(site.file(), before);
    let run = site.run(&["sync-events", "--format", "json"]).expect(0);
    let json = run.json();
    assert_eq!(json["enrollments"], json!([]));
    let waiting = &json["replacing"][0];
    assert_eq!(waiting["peer_id"], json!(new));
    assert_eq!(waiting["replaces"], json!([old]));
    assert_eq!(waiting["groups_assigned"], true);
    // nor does a pipeline behind it mark the key
    std::fs::write(site.bench.path("synced.json"), json.to_string()).unwrap();
    site.run(&["mark-enrolled", "--from", "synced.json"])
        .expect(0);
    assert_eq!(site.file(), before);

    let plan = site.run(&["plan", "--format", "json"]).expect(0).json();
    let line = plan["agreements"][0]["line"].as_str().unwrap();
    assert!(line.starts_with("Allow-Deletes: 1 "), "{line}");
    let number_and_digest = line.trim_start_matches("Allow-Deletes: ");
    site.run(&["apply", "--allow-deletes", "1 00000000"])
        .expect(3);
    let args = ["apply", "--allow-deletes", number_and_digest];
    site.run(&args).expect(0);
    assert_eq!(site.bench.id("/peers", "a"), new);
    assert_eq!(members(&site, "h"), ["a"]);
    site.run(&["sync-events"])
        .expect(0)
        .shows("1 key marked enrolled");
    assert_eq!(site.file(), flipped(&before, "a"));
    checked_out(&site, serde_json::from_str(&site.file()).unwrap());
    site.run(&["plan"]).expect(0).shows("No changes");
}

#[test]
fn one_that_calls_itself_so_waits_as_well() {
    let (site, [old, new]) = replaced("a");
    let before = site.file();
    let run = site.run(&["sync-events"]).expect(0);
    run.shows(&format!("it replaces peer \"a\" ({old})"));
    assert_eq!(site.file(), before);
    site.run(&["apply", "--allow-deletes", "1"]).expect(0);
    assert_eq!(site.bench.id("/peers", "a"), new);
    site.run(&["sync-events"])
        .expect(0)
        .shows("1 key marked enrolled");
}

#[test]
fn flipped_back_alone_it_is_marked_again_and_what_is_missing_is_said() {
    let site = Site::fake();
    site.bench
        .netbird()
        .set_clock(jiff::Timestamp::now().as_second() - 200);
    checked_out(&site, with(json!({})));
    site.run(&["apply"]).expect(0);
    enroll(&site, &site.bench.unseal("a"), "host");
    site.run(&["sync-events"]).expect(0);
    checked_out(&site, with(json!({})));
    let run = site.run(&["sync-events"]).expect(0);
    run.shows(
        "note: setup key \"a\" was marked enrolled before, and now it is not. This has no effect",
    )
    .shows("1 key marked enrolled");
}
