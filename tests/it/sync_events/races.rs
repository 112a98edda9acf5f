//! Others at the same time: peers that join, a second run, groups that change under our hands.

use fakes::{Effect, Fault};
use serde_json::{Value, json};

use super::{enroll, members, used};
use crate::run::Site;
use crate::whole_loop::flipped;

#[test]
fn a_peer_that_joins_between_reading_and_writing_a_group_stays() {
    let site = used(Site::fake(), ["a"]);
    let (h, hurried) = (site.bench.id("/groups", "h"), site.bench.peer("hurried"));
    let path = format!("/groups/{h}");
    site.bench
        .netbird()
        .before("PUT", &path.clone(), move |netbird| {
            let body = json!({ "name": "h", "peers": [hurried], "resources": [] });
            assert_eq!(netbird.call("PUT", &path, body).0, 200);
        });
    let told = "\"hurried\" joined group \"h\" while this run wrote the group, and that write removed them. The run added them again.";
    let run = site
        .run(&["sync-events", "--format", "json"])
        .expect(0)
        .says(told);
    assert_eq!(run.json()["notices"], json!([told]));
    assert_eq!(members(&site, "h"), ["a", "hurried"]);
    assert!(!site.file().contains("false"));
}

#[test]
fn a_machine_that_enrolls_into_the_group_meanwhile_stays_without_events_too() {
    let site = used(Site::fake(), ["a"]);
    let h = site.bench.id("/groups", "h");
    let key =
        json!({ "name": "fleet", "type": "reusable", "expires_in": 86400, "auto_groups": [h] });
    let made = site.bench.create("/setup-keys", key);
    let secret = made["key"].as_str().unwrap().to_owned();
    site.bench.netbird().event_log(false);
    site.bench
        .netbird()
        .before("PUT", &format!("/groups/{h}"), move |netbird| {
            netbird.enroll(&secret, "hurried").unwrap();
        });
    site.run(&["sync-events"])
        .expect(0)
        .says("added them again");
    assert_eq!(members(&site, "h"), ["a", "hurried"]);
}

#[test]
fn that_it_cannot_be_checked_is_no_word_of_nothing_changed() {
    let site = used(Site::fake(), ["a"]);
    // the second list of events is that of the check
    let fault = Fault::on("GET", "/events").nth(2).always();
    let refusal = json!({ "message": "no", "code": 403 });
    site.bench
        .netbird()
        .fault(fault.then(Effect::Status(403, refusal)));
    let run = site.run(&["sync-events", "--format", "json"]).expect(4);
    let json = run.json();
    let message = json["error"]["message"].as_str().unwrap();
    assert!(message.contains("lost no member"), "{message}");
    // what was done is committed all the same
    assert_eq!(json["enrollments"][0]["error"], Value::Null);
    site.bench.one("/peers", "a");
    assert!(!site.file().contains("false"));
}

#[test]
fn a_second_run_in_the_middle_of_the_first_changes_nothing_twice() {
    let site = used(Site::fake(), ["a", "b"]);
    let before = site.file();
    let commits = site.gitea().log("main").len();
    // the whole of another run, right before our commit
    let mut other = site.bench.command(&["sync-events"]);
    other
        .env("GITEA_URL", site.repo().url())
        .env("GITEA_REPO", site.repo().full_name())
        .env("GITEA_TOKEN", site.repo().token())
        .env("GITEA_BRANCH", "main");
    let contents = site.gitea().path("/contents");
    site.gitea().before("POST", &contents, move |_| {
        assert!(other.output().unwrap().status.success());
    });
    let run = site.run(&["sync-events"]).expect(0);
    // the very bytes that we were about to write are there: that is our commit as much as the other run's
    run.shows("2 keys marked enrolled: committed as ");
    assert_eq!(site.gitea().log("main").len(), commits + 1);
    assert_eq!(site.file(), flipped(&flipped(&before, "a"), "b"));
    assert_eq!(members(&site, "h"), ["a", "b"]);
}

#[test]
fn a_second_run_in_the_middle_of_the_renames_does_no_harm() {
    let site = used(Site::fake(), ["a", "b"]);
    let before = site.file();
    let peer = format!("/peers/{}", site.bench.id("/peers", "host-of-a"));
    let mut other = site.bench.command(&["sync-events", "--no-commit"]);
    site.bench.netbird().before("PUT", &peer, move |_| {
        assert!(other.output().unwrap().status.success());
    });
    site.run(&["sync-events"]).expect(0);
    assert_eq!(site.file(), flipped(&flipped(&before, "a"), "b"));
    assert_eq!(members(&site, "h"), ["a", "b"]);
    // the second rename was none: the label has no suffix
    for name in ["a", "b"] {
        let label = &site.bench.one("/peers", name)["dns_label"];
        assert!(
            label.as_str().unwrap().starts_with(&format!("{name}.")),
            "{label}"
        );
    }
}

#[test]
fn a_group_that_is_deleted_meanwhile_fails_its_key_alone() {
    let site = Site::fake();
    let mut file = super::file(&["a", "b"]);
    file["groups"]["h"] = json!({ "peers": ["a"] });
    let secrets = super::pending(&site, ["a", "b"]);
    site.commit(file);
    for (host, secret) in ["one", "two"].iter().zip(&secrets) {
        enroll(&site, secret, host);
    }
    let before = site.file();
    let path = format!("/groups/{}", site.bench.id("/groups", "h"));
    site.bench
        .netbird()
        .before("GET", &path.clone(), move |netbird| {
            assert_eq!(netbird.call("DELETE", &path, Value::Null).0, 200);
        });
    let run = site.run(&["sync-events"]).expect(4);
    run.shows("FAILED").shows("1 key marked enrolled");
    assert_eq!(site.file(), flipped(&before, "b"));
}
