//! Does any file arrive after any other, and stays what it does not own as it was?

mod files;
mod theirs;

use netbird_gitops::plan::options::Prune;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, TestCaseError, TestRunner};
use serde_json::{Value, json};

use crate::run::{Bench, Heard, Inner, Server};
use files::File;

/// Applies a file and returns what happened; it must be carried out whole and leave nothing to do.
fn settle(bench: &Bench, file: &Value, prune: Prune) -> Result<Vec<String>, TestCaseError> {
    let inner = Inner::read(bench, file, prune).map_err(TestCaseError::fail)?;
    let plan = inner
        .plan()
        .map_err(|problems| TestCaseError::fail(format!("{problems:#?}")))?;
    let mut heard = Heard::default();
    let (applied, verified) = inner.apply(bench, &plan, &mut heard);
    prop_assert!(
        applied.is_complete(),
        "{:?}\n{:#?}",
        applied.statuses,
        heard.0
    );
    let verified = verified.expect("what is complete is verified");
    prop_assert!(verified.left.is_empty(), "{verified:?}\n{:#?}", heard.0);
    let again = Inner::read(bench, file, prune).map_err(TestCaseError::fail)?;
    let again = again.plan().map_err(|_| TestCaseError::fail("no plan"))?;
    prop_assert!(again.is_empty(), "{:#?}\n{:#?}", again.changes, heard.0);
    Ok(heard.0)
}

/// Returns a file with the domains of another one where it leaves a zone's records alone: those would go with the zone. A
/// policy of NetBird's SSH becomes another one where nothing is said of its users, who could be those of other sources.
fn after(first: &Value, second: &Value) -> Value {
    let mut second = second.clone();
    let policies = second.get_mut("policies").and_then(Value::as_object_mut);
    for (name, policy) in policies.into_iter().flatten() {
        let before = first.pointer(&format!("/policies/{name}/protocol"));
        if before == Some(&json!("netbird-ssh")) && policy.get("protocol").is_none() {
            policy["protocol"] = json!("all");
        }
    }
    let zones = second
        .pointer_mut("/dns/zones")
        .and_then(Value::as_object_mut);
    for (name, zone) in zones.into_iter().flatten() {
        let before = first.pointer(&format!("/dns/zones/{name}/domain"));
        if let Some(before) = before.filter(|_| zone.get("records").is_none()) {
            zone["domain"] = before.clone();
        }
    }
    second
}

/// Returns three files of which each can be applied after those before it: where two of them speak of one zone, what the newest says
/// counts.
fn in_turn([first, second, third]: [&Value; 3]) -> [Value; 3] {
    let second = after(first, second);
    let third = after(&second, &after(first, third));
    [first.clone(), second, third]
}

#[test]
fn a_third_file_has_the_domain_of_the_second() {
    let zone = |domain: &str| json!({ "dns": { "zones": { "z": { "domain": domain } } } });
    let with_records = |domain: &str| {
        let mut file = zone(domain);
        file["dns"]["zones"]["z"]["records"] = json!([]);
        file
    };
    let third = |second: &Value| {
        let [.., third] = in_turn([&with_records("one.example"), second, &zone("three.example")]);
        third
    };
    assert_eq!(third(&with_records("two.example")), zone("two.example"));
    assert_eq!(
        third(&json!({ "dns": { "zones": {} } })),
        zone("one.example")
    );
}

/// Applies `first`, lets others do their things, applies `second`.
fn check(first: &Value, second: &Value, prune: Prune, enrolls: bool) -> Result<(), TestCaseError> {
    let second = &after(first, second);
    let bench = Bench::fake();
    let theirs = theirs::Theirs::make(&bench);
    settle(&bench, first, Prune::None)?;
    if enrolls && bench.sealed_files().iter().any(|name| name == "k1.age") {
        bench
            .server()
            .enroll(&bench.unseal("k1"), "some-host")
            .expect("a valid key");
    }
    theirs.meddle(&bench, second);
    let before = theirs::Account::read(&bench);
    settle(&bench, second, prune)?;
    let after = theirs::Account::read(&bench);
    theirs::check(&before, &after, second, prune)?;
    for (name, declared) in second["setup_keys"].as_object().into_iter().flatten() {
        if declared["enrolled"] == true {
            continue;
        }
        let keys = bench.all("/setup-keys", name);
        let unused = keys
            .iter()
            .filter(|key| key["valid"] == true && key["used_times"] == 0);
        let used = keys.iter().any(|key| key["used_times"] != 0);
        prop_assert_eq!(unused.count(), usize::from(!used), "{}: {:#?}", name, keys);
        if !used {
            let opened = bench.server().enroll(&bench.unseal(name), "last");
            prop_assert!(opened.is_ok(), "the sealed key {name} is not the live one");
        }
    }
    Ok(())
}

