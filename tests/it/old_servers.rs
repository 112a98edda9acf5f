//! What older servers do not have: NetBird before 0.55 does not say when a peer enrolled, and each version before 0.77 lacks
//! settings. The answers are those of real servers (docs/netbird-api.md, "Versions").

use fakes::{Effect, Fault};
use serde_json::{Value, json};

use crate::run::Bench;

/// From here on the server does not tell its version, as none before 0.64.2 does.
pub(crate) fn tells_no_version(bench: &Bench) {
    let absent = fakes::http::Response::new(404, "text/plain", "404 page not found\n");
    let fault = Fault::on("GET", "/instance/version").always();
    bench.netbird().fault(fault.then(Effect::Raw(absent)));
}

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
    run.says_anywhere("this NetBird does not report when peers enrolled");
}

/// Settings that `GET /accounts` of a new account does not have on NetBird 0.55.0; those of `extra` are apart.
const LATER: [&str; 13] = [
    "agent_network_only",
    "auto_update_always",
    "auto_update_version",
    "embedded_idp_enabled",
    "ipv6_enabled_groups",
    "local_auth_disabled",
    "local_mfa_enabled",
    "metrics_push_enabled",
    "network_range",
    "network_range_v6",
    "peer_expose_enabled",
    "peer_expose_groups",
    "user_approval_required",
];

/// A bench whose account answers as that of NetBird 0.55.0.
fn of_0_55() -> Bench {
    let bench = Bench::fake();
    let mut accounts = bench.server().list("/accounts");
    let settings = accounts[0]["settings"].as_object_mut().unwrap();
    settings.retain(|field, _| !LATER.contains(&field.as_str()));
    let extra = settings["extra"].as_object_mut().unwrap();
    extra.remove("user_approval_required");
    let answer = Effect::Status(200, Value::Array(accounts));
    let fault = Fault::on("GET", "/accounts").always();
    bench.netbird().fault(fault.then(answer));
    bench
}

#[test]
fn a_setting_of_a_later_netbird_is_an_error_where_the_file_has_it() {
    let bench = of_0_55();
    bench.file(json!({ "account": { "settings": { "peer_login_expiration": 7200 } } }));
    bench.plan(&[]).expect(0).shows("86400 → 7200");
    for (field, value) in [
        ("auto_update_version", json!("latest")),
        ("ipv6_enabled_groups", json!(["All"])),
        ("network_range_v6", json!("fd00:100:80::/64")),
        ("user_approval_required", json!(false)),
    ] {
        bench.file(json!({ "account": { "settings": { field: value } } }));
        bench.plan(&[]).expect(1).says(&format!(
            "cannot set {field}: this NetBird is too old to have this setting"
        ));
    }
}

/// Before 0.71 the answer has no range until somebody sets one.
#[test]
fn a_range_that_nobody_set_can_be_set() {
    let bench = of_0_55();
    bench.file(json!({ "account": { "settings": { "network_range": "100.80.0.0/16" } } }));
    bench
        .plan(&[])
        .expect(0)
        .shows("network range  none → 100.80.0.0/16");
    // the answer stays what it was
    bench.apply(&[]).expect(4);
    let requests = bench.netbird().requests();
    let put = requests.iter().find(|it| it.method == "PUT").unwrap();
    let sent = &put.body.as_ref().unwrap()["settings"];
    assert_eq!(sent["network_range"], "100.80.0.0/16");
}

#[test]
fn netbirds_ssh_is_an_error_of_the_plan_before_it_came() {
    let policy = |protocol: &str| json!({ "groups": { "a": {} }, "policies": { "p": { "sources": ["a"], "destinations": ["a"], "protocol": protocol, "ports": [22] } } });
    let bench = of_0_55();
    bench.file(policy("netbird-ssh"));
    bench
        .apply(&[])
        .expect(1)
        .says("policy \"p\" has the protocol netbird-ssh, but this NetBird is too old for it");
    bench.assert_writes(&[]);
    bench.file(policy("tcp"));
    bench.apply(&[]).expect(0);
}
