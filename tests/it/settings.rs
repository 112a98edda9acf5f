//! The account's settings: what the file says of them, and nothing else, becomes so.

use fakes::{Effect, Fault};
use serde_json::{Value, json};

use crate::run::{Bench, id};

fn file(settings: Value) -> Value {
    json!({ "groups": { "g": {} }, "account": { "settings": settings } })
}

/// The settings as the server has them.
fn settings(bench: &Bench) -> Value {
    bench.server().list("/accounts")[0]["settings"].clone()
}

/// Somebody changes settings by hand.
fn by_hand(bench: &Bench, changes: Value) {
    let account = bench.server().list("/accounts")[0].clone();
    let mut settings = account["settings"].clone();
    for (field, value) in changes.as_object().unwrap() {
        settings[field] = value.clone();
    }
    let path = format!("/accounts/{}", id(&account));
    bench
        .server()
        .write("PUT", &path, json!({ "settings": settings }));
}

/// The addresses and full names of all peers.
fn machines(bench: &Bench) -> Vec<(Value, Value, Value)> {
    let peers = bench.server().list("/peers").into_iter();
    let mut machines: Vec<_> = peers
        .map(|peer| {
            (
                peer["ip"].clone(),
                peer["ipv6"].clone(),
                peer["dns_label"].clone(),
            )
        })
        .collect();
    machines.sort_by_key(|machine| machine.2.to_string());
    machines
}

#[test]
fn what_the_file_says_is_set_and_the_rest_stays() {
    let bench = Bench::fake();
    bench.agreed(json!({ "groups": { "g": {} } }));
    by_hand(
        &bench,
        json!({ "jwt_groups_claim_name": "roles", "extra": { "peer_approval_enabled": true, "user_approval_required": true } }),
    );
    let mut wanted = settings(&bench);
    bench.file(file(json!({
        "peer_login_expiration": 7200, "user_approval_required": false, "peer_expose_enabled": true,
        "peer_expose_groups": ["g"], "jwt_allow_groups": ["b", "a"],
    })));
    bench
        .plan(&[])
        .expect(0)
        .shows("account settings")
        .shows("peer login expiration");
    bench.netbird().clear_requests();
    bench.apply(&[]).expect(0).shows("1 changed");
    bench.assert_writes(&["PUT /accounts"]);
    wanted["peer_login_expiration"] = json!(7200);
    wanted["extra"]["user_approval_required"] = json!(false);
    wanted["peer_expose_enabled"] = json!(true);
    wanted["peer_expose_groups"] = json!([bench.id("/groups", "g")]);
    wanted["jwt_allow_groups"] = json!(["a", "b"]);
    assert_eq!(settings(&bench), wanted);
    bench.plan(&["--detailed-exitcode"]).expect(0);
    // what leaves the file stays as it is
    bench
        .file(json!({ "groups": { "g": {} } }))
        .apply(&[])
        .expect(0);
    assert_eq!(settings(&bench), wanted);
}

#[test]
fn what_was_changed_by_hand_is_drift_and_set_again() {
    let bench = Bench::in_git();
    bench.applied(0.0, file(json!({ "peer_login_expiration": 7200 })));
    by_hand(
        &bench,
        json!({ "peer_login_expiration": 3600, "lazy_connection_enabled": false }),
    );
    bench
        .run(&["drift"])
        .expect(2)
        .shows("peer login expiration")
        .hides("lazy connection");
    bench.apply(&[]).expect(0).shows("1 changed");
    let settings = settings(&bench);
    assert_eq!(settings["peer_login_expiration"], 7200);
    assert_eq!(settings["lazy_connection_enabled"], false);
}

#[test]
fn a_lost_answer_is_looked_up() {
    for effect in [Effect::CutAfter, Effect::ErrorAfter] {
        let bench = Bench::fake();
        bench.agreed(json!({ "groups": { "g": {} } }));
        bench.file(file(json!({ "peer_login_expiration": 7200 })));
        bench
            .netbird()
            .fault(Fault::on("PUT", "/accounts/").always().then(effect));
        bench
            .apply(&[])
            .expect(0)
            .says_anywhere("NetBird carried it out all the same");
        assert_eq!(settings(&bench)["peer_login_expiration"], 7200);
    }
}