proptest! {
    // where PROPTEST_CASES does not say how many
    #![proptest_config(Config { cases: 20, max_shrink_iters: 300, failure_persistence: None, ..Config::default() })]

    #[test]
    fn any_file_arrives_after_any_other(
        first in files::file(false),
        second in files::file(false),
        enrolls in any::<bool>(),
    ) {
        check(&first.0, &second.0, Prune::None, enrolls)?;
    }

    #[test]
    fn any_file_arrives_after_any_other_when_all_else_is_pruned(
        first in files::file(true),
        second in files::file(true),
        enrolls in any::<bool>(),
    ) {
        check(&first.0, &second.0, Prune::All, enrolls)?;
    }
}

#[test]
fn any_file_arrives_after_any_other_on_a_real_server() {
    if Server::real().is_none() {
        return;
    }
    let mut runner = TestRunner::new(Config {
        cases: 8,
        failure_persistence: None,
        max_shrink_iters: 20,
        ..Config::default()
    });
    let files = (files::file(false), files::file(false), files::file(false));
    let arrives = |(first, second, third): (File, File, File)| {
        let bench = Bench::scenario_that_enrolls();
        bench.group("base");
        bench.enrolled(&["m1", "m2"]);
        bench.resource("lan");
        bench.check("new");
        for file in in_turn([&first.0, &second.0, &third.0]) {
            settle(&bench, &file, Prune::None)?;
        }
        Ok(())
    };
    runner.run(&files, arrives).unwrap();
}

#[test]
fn files_of_the_property_are_rich() {
    // the property is worth what its files hold: over some of them, every field occurs, and so does its absence
    let mut runner = TestRunner::deterministic();
    let files: Vec<Value> = (0..200)
        .map(|_| {
            files::file(false)
                .new_tree(&mut runner)
                .unwrap()
                .current()
                .0
        })
        .collect();
    let entries = |pointer: &str, field: &str| {
        let sections = files.iter().filter_map(|file| file.pointer(pointer));
        let objects = |entry: &'_ Value| match entry {
            Value::Array(all) => all.clone(),
            one => vec![one.clone()],
        };
        let entries: Vec<Value> = sections
            .flat_map(|section| section.as_object().unwrap().values())
            .flat_map(objects)
            .collect();
        let with = entries
            .iter()
            .filter(|entry| entry.get(field).is_some())
            .count();
        (with, entries.len() - with)
    };
    let fields = json!({
        "/groups": ["peers"],
        "/setup_keys": ["usage_limit", "ephemeral", "auto_groups"],
        "/policies": ["description", "enabled", "protocol", "ports", "action", "bidirectional", "sources", "source_resource",
                      "destinations", "destination_resource", "source_posture_checks", "authorized_groups"],
        "/routes": ["peer", "peer_groups", "network", "domains", "groups", "metric", "masquerade", "keep_route", "access_control_groups"],
        "/dns/nameserver_groups": ["domains", "search_domains_enabled", "enabled", "description"],
        "/peers": ["ssh_enabled"],
        "/dns/zones": ["records", "search_domain", "enabled"],
        "/networks": ["description", "resources", "routers"],
    });
    let settings = |field: &str| {
        let settings = files
            .iter()
            .filter_map(|file| file.pointer("/account/settings"));
        let (with, without): (Vec<_>, Vec<_>) = settings.partition(|one| one.get(field).is_some());
        (with.len(), without.len())
    };
    for field in [
        "dns_domain",
        "ipv6_enabled_groups",
        "user_approval_required",
    ] {
        let (with, without) = settings(field);
        assert!(with > 5 && without > 5, "{field}: {with} {without}");
    }
    for (section, fields) in fields.as_object().unwrap() {
        for field in fields.as_array().unwrap() {
            let field = field.as_str().unwrap();
            let (with, without) = entries(section, field);
            assert!(
                with > 5 && without > 5,
                "{section} {field}: {with} {without}"
            );
        }
    }
}
