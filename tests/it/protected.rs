//! `--protect`: what must never go is refused, whoever agreed, and what goes in other ways is not.

use serde_json::{Value, json};

use crate::run::{Bench, Job, Pull, Site};

fn key(enrolled: bool) -> Value {
    json!({ "type": "one-off", "expires_in": 315_360_000, "auto_groups": [], "enrolled": enrolled })
}

/// A group, a key, a policy, a network with a router and a zone with a record.
fn file() -> Value {
    let record = json!({ "name": "www", "type": "A", "content": "10.0.0.1" });
    json!({
        "groups": { "g": {}, "spare": {} },
        "setup_keys": { "k": key(false) },
        "policies": { "p": { "sources": ["g"], "destinations": ["g"], "protocol": "all" } },
        "networks": { "office": { "routers": [{ "peer_groups": ["g"] }] } },
        "dns": { "zones": {
            "z": { "domain": "corp.example", "distribution_groups": ["g"], "records": [record] },
            "other": { "domain": "other.example", "distribution_groups": ["g"] } } },
    })
}

fn without(path: &str, name: &str) -> Value {
    let mut file = file();
    let section = file.pointer_mut(path).unwrap().as_object_mut().unwrap();
    section.remove(name).unwrap();
    file
}

#[test]
fn what_is_protected_is_neither_deleted_nor_made_anew() {
    let bench = Bench::fake();
    bench.agreed(file());
    let mut other_domain = file();
    other_domain["dns"]["zones"]["z"]["domain"] = json!("new.example");
    let mut without_routers = file();
    without_routers["networks"]["office"]["routers"] = json!([]);
    let rows = [
        (
            without("/groups", "spare"),
            "groups/spare",
            &[][..],
            "deletes 1 protected object\n  group spare\n",
        ),
        (
            without("/setup_keys", "k"),
            "setup_keys/k",
            &[],
            "deletes 1 protected object\n  setup key k\n",
        ),
        (
            without("/dns/zones", "z"),
            "zones/z",
            &[],
            "deletes 1 protected object\n  DNS zone z\n",
        ),
        // with what it stands in
        (
            without("/dns/zones", "z"),
            "records/www.corp.example A",
            &[],
            "deletes 1 protected object\n  DNS record www.corp.example A\n",
        ),
        (
            without("/dns/zones", "z"),
            "records/z/www.corp.example A",
            &[],
            "deletes 1 protected object\n  DNS record www.corp.example A\n",
        ),
        (
            without_routers,
            "networks/office",
            &[],
            "deletes 1 protected object (named as networks/office)\n  network router of network office\n",
        ),
        (
            other_domain,
            "dns_zone/z",
            &[],
            "replaces 1 protected object\n  DNS zone z\n",
        ),
        (
            file(),
            "policies/p",
            &["--replace", "policies/p"],
            "replaces 1 protected object\n  policy p\n",
        ),
    ];
    for (file, name, args, what) in rows {
        bench.file(file);
        let all = ["--prune", "all", "--protect", name];
        let args = [&all[..], args].concat();
        let plan = bench.plan(&[&args[..], &["--format", "json"]].concat());
        let plan = plan.expect(0).json();
        // a replaced policy is no deletion
        let number = match name {
            "policies/p" => "",
            name if name.contains("z") || name.contains("corp") => "2",
            _ => "1",
        };
        assert!(plan["refusals"][0]["gate"] == "protected", "{name}: {plan}");
        bench.server().clear_requests();
        // whoever agreed
        bench
            .apply(&[&args[..], &["--allow-deletes", number]].concat())
            .expect(3)
            .says(&format!("this plan {what}"))
            .says("nothing was changed")
            .says("NETBIRD_GITOPS_PROTECT");
        bench.assert_writes(&[]);
    }
}

