//! Is the live account, written as a file, that account? And do entries of it find their way into a file?

mod accounts;
mod adopt;

use std::fs;

use fakes::{Effect, Fault};
use netbird_gitops::plan::options::Prune;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestCaseError};
use serde_json::{Value, json};

use crate::run::{Bench, Inner, id};

/// An account with one of everything, and one of everything that a file cannot say.
fn account() -> Bench {
    let bench = Bench::fake();
    let peer = bench.peer("m1");
    let laptop = bench.netbird().enroll_sso("laptop");
    let g = id(&bench.create("/groups", json!({ "name": "g", "peers": [peer, laptop] })));
    let ops = bench.group("Ops | Team");
    bench.netbird().issue_group("staff", "jwt");
    bench.group("trailing ");
    let rule = |sources: &str, more: Value| {
        let mut rule = json!({ "name": "r", "enabled": true, "action": "accept", "bidirectional": false, "protocol": "tcp",
                               "sources": [sources], "destinations": [g] });
        rule.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        rule
    };
    let policy = |name: &str, rule: Value| {
        let body = json!({ "name": name, "description": "why", "enabled": true, "rules": [rule] });
        id(&bench.create("/policies", body))
    };
    policy("p", rule(&ops, json!({ "ports": ["443", "22"] })));
    policy("twice", rule(&ops, json!({})));
    policy("twice", rule(&ops, json!({})));
    let resource =
        json!({ "destinations": null, "destinationResource": { "id": peer, "type": "peer" } });
    policy("to-m1", rule(&ops, resource));
    let check =
        json!({ "name": "c", "checks": { "nb_version_check": { "min_version": "0.60.0" } } });
    let check = id(&bench.create("/posture-checks", check));
    bench.create(
        "/policies",
        json!({ "name": "checked", "enabled": true, "source_posture_checks": [check],
                                      "rules": [rule(&ops, json!({}))] }),
    );
    let users =
        json!({ "protocol": "netbird-ssh", "authorized_groups": { ops.clone(): ["root"] } });
    policy("ssh", rule(&ops, users));
    let several = policy("several", rule(&ops, json!({})));
    bench
        .netbird()
        .add_legacy_rule(&several, rule(&g, json!({})))
        .unwrap();
    let route = |name: &str, more: Value| {
        let mut route = json!({ "network_id": name, "network": "10.1.0.0/16", "groups": [g], "metric": 100,
                                "masquerade": true, "enabled": true, "description": "" });
        route
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        bench.create("/routes", route);
    };
    route("lan", json!({ "peer_groups": [ops] }));
    route("by-peer", json!({ "peer": peer, "network": "10.2.0.0/16" }));
    bench.create(
        "/dns/nameservers",
        json!({ "name": "corp", "nameservers": [{ "ip": "10.0.0.53", "ns_type": "udp", "port": 53 }], "groups": [g],
                "primary": false, "domains": ["corp.example"], "enabled": true, "search_domains_enabled": true,
                "description": "" }),
    );
    let key = |name: &str, kind: &str| {
        let body = json!({ "name": name, "type": kind, "expires_in": 86400, "auto_groups": [g] });
        bench.create("/setup-keys", body)
    };
    key("pending", "one-off");
    key("fleet", "reusable");
    let used = key("m2", "one-off");
    bench
        .server()
        .enroll(used["key"].as_str().unwrap(), "m2")
        .unwrap();
    let dead = key("dead", "reusable");
    bench.edit("/setup-keys", "dead", json!({ "revoked": true }));
    assert_eq!(bench.one("/setup-keys", "dead")["id"], dead["id"]);
    bench
}

