//! What does `sync-events` find, what does it do about it, and what does it leave alone?

use fakes::{Effect, Fault};
use serde_json::{Value, json};

use crate::run::{Site, id, redact};
use crate::whole_loop::flipped;

mod commits;
mod left_alone;
mod races;
mod replaced;
mod told;

/// A file with pending one-off keys that join `g`; group `h` lists them too.
pub(super) fn file(keys: &[&str]) -> Value {
    let mut file =
        json!({ "groups": { "g": { "peers": keys }, "h": { "peers": keys } }, "setup_keys": {} });
    for key in keys {
        file["setup_keys"][*key] = json!({ "type": "one-off", "expires_in": 604800, "auto_groups": ["g"], "enrolled": false });
    }
    file
}

/// A site with that file and such keys in NetBird; returns the keys' secrets, too.
pub(super) fn pending<const N: usize>(site: &Site, keys: [&str; N]) -> [String; N] {
    site.commit(file(&keys));
    let group = site.bench.group("g");
    site.bench.group("h");
    let secrets = keys.map(|name| {
        let key = json!({ "name": name, "type": "one-off", "expires_in": 604800, "usage_limit": 1,
                          "auto_groups": [group] });
        let made = site.bench.create("/setup-keys", key);
        made["key"].as_str().unwrap().to_owned()
    });
    site.bench.server().clear_requests();
    secrets
}

/// A site where `keys` are used by machines called `host-of-KEY`.
pub(super) fn used<const N: usize>(site: Site, keys: [&str; N]) -> Site {
    for (key, secret) in keys.iter().zip(pending(&site, keys)) {
        enroll(&site, &secret, &format!("host-of-{key}"));
    }
    site
}

/// The same with keys that an apply made and wrote down.
pub(super) fn recorded<const N: usize>(site: Site, keys: [&str; N]) -> Site {
    site.commit(file(&keys));
    site.run(&["apply"]).expect(0);
    for key in keys {
        enroll(&site, &site.bench.unseal(key), &format!("host-of-{key}"));
    }
    site.bench.server().clear_requests();
    site
}

pub(super) fn enroll(site: &Site, secret: &str, hostname: &str) -> String {
    site.bench.server().enroll(secret, hostname).unwrap()
}

/// The members of a group by name, sorted.
pub(super) fn members(site: &Site, group: &str) -> Vec<String> {
    let group = site.bench.one("/groups", group);
    let peers = group["peers"].as_array().into_iter().flatten();
    let mut names: Vec<String> = peers
        .map(|peer| peer["name"].as_str().unwrap().to_owned())
        .collect();
    names.sort();
    names
}

/// The requests to NetBird as `GET /groups`, ids left out.
pub(super) fn calls(site: &Site) -> Vec<String> {
    let requests = site.bench.netbird().requests();
    let call =
        |request: &fakes::http::Request| format!("{} {}", request.method, redact(&request.path));
    requests.iter().map(call).collect()
}

#[test]
fn an_idle_run_is_one_request() {
    let site = Site::fake();
    pending(&site, ["a", "b"]);
    site.gitea().clear_requests();
    // nothing used
    site.run(&["sync-events"])
        .expect(0)
        .shows("Nothing to mark: every");
    assert_eq!(calls(&site), ["GET /setup-keys"]);
    assert!(site.gitea().requests().is_empty());

    // everything used is marked
    let site = used(Site::fake(), ["a"]);
    let marked = flipped(&site.file(), "a");
    site.commit_text(&marked);
    site.bench.server().clear_requests();
    site.gitea().clear_requests();
    let run = site.run(&["sync-events", "--format", "json"]).expect(0);
    assert_eq!(calls(&site), ["GET /setup-keys"]);
    assert!(site.gitea().requests().is_empty());
    assert_eq!(run.json()["enrollments"], json!([]));
    assert_eq!(run.json()["requests"], 1);
}

#[test]
fn a_list_of_keys_that_cannot_be_read_is_no_idle_run() {
    let site = used(Site::fake(), ["a"]);
    let garbled = Fault::on("GET", "/setup-keys").then(Effect::Status(200, json!([{}])));
    site.bench.netbird().fault(garbled);
    let run = site.run(&["sync-events"]).expect(1);
    run.says("setup_keys: entry without an id cannot be read");
}

#[test]
fn a_forge_that_hangs_ends_the_run_in_the_time_that_the_command_has_for_its_servers() {
    let site = used(Site::fake(), ["a"]);
    let path = site.gitea().path("/contents/netbird.json");
    let slow = Effect::Slow(std::time::Duration::from_secs(600));
    site.gitea()
        .fault(Fault::on("GET", &path).always().then(slow));
    let run = site.run(&["sync-events", "--timeout", "0.5"]).expect(1);
    run.says("no complete answer within 0.5 s");
}

