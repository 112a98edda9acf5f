//! Are posture checks made, changed and deleted as the file says, and is it said whom they cut off?

use serde_json::{Value, json};
use snapbox::{assert_data_eq, str};

use crate::run::Bench;

fn file(check: Value) -> Value {
    json!({
        "groups": { "staff": {}, "servers": {} },
        "posture_checks": { "company": check },
        "policies": { "ssh": { "sources": ["staff"], "destinations": ["servers"], "source_posture_checks": ["company"] } }
    })
}

fn whole() -> Value {
    json!({
        "description": "ours",
        "nb_version": "0.60.0",
        "os_version": { "linux": "6.1.0", "windows": "10.0.19045", "darwin": "14.0", "ios": "17.0", "android": "13" },
        "network_range": { "action": "deny", "ranges": ["192.168.0.0/16", "2001:db8::/32"] },
        "processes": [{ "linux": "/usr/bin/a", "mac": "/a.app" }, { "windows": "C:\\a.exe" }]
    })
}

#[test]
fn a_policy_names_a_check_of_the_same_file_in_one_apply() {
    let bench = Bench::scenario();
    bench.file(file(whole()));
    bench.plan(&[]).expect(0).shows(
        "posture check \"company\" now fails for a machine whose operating system is not named",
    );
    bench.apply(&[]).expect(0);
    let check = bench.one("/posture-checks", "company");
    assert_eq!(check["description"], "ours");
    assert_eq!(
        check["checks"],
        json!({
            "nb_version_check": { "min_version": "0.60.0" },
            "os_version_check": {
                "linux": { "min_kernel_version": "6.1.0" }, "windows": { "min_kernel_version": "10.0.19045" },
                "darwin": { "min_version": "14.0" }, "ios": { "min_version": "17.0" }, "android": { "min_version": "13" }
            },
            "peer_network_range_check": { "action": "deny", "ranges": ["192.168.0.0/16", "2001:db8::/32"] },
            "process_check": { "processes": [
                { "linux_path": "", "mac_path": "", "windows_path": "C:\\a.exe" },
                { "linux_path": "/usr/bin/a", "mac_path": "/a.app", "windows_path": "" }
            ] }
        })
    );
    let policy = bench.one("/policies", "ssh");
    assert_eq!(policy["source_posture_checks"], json!([check["id"]]));
    bench.plan(&[]).expect(0).shows("No changes");
}

#[test]
fn every_field_changes_and_comes_back() {
    let bench = Bench::scenario();
    bench.agreed(file(whole()));
    let changes = [
        ("description", json!("")),
        ("nb_version", json!("0.61.0")),
        ("nb_version", json!("")),
        ("os_version", json!({ "linux": "6.2.0" })),
        ("os_version", json!({})),
        (
            "network_range",
            json!({ "action": "allow", "ranges": ["10.0.0.0/8"] }),
        ),
        ("network_range", json!({})),
        ("processes", json!([{ "linux": "/usr/bin/b" }])),
        ("processes", json!([])),
    ];
    for (field, value) in changes {
        let mut check = whole();
        check[field] = value.clone();
        for check in [check, whole()] {
            bench.file(file(check.clone()));
            bench.apply(&[]).expect(0);
            bench.plan(&[]).expect(0).shows("No changes");
            bench.file(file(whole()));
            let code = i32::from(check != whole()) * 2;
            bench.plan(&["--detailed-exitcode"]).expect(code);
        }
    }
}

#[test]
fn what_the_file_does_not_say_stays() {
    let bench = Bench::fake();
    bench.agreed(file(json!({ "nb_version": "0.60.0" })));
    let by_hand = json!({
        "nb_version_check": { "min_version": "0.60.0" },
        "process_check": { "processes": [{ "linux_path": "/usr/bin/a" }] }
    });
    bench.edit("/posture-checks", "company", json!({ "checks": by_hand }));
    bench.plan(&[]).expect(0).shows("No changes");
    bench.file(file(json!({ "nb_version": "0.61.0" })));
    bench.apply(&[]).expect(0);
    let checks = &bench.one("/posture-checks", "company")["checks"];
    assert_eq!(checks["nb_version_check"]["min_version"], "0.61.0");
    assert_eq!(
        checks["process_check"]["processes"][0]["linux_path"],
        "/usr/bin/a"
    );
}

#[test]
fn an_export_says_all_of_it() {
    let bench = Bench::scenario();
    bench.agreed(file(whole()));
    let exported = bench.run(&["export"]).expect(0).stdout;
    let exported: Value = serde_json::from_str(&bench.server().unprefixed(&exported)).unwrap();
    let check = &exported["posture_checks"]["company"];
    for (field, value) in whole().as_object().unwrap() {
        match value.as_array() {
            Some(list) => {
                let found = check[field].as_array().unwrap();
                assert!(list.iter().all(|one| found.contains(one)), "{check:#}");
            }
            None => assert_eq!(check[field], *value),
        }
    }
}

#[test]
fn one_that_others_policies_ask_for_is_held() {
    let bench = Bench::scenario();
    bench.agreed(file(whole()));
    let check = bench.id("/posture-checks", "company");
    let group = bench.group("others");
    let rule = json!({ "name": "r", "enabled": true, "action": "accept", "bidirectional": true, "protocol": "all",
                       "sources": [group], "destinations": [group] });
    let policy = json!({ "name": "theirs", "enabled": true, "rules": [rule], "source_posture_checks": [check] });
    bench.create("/policies", policy);
    let mut without = file(whole());
    without["posture_checks"] = json!({});
    without["policies"]["ssh"]["source_posture_checks"] = json!([]);
    bench.file(without.clone());
    bench.apply(&[]).expect(0).shows("theirs");
    assert_eq!(bench.names("/posture-checks"), ["company"]);
    bench.delete("/policies", "theirs");
    bench
        .apply(&[])
        .expect(0)
        .says_anywhere("Deletes posture check \"company\": no policy names it any more.");
    assert_eq!(bench.names("/posture-checks"), Vec::<String>::new());
}