#[test]
fn it_is_written_as_people_write_it() {
    let bench = account();
    let run = bench.run(&["export"]).expect(0);
    let wanted = r#"{
  "groups": {
    "Ops | Team": { "peers": [] },
    "g": { "peers": ["laptop", "m1", "m2", "pending"] }
  },
  "setup_keys": {
    "fleet": {
      "type": "reusable",
      "expires_in": 86400,
      "usage_limit": 0,
      "auto_groups": ["g"],
      "ephemeral": false,
      "allow_extra_dns_labels": false
    },
"#;
    assert!(run.stdout.starts_with(wanted), "{}", run.stdout);
    let sections: Vec<&str> = run
        .stdout
        .lines()
        .filter(|line| line.starts_with("  \"") && line.ends_with('{'))
        .collect();
    let wanted = [
        "groups",
        "setup_keys",
        "posture_checks",
        "policies",
        "routes",
        "dns",
    ];
    let wanted = wanted.map(|name| format!("  \"{name}\": {{"));
    assert_eq!(sections, wanted);
    assert!(
        run.stdout.contains("\"ports\": [22, 443]")
            || run.stdout.contains("\"ports\": [\"22\", \"443\"]")
    );
}

#[test]
fn what_cannot_be_said_is_on_stderr() {
    let run = account().run(&["export"]).expect(0);
    for line in [
        "group staff is left out: it is issued by jwt",
        "group trailing  is left out: ",
        "policy twice is left out: 2 policies have this name",
        "policy several is left out: it has 2 rules",
    ] {
        assert!(run.stderr.contains(line), "{line}:\n{}", run.stderr);
    }
    let file: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(
        file["policies"]["to-m1"]["destination_resource"],
        json!({ "peer": "m1" })
    );
    assert!(file["policies"]["checked"]["source_posture_checks"].is_array());
    assert!(file["policies"]["ssh"]["authorized_groups"].is_object());
    assert!(file["routes"]["by-peer"]["peer"].is_string());
    assert_eq!(file["setup_keys"]["m2"]["enrolled"], true);
    assert_eq!(file["setup_keys"]["pending"]["enrolled"], false);
    assert!(file["groups"].get("All").is_none());
}

#[test]
fn its_plan_is_empty() {
    let bench = account();
    let export = bench.run(&["export"]).expect(0).stdout;
    bench.text(&export);
    bench.run(&["validate"]).expect(0);
    bench.server().clear_requests();
    bench.plan(&["--detailed-exitcode"]).expect(0);
    bench.apply(&[]).expect(0);
    bench.assert_writes(&[]);
}

#[test]
fn only_what_the_file_declares() {
    let bench = account();
    bench.file(json!({ "groups": { "g": {} }, "policies": { "p": { "sources": ["g"], "destinations": ["g"] } } }));
    let run = bench.run(&["export", "--managed-only"]).expect(0);
    let file: Value = serde_json::from_str(&run.stdout).unwrap();
    let names = |section: &str| -> Vec<String> {
        file[section].as_object().unwrap().keys().cloned().collect()
    };
    assert_eq!(names("groups"), ["g"]);
    assert_eq!(names("policies"), ["p"]);
    assert!(file.get("routes").is_none() && file.get("setup_keys").is_none());
    assert!(!run.stderr.contains("left out"), "{}", run.stderr);
    bench
        .text(&run.stdout)
        .plan(&["--detailed-exitcode"])
        .expect(0);
}

#[test]
fn of_two_objects_of_a_name_the_recorded_one_is_what_the_file_declares() {
    let bench = Bench::fake();
    let file = json!({ "groups": { "g": {} }, "policies": { "p": { "sources": ["g"], "destinations": ["g"] } },
                       "networks": { "n": { "description": "ours" } } });
    bench.agreed(file.clone());
    let g = bench.id("/groups", "g");
    let rule = json!({ "name": "p", "enabled": true, "action": "accept", "bidirectional": false, "protocol": "icmp",
                       "sources": [g], "destinations": [g] });
    bench.create(
        "/policies",
        json!({ "name": "p", "enabled": true, "rules": [rule] }),
    );
    bench.create(
        "/networks",
        json!({ "name": "n", "description": "another" }),
    );
    let run = bench.run(&["export", "--managed-only"]).expect(0);
    let exported: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(exported["policies"]["p"]["protocol"], "all");
    assert_eq!(exported["networks"]["n"]["description"], "ours");
    assert!(!run.stderr.contains("left out"), "{}", run.stderr);
}

#[test]
fn raw_answers_are_an_account_to_plan_against() {
    let bench = account();
    let export = bench.run(&["export"]).expect(0).stdout;
    let raw = bench.run(&["export", "--raw"]).expect(0).stdout;
    fs::write(bench.path("live.json"), raw).unwrap();
    bench.text(&export);
    bench.server().clear_requests();
    bench
        .plan(&["--live", "live.json", "--detailed-exitcode"])
        .expect(0);
    let mut file: Value = serde_json::from_str(&export).unwrap();
    file["groups"].as_object_mut().unwrap().remove("Ops | Team");
    file["policies"]["new"] = json!({ "sources": ["g"], "destinations": ["g"] });
    bench.file(file);
    let live = bench.plan(&["--live", "live.json", "--prune", "all"]).code;
    assert!(bench.netbird().requests().is_empty(), "no server is asked");
    assert_eq!(live, bench.plan(&["--prune", "all"]).code);
}

#[test]
fn it_writes_nothing_and_shows_no_secret() {
    let bench = account();
    bench.server().clear_requests();
    let run = bench.run(&["export"]).expect(0);
    let raw = bench.run(&["export", "--raw"]).expect(0);
    bench.assert_writes(&[]);
    for secret in bench.netbird().secrets() {
        for text in [&run.stdout, &run.stderr, &raw.stdout, &raw.stderr] {
            assert!(!text.contains(&secret));
        }
    }
}

#[test]
fn an_empty_account_is_said() {
    let bench = Bench::fake();
    bench.delete("/policies", "Default");
    let run = bench.run(&["export"]).expect(0).says("0 objects exported");
    assert_eq!(run.stdout, "{}\n");
}

#[test]
fn a_key_that_is_left_out_is_listed_nowhere() {
    // its name would be that of the peer, which is not a member
    let bench = Bench::fake();
    let g = bench.group("g");
    let odd = bench.netbird().issue_group("odd\n", "jwt");
    let key =
        json!({ "name": "m1", "type": "one-off", "expires_in": 86400, "auto_groups": [g, odd] });
    bench.create("/setup-keys", key);
    bench.peer("m1");
    let export = bench
        .run(&["export"])
        .expect(0)
        .says("setup key m1 is left out");
    let file: Value = serde_json::from_str(&export.stdout).unwrap();
    assert_eq!(file["groups"]["g"]["peers"], json!([]));
}

#[test]
fn a_member_whose_name_is_anothers_key_is_not_listed() {
    let bench = Bench::fake();
    bench.enrolled(&["m1"]);
    let namesake = bench.peer("m1");
    let odd = bench.peer("a\nb");
    let members = [&namesake, &odd];
    bench.create("/groups", json!({ "name": "g", "peers": members }));
    let export = bench
        .run(&["export"])
        .expect(0)
        .says("group g: its member \"m1\" is not listed: a setup key that it did not enroll with has this name")
        .says("is not listed: a file cannot have that name");
    let file: Value = serde_json::from_str(&export.stdout).unwrap();
    assert_eq!(file["groups"]["g"]["peers"], json!([]));
    bench
        .text(&export.stdout)
        .plan(&["--detailed-exitcode"])
        .expect(0);
}

fn its_plan_is_empty_whatever_lives(account: &accounts::Account) -> Result<(), TestCaseError> {
    let bench = Bench::fake();
    account.make(&bench);
    let export = bench.run(&["export"]);
    prop_assert_eq!(export.code, 0, "{}", export.stderr);
    let file: Value = serde_json::from_str(&export.stdout).expect("the document");
    if file.as_object().is_some_and(serde_json::Map::is_empty) {
        return Ok(());
    }
    let inner = Inner::read(&bench, &file, Prune::Owned)
        .map_err(|problems| TestCaseError::fail(format!("{problems}\n{file:#}")))?;
    let plan = inner
        .plan()
        .map_err(|problems| TestCaseError::fail(format!("{problems:#?}\n{file:#}")))?;
    prop_assert!(plan.is_empty(), "{:#?}\n{:#}", plan.changes, file);
    // what lives is in the file, or on stderr
    for (path, pointer) in [
        ("/groups", "/groups"),
        ("/policies", "/policies"),
        ("/routes", "/routes"),
        ("/dns/nameservers", "/dns/nameserver_groups"),
        ("/setup-keys", "/setup_keys"),
    ] {
        for name in bench.names(path).iter().filter(|name| *name != "All") {
            let section = file.pointer(pointer);
            let shown = netbird_gitops::base::text::visible(name).into_owned();
            prop_assert!(
                section.is_some_and(|section| section.get(name).is_some())
                    || export.stderr.contains(&format!("{shown} is left out: ")),
                "{path} {name:?} is nowhere:\n{:#}\n{}",
                file,
                export.stderr
            );
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(Config { cases: 96, max_shrink_iters: 400, failure_persistence: None, ..Config::default() })]

    #[test]
    fn the_plan_of_an_export_is_empty(account in accounts::account()) {
        its_plan_is_empty_whatever_lives(&account)?;
    }
}

/// Who leaves it to keys who is in which group wants no list of them, and no key that has to stand in it.
#[test]
fn groups_without_their_members() {
    let bench = Bench::fake();
    let keys = bench.enrolled(&["m"]);
    let mut file = json!({ "groups": { "g": { "peers": ["m", "waits"] } }, "setup_keys": keys });
    file["setup_keys"]["waits"] =
        json!({ "type": "one-off", "expires_in": 86400, "auto_groups": ["g"] });
    bench.agreed(file);
    let exported = bench.run(&["export", "--no-members"]).expect(0);
    let text: Value = serde_json::from_str(&exported.stdout).unwrap();
    assert_eq!(text["groups"], json!({ "g": {} }));
    assert_eq!(text["setup_keys"]["waits"]["auto_groups"], json!(["g"]));
    bench.text(&exported.stdout);
    bench.run(&["validate"]).expect(0);
    bench.plan(&[]).expect(0).shows("No changes");
}

/// What a list lacks would be missing in the file, and deleted by the apply of that file.
#[test]
fn lists_that_lack_what_others_name_are_errors() {
    let bench = account();
    fs::write(bench.path("netbird.json"), "{}").unwrap();
    let network = id(&bench.create("/networks", json!({ "name": "office" })));
    let router = json!({ "peer_groups": [bench.id("/groups", "g")], "metric": 9999, "masquerade": true, "enabled": true });
    bench.create(&format!("/networks/{network}/routers"), router);
    let commands = [
        &["export"][..],
        &["export", "--users"],
        &["adopt", "policies/p"],
        &["adopt", "--candidates"],
        &["access", "g", "g"],
    ];
    let lists = [
        (
            "/networks/routers",
            "network routers that are missing in NetBird's list",
        ),
        ("/peers", "the list is old or incomplete"),
    ];
    for (path, why) in lists {
        for command in commands {
            for answer in [json!([]), json!([{}])] {
                let fault = Fault::on("GET", path).always();
                bench.netbird().fault(fault.then(Effect::Otherwise(answer)));
                let run = bench.run(command);
                run.expect(1);
                bench.netbird().clear_faults();
            }
        }
        let fault = Fault::on("GET", path).always();
        bench
            .netbird()
            .fault(fault.then(Effect::Otherwise(Value::Null)));
        bench.run(&["export"]).expect(1).says(why);
        bench.netbird().clear_faults();
    }
    // a plan asks once more: lists that are asked for one after the other differ where somebody is at work
    let file = json!({ "groups": {}, "networks": { "office": { "routers": [] } } });
    fs::write(bench.path("netbird.json"), file.to_string()).unwrap();
    let fault = Fault::on("GET", "/networks/routers");
    bench
        .netbird()
        .fault(fault.then(Effect::Otherwise(Value::Null)));
    bench.run(&["plan"]).expect(0);
}

#[test]
fn what_two_namesakes_have_in_common_is_said_once() {
    let bench = Bench::fake();
    let peers = [bench.peer("gw"), bench.peer("gw")];
    for peer in &peers {
        let path = format!("/peers/{peer}");
        let changed =
            json!({ "name": "gw", "ssh_enabled": true, "login_expiration_enabled": false });
        bench.netbird().call("PUT", &path, changed);
    }
    bench.create("/groups", json!({ "name": "g", "peers": peers }));
    let run = bench.run(&["export"]).expect(0);
    for line in [
        "group g: its member \"gw\" is not listed: several peers have this name",
        "peer gw is left out: several peers have this name",
    ] {
        assert_eq!(run.stderr.matches(line).count(), 1, "{}", run.stderr);
    }
}