/// People have one reusable key a machine: it is bound and marked as a one-off key is.
#[test]
fn a_reusable_key_of_one_machine_is_marked() {
    let site = Site::fake();
    let mut file = file(&["a"]);
    file["setup_keys"]["a"] =
        json!({ "type": "reusable", "usage_limit": 1, "expires_in": 604800, "auto_groups": ["g"] });
    site.commit(file);
    site.run(&["apply"]).expect(0);
    enroll(&site, &site.bench.unseal("a"), "host-of-a");
    site.run(&["sync-events"]).expect(0).shows("host-of-a");
    assert!(
        site.file().contains("\"enrolled\": true"),
        "{}",
        site.file()
    );
    assert_eq!(members(&site, "h"), ["a"]);
    site.run(&["sync-events"])
        .expect(0)
        .shows("Nothing to mark");
}

#[test]
fn the_json_has_the_seeds_shape() {
    let site = used(Site::fake(), ["a"]);
    let peer = site.bench.id("/peers", "host-of-a");
    let run = site.run(&["sync-events", "--format", "json"]).expect(0);
    let mut json = run.json();
    assert_eq!(
        json["commit_place"].take(),
        json!(site.repo().tip("main")),
        "the commit"
    );
    assert!(
        json["commit"]
            .take()
            .as_str()
            .unwrap()
            .starts_with("committed as ")
    );
    json["requests"].take();
    let wanted = json!({
        "format_version": 1,
        "enrollments": [{
            "setup_key_name": "a", "peer_id": peer, "renamed": true, "groups_assigned": true, "groups": ["g", "h"],
            "renamed_from": "host-of-a", "dns_label": "a", "proof": "event", "waits_for_approval": false
        }],
        "replacing": [], "left_alone": [], "notices": [], "undeclared": {}, "marked": ["a"], "dry_run": false,
        "commit": null, "commit_place": null, "requests": null
    });
    assert_eq!(json, wanted);
}

#[test]
fn a_rename_keeps_the_flags_of_the_peer() {
    let site = used(Site::fake(), ["a"]);
    let on = json!({ "ssh_enabled": true });
    site.bench.edit("/peers", "host-of-a", on);
    site.bench.server().clear_requests();
    site.run(&["sync-events"]).expect(0);
    let requests = site.bench.netbird().requests();
    let rename = requests
        .iter()
        .find(|request| request.method == "PUT" && request.path.starts_with("/peers/"));
    let body = rename.unwrap().body.as_ref().unwrap();
    for (field, value) in [
        ("name", json!("a")),
        ("ssh_enabled", json!(true)),
        ("login_expiration_enabled", json!(false)),
        ("inactivity_expiration_enabled", json!(false)),
    ] {
        assert_eq!(body[field], value, "{field}");
    }
    assert_eq!(site.bench.one("/peers", "a")["ssh_enabled"], true);
}

#[test]
fn a_peer_of_that_name_already_is_not_renamed() {
    let site = Site::fake();
    let [secret] = pending(&site, ["a"]);
    enroll(&site, &secret, "a");
    let run = site.run(&["sync-events"]).expect(0);
    run.shows("setup key \"a\": peer \"a\" has its name; is put into h");
    site.bench.assert_writes(&["PUT /groups"]);
    // nor is it when its label got a suffix: renaming would change names that others use
    assert_eq!(members(&site, "h"), ["a"]);
}

#[test]
fn the_dns_label_that_results_is_told() {
    let site = Site::fake();
    let secrets = pending(&site, ["Pilot Hawk.72", "b"]);
    site.bench.peer("b.elsewhere");
    enroll(&site, &secrets[0], "one");
    enroll(&site, &secrets[1], "two");
    let run = site.run(&["sync-events"]).expect(0);
    let label = |name: &str| {
        let peer = site.bench.one("/peers", name);
        let label = peer["dns_label"].as_str().unwrap().to_owned();
        label.split('.').next().unwrap().to_owned()
    };
    assert_eq!(label("Pilot Hawk.72"), "pilot-hawk");
    assert!(label("b").starts_with("b-"), "taken: {}", label("b"));
    let told = format!("renamed to it (DNS label {})", label("b"));
    run.shows("renamed to it (DNS label pilot-hawk)")
        .shows(&told);
}

#[test]
fn the_label_that_is_told_is_the_one_that_netbird_answered() {
    let site = Site::fake();
    let names = ["F2-Cam", "f2-cam", "f2 ops/gw #1"];
    let secrets = pending(&site, names);
    for (host, secret) in ["one", "two", "three"].iter().zip(&secrets) {
        enroll(&site, secret, host);
    }
    // somebody takes a label once the renames are planned
    let taken = site.bench.peer("elsewhere");
    let rename = json!({ "name": "f2-ops-gw-1", "ssh_enabled": false, "login_expiration_enabled": false,
                         "inactivity_expiration_enabled": false });
    site.bench
        .netbird()
        .before("PUT", "/peers/", move |netbird| {
            let (status, _) = netbird.call("PUT", &format!("/peers/{taken}"), rename);
            assert_eq!(status, 200);
        });
    let run = site.run(&["sync-events", "--format", "json"]).expect(0);
    let enrollments = run.json()["enrollments"].clone();
    for entry in enrollments.as_array().unwrap() {
        let name = entry["setup_key_name"].as_str().unwrap();
        let fqdn = site.bench.one("/peers", name)["dns_label"].clone();
        let label = fqdn.as_str().unwrap().split('.').next().unwrap();
        assert_eq!(entry["dns_label"], label, "{name}");
    }
}