#[test]
fn what_a_put_answers_is_not_believed() {
    let bench = Bench::fake();
    bench.agreed(json!({ "groups": { "g": {} } }));
    let mut answer = bench.server().list("/accounts")[0].clone();
    answer["settings"]["peer_login_expiration"] = json!(7200);
    let ignored = Fault::on("PUT", "/accounts/").then(Effect::Status(200, answer));
    bench.netbird().fault(ignored);
    bench
        .file(file(json!({ "peer_login_expiration": 7200 })))
        .apply(&[])
        .expect(4)
        .says_anywhere("answered 200 and stored something else");
}

#[test]
fn settings_that_move_machines_want_an_agreement() {
    let rows = [
        (
            json!({ "network_range": "10.9.0.0/16" }),
            "2 machines get another IPv4 address (network_range)",
        ),
        (
            json!({ "network_range_v6": "fd00:9::/64" }),
            "2 machines get another IPv6 address (network_range_v6)",
        ),
        (
            json!({ "dns_domain": "Corp.example" }),
            "2 machines get another domain (dns_domain)",
        ),
        (
            json!({ "ipv6_enabled_groups": ["g"] }),
            "2 machines get or lose their IPv6 addresses (ipv6_enabled_groups)",
        ),
    ];
    for (moving, said) in rows {
        let bench = Bench::in_git();
        bench.applied(0.0, json!({ "groups": { "g": {} } }));
        bench.peer("a");
        bench.peer("b");
        let before = machines(&bench);
        bench.declared(1.0, file(moving.clone()));
        bench.plan(&[]).expect(0).shows(said);
        bench.refuses(&[]).says("with this plan").says(said);
        bench.refuses(&["--max-deletes", "99"]);
        assert_eq!(machines(&bench), before, "{moving}");
        // the line is that of this value alone
        let mut other = moving.clone();
        for value in other.as_object_mut().unwrap().values_mut() {
            *value = match value.as_str() {
                None => json!([]),
                Some(text) => json!(text.replace("9", "8").replace("Corp", "other")),
            };
        }
        let line = bench.line("line", &[]);
        bench.declared_with(2.0, file(other.clone()), &format!("another one\n\n{line}"));
        bench.refuses(&[]);
        bench.declared_agreed(3.0, file(other), "this one");
        bench.apply(&[]).expect(0);
        assert_ne!(machines(&bench), before, "{moving}");
        bench.plan(&["--detailed-exitcode"]).expect(0);
    }
}

#[test]
fn without_machines_nobody_has_to_agree() {
    let bench = Bench::in_git();
    let all = json!({ "network_range": "10.9.0.0/16", "network_range_v6": "fd00:9::/64", "dns_domain": "corp.example",
                      "ipv6_enabled_groups": [] });
    bench.applied(0.0, file(all));
    bench.peer("a");
    bench.plan(&["--detailed-exitcode"]).expect(0);
    // the domain that they have is no other one
    let bench = Bench::in_git();
    bench.peer("a");
    bench.applied(0.0, file(json!({ "dns_domain": "netbird.selfhosted" })));
}

#[test]
fn an_agreement_is_that_of_the_value() {
    let bench = Bench::in_git();
    bench.applied(0.0, file(json!({ "network_range": "10.9.0.0/16" })));
    bench.peer("a");
    // somebody changes it by hand: no change of the file did that, and nobody agreed to it
    by_hand(&bench, json!({ "network_range": "10.7.0.0/16" }));
    bench.refuses(&[]);
    let plan = bench.plan(&["--format", "json"]).expect(0).json();
    assert_eq!(plan["operations"][0]["cause"], Value::Null, "{plan:#}");
    let line = bench.line("line", &[]);
    let number = line.split_whitespace().nth(1).unwrap();
    bench.apply(&["--allow-deletes", number]).expect(0);
    assert_eq!(settings(&bench)["network_range"], "10.9.0.0/16");
}