#[test]
fn one_that_goes_while_the_file_names_it_is_an_error() {
    let bench = Bench::fake();
    bench.agreed(file(whole()));
    let mut without = file(whole());
    without["posture_checks"] = json!({});
    bench.file(without);
    bench
        .plan(&[])
        .expect(1)
        .says("refers to posture check \"company\", which this plan deletes");
}

#[test]
fn locations_need_a_database_of_the_server() {
    let bench = Bench::fake();
    let geo = json!({ "action": "allow", "locations": [{ "country": "nl", "city": "Amsterdam" }, { "country": "DE" }] });
    bench.file(file(json!({ "geo": geo })));
    for command in ["plan", "apply"] {
        bench
            .run(&[command])
            .expect(1)
            .says("checks where a machine is, and this NetBird has no geo location database");
    }
    bench.assert_writes(&[]);
}

#[test]
fn a_renamed_check_keeps_its_id_and_its_policies() {
    let bench = Bench::fake();
    bench.agreed(file(whole()));
    let before = bench.id("/posture-checks", "company");
    let mut renamed = file(whole());
    let mut check = whole();
    check["renamed_from"] = json!("company");
    renamed["posture_checks"] = json!({ "laptops": check });
    renamed["policies"]["ssh"]["source_posture_checks"] = json!(["laptops"]);
    bench.file(renamed);
    bench.apply(&[]).expect(0);
    assert_eq!(bench.id("/posture-checks", "laptops"), before);
    bench.plan(&[]).expect(0).shows("No changes");
}

/// A machine in `staff`, one in `servers`, and the policy `ssh` between them.
fn with_machines() -> Bench {
    let bench = Bench::fake();
    bench.agreed(file(whole()));
    for group in ["staff", "servers"] {
        let peer = bench.peer(&format!("machine-{group}"));
        bench.edit("/groups", group, json!({ "peers": [peer] }));
    }
    // it lets everything through
    bench.delete("/policies", "Default");
    bench
}

/// Returns what a plan says of who reaches whom.
fn reach(bench: &Bench) -> String {
    let plan = bench.plan(&[]).expect(0).stdout;
    let section = plan
        .split("\n\n")
        .find(|it| it.starts_with("Who reaches whom"));
    section.unwrap_or("nothing").to_owned()
}

#[test]
fn a_check_that_changes_is_in_who_reaches_whom() {
    let bench = with_machines();
    let mut check = whole();
    check["nb_version"] = json!("0.61.0");
    bench.file(file(check.clone()));
    assert_data_eq!(
        reach(&bench),
        str![[r#"
Who reaches whom:
  -  group "servers" (1 machine)  → group "staff" (1 machine)    everything, only for machines that fail the posture check "company" (new version)  by policy "ssh", because of posture check "company"
  -  group "staff" (1 machine)    → group "servers" (1 machine)  everything, only for machines that fail the posture check "company" (new version)  by policy "ssh", because of posture check "company"
"#]]
    );
    check["processes"] = json!([{ "linux": "/usr/bin/b" }]);
    bench.file(file(check));
    assert_data_eq!(
        reach(&bench),
        str![[r#"
Who reaches whom:
  -  group "servers" (1 machine)  → group "staff" (1 machine)    everything, only for machines that fail the posture check "company" (new version)  by policy "ssh", because of posture check "company"
  -  group "staff" (1 machine)    → group "servers" (1 machine)  everything, only for machines that fail the posture check "company" (new version)  by policy "ssh", because of posture check "company"
  +  group "servers" (1 machine)  → group "staff" (1 machine)    everything, only for machines that fail the posture check "company" (old version)  by policy "ssh", because of posture check "company"
  +  group "staff" (1 machine)    → group "servers" (1 machine)  everything, only for machines that fail the posture check "company" (old version)  by policy "ssh", because of posture check "company"
"#]]
    );
}

#[test]
fn a_policy_that_asks_for_another_check_is_in_who_reaches_whom() {
    let bench = with_machines();
    let mut wanted = file(whole());
    wanted["posture_checks"]["newer"] = json!({ "nb_version": "0.70.0" });
    wanted["policies"]["ssh"]["source_posture_checks"] = json!(["newer"]);
    bench.file(wanted.clone());
    assert_data_eq!(
        reach(&bench),
        str![[r#"
Who reaches whom:
  -  group "servers" (1 machine)  → group "staff" (1 machine)    everything, only for machines that fail the posture check "newer"    by policy "ssh"
  -  group "staff" (1 machine)    → group "servers" (1 machine)  everything, only for machines that fail the posture check "newer"    by policy "ssh"
  +  group "servers" (1 machine)  → group "staff" (1 machine)    everything, only for machines that fail the posture check "company"  by policy "ssh"
  +  group "staff" (1 machine)    → group "servers" (1 machine)  everything, only for machines that fail the posture check "company"  by policy "ssh"
"#]]
    );
    wanted["policies"]["ssh"]["source_posture_checks"] = json!([]);
    bench.file(wanted);
    assert_data_eq!(
        reach(&bench),
        str![[r#"
Who reaches whom:
  +  group "servers" (1 machine)  → group "staff" (1 machine)    everything, only for machines that fail the posture check "company"  by policy "ssh"
  +  group "staff" (1 machine)    → group "servers" (1 machine)  everything, only for machines that fail the posture check "company"  by policy "ssh"
"#]]
    );
}