#[test]
fn each_group_is_read_right_before_its_one_put() {
    let site = used(Site::fake(), ["a", "b", "c"]);
    let stays = site.bench.peer("stays");
    site.bench.edit("/groups", "h", json!({ "peers": [stays] }));
    site.bench.server().clear_requests();
    site.run(&["sync-events"]).expect(0);
    let h = id(&site.bench.one("/groups", "h"));
    let calls: Vec<String> = site
        .bench
        .netbird()
        .requests()
        .iter()
        .filter(|request| request.path == format!("/groups/{h}"))
        .map(|request| request.method.clone())
        .collect();
    assert_eq!(calls, ["GET", "PUT"]);
    assert_eq!(members(&site, "h"), ["a", "b", "c", "stays"]);
}

#[test]
fn a_dry_run_writes_nothing_anywhere() {
    let site = used(Site::fake(), ["a", "b"]);
    let tip = site.repo().tip("main");
    let run = site.run(&["sync-events", "--dry-run"]).expect(0);
    run.shows("peer \"host-of-a\" would be renamed to it (DNS label a)")
        .shows("would be put into h")
        .shows("2 keys would be marked enrolled");
    site.bench.assert_writes(&[]);
    assert!(
        site.gitea()
            .requests()
            .iter()
            .all(|request| request.method == "GET")
    );
    assert_eq!(site.repo().tip("main"), tip);
}

#[test]
fn without_a_commit_the_rest_is_done() {
    let site = used(Site::fake(), ["a"]);
    let tip = site.repo().tip("main");
    let run = site.run(&["sync-events", "--no-commit", "--format", "json"]);
    let json = run.expect(0).json();
    assert_eq!(json["commit"], Value::Null);
    site.bench.one("/peers", "a");
    assert_eq!(site.repo().tip("main"), tip);
    // and its JSON is what mark-enrolled takes
    std::fs::write(site.bench.path("synced.json"), json.to_string()).unwrap();
    let run = site.run(&["mark-enrolled", "--from", "synced.json"]);
    run.expect(0).shows("Marked enrolled: a; committed as ");
    assert!(site.file().contains("\"enrolled\": true"));
}

#[test]
fn one_bad_key_does_not_stop_the_others() {
    let site = used(Site::fake(), ["a", "b", "c"]);
    let before = site.file();
    let bad = format!("/peers/{}", site.bench.id("/peers", "host-of-b"));
    let refusal = json!({ "message": "internal server error", "code": 500 });
    let fault = Fault::on("PUT", &bad).then(Effect::Status(500, refusal));
    site.bench.netbird().fault(fault);
    let run = site.run(&["sync-events", "--format", "json"]).expect(4);
    let json = run.json();
    let errors: Vec<(&Value, bool)> = json["enrollments"]
        .as_array()
        .unwrap()
        .iter()
        .map(|done| (&done["setup_key_name"], !done["error"].is_null()))
        .collect();
    assert_eq!(
        errors,
        [
            (&json!("a"), false),
            (&json!("b"), true),
            (&json!("c"), false)
        ]
    );
    assert_eq!(site.file(), flipped(&flipped(&before, "a"), "c"));
    assert_eq!(members(&site, "h"), ["a", "c", "host-of-b"]);
    // the next run does the rest
    site.run(&["sync-events"])
        .expect(0)
        .shows("1 key marked enrolled");
    assert_eq!(members(&site, "h"), ["a", "b", "c"]);
    assert!(!site.file().contains("false"));
}

#[test]
fn running_again_changes_nothing_more() {
    let site = used(Site::fake(), ["a"]);
    site.run(&["sync-events"]).expect(0);
    let (tip, file) = (site.repo().tip("main"), site.file());
    // the checkout is as old as before
    site.bench.server().clear_requests();
    let run = site.run(&["sync-events"]).expect(0);
    run.shows("Nothing to mark");
    site.bench.assert_writes(&[]);
    assert_eq!((site.repo().tip("main"), site.file()), (tip, file));
}

#[test]
fn a_failing_run_leaves_a_document_too() {
    let site = used(Site::fake(), ["a"]);
    let args = ["sync-events", "--format", "json", "--report", "report.json"];
    let run = site.run_with(&args, &[("NETBIRD_API_TOKEN", "nbp_wrong")]);
    let json = run.expect(1).json();
    assert_eq!(json["enrollments"], json!([]));
    let message = json["error"]["message"].as_str().unwrap();
    assert!(message.contains("401 token invalid"), "{message}");
    let report = std::fs::read_to_string(site.bench.path("report.json")).unwrap();
    assert_eq!(report, format!("{json:#}\n"));
}