#[test]
fn what_the_server_refuses_is_told_before() {
    let zones = |domain: &str| json!({ "zones": { "z": { "domain": domain, "distribution_groups": ["g"] } } });
    let mut both = file(json!({ "dns_domain": "corp.example" }));
    both["dns"] = zones("corp.example");
    let bench = Bench::fake();
    bench.agreed(json!({ "groups": { "g": {} } }));
    bench
        .file(both.clone())
        .cannot(&[])
        .says("the DNS zone \"z\" in line")
        .says("has that domain");
    bench.agreed(json!({ "groups": { "g": {} }, "dns": zones("corp.example") }));
    bench
        .file(file(json!({ "dns_domain": "corp.example" })))
        .cannot(&[])
        .says("cannot have the domain of DNS zone \"z\"");
    bench
        .file(file(json!({ "peer_expose_enabled": true })))
        .cannot(&[])
        .says("name a group in \"peer_expose_groups\"");
    // the domain that is given up is free for a zone at once
    let bench = Bench::fake();
    bench.agreed(file(json!({ "dns_domain": "corp.example" })));
    both["account"]["settings"]["dns_domain"] = json!("vpn.example");
    bench.file(both).apply(&[]).expect(0);
}

#[test]
fn a_group_that_is_gone_is_named_and_can_be_taken_out() {
    let bench = Bench::fake();
    bench.agreed(json!({ "groups": { "g": {} } }));
    let gone = bench.group("gone");
    let all = bench.id("/groups", "All");
    by_hand(&bench, json!({ "ipv6_enabled_groups": [all, gone] }));
    bench.delete("/groups", "gone");
    bench
        .file(file(json!({ "peer_login_expiration": 7200 })))
        .cannot(&[])
        .says("its ipv6_enabled_groups still names (deleted group");
    bench.file(file(
        json!({ "peer_login_expiration": 7200, "ipv6_enabled_groups": ["All"] }),
    ));
    bench.apply(&[]).expect(0);
    assert_eq!(settings(&bench)["ipv6_enabled_groups"], json!([all]));
}

#[test]
fn a_group_that_settings_name_stays() {
    let bench = Bench::in_git();
    bench.applied(0.0, json!({ "groups": { "g": {}, "h": {} } }));
    let group = bench.id("/groups", "h");
    by_hand(&bench, json!({ "peer_expose_groups": [group] }));
    bench.declared(1.0, json!({ "groups": { "g": {} } }));
    bench
        .leaves_all(&[])
        .says_anywhere("it is still used by peer_expose_groups of the account settings");
    // named by the file, it can be taken out and go in one change
    let mut without = file(json!({ "peer_expose_groups": [] }));
    without["groups"] = json!({ "g": {} });
    bench.declared(2.0, without);
    bench.apply(&[]).expect(0);
    assert_eq!(bench.all("/groups", "h"), [] as [Value; 0]);
}

#[test]
fn an_export_says_what_a_new_account_has_otherwise() {
    let bench = Bench::fake();
    bench.run(&["export"]).expect(0).hides("account");
    bench.group("g");
    let changed = json!({ "peer_login_expiration": 7200, "dns_domain": "corp.example", "ipv6_enabled_groups": [],
                          "network_range": "10.9.0.0/16" });
    by_hand(&bench, changed);
    let export = bench.run(&["export"]).expect(0).json();
    let wanted = json!({ "peer_login_expiration": 7200, "dns_domain": "corp.example", "ipv6_enabled_groups": [] });
    assert_eq!(export["account"]["settings"], wanted);
    bench.file(export).plan(&["--detailed-exitcode"]).expect(0);
    bench.file(json!({ "groups": { "g": {} } }));
    bench.run(&["adopt", "account_settings"]).expect(0);
    bench
        .plan(&["--detailed-exitcode"])
        .expect(0)
        .hides("account settings");
    let text = std::fs::read_to_string(bench.path("netbird.json")).unwrap();
    let file: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(file["account"]["settings"], wanted);
}