#[test]
fn an_offboarded_peer_counts_and_a_changed_one_does_not() {
    let bench = Bench::in_git();
    let file = |keys: Value| json!({ "groups": { "g": {} }, "setup_keys": keys });
    bench.applied(0.0, file(json!({ "gw": key(false), "x": key(false) })));
    bench
        .hour(1.0)
        .server()
        .enroll(&bench.unseal("gw"), "gw")
        .unwrap();
    let both = json!({ "gw": key(true), "x": key(false) });
    bench.applied(2.0, file(both.clone()));
    bench.declared(9.0, file(json!({ "x": key(false) })));
    let protect = [("NETBIRD_GITOPS_PROTECT", "groups/g,\n peers/gw ,")];
    for args in [&["apply"][..], &["apply", "--allow-deletes", "2"]] {
        bench
            .run_with(args, &protect)
            .expect(3)
            .says("this plan deletes 1 protected object, because of commit ")
            // the log has what was refused
            .says("NetBird plan: 2 to delete");
    }
    bench
        .run_with(&["plan"], &protect)
        .expect(0)
        .shows("Apply would refuse this plan:\n  !  this plan deletes 1 protected object, because of commit ");
    // another name, other members
    let mut renamed = file(both);
    renamed["groups"] = json!({ "h": { "renamed_from": "g", "peers": ["gw"] } });
    bench.declared(10.0, renamed);
    bench.run_with(&["apply"], &protect).expect(0);
    assert_eq!(bench.names("/peers"), ["gw"]);
}

/// The name of its entry, or one that the entry had before.
#[test]
fn what_somebody_renamed_in_netbird_is_protected_by_its_name() {
    let policy = json!({ "sources": ["g"], "destinations": ["g"] });
    let network = json!({ "resources": { "printer": { "address": "10.1.1.1" } } });
    let other = json!({ "resources": { "other": { "address": "10.1.1.2" } } });
    let rows = [
        ("policies", "policies/x", &policy, &policy),
        ("networks", "networks/x", &network, &other),
        ("networks", "resources/printer", &network, &other),
    ];
    for (section, name, entry, other) in rows {
        let bench = Bench::in_git();
        let file = |entries: Value| json!({ "groups": { "g": {} }, section: entries });
        bench.applied(0.0, file(json!({ "x": entry, "y": other })));
        let path = format!("/{section}");
        bench.edit(&path, "x", json!({ "name": "aircrew" }));
        if name.starts_with("resources") {
            let network = bench.id(&path, "aircrew");
            let path = format!("/networks/{network}/resources");
            bench.edit(&path, "printer", json!({ "name": "scanner" }));
        }
        bench.declared(1.0, file(json!({ "y": other })));
        let line = bench.line("line_with_let_go", &[]);
        let line = line.strip_prefix("Allow-Deletes: ").unwrap();
        for args in [&["--allow-deletes", line][..], &["--prune", "all"]] {
            bench.server().clear_requests();
            bench
                .apply(&[&["--protect", name], args].concat())
                .expect(3)
                .says("this plan deletes 1 protected object")
                .says(name)
                .hides("neither in the file nor in NetBird");
            bench.assert_writes(&[]);
        }
    }
    let bench = Bench::in_git();
    let file = |policies: Value| json!({ "groups": { "g": {} }, "policies": policies });
    bench.applied(0.0, file(json!({ "old": policy, "y": policy })));
    let mut renamed = policy.clone();
    renamed["renamed_from"] = json!("old");
    bench.applied(1.0, file(json!({ "new": renamed, "y": policy })));
    let protect = ["--protect", "policies/old"];
    bench
        .plan(&protect)
        .expect(0)
        .hides("neither in the file nor in NetBird");
    bench.declared(2.0, file(json!({ "y": policy })));
    bench
        .apply(&protect)
        .expect(3)
        .says("this plan deletes 1 protected object (named as policies/old)");
}