#[test]
fn a_setting_that_an_older_server_lacks_is_an_error() {
    let bench = Bench::fake();
    let mut account = bench.server().list("/accounts")[0].clone();
    let settings = account["settings"].as_object_mut().unwrap();
    settings.remove("peer_expose_groups");
    settings.remove("extra");
    let live = json!({ "groups": bench.server().list("/groups"), "accounts": [account] });
    std::fs::write(bench.path("live.json"), live.to_string()).unwrap();
    let args = ["--live", "live.json"];
    bench.file(file(json!({ "peer_expose_groups": [] })));
    bench
        .plan(&args)
        .expect(1)
        .says("cannot set peer_expose_groups: this NetBird is too old to have this setting");
    // what stands in "extra" is none of it: that is there once it holds something
    let only = json!({ "groups": { "g": {} }, "account": { "settings": { "peer_approval_enabled": true } } });
    bench
        .file(only)
        .plan(&args)
        .expect(0)
        .shows("peer approval enabled");
}

/// NetBird 0.71.0 and 0.71.1 answer the effective ranges, and compare a PUT with the stored ones.
#[test]
fn a_range_that_does_not_change_is_not_sent() {
    let bench = Bench::fake();
    bench.agreed(json!({ "groups": { "g": {} } }));
    bench.netbird().compare_stored_ranges();
    bench.peer("a");
    let before = machines(&bench);
    // undeclared, and declared as it is
    let own = settings(&bench);
    for more in [
        json!({ "peer_login_expiration": 7200 }),
        json!({ "peer_login_expiration": 7300, "network_range": own["network_range"] }),
        json!({ "peer_login_expiration": 7400, "network_range": own["network_range"],
                "network_range_v6": own["network_range_v6"] }),
    ] {
        bench.file(file(more.clone())).apply(&[]).expect(0);
        assert_eq!(machines(&bench), before, "{more}");
        bench.plan(&["--detailed-exitcode"]).expect(0);
    }
    assert_eq!(settings(&bench)["network_range"], own["network_range"]);
}

/// Before 0.71 `GET` answers what is stored, and a range that is left out of a PUT is stored no more.
#[test]
fn an_older_server_gets_its_range_back() {
    let bench = Bench::fake();
    bench.agreed(json!({ "groups": { "g": {} } }));
    let mut account = bench.server().list("/accounts")[0].clone();
    let settings = account["settings"].as_object_mut().unwrap();
    settings.remove("network_range_v6");
    settings.remove("ipv6_enabled_groups");
    let answer = Effect::Status(200, json!([account]));
    bench
        .netbird()
        .fault(Fault::on("GET", "/accounts").always().then(answer));
    bench.netbird().clear_requests();
    bench.file(file(json!({ "peer_login_expiration": 7200 })));
    bench.apply(&[]).expect(4);
    let requests = bench.netbird().requests();
    let put = requests.iter().find(|it| it.method == "PUT").unwrap();
    let sent = &put.body.as_ref().unwrap()["settings"];
    assert_eq!(sent["network_range"], "100.92.0.0/16");
}

/// A proxy that answers for NetBird, say: an apply made settings of an account that nobody has.
#[test]
fn an_account_that_is_not_answered_is_an_error_before_any_write() {
    for nothing in [json!([]), json!(null)] {
        let bench = Bench::fake();
        bench.file(json!({ "groups": { "g": {} }, "account": { "settings": { "dns_domain": "a.example" } } }));
        let fault = Fault::on("GET", "/accounts").always();
        bench
            .netbird()
            .fault(fault.then(Effect::Status(200, nothing)));
        bench
            .apply(&[])
            .expect(1)
            .says("GET /accounts answered none, and every token has one");
        bench.assert_writes(&[]);
    }
}