#[test]
fn a_machine_that_somebody_renamed_is_protected_by_the_name_of_its_key() {
    let bench = Bench::in_git();
    let file = |keys: Value| json!({ "groups": { "g": {} }, "setup_keys": keys });
    bench.applied(0.0, file(json!({ "gw": key(false), "x": key(false) })));
    let secret = bench.unseal("gw");
    bench.hour(1.0).server().enroll(&secret, "gw").unwrap();
    // with its enrollment recorded, and not yet
    for is_recorded in [false, true] {
        bench.declared(2.0, file(json!({ "gw": key(true), "x": key(false) })));
        if is_recorded {
            bench.apply(&[]).expect(0);
        }
        let machine = &bench.server().list("/peers")[0];
        let changes = json!({ "name": "other", "ssh_enabled": false,
            "login_expiration_enabled": false, "inactivity_expiration_enabled": false });
        bench.server().edit("/peers", machine, changes);
        bench.declared(3.0, file(json!({ "x": key(false) })));
        let args = [
            "--prune",
            "all",
            "--allow-deletes",
            "2",
            "--protect",
            "peers/gw",
        ];
        bench
            .apply(&args)
            .expect(3)
            .says("this plan deletes 1 protected object (named as peers/gw)")
            .says("peer other")
            .hides("neither in the file nor in NetBird");
        assert_eq!(bench.names("/peers"), ["other"]);
    }
}

#[test]
fn what_cannot_be_meant_is_said() {
    let bench = Bench::fake();
    bench.agreed(file());
    let rows = [
        (
            "polices/p",
            "unknown object \"polices/p\"",
            "did you mean \"policies/p\"?",
        ),
        (
            "groups",
            "unknown object \"groups\"",
            "as in setup_keys/NAME",
        ),
        (
            "routers/x",
            "a network router cannot be named here",
            "name its network: networks/NAME",
        ),
        (
            "dns_settings",
            "DNS settings are never deleted",
            "name an object that an apply can delete",
        ),
        (
            "users/mira@example.org",
            "users are never deleted",
            "name an object that an apply can delete",
        ),
    ];
    for (name, error, hint) in rows {
        let args = ["--protect", name];
        bench.plan(&args).expect(1).says(error).says(hint);
        let variable = [("NETBIRD_GITOPS_PROTECT", name)];
        bench.run_with(&["apply"], &variable).expect(1).says(error);
    }
    bench
        .plan(&["--protect", "groups/spar", "--protect", "routes/r"])
        .expect(0)
        .says_anywhere(
            "--protect names group \"spar\", which is neither in the file nor in NetBird; did you mean \"spare\"?",
        );
    bench
        .plan(&["--protect", "records/other/www.corp.example A"])
        .expect(0)
        .says_anywhere("names DNS record \"www.corp.example A\", which is neither in the file");
    // before all that is wrong elsewhere
    bench.text("{");
    for flag in ["--protect", "--replace"] {
        let run = bench.plan(&[flag, "polices/p"]).expect(1);
        run.says("unknown object \"polices/p\"");
    }
}

/// Whose pull request brings it hears of it, and nobody else.
#[test]
fn the_job_of_the_pull_request_that_brings_it_is_red() {
    let groups = |names: &[&str]| {
        let lines: Vec<String> = names
            .iter()
            .map(|name| format!("    \"{name}\": {{}}"))
            .collect();
        format!("{{\n  \"groups\": {{\n{}\n  }}\n}}\n", lines.join(",\n"))
    };
    let site = Site::fake();
    let push = |branch: &str, names: &[&str]| {
        let file = groups(names);
        site.repo()
            .push(branch, "netbird.json", file.as_bytes(), "a change")
    };
    let plan = |branch: &str, number: u64| {
        let (head, base) = (site.repo().tip(branch), site.repo().tip("main"));
        site.checkout(&head);
        let job = Job::pull_request(
            &site,
            &Pull {
                number,
                head: &head,
                base: &base,
            },
        );
        site.in_job(&["plan", "--protect", "groups/a"], &job)
    };
    let first = push("main", &["a", "b", "c"]);
    site.checkout(&first);
    site.in_job(&["apply"], &Job::push(&site, &first)).expect(0);
    push("removes", &["b", "c"]);
    let number = site.repo().open_pr("removes", "main");
    plan("removes", number)
        .expect(3)
        .says("this plan deletes 1 protected object, because of pull request #")
        .says("once this is merged, every apply is refused");
    // merged all the same: the next pull request did not bring it
    push("main", &["b", "c"]);
    push("adds", &["b", "c", "d"]);
    let number = site.repo().open_pr("adds", "main");
    plan("adds", number)
        .expect(0)
        .shows("this plan deletes 1 protected object");
}
